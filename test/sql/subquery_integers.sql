-- Correlated subqueries whose aggregates compute with integers are joins; a group of whose rows an integer leaves its type
-- has its subquery executed, where a row asks for it, and raises PostgreSQL's error.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE si_h (id int, k int, g text, a int, b int, s smallint, l bigint, d date);
CREATE TABLE si (LIKE si_h) USING gpucol;
INSERT INTO si_h SELECT i, CASE WHEN i % 61 = 0 THEN NULL ELSE i % 37 END, 'g' || i % 5, CASE WHEN i % 13 = 0 THEN NULL ELSE i * 7 % 101 - 50 END,
	i * 11 % 90 - 45, (i % 200 - 100)::smallint, i * 1000003::bigint, date '2024-01-01' + i % 300 FROM generate_series(1, 500) i;
-- groups of their own, at the ends of their types
INSERT INTO si_h VALUES (5001, 101, 'x', -2147483648, 1, -32768, -9223372036854775808, 'infinity'), (5002, 101, 'x', 5, 6, 7, 8, '2024-02-02'),
	(5003, 102, 'x', 46341, 46341, 32767, 4611686018427387904, '2024-02-02'), (5004, 102, 'x', 46340, 46340, 181, 2, '2024-02-02'),
	(5005, 103, 'x', 2147483647, 2147483647, 32767, 9223372036854775807, '2024-02-02'), (5006, 104, 'x', 46340, -46341, 5, 5, '2024-02-02'),
	(5007, 105, 'x', NULL, NULL, NULL, NULL, NULL), (5008, 106, 'x', 1073741824, -1073741824, 0, 3037000500, '2024-02-02');
INSERT INTO si SELECT * FROM si_h;
DELETE FROM si WHERE id % 29 = 0;
DELETE FROM si_h WHERE id % 29 = 0;
VACUUM ANALYZE si, si_h;
INSERT INTO si_h SELECT 30000 + i, i % 37, 'late', i, i, i, i, date '2024-05-05' FROM generate_series(1, 50) i;
INSERT INTO si SELECT * FROM si_h WHERE id > 30000;

EXPLAIN (COSTS OFF) SELECT count(*) FROM si a WHERE a.a > (SELECT avg(abs(b.a)) FROM si b WHERE b.k = a.k);
-- what no value of its columns takes out of its type needs no other plan
EXPLAIN (COSTS OFF) SELECT count(*) FROM si a WHERE a.a > (SELECT avg(b.s::int * 100) FROM si b WHERE b.k = a.k);

CREATE FUNCTION pg_temp.same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a text;
	b text;
	line text;
	joined bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		joined := joined OR line ~ 'Join';
	END LOOP;
	BEGIN
		EXECUTE 'SELECT md5(coalesce(string_agg(s::text, '';'' ORDER BY s::text), '''')) || count(*) FROM (' || query || ') s' INTO a;
	EXCEPTION WHEN OTHERS THEN a := 'error: ' || SQLERRM;
	END;
	BEGIN
		EXECUTE 'SELECT md5(coalesce(string_agg(s::text, '';'' ORDER BY s::text), '''')) || count(*) FROM (' ||
			regexp_replace(query, '\ysi\y', 'si_h', 'g') || ') s' INTO b;
	EXCEPTION WHEN OTHERS THEN b := 'error: ' || SQLERRM;
	END;
	RETURN CASE WHEN a <> b THEN a || ' instead of ' || b WHEN a ~ '^error' THEN a ELSE 'same' END ||
		CASE WHEN joined THEN '' ELSE ', not joined' END;
END $$;
CREATE TABLE si_value (n int, v text);
INSERT INTO si_value VALUES
	(1, 'avg(abs(b.a))'), (2, 'sum(b.a * b.b)'), (3, 'sum(b.a + b.b - 3)'), (4, 'max(-b.a)'), (5, 'min(b.s * b.s)'), (6, 'sum(b.s + b.a)'),
	(7, 'sum(b.l * 2)'), (8, 'max(abs(b.l) - b.a)'), (9, 'sum((b.a - b.b) * b.a + b.s)'), (10, 'count(b.a * b.a)'), (11, 'sum(b.a / 7 * 3)'),
	(12, 'sum(b.a * b.b) FILTER (WHERE b.a - b.b > 0)'), (13, 'count(*) FILTER (WHERE abs(b.a) > 20)'), (14, 'sum(coalesce(b.a, 0) * b.b)'),
	(15, 'sum(CASE WHEN b.a > 0 THEN b.a * 2 ELSE b.b END)'), (16, 'sum(b.a::bigint * b.b)'), (17, 'avg(b.l * b.a)'), (18, 'sum(abs(b.s::int))'),
	(19, '1 + sum(b.a * 2) / nullif(count(b.b), 0)::numeric'), (20, 'sum((b.a * b.b)::numeric * 1.5)'), (21, 'min(b.d + 1)'), (22, 'sum(abs(b.s))'),
	(23, 'sum(DISTINCT b.a * b.b)'), (24, 'sum(-(b.l))'), (25, 'avg((b.a - b.b)::float8)'), (26, 'count(DISTINCT abs(b.a)) + max(b.s * b.b)'),
	(27, 'min(b.a / 3)::numeric / 3'), (28, 'max(b.a / 3 * 2)::numeric / 3'), (29, 'sum(b.l / 7)::numeric * 2');
