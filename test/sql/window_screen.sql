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

DROP SCHEMA window_screen CASCADE;
