-- Recursions as users write them: reachability, org charts, bills of material, permissions, series, itineraries, paths as text and arrays, over both kinds of tables
\set node GpucolRecursive
CREATE SCHEMA recursive_queries;
SET search_path = recursive_queries;
LOAD 'gpucol';
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set reason :srcdir /include/reason.psql
\i :include

CREATE TABLE edge USING gpucol AS SELECT i * 7919 % 151 AS src, i * 104729 % 149 AS dst, 1 + i * 31 % 10 AS w, (ARRAY['road', 'rail', 'air', NULL])[1 + i * 13 % 4] AS kind,
	date '2020-01-01' + i * 37 % 1500 AS since, (i * 977 % 10000)::numeric(8, 2) / 100 AS cost, i % 5 <> 0 AS active FROM generate_series(1, 400) i;
CREATE TABLE node AS SELECT i AS id, 'n' || i AS name, (i % 7)::smallint AS grp, (i * 1000003::bigint) % 50000 AS pop FROM generate_series(0, 150) i;
CREATE TABLE emp USING gpucol AS SELECT i AS id, 'emp' || i AS name, CASE WHEN i > 1 THEN (i + 1) / 3 END AS boss, 1000 + (i * 7919) % 5000::numeric AS salary,
	(ARRAY['ops', 'dev', 'hr'])[1 + i % 3]::varchar(10) AS dept FROM generate_series(1, 300) i;
UPDATE emp SET boss = NULL WHERE boss >= id;
CREATE TABLE part AS SELECT 'p' || i AS part, 'p' || (i * 2 + k) AS sub, 1 + (i + k) % 3 AS qty FROM generate_series(1, 120) i, generate_series(0, 1) k;
CREATE TABLE perm USING gpucol AS SELECT 'r' || i AS role, 'r' || (i * 7 % 83) AS member, i % 4 = 0 AS admin FROM generate_series(1, 80) i;
CREATE TABLE flight USING gpucol AS SELECT (chr(65 + i % 13) || 'XX')::char(3) AS orig, (chr(65 + (i * 5 + 1) % 13) || 'XX')::char(3) AS dest,
	timestamp '2024-01-01' + i * interval '3 hours' AS dep, timestamp '2024-01-01' + (i * 3 + 2) * interval '1 hour' AS arr, 50 + i % 17 * 1.5::float8 AS fare FROM generate_series(1, 60) i;
CREATE TABLE cat USING gpucol AS SELECT md5('c' || i)::uuid AS id, CASE WHEN i > 1 THEN md5('c' || i / 4)::uuid END AS parent, 'cat ' || i AS label FROM generate_series(1, 100) i;
CREATE TABLE ev USING gpucol AS SELECT i * 10000000000 AS id, CASE WHEN i % 17 <> 0 THEN (i - 1) * 10000000000 END AS prev, timestamptz '2023-05-01 UTC' + i * interval '7 minutes' AS at,
	i % 11 AS amount FROM generate_series(1, 200) i;
CREATE VIEW road AS SELECT src, dst, w FROM edge WHERE kind = 'road';
CREATE VIEW act AS SELECT e.src, e.dst, n.grp FROM edge e JOIN node n ON n.id = e.dst WHERE e.active;
ANALYZE;

