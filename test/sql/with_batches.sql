-- The rows of a WITH query are kept a column at a time where nodes of ours read them, once for all of its readers.
CREATE SCHEMA with_batches;
SET search_path = with_batches, public;
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
	(nullif((i % 1000), 13) / 4.0)::numeric(9,2) AS m, CASE WHEN i % 11 > 0 THEN ('1e' || i % 6)::numeric / (1 + i % 9) END AS n,
	CASE WHEN i % 17 > 0 THEN (i % 97) * 0.37 - 5 END::float8 AS f, date '2020-01-01' + i % 400 AS d,
	nullif('name ' || i % 23, 'name 3') AS t, i % 3 = 0 AS b, i % 5 * interval '1 hour' AS y
	FROM generate_series(1, 20000) i;
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g TABLE h;
ANALYZE g, h;
\set c 'WITH c AS MATERIALIZED (SELECT w, k, count(*) AS n, sum(m) AS s, avg(n) AS a, max(t) AS t, sum(f) AS f, max(d) AS d, max(y) AS y, bool_or(b) AS b FROM g GROUP BY w, k) '
-- two readers, one run of the plan that they read
SELECT delivered('WITH c AS MATERIALIZED (SELECT w, count(*) AS n, sum(v) AS s FROM g GROUP BY w) SELECT count(*), sum(x.s), sum(z.n) FROM c x JOIN c z ON x.w = z.n + z.w WHERE z.s > 2');
SELECT differ(:'c' || 'SELECT count(*), sum(x.n), sum(z.s), min(x.t), max(z.d), max(x.y), count(*) FILTER (WHERE z.b) FROM c x JOIN c z ON x.w = z.w');
SELECT differ(:'c' || 'SELECT x.k, count(*), sum(x.s), max(x.a), min(z.f), max(z.t) FROM c x JOIN c z USING (w, k) GROUP BY x.k');
-- conditions on the scans, of every kind
SELECT differ(:'c' || 'SELECT x.k, sum(z.n), sum(z.s) FROM c x JOIN c z ON x.w = z.w WHERE x.n > 0 AND x.s > 300 AND z.t LIKE ''name 1%'' AND x.k IS NOT NULL GROUP BY x.k');
SELECT differ(:'c' || 'SELECT x.k, x.a, x.y, z.d FROM c x JOIN c z ON x.w = z.w AND x.k = z.k + 1 WHERE x.a > 2 OR x.y = interval ''4 hours'' OR z.f <> 0');
SELECT differ(:'c' || 'SELECT count(*), sum(s), max(t) FROM c WHERE k = 13 OR b');
SELECT differ(:'c' || 'SELECT count(*), sum(s), max(t) FROM c WHERE k < 0');
-- comparisons with constants, in every order and beside conditions of other kinds, on rows and on groups
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE h2 AS SELECT *, t::varchar(9) AS vt, t::char(9) AS ct, d::timestamp AS ts, t COLLATE folded AS ft FROM h WHERE id % 3 = 0;
CREATE TABLE g2 (LIKE h2) USING gpucol;
INSERT INTO g2 TABLE h2;
ANALYZE g2;
SELECT c, i, r FROM unnest(ARRAY['SELECT w, k, v, count(*) AS n, sum(m) AS s, max(m) AS m, avg(n) AS a, t, vt, ct, ft, sum(f) AS f, max(d) AS d, ts, max(y) AS y, bool_or(b) AS b FROM g2 GROUP BY w, k, v, t, vt, ct, ft, ts',
	'SELECT w, k, v, id AS n, m AS s, m, n AS a, t, vt, ct, ft, f, d, ts, y, b FROM g2 WHERE id > 5']) WITH ORDINALITY w(c, i),
