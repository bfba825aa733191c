-- What a subquery computes and an outer join sets to NULL is NULL in the rows that have
-- no match, whoever joins: constants, expressions that are never NULL, whole rows.
CREATE SCHEMA join_placeholder;
SET search_path = join_placeholder, public;
CREATE TABLE few (k int, a int, s text) USING heap;
INSERT INTO few VALUES (1, 10, 'one'), (2, NULL, 'two'), (3, 30, NULL), (NULL, 40, 'none');
CREATE TABLE packed (k int, a int, s text) USING gpucol;
INSERT INTO packed SELECT k, a, s FROM few;
CREATE TABLE many (id int, k int) USING gpucol;
INSERT INTO many SELECT i, i % 9 FROM generate_series(1, 3000) i;
ANALYZE few, packed, many;
CREATE VIEW of_few AS SELECT k, 7 AS one, coalesce(a, 5) AS c, s IS NULL AS n, k || s AS r FROM few;
CREATE VIEW of_packed AS SELECT k, 7 AS one, coalesce(a, 5) AS c, s IS NULL AS n, k || s AS r FROM packed;

SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT count(*), count(x.one), count(x.c), sum(x.c), count(x.n), count(x.r), count(x.*) FROM many m LEFT JOIN of_few x ON m.k = x.k;
SELECT count(*), count(x.one), count(x.c), sum(x.c), count(x.n), count(x.r), count(x.*) FROM many m LEFT JOIN of_packed x ON m.k = x.k;
SELECT x.one, x.c, x.n, count(*) FROM many m LEFT JOIN of_few x ON m.k = x.k GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT x.one, x.c, x.n, count(*) FROM many m LEFT JOIN of_packed x ON m.k = x.k GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT m.id, x.one, x.c, x.r FROM many m LEFT JOIN of_few x ON m.k = x.k WHERE m.id < 5 ORDER BY 1;
SELECT m.id, x.one, x.c, x.r FROM many m LEFT JOIN of_packed x ON m.k = x.k WHERE m.id < 5 ORDER BY 1;
SELECT count(*), count(x.*) FROM many m LEFT JOIN (VALUES (1, 's1'), (2, NULL), (NULL, 's3')) x(k, s) ON m.k = x.k;
SELECT count(*), count(x.one), count(m.id), sum(x.c) FROM many m FULL JOIN of_few x ON m.k = x.k;
SELECT count(*), count(y.k), count(y.one) FROM many m LEFT JOIN of_few x ON m.k = x.k LEFT JOIN of_few y ON y.c = x.c;

-- no pipe delivers such rows: PostgreSQL's nested loops are all that there is
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
CREATE TABLE one_row (f int) USING gpucol;
INSERT INTO one_row VALUES (1);
CREATE TABLE five (f int) USING gpucol;
INSERT INTO five VALUES (0), (1), (2), (3), (4);
CREATE TABLE big (a int, b int, s text, t text) USING gpucol;
INSERT INTO big SELECT i, i * 7 % 10000, 'A' || i, 'B' || i FROM generate_series(0, 9999) i;
CREATE UNIQUE INDEX ON big (a);
CREATE UNIQUE INDEX ON big (b);
ANALYZE one_row, five, big;
SELECT t1.b, t1.s, t2.a, t2.t
FROM big t1
	JOIN five i LEFT JOIN (SELECT v1.x2, v2.y1, 11 AS d
			FROM (SELECT 1, 0 FROM one_row) v1 (x1, x2)
				LEFT JOIN (SELECT 3, 1 FROM one_row) v2 (y1, y2) ON v1.x1 = v2.y2) q ON i.f = q.x2
		ON t1.b = q.d
	LEFT JOIN big t2 ON q.y1 = t2.a
WHERE t1.b < 42 AND t1.s < t2.t;

SET client_min_messages = warning;
DROP SCHEMA join_placeholder CASCADE;
