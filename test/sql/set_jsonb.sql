-- Elements and keys of jsonb as rows, which engines make.
SET client_min_messages = warning;
CREATE SCHEMA set_jsonb;
SET search_path = set_jsonb, public;
SET jit = off;
CREATE TABLE plain (id int, k int, j jsonb, m jsonb);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 10 > 0 THEN jsonb_build_object('tags', (SELECT coalesce(jsonb_agg(CASE o % 6
		WHEN 0 THEN to_jsonb('tag ' || (i * o) % 23) WHEN 1 THEN to_jsonb(round((i * o) % 50 / 7.0, o % 5) - 3) WHEN 2 THEN to_jsonb(o % 2 = 0) WHEN 3 THEN 'null'::jsonb
		WHEN 4 THEN to_jsonb((i * o)::numeric * 10 ^ (o % 11 * 2 - 4)) ELSE to_jsonb('ä' || repeat('long ', o)) END), '[]') FROM generate_series(0, i % 13) o WHERE o > i % 3),
		'a', jsonb_build_object('b', jsonb_build_array(i % 5, i % 3 = 0), 'key ' || i % 3, i), 'key' || i % 4, i) END,
	CASE i % 4 WHEN 0 THEN jsonb_build_array(i % 11, 'x') WHEN 1 THEN '[]' WHEN 2 THEN '[null, null, true, -0.00010, 0, 0.00, 12345678901234567890.12345]' END
	FROM generate_series(1, 1500) i;
-- objects of many keys, and long ones
INSERT INTO plain SELECT 2000 + i, 1, (SELECT jsonb_object_agg('key' || o * i, CASE WHEN o = 7 THEN to_jsonb(ARRAY['t', NULL, 'u']) ELSE to_jsonb(o) END) ||
	'{"tags": ["many", 1e20]}' FROM generate_series(1, 300) o), (SELECT jsonb_agg(o * i) FROM generate_series(1, 2500) o) FROM generate_series(1, 5) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
INSERT INTO plain VALUES (-1, 1, '{}', '[]'), (-2, 2, NULL, NULL), (-3, NULL, '{"tags": ["delta", 0.5, null]}', '["delta"]'), (-4, 3, '[1, 2]', NULL);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
DELETE FROM plain WHERE id % 13 = 0;
DELETE FROM packed WHERE id % 13 = 0;
ANALYZE plain, packed;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set include :srcdir /include/plan.psql
\i :include
\set ECHO all

SELECT q, twin(q) AS node FROM unnest(ARRAY[
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''tags'') v GROUP BY v',
	'SELECT v, count(*), sum(k), min(id) FROM T, jsonb_array_elements_text(m) v GROUP BY v',
	'SELECT k, v, count(*) FROM T, jsonb_array_elements_text(m) v WHERE id > 100 GROUP BY k, v',
	'SELECT jsonb_array_elements_text(j -> ''tags'') AS v, count(*) FROM T GROUP BY 1',
	'SELECT jsonb_object_keys(j) AS v, count(*) FROM T WHERE id <> -4 GROUP BY 1',
	'SELECT v, count(*), max(id) FROM T, jsonb_object_keys(j -> ''a'') v WHERE jsonb_typeof(j -> ''a'') = ''object'' GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''a'' -> ''b'') v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''none'') v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''a'' -> ''none'' -> ''b'') v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''key7'' -> ''x'') v GROUP BY v',
	'SELECT v, count(*) FROM T LEFT JOIN LATERAL jsonb_array_elements_text(m) v ON true GROUP BY v',
	'SELECT v, count(*) FROM T LEFT JOIN LATERAL jsonb_array_elements_text(m) v ON v > ''2'' GROUP BY v',
	'SELECT o, min(v), max(v), count(v), count(*) FROM T, jsonb_array_elements_text(m) WITH ORDINALITY u(v, o) GROUP BY o',
	'SELECT count(*), count(DISTINCT v), min(v), max(v), sum(length(v)) FROM T, jsonb_array_elements_text(j -> ''tags'') v',
	'SELECT k, count(DISTINCT v) FROM T, jsonb_array_elements_text(j -> ''tags'') v WHERE v LIKE ''tag%'' GROUP BY k',
	'SELECT DISTINCT jsonb_object_keys(j) FROM T WHERE id <> -4',
	'SELECT count(*) FROM T, jsonb_array_elements_text(j -> ''tags'') v WHERE v = ''tag 3''',
	'SELECT v::numeric AS n, count(*) FROM T, jsonb_array_elements_text(m) v WHERE id >= 2000 GROUP BY 1',
	'SELECT k, min(v COLLATE "en-x-icu"), max(v COLLATE "en-x-icu"), min(v COLLATE "C"), max(v), max(left(v, 2)) FROM T, jsonb_array_elements_text(m) v GROUP BY k',
	'SELECT k, length(string_agg(v, '','' ORDER BY v COLLATE "C")), count(DISTINCT left(v, 2)) FROM T, jsonb_array_elements_text(m) v GROUP BY k',
	'SELECT v, w, count(*) FROM T, jsonb_array_elements_text(m) v, jsonb_array_elements_text(j -> ''a'' -> ''b'') w WHERE id < 500 GROUP BY v, w',
	'SELECT v::numeric + w::numeric, count(*) FROM T, jsonb_array_elements_text(m) v, jsonb_array_elements_text(m) w WHERE id = 2003 AND v < ''2'' AND w > ''65'' GROUP BY 1',
	'SELECT key, count(*), sum(k) FROM T, jsonb_each(j) WHERE id <> -4 GROUP BY key',
	'SELECT k, key, count(*) FROM T, jsonb_each_text(j -> ''a'') WHERE key > ''b'' GROUP BY k, key',
	'SELECT key, o, count(*) FROM T, jsonb_each(j) WITH ORDINALITY q(key, v, o) WHERE id <> -4 GROUP BY key, o',
	'SELECT key, count(*) FROM T LEFT JOIN LATERAL jsonb_each(j -> ''a'') ON key LIKE ''k%'' GROUP BY key',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''key7'') v WHERE id = 2001 GROUP BY v']) q;
