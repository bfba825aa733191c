--
-- "As of" subqueries, the first row of an order that compares with the row outside, become joins; DISTINCT ON
-- and first rows of LATERAL become numbered rows.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE sa_heap (id int NOT NULL, k int, at timestamp, d date, n numeric(8,2), t text, f float8);
INSERT INTO sa_heap SELECT i, CASE WHEN i % 9 > 0 THEN i % 60 END, CASE WHEN i % 31 > 0 THEN timestamp '2024-01-01' + i * interval '7 hours' END,
	date '2024-01-01' + i % 500, i / 4.0, 't' || i % 25, CASE WHEN i % 50 = 0 THEN float8 'NaN' ELSE i END FROM generate_series(1, 800) i;
CREATE TABLE sa_packed (LIKE sa_heap) USING gpucol;
INSERT INTO sa_packed SELECT * FROM sa_heap;
CREATE TABLE sa_ev_heap (id int, k int, d date, at timestamp, n numeric(8,2), t text, f float8);
INSERT INTO sa_ev_heap SELECT i, CASE WHEN i % 13 > 0 THEN i * 7919 % 40 END, CASE WHEN i % 17 > 0 THEN date '2024-01-01' + i % 300 END,
	timestamp '2024-01-01' + i % 800 * interval '13 hours', CASE WHEN i % 11 > 0 THEN i / 8.0 END,
	CASE WHEN i % 5 > 0 THEN 't' || i % 15 END, CASE WHEN i % 70 = 0 THEN float8 'NaN' ELSE i END FROM generate_series(1, 1200) i;
CREATE TABLE sa_ev_packed (LIKE sa_ev_heap) USING gpucol;
INSERT INTO sa_ev_packed SELECT * FROM sa_ev_heap;
ANALYZE sa_heap, sa_packed, sa_ev_heap, sa_ev_packed;
CREATE FUNCTION sa_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := 'stays'; differences int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || packed LOOP
		IF line ~ 'Window: ' THEN plan := substring(line, 'Window: (\w+) OVER'); END IF;
		IF line ~ 'Not Pushed Down: (subquery|LATERAL)' THEN plan := 'stays:' || substring(line, ':[^:]*$'); END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE sa_want AS ' || replace(query, '@', '_heap');
	EXECUTE 'CREATE TEMP TABLE sa_got AS ' || packed;
	SELECT count(*) INTO differences FROM (
		(SELECT sa_want::text FROM sa_want EXCEPT ALL SELECT sa_got::text FROM sa_got)
		UNION ALL (SELECT sa_got::text FROM sa_got EXCEPT ALL SELECT sa_want::text FROM sa_want)) x;
	SELECT count(*) INTO rows FROM sa_got;
	DROP TABLE sa_want, sa_got;
	RETURN format('%s, %s rows, %s differences', plan, rows, differences);
END $$;

EXPLAIN (COSTS OFF) SELECT count(l.n) FROM sa_packed o, LATERAL (SELECT n FROM sa_ev_packed e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, id LIMIT 1) l;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) k, n FROM sa_ev_packed ORDER BY k, at DESC, id;
SELECT x, sa_check(x) FROM unnest(ARRAY[
	'SELECT o.id, (SELECT n FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at < o.at ORDER BY at DESC, e.id DESC LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND o.at < e.at ORDER BY at, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at >= o.at ORDER BY at, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at >= o.at ORDER BY at DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at AND e.at > o.at - interval ''9 days'' ORDER BY at DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.d <= o.at ORDER BY d DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.d <= o.at AND e.n > 20 ORDER BY d DESC NULLS LAST, e.id LIMIT 1) AS v FROM sa@ o WHERE o.n < 200',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.t < o.t ORDER BY t DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.f <= o.f ORDER BY f DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.n <= o.n ORDER BY n DESC, e.id LIMIT 1) AS v FROM sa@ o',
	'SELECT o.id, l.n FROM sa@ o CROSS JOIN LATERAL (SELECT n FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, id LIMIT 1) l',
	'SELECT o.k, count(*) AS c, count(l.id), sum(l.n) FROM sa@ o LEFT JOIN LATERAL (SELECT id, n FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, id LIMIT 1) l ON l.n > 30 GROUP BY o.k',
	'SELECT o.k, count(*) AS c, count(l.id), sum(l.n) FROM sa@ o LEFT JOIN LATERAL (SELECT id, n FROM sa_ev@ e WHERE e.k = o.k ORDER BY at DESC, id LIMIT 3) l ON true GROUP BY o.k',
	'WITH e AS (SELECT * FROM sa_ev@ WHERE n > 5) SELECT o.id, (SELECT e.id FROM e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, e.id LIMIT 1) AS v, (SELECT n FROM e WHERE e.k = o.k ORDER BY e.id LIMIT 1) AS w FROM sa@ o',
	'SELECT DISTINCT ON (k) k, n FROM sa_ev@ ORDER BY k, at DESC, id',
	'SELECT DISTINCT ON (t) t, id FROM sa_ev@ ORDER BY t DESC NULLS LAST, n NULLS FIRST, id LIMIT 7',
	'SELECT DISTINCT ON (k, d) d, upper(t) AS t, id + 1 AS i FROM sa_ev@ WHERE n > 3 ORDER BY k, d DESC, id',
	'SELECT DISTINCT ON (k) k, t, count(*) AS c FROM sa_ev@ GROUP BY k, t HAVING count(*) > 1 ORDER BY k, count(*) DESC, t',
	'SELECT DISTINCT ON (k) k, id, rank() OVER (ORDER BY n, id) AS r FROM sa_ev@ ORDER BY k, id',
	'WITH e AS (SELECT * FROM sa_ev@) SELECT o.id, q.n FROM sa@ o JOIN (SELECT DISTINCT ON (k) k, n FROM e ORDER BY k, id DESC) q USING (k)',
	'SELECT k, (SELECT max(n) FROM (SELECT DISTINCT ON (t) t, n FROM sa_ev@ e WHERE e.k = o.k ORDER BY t, id) q) AS m FROM sa@ o WHERE o.id < 40',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at <> o.at ORDER BY at DESC, e.id LIMIT 1) AS v FROM sa@ o WHERE id < 30',
	'SELECT o.id, (SELECT e.id FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at ORDER BY e.id LIMIT 1) AS v FROM sa@ o WHERE id < 30',
	'SELECT o.id, l.id AS ev FROM sa@ o, LATERAL (SELECT id FROM sa_ev@ e WHERE e.k = o.k AND e.at <= o.at ORDER BY at DESC, id LIMIT 2) l WHERE o.id < 30']) x;
