-- What the indexes of a table call runs as the table's owner, whoever merges it.
CREATE SCHEMA storage_owner;
SET search_path = storage_owner, public;
CREATE ROLE owner_of_indexes;
GRANT CREATE, USAGE ON SCHEMA storage_owner TO owner_of_indexes;

SET ROLE owner_of_indexes;
-- who runs it, and what it can do to the caller
CREATE FUNCTION probe(what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	problem text;
BEGIN
	PERFORM set_config('gpucol.segment_rows', '4096', false);
	BEGIN
		PERFORM set_config('role', 'none', false);
	EXCEPTION WHEN OTHERS THEN
		problem := SQLERRM;
	END;
	RAISE NOTICE '%: user %, search_path %, set role: %', what, current_user, current_setting('search_path'), problem;
END $$;
CREATE FUNCTION keyed(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM storage_owner.probe('expression'); RETURN i; END $$;
CREATE FUNCTION above(i int, j int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM storage_owner.probe('operator'); RETURN i > j; END $$;
CREATE OPERATOR >>> (LEFTARG = int, RIGHTARG = int, FUNCTION = above);
CREATE TABLE packed (id int, v int) USING gpucol;
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (100) USING gpucol;
RESET ROLE;

SET client_min_messages = warning;
CREATE INDEX ON storage_owner.packed (keyed(id)) WHERE id >>> 1;
CREATE INDEX ON storage_owner.parts (keyed(id));
INSERT INTO packed VALUES (1, 10), (2, 20);
INSERT INTO parts VALUES (3, 30);
RESET client_min_messages;

SET gpucol.segment_rows = 2048;
SELECT gpucol.merge('packed');
SELECT gpucol.merge('parts');
-- the caller is who it was
SELECT current_user = session_user AS same_user, current_setting('gpucol.segment_rows') AS segment_rows, current_setting('search_path') AS search_path;
SELECT sum(rows) FROM gpucol.segments('packed');

-- a function that its own search_path does not find: the merge says so, and the caller is who it was
SET client_min_messages = warning;
CREATE OR REPLACE FUNCTION keyed(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM probe('expression'); RETURN i; END $$;
INSERT INTO packed VALUES (3, 30);
SELECT gpucol.merge('packed');
SELECT current_user = session_user AS same_user, current_setting('search_path') AS search_path;
SET search_path = public;
CREATE OR REPLACE FUNCTION storage_owner.keyed(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE SET search_path = storage_owner AS $$ BEGIN PERFORM probe('expression'); RETURN i; END $$;
SELECT gpucol.merge('storage_owner.packed');

-- who is not the owner merges nothing, of heap tables and others as well
SET ROLE owner_of_indexes;
SELECT gpucol.merge('pg_class');
SELECT gpucol.merge('pg_class_oid_index');
RESET ROLE;
SELECT gpucol.merge('pg_class_oid_index');
SELECT gpucol.segments('pg_settings');
SELECT gpucol.merge(0);
SELECT gpucol.verify(4294967295);

-- a load and a merge cover their rows in BRIN's summaries, likewise; the executor enters them as who inserts
SET search_path = storage_owner, public;
RESET client_min_messages;
CREATE ROLE loader_of_rows;
GRANT USAGE ON SCHEMA storage_owner TO loader_of_rows;
SET ROLE owner_of_indexes;
CREATE FUNCTION told(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF i % 10000 = 1 THEN RAISE NOTICE '%: user %, search_path %', i, current_user, current_setting('search_path'); END IF;
	RETURN i;
END $$;
CREATE TABLE ranged (id int, v int) USING gpucol;
RESET ROLE;
CREATE INDEX ranged_told ON ranged USING brin (storage_owner.told(id)) WHERE storage_owner.told(v) >= 0;
GRANT INSERT ON ranged TO loader_of_rows;
INSERT INTO ranged SELECT i, 0 FROM generate_series(10002, 14000) i;
VACUUM ranged;
SET ROLE loader_of_rows;
INSERT INTO ranged SELECT i, 2 FROM generate_series(20001, 24000) i;
INSERT INTO ranged VALUES (30001, 40001);
SELECT current_user, current_setting('search_path') AS search_path;
RESET ROLE;
SELECT gpucol.merge('ranged');
SELECT current_user = session_user AS same_user, current_setting('search_path') AS search_path;
SET client_min_messages = warning;
SELECT count(*) FROM ranged;
DROP OWNED BY loader_of_rows;
DROP ROLE loader_of_rows;

DROP SCHEMA storage_owner CASCADE;
DROP ROLE owner_of_indexes;
