--
-- A node that falls back to its ordinary plan has copies there of nodes that have run: what is computed
-- once for the statement is there for them as well.
--
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE jo_a (id int, j int, big bigint, d int) USING gpucol;
CREATE TABLE jo_c (id int, k int, j int, n numeric(8,2), f bool) USING gpucol;
INSERT INTO jo_a SELECT i, i % 4, i % 2, i FROM generate_series(1, 30) i;
INSERT INTO jo_c SELECT i, i * 7919 % 10, i % 5, CASE WHEN i % 9 > 0 THEN i * 31 % 1000 / 8.0 END, i % 3 = 0 FROM generate_series(1, 20) i;
-- Keys of more than 64 bits are PostgreSQL's to join.
SELECT 'SELECT x.j, sum(CASE WHEN x.big IN (SELECT DISTINCT q.j FROM jo_c p JOIN (SELECT f, min(j) AS j FROM jo_c GROUP BY f) q ON q.f = p.f'
	' WHERE q.j < (SELECT max(d) FROM jo_a)) AND (x.d IS NOT NULL OR x.big IN (SELECT id * 100000000000000000000 FROM jo_c WHERE f)) THEN 1 END) AS s'
	' FROM jo_a x WHERE x.d < ANY (SELECT d FROM jo_a) GROUP BY x.j ORDER BY x.j' AS query \gset
CREATE FUNCTION jo_fallbacks(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text; n int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		n := n + (line ~ 'Fallback: a value that engines')::int;
	END LOOP;
	RETURN n;
END $$;
SELECT jo_fallbacks(:'query') > 0 AS falls_back;
:query;
SET gpucol.pushdown = forbid;
:query;
DROP FUNCTION jo_fallbacks;
DROP TABLE jo_a, jo_c;
