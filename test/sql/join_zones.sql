-- Joins of dates and timestamps with timestamps of a time zone: keys that are compared as moments of the session's.
SET client_min_messages = warning;
CREATE SCHEMA join_zones;
SET search_path = join_zones, public;
SET gpucol.engine = cpu;
SET timezone = 'UTC';
SET max_parallel_workers_per_gather = 0;

CREATE TABLE t (id int, d date, s timestamp, z timestamptz) USING gpucol;
CREATE TABLE u (LIKE t) USING gpucol;
INSERT INTO t SELECT i, date '2011-10-25' + i % 150, timestamp '2011-10-25' + i % 1800 * interval '2 hours', timestamptz '2011-10-25 UTC' + i % 7200 * interval '30 minutes' FROM generate_series(1, 3000) i;
INSERT INTO u SELECT i, date '2011-11-01' + i % 90, timestamp '2011-11-01' + i % 1000 * interval '1 hour', timestamptz '2011-11-01 UTC' + i % 3000 * interval '30 minutes' FROM generate_series(1, 3000) i;
SELECT gpucol.merge('t') + gpucol.merge('u') > 0 AS merged;
DELETE FROM t WHERE id % 41 = 0;
INSERT INTO t VALUES (9001, NULL, NULL, NULL), (9002, 'infinity', 'infinity', 'infinity'), (9003, '-infinity', '-infinity', '-infinity');
INSERT INTO u VALUES (9001, NULL, NULL, NULL), (9002, 'infinity', 'infinity', 'infinity'), (9003, '-infinity', '-infinity', '-infinity');
CREATE TABLE none (LIKE t) USING gpucol;
ANALYZE t, u, none;

\set pattern 'Gpucol(Agg|Join)'
\set word joined
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/raises.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT t.id, u.id AS other FROM t JOIN u ON t.d = u.z'),
	('SELECT t.id, u.id AS other FROM t JOIN u ON t.z = u.d'),
	('SELECT t.id, u.id AS other FROM t LEFT JOIN u ON t.s = u.z'),
	('SELECT t.id, count(u.id) FROM t FULL JOIN u ON t.z = u.s GROUP BY t.id'),
	('SELECT t.id, u.id AS other FROM t JOIN u ON t.s::date = u.z AND t.s = u.s'),
	('SELECT t.id FROM t WHERE t.d IN (SELECT z FROM u)'),
	('SELECT t.id FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.s = t.z)'),
	('SELECT t.id FROM t JOIN none ON t.d = none.z'),
	('SELECT g, count(t.id), min(t.id) FROM generate_series(date ''2011-10-20'', ''2012-04-01'', ''1 day'') g LEFT JOIN t ON t.s::date = g GROUP BY g'),
	('SELECT g, count(t.id), min(t.id) FROM generate_series(date ''2011-10-20'', ''2012-04-01'', ''1 day'') g LEFT JOIN t ON date_trunc(''day'', t.s) = g GROUP BY g'),
	('SELECT g, count(t.id), min(t.id) FROM generate_series(date ''2011-10-20'', ''2012-04-01'', ''1 week'') g LEFT JOIN t ON t.d >= g AND t.s < g + interval ''1 week'' GROUP BY g'),
	('SELECT count(*), sum(id) FROM t WHERE d = z OR s > z');
CREATE FUNCTION tried_in(zone text) RETURNS TABLE (what text, query text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	RETURN QUERY SELECT compare(x.query), x.query FROM tried x;
END
$$;
SELECT * FROM tried_in('UTC');
-- a zone of half an hour, changes of time, at midnight, too, and a day that there was not
SELECT what, count(*) FROM tried_in('Asia/Kolkata') GROUP BY 1 ORDER BY 1;
SELECT what, count(*) FROM tried_in('America/New_York') GROUP BY 1 ORDER BY 1;
SELECT what, count(*) FROM tried_in('America/Sao_Paulo') GROUP BY 1 ORDER BY 1;
-- (of which PostgreSQL's own merge joins say that it is out of order)
SET enable_mergejoin = off;
SELECT what, count(*) FROM tried_in('Pacific/Apia') GROUP BY 1 ORDER BY 1;
RESET enable_mergejoin;
-- days of which there is no moment, and the last and first ones of which there is
INSERT INTO t VALUES (9010, '294276-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999 UTC'), (9011, '294277-01-01', NULL, NULL),
	(9012, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00:00 UTC BC'), (9013, '5874897-12-31', NULL, NULL);
INSERT INTO u SELECT * FROM t WHERE id > 9009;
SELECT what, count(*) FROM tried_in('UTC') GROUP BY 1 ORDER BY 1;
SELECT what, count(*) FROM tried_in('America/New_York') GROUP BY 1 ORDER BY 1;
SELECT what, count(*) FROM tried_in('Asia/Kolkata') GROUP BY 1 ORDER BY 1;

-- the first row of those that pass a condition is looked for by an engine, since it might be the last, or none
CREATE TABLE many USING gpucol AS SELECT i, i % 100 AS a, i % 7 AS b FROM generate_series(1, 50000) i;
ANALYZE many;
CREATE FUNCTION scans(query text) RETURNS TABLE (scan text) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		scan := substring(line FROM 'Seq Scan on \w+|Custom Scan \(Gpucol\w+\) on \w+');
		IF scan IS NOT NULL THEN RETURN NEXT; END IF;
	END LOOP;
END
$$;
SELECT * FROM scans('SELECT EXISTS (SELECT FROM many WHERE a > b + 200)');
SELECT * FROM scans('SELECT CASE WHEN EXISTS (SELECT FROM many WHERE a > b + 200) THEN 1 ELSE 2 END');
SELECT * FROM scans('SELECT * FROM many WHERE a + b > 200 LIMIT 3');
-- all rows pass, and a table of few
SELECT * FROM scans('SELECT * FROM many LIMIT 3');
CREATE TABLE few USING gpucol AS SELECT i, i % 10 AS a FROM generate_series(1, 100) i;
ANALYZE few;
SELECT * FROM scans('SELECT EXISTS (SELECT FROM few WHERE a + i > 200)');
SELECT EXISTS (SELECT FROM many WHERE a > b + 200), EXISTS (SELECT FROM many WHERE a > b), EXISTS (SELECT FROM few WHERE a + i > 200);
DROP SCHEMA join_zones CASCADE;
