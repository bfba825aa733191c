-- Digests of bytes, and texts that to_char() makes of times, in engines: keys, distinct values, extremes, conditions,
-- and orders whose first rows are wanted.
CREATE SCHEMA text_pictures;
SET search_path = text_pictures, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.max_cpu_threads = 2;
SET timezone = 'Europe/Berlin';

-- heap twins; bodies about MD5's blocks, and times about the ends
CREATE TABLE h (i int, s text, v varchar(80), y bytea, ts timestamp, tz timestamptz, d date);
INSERT INTO h SELECT x, CASE WHEN x % 17 > 0 THEN repeat(chr(97 + x % 26), x % 150) || x END, 'v' || x % 700,
	CASE WHEN x % 13 > 0 THEN decode(repeat(to_hex(16 + x % 200), x % 80), 'hex') END,
	CASE WHEN x % 19 > 0 THEN timestamp '1999-12-25 23:00' + x * x * interval '13 min 7.123457 s' END,
	CASE WHEN x % 23 > 0 THEN timestamptz '2020-03-01 UTC' + x * interval '3 h 11 min' END,
	CASE WHEN x % 29 > 0 THEN date '2000-01-01' + x END FROM generate_series(1, 6000) x;
INSERT INTO h VALUES (7001, '', '', '', 'infinity', 'infinity', 'infinity'), (7002, 'x', 'x', 'x', '-infinity', '-infinity', '-infinity'),
	(7003, repeat('é', 70), 'é', '\x00', '0044-03-15 12:00 BC', '0001-01-01 00:00+00 BC', '4713-01-01 BC'),
	(7004, NULL, NULL, NULL, '4713-01-01 00:00:00 BC', '4714-12-01 00:00:00+00 BC', '0001-12-31 BC'),
	(7005, repeat('long ', 3000), 'w', '\xff', '294276-12-31 23:59:59.999999', '294276-01-01 00:00+00', '5874897-12-31'),
	(7006, 'x', 'x', 'x', '12345-06-07 00:00:00', '9999-12-31 23:59:59.999+00', '10000-01-01');
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g SELECT * FROM h;
VACUUM ANALYZE g;
-- rows that are not packed yet, and deleted ones
INSERT INTO h SELECT i + 10000, s, v, y, ts, tz, d FROM h WHERE i % 7 = 0;
INSERT INTO g SELECT i + 10000, s, v, y, ts, tz, d FROM g WHERE i % 7 = 0;
DELETE FROM h WHERE i % 11 = 5;
DELETE FROM g WHERE i % 11 = 5;

