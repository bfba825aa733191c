-- array_tests: conditions on arrays and constants, decided on packed elements.  Arrays are NULL, empty, long, with NULL
-- elements; codes of elements are narrow and wide, texts of few and of many values; rows are deleted, and in the delta.
SET client_min_messages = warning;
SET gpucol.segment_rows = 8192;
CREATE TABLE tested_heap (id int, few int[], wide int[], s int2[], b bigint[], f float8[], r float4[], t text[], many text[], y bytea[], d date[], empty int[], same int[], odd int[]);
INSERT INTO tested_heap
	SELECT i, CASE WHEN i % 10 > 0 THEN (SELECT coalesce(array_agg(CASE WHEN (i + k) % 23 > 0 THEN abs(hashint4(i * 3 + k)) % 40 END), '{}') FROM generate_series(1, i % 9) k) END,
		(SELECT coalesce(array_agg(hashint4(i * 3 + k) % 1000000), '{}') FROM generate_series(1, i % 16) k),
		ARRAY[i % 30000, -(i % 7), CASE WHEN i % 3 > 0 THEN 32767 END]::int2[],
		(SELECT array_agg(hashint8(i * 3 + k) * 3000000019 + hashint8(k - i)) FROM generate_series(1, i % 9) k) || ARRAY[i % 11, CASE i % 500 WHEN 0 THEN '-9223372036854775808' WHEN 1 THEN '9223372036854775807' WHEN 2 THEN NULL ELSE i::bigint END],
		CASE WHEN i % 13 > 0 THEN ARRAY[i % 8 / 4.0, CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' WHEN 3 THEN NULL ELSE i / 8.0 END]::float8[] || (SELECT array_agg(hashint4(i * 3 + k) / 3e5::float8 / k) FROM generate_series(1, i % 9) k) END,
		ARRAY[i % 8 / 4.0, hashint4(-i) / 3.0, hashint4(i) / 7.0, hashint4(i + 1) / 9.0, hashint4(i + 2) / 11.0, CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' WHEN 3 THEN NULL ELSE i::float4 END]::float4[],
		CASE WHEN i % 12 > 0 THEN (SELECT coalesce(array_agg(CASE WHEN (i + k) % 31 > 0 THEN 'p' || abs(hashint4(i * 5 + k)) % 60 END), '{}') FROM generate_series(1, i % 7) k) END,
		ARRAY[md5(i::text), md5((i / 3)::text), 'x' || i % 4, ''],
		ARRAY[decode(md5((i % 50)::text), 'hex'), '', decode(md5((i % 71)::text), 'hex')]::bytea[], ARRAY[date '2024-01-01' + i % 100, date '2024-01-01' + abs(hashint4(i)) % 5000, CASE i % 90 WHEN 1 THEN date '2030-01-01' END, date '2024-01-01' + abs(hashint4(-i)) % 5000],
		'{}', ARRAY[5, 5], CASE WHEN i = 9000 THEN ARRAY[[1, 2], [3, 4]] WHEN i = 13000 THEN '[0:1]={1,2}' ELSE ARRAY[i % 4, 7] END
	FROM generate_series(1, 18000) i;
UPDATE tested_heap SET few = (SELECT array_agg(k % 40) FROM generate_series(1, 5000) k), t = (SELECT array_agg('p' || k % 60) FROM generate_series(1, 3000) k) WHERE id IN (2500, 8190);
UPDATE tested_heap SET wide = (SELECT array_agg(k) FROM generate_series(1, 300) k) WHERE id IN (102, 2500, 17000);
CREATE TABLE tested_packed (LIKE tested_heap) USING gpucol;
INSERT INTO tested_packed TABLE tested_heap ORDER BY id;
VACUUM ANALYZE tested_packed;
ANALYZE tested_heap;
SELECT column_name, coding, count(*) FROM gpucol.columns('tested_packed') WHERE column_name <> 'id' GROUP BY 1, 2 ORDER BY 1, 2;
DELETE FROM tested_packed WHERE id % 11 = 3;
DELETE FROM tested_heap WHERE id % 11 = 3;
INSERT INTO tested_packed SELECT * FROM tested_heap WHERE id % 97 = 5;
INSERT INTO tested_heap SELECT * FROM tested_heap WHERE id % 97 = 5;

-- segments that have none of the elements are passed over, and of a large dictionary a few entries alone are read
CREATE FUNCTION packed_bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query INTO plan;
	RETURN substring(plan::text FROM 'Packed Bytes[^:]*": (\d+)')::bigint;
END $$;
SELECT packed_bytes('SELECT count(*) FROM tested_packed WHERE t @> ''{nothing}''') < packed_bytes('SELECT count(*) FROM tested_packed WHERE t @> ''{p3}''') - 15000 AS texts,
	packed_bytes('SELECT count(*) FROM tested_packed WHERE 40 = ANY (few) AND ''nothing'' = t[2]') < packed_bytes('SELECT count(*) FROM tested_packed WHERE 39 = ANY (few) AND ''p3'' = t[2]') - 15000 AS integers,
	packed_bytes('SELECT count(*) FILTER (WHERE few && ''{100}'') FROM tested_packed') < packed_bytes('SELECT count(*) FILTER (WHERE few && ''{3}'') FROM tested_packed') - 15000 AS filter,
	packed_bytes('SELECT count(*) FROM tested_packed WHERE ''nothing'' = ANY (many) OR many @> ''{nothing,x1}''') < 100000 AS entries;
\set heap tested_heap
\set packed tested_packed
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/alike.psql
\set ECHO none
\i :include
\set ECHO all
-- a constant and each element, of each type: values that are there, and others; the least and greatest
SELECT col, x, string_agg(op || ' ' || alike(format('SELECT count(*) AS n, sum(id) AS s, count(*) FILTER (WHERE (%1$s %2$s ANY (%3$s)) IS NULL) AS u FROM # WHERE %1$s %2$s ANY (%3$s) OR id < 5', x, op, col))
	|| ' ' || alike(format('SELECT count(*) AS n, sum(id) AS s FROM # WHERE %1$s %2$s ALL (%3$s) OR id < 5', x, op, col))
	|| ' ' || alike(format('SELECT count(*) AS n, sum(id) AS s FROM # WHERE NOT (%1$s %2$s ANY (%3$s)) AND id > 2', x, op, col)), ', ' ORDER BY op) AS same
FROM (VALUES ('few', '3'), ('few', '39'), ('few', '777'), ('few', '-1'), ('wide', '-12345'), ('wide', '2147483647'), ('wide', '(-2147483648)'), ('s', '32767::int2'), ('s', '(-32768)::int2'), ('b', '7::bigint'),
	('b', '9223372036854775807'), ('b', '(-9223372036854775808)'), ('f', '0.25::float8'), ('f', '''NaN''::float8'), ('f', '0::float8'), ('f', '''-Infinity''::float8'), ('r', '0.25::float4'), ('r', '''NaN''::float4'),
	('d', 'date ''2024-01-05'''), ('d', '''infinity''::date'), ('empty', '1'), ('same', '5'), ('same', '4'), ('odd', '7')) c(col, x), unnest('{=,<>,<,<=,>,>=}'::text[]) op
GROUP BY col, x ORDER BY col, x;
SELECT col, x, string_agg(op || ' ' || alike(format('SELECT count(*) AS n, sum(id) AS s FROM # WHERE %1$s %2$s ANY (%3$s) OR id < 5', x, op, col))
	|| ' ' || alike(format('SELECT count(*) AS n, sum(id) AS s FROM # WHERE %1$s %2$s ALL (%3$s) OR id < 5', x, op, col)), ', ' ORDER BY op) AS same
FROM (VALUES ('t', '''p3'''), ('t', '''none'''), ('many', '''x1'''), ('many', ''''''), ('many', 'md5(''4711'')'), ('y', '''''::bytea')) c(col, x), unnest('{=,<>}'::text[]) op
GROUP BY col, x ORDER BY col, x;
-- sets, on either side: of one, of few, of so many that they are looked up; with NULLs, without elements, with what is not there
SELECT col, string_agg(alike(format('SELECT count(*) AS n, sum(id) AS s, count(*) FILTER (WHERE NOT %1$s %2$s %3$s) AS f, count(*) FILTER (WHERE %3$s %2$s %1$s) AS o FROM # WHERE %1$s %2$s %3$s OR id %% 1000 = 7', col, op, set)), ' ' ORDER BY op, set) AS same
FROM (VALUES ('few', '''{3}''::int[]'), ('few', '''{3,4,5,17}''::int[]'), ('few', '''{}''::int[]'), ('few', '''{NULL,3}''::int[]'), ('few', '''{3,999}''::int[]'), ('few', '''{999}''::int[]'),
	('few', 'ARRAY(SELECT k * 2 FROM generate_series(0, 40) k)'), ('few', 'ARRAY(SELECT k FROM generate_series(0, 39) k)'),
	('wide', '''{7,-12345}''::int[]'), ('wide', '(SELECT array_agg(hashint4(k) % 1000000) FROM generate_series(1, 3000, 70) k)'), ('b', '''{1,5,9223372036854775807}''::bigint[]'),
	('f', '''{0,NaN,0.25}''::float8[]'), ('f', '''{-0,0.5,1,1.25,0.75,1.5,1.75,-Infinity}''::float8[]'), ('r', '''{NaN,-0}''::float4[]'), ('s', '''{32767,0}''::int2[]'), ('d', '''{2024-01-05,infinity}''::date[]'),
	('t', '''{p3}''::text[]'), ('t', '''{p3,p4,p59,nothing}''::text[]'), ('t', 'ARRAY(SELECT ''p'' || k FROM generate_series(0, 50) k)'), ('t', '''{NULL}''::text[]'), ('t', '''{}''::text[]'),
	('many', '''{x1,""}''::text[]'), ('many', '(SELECT array_agg(md5(k::text)) || ''{"",x0,x1,x2,x3}'' FROM generate_series(1, 9000, 90) k)'), ('y', '''{"",nothing}''::bytea[]'),
	('empty', '''{1}''::int[]'), ('empty', '''{}''::int[]'), ('same', '''{5}''::int[]'), ('same', '''{4,6}''::int[]'), ('odd', '''{7,2}''::int[]')) c(col, set), unnest('{@>,<@,&&}'::text[]) op
GROUP BY col ORDER BY col;
-- sizes, single elements, and all of that together; where it is asked for in expressions
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), sum(id) FROM # WHERE cardinality(few) > 4'),
	('SELECT count(*), sum(id) FROM # WHERE array_length(t, 1) = 3 OR array_upper(few, 1) < 2 OR array_ndims(empty) IS NULL'),
	('SELECT count(*), sum(id) FROM # WHERE array_length(few, 1) IS NULL'),
	('SELECT count(*), sum(id) FROM # WHERE array_length(few, 2) > 1 OR array_lower(few, 1) = 1'),
	('SELECT count(*), sum(id) FROM # WHERE few[1] = 3 OR few[0] = 3'),
	('SELECT count(*), sum(id) FROM # WHERE few[5] <> 3'),
	('SELECT count(*), sum(id) FROM # WHERE NOT few[4999] <> 39 OR few[2] BETWEEN 5 AND 9'),
	('SELECT count(*), sum(id) FROM # WHERE t[1] = ''p3'''),
	('SELECT count(*), sum(id) FROM # WHERE t[2] <> ''p3'' AND t[1] <> ''nothing'''),
	('SELECT count(*), sum(id) FROM # WHERE y[1] = ''''::bytea OR y[2] = '''''),
	('SELECT count(*), sum(id) FROM # WHERE f[1] = 0.25 OR f[2] = ''NaN'' OR f[2] < 0'),
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3}'' AND few && ''{5,6,7}'' AND NOT few @> ''{9}'''),
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3}'' OR few IS NULL OR cardinality(few) = 0'),
	('SELECT count(*), sum(id) FROM # WHERE NOT (few IS NOT NULL AND (few @> ''{3}'' OR 5 < ALL (few)))'),
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3,4}'' AND t @> ''{p5}'''),
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3}'' AND id % 5 = 1 AND id > 10000'),
	('SELECT few, t FROM # WHERE few @> ''{3,5}'' AND ''p7'' = ANY (t)'),
	('SELECT id, t[1] AS a FROM # WHERE t && ''{p1,p2}'' AND id % 7 = 2'),
	('SELECT id % 5 AS k, count(*) FILTER (WHERE few @> ''{3}'') AS a, sum(CASE WHEN t && ''{p1,p2}'' THEN 1 WHEN ''p9'' = ANY (t) THEN 10 ELSE 0 END) AS b, sum(cardinality(few)) AS c, sum(few[1]) AS d FROM # GROUP BY k'),
	('SELECT cardinality(t) AS k, count(*) FILTER (WHERE t @> ''{p3}'') AS a, count(DISTINCT id) FILTER (WHERE NOT 3 = ANY (few)) AS b FROM # WHERE few && ''{1,2}'' GROUP BY k'),
	('SELECT t[1] AS k, count(*) FROM # WHERE t @> ''{p3}'' GROUP BY k'),
	('SELECT few @> ''{3}'' AS k, 5 <> ALL (few) AS l, count(*) FROM # GROUP BY 1, 2'),
	('SELECT e, count(*) FROM #, unnest(few) e WHERE few @> ''{3}'' AND t <@ ARRAY[''p1'', ''p2'', ''p3'', ''p4'', ''p5'', ''p6'', ''p7'', ''p8''] GROUP BY e'),
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3}'' AND many[1] LIKE ''a%'' AND many @> ''{x1}''')) q(query);
-- constants that are not known when it is planned, or NULL; more than 64 wanted
CREATE FUNCTION left_to_postgresql(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, COSTS OFF) ' || query INTO plan;
	RETURN plan::text LIKE '%Tested By PostgreSQL%';
END $$;
SELECT left_to_postgresql('SELECT count(*) FROM tested_packed WHERE few && ARRAY(SELECT k FROM generate_series(1, 3) k) AND (SELECT max(k) FROM generate_series(1, 9) k) = ANY (few) AND t[1] = (SELECT ''p'' || 3)');
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), sum(id) FROM # WHERE few && ARRAY(SELECT k FROM generate_series(1, 3) k)'),
	('SELECT count(*), sum(id) FROM # WHERE t @> ARRAY(SELECT ''p'' || k FROM generate_series(1, 2) k) AND cardinality(t) > (SELECT 3)'),
	('SELECT count(*), sum(id) FROM # WHERE few[2] = (SELECT max(k) FROM generate_series(1, 9) k) OR ''p3'' = ANY (t)'),
	('SELECT count(*) FILTER (WHERE few && ARRAY(SELECT k FROM generate_series(1, 3) k)) AS a, count(*) FILTER (WHERE (few @> (SELECT NULL::int[])) IS NULL) AS b FROM #'),
	('SELECT count(*) FILTER (WHERE few @> NULL) AS a, count(*) FILTER (WHERE NOT (few <@ NULL::int[])) AS b, count(*) FILTER (WHERE NULL = ANY (few)) AS c, count(*) FILTER (WHERE NOT NULL = ANY (few)) AS d, count(*) FILTER (WHERE NULL <> ALL (few)) AS e FROM #'),
	('SELECT count(*), sum(id) FROM # WHERE (NULL::int = ANY (few)) IS NULL OR id < 3'),
	('SELECT count(*), sum(id) FROM # WHERE (SELECT NULL::int) <= ALL (few) OR few @> NULL'),
	('SELECT count(*), sum(id) FROM # WHERE NOT (SELECT NULL::text) = ANY (t) OR cardinality(t) > NULL OR t[1] = NULL'),
	('SELECT count(*), sum(id) FROM # WHERE (few @> NULL) IS NULL AND (few[1] = NULL::int) IS NULL'),
	('SELECT count(*), sum(id) FROM # WHERE wide @> (SELECT array_agg(k) FROM generate_series(1, 290) k)'),
	('SELECT count(*), sum(id) FROM # WHERE wide @> (SELECT array_agg(k) FROM generate_series(1, 290) k) OR wide @> (SELECT array_agg(k) FROM generate_series(100, 301) k)'),
	('SELECT count(*), sum(id) FROM # WHERE t @> (SELECT array_agg(''p'' || k) FROM generate_series(0, 59) k)')) q(query);
SET gpucol.cpu_threads = 1;
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3,4}'' AND NOT t @> ''{p5}'''),
	('SELECT id, few FROM # WHERE few @> ''{3,5,6}''')) q(query);
RESET gpucol.cpu_threads;
PREPARE basket(int[], text) AS SELECT count(*), sum(id) FROM tested_packed WHERE few @> $1 AND ($2 = ANY (t) OR t IS NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE basket('{3}', 'p5');
EXECUTE basket('{3,NULL}', 'p5');
EXECUTE basket('{}', NULL);
EXECUTE basket(NULL, 'p5');
EXPLAIN (COSTS OFF) EXECUTE basket('{3}', 'p5');
RESET plan_cache_mode;
SELECT (SELECT (count(*), sum(id)) FROM tested_heap WHERE few @> '{3}' AND ('p5' = ANY (t) OR t IS NULL)) AS a, (SELECT (count(*), sum(id)) FROM tested_heap WHERE few @> '{}' AND (NULL = ANY (t) OR t IS NULL)) AS b;
-- packed together, without the delta
SELECT gpucol.merge('tested_packed') IS NOT NULL AS merged;
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), sum(id) FROM # WHERE few @> ''{3,4}'' OR many && (SELECT array_agg(md5(k::text)) FROM generate_series(1, 9000, 50) k)'),
	('SELECT count(*), sum(id) FROM # WHERE t @> ''{p3}'' AND 32767 = ANY (s)')) q(query);
DROP TABLE tested_heap, tested_packed;
DROP FUNCTION alike, packed_bytes, left_to_postgresql;
