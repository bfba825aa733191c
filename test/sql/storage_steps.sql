-- Columns whose values share a divisor (whole hours, round sums) are packed as
-- multiples of it; predicates, sums, extremes and groups on those codes give
-- PostgreSQL's own answers, on and off the grid, over segments of other grids.
SET client_min_messages = warning;
CREATE SCHEMA storage_steps;
SET search_path = storage_steps, public;
SET timezone = 'UTC';
SET datestyle = ISO;

\set node Gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE plain (id int, h timestamptz, i int, n bigint, p numeric(12,4), d date, g int) USING heap;
INSERT INTO plain
SELECT r, timestamptz '2013-01-01' + (r * 7919 % 8760) * interval '1 hour', (r * 31 % 2000 - 1000) * 25,
	CASE WHEN r % 10 <> 0 THEN (r * 101 % 5000) * 86400000000::bigint END, (r * 17 % 900) * 12.5,
	date '2000-01-03' + 7 * (r * 13 % 1500), (r % 40) * 100
FROM generate_series(1, 20000) r;
CREATE TABLE stepped USING gpucol AS SELECT * FROM plain;
SELECT column_name, coding, bit_width FROM gpucol.columns('stepped');
SELECT bool_and(bytes < heap_bytes / 2) AS small FROM gpucol.columns('stepped') WHERE column_name = 'h';
SELECT count(*) FROM (SELECT * FROM stepped EXCEPT ALL SELECT * FROM plain) x;
SELECT count(*) FROM (SELECT * FROM plain EXCEPT ALL SELECT * FROM stepped) x;

-- a second grid from another base, a third with another step, a constant, an
-- empty one, rows off every grid in the delta
INSERT INTO stepped SELECT id + 20000, h + interval '1 year', i + 50000, n + 86400000000, p + 12.5, d + 70, g + 1000 FROM plain;
INSERT INTO stepped SELECT id + 40000, h + interval '30 minutes', i * 3, n / 2, p + 0.0001, d + 1, g * 2 FROM plain WHERE id <= 3000;
INSERT INTO stepped SELECT id + 60000, '2013-05-05 05:00', 75, NULL, NULL, '2000-01-03', 300 FROM plain WHERE id <= 2000;
INSERT INTO stepped VALUES (90001, '2013-01-01 00:00:00.000001', 1, 1, 0.0001, '1999-12-31', 5), (90002, 'infinity', -2147483648, 9223372036854775807, 99999999.9999, 'infinity', NULL);
SELECT coding, bit_width, column_name FROM gpucol.columns('stepped') WHERE column_name IN ('i', 'p') ORDER BY segment, column_name;
DELETE FROM stepped WHERE id % 97 = 0;

CREATE TABLE conditions (id serial, condition text);
INSERT INTO conditions (condition) VALUES
	('h = ''2013-05-05 05:00'''), ('h = ''2013-05-05 05:00:01'''), ('h < ''2013-02-01'''), ('h <= ''2013-02-01 00:00:00.000001'''),
	('h > ''2014-12-31 22:59:59'''), ('h BETWEEN ''2013-06-01 00:30'' AND ''2013-06-01 03:30'''), ('h NOT BETWEEN ''2013-02-01'' AND ''2014-10-31'''),
	('h IN (''2013-05-05 05:00'', ''2013-05-05 05:30'', ''2013-05-05 05:45'', ''2014-07-07'')'), ('h <> ''2013-05-05 05:00'''),
	('i = 75'), ('i = 76'), ('i < -24975'), ('i <= -24999'), ('i > 74949'), ('i IN (1, 25, 26, 50, 100, 225, 50025)'), ('i NOT IN (25, 50)'),
	('n >= 432000000000000'), ('n < 86400000001'), ('n IS NULL'), ('n IN (86400000000, 5, NULL)'), ('n BETWEEN 1 AND 86399999999'),
	('p = 12.5'), ('p = 12.5001'), ('p > 11237.5'), ('p < 0.00005'), ('d = ''2001-01-01'''), ('d < ''2000-01-04'''), ('d > ''2028-10-01'''), ('g = 300 OR g = 301');
SELECT x FROM conditions, differ('SELECT * FROM stepped WHERE ' || condition) x WHERE x IS NOT NULL;
SELECT x FROM conditions, differ('SELECT count(*), count(n), sum(i), sum(n), sum(p), min(h), max(h), min(p), max(p), min(d), max(d), avg(n) FROM stepped WHERE ' || condition) x WHERE x IS NOT NULL;
SELECT x FROM conditions, differ('SELECT g, count(*), count(n), sum(i), sum(n), sum(p), min(h), max(h), min(p), max(p), min(d), max(d) FROM stepped WHERE ' || condition || ' GROUP BY g') x WHERE x IS NOT NULL;
SELECT x FROM unnest(ARRAY['h', 'i', 'n', 'p', 'd', 'g', 'd, g', 'n, g']) k, differ(format('SELECT %s, count(*), sum(i), max(n), min(p), sum(p) FROM stepped GROUP BY %s', k, k)) x WHERE x IS NOT NULL;
SELECT x FROM differ('SELECT h, i * 2 + g, CASE WHEN i > 0 THEN n END FROM stepped WHERE i + g > 100') x WHERE x IS NOT NULL;

-- single rows by index, and what rewrites and merges make of them
CREATE INDEX ON stepped (id);
SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off;
SELECT * FROM stepped WHERE id IN (77, 20077, 40078, 60078, 90001) ORDER BY id;
RESET enable_seqscan; RESET enable_bitmapscan; RESET gpucol.enabled;
SELECT count(*) AS problems FROM gpucol.verify('stepped');
CREATE TABLE copied USING gpucol AS SELECT * FROM stepped;
SELECT count(*) FROM (SELECT * FROM stepped EXCEPT ALL SELECT * FROM copied) x;

-- where one value breaks the step, and where codes would leave bigint
CREATE TABLE broken USING gpucol AS
SELECT CASE WHEN r = 1500 THEN 7 ELSE r * 100000 END AS a, 9223372036854775807 - r * 1000003::bigint AS b, -9223372036854775807 + r * 1000003::bigint AS c
FROM generate_series(1, 3000) r;
SELECT column_name, coding FROM gpucol.columns('broken');
SELECT sum(a), min(a), min(b), max(b), sum(b), min(c), max(c), sum(c) FROM broken;
SELECT x FROM differ('SELECT count(*), sum(c) FROM broken WHERE b > 9223372035854775807 AND c < -9223372034854775807') x WHERE x IS NOT NULL;

DROP SCHEMA storage_steps CASCADE;
