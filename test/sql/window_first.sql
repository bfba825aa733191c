-- The first row of each partition of joined rows: of those that are made of one flowing row only the first
-- leave the join (First Of Each Row).
SET client_min_messages = warning;
CREATE SCHEMA window_first;
SET search_path = window_first, public;

\set node 'First Of Each Row'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/joined_rows.psql
\i :include
\set include :srcdir /include/points.psql
\i :include
\set ECHO all

CREATE TABLE u (a int, b int) USING gpucol;
INSERT INTO u SELECT i % 3000 + 1, i FROM generate_series(1, 9000) i;
CREATE TABLE e (k int, x float8) USING gpucol;
SELECT gpucol.merge('p') > 0 AS merged;
DELETE FROM p WHERE id % 100 = 7;
INSERT INTO p SELECT i + 5000, i % 50, i, i, '2024-01-03', 'z', true, 1, 1 FROM generate_series(1, 30) i;
ANALYZE p, c, u, e;

EXPLAIN (COSTS OFF) SELECT id, k FROM (SELECT p.id, c.k, row_number() OVER (PARTITION BY p.id ORDER BY (p.x - c.x) * (p.x - c.x), c.k) AS n FROM p, c) s WHERE n = 1;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (p.id) p.id, c.k FROM p, c ORDER BY p.id, abs(p.y - c.y), c.k;
-- few rows leave the join
SELECT joined_rows('SELECT id, k FROM (SELECT p.id, c.k, row_number() OVER (PARTITION BY p.id ORDER BY abs(p.y - c.y), c.k) AS n FROM p, c) s WHERE n = 1', 6500);

-- orders of every class, NULLs first and last, ties, ranks
SELECT o, f, differ(format('SELECT id, k FROM (SELECT p.id, c.k, %s() OVER (PARTITION BY p.id ORDER BY %s, c.k) AS n FROM p, c) s WHERE n %s', f, o, w))
FROM unnest(ARRAY['(p.x - c.x) * (p.x - c.x)', '(p.x - c.x) * (p.x - c.x) DESC', 'p.x * c.x NULLS FIRST', 'p.x * c.x DESC NULLS LAST', '-c.x', 'abs(p.y - c.y)',
	'p.y * c.y DESC', 'c.t', 'c.t DESC', 'c.b', 'c.b DESC', 'c.r - p.r', 'p.n * c.n', 'c.k % 5', 'c.k % 5 DESC NULLS LAST']) o,
	(VALUES ('row_number', '= 1'), ('rank', '< 2'), ('dense_rank', '<= 1'::text)) v (f, w)
WHERE differ(format('SELECT id, k FROM (SELECT p.id, c.k, %s() OVER (PARTITION BY p.id ORDER BY %s, c.k) AS n FROM p, c) s WHERE n %s', f, o, w)) IS NOT NULL;

-- partitions of several flowing rows; joins of several tables; other functions of the window
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, rank() OVER (PARTITION BY p.g ORDER BY abs(p.y - c.y)) AS n FROM p, c) s WHERE n = 1');
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, rank() OVER (PARTITION BY p.g, p.b ORDER BY p.b DESC, c.b, c.k) AS n FROM p, c) s WHERE n = 1');
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, rank() OVER (ORDER BY abs(p.y - c.y), p.id, c.k) AS n FROM p, c) s WHERE n = 1');
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, rank() OVER (PARTITION BY p.id % 10 ORDER BY c.t, p.id, c.k) AS n FROM p, c WHERE c.t <= p.t) s WHERE n = 1');
SELECT differ('SELECT id, k, n, m, l FROM (SELECT p.id, c.k, rank() OVER w AS n, count(*) OVER w AS m, lag(c.k) OVER w AS l FROM p, c WINDOW w AS (PARTITION BY p.id ORDER BY c.k % 3, c.k)) s WHERE n = 1');
SELECT differ('SELECT id, k, b FROM (SELECT p.id, c.k, u.b, row_number() OVER (PARTITION BY p.id ORDER BY c.r * u.b, c.k, u.b) AS n FROM p JOIN u ON u.a = p.id, c) s WHERE n = 1');
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, row_number() OVER (PARTITION BY p.id ORDER BY c.r - p.r, c.k) AS n FROM p LEFT JOIN c ON c.b = p.b) s WHERE n = 1');
SELECT differ('SELECT id, k FROM (SELECT p.id, e.k, row_number() OVER (PARTITION BY p.id ORDER BY e.x) AS n FROM p LEFT JOIN e ON true) s WHERE n = 1');
SELECT differ('SELECT DISTINCT ON (p.id) p.id, c.k FROM p, c ORDER BY p.id, (p.y - c.y) * (p.y - c.y), c.k DESC');
SELECT differ('WITH RECURSIVE r AS (SELECT 0 AS i, k, y::float8 FROM c WHERE k < 8 UNION ALL SELECT i + 1, k, avg FROM (SELECT s.*, row_number() OVER (PARTITION BY k ORDER BY y DESC, id) AS first, '
	'avg(y) OVER (PARTITION BY k) FROM (SELECT i, k, p.id, p.y, row_number() OVER (PARTITION BY p.id ORDER BY abs(p.y - r.y), k) AS n FROM p, r WHERE i < 3) s WHERE n = 1) t WHERE first = 1) '
	'SELECT i, k, y::numeric(12,6) FROM r');

-- an error of the order is raised, as ever
SELECT differ('SELECT id, k FROM (SELECT p.id, c.k, row_number() OVER (PARTITION BY p.id ORDER BY 10 / (c.k - 3), c.k) AS n FROM p, c) s WHERE n = 1');

-- not so: more rows of each, partitions of the other table's rows, conditions that PostgreSQL tests, outer joins the
-- other way round, texts, functions that look ahead
SET gpucol.pushdown = require;
CREATE FUNCTION first_of(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line ~ 'First Of Each Row';
	END LOOP;
	RETURN found;
END $$;
SELECT first_of(format('SELECT id, k FROM (SELECT p.id, c.k, %s AS n FROM %s) s WHERE n %s', f, t, w)), f, t, w
FROM (VALUES ('row_number() OVER (PARTITION BY p.id ORDER BY c.k)', 'p, c', '= 1'),
	('row_number() OVER (PARTITION BY p.id ORDER BY c.k)', 'p, c', '<= 2'),
	('row_number() OVER (PARTITION BY c.g ORDER BY c.k)', 'p, c', '= 1'),
	('row_number() OVER (PARTITION BY p.id ORDER BY c.s)', 'p, c', '= 1'),
	('row_number() OVER (PARTITION BY p.id)', 'p, c', '= 1'),
	('row_number() OVER (PARTITION BY p.id ORDER BY c.k)', 'p FULL JOIN c ON p.g = c.g', '= 1'),
	('row_number() OVER (PARTITION BY p.id ORDER BY c.k)', 'p JOIN c ON p.g = c.g WHERE p.s || c.s LIKE ''%1%''', '= 1'),
	('row_number() OVER (PARTITION BY p.id ORDER BY c.k) + 0 * lead(c.k) OVER (PARTITION BY p.id ORDER BY c.k)', 'p, c', '= 1')) v (f, t, w);
DROP SCHEMA window_first CASCADE;
