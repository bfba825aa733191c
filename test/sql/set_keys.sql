-- Columns that subqueries in FROM compute, as keys of grouping sets: the engine computes them, and keys that look alike stay apart.
SET client_min_messages = warning;
CREATE SCHEMA set_keys;
SET search_path = set_keys, public;

CREATE TABLE h_t AS SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 5 END AS a, CASE WHEN i % 7 > 0 THEN i % 4 END AS b, date '2020-01-01' + i % 900 AS d,
	CASE WHEN i % 13 > 0 THEN 'k' || i % 3 END AS s, i % 17 AS n FROM generate_series(1, 5000) i;
CREATE TABLE t (LIKE h_t) USING gpucol;
INSERT INTO t SELECT * FROM h_t WHERE id <= 4900;
VACUUM t;
INSERT INTO t SELECT * FROM h_t WHERE id > 4900;
DELETE FROM h_t WHERE id % 29 = 0;
DELETE FROM t WHERE id % 29 = 0;
CREATE TABLE h_u AS SELECT i AS a, 'u' || i % 3 AS name, date '2019-06-01' + i * 40 AS since FROM generate_series(0, 6) i;
CREATE TABLE u (LIKE h_u) USING gpucol;
INSERT INTO u SELECT * FROM h_u;
VACUUM ANALYZE t, u, h_t, h_u;
CREATE VIEW v AS SELECT extract(year FROM d) AS y, a + 1 AS a1, a, b, s, n FROM t;
CREATE VIEW h_v AS SELECT extract(year FROM d) AS y, a + 1 AS a1, a, b, s, n FROM h_t;
CREATE VIEW w WITH (security_barrier) AS SELECT extract(year FROM d) AS y, a, n FROM t WHERE b > 1;
CREATE VIEW h_w WITH (security_barrier) AS SELECT extract(year FROM d) AS y, a, n FROM h_t WHERE b > 1;

