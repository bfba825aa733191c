-- Functions that return rows in the recursive term: LATERAL, and in its select list
CREATE SCHEMA recursive_functions;
SET search_path = recursive_functions;
SET statement_timeout = '60s';
LOAD 'gpucol';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set reason :srcdir /include/reason.psql
\set node Gpucol
\i :include

CREATE TABLE node (id int, children int[], tags text[], doc jsonb, parent int);
INSERT INTO node SELECT i, CASE WHEN i % 5 > 0 THEN ARRAY[i * 2, i * 2 + 1, NULL] WHEN i % 2 = 0 THEN '{}' END,
	ARRAY['t' || i % 3, 'u' || i % 5], jsonb_build_object('a', i, 'b', jsonb_build_object('c', jsonb_build_array(1, i, 2.50), 'd', NULL)), i / 3
	FROM generate_series(1, 200) i;
CREATE TYPE pair AS (x int, y text);
CREATE FUNCTION pairs(int, text) RETURNS SETOF pair LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN FOR i IN 1 .. $1 LOOP RETURN NEXT (i, $2 || i); END LOOP; END $$;
CREATE FUNCTION halves(int) RETURNS TABLE (half int, rest int) LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN QUERY SELECT $1 / 2, $1 % 2; END $$;
CREATE FUNCTION anything(int) RETURNS SETOF record LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN NEXT ($1, 'n' || $1); END $$;
CREATE FUNCTION one(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 + 1; END $$;
CREATE FUNCTION checked(int) RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF $1 > 20 THEN RAISE EXCEPTION 'too many: %', $1; END IF; RETURN NEXT $1 + 3; END $$;
CREATE FUNCTION dice(int) RETURNS SETOF int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN NEXT $1 + 1; END $$;
ANALYZE;

SELECT differ('WITH RECURSIVE r' || query) FROM (VALUES
	('(x) AS (SELECT 1 UNION SELECT c FROM r JOIN node n ON n.id = r.x, unnest(n.children) c) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION ALL SELECT c FROM r JOIN node n ON n.id = r.x CROSS JOIN LATERAL unnest(n.children) c) SELECT count(*), sum(x), max(x) FROM r'),
	('(x, n) AS (SELECT 1, 0 UNION ALL SELECT c, (o + r.n)::int FROM r JOIN node n ON n.id = r.x, unnest(n.children) WITH ORDINALITY u(c, o) WHERE c IS NOT NULL AND o < 3) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION SELECT c FROM r JOIN node n ON n.id = r.x LEFT JOIN LATERAL unnest(n.children) c ON true) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION ALL SELECT c FROM r JOIN node n ON n.id = r.x LEFT JOIN LATERAL unnest(n.children) c ON true WHERE r.x < 30) SELECT * FROM r'),
	('(x, o) AS (SELECT 10, 0::bigint UNION ALL SELECT c, u.o FROM r JOIN node n ON n.id = r.x + 10 LEFT JOIN LATERAL unnest(n.children) WITH ORDINALITY u(c, o) ON true WHERE r.x < 30) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION SELECT g FROM r, generate_series(r.x, r.x + 7, 3) g WHERE r.x < 400 AND g % 2 = 1) SELECT * FROM r'),
	('(x, y) AS (SELECT 1, 2 UNION SELECT g, h FROM r, generate_series(r.x, r.y) g, generate_series(g, g + 2) h WHERE h < 40) SELECT * FROM r'),
	('(x, y) AS (SELECT 1, 2 UNION SELECT g, n.id FROM r, generate_series(r.x, r.y + 2) g JOIN node n ON n.id = g WHERE n.id < 60) SELECT * FROM r'),
	('(x, y) AS (SELECT 1, 2 UNION SELECT g, n.id FROM r, generate_series(r.x, r.y + 2) g LEFT JOIN node n ON n.id = g AND n.id % 7 > 0 WHERE g < 60) SELECT * FROM r'),
	('(id, path, v) AS (SELECT id, ''{}''::text[], doc FROM node UNION ALL SELECT r.id, path || key, value FROM r, jsonb_each(r.v) WHERE jsonb_typeof(r.v) = ''object'') SELECT * FROM r'),
	('(id, v) AS (SELECT id, doc FROM node UNION ALL SELECT r.id, coalesce(e.value, a) FROM r LEFT JOIN LATERAL jsonb_each(CASE jsonb_typeof(r.v) WHEN ''object'' THEN v END) e ON true
		LEFT JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(r.v) WHEN ''array'' THEN v END) a ON true WHERE jsonb_typeof(r.v) IN (''object'', ''array'')) SELECT * FROM r'),
	('(x, t) AS (SELECT 3, ''p'' UNION SELECT p.x, left(p.y, 3) FROM r, pairs(r.x, r.t) p) SELECT * FROM r'),
	('(x) AS (SELECT 1000 UNION SELECT h.half FROM r, halves(r.x) h WHERE h.half > 0) SELECT * FROM r'),
	('(x, t) AS (SELECT 5, ''a''::text UNION SELECT a.i - 1, a.s FROM r, anything(r.x) AS a(i int, s text) WHERE a.i > 0) SELECT * FROM r'),
	('(x) AS (SELECT 5 UNION SELECT o FROM r, one(r.x) o WHERE o < 50) SELECT * FROM r'),
	('(t) AS (SELECT ''a b c'' UNION SELECT w || '' '' || length(w) FROM r, regexp_split_to_table(r.t, '' '') w WHERE length(t) < 9) SELECT * FROM r'),
	('(x) AS (SELECT 1.0 UNION SELECT v FROM r, unnest(ARRAY[r.x + 1, r.x + 1.00, 3]) v WHERE r.x < 6) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION SELECT checked(x) FROM r) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION SELECT c FROM r, checked(r.x) c WHERE r.x < 20) SELECT * FROM r'),
	('(x) AS (SELECT id FROM node WHERE id < 9 UNION SELECT c FROM r, LATERAL unnest(ARRAY(SELECT n.id FROM node n WHERE n.parent = r.x)) c) SELECT * FROM r'),
	('(x) AS (SELECT 1 UNION ALL (SELECT c FROM r JOIN node n ON n.id = r.x, unnest(n.children) c ORDER BY c DESC, n.tags)) SELECT * FROM r'),
	-- in the select list
	('(x) AS (SELECT 1 UNION SELECT unnest(n.children) FROM r JOIN node n ON n.id = r.x) SELECT * FROM r'),
	('(x, l) AS (SELECT 1, 0 UNION ALL SELECT unnest(n.children) + 1, l + 1 FROM r JOIN node n ON n.id = r.x WHERE l < 6) SELECT * FROM r'),
	('(k, v) AS (SELECT ''''::text, doc FROM node WHERE id < 9 UNION ALL SELECT k || (jsonb_each(v)).key, (jsonb_each(v)).value FROM r WHERE jsonb_typeof(v) = ''object'') SELECT * FROM r'),
	('(x, y) AS (SELECT 1, 1 UNION SELECT generate_series(x, x + 2), 60 / (20 - x) FROM r WHERE x < 19) SELECT * FROM r'),
	('(x, y) AS (SELECT 1, 1 UNION SELECT generate_series(1, x - x), 1 / (2 - x - y) FROM r) SELECT * FROM r'),
	('(x) AS (SELECT ''b c'' UNION SELECT upper(string_to_table(x, '' '')) FROM r) SELECT * FROM r')) v(query);
-- how it runs
EXPLAIN (VERBOSE, COSTS OFF) WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT c FROM r JOIN node n ON n.id = r.x, unnest(n.children) c WHERE c < 100) SELECT * FROM r;
-- many rows of one; a part of them; with other parameters
SELECT differ('WITH RECURSIVE r(x, n) AS (SELECT 0, 0 UNION SELECT g, n + 1 FROM r, generate_series(r.x, r.x + 5000) g WHERE n < 2 AND g % 1000 < 3) SELECT count(*), sum(x) FROM r');
WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT g FROM r, generate_series(r.x, r.x + 3000) g) SELECT count(*) FROM (SELECT x FROM r LIMIT 3000) s;
SELECT differ('SELECT id, (WITH RECURSIVE r(x) AS (SELECT n.id UNION SELECT c FROM r JOIN node m ON m.id = r.x, unnest(m.children || n.parent) c WHERE c < 40) SELECT sum(x) FROM r) FROM node n WHERE id < 20');
-- what stays PostgreSQL's
\i :reason
SELECT reason('WITH RECURSIVE r(x) AS (SELECT 1 UNION ' || term || ') SELECT * FROM r') FROM (VALUES
	('SELECT d FROM r, dice(r.x) d WHERE d < 9'),
	('SELECT dice(x) FROM r WHERE x < 9'),
	('SELECT u.a FROM r, ROWS FROM (unnest(ARRAY[r.x]), generate_series(1, r.x)) u(a, b) WHERE u.a > 9'),
	('SELECT generate_series(x, 4) + generate_series(1, x) FROM r'),
	('SELECT generate_series(1, generate_series(1, x)) FROM r WHERE x < 3'),
	('SELECT c FROM r LEFT JOIN LATERAL unnest(ARRAY[r.x]) c ON c > 2'),
	('SELECT c.id FROM r, LATERAL (SELECT id FROM node n WHERE n.parent = r.x ORDER BY id LIMIT 2) c'),
	('SELECT (row_number() OVER (ORDER BY id))::int FROM r JOIN node n ON n.parent = r.x WHERE x < 3')) v(term);
-- the rights to call them
CREATE ROLE recursive_functions_reader;
GRANT USAGE ON SCHEMA recursive_functions TO recursive_functions_reader;
REVOKE EXECUTE ON FUNCTION checked(int) FROM PUBLIC;
SET ROLE recursive_functions_reader;
WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT c FROM r, checked(r.x) c WHERE r.x < 9) SELECT * FROM r;
WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT checked(r.x) FROM r WHERE r.x < 9) SELECT * FROM r;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA recursive_functions CASCADE;
DROP ROLE recursive_functions_reader;
