-- Rows of the delta as batches of columns, read twice in a session (the second answer may come
-- from what it keeps): every kind of column, NULLs, long texts, columns dropped and added,
-- rows updated, deleted, rolled back and in progress, by this session and by another.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpucol;
CREATE EXTENSION IF NOT EXISTS dblink;
RESET client_min_messages;
CREATE TYPE sd_mood AS ENUM ('low', 'high');
CREATE TABLE sd (id int PRIMARY KEY, gone int, b bool, c "char", s smallint, i int, l bigint, o oid,
	d date, ts timestamptz, r real, f double precision, n numeric(10,2), w numeric(30,4), u numeric,
	e sd_mood, v text, late int, k char(6), m name, y bytea, z interval)
	USING gpucol WITH (fillfactor = 60, autovacuum_enabled = off);
ALTER TABLE sd DROP COLUMN gone;
CREATE TABLE sd_twin (LIKE sd INCLUDING INDEXES) USING heap;

-- Rows from a to b, one statement a row, so that they stay in the delta.
CREATE FUNCTION sd_fill(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR x IN first .. last LOOP
		INSERT INTO sd (id, b, c, s, i, l, o, d, ts, r, f, n, w, u, e, v, late, k, m, y, z)
			VALUES (x, x % 3 = 0, chr(65 + x % 26)::"char", -x % 30000, x - 500, x * 1000000007::bigint,
			4000000000 + x, date '2000-01-01' + x, timestamptz '2001-01-01Z' + x * interval '1 hour',
			x / 7.0, -x / 3.0, x / 100.0, x * 123456789012345.0001, x / 11.0,
			(CASE WHEN x % 2 = 0 THEN 'low' ELSE 'high' END)::sd_mood,
			CASE WHEN x % 100 = 7 THEN repeat(md5(x::text), 400) WHEN x % 5 <> 0 THEN 'text ' || x % 9 END,
			NULLIF(x % 4, 0), 'k' || x % 50, ('n' || x % 20)::name, decode(md5(x::text), 'hex'), x * interval '1 minute');
		IF x % 10 = 3 THEN
			UPDATE sd SET b = NULL, s = NULL, l = NULL, f = NULL, n = NULL, e = NULL WHERE id = x;
		END IF;
	END LOOP;
	INSERT INTO sd_twin SELECT * FROM sd WHERE id BETWEEN first AND last;
END $$;

-- How many rows of a query over both tables differ, with everything pushed down, twice.
CREATE FUNCTION sd_differ(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	one bigint;
	two bigint;
	theirs text := replace(query, 'sd', 'sd_twin');
BEGIN
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE format('CREATE TEMP TABLE sd_heap AS %s', theirs);
	SET LOCAL gpucol.pushdown = require;
	EXECUTE format('CREATE TEMP TABLE sd_one AS %s', query);
	EXECUTE format('CREATE TEMP TABLE sd_two AS %s', query);
	SET LOCAL gpucol.pushdown = allow;
	SELECT count(*) INTO one FROM ((TABLE sd_one EXCEPT ALL TABLE sd_heap) UNION ALL
		(TABLE sd_heap EXCEPT ALL TABLE sd_one)) x;
	SELECT count(*) INTO two FROM ((TABLE sd_two EXCEPT ALL TABLE sd_heap) UNION ALL
		(TABLE sd_heap EXCEPT ALL TABLE sd_two)) x;
	DROP TABLE sd_heap, sd_one, sd_two;
	RETURN one + two;
END $$;

-- Several queries, each of other columns.
CREATE FUNCTION sd_check() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	differ bigint := 0;
	rows bigint;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'SELECT * FROM sd',
		'SELECT count(*) AS n FROM sd',
		'SELECT count(*) n, sum(l) l, sum(w) w, sum(u) u, min(d) d, max(ts) t, sum(n) s, max(late) x FROM sd',
		'SELECT b, count(*) n, sum(i) i, count(v) v, min(k) k FROM sd GROUP BY b',
		'SELECT e, c, count(*) n, max(f) f, min(r) r FROM sd GROUP BY e, c',
		'SELECT v, count(*) n, sum(s) s FROM sd GROUP BY v',
		'SELECT id, v, y, z FROM sd WHERE id % 7 = 3 AND o > 4000000100',
		'SELECT m, id FROM sd WHERE late IS NULL AND m <> ''n3''']
	LOOP
		differ := differ + sd_differ(query);
	END LOOP;
	SELECT count(*) INTO rows FROM sd_twin;
	RETURN format('%s rows, %s differ', rows, differ);
END $$;

SELECT sd_fill(1, 1500);
SELECT sd_check();
EXPLAIN (COSTS OFF) SELECT b, count(*) FROM sd GROUP BY b;

-- updated in place and on other pages, deleted, vacuumed
UPDATE sd SET i = i + 1 WHERE id % 6 = 0;
UPDATE sd_twin SET i = i + 1 WHERE id % 6 = 0;
UPDATE sd SET v = v || ' longer', n = -n WHERE id % 11 = 0;
UPDATE sd_twin SET v = v || ' longer', n = -n WHERE id % 11 = 0;
SELECT sd_check();
DELETE FROM sd WHERE id % 13 = 0 OR id BETWEEN 300 AND 700;
DELETE FROM sd_twin WHERE id % 13 = 0 OR id BETWEEN 300 AND 700;
SELECT sd_check();
VACUUM (FREEZE) sd;
SELECT sd_check();
SELECT sd_fill(1501, 1800);
SELECT sd_check();

-- rolled back, savepoints, the transaction's own rows
BEGIN;
SELECT sd_check();
DELETE FROM sd WHERE id < 100;
DELETE FROM sd_twin WHERE id < 100;
SELECT sd_check();
SAVEPOINT a;
UPDATE sd SET l = 0, v = NULL WHERE id % 2 = 0;
UPDATE sd_twin SET l = 0, v = NULL WHERE id % 2 = 0;
SELECT sd_fill(1801, 1850);
SELECT sd_check();
ROLLBACK TO a;
SELECT sd_check();
RELEASE a;
SAVEPOINT b;
UPDATE sd SET i = -i WHERE id = 1000;
UPDATE sd_twin SET i = -i WHERE id = 1000;
RELEASE b;
SELECT sd_check();
ROLLBACK;
SELECT sd_check();

-- another session's rows, in progress and committed; a snapshot from before
SELECT dblink_connect('sd_other', format('dbname=%s user=%s host=%s port=%s', current_database(), current_user,
	split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')));
SELECT dblink_exec('sd_other', 'BEGIN');
SELECT dblink_exec('sd_other', 'UPDATE sd SET l = 7 WHERE id % 9 = 0');
SELECT sd_check();
SELECT dblink_exec('sd_other', 'ROLLBACK');
SELECT sd_check();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sd_check();
SELECT dblink_exec('sd_other', 'UPDATE sd SET l = 8 WHERE id % 9 = 0');
SELECT sd_check();
COMMIT;
UPDATE sd_twin SET l = 8 WHERE id % 9 = 0;
SELECT sd_check();
SELECT dblink_exec('sd_other', 'DELETE FROM sd WHERE id % 10 = 1');
DELETE FROM sd_twin WHERE id % 10 = 1;
SELECT sd_check();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT sd_check();
COMMIT;

-- columns that rows are too old to have, of which one was another before
ALTER TABLE sd ADD COLUMN added int DEFAULT 41;
ALTER TABLE sd_twin ADD COLUMN added int DEFAULT 41;
SELECT sd_differ('SELECT added, count(*) FROM sd GROUP BY added');
BEGIN;
ALTER TABLE sd ADD COLUMN again text DEFAULT 'first';
ALTER TABLE sd_twin ADD COLUMN again text DEFAULT 'first';
SELECT sd_differ('SELECT again, sum(added) FROM sd GROUP BY again');
ROLLBACK;
BEGIN;
SAVEPOINT c;
ALTER TABLE sd ADD COLUMN again text DEFAULT 'third';
ALTER TABLE sd_twin ADD COLUMN again text DEFAULT 'third';
SELECT sd_differ('SELECT again, sum(added) FROM sd GROUP BY again');
ROLLBACK TO c;
ALTER TABLE sd ADD COLUMN again text DEFAULT 'fourth';
ALTER TABLE sd_twin ADD COLUMN again text DEFAULT 'fourth';
SELECT sd_differ('SELECT again, sum(added) FROM sd GROUP BY again');
ROLLBACK;
ALTER TABLE sd ADD COLUMN again text DEFAULT 'second';
ALTER TABLE sd_twin ADD COLUMN again text DEFAULT 'second';
SELECT sd_differ('SELECT again, sum(added) FROM sd GROUP BY again');
ALTER TABLE sd DROP COLUMN c, ADD COLUMN c text DEFAULT 'c';
ALTER TABLE sd_twin DROP COLUMN c, ADD COLUMN c text DEFAULT 'c';
ALTER TABLE sd ALTER COLUMN n TYPE numeric(14,2), ALTER COLUMN k TYPE text;
ALTER TABLE sd_twin ALTER COLUMN n TYPE numeric(14,2), ALTER COLUMN k TYPE text;
SELECT sd_check();
ALTER TABLE sd ALTER COLUMN i TYPE bigint;
ALTER TABLE sd_twin ALTER COLUMN i TYPE bigint;
SELECT sd_check();

-- nothing kept, and less than the table has; two tables that do not both have room
SET gpucol.delta_memory_limit = 0;
SELECT sd_check();
SET gpucol.delta_memory_limit = '1MB';
SELECT sd_check();
CREATE TABLE sd_more (id int, t text) USING gpucol WITH (autovacuum_enabled = off);
DO $$ BEGIN
	FOR x IN 1 .. 3000 LOOP
		INSERT INTO sd_more VALUES (x, repeat('x', 300));
	END LOOP;
END $$;
SELECT count(*), sum(m.id), sum(length(m.t)) FROM sd_more m, sd WHERE m.id = sd.id;
SELECT sd_check();
SELECT count(*), sum(id), sum(length(t)) FROM sd_more;
RESET gpucol.delta_memory_limit;
SELECT sd_check();

-- a table joined with itself
SELECT sd_differ('SELECT a.id, b.l FROM sd a, sd b WHERE a.id = b.id + 1 AND a.i % 3 = 0');

-- a cursor keeps what it saw while the rows change and others read them
BEGIN;
SET LOCAL gpucol.pushdown = require;
DECLARE sd_cursor CURSOR FOR SELECT id, v FROM sd WHERE id > 900;
CREATE TEMP TABLE sd_seen AS SELECT id, v FROM sd WHERE id > 900;
CREATE TEMP TABLE sd_got (id int, v text);
DO $$
DECLARE
	c refcursor := 'sd_cursor';
	row record;
BEGIN
	FOR x IN 1 .. 100 LOOP
		FETCH c INTO row;
		EXIT WHEN NOT FOUND;
		INSERT INTO sd_got VALUES (row.id, row.v);
	END LOOP;
	UPDATE sd SET v = 'changed ' || id WHERE id > 800;
	PERFORM sum(length(v)), sum(id) FROM sd;
	LOOP
		FETCH c INTO row;
		EXIT WHEN NOT FOUND;
		INSERT INTO sd_got VALUES (row.id, row.v);
		PERFORM 1;
	END LOOP;
END $$;
RESET gpucol.pushdown;
SELECT count(*) FROM ((TABLE sd_seen EXCEPT ALL TABLE sd_got) UNION ALL
	(TABLE sd_got EXCEPT ALL TABLE sd_seen)) x;
ROLLBACK;
SELECT sd_check();

-- packed, emptied, filled again
SELECT gpucol.merge('sd') IS NOT NULL AS merged;
SELECT sd_check();
SELECT sd_fill(3000, 3100);
SELECT sd_check();
BEGIN;
TRUNCATE sd, sd_twin;
SELECT sd_check();
SELECT sd_fill(1, 20);
SELECT sd_check();
ROLLBACK;
SELECT sd_check();
TRUNCATE sd, sd_twin;
SELECT sd_fill(1, 30);
SELECT sd_check();

-- tables without WAL, and of the session
CREATE UNLOGGED TABLE sd_plain (a int, t text) USING gpucol;
CREATE TEMP TABLE sd_own (a int, t text) USING gpucol;
INSERT INTO sd_plain VALUES (1, 'one');
INSERT INTO sd_own VALUES (1, 'one');
SELECT sum(a), min(t) FROM sd_plain;
SELECT sum(a), min(t) FROM sd_own;
UPDATE sd_plain SET a = 2;
UPDATE sd_own SET a = 2;
SELECT sum(a), min(t) FROM sd_plain;
SELECT sum(a), min(t) FROM sd_own;

SELECT dblink_disconnect('sd_other');
DROP TABLE sd, sd_twin, sd_more, sd_plain, sd_own;
DROP FUNCTION sd_fill, sd_differ, sd_check;
DROP TYPE sd_mood;
