-- gpucol.merge, and the functions that show the result.
CREATE TABLE merge_t (id int PRIMARY KEY, x numeric(10,2), s text, f float8) USING gpucol;
CREATE INDEX ON merge_t (s) WHERE id > 250;
INSERT INTO merge_t SELECT i, i * 1.5, 'name' || i % 10, i / 8.0 FROM generate_series(1, 500) i;
UPDATE merge_t SET x = 1 WHERE id % 50 = 0;
DELETE FROM merge_t WHERE id % 100 = 1;
CREATE TABLE merge_before AS SELECT * FROM merge_t;

SELECT gpucol.merge('merge_t');
-- nothing is left to move
SELECT gpucol.merge('merge_t');
SELECT rows, deleted FROM gpucol.segments('merge_t');
SELECT column_name, coding, bit_width, nulls, distinct_values FROM gpucol.columns('merge_t');
SELECT * FROM gpucol.verify('merge_t');
SELECT * FROM (SELECT * FROM merge_t EXCEPT ALL SELECT * FROM merge_before) a
UNION ALL SELECT * FROM (SELECT * FROM merge_before EXCEPT ALL SELECT * FROM merge_t) b;

-- indexes lead to the new places, before and after VACUUM
SET enable_seqscan = off;
SET gpucol.enable_scan = off;
SELECT * FROM merge_t WHERE id = 7;
SELECT count(*) FROM merge_t WHERE s = 'name3' AND id > 250;
VACUUM merge_t;
SELECT * FROM merge_t WHERE id = 8;
SELECT count(*) FROM merge_t WHERE s = 'name3' AND id > 250;
RESET enable_seqscan;
RESET gpucol.enable_scan;
INSERT INTO merge_t VALUES (7, 0, 'again', 0);
INSERT INTO merge_t VALUES (1000, 0, 'new', 0);

-- a rolled back merge leaves the row in the delta
BEGIN;
SELECT gpucol.merge('merge_t');
ROLLBACK;
SELECT count(*) FROM gpucol.segments('merge_t');
BEGIN;
SAVEPOINT a;
SELECT gpucol.merge('merge_t');
ROLLBACK TO a;
SELECT gpucol.merge('merge_t');
COMMIT;
SELECT rows FROM gpucol.segments('merge_t') ORDER BY segment;
SELECT count(*), sum(id) FROM merge_t;

-- large values come along
CREATE TABLE merge_large (id int, t text) USING gpucol;
ALTER TABLE merge_large ALTER t SET STORAGE EXTERNAL;
INSERT INTO merge_large SELECT i, repeat(md5(i::text), 300) FROM generate_series(1, 20) i;
SELECT gpucol.merge('merge_large');
SELECT count(*), sum(length(t)), count(DISTINCT t) FROM merge_large;
SELECT * FROM merge_large WHERE t <> repeat(md5(id::text), 300);

-- partitions
CREATE TABLE merge_p (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE merge_p1 PARTITION OF merge_p FOR VALUES FROM (0) TO (100) USING gpucol;
CREATE TABLE merge_p2 PARTITION OF merge_p FOR VALUES FROM (100) TO (200) USING heap;
INSERT INTO merge_p SELECT i, i FROM generate_series(1, 150) i;
SELECT gpucol.merge('merge_p');
SELECT count(*), sum(v) FROM merge_p;

-- refusals
SELECT gpucol.merge('merge_before');
SELECT * FROM gpucol.segments('merge_before');
SELECT * FROM gpucol.verify('pg_class');
CREATE TABLE merge_fk (id int REFERENCES merge_t DEFERRABLE INITIALLY DEFERRED) USING gpucol;
BEGIN;
INSERT INTO merge_fk VALUES (123456);
SELECT gpucol.merge('merge_fk');
ROLLBACK;
CREATE TABLE merge_excl (id int, EXCLUDE USING btree (id WITH =)) USING gpucol;
INSERT INTO merge_excl VALUES (1);
SELECT gpucol.merge('merge_excl');
SELECT * FROM merge_excl;
-- rows without columns stay where they are
CREATE TABLE merge_nothing () USING gpucol;
INSERT INTO merge_nothing SELECT FROM generate_series(1, 1000);
SELECT gpucol.merge('merge_nothing');
SELECT count(*) FROM merge_nothing;
DELETE FROM merge_nothing;
SELECT count(*) FROM merge_nothing;
DROP TABLE merge_nothing;
BEGIN READ ONLY;
SELECT gpucol.merge('merge_t');
ROLLBACK;
CREATE ROLE gpucol_merge_nobody;
SET ROLE gpucol_merge_nobody;
SELECT gpucol.merge('merge_t');
SELECT * FROM gpucol.columns('merge_t');
RESET ROLE;
DROP ROLE gpucol_merge_nobody;
DROP TABLE merge_fk, merge_t, merge_before, merge_large, merge_p, merge_excl;

-- how far a merge has come is in gpucol.activity, as long as it runs: here an index's function looks
CREATE TABLE progress (i int) USING gpucol;
CREATE FUNCTION look(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	r record;
BEGIN
	IF i = 5000 THEN
		FOR r IN SELECT state, relation, full_rows, progress > 0.3 AND progress < 0.7 AS halfway, round, bytes
			FROM gpucol.activity WHERE pid = pg_catalog.pg_backend_pid()
		LOOP
			RAISE NOTICE '%', r;
		END LOOP;
	END IF;
	RETURN i / CASE WHEN i = pg_catalog.current_setting('test.fails', true)::int THEN 0 ELSE 1 END;
END $$;
DO $$ BEGIN FOR i IN 1 .. 10000 LOOP INSERT INTO progress VALUES (i); END LOOP; END $$;
CREATE INDEX ON progress (look(i));
SELECT gpucol.merge('progress');
SELECT count(*) FROM gpucol.activity WHERE pid = pg_backend_pid();
DO $$ BEGIN FOR i IN 4000 .. 6000 LOOP INSERT INTO progress VALUES (i); END LOOP; END $$;
SET test.fails = 6000;
SELECT gpucol.merge('progress');
SELECT count(*) FROM gpucol.activity WHERE pid = pg_backend_pid();
SET test.fails = 0;
SELECT gpucol.merge('progress');
RESET test.fails;
DROP TABLE progress;
DROP FUNCTION look;
