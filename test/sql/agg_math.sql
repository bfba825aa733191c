--
-- Functions of floats and bits of integers: PostgreSQL's results and errors, in conditions,
-- keys and arguments.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_math;
SET search_path = agg_math, public;

\set node 'Custom Scan (Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE packed (id int, s int2, i int, b int8, f float8, g float4) USING gpucol;
INSERT INTO packed SELECT i, (i * 7919 % 65536 - 32768)::int2, (i::int8 * 2654435761 % 4294967296 - 2147483648)::int,
	i::int8 * 3037000499 * (CASE i % 2 WHEN 0 THEN -1 ELSE 1 END), CASE i % 400 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity'
	WHEN 3 THEN '-Infinity' WHEN 4 THEN -0.0 WHEN 5 THEN 1e-308 WHEN 6 THEN 1e308 WHEN 7 THEN 0.5 WHEN 8 THEN -1 WHEN 9 THEN 1
	WHEN 10 THEN NULL WHEN 11 THEN 2.5 WHEN 12 THEN -2.5 WHEN 13 THEN 709.9 WHEN 14 THEN -746 ELSE (i * 37 % 2003 - 1000) / 7.0 END,
	(i * 37 % 2003 - 1000) / 7.0 FROM generate_series(1, 3000) i;
INSERT INTO packed VALUES (3001, -32768, -2147483648, -9223372036854775808, 0, 0), (3002, 32767, 2147483647, 9223372036854775807, NULL, NULL);
ANALYZE packed;

-- each function over every value, over those of a range, and as a condition and a key
SELECT differ(q) FROM unnest(ARRAY['ceil', 'ceiling', 'floor', 'round', 'trunc', 'sign', 'sqrt', 'cbrt', 'exp', 'ln', 'log', 'log10', 'degrees',
	'radians', 'sin', 'cos', 'tan', 'cot', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'dsqrt', 'dexp']) f,
	LATERAL unnest(ARRAY[format('SELECT id, %s(f) AS r FROM packed', f), format('SELECT max(%s(f)), min(%s(g)) FROM packed WHERE f > 0 AND f < 100', f, f),
	format('SELECT min(%s(f)) + 0, max(%s(-f)) + 0 FROM packed WHERE f > -1 AND f < 1 AND f <> 0', f, f),
	format('SELECT count(*), sum(id) FROM packed WHERE abs(f) <= 1 AND %s(abs(f)) > 0.5', f), format('SELECT count(%s(i)) FROM packed', f),
	format('SELECT id FROM packed WHERE f BETWEEN 1 AND 50 AND %s(f / 100) > 0.1', f),
	format('SELECT floor(%s(abs(f) / 200)) AS k, count(*) FROM packed WHERE abs(f) < 150 GROUP BY 1', f),
	format('SELECT sum(CASE WHEN f > 1 AND f < 100 THEN %s(f / 101) END) IS NULL FROM packed', f)]) q
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['power(f, g)', 'power(g, f)', 'f ^ 2', 'f ^ 0.5', 'power(f, -1)', 'power(2, f)', 'power(f, 3)', 'atan2(f, g)', 'atan2(g, f)',
	'pow(abs(f), g)', 'power(abs(f), 1e10)', '1 ^ f', 'f ^ ''NaN''', 'f ^ ''Infinity''', 'f ^ ''-Infinity''', '0 ^ f']) e,
	LATERAL unnest(ARRAY[format('SELECT id, %s AS r FROM packed', e), format('SELECT max(%s), count(*) FROM packed WHERE f > 0 AND f < 100', e),
	format('SELECT max(%s), min(%s) FROM packed WHERE abs(f) = 1 OR f = 0 OR f = 2.5', e, e),
	format('SELECT id, %s AS r FROM packed WHERE f = ''Infinity'' OR f = ''-Infinity'' OR f = ''NaN''', e)]) q
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['&', '|', '#', '<<', '>>']) o, unnest(ARRAY['s', 'i', 'b', 's + 1::int2']) x, unnest(ARRAY['7', '33', '-1', 'i', 's']) y,
	LATERAL unnest(ARRAY[format('SELECT id, %s %s %s AS r FROM packed', x, o, y), format('SELECT %s %s %s AS k, count(*) FROM packed WHERE (%s %s 3) <> 0 GROUP BY 1', x, o, y, x, o)]) q
WHERE (o NOT IN ('<<', '>>') OR y <> 'b') AND (x <> 's + 1::int2' OR y = '7')
	AND differ(q) IS NOT NULL AND differ(q) NOT LIKE '%operator does not exist%';
SELECT differ('SELECT bit_and(i & 255), bit_or(b # 5), bit_xor(i), sum(i & 1), count(*) FROM packed WHERE s & 3 = 1');
SELECT differ('SELECT i::real AS x, s::real * 2 AS y, count(*), min(b::real), max(b::real) FROM packed WHERE b::real <> i::real GROUP BY 1, 2');

