--
-- Tables of threads that become large are drained into tables by key.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_drain;
SET search_path = agg_drain, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- Keys in order and in none, extremes, NULL, a key of 90 % of the rows, deleted rows and delta rows.
SET gpucol.segment_rows = 16384;
CREATE TABLE packed (id int, near int, far int8, t text, c text COLLATE "C", d numeric(30,4), f float8, n int, skew int, b bool) USING gpucol;
INSERT INTO packed SELECT i, i / 2, CASE i % 20011 WHEN 7 THEN 9223372036854775807 WHEN 8 THEN -9223372036854775808
		WHEN 9 THEN NULL ELSE i * 7919::int8 % 40013 * 1000003000 END,
	'text ' || i * 31 % 30011, CASE WHEN i % 50 > 0 THEN 'c' || i * 17 % 25013 END,
	(i * 7919::int8 % 40009) * 1e15, CASE WHEN i % 900 = 0 THEN '-0' WHEN i % 450 = 0 THEN 0
		WHEN i % 77 = 0 THEN 'NaN' ELSE (i % 34001) / 8.0 END::float8,
	CASE WHEN i % 10 > 0 THEN i % 9007 END, CASE WHEN i % 10 > 0 THEN 5 ELSE i END, i % 3 > 0
FROM generate_series(1, 60000) i;
INSERT INTO packed SELECT id, near, far, t, c, d, f, n, skew, b FROM packed WHERE id % 200 = 0;
DELETE FROM packed WHERE id % 1000 = 5;
ANALYZE packed;
CREATE TABLE queries AS SELECT unnest(ARRAY[
	'SELECT near, count(*), sum(id), min(n), max(d) FROM packed GROUP BY near',
	'SELECT far, count(n), sum(d), avg(n), bool_and(n > 5), bool_or(b), bit_xor(id), bit_and(n), bit_or(id) FROM packed GROUP BY far',
	'SELECT t, count(*), sum(id), min(f), max(f), min(d) FROM packed GROUP BY t',
	'SELECT c, count(*) FILTER (WHERE b), sum(id) FILTER (WHERE n > 100) FROM packed GROUP BY c',
	'SELECT d, f, b, count(*), min(id), max(far) FROM packed GROUP BY d, f, b',
	'SELECT n, t, near, count(*), sum(far::numeric) FROM packed GROUP BY n, t, near',
	'SELECT far + 0 AS far, count(*), round(stddev(near), 6) FROM packed WHERE far < 1e15 GROUP BY 1',
	'SELECT far, sum(id) FROM packed GROUP BY far HAVING sum(id) > 30000',
	'SELECT far, count(DISTINCT n), count(DISTINCT t), count(DISTINCT b), count(*) FROM packed GROUP BY far',
	'SELECT t, count(DISTINCT c), count(DISTINCT id), sum(id) FROM packed GROUP BY t',
	'SELECT far, count(DISTINCT id), count(DISTINCT n) FILTER (WHERE b), sum(n) FROM packed GROUP BY far',
	'SELECT t, count(DISTINCT id), count(DISTINCT far), count(*) FROM (SELECT t, id, far FROM packed UNION ALL SELECT t, id, far FROM packed WHERE id % 3 > 0) u GROUP BY t',
	'SELECT near, count(DISTINCT far), count(DISTINCT f) FROM packed GROUP BY near',
	'SELECT far, min(c), max(c), count(*) FROM packed GROUP BY far',
	'SELECT far, min(t), max(t), count(DISTINCT t) FROM packed GROUP BY far',
	'SELECT skew, count(*), sum(id), max(t) FROM packed GROUP BY skew',
	'SELECT far, count(*), sum(f), avg(f) FROM packed WHERE f < 1e9 GROUP BY far',
	'SELECT c, far, t FROM packed GROUP BY c, far, t HAVING count(*) > 1',
	'SELECT far, count(*) FROM packed GROUP BY far ORDER BY 2 DESC, 1 LIMIT 20',
	'SELECT t, sum(id) FROM packed GROUP BY t ORDER BY t LIMIT 20',
	'SELECT p.far, count(o.id), sum(o.n) FROM packed p LEFT JOIN packed o ON o.near = p.id GROUP BY p.far',
	'SELECT count(*) FROM (SELECT far FROM packed GROUP BY far LIMIT 30) x'
	]) q;
CREATE FUNCTION wrong(threads int[], limits text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	t int;
	l text;
BEGIN
	FOREACH t IN ARRAY threads LOOP
		PERFORM set_config('gpucol.cpu_threads', t::text, false);
		FOREACH l IN ARRAY limits LOOP
			PERFORM set_config('gpucol.memory_limit', l, false);
			RETURN QUERY SELECT concat_ws(' ', t, l, d) FROM queries, differ(q) d WHERE d IS NOT NULL;
		END LOOP;
	END LOOP;
END $$;
SELECT wrong('{4,16}', '{16MB}');
SELECT wrong('{2}', '{5MB}');

-- EXPLAIN tells that it was done; with one thread, and with sums of floats, it is not.
SET gpucol.engine = cpu;
CREATE FUNCTION reduction(threads int, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('gpucol.cpu_threads', threads::text, false);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Reduction Objects' THEN
			RETURN regexp_replace(substring(line FROM 'Reduction.*'),
								  '(cache|memory), |[0-9]+ (groups merged )|(, [0-9]+ times)?; [0-9]+ kB', '\2', 'g');
		END IF;
	END LOOP;
END $$;
SET gpucol.memory_limit = '16MB';
SELECT threads, reduction(threads, 'SELECT far, count(*), sum(id) FROM packed GROUP BY far') FROM unnest('{1,2,4,16}'::int[]) threads;
SELECT reduction(4, 'SELECT far, sum(f) FROM packed GROUP BY far');

-- Four times as many threads take no more memory.
CREATE FUNCTION kilobytes(threads int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('gpucol.cpu_threads', threads::text, false);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)
		SELECT far % 25013 AS far, count(*) FROM packed, generate_series(1, 8) GROUP BY 1' LOOP
		IF line ~ 'Reduction Objects' THEN
			RETURN substring(line FROM '([0-9]+) kB');
		END IF;
	END LOOP;
END $$;
SET gpucol.memory_limit = '12MB';
SELECT kilobytes(16) < 2 * kilobytes(4) AS bounded;
DROP SCHEMA agg_drain CASCADE;
