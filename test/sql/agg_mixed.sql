--
-- Aggregates of engines beside ones that are fed rows; percentiles and modes by places and counts; distinct
-- values and rows told apart by 64 bits.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_mixed;
SET search_path = agg_mixed, public;

\set node 'Aggregates: fed by rows'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 4096;
CREATE TABLE mixed (id int, k int, t text COLLATE "C", u text, a int2, b int, c int8, d numeric(12,2), n numeric, f float8, g float4,
	day date, at timestamp, yes bool) USING gpucol;
INSERT INTO mixed SELECT i, i % 7, CASE WHEN i % 11 > 0 THEN 'key ' || i % 203 END, 'u' || i % 5, (i % 100 - 50)::int2, i * 7919 % 20000,
	i::int8 * 3000000000, (i * 37 % 10000 - 5000) / 100.0, (i % 90)::numeric / CASE WHEN i % 2 = 0 THEN 4 ELSE 8 END,
	CASE WHEN i % 500 = 0 THEN 'NaN' WHEN i % 501 = 0 THEN '-Infinity' WHEN i % 502 = 0 THEN '-0' ELSE i * 7919 % 10007 / 9.0 END,
	i * 13 % 1009 / 9.0, date '2020-01-01' + i % 40, timestamp '2020-01-01' + i % 300 * interval '37 minutes', i % 3 = 0
	FROM generate_series(1, 12000) i;
DELETE FROM mixed WHERE id % 10 = 3;
INSERT INTO mixed (id, k, b, c, f, d) VALUES (90001, 1, 2147483647, 9223372036854775807, 'Infinity', 9999999999.99),
	(90002, 1, -2147483648, -9223372036854775808, -0.0, -9999999999.99), (90003, NULL, NULL, NULL, NULL, NULL), (90004, 99, NULL, NULL, NULL, NULL);
ANALYZE mixed;

-- deviations and products of floats, in the order of the table: PostgreSQL's to the last bit
SELECT differ(q) FROM unnest(ARRAY['true', 'f > 0 AND f < 1e9', 'f = f', 'id > 90002', 'false']) qual,
	unnest(ARRAY['stddev(f), variance(f) FILTER (WHERE yes), var_pop(g), stddev_pop(f), stddev_samp(f + b), avg(f), sum(f), min(f), max(g)',
	'corr(f, b), covar_pop(f, g), covar_samp(b, a), regr_count(f, b), regr_avgx(f, b), regr_avgy(f, b) FILTER (WHERE yes)',
	'regr_sxx(g, b), regr_syy(g, b), regr_sxy(g, b), regr_slope(b, g), regr_intercept(g, a), regr_r2(g, c), corr(d, n)',
	'variance(f * 1e160)', 'corr(f * 1e300, b)', 'count(t), count(u) FILTER (WHERE yes), min(t), max(u)']) agg,
	format('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY b), %s FROM mixed WHERE %s', agg, qual) q WHERE differ(q) IS NOT NULL;
-- by group, where PostgreSQL sorts the rows: the same as its functions, which are fed the same rows
CREATE AGGREGATE own_stddev(float8) (SFUNC = float8_accum, STYPE = float8[], FINALFUNC = float8_stddev_samp, INITCOND = '{0,0,0}');
CREATE AGGREGATE own_corr(float8, float8) (SFUNC = float8_regr_accum, STYPE = float8[], FINALFUNC = float8_corr, INITCOND = '{0,0,0,0,0,0}');
CREATE AGGREGATE own_sxy(float8, float8) (SFUNC = float8_regr_accum, STYPE = float8[], FINALFUNC = float8_regr_sxy, INITCOND = '{0,0,0,0,0,0}');
CREATE AGGREGATE own_sum(float8) (SFUNC = float8pl, STYPE = float8);
SET gpucol.pushdown = require;
SELECT set, count(*), count(*) FILTER (WHERE ours = own) AS same FROM (SELECT grouping(k, yes, id / 30) AS set,
	ROW(stddev(f), stddev(g) FILTER (WHERE yes), corr(f, b), regr_sxy(g, b), regr_sxy(c, d) FILTER (WHERE yes), sum(f))::text AS ours,
	ROW(own_stddev(f), own_stddev(g) FILTER (WHERE yes), own_corr(f, b), own_sxy(g, b), own_sxy(c, d) FILTER (WHERE yes), own_sum(f))::text AS own
	FROM mixed GROUP BY GROUPING SETS ((k), (k, yes), (id / 30), ())) x GROUP BY set ORDER BY set;
