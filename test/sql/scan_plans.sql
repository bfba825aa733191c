-- GpucolScan and GpucolAgg among PostgreSQL's other features: EXPLAIN, prepared
-- statements, views, row security, cursors, rescans, partitions, parallel plans.
SET client_min_messages = warning;
CREATE SCHEMA scan_plans;
SET search_path = scan_plans, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.engine = cpu;
SET gpucol.pushdown = require;

CREATE TABLE t (id int, g int, v numeric(10,2), s text, x int) USING gpucol;
INSERT INTO t SELECT i, i % 10, i * 0.25, 's' || i % 7, CASE WHEN i % 4 = 0 THEN NULL ELSE i % 100 END FROM generate_series(1, 2000) i;
ANALYZE t;

-- what EXPLAIN says
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE g = 3;
EXPLAIN (COSTS OFF) SELECT id + 1, s FROM t WHERE g IN (1, 2) AND s LIKE 's%' AND v < 100 AND x IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
EXPLAIN (COSTS OFF) SELECT g, sum(v) / 2 FROM t WHERE x > 5 GROUP BY g HAVING count(*) > 3 ORDER BY g;
EXPLAIN (COSTS OFF) SELECT DISTINCT g, s FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a.id FROM t a WHERE a.g = 3;
EXPLAIN (COSTS OFF, FORMAT JSON) SELECT g, max(id) FROM t WHERE x > 5 GROUP BY g \g (format=unaligned tuples_only=on) | grep -v Disabled

-- conditions that stay with PostgreSQL, and why
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM t WHERE g = 3 AND s::bytea = 'x' AND random() < 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT array_agg(id + random()) FROM t WHERE g = 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, grouping(g) FROM t GROUP BY ROLLUP (g);
EXPLAIN (VERBOSE, COSTS OFF) SELECT string_agg(s || random(), '') FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a.g, count(*) FROM t a JOIN t b USING (id) GROUP BY a.g \g (format=unaligned tuples_only=on) | grep Not
EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT string_agg(s || random(), '') FROM t \g (format=unaligned tuples_only=on) | grep -v Disabled
EXPLAIN (VERBOSE, COSTS OFF, FORMAT YAML) SELECT string_agg(s || random(), '') FROM t \g (format=unaligned tuples_only=on) | grep -v Disabled
EXPLAIN (VERBOSE, COSTS OFF, FORMAT XML) SELECT string_agg(s || random(), '') FROM t \g (format=unaligned tuples_only=on) | grep -v Disabled
SELECT count(*) FROM t WHERE g = 3 AND s::bytea = 's3' AND random() < 2;

-- constants, and conditions on texts, are not compiled for their few evaluations
CREATE FUNCTION is_compiled(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF) ' || query LOOP
		found := found OR line ~ 'JIT:';
	END LOOP;
	RETURN found;
END $$;
SET jit = on;
SET jit_above_cost = 0;
SELECT is_compiled($$SELECT count(*) FROM t WHERE g < length(current_setting('search_path'))$$);
SELECT is_compiled($$SELECT count(*) FROM t WHERE s LIKE '%3'$$);
SELECT is_compiled($$SELECT x, (SELECT count(*) FROM t WHERE t.id < o.x) FROM t o WHERE id < 9$$);
RESET jit;
RESET jit_above_cost;

-- settings
SET gpucol.enable_agg = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
SET gpucol.enable_scan = off;
SELECT count(*) FROM t;
SET gpucol.enable_agg = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
RESET gpucol.enable_scan;
SET gpucol.enabled = off;
SELECT count(*) FROM t;
RESET gpucol.enabled;
SET gpucol.pushdown = forbid;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM t;
SET gpucol.pushdown = require;
SELECT count(*) FROM t TABLESAMPLE BERNOULLI (100);
SELECT xmin IS NOT NULL FROM t LIMIT 1;

-- system columns that virtual tuples have
SELECT tableoid::regclass, count(*) FROM t GROUP BY 1;
SELECT count(DISTINCT ctid) FROM t WHERE g = 3;
SELECT (t).id, t FROM t WHERE id = 7;
SELECT count(*) FROM t a JOIN t b ON a.ctid = b.ctid;

-- row locks and changes use the ordinary scan
SELECT id FROM t WHERE id = 7 FOR UPDATE;
UPDATE t SET x = 1 WHERE id = 7;
DELETE FROM t WHERE id = 8;
EXPLAIN (COSTS OFF) UPDATE t SET x = 1 WHERE id = 7;
INSERT INTO t SELECT id + 10000, g, v, s, x FROM t WHERE id = 7 RETURNING id;
UPDATE t SET x = n FROM (SELECT g AS gg, count(*) AS n FROM t GROUP BY g) y WHERE id = 9 AND g = gg RETURNING x;

