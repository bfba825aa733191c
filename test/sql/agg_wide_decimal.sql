-- Products of numerics whose declarations exceed 38 digits go by the values that columns have.
SET client_min_messages = warning;
CREATE SCHEMA agg_wide_decimal;
SET search_path = agg_wide_decimal, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/ran_in.psql
\i :include
\set ECHO all

CREATE TABLE item (id serial, flag "char", status char(1), quantity numeric(15,2), price numeric(15,2), discount numeric(15,2), tax numeric(15,2),
	big numeric(18,0), small numeric(18,18), n bigint, missing numeric(15,2)) USING gpucol;
INSERT INTO item (flag, status, quantity, price, discount, tax, big, small, n)
SELECT substr('ANR', 1 + i % 3, 1)::"char", substr('FO', 1 + i / 7 % 2, 1), i % 50 + 1, (i * 7919 % 9000000 + 90000) * 0.01, i % 11 * 0.01, i % 9 * 0.01,
	i * 1000003::bigint - 1500000000, (i % 1000 - 500) * 0.000000000000000001, (i % 17 - 8) * 3000000000
FROM generate_series(1, 2500) i;
UPDATE item SET discount = NULL WHERE id % 97 = 0;
SELECT gpucol.merge('item');
INSERT INTO item (flag, status, quantity, price, discount, tax, big, small, n) VALUES ('A', 'F', 1, 100, 0.5, 0.25, 7, 0.5, 1), ('N', NULL, NULL, 5, NULL, 0.01, NULL, NULL, NULL);

CREATE TABLE argument (expr text);
INSERT INTO argument VALUES
	('price * (1 - discount)'), ('price * (1 - discount) * (1 + tax)'), ('price * (1 - discount) * (1 + tax) * quantity'), ('quantity * price * discount * tax * price'),
	('-price * discount * abs(1 - tax) * quantity'), ('price * (1 - discount) + quantity * tax * price'), ('price * quantity - tax * discount * price'), ('big * price * quantity'),
	('big * small * price'), ('big * n * price'), ('n * price * tax'), ('n * 3'), ('n * n'), ('big * big'), ('(big + 1) * (big - 1)'), ('small * small * small * small * small'),
	('CASE WHEN flag = ''A'' THEN price * discount * tax * quantity ELSE quantity * 0.000001 END'), ('coalesce(discount, 0.00) * price * tax * quantity'), ('nullif(discount, 0) * price * tax * quantity'),
	('price * missing * tax * quantity'), ('least(price * tax * discount * quantity, quantity * 1.000000)'), ('greatest(price * tax * discount * quantity, price * tax * discount * 2.00)'),
	('price * 1000000000000000000000000000000 * discount'), ('(price * quantity) * (price * quantity) * (price * quantity)');

CREATE FUNCTION all_differ() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT e FROM argument, unnest('{"", flag, status, "flag, status", "status, quantity", discount}'::text[]) k,
		differ(format('SELECT %s sum(x), avg(x), count(x), min(x), max(x), sum(x) FILTER (WHERE quantity < 20), count(*) FROM (SELECT *, %s AS x FROM item WHERE price < 80000) s %s',
					  CASE k WHEN '' THEN '' ELSE k || ',' END, expr, CASE k WHEN '' THEN '' ELSE 'GROUP BY ' || k END)) e
	WHERE e IS NOT NULL;
$$;
SELECT all_differ();
SELECT expr, ran_in(format('SELECT sum(%s) FROM item', expr)) FROM argument WHERE expr !~ '^n \*';
SELECT ran_in('SELECT flag, status, sum(quantity), sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(quantity), avg(price), avg(discount), count(*) FROM item GROUP BY 1, 2');
SELECT flag, status, sum(price * (1 - discount)) AS revenue, sum(price * (1 - discount) * (1 + tax)) AS charge, avg(price * tax * quantity * discount) FROM item WHERE price < 60000 GROUP BY 1, 2 ORDER BY 1, 2;

CREATE FUNCTION left_to_postgres() RETURNS TABLE (e text, how text) LANGUAGE sql AS $$
	SELECT * FROM (SELECT expr, ran_in(format('SELECT sum(%s) FROM item', expr)) AS how FROM argument WHERE expr !~ '^n \*' OFFSET 0) x WHERE how !~ 'Engine';
$$;

-- keys, conditions, HAVING
SELECT e FROM unnest('{"SELECT price * quantity * tax * discount * 0, count(*) FROM item GROUP BY 1","SELECT count(*) FROM item WHERE price * quantity * tax * discount * price > 100000",
	"SELECT flag, max(id) FROM item GROUP BY 1 HAVING sum(price * quantity * tax * discount) > 10"}'::text[]) q, differ(q) e WHERE e IS NOT NULL;
-- rows of a scan leave before the last is seen: there the declaration counts
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM item WHERE price * quantity * tax * discount * price > 100000;

-- values at the ends of what 64 and 128 bits hold: packed, in the delta, after UPDATE
INSERT INTO item (flag, status, quantity, price, discount, tax, big, small, n)
SELECT 'R', 'O', v, -v, v, v, v, 0.999999999999999999, 9223372036854775807 FROM unnest('{9999999999999.99,-9999999999999.99,0,0.01,-0.01}'::numeric[]) v;
SELECT all_differ();
SELECT * FROM left_to_postgres();
SELECT gpucol.merge('item');
SELECT all_differ();
UPDATE item SET price = 0 WHERE abs(price) > 1000000;
SELECT all_differ();
SELECT * FROM left_to_postgres();
DELETE FROM item WHERE price = 0;
UPDATE item SET big = 999999999999999999 WHERE id = 2000;
SELECT all_differ();

-- rows that are NULL lend their digits to no sum
SELECT e FROM unnest('{"CASE WHEN id % 2 = 0 THEN CASE WHEN price > 45000 THEN tax * discount ELSE price END END","nullif(CASE WHEN price > 45000 THEN tax * discount ELSE price END, 0)",
	"CASE WHEN id % 2 = 0 THEN NULL WHEN price > 45000 THEN tax * discount ELSE price END"}'::text[]) x, differ(format('SELECT id / 2, sum(%s), count(*) FROM item GROUP BY 1', x)) e WHERE e IS NOT NULL;

-- NaN has no mantissa
UPDATE item SET tax = 'NaN' WHERE id = 77;
SELECT all_differ();
SELECT ran_in('SELECT sum(price * (1 - discount) * (1 + tax)) FROM item');
SELECT ran_in('SELECT sum(price * (1 - discount) * quantity) FROM item');
UPDATE item SET tax = 0 WHERE id = 77;

-- parameters: what a constant is, is known when it runs
SET plan_cache_mode = force_generic_plan;
PREPARE total(numeric) AS SELECT sum(price * $1 * (1 - discount) * (1 + tax)), count(*) FROM item WHERE id < 2400;
EXECUTE total(1);
EXECUTE total(-0.000001);
EXECUTE total(99999999999999999999999999999999999);
EXECUTE total(NULL);
EXECUTE total('NaN');
EXECUTE total(1e-300);

-- an error of a row is the row's, whatever overflows beside it
SELECT sum(price * quantity * tax * discount * big * big * big), sum(1 / (id - 5)) FROM item;
