-- Tables that exceed gpucol.memory_limit are made in parts: every kind of join, keys of every
-- class, several tables in parts, rows and aggregates above; the answers are those of heap twins.
CREATE SCHEMA join_parts;
SET search_path = join_parts, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h_fact AS
	SELECT i AS id, CASE WHEN i % 97 > 0 THEN i * 7919 % 82000 END AS k, i % 7 AS v, 'name ' || i % 1999 AS t,
		(i % 5000)::numeric(8,2) / 4 AS d, (i % 4001) / 4.0::float8 AS f, i % 13 AS g
	FROM generate_series(1, 50000) i;
ALTER TABLE h_fact ALTER d TYPE numeric(8,2);
CREATE TABLE h_dim AS
	SELECT i AS id, CASE WHEN i % 89 > 0 THEN i * 31 % 66000 END AS k, i % 3 AS w, 'name ' || i % 11000 AS t,
		(i % 6000)::numeric(8,2) / 4 AS d, CASE WHEN i % 50 = 0 THEN 'NaN' ELSE (i % 3001) / 4.0 END::float8 AS f, i % 11 AS h
	FROM generate_series(1, 60000) i;
ALTER TABLE h_dim ALTER d TYPE numeric(8,2);
CREATE TABLE fact USING gpucol AS TABLE h_fact;
CREATE TABLE dim USING gpucol AS TABLE h_dim;
DELETE FROM fact WHERE id % 101 = 0;
DELETE FROM h_fact WHERE id % 101 = 0;
INSERT INTO fact SELECT id + 100000, k, v, t, d, f, g FROM h_fact WHERE id < 500;
INSERT INTO h_fact SELECT id + 100000, k, v, t, d, f, g FROM h_fact WHERE id < 500;
CREATE TABLE h_same AS SELECT 7 AS k, i AS n FROM generate_series(1, 40000) i;
CREATE TABLE same USING gpucol AS TABLE h_same;
CREATE TABLE h_heavy AS SELECT i AS k, i AS n FROM generate_series(1, 30000) i UNION ALL SELECT 3, i FROM generate_series(1, 20000) i;
CREATE TABLE heavy USING gpucol AS TABLE h_heavy;
ANALYZE fact, dim, same, heavy, h_fact, h_dim, h_same, h_heavy;

-- is a query over gpucol tables answered as over heap twins, and what became of tables in its plan?
CREATE FUNCTION compare(query text, OUT rows int, OUT equal bool, OUT tables text) LANGUAGE plpgsql AS $$
DECLARE
	twin text := regexp_replace(query, '\m(fact|dim|same|heavy)\M', 'h_\1', 'g');
	all_of text := 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (%s OFFSET 0) x';
	line text;
	parts int := 0;
	whole int := 0;
	fallback text;
	sum_ours numeric;
	sum_twin numeric;
	rows_twin int;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		parts := parts + (line ~ 'Join: .* in each of \d+ parts')::int;
		whole := whole + (line ~ 'Join: .* kB;')::int;
		fallback := coalesce(fallback, substring(line FROM 'Fallback: .*'));
	END LOOP;
	tables := coalesce(fallback, CASE WHEN parts > 0 THEN 'in parts' WHEN whole > 0 THEN 'whole' ELSE 'not joined' END);
	EXECUTE format(all_of, query) INTO rows, sum_ours;
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE format(all_of, twin) INTO rows_twin, sum_twin;
	SET LOCAL gpucol.pushdown = require;
	equal := rows = rows_twin AND sum_ours IS NOT DISTINCT FROM sum_twin;
END $$;
SET gpucol.pushdown = require;
SET work_mem = '64MB';
SET enable_nestloop = off;
SET gpucol.cpu_threads = 1;
SET gpucol.memory_limit = '2MB';

