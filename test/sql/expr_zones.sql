-- AT TIME ZONE and the session's time zone, computed by the engine, give PostgreSQL's own results.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA expr_zones;
SET search_path = expr_zones, public;

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

-- names with history, without, that go on for ever, abbreviations, rules
CREATE TABLE zones AS SELECT * FROM unnest(array['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Africa/Casablanca', 'Asia/Gaza',
	'Pacific/Apia', 'Australia/Lord_Howe', 'America/St_Johns', 'Europe/Dublin', 'Africa/Monrovia', 'Asia/Tehran', 'America/Sao_Paulo', 'Etc/GMT-14',
	'Europe/Amsterdam', 'Antarctica/Troll', 'europe/paris', 'EST', 'pdt', 'CEST', 'EST5EDT', 'XXX5YYY,M3.2.0/2,M11.1.0/2', 'XXX-3:30', '<+05>-05',
	'A5B,J1/0,J200/3', 'A5B,J60/0,J365/23', 'UTC+3', NULL]) zone;
CREATE TABLE instants AS
	SELECT timestamp '2000-01-01' + (i * 7919::bigint * 104729 % 13000 - 6500) * interval '1 day' + i % 86400 * interval '1 second' + i % 7 * interval '0.123457 second' AS ts
		FROM generate_series(1, 60) i
	UNION ALL SELECT timestamp '1750-01-01' + i * interval '2703 days 3 hours 0.9 seconds' FROM generate_series(1, 110) i
	UNION ALL SELECT timestamp '2024-03-10' + i * interval '30 minutes' FROM generate_series(-4, 40) i
	UNION ALL SELECT timestamp '2024-03-31' + i * interval '30 minutes' FROM generate_series(-5, 20) i
	UNION ALL SELECT timestamp '2024-11-03' + i * interval '30 minutes' FROM generate_series(-4, 40) i
	UNION ALL SELECT unnest(array['infinity', '-infinity', '4713-01-02 BC', '294276-12-30', '10000-07-01', '2460-01-01', '2499-12-31 23:59:59.9', '1799-12-31 23:59:59',
		'1800-01-01', '2037-12-31 23:00', '2038-01-19 03:14:08', '1970-01-01', NULL]::timestamp[]);
CREATE TABLE h_t AS SELECT row_number() OVER () AS id, zone, ts, ts AT TIME ZONE 'UTC' AS tz, ts::date AS d, (CASE WHEN zone ~ 'o' THEN zone END)::varchar AS vz FROM zones, instants;
CREATE TABLE t (LIKE h_t) USING gpucol;
INSERT INTO t TABLE h_t;
SELECT gpucol.merge('t');
-- some rows in the delta, some deleted
UPDATE t SET id = id WHERE id % 997 = 0;
DELETE FROM t WHERE id % 991 = 0;
ANALYZE t;

CREATE TABLE exprs (e text);
INSERT INTO exprs VALUES ('tz AT TIME ZONE zone'), ('ts AT TIME ZONE zone'), ('timezone(zone, tz)'), ('tz AT TIME ZONE vz'), ('tz AT TIME ZONE coalesce(vz, ''Asia/Tokyo'')'),
	('date_trunc(''day'', tz AT TIME ZONE zone)'), ('extract(hour FROM tz AT TIME ZONE zone)'), ('(tz AT TIME ZONE zone)::date'), ('(tz AT TIME ZONE zone)::time'),
	('(ts AT TIME ZONE zone) AT TIME ZONE ''Europe/London'''), ('tz AT TIME ZONE ''Europe/Berlin'''), ('ts AT TIME ZONE ''America/New_York'''), ('tz AT TIME ZONE ''EST'''),
	('ts AT TIME ZONE ''A5B,J1/0,J200/3'''), ('CASE WHEN id % 2 = 0 THEN tz AT TIME ZONE zone ELSE ts END'), ('date_trunc(''month'', ts AT TIME ZONE zone)'),
	('tz AT TIME ZONE interval ''-3 hours 30 minutes'''), ('ts AT TIME ZONE interval ''5 hours''');
