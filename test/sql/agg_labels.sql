--
-- Grouping by a CASE that chooses among constants of types that engines do not
-- compute with: to the engine it is a CASE among their numbers.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_labels;
SET search_path = agg_labels, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE sale (id int, price numeric(10,2), qty int2, f float8, region text, note text, day date) USING gpucol;
INSERT INTO sale SELECT i, CASE WHEN i % 11 > 0 THEN (i * 37 % 10000)::numeric / 100 END, i % 5, CASE i % 4 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN NULL ELSE i END,
	'r' || i % 4, CASE WHEN i % 3 > 0 THEN 'n' || i % 900 END, date '2024-01-01' + i % 400
FROM generate_series(1, 9000) i;
DELETE FROM sale WHERE id % 1000 = 5;
ANALYZE sale;
CREATE TABLE nothing (LIKE sale) USING gpucol;

-- computed by the engine: nothing is evaluated once per price
EXPLAIN (COSTS OFF) SELECT CASE WHEN price < 10 THEN 'low' WHEN price < 50 THEN 'mid' ELSE 'high' END c, count(*), sum(qty) FROM sale GROUP BY 1 ORDER BY 1;
SELECT CASE WHEN price < 10 THEN 'low' WHEN price < 50 THEN 'mid' ELSE 'high' END c, count(*), sum(qty) FROM sale GROUP BY 1 ORDER BY 1;

-- equal labels are one group, no ELSE and NULL another; every type that equals as its bytes do
SELECT d FROM unnest(ARRAY[
	'SELECT CASE WHEN price < 10 THEN ''a'' WHEN price < 20 THEN ''b'' WHEN price < 30 THEN ''a'' WHEN price < 40 THEN NULL END, count(*), max(price) FROM sale GROUP BY 1',
	'SELECT CASE qty WHEN 0 THEN ''none'' WHEN 1 THEN ''one'' ELSE '''' END, count(*) FROM sale GROUP BY 1',
	'SELECT CASE region WHEN ''r0'' THEN ''zero'' WHEN ''r1'' THEN ''one'' ELSE NULL END, region, count(*) FROM sale GROUP BY 1, 2',
	'SELECT CASE WHEN price > 50 THEN ''x''::varchar(3) ELSE ''longer''::varchar END, sum(price) FROM sale GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''x''::char(3) ELSE ''y''::char(3) END, sum(price) FROM sale GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''\x00''::bytea ELSE ''\x0001'' END, sum(price) FROM sale GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''a0000000-0000-0000-0000-000000000000''::uuid ELSE ''b0000000-0000-0000-0000-000000000000'' END, sum(f) FROM sale WHERE f > 1 GROUP BY 1',
	'SELECT CASE WHEN f > 4000 THEN ''great'' WHEN f IS NULL THEN ''unknown'' WHEN f < 10 THEN ''small'' ELSE ''some'' END, count(f), count(*) FROM sale GROUP BY 1',
	'SELECT CASE WHEN qty = 0 THEN ''none'' WHEN 100 / qty > 30 THEN ''few'' ELSE ''many'' END, count(*) FROM sale GROUP BY 1',
	'SELECT CASE WHEN note LIKE ''n1%'' THEN ''first'' WHEN note IS NULL THEN ''none'' ELSE ''other'' END, count(DISTINCT qty) FROM sale GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END, to_char(day, ''YYYY-MM''), count(*), count(DISTINCT note), sum(price) FROM sale GROUP BY 1, 2',
	'SELECT CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END c, count(*) FROM sale GROUP BY 1 HAVING CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END > max(region)',
	'SELECT DISTINCT CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END, CASE WHEN qty > 2 THEN ''x'' ELSE ''y'' END FROM sale',
	'SELECT CASE WHEN price > 50 THEN NULL::text END, count(*) FROM sale GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END, count(*) FROM sale WHERE id < 0 GROUP BY 1',
	'SELECT CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END, count(*) FROM nothing GROUP BY 1',
	'SELECT upper(CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END) || 1, count(*) FROM sale GROUP BY CASE WHEN price > 50 THEN ''x'' ELSE ''y'' END',
	'SELECT k::float8, n FROM (SELECT CASE WHEN price > 50 THEN 1.0 WHEN price > 20 THEN 1.00 ELSE 2 END AS k, count(*) AS n FROM sale GROUP BY 1) q',
	'SELECT CASE WHEN price > 50 THEN region ELSE ''y'' END, count(*) FROM sale GROUP BY 1',
	'SELECT extract(epoch FROM k), n FROM (SELECT CASE WHEN price > 50 THEN interval ''1 day'' ELSE interval ''24 hours'' END AS k, count(*) AS n FROM sale GROUP BY 1) q',
	'SELECT CASE WHEN 1 / (qty - 9) = 0 THEN ''x'' ELSE ''y'' END, count(*) FROM sale GROUP BY 1',
	'SELECT CASE WHEN 1 / (qty - 2) = 0 THEN ''x'' ELSE ''y'' END, count(*) FROM sale GROUP BY 1'
	]) q, differ(q) d WHERE d IS NOT NULL;

-- a parameter decides, and a plan is used again
PREPARE classes(numeric) AS SELECT CASE WHEN price < $1 THEN 'low' ELSE 'high' END c, count(*) FROM sale GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE classes(50);
EXECUTE classes(NULL);
EXECUTE classes(-1);

SET client_min_messages = error;
DROP SCHEMA agg_labels CASCADE;
