-- Joins without keys whose conditions bound a value of the table: only the rows between the bounds become pairs.
SET client_min_messages = warning;
SET extra_float_digits = -6;
CREATE SCHEMA join_bounds;
SET search_path = join_bounds, public;
SET timezone = 'UTC';

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE e (id int NOT NULL, t timestamp, d date, x int, w bigint, p numeric(9,2), q numeric, f float8, s text) USING gpucol;
INSERT INTO e SELECT i, timestamp '2024-01-01' + i * interval '17 minutes', date '2024-01-01' + i / 80, i * 7919 % 4001, i * 104729::bigint % 100003 - 50000,
	i * 31 % 20000 / 100.0, i * 37 % 1000 / 8.0, i * 17 % 1013 / 3.0, 't' || i % 90 FROM generate_series(1, 2500) i;
SELECT gpucol.merge('e') > -1 AS merged;
DELETE FROM e WHERE id % 50 = 7;
INSERT INTO e VALUES (7001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (7002, 'infinity', 'infinity', 2147483647, 9223372036854775807, 9999999.99, 'NaN', 'NaN', 't9'),
	(7003, '-infinity', '-infinity', -2147483648, -9223372036854775808, -9999999.99, -1e20, '-Infinity', 't9'), (7004, '2024-01-10', '2024-01-10', 0, 0, 0, 0, '-0', 't1'), (7005, '2024-01-10', '2024-01-10', 5, 5, 5, 1e30, 'Infinity', '');
-- stretches of time that follow each other, that meet, one that covers all, empty ones, and some without an end
CREATE TABLE b (n int NOT NULL, lo timestamp, hi timestamp, dl date, dh date, xl int, xh int, wl bigint, wh bigint, pl numeric(9,2), ph numeric(9,2), fl float8, fh float8) USING gpucol;
INSERT INTO b SELECT i, timestamp '2024-01-01' + i * interval '5 hours', timestamp '2024-01-01' + (i + CASE WHEN i % 9 = 0 THEN 4 ELSE 1 END) * interval '5 hours' - (i % 3) * interval '1 hour',
	date '2024-01-01' + i / 5, date '2024-01-01' + i / 5 + i % 4 - 1, i * 26, i * 26 + i * 11 % 60 - 5, i * 800 - 52000, i * 800 - 52000 + i * 97 % 900, i * 1.3, i * 1.3 + i * 7 % 11 / 4.0, i * 2.1, i * 2.1 + i % 5 FROM generate_series(0, 150) i;
INSERT INTO b VALUES (200, '2023-01-01', '2025-01-01', '2023-01-01', '2025-01-01', -2147483648, 2147483647, -9223372036854775808, 9223372036854775807, -9999999.99, 9999999.99, '-Infinity', 'NaN'),
	(201, NULL, '2025-01-01', NULL, '2024-01-05', NULL, 40, NULL, 40, NULL, 40, NULL, 40), (202, '2024-01-02', NULL, '2024-01-05', NULL, 40, NULL, 40, NULL, 40, NULL, 40, NULL),
	(203, '-infinity', '2024-01-03', '-infinity', '2024-01-03', -5, 5, -5, 5, -5, 5, '-0', '0'), (204, '2024-01-20', 'infinity', '2024-01-20', 'infinity', 9, 8, 9, 8, 9, 8, 'NaN', 'NaN');
CREATE TABLE nobody (LIKE b) USING gpucol;
CREATE TABLE one (LIKE b) USING gpucol;
INSERT INTO one SELECT * FROM b WHERE n = 17;

CREATE TABLE condition (c text);
INSERT INTO condition VALUES ('e.t >= b.lo AND e.t < b.hi'), ('e.t BETWEEN b.lo AND b.hi'), ('e.t > b.lo AND e.t <= b.hi'), ('b.lo < e.t AND NOT e.t >= b.hi'), ('e.t < b.lo AND b.n < 20'), ('e.t >= b.hi AND e.t < b.hi + interval ''90 minutes'''),
	('b.lo BETWEEN e.t - interval ''1 hour'' AND e.t'), ('b.lo > e.t AND b.lo < e.t + interval ''1 day'' AND b.lo <= e.t + interval ''2 hours'''), ('e.t >= b.lo AND e.t < b.hi AND e.x >= b.xl'),
	('e.d >= b.dl AND e.d <= b.dh'), ('e.d BETWEEN b.dl - 6 AND b.dl'), ('e.t >= b.dl AND e.d < b.dh'), ('b.dl BETWEEN e.d AND e.d + 3 AND b.n <> e.x'),
	('e.x BETWEEN b.xl AND b.xh'), ('e.x > b.xl AND e.x < b.xh'), ('e.x BETWEEN b.xl AND b.xh AND e.x % 3 = b.n % 3'), ('e.x BETWEEN b.xl AND b.xh AND (e.x > b.n OR e.s = ''t1'')'), ('b.xl BETWEEN e.x AND e.x + 20 AND e.x < 2147483600'), ('e.x BETWEEN b.xl AND b.xl + 9'), ('e.x > b.xl AND (e.x < b.xh OR b.n = 3)'),
	('e.w BETWEEN b.wl AND b.wh'), ('e.w > b.wl AND e.w < b.wh'), ('e.w >= b.wh AND e.w <= b.wl'), ('e.x >= b.wl AND e.w < b.xh'), ('e.w % 1000 BETWEEN b.xl AND b.xh'),
	('e.p >= b.pl AND e.p < b.ph'), ('e.p * 2 BETWEEN b.pl AND b.ph * 1.5'), ('e.p BETWEEN b.xl AND b.xh'), ('e.p > b.pl AND e.q < b.ph'), ('e.q BETWEEN b.pl AND b.ph'),
	('e.f >= b.fl AND e.f <= b.fh'), ('e.f > b.fl AND e.f < b.fh'), ('e.f BETWEEN b.xl AND b.fh'), ('e.f / 2 > b.fl AND e.f < b.fh - 1'), ('length(e.s) BETWEEN b.xl AND b.xh'), ('extract(hour FROM e.t) BETWEEN b.n AND b.n + 2'),
	('e.t >= b.lo AND (b.hi IS NULL OR e.t < b.hi)'), ('(b.lo IS NULL OR e.t > b.lo) AND (e.t < b.hi OR b.hi IS NULL)'), ('(b.xl IS NULL OR b.xl <= e.x) AND b.xl + 30 > e.x'), ('(b.xl IS NULL OR b.xl > e.x) AND b.xh < 60'), ('(b.fh IS NULL OR b.fh > e.f) AND b.fl <= e.f'), ('(e.w > b.wl OR b.wh IS NULL) AND e.w < b.wh');
\set sums 'count(*), sum(e.id), sum(b.n), sum(e.id * b.n), count(DISTINCT e.id), count(DISTINCT b.n)'
CREATE FUNCTION wrong(kind text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM condition, unnest('{b,nobody,one}'::text[]) tab,
		differ(format('SELECT count(*), sum(e.id), sum(b.n), sum(e.id * b.n), count(DISTINCT e.id), count(DISTINCT b.n) FROM e %s JOIN %s b ON %s', kind, tab, c), 'Gpucol') d
	WHERE d IS NOT NULL $$;
SELECT wrong('INNER');
SELECT wrong('LEFT');
SELECT wrong('RIGHT');
SET gpucol.cpu_threads = 1;
SELECT wrong('INNER');
RESET gpucol.cpu_threads;
-- rows that have a partner or none, of both tables; groups; floats, whose sums do not depend on the number of threads
SELECT d FROM condition, unnest('{"e WHERE EXISTS (SELECT FROM b WHERE @)","e WHERE NOT EXISTS (SELECT FROM b WHERE @)","b WHERE EXISTS (SELECT FROM e WHERE @)","b WHERE NOT EXISTS (SELECT FROM e WHERE @)"}'::text[]) q,
	differ('SELECT count(*), sum(' || CASE WHEN q LIKE 'e %' THEN 'e.id' ELSE 'b.n' END || ') FROM ' || replace(q, '@', c)) d WHERE d IS NOT NULL AND d NOT LIKE '%require: 0A000%';
SELECT differ('SELECT b.n, count(*), min(e.id), max(e.t) FROM e JOIN b ON e.t >= b.lo AND e.t < b.hi GROUP BY b.n'), differ('SELECT b.n % 7, e.s, count(*) FROM e LEFT JOIN b ON e.x BETWEEN b.xl AND b.xh GROUP BY 1, 2'),
	differ('SELECT e.id, b.n FROM e JOIN b ON e.x BETWEEN b.xl AND b.xh', 'GpucolJoin'), differ('SELECT e.id, b.n, c.n FROM e JOIN b ON e.x BETWEEN b.xl AND b.xh JOIN b c ON c.xl < b.xl AND c.xl > e.x - 60 WHERE e.id < 7000', 'GpucolJoin'),
	differ('SELECT g, count(e.id) FROM generate_series(timestamp ''2023-12-30'', ''2024-02-10'', ''6 hours'') g LEFT JOIN e ON e.t >= g AND e.t < g + interval ''6 hours'' GROUP BY 1'),
	differ('SELECT d, count(DISTINCT e.s) FROM (SELECT DISTINCT d FROM e) k JOIN e USING (d) GROUP BY 1'), differ('SELECT k.d, count(DISTINCT e.s) FROM (SELECT DISTINCT d FROM e WHERE isfinite(d)) k JOIN e ON e.d BETWEEN k.d - 6 AND k.d GROUP BY 1');
SET gpucol.cpu_threads = 1;
CREATE TABLE sum1 AS SELECT b.n, sum(e.f) AS s FROM e JOIN b ON e.x BETWEEN b.xl AND b.xh WHERE e.id < 7000 GROUP BY b.n;
RESET gpucol.cpu_threads;
SELECT count(*) FROM (SELECT b.n, sum(e.f) FROM e JOIN b ON e.x BETWEEN b.xl AND b.xh WHERE e.id < 7000 GROUP BY b.n EXCEPT TABLE sum1) x;

SELECT differ('SELECT e.id, b.lo FROM e, LATERAL (SELECT lo FROM b WHERE b.lo <= e.t ORDER BY b.lo DESC LIMIT 1) b', 'GpucolJoin'), differ('SELECT e.id, b.fh FROM e LEFT JOIN LATERAL (SELECT fh FROM b WHERE b.fh > e.f ORDER BY b.fh LIMIT 1) b ON true', 'GpucolJoin'),
	differ('SELECT e.id, b.xl FROM e LEFT JOIN LATERAL (SELECT xl FROM b WHERE b.xl < e.x ORDER BY b.xl DESC LIMIT 1) b ON true', 'GpucolJoin');

-- errors are those of pairs that PostgreSQL asks: an operand behind AND raises none where that before it is false
CREATE TABLE edge (n int, lo int, hi int) USING gpucol;
INSERT INTO edge VALUES (1, 0, 10), (2, 2147483647, 5), (3, 5, 20), (4, 3, -2147483648);
SELECT differ('SELECT count(*), sum(edge.n) FROM e JOIN edge ON e.x < 2000 AND e.x >= edge.hi AND e.x < edge.lo + 100 WHERE e.id < 7000'), differ('SELECT count(*) FROM e JOIN edge ON e.x > edge.hi AND e.x < edge.lo + 100 WHERE edge.n <> 2 AND e.id < 7000'),
	differ('SELECT count(*) FROM e JOIN edge ON e.x > edge.hi AND 1000 / (e.x - 7) < edge.lo'), differ('SELECT count(*) FROM e JOIN edge ON e.x - 2147483647 < edge.lo WHERE e.id < 7000'),
	differ('SELECT count(*) FROM e JOIN nobody b ON 1 / (e.x - e.x) > b.xl');

-- how many pairs are made
SET gpucol.engine = cpu;
CREATE FUNCTION pairs(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Join: ' THEN
			RETURN NEXT regexp_replace(trim(line), ', \d+ kB', '');
		END IF;
	END LOOP;
END $$;
SELECT pairs('SELECT count(*) FROM e JOIN b ON e.t >= b.lo AND e.t < b.hi WHERE e.id < 7000');
SELECT pairs('SELECT count(*) FROM e LEFT JOIN b ON e.x BETWEEN b.xl AND b.xh WHERE e.id < 7000');
SELECT pairs('SELECT g, count(e.id) FROM generate_series(timestamp ''2023-12-30'', ''2024-02-10'', ''6 hours'') g LEFT JOIN e ON e.t >= g AND e.t < g + interval ''6 hours'' GROUP BY 1');
SELECT pairs('SELECT count(*) FROM e, LATERAL (SELECT n FROM b WHERE b.lo <= e.t ORDER BY b.lo DESC LIMIT 1) b WHERE e.id < 7000');
SELECT pairs('SELECT count(*) FROM e JOIN b ON e.x BETWEEN b.xl AND b.xh OR e.x = b.n');

-- the same of the rows of a key, where there are many of each
CREATE FUNCTION wrong_by_key(kind text, key text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM condition, unnest('{b,nobody,one}'::text[]) tab,
		differ(format('SELECT count(*), sum(e.id), sum(b.n), sum(e.id * b.n), count(DISTINCT e.id), count(DISTINCT b.n) FROM e %s JOIN %s b ON %s AND (%s)', kind, tab, key, c), 'Gpucol') d
	WHERE d IS NOT NULL $$;
RESET gpucol.engine;
SELECT wrong_by_key('INNER', 'e.id % 3 = b.n % 3');
SELECT wrong_by_key('LEFT', 'nullif(e.id % 3, 2) = nullif(b.n % 3, 2)');
SELECT wrong_by_key('RIGHT', 'nullif(e.id % 3, 2) = nullif(b.n % 3, 2)');
SET gpucol.cpu_threads = 1;
SELECT wrong_by_key('INNER', 'e.id % 3 = b.n % 4 AND e.id % 2 = b.n % 2');
RESET gpucol.cpu_threads;
SELECT d FROM condition, unnest('{"e WHERE EXISTS (SELECT FROM b WHERE e.id % 3 = b.n % 3 AND (@))","e WHERE NOT EXISTS (SELECT FROM b WHERE e.id % 3 = b.n % 3 AND (@))"}'::text[]) q,
	differ('SELECT count(*), sum(e.id) FROM ' || replace(q, '@', c)) d WHERE d IS NOT NULL AND d NOT LIKE '%require: 0A000%';
SET gpucol.engine = cpu;
SELECT pairs('SELECT count(*) FROM e JOIN b ON e.t >= b.lo AND e.t < b.hi AND e.id % 3 = b.n % 3 WHERE e.id < 7000');
SELECT pairs('SELECT count(*) FROM e LEFT JOIN b ON e.x BETWEEN b.xl AND b.xh AND nullif(e.id % 3, 2) = nullif(b.n % 3, 2)');
-- few rows of each key
SELECT pairs('SELECT count(*) FROM e JOIN b ON e.t >= b.lo AND e.t < b.hi AND e.id % 30 = b.n % 30');
DROP SCHEMA join_bounds CASCADE;
