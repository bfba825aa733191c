-- BRIN on packed rows and rows of the delta: bitmap scans find what a scan of a heap twin finds,
-- after loads, updates, deletes, VACUUM, merges, rewrites and summaries made at any time.
SET client_min_messages = warning;
SET jit = off;
CREATE TABLE br (id int, d date, t text, n numeric, box box) USING gpucol;
CREATE TABLE br_heap (LIKE br) USING heap;

-- what a condition finds by BRIN alone in br, and in the heap table: rows that only one of them has
CREATE FUNCTION br_differ(condition text, OUT differ bigint, OUT rows bigint, OUT plan text) LANGUAGE plpgsql
SET enable_seqscan = off SET gpucol.pushdown = forbid SET enable_indexscan = off AS $$
DECLARE
	line text;
BEGIN
	EXECUTE format('SELECT count(*) FROM ((SELECT id, d, t, n FROM br WHERE %1$s EXCEPT ALL SELECT id, d, t, n FROM br_heap WHERE %1$s)'
		' UNION ALL (SELECT id, d, t, n FROM br_heap WHERE %1$s EXCEPT ALL SELECT id, d, t, n FROM br WHERE %1$s)) x', condition) INTO differ;
	EXECUTE format('SELECT count(*) FROM br WHERE %s', condition) INTO rows;
	plan := '';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*) FROM br WHERE ' || condition LOOP
		IF line ~ 'Bitmap|Seq Scan' THEN
			plan := plan || substring(line FROM 'Bitmap Index Scan.*|Bitmap.*|Seq Scan') || '; ';
		END IF;
	END LOOP;
END $$;
CREATE VIEW br_check AS SELECT condition, (br_differ(condition)).* FROM (VALUES
	('id BETWEEN 1000 AND 1100'), ('id = 44444'), ('id < 0'), ('id > 60000'), ('d = ''2021-01-01'''), ('d IS NULL'), ('d > ''2022-06-15'''),
	('t = ''x77'''), ('n < 3'), ('id BETWEEN 20000 AND 30000 AND id <> 25000'),
	('id = 5 OR d = ''2021-01-02'''), ('box && box(point(40, 40), point(50, 50))')) v(condition);

