-- What the terms of WITH RECURSIVE may consist of: joins that are no inner joins, expressions, types whose equal values look different
\set node GpucolRecursive
CREATE SCHEMA recursive_terms;
SET search_path = recursive_terms;
LOAD 'gpucol';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set reason :srcdir /include/reason.psql
\i :include

CREATE TABLE edge (src int, dst int);
INSERT INTO edge SELECT i * 7919 % 41, i * 104729 % 43 FROM generate_series(1, 70) i;
INSERT INTO edge SELECT * FROM edge LIMIT 9;
INSERT INTO edge VALUES (NULL, 3), (4, NULL);
CREATE TABLE node AS SELECT i AS id, CASE WHEN i % 4 = 0 THEN NULL ELSE i % 5 END AS kind, 'n' || i AS name FROM generate_series(0, 40) i WHERE i % 7 <> 3;
CREATE TABLE typed AS SELECT src, dst, (src % 3)::numeric(9, 1) AS m, (dst % 3)::numeric AS n, (src % 3)::float8 AS f, (dst % 3)::float4 AS g,
	make_interval(hours => src % 3 * 24) AS i, make_interval(days => dst % 3) AS j, 'x' || src % 3 AS t, 'X' || dst % 3 AS u,
	ARRAY[src % 3, NULL] AS y, ARRAY[dst % 3, NULL] AS z, ROW(src % 3, 'a')::text AS w, md5((src % 3)::text)::uuid AS k, md5((dst % 3)::text)::uuid AS l,
	decode(lpad(to_hex(src % 3), 2, '0'), 'hex') AS b, decode(lpad(to_hex(dst % 3), 2, '0'), 'hex') AS c, timestamptz '2020-01-01 00:00Z' + src % 3 * interval '1 day' AS q,
	timestamptz '2020-01-01 00:00+00' + dst % 3 * interval '24 hours' AS r, jsonb_build_object('a', src % 3) AS o, jsonb_build_object('a', dst % 3) AS p,
	(src % 3)::text::char(3) AS e, (dst % 3)::text::char(3) AS h FROM edge WHERE src IS NOT NULL AND dst IS NOT NULL;
UPDATE typed SET m = 'NaN' WHERE src = 5;
UPDATE typed SET n = 'NaN' WHERE dst = 5;
UPDATE typed SET f = '-0' WHERE src % 6 = 0;
UPDATE typed SET g = '-0' WHERE dst % 6 = 0;
UPDATE typed SET f = 'NaN' WHERE src = 7;
UPDATE typed SET g = 'NaN' WHERE dst = 7;
ANALYZE;
CREATE TYPE pair AS (a int, b text);
CREATE FUNCTION closure(term text, operation text, seeds text DEFAULT 'SELECT src, dst FROM edge WHERE src < 9', what text DEFAULT '*') RETURNS text LANGUAGE sql AS
	$$ SELECT differ(format('WITH RECURSIVE r AS (%s %s %s) SELECT %s FROM r', seeds, operation, term, what)) $$;

