-- PostgreSQL's plan is tried first where indexes lead it to the few rows that a recursion may need
CREATE SCHEMA recursive_tried;
SET search_path = recursive_tried;
LOAD 'gpucol';
SET gpucol.engine = cpu;

CREATE TABLE emp AS SELECT i AS id, CASE WHEN i > 1 THEN i / 3 + 1 END AS boss, 'e' || i AS name, i * 7919 % 1000 AS pay FROM generate_series(1, 20000) i;
UPDATE emp SET boss = NULL WHERE boss >= id;
CREATE TABLE emp_packed USING gpucol AS TABLE emp;
DELETE FROM emp_packed WHERE id % 100 = 77;
INSERT INTO emp_packed SELECT * FROM emp WHERE id % 100 = 77;
CREATE INDEX ON emp (id);
CREATE INDEX ON emp (boss);
CREATE INDEX ON emp_packed (id);
CREATE INDEX ON emp_packed (boss);
VACUUM ANALYZE emp, emp_packed;

-- How a recursion ran: tried first or not, by which engine, and why not by it.
CREATE FUNCTION how(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ '^ *(Tried First|Fallback|Method):' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;

-- up from a leaf: some ten rows
\set up 'WITH RECURSIVE u AS (SELECT id, boss, name, 0 AS steps FROM emp WHERE id = 19999 UNION ALL SELECT e.id, e.boss, e.name, steps + 1 FROM emp e JOIN u ON e.id = u.boss) '
EXPLAIN (COSTS OFF) :up SELECT * FROM u;
SELECT how(:'up' || 'SELECT * FROM u');
SELECT how(replace(:'up', 'UNION ALL', 'UNION') || 'SELECT count(*), max(steps) FROM u');
:up SELECT * FROM u ORDER BY steps;
:up SELECT count(*), sum(id), max(steps), count(boss) FROM u;
:up SELECT steps % 2, string_agg(name, ' ' ORDER BY steps) FROM u WHERE steps > 2 GROUP BY 1 ORDER BY 1;
CREATE TABLE above USING gpucol AS :up SELECT * FROM u WHERE boss IS NOT NULL;
SELECT count(*), sum(id), min(boss) FROM above;
-- nothing at all
SELECT how('WITH RECURSIVE u AS (SELECT id, boss FROM emp WHERE id = -1 UNION ALL SELECT e.id, e.boss FROM emp e JOIN u ON e.id = u.boss) SELECT * FROM u');

-- far more rows than one can hold in the time that the engine needs to read the table
\set all 'WITH RECURSIVE d AS (SELECT id, boss, k FROM emp, generate_series(1, 2) k WHERE id = 1 UNION ALL SELECT e.id, e.boss, d.k * 4 + j FROM emp e JOIN d ON e.boss = d.id, generate_series(1, 2) j WHERE d.id < 250) '
SELECT how(:'all' || 'SELECT * FROM d');
:all SELECT count(*), sum(id), sum(k), count(DISTINCT k) FROM d;

-- not where all rows are wanted in any case, or an engine is asked for
SELECT how('WITH RECURSIVE d AS (SELECT id FROM emp WHERE id % 3 = 0 UNION ALL SELECT e.id FROM emp e JOIN d ON e.boss = d.id) SELECT count(*) FROM d');
SET gpucol.pushdown = require;
SELECT how(:'up' || 'SELECT * FROM u');
RESET gpucol.pushdown;
SET gpucol.recursive_strategy = hisa;
SELECT how(:'up' || 'SELECT * FROM u');
RESET gpucol.recursive_strategy;
SET gpucol.max_recursion_rounds = 5;
:up SELECT count(*) FROM u;
RESET gpucol.max_recursion_rounds;

-- the first few rows come as they are found, unless all are needed for them
SELECT how(:'all' || 'SELECT * FROM d LIMIT 10');
SELECT count(*) FROM (:all SELECT * FROM d LIMIT 10) q;
SELECT how(:'all' || 'SELECT * FROM d ORDER BY k LIMIT 1');
SELECT how(:'all' || 'SELECT * FROM d WHERE k > 30 LIMIT 1');

-- run again and again, now with few rows and now with many; parameters
CREATE FUNCTION rows_below(root int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (WITH RECURSIVE d AS (SELECT id FROM emp WHERE id = root UNION ALL SELECT e.id FROM emp e JOIN d ON e.boss = d.id) SELECT count(*) FROM d);
END $$;
SELECT root, rows_below(root) FROM (VALUES (19000), (3000), (2), (15000), (500), (-3), (7)) v(root);
PREPARE below(int) AS WITH RECURSIVE d AS (SELECT id, pay FROM emp WHERE id = $1 UNION ALL SELECT e.id, e.pay FROM emp e JOIN d ON e.boss = d.id) SELECT count(*), sum(pay) FROM d;
SET plan_cache_mode = force_generic_plan;
EXECUTE below(300);
EXECUTE below(2);
EXECUTE below(20000);
RESET plan_cache_mode;

-- the same rows as PostgreSQL's own, over both kinds of tables
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	differing bigint;
	n bigint;
BEGIN
	SET LOCAL gpucol.enable_recursive = off;
	EXECUTE 'CREATE TEMP TABLE theirs AS ' || query;
	SET LOCAL gpucol.enable_recursive = on;
	EXECUTE 'CREATE TEMP TABLE mine AS ' || replace(query, 'emp ', 'emp_packed ');
	SELECT count(*) FROM ((TABLE mine EXCEPT ALL TABLE theirs) UNION ALL (TABLE theirs EXCEPT ALL TABLE mine)) q INTO differing;
	SELECT count(*) FROM theirs INTO n;
	DROP TABLE mine, theirs;
	RETURN CASE WHEN differing = 0 THEN n || ' rows' ELSE differing || ' differ' END;
END $$;
SELECT same(query) FROM (VALUES
	(:'up' || 'SELECT * FROM u'),
	(:'all' || 'SELECT * FROM d'),
	(:'all' || 'SELECT id, count(*) FROM d WHERE k < 50 GROUP BY id'),
	('SELECT v.id AS root, x.* FROM emp v, LATERAL (WITH RECURSIVE u AS (SELECT e.id, e.boss, 0 AS n FROM emp e WHERE e.id = v.id UNION ALL SELECT e.id, e.boss, n + 1 FROM emp e JOIN u ON e.id = u.boss) SELECT min(id), max(n), count(boss) FROM u) x WHERE v.id % 90 = 0'),
	('SELECT v.id AS root, (WITH RECURSIVE d AS (SELECT e.id, e.pay FROM emp e WHERE e.id = v.id UNION SELECT e.id, e.pay FROM emp e JOIN d ON e.boss = d.id AND e.pay > v.pay) SELECT sum(pay) FROM d) FROM emp v WHERE v.id < 30'),
	('WITH RECURSIVE d AS (SELECT id, name AS path, 1 AS lvl FROM emp WHERE id = 40 UNION ALL SELECT e.id, d.path || ''/'' || e.name, lvl + 1 FROM emp e JOIN d ON e.boss = d.id LEFT JOIN emp b ON b.id = e.pay) SELECT * FROM d WHERE lvl > 1'),
	('WITH RECURSIVE d AS (SELECT id, ARRAY[id] AS path FROM emp WHERE id = 25 UNION ALL SELECT e.id, path || e.id FROM emp e JOIN d ON e.boss = d.id WHERE NOT e.id = ANY (path)) SELECT path FROM d WHERE cardinality(path) > 2'),
	('WITH RECURSIVE d AS (SELECT id, boss FROM emp WHERE id = 25 UNION ALL SELECT e.id, e.boss FROM emp e JOIN d ON e.boss = d.id) SEARCH DEPTH FIRST BY id SET o SELECT id, row_number() OVER (ORDER BY o) FROM d'),
	('WITH RECURSIVE u AS (SELECT id, boss, pay::numeric AS total FROM emp WHERE id = 12345 UNION SELECT e.id, e.boss, total + e.pay FROM emp e JOIN u ON e.id = u.boss) SELECT * FROM u'),
	('WITH RECURSIVE d AS (SELECT id, id AS root FROM emp WHERE id IN (31, 32, 5000) UNION ALL SELECT e.id, root FROM emp e JOIN d ON e.boss = d.id) SELECT * FROM d WHERE root = 32'),
	('SELECT id FROM emp WHERE id IN (WITH RECURSIVE u AS (SELECT boss FROM emp WHERE id = 777 UNION SELECT e.boss FROM emp e JOIN u ON e.id = u.boss) SELECT boss FROM u)')) v(query);

-- errors are those of the rows
WITH RECURSIVE u AS (SELECT id, boss, 1 AS x FROM emp WHERE id = 19999 UNION ALL SELECT e.id, e.boss, 1 / (e.id - 1) FROM emp e JOIN u ON e.id = u.boss) SELECT count(*) FROM u;

SET client_min_messages = warning;
DROP SCHEMA recursive_tried CASCADE;
