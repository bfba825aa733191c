-- Columns that scans, joins, and the nodes above them compute are computed in batches where the node above takes these:
-- the answers and errors are PostgreSQL's own.
CREATE SCHEMA batch_computed;
SET search_path = batch_computed, public;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';
SET datestyle = 'ISO';
\set node Gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TABLE h AS SELECT i AS id, nullif(i % 211, 7) AS k, nullif(i % 7, 2)::smallint AS v, (i * 37 % 100003) % 5000 AS w,
	CASE i % 50 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 THEN NULL ELSE i::bigint << 20 END AS l,
	(nullif((i % 1000), 13) / 4.0)::numeric(9,2) AS m, ((i * 7919 % 10007) / 8.0 - 600)::numeric(12,3) AS p,
	CASE WHEN i % 400 = 399 THEN 'NaN' WHEN i % 11 > 0 THEN round(i * 0.3721, i % 4) END AS n,
	CASE i % 97 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-0' WHEN 3 THEN NULL ELSE (i % 97) * 0.37 - 5 END::float8 AS f,
	((i % 61) / 4.0)::real AS r, CASE WHEN i % 301 = 300 THEN 'infinity' ELSE date '2020-01-01' + i % 400 END AS d,
	timestamp '2019-12-31 22:00' + i % 9999 * interval '37 minutes' AS s, timestamptz '2020-03-28 22:00' + i % 500 * interval '11 minutes' AS z,
	nullif('Name ' || i % 23, 'Name 3') AS t, ('c' || i % 5)::char(6) AS c, i % 3 = 0 AS b, i % 5 * interval '1 day 2 hours' AS y,
	md5((i % 77)::text)::uuid AS u, jsonb_build_object('a', i % 9) AS j, ARRAY[i % 4, NULL, i % 6] AS a
	FROM generate_series(1, 6000) i;
ALTER TABLE h ALTER m TYPE numeric(9,2), ALTER p TYPE numeric(12,3);
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g TABLE h;
SELECT gpucol.merge('g') IS NOT NULL AS merged;
DELETE FROM g WHERE id % 101 = 5;
INSERT INTO g SELECT id + 40000, k, v, w, l, m, p, n, f, r, d, s, z, t, c, b, y, u, j, a FROM h WHERE id <= 300;
CREATE TABLE e (LIKE h) USING gpucol;
CREATE TABLE dim USING gpucol AS SELECT i AS k, i % 9 AS kind, 'kind ' || i % 9 AS label, (i * 1.5)::numeric(6,2) AS q FROM generate_series(0, 150) i;
CREATE TABLE long_g USING gpucol AS SELECT i AS id, i % 11 AS k, i % 7 AS v, i * 7919 % 100003 AS w, 'Name ' || i % 23 AS t FROM generate_series(1, 150000) i;
ANALYZE g, e, dim, long_g;

-- who computes which columns, as EXPLAIN ANALYZE says
CREATE FUNCTION shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ '(Custom Scan|Subquery Scan|Append|Result|CTE Scan|Computed|Evaluated|Delivered|Fallback)' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^ *(-> *)?', ''), '(rows=\d+)\.00 ', '\1 ');
		END IF;
	END LOOP;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
