-- Inputs of a recursion that a node hands over a column at a time: values of every type, NULLs, rows in the delta and deleted ones
\set node GpucolRecursive
SET client_min_messages = warning;
CREATE SCHEMA recursive_loads;
SET search_path = recursive_loads, public;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN code AS int CHECK (VALUE < 100000);
CREATE TABLE tree (id int, parent int, i2 int2, i8 bigint, o oid, b boolean, ch "char", f4 float4, f8 float8, n numeric(12, 2), u numeric, d date, ts timestamp, tz timestamptz,
	tm time, iv interval, few text, many text, v varchar(9), bp char(5), nm name, k uuid, by bytea, m mood, c code, a int[], j jsonb) USING gpucol;
INSERT INTO tree SELECT i, CASE WHEN i > 1 THEN i / 3 END, i % 300 - 150, i::bigint << 33, 4294967295 - i, i % 3 = 0, (i % 100 + 20)::int::"char", i / 7.0, i / 3.0, i / 8.0, i * 1.5,
	date '2024-01-01' + i % 900, timestamp '2024-01-01' + i * interval '1 min', timestamptz '2024-01-01 00:00Z' + i * interval '1 s', time '00:00' + i % 3000 * interval '7 s',
	i % 50 * interval '1 day 00:00:01', 'w' || i % 7, 'text of ' || i, left('v' || i, 9), (i % 1000)::text, ('n' || i % 40)::name, md5((i % 99)::text)::uuid, decode(md5(i::text), 'hex'),
	(ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::mood, i, ARRAY[i, NULL, i % 4], jsonb_build_object('k', i % 5) FROM generate_series(1, 3000) i;
INSERT INTO tree SELECT i, i / 3 FROM generate_series(3001, 3100) i;
SELECT gpucol.merge('tree');
INSERT INTO tree SELECT i, i / 3, 32767, -9223372036854775808, 0, NULL, NULL, 'NaN', '-Infinity', NULL, 'NaN', 'infinity', '-infinity', NULL, '24:00', NULL, '', repeat('long', 300), '', '', '',
	NULL, '', 'ok', -1, '{}', 'null' FROM generate_series(3101, 3140) i;
DELETE FROM tree WHERE id % 400 = 7 OR id = 3110;
UPDATE tree SET many = many || '!' WHERE id % 500 = 3;
CREATE TABLE label AS SELECT i AS id, 'label ' || i AS w FROM generate_series(0, 5) i;
ANALYZE tree, label;

-- every column carried along, and all of them
SELECT attname, differ(format('WITH RECURSIVE r AS (SELECT id, %1$I AS v, 0 AS l FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, t.%1$I, l + 1 FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r', attname))
	FROM pg_attribute WHERE attrelid = 'tree'::regclass AND attnum > 2 ORDER BY attnum;
SELECT differ('WITH RECURSIVE r AS (SELECT * FROM tree WHERE parent IS NULL UNION ALL SELECT t.* FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r');
SELECT differ('WITH RECURSIVE r AS (SELECT * FROM tree WHERE id BETWEEN 3 AND 9 UNION SELECT t.* FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r');
-- a column that decides which rows are equal
SELECT attname, differ(format('WITH RECURSIVE r AS (SELECT id, %1$I AS v FROM tree WHERE id < 30 UNION SELECT t.id / 9, t.%1$I FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r', attname))
	FROM pg_attribute WHERE attrelid = 'tree'::regclass AND attnum > 2 ORDER BY attnum;
-- texts that are made on the way: of few and of many rows a round, long ones, NULLs, those of a subquery
SELECT term, differ(format('WITH RECURSIVE r AS (SELECT id, many AS v, 0 AS l FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, %s, l + 1 FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r', term)) FROM (VALUES
	('r.v || ''/'' || t.many'), ('concat_ws('' > '', r.v, t.few, t.i2)'), ('CASE WHEN t.id % 5 > 0 THEN upper(t.many) || l END'), ('left(repeat(t.many, 40) || r.v, 3000)'), ('(SELECT x.w || t.few FROM label x WHERE x.id = t.id % 7)'),
	('format(''%s-%s'', t.k, t.d)'), ('t.tz::text'), ('t.n::text || r.v')) x (term);
SELECT differ('WITH RECURSIVE r AS (SELECT id, ARRAY[id] AS path, 0 AS l FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, r.path || t.id, l + 1 FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r');
SELECT differ('WITH RECURSIVE r AS (SELECT id, n FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, (r.n + coalesce(t.n, 0))::numeric(12, 2) FROM tree t JOIN r ON t.parent = r.id) SELECT * FROM r');
-- long ones, of which few are held beside one another, however they are held
CREATE FUNCTION held(int) RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT coalesce(sum(total_bytes), 0) FROM pg_backend_memory_contexts WHERE name = 'expanded array'); END $$;
SET gpucol.pushdown = require;
WITH RECURSIVE r (id, a) AS (SELECT 0, array_fill(0::bigint, ARRAY[20000]) UNION ALL SELECT t.id, array_append(r.a, held(t.id)) FROM r JOIN (SELECT 0 AS parent, id FROM tree WHERE id BETWEEN 1 AND 64) t ON t.parent = r.id)
	SELECT max(a[20001]) < 2500000 AS few FROM r WHERE id > 0;
RESET gpucol.pushdown;
-- conditions, computed columns and nodes between a table and the recursion; no row, one row
SELECT term, differ(format('WITH RECURSIVE r AS (SELECT id, few AS v FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, t.w FROM (%s) t JOIN r ON t.parent = r.id) SELECT * FROM r', term)) FROM (VALUES
	('SELECT id, parent, few AS w FROM tree WHERE i8 > 40'), ('SELECT id, parent, few || id AS w FROM tree'), ('SELECT t.id, t.parent, x.many AS w FROM tree t JOIN tree x ON x.id = t.parent + 1'),
	('SELECT id, parent, max(many) AS w FROM tree GROUP BY id, parent'), ('SELECT id, parent, few AS w FROM tree WHERE id < 0'), ('SELECT id, parent, few AS w FROM tree WHERE id = 3'),
	('SELECT id, parent, few AS w FROM tree UNION ALL SELECT id + 20000, parent, many FROM tree WHERE id < 300'), ('SELECT id, parent, lag(few) OVER (ORDER BY id) AS w FROM tree'),
	('SELECT id, parent, few AS w FROM tree ORDER BY many LIMIT 2000')) x (term);
-- the same inputs again, with other parameters
SELECT differ('SELECT s.i, x.* FROM generate_series(1, 4) s (i), LATERAL (WITH RECURSIVE r AS (SELECT id, many AS v FROM tree WHERE id = s.i UNION ALL SELECT t.id, r.v || t.few FROM tree t JOIN r ON t.parent = r.id AND t.id % s.i = 0) SELECT count(*), max(v), min(id) FROM r) x');
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT id, many AS v FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, r.v || '/' || t.few FROM tree t JOIN r ON t.parent = r.id) SELECT count(*), max(v) FROM r;
DROP SCHEMA recursive_loads CASCADE;
