-- Conditions on nothing but the columns that a correlated subquery is asked for are its own, too.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE sk_h (id int, k int, t text, f float8, n numeric, x int);
CREATE TABLE sk (LIKE sk_h) USING gpucol;
INSERT INTO sk_h SELECT i, CASE WHEN i % 17 = 0 THEN NULL ELSE i % 101 END, 't' || i % 53, i % 31 - 15, i % 29, i * 7919 % 1009 FROM generate_series(1, 1200) i;
INSERT INTO sk SELECT * FROM sk_h;
DELETE FROM sk WHERE id % 13 = 0;
DELETE FROM sk_h WHERE id % 13 = 0;
VACUUM ANALYZE sk, sk_h;
INSERT INTO sk_h SELECT 5000 + i, i % 7, 't' || i, -0.0, 1.00, i FROM generate_series(1, 40) i;
INSERT INTO sk SELECT * FROM sk_h WHERE id > 5000;
EXPLAIN (COSTS OFF) SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.k = a.k) AND k < 5;
-- equal values that may differ; other columns; what may raise an error; another query's column
EXPLAIN (COSTS OFF) SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.f = a.f) AND f::text = '0';
EXPLAIN (COSTS OFF) SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.k = a.k) AND k < id;
EXPLAIN (COSTS OFF) SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.k = a.k) AND 10 / (k + 1) > 2;

\set tables 'sk'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/suffixed.psql
\set ECHO none
\i :include
\set ECHO all
SELECT c AS condition, pg_temp.same('SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.k = a.k) AND ' || c) AS scalar,
	pg_temp.same('SELECT id, (SELECT count(*) FROM sk b WHERE b.k = a.k AND b.x > 500) FROM sk a WHERE ' || c) AS count,
	pg_temp.same('SELECT id FROM sk a WHERE x > (SELECT avg(x) FROM sk b WHERE a.k = b.k AND b.t = a.t) AND ' || c) AS keys,
	pg_temp.same('SELECT a.id, c.id FROM sk a LEFT JOIN sk c ON c.id = a.id + 1 WHERE a.x > (SELECT min(x) FROM sk b WHERE b.k = c.k) AND ' || replace(c, 'k ', 'c.k ')) AS padded
	FROM unnest(ARRAY['k < 5', 'k IS NULL', 'k IS NOT NULL', 'k BETWEEN 90 AND 200', 'k IN (3, 4, 1000)', 'k = 7 OR k IS NULL', 'k <> 6', 'k > 1000', 'NOT k = 3', 'k = 8']) c;
SELECT pg_temp.same('SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.f = a.f) AND f::text = ''0'''), pg_temp.same('SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.n = a.n) AND n::text = ''1'''),
	pg_temp.same('SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.t = a.t) AND t LIKE ''t1%'''), pg_temp.same('SELECT id FROM sk a WHERE x = (SELECT max(x) FROM sk b WHERE b.k = a.n) AND n < 9'),
	pg_temp.same('SELECT id FROM sk a WHERE k < 50 AND EXISTS (SELECT FROM sk b WHERE b.k = a.k AND b.x > 1000) OR id < 5'), pg_temp.same('SELECT max(x), (SELECT sum(x) FROM sk b WHERE b.k = a.k) FROM sk a WHERE k < 9 GROUP BY k');
DROP TABLE sk, sk_h;
