--
-- The first row of an order for each row of the query around becomes a join with the first rows of all keys.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
SET cpu_tuple_cost = 0.5;
SET enable_nestloop = off;
SET enable_mergejoin = off;

CREATE TABLE sf_heap (id int NOT NULL, k int, s int, n numeric(8,2), t text);
INSERT INTO sf_heap SELECT i, CASE WHEN i % 9 > 0 THEN i % 60 END, i % 4, i / 4.0, 't' || i % 25 FROM generate_series(1, 120) i;
CREATE TABLE sf_packed (LIKE sf_heap) USING gpucol;
INSERT INTO sf_packed SELECT * FROM sf_heap;
CREATE TABLE sf_ev_heap (id int, k int, s int, n numeric(8,2), t text, d date, f float8);
INSERT INTO sf_ev_heap SELECT i, CASE WHEN i % 13 > 0 THEN i * 7919 % 40 END, i % 4, CASE WHEN i % 11 > 0 THEN i / 8.0 END,
	CASE WHEN i % 5 > 0 THEN 't' || i % 15 END, date '2024-01-01' + i % 300, i FROM generate_series(1, 700) i;
CREATE TABLE sf_ev_packed (LIKE sf_ev_heap) USING gpucol;
INSERT INTO sf_ev_packed SELECT * FROM sf_ev_heap;
ANALYZE sf_heap, sf_packed, sf_ev_heap, sf_ev_packed;
CREATE FUNCTION sf_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := 'stays'; differences int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || packed LOOP
		IF line ~ 'GpucolWindow|of each row the first' THEN plan := 'joined'; END IF;
		IF line ~ 'Not Pushed Down: (subquery|LATERAL)' THEN plan := 'stays:' || substring(line, ':[^:]*$'); END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE sf_want AS ' || replace(query, '@', '_heap');
	EXECUTE 'CREATE TEMP TABLE sf_got AS ' || packed;
	PERFORM set_config('gpucol.enable_join', 'off', true);
	EXECUTE 'CREATE TEMP TABLE sf_off AS ' || packed;
	PERFORM set_config('gpucol.enable_join', 'on', true);
	SELECT count(*) INTO differences FROM (
		(SELECT sf_want::text FROM sf_want EXCEPT ALL SELECT sf_got::text FROM sf_got)
		UNION ALL (SELECT sf_got::text FROM sf_got EXCEPT ALL SELECT sf_want::text FROM sf_want)
		UNION ALL (SELECT sf_off::text FROM sf_off EXCEPT ALL SELECT sf_want::text FROM sf_want)) x;
	SELECT count(*) INTO rows FROM sf_got;
	DROP TABLE sf_want, sf_got, sf_off;
	RETURN format('%s, %s rows, %s differences', plan, rows, differences);
END $$;

EXPLAIN (COSTS OFF) SELECT o.id, l.id AS ev, l.n FROM sf_packed o, LATERAL (SELECT id, n FROM sf_ev_packed e WHERE e.k = o.k ORDER BY d DESC, id LIMIT 1) l;
-- ORDER BY tells every row from every other.
SELECT x, sf_check(x) FROM unnest(ARRAY[
	'SELECT o.id, (SELECT n FROM sf_ev@ e WHERE e.k = o.k ORDER BY d DESC, e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT e.id AS v FROM sf_ev@ e WHERE e.k = o.k ORDER BY n DESC NULLS LAST, e.id DESC LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT upper(t) FROM sf_ev@ e WHERE e.k = o.k AND e.s = o.s AND e.n > 10 ORDER BY t NULLS FIRST, e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT 7 FROM sf_ev@ e WHERE e.k = o.k ORDER BY e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT k FROM sf_ev@ e WHERE e.k = o.k ORDER BY k DESC, e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT id FROM sf@ o WHERE n > (SELECT n FROM sf_ev@ e WHERE e.t = o.t ORDER BY e.id DESC LIMIT 1)',
	'SELECT s, count((SELECT n FROM sf_ev@ e WHERE e.k = o.k AND o.s > 1 ORDER BY e.id LIMIT 1)) FROM sf@ o GROUP BY s',
	'SELECT o.id, l.id AS ev, l.n FROM sf@ o, LATERAL (SELECT id, n FROM sf_ev@ e WHERE e.k = o.k ORDER BY d DESC, id LIMIT 1) l',
	'SELECT o.id, l.* FROM sf@ o LEFT JOIN LATERAL (SELECT id AS ev, n, t, o2 FROM (SELECT *, s + k AS o2 FROM sf_ev@) e WHERE e.k = o.k ORDER BY d DESC, id LIMIT 1) l ON true',
	'SELECT o.id, l.ev FROM sf@ o LEFT JOIN LATERAL (SELECT id AS ev, n FROM sf_ev@ e WHERE e.k = o.k ORDER BY n, id LIMIT 1) l ON l.n > 20',
	'SELECT o.id, l.ev FROM sf@ o JOIN LATERAL (SELECT id AS ev, s FROM sf_ev@ e WHERE e.k = o.k ORDER BY f DESC LIMIT 1) l USING (s)',
	'SELECT o.id, q.id AS other, l.ev FROM sf@ o LEFT JOIN sf@ q ON q.id = o.k LEFT JOIN LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = q.k ORDER BY id LIMIT 1) l ON true',
	'SELECT o.id, q.id AS other, l.ev FROM sf@ o, (sf@ q LEFT JOIN LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = o.k ORDER BY id LIMIT 1) l ON true) WHERE q.id = o.k',
	'SELECT o.id, q.id AS other, l.ev FROM sf@ o, (sf@ q LEFT JOIN LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = q.s ORDER BY id LIMIT 1) l ON true) WHERE q.id = o.k',
	'SELECT j.id, j.k, l.ev FROM sf@ o LEFT JOIN sf_ev@ q USING (id, k) AS j LEFT JOIN LATERAL (SELECT e.id AS ev FROM sf_ev@ e WHERE e.k = j.k ORDER BY e.id LIMIT 1) l ON true',
	'SELECT o.s, count(*), sum(l.n) FROM sf@ o LEFT JOIN LATERAL (SELECT n FROM sf_ev@ e WHERE e.k = o.k ORDER BY id LIMIT 1) l ON true GROUP BY o.s',
	'SELECT o.id, (SELECT n FROM sf_ev@ e WHERE e.k = o.k AND e.id < o.id ORDER BY e.id DESC LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT n FROM sf_ev@ e WHERE e.k = o.k ORDER BY e.id LIMIT 1 OFFSET 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT n + o.n FROM sf_ev@ e WHERE e.k = o.k ORDER BY e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, (SELECT n / e.s FROM sf_ev@ e WHERE e.k = o.k AND e.s > 0 ORDER BY e.id LIMIT 1) AS v FROM sf@ o',
	'SELECT o.id, l.ev FROM sf@ o, LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = o.k ORDER BY abs(e.id - o.id), id LIMIT 1) l',
	'SELECT o.id, l::text AS l FROM sf@ o, LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = o.k ORDER BY id LIMIT 1) l',
	'SELECT o.id, l.ev FROM sf@ o, LATERAL (SELECT id AS ev FROM sf_ev@ e WHERE e.k = o.k ORDER BY id LIMIT 2) l']) x;
DROP TABLE sf_heap, sf_packed, sf_ev_heap, sf_ev_packed;
DROP FUNCTION sf_check;
