-- VACUUM FULL packs segments together that are small, or of which many rows are dead, in the
-- order that the rows have; others are copied.
CREATE SCHEMA compact;
SET search_path = compact, public;
SET gpucol.segment_rows = 65536;

CREATE TABLE loads (id int PRIMARY KEY, label text) USING gpucol;
SECURITY LABEL FOR gpucol ON TABLE loads IS 'automerge_enabled = off';
INSERT INTO loads SELECT g, 't' || g % 7 FROM generate_series(1, 66536) g;
DO $$
BEGIN
	FOR k IN 0..19 LOOP
		INSERT INTO loads SELECT g, 't' || g % 7 FROM generate_series(k * 3000 + 100000, k * 3000 + 102500) g;
	END LOOP;
END $$;
DELETE FROM loads WHERE id > 70000 AND id % 5 < 3;
DELETE FROM loads WHERE id < 100;
CREATE TABLE loads_heap USING heap AS SELECT * FROM loads;
-- what waits: rows one by one, deletions, segments; those that who asks sees
BEGIN;
INSERT INTO loads VALUES (-1, 'one'), (-2, 'two');
SELECT work, done_by, rows, segments, bytes > 0 AS bytes FROM gpucol.waiting('loads');
ROLLBACK;
SELECT work, done_by, rows, segments, bytes > 0 AS bytes FROM gpucol.waiting('loads');
VACUUM loads;
-- (an old snapshot may keep deletions from being folded)
SELECT work, done_by, rows, segments, bytes > 0 AS bytes FROM gpucol.waiting('loads') WHERE work <> 'deletions to fold';
SELECT count(*) > 15 AS many, sum(deleted) > 15000 AS dead FROM gpucol.segments('loads');

VACUUM FULL loads;
-- the first is full and was copied; all others are one
SELECT rows, deleted FROM gpucol.segments('loads') ORDER BY segment;
SELECT work, done_by, rows, segments, bytes > 0 AS bytes FROM gpucol.waiting('loads') WHERE work <> 'deletions to fold';
(TABLE loads EXCEPT ALL TABLE loads_heap) UNION ALL (TABLE loads_heap EXCEPT ALL TABLE loads);
SELECT * FROM gpucol.verify('loads');
SET enable_seqscan = off;
SELECT * FROM loads WHERE id = 157004;
RESET enable_seqscan;

-- again, after more deletions, some of them rolled back
BEGIN;
DELETE FROM loads WHERE id = 157004;
ROLLBACK;
DELETE FROM loads WHERE id > 140000;
VACUUM FULL loads;
SELECT rows, deleted FROM gpucol.segments('loads') ORDER BY segment;
SELECT count(*), sum(id) FROM loads;
SELECT count(*), sum(id) FROM loads_heap WHERE id <= 140000;

-- a table that was clustered keeps its order: all behind a sparse segment are packed anew
CREATE TABLE ordered USING gpucol AS SELECT g % 1000 AS key, g AS filler FROM generate_series(1, 262144) g;
CREATE INDEX ordered_key ON ordered (key);
CLUSTER ordered USING ordered_key;
DELETE FROM ordered WHERE key BETWEEN 260 AND 480;
VACUUM ordered;
VACUUM FULL ordered;
SELECT rows, deleted FROM gpucol.segments('ordered') ORDER BY segment;
SELECT count(*) AS out_of_order FROM (SELECT key, lag(key) OVER () AS before FROM ordered) rows WHERE before > key;
SELECT count(*), sum(filler) FROM ordered;

-- a column that was added since has its value in what is packed anew, and in what is copied
ALTER TABLE ordered ADD COLUMN extra int DEFAULT 7;
DELETE FROM ordered WHERE key BETWEEN 800 AND 999;
VACUUM ordered;
VACUUM FULL ordered;
SELECT count(*), count(extra), min(extra), max(extra) FROM ordered;
SELECT * FROM gpucol.verify('ordered');

SET client_min_messages = warning;
DROP SCHEMA compact CASCADE;
