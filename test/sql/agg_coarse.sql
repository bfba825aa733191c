-- What PostgreSQL makes of timestamps in groups, it makes of hours, days and other units
-- of them where that is the same.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA agg_coarse;
SET search_path = agg_coarse, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- what a plan says of what is evaluated
CREATE FUNCTION once_per(query text) RETURNS text LANGUAGE plpgsql SET gpucol.pushdown = require AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Evaluated Once Per%' THEN
			RETURN trim(line);
		END IF;
	END LOOP;
	RETURN 'nothing';
END $$;

CREATE TABLE event (id serial, ts timestamp, tz timestamptz, d date) USING gpucol;
-- a century and a half, the ends of the years that are coarse, and all minutes about
-- transitions: of Berlin, New York, St. John's (a minute after midnight), Lord Howe (half an
-- hour), Kathmandu (to a quarter), Monrovia (by 44.5 minutes) and Apia (a day)
INSERT INTO event (ts) SELECT timestamp '1950-01-01' + i * interval '11 days 5 hours 7 minutes 11.123456 seconds' FROM generate_series(0, 5300) i;
INSERT INTO event (ts)
SELECT t + i * interval '59.999999 seconds' FROM unnest('{1973-01-01,2100-01-01,2024-03-31 01:00,2024-11-03 06:00,2006-10-29 02:31,2024-04-06 15:00,1985-12-31 18:30,1972-01-07 00:44:30,2011-12-30 10:00}'::timestamp[]) t,
	generate_series(-150, 150) i;
UPDATE event SET tz = ts AT TIME ZONE 'UTC', d = ts::date;
SELECT gpucol.merge('event');
INSERT INTO event (ts, tz) VALUES (NULL, NULL), ('infinity', 'infinity'), ('-infinity', '-infinity'), ('4713-01-02 BC', '4713-01-02 BC'),
	('2024-02-29 23:59:59.999999', '2024-02-29 23:59:59.999999'), ('2024-02-29 12:30', NULL);
DELETE FROM event WHERE id % 17 = 0;
ANALYZE event;

CREATE TABLE key (expr text, zoned bool);
INSERT INTO key SELECT format('to_char(%s, %L)', c, f), c = 'tz'
FROM unnest('{ts,tz}'::text[]) c, unnest(array['YYYY-MM', 'Day D IYYY-IW', 'HH24', 'hh12 am', 'HH:MI', 'YYYY-MM-DD HH24:MI:SS', 'SSSS', 'FF3', '"week" WW']) f;
INSERT INTO key VALUES ('to_char(tz, ''YYYY-MM-DD HH24 TZ OF'')', true);
INSERT INTO key SELECT format('date_trunc(%L, tz, %L)', f, z), true FROM unnest('{hour,day,month,second,milliseconds}'::text[]) f, unnest('{America/St_Johns,Asia/Kathmandu,Europe/Berlin}'::text[]) z;
INSERT INTO key SELECT format('date_trunc(%L, tz)', f), true FROM unnest('{minute,hour,day,week,year}'::text[]) f;
INSERT INTO key SELECT format('extract(%s FROM tz)', f), true FROM unnest('{minute,hour,dow,week,year,second,epoch,julian,timezone_hour}'::text[]) f;
INSERT INTO key SELECT format('date_trunc(''day'', %s)', x), true
FROM unnest(array['ts AT TIME ZONE ''Australia/Lord_Howe''', 'tz AT TIME ZONE ''America/New_York''', '(tz AT TIME ZONE ''Africa/Monrovia'') + interval ''90 minutes''', 'tz::timestamp - interval ''1 day''', 'tz AT TIME ZONE ''UTC''']) x;
INSERT INTO key SELECT format('date_bin(%L, %s, %L)', s, c, o), false
FROM unnest('{15 minutes,1 day,7 seconds,31 days}'::text[]) s, unnest('{ts,tz}'::text[]) c, unnest('{2001-01-01,1969-12-31 23:00,2020-01-01 00:00:00.000001}'::text[]) o;
INSERT INTO key VALUES ('tz::date', true), ('CASE WHEN ts IS NULL THEN ''none'' ELSE to_char(ts, ''YYYY'') END', false), ('ts::text', false),
	('to_char(ts, ''YYYY'') || (ts > ''2024-03-31'')', false), ('to_char(ts + interval ''1 month'', ''YYYY-MM-DD'')', false), ('to_char(ts, d::text)', false),
	('to_char(date_trunc(''day'', ts), ''HH24'')', false), ('to_char(ts - interval ''90 seconds'', ''HH24'')', false), ('to_char(tz + interval ''1 day'', ''DD'')', true);

-- the time of day alone, and with what is of the day
INSERT INTO key SELECT e, false FROM unnest(ARRAY['to_char(ts, ''HH24:MI:SS'')', 'to_char(ts, ''HH12-MI a.m.'')', 'to_char(ts, ''FMHH24'')', 'to_char(ts, ''HH24"h"MI'')', 'to_char(ts, ''HH24 MI US'')',
	'to_char(ts, ''HH24:MI DY'')', 'to_char(ts, ''HH24'') || to_char(ts, ''MI'')', 'to_char(ts, ''HH24'') || to_char(ts, ''YYYY'')', 'to_char(ts, ''HH24:MI'') || date_trunc(''hour'', ts)', 'to_char(ts, '':'')',
	'to_char(ts + interval ''1 hour'', ''HH24'')', 'to_char(ts AT TIME ZONE ''Europe/Berlin'', ''HH24:MI'')', 'to_char(ts, ''HH24'') || id % 2', 'to_char(ts, ''HH24:MI'') || ts::date']) e;
