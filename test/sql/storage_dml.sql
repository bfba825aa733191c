-- DELETE, UPDATE, MERGE, ON CONFLICT and foreign keys on segment rows, compared
-- with the same statements on a heap table.
CREATE TABLE sd USING gpucol AS
SELECT g AS id, 'k' || g % 50 AS k, (g / 3.0)::numeric(10,2) AS v FROM generate_series(1, 20000) g;
CREATE UNIQUE INDEX sd_id ON sd (id);
CREATE TABLE sd_heap AS SELECT * FROM sd;
CREATE UNIQUE INDEX sd_heap_id ON sd_heap (id);
CREATE VIEW sd_differences AS
SELECT (SELECT count(*) FROM (SELECT * FROM sd EXCEPT ALL SELECT * FROM sd_heap) a) AS extra,
       (SELECT count(*) FROM (SELECT * FROM sd_heap EXCEPT ALL SELECT * FROM sd) b) AS lacking;

-- visibility by command and savepoint
BEGIN;
DELETE FROM sd WHERE id % 10 = 0;
SELECT count(*) FROM sd;
SAVEPOINT s;
DELETE FROM sd;
SELECT count(*) FROM sd;
ROLLBACK TO s;
SELECT count(*) FROM sd;
COMMIT;
DELETE FROM sd_heap WHERE id % 10 = 0;
TABLE sd_differences;

-- updates; the same row twice in one statement
UPDATE sd SET v = v + 1, k = 'u' WHERE id BETWEEN 5000 AND 5100;
UPDATE sd_heap SET v = v + 1, k = 'u' WHERE id BETWEEN 5000 AND 5100;
UPDATE sd SET v = v + 1, k = 'w' WHERE id BETWEEN 5050 AND 5150;
UPDATE sd_heap SET v = v + 1, k = 'w' WHERE id BETWEEN 5050 AND 5150;
UPDATE sd SET v = -1 FROM generate_series(1, 3) x WHERE id = 6001;
UPDATE sd_heap SET v = -1 FROM generate_series(1, 3) x WHERE id = 6001;
UPDATE sd a SET v = b.v FROM sd b WHERE a.id = b.id + 1 AND a.id BETWEEN 17000 AND 17100;
UPDATE sd_heap a SET v = b.v FROM sd_heap b WHERE a.id = b.id + 1 AND a.id BETWEEN 17000 AND 17100;
UPDATE sd SET v = 0 WHERE id = 15002 RETURNING *;
UPDATE sd_heap SET v = 0 WHERE id = 15002;
DELETE FROM sd WHERE id IN (15002, 15003) RETURNING *;
DELETE FROM sd_heap WHERE id IN (15002, 15003);
TABLE sd_differences;

-- keys
INSERT INTO sd VALUES (7777, 'x', 1);
UPDATE sd SET id = 7778 WHERE id = 7777;
INSERT INTO sd VALUES (10, 'x', 1);
INSERT INTO sd_heap VALUES (10, 'x', 1);
INSERT INTO sd VALUES (11, 'x', 1), (20, 'y', 2) ON CONFLICT (id) DO UPDATE SET k = sd.k || '!';
INSERT INTO sd_heap VALUES (11, 'x', 1), (20, 'y', 2) ON CONFLICT (id) DO UPDATE SET k = sd_heap.k || '!';
INSERT INTO sd VALUES (12, 'x', 1) ON CONFLICT DO NOTHING;
MERGE INTO sd USING (VALUES (1, 'm'), (888888, 'n'), (2, 'd')) s (id, k) ON sd.id = s.id
WHEN MATCHED AND s.k = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.k, 0);
MERGE INTO sd_heap USING (VALUES (1, 'm'), (888888, 'n'), (2, 'd')) s (id, k) ON sd_heap.id = s.id
WHEN MATCHED AND s.k = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.k, 0);
TABLE sd_differences;

-- through indexes
SET enable_seqscan = off;
SET gpucol.enabled = off;
SELECT * FROM sd WHERE id IN (1, 2, 10, 11, 12, 20, 30, 5000, 5050, 7777, 888888) ORDER BY id;
DELETE FROM sd WHERE id BETWEEN 100 AND 200;
DELETE FROM sd_heap WHERE id BETWEEN 100 AND 200;
SELECT count(*) FROM sd WHERE id BETWEEN 1 AND 1000;
RESET enable_seqscan;
TABLE sd_differences;
REINDEX INDEX sd_id;
SELECT count(*) FROM sd WHERE id BETWEEN 1 AND 1000;
RESET gpucol.enabled;

