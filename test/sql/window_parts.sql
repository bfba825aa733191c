-- Windows over rows that exceed gpucol.memory_limit are computed in parts, by the keys that all of them partition by;
-- the rows and their order are those of a heap twin, and what cannot be computed is left to PostgreSQL before a row is shown.
CREATE SCHEMA window_parts;
SET search_path = window_parts, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_g AS SELECT i AS id, nullif(i * 37 % 1009, 7) AS k, i / 3000 AS s, CASE WHEN i % 50 = 0 THEN i % 11 ELSE 99 END AS skew,
	nullif(i % 7, 2)::smallint AS v, 'name ' || i * 7 % 911 AS t, ('c' || i % 5)::char(6) AS c, round((i % 301) / 4.0, i % 3) AS n,
	((i % 997) / 4.0)::numeric(9,2) AS m, (i % 97) * 0.25 - 5 AS f, date '2020-01-01' + i % 400 AS d, i * 7919 % 100003 AS w
	FROM generate_series(1, 50000) i;
ALTER TABLE h_g ALTER f TYPE float8, ALTER m TYPE numeric(9,2);
CREATE TABLE g (LIKE h_g) USING gpucol;
INSERT INTO g TABLE h_g;
DELETE FROM g WHERE id % 101 = 5;
DELETE FROM h_g WHERE id % 101 = 5;
INSERT INTO g SELECT id + 400000, k, s, skew, v, t, c, n, m, f, d, w FROM h_g WHERE id <= 700;
INSERT INTO h_g SELECT id + 400000, k, s, skew, v, t, c, n, m, f, d, w FROM h_g WHERE id <= 700;
ANALYZE g, h_g;
SET gpucol.memory_limit = '2MB';

