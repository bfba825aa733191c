-- Numerics of a recursion are words of 64 bits where they fit, codes where not: results, digits and errors are PostgreSQL's.
SET client_min_messages = warning;
CREATE SCHEMA recursive_numbers;
SET search_path = recursive_numbers, public;
-- PostgreSQL's plan is not tried first: its rounds cannot be counted
SET gpucol.max_recursion_rounds = 100000;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- mixed scales, NULLs, what is no number, what a word does not hold, zeros, long forms
CREATE TABLE plain (id int, parent int, a numeric, b numeric(12,2), c numeric, f float8, t text);
INSERT INTO plain SELECT i, CASE WHEN i > 1 THEN (i + 1) / 3 END, CASE WHEN i % 31 = 0 THEN NULL WHEN i % 101 = 0 THEN 'NaN' WHEN i % 103 = 0 THEN 'Infinity' WHEN i % 107 = 0 THEN '-Infinity'
	ELSE round(hashint4(i) / 1e5, i % 7) END, CASE WHEN i % 13 > 0 THEN i * 37 % 10007 / 100.0 - 40 END,
	(ARRAY[0, 0.00, -0.0, 72057594037927935, 72057594037927936, -72057594037927936, -72057594037927937, 7205759403792793.6, 1e-63, 1e-64, 9e15, 1e20, 1e130, -1e-100, 0.1, 10000, 99990000, 0.00001,
	5e-7, 123456789.123456789, 12345678901234567890.1234567890, 1.10, 1.1, 'NaN', 'Infinity', '-Infinity', NULL, 1e16, 1e-16, 0.9999]::numeric[])[i % 30 + 1],
	CASE i % 17 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 'Infinity' WHEN 3 THEN NULL ELSE i / 8.0 - 20 END, CASE WHEN i % 11 > 0 THEN 'ä' || i % 50 || ',x' END FROM generate_series(1, 900) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain WHERE id <= 700;
SELECT gpucol.merge('packed');
INSERT INTO packed SELECT * FROM plain WHERE id > 700;
DELETE FROM packed WHERE id % 97 = 5;
DELETE FROM plain WHERE id % 97 = 5;
ANALYZE packed, plain;

-- differs(start, expressions): those down the tree that give something else, in rows or in what is made of them
CREATE FUNCTION down(start text, expr text, test text, use text) RETURNS text LANGUAGE sql AS $$
	SELECT format('WITH RECURSIVE r(id, x, d) AS (SELECT id, (%s), 0 FROM T WHERE id < 4 UNION ALL SELECT T.id, (%s), d + 1 FROM T JOIN r ON T.parent = r.id WHERE %s) %s', start, expr, test, use);
