-- The first groups of an order, and those that HAVING lets pass, are chosen by the engine.
SET client_min_messages = warning;
CREATE SCHEMA agg_first;
SET search_path = agg_first, public;

\set node 'First Groups'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE facts (id int, k int, big bigint, n numeric(12,3), f float8, r real, t text, c text COLLATE "C", d date, b bool, o int[]) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO facts SELECT i, CASE WHEN i % 61 > 0 THEN i * 7919 % 3001 END, 9007199254740992 + i * 31 % 500, (i * 37 % 9001) / 8.0 - 300,
	CASE i % 501 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' WHEN 3 THEN '0' ELSE i % 97 / 8.0 END, i % 89,
	CASE WHEN i % 71 > 0 THEN 'text ' || i * 13 % 1300 END, CASE WHEN i % 73 > 0 THEN chr(i % 2900 + 33) || i % 5 END,
	CASE WHEN i % 10 > 0 THEN date '2024-01-01' + i * 31 % 700 END, CASE WHEN i % 7 > 0 THEN i % 3 = 0 END, ARRAY[i % 4]
FROM generate_series(1, 8000) i;
INSERT INTO facts VALUES (10001, -5, -7, 99999, 1e300, 3, 'delta', 'delta', '2030-01-01', true, NULL), (10002, NULL, 9007199254740993, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM facts WHERE id % 101 = 7;
ANALYZE facts;

EXPLAIN (COSTS OFF) SELECT k, count(*) FROM facts GROUP BY k ORDER BY count(*) DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT k, sum(n) FROM facts GROUP BY k HAVING count(*) > 3 AND max(id) >= 7 ORDER BY avg(f) NULLS FIRST, k LIMIT 5 OFFSET 2;
-- nothing is sought where the first key is computed on the groups
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM facts GROUP BY k ORDER BY sum(id) - count(*) LIMIT 10;

-- every key and aggregate as the order, with ties settled by all outputs
SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{k,big,t,"k, b","c, d"}'::text[]) keys,
	unnest('{count(*),count(n),count(DISTINCT t),sum(id),sum(n),avg(id),avg(n),sum(f),avg(f),min(n),max(f),min(r),max(d),min(id)}'::text[]) agg,
	unnest('{"DESC LIMIT 7","LIMIT 40 OFFSET 30","NULLS FIRST LIMIT 3","DESC NULLS LAST LIMIT 100"}'::text[]) order_by,
	differ(format('SELECT %1$s, %2$s AS a FROM facts GROUP BY %1$s ORDER BY a %3$s', keys, agg, replace(order_by, 'LIMIT', ', ' || keys || ' LIMIT'))) d
WHERE d IS NOT NULL;
SELECT d FROM unnest('{k,big,n,f,r,t,c,d}'::text[]) key,
	unnest(ARRAY['%1$s, 2 LIMIT 5', 'b, %1$s LIMIT 9 OFFSET 1', 'b DESC NULLS LAST, %1$s DESC NULLS LAST, 3 LIMIT 50', '3 DESC, 1, 2 LIMIT 100']) order_by,
	differ(format('SELECT %1$s, b, count(*) FROM facts WHERE id > 100 GROUP BY 1, 2 ORDER BY ' || order_by || ' ', key)) d
WHERE d IS NOT NULL;

-- HAVING, with and without an order
SELECT d FROM unnest(ARRAY[
	'HAVING count(*) > 2 ORDER BY count(*), k LIMIT 10', 'HAVING 2 < count(*) AND sum(id) <= 20000 ORDER BY sum(id) DESC, k LIMIT 10',
	'HAVING count(*) = 3 ORDER BY k DESC LIMIT 10', 'HAVING min(id) >= 400 AND max(id) < 7900 ORDER BY max(id), k LIMIT 10',
	'HAVING count(*) > 2 AND avg(n) > 100 ORDER BY count(*), k LIMIT 10', 'HAVING count(*) > 2 OR k = 3 ORDER BY count(*), k LIMIT 10',
	'HAVING count(DISTINCT t) > 2 ORDER BY 2, k LIMIT 10', 'HAVING k > 50 ORDER BY 2, k LIMIT 10', 'HAVING count(*) > 9223372036854775807 ORDER BY 2, k LIMIT 10'
]) h, differ('SELECT k, count(*), sum(n) FROM facts GROUP BY k ' || h) d WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['count(*) > 2', 'sum(id) < 30000 AND count(n) >= 2', 'count(*) <> 7', 'max(k) > 5 AND count(*) < 0', 'min(id) < -9223372036854775807'])
	h, differ('SELECT k, count(*), sum(n) FROM facts GROUP BY k HAVING ' || h, 'GpucolAgg') d WHERE d IS NOT NULL;
