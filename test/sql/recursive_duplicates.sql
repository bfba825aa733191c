--
-- Recursion over multigraphs: duplicates of an input leave it before it is joined, unless
-- the recursion keeps them
--
LOAD 'gpucol';
SET gpucol.engine = 'cpu';
SET client_min_messages = warning;
CREATE SCHEMA recursive_duplicates;
SET search_path = recursive_duplicates;
CREATE TABLE multi (x int, y int);
INSERT INTO multi SELECT i % 7 * (i % 5) % 40, i * 31 % 40 FROM generate_series(1, 6000) i;
INSERT INTO multi SELECT NULL, i % 3 FROM generate_series(1, 20) i;
INSERT INTO multi SELECT i % 3, NULL FROM generate_series(1, 20) i;
ANALYZE multi;
CREATE FUNCTION differing(query text) RETURNS TABLE (name text, n bigint) LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE 'CREATE TABLE mine AS ' || query;
	PERFORM set_config('gpucol.enable_recursive', 'off', true);
	EXECUTE 'CREATE TABLE theirs AS ' || query;
	PERFORM set_config('gpucol.enable_recursive', 'on', true);
	RETURN QUERY SELECT 'rows', count(*) FROM mine
		UNION ALL SELECT 'more', count(*) FROM (TABLE mine EXCEPT ALL TABLE theirs) s
		UNION ALL SELECT 'fewer', count(*) FROM (TABLE theirs EXCEPT ALL TABLE mine) s;
	DROP TABLE mine, theirs;
END $f$;
EXPLAIN (COSTS off) WITH RECURSIVE p (x, y) AS (SELECT a.x, b.y FROM multi a JOIN multi b ON a.y = b.x UNION SELECT p.x, e.y FROM p JOIN multi e ON p.y = e.x)
	SELECT count(*) FROM p;
SET gpucol.cpu_threads = 1;
SELECT * FROM differing('WITH RECURSIVE p (x, y) AS (SELECT a.x, b.y FROM multi a JOIN multi b ON a.y = b.x WHERE a.x < 4 UNION SELECT p.x, e.y FROM p JOIN multi e ON p.y = e.x)
	SELECT x, y FROM p');
SET gpucol.cpu_threads = 3;
SELECT * FROM differing('WITH RECURSIVE p (x, y) AS (SELECT a.x, b.y FROM multi a JOIN multi b ON a.y = b.x WHERE a.x < 4 UNION SELECT p.x, e.y FROM p JOIN multi e ON p.y = e.x)
	SELECT x, y FROM p');
SELECT * FROM differing('WITH RECURSIVE p (x, y, n) AS (SELECT x, y, 1 FROM multi UNION SELECT p.x, e.y, n + 1 FROM p JOIN multi e ON p.y = e.x WHERE n < 3 AND e.y IS DISTINCT FROM 2)
	SELECT x, y, n FROM p');
-- duplicates of rows that are kept
SELECT * FROM differing('WITH RECURSIVE p (x, y, n) AS (SELECT 1, 2, 1 UNION ALL SELECT p.x, e.y, n + 1 FROM p JOIN multi e ON p.y = e.x WHERE n < 2)
	SELECT x, y, n FROM p');
SELECT * FROM differing('WITH RECURSIVE p (x, n) AS (SELECT 1, 1 UNION ALL SELECT e.y, n + 1 FROM p LEFT JOIN multi e ON p.x = e.x AND e.y < 4 WHERE n < 2)
	SELECT x, n FROM p');
DROP SCHEMA recursive_duplicates CASCADE;
