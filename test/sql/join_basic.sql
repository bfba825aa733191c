-- Joins by an engine: every kind, keys of every class, duplicates, NULLs, residual
-- conditions, deleted and delta rows; the answers are those of heap twins.
CREATE SCHEMA join_basic;
SET search_path = join_basic, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_fact AS
	SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 97 END AS k, i % 13 AS s, (i % 29)::int8 AS b,
		(i % 17)::numeric(6,2) / 4 AS d, (i % 19) / 4.0::float8 AS f, 'name ' || i % 23 AS t,
		date '2020-01-01' + i % 31 AS day, i % 5 AS v, i % 2 = 0 AS even
	FROM generate_series(1, 5000) i;
ALTER TABLE h_fact ALTER d TYPE numeric(6,2);
CREATE TABLE h_dim AS
	SELECT i AS id, CASE WHEN i % 7 > 0 THEN i % 60 END AS k, (i % 9)::int2 AS s, i % 31 AS b,
		(i % 15)::numeric(8,4) / 8 AS d, CASE WHEN i % 5 = 0 THEN 'NaN' ELSE (i % 19) / 4.0 END::float8 AS f,
		'name ' || i % 40 AS t, date '2020-01-10' + i % 31 AS day, i % 3 AS w, i % 3 = 0 AS even
	FROM generate_series(1, 150) i;
ALTER TABLE h_dim ALTER d TYPE numeric(8,4);
CREATE TABLE h_none (k int, w int);
CREATE TABLE fact USING gpucol AS SELECT * FROM h_fact;
CREATE TABLE dim USING gpucol AS SELECT * FROM h_dim;
CREATE TABLE none (k int, w int) USING gpucol;
SELECT gpucol.merge('dim') IS NOT NULL AS merged;
DELETE FROM fact WHERE id % 101 = 0;
DELETE FROM h_fact WHERE id % 101 = 0;
INSERT INTO fact SELECT id + 10000, k, s, b, d, f, t, day, v, even FROM fact WHERE id % 83 = 0;
INSERT INTO h_fact SELECT id + 10000, k, s, b, d, f, t, day, v, even FROM h_fact WHERE id % 83 = 0;
ANALYZE fact, dim, none, h_fact, h_dim, h_none;

\set tables 'fact|dim|none'
\set sign '^ *Join: '
\set said 'joined by an engine'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT d.w, count(*), sum(f.v) FROM fact f JOIN dim d ON f.k = d.k GROUP BY d.w;
EXPLAIN (COSTS OFF) SELECT f.id, d.w FROM fact f LEFT JOIN dim d ON f.k = d.k AND f.v > d.w WHERE f.id < 100;
EXPLAIN (COSTS OFF) SELECT f.v, d.t FROM fact f JOIN (SELECT k, max(t) AS t FROM dim GROUP BY k) d USING (k);

-- keys
SELECT col, compare(format('SELECT f.id, d.id AS other FROM fact f JOIN dim d ON f.%1$s = d.%1$s WHERE f.id < 900', col))
	FROM unnest(ARRAY['k', 's', 'b', 'd', 'f', 't', 'day', 'even']) col;
SELECT compare('SELECT f.id, d.id AS other FROM fact f JOIN dim d ON f.k = d.k AND f.t = d.t AND f.d = d.d');
SELECT compare('SELECT f.id, d.id AS other FROM fact f JOIN dim d ON f.k + 1 = d.b * 2');

-- kinds, with and without residual conditions, and conditions behind them
SELECT kind, residual, condition,
	compare(format('SELECT f.id, f.t, d.id AS other, d.t AS name FROM fact f %s JOIN dim d ON f.k = d.k%s %s',
		kind, residual, condition)),
	compare(format('SELECT d.w, f.v, count(*), count(f.id), sum(d.b), min(d.t), max(f.t) FROM fact f %s JOIN dim d ON f.k = d.k%s %s GROUP BY 1, 2',
		kind, residual, condition))
FROM unnest(ARRAY['', 'LEFT', 'RIGHT', 'FULL']) kind,
	unnest(ARRAY['', ' AND f.v > d.w', ' AND f.v > 2 AND d.w = 1']) residual,
	unnest(ARRAY['', 'WHERE d.w IS DISTINCT FROM 1 OR f.v = 4']) condition
WHERE NOT (kind = 'FULL' AND residual <> '');
SELECT compare(format('SELECT f.id, f.t FROM fact f WHERE f.v < 3 AND %s EXISTS (SELECT FROM dim d WHERE f.k = d.k %s)', negation, residual)),
	compare(format('SELECT d.id, d.t FROM dim d WHERE d.w < 2 AND %s EXISTS (SELECT FROM fact f WHERE f.k = d.k %s)', negation, residual))
FROM unnest(ARRAY['', 'NOT']) negation, unnest(ARRAY['', 'AND f.v > d.w']) residual;
SELECT compare('SELECT id FROM fact WHERE k IN (SELECT k FROM dim WHERE w = 1)');
SELECT compare('SELECT id FROM fact WHERE k NOT IN (SELECT k FROM dim WHERE w = 1)');
SELECT condition, compare('SELECT id FROM fact WHERE ' || condition), compare('SELECT v, count(*) FROM fact WHERE ' || condition || ' GROUP BY v')
FROM unnest(ARRAY['k NOT IN (SELECT k FROM dim WHERE k IS NOT NULL AND w = 1)', 'k NOT IN (SELECT k FROM none)', 'k NOT IN (SELECT k FROM dim)',
	'v < 3 AND t NOT IN (SELECT t FROM dim WHERE w < 2) AND k + 1 NOT IN (SELECT b FROM dim)',
	'k NOT IN (SELECT max(k) FROM dim GROUP BY w)', 'd NOT IN (SELECT d FROM dim WHERE w = 2)']) condition;
