-- Groups of which whole vectors of rows are: of sorted rows, and of pairs that a join without keys makes.
SET client_min_messages = warning;
CREATE SCHEMA agg_one_slot;
SET search_path = agg_one_slot, public;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;

\set node 'GpucolAgg'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- k is one for 4,096 rows, s for 2,048, which are NULL of every third; floats are multiples of a power of two
CREATE TABLE t (id int, k int, s text, n int, b bigint, d numeric(12,2), w numeric, f float8, o bool) USING gpucol;
INSERT INTO t SELECT i, nullif(i / 4096, 2), CASE WHEN i / 2048 % 3 > 0 THEN 's' || i / 2048 END, nullif(i % 97, 5), i::bigint * 7919 % 1000003 - 500000, i * 31 % 9973 / 100.0, i % 11 / 8.0,
	nullif(i % 512, 9) / 64.0, i % 5 <> 0 FROM generate_series(0, 20479) i;
CREATE TABLE c (id int, x int, f float8, s text) USING gpucol;
INSERT INTO c SELECT i, nullif(i * 7 % 20, 3), i / 4.0, 'c' || i % 4 FROM generate_series(1, 25) i;
SELECT gpucol.merge('t') + gpucol.merge('c') > 0 AS merged;
ANALYZE t, c;
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT k, count(*), count(n), sum(n), min(n), max(n), avg(n) FROM t GROUP BY k'),
	('SELECT k, sum(b), min(b), max(b), sum(b * n), max(n * 3 - 7), min(-n) FROM t GROUP BY k'),
	('SELECT k, sum(d), min(d), max(d), avg(d), sum(d * n), max(w), min(w), sum(w) FROM t GROUP BY k'),
	('SELECT k, sum(f), min(f), max(f), avg(f), count(f) FROM t GROUP BY k'),
	('SELECT k, round(stddev(n)::numeric, 9), round(var_pop(f)::numeric, 9), round(corr(f, n)::numeric, 9), round(regr_slope(f, n::float8)::numeric, 9) FROM t GROUP BY k'),
	('SELECT k, bool_and(o), bool_or(n > 90), bit_or(n), bit_and(id), bit_xor(id), count(DISTINCT n), min(s), max(s) FROM t GROUP BY k'),
	('SELECT k, count(*) FILTER (WHERE n > 50), sum(f) FILTER (WHERE o), sum(n) FILTER (WHERE o), max(d) FILTER (WHERE n < 5) FROM t GROUP BY k'),
	('SELECT s, k, count(*), sum(n), sum(f), max(b) FROM t GROUP BY s, k'),
	('SELECT s, count(*), sum(n), sum(f), max(b) FROM t WHERE n <> 40 AND o GROUP BY s'),
	('SELECT id / 1024, sum(f), sum(n), max(d) FROM t GROUP BY 1'),
	('SELECT c.id, count(*), sum(t.n), max(t.n * c.id), min(t.f - c.f), sum(t.f * c.f) FROM t, c GROUP BY c.id'),
	('SELECT c.x, count(*), count(t.n), sum(t.n), sum(c.x), min(t.d), count(DISTINCT t.n) FROM t, c GROUP BY c.x'),
	('SELECT c.s, c.x, count(*), sum(t.f), sum(t.n + c.x) FROM t, c WHERE t.n > c.x GROUP BY c.s, c.x'),
	('SELECT c.id, count(t.id), max(t.n) FROM c LEFT JOIN t ON t.n < c.x GROUP BY c.id'),
	('SELECT c.id, t.k, count(*), sum(t.f) FROM t, c GROUP BY c.id, t.k');
SELECT differ(query), query FROM tried;
-- with rows that are not packed, and deleted ones
DELETE FROM t WHERE id % 3 = 1 OR id BETWEEN 4096 AND 5200;
INSERT INTO t SELECT 30000 + i, 1, NULL, i, i, i, i, i, NULL FROM generate_series(1, 1100) i;
INSERT INTO c VALUES (26, NULL, NULL, NULL);
SELECT query FROM tried WHERE differ(query) IS NOT NULL;
-- several threads, and one
SET gpucol.cpu_threads = 1;
SELECT query FROM tried WHERE differ(query) IS NOT NULL;
-- sums beyond the type, of one group
INSERT INTO t SELECT 40000 + i, 9, 's', 1, 9223372036854775807, 0, 0, 1e308, true FROM generate_series(1, 1200) i;
SELECT gpucol.merge('t') > 0 AS merged;
SELECT differ('SELECT k, sum(b), max(b) FROM t GROUP BY k');
SELECT sum(f) FROM t GROUP BY k HAVING k = 9;
SELECT differ('SELECT c.id, sum(t.b) FROM t, c WHERE t.k = 9 GROUP BY c.id');
DROP SCHEMA agg_one_slot CASCADE;
