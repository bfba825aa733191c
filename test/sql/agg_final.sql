--
-- Groups of a key in whose order rows lie are complete when their vector is.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_final;
SET search_path = agg_final, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- Keys of every type that rise, fall, rise in shuffled stretches, lie a little out of order, or in none.
SET gpucol.segment_rows = 16384;
CREATE TABLE series (n int, up int8, down int4, late int8, mixed int8, stretch int8, cents numeric(14,2), day date, at timestamp, tag int,
	v int, d numeric(12,3), f float8, b bool, t text) USING gpucol;
SECURITY LABEL FOR gpucol ON TABLE series IS 'automerge_enabled = off';
CREATE FUNCTION filled(low int, high int) RETURNS SETOF series LANGUAGE sql AS $$
	SELECT i, CASE WHEN i % 5003 > 0 THEN i / 4 * 1000003::int8 - 9e9::int8 END, -(i / 3), i / 4 * 1000::int8 - i % 37 / 36 * 60000,
		i * 7919::int8 % 60013 * 1000000007, ((i / 10240 * 5 + 2) % 7 * 100000::int8 + i % 10240 / 2 * 3) * 12345,
		(i / 3) * 1000.25, '1970-01-01'::date + i / 2, '2001-01-01'::timestamp + (i / 3 * 3600.000001) * interval '1 second',
		i % 3, CASE WHEN i % 11 > 0 THEN i * 31 % 1009 END, i % 977 / 8.0, CASE WHEN i % 13 > 0 THEN (i % 641 - 300) / 8.0 END, i % 7 > 2,
		't' || i % 101
	FROM generate_series(low, high) i
$$;
INSERT INTO series SELECT * FROM filled(1048, 60000);
CREATE TABLE names (k int8, name int8, x int) USING gpucol;
INSERT INTO names SELECT i * 1000003::int8 - 9e9::int8, i * 1000, i % 5 FROM generate_series(0, 15500) i WHERE i % 9 > 0;
ANALYZE series, names;
CREATE TABLE queries AS SELECT unnest(ARRAY[
	'SELECT up, count(*), sum(v), min(v), max(d), sum(d) FROM series GROUP BY up',
	'SELECT up, sum(v) FROM series GROUP BY up HAVING sum(v) > 2500',
	'SELECT up, count(*) FROM series WHERE v % 3 = 0 GROUP BY up HAVING count(*) BETWEEN 2 AND 3',
	'SELECT up, avg(v), bool_and(b), bool_or(v > 900), bit_xor(v), bit_and(v) FROM series GROUP BY up',
	'SELECT up, sum(f), avg(f), min(f), max(f) FROM series GROUP BY up',
	'SELECT up, count(*) FILTER (WHERE b), sum(v) FILTER (WHERE tag = 1) FROM series GROUP BY up',
	'SELECT tag, up, count(*), sum(d) FROM series GROUP BY tag, up',
	'SELECT up, tag, f FROM series GROUP BY up, tag, f HAVING count(*) > 1',
	'SELECT down, count(*), sum(v), sum(f) FROM series GROUP BY down HAVING count(v) > 1',
	'SELECT late, count(*), sum(v) FROM series GROUP BY late',
	'SELECT mixed, count(*), sum(v) FROM series GROUP BY mixed',
	'SELECT mixed, up, count(*), sum(v) FROM series GROUP BY mixed, up',
	'SELECT stretch, count(*), sum(v), max(n) FROM series GROUP BY stretch',
	'SELECT cents, count(*), sum(cents), min(d) FROM series GROUP BY cents',
	'SELECT day, count(*), max(v) FROM series WHERE day > ''1972-01-01'' GROUP BY day',
	'SELECT at, day, count(*), max(v) FROM series GROUP BY at, day',
	'SELECT up, sum(v) FROM series GROUP BY up ORDER BY 2 DESC NULLS LAST, 1 LIMIT 20',
	'SELECT up, sum(v) FROM series GROUP BY up HAVING count(*) = 4 ORDER BY 2, 1 LIMIT 20',
	'SELECT down, avg(v) FROM series GROUP BY down ORDER BY 2 DESC NULLS FIRST, 1 LIMIT 30',
	'SELECT count(*) FROM (SELECT up FROM series GROUP BY up LIMIT 30) x',
	'SELECT up, count(DISTINCT v), max(t) FROM series GROUP BY up',
	'SELECT t, up, count(*) FROM series GROUP BY t, up',
	'SELECT up, x, sum(v) FROM series JOIN names ON k = up GROUP BY up, x',
	'SELECT up, count(x), sum(v + x) FROM series LEFT JOIN names ON k = up GROUP BY up',
	'SELECT s.up, count(m.n), sum(m.v) FROM series s LEFT JOIN series m ON m.tag = 1 AND m.up = s.up GROUP BY s.up',
	'SELECT s.up, name, sum(v) FROM series s FULL JOIN names ON k = up GROUP BY s.up, name',
	'SELECT k, x, sum(v) FROM series JOIN names ON k = up GROUP BY k, x',
	'SELECT k, count(*), sum(v) FROM series RIGHT JOIN names ON k = up AND v > 300 GROUP BY k',
	'SELECT m.up, x, sum(s.v), max(m.t) FROM series s JOIN series m ON m.up = s.up AND m.tag = s.tag JOIN names ON k = m.up GROUP BY m.up, x',
	'SELECT up, t, count(*), sum(f) FROM series GROUP BY up, t HAVING count(*) > 0 AND sum(v) > 500',
	'SELECT t, up, max(v) FROM series GROUP BY t, up ORDER BY t, up LIMIT 40',
	'SELECT k, t, x, count(*) FROM series JOIN names ON k = up GROUP BY k, t, x ORDER BY 4 DESC, t, k LIMIT 40',
	'SELECT up, sum(v) FROM series WHERE up > 1e12 GROUP BY up',
	'SELECT up, count(*) FROM (SELECT up, v FROM series UNION ALL SELECT k, x FROM names) u GROUP BY up'
	]) q;
