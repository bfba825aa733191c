-- HAVING that is computed over bounds of a group's results before these are formed.
SET client_min_messages = warning;
CREATE SCHEMA agg_having;
SET search_path = agg_having, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE facts (id int, k int, i int, b bigint, s smallint, n numeric(12,3), w numeric(30,10), u numeric, f float8, r real, t text, d date) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO facts SELECT i, i % 1201, CASE WHEN i % 13 > 0 THEN i * 37 % 901 - 300 END, (i::numeric * 6148914691236517 % 9007199254740993)::bigint, i % 5 - 2, (i * 37 % 9001) / 8.0 - 300,
	i * 12345.6789012345, CASE WHEN i % 9 > 0 THEN i / 7.0 END,
	CASE WHEN i % 1201 = 5 THEN 'NaN' WHEN i % 1201 = 6 THEN '-Infinity' WHEN i % 1201 = 7 THEN 1e300 WHEN i % 1201 = 8 THEN 1e-300 WHEN i % 11 > 0 THEN i % 97 / 8.0 - 3 END, i % 89, 'text ' || i % 31, date '2024-01-01' + i % 500
FROM generate_series(1, 9000) i;
-- one row, all NULL, no deviation, zero, extremes
INSERT INTO facts VALUES (10001, 2000, 1, 1, 1, 1, 1, 1, 1, 1, 'one', '2024-01-01'), (10002, 2001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (10003, 2002, 7, 7, 7, 7, 7, 7, 7, 7, NULL, NULL), (10004, 2002, 7, 7, 7, 7, 7, 7, 7, 7, NULL, NULL),
	(10005, 2003, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL), (10006, 2003, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL), (10007, NULL, 5, 5, 5, 2.5, 2.5, 2.5, 2.5, 2.5, NULL, NULL),
	(10008, 2004, 2147483647, 9223372036854775807, 32767, 999999999.999, 99999999999999999999.9999999999, 1e140, 1e307, 3e38, NULL, NULL), (10009, 2004, 2147483647, 9223372036854775807, 32767, 999999999.999, 99999999999999999999.9999999999, 1e140, 1e307, 3e38, NULL, NULL),
	(10010, 2005, -2147483648, -9223372036854775808, -32768, -999999999.999, -99999999999999999999.9999999999, 1e-140, -1e307, -3e38, NULL, NULL);
DELETE FROM facts WHERE id % 101 = 7;
ANALYZE facts;

CREATE TABLE conditions (h text);
INSERT INTO conditions SELECT format('%s(%s) %s %s', agg, col, op, value) FROM unnest('{sum,avg,min,max,stddev,stddev_pop,variance,var_pop}'::text[]) agg, unnest('{i,b,s,n,w,u,f}'::text[]) col,
	unnest('{>,<=,=,<>}'::text[]) op, unnest('{0,100.125}'::text[]) value WHERE NOT (col = 'f' AND agg ~ 'std|var' AND op ~ '=');
INSERT INTO conditions VALUES
	-- arithmetic
	('stddev(n) / avg(n) > 3'), ('CASE avg(n) WHEN 0 THEN 0 ELSE stddev(n) * 1.000 / avg(n) END > 1'), ('sum(n) / count(n) = avg(n)'), ('sum(i) / count(i) > 10'), ('sum(i) / nullif(count(i), 0) > 10'),
	('avg(n) * 1.1 > max(n)'), ('sum(n) - sum(w) < 5'), ('-sum(i) > 4000'), ('abs(sum(n)) < 500'), ('abs(sum(i)) < 100'), ('max(i) + min(i) > 500'), ('max(i) - min(i) < 0'), ('max(i) * 3 > 900'), ('max(b) - min(b) > 7'),
	('max(s) * max(i) > 3'), ('sum(f) / count(*) > 2'), ('avg(f) * 2 < 3'), ('(max(f) - 1) * 2 > 20'), ('max(f) * 1e-200 > 0'), ('sum(f) - 1e308 < 0'), ('max(i)::bigint + max(b) > 0'), ('sum(b) + 0.5 > 1e16'),
	-- errors of groups
	('10 / (count(*) - 8) > 0'), ('sum(n) / (count(*) - 7) > 0'), ('sum(f) / (count(*) - 7) > 0'), ('count(*) > 8 AND 10 / (count(*) - 8) > 0'), ('count(*) <> 8 OR 10 / (count(*) - 8) > 0'), ('max(i) + 1 > 5'), ('max(b) * 2 > 5'),
	('CASE WHEN count(*) = 8 THEN false ELSE 10 / (count(*) - 8) > 0 END'), ('max(f) * 1e10 > 4'), ('min(n)::numeric(5,2) > 4'), ('avg(n)::numeric(17,2) / max(n)::numeric(17,2) < 0.9'), ('max(n)::numeric(12,0) > 7'),
	-- rounding
	('round(avg(n), 2) = 7.00'), ('round(avg(n), 2) > 0.125'), ('round(avg(n), -2) >= 200'), ('round(stddev(n), 0) = 0'), ('sum(n)::numeric(20,1) > 0.1'), ('avg(i)::float8 > 0.3'), ('sum(n)::float8 > 0.1'), ('avg(f)::numeric > 0.1'),
	-- branches and NULL
	('coalesce(avg(i), 7) = 7'), ('coalesce(sum(n), sum(i), 5) < 6'), ('avg(i) IS NULL'), ('stddev(n) IS NOT NULL'), ('stddev(n) IS NULL OR stddev(n) > 100'), ('NOT (avg(n) > 3)'), ('NOT (avg(n) > 3 AND avg(n) < 9)'),
	('(avg(n) > 3) = true'), ('CASE WHEN avg(n) > 100 THEN max(n) WHEN avg(n) > 50 THEN min(n) END > 20'), ('CASE WHEN avg(n) > 100 THEN 1 ELSE 0 END = 1'), ('avg(n) > NULL'), ('avg(n) > 3 OR NULL'), ('avg(n) BETWEEN 30 AND 50.5'),
	('avg(n) > ''NaN'''), ('avg(n) < ''Infinity'''), ('avg(n) > 1e-300'), ('avg(n) > 1e-400'), ('sum(n * 99999999999999999999999999e-309) > 2.5e-280'), ('avg(f) < ''NaN'''), ('avg(n) > 0.1 + 0.2'),
	-- keys, and what is not known
	('avg(n) > k'), ('k * 2 > sum(i)'), ('avg(n) > 3 AND max(t) > ''text 3'''), ('max(t) > ''text 3'' AND avg(n) > 3'), ('avg(n) > 3 AND max(d) > ''2024-07-01'''), ('avg(n) IN (7, 2.5)'), ('greatest(avg(n), avg(i)) > 7'),
	('avg(n) > (SELECT avg(n) FROM facts)'), ('avg(n) * 1.5 > (SELECT avg(n) FROM facts)'), ('count(*) > 0 AND avg(n) > 0.2 * (SELECT max(n) FROM facts)'), ('avg(n) > (SELECT 1.0 WHERE false)');
SELECT d FROM conditions, differ('SELECT k, count(*), sum(n) FROM facts GROUP BY k HAVING ' || h) d WHERE d IS NOT NULL;
SET gpucol.cpu_threads = 2;
SELECT d FROM conditions, differ('SELECT k, s, count(*), avg(f) FROM facts GROUP BY k, s HAVING ' || h) d WHERE h !~ '[(]w|[(]b|u[)]' AND d IS NOT NULL;
-- above the groups: batches, an order, a limit, another grouping, a projection
SELECT d FROM unnest(ARRAY['SELECT s, count(*), sum(a) FROM (SELECT k, s, avg(n) AS a FROM facts GROUP BY k, s HAVING avg(n) * 1.5 > 40) q GROUP BY s',
	'SELECT k, avg(n) FROM facts GROUP BY k HAVING stddev(n) / count(*) > 40 ORDER BY 2, 1 LIMIT 20', 'SELECT k + 1, avg(n) * 2 FROM facts GROUP BY k HAVING stddev(n) / count(*) > 40',
	'SELECT q.k, facts.id FROM facts JOIN (SELECT k, avg(n) AS a FROM facts GROUP BY k HAVING avg(n) * 1.5 > 400) q ON q.k = facts.k AND facts.n > q.a']) q, differ(q) d WHERE d IS NOT NULL;
RESET gpucol.cpu_threads;
-- rescans, whose parameter changes HAVING
SELECT d FROM differ('SELECT x, q.* FROM generate_series(-1, 4) x, LATERAL (SELECT k, avg(n) AS a FROM facts GROUP BY k HAVING avg(n) * x > 600) q') d WHERE d IS NOT NULL;
PREPARE p(numeric) AS SELECT count(*), sum(a) FROM (SELECT k, avg(n) AS a FROM facts GROUP BY k HAVING avg(n) * 2 > $1) q;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(500);
EXECUTE p(NULL);
EXECUTE p('NaN');
EXECUTE p(1500);
-- few groups are left open
CREATE FUNCTION said(query text, what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ what THEN RETURN NEXT ltrim(line); END IF;
	END LOOP;
END $$;
SELECT h, said('SELECT k, sum(n) FROM facts GROUP BY k HAVING ' || h, 'Filter Evaluated|Rows Removed') FROM unnest(ARRAY['CASE avg(n) WHEN 0 THEN 0 ELSE stddev(n) * 1.000 / avg(n) END > 1', 'avg(n) * 1.1 > max(n)', 'sum(i) / count(i) > 10',
	'round(avg(n), 2) > 0.125', 'max(t) > ''text 3''']) h;
SELECT said('SELECT count(*) FROM (SELECT k, s, sum(n) FROM facts GROUP BY k, s HAVING sum(n) / 2 > 40) q', 'Delivered');
DROP SCHEMA agg_having CASCADE;
