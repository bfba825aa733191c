-- Conditions pushed to an engine give PostgreSQL's own rows: every query runs
-- with pushdown forbidden and required, and both results are compared as text.
SET client_min_messages = warning;
CREATE SCHEMA scan_filters;
SET search_path = scan_filters, public;

\set node GpucolScan
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- Is the condition pushed down as a whole (no Filter of PostgreSQL's is left)?
CREATE FUNCTION pushed(condition text, tab text DEFAULT 'wide') RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	pushed boolean := false;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM %I WHERE %s', tab, condition) LOOP
		IF line ~ '^ *Filter:' OR line ~ 'One-Time' THEN
			pushed := NULL;
		ELSIF line ~ 'Pushed Filter:' THEN
			pushed := coalesce(pushed, false) OR pushed IS NOT NULL;
		END IF;
	END LOOP;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	RETURN coalesce(pushed, false);
END $$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE wide (
	id int, b bool, ch "char", i2 int2, i4 int4, i8 int8, o oid,
	f4 float4, f8 float8, n2 numeric(10,2), n0 numeric(18,0), n18 numeric(18,18), nn numeric,
	d date, t time, ts timestamp, tz timestamptz, m money, e mood,
	s text, v varchar(20), c char(5), nm name, by bytea, u uuid, iv interval, j jsonb, arr int[]
) USING gpucol;

SELECT setseed(0.25);
INSERT INTO wide
SELECT i,
	CASE WHEN i % 7 = 0 THEN NULL ELSE random() < 0.5 END,
	chr(65 + i % 26)::"char",
	CASE WHEN i % 11 = 0 THEN NULL ELSE (random() * 200 - 100)::int2 END,
	CASE WHEN i % 13 = 0 THEN NULL ELSE (random() * 2000 - 1000)::int4 END,
	CASE WHEN i % 17 = 0 THEN NULL ELSE (random() * 2e15 - 1e15)::int8 END,
	(random() * 4294967295)::int8::oid,
	CASE i % 19 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-0' ELSE (random() * 100 - 50)::float4 END,
	CASE i % 23 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' ELSE random() * 1e6 - 5e5 END,
	CASE WHEN i % 5 = 0 THEN NULL ELSE (random() * 20000 - 10000)::numeric(10,2) END,
	(random() * 1e17)::numeric(18,0),
	random()::numeric(18,18) * 0.999,
	CASE WHEN i % 29 = 0 THEN NULL ELSE (random() * 1000)::numeric END,
	CASE i % 31 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE date '2000-01-01' + (random() * 8000)::int END,
	time '00:00' + random() * interval '1 day',
	CASE i % 37 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE timestamp '2000-01-01' + (random() * 8000)::int * interval '12 hours' END,
	timestamptz '2000-01-01 00:00Z' + random() * 8000 * interval '1 day',
	(random() * 1000)::numeric::money,
	(ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3],
	CASE WHEN i % 9 = 0 THEN NULL ELSE 'word ' || (random() * 50)::int END,
	left(md5(i::text), 1 + i % 10),
	left(md5(i::text), i % 5),
	('n' || i % 20)::name,
	decode(left(md5(i::text), 4), 'hex'),
	md5((i % 100)::text)::uuid,
	(i % 50) * interval '1 hour',
	jsonb_build_object('k', i % 10, 'x', 'y'),
	ARRAY[i % 3, i % 4]
FROM generate_series(1, 3000) i;
-- extremes, each a few times, as single rows
INSERT INTO wide (id, i2, i4, i8, o, f4, f8, n2, n0, n18, nn, d, ts, s)
SELECT 10000 + i, 32767, 2147483647, 9223372036854775807, 4294967295, 3.4e38, 1.7e308, 99999999.99,
	999999999999999999, 0.999999999999999999, 1e100, '5874897-12-31', '294276-12-31 23:59:59.999999', ''
FROM generate_series(1, 3) i;
INSERT INTO wide (id, i2, i4, i8, o, f4, f8, n2, n0, n18, nn, d, ts, s)
VALUES (10010, -32768, -2147483648, -9223372036854775808, 0, -3.4e38, -1.7e308, -99999999.99,
	-999999999999999999, -0.999999999999999999, -1e100, '4713-01-01 BC', '4713-01-01 00:00:00 BC', repeat('x', 3000));
DELETE FROM wide WHERE id % 10 = 3 AND id < 900;
UPDATE wide SET i4 = i4 + 1, s = s || '!' WHERE id % 10 = 4 AND id < 500;
ANALYZE wide;

CREATE TABLE conditions (condition text, id serial, raises bool);

-- column op constant, constants inside, at and beyond the column's range
INSERT INTO conditions (condition)
SELECT format('%s %s %s', col, op, const)
FROM (VALUES
	('i2', '{0,-100,99,32767,-32768,32768,-32769,2147483648,9223372036854775807}'::text[]),
	('i4', '{0,-1000,999,2147483647,-2147483648,2147483648,-9223372036854775808}'),
	('i8', '{0,123456789012,9223372036854775807,-9223372036854775808}'),
	('f4', '{0,''-0''::float4,1.5::float4,''NaN''::float4,''Infinity''::float4,3.4e38::float4,1e300::float8,0.1::float8}'),
	('f8', '{0,''NaN'',''-Infinity'',''Infinity'',1e308,0.1::float4}'),
	('n2', '{0,0.005,-0.005,123.45,123.456,-123.456,99999999.99,1e50,-1e50,''NaN'',''Infinity'',''-Infinity''}'),
	('n0', '{0,0.5,-0.5,5e16,1e18}'),
	('n18', '{0,0.5,0.000000000000000000001,-1}'),
	('d', '{''2010-01-01''::date,''infinity''::date,''-infinity''::date,''2010-01-01 00:00''::timestamp,''2010-01-01 12:00''::timestamp,''1990-01-01 12:00''::timestamp,''infinity''::timestamp,''294276-12-31''::timestamp}'),
	('t', '{''12:00''::time,''24:00''::time}'),
	('ts', '{''2005-06-07''::timestamp,''2005-06-07''::date,''infinity''::timestamp,''-infinity''::date,''5874897-12-31''::date,''294277-01-01''::date}'),
	('tz', '{''2005-06-07 00:00Z''::timestamptz}'),
	('m', '{500::money}'),
	('o', '{0,4294967295,3000000000}'),
	('ch', '{''A'',''M''}')) c(col, consts),
	unnest(consts) const,
	unnest('{=,<>,<,<=,>,>=}'::text[]) op;
-- the constant on the left
INSERT INTO conditions (condition)
SELECT format('%s %s %s', const, op, col)
FROM (VALUES ('i4', '100'), ('i2', '100000'), ('n2', '0.125'), ('f8', '0'), ('d', '''2010-01-01 12:00''::timestamp'), ('ts', '''2010-01-01''::date')) c(col, const),
	unnest('{=,<>,<,<=,>,>=}'::text[]) op;
-- lists, NULL, booleans, logic, arithmetic, CASE and the rest
INSERT INTO conditions (condition) VALUES
	('i4 IN (1, 2, 3, -5, 100)'), ('i4 NOT IN (1, 2, 3, -5, 100)'), ('i4 IN (1, NULL)'), ('i4 NOT IN (1, NULL)'),
	('i4 = ANY (''{}'')'), ('i4 <> ALL (''{}'')'), ('i4 = ANY (NULL::int[])'), ('i4 = ANY (''{NULL}'')'),
	('i2 IN (1, 2, 70000)'), ('i8 IN (1, 2, 3)'), ('n2 IN (1.5, 2.25, 3.333)'), ('n2 NOT IN (1.5, 2.25, 3.333)'),
	('f8 IN (0, ''NaN'', 1)'), ('f8 NOT IN (0, ''NaN'', 1)'), ('d IN (''2010-01-01'', ''infinity'')'), ('e IN (''sad'', ''ok'')'), ('e <> ''sad'''),
	('i4 BETWEEN -10 AND 10'), ('i4 NOT BETWEEN -10 AND 10'), ('n2 BETWEEN 0 AND 100.005'), ('i4 BETWEEN SYMMETRIC 10 AND -10'),
	('i4 > 0 AND i4 < 500 AND i4 <> 5'), ('i4 > 10 AND i4 > 20 AND i4 < 30 AND i4 < 25'),
	('i4 IS NULL'), ('i4 IS NOT NULL'), ('s IS NULL'), ('s IS NOT NULL'), ('b IS NULL'), ('i4 = NULL AND b OR i2 > 3'), ('NOT (i4 IS NULL AND i2 IS NULL)'),
	('b'), ('NOT b'), ('b IS TRUE'), ('b IS NOT TRUE'), ('b IS FALSE'), ('b IS NOT FALSE'), ('b IS UNKNOWN'), ('b IS NOT UNKNOWN'),
	('b = true'), ('b <> false'), ('b = (i4 > 0)'), ('b < (i4 > 0)'), ('(i4 > 0) IS UNKNOWN'), ('(i4 > 0) IS NOT TRUE'),
	('i4 > 0 OR i2 < 0'), ('i4 > 0 OR i2 IS NULL OR b'), ('NOT (i4 > 0 OR i2 < 0)'), ('(i4 > 0 AND b) OR (i2 < 0 AND NOT b)'),
	('i4 > 0 OR s LIKE ''word 1%'''), ('i4 > 0 AND NOT (s = ''word 7'' OR i2 > 5)'),
	('i2 + i2 > 10'), ('i4 + i2 > 10'), ('i4 - i8 > 10'), ('i8 + i4 > 0'), ('i4 * i2 > 1000'), ('i4 / 7 = 3'), ('i4 % 7 = 3'), ('i4 % -1 = 0'), ('-i4 > 5'), ('abs(i4) < 100'),
	('i2 = i4'), ('i2 < i8'), ('i4 >= i2'), ('f4 < f8'), ('f4 = f4'), ('d < ts::date OR b'), ('extract(month FROM ts) IN (1, 2)'), ('date_trunc(''day'', ts) = ts'), ('n2 > n0'), ('n2 = n2'), ('n2 < n18'),
	('f8 + 1 > f4'), ('f8 * 2 < 1000'), ('f8 / 3 > f4'), ('-f8 > 0'), ('abs(f4) < 10'), ('f4 + f4 > 1'), ('f4 * 2::float4 > 10'),
	('n2 + 1.005 > 100'), ('n2 * 1.5 < 75.125'), ('n2 - n2 = 0'), ('-n2 > 9000.5'), ('abs(n2) < 100'), ('n2 * n2 > 1000000'), ('n2 + n18 > 5'),
	('i4::int8 > 100'), ('i8::int4 > 0 OR i8 IS NULL'), ('i4::float8 > 10.5'), ('f8::int4 > 10'), ('i4::numeric > 10.5'), ('i8::numeric * 2 > 1e15'), ('b::int = 1'), ('f4::float8 > 1'), ('i2::int4 = 5'),
	('i4 > 10.5'), ('i4 = 10.5'), ('i8 < 1e30'), ('i4 > 10.5::float8'),
	('CASE WHEN i4 > 0 THEN i2 ELSE i4 END > 50'), ('CASE WHEN i4 > 0 THEN b ELSE NOT b END'), ('CASE i4 WHEN 1 THEN true WHEN 2 THEN b END'),
	('CASE WHEN i2 <> 0 THEN i4 / i2 > 5 END'), ('CASE WHEN i2 = 0 THEN NULL ELSE i4 / i2 END > 5'), ('CASE s WHEN ''word 1'' THEN 1 WHEN ''word 2'' THEN 2 ELSE 3 END < 3'),
	('CASE WHEN n2 > 0 THEN n2 ELSE 0 END > 100'), ('CASE WHEN n2 > 0 THEN n2 ELSE n18 END > 0.5'),
	('coalesce(i4, i2, 0) = 0'), ('coalesce(n2, 1.5) > 1'), ('coalesce(b, true)'), ('nullif(i4, 5) IS NULL'), ('nullif(i2, i4) = 3'), ('nullif(n2, 0) > 5'),
	('greatest(i4, i2, 0) > 50'), ('least(i4, i2) < -50'), ('greatest(f8, f4) > 0'), ('least(d, ''2010-01-01'') < ''2009-01-01'''), ('greatest(n2, 0.5) = 0.5'),
	('i4 IS DISTINCT FROM i2'), ('i4 IS NOT DISTINCT FROM i2'), ('i4 IS DISTINCT FROM NULL'), ('s IS DISTINCT FROM ''word 5'''), ('f8 IS NOT DISTINCT FROM ''NaN'''),
	('i4 + 1 IN (1, 2, 3)'), ('i4 + 1 NOT IN (1, 2, NULL)'), ('n2 + 1 IN (1.5, 2)'), ('i4 > ANY (''{1,500}'')'), ('i4 > ALL (''{1,500}'')'), ('i4 > ALL (''{1,NULL}'')'), ('i4 < ANY (''{-500,NULL}'')'), ('b OR i4 IN (1, 2, 3)'),
	('i8 <> 0 AND i4 / i8 = 0'), ('i2 <> 0 AND b AND i4 % i2 = 1'), ('i2 <> 0 AND 100 / i2 > 3 AND i4 > 0'),
	-- predicates that PostgreSQL evaluates once per value
	('s = ''word 5'''), ('s <> ''word 5'''), ('s < ''word 3'''), ('s >= ''word 3'''), ('s LIKE ''word 1%'''), ('s NOT LIKE ''%1'''), ('s ILIKE ''WORD _'''), ('s ~ ''[13579]$'''), ('s !~ ''^word 4'''), ('s ~* ''WORD 1'''),
	('s IN (''word 1'', ''word 2'', NULL)'), ('s NOT IN (''word 1'', ''word 2'')'), ('length(s) > 6'), ('upper(s) = ''WORD 7'''), ('lower(v) = v'), ('left(s, 6) = ''word 1'''), ('right(s, 1) = ''5'''),
	('s || ''x'' = ''word 9x'''), ('coalesce(s, ''none'') = ''none'''), ('s IS NULL OR s = ''word 3'''), ('CASE WHEN s = ''word 1'' THEN true ELSE s LIKE ''%2'' END'), ('NOT (s LIKE ''%1'' OR s LIKE ''%2'')'), ('replace(s, ''word'', ''w'') = ''w 8'''),
	('position(''4'' in s) > 0'), ('starts_with(s, ''word 4'')'), ('trim(s) = ''word 6'''), ('md5(s) < ''8'''), ('reverse(s) LIKE ''1%'''), ('substr(s, 6) = ''12'''),
	('v = ''c4ca4'''), ('v > ''8'''), ('v LIKE ''c%'''), ('c = ''c4'''), ('c = ''c4   '''), ('c < ''8'''), ('c LIKE ''c%'''), ('length(c) = 3'), ('nm = ''n7'''), ('nm > ''n5'''), ('by = ''\xc4ca'''), ('by > ''\x80'''), ('length(by) = 2'),
	('u = ''c4ca4238-a0b9-2382-0dcc-509a6f75849b'''), ('u < ''80000000-0000-0000-0000-000000000000'''), ('iv > ''5 hours'''), ('iv = ''1 day'''), ('nn > 500'), ('nn = 1e100'), ('-nn > 100.5'), ('nn IS NULL'), ('nn < ''NaN'''),
	('j @> ''{"k": 3}'''), ('j ->> ''k'' = ''4'''), ('j ? ''x''');

-- every condition alone is pushed down whole ...
SELECT condition FROM conditions WHERE NOT pushed(condition) ORDER BY id;
-- ... and gives the same rows, also negated
SELECT d FROM conditions, differ('SELECT * FROM wide WHERE ' || condition) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM conditions, differ('SELECT id FROM wide WHERE NOT (' || condition || ')') d WHERE d IS NOT NULL ORDER BY id;
-- pairs of conditions, joined both ways; those that raise errors apart, since
-- the order of conditions decides which rows they see
CREATE FUNCTION raises(query text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') q';
	RETURN false;
EXCEPTION WHEN OTHERS THEN
	RETURN true;
END $$;
UPDATE conditions SET raises = raises('SELECT id FROM wide WHERE ' || condition);
SELECT d FROM conditions a JOIN conditions b ON (a.id * 7919) % 2003 = b.id % 2003 AND b.id > a.id AND NOT a.raises AND NOT b.raises,
	differ(format('SELECT id, s FROM wide WHERE (%s) AND (%s)', a.condition, b.condition)) d
WHERE d IS NOT NULL ORDER BY a.id, b.id;
SELECT d FROM conditions a JOIN conditions b ON (a.id * 7907) % 2003 = b.id % 2003 AND b.id > a.id AND NOT a.raises AND NOT b.raises,
	differ(format('SELECT id FROM wide WHERE (%s) OR (%s)', a.condition, b.condition)) d
WHERE d IS NOT NULL ORDER BY a.id, b.id;

-- errors are PostgreSQL's own
SELECT d FROM (VALUES ('i4 / (i2 - i2) = 1'), ('i4 % (i2 - i2) = 1'), ('i4 + 2147483647 > 0'), ('i2 * i2 * i2 > 0'), ('i8 * i8 > 0'), ('-i8 > 0'), ('abs(i4) > 0'),
	('i8::int4 > 0'), ('i4::int2 > 0'), ('f8::int4 > 0'), ('f8 * 1e10 > 0'), ('f8 / 0 > 1'), ('f8::float4 > 0'), ('f4 * f4 > 0')) e(condition),
	differ('SELECT id FROM wide WHERE ' || condition) d WHERE d IS NOT NULL;

-- empty and tiny tables
CREATE TABLE none (LIKE wide) USING gpucol;
CREATE TABLE one (LIKE wide) USING gpucol;
INSERT INTO one SELECT * FROM wide WHERE id = 5;
SELECT d FROM conditions, unnest('{none,one}'::text[]) tab, differ(format('SELECT * FROM %I WHERE %s', tab, condition)) d
WHERE id % 5 = 0 AND d IS NOT NULL ORDER BY id;

SET client_min_messages = error;
DROP SCHEMA scan_filters CASCADE;
