-- Statements that change many packed rows write their tombstones together; the rows are those of heap twins.
CREATE SCHEMA storage_burials;
SET search_path = storage_burials, public;
CREATE TABLE h_many AS SELECT g AS id, g % 50 AS k, 't' || g % 777 AS t, (g / 3.0)::numeric(10,2) AS n FROM generate_series(1, 20000) g;
CREATE TABLE many USING gpucol AS TABLE h_many;
CREATE TABLE h_keys (LIKE h_many);
CREATE TABLE keys (LIKE h_many) USING gpucol;
INSERT INTO h_keys TABLE h_many;
INSERT INTO keys TABLE h_many;
CREATE UNIQUE INDEX ON h_keys (id);
CREATE UNIQUE INDEX ON keys (id);
CREATE INDEX ON many (k);

-- the same of a statement on both, and whether the tables are equal then
CREATE FUNCTION compare(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
	found_heap bigint;
	failed text := '';
	failed_heap text := '';
	other bigint;
BEGIN
	BEGIN
		EXECUTE regexp_replace(statement, '\m(many|keys)\M', 'h_\1', 'g');
		GET DIAGNOSTICS found_heap = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN
		failed_heap := sqlstate;
	END;
	BEGIN
		EXECUTE statement;
		GET DIAGNOSTICS found = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN
		failed := sqlstate;
	END;
	SELECT count(*) INTO other FROM
		((TABLE many EXCEPT ALL TABLE h_many) UNION ALL (TABLE h_many EXCEPT ALL TABLE many) UNION ALL
		 (TABLE keys EXCEPT ALL TABLE h_keys) UNION ALL (TABLE h_keys EXCEPT ALL TABLE keys)) d;
	IF found IS DISTINCT FROM found_heap OR failed <> failed_heap OR other > 0 THEN
		RETURN format('%s rows for %s, error "%s" for "%s", %s differ', found, found_heap, failed, failed_heap, other);
	END IF;
	RETURN format('equal: %s rows %s', found, failed);
END $$;

-- are fewer records written than rows changed?
CREATE FUNCTION few_records(statement text, limit_at bigint) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || statement INTO plan;
	RETURN (plan->0->'Plan'->>'WAL Records')::bigint < limit_at;
END $$;

CHECKPOINT;
BEGIN;
SELECT few_records('DELETE FROM many WHERE id % 2 = 0', 2000);
SELECT few_records('DELETE FROM keys WHERE id % 3 = 0', 2000);
-- a new version has a record of its own, and a tombstone nearly none
SELECT few_records('UPDATE many SET k = k + 1 WHERE id % 4 = 1', 12000);
SELECT few_records('WITH d AS (DELETE FROM keys WHERE id % 3 = 1 RETURNING id) SELECT count(*) FROM d', 2000);
ROLLBACK;
SELECT compare('UPDATE many SET k = k');

-- parts of the rows of a latch, several statements, a transaction that is not committed, savepoints
SELECT compare('DELETE FROM many WHERE id BETWEEN 900 AND 1100');
SELECT compare('DELETE FROM many WHERE id % 7 = 0');
SELECT compare('UPDATE many SET n = n + 1, t = t || ''x'' WHERE id % 5 = 0');
SELECT compare('UPDATE many SET k = k + 1 WHERE k BETWEEN 10 AND 20');
SELECT compare('DELETE FROM keys WHERE k = 3');
SELECT compare('UPDATE keys SET n = n * 2 WHERE k = 4');
SELECT compare('UPDATE keys SET id = id + 100000 WHERE k = 5');
BEGIN;
DELETE FROM many WHERE id % 11 = 0;
SAVEPOINT a;
DELETE FROM many;
UPDATE keys SET n = 0;
SELECT count(*) FROM many;
ROLLBACK TO a;
SELECT count(*) = (SELECT count(*) FROM h_many WHERE id % 11 > 0) AS back, sum(n) = (SELECT sum(n) FROM h_many WHERE id % 11 > 0) AS same FROM many;
UPDATE many SET n = 7 WHERE id < 3000;
ROLLBACK;
SELECT compare('DELETE FROM many WHERE false');

-- a row twice in one statement, itself or what it was joined to
SELECT compare('DELETE FROM many USING generate_series(1, 3) g WHERE id % 13 = 0');
SELECT compare('UPDATE many SET n = -1 FROM generate_series(1, 3) g WHERE id % 17 = 0');
SELECT compare('DELETE FROM many a USING many b WHERE a.id = b.id + 1 AND b.id % 19 = 0');
SELECT compare('MERGE INTO many a USING (SELECT g % 400 * 23 AS id FROM generate_series(1, 800) g) s ON a.id = s.id WHEN MATCHED THEN DELETE');

-- what a statement reads of its own table, and writes there
SELECT compare('DELETE FROM many WHERE n > (SELECT avg(n) * 1.9 FROM many)');
SELECT compare('WITH d AS (DELETE FROM keys WHERE k = 6 RETURNING *) INSERT INTO keys SELECT id, k + 1000, t, n FROM d');
SELECT compare('WITH d AS (DELETE FROM many WHERE k = 7 RETURNING *) INSERT INTO many SELECT id, k + 1000, t, n FROM d');
SELECT compare('WITH d AS (UPDATE many SET k = -k WHERE k = 8 RETURNING *) DELETE FROM keys USING d WHERE keys.id = d.id');
SELECT compare('MERGE INTO keys a USING (SELECT id, t FROM h_many UNION ALL SELECT id + 50000, t FROM h_many) s ON a.id = s.id '
	'WHEN MATCHED AND a.k = 9 THEN DELETE WHEN MATCHED AND a.k = 11 THEN UPDATE SET t = s.t || ''m'' WHEN NOT MATCHED AND s.id % 9 = 0 THEN INSERT VALUES (s.id, 1, s.t, 0)');
-- a key that a row deleted by the same statement has had
SELECT compare('MERGE INTO keys a USING (SELECT * FROM (VALUES (10), (100010)) v (id)) s ON a.id = s.id '
	'WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id - 100000, 1, ''again'', 0)');
SELECT compare('UPDATE keys SET id = id + 1 WHERE id > 15000');
SELECT compare('UPDATE many SET n = 1 / (id - 12345) WHERE id > 12000');

-- rows that were locked, folded, packed again
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM many WHERE id % 3 = 0 FOR SHARE) l;
SELECT compare('DELETE FROM many WHERE id % 6 = 0');
COMMIT;
VACUUM many, keys;
SELECT compare('DELETE FROM many WHERE id % 10 < 2');
SELECT compare('UPDATE keys SET n = n + 1 WHERE id % 10 < 2');
SELECT gpucol.merge('many') IS NOT NULL, gpucol.merge('keys') IS NOT NULL;
SELECT compare('UPDATE many SET n = n + 1 WHERE k < 40');
SELECT compare('DELETE FROM keys WHERE k < 30');

