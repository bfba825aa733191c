-- What a query does with a recursion, done by the engine: aggregates over all
-- of it, conditions on columns that are carried along
CREATE SCHEMA recursive_fused;
SET search_path = recursive_fused;
LOAD 'gpucol';

CREATE TABLE edge (src int, dst int);
INSERT INTO edge SELECT i * 7919 % 61, i * 104729 % 67 FROM generate_series(1, 90) i;
INSERT INTO edge VALUES (NULL, 3), (4, NULL);
CREATE TABLE dated AS SELECT day0 + src AS a, day0 + dst AS b, src::bigint AS n, src::smallint AS s, 't' || src AS t
	FROM edge, (SELECT date '2020-01-01') d(day0);

-- Compare one row or more with PostgreSQL's; say which nodes were used.
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
	line text;
	nodes text := '';
	strategy text;
	n bigint;
BEGIN
	PERFORM set_config('gpucol.enable_recursive', 'off', true);
	EXECUTE 'CREATE TEMP TABLE theirs AS SELECT t::text FROM (' || query || ') t';
	PERFORM set_config('gpucol.enable_recursive', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		nodes := nodes || coalesce(substring(line from '\((GpucolAgg|GpucolRecursive\w*)\)') || ' ', '');
		nodes := nodes || coalesce(substring(line from 'Seed Filter'), '');
	END LOOP;
	FOREACH strategy IN ARRAY '{auto,hisa,bitmap}'::text[] LOOP
		PERFORM set_config('gpucol.recursive_strategy', strategy, true);
		EXECUTE 'CREATE TEMP TABLE ours AS SELECT t::text FROM (' || query || ') t';
		SELECT count(*) FROM ((TABLE ours EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE ours)) d INTO n;
		IF n <> 0 THEN
			RETURN format('%s: %s rows differ (%s not %s)', strategy, n, (SELECT t FROM ours t LIMIT 1), (SELECT t FROM theirs t LIMIT 1));
		END IF;
		DROP TABLE ours;
	END LOOP;
	SELECT count(*) FROM theirs INTO n;
	DROP TABLE theirs;
	RETURN nodes || ': same, ' || n || ' rows';
END $$;

EXPLAIN (VERBOSE, COSTS OFF)
WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
SELECT count(*), sum(src) + 1 AS s FROM tc WHERE src < 20;
-- aggregates of everything
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT count(*), count(src), sum(src), sum(dst::numeric), avg(dst), min(src), max(dst), avg(src::numeric), min(dst) - 1 AS m FROM tc');
SELECT compare('WITH RECURSIVE sg AS (SELECT a.dst AS x, b.dst AS y FROM edge a JOIN edge b USING (src) WHERE a.dst <> b.dst
	UNION SELECT a.dst, b.dst FROM sg JOIN edge a ON a.src = sg.x JOIN edge b ON b.src = sg.y) SELECT count(*), sum(x), sum(y), min(x), max(y) FROM sg');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst, 1 AS hop FROM edge UNION ALL
	SELECT r.src, e.dst, hop + 1 FROM r JOIN edge e ON e.src = r.dst WHERE hop < 6) SELECT count(*), sum(hop), avg(hop), count(dst), max(src) FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT a, n, s, t FROM dated UNION SELECT d.b, d.n, d.s, r.t FROM r JOIN dated d ON d.a = r.a)
	SELECT min(a), max(a), sum(n), avg(n), sum(s), min(s), count(t), count(*) FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (SELECT 1 WHERE false UNION SELECT x + 1 FROM r) SELECT count(*), sum(x), avg(x), min(x) FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (SELECT NULL::int UNION SELECT x + 1 FROM r) SELECT count(*), count(x), sum(x), max(x) FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (SELECT 9223372036854775800 UNION ALL SELECT x + 1 FROM r WHERE x < 9223372036854775807) SELECT sum(x), avg(x), max(x) FROM r');
