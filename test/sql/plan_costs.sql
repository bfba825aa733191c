-- The planner's choice between an aggregation in the engine, which has threads of
-- its own, and PostgreSQL's over a parallel scan: the engine, even where parallel
-- workers cost nothing.
SET client_min_messages = warning;
CREATE SCHEMA plan_costs;
SET search_path = plan_costs, public;
CREATE TABLE t (a int, b int, c text, d float8) USING gpucol;
INSERT INTO t SELECT i, i % 1000, 'c' || i % 20, i * 0.5 FROM generate_series(1, 200000) i;
VACUUM ANALYZE t;
SET max_parallel_workers_per_gather = 4;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;

EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM t WHERE a > 199000 AND c = 'c1';
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE b = 7;
EXPLAIN (COSTS OFF) SELECT c, count(*), avg(b), max(a) FROM t GROUP BY c;
EXPLAIN (COSTS OFF) SELECT c, b, count(*) FROM t WHERE c LIKE 'c1%' GROUP BY c, b;
EXPLAIN (COSTS OFF) SELECT DISTINCT c FROM t;

-- Arguments that PostgreSQL evaluates once for each combination of values: the engine
-- groups by those where they repeat; where nearly every row has its own, aggregates are fed rows.
CREATE TABLE line (price numeric(10,2), disc numeric(4,2), mode text) USING gpucol;
INSERT INTO line SELECT (i * 7907::bigint % 10000000) / 100.0, i % 11, 'm' || i % 7 FROM generate_series(1, 100000) i;
VACUUM ANALYZE line;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT sum(price * (1 - disc / 100)) FROM line;
EXPLAIN (COSTS OFF) SELECT mode, sum(price * (1 - disc / 100)) FROM line GROUP BY mode;
EXPLAIN (COSTS OFF) SELECT mode, sum(1 - disc / 100) FROM line GROUP BY mode;
SET max_parallel_workers_per_gather = 4;

-- First rows of an index where those that meet a condition may lie at its other end: the
-- engine, which takes the same short time wherever they lie; the index where it answers
-- the condition, or where nothing says that they lie apart.
CREATE TABLE log (id int PRIMARY KEY, at timestamp, amount numeric(8,2), kind text) USING gpucol;
INSERT INTO log SELECT i, '2024-01-01'::timestamp + i * interval '1 minute', i % 100, chr(97 + i % 7) FROM generate_series(1, 100000) i;
VACUUM ANALYZE log;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT min(id) FROM log WHERE at >= '2024-03-01';
EXPLAIN (COSTS OFF) SELECT max(id) FROM log \g (format=unaligned tuples_only=on) | grep -E 'Scan|Filter'
EXPLAIN (COSTS OFF) SELECT max(id) FROM log WHERE id < 5000 \g (format=unaligned tuples_only=on) | grep -E 'Scan|Filter'
EXPLAIN (COSTS OFF) SELECT max(id) FROM log WHERE kind = 'b' \g (format=unaligned tuples_only=on) | grep -E 'Scan|Filter'
EXPLAIN (COSTS OFF) SELECT * FROM log WHERE at < '2024-01-03' ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM log WHERE kind = 'b' ORDER BY id DESC LIMIT 3;
SELECT * FROM log WHERE at < '2024-01-03' ORDER BY id DESC LIMIT 3;
SELECT min(id), max(id) + 1 AS next FROM log WHERE at >= '2024-03-01' HAVING max(id) > 0;
SELECT d, (SELECT min(id) FROM log WHERE at >= d) FROM generate_series('2024-02-27'::timestamp, '2024-03-10', '6 days') d;
-- the engine cannot take NaN among numeric(8,2): PostgreSQL's aggregation instead
UPDATE log SET amount = 'NaN' WHERE id IN (7, 70000);
SELECT min(id), max(id), max(id) - min(id) AS span FROM log WHERE amount > 99;
SET gpucol.pushdown = require;
SELECT max(id) FROM log WHERE amount > 99;
SELECT max(id) FROM log WHERE id < 5000;
RESET gpucol.pushdown;
SET max_parallel_workers_per_gather = 4;