END $$;
-- by a scan and by a join below a window, of a WITH query, and of a union; nodes in between
SELECT shown('SELECT id, row_number() OVER (PARTITION BY date_trunc(''month'', s) ORDER BY m * v DESC, upper(t), id) FROM g');
SELECT shown('SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY g.k % 10 ORDER BY g.m * dim.q, label || t) AS r FROM g JOIN dim USING (k)) q');
SELECT shown('WITH c AS MATERIALIZED (SELECT id, k, m * 1.19 AS x, extract(dow FROM d) AS o FROM g WHERE d < ''infinity'') SELECT count(*), sum(a.x), max(b.o) FROM c a JOIN c b USING (id, k)');
SELECT shown('SELECT x, row_number() OVER (PARTITION BY x ORDER BY y) FROM (SELECT v + 1 AS x, f * 2 AS y FROM g UNION ALL SELECT length(t), abs(f) FROM g) u');
SELECT shown('SELECT id, rank() OVER (ORDER BY x - 1, id) FROM (SELECT id, v AS x FROM g UNION ALL SELECT k, kind FROM dim) u');
SELECT shown('SELECT count(*), max(x) FROM (SELECT id, x, rank() OVER (ORDER BY x) FROM (SELECT id, s - l AS x FROM (SELECT id, s, lag(s) OVER (ORDER BY id) AS l FROM g) i OFFSET 0) o) q');
-- not where that is volatile, or a query
SELECT shown('SELECT id, rank() OVER (ORDER BY m * random()) FROM g');
SELECT shown('SELECT id, rank() OVER (ORDER BY m * (SELECT count(*) FROM dim WHERE dim.k = g.k)) FROM g');

-- expressions of every kind, by what is above; who computes them
CREATE TABLE exprs (x text);
INSERT INTO exprs VALUES ('v + 1'), ('-v'), ('w * w'), ('w / 7 % 5'), ('l / 3'), ('m * v'), ('m * p'), ('m * m * p * p'), ('p - m'), ('-p'), ('m / 3'), ('round(m / 7, 2)'), ('round(p, -1)'), ('trunc(p)'), ('n + 1'), ('n * m'),
	('abs(n)'), ('m::numeric(5,1)'), ('m::int'), ('w::numeric'), ('w * 0.1'), ('f * 2 - r'), ('-f'), ('f / 3'), ('r * r'), ('f::real'), ('sqrt(r)'), ('floor(f)'), ('w::float8 / 3'), ('m::float8'),
	('d + 1'), ('CASE WHEN d < ''infinity'' THEN d - date ''2020-01-01'' END'), ('date_trunc(''month'', s)'), ('date_trunc(''week'', z)'), ('date_trunc(''quarter'', d)'), ('s::date'), ('z::date'), ('z::time'), ('extract(epoch FROM s)'), ('extract(dow FROM d)'),
	('date_part(''hour'', z)'), ('to_char(s, ''YYYY-MM'')'), ('s + y'), ('s - interval ''3 days'''), ('s - timestamp ''2020-01-01'''), ('y * 2'), ('age(s)'), ('upper(t)'), ('t || ''!'''), ('t || c'), ('substr(t, 2, 3)'),
	('length(t)'), ('split_part(t, '' '', 2)'), ('t::char(4)'), ('c::text'), ('t LIKE ''%1%'''), ('t < c'), ('concat(t, v, b)'), ('b AND v > 2'), ('NOT b'), ('v IS NULL'), ('k IS DISTINCT FROM v'),
	('CASE WHEN v > 2 THEN m WHEN b THEN p END'), ('CASE v WHEN 1 THEN ''one'' WHEN 2 THEN t ELSE c::text END'), ('CASE WHEN v <> 0 THEN w / v END'), ('coalesce(k, v, 0)'), ('coalesce(t, ''none'')'), ('coalesce(m, 0)'),
	('nullif(v, 3)'), ('greatest(v, k)'), ('least(f, r)'), ('v::text'), ('m::text'), ('u::text'), ('j->>''a'''), ('j->''a'''), ('a[1] + 1'), ('a || v::int'), ('cardinality(a)'), ('v = ANY (a)'), ('CASE WHEN f < ''NaN'' THEN width_bucket(f, 0, 10, 5) END'),
	('now() - now() + y'), ('(v, k) < (k, v)'), ('hashint4(w) % 5'), ('NULL::text'), ('7'), ('ln(r + 1)'), ('w # 5'), ('w & 12'), ('md5(t)'), ('bit_length(t)'), ('row_to_json(row(v))::text'), ('lower(label)');
