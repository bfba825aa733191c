-- Numerics without a scale that all display as many digits: keys, distinct values, deviations, percentiles are of mantissas.
SET client_min_messages = warning;
CREATE SCHEMA numeric_form;
SET search_path = numeric_form, public;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- x, y: as many digits each; y of few values; z, d: digits that differ, d of few values; o: with what is no number; l: long ones; e: none; w: of a long precision
CREATE TABLE plain (id int, k int, x numeric, y numeric, z numeric, o numeric, l numeric, e numeric, w numeric(30,5), p numeric(12,2), d numeric);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 13 > 0 THEN round(i * 7919 % 5003 * 31 / 100.0 - 700, 2) END, round(i * 31 % 59 / 7.0 - 3, 4),
	CASE i % 3 WHEN 0 THEN (i * 17 % 1999)::numeric WHEN 1 THEN round(i * 17 % 5999, 1) ELSE round(i * 13 % 6007 / 8.0, 3) END,
	CASE WHEN i % 500 = 0 THEN ('{NaN,Infinity,-Infinity,1e200,-1e-200}'::numeric[])[i / 500 % 5 + 1] ELSE round(i * 11 % 3001 / 100.0, 2) END,
	round(i * 1e15 + i * 37 % 2999, 2), NULL, i * 101 % 5009 / 8.0, round(i * 7919 % 3989 / 100.0, 2), round(i % 5 / 4.0, 1 + i % 3) FROM generate_series(1, 6000) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed');
ANALYZE packed;

CREATE TABLE query (n int GENERATED ALWAYS AS IDENTITY, q text);
INSERT INTO query (q) VALUES ('SELECT {}, count(*), sum(id) FROM T GROUP BY 1'), ('SELECT {}, avg(id), max({}), min(k) FROM T GROUP BY 1 ORDER BY 1 DESC NULLS LAST LIMIT 5'),
	('SELECT {}, count(*) FROM T GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 7'), ('SELECT DISTINCT {} FROM T'), ('SELECT DISTINCT {}, k FROM T ORDER BY 1, 2 LIMIT 9'), ('SELECT k, {}, count(*) FROM T GROUP BY 1, 2'),
	('SELECT count(DISTINCT {}), count(DISTINCT {}) FILTER (WHERE id > 3000) FROM T'), ('SELECT k, count(DISTINCT {}), sum(DISTINCT {}) FROM T GROUP BY 1'), ('SELECT count(DISTINCT ({}, k)) FROM T'),
	('SELECT stddev({}), variance({}), var_pop({}), stddev_pop({}), var_samp({}), stddev_samp({}) FROM T'), ('SELECT k, stddev({}), var_pop({}) FILTER (WHERE id % 5 = 0) FROM T GROUP BY 1'),
	('SELECT {} > 10, stddev(id), variance({}) FROM T GROUP BY 1'), ('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY {}), mode() WITHIN GROUP (ORDER BY {} DESC) FROM T'),
	('SELECT k, percentile_disc(0.9) WITHIN GROUP (ORDER BY {} DESC), percentile_cont(0.25) WITHIN GROUP (ORDER BY ({})::float8) FROM T GROUP BY 1'),
	('SELECT k, sum({}), avg({}), min({}), max({}), count({}) FROM T GROUP BY 1'), ('SELECT {} * 100, count(*) FROM T GROUP BY 1'), ('SELECT abs({}), mod({}, 7), count(*) FROM T GROUP BY 1, 2'),
	('SELECT CASE WHEN {} > 5 THEN {} END, count(*) FROM T GROUP BY 1'), ('SELECT sum(CASE WHEN {} > 5 THEN {} ELSE p END), sum({} * {}), sum({} / 7) FROM T'), ('SELECT coalesce({}, 0.00), count(*) FROM T GROUP BY 1'),
	('SELECT round({}, 1), trunc({}), count(*) FROM T GROUP BY 1, 2'), ('SELECT k, string_agg(({})::text, '','' ORDER BY id) FROM T GROUP BY 1'), ('SELECT array_agg({} ORDER BY id), sum(k) FROM T'),
	('SELECT {}, k, count(*) FROM T GROUP BY GROUPING SETS (({}, k), ({}), ())'), ('SELECT count(*) FROM (SELECT {} FROM T GROUP BY 1 HAVING count(*) > 1) x'), ('SELECT ({})::text, count(*) FROM T GROUP BY 1'),
	('SELECT sum(v) FILTER (WHERE v > a) FROM (SELECT {} v, avg({}) OVER (PARTITION BY k) a FROM T) x'), ('SELECT v, sum(b) FROM (SELECT {} v, id % 10 b FROM T WHERE {} IS NOT NULL) x GROUP BY 1');