unnest(ARRAY['x.k < 9', 'x.k <= 8', '8 >= x.k', '10 < x.k', 'x.k <> 10', 'x.k = -1', 'x.v = 3', 'x.v::int <> 3', 'x.n > 3000000000', 'x.n <= 2::bigint',
	'x.s > 0', 'x.s >= 300.00', 'x.s < 300.125', 'x.s <> 250', 'x.s = 1e-30', 'x.s < ''NaN''', 'x.s > -1e30', 'x.m = 112.5', 'x.a > 0', 'x.a <> 2', 'x.t = ''name 5''', 'x.t <> ''name 5''', 'x.t < ''name 5''', 'x.t = ''''',
	'x.ft = ''NAME 5''', 'x.ft <> ''NAME 5''', 'x.t COLLATE "C" = ''name 5''', 'x.t = ''NAME 5'' COLLATE folded', 'x.vt = ''name 5''', 'x.ct = ''name 5''', 'x.f > 0', 'x.f <> ''NaN''', 'x.d = ''2020-03-01''', 'x.d < ''infinity''', 'x.d > ''-infinity''', 'x.ts >= ''2020-12-31''',
	'x.d < ''2020-12-31''::timestamp', 'x.y = interval ''1 hour''', 'x.b', 'x.b = true', 'x.k = 5 AND x.v = 3', 'x.k > 100 AND x.s > 100 AND x.t > ''name 3'' AND x.d > ''2020-02-02''', 'x.t LIKE ''%1%'' AND x.k < 100', 'x.k < 100 AND x.t LIKE ''%1%''',
	'x.k < 100 AND 100 / (x.k - 100) < 0', '100 / (x.k - 100) < 0 AND x.k < 100', 'x.k IS NULL', 'x.k IN (1, 5, 9) AND x.n < 3']) q,
