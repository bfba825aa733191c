-- Groups of a derived table reach the node above a column at a time, without tuples in between.
CREATE SCHEMA agg_batches;
SET search_path = agg_batches, public;
SET max_parallel_workers_per_gather = 0;
\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set delivered :srcdir /include/delivered.psql
\set ECHO none
\i :include
\i :delivered
\set ECHO all
CREATE TABLE h AS SELECT i AS id, nullif(i % 211, 7) AS k, nullif(i % 7, 2)::smallint AS v, (i * 37 % 100003) % 5000 AS w,
	(nullif((i % 1000), 13) / 4.0)::numeric(9,2) AS m, ((i * 7919 % 1000003) / 1000.0)::numeric(12,3) AS p,
	CASE WHEN i % 11 > 0 THEN ('1e' || i % 6)::numeric / (1 + i % 9) END AS n,
	CASE WHEN i % 17 > 0 THEN (i % 97) * 0.37 - 5 END AS f, ((i % 61) / 3.0)::real AS r,
	date '2020-01-01' + i % 400 AS d, timestamp '2020-01-01' + i % 999 * interval '1 hour' AS s,
	nullif('name ' || i % 23, 'name 3') AS t, ('c' || i % 5)::char(6) AS c, i % 3 = 0 AS b, (i % 50)::bigint << 40 AS l
	FROM generate_series(1, 20000) i;
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g TABLE h;
SELECT gpucol.merge('g') IS NOT NULL AS merged;
INSERT INTO g SELECT id + 40000, k, v, w, m, p, n, f, r, d, s, t, c, b, l FROM h WHERE id <= 300;
DELETE FROM g WHERE id % 101 = 5;
ANALYZE g;

SELECT delivered('SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM g GROUP BY k) q GROUP BY c');
-- HAVING is tested on the states
SELECT delivered('SELECT count(*), sum(a) FROM (SELECT k, t, sum(m) AS a, count(*) AS c FROM g GROUP BY k, t HAVING sum(m) > 500 AND count(*) > 2) q');
-- against what a query says, too
SELECT delivered('SELECT count(*), sum(a) FROM (SELECT k, t, sum(m) AS a FROM g GROUP BY k, t HAVING sum(m) > (SELECT avg(m) * 3 FROM g WHERE k = 3)) q');
-- or is computed of them
SELECT delivered('SELECT count(*), sum(a) FROM (SELECT k, sum(m) AS a FROM g GROUP BY k HAVING sum(m) / count(*) > 100) q');
-- but not where it is no number
SELECT delivered('SELECT count(*), sum(a) FROM (SELECT k, sum(m) AS a FROM g GROUP BY k HAVING max(k::text) > ''1'') q');
-- groups of which columns are computed
SELECT delivered('SELECT count(*), sum(a) FROM (SELECT k, sum(m) / count(*) AS a FROM g GROUP BY k) q');
-- joined, the derived table being looked up in or flowing
SELECT delivered('SELECT q.t, sum(q.a), count(*) FROM (SELECT t, k, sum(m) AS a FROM g GROUP BY t, k) q JOIN (SELECT k, max(d) AS d FROM g GROUP BY k) z ON q.k = z.k GROUP BY q.t');

-- one aggregate after the other, one of them by tuples
SELECT delivered('SELECT x, sum(c) FROM (SELECT k AS x, count(*) AS c FROM g GROUP BY k UNION ALL SELECT w, count(*) FROM g GROUP BY w) u GROUP BY x');
SELECT differ('SELECT x, sum(c) FROM (SELECT k AS x, count(*) AS c FROM g GROUP BY k UNION ALL SELECT w, count(*) FROM g GROUP BY w) u GROUP BY x');
SELECT differ('SELECT x, sum(c) FROM (SELECT k AS x, count(*) AS c FROM g GROUP BY k UNION ALL SELECT v, count(*) FROM g GROUP BY v UNION ALL SELECT w, 1 FROM g GROUP BY w) u GROUP BY x');
SELECT differ('SELECT x, sum(c), max(c), min(c * 3) FROM (SELECT k AS x, sum(m) AS c FROM g GROUP BY k UNION ALL SELECT w, sum(p) FROM g GROUP BY w UNION ALL SELECT v, avg(n) FROM g GROUP BY v) u GROUP BY x');

