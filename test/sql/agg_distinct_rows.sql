-- Aggregates of DISTINCT values that engines are fed rows for: of distinct rows, where there are few.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE dr_h (id int, k text, s text, q int, f float8, n numeric(9,2), b bool, d date);
CREATE TABLE dr (LIKE dr_h) USING gpucol;
INSERT INTO dr_h SELECT i, 'k' || i % 7, CASE WHEN i % 11 = 0 THEN NULL ELSE 's' || i * 7 % 5 END, nullif(i % 9, 4), i % 3 - 1, i % 4, i % 2 = 0, date '2024-01-01' + i % 6 FROM generate_series(1, 12000) i;
INSERT INTO dr SELECT * FROM dr_h;
DELETE FROM dr WHERE id % 19 = 0;
DELETE FROM dr_h WHERE id % 19 = 0;
VACUUM ANALYZE dr, dr_h;
INSERT INTO dr_h VALUES (50001, NULL, 'late', 100, 'NaN', NULL, NULL, NULL), (50002, 'k1', 's1', NULL, '-0', 1.00, true, 'infinity');
INSERT INTO dr SELECT * FROM dr_h WHERE id > 50000;
EXPLAIN (COSTS OFF) SELECT k, array_agg(DISTINCT s ORDER BY s) FROM dr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, string_agg(DISTINCT s, ','), count(*), sum(q) FROM dr WHERE id > 100 GROUP BY k;
-- rows: many combinations; equal values that may differ; an aggregate of each row; counts
EXPLAIN (COSTS OFF) SELECT k, array_agg(DISTINCT id) FROM dr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, array_agg(DISTINCT f) FROM dr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, array_agg(DISTINCT s), array_agg(q) FROM dr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT s) FROM dr GROUP BY k;
\set tables 'dr'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/suffixed.psql
\set ECHO none
\i :include
\set ECHO all
SELECT q AS query, pg_temp.same(q) FROM unnest(ARRAY['SELECT k, array_agg(DISTINCT s ORDER BY s) FROM dr GROUP BY k', 'SELECT array_agg(DISTINCT k), sum(DISTINCT q), avg(DISTINCT q) FROM dr',
	'SELECT k, array_agg(DISTINCT s ORDER BY s DESC NULLS FIRST), count(*), count(s), sum(q), avg(q), min(d), max(d), bool_or(b), count(DISTINCT q) FROM dr GROUP BY k',
	'SELECT k, string_agg(DISTINCT s, ''-'') FILTER (WHERE q > 3), sum(q) FILTER (WHERE b) FROM dr WHERE d > ''2024-01-02'' GROUP BY k', 'SELECT upper(k), array_agg(DISTINCT q % 3) FROM dr GROUP BY 1',
	'SELECT k, array_agg(DISTINCT s) FROM dr GROUP BY k HAVING count(*) > 500 AND sum(DISTINCT q) > 5', 'SELECT k, q, array_agg(DISTINCT s) FROM dr GROUP BY ROLLUP (k, q)',
	'SELECT k, array_agg(DISTINCT f) FROM dr GROUP BY k', 'SELECT k, array_agg(DISTINCT n) FROM dr GROUP BY k', 'SELECT k, array_agg(DISTINCT s), array_agg(q ORDER BY id) FROM dr GROUP BY k',
	'SELECT array_agg(DISTINCT s) FROM dr WHERE id < 0', 'SELECT a.k, array_agg(DISTINCT c.s) FROM dr a JOIN dr c ON a.id = c.id + 1 GROUP BY a.k',
	'SELECT k, count(DISTINCT n * 18446744073709551616), count(DISTINCT (n * 18446744073709551616 + q, s)), sum(DISTINCT n * 36893488147419103232) FROM dr GROUP BY k',
	'SELECT k, count(DISTINCT -n * 18446744073709551616 - id % 3), count(DISTINCT id * 10 + extract(isodow from d)) FROM dr WHERE id < 50000 GROUP BY k',
	'SELECT k, count(DISTINCT (id / 3600.0)::float8), array_agg((-id / 77777.7)::float8 ORDER BY id), max((id / 0.000000000000037)::float8), min((1 / (id + 1e20))::float8) FROM dr GROUP BY k',
	'SELECT id, (SELECT array_agg(DISTINCT s) FROM dr c WHERE c.k = a.k) FROM dr a WHERE id < 20', 'SELECT * FROM (SELECT k, array_agg(DISTINCT s) FROM dr GROUP BY k) x WHERE k > ''k2''']) q;
-- numbers of a quarter as many groups as rows are counted row by row; of fewer, or where PostgreSQL's functions would be called, the engine's groups are joined
CREATE TABLE fr (k int, v numeric(9,2), w numeric(9,2)) USING gpucol;
INSERT INTO fr SELECT i % 2, i % 2500 / 4.0, i % 30 FROM generate_series(1, 20000) i;
ANALYZE fr;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT v), stddev(v) FROM fr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT w), stddev(w) FROM fr GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT sqrt(v)) FROM fr GROUP BY k;
SELECT k, count(DISTINCT v), count(DISTINCT w), round(stddev(v), 6) FROM fr GROUP BY k ORDER BY k;
DROP TABLE dr, dr_h, fr;
