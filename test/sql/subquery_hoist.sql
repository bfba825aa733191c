-- Correlated subqueries of correlated subqueries: groups, DISTINCT, windows and first rows below, at any depth, become joins.
SET client_min_messages = warning;
CREATE SCHEMA subquery_hoist;
SET search_path = subquery_hoist, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/is_joined.psql
\i :include
\set ECHO all

CREATE TABLE a (id int, k int, t text, n numeric(8,2), z int) USING gpucol;
CREATE TABLE b (k int, t text, v int, f float8, n numeric(8,2), s text, o int) USING gpucol;
CREATE TABLE e (k int, v int) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 9 > 0 THEN i % 120 END, 'key ' || i % 50, i % 70 / 10.0, i % 5 FROM generate_series(1, 200) i;
INSERT INTO b SELECT CASE WHEN i % 11 > 0 THEN i % 100 END, CASE WHEN i % 13 > 0 THEN 'key ' || i % 60 END, nullif(i * 7 % 23, 4), i / 8.0, i % 90 / 10.0, 's' || i * 5 % 8, i
FROM generate_series(1, 1500) i;
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM b WHERE v = 5;
INSERT INTO b SELECT i % 450, 'key ' || i, i, i, i, 's', i + 10000 FROM generate_series(1, 40) i;
ANALYZE a, b, e;

EXPLAIN (COSTS OFF) SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q) FROM a;
EXPLAIN (COSTS OFF) SELECT id, (SELECT s FROM b WHERE b.k = a.k GROUP BY s ORDER BY count(*) DESC, s LIMIT 1) FROM a;
EXPLAIN (COSTS OFF) SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 9);

