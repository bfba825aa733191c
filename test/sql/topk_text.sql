-- ORDER BY ... LIMIT by texts and other byte strings: the k first are found by the
-- entries of dictionaries or by the bytes, in PostgreSQL's own order.
SET client_min_messages = warning;
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE COLLATION unlike_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN sku AS varchar(12) CHECK (length(VALUE) < 12);
CREATE TABLE text_k (id int NOT NULL, few text, most text NOT NULL, c text COLLATE "C", en text COLLATE english, either text COLLATE unlike_case,
	fixed char(9), code sku, name name, raw bytea, u uuid, span interval, at timetz, n numeric, ip inet, bits varbit, j jsonb, list text[], g int) USING gpucol;
INSERT INTO text_k
SELECT i, CASE WHEN i % 50 > 0 THEN 'sku ' || hashint4(i) % 700 END, md5(i::text),
	CASE WHEN i % 3 > 0 THEN chr(64 + hashint4(i) % 60 + 60) || i % 5 ELSE '' END,
	CASE hashint4(i) % 4 WHEN 0 THEN 'Zeta' WHEN 1 THEN 'alpha ' WHEN 2 THEN 'Äsche ' WHEN 3 THEN NULL ELSE 'zoo ' END || hashint4(i + 1) % 3000,
	(ARRAY['Zeta', 'zETA', 'alpha', 'ALPHA', 'beta', 'Beta', NULL])[1 + abs(hashint4(i) % 7)] || abs(hashint4(i + 2) % 40),
	CASE WHEN i % 11 > 0 THEN 'f' || hashint4(i + 3) % 4000 END, 'c' || hashint4(i + 4) % 9000, 'n' || i % 900, decode(md5((i % 20000)::text), 'hex'),
	md5((i % 5000)::text)::uuid, make_interval(days => i % 40, hours => (i * 7) % 1000), make_time(i % 24, i % 60, 0)::timetz AT TIME ZONE 'UTC',
	CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN '-1e20' ELSE (hashint4(i + 5) % 100000)::numeric / (1 + i % 3) END,
	('10.0.' || i % 200 || '.' || i % 250)::inet, (i % 4000)::bit(12)::varbit, to_jsonb(i % 30), ARRAY['a' || i % 20], i % 10
FROM generate_series(1, 72000) i;
DELETE FROM text_k WHERE id % 977 = 0 OR id BETWEEN 4000 AND 4500;
UPDATE text_k SET few = 'zzz ' || id, most = '0' || most WHERE id % 9001 = 0;
VACUUM ANALYZE text_k;
INSERT INTO text_k SELECT 90000 + id, few, most, c, en, either, fixed, code, name, raw, u, span, at, n, ip, bits, j, list, g FROM text_k WHERE id < 300;

EXPLAIN (COSTS OFF) SELECT * FROM text_k WHERE g < 5 ORDER BY few DESC, id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM text_k ORDER BY code, g, most LIMIT 10 OFFSET 5;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/reason.psql
\set ECHO none
\i :include
\set ECHO all
SELECT q, reason(q) FROM (VALUES ('SELECT id FROM text_k ORDER BY upper(few) LIMIT 3'), ('SELECT id FROM text_k ORDER BY j LIMIT 3'),
	('SELECT id FROM text_k ORDER BY list LIMIT 3'), ('SELECT id FROM text_k ORDER BY few USING ~<~ LIMIT 3')) v(q);
DROP FUNCTION reason(text);

-- What the same rows in heap give, in order, and by which node?
CREATE TABLE text_h USING heap AS TABLE text_k;
CREATE FUNCTION text_compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	want text;
	got text;
BEGIN
	EXECUTE 'SELECT string_agg(q::text, E''\n'') FROM (' || replace(query, 'text_k', 'text_h') || ') q' INTO want;
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'SELECT string_agg(q::text, E''\n'') FROM (' || query || ') q' INTO got;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	SET LOCAL gpucol.pushdown = allow;
	RETURN CASE WHEN want IS DISTINCT FROM got THEN 'different: ' || query
		WHEN plan NOT LIKE '%GpucolTopK%' THEN 'no GpucolTopK: ' || query ELSE 'same' END;