$$;
CREATE FUNCTION differs(start text, exprs text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM unnest(exprs) e, unnest(ARRAY['SELECT id, x::text, d FROM r', 'SELECT d, count(x), sum(x), round(min(x)::numeric, 9), round(max(x)::numeric, 9) FROM r GROUP BY d', 'SELECT id, x FROM r WHERE x > 1 ORDER BY x DESC, id LIMIT 5',
		'SELECT x::text, count(*) FROM r GROUP BY x::text', 'SELECT a.id, r.x::text FROM T a LEFT JOIN r ON r.id = a.id + 1']) u, LATERAL twin(down(start, e, 'true', u)) d WHERE d !~ '^Gpucol\w+$';
$$;
CREATE FUNCTION way(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || regexp_replace(query, '\yT\y', 'packed', 'g') LOOP
		IF line ~ 'Formulas|Computed by|Method|Fallback' AND line !~ 'the device does not' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SELECT differs('1.50::numeric', '{x + a,a - x,x + b,b * 1.1 + x,c,a,b,c + x,c * a,x - c,-c,abs(c),"round(c, 3)","trunc(a, 2)",x * 1.000,x * 10000000000.5,x / 3,c / 7,x % 3,"greatest(a, c)","least(x, a, b)","greatest(x, c, 0.10)","coalesce(a, c, x)","coalesce(c + a, 0)","nullif(a, c)","nullif(c, 0)"}');
SELECT differs('c', '{x,x + a,"greatest(x, c)","least(c, x)","coalesce(x, c)",x * x,x + x,x - x,0 * x}');
SELECT differs('a', '{CASE WHEN a > c THEN a ELSE c END,CASE WHEN a IS NULL THEN x WHEN c IS NOT NULL AND c < 100 THEN c END,CASE WHEN a > 0 OR c > 0 THEN x END,CASE WHEN NOT (a > 0 AND b > 0) THEN 1.50 ELSE a END,CASE d WHEN 1 THEN a WHEN 2 THEN c ELSE x + 1 END,CASE T.id % 3 WHEN 0 THEN NULL ELSE a END,CASE WHEN T.id % 2 = 0 THEN 1 / (T.id % 2) ELSE a END,"(a + x)::numeric(14,3)","(c)::numeric(5,2)"}');
SELECT differs('1.5::float8', '{x + f,x * f - x,-f,abs(f),"greatest(x, f)","least(f, x, 0)",f / 3,"coalesce(f, x)",CASE WHEN f < x THEN f ELSE x END,CASE WHEN f = x OR f >= 3 THEN f END,CASE WHEN f <> x THEN f * f * f ELSE f END,"nullif(f, x)"}');
-- LEFT JOINs, within the term and above
SELECT twin(q) FROM unnest('{"WITH RECURSIVE r(id, x) AS (SELECT id, a FROM T WHERE id < 4 UNION ALL SELECT T.id, r.x + o.b FROM r JOIN T ON T.parent = r.id LEFT JOIN T o ON o.id = T.id * 7) SELECT id, x::text FROM r",
	"WITH RECURSIVE r(id, x) AS (SELECT id, a FROM T WHERE id < 4 UNION ALL SELECT T.id, coalesce(r.x, 0) + coalesce(o.b, 1.000) FROM r JOIN T ON T.parent = r.id LEFT JOIN T o ON o.id = T.id * 7) SELECT count(*), sum(x), avg(x), stddev(x) FROM r",
	"WITH RECURSIVE r(id, x) AS (SELECT id, a FROM T WHERE id < 4 UNION ALL SELECT T.id, r.x + T.b FROM r JOIN T ON T.parent = r.id) SELECT T.id, r.x::text, T.b * r.x FROM T LEFT JOIN r ON r.id = T.id + 300",
	"WITH RECURSIVE r(id, x) AS (SELECT id, a FROM T WHERE id < 0 UNION ALL SELECT T.id, r.x + T.b FROM r JOIN T ON T.parent = r.id) SELECT count(*), sum(x), min(x) FROM r"}'::text[]) q;
-- conditions
SELECT t, twin(down('a', 'x + b', t, 'SELECT id, x::text FROM r')) FROM unnest('{x > 10,x + b <> 3,x IS NULL,x IS NOT NULL AND d < 4,"NOT (x < b OR c > 1)","coalesce(x, b) >= 0.00",x = a OR x < 5,"greatest(x, b) < 1e6","f < 3 OR f > 10","f IS DISTINCT FROM 3","x BETWEEN -5 AND 20.50"}'::text[]) t;
-- equal numerics that look different: UNION, joins by them, DISTINCT above
SELECT twin(q) FROM unnest('{"WITH RECURSIVE r(x) AS (SELECT 1.50::numeric UNION SELECT round(x + b, 2) FROM r, T WHERE T.id < 30 AND x < 100 AND x > -100) SELECT trim_scale(x) FROM r","WITH RECURSIVE r(x, d) AS (SELECT c, 0 FROM T UNION SELECT T.c, d + 1 FROM r JOIN T ON T.a = r.x WHERE d < 3) SELECT trim_scale(x), d FROM r",
	"WITH RECURSIVE r(x, d) AS (SELECT c, 0 FROM T UNION ALL SELECT T.c, d + 1 FROM r JOIN T ON T.c = r.x AND T.id < 60 WHERE d < 2) SELECT DISTINCT trim_scale(x) FROM r","WITH RECURSIVE r(x) AS (SELECT 0.1::numeric UNION SELECT x + 0.1 FROM r WHERE x < 200) SELECT count(*), sum(x), max(x) FROM r",
	"WITH RECURSIVE r(x) AS (SELECT 1.0::numeric UNION SELECT x / 2 FROM r WHERE x > 0.0001) SELECT x FROM r"}'::text[]) q;
-- texts taken apart
SELECT differs, e FROM unnest('{"substr(t, 2)","substr(t, 2, 3)","substr(t, -1, 3)","substr(t, 3, 0)","substr(t, d, 1 + d)","left(t, 2)","left(t, -2)","right(t, 2)","right(t, -1)","right(t, d - 3)","left(x || t, 7)","coalesce(substr(t, strpos(t, '','') + 1), x)","CASE WHEN t = x THEN ''same'' WHEN t <> ''ä7,x'' THEN t || x ELSE t END","CASE WHEN length(t) > 4 THEN t ELSE x END","concat(t, NULL, x)","t || NULL","substring(t, 1, 2147483647)","substr(t, 2147483647)","coalesce(t, ''none'')","nullif(t, x)","substr(t, position(''x'' IN t))","substr(t, strpos(t, '''') + 1)","substr(t, 1, -1)"}'::text[]) e,
	LATERAL (SELECT d AS differs FROM twin(down('t', e, 'true', 'SELECT id, x, d FROM r')) d WHERE d !~ '^Gpucol') x;
SELECT t, twin(down('t', 'T.t', t, 'SELECT id, x FROM r')) FROM unnest('{x <> '''',"strpos(x, '','') > 2","length(x) = 5 OR T.t = x","NOT T.t = x","position(''7'' IN x) = 0","x COLLATE \"C\" = T.t"}'::text[]) t;

-- sums of a path, by the engine alone, and those of what is no number
SELECT way(down('a', 'x + b', 'true', 'SELECT count(*), sum(x) FROM r'));
SELECT way(down('a', 'x + a', 'true', 'SELECT count(*), sum(x) FROM r'));
SELECT way(down('a', 'x + power(b, 2)', 'x + b > -1e9', 'SELECT count(*), sum(x) FROM r'));
SELECT way('WITH RECURSIVE r(x) AS (SELECT 0.1::numeric UNION ALL SELECT x + 0.1 FROM r WHERE x < 200) SELECT count(*), sum(x), max(x) FROM r');

-- rows of arrays and jsonb, made without a call of their function, or with one
CREATE DOMAIN marks AS numeric[];
CREATE TYPE pair AS (k int, v text);
CREATE FUNCTION rows_of(id int, OUT n numeric[], OUT s text[], OUT m marks, OUT p pair[], OUT j jsonb, OUT e jsonb) LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN id % 7 > 0 THEN CASE WHEN id % 5 = 0 THEN ARRAY[[id, 1.50], [NULL, -id / 8.0]] ELSE ARRAY[id * 1.5, NULL, 3.00, 'NaN', 1e40] END END,
		CASE WHEN id % 6 > 0 THEN ('[-1:0]={x' || id || ',NULL}')::text[] ELSE '{}' END, ARRAY[id, 1.0], ARRAY[(id, 'p')::pair, NULL, (NULL, 'ä')::pair],
		CASE WHEN id % 4 > 0 THEN jsonb_build_object('a', id, 'b', 'x"' || id, 'c', id * 2.50, 'd', NULL, 'e', jsonb_build_array(1, 'é', id % 2 = 0), 'f', id % 3 = 0, '', jsonb_build_object('k', id)) WHEN id % 8 > 0 THEN '{}' END,
		CASE WHEN id % 9 > 0 THEN jsonb_build_array(id, 'x' || id, NULL, true, jsonb_build_object('k', id), jsonb_build_array(id, 2), 1.10) WHEN id % 2 > 0 THEN '[]' END;
$$;
CREATE TABLE made AS SELECT id, parent, r.* FROM plain, rows_of(id) r;
DROP TABLE plain, packed;
ALTER TABLE made RENAME TO plain;
CREATE TABLE packed USING gpucol AS TABLE plain;
ANALYZE plain, packed;
-- what differs, or is not the engine's; errors are alike
CREATE FUNCTION expanded(call text, value text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM unnest(ARRAY['JOIN', 'LEFT JOIN']) j, LATERAL twin(format('WITH RECURSIVE r(id, x, d) AS (SELECT id, NULL::text, 0 FROM T WHERE id < 4 UNION ALL SELECT t.id, %s, d + 1 FROM r JOIN T t ON t.parent = r.id %s LATERAL %s ON true WHERE d < 3) SELECT id, x, d FROM r', value, j, call)) d WHERE d !~ '^Gpucol';
$$;
SELECT c, v, d FROM (VALUES ('unnest(t.n) u', 'u::text'), ('unnest(t.n) WITH ORDINALITY u(u, o)', 'concat(u, o)'), ('unnest(t.s) u', 'u'), ('unnest(t.m) u', 'u::text'), ('unnest(t.p) u', 'concat(u.k, u.v)'), ('unnest(t.n || t.id::numeric) u', '(u + 1)::text'),
	('jsonb_each(t.j) u', 'concat(u.key, u.value)'), ('jsonb_each_text(t.j) u', 'concat(u.key, u.value, u.value IS NULL)'), ('jsonb_object_keys(t.j) u', 'u'), ('jsonb_array_elements(t.e) u', 'u::text'), ('jsonb_array_elements_text(t.e) WITH ORDINALITY u(u, o)', 'concat(u, o, u IS NULL)'),
	('jsonb_each(t.e) u', 'u.key'), ('jsonb_array_elements(t.j) u', 'u::text'), ('jsonb_object_keys(t.e -> 0) u', 'u'), ('jsonb_to_record(t.j) u(a int, b text, c numeric, e jsonb, z int)', 'concat(u.a, u.b, u.c, u.e, u.z)'), ('jsonb_to_recordset(jsonb_build_array(t.j, t.j)) u(a int, b text)', 'concat(u.a, u.b)'),
	('jsonb_populate_record(NULL::pair, t.j) u', 'concat(u.k, u.v)'), ('jsonb_each_text(t.j -> '''') u', 'u.value'), ('json_each_text(t.j::json) u', 'u.value'), ('generate_series(1, t.id % 3) u', 'u::text'), ('regexp_split_to_table(t.s[-1], ''x'') u', 'u')) a(c, v), LATERAL expanded(c, v) d;

SET client_min_messages = error;
DROP SCHEMA recursive_numbers CASCADE;