SELECT count(*), count(answer), string_agg(answer, E'\n') FROM (SELECT differ(query) AS answer FROM (VALUES
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r, edge e WHERE e.src = r.n AND e.active) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.n WHERE e.kind = ''road'' OR e.kind IS NULL) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.n JOIN node x ON x.id = e.dst WHERE x.grp <> 3) SELECT * FROM r'),
	('WITH RECURSIVE r(n, d) AS (SELECT 1, 0 UNION SELECT e.dst, r.d + 1 FROM r JOIN edge e ON e.src = r.n WHERE r.d < 4) SELECT n, min(d) FROM r GROUP BY n'),
	('WITH RECURSIVE r(a, b, c) AS (SELECT src, dst, w FROM edge WHERE w < 4 UNION SELECT r.a, e.dst, r.c + e.w FROM r JOIN edge e ON e.src = r.b WHERE r.c + e.w < 12) SELECT a, b, min(c) FROM r GROUP BY 1, 2'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM road UNION SELECT r.a, v.dst FROM r, road v WHERE v.src = r.b) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM act WHERE grp = 1 UNION SELECT r.a, v.dst FROM r, act v WHERE v.src = r.b AND v.grp IN (1, 2, 5)) SELECT * FROM r'),
	('WITH RECURSIVE r(id, name, depth, path) AS (SELECT id, name, 0, name FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, e.name, r.depth + 1, r.path || ''/'' || e.name FROM r JOIN emp e ON e.boss = r.id) SELECT * FROM r'),
	('WITH RECURSIVE r(id, depth, path) AS (SELECT id, 0, ARRAY[id] FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, r.depth + 1, r.path || e.id FROM r JOIN emp e ON e.boss = r.id) SELECT * FROM r'),
	('WITH RECURSIVE r(id, boss, lvl) AS (SELECT id, boss, 1 FROM emp WHERE id = 250 UNION ALL SELECT e.id, e.boss, r.lvl + 1 FROM emp e, r WHERE e.id = r.boss) SELECT * FROM r'),
	('WITH RECURSIVE r(root, id, salary) AS (SELECT id, id, salary FROM emp UNION ALL SELECT r.root, e.id, e.salary FROM r JOIN emp e ON e.boss = r.id) SELECT root, count(*), sum(salary), avg(salary) FROM r GROUP BY root'),
	('WITH RECURSIVE r(part, sub, qty) AS (SELECT part, sub, qty FROM part WHERE part = ''p1'' UNION ALL SELECT p.part, p.sub, r.qty * p.qty FROM r JOIN part p ON p.part = r.sub) SELECT sub, sum(qty) FROM r GROUP BY sub'),
	('WITH RECURSIVE r(part, qty) AS (SELECT ''p1''::text, 1::bigint UNION ALL SELECT p.sub, r.qty * p.qty FROM r JOIN part p ON p.part = r.part) SELECT * FROM r'),
	('WITH RECURSIVE r(role) AS (SELECT ''r5'' UNION SELECT p.member FROM r JOIN perm p ON p.role = r.role) SELECT * FROM r'),
	('WITH RECURSIVE r(role, admin) AS (SELECT ''r5''::text, TRUE UNION SELECT p.member, r.admin AND p.admin FROM r JOIN perm p ON p.role = r.role) SELECT * FROM r'),
	('WITH RECURSIVE r(top, role) AS (SELECT role, member FROM perm WHERE admin UNION SELECT r.top, p.member FROM r JOIN perm p ON p.role = r.role WHERE NOT EXISTS (SELECT 1 FROM perm q WHERE q.role = p.member AND q.admin)) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT sum(n), count(*) FROM r'),
	('WITH RECURSIVE f(a, b) AS (SELECT 0::numeric, 1::numeric UNION ALL SELECT b, a + b FROM f WHERE b < 1e40) SELECT a FROM f'),
	('WITH RECURSIVE f(n, a, b) AS (SELECT 1, 0::bigint, 1::bigint UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 80) SELECT * FROM f'),
	('WITH RECURSIVE d(x) AS (SELECT date ''2024-01-01'' UNION ALL SELECT x + 1 FROM d WHERE x < date ''2024-03-01'') SELECT x, extract(dow FROM x) FROM d'),
	('WITH RECURSIVE d(x) AS (SELECT date ''2024-01-31'' UNION ALL SELECT (x + INTERVAL ''1 month'')::date FROM d WHERE x < date ''2025-06-01'') SELECT * FROM d'),
	('WITH RECURSIVE t(x) AS (SELECT TIMESTAMP ''2024-01-01'' UNION ALL SELECT x + INTERVAL ''90 minutes'' FROM t WHERE x < TIMESTAMP ''2024-01-03'') SELECT * FROM t'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM edge UNION ALL SELECT r.a, e.dst FROM r JOIN edge e ON e.src = r.b) CYCLE b SET is_cycle USING path SELECT a, b, is_cycle FROM r WHERE a = 7 LIMIT 0'),
	('WITH RECURSIVE r(n) AS (VALUES (1), (5) UNION SELECT e.dst FROM r, edge e WHERE e.src = r.n AND e.w > 5) SELECT * FROM r'),
	('WITH RECURSIVE s(n) AS (SELECT id FROM node WHERE grp = 2), r(n) AS (SELECT n FROM s UNION SELECT e.dst FROM r, edge e WHERE e.src = r.n AND e.dst IN (SELECT id FROM node WHERE pop > 20000)) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT x.dst FROM r JOIN (SELECT src, dst, count(*) c FROM edge GROUP BY 1, 2) x ON x.src = r.n WHERE x.c >= 1) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.n WHERE e.w = (SELECT max(w) FROM edge q WHERE q.src = e.src)) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.n WHERE e.w > (SELECT avg(w) FROM edge)) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT DISTINCT e.dst FROM r JOIN edge e ON e.src = r.n) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT DISTINCT src FROM edge WHERE w = 9 UNION SELECT e.dst FROM r JOIN edge e ON e.src = r.n AND e.w >= 9) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src::bigint, dst::bigint FROM edge WHERE w > 7 UNION SELECT r.a, e.dst FROM r JOIN edge e ON e.src = r.b AND e.w > 7) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src::smallint, dst FROM edge WHERE w > 7 UNION SELECT r.a, e.dst FROM r JOIN edge e ON e.src = r.b WHERE e.w > 7) SELECT * FROM r'),
	('WITH RECURSIVE r(o, d, arr, fare) AS (SELECT orig, dest, arr, fare FROM flight WHERE orig = ''AXX'' UNION ALL SELECT r.o, f.dest, f.arr, r.fare + f.fare FROM r JOIN flight f ON f.orig = r.d AND f.dep > r.arr AND f.dep < r.arr + INTERVAL ''20 hours'') SELECT * FROM r'),
	('WITH RECURSIVE r(o, d, stops, via) AS (SELECT orig, dest, 0, orig::text FROM flight WHERE orig = ''BXX'' UNION ALL SELECT r.o, f.dest, r.stops + 1, r.via || ''>'' || f.orig FROM r JOIN flight f ON f.orig = r.d WHERE r.stops < 2 AND position(f.dest IN r.via) = 0) SELECT * FROM r'),
	('WITH RECURSIVE r(id, label, depth) AS (SELECT id, label, 0 FROM cat WHERE parent IS NULL UNION ALL SELECT c.id, repeat('' '', r.depth) || c.label, r.depth + 1 FROM r JOIN cat c ON c.parent = r.id) SELECT * FROM r'),
	('WITH RECURSIVE r(id, chain) AS (SELECT id, label FROM cat WHERE id = md5(''c77'')::uuid UNION ALL SELECT p.id, p.label || '' > '' || r.chain FROM r JOIN cat c ON c.id = r.id JOIN cat p ON p.id = c.parent) SELECT * FROM r'),
	('WITH RECURSIVE r(id, at, total) AS (SELECT id, at, amount::bigint FROM ev WHERE prev IS NULL UNION ALL SELECT e.id, e.at, r.total + e.amount FROM r JOIN ev e ON e.prev = r.id) SELECT * FROM r'),
	('WITH RECURSIVE r(id, gap) AS (SELECT id, INTERVAL ''0'' FROM ev WHERE prev IS NULL UNION ALL SELECT e.id, e.at - p.at FROM r JOIN ev e ON e.prev = r.id JOIN ev p ON p.id = e.prev) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM edge WHERE w > 8 UNION SELECT e.src, r.b FROM edge e, r WHERE e.dst = r.a AND e.w > 8) SELECT r.a, n.name, count(*) FROM r JOIN node n ON n.id = r.b GROUP BY 1, 2'),
	('WITH RECURSIVE r(n, name) AS (SELECT id, name FROM node WHERE id = 3 UNION SELECT x.id, x.name FROM r, edge e, node x WHERE e.src = r.n AND x.id = e.dst AND x.name LIKE ''n1%'') SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT CASE WHEN e.src = r.n THEN e.dst ELSE e.src END FROM r, edge e WHERE r.n IN (e.src, e.dst) AND e.kind = ''rail'') SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT CASE WHEN e.src = r.n THEN e.dst ELSE e.src END FROM r JOIN edge e ON (e.src = r.n OR e.dst = r.n) AND e.w > 8) SELECT * FROM r'),
	('WITH RECURSIVE r(n, d) AS (SELECT 1, 0 UNION ALL SELECT u.b, r.d + 1 FROM r, (SELECT src a, dst b FROM edge WHERE w > 7 UNION SELECT dst, src FROM edge WHERE w > 7) u WHERE u.a = r.n AND r.d < 4) SELECT n, d, count(*) FROM r GROUP BY n, d'),
	('WITH RECURSIVE r(n, since) AS (SELECT 1, date ''2020-01-01'' UNION SELECT e.dst, e.since FROM r JOIN edge e ON e.src = r.n AND e.since >= r.since) SELECT * FROM r'),
	('WITH RECURSIVE r(n, last) AS (SELECT 1, ''2020-01-01''::date UNION SELECT e.dst, greatest(e.since, r.last) FROM r JOIN edge e ON e.src = r.n WHERE e.w > 4) SELECT * FROM r'),
	('WITH RECURSIVE r(n, kinds) AS (SELECT 1, ''''::text UNION SELECT e.dst, CASE WHEN position(LEFT(coalesce(e.kind, ''?''), 1) IN r.kinds) > 0 THEN r.kinds ELSE r.kinds || LEFT(coalesce(e.kind, ''?''), 1) END FROM r JOIN edge e ON e.src = r.n WHERE e.w > 5) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r LEFT JOIN edge e ON e.src = r.n AND e.w > 6 WHERE e.dst IS NOT NULL) SELECT * FROM r'),
	('WITH RECURSIVE r(n, x) AS (SELECT 1, NULL::int UNION SELECT e.dst, e.w FROM r LEFT JOIN edge e ON e.src = r.n AND e.w > 6) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r, LATERAL (SELECT dst FROM edge q WHERE q.src = r.n AND q.w > 3) e) SELECT * FROM r'),
	('WITH RECURSIVE r(n, s) AS (SELECT 1, 1 UNION ALL SELECT r.n + 1, r.s * 2 % 1000003 FROM r WHERE r.n < 200) SELECT * FROM r WHERE n % 10 = 0'),
	('WITH RECURSIVE r(s) AS (SELECT ''abc'' || ''''  UNION ALL SELECT substr(s, 2) FROM r WHERE length(s) > 0) SELECT * FROM r'),
	('WITH RECURSIVE r(id, tags) AS (SELECT id, to_jsonb(name) FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, r.tags || to_jsonb(e.name) FROM r JOIN emp e ON e.boss = r.id) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + g FROM r, generate_series(1, 2) g WHERE n < 15) SELECT n, count(*) FROM r GROUP BY n'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM edge WHERE w > 7 UNION SELECT r.a, e.dst FROM r JOIN edge e ON e.src = r.b AND e.w > 7 WHERE NOT EXISTS (SELECT FROM edge z WHERE z.src = r.a AND z.dst = e.dst)) SELECT * FROM r'),
	('WITH RECURSIVE r(n, c) AS (SELECT src, count(*) FROM edge WHERE w > 5 GROUP BY src UNION SELECT e.dst, r.c FROM r JOIN edge e ON e.src = r.n WHERE e.w > 8) SELECT * FROM r'),
	('WITH RECURSIVE r(id, dept, mgrs) AS (SELECT id, dept, 0 FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, e.dept, r.mgrs + (e.dept IS DISTINCT FROM r.dept)::int FROM r JOIN emp e ON e.boss = r.id) SELECT dept, mgrs, count(*) FROM r GROUP BY GROUPING SETS ((dept), (mgrs))'),
	('WITH RECURSIVE r(n, total) AS (SELECT 1, 0::float8 UNION ALL SELECT e.dst, r.total + e.cost::float8 / 2 FROM r JOIN edge e ON e.src = r.n WHERE r.total + e.cost::float8 / 2 < 40) SELECT * FROM r'),
	('WITH RECURSIVE r(x, y) AS (SELECT id, boss FROM emp WHERE dept = ''dev'' UNION SELECT r.x, e.boss FROM r JOIN emp e ON e.id = r.y WHERE e.boss IS NOT NULL) SELECT x, max(y), min(y) FROM r GROUP BY x HAVING count(*) > 2'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r NATURAL JOIN (SELECT src AS n, dst, w FROM edge) e WHERE w BETWEEN 3 AND 6) SELECT * FROM r ORDER BY n desc LIMIT 5'),
	('WITH RECURSIVE r(id, n) AS (SELECT id, 1 FROM node WHERE name SIMILAR TO ''n(1|2)'' UNION ALL SELECT e.dst, r.n + 1 FROM r JOIN (SELECT src AS id, dst FROM edge) e USING (id) WHERE r.n < 3) SELECT * FROM r'),
	('WITH RECURSIVE r(a, t, c) AS (SELECT 1::bigint, ''x''::text, 0::numeric UNION ALL SELECT 5, ''y''::varchar(10), r.c + 1 FROM r WHERE r.c < 7) SELECT * FROM r'),
	('WITH RECURSIVE r(n, d) AS (SELECT 1::bigint, 0::bigint UNION SELECT e.dst, r.d + 1 FROM r JOIN edge e ON e.src = r.n WHERE r.d < 3) SELECT n, min(d) FROM r GROUP BY 1'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 2 UNION SELECT e.dst FROM r, edge e WHERE e.src = r.n AND e.w > 6) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS ((SELECT src FROM edge ORDER BY w desc, src LIMIT 3) UNION SELECT e.dst FROM r, edge e WHERE e.src = r.n AND e.w > 6) SELECT * FROM r'),
	('WITH RECURSIVE base AS (SELECT src, dst FROM edge WHERE w > 6), r(n) AS (SELECT 1 UNION SELECT b.dst FROM r JOIN base b ON b.src = r.n) SELECT n FROM r UNION ALL SELECT dst FROM base'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT dst FROM (WITH z AS (SELECT src, dst FROM edge WHERE w > 5) SELECT * FROM z) q JOIN r ON r.n = q.src) SELECT * FROM r'),
	('WITH RECURSIVE r(n, g) AS (SELECT 1, NULL::smallint UNION SELECT e.dst, x.grp FROM r JOIN edge e ON e.src = r.n LEFT JOIN node x ON x.id = e.dst AND x.grp > 2 WHERE e.w > 3) SELECT * FROM r'),
	('WITH RECURSIVE r(n, k) AS (SELECT 1, ''root''::text UNION SELECT e.dst, coalesce(e.kind, ''none'') FROM r JOIN edge e ON e.src = r.n AND e.kind IS NOT DISTINCT FROM ''air'') SELECT * FROM r'),
	('WITH RECURSIVE r(n, d) AS (SELECT 1, 0 UNION SELECT e.dst, d + 1 FROM r JOIN edge e ON e.src = r.n WHERE d < 3 AND e.kind LIKE ''r%'' AND e.since BETWEEN date ''2020-06-01'' AND date ''2023-06-01'') SELECT * FROM r'),
	('WITH RECURSIVE r(n, total) AS (SELECT 1, 0::bigint UNION ALL SELECT e.dst, r.total + e.w * 10 FROM r JOIN edge e ON e.src = r.n WHERE r.total + e.w * 10 < 90 AND NOT e.dst = ANY (ARRAY[5, 6, 7])) SELECT n, min(total) FROM r GROUP BY n ORDER BY 2, 1'),
	('WITH RECURSIVE r(id, boss, level) AS (SELECT id, boss, 0 FROM emp WHERE name = ''emp1'' UNION ALL SELECT e.id, e.boss, level + 1 FROM emp e INNER JOIN r ON r.id = e.boss AND e.salary > (SELECT avg(salary) / 2 FROM emp)) SELECT r.*, e.dept, rank() OVER (PARTITION BY level ORDER BY e.salary desc, e.id) FROM r JOIN emp e USING (id)'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r CROSS JOIN edge e WHERE e.src = r.n AND (e.w, e.dst) > (3, 20)) SELECT count(*), sum(n), avg(n), min(n), max(n) FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM edge WHERE w = 9 UNION SELECT x.a, y.b FROM r x, (SELECT src a, dst b FROM edge WHERE w = 9) y WHERE x.b = y.a) SELECT a.a, count(*) FROM r a JOIN r b ON a.b = b.a GROUP BY 1'),
	('WITH RECURSIVE r(id, p) AS (SELECT id, 1.0::float8 FROM node WHERE id = 1 UNION ALL SELECT e.dst, r.p * 0.5 FROM r JOIN edge e ON e.src = r.id WHERE r.p > 0.1) SELECT id, sum(p) FROM r GROUP BY id'),
	('WITH RECURSIVE r(id, ids) AS (SELECT id, ARRAY[id] FROM node WHERE id < 3 UNION ALL SELECT e.dst, r.ids || e.dst FROM r JOIN edge e ON e.src = r.id WHERE NOT e.dst = ANY (r.ids) AND cardinality(r.ids) < 4) SELECT * FROM r'),
	('WITH RECURSIVE r(id, b) AS (SELECT 1, TRUE UNION SELECT e.dst, r.b AND e.active FROM r JOIN edge e ON e.src = r.id) SELECT b, count(*) FROM r GROUP BY b'),
	('WITH RECURSIVE r(n, t) AS (SELECT 1, ''{}''::jsonb UNION ALL SELECT n + 1, jsonb_set(t, ARRAY[''k'' || n], to_jsonb(n)) FROM r WHERE n < 6) SELECT * FROM r'),
	('WITH RECURSIVE r(d, n) AS (SELECT ''2024-01-31''::TIMESTAMPTZ, 1 UNION ALL SELECT d + INTERVAL ''1 month'', n + 1 FROM r WHERE n < 20) SELECT to_char(d, ''YYYY-MM-DD''), n FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT e.dst FROM edge e WHERE e.src = 3 UNION SELECT e.dst FROM r INNER JOIN edge e ON e.src = r.n INNER JOIN (VALUES (''road''), (''rail'')) k(kind) ON k.kind = e.kind) SELECT * FROM r')) v(query)) a;