CREATE FUNCTION br_load(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO br SELECT g, nullif(date '2020-01-01' + g / 50, '2020-01-03'), 'x' || g % 1000, g / 7.0, box(point(g % 1000, g % 1000), point(g % 1000 + 1, g % 1000 + 1))
		FROM generate_series(first, last) g;
	INSERT INTO br_heap SELECT * FROM br WHERE id BETWEEN first AND last;
$$;

-- built over packed rows and the delta, of small and of large ranges
SELECT br_load(1, 40000);
INSERT INTO br VALUES (-1, '2021-01-01', 'x77', 1, NULL), (-2, NULL, NULL, NULL, NULL);
INSERT INTO br_heap SELECT * FROM br WHERE id < 0;
CREATE INDEX br_id ON br USING brin (id) WITH (pages_per_range = 1);
CREATE INDEX br_d ON br USING brin (d) WITH (pages_per_range = 3);
CREATE INDEX br_t ON br USING brin (t text_bloom_ops, n) WITH (pages_per_range = 2);
CREATE INDEX br_box ON br USING brin (box) WITH (pages_per_range = 2);
SELECT * FROM br_check;
-- it leaves blocks out
SET enable_seqscan = off;
SET gpucol.pushdown = forbid;
SET enable_bitmapscan = on;
CREATE FUNCTION br_blocks(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'lossy=' THEN
			RETURN substring(line FROM 'lossy=(\d+)');
		END IF;
	END LOOP;
END $$;
SELECT br_blocks('SELECT * FROM br WHERE id = 44') AS one, br_blocks('SELECT * FROM br WHERE id BETWEEN 1000 AND 1010') < 4 AS few;
RESET enable_seqscan;
RESET gpucol.pushdown;

-- loads behind the summaries, and into a range that has one
SELECT br_load(40001, 45000);
SELECT br_load(60001, 60002);
SELECT * FROM br_check;
SELECT brin_summarize_new_values('br_id') > 0 AS id, brin_summarize_new_values('br_d') > 0 AS d;
SELECT br_load(45001, 46500);
SELECT * FROM br_check;
-- updates, deletes, rollbacks
UPDATE br SET d = '2021-01-01', id = id + 100000 WHERE id % 1000 = 3;
UPDATE br_heap SET d = '2021-01-01', id = id + 100000 WHERE id % 1000 = 3;
DELETE FROM br WHERE id % 10 = 4;
DELETE FROM br_heap WHERE id % 10 = 4;
BEGIN;
SELECT br_load(70001, 72000);
SELECT * FROM br_check WHERE condition ~ '60000';
SAVEPOINT s;
SELECT br_load(80001, 82000);
ROLLBACK TO s;
SELECT * FROM br_check WHERE condition ~ '60000';
ROLLBACK;
SELECT * FROM br_check;
-- VACUUM summarises; pages of dead segments are taken again
VACUUM br;
DELETE FROM br WHERE id BETWEEN 1 AND 39000;
DELETE FROM br_heap WHERE id BETWEEN 1 AND 39000;
VACUUM br;
VACUUM br;
SELECT br_load(2001, 5000);
SELECT br_load(48001, 52000);
SELECT * FROM br_check;
-- merges and packing together
SELECT gpucol.merge('br') > 0 AS merged;
SELECT * FROM br_check;
VACUUM br;
SELECT * FROM br_check;
-- desummarised by hand, and summarised
SELECT count(brin_desummarize_range('br_id', g)) FROM generate_series(0, 9) g;
SELECT * FROM br_check WHERE condition ~ 'id';
SELECT brin_summarize_range('br_id', 3);
SELECT * FROM br_check WHERE condition ~ 'id';
-- built anew in all ways
REINDEX INDEX CONCURRENTLY br_d;
CREATE INDEX CONCURRENTLY br_n ON br USING brin (n numeric_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE INDEX br_part ON br USING brin (abs(id)) WHERE id < 0;
SELECT * FROM br_check;
SELECT br_load(6001, 8000);
SELECT * FROM br_check;
VACUUM FULL br;
SELECT * FROM br_check;
-- beside a btree no bitmap has both: of an AND one kind, of an OR none
CREATE INDEX br_btree ON br (d);
CREATE INDEX br_btree_t ON br (t);
SELECT * FROM br_check;
SELECT differ, rows, plan ~ 'BitmapAnd; (Bitmap Index Scan on br_btree(_t)?; ){2}$' AS both FROM br_differ('t = ''x77'' AND d = ''2021-01-02'' AND id > 3');
SELECT differ, rows FROM br_differ('(t = ''x77'' OR id = 2500) AND d > ''2020-04-01''');
SELECT differ, rows FROM br_differ('(t = ''x77'' OR t = ''x78'') AND n > 3');
SELECT count(*) FROM br_heap h, LATERAL (SELECT b.id FROM br b WHERE b.id = h.id AND b.t = h.t OFFSET 0) x WHERE h.id BETWEEN 2100 AND 2110;
-- a serializable reader by BRIN, rows locked by it, and found through it by another statement
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_indexscan = off;
DROP INDEX br_btree, br_btree_t;
SELECT count(*) FROM (SELECT id FROM br WHERE id BETWEEN 2400 AND 2410 FOR UPDATE) x;
UPDATE br SET t = 'locked' WHERE id BETWEEN 2400 AND 2410;
SELECT count(*) FROM br WHERE t = 'locked';
ROLLBACK;
SELECT * FROM gpucol.verify('br');
-- on a standby's terms: an unlogged table, a partition, a temporary table
CREATE UNLOGGED TABLE br_unlogged (a int) USING gpucol;
CREATE INDEX ON br_unlogged USING brin (a);
INSERT INTO br_unlogged SELECT generate_series(1, 5000);
CREATE TEMP TABLE br_temp (a int) USING gpucol;
INSERT INTO br_temp SELECT generate_series(1, 5000);
CREATE INDEX ON br_temp USING brin (a) WITH (autosummarize = on, pages_per_range = 1);
INSERT INTO br_temp SELECT generate_series(5001, 30000);
SET enable_seqscan = off;
SET gpucol.pushdown = forbid;
SELECT (SELECT count(*) FROM br_unlogged WHERE a > 4990) AS unlogged, (SELECT count(*) FROM br_temp WHERE a > 29990) AS temp;
EXPLAIN (COSTS OFF) SELECT count(*) FROM br_temp WHERE a > 29990;
-- a table that becomes gpucol's with its index
CREATE TABLE br_became (a int) USING heap;
INSERT INTO br_became SELECT generate_series(1, 9000);
CREATE INDEX ON br_became USING brin (a) WITH (pages_per_range = 1);
ALTER TABLE br_became SET ACCESS METHOD gpucol;
SELECT count(*) FROM br_became WHERE a > 8990;
EXPLAIN (COSTS OFF) SELECT count(*) FROM br_became WHERE a > 8990;
DROP TABLE br, br_heap, br_unlogged, br_temp, br_became CASCADE;
DROP FUNCTION br_differ, br_load, br_blocks CASCADE;
