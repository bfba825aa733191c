--
-- Grouping sets: one aggregation by all keys in the engine, whose groups the executor
-- joins to those of each set.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_sets;
SET search_path = agg_sets, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE sale (id int PRIMARY KEY, a int, b int8, c text, d numeric(10,2), f float8, g float4, h numeric(8,3),
	day date, yes bool, note text) USING gpucol;
INSERT INTO sale SELECT i, CASE WHEN i % 13 > 0 THEN i % 7 END, CASE WHEN i % 5 > 0 THEN (i % 4)::int8 * 5000000000 END,
	CASE WHEN i % 6 > 0 THEN 'c' || i % 9 END, CASE WHEN i % 17 > 0 THEN i::numeric / 7 END,
	CASE i % 50 WHEN 0 THEN '-0' WHEN 1 THEN 0 WHEN 2 THEN NULL WHEN 3 THEN 'NaN' ELSE i::float8 / 8 END, (i / 16)::float4,
	i::numeric / 1000, date '2024-01-01' + i % 60, CASE WHEN i % 5 > 0 THEN i % 3 = 0 END, 'n' || i % 70
FROM generate_series(1, 9000) i;
DELETE FROM sale WHERE id % 1000 = 5;
ANALYZE sale;
CREATE TABLE nothing (LIKE sale) USING gpucol;

EXPLAIN (VERBOSE, COSTS OFF) SELECT a, c, grouping(a, c), sum(d) FROM sale GROUP BY ROLLUP (a, c) HAVING grouping(c) = 0 OR sum(d) > 5;
SELECT a, b, grouping(a), grouping(b), grouping(b, a), count(*), sum(d), avg(h) FROM sale WHERE a < 2 OR a IS NULL
	GROUP BY CUBE (a, b) ORDER BY 5, 1, 2;