-- every line: the same rows as PostgreSQL's, and no subquery executed for each row
SELECT differ(q), is_joined(q), q
FROM unnest(ARRAY[
	-- aggregates of groups, of what DISTINCT leaves, of first rows, of windows, of rows
	'SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT s, sum(v) AS c FROM b WHERE b.k = a.k GROUP BY s HAVING sum(v) > 40) q) FROM a',
	'SELECT id, (SELECT sum(c) + count(*) * a.z FROM (SELECT max(v) AS c FROM b WHERE a.k = b.k AND b.o > 20 GROUP BY s, v % 3) q WHERE c > 9) FROM a WHERE z < 4',
	'SELECT id, (SELECT count(*) FROM (SELECT DISTINCT s FROM b WHERE b.k = a.k) q) FROM a',
	'SELECT id, (SELECT string_agg(s, '','' ORDER BY s) FROM (SELECT DISTINCT s FROM b WHERE b.k = a.k) q) FROM a',
	'SELECT id, (SELECT avg(v) FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY o DESC LIMIT 5) q) FROM a',
	'SELECT id, (SELECT sum(v) FROM (SELECT v FROM b WHERE b.k = a.k AND b.t = a.t ORDER BY o DESC LIMIT 2) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT v, lag(v) OVER (ORDER BY o) AS p FROM b WHERE b.k = a.k) q WHERE v > p) FROM a',
	'SELECT id, (SELECT max(r) FROM (SELECT s, rank() OVER (ORDER BY count(*) DESC) AS r FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT max(w) FROM (SELECT sum(v) OVER (PARTITION BY s ORDER BY o) AS w FROM b WHERE b.k = a.k) q) FROM a',
	'SELECT id, (SELECT max(x) FROM (SELECT n + 1 AS x FROM b WHERE b.k = a.k AND v < 20) q) FROM a',
	'SELECT id, (SELECT count(x) FROM (SELECT t, max(n) AS x FROM b WHERE b.k = a.k AND a.n = b.n GROUP BY t) q) FROM a',
	-- the order of the rows below is that of what collects them
	'SELECT id, (SELECT string_agg(s, '','') FROM (SELECT s FROM b WHERE b.k = a.k ORDER BY o DESC) q) FROM a',
	'SELECT id, (SELECT string_agg(s, '','') FROM (SELECT s FROM b WHERE b.k = a.k ORDER BY v DESC NULLS LAST, o LIMIT 4) q) FROM a',
	'SELECT id, (SELECT array_agg(v) FROM (SELECT v, s FROM b WHERE b.k = a.k ORDER BY s, o DESC) q WHERE v > 3) FROM a',
	'SELECT id, (SELECT array_agg(c) || max(c) FROM (SELECT count(*) AS c FROM b WHERE b.k = a.k GROUP BY s ORDER BY s DESC) q) FROM a',
	'SELECT id, ARRAY(SELECT s FROM (SELECT s FROM b WHERE b.k = a.k ORDER BY o DESC LIMIT 3) q) FROM a',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT string_agg(v::text, '','') AS x FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY v, o) q) l WHERE a.z = 2',
	-- the key is one of the groups; two keys; a condition on the row alone; two of them, and a table beside
	'SELECT id, (SELECT max(c) FROM (SELECT k, count(*) AS c FROM b WHERE b.k = a.k GROUP BY k) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k AND b.t = a.t GROUP BY s) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k AND a.z > 2 GROUP BY s) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT DISTINCT s FROM b WHERE b.k = a.k) q, (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) r WHERE q.s = r.s AND c > 2) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q JOIN b r ON r.s = q.s AND r.v = q.c) FROM a WHERE id < 60',
	'SELECT id, (SELECT count(r.v) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q LEFT JOIN e r ON r.v = q.c) FROM a',
	-- three levels
	'SELECT id, (SELECT max(m) FROM (SELECT c, count(*) AS m FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q GROUP BY c) r) FROM a',
	'SELECT id, (SELECT sum(v) FROM (SELECT v FROM (SELECT DISTINCT v, s FROM b WHERE b.k = a.k) q ORDER BY v DESC NULLS LAST, s LIMIT 3) r) FROM a',
	-- first rows of groups
	'SELECT id, (SELECT s FROM b WHERE b.k = a.k GROUP BY s ORDER BY count(*) DESC, s LIMIT 1) FROM a',
	'SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k GROUP BY s ORDER BY sum(v) DESC NULLS LAST, s LIMIT 1) FROM a WHERE id > 40',
	'SELECT id, (SELECT DISTINCT v FROM b WHERE b.k = a.k ORDER BY v LIMIT 1) FROM a',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT s, sum(v) AS c FROM b WHERE b.k = a.k GROUP BY s ORDER BY c DESC NULLS LAST, s LIMIT 2) l',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT DISTINCT v, s FROM b WHERE b.k = a.k ORDER BY v DESC NULLS LAST, s LIMIT 2) l ON true',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 2 ORDER BY s DESC LIMIT 1) l ON l.c < 5',
	-- windows and groups behind LATERAL
	'SELECT a.id, l.* FROM a, LATERAL (SELECT v, row_number() OVER (ORDER BY o) AS r FROM b WHERE b.k = a.k) l WHERE l.r < 4',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT s, count(*) AS c, rank() OVER (ORDER BY count(*) DESC) AS r FROM b WHERE b.k = a.k GROUP BY s) l ON l.r = 1',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT count(*) AS c, max(m) AS m FROM (SELECT s, sum(v) AS m FROM b WHERE b.k = a.k GROUP BY s) q) l',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT DISTINCT c FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q) l',
	-- EXISTS and IN
	'SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 4)',
	'SELECT id FROM a WHERE NOT EXISTS (SELECT s FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 4) AND z <> 3',
	'SELECT id, EXISTS (SELECT FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 4) FROM a',
	'SELECT id FROM a WHERE EXISTS (SELECT FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q WHERE c = a.z)',
	'SELECT id FROM a WHERE z = 2 OR EXISTS (SELECT FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q WHERE c = a.z)',
	'SELECT id FROM a WHERE z IN (SELECT count(*) FROM b WHERE b.k = a.k GROUP BY s)',
	'SELECT id FROM a WHERE z IN (SELECT v FROM b WHERE b.k = a.k ORDER BY o LIMIT 3)',
	'SELECT id, z IN (SELECT DISTINCT v FROM b WHERE b.k = a.k AND v IS NOT NULL) FROM a WHERE z IS NOT NULL',
	-- ARRAY
	'SELECT id, ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o LIMIT 3) FROM a',
	'SELECT id, ARRAY(SELECT DISTINCT s FROM b WHERE b.k = a.k ORDER BY s) FROM a WHERE z > 1',
	'SELECT id, ARRAY(SELECT s FROM b WHERE b.k = a.k GROUP BY s ORDER BY count(*) DESC, s LIMIT 2) FROM a',
	'SELECT id, cardinality(ARRAY(SELECT max(v) FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 2)) FROM a',
	-- WITH
	'SELECT id, (WITH w AS (SELECT v FROM b WHERE b.k = a.k) SELECT max(v) - min(v) FROM w) FROM a',
	'SELECT id, (WITH w AS (SELECT s, sum(v) AS c FROM b WHERE b.k = a.k GROUP BY s), x AS (SELECT * FROM w WHERE c > 30) SELECT count(*) FROM w JOIN x USING (s)) FROM a',
	'SELECT a.id, l.* FROM a, LATERAL (WITH w AS (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) SELECT s FROM w ORDER BY c DESC, s LIMIT 1) l',
	'SELECT id FROM a WHERE EXISTS (WITH w AS (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) SELECT FROM w WHERE c > 3)',
	'WITH p AS (SELECT k, s, v FROM b WHERE o > 50) SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM p WHERE p.k = a.k GROUP BY s) q) FROM a, b x WHERE x.o = a.id',
	-- in places
	'SELECT z, sum((SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q)) FROM a GROUP BY z',
	'SELECT id FROM a WHERE (SELECT count(*) FROM (SELECT DISTINCT s FROM b WHERE b.k = a.k) q) > 6 ORDER BY id',
	'SELECT id FROM a ORDER BY (SELECT avg(v) FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY o DESC LIMIT 5) q), id',
	'SELECT x.id, y.m FROM a x JOIN (SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q) AS m FROM a) y ON x.id = y.id + 1']) q
