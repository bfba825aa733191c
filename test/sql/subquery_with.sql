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
-- what may raise an error is read to its end in any case; these stay: what is volatile, recursion
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(10 / (v + 1)) AS n FROM ret GROUP BY cust, store) SELECT cust FROM c a WHERE n > (SELECT avg(n) FROM c b WHERE b.store = a.store)');
SELECT * FROM compare('WITH c AS (SELECT cust, store, sum(v) + (random() * 0)::int AS n FROM ret GROUP BY cust, store) SELECT cust FROM c a WHERE n > (SELECT avg(n) FROM c b WHERE b.store = a.store)');
SELECT * FROM compare('WITH RECURSIVE c AS (SELECT 1 AS store, (SELECT max(v) FROM ret) AS n UNION ALL SELECT store + 1, n FROM c WHERE store < 9) SELECT DISTINCT store FROM ret a WHERE v < (SELECT max(n) FROM c WHERE c.store = a.store)');
-- A WITH query of which each reader wants rows of one value is computed by its readers: no CTE Scan, heap's rows.
CREATE FUNCTION inlined(query text, OUT plan text, OUT rows int, OUT differences int) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	SELECT c.rows, c.differences INTO rows, differences FROM compare(query) c;
	plan := 'by its readers';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'CTE Scan' THEN plan := 'once'; END IF;
	END LOOP;
