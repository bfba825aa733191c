-- ON CONFLICT DO UPDATE of many packed rows, and UPDATE with unique indexes, write the tombstones together; the rows are
-- those of heap twins.
CREATE SCHEMA storage_upserts;
SET search_path = storage_upserts, public;
CREATE TABLE h_keys AS SELECT g AS id, g % 50 AS k, 't' || g AS t, (g / 3.0)::numeric(10,2) AS n, NULL::int AS child FROM generate_series(1, 20000) g;
CREATE TABLE keys (LIKE h_keys) USING gpucol;
INSERT INTO keys TABLE h_keys;
ALTER TABLE h_keys ADD PRIMARY KEY (id);
ALTER TABLE keys ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX ON h_keys (t) INCLUDE (k);
CREATE UNIQUE INDEX ON keys (t) INCLUDE (k);
CREATE INDEX ON h_keys (k);
CREATE INDEX ON keys (k);
CREATE INDEX ON h_keys (child);
CREATE INDEX ON keys (child);
ALTER TABLE h_keys ADD FOREIGN KEY (child) REFERENCES h_keys;
ALTER TABLE keys ADD FOREIGN KEY (child) REFERENCES keys;
CREATE TABLE source AS SELECT g AS id, g % 7 AS k, 's' || g AS t, g::numeric(10,2) AS n FROM generate_series(1, 30000) g;
ANALYZE h_keys, keys, source;

