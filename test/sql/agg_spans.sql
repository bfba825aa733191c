--
-- Intervals in an engine: columns, differences, ages, and sums of these.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_spans;
SET search_path = agg_spans, public;

\set node 'Custom Scan (GpucolAgg)'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET TimeZone = 'UTC';
CREATE TABLE packed (id int, k int, iv interval, jv interval, ts timestamp, us timestamp, tz timestamptz, d date, tm time) USING gpucol;
INSERT INTO packed SELECT i, i % 7, CASE WHEN i % 13 > 0 THEN make_interval(months => i % 40 - 20, days => i % 90 - 45, secs => i * 37.25 - 40000) END, make_interval(years => i % 3, hours => i % 50),
	timestamp '1896-02-28 23:59:59.5' + i * interval '17 days 5 hours', CASE WHEN i % 17 > 0 THEN timestamp '2000-01-31 12:00' + i % 900 * interval '1 day' END,
	timestamptz '2023-03-25' + i * interval '1 hour', date '2000-02-28' + i % 800, time '00:00' + i * interval '31 s' FROM generate_series(1, 2500) i;
SELECT gpucol.merge('packed');
INSERT INTO packed SELECT 3000 + i, i, interval '1 month' * i, interval '-1 day', '2000-02-29', '2001-02-28 12:00', '2000-02-29', '2000-02-29', '24:00' FROM generate_series(1, 5) i;
ANALYZE packed;

SELECT differ(q) FROM unnest(ARRAY['iv', 'iv + jv', 'iv - jv', '- iv', 'ts - us', 'us - ts', 'tz - timestamptz ''2024-01-01''', 'age(ts, us)', 'age(us, ts)', 'age(us, d)', 'age(tz, d::timestamptz)', 'tm - time ''12:00''', 'tm::interval', 'k * interval ''1 month -2 days 03:00''', 'interval ''-00:00:07.5'' * (id::int2)', 'make_interval(days => k, mins => id)', 'make_interval(years => k - 3, weeks => 2, secs => 1.5)', 'iv + (us - ts)', 'age(ts, us) - interval ''1 month 3 days''']) x,
	LATERAL unnest(ARRAY[format('SELECT k, sum(%s), avg(%s), count(%s) FROM packed GROUP BY k', x, x, x), format('SELECT sum(%s) FILTER (WHERE k > 3), avg(%s) FROM packed WHERE %s > ''10 days''', x, x, x),
	format('SELECT extract(hour FROM %s) AS k, count(*), sum(extract(epoch FROM %s)) FROM packed GROUP BY 1', x, x), format('SELECT count(*), sum(id) FROM packed WHERE %s <= jv AND %s <> ''0''', x, x),
	format('SELECT date_part(''day'', %s) AS k, max(extract(second FROM %s)) FROM packed WHERE extract(month FROM %s) < 3 GROUP BY 1', x, x, x),
	format('SELECT max(us + (%s)), min(ts - (%s)), max(d + (%s)) FROM packed', x, x, x), format('SELECT tm + (%s) AS k, count(*), min(tm - (%s)) FROM packed WHERE id < 200 GROUP BY 1', x, x)]) q WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'month', 'year', 'decade', 'century', 'millennium', 'epoch']) f, unnest(ARRAY['iv - jv', 'age(ts, us)', 'us - ts']) x,
	LATERAL unnest(ARRAY[format('SELECT k, sum(extract(%s FROM %s)), min(extract(%s FROM %s)) FROM packed GROUP BY k', f, x, f, x)]) q WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['SELECT k, min(us - ts), max(ts - us), max(us - ts) FILTER (WHERE k > 2) FROM packed GROUP BY k', 'SELECT sum(iv), avg(iv), max(us - ts) FROM packed WHERE id < 0', 'SELECT k, sum(us - ts) FROM packed GROUP BY k HAVING max(us - ts) > ''1 day'' ORDER BY max(us - ts) LIMIT 3']) q
WHERE differ(q) IS NOT NULL;
-- the ends of the ranges, and beyond
CREATE TABLE wide (k int, iv interval, ts timestamp) USING gpucol;
INSERT INTO wide VALUES (1, '178000000 years', '294276-12-31 23:59:59.999999'), (1, '178000000 years', '4713-01-01 BC'), (2, '-2147483648 days', 'infinity'), (2, '2147483647 days', '2000-01-01'), (3, '2562047788 hours', '2000-01-01'),
	(3, '2562047788 hours', '0001-03-01 BC'), (4, '1 day', '-infinity'), (5, NULL, NULL), (6, '-178000000 years -2147483647 days', '2000-02-29');