-- ANALYZE sees rows that lie together and share a value
CREATE TABLE lines (ord int, at timestamp) USING gpucol;
INSERT INTO lines SELECT i / 4, '2024-01-01'::timestamp + i / 20 * interval '1 hour' FROM generate_series(1, 400000) i;
ANALYZE lines;
SELECT attname, n_distinct BETWEEN -0.35 AND -0.15 AS right FROM pg_stats
WHERE schemaname = 'plan_costs' AND tablename = 'lines' AND attname = 'ord';
SELECT attname, n_distinct BETWEEN 15000 AND 25000 OR n_distinct BETWEEN -0.0625 AND -0.0375 AS right FROM pg_stats
WHERE schemaname = 'plan_costs' AND tablename = 'lines' AND attname = 'at';

-- First rows of an order, with conditions whose selectivity nobody knows: the node
-- that delivers only those, not a sort of all rows by however many workers.
CREATE TABLE wide (k int, c int, x1 int, x2 int, x3 int, x4 float8) USING gpucol;
INSERT INTO wide SELECT i % 10007, hashint4(i), hashint4(-i), i, i % 7, hashint4(i + 1) FROM generate_series(1, 300000) i;
VACUUM ANALYZE wide;
CREATE FUNCTION first_rows_nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'GpucolTopK|GpucolScan|Gather' THEN
			nodes := nodes || ' ' || substring(line FROM 'GpucolTopK|GpucolScan|Gather');
		END IF;
	END LOOP;
	RETURN nodes;
END $$;
CREATE VIEW first_rows AS SELECT q FROM (VALUES
	('SELECT k, c FROM wide WHERE k % 7 = 3 ORDER BY c DESC LIMIT 100'),
	('SELECT * FROM wide WHERE k % 7 = 3 ORDER BY c DESC LIMIT 100'),
	('SELECT k, c FROM wide WHERE k % 7 = 3 ORDER BY c DESC FETCH FIRST 100 ROWS WITH TIES'),
	('SELECT k, c FROM wide WHERE k > 5000 ORDER BY c DESC, x1 LIMIT 100'),
	('SELECT * FROM wide ORDER BY c LIMIT 100'),
	('SELECT c FROM wide ORDER BY c LIMIT 100'),
	('SELECT * FROM wide ORDER BY x4 DESC NULLS LAST, c LIMIT 1000'),
	('SELECT * FROM wide ORDER BY k, c DESC LIMIT 10 OFFSET 50')) v(q);
SET gpucol.cpu_threads = 2;
SELECT first_rows_nodes(q), count(*) FROM first_rows GROUP BY 1;
SET max_parallel_workers_per_gather = 8;
SELECT first_rows_nodes(q), count(*) FROM first_rows GROUP BY 1;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SELECT first_rows_nodes(q), count(*) FROM first_rows GROUP BY 1;
SET max_parallel_workers_per_gather = 0;
SELECT first_rows_nodes(q), count(*) FROM first_rows GROUP BY 1;
-- fewer rows than the limit, as far as is known: a scan and a sort
SELECT first_rows_nodes('SELECT * FROM wide WHERE k = 9 ORDER BY c LIMIT 100');

-- Grouping sets over joined rows, of which too few are expected: grouped in the engine, not outside of the join.
CREATE TABLE sold USING gpucol AS SELECT i % 52 * 7 AS day, i % 9000 AS item, i % 100 AS quantity FROM generate_series(1, 120000) i;
CREATE TABLE days USING gpucol AS SELECT i AS day, i / 365 AS year FROM generate_series(0, 2189) i;
CREATE TABLE items USING gpucol AS SELECT i AS item, 'item ' || i AS name, 'brand ' || i % 700 AS brand, 'class ' || i % 100 AS class FROM generate_series(0, 8999) i;
ANALYZE sold, days, items;
EXPLAIN (COSTS OFF) SELECT name, brand, class, avg(quantity) FROM sold JOIN days USING (day) JOIN items USING (item) WHERE year = 0 GROUP BY ROLLUP (name, brand, class);

