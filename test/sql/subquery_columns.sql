-- Correlated subqueries that refer to computed columns of subqueries in FROM become joins, too.
SET client_min_messages = warning;
CREATE SCHEMA subquery_columns;
SET search_path = subquery_columns, public;
SET max_parallel_workers_per_gather = 0;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE o (id int, k int, d timestamp, a numeric(10,2), s text) USING gpucol;
CREATE TABLE c (id int, d date, v int, s text) USING gpucol;
INSERT INTO o SELECT i, i % 70, timestamp '2024-01-01' + i * 7919 % 3000 * interval '1 hour', i * 31 % 997 / 10.0, 'S' || i % 9 FROM generate_series(1, 700) i;
INSERT INTO c SELECT i, date '2024-01-01' + i * 7 % 400, i % 11, 's' || i % 7 FROM generate_series(1, 200) i;
SELECT gpucol.merge('o') + gpucol.merge('c') > 0 AS merged;
DELETE FROM o WHERE id % 43 = 0;
INSERT INTO o VALUES (9001, NULL, NULL, NULL, NULL), (9002, 3, '2024-03-31', 7, ''), (9004, 5, '2024-02-29 12:00', 12.5, 's2');
INSERT INTO c VALUES (901, NULL, NULL, NULL), (902, '2025-01-31', 3, ''), (903, '2024-02-29', 1, 's1');
ANALYZE o, c;
CREATE VIEW months AS SELECT *, date_trunc('month', d) AS m, lower(s) AS low FROM o;
CREATE VIEW barred WITH (security_barrier) AS SELECT *, date_trunc('month', d) AS m FROM o WHERE k < 50;