END $$;
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, a.s, b.s AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND 2 = b.v');
EXPLAIN (COSTS OFF) WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, a.s, b.s AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND 2 = b.v;
-- branches, constants of branches, computed constants, quotients, COALESCE, CASE; a reader in a subquery, in another WITH query
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt / 2) AS s, ''a'' AS kind FROM ret WHERE cust > 3 GROUP BY 1, 2 UNION ALL SELECT store, v, sum(coalesce(amt, 0.0) - 1), ''b'' FROM ret GROUP BY 1, 2) SELECT a.store, a.s, b.s AS t FROM c a, c b, c d WHERE a.store = b.store AND d.store = a.store AND a.kind = ''a'' AND b.kind = ''b'' AND d.kind = ''b'' AND a.v = 1 + 1 AND b.v = 3 - 1 AND a.s > 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(CASE WHEN cust > 3 THEN amt ELSE 0 END) AS s FROM ret GROUP BY 1, 2) SELECT store, (SELECT max(s) FROM c b WHERE b.v = 1) AS m FROM c a WHERE a.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT store, v, count(*) AS n FROM ret GROUP BY 1, 2), d AS (SELECT store, n FROM c WHERE v = 1) SELECT a.store, a.n, d.n AS m FROM c a JOIN d USING (store) WHERE a.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT DISTINCT store, v FROM ret) SELECT a.store FROM c a WHERE a.v = 1 UNION ALL SELECT b.store FROM c b WHERE b.v = 4');
SELECT * FROM inlined('WITH c AS (SELECT store, v FROM ret WHERE cust < 40 UNION SELECT store, v FROM ret WHERE cust > 7) SELECT a.store FROM c a LEFT JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 4');
-- once: a reader of all rows, a condition on an aggregate, another condition that may raise an error
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, b.s FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, b.store AS x FROM c a, c b WHERE a.s = 125 AND b.s = 126');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, b.s FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2 AND 10 / (a.v + 1) > 1');
-- quotients whose divisor a CASE has told from 0, or NULLIF; values that are computed of constants
SELECT * FROM inlined('WITH c AS (SELECT store, v, m, CASE m WHEN 0 THEN NULL ELSE d / m END AS q FROM (SELECT store, v, avg(v) AS m, stddev_samp(v) * 1.000 AS d FROM ret GROUP BY store, v) x WHERE CASE m WHEN 0 THEN 0 ELSE d / m END < 2) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 1 + 1');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) / nullif(sum(amt) - 125, 0) AS q FROM ret GROUP BY store, v) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN s > 0 THEN t / s WHEN s < 0 THEN -t / s ELSE 0 END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) - 125 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN s = 0 THEN 1 WHEN t > 7 THEN t / s ELSE 2 / s END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) - 125 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
-- not by a condition that says nothing, of another column, of a query around, of what is aggregated, or of what is compared later
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN s > -1 THEN t / s ELSE 0 END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) + 1 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN s <> 0 THEN 1 ELSE t / s END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) + 1 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN t > 0 THEN t / s ELSE 0 END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) + 1 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN s > 0 THEN q ELSE 0 END AS q FROM (SELECT s, v, store, 1.5 / s AS q FROM (SELECT sum(amt) + 1 AS s, v, store FROM ret GROUP BY store, v) x) y) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN sum(amt) > 0 THEN sum(1 / (amt + 1)) ELSE 0 END AS q FROM ret GROUP BY store, v) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
SELECT * FROM inlined('WITH c AS (SELECT store, v, CASE WHEN t / s > 1 THEN 1 WHEN s > 0 THEN 2 ELSE 0 END AS q FROM (SELECT store, v, sum(amt) AS t, sum(amt) + 1 AS s FROM ret GROUP BY store, v) x) SELECT a.store, a.q, b.q AS t FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0');
WITH c AS (SELECT store, v, CASE WHEN s > -1 THEN t / s ELSE 0 END AS q FROM (SELECT store, v, sum(amt) AS t, sum(v - v)::numeric AS s FROM ret GROUP BY store, v) x) SELECT count(*) FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 0;
-- what may raise an error, LIMIT, window functions, sums of floats, what is volatile, MATERIALIZED
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(10 / (v + 1)) AS s FROM ret GROUP BY store, v) SELECT a.store, b.s FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT store, v FROM ret ORDER BY amt, cust, store, v LIMIT 700) SELECT a.store FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT store, v, rank() OVER (ORDER BY amt) AS r FROM ret) SELECT a.store FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt::float8) AS s FROM ret GROUP BY store, v) SELECT a.store FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
SELECT * FROM inlined('WITH c AS (SELECT store, v, sum(amt) + (random() * 0)::int AS s FROM ret GROUP BY store, v) SELECT a.store FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
SELECT * FROM inlined('WITH c AS MATERIALIZED (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT a.store, b.s FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2');
-- an error of a group that no reader wants is raised as over heap
WITH c AS (SELECT store, v, sum(10 / (v - 3)) AS s FROM ret GROUP BY store, v) SELECT count(*) FROM c a JOIN c b ON b.store = a.store WHERE a.v = 1 AND b.v = 2;
-- the values are parameters
PREPARE years(int, int) AS WITH c AS (SELECT store, v, sum(amt) AS s FROM ret GROUP BY store, v) SELECT count(*), sum(a.s - b.s) FROM c a JOIN c b ON b.store = a.store WHERE a.v = $1 AND b.v = $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE years(1, 2);
EXECUTE years(1, 2);
EXECUTE years(2, 1);
RESET plan_cache_mode;
-- A subquery that is executed once and may have several rows keeps no other from becoming a join.
SELECT * FROM compare('SELECT a.cust, b.v FROM ret a JOIN ret b ON b.cust = a.cust WHERE b.store = (SELECT DISTINCT store FROM ret WHERE store = 4) AND a.amt > (SELECT avg(amt) FROM ret c WHERE c.v = a.v)');
SELECT count(*) FROM ret a JOIN ret b ON b.cust = a.cust WHERE b.store = (SELECT DISTINCT store FROM ret) AND a.amt > (SELECT avg(amt) FROM ret c WHERE c.v = a.v);
-- Of many groups of one table, read whole: computed by its readers where that is sooner than to keep its rows for
-- PostgreSQL to read them one by one.
CREATE TABLE h_many AS SELECT i / 2 AS k, i % 977 AS v, nullif(i % 5, 0) AS w FROM generate_series(1, 120000) i;
CREATE TABLE many USING gpucol AS TABLE h_many;
DELETE FROM many WHERE v = 3;
DELETE FROM h_many WHERE v = 3;
INSERT INTO many VALUES (NULL, 5, 1), (NULL, NULL, NULL);
INSERT INTO h_many VALUES (NULL, 5, 1), (NULL, NULL, NULL);
ANALYZE many, h_many;
CREATE FUNCTION whole(query text, OUT plan text, OUT rows int, OUT differences int) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	plan := 'by its readers';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'CTE Scan' THEN plan := 'once'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	EXECUTE 'CREATE TEMP TABLE wanted AS ' || regexp_replace(query, '\mmany\M', 'h_many', 'g');
	SELECT count(*) INTO rows FROM got;
	SELECT count(*) INTO differences FROM ((TABLE wanted EXCEPT ALL TABLE got) UNION ALL (TABLE got EXCEPT ALL TABLE wanted)) x;
	DROP TABLE got, wanted;
END $$;
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many GROUP BY k) SELECT a.k, a.s FROM c a WHERE s = (SELECT max(s) FROM c)');
-- once: nodes of gpucol read the rows in batches
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many WHERE w < 4 GROUP BY k) SELECT r.store, c.k, c.s FROM ret r, c WHERE r.cust = c.k AND c.s < (SELECT max(s) - 1700 FROM c)');
SELECT * FROM whole('WITH c AS (SELECT k, count(*) AS n, max(v) AS m FROM many GROUP BY k) SELECT a.m, count(*) FROM c a JOIN c b ON a.k = b.m GROUP BY 1');
-- once: on demand, few groups, HAVING, a condition that may raise an error, readers that are executed for rows or part of a WITH query
SELECT * FROM whole('WITH c AS MATERIALIZED (SELECT k, sum(v) AS s FROM many GROUP BY k) SELECT a.k FROM c a WHERE s = (SELECT max(s) FROM c)');
SELECT * FROM whole('WITH c AS (SELECT w, sum(v) AS s FROM many GROUP BY w) SELECT a.w FROM c a WHERE s = (SELECT max(s) FROM c)');
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many GROUP BY k HAVING count(*) > 1) SELECT a.k FROM c a WHERE s = (SELECT max(s) FROM c)');
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many GROUP BY k) SELECT a.k FROM c a WHERE s = (SELECT max(s) FROM c) AND 10 / (s + 1) >= 0');
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many GROUP BY k) SELECT v, (SELECT max(s) FROM c WHERE c.k < r.v) AS m FROM ret r WHERE cust < 2 AND (SELECT max(s) FROM c) > 0');
SELECT * FROM whole('WITH c AS (SELECT k, sum(v) AS s FROM many GROUP BY k), d AS (SELECT max(s) AS m FROM c) SELECT a.k FROM c a, d WHERE s = m');
DROP FUNCTION whole(text);
DROP TABLE many, h_many;
DROP SCHEMA subquery_with CASCADE;