-- EXISTS, IN, NOT EXISTS, outer joins; UNION and (with a bound) UNION ALL
SELECT term, closure('SELECT r.src, e.dst FROM r ' || term, 'UNION'),
	closure('SELECT r.src, e.dst, hop + 1 FROM r ' || term || ' AND hop < 3', 'UNION ALL', 'SELECT src, dst, 0 AS hop FROM edge WHERE src < 9') FROM (VALUES
	('JOIN edge e ON e.src = r.dst WHERE EXISTS (SELECT FROM node WHERE id = e.dst)'),
	('JOIN edge e ON e.src = r.dst WHERE EXISTS (SELECT FROM node WHERE id = e.dst AND kind = 1)'),
	('JOIN edge e ON e.src = r.dst WHERE e.dst IN (SELECT id FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE (e.dst, r.src) IN (SELECT id, kind FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE id = e.dst)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE id = e.dst AND kind IS NULL)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE id = e.dst + 1 AND kind = r.src % 5)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM edge x WHERE x.src = e.dst AND x.dst = 7) AND EXISTS (SELECT FROM node n WHERE n.id = r.dst)'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst WHERE coalesce(n.kind, 9) > 1'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst AND n.kind = 2 WHERE (n.id IS NULL OR n.kind < 3)'),
	('LEFT JOIN edge e ON e.src = r.dst WHERE true'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst WHERE n.id IS NULL'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst AND n.kind > r.src WHERE n.id IS NULL AND coalesce(n.kind, e.dst) > 3'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id > e.dst LEFT JOIN node o ON o.id = coalesce(n.kind, e.src) WHERE n.id IS NULL AND n.kind IS NOT DISTINCT FROM n.id'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst LEFT JOIN node o ON o.kind = n.kind AND o.id = 5 LEFT JOIN node p ON p.id = e.dst + 1 LEFT JOIN node q ON q.id = r.src + 1 LEFT JOIN node s ON s.id = e.src + 2
		WHERE coalesce(n.kind, o.kind, p.kind, q.kind, s.kind, 4) <> 3'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE id = e.dst AND kind < r.src)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE id BETWEEN e.dst AND r.dst)'),
	('JOIN edge e ON e.src = r.dst WHERE EXISTS (SELECT FROM node WHERE id > e.dst AND kind IS DISTINCT FROM r.src)'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM node WHERE name = ''n'' || e.dst AND id % 2 = r.src % 2)'),
	('LEFT JOIN edge e ON e.src = r.dst AND r.src > 3 WHERE true'),
	('JOIN edge e ON e.src = r.dst WHERE NOT EXISTS (SELECT FROM edge x JOIN node n ON n.id = x.dst WHERE x.src = e.dst AND n.kind < 3)'),
	('JOIN edge e ON e.src = r.dst WHERE EXISTS (SELECT FROM edge x JOIN node n ON n.id = x.dst WHERE x.src = e.dst AND n.kind <> r.src)'),
	('LEFT JOIN (edge e JOIN node n ON n.id = e.src) ON e.src = r.dst AND n.kind <> r.src WHERE true'),
	('LEFT JOIN edge e ON e.src = r.dst AND e.dst > r.src LEFT JOIN node n ON n.id = e.dst AND n.kind <> r.src AND n.kind < 4 WHERE n.id IS DISTINCT FROM 3'),
	('LEFT JOIN edge e ON e.src BETWEEN r.dst AND r.dst + 1 AND e.dst % 3 = 0 WHERE true'),
	('LEFT JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst LEFT JOIN node o ON o.kind = n.kind WHERE o.id IS DISTINCT FROM 3'),
	('LEFT JOIN (SELECT id, count(*)::int AS dst FROM node GROUP BY id) e ON e.id = r.dst WHERE true')) v(term);
-- the same joins in the non-recursive term
SELECT closure('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst JOIN node n ON n.id = e.src', 'UNION', seeds) FROM (VALUES
	('SELECT src, dst FROM edge e WHERE NOT EXISTS (SELECT FROM node n WHERE n.id = e.src)'), ('SELECT src, id AS dst FROM edge LEFT JOIN node ON id = dst'),
	('SELECT src, CASE WHEN dst > 5 THEN dst ELSE 1 END AS dst FROM edge')) v(seeds);
