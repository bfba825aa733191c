-- Deleted rows of packed segments, which a session keeps in mind where a directory is full of
-- tombstones: changed by itself and by others, seen by old snapshots, rolled back, folded.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpucol;
CREATE EXTENSION IF NOT EXISTS dblink;
RESET client_min_messages;
CREATE TABLE vd (id int, k int, t text) USING gpucol;
SET gpucol.segment_rows = 16384;
INSERT INTO vd SELECT i, i % 13, 'text ' || i % 50 FROM generate_series(1, 60000) i;
CREATE TABLE vd_twin (LIKE vd) USING heap;
INSERT INTO vd_twin SELECT * FROM vd;

-- What both tables show, twice: the second answer may come from what is kept.
CREATE FUNCTION vd_same() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one text;
	two text;
	wanted text;
BEGIN
	SET LOCAL gpucol.pushdown = allow;
	SELECT string_agg(format('%s %s %s', k, n, s), ',' ORDER BY k) INTO wanted
	FROM (SELECT k, count(*) n, sum(id) s FROM vd_twin GROUP BY k) x;
	FOR i IN 1 .. 2 LOOP
		SELECT string_agg(format('%s %s %s', k, n, s), ',' ORDER BY k) INTO one
		FROM (SELECT k, count(*) n, sum(id) s FROM vd GROUP BY k) x;
		SET LOCAL gpucol.pushdown = forbid;
		SELECT string_agg(format('%s %s %s', k, n, s), ',' ORDER BY k) INTO two
		FROM (SELECT k, count(*) n, sum(id) s FROM vd GROUP BY k) x;
		SET LOCAL gpucol.pushdown = allow;
		IF one IS DISTINCT FROM wanted OR two IS DISTINCT FROM wanted THEN
			RETURN format('different: %s / %s / %s', wanted, one, two);
		END IF;
	END LOOP;
	RETURN (SELECT count(*) FROM vd_twin)::text;
END $$;

SELECT vd_same();
DELETE FROM vd WHERE id % 4 = 0;
DELETE FROM vd_twin WHERE id % 4 = 0;
SELECT vd_same();
SELECT vd_same();

-- one row, its own and rolled back
DELETE FROM vd WHERE id = 1;
DELETE FROM vd_twin WHERE id = 1;
SELECT vd_same();
BEGIN;
SELECT vd_same();
DELETE FROM vd WHERE id = 2;
DELETE FROM vd_twin WHERE id = 2;
SELECT vd_same();
SAVEPOINT a;
DELETE FROM vd WHERE id BETWEEN 100 AND 9000;
DELETE FROM vd_twin WHERE id BETWEEN 100 AND 9000;
SELECT vd_same();
ROLLBACK TO a;
SELECT vd_same();
ROLLBACK;
SELECT vd_same();

-- another session, before and behind an old snapshot
SELECT dblink_connect('other', format('dbname=%s user=%s host=%s port=%s', current_database(), current_user,
	split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT vd_same();
SELECT dblink_exec('other', 'DELETE FROM vd WHERE id BETWEEN 20001 AND 21000');
SELECT dblink_exec('other', 'DELETE FROM vd_twin WHERE id BETWEEN 20001 AND 21000');
SELECT vd_same();
COMMIT;
SELECT vd_same();
SELECT dblink_exec('other', 'BEGIN');
SELECT dblink_exec('other', 'DELETE FROM vd WHERE id > 59000');
SELECT dblink_exec('other', 'DELETE FROM vd_twin WHERE id > 59000');
SELECT vd_same();
SELECT dblink_exec('other', 'COMMIT');
SELECT vd_same();
SELECT dblink_exec('other', 'UPDATE vd SET k = k + 1 WHERE id % 10 = 7');
SELECT dblink_exec('other', 'UPDATE vd_twin SET k = k + 1 WHERE id % 10 = 7');
SELECT vd_same();

-- an old cursor while others delete and fold
BEGIN;
DECLARE old CURSOR FOR SELECT id FROM vd;
FETCH 2 FROM old;
SELECT dblink_exec('other', 'DELETE FROM vd WHERE id < 1000');
SELECT dblink_exec('other', 'DELETE FROM vd_twin WHERE id < 1000');
SELECT dblink_exec('other', 'VACUUM vd');
SELECT vd_same();
FETCH 2 FROM old;
COMMIT;
VACUUM vd;
SELECT vd_same();

-- whole segments, and none at all
DELETE FROM vd WHERE id < 30000;
DELETE FROM vd_twin WHERE id < 30000;
SELECT vd_same();
VACUUM vd;
SELECT vd_same();
SELECT dblink_exec('other', 'TRUNCATE vd, vd_twin');
SELECT vd_same();
SELECT dblink_disconnect('other');
DROP TABLE vd, vd_twin;
DROP FUNCTION vd_same;
