-- Ranks that rows would have are counts of the rows before them.
SET client_min_messages = warning;
CREATE SCHEMA counted_ranks;
SET search_path = counted_ranks, public;
SET jit = off;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
CREATE TABLE plain (id int, k int, a int, l bigint, n numeric, p numeric(10,2), f float8, t text, v varchar(9), c char(4), d date, ts timestamp,
	b boolean, m mood, r int[]);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 3 > 0 THEN i * 7 % 50 END, CASE WHEN i % 9 > 0 THEN i % 10 * 900000000000000000 - i % 4 END,
	CASE WHEN i % 3 > 0 THEN round(i % 14 * 1.5, i % 6) END, CASE WHEN i % 5 > 0 THEN i % 24 * 1.5 END,
	CASE i % 8 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' WHEN 4 THEN NULL ELSE i % 30 / 7.0 END,
	CASE WHEN i % 4 > 0 THEN 't' || i % 19 END, CASE WHEN i % 5 > 0 THEN 'v' || i % 9 END, CASE WHEN i % 6 > 0 THEN 'c' || i % 3 END,
	CASE WHEN i % 11 = 1 THEN 'infinity'::date WHEN i % 4 > 0 THEN date '2024-01-01' + i % 40 END,
	CASE WHEN i % 3 > 0 THEN timestamp '2024-01-01' + i % 40 * interval '7 hours' END, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
	CASE i % 4 WHEN 0 THEN 'sad'::mood WHEN 1 THEN 'ok' WHEN 2 THEN 'glad' END, CASE WHEN i % 3 > 0 THEN ARRAY[i % 4, NULL, i % 3] END
	FROM generate_series(1, 1500) i WHERE i % 7 < 5;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
INSERT INTO plain (id, k, a, l, f) VALUES (-1, 1, 2147483647, 9223372036854775807, 'Infinity'), (-2, 1, -2147483648, -9223372036854775808, 'NaN');
INSERT INTO plain (id, k) VALUES (-3, 5), (-4, 5);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
DELETE FROM plain WHERE id % 13 = 0;
DELETE FROM packed WHERE id % 13 = 0;
ANALYZE plain, packed;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set include :srcdir /include/plan.psql
\i :include
\set ECHO all

-- each function, for values between, equal, beyond and NULL, in each order, filtered, alone and of groups
CREATE TABLE func AS SELECT f FROM unnest(ARRAY['rank', 'dense_rank', 'percent_rank', 'cume_dist']) f;
CREATE TABLE arg AS SELECT args, keys FROM (VALUES
	('25', 'a'), ('NULL', 'a'), ('-2147483648', 'a'), ('2147483648', 'a'), ('3', 'a % 7'), ('8.5', 'a'), ('8100000000000000000', 'l'), ('4.50', 'n'), ('NULL', 'n'), ('''NaN''', 'n'),
	('3', 'p'), ('2.25', 'p * 2'), ('0', 'f'), ('''NaN''', 'f'), ('''-Infinity''', 'f'), ('''t11''', 't'), ('''''', 't'), ('''T11''', 'lower(t) COLLATE "C"'), ('''v5''', 'v'),
	('''c1''', 'c'), ('''2024-01-20''', 'd'), ('''infinity''', 'd'), ('''2024-01-03 05:00''', 'ts'), ('true', 'b'), ('''ok''', 'm'), ('NULL', 'm'), ('''{1,NULL,2}''', 'r'),
	('length(''abc'') + 20', 'a')) x(args, keys);
CREATE TABLE orders AS SELECT o FROM unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) o;
CREATE TABLE query AS SELECT f, format(form, format('%s(%s) WITHIN GROUP (ORDER BY %s %s)', f, args, keys, o)) AS q
	FROM func, arg, orders, unnest(ARRAY['SELECT %s FROM T', 'SELECT k, %s FROM T GROUP BY k', 'SELECT k, %s FILTER (WHERE b) FROM T GROUP BY k']) form;
SELECT f, split_part(twin(q), E'\n', 1) AS node, count(*) FROM query GROUP BY 1, 2 ORDER BY 1, 2;

-- rows of several keys
CREATE TABLE rows AS SELECT f, format(form, format('%s(%s) WITHIN GROUP (ORDER BY %s)', f, args, keys)) AS q
	FROM func, (VALUES ('25, ''t11''', 'a, t'), ('25, ''t11''', 'a DESC, t'), ('NULL, ''t11''', 'a, t DESC'), ('25, NULL', 'a NULLS FIRST, t NULLS FIRST'),
		('NULL, NULL', 'a NULLS FIRST, t'), ('true, 20, 3', 'b, a DESC NULLS LAST, n'), ('0, 4.5', 'f, n'), ('0, ''t3'', ''2024-01-20''', 'k, t, d'),
		('''c1'', ''v5''', 'c, v'), ('false, 1', 'b, a % 7')) x(args, keys), unnest(ARRAY['SELECT %s FROM T', 'SELECT k, %s FROM T GROUP BY k']) form;
SELECT f, split_part(twin(q), E'\n', 1) AS node, count(*) FROM rows GROUP BY 1, 2 ORDER BY 1, 2;

