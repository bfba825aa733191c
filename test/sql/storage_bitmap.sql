-- Bitmap heap scans over delta and segments: exact and lossy, AND and OR, GIN, with
-- prefetching asked for; each query gives what a sequential scan of a heap gives.
CREATE TABLE sb (id int, a int, b int, t text, w int[]) USING gpucol;
INSERT INTO sb SELECT i, i % 1000, i % 777, 'word' || i % 500 || ' common', ARRAY[i % 50, i % 60]
	FROM generate_series(1, 30000) i;
INSERT INTO sb SELECT i, i % 1000, i % 777, 'word' || i % 500 || ' common', ARRAY[i % 50, i % 60]
	FROM generate_series(30001, 60000) i;
CREATE INDEX sb_a ON sb (a);
CREATE INDEX sb_b ON sb (b);
CREATE INDEX sb_t ON sb USING gin (to_tsvector('simple', t));
CREATE INDEX sb_w ON sb USING gin (w);
DELETE FROM sb WHERE id % 11 = 0;
UPDATE sb SET a = 5 WHERE id % 1000 = 7;
INSERT INTO sb SELECT i, 5, 6, 'word5 delta', ARRAY[5, 55] FROM generate_series(90001, 90040) i;
VACUUM ANALYZE sb;
CREATE TABLE sb_heap USING heap AS SELECT * FROM sb;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET gpucol.pushdown = forbid;
SET effective_io_concurrency = 8;

