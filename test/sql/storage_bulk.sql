-- A bulk statement packs all of its rows, from the first on; small ones go to the delta.
CREATE SCHEMA bulk;
SET search_path = bulk, public;

CREATE FUNCTION packed(regclass) RETURNS bigint LANGUAGE sql AS
	'SELECT coalesce(sum(rows), 0)::bigint FROM gpucol.segments($1)';
CREATE TABLE heap_twin (id int, label text) USING heap;

-- INSERT ... SELECT, with an index, checks, a generated column and RETURNING
CREATE TABLE plain (id int PRIMARY KEY CHECK (id > 0), label text NOT NULL,
	twice int GENERATED ALWAYS AS (id * 2) STORED) USING gpucol;
INSERT INTO plain SELECT g, 'small ' || g FROM generate_series(1, 300) g;
SELECT packed('plain');
WITH new AS (INSERT INTO plain SELECT g, 'load ' || g FROM generate_series(1001, 3000) g
	RETURNING id, twice, xmin, ctid)
SELECT count(*), sum(id), sum(twice), count(DISTINCT ctid), bool_and(xmin::text = (txid_current() % 4294967296)::text) FROM new;
INSERT INTO plain SELECT g, 'load ' || g FROM generate_series(3001, 5000) g;
SELECT packed('plain'), count(*), sum(id), sum(twice) FROM plain;
SET enable_seqscan = off;
SELECT id, twice FROM plain WHERE id IN (7, 3001, 3999, 5000) ORDER BY id;
RESET enable_seqscan;
INSERT INTO plain SELECT g, 'twice' FROM generate_series(4000, 6000) g;
INSERT INTO plain SELECT 3000 - g, 'check' FROM generate_series(1, 4000) g WHERE 3000 - g NOT BETWEEN 1 AND 6000;
SELECT packed('plain'), count(*) FROM plain;

-- sources of all kinds: VALUES, a table, a join with a sort, its own rows, EXPLAIN ANALYZE
INSERT INTO heap_twin SELECT g, 'h' || g FROM generate_series(10001, 12500) g;
INSERT INTO plain SELECT * FROM heap_twin;
INSERT INTO plain (label, id) SELECT a.label || b.label, a.id + 10000 FROM heap_twin a JOIN heap_twin b USING (id) ORDER BY a.id DESC;
INSERT INTO plain SELECT id + 100000, label FROM plain;
INSERT INTO plain VALUES (50001, 'a'), (50002, 'b');
SELECT packed('plain'), count(*), sum(id), sum(length(label)) FROM plain;
DO $$
DECLARE line text;
BEGIN
	FOR line IN EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off)
		INSERT INTO plain SELECT g, 'explained' FROM generate_series(300001, 302000) g
	LOOP
		IF line LIKE '%rows=2000%' THEN RAISE NOTICE '2000 rows'; END IF;
	END LOOP;
END $$;
SELECT count(*) FROM plain WHERE id > 300000;

-- COPY: rows so long that its first batch is cut for its bytes; few rows stay few
CREATE TABLE long (id int, label text) USING gpucol;
COPY long FROM PROGRAM 'awk "BEGIN { for (i = 1; i <= 2500; i++) printf \"%d\\t%090d\n\", i, i }"';
SELECT packed('long'), count(*), sum(id), sum(length(label)) FROM long;
COPY long FROM PROGRAM 'awk "BEGIN { for (i = 1; i <= 300; i++) printf \"%d\\t%090d\n\", i, i }"';
COPY long FROM PROGRAM 'awk "BEGIN { for (i = 1; i <= 2; i++) printf \"%d\\t%045000d\n\", i, i }"';
SELECT packed('long'), count(*), sum(id), sum(length(label)) FROM long;

-- foreign keys in both directions and row triggers afterwards
CREATE TABLE parent (id int PRIMARY KEY) USING gpucol;
INSERT INTO parent SELECT generate_series(1, 2000);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent, mother int REFERENCES child) USING gpucol;
CREATE TABLE log (what text, n bigint, total bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id % 1000 = 0 THEN
		INSERT INTO log SELECT TG_NAME, NEW.id, count(*) FROM child;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER note AFTER INSERT ON child FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO child SELECT g, 1 + g % 2000, nullif(g - 1, 0) FROM generate_series(1, 3000) g;
SELECT packed('parent'), packed('child'), count(*) FROM child;
INSERT INTO child SELECT g, 2 + g % 2000, NULL FROM generate_series(3001, 9000) g;
SELECT packed('child'), count(*) FROM child;
TABLE log ORDER BY n;

-- a trigger before each row sees the rows before it, and the table is not cut into small segments
CREATE TABLE watched (id int, n bigint) USING gpucol;
CREATE FUNCTION number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.n = (SELECT count(*) FROM watched);
	RETURN NEW;
END $$;
CREATE TRIGGER number BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION number();
INSERT INTO watched SELECT g FROM generate_series(1, 1100) g;
SELECT count(*), bool_and(n = id - 1) FROM watched;
SELECT count(*) < 20 AS few_segments FROM gpucol.segments('watched');

-- so does a function in the source
CREATE TABLE counted (id int, n bigint) USING gpucol;
CREATE FUNCTION count_rows() RETURNS bigint VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM counted); END';
INSERT INTO counted SELECT g, count_rows() FROM generate_series(1, 1100) g;
SELECT count(*), bool_and(n = id - 1) FROM counted;
SELECT count(*) < 20 AS few_segments FROM gpucol.segments('counted');

-- partitions share what their statement is
CREATE TABLE parts (id int, label text) PARTITION BY LIST (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0, 2) USING gpucol;
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) USING gpucol;
CREATE TABLE parts_rest PARTITION OF parts DEFAULT PARTITION BY HASH (label);
CREATE TABLE parts_rest_0 PARTITION OF parts_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING gpucol;
CREATE TABLE parts_rest_1 PARTITION OF parts_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING heap;
INSERT INTO parts SELECT g % 4, 'p' || g FROM generate_series(1, 2000) g;
SELECT packed('parts_0'), packed('parts_1'), packed('parts_rest_0') > 100 AS rest, count(*), sum(id) FROM parts;

-- savepoints, cursors and errors
BEGIN;
DECLARE before CURSOR FOR SELECT count(*) FROM plain WHERE id BETWEEN 400001 AND 499999;
SAVEPOINT s;
INSERT INTO plain SELECT g, 's' FROM generate_series(400001, 402000) g;
SELECT count(*) FROM plain WHERE id BETWEEN 400001 AND 499999;
ROLLBACK TO s;
SELECT count(*) FROM plain WHERE id BETWEEN 400001 AND 499999;
INSERT INTO plain SELECT g, 't' FROM generate_series(400001, 401500) g;
FETCH before;
COMMIT;
SELECT count(*), packed('plain') FROM plain WHERE id BETWEEN 400001 AND 499999;
SELECT * FROM gpucol.verify('plain');
SELECT * FROM gpucol.verify('child');

SET client_min_messages = warning;
DROP SCHEMA bulk CASCADE;
