-- Packed rows in slots: columns are decoded when they are read, and only those.
SET gpucol.segment_rows = 1024;
SET gpucol.enabled = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE slot_heap (id int PRIMARY KEY, gone int, n numeric(10,2), s text, d date,
	f float8, b bigint, long text) USING heap;
INSERT INTO slot_heap SELECT i, i, CASE WHEN i % 7 > 0 THEN i * 1.25 END, 'text ' || i % 100,
	CASE WHEN i % 5 > 0 THEN date '2020-01-01' + i % 1000 END, i / 8.0, i * 10000000000,
	repeat(md5(i::text), 1 + i % 60)
FROM generate_series(1, 6000) i ORDER BY hashint4(i);
CREATE INDEX ON slot_heap (b);
CREATE TABLE slot_gpucol (LIKE slot_heap INCLUDING INDEXES) USING gpucol
	WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
INSERT INTO slot_gpucol SELECT * FROM slot_heap;
DO $$ BEGIN PERFORM gpucol.merge('slot_gpucol'); END $$;
SELECT sum(rows) FROM gpucol.segments('slot_gpucol');
ALTER TABLE slot_heap DROP COLUMN gone, ADD COLUMN added text DEFAULT 'added';
ALTER TABLE slot_gpucol DROP COLUMN gone, ADD COLUMN added text DEFAULT 'added';
-- rows in the delta, deleted ones, updated ones
INSERT INTO slot_heap SELECT i, i, 'delta ' || i, NULL, i, i, 'short', NULL FROM generate_series(6001, 6050) i;
INSERT INTO slot_gpucol SELECT i, i, 'delta ' || i, NULL, i, i, 'short', NULL FROM generate_series(6001, 6050) i;
DELETE FROM slot_heap WHERE id % 50 = 10;
DELETE FROM slot_gpucol WHERE id % 50 = 10;
UPDATE slot_heap SET s = s || ' updated' WHERE id % 50 = 20;
UPDATE slot_gpucol SET s = s || ' updated' WHERE id % 50 = 20;
ANALYZE slot_heap;
ANALYZE slot_gpucol;

-- pages that a statement looks at
CREATE FUNCTION pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT pages('SELECT * FROM slot_gpucol WHERE id = 77') > 0 AS warm;
SELECT pages('SELECT 1 FROM slot_gpucol WHERE id = 77') < pages('SELECT n FROM slot_gpucol WHERE id = 77') AS none,
	pages('SELECT n FROM slot_gpucol WHERE id = 77') < pages('SELECT s FROM slot_gpucol WHERE id = 77') AS first,
	pages('SELECT s FROM slot_gpucol WHERE id = 77') < pages('SELECT * FROM slot_gpucol WHERE id = 77') AS some,
	pages('SELECT 1 FROM slot_gpucol WHERE id BETWEEN 70 AND 90') + 20 >
	pages('SELECT n FROM slot_gpucol WHERE id BETWEEN 70 AND 90') AS kept;
-- a lock, and so the check of a foreign key, reads none
BEGIN;
SELECT pages('SELECT 1 FROM slot_gpucol WHERE id = 78 FOR KEY SHARE') > 0 AS made;
SELECT pages('SELECT 1 FROM slot_gpucol WHERE id = 78 FOR KEY SHARE') > 0 AS warm;
SELECT pages('SELECT 1 FROM slot_gpucol WHERE id = 78 FOR KEY SHARE') <
	pages('SELECT n FROM slot_gpucol WHERE id = 78 FOR KEY SHARE') AS locked;
COMMIT;