CREATE FUNCTION sb_compare(condition text, OUT bitmap boolean, OUT n bigint, OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	bitmap := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT * FROM sb WHERE ' || condition LOOP
		bitmap := bitmap OR line ~ 'Bitmap Heap Scan on sb';
	END LOOP;
	EXECUTE format('SELECT (SELECT count(*) FROM sb WHERE %1$s),
		(SELECT count(*) FROM (SELECT * FROM sb_heap WHERE %1$s EXCEPT ALL SELECT * FROM sb WHERE %1$s) d),
		(SELECT count(*) FROM (SELECT * FROM sb WHERE %1$s EXCEPT ALL SELECT * FROM sb_heap WHERE %1$s) d)', condition)
	INTO n, missing, extra;
END $$;

SELECT * FROM sb_compare('a = 5');
SELECT * FROM sb_compare('a BETWEEN 100 AND 900');
SELECT * FROM sb_compare('a = 5 OR b = 6');
SELECT * FROM sb_compare('a < 100 AND b < 50');
SELECT * FROM sb_compare('a IN (1, 2, 3) OR (b = 7 AND a > 500)');
SELECT * FROM sb_compare($$to_tsvector('simple', t) @@ 'word5 & common'$$);
SELECT * FROM sb_compare($$to_tsvector('simple', t) @@ 'delta | word77'$$);
SELECT * FROM sb_compare('w @> ARRAY[5, 55]');
SELECT * FROM sb_compare('w && ARRAY[3, 59]');
SELECT * FROM sb_compare('a = -1');

-- lossy: a bitmap of few bytes
SET work_mem = '64kB';
SELECT * FROM sb_compare('a BETWEEN 100 AND 900');
SELECT * FROM sb_compare('w && ARRAY[3, 4, 5, 6, 7]');
RESET work_mem;

-- rescans, with a parameter; cursors; a transaction's own changes
SELECT x, (SELECT count(*) FROM sb WHERE a = x) FROM generate_series(4, 7) x;
BEGIN;
DELETE FROM sb WHERE a = 5 AND id < 20000;
INSERT INTO sb VALUES (99999, 5, 0, '', NULL);
DECLARE c CURSOR FOR SELECT id FROM sb WHERE a = 5 ORDER BY id DESC;
FETCH 2 FROM c;
UPDATE sb SET a = 6 WHERE a = 5;
FETCH 2 FROM c;
SELECT count(*) FROM sb WHERE a = 5;
SELECT count(*) FROM sb WHERE a = 6;
ROLLBACK;
SELECT * FROM sb_compare('a = 5');

-- few rows beside many deletions, which are not read for them; rows of several versions, and a cursor's
CREATE TABLE sb_few (id int PRIMARY KEY, v int) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO sb_few SELECT i, 0 FROM generate_series(1, 20000) i;
DELETE FROM sb_few WHERE id % 2 = 0;
UPDATE sb_few SET v = 1 WHERE id < 100;
CREATE FUNCTION sb_pages(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;
EXPLAIN (COSTS OFF) SELECT * FROM sb_few WHERE id IN (1, 2, 7001, 7002);
SELECT sb_pages('SELECT * FROM sb_few WHERE id IN (1, 2, 7001, 7002)') < 60 AS few_pages;
SELECT * FROM sb_few WHERE id IN (1, 2, 7001, 7002) ORDER BY id;
BEGIN;
DECLARE d CURSOR FOR SELECT * FROM sb_few WHERE id IN (1, 99, 101, 7001, 7003, 7002);
FETCH 1 FROM d;
UPDATE sb_few SET v = 2 WHERE id IN (1, 7001);
DELETE FROM sb_few WHERE id = 7003;
INSERT INTO sb_few SELECT i, 3 FROM generate_series(30001, 36000) i;
SELECT count(*) FROM (SELECT * FROM sb_few WHERE id IN (1, 7001, 7003, 30001, 36000, 36001)) s;
SELECT * FROM sb_few WHERE id IN (1, 7001, 7003, 30001, 36000, 36001) ORDER BY id;
FETCH ALL FROM d;
SAVEPOINT s;
UPDATE sb_few SET v = 4 WHERE id IN (1, 99, 101, 7001, 30001) RETURNING *;
ROLLBACK TO s;
SELECT * FROM sb_few WHERE id IN (1, 99, 101, 7001, 30001) ORDER BY id FOR UPDATE;
ROLLBACK;
SELECT gpucol.merge('sb_few') >= 0 AS merged;
SELECT * FROM sb_few WHERE id IN (1, 3, 99, 101, 7001) ORDER BY id;
SELECT a.id, (SELECT sum(b.v + b.id) FROM sb_few b WHERE b.id IN (a.id, a.id + 2, a.id + 1000)) FROM sb_few a WHERE a.id < 40 ORDER BY 1;
DROP TABLE sb_few;
DROP FUNCTION sb_pages;

-- parallel
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM sb WHERE a BETWEEN 100 AND 900;
SELECT count(*), sum(id) FROM sb WHERE a BETWEEN 100 AND 900;
SELECT count(*), sum(id) FROM sb_heap WHERE a BETWEEN 100 AND 900;
DROP FUNCTION sb_compare;
-- a plan that is begun in the midst of a statement: the one that a recursion tries first
RESET enable_seqscan;
RESET enable_indexscan;
SET gpucol.pushdown = allow;
CREATE TABLE sb_walk (x int, y int) USING gpucol;
INSERT INTO sb_walk SELECT i % 10000, (i % 10000) / 2 + i / 10000 * 1007 % 9000 + 500 FROM generate_series(0, 99999) i;
CREATE INDEX ON sb_walk (x);
VACUUM ANALYZE sb_walk;
WITH RECURSIVE r AS (SELECT x, y FROM sb_walk WHERE x = 9999 UNION SELECT r.x, e.y FROM r JOIN sb_walk e ON e.x = r.y)
SELECT x, count(*) FROM (SELECT * FROM r LIMIT 40) q GROUP BY x;
WITH RECURSIVE r AS (SELECT x, y FROM sb_walk WHERE x = 9999 UNION SELECT r.x, e.y FROM r JOIN sb_walk e ON e.x = r.y)
SELECT x, count(*) FROM r GROUP BY x;
DROP TABLE sb_walk;
DROP TABLE sb, sb_heap;
