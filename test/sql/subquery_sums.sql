-- Correlated subqueries whose keys are computed on either side: joins, and executed where a value is near its type's end.
CREATE SCHEMA subquery_sums;
SET search_path = subquery_sums, public;
SET client_min_messages = warning;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE ask (id int, k int, w smallint, b bigint, at timestamp, day date) USING gpucol;
CREATE TABLE seen (k int, w smallint, b bigint, at timestamp, day date, n int, p numeric(9,2), t text, f float8) USING gpucol;
INSERT INTO ask SELECT i, i % 40, i % 30, i % 35, timestamp '2024-01-01' + i % 90 * interval '5 hours', date '2024-01-01' + i % 60 FROM generate_series(1, 300) i;
INSERT INTO seen SELECT i % 45, i % 25, i % 38, timestamp '2024-01-01' + i * 7 % 500 * interval '1 hour', date '2024-01-01' + i * 3 % 70, i, i / 7.0, 't' || i % 9, i / 4.0
	FROM generate_series(1, 1500) i;
SELECT gpucol.merge('ask') + gpucol.merge('seen') > 0 AS merged;
DELETE FROM seen WHERE n % 31 = 0;
UPDATE ask SET k = k + 1 WHERE id % 19 = 0;
INSERT INTO ask VALUES (301, NULL, NULL, NULL, NULL, NULL), (NULL, 5, 5, 5, '2024-01-05', '2024-01-05');
INSERT INTO seen VALUES (NULL, NULL, NULL, NULL, NULL, 1501, NULL, NULL, NULL), (5, 5, 5, NULL, NULL, 1502, NULL, NULL, 'NaN'), (6, 6, 6, 'infinity', 'infinity', 1503, 1, 'x', 1);
CREATE TABLE nothing (LIKE seen) USING gpucol;
ANALYZE ask, seen, nothing;
\set pattern 'Join: '
\set word joined
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/raises.psql
\set ECHO none
\i :include
\set ECHO all
CREATE OR REPLACE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN datetime_field_overflow OR numeric_value_out_of_range OR division_by_zero THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT a.id, l.* FROM ask a, LATERAL (SELECT s.n, s.p, s.t FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l'),
	('SELECT a.id, l.* FROM ask a, LATERAL (SELECT s.n, s.p FROM seen s WHERE a.k = s.k + 1 AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l WHERE l.n > 100'),
	('SELECT a.id, l.* FROM ask a LEFT JOIN LATERAL (SELECT s.n, s.f, s.at FROM seen s WHERE s.k * 2 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l ON true'),
	('SELECT a.id, l.* FROM ask a JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k = a.k - 1 AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l ON l.n % 2 = 0'),
	('SELECT a.id, l.* FROM ask a CROSS JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k - 2 = a.k + 1 ORDER BY s.n DESC LIMIT 1) l'),
	('SELECT a.id, l.* FROM ask a CROSS JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k - 2 = a.k + 1 ORDER BY s.n DESC OFFSET 3 LIMIT 1) l'),
	('SELECT a.id, b.id AS id2, l.* FROM ask a JOIN ask b ON b.id = a.id + 1 CROSS JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k + s.w = a.k + b.w AND s.at < a.at ORDER BY s.at DESC, s.n LIMIT 1) l'),
	('SELECT a.id, (SELECT s.n FROM seen s WHERE s.w + 1::smallint = a.w AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) FROM ask a'),
	('SELECT a.id, (SELECT s.p FROM seen s WHERE s.b - 3 = a.b AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) FROM ask a'),
	('SELECT a.id, (SELECT s.t FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) FROM ask a'),
	('SELECT a.id, (SELECT s.n FROM seen s WHERE s.day + 7 = a.day ORDER BY s.n LIMIT 1) FROM ask a'),
	('SELECT a.id, (SELECT count(*) FROM seen s WHERE s.at + interval ''1 day'' = a.at) FROM ask a'),
	('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE date_trunc(''week'', s.at) = date_trunc(''week'', a.at)) FROM ask a'),
	('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE s.w = a.w AND date_trunc(''month'', s.day) = date_trunc(''month'', a.day) - interval ''1 month'') FROM ask a'),
	('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE date_trunc(''week'', s.day) + interval ''7 days'' = date_trunc(''week'', a.day)) FROM ask a'),
	('SELECT a.id, (SELECT count(*) FROM seen s WHERE extract(week FROM s.day) = extract(week FROM a.day) AND s.w = a.w) FROM ask a'),
	('SELECT a.id, (SELECT s.n FROM seen s WHERE extract(dow FROM s.at) = extract(dow FROM a.day) AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) FROM ask a'),
	('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE s.k + 1 = a.k) FROM ask a'),
	('SELECT a.id, (SELECT sum(s.p) FROM seen s WHERE s.k + 1 = a.k AND s.n > a.id) FROM ask a'),
	('SELECT a.id, (SELECT avg(s.f) FROM seen s WHERE s.k * 3 - 1 = a.k AND s.n < 900) FROM ask a'),
	('SELECT a.id, l.* FROM ask a, LATERAL (SELECT count(*) c, max(s.at) m FROM seen s WHERE s.k + 1 = a.k) l'),
	('SELECT a.id FROM ask a WHERE a.id > (SELECT min(s.n) FROM seen s WHERE s.k + 4 = a.k)'),
	('SELECT a.id, EXISTS (SELECT FROM seen s WHERE s.k + 9 = a.k AND s.n < 50) FROM ask a'),
	('SELECT a.id FROM ask a WHERE a.id < 9 OR EXISTS (SELECT FROM seen s WHERE s.k + 9 = a.k AND s.n < 50)'),
	('SELECT a.w, count(*), sum(l.n), max(l.p) FROM ask a, LATERAL (SELECT s.n, s.p FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l GROUP BY a.w'),
	('SELECT sum((SELECT s.p FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1)), max((SELECT s.at FROM seen s WHERE s.k = a.k + a.w AND s.at <= a.at ORDER BY s.at DESC LIMIT 1)) FROM ask a'),
	('SELECT count(*), sum((SELECT s.b FROM seen s WHERE s.k = a.k - 1 AND s.at <= a.at + interval ''1 day'' ORDER BY s.at DESC, s.n LIMIT 1)) FROM ask a'),
	('SELECT a.id, l.* FROM ask a LEFT JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k + 1 = a.k AND s.day >= a.day AND s.day <= a.day + 9 ORDER BY s.day, s.n LIMIT 1) l ON true'),
	('SELECT a.id, l.* FROM ask a LEFT JOIN LATERAL (SELECT s.n FROM nothing s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC LIMIT 1) l ON true'),
	('SELECT a.id, l.* FROM ask a, LATERAL (SELECT s.n FROM nothing s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC LIMIT 1) l');
SELECT compare(query), query FROM tried;
-- values at the ends: whoever looks at one gets an error, and no other
INSERT INTO ask VALUES (302, 2147483647, 32767, 9223372036854775807, '294276-12-31', '5874897-12-31'), (303, -2147483648, -32768, -9223372036854775808, '4713-01-01 BC', '4713-01-01 BC');
SELECT compare(query) FROM tried;
DELETE FROM ask WHERE id > 301;
INSERT INTO seen VALUES (2147483647, 32767, 9223372036854775807, '294276-12-31', '5874897-12-31', 1504, 1, 'y', 2);
SELECT compare(query) FROM tried;
SELECT compare(replace(query, 'WHERE s.', 'WHERE s.n < 1504 AND s.')) FROM tried;
SELECT compare(replace(query, ' seen ', ' (SELECT * FROM seen WHERE n < 1504 OFFSET 0) ')) FROM tried;
DELETE FROM seen WHERE n = 1504;
INSERT INTO seen VALUES (-2147483648, -32768, -9223372036854775808, '4713-01-01 BC', '4713-01-01 BC', 1504, 1, 'y', 2);
SELECT compare(query) FROM tried;
DELETE FROM seen WHERE n = 1504;
-- a WITH query that may raise an error, which the query around reads to its end, and one that it does not
SELECT compare('WITH m AS (SELECT s.w, date_trunc(''month'', s.day) mo, sum(s.n) t FROM seen s GROUP BY 1, 2) SELECT a.w, a.mo, a.t - (SELECT b.t FROM m b WHERE b.w = a.w AND b.mo = a.mo - interval ''1 month'') d FROM m a');
SELECT compare('WITH m AS (SELECT s.w, date_trunc(''month'', s.day) mo, sum(s.n) t FROM seen s GROUP BY 1, 2) SELECT a.w, a.mo, (SELECT b.t FROM m b WHERE b.w = a.w AND b.mo = a.mo - interval ''1 month'') d, (SELECT count(*) FROM m b WHERE b.w = a.w AND b.mo < a.mo) c FROM m a ORDER BY 1, 2 LIMIT 20');
SELECT compare('WITH m AS (SELECT s.w, 7 / (s.w - 5) x, sum(s.n) t FROM seen s GROUP BY 1, 2) SELECT a.w, (SELECT sum(b.t) FROM m b WHERE b.w = a.w) d FROM m a');
SELECT compare('WITH m AS (SELECT s.w, 7 / (s.w - 5) x, sum(s.n) t FROM seen s GROUP BY 1, 2) SELECT a.id, (SELECT sum(b.t) FROM m b WHERE b.w = a.w) d FROM ask a WHERE a.id < 0');
-- EXISTS and NOT IN that conditions on the outer row alone correlate: an EXISTS that is asked for once
SELECT compare('SELECT a.id, EXISTS (SELECT FROM seen s WHERE a.k = 5 AND s.n > 7) FROM ask a', 'GpucolScan|GpucolJoin', 'once');
SELECT compare('SELECT a.id, EXISTS (SELECT FROM seen s WHERE a.k = 5 AND s.n < 0) FROM ask a WHERE a.w = 3 OR NOT EXISTS (SELECT FROM seen s WHERE a.k = 5 AND a.w > 2)', 'GpucolScan|GpucolJoin', 'once');
SELECT compare('SELECT a.id FROM ask a WHERE (a.k, a.w) NOT IN (SELECT s.k, 3 FROM seen s WHERE s.n < 400)');
SELECT compare('SELECT a.id FROM ask a WHERE (a.k, a.w) NOT IN (SELECT s.k, 3 FROM seen s WHERE s.n < 400 AND s.k IS NOT NULL)');
SELECT compare('SELECT a.id FROM ask a WHERE (a.k, 5) NOT IN (SELECT s.k, s.w FROM seen s)');
SELECT compare('SELECT a.id FROM ask a WHERE (a.k, a.w) NOT IN (SELECT s.k, NULL::int FROM seen s WHERE s.n < 40)');
SELECT compare('SELECT a.id, (a.k, a.w) NOT IN (SELECT s.k, 3 FROM seen s WHERE s.n < 400) FROM ask a');
SELECT compare('SELECT a.id, (a.k, a.w) IN (SELECT 5, s.w FROM nothing s) FROM ask a');
-- percentiles and modes
SELECT compare('SELECT a.id FROM ask a WHERE a.id > (SELECT percentile_cont(0.05) WITHIN GROUP (ORDER BY s.n) FROM seen s WHERE s.k = a.k)');
SELECT compare('SELECT a.id, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY s.t) FROM seen s WHERE s.k + 1 = a.k), (SELECT mode() WITHIN GROUP (ORDER BY s.w) FROM seen s WHERE s.k = a.k) FROM ask a');
SELECT compare('SELECT a.id, l.* FROM ask a, LATERAL (SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY s.f DESC) p, percentile_disc(0) WITHIN GROUP (ORDER BY s.at) q, count(*) c FROM seen s WHERE s.k = a.k) l');
SELECT compare('SELECT a.id, (SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY s.n) FROM seen s WHERE s.k = a.k) FROM ask a');
SELECT compare('SELECT a.id, (SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY s.n) FROM seen s WHERE s.k = a.k) FROM ask a');
SELECT compare('SELECT a.id, (SELECT percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY s.n) FROM seen s WHERE s.k = a.k) FROM ask a');
SELECT compare('SELECT a.id, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY s.n + 1) FILTER (WHERE s.n < 900) FROM seen s WHERE s.k = a.k) FROM ask a');
SELECT compare('SELECT a.id, (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.n) FROM nothing s WHERE s.k = a.k) FROM ask a');
-- units that dates have not, and that are no constants
SELECT compare('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE date_trunc(CASE WHEN s.n > 0 THEN ''week'' END, s.at) = a.at) FROM ask a');
SELECT compare('SELECT a.id, (SELECT sum(s.n) FROM seen s WHERE extract(hour FROM s.at) = a.k) FROM ask a');
-- several rows of those that LIMIT leaves out are no error
SELECT compare('SELECT a.id, (SELECT s.n FROM seen s WHERE s.k = a.id - 5) FROM ask a ORDER BY a.id LIMIT 3');
SELECT compare('SELECT a.id, (SELECT s.n FROM seen s WHERE s.k = a.id - 5 AND a.w < 99) + 1 FROM ask a ORDER BY a.id OFFSET 1 LIMIT 2');
-- several rows of a computed key, and a join around that pads the row, stay
SELECT compare('SELECT a.id, l.* FROM ask a, LATERAL (SELECT s.n FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 2) l');
SELECT compare('SELECT a.id, l.* FROM ask b LEFT JOIN (ask a CROSS JOIN LATERAL (SELECT s.n FROM seen s WHERE s.k + 1 = a.k ORDER BY s.n LIMIT 1) l) ON a.id = b.id');
EXPLAIN (COSTS OFF) SELECT count(*), sum(l.n) FROM ask a, LATERAL (SELECT s.n FROM seen s WHERE s.k + 1 = a.k AND s.at <= a.at ORDER BY s.at DESC, s.n LIMIT 1) l;
-- a sum has as many values as there are groups of it: few rows ask, and each is executed
EXPLAIN (COSTS OFF) SELECT x.k, (SELECT count(*) FROM (SELECT k, sum(n) t FROM seen GROUP BY k, n) y WHERE y.t > x.t) FROM (SELECT k, sum(n) t FROM seen GROUP BY k, n) x ORDER BY x.t DESC, 1 LIMIT 3;
DROP SCHEMA subquery_sums CASCADE;