RESET gpucol.pushdown;
-- HAVING, expressions, joins
SELECT differ(q) FROM unnest(ARRAY['SELECT k, round(stddev(f)::numeric / 2, 6) FROM mixed WHERE f < 1e9 GROUP BY k HAVING mode() WITHIN GROUP (ORDER BY a) > -48 AND corr(f, b) > -1',
	'SELECT x.k, round(stddev(y.f)::numeric, 6), string_agg(DISTINCT y.u, '','' ORDER BY y.u), regr_count(x.b, y.f) FROM mixed x JOIN mixed y ON x.id = y.b WHERE y.f < 1e9 GROUP BY x.k',
	'SELECT k, corr(DISTINCT b, a), regr_count(DISTINCT a, k), stddev(f ORDER BY id) FROM mixed WHERE f < 1e9 GROUP BY k']) q WHERE differ(q) IS NOT NULL;

-- percentiles by places: few and many of them, in few and many rows, of numbers close together and far apart
SELECT differ(q) FROM (VALUES ('', ''), ('u, k, ', 'ROLLUP (u, k)'), ('id / 30, ', 'id / 30')) s(keys, sets), unnest(ARRAY['b', 'f', 'd', 'day', 't', 'b % 3', 'c - c']) of,
	unnest(ARRAY['', ' DESC']) direction, unnest(ARRAY['percentile_disc(0.5) WITHIN GROUP (ORDER BY %1$s)', 'percentile_disc(0) WITHIN GROUP (ORDER BY %1$s), percentile_disc(1) WITHIN GROUP (ORDER BY %1$s)',
	'percentile_disc(ARRAY[0.1, 0.99, NULL]::float8[]) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s)', 'percentile_disc(ARRAY[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]::float8[]) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.07) WITHIN GROUP (ORDER BY %1$s)',
	'percentile_disc(0.1) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.2) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.4) WITHIN GROUP (ORDER BY %1$s), percentile_disc(0.5) WITHIN GROUP (ORDER BY %1$s)',
	'mode() WITHIN GROUP (ORDER BY %1$s)']) agg,
	format('SELECT %s%s FROM mixed WHERE id < 90000 OR k = 1%s', keys, format(agg, of || direction), CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END) q
WHERE NOT (of = 'f' AND agg LIKE '%mode%') AND differ(q) IS NOT NULL;
SELECT differ(q) FROM (VALUES ('', ''), ('k, ', 'k'), ('id / 30, ', 'id / 30')) s(keys, sets), unnest(ARRAY['b', 'f', 'c::float8', 'd', 'b % 3', 'g DESC', 'f DESC']) of, unnest(ARRAY['percentile_cont(0.5) WITHIN GROUP (ORDER BY %1$s)',
	'percentile_cont(0.333) WITHIN GROUP (ORDER BY %1$s), percentile_cont(0.9) WITHIN GROUP (ORDER BY %1$s), percentile_cont(1) WITHIN GROUP (ORDER BY %1$s), percentile_cont(0) WITHIN GROUP (ORDER BY %1$s)',
	'percentile_cont(ARRAY[0.1, 0.99, NULL]::float8[]) WITHIN GROUP (ORDER BY %1$s)', 'percentile_cont(ARRAY[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]::float8[]) WITHIN GROUP (ORDER BY %1$s)']) agg,
	format('SELECT %s%s FROM mixed%s', keys, format(agg, of), CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END) q WHERE differ(q) IS NOT NULL;

