-- array_folds: subqueries over the elements of a row's arrays, computed by the engine as values of the row: aggregates, EXISTS.
-- Arrays are NULL, empty, with NULL elements, of several dimensions, with other lower bounds; rows are deleted, and in the delta.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET gpucol.segment_rows = 2048;
CREATE TABLE fold_heap (id int, k int, x int, y float8, w text, day date, s int2[], plain int[], odd int[], b bigint[], r float4[], f float8[], t text[], d date[], z bool[], n numeric[]);
INSERT INTO fold_heap
	SELECT i, i % 10, CASE WHEN i % 12 > 0 THEN i % 40 END, CASE WHEN i % 9 > 0 THEN i % 4 / 2.0 ELSE 'NaN' END, 'w' || i % 5, date '2024-01-01' + i % 30,
		CASE WHEN i % 5 > 0 THEN ARRAY[i % 7, NULL, -i % 5]::int2[] END,
		CASE WHEN i % 17 > 0 THEN (SELECT coalesce(array_agg(hashint4(i * 31 + k) & 63), '{}') FROM generate_series(1, CASE WHEN i % 1000 = 7 THEN 3000 ELSE i % 7 END) k) END,
		CASE i % 6 WHEN 0 THEN ARRAY[[i % 10, 2, 3], [4, NULL, 6]] WHEN 1 THEN array_fill(i % 20, ARRAY[3], ARRAY[-1]) WHEN 2 THEN array_fill(7, ARRAY[2, 2], ARRAY[0, 5])
			WHEN 3 THEN '{}' WHEN 4 THEN NULL ELSE ARRAY[i % 30, NULL, 1] END,
		CASE WHEN i % 9 > 0 THEN (SELECT array_agg(CASE WHEN (i + k) % 4 > 0 THEN 9223372036854775807 - (i * k) % 50 END::bigint) FROM generate_series(1, i % 5) k) END,
		ARRAY[i % 8 / 3.0, 1e8 / i, -0.0, CASE WHEN i % 21 = 0 THEN 'NaN'::float8 ELSE 0 END]::float4[],
		CASE WHEN i % 6 = 0 THEN '{}' ELSE ARRAY[hashint4(i) / 3.0, CASE WHEN i % 4 > 0 THEN i % 4 / 2.0 END, sqrt(i), CASE WHEN i % 40 = 1 THEN '-Infinity'::float8 ELSE 1e-3 END] END::float8[],
		(SELECT array_agg('w' || (hashint4(i * 3 + k) & 31)) FROM generate_series(1, i % 4) k),
		CASE WHEN i % 4 > 0 THEN ARRAY[date '2024-01-01' + i % 9, 'infinity', NULL, date '2024-01-20'] END, ARRAY[i % 2 = 0, i % 3 = 0, NULL], ARRAY[i / 4.0, 1.00]
	FROM generate_series(1, 6000) i;
CREATE TABLE fold_packed (LIKE fold_heap) USING gpucol;
INSERT INTO fold_packed TABLE fold_heap;
VACUUM ANALYZE fold_packed;
ANALYZE fold_heap;
DELETE FROM fold_packed WHERE id % 11 = 3;
DELETE FROM fold_heap WHERE id % 11 = 3;
INSERT INTO fold_packed SELECT * FROM fold_heap WHERE id % 97 = 5;
INSERT INTO fold_heap SELECT * FROM fold_heap WHERE id % 97 = 5;

-- the engine computes them: as arguments, conditions, keys
EXPLAIN (COSTS OFF) SELECT k, sum((SELECT sum(e) FROM unnest(plain) e)) FROM fold_packed GROUP BY k;
EXPLAIN (COSTS OFF) SELECT count(*) FROM fold_packed WHERE EXISTS (SELECT FROM unnest(plain) e WHERE e > 60 AND e < x);
EXPLAIN (COSTS OFF) SELECT (SELECT max(e) FROM unnest(plain) e), count(*) FROM fold_packed GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT sum((SELECT sum(p * q) FROM unnest(plain, f) u(p, q))) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT count((SELECT sum(e * o) FROM unnest(plain) WITH ORDINALITY u(e, o) WHERE e > 3 AND o < 4)) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT sum((SELECT count(DISTINCT e) FROM unnest(t) e WHERE e LIKE 'w1%')) FROM fold_packed;
-- PostgreSQL does: elements that no engine computes with, aggregates that it does not know, volatile functions, rows of other tables
EXPLAIN (COSTS OFF) SELECT sum((SELECT sum(e) FROM unnest(n) e)) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT sum((SELECT variance(e) FROM unnest(plain) e)) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT sum((SELECT count(*) FROM unnest(plain) e WHERE random() < e)) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT sum((SELECT sum(e) FROM unnest(plain) e HAVING count(*) > 1)) FROM fold_packed;
EXPLAIN (COSTS OFF) SELECT sum((SELECT e FROM unnest(plain) e LIMIT 1)) FROM fold_packed;

