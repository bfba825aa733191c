-- Correlated subqueries whose expressions could raise errors for values that hardly any row has: joins, of the others.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA subquery_errors;
SET search_path = subquery_errors, public;

CREATE TABLE h_t AS SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 13 END AS k, CASE WHEN i % 7 > 0 THEN ((i * 7919 % 1000) - 300) / 7.0 END::numeric(12,4) AS n,
	CASE WHEN i % 9 > 0 THEN ((i * 104729 % 1000) - 300) / 9.0 END AS u, CASE WHEN i % 5 > 0 THEN (i % 40 - 10) / 3.0 END::real AS r, (i % 50 - 20)::smallint AS s,
	timestamp '2020-01-01' + (i * 7919 % 20000) * interval '1 hour' AS ts, timestamptz '2020-01-01 00:00+00' + (i * 104729 % 20000) * interval '37 minutes' AS tz,
	CASE WHEN i % 6 > 0 THEN ARRAY[i % 3, i % 2] END AS a, CASE WHEN i % 8 > 0 THEN ARRAY['x' || i % 3, NULL] END AS b, (i % 100)::money AS m,
	('10.' || i % 3 || '.' || i % 200 || '.1/16')::inet AS ip FROM generate_series(1, 1000) i;
CREATE TABLE t (LIKE h_t) USING gpucol;
INSERT INTO t SELECT * FROM h_t WHERE id <= 950;
VACUUM t;
INSERT INTO t SELECT * FROM h_t WHERE id > 950;
DELETE FROM h_t WHERE id % 29 = 0;
DELETE FROM t WHERE id % 29 = 0;
VACUUM ANALYZE t, h_t;

-- ~ stands before the name of a table, which has the prefix of its twin there
CREATE TABLE statements (id int, query text);
INSERT INTO statements VALUES
	(1, 'SELECT count(*), sum(id) FROM ~t x WHERE n > (SELECT percentile_cont(0.6) WITHIN GROUP (ORDER BY y.n) FROM ~t y WHERE y.k = x.k)'),
	(2, 'SELECT count(*), sum(id) FROM ~t x WHERE n > (SELECT avg(y.n::float8 * 1.25) FROM ~t y WHERE y.k = x.k)'),
	(3, 'SELECT count(*), sum(id) FROM ~t x WHERE n > (SELECT avg(y.n::float8 * y.r) FROM ~t y WHERE y.k = x.k)'),
	(4, 'SELECT count(*), sum(id) FROM ~t x WHERE n > (SELECT max(y.s::float8 * 2.5 - 1) FROM ~t y WHERE y.k = x.k)'),
	(5, 'SELECT count(*), sum(id) FROM ~t x WHERE u > (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY y.u) FROM ~t y WHERE y.k = x.k)'),
	(6, 'SELECT count(*), sum(id) FROM ~t x WHERE u > (SELECT avg(y.n) / nullif(avg(y.s), 0) FROM ~t y WHERE y.k = x.k)'),
	(7, 'SELECT count(*) FROM ~t x WHERE (SELECT max(y.ts) - min(y.ts) FROM ~t y WHERE y.k = x.k AND y.s % 5 = x.s % 5) > interval ''600 days'''),
	(8, 'SELECT count(*) FROM ~t x WHERE (SELECT max(y.tz)::date - min(y.tz)::date FROM ~t y WHERE y.k = x.k AND y.s = x.s) > 200 AND n > 3'),
	(9, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE (y.tz AT TIME ZONE ''Europe/Zurich'')::date = (x.tz AT TIME ZONE ''Europe/Zurich'')::date)'),
	(10, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE extract(hour FROM y.tz) = extract(hour FROM x.tz))'),
	(11, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE date_trunc(''week'', y.tz AT TIME ZONE ''Asia/Kolkata'') = date_trunc(''week'', x.tz AT TIME ZONE ''Asia/Kolkata''))'),
	(12, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE y.a = x.a)'),
	(13, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE y.b = x.b)'),
	(14, 'SELECT count(*) FROM ~t x WHERE m > (SELECT avg(y.m::numeric)::money FROM ~t y WHERE y.k = x.k)'),
	(15, 'SELECT count(*) FROM ~t x WHERE n > (SELECT avg(y.n) FROM ~t y WHERE network(y.ip) = network(x.ip))');

CREATE FUNCTION check_statements(ids int[]) RETURNS TABLE (statement int, same boolean, result text, joined boolean) LANGUAGE plpgsql AS $$
DECLARE
	s record;
	own text;
	line text;
BEGIN
	FOR s IN SELECT * FROM statements WHERE ids IS NULL OR id = ANY (ids) ORDER BY id LOOP
		statement := s.id;
		joined := true;
		BEGIN
			EXECUTE format('SELECT x::text FROM (%s) x', replace(s.query, '~', 'h_')) INTO result;
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE;
		END;
		BEGIN
			EXECUTE format('SELECT x::text FROM (%s) x', replace(s.query, '~', '')) INTO own;
		EXCEPTION WHEN OTHERS THEN
			own := SQLSTATE;
		END;
		same := own IS NOT DISTINCT FROM result;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || replace(s.query, '~', '') LOOP
			joined := joined AND line !~ 'Not Pushed Down: subquery';
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM check_statements(NULL);

-- infinite times and numbers that are no doubles: of a group that some row asks for, an error as before
INSERT INTO t (id, k, n, u, ts, tz, s) VALUES (5001, 77, 1, '1e-300', 'infinity', 'infinity', 1), (5002, 77, 2, 5, '2020-01-01', '2020-01-01', 2);
INSERT INTO h_t (id, k, n, u, ts, tz, s) VALUES (5001, 77, 1, '1e-300', 'infinity', 'infinity', 1), (5002, 77, 2, 5, '2020-01-01', '2020-01-01', 2);
SELECT statement, same, CASE WHEN result !~ '^\(' THEN result END AS error, joined FROM check_statements('{5, 7, 8, 9, 10, 11}');
INSERT INTO t (id, k, n, u) VALUES (5003, 77, 3, '1e400');
INSERT INTO h_t (id, k, n, u) VALUES (5003, 77, 3, '1e400');
SELECT statement, same, CASE WHEN result !~ '^\(' THEN result END AS error, joined FROM check_statements('{1, 2, 3, 5, 6}');

-- of a group that no row asks for, none
UPDATE statements SET query = query || ' AND x.k < 13' WHERE id IN (5, 7, 8);
SELECT statement, same, CASE WHEN result !~ '^\(' THEN result END AS error, joined FROM check_statements('{5, 7, 8}');
-- a zone that there is not
SELECT count(*) FROM t x WHERE n > (SELECT avg(y.n) FROM t y WHERE (y.tz AT TIME ZONE 'Mars/Base')::date = x.ts::date);
DROP SCHEMA subquery_errors CASCADE;
