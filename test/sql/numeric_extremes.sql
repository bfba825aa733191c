-- The least and greatest of numerics that differ in how many digits they display: the engine finds them, and of equal
-- ones, such as 1.5 and 1.50, the last in the table, as PostgreSQL does.
SET client_min_messages = warning;
CREATE SCHEMA numeric_extremes;
SET search_path = numeric_extremes, public;
SET gpucol.engine = 'cpu';
SET TimeZone = 'UTC';
-- mixed: equal values with other digits; alike: all two digits; deep: up to 30 digits; rare: few values, mostly NULL
CREATE TABLE plain (id int, k int, mixed numeric, alike numeric, deep numeric, rare numeric);
INSERT INTO plain SELECT i, i % 7,
	CASE WHEN i % 11 <> 0 THEN round((i * 7919 % 41 - 20)::numeric / 2, 1 + i * 31 % 5) END, round((i * 7919 % 1003 - 300) / 100.0, 2),
	round((i * 7919 % 89 - 44) * 1234567890123.4567890125, 1 + i % 17), CASE WHEN i % 900 = 1 THEN round(3, i / 900) END
	FROM generate_series(1, 12000) i;
CREATE TABLE packed (LIKE plain) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
SELECT column_name, coding FROM gpucol.columns('packed') ORDER BY column_name;
-- rows of the delta come last
INSERT INTO plain VALUES (-1, 1, 10.0000000, 7.0200, -54321, 3.00), (-2, 2, -10, -3, 1e-30, NULL), (-3, NULL, NULL, NULL, NULL, NULL);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
DELETE FROM plain WHERE id % 50 = 3;
DELETE FROM packed WHERE id % 50 = 3;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set include :srcdir /include/plan.psql
\i :include
\set ECHO all

CREATE TABLE col AS SELECT c FROM unnest('{mixed,alike,deep,rare}'::text[]) c;
-- where rows come in an order that is PostgreSQL's own affair, digits that are displayed do not count
CREATE TABLE shape (name text, q text);
INSERT INTO shape VALUES
	('all rows', 'SELECT min({}), max({}), max(-{}), min(abs({})) FROM T'),
	('no row', 'SELECT min({}), max({}) FROM T WHERE id > 100000'),
	('groups', 'SELECT k, min({}), max({}), sum({}), count({}) FROM T GROUP BY k'),
	('many groups', 'SELECT id % 2500, min({}), max({}) FROM T GROUP BY 1'),
	('filter', 'SELECT k, min({}) FILTER (WHERE id % 3 = 0), max({}) FILTER (WHERE {} > 1) FROM T GROUP BY k'),
	('expressions', 'SELECT k, min({} + alike), max({} * 2), max({} - mixed * 0.10) FROM T GROUP BY k'),
	('quotients', 'SELECT k, min({} / 3), max({} / nullif(mixed, 0)) FROM T GROUP BY k'),
	('choices', 'SELECT k, max(CASE WHEN id % 3 = 0 THEN {} WHEN id % 3 = 1 THEN alike ELSE 2 END), min(coalesce({}, 0.50)), max(greatest({}, mixed)) FROM T GROUP BY k'),
	('distinct', 'SELECT k, trim_scale(max(DISTINCT {})), trim_scale(min(DISTINCT {} * 0)) FROM T GROUP BY k'),
	('sets', 'SELECT k, id % 3, min({}), max({}) FROM T GROUP BY GROUPING SETS ((1, 2), (1), (2), ())'),
	('evaluated', 'SELECT md5(k::text), min({}), max({}) FROM T GROUP BY 1'),
	('having', 'SELECT k, max({}) FROM T GROUP BY k HAVING max({}) > 5 AND min({}) IS NOT NULL'),
	('first groups', 'SELECT id % 500 AS g, max({}) AS m FROM T GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 20'),
	('subquery', 'SELECT trim_scale(max(m)), trim_scale(min(m)), count(*) FROM (SELECT id % 500, max({}) AS m FROM T GROUP BY 1) q'),
	('joined', 'SELECT t.k, trim_scale(max(t.{})), trim_scale(min(u.mixed)) FROM T t JOIN T u ON t.id = u.id + 1 WHERE u.k < 4 GROUP BY 1'),
	('union', 'SELECT max(v), min(v) FROM (SELECT {} AS v FROM T WHERE k < 3 UNION ALL SELECT {} * 1.0 FROM T WHERE k > 3) q');
SELECT s.name, twin(replace(s.q, '{}', c.c)) AS node, count(*) FROM shape s, col c GROUP BY 1, 2 ORDER BY 1, 2;
-- several threads
SET gpucol.cpu_threads = 3;
SELECT s.name, twin(replace(s.q, '{}', c.c)) AS node, count(*) FROM shape s, col c WHERE c.c <> 'rare' GROUP BY 1, 2 ORDER BY 1, 2;
RESET gpucol.cpu_threads;

-- no row leaves the engine
SELECT plan('SELECT k, min(mixed), max(mixed) FROM packed GROUP BY k', 'VERBOSE, COSTS OFF');
-- DISTINCT and ORDER BY say which of equal ones is the last
SELECT plan('SELECT k, max(mixed ORDER BY id DESC) FROM packed GROUP BY k', 'VERBOSE, COSTS OFF');

-- NaN, infinities and numbers of too many digits: PostgreSQL's plan
INSERT INTO plain VALUES (-4, 5, 'NaN', 1, 1, 1), (-5, 6, 1, 'Infinity', 1, 1), (-6, 4, 1, 1, 1, -1e60);
INSERT INTO packed SELECT * FROM plain WHERE id < -3;
SELECT twin(format('SELECT k, min(%1$s), max(%1$s) FROM T GROUP BY k', c)) AS node, count(*) FROM col GROUP BY 1 ORDER BY 1;
SELECT twin(format('SELECT min(%1$s), max(%1$s) FROM T', c)) AS node, count(*) FROM col GROUP BY 1 ORDER BY 1;
DROP SCHEMA numeric_extremes CASCADE;
