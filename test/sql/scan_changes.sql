-- The rows that UPDATE, DELETE, MERGE and SELECT ... FOR UPDATE change or lock are found by engines.
CREATE SCHEMA scan_changes;
SET search_path = scan_changes, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h AS SELECT i AS id, i % 50 AS k, i % 9 AS v, CASE WHEN i % 7 <> 0 THEN 'text ' || i % 100 END AS t, (i % 1000) / 10.0 AS n FROM generate_series(1, 9000) i;
CREATE TABLE g USING gpucol AS TABLE h;
CREATE TABLE hs AS SELECT i AS k, i * 2 AS w FROM generate_series(1, 20) i;
CREATE TABLE gs USING gpucol AS TABLE hs;
ANALYZE;
-- the same statement over both: what it returns, and what it leaves
CREATE FUNCTION twice(statement text, plan bool DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	counts bigint[];
	line text;
	n bigint;
BEGIN
	IF plan THEN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(replace(statement, '#', 'g'), '@', 'gs') LOOP
			IF line ~ 'Scan|Filter' THEN RETURN NEXT line; END IF;
		END LOOP;
	END IF;
	EXECUTE replace(replace(statement, '#', 'h'), '@', 'hs');
	GET DIAGNOSTICS n = ROW_COUNT;
	counts := ARRAY[n];
	EXECUTE replace(replace(statement, '#', 'g'), '@', 'gs');
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN NEXT CASE WHEN n = counts[1] THEN n || ' rows' ELSE 'WRONG: ' || n || ', heap ' || counts[1] END;
	SELECT count(*) INTO n FROM ((TABLE g EXCEPT ALL TABLE h) UNION ALL (TABLE h EXCEPT ALL TABLE g)) x;
	IF n > 0 THEN RETURN NEXT 'WRONG: ' || n || ' rows differ'; END IF;
END $$;
SELECT twice('UPDATE # SET v = v + 1 WHERE k = 3', true);
SELECT twice('UPDATE # SET v = v * 2, t = upper(t) WHERE t LIKE ''text 5%'' AND n > 12.5', true);
SELECT twice('UPDATE # SET v = v + 1 WHERE k = 3');
SELECT twice('DELETE FROM # WHERE id BETWEEN 100 AND 150 OR t IS NULL AND v = 4', true);
SELECT twice('DELETE FROM # WHERE id < 0', true);
SELECT twice('UPDATE # SET v = @.w FROM @ WHERE @.k = #.k AND #.v > 3', true);
SELECT twice('UPDATE # SET v = @.w, t = NULL FROM @ WHERE @.k = #.k AND @.w > 30 AND #.n < @.w');
SELECT twice('DELETE FROM # USING @ WHERE @.k = #.k AND @.w % 5 = 0 AND #.id % 3 = 0', true);
SELECT twice('DELETE FROM # WHERE k IN (SELECT k FROM @ WHERE w < 8)');
SELECT twice('DELETE FROM # WHERE NOT EXISTS (SELECT FROM @ WHERE @.k = #.k) AND v = 2');
SELECT twice('MERGE INTO # USING @ ON #.k = @.k WHEN MATCHED AND #.v > 10 THEN DELETE WHEN MATCHED AND #.v > 5 THEN UPDATE SET v = @.w WHEN NOT MATCHED THEN INSERT VALUES (@.k + 10000, @.k, 1, ''new'', 0)', true);
SELECT twice('SELECT * FROM # WHERE v = 3 FOR UPDATE', true);
SELECT twice('SELECT #.id FROM # JOIN @ USING (k) WHERE v = 3 AND w < 20 FOR SHARE OF # SKIP LOCKED');
SELECT twice('UPDATE # SET id = id WHERE # IS NOT NULL AND (#).k = 9');
SELECT twice('UPDATE # SET v = v + (SELECT count(*) FROM # y WHERE y.k = #.k) WHERE id % 100 = 7');
-- a row is changed once, and what the statement has written it does not see
SELECT twice('UPDATE # SET id = id + 1');
SELECT twice('UPDATE # SET k = k + 1 WHERE k > 0');
-- rows of the same transaction, and of a savepoint that was rolled back
BEGIN;
INSERT INTO g VALUES (50001, 1, 1, 'own', 1); INSERT INTO h VALUES (50001, 1, 1, 'own', 1);
UPDATE g SET v = 77 WHERE t = 'own'; UPDATE h SET v = 77 WHERE t = 'own';
SAVEPOINT s;
DELETE FROM g WHERE v = 77 OR id < 500;
SELECT count(*) FROM g WHERE v = 77 OR id < 500;
ROLLBACK TO s;
SELECT twice('DELETE FROM # WHERE v = 77');
COMMIT;
-- WHERE CURRENT OF, of a cursor that an engine scans for
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM g WHERE k = 12 ORDER BY id FOR UPDATE;
FETCH 2 FROM c;
UPDATE g SET t = 'current' WHERE CURRENT OF c;
SELECT id, t FROM g WHERE t = 'current';
ROLLBACK;
-- triggers and generated columns; policies
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %: % -> %', TG_OP, OLD.id, OLD.v, NEW.v; RETURN NEW; END $$;
CREATE TABLE tr (id int, v int, twice int GENERATED ALWAYS AS (v * 2) STORED) USING gpucol;
INSERT INTO tr SELECT i, i % 10 FROM generate_series(1, 3000) i;
CREATE TRIGGER t BEFORE UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION note_change();
UPDATE tr SET v = v + 100 WHERE id IN (5, 2999) RETURNING *;
SELECT * FROM tr WHERE twice > 100 ORDER BY id;
CREATE ROLE scan_changes_user;
GRANT ALL ON SCHEMA scan_changes TO scan_changes_user;
GRANT ALL ON ALL TABLES IN SCHEMA scan_changes TO scan_changes_user;
ALTER TABLE g ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON g USING (k % 2 = 0);
SET ROLE scan_changes_user;
EXPLAIN (COSTS OFF) DELETE FROM g WHERE 10 / (k - 13) < 100 AND v = 2;
DELETE FROM g WHERE 10 / (k - 13) < 100 AND v = 2;
UPDATE g SET v = v WHERE 10 / (k - 14) > 100;
RESET ROLE;
ALTER TABLE g DISABLE ROW LEVEL SECURITY;
DELETE FROM h WHERE k % 2 = 0 AND v = 2;
(TABLE g EXCEPT ALL TABLE h) UNION ALL (TABLE h EXCEPT ALL TABLE g);
-- partitions
CREATE TABLE parts (id int, k int, v int) PARTITION BY LIST (k);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES IN (0) USING gpucol;
CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1) USING gpucol;
CREATE TABLE parts2 (v int, id int, k int);
ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES IN (2);
INSERT INTO parts SELECT i, i % 3, i % 10 FROM generate_series(1, 6000) i;
ANALYZE parts;
EXPLAIN (COSTS OFF) UPDATE parts SET k = (k + 1) % 3 WHERE v = 4;
UPDATE parts SET k = (k + 1) % 3 WHERE v = 4;
SELECT tableoid::regclass, k, v, count(*), sum(id) FROM parts WHERE v IN (3, 4) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SET client_min_messages = warning;
DROP SCHEMA scan_changes CASCADE;
DROP ROLE scan_changes_user;
