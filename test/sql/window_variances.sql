--
-- Variances and standard deviations over frames: of integers and decimals from exact sums, of floats as PostgreSQL
-- adds them; the answers are those of heap twins.
--
SET client_min_messages = warning;
CREATE SCHEMA window_variances;
SET search_path = window_variances, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_w AS
	SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 13 END AS k, (i * 7919 % 1000 - 500)::int2 AS s, CASE WHEN i % 13 > 0 THEN i * 31 % 500 END AS v,
		(i::int8 * 1000003 % 100000) * 100000000 AS b, (i::int8 * 7919 % 1000 - 500) * 9000000000000000 AS huge, CASE WHEN i % 7 > 0 THEN (i * 37 % 10000)::numeric(9,2) / 4 END AS d,
		(i * 17 % 1000)::numeric / (CASE i % 3 WHEN 0 THEN 1 WHEN 1 THEN 4 ELSE 8 END) AS n, (i * 13 % 100)::numeric(6,4) / 1000 AS small,
		(i * 7919 % 997)::numeric(18,12) / 1000000 AS tiny, CASE WHEN i % 97 = 0 THEN 'NaN' WHEN i % 89 = 0 THEN '-Infinity' WHEN i % 83 = 0 THEN NULL ELSE (i * 71 % 999) / 8.0 END::float8 AS f,
		(i * 3 % 50)::float4 / 4 AS r, 1e200::float8 * (i % 5) AS large, (i % 91) * 1e150::float8 AS wide, i % 3 = 0 AS even
	FROM generate_series(1, 420) i;
ALTER TABLE h_w ALTER d TYPE numeric(9,2), ALTER small TYPE numeric(8,6), ALTER tiny TYPE numeric(18,12);
CREATE TABLE w USING gpucol AS SELECT * FROM h_w;
SELECT gpucol.merge('w') IS NOT NULL AS merged;
DELETE FROM w WHERE id % 101 = 0;
DELETE FROM h_w WHERE id % 101 = 0;
INSERT INTO w SELECT * FROM h_w WHERE id % 83 = 0;
INSERT INTO h_w SELECT * FROM h_w WHERE id % 83 = 0;
ANALYZE w, h_w;

\set tables 'w'
\set sign GpucolWindow
\set said GpucolWindow
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.pushdown = require;
CREATE FUNCTION frames() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(template, bound) || exclude
	FROM unnest(ARRAY['ROWS %s', 'GROUPS %s', 'RANGE %s']) template,
		unnest(ARRAY['UNBOUNDED PRECEDING', 'BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', 'BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
			'BETWEEN 3 PRECEDING AND 2 FOLLOWING', '5 PRECEDING', 'BETWEEN 7 PRECEDING AND 2 PRECEDING', 'BETWEEN 2 FOLLOWING AND 6 FOLLOWING',
			'BETWEEN UNBOUNDED PRECEDING AND 4 PRECEDING']) bound,
		unnest(ARRAY['', ' EXCLUDE CURRENT ROW', ' EXCLUDE TIES']) exclude $$;
SELECT count(*) AS frames, compare(format('SELECT id, ' || (SELECT string_agg(format('%s(%s) OVER o', f, c), ', ') FROM unnest(ARRAY['s', 'v', 'b', 'd', 'n', 'small', 'tiny', 'huge']) c,
	unnest(ARRAY['stddev', 'var_pop']) f) || ' FROM w WINDOW o AS (PARTITION BY k ORDER BY v %s)', frame))
FROM frames() frame GROUP BY 2;
SELECT count(*) AS frames, compare(format('SELECT id, ' || (SELECT string_agg(format('%s(%s) OVER o', f, c), ', ') FROM unnest(ARRAY['f', 'r', 'wide']) c,
	unnest(ARRAY['stddev', 'stddev_pop', 'variance', 'var_pop']) f) || ' FROM w WINDOW o AS (PARTITION BY k ORDER BY id %s)', frame))
FROM frames() frame GROUP BY 2;
SELECT f, compare(format('SELECT id, %1$s(v) OVER o, %1$s(s) OVER o, %1$s(b) OVER o, %1$s(d) OVER o, %1$s(n) OVER o, %1$s(small) OVER o, %1$s(f) OVER p, %1$s(r) OVER p, '
	'%1$s(d) FILTER (WHERE even) OVER o, %1$s(v * 2 + s) OVER o, %1$s(NULL::int) OVER o, %1$s(d) OVER (PARTITION BY k) '
	'FROM w WINDOW o AS (ORDER BY id ROWS 19 PRECEDING), p AS (ORDER BY id ROWS BETWEEN 4 PRECEDING AND 3 FOLLOWING)', f))