differ('WITH c AS MATERIALIZED (' || c || ') SELECT x.k, count(*), sum(x.s), max(x.t), min(z.d), max(z.vt) FROM c x JOIN c z ON x.w = z.w WHERE ' || q || ' GROUP BY x.k') r WHERE r IS NOT NULL;
PREPARE compared(int) AS WITH c AS MATERIALIZED (SELECT w, k, count(*) AS n FROM g GROUP BY w, k) SELECT count(*), sum(x.n) FROM c x JOIN c z ON x.w = z.w WHERE x.k < $1 AND z.k > 100;
SET plan_cache_mode = force_generic_plan;
EXECUTE compared(10);
EXECUTE compared(NULL);
RESET plan_cache_mode;
-- beside scans that PostgreSQL reads, before and after
SELECT differ(:'c' || 'SELECT z.k, z.r, q.c FROM (SELECT k, row_number() OVER (ORDER BY w, k) AS r FROM c WHERE n > 0 ORDER BY w, k LIMIT 40) z JOIN (SELECT x.k, count(*) AS c FROM c x JOIN c y ON x.w = y.w GROUP BY x.k) q ON z.k = q.k');
SELECT differ(:'c' || 'SELECT k, (SELECT count(*) FROM c y WHERE y.w = x.w) AS c, (SELECT max(s) FROM c) AS m FROM c x WHERE t > ''name 4''');
SELECT differ(:'c' || 'SELECT k, w, t FROM c WHERE (k, w) NOT IN (SELECT k, w FROM c WHERE k IS NOT NULL AND n > 1) AND k > 190');
-- of several WITH queries, of windows, and of more than one aggregation
SELECT differ(:'c' || ', d AS MATERIALIZED (SELECT k, sum(n) AS n, max(s) AS s FROM c GROUP BY k) SELECT x.k, x.n, z.s, q.w FROM d x JOIN d z ON x.k = z.k JOIN c q ON q.k = x.k WHERE q.w < 2000');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY id) AS r, sum(m) OVER (PARTITION BY k ORDER BY id) AS s FROM g) SELECT x.k, count(*), sum(z.s - x.s) FROM c x JOIN c z ON x.k = z.k AND x.r = z.r + 1 WHERE x.r < 60 GROUP BY x.k');
SELECT differ('WITH c AS MATERIALIZED (SELECT k AS x, sum(m) AS s FROM g GROUP BY k UNION ALL SELECT w, sum(n) FROM g GROUP BY w) SELECT a.x, count(*), sum(a.s), max(b.s) FROM c a JOIN c b ON a.x = b.x GROUP BY a.x');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, string_agg(t, '','' ORDER BY id) AS s, array_agg(v ORDER BY id) AS a FROM g GROUP BY k) SELECT x.k, x.s, z.a FROM c x JOIN c z ON x.k = z.k');
-- rows of joins and of scans
SELECT delivered('WITH c AS MATERIALIZED (SELECT a.k, a.w, b.m FROM g a JOIN g b ON a.id = b.w WHERE a.v > 1) SELECT count(*), sum(x.m) FROM c x JOIN c z ON x.k = z.k AND x.w < z.w');
SELECT differ('WITH c AS MATERIALIZED (SELECT a.k, a.w, a.t, b.m, b.n, b.y, a.f FROM g a LEFT JOIN g b ON a.id = b.w + 7 WHERE a.v > 1) SELECT x.k, count(*), sum(x.m), max(z.t), max(x.n), min(z.y), max(z.f) FROM c x JOIN c z ON x.k = z.k AND x.w = z.w GROUP BY x.k', 'GpucolJoin');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, w, t, m, n, y, f, b, d FROM g WHERE v > 1) SELECT x.k, count(*), sum(x.m), max(z.t), max(x.n), min(z.y), max(z.f), bool_and(x.b), max(z.d) FROM c x JOIN c z ON x.k = z.k AND x.w = z.w + 1 GROUP BY x.k', 'GpucolScan');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, w, t || ''!'' AS t, m FROM g WHERE v > 1) SELECT x.k, count(*), sum(x.m), max(z.t) FROM c x JOIN c z ON x.k = z.k AND x.w = z.w + 1 GROUP BY x.k', 'GpucolScan');
SELECT differ('SELECT x, count(*), sum(y) FROM (SELECT k AS x, m AS y FROM g WHERE v > 2 UNION ALL SELECT a.w, b.n FROM g a JOIN g b ON a.id = b.w UNION ALL SELECT w, sum(n) FROM g GROUP BY w) u GROUP BY x');
SELECT differ('SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY m DESC NULLS LAST, w, id) FROM (SELECT a.k, b.w, b.m, a.id FROM g a JOIN g b ON a.id = b.w) q', 'GpucolWindow');
SELECT differ('WITH c AS MATERIALIZED (SELECT a.k, a.w, b.m FROM g a JOIN g b ON a.id = b.w ORDER BY b.m, a.id LIMIT 100) SELECT count(*), sum(x.m) FROM c x JOIN c z ON x.k = z.k', 'GpucolJoin');
-- members of a UNION ALL behind a choice of columns, with constants, some of them by tuples
SELECT delivered('SELECT s, count(*), sum(v) FROM (SELECT ''g'' AS s, id, m AS v FROM g WHERE m > 1 UNION ALL SELECT NULL, a.id, b.m FROM g a JOIN g b ON a.id = b.w UNION ALL SELECT t, w, m * 2 FROM g WHERE v = 3) u GROUP BY s');
SELECT differ('SELECT s, count(*), sum(v), max(y) FROM (SELECT ''g'' AS s, id, m AS v, y, d FROM g WHERE m > 1 UNION ALL SELECT NULL, a.id, b.m, b.y, NULL FROM g a JOIN g b ON a.id = b.w UNION ALL SELECT t, w, m * 2, interval ''1 day'', d FROM g WHERE v = 3) u GROUP BY s');
SELECT differ('SELECT k, sum(v), max(e), count(e) FROM (SELECT 1 AS s, k, n AS v, 2.5::float8 AS e FROM g UNION ALL SELECT 2, w, sum(m), NULL FROM g GROUP BY w UNION ALL SELECT 3, k, s, f FROM (SELECT k, sum(m) AS s, max(f) AS f FROM g GROUP BY k) q) u GROUP BY k');
-- groups with constants beside them, of every kind
SELECT delivered('WITH c AS MATERIALIZED (SELECT ''s'' AS kind, k, sum(m) AS s FROM g GROUP BY k UNION ALL SELECT ''t'', w, sum(n) FROM g GROUP BY w) SELECT count(*), sum(a.s), max(b.s) FROM c a JOIN c b ON a.k = b.k WHERE a.kind = ''s'' AND b.kind = ''t''');
SELECT differ('WITH c AS MATERIALIZED (SELECT ''s'' AS kind, 7 AS i, k, -0.50 AS n, ''-0''::float8 AS f, date ''2020-02-29'' AS d, interval ''1 mon'' AS y, NULL::text AS z, true AS b, ''NaN''::numeric AS q, sum(m) AS s FROM g GROUP BY k UNION ALL '
	'SELECT ''a longer text'', NULL, w, 1e30, ''NaN'', ''-infinity'', NULL, ''z'', false, 1.500, sum(m) FROM g GROUP BY w) SELECT a.kind, b.z, a.i, a.k, a.n, b.n AS bn, a.f, b.f AS bf, b.d, a.y, b.b, a.q, b.q AS bq, a.s + b.s AS s FROM c a JOIN c b ON a.k = b.k', 'GpucolAgg');
