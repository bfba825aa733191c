--
-- Floats as numerics of as many digits as they have, in engines; and keys of groups that carry their scale.
--
SET client_min_messages = warning;
CREATE SCHEMA numeric_floats;
SET search_path = numeric_floats, public;
\set node 'Custom Scan (GpucolAgg'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all
SET gpucol.segment_rows = 2048;
SELECT setseed(0.75);
CREATE TABLE t (id int, k int, f float8, g float4, n numeric(10,2), m numeric(8,3)) USING gpucol;
INSERT INTO t SELECT i, i % 7, CASE i % 9 WHEN 0 THEN i / 8.0 WHEN 1 THEN random() * 10.0 ^ (i % 41 - 20) WHEN 2 THEN -random() WHEN 3 THEN (i * 7919 % 100003) / 100.0 WHEN 4 THEN 10.0 ^ (i % 31 - 15) WHEN 5 THEN i * 1e10 + 0.5
	WHEN 6 THEN (i + 0.5) * 1e-15 + 1 WHEN 7 THEN 1e15 * random() ELSE 0.1 * (i % 100) END, (random() - 0.5) * 10.0 ^ (i % 13 - 6), (i * 7919 % 10007) / 100.0, (i % 50 + 1) / 8.0 FROM generate_series(1, 6000) i;
VACUUM t;
DELETE FROM t WHERE id % 13 = 5;
INSERT INTO t VALUES (0, NULL, NULL, NULL, NULL, NULL), (-1, 1, 0, 0, 0, 1), (-2, 1, '-0', '-0', 1, 1), (-3, 2, 999999999999999.5, 999999.5, 1, 2), (-4, 2, 999999999999999.4, 999999.4, 2, 4), (-5, 3, 0.1 + 0.2, 0.3, 3, 3),
	(-6, 3, 123456789012345.5, 1234565, 3, 9), (-7, 3, 1e22, 1e20, 10, 30), (-8, 3, 1.5e-20, 1.5e-10, 10, 20), (-9, 4, 2 ^ 60, 16777217, 1, 7);
ANALYZE t;
-- each value, least and greatest, sums, conditions, keys
SELECT differ(q) FROM unnest(ARRAY['f::numeric', 'g::numeric', 'f::numeric * n', 'f::numeric + m', 'greatest(n, f::numeric)', 'abs(f::numeric)', 'coalesce(f::numeric, n)', '-g::numeric', 'n / m', '(f::numeric / m)', 'round(f::numeric, 3)', 'sqrt(abs(g::numeric))', 'ln(n + 1)', 'n * m / 7', 'CASE WHEN k > 2 THEN n ELSE f::numeric END', 'trunc(f::numeric)', 'n % m']) f,
	LATERAL unnest(ARRAY[format('SELECT id, sum(%s), min(%1$s) FROM t GROUP BY id', f), format('SELECT k, sum(%s), max(%1$s), avg(%1$s) FROM t GROUP BY k', f), format('SELECT count(*), sum(id) FROM t WHERE %s > 1.5', f), format('SELECT max(%s), min(%1$s) FROM t WHERE id < 0', f),
	format('SELECT (%s)::float8 AS x, count(*), sum(id) FROM t GROUP BY %1$s', f), format('SELECT k, (%s) * 0 = 0 AS x, count(*), sum(n) FROM t GROUP BY k, %1$s', f), format('SELECT trim_scale(%s) AS x, count(*) AS c, sum(id) FROM t GROUP BY %1$s ORDER BY %1$s DESC LIMIT 7', f),
	format('SELECT trim_scale(%s) AS x, count(*) AS c FROM t GROUP BY %1$s HAVING %1$s > 3 AND count(*) > 1', f), format('SELECT count(*), sum(x), max(c) FROM (SELECT %s AS x, count(*) AS c FROM t GROUP BY 1) y', f)]) q WHERE differ(q) IS NOT NULL;
-- groups of equal values show one of them
SELECT k, f::numeric AS x, count(*) FROM t WHERE id < 0 GROUP BY k, x ORDER BY k, x;
SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT greatest(n, f::numeric), count(*) FROM t GROUP BY 1;
RESET gpucol.pushdown;
-- what is no number, or has too many digits
INSERT INTO t VALUES (-20, 1, 'NaN', 'NaN', 1, 1), (-21, 1, 'Infinity', '-Infinity', 1, 1), (-22, 1, 1e300, 1e-38, 1, 1), (-23, 1, 1e-300, 3e38, 1, 1), (-24, 1, 5e-324, 1e-45, 1, 1);
SELECT differ(q) FROM unnest(ARRAY['SELECT sum(f::numeric) FROM t', 'SELECT id, max(g::numeric) FROM t WHERE id < -19 GROUP BY id', 'SELECT f::numeric, count(*) FROM t WHERE id < -19 GROUP BY 1', 'SELECT sum(g::numeric) FROM t WHERE id IN (-22, -24)', 'SELECT count(*) FROM t WHERE f::numeric > 1e299', 'SELECT sum(CASE WHEN id > 0 THEN f::numeric END) FROM t']) q WHERE differ(q) IS NOT NULL;
DROP SCHEMA numeric_floats CASCADE;
