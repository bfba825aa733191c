-- gpucol.datalog: components, records, branches, ranges, equivalences, means, witnesses
CREATE SCHEMA datalog_language;
SET search_path = datalog_language;
CREATE TABLE edge (a int, b int);
INSERT INTO edge VALUES (1, 2), (2, 3), (5, 6);
CREATE TABLE "g.edge" (a int, b int);
INSERT INTO "g.edge" VALUES (7, 8);

CREATE FUNCTION complaint(program text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM * FROM gpucol.datalog(program, 'r') AS t(x int);
	RETURN 'no complaint';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || SQLERRM || ' / ' || detail;
END $$;

-- components: parameters, inheritance, overriding, instances inside, names from outside
CREATE FUNCTION graphs() RETURNS text LANGUAGE sql AS $$ SELECT $p$
	.decl edge(a:number, b:number)
	.comp Graph<T> {
		.type Node = T
		.decl edge(a:Node, b:Node)
		.decl path(a:Node, b:Node) overridable
		path(x, y) :- edge(x, y).
		path(x, z) :- path(x, y), edge(y, z).
	}
	.comp Undirected<T> : Graph<T> {
		.override path
		path(x, y) :- edge(x, y) ; edge(y, x).
		path(x, z) :- path(x, y), path(y, z).
		.comp Counter { .decl n(n:number) n(c) :- c = count : path(_, _). }
		.init counter = Counter
	}
	.init plain = Graph<number>
	.init both = Undirected<number>
	.init named = Graph<symbol>
	.init g = Graph<number>
	.input g.edge
	plain.edge(x, y), both.edge(x, y) :- edge(x, y).
	named.edge(to_string(x), to_string(y)) :- edge(x, y).
$p$ $$;
SELECT * FROM gpucol.datalog(graphs(), 'plain.path') AS t(x int, y int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog(graphs(), 'both.path') AS t(x int, y int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog(graphs(), 'both.counter.n') AS t(n int);
SELECT * FROM gpucol.datalog(graphs(), 'named.path') AS t(x text, y text) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog(graphs(), 'g.path') AS t(x int, y int);
-- a component as a parameter, and names of the component around it
SELECT * FROM gpucol.datalog('.comp A { .decl r(x:number) r(1). } .comp B<C> { .init c = C .decl s(x:number) s(x + 1) :- c.r(x). }
	.init b = B<A> .decl t(x:number) t(x) :- b.s(x) ; b.c.r(x).', 't') AS t(x int) ORDER BY 1;
SELECT complaint('.comp C { .init c = C } .init c = C .decl r(x:number)');
SELECT complaint('.comp C : D { } .comp D : C { } .init c = C');
SELECT complaint('.init c = C');
SELECT complaint('.comp C<A, B> { } .init c = C<number>');
SELECT complaint('.comp C { .decl r(x:number)');
SELECT complaint('.comp C { } .comp C { }');
SELECT complaint('.override r');
SELECT complaint('.comp C { .decl r(x:number) r("a"). } .init c = C');

-- records: made and taken apart, lists, nil
SELECT * FROM gpucol.datalog('.type List = [head:number, tail:List]
	.decl list(l:List) list(nil). list([n, l]) :- list(l), n = range(1, 3), length(l, k), k < 2.
	.decl length(l:List, n:number) length(nil, 0). length([h, t], n + 1) :- list([h, t]), length(t, n).',
	'length') AS t(l text, n int) ORDER BY n, l;
SELECT * FROM gpucol.datalog('.type P = [x:number, s:symbol] .type Q = [p:P, f:float]
	.decl q(q:Q) q([[1, "a"], 1.5]). q([[2, "b, c"], 2.5]). q(nil). q([nil, 3.5]).
	.decl r(x:number, s:symbol, f:float) r(x, s, f) :- q([[x, s], f]).', 'r') AS t(x int, s text, f float8) ORDER BY x;
SELECT * FROM gpucol.datalog('.type P = [x:number, s:symbol] .decl q(q:P, n:number) q([1, "a"], 1). q([1, "a"], 2). q([1, "b"], 3).
	.decl r(p:P, c:number) r(p, c) :- q(p, _), c = count : q(p, _).', 'r') AS t(p text, c int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.type P = [x:number, y:number] .decl p(p:P) p([1, 2]). p([3, 4]). p(nil).
	.decl r(x:number) r(y) :- p([_, y]). r(-1) :- p(nil). r(-2) :- !p([3, 5]). r(-3) :- !p([3, 4]).', 'r') AS t(x int) ORDER BY 1;
-- branches: a field is taken only out of a value of its branch
SELECT * FROM gpucol.datalog('.type E = Num {n:number} | Add {a:E, b:E} | Div {a:E, b:E} | Unknown {}
	.decl e(e:E) e($Add($Num(1), $Div($Num(6), $Num(3)))). e($Div($Num(1), $Unknown())). e($Unknown()).
	.decl part(e:E) part(e) :- e(e). part(a), part(b) :- part($Add(a, b)) ; part($Div(a, b)).
	.decl value(e:E, v:number) value(e, n) :- part(e), e = $Num(n).
	value(e, x + y) :- part(e), e = $Add(a, b), value(a, x), value(b, y).
	value(e, x / y) :- part(e), e = $Div(a, b), value(a, x), value(b, y).', 'value') AS t(e text, v int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.type T = A {x:number} | B {x:number, y:number}
	.decl t(t:T) t($A(0)). t($B(0, 5)). t($B(2, 8)). .decl r(x:number) r(10 / x) :- t($B(x, _)), x > 0. r(y) :- t($B(_, y)).', 'r') AS t(x int) ORDER BY 1;
SELECT complaint('.type P = [x:number] .decl r(x:P) r([1, 2]).');
SELECT complaint('.type P = [x:number] .decl r(x:P) r(["a"]).');
SELECT complaint('.type P = [x:number] .decl r(x:number) r(x) :- p(x). .decl p(x:P) p([1]).');
SELECT complaint('.type P = [x:number] .decl p(x:P) p([1]). .decl r(x:number) r(1) :- p(x), x < nil.');
SELECT complaint('.type P = A {x:number} .decl r(x:P) r($A(1, 2)).');
SELECT complaint('.type P = A {x:number} .decl r(x:P) r($C(1)).');
SELECT complaint('.type P = [x:number] .decl edge(a:P, b:P) .decl r(x:number) r(1) :- edge(_, _).');
SELECT complaint('.type P = [x:number, y:number] .decl p(p:P) p([1, 2]). .decl r(x:number) r(1) :- !p([_, 2]).');

-- ranges, whose bounds may depend on rows, on one another, and stand in aggregates
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number) r(x, y) :- edge(x, b), y = range(x, b + 2). .decl edge(a:number, b:number)', 'r') AS t(x int, y int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number) r(x, y) :- y = range(0, x), x = range(1, 4).', 'r') AS t(x int, y int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl r(x:float) r(x) :- x = range(1, -1, -0.5). r(x) :- x = range(5, 5). r(x) :- x = range(7, 8, 0).', 'r') AS t(x float8) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl r(x:unsigned) r(x) :- x = range(3, 0). r(x) :- x = range(18446744073709551613u, 18446744073709551615u).', 'r') AS t(x numeric) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(x:number, n:number) r(x, n) :- edge(x, _), n = count : { i = range(0, 10 * x), i % 2 = 0 }.', 'r') AS t(x int, n int) ORDER BY 1;
SELECT complaint('.decl r(x:number) r(x) :- x = range(0, y), y = range(0, x).');
SELECT complaint('.decl r(x:number) r(x) :- x = range(_, 3).');

-- equivalences, means, witnesses, names that an aggregate hides, casts, mathematics
SELECT x, array_agg(y ORDER BY y) FROM gpucol.datalog('.decl edge(a:number, b:number) .decl e(a:number, b:number) eqrel e(x, y) :- edge(x, y).', 'e') AS t(x int, y int) GROUP BY x ORDER BY x;
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(x:float) r(m) :- m = mean a : edge(a, _). r(m) :- m = mean a : { edge(a, _), a > 9 }.', 'r') AS t(x float8);
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(a:number, b:number) r(a, m) :- m = max b : edge(a, b).', 'r') AS t(a int, b int);
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(m:number) r(a) :- a = max a : edge(a, _).', 'r') AS t(a int);
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(m:number) r(1) :- _ = max a : { edge(a, _), a > 5 }. r(2) :- _ = max a : edge(a, _).', 'r') AS t(a int);
SELECT * FROM gpucol.datalog('.decl r(a:number, b:unsigned, c:symbol) r(as(5u, number), as(6, unsigned), "a" + "b" + to_string(7)).', 'r') AS t(a int, b int, c text);
SELECT round(x::numeric, 6) FROM gpucol.datalog('.decl r(x:float) r(sin(1.0)). r(sqrt(2.0)). r(exp(1.0)). r(log(10.0)). r(atanh(0.5)).', 'r') AS t(x float8) ORDER BY 1;
SELECT complaint('.decl r(x:number) .decl f(x:float) f(sqrt(-1.0)). r(1) :- f(_).');
SELECT count(DISTINCT x), count(*) FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(x:number, a:number) r(autoinc(), a) :- edge(a, _).', 'r') AS t(x int, a int);
SELECT complaint('.decl r(x:number) r(1). r(autoinc()) :- r(_).');
SELECT * FROM gpucol.datalog('.decl nothing(a:number) .decl r(x:number) r(1) :- !nothing(_).', 'r') AS t(x int);

-- inline relations that only their uses bound: several rules, in each other, in aggregates; not in negations
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl next(a:number, b:number) inline next(x, y) :- y = x + 10. next(x, y) :- x > 1, next2(x, y).
	.decl next2(a:number, b:number) inline next2(x, [y, nil]) :- y = 2. next2(x, x + 100) :- true.
	.decl r(a:number, b:number) r(x, y) :- edge(x, _), next(x, y).', 'r') AS t(a int, b int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl next(a:number, b:number) inline next(x, y) :- y = x + 10. next(x, y) :- x > 1, next2(x, y).
	.decl next2(a:number, b:number) inline next2(x, x + 100) :- true.
	.decl r(a:number, b:number) r(x, y) :- edge(x, _), next(x, y).', 'r') AS t(a int, b int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl twice(a:number, b:number) inline twice(x, x * 2).
	.decl r(n:number) r(s) :- s = sum y : { edge(x, _), twice(x, y) }.', 'r') AS t(n int);
SELECT complaint('.decl edge(a:number, b:number) .decl twice(a:number, b:number) inline twice(x, x * 2). .decl r(n:number) r(x) :- edge(x, y), !twice(x, y).');
SELECT complaint('.decl edge(a:number, b:number) .decl up(a:number, b:number) inline up(x, x). up(x, y) :- up(x + 1, y). .decl r(n:number) r(y) :- edge(x, _), up(x, y).');

-- records become text in tables
CREATE SCHEMA datalog_language_into;
SELECT * FROM gpucol.datalog_into('.type P = [x:number, y:symbol] .decl p(p:P) .output p p([1, "a"]). .comp C { .decl q(x:number) q(3). .output q } .init c = C', 'datalog_language_into');
TABLE datalog_language_into.p;
TABLE datalog_language_into."c.q";

SET client_min_messages = warning;
DROP SCHEMA datalog_language, datalog_language_into CASCADE;
