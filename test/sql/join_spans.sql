--
-- Times shifted by intervals that are computed of columns, in conditions of rows and of joins that deliver rows:
-- answers and errors are PostgreSQL's.
--
SET client_min_messages = warning;
CREATE SCHEMA join_spans;
SET search_path = join_spans, public;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET TimeZone = 'UTC';
CREATE TABLE e (id int, k int, ts timestamp, tz timestamptz, d date, secs int, n smallint, tm time) USING gpucol;
CREATE TABLE s (id int, k int, ts timestamp, tz timestamptz, d date, secs int, n smallint, iv interval, tm time) USING gpucol;
CREATE TABLE none (LIKE s) USING gpucol;
INSERT INTO e SELECT i, i % 20, timestamp '2024-01-01' + i * interval '7 minutes', timestamptz '2024-03-30 00:00+00' + i * interval '7 minutes',
	date '2024-01-01' + i % 300, i % 900, i % 9, time '00:00' + i * interval '13 s' FROM generate_series(1, 1000) i;
INSERT INTO s SELECT i, i % 20, timestamp '2024-01-01' + i * interval '70 minutes', timestamptz '2024-03-30 00:00+00' + i * interval '70 minutes', date '2024-01-01' + i,
	i * 37 % 5000 - 300, i % 5 - 1, CASE WHEN i % 9 > 0 THEN make_interval(months => i % 3 - 1, days => i % 4, mins => i % 200) END, time '00:00' + i * interval '90 s' FROM generate_series(1, 100) i;
SELECT gpucol.merge('e'), gpucol.merge('s');
-- delta rows, NULLs, infinities, deleted rows
INSERT INTO e VALUES (9001, 1, NULL, NULL, NULL, NULL, NULL, NULL), (9002, 2, 'infinity', 'infinity', 'infinity', 1, 1, '24:00'), (9003, 3, '-infinity', '-infinity', '-infinity', 2, 2, '00:00');
INSERT INTO s VALUES (801, 1, '2024-01-03', '2024-03-31', '2024-01-03', NULL, NULL, NULL, NULL), (802, 2, NULL, NULL, NULL, 600, 1, '1 day', '01:00'),
	(803, 3, 'infinity', 'infinity', 'infinity', 600, 1, '1 day', '24:00'), (804, 4, '-infinity', '-infinity', '-infinity', -600, -1, '1 mon', '00:00');
DELETE FROM e WHERE id % 50 = 7;
DELETE FROM s WHERE id % 30 = 11;
ANALYZE e, s;

EXPLAIN (COSTS OFF) SELECT e.id, s.id FROM e JOIN s ON e.ts BETWEEN s.ts AND s.ts + s.secs * interval '1 second';
EXPLAIN (COSTS OFF) SELECT count(*) FROM e JOIN s ON e.ts BETWEEN s.ts AND s.ts + s.secs * interval '1 second';
-- what intervals are made of
CREATE TABLE spans AS SELECT * FROM unnest(ARRAY['s.secs * interval ''1 second''', 'interval ''1 minute'' * s.n', 's.n * interval ''1 month -3 days 01:30''', 'make_interval(secs => s.secs)',
	'make_interval(mins => s.n, secs => s.secs)', 'make_interval(hours => s.n)', 'make_interval(days => s.n)', 'make_interval(months => s.n, hours => 3)', '(s.secs * interval ''1 second'' + s.n * interval ''1 hour'')',
	'(s.secs * interval ''1 second'' - s.n * interval ''1 day'')', '(- (s.n * interval ''2 hours''))', 's.tm::interval', '(s.tm - time ''00:10'')', 's.iv']) WITH ORDINALITY AS x(span, i);
SELECT i, span, twin(format('SELECT e.id AS e, s.id AS s FROM e JOIN s ON e.ts BETWEEN s.ts AND s.ts + %s', span)) AS alone, twin(format('SELECT e.id AS e, s.id AS s FROM e JOIN s ON e.k = s.k AND e.ts > s.ts - %s AND e.ts <= s.ts', span)) AS keyed,
	twin(format('SELECT count(*), sum(e.id), count(s.id) FROM e LEFT JOIN s ON e.tz BETWEEN s.tz AND s.tz + %s', span)) AS left, twin(format('SELECT e.id FROM e WHERE EXISTS (SELECT FROM s WHERE e.d BETWEEN s.d AND s.d + %s)', span)) AS tested,
	twin(format('SELECT s.id, s.secs FROM s WHERE s.ts + %s > ''2024-01-09 13:00''', span)) AS filter
FROM spans ORDER BY 1;
-- an hour is one in every time zone, a day is not
SET TimeZone = 'Europe/Berlin';
SELECT i, span, twin(format('SELECT e.id AS e, s.id AS s FROM e JOIN s ON e.tz BETWEEN s.tz AND s.tz + %s', span)) AS alone FROM spans ORDER BY 1;
RESET TimeZone;
-- differences and ages may be infinite
SELECT twin('SELECT e.id, s.id FROM e JOIN s ON s.ts + (e.ts - s.ts) > e.ts WHERE isfinite(e.ts) AND isfinite(s.ts)'), twin('SELECT id FROM e WHERE isfinite(ts) AND ts + age(ts, ts - interval ''1 hour'') > ''2024-01-05''');
-- nothing to join
SELECT twin('SELECT e.id FROM e JOIN none s ON e.ts BETWEEN s.ts AND s.ts + s.secs * interval ''1 second'''), twin('SELECT count(*), count(s.id) FROM e LEFT JOIN none s ON e.ts BETWEEN s.ts AND s.ts + s.secs * interval ''1 second''');
-- what leaves the range is an error where PostgreSQL comes to it, and only there
INSERT INTO s VALUES (901, 5, '294276-12-31', '294276-12-31', '2024-01-01', 2147483647, 32767, '178000000 years', '00:00'), (902, 6, '2024-01-01', '2024-01-01', '5874000-01-01', -2147483648, -32768, '-2147483648 months', '00:00');
SELECT i, span, twin(format('SELECT e.id AS e, s.id AS s FROM e JOIN s ON e.ts BETWEEN s.ts AND s.ts + %s', span)) AS alone, twin(format('SELECT e.id AS e, s.id AS s FROM e JOIN s ON e.k = s.k AND e.ts > s.ts - %s AND e.ts <= s.ts', span)) AS keyed,
	twin(format('SELECT count(*), sum(e.id), count(s.id) FROM e LEFT JOIN s ON e.tz BETWEEN s.tz AND s.tz + %s', span)) AS left, twin(format('SELECT s.id, s.secs FROM s WHERE s.ts + %s > ''2024-01-09 13:00''', span)) AS filter,
	twin(format('SELECT s.id FROM s WHERE id < 900 AND s.ts - %s > ''2024-01-09 13:00''', span)) AS apart
FROM spans ORDER BY 1;
SELECT twin('SELECT id FROM s WHERE ts + secs * interval ''100 years'' > ts'), twin('SELECT id FROM s WHERE ts + n * interval ''100000000 months'' > ts'), twin('SELECT id FROM s WHERE ts + make_interval(years => secs) > ts'),
	twin('SELECT id FROM s WHERE ts + make_interval(weeks => secs, days => n) > ts'), twin('SELECT id FROM s WHERE ts - (n * interval ''1 day'' + secs * interval ''1 day'') > ts');
DROP SCHEMA join_spans CASCADE;
