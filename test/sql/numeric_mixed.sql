-- Numerics without a scale that display different numbers of digits: computed as mantissas of one scale, beside the digits of each row.
SET client_min_messages = warning;
CREATE SCHEMA numeric_mixed;
SET search_path = numeric_mixed, public;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- z: few values; v: many; s: zeros at the end; f: few, deep; t: up to 18 digits; x: alike; o: with what is no number; l: long ones; e: none
CREATE TABLE plain (id int, k int, z numeric, v numeric, s numeric, f numeric, t numeric, x numeric, o numeric, l numeric, e numeric, p numeric(12,2));
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 11 > 0 THEN round(i % 40 / 8.0 - 2, i % 4) END, CASE WHEN i % 13 > 0 THEN round(i * 7919 % 500300 / 64.0 - 3000, i % 5) END,
	CASE i % 3 WHEN 0 THEN (i % 17)::numeric WHEN 1 THEN round(i % 17 * 1.0, 6) ELSE round(i % 19 / 2.0, 3) END, round(i % 9 / 7.0, 2 + i % 8), round((i % 5000 - 2500) * 100000000.0 + i % 7 / 8.0, 1 + i % 6), round(i * 31 % 5003 / 100.0 - 20, 2),
	CASE WHEN i % 500 = 0 THEN ('{NaN,Infinity,-Infinity,1e200,-1e-200}'::numeric[])[i / 500 % 5 + 1] ELSE round(i * 11 % 3001 / 100.0, i % 3) END, round(i * 1e15 + i * 37 % 2999, i % 3), NULL, round(i * 7919 % 3989 / 100.0, 2) FROM generate_series(1, 6000) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed');
ANALYZE packed;

CREATE TABLE query (n int GENERATED ALWAYS AS IDENTITY, q text);
INSERT INTO query (q) VALUES ('SELECT sum({}), avg({}), count({}) FROM T'), ('SELECT k, sum({}), avg({}) FROM T GROUP BY 1'), ('SELECT k, min({}), max({}) FROM T GROUP BY 1'), ('SELECT id, sum({}), max({}), avg({}) FROM T GROUP BY 1'),
	('SELECT k, sum({}) FILTER (WHERE id % 3 = 0), avg({}) FILTER (WHERE {} > 1) FROM T GROUP BY 1'), ('SELECT sum({}) FILTER (WHERE id < 0), avg({}) FILTER (WHERE {} IS NULL) FROM T'),
	('SELECT k, sum({} + x), sum({} - p), sum(x - {}), sum({} + {}) FROM T GROUP BY 1'), ('SELECT k, sum({} * x), sum({} * {}), sum({} * (1 - x)), sum({} * 3), sum({} * 0.10) FROM T GROUP BY 1'), ('SELECT id, sum({} * z + v), sum(z - {} + s) FROM T GROUP BY 1'),
	('SELECT k, sum(CASE WHEN id % 2 = 0 THEN {} ELSE 0 END), sum(CASE WHEN {} > 1 THEN {} END), sum(CASE WHEN k < 3 THEN {} WHEN k < 5 THEN v ELSE z END) FROM T GROUP BY 1'), ('SELECT k, sum(coalesce({}, 7.5000)), sum(coalesce({}, v, 0)) FROM T GROUP BY 1'),
	('SELECT k, sum(greatest({}, x)), sum(least({}, v, 3)), max(greatest({}, z)) FROM T GROUP BY 1'), ('SELECT k, sum(abs({})), sum(-{}), min(-{}), max(abs({})) FROM T GROUP BY 1'), ('SELECT k, sum(round({}, 1)), sum(round({})), sum(trunc({}, 2)), sum(floor({})), sum(ceil({})), sum(sign({})) FROM T GROUP BY 1'),
	('SELECT k, sum(round({} * 1.07, 2)), sum(round({} + x, 0)), sum(round({}, -1)) FROM T GROUP BY 1'), ('SELECT sum(({})::int8), count(({} * 2)::float8 > 3) FROM T'), ('SELECT k, max(({})::float8), min(({} + z)::float8) FROM T GROUP BY 1'),
	('SELECT k, sum({} / 7), sum({} / nullif(x, 0)), avg(v / nullif({}, 0)) FROM T GROUP BY 1'), ('SELECT k, sum({} % 3), sum(mod({}, 0.7)), sum(div({}, 1.5)) FROM T GROUP BY 1'), ('SELECT count(*), sum(id) FROM T WHERE {} > x'), ('SELECT count(*) FILTER (WHERE {} = z), count(*) FILTER (WHERE {} < v + 1), count(*) FILTER (WHERE {} * 2 <> s) FROM T'),
	('SELECT k, stddev({}), variance({} + z), var_pop({} * 2), stddev_pop(CASE WHEN id > 50 THEN {} END) FROM T GROUP BY 1'), ('SELECT k, sum({}) FROM T GROUP BY 1 HAVING sum({}) > 100'), ('SELECT k, sum({}) s, avg({}) a FROM T GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3'),
	('SELECT k, sum({}) * 2, avg({}) - min({}), sum({}) / nullif(count({}), 0) FROM T GROUP BY 1'), ('SELECT {} > 1, sum(x) FROM T GROUP BY 1'), ('SELECT k, round(avg({}), 2), sum({})::float8 FROM T GROUP BY ROLLUP (1)'),
	('SELECT a.k, sum(a.A_ * b.x), avg(b.B_), max(a.A_ + b.B_) FROM (SELECT *, {} A_ FROM T) a JOIN (SELECT *, {} B_ FROM T) b ON a.id = b.id + 1 GROUP BY 1'), ('SELECT sum(s) FROM (SELECT id % 100 g, sum({}) s FROM T GROUP BY 1) q');

