-- Texts that the engine makes of numbers, dates and times are PostgreSQL's own.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA expr_made_texts;
SET search_path = expr_made_texts, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Evaluated Once|Tested By|fed by|Not Pushed|Custom Scan|Filter' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;

CREATE TABLE t (id int, s smallint, i int, big bigint, n numeric, m numeric(20,6), z numeric(30,0), d date, ts timestamp, tz timestamptz, tm time, b bool, u uuid,
	x text COLLATE "C", v varchar(20) COLLATE "C", f float8) USING gpucol;
INSERT INTO t SELECT i, i % 40000 - 20000, i * 7919 * (CASE i % 2 WHEN 0 THEN 1 ELSE -1 END), i * 104729::bigint * 7919 * i, (i % 1001 - 500) / (10 ^ (i % 9))::numeric,
	(i % 777 - 300) * 1.000001, i * 12345678901234567890::numeric, date '2000-01-01' + (i * 7919 % 40000 - 20000), timestamp '2000-01-01' + (i * 7919 % 9000) * interval '5 days 3 hours 7.000001 seconds' * (i % 3 - 1),
	timestamptz '2000-01-01+00' + (i * 104729 % 9000) * interval '5 days 1.5 seconds' * (i % 3 - 1), time '00:00' + i * interval '13.37 seconds', i % 3 = 0, md5(i::text)::uuid,
	'x' || i % 700, repeat('é', i % 7), i / 7.0 FROM generate_series(1, 6000) i;
