-- First rows of an order that compares with the row around (the nearest of a few): LATERAL and subqueries of
-- expressions become pipes that keep the first of each row's pairs.
SET client_min_messages = warning;
CREATE SCHEMA subquery_nearest;
SET search_path = subquery_nearest, public;

\set node 'of each row the first'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/points.psql
\i :include
\set ECHO all

CREATE TABLE u (a int, b int) USING gpucol;
INSERT INTO u SELECT i % 3000 + 1, i FROM generate_series(1, 900) i;
CREATE TABLE e (k int, x float8) USING gpucol;
CREATE TABLE h AS SELECT * FROM c;
SELECT gpucol.merge('p') > 0 AS merged;
DELETE FROM p WHERE id % 100 = 7;
DELETE FROM c WHERE k = 13;
INSERT INTO p SELECT i + 5000, i % 50, i, i, '2024-01-03', 'z', true, 1, 9223372036854775807 FROM generate_series(1, 30) i;
ANALYZE p, c, u, e, h;

EXPLAIN (COSTS OFF) SELECT p.id, c.k FROM p CROSS JOIN LATERAL (SELECT k FROM c ORDER BY (p.x - c.x) * (p.x - c.x), k LIMIT 1) c;
EXPLAIN (COSTS OFF) SELECT k, count(*), avg(y) FROM (SELECT y, (SELECT c.k FROM c WHERE c.g <> 3 ORDER BY abs(p.y - c.y) DESC NULLS LAST, c.k LIMIT 1) FROM p) s GROUP BY k;
EXPLAIN (COSTS OFF) SELECT p.id, c.* FROM p LEFT JOIN LATERAL (SELECT c.k, abs(p.y - c.y) AS d FROM c WHERE c.t > p.t ORDER BY d, k LIMIT 2) c ON true;

-- orders of every class, NULLs first and last
SELECT o, j, differ(format('SELECT id, k FROM p %s LATERAL (SELECT k, s FROM c %s ORDER BY %s, c.k LIMIT %s) c %s', j, w, o, l, CASE WHEN j ~ 'LEFT' THEN 'ON true' ELSE '' END))
FROM unnest(ARRAY['(p.x - c.x) * (p.x - c.x)', '(p.x - c.x) * (p.x - c.x) DESC', 'p.x * c.x NULLS FIRST', 'p.x * c.x DESC NULLS LAST', 'abs(p.y - c.y)',
	'p.y * c.y DESC', 'greatest(c.t, p.t) DESC', 'p.b AND c.x > p.x', 'c.r - p.r', 'c.n - p.n', 'p.id % c.k', 'p.id % c.k DESC NULLS LAST, abs(p.y - c.y)']) o,
	(VALUES ('CROSS JOIN', 1, ''), ('LEFT JOIN', 1, 'WHERE c.k % 2 = p.id % 3'), ('CROSS JOIN', 3, 'WHERE c.g > 1'), ('LEFT JOIN', 50, 'WHERE c.y > p.y')) v (j, l, w)
WHERE differ(format('SELECT id, k FROM p %s LATERAL (SELECT k, s FROM c %s ORDER BY %s, c.k LIMIT %s) c %s', j, w, o, l, CASE WHEN j ~ 'LEFT' THEN 'ON true' ELSE '' END)) IS NOT NULL;

-- keys that no engine compares, of the small table alone, are ranks; rows left out; points of a heap table
CREATE TYPE mood AS ENUM ('sad', 'fine', 'happy');
CREATE TABLE w (k int, y float8, s text, i interval, m mood, u uuid, a int[]) USING gpucol;
INSERT INTO w SELECT i, i % 9 * 10, CASE WHEN i % 6 > 0 THEN (ARRAY['b', 'B', 'a', 'Ä', ''])[1 + i % 5] END, CASE WHEN i % 7 > 0 THEN i % 4 * interval '12 hours' END,
	(ARRAY['happy', 'sad', 'fine'])[1 + i % 3]::mood, md5(i::text)::uuid, ARRAY[i % 2, i] FROM generate_series(1, 60) i;
CREATE TABLE hp AS SELECT * FROM p;
ANALYZE w, hp;
SELECT t, o, l, differ(format('SELECT id, k FROM %s p %s (SELECT k, s FROM w WHERE w.y >= 10 ORDER BY %s, k %s) w %s', t, j, o, l, CASE WHEN j ~ 'LEFT' THEN 'ON true' ELSE '' END))
FROM unnest(ARRAY['p', 'hp']) t, unnest(ARRAY['abs(p.y - w.y), w.s', 'abs(p.y - w.y) DESC, w.s COLLATE "C" DESC', 'p.b AND p.y > w.y, w.s NULLS FIRST, w.i DESC NULLS LAST',
	'w.i, p.y * w.y', 'w.u, (p.y - w.y) * (p.y - w.y)', 'p.id % w.k, lower(w.s)', 'w.s USING >, w.i USING >, p.r - w.y']) o,
	(VALUES ('CROSS JOIN LATERAL', 'LIMIT 1'), ('LEFT JOIN LATERAL', 'LIMIT 2 OFFSET 3'), ('CROSS JOIN LATERAL', 'LIMIT 7 OFFSET 48')) v (j, l)