-- columns of every type, as keys and as results, taken in every way
CREATE FUNCTION random_query(seed int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	keys text[] := '{k,v,w,m,p,n,f,r,d,s,t,c,b,l}';
	aggs text[] := '{count(*),count(m),count(DISTINCT v),sum(v),sum(w),sum(l),sum(m),sum(p),sum(n),sum(f),max(r),avg(w),avg(m),avg(p),avg(n),avg(f),min(m),max(p),min(n),max(f),min(r),max(d),min(s),max(t),min(c),max(l),bool_and(b),stddev(w),var_pop(m),min(v)}';
	draws int[];
	inner_keys text;
	inner_aggs text;
	outer_list text := '';
	tested text := '';
	at text;
BEGIN
	PERFORM setseed(seed / 1000.0);
	draws := ARRAY(SELECT (random() * 1000000)::int FROM generate_series(1, 20));
	inner_keys := keys[1 + draws[1] % 14] || ' AS k0, ' || keys[1 + draws[2] % 14] || ' AS k1';
	inner_aggs := aggs[1 + draws[3] % 30] || ' AS a0, ' || aggs[1 + draws[4] % 30] || ' AS a1, ' || aggs[1 + draws[5] % 30] || ' AS a2, count(*) AS n';
	IF draws[6] % 3 = 0 THEN
		tested := ' HAVING ' || (ARRAY['sum(m) > 100', 'count(*) BETWEEN 2 AND 40', 'sum(w) < (SELECT 1000 * count(DISTINCT v) FROM g)', 'max(p) >= 500.5', 'min(m) <> 3'])[1 + draws[7] % 5];
	END IF;
	FOR i IN 8 .. 9 LOOP
		at := 'a' || draws[i] % 3;
		outer_list := outer_list || ', ' || CASE draws[i + 2] % 4 WHEN 0 THEN 'count(DISTINCT ' || at || ')' WHEN 1 THEN 'count(' || at || ')'
			ELSE 'min(' || at || '::text)' END;
	END LOOP;
	RETURN 'SELECT ' || (ARRAY['k0', 'k1', CASE WHEN inner_aggs ~ '^(avg|stddev|var)' THEN 'k0' ELSE 'a0' END, 'n % 5'])[1 + draws[12] % 4] || ' AS o' || outer_list ||
		', count(*), sum(n), avg(n) FROM (SELECT ' || inner_keys || ', ' || inner_aggs || ' FROM g GROUP BY ' ||
		keys[1 + draws[1] % 14] || ', ' || keys[1 + draws[2] % 14] || tested || ') q' ||
		CASE draws[13] % 3 WHEN 0 THEN ' WHERE a0 IS NOT NULL' WHEN 1 THEN ' WHERE n > 1' ELSE '' END || ' GROUP BY 1';
END $$;
SET gpucol.cpu_threads = 1;
SELECT seed, difference FROM generate_series(1, 40) seed, differ(random_query(seed)) difference
	WHERE difference IS NOT NULL AND difference NOT LIKE '%not pushed down%' AND difference NOT LIKE '%cannot be pushed down%';
SET gpucol.cpu_threads = 4;
SELECT seed, difference FROM generate_series(41, 90) seed, differ(random_query(seed)) difference
	WHERE difference IS NOT NULL AND difference NOT LIKE '%not pushed down%' AND difference NOT LIKE '%cannot be pushed down%';

-- numerics: of one scale, of several, too large, and not finite
SELECT differ('SELECT sum(a), avg(a), min(a), max(a), count(*) FROM (SELECT k, sum(m) AS a FROM g GROUP BY k) q');
SELECT differ('SELECT sum(a), avg(a), min(a), max(a), count(*) FROM (SELECT k, avg(m) AS a FROM g GROUP BY k) q');
SELECT differ('SELECT t, sum(a), min(a), sum(a * 2 + 0.5) FROM (SELECT t, k, sum(n) AS a FROM g GROUP BY t, k) q GROUP BY t');
SELECT differ('SELECT sum(a), max(a) FROM (SELECT k, sum(m * 1000000000000) AS a FROM g GROUP BY k) q');
SELECT differ('SELECT sum(a), max(a), min(z) FROM (SELECT k, CASE WHEN k = 9 THEN ''NaN'' ELSE m END AS z, sum(p) AS a FROM g GROUP BY 1, 2) q');
SELECT differ('SELECT q.k, g.id, q.a FROM g JOIN (SELECT k, avg(p) AS a FROM g GROUP BY k) q ON g.k = q.k AND g.p > 5 * q.a', 'GpucolJoin');
SELECT differ('SELECT g.id FROM g JOIN (SELECT k, sum(m) AS a FROM g GROUP BY k) q ON g.k = q.k AND g.p > 0.2 * q.a', 'GpucolJoin');

-- rows kept in memory and on disk, scanned again, and of no groups
SET work_mem = '64kB';
SELECT differ('SELECT sum(a), count(*), max(z) FROM (SELECT id, t, sum(m) AS a, max(t) AS z FROM g GROUP BY id, t) q WHERE a * 2 > 7');
RESET work_mem;
SELECT differ('SELECT count(*), sum(a), max(a) FROM (SELECT k, sum(m) AS a FROM g WHERE id < 0 GROUP BY k) q');
SELECT differ('SELECT x.i, (SELECT count(*) FROM (SELECT k, count(*) AS c FROM g WHERE v = x.i GROUP BY k) q WHERE c > 10) FROM (SELECT DISTINCT v AS i FROM g) x');
SELECT differ('SELECT count(*), sum(c) FROM (SELECT id, count(*) AS c FROM g GROUP BY id) q');
PREPARE above(numeric) AS SELECT count(*), sum(a) FROM (SELECT k, sum(m) AS a FROM g GROUP BY k HAVING sum(m) > $1) q;
SET plan_cache_mode = force_generic_plan;
EXECUTE above(500);
EXECUTE above(20000);
EXECUTE above(NULL);
RESET plan_cache_mode;
-- an error of a group, and a query in HAVING that no group asks for
SELECT differ('SELECT count(a) FROM (SELECT k, sum(w) * 0 + sum(l) AS a, 1 / (count(*) - count(*)) AS z FROM g GROUP BY k) q WHERE z > 0');
SELECT differ('SELECT count(*) FROM (SELECT k, sum(m) AS a FROM g WHERE id < 0 GROUP BY k HAVING sum(m) > (SELECT 1 / (count(*) - count(*)) FROM g)) q');
-- a cursor
BEGIN;
DECLARE groups CURSOR FOR SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM g GROUP BY k) q GROUP BY c ORDER BY c;
FETCH 2 FROM groups;
FETCH 1 FROM groups;
COMMIT;
-- in parts, as memory wants it
SET gpucol.memory_limit = '4MB';
SELECT differ('SELECT count(*), sum(c), max(t) FROM (SELECT id, t, count(*) AS c FROM g GROUP BY id, t) q');
RESET gpucol.memory_limit;
RESET gpucol.cpu_threads;
SET client_min_messages = warning;
DROP SCHEMA agg_batches CASCADE;
