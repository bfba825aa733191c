-- Statements that change many packed rows: in the order of a scan, of a join and of a key, over several segments, again after
-- a rollback, with triggers that fetch rows, and beside row locks.  A heap table has the same done to it.
SET gpucol.segment_rows = 4096;
CREATE TABLE many (a int PRIMARY KEY, b int, c bigint, d numeric(12,2), e text, f float8) USING gpucol;
CREATE TABLE many_twin (LIKE many INCLUDING ALL) USING heap;
CREATE TABLE bare (LIKE many) USING gpucol;
CREATE TABLE bare_twin (LIKE many) USING heap;
CREATE TABLE shuffled USING heap AS
	SELECT i AS a, i * 7919 % 20011 AS place FROM generate_series(1, 20000) i;
INSERT INTO many SELECT i, i % 100, nullif(i % 11, 0), i / 7.0, nullif('text ' || i % 500, 'text 7'), i * 0.5
	FROM generate_series(1, 20000) i;
INSERT INTO many_twin SELECT * FROM many;
INSERT INTO bare SELECT * FROM many;
INSERT INTO bare_twin SELECT * FROM many;
ANALYZE many, many_twin, bare, bare_twin, shuffled;
SELECT count(*) > 3 AS segments FROM gpucol.segments('bare');

-- Do a statement to a table and to its twin, where %s stands for the table; rows that differ, and what verify finds.
CREATE FUNCTION do_both(target text, statement text) RETURNS TABLE (changed bigint, twin_changed bigint, differ bigint, damage text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(statement, '%s', target);
	GET DIAGNOSTICS changed = ROW_COUNT;
	EXECUTE replace(statement, '%s', target || '_twin');
	GET DIAGNOSTICS twin_changed = ROW_COUNT;
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE %2$I) UNION ALL (TABLE %2$I EXCEPT ALL TABLE %1$I)) x',
				   target, target || '_twin') INTO differ;
	EXECUTE format('SELECT string_agg(v::text, '' '') FROM gpucol.verify(%L) v', target) INTO damage;
	RETURN NEXT;
END $$;

-- The order of the table.
SELECT * FROM do_both('bare', 'UPDATE %s SET b = b + 1 WHERE a % 3 = 0');
SELECT * FROM do_both('bare', 'DELETE FROM %s WHERE a % 3 = 1');
SELECT * FROM do_both('many', 'UPDATE %s SET b = b + 1, e = e || ''!'' WHERE a % 5 = 0');

-- A random one, which goes from segment to segment and from one page of the directory's index to another.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM do_both('many', 'UPDATE %s t SET c = s.place FROM (SELECT * FROM shuffled WHERE a % 4 = 1 ORDER BY place) s WHERE s.a = t.a');
SELECT * FROM do_both('many', 'DELETE FROM %s t USING (SELECT * FROM shuffled WHERE a % 7 = 2 ORDER BY place OFFSET 0) s WHERE s.a = t.a');
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT * FROM do_both('many', 'MERGE INTO %s t USING (SELECT * FROM shuffled WHERE a % 6 = 3 ORDER BY place DESC OFFSET 0) s ON s.a = t.a
	WHEN MATCHED AND s.place % 2 = 0 THEN UPDATE SET d = s.place WHEN MATCHED THEN DELETE');

-- Backwards.
SELECT * FROM do_both('many', 'DELETE FROM %s t USING (SELECT a FROM shuffled WHERE a % 13 = 4 ORDER BY a DESC OFFSET 0) s WHERE s.a = t.a');

-- What is rolled back leaves tombstones that count for nothing; the rows are changed again, in part.
BEGIN;
DELETE FROM bare WHERE a % 3 = 2;
SELECT count(*) FROM bare;
SAVEPOINT s;
UPDATE bare SET b = 0;
ROLLBACK TO s;
SELECT count(*), sum(b) FROM bare;
ROLLBACK;
SELECT count(*) FROM bare;
SELECT * FROM do_both('bare', 'UPDATE %s SET d = d + 1, f = -f WHERE a % 2 = 0');

-- Rows that are locked before, by this transaction and in another order.
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM bare WHERE a % 2 = 1 ORDER BY a DESC FOR UPDATE) x;
SELECT * FROM do_both('bare', 'UPDATE %s SET c = coalesce(c, 0) + 1 WHERE a % 4 = 1');
COMMIT;

-- Triggers fetch the old row in the middle of it, one of them in a subtransaction that fails, and look at other rows of the table.
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	other record;
BEGIN
	BEGIN
		EXECUTE format('SELECT * FROM %I WHERE a = $1', TG_TABLE_NAME) INTO other USING 20000 - OLD.a;
		IF OLD.a % 3 = 0 THEN RAISE EXCEPTION 'undone'; END IF;
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	NEW.e := coalesce(OLD.e, 'none') || ' ' || coalesce(other.b, -1);
	RETURN NEW;
END $$;
CREATE TRIGGER look BEFORE UPDATE ON many FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE UPDATE ON many_twin FOR EACH ROW EXECUTE FUNCTION look();
CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.a <> NEW.a OR OLD.b = NEW.b THEN RAISE EXCEPTION 'row % became %', OLD, NEW; END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER remember AFTER UPDATE ON many DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION remember();
SELECT * FROM do_both('many', 'UPDATE %s SET b = b + 1000 WHERE a % 10 = 9');
SELECT * FROM do_both('many', 'UPDATE %s SET b = b + 1 WHERE a % 9 = 2 AND b IS NOT NULL');
DROP TRIGGER look ON many;
DROP TRIGGER look ON many_twin;

-- RETURNING has the new rows, and a cursor that was opened before the old ones.
BEGIN;
DECLARE before CURSOR FOR SELECT count(*), sum(b) FROM bare;
SELECT count(*), sum(b) FROM bare;
WITH changed AS (UPDATE bare SET b = b + 7 WHERE a % 6 = 0 RETURNING a, b) SELECT count(*), sum(b) FROM changed;
FETCH before;
COMMIT;
UPDATE bare_twin SET b = b + 7 WHERE a % 6 = 0;

-- A column that has come later, and one that has gone.
ALTER TABLE bare ADD COLUMN g int DEFAULT 5, DROP COLUMN f;
ALTER TABLE bare_twin ADD COLUMN g int DEFAULT 5, DROP COLUMN f;
SELECT * FROM do_both('bare', 'UPDATE %s SET g = g + a WHERE a % 5 = 0');

-- The rest, and what VACUUM folds.
SELECT * FROM do_both('bare', 'DELETE FROM %s WHERE b % 2 = 0');
VACUUM bare;
SELECT * FROM do_both('bare', 'UPDATE %s SET b = b * 2');
SELECT * FROM do_both('bare', 'DELETE FROM %s');
SELECT * FROM do_both('many', 'DELETE FROM %s WHERE a > 100');
VACUUM many;
SELECT * FROM do_both('many', 'UPDATE %s SET b = 1 - b');
DROP TABLE many, many_twin, bare, bare_twin, shuffled;
DROP FUNCTION do_both, look, remember;
RESET gpucol.segment_rows;