CREATE FUNCTION wrong(threads int DEFAULT 3) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpucol.cpu_threads', threads::text, false);
	RETURN QUERY SELECT concat_ws(' ', threads, d) FROM queries, differ(q) d WHERE d IS NOT NULL;
END $$;
SELECT wrong();
SELECT wrong(1);

-- What EXPLAIN tells of it.
SET gpucol.engine = cpu;
CREATE FUNCTION complete(threads int, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('gpucol.cpu_threads', threads::text, false);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Reduction Objects' THEN
			RETURN coalesce(substring(line FROM '[0-9]+ complete.*dropped'), 'none complete');
		END IF;
	END LOOP;
END $$;
SELECT threads, complete(threads, 'SELECT up, sum(v) FROM series GROUP BY up HAVING sum(v) > 2500') FROM unnest('{1,3}'::int[]) threads;
CREATE VIEW completed AS SELECT key, complete(2, format('SELECT %s, count(*), sum(f) FROM series GROUP BY %1$s', key))
	FROM unnest('{up,down,late,mixed,stretch,cents,day,at,tag,"tag, up",t}'::text[]) key;
SELECT * FROM completed;
SELECT complete(1, 'SELECT up, sum(v) FROM series GROUP BY up ORDER BY 2 DESC NULLS LAST LIMIT 20') ~ ' [0-9]{4,} dropped';
SELECT complete(2, 'SELECT up, count(x), sum(v + x) FROM series LEFT JOIN names ON k = up GROUP BY up');
SELECT complete(2, 'SELECT k, x, sum(v) FROM series JOIN names ON k = up GROUP BY k, x');
SELECT complete(2, 'SELECT k, t, x, sum(v) FROM series JOIN names ON k = up GROUP BY k, t, x HAVING sum(v) > 900');
SELECT complete(2, 'SELECT t, n.k, count(*) FROM series JOIN names m ON m.k = up JOIN names n ON n.k = m.k GROUP BY t, n.k');
SELECT complete(2, 'SELECT up, count(DISTINCT v) FROM series GROUP BY up');
SELECT complete(2, 'SELECT up + 1, count(*) FROM series GROUP BY 1');
SET gpucol.engine = auto;

-- Deleted rows; delta rows with values of packed ones, new ones and NULL.
DELETE FROM series WHERE n % 1000 < 30 OR n BETWEEN 20000 AND 23000;
SELECT wrong();
UPDATE series SET v = 5000 WHERE n % 700 = 1;
INSERT INTO series SELECT * FROM filled(60001, 60700);
INSERT INTO series SELECT * FROM filled(30001, 30100);
INSERT INTO series (n, v) VALUES (0, 7);
SELECT wrong();
SET gpucol.engine = cpu;
SELECT * FROM completed WHERE key IN ('up', 'down', 'cents');

-- With many delta rows nothing is final.
UPDATE series SET v = v + 1 WHERE n % 5 = 0;
SELECT * FROM completed WHERE key IN ('up', 'down', 'cents');
SET gpucol.engine = auto;
SELECT wrong();

-- Segments in any order, and of partitions; empty ones.
CREATE TABLE parted (n int, up int8, down int4, late int8, mixed int8, stretch int8, cents numeric(14,2), day date, at timestamp, tag int,
	v int, d numeric(12,3), f float8, b bool, t text) PARTITION BY RANGE (n);
CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (20001) TO (60000) USING gpucol;
CREATE TABLE part2 PARTITION OF parted FOR VALUES FROM (0) TO (20001) USING gpucol;
CREATE TABLE part3 PARTITION OF parted FOR VALUES FROM (60001) TO (60002) USING gpucol;
INSERT INTO parted SELECT * FROM filled(1, 59999);
VACUUM ANALYZE parted;
ALTER TABLE series RENAME TO before;
ALTER TABLE parted RENAME TO series;
SELECT wrong();
TRUNCATE series;
SELECT wrong();
DROP SCHEMA agg_final CASCADE;
