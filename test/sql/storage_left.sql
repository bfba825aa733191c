-- A load that fails while it overwrites free pages leaves none of them empty in its buffer,
-- where heap would put rows that a later load overwrites.
-- What fails it: a temporary table has few buffers, and cursors keep most of them.
\set VERBOSITY terse
SET client_min_messages = warning;
SET temp_buffers = 100;
CREATE TEMP TABLE pins (i int, pad text);
ALTER TABLE pins ALTER pad SET STORAGE plain;
INSERT INTO pins SELECT i, repeat('x', 7000) FROM generate_series(1, 100) i;
CREATE TEMP TABLE t (id int, v text) USING gpucol;
ALTER TABLE t ALTER v SET STORAGE plain;

-- pages that are free, and were a segment's
BEGIN;
INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 16384) i;
SELECT sum(pages) AS free, pg_relation_size('t') / current_setting('block_size')::int AS pages FROM gpucol.segments('t') \gset
ROLLBACK;
VACUUM t;
SELECT :free BETWEEN 64 AND 80 AS "two batches and more";

BEGIN;
DO $$
BEGIN
	FOR i IN 1 .. 78 LOOP
		EXECUTE format('DECLARE c%s CURSOR FOR SELECT i FROM pins WHERE ctid = ''(%s,1)''', i, i);
		EXECUTE format('MOVE 1 FROM c%s', i);
	END LOOP;
END $$;
SAVEPOINT s;
INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 16384) i;
ROLLBACK TO s;
COMMIT;
DROP TABLE pins;

-- heap looks for empty pages, and has rows for them
VACUUM (DISABLE_PAGE_SKIPPING, PROCESS_TOAST OFF) t;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP INSERT INTO t VALUES (-i, repeat('x', 7000)); END LOOP; END $$;
SELECT count(*), count(*) FILTER (WHERE (ctid::text::point)[0] >= :pages - :free AND (ctid::text::point)[0] < :pages) AS "in pages of segments" FROM t;
INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 16384) i;
SELECT count(*), min(id), max(id) FROM t;
SELECT pg_relation_size('t') / current_setting('block_size')::int - :pages < :free AS "free pages were used";
DROP TABLE t;
