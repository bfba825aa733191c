--
-- Keys of joins that are no columns as they are: texts that PostgreSQL makes of a column once for
-- each of its values, parts of texts, character(n) of several lengths, numerics without a
-- precision, dates beside timestamps; every kind of join, NULLs, raw values, deleted and new rows.
--
\set VERBOSITY terse
CREATE SCHEMA join_keys;
SET search_path = join_keys, public;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/reason.psql
\i :include

CREATE TABLE a_heap (id int, t text, raw text, one text, none text, v varchar(20), c char(5), p bpchar, n numeric, m numeric(8,2), k int,
	d date, ts timestamp);
INSERT INTO a_heap SELECT i, CASE WHEN i % 7 > 0 THEN (ARRAY['k', 'K', 'ä', 'Ä'])[1 + i % 4] || i % 23 END, md5((i % 400)::text) || 'Raw', 'One', NULL,
	CASE WHEN i % 11 > 0 THEN 'v' || i % 15 END, CASE WHEN i % 5 > 0 THEN 'k' || i % 12 END, 'k' || i % 9 || repeat(' ', i % 3),
	CASE WHEN i % 8 > 0 THEN ('' || i % 40 || '.' || (ARRAY['0', '00', '5', '50', '3333333333333333333', '25'])[1 + i % 6])::numeric END, i % 30 / 4.0,
	CASE WHEN i % 9 > 0 THEN i % 40 END, CASE WHEN i % 6 > 0 THEN date '2024-01-01' + i % 70 END,
	CASE WHEN i % 10 > 0 THEN timestamp '2024-01-01' + i % 150 * interval '12 hours' END FROM generate_series(1, 1100) i;
INSERT INTO a_heap (id, n, d, ts) SELECT 2900 + i, (ARRAY['NaN', 'Infinity', '-Infinity', '1e30', '-0.0', '0.0000', '12345678901234567890.5', '9223372036854775807',
	'-9223372036854775808', '9223372036854775808', '1.0000000000000000000000000000000000000000', '1e-20', '0.00000000000000000000000000000000000000001'])[i]::numeric,
	(ARRAY['infinity', '-infinity', '5874897-12-31', '294276-12-31', '4713-01-01 BC'])[1 + i % 5]::date,
	(ARRAY['infinity', '-infinity', '294276-12-31', '4713-01-01 BC', '2024-01-01 00:00:00.000001'])[1 + i % 5]::timestamp FROM generate_series(1, 13) i;
CREATE TABLE b_heap (LIKE a_heap);
INSERT INTO b_heap SELECT id, t, raw, one, none, v, c, p, n, m, k, d, ts FROM a_heap WHERE id % 9 = 4 OR id > 2900;
ALTER TABLE b_heap ALTER c TYPE char(9);
CREATE TABLE a_packed (LIKE a_heap) USING gpucol;
CREATE TABLE b_packed (LIKE b_heap) USING gpucol;
INSERT INTO a_packed SELECT * FROM a_heap;
INSERT INTO b_packed SELECT * FROM b_heap;
VACUUM a_packed, b_packed;
DELETE FROM a_heap WHERE id % 50 = 3; DELETE FROM a_packed WHERE id % 50 = 3;
INSERT INTO a_heap SELECT id + 5000, upper(t), upper(raw), one, none, v, c, p || ' ', n + 0.000, m, k, d, ts FROM a_heap WHERE id % 31 = 2;
INSERT INTO a_packed SELECT * FROM a_heap WHERE id > 5000;
INSERT INTO b_heap SELECT id + 5000, lower(t), raw, one, none, v, c, p || '  ', n * 1.00, m, k, d, ts FROM b_heap WHERE id % 17 = 2;
INSERT INTO b_packed SELECT * FROM b_heap WHERE id > 5000;
ANALYZE a_heap, b_heap, a_packed, b_packed;

