-- ORDER BY ... LIMIT over gpucol tables: GpucolTopK delivers the rows that can be
-- among the first k, Sort and Limit finish.
CREATE TABLE limit_t (id int, score float8, points numeric(8,2), big bigint, day date, label text, small smallint, flag bool) USING gpucol;
INSERT INTO limit_t
SELECT i, CASE WHEN i % 2003 = 0 THEN 'NaN' WHEN i % 2011 = 0 THEN 'Infinity' ELSE (i * 7919::bigint % 10007) / 8.0 - 300 END,
	(i * 31 % 5000) / 100.0, 9007199254740992 + i * 7919 % 1009,
	CASE WHEN i % 10 > 0 THEN '2024-01-01'::date + i * 31 % 700 END, 'label ' || i % 977, i % 100, i % 3 = 0
FROM generate_series(1, 30000) i;
INSERT INTO limit_t VALUES (30001, 1e9, 99999, 1, '2030-01-01', 'delta', 1, true);
INSERT INTO limit_t VALUES (30002, -1e9, -99999, 2, '2000-01-01', 'delta', 2, false);
VACUUM ANALYZE limit_t;

EXPLAIN (COSTS OFF) SELECT id, score FROM limit_t ORDER BY score DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM limit_t WHERE small < 10 AND flag ORDER BY points, id DESC FETCH FIRST 5 ROWS WITH TIES;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM limit_t ORDER BY score + 1 DESC LIMIT 10 OFFSET 5;

CREATE FUNCTION limit_compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	want text;
	got text;
BEGIN
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE 'SELECT string_agg(q::text, E''\n'') FROM (' || query || ') q' INTO want;
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'SELECT string_agg(q::text, E''\n'') FROM (' || query || ') q' INTO got;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	SET LOCAL gpucol.pushdown = allow;
	RETURN CASE WHEN plan LIKE '%GpucolTopK%' THEN 'GpucolTopK, ' ELSE 'no GpucolTopK, ' END ||
		CASE WHEN want IS DISTINCT FROM got THEN 'different' ELSE 'same' END || ', rows: ' ||
		coalesce(cardinality(string_to_array(got, E'\n')), 0);
END $$;

SELECT limit_compare(q) FROM (VALUES
	('SELECT id, score FROM limit_t ORDER BY score DESC, id LIMIT 100'),
	('SELECT id, score FROM limit_t ORDER BY score, id LIMIT 100'),
	('SELECT * FROM limit_t ORDER BY score DESC NULLS LAST, id LIMIT 7 OFFSET 20'),
	('SELECT id, points FROM limit_t ORDER BY points DESC, id LIMIT 50'),
	('SELECT id, points FROM limit_t ORDER BY points, id LIMIT 50'),
	('SELECT id, big FROM limit_t ORDER BY big DESC, id LIMIT 50'),
	('SELECT id, day FROM limit_t ORDER BY day DESC, id LIMIT 50'),
	('SELECT id, day FROM limit_t ORDER BY day DESC, id LIMIT 3500'),
	('SELECT id, day FROM limit_t ORDER BY day, id LIMIT 50'),
	('SELECT id, day FROM limit_t ORDER BY day DESC NULLS LAST, id LIMIT 50'),
	('SELECT id, day FROM limit_t ORDER BY day NULLS FIRST, id LIMIT 50'),
	('SELECT id, day FROM limit_t WHERE id < 3000 ORDER BY day NULLS FIRST, id LIMIT 400'),
	('SELECT small FROM limit_t ORDER BY small FETCH FIRST 3 ROWS WITH TIES'),
	('SELECT flag, small FROM limit_t WHERE id < 500 ORDER BY flag DESC, small, id LIMIT 8'),
	('SELECT id FROM limit_t WHERE label LIKE ''%7'' AND points > 20 ORDER BY score DESC, id LIMIT 9'),
	('SELECT id FROM limit_t WHERE id < 0 ORDER BY score DESC LIMIT 9'),
	('SELECT id, score * 2 + points::float8 AS s FROM limit_t ORDER BY id % 100 DESC, id LIMIT 9'),
	('SELECT upper(label) AS u FROM limit_t ORDER BY id DESC LIMIT 4')
) v(q);

-- Inside a subquery that is run again and again.
SELECT s, (SELECT string_agg(id::text, ' ') FROM (SELECT id FROM limit_t WHERE small = s ORDER BY score DESC, id LIMIT 3) q)
FROM generate_series(1, 3) s;

