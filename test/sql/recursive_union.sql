-- WITH RECURSIVE as GpucolRecursive: the rows of PostgreSQL's RecursiveUnion
CREATE SCHEMA recursive_union;
SET search_path = recursive_union;
LOAD 'gpucol';

CREATE TABLE edge (src int, dst int);
INSERT INTO edge SELECT i * 7919 % 61, i * 104729 % 67 FROM generate_series(1, 90) i;
INSERT INTO edge SELECT * FROM edge LIMIT 10;
INSERT INTO edge VALUES (NULL, 3), (4, NULL), (NULL, NULL);
CREATE TABLE packed (src int, dst int) USING gpucol;
INSERT INTO packed TABLE edge;
CREATE TABLE labelled AS SELECT 'n' || src AS src, ('n' || dst)::varchar(9) AS dst, dst % 5 AS kind,
	date '2020-01-01' + src AS day, src::bigint AS big, dst::numeric(5,2) AS exact FROM edge;
CREATE TABLE parts (src int, dst int) PARTITION BY RANGE (src);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (30);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (30) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM edge WHERE src IS NOT NULL;
CREATE VIEW mirrored AS SELECT dst AS a, src AS b FROM edge WHERE src <> 5;
ANALYZE;

-- Run a query in PostgreSQL's executor and in ours, for every strategy and
-- several threads; say whether ours was used and whether the rows agree.
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
	strategy text;
	threads int;
	line text;
	pushed boolean := false;
	n bigint;
	differing bigint;
	failure text;
	failure2 text;
BEGIN
	PERFORM set_config('gpucol.enable_recursive', 'off', true);
	BEGIN
		EXECUTE 'CREATE TEMP TABLE theirs AS ' || query;
	EXCEPTION WHEN OTHERS THEN
		failure := SQLERRM;
	END;
	PERFORM set_config('gpucol.enable_recursive', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		pushed := pushed OR line LIKE '%(GpucolRecursive)%';
	END LOOP;
	FOREACH strategy IN ARRAY '{auto,hisa,bitmap}'::text[] LOOP
		FOREACH threads IN ARRAY '{1,3}'::int[] LOOP
			PERFORM set_config('gpucol.recursive_strategy', strategy, true);
			PERFORM set_config('gpucol.cpu_threads', threads::text, true);
			failure2 := NULL;
			BEGIN
				EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
			EXCEPTION WHEN OTHERS THEN
				failure2 := SQLERRM;
			END;
			IF failure IS DISTINCT FROM failure2 THEN
				RETURN format('%s: "%s", not "%s"', strategy, failure2, failure);
			END IF;
			CONTINUE WHEN failure IS NOT NULL;
			SELECT count(*) FROM ((SELECT t::text FROM ours t EXCEPT ALL SELECT t::text FROM theirs t)
				UNION ALL (SELECT t::text FROM theirs t EXCEPT ALL SELECT t::text FROM ours t)) d INTO differing;
			SELECT count(*) FROM ours INTO n;
			DROP TABLE ours;
			IF differing <> 0 THEN
				DROP TABLE theirs;
				RETURN format('%s: %s rows differ', strategy, differing);
			END IF;
		END LOOP;
	END LOOP;
	DROP TABLE IF EXISTS theirs;
	RETURN CASE WHEN pushed THEN 'pushed' ELSE 'not pushed' END || ', same ' ||
		coalesce('error: ' || failure, n || ' rows');
END $$;

EXPLAIN (VERBOSE, COSTS OFF)
WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst)
SELECT * FROM tc;

