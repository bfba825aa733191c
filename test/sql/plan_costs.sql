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

SET client_min_messages = error;
DROP SCHEMA plan_costs CASCADE;
