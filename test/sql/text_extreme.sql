-- min and max of text and of other types without a fixed-width form: dictionaries, raw values and delta rows, by the order
-- of bytes and by the orders that PostgreSQL compares.
SET client_min_messages = warning;
CREATE SCHEMA text_extreme;
SET search_path = text_extreme, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION bytes_utf8 (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE COLLATION unlike_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE facts (id int, g int, d text, c text COLLATE "C", u varchar COLLATE bytes_utf8, e text COLLATE english,
	n text COLLATE unlike_case, b bytea, p char(8), m text COLLATE english, q numeric, iv interval, ip inet, a int[]) USING gpucol;
-- dictionaries, short ones and (m) one that takes long to rank; then raw values; then a constant and NULLs
INSERT INTO facts
SELECT i, i % 5, w, w, w, w, w, convert_to(w, 'UTF8'), left(w, 8), CASE WHEN i % 700 % 2 = 0 THEN upper(x) ELSE x END,
	i % 50 - 25 + 0.5, (i % 40) * interval '7 hours', ('10.0.0.' || i % 60)::inet, ARRAY[i % 3, i % 5]
FROM generate_series(1, 3000) i, left(md5((i % 700)::text), 6) x,
	LATERAL (SELECT (ARRAY['', 'a', 'A', 'ab', 'Ab', 'Zeta', 'zeta', 'ß', 'sz', 'Strasse', 'Straße', '日本', '日本語', 'naïve', 'naive', 'z z', ' z',
		NULL, '%', 'x' || repeat('long', 700)])[1 + i * 7 % 20] AS w) x2;
INSERT INTO facts
SELECT i, i % 7, w, w, w, w, w, convert_to(w, 'UTF8'), left(w, 8), md5(w), i * 1.5, i * interval '1 second', '10.0.0.0'::inet + i, ARRAY[i]
FROM generate_series(6001, 9000) i,
	LATERAL (SELECT CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'Ab' || i WHEN 2 THEN 'aB' || i WHEN 3 THEN i || '日本語' || i % 7
		WHEN 4 THEN 'naïve' || i WHEN 5 THEN 'zz' || left(md5(i::text), 6 + i % 5) WHEN 6 THEN repeat(md5(i::text), 1 + (i % 1001 = 8)::int * 200)
		ELSE 'sku-' || i END AS w) x;
INSERT INTO facts SELECT i, i % 3, 'same', 'same', 'same', 'same', 'same', 'same', 'same', 'same', NULL, NULL, NULL, NULL FROM generate_series(14001, 16000) i;
SELECT column_name, array_agg(DISTINCT regexp_replace(coding, ',.*', '')) AS codings FROM gpucol.columns('facts') WHERE column_name IN ('c', 'm') GROUP BY 1 ORDER BY 1;
INSERT INTO facts (id, g, d, c, u, e, n, b, p) SELECT 20000 + i, i % 9, w, w, w, w, w, convert_to(w, 'UTF8'), w
FROM generate_series(1, 40) i, LATERAL (SELECT (ARRAY['ZZZ', '', 'zzzz', 'Ä', NULL, 'same'])[1 + i % 6] AS w) x;
DELETE FROM facts WHERE id % 37 = 5 OR d = '日本語' OR id % 20 = 13;
ANALYZE facts;
CREATE TABLE none (LIKE facts) USING gpucol;

CREATE TABLE calls (call text, id serial);
INSERT INTO calls (call) SELECT format('%s(%s)', f, c)
FROM unnest('{min,max}'::text[]) f, unnest('{d,c,u,e,p,m,q,iv,ip,a}'::text[]) c;
INSERT INTO calls (call) SELECT format('lower(%s(n) COLLATE "C")', f) FROM unnest('{min,max}'::text[]) f;
INSERT INTO calls (call) VALUES ('min(d COLLATE "C")'), ('max(c COLLATE english)'), ('min(e COLLATE "C") || max(e)'), ('min(d) FILTER (WHERE id % 3 = 1)'),
	('max(e) FILTER (WHERE false)'), ('min(m) FILTER (WHERE g = 2), max(m) FILTER (WHERE g <> 2), min(m)'), ('max(DISTINCT e)'), ('min(d), max(c), min(u), max(e), min(m), max(p), count(DISTINCT d), sum(id)'),
	('min(upper(d)), min(d), max(left(e, 3)), max(e)');
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT g, ' || call || ', count(*) FROM facts GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT id % 1000, ' || call || ' FROM facts WHERE id > 100 GROUP BY 1') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT d, ' || call || ' FROM facts WHERE id < 9000 GROUP BY d') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT upper(left(d, 1)), ' || call || ' FROM facts GROUP BY 1') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id BETWEEN 6500 AND 6510') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id < 0') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT g, ' || call || ' FROM none GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;

