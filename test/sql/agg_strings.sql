--
-- Strings of groups and of sets are numbered once for all threads; rows and values in runs.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_strings;
SET search_path = agg_strings, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- Strings of every length that differ in one byte only, wherever it is; empty ones, NULL, long and
-- multibyte ones; numbers in runs of all lengths, across vectors; deleted rows and delta rows.
SET gpucol.segment_rows = 8192;
CREATE TABLE near AS SELECT row_number() OVER () AS i, overlay(repeat('x', n) PLACING y FROM p FOR 1) AS t
FROM generate_series(1, 70) n, generate_series(1, n) p, unnest('{x,y,é}'::text[]) y WHERE p = 1 OR y <> 'x';
CREATE TABLE packed (id int, raw text, few text, c text COLLATE "C", v varchar(90), run int, wide int8, dec numeric(12,2), part int, f float8)
	USING gpucol;
INSERT INTO packed SELECT i, CASE i % 7 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN i || repeat(' long', 500 * (i % 1009 = 2)::int)
		ELSE t END, 'few ' || i % 9 % 5, CASE WHEN i % 3 > 0 THEN t END, CASE WHEN i % 4 = 0 THEN t ELSE 'v' || i % 3011 END,
	sqrt(i)::int, CASE WHEN i / 300 % 5 > 0 THEN 9223372036854775807 - i / 7 END, i / 900 / 4.0, i / 5 % 601, i / 3 / 8.0
FROM generate_series(1, 30000) i LEFT JOIN near USING (i);
UPDATE packed SET raw = t FROM near WHERE id - 9000 = i AND id % 7 > 2;
SELECT gpucol.merge('packed') >= 0 AS merged;
INSERT INTO packed SELECT id + 1, raw, few, c, v, run, wide, dec, part, f FROM packed WHERE id % 150 < 3;
DELETE FROM packed WHERE id % 1000 = 5 OR id BETWEEN 20000 AND 21500;
ANALYZE packed;
SELECT count(*) FILTER (WHERE coding ~ 'raw') > 0 AS raw, count(*) FILTER (WHERE coding ~ 'run') > 0 AS runs FROM gpucol.columns('packed');
CREATE TABLE queries AS SELECT unnest(ARRAY[
	'SELECT raw, count(*), sum(id) FROM packed GROUP BY raw',
	'SELECT raw, c, count(*) FROM packed GROUP BY raw, c',
	'SELECT raw, few, part, count(*), min(id), max(wide) FROM packed GROUP BY raw, few, part',
	'SELECT raw, count(DISTINCT part), count(DISTINCT c), count(DISTINCT f) FROM packed GROUP BY raw',
	'SELECT count(DISTINCT raw), count(DISTINCT c), count(DISTINCT v), count(DISTINCT few) FROM packed',
	'SELECT count(DISTINCT raw) FILTER (WHERE id % 3 = 0), count(DISTINCT part) FILTER (WHERE f > 100) FROM packed',
	'SELECT count(DISTINCT id), count(DISTINCT wide), count(DISTINCT f), count(DISTINCT part * 0), count(DISTINCT dec = 1) FROM packed',
	'SELECT part, count(DISTINCT raw), count(DISTINCT id), count(*) FROM packed GROUP BY part',
	'SELECT few, count(DISTINCT raw), count(DISTINCT v) FROM packed WHERE raw <> '''' GROUP BY few',
	'SELECT v, count(*), sum(dec), avg(run) FROM packed GROUP BY v',
	'SELECT v, sum(f) FROM packed GROUP BY v',
	'SELECT c, min(raw), max(v), count(*) FROM packed GROUP BY c',
	'SELECT wide, count(*), sum(run) FROM packed GROUP BY wide',
	'SELECT run, dec, count(*), sum(id) FROM packed GROUP BY run, dec',
	'SELECT f, count(*), count(raw) FROM packed GROUP BY f',
	'SELECT id, raw, count(*) FROM packed GROUP BY id, raw',
	'SELECT sum(run), min(run), max(run), count(run), sum(wide), min(wide), max(wide), count(wide), sum(dec), min(dec), max(dec) FROM packed',
	'SELECT sum(run), min(wide), max(dec), count(wide) FROM packed WHERE id % 3 = 1',
	'SELECT sum(run), max(wide), min(dec), count(wide) FROM packed WHERE id BETWEEN 700 AND 12345',
	'SELECT sum(run + 1), sum(run), sum(run + 2), sum(part - 3), sum(part), count(*) FROM packed',
	'SELECT raw, count(*) FROM packed GROUP BY raw ORDER BY 2 DESC, 1 LIMIT 10'
	]) q;
CREATE FUNCTION wrong(threads int[], memory text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	t int;
BEGIN
	PERFORM set_config('gpucol.memory_limit', memory, false);
	FOREACH t IN ARRAY threads LOOP
		PERFORM set_config('gpucol.cpu_threads', t::text, false);
		RETURN QUERY SELECT concat_ws(' ', t, memory, d) FROM queries, differ(q) d WHERE d IS NOT NULL;
	END LOOP;
END $$;
SELECT wrong('{1,2,5,16}', '1GB');
SELECT wrong('{1,2,16}', '8MB');

-- No rows, and nothing but NULL.
CREATE TABLE nothing (LIKE packed) USING gpucol;
CREATE TABLE nulls (LIKE packed) USING gpucol;
INSERT INTO nulls (id) SELECT i FROM generate_series(1, 9000) i;
SELECT d FROM queries, unnest('{nothing,nulls}'::text[]) name, differ(replace(q, 'packed', name)) d WHERE d IS NOT NULL;

-- Texts that differ by bytes only are equal where the collation says so.
CREATE COLLATION insensitive (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE TABLE equal (t text COLLATE insensitive, n int) USING gpucol;
INSERT INTO equal SELECT CASE i % 3 WHEN 0 THEN 'Word ' WHEN 1 THEN 'word ' ELSE 'WORD ' END || i / 6, i FROM generate_series(0, 8999) i;
SELECT count(*), sum(c), count(DISTINCT c) FROM (SELECT t, count(*) AS c FROM equal GROUP BY t) g;
SELECT count(DISTINCT t) FROM equal;
DROP SCHEMA agg_strings CASCADE;
