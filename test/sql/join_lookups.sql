-- Where a join is estimated to have a few rows, PostgreSQL looks them up by indexes, one by one.
-- Such estimates are wrong by thousands where conditions say the same: a join by the engine is
-- preferred unless it costs several times as much.
CREATE SCHEMA join_lookups;
SET search_path = join_lookups, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.engine = cpu;
CREATE TABLE fact (id int, a int, b int, c int, d int, one int, two int, three int) USING gpucol;
INSERT INTO fact SELECT i, i % 10, i % 10, i % 10, i % 10, i % 5000, i % 4999, i % 4998 FROM generate_series(1, 60000) i;
CREATE TABLE dim (id int PRIMARY KEY, v int) USING gpucol;
INSERT INTO dim SELECT i, i % 100 FROM generate_series(0, 4999) i;
SET default_statistics_target = 300;	-- all rows, not some of them
VACUUM ANALYZE fact, dim;
-- as if the tables were some hundred times as long
SET cpu_operator_cost = 1;
SET cpu_tuple_cost = 1;
CREATE FUNCTION loops(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	seen text := 'no loops';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Nested Loop' THEN seen := 'loops'; END IF;
	END LOOP;
	RETURN seen;
END $$;
SELECT loops('SELECT count(*) FROM fact f JOIN dim x ON f.one = x.id JOIN dim y ON f.two = y.id JOIN dim z ON f.three = z.id
	WHERE f.a = 1 AND f.b = 1 AND f.c = 1 AND f.d = 1');
SELECT count(*), sum(x.v), sum(y.v), sum(z.v)
FROM fact f JOIN dim x ON f.one = x.id JOIN dim y ON f.two = y.id JOIN dim z ON f.three = z.id
WHERE f.a = 1 AND f.b = 1 AND f.c = 1 AND f.d = 1;
SELECT loops('SELECT f.id FROM fact f JOIN dim x ON f.one = x.id WHERE f.a = 1 AND f.b = 1 AND f.c = 1 AND f.d = 1
	AND EXISTS (SELECT FROM dim y WHERE y.id = f.two) AND NOT EXISTS (SELECT FROM dim z WHERE z.id = f.three AND z.v > f.id)');
RESET cpu_operator_cost;
RESET cpu_tuple_cost;
DROP SCHEMA join_lookups CASCADE;
