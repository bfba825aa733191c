-- Joins without keys in which many rows meet each row of a table: every kind of join, what is computed of pairs and
-- of both sides, several such joins, rows that find a partner at once, late and never.
SET client_min_messages = warning;
SET extra_float_digits = -3;
CREATE SCHEMA join_turned;
SET search_path = join_turned, public;
SET max_parallel_workers_per_gather = 0;

\set node Gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE p (id int NOT NULL, x float8, y float8 NOT NULL, n numeric(9,2), q numeric, k int, b bool, s text, t timestamp) USING gpucol;
INSERT INTO p SELECT i, CASE WHEN i % 19 > 0 THEN i * 7919 % 1000 / 16.0 END, i * 104729 % 1000 / 8.0, CASE WHEN i % 23 > 0 THEN i * 31 % 2000 / 100.0 END,
	(i * 37 % 1000) / 8.0, CASE WHEN i % 29 > 0 THEN i * 13 % 97 END, i % 3 = 0, CASE WHEN i % 17 > 0 THEN 't' || i % 40 END, timestamp '2024-01-01' + i * interval '1 hour' FROM generate_series(1, 3000) i;
SELECT gpucol.merge('p') > -1 AS merged;
DELETE FROM p WHERE id % 50 = 7;
INSERT INTO p VALUES (5001, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL), (5002, 'NaN', '-0', 9999999.99, 'NaN', 2147483647, true, '', 'infinity'),
	(5003, '-Infinity', 'Infinity', -9999999.99, -1e30, -2147483648, false, 't1', '-infinity');
CREATE TABLE c (k int NOT NULL, x float8, y float8, n numeric(6,1), w numeric(30,2), i int, b bool, s text, t timestamp) USING gpucol;
INSERT INTO c SELECT i, CASE WHEN i % 5 > 0 THEN i * 37 % 100 END, i * 53 % 100, CASE WHEN i % 4 > 0 THEN i * 17 % 90 / 10.0 END, i * 12345678901234567890.25, CASE WHEN i % 7 > 0 THEN i * 11 % 60 END,
	i % 2 = 0, CASE WHEN i % 6 > 0 THEN 't' || i * 3 % 50 END, timestamp '2024-02-01' + i * interval '3 days' FROM generate_series(1, 30) i;
CREATE TABLE single (LIKE c) USING gpucol;
INSERT INTO single SELECT * FROM c WHERE k = 8;
CREATE TABLE nobody (LIKE c) USING gpucol;
CREATE TABLE few (LIKE p) USING gpucol;
INSERT INTO few SELECT * FROM p WHERE id < 40;
ANALYZE;

CREATE TABLE condition (c text);
INSERT INTO condition VALUES ('true'), ('p.x + c.x < 60'), ('(p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) < 900'), ('p.k <> c.i'), ('p.k + c.i > 120'), ('p.n * c.n > 100'), ('p.n + c.w > 5'), ('p.q * c.n < 50'),
	('p.b = c.b OR p.k > c.i'), ('p.s > c.s'), ('p.s <> c.s AND p.x > c.y'), ('p.t < c.t'), ('p.t + interval ''1 day'' < c.t AND p.k < c.i'), ('c.k = 30 AND p.k > 5'), ('p.k = c.i + 0 OR p.id = c.k'),
	('p.x + c.x > 1e9'), ('coalesce(p.x, 0) + coalesce(c.x, 0) >= 0'), ('CASE WHEN c.b THEN p.x > 10 ELSE p.k > 40 END');
CREATE TABLE form (f text);
INSERT INTO form VALUES ('SELECT count(*), count(c.x), sum(p.k * c.i), min(p.n - c.n), max(c.w), sum(p.x * c.y) FROM p JOIN # ON ?'),
	('SELECT p.id, min((p.x - c.x) * (p.x - c.x)), count(c.s), max(c.s) FROM p JOIN # ON ? GROUP BY 1'),
	('SELECT c.k, c.s, count(*), sum(p.x), max(p.s), bool_or(p.b) FROM p JOIN # ON ? GROUP BY 1, 2'),
	('SELECT p.s, c.b, count(*), sum(p.n * c.n), min(p.t) FROM p LEFT JOIN # ON ? GROUP BY 1, 2'),
	('SELECT c.k, count(p.id), sum(p.k) FROM p RIGHT JOIN # ON ? GROUP BY 1'),
	('SELECT p.b, count(*), sum(p.id) FROM p WHERE EXISTS (SELECT FROM # WHERE ?) GROUP BY 1'),
	('SELECT p.b, count(*), sum(p.id) FROM p WHERE NOT EXISTS (SELECT FROM # WHERE ?) GROUP BY 1'),
	('SELECT few.k, c.b, count(*), sum(p.x + few.y) FROM p JOIN # ON ? JOIN few ON few.id = p.id % 50 GROUP BY 1, 2'),
	('SELECT count(*), sum(p.k + c.i + d.i), max(d.s) FROM p JOIN # ON ? JOIN single d ON p.k > d.i'),
	('SELECT d.k, count(*), min(p.x + c.x + d.x) FROM p JOIN # ON ? CROSS JOIN (SELECT * FROM c WHERE k < 4) d GROUP BY 1'),
	('SELECT p.id, c.k, p.s, c.s, p.x * c.x AS product FROM p JOIN # ON ? WHERE p.id % 10 = 3 AND c.k < 9'),
	('SELECT few.id, count(c.k), sum(few.x * c.x) FROM few p LEFT JOIN # ON ? JOIN few ON few.id = p.id GROUP BY 1');
-- the forms over each condition; the tables of 30 rows, one and none
SELECT t, count(*) AS queries, string_agg(d, E'\n') AS differ
FROM (SELECT t, differ(replace(replace(f, '#', t || ' c'), '?', c)) AS d FROM form, condition, unnest(ARRAY['c', 'single', 'nobody']) t) x GROUP BY 1 ORDER BY 1;
SET gpucol.cpu_threads = 2;
SELECT count(*) AS queries, string_agg(d, E'\n') AS differ
FROM (SELECT differ(replace(replace(f, '#', 'c'), '?', c)) AS d FROM form, condition) x;
RESET gpucol.cpu_threads;
-- an error in one pair is raised, but not where no pair needs it
SELECT count(*) FROM p, c WHERE p.id < 3000 AND p.id / (c.k - 30) > 0;
SELECT sum(p.id / (c.k - 30)) FROM p JOIN c ON c.k < 30 WHERE p.id < 3000;
SELECT sum(100 / (p.id - 1500)) FROM p, nobody c;
EXPLAIN (COSTS OFF) SELECT p.id, min((p.x - c.x) * (p.x - c.x)) FROM p, c GROUP BY 1;
DROP SCHEMA join_turned CASCADE;
