-- Functions of dates, timestamps and times give PostgreSQL's own results.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA agg_dates;
SET search_path = agg_dates, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- the line of a plan that says what PostgreSQL evaluates once per group
CREATE FUNCTION once_per(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Evaluated Once Per%' OR line LIKE '%Aggregate%' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;

CREATE TABLE days (id serial, d date, ts timestamp, tz timestamptz, t time) USING gpucol;
-- the whole range of timestamps, then every few hours around 2000
INSERT INTO days (d, ts, tz, t)
SELECT date '4713-01-02 BC' + i * 13393, ts, ts AT TIME ZONE 'UTC', ts::time
FROM generate_series(0, 8000) i, LATERAL (SELECT timestamp '4713-01-02 BC' + i * interval '13393 days 5 hours 7 minutes 11.123456 seconds') x (ts);
INSERT INTO days (d, ts, tz, t)
SELECT date '1999-01-01' + i, ts, ts AT TIME ZONE 'UTC', ts::time
FROM generate_series(0, 1500) i, LATERAL (SELECT timestamp '1999-01-01' + i * interval '14 hours 1.5 seconds') x (ts);
INSERT INTO days (d, ts, tz, t) VALUES (NULL, NULL, NULL, NULL), ('4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', '00:00'),
	('0001-12-31 BC', '0001-12-31 23:59:59.999999 BC', '0001-12-31 23:59:59.999999 BC', '24:00'), ('0001-01-01', '0001-01-01', '0001-01-01', '23:59:59.999999'),
	('5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999', '12:00');
ANALYZE days;

CREATE TABLE parts (part text, of text);
INSERT INTO parts SELECT format('extract(%s FROM %s)', f, c), c
FROM unnest('{year,quarter,month,day,dow,isodow,doy,week,isoyear,decade,century,millennium,epoch}'::text[]) f, unnest('{d,ts,tz}'::text[]) c;
INSERT INTO parts SELECT format('extract(%s FROM %s)', f, c), c FROM unnest('{hour,minute,second,milliseconds,microseconds}'::text[]) f, unnest('{ts,tz,t}'::text[]) c;
INSERT INTO parts SELECT replace(replace(replace(part, '(', '('''), ' FROM ', ''', '), 'extract', 'date_part'), of FROM parts WHERE of IN ('ts', 'tz', 't');
INSERT INTO parts SELECT format('date_trunc(%L, %s)', f, c), c
FROM unnest('{millennium,century,decade,year,quarter,month,week,day,hour,minute,second,milliseconds,microseconds}'::text[]) f, unnest('{ts,tz}'::text[]) c;
INSERT INTO parts VALUES ('extract(julian FROM d)', 'd'), ('extract(epoch FROM t)', 't'), ('date_part(''epoch'', t)', 't'), ('date_part(''MONTHS'', ts)', 'ts'),
	('ts::date', 'ts'), ('tz::date', 'tz'), ('ts::time', 'ts'), ('tz::time', 'tz'), ('tz::timestamp', 'tz'), ('ts::timestamptz', 'ts'),
	('extract(month FROM ts)::int', 'ts'), ('extract(epoch FROM d)::bigint', 'd'), ('extract(dow FROM tz)::smallint + 1', 'tz');
SELECT count(*) FROM parts;

SELECT e FROM parts, differ(format('SELECT %s AS k, count(*), min(%2$s), max(%2$s), count(DISTINCT %2$s) FROM days GROUP BY 1', part, of)) e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT min(%s), max(%1$s) FROM days', part)) e WHERE e IS NOT NULL;
-- all of it is the engine's
SELECT part, e FROM parts, once_per(format('SELECT %s, count(*) FROM days GROUP BY 1', part)) e;
SELECT part, e FROM parts, once_per(format('SELECT min(%s), sum(id) FROM days', part)) e;
-- dates as timestamps, which not all can be
INSERT INTO parts SELECT format(f, x), 'd' FROM unnest('{d::timestamp,d::timestamptz}'::text[]) x,
	unnest(array['%s', 'date_trunc(''month'', %s)', 'extract(year FROM %s)', 'date_part(''doy'', %s)', '(%s)::time']) f;
INSERT INTO parts VALUES ('date_part(''year'', d)', 'd'), ('date_trunc(''quarter'', d)', 'd');
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*), min(%2$s), max(%2$s) FROM days WHERE d < ''294277-01-01'' GROUP BY 1', part, of)) e WHERE of = 'd' AND e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*) FROM days GROUP BY 1', part)) e WHERE of = 'd' AND e IS NOT NULL;
SELECT part, e FROM parts, once_per(format('SELECT %s, count(*) FROM days GROUP BY 1', part)) e WHERE of = 'd';
SELECT date_trunc('month', d), count(*) FROM days GROUP BY 1;

SELECT e FROM differ('SELECT sum(extract(second FROM ts)), avg(extract(doy FROM d)), stddev(extract(hour FROM ts)) FROM days') e WHERE e IS NOT NULL;
SELECT e FROM differ('SELECT count(*) FROM days WHERE extract(year FROM d) BETWEEN 1999 AND 2004 AND date_trunc(''day'', ts) > ''2000-02-29''') e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT id FROM days WHERE %s > %s', part, CASE WHEN part ~ '^(extract|date_part)' THEN '5' WHEN part LIKE '%time' THEN '''05:05''' ELSE '''2000-05-05''' END), 'GpucolScan') e
WHERE part !~ 'extract.*(year|decade|century|millen|epoch|julian)' AND part !~ 'trunc.*(decade|century|millen)' AND of <> 'd' AND e IS NOT NULL;
SELECT e FROM differ('SELECT id FROM days WHERE extract(dow FROM d) > 3 AND extract(week FROM d) = 52', 'GpucolScan') e WHERE e IS NOT NULL;

-- infinity: NULL in cyclic fields, itself when truncated; its year is infinite
-- and leaves the whole statement to PostgreSQL
INSERT INTO days (d, ts, tz) VALUES ('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity');
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*) FROM days GROUP BY 1', part)) e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*) FROM days WHERE d < ''294277-01-01'' OR d = ''infinity'' GROUP BY 1', part)) e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT id FROM days WHERE %s > 5', part), 'GpucolScan') e WHERE part LIKE 'date_part%' AND of <> 'd' AND e IS NOT NULL;
SELECT extract(year FROM d) AS year, count(*), min(date_trunc('month', ts)) AS month FROM days
WHERE d >= '2002-01-01' AND d < '2003-01-01' OR d = 'infinity' OR d = '-infinity' GROUP BY 1 ORDER BY 1;

-- a plan made under one time zone and run under another
SET plan_cache_mode = force_generic_plan;
PREPARE by_day AS SELECT date_trunc('day', tz), count(*) FROM days WHERE tz > '2000-03-01Z' AND tz < '2000-03-03Z' GROUP BY 1 ORDER BY 1;
EXECUTE by_day;
SET timezone = 'America/New_York';
EXECUTE by_day;
SET gpucol.pushdown = forbid;
EXECUTE by_day;
RESET gpucol.pushdown;
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*), min(%2$s) FROM days WHERE d > ''1999-01-01'' AND d < ''2010-01-01'' GROUP BY 1', part, of)) e WHERE of IN ('tz', 'd') AND e IS NOT NULL;
SET timezone = 'UTC';

-- what stays with PostgreSQL
SET gpucol.pushdown = require;
EXPLAIN (VERBOSE, COSTS OFF) SELECT extract(julian FROM ts), count(*) FROM days GROUP BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM days WHERE extract(year FROM d) = 2000;
SELECT extract(nonsense FROM ts) FROM days;

SET client_min_messages = error;
DROP SCHEMA agg_dates CASCADE;
