--
-- Arrays as lengths and elements: every value comes back byte for byte the same, and what is not of one
-- dimension from 1 on, or not as PostgreSQL makes arrays, is kept as bytes.
--
SET client_min_messages = warning;
SET extra_float_digits = 1;

CREATE TABLE arrays_heap (id int, i2 int2[], i4 int[], i8 bigint[], f4 float4[], f8 float8[], d date[], ts timestamp[],
	b bool[], t text[], nu numeric[], empty int[], constant int[], nulls int[], big int[]);
INSERT INTO arrays_heap
SELECT i,
	ARRAY[i % 30000, -i % 30000, 7]::int2[],
	(SELECT array_agg(abs(hashint4(i * 12 + k) % 1000)) FROM generate_series(1, i % 12) k),
	ARRAY[hashint8(i) * 46116860::bigint, -i, NULL]::bigint[],
	ARRAY[hashint4(i) / 7.0, 1e30 / i, hashint4(i + 5)]::float4[] || CASE WHEN i % 10 = 0 THEN ARRAY['NaN', '-0']::float4[] END,
	CASE WHEN i % 5 > 0 THEN ARRAY[hashint4(i) / 3.0, i / 7.0, hashint4(-i) / 1e9, -0.0]::float8[] || CASE WHEN i % 10 = 0 THEN ARRAY['Infinity', NULL]::float8[] END END,
	ARRAY[date '2020-01-01' + abs(hashint4(i) % 10000), date '2020-01-01' - i],
	ARRAY[timestamp '2020-01-01' + i * interval '1 second'],
	ARRAY[i % 2 = 0, i % 3 = 0, NULL, i % 11 = 1, i % 13 = 1, i % 17 = 1, i % 19 = 1, i % 23 = 1, hashint4(i) % 2 = 0, hashint4(i + 1) % 2 = 0, hashint4(i + 2) % 2 = 0, hashint4(i + 3) % 2 = 0, hashint4(i + 4) % 2 = 0],
	CASE WHEN i % 7 = 0 THEN '{}' WHEN i % 11 > 0 THEN ARRAY['w' || hashint4(i) % 100, NULL, repeat('x', i % 9), 'é' || hashint4(i + 1) % 1000, 'v' || hashint4(i + 2) % 100] END,
	ARRAY[abs(hashint4(i) % 1000), hashint4(i + 1) % 700 / 10.0, hashint4(i + 2) % 7],
	CASE WHEN i % 3 = 0 THEN '{}'::int[] WHEN i % 3 = 1 THEN NULL ELSE ARRAY[i] END,
	array_fill(5, ARRAY[i % 300]),
	ARRAY[NULL, hashint4(i) % 4096, i % 1000, NULL, hashint4(i + 1) % 4096]::int[],
	ARRAY[2147483647 - i % 3, -2147483648 + i % 5]
FROM generate_series(1, 20000) i;
UPDATE arrays_heap SET i8 = ARRAY[9223372036854775807, -9223372036854775808, id] WHERE id % 1000 = 1;
UPDATE arrays_heap SET i4 = (SELECT array_agg(k) FROM generate_series(1, 30000) k) WHERE id = 15000;
CREATE TABLE arrays_packed (LIKE arrays_heap) USING gpucol;
INSERT INTO arrays_packed SELECT * FROM arrays_heap;
SELECT column_name, coding, bit_width FROM gpucol.columns('arrays_packed') WHERE column_name NOT IN ('f8', 'i8') ORDER BY 1;
-- all that bytes tell: sizes, images and texts
CREATE FUNCTION same_arrays() RETURNS TABLE (missing bigint, extra bigint) LANGUAGE sql AS $$
	WITH h AS (SELECT id, row(h.*)::text, array_send(i2), array_send(i4), array_send(i8), array_send(f4), array_send(f8), array_send(d),
			array_send(ts), array_send(b), array_send(t), array_send(nu), array_send(empty), array_send(constant), array_send(nulls), array_send(big)
		FROM arrays_heap h),
	p AS MATERIALIZED (SELECT id, row(p.*)::text, array_send(i2), array_send(i4), array_send(i8), array_send(f4), array_send(f8), array_send(d),
			array_send(ts), array_send(b), array_send(t), array_send(nu), array_send(empty), array_send(constant), array_send(nulls), array_send(big)
		FROM arrays_packed p)
	SELECT (SELECT count(*) FROM (TABLE h EXCEPT ALL TABLE p) q), (SELECT count(*) FROM (TABLE p EXCEPT ALL TABLE h) q) $$;
