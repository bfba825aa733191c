-- Window functions computed by GpucolWindow: every function, frame, key and type, over
-- packed, deleted and delta rows; the answers are those of heap twins.
CREATE SCHEMA window_basic;
SET search_path = window_basic, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_w AS
	SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 37 END AS k, (i * 7919 % 1000)::int2 AS s,
		(i::int8 * 1000003 % 100000) * 100000000 AS b, CASE WHEN i % 13 > 0 THEN (i * 31 % 500) END AS v,
		(i * 37 % 10000)::numeric(9,2) / 4 AS d, (i * 17 % 1000)::numeric / (CASE i % 3 WHEN 0 THEN 1 WHEN 1 THEN 4 ELSE 8 END) AS n,
		CASE WHEN i % 97 = 0 THEN 'NaN' WHEN i % 89 = 0 THEN '-Infinity' WHEN i % 83 = 0 THEN NULL ELSE (i * 71 % 999) / 8.0 END::float8 AS f,
		CASE WHEN i % 17 > 0 THEN 'name ' || i * 13 % 61 END AS t, (chr(65 + i % 7) || repeat(' ', i % 3))::char(5) AS c,
		date '2020-01-01' + i * 3 % 400 AS day, timestamp '2020-01-01' + i * 7 % 3000 * interval '1 hour' AS ts,
		i % 3 = 0 AS even, (i * 3 % 50)::float4 / 4 AS r, (i % 41)::money AS m, interval '1 minute' * (i * 5 % 77) AS iv
	FROM generate_series(1, 1300) i;
ALTER TABLE h_w ALTER d TYPE numeric(9,2);
CREATE TABLE w USING gpucol AS SELECT * FROM h_w;
CREATE TABLE h_dim AS SELECT i AS k, 'dim ' || i % 5 AS label FROM generate_series(0, 30) i;
CREATE TABLE dim USING gpucol AS SELECT * FROM h_dim;
SELECT gpucol.merge('w') IS NOT NULL AS merged;
DELETE FROM w WHERE id % 101 = 0;
DELETE FROM h_w WHERE id % 101 = 0;
INSERT INTO w SELECT id + 10000, k, s, b, v, d, n, f, t, c, day, ts, even, r, m, iv FROM w WHERE id % 83 = 0;
INSERT INTO h_w SELECT id + 10000, k, s, b, v, d, n, f, t, c, day, ts, even, r, m, iv FROM h_w WHERE id % 83 = 0;
ANALYZE w, h_w, dim, h_dim;

CREATE FUNCTION textcat_all(text, text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1 || coalesce($2, ''-'') || $3';
CREATE FUNCTION keep_latest(anyelement, anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $2';

\set tables 'w|dim'
\set sign GpucolWindow
\set said GpucolWindow
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT id, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) FROM w;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id, k, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM w) a WHERE r <= 3;
EXPLAIN (COSTS OFF) SELECT k, sum(v), rank() OVER (ORDER BY sum(v) DESC) FROM w GROUP BY k;
EXPLAIN (COSTS OFF) SELECT id, sum(v) OVER (PARTITION BY k), lag(v) OVER (PARTITION BY k ORDER BY id),
	count(*) OVER (), sum(d) OVER (ORDER BY t COLLATE "C" DESC NULLS LAST) FROM w ORDER BY t COLLATE "C" DESC NULLS LAST;

-- functions without frames, over keys of every type
SELECT key, compare(format('SELECT id, row_number() OVER (PARTITION BY %1$s ORDER BY id), rank() OVER (ORDER BY %1$s), '
	'dense_rank() OVER (PARTITION BY s %% 5 ORDER BY %1$s DESC), percent_rank() OVER (ORDER BY %1$s NULLS FIRST), '
	'cume_dist() OVER (PARTITION BY even ORDER BY %1$s DESC NULLS LAST), ntile(7) OVER (PARTITION BY %1$s ORDER BY id) FROM w', key))
