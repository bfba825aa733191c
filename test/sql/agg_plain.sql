--
-- Functions that take an engine a few instructions: money, bits, dates beside timestamps, date_bin.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_plain;
SET search_path = agg_plain, public;

\set node 'Custom Scan (GpucolAgg)'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET TimeZone = 'UTC';
CREATE TABLE packed (id int, i int, b bigint, f float8, m money, n money, d date, ts timestamp, tz timestamptz, tm time) USING gpucol;
INSERT INTO packed SELECT i, i % 7 - 3, i::bigint * 4000000007, i / 8.0 - 100, CASE WHEN i % 11 > 0 THEN (i * 37 % 1000 / 100.0 - 4)::numeric::money END, (i % 5 + 1)::money,
	CASE i % 300 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL WHEN 3 THEN '5874897-12-31' ELSE date '1999-12-01' + i / 10 END,
	CASE i % 301 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '294276-12-31 23:59:59' WHEN 3 THEN NULL ELSE timestamp '1999-12-01' + i * interval '2 hours 7 seconds' END,
	timestamptz '1999-12-01' + i * interval '3 hours', time '00:00' + i * interval '31 s' FROM generate_series(1, 2500) i;
SELECT gpucol.merge('packed');
INSERT INTO packed SELECT 3000 + i, i, -i, i, i::money, '3', date '2000-02-28' + i, timestamp '2000-02-29' + i * interval '1 s', '2000-02-29', '24:00' FROM generate_series(1, 5) i;
ANALYZE packed;

-- as arguments, as keys, as conditions
SELECT differ(q) FROM unnest(ARRAY['m + n', 'm - n', 'm * 3', '2 * m', 'm * i', 'm / 3', 'm * f', 'f * m', 'm / 2.5::float8', '~i', '~b', '+i', '+f', 'm / n',
	'date_bin(''15 minutes'', ts, ''2000-01-01'')', 'date_bin(''1 day 1 second'', ts, ''2001-01-01 00:00:01'')', 'date_bin(''2 hours'', tz, ''2005-05-05'')', 'd + tm']) x,
	LATERAL unnest(ARRAY[format('SELECT i, min(%s), max(%s), count(%s) FROM packed WHERE d IS DISTINCT FROM ''5874897-12-31'' GROUP BY i', x, x, x),
	format('SELECT %s AS k, count(*) FROM packed WHERE id BETWEEN 4 AND 290 GROUP BY 1', x)]) q WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['d < ts', 'd <= ts', 'd = ts', 'd <> ts', 'd > ts', 'd >= ts', 'ts < d', 'ts <= d', 'ts = d', 'ts <> d', 'ts > d', 'ts >= d', 'd < tz', 'tz >= d', 'ts < tz', 'tz = ts', 'ts >= tz', 'i::bool',
	'isfinite(d)', 'isfinite(ts)', 'NOT isfinite(tz)', 'ts > ''2000-03-01''::timestamptz', 'm * 2 > ''5''', 'date_bin(''1 week'', ts, ''2000-01-03'') > ''2000-05-01''']) x,
	LATERAL unnest(ARRAY[format('SELECT count(*), sum(id) FROM packed WHERE %s', x), format('SELECT %s AS k, count(*) FILTER (WHERE %s) FROM packed GROUP BY 1', x, x),
	format('SELECT CASE WHEN %s THEN i END AS k, sum(m) FROM packed GROUP BY 1', x)]) q WHERE differ(q) IS NOT NULL;
-- errors are PostgreSQL's, and never those of rows that do not pass
SELECT differ(q) FROM unnest(ARRAY['SELECT sum(m / i) FROM packed', 'SELECT sum(m / i) FROM packed WHERE i <> 0', 'SELECT sum(m / (n - n)) FROM packed', 'SELECT max(d + tm) FROM packed WHERE id = 303',
	'SELECT sum(CASE WHEN i <> 0 THEN m / i END) FROM packed', 'SELECT max(date_bin(''1 day'', ts, ''4000-01-01 BC'')) FROM packed', 'SELECT min(date_bin(''100 days'', timestamp ''4713-01-01 BC'' + id * interval ''1 s'', ''2000-01-01'')) FROM packed']) q
WHERE differ(q) IS NOT NULL;
-- another time zone decides what date and timestamp are beside a timestamptz
SET TimeZone = 'Europe/Berlin';
SELECT differ('SELECT count(*) FROM packed WHERE ts < tz', 'Pushed Filter'), differ('SELECT count(*) FROM packed WHERE d < ts');
SET TimeZone = 'UTC';
EXPLAIN (COSTS OFF) SELECT date_bin('1 day', ts, '2000-01-01'), sum(m * 2 + n), count(*) FILTER (WHERE isfinite(d)) FROM packed WHERE d < ts AND ts > tz AND ~i > -5 GROUP BY 1;
DROP SCHEMA agg_plain CASCADE;