-- the same rows as heap's, in order; % is the table
\set heap slot_heap
\set packed slot_gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/same.psql
\set ECHO none
\i :include
\set ECHO all
EXPLAIN (COSTS OFF) SELECT s FROM slot_gpucol WHERE id BETWEEN 15 AND 25 ORDER BY id;
SELECT same('SELECT * FROM % WHERE id BETWEEN 1 AND 300 ORDER BY id');
SELECT same('SELECT id FROM % WHERE id BETWEEN 1 AND 6100 ORDER BY id');
SELECT same('SELECT added FROM % WHERE id BETWEEN 1 AND 300 ORDER BY id');
SELECT same('SELECT long, n FROM % WHERE id BETWEEN 1 AND 300 ORDER BY id DESC');
SELECT same('SELECT t FROM % t WHERE id BETWEEN 1 AND 300 ORDER BY id');
SELECT same('SELECT t.*::text, t.id FROM % t WHERE id BETWEEN 5990 AND 6020 AND n > 1 ORDER BY id');
SELECT same('SELECT s, d FROM % WHERE id BETWEEN 1 AND 300 AND f > 4 AND d IS NOT NULL ORDER BY id');
-- copies: sorts, hashes, materialised and memoised rows, windows, marks of merge joins
SELECT same('SELECT * FROM % WHERE b < 3000000000000 ORDER BY s, id');
SELECT same('SELECT s, count(*), max(long) FROM % WHERE b < 3000000000000 GROUP BY s ORDER BY s');
SELECT same('SELECT id, lag(long) OVER (ORDER BY id), first_value(s) OVER (ORDER BY id ROWS 2 PRECEDING) FROM % WHERE id < 200');
SELECT same('SELECT g, t.s, t.n FROM generate_series(1, 400) g JOIN % t ON t.id = mod(g * 13, 5000) ORDER BY g, 2');
SELECT same('SELECT g, x.* FROM generate_series(1, 60) g LEFT JOIN LATERAL (SELECT s, long FROM % t WHERE t.id >= g * 9 ORDER BY id LIMIT 3) x ON true ORDER BY g, 2, 3');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT same('SELECT a.id, a.s, c.long FROM % a JOIN % c ON a.id = c.id WHERE a.id < 300 ORDER BY 1');
SELECT same('SELECT count(*), max(a.s), min(c.long) FROM % a JOIN % c ON a.b / 100000000000 = c.b / 100000000000 WHERE a.b < 3000000000000 AND c.b < 3000000000000');
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT same('SELECT * FROM (SELECT * FROM % WHERE id < 40 UNION ALL SELECT * FROM % WHERE id BETWEEN 6000 AND 6020) u ORDER BY id');
SELECT same('SELECT DISTINCT ON (s) * FROM % WHERE id < 700 ORDER BY s, id');
SELECT same('SELECT * FROM % WHERE id = (SELECT max(id) FROM % t WHERE t.id < 5995)');
SELECT same('SELECT (SELECT long FROM % i WHERE i.id = o.id + 1) FROM % o WHERE id < 100 ORDER BY id');
-- system columns, with others read before and after
SELECT count(*), count(DISTINCT ctid), bool_and(xmin::text::bigint > 0), bool_and(xmax = 0), min(tableoid::regclass::text),
	bool_and(s IS NOT NULL)
FROM (SELECT s, ctid, xmin, xmax, cmin, tableoid FROM slot_gpucol WHERE id BETWEEN 30 AND 45) x;
SELECT count(*) FROM slot_gpucol a JOIN slot_gpucol c ON a.ctid = c.ctid AND a.long = c.long WHERE a.id BETWEEN 30 AND 45;

-- samples, of few rows and of many: they are the table's, with all their columns
SELECT pages('SELECT count(*) FROM slot_gpucol TABLESAMPLE bernoulli (1) REPEATABLE (5)') <
	pages('SELECT count(added), count(long) FROM slot_gpucol TABLESAMPLE bernoulli (1) REPEATABLE (5)') AS sampled;
SELECT count(*) > 0 AS some, count(t.id) = count(*) AS same
FROM (SELECT *, ctid AS place FROM slot_gpucol TABLESAMPLE bernoulli (2) REPEATABLE (3)) x
	LEFT JOIN slot_gpucol t ON t.ctid = x.place AND (x.id, x.n, x.s, x.d, x.f, x.b, x.long, x.added) IS NOT DISTINCT FROM
	(t.id, t.n, t.s, t.d, t.f, t.b, t.long, t.added);
SELECT count(*) > 0 AS some, count(t.id) = count(*) AS same
FROM (SELECT *, ctid AS place FROM slot_gpucol TABLESAMPLE system (40) REPEATABLE (3)) x
	LEFT JOIN slot_gpucol t ON t.ctid = x.place AND (x.id, x.n, x.s, x.d, x.f, x.b, x.long, x.added) IS NOT DISTINCT FROM
	(t.id, t.n, t.s, t.d, t.f, t.b, t.long, t.added);
SELECT same('SELECT * FROM (SELECT * FROM % TABLESAMPLE bernoulli (100)) x ORDER BY id');
SELECT same('SELECT * FROM (SELECT * FROM % TABLESAMPLE system (100)) x ORDER BY id');

-- cursors, forward and back, and over subtransactions that fail
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, s, d FROM slot_gpucol WHERE id > 15 ORDER BY id;
FETCH 3 FROM c;
SAVEPOINT a;
FETCH 3 FROM c;
SELECT 1 / (id - id) FROM slot_gpucol WHERE id = 30;
ROLLBACK TO a;
FETCH 2 FROM c;
FETCH BACKWARD 4 FROM c;
MOVE FORWARD 1000 IN c;
FETCH c;
UPDATE slot_gpucol SET n = -1 WHERE CURRENT OF c RETURNING id, n, s;
FETCH c;
COMMIT;
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT * FROM slot_gpucol WHERE id BETWEEN 100 AND 160 ORDER BY id LOOP
		BEGIN
			IF r.id % 2 = 0 THEN
				PERFORM 1 / (id - r.id) FROM slot_gpucol WHERE id = r.id;
			ELSE
				PERFORM * FROM slot_gpucol WHERE id = r.id FOR UPDATE;
			END IF;
			n := n + length(r.long);
		EXCEPTION WHEN division_by_zero THEN
			n := n + length(r.s);
		END;
	END LOOP;
	RAISE NOTICE 'read %', n;
	FOR r IN SELECT * FROM slot_heap WHERE id BETWEEN 100 AND 160 LOOP
		n := n - CASE WHEN r.id % 2 = 0 THEN length(r.s) ELSE length(r.long) END;
	END LOOP;
	RAISE NOTICE 'left %', n;
