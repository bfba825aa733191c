--
-- Decimals that window functions read stay mantissas, and what is made of results is computed in batches.
--
SET client_min_messages = warning;
CREATE SCHEMA window_decimals;
SET search_path = window_decimals, public;

\set node 'GpucolWindow'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set plan :srcdir /include/plan.psql
\set ECHO none
\i :include
\i :plan
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE packed (id int, k int, t text COLLATE "C", d numeric(12,2), e numeric(18,4), w numeric(30,2), n numeric, f float8, ts timestamp) USING gpucol;
INSERT INTO packed SELECT i, i % 97, 'key ' || i % 13, CASE WHEN i % 11 > 0 THEN (i * 37 % 10000 - 5000) / 100.0 END, i * 13 / 7.0, i * 37 % 10000 * 1e20,
	i % 90 / 7.0, i * 13 % 1009 / 9.0, timestamp '2024-01-01' + i * 7919 % 5000 * interval '1 minute' FROM generate_series(1, 6000) i;
DELETE FROM packed WHERE id % 10 = 3;
INSERT INTO packed VALUES (9001, 1, 'x', 9999999999.99, 99999999999999.9999, 9999999999999999999999999999.99, 1e30, 1, '2024-06-01'),
	(9002, 1, 'x', -9999999999.99, -99999999999999.9999, -9999999999999999999999999999.99, 'NaN', 2, '2024-06-02'), (9003, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE odd (id int, k int, d numeric(8,2)) USING gpucol;
INSERT INTO odd SELECT i, i % 7, i / 8.0 FROM generate_series(1, 5000) i;
INSERT INTO odd VALUES (5001, 3, 'NaN'), (5002, 3, 1), (5003, 4, NULL);
ANALYZE packed, odd;

-- results and what is computed of them, as rows, as groups and below conditions
SELECT differ(q) FROM unnest(ARRAY['d', 'w', 'n', 'd + e']) v,
	LATERAL (VALUES ('d - lag(d) OVER x'), ('lag(%s, 1, %1$s) OVER x'), ('lag(%s, 2, 0) OVER x'), ('lead(%s, 1, 1.23456) OVER x'), ('lead(%s, 1, NULL) OVER x'), ('%s - lag(%1$s, 1, 7.50) OVER x'),
		('sum(%s) OVER x'), ('sum(%s) OVER (x ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) - e'), ('avg(%s) OVER x'), ('count(%s) OVER x'), ('min(%s) OVER x + max(%1$s) OVER x'),
		('first_value(%s) OVER x || t'), ('last_value(%s) OVER x'), ('nth_value(%s, 2) OVER x'), ('sum(%s) FILTER (WHERE id %% 2 = 0) OVER x'), ('abs(%s - avg(%1$s) OVER (PARTITION BY k))'),
		('round(%s / nullif(sum(%1$s) OVER x, 0), 3)'), ('CASE WHEN lag(%s) OVER x < %1$s THEN ''up'' ELSE t END')) f (expr),
	LATERAL (VALUES ('SELECT id, %s AS r, d, w FROM packed WINDOW x AS (PARTITION BY k ORDER BY id)'), ('SELECT k, count(r), min(r::text), max(r::text) FROM (SELECT k, %s AS r FROM packed WINDOW x AS (PARTITION BY k ORDER BY id)) q GROUP BY k'),
		('SELECT r, count(*) FROM (SELECT id, t, %s AS r FROM packed WINDOW x AS (PARTITION BY t ORDER BY id)) q WHERE r::text > ''3'' AND id > 100 GROUP BY r')) s (stmt),
	LATERAL (SELECT format(stmt, format(expr, v)) q) z
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY[
	'SELECT count(*), sum(abs(r)) FROM (SELECT d - lag(d, 1, d) OVER (PARTITION BY k ORDER BY id) r FROM packed) q WHERE r <> 0',
	'SELECT count(*), sum(g), max(g) FROM (SELECT extract(epoch from ts - lag(ts) OVER (PARTITION BY k ORDER BY ts, id)) g, t FROM packed) q WHERE t > ''key 3''',
	'SELECT k, min(b), max(b) FROM (SELECT k, sum(d) OVER (PARTITION BY k ORDER BY ts, id) b FROM packed) q GROUP BY k HAVING min(b) < 0',
	'SELECT id, k, sum(d) OVER (PARTITION BY k ORDER BY id), d FROM odd', 'SELECT id, lag(d) OVER (PARTITION BY k ORDER BY id) - d FROM odd', 'SELECT k, sum(x) FROM (SELECT k, d - lag(d) OVER (PARTITION BY k ORDER BY id) x FROM odd WHERE id < 5000) q GROUP BY k',
	-- errors are PostgreSQL''s
	'SELECT sum(r) FROM (SELECT 1 / (k - lag(k) OVER (ORDER BY id) - 1) r FROM packed) q', 'SELECT count(*) FROM (SELECT 1 / (d - lag(d) OVER (ORDER BY id)) r, id FROM packed) q WHERE r > 0',
	'SELECT sum(r) FROM (SELECT (sum(d) OVER (ORDER BY id))::numeric(4,2) r FROM packed) q',
	-- read again, by tuples, by PostgreSQL''s functions, in the order of a decimal
	'SELECT p.id, q.r FROM odd p, LATERAL (SELECT sum(x) r FROM (SELECT id + lag(d) OVER (ORDER BY id) x, k FROM odd WHERE id < p.id) z) q WHERE p.id < 5',
	'SELECT p.id, q.r, q.n FROM odd p, LATERAL (SELECT sum(x) r, count(*) n FROM (SELECT d * p.k - lag(d, 1, p.d) OVER (ORDER BY id) x, k FROM odd WHERE id < p.id + 300) z WHERE x > p.k) q WHERE p.id < 9',
	'SELECT p.id, (SELECT max(x) FROM (SELECT sum(d) OVER (ORDER BY id) + p.d x FROM odd WHERE id < p.id) z WHERE x < 500) FROM odd p WHERE p.id % 500 = 1',
	'SELECT id, sum(d) OVER (ORDER BY id), d FROM packed ORDER BY 2 DESC NULLS LAST, 1 LIMIT 7', 'SELECT id, d, string_agg(d::text, '','') OVER (PARTITION BY k ORDER BY id), lag(d) OVER (PARTITION BY k ORDER BY id) FROM packed WHERE id < 900',
	'SELECT id, stddev(d) OVER (PARTITION BY k ORDER BY id), sum(d) OVER (PARTITION BY k ORDER BY id) FROM packed WHERE id < 900', 'SELECT id, sum(d) OVER (ORDER BY d, id), lag(d) OVER (ORDER BY d, id) - d, sum(e) OVER (ORDER BY d RANGE 5 PRECEDING) FROM packed',
	'SELECT * FROM (SELECT id, k, d, e, row_number() OVER (PARTITION BY k ORDER BY id DESC) n FROM packed) q WHERE n <= 2', 'SELECT id, nth_value(d, k) OVER (PARTITION BY t ORDER BY id) FROM packed WHERE k > 0',
	'SELECT count(r), sum(length(r)) FROM (SELECT repeat(t, 5) || lag(d) OVER (ORDER BY id) r FROM packed) q', 'SELECT q.* FROM (SELECT id, d, sum(d) OVER (PARTITION BY k ORDER BY id) s FROM packed) q JOIN odd USING (id) WHERE s > odd.d']) q
