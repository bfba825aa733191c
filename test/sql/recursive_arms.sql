-- An OR in the join of a recursive term is a rule for each arm: rows, duplicates and errors are PostgreSQL's.
SET client_min_messages = warning;
CREATE SCHEMA recursive_arms;
SET search_path = recursive_arms, public;
SET gpucol.max_recursion_rounds = 100000;
SET statement_timeout = '20s';

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- edges with NULLs, loops and both directions
CREATE TABLE plain (src int, dst int, kind int, a text, b text, c numeric, w bigint);
INSERT INTO plain SELECT NULLIF(i * 7 % 53, 9), NULLIF(i * 11 % 59 % 53, 4), i % 3, 'n' || i * 7 % 23, CASE WHEN i % 19 > 0 THEN 'n' || i * 5 % 23 END, round(i * 7 % 23, i % 3), i * 13 % 53 FROM generate_series(1, 90) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain LIMIT 60;
SELECT gpucol.merge('packed');
INSERT INTO packed SELECT * FROM plain OFFSET 60;
DELETE FROM packed WHERE w = 7;
DELETE FROM plain WHERE w = 7;
ANALYZE packed, plain;

CREATE FUNCTION rules(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || regexp_replace(query, '\yT\y', 'packed', 'g') LOOP
		n := n + (line ~ '^ *Rule:')::int;
	END LOOP;
	RETURN n;
END $$;
-- arms(start, value, condition, what else is joined): how many rules, by what node or how it differs; under UNION and UNION ALL
CREATE FUNCTION arms(start text, value text, test text, also text DEFAULT '') RETURNS TABLE (rules text, answer text) LANGUAGE sql AS $$
	SELECT string_agg(rules(q)::text, ' ' ORDER BY n), string_agg(DISTINCT twin(q), ' ')
	FROM (VALUES (1, 'UNION', 5), (2, 'UNION ALL', 2)) u(n, op, most), LATERAL (SELECT format('WITH RECURSIVE r(n, d) AS (SELECT %s, 0 %s SELECT %s, d + 1 FROM r %s JOIN T e ON (%s) WHERE d < %s) SELECT n, d FROM r', start, op, value, also, test, most) AS q) q;
$$;
SELECT t, x.* FROM unnest('{"r.n = e.src OR r.n = e.dst","e.src = r.n OR e.dst = r.n OR e.kind = r.n","r.n = e.src OR (r.n = e.dst AND e.kind > 0)","(r.n = e.src AND e.kind = 1) OR (e.dst = r.n AND e.kind <> 1 AND r.n > 3)","r.n = e.src OR r.n = e.w","r.n = e.src OR r.n < e.dst",
	"r.n = e.src OR e.kind = 2","r.n = e.src OR r.n = e.dst + 1","r.n = e.src OR r.n / (e.kind - 1) = 3","(r.n = e.src OR r.n = e.dst) AND (r.n = e.kind OR r.n > 5)","(r.n = e.src OR r.n = e.dst) AND (e.kind = r.n OR r.n = e.w)","r.n = e.src OR r.n = e.dst OR NULL","r.n IN (e.src, e.dst)","NOT (r.n <> e.src AND r.n <> e.dst)",
	"r.n = e.src OR r.n = e.dst OR r.n = e.src","r.n = e.src OR e.src = r.n","e.src = e.dst OR r.n = e.src"}'::text[]) t, LATERAL arms('1', 'CASE WHEN e.src = r.n THEN e.dst ELSE e.src END', t) x;
SELECT t, x.* FROM unnest('{"r.n = e.a OR r.n = e.b","r.n = e.a OR (r.n = e.b AND e.a <> ''n7'')","r.n = e.a OR r.n < e.b"}'::text[]) t, LATERAL arms('''n1''::text', 'CASE WHEN e.a = r.n THEN e.b ELSE e.a END', t) x;
-- equal numbers that look different
SELECT t, x.* FROM unnest('{"r.n = e.c OR r.n = e.w::numeric","r.n = e.c OR (e.c = r.n AND e.c > 1)"}'::text[]) t, LATERAL arms('1.0::numeric', 'CASE WHEN e.c = r.n THEN e.c + 1 ELSE e.c END', t) x;
-- beside other relations
SELECT a, x.* FROM unnest('{"JOIN (SELECT DISTINCT kind AS k FROM T) k ON k.k < 2","LEFT JOIN (SELECT DISTINCT kind AS k FROM T) k ON k.k = r.n","CROSS JOIN LATERAL generate_series(1, r.n % 2) g"}'::text[]) a, LATERAL arms('1', 'e.dst', 'r.n = e.src OR r.n = e.dst', a) x;
SELECT * FROM arms('1', 'e.dst', 'r.n = e.src OR r.n = e.dst', 'JOIN T k ON k.src = r.n OR k.dst = r.n');
-- and outer joins: of what the OR finds, of two, with rows without match, and of more than there are rules for
SELECT t, x.* FROM unnest('{"LEFT JOIN T l ON (l.src = e.dst AND l.kind = 1","LEFT JOIN (SELECT src, min(dst) AS dst FROM T GROUP BY src) l ON (l.src = e.w","LEFT JOIN T l ON (l.a = e.b AND l.kind = 1) LEFT JOIN T m ON (m.src = e.dst AND m.kind = 0","LEFT JOIN T l ON (false"}'::text[]) t, LATERAL arms('1', 'COALESCE(l.dst, CASE WHEN e.src = r.n THEN e.dst ELSE e.src END)', 'r.n = e.src OR (r.n = e.dst AND e.kind < 2)) ' || t) x;
SELECT * FROM arms('1', 'e.dst + COALESCE(a.kind + b.kind + c.kind + d.kind, 0) * 0', 'r.n = e.src OR r.n = e.dst OR r.n = e.w) LEFT JOIN (SELECT DISTINCT kind FROM T) a ON (a.kind = e.src) LEFT JOIN (SELECT DISTINCT kind FROM T) b ON (b.kind = e.dst) LEFT JOIN (SELECT DISTINCT kind FROM T) c ON (c.kind = r.n) LEFT JOIN (SELECT DISTINCT kind FROM T) d ON (d.kind = e.w');
-- an OR in the ON of an outer join, and in NOT EXISTS: with keys of several relations, of one, with other conditions, by equal numbers
SELECT t, x.* FROM unnest('{"e.src = r.n) LEFT JOIN T l ON (l.src = e.dst OR l.dst = e.w","e.src = r.n) LEFT JOIN T l ON (l.src = e.dst OR l.dst = r.n OR l.w = e.w","e.src = r.n) LEFT JOIN T l ON (l.kind = 1 AND (l.src = e.dst OR l.dst = e.w)","e.src = r.n) LEFT JOIN T l ON (l.kind = e.kind AND (l.src = e.dst OR l.dst = e.w)",
	"e.src = r.n) LEFT JOIN T l ON ((l.src = e.dst AND l.kind = e.kind) OR l.dst = e.w","e.src = r.n) LEFT JOIN T l ON ((l.src = e.dst AND l.src = e.w) OR l.dst = e.w","e.src = r.n) LEFT JOIN T l ON ((l.src = e.dst AND l.kind = 2) OR l.dst = e.w","e.src = r.n) LEFT JOIN T l ON (l.src = e.dst OR l.dst < e.kind","e.src = r.n) LEFT JOIN T l ON (l.src = e.dst OR e.kind = r.n",
	"e.src = r.n) LEFT JOIN T l ON (l.a = e.b OR l.b = e.a","e.src = r.n) LEFT JOIN T l ON (l.c = e.c OR l.c = e.kind::numeric","r.n = e.src OR r.n = e.dst) LEFT JOIN T l ON (l.src = e.dst OR l.dst = e.w","e.src = r.n) LEFT JOIN T l ON (l.src = e.dst OR l.dst = e.w) LEFT JOIN T m ON (m.src = l.dst OR m.dst = e.w",
	"e.src = r.n) LEFT JOIN T l ON (l.src = e.dst + 1 OR l.dst = e.w"}'::text[]) t, LATERAL arms('1', 'COALESCE(l.dst, e.dst)', t) x;
SELECT t, x.* FROM unnest('{"l.src = e.dst OR l.dst = e.w + 1","l.src = e.dst OR l.w = e.w","l.src = e.w OR l.dst = e.w","(l.src = e.w OR l.dst = e.w) AND l.kind = 1","(l.src = e.w AND l.kind = e.kind) OR l.dst = r.n"}'::text[]) t, LATERAL arms('1', 'e.dst', 'e.src = r.n AND NOT EXISTS (SELECT FROM T l WHERE ' || t || ')') x;

SET client_min_messages = error;
DROP SCHEMA recursive_arms CASCADE;