-- closure: both directions, other sources of rows, types
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT edge.src, tc.dst FROM edge, tc WHERE edge.dst = tc.src) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM packed UNION SELECT tc.src, packed.dst FROM tc JOIN packed ON packed.src = tc.dst) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst FROM parts UNION SELECT tc.src, parts.dst FROM tc JOIN parts ON parts.src = tc.dst) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT a, b FROM mirrored WHERE a > 10 UNION SELECT tc.a, m.b FROM tc JOIN mirrored m ON m.a = tc.b) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst::text FROM labelled UNION SELECT tc.src, l.dst FROM tc JOIN labelled l ON l.src = tc.dst) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE tc AS (SELECT src, dst::varchar FROM labelled UNION SELECT tc.src, l.dst FROM tc JOIN labelled l ON l.src = tc.dst) SELECT * FROM tc');
SELECT compare('WITH RECURSIVE r AS (SELECT day, big FROM labelled WHERE big < 20 UNION SELECT l.day, l.big FROM r JOIN labelled l ON l.day = r.day + 0 OR l.big = r.big) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT big FROM labelled WHERE src = ''n7'' UNION SELECT e.dst::bigint FROM r JOIN edge e ON e.src = r.big) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (SELECT 7 UNION SELECT dst FROM r JOIN edge ON src = x) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (VALUES (7), (8), (NULL) UNION SELECT dst FROM r JOIN edge ON src = x) SELECT * FROM r');
-- two and three relations, filters, constants, cross products
SELECT compare('WITH RECURSIVE sg AS (SELECT a.dst AS x, b.dst AS y FROM edge a JOIN edge b USING (src) WHERE a.dst <> b.dst
	UNION SELECT a.dst, b.dst FROM sg JOIN edge a ON a.src = sg.x JOIN edge b ON b.src = sg.y) SELECT * FROM sg');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src < 9
	UNION SELECT r.src, c.dst FROM r, edge a, packed b, edge c WHERE a.src = r.dst AND b.src = a.dst AND c.src = b.dst AND a.dst <> 3) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src < 9
	UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst AND e.dst > r.src AND NOT (e.dst = 40 OR r.src IS NULL)) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT 1 AS a, 2 AS b UNION SELECT e.src, b.dst FROM r, edge e, parts b WHERE b.src = 13 AND r.a < 3) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst, 0 AS hop FROM edge WHERE src = 7
	UNION SELECT r.src, e.dst, hop + 1 FROM r JOIN edge e ON e.src = r.dst WHERE hop < 6) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, s.dst FROM r JOIN
	(SELECT src, max(dst) AS dst FROM edge GROUP BY src HAVING count(*) > 1) s ON s.src = r.dst) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst
	WHERE e.dst > (SELECT avg(dst) FROM edge)) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT x FROM (SELECT 5 AS x UNION SELECT 6) s UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.x) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x) AS ((SELECT 5 UNION ALL SELECT 6) UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.x) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, src AS twin FROM edge UNION SELECT e.dst, e.dst FROM r JOIN edge e ON e.src = r.src AND e.src = r.twin) SELECT * FROM r');
-- the non-recursive term as a rule: over inputs of the recursive term only
SELECT compare('WITH RECURSIVE r(x, y, z) AS (SELECT a.src, b.dst, a.src + b.dst FROM edge a JOIN edge b ON a.dst = b.src WHERE a.src < b.dst OR b.dst IS NULL
	UNION SELECT r.x, e.dst, r.z FROM r JOIN edge e ON e.src = r.y WHERE r.z < 70) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM packed a JOIN packed b ON a.src = b.src AND a.dst > 60
	UNION SELECT r.x, e.dst FROM r JOIN packed e ON e.src = r.y AND e.dst > 60 JOIN packed f ON f.src = e.dst) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x, n) AS (SELECT a.dst, 0 FROM edge a JOIN edge b ON a.src = b.src
	UNION ALL SELECT e.dst, n + 1 FROM r JOIN edge e ON e.src = r.x WHERE n < 2) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r(x, y) AS (SELECT dst, 10 / (src - 5) FROM edge UNION SELECT e.dst, r.y FROM r JOIN edge e ON e.src = r.x) SELECT * FROM r');
SELECT compare('SELECT v.n, l.c FROM (VALUES (3), (5), (8)) v(n), LATERAL (WITH RECURSIVE r(x) AS (SELECT dst FROM edge WHERE src = v.n OR dst = v.n
	UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.x) SELECT count(*) AS c FROM r) l');
-- a rule; not one where it has conditions of its own, or its rows are filtered
EXPLAIN (COSTS OFF)
WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM edge a JOIN edge b ON a.src = b.src WHERE a.dst <> b.dst
	UNION SELECT p.dst, q.dst FROM r, edge p, edge q WHERE p.src = r.x AND q.src = r.y) SELECT count(*) FROM r;
EXPLAIN (COSTS OFF)
WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM edge WHERE src < 9 UNION SELECT r.x, e.dst FROM r JOIN edge e ON e.src = r.y) SELECT count(*) FROM r;
EXPLAIN (COSTS OFF)
WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM edge UNION SELECT r.x, e.dst FROM r JOIN edge e ON e.src = r.y) SELECT count(*) FROM r WHERE x = 7;

