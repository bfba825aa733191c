--
-- Groups by the thousand: more than are formed at a time, results of every kind,
-- with and without a value, in every place that a plan may hand them to.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_groups;
SET search_path = agg_groups, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE packed (id int, k int, w int8, t text, a int2, b int, c int8, d numeric(12,2), f float8, g float4,
	day date, at timestamp, yes bool) USING gpucol;
INSERT INTO packed SELECT i, i % 2003, (i % 2003)::int8 * 5000000000, 'key ' || i % 2003,
	CASE WHEN i % 2003 >= 7 THEN (i % 100)::int2 END, i, i::int8 * 3,
	CASE WHEN i % 2003 <> 9 OR i < 2003 THEN i::numeric(12,2) / 7 END,
	CASE WHEN i % 2003 <> 11 OR i < 2003 THEN i::float8 / 8 END, (i / 16)::float4,
	date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 minute', CASE WHEN i % 5 > 0 THEN i % 3 = 0 END
FROM generate_series(1, 9000) i;
DELETE FROM packed WHERE id % 1000 = 5;
ANALYZE packed;

SELECT d FROM unnest(ARRAY[
	'SELECT k, count(*), count(a), sum(a), sum(b), min(a), max(b) FROM packed GROUP BY k',
	'SELECT sum(c), k, avg(a), avg(c), k, min(c), max(a) FROM packed GROUP BY k',
	'SELECT w, sum(d), avg(d), min(d), max(d), var_pop(b), stddev(b), var_samp(a) FROM packed GROUP BY w',
	'SELECT k, sum(f), min(f), max(f), avg(f), min(g), max(g) FROM packed GROUP BY k',
	'SELECT k, round(stddev_pop(f)::numeric, 6), round(variance(f)::numeric, 6) FROM packed GROUP BY k',
	'SELECT min(day), max(at), bool_and(yes), bool_or(yes), every(b > 3000), t FROM packed GROUP BY t',
	'SELECT t, w, k, count(*) FROM packed GROUP BY k, w, t',
	'SELECT day, d, f, g, yes, count(*) FROM packed GROUP BY day, d, f, g, yes',
	'SELECT a, count(DISTINCT t), count(DISTINCT k) FROM packed GROUP BY a',
	'SELECT count(*) FROM packed GROUP BY k',
	'SELECT DISTINCT t, k FROM packed',
	'SELECT k, sum(b) FROM packed GROUP BY k HAVING sum(b) > 20000',
	'SELECT k + 1 AS k, sum(b) / count(*) AS s FROM packed GROUP BY k',
	'SELECT k, sum(b) FROM packed WHERE id < 0 GROUP BY k',
	'SELECT count(*), sum(b), avg(d) FROM packed WHERE id < 0',
	'SELECT x.k, x.s, y.n FROM (SELECT k, sum(b) s FROM packed GROUP BY k) x
		JOIN (SELECT k, count(*) n FROM packed GROUP BY k) y ON x.k = y.k + 1',
	'SELECT k, (SELECT sum(s) FROM (SELECT a, sum(b) s FROM packed WHERE b % 40 = o.k % 40 GROUP BY a) i) s
		FROM (SELECT DISTINCT k FROM packed WHERE k < 30) o'
	]) q, differ(q) d WHERE d IS NOT NULL;

-- In order, in parts, and ended early.
SET gpucol.pushdown = require;
SELECT k, sum(b) FROM packed GROUP BY k ORDER BY k LIMIT 3 OFFSET 1000;
SELECT count(*) FROM (SELECT k, avg(d) FROM packed GROUP BY k LIMIT 300) x;
BEGIN;
DECLARE c CURSOR FOR SELECT k, sum(b) FROM packed GROUP BY k ORDER BY k;
MOVE 1500 IN c;
FETCH 2 FROM c;
DECLARE s SCROLL CURSOR FOR SELECT t, k FROM packed WHERE k < 1000 GROUP BY t, k;
MOVE ALL IN s;
FETCH PRIOR FROM s \gset last_
SELECT :'last_t' = 'key ' || :last_k AS same;
MOVE BACKWARD 998 IN s;
FETCH PRIOR FROM s \gset first_
SELECT :'first_t' = 'key ' || :first_k AS same, :first_k <> :last_k AS other;
-- two of one table in turn
DECLARE d NO SCROLL CURSOR FOR SELECT k, count(*) FROM packed WHERE k >= 2000 GROUP BY k;
FETCH 1 FROM d \gset d_
FETCH 1 FROM c;
SELECT :d_count AS n;
COMMIT;
-- kept by what is above
SELECT array_length(array_agg(t), 1), count(DISTINCT t), min(t) FROM (SELECT t, count(*) FROM packed GROUP BY t) x;
RESET gpucol.pushdown;
-- Nearly a group a row, which all threads merge: keys of every class, with NULLs.
RESET gpucol.segment_rows;
CREATE TABLE sparse (i int, w int8, t text, d numeric(12,2), f float8, m text) USING gpucol;
INSERT INTO sparse SELECT i, CASE WHEN i % 97 > 0 THEN (i % 66000)::int8 * 100000000003 END, CASE WHEN i % 89 > 0 THEN 't' || i % 60000 END,
	CASE WHEN i % 83 > 0 THEN (i % 55000)::numeric / 7 END, CASE WHEN i % 79 > 0 THEN (i % 70000)::float8 / 8 END, 'm' || i % 5
