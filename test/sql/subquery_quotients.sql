-- Quotients by columns, arithmetic of doubles and texts as numbers in subqueries that become joins: errors are PostgreSQL's.
SET client_min_messages = warning;
CREATE SCHEMA subquery_quotients;
SET search_path = subquery_quotients, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE a (id int, k int, m int, n numeric(8,2), f float8) USING gpucol;
CREATE TABLE b (k int, i int, j int, s smallint, l bigint, n numeric(10,2), u numeric, f float8, g float8, t text, v varchar(20), o jsonb, x int) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 9 > 0 THEN i % 30 END, i % 4 - 1, i % 7, i % 5 FROM generate_series(1, 45) i;
INSERT INTO b SELECT CASE WHEN i % 11 > 0 THEN i % 40 END, i, i % 9 + 1, i % 5 + 1, i * 7, i % 13 + 1, i % 17 + 0.125, i / 8.0, i % 6 + 1,
	CASE WHEN i % 10 > 0 THEN (i * 13)::text END, (i % 3 - 1)::text, jsonb_build_object('v', i % 50, 'd', i / 4.0), i
FROM generate_series(1, 200) i;
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM b WHERE x % 50 = 7;
INSERT INTO b SELECT i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -i FROM generate_series(1, 12) i;
ANALYZE a, b;

CREATE TABLE q (id int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO q (query) SELECT replace(w, '#', e) FROM unnest(ARRAY['b.i / b.j', 'b.i % b.s', 'b.l / b.i', '(b.s + 1) / b.j', 'b.n / b.u', '100.0 * b.n / b.i', 'b.n * b.n / b.j - b.n',
	'b.u * b.u', 'b.f * b.g', 'b.f / b.g - 1', 'b.f * b.i', 'b.t::int', 'b.t::bigint', 'b.t::numeric', 'b.t::float8', 'b.v::smallint', '(b.o ->> ''v'')::int', '(b.o ->> ''d'')::numeric']) e,
	unnest(ARRAY['SELECT a.id, (SELECT max(#) FROM b WHERE b.k = a.k) AS v FROM a',
	'SELECT a.id, (SELECT # FROM b WHERE b.k = a.k ORDER BY b.x LIMIT 1) AS v FROM a',
	'SELECT count(*) FROM a WHERE a.m < (SELECT avg(#) FROM b WHERE b.k = a.k)']) w;
-- no value raises an error; which queries execute their subqueries for each row?
SELECT * FROM (SELECT differ(query) AS wrong, query FROM q ORDER BY id) y WHERE wrong IS NOT NULL;
CREATE FUNCTION is_grouped(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'grouped' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT count(*), count(*) FILTER (WHERE is_grouped(query)) AS grouped FROM q;
SELECT query FROM q WHERE NOT is_grouped(query) ORDER BY id;

-- each of these values: of a group that is asked for, and of one that is not
CREATE TABLE odd (LIKE b, about text);
INSERT INTO odd (i, j, s, l, n, u, f, g, t, v, o) VALUES
	(1, 0, 1, 1, 1, 1, 1, 1, '1', '1', NULL), (1, 1, 0, 1, 1, 1, 1, 1, '1', '1', NULL), (-2147483648, -1, 1, 1, 1, 1, 1, 1, '1', '1', NULL),
	(-1, 1, -1, -9223372036854775808, 1, 1, 1, 1, '1', '1', NULL), (0, 1, 1, 1, 1, 1, 1, 1, '1', '1', NULL), (1, 1, 1, 1, 1, 0, 1, 1, '1', '1', NULL),
	(1, 1, 1, 1, 'NaN', 'Infinity', 1, 1, '1', '1', NULL), (1, 1, 1, 1, 1, 1e90000, 1, 1, '1', '1', NULL), (1, 1, 1, 1, 1, 1, 1, 0, '1', '1', NULL),
	(1, 1, 1, 1, 1, 1, 1e300, 1e300, '1', '1', NULL), (1, 1, 1, 1, 1, 1, 1e-300, 1e-300, '1', '1', NULL), (1, 1, 1, 1, 1, 1, 1e-300, 1e300, '1', '1', NULL),
	(1, 1, 1, 1, 1, 1, 'NaN', 'Infinity', '1', '1', NULL), (0, 1, 1, 1, 1, 1, 'Infinity', 0, '1', '1', NULL),
	(1, 1, 1, 1, 1, 1, 1, 1, ' 12 ', '+3', '{"v": "x"}'), (1, 1, 1, 1, 1, 1, 1, 1, 'abc', '99999', '{"v": 1.5, "d": "NaN"}'), (1, 1, 1, 1, 1, 1, 1, 1, '', '', '{"v": [1]}'),
	(1, 1, 1, 1, 1, 1, 1, 1, '99999999999', '-0', '{"v": null}'), (1, 1, 1, 1, 1, 1, 1, 1, E'12\n', ' 1', '{"v": 2147483648}'), (1, 1, 1, 1, 1, 1, 1, 1, '1e400', '1.0', '{"d": 1e200}'),
	(1, 1, 1, 1, 1, 1, 1, 1, repeat('0', 100), '007', '{"d": ""}'), (1, 1, 1, 1, 1, 1, 1, 1, repeat('1', 100), '0x1', NULL), (1, 1, 1, 1, 1, 1, 1, 1, '1e-400', '-32768', NULL);
UPDATE odd SET about = CASE WHEN t <> '1' THEN '::' WHEN f <> 1 OR g <> 1 THEN 'b[.][fg]' WHEN u <> 1 THEN 'b[.][nu]' ELSE 'b[.][ijsl]' END;
CREATE FUNCTION check_odd(key int) RETURNS TABLE (wrong text) LANGUAGE plpgsql AS $$
DECLARE
	row odd;
BEGIN
	FOR row IN SELECT * FROM odd LOOP
		row.k := key;
		row.x := 1000;
		INSERT INTO b SELECT row.k, row.i, row.j, row.s, row.l, row.n, row.u, row.f, row.g, row.t, row.v, row.o, row.x;
		RETURN QUERY SELECT d FROM (SELECT differ(query) AS d FROM q WHERE query ~ row.about AND query !~ 'count' OFFSET 0) y WHERE d IS NOT NULL;
		DELETE FROM b WHERE x = 1000;
	END LOOP;
END $$;
SELECT * FROM check_odd(39) LIMIT 3;
SELECT * FROM check_odd(5) LIMIT 3;
SELECT a.id, (SELECT max(b.i / b.j) FROM b WHERE b.k = a.k) AS v FROM a WHERE a.id = 5;
INSERT INTO b (k, i, j) VALUES (5, 1, 0), (39, 1, 0);
SELECT a.id, (SELECT max(b.i / b.j) FROM b WHERE b.k = a.k) AS v FROM a WHERE a.id < 6;
SELECT a.id, (SELECT max(b.i / b.j) FROM b WHERE b.k = a.k) AS v FROM a WHERE a.id < 5;
-- arithmetic of columns of both queries
SELECT differ('SELECT a.id, (SELECT count(*) FROM b WHERE b.i > a.k * b.j) AS v FROM a');
DROP SCHEMA subquery_quotients CASCADE;