CREATE FUNCTION by(query text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(DISTINCT CASE WHEN line ~ '^Computed' THEN 'engine' ELSE 'PostgreSQL' END, ', '), 'nobody') FROM shown(query) line WHERE line ~ '^(Computed|Evaluated)'
$$;
SELECT x, by(format('WITH c AS MATERIALIZED (SELECT id, k, %s AS x FROM g) SELECT count(*), count(a.x) FROM c a JOIN c b USING (id, k)', x)) FROM exprs WHERE x !~ 'label';
SELECT x, bad FROM exprs, differ(format('SELECT id, rank() OVER (PARTITION BY v ORDER BY %s) FROM g WHERE w < 1500', x), 'GpucolWindow') bad WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('WITH c AS MATERIALIZED (SELECT id, k, %s AS x FROM g WHERE w < 1500) SELECT k, count(*), min(a.x::text), max(b.x::text), count(DISTINCT b.x) FROM c a JOIN c b USING (id, k) GROUP BY k', x), 'GpucolScan') bad WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('SELECT id, x::text, dense_rank() OVER (ORDER BY x::text) FROM (SELECT id, %1$s AS x FROM g WHERE w < 1000 UNION ALL SELECT w, %1$s FROM g WHERE b AND w < 1500) q', x), 'GpucolWindow') bad WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('SELECT id, x::text, count(*) OVER (PARTITION BY x::text) FROM (SELECT id, %s AS x FROM (SELECT *, lag(v) OVER (ORDER BY id) AS o FROM g WHERE w < 1500) i WHERE o > 1) q', x), 'GpucolWindow') bad WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('SELECT id, dense_rank() OVER (PARTITION BY kind ORDER BY %s) FROM (SELECT g.*, kind, label FROM g JOIN dim USING (k) WHERE w < 1500) q', x), 'GpucolWindow') bad WHERE bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('WITH c AS MATERIALIZED (SELECT id, kind, %s AS x FROM (SELECT g.*, kind, label FROM g LEFT JOIN dim USING (k) WHERE w < 1500) q) SELECT a.kind, count(*), min(a.x::text), max(b.x::text) FROM c a JOIN c b USING (id) GROUP BY a.kind', x), 'GpucolJoin') bad WHERE bad IS NOT NULL;
-- arguments of window functions
SELECT shown('SELECT id, sum(m * v) OVER (PARTITION BY k ORDER BY id), count(*) FILTER (WHERE p > m) OVER (), max(upper(t)) FILTER (WHERE b) OVER (PARTITION BY v) FROM g');
SELECT x, bad FROM exprs, differ(format('SELECT id, max((%1$s)::text) OVER (PARTITION BY k ORDER BY id), count(%1$s) FILTER (WHERE v > 2) OVER (PARTITION BY w ORDER BY id) FROM g WHERE w < 1500', x), 'GpucolWindow') bad
WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM unnest(ARRAY['v + 1', 'w * w', 'l / 3', 'm * v', 'm / 3', 'n * m', 'f * 2', 'r * r', 'y * 2', 'coalesce(m, 0)']) x, differ(format('SELECT id, sum(%1$s) OVER (PARTITION BY k ORDER BY id), avg(%1$s) FILTER (WHERE m > p) OVER (PARTITION BY v) FROM g', x), 'GpucolWindow') bad
WHERE bad IS NOT NULL;
SELECT differ('SELECT k, sum(s * 2) OVER (ORDER BY k), lag(s + 1) OVER (ORDER BY k), max(upper(t)) OVER (ORDER BY k) FROM (SELECT k, sum(m) AS s, max(t) AS t FROM g GROUP BY k) q', 'GpucolWindow');
SELECT differ('SELECT o.k, l.s FROM dim o, LATERAL (SELECT max(r) AS s FROM (SELECT sum(m * o.kind) OVER (ORDER BY id) AS r FROM g WHERE g.k = o.k) q) l');
-- of which few rows of each partition are wanted
SELECT bad FROM (VALUES ('row_number'), ('rank'), ('dense_rank')) f(f), differ(format('SELECT * FROM (SELECT id, %s() OVER p AS r, sum(v * 2) OVER p AS s, max(upper(t)) OVER p AS x, count(*) FILTER (WHERE v > 2) OVER p AS c '
	'FROM long_g WINDOW p AS (PARTITION BY k ORDER BY w DESC, id)) q WHERE r <= 2', f), 'GpucolWindow') bad WHERE bad IS NOT NULL;
