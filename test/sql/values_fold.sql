-- Aggregates over the columns of a row, by VALUES and unnest() of an array, are expressions.
SET client_min_messages = warning;
CREATE SCHEMA values_fold;
SET search_path = values_fold, public;
SET TimeZone = 'UTC';
CREATE TABLE plain (id int, k int, a int, b int, s smallint, l bigint, m bigint, n numeric, d numeric(10,2), f float8, g float8, r real,
	t text, u text, x date, y date, p boolean, q boolean);
INSERT INTO plain SELECT i, i % 5, CASE WHEN i % 3 > 0 THEN i * 7 % 100 END, CASE WHEN i % 4 > 0 THEN i * 13 % 100 - 50 END,
	CASE WHEN i % 5 > 0 THEN i * 11 % 100 END, CASE WHEN i % 3 > 0 THEN i % 10 * 900000000000000000 - i END, CASE WHEN i % 7 > 1 THEN 9223372036854775807 - i END,
	CASE WHEN i % 3 > 0 THEN round(i % 4 * 1.5, i % 6) END, CASE WHEN i % 2 > 0 THEN i % 4 * 1.5 END,
	CASE i % 6 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' WHEN 4 THEN i / 7.0 END,
	CASE i % 4 WHEN 0 THEN 0::float8 WHEN 1 THEN '-0' WHEN 2 THEN i / 3.0 END, CASE WHEN i % 3 > 0 THEN (i / 3.0)::real END,
	CASE WHEN i % 3 > 0 THEN 't' || i % 9 END, CASE WHEN i % 4 > 0 THEN 'T' || i % 11 END,
	CASE WHEN i % 3 > 0 THEN date '2024-01-01' + i % 90 END, CASE WHEN i % 8 = 1 THEN 'infinity'::date WHEN i % 4 > 0 THEN date '2024-03-01' - i % 90 END,
	CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE i % 4 WHEN 0 THEN true WHEN 1 THEN false END
	FROM generate_series(1, 1200) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
INSERT INTO plain VALUES (-1, 1, 2147483647, -2147483648, 32767, 9223372036854775807, -9223372036854775808, 'NaN', NULL, 'Infinity', 'NaN');
INSERT INTO plain (id) VALUES (-2);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
ANALYZE plain, packed;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set include :srcdir /include/plan.psql
\i :include
\set ECHO all

CREATE TABLE form AS SELECT f FROM unnest(ARRAY[
	'(SELECT {agg} FROM (VALUES ({1}), ({2}), ({3})) AS z(v))',
	'(SELECT {agg} FROM unnest(ARRAY[{1}, {2}, {3}]) AS v)',
	'(SELECT {agg} FROM (SELECT {1} AS v UNION ALL SELECT {2} UNION ALL SELECT {3}) AS z)',
	'(SELECT {agg} FROM (VALUES ({1}, 1), ({2}, 2), ({3}, 3)) AS z(v, w) WHERE w <> id % 4)',
	'(SELECT {agg} FILTER (WHERE w > id % 3) FROM (VALUES ({1}, 1), ({2}, 2), ({3}, 3)) AS z(v, w) WHERE v IS NOT NULL)']) f;
CREATE TABLE agg AS SELECT v, calls FROM (VALUES
	('a,b,s', '{min(v),max(v),sum(v),avg(v),count(v),count(*)}'::text[]), ('a,id,3', '{min(v),max(v),sum(v),avg(v),count(v)}'), ('s,s,s', '{sum(v),max(v)}'),
	('l,m,a', '{min(v),max(v),sum(v),avg(v),count(v)}'), ('n,d,n * 1.00', '{min(v),max(v),sum(v),avg(v)}'), ('n,d,a', '{max(v),sum(v)}'),
	('f,g,r', '{min(v),max(v),count(v),sum(v),avg(v)}'), ('g,f,-f', '{min(v),max(v)}'), ('r,r,r', '{min(v),max(v)}'), ('t,u,NULL', '{min(v),max(v),count(v)}'),
	('x,y,x + 1', '{min(v),max(v),count(v)}'), ('p,q,a > b', '{bool_or(v),bool_and(v),every(v),count(v)}'),
	('a,b,NULL', '{sum(v + 1),max(abs(v)) - min(abs(v)),max(v) + count(*),stddev(v),max(DISTINCT v),bit_or(v)}')) z(v, calls);
