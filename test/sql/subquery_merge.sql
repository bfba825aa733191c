-- Scalar subqueries in MERGE's actions are joined to its source; the rows are those of heap twins.
CREATE SCHEMA subquery_merge;
SET search_path = subquery_merge, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_sale AS SELECT i AS id, nullif(i % 700, 5) AS k, 'c' || i % 300 AS t, (i % 90) / 4.0 AS n, i % 40 AS v FROM generate_series(1, 20000) i;
CREATE TABLE sale (LIKE h_sale) USING gpucol;
CREATE INDEX ON h_sale (k);
CREATE INDEX ON h_sale (t);
CREATE INDEX ON h_sale (n);
INSERT INTO sale TABLE h_sale;
CREATE TABLE h_item (id int, k int, t text, n numeric, a bigint, b numeric, c text);
INSERT INTO h_item SELECT i, nullif(i % 900, 17), 'c' || i % 320, (i % 95) / 4.0, i % 100, i, 'as it was' FROM generate_series(1, 2000) i;
CREATE TABLE item (LIKE h_item) USING gpucol;
INSERT INTO item TABLE h_item;
CREATE TABLE h_news AS SELECT i AS id, nullif(i % 800, 9) AS k, 'c' || i % 310 AS t, (i % 95) / 4.0 AS n, nullif(i % 13, 4) AS w FROM generate_series(1000, 3000) i;
CREATE TABLE news (LIKE h_news) USING gpucol;
INSERT INTO news TABLE h_news;
ANALYZE;