SELECT d FROM unnest(ARRAY[
	'SELECT a, c, count(*), count(d), sum(d), avg(d), min(d), max(d) FROM sale GROUP BY ROLLUP (a, c)',
	'SELECT a, b, c, grouping(a, b, c), sum(b), avg(b), min(c), max(c), count(c) FROM sale GROUP BY CUBE (a, b, c)',
	'SELECT a, b, min(day), max(day), bool_and(yes), bool_or(yes), every(a > 0) FROM sale GROUP BY GROUPING SETS ((a), (b), ())',
	'SELECT a, b, count(*) FROM sale GROUP BY GROUPING SETS ((a), (a), (a, b), (), ())',
	'SELECT a, b, count(*) FROM sale GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a, b)',
	'SELECT a, b, c, count(*) FROM sale GROUP BY a, ROLLUP (b, c)',
	'SELECT a, yes, min(f), max(f), count(f), min(g), max(g), round(sum(f)::numeric, 4), round(avg(g)::numeric, 4) FROM sale WHERE f <> ''NaN'' AND f <> 0 GROUP BY ROLLUP (a, yes)',
	'SELECT yes, sum(f), avg(f), max(f) FROM sale GROUP BY ROLLUP (yes)',
	'SELECT a, var_pop(id), stddev(b), var_samp(d), round(stddev_pop(f)::numeric, 4) FROM sale WHERE f < 100 GROUP BY ROLLUP (a)',
	'SELECT a, b, count(DISTINCT c), count(DISTINCT a), count(DISTINCT note), count(DISTINCT f) FROM sale GROUP BY CUBE (a, b)',
	'SELECT a, b, sum(d) FILTER (WHERE yes), count(*) FILTER (WHERE c = ''c1''), count(DISTINCT c) FILTER (WHERE a > 2) FROM sale GROUP BY CUBE (a, b)',
	'SELECT to_char(day, ''YYYY-MM''), c, sum(d), min(note) FROM sale GROUP BY ROLLUP (to_char(day, ''YYYY-MM''), c)',
	'SELECT a + 1, a + 1 + 1, upper(c), grouping(a + 1), count(*) FROM sale GROUP BY CUBE (a + 1, upper(c))',
	'SELECT coalesce(c, ''all''), coalesce(a, -1), c IS NULL, count(*) * 2, sum(d) / count(*) FROM sale GROUP BY CUBE (c, a)',
	'SELECT CASE WHEN d < 100 THEN ''low'' ELSE ''high'' END, yes, count(*) FROM sale GROUP BY CUBE (CASE WHEN d < 100 THEN ''low'' ELSE ''high'' END, yes)',
	'SELECT CASE WHEN grouping(a) = 1 THEN ''total'' ELSE a::text END, grouping(a) + grouping(yes), sum(d) FROM sale GROUP BY ROLLUP (a, yes)',
	'SELECT sum(d), count(*) FROM sale GROUP BY CUBE (a, c)',
	'SELECT count(*), grouping(a) FROM sale GROUP BY ROLLUP (a) HAVING grouping(a) = 1',
	'SELECT a, b FROM sale GROUP BY CUBE (a, b) HAVING count(*) > 300 AND a IS NULL',
	'SELECT a, c, d, h, day, yes, count(*) FROM sale WHERE id < 500 GROUP BY ROLLUP (a, c, d, h, day, yes)',
	'SELECT nullif(f, 0), g, n FROM (SELECT f, g, count(*) AS n FROM sale GROUP BY GROUPING SETS ((f), (g), (f, g), ())) q',
	'SELECT id, note, count(*) FROM sale WHERE id < 50 GROUP BY GROUPING SETS ((id), (id, a))',
	'SELECT date_trunc(''month'', day), day, sum(d) FROM sale GROUP BY ROLLUP (date_trunc(''month'', day), day)',
	'SELECT a, c, sum(d) FROM sale WHERE id < 0 GROUP BY CUBE (a, c)',
	'SELECT a, c, count(*), count(DISTINCT c), sum(d), grouping(a) FROM nothing GROUP BY CUBE (a, c)',
	'SELECT count(*), sum(d) FROM nothing GROUP BY GROUPING SETS ((), ())',
	'SELECT count(*), sum(d) FROM sale GROUP BY GROUPING SETS ((), ())',
	'SELECT a, count(*) FROM nothing GROUP BY GROUPING SETS ((a))',
	'SELECT a, count(*) FROM sale WHERE false GROUP BY ROLLUP (a)',
	'SELECT 1 / (a - 3), count(*) FROM sale GROUP BY ROLLUP (1 / (a - 3))',
	'SELECT a, sum(2000000000 * a) FROM sale GROUP BY ROLLUP (a)',
	'SELECT x.a, x.n, y.n FROM (SELECT a, count(*) n FROM sale GROUP BY ROLLUP (a)) x
		LEFT JOIN (SELECT a, count(*) n FROM sale WHERE yes GROUP BY ROLLUP (a)) y ON x.a IS NOT DISTINCT FROM y.a',
	'SELECT o.k, (SELECT max(s) FROM (SELECT b, sum(d) s FROM sale WHERE a = o.k GROUP BY ROLLUP (b)) i) FROM generate_series(0, 8) o(k)',
	'SELECT a, sum(count(*)) OVER (PARTITION BY grouping(a, b)) FROM sale GROUP BY ROLLUP (a, b)'
	]) q, differ(q) d WHERE d IS NOT NULL;

-- partitions, and many groups
CREATE TABLE parts (k int, v int, n numeric(6,1)) PARTITION BY RANGE (k);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (4000) USING gpucol;
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (4000) TO (9000) USING gpucol;
INSERT INTO parts SELECT i, i % 3, i / 10.0 FROM generate_series(0, 8999) i;
SELECT d FROM unnest(ARRAY[
	'SELECT k, v, sum(n), count(*) FROM parts GROUP BY ROLLUP (v, k)',
	'SELECT k % 10, v, sum(n), count(DISTINCT k) FROM parts GROUP BY CUBE (k % 10, v)'
	]) q, differ(q) d WHERE d IS NOT NULL;