-- rows of fields: NULLs in them are values, as are -0 and 0 the same and NaNs; equal numerics that look different
SELECT differ(q) FROM (VALUES ('', ''), ('k, ', 'k'), ('k, yes, ', 'GROUPING SETS ((k), (yes), (k, yes), ())')) s(keys, sets), unnest(ARRAY['true', 'id > 90001', 'false']) qual,
	unnest(ARRAY['count(DISTINCT (k, b)), count(DISTINCT (f, yes)), count(DISTINCT (g, a))', 'count(DISTINCT (t, k)), count(DISTINCT (t, u, day)) FILTER (WHERE yes), count(DISTINCT ROW(t))', 'count(DISTINCT (d, at)), count(DISTINCT ROW(NULL::int, a)), count(DISTINCT (a, 1))',
	'count(DISTINCT (n, a)), count(DISTINCT (upper(t), a))', 'count(DISTINCT (a, (b % 5, t)))', 'count(DISTINCT (k, b)) FILTER (WHERE upper(t) > ''KEY 5'')', 'count((a, b)), count(DISTINCT (b + a, f * 2))', 'count(DISTINCT t), count(DISTINCT f), count(DISTINCT u)']) agg,
	format('SELECT %sarray_agg(DISTINCT a), %s FROM mixed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END) q WHERE differ(q) IS NOT NULL;
-- fields without an order are PostgreSQL's
SELECT count(DISTINCT (k, NULL)) FROM mixed;
SELECT count(DISTINCT (1, 'x')) FROM mixed WHERE id < 3;
SELECT count(DISTINCT (k, (u, 'x'))) FROM mixed;
-- only different values are kept; constants are arguments, too
SELECT differ(q) FROM (VALUES ('', ''), ('k, ', 'k'), ('id / 9, ', 'id / 9'), ('k, yes, ', 'ROLLUP (k, yes)')) s(keys, sets), unnest(ARRAY['string_agg(DISTINCT t, '','' ORDER BY t)', 'string_agg(DISTINCT u, NULL), string_agg(DISTINCT t, t)', 'array_agg(DISTINCT d ORDER BY d DESC), array_agg(DISTINCT day)',
	'array_agg(DISTINCT a ORDER BY a DESC NULLS LAST) FILTER (WHERE yes)', 'md5(array_agg(DISTINCT id ORDER BY id)::text)', 'jsonb_agg(DISTINCT u), json_object_agg(DISTINCT a, u)', 'round((sum(DISTINCT f) FILTER (WHERE f BETWEEN 0 AND 1e9))::numeric, 6), round(avg(DISTINCT g)::numeric, 6), array_agg(DISTINCT f = 0)',
	'string_agg(DISTINCT t, '','') FILTER (WHERE upper(u) = ''U1'')', 'bit_xor(DISTINCT b), sum(DISTINCT d::numeric), avg(DISTINCT n)', 'string_agg(u, ''-'' ORDER BY id), array_agg(1 ORDER BY id), array_agg(NULL::int)', 'round((stddev(DISTINCT f) FILTER (WHERE f BETWEEN 0 AND 100))::numeric, 6)']) agg,
	format('SELECT %s%s FROM mixed%s', keys, agg, CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END) q WHERE differ(q) IS NOT NULL;

-- of few combinations distinct rows are fed, each with the number of rows that it stands for
EXPLAIN (COSTS OFF) SELECT count(DISTINCT (k, u)) FROM mixed;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT (u, a)), count(*), sum(b) FROM mixed GROUP BY k;
EXPLAIN (COSTS OFF) SELECT yes, count(DISTINCT (u, a)), count(*), max(a) FROM mixed GROUP BY yes;
SELECT differ(q) FROM unnest(ARRAY['SELECT count(DISTINCT (k, u)) FROM mixed', 'SELECT count(DISTINCT (k, (u, yes))) FROM mixed', 'SELECT yes, count(DISTINCT (u, a)), count(*), max(a), avg(a) FROM mixed GROUP BY yes', 'SELECT count(DISTINCT (k, u)) FROM mixed WHERE false', 'SELECT count(DISTINCT (t, u)) FROM mixed']) q;

-- memory that does not suffice
SET gpucol.memory_limit = '1MB';
SELECT q, differ(q, '') FROM unnest(ARRAY['SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f), stddev(b::float8) FROM mixed', 'SELECT count(DISTINCT (id, t)) FROM mixed', 'SELECT k, array_agg(DISTINCT id) FROM mixed GROUP BY k',
	'SELECT id / 2, corr(b, c), mode() WITHIN GROUP (ORDER BY t) FROM mixed GROUP BY 1']) q;
RESET gpucol.memory_limit;
DROP SCHEMA agg_mixed CASCADE;