-- expressions
SELECT term, closure(term, 'UNION') FROM (VALUES
	('SELECT r.src, CASE WHEN e.dst > 20 THEN e.dst ELSE r.dst END FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE e.dst IN (3, 5, 7, r.src, 11, 13, 17, 19, 23)'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE r.src IN (3, 5, NULL) OR e.dst > 10'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE (r.src > 3) IS NOT TRUE'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE r.src <> 0 AND e.dst / r.src < 4'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE r.src = 0 OR e.dst / r.src < 4'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE r.src IS DISTINCT FROM e.dst'),
	('SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst + 1 - length(''a'')'),
	('SELECT r.src, coalesce(e.dst, 0) FROM r JOIN edge e ON e.src = r.dst WHERE (''k'' || r.src) LIKE ''k%'''),
	('SELECT greatest(r.src, e.dst), least(r.src, e.dst) FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT r.src, abs(e.dst - 20) FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT r.src, (e.dst * 1.5)::int FROM r JOIN edge e ON e.src = r.dst WHERE e.dst < 25'),
	('SELECT r.src, 10 / (e.dst - 3) FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT DISTINCT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst')) v(term);
SELECT closure('SELECT e.dst, path || ''>'' || e.dst, hop + 1 FROM r JOIN edge e ON e.src = r.dst WHERE position(''>7'' in path) = 0 AND hop < 5', 'UNION ALL',
	'SELECT dst, src::text AS path, 1 AS hop FROM edge WHERE src < 9');
SELECT closure('SELECT e.dst, path || e.dst FROM r JOIN edge e ON e.src = r.dst WHERE e.dst <> ALL (path)', operation, 'SELECT dst, ARRAY[src, dst] AS path FROM edge WHERE src < 4')
	FROM (VALUES ('UNION'), ('UNION ALL')) v(operation);
SELECT closure('SELECT e.dst, ROW(e.dst, (p).b || ''.'')::pair FROM r JOIN edge e ON e.src = r.dst WHERE (p).a <> 7 AND length((p).b) < 4', operation, 'SELECT dst, ROW(src, '''')::pair AS p FROM edge')
	FROM (VALUES ('UNION'), ('UNION ALL')) v(operation);
SELECT closure('SELECT e.dst, x * 1.1 FROM r JOIN edge e ON e.src = r.dst WHERE x < 1.3', 'UNION ALL', 'SELECT dst, 1.0 AS x FROM edge WHERE src < 4');
SELECT closure('SELECT e.dst, x / 2 FROM r JOIN edge e ON e.src = r.dst WHERE x > 0.1', 'UNION ALL', 'SELECT dst, 1::float8 AS x FROM edge WHERE src < 4');
-- SEARCH and CYCLE

SELECT clause, differ('WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src = 7 ' || operation || ' SELECT e.src, e.dst FROM r JOIN edge e ON e.src = r.dst' ||
	CASE WHEN clause LIKE 'CYCLE%' THEN ' WHERE e.dst < 20' ELSE ' WHERE e.dst > r.dst' END || ') ' || clause || ' SELECT * FROM r') FROM (VALUES
	('SEARCH DEPTH FIRST BY src, dst SET place', 'UNION ALL'), ('SEARCH BREADTH FIRST BY dst SET place', 'UNION ALL'), ('CYCLE dst SET again USING path', 'UNION ALL'),
	('CYCLE src, dst SET again TO ''yes'' DEFAULT ''no'' USING path', 'UNION ALL')) v(clause, operation);

-- types: compared, deduplicated, carried
SELECT a, b, closure(format('SELECT t.%s FROM r JOIN typed t ON t.%s = r.x', b, a), 'UNION', format('SELECT %s AS x FROM typed WHERE src < 5', a),
	'x::text')
	FROM (VALUES ('m', 'm'), ('n', 'n'), ('f', 'f'), ('g', 'g'), ('i', 'i'), ('j', 'j'), ('t', 't'), ('y', 'y'), ('z', 'z'), ('w', 'w'), ('k', 'l'), ('l', 'k'), ('b', 'c'), ('q', 'r'), ('o', 'p'), ('e', 'h')) v(a, b);
SELECT differ('WITH RECURSIVE r AS (SELECT m::numeric AS x FROM typed WHERE src = 1 UNION SELECT t.n FROM r JOIN typed t ON t.m = r.x) SELECT x FROM r');
SELECT differ('WITH RECURSIVE r AS (SELECT f AS x, 1 AS hop FROM typed UNION SELECT t.f, hop + 1 FROM r JOIN typed t ON t.f = r.x WHERE hop < 4) SELECT x::text, hop, count(*) FROM r GROUP BY 1, 2');
-- where equal values look different PostgreSQL's plan says which of them shows
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) WITH RECURSIVE r(x) AS (SELECT n FROM typed UNION SELECT t.m FROM r JOIN typed t ON t.n = r.x) SELECT * FROM r \g (format=unaligned tuples_only=on) | sed -nE 's|[.]00 loops| loops|; /Gpucol|Fallback|Recursive Union/p'
SELECT differ('WITH RECURSIVE r(x) AS (SELECT n FROM typed UNION SELECT t.m FROM r JOIN typed t ON t.n = r.x) SELECT * FROM r');
SELECT differ('WITH RECURSIVE r(x, s) AS (SELECT n, src FROM typed UNION SELECT t.m, r.s FROM r JOIN typed t ON t.n = r.x) SELECT * FROM r WHERE s < 4');
SELECT differ('WITH RECURSIVE r(x, s) AS (SELECT n, src FROM typed UNION SELECT t.m, t.dst FROM r JOIN typed t ON t.n = r.x) SELECT count(*), sum(s), max(s), count(x) FROM r', 'GpucolRecursiveAgg');
SELECT differ('WITH RECURSIVE r(x, s) AS (SELECT n, src FROM typed UNION SELECT t.m, t.dst FROM r JOIN typed t ON t.n = r.x) SELECT x, count(*), sum(s) FROM r WHERE s > 2 GROUP BY x');
SELECT differ('SELECT s, (WITH RECURSIVE r(x) AS (SELECT n FROM typed WHERE src = s UNION SELECT t.m FROM r JOIN typed t ON t.n = r.x) SELECT string_agg(x::text, '','' ORDER BY x, x::text) FROM r) FROM generate_series(1, 6) s');
-- ... also where its rows come as they are stored
CREATE TABLE forms (n numeric, s int, d int);
INSERT INTO forms VALUES (1.0, 1, 1), (1.00, 2, 2), (2, 3, 3), (2.0, 9, 4), (3, 1, 5);
SELECT differ('WITH RECURSIVE r(x, s, d) AS (SELECT * FROM forms UNION ALL SELECT t.n, r.s, t.d FROM r JOIN forms t ON t.n = r.x AND t.d > r.d) SELECT * FROM r WHERE s < 3');
WITH RECURSIVE r(x) AS (VALUES (1.00), (2.0) UNION SELECT t.m FROM r JOIN typed t ON t.m = r.x WHERE r.x <> 1.000) SELECT * FROM r ORDER BY 1;
WITH RECURSIVE r(x) AS (VALUES (float8 '-0')  UNION SELECT 0::float8 FROM r) SELECT * FROM r;
-- what stays PostgreSQL's; not so values that come up on the way and may be equal and look different
\i :reason
SELECT reason('WITH RECURSIVE r AS (' || query || ') SELECT * FROM r') FROM (VALUES
	('SELECT f AS x, 1 AS hop FROM typed UNION SELECT r.x + 1, hop + 1 FROM r WHERE hop < 4'),
	('SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE e.dst NOT IN (SELECT id + (random() * 0)::int FROM node)'),
	('SELECT src, dst FROM edge UNION SELECT r.src, u FROM r, unnest(ARRAY[r.dst, 7]) u'),
	('SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r LEFT JOIN (edge e LEFT JOIN node n ON n.id = e.dst) ON e.src = r.dst WHERE n.kind IS NULL'),
	('SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r, LATERAL (SELECT dst FROM edge WHERE src = r.dst LIMIT 1) e'),
	('SELECT src, dst FROM edge UNION SELECT r.src, (random() * e.dst)::int FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT src, dst FROM edge UNION ALL SELECT DISTINCT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE false'),
	('SELECT src, point(src, dst) FROM edge UNION ALL SELECT r.src, r.point FROM r WHERE r.point ~= point(3, 3)')) v(query);
-- subqueries: run once, or for rows, by PostgreSQL; NULLs of NOT IN; volatile ones stay out
SELECT term, closure('SELECT r.src, e.dst FROM r ' || term, 'UNION'),
	closure('SELECT r.src, e.dst, hop + 1 FROM r ' || term || ' AND hop < 3', 'UNION ALL', 'SELECT src, dst, 0 AS hop FROM edge WHERE src < (SELECT avg(id) FROM node)') FROM (VALUES
	('JOIN edge e ON e.src = r.dst WHERE e.dst > (SELECT avg(kind) * 4 FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE e.dst NOT IN (SELECT id FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE e.dst NOT IN (SELECT id FROM node WHERE id % 3 = 1)'),
	('JOIN edge e ON e.src = r.dst WHERE r.dst NOT IN (SELECT kind FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE (e.dst, r.src) NOT IN (SELECT id, kind FROM node)'),
	('JOIN edge e ON e.src = r.dst WHERE (r.dst > 30 OR r.dst IN (SELECT kind FROM node))'),
	('JOIN edge e ON e.src = r.dst WHERE (SELECT count(*) FROM node WHERE id < e.dst AND kind <> r.src) > 3'),
	('JOIN edge e ON e.src = r.dst WHERE (e.dst < 9 OR EXISTS (SELECT FROM node WHERE id < e.dst AND kind > r.src))'),
	('JOIN edge e ON e.src = r.dst WHERE e.dst = ANY (ARRAY(SELECT id FROM node ORDER BY id))'),
	('JOIN edge e ON e.src = r.dst LEFT JOIN node n ON n.id = e.dst WHERE coalesce(n.kind, 1) IN (SELECT x.src - 3 FROM edge x WHERE x.dst > r.src)')) v(term);
SELECT closure('SELECT r.src, e.dst + (SELECT count(*) FROM node WHERE id < r.dst)::int % 7 FROM r JOIN edge e ON e.src = r.dst WHERE e.dst < 40', 'UNION');
\set include :srcdir /include/plan.psql
\set ECHO none
\i :include
\set ECHO all
SELECT plan('WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst
	WHERE e.dst > (SELECT avg(id) FROM node) AND (SELECT count(*) FROM node WHERE id < e.dst) > r.src) SELECT * FROM r', 'VERBOSE, COSTS OFF');
-- a fallback has the subqueries of both terms run again
SELECT differ('WITH RECURSIVE r AS (SELECT m AS a, n AS b FROM typed WHERE m < (SELECT avg(kind) FROM node) UNION SELECT r.a, t.n FROM r JOIN typed t ON t.m = r.b WHERE t.src > (SELECT avg(kind) FROM node)) SELECT * FROM r');
-- where there may be one, both plans of a term use the same alternative of a subquery, and EXPLAIN knows the tables of both
CREATE TABLE step AS SELECT i % 10 AS a, i * 7 % 10 AS b, (i % 3)::numeric AS v FROM generate_series(1, 300) i;
CREATE TABLE many AS SELECT i AS a FROM generate_series(1, 200000) i;
CREATE INDEX ON many (a);
CREATE TABLE more_steps () INHERITS (step);
VACUUM ANALYZE step, many;
SELECT differ('WITH RECURSIVE r AS (SELECT a, v FROM ONLY step WHERE a < 8 UNION SELECT e.b, r.v FROM r JOIN ONLY step e ON e.a = r.a WHERE e.b < 4 OR EXISTS (SELECT FROM many m WHERE m.a = e.b + r.a)) SELECT * FROM r');
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT a, v FROM step WHERE a < 2 UNION SELECT e.b, r.v FROM r JOIN step e ON e.a = r.a) SELECT * FROM r;
-- the recursion of a changed outer row reads inputs anew that read no table
SELECT differ('SELECT v.n, l.* FROM (VALUES (3), (9), (2), (30)) v(n), LATERAL (WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src < v.n
	UNION SELECT r.src, g.dst FROM r JOIN (SELECT src, dst FROM edge WHERE dst <> v.n GROUP BY src, dst HAVING count(*) > 0) g ON g.src = r.dst WHERE g.dst NOT IN (SELECT id + v.n FROM node)
	AND r.dst > (SELECT min(id) + v.n FROM node)) SELECT * FROM r) l');
-- the recursive term's columns get the types of the other's
SELECT seeds, closure(term, 'UNION', seeds) FROM (VALUES
	('SELECT src::bigint, dst::bigint FROM edge WHERE src < 9', 'SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT src, dst::bigint FROM edge WHERE src < 9', 'SELECT e.src::smallint, e.dst::smallint FROM r JOIN edge e ON e.src = r.dst'),
	('SELECT 4::bigint AS src, name FROM node', 'SELECT r.src + 1, e.dst::varchar(2) FROM r JOIN edge e ON e.src = r.src'),
	('SELECT src, timestamp ''2024-01-01'' AS t FROM edge', 'SELECT e.dst, date ''2024-01-02'' + e.dst FROM r JOIN edge e ON e.src = r.src'),
	('SELECT 1::bigint AS n, NULL::bigint AS m', 'SELECT n + 1, CASE WHEN n < 5 THEN 7 END FROM r WHERE n < 10')) v(seeds, term);
-- so do all rules that have the same subquery
SELECT differ('SELECT v.n, l.* FROM (VALUES (3), (9), (2), (30)) v(n), LATERAL (WITH RECURSIVE r AS (SELECT src, dst FROM edge WHERE src < v.n
	UNION SELECT r.src, e.dst FROM r LEFT JOIN edge e ON e.src = r.dst AND EXISTS (SELECT FROM node WHERE id = e.src AND id = r.dst AND id < v.n)) SELECT * FROM r) l'),
	differ('SELECT v.n, l.* FROM (VALUES (3), (9), (2), (30)) v(n), LATERAL (WITH RECURSIVE b AS MATERIALIZED (SELECT id, id AS twin FROM node WHERE id < v.n), r AS (SELECT id AS src, id AS dst FROM b
	UNION SELECT r.src, e.id FROM r LEFT JOIN b e ON e.id = r.src AND NOT EXISTS (SELECT FROM b WHERE id = e.twin AND twin = r.src)) SELECT * FROM r) l');
-- a recursion that is left in the midst of its rows begins anew for the next outer row
CREATE TABLE chain AS SELECT n, n * 10000 + i AS x, n * 10000 + i + 1 AS y FROM generate_series(1, 9) n, generate_series(1, 1500) i;
ANALYZE chain;
SELECT differ('SELECT g.n, (SELECT count(*) FILTER (WHERE q.y / 10000 = g.n) FROM (WITH RECURSIVE r(x, y) AS (SELECT x, y FROM chain WHERE chain.n = g.n
	UNION SELECT e.x, e.y FROM r JOIN chain e ON e.x = r.y) (SELECT y FROM r LIMIT g.n % 7 + 4) UNION ALL (SELECT x FROM r LIMIT g.n % 5 + 3) LIMIT g.n % 5) q) AS own FROM generate_series(1, 9) g(n)');
-- parameters in what PostgreSQL computes
PREPARE reach(text, int[]) AS WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst
	WHERE ('k' || e.dst) <> $1 AND e.dst = ANY ($2)) SELECT count(*), sum(dst) FROM r;
SET plan_cache_mode = force_generic_plan;
EXECUTE reach('k3', '{1,3,5,7,9}');
EXECUTE reach('k5', '{1,3,5,7,9}');
EXECUTE reach(NULL, '{1,3}');
SET gpucol.enable_recursive = off;
EXECUTE reach('k3', '{1,3,5,7,9}');
RESET gpucol.enable_recursive;
RESET plan_cache_mode;
SELECT differ('SELECT v.n, l.* FROM (VALUES (3), (5), (NULL)) v(n), LATERAL (WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE CASE WHEN v.n IS NULL THEN i < 2 ELSE i < v.n END) SELECT * FROM r) l');
-- texts count against the limit of memory
SET gpucol.recursive_memory_limit = '16MB';
WITH RECURSIVE r(i, t) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, t || repeat('y', 1000) || i FROM r) SELECT count(*) FROM r;
RESET gpucol.recursive_memory_limit;
EXPLAIN (VERBOSE, COSTS OFF) WITH RECURSIVE r AS (SELECT src, dst FROM edge UNION SELECT r.src, e.dst FROM r JOIN edge e ON e.src = r.dst WHERE ('k' || e.dst) <> 'k3') SELECT * FROM r;

SET client_min_messages = warning;
DROP SCHEMA recursive_terms CASCADE;
