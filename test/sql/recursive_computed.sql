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
-- the row of the earliest round shows, however its values look: numerics of few and many digits, floats, intervals, arrays, jsonb
CREATE TABLE hop AS SELECT i % 400 AS src, (i * 7 + i / 400 * 31) % 400 AS dst, (i % 3)::numeric(6, 2) AS c, (ARRAY[0, -0.0, 1, 'NaN'])[i % 4 + 1]::float8 AS f,
	(ARRAY['0', '1 month', '30 days', '720 hours'])[i % 4 + 1]::interval AS t FROM generate_series(0, 1999) i;
SELECT v[1], forms(format('WITH RECURSIVE r(n, x) AS (SELECT 7, %s UNION SELECT h.dst, %s FROM r JOIN hop h ON h.src = r.n WHERE %s) SELECT * FROM r', VARIADIC v)), threads.n
	FROM (VALUES
	(ARRAY['0::numeric', 'r.x + h.c', 'r.x < 9']),
	(ARRAY['0::numeric', 'r.x + h.c / 4', 'r.x < 4']),
	(ARRAY['NULL::numeric', 'coalesce(r.x, 0) + nullif(h.c, 1)', 'r.x IS NULL OR r.x < 6']),
	(ARRAY['0.00000000000000000000', 'r.x + h.c', 'r.x < 5']),
	(ARRAY['12345678901234567890.0', 'r.x + h.c', 'r.x < 12345678901234567895']),
	(ARRAY['float8 ''-0''', 'CASE WHEN r.x > 3 THEN ''NaN'' ELSE r.x + h.f END', 'r.x < 9']),
	(ARRAY['0::real', '(r.x * h.f)::real', 'r.x < 9']),
	(ARRAY['interval ''0''', 'r.x + h.t', 'r.x < interval ''90 days''']),
	(ARRAY['ARRAY[0::numeric]', 'ARRAY[r.x[1] + h.c]', 'r.x[1] < 4']),
	(ARRAY['jsonb ''1''', 'to_jsonb(h.c + 1)', 'h.src < 90'])) t(v),
	LATERAL (SELECT set_config('gpucol.cpu_threads', n, false) AS n FROM unnest(ARRAY['1', '3']) n) threads;
RESET gpucol.cpu_threads;
-- which of those of one round is the first is for PostgreSQL's plan to say, be it tried first or not
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT 7, 0::numeric UNION SELECT h.dst % 5, CASE WHEN h.src % 2 = 0 THEN 1.0 ELSE 1.00 END FROM r JOIN hop h ON h.src % 5 = r.n % 5) SELECT * FROM r');
SELECT forms('WITH RECURSIVE r(x) AS (SELECT CASE i WHEN 1 THEN 1.0 ELSE 1.00 END FROM generate_series(1, 2) i UNION SELECT x + 1 FROM r WHERE x < 5) SELECT * FROM r');
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT i, CASE i % 2 WHEN 1 THEN 1.0 ELSE 1.00 END FROM generate_series(1, 2000) i UNION SELECT (n + 1) / 2, x FROM r WHERE n > 1) SELECT count(*), sum(n) FROM r');
-- where joins compare them as well
SELECT forms('WITH RECURSIVE r(n, x) AS (SELECT 7, 0::numeric UNION SELECT h.dst, h.c * 1.000 FROM r JOIN hop h ON h.src = r.n AND h.c = r.x) SELECT * FROM r');
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
