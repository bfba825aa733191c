--
-- Functions inside branches of CASE, AND, OR and COALESCE are called for the rows that take the branch.
--
SET client_min_messages = warning;
CREATE SCHEMA expr_branches;
SET search_path = expr_branches, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.engine = cpu;
SET gpucol.segment_rows = 8192;
CREATE TABLE packed (id int, k int, x float8, y float8) USING gpucol;
INSERT INTO packed SELECT i, CASE WHEN i % 37 > 0 THEN i * 7919 % 30 END, CASE WHEN i % 11 > 0 THEN i % 200 - 100 END, CASE i % 97 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN 'Infinity' ELSE i % 7 END
FROM generate_series(1, 20000) i;
ANALYZE packed;
INSERT INTO packed SELECT * FROM packed WHERE id <= 10;
DELETE FROM packed WHERE id % 1000 = 5;

-- Of rows that do not take a branch there is no error.
CREATE TABLE queries AS SELECT unnest(ARRAY[
	'SELECT min(CASE WHEN x > 0 THEN ln(x) WHEN x < 0 THEN sqrt(-x) END) FROM packed',
	'SELECT k, max(CASE WHEN x >= 0 THEN sqrt(x) ELSE exp(x / 10) END) FROM packed GROUP BY k',
	'SELECT k, count(*) FROM packed WHERE x > 0 AND ln(x) > 2 OR x < -90 AND sqrt(-x) < 9.7 GROUP BY k',
	'SELECT max(CASE WHEN k < 3 THEN CASE WHEN x > 0 THEN ln(x) + atan(y) ELSE cbrt(x) END WHEN k < 20 THEN sin(x) * cos(x) ELSE atan2(x, k) END) FROM packed',
	'SELECT max(coalesce(x, atan(k), 3)), count(CASE WHEN x > 0 AND power(x, -2) > 0.01 THEN 1 END) FROM packed',
	'SELECT max(atan(x)), max(CASE WHEN k > 5 THEN atan(x) END), max(CASE WHEN k IS NULL THEN sinh(x / 100) ELSE -1 END) FROM packed',
	'SELECT max(CASE WHEN k = 77 THEN ln(0 * x) END), max(CASE WHEN x IS NULL THEN 1 ELSE tanh(x) END) FROM packed',
	'SELECT max(CASE k ' || (SELECT string_agg(format('WHEN %s THEN %s(abs(x) * 0.01 + %s)', i, (ARRAY['sin', 'exp', 'sqrt', 'ln', 'atan', 'cbrt'])[1 + i % 6], i + 1), ' ') FROM generate_series(0, 29) i) || ' END) FROM packed'
	]) q;
SELECT count(*) FROM queries;
SELECT d FROM queries, differ(q) d WHERE d IS NOT NULL;
SELECT sum(CASE WHEN k >= 0 THEN ln(-1 - abs(x)) END) FROM packed;

-- EXPLAIN says how many rows that were.
CREATE FUNCTION branches(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Branches' THEN
			RETURN substring(line FROM 'Branches.*');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SELECT branches('SELECT sum(CASE WHEN id % 10 = 0 THEN sin(x) END) FROM packed');
SELECT branches('SELECT sum(CASE WHEN id % 10 = 0 THEN sin(x) WHEN id % 10 = 1 THEN cos(x) ELSE atan(x) END) FROM packed');
SELECT branches('SELECT sum(CASE WHEN id > 0 THEN sin(x) END) FROM packed');
SELECT branches('SELECT sum(sin(x)) FROM packed');

-- products and quotients that are zero: of zeros, or underflows
CREATE TABLE zeros (id int, x float8, y float8, r real) USING gpucol;
INSERT INTO zeros SELECT i, CASE i % 4 WHEN 0 THEN 0 WHEN 1 THEN '-0' WHEN 2 THEN 1e-200 ELSE i END, CASE i % 3 WHEN 0 THEN 1e-200 WHEN 1 THEN i ELSE 1e300 END, CASE i % 5 WHEN 0 THEN 0 ELSE 1e-30 END
FROM generate_series(1, 5000) i;
VACUUM ANALYZE zeros;
SELECT q, differ(q) FROM unnest(ARRAY['SELECT count(*), sum(x * 3), sum(x / 8), min(x * y) FROM zeros WHERE id % 4 <> 2', 'SELECT count(*), max(x / y) FROM zeros WHERE id % 4 < 2',
	'SELECT max(r * 2::real), max(r / 3::real) FROM zeros', 'SELECT max(CASE WHEN id % 4 < 2 THEN x * y ELSE 1 END) FROM zeros']) q WHERE differ(q) IS NOT NULL;
SELECT max(x * y) FROM zeros;
SELECT max(x / y) FROM zeros;
SELECT max(r * r) FROM zeros;
SELECT max(x / (x * 0)) FROM zeros;

-- truths of many operands
SELECT q, differ(q) FROM unnest(ARRAY['SELECT count(*) FROM zeros WHERE (x > 1 AND y < 2000 OR r = 0) AND NOT (x > y AND r > 0) OR x * 2 = y',
	'SELECT count(CASE WHEN x > 3 AND y > 2 AND id % 2 = 1 THEN 1 END), count(*) FILTER (WHERE x <> y OR r <> 0 OR id < 0) FROM zeros']) q WHERE differ(q) IS NOT NULL;

DROP SCHEMA expr_branches CASCADE;