-- kinds, with and without residual conditions, and conditions behind them
SELECT kind, residual, a.*, b.equal
FROM unnest(ARRAY['', 'LEFT', 'RIGHT', 'FULL']) kind,
	unnest(ARRAY['', ' AND f.v > d.w', ' AND f.v > 2 AND d.w = 1']) residual,
	unnest(ARRAY['', 'WHERE d.w IS DISTINCT FROM 1 OR f.v = 4']) condition,
	compare(format('SELECT f.id, f.t, d.id AS other, d.t AS name FROM fact f %s JOIN dim d ON f.k = d.k%s %s',
		kind, residual, condition)) a,
	compare(format('SELECT d.w, f.v, count(*), count(f.id), sum(d.id), min(d.id), sum(d.d) FROM fact f %s JOIN dim d ON f.k = d.k%s %s GROUP BY 1, 2',
		kind, residual, condition)) b
WHERE NOT (kind = 'FULL' AND residual <> '') AND (residual = ' AND f.v > d.w') = (condition <> '') ORDER BY 1, 2;
SELECT negation, residual, a.*, b.equal
FROM unnest(ARRAY['', 'NOT']) negation, unnest(ARRAY['', 'AND f.v > d.w']) residual,
	compare(format('SELECT f.id, f.t FROM fact f WHERE %s EXISTS (SELECT FROM dim d WHERE f.k = d.k %s)', negation, residual)) a,
	compare(format('SELECT d.h, count(*), sum(d.d) FROM dim d WHERE d.w < 2 AND %s EXISTS (SELECT FROM fact f WHERE f.k = d.k %s) GROUP BY 1', negation, residual)) b;
