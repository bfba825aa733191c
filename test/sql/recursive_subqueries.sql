-- Subqueries in the terms of WITH RECURSIVE, which become joins: the rows of PostgreSQL, or its error
CREATE SCHEMA recursive_subqueries;
SET search_path = recursive_subqueries;
SET statement_timeout = '20s';
LOAD 'gpucol';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set node (GpucolRecursive)
\i :include

CREATE TABLE emp (id int, boss int, dept int, pay numeric, name text) USING gpucol;
INSERT INTO emp SELECT i, nullif(i / 3, 0), nullif(i % 7, 5), (i * 37 % 100)::numeric(9, 2), 'e' || i % 50 FROM generate_series(1, 400) i;
CREATE TABLE dept (id int, name text, kind int) USING gpucol;
INSERT INTO dept SELECT i, 'd' || i, i % 3 FROM generate_series(0, 4) i;
INSERT INTO dept VALUES (NULL, 'none', NULL);
CREATE TABLE nothing (id int, boss int) USING gpucol;
INSERT INTO emp VALUES (1000, NULL, NULL, NULL, NULL), (1001, 1000, 3, NULL, 'x');
DELETE FROM emp WHERE id % 61 = 0;

-- in the select list: counts, sums, one row of a key, EXISTS, IN, arrays, of the recursion's own columns
SELECT differ(format('WITH RECURSIVE o(id, v) AS (SELECT id, NULL::%2$s FROM emp WHERE boss IS NULL %3$s SELECT e.id, %1$s FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o', v[1], v[2], u))
	FROM (VALUES
	(ARRAY['(SELECT count(*) FROM emp x WHERE x.boss = e.id)', 'bigint']),
	(ARRAY['(SELECT count(*) FROM emp x WHERE x.boss = o.id)', 'bigint']),
	(ARRAY['(SELECT sum(x.pay) FROM emp x WHERE x.boss = e.id AND x.dept > 2)', 'numeric']),
	(ARRAY['(SELECT max(x.pay) FROM emp x WHERE x.dept = e.dept AND x.pay < e.pay)', 'numeric']),
	(ARRAY['(SELECT max(d.name) FROM dept d WHERE d.id = e.dept)', 'text']),
	(ARRAY['(SELECT d.name FROM dept d WHERE d.id = e.dept)', 'text']),
	(ARRAY['(SELECT d.name FROM dept d WHERE d.kind = e.dept)', 'text']),
	(ARRAY['(SELECT x.name FROM emp x WHERE x.boss = e.id ORDER BY x.pay, x.id LIMIT 1)', 'text']),
	(ARRAY['(SELECT min(n.id) FROM nothing n WHERE n.boss = e.id)', 'int']),
	(ARRAY['EXISTS (SELECT FROM emp x WHERE x.boss = e.id)', 'bool']),
	(ARRAY['NOT EXISTS (SELECT FROM emp x WHERE x.boss = e.id AND x.pay > o.id)', 'bool']),
	(ARRAY['e.dept IN (SELECT id FROM dept WHERE kind = 1)', 'bool']),
	(ARRAY['e.dept NOT IN (SELECT id FROM dept)', 'bool']),
	(ARRAY['coalesce((SELECT count(*) FROM emp x WHERE x.boss = e.id), o.v) + 1', 'bigint']),
	(ARRAY['o.v || (SELECT string_agg(d.name, '','' ORDER BY d.name) FROM dept d WHERE d.kind = e.dept)', 'text'])) t(v),
	unnest(ARRAY['UNION ALL', 'UNION']) u;
-- in conditions
SELECT differ(format('WITH RECURSIVE o(id, l) AS (SELECT id, 0 FROM emp WHERE boss IS NULL %2$s SELECT e.id, l + 1 FROM o JOIN emp e ON e.boss = o.id WHERE %1$s) SELECT * FROM o', v, u))
	FROM (VALUES
	('e.pay > (SELECT avg(x.pay) FROM emp x WHERE x.dept = e.dept)'),
	('e.pay >= (SELECT min(x.pay) FROM emp x WHERE x.boss = o.id)'),
	('EXISTS (SELECT FROM emp x WHERE x.boss = e.id) OR e.dept = 3'),
	('e.dept IN (SELECT id FROM dept WHERE kind = 1) OR e.id % 2 = 0'),
	('e.dept NOT IN (SELECT id FROM dept WHERE id IS NOT NULL)'),
	('(SELECT count(*) FROM emp x WHERE x.dept = e.dept AND x.id < e.id) % 2 = 0'),
	('e.pay > ALL (SELECT kind FROM dept d WHERE d.id = o.l)'),
	('1 = (SELECT 1 FROM dept d WHERE d.kind = e.dept)')) t(v),
	unnest(ARRAY['UNION ALL', 'UNION']) u;