SELECT compare('SELECT f.id, d.id AS other FROM fact f JOIN dim d ON f.k = d.k WHERE f.b NOT IN (SELECT w + 3 FROM dim) AND d.id NOT IN (SELECT s FROM fact)');
SELECT compare('SELECT f.id, d.id AS other FROM fact f CROSS JOIN dim d WHERE f.id < 50 AND d.w = 1');

-- empty tables, both ways
SELECT compare(format('SELECT f.id, n.w FROM fact f %s JOIN none n ON f.k = n.k', kind)),
	compare(format('SELECT count(*), sum(n.w), sum(f.v) FROM none n %s JOIN fact f ON f.k = n.k', kind))
FROM unnest(ARRAY['', 'LEFT', 'RIGHT', 'FULL']) kind;

-- more tables; subqueries; DISTINCT; grouping sets; first rows
SELECT compare('SELECT a.v, b.t, c.w, count(*) FROM fact a JOIN dim b ON a.k = b.k JOIN dim c ON b.s = c.id LEFT JOIN dim e ON e.id = a.s AND e.w = c.w GROUP BY 1, 2, 3');
SELECT compare('SELECT a.id, x.n, x.m FROM fact a JOIN (SELECT k, count(*) AS n, max(t) AS m FROM dim GROUP BY k) x ON a.k = x.k WHERE a.v = 2');
SELECT compare('SELECT DISTINCT d.t, f.v FROM fact f JOIN dim d ON f.k = d.k');
SELECT compare('SELECT d.w, f.v, grouping(d.w), sum(f.b) FROM fact f JOIN dim d ON f.k = d.k GROUP BY ROLLUP (d.w, f.v)');
SELECT compare('SELECT f.id, d.id AS other FROM fact f JOIN dim d ON f.k = d.k ORDER BY f.v, d.t, f.id, d.id LIMIT 20');
SELECT compare('SELECT count(*), count(DISTINCT d.t), avg(d.d), sum(f.d * d.d), sum(f.f + d.b), stddev(d.b) FROM fact f JOIN dim d ON f.k = d.k');
SELECT compare('SELECT CASE WHEN d.t LIKE ''%1'' THEN f.v ELSE d.w END AS x, upper(d.t) AS u, count(*) FROM fact f JOIN dim d ON f.k = d.k GROUP BY 1, 2');
SELECT compare('SELECT f.id, d.*, h.* FROM fact f JOIN dim d ON f.k = d.k JOIN h_none h ON h.k = f.k');

-- groups that no row asks for are left out of a correlated subquery
EXPLAIN (COSTS OFF) SELECT d.id, (SELECT sum(x.b) FROM fact x WHERE x.k = d.k AND x.v < 3) FROM dim d WHERE d.w = 1 AND d.t LIKE 'name 1%';
SELECT compare('SELECT d.id, (SELECT sum(x.b) FROM fact x WHERE x.k = d.k AND x.v < 3) AS n FROM dim d WHERE d.w = 1 AND d.t LIKE ''name 1%''');
SELECT compare('SELECT f.id FROM fact f, dim d WHERE f.k = d.k AND d.w = 1 AND f.b < (SELECT avg(x.b) FROM fact x WHERE x.k = d.k)');
SELECT compare('SELECT d.id FROM dim d LEFT JOIN none n ON n.k = d.k WHERE d.w < 2 AND d.k IN (SELECT s FROM fact) AND 4 <= (SELECT count(*) FROM fact x WHERE d.k = x.k AND x.s = d.s)');
-- a join that is scanned again and again
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT compare('SELECT g, count(*), sum(x.n) FROM generate_series(1, 40) g JOIN (SELECT d.w + d.id % 7 AS key, f.v AS n FROM fact f LEFT JOIN dim d ON f.k = d.k OFFSET 0) x ON x.key < g AND x.n < g % 3 GROUP BY g');
RESET enable_hashjoin;
RESET enable_mergejoin;

-- parameters, rescans, cursors, prepared statements
PREPARE p(int, text) AS SELECT count(*), sum(d.b) FROM fact f JOIN dim d ON f.k = d.k WHERE f.v = $1 AND d.t > $2;
EXECUTE p(1, 'name 2'); EXECUTE p(NULL, 'name 2'); EXECUTE p(3, 'name 39');
SET plan_cache_mode = force_generic_plan;
EXECUTE p(1, 'name 2');
RESET plan_cache_mode;
SELECT g, (SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE f.v = g AND d.w < g) FROM generate_series(0, 3) g;
BEGIN;
DECLARE c CURSOR FOR SELECT f.id, d.id FROM fact f JOIN dim d ON f.k = d.k WHERE f.v = 1 ORDER BY 1, 2;
FETCH 2 FROM c; MOVE 100 IN c; FETCH 2 FROM c;
COMMIT;
RESET gpucol.pushdown;
-- rows that are locked stay PostgreSQL's
EXPLAIN (COSTS OFF) SELECT f.id FROM fact f JOIN dim d ON f.k = d.k WHERE d.id = 4 FOR UPDATE;
SET gpucol.enable_join = off;
SELECT compare('SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k');
SET client_min_messages = warning;
DROP SCHEMA join_basic CASCADE;