FROM unnest(ARRAY['variance', 'var_samp', 'var_pop', 'stddev', 'stddev_samp', 'stddev_pop']) f;

-- what is computed of them: bands, scores, groups above
SELECT compare(q) FROM unnest(ARRAY[
	'SELECT id FROM (SELECT id, d, avg(d) OVER o AS m, stddev(d) OVER o AS s FROM w WINDOW o AS (PARTITION BY k ORDER BY id ROWS 9 PRECEDING)) q WHERE d > m + 1.5 * s',
	'SELECT k, count(*) FILTER (WHERE z > 1), max(z) FROM (SELECT k, (d - avg(d) OVER o) / nullif(stddev(d) OVER o, 0) AS z FROM w WINDOW o AS (PARTITION BY k)) q GROUP BY k',
	'SELECT k, sum(v), stddev(sum(v)) OVER (ORDER BY k ROWS 2 PRECEDING) FROM w GROUP BY k',
	'SELECT DISTINCT round(stddev(small) OVER (PARTITION BY k), 5) FROM w',
	'SELECT id, stddev(v) OVER () FROM w WHERE id = 5', 'SELECT id, var_pop(v) OVER () FROM w WHERE id = 5', 'SELECT id, stddev(d) OVER () FROM w WHERE id < 0']) q;

-- conditions on numerics: clear ones, those that only numerics can tell, NULLs, NULLIF and CASE, parameters, errors
SELECT count(*) AS conditions, compare(format('SELECT id, d, m FROM (SELECT id, k, v, d, n, small, avg(d) OVER o AS m, stddev(d) OVER o AS s, sum(d) OVER p AS run, lag(d) OVER p AS before, '
	'max(n) OVER o AS top, count(d) OVER o AS c, sum(v) OVER o AS whole, avg(d) OVER (PARTITION BY d) AS same FROM w WINDOW o AS (PARTITION BY k), p AS (PARTITION BY k ORDER BY id)) q WHERE %s', c)) LIKE '%, 0 differ, GpucolWindow' AS same
FROM unnest(ARRAY['d > m', 'd >= m + 1.5 * s', 'abs(d - m) / nullif(s, 0) > 1.2', 'd = same', 'd <> same', 'd >= same AND run > 1000', 'd - before > 100', 'd - before = 925.25', 'n = top', 'd / whole > 0.01',
	'run / nullif(whole, 0) BETWEEN 1 AND 2', 'CASE WHEN c > 20 THEN d > m ELSE d < m END', 'round(m, 2) = d', 'round(m) = 1250', 'coalesce(before, 0) < d', 'before IS NULL OR d > before * 2', 'NOT d > m', 'small * 1000 > s / 100000',
	'm * c = 24000', 'd > m::numeric(9,1)', 's = 0 OR s IS NULL', 'nullif(d, same) IS NULL', 'nullif(d, 100) > 50', 'd > nullif(m, m)', 'n + d > 1e30', 'd * 1e-30 < n']) c GROUP BY 2;
SELECT compare(format('SELECT count(*), sum(m) FROM (SELECT d, avg(d) OVER (PARTITION BY k) AS m FROM w) q WHERE d %s m', c)) FROM unnest(ARRAY['>', '<=', '=']) c;
SELECT compare('SELECT x, q.* FROM generate_series(-1, 3) x, LATERAL (SELECT id FROM (SELECT id, d, avg(d) OVER (PARTITION BY k) AS m FROM w) a WHERE d > m * x) q');
SELECT count(*) FROM (SELECT d, avg(d) OVER (PARTITION BY k) AS m FROM w) q WHERE 1 / (d - d) > m;
PREPARE p(numeric) AS SELECT count(*) FROM (SELECT d, avg(d) OVER (PARTITION BY k) AS m FROM w) q WHERE d > m * $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(1.5);
EXECUTE p(0.5);
EXECUTE p(NULL);

-- what takes more than 128 bits, or a double: PostgreSQL's
SELECT compare('SELECT id, stddev(huge * 2) OVER (ORDER BY id ROWS 300 PRECEDING) FROM w');
SELECT compare('SELECT id, stddev(n * 1e30) OVER (ORDER BY id ROWS 3 PRECEDING) FROM w');
SELECT id, stddev(large) OVER (ORDER BY id) FROM w;
SET gpucol.pushdown = forbid;
SELECT id, stddev(large) OVER (ORDER BY id) FROM w;
