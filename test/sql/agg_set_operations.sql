--
-- UNION, INTERSECT and EXCEPT as groups, and groups over UNION ALL by branches: plans, and heap's answers.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE so_heap (id int NOT NULL, k smallint, b bigint, t text, n numeric(8,2), d date, c char(4), f float8);
INSERT INTO so_heap SELECT i, CASE WHEN i % 11 > 0 THEN i % 40 END, i % 300, CASE WHEN i % 13 > 0 THEN 'text ' || i % 25 END,
	CASE WHEN i % 7 > 0 THEN i % 500 / 4.0 END, date '2024-01-01' + i % 90, 'c' || i % 3, i % 8 FROM generate_series(1, 4000) i;
CREATE TABLE so_more_heap AS SELECT id + 1000 AS id, (k + 20)::smallint AS k, b * 2 AS b, t, n, d + 30 AS d, c, f FROM so_heap WHERE id % 3 > 0;
CREATE TABLE so_packed (LIKE so_heap) USING gpucol;
INSERT INTO so_packed SELECT * FROM so_heap;
CREATE TABLE so_more_packed (LIKE so_more_heap) USING gpucol;
INSERT INTO so_more_packed SELECT * FROM so_more_heap;
VACUUM ANALYZE so_packed, so_more_packed;
-- rows of the delta, and rows that are gone
INSERT INTO so_packed SELECT * FROM so_heap WHERE id % 300 = 7;
INSERT INTO so_heap SELECT * FROM so_heap WHERE id % 300 = 7;
DELETE FROM so_packed WHERE id % 40 = 1;
DELETE FROM so_heap WHERE id % 40 = 1;
CREATE TABLE so_names_heap AS SELECT i AS k, 'name ' || i / 10 AS name FROM generate_series(0, 50) i;
CREATE TABLE so_names_packed USING gpucol AS SELECT * FROM so_names_heap;
CREATE TABLE so_none_heap (LIKE so_heap);
CREATE TABLE so_none_packed (LIKE so_heap) USING gpucol;
ANALYZE;

-- Are branches grouped, and are rows, types and names heap's, with and without?
CREATE FUNCTION so_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; branches int := 0; operations text := ''; differences int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || packed LOOP
		branches := branches + (line ~ 'Table: ')::int;
		IF line ~ 'SetOp' THEN operations := ', set operations'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE so_want AS ' || replace(query, '@', '_heap');
	EXECUTE 'CREATE TEMP TABLE so_got AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE so_off AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO differences FROM (
		(SELECT so_want::text FROM so_want EXCEPT ALL SELECT so_got::text FROM so_got)
		UNION ALL (SELECT so_got::text FROM so_got EXCEPT ALL SELECT so_want::text FROM so_want)
		UNION ALL (SELECT so_off::text FROM so_off EXCEPT ALL SELECT so_want::text FROM so_want)
		UNION ALL (SELECT format('%s %s', a.atttypid::regtype, b.atttypid::regtype) FROM pg_attribute a, pg_attribute b
			WHERE a.attrelid = 'so_want'::regclass AND b.attrelid = 'so_got'::regclass AND a.attnum = b.attnum AND a.attnum > 0
			AND (a.atttypid, a.atttypmod, a.attcollation, a.attname) <> (b.atttypid, b.atttypmod, b.attcollation, b.attname))) x;
	SELECT count(*) INTO rows FROM so_got;
	DROP TABLE so_want, so_got, so_off;
	RETURN format('%s grouped%s: %s rows%s', branches, operations, rows, CASE WHEN differences > 0 THEN ', DIFFERENT' END);
END $$;

EXPLAIN (COSTS OFF) SELECT t FROM so_packed WHERE n > 5 UNION SELECT t FROM so_more_packed WHERE n > 5;
EXPLAIN (COSTS OFF) SELECT k, t FROM so_packed EXCEPT SELECT k, t FROM so_more_packed ORDER BY 1 LIMIT 3;
EXPLAIN (COSTS OFF) SELECT t, sum(v), avg(v), count(*) FROM (SELECT t, n AS v FROM so_packed WHERE k > 3 UNION ALL SELECT t, -n FROM so_more_packed) u GROUP BY t;