-- the rows of a query over heap and over gpucol tables, and whether an engine joins
CREATE FUNCTION check_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; joined bool := false; differs int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || packed LOOP
		joined := joined OR line ~ 'GpucolJoin|^ *Join';
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE got AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE want AS ' || replace(query, '@', '_heap');
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO differs FROM ((SELECT want::text FROM want EXCEPT ALL SELECT got::text FROM got)
		UNION ALL (SELECT got::text FROM got EXCEPT ALL SELECT want::text FROM want)) x;
	SELECT count(*) INTO rows FROM got;
	DROP TABLE want, got;
	RETURN CASE WHEN NOT joined THEN 'not joined, ' ELSE '' END || CASE WHEN differs > 0 THEN differs || ' rows differ of ' || rows ELSE 'equal' END;
END $$;

-- every key in every kind of join
CREATE TABLE keys (number int, key text);
INSERT INTO keys VALUES
	(1, 'lower(a.t) = lower(b.t)'), (2, 'upper(a.t) = b.t'), (3, 'substr(a.t, 2) = substr(b.t, 2)'), (4, 'split_part(a.raw, ''a'', 2) = split_part(b.raw, ''a'', 2)'),
	(5, 'coalesce(a.t, ''k1'') = coalesce(b.t, ''K1'')'), (6, 'a.t || ''x'' = b.t || ''x'''), (7, 'upper(a.raw) = upper(b.raw)'),
	(8, 'lower(a.one) || a.one = b.one || b.one'), (9, 'coalesce(upper(a.none), ''x'') = upper(b.none)'), (10, 'lower(a.none) = lower(b.t)'),
	(11, 'a.c = b.c'), (12, 'a.t = b.c'), (13, 'a.v = b.c'), (14, 'a.p = b.p'), (15, 'a.p = b.c'), (16, 'a.n = b.n'), (17, 'a.n = b.m'), (18, 'a.m = b.n'),
	(19, 'a.n = b.k'), (20, 'a.k = b.n AND lower(a.t) = lower(b.t)'), (21, 'a.d = b.ts'), (22, 'a.ts = b.d'), (23, 'date_trunc(''month'', a.ts) = b.d'),
	(24, 'CASE WHEN a.t < ''a'' THEN ''k'' ELSE upper(a.t) END = upper(b.t)'), (25, 'a.k = b.k AND lower(a.t) <> upper(b.t)'),
	(26, 'a.k = b.k AND lower(a.v) < upper(b.t)'), (27, 'md5(a.t) = md5(b.t)'), (28, 'left(a.t, 1) = left(b.t, 1) AND a.k = b.k');
CREATE VIEW checks AS SELECT number, key, kind, check_rows(replace(query, '?', key)) AS answer FROM keys, (VALUES
	('inner', 'SELECT a.id, b.id AS of FROM a@ a JOIN b@ b ON ?'),
	('left', 'SELECT a.id, b.id AS of, b.t FROM a@ a LEFT JOIN b@ b ON ? AND b.id > 300'),
	('right', 'SELECT a.id, b.id AS of, a.t FROM a@ a RIGHT JOIN b@ b ON ? AND a.id < 900'),
	('full', 'SELECT a.id, b.id AS of, b.n FROM a@ a FULL JOIN b@ b ON ?'),
	('exists', 'SELECT a.id, a.t FROM a@ a WHERE EXISTS (SELECT FROM b@ b WHERE ? AND b.id % 3 > 0)'),
	('not exists', 'SELECT b.id, b.t FROM b@ b WHERE NOT EXISTS (SELECT FROM a@ a WHERE ? AND a.id % 3 > 0)'),
	('groups', 'SELECT lower(a.t) AS t, a.k, count(*), sum(b.id), max(b.t) FROM a@ a LEFT JOIN b@ b ON ? GROUP BY 1, 2'),
	('three', 'SELECT count(*), sum(a.id) FROM a@ a JOIN b@ b ON ? JOIN b@ c ON c.k = b.k AND lower(c.t) = lower(a.t)')) x(kind, query);