END $$;
CREATE VIEW text_keys AS SELECT unnest(ARRAY['few', 'most', 'c', 'en', 'either', 'fixed', 'code', 'name', 'raw', 'u', 'span', 'at', 'n', 'ip', 'bits',
	'few COLLATE "C"', 'few COLLATE english', 'c COLLATE unlike_case', 'code::text', 'fixed::bpchar']) AS k;
SELECT text_compare(q), count(*) FROM (
	SELECT format('SELECT id, few, most, %1$s AS k FROM text_k %2$s ORDER BY %1$s%3$s, id %4$s', k, c, d, l) AS q
	FROM text_keys, (VALUES ('', '', 'LIMIT 90 OFFSET 700'), ('WHERE few LIKE ''%7'' AND most < ''c'' AND g <> 3', ' DESC NULLS LAST', 'LIMIT 1')) c(c, d, l)
	UNION ALL VALUES ('SELECT * FROM text_k ORDER BY few DESC, id LIMIT 3000'), ('SELECT * FROM text_k WHERE g = 3 ORDER BY en NULLS FIRST, id LIMIT 2000')) s
GROUP BY 1 ORDER BY 1;
-- several keys, and ties with the last
SELECT text_compare(q), count(*) FROM (
	SELECT format('SELECT id, most, %1$s AS x, %2$s AS y FROM text_k %3$s ORDER BY %1$s, %2$s%4$s, id LIMIT %5$s', a, b, c, d, l) AS q
	FROM (VALUES ('', '', 3), ('WHERE g < 7', ' DESC NULLS LAST', 2500)) c(c, d, l),
		(VALUES ('g', 'few'), ('either', 'few'), ('few COLLATE english', 'either'), ('c', 'n'), ('g', 'n'), ('c', 'g')) a(a, b)) s
GROUP BY 1 ORDER BY 1;
SELECT text_compare(format('SELECT %s AS k, id * 0 FROM text_k ORDER BY %1$s FETCH FIRST 20 ROWS WITH TIES', k)), count(*)
FROM text_keys WHERE k NOT IN ('either', 'c COLLATE unlike_case', 'n', 'fixed', 'span', 'at') GROUP BY 1 ORDER BY 1;
-- rows that tie in all keys: any of them, but each a row of the table, once
SELECT text_compare(format('SELECT %s, count(*), count(DISTINCT q.id) FROM (SELECT *, text_k AS r FROM text_k ORDER BY %s LIMIT %s) q JOIN text_k t USING (id) WHERE t = q.r GROUP BY 1 ORDER BY 1', shown, k, l)), count(*)
FROM (VALUES ('q.few', 'few'), ('q.few', 'few DESC, g'), ('q.c', 'c COLLATE english'), ('lower(q.either COLLATE "C")', 'either'), ('rtrim(q.fixed)', 'fixed')) o(shown, k),
	(VALUES (5), (20000)) l(l)
GROUP BY 1 ORDER BY 1;
-- again and again, with other parameters
SELECT s, (SELECT string_agg(id::text, ' ') FROM (SELECT id FROM text_k WHERE g = s ORDER BY en DESC NULLS LAST, id LIMIT 3) q)
FROM generate_series(1, 3) s;
PREPARE text_p(text) AS SELECT id, few FROM text_k WHERE few > $1 ORDER BY few, id LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE text_p('sku 6');
EXECUTE text_p('sku -3');
EXECUTE text_p(NULL);
RESET plan_cache_mode;
DEALLOCATE text_p;