-- with pushdown the deleted rows are as invisible
SELECT count(*), sum(id), sum(v) FROM sd;
SELECT count(*), sum(id), sum(v) FROM sd_heap;

-- row locks
BEGIN;
SELECT id FROM sd WHERE id = 15001 FOR UPDATE;
SELECT id FROM sd WHERE id = 15004 FOR KEY SHARE;
DELETE FROM sd WHERE id = 15001;
ROLLBACK;
SELECT count(*) FROM sd WHERE id = 15001;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM sd WHERE id = 15004 FOR UPDATE;
FETCH c;
UPDATE sd SET k = 'current' WHERE CURRENT OF c;
SELECT k FROM sd WHERE id = 15004;
ROLLBACK;

-- foreign keys, both sides in segments
CREATE TABLE sd_pk (id int PRIMARY KEY, x int) USING gpucol;
INSERT INTO sd_pk SELECT g, 1 FROM generate_series(1, 5000) g;
CREATE TABLE sd_fk USING gpucol AS SELECT g AS id FROM generate_series(1, 3000) g;
ALTER TABLE sd_fk ADD FOREIGN KEY (id) REFERENCES sd_pk ON DELETE CASCADE ON UPDATE CASCADE;
INSERT INTO sd_fk VALUES (4000);
INSERT INTO sd_fk VALUES (99999);
DELETE FROM sd_pk WHERE id IN (5, 2500, 4000);
UPDATE sd_pk SET id = 6000 WHERE id = 2600;
SELECT count(*), max(id) FROM sd_fk;
INSERT INTO sd_fk SELECT g FROM generate_series(2700, 4800) g WHERE g <> 4000;
SELECT count(*) FROM sd_fk;

-- triggers see old and new rows
CREATE FUNCTION sd_note() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE NOTICE '% % -> %', TG_OP, OLD, NEW; RETURN NULL; END$$;
CREATE TRIGGER note AFTER UPDATE OR DELETE ON sd FOR EACH ROW EXECUTE FUNCTION sd_note();
UPDATE sd SET k = 't' WHERE id = 16001;
DELETE FROM sd WHERE id = 16001;
DELETE FROM sd WHERE id = 16002;

-- VACUUM keeps rows and counts right
VACUUM sd;
SELECT reltuples = (SELECT count(*) FROM sd) FROM pg_class WHERE relname = 'sd';
SELECT count(*) FROM sd;

DROP TABLE sd_fk, sd_pk;
DROP VIEW sd_differences;
DROP TABLE sd, sd_heap;
DROP FUNCTION sd_note;

-- row locks live in the table: however many, the lock table has none of them
CREATE TABLE sd_many USING gpucol AS SELECT g AS id FROM generate_series(1, 50000) g;
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM sd_many FOR UPDATE) x;
SELECT count(*) < 50 AS few FROM pg_locks WHERE pid = pg_backend_pid();
UPDATE sd_many SET id = -id WHERE id <= 3;
COMMIT;
SELECT count(*), sum(id) FROM sd_many;
VACUUM sd_many;
SELECT count(*) FROM (SELECT 1 FROM sd_many WHERE id < 10 FOR NO KEY UPDATE) x;
DROP TABLE sd_many;

-- cursors: backward, and WHERE CURRENT OF, twice for one row
CREATE TABLE sd_cursor USING gpucol AS SELECT g AS id, 0 AS v FROM generate_series(1, 3000) g;
INSERT INTO sd_cursor VALUES (5001, 0), (5002, 0);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM sd_cursor WHERE id > 1500;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 3 FROM c;
FETCH ABSOLUTE -3 FROM c;
UPDATE sd_cursor SET v = 1 WHERE CURRENT OF c;
FETCH RELATIVE 2 FROM c;
DELETE FROM sd_cursor WHERE CURRENT OF c;
FETCH FIRST FROM c;
FETCH BACKWARD FROM c;
FETCH FROM c;
UPDATE sd_cursor SET v = 2 WHERE CURRENT OF c;
UPDATE sd_cursor SET v = v + 2 WHERE CURRENT OF c;
DELETE FROM sd_cursor WHERE CURRENT OF c;
SELECT * FROM sd_cursor WHERE v <> 0 OR id > 5000;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM sd_cursor WHERE id > 1500 FOR UPDATE;
FETCH 3 FROM c;
UPDATE sd_cursor SET v = 7 WHERE CURRENT OF c;
UPDATE sd_cursor SET v = v + 1 WHERE CURRENT OF c;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM sd_cursor WHERE id = 77;
FETCH FROM c;
UPDATE sd_cursor SET v = 9 WHERE CURRENT OF c;
COMMIT;
SELECT * FROM sd_cursor WHERE v <> 0 ORDER BY id;
DROP TABLE sd_cursor;