SET gpucol.pushdown = forbid;
SELECT * FROM same_arrays();
RESET gpucol.pushdown;
SELECT * FROM same_arrays();
-- byte for byte: what is compared by its image is
SELECT count(*) FROM arrays_heap h JOIN arrays_packed p USING (id)
WHERE NOT record_image_eq(row(h.i2, h.i4, h.i8, h.f4, h.f8, h.d, h.ts, h.b, h.t, h.nu, h.empty, h.constant, h.nulls, h.big),
	row(p.i2, p.i4, p.i8, p.f4, p.f8, p.d, p.ts, p.b, p.t, p.nu, p.empty, p.constant, p.nulls, p.big));
-- single rows
CREATE INDEX ON arrays_packed (id);
SET enable_seqscan = off;
SET gpucol.enable_scan = off;
SELECT count(*) FROM generate_series(1, 20000, 197) g JOIN arrays_heap h ON h.id = g, LATERAL (SELECT * FROM arrays_packed p WHERE p.id = g OFFSET 0) p
WHERE NOT record_image_eq(row(h.i2, h.i4, h.i8, h.f4, h.f8, h.d, h.ts, h.b, h.t, h.nu, h.empty, h.constant, h.nulls, h.big),
	row(p.i2, p.i4, p.i8, p.f4, p.f8, p.d, p.ts, p.b, p.t, p.nu, p.empty, p.constant, p.nulls, p.big));
RESET enable_seqscan;
RESET gpucol.enable_scan;
SELECT * FROM gpucol.verify('arrays_packed');

-- changes, packing together, another table
DELETE FROM arrays_heap WHERE id % 9 = 4;
DELETE FROM arrays_packed WHERE id % 9 = 4;
UPDATE arrays_heap SET i4 = i4 || ARRAY[id, NULL], t = array_append(t, 'new') WHERE id % 50 = 3;
UPDATE arrays_packed SET i4 = i4 || ARRAY[id, NULL], t = array_append(t, 'new') WHERE id % 50 = 3;
SELECT * FROM same_arrays();
VACUUM arrays_packed;
SELECT gpucol.merge('arrays_packed') IS NOT NULL AS merged;
SELECT * FROM same_arrays();
ALTER TABLE arrays_packed SET ACCESS METHOD heap;
SELECT * FROM same_arrays();
ALTER TABLE arrays_packed SET ACCESS METHOD gpucol;
SELECT gpucol.merge('arrays_packed') IS NOT NULL AS merged;
SELECT * FROM same_arrays();
SELECT column_name, coding FROM gpucol.columns('arrays_packed') WHERE column_name IN ('i4', 't') ORDER BY 1;

