-- Aggregates pushed to an engine give PostgreSQL's own results, digit for
-- digit: every query runs with pushdown forbidden and required.
SET client_min_messages = warning;
CREATE SCHEMA agg_basic;
SET search_path = agg_basic, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE facts (
	id int, g1 int2, g2 int4, g3 int8, gt text, gd date, gb bool, ge mood, gf float8, gn numeric(6,2), gu uuid,
	i2 int2, i4 int4, i8 int8, n2 numeric(10,2), n6 numeric(15,6), n0 numeric(12,0), f4 float4, f8 float8,
	d date, t time, ts timestamp, tz timestamptz, m money, o oid, b bool, s text
) USING gpucol;
SELECT setseed(0.75);
INSERT INTO facts
SELECT i, i % 3, CASE WHEN i % 10 = 0 THEN NULL ELSE i % 50 END, (i % 1000) * 1000000007::int8,
	CASE WHEN i % 11 = 0 THEN NULL ELSE 'key ' || i % 20 END,
	date '2020-01-01' + i % 30, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 2 = 0 END, (ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3],
	CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN NULL ELSE i % 9 END, (i % 40) * 0.25, md5((i % 5)::text)::uuid,
	CASE WHEN i % 13 = 0 THEN NULL ELSE (random() * 200 - 100)::int2 END,
	CASE WHEN i % 17 = 0 THEN NULL ELSE (random() * 2e9 - 1e9)::int4 END,
	CASE WHEN i % 19 = 0 THEN NULL ELSE (random() * 1.8e19 - 9e18)::int8 END,
	CASE WHEN i % 5 = 0 THEN NULL ELSE (random() * 2e7 - 1e7)::numeric(10,2) END,
	(random() * 1e8)::numeric(15,6), (random() * 1e11)::numeric(12,0),
	(random() * 100)::float4, round((random() * 1000)::numeric, 3)::float8,
	date '2000-01-01' + (random() * 9000)::int, time '00:00' + random() * interval '1 day', timestamp '2000-01-01' + random() * 9000 * interval '1 day',
	timestamptz '2000-01-01 00:00Z' + random() * 9000 * interval '1 day', (random() * 1e6)::numeric::money, (random() * 4e9)::int8::oid,
	CASE WHEN i % 6 = 0 THEN NULL ELSE random() < 0.9 END, CASE WHEN i % 8 = 0 THEN NULL ELSE 'value ' || (random() * 300)::int END
