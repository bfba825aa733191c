-- INTERSECT and EXCEPT of rows that are nearly all different are joins; rows with NULLs are groups.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE sj_h (id int NOT NULL, k int, t text, f float8, n numeric(9,2), d date, few int);
CREATE TABLE sj2_h (id int, k int, t text, f float8, n numeric(9,2), d date, few int NOT NULL);
CREATE TABLE sj (LIKE sj_h) USING gpucol;
CREATE TABLE sj2 (LIKE sj2_h) USING gpucol;
INSERT INTO sj_h SELECT i, CASE WHEN i % 31 = 0 THEN NULL ELSE i * 7 % 20011 END, CASE WHEN i % 37 = 0 THEN NULL ELSE 't' || i % 9973 END,
	CASE i % 4001 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 'Infinity' WHEN 3 THEN NULL ELSE i / 4.0 END, i % 17001 / 100.0, date '2020-01-01' + i % 7, i % 5 FROM generate_series(1, 20000) i;
INSERT INTO sj2_h SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE i * 3 END, CASE WHEN i % 29 = 0 THEN NULL ELSE i * 21 % 20011 END, CASE WHEN i % 41 = 0 THEN NULL ELSE 't' || i * 3 % 9973 END,
	CASE i % 2999 WHEN 0 THEN 'NaN' WHEN 1 THEN 0 WHEN 2 THEN '-Infinity' WHEN 3 THEN NULL ELSE i / 2.0 END, i * 3 % 17001 / 100.0, date '2020-01-01' + i % 5, i % 3 FROM generate_series(1, 9000) i;
INSERT INTO sj SELECT * FROM sj_h;
INSERT INTO sj2 SELECT * FROM sj2_h;
DELETE FROM sj WHERE id % 19 = 0;
DELETE FROM sj_h WHERE id % 19 = 0;
DELETE FROM sj2 WHERE k % 23 = 0;
DELETE FROM sj2_h WHERE k % 23 = 0;
VACUUM ANALYZE sj, sj_h, sj2, sj2_h;
INSERT INTO sj_h SELECT 30000 + i, NULL, 'late ' || i % 60, i, i, NULL, 1 FROM generate_series(1, 100) i;
INSERT INTO sj2_h SELECT 30000 + i, nullif(i % 2, 0), 'late ' || i, i, i, NULL, 1 FROM generate_series(1, 100) i;
INSERT INTO sj SELECT * FROM sj_h WHERE id > 30000;
INSERT INTO sj2 SELECT * FROM sj2_h WHERE id > 30000;

EXPLAIN (COSTS OFF) SELECT k, t FROM sj INTERSECT SELECT k, t FROM sj2;
EXPLAIN (COSTS OFF) SELECT id FROM sj WHERE k > 5 EXCEPT SELECT id FROM sj2;
-- groups: few rows; an expression; what may raise an error
EXPLAIN (COSTS OFF) SELECT few, d FROM sj EXCEPT SELECT few, d FROM sj2;
EXPLAIN (COSTS OFF) SELECT k + 1 FROM sj INTERSECT SELECT k FROM sj2;
EXPLAIN (COSTS OFF) SELECT k FROM sj INTERSECT SELECT k FROM sj2 WHERE 10 / (few + 1) > 2;

\set tables 'sj2?'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/suffixed.psql
\set ECHO none
\i :include
\set ECHO all
SELECT c AS columns, pg_temp.same(format('SELECT %1$s FROM sj INTERSECT SELECT %1$s FROM sj2', c)) AS intersect, pg_temp.same(format('SELECT %1$s FROM sj EXCEPT SELECT %1$s FROM sj2', c)) AS except,
	pg_temp.same(format('SELECT %1$s FROM sj2 EXCEPT SELECT %1$s FROM sj', c)) AS reverse, pg_temp.same(format('SELECT %1$s FROM sj WHERE k > 100 INTERSECT SELECT %1$s FROM sj2 WHERE k < 15000', c)) AS conditions
	FROM unnest(ARRAY['id', 'k', 't', 'f', 'n', 'k, t', 't, k, few', 'id, k', 'f, few', 'n, d', 'id, k, t, f, n, d, few', 'k, k']) c;
SELECT pg_temp.same('SELECT k FROM sj INTERSECT SELECT k FROM sj'), pg_temp.same('SELECT k, t FROM sj EXCEPT SELECT k, t FROM sj'),
	pg_temp.same('SELECT k FROM sj EXCEPT SELECT k FROM sj2 WHERE false'), pg_temp.same('SELECT k FROM sj WHERE false INTERSECT SELECT k FROM sj2'),
	pg_temp.same('SELECT k FROM sj EXCEPT SELECT k FROM sj2 EXCEPT SELECT id FROM sj WHERE id < 3000'), pg_temp.same('SELECT k FROM sj EXCEPT (SELECT k FROM sj2 INTERSECT SELECT id FROM sj)'),
	pg_temp.same('SELECT k FROM sj INTERSECT ALL SELECT k FROM sj2'), pg_temp.same('SELECT k::bigint FROM sj INTERSECT SELECT id FROM sj2'),
	pg_temp.same('SELECT count(*) FROM sj a WHERE id < 4 AND k IN (SELECT k FROM sj INTERSECT SELECT k FROM sj2 WHERE sj2.few = a.few)'),
	pg_temp.same('SELECT k, count(*) FROM (SELECT k, t FROM sj EXCEPT SELECT k, t FROM sj2) s GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5'),
	pg_temp.same('WITH w AS (SELECT t FROM sj INTERSECT SELECT t FROM sj2) SELECT count(*) FROM w a JOIN w b USING (t)');
DROP TABLE sj, sj2, sj_h, sj2_h;
