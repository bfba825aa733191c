-- Scans in parallel plans: every row once, and EXPLAIN ANALYZE counts what all
-- participants did.
SET client_min_messages = warning;
CREATE SCHEMA scan_parallel;
SET search_path = scan_parallel, public;
SET gpucol.segment_rows = 2048;
CREATE TABLE t (a int, b int, c text, n numeric(10,2)) USING gpucol;
INSERT INTO t SELECT i, i % 1000, 'c' || i % 20, i * 0.25 FROM generate_series(1, 40960) i;
RESET gpucol.segment_rows;
DO $$ BEGIN FOR i IN 1..300 LOOP INSERT INTO t VALUES (-i, i, 'delta', i); END LOOP; END $$;
DELETE FROM t WHERE a BETWEEN 5000 AND 5099;
CREATE TABLE h AS SELECT * FROM t;
ANALYZE t;
SET gpucol.engine = cpu;
SET gpucol.enable_agg = off;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;

-- Explained lines of a statement that say how much was done
CREATE FUNCTION figures(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, VERBOSE) ' || query LOOP
		IF line ~ 'Workers Planned|Segments|Vectors|Delta Rows|Engine|Fallback' THEN RETURN NEXT btrim(line); END IF;
	END LOOP;
END $$;
SELECT count(*) AS segments FROM (SELECT DISTINCT segment FROM gpucol.segments('t')) s;
SELECT figures('SELECT count(*), sum(b) FROM t WHERE b < 900');
SELECT figures('SELECT count(*) FROM t WHERE a BETWEEN 1 AND 4000');
SET parallel_leader_participation = off;
SELECT figures('SELECT count(*), sum(b) FROM t WHERE b < 900');
RESET parallel_leader_participation;

-- figures of every execution add up
SELECT figures('SELECT x, (SELECT count(*) FROM t WHERE b = x) FROM generate_series(1, 3) x');

SELECT count(*), sum(a), sum(n), min(c), max(c) FROM t WHERE b < 900;
SELECT count(*), sum(a), sum(n), min(c), max(c) FROM h WHERE b < 900;
(SELECT * FROM t WHERE c LIKE 'c1%' AND n > 10) EXCEPT ALL (SELECT * FROM h WHERE c LIKE 'c1%' AND n > 10);
(SELECT * FROM h WHERE c LIKE 'c1%' AND n > 10) EXCEPT ALL (SELECT * FROM t WHERE c LIKE 'c1%' AND n > 10);
SELECT count(*), sum(x.a::int8 * y.a) FROM t x JOIN h y ON x.a = y.a WHERE x.b < 500;

-- a value that engines do not compute with: all participants scan rows
INSERT INTO t VALUES (0, 0, 'nan', 'NaN');
SELECT figures('SELECT count(*), max(n) FROM t');
SELECT count(*), max(n) FROM t;

-- segments of a type that was changed without a rewrite: likewise, also where rows
-- of segments with the new type come first
SET timezone = 'UTC';
SET gpucol.segment_rows = 1024;
CREATE TABLE old_types (a int, at timestamp, o int4, n numeric(8,2)) USING gpucol;
INSERT INTO old_types SELECT i, timestamp '2020-01-01' + i * interval '1 hour', i, i / 4.0 FROM generate_series(1, 8000) i;
ALTER TABLE old_types ALTER at TYPE timestamptz, ALTER o TYPE oid, ALTER n TYPE numeric;
INSERT INTO old_types SELECT i, timestamp '2020-01-01' + i * interval '1 hour', i, i / 8.0 FROM generate_series(8001, 12000) i;
RESET gpucol.segment_rows;
ANALYZE old_types;
SELECT figures('SELECT count(*), max(at) FROM old_types WHERE o > 5');
SELECT count(*), sum(a), min(at), max(at), max(o) FROM old_types WHERE at > '2020-02-01' AND o > 5;
SELECT figures('SELECT count(*), sum(n) FROM old_types WHERE n > 5');
SELECT count(*), sum(n), min(n), max(n) FROM old_types WHERE n > 5;
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(n), min(n), max(n) FROM old_types WHERE n > 5;
SELECT count(*), sum(a), min(at), max(at), max(o) FROM old_types WHERE at > '2020-02-01' AND o > 5;
RESET gpucol.enable_agg;
SELECT count(*), sum(a), min(at), max(at), max(o) FROM old_types WHERE at > '2020-02-01' AND o > 5;
SET gpucol.enable_agg = off;
SET max_parallel_workers_per_gather = 2;