\set heap fold_heap
\set packed fold_packed
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/alike.psql
\set ECHO none
\i :include
\set ECHO all
-- each kind of array
SELECT of, string_agg(DISTINCT alike(format('SELECT k, count(x) AS n, min(x), max(x) FROM (SELECT k, (SELECT %s FROM unnest(%I) e%s) AS x FROM # OFFSET 0) s GROUP BY k', folded, of, filter)) ||
	' ' || alike(format('SELECT count(*), sum(id) FROM # WHERE (SELECT %s FROM unnest(%I) e%s) > %s', folded, of, filter, least)), ', ') AS same
FROM unnest('{s,plain,odd,b,r,f,d}'::text[]) of, unnest('{count(*),count(e),min(e),max(e)}'::text[]) folded,
	LATERAL (SELECT CASE WHEN of = 'd' THEN '''2024-01-05''' ELSE '5' END) v(value),
	LATERAL (SELECT CASE WHEN folded LIKE 'count%' THEN '2' ELSE value END) l(least),
	LATERAL (VALUES (''), (' WHERE e > ' || value), (' WHERE e <= ' || value || ' OR x > 20')) c(filter) WHERE of <> 'd' OR folded LIKE 'count%' GROUP BY of ORDER BY of;
SELECT of, string_agg(DISTINCT alike(format('SELECT id, (SELECT %s FROM unnest(%I) e) AS x, count(*) FROM # GROUP BY 1, 2', folded, of)) || ' ' ||
	alike(format('SELECT k, sum((SELECT %s FROM unnest(%I) e WHERE e > x))::text AS s FROM # WHERE abs(id) > 0 GROUP BY k', folded, of)), ', ') AS same
FROM unnest('{s,plain,odd,b}'::text[]) of, unnest('{sum(e),avg(e),max(e)-min(e),"coalesce(sum(e), 0)","sum(e) FILTER (WHERE e > 7)",count(*) - count(e),"min(DISTINCT e)"}'::text[]) folded
WHERE of <> 'b' OR folded <> 'max(e)-min(e)' GROUP BY of ORDER BY of;
-- sums of floats are those of their order, to the bit
SELECT of, folded, alike(format('SELECT id, (SELECT %s FROM unnest(%I) e) AS x FROM # WHERE (SELECT %s FROM unnest(%I) e) <> 1', folded, of, folded, of)),
	alike(format('SELECT (SELECT %s FROM unnest(%I) e) AS x, count(*) FROM # GROUP BY 1', folded, of))