WHERE differ(format('SELECT id, k FROM %s p %s (SELECT k, s FROM w WHERE w.y >= 10 ORDER BY %s, k %s) w %s', t, j, o, l, CASE WHEN j ~ 'LEFT' THEN 'ON true' ELSE '' END)) IS NOT NULL;
SELECT differ('SELECT id, (SELECT s FROM w ORDER BY abs(p.y - w.y), s DESC, k LIMIT 1 OFFSET 2) FROM hp p');
SELECT differ('SELECT s, count(*), sum(y) FROM (SELECT y, (SELECT s FROM w WHERE w.k > p.g ORDER BY w.i, abs(p.y - w.y), k OFFSET 1 LIMIT 1) AS s FROM hp p) q GROUP BY s');
SELECT differ('SELECT id, k FROM p LEFT JOIN LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y), s, k LIMIT 1 OFFSET 60) w ON true');
SELECT differ('SELECT id, k FROM p LEFT JOIN LATERAL (SELECT k FROM w WHERE y > 900 ORDER BY abs(p.y - w.y), s, k LIMIT 1) w ON true');
EXPLAIN (COSTS OFF) SELECT id, k FROM hp p, LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y), s, k LIMIT 2 OFFSET 3) w;

-- least and greatest values
SELECT q, differ(q) FROM unnest(ARRAY['SELECT id, (SELECT min((p.x - c.x) * (p.x - c.x)) FROM c) FROM p', 'SELECT id, (SELECT max(abs(p.x - c.x)) FROM c WHERE c.g <> 2) FROM p',
	'SELECT count(*), sum(d), max(e) FROM (SELECT (SELECT min(p.n - c.n) FROM c WHERE c.y > p.y) AS d, (SELECT max(p.g * c.k) FROM c) AS e FROM p) q',
	'SELECT id, (SELECT bool_or(c.x > p.x) FROM c) FROM p',
	'SELECT id, (SELECT max(e.x * p.x) FROM e) FROM p', 'SELECT g, sum((SELECT min(abs(p.n - c.n)) FROM c)) FROM hp p GROUP BY g']) q WHERE differ(q) IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT sum((SELECT min((p.x - c.x) * (p.x - c.x)) FROM c)) FROM p;
EXPLAIN (COSTS OFF) SELECT sum((SELECT avg((p.x - c.x) * (p.x - c.x)) FROM c)) FROM p;

-- in expressions
SELECT differ('SELECT p.*, (SELECT k FROM c ORDER BY (p.x - c.x) * (p.x - c.x), k LIMIT 1) FROM p');
SELECT differ('SELECT p.id, (SELECT k FROM c WHERE c.y > p.y + 30 ORDER BY abs(p.y - c.y), k LIMIT 1) + 1 AS z FROM p');
SELECT differ('SELECT k, count(*), max(x), avg(y) FROM (SELECT x, y, (SELECT k FROM c ORDER BY (p.y - c.y) * (p.y - c.y), k LIMIT 1) FROM p WHERE g < 20) s GROUP BY k');
SELECT differ('SELECT (SELECT k FROM c ORDER BY abs(p.n - c.n), k LIMIT 1) AS k, count(*), min(x) FROM p WHERE id < 2000 GROUP BY 1');
SELECT differ('SELECT sum((SELECT c.y FROM c ORDER BY abs(p.y - c.y), k LIMIT 1)) FROM p');
SELECT differ('SELECT p.id, (SELECT abs(p.y - c.y) FROM c ORDER BY abs(p.y - c.y), k LIMIT 1) FROM p');
SELECT differ('SELECT p.id, (SELECT e.k FROM e ORDER BY abs(p.x - e.x) LIMIT 1) FROM p');

-- lists of any columns, aggregates above, joins before and behind, conditions on what was found
SELECT differ('SELECT id, d, z, k FROM p, LATERAL (SELECT abs(p.y - c.y) AS d, c.s || p.s AS z, c.* FROM c ORDER BY d, k LIMIT 2) c');
SELECT differ('SELECT c.k, count(*), min(p.x), avg(p.y) FROM p, LATERAL (SELECT k FROM c WHERE g < 5 ORDER BY abs(p.y - c.y), k LIMIT 1) c GROUP BY c.k');
SELECT differ('SELECT count(*), sum(k), count(k) FROM p LEFT JOIN LATERAL (SELECT k FROM c WHERE c.y > p.y ORDER BY c.y - p.y, k LIMIT 1) c ON true');
SELECT differ('SELECT p.id, c.k, u.b FROM p JOIN u ON u.a = p.id CROSS JOIN LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), k LIMIT 1) c');
SELECT differ('SELECT p.id, c.k, u.b FROM p CROSS JOIN LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), k LIMIT 2) c JOIN u ON u.a = c.k + p.id WHERE c.k <> 4');
SELECT differ('SELECT p.id, a.k, b.k AS l FROM p CROSS JOIN LATERAL (SELECT k, y FROM c ORDER BY abs(p.y - c.y), k LIMIT 1) a '
	'CROSS JOIN LATERAL (SELECT k FROM c WHERE c.k <> a.k ORDER BY abs(a.y - c.y) + abs(p.y - c.y), k LIMIT 1) b');
