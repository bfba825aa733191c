--
-- Arrays of whose elements only the first ones are asked for: the first rows of groups.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_elements;
SET search_path = agg_elements, public;

\set node 'Array Elements: first'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE packed (id int, k int, t text COLLATE "C", u text, b int, d numeric(12,2), w numeric(30,2), n numeric, f float8, g float4,
	day date, z timestamptz, yes bool, v interval) USING gpucol;
INSERT INTO packed SELECT i, i % 17, CASE WHEN i % 11 > 0 THEN 'key ' || i % 203 END, CASE WHEN i % 7 > 0 THEN chr(97 + i % 13) || i % 50 END,
	CASE WHEN i % 9 > 0 THEN i * 7919 % 500 END, (i * 37 % 10000 - 5000) / 100.0, i * 37 % 10000 * 1e20, i % 90 / 7.0,
	CASE WHEN i % 500 = 0 THEN 'NaN' WHEN i % 501 = 0 THEN '-Infinity' WHEN i % 50 = 0 THEN '-0' ELSE i * 13 % 1009 / 9.0 END,
	i * 13 % 1009 / 9.0, date '2020-01-01' + i % 400, timestamptz '2020-01-01' + i * 7 % 4500 * interval '37 minutes', i % 3 = 0,
	i % 100 * interval '1 hour' FROM generate_series(1, 4500) i;
-- deleted and delta rows, extremes, NULL
DELETE FROM packed WHERE id % 10 = 3;
INSERT INTO packed (id, k, b, f, d, t) VALUES (9001, 1, 2147483647, 'Infinity', 9999999999.99, ''), (9002, 1, -2147483648, -0.0, -9999999999.99, repeat('z', 5000)),
	(9003, NULL, NULL, NULL, NULL, NULL), (9004, 99, NULL, NULL, NULL, NULL), (9005, 98, 7, 'NaN', NULL, 'x');
ANALYZE packed;

-- elements of every type in every order, whole and by group, of some rows and of none
SELECT differ(q) FROM unnest(ARRAY['k, ', 't, u, ', '']) keys,
	unnest(ARRAY['true', 'b = -5']) qual, unnest(ARRAY['b', 'b DESC', 'b NULLS FIRST', 'b DESC NULLS LAST', 'd, b DESC', 'w DESC', 'n, f DESC',
	'f', 'f DESC', 'g, t DESC', 'day DESC, z', 'z', 't', 't DESC', 'u COLLATE "POSIX", b', 'yes, u, v', 'v DESC', 'yes DESC NULLS LAST, f', 'b + k DESC', 'upper(u), abs(d)', '1', 'b USING >, f USING <']) sort,
	LATERAL (SELECT format('SELECT %s(array_agg(id ORDER BY %s, id))[1], (array_agg(t ORDER BY %2$s, id DESC))[2], (array_agg(upper(u) ORDER BY %2$s, id) FILTER (WHERE yes))[1:3],
		(array_agg(d ORDER BY %2$s, id))[2:4], (array_agg(f ORDER BY %2$s, id))[1], count(*), min(b) FROM packed WHERE %s%s', keys, sort, qual,
		CASE WHEN keys <> '' THEN ' GROUP BY ' || rtrim(keys, ', ') END) q) x
WHERE differ(q) IS NOT NULL;