SELECT e, d FROM exprs, differ(format('SELECT %s AS k, count(*), min(id) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT min(%s), max(%1$s), count(%1$s), count(DISTINCT %1$s) FROM t', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT id, %s FROM t WHERE id %% 3 = 0', e), 'GpucolScan') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT id, zone FROM t WHERE extract(hour FROM tz AT TIME ZONE ''Asia/Kolkata'') = 3 AND ts > ''2020-01-01''', 'GpucolScan') d;
SELECT p FROM plan_of('SELECT id FROM t WHERE extract(hour FROM tz AT TIME ZONE ''Asia/Kolkata'') = 3') p;
SELECT d FROM differ('SELECT count(*), sum(id) FROM t WHERE (tz AT TIME ZONE zone)::date = ''2024-03-10''') d;
SELECT d FROM differ('SELECT zone, count(*) FILTER (WHERE extract(hour FROM tz AT TIME ZONE zone) BETWEEN 9 AND 17), sum(id) FROM t GROUP BY 1') d;
SELECT e, p FROM exprs, plan_of(format('SELECT min(%s) FROM t', e)) p;
SELECT p FROM plan_of('SELECT date_trunc(''day'', tz AT TIME ZONE zone), count(*) FROM t WHERE (tz AT TIME ZONE zone)::date > ''2020-01-01'' GROUP BY 1') p;

-- the session's time zone
CREATE TABLE sessions (e text);
INSERT INTO sessions SELECT format('date_trunc(%L, tz)', f) FROM unnest('{year,quarter,month,week,day,hour,minute,second,milliseconds,microseconds}'::text[]) f;
INSERT INTO sessions SELECT format('extract(%s FROM tz)', f) FROM unnest('{year,month,day,dow,doy,week,isoyear,epoch,hour,minute,second}'::text[]) f;
INSERT INTO sessions VALUES ('tz::date'), ('tz::time'), ('tz::timestamp'), ('ts::timestamptz'), ('date_trunc(''month'', tz)::date');
CREATE FUNCTION in_zones(form text) RETURNS TABLE (zone text, e text, d text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH zone IN ARRAY array['America/New_York', 'Australia/Lord_Howe', 'Africa/Monrovia', 'Asia/Kolkata', 'A5B,J1/0,J200/3', 'Africa/Casablanca'] LOOP
		PERFORM set_config('timezone', zone, false);
		RETURN QUERY SELECT in_zones.zone, s.e, x FROM sessions s, differ(format(form, s.e)) x WHERE x IS NOT NULL;
	END LOOP;
	SET timezone = 'UTC';
END $$;
SELECT * FROM in_zones('SELECT %s, count(*) FROM t WHERE id %% 4 = 0 GROUP BY 1');
SET timezone = 'America/New_York';
SELECT d FROM differ('SELECT count(*) FROM t WHERE tz::date = ''2024-11-03'' AND extract(hour FROM tz) < 3') d;
SELECT d FROM differ('SELECT min(d::timestamptz), max(d::timestamptz), count(DISTINCT d::timestamptz) FROM t WHERE d > ''1800-01-01'' AND d < ''3000-01-01''') d;
SELECT e, p FROM sessions, plan_of(format('SELECT min(%s) FROM t', e)) p WHERE p !~ 'Custom Scan';
SET timezone = 'UTC';

-- errors for rows that are reached only; what only PostgreSQL knows is left to it
CREATE FUNCTION leaping() RETURNS text LANGUAGE plpgsql AS $$
BEGIN	-- a zone that counts leap seconds, where the system has it
	PERFORM now() AT TIME ZONE 'right/UTC';
	RETURN 'right/UTC';
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN 'UTC';
END $$;
CREATE TABLE odd (id int, zone text, tz timestamptz, ts timestamp) USING gpucol;
INSERT INTO odd SELECT i, CASE i % 5 WHEN 0 THEN 'Nowhere/Land' WHEN 1 THEN 'MSK' WHEN 2 THEN leaping() WHEN 3 THEN repeat('x', 300) ELSE 'UTC' END, '2020-01-01'::timestamptz + i * interval '1 day',
	timestamp '1980-01-01' + i * interval '30 days' FROM generate_series(1, 500) i;
SELECT gpucol.merge('odd');
SELECT min(tz AT TIME ZONE zone) FROM odd;
SELECT min(CASE WHEN id % 5 = 4 THEN tz AT TIME ZONE zone END), max(CASE WHEN id % 5 = 1 THEN ts AT TIME ZONE zone END) FROM odd;
SELECT count(*) FROM odd WHERE id % 5 IN (1, 4) AND tz AT TIME ZONE zone > '2020-06-01';
SELECT min('infinity'::timestamptz AT TIME ZONE zone) FROM odd;
SELECT max(CASE WHEN id = 5 THEN 'infinity' ELSE NULL::timestamptz END AT TIME ZONE zone) FROM odd;
SELECT min(tz AT TIME ZONE 'Nowhere/Land') FROM odd;
SELECT count(*) FROM odd WHERE false AND tz AT TIME ZONE 'Nowhere/Land' IS NULL;
SELECT max(ts AT TIME ZONE 'MSK') = (SELECT max(ts) AT TIME ZONE 'MSK' FROM odd) FROM odd;
CREATE TABLE late (tz timestamptz, ts timestamp) USING gpucol;
INSERT INTO late VALUES ('294276-12-31 23:00+00', '4714-11-24 00:00 BC');
SELECT max(tz AT TIME ZONE 'Asia/Tokyo') FROM late;
SELECT max(ts AT TIME ZONE 'Asia/Tokyo') FROM late;
-- zones of another table
CREATE TABLE shop (k int, zone text) USING gpucol;
INSERT INTO shop SELECT i, zone FROM (SELECT row_number() OVER () AS i, zone FROM zones) x;
SELECT d FROM differ('SELECT (t.tz AT TIME ZONE shop.zone)::date, count(*), sum(t.id) FROM t JOIN shop ON t.id % 29 = shop.k GROUP BY 1') d;
SELECT d FROM differ('SELECT count(*), sum(t.id) FROM t JOIN shop ON t.id % 29 = shop.k WHERE extract(hour FROM t.tz AT TIME ZONE shop.zone) = 3') d;
SET timezone_abbreviations = 'Australia';
SELECT d FROM differ('SELECT min(tz AT TIME ZONE zone), max(ts AT TIME ZONE zone), count(*) FROM t WHERE zone = ''EST''') d;
RESET timezone_abbreviations;

DROP SCHEMA expr_zones CASCADE;