FROM unnest('{r,f}'::text[]) of, unnest('{sum(e),avg(e),sum(e * 2),sum(e + y),max(e)}'::text[]) folded;
SELECT query, alike(query) FROM (VALUES
	('SELECT count(*), sum(id) FROM # WHERE EXISTS (SELECT FROM unnest(plain) e WHERE e > 60)'),
	('SELECT count(*), sum(id) FROM # WHERE NOT EXISTS (SELECT FROM unnest(plain) e WHERE e % 2 = 0 AND e <> x)'),
	('SELECT count(*), sum(id) FROM # WHERE NOT EXISTS (SELECT FROM unnest(odd) e)'),
	('SELECT count(*), sum(id) FROM # WHERE EXISTS (SELECT FROM unnest(odd) e WHERE e IS NULL)'),
	('SELECT k, count(*) FILTER (WHERE EXISTS (SELECT FROM unnest(d) e WHERE e = day)) AS c FROM # GROUP BY k'),
	('SELECT k, bool_or((SELECT bool_and(e) FROM unnest(z) e)) AS c, count((SELECT bool_or(NOT e) FROM unnest(z) e)) AS n FROM # GROUP BY k'),
	('SELECT k, sum((SELECT count(*) FROM unnest(z, odd) u(p, q) WHERE p OR q > 2)) AS c FROM # GROUP BY k'),
	('SELECT k, sum((SELECT count(*) FROM unnest(t))) AS c, sum((SELECT count(e) FROM unnest(n) e)) AS n FROM # GROUP BY k'),
	('SELECT k, sum((SELECT count(*) FROM unnest(plain, odd))) AS c, sum((SELECT count(p) FROM unnest(plain, odd) u(p, q))) AS p FROM # GROUP BY k'),
	('SELECT k, sum((SELECT sum(o) FROM unnest(plain, odd) WITH ORDINALITY u(p, q, o) WHERE p IS NULL OR q IS NULL)) AS c FROM # GROUP BY k'),
	('SELECT sum((SELECT sum(e * o) FROM unnest(plain) WITH ORDINALITY u(e, o) WHERE o > 2)) AS c FROM #'),
	('SELECT count(*) FROM # WHERE (SELECT count(*) FROM unnest(t) e WHERE e = w) > 0'),
	('SELECT count(*) FROM # WHERE (SELECT count(*) FROM unnest(d) e WHERE e > date ''2024-01-05'' AND e < ''infinity'') > 1'),
	('SELECT (SELECT sum(e) FROM unnest(plain) e WHERE e > 10) AS s, (SELECT max(e) FROM unnest(s) e) AS m, count(*) FROM # WHERE (SELECT sum(e) FROM unnest(plain) e) > 20 GROUP BY 1, 2'),
	('SELECT sum(CASE WHEN k > 4 THEN (SELECT max(e) FROM unnest(plain) e) ELSE (SELECT min(e) FROM unnest(odd) e WHERE e > 1) END) AS c FROM #'),
	('SELECT sum((SELECT sum(CASE WHEN e % 2 = 0 THEN e ELSE -x END) FROM unnest(plain) e)) AS c FROM #'),
	('SELECT max((SELECT count(*) FROM unnest(plain) e WHERE e IN (1, 5, 9, 13, 60))) AS c FROM #'),
	('SELECT sum((SELECT count(*) FROM unnest(plain) e WHERE 10 / e > 2 AND e > 0)) AS c FROM # WHERE k = 3'),
	('SELECT sum((SELECT sum(10 / e) FROM unnest(plain) e WHERE e > 0)) AS c FROM #'),
	('SELECT count(*), sum(id) FROM # WHERE EXISTS (SELECT FROM unnest(t) e WHERE e LIKE ''w1%'' OR e = ''w7'')'),
	('SELECT k, sum((SELECT count(*) FROM unnest(t) WITH ORDINALITY u(e, o) WHERE e > ''w2'' AND o > 1)) AS c FROM # GROUP BY k'),
	('SELECT k, max((SELECT count(DISTINCT e) FROM unnest(plain) e)) AS c, sum((SELECT count(DISTINCT e) FROM unnest(t) e WHERE e <> w)) AS d FROM # GROUP BY k'),
	('SELECT k, sum((SELECT count(DISTINCT e) FROM unnest(r) e WHERE e >= 0)) AS c, sum((SELECT count(DISTINCT o % 3) FROM unnest(odd) WITH ORDINALITY u(e, o))) AS d FROM # GROUP BY k'),
	('SELECT sum((SELECT count(DISTINCT e) FROM unnest(odd) e)) AS c, sum((SELECT count(DISTINCT e) FROM unnest(n) e)) AS d FROM #'),
	('SELECT count(*), sum(id) FROM # WHERE NOT EXISTS (SELECT FROM unnest(n) e WHERE e > 1.5)'),
	('SELECT sum((SELECT sum(e) FROM unnest(plain) e)) AS c FROM # WHERE false'),
	('SELECT a.k, sum((SELECT sum(e) FROM unnest(a.plain) e WHERE e < b.x)) AS c FROM # a JOIN # b ON b.id = a.id + 1 GROUP BY a.k')) q(query);
