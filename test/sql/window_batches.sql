-- Rows of window functions reach the node above a column at a time, without tuples in between, and conditions
-- of the node above are tested before; the answers are those of heap twins.
CREATE SCHEMA window_batches;
SET search_path = window_batches, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_g AS SELECT i AS id, nullif(i % 211, 7) AS k, nullif(i % 7, 2)::smallint AS v, (i * 37 % 100003) % 5000 AS w,
	(nullif((i % 1000), 13) / 4.0)::numeric(9,2) AS m, CASE WHEN i % 11 > 0 THEN round(i * 0.3721, i % 4) END AS n,
	((i * 7919 % 10007) / 8.0)::numeric(12,3) AS p, CASE WHEN i % 17 > 0 THEN (i % 97) * 0.25 - 5 END::float8 AS f, ((i % 61) / 4.0)::real AS r,
	date '2020-01-01' + i % 400 AS d, timestamp '2020-01-01' + i % 999 * interval '1 hour' AS s,
	nullif('name ' || i % 23, 'name 3') AS t, ('c' || i % 5)::char(6) AS c, i % 3 = 0 AS b, (i % 50)::bigint << 40 AS l, (i % 9)::oid AS o,
	md5((i % 77)::text)::uuid AS u, repeat('long ', i % 600) AS x
	FROM generate_series(1, 6000) i;
ALTER TABLE h_g ALTER m TYPE numeric(9,2), ALTER p TYPE numeric(12,3);
CREATE TABLE g (LIKE h_g) USING gpucol;
INSERT INTO g TABLE h_g;
SELECT gpucol.merge('g') IS NOT NULL AS merged;
DELETE FROM g WHERE id % 101 = 5;
DELETE FROM h_g WHERE id % 101 = 5;
INSERT INTO g SELECT id + 40000, k, v, w, m, n, p, f, r, d, s, t, c, b, l, o, u, x FROM h_g WHERE id <= 300;
INSERT INTO h_g SELECT id + 40000, k, v, w, m, n, p, f, r, d, s, t, c, b, l, o, u, x FROM h_g WHERE id <= 300;
CREATE TABLE h_e AS SELECT * FROM h_g WHERE id < 0;
CREATE TABLE e USING gpucol AS SELECT * FROM h_e;
CREATE TABLE h_one AS SELECT * FROM h_g WHERE id = 42;
CREATE TABLE one USING gpucol AS SELECT * FROM h_one;
CREATE TABLE h_dim AS SELECT i AS k, i % 9 AS kind, 'kind ' || i % 9 AS label FROM generate_series(0, 150) i;
CREATE TABLE dim USING gpucol AS SELECT * FROM h_dim;
ANALYZE g, h_g, e, h_e, one, h_one, dim, h_dim;