CREATE TABLE checked AS SELECT * FROM checks;
SELECT count(*) FROM checked WHERE answer = 'equal';
SELECT * FROM checked WHERE answer <> 'equal' ORDER BY number, kind;
-- in two threads; with tables that exceed the memory
SET gpucol.cpu_threads = 2;
SELECT number, key, kind, answer FROM checks WHERE number % 2 = 0 AND kind <> 'groups' AND answer <> 'equal' ORDER BY number, kind;
RESET gpucol.cpu_threads;
SET gpucol.memory_limit = '2MB';
SELECT number, key, kind, answer FROM checks WHERE number % 2 = 1 AND kind <> 'groups' AND answer NOT LIKE '%equal' ORDER BY number, kind;
RESET gpucol.memory_limit;

-- a function that may fail, or is the user's, is PostgreSQL's, for the rows that it asks for
CREATE FUNCTION hers(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN upper($1); END';
SELECT check_rows('SELECT count(*) FROM a@ a JOIN b@ b ON hers(a.t) = b.t');
SELECT check_rows('SELECT count(*) FROM a@ a JOIN b@ b ON to_char(a.n, ''FM999'') = b.t');
-- keys that no engine makes are made by the plan whose rows are joined, on either side, of functions, VALUES, queries, tables
SELECT q, check_rows(q) FROM unnest(ARRAY[
	'SELECT g, count(a.id), sum(a.k) FROM generate_series(0, 60) g LEFT JOIN a@ a ON a.t = ''k'' || g GROUP BY 1',
	'SELECT g, a.id FROM generate_series(0, 60) g LEFT JOIN a@ a ON a.v = ''v'' || g / nullif(g % 7, 0)',
	'SELECT g, count(a.id) FROM generate_series(-5, 60) g FULL JOIN a@ a ON a.t = ''k'' || g AND a.k = abs(g) GROUP BY 1',
	'SELECT v.x FROM (VALUES (1, ''a''), (7, NULL), (900, ''b'')) v(k, x) WHERE NOT EXISTS (SELECT FROM a@ a WHERE a.t = ''k'' || v.k)',
	'SELECT v.x FROM (VALUES (1, ''a''), (7, NULL), (900, ''b'')) v(k, x) WHERE EXISTS (SELECT FROM a@ a WHERE a.t = ''k'' || v.k AND a.k > 3)',
	'SELECT b.id, count(a.id) FROM b@ b LEFT JOIN a@ a ON a.t = concat(''k'', b.k) GROUP BY 1',
	'SELECT b.k, count(*) FROM b@ b JOIN a@ a ON a.t = format(''%s%s'', ''k'', b.k) AND a.k <= b.k GROUP BY 1',
	'SELECT w.k, count(a.id) FROM (SELECT k, count(*) AS n FROM b@ GROUP BY k) w LEFT JOIN a@ a ON a.t = ''k'' || w.k GROUP BY 1',
	'SELECT g, count(a.id) FROM generate_series(1, 20) g LEFT JOIN a@ a ON a.n = (''0'' || g)::numeric GROUP BY 1',
	'SELECT g, count(a.id) FROM generate_series(1, 20) g LEFT JOIN (b@ b JOIN a@ a ON a.id = b.id) ON a.t = ''k'' || g AND b.v = ''v'' || g % 3 GROUP BY 1',
	'SELECT g, h, count(a.id) FROM generate_series(1, 4) g CROSS JOIN generate_series(0, 2) h LEFT JOIN a@ a ON a.t = ''k'' || g * h GROUP BY 1, 2',
	'SELECT g, count(a.id) FROM (SELECT 1 AS g WHERE false) g LEFT JOIN a@ a ON a.t = ''k'' || g GROUP BY 1']) q;
-- bins of timestamps, whose differences may be out of range
SELECT q, check_rows(q) FROM unnest(ARRAY[
	'SELECT g, count(a.id) FROM generate_series(timestamp ''2024-01-01'', ''2024-03-01'', ''8 hours'') g LEFT JOIN a@ a ON date_bin(''8 hours'', a.ts, ''2024-01-01'') = g GROUP BY 1',
	'SELECT g, a.id, a.ts FROM generate_series(timestamp ''2024-01-01'', ''2024-02-01'', ''1 day 1 hour'') g LEFT JOIN a@ a ON date_bin(''1 day 1 hour'', a.ts, ''2024-01-01'') = g',
	'SELECT id, date_bin(''7 days'', ts, ''2000-01-03'') AS w FROM a@ a JOIN (SELECT 3 AS k) b USING (k) WHERE date_bin(''1 day'', ts, ''2000-01-01'') < ''2024-02-01''']) q;
SELECT id FROM a_packed WHERE date_bin('1 day', ts, '1970-01-01') = '2024-01-02' ORDER BY id LIMIT 3;
SELECT id FROM a_heap WHERE date_bin('1 day', ts, '1970-01-01') = '2024-01-02' ORDER BY id LIMIT 3;
SELECT id FROM a_packed WHERE date_bin('1 day', ts, '1990-01-01 BC') = '2024-01-02' ORDER BY id LIMIT 3;
SELECT id FROM a_heap WHERE date_bin('1 day', ts, '1990-01-01 BC') = '2024-01-02' ORDER BY id LIMIT 3;
SELECT id FROM a_packed WHERE date_bin('1000 days', ts, '2000-01-01') = '2024-01-02' ORDER BY id LIMIT 3;
SELECT id FROM a_heap WHERE date_bin('1000 days', ts, '2000-01-01') = '2024-01-02' ORDER BY id LIMIT 3;
-- a collation in which equal texts have different bytes
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT check_rows('SELECT a.id, b.id AS of FROM a@ a JOIN b@ b ON lower(a.t) COLLATE folded = b.t');
-- why a key is PostgreSQL's
SET gpucol.pushdown = allow;
SELECT reason('SELECT count(*) FROM a_packed a JOIN a_packed b ON a.t || random() = b.t'), reason('SELECT count(*) FROM a_packed a JOIN a_packed b ON hers(a.t) = b.t');
SET client_min_messages = warning;
-- infinity and NaN in rows of plans, whose other values are mantissas
CREATE TABLE odd_rows (n numeric, p numeric(8,1), k int) USING heap;
INSERT INTO odd_rows VALUES ('-Infinity', 'NaN', 0), (22, 22, 1), (3, 3, 2);
CREATE TABLE odd_few (k int) USING gpucol;
INSERT INTO odd_few SELECT i % 3 FROM generate_series(1, 1100) i;
CREATE TABLE odd_packed (n numeric) USING gpucol;
INSERT INTO odd_packed SELECT CASE i % 30 WHEN 0 THEN '-Infinity'::numeric WHEN 1 THEN 'NaN' ELSE i % 31 END FROM generate_series(1, 3000) i;
ANALYZE odd_rows, odd_packed, odd_few;
SELECT a.n, count(*) FROM odd_rows a JOIN odd_packed b ON a.n = b.n GROUP BY 1 ORDER BY 1;
SELECT a.p, count(*) FROM odd_rows a JOIN odd_packed b ON a.p = b.n GROUP BY 1 ORDER BY 1;
SELECT a.n, count(*) FROM odd_rows a, odd_rows b, odd_few c WHERE a.n = b.n AND b.k = c.k GROUP BY 1 ORDER BY 1;
-- an equality of which one side is made of both tables is asked of each pair, which PostgreSQL could not hash either
CREATE TABLE three_packed (id int, x int, y int) USING gpucol;
INSERT INTO three_packed SELECT i, i % 97, i % 61 FROM generate_series(1, 20000) i;
CREATE TABLE few_packed (x int) USING gpucol;
INSERT INTO few_packed SELECT i % 7 FROM generate_series(1, 100) i;
ANALYZE three_packed, few_packed;
SET join_collapse_limit = 1;
\set of_both 'SELECT count(*), sum(p.id) FROM three_packed n JOIN three_packed p USING (id) JOIN few_packed c ON p.x * c.x = n.y'
EXPLAIN (COSTS OFF) :of_both;
:of_both;
SET gpucol.pushdown = forbid;
:of_both;
RESET gpucol.pushdown;
RESET join_collapse_limit;
DROP SCHEMA join_keys CASCADE;