-- one array of another form, and the segment has bytes
CREATE TABLE odd_heap (id int, what int, a int[], t text[]);
INSERT INTO odd_heap SELECT i, 0, ARRAY[i, i % 7], ARRAY['a' || i % 50] FROM generate_series(1, 5000) i;
CREATE TABLE odd_packed (LIKE odd_heap) USING gpucol;
CREATE FUNCTION odd(value int[]) RETURNS TABLE (coding text, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE odd_packed;
	DELETE FROM odd_heap WHERE what = 1;
	INSERT INTO odd_heap VALUES (0, 1, value, value::text[]);
	INSERT INTO odd_packed SELECT * FROM odd_heap;
	RETURN QUERY SELECT string_agg(c.coding, ', ' ORDER BY column_name), (SELECT 5001 - count(*) FROM odd_heap h JOIN odd_packed p USING (id) WHERE record_image_eq(h, p))
	FROM gpucol.columns('odd_packed') c WHERE column_name IN ('a', 't');
END $$;
SET gpucol.pushdown = allow;
SELECT * FROM odd(ARRAY[1, 2, 3]);
SELECT * FROM odd('[0:1]={1,2}');
SELECT * FROM odd('[2:3]={1,2}');
SELECT * FROM odd('{{1,2},{3,4}}');
SELECT * FROM odd(NULL);
SELECT * FROM odd('{NULL}');
SELECT * FROM odd((SELECT array_agg(i) FROM generate_series(1, 200000) i));
SELECT * FROM odd(array_remove(ARRAY[1, NULL], NULL));
-- columns of domains over arrays, and arrays of domains and of types that are no integers
CREATE DOMAIN digit AS int CHECK (VALUE < 10);
CREATE DOMAIN digits AS int[];
CREATE TABLE kinds_heap AS SELECT i, ARRAY[i % 10, i / 7 % 10, i / 11 % 10, i / 101 % 10, i / 1009 % 10, i / 10007]::digit[] AS a, ARRAY[i, i + 1]::digits AS b,
	ARRAY[i % 128]::"char"[] AS c, ARRAY[md5(i::text)::uuid] AS u, ARRAY[point(i, 1)] AS pt, ARRAY[i * interval '1 day'] AS s, ARRAY['n' || i]::name[] AS n,
	ARRAY[row(i, 2)::record]::record[] IS NULL AS r, ARRAY[i::money] AS m, ARRAY[i::oid, 4294967295] AS o, ARRAY[jsonb_build_object('k', i % 40)] AS j,
	ARRAY[int4range(i % 10, i % 10 + 5)] AS g
FROM generate_series(1, 9000) i;
CREATE TABLE kinds_packed USING gpucol AS TABLE kinds_heap;
SELECT column_name, coding FROM gpucol.columns('kinds_packed') ORDER BY 1;
SELECT count(*) FROM kinds_heap h JOIN kinds_packed p USING (i) WHERE NOT record_image_eq(h, p);

-- statements on the elements, over segments and delta, by the engine
INSERT INTO arrays_packed SELECT * FROM arrays_heap WHERE id % 1000 = 8;
INSERT INTO arrays_heap SELECT * FROM arrays_heap WHERE id % 1000 = 8;
\set heap arrays_heap
\set packed arrays_packed
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/alike.psql
\set ECHO none
\i :include
\set ECHO all
SELECT query, alike(query) FROM (VALUES
	('SELECT cardinality(i4) AS n, count(*) FROM # GROUP BY n'),
	('SELECT cardinality(empty) AS n, array_length(empty, 1), array_upper(nulls, 1), array_lower(i4, 1), array_ndims(empty), count(*) FROM # GROUP BY 1, 2, 3, 4, 5'),
	('SELECT sum(i4[1]) AS a, sum(i4[12]) AS b, sum(i4[0]) AS c, sum(i2[2]) AS d, sum(i8[2]) AS e, min(big[1]) AS f, max(big[2]) AS g, count(nulls[3]) AS h, count(nulls[1]) AS i FROM #'),
	('SELECT max(f8[1]), min(f4[1]), count(*) FROM # WHERE f8[2] > 5 AND f4[3] = 0'),
	('SELECT d[1] - d[1] AS x, count(*), max(d[1]), min(ts[1]) FROM # GROUP BY 1'),
	('SELECT count(*), sum(id) FROM # WHERE 5 = ANY (i4)'),
	('SELECT count(*), sum(id) FROM # WHERE 5 = ANY (nulls)'),
	('SELECT count(*), sum(id) FROM # WHERE (5 = ANY (nulls)) IS NULL'),
	('SELECT count(*), sum(id) FROM # WHERE 77 <> ALL (i4)'),
	('SELECT count(*), sum(id) FROM # WHERE i4 @> ARRAY[5, 500] OR i4 && ARRAY[3, 4]'),
	('SELECT count(*), sum(id) FROM # WHERE id = ANY (empty)'),
	('SELECT count(*), sum(id) FROM # WHERE f8[2] = ANY (f8)'),
	('SELECT array_position(i4, id % 10) AS x, count(*) FROM # GROUP BY 1'),
	('SELECT e, count(*) FROM #, unnest(i4) e GROUP BY e'),
	('SELECT e, count(*), sum(id) FROM #, unnest(nulls) e GROUP BY e'),
	('SELECT e, count(*) FROM #, unnest(f8) e WHERE id % 100 = 1 GROUP BY e'),
	('SELECT e, n, count(*) FROM #, unnest(i2) WITH ORDINALITY u(e, n) WHERE id < 500 GROUP BY e, n'),
	('SELECT e, count(*) FROM # LEFT JOIN LATERAL unnest(empty) e ON true GROUP BY e'),
	('SELECT e, count(*) FROM #, unnest(t) e GROUP BY e'),
	('SELECT sum(e), count(*), min(e), max(e) FROM #, unnest(constant) e'),
	('SELECT i4, count(*) FROM # WHERE id % 100 = 7 GROUP BY i4'),
	('SELECT t, count(*), sum(id) FROM # GROUP BY t'),
	('SELECT nu, count(*), min(id) FROM # GROUP BY nu'),
	('SELECT t, id % 5 AS x, count(*) FROM # GROUP BY 1, 2'),
	('SELECT DISTINCT t, nu FROM # WHERE id % 10 > 3'),
	('SELECT id, i4, cardinality(i4), i4[2] AS second FROM # WHERE 5 = ANY (i4) AND id % 10 = 7'),
	('SELECT cardinality(t) AS n, array_upper(nu, 1), count(*) FROM # GROUP BY 1, 2'),
	('SELECT count(*) FILTER (WHERE i4[2] = ANY (i4)) AS a, count(*) FILTER (WHERE id % 7 = ANY (nulls)) AS b, count(*) FILTER (WHERE f4[1] = ANY (f4)) AS c FROM #'),
	('SELECT e, n, count(*), sum(id) FROM # LEFT JOIN LATERAL unnest(i4) WITH ORDINALITY u(e, n) ON true GROUP BY e, n'),
	('SELECT x.e, y.f, count(*), sum(cardinality(i4)) FROM #, unnest(i2) x(e), unnest(d) y(f) WHERE id < 3000 GROUP BY 1, 2'),
	('SELECT x.e, k.w, count(*), sum(i4[1]) FROM # JOIN (VALUES (1, 2), (3, 4), (3, 5)) k(v, w) ON k.v = id % 5, unnest(i4) x(e) GROUP BY 1, 2'),
	('SELECT x.e, count(*) FROM # JOIN (SELECT id AS other, i4 AS b FROM # WHERE id % 10 = 3) k ON k.other = id, unnest(k.b) x(e) WHERE x.e = ANY (i4) GROUP BY 1'),
	('SELECT id, e FROM #, unnest(i4) e WHERE id % 50 = 3'),
	('SELECT i4[1] AS a, f8[1] AS b, count(*) FROM # WHERE cardinality(i4) > 10 AND f8[1] > 0 GROUP BY 1, 2'),
	('SELECT max(e), min(e), count(e) FROM #, unnest(f4) e WHERE e <> ALL (f4[1:1]) OR e > 0'),
	('SELECT count(*) FROM # WHERE i4 IS NULL'),
	('SELECT count(*) AS a, count(t) AS b FROM # WHERE i4 = ARRAY[5] OR t IS NULL')
) q(query);
DROP TABLE arrays_heap, arrays_packed, odd_heap, odd_packed, kinds_heap, kinds_packed;
DROP FUNCTION same_arrays, odd, alike;
DROP DOMAIN digits;
DROP DOMAIN digit;