-- conditions on sums of decimals: the engine leaves out what fails them
SELECT d FROM unnest(ARRAY['sum(n) > 300', 'sum(n) >= 1205.125', 'sum(n) < -100.0625', 'sum(n) <= 17.5', '300.0001 < sum(n)', 'sum(n) = 0', 'sum(n) = 0.0625', 'sum(n) > -1e20', 'sum(n) > ''NaN''',
	'sum(n) < ''Infinity''', 'sum(n) > 1e5', 'max(n) >= 800 AND min(n) < 0', 'max(n) > 825.1249999', 'min(n) < 825.125', 'sum(big) > 20000000000000000', 'sum(big) < 9007199254740993.5', 'avg(n) > 200',
	'sum(n * 100000000000000) > 300', 'sum(n * 100000000000000) < 12', 'sum(n + k) > 9000', 'sum(n) <> 5', 'sum(id)::numeric > 9000.5', 'sum(n) > NULL']) h,
	unnest('{k,t,"k, b",d}'::text[]) keys, unnest('{""," ORDER BY 1 LIMIT 9"," ORDER BY sum(n), 1 LIMIT 20"}'::text[]) rest,
	differ(format('SELECT %1$s, count(*), sum(n), sum(big) FROM facts GROUP BY %1$s HAVING %2$s', keys, h) || CASE keys WHEN 'k, b' THEN replace(rest, ' 1 ', ' 1, 2 ') ELSE rest END, 'GpucolAgg') d WHERE d IS NOT NULL;
CREATE FUNCTION removed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Rows Removed%' THEN RETURN line; END IF;
	END LOOP;
	RETURN 'none';
END $$;
SELECT h, removed('SELECT k, count(*) FROM facts GROUP BY k HAVING ' || h) FROM unnest('{sum(n) > 700.5,300 >= sum(n),sum(id::bigint) > 12000.5,max(n) < 0.0001,avg(n) > 200}'::text[]) h;
-- fewer groups than are wanted
SELECT d FROM unnest('{50,300,600,1000}'::text[]) least,
	differ(format('SELECT k, count(*), sum(n) FROM facts GROUP BY k HAVING sum(n) > %s ORDER BY count(*) DESC, sum(n), k LIMIT 900', least)) d WHERE d IS NOT NULL;
-- ties that LIMIT wants
SELECT d FROM differ('SELECT k, count(*) FROM facts GROUP BY k ORDER BY count(*) DESC FETCH FIRST 5 ROWS WITH TIES') d WHERE d IS NOT NULL;
-- joined groups: of the first by the count, all that tie
SELECT d FROM differ('SELECT DISTINCT k, t FROM facts ORDER BY k DESC NULLS LAST, t LIMIT 10', 'GpucolAgg') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT upper(t), count(*) FROM facts GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10', 'GpucolAgg') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT f.k, g.d, count(*) FROM facts f JOIN facts g ON f.id = g.id GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10', 'GpucolAgg') d WHERE d IS NOT NULL;
-- any groups: the rows of those that are returned are all in them, wherever they are
SET gpucol.segment_rows = 2048;
CREATE TABLE spread (id int, u int8, v int, t text, f float8, x text) USING gpucol;
INSERT INTO spread SELECT i, NULLIF(i * 7919 % 3001, 5) * 5000000000, i % 7, 'phrase ' || i % 11, i / 16.0,
	NULLIF('text number ' || i * 7919 % 3001, 'text number 6') FROM generate_series(1, 40000) i;
