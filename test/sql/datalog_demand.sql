--
-- Datalog: what nobody asks for is not derived
--
SET gpucol.engine = 'cpu';
SET client_min_messages = warning;
CREATE SCHEMA demand;
SET search_path = demand;
-- a grid, in which each node reaches all that lie below and right of it
CREATE TABLE edge (x int, y int);
INSERT INTO edge SELECT i * 70 + j, i * 70 + j + 1 FROM generate_series(0, 69) i, generate_series(0, 68) j;
INSERT INTO edge SELECT i * 70 + j, i * 70 + j + 70 FROM generate_series(0, 68) i, generate_series(0, 69) j;

-- aggregates over a whole closure, or by one of its columns, are counted without its rows,
-- which would not fit in
CREATE FUNCTION closure(rules text, output text) RETURNS text LANGUAGE sql AS $f$
	SELECT '.decl edge(x: number, y: number) .input edge
		.decl path(x: number, y: number)
		path(x, y) :- edge(x, y).
		path(x, z) :- path(x, y), edge(y, z).
		.decl node(x: number) node(x) :- edge(x, _). node(y) :- edge(_, y). ' || rules || '
		.output ' || output $f$;
SET gpucol.recursive_memory_limit = '20MB';
SELECT * FROM gpucol.datalog(closure('.decl n(a: number, b: number, c: number, d: number)
	n(a, b, c, d) :- a = count : { path(x, y) }, b = sum y : { path(_, y) },
		c = min y : { path(_, y) }, d = max x : { path(x, _) }.', 'n'), 'n')
	AS t (a bigint, b bigint, c bigint, d bigint);
SELECT count(*), sum(c), sum(d), count(*) FILTER (WHERE x % 70 = 69 AND c <> 69 - x / 70) FROM
	gpucol.datalog(closure('.decl n(x: number, c: number, d: number)
	n(x, c, d) :- node(x), c = count : { path(x, y) }, d = count : { path(_, x) }.', 'n'), 'n')
	AS t (x bigint, c bigint, d bigint);
SELECT * FROM gpucol.datalog(closure('.decl n(a: number, b: number)
	n(a, b) :- a = count : { path(4830, y) }, b = count : { path(_, 5000) }.', 'n'), 'n')
	AS t (a bigint, b bigint);
-- as many threads as a larger machine has: what each works with fits as well
SET gpucol.cpu_threads = 64;
SELECT * FROM gpucol.datalog(closure('.decl n(a: number, b: number)
	n(a, b) :- a = count : { path(4830, y) }, b = count : { path(_, 5000) }.', 'n'), 'n')
	AS t (a bigint, b bigint);
SELECT * FROM gpucol.datalog(closure('.decl n(a: number, b: number)
	n(a, b) :- a = count : { path(x, y) }, b = sum y : { path(_, y) }.', 'n'), 'n')
	AS t (a bigint, b bigint);
RESET gpucol.cpu_threads;
RESET gpucol.recursive_memory_limit;
-- the same where a rule reads the rows, too
SELECT * FROM gpucol.datalog(closure('.decl n(a: number, b: number, c: number, d: number, e: number)
	n(a, b, c, d, e) :- a = count : { path(x, y) }, b = sum y : { path(_, y) },
		c = min y : { path(_, y) }, d = max x : { path(x, _) }, e = count : { path(x, y), y < x }.', 'n'), 'n')
	AS t (a bigint, b bigint, c bigint, d bigint, e bigint);
-- nothing to aggregate
SELECT * FROM gpucol.datalog('.decl edge(x: number, y: number) edge(1, 2) :- 1 = 2.
	.decl path(x: number, y: number) path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).
	.decl n(a: number, b: number) n(a, b) :- a = count : { path(x, y) }, b = sum y : { path(_, y) }.
	n(a, b) :- b = 1, a = min y : { path(_, y) }.', 'n') AS t (a bigint, b bigint);
-- more than a number holds
SELECT * FROM gpucol.datalog('.decl edge(x: number, y: number)
	edge(1, 2). edge(2, 9223372036854775807).
	.decl path(x: number, y: number) path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).
	.decl n(a: number) n(a) :- a = sum y : { path(_, y) }.', 'n') AS t (a bigint);

-- a recursion of which a constant is asked for is derived for it alone: the rules that are
-- evaluated, and what they derive, compared with a program that has the constant as a row
CREATE TABLE few (x int, y int);
INSERT INTO few VALUES (1, 2), (2, 3), (3, 4), (4, 2), (5, 1), (4, 6), (6, 7), (8, 5);
CREATE FUNCTION ask(rules text, question text, c int) RETURNS bigint[] LANGUAGE plpgsql AS $f$
DECLARE
	program text := '.decl few(x: number, y: number) .input few
		.decl path(x: number, y: number) .decl other(x: number, y: number)
		.decl c(x: number) .decl out(x: number) ' || rules;
	hidden text := replace(replace(question, ':- ', ':- c(k), '), '$', 'k') || format(' c(%s).', c);
	asked bigint[];
	truth bigint[];
BEGIN
	PERFORM set_config('client_min_messages', 'debug1', true);
	asked := ARRAY(SELECT x FROM gpucol.datalog(program || replace(question, '$', c::text), 'out') AS t (x bigint) ORDER BY x);
	PERFORM set_config('client_min_messages', 'warning', true);
	truth := ARRAY(SELECT x FROM gpucol.datalog(program || hidden, 'out') AS t (x bigint) ORDER BY x);
	IF asked IS DISTINCT FROM truth THEN
		RAISE EXCEPTION 'asked % is not %', asked, truth;
	END IF;
	RETURN asked;
END $f$;
-- carried, at either end
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). ', 'out(y) :- path($, y).', 3);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- few(x, y), path(y, z). ', 'out(x) :- path(x, y), y = $.', 1);
-- handed on
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- few(x, y), path(y, z). ', 'out(y) :- path($, y).', 4);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). ', 'out(x) :- path(x, $).', 6);
SELECT ask('path(x, y) :- few(x, y). path(3, x) :- few(x, _). path(x, z) :- few(x, y), path(y, z), !few(z, z), y != 2. ', 'out(y) :- path($, y).', 4);
-- square
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), path(y, z). ', 'out(y) :- path($, y).', 3);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(y, z), path(x, y). ', 'out(x) :- path(x, $).', 1);
-- a walk that counts its steps, of which those to one node are asked for, as in SQL
SET log_statement = none;
SET client_min_messages = debug1;
WITH walk AS (SELECT array_agg(format('%s %s', x, d) ORDER BY x, d) AS rows FROM gpucol.datalog('.decl few(x: number, y: number) .input few .decl walk(x: number, y: number, d: number)
	walk(x, y, 1) :- few(x, y). walk(x, z, d + 1) :- walk(x, y, d), few(y, z), d < 4.', 'walk') AS t (x int, y int, d int) WHERE y = 6)
SELECT rows, rows = (WITH RECURSIVE r AS (SELECT x, y, 1 AS d FROM few UNION SELECT r.x, few.y, d + 1 FROM r JOIN few ON few.x = r.y WHERE d < 4) SELECT array_agg(format('%s %s', x, d) ORDER BY x, d) FROM r WHERE y = 6) AS same FROM walk;
SET client_min_messages = warning;
RESET log_statement;
-- magic: same generation; relations that are derived together
SELECT ask('path(x, x) :- few(x, _). path(x, y) :- few(a, x), path(a, b), few(b, y). ', 'out(y) :- path($, y).', 2);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- other(x, y), few(y, z). other(x, z) :- path(y, z), few(x, y). ', 'out(y) :- path($, y).', 5);
-- through rules, negations and aggregates
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). other(x, z) :- path(x, y), few(y, z), y < z. ', 'out(y) :- other($, y).', 4);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). ', 'out(x) :- few(x, _), !path(x, $).', 1);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). ', 'out(n) :- n = count : { path($, _) }.', 5);
-- not where all of it is needed, where a row replaces another, and where asking would have to compute
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). out(x) :- path(x, x). ', 'out(y) :- path($, y).', 6);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(x, y), few(y, z). path(x, a) <= path(x, b) :- b < a. ', 'out(y) :- path($, y).', 6);
SELECT ask('path(9, 1). path(x, z) :- path(y, z), x = y - 1, x > 3. ', 'out(y) :- path($, y).', 6);
SELECT ask('path(x, y) :- few(x, y). path(x, z) :- path(y, z), x = y - 1, y = x + 1, x > 0. ', 'out(y) :- path($, y).', 3);


-- the query above reaches into the program: equalities with constants, aggregates, LIMIT
CREATE FUNCTION shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $f$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
		CONTINUE WHEN line ~ 'Threads|Memory|Buffers|^ *Group Key: y$';	-- 18 knows where it is constant
		RETURN NEXT replace(line, '.00 loops', ' loops');
	END LOOP;
END $f$;
CREATE FUNCTION named(output text, columns text) RETURNS text LANGUAGE sql AS $f$
	SELECT format('gpucol.datalog(%L, %L) AS t (%s)', closure('.decl word(x: symbol, y: unsigned)
		word(cat("n", to_string(x)), as(y, unsigned)) :- path(x, y), x < 3. .output path', 'word'), output, columns) $f$;
SELECT 'SELECT count(*) FROM ' || named('path', 'x int, y int') AS counted,
	'SELECT count(*), sum(x), avg(y), min(y), max(x), count(x) FROM ' || named('path', 'x int, y bigint') || ' WHERE 4800 = x' AS from_one,
	'SELECT count(*), max(x) FROM ' || named('path', 'x int, y bigint') || ' WHERE y = 75' AS to_one,
	'SELECT * FROM ' || named('path', 'x int, y int') || ' WHERE x = 4828 AND y > 3 ORDER BY y' AS rows,
	'SELECT y, count(*) FROM ' || named('path', 'x int, y int') || ' WHERE x = 4760 AND y = 4899 GROUP BY y' AS grouped,
	'SELECT count(*) FROM ' || named('word', 'x text, y bigint') || ' WHERE x = ''n2''' AS word \gset
SET gpucol.recursive_memory_limit = '20MB';
SELECT shown(:'counted');
SELECT shown(:'from_one');
SELECT shown(:'to_one');
SELECT shown(:'rows');
SELECT shown(:'grouped');
:counted;
:from_one;
:to_one;
:rows;
:grouped;
SELECT count(*) FROM (SELECT * FROM gpucol.datalog(closure('', 'path'), 'path') AS t (x int, y int) LIMIT 10) s;
RESET gpucol.recursive_memory_limit;
SELECT shown(:'word');
:word;
-- the same without
SET gpucol.enable_recursive = off;
EXPLAIN (COSTS off) SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1).', 'a') AS t (x int) WHERE x = 1;
RESET gpucol.enable_recursive;
-- parameters, a second value for a column, a null, columns of other types, HAVING
PREPARE one (int) AS SELECT count(*), min(y) FROM gpucol.datalog(closure('', 'path'), 'path') AS t (x int, y int) WHERE x = $1;
SET plan_cache_mode = force_generic_plan;
SELECT count(*) FROM shown('EXECUTE one (4829)') s WHERE s LIKE '%Asked For: (x = $1)';
EXECUTE one (4829);
EXECUTE one (NULL);
RESET plan_cache_mode;
SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1). a(2).', 'a') AS t (x int) WHERE x = 1 AND x = 2;
SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1). a(2).', 'a') AS t (x text) WHERE x = '1';
SELECT count(*), sum(x) FROM gpucol.datalog('.decl a(x: number, y: number) a(1, 2). a(2, 3).', 'a') AS t (x int, y numeric) WHERE x = 2;
SELECT sum(x) FROM gpucol.datalog('.decl a(x: number) a(1). a(2).', 'a') AS t (x int) HAVING count(*) > 5;
SELECT count(*) FROM gpucol.datalog(NULL, 'a') AS t (x int);
SELECT o.x, s.n FROM generate_series(1, 3) o (x), LATERAL (SELECT count(*) AS n FROM gpucol.datalog('.decl a(x: number) a(1). a(2).', 'a') AS t (x int) WHERE t.x = o.x) s ORDER BY 1;
SELECT t FROM gpucol.datalog('.decl a(x: number) a(1). a(2).', 'a') AS t (x int) WHERE x = 2;
SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1). a(9999999999).', 'a') AS t (x int);
SELECT count(*) FROM gpucol.datalog('.decl a(x: unsigned) a(1). a(18446744073709551615u).', 'a') AS t (x bigint);
SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1).', 'b') AS t (x int) WHERE x = 1;
SELECT count(*) FROM gpucol.datalog('.decl a(x: number) a(1).', 'a') AS t (x int, y int) WHERE x = 1;
-- rights
CREATE ROLE regress_demand;
GRANT USAGE ON SCHEMA demand, gpucol TO regress_demand;
SET ROLE regress_demand;
SELECT count(*) FROM gpucol.datalog('.decl few(x: number, y: number) .input few', 'few') AS t (x int, y int) WHERE x = 1;
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION gpucol.datalog FROM public;
SET ROLE regress_demand;
SELECT count(*) FROM gpucol.datalog('.decl few(x: number, y: number) .input few', 'few') AS t (x int, y int) WHERE x = 1;
ROLLBACK;
GRANT SELECT ON few TO regress_demand;
ALTER TABLE few ENABLE ROW LEVEL SECURITY;
CREATE POLICY from_four ON few USING (x > 3);
SET ROLE regress_demand;
SELECT count(*) FROM gpucol.datalog('.decl few(x: number, y: number) .input few', 'few') AS t (x int, y int) WHERE x = 1;
SELECT count(*) FROM gpucol.datalog('.decl few(x: number, y: number) .input few', 'few') AS t (x int, y int) WHERE x = 4;
RESET ROLE;
DROP OWNED BY regress_demand;
DROP ROLE regress_demand;
-- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM gpucol.datalog('.decl a(x: number) a(1). a(2). a(3).', 'a') AS t (x int) WHERE x = 2;
FETCH ALL c;
FETCH PRIOR c;
COMMIT;

DROP SCHEMA demand CASCADE;
