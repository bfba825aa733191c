--
-- Groups over set-returning functions: the functions are called once for equal rows.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE sf_heap (id int NOT NULL, t text, tags text[], ratings int[], n numeric(6,2), f float8, m numeric(6,2)[], k smallint);
INSERT INTO sf_heap SELECT i, CASE WHEN i % 11 > 0 THEN 'the ' || (ARRAY['cat', 'dog', ''])[1 + i % 3] || ' and the ' || (ARRAY['owl', 'hen'])[1 + i % 2] END,
	CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN '{}' ELSE ARRAY['tag' || i % 4, NULL, 'tag' || i % 3] END,
	CASE WHEN i % 5 > 0 THEN ARRAY[i % 3, i % 4] ELSE '[0:1][3:4]={{1,2},{NULL,3}}' END, i % 6 / 4.0, i % 3 - 1, ARRAY[i % 2, 0.50], CASE WHEN i % 17 > 0 THEN i % 6 END
FROM generate_series(1, 3000) i;
CREATE TABLE sf_packed (LIKE sf_heap) USING gpucol;
INSERT INTO sf_packed SELECT * FROM sf_heap;
VACUUM ANALYZE sf_packed;
-- rows of the delta, and rows that are gone
INSERT INTO sf_packed SELECT * FROM sf_heap WHERE id % 300 = 7;
INSERT INTO sf_heap SELECT * FROM sf_heap WHERE id % 300 = 7;
DELETE FROM sf_packed WHERE id % 40 = 1;
DELETE FROM sf_heap WHERE id % 40 = 1;
CREATE TABLE sf_words_heap AS SELECT * FROM (VALUES ('the', 1), ('cat', 2), ('hen', 2), ('none', 3)) v(w, kind);
CREATE TABLE sf_words_packed USING gpucol AS SELECT * FROM sf_words_heap;
ANALYZE sf_words_packed;

-- Are rows grouped before functions are called, and are the answers heap's, with and without?
CREATE FUNCTION sf_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := 'each'; differences int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || packed LOOP
		IF line ~ '->.*GpucolAgg' THEN plan := 'once'; END IF;
		IF line ~ 'Rows: of plan' THEN plan := 'each'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE sf_want AS ' || replace(query, '@', '_heap');
	EXECUTE 'CREATE TEMP TABLE sf_got AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE sf_off AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO differences FROM (
		(SELECT sf_want::text FROM sf_want EXCEPT ALL SELECT sf_got::text FROM sf_got)
		UNION ALL (SELECT sf_got::text FROM sf_got EXCEPT ALL SELECT sf_want::text FROM sf_want)
		UNION ALL (SELECT sf_off::text FROM sf_off EXCEPT ALL SELECT sf_want::text FROM sf_want)
		UNION ALL (SELECT format('%s %s', a.atttypid::regtype, b.atttypid::regtype) FROM pg_attribute a, pg_attribute b
			WHERE a.attrelid = 'sf_want'::regclass AND b.attrelid = 'sf_got'::regclass AND a.attnum = b.attnum AND a.attnum > 0
			AND (a.atttypid, a.attname) <> (b.atttypid, b.attname))) x;
	SELECT count(*) INTO rows FROM sf_got;
	DROP TABLE sf_want, sf_got, sf_off;
	RETURN format('%s: %s rows%s', plan, rows, CASE WHEN differences > 0 THEN ', DIFFERENT' END);
END $$;

EXPLAIN (COSTS OFF) SELECT word, count(*) FROM sf_packed, string_to_table(t, ' ') AS word GROUP BY word;
EXPLAIN (COSTS OFF) SELECT unnest(tags) AS tag, count(*) FROM sf_packed WHERE k > 2 GROUP BY 1;