-- operations
SELECT so_check('SELECT k FROM so@ UNION SELECT k FROM so_more@');
SELECT so_check('SELECT k, t FROM so@ WHERE id > 50 UNION SELECT k, t FROM so_more@ WHERE id < 3000');
SELECT so_check('SELECT t FROM so@ WHERE k > 3 INTERSECT SELECT t FROM so_more@');
SELECT so_check('SELECT k, t, n FROM so@ INTERSECT SELECT k, t, n FROM so_more@');
SELECT so_check('SELECT k, t, n FROM so@ EXCEPT SELECT k, t, n FROM so_more@');
SELECT so_check('SELECT n, c, d FROM so@ EXCEPT SELECT n, c, d FROM so_more@ WHERE k > 30');
SELECT so_check('SELECT f, id FROM so@ EXCEPT SELECT f, id FROM so@ WHERE id > 100');
SELECT so_check('SELECT k FROM so@ EXCEPT SELECT k FROM so_none@');
SELECT so_check('SELECT k FROM so_none@ EXCEPT SELECT k FROM so@');
SELECT so_check('SELECT k FROM so_none@ WHERE b > 1 UNION SELECT k FROM so_none@');
-- trees of them
SELECT so_check('SELECT k FROM so@ WHERE id > 3 UNION SELECT k FROM so_more@ UNION ALL SELECT k FROM so_names@');
SELECT so_check('SELECT t FROM so@ WHERE k = 1 UNION ALL SELECT t FROM so_more@ WHERE k = 1 UNION SELECT name FROM so_names@');
SELECT so_check('SELECT t FROM so@ EXCEPT (SELECT t FROM so_more@ WHERE k = 30 UNION SELECT ''text 9'')');
SELECT so_check('SELECT k FROM so_names@ EXCEPT SELECT k FROM so@ INTERSECT SELECT k FROM so_more@');
SELECT so_check('(SELECT t FROM so@ ORDER BY id LIMIT 30) INTERSECT (SELECT t FROM so_more@ ORDER BY id DESC LIMIT 20)');
SELECT so_check('SELECT k, count(*) FROM so@ GROUP BY k INTERSECT SELECT k, count(*) FROM so@ WHERE id > 1 GROUP BY k');
-- types that the operation changes; ALL stays
SELECT so_check('SELECT k FROM so@ UNION SELECT b FROM so_more@');
SELECT so_check('SELECT trim_scale(n) AS n FROM so@ INTERSECT SELECT k FROM so_more@');
SELECT so_check('SELECT c FROM so@ UNION SELECT t FROM so_more@');
SELECT so_check('SELECT k, NULL AS x FROM so@ UNION SELECT k, 5 FROM so_more@');
SELECT so_check('SELECT k FROM so@ EXCEPT ALL SELECT k FROM so_more@');
SELECT so_check('SELECT t FROM so@ INTERSECT ALL (SELECT t FROM so_more@ UNION SELECT t FROM so@)');
-- where they may stand
SELECT so_check('WITH w AS (SELECT k, t FROM so@ WHERE n > 20) SELECT k FROM w UNION SELECT k + 1 FROM w UNION SELECT k FROM so_more@ WHERE id IN (SELECT id FROM so@)');
SELECT so_check('SELECT name FROM so_names@ s WHERE EXISTS (SELECT k FROM so@ p WHERE p.k < s.k INTERSECT SELECT k FROM so_more@ q WHERE q.k < s.k)');
SELECT so_check('SELECT s.k, (SELECT count(*) FROM (SELECT id FROM so@ p WHERE p.k = s.k EXCEPT SELECT id FROM so_more@) x) FROM so_names@ s');
SELECT so_check('SELECT s.k, x.t FROM so_names@ s, LATERAL (SELECT t FROM so@ p WHERE p.k = s.k UNION SELECT s.name) x');
SELECT so_check('WITH RECURSIVE r(k) AS (SELECT k FROM so@ WHERE id = 5 UNION SELECT p.k FROM r JOIN so@ p ON p.id = r.k) SELECT * FROM r');
SELECT so_check('SELECT count(*), sum(k) FROM (SELECT k, t FROM so@ EXCEPT SELECT k, t FROM so_more@) x');