-- conditions on carried columns
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc WHERE src = 7');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT count(*), max(dst) FROM tc WHERE src % 3 = 1 AND src IS NOT NULL');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT edge.src, tc.dst FROM tc JOIN edge ON edge.dst = tc.src) SELECT * FROM tc WHERE dst IN (3, 5) AND src > 10');
SELECT compare('WITH RECURSIVE r AS (SELECT a, n, s, t FROM dated UNION SELECT d.b, d.n, d.s, r.t FROM r JOIN dated d ON d.a = r.a) SELECT count(*) FROM r WHERE t LIKE ''t1%'' ');
-- on the other column of a closure; not where the CTE is used twice
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT count(*) FROM tc WHERE dst = 7');
-- closures that are searched from their other end: both directions and orders of columns; not with conditions on both, others in the term, or other joins
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT edge.src, tc.dst FROM tc JOIN edge ON edge.dst = tc.src) SELECT * FROM tc WHERE src IN (3, 9)');
SELECT compare('WITH RECURSIVE tc AS (SELECT dst, src FROM edge UNION SELECT edge.dst, tc.src FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc WHERE dst > 30 AND src <> dst');
SELECT compare('WITH RECURSIVE tc AS (SELECT dst, src FROM edge UNION SELECT tc.dst, edge.src FROM tc JOIN edge ON edge.dst = tc.src) SELECT count(src), min(src) FROM tc WHERE src = 3 OR src IS NULL');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc WHERE dst = 7 AND src < 20');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst AND edge.dst <> 5) SELECT * FROM tc WHERE dst IN (5, 7)');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.dst, edge.dst FROM tc JOIN edge ON edge.src = tc.src) SELECT * FROM tc WHERE dst = 7');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT (SELECT count(*) FROM tc WHERE src = 7), (SELECT count(*) FROM tc)');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT src, count(*) FROM tc WHERE src < 30 GROUP BY src');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT count(DISTINCT src), sum(dst) FILTER (WHERE dst > 5) FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT count(*) FROM tc HAVING count(*) > 5');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
	SELECT count(*) FROM tc JOIN edge e ON e.src = tc.dst WHERE tc.src = 3');
-- again and again: rescans, parameters
SELECT compare('SELECT v.n, l.* FROM (VALUES (3), (5), (8), (NULL)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n) SELECT count(*), sum(i) FROM r) l');
SELECT compare('SELECT v.n, (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 4) SELECT sum(i) + v.n FROM r) FROM (VALUES (3), (5), (8)) v(n)');
PREPARE reach(int) AS WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT count(*) FROM tc WHERE src = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE reach(7);
EXECUTE reach(7);
EXECUTE reach(8);
EXECUTE reach(NULL);
RESET plan_cache_mode;
-- errors of a condition are those of the query
WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT count(*) FROM tc WHERE 1 / (src - 7) > 0;
-- grouping, conditions, DISTINCT and top rows by the engines for tables, on batches of the recursion
\set tc 'WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)'
EXPLAIN (VERBOSE, COSTS OFF) :tc SELECT dst, count(*), avg(src) FROM tc WHERE dst > 5 GROUP BY dst HAVING count(*) > 2;
EXPLAIN (COSTS OFF) :tc SELECT dst, src + dst FROM tc WHERE dst > 5 ORDER BY src + dst DESC, dst LIMIT 3;
SET gpucol.engine = cpu;
EXPLAIN (COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) :tc SELECT count(*) FROM (SELECT src, max(dst) FROM tc WHERE dst <> 3 GROUP BY src) t WHERE src > 5 \g (format=unaligned tuples_only=on) | sed 's/[.]00 loops/ loops/; s/Peak Memory: .*/Peak Memory/'
RESET gpucol.engine;
CREATE TABLE typed AS SELECT src::smallint AS a, dst::bigint AS b, src::float8 / 3 AS f, dst::float4 AS r, src % 2 = 0 AS p, 't' || dst % 7 AS t,
	('x' || src % 5)::varchar(9) AS v, date '2020-01-01' + src AS d, timestamp '2020-01-01' + dst * interval '1 hour' AS s, timestamptz '2020-01-01 00:00Z' + dst * interval '1 day' AS z,
	md5(dst::text)::uuid AS u, dst::oid AS o, dst::numeric(5,2) AS n, dst::numeric AS m, ARRAY[src, dst] AS y FROM edge;
