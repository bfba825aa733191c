-- Correlated subqueries of sums of floats are joins; a group with floats that may overflow has its subquery executed.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET extra_float_digits = 0;
SET jit = off;
CREATE TABLE sf_h (id int, k int, f float8, r float4, g bool);
CREATE TABLE sf (LIKE sf_h) USING gpucol;
INSERT INTO sf_h SELECT i, CASE WHEN i % 61 = 0 THEN NULL ELSE i % 37 END, CASE WHEN i % 13 = 0 THEN NULL ELSE (i * 7 % 101) / 4.0 END,
	CASE WHEN i % 17 = 0 THEN NULL ELSE (i * 5 % 71) / 8.0 END, i % 3 = 0 FROM generate_series(1, 1000) i;
-- a group of its own each: NaN, infinities, both, none but NULL, one row, -0
INSERT INTO sf_h SELECT 10000 + i, 100 + i % 7, v, v::float4, true FROM
	(VALUES (0, 'NaN'::float8), (1, 'Infinity'), (2, '-Infinity'), (3, 'Infinity'), (3, '-Infinity'), (4, NULL), (5, 2.5), (6, '-0')) v(i, v);
INSERT INTO sf_h SELECT 20000 + i, 100 + i % 4, i, i, false FROM generate_series(0, 40) i;
INSERT INTO sf SELECT * FROM sf_h;
-- rows that are deleted, and late ones
DELETE FROM sf WHERE id % 29 = 0;
DELETE FROM sf_h WHERE id % 29 = 0;
VACUUM ANALYZE sf, sf_h;
INSERT INTO sf_h SELECT 30000 + i, i % 37, i / 4.0, i / 4.0, true FROM generate_series(1, 50) i;
INSERT INTO sf SELECT * FROM sf_h WHERE id > 30000;

EXPLAIN (COSTS OFF) SELECT count(*) FROM sf a WHERE f > (SELECT avg(f) FROM sf b WHERE b.k = a.k);

-- The same over both tables: what is different, or an error.
CREATE FUNCTION pg_temp.fallback(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Fallback:' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a text;
	b text;
BEGIN
	BEGIN
		SET LOCAL gpucol.pushdown = require;
		EXECUTE 'SELECT md5(coalesce(string_agg(s::text, '';'' ORDER BY s::text), '''')) || count(*) FROM (' || query || ') s' INTO a;
	EXCEPTION WHEN OTHERS THEN a := SQLSTATE || SQLERRM;
	END;
	SET LOCAL gpucol.pushdown = forbid;
	BEGIN
		EXECUTE 'SELECT md5(coalesce(string_agg(s::text, '';'' ORDER BY s::text), '''')) || count(*) FROM (' ||
			regexp_replace(query, '\ysf\y', 'sf_h', 'g') || ') s' INTO b;
	EXCEPTION WHEN OTHERS THEN b := SQLSTATE || SQLERRM;
	END;
	RETURN CASE WHEN a <> b THEN a || ' instead of ' || b WHEN a ~ '^[0-9A-Z]{5}[a-z]' THEN substr(a, 1, 5) ELSE 'same' END;
END $$;
CREATE TABLE sf_query (n int, query text);
INSERT INTO sf_query VALUES
	(1, 'SELECT count(*), sum(id) FROM sf a WHERE f > (SELECT avg(f) FROM sf b WHERE b.k = a.k)'),
	(2, 'SELECT id FROM sf a WHERE f >= (SELECT 0.5 * sum(f) FROM sf b WHERE b.k = a.k AND b.g)'),
	(3, 'SELECT id, round((SELECT stddev(f) FROM sf b WHERE b.k = a.k)::numeric, 6) FROM sf a WHERE id % 3 = 0'),
	(4, 'SELECT id, (SELECT sum(r) FROM sf b WHERE b.k = a.k) FROM sf a WHERE id % 5 = 0'),
	(5, 'SELECT sum(id) FROM sf a WHERE r < (SELECT avg(r) FROM sf b WHERE b.k = a.k)'),
	(6, 'SELECT sum(id) FROM sf a WHERE f < (SELECT avg(f) FILTER (WHERE b.g) + coalesce(sum(b.r), 1) FROM sf b WHERE b.k = a.k)'),
	(7, 'SELECT g, count(*) FROM sf a WHERE f < (SELECT variance(f) / count(*) FROM sf b WHERE b.k = a.k AND b.id < 700) GROUP BY g'),
	(8, 'SELECT count(*) FROM sf a WHERE (SELECT sum(DISTINCT f) FROM sf b WHERE b.k = a.k) > 300'),
	(9, 'SELECT count(*) FROM sf a WHERE f > (SELECT avg(f) FROM sf b WHERE b.k = a.k AND b.id < 0)'),
	(10, 'SELECT count(*) FROM sf a JOIN sf c ON c.id = a.id + 1 WHERE a.f > (SELECT avg(f) FROM sf b WHERE b.k = c.k)'),
	(11, 'SELECT count(*) FROM sf a WHERE id < 20 OR f > (SELECT avg(f) FROM sf b WHERE b.g)'),
	(12, 'SELECT count(*), sum(f) FROM sf a WHERE id > 40000 AND f > (SELECT avg(f) FROM sf b WHERE b.k = a.k)');
SELECT n, pg_temp.same(query) FROM sf_query ORDER BY n;

-- Large values of a group that no row asks for; of one that some do, with and without an overflow.
INSERT INTO sf_h VALUES (50001, 200, 1e308, 3e38, true), (50002, 200, 1e308, 3e38, true);
INSERT INTO sf SELECT * FROM sf_h WHERE id > 50000;
SELECT n, pg_temp.same(replace(query, 'WHERE ', 'WHERE a.id < 40000 AND ')) FROM sf_query WHERE n IN (1, 3, 5) ORDER BY n;
SELECT n, pg_temp.same(query) FROM sf_query WHERE n <> 11 ORDER BY n;
UPDATE sf SET f = -1e308, r = -3e38 WHERE id = 50002;
UPDATE sf_h SET f = -1e308, r = -3e38 WHERE id = 50002;
SELECT n, pg_temp.same(query) FROM sf_query WHERE n IN (2, 4, 7, 8) ORDER BY n;
SELECT pg_temp.same('SELECT count(*), sum(id) FROM sf a WHERE f >= (SELECT sum(f) FROM sf b WHERE b.k = a.k)');
SELECT pg_temp.fallback('SELECT count(*) FROM sf a WHERE id > 40000 AND f > (SELECT avg(f) FROM sf b WHERE b.k = a.k)');

-- What stays: functions of floats.
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM sf a WHERE f > (SELECT sum(sqrt(f)) FROM sf b WHERE b.k = a.k);

DROP TABLE sf, sf_h, sf_query;