INSERT INTO t VALUES (0), (-1, -32768, -2147483648, -9223372036854775808, -0.5, -99999999999999.999999, -999999999999999999999999999999, '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 BC', '00:00', false, NULL, '', ''),
	(-2, 32767, 2147483647, 9223372036854775807, 0.00, 99999999999999.999999, 999999999999999999999999999999, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31+00', '24:00', true, 'ffffffff-ffff-ffff-ffff-ffffffffffff', ' ', 'a'),
	(-3, 0, 0, 0, 0, 0, 0, 'infinity', 'infinity', 'infinity', '23:59:59.999999', NULL, '00000000-0000-0000-0000-000000000000', NULL, NULL),
	(-4, 1, 9, 99, 100, 0.000001, 10, '-infinity', '-infinity', '-infinity', '12:00:00.1', NULL, NULL, NULL, NULL),
	(-5, 10, 100, 1000, 1e-15, -0.000001, 1, '0001-12-31 BC', '0001-12-31 23:59:59.5 BC', '0001-01-01', '01:02:03.000001', NULL, NULL, NULL, NULL),
	(-6, 10, 100, 1000, 12345678901234.567890, 1, 1, '9999-12-31', '10000-01-01', '9999-12-31 23:59:59.999999+00', '01:02:03.000001', NULL, NULL, NULL, NULL);
SELECT gpucol.merge('t');
UPDATE t SET id = id WHERE id % 997 = 0;
DELETE FROM t WHERE id % 991 = 0;
INSERT INTO t SELECT * FROM t WHERE id BETWEEN -6 AND 3;
ANALYZE t;

CREATE TABLE exprs (e text);
INSERT INTO exprs SELECT c || '::text' FROM unnest('{s,i,big,n,m,z,ts,tz,tm,u}'::text[]) c;
INSERT INTO exprs VALUES ('(m * 2)::text'), ('(n / 3)::text'), ('(i % 10)::text'), ('(big / 1000)::varchar'), ('x || i'), ('i || ''-'' || big'), ('i || ''/'' || x || ''/'' || n'), ('''a'' || s || x'),
	('concat(i, x, b, d)'), ('concat(x, NULL, v)'), ('concat_ws(''-'', x, i, v)'), ('concat_ws('''', b, ts)'), ('concat_ws('', '', d, tm, u)'), ('format(''%s'', i)'), ('format(''%s: 100%% of %s.'', x, m)'),
	('d || '' '' || x'), ('upper(x) || i'), ('left(ts::text, 7)'), ('substr(big::text, 2, 3)'), ('right(u::text, 4)'), ('split_part(concat_ws(''-'', i, x), ''-'', 2)'), ('tz || ''''::text'), ('b::text || i'),
	('x || v'), ('date_trunc(''month'', ts)::text'), ('extract(year FROM ts)::text'), ('extract(epoch FROM tz)::text');
SELECT e, d FROM exprs, differ(format('SELECT %s AS k, count(*), min(id) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT min((%s) COLLATE "C"), max((%1$s) COLLATE "C"), count(%1$s) FROM t', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT x, min((%s) COLLATE "C"), max((%1$s) COLLATE "C") FILTER (WHERE id %% 2 = 0) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT count(DISTINCT %s) FROM t', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT sum(length(%s)), max(length(%1$s)), max(octet_length(%1$s)) FROM t', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT count(*), sum(id) FROM t WHERE %s = x OR %1$s = v', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT count(*), sum(id) FILTER (WHERE %s < ''5'' COLLATE "C") FROM t WHERE %1$s >= ''2'' COLLATE "C" OR ''x5'' = %1$s', e)) d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT id, x FROM t WHERE x || ''-'' || i = ''x5-39595'' OR ts::text = NULL', 'GpucolScan') d;
SELECT p FROM plan_of('SELECT count(*) FROM t WHERE x || ''-'' || i = ''x5-39595''') p;
-- what bytes decide of them
CREATE TABLE tests (t text);
INSERT INTO tests VALUES ('%s LIKE ''%%7%%'''), ('%s NOT LIKE ''1%%5'''), ('%s LIKE ''_2%%'''), ('%s ~ ''^[0-9]+[a-z-]'''), ('%s !~ ''0$'''), ('%s = ANY (''{0,1,12,x5-39595,2000-01-01,NULL}'')'),
	('%s <> ALL (''{0,1,12}'')'), ('%s ILIKE ''%%X%%'''), ('starts_with(%s, ''1'')'), ('left(%s, 2) LIKE ''%%1'''), ('%s ^@ ''2'''), ('length(%s) > 5 AND %1$s LIKE ''%%0%%'''), ('NOT (%s LIKE ''%%1%%'') OR i = 7'),
	('upper(%s) = ''X1'' OR upper(%1$s) LIKE ''%%:%%''');
SELECT e, t, d FROM exprs, tests, differ(format('SELECT count(*), sum(id) FROM t WHERE %s', format(t, '(' || e || ')'))) d WHERE length(e || t) % 3 = 0 AND d IS NOT NULL;
SELECT e, t, d FROM exprs, tests, differ(format('SELECT x, count(*) FILTER (WHERE %s), bool_or(%1$s) FROM t GROUP BY 1', format(t, '(' || e || ')'))) d WHERE t ~ '12|_2' AND d IS NOT NULL;
SELECT d FROM differ('SELECT id, x FROM t WHERE i::text LIKE ''%95'' AND ts::text NOT LIKE ''%:00''', 'GpucolScan') d;
SELECT d FROM differ('SELECT count(*) FROM t WHERE i::text LIKE ''%9'' || NULL') d;
SELECT p FROM plan_of('SELECT count(*) FROM t WHERE i::text LIKE ''%95'' AND x || i ~ ''5$''') p;
SELECT p FROM plan_of('SELECT count(*) FILTER (WHERE concat(i, x) LIKE ''%95'') FROM t') p;
-- a pattern that is another text is PostgreSQL's
SELECT p FROM plan_of('SELECT count(*) FROM t WHERE i::text LIKE s::text') p;
-- all of it is the engine's
SELECT e, p FROM exprs, plan_of(format('SELECT min((%s) COLLATE "C"), count(DISTINCT %1$s) FROM t', e)) p WHERE p !~ 'Custom Scan';
-- but texts of few values, floats, formats of other kinds
SELECT e, p FROM unnest('{d::text,b::text,f::text,"format(''%5s'', i)","concat_ws(x, i, s)",concat(f)}'::text[]) e, plan_of(format('SELECT min(%s COLLATE "C"), count(DISTINCT %1$s) FROM t', e)) p WHERE p !~ 'Custom Scan';
SELECT e, d FROM unnest('{d::text,b::text,f::text,"format(''%5s'', i)","concat_ws(x, i, s)",concat(f),"concat(NULL)","concat_ws(NULL, x)"}'::text[]) e, differ(format('SELECT min(%s COLLATE "C"), count(DISTINCT %1$s) FROM t', e)) d WHERE d IS NOT NULL;
-- other settings
SET datestyle = German;
SELECT e, d FROM exprs, differ(format('SELECT %s AS k, count(*) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SET datestyle = ISO;
SET timezone = 'America/St_Johns';
SELECT d FROM differ('SELECT tz::text, count(*) FROM t GROUP BY 1') d;
SELECT d FROM differ('SELECT min(tz::text COLLATE "C"), max(concat(tz, i) COLLATE "C") FROM t') d;
SET timezone = 'Africa/Monrovia';
SELECT d FROM differ('SELECT tz::text, count(*) FROM t GROUP BY 1') d;
SET timezone = 'UTC';
PREPARE made AS SELECT count(DISTINCT ts::text), min(ts::text COLLATE "C") FROM t WHERE id > 0;
SET plan_cache_mode = force_generic_plan;
EXECUTE made;
SET datestyle = 'SQL, DMY';
EXECUTE made;
SET datestyle = ISO;
-- none, one row, all NULL
SELECT d FROM differ('SELECT max(i::text COLLATE "C"), count(DISTINCT i::text) FROM t WHERE id > 100000') d;
SELECT d FROM differ('SELECT max(i::text COLLATE "C"), count(DISTINCT i::text) FROM t WHERE id = 77') d;
SELECT d FROM differ('SELECT max(i::text COLLATE "C"), count(DISTINCT x || i), max(concat(i, x) COLLATE "C") FROM t WHERE id = 0') d;
-- joined, in threads
SELECT d FROM differ('SELECT a.i || b.x, count(*) FROM t a JOIN t b ON a.id = b.id + 1 GROUP BY 1') d;
SELECT d FROM differ('SELECT max((a.i || b.x) COLLATE "C"), count(DISTINCT a.big::text || b.big) FROM t a JOIN t b ON a.s = b.s') d;
SELECT d FROM differ('SELECT count(*) FROM t a JOIN t b ON a.x = ''x'' || b.id') d;
SELECT d FROM differ('SELECT count(*), max(b.id) FROM t a LEFT JOIN t b ON a.s = b.s AND a.i::text < b.ts::text COLLATE "C"') d;
SELECT d FROM differ('SELECT x, i::text, count(*) FROM t GROUP BY GROUPING SETS ((1), (2), (1, 2))') d;
SELECT d FROM differ('SELECT string_agg(i::text, '','' ORDER BY id), count(DISTINCT i::text), min(ts::text COLLATE "C") FROM t') d;

DROP SCHEMA expr_made_texts CASCADE;