WHERE differ(q) IS NOT NULL;
-- in parts
CREATE TABLE many (id int, k int, d numeric(12,2), e numeric(18,4)) USING gpucol;
INSERT INTO many SELECT i, i % 97, (i * 37 % 10000 - 5000) / 100.0, i * 13 / 7.0 FROM generate_series(1, 60000) i;
INSERT INTO many VALUES (60001, 5, NULL, 1), (60002, 5, 1, NULL), (60003, 6, 9999999999.99, -99999999999999.9999);
SET gpucol.memory_limit = '2MB';
SELECT differ(q) FROM unnest(ARRAY['SELECT id, d, e - lag(e) OVER (PARTITION BY k ORDER BY id), sum(d) OVER (PARTITION BY k ORDER BY id) FROM many', 'SELECT count(*), sum(r) FROM (SELECT k, d - lag(d, 1, 0.50) OVER (PARTITION BY k ORDER BY id) r FROM many) q WHERE r <> 0']) q
WHERE differ(q) IS NOT NULL;
SELECT count(*) FROM plan('SELECT count(*), sum(r) FROM (SELECT k, d - lag(d, 1, 0.50) OVER (PARTITION BY k ORDER BY id) r FROM many) q WHERE r <> 0', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Parts: |Computed In Batches';
RESET gpucol.memory_limit;

-- the way
SET gpucol.engine = cpu;
SELECT line FROM plan('SELECT count(*), sum(abs(r)) FROM (SELECT d - lag(d, 1, d) OVER (PARTITION BY k ORDER BY id) r, t FROM packed) q WHERE r <> 0', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Computed|Evaluated|Filter|Window|Delivered';
DROP SCHEMA window_decimals CASCADE;
