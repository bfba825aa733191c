-- Scalar subqueries that an UPDATE assigns are joined; the rows are those of heap twins.
CREATE SCHEMA subquery_update;
SET search_path = subquery_update, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_sale AS SELECT i AS id, nullif(i % 700, 5) AS k, 'c' || i % 300 AS t, (i % 90) / 4.0 AS n, ((i % 997) / 4.0)::numeric(9,2) AS m, i % 40 AS v,
	date '2024-01-01' + i % 300 AS d FROM generate_series(1, 20000) i;
CREATE TABLE sale (LIKE h_sale) USING gpucol;
CREATE INDEX ON h_sale (k, t);
CREATE INDEX ON h_sale (t);
CREATE INDEX ON h_sale (d);
CREATE INDEX ON h_sale (n);
CREATE INDEX ON h_sale (id);
INSERT INTO sale TABLE h_sale;
CREATE TABLE h_item (id int PRIMARY KEY, k int, t text, n numeric, d date, a bigint, b numeric, c text, e float8);
INSERT INTO h_item SELECT i, nullif(i % 900, 17), 'c' || i % 320, (i % 95) / 4.0, date '2024-01-01' + i % 310, i, i, 'as it was', i FROM generate_series(1, 2000) i;
CREATE TABLE item (LIKE h_item, PRIMARY KEY (id)) USING gpucol;
INSERT INTO item TABLE h_item;
CREATE TABLE p_item (LIKE h_item) PARTITION BY RANGE (id);
CREATE TABLE p_item1 PARTITION OF p_item FOR VALUES FROM (MINVALUE) TO (900) USING gpucol;
CREATE TABLE p_item2 PARTITION OF p_item FOR VALUES FROM (900) TO (MAXVALUE);
INSERT INTO p_item TABLE h_item;
CREATE TABLE h_kind AS SELECT i AS k, i % 11 AS w FROM generate_series(0, 899) i;
CREATE TABLE kind USING gpucol AS TABLE h_kind;
ANALYZE;

-- has a statement the same effect, and is a subquery executed for its rows?
CREATE FUNCTION compare(statement text, target text DEFAULT 'item') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	twin text := regexp_replace(statement, '\m(p_item|item|sale|kind)\M', 'h_\1', 'g');
	line text;
	joined boolean := false;
	missing int;
	extra int;
BEGIN
	twin := replace(twin, 'h_p_item', 'h_item');
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		joined := joined OR line ~ 'Subquery Scan on grouped';
	END LOOP;
	BEGIN
		EXECUTE statement;
		EXECUTE twin;
		EXECUTE format('SELECT count(*) FROM (SELECT * FROM %s EXCEPT ALL SELECT * FROM h_item) q', target) INTO missing;
		EXECUTE format('SELECT count(*) FROM (SELECT * FROM h_item EXCEPT ALL SELECT * FROM %s) q', target) INTO extra;
		RAISE EXCEPTION USING ERRCODE = 'UN001', MESSAGE = format('%s%s', CASE WHEN joined THEN 'joined' ELSE 'executed' END,
			CASE WHEN missing + extra = 0 THEN ', alike' ELSE format(', %s and %s differ', missing, extra) END);
	EXCEPTION WHEN SQLSTATE 'UN001' THEN
		RETURN SQLERRM;
	END;
END $$;

SELECT s, compare(s) FROM unnest(ARRAY[
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET a = (SELECT count(*) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET b = (SELECT avg(m) FROM sale WHERE sale.k = item.k) WHERE id % 3 = 0',
	'UPDATE item SET b = b + coalesce((SELECT max(m) FROM sale WHERE sale.k = item.k AND v > 20), 1), a = (SELECT min(v) FROM sale WHERE sale.k = item.k) * 2',
	'UPDATE item SET a = (SELECT count(*) FROM sale WHERE sale.t = item.t), c = (SELECT max(t) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k AND sale.t = item.t)',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k + 1)',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k AND item.id > 800)',
	'UPDATE item SET a = (SELECT sum(v) + item.id FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET a = CASE WHEN id < 1500 THEN (SELECT count(v) FROM sale WHERE sale.d = item.d) END',
	'UPDATE item SET e = (SELECT sum(v::float8) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET k = (SELECT max(v) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET a = (SELECT max(o.a) FROM item o WHERE o.k = item.k)',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = x.w) FROM kind x WHERE x.k = item.k',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k AND sale.v = x.w) FROM kind x WHERE x.k = item.k AND x.w < 8',
	'WITH u AS (UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k) RETURNING id, a) UPDATE item SET b = 0 WHERE id < 0',
	'UPDATE item SET b = 0 WHERE a < (SELECT sum(v) FROM sale WHERE sale.k = item.k)',
	'DELETE FROM item WHERE n * 20 < (SELECT avg(m) FROM sale WHERE sale.k = item.k) AND id % 5 > 1',
	'DELETE FROM item WHERE (SELECT count(*) FROM sale WHERE sale.t = item.t) = 0 OR k = 3',
	'DELETE FROM item USING kind x WHERE x.k = item.k AND x.w > (SELECT avg(v) / 4 FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET a = (SELECT max(v) FROM sale WHERE sale.k = item.k) WHERE k > (SELECT min(v) FROM sale WHERE sale.t = item.t)',
	'DELETE FROM item WHERE a < (SELECT sum(v) FROM sale WHERE sale.k = item.k) AND 100 / (id + 7) < 50',
	'DELETE FROM item WHERE a < (SELECT sum(v) FROM sale WHERE sale.k = item.k) AND 100 / id < (SELECT sum(v) FROM sale WHERE sale.t = item.t)',
	-- these stay: = does not tell 1.0 from 1.00, several rows, few rows, a subquery in WHERE
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.n = item.n)',
	'UPDATE item SET a = (SELECT v FROM sale WHERE sale.id = item.id)',
	'UPDATE item SET (a, b) = (SELECT sum(v), max(m) FROM sale WHERE sale.k = item.k) WHERE id % 20 = 0',
	'UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k) WHERE id = 77']) s;