-- Rows of a condition between two tables of few and many rows are tested by the engine: nothing sorts or hashes by it.
CREATE TABLE sa_many USING gpucol AS SELECT i AS id, (i % 1000)::numeric(8,2) AS price FROM generate_series(1, 400000) i;
ANALYZE sa_many;
SET gpucol.pushdown = require;
SELECT b.l, count(*), sum(id) FROM sa_many JOIN (VALUES ('low', 0, 50), ('mid', 50, 200), ('high', 200, 1000)) b(l, lo, hi) ON price >= lo AND price < hi GROUP BY 1 ORDER BY 1;
RESET gpucol.pushdown;
-- EXISTS with one condition that orders asks for the greatest value of each key, where that is cheaper than looking at pairs.
CREATE TABLE sa_o USING gpucol AS SELECT i AS id, i * 79 % 50 AS k, i * 31 % 40000 AS t FROM generate_series(1, 20000) i;
CREATE TABLE sa_i USING gpucol AS SELECT i AS id, i * 77 % 60 AS k, i * 17 % 20000 AS t FROM generate_series(1, 20000) i;
CREATE TABLE sa_o_heap AS SELECT * FROM sa_o;
CREATE TABLE sa_i_heap AS SELECT * FROM sa_i;
ANALYZE sa_o, sa_i, sa_o_heap, sa_i_heap;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM sa_o o WHERE EXISTS (SELECT FROM sa_i i WHERE i.k = o.k AND i.t > o.t);
SELECT count(*), sum(id) FROM sa_o o WHERE EXISTS (SELECT FROM sa_i i WHERE i.k = o.k AND i.t > o.t);
SELECT count(*), sum(id) FROM sa_o_heap o WHERE EXISTS (SELECT FROM sa_i_heap i WHERE i.k = o.k AND i.t > o.t);
-- The rows of any plan flow through joins and are grouped by the engine, here those of a partition that is no gpucol table.
CREATE TABLE sa_part (id int, k int, t int) PARTITION BY RANGE (id);
CREATE TABLE sa_part_1 PARTITION OF sa_part FOR VALUES FROM (0) TO (10000) USING gpucol;
CREATE TABLE sa_part_2 PARTITION OF sa_part FOR VALUES FROM (10000) TO (30000) USING heap;
INSERT INTO sa_part SELECT * FROM sa_o;
CREATE TABLE sa_dim USING gpucol AS SELECT i AS k, i % 3 AS g FROM generate_series(0, 59) i;
ANALYZE sa_part, sa_dim;
EXPLAIN (COSTS OFF) SELECT g, count(*), sum(t) FROM sa_part JOIN sa_dim USING (k) GROUP BY g ORDER BY g;
SELECT g, count(*), sum(t) FROM sa_part JOIN sa_dim USING (k) GROUP BY g ORDER BY g;
SELECT k % 3 AS g, count(*), sum(t) FROM sa_o_heap GROUP BY 1 ORDER BY 1;
-- What could raise an error is computed of no group that no row asks for: groups from 50 on count nothing.
CREATE TABLE sa_few USING gpucol AS SELECT i AS id, i % 50 AS k FROM generate_series(1, 500) i;
CREATE TABLE sa_z USING gpucol AS SELECT i AS id, i % 100 AS k, CASE WHEN i % 100 < 50 THEN i END AS v FROM generate_series(1, 500) i;
ANALYZE sa_few, sa_z;
SELECT count(*) FROM sa_few o WHERE (SELECT 100 * min(id) / count(v) FROM sa_z z WHERE z.k = o.k) > 100;
SELECT count(*) FROM (SELECT (SELECT 100 * min(id) / count(v) FROM sa_z z WHERE z.k = o.k) AS q FROM sa_few o) s WHERE q IS NOT NULL;
DROP TABLE sa_few, sa_z, sa_heap, sa_packed, sa_ev_heap, sa_ev_packed, sa_many, sa_o, sa_i, sa_o_heap, sa_i_heap, sa_part, sa_dim;
DROP FUNCTION sa_check;
