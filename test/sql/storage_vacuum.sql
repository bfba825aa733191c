-- VACUUM of segments: index entries of dead rows, tombstones folded into bitmaps,
-- pages of dead segments used again. Temporary tables, because no other session's
-- snapshot holds their dead rows.
SET enable_seqscan = off;
CREATE TEMP TABLE sv (id int, k int, t text) USING gpucol;
-- (segments are packed together in storage_pack)
SECURITY LABEL FOR gpucol ON TABLE sv IS 'automerge_enabled = off';
INSERT INTO sv SELECT i, i % 100, 'row ' || i FROM generate_series(1, 41000) i;
CREATE INDEX sv_id ON sv (id);
CREATE INDEX sv_k ON sv USING hash (k);
CREATE TEMP TABLE sv_heap USING heap AS SELECT * FROM sv;

-- rows of the TOAST relation that say which segment rows are gone
CREATE FUNCTION pg_temp.directory(kind text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	base int := CASE kind WHEN 'bitmap' THEN 1024 WHEN 'tombstone' THEN 4096 ELSE 16 END;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s WHERE chunk_id BETWEEN %s AND %s',
		(SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'sv'::regclass),
		base, base + 255) INTO n;
	RETURN n;
END $$;
CREATE FUNCTION pg_temp.check(OUT missing bigint, OUT extra bigint, OUT by_index bigint)
LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM (SELECT * FROM sv_heap EXCEPT ALL SELECT * FROM sv) d),
		(SELECT count(*) FROM (SELECT * FROM sv EXCEPT ALL SELECT * FROM sv_heap) d),
		(SELECT count(*) FROM sv WHERE id > 0)
$$;

DELETE FROM sv WHERE id % 3 = 0;
DELETE FROM sv_heap WHERE id % 3 = 0;
SELECT pg_temp.directory('tombstone') AS tombstones, pg_temp.directory('bitmap') AS bitmaps;

-- told to leave indexes alone, VACUUM leaves the tombstones too
VACUUM (INDEX_CLEANUP OFF) sv;
SELECT pg_temp.directory('tombstone') AS tombstones, pg_temp.directory('bitmap') AS bitmaps;
SELECT * FROM pg_temp.check();

VACUUM sv;
SELECT pg_temp.directory('tombstone') AS tombstones, pg_temp.directory('bitmap') AS bitmaps;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('sv', 'sv_id', 'sv_k') ORDER BY 1;
SELECT sum(deleted) FROM gpucol.segments('sv');
SELECT * FROM pg_temp.check();
REINDEX TABLE sv;
SELECT * FROM pg_temp.check();

-- a second fold into the same bitmaps; updates
UPDATE sv SET t = 'new' WHERE id % 5 = 0;
UPDATE sv_heap SET t = 'new' WHERE id % 5 = 0;
VACUUM sv;
SELECT pg_temp.directory('tombstone') AS tombstones, pg_temp.directory('bitmap') AS bitmaps;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('sv', 'sv_id', 'sv_k') ORDER BY 1;
SELECT * FROM pg_temp.check();
SELECT count(*), sum(id), min(id), max(id) FROM sv;

-- a handful of dead rows is not worth reading the indexes, unless asked to
DELETE FROM sv WHERE id BETWEEN 30001 AND 30010;
DELETE FROM sv_heap WHERE id BETWEEN 30001 AND 30010;
VACUUM sv;
SELECT pg_temp.directory('tombstone') > 0 AS kept;
VACUUM (INDEX_CLEANUP ON) sv;
SELECT pg_temp.directory('tombstone') AS tombstones;
SELECT * FROM pg_temp.check();

-- a failed load leaves index entries and pages; the next load takes the pages
BEGIN;
INSERT INTO sv SELECT i, i % 100, md5(i::text) FROM generate_series(100001, 140000) i;
SELECT count(*) FROM sv WHERE id > 100000;
ROLLBACK;
VACUUM sv;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('sv', 'sv_id') ORDER BY 1;
SELECT pg_relation_size('sv') AS before \gset
INSERT INTO sv SELECT i, i % 100, md5(i::text) FROM generate_series(100001, 135000) i;
INSERT INTO sv_heap SELECT i, i % 100, md5(i::text) FROM generate_series(100001, 135000) i;
SELECT count(*) FROM sv WHERE id > 100000;
-- the first thousand rows of a command go to the delta
SELECT pg_relation_size('sv') - :before < 20 * current_setting('block_size')::int AS reused;
SELECT * FROM pg_temp.check();
SELECT * FROM gpucol.verify('sv');

