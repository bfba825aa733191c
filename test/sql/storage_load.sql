-- Rows of bulk loads go to segments; scans, indexes, DDL and statistics see
-- segments and delta alike.
CREATE TABLE sl_heap (id int, k text, v numeric(10,2), f float8, n bigint, b bool);
INSERT INTO sl_heap
SELECT g, 'k' || g % 50, g / 3.0, g / 10.0, CASE WHEN g % 3 = 0 THEN NULL ELSE g * 1000000000::bigint END, g % 2 = 0
FROM generate_series(1, 20000) g;

-- CREATE TABLE AS: all rows in a segment; TIDs are virtual
CREATE TABLE sl USING gpucol AS SELECT * FROM sl_heap;
SELECT count(*), count(*) FILTER (WHERE ctid >= '(2147483648,1)') AS in_segments FROM sl;
SELECT count(*) FROM (SELECT * FROM sl EXCEPT ALL SELECT * FROM sl_heap) d;
SELECT count(*) FROM (SELECT * FROM sl_heap EXCEPT ALL SELECT * FROM sl) d;

-- COPY and INSERT ... SELECT
CREATE TABLE sl_copy (LIKE sl_heap) USING gpucol;
COPY sl_copy FROM PROGRAM 'seq -f "%g	c	1	2	3	t" 1 3000';
SELECT count(*), count(*) FILTER (WHERE ctid >= '(2147483648,1)') AS in_segments FROM sl_copy;
INSERT INTO sl_copy SELECT id + 3000, k, v, f, n, b FROM sl_heap WHERE id <= 5000;
SELECT count(*), count(*) FILTER (WHERE ctid >= '(2147483648,1)') AS in_segments, sum(id) FROM sl_copy;
INSERT INTO sl_copy VALUES (0, 'small', 1, 1, 1, false);
SELECT ctid < '(2147483648,1)' AS in_delta, * FROM sl_copy WHERE id = 0;

-- own rows are seen, by later commands only
BEGIN;
INSERT INTO sl_copy SELECT * FROM sl_copy;
SELECT count(*) FROM sl_copy;
SAVEPOINT a;
INSERT INTO sl_copy SELECT * FROM sl_heap;
ROLLBACK TO a;
SELECT count(*) FROM sl_copy;
SAVEPOINT b;
INSERT INTO sl_copy SELECT * FROM sl_heap;
RELEASE b;
SELECT count(*) FROM sl_copy;
SAVEPOINT c;
TRUNCATE sl_copy;
SELECT count(*) FROM sl_copy;
ROLLBACK TO c;
SELECT count(*) FROM sl_copy;
ROLLBACK;
SELECT count(*) FROM sl_copy;
-- a savepoint set while rows are buffered, and rows written within it
BEGIN;
INSERT INTO sl_copy SELECT * FROM sl_heap;
SAVEPOINT a;
SELECT count(*) FROM sl_copy;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM sl_copy;

-- unique and other indexes, before and after loading
CREATE UNIQUE INDEX sl_id ON sl (id);
CREATE INDEX sl_k ON sl (k, v);
INSERT INTO sl SELECT id + 20000, k, v, f, n, b FROM sl_heap WHERE id <= 4000;
SET enable_seqscan = off;
SET gpucol.enabled = off;
EXPLAIN (COSTS OFF) SELECT * FROM sl WHERE id = 777;
SELECT * FROM sl WHERE id IN (1, 777, 20000, 20001, 24000, 24001) ORDER BY id;
SELECT count(*) FROM sl WHERE k = 'k7' AND v < 100;
SELECT count(*) FROM sl WHERE id BETWEEN 19000 AND 21999;
RESET enable_seqscan;
INSERT INTO sl VALUES (777);
INSERT INTO sl SELECT id + 30000, k FROM sl_heap UNION ALL SELECT 30001, 'dup';
SELECT count(*) FROM sl;
CREATE INDEX CONCURRENTLY sl_v ON sl (v);
REINDEX INDEX CONCURRENTLY sl_id;
SELECT count(*) FROM sl WHERE id > 0;

-- scroll cursors over both parts
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM sl;
MOVE 15999 IN c;
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
MOVE FORWARD ALL IN c;
FETCH BACKWARD 1 FROM c;
MOVE BACKWARD ALL IN c;
FETCH 1 FROM c;
ROLLBACK;
-- and of a range of TIDs, whose scan starts anew at its end
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM sl WHERE ctid > '(0,0)';
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
FETCH FIRST FROM c;
DECLARE d SCROLL CURSOR FOR SELECT id FROM sl WHERE ctid < '(2147483650,1)';
FETCH LAST FROM d;
ROLLBACK;

