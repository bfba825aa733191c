-- Of rows that are looked up by several keys only those are read of which each key can be in the table, as far as
-- its least and its greatest value tell.
CREATE SCHEMA join_ranges;
SET search_path = join_ranges, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_fact (id int8, day date, ts timestamp, item int, n numeric(9,2), t text, s smallint, q int);
INSERT INTO h_fact SELECT i, CASE WHEN i % 53 > 0 THEN date '2020-01-01' + (i / 100)::int END, timestamp '2020-01-01' + interval '1 day' * (i / 100), i % 1000,
	i % 77 * 0.25, 't' || i % 40, i % 100, i % 9 FROM generate_series(1, 60000) i;
INSERT INTO h_fact VALUES (9223372036854775807, NULL, NULL, 2147483647, NULL, NULL, 32767, 1), (-9223372036854775808, '2020-02-01', NULL, -2147483648, 0, 't1', -32768, NULL);
CREATE TABLE h_keys AS SELECT id, day, ts, item, n, t, s, q + 1 AS q, id + 1 AS other FROM h_fact WHERE id BETWEEN 20000 AND 20300 AND item BETWEEN 100 AND 250;
INSERT INTO h_keys VALUES (NULL, '2020-07-20', NULL, 120, NULL, NULL, NULL, 3, 1), (20050, NULL, NULL, NULL, 1, 't5', 1, 3, NULL);
CREATE TABLE h_wide AS SELECT * FROM h_keys;
INSERT INTO h_wide SELECT id, day, ts, item, n, t, s, 5, id FROM h_fact WHERE id IN (9223372036854775807, -9223372036854775808);
CREATE TABLE h_none AS SELECT * FROM h_keys WHERE id < 0;
CREATE TABLE p_fact USING gpucol AS SELECT * FROM h_fact;
CREATE TABLE p_keys USING gpucol AS SELECT * FROM h_keys;
CREATE TABLE p_wide USING gpucol AS SELECT * FROM h_wide;
CREATE TABLE p_none USING gpucol AS SELECT * FROM h_none;
INSERT INTO h_fact SELECT id, day, ts, item + 1, n, t, s, q FROM h_fact WHERE id % 211 = 0;
INSERT INTO p_fact SELECT id, day, ts, item + 1, n, t, s, q FROM p_fact WHERE id % 211 = 0;
DELETE FROM h_fact WHERE id % 17 = 0;
DELETE FROM p_fact WHERE id % 17 = 0;
ANALYZE h_fact, h_keys, h_wide, h_none, p_fact, p_keys, p_wide, p_none;
CREATE FUNCTION check_join(query text) RETURNS TABLE (fine boolean, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(query, '@', 'p_');
	heap text := replace(query, '@', 'h_');
BEGIN
	RETURN QUERY EXECUTE format('SELECT NOT EXISTS ((SELECT * FROM (%s) a EXCEPT ALL SELECT * FROM (%s) b) UNION ALL '
		'(SELECT * FROM (%2$s) c EXCEPT ALL SELECT * FROM (%1$s) d)), (SELECT count(*) FROM (%1$s) e)', ours, heap);
END
$$;
SELECT c, k, (check_join(replace(replace('SELECT f.id, f.item, k.q, k.other FROM @fact f # @k k ON ' || c, '#', j), '@k', '@' || k))).*, j
FROM unnest(ARRAY['f.day = k.day AND f.item = k.item', 'f.ts = k.day AND f.item = k.item AND f.q < k.q', 'f.id = k.id AND f.n = k.n', 'f.t = k.t AND f.id = k.id AND f.s = k.s',
	'f.n = k.n AND f.t = k.t AND f.s = k.s AND f.item = k.item AND f.day = k.day AND f.id = k.id', 'f.item::int8 + 1 = k.item AND f.id = k.other', 'f.s = k.item AND f.item = k.s']) c,
	unnest(ARRAY['keys', 'wide', 'none']) k, unnest(ARRAY['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN']) j WHERE j <> 'FULL JOIN' OR c !~ '<' ORDER BY 1, 2, j;
SELECT q, (check_join(q)).* FROM unnest(ARRAY[
	'SELECT id FROM @fact WHERE (day, item) IN (SELECT day, item FROM @keys)',
	'SELECT id FROM @fact f WHERE NOT EXISTS (SELECT FROM @keys k WHERE k.day = f.day AND k.item = f.item)',
	'SELECT k.id, k.item FROM @keys k WHERE EXISTS (SELECT FROM @fact f WHERE k.day = f.day AND k.item = f.item)',
	'SELECT k.id, k.item FROM @keys k WHERE NOT EXISTS (SELECT FROM @fact f WHERE k.id = f.id AND k.item = f.s)',
	'SELECT k.item, count(*), sum(f.q) FROM @fact f, @keys k WHERE f.day = k.day AND f.item = k.item GROUP BY 1']) q;
-- of 60,000 rows those of four days, and of these those of the items
CREATE FUNCTION looked_up(query text) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Join:' THEN
			RETURN NEXT substring(line FROM 'looked up (\d+)')::int;
		END IF;
	END LOOP;
END
$$;
SET gpucol.pushdown = require;
SELECT looked_up('SELECT count(*) FROM p_fact f JOIN p_keys k ON f.day = k.day AND f.item = k.item');
SELECT looked_up('SELECT count(*) FROM p_fact f JOIN p_keys k ON f.t = k.t AND f.id = k.id');
SELECT looked_up('SELECT count(*) FROM p_fact f WHERE (day, item) IN (SELECT day, item FROM p_keys)');
-- all that do not match are wanted
SELECT looked_up('SELECT count(*), count(k.id) FROM p_fact f LEFT JOIN p_keys k ON f.day = k.day AND f.item = k.item');
DROP SCHEMA join_ranges CASCADE;