-- (a NULL that decides for every row is found before or after its table is in parts, as PostgreSQL's versions order it)
SELECT condition, a.rows, a.equal, CASE condition WHEN 'k NOT IN (SELECT k FROM dim)' THEN 'either' ELSE a.tables END AS tables, b.equal
FROM unnest(ARRAY['k IN (SELECT k FROM dim WHERE w = 1)', 'k NOT IN (SELECT k FROM dim)', 'k NOT IN (SELECT k FROM dim WHERE k IS NOT NULL)',
		't NOT IN (SELECT t FROM dim)', 'nullif(id, 7) * 1000003::int8 NOT IN (SELECT id * 1000003::int8 FROM dim WHERE w > 0)',
		'id * 1000003::int8 NOT IN (SELECT k * 1000003::int8 FROM dim)']) condition,
	compare('SELECT id FROM fact WHERE ' || condition) a, compare('SELECT g, count(*), sum(d) FROM fact WHERE ' || condition || ' GROUP BY g') b;

-- keys of every class
SELECT col, kind, a.* FROM unnest(ARRAY['d', 'f', 't', 'k']) col, unnest(ARRAY['LEFT', 'FULL']) kind,
	compare(format('SELECT count(*), count(f.id), count(d.id), sum(f.v), sum(d.d) FROM fact f %2$s JOIN dim d ON f.%1$s = d.%1$s AND f.t = d.t', col, kind)) a;
SELECT a.* FROM compare('SELECT f.id, d.id AS other, d.t FROM fact f LEFT JOIN dim d ON f.k + 1 = d.k * 2 AND f.v = d.w') a;

-- several tables, each in parts; tables of tables
SELECT kind, other, a.rows, a.equal
FROM unnest(ARRAY['', 'LEFT', 'RIGHT', 'FULL']) kind, unnest(ARRAY['LEFT', 'RIGHT', 'FULL']) other,
	compare(format('SELECT a.id, b.id AS b, c.id AS c, c.t FROM fact a %s JOIN dim b ON a.k = b.k %s JOIN dim c ON b.id = c.k', kind, other)) a;
SET gpucol.cpu_threads = 2;
SET gpucol.memory_limit = '4MB';
SELECT kind, other, a.rows, a.equal
FROM unnest(ARRAY['', 'FULL']) kind, unnest(ARRAY['LEFT', 'FULL']) other,
	compare(format('SELECT c.h, b.w, count(*), sum(a.v), sum(b.h), sum(c.d) FROM fact a %s JOIN dim b ON a.k = b.k %s JOIN dim c ON a.t = c.t GROUP BY 1, 2', kind, other)) a;
SELECT a.rows, a.equal FROM compare('SELECT a.id, b.id AS b FROM fact a LEFT JOIN (dim b JOIN dim c ON b.id = c.k AND b.w <= c.w) ON a.k = b.k WHERE NOT EXISTS (SELECT FROM dim e WHERE e.k = a.id AND e.h > a.v)') a;
SELECT a.rows, a.equal FROM compare('SELECT x.h, count(*), sum(x.n) FROM fact a JOIN (SELECT k, h, count(*) AS n, max(t) AS m FROM dim GROUP BY k, h) x ON a.k = x.k GROUP BY 1') a;
SELECT a.rows, a.equal FROM compare('SELECT a.id, x.n, x.m FROM fact a LEFT JOIN (SELECT k, count(*) AS n, avg(d) AS m FROM dim GROUP BY k) x ON a.k = x.k') a;
SELECT a.rows, a.equal FROM compare('SELECT a.id, x.id AS other FROM fact a FULL JOIN (SELECT * FROM h_dim OFFSET 0) x ON a.k = x.k') a;
SELECT a.rows, a.equal FROM compare('SELECT DISTINCT d.t, f.v FROM fact f JOIN dim d ON f.k = d.k') a;
SELECT a.rows, a.equal FROM compare('SELECT f.id, d.t FROM fact f LEFT JOIN dim d ON f.k = d.k ORDER BY d.t, f.id LIMIT 20') a;
SELECT a.rows, a.equal FROM compare('SELECT sum(f.d), count(DISTINCT d.h), stddev(d.h), string_agg(d.h::text, '','' ORDER BY d.id) FROM fact f JOIN dim d ON f.k = d.k') a;

-- many rows of one key: dealt by all their values; or the node falls back
SELECT a.rows, a.equal FROM compare('SELECT f.id, s.n FROM fact f JOIN same s ON f.v = s.k + f.v - 7 AND f.id = s.n') a;
SELECT a.rows, a.equal FROM compare('SELECT count(*), sum(s.n), sum(f.id) FROM fact f JOIN same s ON f.k = s.k') a;
SELECT a.rows, a.equal FROM compare('SELECT count(*), sum(s.n), sum(f.id) FROM fact f LEFT JOIN same s ON f.k = s.k') a;
SELECT a.rows, a.equal FROM compare('SELECT f.id FROM fact f WHERE EXISTS (SELECT FROM same s WHERE f.k = s.k AND s.n > f.id)') a;

-- a later part does not fit: the groups begin again, in parts
SET gpucol.memory_limit = '1MB';
SELECT a.rows, a.equal FROM compare('SELECT f.g, f.v, count(*), sum(s.n) FROM fact f LEFT JOIN heavy s ON f.k % 30011 = s.k GROUP BY 1, 2') a;
SET gpucol.memory_limit = '4MB';

-- what flows is the rows of a plan, too, and a table of text
SELECT a.rows, a.equal FROM compare('SELECT x.k, x.n, d.t FROM (SELECT k, count(*) AS n, sum(d) AS s FROM fact GROUP BY k) x LEFT JOIN dim d ON x.k = d.k AND x.n < d.w') a;

-- tables whose rows were joined by the same key: parts of one ask for parts of the other
SET gpucol.memory_limit = '2MB';
CREATE TABLE h_many AS SELECT i % 60000 AS k, 'name ' || i % 11000 AS t, i AS n FROM generate_series(1, 70000) i;
ANALYZE h_many;
SELECT kind, joined, a.rows, a.equal
FROM unnest(ARRAY['RIGHT', 'LEFT', 'RIGHT', 'LEFT', 'LEFT', 'RIGHT'], ARRAY['heavy b JOIN fact c ON b.k = c.k', 'heavy b LEFT JOIN fact c ON b.k = c.k AND c.v < 3', 'dim c RIGHT JOIN heavy b ON b.k = c.k AND c.w = 1',
		'heavy b FULL JOIN dim c ON b.k = c.k', 'heavy b WHERE EXISTS (SELECT FROM fact c WHERE b.k = c.k)', 'heavy b WHERE NOT EXISTS (SELECT FROM fact c WHERE b.k = c.k)']) of (kind, joined),
	compare(format('SELECT a.n, x.n AS other FROM h_many a %s JOIN (SELECT b.k, b.n FROM %s) x ON a.k = x.k', kind, joined)) a;
SELECT kind, a.rows, a.equal
FROM unnest(ARRAY['LEFT', 'RIGHT']) kind,
	compare(format('SELECT a.n, x.m FROM h_many a %s JOIN (SELECT b.t, c.m FROM dim b LEFT JOIN (SELECT t, max(id) AS m FROM fact GROUP BY t) c ON b.t = c.t WHERE b.w = 1) x ON a.t = x.t AND a.n < 20000', kind)) a;
SELECT condition, a.rows, a.equal
FROM unnest(ARRAY['', 'WHERE b.k IS NOT NULL']) condition,
	compare(format('SELECT a.id FROM fact a WHERE a.k NOT IN (SELECT b.k FROM dim b LEFT JOIN heavy c ON b.k = c.k AND b.w < c.n %s)', condition)) a;
-- how often rows are looked up in the tables of the slowest join
CREATE FUNCTION most_looked_up(query text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	line text;
	most int8 := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		most := greatest(most, substring(line FROM 'Join: .* looked up (\d+)')::int8);
	END LOOP;
	RETURN most;
END $$;
CREATE TABLE h_ones AS SELECT i::text AS s, (i % 1000)::int8 AS a FROM generate_series(1, 60000) i;
CREATE TABLE ones USING gpucol AS SELECT s, a % 977 AS b FROM h_ones;
ANALYZE h_ones, ones;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET gpucol.memory_limit = '3MB';
SELECT most_looked_up('SELECT count(*) FROM h_ones x WHERE x.a > ALL (SELECT y.b FROM ones y WHERE y.s = x.s)') BETWEEN 120000 AND 60000 * 40 AS in_parts_once;
SELECT count(*), count(*) FILTER (WHERE x.a >= 977) AS greater FROM h_ones x WHERE x.a > ALL (SELECT y.b FROM ones y WHERE y.s = x.s);
RESET enable_hashjoin;
RESET enable_mergejoin;
SET gpucol.memory_limit = '4MB';

-- again and again, cursors, LIMIT
SELECT g, (SELECT count(*) FROM fact f LEFT JOIN dim d ON f.k = d.k WHERE f.v = g) FROM generate_series(0, 2) g;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT f.id FROM fact f LEFT JOIN dim d ON f.k = d.k WHERE f.id % 1000 = 1 AND d.w IS DISTINCT FROM 2 ORDER BY 1;
FETCH 3 FROM c; MOVE LAST IN c; FETCH PRIOR FROM c;
COMMIT;
SELECT count(*) FROM (SELECT f.id FROM fact f LEFT JOIN dim d ON f.k = d.k LIMIT 10) x;
-- what other cursors hold leaves too little for the tables of groups that are still to come
SET gpucol.memory_limit = '2MB';
CREATE FUNCTION rest_of(c refcursor) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	MOVE FORWARD ALL FROM c;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;
BEGIN;
DECLARE a CURSOR FOR SELECT f.id, f.t, count(*), sum(d.k) FROM fact f LEFT JOIN dim d ON f.k = d.k WHERE f.id % 2 = 0 GROUP BY 1, 2;
DECLARE b CURSOR FOR SELECT id, t, count(*), sum(k) FROM fact WHERE id % 2 = 0 GROUP BY 1, 2;
DECLARE c CURSOR FOR SELECT k, t, count(*), max(id) FROM dim WHERE id % 2 = 0 GROUP BY 1, 2;
MOVE a; MOVE b; MOVE c;
SELECT rest_of('a') AS a, rest_of('b') AS b, rest_of('c') AS c,
	(SELECT count(*) FROM h_fact WHERE id % 2 = 0) AS of_fact, (SELECT count(DISTINCT (k, t)) FROM h_dim WHERE id % 2 = 0) AS of_dim;
COMMIT;
SET gpucol.memory_limit = '4MB';
-- no temporary file is left
SELECT count(*) FROM pg_ls_tmpdir();
-- an error of a row in any part is raised
SELECT sum(1 / (d.id - 33990)) FROM fact f RIGHT JOIN dim d ON f.k = d.k;
RESET gpucol.memory_limit;
SELECT a.rows, a.equal FROM compare('SELECT f.id, d.t FROM fact f LEFT JOIN dim d ON f.k = d.k') a;
SET client_min_messages = warning;
DROP SCHEMA join_parts CASCADE;