-- groups that are harmless, as values and in a condition; then each of the others
SELECT n, v, pg_temp.same('SELECT a.id, (SELECT ' || v || ' FROM si b WHERE b.k = a.k) FROM si a WHERE a.k < 100') AS value,
	pg_temp.same('SELECT a.g, count(*) FROM si a WHERE a.k < 90 AND a.id % 2 = 0 AND (SELECT ' || v || ' FROM si b WHERE b.k = a.k)::text > ''5'' GROUP BY 1') AS condition
FROM si_value ORDER BY n;
SELECT k, string_agg(n || ' ' || r, ', ' ORDER BY n) FILTER (WHERE r <> 'same') AS other, count(*) FILTER (WHERE r = 'same') AS same
FROM (SELECT k, n, pg_temp.same(format('SELECT a.id, (SELECT %s FROM si b WHERE b.k = a.k) FROM si a WHERE a.k = %s', v, k)) r
	FROM si_value, generate_series(101, 106) k) q GROUP BY k ORDER BY k;
-- two keys, and by LATERAL
SELECT pg_temp.same('SELECT count(*), sum(a.id) FROM si a WHERE abs(a.a) > 1.5 * (SELECT avg(abs(b.a)) FROM si b WHERE b.k = a.k AND b.g = a.g) AND a.k < 100');
SELECT pg_temp.same('SELECT a.id, q.v FROM si a CROSS JOIN LATERAL (SELECT sum(b.a * b.b) AS v FROM si b WHERE b.k = a.k) q WHERE a.k < 100');
SELECT pg_temp.same('SELECT a.id, q.v FROM si a CROSS JOIN LATERAL (SELECT sum(b.a * b.b) AS v FROM si b WHERE b.k = a.k) q WHERE a.k = 102');
-- keys that are products
SELECT pg_temp.same('SELECT a.id, (SELECT count(*) FROM si b WHERE b.a = a.s * a.b) FROM si a WHERE a.k < 100');
SELECT pg_temp.same('SELECT a.id, (SELECT count(*) FROM si b WHERE b.a = a.a * a.b) FROM si a WHERE a.k < 100');
SELECT pg_temp.same('SELECT a.id, (SELECT count(*) FROM si b WHERE b.a = a.a * a.b) FROM si a WHERE a.k = 102');
-- values of a derived table that may fail for groups that no row asks for: 1 / 0 of groups of one row
SELECT n, pg_temp.same(q) FROM (VALUES
	(1, 'SELECT avg(r), count(*) FROM (SELECT a.id, (SELECT count(*) FROM si b WHERE b.k = a.k AND b.a > 20) + 1 AS r FROM si a) q'),
	(2, 'SELECT sum(r), count(r) FROM (SELECT a.id, 100 / ((SELECT count(*) FROM si b WHERE b.k = a.k) - 1) AS r FROM si a WHERE a.k < 100) q'),
	(3, 'SELECT sum(r), count(r) FROM (SELECT a.id, 100 / ((SELECT count(*) FROM si b WHERE b.k = a.k) - 1) AS r FROM si a WHERE a.k IN (102, 103)) q'),
	(4, 'SELECT id, r FROM (SELECT a.id, (SELECT coalesce(-sum(b.a), 7) FROM si b WHERE b.k = a.k AND b.b < 0) AS r FROM si a) q WHERE r > 50'),
	(5, 'SELECT id, r, s FROM (SELECT a.id, (SELECT coalesce(-sum(b.a), 7) FROM si b WHERE b.k = a.k AND b.b < 0) AS r, sum(a.b) OVER (PARTITION BY a.k ORDER BY a.id) AS s FROM si a) q'),
	(6, 'WITH c AS (SELECT a.id, (SELECT max(b.a) - min(b.a) FROM si b WHERE b.k = a.k) AS r FROM si a WHERE a.k < 100) SELECT r, count(*) FROM c GROUP BY r')) v(n, q) ORDER BY n;
DROP TABLE si, si_h, si_value;