SELECT differ('SELECT ''s'' AS kind, k, sum(m), 1.50 AS n, NULL AS z FROM g GROUP BY k');
-- run again for each row around it
SELECT differ('SELECT o.v, (WITH c AS MATERIALIZED (SELECT w % 10 AS x, count(*) AS n FROM g WHERE v = o.v GROUP BY w % 10) SELECT sum(a.n * b.n) FROM c a JOIN c b ON a.x = b.x) AS s FROM (SELECT DISTINCT v FROM g) o');
SELECT differ('SELECT o.v, l.s FROM (SELECT DISTINCT v FROM g) o, LATERAL (WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM g GROUP BY k) SELECT sum(a.n + o.v) AS s FROM c a JOIN c b ON a.k = b.k) l');
-- volatile rows are the same for all readers
WITH c AS MATERIALIZED (SELECT w, count(*) + (random() * 1000)::int AS n FROM g GROUP BY w)
SELECT count(*) AS unlike FROM c x JOIN c z ON x.w = z.w WHERE x.n <> z.n;
-- beyond work_mem, and on disk
SET work_mem = '64kB';
SELECT differ(:'c' || 'SELECT x.k, count(*), sum(x.s), max(x.a), max(z.t) FROM c x JOIN c z USING (w, k) GROUP BY x.k');
SET gpucol.memory_limit = '1MB';
SELECT differ(:'c' || 'SELECT x.k, count(*), sum(x.s), max(x.a), max(z.t) FROM c x JOIN c z USING (w, k) GROUP BY x.k');
RESET gpucol.memory_limit;
RESET work_mem;
-- an error while rows are kept, in a subtransaction; the same statement after it
SET work_mem = '64kB';
SET gpucol.memory_limit = '1MB';
DO $$
DECLARE n bigint;
BEGIN
	FOR i IN 0 .. 1 LOOP
		BEGIN
			EXECUTE format('WITH c AS MATERIALIZED (SELECT w, k, max(t) AS t, count(*) AS n FROM g GROUP BY w, k) SELECT count(*) FROM c x JOIN c z USING (w, k) WHERE x.n / (%s - coalesce(z.k, 0)) > 0', CASE i WHEN 0 THEN 200 ELSE 900 END) INTO n;
			RAISE NOTICE '% rows', n;
		EXCEPTION WHEN division_by_zero THEN RAISE NOTICE '%', SQLERRM;
		END;
	END LOOP;
END $$;
RESET work_mem;
RESET gpucol.memory_limit;
-- a cursor that is closed early, and one that outlives its transaction
BEGIN;
DECLARE early CURSOR FOR WITH c AS MATERIALIZED (SELECT w, count(*) AS n FROM g GROUP BY w) SELECT x.w FROM c x JOIN c z ON x.w = z.w ORDER BY x.w;
FETCH 2 FROM early;
CLOSE early;
DECLARE late CURSOR WITH HOLD FOR WITH c AS MATERIALIZED (SELECT w, count(*) AS n FROM g GROUP BY w) SELECT x.w, z.n FROM c x JOIN c z ON x.w = z.w ORDER BY x.w;
COMMIT;
FETCH 2 FROM late;
CLOSE late;
-- prepared, with parameters
PREPARE shared(int, text) AS WITH c AS MATERIALIZED (SELECT w, max(t) AS t, count(*) AS n FROM g WHERE id > $1 GROUP BY w)
	SELECT count(*), sum(x.n) FROM c x JOIN c z ON x.w = z.w WHERE z.t > $2;
EXECUTE shared(100, 'name 2');
SET plan_cache_mode = force_generic_plan;
EXECUTE shared(100, 'name 2');
EXECUTE shared(19000, 'name 5');
RESET plan_cache_mode;
-- conditions in a Subquery Scan above an aggregation are tested on its batches, too
SELECT differ('SELECT k, sum(s), count(*) FROM (SELECT k, w, sum(m) AS s, max(t) AS t FROM g GROUP BY k, w OFFSET 0) q WHERE s::text LIKE ''1%'' AND t > ''name 15'' GROUP BY k');
DROP SCHEMA with_batches CASCADE;