FROM generate_series(1, 4000) i;
INSERT INTO facts (id, g2, i2, i4, i8, n2, n6, n0, d, s) VALUES
	(5001, 7, 32767, 2147483647, 9223372036854775807, 99999999.99, 999999999.999999, 999999999999, 'infinity', ''),
	(5002, 7, -32768, -2147483648, -9223372036854775808, -99999999.99, -999999999.999999, -999999999999, '-infinity', NULL),
	(5003, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM facts WHERE id BETWEEN 100 AND 150;
UPDATE facts SET i4 = 5 WHERE id BETWEEN 200 AND 220;
ANALYZE facts;

CREATE TABLE calls (call text, id serial);
INSERT INTO calls (call)
SELECT format('%s(%s)', f, c)
FROM unnest('{sum,avg,min,max,count,variance,var_samp,var_pop,stddev,stddev_samp,stddev_pop}'::text[]) f,
	unnest('{i2,i4,i8,n2,n6,n0}'::text[]) c;
INSERT INTO calls (call)
SELECT format('%s(%s)', f, c) FROM unnest('{min,max,count}'::text[]) f, unnest('{d,t,ts,tz,m,o,f4,f8}'::text[]) c;
INSERT INTO calls (call) VALUES
	('count(*)'), ('count(s)'), ('count(b)'), ('count(1)'), ('bool_and(b)'), ('bool_or(b)'), ('every(b)'), ('bool_and(i4 > 0)'),
	('round(sum(f8)::numeric, 4)'), ('round(avg(f8)::numeric, 6)'), ('round(avg(f4)::numeric, 4)'), ('round(stddev(f8)::numeric, 6)'), ('round(var_pop(f8)::numeric, 5)'), ('round(variance(f4)::numeric, 3)'),
	('count(DISTINCT i4)'), ('count(DISTINCT s)'), ('count(DISTINCT b)'), ('count(DISTINCT d)'), ('count(DISTINCT gf)'), ('count(DISTINCT gu)'), ('min(DISTINCT i4)'), ('bool_or(DISTINCT b)'),
	('sum(i4) FILTER (WHERE i2 > 0)'), ('count(*) FILTER (WHERE b)'), ('avg(n2) FILTER (WHERE s LIKE ''value 1%'')'), ('count(DISTINCT s) FILTER (WHERE i4 > 0)'), ('sum(100 / i2) FILTER (WHERE i2 <> 0)'), ('max(d) FILTER (WHERE false)'),
	('sum(i2 + 1)'), ('sum(i4::int8 * 2)'), ('sum(n2 * n6)'), ('avg(n2 * 1.10)'), ('sum(n2 + n6)'), ('sum(-n2)'), ('sum(abs(n2))'), ('max(n2 - 0.5)'), ('min(i4 % 100)'), ('sum(i4::numeric)'), ('avg(i4::numeric * 1.5)'),
	('sum(CASE WHEN i2 > 0 THEN n2 ELSE 0 END)'), ('avg(CASE WHEN i2 > 0 THEN n2 ELSE 0 END)'), ('sum(CASE WHEN i2 > 1000 THEN n2 ELSE 0 END)'), ('sum(CASE WHEN i2 > 0 THEN n2 WHEN i2 < -50 THEN n6 ELSE 1.5 END)'), ('avg(coalesce(n2, 0))'), ('sum(CASE WHEN b THEN 1 ELSE 0 END)'), ('sum(CASE s WHEN ''value 1'' THEN i2 END)'),
	('sum(b::int)'), ('sum(coalesce(i4, 0))'), ('max(greatest(i2, 5))'), ('sum(nullif(i2, 5))'),
	('sum(i4) * 2 + count(*)'), ('sum(n2) / count(*)'), ('max(i4) - min(i4)'), ('coalesce(sum(i4), 0)'), ('CASE WHEN count(*) > 10 THEN avg(i4) END'), ('sum(i2)::text || ''!''');

-- each call alone, under several groupings
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE i4 > 0 AND s LIKE ''value %''') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id < 0') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id = 5003') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM facts WHERE id BETWEEN 10 AND 11') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT gt, ' || call || ' FROM facts GROUP BY gt') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT g1, g2, ' || call || ' FROM facts GROUP BY g1, g2') d WHERE d IS NOT NULL ORDER BY id;

-- every kind of key, alone and in pairs
SELECT d FROM unnest('{g1,g2,g3,gt,gd,gb,ge,gf,gn,gu,d,t,ts,tz,m,o,s,i8,n6,f4,g2 + 1,g2 % 7,g2 > 10,i4 / 1000000,n2 * 2,-gn,gb IS NULL,gt IS NULL,"gt LIKE ''key 1%''",coalesce(g2::int8\, -1),g2 IS NOT DISTINCT FROM g1,"CASE WHEN g2 > 5 THEN 1 ELSE 2 END"}'::text[]) k,
	differ(format('SELECT %s AS k, count(*), sum(i4) FROM facts GROUP BY 1', k)) d WHERE d IS NOT NULL;
SELECT d FROM unnest('{g1,g2,gt,gd,gb,ge,gf,gn,gu}'::text[]) a, unnest('{g2,gt,gd,gb,gf,gn,gu}'::text[]) b,
	differ(format('SELECT %s, count(*), sum(i4) FROM facts GROUP BY 1, 2', a || ',' || b || ' AS b')) d WHERE a <> b AND d IS NOT NULL;
SELECT d FROM unnest('{g1,gt,"gt, gb","g1, g2, gt, gd, gb","gt, g2 + 1"}'::text[]) k,
	differ(format('SELECT DISTINCT %s FROM facts', k)) d WHERE d IS NOT NULL;

-- char(n) is padded, so that equal values have equal bytes; other collations may
-- make different bytes equal
CREATE TABLE chars (c char(4), v varchar(10), n name COLLATE "C") USING gpucol;
INSERT INTO chars SELECT left(md5((i % 30)::text), i % 5), 'v' || i % 3, 'n' || i % 2 FROM generate_series(1, 2000) i;
INSERT INTO chars VALUES ('a', 'a', 'a'), ('a  ', 'a ', 'a '), ('', '', ''), (NULL, NULL, NULL);
SELECT d FROM unnest('{c,v,n,"c, v","v, n"}'::text[]) k, differ(format('SELECT %s, count(*) FROM chars GROUP BY %1$s', k)) d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT count(DISTINCT c), count(DISTINCT v) FROM chars') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT DISTINCT c::text COLLATE "C" FROM chars') d WHERE d IS NOT NULL;

-- whole queries
SELECT d FROM unnest(ARRAY[
	'SELECT gt, count(*) FROM facts GROUP BY gt HAVING count(*) > 190',
	'SELECT gt, count(*) FROM facts GROUP BY gt HAVING sum(i4) > 0 AND gt <> ''key 3''',
	'SELECT count(*) FROM facts HAVING count(*) > 100000',
	'SELECT sum(i4) FROM facts HAVING bool_or(b)',
	'SELECT 1 FROM facts GROUP BY g1',
	'SELECT gt FROM facts GROUP BY gt, g1',
	'SELECT gt || ''x'', upper(gt), count(*) * 2 FROM facts GROUP BY gt',
	'SELECT g1, count(*) FROM facts GROUP BY g1 ORDER BY 2 DESC LIMIT 2',
	'SELECT (g2 + 1) * 2 AS x, count(*) FROM facts GROUP BY g2 + 1',
	'SELECT a.g1, a.n FROM (SELECT g1, count(*) AS n FROM facts GROUP BY g1) a JOIN (SELECT g1, sum(i4) FROM facts GROUP BY g1) b USING (g1)',
	'SELECT g1, n FROM (SELECT g1, count(*) AS n FROM facts GROUP BY g1) a WHERE n > 1000',
	'SELECT count(*) FROM (SELECT DISTINCT gt FROM facts) x',
	'SELECT x, (SELECT count(*) FROM facts WHERE g1 = x) FROM generate_series(0, 4) x',
	'SELECT x, (SELECT sum(i4) FROM facts WHERE i4 > x * 1000 AND g2 IN (x, x + 1)) FROM generate_series(0, 4) x',
	'SELECT x, n FROM generate_series(0, 4) x, LATERAL (SELECT count(*) AS n FROM facts WHERE g2 = x OFFSET 0) y',
	'SELECT count(*) FROM facts WHERE i4 > (SELECT avg(i4) FROM facts)',
	'SELECT g1, count(*) FROM facts GROUP BY g1 HAVING count(*) > (SELECT count(*) / 4 FROM facts)',
	'WITH x AS MATERIALIZED (SELECT gt, sum(n2) AS n FROM facts GROUP BY gt) SELECT * FROM x WHERE n > 0',
	'SELECT g1, count(*) FROM facts GROUP BY g1 UNION ALL SELECT g2, sum(i2) FROM facts GROUP BY g2',
	'SELECT g1, rank() OVER (ORDER BY count(*) DESC) FROM facts GROUP BY g1',
	'SELECT g1, generate_series(1, 2), count(*) FROM facts GROUP BY g1',
	'SELECT DISTINCT count(*) FROM facts GROUP BY g1'
]) q, differ(q) d WHERE d IS NOT NULL;

-- errors are PostgreSQL's own
SELECT d FROM unnest(ARRAY['sum(i4 / (i2 - i2))', 'sum(i4 * 10)', 'count(i2 * i2 * i2)', 'sum(f8 / (i2 - i2)::float8)', 'max(i8 + i8)']) call,
	differ('SELECT ' || call || ' FROM facts') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT i4 * 10, count(*) FROM facts GROUP BY 1') d WHERE d IS NOT NULL;

-- tables without rows
CREATE TABLE none (LIKE facts) USING gpucol;
SELECT d FROM calls, differ('SELECT ' || call || ' FROM none') d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM calls, differ('SELECT gt, ' || call || ' FROM none GROUP BY gt') d WHERE d IS NOT NULL ORDER BY id;

SET client_min_messages = error;
DROP SCHEMA agg_basic CASCADE;
