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
SELECT complaint('.type P = A {x:number} | A {y:number} .decl r(x:P) r($A(1)).');
SELECT complaint(E'.type P = A {x:number}\n.type Q = B {} | A {y:number} .decl r(x:P) r($A(1)).');
SELECT * FROM gpucol.datalog('.comp C<T> { .type P = A {x:T} | B {} .decl p(x:P) p($B()). } .init c = C<number> .init d = C<symbol> .decl r(x:number) r(1) :- c.p(_), d.p(_).', 'r') AS t(x int);
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

-- tables of more columns than attributes: by name; nulls are an error or left out
CREATE TABLE wide AS SELECT 1 AS "Key", g AS c2, NULL::int AS c3, CASE WHEN g <> 2 THEN 'text ' || g END AS c4 FROM generate_series(1, 4) g;
DO $$ BEGIN EXECUTE 'ALTER TABLE wide ' || (SELECT string_agg('ADD w' || i || ' int DEFAULT ' || i, ', ') FROM generate_series(1, 40) i); END $$;
SELECT * FROM gpucol.datalog('.decl wide(c4:symbol, w33:number, Key:float) .input wide(filename="x.csv", nulls="skip") .decl r(a:symbol, b:number, c:float) r(a, b + 1, c) :- wide(a, b, c).', 'r') AS t(a text, b int, c float8) ORDER BY 1;
SELECT complaint('.decl wide(c4:symbol) .input wide(nulls="error") .decl r(a:symbol) r(a) :- wide(a).');
SELECT complaint('.decl wide(c4:symbol) .input wide(nulls="drop") .decl r(a:symbol) r(a) :- wide(a).');
SELECT complaint('.decl wide(c4:symbol, key:number) .decl r(a:symbol) r(a) :- wide(a, _).');
SELECT count(*) FROM gpucol.datalog('.decl wide(c3:number) .input wide(nulls="skip") .decl r(a:number) r(a) :- wide(a).', 'r') AS t(a int);
-- who may read these columns may run the program
GRANT USAGE ON SCHEMA datalog_language TO pg_read_server_files;
GRANT SELECT (c2) ON wide TO pg_read_server_files;
SET ROLE pg_read_server_files;
SELECT count(*) FROM gpucol.datalog('.decl wide(c2:number) .decl r(a:number) r(a) :- wide(a).', 'r') AS t(a int);
RESET ROLE;
DROP TABLE wide;
SELECT complaint(E'.decl r(x:number)\n  #include "x.dl"\nr(1).');
-- braces of regular expressions that count nothing are an error; as characters they are escaped or in sets
SELECT complaint('.decl r(x:number) r(1) :- match("fo{x}b", "foxb").');
SELECT complaint('.decl r(x:number) r(1) :- match("a[b]{", "ab{").');
SELECT * FROM gpucol.datalog(E'.decl s(x:symbol) s("fo{x}b"). s("foob"). s("{"). s("a]{"). .decl r(x:number, s:symbol) r(1, x) :- s(x), match("fo{2}b", x). r(2, x) :- s(x), match("fo\\\\{x}b", x). r(3, x) :- s(x), match("[[:alpha:]{]", x).
	r(4, x) :- s(x), match("a[]{]+", x). r(5, x) :- s(x), match("[^]a]", x).', 'r') AS t(x int, s text) ORDER BY 1, 2;
-- choice-domain: of rows that agree on columns one stays, in recursions too; what is left over agrees with one that stays
CREATE TABLE offered (a int, b int, c int);
INSERT INTO offered SELECT i % 97, i % 89, i % 1009 FROM generate_series(1, 20000) i;
CREATE TABLE chosen AS SELECT * FROM gpucol.datalog('.decl offered(a:number, b:number, c:number) .decl r(a:number, b:number, c:number) choice-domain (a, b), c r(a, b, c) :- offered(a, b, c).', 'r') AS t(a int, b int, c int);
SELECT count(*) > 0 AS some, count(DISTINCT c) = count(*) AS by_c, count(DISTINCT (a, b)) = count(*) AS by_ab, (SELECT count(*) FROM (TABLE chosen EXCEPT TABLE offered) AS t) AS others,
	(SELECT count(*) FROM offered o WHERE NOT EXISTS (SELECT FROM chosen WHERE c = o.c) AND NOT EXISTS (SELECT FROM chosen WHERE (a, b) = (o.a, o.b))) AS left_over FROM chosen;
SELECT count(*), count(DISTINCT a), bool_and(a = 5) FROM gpucol.datalog('.decl offered(a:number, b:number, c:number) .decl r(a:number, b:number, c:number) choice-domain a r(a, b, c) :- offered(a, b, c).', 'r') AS t(a int, b int, c int) WHERE a = 5;
-- an order of all values: each has one before it and one behind it
SELECT count(*), count(DISTINCT a), count(DISTINCT b) FROM gpucol.datalog('.decl n(x:number) n(x) :- x = range(0, 300). .decl next(a:number, b:number) choice-domain a, b inline next(-1, 0). next(b, c) :- next(_, b), n(c), c > 0.
	.decl r(a:number, b:number) r(a, b) :- next(a, b).', 'r') AS t(a int, b int);
-- rows of four columns, through rounds, of a table too; facts come first
SELECT a, count(*) FROM gpucol.datalog('.decl n(x:number) n(x) :- x = range(0, 100). .decl r(a:number, b:number, c:number, d:number) choice-domain (d, b) r(0, 0, 1, 50). r(i + 1, b, c, d) :- r(i, _, _, _), n(d), n(c), i < 4, c < 7, b = i.', 'r')
	AS t(a int, b int, c int, d int) GROUP BY a ORDER BY a;
SELECT count(*), count(DISTINCT a) FROM gpucol.datalog('.decl offered(a:number, b:number, c:number) choice-domain a .input offered .decl r(a:number) r(a) :- offered(a, _, _). .decl s(a:number, c:number) s(a, c) :- offered(a, _, c), r(a).', 's') AS t(a int, c int);
SELECT complaint('.decl r(x:number) choice-domain y r(1).');
SELECT complaint('.decl r(x:number) choice-range x r(1).');
SELECT complaint('.decl r(x:number) choice-domain x r(1). r(x) <= r(y) :- x < y.');
DROP TABLE offered, chosen;
-- subsumption by any order: of pairs, of symbols, of one of several clauses, with other relations, of rows that agree on nothing
SELECT * FROM gpucol.datalog('.decl r(a:number, b:number) r(1, 5). r(2, 4). r(1, 4). r(3, 1). r(2, 1). r(a, b) <= r(c, d) :- a <= c, b <= d.', 'r') AS t(a int, b int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl r(a:symbol, n:number) r("a", 1). r("b", 1). r("a", 2). r(a, n) <= r(b, n) :- a < b. .decl s(a:symbol) s(a) :- r(a, _).', 's') AS t(a text) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl r(a:number, b:number) r(1, 2). r(2, 1). r(1, 3). r(5, 2). r(2, 4). r(k, a) <= r(k, b) :- a < b. r(a, k) <= r(b, k) :- a < b.', 'r') AS t(a int, b int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl up(a:number, b:number) up(1, 2). up(2, 3). up(a, c) :- up(a, b), up(b, c). .decl r(a:number) r(1). r(3). r(7). r(a) <= r(b) :- up(a, b).', 'r') AS t(a int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl r(a:number, b:number) r(1, 2). r(2, 1). r(2, 4). r(_, a) <= r(_, b) :- a < b.', 'r') AS t(a int, b int) ORDER BY 1;
SELECT * FROM gpucol.datalog('.decl r(a:number, b:number) r(1, 2). r(1, 3). r(1, 4). r(5, 2). r(a, b) <= r(a, c) :- 1 < count : { r(a, _) }, b = min x : { r(a, x) }, c > b.', 'r') AS t(a int, b int) ORDER BY 1, 2;
-- what is no order, or would take rows back in a recursion, is an error
SELECT complaint('.decl r(a:number) r(1). r(2). r(a) <= r(b) :- a != b.');
SELECT complaint('.decl r(a:number) r(1). r(2). r(3). r(a) <= r(b) :- b = a + 1.');
SELECT complaint('.decl r(a:number) r(1). .decl q(a:number) q(a) :- r(a). r(a) <= r(b) :- a < b, !q(b).');
SELECT complaint('.decl r(a:number) r(1). r(a + 1) :- r(a), a < 5. r(a) <= r(b) :- a < b, b != 3.');
SELECT complaint('.decl r(a:number) .input r(filename="r") r(a) <= r(b) :- a < b, b != 3.');
SELECT complaint('.decl r(a:number) .decl q(a:number) r(1). r(a) <= q(b) :- a < b.');
-- inline relations of one rule stand in the place of atoms, in each other too, where that is no recursion: nine million pairs have no room
SET gpucol.recursive_memory_limit = '32MB';
SELECT count(*) FROM gpucol.datalog('.decl n(x:number) n(x) :- x = range(0, 3000). .decl pair(x:number, y:number) inline pair(x, y) :- n(x), n(y).
	.decl swapped(x:number, y:number) inline swapped(y, x) :- pair(x, y), y >= 0, 0 < count : { n(z), z <= x }.
	.decl r(x:number) r(x) :- swapped(x, x), pair(x, 7), x < 5. .output r', 'r') AS t(x int);
RESET gpucol.recursive_memory_limit;
SELECT * FROM gpucol.datalog('.decl e(x:number, y:number) e(1, 2). e(2, 3). .decl p(x:number, y:number) inline p(x, y) :- e(x, y), !q(y, x). .decl q(x:number, y:number) inline q(x, y) :- e(x, z), e(z, y), x != y.
	.decl r(x:number, n:number) r(x, n) :- p(x, _), n = count : { p(y, _), y >= x }. r(x, 0) :- q(x, _), !p(x, x). .output r', 'r') AS t(x int, n int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl e(x:number, y:number) e(1, 2). e(2, 3). .decl p(x:number, y:number) inline p(x, y) :- e(x, z), q(z, y). .decl q(x:number, y:number) inline q(x, y) :- e(x, y). q(x, y) :- p(x, y).
	.decl r(x:number, y:number) r(x, y) :- p(x, y). .output r', 'r') AS t(x int, y int) ORDER BY 1, 2;
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

-- functors are functions of SQL in the search path, that the program calls with the caller's rights
CREATE FUNCTION twice(x bigint) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT (2 * x)::int';
CREATE FUNCTION "Mixed"(s text, f float8) RETURNS real STABLE LANGUAGE sql AS 'SELECT (length(s) * f)::real';
CREATE FUNCTION nothing(s text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT nullif(s, ''a'')';
CREATE FUNCTION draw(x bigint) RETURNS bigint LANGUAGE sql AS 'SELECT x';
CREATE FUNCTION many(x bigint) RETURNS SETOF bigint STABLE LANGUAGE sql AS 'SELECT x';
CREATE FUNCTION day(x bigint) RETURNS date STABLE LANGUAGE sql AS 'SELECT current_date';
SELECT * FROM gpucol.datalog('.type N <: number .functor twice(x:N):N .functor Mixed(symbol, float):float .functor upper(s:symbol):symbol
	.functor unused(x:number):number
	.decl edge(a:number, b:number) .decl r(a:number, s:symbol, f:float)
	r(@twice(x) + 1, @upper(cat("n", to_string(x))), @Mixed("ab", 0.5)) :- edge(x, _), @twice(x) < 9. r(@twice(@twice(9)), "", 0.0).', 'r') AS t(a int, s text, f float8) ORDER BY a;
SELECT complaint(program) FROM unnest(ARRAY['.functor nix(x:number):number .decl r(x:number) r(@nix(1)).', '.functor draw(x:number):number .decl r(x:number) r(@draw(1)).',
	'.functor many(x:number):number .decl r(x:number) r(@many(1)).', '.functor day(x:number):number .decl r(x:number) r(@day(1)).', '.functor twice(x:number):unsigned .decl r(x:unsigned) r(@twice(1)).',
	'.functor twice(x:number):number .decl r(x:number) r(@twice(1, 2)).', '.functor twice(x:number):number .decl r(x:number) r(@twice("a")).', '.decl r(x:number) r(@twice(1)).',
	E'.functor twice(x:number):number\n.functor twice(x:number):number', '.functor f(a:number, b:number, c:number, d:number):number', '.functor f(a:number):number stateful .decl r(x:number)',
	'.type P = [x:number] .functor f(a:P):number .decl r(x:number) r(@f([1])).', '.functor nothing(s:symbol):symbol .decl r(x:number) r(1) :- @nothing("a") != "b".',
	'.functor twice(x:number):number .decl r(x:number) r(@twice(9223372036854775807)).', '.functor twice(x:unsigned):number .decl r(x:number) r(@twice(18446744073709551615)).', '.functor twice(:number', '.decl r(x:number) r(@).']) AS program;
REVOKE EXECUTE ON FUNCTION twice FROM PUBLIC;
GRANT SELECT ON edge TO pg_read_server_files;
GRANT EXECUTE ON FUNCTION complaint TO pg_read_server_files;
SET ROLE pg_read_server_files;
SELECT complaint('.functor twice(x:number):number .decl r(x:number) r(@twice(1)).');
RESET ROLE;

-- inputs: duplicates count once, in aggregates and for autoinc() too; values at the ends of their types; toasted texts
CREATE TABLE repeated (a smallint, b bigint, s text);
INSERT INTO repeated SELECT i % 7, -(i % 5), repeat('long', 5000) || i % 3 FROM generate_series(1, 1000) i;
INSERT INTO repeated VALUES (32767, 9223372036854775807, 'z'), (-32768, -9223372036854775808, '');
SELECT * FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol) .decl r(n:number, m:number, t:number) r(n, m, t) :- n = count : { repeated(_, _, _) }, m = sum a : { repeated(a, _, _), a > 0, a < 9 }, t = count : { repeated(_, b, _), b < 0 }.', 'r') AS t(n int, m int, t int);
SELECT count(*), count(DISTINCT i) FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol) .decl r(i:number, a:number) r(autoinc(), a) :- repeated(a, _, _).', 'r') AS t(i int, a int);
SELECT count(*), min(a), max(b), min(b), max(length(s)) FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol)', 'repeated') AS t(a int2, b int8, s text);
SELECT a, count(*) FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol) .decl r(a:number, b:number) r(a, b) :- repeated(a, b, _), repeated(a, _, _).', 'r') AS t(a int, b numeric) GROUP BY a ORDER BY a;

-- conditions, groups, first rows and joins above the rows of a program are done on its batches; a value without place is an error all the same
CREATE VIEW reach AS SELECT * FROM gpucol.datalog('.decl n(x:number) n(x) :- x = range(0, 60). .decl path(x:number, y:number, s:symbol) path(x, x + 1, "first") :- n(x). path(x, y + 1, cat("s", to_string(y % 3))) :- path(x, y, _), y < 60.', 'path') AS t(x int, y bigint, s text);
SELECT s, count(*), sum(y), min(x) FROM reach WHERE x % 2 = 0 AND s <> 's1' GROUP BY s HAVING count(*) > 1 ORDER BY s;
SELECT x, y FROM reach WHERE y > 3 ORDER BY y DESC, x LIMIT 3;
SELECT e.a, count(*) FROM edge e JOIN reach r ON r.x = e.a AND r.y <= e.b + 1 GROUP BY e.a ORDER BY e.a;
SELECT e.a, (SELECT count(*) FROM gpucol.datalog(format('.decl r(x:number) r(x) :- x = range(0, %s).', e.b), 'r') AS t(x int) WHERE x % 2 = 0) FROM edge e ORDER BY e.a;
SELECT e.a, q.* FROM edge e, LATERAL (SELECT x % 2 AS odd, count(*) FROM reach r WHERE r.y = e.b + 1 GROUP BY 1) q ORDER BY 1, 2;
SELECT string_agg(s, ',' ORDER BY s), count(DISTINCT y) FROM reach WHERE x = 3;
EXPLAIN (COSTS OFF) SELECT s, count(*) FROM reach WHERE x % 2 = 0 GROUP BY s;
EXPLAIN (COSTS OFF) SELECT x, y FROM reach WHERE y > 3 ORDER BY y DESC LIMIT 3;
SELECT count(*) FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol)', 'repeated') AS t(a int, b int, s text);
SELECT b % 2, count(*) FROM gpucol.datalog('.decl repeated(a:number, b:number, s:symbol)', 'repeated') AS t(a int, b int, s text) GROUP BY 1;
SELECT x % 2, count(*) FROM gpucol.datalog('.decl r(x:unsigned) r(1u). r(18446744073709551615u).', 'r') AS t(x int) GROUP BY 1;
SELECT x % 2, count(*) FROM gpucol.datalog('.decl r(x:unsigned) r(1u). r(18446744073709551615u).', 'r') AS t(x numeric) GROUP BY 1 ORDER BY 1;
SELECT x % 2, count(*) FROM gpucol.datalog('.decl edge(a:number, b:number) .decl r(x:number) r(x * 3000000000) :- edge(x, _).', 'r') AS t(x int) GROUP BY 1;
SELECT count(*) FROM gpucol.datalog('.decl f(x:float) f(0.5). .decl r(x:number) r(as(x, number)) :- f(x).', 'r') AS t(x int);
SELECT d, count(*) FROM gpucol.datalog('.decl r(x:symbol) r("2024-01-01"). r("2024-02-01").', 'r') AS t(d date) WHERE d > '2024-01-05' GROUP BY d;
-- rules, their strata and the order of their joins
CREATE FUNCTION rules(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
		IF line ~ 'Rule|Rounds|GpucolDatalog' THEN RETURN NEXT regexp_replace(line, '^[ >-]+| \(actual.*', '', 'g'); END IF;
	END LOOP;
END $$;
SELECT rules($$SELECT count(*) FROM gpucol.datalog('.decl edge(a:number, b:number) .decl path(a:number, b:number) path(x, y) :- edge(x, y), x < y. path(x, z) :- path(x, y), edge(y, z), !edge(z, x).
	.decl r(a:number, n:number) r(x, n) :- edge(x, _), n = count : { path(x, _) }.', 'r') AS t(a int, n int) WHERE a % 2 = 1$$);
DROP FUNCTION rules;
DROP VIEW reach;
DROP TABLE repeated;

-- records become text in tables
CREATE SCHEMA datalog_language_into;
SELECT * FROM gpucol.datalog_into('.type P = [x:number, y:symbol] .decl p(p:P) .output p p([1, "a"]). .comp C { .decl q(x:number) q(3). .output q } .init c = C', 'datalog_language_into');
TABLE datalog_language_into.p;
TABLE datalog_language_into."c.q";

SET client_min_messages = warning;
DROP SCHEMA datalog_language, datalog_language_into CASCADE;