SET work_mem = '64kB';
SELECT differ('SELECT id, sum(m * v) OVER (PARTITION BY k ORDER BY id), max(t || c) OVER (PARTITION BY k ORDER BY id) FROM g', 'GpucolWindow');
SET gpucol.memory_limit = '1MB';
SELECT differ('SELECT id, sum(m * v) OVER (PARTITION BY k ORDER BY id), max(t || c) OVER (PARTITION BY k ORDER BY id) FROM g', 'GpucolWindow');
RESET gpucol.memory_limit;
RESET work_mem;
-- no row
SELECT x, bad FROM exprs, differ(format('SELECT id, rank() OVER (ORDER BY %s) FROM e', x), 'GpucolWindow') bad WHERE x !~ 'label' AND bad IS NOT NULL;
SELECT x, bad FROM exprs, differ(format('WITH c AS MATERIALIZED (SELECT id, %s AS x FROM g WHERE w < 0) SELECT count(*), count(a.x) FROM c a JOIN c b USING (id)', x), 'GpucolScan') bad WHERE x !~ 'label' AND bad IS NOT NULL;

-- what a query raises, or how many rows it has, as pushdown is forbidden and required
CREATE FUNCTION fails(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mode text; said text; first text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['forbid', 'require'] LOOP
		BEGIN
			PERFORM set_config('gpucol.pushdown', mode, true);
			EXECUTE format('SELECT count(q) FROM (%s OFFSET 0) q', query) INTO said;
		EXCEPTION WHEN OTHERS THEN said := SQLSTATE || ' ' || SQLERRM;
		END;
		first := coalesce(first, said);
	END LOOP;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	RETURN CASE WHEN first = said THEN said ELSE first || ' but ' || said END;
END $$;
-- groups and windows whose rows are computed with further, behind conditions and before
SELECT differ('SELECT k, x, rank() OVER (ORDER BY x DESC, k) FROM (SELECT k, s * 1.1 + n AS x FROM (SELECT k, w, sum(m) AS s, count(*) AS n FROM g GROUP BY k, w) i OFFSET 0) q', 'GpucolWindow');
SELECT differ('SELECT k, x, rank() OVER (ORDER BY x DESC, k) FROM (SELECT k, n / (s - 3) AS x FROM (SELECT k, sum(v) AS s, count(*) AS n FROM g GROUP BY k) i WHERE s <> 3 OFFSET 0) q', 'GpucolWindow');
SELECT differ('SELECT o, sum(x), max(y) FROM (SELECT id % 10 AS o, x, upper(t) AS y FROM (SELECT id, t, x * 2 AS x FROM (SELECT id, t, sum(v) OVER (PARTITION BY k ORDER BY id) AS x FROM g) i WHERE x > 5 OFFSET 0) q WHERE x > 16 OFFSET 0) z GROUP BY o');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, m, v, t FROM g WHERE w > 300) SELECT a.x, count(*), sum(b.y) FROM (SELECT k % 20 AS x, m + 1 AS y FROM c WHERE v > 3 OFFSET 0) a JOIN (SELECT k AS x, m * v AS y FROM c WHERE t > ''Name 2'' OFFSET 0) b USING (x) GROUP BY a.x');
SELECT differ('SELECT id, rank() OVER (ORDER BY x * 2 - 1, id), count(*) OVER (PARTITION BY o || ''x'') FROM (SELECT id, v AS x, t AS o FROM g UNION ALL SELECT k, kind, label FROM dim UNION ALL SELECT k, count(*), max(t) FROM g GROUP BY k) u', 'GpucolWindow');
-- target lists of aggregations, behind HAVING, too
SELECT shown('WITH c AS MATERIALIZED (SELECT w, k, sum(m) * 2 AS s, sum(v) / count(*) AS a, max(t) || k AS t FROM g GROUP BY w, k HAVING count(*) > 0) SELECT count(*), sum(x.s), max(y.a), min(y.t) FROM c x JOIN c y USING (w, k)');
SELECT differ('WITH c AS MATERIALIZED (SELECT w, k, sum(m) * 2 AS s, sum(v) / nullif(count(v), 0) AS a, max(t) || k AS t, avg(n) + 1 AS n, max(f) - min(f) AS f, max(d) - 3 AS d, 7 AS c FROM g GROUP BY w, k) SELECT x.k, count(*), sum(x.s), max(y.a), min(y.t), max(x.n::text), sum(y.f), max(x.d), sum(x.c) FROM c x JOIN c y USING (w, k) GROUP BY x.k', 'GpucolAgg');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, sum(v) / (count(v) - 24) AS a FROM g WHERE w < 3000 GROUP BY k) SELECT count(x), max(y.a) FROM c x JOIN c y USING (k)');
SELECT differ('WITH c AS MATERIALIZED (SELECT k, sum(v) * 2 AS a FROM g GROUP BY k HAVING sum(v) > 80) SELECT count(x), max(y.a) FROM c x JOIN c y USING (k)');
SELECT differ('WITH c AS MATERIALIZED (SELECT sum(v) * 2 AS a, count(*) + 1 AS n FROM e) SELECT x.a, y.n FROM c x JOIN c y USING (n)');
SELECT differ('SELECT k, s, rank() OVER (ORDER BY s) FROM (SELECT k % 50 AS k, sum(m) * count(*) AS s FROM g GROUP BY k % 50, v UNION ALL SELECT kind, sum(q) + 1 FROM dim GROUP BY kind) u', 'GpucolWindow');
-- windows and aggregations over WITH queries, in derived tables, unions and WITH queries
\set c 'WITH c AS MATERIALIZED (SELECT id, k, v, w, m, t FROM g WHERE w < 2000) '
SELECT shown(:'c' || 'SELECT id, rank() OVER (PARTITION BY v + 1 ORDER BY m * v DESC, id) FROM c');
SELECT shown(:'c' || 'SELECT k % 10, count(*), sum(m * 2) FROM c GROUP BY k % 10');
SELECT differ(:'c' || 'SELECT id, rank() OVER (PARTITION BY v + 1 ORDER BY m * v DESC, id), sum(m * 2) OVER (PARTITION BY t || ''x'' ORDER BY id) FROM c WHERE k > 3', 'GpucolWindow');
SELECT differ(:'c' || 'SELECT k % 10, upper(t), count(*), sum(m * 2), max(v + w) FROM c GROUP BY 1, 2', 'GpucolAgg');
SELECT differ(:'c' || 'SELECT o, count(*), sum(x) FROM (SELECT k % 10 AS o, m * 2 AS x FROM c UNION ALL SELECT v + 3, w FROM c WHERE t > ''Name 2'') u GROUP BY o', 'GpucolAgg');
SELECT differ(:'c' || ', d AS MATERIALIZED (SELECT k, v % 3 AS o, sum(m * v) AS s FROM c GROUP BY k, v % 3) SELECT o + 1, count(*), sum(s + 1), (SELECT max(s) FROM d) FROM d GROUP BY o + 1', 'GpucolAgg');
SELECT differ(:'c' || ', d AS MATERIALIZED (SELECT id, k, row_number() OVER (PARTITION BY k % 7 ORDER BY m * 2, id) AS r FROM c) SELECT r % 5, count(*), max(x.k) FROM (SELECT * FROM d WHERE r < 90 OFFSET 0) x GROUP BY r % 5', 'GpucolAgg');
SELECT differ(:'c' || 'SELECT o.k, (SELECT sum(r) FROM (SELECT rank() OVER (ORDER BY m * o.kind, id) AS r FROM c WHERE c.v = o.kind) q) FROM dim o WHERE k < 20');
SELECT differ(:'c' || 'SELECT i, (SELECT sum(x) FROM (SELECT v + i AS y, sum(m) AS x FROM c GROUP BY v + i) q WHERE y > 3) FROM generate_series(1, 3) i');
SELECT fails(:'c' || 'SELECT w / (v - 3), count(*) FROM c GROUP BY 1'), fails(:'c' || 'SELECT id, rank() OVER (ORDER BY w / v) FROM c'), fails(:'c' || 'SELECT id, rank() OVER (ORDER BY w / v) FROM c WHERE v <> 0');
-- members of which some have tuples
SELECT differ('SELECT id, rank() OVER (ORDER BY x * 2 - 1, id), o FROM (SELECT id, v AS x, t AS o FROM g UNION ALL SELECT i, i, ''i'' FROM generate_series(1, 30) i UNION ALL SELECT id, (SELECT max(kind) FROM dim WHERE dim.k = g.k), c FROM g WHERE k < 30) u', 'GpucolWindow');

