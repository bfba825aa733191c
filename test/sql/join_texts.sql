-- Texts of a table through the tables that joins look up: a table holds texts that it has looked up
-- in another, and puts them out, groups by them, tests them and joins by them; numbers of equal texts from
-- several segments and from rows that are not packed; left and full joins with conditions over
-- keys that repeat.  Each answer is that of heap twins.
CREATE SCHEMA join_texts;
SET search_path = join_texts, public;
SET max_parallel_workers_per_gather = 0;
SET join_collapse_limit = 1;	-- joins in the order in which they are written
SET gpucol.segment_rows = 2048;
CREATE TABLE h_names AS SELECT i AS g, CASE WHEN i % 10 > 0 THEN 'name ' || i % 23 END AS name, 'kind ' || i % 3 AS kind FROM generate_series(1, 300) i;
CREATE TABLE h_mid AS SELECT i AS k, CASE WHEN i % 50 > 0 THEN i % 330 END AS g, i % 7 AS v, 'mid ' || i % 11 AS label FROM generate_series(1, 2500) i;
CREATE TABLE h_fact AS SELECT i AS id, CASE WHEN i % 31 > 0 THEN i * 7919 % 2900 END AS k, i % 13 AS w, 'name ' || i % 40 AS t
	FROM generate_series(1, 5000) i;
CREATE TABLE names USING gpucol AS TABLE h_names;
CREATE TABLE mid USING gpucol AS TABLE h_mid;
CREATE TABLE fact USING gpucol AS TABLE h_fact;
DELETE FROM mid WHERE k % 101 = 0;
DELETE FROM h_mid WHERE k % 101 = 0;
INSERT INTO names SELECT 300 + i, 'late ' || i % 2, NULL FROM generate_series(1, 20) i;
INSERT INTO h_names SELECT 300 + i, 'late ' || i % 2, NULL FROM generate_series(1, 20) i;
INSERT INTO mid SELECT 2500 + i, i, 1, 'late mid' FROM generate_series(1, 300) i;
INSERT INTO h_mid SELECT 2500 + i, i, 1, 'late mid' FROM generate_series(1, 300) i;
CREATE TABLE h_none (g int, name text, kind text);
CREATE TABLE none (LIKE h_none) USING gpucol;
CREATE TABLE h_one AS SELECT 1 AS g, ''::text AS name, 'kind 1' AS kind;
CREATE TABLE one USING gpucol AS TABLE h_one;
ANALYZE;

\set tables 'fact|mid|names|none|one'
\set sign 'Join: m: '
\set said 'a table of a table'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\i :include
SET gpucol.pushdown = require;
-- a table's texts looked up before: as rows, as groups, counted, tested, compared and joined by
SELECT compare('SELECT f.id, n.name, m.label FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k WHERE m.v = 3');
SELECT compare('SELECT n.name, n.kind, m.label, count(*), sum(f.id) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k GROUP BY 1, 2, 3');
SELECT compare('SELECT count(DISTINCT n.name), count(n.name), count(*) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k');
SELECT compare('SELECT n.name, count(*) FROM fact f LEFT JOIN (mid m JOIN names n ON m.g = n.g AND n.kind <> ''kind 1'') ON f.k = m.k GROUP BY 1');
SELECT compare('SELECT n.name, m.label, count(*), count(f.id) FROM fact f FULL JOIN (mid m LEFT JOIN names n ON m.g = n.g) ON f.k = m.k GROUP BY 1, 2');
SELECT compare('SELECT count(*), sum(f.id) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k AND n.name <> ''name 7'' WHERE n.name LIKE ''name%1'' OR f.w = 3');
SELECT compare('SELECT n.name, o.kind, count(*) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g JOIN names o ON o.g = m.v) ON f.k = m.k GROUP BY 1, 2');
SELECT compare('SELECT min(n.name), max(m.label), count(*) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k GROUP BY f.w');
SELECT compare('SELECT n.name, a.label, count(*) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k JOIN mid a ON a.k = f.id GROUP BY 1, 2');
SELECT compare('SELECT n.name, count(*) FROM fact f JOIN (mid m JOIN names n ON m.g = n.g) ON f.k = m.k JOIN names b ON b.name = n.name WHERE f.w = 2 GROUP BY 1');
-- tables that are empty, and of one row
SELECT compare('SELECT n.name, count(*) FROM fact f LEFT JOIN (mid m LEFT JOIN none n ON m.g = n.g) ON f.k = m.k GROUP BY 1');
SELECT compare('SELECT n.name, n.kind, count(*) FROM fact f LEFT JOIN (mid m JOIN one n ON m.g = n.g) ON f.k = m.k GROUP BY 1, 2');
SELECT compare('SELECT f.id, n.name FROM fact f JOIN (mid m JOIN one n ON m.g = n.g) ON f.k = m.k');
-- left and full joins with a condition beside keys that repeat: rows whose pairs all fail it have none
\set sign '(left|right|full) '
\set said 'an outer join'
DROP FUNCTION compare;
\i :include
SELECT compare('SELECT f.id, m.k, m.label FROM fact f LEFT JOIN mid m ON f.w = m.v AND m.k % 1000 < f.id % 9 - 2 WHERE f.id < 4000');
SELECT compare('SELECT f.w, count(*), count(m.k), sum(m.k), count(DISTINCT m.label) FROM fact f LEFT JOIN mid m ON f.w = m.v AND m.k > f.id * 2 GROUP BY 1');
SELECT compare('SELECT count(*), count(f.id), count(m.k), sum(f.id), sum(m.k) FROM fact f FULL JOIN mid m ON f.w = m.v AND m.k % 977 = f.id % 1009');
SELECT compare('SELECT f.t, m.label, count(*) FROM fact f FULL JOIN mid m ON f.w = m.v AND m.label < f.t AND m.k < 200 AND f.id > 4900 GROUP BY 1, 2');
SELECT compare('SELECT f.w, count(*), count(n.name) FROM fact f LEFT JOIN names n ON f.t = n.name AND n.g > f.w * 20 GROUP BY 1');
SELECT compare('SELECT count(*), count(m.k), count(n.g) FROM fact f LEFT JOIN mid m ON f.w = m.v AND m.k > f.id * 3 LEFT JOIN names n ON n.g = m.g AND n.g > f.w');
SELECT compare('SELECT count(*), count(n.g) FROM fact f LEFT JOIN none n ON f.w = n.g AND n.g > f.id');
DROP SCHEMA join_texts CASCADE;
