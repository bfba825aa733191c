-- Texts that segments keep as they are, since nearly each differs from all others: the device numbers
-- them where they are few.  Conditions, groups, extremes, joins and rows of them, beside segments
-- with a dictionary, NULLs, deleted rows and rows that are not packed; the answers are those of heap twins.
CREATE SCHEMA text_raw;
SET search_path = text_raw, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.segment_rows = 2048;
CREATE TABLE h_raw AS SELECT i AS id, i % 7 AS k, CASE WHEN i % 11 > 0 THEN md5(i::text) || repeat('x', i % 5) END AS t,
	CASE WHEN i > 4096 THEN 'name ' || i % 5 ELSE 'name ' || i END AS mixed, CASE WHEN i <= 2048 THEN NULL ELSE chr(65 + i % 26) || i END AS late,
	CASE WHEN i % 3 = 0 THEN '' ELSE 'Ä' || md5((i % 1500)::text) END AS twice
	FROM generate_series(1, 9000) i;
CREATE TABLE raw USING gpucol AS TABLE h_raw;
DELETE FROM raw WHERE id % 13 = 0;
DELETE FROM h_raw WHERE id % 13 = 0;
INSERT INTO raw SELECT 20000 + id, k, t, mixed, late, twice FROM h_raw WHERE id < 200;
INSERT INTO h_raw SELECT 20000 + id, k, t, mixed, late, twice FROM h_raw WHERE id < 200;
INSERT INTO raw VALUES (30000, 1, 'new', 'new', '', NULL), (30001, 2, NULL, NULL, NULL, NULL);
INSERT INTO h_raw VALUES (30000, 1, 'new', 'new', '', NULL), (30001, 2, NULL, NULL, NULL, NULL);
CREATE TABLE h_few AS SELECT i AS k, 'few ' || i AS name, CASE WHEN i < 6 THEN 'only ' || i END AS word FROM generate_series(0, 6) i;
CREATE TABLE few USING gpucol AS TABLE h_few;
CREATE TABLE h_one AS SELECT 3 AS k, 'the only one' AS name;
CREATE TABLE one USING gpucol AS TABLE h_one;
ANALYZE;
\set tables 'raw|few|one'
\set sign 'Gpucol'
\set said 'by an engine'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\i :include
SET gpucol.pushdown = require;
SELECT compare('SELECT count(*), sum(id) FROM raw WHERE t LIKE ''%ab%c%''');
SELECT compare('SELECT count(*), sum(id) FROM raw WHERE t NOT LIKE ''a%'' AND k < 4');
SELECT compare('SELECT id, t FROM raw WHERE t LIKE ''%xx'' AND mixed < ''name 3''');
SELECT compare('SELECT id, t, mixed, late, twice FROM raw WHERE k = 3');
SELECT compare('SELECT id, t FROM raw WHERE t IN (md5(''5''), md5(''7'') || ''xx'', ''new'', '''') OR late = ''B27''');
SELECT compare('SELECT count(*), count(t), count(late) FROM raw WHERE late IS NULL OR t IS NULL');
SELECT compare('SELECT k, count(*) FROM raw WHERE mixed = ''name 4'' OR twice = '''' GROUP BY k');
SELECT compare('SELECT mixed, count(*), sum(id) FROM raw GROUP BY mixed');
SELECT compare('SELECT twice, k, count(*), min(id) FROM raw GROUP BY twice, k');
SELECT compare('SELECT k, min(t), max(t), min(mixed), max(late COLLATE "C"), count(DISTINCT twice), count(DISTINCT t) FROM raw GROUP BY k');
SELECT compare('SELECT substr(t, 1, 2) AS s, count(*) FROM raw WHERE substr(t, 1, 1) IN (''a'', ''b'', ''0'') GROUP BY 1');
SELECT compare('SELECT f.name, f.word, count(*), sum(r.id) FROM raw r JOIN few f ON r.k = f.k GROUP BY 1, 2');
SELECT compare('SELECT r.id, f.word, o.name FROM raw r LEFT JOIN few f ON r.k = f.k AND f.name NOT LIKE ''%2'' LEFT JOIN one o ON o.k = f.k WHERE r.id % 50 = 1');
SELECT compare('SELECT a.id, b.id FROM raw a JOIN raw b ON a.t = b.t AND a.id < b.id');
SELECT compare('SELECT count(*), count(b.id) FROM raw a FULL JOIN raw b ON a.twice = b.mixed');
SELECT compare('SELECT name, count(*) FROM one GROUP BY name');
SELECT compare('SELECT count(*) FROM one WHERE name LIKE ''the%''');
SELECT compare('SELECT t FROM raw WHERE id IN (20001, 30000, 30001)');
-- texts that are too long to be numbered: the device finds rows, whose texts are read here
SET gpucol.segment_rows = 2048;
CREATE TABLE h_long AS SELECT i AS id, i % 7 AS k, CASE WHEN i % 10 > 0 THEN repeat(md5((i % 90)::text), 1 + i % 170) END AS t, 'short ' || i AS s
	FROM generate_series(1, 5000) i;
CREATE TABLE long USING gpucol AS TABLE h_long;
DELETE FROM long WHERE id % 17 = 0;
DELETE FROM h_long WHERE id % 17 = 0;
INSERT INTO long SELECT 10000 + id, k, t, s FROM h_long WHERE id <= 100;
INSERT INTO h_long SELECT 10000 + id, k, t, s FROM h_long WHERE id <= 100;
ANALYZE long, h_long;
DROP FUNCTION compare;
\set tables 'raw|few|one|long'
\i :include
SELECT compare('SELECT * FROM long WHERE id % 100 = 3');
SELECT compare('SELECT t, s, id FROM long WHERE id > 4990');
SELECT compare('SELECT * FROM long');
SELECT compare('SELECT id, t IS NULL, t FROM long WHERE t IS NULL OR id < 20');
SELECT compare('SELECT id, t FROM long WHERE t LIKE ''c4%'' AND id < 900');
SELECT compare('SELECT id, t FROM long WHERE s LIKE ''%77%''');
SELECT compare('SELECT count(*), count(t) FROM long');
SELECT compare('SELECT * FROM (SELECT id, t, s FROM long ORDER BY k DESC, id LIMIT 20) x');
SELECT compare('SELECT * FROM (SELECT t, id FROM long ORDER BY id DESC LIMIT 105) x');
SELECT compare('SELECT l.id, l.t, f.name FROM long l JOIN few f ON l.k = f.k WHERE l.id % 60 = 1');
SELECT compare('SELECT l.t, f.name FROM long l FULL JOIN (SELECT k + 3 AS k, name FROM few) f ON l.k = f.k AND l.id % 50 = 1 WHERE l.id % 50 = 1 OR l.id IS NULL');
SELECT compare('SELECT a.t, b.s FROM long a JOIN long b ON a.id = b.id - 10000');
SELECT compare('SELECT t FROM long WHERE id < 0');
DROP SCHEMA text_raw CASCADE;