-- TID and TID range scans, sampling
SELECT id FROM sl WHERE ctid = '(2147483649,3)';
SELECT count(*) FROM sl WHERE ctid >= '(2147483649,1)' AND ctid < '(2147483650,1)';
SELECT count(*) FROM sl TABLESAMPLE BERNOULLI (100);
SELECT count(*) BETWEEN 1 AND 24000 FROM sl TABLESAMPLE SYSTEM (50) REPEATABLE (1);

-- statistics
ANALYZE sl;
SELECT reltuples FROM pg_class WHERE relname = 'sl';
VACUUM sl;
SELECT reltuples FROM pg_class WHERE relname = 'sl';
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'sl' AND attname IN ('id', 'k', 'b') ORDER BY 1;

-- columns come and go
ALTER TABLE sl ADD COLUMN e int DEFAULT 7, ADD COLUMN g text;
SELECT * FROM sl WHERE id IN (3, 20003) ORDER BY id;
ALTER TABLE sl DROP COLUMN k;
SELECT * FROM sl WHERE id IN (3, 20003) ORDER BY id;
INSERT INTO sl SELECT id + 50000, v, f, n, b, 8, 'new' FROM sl_heap WHERE id <= 3000;
SELECT e, g, count(*), min(id), max(id) FROM sl GROUP BY 1, 2 ORDER BY 1;
ALTER TABLE sl ALTER COLUMN v TYPE numeric;
SELECT sum(v) FROM sl;
RESET gpucol.enabled;

-- rewrites
ALTER TABLE sl SET ACCESS METHOD heap;
SELECT count(*), sum(id), sum(v) FROM sl;
ALTER TABLE sl SET ACCESS METHOD gpucol;
SELECT count(*), sum(id), sum(v), bool_and(ctid >= '(2147483648,1)') FROM sl;
CREATE TABLE sl_int (a int);
INSERT INTO sl_int SELECT generate_series(1, 2000);
ALTER TABLE sl_int SET ACCESS METHOD gpucol;
SELECT count(*), min(ctid) FROM sl_int;
ALTER TABLE sl_int ALTER COLUMN a TYPE bigint;
SELECT count(*), sum(a), min(ctid) FROM sl_int;
ALTER TABLE sl_int ALTER COLUMN a TYPE numeric, ADD COLUMN b text DEFAULT random()::text;
ALTER TABLE sl_int ALTER COLUMN a TYPE text;
SELECT count(*), min(a), max(a), count(b), min(ctid) FROM sl_int;
TRUNCATE sl;
SELECT count(*) FROM sl;
INSERT INTO sl (id) SELECT generate_series(1, 3000);
SELECT count(*), sum(id) FROM sl;

-- temporary and unlogged tables, materialized views, truncation in place
CREATE TEMP TABLE sl_temp USING gpucol AS SELECT * FROM sl_heap;
SELECT count(*), sum(v) FROM sl_temp;
CREATE UNLOGGED TABLE sl_unlogged USING gpucol AS SELECT * FROM sl_heap;
SELECT count(*), sum(v) FROM sl_unlogged;
ALTER TABLE sl_unlogged SET LOGGED;
SELECT count(*), sum(v) FROM sl_unlogged;
CREATE MATERIALIZED VIEW sl_mat USING gpucol AS SELECT * FROM sl_heap;
REFRESH MATERIALIZED VIEW sl_mat;
SELECT count(*), sum(v) FROM sl_mat;
BEGIN;
CREATE TABLE sl_new (a int) USING gpucol;
INSERT INTO sl_new SELECT generate_series(1, 5000);
TRUNCATE sl_new;
SELECT count(*) FROM sl_new;
INSERT INTO sl_new SELECT generate_series(1, 2000);
SELECT count(*), sum(a) FROM sl_new;
COMMIT;
SELECT count(*), sum(a) FROM sl_new;
BEGIN;
CREATE TABLE sl_key (a int PRIMARY KEY, b text) USING gpucol;
CREATE INDEX ON sl_key (lower(b));
INSERT INTO sl_key SELECT i, 'first ' || i FROM generate_series(1, 5000) i;
TRUNCATE sl_key;
SELECT count(*) FROM sl_key;
INSERT INTO sl_key SELECT i, 'second ' || i FROM generate_series(1, 2000) i;
COMMIT;
BEGIN;
ALTER TABLE sl_key ALTER a TYPE bigint;
DELETE FROM sl_key WHERE a > 1000;
TRUNCATE sl_key;
INSERT INTO sl_key SELECT i, 'third ' || i FROM generate_series(1, 3000) i;
COMMIT;
SELECT count(*), sum(a), min(b) FROM sl_key;
SET enable_seqscan = off;
SET gpucol.pushdown = forbid;
SELECT * FROM sl_key WHERE a = 2999;
SELECT * FROM sl_key WHERE lower(b) = 'third 7';
RESET enable_seqscan;
RESET gpucol.pushdown;
SELECT * FROM gpucol.verify('sl_key');
CREATE TEMP TABLE sl_brief (a int PRIMARY KEY, b text) USING gpucol ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO sl_brief SELECT i, 'brief ' || i FROM generate_series(1, 3000) i;
SELECT count(*), min(b) FROM sl_brief;
COMMIT;
SELECT count(*) FROM sl_brief;
BEGIN;
INSERT INTO sl_brief SELECT i, 'again ' || i FROM generate_series(1, 2000) i;
SELECT count(*), min(b) FROM sl_brief;
SELECT b FROM sl_brief WHERE a = 1999;
COMMIT;

