-- Aggregation over partitioned tables and inheritance trees: one GpucolAgg reads
-- all leaves, with enable_partitionwise_aggregate off, which is the default.
SET client_min_messages = warning;
CREATE SCHEMA agg_partitions;
SET search_path = agg_partitions, public;
SET max_parallel_workers_per_gather = 0;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE p (k int, g int, v int, t text, n numeric(10,2), f float8, d date) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1) USING gpucol;
-- another order of columns, and one that was dropped
CREATE TABLE p2 (d date, v int, x int, f float8, k int, t text, n numeric(10,2), g int) USING gpucol;
ALTER TABLE p2 DROP COLUMN x;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3) PARTITION BY RANGE (g);
CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (MINVALUE) TO (100) USING gpucol;
CREATE TABLE p32 PARTITION OF p3 FOR VALUES FROM (100) TO (MAXVALUE) USING gpucol;
INSERT INTO p SELECT 1 + i % 3, i % 400, i, 't' || i % 7, i / 7.0, i * 0.25, date '2020-01-01' + i % 100
FROM generate_series(1, 9000) i;
INSERT INTO p VALUES (1, NULL, NULL, NULL, NULL, NULL, NULL), (2, 1, 2147483647, 'delta', 1.5, 'NaN', NULL);
DELETE FROM p WHERE v % 10 = 3;
UPDATE p SET v = v + 1 WHERE v % 10 = 4;
ANALYZE p;

EXPLAIN (COSTS OFF) SELECT g, sum(v) FROM p WHERE t LIKE 't1%' GROUP BY g;
EXPLAIN (COSTS OFF) SELECT count(*) FROM p WHERE k IN (1, 3) AND g < 50;
EXPLAIN (COSTS OFF) SELECT DISTINCT t FROM p3;

SELECT d FROM unnest(ARRAY[
	'SELECT count(*), count(v), sum(v), avg(v), min(d), max(n), sum(n), avg(n), stddev(v), sum(f), min(f), max(f) FROM p',
	'SELECT t, count(*), sum(v), avg(n), count(DISTINCT g), max(d) FROM p GROUP BY t',
	'SELECT k, g % 5, sum(v), variance(n) FROM p WHERE t <> ''t3'' AND v > 100 GROUP BY 1, 2',
	'SELECT g, count(*) FROM p WHERE k = 3 GROUP BY g HAVING count(*) > 5',
	'SELECT count(*) FROM p WHERE d BETWEEN ''2020-02-01'' AND ''2020-02-10''',
	'SELECT DISTINCT k, t FROM p',
	'SELECT x, (SELECT sum(v) FROM p WHERE g = x AND k = x % 3 + 1) FROM generate_series(1, 6) x',
	'SELECT x, n FROM generate_series(1, 4) x, LATERAL (SELECT count(*) AS n FROM p WHERE k = x OFFSET 0) y',
	'SELECT count(*) FROM p3 WHERE t = ''t1''',
	'SELECT sum(v * 1000000) FROM p',
	'SELECT 10 / (v - v), count(*) FROM p GROUP BY 1'
]) q, differ(q) d WHERE d IS NOT NULL;
SELECT count(*), sum(v) FROM p WHERE k = 99;
SET enable_partitionwise_aggregate = on;
SELECT d FROM unnest(ARRAY[
	'SELECT k, count(*), sum(v) FROM p GROUP BY k',
	'SELECT t, count(*), sum(v) FROM p GROUP BY t'
]) q, differ(q) d WHERE d IS NOT NULL;
RESET enable_partitionwise_aggregate;

-- prepared, with a generic plan: every partition is in the plan
SET plan_cache_mode = force_generic_plan;
PREPARE one(int) AS SELECT count(*), sum(v) FROM p WHERE k = $1;
EXPLAIN (COSTS OFF) EXECUTE one(3);
EXECUTE one(1);
EXECUTE one(3);
RESET plan_cache_mode;

-- a value that engines do not compute with: the ordinary plan answers
INSERT INTO p VALUES (2, 5, 5, 'nan', 'NaN', 0, NULL);
SELECT count(n), max(n) FROM p;
SELECT gpucol.merge('p2');
SELECT count(n), max(n) FROM p;
DELETE FROM p WHERE t = 'nan';

-- a column added later
ALTER TABLE p ADD COLUMN extra int DEFAULT 7;
SELECT d FROM differ('SELECT extra, count(*), sum(extra + v % 3) FROM p GROUP BY extra') d WHERE d IS NOT NULL;