-- aggregates over a union that are not those of its members
SELECT shown('SELECT b, sum(x), count(DISTINCT y) FROM (SELECT k % 10 AS b, r * 2 AS x, upper(t) AS y FROM g UNION ALL SELECT kind, q::real, label FROM dim) u GROUP BY b');
SELECT differ('SELECT b, sum(x), count(DISTINCT y), max(z), string_agg(y, '','' ORDER BY z, y), percentile_disc(0.5) WITHIN GROUP (ORDER BY z) FROM (SELECT k % 10 AS b, r * 2 AS x, upper(t) AS y, m * v AS z FROM g WHERE w < 1500 UNION ALL SELECT kind, q::real, label, q + 1 FROM dim) u GROUP BY b', 'GpucolAgg');
SELECT differ('SELECT DISTINCT b, y FROM (SELECT k % 10 AS b, upper(t) AS y FROM g UNION ALL SELECT kind, label || ''!'' FROM dim) u', 'GpucolAgg');
SELECT fails('SELECT b, sum(x) FROM (SELECT k % 10 AS b, (w / v)::real AS x FROM g UNION ALL SELECT kind, q::real FROM dim) u GROUP BY b');

-- parameters, of a statement that is prepared and of rows around
PREPARE p(int, text) AS SELECT id, rank() OVER (PARTITION BY v + $1 ORDER BY t || $2, id) AS r FROM g ORDER BY r DESC, id LIMIT 3;
EXECUTE p(1, 'a');
EXECUTE p(2147483647, 'a');
EXECUTE p(NULL, NULL);
SELECT differ('SELECT o.k, l.s FROM dim o, LATERAL (SELECT sum(r) AS s FROM (SELECT rank() OVER (ORDER BY m * o.kind, t || o.label, id) AS r FROM g WHERE g.k = o.k) q) l');
SELECT differ('SELECT o.k, (WITH c AS MATERIALIZED (SELECT id, m * o.k AS x, t || o.label AS y FROM g WHERE v = o.kind) SELECT count(*) || max(a.x)::text || max(b.y) FROM c a JOIN c b USING (id)) FROM dim o WHERE k < 20');