-- columns that are changed while rows of an earlier command are buffered
CREATE DOMAIN sl_brief_type AS text;
CREATE TABLE sl_altered (a int, gone text, brief sl_brief_type, n numeric(8,2), v varchar(5)) USING gpucol;
BEGIN;
INSERT INTO sl_altered SELECT i, 'gone ' || i, 'brief', i / 4.0, 'v' || i % 9 FROM generate_series(1, 3000) i;
ALTER TABLE sl_altered DROP COLUMN gone;
SELECT count(*), sum(a), min(brief), sum(n), max(v) FROM sl_altered;
INSERT INTO sl_altered SELECT i, 'later', i / 4.0, 'w' FROM generate_series(3001, 5000) i;
DROP DOMAIN sl_brief_type CASCADE;
ALTER TABLE sl_altered ALTER n TYPE numeric, ALTER v TYPE text, ADD COLUMN c int DEFAULT 3;
COMMIT;
SELECT count(*), sum(a), sum(n), max(v), sum(c) FROM sl_altered;
SELECT * FROM gpucol.verify('sl_altered');

-- COPY in many batches, whose slots it takes again and again: values by reference, NULLs, generated columns,
-- constraints, indexes, triggers with transition tables, a condition, partitions
CREATE TABLE sl_rich (id int, t text, n name, iv interval, u uuid, d numeric(8,2), a int[],
                      twice text GENERATED ALWAYS AS (t || t) STORED, CHECK (length(t) < 300));
CREATE TABLE sl_rich_packed (LIKE sl_rich INCLUDING ALL, UNIQUE (id)) USING gpucol;
CREATE INDEX sl_rich_lower ON sl_rich_packed (lower(twice)) WHERE t IS NOT NULL;
CREATE TABLE sl_seen (kind text, rows bigint, ids bigint, letters bigint);
CREATE FUNCTION sl_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' THEN
        INSERT INTO sl_seen VALUES (TG_LEVEL, 1, NEW.id, length(NEW.twice));
    ELSE
        INSERT INTO sl_seen SELECT TG_LEVEL, count(*), sum(id), sum(length(twice)) FROM added;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER each AFTER INSERT ON sl_rich_packed FOR EACH ROW WHEN (NEW.id % 10 = 0) EXECUTE FUNCTION sl_note();
CREATE TRIGGER whole AFTER INSERT ON sl_rich_packed REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION sl_note();
\set program 'awk \'BEGIN { OFS = "\\t"; for (i = 1; i <= 6000; i++) { s = sprintf("%" i % 200 + 1 "d", i); print i, i % 7 ? s : "\\\\N", "n" i % 50, i " s", sprintf("%032x", i), i % 900 ? i / 4 : "NaN", i % 11 ? "{" i "," s "}" : "\\\\N" } }\''
COPY sl_rich FROM PROGRAM :'program' WHERE id <> 77;
COPY sl_rich_packed FROM PROGRAM :'program' WHERE id <> 77;
SELECT count(*), count(*) FILTER (WHERE ctid >= '(2147483648,1)') > 4000 AS in_segments,
       (SELECT count(*) FROM (TABLE sl_rich EXCEPT ALL TABLE sl_rich_packed) d) AS missing