-- any type, NULL, elements that there are not, no order
SELECT differ(q) FROM unnest(ARRAY[
	'SELECT k, (array_agg(v ORDER BY id))[1], (array_agg(n ORDER BY id DESC))[1], (array_agg(w ORDER BY d, id))[1], (array_agg(day ORDER BY b, id))[1], (array_agg(yes ORDER BY id))[7] FROM packed GROUP BY k',
	'SELECT k, (array_agg(b))[1], (array_agg(b))[0], (array_agg(b))[-3], (array_agg(b))[100], (array_agg(b))[:3], (array_agg(t))[2:5] FROM packed GROUP BY k',
	'SELECT k, (array_agg(NULL::int ORDER BY id))[1], (array_agg(5 ORDER BY id))[2], (array_agg((b, t) ORDER BY id))[1] FROM packed GROUP BY k',
	'SELECT (array_agg(DISTINCT b))[1], (array_agg(DISTINCT b ORDER BY b DESC))[1], (array_agg(DISTINCT t))[1], (array_agg(DISTINCT n))[1] FROM packed',
	'SELECT k, array_length((array_agg(b ORDER BY id))[2:9], 1), (array_agg(b ORDER BY id) FILTER (WHERE id < 0))[1] FROM packed GROUP BY k',
	'SELECT upper(u), (array_agg(b ORDER BY d, id))[1] FROM packed GROUP BY 1', 'SELECT id, (array_agg(b ORDER BY d))[1] FROM packed GROUP BY 1',
	'SELECT k FROM packed GROUP BY k HAVING (array_agg(b ORDER BY id DESC))[1] > 100',
	'SELECT k FROM packed GROUP BY k ORDER BY (array_agg(b ORDER BY id DESC))[1], k LIMIT 5',
	'SELECT k, (array_agg(b ORDER BY id))[1] + (array_agg(b ORDER BY id))[3], (array_agg(b ORDER BY id))[2:5] FROM packed GROUP BY k',
	'SELECT (array_agg(b ORDER BY id))[1], (array_agg(t ORDER BY id))[1] FROM packed WHERE id > 100000',
	'SELECT k, yes, grouping(k, yes), (array_agg(t ORDER BY d DESC, id))[1:2], (array_agg(id ORDER BY f, id))[1] FROM packed GROUP BY CUBE (k, yes)',
	'SELECT p.k, (array_agg(q.t ORDER BY p.d DESC, q.id))[1], (array_agg(p.b ORDER BY q.f, p.id))[1:2] FROM packed p JOIN packed q ON p.id = q.b GROUP BY p.k',
	'SELECT (array_agg(b ORDER BY id))[1] FROM (SELECT * FROM packed UNION ALL SELECT * FROM packed) u',
	'SELECT k, (array_agg(1 / (id - 7) ORDER BY id))[1] FROM packed GROUP BY k', 'SELECT k, (array_agg(id ORDER BY 1 / (id - 7)))[1] FROM packed GROUP BY k',
	'SELECT k, (array_agg(1 / (id - 7) ORDER BY id) FILTER (WHERE id <> 7))[1] FROM packed GROUP BY k']) q WHERE differ(q) IS NOT NULL;

-- whoever asks for more has the whole array
SELECT differ(q, 'Aggregates: fed by rows') whole, differ(q) LIKE '%not pushed down%' all_elements FROM unnest(ARRAY[
	'SELECT k, (array_agg(b ORDER BY id))[1], array_agg(b ORDER BY id) FROM packed GROUP BY k', 'SELECT k, (array_agg(b ORDER BY id))[k] FROM packed GROUP BY k',
	'SELECT k, (array_agg(b ORDER BY id))[2:] FROM packed GROUP BY k', 'SELECT k, (array_agg(b ORDER BY id))[101] FROM packed GROUP BY k', 'SELECT k, (array_agg(b ORDER BY id))[NULL] FROM packed GROUP BY k',
	'SELECT (array_agg(DISTINCT b))[2], (array_agg(DISTINCT t))[1:2] FROM packed', 'SELECT k, (array_agg(b ORDER BY id))[1][1] FROM packed GROUP BY k',
	'SELECT k, (array_agg(ARRAY[b, id] ORDER BY id))[1][2] FROM packed GROUP BY k',
	'SELECT k, (array_agg(b ORDER BY id))[1] FROM packed GROUP BY k HAVING cardinality(array_agg(b ORDER BY id)) > 265',
	'SELECT k, (array_agg(b ORDER BY id))[1], sum(cardinality(array_agg(b ORDER BY id))) OVER () FROM packed GROUP BY k']) q;
EXPLAIN (COSTS OFF) SELECT k, (array_agg(b ORDER BY id))[1], array_agg(b ORDER BY id), (array_agg(t ORDER BY id))[2:3] FROM packed GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, (array_agg(b ORDER BY id))[1], array_agg(b ORDER BY id) FROM packed GROUP BY k;

-- partitions
CREATE TABLE parted (k int, b int, t text) PARTITION BY LIST (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1, 2) USING gpucol;
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (3, 4) USING gpucol;
INSERT INTO parted SELECT 1 + i % 4, i, 't' || i FROM generate_series(1, 3000) i;
SELECT differ('SELECT k, (array_agg(t ORDER BY b DESC))[1] FROM parted GROUP BY k');
SET enable_partitionwise_aggregate = on;
SELECT differ('SELECT k, (array_agg(t ORDER BY b DESC))[1] FROM parted GROUP BY k', 'GpucolAgg');
RESET enable_partitionwise_aggregate;

-- too much for the limit; again with other values
SET gpucol.memory_limit = '1MB';
SELECT differ('SELECT id, k, (array_agg(repeat(t, 100) ORDER BY d, b))[1] FROM packed GROUP BY id, k', 'GpucolAgg');
RESET gpucol.memory_limit;
PREPARE again(int) AS SELECT k, (array_agg(t ORDER BY b DESC, id))[1:2] FROM packed WHERE id < $1 GROUP BY k ORDER BY k LIMIT 3;
EXECUTE again(100);
EXECUTE again(2000);

DROP SCHEMA agg_elements CASCADE;