-- what is left to PostgreSQL
\i :reason
SELECT reason(query) FROM (VALUES
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT e.dst FROM r, LATERAL (SELECT dst FROM edge q WHERE q.src = r.n ORDER BY w, dst LIMIT 1) e) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION (SELECT e.dst FROM r JOIN edge e ON e.src = r.n WHERE e.w > 2 EXCEPT SELECT 5)) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src::numeric, dst::float8 FROM edge WHERE w > 7 UNION SELECT r.a, e.dst FROM r JOIN edge e ON e.src = r.b::int AND e.w > 7) SELECT * FROM r'),
	('WITH RECURSIVE r(a, b) AS (SELECT src::numeric, since::TIMESTAMP FROM edge WHERE w > 8 UNION SELECT e.dst, e.since FROM r JOIN edge e ON e.src = r.a::int AND e.w > 7) SELECT * FROM r'),
	('WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT u FROM r, edge e, unnest(ARRAY[e.dst, e.src]) u WHERE e.src = r.n AND e.w > 7) SELECT * FROM r')) v(query);

-- rounds of few and of many rows, with nulls, texts and numerics, are put together for groups
CREATE FUNCTION together(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE 'SELECT string_agg(t::text, '';'' ORDER BY t::text) FROM (' || query || ') t' INTO ours;
	SET LOCAL gpucol.enable_recursive = off;
	EXECUTE 'SELECT string_agg(t::text, '';'' ORDER BY t::text) FROM (' || query || ') t' INTO theirs;
	RETURN (ours = theirs) || ' ' || (plan::text ~ 'GpucolAgg') || ' ' || left(ours, 60);
END $$;
SELECT together('WITH RECURSIVE r(n, t, k) AS (SELECT 1, ''a''::text, 1::numeric UNION ALL SELECT n + 1, CASE WHEN n % 3 > 0 THEN left(t || n, 9) END, CASE WHEN n % 5 > 0 THEN (n % 7)::numeric END FROM r WHERE n < 3000) SELECT n % 4 AS g, count(*), count(t), count(k), max(t), sum(k), min(n) FROM r GROUP BY 1');
SELECT together('WITH RECURSIVE r(n, d) AS (SELECT 1, 0 UNION ALL SELECT n * 2 % 1000 + i, d + 1 FROM r, generate_series(0, CASE d WHEN 3 THEN 700 WHEN 5 THEN 1 ELSE 0 END) i WHERE d < 40) SELECT d, count(*), sum(n::numeric) FROM r GROUP BY d');
SELECT together('WITH RECURSIVE r(n) AS (SELECT NULL::int UNION ALL SELECT coalesce(n, 0) + 1 FROM r WHERE n IS NULL OR n < 1024) SELECT n % 1000 AS g, count(*), count(n) FROM r GROUP BY 1');
SELECT together('WITH RECURSIVE r(n, t) AS (SELECT 1, repeat(''x'', 10) UNION ALL SELECT n + 1, repeat(chr(97 + n % 26), 5000) FROM r WHERE n < 1500) SELECT left(t, 1) AS g, count(*), sum(length(t)) FROM r GROUP BY 1');
SELECT d.x, q.* FROM generate_series(1, 3) AS d(x), LATERAL (WITH RECURSIVE r(n) AS (SELECT d.x UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n % 2 AS odd, count(*) FROM r GROUP BY 1) q ORDER BY 1, 2;
DROP FUNCTION together;

SET client_min_messages = warning;
DROP SCHEMA recursive_queries CASCADE;
