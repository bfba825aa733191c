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

DROP SCHEMA demand CASCADE;