-- the same of a statement on both, and whether the tables are equal then, also by their indexes
CREATE FUNCTION compare(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
	found_heap bigint;
	failed text := '';
	failed_heap text := '';
	other bigint;
	by_index bool;
BEGIN
	BEGIN
		EXECUTE regexp_replace(statement, '\mkeys\M', 'h_keys', 'g');
		GET DIAGNOSTICS found_heap = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN
		failed_heap := sqlstate;
	END;
	BEGIN
		EXECUTE statement;
		GET DIAGNOSTICS found = ROW_COUNT;
	EXCEPTION WHEN OTHERS THEN
		failed := sqlstate;
	END;
	SELECT count(*) INTO other FROM ((TABLE keys EXCEPT ALL TABLE h_keys) UNION ALL (TABLE h_keys EXCEPT ALL TABLE keys)) d;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('gpucol.pushdown', 'forbid', true);
	SELECT (SELECT sum(hashtext(x::text)) FROM keys x WHERE id > 0 AND t > '') = (SELECT sum(hashtext(x::text)) FROM h_keys x)
		AND (SELECT count(*) FROM keys x WHERE k = 3) = (SELECT count(*) FROM h_keys x WHERE k = 3) INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('gpucol.pushdown', 'allow', true);
	IF found IS DISTINCT FROM found_heap OR failed <> failed_heap OR other > 0 OR by_index IS DISTINCT FROM true THEN
		RETURN format('%s rows for %s, error "%s" for "%s", %s differ, by index: %s', found, found_heap, failed, failed_heap, other, by_index);
	END IF;
	RETURN format('equal: %s rows %s', found, failed);
END $$;

-- are fewer records written than a tombstone for each row by itself takes?
CREATE FUNCTION few_records(statement text, limit_at bigint) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || statement INTO plan;
	RETURN (plan->0->'Plan'->>'WAL Records')::bigint < limit_at;
END $$;

-- a new version has a record of its own, and one in each index
CHECKPOINT;
BEGIN;
SELECT few_records('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id <= 5000 ON CONFLICT (id) DO UPDATE SET n = excluded.n', 28000);
ROLLBACK;
CHECKPOINT;
BEGIN;
SELECT few_records('UPDATE keys SET n = n + 1 WHERE id BETWEEN 10001 AND 15000', 28000);
ROLLBACK;

SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id <= 3000 ON CONFLICT (id) DO UPDATE SET n = excluded.n');
-- half of them are new, among the others
SELECT compare('INSERT INTO keys SELECT id + CASE WHEN id % 2 = 0 THEN 50000 ELSE 0 END, k, t, n FROM source WHERE id BETWEEN 3001 AND 6000 ON CONFLICT (id) DO UPDATE SET n = keys.n + excluded.n, k = excluded.k');
SELECT compare('INSERT INTO keys SELECT id, k, t || ''-'', n FROM source WHERE id BETWEEN 15000 AND 22000 ON CONFLICT (id) DO UPDATE SET (k, n) = (excluded.k, excluded.n)');
-- a row twice; a key that is another's; a NULL; the other unique index; rows that are left alone
SELECT compare('INSERT INTO keys SELECT 7000 + id % 600, k, t, n FROM source WHERE id <= 1000 ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 7000 AND 8000 ON CONFLICT (id) DO UPDATE SET t = ''t9999''');
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 7000 AND 8000 ON CONFLICT (id) DO UPDATE SET id = CASE WHEN keys.id = 7700 THEN NULL ELSE keys.id END');
SELECT compare('INSERT INTO keys SELECT id, k, ''t'' || id + 1, n FROM source WHERE id BETWEEN 60001 AND 61000 ON CONFLICT (id) DO UPDATE SET n = 1');
SELECT compare('INSERT INTO keys SELECT id + 70000, k, ''t'' || id, n FROM source WHERE id BETWEEN 12001 AND 13000 ON CONFLICT (t) DO UPDATE SET n = excluded.n, k = 3');
SELECT compare('INSERT INTO keys SELECT id + 70000, k, ''t'' || id, n FROM source WHERE id BETWEEN 12001 AND 13000 ON CONFLICT (id) DO UPDATE SET n = 5');
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 8000 AND 9000 ON CONFLICT (id) DO UPDATE SET n = 1 WHERE keys.k < 20');
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 8000 AND 9000 ON CONFLICT (id) DO UPDATE SET id = keys.id + 100000');
-- rows that come in no order
SELECT compare('INSERT INTO keys SELECT id, k, t || ''-'', n FROM source WHERE id <= 20000 ORDER BY hashint4(id) LIMIT 4000 ON CONFLICT (id) DO UPDATE SET n = excluded.n - 1');
-- foreign keys of the new versions, one of which leads nowhere
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 9500 AND 10500 ON CONFLICT (id) DO UPDATE SET child = excluded.id + 1');
SELECT compare('INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 9500 AND 10500 ON CONFLICT (id) DO UPDATE SET child = CASE WHEN excluded.id = 10321 THEN -1 ELSE 5 END');
-- UPDATE with unique indexes
SELECT compare('UPDATE keys SET n = n + 1 WHERE id BETWEEN 10000 AND 14000');
SELECT compare('UPDATE keys SET t = ''same'' WHERE id BETWEEN 10000 AND 14000');
SELECT compare('UPDATE keys SET t = t || ''!'' WHERE id BETWEEN 10000 AND 14000');
SELECT compare('UPDATE keys SET id = id WHERE id BETWEEN 14000 AND 16000');
SELECT compare('UPDATE keys SET n = n + 1, k = 3');
SELECT gpucol.merge('keys') > 0;
-- returned, in a transaction, beside savepoints
SELECT compare('WITH x AS (INSERT INTO keys SELECT id, k, t, n FROM source WHERE id <= 2500 ON CONFLICT (id) DO UPDATE SET n = keys.n + 1 RETURNING id, n) SELECT count(*), sum(n) FROM x');
BEGIN;
INSERT INTO keys SELECT id, k, t, n FROM source WHERE id <= 1500 ON CONFLICT (id) DO UPDATE SET n = -1;
SAVEPOINT a;
INSERT INTO keys SELECT id, k, t, n FROM source WHERE id <= 2500 ON CONFLICT (id) DO UPDATE SET n = -2;
SELECT count(*) FILTER (WHERE n = -1), count(*) FILTER (WHERE n = -2) FROM keys;
ROLLBACK TO a;
SELECT count(*) FILTER (WHERE n = -1), count(*) FILTER (WHERE n = -2) FROM keys;
INSERT INTO keys SELECT id, k, t, n FROM source WHERE id BETWEEN 1000 AND 3500 ON CONFLICT (id) DO UPDATE SET n = -3;
SELECT count(*) FILTER (WHERE n = -1), count(*) FILTER (WHERE n = -3) FROM keys;
ROLLBACK;
SELECT compare('DELETE FROM keys WHERE id % 3 = 0 AND child IS NULL AND NOT EXISTS (SELECT FROM keys c WHERE c.child = keys.id)');
SELECT compare('INSERT INTO keys SELECT id, k, t || ''+'', n FROM source WHERE id <= 20000 ON CONFLICT (id) DO UPDATE SET n = excluded.n');
-- triggers
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.n := NEW.n + 1; RETURN NEW; END$$;
CREATE TABLE seen (what text, rows bigint);
CREATE FUNCTION see_rows() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO seen SELECT TG_OP, count(*) FROM new_rows; RETURN NULL; END$$;
CREATE TRIGGER i AFTER INSERT ON keys REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION see_rows();
CREATE TRIGGER u AFTER UPDATE ON keys REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION see_rows();
SELECT compare('INSERT INTO keys SELECT id, k, t || ''*'', n FROM source WHERE id BETWEEN 19001 AND 24000 ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SELECT * FROM seen ORDER BY what;
DROP TRIGGER i ON keys;
DROP TRIGGER u ON keys;
CREATE TRIGGER b BEFORE UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER b BEFORE UPDATE ON h_keys FOR EACH ROW EXECUTE FUNCTION count_rows();
SELECT compare('INSERT INTO keys SELECT id, k, t || ''#'', n FROM source WHERE id <= 3000 ON CONFLICT (id) DO UPDATE SET n = excluded.n');
SELECT * FROM gpucol.verify('keys');
VACUUM keys;
SELECT * FROM gpucol.verify('keys');
DROP SCHEMA storage_upserts CASCADE;