-- squares and sums of joined groups that go beyond float8, and infinite values
SELECT d FROM unnest(ARRAY[
	'SELECT k, var_pop(k * 1e160::float8) FROM parts WHERE k < 4 GROUP BY ROLLUP (k)',
	'SELECT k, stddev(k * 1e307::float8) FROM parts WHERE k < 40 GROUP BY ROLLUP (k)',
	'SELECT k, var_samp(CASE WHEN k = 2 THEN ''Infinity'' ELSE k::float8 END) FROM parts WHERE k < 4 GROUP BY ROLLUP (k)',
	'SELECT left(n::text, 1), variance(k * 1e160::float8) FROM parts WHERE k < 4 GROUP BY 1'
	]) q, differ(q) d WHERE d IS NOT NULL;

-- left to PostgreSQL
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, string_agg(c || random(), ',') FROM sale GROUP BY ROLLUP (a);
EXPLAIN (VERBOSE, COSTS OFF) SELECT 1 AS x, a, count(*) FROM sale GROUP BY ROLLUP (1, a);

-- parameters, and a scan in both directions
PREPARE sets(int) AS SELECT a, grouping(a), count(*), sum(d) FROM sale WHERE id > $1 GROUP BY ROLLUP (a) ORDER BY 2, 1;
SET plan_cache_mode = force_generic_plan;
SET gpucol.pushdown = require;
EXECUTE sets(8900);
EXECUTE sets(NULL);
BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT a, grouping(a), count(*) FROM sale GROUP BY ROLLUP (a) ORDER BY 2, 1;
MOVE ALL IN s;
FETCH PRIOR FROM s;
COMMIT;
RESET gpucol.pushdown;

-- more groups than are looked for one by one: texts of several lengths, NULLs, floats, keys that PostgreSQL makes
CREATE TABLE many (id int, t text, u varchar(30), k int, f float8, n numeric) USING gpucol;
INSERT INTO many SELECT i, CASE WHEN i % 40 > 0 THEN repeat('t', i % 3 * 9) || i % 5003 END, CASE WHEN i % 9 > 0 THEN 'u' || i % 2999 END, CASE WHEN i % 50 > 0 THEN i % 4001 END,
	CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL ELSE i % 3001 / 8.0 END, i % 2500 / 10.0 FROM generate_series(1, 20000) i;
ANALYZE many;
SELECT d FROM unnest(ARRAY[
	'SELECT t, count(*), sum(k), min(u), max(f) FROM many GROUP BY GROUPING SETS ((t), (u), (k), (t, u), ())',
	'SELECT t, u, k, grouping(t, u, k), count(DISTINCT f), sum(n) FROM many GROUP BY ROLLUP (t, u, k)',
	'SELECT t, f, percentile_disc(0.5) WITHIN GROUP (ORDER BY k), mode() WITHIN GROUP (ORDER BY u), count(*) FROM many GROUP BY CUBE (t, f)',
	'SELECT n, md5(string_agg(t, '','' ORDER BY id)), percentile_cont(0.25) WITHIN GROUP (ORDER BY k) FROM many GROUP BY n',
	'SELECT upper(t), u, array_agg(id ORDER BY id) FROM many GROUP BY GROUPING SETS ((1), (2))',
	'SELECT t, k, u, percentile_disc(0.9) WITHIN GROUP (ORDER BY n) FROM many WHERE k % 2 = 1 GROUP BY t, k, u']) q, differ(q) d WHERE d IS NOT NULL;
