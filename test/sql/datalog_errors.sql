-- gpucol.datalog: every complaint names its line and column
CREATE SCHEMA datalog_errors;
SET search_path = datalog_errors;
CREATE TABLE pairs (a int, b int);
INSERT INTO pairs VALUES (1, 2), (2, 3);
CREATE TABLE holes (a int, b int);
INSERT INTO holes VALUES (1, NULL);
CREATE TABLE lines (a numeric, b point);

CREATE FUNCTION complaint(program text, output text DEFAULT 'r') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
BEGIN
	PERFORM * FROM gpucol.datalog(program, output) AS t(x int);
	RETURN NEXT 'no complaint';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT SQLSTATE || ' ' || message || ' / ' || detail;
END $$;

-- lexical
SELECT complaint('.decl r(x:number) r(1). /* open');
SELECT complaint(E'.decl r(x:symbol)\nr("open).');
SELECT complaint('.decl r(x:symbol) r("\q").');
SELECT complaint('.decl r(x:number) r(12abc).');
SELECT complaint('#include "x"');
SELECT complaint(E'.decl r(x:number)\n\n  r(1) ~ 2.');
-- syntax
SELECT complaint('.decl r(x:number) r(1)');
SELECT complaint('.decl r(x:number) r(1) :- .');
SELECT complaint('.decl r(x number)');
SELECT complaint('.decl r(x:number) r(x) :- r(x), x.');
SELECT complaint('.decl r(x:number) r(99999999999999999999).');
SELECT complaint('.decl r(x:number) r(' || repeat('1 + ', 100000) || '1).');
SELECT complaint('.decl r(x:number) r(' || repeat('(', 1000000) || '1).') LIKE '54001%';
-- names
SELECT complaint('.decl r(x:number) .decl r(y:number)');
SELECT complaint('.decl r(x:colour)');
SELECT complaint(E'.type a = b\n.type b = a | number\n.decl r(x:a) r(1).');
SELECT complaint(E'.decl r(x:a)\n.type a = number | b\n.type b <: symbol\nr(1).');
SELECT complaint('.decl r(x:number) r(x) :- s(x).');
SELECT complaint('.decl r(x:number) r(x, y) :- r(x), r(y).');
SELECT complaint('.decl r(x:number');
SELECT complaint('.decl r(x:number) .input s');
SELECT complaint('.decl s(x:number) s(1).');
SELECT complaint('.decl s(x:number) s(1). .output s .decl r(x:number) r(1).');
SELECT complaint(E'.decl r(x:number,\n\ty:number, x:symbol) r(1, 2, "a").');
-- types
SELECT complaint('.decl r(x:number) r("a").');
SELECT complaint('.decl r(x:number) r(1.5).');
SELECT complaint('.decl u(x:unsigned) u(-1).', 'u');
SELECT complaint(E'.decl pairs(a:number, b:number)\n.decl f(x:float)\nf(x) :- pairs(x, _).', 'f');
SELECT complaint('.decl r(x:number) .decl s(x:symbol) s("a"). r(x) :- s(x), x < "b".');
SELECT complaint('.decl r(x:number) .decl s(x:symbol) s("a"). r(1) :- s(x), x < 5.');
SELECT complaint('.decl r(x:number) .decl s(x:symbol) s("a"). r(1) :- s(x), s(y), x = y + 1.');
-- safety
SELECT complaint('.decl r(x:number) r(x).');
SELECT complaint('.decl r(x:number) r(x) :- !r(x).');
SELECT complaint('.decl r(x:number) r(x) :- x = y, y = x.');
SELECT complaint('.decl r(x:number) r(_) :- r(1).');
SELECT complaint('.decl pairs(a:number, b:number) .decl r(x:number) r(n) :- n = count : { pairs(x, y), y < z }.');
SELECT complaint('.decl r(x:number) r(n) :- n = count : r(n).');
SELECT complaint('.decl r(x:number) .decl s(x:number) s(1). r(1) :- !s(x + 1).');
-- "_" where a value is needed: in expressions of atoms, negations, aggregates and heads
SELECT body, complaint(format('.decl s(x:number) s(1). .decl t(x:symbol) t("a"). .decl r(x:number) %s', body))
FROM unnest(ARRAY['r(1) :- s(_ - 1).', 'r(1) :- s(-_).', 'r(1) :- s(1 + (2 * _)).', 'r(1) :- !s(_ + 1).', 'r(1) :- t(cat(_, "a")).',
	'r(1) :- t(to_string(_)).', 'r(1) :- s(max(_, 1)).', 'r(1) :- s(min(1, 2, _)).', 'r(1) :- s(bnot _).', 'r(1) :- s(strlen(_)).',
	'r(1) :- s(_ ^ 2).', 'r(1) :- s(x), x = _.', 'r(1) :- s(x), _ < x.', 'r(1) :- s(x), x = -_.', 'r(1) :- match(_, "a").',
	'r(n) :- n = count : s(-_).', 'r(n) :- n = count : { s(x), x < _ }.', 'r(n) :- n = count : { !s(x + _), s(x) }.',
	'r(n) :- n = sum _ : s(_).', 'r(n) :- s(n), s(max _ + 1 : s(_)).', 'r(n) :- n = sum x + (count : s(_ + x)) : s(x).',
	'r(count : s(1 - _)).', 'r(_ + 1) :- s(1).', 'r(max(_, 1)).', 'r(1), r(-_) :- s(1).', 'r(1) :- s(1); s(2 + _).', 'r(1) :- !(s(1), s(2 + _)).',
	'r(_).', 'r(_) <= r(_) :- _ < _.', 'r(a) <= r(b) :- b < -_.', 's(_), r(1) :- s(_).']) AS body;