-- Not for it: computed text keys, locked rows, a limit that is not known, most of the table.
SELECT limit_compare(q) FROM (VALUES
	('SELECT id, label FROM limit_t ORDER BY lower(label), id LIMIT 5'),
	('SELECT id FROM limit_t ORDER BY id LIMIT 40000')
) v(q);
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/plan.psql
\set ECHO none
\i :include
\set ECHO all
SELECT plan('SELECT id FROM limit_t ORDER BY id LIMIT (SELECT 3)');
EXPLAIN (COSTS OFF) SELECT id FROM limit_t ORDER BY id LIMIT 3 FOR UPDATE;
SET gpucol.enable_topk = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM limit_t ORDER BY id LIMIT 3;
RESET gpucol.enable_topk;

-- Zone maps: the first scan reads only vectors that can hold top rows, and rows
-- deleted, changed or still in the delta count as they should.
CREATE TABLE limit_z (id int NOT NULL, walk float8, n numeric(10,3), r real) USING gpucol;
INSERT INTO limit_z SELECT i, CASE WHEN i % 1000 > 0 THEN sin(i / 20000.0) * 1000 + i % 7 END, (i * 7919::bigint % 1000003) / 1000.0, i % 4099
FROM generate_series(1, 60000) i;
VACUUM ANALYZE limit_z;
CREATE FUNCTION limit_probed(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Probed Rows%' THEN
			RETURN substring(line FROM '[0-9]+');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
-- (a device ranks the keys that it holds, without a probe)
SET gpucol.engine = cpu;
SELECT limit_probed('SELECT * FROM limit_z ORDER BY id DESC LIMIT 10') < 3000 AS id,
	limit_probed('SELECT * FROM limit_z ORDER BY walk DESC NULLS LAST LIMIT 10') < 30000 AS walk,
	limit_probed('SELECT * FROM limit_z ORDER BY id DESC LIMIT 10') IS NOT NULL AS probed;
RESET gpucol.engine;
CREATE VIEW limit_queries AS
SELECT 'SELECT * FROM limit_z ' || c || ' ORDER BY ' || o || ', id LIMIT ' || k AS q
FROM (VALUES (''), ('WHERE id > 100 AND id < 50000')) c(c),
	(VALUES ('id'), ('id DESC'), ('walk'), ('walk DESC'), ('walk DESC NULLS LAST'), ('walk NULLS FIRST'), ('n DESC'), ('n'), ('r DESC'), ('r')) o(o),
	(VALUES (1), (70)) k(k);
SELECT limit_compare(q), count(*) FROM limit_queries GROUP BY 1 ORDER BY 1;
DELETE FROM limit_z WHERE id > 59990 OR walk > 990 OR id % 977 = 0;
UPDATE limit_z SET walk = -walk WHERE id % 5003 = 0;
INSERT INTO limit_z VALUES (60001, 995, 5000, 5000), (60002, NULL, NULL, 'NaN'), (60003, 'NaN', 1, 1);
SELECT limit_compare(q), count(*) FROM limit_queries GROUP BY 1 ORDER BY 1;

-- With conditions the first rows that meet them give a bound, with which the first
-- scan begins anew.
-- Many rows share the values of d next to the greatest: the 300th is among those of
-- one that few rows are beyond.
CREATE TABLE limit_w (id int NOT NULL, v int, c int, f float8 NOT NULL, d int NOT NULL) USING gpucol;
INSERT INTO limit_w SELECT i, CASE WHEN i % 100 > 0 THEN hashint4(i) END, i % 10, hashint4(-i) / 8.0::float8,
	CASE WHEN i <= 100 THEN 20010 WHEN i <= 250 THEN 20007 WHEN i % 4 > 0 THEN 20006 ELSE i % 20000 END
FROM generate_series(1, 120000) i;
VACUUM ANALYZE limit_w;
SET gpucol.engine = cpu;
SELECT limit_probed('SELECT * FROM limit_w WHERE c < 9 ORDER BY v DESC LIMIT 20') < 95000 AS nulls_first,
	limit_probed('SELECT * FROM limit_w WHERE c < 9 ORDER BY v LIMIT 20') < 95000 AS nulls_last,
	limit_probed('SELECT * FROM limit_w WHERE c < 9 ORDER BY f DESC LIMIT 20') < 95000 AS no_nulls,
	limit_probed('SELECT * FROM limit_w WHERE c < 9 ORDER BY v + 1 DESC NULLS LAST LIMIT 20') < 95000 AS computed;
RESET gpucol.engine;
SELECT limit_compare(q), count(*) FROM (
	SELECT 'SELECT * FROM limit_w WHERE ' || c || ' ORDER BY ' || o || ', id LIMIT ' || k AS q
	FROM (VALUES ('c < 9'), ('c = 3 AND id % 7 > 1')) c(c),
		(VALUES ('v'), ('v DESC'), ('v DESC NULLS LAST'), ('f DESC'), ('v + 1 DESC'), ('c DESC'), ('d DESC')) o(o),
		(VALUES (1), (300)) k(k)) s
GROUP BY 1 ORDER BY 1;
-- A key that a condition makes constant orders nothing: the one after it does.
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM limit_w WHERE c = 3 AND id % 7 > 1 ORDER BY c DESC, id LIMIT 5;

-- Parallel workers read the plan of a subquery that is another query's condition.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpucol.enable_agg = off;
SELECT plan('SELECT count(*) FROM limit_w WHERE c > (SELECT c FROM limit_w ORDER BY d DESC, id LIMIT 1)');
DROP FUNCTION plan(text, text);
SELECT count(*) FROM limit_w WHERE c > (SELECT c FROM limit_w ORDER BY d DESC, id LIMIT 1);
RESET gpucol.enable_agg;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
DROP TABLE limit_w;

-- A column that grows, as time does: the latest rows that meet a condition are found
-- among those that zone maps say are the latest.
CREATE TABLE limit_l (at timestamp NOT NULL, seen timestamp, c int) USING gpucol;
INSERT INTO limit_l SELECT timestamp '2024-01-01' + i * interval '1 s', CASE WHEN i % 500 > 0 THEN timestamp '2024-01-01' + i * interval '1 min' END, i % 10 FROM generate_series(1, 200000) i;
VACUUM ANALYZE limit_l;
SET gpucol.engine = cpu;
SELECT limit_probed('SELECT * FROM limit_l WHERE c < 9 ORDER BY at DESC LIMIT 1') < 10000 AS latest,
	limit_probed('SELECT * FROM limit_l WHERE c < 9 ORDER BY seen DESC NULLS LAST LIMIT 1') < 10000 AS nulls_last,
	limit_probed('SELECT * FROM limit_l WHERE c < 9 ORDER BY seen DESC LIMIT 1') < 10000 AS nulls_first,
	limit_probed('SELECT * FROM limit_l WHERE c < 9 AND at < ''2024-01-02'' ORDER BY at DESC LIMIT 1') > 65536 AS elsewhere;
RESET gpucol.engine;
SELECT limit_compare(q), count(*) FROM (
	SELECT 'SELECT * FROM limit_l WHERE ' || c || ' ORDER BY ' || o || ', at LIMIT ' || k AS q
	FROM (VALUES ('c < 9'), ('c = 3 AND c + 1 > 3'), ('c < 9 AND at < ''2024-01-02'''), ('c > 9')) c(c),
		(VALUES ('at'), ('at DESC'), ('seen'), ('seen DESC'), ('seen DESC NULLS LAST'), ('seen NULLS FIRST')) o(o),
		(VALUES (1), (450)) k(k)) s
GROUP BY 1 ORDER BY 1;
DROP TABLE limit_l;

-- Many rows tie on the first keys: the next ones cut them, before rows are delivered.
CREATE TABLE limit_m (a int, b float8, c numeric(8,2), d date NOT NULL, id int NOT NULL, label text) USING gpucol;
INSERT INTO limit_m SELECT CASE WHEN i % 9 > 0 THEN hashint4(i) % 3 END,
	CASE hashint4(i + 1) % 11 WHEN 0 THEN NULL WHEN 1 THEN float8 'NaN' WHEN 2 THEN '-0' ELSE hashint4(i + 1) % 4 END,
	CASE WHEN i % 7 > 0 THEN hashint4(i + 2) % 2 * 0.25 END,
	date '2024-01-01' + (hashint4(i + 3) & 1), i, 'label ' || i % 50
FROM generate_series(1, 50000) i;
INSERT INTO limit_m SELECT i % 3, i, 5, '2024-01-01', 60000 + i, 'delta' FROM generate_series(1, 5) i;
VACUUM ANALYZE limit_m;
CREATE FUNCTION limit_delivered(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%GpucolTopK%' THEN
			RETURN substring(line FROM 'rows=([0-9]+)');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SELECT order_by, limit_delivered('SELECT * FROM limit_m ORDER BY ' || order_by || ' LIMIT 10') < 1200 AS few
FROM (VALUES ('a'), ('a DESC'), ('a, id'), ('a DESC, id DESC'), ('a DESC NULLS LAST, b, id'), ('b, c DESC NULLS LAST, a, id'), ('d, c, b, a'), ('d DESC, a, b DESC, id, label')) o(order_by);
SELECT limit_delivered('SELECT * FROM limit_m WHERE id % 3 = 0 ORDER BY a, id LIMIT 10') < 1200 AS conditions,
	limit_delivered('SELECT * FROM limit_m ORDER BY a + 1, id % 1000, id LIMIT 10') < 1200 AS computed,
	limit_delivered('SELECT * FROM limit_m WHERE a = 1 ORDER BY a, id LIMIT 10') < 1200 AS constant,
	limit_delivered('SELECT * FROM limit_m ORDER BY a, label, id LIMIT 10') < 1200 OR current_setting('gpucol.engine') = 'cuda' AS text_key,	-- a device looks at what is before it
	limit_delivered('SELECT * FROM limit_m ORDER BY a, lower(label), id LIMIT 10') > 2000 AS computed_text;
SELECT limit_compare(q), count(*) FROM (
	SELECT 'SELECT * FROM limit_m ' || c || ' ORDER BY ' || a || ', ' || b || ', ' || d || ' ' || k AS q
	FROM (VALUES (''), ('WHERE id < 40000 AND (b > 0 OR c IS NULL)')) c(c),
		(VALUES ('a'), ('a DESC'), ('a DESC NULLS LAST'), ('a NULLS FIRST'), ('b DESC'), ('b')) a(a),
		(VALUES ('c'), ('c DESC'), ('d DESC'), ('b NULLS FIRST')) b(b),
		(VALUES ('id'), ('label, id')) d(d),
		(VALUES ('LIMIT 1'), ('LIMIT 300 OFFSET 40')) k(k)) s
GROUP BY 1 ORDER BY 1;
SELECT limit_compare(q) FROM (VALUES
	('SELECT a, d FROM limit_m ORDER BY a, d FETCH FIRST 3 ROWS WITH TIES'),
	('SELECT a, c, d FROM limit_m ORDER BY a DESC NULLS LAST, c DESC, d FETCH FIRST 7 ROWS WITH TIES'),
	('SELECT a, c FROM limit_m ORDER BY c, a, c DESC FETCH FIRST 7 ROWS WITH TIES'),
	('SELECT id FROM limit_m ORDER BY d, a + 1, id LIMIT 20 OFFSET 6000'),
	('SELECT id FROM limit_m ORDER BY b DESC, a NULLS FIRST, id LIMIT 30000')
) v(q);
-- again and again, with other parameters
SELECT s, (SELECT string_agg(id::text, ' ') FROM (SELECT id FROM limit_m WHERE id > s * 100 AND id % 5 <> s ORDER BY a, d, id LIMIT 3) q)
FROM generate_series(1, 4) s;
-- rows that tie on all keys: as many as are wanted, whichever they are
SET gpucol.engine = cpu;
SELECT order_by, k, limit_delivered('SELECT * FROM limit_m ' || order_by || ' LIMIT ' || k) - k AS more
FROM (VALUES ('ORDER BY a'), ('ORDER BY a DESC'), ('ORDER BY a DESC NULLS LAST'), ('ORDER BY d, c'), ('ORDER BY c, d DESC'), ('WHERE id > 5000 ORDER BY d DESC, b DESC')) o(order_by),
	(VALUES (1), (20000)) k(k);
RESET gpucol.engine;
SELECT limit_compare(q), count(*) FROM (
	SELECT 'SELECT ' || keys || ', count(*) OVER (PARTITION BY id) FROM (SELECT * FROM limit_m ' || c || ' ORDER BY ' || o || ' ' || k || ') q ORDER BY ' || o AS q
	FROM (VALUES (''), ('WHERE id % 3 > 0')) c(c),
		(VALUES ('a', 'a'), ('a', 'a DESC'), ('a', 'a DESC NULLS LAST'), ('a, d', 'd, a NULLS FIRST'), ('c, nullif(b, 0)', 'c DESC, b'), ('nullif(b, 0)', 'b'), ('nullif(b, 0)', 'b DESC NULLS LAST')) o(keys, o),
		(VALUES ('LIMIT 1'), ('LIMIT 3000 OFFSET 40'), ('LIMIT 14000')) k(k)) s
GROUP BY 1 ORDER BY 1;
SELECT s, (SELECT string_agg(DISTINCT a || ' ' || d, ',') || ' ' || count(DISTINCT id) FROM (SELECT * FROM limit_m WHERE id > s * 100 AND id % 5 <> s ORDER BY a, d DESC LIMIT s * 1500) q)
FROM generate_series(1, 4) s;
-- what was found shows in the condition
CREATE FUNCTION limit_condition(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Top Condition%' THEN
			RETURN trim(line);
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SET gpucol.engine = cpu;
SELECT limit_condition('SELECT a, d FROM limit_m ORDER BY c NULLS FIRST, a DESC NULLS LAST, id LIMIT 2');
SELECT limit_condition('SELECT a, d FROM limit_m WHERE a IS NULL ORDER BY a, c DESC, id LIMIT 2');
SELECT limit_condition('SELECT a, d FROM limit_m ORDER BY b NULLS FIRST, a, id LIMIT 5000');
RESET gpucol.engine;
DROP FUNCTION limit_condition(text);
DROP FUNCTION limit_delivered(text);
DROP TABLE limit_m;

DROP VIEW limit_queries;
DROP FUNCTION limit_probed(text);
DROP FUNCTION limit_compare(text);
DROP TABLE limit_t, limit_z;
