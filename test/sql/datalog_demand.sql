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

DROP SCHEMA demand CASCADE;