-- The first rows give a bound, and the rest is asked by its dictionary's entries.
CREATE FUNCTION text_figure(query text, figure text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ figure THEN
			RETURN substring(line FROM figure || '[^0-9]*([0-9]+)');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SELECT k, text_figure(q, 'Probed Rows:') < 70000 AS probed, text_figure(q, 'GpucolTopK.*rows=') < 1500 AS delivered
FROM (SELECT k, format('SELECT * FROM text_k ORDER BY %s, id LIMIT 10', k) FROM text_keys WHERE k IN ('few', 'most', 'en', 'raw', 'u')) s(k, q);
-- A few rows that are the first whatever ties with the last are fetched by their TIDs: packed, new and changed ones
-- (of texts that are equal and differ, any may be).
SELECT text_compare(q), count(*), count(text_figure(q, 'Fetched Rows:')) AS fetched, count(*) FILTER (WHERE text_figure(q, 'GpucolTopK.*rows=') = l) AS exact FROM (
	SELECT format('SELECT %1$s AS k FROM text_k %2$s ORDER BY 1%3$s LIMIT %4$s', k, c, o, l) AS q, l
	FROM text_keys, (VALUES ('', ''), ('WHERE g < 9', ' DESC NULLS LAST'), ('WHERE most > ''5''', ' NULLS FIRST')) c(c, o), (VALUES (1), (4)) l(l)
	WHERE k NOT IN ('either', 'c COLLATE unlike_case')) s
GROUP BY 1 ORDER BY 1;
SELECT text_compare(q) AS answers, text_figure(q, 'Fetched Rows:') AS fetched FROM (VALUES
	('SELECT * FROM text_k WHERE id > 300 ORDER BY most, id LIMIT 4'), ('SELECT j, few, span FROM text_k WHERE id > 89000 ORDER BY most DESC, g LIMIT 3'),
	('SELECT id, n FROM text_k WHERE id < 72000 ORDER BY most LIMIT 2 OFFSET 2'), ('SELECT 1 FROM text_k ORDER BY raw LIMIT 4'),
	('SELECT most FROM text_k ORDER BY most FETCH FIRST 3 ROWS WITH TIES'), ('SELECT most, id FROM text_k ORDER BY most, id LIMIT 5')) v(q);
SELECT s, (SELECT string_agg(id || ' ' || most, ' ') FROM (SELECT id, most FROM text_k WHERE g = s AND id > 300 ORDER BY most LIMIT 2) q) AS two,
	(SELECT string_agg(id || ' ' || most, ' ') FROM (SELECT id, most FROM text_h WHERE g = s AND id > 300 ORDER BY most LIMIT 2) q) AS of_heap
FROM generate_series(1, 3) s;
BEGIN;
UPDATE text_k SET most = '!' WHERE id = 71999;
DELETE FROM text_k WHERE id = (SELECT id FROM text_k WHERE id > 300 ORDER BY most DESC LIMIT 1);
SELECT id, most, k.ctid = (SELECT o.ctid FROM text_k o WHERE o.id = k.id) AS placed, tableoid::regclass FROM text_k k WHERE id > 300 ORDER BY most LIMIT 2;
SELECT id FROM text_k WHERE id > 300 ORDER BY most DESC LIMIT 2 FOR UPDATE;
ROLLBACK;
SELECT id FROM text_h WHERE id > 300 ORDER BY most DESC LIMIT 3;
-- no rows, one row, no columns but the key, long values
SELECT text_compare('SELECT * FROM text_k WHERE g % 7 > 8 ORDER BY few LIMIT 3') AS none, text_compare('SELECT * FROM text_k WHERE (id + g) % 90000 = 17 ORDER BY few LIMIT 3') AS one,
	text_compare('SELECT most FROM text_k ORDER BY 1 DESC LIMIT 30000') AS many;
CREATE FUNCTION text_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query;
END $$;
CREATE TABLE text_long (id int, t text) USING gpucol;
INSERT INTO text_long SELECT i, repeat(md5((i % 700)::text), 600 + i % 3) FROM generate_series(1, 2000) i;
ANALYZE text_long;
SELECT length(trim(line)) AS clipped, right(line, 4) FROM text_plan('SELECT * FROM text_long ORDER BY t LIMIT 9') line WHERE line ~ 'Top Condition';
CREATE TABLE long_h USING heap AS TABLE text_long;
SELECT id, left(t, 9) AS begins, length(t) FROM text_long ORDER BY t, id LIMIT 5;
SELECT id, left(t, 9) AS begins, length(t) FROM long_h ORDER BY t, id LIMIT 5;
DROP TABLE text_long, long_h;
DROP VIEW text_keys;
DROP FUNCTION text_compare(text), text_figure(text, text), text_plan(text);
DROP TABLE text_k, text_h;
DROP DOMAIN sku;
DROP COLLATION english, unlike_case;
