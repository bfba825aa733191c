-- Groups that exceed gpucol.memory_limit are made in parts; the answers are those of heap twins.
CREATE SCHEMA agg_parts;
SET search_path = agg_parts, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_t AS
	SELECT i AS id, CASE WHEN i % 97 > 0 THEN i::int8 * 7919 % 1000003 END AS k, i % 7 AS v, 'name ' || i * 31 % 40009 AS t,
		(i % 50000)::numeric(8,2) / 4 AS d, CASE WHEN i % 50 = 0 THEN 'NaN' ELSE (i % 40001) / 4.0 END::float8 AS f, i % 13 AS g
	FROM generate_series(1, 60000) i;
ALTER TABLE h_t ALTER d TYPE numeric(8,2);
CREATE TABLE t USING gpucol AS TABLE h_t;
DELETE FROM t WHERE id % 101 = 0;
DELETE FROM h_t WHERE id % 101 = 0;
INSERT INTO t SELECT id + 100000, k, v, t, d, f, g FROM h_t WHERE id < 500;
INSERT INTO h_t SELECT id + 100000, k, v, t, d, f, g FROM h_t WHERE id < 500;
ANALYZE t, h_t;
-- is a query answered as over the heap twin, and in how many parts?
CREATE FUNCTION compare(query text, OUT rows int, OUT equal bool, OUT groups text) LANGUAGE plpgsql AS $$
DECLARE
	twin text := regexp_replace(query, '\mFROM t\M', 'FROM h_t', 'g');
	all_of text := 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (%s OFFSET 0) x';
	line text;
	sum_ours numeric;
	sum_twin numeric;
	rows_twin int;
BEGIN
	groups := 'whole';
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		groups := CASE WHEN line ~ 'Group Parts: ' THEN 'in parts' WHEN line ~ 'Fallback' THEN line ELSE groups END;
	END LOOP;
	EXECUTE format(all_of, query) INTO rows, sum_ours;
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE format(all_of, twin) INTO rows_twin, sum_twin;
	SET LOCAL gpucol.pushdown = require;
	equal := rows = rows_twin AND sum_ours IS NOT DISTINCT FROM sum_twin;
END $$;
SET gpucol.pushdown = require;
SET work_mem = '64MB';
SET gpucol.cpu_threads = 2;
SET gpucol.memory_limit = '4MB';
SELECT key, a.* FROM unnest(ARRAY['k', 'id', 't', 'd', 'f', 'k, t', 'id + 1, v', 't, f, k']) key,
	compare(format('SELECT %1$s, count(*), sum(v), min(id), max(d), sum(d) FROM t GROUP BY %1$s', key)) a ORDER BY 1;
SELECT a.* FROM compare('SELECT k, sum(f), avg(f), count(DISTINCT t), min(t), max(t), bool_or(v > 3) FROM t GROUP BY k') a;
SELECT a.* FROM compare('SELECT k, count(*) FILTER (WHERE v > 3), sum(d * v), avg(d), stddev(v) FROM t WHERE g <> 5 GROUP BY k HAVING count(*) > 1') a;
SELECT a.* FROM compare('SELECT id, sum(v) AS s FROM t GROUP BY id ORDER BY 2 DESC, 1 LIMIT 50') a;
SELECT a.* FROM compare('SELECT DISTINCT t, v FROM t') a;
SELECT a.* FROM compare('SELECT t, regr_count(v, f), covar_pop(v, id)::numeric(20,3), regr_avgx(f, v)::numeric(20,3) FROM t WHERE f <> ''NaN'' GROUP BY t') a;
-- keys that PostgreSQL evaluates, and texts that its groups keep
SELECT a.rows, a.equal FROM compare('SELECT initcap(t), min(t), max(t), count(*) FROM t GROUP BY 1') a;
SELECT a.rows, a.equal FROM compare('SELECT id, v, grouping(id), sum(d) FROM t GROUP BY ROLLUP (id, v)') a;
SELECT a.rows, a.equal FROM compare('SELECT a.id, count(*), sum(b.d), min(b.t) FROM t a JOIN (SELECT * FROM t WHERE v < 3) b ON a.k = b.k GROUP BY 1') a;
SELECT a.rows, a.equal FROM compare('SELECT x.n, x.k, count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) x JOIN (SELECT * FROM t OFFSET 0) y ON x.k = y.k GROUP BY 1, 2') a;
SELECT g, (SELECT count(*) FROM (SELECT k, sum(d) FROM t WHERE v < g GROUP BY k) x) FROM generate_series(1, 3) g;
-- an error of a row in any part
SELECT k, sum(1 / (id - 59998)) FROM t GROUP BY k;
SET client_min_messages = warning;
DROP SCHEMA agg_parts CASCADE;
