-- A subquery that a join reads is in the plan twice, there and in what the join falls back
-- to (that its relations keep their numbers is tested by t/040_joins.pl).
CREATE SCHEMA join_twice;
SET search_path = join_twice, public;
CREATE TABLE packed (k int, v int) USING gpucol;
INSERT INTO packed SELECT i % 10, i FROM generate_series(1, 3000) i;
CREATE TABLE few (k int, v int) USING heap;
INSERT INTO few SELECT i, i % 7 FROM generate_series(1, 40) i;
ANALYZE packed, few;
SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT DISTINCT k FROM (SELECT k FROM few UNION ALL SELECT k + 2 FROM few) q) z, packed x WHERE x.k = z.k;

-- of two ways to ask a subquery's question, both plans take one
CREATE INDEX ON few (k);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT count(*), sum(z.v) FROM packed x JOIN (SELECT f.k, max(f.v) AS v FROM few f
	WHERE EXISTS (SELECT FROM few g WHERE g.k = f.k + 1) OR f.v = 3 GROUP BY f.k) z ON x.k = z.k;
SELECT count(*), sum(z.v) FROM (SELECT * FROM packed OFFSET 0) x JOIN (SELECT f.k, max(f.v) AS v FROM few f
	WHERE EXISTS (SELECT FROM few g WHERE g.k = f.k + 1) OR f.v = 3 GROUP BY f.k) z ON x.k = z.k;
RESET gpucol.pushdown;

-- least and greatest values that an index finds
CREATE TABLE indexed (k int PRIMARY KEY, v int) USING gpucol;
INSERT INTO indexed SELECT i, i % 50 FROM generate_series(1, 900) i;
ANALYZE indexed;
SELECT count(*), sum(x.v) FROM packed x JOIN (SELECT max(k) AS k FROM few WHERE k < 9) m ON x.k = m.k;
SELECT string_agg(z.k::text, ' ') FROM (SELECT min(k) AS k FROM indexed WHERE v > 30) z;
SELECT min(k), row_number() OVER () FROM indexed WHERE v > 30;
SET client_min_messages = warning;
DROP SCHEMA join_twice CASCADE;
