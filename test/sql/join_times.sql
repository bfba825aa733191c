-- Joins by the time between two columns: bounds of a column beside the condition, by which sorted rows are searched.
SET client_min_messages = warning;
CREATE SCHEMA join_times;
SET search_path = join_times, public;
SET gpucol.engine = cpu;
SET timezone = 'UTC';
SET max_parallel_workers_per_gather = 0;

CREATE TABLE a (id int, k int, t timestamp, z timestamptz) USING gpucol;
CREATE TABLE b (id int, k int, t timestamp, z timestamptz) USING gpucol;
INSERT INTO a SELECT i, i % 9, timestamp '2024-01-01' + i * 7919 % 6000 * interval '1 minute', timestamptz '2024-01-01 UTC' + i * 977 % 6000 * interval '1 minute' FROM generate_series(1, 500) i;
INSERT INTO b SELECT i, i % 7, timestamp '2024-01-01' + i * 6151 % 6000 * interval '1 minute', timestamptz '2024-01-01 UTC' + i * 389 % 6000 * interval '1 minute' FROM generate_series(1, 600) i;
SELECT gpucol.merge('a') + gpucol.merge('b') > 0 AS merged;
DELETE FROM a WHERE id % 41 = 0;
UPDATE b SET t = t + interval '10 seconds 7 microseconds' WHERE id % 19 = 0;
INSERT INTO a VALUES (9001, NULL, NULL, NULL), (9002, 3, NULL, '2024-01-05 UTC'), (9003, 4, '2024-01-04 00:00:00.000001', NULL);
INSERT INTO b VALUES (9001, NULL, NULL, NULL), (9002, 3, '2024-01-04', NULL), (9003, 4, NULL, '2024-01-04 UTC');
CREATE TABLE none (LIKE a) USING gpucol;
ANALYZE a, b, none;

\set pattern 'Join: .*(infinity|interval)'
\set word bounded
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/raises.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT a.id, b.id AS other FROM a JOIN b ON b.t - a.t BETWEEN interval ''0'' AND interval ''3 minutes'''),
	('SELECT a.id, b.id AS other FROM a, b WHERE a.t - b.t <= interval ''2 minutes'' AND interval ''-1 minute'' <= a.t - b.t'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON extract(epoch FROM b.z - a.z) >= 0 AND extract(epoch FROM b.z - a.z) < 60.5'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON abs(extract(epoch FROM b.t - a.t)) < 61'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON abs(extract(epoch FROM b.t - a.t)) / 60 <= 2 AND a.id <> b.id'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON abs(date_part(''epoch'', b.t - a.t)) / 60.0 < 1.5 WHERE a.k > 2'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON b.t - a.t = interval ''1 minute'''),
	('SELECT a.id, b.id AS other FROM a JOIN b ON b.t - a.t > interval ''4 days'' AND b.t - a.t < interval ''4 days 1 hour'''),
	('SELECT a.id, b.id AS other FROM a JOIN b ON b.t - a.t >= interval ''-1 mon'' AND b.t - a.t < interval ''-4 days'' AND a.k < 2'),
	('SELECT a.k, count(*), min(b.id) FROM a JOIN b ON a.k = b.k AND b.t - a.t BETWEEN interval ''-5 minutes'' AND interval ''1 hour'' GROUP BY a.k'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON a.k = b.k AND abs(extract(epoch FROM b.z - a.z)) <= 600'),
	('SELECT a.id, b.id AS other FROM a JOIN b ON b.z - a.t BETWEEN interval ''0'' AND interval ''3 minutes'''),
	('SELECT a.id, b.id AS other FROM a JOIN b ON abs(extract(epoch FROM b.t - a.z)) < 100'),
	('SELECT a.id, b.id AS other FROM a LEFT JOIN b ON b.k = a.k AND b.t - a.t BETWEEN interval ''0'' AND interval ''3 minutes'''),
	('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND b.t - a.t BETWEEN interval ''0'' AND interval ''3 minutes'')'),
	('SELECT a.id, b.id AS other FROM a JOIN none b ON b.t - a.t BETWEEN interval ''0'' AND interval ''3 minutes'''),
	('SELECT a.id, b.id AS other FROM none a JOIN b ON b.t - a.t BETWEEN interval ''0'' AND interval ''3 minutes'''),
	('SELECT a.id, b.id AS other FROM a JOIN (SELECT * FROM b WHERE id = 9002) b ON b.t - a.t BETWEEN interval ''-1 day'' AND interval ''0''');
SELECT compare(query), query FROM tried;
-- by a search, not of all pairs
CREATE FUNCTION pairs(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Rows Removed by Filter' THEN RETURN NEXT line; END IF;
	END LOOP;
END
$$;
SELECT pairs(query) FROM tried LIMIT 2;
-- infinite times, of which there is no difference (or, from PostgreSQL 17 on, an infinite one), and such near the ends: the same
-- rows, or both raise an error
INSERT INTO b VALUES (9004, 3, 'infinity', 'infinity');
SELECT query, compare(query) FROM tried WHERE compare(query) ~ ', not |[1-9][0-9]* differences';
DELETE FROM b WHERE id = 9004;
INSERT INTO a VALUES (9005, 3, '-infinity', '-infinity');
SELECT query, compare(query) FROM tried WHERE compare(query) ~ ', not |[1-9][0-9]* differences';
DELETE FROM a WHERE id = 9005;
INSERT INTO a VALUES (9006, 3, '294276-12-31 23:59:59', '294276-12-31 23:59:59 UTC'), (9007, 3, '4713-01-01 BC', '4713-01-01 UTC BC');
INSERT INTO b VALUES (9006, 3, '294276-12-31 23:59:30', '294276-12-31 23:59:30 UTC'), (9007, 3, '4713-01-01 00:01 BC', '4713-01-01 00:01 UTC BC');
SELECT query, compare(query) FROM tried WHERE compare(query) ~ ', not |[1-9][0-9]* differences';
SET timezone = 'America/St_Johns';
SELECT query, compare(query) FROM tried WHERE compare(query) ~ ', not |[1-9][0-9]* differences';

DROP SCHEMA join_times CASCADE;