-- errors: that of the first row which has one, whatever is computed of it first; and none where PostgreSQL has none
SELECT x, fails(format('SELECT id, rank() OVER (ORDER BY %s) FROM g', x)), fails(format('WITH c AS MATERIALIZED (SELECT id, %s AS x FROM g) SELECT a.id, b.x FROM c a JOIN c b USING (id)', x)),
	fails(format('SELECT id, rank() OVER (ORDER BY x) FROM (SELECT id, %s AS x FROM (SELECT *, lag(v) OVER (ORDER BY id) AS o FROM g) i OFFSET 0) q', x))
FROM unnest(ARRAY['w / (id - 4700)', 'w / v', 'l + 1', 'l * 2', '-l', 'v * 32767::smallint', '(w * 300000)', 'm / (m - 30)', 'm::numeric(3,2)', 'f / (r - 3)', 'exp(f * 1000)', 'sqrt(f)', 'ln(p)', 'd + 2147483647',
	'd - date ''2020-01-01''', 'l::int', 'l::int / (id - 500)', '(id / (id - 2000))::text || (l::int)', 't::int', 'substr(t, 1, v - 3)', 'CASE WHEN v = 0 THEN 0 ELSE w / v END', 'CASE WHEN id > 5000 THEN 1 / (id - 5500) END',
	'coalesce(v, 1 / (id - 4701))', 'chr(v)', 'f::int', 'n::int', 's + y * 1000000000', 'm * ''1e30'' * p * ''1e30''', '1 / 0 + v', 'CASE WHEN id < 0 THEN 1 / 0 END', '(p * ''1e25'')::numeric(38,5)']) x;