FROM unnest(ARRAY['k', 's', 'b', 'v', 'd', 'n', 'f', 't', 't COLLATE "C"', 'c', 'day', 'ts', 'even', 'r', 'm', 'iv',
	'k, t', 'k + 1', 'lower(t)', 'f, n, t, b', 'ARRAY[k, s]']) key;
SELECT column_name, compare(format('SELECT id, lag(%1$s) OVER o, lead(%1$s, 3) OVER o, lag(%1$s, s %% 4) OVER o, first_value(%1$s) OVER o, '
	'last_value(%1$s) OVER o, nth_value(%1$s, 3) OVER o FROM w WINDOW o AS (PARTITION BY k ORDER BY id)', column_name))
FROM information_schema.columns WHERE table_schema = 'window_basic' AND table_name = 'w' ORDER BY ordinal_position;
SELECT compare('SELECT id, lag(v, 2, -1) OVER o, lead(t, 1, ''none'') OVER o, lag(v, -2, k) OVER o, lead(d, NULL) OVER o, '
	'lag(v * 2 + k) OVER o, lead(upper(t), 2, t || ''x'') OVER o, nth_value(v, NULL) OVER o FROM w WINDOW o AS (PARTITION BY k ORDER BY id)');
SELECT tiles, compare(format('SELECT id, ntile(%s) OVER (PARTITION BY k ORDER BY id), ntile(%1$s) OVER (ORDER BY id) FROM w', tiles))
FROM unnest(ARRAY['1', '2', '109', '5000', 'NULL', '(SELECT 3)']) tiles;
-- keys of which most are different
SELECT key, compare(format('SELECT id, g, rank() OVER (ORDER BY %s) FROM w, generate_series(1, 20) g', key))
FROM unnest(ARRAY['md5(t || id || g)', 'md5(t || id || g) COLLATE "C" DESC', '(''same prefix '' || md5(t || id || g % 3)) COLLATE "C" NULLS FIRST',
	'md5(id || t || g)::uuid DESC']) key;

-- aggregates over frames of every kind
CREATE FUNCTION frames() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(template, bound) || exclude
	FROM unnest(ARRAY['ROWS %s', 'GROUPS %s', 'RANGE %s']) template,
		unnest(ARRAY['UNBOUNDED PRECEDING', 'CURRENT ROW', 'BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
			'BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING', 'BETWEEN 3 PRECEDING AND 2 FOLLOWING', '5 PRECEDING',
			'BETWEEN 7 PRECEDING AND 2 PRECEDING', 'BETWEEN 2 FOLLOWING AND 6 FOLLOWING',
			'BETWEEN 4 FOLLOWING AND UNBOUNDED FOLLOWING', 'BETWEEN UNBOUNDED PRECEDING AND 4 PRECEDING']) bound,
		unnest(ARRAY['', ' EXCLUDE CURRENT ROW', ' EXCLUDE GROUP', ' EXCLUDE TIES']) exclude $$;
SELECT count(*) AS frames, compare(format('SELECT id, count(*) OVER o, count(v) OVER o, sum(v) OVER o, sum(b) OVER o, avg(s) OVER o, avg(d) OVER o, sum(n) OVER o, '
	'avg(n) OVER o, min(v) OVER o, max(t) OVER o, min(n) OVER o, max(c) OVER o, bool_and(even) OVER o, bool_or(v > 490) OVER o, every(v > 3) OVER o, '
	'first_value(id) OVER p, last_value(id) OVER p, nth_value(id, 2) OVER p, sum(f) OVER p, avg(f) OVER p, sum(r) OVER p, avg(r) OVER p, '
	'min(f) OVER p, max(f) OVER p '
	'FROM w WINDOW o AS (PARTITION BY k ORDER BY v %1$s), p AS (PARTITION BY k ORDER BY id %1$s)', frame))
