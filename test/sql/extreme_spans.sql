-- The least and greatest intervals are found by the engine, in PostgreSQL's order of them.
SET client_min_messages = warning;
CREATE SCHEMA extreme_spans;
SET search_path = extreme_spans, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE t (id int, k int, few interval, many interval) USING gpucol;
INSERT INTO t SELECT i, i % 50, (ARRAY['1 mon', '29 days', '31 days', '-1 year', NULL, '1 day -3 hours']::interval[])[1 + i % 6],
	(i * 7919 % 601 - 300) * interval '1 day' + (i * 104729 % 86400) * interval '1 second' + (i % 5 - 2) * interval '1 month' + interval '0.000001 seconds' * i FROM generate_series(1, 5000) i;
INSERT INTO t VALUES (0, 100, NULL, NULL), (-1, 101, '178000000 years', '-178000000 years'), (-2, 102, '2147483647 days', '-2147483648 days'), (-3, 103, '2562047788:00:54', '-2562047788:00:54');
SELECT gpucol.merge('t');
UPDATE t SET many = many + '1 day' WHERE id % 501 = 0;
DELETE FROM t WHERE id % 499 = 0;
INSERT INTO t SELECT -id - 10, k, many, few FROM t WHERE id % 611 = 0;
ANALYZE t;

-- of equal ones of different looks either may be the least: they are compared
SELECT d FROM differ('SELECT min(few) = x.a AND max(few) = x.b AND min(many) = x.c AND max(many) = x.d FROM t, (SELECT min(few + ''0'') a, max(few + ''0'') b, min(many + ''0'') c, max(many + ''0'') d FROM t) x GROUP BY x.a, x.b, x.c, x.d') d;
SELECT min(few), max(few), min(many), max(many) FROM t;
SELECT d FROM differ('SELECT min(many), max(many) FROM t') d;
SELECT d FROM differ('SELECT k, min(many), max(many), count(*) FROM t GROUP BY 1') d;
SELECT d FROM differ('SELECT k, max(many) FILTER (WHERE id % 2 = 0), min(few) FROM t WHERE k < 40 GROUP BY 1') d;
SELECT d FROM differ('SELECT id, min(many), max(few) FROM t GROUP BY 1') d;
SELECT d FROM differ('SELECT a.k, min(b.many) FROM t a JOIN t b ON a.id = b.id + 1 GROUP BY 1') d;
SELECT d FROM differ('SELECT min(many), max(few) FROM t WHERE id > 100000') d;
SELECT d FROM differ('SELECT min(many), max(few) FROM t WHERE id = 77') d;
SELECT d FROM differ('SELECT min(many), max(few) FROM t WHERE id = 0') d;
SELECT d FROM differ('SELECT k, min(many) FROM t GROUP BY ROLLUP (1)') d;
EXPLAIN (COSTS OFF) SELECT k, min(many), max(few) FROM t GROUP BY 1;

DROP SCHEMA extreme_spans CASCADE;
