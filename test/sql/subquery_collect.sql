-- Correlated subqueries that collect values become joins, where every group that is computed is asked for.
SET client_min_messages = warning;
CREATE SCHEMA subquery_collect;
SET search_path = subquery_collect, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/is_joined.psql
\i :include
\set ECHO all

CREATE TABLE a (id int, k int, t text, z int) USING gpucol;
CREATE TABLE b (k int, t text, v int, f float8, n numeric(8,2), s text, d date, o int) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 9 > 0 THEN i % 120 END, 'key ' || i % 50, i % 5 FROM generate_series(1, 200) i;
INSERT INTO b SELECT CASE WHEN i % 11 > 0 THEN i % 100 END, CASE WHEN i % 13 > 0 THEN 'key ' || i % 60 END, nullif(i % 23, 4), i / 7.0, i % 90 / 10.0, 's' || i % 8,
	date '2024-01-01' + i % 30, i * 7919 % 4001 FROM generate_series(1, 2000) i;
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM b WHERE v = 5;
INSERT INTO b SELECT i % 450, 'key ' || i, i, i, i, 's', NULL, 5000 + i FROM generate_series(1, 40) i;
ANALYZE a, b;

EXPLAIN (COSTS OFF) SELECT id, (SELECT string_agg(s, ', ' ORDER BY o) FROM b WHERE b.k = a.k) FROM a;
EXPLAIN (COSTS OFF) SELECT id, ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o) FROM a WHERE z > 2;

-- every line: the same rows as PostgreSQL's, and no subquery executed for each row
SELECT differ(q), is_joined(q), q
FROM unnest(ARRAY[
	'SELECT id, (SELECT string_agg(s, '', '' ORDER BY o) FROM b WHERE b.k = a.k) FROM a',
	'SELECT id, (SELECT string_agg(v::text, '','' ORDER BY d DESC NULLS LAST, o) FROM b WHERE b.k = a.k AND b.v > 3) FROM a WHERE z < 3',
	'SELECT id, (SELECT string_agg(DISTINCT s, t) FROM b WHERE b.k = a.k AND b.t = a.t) FROM a',
	'SELECT id, (SELECT string_agg(s, v::text ORDER BY o) FILTER (WHERE v < 10) FROM b WHERE b.t = a.t) FROM a',
	'SELECT id, (SELECT array_agg(v ORDER BY o) FROM b WHERE b.k = a.k) FROM a',
	'SELECT id, (SELECT json_agg(n ORDER BY o) FROM b WHERE b.k = a.k) FROM a',
	'SELECT id, (SELECT jsonb_agg(jsonb_build_object(''s'', s, ''v'', v) ORDER BY o) FROM b WHERE b.k = a.k) FROM a',
	'SELECT id, (SELECT jsonb_object_agg(o, d) FROM b WHERE b.k = a.k) FROM a WHERE id > 100 AND z <> 1',
	'SELECT id, coalesce((SELECT jsonb_agg(s ORDER BY o) FROM b WHERE b.k = a.k), ''[]'') FROM a',
	'SELECT id, (SELECT upper(string_agg(s, ''-'' ORDER BY o)) || a.z FROM b WHERE b.k = a.k) FROM a',
	'SELECT id, (SELECT count(*) || string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k), (SELECT max(v) FROM b WHERE b.t = a.t) FROM a',
	'SELECT id, (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k), (SELECT array_agg(d ORDER BY o) FROM b WHERE b.t = a.t) FROM a',
	'SELECT id, ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o) FROM a',
	'SELECT id, ARRAY(SELECT s || v FROM b WHERE b.t = a.t ORDER BY d, o DESC) FROM a WHERE z > 2',
	'SELECT id, ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o LIMIT 2) FROM a',
	'SELECT id, cardinality(ARRAY(SELECT n FROM b WHERE b.k = a.k AND b.v > 4)) FROM a WHERE id > 50',
	'SELECT sum(length((SELECT string_agg(s, '', '') FROM b WHERE b.k = a.k))), z FROM a GROUP BY z',
	'SELECT a.id, l.* FROM a, LATERAL (SELECT string_agg(s, '','' ORDER BY o) AS x, count(*) AS c FROM b WHERE b.k = a.k) l WHERE l.c > 2 AND a.z > 1',
	'SELECT a.id, coalesce(l.x, ''none'') FROM a LEFT JOIN LATERAL (SELECT string_agg((1000 / (o + 1))::text, '','' ORDER BY o) AS x FROM b WHERE b.k = a.k) l ON true WHERE length(l.x) > 9 OR l.x IS NULL',
	'SELECT id, x FROM (SELECT id, z, (SELECT string_agg(s, '','' ORDER BY o) FROM b WHERE b.k = a.k) AS x FROM a) v']) q
WHERE differ(q) IS NOT NULL OR NOT is_joined(q);

-- these stay: groups that nobody may ask for, whose errors nobody may see
SELECT differ(q), is_joined(q)
FROM unnest(ARRAY[
	'SELECT id, CASE WHEN z = 1 THEN (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k) END FROM a',
	'SELECT a.id, (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k) FROM a JOIN a c ON a.id = c.k',
	'SELECT id, (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k) FROM a WHERE 10 / (id - 1000) < 0',
	'SELECT id FROM a WHERE (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k) < ''s3''',
	'SELECT id, (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k + 1 - 1) FROM a',
	'SELECT a.id, l.x FROM a, LATERAL (SELECT string_agg(s, '','' ORDER BY o) AS x FROM b WHERE b.k = a.k) l ORDER BY a.id LIMIT 4',
	'SELECT a.id, l.x FROM a JOIN a c ON c.id = a.id, LATERAL (SELECT string_agg(s, '','' ORDER BY o) AS x FROM b WHERE b.k = a.k) l',
	'SELECT * FROM (SELECT id, (SELECT string_agg(s, '''' ORDER BY o) FROM b WHERE b.k = a.k) FROM a ORDER BY id LIMIT 5) v']) q;
-- an error of a group that is asked for is raised, and one of others is not
SELECT differ('SELECT id, (SELECT string_agg((1000 / (o - 21))::text, '''') FROM b WHERE b.k = a.k) FROM a WHERE k <> (SELECT k FROM b WHERE o = 21)');
SELECT differ('SELECT id, (SELECT string_agg((1000 / (o - 21))::text, '''' ORDER BY o) FROM b WHERE b.k = a.k) FROM a WHERE k = 7');
SELECT differ('SELECT id, (SELECT string_agg((1000 / (o - 21))::text, '''' ORDER BY o) FROM b WHERE b.k = a.k) FROM a');

-- row-level security of both tables
CREATE ROLE subquery_collect_user;
GRANT USAGE ON SCHEMA subquery_collect TO subquery_collect_user;
GRANT SELECT ON a, b TO subquery_collect_user;
ALTER TABLE a ENABLE ROW LEVEL SECURITY;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON a TO subquery_collect_user USING (z < 3);
CREATE POLICY some_rows ON b TO subquery_collect_user USING (v < 10);
SET ROLE subquery_collect_user;
SELECT differ('SELECT id, (SELECT string_agg(v::text, '','' ORDER BY o) FROM b WHERE b.k = a.k), ARRAY(SELECT v FROM b WHERE b.k = a.k ORDER BY o) FROM a');
RESET ROLE;

DROP SCHEMA subquery_collect CASCADE;
DROP ROLE subquery_collect_user;
