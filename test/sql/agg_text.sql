-- Keys and arguments that no engine computes (text, functions of text, any type):
-- PostgreSQL evaluates them once for each distinct value of their columns.
SET client_min_messages = warning;
CREATE SCHEMA agg_text;
SET search_path = agg_text, public;
SET timezone = 'Europe/Berlin';

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION unlike_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE facts (
	id int, g int, s text, v varchar(20), c char(6), cc text COLLATE "C", ci text COLLATE unlike_case, by bytea, u uuid,
	n numeric, n2 numeric(10,2), iv interval, ip inet, j jsonb, a int[], e mood, d date, ts timestamp, tz timestamptz,
	i2 int2, i8 int8, f8 float8, b bool
) USING gpucol;
INSERT INTO facts
SELECT i, i % 7, CASE WHEN i % 13 = 0 THEN NULL ELSE chr(97 + i % 26) || 'tail' || i % 40 END, 'V' || i % 30, 'c' || i % 20,
	CASE i % 4 WHEN 0 THEN 'Zeta' WHEN 1 THEN 'alpha' WHEN 2 THEN 'éclair' ELSE 'omega' END,
	CASE i % 4 WHEN 0 THEN 'ABC' WHEN 1 THEN 'abc' WHEN 2 THEN 'Abd' ELSE NULL END,
	decode(md5((i % 50)::text), 'hex'), md5((i % 25)::text)::uuid,
	CASE i % 5 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 'NaN' WHEN 3 THEN 1e30 ELSE i % 9 END, (i % 33) * 0.25,
	(i % 40) * interval '7 hours', ('10.0.0.' || i % 60)::inet, jsonb_build_object('k', i % 6), ARRAY[i % 3, i % 5],
	(ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3], date '2020-01-01' + i % 500, timestamp '2020-01-01' + i % 700 * interval '5 hours',
	timestamptz '2020-03-01 00:00Z' + i % 700 * interval '3 hours', CASE WHEN i % 9 = 0 THEN NULL ELSE i % 300 - 150 END, i * 1000000007::int8,
	i * 0.125, i % 3 = 0
FROM generate_series(1, 2000) i;
DELETE FROM facts WHERE id % 41 = 0;
UPDATE facts SET s = 'updated' || id % 3 WHERE id % 97 = 0;
INSERT INTO facts (id, g, s) VALUES (9001, 1, ''), (9002, NULL, NULL);
CREATE TABLE none (LIKE facts) USING gpucol;
ANALYZE facts;

CREATE TABLE keys (k text, id serial);
INSERT INTO keys (k) VALUES
	('substr(s, 1, 1)'), ('upper(s)'), ('left(v, 2) || c'), ('length(s)'), ('s || coalesce(v, '''')'), ('n + 0.00'), ('j'), ('a'), ('iv'), ('ip'),
	('n % 2 + 0.00'), ('j ->> ''k'''), ('a[1]'), ('to_char(ts, ''YYYY-MM'')'), ('date_trunc(''month'', d)'), ('date_trunc(''day'', tz)'), ('extract(epoch FROM ts)'),
	('extract(isoyear FROM d)'), ('CASE WHEN s < ''m'' THEN ''low'' WHEN s IS NULL THEN v ELSE ''high'' END'), ('coalesce(s, v)'), ('nullif(v, ''V3'')'),
	('greatest(s, v)'), ('least(cc, ''beta'')'), ('md5(v)'), ('round(n2, 1)'), ('n2 / 3'), ('ARRAY[g, i2 % 3]'), ('g::text'), ('i2::text'),
	('e::text'), ('to_char(g, ''99'')'), ('d + interval ''1 month'''), ('s ~ ''^a''');
