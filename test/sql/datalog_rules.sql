-- gpucol.datalog: results against plain SQL and against iteration in PL/pgSQL
CREATE SCHEMA datalog_rules;
SET search_path = datalog_rules;

CREATE TABLE edge (src int, dst int);
INSERT INTO edge SELECT i * 7919 % 101, i * 104729 % 97 FROM generate_series(1, 180) i;
INSERT INTO edge SELECT * FROM edge LIMIT 20;
CREATE TABLE named (src text, dst text);
INSERT INTO named SELECT 'n' || src, 'n' || dst FROM edge;

-- The truth: closure and same generation by PostgreSQL.
SET gpucol.enable_recursive = off;
CREATE TABLE tc_truth AS
WITH RECURSIVE tc AS (SELECT src AS x, dst AS y FROM edge
	UNION SELECT tc.x, edge.dst FROM tc JOIN edge ON edge.src = tc.y)
SELECT * FROM tc;
CREATE TABLE sg_truth AS
WITH RECURSIVE sg AS (SELECT a.dst AS x, b.dst AS y FROM edge a JOIN edge b USING (src) WHERE a.dst <> b.dst
	UNION SELECT a.dst, b.dst FROM sg JOIN edge a ON a.src = sg.x JOIN edge b ON b.src = sg.y)
SELECT * FROM sg;
RESET gpucol.enable_recursive;

