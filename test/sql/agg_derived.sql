-- Groups of derived tables, common table expressions and UNION ALL: their rows are read as
-- columns and grouped again.
CREATE SCHEMA agg_derived;
SET search_path = agg_derived, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_fact AS SELECT i AS id, nullif(i % 101, 7) AS k, i % 7 AS v, (i % 1000)::numeric(9,2) / 4 AS m,
	'name ' || i % 5 AS t FROM generate_series(1, 6000) i;
CREATE TABLE h_dim AS SELECT i AS k, nullif(i % 3, 1) AS w, 'dim ' || i % 4 AS t FROM generate_series(1, 120) i;
CREATE TABLE fact USING gpucol AS TABLE h_fact;
CREATE TABLE dim USING gpucol AS TABLE h_dim;
INSERT INTO fact SELECT id + 9000, k, v, m, t FROM h_fact WHERE id < 5;
INSERT INTO h_fact SELECT id + 9000, k, v, m, t FROM h_fact WHERE id < 5;
ANALYZE fact, dim, h_fact, h_dim;
-- rows in which a query, over gpucol tables with pushdown required, differs from itself over heap
CREATE FUNCTION differences(query text) RETURNS TABLE (rows bigint, missing bigint, added bigint)
LANGUAGE plpgsql AS $$
DECLARE heap text := regexp_replace(query, '\m(fact|dim)\M', 'h_\1', 'g');
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	EXECUTE 'CREATE TEMP TABLE wanted AS ' || heap;
	RETURN QUERY SELECT (SELECT count(*) FROM wanted),
		(SELECT count(*) FROM (TABLE wanted EXCEPT ALL TABLE got) a),
		(SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE wanted) b);
	DROP TABLE got, wanted;
END $$;
-- nodes of a plan, without what is below those that read tables
CREATE FUNCTION nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '(Custom Scan|Aggregate|Unique|CTE Scan|Subquery Scan|Append|Rows:|Table:)' THEN
			RETURN NEXT regexp_replace(line, '^ *(-> *)?', '');
		END IF;
	END LOOP;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
END $$;

-- groups of groups, of an outer join among them
SELECT nodes('SELECT c, count(*) FROM (SELECT d.k, count(f.id) AS c FROM dim d LEFT JOIN fact f ON d.k = f.k AND f.v <> 3 GROUP BY d.k) s GROUP BY c');
SELECT * FROM differences('SELECT c, count(*) FROM (SELECT d.k, count(f.id) AS c FROM dim d LEFT JOIN fact f ON d.k = f.k AND f.v <> 3 GROUP BY d.k) s GROUP BY c');
SELECT * FROM differences('SELECT n % 3 AS r, count(*) AS c, sum(n), max(s), min(a), avg(s), count(DISTINCT n) AS d FROM (SELECT k, count(*) AS n, sum(m) AS s, avg(m) AS a FROM fact GROUP BY k) q GROUP BY 1');
SELECT * FROM differences('SELECT k, sum(s), count(*) FROM (SELECT k, v, t, sum(m) AS s FROM fact GROUP BY k, v, t) q GROUP BY k HAVING count(*) > 3');
SELECT * FROM differences('SELECT t, k, grouping(t), sum(n) FROM (SELECT k, v, t, count(*) AS n FROM fact GROUP BY k, v, t) q GROUP BY GROUPING SETS ((t), (k), (t, k), ())');
SELECT * FROM differences('SELECT DISTINCT n, t FROM (SELECT k, v, t, count(*) AS n FROM fact GROUP BY k, v, t) q');
SELECT * FROM differences('SELECT t, string_agg(n::text, '','' ORDER BY n, k) FROM (SELECT k, t, count(*) AS n FROM fact GROUP BY k, t) q GROUP BY t');
-- a LIMIT, a window and an order below
SELECT * FROM differences('SELECT t, count(*), sum(r) FROM (SELECT id, t, row_number() OVER (PARTITION BY t ORDER BY id) AS r FROM fact) q WHERE r < 20 GROUP BY t');
SELECT * FROM differences('SELECT t, count(*), sum(id) FROM (SELECT id, t FROM fact ORDER BY id LIMIT 777) q GROUP BY t');
-- of no rows
SELECT * FROM differences('SELECT count(*), sum(n), max(n) FROM (SELECT k, count(*) AS n FROM fact WHERE id < 0 GROUP BY k) q');
SELECT * FROM differences('SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM fact WHERE id < 0 GROUP BY k) q GROUP BY n');

-- common table expressions that are read twice
SELECT nodes('WITH c AS MATERIALIZED (SELECT k, t, sum(v) AS s FROM fact GROUP BY k, t) SELECT t, count(*), max(s) FROM c GROUP BY t');
SELECT * FROM differences('WITH c AS (SELECT k, t, sum(v) AS s FROM fact GROUP BY k, t) SELECT t, count(*), max(s), (SELECT sum(s) FROM c) AS z FROM c GROUP BY t');
SELECT * FROM differences('WITH c AS MATERIALIZED (SELECT k, t, sum(m) AS s FROM fact GROUP BY k, t) SELECT t, count(*) FROM c WHERE s > (SELECT avg(s) FROM c) GROUP BY t');

-- UNION ALL of joins, and UNION
SELECT nodes('SELECT t, sum(n) FROM (SELECT f.t, f.v + d.w AS n FROM fact f JOIN dim d USING (k) UNION ALL SELECT d.t, d.w FROM dim d) u GROUP BY t');
SELECT * FROM differences('SELECT t, sum(n), count(n) AS c, count(*) AS d FROM (SELECT f.t, f.v + d.w AS n FROM fact f JOIN dim d USING (k) UNION ALL SELECT d.t, d.w FROM dim d) u GROUP BY t');
SELECT * FROM differences('SELECT n, count(*) FROM (SELECT f.t, f.v AS n FROM fact f UNION SELECT d.t, d.w FROM dim d) u GROUP BY n');
SELECT * FROM differences('SELECT t, s, count(*) FROM (SELECT t, sum(v) AS s FROM fact GROUP BY t, k UNION ALL SELECT t, sum(w) FROM dim GROUP BY t) u GROUP BY t, s');

-- what depends on the query around is computed for each of its rows
SELECT * FROM differences('SELECT d.k, (SELECT count(*) FROM (SELECT f.v, count(*) AS n FROM fact f WHERE f.k = d.k GROUP BY f.v) q WHERE q.n > 5) FROM dim d');
-- volatile rows are made once only, by PostgreSQL
SELECT count(*) FROM (SELECT n, count(*) FROM (SELECT k, count(*) + (random() * 0)::int AS n FROM fact GROUP BY k) q GROUP BY n) s WHERE n > 0;
-- prepared
PREPARE p(int) AS SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM fact WHERE v < $1 GROUP BY k) q GROUP BY n ORDER BY n;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(3);
EXECUTE p(0);
RESET plan_cache_mode;
-- rows that are locked below stay PostgreSQL's
SELECT count(*) FROM (SELECT id FROM fact WHERE id < 50 FOR KEY SHARE SKIP LOCKED) q;
SELECT count(*), sum(v) FROM (SELECT * FROM (SELECT id, v FROM fact WHERE id < 50 FOR UPDATE) q OFFSET 0) r;
DROP SCHEMA agg_derived CASCADE;
