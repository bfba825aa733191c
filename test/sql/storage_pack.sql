-- VACUUM packs segments together that are small, if there are many, or of which many rows are dead;
-- what it leaves behind goes with the next VACUUM, and its pages are used again. Temporary tables,
-- because no other session's snapshot holds what is dead, nor keeps VACUUM from it.
SET enable_seqscan = off;
CREATE TEMP TABLE sp (id int PRIMARY KEY, k int, t text, n numeric) USING gpucol;
CREATE INDEX sp_k ON sp USING hash (k);
CREATE INDEX sp_t ON sp (lower(t)) WHERE k < 50;
CREATE TEMP TABLE sp_heap (LIKE sp);
CREATE PROCEDURE pg_temp.load(first int, loads int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. first + loads - 1 LOOP
		INSERT INTO sp SELECT g, g % 100, CASE WHEN g % 7 > 0 THEN 'Row ' || g % 1000 END, g / 8.0
		FROM generate_series(i * 2000, i * 2000 + 1999) g;
		INSERT INTO sp_heap SELECT * FROM sp WHERE id >= i * 2000;
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.left_behind(OUT segments bigint, OUT rows bigint, OUT deleted bigint, OUT bitmaps bigint,
	OUT tombstones bigint, OUT forwards bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*), sum(s.rows), sum(s.deleted) INTO segments, rows, deleted FROM gpucol.segments('sp') s;
	EXECUTE format('SELECT count(*) FILTER (WHERE chunk_id BETWEEN 1024 AND 1279), count(*) FILTER (WHERE chunk_id BETWEEN 4096 AND 4351),
		count(*) FILTER (WHERE chunk_id BETWEEN 8192 AND 8447) FROM %s',
		(SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'sp'::regclass)) INTO bitmaps, tombstones, forwards;
END $$;
CREATE FUNCTION pg_temp.check(OUT missing bigint, OUT extra bigint, OUT by_index bigint, OUT by_hash bigint, OUT by_text bigint)
LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM (SELECT * FROM sp_heap EXCEPT ALL SELECT * FROM sp) d),
		(SELECT count(*) FROM (SELECT * FROM sp EXCEPT ALL SELECT * FROM sp_heap) d),
		(SELECT count(*) FROM sp WHERE id >= 0),
		(SELECT count(*) FROM sp WHERE k = 7),
		(SELECT count(*) FROM sp WHERE lower(t) >= '' AND k < 50)
$$;

-- seven small ones are too few, eight are not
CALL pg_temp.load(0, 7);
SELECT work, done_by, rows, segments FROM gpucol.waiting('sp');
VACUUM sp;
SELECT * FROM pg_temp.left_behind();
CALL pg_temp.load(7, 1);
SELECT work, done_by, rows, segments FROM gpucol.waiting('sp');
BEGIN;
SELECT sum(id), count(t) FROM sp;
COMMIT;
VACUUM sp;
SELECT * FROM pg_temp.left_behind();
SELECT * FROM pg_temp.check();
SELECT * FROM gpucol.verify('sp');

-- the next VACUUM removes their index entries, and where rows went
VACUUM sp;
SELECT * FROM pg_temp.left_behind();
SELECT relname, reltuples FROM pg_class WHERE relname IN ('sp_pkey', 'sp_k') ORDER BY 1;

-- a segment with many dead rows is packed by itself, tombstones or bitmaps
DELETE FROM sp WHERE id % 10 < 3;
DELETE FROM sp_heap WHERE id % 10 < 3;
VACUUM (INDEX_CLEANUP OFF) sp;
SELECT * FROM pg_temp.left_behind();
VACUUM sp;
SELECT * FROM pg_temp.left_behind();
SELECT * FROM pg_temp.check();
VACUUM sp;
SELECT * FROM pg_temp.left_behind();
SELECT * FROM pg_temp.check();
SELECT * FROM gpucol.verify('sp');

-- changes of packed rows, and keys that were there
UPDATE sp SET n = -n WHERE id % 10 = 5;
UPDATE sp_heap SET n = -n WHERE id % 10 = 5;
INSERT INTO sp VALUES (5, 1, 'again', 0);
INSERT INTO sp VALUES (0, 1, 'New', 0);
INSERT INTO sp_heap VALUES (0, 1, 'New', 0);
SELECT * FROM pg_temp.check();

-- pages of packed segments are used again
CALL pg_temp.load(8, 9);
DELETE FROM sp WHERE id % 10 > 6;
VACUUM sp;
VACUUM sp;
VACUUM sp;
CREATE TEMP TABLE size AS SELECT pg_relation_size('sp') AS bytes;
CALL pg_temp.load(20, 9);
SELECT pg_relation_size('sp') <= bytes AS used_again FROM size;
SELECT * FROM gpucol.verify('sp');

-- left alone: a table whose owner says so, and one that keeps an order
SECURITY LABEL FOR gpucol ON TABLE sp IS 'automerge_enabled = off';
DELETE FROM sp WHERE id % 10 < 6;
VACUUM sp;
SELECT done_by FROM gpucol.waiting('sp') WHERE work = 'segments to pack';
SECURITY LABEL FOR gpucol ON TABLE sp IS NULL;
CLUSTER sp USING sp_pkey;
DELETE FROM sp WHERE id % 10 < 8;
VACUUM sp;
SELECT done_by FROM gpucol.waiting('sp') WHERE work = 'segments to pack';

-- how far a packing has come is in gpucol.activity, as long as it runs: here an index's function looks
CREATE TEMP TABLE packing (i int) USING gpucol;
INSERT INTO packing SELECT i FROM generate_series(1, 30000) i;
DELETE FROM packing WHERE i % 3 > 0;
CREATE FUNCTION packing_look(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	r record;
BEGIN
	IF i = 15000 THEN
		FOR r IN SELECT state, relation, full_rows, progress > 0.3 AND progress < 0.7 AS halfway, round, bytes
			FROM gpucol.activity WHERE pid = pg_catalog.pg_backend_pid()
		LOOP
			RAISE NOTICE '%', r;
		END LOOP;
	END IF;
	RETURN i;
END $$;
CREATE INDEX ON packing (packing_look(i));
VACUUM packing;
SELECT rows, deleted FROM gpucol.segments('packing');
SELECT count(*) FROM gpucol.activity WHERE pid = pg_backend_pid();
DROP TABLE packing;
DROP FUNCTION packing_look;

-- nothing packs rows that must stay in the delta
CREATE TEMP TABLE packing (i int, EXCLUDE USING btree (i WITH =)) USING gpucol;
INSERT INTO packing VALUES (1), (2);
SELECT work, done_by, rows FROM gpucol.waiting('packing');
ALTER TABLE packing DROP CONSTRAINT packing_i_excl;
SELECT work, done_by, rows FROM gpucol.waiting('packing');
SELECT gpucol.merge('packing');
SELECT work, done_by, rows FROM gpucol.waiting('packing') WHERE work = 'rows to pack';
DROP TABLE packing;