-- groups over UNION ALL
SELECT so_check('SELECT t, count(*), count(n) AS n, sum(n), avg(n), min(d), max(c) FROM (SELECT t, n, d, c FROM so@ WHERE k > 5 UNION ALL SELECT t, n * 2, d, c FROM so_more@) u GROUP BY t');
SELECT so_check('SELECT kind, sum(k), avg(k), sum(b) AS s, avg(b) AS a, avg(id) AS i FROM (SELECT 1 AS kind, k, b, id FROM so@ WHERE b > 3 UNION ALL SELECT 2, k, b, id FROM so_more@ UNION ALL SELECT 1, 3::smallint, 4::bigint, 5) u GROUP BY kind');
SELECT so_check('SELECT count(*), sum(n), avg(n), min(t), count(k) FILTER (WHERE b > 100) AS k FROM (SELECT k, n, t, b FROM so@ WHERE k > 900 UNION ALL SELECT k, n, t, b FROM so_more@ WHERE k > 900) u');
SELECT so_check('SELECT count(*), count(DISTINCT t) AS t, sum(DISTINCT k) FROM (SELECT k, t FROM so@ WHERE k > 900 UNION ALL SELECT k, t FROM so_more@ WHERE k > 900) u');
SELECT so_check('SELECT c, count(DISTINCT t) AS t, count(*), sum(n) FROM (SELECT c, t, n FROM so@ WHERE k > 3 UNION ALL SELECT c, t, n FROM so_more@ WHERE k > 8) u GROUP BY c');
SELECT so_check('SELECT name, count(*), sum(n) FROM (SELECT k, n FROM so@ WHERE b > 3 UNION ALL SELECT k, -n FROM so_more@) u JOIN so_names@ s ON s.k = u.k WHERE n <> 3 GROUP BY name HAVING count(*) > 10 ORDER BY 3');
SELECT so_check('SELECT name, count(*), sum(n) FROM (SELECT k, n FROM so@ WHERE b > 3 UNION ALL SELECT k, -n FROM so_more@) u LEFT JOIN so_names@ s ON s.k = u.k GROUP BY name');
SELECT so_check('SELECT name, count(*), count(n) AS n FROM so_names@ s LEFT JOIN (SELECT k, n FROM so@ WHERE b > 3 UNION ALL SELECT k, -n FROM so_more@) u ON s.k = u.k GROUP BY name');
SELECT so_check('SELECT d, k % 3 AS m, sum(n), rank() OVER (ORDER BY sum(n), d) FROM (SELECT d, k, n FROM so@ WHERE b > 3 UNION ALL SELECT d, k, n FROM so_more@) u GROUP BY d, k % 3 HAVING max(n) > 3');
SELECT so_check('SELECT k % 5 + 1 AS m, t || c AS tc, count(*), sum(n) FROM (SELECT k, t, c, n FROM so@ WHERE b > 3 UNION ALL SELECT k, t, c, n FROM so_more@) u GROUP BY 1, 2 HAVING k % 5 + 1 > 2 AND count(*) > 3 AND t || c <> ''text 9c1'' ORDER BY k % 5 + 1, t || c LIMIT 50');
SELECT so_check('SELECT part, max(k) FROM (SELECT ''a'' AS part, k FROM so@ UNION ALL SELECT ''b'', k FROM so_more@) u GROUP BY part HAVING part < ''b''');
SELECT so_check('SELECT DISTINCT k / 4, count(*) FROM (SELECT k, b FROM so@ WHERE b > 3 UNION ALL SELECT k, b FROM so_more@) u GROUP BY k / 4, b % 2');
SELECT so_check('SELECT DISTINCT t, k FROM (SELECT t, k FROM so@ WHERE b > 3 UNION ALL SELECT t, k FROM so_more@) u WHERE k < 20');
SELECT so_check('SELECT upper(t), bool_or(y), sum(n) FROM (SELECT t, k > 3 AS y, n FROM so@ UNION ALL SELECT t, b > 30, n FROM so_more@) u GROUP BY 1');
SELECT so_check('WITH w AS (SELECT * FROM so_names@) SELECT t, sum(n) FROM (SELECT t, n FROM so@ WHERE k IN (SELECT k FROM w) UNION ALL SELECT name, k FROM w) u GROUP BY t');
-- what stays: aggregates that cannot be folded, volatile functions (other types are converted)
SELECT so_check('SELECT t, stddev(n), sum(f) FROM (SELECT t, n, f FROM so@ WHERE k > 3 UNION ALL SELECT t, n, f FROM so_more@) u GROUP BY t');
SELECT so_check('SELECT t, sum(n) FROM (SELECT t, n FROM so@ WHERE k > 3 UNION ALL SELECT t, k FROM so_more@) u GROUP BY t');
SELECT so_check('SELECT c, array_length(array_agg(t), 1) FROM (SELECT c, t FROM so@ WHERE k > 3 UNION ALL SELECT c, t FROM so_more@) u GROUP BY c');
SELECT so_check('SELECT c, sum(n) FROM (SELECT c, n FROM so@ WHERE k > 3 UNION ALL SELECT c, n FROM so_more@) u GROUP BY ROLLUP (c)');
SELECT so_check('SELECT c, count(*) FROM (SELECT c FROM so@ WHERE random() < 2 UNION ALL SELECT c FROM so_more@) u GROUP BY c');

