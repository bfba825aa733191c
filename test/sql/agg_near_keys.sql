-- Groups of several keys of few values, which are found by address; fields of times whose quotients all rows share; and
-- squares of floats.
CREATE SCHEMA agg_near_keys;
SET search_path = agg_near_keys, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.max_cpu_threads = 2;
SET gpucol.segment_rows = 8192;

CREATE TABLE h (i int, a smallint, b bigint, c numeric(6,2), bo bool, t text, d date, ts timestamp, f float8);
INSERT INTO h SELECT x, x % 5, x / 7000, (x * 37 % 90) / 100.0, CASE WHEN x % 3 > 0 THEN x % 2 = 0 END, 't' || x % 3,
	CASE WHEN x % 31 > 0 THEN date '1999-11-20' + x / 50 END, CASE WHEN x % 41 > 0 THEN timestamp '1999-10-30 23:00' + x * interval '29 min 7.1 s' END,
	(x * 7919 % 10007 - 5000) / 7.0 FROM generate_series(1, 30000) x;
INSERT INTO h SELECT NULL, CASE WHEN x % 2 = 0 THEN x END, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(1, 100) x;
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g SELECT * FROM h;
VACUUM ANALYZE g;
-- values at the ends, rows that are not packed, and deleted ones
INSERT INTO h VALUES (-1, -32768, -9223372036854775808, -9999.99, true, '', '4713-01-01 BC', '4713-01-01 BC', 0),
	(-2, 32767, 9223372036854775807, 9999.99, false, NULL, '294276-12-31', '294276-12-31 23:59:59.999999', -1e-170), (-3, 0, 0, 0, NULL, 't0', '0001-12-31 BC', '0001-01-01 BC', 1e154);
INSERT INTO g SELECT * FROM h WHERE i < 0;
DELETE FROM h WHERE i % 13 = 4;
DELETE FROM g WHERE i % 13 = 4;