-- prepared statements, custom and generic
PREPARE by_g(int) AS SELECT count(*), sum(v) FROM t WHERE g = $1;
PREPARE by_list(int[], text) AS SELECT count(*), min(id) FROM t WHERE g = ANY ($1) AND s <> $2;
PREPARE rows_of(numeric, text) AS SELECT id FROM t WHERE v = $1 OR s = $2 || 'x';
PREPARE division(int) AS SELECT count(*) FROM t WHERE x / $1 = 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_g(3);
EXECUTE by_g(3);
EXECUTE by_g(NULL);
EXECUTE by_g(99);
EXECUTE by_list('{1,2,NULL}', 's1');
EXECUTE by_list('{}', 's1');
EXECUTE by_list(NULL, 's1');
EXECUTE by_list('{1,2}', NULL);
EXECUTE rows_of(10.25, 'a');
EXECUTE rows_of(10.251, 'a');
EXECUTE rows_of('NaN', 'a');
EXECUTE division(10);
EXECUTE division(0);
RESET plan_cache_mode;
EXECUTE by_g(3);

-- a parameter whose value no engine takes: the ordinary plan answers
PREPARE wide_numeric(numeric) AS SELECT count(*), sum(id) FROM t WHERE v + $1 > 0;
SET plan_cache_mode = force_generic_plan;
EXECUTE wide_numeric(1.5);
EXECUTE wide_numeric(1e60);
CREATE FUNCTION fallback_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Custom|Fallback|Aggregate|Seq Scan' THEN
			RETURN NEXT regexp_replace(line, 'actual rows=[0-9.]+', 'actual rows=N');
		END IF;
	END LOOP;
END $$;
SELECT fallback_of('EXECUTE wide_numeric(1e60)');
PREPARE wide_rows(numeric) AS SELECT count(*) FROM (SELECT id FROM t WHERE v + $1 > 0 OFFSET 0) y;
SELECT fallback_of('EXECUTE wide_rows(1e60)');
EXECUTE wide_rows(1e60);
RESET plan_cache_mode;

-- views and row security
CREATE VIEW plain AS SELECT id, g, v FROM t WHERE g < 5;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, g, v, s, x FROM t WHERE g < 5;
SELECT count(*), sum(v) FROM plain WHERE id > 100;
EXPLAIN (COSTS OFF) SELECT count(*) FROM barrier WHERE id > 100;
EXPLAIN (COSTS OFF) SELECT id FROM barrier WHERE s LIKE 's1%';
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM barrier WHERE 100 / x > 3;
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE VIEW tight WITH (security_barrier) AS SELECT id, s, v FROM t WHERE s::bytea = 's3' AND id < 20;
EXPLAIN (COSTS OFF) SELECT id FROM tight WHERE leak(s) AND v > 1 AND s LIKE 's%';
SET client_min_messages = notice;
SELECT id FROM tight WHERE leak(s) AND v > 1 AND s LIKE 's%';
SET client_min_messages = warning;
CREATE ROLE gpucol_reader;
GRANT USAGE ON SCHEMA scan_plans TO gpucol_reader;
GRANT SELECT ON t TO gpucol_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON t TO gpucol_reader USING (g = 2);
SET ROLE gpucol_reader;
SELECT count(*), min(g), max(g) FROM t;
SELECT count(*) FROM t WHERE g = 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE s = 's1';
SELECT count(*) FROM t WHERE s = 's1';
RESET ROLE;
REVOKE SELECT ON t FROM gpucol_reader;
SET ROLE gpucol_reader;
SELECT count(*) FROM t;
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
DROP OWNED BY gpucol_reader;
DROP ROLE gpucol_reader;

-- cursors
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE g = 4 ORDER BY id;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
CLOSE c;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM t WHERE id = 4;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM t WHERE id IN (5, 15, 25) ORDER BY id;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT count(*) FROM t;
COMMIT;
FETCH c;
CLOSE c;
-- a cursor sees its own snapshot
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE g = 4 AND id < 100 ORDER BY id;
FETCH 1 FROM c;
DELETE FROM t WHERE g = 4 AND id < 100;
FETCH ALL FROM c;
SELECT count(*) FROM t WHERE g = 4 AND id < 100;
ROLLBACK;