-- errors are PostgreSQL's, and so are texts of containers and of long numbers
SELECT q, CASE WHEN twin(q) ~ '^Gpucol' THEN left(twin_result(q, 'packed', 'allow'), 60) ELSE twin(q) END AS result FROM unnest(ARRAY[
	'SELECT v, count(*) FROM T, jsonb_object_keys(j) v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_object_keys(m) v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j) v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''a'') v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_array_elements_text(j -> ''key1'') v GROUP BY v',
	'SELECT v, count(*) FROM T, jsonb_object_keys(j -> ''key1'') v GROUP BY v']) q;
-- the values of fields are PostgreSQL's
SELECT q, twin(q) AS node, string_agg(line, E'\n') FILTER (WHERE line ~ 'Function Scan|ProjectSet') AS sets FROM unnest(ARRAY[
	'SELECT key, min(value) FROM T, jsonb_each_text(j) WHERE id <> -4 GROUP BY key',
	'SELECT key, count(*) FROM T, jsonb_each_text(j) WHERE value > ''5'' AND id <> -4 GROUP BY key',
	'SELECT q, count(*) FROM T, jsonb_each_text(j) q WHERE id <> -4 GROUP BY q',
	'SELECT count(q), count(key) FROM T, jsonb_each_text(j) q WHERE id <> -4',
	'SELECT jsonb_each_text(j), count(*) FROM T WHERE id <> -4 GROUP BY 1',
	'SELECT s.key, count(*) FROM T, jsonb_each_text(j) s, jsonb_each_text(j) o WHERE s.value = o.value AND id < 50 AND id <> -4 GROUP BY 1',
	'SELECT key, count(*) FROM T, jsonb_each_text(j) WHERE value = k::text AND id <> -4 GROUP BY key']) q, plan(regexp_replace(q, '\yT\y', 'packed', 'g')) line GROUP BY q ORDER BY q COLLATE "C";
CREATE TABLE odd_plain AS SELECT i AS id, j FROM (VALUES (1, '[[1, 2], {"a": 1}, 3]'::jsonb), (2, '["x"]'),
	(3, jsonb_build_array(repeat('9', 40)::numeric, '1e-30'::numeric, (repeat('9', 28) || '.25')::numeric, '-0.5'::numeric))) x(i, j);
CREATE TABLE odd (LIKE odd_plain) USING gpucol;
INSERT INTO odd SELECT * FROM odd_plain;
SELECT gpucol.merge('odd') >= 0 AS merged;
SELECT id, count(*), min(v), max(v) FROM odd, jsonb_array_elements_text(j) v GROUP BY id ORDER BY id;
SELECT id, count(*), min(v), max(v) FROM odd_plain, jsonb_array_elements_text(j) v GROUP BY id ORDER BY id;
-- such a row behind others
INSERT INTO odd SELECT 10, jsonb_build_array(i, 'late') FROM generate_series(1, 30000) i;
INSERT INTO odd VALUES (11, '["x", {"late": 1}]');
SELECT gpucol.merge('odd') >= 0 AS merged;
SELECT id, length(string_agg(v, ',')), count(DISTINCT v), sum(length(v)) FROM odd, jsonb_array_elements_text(j) v WHERE id > 9 GROUP BY id ORDER BY id;
SELECT max(v::numeric) FROM odd, jsonb_array_elements_text(j) v WHERE id = 10 AND v <> 'late';
SELECT plan('SELECT v, count(*) FROM odd, jsonb_array_elements_text(j) v WHERE id = 2 GROUP BY v', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF');
SELECT plan($$SELECT v, count(*) FROM packed, jsonb_array_elements_text(j -> 'a' -> 'b') v WHERE v > '1' GROUP BY v$$);
SELECT plan($$SELECT v, count(*) FROM packed, jsonb_array_elements_text(j -> ('key' || id)) v GROUP BY v$$);
SELECT plan(format('SELECT v, count(*) FROM packed, jsonb_array_elements_text(j -> %L) v GROUP BY v', repeat('long', 20)));
DROP SCHEMA set_jsonb CASCADE;
