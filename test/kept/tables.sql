-- tables.sql: tables of every type and in every state, each with its twin in heap
-- (NAME_heap), for a cluster that later versions must read.
CREATE EXTENSION gpucol;
SET timezone = 'UTC';
SET bytea_output = 'hex';
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TYPE pair AS (a int, b text);

-- Every type: random enough that each has another coding, NULLs, extremes.
CREATE TABLE types_heap AS
SELECT i AS id, (i % 7)::int2 AS i2, i % 1000 * 3600 AS steps, (i * 7919::bigint) % 1000003 * (i - 4000) AS i8,
	i % 3 = 0 AS b, (i / 7.0)::real AS f4, CASE i % 500 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN '-0' ELSE i / 3.0 END::float8 AS f8,
	(i % 5000 / 100.0)::numeric(12, 2) AS price, CASE WHEN i % 400 = 0 THEN 'NaN' ELSE i / 13.0 END::numeric AS n,
	md5((i % 50)::text) AS word, md5(i::text) AS hash, repeat('long ', i % 90 * 10) AS long_text, left('abcd', i % 5)::char(4) AS c,
	('v' || i % 20)::varchar(8) AS v, ('n' || i % 4)::name AS nm, decode(md5(i::text), 'hex') AS bytes,
	date '2020-01-01' + i % 900 AS d, timestamp '2021-01-01' + i * interval '1 minute' AS ts,
	CASE WHEN i % 300 = 0 THEN 'infinity' ELSE timestamptz '2021-01-01 00:00+00' + i * interval '17 seconds' END AS tz,
	time '00:00' + i * interval '1 second' AS t, ('01:00+0' || i % 9)::timetz AS ttz, i * interval '1 day 3 hours' AS span,
	md5((i % 100)::text)::uuid AS u, inet '10.0.0.0' + i AS ip, ('08:00:2b:01:02:0' || i % 10)::macaddr AS mac, (i * 1.5)::numeric::money AS cash,
	jsonb_build_object('k', i % 7, 'a', ARRAY[i, NULL]) AS j, ARRAY[i, NULL, i % 3] AS ints, ARRAY['x' || i % 5, 'y'] AS words,
	(ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood AS m, (i % 999)::small AS s, ROW(i, 'p' || i % 9)::pair AS p,
	int4range(i, i + i % 5) AS r, (i % 256)::bit(8) AS bits, (i + 100000)::oid AS o, to_tsvector('simple', 'word' || i % 30) AS tsv,
	pg_lsn '0/0' + i AS lsn, NULL::int AS nothing, CASE WHEN i % 10 = 0 THEN i END AS mostly_null, 42 AS constant
FROM generate_series(1, 4000) i;
INSERT INTO types_heap (id, i2, i8, f4, f8, price, n, d, ts) VALUES
	(-1, -32768, -9223372036854775808, 'NaN', '-infinity', -9999999999.99, '-infinity', '-infinity', 'infinity'),
	(-2, 32767, 9223372036854775807, '1e38', 1.7e308, 9999999999.99, 1e300, '4000-01-01', '0001-01-01 BC');
INSERT INTO types_heap (id) VALUES (-3);
CREATE TABLE types (LIKE types_heap) USING gpucol;
INSERT INTO types SELECT * FROM types_heap;
CREATE INDEX ON types (id);
CREATE INDEX ON types (word, d);
CREATE INDEX ON types USING hash (u);
CREATE INDEX ON types USING gin (ints);

-- Deleted and updated packed rows, folded and not, beside rows of the delta.
CREATE TABLE changed (id int PRIMARY KEY, k int, v text) USING gpucol;
INSERT INTO changed SELECT i, i % 10, md5((i % 70)::text) FROM generate_series(1, 6000) i;
DELETE FROM changed WHERE id % 97 = 0;
VACUUM changed;
DELETE FROM changed WHERE id % 89 = 0;
UPDATE changed SET v = 'changed' WHERE id % 51 = 0;
UPDATE changed SET k = -1 WHERE id % 102 = 0;
INSERT INTO changed SELECT i, 1, repeat('long ', 3000) FROM generate_series(10001, 10003) i;

-- Rows in heap pages alone; no row; rows that a rollback took back.
CREATE TABLE delta_only (id int, v text) USING gpucol;
INSERT INTO delta_only VALUES (1, 'a row in a heap page'), (2, NULL);
CREATE TABLE no_row (id int) USING gpucol;
CREATE TABLE rolled_back (id int, v text) USING gpucol;
INSERT INTO rolled_back SELECT i, 'kept' FROM generate_series(1, 3000) i;
BEGIN;
INSERT INTO rolled_back SELECT i, 'gone' FROM generate_series(1, 3000) i;
ROLLBACK;

-- Columns dropped and added; merged; ordered; a partitioned parent; a materialized view.
CREATE TABLE altered (a int, b text, c int) USING gpucol;
INSERT INTO altered SELECT i, 'x' || i, i * 2 FROM generate_series(1, 3000) i;
ALTER TABLE altered DROP COLUMN b;
ALTER TABLE altered ADD COLUMN d int DEFAULT 9;
INSERT INTO altered SELECT i, i, i FROM generate_series(1, 3000) i;
CREATE TABLE merged (id int, v text) USING gpucol;
INSERT INTO merged SELECT i, 'v' || i % 9 FROM generate_series(1, 900) i;
SELECT gpucol.merge('merged');
UPDATE merged SET v = 'after' WHERE id % 5 = 0;
SELECT gpucol.merge('merged');
CREATE TABLE ordered (id int, k int) USING gpucol;
INSERT INTO ordered SELECT i, i * 7919 % 3001 FROM generate_series(1, 3000) i;
CREATE INDEX ordered_k ON ordered (k);
CLUSTER ordered USING ordered_k;
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (1500) USING gpucol;
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (1500) TO (10000) USING gpucol;
INSERT INTO parts SELECT i, i % 13 FROM generate_series(1, 4000) i;
CREATE MATERIALIZED VIEW counts USING gpucol AS SELECT k, count(*) AS c FROM changed GROUP BY k;
CREATE VIEW ranked AS SELECT gpucol.u_topk(k, c, 0.4, 2) AS best FROM counts;

DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{changed,delta_only,no_row,rolled_back,altered,merged,ordered,parts1,parts2,counts}'::text[] LOOP
		EXECUTE format('CREATE TABLE %I AS SELECT * FROM %I', name || '_heap', name);
	END LOOP;
END $$;
CHECKPOINT;
