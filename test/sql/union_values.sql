-- Columns that become rows by LATERAL VALUES, or by unnest() of arrays, are a UNION ALL.  Answers are those over a heap table.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE uv_h (id int, k text, a int, b int, n numeric(8,2), m numeric, t text COLLATE "C", d date);
INSERT INTO uv_h SELECT i, 'k' || i % 7, i, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 50 END, i / 8.0, CASE WHEN i % 9 > 0 THEN i / 7.0 END, 't' || i % 13, date '2024-01-01' + i % 60
FROM generate_series(1, 4000) i;
INSERT INTO uv_h VALUES (9001, NULL, 2147483647, 0, NULL, 'NaN', NULL, 'infinity');
CREATE TABLE us_h (k text, w int);
INSERT INTO us_h SELECT 'k' || i, i * 10 FROM generate_series(0, 4) i;
CREATE TABLE uv USING gpucol AS TABLE uv_h;
CREATE TABLE us USING gpucol AS TABLE us_h;
ANALYZE uv, us, uv_h, us_h;

EXPLAIN (COSTS OFF) SELECT name, count(*), sum(v) FROM uv CROSS JOIN LATERAL (VALUES ('a', a), ('b', b)) u(name, v) GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT k, name, max(v) FROM uv, unnest(ARRAY['a', 'b', 'c'], ARRAY[a, b, a / 3]) u(name, v) WHERE id > 10 GROUP BY 1, 2;
CREATE FUNCTION uv_same(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text; line text; found text := 'rows';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP
		IF line ~ 'Append|Rows: of plan' THEN found := 'union'; END IF;
	END LOOP;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP
		IF line ~ 'Values Scan|Function Scan|Set:' THEN found := 'rows'; END IF;
	END LOOP;
	BEGIN
		EXECUTE 'SELECT md5(string_agg(s::text, '';'' ORDER BY s::text)) || '' of '' || count(*) FROM (' || q || ') s' INTO a;
	EXCEPTION WHEN OTHERS THEN a := SQLERRM;
	END;
	BEGIN
		EXECUTE 'SELECT md5(string_agg(s::text, '';'' ORDER BY s::text)) || '' of '' || count(*) FROM (' || regexp_replace(q, '\m(uv|us)\M', '\1_h', 'g') || ') s' INTO b;
	EXCEPTION WHEN OTHERS THEN b := SQLERRM;
	END;
	RETURN found || CASE WHEN a IS DISTINCT FROM b THEN ', ' || coalesce(a, 'NULL') || ' instead of ' || coalesce(b, 'NULL')
		WHEN a ~ '^[0-9a-f]{32} of' THEN ', same' ELSE ', ' || coalesce(a, 'nothing') END;
END $$;
CREATE TABLE uv_query (n int, q text);
INSERT INTO uv_query VALUES
	(1, 'SELECT name, count(*), count(v), sum(v), avg(v) FROM uv CROSS JOIN LATERAL (VALUES (''a'', a::bigint), (''b'', b), (''c'', id)) u(name, v) GROUP BY 1'),
	(2, 'SELECT id, name, v FROM uv, LATERAL (VALUES (''n'', n), (''m'', m), (''x'', NULL), (''1'', 1.50)) u(name, v) WHERE id % 100 < 3'),
	(3, 'SELECT k, name, sum(v) FROM uv, unnest(ARRAY[''a'', ''b''], ARRAY[a::bigint, b]) u(name, v) WHERE v > 20 GROUP BY 1, 2'),
	(4, 'SELECT name, v, o FROM uv, unnest(ARRAY[''a'', ''b'', ''z''], ARRAY[n, m]) WITH ORDINALITY u(name, v, o) WHERE id < 30'),
	(5, 'SELECT uv.k, w, name, count(*), sum(v) FROM uv JOIN us ON us.k = uv.k CROSS JOIN LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v) GROUP BY 1, 2, 3'),
	(6, 'SELECT uv.k, w, name, count(*), count(w) FROM uv LEFT JOIN us ON us.k = uv.k, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v) WHERE v < 1000 GROUP BY 1, 2, 3'),
	(7, 'SELECT us.k, name, count(v), sum(v) FROM us LEFT JOIN (uv CROSS JOIN LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v)) ON us.k = uv.k AND v % 2 = 0 GROUP BY 1, 2'),
	(8, 'SELECT * FROM (SELECT k, name, v, rank() OVER (PARTITION BY name ORDER BY v DESC, id) r FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v)) q WHERE r < 4'),
	(9, 'SELECT name, (SELECT count(*) FROM us WHERE us.w > u.v), count(*) FROM uv, LATERAL (VALUES (''a'', a % 60), (''b'', b)) u(name, v) GROUP BY name, v'),
	(10, 'SELECT count(DISTINCT v) FROM uv, LATERAL (VALUES (t), (k), (''x'')) u(v)'),
	(11, 'SELECT v, count(*) FROM uv, LATERAL (VALUES (t), (k COLLATE "C")) u(v) WHERE v ~ ''[12]'' GROUP BY v'),
	(12, 'WITH c AS (SELECT id, name, v FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v)) SELECT x.name, y.name AS yn, count(*) FROM c x JOIN c y USING (id) WHERE x.v < y.v GROUP BY 1, 2'),
	(13, 'SELECT id, name, v FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v) ORDER BY v DESC NULLS LAST, id, name LIMIT 7'),
	(14, 'SELECT DISTINCT ON (id) id, name, v FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v) WHERE id < 50 ORDER BY id, v DESC NULLS LAST, name'),
	(15, 'SELECT name, count(*) FROM uv x, LATERAL (VALUES (''a'', x.a), (''b'', x.b)) u(name, v) WHERE EXISTS (SELECT FROM uv y WHERE y.id = u.v AND y.k = x.k) GROUP BY 1'),
	(16, 'SELECT name, v, count(*) FROM uv JOIN us USING (k), LATERAL (VALUES (''a'', a % 3), (''b'', b % 3)) u(name, v) GROUP BY 1, 2'),
	(17, 'SELECT lo, count(*) FROM uv, LATERAL (VALUES (d, d + 3), (d - 3, d)) u(lo, hi) WHERE hi > ''2024-02-01'' GROUP BY 1'),
	(18, 'SELECT name, count(*), sum(v) FROM uv CROSS JOIN LATERAL (SELECT ''a'' AS name, a::numeric AS v UNION ALL SELECT ''n'', n UNION ALL SELECT ''c'', a - b WHERE true) u GROUP BY 1'),
	(19, 'SELECT k, name, sum(v) FROM uv x CROSS JOIN LATERAL (SELECT ''a'' AS name, x.b AS v UNION ALL SELECT ''n'', x.id UNION ALL SELECT NULL, NULL) u WHERE x.id > 5 GROUP BY 1, 2'),
	(36, 'SELECT name, sum(v), max(v) FROM uv x CROSS JOIN LATERAL (SELECT ''a'' AS name, (x.b - 7)::smallint AS v UNION ALL SELECT ''n'', x.id UNION ALL SELECT ''c'', 5::bigint) u GROUP BY 1'),
	-- left to PostgreSQL: two tables, subqueries, whole rows, what is not read and may fail, what may fail beside a join
	(20, 'SELECT name, sum(v) FROM uv JOIN us USING (k), LATERAL (VALUES (''a'', a), (''w'', w)) u(name, v) WHERE id < 900 GROUP BY 1'),
	(21, 'SELECT name, sum(v) FROM uv, LATERAL (VALUES (''a'', a), (''w'', (SELECT max(w) FROM us))) u(name, v) WHERE id < 900 GROUP BY 1'),
	(22, 'SELECT u::text, count(*) FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v) WHERE id < 90 GROUP BY 1'),
	(23, 'SELECT name, count(*) FROM uv, LATERAL (VALUES (''a'', a / b), (''b'', b)) u(name, v) GROUP BY 1'),
	(24, 'SELECT name, sum(v) FROM uv JOIN us ON us.k = uv.k, LATERAL (VALUES (''a'', 100 / (id - 9001)), (''b'', b)) u(name, v) GROUP BY 1'),
	(25, 'SELECT name, count(*) FROM uv, LATERAL (VALUES (''a'', a), (''b'', b)) u(name, v), LATERAL (VALUES (v), (v + 1)) z(q) WHERE id < 200 AND q > 3 GROUP BY 1'),
	(26, 'SELECT name, sum(v) FROM us LEFT JOIN uv ON us.k = uv.k, LATERAL (VALUES (''a'', uv.a), (''b'', b)) u(name, v) WHERE id < 900 GROUP BY 1'),
	(27, 'SELECT name, sum(v) FROM uv x CROSS JOIN LATERAL (SELECT ''a'' AS name, x.b AS v UNION SELECT ''n'', x.id) u WHERE x.id < 500 GROUP BY 1'),
	(28, 'SELECT id, (SELECT max(v) FROM (VALUES (a), (b)) z(v)) FROM uv WHERE id % 10 = 0'),
	-- conditions on what may fail, here or in a query around, which could be tested before others
	(33, 'SELECT name, sum(v) FROM uv, LATERAL (VALUES (''a'', 100 / (id - 9001)), (''b'', b)) u(name, v) WHERE v > 1 AND length(repeat(''x'', 9001 - id)) > 0 GROUP BY 1'),
	(34, 'SELECT name, sum(v) FROM (SELECT id, name, v FROM uv, LATERAL (VALUES (''a'', 100 / (id - 9001)), (''b'', b)) u(name, v)) q WHERE v > 1 AND length(repeat(''x'', 9001 - id)) > 0 GROUP BY 1'),
	(35, 'SELECT name, v FROM uv, LATERAL (VALUES (''a'', 100 / (id - 9001)), (''b'', b)) u(name, v) WHERE length(repeat(''x'', 9001 - id)) > 0 GROUP BY 1, 2 HAVING v > 1'),
	-- errors are PostgreSQL's
	(30, 'SELECT name, sum(v) FROM uv, LATERAL (VALUES (''a'', a + 1), (''b'', b)) u(name, v) GROUP BY 1'),
	(31, 'SELECT name, sum(v) FROM uv, LATERAL (VALUES (''a'', a + 1), (''b'', b)) u(name, v) WHERE id < 9000 GROUP BY 1'),
	(32, 'SELECT name, sum(v) FROM uv, LATERAL (VALUES (''a'', a / b), (''b'', b)) u(name, v) WHERE b > 0 GROUP BY 1');
SELECT n, uv_same(q) FROM uv_query ORDER BY n;
-- a view, a prepared statement, rows that are locked, CREATE TABLE AS
CREATE VIEW uv_view AS SELECT uv.id, uv.k, u.name, u.v FROM uv CROSS JOIN LATERAL (VALUES ('a', uv.a), ('b', uv.b)) u(name, v);
SELECT name, count(*), sum(v::bigint) FROM uv_view GROUP BY 1 ORDER BY 1;
PREPARE uv_prepared(int) AS SELECT name, count(*), min(v), max(v) FROM uv, LATERAL (VALUES ('a', a % $1), ('b', b)) u(name, v) WHERE id < 9000 GROUP BY 1 ORDER BY 1;
EXECUTE uv_prepared(10);
EXECUTE uv_prepared(77);
DEALLOCATE uv_prepared;
SELECT name, v FROM uv, LATERAL (VALUES ('a', a), ('b', b)) u(name, v) WHERE id = 7 FOR UPDATE OF uv;
-- where a row of another table may have to be joined again
EXPLAIN (COSTS OFF) SELECT us.k, q.v FROM us_h us JOIN (SELECT id, name, v FROM uv, LATERAL (VALUES ('a', a), ('b', b)) u(name, v)) q ON q.id = us.w FOR UPDATE OF us;
CREATE TABLE uv_into AS SELECT name, v, n FROM uv, LATERAL (VALUES ('n', n), ('p', n * 2)) u(name, v);
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'uv_into'::regclass AND attnum > 0 ORDER BY attnum;
SELECT name, count(*), sum(v) FROM uv_into GROUP BY 1 ORDER BY 1;
-- rights and row-level security
CREATE ROLE uv_user;
SET ROLE uv_user;
SELECT count(*), sum(v) FROM uv, LATERAL (VALUES (a % 5), (b)) u(v);
RESET ROLE;
GRANT SELECT (id, a, b) ON uv TO uv_user;
SET ROLE uv_user;
SELECT count(v), sum(v) FROM uv, LATERAL (VALUES (a % 5), (b)) u(v);
SELECT count(v) FROM uv, LATERAL (VALUES (t), (k)) u(v);
RESET ROLE;
ALTER TABLE uv ENABLE ROW LEVEL SECURITY;
CREATE POLICY uv_policy ON uv TO uv_user USING (id < 100);
SET ROLE uv_user;
SELECT count(v), sum(v) FROM uv, LATERAL (VALUES (a), (b)) u(v);
RESET ROLE;
DROP POLICY uv_policy ON uv;
DROP VIEW uv_view;
DROP TABLE uv, uv_h, us, us_h, uv_query, uv_into;
DROP FUNCTION uv_same;
DROP ROLE uv_user;