FROM sl_rich_packed;
SELECT kind, sum(rows), sum(ids), sum(letters) FROM sl_seen GROUP BY kind ORDER BY kind;
COPY sl_rich_packed FROM PROGRAM 'seq -f "%g	x	n	1 s	00000000000000000000000000000000	1	{}" 9000 -1 6000';
COPY sl_rich_packed (id, t) FROM PROGRAM 'awk "BEGIN { for (i = 7001; i <= 10000; i++) printf \"%d\\t%\" (i == 10000) * 300 + 1 \"d\\n\", i, 1 }"';
SET enable_seqscan = off;
SELECT id, n, d FROM sl_rich_packed WHERE id IN (1, 77, 3000, 5999, 6001) ORDER BY id;
SELECT count(*) FROM sl_rich_packed WHERE lower(twice) = repeat(lpad('5', 6), 2) AND t IS NOT NULL;
RESET enable_seqscan;
CREATE TABLE sl_parts (id int, t text, n name, iv interval, u uuid, d numeric(8,2), a int[]) PARTITION BY HASH (id);
CREATE TABLE sl_part0 PARTITION OF sl_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING gpucol;
CREATE TABLE sl_part1 (a int[], u uuid, id int, iv interval, t text, d numeric(8,2), n name) USING gpucol;
ALTER TABLE sl_parts ATTACH PARTITION sl_part1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
COPY sl_parts FROM PROGRAM :'program';
COPY sl_parts FROM PROGRAM :'program';
SELECT count(*), (SELECT count(*) FROM (SELECT id, t, n, iv, u, d, a FROM sl_rich EXCEPT ALL TABLE sl_parts) d) AS missing
FROM sl_parts;

-- several triggers of each packed row, the second of which changes rows whose turn is still to come
CREATE TABLE sl_events (id int PRIMARY KEY, t text) USING gpucol;
CREATE TABLE sl_told (who text, id int, t text);
CREATE FUNCTION sl_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_NAME = 'b' AND NEW.id % 100 = 0 THEN
        DELETE FROM sl_events WHERE id = NEW.id + 1;
        UPDATE sl_events SET t = 'changed' WHERE id = NEW.id + 2;
    END IF;
    INSERT INTO sl_told VALUES (TG_NAME, NEW.id, NEW.t);
    RETURN NULL;
END $$;
CREATE TRIGGER a AFTER INSERT ON sl_events FOR EACH ROW EXECUTE FUNCTION sl_tell();
CREATE TRIGGER b AFTER INSERT ON sl_events FOR EACH ROW EXECUTE FUNCTION sl_tell();
CREATE TRIGGER c AFTER INSERT ON sl_events FOR EACH ROW EXECUTE FUNCTION sl_tell();
COPY sl_events FROM PROGRAM 'awk "BEGIN { for (i = 1; i <= 3000; i++) printf \"%d\\tt%d\\n\", i, i }"';
SELECT who, count(*), count(DISTINCT id), count(*) FILTER (WHERE t = 't' || id) AS as_loaded FROM sl_told GROUP BY who ORDER BY who;
SELECT count(*), count(*) FILTER (WHERE t = 'changed') FROM sl_events;
DROP TABLE sl_events, sl_told;
DROP FUNCTION sl_tell;

-- large values, every kind of type
CREATE TABLE sl_types USING gpucol AS
SELECT g AS i, repeat(chr(65 + g % 26), g * 10) AS big, ARRAY[g, g + 1] AS a, int4range(g, g + 5) AS r,
       ('{"a":' || g || '}')::jsonb AS j, g::text::bytea AS y, (g || ' s')::interval AS iv,
       CASE WHEN g % 100 = 0 THEN 'NaN'::numeric(8,2) ELSE g END::numeric(8,2) AS d, ROW(g, 'x')::text AS t,
       g::float4 / 3 AS f4, ('\x' || lpad(to_hex(g), 32, '0'))::bytea AS u, g::bit(16) AS bits
FROM generate_series(1, 2000) g;
SELECT sum(length(big)), sum(a[2]), sum(upper(r)), sum((j->>'a')::int), sum(length(y)), extract(epoch FROM sum(iv)),
       count(*) FILTER (WHERE d = 'NaN'), sum(d) FILTER (WHERE d <> 'NaN'), sum(f4)::int, sum(length(u)), count(DISTINCT bits)
FROM sl_types;
INSERT INTO sl_types SELECT * FROM sl_types;
SELECT count(*) FROM (SELECT 1 FROM sl_types t GROUP BY t HAVING count(*) = 2) x;