SELECT s, compare(s, 'p_item') FROM unnest(ARRAY[
	'UPDATE p_item SET a = (SELECT sum(v) FROM sale WHERE sale.k = p_item.k)',
	'UPDATE p_item SET a = (SELECT count(*) FROM sale WHERE sale.k = p_item.k), id = id + 5000']) s;
-- several columns at once
SELECT s, compare(s) FROM unnest(ARRAY[
	'UPDATE item SET (a, b) = (SELECT sum(v), avg(m) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET (a, b) = (SELECT count(*), coalesce(max(m), 7) FROM sale WHERE sale.k = item.k), c = ''x'' WHERE id % 3 > 0',
	'UPDATE item SET (b, a, c) = (SELECT max(m), count(*) * 2 + item.id, min(t) FROM sale WHERE sale.k = item.k AND v > 20)',
	'UPDATE item SET (a, b) = (SELECT sum(v), max(m) FROM sale WHERE sale.k = item.k), (c, e) = (SELECT max(t), min(v)::float8 FROM sale WHERE sale.t = item.t)',
	'UPDATE item SET (a, b) = (SELECT w, w + item.b FROM kind WHERE kind.k = item.k)',
	'UPDATE item SET (a, b) = (SELECT sum(v) + x.w, max(m) FROM sale WHERE sale.k = x.k) FROM kind x WHERE x.k = item.k',
	'UPDATE item SET (a, b) = (SELECT sum(v), max(m) FROM sale WHERE sale.k = item.k) WHERE a < (SELECT sum(v) FROM sale WHERE sale.t = item.t)',
	'UPDATE item SET (a, b) = (SELECT sum(v), max(m) FROM sale WHERE sale.k = item.k GROUP BY sale.k ORDER BY sale.k)',
	-- pairs that have to come from one row or one execution, a column without an aggregate, and what is no join
	'UPDATE item SET (a, b) = (SELECT v, m FROM sale WHERE sale.k = item.k ORDER BY sale.id LIMIT 1)',
	'UPDATE item SET (a, b) = (SELECT count(*), 5 FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET (a, c) = (SELECT count(*), string_agg(t, '','' ORDER BY t) FROM sale WHERE sale.k = item.k AND v < 3)',
	'UPDATE item SET (a, b) = (SELECT DISTINCT count(*), sum(m) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET (a, b) = (SELECT count(*) + 0 * trunc(random())::int, max(m) FROM sale WHERE sale.k = item.k)',
	'UPDATE item SET (a, b) = (SELECT sum(v), max(m) FROM sale WHERE sale.n = item.n)',
	'UPDATE item SET (a, b) = (SELECT 1, 2)']) s;
SELECT s, compare(s, 'p_item') FROM unnest(ARRAY[
	'UPDATE p_item SET (a, b) = (SELECT sum(v), avg(m) FROM sale WHERE sale.k = p_item.k)']) s;
-- several rows
UPDATE item SET (a, b) = (SELECT v, m FROM sale WHERE sale.k = item.k);
UPDATE h_item SET (a, b) = (SELECT v, m FROM h_sale WHERE h_sale.k = h_item.k);
-- of a role that sees some rows, and changes some
CREATE ROLE su_user;
GRANT USAGE ON SCHEMA subquery_update TO su_user;
GRANT SELECT ON ALL TABLES IN SCHEMA subquery_update TO su_user;
GRANT UPDATE (a) ON item, h_item TO su_user;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
ALTER TABLE h_item ENABLE ROW LEVEL SECURITY;
ALTER TABLE sale ENABLE ROW LEVEL SECURITY;
ALTER TABLE h_sale ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON item TO su_user USING (id % 7 > 2);
CREATE POLICY p ON h_item TO su_user USING (id % 7 > 2);
CREATE POLICY p ON sale TO su_user USING (v < 30);
CREATE POLICY p ON h_sale TO su_user USING (v < 30);
SET ROLE su_user;
SELECT compare('UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k)');
RESET ROLE;
REVOKE SELECT ON item FROM su_user;
GRANT SELECT (id, a) ON item TO su_user;
SET ROLE su_user;
UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k);
RESET ROLE;
-- an assignment that fails, and a statement that is planned once
UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k) / 0;
PREPARE change(int) AS UPDATE item SET a = (SELECT sum(v) FROM sale WHERE sale.k = item.k AND v < $1) WHERE id <= 1600;
BEGIN;
EXECUTE change(10);
SELECT count(*), sum(a) FROM item;
EXECUTE change(NULL);
SELECT count(a), sum(a) FROM item;
ROLLBACK;
SET client_min_messages = warning;
DROP SCHEMA subquery_update CASCADE;
DROP ROLE su_user;
