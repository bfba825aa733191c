-- A WITH query whose readers do not ask how often a row is there has each row once.
CREATE SCHEMA subquery_once;
SET search_path = subquery_once, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_sale AS SELECT nullif(i % 40, 3) AS ord, nullif(i % 7, 5) AS wh, (i % 90)::numeric(7,2) / 4 AS amt,
	'c' || i % 13 AS city, i % 5 AS v, (i % 3 = 0) AS flag FROM generate_series(1, 300) i;
CREATE TABLE h_ret AS SELECT nullif(i % 60, 11) AS ord, i AS id, i % 4 AS v FROM generate_series(1, 500) i;
CREATE TABLE sale USING gpucol AS TABLE h_sale;
CREATE TABLE ret USING gpucol AS TABLE h_ret;
CREATE TABLE h_nothing (ord int, wh int);
CREATE TABLE nothing USING gpucol AS TABLE h_nothing;
-- deleted rows and rows that are not packed
DELETE FROM sale WHERE ord = 17;
DELETE FROM h_sale WHERE ord = 17;
INSERT INTO sale VALUES (90, 1, 1.5, 'c1', 1, true), (90, 2, 1.25, 'c1', 0, NULL), (NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO h_sale VALUES (90, 1, 1.5, 'c1', 1, true), (90, 2, 1.25, 'c1', 0, NULL), (NULL, NULL, NULL, NULL, NULL, NULL);
ANALYZE sale, ret, nothing, h_sale, h_ret, h_nothing;
-- does the first WITH query have groups, and how many rows differ from heap's?
CREATE FUNCTION compare(query text, OUT plan text, OUT rows int, OUT differences int) LANGUAGE plpgsql AS $$
DECLARE line text; inside bool := false;
BEGIN
	plan := 'none';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '^ *CTE \w+$' AND plan = 'none' THEN inside := true; plan := 'all rows';
		ELSIF inside AND line ~ '-> .*(GpucolAgg|Aggregate|Group)' THEN plan := 'each row once'; inside := false;
		ELSIF inside AND line ~ '->' THEN inside := false;
		END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	EXECUTE 'CREATE TEMP TABLE wanted AS ' || regexp_replace(query, '\m(sale|ret|nothing)\M', 'h_\1', 'g');
	SELECT count(*) INTO rows FROM got;
	SELECT count(*) INTO differences FROM ((TABLE wanted EXCEPT ALL TABLE got) UNION ALL (TABLE got EXCEPT ALL TABLE wanted)) x;
	DROP TABLE got, wanted;
END $$;
-- pairs of a sale's rows, read by IN twice
EXPLAIN (COSTS OFF) WITH pair AS (SELECT a.ord, a.wh AS w1, b.wh AS w2 FROM sale a, sale b WHERE a.ord = b.ord AND a.wh <> b.wh)
SELECT id FROM ret WHERE ord IN (SELECT ord FROM pair) AND v IN (SELECT s.v FROM sale s, pair WHERE s.ord = pair.ord);
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh AS w1, b.wh AS w2 FROM sale a, sale b WHERE a.ord = b.ord AND a.wh <> b.wh) SELECT id FROM ret WHERE ord IN (SELECT ord FROM pair) AND v IN (SELECT s.v FROM sale s, pair WHERE s.ord = pair.ord)');
-- readers that do not ask: EXISTS, NOT EXISTS, ANY, ALL, NOT IN (with a NULL), DISTINCT, groups, aggregates, set operations, FROM
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh, b.wh AS w2 FROM sale a JOIN sale b ON a.ord = b.ord) SELECT id FROM ret r WHERE EXISTS (SELECT FROM pair p WHERE p.ord = r.ord AND p.wh > r.v) AND NOT EXISTS (SELECT FROM pair p WHERE p.ord = r.ord AND p.wh = r.v)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh, b.wh AS w2 FROM sale a JOIN sale b ON a.ord = b.ord) SELECT id FROM ret r WHERE ord > ANY (SELECT ord FROM pair) AND v < ALL (SELECT wh FROM pair WHERE wh > 2)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a JOIN sale b USING (wh)) SELECT id FROM ret WHERE v NOT IN (SELECT wh FROM pair WHERE ord = 5) OR v IN (SELECT ord FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a JOIN sale b USING (wh)) SELECT id FROM ret WHERE ord NOT IN (SELECT wh FROM pair) OR v IN (SELECT ord FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh, b.city FROM sale a LEFT JOIN sale b ON a.ord = b.wh) SELECT DISTINCT p.wh, q.city FROM pair p LEFT JOIN pair q ON p.ord = q.ord AND q.wh = 4');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh, b.city FROM sale a LEFT JOIN sale b ON a.ord = b.wh) SELECT wh, max(city), count(DISTINCT ord), bool_or(ord > 20) FROM pair GROUP BY wh UNION ALL SELECT v, city, v, true FROM pair p JOIN ret ON p.ord = ret.ord GROUP BY v, city');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT ord FROM pair UNION SELECT wh FROM (SELECT * FROM pair) x UNION (SELECT id FROM ret EXCEPT SELECT ord + 1 FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT max(x) FROM (SELECT ord AS x FROM pair UNION ALL SELECT wh FROM pair WHERE wh > 3) y');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh ORDER BY a.amt) SELECT DISTINCT wh FROM (SELECT p.wh, q.ord FROM pair p JOIN pair q ON p.wh = q.ord) x WHERE ord > 2');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT ord, (SELECT max(ord) FROM pair p WHERE p.wh = r.v) FROM ret r WHERE (SELECT count(DISTINCT wh) FROM pair) > 3');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT array_agg(DISTINCT ord) FROM pair GROUP BY GROUPING SETS ((wh), ())  HAVING min(ord) < (SELECT max(wh) FROM pair)');
SELECT * FROM compare('WITH pair AS MATERIALIZED (SELECT a.ord, a.amt, a.flag, a.city FROM sale a, sale b WHERE a.ord = b.wh) SELECT DISTINCT city, flag FROM pair');
-- one table whose column has few values; nothing
SELECT * FROM compare('WITH s AS (SELECT wh, amt, city FROM sale WHERE v > 1) SELECT id FROM ret WHERE v IN (SELECT wh FROM s) AND ord IN (SELECT wh FROM s)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, b.wh FROM nothing a, nothing b WHERE a.ord = b.ord) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) OR ord NOT IN (SELECT wh FROM pair) OR EXISTS (SELECT FROM pair WHERE ord = 5)');
-- one WITH query in another, in a subquery; the rows of one in EXISTS are not looked into
SELECT * FROM compare('SELECT * FROM (WITH s AS (SELECT ord FROM sale), pair AS (SELECT a.ord, a.wh FROM sale a, s WHERE a.ord = s.ord) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM pair)) x WHERE id > 40');
SELECT * FROM compare('SELECT id FROM ret r WHERE EXISTS (WITH pair AS MATERIALIZED (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh AND a.v = r.v) SELECT FROM pair p, pair q WHERE p.ord = r.ord AND q.wh = p.wh)');
-- they ask: rows, counts, LIMIT, windows, ALL, random choices, rows as a whole
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT p.wh FROM pair p WHERE p.ord IN (SELECT wh FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT wh, count(*) FROM pair p WHERE p.ord IN (SELECT wh FROM pair) GROUP BY wh');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT DISTINCT wh, count(*) OVER () FROM pair p WHERE p.ord IN (SELECT wh FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM (SELECT ord FROM pair ORDER BY ord, wh LIMIT 50) x)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT ord FROM pair UNION ALL SELECT wh FROM pair');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) (SELECT ord FROM pair EXCEPT ALL SELECT wh FROM pair) UNION ALL SELECT max(ord) FROM pair');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT DISTINCT (p).wh FROM pair p WHERE p IS NOT NULL AND ord IN (SELECT wh FROM pair)');
SELECT plan FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT DISTINCT wh FROM pair WHERE random() < 2 AND ord IN (SELECT wh FROM pair)');
-- values of which equal ones differ, or that nobody reads
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.amt FROM sale a, sale b WHERE a.ord = b.wh) SELECT DISTINCT amt FROM pair WHERE amt IN (SELECT amt FROM pair)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.amt FROM sale a, sale b WHERE a.ord = b.wh) SELECT ord FROM ret WHERE v < 2 AND EXISTS (SELECT FROM pair) AND ord IN (SELECT ord FROM pair)');
-- what is there once, volatile, recursive, or a set-returning function
SELECT * FROM compare('WITH g AS (SELECT ord, wh, count(*) AS n FROM sale GROUP BY ord, wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM g) AND ord IN (SELECT ord FROM g)'); -- its own groups
SELECT * FROM compare('WITH s AS (SELECT id, ord FROM ret WHERE v > 1) SELECT ord FROM sale WHERE v IN (SELECT id FROM s) AND ord IN (SELECT id FROM s)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh + (random() * 0)::int AS wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM pair)');
SELECT * FROM compare('WITH RECURSIVE r AS (SELECT 1 AS ord, (SELECT max(v) FROM sale) AS v UNION ALL SELECT ord + 1, v FROM r WHERE ord < 9) SELECT id FROM ret WHERE v IN (SELECT v FROM r) AND ord IN (SELECT ord FROM r)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, generate_series(1, 2) AS wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM pair)');
-- errors: of rows that nobody may come to, of columns that nobody reads, of readers that end early
SELECT * FROM compare('WITH pair AS (SELECT a.ord, 10 / (a.v + 1) AS wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM pair)');
WITH pair AS (SELECT a.ord, 10 / a.v AS wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT ord FROM pair) AND ord IN (SELECT ord FROM pair);
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND EXISTS (SELECT FROM pair WHERE 100 / (ord + 1) > 0)');
SELECT * FROM compare('WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) SELECT id FROM ret WHERE v IN (SELECT wh FROM pair) AND v < ANY (SELECT wh + 10 FROM pair)');
-- a statement that changes rows, and a WITH query that does, stay as they are
EXPLAIN (COSTS OFF) WITH pair AS (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh) DELETE FROM h_ret WHERE v IN (SELECT wh FROM pair) AND ord IN (SELECT ord FROM pair);
BEGIN;
WITH gone AS (DELETE FROM ret WHERE v = 2 RETURNING ord, v) SELECT count(*) FROM sale WHERE v IN (SELECT v FROM gone) AND ord IN (SELECT ord FROM gone);
ROLLBACK;
-- parameters, a cursor, a function called many times
PREPARE once(int) AS WITH pair AS (SELECT a.ord, a.wh, b.wh AS w2 FROM sale a, sale b WHERE a.ord = b.ord AND a.v > $1) SELECT count(*) FROM ret WHERE ord IN (SELECT ord FROM pair) AND v IN (SELECT wh FROM pair);
EXECUTE once(1);
EXECUTE once(9);
SET plan_cache_mode = force_generic_plan;
EXECUTE once(1);
EXECUTE once(9);
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR WITH pair AS (SELECT a.ord, a.wh, b.wh AS w2 FROM sale a, sale b WHERE a.ord = b.ord) SELECT id FROM ret WHERE ord IN (SELECT ord FROM pair) AND v IN (SELECT wh FROM pair) ORDER BY id;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 4 FROM c;
COMMIT;
SELECT g, (WITH pair AS MATERIALIZED (SELECT a.ord, a.wh FROM sale a, sale b WHERE a.ord = b.wh AND a.v = g) SELECT max(ord) FROM pair WHERE wh IN (SELECT ord FROM pair)) AS m FROM generate_series(0, 5) g;
DROP SCHEMA subquery_once CASCADE;