-- views
CREATE VIEW so_view_heap AS SELECT t, n FROM so_heap WHERE k > 3 UNION ALL SELECT t, -n FROM so_more_heap;
CREATE VIEW so_view_packed AS SELECT t, n FROM so_packed WHERE k > 3 UNION ALL SELECT t, -n FROM so_more_packed;
SELECT so_check('SELECT t, sum(n) FROM so_view@ GROUP BY t');
CREATE VIEW so_both_heap AS SELECT t FROM so_heap WHERE k > 3 INTERSECT SELECT t FROM so_more_heap;
CREATE VIEW so_both_packed AS SELECT t FROM so_packed WHERE k > 3 INTERSECT SELECT t FROM so_more_packed;
SELECT so_check('SELECT count(*) FROM so_both@');
SET client_min_messages = warning;

-- prepared, with parameters
PREPARE so_p(int) AS SELECT t, count(*) FROM (SELECT t FROM so_packed WHERE k = $1 UNION ALL SELECT t FROM so_more_packed WHERE k = $1) u GROUP BY t ORDER BY 1 LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE so_p(20);
EXECUTE so_p(25);
-- rights of the tables are asked for, and policies hold
CREATE ROLE so_user;
GRANT SELECT ON so_packed TO so_user;
ALTER TABLE so_packed ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON so_packed TO so_user USING (k < 3);
SET ROLE so_user;
SELECT k FROM so_packed UNION SELECT k FROM so_packed WHERE b > 5 ORDER BY 1;
SELECT count(*), sum(k) FROM (SELECT k FROM so_packed UNION ALL SELECT k + 0::smallint FROM so_packed WHERE b > 5) u;
SELECT k FROM so_packed EXCEPT SELECT k FROM so_more_packed;
RESET ROLE;
DROP TABLE so_heap, so_packed, so_more_heap, so_more_packed, so_names_heap, so_names_packed, so_none_heap, so_none_packed CASCADE;
DROP FUNCTION so_check;
DROP ROLE so_user;

-- a union of one column costs the pages of that column, of tables with many
CREATE TABLE so_wide USING gpucol AS SELECT i % 1000 AS a, md5(i::text) AS b, md5((i + 1)::text) AS c, md5((i + 2)::text) AS d, md5((i + 3)::text) AS e,
	md5((i + 4)::text) AS f FROM generate_series(1, 60000) i;
CREATE TABLE so_wider USING gpucol AS SELECT b, c, d, e, f, a FROM so_wide;
ANALYZE so_wide, so_wider;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT a FROM so_wide UNION SELECT a FROM so_wider) q;
DROP TABLE so_wide, so_wider;
