-- Numerics without a declared scale, packed as mantissas: what is displayed stays, and every
-- condition, expression and aggregate gives what heap gives.
SET client_min_messages = warning;
CREATE SCHEMA numeric_packed;
SET search_path = numeric_packed, public;

-- a: two digits; m: none to three digits; z: sixteen digits displayed, two of them not 0; w: too many digits; x: NaN among them
CREATE TABLE plain (id int, k int, a numeric, m numeric, z numeric, w numeric, x numeric, neg numeric);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 11 <> 0 THEN round((i::bigint * 7919 % 1000003 - 300000) / 100.0, 2) END,
	CASE i % 4 WHEN 0 THEN (i * 13)::numeric WHEN 1 THEN round(i / 10.0, 1) WHEN 2 THEN round(-i / 100.0, 2) ELSE round(i / 1000.0, 3) END,
	(i::bigint * 7919 % 1000003)::numeric / 100, i * 12345678901234567.89, CASE WHEN i % 2000 = 999 THEN 'NaN' ELSE i * 1.25 END,
	CASE WHEN i % 13 <> 0 THEN -i * 0.5 END
	FROM generate_series(1, 8000) i;
-- plans are counted as they are without statistics
CREATE TABLE packed (LIKE plain) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
SELECT column_name, coding FROM gpucol.columns('packed') ORDER BY column_name;

-- rows of the delta, deleted rows
INSERT INTO plain VALUES (-1, 1, 1.5, 1.50, 1.500, 1, 'NaN', 0), (-2, 2, 'Infinity', 100000000000000000000, 0.00, -1, 0.000, 1e-30), (-3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
DELETE FROM plain WHERE id % 50 = 3;
DELETE FROM packed WHERE id % 50 = 3;
SELECT count(*) AS differ FROM (SELECT md5(p::text) FROM plain p EXCEPT ALL SELECT md5(p::text) FROM packed p) x;
SELECT count(*) AS differ FROM (SELECT md5(p::text) FROM packed p EXCEPT ALL SELECT md5(p::text) FROM plain p) x;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE col AS SELECT c FROM unnest('{a,m,z,w,x,neg}'::text[]) c;
CREATE TABLE condition AS SELECT o || ' ' || v AS c FROM unnest('{=,<>,<,<=,>,>=}'::text[]) o,
	unnest('{0,1.5,1.50,-3000,6999.97,77.770,0.001,-0.0001,1e20,-1e20,1e-20,''NaN'',''Infinity'',''-Infinity'',1234567890123456789012345678901234567890123}'::text[]) v;
CREATE TABLE shape (name text, q text);
INSERT INTO shape VALUES
	('sums', 'SELECT sum({}), avg({}), count({}), sum({} + 1.25), sum(-{}), sum({} * 2.5), sum(abs({})) FROM T'),
	('mixed', 'SELECT sum({} + a), sum({} - m), sum({} * a), sum({} * {} - m), sum(a * m * 0.01) FROM T WHERE k <> 2'),
	('quotients', 'SELECT sum({} / 3), sum({} / nullif(m, 0)), sum(mod({}, 7)), sum(div({}, 3)) FROM T'),
	('extremes', 'SELECT min({}), max({}) FROM T'),
	('extremes of groups', 'SELECT k, min({}), max({}), count(DISTINCT {}) FROM T GROUP BY k'),
	('variances', 'SELECT var_pop({}), stddev({}) FROM T'),
	('groups', 'SELECT k, sum({}), avg({}) FILTER (WHERE a > 0), count({}) FROM T GROUP BY k'),
	('many groups', 'SELECT id % 3000, sum({}) FROM T GROUP BY 1'),
	('keys', 'SELECT {}, count(*) FROM T GROUP BY 1'),
	('rounded keys', 'SELECT round({}, -2), trunc({}, 1), floor({} / 1000), count(*), sum({}) FROM T WHERE x <> ''NaN'' AND a < 1e9 GROUP BY 1, 2, 3'),
	('rounding', 'SELECT sum(round({})), sum(round({}, 1)), sum(trunc({}, 3)), sum(ceil({})), sum(floor({})), sum(sign({})) FROM T WHERE a < 1e9'),
	('casts', 'SELECT round(sum({}::float8)::numeric, 3), sum({}::numeric(30,1)) FROM T WHERE a < 1e9 AND x <> ''NaN'''),
	('case', 'SELECT sum(CASE WHEN {} > a THEN {} ELSE m END), sum(CASE WHEN {} < 5 THEN 1 ELSE 0 END), sum(coalesce({}, 0.125)) FROM T'),
	('compared', 'SELECT count(*) FROM T WHERE {} > m AND {} * 2 <> a OR {} = neg * -1'),
	('either', 'SELECT count(*), sum(id) FROM T WHERE {} > 100 OR m < 5 OR {} IS NULL'),
	('listed', 'SELECT count(*), sum(id) FROM T WHERE {} IN (1.5, 13, 77.77, -0.5, 26)'),
	('rows', 'SELECT id, {}, a, m FROM T WHERE {} BETWEEN 1 AND 500'),
	('first', 'SELECT id, {} FROM T ORDER BY {} DESC NULLS LAST, id LIMIT 30'),
	('joined', 'SELECT sum(t.{} * u.m), count(*) FROM T t JOIN T u ON t.id = u.id + 1 WHERE u.k < 4'),
	('joined by it', 'SELECT count(*), sum(t.id) FROM T t JOIN T u ON t.{} = u.{} WHERE u.id % 10 = 1 AND t.id % 3 = 0'),
	('window', 'SELECT id, sum({}) OVER (PARTITION BY k ORDER BY id ROWS 3 PRECEDING) FROM T WHERE id < 2000');

SELECT twin(replace(s.q, '{}', c.c)) AS node, count(*) FROM shape s, col c GROUP BY 1 ORDER BY 1;
SELECT twin(format('SELECT count(*), sum(id) FROM T WHERE %s %s', c.c, o.c)) AS node, count(*) FROM col c, condition o GROUP BY 1 ORDER BY 1;
-- several threads
SET gpucol.cpu_threads = 3;
SELECT twin(replace(s.q, '{}', c.c)) AS node, count(*) FROM shape s, col c WHERE c.c IN ('a', 'z') GROUP BY 1 ORDER BY 1;
RESET gpucol.cpu_threads;

-- codes decide a comparison: nothing of a segment without such a value is read
\set include :srcdir /include/plan.psql
\set ECHO none
\i :include
\set ECHO all
SELECT plan('SELECT count(*) FROM packed WHERE a > 123456', 'ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF');

-- rewritten, fetched by index, verified
CREATE INDEX ON packed (id);
SET enable_seqscan = off;
SELECT a, m, z, w, x, neg FROM packed WHERE id IN (4, 5, 6, 7, 11, 13, 2999) ORDER BY id;
RESET enable_seqscan;
SELECT * FROM gpucol.verify('packed');
VACUUM FULL packed;
SELECT count(*) AS differ FROM (SELECT md5(p::text) FROM plain p EXCEPT ALL SELECT md5(p::text) FROM packed p) x;
ALTER TABLE packed SET ACCESS METHOD heap;
SELECT count(*) AS differ FROM (SELECT md5(p::text) FROM plain p EXCEPT ALL SELECT md5(p::text) FROM packed p) x;
DROP SCHEMA numeric_packed CASCADE;
