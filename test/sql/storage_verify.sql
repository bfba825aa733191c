-- gpucol.verify compares rows with index entries, both ways, for every kind of index.
-- An index that is not marked ready is left alone by whoever changes the table, and so
-- gets wrong.  Temporary tables, because no other session's snapshot holds their dead rows.
CREATE TEMP TABLE v (id int, k int, t text, r int4range, a int[]) USING gpucol;
CREATE PROCEDURE pg_temp.ready(value bool, name text DEFAULT '%') LANGUAGE sql AS $$
	UPDATE pg_index SET indisready = value WHERE indrelid = 'v'::regclass AND indexrelid::regclass::text LIKE name
$$;
CREATE FUNCTION pg_temp.rows(first int, last int) RETURNS SETOF v LANGUAGE sql AS $$
	SELECT i, nullif(i % 10, 3), 'text ' || i, int4range(i, i + 5), ARRAY[i % 7, i % 11, NULL] FROM generate_series(first, last) i
$$;
INSERT INTO v SELECT * FROM pg_temp.rows(1, 3000);
INSERT INTO v SELECT * FROM pg_temp.rows(3001, 3010);
CREATE UNIQUE INDEX v_btree ON v (id);
CREATE INDEX v_hash ON v USING hash (k);
CREATE INDEX v_hash_expr ON v USING hash ((a[1] * 2));
CREATE INDEX v_gist ON v USING gist (r);
CREATE INDEX v_spgist ON v USING spgist (t);
CREATE INDEX v_gin ON v USING gin (a);
CREATE INDEX v_part ON v (k) WHERE id % 2 = 0;
SELECT * FROM gpucol.verify('v');

-- right after every kind of change
INSERT INTO v SELECT * FROM pg_temp.rows(4001, 6500);
UPDATE v SET k = k + 1 WHERE id IN (5, 3005, 5500);
UPDATE v SET t = 'again' WHERE id IN (6, 3006, 5501);
SELECT gpucol.merge('v') > 0 AS merged;
INSERT INTO v SELECT * FROM pg_temp.rows(7001, 7004);
BEGIN;
INSERT INTO v SELECT * FROM pg_temp.rows(20001, 23000);
SAVEPOINT s;
DELETE FROM v WHERE id % 5 = 0;
SELECT * FROM gpucol.verify('v');
ROLLBACK TO s;
SELECT * FROM gpucol.verify('v');
ROLLBACK;
SELECT * FROM gpucol.verify('v');
DELETE FROM v WHERE id BETWEEN 4100 AND 4200 OR id = 3007;
VACUUM (INDEX_CLEANUP ON) v;
SELECT * FROM gpucol.verify('v');

-- rows that no index has, of a segment and of the delta; k is NULL in some of them
CALL pg_temp.ready(false);
INSERT INTO v SELECT * FROM pg_temp.rows(8001, 9003);
CALL pg_temp.ready(true);
SELECT * FROM gpucol.verify('v') ORDER BY problem;
REINDEX TABLE v;
SELECT * FROM gpucol.verify('v');

-- entries of rows that are gone: some of a segment, all of another, some of the delta
CALL pg_temp.ready(false);
DELETE FROM v WHERE id BETWEEN 5001 AND 5003 OR id = 5005 OR id BETWEEN 7002 AND 7003 OR id BETWEEN 9001 AND 9003;
VACUUM v;
CALL pg_temp.ready(true);
SELECT * FROM gpucol.verify('v') ORDER BY problem;
REINDEX TABLE v;
SELECT * FROM gpucol.verify('v');

-- entries of a load that failed: nothing wrong until VACUUM says that it has deleted them
BEGIN;
INSERT INTO v SELECT * FROM pg_temp.rows(30001, 32000);
ROLLBACK;
SELECT * FROM gpucol.verify('v');
CALL pg_temp.ready(false, 'v_btree');
VACUUM v;
CALL pg_temp.ready(true);
SELECT * FROM gpucol.verify('v') ORDER BY problem;
DROP INDEX v_btree;
SELECT * FROM gpucol.verify('v');

-- entries of rows whose places in the delta other rows have got
CREATE TEMP TABLE w (id int, t text) USING gpucol;
INSERT INTO w SELECT i, 'text ' || i FROM generate_series(1, 7) i;
CREATE INDEX w_ready ON w (id);
CREATE INDEX w_both ON w (id);
CREATE INDEX w_key ON w (t) INCLUDE (id);
CREATE INDEX w_hash ON w USING hash (t);
UPDATE pg_index SET indisready = false WHERE indrelid = 'w'::regclass AND indexrelid <> 'w_ready'::regclass;
DELETE FROM w WHERE id IN (2, 3, 5);
VACUUM w;
INSERT INTO w VALUES (8, 'new');
UPDATE pg_index SET indisready = true WHERE indrelid = 'w'::regclass;
INSERT INTO w VALUES (9, 'other'), (5, 'text 5');
SELECT * FROM gpucol.verify('w') ORDER BY problem;
DROP TABLE w;
DROP FUNCTION pg_temp.rows;
DROP TABLE v;

-- a predicate is evaluated as the table's owner, and in a restricted operation
CREATE ROLE verify_owner;
CREATE ROLE verify_reader;
CREATE TABLE verify_part (id int) USING gpucol;
ALTER TABLE verify_part OWNER TO verify_owner;
GRANT SELECT ON verify_part TO verify_reader;
CREATE FUNCTION verify_limit(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 3000 THEN
		RAISE NOTICE 'it is %, search_path %', current_user, current_setting('search_path');
	END IF;
	RETURN $1 <= current_setting('verify.bound')::int;
END $$;
SET verify.bound = 20;
CREATE INDEX verify_part_id ON verify_part (id) WHERE verify_limit(id);
INSERT INTO verify_part SELECT generate_series(1, 3000);
SET ROLE verify_reader;
SELECT * FROM gpucol.verify('verify_part');
-- it is not what it was
SET verify.bound = 10;
SELECT * FROM gpucol.verify('verify_part');
SET verify.bound = 1200;
SELECT * FROM gpucol.verify('verify_part');
RESET ROLE;
REVOKE SELECT ON verify_part FROM verify_reader;
SET ROLE verify_reader;
SELECT * FROM gpucol.verify('verify_part');
RESET ROLE;
DROP TABLE verify_part;
DROP FUNCTION verify_limit;
DROP ROLE verify_owner, verify_reader;