FROM frames() frame GROUP BY 2;
SELECT column_name, compare(format('SELECT id, min(%1$s) OVER o, max(%1$s) OVER o, count(%1$s) OVER o, min(%1$s) OVER (PARTITION BY k), '
	'max(%1$s) OVER (ORDER BY id) FROM w WINDOW o AS (ORDER BY id ROWS BETWEEN 9 PRECEDING AND 4 FOLLOWING)', column_name))
FROM information_schema.columns WHERE table_schema = 'window_basic' AND table_name = 'w' AND column_name <> 'even' ORDER BY ordinal_position;
SELECT key, direction, compare(format('SELECT id, count(*) OVER o, sum(v) OVER o, first_value(%1$s) OVER o, max(%1$s) OVER o FROM w '
	'WINDOW o AS (PARTITION BY even ORDER BY %1$s %2$s RANGE BETWEEN %3$s PRECEDING AND %4$s FOLLOWING)', key, direction, before, behind))
FROM (VALUES ('k', '3', '2::int8'), ('s', '2', '10'), ('b', '100000000', '3::int4'), ('n', '1.5', '0'), ('f', '2.25', '1'), ('r', '2', '0.5'),
	('day', '''3 days''', '''1 month'''), ('ts', '''1 day''', '''90 minutes'''), ('iv', '''1 hour''', '''10 minutes''')) a (key, before, behind),
	unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) direction;

-- FILTER, arguments that are expressions, sums of money
SELECT compare('SELECT id, count(*) FILTER (WHERE even) OVER o, sum(v) FILTER (WHERE t > ''name 3'') OVER o, max(d) FILTER (WHERE v IS NULL) OVER o, '
	'sum(v * s) OVER o, sum(1000 / v) FILTER (WHERE v <> 0) OVER o, avg(d * 2) OVER (PARTITION BY k), sum(m) OVER o, '
	'sum(f) FILTER (WHERE f < 50) OVER (ORDER BY id), sum(CASE WHEN even THEN b END) OVER o FROM w WINDOW o AS (PARTITION BY k ORDER BY v)');

-- other aggregates, by their own functions
CREATE AGGREGATE joined(text, text) (SFUNC = textcat_all, STYPE = text, INITCOND = '');
CREATE AGGREGATE latest(anyelement) (SFUNC = keep_latest, STYPE = anyelement);
SELECT frame, compare(format('SELECT id, string_agg(t, '','') OVER o, array_agg(v) FILTER (WHERE even) OVER o, stddev(f) OVER o, corr(f, v) OVER o, '
	'jsonb_agg(c) OVER o, sum(iv) OVER (PARTITION BY k ORDER BY id), var_pop(d) OVER (PARTITION BY k), bit_or(s) OVER o, joined(t, ''/'') OVER o, '
	'latest(n) OVER o, count(*) OVER o FROM w WINDOW o AS (PARTITION BY k ORDER BY id %s)', frame))
FROM unnest(ARRAY['', 'ROWS 3 PRECEDING', 'RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', 'GROUPS BETWEEN 2 PRECEDING AND 3 FOLLOWING']) frame;
SELECT compare('SELECT id, stddev(v) OVER (PARTITION BY even ORDER BY k), array_agg(k) OVER (PARTITION BY t) IS NULL FROM w');

-- above aggregations, joins, subqueries; below them
SELECT compare('SELECT k, t, sum(v), sum(sum(v)) OVER (PARTITION BY k), rank() OVER (PARTITION BY k ORDER BY sum(v) DESC, t), '
	'sum(v) * 100.0 / sum(sum(v)) OVER (), lag(sum(d)) OVER (PARTITION BY t ORDER BY k) FROM w GROUP BY k, t');
