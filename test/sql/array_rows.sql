-- array_rows: rows made of arrays below groups and DISTINCT: elements, and subscripts of the first dimension.
-- Arrays are NULL, empty, with NULL elements, of several dimensions, with other lower bounds; rows are deleted, and in the delta.
SET client_min_messages = warning;
SET gpucol.segment_rows = 2048;
-- which of equal numerics a group shows depends on the order of rows, which autovacuum would change
CREATE TABLE made_heap (id int, plain int[], nulls bigint[], odd int[], t text[], odd_t text[], n numeric[], u uuid[]) WITH (autovacuum_enabled = off);
INSERT INTO made_heap
	SELECT i, (SELECT coalesce(array_agg(hashint4(i + k) & 63), '{}') FROM generate_series(1, i % 7) k),
		CASE WHEN i % 9 > 0 THEN (SELECT array_agg(CASE WHEN (i + k) % 4 > 0 THEN (i * k) % 50 END) FROM generate_series(1, i % 5) k) END,
		CASE i % 6 WHEN 0 THEN ARRAY[[i % 10, 2, 3], [4, NULL, 6]] WHEN 1 THEN array_fill(i % 20, ARRAY[3], ARRAY[-1]) WHEN 2 THEN array_fill(7, ARRAY[2, 2], ARRAY[0, 5])
			WHEN 3 THEN '{}' WHEN 4 THEN NULL ELSE ARRAY[i % 30, NULL, 1] END,
		(SELECT array_agg('w' || (hashint4(i * 3 + k) & 31)) FROM generate_series(1, i % 4) k),
		CASE i % 3 WHEN 0 THEN ARRAY[['a', 'b'], ['c' || i % 9, NULL]] WHEN 1 THEN array_fill('x'::text, ARRAY[2], ARRAY[i % 4]) ELSE ARRAY['y', 'a'] END,
		(SELECT array_agg((i + k) / 4.0) FROM generate_series(1, i % 3) k), array_fill(md5((i % 5)::text)::uuid, ARRAY[i % 3])
	FROM generate_series(1, 9000) i;
CREATE TABLE made_packed (LIKE made_heap) USING gpucol;
INSERT INTO made_packed TABLE made_heap;
VACUUM ANALYZE made_packed;
ANALYZE made_heap;
DELETE FROM made_packed WHERE id % 11 = 3;
DELETE FROM made_heap WHERE id % 11 = 3;
INSERT INTO made_packed SELECT * FROM made_heap WHERE id % 97 = 5;
INSERT INTO made_heap SELECT * FROM made_heap WHERE id % 97 = 5;

-- the engine makes the rows
EXPLAIN (COSTS OFF) SELECT sum(s) FROM made_packed, generate_subscripts(plain, 1) s;
EXPLAIN (COSTS OFF) SELECT DISTINCT unnest(plain) FROM made_packed;
EXPLAIN (COSTS OFF) SELECT e, count(*) FROM made_packed, unnest(t) e GROUP BY e;
-- PostgreSQL does: another dimension, one that is not constant, numbers beside subscripts
EXPLAIN (COSTS OFF) SELECT sum(s) FROM made_packed, generate_subscripts(odd, 2) s;
EXPLAIN (COSTS OFF) SELECT sum(s) FROM made_packed, generate_subscripts(odd, id) s;
EXPLAIN (COSTS OFF) SELECT sum(s), sum(o) FROM made_packed, generate_subscripts(odd, 1) WITH ORDINALITY u(s, o);

-- a join that is run for each row of the query around is PostgreSQL's where tables are small: the engine's begins anew each time
CREATE TABLE made_dim USING gpucol AS SELECT k, k % 7 AS c FROM generate_series(0, 300) k;
VACUUM ANALYZE made_dim;
EXPLAIN (COSTS OFF) SELECT count(*) FROM made_packed p WHERE EXISTS (SELECT FROM unnest(plain) e JOIN made_dim d ON d.k = e WHERE d.c < 3);

\set heap made_heap
\set packed made_packed
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/alike.psql
\set ECHO none
\i :include
\set ECHO all
-- slices of each kind of array
EXPLAIN (COSTS OFF) SELECT e, count(*) FROM made_packed, unnest(plain[2:3]) e GROUP BY e;
EXPLAIN (COSTS OFF) SELECT sum(e) FROM made_packed, unnest(plain[1:id]) e;
SELECT of, string_agg(alike(format('SELECT e, count(*), sum(id), max(o) FROM #, unnest(%I[%s]) WITH ORDINALITY u(e, o) GROUP BY e', of, slice))
	|| ' ' || alike(format('SELECT count(e) AS n, count(*) AS c, sum(o) AS s FROM # LEFT JOIN LATERAL unnest(%I[%s]) WITH ORDINALITY u(e, o) ON true', of, slice)), ', ' ORDER BY slice COLLATE "C") AS same