ANALYZE wide;
SELECT differ(q) FROM generate_series(1, 6) k, unnest(ARRAY['sum(iv)', 'avg(iv)', 'sum(iv - interval ''1 day'')', 'sum(-iv)', 'sum(k * 1000000000 * interval ''1 month'')', 'sum(make_interval(years => k * 300000000))', 'sum(make_interval(hours => k * 350000000))', 'max(ts + k * interval ''1 day'')', 'sum(k * 100000000 * interval ''1 day'')', 'count(iv + iv)', 'sum(extract(epoch FROM iv))', 'max(ts - timestamp ''2000-01-01'')', 'sum(timestamp ''1970-01-01'' - ts)', 'sum(age(ts, timestamp ''1999-01-31''))',
	'max(ts + iv)', 'max(ts - iv)', 'count(*) FILTER (WHERE iv > ts - timestamp ''2000-01-01'')', 'max(extract(year FROM age(timestamp ''2000-01-01'', ts)))']) x, LATERAL format('SELECT %s FROM wide WHERE k = %s', x, k) q WHERE differ(q) IS NOT NULL;
-- beside aggregates that are fed rows
SELECT differ(q, 'Aggregates: fed by rows') FROM unnest(ARRAY['ts - us', 'us - ts', 'tz - timestamptz ''2024-01-01''', 'iv', 'iv + jv', 'age(us, ts)', 'us - ts + ''1 day''', '- (us - ts)']) x, unnest(ARRAY['true', 'k > 2', 'k IS NULL']) w,
	LATERAL unnest(ARRAY['percentile_cont(0.5) WITHIN GROUP (ORDER BY %1$s), percentile_cont(ARRAY[[0, 0.3], [NULL, 1]]) WITHIN GROUP (ORDER BY %1$s DESC)', 'percentile_disc(0.7) WITHIN GROUP (ORDER BY %1$s), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY %1$s DESC)',
	'mode() WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY k)', 'mode() WITHIN GROUP (ORDER BY id), sum(%1$s), avg(%1$s), count(%1$s), min(%1$s), max(%1$s)', 'mode() WITHIN GROUP (ORDER BY id), avg(%1$s) FILTER (WHERE k > 4), max(%1$s) FILTER (WHERE id < 9), sum(DISTINCT %1$s), count(DISTINCT %1$s), max(extract(epoch from %1$s))',
	'array_agg(%1$s ORDER BY id), array_agg(DISTINCT %1$s), (array_agg(%1$s ORDER BY %1$s, id))[1], stddev(extract(day from %1$s))', 'percentile_cont(0.25) WITHIN GROUP (ORDER BY extract(epoch from %1$s) / 3600) FILTER (WHERE k > 1)']) a,
	LATERAL unnest(ARRAY['SELECT ' || a || ' FROM packed WHERE ' || w, 'SELECT k, ' || a || ' FROM packed WHERE ' || w || ' GROUP BY k']) f, LATERAL format(f, x) q WHERE differ(q, 'Aggregates: fed by rows') IS NOT NULL;
SELECT differ(q) FROM generate_series(1, 6) k, unnest(ARRAY['percentile_cont(0.4) WITHIN GROUP (ORDER BY ts - timestamp ''2000-01-01'')', 'mode() WITHIN GROUP (ORDER BY k), avg(ts - timestamp ''2000-01-01''), max(timestamp ''2000-01-01'' - ts)', 'mode() WITHIN GROUP (ORDER BY k), sum(timestamp ''294276-01-01'' - ts)',
	'percentile_cont(1.5) WITHIN GROUP (ORDER BY ts - timestamp ''2000-01-01'')']) x, LATERAL format('SELECT %s FROM wide WHERE k = %s', x, k) q WHERE differ(q) IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT extract(year FROM age(ts, us)), sum(us - ts), avg(iv + jv) FROM packed WHERE ts - us > interval '3 days' AND iv - jv < '1 year' GROUP BY 1;
DROP SCHEMA agg_spans CASCADE;
