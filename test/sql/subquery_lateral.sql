-- Subqueries of groups and of aggregates behind LATERAL become joins: no row of the tables before them starts a scan.
SET client_min_messages = warning;
CREATE SCHEMA subquery_lateral;
SET search_path = subquery_lateral, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/is_joined.psql
\i :include
\set ECHO all

CREATE TABLE a (id int, k int, t text, n numeric(8,2), z int) USING gpucol;
CREATE TABLE b (k int, t text, v int, f float8, n numeric(8,2), s text, d date) USING gpucol;
CREATE TABLE e (k int, v int) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 9 > 0 THEN i % 120 END, 'key ' || i % 50, i % 70 / 10.0, i % 5 FROM generate_series(1, 500) i;
INSERT INTO b SELECT CASE WHEN i % 11 > 0 THEN i % 100 END, CASE WHEN i % 13 > 0 THEN 'key ' || i % 60 END, nullif(i % 23, 4), i / 7.0, i % 90 / 10.0, 's' || i % 8, date '2024-01-01' + i % 30
FROM generate_series(1, 5000) i;
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM b WHERE v = 5;
INSERT INTO b SELECT i % 450, 'key ' || i, i, i, i, 's', NULL FROM generate_series(1, 40) i;
ANALYZE a, b, e;

EXPLAIN (COSTS OFF) SELECT a.id, l.c, l.s FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.k = a.k) l;
EXPLAIN (COSTS OFF) SELECT a.id, l.d FROM a LEFT JOIN LATERAL (SELECT DISTINCT v AS d FROM b WHERE b.k = a.k) l ON true;

-- every line: the same rows as PostgreSQL's, and no subquery executed for each row
SELECT differ(q), is_joined(q), q
FROM unnest(ARRAY[
	-- aggregates: a row for each, whatever is found; counts of nothing are 0
	'SELECT a.id, l.c, l.s FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.k = a.k) l',
	'SELECT a.id, l.* FROM a CROSS JOIN LATERAL (SELECT count(v), max(s), min(d) FROM b WHERE a.k = b.k AND b.v > 3) l',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT count(DISTINCT s) AS c, avg(n) AS m FROM b WHERE b.t = a.t) l ON true',
	'SELECT a.id, l.* FROM a JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k AND b.t = a.t) l ON l.c <> 1',
	'SELECT a.id FROM a, LATERAL (SELECT count(*) AS c, max(v) AS m FROM b WHERE b.k = a.k) l WHERE l.c = 0 OR l.m > a.z',
	'SELECT l.c, count(*), sum(l.s) FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.k = a.k) l GROUP BY l.c HAVING min(l.c) < 60',
	'SELECT a.id, l.x FROM a, LATERAL (SELECT coalesce(sum(v), -1) + a.z + count(*) AS x FROM b WHERE b.k = a.k) l',
	'SELECT a.id, x FROM a, LATERAL (SELECT count(*) FROM b WHERE b.k = a.k) l (x) WHERE a.z = 1',
	'SELECT a.id, l.c, m.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l, LATERAL (SELECT count(*) AS c FROM b WHERE b.v = l.c) m',
	'SELECT a.id, l.c, r.z FROM a JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l ON true LEFT JOIN a r ON r.id = l.c',
	'SELECT a.id, l.c, r.id FROM a r, a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k AND b.v = r.z) l WHERE r.id = a.z',
	'SELECT a.id, (SELECT l.c + max(v) FROM e) FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l',
	'SELECT a.id FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l WHERE EXISTS (SELECT FROM b WHERE b.v = l.c)',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM e WHERE e.k = a.k) l WHERE a.id < 100',
	'SELECT id, c FROM (SELECT a.id, l.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l) v WHERE c > 3',
	'WITH w AS (SELECT a.id, l.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l) SELECT x.id, y.c FROM w x JOIN w y ON x.id = y.id + 1',
	-- groups: none where none was
	'SELECT a.id, l.s, l.c FROM a, LATERAL (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) l',
	'SELECT a.id, l.s, l.c FROM a LEFT JOIN LATERAL (SELECT s, count(*) AS c FROM b WHERE b.k = a.k GROUP BY s) l ON l.c > 2',
	'SELECT a.id, l.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k GROUP BY s, v % 3) l',
	'SELECT a.id, l.s FROM a, LATERAL (SELECT s FROM b WHERE b.t = a.t GROUP BY s HAVING count(*) > 40) l',
	'SELECT a.id, l.k, l.c FROM a, LATERAL (SELECT b.k, max(v) AS c FROM b WHERE b.k = a.k GROUP BY b.k) l',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT DISTINCT s, v FROM b WHERE b.k = a.k) l WHERE l.v = a.z',
	'SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT DISTINCT b.k, s FROM b WHERE b.k = a.k AND b.n = a.n) l ON true',
	'SELECT count(*) FROM a LEFT JOIN LATERAL (SELECT DISTINCT v AS d FROM b WHERE b.k = a.k) l ON l.d > 7 JOIN b c ON c.v = l.d AND c.k = a.k']) q