-- sums of different values, and beside aggregates that are fed rows
INSERT INTO query (q) VALUES ('SELECT k, trim_scale(sum(DISTINCT {})), trim_scale(round(avg(DISTINCT {}), 9)), count(DISTINCT {}) FROM T GROUP BY 1'), ('SELECT trim_scale(sum(DISTINCT {})), trim_scale(sum(DISTINCT {}) FILTER (WHERE id % 3 = 0)), trim_scale(sum(DISTINCT {} + x)), max(k) FROM T'),
	('SELECT k, sum({}), avg({}), sum({}) FILTER (WHERE id % 4 > 0), string_agg(id::text, '','' ORDER BY id DESC) FROM T WHERE id < 500 GROUP BY 1'), ('SELECT k, id % 2, sum({}), trim_scale(sum(DISTINCT {})), array_agg(id ORDER BY id) FROM T WHERE id < 300 GROUP BY ROLLUP (1, 2)'),
	('SELECT k, sum({} * 2), sum({} + x), array_agg(x ORDER BY id) FROM T WHERE id < 300 GROUP BY 1 HAVING sum({}) > 0'), ('SELECT sum({}), trim_scale(sum(DISTINCT {})), string_agg(k::text, '''') FROM T WHERE id < 0'), ('SELECT k, sum({} ORDER BY id), trim_scale(sum(DISTINCT {} ORDER BY {})), sum(DISTINCT p) FROM T GROUP BY 1'),
	('SELECT k, sum({}), percentile_disc(0.5) WITHIN GROUP (ORDER BY id), sum(coalesce({}, 0.5)), sum(CASE WHEN id > 100 THEN {} END) FROM T GROUP BY 1');

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

SELECT c, way(format('SELECT sum(%s) FROM packed', c)) AS sum, way(format('SELECT k, stddev(%s + z) FROM packed GROUP BY 1', c)) AS deviation FROM unnest('{z,v,s,f,t,x,o,l,e}'::text[]) c;
SELECT differs('{z,v,s}');
SELECT c, way(format('SELECT sum(DISTINCT %s) FROM packed', c)) FROM unnest('{z,v,s,x,o}'::text[]) c;
SELECT differs('{f,t,e}');
SELECT differs('{x,p}');
SELECT differs('{o,l}');

-- the digits of a sum are those of the rows that it has
SELECT twin(format('SELECT sum(%s), avg(%1$s) FROM T WHERE id %% 12 = %s', c, i)) FROM unnest('{z,v,s,f,z + s,v * z}'::text[]) c, generate_series(0, 2) i;
SELECT sum(s), sum(s + z), sum(s * z), avg(s) FROM packed WHERE id IN (3, 9, 15);
SELECT sum(s) FILTER (WHERE s = 3), sum(CASE WHEN id = 3 THEN s ELSE z END), sum(s - 0.1234567) FILTER (WHERE id = 6) FROM packed WHERE id < 10;

-- rows that are not packed, deleted ones
INSERT INTO packed SELECT id + 10000, k, -z, v + 1, s, f, t, x, o, l, e, p FROM plain WHERE id % 50 = 0;
INSERT INTO plain SELECT id + 10000, k, -z, v + 1, s, f, t, x, o, l, e, p FROM plain WHERE id % 50 = 0;
DELETE FROM packed WHERE id % 9 = 0;
DELETE FROM plain WHERE id % 9 = 0;
SELECT way('SELECT k, sum(z * v) FROM packed GROUP BY 1');
SELECT differs('{z,v}');

-- a value of another form: more digits behind the point than segments say, or before, or none
\t on
SELECT format('INSERT INTO packed (id, k, z, x) VALUES (20000, 1, %L, 1); INSERT INTO plain (id, k, z, x) VALUES (20000, 1, %1$L, 1)', v), $$SELECT way('SELECT k, sum(z) FROM packed GROUP BY 1')$$,
	$$SELECT way('SELECT k, sum(z) FROM packed GROUP BY 1'), (SELECT string_agg(d, ' ') FROM differs('{z}') d)$$, 'DELETE FROM packed WHERE id = 20000', 'DELETE FROM plain WHERE id = 20000',
	$$SELECT gpucol.merge('packed') IS NOT NULL AS merged$$, 'INSERT INTO packed SELECT * FROM plain WHERE id = 10050 LIMIT 1', 'INSERT INTO plain SELECT * FROM plain WHERE id = 10050 LIMIT 1'
	FROM unnest('{1.0000000,0.12345678,NaN,-Infinity,1e200,1e-200,12345678901234567890.12,999999999999999999}'::text[]) v
\gexec
\t off

-- parts of a table, of other scales each, one without rows
CREATE TABLE parted (id int, k int, z numeric, v numeric) PARTITION BY RANGE (id);
CREATE TABLE part_a PARTITION OF parted FOR VALUES FROM (0) TO (3000) USING gpucol;
CREATE TABLE part_b PARTITION OF parted FOR VALUES FROM (3000) TO (50000) USING gpucol;
CREATE TABLE part_c PARTITION OF parted FOR VALUES FROM (50000) TO (60000) USING gpucol;
CREATE TABLE whole AS SELECT id, k, CASE WHEN id < 3000 THEN z ELSE round(z, id % 2) END z, v FROM plain WHERE id < 9000;
INSERT INTO parted SELECT * FROM whole;
SELECT gpucol.merge('part_a'), gpucol.merge('part_b');
ANALYZE parted;
SELECT query FROM unnest('{"SELECT k, sum(z), avg(z * v), max(z + v) FROM T GROUP BY 1","SELECT sum(CASE WHEN z > 1 THEN v ELSE z END), sum(round(v, 1)) FROM T","SELECT sum(z) FILTER (WHERE id > 3000), sum(z) FROM T"}'::text[]) query
	WHERE twin_result(query, 'whole', 'forbid') IS DISTINCT FROM twin_result(query, 'parted', 'allow');

-- none, one
TRUNCATE packed, plain;
SELECT differs('{z,v}');
INSERT INTO packed (id, k, z, v, x, s) VALUES (1, 1, 1.50, 2.2500, 3, 0);
INSERT INTO plain (id, k, z, v, x, s) VALUES (1, 1, 1.50, 2.2500, 3, 0);
SELECT differs('{z,v}');
SELECT gpucol.merge('packed');
SELECT differs('{z,v}');

SET client_min_messages = error;
DROP SCHEMA numeric_mixed CASCADE;