-- only whole trees of gpucol tables
SET gpucol.pushdown = allow;
CREATE TABLE p4 PARTITION OF p FOR VALUES IN (4) USING heap;
EXPLAIN (COSTS OFF, VERBOSE) SELECT sum(v) FROM p;
SELECT d FROM differ('SELECT sum(v) FROM p WHERE k < 4') d WHERE d IS NOT NULL;
DROP TABLE p4;
SELECT tableoid::regclass::text AS part, count(*) FROM p GROUP BY tableoid ORDER BY part;

-- inheritance, whose parent has rows of its own
CREATE TABLE parent (a int, b text) USING gpucol;
CREATE TABLE child (c int) INHERITS (parent) USING gpucol;
INSERT INTO parent SELECT i, 'p' || i % 3 FROM generate_series(1, 100) i;
INSERT INTO child SELECT i, 'c' || i % 3, i FROM generate_series(1, 100) i;
EXPLAIN (COSTS OFF) SELECT b, sum(a) FROM parent GROUP BY b;
SELECT d FROM unnest(ARRAY['SELECT b, sum(a) FROM parent GROUP BY b', 'SELECT b, sum(a) FROM ONLY parent GROUP BY b']) q,
	differ(q) d WHERE d IS NOT NULL;

-- UNION ALL of plain selects, also as a view
CREATE TABLE north (day date, shop int, amount numeric(10,2), note text) USING gpucol;
CREATE TABLE south (note text, shop int, extra int, amount numeric(10,2), day date) USING gpucol;
CREATE TABLE west (day date, shop int8, amount numeric(10,2), note text) USING gpucol;
INSERT INTO north SELECT date '2024-01-01' + i % 300, i % 9, i * 0.25, 'n' || i % 4 FROM generate_series(1, 3000) i;
INSERT INTO south SELECT 's' || i % 4, i % 9, i, i * 0.5, date '2024-06-01' + i % 300 FROM generate_series(1, 2000) i;
INSERT INTO west SELECT date '2024-03-01' + i % 30, i % 9, i * 0.5, 'w' FROM generate_series(1, 100) i;
INSERT INTO south VALUES (NULL, NULL, NULL, NULL, NULL);
CREATE VIEW sales AS SELECT 'north' AS part, day, shop, amount, note FROM north UNION ALL SELECT 'south', day, shop, amount, note FROM south;
EXPLAIN (COSTS OFF) SELECT shop, sum(amount) FROM sales WHERE day < '2024-08-01' GROUP BY shop;
SELECT d FROM unnest(ARRAY[
	'SELECT shop, sum(amount), avg(amount), count(*), min(note), count(DISTINCT day) FROM sales WHERE day < ''2024-08-01'' GROUP BY shop',
	'SELECT count(*), max(day), stddev(shop) FROM sales',
	'SELECT left(note, 1), count(*) FROM sales GROUP BY 1',
	'SELECT DISTINCT shop FROM sales',
	'SELECT x, (SELECT sum(amount) FROM sales WHERE shop = x) FROM generate_series(1, 3) x',
	'SELECT shop, count(*) FROM (SELECT shop FROM north UNION ALL SELECT shop FROM north UNION ALL SELECT shop FROM south) q GROUP BY shop'
]) q, differ(q) d WHERE d IS NOT NULL;
SET gpucol.pushdown = allow;
EXPLAIN (COSTS OFF, VERBOSE) SELECT part, count(*) FROM sales GROUP BY part;
EXPLAIN (COSTS OFF, VERBOSE) SELECT sum(shop) FROM (SELECT shop FROM north UNION ALL SELECT shop FROM west) q;
SELECT part, count(*) FROM sales GROUP BY part ORDER BY part;
SELECT sum(shop), count(*) FROM (SELECT shop FROM north UNION ALL SELECT shop FROM west) q;
SELECT sum(amount), count(*) FROM (SELECT shop, amount FROM north UNION ALL SELECT shop, amount FROM west) q;
SELECT count(*) FROM (SELECT shop FROM north WHERE shop > 3 UNION ALL SELECT shop FROM south) q;

-- row security of the parent holds
CREATE ROLE agg_partitions_reader;
GRANT USAGE ON SCHEMA agg_partitions TO agg_partitions_reader;
GRANT SELECT ON p TO agg_partitions_reader;
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON p FOR SELECT TO agg_partitions_reader USING (g % 2 = 1);
SET ROLE agg_partitions_reader;
EXPLAIN (COSTS OFF) SELECT count(*), sum(g % 2) FROM p WHERE v > 0;
SELECT count(*), sum(g % 2) FROM p WHERE v > 0;
RESET ROLE;
SELECT count(*), sum(g % 2) FROM p WHERE v > 0 AND g % 2 = 1;

SET client_min_messages = error;
DROP SCHEMA agg_partitions CASCADE;
DROP ROLE agg_partitions_reader;
