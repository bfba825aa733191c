-- A WITH query of many tables whose readers each want another part of its rows is kept, and makes those parts only.
CREATE SCHEMA with_restrict;
SET search_path = with_restrict, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE h_f (a int, b int, c int, d int, e int, y int, n numeric, t text COLLATE folded, v numeric(8,2), big int);
INSERT INTO h_f SELECT i % 40, i % 30, i % 20, i % 10, i % 5, nullif(1998 + i % 6, 2003), CASE WHEN i % 2 = 0 THEN 1 + i % 3 ELSE round(1 + i % 3, 2) END,
	CASE i % 3 WHEN 0 THEN 'Ab' WHEN 1 THEN 'aB' END || i % 2, i % 700 * 0.5, 2147483640 + i % 7 FROM generate_series(1, 6000) i;
CREATE TABLE h_d AS SELECT i AS k, 'name ' || i % 7 AS name FROM generate_series(0, 39) i;
CREATE TABLE p_f USING gpucol AS SELECT * FROM h_f;
CREATE TABLE p_d USING gpucol AS SELECT * FROM h_d;
INSERT INTO h_f VALUES (1, 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL), (2, 1, 1, 1, 1, 2000, 'NaN', 'ab0', 1, 1), (NULL, 1, 1, 1, 1, 2001, 'NaN', 'ab0', 1, 1);
INSERT INTO p_f VALUES (1, 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL), (2, 1, 1, 1, 1, 2000, 'NaN', 'ab0', 1, 1), (NULL, 1, 1, 1, 1, 2001, 'NaN', 'ab0', 1, 1);
ANALYZE h_f, h_d, p_f, p_d;
-- nine tables joined
CREATE FUNCTION joined(list text, groups text) RETURNS text LANGUAGE sql RETURN
	'SELECT ' || list || ' FROM @f f, @d d1, @d d2, @d d3, @d d4, @d d5, @d d6, @d d7, @d d8 WHERE f.a = d1.k AND f.b = d2.k AND f.c = d3.k AND f.d = d4.k AND f.e = d5.k '
	'AND f.a = d6.k AND f.b = d7.k AND f.c = d8.k ' || groups;