-- ~ stands before the name of a table, which has the prefix of its twin there
CREATE TABLE statements (id int, query text);
INSERT INTO statements VALUES
	(1, 'SELECT y, s, count(*), sum(n) FROM (SELECT extract(year FROM d) AS y, s, n FROM ~t) x GROUP BY ROLLUP (y, s)'),
	(2, 'SELECT y + 1, upper(s), grouping(y, s), sum(m) FROM (SELECT extract(year FROM d) AS y, lower(s) AS s, n * 2 AS m FROM ~t WHERE n > 3) x WHERE y > 2020 GROUP BY CUBE (y, s) HAVING count(*) > 3'),
	(3, 'WITH x AS (SELECT date_trunc(''month'', d) AS m, s, n FROM ~t) SELECT m, s, avg(n) FROM x GROUP BY GROUPING SETS ((m), (s), ())'),
	(4, 'SELECT k, name, count(*), max(m) FROM (SELECT CASE WHEN d < u.since THEN ''before'' ELSE ''after'' END AS k, u.name, n + 1 AS m FROM ~t t JOIN ~u u USING (a)) x GROUP BY k, CUBE (name)'),
	-- a look-alike of a key that is left out
	(5, 'SELECT c, a, a + 1, count(*) FROM (SELECT a, a + 1 AS c FROM ~t) x GROUP BY CUBE (c, a)'),
	(6, 'SELECT c, e, count(*) FROM (SELECT a + 1 AS c, a + 1 AS e FROM ~t) x GROUP BY CUBE (c, e)'),
	(7, 'SELECT c, e, e * 2, count(*) FROM (SELECT a + 1 AS c, (a + 1) * 2 AS e FROM ~t) x GROUP BY CUBE (c, e)'),
	(8, 'SELECT a + 1, a1, count(*) FROM ~v GROUP BY CUBE (a, a1) HAVING coalesce(a + 1, 0) <> 3'),
	(9, 'SELECT c, sum(a + 1), sum(c), count(DISTINCT c) FROM (SELECT a, a + 1 AS c FROM ~t) x GROUP BY ROLLUP (c)'),
	-- constants, and what is of no row
	(10, 'SELECT c, k, count(*) FROM (SELECT a + 1 AS c, 7 AS k FROM ~t) x GROUP BY CUBE (c, k)'),
	(11, 'SELECT y, z, count(*) FROM (SELECT extract(year FROM d) AS y, NULL::text AS z FROM ~t) x GROUP BY ROLLUP (y, z)'),
	-- outer joins
	(12, 'SELECT x.c, t.s, count(*), count(x.c) FROM ~t t LEFT JOIN (SELECT a, coalesce(name, ''none'') AS c FROM ~u WHERE a < 3) x USING (a) GROUP BY CUBE (x.c, t.s)'),
	(13, 'SELECT x.c, u.name, count(*) FROM (SELECT a, coalesce(s, ''none'') AS c FROM ~t) x LEFT JOIN ~u u ON u.a = x.a AND u.name < ''u2'' GROUP BY CUBE (x.c, u.name)'),
	(14, 'SELECT x.c, name, count(*) FROM (SELECT a, coalesce(s, ''none'') AS c FROM ~t) x FULL JOIN ~u u USING (a) GROUP BY CUBE (x.c, name)'),
	-- joins with USING, nested subqueries, LATERAL, views, windows above, DISTINCT
	(15, 'SELECT a, name, count(*) FROM (SELECT a + 1 AS a, s FROM ~t) x JOIN ~u u USING (a) GROUP BY ROLLUP (a, name)'),
	(16, 'SELECT z, s, count(*) FROM (SELECT y % 2 AS z, s FROM (SELECT extract(year FROM d)::int AS y, s FROM ~t) p WHERE y > 2019) q GROUP BY ROLLUP (z, s)'),
	(17, 'SELECT l.m, t.s, count(*) FROM ~t t, LATERAL (SELECT date_trunc(''year'', t.d) AS m) l GROUP BY ROLLUP (l.m, t.s)'),
	(18, 'SELECT y, s, count(*), sum(a1) FROM ~v GROUP BY ROLLUP (y, s)'),
	(19, 'SELECT y, a, count(*), sum(n) FROM ~w GROUP BY ROLLUP (y, a)'),
	(20, 'SELECT y, s, count(*), rank() OVER (PARTITION BY y ORDER BY count(*) DESC, s) FROM ~v GROUP BY ROLLUP (y, s)'),
	(21, 'SELECT DISTINCT y, sum(n) FROM ~v GROUP BY GROUPING SETS ((y, s), (y)) ORDER BY y, 2 LIMIT 9'),
	(22, 'SELECT x, count(*) FROM (SELECT extract(year FROM d) AS y, s FROM ~t) x GROUP BY ROLLUP (x)'),
	(23, 'SELECT y, (SELECT max(name) FROM ~u u WHERE u.a = x.c), count(*) FROM (SELECT extract(year FROM d) AS y, a + 1 AS c FROM ~t) x GROUP BY ROLLUP (y, c)'),
	(24, 'SELECT y, percentile_disc(0.5) WITHIN GROUP (ORDER BY n), count(*) FILTER (WHERE a1 > 2) FROM ~v WHERE y IN (SELECT extract(year FROM since) FROM ~u) GROUP BY ROLLUP (y)'),
	(25, 'SELECT c, count(*) FROM (SELECT 100 / (n - 3) AS c FROM ~t WHERE n <> 3) x GROUP BY ROLLUP (c)'),
	(26, 'SELECT y, count(*) FROM (SELECT extract(year FROM d) AS y FROM ~t WHERE id < 0) x GROUP BY ROLLUP (y)');

CREATE FUNCTION check_statements() RETURNS TABLE (statement int, rows bigint, missing bigint, more bigint, pushed boolean) LANGUAGE plpgsql AS $$
DECLARE
	s record;
	own text;
	twin text;
	line text;
BEGIN
	FOR s IN SELECT * FROM statements ORDER BY id LOOP
		statement := s.id;
		own := replace(s.query, '~', '');
		twin := replace(s.query, '~', 'h_');
		EXECUTE format('SELECT count(*) FROM (%s) x', twin) INTO rows;
		EXECUTE format('SELECT count(*) FROM ((SELECT x::text FROM (%2$s) x) EXCEPT ALL SELECT x::text FROM (%1$s) x) y', own, twin) INTO missing;
		EXECUTE format('SELECT count(*) FROM ((SELECT x::text FROM (%1$s) x) EXCEPT ALL SELECT x::text FROM (%2$s) x) y', own, twin) INTO more;
		pushed := false;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || own LOOP
			pushed := pushed OR line ~ 'GpucolAgg';
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM check_statements();

-- an error stays one
SELECT c, count(*) FROM (SELECT 100 / (n - 3) AS c FROM t) x GROUP BY ROLLUP (c);
DROP SCHEMA set_keys CASCADE;