SELECT fails('SELECT id, rank() OVER (ORDER BY w / (id - 3001), l + 1) FROM g WHERE id % 50 <> 0'), fails('SELECT id, rank() OVER (ORDER BY w / (id - 3001), l + 1) FROM g WHERE id > 2990'),
	fails('SELECT id, rank() OVER (ORDER BY l + 1, w / (id - 2999)) FROM g WHERE id > 2990'), fails('SELECT id, rank() OVER (ORDER BY w / (id - 40001), t::int) FROM g WHERE id > 5000 AND t IS NULL');
SELECT fails('SELECT id, sum(w / v) FILTER (WHERE v <> 0) OVER (ORDER BY id) FROM g'), fails('SELECT id, sum(w / v) OVER (ORDER BY id) FROM g'), fails('SELECT id, sum(v) FILTER (WHERE w / v > 2) OVER (ORDER BY id) FROM g'),
	fails('SELECT id, sum(l + 1) FILTER (WHERE l < 9223372036854775807) OVER (ORDER BY id) FROM g'), fails('SELECT id, sum(w / v) OVER (ORDER BY id) FROM e');
-- rows that conditions remove raise none, those that they do not test raise theirs
SELECT fails('SELECT id, rank() OVER (ORDER BY w / v) FROM g WHERE v <> 0'), fails('SELECT id, rank() OVER (ORDER BY x) FROM (SELECT id, v, w / v AS x FROM g OFFSET 0) q WHERE v <> 0'),
	fails('SELECT id, rank() OVER (ORDER BY x) FROM (SELECT id, w / o AS x FROM (SELECT *, lag(v) OVER (ORDER BY id) AS o FROM g) i WHERE o <> 0 OFFSET 0) q');
-- long values
CREATE TABLE long USING gpucol AS SELECT i AS id, repeat(md5(i::text), 20000) AS x FROM generate_series(1, 40) i;
ANALYZE long;
SELECT differ('SELECT id, rank() OVER (ORDER BY x || id), md5(lag(x || ''!'') OVER (ORDER BY id)) FROM long', 'GpucolWindow');
SELECT differ('WITH c AS MATERIALIZED (SELECT id, x || id AS y, length(x) AS l FROM long) SELECT count(*), max(md5(a.y)), sum(b.l) FROM c a JOIN c b USING (id)');
DROP SCHEMA batch_computed CASCADE;
