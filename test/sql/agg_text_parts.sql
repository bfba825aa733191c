-- Lengths and parts of texts as keys and arguments of aggregates, in the CPU engine.
SET client_min_messages = warning;
CREATE SCHEMA agg_text_parts;
SET search_path = agg_text_parts, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE pages (id int, d text, r varchar, m text, b bytea, n text COLLATE ignore_case) USING gpucol;
INSERT INTO pages SELECT i, w, w || i, 'k' || i % 900, convert_to(w, 'UTF8'), w FROM generate_series(1, 4000) i,
	LATERAL (SELECT (ARRAY['', 'a', 'Aa', 'ab', 'ßtraße', '日本語テ', NULL, '😀x' || repeat('long', 300), E'e\u0301te'])[1 + i * 7 % 9] AS w) x;
INSERT INTO pages SELECT i, w, w, 'm' || i, convert_to(w, 'UTF8'), w FROM generate_series(4001, 7000) i,
	LATERAL (SELECT CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'ab' ELSE 'http://wö' || i / 2 || '/日' END AS w) x;
INSERT INTO pages SELECT i, 'same', 'same', NULL, NULL, 'Same' FROM generate_series(7001, 9000) i;
INSERT INTO pages VALUES (20001, 'ab', 'äb', 'k1', 'ab', 'AB'), (20002, NULL, NULL, NULL, NULL, NULL), (20003, '', '', 'new', '', '');
DELETE FROM pages WHERE id % 37 = 5 OR m = 'k7';
ANALYZE pages;

-- the engine groups by parts, and sums lengths: nothing is evaluated for groups of a column
EXPLAIN (COSTS OFF) SELECT substr(r, 1, 5), avg(length(d)), count(DISTINCT left(m, 2)) FROM pages GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT sum(length(d)), max(octet_length(b)) FILTER (WHERE length(d) > length(m)) FROM pages;
-- numbers that are no constants, or of which PostgreSQL may raise an error, and equality that is not that of bytes, stay the host's
EXPLAIN (COSTS OFF) SELECT substr(d, id % 3), count(*) FROM pages GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT substr(d, 2, -1), count(*) FROM pages GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT left(n, 2), count(*) FROM pages GROUP BY 1;

SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{d,r,m}'::text[]) col, unnest(ARRAY['substr(%s, 1, 3)', 'substr(%s, 0, 3)', 'substr(%s, -5, 9)', 'substr(%s, 4)',
	'substring(%s, -2147483648, 2147483647)', 'substring(%s from 3 for 0)', 'substr(%s, 2147483647)', 'left(%s, 2)', 'left(%s, -2)', 'left(%s, 0)', 'left(%s, -2147483648)', 'right(%s, 3)',
	'right(%s, -3)', 'right(%s, 2147483647)', 'left(right(%s, 4), -1)', 'length(%s)', 'char_length(%s)', 'octet_length(%s)', 'length(left(%s, 3))']) f,
	differ(format('SELECT %1$s, count(*), count(%1$s), count(DISTINCT %1$s), sum(id), avg(length(%2$s)) FROM pages GROUP BY 1', format(f, col), col)) d
WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['substr(b, 2, 3)', 'substring(b, 0, 4)', 'substr(b, 3)', 'length(b)', 'octet_length(b)']) f,
	differ(format('SELECT %1$s, count(*), count(DISTINCT %1$s), min(id) FROM pages GROUP BY 1', f)) d
WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY[
	'SELECT sum(length(d)), min(length(r)), max(octet_length(b)), avg(length(d) * id), count(DISTINCT length(r)) FROM pages WHERE id > 20',
	'SELECT CASE WHEN length(d) > 3 THEN length(r) ELSE -1 END, count(*) FROM pages WHERE length(d) <> length(m) OR m IS NULL GROUP BY 1',
	'SELECT left(d, 1), right(d, 1), count(*) FILTER (WHERE length(d) > length(m)) FROM pages GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 4',
	'SELECT min(left(d, 2)), max(substr(r, 2, 2)), count(DISTINCT left(n, 1)) FROM pages',
	'SELECT left(p.d, 3), length(q.r), count(*) FROM pages p LEFT JOIN pages q ON p.id = q.id + 3000 GROUP BY 1, 2',
	'SELECT upper(left(d, 2)), sum(length(r)) FROM pages GROUP BY 1',
	'SELECT left(d, 2), GROUPING(left(d, 2)), count(*) FROM pages GROUP BY CUBE (1, length(m))',
	'SELECT lower(left(n, 2)), count(*), sum(length(n)), count(DISTINCT left(n, 1)) FROM pages GROUP BY 1',
	'SELECT DISTINCT left(d, 3), length(d) FROM pages'
]) q, differ(q) d WHERE d IS NOT NULL;
DROP SCHEMA agg_text_parts CASCADE;