WHERE differ(q) IS NOT NULL OR NOT is_joined(q);

-- these stay, with the same rows: padded by a join, a whole row, one row of aggregates, errors of groups that nobody asks for, other conditions,
-- rows that a query above reads in their order
SELECT differ(q), is_joined(q)
FROM unnest(ARRAY[
	'SELECT id, (SELECT count(*) FROM e RIGHT JOIN (SELECT v FROM b LIMIT 3) x ON true LEFT JOIN (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q ON q.c = e.v) FROM a WHERE id < 20',
	'SELECT id, (SELECT json_agg(q ORDER BY q.s) FROM (SELECT s, count(*) FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT c + 1 FROM (SELECT count(*) AS c FROM b WHERE b.k = a.k) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, sum(1000 / (o + 1)) AS c FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, sum(f) AS c FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT s FROM b WHERE b.k > a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT v FROM b WHERE b.k = a.k LIMIT 2) q) FROM a',
	'SELECT id, (SELECT count(*) FROM (SELECT s FROM b WHERE b.k = a.k UNION SELECT s FROM b WHERE b.t = a.t) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY GROUPING SETS (s, ())) q) FROM a',
	'SELECT id, (SELECT max(c) FROM (SELECT s, count(*) + a.z AS c FROM b WHERE b.k = a.k GROUP BY s) q) FROM a',
	'SELECT id, (SELECT max(r) FROM (SELECT rank() OVER (ORDER BY k) AS r FROM b WHERE b.k = a.k) q) FROM a',
	'SELECT id, (WITH w AS MATERIALIZED (SELECT v FROM b WHERE b.k = a.k) SELECT max(v) - min(v) FROM w) FROM a',
	'SELECT id, (SELECT max(x) FROM (SELECT 1000 / (o + 1) AS x FROM b WHERE b.k = a.k AND v < 20) q) FROM a',
	'SELECT id, (SELECT array_agg(q.v) FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY o DESC) q, (SELECT 1 LIMIT 1) r) FROM a',
	'SELECT id, (SELECT max(v) FROM (SELECT v, row_number() OVER () AS r FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY v DESC, o) q) x WHERE r < 3) FROM a',
	'SELECT id, (SELECT array_agg(v) FROM (SELECT v FROM (SELECT v FROM b WHERE b.k = a.k ORDER BY v DESC, o) q) r) FROM a',
	'SELECT id, (SELECT s FROM b WHERE b.k = a.k GROUP BY s HAVING count(*) > 1000) FROM a']) q;

-- row-level security of the table below: each user sees his own rows
CREATE ROLE subquery_hoist_user;
GRANT USAGE ON SCHEMA subquery_hoist TO subquery_hoist_user;
GRANT SELECT ON a, b TO subquery_hoist_user;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON b TO subquery_hoist_user USING (v < 10);
SET ROLE subquery_hoist_user;
SELECT differ('SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) q), ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o LIMIT 2) FROM a');
RESET ROLE;
-- a prepared statement, and views
PREPARE p AS SELECT id, (SELECT max(c) FROM (SELECT s, count(*) AS c FROM b WHERE b.k = a.k AND v < $1 GROUP BY s) q) FROM a WHERE id = $2;
EXECUTE p(9, 5);
EXECUTE p(20, 6);
CREATE VIEW w AS SELECT k, s, count(*) AS c FROM b GROUP BY k, s;
SELECT differ('SELECT id, (SELECT max(c) FROM w WHERE w.k = a.k) FROM a');

DROP SCHEMA subquery_hoist CASCADE;
DROP ROLE subquery_hoist_user;
