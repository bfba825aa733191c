-- Correlated subqueries that are compared with sums of columns and constants, which are errors at the ends of a
-- type, and those whose only row no index tells: joins, and executed for the rows for which they must be.
CREATE SCHEMA subquery_within;
SET search_path = subquery_within, public;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE read (dev int, n int, big int8, small int2, ts timestamp, d date, v float8, x numeric, t text) USING gpucol;
INSERT INTO read SELECT i % 20, i / 20, i / 20, i / 20, timestamp '2024-01-01' + i / 20 * interval '1 minute', date '2024-01-01' + i / 20,
	CASE WHEN i % 31 = 0 THEN 'NaN' WHEN i % 30 = 0 THEN '-0' ELSE (i % 13)::float8 END, i % 17 / 10.0, CASE WHEN i % 9 > 0 THEN 't' || i % 40 END
	FROM generate_series(0, 599) i;
INSERT INTO read VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (21, 5, NULL, NULL, NULL, NULL, 1, 1, 't'), (NULL, 4, 4, 4, NULL, NULL, 5, 5, '');
INSERT INTO read VALUES (22, 2147483647, 9223372036854775807, 32767, 'infinity', 'infinity', 'infinity', 1.500, 'last'),
	(22, 2147483646, 9223372036854775806, 32766, '2024-01-01', '2024-01-01', '-infinity', 1.5, 'before');
CREATE TABLE nothing (LIKE read) USING gpucol;
ANALYZE read, nothing;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; way text := 'executed'; n int; rows int;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Join: ' THEN way := 'joined'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE want AS ' || query;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO n FROM ((SELECT got::text FROM got EXCEPT ALL SELECT want::text FROM want)
		UNION ALL (SELECT want::text FROM want EXCEPT ALL SELECT got::text FROM got)) x;
	SELECT count(*) INTO rows FROM got;
	DROP TABLE got, want;
	RETURN format('%s, %s rows, %s differences', way, rows, n);
EXCEPTION WHEN numeric_value_out_of_range OR datetime_field_overflow OR cardinality_violation THEN
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	RETURN way || ', error: ' || SQLERRM;
END
$$;
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT s.dev, s.n, (SELECT max(p.v) FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM read s'),
	('SELECT s.dev, s.n, (SELECT count(*) FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM read s'),
	('SELECT s.dev, count(*) FROM read s WHERE s.v > (SELECT max(p.v) FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) GROUP BY s.dev'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.n - 1 = s.n) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND s.n + 1 = p.n) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND s.n + 1 = p.n) FROM read s WHERE s.dev <> 22'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND s.n + 2000000000 = p.n) FROM read s WHERE s.dev <> 22'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.big = s.big - 2) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.big = s.big + 2) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.small = s.small - 1::int2) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.n = s.small - 1) FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.ts = s.ts - interval ''1 minute'') FROM read s'),
	('SELECT s.dev, s.n, (SELECT min(p.x) FROM read p WHERE p.dev = s.dev AND p.ts = s.ts + interval ''1 month 3 days'') FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.ts = s.ts - interval ''9000 years'') FROM read s'),
	('SELECT s.dev, s.n, (SELECT sum(p.x) FROM read p WHERE p.dev = s.dev AND p.d = s.d - 7) FROM read s'),
	('SELECT s.dev, s.n, (SELECT p.v FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM read s'),
	('SELECT s.dev, s.n, (SELECT p.x * 2 FROM read p WHERE p.dev = s.dev AND p.d = s.d - 1) FROM read s'),
	('SELECT s.dev, s.n, (SELECT p.t FROM read p WHERE p.dev = s.dev AND p.n = s.n) FROM read s'),
	('SELECT s.dev, s.n, (SELECT coalesce(p.t, ''none'') FROM read p WHERE p.dev = s.dev AND p.n = s.n - 5) FROM read s'),
	('SELECT s.dev, count(*) FROM read s WHERE s.v > (SELECT p.v FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) GROUP BY s.dev'),
	('SELECT s.dev, s.n, (SELECT p.v FROM read p WHERE p.dev = s.dev) FROM read s'),
	('SELECT s.dev, s.n, (SELECT p.v FROM read p WHERE p.dev = s.dev) FROM read s WHERE s.dev > 20'),
	('SELECT s.dev, s.n, (SELECT p.v FROM read p WHERE p.dev = s.dev) FROM read s WHERE s.dev = 21'),
	('SELECT s.dev, s.n, (SELECT p.v FROM nothing p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM read s'),
	('SELECT s.dev, (SELECT p.v FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM nothing s');
SELECT query, compare(query) FROM tried;
-- the least integer itself
INSERT INTO read VALUES (23, -2147483648, 1, 1, NULL, NULL, 2, 3, 'least');
SELECT compare(query) FROM tried WHERE query ~ 'p.n = s.n - 1' AND query !~ 'nothing';
SELECT compare('SELECT s.dev, s.n, (SELECT max(p.v) FROM read p WHERE p.dev = s.dev AND p.n = s.n - 1) FROM read s WHERE s.dev < 23');
-- changed rows
CREATE TABLE copied AS SELECT * FROM read;
UPDATE read SET v = (SELECT p.v FROM read p WHERE p.dev = read.dev AND p.n = read.n - 1) WHERE n > -2147483648;
SET gpucol.enabled = off;
UPDATE copied SET v = (SELECT p.v FROM copied p WHERE p.dev = copied.dev AND p.n = copied.n - 1) WHERE n > -2147483648;
SELECT count(*) FROM (SELECT read::text FROM read EXCEPT ALL SELECT copied::text FROM copied) x;
RESET gpucol.enabled;
-- the result of a prepared statement has the type that it was announced with
CREATE TABLE priced USING gpucol AS SELECT i AS k, (i * 1.25)::numeric(9,2) AS p, ('c' || i % 7)::varchar(5) AS c FROM generate_series(1, 3000) i;
ANALYZE priced;
PREPARE prices AS SELECT a.k, (SELECT b.p FROM priced b WHERE b.k = a.k + 1 AND b.p > 0) AS next, (SELECT b.c FROM priced b WHERE b.k = a.k - 1) AS before FROM priced a ORDER BY 2 DESC LIMIT 3;
EXECUTE prices;
SET client_min_messages = warning;
DROP SCHEMA subquery_within CASCADE;
