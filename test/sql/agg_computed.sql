-- Keys that are computed of columns which are keys themselves do not make groups.
SET client_min_messages = warning;
CREATE SCHEMA agg_computed;
SET search_path = agg_computed, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE seen (id int, k int, d date, t text, n numeric(8,2), u numeric, f float8, i text COLLATE ignore_case) USING gpucol;
INSERT INTO seen SELECT i, CASE WHEN i % 41 > 0 THEN i % 300 END, date '2024-01-01' + i % 60, CASE WHEN i % 31 > 0 THEN 'Text ' || i % 90 END, i % 50 / 4.0,
	CASE i % 2 WHEN 0 THEN 1.0 ELSE 1.00 END, CASE i % 2 WHEN 0 THEN 0 ELSE '-0'::float8 END, CASE i % 2 WHEN 0 THEN 'a' ELSE 'A' END FROM generate_series(1, 5000) i;
INSERT INTO seen VALUES (6001, 1, '2024-02-01', 'Text 1', 3, 1.000, 0, 'a');
ANALYZE seen;
EXPLAIN (COSTS OFF) SELECT k, k - 1, k * 2 + extract(day FROM d)::int, d, count(*) FROM seen GROUP BY 1, 2, 3, 4;
EXPLAIN (COSTS OFF) SELECT t, lower(t), count(*) FROM seen GROUP BY 1, 2;
-- not where equal values differ in what is computed of them
EXPLAIN (COSTS OFF) SELECT f, f::text, count(*) FROM seen GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT i, ascii(i), count(*) FROM seen GROUP BY 1, 2;

SELECT d FROM unnest(ARRAY[
	'SELECT k, k - 1, k - 2, count(*), sum(id) FROM seen GROUP BY 1, 2, 3',
	'SELECT k - 1, count(*) FROM seen GROUP BY k - 1, k ORDER BY 2 DESC, 1 LIMIT 7',
	'SELECT k, d, k * 2, d + 1, to_char(d, ''YYYY-MM''), count(*) FROM seen GROUP BY 1, 2, 3, 4, 5',
	'SELECT lower(t), t, length(t), count(*) FROM seen GROUP BY 1, 2, 3 HAVING lower(t) > ''text 3'' ORDER BY 4 DESC, 1 LIMIT 5',
	'SELECT coalesce(t, ''none'') || k, max(id) FROM seen GROUP BY t, k, coalesce(t, ''none'') || k',
	'SELECT DISTINCT k, k + 1, t, upper(t) FROM seen',
	'SELECT n, n + 1, count(*) FROM seen GROUP BY 1, 2',
	'SELECT count(*) FROM (SELECT u, u::text, count(*) FROM seen GROUP BY 1, 2) x',
	'SELECT sum(c) FROM (SELECT i, ascii(i), count(*) AS c FROM seen GROUP BY 1, 2) x',
	'SELECT k, k + 1, GROUPING(k), count(*) FROM seen GROUP BY ROLLUP (1, 2)',
	'SELECT s.k, s.k + r.id, r.id, count(*) FROM seen s JOIN seen r ON s.id = r.id + 4000 GROUP BY 1, 2, 3',
	'SELECT k, k / (k - 5), count(*) FROM seen WHERE k <> 5 GROUP BY 1, 2',
	'SELECT k, k / (k - 5), count(*) FROM seen GROUP BY 1, 2',
	'SELECT k, abs(k), row_number() OVER (ORDER BY abs(k), count(*)) FROM seen GROUP BY 1, 2'
]) q, differ(q) d WHERE d IS NOT NULL;
-- names that are equal though their bytes are not
SELECT d FROM unnest(ARRAY[
	'SELECT count(DISTINCT (CASE WHEN id % 2 = 0 THEN upper(t) ELSE t END)::name COLLATE ignore_case) FROM seen',
	'SELECT k, count(DISTINCT (CASE WHEN id % 2 = 0 THEN upper(t) ELSE t END)::name COLLATE ignore_case) FROM seen GROUP BY 1'
]) q, differ(q) d WHERE d IS NOT NULL;
DROP SCHEMA agg_computed CASCADE;
