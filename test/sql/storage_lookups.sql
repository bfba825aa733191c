-- Single packed rows by index: as heap's, of every type and coding, with few pages.
SET gpucol.segment_rows = 4096;
SET gpucol.enabled = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE look_heap (id int PRIMARY KEY, gone text, i int, b bigint, n numeric(12,2), nn numeric, f float8, r real,
	d date, ts timestamptz, u uuid, few text, short text, long text, huge text, j jsonb, raw bytea, a int[], ta text[],
	flag bool, nothing text, last int) USING heap;
INSERT INTO look_heap SELECT i, 'gone', nullif(i % 1000, 7), i * 10000000000, nullif(i % 100, 3) / 4.0,
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL ELSE i / 7.0 END,
	CASE i % 60 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-inf' ELSE sqrt(i) END, i / 8.0,
	date '2000-01-01' + i % 3000, timestamptz '2020-01-01 00:00:00+00' + i * interval '1 hour',
	md5(i::text)::uuid, 'kind ' || i % 20,
	CASE WHEN i % 11 > 0 THEN 'short text number ' || i || ' of many' END,
	CASE WHEN i % 13 > 0 THEN repeat('sentence ' || i || ' ', 1 + i % 40) ELSE '' END,
	CASE WHEN i % 500 = 1 THEN (SELECT string_agg('line ' || g || ' of ' || i, ' ') FROM generate_series(1, 900) g) END,
	jsonb_build_object('id', i, 'tags', jsonb_build_array('a', i % 7)),
	decode(md5(i::text) || md5('x' || i), 'hex'), ARRAY[i, NULL, i % 9], ARRAY['tag ' || i % 30, NULL],
	i % 3 = 0, NULL, i
FROM generate_series(1, 10000) i;
CREATE TABLE look_gpucol (LIKE look_heap INCLUDING INDEXES) USING gpucol
	WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
INSERT INTO look_gpucol SELECT * FROM look_heap;
DO $$ BEGIN PERFORM gpucol.merge('look_gpucol'); END $$;
SELECT count(*) AS segments, sum(rows) AS rows FROM gpucol.segments('look_gpucol');
SELECT column_name, coding FROM gpucol.columns('look_gpucol') WHERE column_name IN ('short', 'long', 'huge') GROUP BY 1, 2 ORDER BY 1, 2;
ALTER TABLE look_heap DROP COLUMN gone, ADD COLUMN added text DEFAULT 'added';
ALTER TABLE look_gpucol DROP COLUMN gone, ADD COLUMN added text DEFAULT 'added';
CREATE TABLE look_keys AS SELECT g AS i, g * 7919 % 10100 AS key FROM generate_series(1, 1000) g;
ANALYZE look_heap;
ANALYZE look_gpucol;
ANALYZE look_keys;

-- both tables' answers; % is the table
\set heap look_heap
\set packed look_gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/same.psql
\set ECHO none
\i :include
\set ECHO all
CREATE FUNCTION all_same() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT same('SELECT x.* FROM look_keys k JOIN % x ON x.id = k.key ORDER BY k.i')
	UNION ALL SELECT same('SELECT k.i, x.huge, x.last FROM look_keys k JOIN % x ON x.id = k.key ORDER BY k.i')
	UNION ALL SELECT same('SELECT x.short, x.added FROM look_keys k JOIN % x ON x.id = k.key WHERE x.long > ''s'' ORDER BY k.i')
	UNION ALL SELECT same('SELECT count(x.short), sum(x.last), min(x.j::text) FROM look_keys k JOIN % x ON x.id = k.key')
	UNION ALL SELECT same('SELECT x.few, count(*), max(x.a::text) FROM look_keys k JOIN % x ON x.id = k.key GROUP BY 1 ORDER BY 1')
	UNION ALL SELECT same('SELECT x FROM look_keys k JOIN % x ON x.id = k.key WHERE mod(x.last, 3) = 1 ORDER BY k.i')
	UNION ALL SELECT same('SELECT * FROM % WHERE id IN (5, 77, 4100, 9999, 10001, 12000) ORDER BY id')
	UNION ALL SELECT same('SELECT * FROM % WHERE id >= 4000 ORDER BY id LIMIT 200')
	UNION ALL SELECT same('SELECT ta, u FROM % WHERE id < 5000 ORDER BY id DESC LIMIT 200')
	UNION ALL SELECT same('SELECT (SELECT x.raw FROM % x WHERE x.id = k.key), (SELECT x.nn FROM % x WHERE x.id = k.key) FROM look_keys k ORDER BY k.i')
$$;
EXPLAIN (COSTS OFF) SELECT x.short FROM look_keys k JOIN look_gpucol x ON x.id = k.key;
SELECT all_same();
-- with little memory for what is unpacked, and few pages for what is pinned
SET work_mem = '64kB';
SELECT all_same();
RESET work_mem;
-- with few buffers, of which six pages may be kept
SET temp_buffers = 100;
CREATE TEMP TABLE look_few (LIKE look_gpucol INCLUDING INDEXES) USING gpucol;
INSERT INTO look_few SELECT * FROM look_heap;
DO $$ BEGIN PERFORM gpucol.merge('look_few'); END $$;
SELECT sum(rows) > 0 AS packed FROM gpucol.segments('look_few');
ANALYZE look_few;
SELECT count(*), count(DISTINCT x.id) FROM look_keys k JOIN look_few x ON x.id = k.key;
SELECT count(*) FROM (SELECT x.* FROM look_keys k JOIN look_few x ON x.id = k.key
	EXCEPT SELECT x.* FROM look_heap x WHERE id < 20000) d;
