-- Correlated subqueries over WITH queries of the query around become joins, as those over tables do.
CREATE SCHEMA subquery_with;
SET search_path = subquery_with, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_ret AS SELECT nullif(i % 70, 3) AS cust, nullif(i % 11, 5) AS store, (i % 900)::numeric(7,2) / 4 AS amt, i % 5 AS v FROM generate_series(1, 2000) i;
ALTER TABLE h_ret ALTER amt TYPE numeric(7,2);
CREATE TABLE ret USING gpucol AS TABLE h_ret;
INSERT INTO ret VALUES (9001, 1, 77.25, 1), (NULL, NULL, NULL, NULL);
INSERT INTO h_ret VALUES (9001, 1, 77.25, 1), (NULL, NULL, NULL, NULL);
ANALYZE ret, h_ret;
-- is a subquery a join, and how many rows differ from heap's?
CREATE FUNCTION compare(query text, OUT plan text, OUT rows int, OUT differences int) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	plan := 'join';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'SubPlan' THEN plan := 'subplan'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	EXECUTE 'CREATE TEMP TABLE wanted AS ' || regexp_replace(query, '\mret\M', 'h_ret', 'g');
	SELECT count(*) INTO rows FROM got;
	SELECT count(*) INTO differences FROM ((TABLE wanted EXCEPT ALL TABLE got) UNION ALL (TABLE got EXCEPT ALL TABLE wanted)) x;
	DROP TABLE got, wanted;
END $$;
EXPLAIN (COSTS OFF) WITH c AS (SELECT cust, store, sum(amt) AS total FROM ret GROUP BY cust, store)
SELECT cust, store FROM c a WHERE total > (SELECT avg(total) * 1.2 FROM c b WHERE a.store = b.store);
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(amt) AS total FROM ret GROUP BY cust, store) SELECT cust, store FROM c a WHERE total > (SELECT avg(total) * 1.2 FROM c b WHERE a.store = b.store)');
-- counts of nothing are 0, NULLs find no partner
SELECT * FROM compare('WITH c AS (SELECT cust, store, count(*) AS n FROM ret GROUP BY cust, store) SELECT cust, store, (SELECT count(*) FROM c b WHERE b.store = a.cust) AS x FROM c a');
SELECT * FROM compare('WITH c AS (SELECT cust, store, count(*) AS n FROM ret GROUP BY cust, store) SELECT cust, (SELECT max(n) FROM c b WHERE b.store = a.store AND b.cust > 50) AS x FROM c a');
-- a WITH query that reads another, beside a table, or is read by the subquery alone
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(v) AS n FROM ret GROUP BY cust, store), d AS (SELECT store, max(n) AS m FROM c GROUP BY store) SELECT cust FROM c a WHERE n >= (SELECT sum(m) FROM d WHERE d.store = a.store)');
SELECT * FROM compare('WITH c AS MATERIALIZED (SELECT store, sum(v) AS n FROM ret GROUP BY store) SELECT cust, v FROM ret a WHERE v * 400 > (SELECT max(c.n) FROM c JOIN ret r ON r.store = c.store WHERE c.store = a.store)');
SELECT * FROM compare('SELECT * FROM (WITH c AS (SELECT cust, store, sum(v) AS n FROM ret GROUP BY cust, store) SELECT cust FROM c a WHERE n > (SELECT avg(n) FROM c b WHERE b.store = a.store)) s WHERE cust > 17');
-- these stay: what may raise an error, what is volatile, recursion
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(10 / (v + 1)) AS n FROM ret GROUP BY cust, store) SELECT cust FROM c a WHERE n > (SELECT avg(n) FROM c b WHERE b.store = a.store)');
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(v) + (random() * 0)::int AS n FROM ret GROUP BY cust, store) SELECT cust FROM c a WHERE n > (SELECT avg(n) FROM c b WHERE b.store = a.store)');
SELECT * FROM compare('WITH RECURSIVE c AS (SELECT 1 AS store, (SELECT max(v) FROM ret) AS n UNION ALL SELECT store + 1, n FROM c WHERE store < 9) SELECT DISTINCT store FROM ret a WHERE v < (SELECT max(n) FROM c WHERE c.store = a.store)');
DROP SCHEMA subquery_with CASCADE;