-- in the non-recursive term, in FROM, in WITH queries around, in several recursions
SELECT differ(q) FROM (VALUES
	('WITH RECURSIVE o(id, n) AS (SELECT id, (SELECT count(*) FROM emp x WHERE x.dept = e.dept) FROM emp e WHERE boss IS NULL UNION ALL SELECT e.id, n + 1 FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o'),
	('WITH RECURSIVE o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT q.id, q.n FROM (SELECT o.id AS b, e.id, (SELECT count(*) FROM emp x WHERE x.boss = e.id) AS n FROM o JOIN emp e ON e.boss = o.id) q WHERE q.n > 0) SELECT * FROM o'),
	('WITH RECURSIVE k AS (SELECT id FROM dept WHERE kind > 0), o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM k WHERE k.id = e.dept) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o'),
	('WITH RECURSIVE a(id) AS (SELECT 2 UNION SELECT e.id FROM a JOIN emp e ON e.boss = a.id), o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM a WHERE a.id = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o'),
	('SELECT d.id, (WITH RECURSIVE o(id, n) AS (SELECT d.id, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM emp x WHERE x.boss = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT sum(n) FROM o) FROM dept d')) t(q);
-- correlated with the recursion's own columns: values, first rows and rows behind LATERAL, other comparisons than equalities
SELECT differ(format('WITH RECURSIVE o(id, v) AS (SELECT 1, 0::bigint %2$s SELECT %1$s) SELECT * FROM o', v, u), '')
	FROM (VALUES
	('e.id, (SELECT max(x.dept) FROM emp x WHERE x.boss = o.id) FROM o JOIN emp e ON e.boss = o.id'),
	('e.id, (SELECT max(x.id) FROM emp x WHERE x.boss = o.id AND x.id < o.v + 9) FROM o JOIN emp e ON e.boss = o.id'),
	('e.id, (SELECT count(*) FROM emp x WHERE x.pay < o.v) FROM o JOIN emp e ON e.boss = o.id'),
	('e.id, (SELECT x.dept FROM emp x WHERE x.boss = o.id ORDER BY x.pay DESC, x.id LIMIT 1) FROM o JOIN emp e ON e.boss = o.id'),
	('e.id, o.v + 1 FROM o, LATERAL (SELECT x.id FROM emp x WHERE x.boss = o.id ORDER BY x.pay, x.id LIMIT 1) e'),
	('e.id, o.v + 1 FROM o, LATERAL (SELECT x.id FROM emp x WHERE x.boss = o.id ORDER BY x.pay, x.id LIMIT 2) e'),
	('e.id, q.n FROM o JOIN emp e ON e.boss = o.id, LATERAL (SELECT count(*) AS n FROM dept d WHERE d.kind = o.v % 3) q'),
	('e.id, q.n FROM o JOIN emp e ON e.boss = o.id LEFT JOIN LATERAL (SELECT min(d.id) AS n FROM dept d WHERE d.kind = e.dept) q ON true'),
	('e.id, q.m FROM o JOIN emp e ON e.boss = o.id, LATERAL (SELECT max(x.dept) AS m FROM emp x WHERE x.boss = o.id HAVING count(*) > 2) q'),
	('e.id, o.v FROM o JOIN emp e ON e.boss = o.id WHERE e.pay > (SELECT avg(x.pay) FROM emp x WHERE x.boss = o.id)'),
	('e.id, o.v FROM o JOIN emp e ON e.boss = o.id WHERE EXISTS (SELECT FROM emp x WHERE x.boss = o.id AND x.pay > e.pay)'),
	('q.id, q.v FROM (SELECT e.id, (SELECT sum(x.id) FROM emp x WHERE x.boss = o.id) AS v FROM o JOIN emp e ON e.boss = o.id) q')) t(v),
	unnest(ARRAY['UNION ALL', 'UNION']) u;
-- row-level security of what a subquery reads; a volatile function stays where it was
CREATE TABLE secret (id int, boss int) USING gpucol;
INSERT INTO secret SELECT id, boss FROM emp;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON secret USING (id % 2 = 1);
CREATE ROLE recursive_reader;
GRANT USAGE ON SCHEMA recursive_subqueries TO recursive_reader;
GRANT SELECT ON emp, secret TO recursive_reader;
SET ROLE recursive_reader;
SELECT count(*), sum(n) FROM (WITH RECURSIVE o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM secret x WHERE x.boss = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o) q;
SET gpucol.pushdown = forbid;
SELECT count(*), sum(n) FROM (WITH RECURSIVE o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM secret x WHERE x.boss = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o) q;
RESET gpucol.pushdown;
RESET ROLE;
EXPLAIN (COSTS OFF) WITH RECURSIVE o(id, n) AS (SELECT 1, 0::bigint UNION ALL SELECT e.id, (SELECT count(*) FROM emp x WHERE x.boss = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o;
EXPLAIN (COSTS OFF) WITH RECURSIVE o(id, n) AS (SELECT 1, 0::float8 UNION ALL SELECT e.id, (SELECT count(*) * random() FROM emp x WHERE x.boss = e.id) FROM o JOIN emp e ON e.boss = o.id) SELECT * FROM o;
SET client_min_messages = warning;
DROP SCHEMA recursive_subqueries CASCADE;
DROP ROLE recursive_reader;
