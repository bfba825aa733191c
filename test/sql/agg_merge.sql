--
-- So many groups, strings and values of sets that the tables of threads are merged by all threads.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_merge;
SET search_path = agg_merge, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 8192;
CREATE TABLE packed (id int, near int, far int8, t text, d numeric(30,4), f float8, few int2, n int, v float8) USING gpucol;
INSERT INTO packed SELECT i, i / 2, (i * 7919::int8 % 12011) * 1000003 - 40000, 'text ' || i * 31 % 11003,
	(i * 7919::int8 % 12011) * 1e15, CASE WHEN i % 900 = 0 THEN '-0' WHEN i % 450 = 0 THEN 0
		WHEN i % 77 = 0 THEN 'NaN' ELSE (i % 14001) / 8.0 END::float8,
	i % 3, CASE WHEN i % 10 > 0 THEN i % 9007 END, i % 8
FROM generate_series(1, 20000) i;
INSERT INTO packed SELECT id, near, far, t || id % 2, d, f, few, n, v FROM packed WHERE id % 80 = 0;
DELETE FROM packed WHERE id % 1000 = 5;
ANALYZE packed;

-- Sums of floats have several tables, whatever the threads.
CREATE TABLE queries AS SELECT unnest(ARRAY[
	'SELECT near, count(*), sum(id), min(n), max(d), sum(v) FROM packed GROUP BY near',
	'SELECT far, count(n), sum(d), avg(n), bool_and(n > 5), bit_xor(id), sum(v) FROM packed GROUP BY far',
	'SELECT t, count(*), sum(id), sum(v) FROM packed GROUP BY t',
	'SELECT d, f, few, count(*), sum(v) FROM packed GROUP BY d, f, few',
	'SELECT n, t, near, count(*), sum(far), sum(v) FROM packed GROUP BY n, t, near',
	'SELECT n, sum(id::float8), round(stddev(near::float8)::numeric, 6), sum(v) FROM packed GROUP BY n',
	'SELECT f + 0 AS f, count(*), sum(v) FROM packed GROUP BY 1',
	'SELECT near, sum(id), sum(v) FROM packed GROUP BY near HAVING sum(id) > 30000',
	'SELECT n, count(DISTINCT t), count(DISTINCT far), count(DISTINCT few), sum(v) FROM packed GROUP BY n',
	'SELECT few, count(DISTINCT t), count(DISTINCT n), count(DISTINCT near), count(*), sum(v) FROM packed GROUP BY few',
	'SELECT t, count(DISTINCT n), count(DISTINCT t), sum(id), sum(v) FROM packed GROUP BY t',
	'SELECT count(DISTINCT t), count(DISTINCT n), count(DISTINCT far), count(DISTINCT f), sum(v) FROM packed',
	'SELECT t, few, count(DISTINCT id) FILTER (WHERE n > 100), sum(v) FROM packed GROUP BY t, few',
	'SELECT near, min(t), max(t), count(DISTINCT t), sum(v) FROM packed GROUP BY near',
	'SELECT far, t FROM packed GROUP BY far, t HAVING sum(v) > 0'
	]) q;

SET gpucol.cpu_threads = 2;
SELECT d FROM queries, differ(q) d WHERE d IS NOT NULL;
SET gpucol.cpu_threads = 5;
SELECT d FROM queries, differ(q) d WHERE d IS NOT NULL;

-- Sums of floats have the same bits for any number of threads.
SET gpucol.pushdown = require;
SET gpucol.cpu_threads = 1;
CREATE TABLE sums AS SELECT n, sum(f / 3) s FROM packed WHERE f < 1e9 GROUP BY n;
SET gpucol.cpu_threads = 3;
SELECT count(*) FROM (SELECT n, sum(f / 3) s FROM packed WHERE f < 1e9 GROUP BY n EXCEPT ALL TABLE sums) d;
CREATE TABLE bits (threads int, n int, t text, s float8, a float8, d float8, r float8, c bigint);
DO $$
BEGIN
	FOR threads IN 1..5 LOOP
		PERFORM set_config('gpucol.cpu_threads', threads::text, false);
		INSERT INTO bits SELECT threads, n, max(t), sum(f / 3), avg(v / 7) FILTER (WHERE id % 3 > 0), stddev(f / 3), corr(f / 3, v / 7), count(DISTINCT few) FROM packed WHERE f < 1e9 GROUP BY n;
		INSERT INTO bits SELECT threads, NULL, t, sum(f / 3), avg(v / 7) FILTER (WHERE id % 3 > 0), stddev(f / 3), regr_slope(f / 3, v / 7), max(few) FROM packed WHERE f < 1e9 GROUP BY t;
		-- the first that is not finite counts, and -0 is a sum
		INSERT INTO bits SELECT threads, n, NULL, sum(CASE id % 5 WHEN 0 THEN 'Infinity' WHEN 1 THEN 'NaN' ELSE -0.0 END::float8), avg(-0.0::float8), stddev(1 / v) FROM packed WHERE v <> 0 GROUP BY n;
	END LOOP;
END $$;
SELECT b.threads, count(*) > 20000 AS many, count(b.n) - count(a.n) AS n, count(*) FILTER (WHERE (b.t, b.c) IS DISTINCT FROM (a.t, a.c) OR float8send(b.s) IS DISTINCT FROM float8send(a.s)
	OR float8send(b.a) IS DISTINCT FROM float8send(a.a) OR float8send(b.d) IS DISTINCT FROM float8send(a.d) OR float8send(b.r) IS DISTINCT FROM float8send(a.r)) AS other
FROM (SELECT *, row_number() OVER (PARTITION BY threads ORDER BY n, t COLLATE "C", c, d, a) AS i FROM bits) b
JOIN (SELECT *, row_number() OVER (ORDER BY n, t COLLATE "C", c, d, a) AS i FROM bits WHERE threads = 1) a USING (i) GROUP BY b.threads ORDER BY 1;

-- EXPLAIN tells of the tables of the CPU engine's threads and of their merge.
SET gpucol.engine = cpu;
CREATE FUNCTION am_reduction(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Reduction Objects' THEN
			RETURN regexp_replace(substring(line FROM 'Reduction.*'), '(cache|memory)|; [0-9]+ kB', '', 'g');
		END IF;
	END LOOP;
END $$;
CREATE TABLE am_objects USING gpucol AS SELECT i AS id, i % 7 AS few, i / 10.0::float8 AS f, 't' || i AS t FROM generate_series(1, 20000) i;
ANALYZE am_objects;
SET gpucol.cpu_threads = 2;
SELECT am_reduction('SELECT count(*) FROM am_objects');
SELECT am_reduction('SELECT sum(f) FROM am_objects');
SELECT am_reduction('SELECT few, sum(f) FROM am_objects GROUP BY 1');
SELECT am_reduction('SELECT t, sum(f) FROM am_objects GROUP BY 1');
SET gpucol.cpu_threads = 1;
SELECT am_reduction('SELECT t, sum(f) FROM am_objects GROUP BY 1');
SET gpucol.cpu_threads = 2;
DELETE FROM am_objects WHERE id < 10;
INSERT INTO am_objects SELECT * FROM am_objects WHERE id = 11;
SELECT am_reduction('SELECT few, sum(f) FROM am_objects GROUP BY 1');

DROP SCHEMA agg_merge CASCADE;
