-- WITH RECURSIVE that computes values of which equal ones may look different: numeric, float8, interval
CREATE SCHEMA recursive_computed;
SET search_path = recursive_computed;
SET statement_timeout = '20s';
LOAD 'gpucol';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set node Gpucol
\i :include

CREATE TABLE way (src int, dst int, cost numeric, free numeric, len float8, took interval);
INSERT INTO way SELECT i % 60 + 1, (i * 17 + i / 60 * 7) % 60 + 1, (i * 37 % 100 / 10.0)::numeric(6,2), i * 53 % 7 / 2.0, i * 53 % 100 / 8.0,
	make_interval(mins => i % 90) FROM generate_series(1, 200) i;
ANALYZE;

-- Does a query show PostgreSQL's rows, and did PostgreSQL's plan have to find them?
CREATE FUNCTION forms(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text := 'engine';
	different text := differ(query);
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Fallback: equal values look different%' THEN found := 'fallback'; END IF;
	END LOOP;
	RETURN coalesce(different, found);
END $$;

-- no value in two forms: the engine's rows
SELECT forms(format('WITH RECURSIVE r AS (SELECT dst, %1$s FROM way WHERE src = 1 UNION SELECT w.dst, %2$s FROM r JOIN way w ON w.src = r.dst WHERE %3$s) SELECT %4$s FROM r', VARIADIC v))
	FROM (VALUES
	(ARRAY['cost', 'r.cost + w.cost', 'r.cost < 12', '*']),
	(ARRAY['len', 'r.len + w.len', 'r.len + w.len < 9', '*']),
	(ARRAY['len', 'r.len + w.len', 'r.len + w.len < 9', 'count(*), sum(dst)']),
	(ARRAY['took', 'r.took + w.took', 'r.took < interval ''2 hours''', 'dst, took'])) t(v);
SELECT forms('WITH RECURSIVE r AS (SELECT dst, len FROM way WHERE src = 1 UNION SELECT w.dst, r.len + w.len FROM r JOIN way w ON w.src = r.dst WHERE r.len < 9) SELECT dst, min(len) FROM r GROUP BY dst');
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT 1, 1.5::real UNION SELECT n + 1, (x * 0.75)::real FROM r WHERE n < 30) SELECT * FROM r');
-- two forms of a value that come up in a later round: what has been shown is not shown again
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT 1, 1.0 UNION SELECT n + 1, CASE WHEN n % 7 = 6 THEN 1.000 ELSE x + 0.5 END FROM r WHERE n < 40) SELECT ' || what)
	FROM (VALUES ('* FROM r'), ('count(*), sum(n) FROM r'), ('x, count(*) FROM r GROUP BY x'), ('* FROM r WHERE n > 3 ORDER BY n LIMIT 9'), ('r.n, w.dst FROM r JOIN way w ON w.src = r.n')) v(what);
SELECT forms('WITH RECURSIVE r(x) AS (SELECT 8.0 UNION SELECT CASE WHEN x > 2 THEN x - 1 ELSE 7.00 END FROM r) SELECT * FROM r');
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT 1, float8 ''0'' UNION SELECT n + 1, x * (3 - n) FROM r WHERE n < 9) SELECT * FROM r');
SELECT forms('WITH RECURSIVE r(n, t) AS (SELECT 0, interval ''0'' UNION SELECT n + 1, CASE n WHEN 30 THEN interval ''1 day'' ELSE t + interval ''1 hour'' END FROM r WHERE n < 60) SELECT * FROM r');
SELECT forms('WITH RECURSIVE r(s, dst, c) AS (SELECT src, dst, free * 1.5 FROM way WHERE src < 7 UNION SELECT r.s, w.dst, r.c + w.free FROM r JOIN way w ON w.src = r.dst WHERE r.c < 6) SELECT * FROM r WHERE s = 3');
SELECT forms('WITH RECURSIVE r(dst, c, n) AS (SELECT dst, free, 1 FROM way WHERE src < 9 UNION ALL SELECT w.dst, r.c * 1.00, n + 1 FROM r JOIN way w ON w.free = r.c AND w.src > r.dst + 30 WHERE n < 3) SELECT * FROM r');
SELECT forms('SELECT s, (WITH RECURSIVE r(n, x) AS (SELECT 1, s * 0.5 UNION SELECT n + 1, CASE WHEN n = 5 THEN 1.50 ELSE x + 0.5 END FROM r WHERE n < 9) SELECT string_agg(x::text, '' '' ORDER BY n) FROM r) FROM generate_series(1, 3) s');
-- read in pieces
BEGIN;
DECLARE c CURSOR FOR WITH RECURSIVE r(n, x) AS (SELECT 1, 1.0 UNION SELECT n + 1, CASE WHEN n = 8 THEN 1.000 ELSE x + 0.5 END FROM r WHERE n < 12) SELECT * FROM r;
FETCH 3 FROM c;
FETCH 4 FROM c;
FETCH ALL FROM c;
ROLLBACK;
-- an endless one that LIMIT ends
WITH RECURSIVE r(n, x) AS (SELECT 1, 1.0 UNION SELECT n + 1, CASE WHEN n = 8 THEN 1.000 ELSE x + 0.5 END FROM r) SELECT count(*), sum(x) FROM (SELECT * FROM r LIMIT 20) s;
SET client_min_messages = warning;
DROP SCHEMA recursive_computed CASCADE;
