-- Tables are made when a row flows only, and not behind one that drops all rows: as in
-- PostgreSQL's hash join, what their conditions and subqueries would raise is not raised.
CREATE SCHEMA join_first_row;
SET search_path = join_first_row, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_fact AS SELECT i AS id, i % 100 AS k, i % 7 AS v, 'name ' || i % 5 AS t FROM generate_series(1, 6000) i;
CREATE TABLE h_dim AS SELECT i AS id, i AS k, i % 3 AS w FROM generate_series(1, 100) i;
CREATE TABLE fact USING gpucol AS TABLE h_fact;
CREATE TABLE dim USING gpucol AS TABLE h_dim;
INSERT INTO fact SELECT id + 9000, k, v, t FROM h_fact WHERE id < 5;
INSERT INTO h_fact SELECT id + 9000, k, v, t FROM h_fact WHERE id < 5;
CREATE TABLE none (k int, w int) USING gpucol;
ANALYZE fact, dim, none, h_fact, h_dim;
-- rows of the tables of a join
CREATE FUNCTION tables(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ '^ *Join: ' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^ *', ''), ', \d+ kB; looked up.*', '');
		END IF;
	END LOOP;
END $$;
SET gpucol.pushdown = require;

-- no row of the table passes; the joined table would raise an error
SELECT count(*), sum(d.w) FROM fact f JOIN dim d ON f.k = d.k WHERE f.id < 0 AND 1 / (d.id - 50) < 5;
SELECT count(*), sum(d.w) FROM fact f LEFT JOIN (SELECT * FROM dim WHERE 1 / (id - 50) < 5) d ON f.k = d.k WHERE f.t = 'nobody';
SELECT f.v, count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE f.t LIKE '%z%' AND 1 / (d.id - 50) < 5 GROUP BY 1;
SELECT f.id FROM fact f WHERE f.v > 8 AND f.k NOT IN (SELECT k FROM dim WHERE 1 / (id - 50) < 5);
-- of a plan
SELECT count(*) FROM (SELECT k, count(*) AS n FROM fact WHERE id < 0 GROUP BY k) f JOIN dim d ON f.k = d.k WHERE 1 / (d.id - 50) < 5;
SELECT count(*) FROM (SELECT k, count(*) AS n FROM fact WHERE id > 0 GROUP BY k) f JOIN dim d ON f.k = d.k;
SELECT count(*), sum(f.n) FROM (SELECT k, avg(id) AS n FROM fact WHERE id > 0 GROUP BY k) f JOIN dim d ON f.k = d.k WHERE d.w > 0;
-- a plan with work before its first row, and an empty table: the plan does not run
CREATE TABLE h_none AS TABLE none;
ANALYZE h_none;
SELECT count(*), sum(f.n) FROM (SELECT v, count(*) AS n FROM h_fact WHERE k <> (SELECT k FROM h_dim) GROUP BY v) f JOIN h_none n ON f.n = n.k;
SELECT count(*), sum(f.n) FROM (SELECT v, count(*) AS n FROM fact WHERE k <> (SELECT k FROM dim) GROUP BY v) f JOIN none n ON f.n = n.k;
SELECT count(*) FROM (SELECT v, count(*) AS n FROM fact WHERE 1 / (id - 1) < 5 GROUP BY v) f JOIN none n ON f.n = n.k JOIN dim d ON d.w = n.w;
SELECT f.v, f.n FROM (SELECT v, max(k) AS n FROM fact WHERE k <> (SELECT k FROM dim) GROUP BY v) f WHERE f.n IN (SELECT k FROM none);
SELECT count(*) FROM (SELECT v, count(*) AS n FROM fact WHERE k <> (SELECT k FROM dim) GROUP BY v) f LEFT JOIN none n ON f.n = n.k;
-- an error of a row that flows is raised
SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE 1 / (f.id - 1) < 5;

-- a table is empty: those behind it are not made
SELECT tables('SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k AND d.w = 9 JOIN dim e ON f.v = e.k');
SELECT tables('SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k AND d.id + 0 > 500 LEFT JOIN dim e ON f.v = e.k');
SELECT tables('SELECT count(*) FROM fact f LEFT JOIN dim d ON f.k = d.k JOIN dim e ON f.v = e.k WHERE f.v + 0 > 50');
SELECT tables('SELECT count(*) FROM fact f LEFT JOIN dim d ON f.k = d.k JOIN dim e ON f.v = e.k WHERE f.v + 0 > 5');
-- but for rows that a join delivers itself
SELECT tables('SELECT count(*) FROM (SELECT * FROM fact WHERE id < 0) f FULL JOIN dim d ON f.k = d.k');
SELECT count(*), sum(w), sum(v) FROM (SELECT * FROM fact WHERE id < 0) f FULL JOIN dim d ON f.k = d.k;
SELECT count(*), sum(d.w), sum(n.w) FROM none n FULL JOIN dim d ON n.k = d.k JOIN dim e ON d.w = e.k;
-- nothing flows because of a parameter
SET plan_cache_mode = force_generic_plan;
PREPARE full_join(int) AS SELECT count(*), sum(d.w), sum(f.v) FROM (SELECT * FROM fact WHERE v = $1) f FULL JOIN dim d ON f.k = d.k;
EXECUTE full_join(NULL); EXECUTE full_join(99); EXECUTE full_join(3);
PREPARE inner_join(int) AS SELECT count(*), sum(d.w), sum(f.v) FROM fact f JOIN dim d ON f.k = d.k WHERE f.v = $1 AND 1 / (d.id - 50) < 5;
EXECUTE inner_join(NULL); EXECUTE inner_join(99); EXECUTE inner_join(3);
-- again and again
SELECT g, (SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE f.id = g AND d.w < g) FROM generate_series(-2, 3) g;
SET client_min_messages = warning;
DROP SCHEMA join_first_row CASCADE;