-- Compare a program with a query, for every strategy and several threads.
CREATE FUNCTION same_rows(program text, output text, truth text, columns text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	strategy text;
	threads int;
	mine bigint;
	theirs bigint;
	differing bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE truth AS %s', truth);
	SELECT count(*) FROM truth INTO theirs;
	FOREACH strategy IN ARRAY '{auto,hisa,bitmap}'::text[] LOOP
		FOREACH threads IN ARRAY '{1,3}'::int[] LOOP
			PERFORM set_config('gpucol.recursive_strategy', strategy, true);
			PERFORM set_config('gpucol.cpu_threads', threads::text, true);
			EXECUTE format('CREATE TEMP TABLE mine AS SELECT * FROM gpucol.datalog(%L, %L) AS t(%s)', program, output, columns);
			SELECT (SELECT count(*) FROM mine), count(*) FROM
				((TABLE mine EXCEPT ALL TABLE truth) UNION ALL (TABLE truth EXCEPT ALL TABLE mine)) t
				INTO mine, differing;
			DROP TABLE mine;
			IF differing <> 0 OR mine <> theirs THEN
				RETURN format('strategy %s: %s rows, not %s; %s differ', strategy, mine, theirs, differing);
			END IF;
		END LOOP;
	END LOOP;
	DROP TABLE truth;
	RETURN 'same ' || (theirs > 0)::text;
END $$;

-- closure: left-linear, right-linear, non-linear, of text
SELECT same_rows('
.decl edge(a:number, b:number)
.decl tc(a:number, b:number)
tc(x, y) :- edge(x, y).
tc(x, z) :- tc(x, y), edge(y, z).', 'tc', 'TABLE tc_truth', 'x int, y int');
SELECT same_rows('
.decl edge(a:number, b:number)
.decl tc(a:number, b:number)
tc(x, y) :- edge(x, y).
tc(x, z) :- edge(x, y), tc(y, z).', 'tc', 'TABLE tc_truth', 'x int, y int');
SELECT same_rows('
.decl edge(a:number, b:number)
.decl tc(a:number, b:number)
tc(x, y) :- edge(x, y).
tc(x, z) :- tc(x, y), tc(y, z).', 'tc', 'TABLE tc_truth', 'x int, y int');
SELECT same_rows('
.type Node <: symbol
.decl named(a:Node, b:Node)
.decl tc(a:Node, b:Node)
tc(x, y) :- named(x, y).
tc(x, z) :- tc(x, y), named(y, z).', 'tc', $$SELECT 'n' || x, 'n' || y FROM tc_truth$$, 'x text, y text');

-- declarations in any order, several relations in one; the order of joins, by size and columns that are known
SELECT * FROM gpucol.datalog('
.output near(IO=stdout)
near(x + 1) :- start(x). start(1).
near(y) :- near(x), edge(x, y), y < 20.
.decl start, near(x:Node) brie
.type Node = Inner | Outer
.type Inner <: number
.type Outer = Inner
.decl edge(x:Node, y:Node)
.input edge(IO=file, filename="edge.facts")
.printsize near', 'near') AS t(x int) ORDER BY 1;
SET log_statement = none;
SET client_min_messages = debug1;
SELECT count(*) FROM gpucol.datalog('
.decl edge(a:number, b:number)
.decl few(a:number) few(7). few(8).
.decl tc(a:number, b:number)
tc(x, y) :- edge(x, y), few(x), !few(y).
tc(x, z) :- tc(x, y), edge(y, z), few(x), x != z.
tc(x, z) :- tc(x, y), tc(y, z).', 'tc') AS t(x int, y int);
RESET client_min_messages;

-- same generation
SELECT same_rows('
.decl edge(a:number, b:number)
.input edge
.decl sg(a:number, b:number)
.output sg
sg(x, y) :- edge(p, x), edge(p, y), x != y.
sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).', 'sg', 'TABLE sg_truth', 'x int, y int');

-- mutual recursion: odd and even distances; several heads, alternatives
SELECT same_rows('
.decl edge(a:number, b:number)
.decl odd(a:number, b:number)
.decl even(a:number, b:number)
odd(x, y) :- edge(x, y).
odd(x, z) :- even(x, y), edge(y, z).
even(x, z) :- odd(x, y), edge(y, z).', 'even',
'WITH RECURSIVE d AS (SELECT src AS x, dst AS y, 1 AS n FROM edge
	UNION SELECT d.x, e.dst, 1 - n FROM d JOIN edge e ON e.src = d.y) SELECT x, y FROM d WHERE n = 0',
'x int, y int');
SELECT same_rows('
.decl edge(a:number, b:number)
.decl node(a:number)
.decl copy(a:number, b:symbol)
node(x), copy(x, "node") :- (edge(x, _) ; edge(_, x)), x < 50.', 'copy',
$$SELECT DISTINCT x, 'node' FROM (SELECT src FROM edge UNION SELECT dst FROM edge) t(x) WHERE x < 50$$,
'x int, y text');

-- stratified negation, constants, repeated variables, comparison, arithmetic
SELECT same_rows('
.decl edge(a:number, b:number)
.decl tc(a:number, b:number)
tc(x, y) :- edge(x, y).
tc(x, z) :- tc(x, y), edge(y, z).
.decl apart(a:number, b:number, s:number)
apart(x, y, x * 2 - y) :- edge(x, _), edge(_, y), !tc(x, y), x != y, x + 1 <= y.', 'apart',
'SELECT DISTINCT a.src, b.dst, a.src * 2 - b.dst FROM edge a, edge b WHERE a.src <> b.dst AND a.src + 1 <= b.dst
	AND NOT EXISTS (SELECT FROM tc_truth WHERE x = a.src AND y = b.dst)',
'x int, y int, z int');
SELECT same_rows('
.decl edge(a:number, b:number)
.decl q(a:number)
q(x) :- edge(18, x).
q(x) :- edge(x, x).
q(y) :- x = 5, edge(x, y).', 'q',
'SELECT dst FROM edge WHERE src = 18 UNION SELECT src FROM edge WHERE src = dst UNION SELECT dst FROM edge WHERE src = 5',
'x int');

-- aggregates, over nothing as well
SELECT same_rows('
.decl edge(a:number, b:number)
.decl node(a:number)
node(x) :- edge(x, _).
node(x) :- edge(_, x).
.decl out(a:number, n:number, s:number)
out(x, n, s) :- node(x), n = count : edge(x, _), s = sum y : { edge(x, y), y > 10 }.', 'out',
'SELECT x, (SELECT count(DISTINCT dst) FROM edge WHERE src = x),
	(SELECT coalesce(sum(DISTINCT dst), 0) FROM edge WHERE src = x AND dst > 10)
	FROM (SELECT src FROM edge UNION SELECT dst FROM edge) t(x)',
'x int, n bigint, s bigint');
SELECT same_rows('
.decl edge(a:number, b:number)
.decl extreme(a:number, lo:number, hi:number)
extreme(x, min y : edge(x, y), max y : { edge(x, y), y < 60 }) :- edge(x, _).', 'extreme',
'SELECT src, min(dst), max(dst) FILTER (WHERE dst < 60) FROM edge GROUP BY src HAVING min(dst) < 60',
'x int, lo int, hi int');

-- the expression of an aggregate in parentheses, which are not those of a functor
SELECT same_rows('
.decl edge(a:number, b:number)
.decl r(n:number, v:number)
r(1, v) :- v = sum (y + 1) : edge(18, y).
r(2, v) :- v = max (y) * 2 : { edge(_, y), y < max(10, 60) }.
r(3, min (x - y) : edge(x, y)).
r(4, v) :- (v = max(3, min (y) : edge(_, y))).', 'r',
'SELECT 1, sum(DISTINCT dst + 1) FROM edge WHERE src = 18 UNION ALL SELECT 2, max(dst) * 2 FROM edge WHERE dst < 60
	UNION ALL SELECT 3, min(src - dst) FROM edge UNION ALL SELECT 4, greatest(3, min(dst)) FROM edge', 'n int, v bigint');

-- tests that compute nothing come before what would raise an error without them
SELECT same_rows('
.decl edge(a:number, b:number)
.decl q(a:number, b:number)
q(x, y) :- y = 100 / (x - 18), !edge(x, x), edge(x, _), x != 18.', 'q',
'SELECT DISTINCT src, 100 / nullif(src - 18, 0) FROM edge a WHERE src <> 18 AND NOT EXISTS (SELECT FROM edge b WHERE b.src = a.src AND b.dst = a.src)',
'x int, y int');

-- shortest paths and components by subsumption
CREATE VIEW both_ways AS SELECT src, dst FROM edge UNION SELECT dst, src FROM edge;
SELECT same_rows('
.decl edge(a:number, b:number)
.decl dist(a:number, d:number)
dist(7, 0).
dist(y, d + 1) :- dist(x, d), edge(x, y).
dist(x, a) <= dist(x, b) :- b < a.', 'dist',
'WITH RECURSIVE d AS (SELECT 7 AS x, 0 AS n UNION SELECT e.dst, n + 1 FROM d JOIN edge e ON e.src = d.x WHERE n < 100)
	SELECT x, min(n) FROM d GROUP BY x',
'x int, d int');
SELECT same_rows('
.decl both_ways(a:number, b:number)
.decl component(a:number, c:number)
component(x, x) :- both_ways(x, _).
component(y, c) :- component(x, c), both_ways(x, y).
component(x, a) <= component(x, b) :- b <= a.', 'component',
'WITH RECURSIVE c AS (SELECT src AS x, src AS y FROM both_ways UNION SELECT c.x, b.dst FROM c JOIN both_ways b ON b.src = c.y)
	SELECT x, min(y) FROM c GROUP BY x',
'x int, c int');

-- the alias analysis of the HISA paper, against naive iteration
CREATE TABLE assign AS SELECT DISTINCT i % 23 AS a, i * 31 % 29 AS b FROM generate_series(1, 24) i;
CREATE TABLE dereference AS SELECT DISTINCT i % 19 AS a, i * 17 % 27 AS b FROM generate_series(1, 30) i;
CREATE TABLE flow (a int, b int, UNIQUE (a, b));
CREATE TABLE alias (a int, b int, UNIQUE (a, b));
CREATE TABLE memory (a int, b int, UNIQUE (a, b));
DO $$
DECLARE
	n bigint := -1;
	m bigint := 0;
BEGIN
	INSERT INTO flow SELECT a, b FROM assign UNION SELECT a, a FROM assign UNION SELECT b, b FROM assign;
	INSERT INTO memory SELECT a, a FROM assign UNION SELECT b, b FROM assign;
	WHILE n <> m LOOP
		n := m;
		INSERT INTO flow SELECT x.a, y.b FROM flow x JOIN flow y ON x.b = y.a ON CONFLICT DO NOTHING;
		INSERT INTO alias SELECT x.b, y.b FROM flow x JOIN flow y ON x.a = y.a ON CONFLICT DO NOTHING;
		INSERT INTO flow SELECT x.a, y.b FROM assign x JOIN memory y ON x.b = y.a ON CONFLICT DO NOTHING;
		INSERT INTO memory SELECT x.b, z.b FROM dereference x JOIN alias y ON x.a = y.a JOIN dereference z ON y.b = z.a ON CONFLICT DO NOTHING;
		INSERT INTO alias SELECT x.b, z.b FROM flow x JOIN memory y ON x.a = y.a JOIN flow z ON y.b = z.a ON CONFLICT DO NOTHING;
		SELECT (SELECT count(*) FROM flow) + (SELECT count(*) FROM alias) + (SELECT count(*) FROM memory) INTO m;
	END LOOP;
END $$;
\set program `cat "$PG_ABS_SRCDIR"/include/cspa.dl`
CREATE TABLE programs (name text, program text);
INSERT INTO programs VALUES ('cspa', :'program');
SELECT same_rows(program, 'ValueFlow', 'TABLE flow', 'a int, b int') FROM programs;
SELECT same_rows(program, 'ValueAlias', 'TABLE alias', 'a int, b int') FROM programs;
SELECT same_rows(program, 'MemoryAlias', 'TABLE memory', 'a int, b int') FROM programs;

-- results as tables
CREATE SCHEMA datalog_into;
SELECT relation, row_count = (CASE relation WHEN 'ValueFlow' THEN (SELECT count(*) FROM flow)
	WHEN 'ValueAlias' THEN (SELECT count(*) FROM alias) ELSE (SELECT count(*) FROM memory) END) AS right_count
FROM programs, gpucol.datalog_into(program, 'datalog_into');
SELECT count(*) FROM (TABLE datalog_into."ValueAlias" EXCEPT TABLE alias) t;

-- types: float, unsigned, symbols with quotes, facts, columns of other types
SELECT * FROM gpucol.datalog('
.decl v(f:float, u:unsigned, s:symbol)
v(1.5, 7, "a\"b\n"). v(-0.0, 18446744073709551615u, "").
.decl w(f:float, u:unsigned, s:symbol)
w(f * 2, u / 2, s) :- v(f, u, s).
w(max(f, 1.0, 0.25), u % 10, "x") :- v(f, u, s), s = "".', 'w') AS t(f float8, u numeric, s text) ORDER BY 1, 2;
SELECT * FROM gpucol.datalog('.decl p() .decl q(x:number) p() :- 1 < 2. q(1) :- p(). q(2) :- !p().', 'q') AS t(x smallint);
SELECT * FROM gpucol.datalog('.decl q(x:number, y:number) q(0x10, 0b101). q(-9223372036854775808, -3 % 2).', 'q') AS t(x bigint, y text) ORDER BY 1;

-- functors, against PostgreSQL's functions over random values; operators bind as in Souffle
CREATE TABLE drawn AS SELECT i AS id, (h & 1023) - 512 AS a, (h >> 10 & 7) AS b, substr(md5(i::text), 1, i % 7) AS s, substr(md5(i::text), 3, i % 3) AS t
	FROM generate_series(1, 300) i, LATERAL (SELECT abs(hashint4(i))) x(h);
INSERT INTO drawn VALUES (301, 3, 2, 'Größe', 'ö'), (302, 0, 0, '', ''), (303, -512, 7, E'a"\\b', '"');
SELECT same_rows('.decl drawn(id:number, a:number, b:number, s:symbol, t:symbol) .decl r(id:number, x:number, y:number)
	r(id, 1, a band b) :- drawn(id, a, b, _, _). r(id, 2, a bor b) :- drawn(id, a, b, _, _). r(id, 3, a bxor b) :- drawn(id, a, b, _, _).
	r(id, 4, bnot a) :- drawn(id, a, b, _, _). r(id, 5, a bshl b) :- drawn(id, a, b, _, _). r(id, 6, a bshr b) :- drawn(id, a, b, _, _).
	r(id, 7, a ^ b) :- drawn(id, a, b, _, _). r(id, 8, (a land b) + 2 * (a lor b) + 4 * (a lxor b) + 8 * lnot a) :- drawn(id, a, b, _, _).
	r(id, 9, -a ^ 2 + b bshl 1 band 255 bor a * 2) :- drawn(id, a, b, _, _).', 'r',
	'SELECT id, x, y FROM drawn, LATERAL (VALUES (1, a & b::int8), (2, a | b), (3, a # b), (4, ~a), (5, a::int8 << b), (6, a >> b), (7, (a::numeric ^ b)::int8),
	(8, (a <> 0 AND b <> 0)::int + 2 * (a <> 0 OR b <> 0)::int + 4 * ((a <> 0) <> (b <> 0))::int + 8 * (a = 0)::int),
	(9, ((-(a * a) + b)::int8 << 1 & 255) | a * 2)) v(x, y)', 'id int, x int, y int8');
SELECT same_rows('.decl drawn(id:number, a:number, b:number, s:symbol, t:symbol) .decl r(id:number, x:number, y:symbol)
	r(id, 1, cat(s, "/", t)) :- drawn(id, _, _, s, t). r(id, 2, substr(s, b, 2)) :- drawn(id, _, b, s, _). r(id, 3, to_string(a)) :- drawn(id, a, _, _, _).
	r(id, 4, to_string(strlen(s))) :- drawn(id, _, _, s, _). r(id, 5, t) :- drawn(id, _, _, s, t), contains(t, s). r(id, 6, s) :- drawn(id, _, _, s, t), s > t.
	r(id, 7, s) :- drawn(id, _, _, s, t), s <= t. r(id, 8, s) :- drawn(id, _, _, s, _), match("[0-9a]+.*", s). r(id, 9, s) :- drawn(id, _, _, s, t), !(contains(t, s), s > "5").
	r(id, 10, to_string(to_number(to_string(a)) + to_number(to_float(b) * 1.5))) :- drawn(id, a, b, _, _).', 'r',
	'SELECT id, x, y FROM drawn, LATERAL (VALUES (1, s || ''/'' || t), (2, CASE WHEN b <= length(s) THEN substr(s, b + 1, 2) ELSE '''' END), (3, a::text), (4, length(s)::text),
	(5, CASE WHEN strpos(s, t) > 0 OR t = '''' THEN t END), (6, CASE WHEN s > t COLLATE "C" THEN s END), (7, CASE WHEN s <= t COLLATE "C" THEN s END),
	(8, CASE WHEN s ~ ''^[0-9a]+.*$'' THEN s END), (9, CASE WHEN NOT ((strpos(s, t) > 0 OR t = '''') AND s > ''5'' COLLATE "C") THEN s END),
	(10, (a + trunc(b * 1.5)::int)::text)) v(x, y) WHERE y IS NOT NULL', 'id int, x int, y text');
-- groups in negations of groups, and a negation as deep as one writes it
SELECT same_rows('.decl drawn(id:number, a:number, b:number, s:symbol, t:symbol) .decl r(id:number, n:number)
	r(id, 1) :- drawn(id, a, b, _, _), !(a > 3, !(b < 2; !(a = b))). r(id, 2) :- drawn(id, a, b, _, _), !((a < b; !(a = 1, b = 1)), !(b > 4)).
	r(id, 3) :- drawn(id, a, b, s, t), !(!((a = b)); !(!(contains(s, t)), a < 9)). r(id, 4) :- drawn(id, a, _, _, _), ' || repeat('!(', 61) || 'a = 1' || repeat(')', 61) || '.', 'r',
	'SELECT id, n FROM drawn, LATERAL (VALUES (1, NOT (a > 3 AND NOT (b < 2 OR NOT a = b))), (2, NOT ((a < b OR NOT (a = 1 AND b = 1)) AND NOT b > 4)),
	(3, NOT (NOT a = b OR NOT (NOT (strpos(t, s) > 0 OR s = '''') AND a < 9))), (4, a <> 1)) v(n, c) WHERE c', 'id int, n int');
-- computed texts in recursion, in the body of an aggregate, as keys of joins
SELECT * FROM gpucol.datalog('.decl w(s:symbol, n:number) w("", 0). w(cat(s, to_string(n % 3)), n + 1) :- w(s, n), n < 5.
	.decl r(n:number, s:symbol) r(strlen(s), s) :- w(s, _). r(c, "012") :- c = count : { w(s, n), contains("1", s), n bxor 1 > 2 }.
	r(-1, s) :- w(s, _), w(cat(s, "2"), _).', 'r') AS t(n int, s text) ORDER BY n, s COLLATE "C";
-- types by their old names, qualifiers, negated groups, escapes
SELECT * FROM gpucol.datalog('.number_type Id .symbol_type Name .type Both = Id
	.decl n(i:Both, s:Name) brie n(1, "a"). n(2, "b"). n(7, "b"). n(9, "c"). .decl r(i:Id, s:Name) output
	r(i, s) :- n(i, s), !(s = "b", i < 5 ; s = "c"). r(0, "tab\there, quote\'', two
lines").', 'r') AS t(i int, s text) ORDER BY i;
-- rules of thousands of literals, in the worst order
CREATE TABLE ring (a int, b int) USING gpucol;
INSERT INTO ring SELECT i, (i + 1) % 3 FROM generate_series(0, 2) i;
ANALYZE ring;
SELECT * FROM gpucol.datalog('.decl ring(a:number, b:number) .decl r(a:number, b:number) r(x0, x2000) :- ' ||
	(SELECT string_agg(format('ring(x%s, x%s)', i, i + 1), ', ' ORDER BY i DESC) FROM generate_series(0, 1999) i) || '.', 'r') AS t(a int, b int) ORDER BY a;
SELECT * FROM gpucol.datalog('.decl ring(a:number, b:number) .decl r(a:number, b:number) r(x0, x2000) :- ' ||
	(SELECT string_agg(format('x%s = x%s + 1, x%s > x0, !ring(x%s, x0)', i + 1, i, i + 1, i + 1), ', ' ORDER BY i DESC) FROM generate_series(0, 1999) i) ||
	', ring(x0, _).', 'r') AS t(a int, b int) ORDER BY a;
SELECT count(*), min(b), max(b) FROM gpucol.datalog('.decl ring(a:number, b:number) .decl r(a:number, b:number) r(x0, x1) :- ' ||
	(SELECT string_agg(format('ring(x0, x%s), x%s = x1', i, i), ', ' ORDER BY i DESC) FROM generate_series(2, 1500) i) || ', ring(x0, x1).', 'r') AS t(a int, b int);

-- a thousand variables that all stay live over a thousand atoms, of more rows than a vector of theirs has
CREATE TABLE loops (a int, b int) USING gpucol;
INSERT INTO loops SELECT i, i FROM generate_series(1, 100) i;
SET gpucol.recursive_memory_limit = '256MB';
SELECT count(*), sum(a), sum(b) FROM gpucol.datalog('.decl loops(a:number, b:number) .decl none(a:number, b:number) none(0, 0). .decl r(a:number, b:number) r(x0, x1000) :- ' ||
	(SELECT string_agg(format('loops(x%s, x%s), !none(x%s, x%s)', i, i + 1, i, 1000 - i), ', ' ORDER BY i) FROM generate_series(0, 999) i) || '.', 'r') AS t(a int, b int);
RESET gpucol.recursive_memory_limit;
DROP TABLE loops;

-- tens of thousands of relations: a chain declared from its end, one with negations, and a cycle of some thousand
CREATE FUNCTION chain(n int, rule text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('.decl r%s(a:number)', i), ' ' ORDER BY i DESC) || ' r0(1). r0(2). ' ||
		string_agg(replace(replace(rule, '$i', i::text), '$j', (i - 1)::text), ' ' ORDER BY i) FILTER (WHERE i > 0) FROM generate_series(0, n) i
$$;
SET gpucol.engine = cpu;
SELECT count(*), max(x) FROM gpucol.datalog(chain(30000, 'r$i(x) :- r$j(x).'), 'r30000') AS t(x int);
SELECT count(*), max(x) FROM gpucol.datalog(chain(5000, 'r$i(x) :- r$j(x), !r$j(y), y = x + 2.'), 'r5000') AS t(x int);
SELECT count(*), max(x) FROM gpucol.datalog(chain(2000, 'r$i(x) :- r$j(x).') || ' r0(y) :- r2000(x), y = x + 1, y < 5.', 'r1000') AS t(x int);
RESET gpucol.engine;
DROP FUNCTION chain;

-- atoms that form a cycle, over rows of which some values have very many: those of the least are walked
CREATE TABLE skewed AS SELECT DISTINCT (i * 7919 % 300)::bigint * (i * 7919 % 300) * (i * 7919 % 300) / 200000 AS a, (i * 104729 % 310)::bigint * (i * 104729 % 310) * (i * 104729 % 310) / 200000 AS b FROM generate_series(1, 2600) i;
INSERT INTO skewed SELECT * FROM skewed LIMIT 9;
CREATE TABLE word AS SELECT 'w' || a AS a, 'w' || b AS b FROM skewed;
CREATE FUNCTION same_cycle(head text, body text, query text, declared text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT same_rows(format('.decl skewed(a:number, b:number)
.decl word(a:symbol, b:symbol)
.decl t(%s)
%s
t(%s) :- %s.', regexp_replace(head, '(\w+)', '\1:' || CASE WHEN body LIKE 'word%' THEN 'symbol' ELSE 'number' END, 'g'), declared, head, body), 't',
		'SELECT DISTINCT ' || query, regexp_replace(head, '(\w+)', '\1 ' || CASE WHEN body LIKE 'word%' THEN 'text' ELSE 'bigint' END, 'g'))
$$;
SELECT same_cycle('x, y, z', 'skewed(x, y), skewed(y, z), skewed(x, z)', 'p.a x, p.b y, q.b z FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = p.a AND r.b = q.b'),
	same_cycle('x, y, z', 'skewed(x, y), skewed(y, z), skewed(z, x)', 'p.a x, p.b y, q.b z FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = q.b AND r.b = p.a'),
	same_cycle('x, z', 'skewed(x, y), skewed(y, z), skewed(x, z)', 'p.a x, q.b z FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = p.a AND r.b = q.b'),
	same_cycle('x, y, z', 'word(x, y), word(y, z), word(x, z)', 'p.a x, p.b y, q.b z FROM word p JOIN word q ON q.a = p.b JOIN word r ON r.a = p.a AND r.b = q.b'),
	same_cycle('x, y, z', 'skewed(x, y), skewed(y, z), z > y, !skewed(z, x), skewed(x, z)', 'p.a x, p.b y, q.b z FROM skewed p JOIN skewed q ON q.a = p.b AND q.b > p.b JOIN skewed r ON r.a = p.a AND r.b = q.b WHERE NOT EXISTS (SELECT FROM skewed s WHERE s.a = q.b AND s.b = p.a)'),
	same_cycle('x, y, z', 'skewed(x, y), skewed(y, z), skewed(0, z), skewed(x, z)', 'p.a x, p.b y, q.b z FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = p.a AND r.b = q.b JOIN skewed s ON s.a = 0 AND s.b = q.b');
SELECT same_cycle('x, y, z, w', 'x > 110, skewed(x, y), skewed(y, z), skewed(x, z), skewed(x, w), skewed(y, w), skewed(z, w)', 'p.a x, p.b y, q.b z, s.b w FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = p.a AND r.b = q.b JOIN skewed s ON s.a = p.a JOIN skewed u ON u.a = p.b AND u.b = s.b JOIN skewed v ON v.a = q.b AND v.b = s.b WHERE p.a > 110'),
	same_cycle('x, y, z', 'odd(x, y), odd(y, z), skewed(x, z)', 'p.a x, p.b y, q.b z FROM skewed p JOIN skewed q ON q.a = p.b JOIN skewed r ON r.a = p.a AND r.b = q.b WHERE (p.a + p.b) % 2 = 1 AND (q.a + q.b) % 2 = 1',
		'.decl odd(a:number, b:number) odd(x, y) :- skewed(x, y), (x + y) % 2 = 1.');
SELECT same_rows('.decl skewed(a:number, b:number) .decl r(x:number) r(7). r(z) :- r(x), skewed(x, y), skewed(y, z), skewed(x, z).', 'r',
	'WITH RECURSIVE r AS (SELECT 7::bigint AS x UNION SELECT q.b FROM r JOIN skewed p ON p.a = r.x JOIN skewed q ON q.a = p.b JOIN skewed s ON s.a = r.x AND s.b = q.b) TABLE r', 'x bigint');
-- all rows meet in one value: there are 10^10 paths of two, and no cycle but that of the hub
CREATE TABLE star AS SELECT i AS a, 0 AS b FROM generate_series(0, 100000) i UNION ALL SELECT 0, i FROM generate_series(1, 100000) i;
ANALYZE star;
SET gpucol.engine = cpu;
SELECT count(*), max(x), max(y), max(z) FROM gpucol.datalog('.decl star(a:number, b:number) .decl t(x:number, y:number, z:number) t(x, y, z) :- star(x, y), star(y, z), star(z, x).', 't') AS t(x int, y int, z int);
RESET gpucol.engine;
DROP FUNCTION same_cycle;

-- the calling query's snapshot and privileges
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO edge VALUES (1000, 1001);
SELECT count(*) FROM gpucol.datalog('.decl edge(a:number, b:number)', 'edge') AS t(x int, y int) WHERE x = 1000;
ROLLBACK;
CREATE ROLE datalog_nobody;
GRANT USAGE ON SCHEMA datalog_rules TO datalog_nobody;
SET ROLE datalog_nobody;
SELECT count(*) FROM gpucol.datalog('.decl edge(a:number, b:number)', 'edge') AS t(x int, y int);
RESET ROLE;
REVOKE USAGE ON SCHEMA datalog_rules FROM datalog_nobody;
DROP ROLE datalog_nobody;

SET client_min_messages = warning;
DROP SCHEMA datalog_rules, datalog_into CASCADE;