-- a Gather takes the cheapest partial path, and the plan of a subquery is one of paths
-- that are still there
CREATE TABLE wide (id int, a text, b text, c text, d text, e text) USING gpucol;
DO $$ BEGIN FOR i IN 1..48 LOOP INSERT INTO wide VALUES (i); END LOOP; END $$;
ANALYZE wide;
EXPLAIN (COSTS OFF) SELECT id FROM wide;
CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 1000) i;
SELECT count(*) FROM few WHERE id NOT IN (SELECT id FROM wide);

-- participants share one segment: every row once, by engines and by the table's rows
CREATE TABLE one (a int, b int8, c text, n numeric(8,2), o numeric(8,2)) USING gpucol;
INSERT INTO one SELECT i, i::int8 * 1000003, CASE WHEN i % 7 > 0 THEN 'c' || i % 9 END, i / 4.0, CASE WHEN i % 3 > 0 THEN i END
	FROM generate_series(1, 150000) i;
DELETE FROM one WHERE a % 1000 = 0 OR a BETWEEN 32760 AND 65600 OR a = 150000;
CREATE TABLE one_heap AS SELECT * FROM one;
ANALYZE one;
SELECT count(*) AS segments FROM (SELECT DISTINCT segment FROM gpucol.segments('one')) s;
SELECT figures('SELECT count(*), sum(b) FROM one WHERE n > 5');
SELECT figures('SELECT count(*) FROM one WHERE a BETWEEN 100 AND 33000');
SELECT figures('SELECT count(*) FROM one WHERE c = ''nobody''');
SELECT * FROM one WHERE n > 5 OR c IS NULL EXCEPT ALL SELECT * FROM one_heap WHERE n > 5 OR c IS NULL;
SELECT * FROM one_heap WHERE n > 5 OR c IS NULL EXCEPT ALL SELECT * FROM one WHERE n > 5 OR c IS NULL;
SELECT count(*), count(DISTINCT a), sum(a), sum(n), sum(o) FROM one WHERE c LIKE '%3';
SELECT count(*), count(DISTINCT a), sum(a), sum(n), sum(o) FROM one_heap WHERE c LIKE '%3';
SET gpucol.pushdown = forbid;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM one;
SELECT count(*), sum(a), sum(b), sum(n), sum(o) FROM one;
SELECT count(*), sum(a), sum(b), sum(n), sum(o) FROM one_heap;
RESET gpucol.pushdown;
SET max_parallel_maintenance_workers = 2;
CREATE INDEX one_a ON one (a);
SET enable_seqscan = off;
SET gpucol.enable_scan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM one WHERE a BETWEEN 30000 AND 70000;
SELECT count(*), sum(n) FROM one WHERE a BETWEEN 30000 AND 70000;
SELECT count(*), sum(n) FROM one_heap WHERE a BETWEEN 30000 AND 70000;
RESET enable_seqscan;
RESET gpucol.enable_scan;

-- an error in a worker, and a cursor that is not read to its end
\set VERBOSITY terse
SELECT sum(1 / (b - 7)) FROM t;
BEGIN;
DECLARE part CURSOR FOR SELECT a FROM t WHERE b < 900;
MOVE 10 FROM part;
CLOSE part;
COMMIT;

SET client_min_messages = error;
DROP SCHEMA scan_parallel CASCADE;