-- conditions before hide errors
SET gpucol.pushdown = require;
SELECT count(*) FROM packed WHERE f > 0 AND ln(f) < 1;
SELECT count(*) FROM packed WHERE ln(f) < 1;
SELECT count(*) FROM packed WHERE CASE WHEN f > 0 THEN sqrt(f) < 2 END;
EXPLAIN (COSTS OFF) SELECT floor(ln(abs(f) + 1)), sum(sqrt(abs(f))), bit_and(i & 7) FROM packed WHERE sin(f) > 0.5 AND i & 4 = 4 GROUP BY 1;
RESET gpucol.pushdown;
-- sums of finite values that are not finite, in one group and in some, within a vector and across vectors
SELECT differ(q) FROM unnest(ARRAY['SELECT sum(f * 1e306) FROM packed WHERE f BETWEEN 50 AND 1e300', 'SELECT id % 3 AS k, sum(f * 1e306) FROM packed WHERE f BETWEEN 50 AND 1e300 GROUP BY 1',
	'SELECT sum(1e308::float8) FROM packed WHERE id % 1024 = 7', 'SELECT id % 1024 AS k, sum(1e308::float8) FROM packed GROUP BY 1', 'SELECT avg(f * 1e306) FROM packed WHERE f BETWEEN 50 AND 1e300',
	'SELECT sum(CASE WHEN id = 1 THEN ''Infinity'' ELSE 1e308 END::float8) FROM packed', 'SELECT sum(CASE WHEN id = 1 THEN ''NaN'' ELSE 1e308 END::float8) FROM packed',
	'SELECT sum(CASE WHEN id = 3 THEN ''Infinity'' ELSE 1e308 END::float8) FROM packed']) q WHERE differ(q) IS NOT NULL;
-- roots, logarithms and powers of numerics, digit for digit: many values, digits, magnitudes, errors
CREATE TABLE numerics (id int, k int, n numeric, d numeric(12,4)) USING gpucol;
INSERT INTO numerics SELECT i, i % 5, CASE i % 11 WHEN 0 THEN 10 ^ (i % 13 - 6) WHEN 1 THEN 1 + (i % 200 - 100) / 1000.0 WHEN 2 THEN (i * 7919 % 100003) / 7.0 WHEN 3 THEN i WHEN 4 THEN i * i / 4.0
	WHEN 5 THEN round(i / 3.0, i % 12) WHEN 6 THEN 1e-9 * i WHEN 7 THEN 1e20 + i WHEN 8 THEN (i % 90)::numeric + 0.25 WHEN 9 THEN trim_scale(i * 0.001) ELSE 123456789012345678901234567890123456789.5 * i END, (i * 7919 % 1000003) / 100.0 + 0.01
	FROM generate_series(1, 4000) i;
INSERT INTO numerics VALUES (0, 9, NULL, NULL);
ANALYZE numerics;
SELECT differ(q) FROM unnest(ARRAY['sqrt(n)', 'ln(n)', 'log(n)', 'log(2, n)', 'log(n + 0.5, 7)', 'log(1.5, d)', 'exp(n / 100000000)', 'exp(round(d / 1000, 5))', 'exp(-round(d / 500, 2))', 'exp(d % 7)', 'power(n, 0.5)', 'power(n, 2)', 'power(d, 3)', 'd ^ 1.7', 'power(d, -0.3)', 'power(1.01, id)',
	'power(d, k)', 'power(d, -k)', 'sqrt(d)', 'ln(d)', 'log(d)', 'sqrt(d * d)', 'exp(ln(d))', 'ln(n - 1)', 'sqrt(d - 1)', 'power(-d, 3)', 'power(-d, 0.5)', 'power(n - n, -1)', 'log(d - d, 3)', 'exp(n)']) f,
	LATERAL unnest(ARRAY[format('SELECT md5(array_agg(%s ORDER BY id)::text) FROM numerics WHERE n < 1e16 OR n > 1e31', f), format('SELECT k, sum(%s), min(%s) FROM numerics WHERE n < 1e16 GROUP BY k', f, f), format('SELECT %s AS x, count(*) FROM numerics WHERE d < 100 GROUP BY 1', f)]) q WHERE differ(q) IS NOT NULL;
SELECT differ('SELECT sum(ln(n)) FROM (SELECT ''NaN''::numeric AS n FROM numerics OFFSET 0) x', 'Custom Scan'), differ('SELECT sum(ln(CASE WHEN id = 5 THEN ''NaN'' ELSE n END)), max(exp(CASE WHEN id = 5 THEN ''Infinity'' ELSE d / 1000 END)) FROM numerics WHERE id < 10');
-- squares so near the middle of two results that digits decide which PostgreSQL's product has dropped
CREATE TABLE near_middle (p numeric(20,15)) USING gpucol;
INSERT INTO near_middle VALUES (0.000000686506418), (0.000000686426555), (0.000000686476512);
SELECT differ('SELECT power(p, 2), count(*) FROM near_middle GROUP BY 1'), differ('SELECT min(power(p, 2)), max(power(p, 2)) FROM near_middle WHERE p < 0.0000006865');
-- where PostgreSQL's estimate of a logarithm changes its number of digits
CREATE TABLE near_decade (id int, n numeric) USING gpucol;
INSERT INTO near_decade SELECT row_number() OVER (), round(v, s) FROM (SELECT trim_scale(exp(s * (10.0 ^ j)::numeric * (1 + i * e))) AS v FROM unnest('{1,-1}'::int[]) s, generate_series(-1, 1) j, generate_series(-9, 9) i, unnest('{0.0000001,0.00001,0.0002,0.003}'::numeric[]) e) x,
	unnest('{2,5,9,15,22}'::int[]) s WHERE round(v, s) > 0;
SELECT differ(q) FROM unnest(ARRAY['ln(n)', 'log(n)', 'log(3, n)', 'sqrt(n)', 'power(n, 0.7)']) f, LATERAL unnest(ARRAY[format('SELECT md5(array_agg(%s ORDER BY id)::text) FROM near_decade', f), format('SELECT sum(%s), count(DISTINCT %1$s) FROM near_decade', f)]) q
	WHERE differ(q) IS NOT NULL;
DROP SCHEMA agg_math CASCADE;