FROM unnest('{plain,nulls,odd,t,odd_t}'::text[]) of, unnest('{1:2,2:,:1,:,0:1,2:2147483647,-2147483648:1}'::text[]) slice GROUP BY of;
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), count(e) AS n FROM #, unnest(plain[3:2]) e'),
	('SELECT count(*), count(e) AS n FROM # LEFT JOIN LATERAL unnest(t[2147483647:]) e ON true'),
	('SELECT count(*), count(e) AS n FROM #, unnest(odd[-1:0]) e'),
	('SELECT e, f, count(*) FROM #, unnest(plain[2:4]) e, unnest(nulls[:2]) f WHERE e > 5 GROUP BY 1, 2'),
	('SELECT unnest(t[2:3]) AS e, count(*) FROM # GROUP BY 1'),
	('SELECT sum(cardinality(plain)) AS s, sum(e) AS t FROM #, unnest(plain[2:]) e WHERE plain @> ''{3}''')) q(query);
-- EXPLAIN names what texts are computed of
EXPLAIN (COSTS OFF) SELECT md5(e), count(*) FROM made_packed, unnest(t) e GROUP BY 1;

-- each kind of array
SELECT of, alike(format('SELECT s, count(*), sum(id) FROM #, generate_subscripts(%I, 1) s GROUP BY s', of)) AS groups,
	alike(format('SELECT count(s) AS a, count(*) AS b, min(s), max(s), sum(s) FROM # LEFT JOIN LATERAL generate_subscripts(%I, 1) s ON true', of)) AS outer,
	alike(format('SELECT DISTINCT generate_subscripts(%I, 1) AS s FROM #', of)) AS subscripts,
	alike(format('SELECT DISTINCT unnest(%I) AS e FROM #', of)) AS elements,
	alike(format('SELECT DISTINCT id %% 3 AS x, unnest(%I) AS e FROM # WHERE id %% 2 = 0', of)) AS pairs,
	alike(format('SELECT %I AS a, count(*), sum(id) FROM # GROUP BY 1', of)) AS arrays
FROM unnest('{plain,nulls,odd,t,odd_t,n,u}'::text[]) of;
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*) FROM (SELECT generate_subscripts(plain, 1) FROM #) x'),
	('SELECT sum(s) FROM (SELECT generate_subscripts(odd, 1) AS s FROM #) x'),
	('SELECT s, sum(plain[s]) AS e FROM #, generate_subscripts(plain, 1) s GROUP BY s'),
	('SELECT s, count(t[s]) AS n, count(DISTINCT t[s]) AS d FROM #, generate_subscripts(t, 1) s WHERE id % 3 = 1 GROUP BY s'),
	('SELECT s, e, count(*) FROM #, generate_subscripts(odd, 1) s, unnest(plain) e GROUP BY 1, 2'),
	('SELECT sum(s) FROM #, generate_subscripts(odd, 1) s WHERE s <> 0 AND odd[s] > 2'),
	('SELECT sum(s) AS s, sum(o) AS o FROM #, generate_subscripts(odd, 1) WITH ORDINALITY u(s, o)'),
	('SELECT sum(s) FROM #, generate_subscripts(odd, 1, true) s'),
	('SELECT DISTINCT unnest(plain) AS e FROM # ORDER BY e DESC LIMIT 5'),
	('SELECT DISTINCT unnest(plain) AS e FROM # ORDER BY e OFFSET 3'),
	('SELECT DISTINCT unnest(plain) + 1 AS e FROM #'),
	('SELECT DISTINCT unnest(plain) AS e, unnest(nulls) AS f FROM #'),
	('SELECT DISTINCT ON (unnest(t)) unnest(t) AS e FROM # ORDER BY 1'),
	('SELECT DISTINCT unnest(t) AS e, count(*) OVER () AS n FROM # WHERE id < 30'),
	('SELECT count(*) FROM (SELECT DISTINCT unnest(t) AS e FROM # WHERE id > 100) x WHERE e > ''w2'''),
	('SELECT DISTINCT unnest(t) AS e FROM # UNION ALL SELECT DISTINCT unnest(odd_t) FROM #'),
	('SELECT count(*) AS c, sum(id) FROM # WHERE EXISTS (SELECT FROM unnest(plain) e JOIN made_dim d ON d.k = e WHERE d.c < 3)'),
	('SELECT e, count(*) AS c, sum(n) FROM (SELECT unnest(t) AS e, cardinality(plain) AS n FROM #) x GROUP BY e')
) q(query);
-- outer joins whose condition says which elements there are
EXPLAIN (COSTS OFF) SELECT count(e) FROM made_packed LEFT JOIN LATERAL unnest(plain) e ON e > id WHERE e IS NULL OR e > 5;
SELECT of, alike(format('SELECT count(e) AS n, count(*) AS c, sum(id) AS i, sum(o) AS o FROM # LEFT JOIN LATERAL unnest(%I) WITH ORDINALITY u(e, o) ON e > %L', of, x)) AS few,
	alike(format('SELECT e, count(*) AS c, sum(id) AS i FROM # LEFT JOIN LATERAL unnest(%I) e ON e <> %L OR id %% 3 = 0 GROUP BY e', of, x)) AS most,
	alike(format('SELECT count(e) AS n, count(*) AS c, sum(id) AS i FROM # LEFT JOIN LATERAL unnest(%I) e ON id %% 2 = 0', of)) AS rows,
	alike(format('SELECT count(e) AS n, count(*) AS c, sum(id) AS i FROM # LEFT JOIN LATERAL unnest(%I) e ON e IS NULL', of)) AS nulls