SELECT compare('SELECT w.id, dim.label, row_number() OVER (PARTITION BY dim.label ORDER BY w.id), sum(w.v) OVER (PARTITION BY dim.label) FROM w JOIN dim USING (k)');
SELECT compare('SELECT k, max(r), sum(x) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS r, sum(v) OVER (ORDER BY id) AS x FROM w) a GROUP BY k');
SELECT compare('SELECT id, v - lag(v) OVER (ORDER BY id) AS step, rank() OVER (ORDER BY k) + 1 AS r FROM (SELECT * FROM w WHERE v > 100 OFFSET 0) w');
SELECT compare('SELECT k, even, sum(v), rank() OVER (PARTITION BY grouping(even) ORDER BY sum(v), k, even), count(*) OVER () FROM w GROUP BY ROLLUP (k, even)');
SELECT compare('SELECT DISTINCT k, count(*) OVER (PARTITION BY k) FROM w');
SELECT compare('SELECT id, count(*) OVER (PARTITION BY k) FROM w UNION ALL SELECT k, row_number() OVER (ORDER BY k) FROM dim');
SELECT compare('SELECT id, a.r FROM dim, LATERAL (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM w WHERE w.k = dim.k) a WHERE a.r < 4');
EXPLAIN (COSTS OFF) SELECT k, x, rank() OVER (ORDER BY x) FROM (SELECT k, v AS x FROM w WHERE id < 9 UNION ALL
	SELECT k, (SELECT max(v) FROM w WHERE w.k = dim.k) FROM dim WHERE EXISTS (SELECT FROM w WHERE w.v = dim.k)) a;
SELECT compare('SELECT k, x, rank() OVER (ORDER BY x) FROM (SELECT k, v AS x FROM w WHERE id < 9 UNION ALL SELECT k, '
	'(SELECT max(v) FROM w WHERE w.k = dim.k) FROM dim WHERE EXISTS (SELECT FROM w WHERE w.v = dim.k) OR k > 20) a');
SELECT compare('SELECT id, rank() OVER (PARTITION BY k ORDER BY (SELECT count(*) FROM dim WHERE dim.k < w.v)) FROM w WHERE id < 100');
SELECT compare('SELECT id, sum(v) OVER (ORDER BY id) FROM w WHERE id < 0');

-- few rows of each partition
SELECT function, bound, compare(format('SELECT * FROM (SELECT id, k, v, t, %1$s OVER o AS r, sum(s) OVER o, max(t) OVER o, count(*) OVER o FROM w '
	'WINDOW o AS (PARTITION BY k ORDER BY %2$s)) a WHERE r %3$s', function, ordered, bound))
FROM (VALUES ('row_number()', 'id'), ('rank()', 'v'), ('dense_rank()', 'v DESC'), ('rank()', 't, s'), ('row_number()', 'id DESC')) a (function, ordered),
	unnest(ARRAY['<= 3', '< 3', '= 2', '<= 0', '<= NULL', '<= 1000000', '<= (SELECT 4)']) bound;
SELECT compare('SELECT * FROM (SELECT id, rank() OVER (ORDER BY v) AS r, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM w) a WHERE r <= 500 AND n <= 3');

SELECT function, compare(format('SELECT * FROM (SELECT id, g, v, %1$s OVER o AS r, sum(s) OVER o, %2$s FROM w, generate_series(1, 60) g '
	'WINDOW o AS (PARTITION BY k, even ORDER BY %3$s)) a WHERE r <= 3', function, other, ordered))
FROM (VALUES ('row_number()', 'lag(t) OVER o', 'id DESC, g'), ('rank()', 'min(t) OVER o', 'v DESC'), ('row_number()', 'row_number() OVER o', 't, id, g'),
	('dense_rank()', 'rank() OVER o', 'k, v')) a (function, other, ordered);
CREATE FUNCTION dropped(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Rows|Partitions:|Method' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT dropped('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id, g) AS r FROM w, generate_series(1, 60) g) a WHERE r <= 2');

-- orders that are delivered
SELECT id, v, rank FROM (SELECT id, v, rank() OVER (ORDER BY v DESC NULLS LAST, id) FROM w) a ORDER BY rank LIMIT 5;
SELECT id, t, row_number() OVER (ORDER BY t COLLATE "C" NULLS FIRST, id DESC) FROM w ORDER BY t COLLATE "C" NULLS FIRST, id DESC OFFSET 100 LIMIT 4;