CREATE FUNCTION check_with(query text, OUT kept boolean, OUT restricted boolean, OUT fine boolean, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(query, '@', 'p_');
	heap text := replace(query, '@', 'h_');
	line text;
BEGIN
	kept := false;
	restricted := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || ours LOOP
		kept := kept OR line ~ 'CTE \w+$';
		restricted := restricted OR line ~ 'Filter: .* (OR|ANY) ';
	END LOOP;
	EXECUTE format('SELECT NOT EXISTS ((SELECT * FROM (%s) a EXCEPT ALL SELECT * FROM (%s) b) UNION ALL '
		'(SELECT * FROM (%2$s) c EXCEPT ALL SELECT * FROM (%1$s) d)), (SELECT count(*) FROM (%1$s) e)', ours, heap) INTO fine, rows;
END
$$;
CREATE FUNCTION two(list text, groups text, rest text) RETURNS text LANGUAGE sql RETURN
	'WITH w AS (' || joined(list, groups) || ') SELECT x.*, z.* FROM w x, w z WHERE ' || rest;
SELECT what, (check_with(q)).* FROM (VALUES
	(1, 'groups', two('d1.name, f.y, count(*) AS c, sum(v) AS s', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.y = 2000')),
	(2, 'values computed', two('d1.name, f.y, count(*) AS c, sum(v) AS s', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.y = 1999 + 1')),
	(3, 'two columns', two('d1.name, f.y, d2.name AS other, sum(v) AS s', 'GROUP BY 1, 2, 3', 'x.name = z.name AND x.y = 1999 AND z.other = ''name 3'' AND z.s > x.s')),
	(4, 'rows', two('d1.name, f.y, f.v, f.b', '', 'x.name = z.name AND x.y = 1999 AND z.y = 2001 AND x.b = 1 AND z.v < 20')),
	(5, 'distinct rows', 'WITH w AS (' || replace(joined('d1.name, f.y', ''), 'SELECT', 'SELECT DISTINCT') || ') SELECT x.*, z.* FROM w x LEFT JOIN w z USING (name) WHERE x.y = 1999 AND z.y = 2001'),
	(6, 'one wants all', two('d1.name, f.y, count(*) AS c, sum(v) AS s', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999')),
	(7, 'a range', two('d1.name, f.y, count(*) AS c, sum(v) AS s', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.y > 1999')),
	(8, 'an aggregate', two('d1.name, f.y, count(*) AS c, sum(v) AS s', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.c = 150')),
	(9, 'branches', 'WITH w AS (' || joined('''s'' AS kind, d1.name, f.y, sum(v) AS s', 'GROUP BY 2, 3') || ' UNION ALL ' || joined('''t'', d2.name, f.y, max(v)', 'GROUP BY 2, 3') ||
		') SELECT x.*, z.* FROM w x, w z WHERE x.name = z.name AND x.kind = ''s'' AND z.kind = ''t'' AND x.y = 1999 AND z.y = 1999'),
	(10, 'union', 'WITH w AS (' || joined('d1.name, f.y', '') || ' UNION ' || joined('d2.name, f.y + 0', '') || ') SELECT x.*, z.* FROM w x, w z WHERE x.name = z.name AND x.y = 1999 AND z.y = 1998'),
	(11, 'numerics', two('d1.name, f.n, count(*) AS c', 'GROUP BY 1, 2', 'x.name = z.name AND x.n = 1 AND z.n = ''NaN''')),
	(12, 'a collation', two('d1.name, lower(f.t) AS t, count(*) AS c, max(f.y) AS y', 'GROUP BY 1, 2', 'x.name = z.name AND x.t = ''ab0'' AND z.t = ''ab1''')),
	(13, 'texts that are equal', 'WITH w AS (' || joined('f.e, f.t, count(*) AS c', 'GROUP BY 1, 2') || ') SELECT x.e, x.c, z.c AS d FROM w x, w z WHERE x.e = z.e AND x.t = ''AB0'' AND z.t = ''ab1'''),
	(14, 'may raise an error', two('d1.name, f.y, sum(f.big - f.a) AS c', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.y = 2000')),
	(15, 'a constant', two('''k'' AS k, count(*) AS c, sum(v) AS s', '', 'x.k = ''k'' AND z.k = ''l''')),
	(16, 'in subqueries', 'WITH w AS (' || joined('d1.name, f.y, sum(v) AS s', 'GROUP BY 1, 2') ||
		') SELECT k, (SELECT s FROM w WHERE w.name = d.name AND y = 2001) AS s FROM @d d WHERE EXISTS (SELECT FROM w WHERE w.name = d.name AND y = 1998)'),
	(17, 'materialized', replace(two('d1.name, f.y, count(*) AS c', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = 1999 AND z.y = 2000'), 'w AS (', 'w AS MATERIALIZED ('))) v(i, what, q) ORDER BY i;
-- few tables, few rows: each reader computes its part
SELECT (check_with('WITH w AS (SELECT d.name, f.y, sum(v) AS s FROM @f f, @d d WHERE f.a = d.k GROUP BY 1, 2) SELECT x.*, z.s AS r FROM w x, w z WHERE x.name = z.name AND x.y = 1999 AND z.y = 2000')).*;
-- many rows, which each reader would read again: once with what one of them wants, of whichever kinds its branches are
CREATE TABLE h_m AS SELECT i % 40 AS a, nullif(1998 + i / 41 % 6, 2003) AS y, i / 241 % 4 AS q, i % 700 * 0.5 AS v FROM generate_series(1, 150000) i;
ALTER TABLE h_m ALTER v TYPE numeric(8,2);
CREATE TABLE p_m USING gpucol AS SELECT * FROM h_m;
CREATE TABLE h_o AS SELECT * FROM h_m ORDER BY y;
CREATE TABLE p_o USING gpucol AS SELECT * FROM h_o;
ANALYZE h_m, p_m, h_o, p_o;
CREATE FUNCTION five(query text) RETURNS text LANGUAGE sql RETURN 'WITH w AS (' || query || ') SELECT a.name, a.s AS s1, b.s AS s2, c.s AS s3, d.s AS s4, e.s AS s5 FROM w a, w b, w c, w d, w e '
	'WHERE a.name = b.name AND b.name = c.name AND c.name = d.name AND d.name = e.name AND a.y = 1998 AND b.y = 1999 AND c.y = 2000 AND d.y = 2001 AND e.y = 2002 AND a.q = 1 AND b.q = 0 AND c.q = 3 AND d.q = 2 AND e.q = 1';
SELECT what, (check_with(q)).* FROM (VALUES
	(1, 'groups', five('SELECT d.name, f.y, f.q, sum(v) AS s FROM @m f, @d d WHERE f.a = d.k GROUP BY 1, 2, 3')),
	(2, 'groups of one table', five('SELECT a AS name, y, q, max(v) AS s FROM @m GROUP BY 1, 2, 3')),
	(3, 'of a subquery', five('SELECT name, y, q, CASE WHEN n > 0 THEN s / n END AS s FROM (SELECT d.name, f.y, f.q, avg(v) AS n, sum(v) AS s FROM @m f, @d d WHERE f.a = d.k GROUP BY 1, 2, 3) x')),
	(4, 'branches', five('SELECT d.name, f.y, f.q, sum(v) AS s FROM @m f, @d d WHERE f.a = d.k GROUP BY 1, 2, 3 UNION ALL SELECT ''a constant'', f.y, 1, sum(v) AS s FROM @m f, @d d WHERE f.a = d.k GROUP BY 2')),
	(5, 'the same rows', 'WITH w AS (SELECT d.name, f.y, count(*) AS c FROM @m f, @d d WHERE f.a = d.k GROUP BY 1, 2) SELECT a.*, b.c AS c1, c.c AS c2 FROM w a, w b, w c WHERE a.name = b.name AND b.name = c.name AND a.y = 1999 AND b.y = 1999 AND c.y = 1999'),
	(6, 'rows that go with the table', five('SELECT a AS name, y, q, max(v) AS s FROM @o GROUP BY 1, 2, 3')),
	(7, 'many groups', 'WITH w AS (SELECT v, y, q, a, count(*) AS c FROM @m GROUP BY 1, 2, 3, 4) SELECT a.v, b.c AS c1 FROM w a, w b WHERE a.v = b.v AND a.y = 1999 AND b.y = 2000 AND a.a = 3 AND b.a = 3'),
	(8, 'another part of it for each', 'WITH w AS (SELECT ''x'' AS t, y, sum(v) AS s FROM @m GROUP BY 2 UNION ALL SELECT ''y'', q, max(v) FROM @m GROUP BY 2) SELECT a.s AS s1, b.s AS s2 FROM w a, w b WHERE a.t = ''x'' AND b.t = ''y'' AND a.y = 1999 AND b.y = 2')) v(i, what, q) ORDER BY i;
-- values of a prepared statement
SELECT 'PREPARE ours (int, int) AS ' || replace(two('d1.name, f.y, count(*) AS c', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = $1 AND z.y = $2 ORDER BY 1'), '@', 'p_') AS ours,
	'PREPARE heap (int, int) AS ' || replace(two('d1.name, f.y, count(*) AS c', 'GROUP BY 1, 2', 'x.name = z.name AND x.y = $1 AND z.y = $2 ORDER BY 1'), '@', 'h_') AS heap \gset
:ours;
:heap;
SET plan_cache_mode = force_generic_plan;
EXECUTE ours (1999, 2000);
EXECUTE heap (1999, 2000);
EXECUTE ours (2001, NULL);
EXECUTE ours (2002, 2002);
DROP SCHEMA with_restrict CASCADE;