-- an aggregation for each set, where all keys have nearly as many combinations as there are rows
EXPLAIN (COSTS OFF) SELECT t, u, grouping(u, t), count(*), sum(k) FROM many GROUP BY CUBE (t, u) HAVING count(*) > 1 OR grouping(t) = 1;
EXPLAIN (COSTS OFF) SELECT k % 3, k % 2, grouping(k % 3), count(*) FROM many GROUP BY CUBE (k % 3, k % 2);
ALTER TABLE many ADD big numeric(38,0) DEFAULT 90000000000000000000000000000000000000;
CREATE TABLE parted (LIKE many) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (9000) USING gpucol;
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (9000) TO (MAXVALUE) USING gpucol;
INSERT INTO parted SELECT * FROM many;
DELETE FROM many WHERE id % 77 = 3;
INSERT INTO many (id, t, u, k) VALUES (30001, 'new', NULL, 1), (30002, NULL, 'new', NULL);
CREATE TABLE none (LIKE many) USING gpucol;
ANALYZE parted;
CREATE FUNCTION apart(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text; nodes int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := nodes + (line ~ 'GpucolAgg')::int;
	END LOOP;
	RETURN nodes > 1;
END $$;
SELECT apart(q), differ(q), left(q, 90) FROM unnest(ARRAY[
	'SELECT t, u, grouping(u, t), grouping(t), count(*), sum(k), min(f), max(u) FROM many GROUP BY CUBE (t, u)',
	'SELECT t, u, count(*) FROM many GROUP BY GROUPING SETS ((t), (u), (t), (), ()) HAVING count(*) > 4 OR grouping(t, u) = 3 OR u IS NULL',
	'SELECT coalesce(t, ''?'') || coalesce(u, ''!''), t IS NULL, grouping(t) + count(*), sum(k) * (1 + grouping(u)) FROM many GROUP BY ROLLUP (t, u)',
	'SELECT upper(t), t, k, count(*) FROM many GROUP BY GROUPING SETS ((upper(t)), (t, k), (upper(t), k))',
	'SELECT t, k + 1, k, count(DISTINCT u), sum(DISTINCT n) FROM many GROUP BY GROUPING SETS ((k), (k + 1), (t), (k, t))',
	'SELECT t, u, string_agg(u, '','' ORDER BY id), count(*) FROM many GROUP BY GROUPING SETS ((t), (u))',
	'SELECT t, u, count(*) FILTER (WHERE k > 9), avg(f), stddev(k), bool_or(k > 7) FROM many WHERE id > 100 AND f <> ''NaN'' GROUP BY ROLLUP (t, u)',
	'SELECT t, u, sum(big), count(*) FROM many GROUP BY GROUPING SETS ((t), (u), ())',
	'SELECT t, u, sum(count(*)) OVER (PARTITION BY grouping(t, u)), rank() OVER (ORDER BY count(*), t, u) FROM many GROUP BY CUBE (t, u)',
	'SELECT DISTINCT t, grouping(t) FROM many GROUP BY CUBE (t, u)',
	'SELECT g, sum(c), count(t) FROM (SELECT t, u, grouping(t, u) AS g, count(*) AS c FROM many GROUP BY CUBE (t, u)) s GROUP BY g',
	'SELECT x.t, count(*) FROM many m JOIN (SELECT t, u, count(*) AS c FROM many GROUP BY GROUPING SETS ((t), (u))) x ON x.t = m.t GROUP BY 1',
	'SELECT t, u, count(*) FROM many WHERE id < (SELECT max(k) FROM many) GROUP BY CUBE (t, u)',
	'SELECT t, u, count(*), unnest(ARRAY[1, 2]) FROM many GROUP BY GROUPING SETS ((t), (u))',
	'SELECT t, u, count(*), sum(k) FROM parted GROUP BY GROUPING SETS ((t, u), (u), ())',
	'SELECT t, u, count(*), sum(k) FROM none GROUP BY GROUPING SETS ((t, u), (u), (), ())',
	'SELECT t, u, count(*) FROM many GROUP BY GROUPING SETS ((t, u)) ORDER BY 1, 2',
	'SELECT t, u FROM many GROUP BY CUBE (t, u)']) q;
PREPARE few (int, text) AS SELECT t, u, count(*) FROM many WHERE k > $1 GROUP BY GROUPING SETS ((t), (u)) HAVING count(*) > 3 AND (t > $2 OR grouping(t) = 1) ORDER BY 3 DESC, 1, 2 LIMIT 5;
EXECUTE few (10, 't');
EXECUTE few (2000, 'ttt');
SELECT count(*) FROM (SELECT t, u, count(*) FROM many GROUP BY GROUPING SETS ((t), (u)) LIMIT 6000) x;
SELECT count(*) FROM (SELECT t, mode() WITHIN GROUP (ORDER BY k) FROM many GROUP BY t LIMIT 3000) x;

-- groups of sets that are made of those of finer ones: any sets, with NULL as a value, sums at the bound, texts
CREATE TABLE fine (a int, b int, c text, d numeric(6,2), e int, big numeric, f float8) USING gpucol;
INSERT INTO fine SELECT i, NULLIF(i / 2, 7), CASE WHEN i % 41 > 0 THEN 'class ' || i / 40 END, i / 100, i % 3, CASE WHEN i < 3 THEN 9e37 ELSE i END, i / 8.0 FROM generate_series(1, 8000) i;
DELETE FROM fine WHERE a % 211 = 3;
CREATE TABLE side (e int, name text) USING gpucol;
INSERT INTO side VALUES (0, 'zero'), (1, 'one'), (2, 'two');
INSERT INTO fine VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL), (9000, 4500, 'late', 90, 1, 1, 1);
SELECT d FROM unnest(ARRAY['ROLLUP (e, d, c, b, a)', 'CUBE (c, d, e)', 'ROLLUP (e, d), CUBE (c, e)', 'GROUPING SETS ((a), (b), (c, d), (d, c), (d), (), ())', 'GROUPING SETS ((a, b), (b, c), (b), (c), (e))',
	'ROLLUP ((e, d), (c, b))', 'GROUPING SETS ((e, d), ROLLUP (d, c), ())', 'GROUPING SETS ((e, e), (e), ())', 'a, ROLLUP (b, c)']) sets,
	unnest(ARRAY['count(*), sum(b), min(c), max(d), avg(d)', 'count(f), sum(f), min(c COLLATE "C"), stddev(b), bool_or(e = 1)', 'count(DISTINCT e), sum(d)', 'max(big), string_agg(c, '','' ORDER BY c, a)']) aggs,
	unnest(ARRAY['', ' HAVING count(*) > 3 AND sum(b) * 2 > 50']) rest,
	differ(format('SELECT %1$s, grouping(%1$s), %2$s FROM fine GROUP BY %3$s%4$s', CASE sets WHEN 'GROUPING SETS ((e, e), (e), ())' THEN 'e' WHEN 'CUBE (c, d, e)' THEN 'c, d, e' WHEN 'ROLLUP (e, d), CUBE (c, e)' THEN 'c, d, e'
		WHEN 'ROLLUP ((e, d), (c, b))' THEN 'b, c, d, e' WHEN 'GROUPING SETS ((e, d), ROLLUP (d, c), ())' THEN 'c, d, e' WHEN 'a, ROLLUP (b, c)' THEN 'a, b, c'
		WHEN 'GROUPING SETS ((a, b), (b, c), (b), (c), (e))' THEN 'a, b, c, e' WHEN 'GROUPING SETS ((a), (b), (c, d), (d, c), (d), (), ())' THEN 'a, b, c, d' ELSE 'a, b, c, d, e' END, aggs, sets, rest)) d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT e, d, c, sum(big) FROM fine GROUP BY ROLLUP (e, d, c)') d WHERE d IS NOT NULL;
