-- GROUP BY and count(DISTINCT) of text in the CPU engine: dictionaries, raw values, delta rows.
SET client_min_messages = warning;
CREATE SCHEMA text_groups;
SET search_path = text_groups, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION english (provider = icu, locale = 'en');
CREATE TABLE words (id int, d text, e varchar COLLATE english, m text, b bytea) USING gpucol;
INSERT INTO words SELECT i, w, w, 'k' || i % 900, convert_to(w, 'UTF8') FROM generate_series(1, 5000) i,
	LATERAL (SELECT (ARRAY['', 'a', 'A', 'ab', 'ß', '日本', NULL, 'x' || repeat('long', 700)])[1 + i * 7 % 8] AS w) x;
INSERT INTO words SELECT i, w, w, 'm' || i, convert_to(w, 'UTF8') FROM generate_series(5001, 9000) i,
	LATERAL (SELECT CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'ab' ELSE 'w' || i / 2 END AS w) x;
INSERT INTO words SELECT i, 'same', 'same', NULL, NULL FROM generate_series(9001, 11000) i;
INSERT INTO words VALUES (20001, 'ab', 'ab', 'k1', 'ab'), (20002, NULL, NULL, NULL, NULL), (20003, '', '', 'new', '');
DELETE FROM words WHERE id % 37 = 5 OR m = 'k7';
ANALYZE words;
CREATE TABLE many (k text) USING gpucol;
INSERT INTO many SELECT 'key ' || i % 150000 FROM generate_series(1, 200000) i;
ANALYZE many;

SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{d,e,m,b}'::text[]) col, unnest(ARRAY[
	'SELECT %1$s, count(*), sum(id), min(id) FROM words GROUP BY 1',
	'SELECT %1$s, id %% 3, count(DISTINCT d), count(*) FROM words WHERE id > 100 GROUP BY 1, 2',
	'SELECT count(DISTINCT %1$s), count(DISTINCT %1$s) FILTER (WHERE id %% 3 = 0), count(DISTINCT m), count(DISTINCT id %% 9) FROM words',
	'SELECT id %% 7, count(DISTINCT %1$s), count(DISTINCT %1$s) FILTER (WHERE id > 4000) FROM words GROUP BY 1',
	'SELECT id %% 3000, count(DISTINCT %1$s), count(DISTINCT m) FROM words GROUP BY 1',
	'SELECT m, count(DISTINCT %1$s), max(id) FROM words WHERE id < 9500 GROUP BY 1',
	'SELECT DISTINCT %1$s, d FROM words'
]) q, differ(format(q, col)) d WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY[
	'SELECT count(DISTINCT k) FROM many',
	'SELECT count(*), sum(n), max(n), min(k), max(k) FROM (SELECT k, count(*) AS n FROM many GROUP BY 1) q'
]) q, differ(q) d WHERE d IS NOT NULL;
DROP SCHEMA text_groups CASCADE;