WHERE differ(q) IS NOT NULL OR NOT is_joined(q);

-- these stay, with the same rows: whole rows, other comparisons, padded by a join around, more clauses, errors of groups
-- that nobody asks for, aggregates that may raise one; and one whose floats may be too large, for which a subquery is kept
SELECT differ(q), is_joined(q)
FROM unnest(ARRAY[
	'SELECT a.id, l FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.k = a.k) l WHERE a.id < 20',
	'SELECT a.id, l.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k < a.k) l WHERE a.id < 20',
	'SELECT r.id, l.c FROM a r LEFT JOIN (a CROSS JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l) ON r.id = a.id + 490 WHERE r.id < 20',
	'SELECT a.id, l.c FROM a LEFT JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) l ON l.c > 50 WHERE a.id < 20',
	'SELECT a.id, l.c FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k HAVING count(*) < 3) l WHERE a.id < 20',
	'SELECT a.id, l.c FROM a, LATERAL (SELECT max(10 / (v - 21)) AS c FROM b WHERE b.k = a.k) l WHERE a.id < 20 AND a.k < 0',
	'SELECT a.id, l.c FROM a, LATERAL (SELECT s, string_agg(s, s) AS c FROM b WHERE b.k = a.k GROUP BY s) l WHERE a.id < 20',
	'SELECT a.id, l.f::numeric(20,4) FROM a, LATERAL (SELECT sum(f) AS f FROM b WHERE b.k = a.k) l WHERE a.k < 50']) q;

-- a role that may not call what a join needs gets PostgreSQL's plan; row-level security stays below the groups
CREATE ROLE subquery_lateral_user;
GRANT USAGE ON SCHEMA subquery_lateral TO subquery_lateral_user;
GRANT SELECT ON a, b TO subquery_lateral_user;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON b TO subquery_lateral_user USING (v < 10);
SET ROLE subquery_lateral_user;
SELECT differ('SELECT a.id, l.c, l.m FROM a, LATERAL (SELECT count(*) AS c, max(v) AS m FROM b WHERE b.k = a.k) l');
SELECT max(l.m) FROM a, LATERAL (SELECT count(*) AS c, max(v) AS m FROM b WHERE b.k = a.k) l;
RESET ROLE;

-- prepared, and a view
CREATE VIEW counted AS SELECT a.id, a.z, l.c, l.s FROM a LEFT JOIN LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.k = a.k) l ON true;
SELECT differ('SELECT z, sum(c), max(s) FROM counted GROUP BY z'), is_joined('SELECT z, sum(c), max(s) FROM counted GROUP BY z');
PREPARE counts (int) AS SELECT count(*), sum(l.c) FROM a, LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k AND b.v < $1) l;
SET plan_cache_mode = force_generic_plan;
EXECUTE counts (7);
SET gpucol.pushdown = forbid;
EXECUTE counts (7);
RESET gpucol.pushdown;

DROP SCHEMA subquery_lateral CASCADE;
DROP ROLE subquery_lateral_user;