-- a segment whose last row dies goes, and its pages with the next VACUUM
SELECT count(*) FROM gpucol.segments('sv');
DELETE FROM sv WHERE id <= 41000;
DELETE FROM sv_heap WHERE id <= 41000;
VACUUM sv;
SELECT count(*) FROM gpucol.segments('sv');
SELECT pg_temp.directory('tombstone') AS tombstones;
VACUUM sv;
SELECT pg_relation_size('sv') AS before \gset
INSERT INTO sv SELECT i, i % 100, 'row ' || i FROM generate_series(1, 40000) i;
INSERT INTO sv_heap SELECT i, i % 100, 'row ' || i FROM generate_series(1, 40000) i;
SELECT count(*) FROM sv;
SELECT pg_relation_size('sv') - :before < 20 * current_setting('block_size')::int AS reused;
SELECT * FROM pg_temp.check();
SELECT * FROM gpucol.verify('sv');

-- what was reused survives a rewrite
VACUUM FULL sv;
SELECT * FROM pg_temp.check();
DELETE FROM sv WHERE id % 2 = 0;
DELETE FROM sv_heap WHERE id % 2 = 0;
VACUUM FULL sv;
VACUUM sv;
SELECT * FROM pg_temp.check();
SELECT * FROM gpucol.verify('sv');
DROP TABLE sv, sv_heap;

-- statistics: rows read by the engine, rows after VACUUM, the planner's estimate
CREATE TABLE sv_stats (id int, v int) USING gpucol;
INSERT INTO sv_stats SELECT i, i FROM generate_series(1, 20000) i;
DELETE FROM sv_stats WHERE id <= 5000;
SELECT pg_stat_force_next_flush();
VACUUM (INDEX_CLEANUP ON) sv_stats;
SET gpucol.pushdown = require;
SELECT sum(v) FROM sv_stats;
RESET gpucol.pushdown;
SELECT pg_stat_force_next_flush();
SELECT n_live_tup, n_tup_ins, n_tup_del, vacuum_count, seq_tup_read >= 15000 + 20000 AS read FROM pg_stat_user_tables WHERE relname = 'sv_stats';
SELECT reltuples FROM pg_class WHERE relname = 'sv_stats';
CREATE FUNCTION pg_temp.estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	EXECUTE 'EXPLAIN ' || query INTO line;
	RETURN substring(line FROM 'rows=\d+');
END $$;
SELECT pg_temp.estimate('SELECT * FROM sv_stats');
DROP TABLE sv_stats;

-- more runs of free pages than are remembered at a time: the others come later
CREATE TABLE sv_runs (id int, t text) USING gpucol;
CREATE PROCEDURE sv_load(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first..last LOOP
    INSERT INTO sv_runs SELECT i * 1500 + g, md5(g::text) FROM generate_series(0, 1499) g;
  END LOOP;
END $$;
CALL sv_load(0, 279);
SELECT count(*) FROM gpucol.segments('sv_runs');
DELETE FROM sv_runs WHERE id / 1500 % 2 = 0;
VACUUM sv_runs;
VACUUM sv_runs;
SELECT pg_relation_size('sv_runs') AS before \gset
CALL sv_load(280, 397);
VACUUM sv_runs;
CALL sv_load(398, 419);
SELECT pg_relation_size('sv_runs') - :before < 20 * current_setting('block_size')::int AS reused;
SELECT count(*), count(DISTINCT id) FROM sv_runs;
SELECT * FROM gpucol.verify('sv_runs');
DROP TABLE sv_runs;
DROP PROCEDURE sv_load;

-- a scan is counted once
CREATE TABLE sv_scans (k int, t text) USING gpucol;
INSERT INTO sv_scans VALUES (1, 'a');
SELECT * FROM sv_scans;
SELECT pg_stat_force_next_flush();
SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'sv_scans';
DROP TABLE sv_scans;
-- and its packed rows are, though the CPU engine looks at their segments before it reads them
SET gpucol.engine = cpu;
CREATE TABLE sv_packed USING gpucol AS SELECT g AS k, 't' || g AS t FROM generate_series(1, 3000) g;
SELECT k, t FROM sv_packed WHERE k = 7;
SELECT * FROM sv_packed WHERE upper(t) = 'T9' ORDER BY k;
SELECT pg_stat_force_next_flush();
SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'sv_packed';
RESET gpucol.engine;
DROP TABLE sv_packed;
