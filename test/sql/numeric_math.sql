--
-- Roots, logarithms and powers of numerics in engines: PostgreSQL's digits, scales and errors.
--
SET client_min_messages = warning;
CREATE SCHEMA numeric_math;
SET search_path = numeric_math, public;
\set node 'Custom Scan (GpucolAgg'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- who computed: the engine, PostgreSQL's functions fed with rows, or its whole plan
CREATE FUNCTION path(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN CASE WHEN plan LIKE '%Fallback%' THEN 'fallback' WHEN plan LIKE '%fed by rows%' THEN 'fed' WHEN plan LIKE '%GpucolAgg%' THEN 'engine' ELSE plan END;
END $$;
SET gpucol.segment_rows = 2048;
SET gpucol.cpu_threads = 4;
SELECT setseed(0.25);
-- many magnitudes and numbers of digits; packed rows, deleted ones, and rows of the delta
CREATE TABLE t (id int, k int, x numeric, d numeric(12,4), e numeric(10,6), near numeric(14,10), y numeric(6,3)) USING gpucol;
INSERT INTO t SELECT i, i % 17 - 8, round((random() * 10 ^ (random() * 8 - 3))::numeric, (random() * 8)::int) + 0.00001, round((random() * 100000)::numeric, 4) + 0.0001,
	random() * 40 - 20, 1 + (random() - 0.5) * 10 ^ -(random() * 8), random() * 6 - 3 FROM generate_series(1, 6000) i;
VACUUM t;
DELETE FROM t WHERE id % 11 = 3;
INSERT INTO t VALUES (0, 0, NULL, NULL, NULL, NULL, NULL), (-1, 1, 1, 1, 0, 1, 0), (-2, 2, 100, 10, 1, 1.1, 1), (-3, 3, 0.9, 0.01, -1, 0.9, 2), (-4, 0, 1.1, 2.7183, 10, 1.0000000001, -1),
	(-5, -1, 0.0001, 22026.4658, 0.000001, 0.9999999999, 0.5), (-6, -2, 1e17, 10000, -0.693147, 2, 3), (-7, 5, 0.1, 12345.1234, 9.21034, 0.5, -3);
ANALYZE t;
CREATE TABLE asked (f text);
INSERT INTO asked SELECT unnest(ARRAY['sqrt(x)', 'sqrt(d)', 'sqrt(d / 7)', 'sqrt(x * x)', 'ln(x)', 'ln(d)', 'ln(near)', 'log(x)', 'log(d)', 'log(near)', 'log(2, d)', 'log(1.5, x)', 'log(0.5, d)', 'log(1.01, near)', 'log(d + 1, x)',
	'exp(e)', 'exp(e / 3)', 'exp(y)', 'exp(-d / 5000)', 'exp(ln(d))', 'power(d, 2)', 'power(d, 3)', 'power(x, 0.5)', 'power(d, y)', 'power(near, e)', 'power(near, k)', 'power(-near, k)', 'power(1.0525, e)', 'power(d, -1)',
	'power(y - 4, k)', 'power(10.0, k)', 'power(d, 0)', 'd ^ 1.7', 'near ^ 50', 'ln(near) * 365', 'sqrt(abs(e)) * ln(d + 1)', 'round(exp(y), 3)', 'floor(ln(d))', 'CASE WHEN e > 0 THEN ln(e) END', 'sqrt(greatest(e, 0))']);
-- each value, as the sum and the least of a group of one; and sums of many
SELECT differ(q) FROM asked, LATERAL unnest(ARRAY[format('SELECT id, sum(%s), min(%1$s) FROM t GROUP BY id', f), format('SELECT k, count(%s), max(%1$s) FROM t WHERE id > 0 GROUP BY k', f), format('SELECT count(*), sum(id) FROM t WHERE %s > 1.5', f)]) q
	WHERE differ(q) IS NOT NULL;
SELECT f, path(format('SELECT id, sum(%s) FROM t GROUP BY id', f)) FROM asked WHERE path(format('SELECT id, sum(%s) FROM t GROUP BY id', f)) <> 'engine';
-- rows, of which PostgreSQL's expressions are computed with its digits, too
SELECT differ(q, 'GpucolScan') FROM asked, LATERAL unnest(ARRAY[format('SELECT id, %s AS r FROM t', f), format('SELECT id FROM t WHERE id > 0 AND abs(%s) > 1.25', f)]) q WHERE differ(q, 'GpucolScan') IS NOT NULL;
-- one thread, one row, none
SET gpucol.cpu_threads = 1;
SELECT differ(q) FROM asked, LATERAL unnest(ARRAY[format('SELECT sum(%s) FROM t', f), format('SELECT sum(%s), max(%1$s) FROM t WHERE id = 77', f), format('SELECT sum(%s) FROM t WHERE id = 3', f), format('SELECT avg(%s), stddev(%1$s) FROM t WHERE id < 300', f)]) q WHERE differ(q) IS NOT NULL;
RESET gpucol.cpu_threads;
SELECT differ(q) FROM unnest(ARRAY['SELECT min(ln(d)::float8), max(exp(e)::float8 * sqrt(abs(y))) FROM t', 'SELECT floor(ln(d)) AS x, count(*) FROM t GROUP BY 1', 'SELECT id, sum(sqrt(abs(y::float8)) * ln(d)) FROM t GROUP BY id']) q WHERE differ(q) IS NOT NULL;
-- errors, and those that conditions hide
SELECT differ(q) FROM unnest(ARRAY['ln(d - 1)', 'ln(d - d)', 'ln(-d)', 'log(d - d)', 'log(-d, 2)', 'log(1, d)', 'log(d - d, 2)', 'sqrt(e)', 'power(-d, 0.5)', 'power(d - d, -1)', 'power(d - d, -0.5)', 'power(d - d, 0)', 'power(d - d, 2)', 'power(d, 30000)', 'power(d + 2, 1e9)', 'exp(d * 100000)',
	'power(0.5, d * 1e6)', 'exp(-d * 100)', 'ln(x - x + 1)']) f, LATERAL unnest(ARRAY[format('SELECT sum(%s) FROM t', f), format('SELECT count(%s) FROM t WHERE id BETWEEN 50 AND 60', f), format('SELECT sum(CASE WHEN id < 0 THEN %s END) IS NULL FROM t WHERE id > 5', f)]) q WHERE differ(q) IS NOT NULL;
SET gpucol.pushdown = require;
SELECT sum(ln(e)) FROM t;
SELECT sum(sqrt(e)) FROM t;
SELECT sum(power(d - d, -1)) FROM t WHERE d > 1;
RESET gpucol.pushdown;
-- NaN, infinities, and more digits than engines compute with
CREATE TABLE odd (id int, n numeric) USING gpucol;
INSERT INTO odd VALUES (1, 'NaN'), (2, 'Infinity'), (3, '-Infinity'), (4, 0), (5, 1), (6, NULL), (7, 50.123456789012345), (8, 123456789012345678901234567890.12345), (9, 1e-30), (10, -2), (11, 0.1234567890123456789012345678901234567890), (12, 80);
SELECT differ(q) FROM unnest(ARRAY['sqrt(n)', 'ln(n)', 'log(n)', 'exp(n)', 'power(n, 2)', 'power(n, 1.5)', 'power(2, n)', 'log(3, n)', 'log(n, 3)']) f, LATERAL unnest(ARRAY[format('SELECT id, sum(%s) FROM odd WHERE id IN (1, 2, 7) GROUP BY id', f), format('SELECT id, sum(%s), min(%1$s) FROM odd WHERE n > 0 AND n < 60 GROUP BY id', f),
	format('SELECT sum(%s) FROM odd WHERE id IN (3, 4)', f), format('SELECT id, sum(%s) FROM odd WHERE id IN (8, 9, 11, 12) GROUP BY id', f), format('SELECT sum(%s) FROM odd WHERE id = 10', f)]) q WHERE differ(q) IS NOT NULL;
DROP SCHEMA numeric_math CASCADE;