-- has a statement the same effect, and is a subquery executed for its rows?
CREATE FUNCTION compare(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	joined boolean := false;
	failed text := '';
	failed_heap text := '';
	differ bigint;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		joined := joined OR line ~ 'Subquery Scan on grouped';
	END LOOP;
	BEGIN
		BEGIN
			EXECUTE statement;
		EXCEPTION WHEN OTHERS THEN
			failed := SQLERRM;
		END;
		BEGIN
			EXECUTE regexp_replace(statement, '\m(item|sale|news)\M', 'h_\1', 'g');
		EXCEPTION WHEN OTHERS THEN
			failed_heap := SQLERRM;
		END;
		SELECT count(*) INTO differ FROM ((TABLE item EXCEPT ALL TABLE h_item) UNION ALL (TABLE h_item EXCEPT ALL TABLE item)) d;
		RAISE EXCEPTION USING ERRCODE = 'UN001', MESSAGE = format('%s, %s%s', CASE WHEN joined THEN 'joined' ELSE 'executed' END,
			CASE WHEN differ = 0 AND failed = failed_heap THEN 'alike' ELSE format('%s differ, %s for %s', differ, failed, failed_heap) END,
			CASE WHEN failed <> '' THEN ': ' || failed END);
	EXCEPTION WHEN SQLSTATE 'UN001' THEN
		RETURN SQLERRM;
	END;
END $$;

SELECT s, compare(s) FROM unnest(ARRAY[
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND item.a > (SELECT max(v) FROM sale WHERE sale.k = s.k) THEN UPDATE SET c = ''much''',
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = s.k), b = (SELECT avg(v) FROM sale WHERE sale.t = s.t)',
	-- by a column of the target that ON compares
	'MERGE INTO item USING news s ON item.id = s.id AND s.w < item.a WHEN MATCHED AND item.a > (SELECT max(v) FROM sale WHERE sale.k = item.id) THEN UPDATE SET a = (SELECT count(*) FROM sale WHERE sale.id - 5 = item.id) WHEN MATCHED THEN DELETE',
	'MERGE INTO item USING (SELECT k, max(id) AS id FROM news GROUP BY k) s ON s.id = item.id WHEN MATCHED AND item.a > 20 THEN UPDATE SET a = coalesce((SELECT max(v) FROM sale WHERE sale.k = s.k AND sale.id > item.id - 5000), -1)',
	'MERGE INTO item USING news s ON s.id = item.id AND s.t = item.t WHEN MATCHED AND (SELECT count(*) FROM sale WHERE sale.t = item.t AND v > 3) > 30 THEN DELETE WHEN NOT MATCHED THEN DO NOTHING',
	-- rows that are inserted, and a condition of ON that the source alone has
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = 0 WHEN NOT MATCHED AND (SELECT max(v) FROM sale WHERE sale.k = s.k) > 20 THEN INSERT (id, a) VALUES (s.id, (SELECT sum(v) FROM sale WHERE sale.k = s.k))',
	'MERGE INTO item USING news s ON s.id = item.id AND s.w > 5 WHEN MATCHED THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = s.k) WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, (SELECT sum(v) FROM sale WHERE sale.k = s.k))',
	'MERGE INTO item USING news s ON false WHEN NOT MATCHED THEN INSERT (id, a, c) VALUES (s.id, (SELECT count(*) FROM sale WHERE sale.k = s.k), (SELECT max(t) FROM sale WHERE sale.k = s.k))',
	-- sources of several tables, with subqueries
	'MERGE INTO item USING (news s LEFT JOIN sale x ON x.id = s.id) ON s.id = item.id WHEN MATCHED AND (SELECT avg(v) FROM sale WHERE sale.k = x.k) > 15 THEN UPDATE SET c = x.t',
	'MERGE INTO item USING (SELECT s.*, (SELECT sum(v) FROM sale WHERE sale.k = s.k) AS total FROM news s) s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = s.total WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.total)',
	-- the table itself, as the snapshot has it
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = (SELECT max(o.a) FROM item o WHERE o.k = s.k)',
	-- several rows are an error where they are asked for only
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.k = 6 THEN UPDATE SET a = (SELECT v FROM sale WHERE sale.k = s.k)',
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.k IS NULL THEN UPDATE SET a = (SELECT v FROM sale WHERE sale.k = s.k)',
	-- these stay: other columns of the target, = does not tell 1.0 from 1.00, volatile, errors
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.id < 1020 THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k)',
	'MERGE INTO item USING news s ON s.n = item.n AND s.id = item.id AND s.id < 1020 WHEN MATCHED THEN UPDATE SET c = (SELECT max(sale.n::text || item.n::text) FROM sale WHERE sale.n = item.n)',
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.id < 1020 THEN UPDATE SET a = (SELECT sum(v + (random() * 0)::int) FROM sale WHERE sale.k = s.k)',
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.id < 1020 THEN UPDATE SET a = (SELECT sum(1 / (v - 39)) FROM sale WHERE sale.k = s.k AND v < 5)',
	'MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.id < 1020 AND s.w > 4 THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = 100 / (s.w - 4))'
]) s;

-- empty ones, NULLs, prepared
BEGIN;
DELETE FROM sale;
DELETE FROM h_sale;
SELECT compare('MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = s.k), b = (SELECT count(*) FROM sale WHERE sale.k = s.k)');
DELETE FROM news;
DELETE FROM h_news;
SELECT compare('MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = s.k)');
ROLLBACK;
SET plan_cache_mode = force_generic_plan;
PREPARE raise_to(int) AS MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND item.a > (SELECT max(v) FROM sale WHERE sale.k = s.k AND v < $1) THEN UPDATE SET a = $1;
BEGIN;
EXECUTE raise_to(10);
MERGE INTO h_item USING h_news s ON s.id = h_item.id WHEN MATCHED AND h_item.a > (SELECT max(v) FROM h_sale WHERE h_sale.k = s.k AND v < 10) THEN UPDATE SET a = 10;
SELECT count(*) FROM ((TABLE item EXCEPT ALL TABLE h_item) UNION ALL (TABLE h_item EXCEPT ALL TABLE item)) d;
ROLLBACK;
RESET plan_cache_mode;
SET gpucol.pushdown = forbid;
SELECT compare('MERGE INTO item USING news s ON s.id = item.id WHEN MATCHED AND s.id < 1020 THEN UPDATE SET a = (SELECT sum(v) FROM sale WHERE sale.k = s.k)');
RESET gpucol.pushdown;
SET client_min_messages = error;
DROP SCHEMA subquery_merge CASCADE;