-- in FROM
SELECT sf_check('SELECT word, count(*) FROM sf@, string_to_table(t, '' '') AS word GROUP BY word');
SELECT sf_check('SELECT word, count(*) FROM sf@, regexp_split_to_table(t, ''\s+'') AS word GROUP BY word');
SELECT sf_check('SELECT word, count(*) FROM sf@ CROSS JOIN LATERAL unnest(string_to_array(t, '' '')) AS u(word) GROUP BY word HAVING count(*) > 100');
SELECT sf_check('SELECT word, count(*) FROM sf@ JOIN LATERAL string_to_table(t, '' '') AS word ON word <> ''the'' WHERE id > 100 AND k < 4 GROUP BY word');
SELECT sf_check('SELECT s.tags, tag, count(*) FROM sf@ s LEFT JOIN LATERAL unnest(tags) AS tag ON true GROUP BY s.tags, tag');
SELECT sf_check('SELECT tag, i, count(*), sum(i), avg(i) FROM sf@, unnest(tags) WITH ORDINALITY AS u(tag, i) GROUP BY tag, i');
SELECT sf_check('SELECT a, b, count(*) FROM sf@ s, ROWS FROM (unnest(s.tags), unnest(s.ratings)) AS u(a, b) GROUP BY a, b');
SELECT sf_check('SELECT r, count(*) FROM sf@, unnest(ratings) r, generate_series(1, r) g GROUP BY r');
SELECT sf_check('SELECT w.kind, count(*) AS n, count(DISTINCT word) AS d FROM sf@, string_to_table(t, '' '') AS word LEFT JOIN sf_words@ w ON w.w = word GROUP BY w.kind');
SELECT sf_check('SELECT word, count(*) FROM sf@ s JOIN sf_words@ w ON w.kind = s.k, string_to_table(s.t || w.w, '' '') AS word GROUP BY word');
SELECT sf_check('SELECT word, count(*) FROM sf@ s, string_to_table(t, '' '') AS word WHERE EXISTS (SELECT FROM sf_words@ w WHERE w.w = word AND w.kind <> s.k) GROUP BY word');
SELECT sf_check('SELECT word, count(*) FROM (SELECT * FROM sf@ WHERE k <> 3) s, string_to_table(t, '' '') AS word GROUP BY word');
-- in a list
SELECT sf_check('SELECT tag, count(*) FROM (SELECT id, unnest(tags) AS tag FROM sf@) x GROUP BY tag');
SELECT sf_check('SELECT tag, count(*) FROM (SELECT k, n, unnest(tags) AS tag FROM sf@ WHERE n > 0) x WHERE tag <> ''tag2'' OR k = 2 GROUP BY tag ORDER BY count(*) DESC, tag');
SELECT sf_check('WITH x AS (SELECT unnest(ratings) AS r FROM sf@) SELECT r, count(*), sum(r) FROM x GROUP BY r');
SELECT sf_check('SELECT unnest(ratings) AS r, count(*) FROM sf@ GROUP BY r');
SELECT sf_check('SELECT unnest(ratings) AS r, k, count(*) FROM sf@ GROUP BY ROLLUP (1, 2)');
SELECT sf_check('SELECT DISTINCT unnest(tags) FROM sf@');
SELECT sf_check('SELECT DISTINCT word FROM sf@, string_to_table(t, '' '') AS word');
SELECT sf_check('SELECT word FROM sf@, string_to_table(t, '' '') AS word GROUP BY word');
SELECT sf_check('SELECT (SELECT count(*) FROM sf@ s, unnest(s.ratings) r) AS n, w FROM sf_words@ w');
SELECT sf_check('SELECT length(word) AS l, rank() OVER (ORDER BY count(*)) AS place, sum(count(*)) OVER () AS s FROM sf@, string_to_table(t, '' '') AS word GROUP BY 1');
-- keys that are computed, with others, and many distinct rows
SELECT sf_check('SELECT unnest(tags) AS tag, k % 3 AS m, count(*), min(id) FROM sf@ GROUP BY 1, k % 3 HAVING k % 3 < 2 ORDER BY 1, 2');
SELECT sf_check('SELECT string_to_table(t, '' '') AS word, max(id) FROM sf@ GROUP BY 1 ORDER BY max(id)');
EXPLAIN (COSTS OFF) SELECT unnest(tags) AS tag, id / 100 AS h, count(*) FROM sf_packed GROUP BY 1, id / 100 HAVING id / 100 > 3;
SELECT sf_check('SELECT unnest(tags) AS tag, id / 100 AS h, count(*) FROM sf@ GROUP BY 1, id / 100 HAVING id / 100 > 3');
SELECT sf_check('SELECT tag, id / 100 AS h, count(*) FROM (SELECT id, unnest(tags) AS tag FROM sf@) x GROUP BY tag, id / 100');
-- aggregates
SELECT sf_check('SELECT count(*) AS a, count(r) AS b, sum(r) AS c, avg(r) AS d, min(r), max(r), count(DISTINCT r) AS e, sum(DISTINCT r) AS f, string_agg(DISTINCT r::text, '','') FROM sf@, unnest(ratings) r');
SELECT sf_check('SELECT count(*) AS a, count(r) AS b, sum(r), avg(r), min(r), max(r) FROM sf@, unnest(ratings) r WHERE k > 100');
SELECT sf_check('SELECT k, count(r) FILTER (WHERE r > 1) AS a, sum(r::smallint) FILTER (WHERE k < 3) AS b, avg(r::bigint) AS c, sum(r::bigint) AS d, sum(r / 4.0) AS e, avg(r::numeric(8,3)) AS f FROM sf@, unnest(ratings) r GROUP BY k');
SELECT sf_check('SELECT r, bool_and(k > 1), bool_or(k > 4), every(k IS NULL), min(r::text COLLATE "C") FROM sf@, unnest(ratings) r GROUP BY r');
SELECT sf_check('SELECT r, count((SELECT kind FROM sf_words@ w WHERE w.kind = r AND w.w = ''the'')) FROM sf@, unnest(ratings) r GROUP BY r');
-- a correlated subquery becomes a join, if anything
SELECT sf_check('SELECT (SELECT count(*) FROM sf@ s, unnest(s.ratings) r WHERE r = w.kind AND s.k = w.kind) AS n, w FROM sf_words@ w');
-- not these: many distinct rows, values that are equal and differ, an order that shows, volatile functions, rows that may be NULL
SELECT sf_check('SELECT id % 3, count(*) FROM sf@, unnest(tags) GROUP BY 1');
SELECT sf_check('SELECT n, count(*) FROM sf@, unnest(tags) GROUP BY n');
SELECT sf_check('SELECT f, count(*) FROM sf@, unnest(tags) GROUP BY f');
SELECT sf_check('SELECT x, count(*) FROM sf@, unnest(m) x GROUP BY x');
SELECT sf_check('SELECT r, array_agg(k ORDER BY k) FROM sf@, unnest(ratings) r GROUP BY r');
SELECT sf_check('SELECT r, sum(r::float8) FROM sf@, unnest(ratings) r GROUP BY r');
SELECT sf_check('SELECT r, count(*) + 0 * random() > 0 AS c FROM sf@, unnest(ratings) r GROUP BY r');
SELECT sf_check('SELECT s IS NULL AS n, count(*) FROM sf@ s, unnest(ratings) r GROUP BY 1');
SELECT sf_check('SELECT kind, r, count(*) FROM sf_words@ w LEFT JOIN (SELECT k, unnest(ratings) AS r FROM sf@) s ON s.k = w.kind GROUP BY kind, r');
SELECT sf_check('WITH x AS (SELECT unnest(ratings) AS r FROM sf@) SELECT r, count(*), (SELECT count(*) FROM x) AS all FROM x GROUP BY r');
SELECT sf_check('WITH x AS MATERIALIZED (SELECT unnest(ratings) AS r FROM sf@) SELECT r, count(*) FROM x GROUP BY r');
SELECT sf_check('SELECT r, count(*) FROM (SELECT unnest(ratings) AS r FROM sf@ ORDER BY id LIMIT 50) x GROUP BY r');

