-- Branches of a UNION ALL whose columns have other types than the whole: conditions and groups go into them.
CREATE SCHEMA union_types;
SET search_path = union_types, public;
SET max_parallel_workers_per_gather = 0;
\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TABLE g (id int, s smallint, i int, l bigint, n numeric(10,2), f real, d double precision, t text, v varchar(20), c char(6), a date, w timestamp, z timestamptz) USING gpucol;
INSERT INTO g SELECT i, nullif(i % 7, 3), nullif(i % 90, 8), i::bigint << (i % 40), i % 1000 / 4.0, i % 50 / 4.0, CASE WHEN i % 100 > 0 THEN i / 8.0 ELSE 'NaN' END, 't' || i % 20, 'v' || i % 30, 'c' || i % 9,
	date '2024-01-01' + i % 300, timestamp '2024-01-01' + i % 300 * interval '5 hours', timestamptz '2024-01-01 00:00+00' + i % 300 * interval '7 hours' FROM generate_series(1, 5000) i;
CREATE TABLE o (LIKE g) USING gpucol;
INSERT INTO o SELECT * FROM g WHERE id % 3 = 0;
ANALYZE g, o;
EXPLAIN (COSTS OFF) SELECT src, count(*), sum(v) FROM (SELECT 'g' AS src, id, n AS v FROM g WHERE i > 3 UNION ALL SELECT 'o', id, i FROM o) u WHERE id > 100 GROUP BY src;
-- every pair of types that have one in common
SELECT differ(q), a, b
FROM unnest('{s,i,l,n,f,d}'::text[]) a, unnest('{s,i,l,n,f,d}'::text[]) b, unnest('{1,2}'::int[]) m,
	format(CASE m WHEN 1 THEN 'SELECT count(*), min(x), max(x), sum(x) FROM (SELECT id, %s AS x FROM g UNION ALL SELECT id, %s FROM o) u WHERE x > 2'
		ELSE 'SELECT x, count(*) FROM (SELECT %s AS x FROM g WHERE id < 900 UNION ALL SELECT %s FROM o) u GROUP BY x' END, a, b) q
WHERE differ(q) IS NOT NULL AND NOT (m = 1 AND (a IN ('f', 'd') OR b IN ('f', 'd')));
SELECT differ(q), a, b
FROM (VALUES ('t', 'v'), ('v', 't'), ('c', 't'), ('v', 'c'), ('t', 'c'), ('a', 'w'), ('a', 'z'), ('w', 'z'), ('z', 'a'), ('NULL', 'a'), ('NULL', 'i'), ('''x''', 'v'), ('1', 'n'), ('2.5', 'i'), ('i', 'NULL'), ('t::name', 't')) p (a, b),
	format('SELECT x, count(*), max(id) FROM (SELECT id, %s AS x FROM g UNION ALL SELECT id, %s FROM o WHERE id > 30) u GROUP BY x', a, b) q
WHERE differ(q) IS NOT NULL;
-- several branches, one type after the other; below other operations, at the top, in WITH, in a view
SELECT differ('SELECT x, count(*), sum(x) FROM (SELECT s AS x FROM g UNION ALL SELECT i FROM o UNION ALL SELECT l FROM g WHERE id < 9 UNION ALL SELECT n FROM o) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM (SELECT i AS x FROM o UNION ALL (SELECT s FROM g UNION ALL SELECT n FROM g)) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM (SELECT i AS x FROM o UNION ALL (SELECT s FROM g UNION SELECT n FROM g)) u GROUP BY x');
SELECT differ('(SELECT count(*), sum(n) FROM g UNION ALL SELECT i, s FROM o WHERE id < 90 AND i > 80)');
SELECT differ('WITH u AS (SELECT i AS x, id FROM g UNION ALL SELECT n, id FROM o) SELECT count(*), sum(a.x) FROM u a JOIN u b ON a.id = b.id');
CREATE VIEW both_tables AS SELECT id, i AS x, t AS y FROM g UNION ALL SELECT id, n, v FROM o;
SELECT differ('SELECT y, count(*), avg(x) FROM both_tables WHERE id % 5 = 1 GROUP BY y');
-- branches that sort, group, tell rows apart, or make sets of them by what has another type
SELECT differ('SELECT x, sum(y) FROM (SELECT i AS x, count(*) AS y FROM g GROUP BY i UNION ALL SELECT n, sum(s) FROM o GROUP BY n) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM (SELECT DISTINCT i AS x FROM g UNION ALL SELECT n FROM o) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM ((SELECT i AS x FROM g ORDER BY i, id LIMIT 70) UNION ALL SELECT n FROM o) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM (SELECT generate_series(1, s) AS x FROM g UNION ALL SELECT n FROM o) u GROUP BY x');
SELECT differ('SELECT x, count(*) FROM (SELECT (SELECT max(s) FROM o) AS x FROM g UNION ALL SELECT n FROM o) u GROUP BY x');
SELECT differ('SELECT x, r FROM (SELECT i AS x, row_number() OVER (PARTITION BY s ORDER BY id) AS r FROM g UNION ALL SELECT n, s FROM o) u WHERE x > 17 AND r < 90', 'GpucolWindow');
-- a condition is tested on the type of the whole
SELECT differ('SELECT count(*) FROM (SELECT c AS x FROM g UNION ALL SELECT t FROM o) u WHERE length(x) = 6');
SELECT differ('SELECT count(*) FROM (SELECT c AS x FROM g UNION ALL SELECT t FROM o) u WHERE x = ''c1''');
-- recursion; statements that change rows; prepared
SELECT differ('WITH RECURSIVE r AS (SELECT 1::bigint AS x UNION ALL SELECT x + 1 FROM r WHERE x < 10) SELECT count(*), sum(y) FROM (SELECT x AS y FROM r UNION ALL SELECT n FROM o) u');
CREATE TABLE into_it (x numeric, y text) USING gpucol;
INSERT INTO into_it SELECT i, v FROM g UNION ALL SELECT n, t FROM o;
SELECT count(*), sum(x), min(y) FROM into_it;
PREPARE mixed(int) AS SELECT count(*), sum(x) FROM (SELECT i AS x, id FROM g UNION ALL SELECT n, id FROM o UNION ALL SELECT $1, 1) u WHERE id < $1;
EXECUTE mixed(700);
SET plan_cache_mode = force_generic_plan;
EXECUTE mixed(900);
DROP SCHEMA union_types CASCADE;