SELECT differ('SELECT p.id, h.k FROM p CROSS JOIN LATERAL (SELECT h.k FROM h JOIN c ON h.k = c.k WHERE c.g > 2 ORDER BY abs(p.y - h.y), h.k LIMIT 1) h');
SELECT differ('SELECT count(*) FROM p, LATERAL (SELECT FROM c ORDER BY abs(p.y - c.y) LIMIT 2) c');
SELECT differ('WITH RECURSIVE w AS (SELECT 0 AS i, 50::float8 AS at UNION ALL SELECT i + 1, at + 1 FROM w WHERE i < 3) '
	'SELECT p.id, q.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), k LIMIT 1) q WHERE p.id < (SELECT max(at) FROM w)');
SELECT differ('SELECT id, k FROM p, LATERAL (SELECT e.k FROM e ORDER BY abs(p.x - e.x) LIMIT 1) e');
SELECT differ('SELECT id, k FROM p LEFT JOIN LATERAL (SELECT e.k FROM e ORDER BY abs(p.x - e.x) LIMIT 1) e ON true');
PREPARE nearest(int) AS SELECT sum(k) FROM p, LATERAL (SELECT k FROM c WHERE g < $1 ORDER BY abs(p.y - c.y - $1), k LIMIT 1) c WHERE p.id > $1;
EXECUTE nearest(3);
EXECUTE nearest(1);
SET plan_cache_mode = force_generic_plan;
EXECUTE nearest(3);
EXECUTE nearest(1);
RESET plan_cache_mode;

-- errors are those of PostgreSQL
SELECT differ('SELECT id, k FROM p, LATERAL (SELECT k FROM c ORDER BY p.id / (c.k - 3), c.k LIMIT 1) c');
SELECT differ('SELECT id, k FROM p, LATERAL (SELECT k FROM c WHERE c.k <> 3 ORDER BY p.id / (c.k - 3), c.k LIMIT 1) c');
SELECT differ('SELECT id, k FROM p, LATERAL (SELECT k FROM c WHERE c.k <> 3 + 0 * p.id ORDER BY CASE WHEN c.k <> 3 THEN p.id / (c.k - 3) END, c.k LIMIT 1) c');

-- what stays, with the reason: texts and intervals, volatile functions, too many rows, WITH queries, values that may not be asked for
CREATE FUNCTION reason_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'of each row the first' THEN
			RETURN 'in a pipe';
		END IF;
		found := coalesce(found, substring(line FROM 'Not Pushed Down.*'));
	END LOOP;
	RETURN found;
END $$;
SELECT q, reason_of(q) FROM unnest(ARRAY[
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY p.s || c.s LIMIT 1) c',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY p.t - c.t LIMIT 1) c',
	'SELECT p.id, w.k FROM p, LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y), m LIMIT 1) w',
	'SELECT p.id, w.k FROM p, LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y), a LIMIT 1) w',
	'SELECT p.id, w.k FROM p, LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y), s USING ~>~ LIMIT 1) w',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), to_char(c.t, c.s) LIMIT 1) c',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), c.s LIMIT 50 OFFSET 51) c',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), c.s LIMIT 1 OFFSET p.g) c',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y), random() LIMIT 1) c',
	'SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y) LIMIT 101) c',
	'SELECT p.id, c FROM p, LATERAL (SELECT k FROM c ORDER BY abs(p.y - c.y) LIMIT 1) c',
	'WITH w AS MATERIALIZED (SELECT * FROM c) SELECT p.id, c.k FROM p, LATERAL (SELECT k FROM w ORDER BY abs(p.y - w.y) LIMIT 1) c',
	'SELECT p.id, CASE WHEN p.g = 3 THEN (SELECT k FROM c ORDER BY p.x / c.x LIMIT 1) END FROM p',
	'SELECT p.id, (SELECT k FROM c ORDER BY p.x / c.x LIMIT 1) FROM p LIMIT 10',
	'SELECT id FROM (SELECT p.id, (SELECT k FROM c ORDER BY p.x / c.x LIMIT 1) FROM p) s',
	'SELECT p.id, CASE WHEN p.g = 3 THEN (SELECT k FROM c ORDER BY c.k < p.id, c.k LIMIT 1) END FROM p',
	'SELECT id, z FROM (SELECT p.id, (SELECT k FROM c ORDER BY p.x / c.x LIMIT 1) AS z FROM p) s']) q;
SELECT gpucol.merge('p') IS NOT NULL AS merged;

DROP SCHEMA subquery_nearest CASCADE;