FROM (VALUES ('plain', '40'), ('nulls', '30'), ('odd', '3'), ('t', 'w2'), ('odd_t', 'b'), ('n', '500')) c(of, x);
SELECT query, alike(query) FROM (VALUES
	('SELECT count(e) AS n, count(*) AS c, sum(id) AS i FROM # LEFT JOIN LATERAL unnest(plain) e ON e < 0'),
	('SELECT id % 5 AS k, count(e) AS n, count(*) AS c, sum(e) AS s FROM # LEFT JOIN LATERAL unnest(plain[2:]) e ON e > id % 60 WHERE e IS NULL OR e < 50 GROUP BY 1'),
	('SELECT e, f, count(*) AS c, sum(id) AS i FROM # LEFT JOIN LATERAL unnest(plain) e ON e > 60 LEFT JOIN LATERAL unnest(t) f ON e < 62 AND f LIKE ''%1'' GROUP BY e, f'),
	('SELECT e, f, count(*) AS c FROM # LEFT JOIN LATERAL unnest(plain) e ON e > 60, unnest(nulls[1:2]) f WHERE f < 5 GROUP BY e, f'),
	('SELECT sum(coalesce(e, -1)) AS s, count(*) FILTER (WHERE e IS NULL) AS c FROM # LEFT JOIN LATERAL unnest(nulls) e ON e <> id % 50'),
	('SELECT d.c, count(*) AS m, count(e) AS n FROM # LEFT JOIN LATERAL unnest(plain) e ON e > 30 LEFT JOIN made_dim d ON d.k = e GROUP BY d.c')) q(query);
-- numerics, which are equal where their bytes are not
EXPLAIN (COSTS OFF) SELECT sum(e) FROM made_packed, unnest(n) e;
UPDATE made_heap SET n = ARRAY[1.5, 1.50, NULL, id % 4, 12345678901234567890.5] WHERE id % 200 = 7;
UPDATE made_packed SET n = ARRAY[1.5, 1.50, NULL, id % 4, 12345678901234567890.5] WHERE id % 200 = 7;
SELECT gpucol.merge('made_packed') IS NOT NULL AS merged;
SELECT query, alike(query) FROM (VALUES
	('SELECT sum(e) AS s, count(e) AS n, count(*) AS c, avg(e) AS a, min(e) AS l, max(e) AS g FROM #, unnest(n) e'),
	('SELECT id % 7 AS k, sum(e) AS s, stddev(e) AS d, avg(e) AS a FROM #, unnest(n) e WHERE e < 1e9 GROUP BY 1'),
	('SELECT e + 0.00 AS e, count(*), sum(id) FROM #, unnest(n) e GROUP BY 1'),
	('SELECT id % 7 AS k, count(DISTINCT e) AS d FROM #, unnest(n) e GROUP BY 1'),
	('SELECT count(*) AS n, sum(e + 1) AS a, sum(e * id) AS b FROM #, unnest(n[2:]) e WHERE e > 3 OR e = 1.500'),
	('SELECT count(e) AS n, count(*) AS c, sum(o) AS s FROM # LEFT JOIN LATERAL unnest(n) WITH ORDINALITY u(e, o) ON true'),
	('SELECT round(e) AS r, e::int8 % 10 AS i, count(*) FROM #, unnest(n) e WHERE e < 1000 GROUP BY 1, 2'),
	('SELECT count(*) FILTER (WHERE e BETWEEN 1 AND 2) AS a, sum(CASE WHEN e > 2 THEN e END) AS s FROM #, unnest(n) e'),
	('SELECT count(*) AS c FROM #, unnest(n) e JOIN made_dim d ON d.k = e')) q(query);
UPDATE made_heap SET n = ARRAY['NaN', 1.5] WHERE id % 400 = 9;
UPDATE made_packed SET n = ARRAY['NaN', 1.5] WHERE id % 400 = 9;
SELECT alike('SELECT sum(e) AS s, count(e) AS n, max(e) AS g FROM #, unnest(n) e'), alike('SELECT e, count(*) FROM #, unnest(n) e WHERE e <> 1.5 GROUP BY e');
DROP TABLE made_heap, made_packed, made_dim;
DROP FUNCTION alike;
