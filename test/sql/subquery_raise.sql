-- Rows behind LATERAL by computed keys, which may raise errors, and subqueries in ON that refer to both sides.
SET client_min_messages = warning;
CREATE SCHEMA subquery_raise;
SET search_path = subquery_raise, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/is_joined.psql
\i :include
\set ECHO all

CREATE TABLE a (id int, k int, d date, z int, big bigint) USING gpucol;
CREATE TABLE b (id int, k int, v int, d date, at timestamp) USING gpucol;
CREATE TABLE e (id int, k int, v int, d date, at timestamp) USING gpucol;
CREATE TABLE one (id int, k int, v int, d date, at timestamp) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 9 > 0 THEN i % 40 END, date '2024-01-01' + i % 90, i % 5, i FROM generate_series(1, 90) i;
INSERT INTO b SELECT i, CASE WHEN i % 11 > 0 THEN i % 50 END, nullif(i % 23, 4), date '2024-01-01' + i % 60, timestamp '2024-01-01' + i * interval '1 hour'
FROM generate_series(1, 400) i;
INSERT INTO one VALUES (1, 7, 1, '2024-01-08', NULL);
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM b WHERE v = 5;
INSERT INTO b SELECT -i, i % 60, i, NULL, NULL FROM generate_series(1, 40) i;
ANALYZE a, b, e, one;

EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v > (SELECT avg(x.v) FROM b x WHERE x.k = a.k AND x.d = b.d);

CREATE FUNCTION check_all(t text) RETURNS TABLE (wrong text, joined bool, query text) LANGUAGE sql AS $$
SELECT differ(replace(q, '@', t)), is_joined(replace(q, '@', t)), replace(q, '@', t)
FROM unnest(ARRAY[
	-- behind LATERAL: several rows
	'SELECT a.id, l.id AS b FROM a, LATERAL (SELECT x.id FROM @ x WHERE x.k = a.k + 1 AND x.v > 0 ORDER BY x.v, x.id LIMIT 3) l',
	'SELECT a.id, l.id AS b FROM a LEFT JOIN LATERAL (SELECT x.id FROM @ x WHERE x.k - 2 = a.k ORDER BY x.v DESC, x.id LIMIT 2) l ON true',
	'SELECT a.id, l.id AS b FROM a JOIN LATERAL (SELECT x.id FROM @ x WHERE x.k * 3 = a.k * a.z ORDER BY x.v DESC, x.id LIMIT 2 OFFSET 1) l ON true WHERE a.z > 1',
	'SELECT a.id, l.id AS b FROM a, LATERAL (SELECT x.id FROM @ x WHERE x.k = a.k AND x.d <= a.d - 7 ORDER BY x.d DESC, x.id LIMIT 2) l',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT x.v, count(*) AS c FROM @ x WHERE x.k = a.k + 1 GROUP BY x.v) l',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT DISTINCT x.v FROM @ x WHERE date_trunc(''month'', x.d) = date_trunc(''month'', a.d) AND x.k = a.k) l',
	'SELECT c.m, l.id FROM (SELECT DISTINCT date_trunc(''month'', d) AS m FROM a) c, LATERAL (SELECT x.id FROM @ x WHERE date_trunc(''month'', x.d) = c.m ORDER BY x.v, x.id LIMIT 4) l',
	-- only some rows are asked for
	'SELECT * FROM (SELECT a.id, l.id AS b FROM a, LATERAL (SELECT x.id FROM @ x WHERE x.k = a.k + 1 ORDER BY x.v, x.id LIMIT 2) l LIMIT 1000000) y',
	'SELECT a.id, l.id AS b, o.k FROM a, LATERAL (SELECT x.id FROM @ x WHERE x.k = a.k + 1 ORDER BY x.v, x.id LIMIT 2) l, one o WHERE o.k = a.k',
	-- ON with both sides
	'SELECT a.id, x.id AS b FROM a LEFT JOIN @ x ON x.k = a.k AND x.v > (SELECT avg(y.v) FROM b y WHERE y.k = a.k AND y.d = x.d)',
	'SELECT a.id, x.id AS b FROM a LEFT JOIN @ x ON x.k = a.k AND x.d = (SELECT max(y.d) FROM b y WHERE y.k = a.k AND y.d <= x.d - 7)',
	'SELECT a.id, x.id AS b FROM a LEFT JOIN @ x ON a.k = x.k AND x.id = (SELECT y.id FROM b y WHERE y.k = a.k AND y.at <= x.at ORDER BY y.at DESC LIMIT 1)',
	'SELECT a.id, x.id AS b FROM a LEFT JOIN @ x ON a.k = x.k AND NOT EXISTS (SELECT FROM b y WHERE y.k = a.k AND y.at > x.at)',
	'SELECT a.id, x.id AS b FROM @ x RIGHT JOIN a ON a.k = x.k AND x.v IN (SELECT y.v FROM b y WHERE y.k = a.k AND y.id > x.id)',
	'SELECT a.id, x.id AS b FROM a FULL JOIN @ x ON a.k = x.k AND a.z = x.v AND a.id < (SELECT max(y.id) FROM b y WHERE y.k = x.k AND y.v = a.z)',
	'SELECT a.id, x.id AS b FROM a LEFT JOIN @ x ON x.k = a.k AND x.v > (SELECT avg(y.v) FROM b y WHERE y.k = a.z AND y.v = x.v)']) q