-- strata
SELECT complaint(E'.decl pairs(a:number, b:number)\n.decl r(x:number)\n.decl s(x:number)\nr(x) :- pairs(x, _), !s(x).\ns(x) :- r(x).');
SELECT complaint('.decl pairs(a:number, b:number) .decl r(x:number) r(n) :- pairs(x, _), n = count : { r(y), y < x }.');
-- what Souffle has and gpucol.datalog has not
SELECT complaint('.limitsize r(n=3)');
SELECT complaint('.lattice L');
SELECT complaint('.decl r(x:number) eqrel');
SELECT complaint('.decl r(x:number) r(@f(1)).');
SELECT complaint('.decl r(x:number) r("a" ^ 3).');
SELECT complaint('.decl r(x:float) r(2.0 band 1.0).');
SELECT complaint('.decl r(x:symbol) r(strlen("a")).');
SELECT complaint('.decl r(x:number) r(substr("a", 1)).');
SELECT complaint('.decl r(x:number) r(x) :- x = to_number("1x").');
SELECT complaint('.decl r(x:number) r(2 ^ 63).');
SELECT complaint('.decl r(x:number) r(x) :- !(x = 1).');
SELECT complaint('.decl r(x:number) .decl s(x:number) s(1). r(x) :- s(x), !(r(x), x > 3).');
SELECT complaint('.decl r(x:symbol) r("a\q").');
SELECT complaint('.decl r(x:number) r([1, 2]).');
SELECT complaint('.decl r(x:[a:number])');
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number) r(1, 2). r(2, 2). r(2, 1). r(x, a) <= r(y, b) :- a < b.', 'r') AS t(x int, y int) ORDER BY 1, 2;
-- subsumption between some of the rows only: those whose keys are equal, or that hold the value as a key
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number, z:number) r(1, 1, 3). r(1, 1, 2). r(1, 2, 1). r(k, k, a) <= r(k, k, b) :- b < a.', 'r') AS t(x int, y int, z int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number) r(1, 2). r(2, 2). r(2, 1). r(a, a) <= r(a, b) :- b < a.', 'r') AS t(x int, y int) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl r(x:number, y:number) r(1, 2). r(2, 2). r(2, 1). r(b, a) <= r(b, b) :- b < a.', 'r') AS t(x int, y int) ORDER BY 1, 2;
-- numbers without digits; powers of floats that PostgreSQL refuses
SELECT complaint('.decl r(x:number) r(0b).');
SELECT complaint('.decl r(x:number) r(0x).');
SELECT complaint('.decl f(x:float) f(-1.0). .decl r(x:float) r(x ^ 0.5) :- f(x).');
SELECT complaint('.decl f(x:float) f(10.0). .decl r(x:float) r(x ^ 400.0) :- f(x).');
SELECT complaint('.decl f(x:float) f(0.0). .decl r(x:float) r(x ^ -1.0) :- f(x).');
-- groups deeper than the stack: each is read ahead once
SET statement_timeout = '30s';
SELECT complaint('.decl r(x:number) r(1) :- ' || repeat('(', 300000) || '1 = 1' || repeat(')', 300000) || '.') LIKE '54001%';
RESET statement_timeout;
-- a program with each of its characters left out, or another in its place: whatever is refused has a place
CREATE FUNCTION mutants(program text) RETURNS TABLE (tried bigint, refused bigint, placeless text) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE c <> 'no complaint'), string_agg(DISTINCT regexp_replace(c, '"[^"]*"', '""', 'g'), E'\n') FILTER (WHERE c <> 'no complaint' AND c !~ 'Line \d+, column \d+ of the program')
	FROM generate_series(1, length(program)) i, unnest(ARRAY['', '(', '"', '@', '.', ':', '_', '7', '!', '{', '$', 'x', ';', '[']) other,
		LATERAL complaint(overlay(program PLACING other FROM i FOR 1), 'r') c $$;
