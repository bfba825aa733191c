-- rules evaluated by several threads: the same rows as by one
CREATE SCHEMA recursive_threads;
SET search_path = recursive_threads;
LOAD 'gpucol';
CREATE TABLE edge AS SELECT i AS src, (i * 7 + k * 31 + i * i % 17) % 400 AS dst FROM generate_series(0, 399) i, generate_series(1, 3) k;
CREATE TABLE line AS SELECT *, src % 3 AS line FROM edge;
ANALYZE;

CREATE FUNCTION answers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	result text := '';
BEGIN
	FOREACH answer IN ARRAY ARRAY['1', '2', '5'] LOOP
		PERFORM set_config('gpucol.cpu_threads', answer, true);
		EXECUTE 'SELECT format(''%s rows %s'', count(*), sum(hashtextextended(r::text, 0))) FROM (' || query || ') r' INTO answer;
		result := result || CASE WHEN result = '' THEN answer WHEN position(answer IN result) = 1 THEN ', same' ELSE ', NOT ' || answer END;
	END LOOP;
	RETURN regexp_replace(result, ' rows -?\d+', ' rows');
END $$;

-- hash of packed pairs, bitmap, hash of rows, bag
SET gpucol.recursive_strategy = hisa;
SELECT answers('WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM edge UNION SELECT r.x, e.dst FROM r JOIN edge e ON e.src = r.y) SELECT * FROM r');
SELECT answers('WITH RECURSIVE r(x, y, l) AS (SELECT src, dst, line FROM line UNION SELECT r.x, e.dst, r.l FROM r JOIN line e ON e.src = r.y AND e.line <> r.l) SELECT * FROM r');
SELECT answers('WITH RECURSIVE r(x, y, l) AS (SELECT src, dst, 0 FROM edge UNION ALL SELECT r.x, e.dst, f.line FROM r JOIN edge e ON e.src = r.y JOIN line f ON f.src = e.dst AND f.line > r.l) SELECT * FROM r');
RESET gpucol.recursive_strategy;
SELECT answers('WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM edge UNION SELECT r.x, f.dst FROM r JOIN edge e ON e.src = r.y JOIN edge f ON f.src = e.dst) SELECT * FROM r');
-- mutual recursion; least values
SELECT answers($q$SELECT * FROM gpucol.datalog('.decl edge(a:number, b:number) .decl odd(a:number, b:number) .decl even(a:number, b:number)
	odd(x, y) :- edge(x, y). odd(x, z) :- even(x, y), edge(y, z). even(x, z) :- odd(x, y), edge(y, z).', 'even') AS t(x int, y int)$q$);
SELECT answers($q$SELECT * FROM gpucol.datalog('.decl line(a:number, b:number, l:number) .decl r(a:number, b:number, l:number)
	r(x, y, x) :- line(x, y, l). r(x, z, l) :- r(x, y, l), line(y, z, _). r(x, z, l) :- r(x, y, _), line(y, z, l).
	r(x, y, a) <= r(x, y, b) :- b < a.', 'r') AS t(x int, y int, l int)$q$);
-- the path that ran
SET gpucol.cpu_threads = 3;
SET gpucol.recursive_strategy = hisa;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM edge UNION SELECT r.x, e.dst FROM r JOIN edge e ON e.src = r.y) SELECT count(*) FROM r \g (format=unaligned tuples_only=on) | grep -E 'Method|Threads'
-- both columns of a pair at once: sets of one row each, with and without mirror images, give the rows of hash-indexed arrays
CREATE TABLE layer AS SELECT i AS src, (i / 100 + 1) * 100 + (i * 7 + k * 31 + i * i % 17) % 100 AS dst FROM generate_series(0, 599) i, generate_series(1, 3) k;
INSERT INTO layer SELECT NULL, 100 + i FROM generate_series(1, 3) i UNION ALL SELECT i, NULL FROM generate_series(1, 3) i;
ANALYZE layer;
RESET gpucol.recursive_strategy;
SELECT CASE WHEN count(DISTINCT answer) = 1 THEN min(answer) END AS answer, count(*) FROM
	(SELECT set_config('gpucol.recursive_strategy', strategy, false) AS strategy, answers('WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM layer a JOIN layer b USING (src) WHERE a.dst <> b.dst
		UNION SELECT a.dst, b.dst FROM r JOIN layer a ON a.src = r.x JOIN layer b ON b.src = r.y) SELECT * FROM r') AS answer
	 FROM unnest(ARRAY['hisa', 'sparse', 'bitmap', 'auto']) strategy OFFSET 0) q;
SET gpucol.recursive_strategy = sparse;
SELECT answers('WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM layer a JOIN layer b USING (src) WHERE a.dst < b.dst UNION SELECT a.dst, b.dst FROM r JOIN layer a ON a.src = r.x JOIN layer b ON b.src = r.y) SELECT * FROM r');
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM layer a JOIN layer b USING (src) WHERE a.dst <> b.dst UNION SELECT a.dst, b.dst FROM r JOIN layer a ON a.src = r.x JOIN layer b ON b.src = r.y) SELECT count(*) FROM r \g (format=unaligned tuples_only=on) | grep -E 'Method|Threads|Rounds'
SET gpucol.recursive_strategy = hisa;
-- rules that compute values, for which threads find ids together: small and large, negative, NULL, of numbers and floats
CREATE TABLE toll AS SELECT src, dst, CASE WHEN src % 41 > 0 THEN (src * 13 + dst) % 97 - 20 END AS fee, CASE WHEN dst % 43 > 0 THEN round((src * 7 + dst) % 89 / 8.0, 2) END AS price, (src + dst)::float8 / 8 AS weight FROM edge;
ANALYZE toll;
RESET gpucol.recursive_strategy;
-- what PostgreSQL, and one, two and five threads make of a query: rows or an error, and whether all of them the same
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	setting text;
	one text;
	every text[] := '{}';
BEGIN
	FOREACH setting IN ARRAY ARRAY['off', '1', '2', '5'] LOOP
		PERFORM set_config('gpucol.enable_recursive', CASE WHEN setting = 'off' THEN 'off' ELSE 'on' END, true);
		PERFORM set_config('gpucol.cpu_threads', CASE WHEN setting = 'off' THEN '1' ELSE setting END, true);
		BEGIN
			EXECUTE 'SELECT format(''%s rows %s'', count(*), sum(hashtextextended(r::text, 0))) FROM (' || query || ') r' INTO one;
		EXCEPTION WHEN OTHERS THEN
			one := SQLSTATE;
		END;
		every := every || one;
	END LOOP;
	RETURN (SELECT string_agg(DISTINCT regexp_replace(e, ' rows -?\d+', ' rows'), ' or ') || CASE WHEN count(DISTINCT e) > 1 THEN ', DIFFERENT' ELSE '' END FROM unnest(every) e);
END $$;
SELECT v, op, outcome(format('WITH RECURSIVE r(x, y, v, d) AS (SELECT i, i %% 400, %s, 0 FROM generate_series(1, 15000) i %s SELECT r.x %% 5000, e.dst, %s, d + 1 FROM r JOIN toll e ON e.src = r.y WHERE d < 3) SELECT * FROM r', split_part(v, '|', 1), op, split_part(v, '|', 2)))
FROM unnest('{0|v + fee,0::bigint|v * 3 - fee * 1000000007::bigint,0|CASE WHEN fee > 9 THEN -v ELSE fee END,0.00::numeric|v + price,"0.01::numeric|GREATEST(v - price * 2,price)",0::float8|v + weight,"NULL::int|COALESCE(v / 2,fee)"}'::text[]) v, unnest('{UNION,UNION ALL}'::text[]) op;
-- numbers that get too long for a word meanwhile, errors of a value and of a test
SELECT outcome('WITH RECURSIVE r(x, y, v, d) AS (SELECT i, i % 400, 1.01::numeric, 0 FROM generate_series(1, 15000) i UNION ALL SELECT r.x, e.dst, v * 10000019.0001, d + 1 FROM r JOIN toll e ON e.src = r.y WHERE d < 3) SELECT * FROM r');
SELECT v, outcome(format('WITH RECURSIVE r(y, v, d) AS (SELECT i %% 400, 1, 0 FROM generate_series(1, 15000) i UNION ALL SELECT e.dst, %s, d + 1 FROM r JOIN toll e ON e.src = r.y WHERE d < 3 AND %s) SELECT * FROM r', split_part(v, '|', 1), split_part(v, '|', 2)))
FROM unnest('{v * 2000 + d|true,v + fee|1000 / (fee + 20) > v,v / (fee - 1)|true}'::text[]) v;
SELECT outcome('WITH RECURSIVE r(y, v, d) AS (SELECT i % 400, 1.00::numeric, 0 FROM generate_series(1, 15000) i UNION ALL SELECT e.dst, v / (price - 1), d + 1 FROM r JOIN toll e ON e.src = r.y WHERE d < 3) SELECT * FROM r');
SET gpucol.cpu_threads = 3;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) WITH RECURSIVE r(y, v, d) AS (SELECT i % 400, 0.00::numeric, 0 FROM generate_series(1, 15000) i UNION ALL SELECT e.dst, v + price, d + 1 FROM r JOIN toll e ON e.src = r.y WHERE d < 3) SELECT count(v) FROM r \g (format=unaligned tuples_only=on) | grep -E 'Method|Threads|Formulas'
SET gpucol.recursive_strategy = hisa;
-- a cancel while threads work
SET statement_timeout = '100ms';
WITH RECURSIVE r(a, b, c, d) AS (SELECT e.src, e.dst, f.src, f.dst FROM edge e, edge f UNION SELECT r.b, e.dst, r.d, f.dst FROM r, edge e, edge f) SELECT count(*) FROM r;
RESET statement_timeout;