SELECT count(*) FROM (SELECT a.huge, a.j FROM look_few a JOIN look_few b ON b.id = a.id + 1 WHERE a.id BETWEEN 1 AND 3000
	EXCEPT SELECT huge, j FROM look_heap) d;
DROP TABLE look_few;

-- pages that a statement looks at: those that it has are not asked for again, columns that it does not need not at all
CREATE FUNCTION pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT pages('SELECT * FROM look_gpucol WHERE id < 10100') > 0 AS warm;
SELECT pages('SELECT count(x.last) FROM look_keys k JOIN look_gpucol x ON x.id = k.key') -
	pages('SELECT count(*) FROM look_keys k JOIN look_gpucol x ON x.id = k.key') < 100 AS kept,
	pages('SELECT last FROM look_gpucol WHERE id = 77') + 10 < pages('SELECT * FROM look_gpucol WHERE id = 77') AS needed,
	pages('SELECT count(long) FROM look_gpucol WHERE id = 77') + 10 <
	pages('SELECT count(look_gpucol) FROM look_gpucol WHERE id = 77') AS aggregated;

-- deleted rows, rows of the delta
DELETE FROM look_heap WHERE id % 9 = 4;
DELETE FROM look_gpucol WHERE id % 9 = 4;
UPDATE look_heap SET short = short || ' new', last = -last WHERE id % 9 = 5;
UPDATE look_gpucol SET short = short || ' new', last = -last WHERE id % 9 = 5;
INSERT INTO look_heap (id, short) SELECT i, 'delta' FROM generate_series(10001, 10050) i;
INSERT INTO look_gpucol (id, short) SELECT i, 'delta' FROM generate_series(10001, 10050) i;
SELECT all_same();

-- a plan that is kept, across merges, VACUUM, rewrites, other columns and TRUNCATE
PREPARE point(int) AS SELECT id, short, few, last, length(long) AS long FROM look_gpucol WHERE id = $1;
PREPARE looped AS SELECT count(*), sum(x.last), sum(length(x.short)), md5(max(x.long)) AS long
	FROM look_keys k JOIN look_gpucol x ON x.id = k.key;
SET plan_cache_mode = force_generic_plan;
EXECUTE point(14);
EXECUTE looped;
DO $$ BEGIN PERFORM gpucol.merge('look_gpucol'); END $$;
EXECUTE point(14);
EXECUTE looped;
VACUUM look_gpucol;
EXECUTE point(14);
VACUUM FULL look_gpucol;
EXECUTE point(14);
CLUSTER look_gpucol USING look_gpucol_pkey;
EXECUTE looped;
SELECT all_same();
BEGIN;
EXECUTE point(14);
UPDATE look_gpucol SET short = 'changed' WHERE id = 14;
EXECUTE point(14);
SAVEPOINT a;
DELETE FROM look_gpucol WHERE id < 100;
EXECUTE point(14);
ROLLBACK TO a;
EXECUTE point(14);
SAVEPOINT b;
TRUNCATE look_gpucol;
INSERT INTO look_gpucol (id, short) SELECT i, 'after ' || i FROM generate_series(1, 9000) i;
EXECUTE point(14);
EXECUTE looped;
ROLLBACK TO b;
EXECUTE point(14);
ALTER TABLE look_gpucol ALTER short TYPE varchar(200) USING upper(short);
EXECUTE looped;
ROLLBACK;
EXECUTE point(14);
EXECUTE looped;
DEALLOCATE ALL;

-- cursors keep what they read from, whatever becomes of the rows
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, short FROM look_gpucol WHERE id BETWEEN 10 AND 4000 ORDER BY id;
FETCH 3 FROM c;
DELETE FROM look_gpucol WHERE id BETWEEN 10 AND 30;
SAVEPOINT a;
FETCH 3 FROM c;
ROLLBACK TO a;
FETCH 2 FROM c;
FETCH BACKWARD 3 FROM c;
SELECT id, short FROM look_gpucol WHERE id BETWEEN 10 AND 32 ORDER BY id;
COMMIT;
-- what is returned of a row that is updated or deleted by its key is the whole of it
BEGIN;
UPDATE look_gpucol SET last = 0 WHERE id = 77 RETURNING id, few, short, left(long, 20), u, a, last, added;
DELETE FROM look_gpucol WHERE id = 78 RETURNING id, few, short, left(long, 20), u, a, last, added;
SELECT id, few, u FROM look_gpucol WHERE id IN (77, 78) FOR UPDATE;
ROLLBACK;
SELECT * FROM gpucol.verify('look_gpucol');
DROP TABLE look_heap, look_gpucol, look_keys;
DROP FUNCTION same, all_same, pages;