FROM generate_series(1, 90000) i;
ANALYZE sparse;
CREATE FUNCTION differ_in_threads(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	FOREACH n IN ARRAY ARRAY[1, 4] LOOP
		PERFORM set_config('gpucol.cpu_threads', n::text, true);
		RETURN QUERY SELECT n || ' threads: ' || d FROM differ(query) d WHERE d IS NOT NULL;
	END LOOP;
END $$;
SET gpucol.engine = cpu;
SELECT d FROM unnest(ARRAY[
	'SELECT w, count(*), sum(i), min(d), max(f) FROM sparse GROUP BY w',
	'SELECT t, m, count(*), avg(d), bool_or(i > 9) FROM sparse GROUP BY t, m',
	'SELECT d, f, t, sum(f), var_samp(i) FROM sparse GROUP BY d, f, t',
	'SELECT w, count(DISTINCT m), count(DISTINCT t) FROM sparse GROUP BY w',
	'SELECT count(DISTINCT w), count(DISTINCT t), count(DISTINCT f), count(DISTINCT i) FROM sparse'
	]) q, differ_in_threads(q) d;
RESET gpucol.engine;

-- conditions that most rows of a vector meet: the others are computed with, but count nowhere
CREATE TABLE most (id int, g int, h text, n numeric(10,2), p numeric(8,4), z int, d date) USING gpucol;
INSERT INTO most SELECT i, NULLIF(i % 7, 3), NULLIF('h' || i % 3, 'h1'), NULLIF(i * 37 % 1009 / 4.0, 50), i % 97 / 100.0, CASE WHEN i % 50 > 0 THEN i % 50 END * (i % 50 - 20), date '2020-01-01' + i % 100
FROM generate_series(1, 20000) i;
DELETE FROM most WHERE id % 31 = 4;
INSERT INTO most SELECT i, i % 7, 'h2', i, 0.5, 0, '2020-02-01' FROM generate_series(30001, 30100) i;
SELECT d FROM unnest('{"d <= ''2020-04-05''","id <> 77","id < 15000 AND z <> 0","z <> 0 AND d > ''2020-01-15''","n IS NOT NULL","id % 50 > 2","true","g <> 2"}'::text[]) cond, unnest('{g,"g, h","h, d"}'::text[]) keys,
	unnest('{"sum(n), sum(n * (1 - p)), sum(n * (1 - p) * (1 + p)), avg(p), count(*), count(n)","min(n), max(p), min(id), sum(z), max(z * 3)","sum(z), sum(1000 / z), count(n)","sum(CASE WHEN z > 3 THEN n ELSE p END), sum(id - z)"}'::text[]) aggs,
	differ(format('SELECT %1$s, %2$s FROM most WHERE %3$s GROUP BY %1$s', keys, aggs, cond)) d WHERE d IS NOT NULL AND (d NOT LIKE '%division by zero%' OR cond LIKE 'z <> 0%');
-- keys in the order of the rows, by the ten thousand in each segment; rows of the delta out of it, few and many
SET gpucol.segment_rows = 100000;
CREATE TABLE rising (k int, w int8, v numeric(8,2), t int) USING gpucol;
INSERT INTO rising SELECT i / 3 * 5, i / 3 * 50000000000, i % 977 / 4.0, i % 5 FROM generate_series(1000, 251000) i;
SET gpucol.segment_rows = 50000;
INSERT INTO rising SELECT i / 3 * 5, i / 3 * 50000000000, i % 977 / 4.0, i % 5 FROM generate_series(249000, 300000) i;
INSERT INTO rising SELECT NULLIF(i * 2503 % 1700, 5), i * 2503 % 1700 * 10000000000, i, i FROM generate_series(1, 300) i;
CREATE TABLE rising_more (LIKE rising) USING gpucol;
INSERT INTO rising_more SELECT * FROM rising;
CREATE PROCEDURE add_few() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..60 LOOP
	INSERT INTO rising_more SELECT (j * 7919 + i * 31) % 600000, (j * 7919 + i * 31) % 600000 * 10000000000, j, i FROM generate_series(1, 200) j; END LOOP; END $$;
CALL add_few();
SELECT count(*) > 1 AS segments, (SELECT sum(delta_rows) FROM (SELECT count(*) AS delta_rows FROM rising_more WHERE (ctid::text::point)[0] < 2147483648) d) AS delta FROM gpucol.segments('rising_more');
SELECT d FROM unnest('{rising,rising_more}'::text[]) rel, unnest('{k,w}'::text[]) key, unnest(CASE key WHEN 'k' THEN '{1,2}'::text[] ELSE '{1}' END) threads, set_config('gpucol.cpu_threads', threads, false),
	unnest('{"HAVING count(*) <> 3","HAVING sum(v) > 680","HAVING count(*) < 3 AND min(t) >= 2","ORDER BY sum(v) DESC, 1 LIMIT 50"}'::text[]) rest,
	differ(format('SELECT %1$s, count(*), sum(v), min(t) FROM %2$s GROUP BY %1$s %3$s', key, rel, rest)) d WHERE d IS NOT NULL;
RESET gpucol.segment_rows;
RESET gpucol.cpu_threads;

DROP SCHEMA agg_groups CASCADE;