-- the same by several threads
SET gpucol.cpu_threads = 3;
SELECT d FROM calls, differ('SELECT g, ' || call || ', count(*) FROM facts GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT id % 1000, ' || call || ', sum(id::float8) FROM facts GROUP BY 1') d WHERE d IS NOT NULL ORDER BY id;
RESET gpucol.cpu_threads;

-- whole queries
SELECT d FROM unnest(ARRAY[
	'SELECT g, min(d), max(e) FROM facts GROUP BY g HAVING min(c) < ''B''',
	'SELECT x, (SELECT max(e) FROM facts WHERE g = x) FROM generate_series(0, 9) x',
	'SELECT min(d), (SELECT max(m) FROM facts WHERE g > 2) FROM facts WHERE d > ''a''',
	'SELECT max(m) FROM facts WHERE d LIKE ''%a%'' AND e <> ''naive''',
	'SELECT DISTINCT max(e) FROM facts GROUP BY g',
	'SELECT g, max(e), rank() OVER (ORDER BY max(e)) FROM facts GROUP BY g'
]) q, differ(q) d WHERE d IS NOT NULL;

-- dictionaries in every segment, numbers that only delta rows have, more texts later on
CREATE TABLE words (id int, g int, c text COLLATE "C", e text COLLATE english, p char(8)) USING gpucol;
SET gpucol.segment_rows = 65536;
INSERT INTO words SELECT i, i % 7, w, w, left(w, 8) FROM generate_series(1, 70000) i,
	LATERAL (SELECT CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'Zeta' WHEN 2 THEN 'zeta ' || i % 90 WHEN 3 THEN 'ß' || i % 3
		ELSE (ARRAY['a', 'Å', '', 'b'])[1 + i % 4] || chr(97 + i % 23) || i / 2500 END AS w) x;
RESET gpucol.segment_rows;
DELETE FROM words WHERE id % 100 < 20;
ANALYZE words;
CREATE TABLE word_calls (call text, id serial);
INSERT INTO word_calls (call) VALUES ('min(c), max(c)'), ('min(e), max(e)'), ('min(p), max(p)'), ('max(c COLLATE english), max(c), max(e COLLATE "C")'),
	('min(e) FILTER (WHERE id % 3 = 1), min(e) FILTER (WHERE g = 2 AND id < 0), count(e)'), ('max(e), count(DISTINCT e), sum(id), avg(id::float8)');
SELECT d FROM word_calls, differ('SELECT ' || call || ' FROM words') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM word_calls, differ('SELECT g, ' || call || ', count(*) FROM words GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
INSERT INTO words SELECT i, i % 9, w, w, w FROM generate_series(1, 60) i, LATERAL (SELECT (ARRAY['ZZZ', '', 'zzzz', 'Ä', NULL, 'äz'])[1 + i % 6] AS w) x;
SELECT d FROM word_calls, differ('SELECT g, ' || call || ', count(*) FROM words GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM word_calls, differ('SELECT e, ' || call || ' FROM words WHERE id < 9000 GROUP BY e') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM word_calls, differ('SELECT ' || call || ' FROM words WHERE id < 0') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM word_calls, differ('SELECT g, ' || call || ' FROM words WHERE c LIKE ''%z%'' GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;

-- the engine needs no groups of values for it
SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT g, min(d), max(e), min(iv) FROM facts GROUP BY g;
EXPLAIN (COSTS OFF) SELECT g, min(d), max(upper(e)) FROM facts GROUP BY g;
DROP SCHEMA text_extreme CASCADE;