-- in parts, in one, or by PostgreSQL; and is the memory more than the limit?
CREATE FUNCTION parts(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text := 'in memory';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		found := CASE WHEN line ~ 'Fallback' THEN trim(line) WHEN line ~ ' Parts: ' THEN 'in parts' ELSE found END;
		IF line ~ 'Memory: ' AND substring(line, 'Memory: (\d+) kB')::int > 2048 THEN
			found := found || ', too large';
		END IF;
	END LOOP;
	RETURN found;
END $$;
-- rows and order: all digits of the rows in the order in which they come
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	twin text := regexp_replace(query, '\mg\M', 'h_g', 'g');
	found text[];
BEGIN
	EXECUTE format('SELECT ARRAY[(SELECT md5(string_agg(a::text, ''|'')) FROM (%s) a), (SELECT md5(string_agg(a::text, ''|'')) FROM (%s) a)]', query, twin) INTO found;
	RETURN parts(query) || CASE WHEN found[1] = found[2] THEN ', alike' ELSE ', different' END;
END $$;

SELECT parts('SELECT rank() OVER (PARTITION BY k ORDER BY id) FROM g');
SELECT f, compare(format('SELECT id, k, %s AS a FROM g ORDER BY k, id', f)) FROM unnest(ARRAY[
	'row_number() OVER (PARTITION BY k ORDER BY id)', 'rank() OVER (PARTITION BY k ORDER BY w)', 'dense_rank() OVER (PARTITION BY t ORDER BY d)',
	'percent_rank() OVER (PARTITION BY t ORDER BY w)', 'cume_dist() OVER (PARTITION BY k ORDER BY w)', 'ntile(7) OVER (PARTITION BY k ORDER BY id)',
	'count(m) OVER (PARTITION BY k ORDER BY id)', 'sum(v) OVER (PARTITION BY k ORDER BY id)', 'sum(w) OVER (PARTITION BY k ORDER BY id ROWS 3 PRECEDING)',
	'sum(m) OVER (PARTITION BY k ORDER BY id)', 'sum(n) OVER (PARTITION BY k ORDER BY id)', 'avg(w) OVER (PARTITION BY k)', 'avg(n) OVER (PARTITION BY t)',
	'sum(f) OVER (PARTITION BY k ORDER BY id)', 'lag(t) OVER (PARTITION BY k ORDER BY id)', 'lead(v * 2 + k, 1, -1) OVER (PARTITION BY t ORDER BY id)',
	'last_value(m) OVER (PARTITION BY k ORDER BY d, id)', 'array_agg(v) OVER (PARTITION BY k ORDER BY id ROWS 2 PRECEDING)', 'max(t) OVER (PARTITION BY k)',
	'count(*) FILTER (WHERE v > 3) OVER (PARTITION BY k ORDER BY id)']) f;
-- keys of every kind, NULLs, equal numerics of different bytes, several keys, and the order that a key is wanted in
SELECT keys, compare(format('SELECT id, row_number() OVER (PARTITION BY %1$s ORDER BY id) AS a, sum(m) OVER (PARTITION BY %1$s) FROM g ORDER BY id', keys)),
	compare(format('SELECT %1$s, id, row_number() OVER (PARTITION BY %1$s ORDER BY id) AS a FROM g ORDER BY %1$s, id', keys))
	FROM unnest(ARRAY['k', 't', 'n', 'm', 'd', 'f', 's', 'k, v', 'c, k', 't COLLATE "C"', 'v, n', 'k, t, d']) keys;
-- several windows: what all partition by; keys in another order; none in common; rows of the node above in batches
SELECT compare('SELECT id, sum(w) OVER (PARTITION BY k ORDER BY id) AS a, rank() OVER (PARTITION BY k, v ORDER BY w, id) AS b FROM g ORDER BY id');
SELECT compare('SELECT id, sum(w) OVER (PARTITION BY v, k ORDER BY id) AS a, rank() OVER (PARTITION BY k ORDER BY w) AS b FROM g ORDER BY id');
SELECT compare('SELECT id, sum(w) OVER (PARTITION BY k ORDER BY id) AS a, rank() OVER (PARTITION BY t ORDER BY w) AS b FROM g ORDER BY id');
SELECT compare('SELECT a, count(*), sum(m), min(n) FROM (SELECT m, n, rank() OVER (PARTITION BY k ORDER BY w) AS a FROM g) q WHERE a > 2 GROUP BY a ORDER BY a');
SELECT compare('SELECT v, sum(a), sum(b) FROM (SELECT v, sum(n) OVER (PARTITION BY k ORDER BY id) AS a, avg(m) OVER (PARTITION BY k) AS b FROM g) q GROUP BY v ORDER BY v');
SELECT compare('SELECT id, a FROM (SELECT id, lag(w) OVER (PARTITION BY k ORDER BY id) AS a FROM g) q WHERE a > 90000 ORDER BY id');
SELECT compare('SELECT k, a FROM (SELECT k, row_number() OVER (PARTITION BY k, id % 40 ORDER BY id) AS a FROM g) q WHERE a <= 2 ORDER BY k, a');
-- keys that come one after another; many rows of one key; no key; a row that cannot be computed in the last part
SELECT compare('SELECT id, sum(w) OVER (PARTITION BY s ORDER BY id) AS a, lag(t) OVER (PARTITION BY s ORDER BY id) AS b FROM g ORDER BY id');
SELECT compare('SELECT id, rank() OVER (PARTITION BY skew ORDER BY id) AS a FROM g ORDER BY skew, id');
SELECT compare('SELECT id, rank() OVER (ORDER BY w, id) AS a FROM g ORDER BY id');
SELECT compare('SELECT id, k, sum(CASE WHEN k = 1008 THEN 1e30 + n ELSE n END) OVER (PARTITION BY k ORDER BY id) AS a FROM g ORDER BY k, id');
SELECT compare('SELECT id, k, sum(CASE WHEN k = 1008 THEN ''NaN'' ELSE n END) OVER (PARTITION BY k ORDER BY id) AS a FROM g ORDER BY k, id');
-- read again, in part, and by a cursor that outlives a rolled back savepoint
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT compare('SELECT x, id, a FROM (VALUES (1), (2)) y(x) JOIN (SELECT id, v, lag(w) OVER (PARTITION BY k ORDER BY id) AS a FROM g) q ON v > x WHERE id % 100 < 3 ORDER BY x, id');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT compare('SELECT id, k, lag(w) OVER (PARTITION BY k ORDER BY id) AS a FROM g ORDER BY k, id LIMIT 300');
BEGIN;
DECLARE rows CURSOR FOR SELECT id, k, lag(w) OVER (PARTITION BY k ORDER BY id) AS a FROM g ORDER BY k, id;
SAVEPOINT s;
FETCH 2 FROM rows;
ROLLBACK TO s;
MOVE 30000 FROM rows;
FETCH 2 FROM rows;
CLOSE rows;
COMMIT;
DROP SCHEMA window_parts CASCADE;