-- texts that repeat, in no order: numbered, also where most of the first ones are new; those that hardly repeat are not
CREATE TABLE sl_texts USING gpucol AS
SELECT 'key ' || (hashint4(g) & 2147483647) % 30000 AS many, 'k' || (hashint4(g) & 2147483647) % 20000 AS short, 'key ' || g - g % 20 / 19 AS most FROM generate_series(1, 150000) g;
SELECT column_name, coding, distinct_values FROM gpucol.columns('sl_texts') ORDER BY 1;
CREATE TABLE sl_begun USING gpucol AS SELECT many, most FROM sl_texts LIMIT 3000;
SELECT column_name, coding, distinct_values FROM gpucol.columns('sl_begun') ORDER BY 1;
SELECT count(*) FROM (SELECT many, short, most FROM sl_texts EXCEPT ALL
	SELECT 'key ' || (hashint4(g) & 2147483647) % 30000, 'k' || (hashint4(g) & 2147483647) % 20000, 'key ' || g - g % 20 / 19 FROM generate_series(1, 150000) g) d;
DROP TABLE sl_texts, sl_begun;

-- texts of which each comes again when all others have come; among NULLs; others hardly repeat, or never
CREATE TABLE sl_turns (id int, turn text, nulls text, few text, once text) USING gpucol;
CREATE TABLE sl_turn_rows AS SELECT i AS id, 'sensor ' || i::bigint * 7919 % 20000 AS turn, CASE WHEN i % 3 = 0 THEN 'n' || i % 12000 END AS nulls,
	'f' || i % 90000 AS few, md5(i::text) AS once FROM generate_series(1, 100000) i;
INSERT INTO sl_turns SELECT * FROM sl_turn_rows;
SELECT column_name, regexp_replace(coding, ',.*', '') AS coding, distinct_values FROM gpucol.columns('sl_turns') WHERE column_name <> 'id';
SELECT count(*) FROM ((TABLE sl_turns EXCEPT ALL TABLE sl_turn_rows) UNION ALL (TABLE sl_turn_rows EXCEPT ALL TABLE sl_turns)) d;
DROP TABLE sl_turns, sl_turn_rows;
-- rows that come one by one, held until they are many: short values and long, plain, compressed and out of line, values passed
-- by reference of a fixed length, NULLs, a dropped column, an index that names the rows, a load that a savepoint takes back
CREATE TABLE sl_held (gone int, id int, t text, far text, u uuid, n numeric(12,2), iv interval, b bool) USING gpucol;
ALTER TABLE sl_held DROP COLUMN gone;
CREATE UNIQUE INDEX ON sl_held (id);
CREATE TABLE sl_rows (id int, t text, far text, u uuid, n numeric(12,2), iv interval, b bool);
ALTER TABLE sl_rows ALTER far SET STORAGE EXTERNAL;
INSERT INTO sl_rows SELECT g, repeat(md5(g::text), 1 + g % 41 / 40 * 200), CASE WHEN g % 997 = 0 THEN repeat(md5(g::text), 200) WHEN g % 5 > 0 THEN 'near ' || g % 70 END,
	md5((g % 300)::text)::uuid, CASE WHEN g % 3 > 0 THEN g / 100.0 END, g * interval '1 hour', g % 2 = 0
FROM generate_series(1, 20000) g;
BEGIN;
INSERT INTO sl_held SELECT * FROM sl_rows WHERE id <= 7001;
SAVEPOINT s;
INSERT INTO sl_held SELECT id + 100000, t, far, u, n, iv, b FROM sl_rows WHERE id <= 3003;
ROLLBACK TO s;
SAVEPOINT s;
INSERT INTO sl_held SELECT * FROM sl_rows WHERE id BETWEEN 7002 AND 12005;
RELEASE s;
WITH i AS (INSERT INTO sl_held SELECT * FROM sl_rows WHERE id > 12005 RETURNING id, ctid)
SELECT count(*), count(DISTINCT ctid) FROM i;
COMMIT;
SELECT sum(rows), count(*) FROM gpucol.segments('sl_held');
SELECT count(*) FROM gpucol.verify('sl_held');
SELECT count(*) FROM ((TABLE sl_held EXCEPT ALL TABLE sl_rows) UNION ALL (TABLE sl_rows EXCEPT ALL TABLE sl_held)) d;
SET enable_seqscan = off;
SET gpucol.enabled = off;
SELECT count(*) FILTER (WHERE h = r), count(*) FROM sl_rows r LEFT JOIN LATERAL (SELECT * FROM sl_held WHERE id = r.id OFFSET 0) h ON true;
RESET ALL;
DROP TABLE sl_held, sl_rows;

DROP MATERIALIZED VIEW sl_mat;
DROP TABLE sl_heap, sl_copy, sl, sl_int, sl_temp, sl_unlogged, sl_new, sl_types, sl_rich, sl_rich_packed, sl_seen, sl_parts;
DROP FUNCTION sl_note;
