-- Aggregates over whole partitions are joins with groups; groups over other windows are the engine's.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE wj_h (id int NOT NULL, k int, k2 int NOT NULL, t text, x numeric(9,2), f float8, i int, d date, b bool);
CREATE TABLE wj (LIKE wj_h) USING gpucol;
INSERT INTO wj_h SELECT i, CASE WHEN i % 41 = 0 THEN NULL ELSE i * 7 % 97 END, i % 13, CASE WHEN i % 37 = 0 THEN NULL ELSE 't' || i % 23 END, CASE WHEN i % 11 = 0 THEN NULL ELSE i * 7919 % 10007 / 100.0 END,
	CASE i % 3001 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' ELSE i / 8.0 END, nullif(i % 19, 0) - 9, date '2020-01-01' + i % 700, i % 3 = 0 FROM generate_series(1, 16000) i;
INSERT INTO wj SELECT * FROM wj_h;
DELETE FROM wj WHERE id % 17 = 0;
DELETE FROM wj_h WHERE id % 17 = 0;
VACUUM ANALYZE wj, wj_h;
INSERT INTO wj_h SELECT 20000 + i, nullif(i % 50, 7), i % 15, 'late', i, -i, i, '2030-01-01', NULL FROM generate_series(1, 60) i;
INSERT INTO wj SELECT * FROM wj_h WHERE id > 20000;

EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT x, max(x) OVER (PARTITION BY k2) m FROM wj) s WHERE x = m;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT x, max(x) OVER (PARTITION BY k) m FROM wj WHERE id > 100) s WHERE x = m;
-- windows: an order, a frame, another function, sums of floats, many partitions
EXPLAIN (COSTS OFF) SELECT max(x) OVER (PARTITION BY k ORDER BY id) FROM wj;
EXPLAIN (COSTS OFF) SELECT max(x) OVER (PARTITION BY k ROWS CURRENT ROW), max(x) OVER (PARTITION BY k2) FROM wj;
EXPLAIN (COSTS OFF) SELECT max(x) OVER (PARTITION BY k), row_number() OVER (PARTITION BY k) FROM wj;
EXPLAIN (COSTS OFF) SELECT avg(f) OVER (PARTITION BY k) FROM wj;
EXPLAIN (COSTS OFF) SELECT count(*) OVER (PARTITION BY id) FROM wj;
-- groups over windows
EXPLAIN (COSTS OFF) SELECT count(*), max(l) FROM (SELECT k, g, count(*) l FROM (SELECT k, d - (row_number() OVER (PARTITION BY k ORDER BY d, id))::int g FROM wj) b GROUP BY k, g) c;

\set tables 'wj'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/suffixed.psql
\set ECHO none
\i :include
\set ECHO all
SELECT q AS query, pg_temp.same(q) FROM unnest(ARRAY[
	'SELECT id, max(x) OVER (PARTITION BY k), min(f) OVER (PARTITION BY k), count(*) OVER (PARTITION BY k) FROM wj',
	'SELECT id, sum(x) OVER (PARTITION BY k2), avg(i) OVER (PARTITION BY k2), count(x) OVER (PARTITION BY t), max(t) OVER (PARTITION BY t) FROM wj',
	'SELECT id, sum(i) FILTER (WHERE b) OVER (PARTITION BY k2), bool_and(b) OVER (PARTITION BY k), min(d) OVER () FROM wj WHERE id % 3 = 1',
	'SELECT id, x / sum(x) OVER (PARTITION BY k) FROM wj WHERE x > 10',
	'SELECT count(*) FROM (SELECT x, max(x) OVER (PARTITION BY k) m FROM wj) s WHERE x = m',
	'SELECT count(*) FROM (SELECT x, avg(x) OVER (PARTITION BY k) m FROM wj) s WHERE x > m',
	'SELECT * FROM (SELECT id, k, count(*) OVER (PARTITION BY k) c FROM wj) s WHERE k = 5 OR k IS NULL',
	'SELECT DISTINCT k2, max(x) OVER (PARTITION BY k2) FROM wj',
	'SELECT k2, id, max(x) OVER (PARTITION BY k2) m FROM wj ORDER BY m DESC, id LIMIT 50',
	'SELECT id, max(x) OVER (PARTITION BY k2) FROM wj ORDER BY id LIMIT 5 OFFSET 20',
	'SELECT a.id, (SELECT max(c) FROM (SELECT count(*) OVER (PARTITION BY k2) c FROM wj WHERE k = a.k) s) FROM wj a WHERE a.id < 30',
	'SELECT id, sum(x) OVER (PARTITION BY k2, t) FROM wj', 'SELECT id, count(*) OVER (PARTITION BY k2, b) FROM wj WHERE b IS NOT NULL',
	'SELECT id, max(x) OVER w, sum(i) OVER w, min(x) OVER v FROM wj WINDOW w AS (PARTITION BY k), v AS (PARTITION BY t)',
	'SELECT id, sum(1 / i) OVER (PARTITION BY k2) FROM wj', 'SELECT id, sum(1 / (i - 3)) OVER (PARTITION BY k2) FROM wj',
	'SELECT * FROM (SELECT k, sum(1 / nullif(i, 3)) OVER (PARTITION BY k) + sum(1 / (id - 1000)) OVER (PARTITION BY k) FROM wj) s WHERE k BETWEEN 1 AND 12',
	'WITH w AS (SELECT k, x, max(x) OVER (PARTITION BY k) m FROM wj) SELECT a.k, count(*) FROM w a JOIN w b ON a.k = b.k AND a.x = b.m GROUP BY 1',
	'SELECT max(x) OVER (PARTITION BY k) FROM wj WHERE false', 'SELECT id, max(row(x)::text) OVER (PARTITION BY k2) FROM wj',
	'SELECT id, max(x) OVER (PARTITION BY k2) FROM wj WHERE k2 IN (SELECT k FROM wj WHERE id < 9)',
	'SELECT id, avg(f) OVER (PARTITION BY k2) FROM wj WHERE id < 2500', 'SELECT id, max(x) OVER (PARTITION BY k ORDER BY id) FROM wj',
	'SELECT count(*), max(l) FROM (SELECT k, g, count(*) l FROM (SELECT k, d - (row_number() OVER (PARTITION BY k ORDER BY d, id))::int g FROM wj) b GROUP BY k, g) c',
	'SELECT count(*), avg(c) FROM (SELECT k2, s, count(*) c FROM (SELECT k2, sum(brk) OVER (PARTITION BY k2 ORDER BY d, id) s FROM (SELECT k2, d, id, CASE WHEN d - lag(d) OVER (PARTITION BY k2 ORDER BY d, id) > 0 THEN 1 ELSE 0 END brk FROM wj) a) b GROUP BY 1, 2) c']) q;

-- rows that a policy hides are in no group
CREATE ROLE wj_reader;
ALTER TABLE wj ENABLE ROW LEVEL SECURITY;
CREATE POLICY wj_part ON wj USING (id % 2 = 0);
GRANT SELECT ON wj TO wj_reader;
SET ROLE wj_reader;
SELECT count(*), sum(c), max(m) FROM (SELECT count(*) OVER (PARTITION BY k) c, max(id) OVER (PARTITION BY k2) m FROM wj) s;
RESET ROLE;
SELECT count(*), sum(c), max(m) FROM (SELECT count(*) OVER (PARTITION BY k) c, max(id) OVER (PARTITION BY k2) m FROM wj_h WHERE id % 2 = 0) s;
DROP TABLE wj, wj_h;
DROP ROLE wj_reader;