SELECT d FROM keys, differ(format('SELECT %s AS k, count(*), sum(i2), avg(n2), min(d), bool_or(b) FROM facts GROUP BY 1', k)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM keys, differ(format('SELECT g, %s AS k, count(*), round(sum(f8)::numeric, 6), round(stddev(f8)::numeric, 6), variance(i8), max(i2), min(f8), max(n2) FROM facts WHERE i2 > -100 GROUP BY 1, 2', k)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM keys, differ(format('SELECT DISTINCT %s AS k FROM facts', k)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM keys, differ(format('SELECT %s AS k, count(*) FROM none GROUP BY 1', k)) d WHERE d IS NOT NULL ORDER BY id;

CREATE TABLE calls (call text, id serial);
INSERT INTO calls (call)
SELECT format('%s(%s)', f, c) FROM unnest('{min,max}'::text[]) f, unnest('{s,v,c,cc,n,iv,ip,a,e,upper(s),s || v,left(c\, 2),round(n2\, 1),ts - tz::timestamp,n2 / 7}'::text[]) c;
INSERT INTO calls (call)
SELECT format('count(DISTINCT %s)', c) FROM unnest('{s,v,ci,n,n2,iv,ip,j,a,d,upper(s),length(s),s || v,n2 / 3,by,u}'::text[]) c;
INSERT INTO calls (call) VALUES
	('sum(length(s))'), ('avg(length(s || v))'), ('stddev(length(v))'), ('var_pop(length(s))'), ('count(upper(s))'), ('count(n % 2)'), ('sum((n2 * 4)::int)'),
	('sum(n)'), ('avg(n)'), ('sum(n2 / 3)'), ('avg(n2 / 7)'), ('sum(round(n2, 1))'), ('avg(n2 % 0.3)'), ('sum(n2 * n2 * n2)'), ('sum(n) FILTER (WHERE n < 100)'), ('sum(1 / (1 + n2))'),
	('min(s) FILTER (WHERE i2 > 100)'), ('max(s) FILTER (WHERE false)'), ('count(DISTINCT s) FILTER (WHERE b)'), ('sum(length(s)) FILTER (WHERE v LIKE ''V1%'')'),
	('min(DISTINCT s)'), ('count(DISTINCT s) + count(DISTINCT i2)'), ('min(s) || max(v)'), ('sum(i2) + count(DISTINCT i2) + length(max(s))'),
	('max(s COLLATE "C")'), ('min(ts::text)'), ('sum((j ->> ''k'')::int)'), ('avg(a[2])');
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT g, ' || call || ', count(*), sum(i8) FROM facts WHERE id > 20 GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT upper(left(s, 1)), ' || call || ' FROM facts GROUP BY 1') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM none') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT g, ' || call || ' FROM none GROUP BY g') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id = -1') d WHERE d IS NOT NULL ORDER BY id;

-- whole queries
SELECT d FROM unnest(ARRAY[
	'SELECT upper(s), count(*) FROM facts GROUP BY 1 HAVING min(v) < ''V2'' AND count(*) > 3',
	'SELECT left(s, 1), rank() OVER (ORDER BY count(*) DESC, left(s, 1)) FROM facts GROUP BY 1',
	'SELECT x, (SELECT min(s) FROM facts WHERE g = x) FROM generate_series(0, 7) x',
	'SELECT x, y.m FROM generate_series(0, 3) x, LATERAL (SELECT max(s || x) AS m FROM facts WHERE g = x OFFSET 0) y',
	'SELECT lower(ci COLLATE "C"), count(*), max(s) FROM facts GROUP BY ci',
	'SELECT n + 0.00, count(*) FROM facts GROUP BY n',
	'SELECT count(*) FROM (SELECT DISTINCT left(s, 2), b FROM facts) q',
	'SELECT min(s), (SELECT max(v) FROM facts) FROM facts',
	'SELECT DISTINCT ''constant'' AS k FROM facts WHERE id < 0',
	'SELECT DISTINCT ''constant'' AS k FROM facts',
	'SELECT coalesce(NULL, ''k'') AS k, count(*), min(s) FROM facts WHERE id < 0 GROUP BY 1',
	'SELECT upper(''k'') AS k, count(*), min(s) FROM facts GROUP BY 1'
]) q, differ(q) d WHERE d IS NOT NULL;

-- errors are PostgreSQL's own, and only for rows that pass
SELECT d FROM unnest(ARRAY[
	'SELECT 1 / length(s), count(*) FROM facts GROUP BY 1',
	'SELECT sum(1 / length(s)) FROM facts',
	'SELECT sum(1 / length(s)) FILTER (WHERE s <> '''') FROM facts',
	'SELECT 1 / length(s), count(*) FROM facts WHERE s > '''' GROUP BY 1'
]) q, differ(q) d WHERE d IS NOT NULL;

-- EXPLAIN says what is evaluated how often; what cannot be has its reason
SET gpucol.pushdown = allow;
EXPLAIN (COSTS OFF) SELECT upper(left(s, 1)), min(v), sum(i2) FROM facts GROUP BY 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT upper(s) || random()::text, count(*) FROM facts GROUP BY 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT string_agg(s, ',') FROM facts;
EXPLAIN (COSTS OFF, VERBOSE) SELECT string_agg(DISTINCT s, chr(44)) FROM facts;
EXPLAIN (COSTS OFF, VERBOSE) SELECT variance(n) FROM facts;
EXPLAIN (COSTS OFF, VERBOSE) SELECT (g, b), count(*) FROM facts GROUP BY 1;

-- keys are looked up by hash, also those that the engine computes: money has none
CREATE TABLE prices (m money, c text) USING gpucol;
INSERT INTO prices SELECT (i % 100)::money, 'c' || i % 3 FROM generate_series(1, 20000) i;
ANALYZE prices;
EXPLAIN (COSTS OFF, VERBOSE) SELECT m, upper(c), count(*) FROM prices GROUP BY 1, 2;
SELECT count(*) FROM (SELECT DISTINCT m, 'constant' FROM prices) q;
SELECT count(*), sum(n) FROM (SELECT m, upper(c), count(*) AS n FROM prices GROUP BY 1, 2) q;
SELECT count(*), sum(n) FROM (SELECT m, count(DISTINCT upper(c)) AS n FROM prices GROUP BY 1) q;

-- an expression is evaluated once for each value, and never for a deleted one
CREATE FUNCTION note(t text) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE NOTICE '%', t; RETURN upper(t); END $$;
SET gpucol.pushdown = require;
SET client_min_messages = notice;
SELECT note(e::text), count(*) FROM facts WHERE e IS NOT NULL GROUP BY 1 ORDER BY 2, 1;
SET client_min_messages = warning;

-- an expression of a key that is evaluated after window functions or a sort brings columns of
-- the key along; they are no keys
CREATE TABLE late (id int PRIMARY KEY, i8 int8, tz timestamptz) USING gpucol;
INSERT INTO late SELECT i, i % 5 + 9000000000000000000, timestamptz '2024-01-01 00:00Z' + i % 40 * interval '1 hour' FROM generate_series(1, 2000) i;
ANALYZE late;
SET gpucol.pushdown = allow;
SELECT ROW(tz::date, count(*)) AS row, lag(count(*)) OVER (ORDER BY tz::date) FROM late GROUP BY tz::date ORDER BY 1;
SELECT to_char(tz::date, 'DD.MM.') AS day, count(*), sum(count(*)) OVER () FROM late GROUP BY tz::date ORDER BY 1;
SELECT i8::float8 / 2 AS half, rank() OVER (ORDER BY i8::float8), count(*) FROM late GROUP BY i8::float8;
SELECT (tz::date)::text || left(random()::text, 0) AS day, count(*) FROM late GROUP BY tz::date ORDER BY count(*) LIMIT 5;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT to_char(tz::date, 'DD.MM.') AS day, sum(count(*)) OVER () FROM late GROUP BY tz::date \g (format=unaligned tuples_only=on) | grep -Ev 'Output: to_char|Window:|^WindowAgg|^Custom Scan .GpucolWindow.'
-- columns that depend on the keys are
SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT id, i8 / 2 AS half, count(*), sum(count(*)) OVER () FROM late GROUP BY id HAVING max(tz) > '2024-01-01' \g (format=unaligned tuples_only=on) | grep -v Window:
SELECT sum(half), max(sum) FROM (SELECT id, i8 / 2 AS half, count(*), sum(count(*)) OVER () FROM late GROUP BY id, i8) q;

-- -0 and 0 are one group to an engine, so what may tell them apart is PostgreSQL's
CREATE TABLE signed (k int, f float8, r real) USING gpucol;
INSERT INTO signed SELECT i % 3, (ARRAY['-0', '0', 'NaN', '1.5', NULL]::float8[])[1 + i % 5], (ARRAY['0', '-0', '2']::real[])[1 + i % 3] FROM generate_series(1, 3000) i;
SET gpucol.pushdown = allow;
SELECT f::text, count(*) FROM signed GROUP BY 1 ORDER BY 1;
SELECT length(r || ''), count(*), max(f::text) FROM signed GROUP BY 1 ORDER BY 1;
SELECT f, k, max(r::text), min(to_char(f + 0, 'S9.9')) FROM signed WHERE f > 0 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT atan2(f, -1)::numeric(4,2), count(*) FROM signed GROUP BY ROLLUP (1) ORDER BY 1, 2;
SELECT coalesce(-f, 7)::varchar, count(*) FROM signed GROUP BY 1 ORDER BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT f::text, count(*) FROM signed GROUP BY 1;
SELECT d FROM unnest(ARRAY[
	'SELECT (f / 3)::numeric, count(*), min((r * 2)::int::text) FROM signed WHERE f IS DISTINCT FROM ''NaN'' GROUP BY 1',
	'SELECT round(f) + 0.0::float8 IS NULL, upper((floor(f) > 0)::text), count(*) FROM signed GROUP BY 1, 2',
	'SELECT concat(CASE r WHEN 0 THEN ''zero'' ELSE ''other'' END), coalesce(nullif(abs(f), 0), -1)::numeric, count(*) FROM signed WHERE f < 9 GROUP BY 1, 2',
	'SELECT to_timestamp(f), count(*) FROM signed WHERE f < 9 GROUP BY 1'
	]) q, differ(q, CASE WHEN q LIKE '%::numeric%' THEN 'Engine: ' ELSE 'Evaluated Once Per' END) d WHERE d IS NOT NULL;

-- more groups than memory is allowed: PostgreSQL's own aggregation answers
CREATE TABLE many (k text, v int) USING gpucol;
INSERT INTO many SELECT md5(i::text), i FROM generate_series(1, 80000) i;
SET work_mem = '1MB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum(n), left(min(k), 32) FROM (SELECT lpad(k, 4000, k) AS k, count(*) AS n FROM many GROUP BY 1) q;
DO $$
DECLARE line text;
BEGIN
	FOR line IN EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT lpad(k, 4000, k), count(*) FROM many GROUP BY 1 LOOP
		IF line LIKE '%Fallback%' THEN RAISE WARNING '%', btrim(line); END IF;
	END LOOP;
END $$;

SET client_min_messages = error;
DROP SCHEMA agg_text CASCADE;