-- SERIALIZABLE: a scan locks the table, so an index finds a row of a small one, too
CREATE TABLE accounts USING gpucol AS SELECT g AS id, 100 AS balance FROM generate_series(1, 40) g;
CREATE UNIQUE INDEX ON accounts (id);
ANALYZE accounts;
SET enable_bitmapscan = off;
BEGIN ISOLATION LEVEL SERIALIZABLE;
EXPLAIN (COSTS OFF) SELECT balance FROM accounts WHERE id = 7;
EXPLAIN (COSTS OFF) UPDATE accounts SET balance = 1 WHERE id = 7;
COMMIT;
RESET enable_bitmapscan;

-- a few rows by a key: an index finds them, however small the table; not a part of a key, nor a range
CREATE TABLE keyed (id int, part int, balance bigint, PRIMARY KEY (id, part)) USING gpucol;
INSERT INTO keyed SELECT i, i % 3, 1000 FROM generate_series(1, 5000) i;
CREATE UNIQUE INDEX keyed_id ON keyed (id) WHERE part = 1;
ANALYZE keyed;
CREATE FUNCTION keyed_nodes(query text, OUT nodes text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	nodes := '';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := concat_ws(', ', nullif(nodes, ''), substring(line FROM '(Index Scan using \w+|Bitmap Heap Scan|Gpucol\w+|Seq Scan)'));
	END LOOP;
END $$;
SET enable_bitmapscan = off;
SELECT q, keyed_nodes(q) FROM (VALUES
	('UPDATE keyed SET balance = 1 WHERE id = 7 AND part = 1'),
	('UPDATE keyed SET balance = 1 WHERE id IN (7, 9, 11) AND part = 2'),
	('SELECT * FROM keyed WHERE id IN (7, 9, 11) AND part = 2 FOR UPDATE'),
	('SELECT sum(balance) FROM keyed WHERE id IN (7, 9, 11) AND part = 2'),
	('SELECT * FROM keyed WHERE id = 7 AND part = 1 ORDER BY balance LIMIT 3'),
	('MERGE INTO keyed k USING (VALUES (7)) v (id) ON k.id = v.id AND k.part = 1 WHEN MATCHED THEN UPDATE SET balance = 2'),
	('SELECT * FROM keyed WHERE id IN (7, 9, 11)'),
	('SELECT * FROM keyed WHERE id > 4990 AND part = 2'),
	('SELECT * FROM keyed WHERE id = ALL (ARRAY[7, 7]) AND part = 2')) v(q);
CREATE TABLE tiny (id int PRIMARY KEY, v int) USING gpucol;
INSERT INTO tiny SELECT i, i FROM generate_series(1, 100) i;
ANALYZE tiny;
SELECT q, keyed_nodes(q) FROM (VALUES
	('UPDATE tiny SET v = v + 1 WHERE id = 7'),
	('SELECT v FROM tiny WHERE 7 = id FOR UPDATE'),
	('SELECT sum(v) FROM tiny WHERE id = 7'),
	('SELECT * FROM tiny WHERE v = 7')) v(q);
PREPARE keyed_rows (int, int, int) AS UPDATE keyed SET balance = $3 WHERE id IN ($1, $2) AND part = 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE keyed_rows (7, 9, 1);
RESET plan_cache_mode;
SET gpucol.pushdown = require;
SELECT keyed_nodes('SELECT sum(balance) FROM keyed WHERE id IN (7, 9, 11) AND part = 2');
RESET gpucol.pushdown;
RESET enable_bitmapscan;

SET client_min_messages = error;
DROP SCHEMA plan_costs CASCADE;

-- a loop over a function's rows costs nearly the same whatever reads the table: it is read by the scan that takes less
CREATE TABLE pc_loop (id int, kind text, msg text, pad text) USING gpucol;
INSERT INTO pc_loop SELECT i, 'k' || i % 5, 'Word ' || i || ' other', repeat('p', i % 40) FROM generate_series(1, 20000) i;
ANALYZE pc_loop;
EXPLAIN (COSTS OFF) SELECT w, count(*) FROM pc_loop CROSS JOIN LATERAL regexp_split_to_table(lower(msg), '[^a-z]+') w WHERE kind = 'k1' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;
SELECT w, count(*) FROM pc_loop CROSS JOIN LATERAL regexp_split_to_table(lower(msg), '[^a-z]+') w WHERE kind = 'k1' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;
DROP TABLE pc_loop;
