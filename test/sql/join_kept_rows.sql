-- Rows of a plan that are kept on disk while a table of a join is made in parts: a row in hand
-- outlasts a run that ends for want of memory.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET gpucol.cpu_threads = 1;
SET work_mem = '64kB';
SET gpucol.memory_limit = '1MB';

CREATE TABLE kept USING gpucol AS SELECT md5(i::text) AS s, i::bigint AS k FROM generate_series(1, 30000) i;
ANALYZE kept;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/plan.psql
\set ECHO none
\i :include
\set ECHO all
-- 18 has a Subquery Scan above each
SELECT trim(p) AS plan FROM plan('SELECT count(*) FROM (SELECT s, count(*) FROM kept a GROUP BY s HAVING count(*) >= (SELECT count(*) FROM kept b WHERE b.s = a.s)) q') p
WHERE p NOT LIKE '%Subquery Scan%';
DROP FUNCTION plan(text, text);

PREPARE ask AS
SELECT count(*) FROM (SELECT s, count(*) FROM kept a GROUP BY s HAVING count(*) >= (SELECT count(*) FROM kept b WHERE b.s = a.s)) q;
EXECUTE ask;
EXECUTE ask;
SET gpucol.memory_limit = '2MB';
EXECUTE ask;
SET work_mem = '128kB';
EXECUTE ask;

DROP TABLE kept;