SELECT d FROM unnest('{"ROLLUP (name, d, c, b)","CUBE (name, d, c, b)","GROUPING SETS ((name, b), (d, c), (c), (name), ())"}'::text[]) sets,
	differ(format('SELECT name, d, c, b, count(*), sum(a), min(c), grouping(name, d, c, b) FROM fine JOIN side USING (e) GROUP BY %s', sets)) d WHERE d IS NOT NULL;

-- values that are counted among finer groups: an aggregation for each set, where all sets together would have nearly as
-- many groups as there are rows
CREATE TABLE buy (who int, a int, b text, n int) USING gpucol;
INSERT INTO buy SELECT i * 7919 % 10007, i % 12, 'b' || i % 5, i FROM generate_series(1, 30000) i;
ANALYZE buy;
EXPLAIN (COSTS OFF) SELECT a, b, count(DISTINCT who) FROM buy GROUP BY ROLLUP (a, b);
SELECT d FROM unnest('{"ROLLUP (a, b)","CUBE (a, b)","GROUPING SETS ((b), (a), ())"}'::text[]) sets,
	differ(format('SELECT a, b, count(DISTINCT who), sum(n), grouping(a, b) FROM buy GROUP BY %s HAVING count(DISTINCT who) > 10', sets)) d WHERE d IS NOT NULL;

SET client_min_messages = error;
DROP SCHEMA agg_sets CASCADE;