$$;
-- every line: the same rows as PostgreSQL's
SELECT * FROM check_all('b');
SELECT DISTINCT wrong FROM check_all('e');
SELECT DISTINCT wrong FROM check_all('one');

-- The same with values that are errors, which they are only where there is a row to look at or to look for; which of
-- several tables is joined first is the planner's choice.
INSERT INTO a VALUES (501, 2147483647, 'infinity', 4, 1), (502, 5, '4713-01-01 BC', 2, 1), (503, 2147483646, '5874897-12-31', 4, 1);
SELECT wrong, query FROM check_all('b') WHERE wrong IS NOT NULL AND query NOT LIKE '% one o %';
SELECT wrong, query FROM check_all('e') WHERE wrong IS NOT NULL;
SELECT wrong, query FROM check_all('one') WHERE wrong IS NOT NULL AND query NOT LIKE '% one o %';
SELECT a.id, l.id AS b FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k + 1 ORDER BY b.v, b.id LIMIT 2) l;
SELECT a.id, l.id AS b FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k + 1 AND b.v = 1000 ORDER BY b.v, b.id LIMIT 2) l;
DELETE FROM a WHERE id > 500;
INSERT INTO b VALUES (6000, -2147483648, 3, '5874897-12-31', 'infinity'), (6001, -2147483647, 3, 'infinity', '-infinity');
SELECT wrong, query FROM check_all('b') WHERE wrong IS NOT NULL;
SELECT a.id, l.id AS b FROM a, LATERAL (SELECT b.id FROM b WHERE b.k - 1 = a.k ORDER BY b.v, b.id LIMIT 2) l;
TRUNCATE a;
SELECT wrong, query FROM check_all('b') WHERE wrong IS NOT NULL;
SELECT a.id, l.id AS b FROM a, LATERAL (SELECT b.id FROM b WHERE b.k - 1 = a.k ORDER BY b.v, b.id LIMIT 2) l;

-- First rows whose values or order may be errors: of all rows of a key, as PostgreSQL computes them before it sorts.
INSERT INTO a SELECT i, i % 45, date '2024-01-01', i % 5, i FROM generate_series(1, 100) i;
DELETE FROM b WHERE id >= 6000;
CREATE TABLE f (k int, m int, n int, s smallint, l bigint, t int) USING gpucol;
INSERT INTO f SELECT i % 40, i, i % 7, i % 9, i * 100000000000, i FROM generate_series(1, 400) i;
INSERT INTO f VALUES (NULL, NULL, 3, NULL, NULL, NULL), (3, NULL, NULL, NULL, NULL, -5);
CREATE FUNCTION check_first() RETURNS TABLE (wrong text, query text) LANGUAGE sql AS $$
SELECT differ(q, CASE WHEN q LIKE '% / %' THEN 'Scan' ELSE 'GpucolWindow' END), q FROM unnest(ARRAY[
	'SELECT a.id, (SELECT f.m * f.n FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1) AS v FROM a',
	'SELECT a.id, (SELECT f.m * f.n + f.s FROM f WHERE f.k = a.k AND f.s > 2 ORDER BY f.t DESC LIMIT 1) AS v FROM a',
	'SELECT sum((SELECT -f.l * f.n FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1)) FROM a WHERE a.k <> 7',
	'SELECT a.id, (SELECT f.t FROM f WHERE f.k = a.k ORDER BY f.m * f.n DESC, f.t LIMIT 1) AS v FROM a',
	'SELECT a.id, (SELECT f.m + 1000 FROM f WHERE f.k = a.k AND f.t <= a.id ORDER BY f.t DESC LIMIT 1) AS v FROM a',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT f.m * f.n AS x, f.s + f.m AS y FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1) l',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT f.t, f.m - f.n AS y FROM f WHERE f.k = a.k ORDER BY f.m - f.n, f.t LIMIT 1) l ON true',
	'SELECT a.id, (SELECT f.m / f.n FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1) AS v FROM a WHERE a.k = 7',
	'SELECT a.id, (SELECT f.m / f.n FROM f WHERE f.k = a.k AND f.n <> 0 ORDER BY f.t LIMIT 1) AS v FROM a']) q
$$;
SELECT * FROM check_first();
INSERT INTO f VALUES (7, 2000000000, 5, 5, 9000000000000000000, 100000);
SELECT * FROM check_first() WHERE wrong IS NOT NULL;
SELECT a.id, (SELECT f.m * f.n FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1) AS v FROM a;
SELECT sum((SELECT f.m * f.n FROM f WHERE f.k = a.k ORDER BY f.t LIMIT 1)) AS v FROM a WHERE a.k <> 7;
DELETE FROM f;
SELECT * FROM check_first() WHERE wrong IS NOT NULL;
DROP SCHEMA subquery_raise CASCADE;