-- A query's rows over g and over its twin; %s stands for the table.
CREATE FUNCTION rows_of(query text, tab text, pushdown text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	PERFORM set_config('gpucol.pushdown', pushdown, true);
	EXECUTE format('SELECT array_agg(r::text ORDER BY r::text COLLATE "C") FROM (' || replace(query, '%', '%%') || ') r', tab)
	INTO result;
	RETURN result;
END $$;
CREATE FUNCTION same(query text, threads int DEFAULT 2) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpucol.cpu_threads', threads::text, true);
	RETURN rows_of(replace(query, '$', 'g'), 'g', 'require') IS NOT DISTINCT FROM rows_of(replace(query, '$', 'h'), 'h', 'allow');
END $$;
-- Does a plan over g say this?
CREATE FUNCTION says(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		found := found OR line ~ what;
	END LOOP;
	RETURN found;
END $$;

-- where digests are computed
SELECT says('SELECT md5(s), count(*) FROM g GROUP BY 1', 'Group Key: md5'), says('SELECT md5(s), count(*) FROM g GROUP BY 1', 'Evaluated Once Per');
SELECT says('SELECT max(md5(s)) FROM g', 'fed by rows|Evaluated Once Per');
SELECT q, same(q) FROM unnest(ARRAY[
	'SELECT md5(s) FROM $ GROUP BY 1',
	'SELECT md5(s), count(*), min(i) FROM $ GROUP BY 1',
	'SELECT md5(y), count(*) FROM $ GROUP BY 1',
	'SELECT md5(v), max(md5(s)), min(md5(y)) FROM $ GROUP BY 1',
	'SELECT count(DISTINCT md5(s)), count(DISTINCT md5(y)), count(DISTINCT md5(i::text)) FROM $',
	'SELECT i % 5, max(md5(s || i)) FROM $ GROUP BY 1',
	'SELECT count(*) FROM $ WHERE md5(s) LIKE ''a%''',
	'SELECT i FROM $ WHERE md5(i::text) LIKE ''a1%''',
	'SELECT count(*) FROM $ WHERE md5(s) < md5(v)',
	'SELECT count(*) FROM $ WHERE md5(i::text) IS NOT NULL AND md5(s || ''x'') IS NULL',
	'SELECT substr(md5(i::text), 1, 2), count(*) FROM $ GROUP BY 1',
	'SELECT md5(md5(s)), count(*) FROM $ GROUP BY 1',
	'SELECT max(md5(s)) FROM $ WHERE i < 0',
	'SELECT a.i FROM $ a JOIN $ b ON md5(a.i::text) = md5(b.i::text) WHERE a.i % 9 = 0']) q;

-- formats: every keyword that has a picture, some that have none, and bytes beside
CREATE TABLE formats (f text);
INSERT INTO formats VALUES ('YYYY-MM-DD HH24:MI:SS'), ('YYYY YYY YY Y IYYY'), ('yyyy yyy yy y iyyy'), ('Q MM Month MONTH month Mon MON mon'),
	('WW IW W DDD DD D ID'), ('ww iw w ddd dd d id'), ('Day DAY day Dy DY dy'), ('HH24 HH12 HH MI SS SSSS SSSSS MS US'),
	('hh24 hh12 hh mi ss ssss sssss ms us'), ('AM PM am pm A.M. P.M. a.m. p.m.'), ('FMYYYY FMMM FMDD FMHH24:FMMI:FMSS FMDDD FMMonth FMDay FMWW'),
	('YYYYMMDDHH24MISSUS'), ('DD.MM.YYYY'), ('"week" IW, "day" ID'), ('"unclosed YYYY'), ('é YYYY ü'), ('YYYY"T"HH24"Z"'), ('x'),
	('IYYY-IW'), ('YYYY/Q'), ('Mon-YY'), ('FMDD. FMMonth YYYY'), ('HHMI'), ('DDD DDDD'), ('YYYYY'), ('Mondays'), ('SSMSSS'),
	-- PostgreSQL's
	('DDth Month'), ('TMMonth'), ('CC J RM'), ('Y,YYY AD bc'), ('FXYYYY'), ('TZ OF'), ('FMx'), ('\"YYYY'), ('FF3'), ('IYY IDDD'), ('');
SELECT f, same(format('SELECT i, to_char(ts, %L) t, to_char(ts, %L) = ''x'' FROM $ GROUP BY i, 2, 3', f, f)) ts,
	same(format('SELECT count(DISTINCT to_char(ts, %L)), count(DISTINCT to_char(tz, %L)), count(DISTINCT to_char(d, %L)) FROM $ WHERE i < 7000 OR i > 10000', f, f, f)) d,
	same(format('SELECT i, to_char(tz, %L) || ''|'' k, max(to_char(d, %L)) FROM $ WHERE i <> 7005 GROUP BY i, 2', f, f)) tz,
	same(format('SELECT to_char(ts, %L) t FROM $ ORDER BY to_char(ts, %L) LIMIT 20', f, f)) top
	FROM formats;
-- which have one
SELECT f, says(format('SELECT i, to_char(ts, %L) t FROM g ORDER BY to_char(ts, %L) LIMIT 20', f, f), 'Probed Rows') FROM formats;

-- the first rows
SELECT q, same(q), same(q, 1), says(replace(q, '$', 'g'), 'Probed Rows') FROM unnest(ARRAY[
	'SELECT i, md5(s) FROM $ ORDER BY md5(s), i LIMIT 10',
	'SELECT i, md5(s) FROM $ ORDER BY md5(s) DESC, i LIMIT 10',
	'SELECT i FROM $ ORDER BY md5(s) DESC NULLS LAST, i LIMIT 10 OFFSET 3',
	'SELECT i FROM $ ORDER BY md5(s) NULLS FIRST, i LIMIT 1000',
	'SELECT md5(v) FROM $ ORDER BY md5(v) LIMIT 40',
	'SELECT i, md5(v) FROM $ ORDER BY md5(v) FETCH FIRST 3 ROWS WITH TIES',
	'SELECT i FROM $ ORDER BY md5(v), md5(i::text) LIMIT 10',
	'SELECT i FROM $ ORDER BY i % 3, md5(i::text) DESC LIMIT 10',
	'SELECT i FROM $ WHERE i % 4 = 1 AND md5(i::text) > ''8'' ORDER BY md5(y), i LIMIT 10',
	'SELECT i FROM $ ORDER BY md5(i::text || v) LIMIT 2000',
	'SELECT i, to_char(ts, ''Mon YYYY'') FROM $ ORDER BY to_char(ts, ''Mon YYYY''), i LIMIT 10',
	'SELECT i, to_char(ts, ''SS US'') FROM $ ORDER BY to_char(ts, ''SS US'') DESC, i LIMIT 10',
	'SELECT i, to_char(tz, ''SS DY'') FROM $ ORDER BY to_char(tz, ''SS DY''), to_char(ts, ''DY''), i LIMIT 10',
	'SELECT i || ''/'' || v FROM $ ORDER BY i || ''/'' || v LIMIT 10',
	'SELECT i FROM $ ORDER BY d::text DESC NULLS LAST, i LIMIT 10',
	'SELECT i FROM $ ORDER BY CASE WHEN i % 2 = 0 THEN s ELSE v END, i LIMIT 10',
	'SELECT i FROM $ ORDER BY md5(s), i LIMIT 0',
	'SELECT i FROM $ WHERE i < 0 ORDER BY md5(s) LIMIT 5',
	'SELECT s FROM $ ORDER BY md5(s), s LIMIT 100000']) q;

-- where the order is not that of bytes PostgreSQL compares, and the first rows are fetched
ALTER TABLE h ADD w text COLLATE "en-x-icu";
UPDATE h SET w = CASE WHEN i % 37 > 0 THEN chr(65 + i % 26) || chr(97 + i * 7 % 26) || i % 3000 END;
CREATE TABLE k (LIKE h) USING gpucol;
INSERT INTO k SELECT * FROM h;
VACUUM ANALYZE k;
DELETE FROM h WHERE i % 101 = 0;
DELETE FROM k WHERE i % 101 = 0;
SELECT q, rows_of(replace(q, '$', 'k'), 'k', 'require') IS NOT DISTINCT FROM rows_of(replace(q, '$', 'h'), 'h', 'allow') AS same,
	says(replace(q, '$', 'k'), 'Fetched Rows') FROM unnest(ARRAY[
	'SELECT md5(w) FROM $ ORDER BY md5(w) LIMIT 10',
	'SELECT md5(w) FROM $ ORDER BY md5(w) DESC LIMIT 10',
	'SELECT w || ''-'' || i FROM $ ORDER BY w || ''-'' || i LIMIT 20 OFFSET 5',
	'SELECT w || ''-'' || i FROM $ WHERE i > 500 ORDER BY w || ''-'' || i DESC NULLS LAST LIMIT 20',
	'SELECT w || ''x'' FROM $ WHERE i < 60 ORDER BY w || ''x'' LIMIT 60',
	'SELECT w || ''x'', i FROM $ ORDER BY w || ''x'', i LIMIT 10',
	'SELECT w || ''x'' FROM $ ORDER BY w || ''x'' FETCH FIRST 10 ROWS WITH TIES',
	'SELECT w || ''x'' FROM $ ORDER BY w || ''x'' LIMIT 5000']) q;
-- many rows: a bound is found first
CREATE TABLE m USING gpucol AS SELECT x i, timestamp '2001-01-01' + x * interval '37 min 7.77 s' ts FROM generate_series(1, 200000) x;
ANALYZE m;
SELECT i, md5(i::text) FROM m ORDER BY md5(i::text) LIMIT 3;
SELECT i, to_char(ts, 'US SS') FROM m ORDER BY to_char(ts, 'US SS') DESC NULLS LAST, i LIMIT 3;
SELECT says('SELECT i FROM m ORDER BY md5(i::text) LIMIT 3', 'Fetched Rows'), says('SELECT i FROM m ORDER BY md5(i::text) LIMIT 300', 'Fetched Rows');
SELECT count(*), min(k), max(k) FROM (SELECT md5(i::text) k FROM m ORDER BY md5(i::text) LIMIT 300) x;
SET gpucol.pushdown = forbid;
SELECT i, md5(i::text) FROM m ORDER BY md5(i::text) LIMIT 3;
SELECT i, to_char(ts, 'US SS') FROM m ORDER BY to_char(ts, 'US SS') DESC NULLS LAST, i LIMIT 3;
SELECT count(*), min(k), max(k) FROM (SELECT md5(i::text) k FROM m ORDER BY md5(i::text) LIMIT 300) x;
RESET gpucol.pushdown;

SET client_min_messages = warning;
DROP SCHEMA text_pictures CASCADE;