-- triggers, constraints, functions of a user: row after row
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	BEGIN
		PERFORM 1 / (OLD.id % 25 - 7);
	EXCEPTION WHEN division_by_zero THEN
		RETURN NULL;
	END;
	IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
	NEW.t := NEW.t || '!';
	RETURN NEW;
END $$;
CREATE TRIGGER touch BEFORE UPDATE OR DELETE ON many FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER touch BEFORE UPDATE OR DELETE ON h_many FOR EACH ROW EXECUTE FUNCTION touch();
SELECT compare('UPDATE many SET n = n + 1 WHERE id % 5 = 2');
SELECT compare('DELETE FROM many WHERE id % 10 = 7');
DROP TRIGGER touch ON many;
DROP TRIGGER touch ON h_many;
CREATE FUNCTION careful(i int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
	RETURN 1 / (i % 100) IS NOT NULL;
EXCEPTION WHEN division_by_zero THEN
	RETURN false;
END $$;
SELECT compare('DELETE FROM many WHERE id < 2000 AND careful(id)');
ALTER TABLE many ADD CHECK (careful(id) OR n > 0) NOT VALID;
ALTER TABLE h_many ADD CHECK (careful(id) OR n > 0) NOT VALID;
SELECT compare('UPDATE many SET n = n + 3 WHERE id < 9000');
SELECT compare('UPDATE many SET n = -n WHERE id < 9000');

-- AFTER triggers and foreign keys see what is left
CREATE TABLE log (n bigint, left_over bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO log SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM keys);
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER DELETE ON keys REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note();
SELECT compare('DELETE FROM keys WHERE id % 4 = 1');
SELECT n > 0 AND left_over = (SELECT count(*) FROM h_keys) AS sees_all FROM log;
DROP TRIGGER note ON keys;
CREATE TABLE child (id int REFERENCES keys (id) ON DELETE CASCADE) USING gpucol;
INSERT INTO child SELECT id FROM keys;
DELETE FROM keys WHERE id % 4 = 2;
DELETE FROM h_keys WHERE id % 4 = 2;
SELECT count(*) = (SELECT count(*) FROM keys) AS cascaded FROM child;
SELECT compare('DELETE FROM many WHERE false');

-- an empty table, one whose rows are in the delta, all rows
SELECT compare('UPDATE many SET t = NULL, k = k + 1 WHERE id > 9000');
SELECT compare('UPDATE many SET t = NULL, k = k + 1 WHERE id > 9000');
SELECT compare('DELETE FROM many');
SELECT compare('DELETE FROM many');
SELECT gpucol.verify('many'), gpucol.verify('keys'), gpucol.verify('child');
SET client_min_messages = error;
DROP SCHEMA storage_burials CASCADE;
