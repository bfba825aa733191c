-- Statements that repeat: what a session and the device daemon keep of one must not
-- outlive the rows, the constants or the place that it was made for.
\set ECHO none
SET client_min_messages = warning;
SET gpucol.segment_rows = 8192;
CREATE SCHEMA agg_repeated;
SET search_path = agg_repeated, public;
\set ECHO all
CREATE TABLE packed (k int, v int, w text, d numeric(8, 2)) USING gpucol;
CREATE TABLE heap (k int, v int, w text, d numeric(8, 2));

CREATE FUNCTION change(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(statement, '@', 'packed');
	EXECUTE replace(statement, '@', 'heap');
END $$;

-- Does every execution of each statement give what heap gives?
CREATE FUNCTION same() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	expected text;
	got text;
	wrong int := 0;
	n int := 0;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'SELECT k, count(*), sum(v), min(v), max(v) FROM @ GROUP BY k',
		'SELECT k, count(*), sum(v), min(v), max(v) FROM @ WHERE v BETWEEN 100 AND 700 GROUP BY k',
		'SELECT k, count(*), sum(v), min(v), max(v) FROM @ WHERE v BETWEEN 101 AND 700 GROUP BY k',
		'SELECT w, k, count(*), count(v), sum(d) FROM @ GROUP BY w, k',
		'SELECT count(*) FROM @ WHERE v BETWEEN 100 AND 700',
		'SELECT count(*), sum(v), min(d) FROM @ WHERE k < 30',
		'SELECT w, count(*) FROM @ WHERE w LIKE ''word1%'' GROUP BY w',
		'SELECT sum(v * 2 + k), max(v - k) FROM @ WHERE v % 3 = 1',
		'SELECT k, v FROM @ WHERE v = 77']
	LOOP
		query := 'SELECT coalesce(md5(string_agg(t::text, '','' ORDER BY t::text)), ''none'') FROM (' || query || ') t';
		EXECUTE replace(query, '@', 'heap') INTO expected;
		FOR i IN 1 .. 4 LOOP
			EXECUTE replace(query, '@', 'packed') INTO got;
			n := n + 1;
			wrong := wrong + (got <> expected)::int;
		END LOOP;
	END LOOP;
	RETURN n || ' answers, ' || wrong || ' wrong';
END $$;

SELECT change('INSERT INTO @ SELECT i % 60, i * 37 % 1000, ''word'' || i % 20, i % 5000 / 10.0 FROM generate_series(1, 50000) i');
SELECT same();
SELECT count(*) > 0 AS packed FROM gpucol.segments('packed');
-- delta rows, beyond what the segments' values span
SELECT change('INSERT INTO @ VALUES (NULL, NULL, NULL, NULL), (-5, 4000, ''other'', -1), (90, 650, ''word1'', 2.5)');
SELECT same();
-- they become another segment
SELECT gpucol.merge('packed') >= 0 AS merged;
SELECT same();
SELECT change('DELETE FROM @ WHERE v < 150 AND k > 10');
SELECT same();
SELECT change('UPDATE @ SET v = v + 1 WHERE k = 3');
SELECT same();
-- what this transaction has changed is seen in it, and forgotten with it
BEGIN;
SELECT change('DELETE FROM @ WHERE k = 7');
SELECT same();
SAVEPOINT s;
SELECT change('INSERT INTO @ SELECT 7, i, ''late'', i FROM generate_series(1, 3000) i');
SELECT same();
ROLLBACK TO s;
SELECT same();
ROLLBACK;
SELECT same();
-- columns leave the device's memory and come back
DO $$ BEGIN PERFORM gpucol.evict('packed'); EXCEPTION WHEN OTHERS THEN NULL; END $$;
SELECT same();
-- the same name, other storage
SELECT change('TRUNCATE @');
SELECT same();
SELECT change('INSERT INTO @ SELECT i % 50, i * 31 % 900, ''word'' || i % 11, i % 700 / 4.0 FROM generate_series(1, 40000) i');
SELECT same();
SELECT change('ALTER TABLE @ ALTER COLUMN v TYPE bigint');
SELECT same();
DROP SCHEMA agg_repeated CASCADE;