INSERT INTO spread SELECT i, NULLIF(i * 7919 % 3001, 5) * 5000000000, i % 7, 'phrase ' || i % 13, i / 16.0,
	'text number ' || i * 7919 % 4001 FROM generate_series(1, 900) i;
RESET gpucol.segment_rows;
DELETE FROM spread WHERE id % 17 = 3;
CREATE TABLE heap_spread AS TABLE spread;
EXPLAIN (COSTS OFF) SELECT u, t, count(*) FROM spread GROUP BY u, t LIMIT 10;
CREATE FUNCTION any_groups(keys text, rest text, OUT ours int, OUT missing int) LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %s, count(*) AS n, sum(id) AS s, count(DISTINCT v) AS d, min(t) AS least, sum(f) AS fs FROM spread GROUP BY %1$s', keys);
BEGIN
	EXECUTE format('CREATE TEMP TABLE ours AS %s LIMIT %s', query, rest);
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE format('SELECT (SELECT count(*) FROM ours), (SELECT count(*) FROM (TABLE ours EXCEPT ALL %s) x)',
		replace(query, 'spread', 'heap_spread')) INTO ours, missing;
	SET LOCAL gpucol.pushdown = require;
	DROP TABLE ours;
END $$;
SET gpucol.pushdown = require;
SELECT threads, keys, rest, a.* FROM unnest('{1,2,4}'::text[]) threads, set_config('gpucol.cpu_threads', threads, false),
	unnest('{u,"u, t","t, u, v","u, f","t, f",x,"x, f"}'::text[]) keys, unnest('{10,"300 OFFSET 7","5 OFFSET 1200"}'::text[]) rest, any_groups(keys, rest) a ORDER BY 1, 2, 3;
-- DISTINCT: no further row is read
EXPLAIN (COSTS OFF) SELECT DISTINCT x, v FROM spread LIMIT 10;
CREATE FUNCTION any_rows(keys text, rest text, OUT ours int, OUT twice int, OUT missing int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE ours AS SELECT DISTINCT %s FROM spread LIMIT %s', keys, rest);
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE format('SELECT (SELECT count(*) FROM ours), (SELECT count(*) FROM (TABLE ours EXCEPT ALL SELECT DISTINCT * FROM ours) x),
		(SELECT count(*) FROM (TABLE ours EXCEPT ALL SELECT DISTINCT %s FROM heap_spread) x)', keys) INTO ours, twice, missing;
	SET LOCAL gpucol.pushdown = require;
	DROP TABLE ours;
END $$;
SELECT threads, keys, rest, a.* FROM unnest('{1,2,4}'::text[]) threads, set_config('gpucol.cpu_threads', threads, false),
	unnest('{x,"x, v",u,t,f}'::text[]) keys, unnest('{10,"6000 OFFSET 30"}'::text[]) rest, any_rows(keys, rest) a ORDER BY 1, 2, 3;
-- not below DISTINCT over groups, HAVING, window functions, UNION
SELECT q, a.ours FROM unnest(ARRAY['SELECT DISTINCT count(*) FROM spread GROUP BY u', 'SELECT v FROM spread GROUP BY v HAVING min(id) > 3',
	'SELECT v, sum(count(*)) OVER () AS n FROM spread GROUP BY v', 'SELECT DISTINCT v FROM spread UNION ALL SELECT DISTINCT v + 7 FROM spread',
	'SELECT v, count(*) FROM spread GROUP BY ROLLUP (v)']) q,
	LATERAL (SELECT (xpath('count(/table/row)', query_to_xml(q || ' LIMIT 10', true, false, '')))[1]::text AS ours) a;
RESET gpucol.pushdown;
RESET gpucol.cpu_threads;
DROP SCHEMA agg_first CASCADE;