-- partitions
CREATE TABLE sf_parts_packed (id int, tags text[], k int) PARTITION BY LIST (k);
CREATE TABLE sf_parts_1 PARTITION OF sf_parts_packed FOR VALUES IN (0, 1, 2) USING gpucol;
CREATE TABLE sf_parts_2 PARTITION OF sf_parts_packed DEFAULT USING gpucol;
INSERT INTO sf_parts_packed SELECT id, tags, k FROM sf_heap;
CREATE TABLE sf_parts_heap AS SELECT id, tags, k FROM sf_heap;
ANALYZE sf_parts_packed;
SELECT sf_check('SELECT tag, count(*) FROM sf_parts@, unnest(tags) AS tag WHERE k > 1 GROUP BY tag');

-- what is not there to be seen is not shown to functions
CREATE FUNCTION sf_loud(t text) RETURNS SETOF text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF t LIKE '%dog%' THEN RAISE EXCEPTION 'saw a dog'; END IF;
	RETURN QUERY SELECT string_to_table(t, ' ');
END $$;
CREATE ROLE sf_user;
GRANT SELECT (t, k) ON sf_packed TO sf_user;
ALTER TABLE sf_packed ENABLE ROW LEVEL SECURITY;
CREATE POLICY sf_policy ON sf_packed FOR SELECT TO sf_user USING (t NOT LIKE '%dog%' AND EXISTS (SELECT FROM pg_class WHERE oid = 'pg_class'::regclass));
SELECT count(*) FROM sf_packed, sf_loud(t) AS word;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/plan.psql
\set ECHO none
\i :include
\set ECHO all
SET ROLE sf_user;
SELECT plan('SELECT word, count(*) FROM sf_packed, sf_loud(t) AS word WHERE k > 0 GROUP BY word');
SELECT word, count(*) FROM sf_packed, sf_loud(t) AS word WHERE k > 0 GROUP BY word ORDER BY word;
SELECT tag, count(*) FROM sf_packed, unnest(tags) AS tag GROUP BY tag;
RESET ROLE;
DROP FUNCTION plan(text, text);
CREATE VIEW sf_view AS SELECT k, unnest(tags) AS tag FROM sf_packed;
GRANT SELECT ON sf_view TO sf_user;
SET ROLE sf_user;
SELECT tag, count(*) FROM sf_view GROUP BY tag ORDER BY tag;
RESET ROLE;

