-- The first rows of each partition: rows that come behind as many as matter are passed over when they come
-- (Rows Passed Over), by keys of every class, in both directions, with NULLs and ties.
SET client_min_messages = warning;
CREATE SCHEMA window_screen;
SET search_path = window_screen, public;

\set node 'GpucolWindow'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE s (id int, k int, t text, u uuid, d date, i bigint, f float8, n numeric, m numeric(8,2), x text, y text COLLATE "C", e int) USING gpucol;
INSERT INTO s SELECT i, nullif(h % 500, 7), CASE WHEN h % 31 > 0 THEN 'part ' || h % 300 END, md5((h % 90)::text)::uuid, date '2020-01-01' + h % 400,
	CASE WHEN h % 11 > 0 THEN (h::bigint << 20) - 1099511627776 END, CASE WHEN h % 13 = 0 THEN 'NaN' WHEN h % 13 = 1 THEN '-0' WHEN h % 13 > 2 THEN h / 7.0 - 3000 END,
	CASE WHEN h % 17 > 0 THEN (h - 30000) * 0.37 END, h % 9000 / 100.0, 'prefix ' || h % 7000, CASE WHEN h % 19 > 0 THEN 'same beginning ' || h % 5000 ELSE left(h::text, 3) END, h % 3
FROM (SELECT i, (hashint4(i) & 2147483647) % 65537 AS h FROM generate_series(1, 140000) i) v;
SELECT gpucol.merge('s') >= 0 AS merged;
DELETE FROM s WHERE id % 1000 = 5;
INSERT INTO s SELECT 140000 + i, i % 40, 'part ' || i, NULL, NULL, -i, -i, 'NaN', -i, 'a', 'b', 1 FROM generate_series(1, 50) i;
ANALYZE s;

CREATE FUNCTION passed_over(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		found := found OR line ~ 'Rows Passed Over: [1-9]';
	END LOOP;
	RETURN found;
END $$;

-- which differ, and which pass nothing over
SELECT differ(q), passed_over(q), p, o, f, w
FROM unnest(ARRAY['k', 't', 'k, e', 'e, t', 'u', 'd']) p,
	unnest(ARRAY['i', 'i DESC', 'i NULLS FIRST', 'i DESC NULLS LAST', 'f', 'f DESC', 'n', 'n DESC NULLS LAST', 'm', 'm DESC', 'd', 'y', 'y DESC']) o,
	(VALUES ('row_number', '<= 3', ', id'), ('rank', '< 3', ''), ('dense_rank', '= 1', ''), ('row_number', '= 1', ', id DESC')) v (f, w, last),
	format('SELECT id, f FROM (SELECT s.*, %s() OVER (PARTITION BY %s ORDER BY %s%s) AS r FROM s) v WHERE r %s', f, p, o, last, w) q
WHERE (hashtext(q) % 24 = 0) AND (differ(q) IS NOT NULL OR NOT passed_over(q));

-- one partition; ties that come later are behind where only numbers are asked for, and peers where ranks are
SELECT differ(q), passed_over(q)
FROM unnest(ARRAY['SELECT id FROM (SELECT id, row_number() OVER (ORDER BY i, id) AS r FROM s) v WHERE r <= 20',
	'SELECT m FROM (SELECT m, row_number() OVER (PARTITION BY k ORDER BY m) AS r FROM s) v WHERE r <= 3',
	'SELECT id, c FROM (SELECT id, rank() OVER w AS r, count(*) OVER w AS c FROM s WINDOW w AS (PARTITION BY k ORDER BY m)) v WHERE r <= 3',
	'SELECT id, l FROM (SELECT id, row_number() OVER w AS r, lag(id) OVER w AS l FROM s WINDOW w AS (PARTITION BY t ORDER BY n, id)) v WHERE r <= 2',
	'SELECT id, r FROM (SELECT id, row_number() OVER w AS r, dense_rank() OVER w AS l FROM s WINDOW w AS (PARTITION BY u ORDER BY f DESC, id)) v WHERE r <= 2',
	'SELECT DISTINCT ON (k) k, id, length(x) FROM s ORDER BY k, i DESC NULLS LAST, id']) q;

-- keys that are computed below the window; conditions; a join; a bound that is a parameter
SELECT differ(q), passed_over(q)
FROM unnest(ARRAY['SELECT id, x FROM (SELECT id, x, row_number() OVER (PARTITION BY date_trunc(''month'', d) ORDER BY i DESC NULLS LAST, id) AS r FROM s WHERE e > 0) v WHERE r <= 5',
	'SELECT id FROM (SELECT a.id, row_number() OVER (PARTITION BY a.k ORDER BY b.m DESC, a.id, b.id) AS r FROM s a JOIN s b ON a.id = b.id) v WHERE r <= 2']) q;
PREPARE first_rows (int) AS SELECT count(*), sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY m, id) AS r FROM s) v WHERE r <= $1;
SET plan_cache_mode = force_generic_plan;
SET gpucol.pushdown = require;
EXECUTE first_rows (1);
EXECUTE first_rows (4);
EXECUTE first_rows (0);
EXECUTE first_rows (NULL);
SET gpucol.pushdown = forbid;
EXECUTE first_rows (1);
EXECUTE first_rows (4);
RESET gpucol.pushdown;
RESET plan_cache_mode;
-- not so: more partitions than rows can be few of, an order by a collation
SELECT passed_over(q)
FROM unnest(ARRAY['SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY id / 2 ORDER BY m, id) AS r FROM s) v WHERE r <= 3',
	'SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY x COLLATE "und-x-icu", id) AS r FROM s) v WHERE r <= 3']) q;