-- rescans: correlated subqueries, nested loops, LIMIT, EXISTS
SELECT i, (SELECT count(*) FROM t WHERE g = i) FROM generate_series(0, 3) i;
SELECT i, ARRAY(SELECT id FROM t WHERE id BETWEEN i * 10 AND i * 10 + i AND x IS NOT NULL ORDER BY id) FROM generate_series(0, 3) i;
SELECT i, EXISTS (SELECT 1 FROM t WHERE s = 's' || i OFFSET 0) FROM generate_series(5, 8) i;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(a.id) FROM generate_series(1, 5) i JOIN t a ON a.g = i AND a.x = 5;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT count(*), min(g) FROM (SELECT g FROM t WHERE g = 3 LIMIT 2) y;
SELECT count(*) FROM (SELECT id FROM t WHERE g = 3 LIMIT 5) y;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE (SELECT count(*) FROM t WHERE g = n) > 0 AND n < 5) SELECT * FROM r;
CREATE FUNCTION count_g(int) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM t WHERE g = $1';
CREATE FUNCTION count_g_plpgsql(wanted int) RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT count(*) FROM t WHERE g = wanted); END $$;
SELECT i, count_g(i), count_g_plpgsql(i) FROM generate_series(1, 8) i;

-- stable expressions and one-time filters
SELECT count(*) FROM t WHERE id < extract(year FROM now())::int AND current_date > '2000-01-01';
PREPARE gate(bool) AS SELECT count(*) FROM t WHERE $1 AND g = 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE gate(true);
EXECUTE gate(false);
EXECUTE gate(NULL);
RESET plan_cache_mode;
SELECT count(*) FROM t WHERE false;
-- what PostgreSQL has proven empty it need not scan, nor find a join for
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE id = NULL;
SELECT count(*) FROM t WHERE g = 3 AND NULL;

-- joins
SELECT a.g, count(*), sum(b.v) FROM t a JOIN t b USING (id) WHERE a.g < 3 GROUP BY a.g ORDER BY a.g;
SELECT count(*) FROM t a LEFT JOIN t b ON a.id = b.id + 1000 AND b.g = 1;
SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.id = a.id AND b.g = 1);

-- partitions, inheritance
CREATE TABLE p (k int, g int, v int) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1) USING gpucol;
CREATE TABLE p2 (v int, k int, g int) USING gpucol;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3) USING heap;
INSERT INTO p SELECT 1 + i % 3, i % 4, i FROM generate_series(1, 900) i;
ANALYZE p;
EXPLAIN (COSTS OFF) SELECT sum(v) FROM p WHERE g = 1;
SELECT sum(v), count(*) FROM p WHERE g = 1;
SELECT sum(v) FROM p WHERE k = 2 AND g = 1;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT k, sum(v) FROM p WHERE g = 1 GROUP BY k;
SELECT k, sum(v), count(*) FILTER (WHERE v > 500) FROM p WHERE g = 1 GROUP BY k HAVING count(*) > 10 ORDER BY k;
SELECT g, sum(v) FROM p GROUP BY g ORDER BY g;
RESET enable_partitionwise_aggregate;
SELECT tableoid::regclass::text AS part, count(*) FROM p GROUP BY tableoid ORDER BY part;

-- parallel plans
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET gpucol.enable_agg = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(v) FROM t WHERE g = 3;
SELECT count(*), sum(v) FROM t WHERE g = 3;
SELECT i, (SELECT sum(v) FROM t WHERE g = i) FROM generate_series(1, 3) i;
RESET gpucol.enable_agg;
SELECT count(*), sum(v) FROM t WHERE g = 3;
RESET max_parallel_workers_per_gather;

-- an index still finds single rows
SET gpucol.pushdown = allow;
CREATE TABLE big (id int, v int) USING gpucol;
INSERT INTO big SELECT i, i % 10 FROM generate_series(1, 20000) i;
CREATE INDEX ON big (id);
ANALYZE big;
EXPLAIN (COSTS OFF) SELECT v FROM big WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT count(*) FROM big WHERE v = 7;
SET gpucol.pushdown = require;
SELECT v FROM big WHERE id = 77;

-- a primary key stands for its row's other columns
CREATE TABLE keyed (k int PRIMARY KEY, v text, x int) USING gpucol;
INSERT INTO keyed SELECT i, 'v' || i, i % 5 FROM generate_series(1, 50) i;
EXPLAIN (COSTS OFF) SELECT k, v, count(*), sum(x) FROM keyed GROUP BY k;
SELECT k, v, count(*), sum(x) FROM keyed WHERE k < 4 GROUP BY k ORDER BY k;

-- plans follow DDL
SET gpucol.pushdown = allow;
PREPARE ddl AS SELECT count(*) FROM big WHERE v = 7;
EXECUTE ddl;
ALTER TABLE big ADD COLUMN w int DEFAULT 5;
SELECT count(*), sum(w) FROM big WHERE v = 7;
ALTER TABLE big DROP COLUMN id;
EXECUTE ddl;
SELECT * FROM big WHERE v = 7 LIMIT 1;
ALTER TABLE big SET ACCESS METHOD heap;
EXECUTE ddl;

SET client_min_messages = error;
DROP SCHEMA scan_plans CASCADE;
