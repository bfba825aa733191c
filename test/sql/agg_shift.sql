--
-- Dates and timestamps plus and minus days and intervals, and their differences.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_shift;
SET search_path = agg_shift, public;

\set node 'Custom Scan (Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
SET TimeZone = 'UTC';
CREATE TABLE packed (id int, d date, e date, ts timestamp, us timestamp, tz timestamptz, n int) USING gpucol;
INSERT INTO packed SELECT i, CASE WHEN i % 300 = 0 THEN 'infinity' WHEN i % 301 = 0 THEN NULL ELSE date '1999-01-30' + i * 37 % 90000 END,
	date '2000-02-28' + i % 5, CASE WHEN i % 300 = 1 THEN '-infinity' ELSE timestamp '1896-02-28 23:59:59.5' + i * interval '17 days 5 hours' END,
	timestamp '2000-01-31 12:00' + i % 900 * interval '1 day', timestamptz '2023-03-25' + i * interval '1 hour', i % 400 - 200 FROM generate_series(1, 2500) i;
INSERT INTO packed VALUES (3000, '4713-01-01 BC', '0001-03-01 BC', '4713-01-01 BC', '0001-12-31 23:59:59 BC', '4713-01-01 BC', 1), (3001, '5874897-12-31', '294276-12-31', '294276-12-31 23:59:59.999999', '2000-02-29', '294276-12-31', -1);
ANALYZE packed;

-- every interval over ordinary rows, over the ends of the ranges, as key and condition
SELECT differ(q) FROM unnest(ARRAY['1 month', '-1 month', '1 year', '-100 years', '13 months 5 days', '1 day', '-45 days', '36 hours', '1 month -1 day 00:00:00.000001', '0', '90 years 11 months 30 days 23:59:59.999999', '-4000 years']) v,
	unnest(ARRAY['+', '-']) o, unnest(ARRAY['d', 'ts', 'us', 'e', 'tz']) x,
	LATERAL unnest(ARRAY[format('SELECT id, %s %s interval %L AS r FROM packed WHERE id < 2990', x, o, v), format('SELECT id, %s %s interval %L AS r FROM packed WHERE id = 3000', x, o, v),
	format('SELECT max(%s %s interval %L), min(%s %s interval %L), count(%s) FROM packed WHERE id = 3001', x, o, v, x, o, v, x),
	format('SELECT date_trunc(''year'', %s %s interval %L) AS k, count(*) FROM packed WHERE id < 2990 AND %s %s interval %L > ''2000-01-01'' GROUP BY 1', x, o, v, x, o, v)]) q
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['d + 30', 'd - 30', '30 + d', 'd + n', 'd - n', 'd + 2147483647', 'd - 2147483647', 'd - e', 'e - d', 'd - date ''2000-01-01''', '(d + 1) - (e - 1)']) x,
	LATERAL unnest(ARRAY[format('SELECT id, %s AS r FROM packed WHERE id < 2990 AND isfinite(d)', x), format('SELECT min(%s), max(%s) FROM packed WHERE id < 2990 AND d < ''2200-01-01''', x, x), format('SELECT count(%s) FROM packed', x),
	format('SELECT %s AS k, count(*) FROM packed WHERE id < 300 GROUP BY 1', x), format('SELECT %s FROM packed WHERE id = 3001', x)]) q
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['SELECT sum(extract(epoch FROM us - ts)), avg(extract(day FROM us - ts)), max(extract(epoch FROM tz - tz)) FROM packed WHERE id < 2990 AND isfinite(ts)',
	'SELECT count(*) FROM packed WHERE isfinite(ts) AND id < 2990 AND extract(day FROM us - ts) > 100', 'SELECT extract(day FROM us - ts) AS k, count(*) FROM packed WHERE id < 2990 AND isfinite(ts) GROUP BY 1',
	'SELECT extract(epoch FROM ts - us) AS k, count(*) FROM packed WHERE id BETWEEN 10 AND 90 GROUP BY 1', 'SELECT max(extract(epoch FROM ts - us)) FROM packed WHERE ts = ''-infinity''',
	'SELECT count(*) FROM packed WHERE d + 10 > e AND d + interval ''1 month'' < us AND isfinite(d)', 'SELECT d - e, count(*), min(d + n) FROM packed WHERE id < 290 GROUP BY d - e HAVING count(*) > 1']) q WHERE differ(q) IS NOT NULL;
-- months and days of another time zone are PostgreSQL's
SET TimeZone = 'Europe/Berlin';
SELECT differ(q) FROM unnest(ARRAY['SELECT max(tz + interval ''1 day''), min(tz - interval ''1 month'') FROM packed WHERE id < 2000', 'SELECT max(tz + interval ''26 hours'') FROM packed WHERE id < 2000']) q WHERE differ(q) IS NOT NULL;
RESET TimeZone;
SET TimeZone = 'UTC';
EXPLAIN (COSTS OFF) SELECT date_trunc('month', d + interval '1 month'), sum(d - e), count(*) FILTER (WHERE us - interval '3 days' > ts) FROM packed WHERE d + 30 > e AND tz + interval '1 hour' > '2023-04-01' GROUP BY 1;
DROP SCHEMA agg_shift CASCADE;