-- differs(columns): queries over these that give something else, or are not pushed down
CREATE FUNCTION differs(columns text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM query, unnest(columns) c, LATERAL twin(replace(q, '{}', c)) d WHERE d !~ '^Gpucol\w+$' ORDER BY d COLLATE "C";
$$;
-- way(query): how the engine computes it
CREATE FUNCTION way(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	node text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		node := coalesce(node, substring(line FROM '(Gpucol\w+|\w+Aggregate|Aggregate)'));
		IF line ~ 'Fallback|fed by rows|Evaluated Once' THEN RETURN trim(line); END IF;
	END LOOP;
	RETURN node;
END $$;

SELECT c, way(format('SELECT %s, count(*) FROM packed GROUP BY 1', c)) AS key, way(format('SELECT stddev(%s) FROM packed', c)) AS deviation FROM unnest('{x,y,z,d,o,l,e,w,p,x * 100,"abs(y)"}'::text[]) c;
SELECT differs('{x,y,w,e,-x}');
SELECT differs('{l}');
-- equal values that are displayed otherwise: the key's text is that of one of them
SELECT twin(replace(q, 'KEY', c)) FROM unnest('{z,d,o}'::text[]) c, unnest('{"SELECT trim_scale(KEY), n FROM (SELECT KEY, count(*) n FROM T GROUP BY 1) x","SELECT count(DISTINCT KEY), stddev(KEY) FROM T","SELECT k, count(DISTINCT KEY), variance(KEY) FROM T GROUP BY 1","SELECT sum(KEY), max(KEY), avg(KEY) FROM T"}'::text[]) q;

SELECT c, way(format('SELECT variance(%s) FILTER (WHERE k > 2) FROM packed', c)) AS filtered, way(format('SELECT k, count(DISTINCT %s) FROM packed GROUP BY 1', c)) AS counted FROM unnest('{z,d,o}'::text[]) c;
SELECT twin(replace('SELECT k, count(DISTINCT K), string_agg(DISTINCT trim_scale(K)::text, '','') FILTER (WHERE id < 300), count(DISTINCT K) FILTER (WHERE id % 3 = 0), stddev_pop(K), count(DISTINCT (K, id % 2)) FROM T GROUP BY 1', 'K', c)) FROM unnest('{z,d,o,x}'::text[]) c;

-- such keys: groups are those of values, and what is displayed is how some row has it
CREATE FUNCTION group_differs(columns text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM unnest(columns) c, unnest('{"SELECT trim_scale(v), n, s FROM (SELECT K_ v, count(*) n, sum(id) s FROM T GROUP BY 1) x","SELECT count(*) FROM (SELECT K_ v FROM T GROUP BY 1) g WHERE NOT EXISTS (SELECT FROM plain WHERE (K_)::text = g.v::text) AND v IS NOT NULL",
		"SELECT trim_scale(v), k, n FROM (SELECT K_ v, k, count(*) n FROM T GROUP BY 1, 2 HAVING count(*) > 1) x","SELECT trim_scale(v), n FROM (SELECT K_ v, count(*) n FROM T GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 9) x","SELECT trim_scale(v) FROM (SELECT DISTINCT K_ v FROM T) x",
		"SELECT trim_scale(v), trim_scale(w), n FROM (SELECT K_ v, x w, count(*) n FROM T WHERE k < 4 GROUP BY 1, 2) x","SELECT trim_scale(v), n, a FROM (SELECT K_ v, count(*) n, stddev(k) a FROM T GROUP BY 1 HAVING K_ > 0) x","SELECT trim_scale(v), n FROM (SELECT K_ v, count(*) n FROM T GROUP BY 1 ORDER BY 1 DESC NULLS LAST LIMIT 5) x",
		"SELECT trim_scale(v), k, n FROM (SELECT K_ v, k, count(*) n FROM T GROUP BY ROLLUP (1, 2)) x","SELECT trim_scale(v), t FROM (SELECT K_ v, string_agg(id::text, '','' ORDER BY id) t FROM T GROUP BY 1) x","SELECT a.n, count(*) FROM (SELECT K_ v, count(*) n FROM T GROUP BY 1) a JOIN T b ON a.v = b.z GROUP BY 1",
		"SELECT trim_scale(v), count(*), sum(n) OVER (ORDER BY v NULLS FIRST ROWS 2 PRECEDING) FROM (SELECT K_ v, count(*) n FROM T GROUP BY 1) x GROUP BY v, n"}'::text[]) q, LATERAL twin(replace(q, 'K_', c)) d WHERE d !~ '^Gpucol\w+$' ORDER BY d COLLATE "C";
$$;
SELECT c, way(format('SELECT %s, count(*) FROM packed GROUP BY 1', c)) FROM unnest('{z,d,"CASE WHEN x > 5 THEN x ELSE 0 END","coalesce(x, y)","greatest(x, 1, y)"}'::text[]) c;
SELECT group_differs('{z,d,"CASE WHEN x > 5 THEN x ELSE 0 END","coalesce(x, y)","greatest(x, 1, y)"}');
CREATE TABLE made USING gpucol AS SELECT z AS v, count(*) AS n FROM packed GROUP BY 1;
SELECT count(*), sum(n), count(*) FILTER (WHERE v::text NOT IN (SELECT z::text FROM plain)) AS other FROM made;

-- joins: mantissas of the scale of the table that is built
CREATE FUNCTION join_differs(columns text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM unnest(columns) a, unnest(columns) b, unnest('{"SELECT count(*), sum(a.id), sum(b.k) FROM T a JOIN T b ON a.A_ = b.B_ WHERE b.id % 10 = 0","SELECT count(*), sum(a.id), sum(b.id), count(b.B_) FROM T a LEFT JOIN T b ON a.A_ = b.B_ AND b.id % 7 = 1",
		"SELECT count(*), sum(a.id), sum(b.id) FROM (SELECT * FROM T WHERE id % 3 = 0) a FULL JOIN (SELECT * FROM T WHERE id % 5 = 0) b ON a.A_ = b.B_","SELECT count(*), sum(id) FROM T a WHERE EXISTS (SELECT FROM T b WHERE b.B_ = a.A_ AND b.id < 999)",
		"SELECT count(*), sum(id) FROM T a WHERE NOT EXISTS (SELECT FROM T b WHERE b.B_ = a.A_ AND b.id < 999)","SELECT a.k, stddev(b.B_), trim_scale(max(a.A_)) FROM T a JOIN T b ON a.A_ = b.B_ AND a.k = b.k GROUP BY 1",
		"SELECT b.B_::text, count(*) FROM T a JOIN T b ON a.A_ = b.B_ WHERE b.id % 11 = 0 GROUP BY 1"}'::text[]) q,
		LATERAL twin(replace(replace(q, 'A_', a), 'B_', b)) d WHERE d !~ '^Gpucol\w+$' ORDER BY d COLLATE "C";
$$;
CREATE FUNCTION keys(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Join:' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SELECT c, k FROM unnest('{x,z,d,o}'::text[]) c, LATERAL keys(format('SELECT count(*) FROM packed a JOIN packed b ON a.%s = b.%1$s', c)) k;
SELECT join_differs('{x,z,d,o,w,p}');

-- rows that are not packed: as many digits, deleted ones, others
INSERT INTO packed SELECT id + 10000, k, -x, y + 1, z, o, l, e, w, p, d FROM plain WHERE id % 50 = 0;
INSERT INTO plain SELECT id + 10000, k, -x, y + 1, z, o, l, e, w, p, d FROM plain WHERE id % 50 = 0;
DELETE FROM packed WHERE id % 9 = 0;
DELETE FROM plain WHERE id % 9 = 0;
SELECT way('SELECT x, count(*) FROM packed GROUP BY 1') AS key, way('SELECT stddev(x) FROM packed') AS deviation;
SELECT differs('{x,y,w}');
SELECT join_differs('{x,z}');
SELECT group_differs('{z,d}');
-- a value of another form: the first statement of a backend begins its run anew, the next ones are planned otherwise
\t on
SELECT format('INSERT INTO packed (id, k, x) VALUES (20000, 1, %L); INSERT INTO plain (id, k, x) VALUES (20000, 1, %1$L)', v), $$SELECT way('SELECT k, stddev(x) FROM packed GROUP BY 1')$$,
	$$SELECT way('SELECT k, stddev(x) FROM packed GROUP BY 1'), (SELECT string_agg(d, ' ') FROM differs('{x}') d), (SELECT string_agg(d, ' ') FROM join_differs('{x}') d)$$, 'DELETE FROM packed WHERE id = 20000', 'DELETE FROM plain WHERE id = 20000',
	$$SELECT gpucol.merge('packed') IS NOT NULL AS merged$$, 'INSERT INTO packed SELECT * FROM plain WHERE id = 10050 LIMIT 1', 'INSERT INTO plain SELECT * FROM plain WHERE id = 10050 LIMIT 1'
	FROM unnest('{7.77,3,0.125,NaN,Infinity,-Infinity,1e200,1e-200,12345678901234567890.12,9999999999999999.99,10000000000000000.00}'::text[]) v
\gexec
\t off

-- the same of the table of a join
CREATE FUNCTION fallbacks(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Fallback|Join:' THEN RETURN NEXT trim(regexp_replace(line, 'table of.*', '')); END IF;
	END LOOP;
END $$;
INSERT INTO packed (id, k, z) VALUES (40000, 1, 1e-30), (40001, 1, 'NaN');
INSERT INTO plain (id, k, z) VALUES (40000, 1, 1e-30), (40001, 1, 'NaN');
SELECT fallbacks('SELECT count(*) FROM packed a JOIN packed b ON a.z = b.z');
SELECT fallbacks('SELECT count(*) FROM packed a JOIN packed b ON a.z = b.z');
SELECT join_differs('{z}');
SELECT group_differs('{z}');

-- a plan that is kept while values change
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT md5(string_agg(x || ' ' || n, ',' ORDER BY x)) FROM (SELECT x, count(*) n FROM packed GROUP BY 1) q;
PREPARE ordinary AS SELECT md5(string_agg(x || ' ' || n, ',' ORDER BY x)) FROM (SELECT x, count(*) n FROM plain GROUP BY 1) q;
EXECUTE kept;
EXECUTE ordinary;
INSERT INTO packed (id, x) VALUES (30000, 123456.789);
INSERT INTO plain (id, x) VALUES (30000, 123456.789);
EXECUTE kept;
EXECUTE kept;
EXECUTE ordinary;
SELECT gpucol.merge('packed');
EXECUTE kept;
RESET plan_cache_mode;

-- parts of a table, one of them without rows, one whose columns are in another order
CREATE TABLE parted (id int, k int, x numeric, z numeric) PARTITION BY RANGE (id);
CREATE TABLE part_a PARTITION OF parted FOR VALUES FROM (0) TO (3000) USING gpucol;
CREATE TABLE part_b (z numeric, gone int, x numeric, id int, k int) USING gpucol;
ALTER TABLE part_b DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION part_b FOR VALUES FROM (3000) TO (50000);
CREATE TABLE part_c PARTITION OF parted FOR VALUES FROM (50000) TO (60000) USING gpucol;
CREATE TABLE whole AS SELECT id, k, x, z FROM plain WHERE id < 9000;
INSERT INTO parted SELECT * FROM whole;
SELECT gpucol.merge('part_a'), gpucol.merge('part_b');
ANALYZE parted;
CREATE FUNCTION part_differs() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT query FROM unnest('{x,z}'::text[]) c, unnest('{"SELECT trim_scale(v), n FROM (SELECT K_ v, count(*) n FROM T GROUP BY 1) q","SELECT k, stddev(K_), count(DISTINCT K_) FROM T GROUP BY 1","SELECT stddev(K_) FROM T","SELECT trim_scale(v) FROM (SELECT DISTINCT K_ v FROM T ORDER BY 1 LIMIT 9) q",
		"SELECT sum(CASE WHEN K_ > 5 THEN K_ ELSE x END) FROM T"}'::text[]) q, LATERAL replace(q, 'K_', c) query WHERE twin_result(query, 'whole', 'forbid') IS DISTINCT FROM twin_result(query, 'parted', 'allow');
$$;
SELECT way('SELECT x, count(*) FROM parted GROUP BY 1') AS key, way('SELECT stddev(x) FROM parted') AS deviation, way('SELECT z, count(*) FROM parted GROUP BY 1') AS mixed;
SELECT part_differs();
INSERT INTO parted VALUES (55000, 1, 3, 4.00);
INSERT INTO whole VALUES (55000, 1, 3, 4.00);
SELECT part_differs();
SELECT gpucol.merge('part_c');
SELECT way('SELECT x, count(*) FROM parted GROUP BY 1') AS key, way('SELECT stddev(x) FROM parted') AS deviation;
SELECT part_differs();

-- none, one
TRUNCATE packed, plain;
SELECT differs('{x,y}');
SELECT group_differs('{x,z}');
INSERT INTO packed (id, k, x, y, p) VALUES (1, 1, 1.50, 2.2500, 3);
INSERT INTO plain (id, k, x, y, p) VALUES (1, 1, 1.50, 2.2500, 3);
SELECT differs('{x,y}');
SELECT gpucol.merge('packed');
SELECT differs('{x,y}');

SET client_min_messages = error;
DROP SCHEMA numeric_form CASCADE;