SELECT (m).* FROM (SELECT mutants(E'.type P = [a:number, b:symbol]\n.functor abs(x:number):number\n.decl pairs(a:number, b:number)\n.decl p(p:P)\n.decl r(x:number)\np([a, "s"]) :- pairs(a, _).\nr(@abs(x) + n) :- p([x, _]), n = count : { pairs(_, y), y > 1 }, !pairs(x, 7).') AS m) t;
SELECT (m).* FROM (SELECT mutants(E'.comp C<T> : B { .decl q(x:T, y:T) eqrel }\n.comp B { .decl s(x:number) s(1). }\n.init c = C<number>\n.decl r(x:number) choice-domain x\nr(x) :- c.s(x), x = range(0, 3) ; c.q(x, 1), min(x, 2) < as(4u, number).\n.output r') AS m) t;
-- inputs
SELECT complaint('.decl r(x:number) .input r');
SELECT complaint('.decl pairs(other:number)', 'pairs');
SELECT complaint('.decl lines(a:number, b:symbol) .decl r(x:number) r(1) :- lines(_, _).');
INSERT INTO pairs VALUES (-1, 3);
SELECT complaint('.decl pairs(a:unsigned, b:number) .decl r(x:unsigned) r(x) :- pairs(x, _).');
DELETE FROM pairs WHERE a = -1;
SELECT * FROM gpucol.datalog('.decl holes(a:number, b:number)', 'holes') AS t(a int, b int);
-- results
SELECT * FROM gpucol.datalog('.decl pairs(a:number, b:number)', 'pairs') AS t(a int);
SELECT * FROM gpucol.datalog('.decl r(a:number) r(40000).', 'r') AS t(a smallint);
SELECT * FROM gpucol.datalog('.decl r(a:number) r(3000000000).', 'r') AS t(a int);
SELECT gpucol.datalog_into('.decl r(a:number) r(1).', 'datalog_errors');
SELECT gpucol.datalog_into('.decl r(a:number) r(1). .output r', 'no_such_schema');
-- an event trigger that gives the new table an index, or drops it
CREATE FUNCTION meddle() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format(current_setting('test.meddle'), (SELECT object_identity FROM pg_event_trigger_ddl_commands()));
END $$;
CREATE EVENT TRIGGER meddle ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION meddle();
SET test.meddle = 'CREATE INDEX ON %s (a)';
SELECT gpucol.datalog_into('.decl s(a:number) s(1). .output s', 'datalog_errors');
SET test.meddle = 'DROP TABLE %s';
SELECT gpucol.datalog_into('.decl s(a:number) s(1). .output s', 'datalog_errors');
SET test.meddle = 'ALTER TABLE %s ADD b int';
SELECT gpucol.datalog_into('.decl s(a:number) s(1). .output s', 'datalog_errors');
SET test.meddle = 'GRANT SELECT ON %s TO PUBLIC';
SELECT gpucol.datalog_into('.decl s(a:number) s(1). .output s', 'datalog_errors');
DROP EVENT TRIGGER meddle;
-- a value from 2^63 on: the hint says how it can be stored
SELECT * FROM gpucol.datalog('.decl r(a:unsigned) r(18446744073709551615u).', 'r') AS t(a int8);
SELECT gpucol.datalog_into('.decl r(a:unsigned) r(1u). r(18446744073709551615u). .output r', 'datalog_errors');
CREATE TABLE r AS SELECT * FROM gpucol.datalog('.decl r(a:unsigned) r(1u). r(18446744073709551615u). .output r', 'r') AS t(a numeric);
SELECT * FROM r ORDER BY a;
-- while running: the rule is named
SET gpucol.engine = cpu;
SELECT * FROM gpucol.datalog('.decl r(a:number) r(9223372036854775807). r(x + 1) :- r(x).', 'r') AS t(a int8);
SELECT * FROM gpucol.datalog('.decl r(a:number) r(1). r(1 / (x - 1)) :- r(x).', 'r') AS t(a int8);
SELECT * FROM gpucol.datalog('.decl pairs(a:number, b:number)
.decl s, r(a:number)
s(a) :- pairs(a, _).
s(a * 2) :- s(a), a < 100.
r(x), s(x) :-
	pairs(x, y),
	x / (y - 3) > 0.
r(x) :- s(x).', 'r') AS t(a int8);
SELECT gpucol.datalog_into('.decl t(s:symbol)
t("1"). t("x7").
.output m
.decl m(a:number)
m(a) :- t(s), a = to_number(s), a > 0.', 'datalog_errors');
SELECT * FROM gpucol.datalog(E'.decl pairs(a:number, b:number)\n.decl r(a:number)\nr(s) :- s = sum x * 9223372036854775807 : pairs(x, _).', 'r') AS t(a int8);
SELECT * FROM gpucol.datalog(E'.decl pairs(a:number, b:number)\n.decl r(a:number)\nr(2 ^ 63) :- pairs(1, _).', 'r') AS t(a int8);
-- a value that does not fit the result is no rule's fault
SELECT * FROM gpucol.datalog(E'.decl pairs(a:number, b:number)\n.decl r(a:number)\nr(2 ^ 40) :- pairs(1, _).', 'r') AS t(a int);
RESET gpucol.engine;
SET gpucol.max_recursion_rounds = 50;
SELECT * FROM gpucol.datalog('.decl r(a:number) r(1). r(x + 1) :- r(x).', 'r') AS t(a int8);
RESET gpucol.max_recursion_rounds;
SET gpucol.recursive_memory_limit = '8MB';
\set VERBOSITY terse
SELECT count(*) FROM gpucol.datalog('.decl r(a:number) r(1). r(x + 1) :- r(x).', 'r') AS t(a int8);
\set VERBOSITY default
RESET gpucol.recursive_memory_limit;
SET statement_timeout = '200ms';
SELECT count(*) FROM gpucol.datalog('.decl r(a:number) r(1). r(x + 1) :- r(x).', 'r') AS t(a int8);
RESET statement_timeout;
-- more expressions than a plan can number
\set VERBOSITY terse
SELECT count(*) FROM gpucol.datalog('.decl r(a:number) r(1). .decl s(a:number) ' ||
	(SELECT string_agg('s(strlen(to_string(a))) :- r(a).', E'\n') FROM generate_series(1, 33000)), 's') AS t(a int8);
\set VERBOSITY default
-- the session goes on
SELECT count(*) FROM gpucol.datalog('.decl pairs(a:number, b:number)', 'pairs') AS t(a int, b int);

SET client_min_messages = warning;
DROP SCHEMA datalog_errors CASCADE;
