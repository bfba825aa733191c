-- Aggregations with conditions that PostgreSQL tests on the engine's groups or rows, and what it remembers of
-- expressions by the value of their column.
SET client_min_messages = warning;
CREATE SCHEMA agg_tested;
SET search_path = agg_tested, public;
SET timezone = 'UTC';

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE rows_of (id int, s smallint, b bigint, p numeric(12,2), n numeric, f float8, ts timestamp, tz timestamptz, d date, iv interval, c text, t text, bo bool, e mood, j jsonb, a int[], u uuid) USING gpucol;
INSERT INTO rows_of SELECT i, i % 50, i * 1000003::bigint % 7919, (i % 900) / 4.0, CASE WHEN i % 13 > 0 THEN i % 77 / 7.0 END, CASE WHEN i % 101 = 0 THEN 'NaN' ELSE i % 300 / 8.0 END,
	timestamp '2020-01-01' + i * interval '97 minutes', timestamptz '2019-12-31 22:00+00' + i * interval '61 minutes', date '2020-01-01' + i % 400, make_interval(mins => i % 500),
	CASE WHEN i % 17 > 0 THEN (ARRAY['Alpha', 'beta', 'Gamma', ''])[1 + i % 4] END, 'text ' || i % 700, i % 3 = 0, (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood,
	jsonb_build_object('n', i % 90, 'k', 'v' || i % 9), ARRAY[i % 5, i % 7], md5((i % 40)::text)::uuid FROM generate_series(1, 4000) i;
INSERT INTO rows_of (id) VALUES (-1);
INSERT INTO rows_of (id, ts, tz, p, f) VALUES (-2, 'infinity', '-infinity', 0, '-0'), (-3, '1960-05-05 01:02:03', '2150-01-01', -1, '0');
DELETE FROM rows_of WHERE id % 29 = 3;
UPDATE rows_of SET t = 'changed' WHERE id % 31 = 4;
ANALYZE rows_of;

-- once for each group of the engine, or row by row
EXPLAIN (COSTS OFF) SELECT count(*) FROM rows_of WHERE (j ->> 'n')::int > 50 AND s < 40;
EXPLAIN (COSTS OFF) SELECT bo, sum(p) FROM rows_of WHERE u::text < '8' GROUP BY bo;
EXPLAIN (COSTS OFF) SELECT sum(100 / s) FROM rows_of WHERE ln(p + 2) > 1;

CREATE TABLE tested (cond text, id serial);
INSERT INTO tested (cond) VALUES ('(j ->> ''n'')::int > 50'), ('to_char(ts, ''YYYY-MM'') = ''2020-03'''), ('to_char(tz, ''HH24:MI'') < ''07:00'' AND s > 3'), ('ln(p + 2) > 3'), ('sqrt(abs(n)) < 2 OR c = ''beta'''),
	('power(n, 2) > 20 AND (j ->> ''n'')::int % 2 = 0'), ('a @> ARRAY[1, 3]'), ('t LIKE c || ''%'''), ('t || c ~ ''1.*a$'''), ('age(ts, tz::timestamp) > interval ''5 days'''), ('n % 3 = 1 AND NOT bo'),
	('date_trunc(''hour'', tz AT TIME ZONE ''Europe/Berlin'') > timestamp ''2020-03-01'''), ('log(p + 2) > 5'), ('ln(p + 2) > 1 AND (j ->> ''n'')::int < 1000'), ('u::text < ''8'''), ('to_char(ts, ''US'') IS NULL'),
	('e::text = ''ok'' AND iv * 2 > interval ''3 hours'''), ('(ln(p + 2) > 3) IS NOT TRUE'), ('array_length(a, 1) IS NULL'), ('(c || t) IN (''Alphatext 4'', ''Gammatext 6'')');
-- all, on the engine's groups where the engine may compute the others, else on rows
SELECT d FROM tested, unnest(ARRAY[
	'SELECT count(*), sum(s), min(b), max(d), count(DISTINCT c) FROM rows_of WHERE %s',
	'SELECT c, count(*), avg(p), bool_or(bo), count(*) FILTER (WHERE s > 20) FROM rows_of WHERE %s GROUP BY c',
	'SELECT upper(c) AS k, e, sum(b), max(lower(t)) FROM rows_of WHERE %s GROUP BY 1, 2 HAVING count(*) > 1',
	'SELECT c, s %% 3 AS k, count(*), sum(p * 2) FROM rows_of WHERE %s GROUP BY GROUPING SETS ((1), (2), ())',
	'SELECT sum(1000 / (s + 1)), sum(f), string_agg(c, '','' ORDER BY id), percentile_cont(0.5) WITHIN GROUP (ORDER BY p), sum(DISTINCT s) FILTER (WHERE n > 3) FROM rows_of WHERE %s',
	'SELECT DISTINCT c, bo FROM rows_of WHERE %s',
	'SELECT date_trunc(''month'', ts) AS k, count(*), sum(length(t)), array_agg(id ORDER BY id DESC) FROM rows_of WHERE %s AND id > 0 GROUP BY 1',
	'SELECT c, count(*) FROM rows_of WHERE %s AND s < 45 GROUP BY c ORDER BY 2 DESC, 1 LIMIT 2'
]) q, differ(format(q, cond)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM tested, differ(format('SELECT x.c, y.s, count(*) FROM (SELECT c, s, count(*) AS n FROM rows_of WHERE %s GROUP BY c, s) x JOIN rows_of y ON x.s = y.s AND x.n = y.id GROUP BY 1, 2', cond)) d WHERE d IS NOT NULL ORDER BY id;

-- errors of what conditions leave out are not raised, in whichever place
SELECT d FROM unnest(ARRAY[
	'SELECT sum(100 / s) FROM rows_of WHERE s <> 0 AND ln(p + 2) > 1', 'SELECT sum(100 / (s - 7)) FROM rows_of WHERE (j ->> ''n'')::int > 50 AND sqrt(p + 2) > 1 AND power(s - 7, 2) <> 0',
	'SELECT 100 / (s - 7) AS k, count(*) FROM rows_of WHERE power((s - 7)::numeric, 2) > 0.5 GROUP BY 1', 'SELECT count(*) FILTER (WHERE 100 / (s - 7) > 3) FROM rows_of WHERE to_char(s - 7, ''9'') <> ''  0''',
	'SELECT c, ln(n) > 1 AS k, count(*) FROM rows_of WHERE to_char(n, ''990.00'') <> ''   0.00'' GROUP BY 1, 2', 'SELECT sum((2147483647 - 49 + s)::int) FROM rows_of WHERE repeat(''x'', s) <> ''''',
	'SELECT sum((2147483647 - 30 + s)) FROM rows_of WHERE length(repeat(''x'', s)) <= 30', 'SELECT max(c::int) FROM rows_of WHERE replace(c, ''a'', ''b'') = ''none'''
]) q, differ(q) d WHERE d IS NOT NULL;
-- others are PostgreSQL's
SELECT count(*) FROM rows_of WHERE ln(p) > 1 AND id < 0;
SELECT sum(s) FROM rows_of WHERE (j ->> 'k')::int > 1;
SELECT c, count(*) FROM rows_of WHERE sqrt(n - 5) > 1 GROUP BY c;

-- parameters, a view that hides rows, row security
PREPARE beyond (int, text) AS SELECT count(*), sum(b) FROM rows_of WHERE (j ->> 'n')::int > $1 AND to_char(ts, $2) > '2020';
SET plan_cache_mode = force_generic_plan;
EXECUTE beyond (50, 'YYYY');
EXECUTE beyond (NULL, 'YYYY');
EXECUTE beyond (85, 'DD');
RESET plan_cache_mode;
SELECT x, (SELECT count(*) FROM rows_of WHERE (j ->> 'n')::int = x) AS n FROM generate_series(1, 3) x;
CREATE FUNCTION tell(t text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS 'BEGIN RAISE WARNING ''told %'', t; RETURN true; END';
ALTER FUNCTION tell IMMUTABLE;
CREATE VIEW few WITH (security_barrier) AS SELECT * FROM rows_of WHERE (j ->> 'n')::int < 60 AND to_char(ts, 'YYYY-MM') = '2020-03' AND t < 'text 11';
SET gpucol.pushdown = require;
SELECT count(*), sum(id) FROM few WHERE tell(t);
SELECT t, count(*) FROM few WHERE tell(t) AND tell(upper(t)) GROUP BY t;
CREATE POLICY mine ON rows_of USING (to_char(ts, 'YYYY-MM-DD') = '2020-03-05');
ALTER TABLE rows_of ENABLE ROW LEVEL SECURITY;
CREATE ROLE agg_tested_reader;
GRANT USAGE ON SCHEMA agg_tested TO agg_tested_reader;
GRANT SELECT ON rows_of TO agg_tested_reader;
SET ROLE agg_tested_reader;
SELECT count(*), sum(100 / (s + 1)) AS sum FROM rows_of WHERE tell(left(t, 6));
SELECT c, count(*) FROM rows_of WHERE s < 20 GROUP BY c ORDER BY 1;
RESET ROLE;
ALTER TABLE rows_of DISABLE ROW LEVEL SECURITY;
RESET gpucol.pushdown;

-- what is remembered: many values, few, texts that are long, more than there is memory for
CREATE TABLE repeated (k int, n numeric, t text, ts timestamp, x numeric(20,10)) USING gpucol;
INSERT INTO repeated SELECT i % 1000, i % 300 / 7.0, repeat(md5((i % 500)::text), 5), timestamp '2021-03-01' + i * interval '7 minutes', i * 1.0000001 FROM generate_series(1, 40000) i;
INSERT INTO repeated VALUES (1, 1.0, NULL, NULL, NULL), (1, 1.00, '', '-infinity', 0), (2, NULL, NULL, 'infinity', 1);
ANALYZE repeated;
SELECT d FROM unnest(ARRAY['64MB', '1MB']) memory, set_config('gpucol.memory_limit', memory, false), unnest(ARRAY[
	'SELECT k, sum(power(n, 2)), sum(sqrt(n + 1)) FROM repeated GROUP BY k', 'SELECT k, string_agg(upper(left(t, 3)), '','' ORDER BY x), array_agg(to_char(ts, ''Mon YYYY'') ORDER BY x) FROM repeated GROUP BY k',
	'SELECT n::text, to_char(ts, ''HH24''), count(*) FROM repeated GROUP BY 1, 2', 'SELECT sum(length(replace(t, ''a'', ''bc''))), max(to_char(x, ''999990.00'')), sum(ln(x + 1)) FROM repeated',
	'SELECT count(*) FILTER (WHERE to_char(ts, ''DD'') = ''07''), count(*) FILTER (WHERE md5(t) < ''8''), sum(k) FILTER (WHERE n::text LIKE ''%3'') FROM repeated'
]) q, differ(q) d WHERE d IS NOT NULL;
RESET gpucol.memory_limit;
-- keys and arguments are lowered once more, when it is known how fine the groups are: outputs of the first time are no more
SELECT differ('SELECT date_trunc(''year'', d), id % 7, extract(epoch FROM sum(age((tz - interval ''2 hours''), date_trunc(''day'', timestamptz ''2020-03-29 01:30Z'', ''America/New_York'')))), count(iv), extract(epoch FROM sum(iv))
	FROM rows_of WHERE date_bin(''15 min'', timestamp ''2020-06-01 12:34:56.7'', timestamp ''2020-01-01'') <> date_trunc(''day'', tz, ''America/New_York'') GROUP BY CUBE (1, 2)');
RESET search_path;
DROP SCHEMA agg_tested CASCADE;
DROP ROLE agg_tested_reader;