-- how a query's plans deliver: as EXPLAIN ANALYZE says, with the rows that they count, as every PostgreSQL prints it
CREATE FUNCTION delivered(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ '(Custom Scan|Subquery Scan|Append|Delivered|Filter|Fallback)' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^ *(-> *)?', ''), '(rows=\d+)\.00 ', '\1 ');
		END IF;
	END LOOP;
END $$;
SELECT delivered('SELECT r, count(*) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q GROUP BY r');
-- under a condition on the result, or what bounds it; on several, and on what is computed of them
SELECT delivered('SELECT v, count(*), sum(m) FROM (SELECT v, m, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM g) q WHERE r <= 3 GROUP BY v');
SELECT delivered('SELECT v, count(*), sum(m) FROM (SELECT v, m, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM g) q WHERE r = 3 GROUP BY v');
SELECT delivered('SELECT v, count(*) FROM (SELECT v, f, lag(f) OVER (PARTITION BY k ORDER BY id DESC) AS a, id % 3 AS z FROM g) q WHERE f > 1.1 * a AND z < 2 GROUP BY v');
-- but not where that is volatile, a query, or takes long and would be computed twice
CREATE FUNCTION slow(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
SELECT delivered('SELECT z, count(*) FROM (SELECT slow(v) AS z, rank() OVER (ORDER BY w) AS a FROM g) q WHERE a > z GROUP BY z');
SELECT delivered('SELECT v, count(*) FROM (SELECT v, lag(slow(v)) OVER (ORDER BY id) AS a FROM g) q WHERE a > 3 GROUP BY v');
SELECT delivered('SELECT z, count(*) FROM (SELECT slow(v) AS z, rank() OVER (ORDER BY w) AS a FROM g) q WHERE a > 3 GROUP BY z');
SELECT delivered('SELECT v, count(*) FROM (SELECT v, rank() OVER (ORDER BY w) AS a FROM g) q WHERE a > random() - 1 GROUP BY v');
SELECT delivered('SELECT v, count(*) FROM (SELECT v, id, rank() OVER (ORDER BY w) AS a FROM g) q WHERE a > (SELECT count(*) FROM dim WHERE k < q.id OFFSET 0) GROUP BY v');
-- joined, the derived table being looked up in or flowing, and a union of several
SELECT delivered('SELECT label, count(*), max(r) FROM (SELECT k, dense_rank() OVER (PARTITION BY v ORDER BY w) AS r FROM g) q JOIN dim USING (k) WHERE r > 5 GROUP BY label');
SELECT delivered('SELECT r, count(*) FROM (SELECT lag(v) OVER (ORDER BY id) AS r FROM g UNION ALL SELECT lead(v) OVER (ORDER BY id) FROM g) q GROUP BY r');

-- how many rows a query has, how many of them its twin has not, or has besides; and whether rows come in batches
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	twin text := regexp_replace(query, '\m(g|e|one|dim)\M(?! AS )', 'h_\1', 'g');
	rows int;
	differ int;
BEGIN
	EXECUTE format('SELECT (SELECT count(*) FROM (%1$s) a), (SELECT count(*) FROM (((%1$s) EXCEPT ALL (%2$s)) '
		'UNION ALL ((%2$s) EXCEPT ALL (%1$s))) b)', query, twin) INTO rows, differ;
	RETURN format('%s rows, %s differ%s', rows, differ,
		(SELECT ', ' || min(line) FROM delivered(query) line WHERE line ~ '^(Delivered|Fallback)'));
END $$;

-- every function over every type, grouped by its result, and least and greatest
SELECT f, compare(format('SELECT a, count(*) FROM (SELECT %s AS a FROM g) q GROUP BY a', f)) FROM unnest(ARRAY[
	'row_number() OVER (PARTITION BY k ORDER BY id)', 'rank() OVER (PARTITION BY v ORDER BY w)', 'dense_rank() OVER (PARTITION BY t ORDER BY d)',
	'percent_rank() OVER (PARTITION BY v ORDER BY w)', 'cume_dist() OVER (PARTITION BY v ORDER BY w)', 'ntile(7) OVER (ORDER BY id)',
	'count(m) OVER (PARTITION BY k ORDER BY id)', 'sum(v) OVER (PARTITION BY k ORDER BY id)', 'sum(w) OVER (ORDER BY id ROWS 3 PRECEDING)',
	'sum(l) OVER (PARTITION BY k ORDER BY id)', 'sum(m) OVER (PARTITION BY k ORDER BY id)', 'sum(n) OVER (PARTITION BY k ORDER BY id)',
	'sum(m) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)', 'avg(w) OVER (PARTITION BY k)', 'avg(m) OVER (PARTITION BY k ORDER BY id)',
	'avg(n) OVER (PARTITION BY v)', 'sum(f) OVER (PARTITION BY k ORDER BY id)', 'avg(r) OVER (PARTITION BY k ORDER BY id)',
	'bool_or(b) OVER (PARTITION BY k ORDER BY id ROWS 1 PRECEDING)', 'lag(x) OVER (PARTITION BY k ORDER BY id)', 'lead(v * 2 + k) OVER (PARTITION BY t ORDER BY id)',
	'lag(m, 2, 7.125) OVER (PARTITION BY k ORDER BY id)', 'lag(t, 1, c::text || id) OVER (PARTITION BY k ORDER BY id)',
	'array_agg(v) OVER (PARTITION BY k ORDER BY id ROWS 2 PRECEDING)', 'stddev(w) OVER (PARTITION BY v)']) f;
SELECT column_name, compare(format('SELECT a, b, count(*) FROM (SELECT lag(%1$s) OVER o AS a, last_value(%1$s) OVER o AS b FROM g WINDOW o AS (PARTITION BY k ORDER BY id)) q GROUP BY a, b', column_name)),
	compare(format('SELECT %1$s, max(a), count(*) FROM (SELECT %1$s, rank() OVER (PARTITION BY k ORDER BY id) AS a FROM g) q WHERE a > 2 GROUP BY %1$s', column_name))
FROM information_schema.columns WHERE table_schema = 'window_batches' AND table_name = 'g' ORDER BY ordinal_position;
SELECT a, compare(format('SELECT v, min(a), max(a), count(a) FROM (SELECT v, %s AS a FROM g) q GROUP BY v', a)) FROM unnest(ARRAY[
	'max(t) OVER (PARTITION BY k ORDER BY id)', 'min(n) OVER (PARTITION BY k ORDER BY id)', 'nth_value(m, 2) OVER (PARTITION BY k ORDER BY id)',
	'first_value(d) OVER (PARTITION BY k ORDER BY id)', 'avg(m) OVER (PARTITION BY k ORDER BY id)', 'sum(n) OVER (PARTITION BY k ORDER BY id)',
	'm - avg(m) OVER (PARTITION BY k)', 'CASE WHEN id % 2 = 0 THEN avg(n) OVER (PARTITION BY k ORDER BY id) END', 'x || lag(x) OVER (ORDER BY id)']) a;

-- conditions on results of every kind, and on columns that nothing else asks for
SELECT condition, compare(format('SELECT v, count(*), sum(m), sum(c), max(z) FROM (SELECT v, m, k, p, t, id, row_number() OVER o AS r, avg(m) OVER (PARTITION BY k) AS a, '
	'sum(m) OVER o AS u, lag(t) OVER o AS g, lag(p + 1, 1, 0.5) OVER o AS y, count(*) OVER o AS c, percent_rank() OVER o AS z, sum(n) OVER (PARTITION BY k) AS h FROM g '
	'WINDOW o AS (PARTITION BY k ORDER BY id)) q WHERE %s GROUP BY v', condition))
FROM unnest(ARRAY['r = 1', 'r <= 3', 'r < 3 AND m > a', 'm > 1.1 * a', 'u > 300 AND u < 900', 'g = ''name 7''', 'g IS NULL', 'y > p', 'z < 0.5', 'h > 10000',
	'r = c', 'r > 100000', 'r <= 0', 'a IS NOT DISTINCT FROM h', 'length(t || g) > 12', 'CASE WHEN r > 2 THEN u ELSE a END > 50', 'r IN (1, 3, 5)', 'u / r > 100',
	'(r, id) < (4, 3000)', 'NOT (r BETWEEN 2 AND 8)']) condition;
SELECT compare('SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY id) AS r, sum(m) OVER (ORDER BY id) AS s FROM g) q');
SELECT compare('SELECT label, sum(m), max(r) FROM (SELECT k, m, row_number() OVER (PARTITION BY k ORDER BY id) AS r, sum(m) OVER (PARTITION BY k) AS s FROM g) q JOIN dim USING (k) WHERE r < 9 AND m > s / 1000 GROUP BY label');
SELECT compare('SELECT g.id, q.s FROM g JOIN (SELECT id, sum(m) OVER (PARTITION BY k ORDER BY id) AS s, lag(t) OVER (PARTITION BY k ORDER BY id) AS y FROM g) q ON g.id = q.id AND g.t = q.y');
-- sums whose scales differ
SELECT compare('SELECT v, sum(s), max(s) FROM (SELECT v, sum(n) OVER (PARTITION BY k ORDER BY id ROWS 1 PRECEDING) AS s FROM g) q GROUP BY v');
SELECT compare('SELECT v, min(s::text), max(s::text), count(DISTINCT s) FROM (SELECT v, sum(round(m, id % 3)) OVER (PARTITION BY k ORDER BY id) AS s FROM g) q WHERE s > 3 GROUP BY v');

-- no row, one row, none that passes, and rows that are dropped while others come
SELECT tab, compare(format('SELECT r, s, count(*), max(y) FROM (SELECT row_number() OVER (ORDER BY id) AS r, sum(m) OVER (ORDER BY id) AS s, lag(t) OVER (ORDER BY id) AS y FROM %s) q WHERE r >= 0 GROUP BY r, s', tab)),
	compare(format('SELECT count(*), sum(r) FROM (SELECT dense_rank() OVER (ORDER BY id) AS r FROM %s) q WHERE r > 100000', tab)) FROM unnest(ARRAY['e', 'one', 'g']) tab;
SELECT compare('SELECT r, count(*), max(v) FROM (SELECT v, rank() OVER (PARTITION BY k ORDER BY v, j) AS r FROM g, generate_series(1, 20) j) q WHERE r <= 2 GROUP BY r');
-- memory that does not suffice for the window, and rows of it on disk
SET gpucol.memory_limit = '1MB';
SELECT compare('SELECT r, s, count(*) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS r, sum(m) OVER (PARTITION BY k ORDER BY id) AS s FROM g) q WHERE s > 40 GROUP BY r, s');
RESET gpucol.memory_limit;
SET work_mem = '64kB';
SELECT compare('SELECT sum(a * 2 + 0.5), count(*), max(z), min(y) FROM (SELECT avg(m) OVER (PARTITION BY k) AS a, lag(t) OVER (ORDER BY id) AS z, x AS y FROM g) q WHERE a * 2 > 7');
RESET work_mem;
-- rows that a window takes: of a scan, tested by the engine or PostgreSQL, with arguments that are computed; of
-- groups, of a window, of several, and of a join
SELECT compare('SELECT id, sum(v + 1) FILTER (WHERE w > 1000) OVER (PARTITION BY k ORDER BY id), max(upper(t)) OVER (PARTITION BY v), count(*) FILTER (WHERE b) OVER (), lag(m * 2, v) OVER (ORDER BY id), sum(length(x)) OVER (PARTITION BY c ORDER BY id) FROM g WHERE w > 30');
SELECT compare('SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id), x FROM g WHERE reverse(t) <> ''7 eman'' AND w > 7');
SELECT compare('SELECT k, sum(sum(m)) OVER (ORDER BY k), rank() OVER (ORDER BY max(t) DESC, k), lag(avg(m)) OVER (ORDER BY k), min(x) FROM g GROUP BY k');
SELECT compare('SELECT k, s, lag(a) OVER (PARTITION BY v ORDER BY s, id) FROM (SELECT id, k, v, sum(m) OVER (PARTITION BY k ORDER BY id) AS s, lag(t) OVER (PARTITION BY k ORDER BY id) AS a FROM g) q WHERE s > 20');
SELECT compare('SELECT r, sum(c) OVER (ORDER BY r) FROM (SELECT k AS r, count(*) AS c FROM g GROUP BY k UNION ALL SELECT w, rank() OVER (ORDER BY w) FROM g) q');
SELECT compare('SELECT id, label, count(*) OVER (PARTITION BY label), sum(m) OVER (PARTITION BY kind ORDER BY id) FROM g JOIN dim USING (k)');
SELECT compare('SELECT sum(1) OVER (), count(*) OVER (PARTITION BY v) FROM g');
SELECT compare('SELECT z.k, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY id) AS r FROM g WHERE v = z.k) q) FROM dim z WHERE z.k < 5');
-- scanned again, with a parameter in a condition, and by a cursor
SELECT compare('SELECT z.k, (SELECT count(*) FROM (SELECT v, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q WHERE r > z.k AND v = z.k) FROM dim z WHERE z.k < 5');
PREPARE few(int) AS SELECT v, count(*) FROM (SELECT v, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q WHERE r = $1 GROUP BY v ORDER BY v;
SET plan_cache_mode = force_generic_plan;
EXECUTE few(1);
EXECUTE few(NULL);
RESET plan_cache_mode;
BEGIN;
DECLARE ranks CURSOR FOR SELECT r, count(*) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q WHERE r % 2 = 0 GROUP BY r ORDER BY r;
FETCH 2 FROM ranks;
FETCH 1 FROM ranks;
COMMIT;
-- an error of a condition is one, but for rows that another has taken away
SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM g) q WHERE 1 / (r - 7) < 5;
SELECT compare('SELECT count(*) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q WHERE CASE WHEN r > 7 THEN 1 / (r - 7) < 5 END');
-- and a condition of a user's own function sees no row that a security barrier hides
CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM (SELECT id, v, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM g) q WHERE r > 27;
CREATE FUNCTION loud(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN IF $1 <= 27 THEN RAISE 'seen: %', $1; END IF; RETURN true; END $$;
SELECT v, count(*) FROM shown WHERE loud(r) GROUP BY v ORDER BY v;
SELECT delivered('SELECT v, count(*) FROM shown WHERE loud(r) GROUP BY v');
SET client_min_messages = warning;
DROP SCHEMA window_batches CASCADE;