-- how often a part of the plan is executed at most
CREATE FUNCTION loops(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text; most int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		most := greatest(most, substring(line FROM 'loops=(\d+)')::int);
	END LOOP;
	RETURN most;
END
$$;

-- every line: the same rows as PostgreSQL's, and no part executed for each row
SELECT differ(q), loops(q), q
FROM unnest(ARRAY[
	'SELECT x.m, count(*), sum(a) FROM o, LATERAL (SELECT date_trunc(''month'', o.d) AS m) x WHERE a > (SELECT avg(a) FROM o i WHERE date_trunc(''month'', i.d) = x.m) GROUP BY x.m',
	'SELECT o.id FROM o CROSS JOIN LATERAL (SELECT o.d::date AS m, o.k + 1 AS n) x WHERE o.k > (SELECT count(*) FROM c WHERE c.d = x.m AND c.v = x.n)',
	'SELECT y.id, (SELECT max(v) FROM c WHERE c.d = y.day) FROM (SELECT *, d::date AS day FROM o) y',
	'SELECT y.id FROM (SELECT id, d::date AS day FROM o WHERE k > 5) y WHERE NOT EXISTS (SELECT FROM c WHERE c.d = y.day)',
	'SELECT y.id FROM (SELECT z.id, z.day + 1 AS next FROM (SELECT id, d::date AS day FROM o WHERE isfinite(d)) z) y WHERE 3 < (SELECT sum(v) FROM c WHERE c.d = y.next)',
	'SELECT m, sum((SELECT count(*) FROM c WHERE date_trunc(''month'', c.d::timestamp) = m)) FROM months GROUP BY m',
	'SELECT low, count(*) FROM months WHERE a < (SELECT max(v) * 10 FROM c WHERE c.s = low) GROUP BY low',
	'SELECT y.id FROM (SELECT id, d::date AS day FROM o) y, LATERAL (SELECT y.day - 7 AS before) x WHERE (SELECT count(*) FROM c WHERE c.d = x.before) > 0',
	'SELECT o.id, x.m FROM o, LATERAL (SELECT o.k * 2 AS m) x WHERE x.m IN (SELECT v FROM c WHERE c.v = x.m AND c.s = lower(o.s))']) q;
-- the same rows, whatever is executed: groups, outer joins, a barrier, limits and what else PostgreSQL does not merge
SELECT differ(q), q
FROM unnest(ARRAY[
	'SELECT x.m, (SELECT count(*) FROM c WHERE date_trunc(''month'', c.d::timestamp) = x.m) FROM o, LATERAL (SELECT date_trunc(''month'', o.d) AS m) x GROUP BY x.m',
	'SELECT c.id, (SELECT count(*) FROM o WHERE o.d::date = y.day) FROM c LEFT JOIN (SELECT v, d + 1 AS day FROM c WHERE v > 5 AND isfinite(d)) y ON y.v = c.v AND c.id < 30',
	'SELECT c.id FROM c LEFT JOIN LATERAL (SELECT coalesce(c.v, 3) AS m WHERE c.v > 4) x ON true WHERE c.id > coalesce((SELECT avg(k) FROM o WHERE o.k = x.m), 0)',
	'SELECT m, count(*) FROM barred WHERE a > (SELECT avg(a) FROM o i WHERE date_trunc(''month'', i.d) = barred.m) GROUP BY m',
	'SELECT y.id FROM (SELECT id, k % 5 AS r FROM o ORDER BY id LIMIT 50) y WHERE y.r > (SELECT min(v) FROM c WHERE c.v = y.r)',
	'SELECT y.r FROM (SELECT DISTINCT k % 5 AS r FROM o) y WHERE y.r < (SELECT count(*) FROM c WHERE c.v = y.r)',
	'SELECT y.k FROM (SELECT 10 / nullif(k, 3) AS k FROM o WHERE k <> 0) y WHERE y.k < (SELECT sum(v) FROM c WHERE c.v = y.k)',
	'SELECT y.k FROM (SELECT 10 / (k - 3) AS k FROM o WHERE k > 1) y WHERE y.k < (SELECT sum(v) FROM c WHERE c.v = y.k)',
	'SELECT row_to_json(y)::text FROM (SELECT id, d::date AS day FROM o) y WHERE (SELECT count(*) FROM c WHERE c.d = y.day) > 0',
	'SELECT y.id, (SELECT (SELECT y::text)) FROM (SELECT z.id, z.day + 1 AS next FROM (SELECT id, d::date AS day FROM o WHERE isfinite(d)) z) y WHERE 3 < (SELECT sum(v) FROM c WHERE c.d = y.next)',
	'SELECT y.id FROM (SELECT z::text AS id, z.day + 1 AS next FROM (SELECT id, d::date AS day FROM o WHERE isfinite(d)) z) y WHERE 3 < (SELECT sum(v) FROM c WHERE c.d = y.next)']) q;
-- the list of a view has the columns that it had
SELECT count(*), count(m), min(low) FROM months WHERE a > (SELECT avg(a) FROM o i WHERE date_trunc('month', i.d) = m);
SELECT * FROM months WHERE id = 9004 AND a > (SELECT avg(v) FROM c WHERE c.s = months.low);
PREPARE over_month AS SELECT count(*) FROM months WHERE a > (SELECT avg(a) FROM o i WHERE date_trunc('month', i.d) = m);
EXECUTE over_month;
INSERT INTO o SELECT 9100 + i, 1, timestamp '2024-03-01' + i * interval '1 minute', 1000 + i, 's1' FROM generate_series(1, 5) i;
EXECUTE over_month;
-- infinite times are no errors
INSERT INTO o VALUES (9201, 3, 'infinity', 7, ''), (9202, 4, '-infinity', 1, 'S1');
INSERT INTO c VALUES (904, 'infinity', 3, '');
SELECT differ(q), q
FROM unnest(ARRAY[
	'SELECT x.m, count(*) FROM o, LATERAL (SELECT date_trunc(''month'', o.d) AS m) x WHERE o.k < 9 AND a >= (SELECT avg(a) FROM o i WHERE date_trunc(''month'', i.d) = x.m) GROUP BY x.m',
	'SELECT y.id, (SELECT max(v) FROM c WHERE c.d = y.day) FROM (SELECT *, d::date AS day FROM o) y']) q;
DROP SCHEMA subquery_columns CASCADE;