-- beside others, in expressions, HAVING, ORDER BY, sets and subqueries; none, and no row
SELECT q, twin(q) AS node FROM unnest(ARRAY[
	'SELECT k, sum(a), rank(5) WITHIN GROUP (ORDER BY a) * 2 FROM T GROUP BY k HAVING rank(5) WITHIN GROUP (ORDER BY a) > 20 ORDER BY cume_dist(5) WITHIN GROUP (ORDER BY a)',
	'SELECT k, b, percent_rank(5) WITHIN GROUP (ORDER BY a) FROM T GROUP BY ROLLUP (k, b)',
	'SELECT rank(5) WITHIN GROUP (ORDER BY a), dense_rank(5) WITHIN GROUP (ORDER BY a NULLS FIRST), percent_rank(5) WITHIN GROUP (ORDER BY a), cume_dist(5) WITHIN GROUP (ORDER BY a) FROM T WHERE id = 0',
	'SELECT k, rank(5) WITHIN GROUP (ORDER BY a), percent_rank(NULL::int) WITHIN GROUP (ORDER BY a) FROM T WHERE id = 0 GROUP BY k',
	'SELECT rank(5) WITHIN GROUP (ORDER BY a), dense_rank(NULL::int) WITHIN GROUP (ORDER BY a), cume_dist(NULL::int) WITHIN GROUP (ORDER BY a) FROM T WHERE id = -3',
	'SELECT x, (SELECT rank(x) WITHIN GROUP (ORDER BY a) FROM T WHERE id < 300) FROM generate_series(1, 40) x',
	'SELECT x, (SELECT dense_rank(nullif(x, 3)) WITHIN GROUP (ORDER BY a NULLS FIRST) FROM T) FROM generate_series(1, 5) x',
	'SELECT q.x, (SELECT dense_rank(q.x) WITHIN GROUP (ORDER BY a NULLS FIRST) FROM T), (SELECT percent_rank(q.x, 3) WITHIN GROUP (ORDER BY a NULLS FIRST, k DESC) FROM T) FROM (VALUES (1), (NULL), (20)) q(x)',
	'SELECT k, rank(k) WITHIN GROUP (ORDER BY a) FROM T GROUP BY k',
	'SELECT k, rank(5, 5) WITHIN GROUP (ORDER BY a, 100 / (a - 7)) FROM T GROUP BY k',
	'SELECT k, rank(5) WITHIN GROUP (ORDER BY 100 / (a - 7)) FROM T GROUP BY k',
	'SELECT k, rank(NULL::int) WITHIN GROUP (ORDER BY 100 / (a - 7) NULLS FIRST) FROM T GROUP BY k',
	'SELECT k, max(r) FROM (SELECT k, b, rank(5) WITHIN GROUP (ORDER BY a) AS r FROM T GROUP BY k, b) q GROUP BY k',
	'SELECT s.k, rank(5) WITHIN GROUP (ORDER BY s.a) FROM T s JOIN T o USING (id) GROUP BY 1']) q;
SELECT twin_result('SELECT k, rank(1 / 0) WITHIN GROUP (ORDER BY a) FROM T GROUP BY k', 'packed', 'allow');
SELECT plan($$SELECT k, rank(5, 'x') WITHIN GROUP (ORDER BY a, t DESC) FILTER (WHERE b), dense_rank(5) WITHIN GROUP (ORDER BY a) FROM packed GROUP BY k$$, 'VERBOSE, COSTS OFF');
SELECT plan($$SELECT k, rank(k) WITHIN GROUP (ORDER BY a) FROM packed GROUP BY k$$);
-- parameters, of custom and generic plans
SET plan_cache_mode = force_generic_plan;
PREPARE ranks(int, text) AS SELECT k, rank($1, $2) WITHIN GROUP (ORDER BY a, t), dense_rank($1) WITHIN GROUP (ORDER BY a NULLS FIRST), cume_dist($2) WITHIN GROUP (ORDER BY t) FROM packed GROUP BY k ORDER BY k;
PREPARE heap_ranks(int, text) AS SELECT k, rank($1, $2) WITHIN GROUP (ORDER BY a, t), dense_rank($1) WITHIN GROUP (ORDER BY a NULLS FIRST), cume_dist($2) WITHIN GROUP (ORDER BY t) FROM plain GROUP BY k ORDER BY k;
EXECUTE ranks(20, 't4');
EXECUTE heap_ranks(20, 't4');
EXECUTE ranks(NULL, NULL);
EXECUTE heap_ranks(NULL, NULL);
-- as long as it may be called
CREATE ROLE counted_ranks_user;
GRANT USAGE ON SCHEMA counted_ranks TO counted_ranks_user;
GRANT SELECT ON packed TO counted_ranks_user;
REVOKE EXECUTE ON FUNCTION int4lt(int, int) FROM public;
SET ROLE counted_ranks_user;
SELECT rank(5) WITHIN GROUP (ORDER BY a) = (SELECT count(*) + 1 FROM packed WHERE 5 > a) AS same FROM packed;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int4lt(int, int) TO public;
REVOKE EXECUTE ON FUNCTION rank("any") FROM public;
SET ROLE counted_ranks_user;
SELECT rank(5) WITHIN GROUP (ORDER BY a) FROM packed;
RESET ROLE;
GRANT EXECUTE ON FUNCTION rank("any") TO public;
DROP OWNED BY counted_ranks_user;
DROP ROLE counted_ranks_user;
DROP SCHEMA counted_ranks CASCADE;