END $$;

-- changes: what a trigger, RETURNING, ON CONFLICT and MERGE see of the old row
CREATE TABLE slot_log (what text, old text, new text);
CREATE FUNCTION slot_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO slot_log VALUES (TG_WHEN || ' ' || TG_OP, CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END,
		CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END);
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON slot_heap FOR EACH ROW EXECUTE FUNCTION slot_note();
CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON slot_gpucol FOR EACH ROW EXECUTE FUNCTION slot_note();
CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE ON slot_heap FOR EACH ROW
	EXECUTE FUNCTION slot_note();
CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE ON slot_gpucol FOR EACH ROW
	EXECUTE FUNCTION slot_note();
CREATE TABLE changed_heap AS WITH
	u AS (UPDATE slot_heap SET n = n + 1 WHERE id BETWEEN 200 AND 230 RETURNING *),
	d AS (DELETE FROM slot_heap WHERE id BETWEEN 240 AND 250 RETURNING id, long),
	i AS (INSERT INTO slot_heap VALUES (260, 1, 'conflict'), (9000, 2, 'none') ON CONFLICT (id)
		DO UPDATE SET s = slot_heap.s || excluded.s, f = slot_heap.f + 1 RETURNING *)
SELECT 'u' AS what, u::text FROM u UNION ALL SELECT 'd', d::text FROM d UNION ALL SELECT 'i', i::text FROM i;
CREATE TABLE log_heap AS SELECT * FROM slot_log;
TRUNCATE slot_log;
CREATE TABLE changed_gpucol AS WITH
	u AS (UPDATE slot_gpucol SET n = n + 1 WHERE id BETWEEN 200 AND 230 RETURNING *),
	d AS (DELETE FROM slot_gpucol WHERE id BETWEEN 240 AND 250 RETURNING id, long),
	i AS (INSERT INTO slot_gpucol VALUES (260, 1, 'conflict'), (9000, 2, 'none') ON CONFLICT (id)
		DO UPDATE SET s = slot_gpucol.s || excluded.s, f = slot_gpucol.f + 1 RETURNING *)
SELECT 'u' AS what, u::text FROM u UNION ALL SELECT 'd', d::text FROM d UNION ALL SELECT 'i', i::text FROM i;
SELECT count(*) FROM changed_heap;
(TABLE changed_heap EXCEPT ALL TABLE changed_gpucol) UNION ALL (TABLE changed_gpucol EXCEPT ALL TABLE changed_heap);
SELECT what, count(*) FROM log_heap GROUP BY what ORDER BY what;
(TABLE log_heap EXCEPT ALL TABLE slot_log) UNION ALL (TABLE slot_log EXCEPT ALL TABLE log_heap);
MERGE INTO slot_heap t USING generate_series(300, 320) g ON t.id = g
	WHEN MATCHED AND g % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = t.s || t.f;
MERGE INTO slot_gpucol t USING generate_series(300, 320) g ON t.id = g
	WHEN MATCHED AND g % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = t.s || t.f;
UPDATE slot_heap SET s = 'joined ' || x.long FROM (SELECT id, long FROM slot_heap WHERE id BETWEEN 330 AND 340) x
	WHERE slot_heap.id = x.id + 10;
UPDATE slot_gpucol SET s = 'joined ' || x.long FROM (SELECT id, long FROM slot_gpucol WHERE id BETWEEN 330 AND 340) x
	WHERE slot_gpucol.id = x.id + 10;
UPDATE slot_heap SET n = n - 1 WHERE id = (SELECT id FROM slot_heap WHERE b >= 10020000000000 ORDER BY b LIMIT 1);
UPDATE slot_gpucol SET n = -1 WHERE id = (SELECT id FROM slot_gpucol WHERE b >= 10020000000000 ORDER BY b LIMIT 1);
SELECT h.id, h.n, g.n FROM slot_heap h FULL JOIN slot_gpucol g USING (id) WHERE h.* IS DISTINCT FROM g.*;
SELECT * FROM gpucol.verify('slot_gpucol');

-- a deferred check of uniqueness looks at the row when the fetch has ended
CREATE TABLE slot_unique (id int, k int UNIQUE DEFERRABLE INITIALLY DEFERRED, s text) USING gpucol;
BEGIN;
INSERT INTO slot_unique SELECT i, i, 's' FROM generate_series(1, 3000) i;
UPDATE slot_unique SET k = k + 1 WHERE k BETWEEN 2000 AND 2010;
UPDATE slot_unique SET k = 2000 WHERE id = 2011;
COMMIT;
BEGIN;
UPDATE slot_unique SET k = 2500 WHERE id = 2400;
COMMIT;
DROP TABLE slot_unique, slot_heap, slot_gpucol, slot_log, log_heap, changed_heap, changed_gpucol;
DROP FUNCTION pages, same, slot_note;