CREATE FUNCTION fails_alike(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE of_heap text; of_packed text;
BEGIN
	BEGIN
		EXECUTE replace(query, '#', 'fold_heap');
	EXCEPTION WHEN OTHERS THEN of_heap := SQLERRM;
	END;
	BEGIN
		SET LOCAL gpucol.pushdown = require;
		EXECUTE replace(query, '#', 'fold_packed');
	EXCEPTION WHEN OTHERS THEN of_packed := SQLERRM;
	END;
	SET LOCAL gpucol.pushdown = allow;
	RETURN CASE WHEN of_heap = of_packed THEN of_heap ELSE format('%s, but %s', of_heap, of_packed) END;
END $$;
-- behind LATERAL, and IN
EXPLAIN (COSTS OFF) SELECT k, sum(l.s), max(l.m) FROM fold_packed, LATERAL (SELECT sum(e) s, max(e) m FROM unnest(plain) e WHERE e > x) l GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, sum(l.s) FROM fold_packed LEFT JOIN LATERAL (SELECT sum(e) s FROM unnest(plain) e) l ON true GROUP BY k;
EXPLAIN (COSTS OFF) SELECT count(*) FROM fold_packed WHERE x IN (SELECT unnest(plain));
SELECT query, alike(query) FROM (VALUES
	('SELECT k, sum(l.s) AS s, max(l.m) AS m FROM #, LATERAL (SELECT sum(e) s, max(e) m FROM unnest(plain) e WHERE e > x) l GROUP BY k'),
	('SELECT k, sum(l.s) AS s, count(l.c) AS c FROM # LEFT JOIN LATERAL (SELECT sum(e) s, count(*) c FROM unnest(odd) e) l ON true GROUP BY k'),
	('SELECT k, sum(l.s) AS s, count(l.c) AS c FROM # LEFT JOIN LATERAL (SELECT sum(e) s, count(*) c FROM unnest(odd) e) l ON k > 4 GROUP BY k'),
	('SELECT id, l.c FROM #, LATERAL (SELECT count(*) c FROM unnest(t) e WHERE e < ''w2'') l WHERE l.c > 1'),
	('SELECT count(*), sum(id) FROM # WHERE x IN (SELECT unnest(odd))'),
	('SELECT count(*), sum(id) FROM # WHERE x NOT IN (SELECT e FROM unnest(odd) e)'),
	('SELECT (x IN (SELECT unnest(odd))) AS i, count(*) FROM # GROUP BY 1'),
	('SELECT count(*) FILTER (WHERE NOT w = ANY (SELECT unnest(t))) AS c FROM #'),
	('SELECT count(*), sum(id) FROM # WHERE 100 / k IN (SELECT unnest(plain)) AND k > 0'),
	('SELECT count(*), sum(id) FROM # WHERE 10 / cardinality(plain) IN (SELECT unnest(plain))'),
	('SELECT count(*), sum(id) FROM # WHERE x IN (SELECT e FROM unnest(plain) e WHERE e > k)')) q(query);
-- parameters whose values are known when a plan is executed
SET plan_cache_mode = force_generic_plan;
PREPARE of_packed(int, int) AS SELECT count(*), sum((SELECT count(*) FROM unnest(plain) e WHERE e > $1 AND e < x)) FROM fold_packed WHERE EXISTS (SELECT FROM unnest(odd) e WHERE e = $2);
PREPARE of_heap(int, int) AS SELECT count(*), sum((SELECT count(*) FROM unnest(plain) e WHERE e > $1 AND e < x)) FROM fold_heap WHERE EXISTS (SELECT FROM unnest(odd) e WHERE e = $2);
EXPLAIN (COSTS OFF) EXECUTE of_packed(5, 7);
EXECUTE of_packed(5, 7);
EXECUTE of_heap(5, 7);
EXECUTE of_packed(NULL, 4);
EXECUTE of_heap(NULL, 4);
EXECUTE of_packed(60, NULL);
EXECUTE of_heap(60, NULL);
RESET plan_cache_mode;
-- errors are PostgreSQL's, and only of what is evaluated
SELECT query, fails_alike(query) FROM (VALUES
	('SELECT sum((SELECT sum(10 / e) FROM unnest(plain) e)) FROM #'),
	('SELECT sum((SELECT max(e * 100000000) FROM unnest(plain) e)) FROM #'),
	('SELECT sum((SELECT sum(e * 1e308) FROM unnest(f) e)) FROM #')) q(query);
DROP TABLE fold_heap, fold_packed;
DROP FUNCTION alike, fails_alike;