CREATE FUNCTION filled(form text, v text, agg text) RETURNS text RETURN replace(replace(replace(replace(form, '{agg}', agg),
	'{1}', split_part(v, ',', 1)), '{2}', split_part(v, ',', 2)), '{3}', split_part(v, ',', 3));
-- in select lists, aggregates, keys, conditions
SET enable_seqscan = off;
SET jit = off;
SELECT count(*), count(*) FILTER (WHERE twin('SELECT id, ' || filled(f, v, c) || ' FROM T') ~ '^(Gpucol|nothing)') AS same
	FROM form, agg, unnest(calls) c;
SELECT filled(f, v, c), t FROM form, agg, unnest(calls) c, twin('SELECT id, ' || filled(f, v, c) || ' FROM T') t WHERE t !~ '^(Gpucol|nothing)';
SELECT c, twin('SELECT k, count(*), max(m) FROM (SELECT k, ' || filled(f, v, c) || '::text AS m FROM T) q GROUP BY 1') AS node, count(*)
	FROM form, agg, unnest(calls) c GROUP BY 1, 2 ORDER BY 1, 2;
SELECT twin(q) AS node, count(*) FROM unnest(ARRAY[
	'SELECT (SELECT max(v) FROM (VALUES (a), (b)) z(v)) AS m, count(*) FROM T GROUP BY 1',
	'SELECT count(*) FROM T WHERE (SELECT sum(v) FROM (VALUES (a), (b)) z(v)) > 20',
	'SELECT id, best, c FROM T, LATERAL (SELECT max(v) AS best, count(v) AS c FROM (VALUES (a), (b), (s)) z(v)) o WHERE best > 90',
	'SELECT k, sum(best) FROM T LEFT JOIN LATERAL (SELECT min(v) AS best FROM unnest(ARRAY[a, b]) v) o ON best > 10 GROUP BY 1',
	'SELECT k, (SELECT max(v) FROM (VALUES (sum(a)), (min(b))) z(v)) FROM T GROUP BY k',
	'SELECT t.id FROM T t JOIN T u ON t.id = u.id + 1 AND (SELECT max(v) FROM (VALUES (t.a), (u.b)) z(v)) > 95',
	'SELECT id, (SELECT (SELECT max(w) FROM (VALUES (v), (a)) y(w)) FROM (VALUES (b)) z(v)) FROM T',
	'SELECT id FROM T WHERE a = (SELECT max(v) FROM (VALUES (a), (b)) z(v)) ORDER BY id LIMIT 20',
	'SELECT max(v) FROM (VALUES (1), (2)) z(v) WHERE EXISTS (SELECT FROM T)']) q GROUP BY 1 ORDER BY 1;
-- errors are PostgreSQL's
SELECT count(*), count(*) FILTER (WHERE twin(q) ~ '^(Gpucol|nothing)') AS same FROM unnest(ARRAY[
	'SELECT id, (SELECT max(v) FROM (VALUES (a / k), (b)) z(v)) FROM T', 'SELECT sum((SELECT max(v) FROM (VALUES (a + 1), (b)) z(v))) FROM T',
	'SELECT id, (SELECT max(100 / v) FROM (VALUES (a), (b)) z(v) WHERE v <> 0) FROM T']) q;
-- what becomes of them, and what does not
SELECT plan('SELECT k, sum((SELECT max(v) FROM (VALUES (a), (b), (s)) z(v))) FROM packed GROUP BY k', 'VERBOSE, COSTS OFF');
SELECT plan('SELECT k, count(*) FROM packed, LATERAL (SELECT max(v) AS best FROM unnest(ARRAY[x, y]) v) o WHERE best > ''2024-03-01'' GROUP BY k', 'VERBOSE, COSTS OFF');
SELECT plan('SELECT id, (SELECT max(v) FROM (VALUES (a), (random()::int)) z(v)) FROM packed', 'COSTS OFF');
SELECT plan('SELECT id, (SELECT sum(v) FROM (VALUES (f), (g)) z(v)) FROM packed', 'COSTS OFF');
SELECT plan('SELECT id, (SELECT max(v) FROM (VALUES (a), (b)) z(v)) FROM plain', 'COSTS OFF');
DROP SCHEMA values_fold CASCADE;
