-- Raw bytes, which have no dictionary: they are read of those vectors alone that have a
-- row for which they matter, and the host is asked about the rows that are left.
SET client_min_messages = warning;
CREATE TABLE raw_t (id int NOT NULL, g int, few text, a text NOT NULL, b text, c bytea, n numeric) USING gpucol;
INSERT INTO raw_t SELECT i, i % 97, 'few ' || i % 9, md5(i::text), CASE WHEN i % 5 > 0 AND i / 4000 <> 3 THEN md5((-i)::text) || i END,
	decode(md5((i + 7)::text), 'hex'), CASE WHEN i % 3 > 0 THEN (i * 7919::bigint % 1000003) / 7.0 END
FROM generate_series(1, 40000) i;
DELETE FROM raw_t WHERE id % 1009 = 0 OR id BETWEEN 8193 AND 10400;
VACUUM ANALYZE raw_t;
INSERT INTO raw_t SELECT 50000 + id, g, few, a, b, c, n FROM raw_t WHERE id % 400 = 1;
UPDATE raw_t SET b = 'changed' WHERE id % 5003 = 1;
SELECT name, coding FROM (SELECT DISTINCT column_name AS name, coding FROM gpucol.columns('raw_t')) c ORDER BY 1, 2;
\set node GpucolScan
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all
-- each condition with each list of columns: those that nothing excludes before, that a
-- packed condition does, the host's verdicts, and all that computes with rows
SELECT differ(format('SELECT %s FROM raw_t WHERE %s', l, w)) AS wrong, count(*)
FROM (VALUES ('id, a'), ('b, c, n'), ('raw_t.*, md5(b)')) l(l),
	(VALUES ('true'), ('id = 17'), ('id BETWEEN 4090 AND 4100'), ('id > 39990'), ('g = 5 AND few = ''few 3'''), ('id < 0'),
		('a LIKE ''00%'''), ('a LIKE ''0%'' AND g < 9'), ('b IS NULL AND g = 3'), ('b IS NULL'), ('b LIKE ''a%'' AND a > ''e'' AND c < ''\xa0'''),
		('coalesce(b, ''fa'') LIKE ''fa%'''), ('b IS DISTINCT FROM a AND g = 1'), ('(a < ''01'' OR g = 4) AND id % 3 = 1'), ('b = ''changed'''), ('(b = ''changed'') IS NOT TRUE AND g = 11'),
		('n > 100000 AND g = 8'), ('g = 0 AND length(b) > 36 AND few <> ''few 1'''), ('id BETWEEN 8000 AND 10500 AND a ~ ''^[0-3]''')) w(w)
GROUP BY 1;
\set node GpucolAgg
DROP FUNCTION differ(text, text);
\set ECHO none
\i :include
\set ECHO all
SELECT differ(format('SELECT %s FROM raw_t WHERE %s GROUP BY 1', l, w)) AS wrong, count(*)
FROM (VALUES ('few, min(a), max(b), count(DISTINCT c)'), ('left(a, 1), count(*), count(b) FILTER (WHERE b LIKE ''a%'')'), ('g, min(n), max(a), count(c)')) l(l),
	(VALUES ('true'), ('id BETWEEN 4090 AND 4100'), ('a LIKE ''0%'' AND g < 9'), ('b IS NULL AND g = 3'), ('b LIKE ''a%'' AND a > ''e'''), ('g = 0 AND length(b) > 36')) w(w)
GROUP BY 1;
-- parts of one segment, dealt to the participants of a parallel scan
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT differ('SELECT count(upper(a)), sum(id), sum(length(upper(b))) FROM raw_t WHERE g < 20 AND c > ''\x30''', 'raw_t') AS wrong;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- bytes that one row takes
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION raw_bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Packed Bytes%' THEN
			RETURN substring(line FROM '[0-9]+');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
SELECT raw_bytes('SELECT a, b FROM raw_t WHERE (g + 1) % 97 >= 0') > 2000000 AS "all", raw_bytes('SELECT a, b, c FROM raw_t WHERE few = ''few 3'' AND id = 33333') < 600000 AS one,
	raw_bytes('SELECT b, c FROM raw_t WHERE a = md5(''777'')') < 2000000 AS others;
DROP FUNCTION raw_bytes(text), differ(text, text);
DROP TABLE raw_t;
