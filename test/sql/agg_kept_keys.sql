-- Groups that the executor makes share the values of their keys that are passed by reference: each is there once,
-- as long as most have been there before.
CREATE SCHEMA agg_kept_keys;
SET search_path = agg_kept_keys, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE h (id int, a text, b varchar(40), c char(12), n numeric, f text COLLATE folded, u uuid, x int, v numeric(10,2));
INSERT INTO h
SELECT i, CASE WHEN i % 11 > 0 THEN repeat('long text of a key ', 3) || i % 50 END, CASE WHEN i % 7 > 0 THEN 'value ' || i % 300 END,
	'c' || i % 20, CASE WHEN i % 2 = 0 THEN (i % 9)::numeric ELSE round(i % 9, 2) END,
	CASE i % 3 WHEN 0 THEN 'Ab' WHEN 1 THEN 'aB' END || i % 5, md5((i % 20000)::text)::uuid, i % 60000, i * 0.37
FROM generate_series(1, 50000) i;
INSERT INTO h (id, a, c) VALUES (0, '', ''), (-1, repeat('x', 3000), NULL);
CREATE TABLE p USING gpucol AS SELECT * FROM h;
INSERT INTO h SELECT id + 100000, a, b, c, n, f, u, x, v FROM h WHERE id % 97 = 0;
INSERT INTO p SELECT id + 100000, a, b, c, n, f, u, x, v FROM p WHERE id % 97 = 0;
DELETE FROM h WHERE id % 89 = 0;
DELETE FROM p WHERE id % 89 = 0;
CREATE TABLE d_h AS SELECT i AS x, 'day ' || i / 2 AS day, i / 10 AS week FROM generate_series(0, 400000) i;
CREATE TABLE d_p USING gpucol AS SELECT * FROM d_h;
ANALYZE h, p, d_h, d_p;
CREATE FUNCTION check_groups(query text) RETURNS TABLE (fine boolean, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(replace(query, '@d', 'd_p'), '@', 'p');
	heap text := replace(replace(query, '@d', 'd_h'), '@', 'h');
BEGIN
	RETURN QUERY EXECUTE format('SELECT NOT EXISTS ((SELECT * FROM (%s) a EXCEPT ALL SELECT * FROM (%s) b) UNION ALL '
		'(SELECT * FROM (%2$s) c EXCEPT ALL SELECT * FROM (%1$s) d)), (SELECT count(*) FROM (%1$s) e)', ours, heap);
END
$$;
CREATE FUNCTION shown(query text, what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ what THEN
			RETURN NEXT regexp_replace(trim(line), ' \(actual.*', '');
		END IF;
	END LOOP;
END
$$;
SET enable_sort = off;
SELECT q, (check_groups(q)).* FROM unnest(ARRAY[
	'SELECT a, b, c, count(*), sum(v) FROM @ GROUP BY ROLLUP (a, b, c)',
	'SELECT a, b, c, x, count(*), sum(v), grouping(a, c) FROM @ GROUP BY CUBE (a, c), ROLLUP (b, x)',
	'SELECT u, a, count(*), min(v) FROM @ GROUP BY ROLLUP (u, a)',
	'SELECT n::text, f COLLATE "C" AS f, a, count(*) FROM @ GROUP BY GROUPING SETS ((n::text, f COLLATE "C"), (a), (n::text, a), ())',
	'SELECT round(n, 0) AS n, upper(a) AS a, lower(b) AS b, count(*), sum(v) FROM @ GROUP BY ROLLUP (1, 2, 3)',
	'SELECT reverse(c) AS c, reverse(u::text) AS u, count(*), sum(v) FROM @ GROUP BY 1, 2',
	'SELECT reverse(u::text) AS u, id % 3, count(DISTINCT reverse(a)), sum(v) FROM @ GROUP BY 1, 2',
	'SELECT a, b, day, count(*), sum(v) FROM @ m JOIN @d t USING (x) WHERE week BETWEEN 0 AND 6000 GROUP BY ROLLUP (a, b, day)',
	'SELECT a, b, count(*) FROM @ WHERE id < -5 GROUP BY ROLLUP (a, b)',
	'SELECT a, b, count(*) FROM @ WHERE id = -1 GROUP BY ROLLUP (a, b)']) q;
-- of values that are equal the first is shown, whatever its bytes
SELECT count(DISTINCT lower(f)), bool_and(f IN ('Ab0', 'aB0', 'Ab1', 'aB1', 'Ab2', 'aB2', 'Ab3', 'aB3', 'Ab4', 'aB4') OR f IS NULL), count(*)
FROM (SELECT f, a, count(*) FROM p GROUP BY ROLLUP (f, a)) g;
-- joined rows of which statistics expect a seventh: their sets are the engine's, not sorted in PostgreSQL's executor, and
-- groups share 50 long texts, or would take more memory than that
RESET enable_sort;
SET gpucol.memory_limit = '46MB';
SELECT shown('SELECT a, b, c, n::text, u, day, sum(v) FROM p JOIN d_p USING (x) WHERE week BETWEEN 0 AND 6000 GROUP BY ROLLUP (a, b, c, n::text, u, day)', 'Custom Scan|Fallback|Sort');
SELECT (check_groups('SELECT a, b, c, n::text, u, day, sum(v) FROM @ m JOIN @d t USING (x) WHERE week BETWEEN 0 AND 6000 GROUP BY ROLLUP (a, b, c, n::text, u, day)')).*;
DROP SCHEMA agg_kept_keys CASCADE;