-- rescans, cursors, parameters
SET gpucol.pushdown = allow;
SELECT k, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY id) AS r FROM w WHERE w.v = dim.k) a) AS largest,
	(SELECT count(*) FROM (SELECT rank() OVER (ORDER BY k) FROM w) a) AS same FROM dim WHERE k < 4 ORDER BY k;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, row_number() OVER (ORDER BY id) FROM w ORDER BY id;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 700 FROM c;
FETCH FIRST FROM c;
COMMIT;
PREPARE p(int, int) AS SELECT * FROM (SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY id) AS r, sum(v) OVER (PARTITION BY k ORDER BY id ROWS $2 PRECEDING) FROM w) a
	WHERE r <= $1 AND k < 2 ORDER BY k, id;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(2, 1);
EXECUTE p(1, 0);
EXECUTE p(1, NULL);
EXECUTE p(1, -1);
RESET plan_cache_mode;

-- errors are PostgreSQL's
SELECT ntile(0) OVER () FROM w;
SELECT nth_value(id, -s) OVER (ORDER BY id) FROM w;
SELECT sum(b * 9000000000) OVER (ORDER BY id) FROM w;
SELECT sum(1e308::float8) OVER (ORDER BY id) FROM w;
SELECT sum(v) OVER (ORDER BY id ROWS -1 PRECEDING) FROM w;
SELECT count(*) OVER (ORDER BY day RANGE '-1 day' PRECEDING) FROM w;
SELECT 1 / (lag(v) OVER (ORDER BY id) - lag(v) OVER (ORDER BY id)) FROM w WHERE v > 400;
-- an argument that PostgreSQL does not evaluate raises nothing
SELECT lag(1 / (id - 3)) OVER (ORDER BY id) FROM w WHERE id <= 3;
SELECT sum(1 / (id - 1)) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM w WHERE id <= 3;

-- left to PostgreSQL: in the plan, while it runs, or switched off
CREATE FUNCTION reasons(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Fallback:|window functions' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT reasons('SELECT string_agg(t, '','') OVER (ORDER BY id) FROM w WHERE id < 10 LIMIT 3');
SELECT reasons('SELECT sum(iv) OVER (ORDER BY id ROWS 3 PRECEDING) FROM w WHERE id < 10');
SELECT reasons('SELECT avg(iv) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) FROM w WHERE id < 10');
SELECT reasons('SELECT row_number() OVER (ORDER BY random()) FROM w');
SELECT reasons('SELECT ntile(k) OVER (ORDER BY id) FROM w WHERE k > 1');
SELECT reasons('SELECT sum(1 / s) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM w WHERE s > 0');
SELECT reasons('SELECT sum(n * 1e30) OVER (ORDER BY id) FROM w');
SELECT compare('SELECT id, sum(n * 1e30) OVER (ORDER BY id) FROM w');
SET gpucol.enable_window = off;
SELECT reasons('SELECT row_number() OVER (ORDER BY id) FROM w');
RESET gpucol.enable_window;
SET gpucol.memory_limit = '1MB';
SELECT reasons('SELECT id, t, row_number() OVER (ORDER BY id) FROM w, generate_series(1, 10)');
SELECT compare('SELECT id, t, g, row_number() OVER (ORDER BY id, g), sum(v) OVER (PARTITION BY t) FROM w, generate_series(1, 10) g');
RESET gpucol.memory_limit;

-- rights to functions
CREATE ROLE window_reader;
GRANT USAGE ON SCHEMA window_basic TO window_reader;
GRANT SELECT ON w TO window_reader;
BEGIN;
REVOKE EXECUTE ON FUNCTION cume_dist() FROM PUBLIC;
SET ROLE window_reader;
SELECT cume_dist() OVER (ORDER BY id) FROM w;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION string_agg(text, text) FROM PUBLIC;
SET ROLE window_reader;
SELECT string_agg(t, ',') OVER (ORDER BY id) FROM w;
ROLLBACK;

DROP SCHEMA window_basic CASCADE;
DROP ROLE window_reader;