CREATE FUNCTION rows_of(query text, pushdown text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	PERFORM set_config('gpucol.pushdown', pushdown, true);
	EXECUTE 'SELECT array_agg(r::text ORDER BY r::text COLLATE "C") FROM (' || query || ') r' INTO result;
	RETURN result;
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN ARRAY[SQLSTATE, SQLERRM];
END $$;
CREATE FUNCTION same(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	heap text[] := rows_of(replace(query, '$', 'h'), 'allow');
	result boolean := true;
BEGIN
	FOR threads IN 1 .. 2 LOOP
		PERFORM set_config('gpucol.cpu_threads', threads::text, true);
		result := result AND rows_of(replace(query, '$', 'g'), 'require') IS NOT DISTINCT FROM heap;
	END LOOP;
	RETURN result;
END $$;

SELECT q, same(q) FROM unnest(ARRAY[
	'SELECT a, bo, count(*), sum(i) FROM $ GROUP BY 1, 2',
	'SELECT a, b, count(*), sum(i) FROM $ GROUP BY 1, 2',
	'SELECT a, c, bo, count(*), min(i), max(b) FROM $ GROUP BY 1, 2, 3',
	'SELECT a % 3, b % 4, i % 5, bo, c * 2, count(*) FROM $ WHERE b < 1000 GROUP BY 1, 2, 3, 4, 5',
	'SELECT a, t, count(*) FROM $ GROUP BY 1, 2',
	'SELECT i % 170, i % 190, count(*) FROM $ GROUP BY 1, 2',
	'SELECT i / 3 % 100, i / 5 % 100, sum(b) FROM $ WHERE i > 0 GROUP BY 1, 2',
	'SELECT i / 1000, a % 2, count(*), count(DISTINCT c), sum(f::numeric(8,2)) FROM $ GROUP BY 1, 2',
	'SELECT d, a, count(*) FROM $ GROUP BY 1, 2',
	'SELECT extract(year FROM ts), extract(month FROM ts), count(*), sum(i) FROM $ GROUP BY 1, 2',
	'SELECT extract(year FROM ts), extract(month FROM ts), extract(day FROM ts), count(*) FROM $ GROUP BY 1, 2, 3',
	'SELECT extract(hour FROM ts), extract(minute FROM ts), count(*) FROM $ GROUP BY 1, 2',
	'SELECT extract(isoyear FROM d), extract(week FROM d), extract(isodow FROM d), count(*) FROM $ GROUP BY 1, 2, 3',
	'SELECT date_part(''year'', d), date_part(''quarter'', d), bo, count(*) FROM $ GROUP BY 1, 2, 3',
	'SELECT extract(century FROM ts), extract(decade FROM ts), extract(millennium FROM ts), extract(doy FROM ts), count(*) FROM $ GROUP BY 1, 2, 3, 4',
	'SELECT date_trunc(''month'', ts), date_trunc(''year'', d::timestamp), count(*) FROM $ GROUP BY 1, 2',
	'SELECT count(*), min(extract(year FROM ts)), max(extract(month FROM ts)), max(extract(epoch FROM ts)) FROM $ WHERE i > 0',
	'SELECT i FROM $ WHERE extract(year FROM d) = 2000 AND extract(month FROM d) = 2 AND extract(day FROM d) > 27',
	'SELECT extract(year FROM ts), a, count(*) FROM $ WHERE i < 0 OR i < 20 GROUP BY 1, 2',
	'SELECT i % 7, (i + 21) % 7, i / 50000, (b - 3) % 100000, (b - 3) / 100000, count(*) FROM $ WHERE b BETWEEN 0 AND 4 GROUP BY 1, 2, 3, 4, 5',
	'SELECT (b - 5) % 3, (b - 5) / 3, (1 - b) % 10, count(*) FROM $ WHERE b BETWEEN 0 AND 4 GROUP BY 1, 2, 3']) q;
-- an infinite time has an infinite year, of which no engine has a numeric
INSERT INTO h VALUES (-4, 1, 1, 1, true, 't1', 'infinity', '-infinity', 1);
INSERT INTO g VALUES (-4, 1, 1, 1, true, 't1', 'infinity', '-infinity', 1);
VACUUM g;
SELECT q, same(q) FROM unnest(ARRAY[
	'SELECT extract(year FROM ts), extract(month FROM ts), count(*), sum(i) FROM $ GROUP BY 1, 2',
	'SELECT extract(isoyear FROM d), extract(week FROM d), count(*) FROM $ GROUP BY 1, 2',
	'SELECT date_part(''year'', d), date_part(''month'', d), count(*) FROM $ GROUP BY 1, 2',
	'SELECT extract(dow FROM ts), extract(hour FROM ts), count(*) FROM $ GROUP BY 1, 2',
	'SELECT max(extract(year FROM ts)), min(extract(epoch FROM d)), count(*) FROM $']) q;

-- squares to the last bit, and their errors
CREATE TABLE hf (i int, x float8);
INSERT INTO hf SELECT k, sin(k) * power(10::float8, (k % 300 - 150)) FROM generate_series(1, 40000) k;
INSERT INTO hf VALUES (0, NULL), (-1, 0), (-2, '-0'), (-3, 1), (-4, 2), (-5, 'infinity'), (-6, '-infinity'), (-7, 'NaN'), (-8, 1.4142135623730951), (-9, 3e-154), (-10, 1.3e154),
	(-11, 1.0000000000000002), (-12, 0.9999999999999999), (-13, 94906265.62425156), (-14, 1e-155), (-15, 134217729), (-16, 134217728.5);
CREATE TABLE gf USING gpucol AS SELECT * FROM hf;
SELECT count(*), count(DISTINCT x ^ 2) > 39000 AS many, bool_and(s = x ^ 2 OR s IS NULL) FROM (SELECT x, x ^ 2 AS s FROM gf) q;
SET gpucol.pushdown = require;
CREATE TEMP TABLE ours AS SELECT i, float8send(s) AS bits FROM (SELECT i, max(x ^ 2) s FROM gf GROUP BY i) q;
CREATE TEMP TABLE sums AS SELECT i % 100 k, min(x ^ 2 + i ^ 2) lo, max(power(x, 2)) hi FROM gf WHERE i > 0 GROUP BY 1;
SET gpucol.pushdown = allow;
SELECT count(*), count(o.bits) FROM ours o JOIN hf USING (i) WHERE o.bits IS DISTINCT FROM float8send(hf.x ^ 2) AND hf.x <> 'NaN';
SELECT count(*) FROM (SELECT i % 100 k, min(x ^ 2 + i ^ 2) lo, max(power(x, 2)) hi FROM hf WHERE i > 0 GROUP BY 1) h JOIN sums s USING (k)
	WHERE float8send(h.lo) <> float8send(s.lo) OR float8send(h.hi) <> float8send(s.hi);
INSERT INTO gf VALUES (-20, 1e155), (-21, 1e-170);
SELECT max(x ^ 2) FROM gf WHERE i <> -21;
SELECT max(x ^ 2) FROM gf WHERE i <> -20;
SELECT count(*) FROM gf WHERE i <> -20 AND CASE WHEN i < -10 THEN false ELSE x ^ 2 > 1 END;

SET client_min_messages = warning;
DROP SCHEMA agg_near_keys CASCADE;