-- what a session keeps of the rows that it saw and buried last, and of what a
-- directory has never had, holds no longer than it is true
CREATE TABLE sd_last USING gpucol AS
  SELECT g AS id, 0 AS v, 'row ' || g AS t FROM generate_series(1, 20000) g;
ALTER TABLE sd_last ADD PRIMARY KEY (id);
SET enable_seqscan = off;
BEGIN;
SAVEPOINT a;
UPDATE sd_last SET v = 1 WHERE id = 7;
SELECT * FROM sd_last WHERE id = 7;
ROLLBACK TO a;
SELECT * FROM sd_last WHERE id = 7;
INSERT INTO sd_last VALUES (7, 2, 'twice');
ROLLBACK;
BEGIN;
DELETE FROM sd_last WHERE id = 7;
INSERT INTO sd_last VALUES (7, 3, 'new');
UPDATE sd_last SET v = 4 WHERE id = 7 RETURNING *;
ROLLBACK;
INSERT INTO sd_last VALUES (7, 2, 'twice');
INSERT INTO sd_last VALUES (7, 2, 'twice') ON CONFLICT (id) DO UPDATE SET v = sd_last.v + 5 RETURNING *;
INSERT INTO sd_last VALUES (7, 2, 'twice') ON CONFLICT (id) DO NOTHING;
BEGIN;
SELECT * FROM sd_last WHERE id = 8;
ALTER TABLE sd_last ADD COLUMN w int DEFAULT 5;
UPDATE sd_last SET v = 1 WHERE id = 8 RETURNING *;
SELECT * FROM sd_last WHERE id = 9;
ALTER TABLE sd_last DROP COLUMN t;
UPDATE sd_last SET v = 1 WHERE id = 9 RETURNING *;
COMMIT;
SELECT * FROM sd_last WHERE id BETWEEN 7 AND 10 ORDER BY id;
SELECT * FROM sd_last WHERE id = 15;
DELETE FROM sd_last WHERE id BETWEEN 11 AND 9000;
VACUUM (INDEX_CLEANUP ON) sd_last;
SELECT * FROM sd_last WHERE id = 15;
INSERT INTO sd_last VALUES (15, 1, 1);
INSERT INTO sd_last VALUES (9001, 1, 1);
SELECT * FROM sd_last WHERE id IN (15, 9001) ORDER BY id;
VACUUM FULL sd_last;
INSERT INTO sd_last VALUES (15, 1, 1);
SELECT count(*), count(DISTINCT id) FROM sd_last;
BEGIN;
TRUNCATE sd_last;
INSERT INTO sd_last SELECT g, 0 FROM generate_series(1, 20000) g;
DELETE FROM sd_last WHERE id = 9001;
INSERT INTO sd_last VALUES (9001, 1, 1);
SELECT * FROM sd_last WHERE id = 9001;
ROLLBACK;
SELECT * FROM sd_last WHERE id = 9001;
RESET enable_seqscan;
DROP TABLE sd_last;

-- updates that leave the keys alone enter their rows by themselves in serializable transactions, but
-- a deferred check of uniqueness must come to the new versions
CREATE TABLE sd_deferred_packed (k int, v int, UNIQUE (k) DEFERRABLE) USING gpucol;
INSERT INTO sd_deferred_packed SELECT g, 0 FROM generate_series(1, 3000) g;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO sd_deferred_packed SELECT g, 1 FROM generate_series(1001, 4000) g;
UPDATE sd_deferred_packed SET v = 2 WHERE v = 1;
COMMIT;
SELECT count(*), count(DISTINCT k), max(v) FROM sd_deferred_packed;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO sd_deferred_packed SELECT g, 1 FROM generate_series(2001, 5000) g;
UPDATE sd_deferred_packed SET v = 2 WHERE v = 1;
DELETE FROM sd_deferred_packed WHERE v = 0 AND k > 2000;
COMMIT;
SELECT count(*), count(DISTINCT k), max(v) FROM sd_deferred_packed;
SELECT * FROM gpucol.verify('sd_deferred_packed');
DROP TABLE sd_deferred_packed;
