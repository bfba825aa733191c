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
		nodes := nodes || coalesce(substring(line from '\((GpucolRecursive|GpucolRecursiveAgg)\)') || ' ', '');
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
-- not on others, and not where the CTE is used twice
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT count(*) FROM tc WHERE dst = 7');
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
-- a barrier view's condition is not overtaken
CREATE FUNCTION peek(int) RETURNS boolean LANGUAGE plpgsql COST 0.0001 IMMUTABLE AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE VIEW guarded WITH (security_barrier) AS
WITH RECURSIVE tc AS (SELECT src, dst FROM edge WHERE src IN (7, 8) UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
SELECT * FROM tc WHERE src = 8 AND dst < 4;
SELECT count(*) FROM guarded WHERE peek(src);

SET client_min_messages = warning;
DROP SCHEMA recursive_fused CASCADE;