-- UNION ALL: duplicates count
SELECT compare('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT * FROM n');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst, 1 AS hop FROM edge UNION ALL
	SELECT r.src, e.dst, hop + 1 FROM r JOIN edge e ON e.src = r.dst WHERE hop < 5) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, exact, 1 AS hop FROM labelled UNION ALL
	SELECT l.src, r.exact, hop + 1 FROM r JOIN labelled l ON l.src = r.src WHERE hop < 3) SELECT * FROM r');
-- arithmetic: as PostgreSQL, errors too
SELECT compare('WITH RECURSIVE f(a, b) AS (SELECT 0::bigint, 1::bigint UNION ALL SELECT b, a + b FROM f) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i, f) AS (SELECT 1, 1 UNION ALL SELECT i + 1, f * i FROM f) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i) AS (SELECT 30000::smallint UNION SELECT (i + 1)::smallint FROM f) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i) AS (SELECT 4 UNION SELECT 12 / (i - 1) FROM f) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i) AS (SELECT 97 UNION SELECT (i * 3 + 1) % 257 - (i / 2) FROM f) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i, j) AS (SELECT 1, 2::bigint UNION SELECT -i, j - i FROM f WHERE j < 5) SELECT * FROM f');
SELECT compare('WITH RECURSIVE f(i) AS (SELECT NULL::int UNION SELECT i + 1 FROM f) SELECT * FROM f');
-- not pushed down, and why
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r LEFT JOIN edge e ON e.src = r.dst) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT exact FROM labelled UNION SELECT l.exact FROM r JOIN labelled l ON l.exact = r.exact) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, ARRAY[src] AS path FROM edge WHERE src < 3 UNION ALL
	SELECT e.dst, path || e.dst FROM r JOIN edge e ON e.src = r.src WHERE e.dst <> ALL (path) AND cardinality(path) < 5) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, l.dst FROM r, LATERAL (SELECT dst FROM edge WHERE src = r.dst LIMIT 1) l) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT DISTINCT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst) SELECT * FROM r');
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE EXISTS (SELECT FROM parts WHERE parts.src = r.dst)) SELECT * FROM r');
CREATE COLLATION either (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT compare('WITH RECURSIVE r(x) AS (SELECT src COLLATE either FROM labelled UNION SELECT upper(x) COLLATE either FROM r) SELECT lower(x) FROM r');
SELECT compare('WITH RECURSIVE r(x) AS (SELECT ''a''::char(3) UNION SELECT x FROM r) SELECT * FROM r');
-- SEARCH and CYCLE
CREATE TABLE ring AS SELECT i AS src, i % 5 + 1 AS dst FROM generate_series(1, 5) i;
SELECT compare('WITH RECURSIVE r(src, dst) AS (SELECT src, dst FROM ring WHERE src = 3 UNION ALL
	SELECT e.src, e.dst FROM r JOIN ring e ON e.src = r.dst) CYCLE src, dst SET again USING path SELECT src, dst, again FROM r');
SELECT compare('WITH RECURSIVE r(src, dst, hop) AS (SELECT src, dst, 0 FROM edge WHERE src = 7 UNION ALL
	SELECT e.src, e.dst, hop + 1 FROM r JOIN edge e ON e.src = r.dst WHERE hop < 4) SEARCH BREADTH FIRST BY src SET place SELECT src, dst, hop, rank() OVER (ORDER BY place) FROM r');
-- subqueries: of the outer query's values, of the term's own
SELECT compare('WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src < 9 UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE r.dst < (SELECT max(dst) FROM parts)) SELECT * FROM r');
-- above and around the recursion
SELECT compare('WITH RECURSIVE r(x) AS (SELECT 7 UNION SELECT dst FROM r JOIN edge ON src = x) SELECT a.x, b.x AS y FROM r a JOIN r b ON a.x = b.x + 1');
SELECT compare('SELECT e.src, (WITH RECURSIVE r(x) AS (SELECT e.src UNION SELECT dst FROM r JOIN packed ON packed.src = x) SELECT count(*) FROM r) FROM edge e');
SELECT compare('SELECT v.n, l.c FROM (VALUES (3), (5), (8)) v(n), LATERAL (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < v.n) SELECT count(*) AS c FROM r) l');
SELECT compare('WITH RECURSIVE a(x) AS (SELECT 7 UNION SELECT dst FROM a JOIN edge ON src = x),
	b(x, y) AS (SELECT x, x FROM a UNION SELECT b.x, e.dst FROM b JOIN edge e ON e.src = b.y JOIN a ON a.x = e.dst) SELECT * FROM b');

-- endless recursions end when nobody reads on
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n LIMIT 3;
WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT * FROM n LIMIT 3;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM (SELECT * FROM n LIMIT 5000) t;
BEGIN;
DECLARE c CURSOR FOR WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n;
FETCH 2 FROM c;
FETCH 2 FROM c;
COMMIT;

-- parameters: custom and generic plans
PREPARE reach(int, int) AS WITH RECURSIVE r(x, hop) AS (SELECT $1, 0 UNION SELECT dst, hop + 1 FROM r JOIN edge ON src = x WHERE hop < $2) SELECT count(*) FROM r;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE reach(7, 3);
EXECUTE reach(7, 3);
EXECUTE reach(7, 1);
EXECUTE reach(NULL, 1);
SET plan_cache_mode = force_custom_plan;
EXECUTE reach(7, 3);
RESET plan_cache_mode;
PREPARE named(text) AS WITH RECURSIVE r(x) AS (SELECT $1 UNION SELECT dst FROM r JOIN labelled l ON l.src = x WHERE l.dst <> $1) SELECT count(*) FROM r;
SET plan_cache_mode = force_generic_plan;
EXECUTE named('n7');
RESET plan_cache_mode;

-- limits
SET gpucol.max_recursion_rounds = 10;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM (SELECT * FROM n LIMIT 10) t;
RESET gpucol.max_recursion_rounds;
-- every way of evaluation counts the same rounds
CREATE TABLE chain AS SELECT i AS src, i + 1 AS dst FROM generate_series(1, 40) i;
CREATE FUNCTION least_limit(query text, most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	strategy text;
	least text := '';
BEGIN
	FOREACH strategy IN ARRAY ARRAY['auto', 'hisa', 'bitmap'] LOOP
		PERFORM set_config('gpucol.recursive_strategy', strategy, true);
		FOR k IN 1 .. most LOOP
			PERFORM set_config('gpucol.max_recursion_rounds', k::text, true);
			BEGIN
				EXECUTE query;
				least := least || ' ' || strategy || ' ' || k;
				EXIT;
			EXCEPTION WHEN program_limit_exceeded THEN
			END;
		END LOOP;
	END LOOP;
	RETURN least;
END $$;
SELECT least_limit('WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM chain UNION SELECT r.x, c.dst FROM r JOIN chain c ON c.src = r.y) SELECT count(*) FROM r', 50);
SELECT least_limit('WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM chain UNION SELECT c.src, r.y FROM r JOIN chain c ON c.dst = r.x) SELECT sum(x) FROM (SELECT * FROM r OFFSET 0) s', 50);
SELECT least_limit('WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.src FROM chain a JOIN chain b ON a.dst = b.src UNION SELECT p.dst, q.src FROM r, chain p, chain q WHERE p.src = r.x AND q.dst = r.y) SELECT count(*) FROM r', 50);
SELECT least_limit($q$SELECT count(*) FROM gpucol.datalog('.decl chain(a:number, b:number) .decl r(a:number, b:number)
	r(x, y) :- chain(x, y). r(x, z) :- r(x, y), r(y, z).', 'r') AS t(x int, y int)$q$, 50);
RESET gpucol.recursive_strategy;
RESET gpucol.max_recursion_rounds;
SET statement_timeout = '200ms';
WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE i < 0;
RESET statement_timeout;
SET gpucol.recursive_memory_limit = '8MB';
\set VERBOSITY terse
WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE i < 0;
\set VERBOSITY default
RESET gpucol.recursive_memory_limit;

-- settings, reasons
SET gpucol.pushdown = forbid;
EXPLAIN (COSTS OFF) WITH RECURSIVE r(x) AS (SELECT 7 UNION SELECT dst FROM r JOIN edge ON src = x) SELECT * FROM r;
RESET gpucol.pushdown;
EXPLAIN (VERBOSE, COSTS OFF) WITH RECURSIVE r(x) AS (SELECT 7 UNION SELECT dst FROM r LEFT JOIN edge ON src = x) SELECT * FROM r;

-- INSERT, CREATE TABLE AS, PL/pgSQL, data-modifying CTEs downstream
CREATE TABLE closure USING gpucol AS
WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc;
SELECT count(*), sum(src), sum(dst) FROM closure;
WITH RECURSIVE r(x) AS (SELECT 7 UNION SELECT dst FROM r JOIN edge ON src = x),
	gone AS (DELETE FROM edge WHERE src IN (SELECT x FROM r) RETURNING *)
SELECT count(*) FROM gone;
SELECT count(*) FROM edge;

SET client_min_messages = warning;
DROP SCHEMA recursive_union CASCADE;
