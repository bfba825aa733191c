-- Versions of what a snapshot sees of a table's segments, by which an engine keeps what it
-- has learnt of them: the same as long as nothing changes, another one after every change,
-- also where no LSN tells.
CREATE FUNCTION source_version(regclass) RETURNS bigint STRICT LANGUAGE c
	AS '$libdir/gpucol', 'gpucol_source_version';
-- compared with the last look; a rollback takes that back, too
CREATE FUNCTION look(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	now bigint := source_version(name::regclass);
	setting text := 'look.' || name;
	last text := current_setting(setting, true);
BEGIN
	PERFORM set_config(setting, now::text, false);
	RETURN CASE WHEN now = 0 THEN 'none' WHEN now::text = last THEN 'same' ELSE 'another' END;
END $$;

SET gpucol.segment_rows = 1024;
CREATE UNLOGGED TABLE unlogged_t (id int PRIMARY KEY, s text) USING gpucol
	WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
SELECT look('unlogged_t') AS empty;
INSERT INTO unlogged_t SELECT i, 'text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT look('unlogged_t') AS loaded;
SELECT look('unlogged_t') AS again;
SELECT count(*), sum(id), look('unlogged_t') AS scanned FROM unlogged_t;

-- another segment; a row of the delta, which is not the segments'
INSERT INTO unlogged_t SELECT i, 'more ' || i % 10 FROM generate_series(5001, 8000) i;
SELECT look('unlogged_t') AS inserted;
INSERT INTO unlogged_t VALUES (10000, 'delta');
SELECT look('unlogged_t') AS delta;
SELECT gpucol.merge('unlogged_t');
SELECT look('unlogged_t') AS merged;
SELECT look('unlogged_t') AS again;

-- rows deleted, updated
DELETE FROM unlogged_t WHERE id = 10;
SELECT look('unlogged_t') AS deleted;
SELECT look('unlogged_t') AS again;
DELETE FROM unlogged_t WHERE id = 11;
SELECT look('unlogged_t') AS deleted;
UPDATE unlogged_t SET s = 'other' WHERE id = 12;
SELECT look('unlogged_t') AS updated;
UPDATE unlogged_t SET s = 'another' WHERE id = 12;
SELECT look('unlogged_t') AS delta_updated;
INSERT INTO unlogged_t VALUES (13, 'x'), (9000, 'y') ON CONFLICT (id) DO UPDATE SET s = excluded.s;
SELECT look('unlogged_t') AS upserted;
SELECT id FROM unlogged_t WHERE id = 20 FOR UPDATE;
SELECT look('unlogged_t') AS locked;

-- what a transaction does is seen by itself, and gone with it
BEGIN;
DELETE FROM unlogged_t WHERE id = 14;
SELECT look('unlogged_t') AS deleted;
SELECT look('unlogged_t') AS again;
SAVEPOINT a;
DELETE FROM unlogged_t WHERE id = 15;
SELECT look('unlogged_t') AS deleted;
INSERT INTO unlogged_t SELECT i, 'own' FROM generate_series(20001, 23000) i;
SELECT look('unlogged_t') AS inserted;
ROLLBACK TO a;
SELECT look('unlogged_t') AS undone;
-- numbers may be used again, for other rows
INSERT INTO unlogged_t SELECT i, 'OWN' FROM generate_series(20001, 23000) i;
SELECT look('unlogged_t') AS inserted;
ROLLBACK TO a;
INSERT INTO unlogged_t SELECT i, 'oWn' FROM generate_series(20001, 23000) i;
SELECT look('unlogged_t') AS inserted;
ROLLBACK;
SELECT look('unlogged_t') AS rolled_back;
DELETE FROM unlogged_t WHERE id = 15;
SELECT look('unlogged_t') AS deleted;

-- under the other isolation levels
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT look('unlogged_t') AS serializable;
SELECT look('unlogged_t') AS again;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM unlogged_t WHERE id = 16;
SELECT look('unlogged_t') AS repeatable;
COMMIT;
SELECT look('unlogged_t') AS committed;

-- an open cursor keeps its own rows; statements around it see theirs
BEGIN;
SELECT source_version('unlogged_t') AS before \gset
DECLARE c CURSOR FOR SELECT source_version('unlogged_t') = :before AS before FROM unlogged_t WHERE id IN (17, 18);
DELETE FROM unlogged_t WHERE id = 18;
SELECT look('unlogged_t') AS deleted;
FETCH ALL FROM c;
SELECT look('unlogged_t') AS again;
COMMIT;

-- upkeep: tombstones become bits, dead segments go, rows come to lie elsewhere
VACUUM (INDEX_CLEANUP ON) unlogged_t;
SELECT look('unlogged_t') AS folded;
SELECT look('unlogged_t') AS again;
DELETE FROM unlogged_t WHERE id = 30;
SELECT look('unlogged_t') AS deleted;
VACUUM (INDEX_CLEANUP ON) unlogged_t;
SELECT look('unlogged_t') AS folded;
SELECT sum(deleted) AS deleted FROM gpucol.segments('unlogged_t');
DELETE FROM unlogged_t WHERE id BETWEEN 5001 AND 8000;
SELECT look('unlogged_t') AS deleted;
VACUUM (INDEX_CLEANUP ON) unlogged_t;
VACUUM (INDEX_CLEANUP ON) unlogged_t;
SELECT look('unlogged_t') AS vacuumed;
-- its pages are used again
INSERT INTO unlogged_t SELECT i, 'MORE ' || i % 10 FROM generate_series(5001, 8000) i;
SELECT look('unlogged_t') AS inserted;
SELECT gpucol.merge('unlogged_t') > 0 AS merged;
SELECT look('unlogged_t') AS merged;
VACUUM FULL unlogged_t;
SELECT look('unlogged_t') AS rewritten;
SELECT look('unlogged_t') AS again;
CLUSTER unlogged_t USING unlogged_t_pkey;
SELECT look('unlogged_t') AS clustered;
REINDEX TABLE unlogged_t;
SELECT look('unlogged_t') AS reindexed;
ALTER TABLE unlogged_t ADD COLUMN added int DEFAULT 7;
SELECT look('unlogged_t') AS column_added;
ALTER TABLE unlogged_t ALTER COLUMN id TYPE bigint;
SELECT look('unlogged_t') AS column_changed;
SELECT * FROM gpucol.verify('unlogged_t');

-- TRUNCATE: the new file is its transaction's affair until the end
BEGIN;
TRUNCATE unlogged_t;
INSERT INTO unlogged_t SELECT i, 'text ' || i % 10 FROM generate_series(1, 5000) i;
SELECT look('unlogged_t') AS truncated;
TRUNCATE unlogged_t;
INSERT INTO unlogged_t SELECT i, 'TEXT ' || i % 10 FROM generate_series(1, 5000) i;
SELECT look('unlogged_t') AS truncated;
ROLLBACK;
SELECT look('unlogged_t') AS rolled_back;
BEGIN;
TRUNCATE unlogged_t;
INSERT INTO unlogged_t SELECT i, 'text ' || i % 10 FROM generate_series(1, 5000) i;
COMMIT;
SELECT look('unlogged_t') AS truncated;
SELECT look('unlogged_t') AS again;
ALTER TABLE unlogged_t SET LOGGED;
SELECT look('unlogged_t') AS logged;
ALTER TABLE unlogged_t SET UNLOGGED;
SELECT look('unlogged_t') AS unlogged;

-- many deleted rows
DELETE FROM unlogged_t WHERE id % 2 = 0;
SELECT look('unlogged_t') AS deleted;
SELECT look('unlogged_t') AS again;

-- a logged table's own transaction, whose changes are not settled, and what follows
CREATE TABLE logged_t (id int) USING gpucol;
INSERT INTO logged_t SELECT i FROM generate_series(1, 5000) i;
SELECT look('logged_t') AS loaded;
BEGIN;
DELETE FROM logged_t WHERE id = 3000;
SELECT look('logged_t') AS deleted;
SELECT look('logged_t') AS again;
DELETE FROM logged_t WHERE id = 3001;
SELECT look('logged_t') AS deleted;
INSERT INTO logged_t SELECT i FROM generate_series(6001, 9000) i;
SELECT look('logged_t') AS inserted;
SELECT look('logged_t') AS again;
ROLLBACK;
SELECT look('logged_t') <> 'none' AS rolled_back;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT look('logged_t') <> 'none' AS serializable;
SELECT look('logged_t') AS again;
COMMIT;

-- a table whose file may be emptied in place has none
CREATE TEMPORARY TABLE temporary_t (id int) USING gpucol ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO temporary_t SELECT i FROM generate_series(1, 5000) i;
SELECT look('temporary_t') AS temporary;
COMMIT;
BEGIN;
CREATE UNLOGGED TABLE new_t (id int) USING gpucol
	WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
INSERT INTO new_t SELECT i FROM generate_series(1, 5000) i;
SELECT look('new_t') AS new;
TRUNCATE new_t;
INSERT INTO new_t SELECT i FROM generate_series(5000, 1, -1) i;
SELECT look('new_t') AS new;
COMMIT;
SELECT look('new_t') AS committed;
SELECT look('new_t') AS again;

-- more views than are kept, and back to the first
BEGIN;
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		DELETE FROM new_t WHERE id = 3000 - i;
		IF look('new_t') <> 'another' OR look('new_t') <> 'same' THEN
			RAISE EXCEPTION 'deletion % was not seen', i;
		END IF;
	END LOOP;
END $$;
ROLLBACK;
SELECT look('new_t') AS forgotten;
SELECT look('new_t') AS again;

DROP TABLE unlogged_t, logged_t, temporary_t, new_t;
DROP FUNCTION look, source_version;
