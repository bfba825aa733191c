-- A semi join's table has no columns in the joined rows, but PostgreSQL may ask for its key
-- where the key is equal to others: it is the key of the rows then.
CREATE SCHEMA join_semi_twin;
SET search_path = join_semi_twin, public;
CREATE TABLE fact (id int, k int, l int, v int) USING gpucol;
INSERT INTO fact SELECT i, i % 300, i % 17, i % 90 FROM generate_series(1, 5000) i;
CREATE TABLE part (k int, name text) USING gpucol;
INSERT INTO part SELECT i, 'name ' || i % 7 FROM generate_series(1, 2000) i;
CREATE TABLE maker (l int, name text) USING gpucol;
INSERT INTO maker SELECT i, 'maker ' || i FROM generate_series(1, 1500) i;
CREATE TABLE sold (k int, l int, n int) USING gpucol;
INSERT INTO sold SELECT i % 290, i % 16, i % 5 FROM generate_series(1, 6000) i;
ANALYZE fact, part, maker, sold;
CREATE FUNCTION fallbacks(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		n := n + (line ~ 'Fallback')::int;
	END LOOP;
	RETURN n;
END
$$;
CREATE VIEW nested AS SELECT name FROM maker WHERE l IN (SELECT l FROM fact WHERE k IN (SELECT k FROM part WHERE name = 'name 3')
	AND v > (SELECT 0.5 * sum(n) FROM sold WHERE sold.k = fact.k AND sold.l = fact.l));
SELECT count(*), min(name), max(name) FROM nested;
SELECT fallbacks('SELECT name FROM nested');
SET gpucol.enable_join = off;
SELECT count(*), min(name), max(name) FROM nested;
RESET gpucol.enable_join;

-- an anti join made of an outer join shows columns that are NULL
CREATE VIEW outer_anti AS SELECT f.id, p.k, p.name FROM fact f LEFT JOIN part p ON p.k = f.k WHERE p.k IS NULL;
SELECT count(*), count(id), count(k), count(name) FROM outer_anti;
SELECT * FROM outer_anti ORDER BY 1 LIMIT 2;
SELECT fallbacks('SELECT * FROM outer_anti');
SET gpucol.enable_join = off;
SELECT count(*), count(id), count(k), count(name) FROM outer_anti;
SET client_min_messages = warning;
DROP SCHEMA join_semi_twin CASCADE;
