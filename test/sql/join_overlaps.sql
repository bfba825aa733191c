--
-- OVERLAPS in engines: TRUE, FALSE or NULL as PostgreSQL has it, and joins by it are found between bounds.
--
SET client_min_messages = warning;
CREATE SCHEMA join_overlaps;
SET search_path = join_overlaps, public;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET TimeZone = 'UTC';
-- every order of four bounds, equal ones and NULLs among them
CREATE TABLE plain AS SELECT row_number() OVER () AS id, a.v AS a, b.v AS b, c.v AS c, d.v AS d FROM (VALUES (1), (2), (3), (4), (9), (NULL)) a(v), (VALUES (1), (2), (3), (4), (9), (NULL)) b(v),
	(VALUES (1), (2), (3), (4), (9), (NULL)) c(v), (VALUES (1), (2), (3), (4), (9), (NULL)) d(v);
CREATE FUNCTION stamp(int) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN $1 = 9 THEN 'infinity' WHEN $1 = 1 THEN '-infinity' ELSE timestamp '2024-01-01' + $1 * interval '1 hour' END $$;
CREATE TABLE p USING gpucol AS SELECT id, id % 7 AS k, stamp(a) AS sa, stamp(b) AS sb, stamp(c) AS sc, stamp(d) AS sd, stamp(a)::timestamptz AS za, stamp(b)::timestamptz AS zb, stamp(c)::timestamptz AS zc, stamp(d)::timestamptz AS zd,
	stamp(a)::date AS da, stamp(b)::date AS db, stamp(c)::date AS dc, stamp(d)::date AS dd, make_time(a, 0, 0) AS ta, make_time(b, 0, 0) AS tb, make_time(c, 0, 0) AS tc, make_time(d, 0, 0) AS td, a AS n FROM plain;
INSERT INTO p SELECT 5000 + id, k, sb, sa, sd, sc, zb, za, zd, zc, db, da, dd, dc, tb, ta, td, tc, n FROM p WHERE id % 9 = 0;
DELETE FROM p WHERE id % 11 = 3;
CREATE TABLE q USING gpucol AS SELECT * FROM p WHERE id % 5 = 0;
CREATE TABLE none (LIKE p) USING gpucol;
ANALYZE p, q;
SELECT x, twin(replace('SELECT (xa, xb) OVERLAPS (xc, xd) AS o, count(*), sum(id) FROM p GROUP BY 1', 'x', x)) AS groups, twin(replace('SELECT id FROM p WHERE (xa, xb) OVERLAPS (xc, xd)', 'x', x)) AS rows,
	twin(replace('SELECT id FROM p WHERE NOT (xa, xb) OVERLAPS (xc, xd)', 'x', x)) AS negated, twin(replace('SELECT id FROM p WHERE (xa, xb) OVERLAPS (xc, xd) IS NULL OR k = 3', 'x', x)) AS missing,
	twin(replace('SELECT p.id, q.id AS q FROM p JOIN q ON (p.xa, p.xb) OVERLAPS (q.xc, q.xd) WHERE p.id % 3 = 0', 'x', x)) AS joined,
	twin(replace('SELECT q.k, count(*), sum(p.id) FROM p JOIN q ON p.k = q.k AND (q.xc, q.xa) OVERLAPS (p.xa, p.xb) GROUP BY 1', 'x', x)) AS keyed,
	twin(replace('SELECT count(*), count(q.id), sum(q.id) FROM p LEFT JOIN q ON (p.xa, p.xb) OVERLAPS (q.xc, q.xd)', 'x', x)) AS left, twin(replace('SELECT p.id FROM p WHERE NOT EXISTS (SELECT FROM q WHERE p.k = q.k AND (p.xa, p.xb) OVERLAPS (q.xc, q.xd))', 'x', x)) AS anti,
	twin(replace('SELECT count(*) FROM p JOIN q ON NOT (p.xa, p.xb) OVERLAPS (q.xc, q.xd) WHERE p.id < 200', 'x', x)) AS apart
FROM unnest(ARRAY['s', 'z', 't', 'd']) x;
EXPLAIN (COSTS OFF) SELECT count(*) FROM p JOIN q ON (p.sa, p.sb) OVERLAPS (q.sc, q.sd);
-- lengths instead of ends
SELECT twin('SELECT p.id, q.id AS q FROM p JOIN q ON (p.sa, interval ''30 minutes'') OVERLAPS (q.sc, interval ''1 hour'') WHERE p.id < 300'), twin('SELECT p.id, q.id AS q FROM p JOIN q ON (p.sa, p.n * interval ''30 minutes'') OVERLAPS (q.sc, q.sd) WHERE p.id < 300'),
	twin('SELECT p.id, q.id AS q FROM p JOIN q ON (p.ta, interval ''30 minutes'') OVERLAPS (q.tc, q.td) WHERE p.id < 300');
SELECT twin('SELECT count(*), count(none.id) FROM p LEFT JOIN none ON (p.sa, p.sb) OVERLAPS (none.sc, none.sd)'), twin('SELECT p.id FROM p JOIN none ON (p.sa, p.sb) OVERLAPS (none.sc, none.sd)');
-- dates that are out of range for timestamp
SELECT twin('SELECT id FROM p WHERE da::timestamp <= sb'), twin('SELECT p.id, q.id AS q FROM p JOIN q ON p.da::timestamp <= q.sb AND p.da::timestamptz >= q.za WHERE p.id < 300');
INSERT INTO q (id, k, da, db) VALUES (9001, 1, '5874000-01-01', '5874000-01-02');
SELECT twin('SELECT id FROM q WHERE da::timestamp <= sb'), twin('SELECT id FROM q WHERE id < 9000 AND da::timestamp <= sb'), twin('SELECT p.id, q.id AS q FROM p JOIN q ON (p.da, p.db) OVERLAPS (q.da, q.db) WHERE p.id < 300'), twin('SELECT p.id, q.id AS q FROM p JOIN q ON p.sa <= q.da::timestamp WHERE p.id < 300');
DROP SCHEMA join_overlaps CASCADE;