CREATE FUNCTION fused(list text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE query text;
BEGIN
	FOREACH query IN ARRAY string_to_array(list, ';') LOOP
		RETURN NEXT trim(query, E'\n\t ') || ' -> ' || compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst),
			ty AS (SELECT *, 0 AS hop FROM typed UNION ALL SELECT t.*, hop + 1 FROM ty JOIN typed t ON t.a = ty.b WHERE hop < 3) ' || query);
	END LOOP;
END $$;
SELECT * FROM fused('SELECT src, count(*) FROM tc GROUP BY src;
	SELECT src % 5, count(*), sum(dst), min(dst), max(dst), avg(dst) FROM tc WHERE dst < 40 GROUP BY src % 5 HAVING sum(dst) > 9;
	SELECT count(*) FROM tc WHERE dst = 7; SELECT * FROM tc WHERE dst IN (7, 9) OR src IS NULL;
	SELECT DISTINCT dst FROM tc; SELECT DISTINCT src / 10, dst / 10 FROM tc WHERE dst > 3;
	SELECT count(DISTINCT dst), count(*) FILTER (WHERE src < dst), bool_and(dst > 0), variance(dst) FROM tc;
	SELECT src, dst FROM tc ORDER BY dst DESC, src LIMIT 7; SELECT src, dst FROM tc ORDER BY dst DESC NULLS LAST, src OFFSET 3 LIMIT 7;
	SELECT src, dst FROM tc ORDER BY dst NULLS FIRST, src LIMIT 40; SELECT dst FROM tc WHERE dst > 10 ORDER BY dst FETCH FIRST 4 ROWS WITH TIES;
	SELECT src, dst FROM tc ORDER BY dst, src LIMIT 100000; SELECT count(*), sum(dst) FROM tc HAVING count(*) < 5;
	SELECT a, b FROM ty WHERE f > 5.5 AND r < 50; SELECT t, count(*), sum(f), max(r), min(d), max(s), min(z) FROM ty GROUP BY t;
	SELECT p, v, o, count(*) FROM ty WHERE t LIKE ''t%'' GROUP BY p, v, o; SELECT u, count(*) FROM ty GROUP BY u HAVING count(*) > 1;
	SELECT hop, count(*) FROM ty WHERE NOT p GROUP BY hop; SELECT n, count(*), sum(n) FROM ty GROUP BY n; SELECT m, sum(m) FROM ty GROUP BY m;
	SELECT a, t, f FROM ty ORDER BY f DESC, a, t, hop LIMIT 5; SELECT a, t FROM ty WHERE v = ''x3'' ORDER BY s, a, t LIMIT 5; SELECT y FROM ty WHERE a = 5;
	SELECT CASE WHEN dst > 30 THEN 1 ELSE 0 END AS c, count(*) FROM tc GROUP BY c; SELECT count(*) FROM tc WHERE tc IS NULL; SELECT tc FROM tc WHERE dst = 3');
-- several sort keys: NULLs beside the extremes of their types, more keys than are looked at, rows that tie on all
CREATE TABLE extremes AS SELECT i % 3 AS a, CASE WHEN i % 5 = 0 THEN NULL WHEN i % 5 = 1 THEN 9223372036854775807 WHEN i % 5 = 2 THEN -9223372036854775808 ELSE i END AS b,
	CASE WHEN i % 7 = 0 THEN NULL WHEN i % 7 = 1 THEN 'infinity'::timestamp WHEN i % 7 = 2 THEN '-infinity' ELSE timestamp '2020-01-01' + i % 11 * interval '1 day' END AS s,
	CASE WHEN i % 4 = 0 THEN NULL WHEN i % 4 = 1 THEN 'NaN'::float8 WHEN i % 4 = 2 THEN '-0' ELSE 0 END AS f, i AS i FROM generate_series(1, 420) i;
SELECT keys, compare(format('WITH RECURSIVE r AS (SELECT *, 0 AS hop FROM extremes UNION SELECT x.a, x.b, x.s, x.f, x.i, hop + 1 FROM r JOIN extremes x ON x.i = r.i WHERE hop < 2) SELECT %s FROM r ORDER BY %s', cols, keys))
	FROM (VALUES ('*', 'hop, b, i LIMIT 70'), ('*', 'hop DESC, b DESC, s, i DESC LIMIT 170'), ('*', 'a, b NULLS FIRST, s DESC NULLS LAST, f, i, hop OFFSET 30 LIMIT 60'), ('*', 'hop, b DESC NULLS LAST, f DESC, i LIMIT 333'),
		('*', 's, f, hop, i LIMIT 200'), ('*', 's NULLS FIRST, f DESC NULLS LAST, hop DESC, i DESC LIMIT 300'), ('*', 'f NULLS FIRST, b, hop, s FETCH FIRST 80 ROWS WITH TIES'), ('a, hop', 'hop, a LIMIT 9'), ('a, hop', 'a DESC, hop FETCH FIRST 3 ROWS WITH TIES'),
		('a, hop', 'hop, f, a LIMIT 250'), ('b, i', 'hop, b, ''x'' || i, a LIMIT 40'), ('*', 'a + hop, hop, a, i LIMIT 11')) v(cols, keys);
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT *, 0 AS hop FROM extremes UNION SELECT x.a, x.b, x.s, x.f, x.i, hop + 1 FROM r JOIN extremes x ON x.i = r.i WHERE hop < 2) SELECT a FROM r ORDER BY hop, b DESC, s NULLS FIRST, f, i LIMIT 5;
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT *, 0 AS hop FROM extremes UNION SELECT x.a, x.b, x.s, x.f, x.i, hop + 1 FROM r JOIN extremes x ON x.i = r.i WHERE hop < 2) SELECT a FROM r ORDER BY hop, 'x' || i, b LIMIT 5;
-- rows that come late by the second key, or tie on both, never leave the node
:tc SELECT count(*) FROM tc;
SET gpucol.engine = cpu;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) :tc SELECT 1 AS one, dst FROM tc ORDER BY src > 0, dst / 1000, dst LIMIT 3 \g (format=unaligned tuples_only=on) | sed -nE 's/[.]00 loops/ loops/; /RecursiveScan|Top/p'
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) :tc SELECT src FROM tc ORDER BY src > 0, dst / 1000 LIMIT 3 \g (format=unaligned tuples_only=on) | sed -nE 's/[.]00 loops/ loops/; /RecursiveScan|Top/p'
RESET gpucol.engine;
-- joins, subqueries, several levels: the recursion is run again or its rows are kept
SELECT * FROM fused('SELECT count(*) FROM edge e JOIN tc ON tc.dst = e.src; SELECT e.src, (SELECT count(*) FROM tc WHERE tc.dst = e.src) FROM edge e;
	SELECT count(*) FROM edge WHERE src IN (SELECT dst FROM tc WHERE src = 3); SELECT count(*) FROM edge WHERE src NOT IN (SELECT dst FROM tc WHERE dst IS NOT NULL);
	SELECT src FROM edge WHERE EXISTS (SELECT FROM tc WHERE tc.dst = edge.dst AND tc.src = 7); SELECT count(*) FROM (SELECT dst, count(*) AS n FROM tc GROUP BY dst) t WHERE n > (SELECT count(*) FROM edge) / 3;
	SELECT e.src, l.* FROM edge e, LATERAL (SELECT count(*) FROM tc WHERE tc.src < e.src) l; SELECT a.dst, b.n FROM edge a JOIN (SELECT dst, count(*) AS n FROM tc GROUP BY dst) b ON b.dst = a.src;
	SELECT (SELECT max(dst) FROM tc), count(*) FROM edge');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM fused('SELECT count(*) FROM edge e JOIN tc ON tc.dst = e.src; SELECT e.src, t.n FROM edge e LEFT JOIN (SELECT dst, count(*) AS n FROM tc GROUP BY dst) t ON t.dst = e.src');
SET enable_material = off;
SELECT * FROM fused('SELECT count(*) FROM edge e JOIN tc ON tc.dst = e.src AND tc.src < 4');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- rows that tie are handed on as soon as they exceed work_mem
SET work_mem = '64kB';
\set many 'WITH RECURSIVE r(i, d, t) AS (SELECT 1, 7, ''t1'' UNION ALL SELECT i + 1, d, ''t'' || i FROM r WHERE i < 60000)'
:many SELECT d, t, (SELECT sum(total_bytes) < 300000 FROM pg_backend_memory_contexts WHERE name = 'gpucol recursion top rows') AS small FROM r ORDER BY d, t LIMIT 3;
:many SELECT d, t FROM r ORDER BY d, t OFFSET 40000 LIMIT 2;
:many SELECT count(*), max(t), min(t) FROM (SELECT d, t FROM r WHERE i % 3 > 0 ORDER BY d DESC FETCH FIRST 3 ROWS WITH TIES) s;
:many SELECT i, t FROM r ORDER BY i DESC LIMIT 3;
SELECT compare('SELECT v.n, l.* FROM (VALUES (30000), (8), (20000)) v(n), LATERAL (WITH RECURSIVE r(i, t) AS (SELECT 1, ''a'' UNION ALL SELECT i + 1, ''t'' || i FROM r WHERE i < v.n) SELECT * FROM r ORDER BY i / 100000, t DESC LIMIT 3) l');
RESET work_mem;
SELECT compare('SELECT v.n, l.* FROM (VALUES (3), (50), (8), (NULL)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n) SELECT i % 3 AS k, count(*) FROM r GROUP BY k) l');
SELECT compare('SELECT v.n, l.* FROM (VALUES (3), (50), (8), (NULL)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n) SELECT * FROM r WHERE i % 2 = 0 ORDER BY i DESC LIMIT 3) l');
-- parts of a subquery that an outer parameter changes are not kept from the last time
SET enable_nestloop = off;
SELECT compare('SELECT v.n, l.* FROM (VALUES (3), (5), (8)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n)
	SELECT e.dst, a.c FROM edge e JOIN (SELECT count(*) AS c FROM r) a ON a.c = e.src) l');
SELECT compare('SELECT v.n, l.* FROM (VALUES (3), (5), (8)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n) SELECT e.dst, r.i FROM edge e JOIN r ON r.i = e.src) l');
RESET enable_nestloop;
-- endless, under LIMIT and in cursors; backwards too
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i % 10 = 0 LIMIT 3;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT n.i FROM n LEFT JOIN edge e ON e.src = n.i + 100 LIMIT 2;
RESET enable_hashjoin;
RESET enable_mergejoin;
WITH RECURSIVE n(i, s) AS (SELECT 1::bigint, 'a' UNION SELECT i + 1, s FROM n) SELECT * FROM n OFFSET 5000 LIMIT 1;
BEGIN;
DECLARE endless CURSOR FOR WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
FETCH 2 FROM endless;
FETCH 2 FROM endless;
CLOSE endless;
DECLARE scrolled SCROLL CURSOR FOR WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n;
FETCH 3 FROM scrolled;
FETCH BACKWARD 2 FROM scrolled;
FETCH LAST FROM scrolled;
COMMIT;
-- into tables
:tc SELECT * INTO kept FROM tc WHERE dst < 30;
CREATE TABLE packed USING gpucol AS :tc SELECT * FROM tc WHERE dst < 30;
INSERT INTO packed :tc SELECT * FROM tc WHERE dst >= 30;
SELECT (SELECT count(*) FROM kept), count(*) FILTER (WHERE dst < 30), count(*) = (SELECT n FROM (:tc SELECT count(*) AS n FROM tc WHERE dst IS NOT NULL) t) FROM packed;
UPDATE kept SET dst = -1 WHERE src IN (:tc SELECT src FROM tc WHERE dst = 7);
DELETE FROM kept USING (:tc SELECT dst, count(*) AS n FROM tc GROUP BY dst) t WHERE t.dst = kept.dst AND t.n < 40;
SELECT count(*), count(*) FILTER (WHERE dst = -1) FROM kept;
:tc SELECT kept.* FROM kept JOIN tc USING (src, dst) ORDER BY 1, 2 LIMIT 1 FOR UPDATE OF kept;
-- a barrier view's condition is not overtaken
CREATE FUNCTION peek(int) RETURNS boolean LANGUAGE plpgsql COST 0.0001 IMMUTABLE AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE VIEW guarded WITH (security_barrier) AS
WITH RECURSIVE tc AS (SELECT src, dst FROM edge WHERE src IN (7, 8) UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
SELECT * FROM tc WHERE src = 8 AND dst < 4;
SELECT count(*) FROM guarded WHERE peek(src);

SET client_min_messages = warning;
DROP SCHEMA recursive_fused CASCADE;