SELECT expr, once_per(format('SELECT %s, count(*) FROM event GROUP BY 1', expr)) FROM key ORDER BY expr COLLATE "C";
SELECT e FROM differ('SELECT to_char(ts, ''HH24''), to_char(ts, ''YYYY''), count(*) FROM event GROUP BY 1, 2') e WHERE e IS NOT NULL;
SELECT e FROM differ('SELECT to_char(ts, ''HH24:MI''), to_char(ts, ''HH24''), count(*), count(DISTINCT to_char(ts, ''SS'')) FROM event WHERE to_char(ts, ''MI'') < ''30'' GROUP BY 1, 2') e WHERE e IS NOT NULL;
SELECT once_per('SELECT to_char(ts, ''HH24''), to_char(ts, ''YYYY''), count(*) FROM event GROUP BY 1, 2'), once_per('SELECT to_char(ts, ''HH24:MI''), to_char(ts, ''HH24''), count(*) FROM event GROUP BY 1, 2');
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), max(tz), sum(id) FROM event GROUP BY 1', expr)) e WHERE e IS NOT NULL;
-- in other time zones, where only a few engines' functions are left
SET timezone = 'Europe/Berlin';
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), sum(id) FROM event GROUP BY 1', expr)) e WHERE zoned AND e IS NOT NULL;
SELECT once_per('SELECT date_trunc(''day'', tz), count(*) FROM event GROUP BY 1');
SET timezone = 'America/St_Johns';
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), sum(id) FROM event GROUP BY 1', expr)) e WHERE zoned AND e IS NOT NULL;
SELECT once_per('SELECT date_trunc(''day'', tz), count(*) FROM event GROUP BY 1');
SET timezone = 'Asia/Kathmandu';
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), sum(id) FROM event GROUP BY 1', expr)) e WHERE zoned AND e IS NOT NULL;
SELECT once_per('SELECT date_trunc(''day'', tz), count(*) FROM event GROUP BY 1');
SET timezone = 'Pacific/Apia';
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), sum(id) FROM event GROUP BY 1', expr)) e WHERE zoned AND e IS NOT NULL;
SET timezone = 'Africa/Monrovia';
SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(ts), sum(id) FROM event GROUP BY 1', expr)) e WHERE zoned AND e IS NOT NULL;
SELECT once_per('SELECT date_trunc(''day'', tz), count(*) FROM event GROUP BY 1');
SET timezone = 'UTC';

-- several expressions of one column: as fine as all of them need it
SELECT once_per('SELECT to_char(ts, ''YYYY''), to_char(ts, ''HH24''), count(*) FROM event GROUP BY 1, 2');
SELECT once_per('SELECT to_char(ts, ''YYYY''), count(DISTINCT to_char(ts, ''MI'')), max(ts) FROM event GROUP BY 1');
SELECT once_per('SELECT to_char(ts, ''YYYY''), count(DISTINCT ts) FROM event GROUP BY 1');
SELECT once_per('SELECT to_char(ts, ''YYYY''), to_char(tz, ''HH24''), ts FROM event GROUP BY 1, 2, 3');
SELECT e FROM unnest(array[
	'SELECT to_char(ts, ''YYYY''), to_char(ts, ''HH24''), count(*) FROM event GROUP BY 1, 2',
	'SELECT to_char(ts, ''YYYY''), count(DISTINCT to_char(ts, ''MI'')), max(ts), min(to_char(ts, ''MM HH'')) FROM event GROUP BY 1',
	'SELECT to_char(ts, ''YYYY''), count(DISTINCT ts), count(DISTINCT id) FROM event WHERE id > 100 GROUP BY 1',
	'SELECT count(DISTINCT to_char(ts, ''Mon'')), count(to_char(tz, ''Mon'')) FROM event WHERE extract(dow FROM tz) = 3',
	'SELECT to_char(ts, ''YYYY''), to_char(tz, ''HH24''), count(*) FROM event GROUP BY ROLLUP (1, 2)',
	'SELECT to_char(ts, ''YYYY''), to_char(tz, ''HH24''), ts FROM event GROUP BY 1, 2, 3',
	'SELECT to_char(ts, ''YYYY''), to_char(ts, ''HH24:MI''), ts, max(to_char(ts, ''DD'')) FROM event GROUP BY 1, 2, 3',
	'SELECT DISTINCT to_char(ts, ''IYYY-IW'') FROM event',
	'SELECT to_char(ts, ''YYYY''), count(*) FROM event WHERE id < 0 GROUP BY 1']) q, differ(q) e WHERE e IS NOT NULL;

-- a plan made in one time zone and run in others
SET plan_cache_mode = force_generic_plan;
SET gpucol.pushdown = require;
PREPARE by_day AS SELECT date_trunc('day', tz), count(*) FROM event WHERE tz > '2024-03-30Z' AND tz < '2024-04-02Z' GROUP BY 1 ORDER BY 1;
SET timezone = 'Europe/Berlin';
EXECUTE by_day;
SET timezone = 'America/St_Johns';
EXECUTE by_day;

SET client_min_messages = error;
DROP SCHEMA agg_coarse CASCADE;