-- prepared, and off
PREPARE sf_words(int) AS SELECT word, count(*) FROM sf_packed, string_to_table(t, ' ') AS word WHERE k > $1 GROUP BY word ORDER BY word;
SET plan_cache_mode = force_generic_plan;
EXECUTE sf_words(3);
EXECUTE sf_words(4);
SET gpucol.enable_agg = off;
EXPLAIN (COSTS OFF) SELECT word, count(*) FROM sf_packed, string_to_table(t, ' ') AS word GROUP BY word;

RESET gpucol.enable_agg;

-- elements of every width behind each other, with NULLs and without, longer than a batch, and their subscripts
CREATE TABLE sf_long_heap AS SELECT i AS id,
	(SELECT array_agg(CASE WHEN i % 2 = 0 OR k * i % 11 > 3 THEN k + i END ORDER BY k)::int2[] FROM generate_series(1, i) k) AS s,
	(SELECT array_agg(CASE WHEN i % 3 > 0 OR k * i % 7 > 3 THEN k * i END ORDER BY k) FROM generate_series(1, i % 90) k) AS v,
	(SELECT array_agg(k * 10000000000 ORDER BY k) FROM generate_series(1, CASE WHEN i % 50 = 0 THEN 3000 ELSE 2 END) k) AS b,
	(SELECT array_agg(CASE WHEN i % 4 > 0 OR k % 5 > 0 THEN k / 4.0::float8 END ORDER BY k) FROM generate_series(1, i % 20) k) AS f
FROM generate_series(0, 200) i;
CREATE TABLE sf_long_packed (LIKE sf_long_heap) USING gpucol;
INSERT INTO sf_long_packed SELECT * FROM sf_long_heap;
VACUUM ANALYZE sf_long_packed;
SELECT c, sf_check(format('SELECT x, count(*) AS a, sum(id) AS b FROM sf_long@, unnest(%s) AS x GROUP BY x', c)),
	sf_check(format('SELECT o, count(*) AS a, count(x) AS b, sum(x) AS c, max(x) AS d FROM sf_long@ LEFT JOIN LATERAL unnest(%s) WITH ORDINALITY u (x, o) ON true GROUP BY o', c)),
	sf_check(format('SELECT id %% 7 AS g, %s FROM sf_long@ GROUP BY 1', (SELECT string_agg(format('sum(%1$s[%2$s]) AS a%2$s, count(%1$s[%2$s]) AS c%2$s', c, k), ', ')
		FROM unnest(ARRAY[0, 1, 2, 7, 8, 9, 10, 16, 17, 64, 65, 89, 200, 3000]) k)))
FROM unnest(ARRAY['s', 'v', 'b', 'f']) c;

DROP TABLE sf_long_heap, sf_long_packed, sf_heap, sf_packed, sf_words_heap, sf_words_packed, sf_parts_packed, sf_parts_heap CASCADE;
DROP FUNCTION sf_check, sf_loud;
DROP ROLE sf_user;
