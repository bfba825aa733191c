-- Leaving for heap and coming back: every type, arrays of it, domains and ranges; rows that were deleted and
-- updated, folded and not, beside rows of the delta; generated, identity, long, added and dropped columns; indexes,
-- partitions and what else belongs to a table.  Both directions, and all equals a twin that was in heap all the time.
CREATE SCHEMA storage_leave;
SET search_path = storage_leave, public;
SET client_min_messages = warning;
SET timezone = 'UTC';
\set VERBOSITY terse

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text, c mood);
CREATE DOMAIN few AS int CHECK (VALUE < 100000);
CREATE DOMAIN fewer AS few NOT NULL;
CREATE DOMAIN pairs AS pair[];
CREATE DOMAIN price AS numeric(12, 2);
CREATE TYPE span AS RANGE (subtype = float8);

-- a value of each type, of a row's number
CREATE TABLE kinds (type text PRIMARY KEY, value text);
INSERT INTO kinds VALUES
	('bool', 'i % 3 = 0'), ('"char"', 'chr(65 + i % 20)'), ('int2', 'i % 70 - 30'), ('int4', 'i * 31 - 20000'), ('int8', 'i * 7919::int8 * 1000003'),
	('oid', '4294960000 + i % 7000'), ('float4', 'CASE i % 9 WHEN 0 THEN ''-0'' WHEN 1 THEN ''NaN'' ELSE i / 7.0 END'), ('float8', 'CASE i % 9 WHEN 0 THEN ''-0'' WHEN 1 THEN ''-Infinity'' ELSE i / 3.0 END'),
	('numeric', 'CASE i % 50 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''-Infinity'' WHEN 2 THEN 1e100 ELSE round(i / 7.0, i % 5) END'), ('numeric(10, 3)', 'CASE WHEN i % 60 > 0 THEN i / 8.0 ELSE ''NaN'' END'), ('numeric(5, 0)', 'i'), ('numeric(30, 4)', 'i * 1e20'), ('money', 'i * 1.25'),
	('date', 'CASE i % 90 WHEN 0 THEN ''infinity'' WHEN 1 THEN ''4000-01-01 BC'' ELSE date ''2000-01-01'' + i END'), ('time', 'time ''0:00'' + i * interval ''7 s'''), ('time(0)', 'time ''0:00'' + i * interval ''7 s'''), ('timetz', '''12:34:56+0'' || i % 9'),
	('timestamp', 'timestamp ''2000-01-01'' + i * interval ''1 h'''), ('timestamptz', 'CASE WHEN i % 80 > 0 THEN timestamptz ''2000-01-01'' + i * interval ''1 h'' ELSE ''-infinity'' END'), ('timestamp(3)', 'timestamp ''2000-01-01'' + i * interval ''1.234567 s'''), ('interval', 'i * interval ''1 mon 2 days 03:04:05.678'''), ('interval day to second', 'i * interval ''2 days 1 s'''),
	('text', 'CASE i % 11 WHEN 0 THEN '''' ELSE ''text '' || i % 40 END'), ('text COLLATE "C"', 'md5(i::text)'), ('varchar', '''v'' || i'), ('varchar(9)', '''v'' || i % 30'), ('char(6)', '''c'' || i % 30'), ('char', '''x'''), ('name', '''n'' || i % 30'), ('bytea', 'decode(md5(i::text), ''hex'')'),
	('bit(9)', '(i % 512)::bit(9)'), ('varbit', 'repeat(''10'', i % 6)::varbit'), ('uuid', 'md5(i::text)::uuid'), ('inet', '''10.0.0.0''::inet + i'), ('cidr', '(''10.0.'' || i % 250 || ''.0/24'')::cidr'), ('macaddr', '(''08002b0102'' || 10 + i % 90)::macaddr'), ('macaddr8', '(''08002b01020304'' || 10 + i % 90)::macaddr8'),
	('json', 'json_build_object(''k'', i, ''b'', ''x'' || i % 5)'), ('jsonb', 'jsonb_build_object(''k'', i, ''a'', ARRAY[i, NULL], ''t'', ''x'' || i % 5)'), ('jsonpath', '''$.k''::jsonpath'),
	('tsvector', 'to_tsvector(''simple'', ''a b c'' || i % 30)'), ('tsquery', '(''a & c'' || i % 30)::tsquery'), ('pg_lsn', '''0/0''::pg_lsn + i'), ('xid', '(i % 100)::text::xid'), ('xid8', 'i::text::xid8'), ('cid', '(i % 100)::text::cid'), ('tid', '(''('' || i || '',1)'')::tid'),
	('regclass', '''pg_class''::regclass'), ('regtype', '''int4''::regtype'), ('regproc', '''now''::regproc'), ('regrole', '''pg_monitor''::regrole'), ('pg_snapshot', '(''1:'' || i + 5 || '':'')::pg_snapshot'), ('oidvector', '(i || '' 2'')::oidvector'), ('int2vector', '(i % 99 || '' 2'')::int2vector'), ('refcursor', '''r'' || i'), ('aclitem', '''=r/pg_monitor''::aclitem'),
	('point', 'point(i, -i)'), ('line', 'line(point(0, 0), point(1, i))'), ('lseg', 'lseg(point(0, 0), point(1, i))'), ('box', 'box(point(0, 0), point(1, i))'), ('path', '(''((0,0),(1,1),('' || i || '',0))'')::path'), ('polygon', '(''((0,0),(1,1),('' || i || '',0))'')::polygon'), ('circle', 'circle(point(0, 0), i)'),
	('int4range', 'int4range(i, i + i % 5)'), ('int8range', 'int8range(i, NULL)'), ('numrange', 'numrange(i / 2.0, i)'), ('daterange', 'daterange(NULL, date ''2000-01-01'' + i)'), ('tsrange', 'tsrange(''2000-01-01'', NULL, ''()'')'), ('tstzrange', '''empty''::tstzrange'), ('int4multirange', 'int4multirange(int4range(i, i + 2), int4range(i + 5, i + 9))'), ('span', 'span(i, i + 0.5)'), ('span_multirange', 'span_multirange(span(i, i + 0.5))');
INSERT INTO kinds VALUES ('mood', '(enum_range(NULL::mood))[1 + i % 3]'), ('pair', 'ROW(i, ''p'' || i % 9, ''ok'')::pair'), ('few', 'i'), ('fewer', 'i'), ('pairs', 'ARRAY[ROW(i, NULL, ''sad'')::pair, NULL]'), ('price', 'i / 4.0');
-- of all of pg_catalog's that values can be written for
SELECT typname FROM pg_type t WHERE typtype IN ('b', 'r', 'm') AND typcategory NOT IN ('A', 'Z') AND typnamespace = 'pg_catalog'::regnamespace
	AND typname !~ '^(pg_node_tree|gtsvector|txid_|reg|xml|.*multirange)' AND NOT EXISTS (SELECT FROM kinds WHERE to_regtype(replace(type, ' COLLATE "C"', '')) = t.oid);

-- a column of each, and of an array of it; some values are NULL
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT format('CREATE TABLE %s (id int PRIMARY KEY, %s)', name, string_agg(format('c%s %s, a%s %s', n, type, n, array_type), ', ')) FROM kinds_of);
END $$;
CREATE VIEW kinds_of AS SELECT row_number() OVER (ORDER BY type COLLATE "C") AS n, type, value,
	CASE WHEN type ~ 'COLLATE' THEN replace(type, ' COLLATE', '[] COLLATE') ELSE type || '[]' END AS array_type FROM kinds;
CREATE FUNCTION fill(name text, first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT format('INSERT INTO %s SELECT i, %s FROM generate_series(%s, %s) i', name,
		string_agg(format('CASE WHEN (i + %s) %% 13 > 0 OR %L = ''fewer'' THEN (%s)::%s END, CASE (i + %s) %% 7 WHEN 0 THEN NULL WHEN 1 THEN ''{}''::%s ELSE ARRAY[%s]::%s || (%s)::%s END',
			n, type, value, type, n, array_type, CASE type WHEN 'fewer' THEN '1' ELSE 'NULL' END, array_type, value, type), ', '), first, last) FROM kinds_of);
END $$;


CREATE FUNCTION differ(one text, two text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT m FROM (SELECT md5(x::text) AS m, 1 AS n FROM %s x UNION ALL SELECT md5(x::text), -1 FROM %s x) d GROUP BY m HAVING sum(n) <> 0) d', one, two) INTO result;
	RETURN result;
END $$;
-- to another access method, and how many rows differ
CREATE FUNCTION change_method(name text, method text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER TABLE %s SET ACCESS METHOD %s', name, method);
	RETURN differ(name, name || '_plain');
END $$;

SELECT make('types'), make('types_plain');
ALTER TABLE types SET ACCESS METHOD gpucol;
SELECT fill('types', 1, 1600), fill('types_plain', 1, 1600);
SELECT sum(rows) > 0 AS packed FROM gpucol.segments('types');
SELECT differ('types', 'types_plain');
SELECT change_method('types', 'heap'), change_method('types', 'gpucol');
SELECT sum(rows) FROM gpucol.segments('types');
SELECT * FROM gpucol.verify('types');

-- rows that were deleted and updated, folded and not, and those of the delta
CREATE FUNCTION change(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %s WHERE id %% 17 = 0', name);
	EXECUTE (SELECT format('UPDATE %s SET (%s) = ROW(%s) WHERE id %% 19 = 0', name, string_agg(format('c%s, a%s', n, n), ', '),
		string_agg(format('%s, a%s || a%s', CASE type WHEN 'fewer' THEN 'c' || n ELSE 'NULL' END, n, n), ', ')) FROM kinds_of);
	PERFORM fill(name, 20001, 20040);
END $$;
SELECT change('types'), change('types_plain');
SELECT change_method('types', 'heap'), change_method('types', 'gpucol');
DELETE FROM types WHERE id % 23 = 0;
DELETE FROM types_plain WHERE id % 23 = 0;
VACUUM types;
DELETE FROM types WHERE id % 29 = 0;
DELETE FROM types_plain WHERE id % 29 = 0;
SELECT gpucol.merge('types') IS NOT NULL AS merged;
SELECT * FROM gpucol.verify('types');
SELECT differ('types', 'types_plain'), change_method('types', 'heap');

-- columns that come and go, by themselves and in the same statement
CREATE FUNCTION columns(change text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'ALTER TABLE types ' || change;
	EXECUTE 'ALTER TABLE types_plain ' || regexp_replace(change, 'SET ACCESS METHOD \w+, ', '');
	RETURN differ('types', 'types_plain');
END $$;
SELECT columns('ADD COLUMN seven int DEFAULT 7, DROP COLUMN c5'), change_method('types', 'gpucol');
SELECT columns('ADD COLUMN pair int[] DEFAULT ''{1,2}'', DROP COLUMN a7');
SELECT columns('SET ACCESS METHOD heap, ALTER COLUMN seven TYPE text USING ''n'' || seven, ADD COLUMN twice int GENERATED ALWAYS AS (id * 2) STORED');
SELECT columns('SET ACCESS METHOD gpucol, ALTER COLUMN seven TYPE varchar(9), DROP COLUMN a9');
SELECT columns('ALTER COLUMN seven TYPE text'), change_method('types', 'heap');

-- types that change without a rewrite, and what follows then
CREATE TABLE changed (id int, a int, n numeric(10, 2), w numeric(18, 2), v varchar(10), t timestamp, o oid, b bit(8)) USING gpucol;
INSERT INTO changed SELECT i, i * 7 - 20000, (i - 3000) / 7.0, i / 3.0, 'v' || i % 100, timestamp '2020-01-01' + i * interval '1 hour', 4294960000 + i, (i % 256)::bit(8) FROM generate_series(1, 7000) i;
CREATE TABLE changed_plain AS TABLE changed;
SELECT pg_relation_filenode('changed') AS file \gset
\set types 'ALTER COLUMN a TYPE oid, ALTER COLUMN n TYPE numeric, ALTER COLUMN w TYPE numeric(25, 2), ALTER COLUMN v TYPE text, ALTER COLUMN t TYPE timestamptz, ALTER COLUMN o TYPE int, ALTER COLUMN b TYPE varbit'
ALTER TABLE changed :types;
ALTER TABLE changed_plain :types;
SELECT pg_relation_filenode('changed') = :file AS kept, differ('changed', 'changed_plain');
\set asked 'SELECT min(a), max(a), min(o), max(o), sum(n), sum(w), max(v), max(t), count(*) FILTER (WHERE a > 4294950000) AS a, count(*) FILTER (WHERE o > -5000) AS o FROM'
:asked changed;
:asked changed_plain;
SELECT count(*) FROM changed WHERE a > 4294950000 AND o > -5000;
SELECT count(*) FROM changed_plain WHERE a > 4294950000 AND o > -5000;
SELECT change_method('changed', 'heap'), change_method('changed', 'gpucol');

-- what belongs to a table: identity, generated columns, long values, indexes, keys, rights
CREATE TABLE people (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, born date NOT NULL, name text COLLATE "C", age int GENERATED ALWAYS AS (2026 - date_part('year', born)::int) STORED,
	e text, m text, p text, l text COMPRESSION lz4, j jsonb, CONSTRAINT old CHECK (born > '1800-01-01'));
ALTER TABLE people ALTER e SET STORAGE EXTERNAL, ALTER m SET STORAGE MAIN, ALTER p SET STORAGE PLAIN;
CREATE UNIQUE INDEX people_name ON people (name) INCLUDE (born);
CREATE INDEX people_j ON people USING gin (j);
CREATE INDEX people_part ON people (age) WHERE age > 50;
CREATE INDEX people_lower ON people (lower(name));
CREATE STATISTICS people_stat ON born, age FROM people;
CREATE TABLE visits (person bigint REFERENCES people ON DELETE CASCADE, at date);
COMMENT ON TABLE people IS 'people';
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON people USING (true);
GRANT SELECT (name) ON people TO pg_monitor;
ALTER TABLE people REPLICA IDENTITY FULL;
ALTER TABLE people CLUSTER ON people_pkey;
INSERT INTO people (born, name, e, m, p, l, j) SELECT date '1900-01-01' + i * 3, 'name ' || i, CASE WHEN i % 40 = 0 THEN repeat(md5(i::text), 1000) ELSE 'e' END, CASE WHEN i % 50 = 0 THEN repeat(md5(i::text), 300) END, repeat('p', i % 90),
	CASE WHEN i % 45 = 0 THEN repeat('l ' || i, 3000) END, jsonb_build_object('k', i, 'long', CASE WHEN i % 60 = 0 THEN repeat(md5(i::text), 400) END) FROM generate_series(1, 4000) i;
INSERT INTO visits SELECT i, '2026-01-01' FROM generate_series(1, 4000, 7) i;
CREATE TABLE people_plain AS TABLE people;
CREATE VIEW described AS SELECT attname::text, atttypid::regtype::text, concat_ws(' ', attstorage, attcompression, attidentity, attgenerated, attnotnull) AS how FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0
	UNION ALL SELECT conname, pg_get_constraintdef(oid), NULL FROM pg_constraint WHERE conrelid = 'people'::regclass OR confrelid = 'people'::regclass
	UNION ALL SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), concat_ws(' ', indisclustered, indisvalid) FROM pg_index WHERE indrelid = 'people'::regclass
	UNION ALL SELECT relname, obj_description(oid), concat_ws(' ', relreplident, relrowsecurity) FROM pg_class WHERE oid = 'people'::regclass
	UNION ALL SELECT polname, NULL, NULL FROM pg_policy WHERE polrelid = 'people'::regclass UNION ALL SELECT stxname, NULL, NULL FROM pg_statistic_ext WHERE stxrelid = 'people'::regclass;
CREATE TABLE described_before AS TABLE described;
SELECT change_method('people', 'gpucol'), differ('described', 'described_before');
SELECT * FROM gpucol.verify('people');
INSERT INTO people (born, name, e) VALUES ('1990-01-01', 'new', repeat('new', 5000)) RETURNING id, age;
INSERT INTO people_plain SELECT 4001, '1990-01-01', 'new', 36, repeat('new', 5000);
UPDATE people SET name = name || '!', e = repeat(md5(name), 900) WHERE id % 100 = 3;
UPDATE people_plain SET name = name || '!', e = repeat(md5(name), 900) WHERE id % 100 = 3;
DELETE FROM people WHERE id % 100 = 2;
DELETE FROM people_plain WHERE id % 100 = 2;
SELECT change_method('people', 'heap'), differ('described', 'described_before');
SET enable_seqscan = off;
SELECT born, (SELECT count(*) FROM people WHERE j @> '{"k": 88}'), (SELECT sum(age) FROM people WHERE age > 60) = (SELECT sum(age) FROM people_plain WHERE age > 60) AS same,
	(SELECT id FROM people WHERE lower(name) = 'name 90') FROM people WHERE name = 'name 77';
RESET enable_seqscan;
INSERT INTO people (born, name) VALUES ('1990-01-01', 'new');
INSERT INTO people (born, name) VALUES ('1700-01-01', 'older');
INSERT INTO people (born, name) VALUES ('1990-01-01', 'newer') RETURNING id;
INSERT INTO visits VALUES (2, '2026-01-01');
SELECT count(*), has_column_privilege('pg_monitor', 'people', 'name', 'SELECT') FROM visits;

-- partitions, of which one had another order of columns; a materialized view; other kinds of tables
CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (2000) USING gpucol;
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (2000) TO (4000);
CREATE TABLE parts3 (v text, gone int, id int NOT NULL) USING gpucol;
ALTER TABLE parts3 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts3 FOR VALUES FROM (4000) TO (9000);
INSERT INTO parts SELECT i, 'v' || i FROM generate_series(1, 7999) i WHERE i % 1000 <> 500;
UPDATE parts SET id = id + 1001 WHERE id % 1000 = 499;
DELETE FROM parts WHERE id % 7 = 0;
CREATE TABLE parts_plain AS TABLE parts;
ALTER TABLE parts1 SET ACCESS METHOD heap;
ALTER TABLE parts2 SET ACCESS METHOD gpucol;
ALTER TABLE parts3 SET ACCESS METHOD heap;
SELECT differ('parts', 'parts_plain');
ALTER TABLE parts1 SET ACCESS METHOD gpucol;
ALTER TABLE parts3 SET ACCESS METHOD gpucol;
SELECT differ('parts', 'parts_plain'), count(*) FROM parts;
CREATE MATERIALIZED VIEW counts USING gpucol AS SELECT id % 100 AS k, count(*) FROM parts GROUP BY 1;
CREATE UNIQUE INDEX ON counts (k);
ALTER MATERIALIZED VIEW counts SET ACCESS METHOD heap;
REFRESH MATERIALIZED VIEW CONCURRENTLY counts;
ALTER MATERIALIZED VIEW counts SET ACCESS METHOD gpucol;
REFRESH MATERIALIZED VIEW CONCURRENTLY counts;
SELECT count(*), sum(count) FROM counts;
CREATE UNLOGGED TABLE unlogged (a int) USING gpucol;
INSERT INTO unlogged SELECT generate_series(1, 3000);
ALTER TABLE unlogged SET ACCESS METHOD heap, SET LOGGED;
CREATE TEMP TABLE temporary (a int) USING gpucol;
INSERT INTO temporary SELECT generate_series(1, 3000);
ALTER TABLE temporary SET ACCESS METHOD heap;
SELECT (SELECT sum(a) FROM unlogged), (SELECT sum(a) FROM temporary);

-- a transaction that leaves with its own changes; one that comes to nothing
BEGIN;
INSERT INTO parts1 SELECT i, 'own' FROM generate_series(1, 1999) i ON CONFLICT DO NOTHING;
UPDATE parts1 SET v = 'own ' || v WHERE id < 100;
DELETE FROM parts1 WHERE id BETWEEN 50 AND 60;
CREATE TEMP TABLE own AS TABLE parts1;
ALTER TABLE parts1 SET ACCESS METHOD heap;
SELECT differ('parts1', 'own');
ALTER TABLE parts1 SET ACCESS METHOD gpucol;
SELECT differ('parts1', 'own');
ROLLBACK;
BEGIN;
SAVEPOINT here;
ALTER TABLE parts1 SET ACCESS METHOD heap;
DELETE FROM parts1;
ROLLBACK TO here;
COMMIT;
SELECT differ('parts', 'parts_plain');

-- a table's label stays with gpucol, of which nothing else is left
CREATE TABLE labels (a int) USING gpucol;
CREATE VIEW label AS SELECT label FROM pg_seclabel WHERE objoid = 'labels'::regclass;
SECURITY LABEL FOR gpucol ON TABLE labels IS 'automerge_enabled = off';
BEGIN;
ALTER TABLE labels SET ACCESS METHOD heap;
SELECT count(*) FROM label;
ROLLBACK;
VACUUM FULL labels;
ALTER TABLE labels SET ACCESS METHOD gpucol, ADD COLUMN b float DEFAULT random();
SELECT * FROM label;
ALTER TABLE labels ADD COLUMN c int, SET ACCESS METHOD heap;
SELECT count(*) FROM label;
SECURITY LABEL FOR gpucol ON TABLE labels IS 'automerge_threshold = 7';
ALTER TABLE labels SET ACCESS METHOD gpucol;
SELECT * FROM label;
CREATE MATERIALIZED VIEW labelled USING gpucol AS SELECT 1 AS one;
SECURITY LABEL FOR gpucol ON MATERIALIZED VIEW labelled IS 'automerge_enabled = off';
ALTER MATERIALIZED VIEW labelled SET ACCESS METHOD heap;
SELECT count(*) FROM pg_seclabel WHERE objoid = 'labelled'::regclass;
ALTER TABLE labels SET ACCESS METHOD heap;
SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE refclassid = 'pg_am'::regclass AND refobjid = (SELECT oid FROM pg_am WHERE amname = 'gpucol')
	AND deptype = 'n' AND pg_describe_object(classid, objid, objsubid) ~ 'storage_leave|labels|types|people' ORDER BY 1;

DROP SCHEMA storage_leave CASCADE;