-- of a log that grows by time the latest rows: they take the places of those before, by every class of key, with
-- NULLs, ties, and texts of any length
CREATE TABLE l (id int, k int, t text, at timestamptz, n numeric(12,3), f float8, x text, y text COLLATE "C", b bool, v interval) USING gpucol;
INSERT INTO l SELECT i, nullif(h % 700, 9), CASE WHEN h % 31 > 0 THEN 'key ' || repeat('*', h % 40) || h % 300 END, timestamptz '2024-01-01 00:00+00' + (i / 3) * interval '1 second',
	i / 7.0, CASE WHEN h % 997 > 0 THEN i * 0.25 END, repeat(chr(97 + h % 26), h % 120), lpad((i / 5)::text, 12, '0') || h % 3, nullif(h % 3, 2) = 1, nullif(h % 5, 3) * interval '1 day'
FROM (SELECT i, (hashint4(i) & 2147483647) % 65537 AS h FROM generate_series(1, 90000) i) v;
INSERT INTO l SELECT 90000 + i, i % 900, 'key ' || i, CASE WHEN i % 4 > 0 THEN timestamptz '2025-01-01' - i * interval '1 day' END, -i, NULL, NULL, i::text, NULL, NULL FROM generate_series(1, 90) i;
SELECT differ(q), passed_over(q), p, o, f, w
FROM unnest(ARRAY['k', 't', 'k, b', 'b, t', 'v']) p,
	unnest(ARRAY['at DESC', 'at DESC NULLS LAST', 'f DESC', 'f DESC NULLS LAST', 'n DESC', 'y DESC', 'at']) o,
	(VALUES ('row_number', '= 1', ', id'), ('row_number', '<= 1', ', n DESC, id DESC'), ('row_number', '<= 8', ', id'), ('rank', '<= 1', ''), ('rank', '<= 5', ''), ('dense_rank', '<= 2', ''),
		('row_number', '<= 2', ', id'), ('row_number', '< 10', ', id')) v (f, w, last),
	format('SELECT id, f, x, v, t FROM (SELECT l.*, %s() OVER (PARTITION BY %s ORDER BY %s%s) AS r FROM l) v WHERE r %s', f, p, o, last, w) q
WHERE (hashtext(q) % 14 = 0 OR f = 'row_number' AND w = '= 1' AND p IN ('k', 't')) AND (differ(q) IS NOT NULL OR NOT passed_over(q) AND p <> 'v' AND o <> 'y DESC' AND f <> 'dense_rank');
SELECT differ(q), passed_over(q)
FROM unnest(ARRAY['SELECT DISTINCT ON (k) k, x, y, b, v FROM l ORDER BY k, at DESC NULLS LAST, id',
	'SELECT k, count(*), sum(id) FROM (SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY at DESC) AS r, min(at) OVER (PARTITION BY k ORDER BY at DESC) AS m FROM l) v WHERE r <= 3 GROUP BY k HAVING count(*) <> least(3, count(*))',
	'SELECT id, r, c FROM (SELECT id, rank() OVER w AS r, count(*) OVER w AS c FROM l WINDOW w AS (PARTITION BY k ORDER BY at DESC)) v WHERE r <= 3',
	'SELECT id, x FROM (SELECT id, x, row_number() OVER (ORDER BY at DESC, id) AS r FROM l) v WHERE r <= 1',
	'SELECT t, x FROM (SELECT upper(t) AS t, x, row_number() OVER (PARTITION BY upper(t) ORDER BY at DESC, id) AS r FROM l) v WHERE r = 1']) q;
SET gpucol.memory_limit = '1MB';
SELECT differ('SELECT DISTINCT ON (id / 2) id, k, x, y, b, v FROM l ORDER BY id / 2, at DESC NULLS LAST, id');
SELECT differ('SELECT DISTINCT ON (k, b) k, x, y, b, v FROM l ORDER BY k, b, at DESC NULLS LAST, id');
RESET gpucol.memory_limit;
DROP SCHEMA window_screen CASCADE;
