-- Sums of money and of real in an engine.
SET client_min_messages = warning;
CREATE SCHEMA agg_money;
SET search_path = agg_money, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE account (k int, m money, r real) USING gpucol;
INSERT INTO account SELECT i % 9, CASE WHEN i % 17 > 0 THEN (i * 7919 % 100003 / 100.0 - 300)::numeric::money END, CASE WHEN i % 13 > 0 THEN (i % 1000 - 400) / 8.0 END FROM generate_series(1, 2500) i;
SELECT gpucol.merge('account');
INSERT INTO account VALUES (10, NULL, NULL), (11, '92233720368547758.07', 'Infinity'), (11, '92233720368547758.07', 1), (12, '-92233720368547758.08', 'NaN'), (13, '5', '-Infinity'), (13, '6', 'Infinity');

SELECT differ(q) FROM unnest(ARRAY['SELECT sum(m), sum(r), count(m) FROM account WHERE k < 10', 'SELECT k, sum(m), sum(r), min(m), max(m), avg(r) FROM account WHERE k <> 11 GROUP BY k',
	'SELECT k, sum(r), sum(r) FILTER (WHERE m > ''3'') FROM account GROUP BY k', 'SELECT k, sum(r + 1), sum(r * 2), sum(-r) FROM account WHERE k < 9 GROUP BY k',
	'SELECT m::numeric AS n, count(*), sum(r) FROM account WHERE k < 9 GROUP BY 1', 'SELECT sum(m::numeric), avg(m::numeric), sum(m::numeric / 3), round(avg(m::numeric * 2), 3) FROM account',
	'SELECT k, sum(m) FROM account WHERE k < 11 GROUP BY k ORDER BY sum(r) DESC, k LIMIT 4', 'SELECT sum(m) FROM account WHERE k = 11', 'SELECT sum(m), sum(r) FROM account WHERE k > 50',
	'SELECT k, count(*) FROM account WHERE m::numeric > 100.5 GROUP BY k']) q;
EXPLAIN (COSTS OFF) SELECT sum(m), sum(r), sum(m::numeric / 3) FROM account;
-- beyond single precision it is an error, but not on the way there
SELECT sum(x) FROM (SELECT r * 1e38::real AS x FROM account WHERE r = 3) s;
SELECT k, sum((r * 1e37)::real) FROM account WHERE r IN (20, -20) GROUP BY k HAVING sum(r) = 0;
-- the sum of values that a single precision sum would lose
CREATE TABLE small (r real) USING gpucol;
INSERT INTO small SELECT 16777216 UNION ALL SELECT 1 FROM generate_series(1, 1500);
SELECT sum(r) FROM small;

DROP SCHEMA agg_money CASCADE;
