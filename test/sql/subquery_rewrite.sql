--
-- Correlated subqueries of aggregates become joins with grouped subqueries.
--
\set VERBOSITY terse
SET timezone = 'UTC';
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;

CREATE TABLE sr_outer (id int NOT NULL, k int, s smallint, big bigint, word text, size int);
INSERT INTO sr_outer SELECT i, CASE WHEN i % 9 = 0 THEN NULL ELSE i % 60 END, i % 4,
	i % 50, 'w' || i % 12, i % 7 FROM generate_series(1, 200) i;
CREATE TABLE sr_heap (k int, s int, n numeric(10,2), m numeric, f float8, t text, d date, b bool, e int);
INSERT INTO sr_heap SELECT CASE WHEN i % 13 = 0 THEN NULL ELSE i % 40 END, i % 4,
	CASE WHEN i % 11 = 0 THEN NULL ELSE i * 7919 % 1000 / 4.0 END, i / 3.0, i / 8.0,
	CASE WHEN i % 17 = 0 THEN NULL ELSE 'w' || i % 15 END, date '2024-01-01' + i % 400,
	CASE WHEN i % 5 > 0 THEN i % 3 = 0 END, NULL FROM generate_series(1, 1500) i;
CREATE TABLE sr_packed (LIKE sr_heap) USING gpucol;
INSERT INTO sr_packed SELECT * FROM sr_heap;
CREATE TABLE sr_empty (LIKE sr_heap) USING gpucol;
ANALYZE sr_outer, sr_heap, sr_packed;

-- How a query over %s is planned, and whether its answer is heap's with and without rewriting.
CREATE FUNCTION sr_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; seen text := 'join';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, 'sr_packed') LOOP
		IF line ~ 'SubPlan' THEN seen := 'subplan'; END IF;
	END LOOP;
	RETURN seen;
END $$;
CREATE FUNCTION sr_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE differences int; rows int; plan text := sr_plan(query);
BEGIN
	EXECUTE format('CREATE TEMP TABLE sr_want AS ' || query, 'sr_heap');
	EXECUTE format('CREATE TEMP TABLE sr_got AS ' || query, 'sr_packed');
	PERFORM set_config('gpucol.enable_join', 'off', true);
	EXECUTE format('CREATE TEMP TABLE sr_off AS ' || query, 'sr_packed');
	PERFORM set_config('gpucol.enable_join', 'on', true);
	SELECT count(*) INTO differences FROM (
		(SELECT sr_want::text FROM sr_want EXCEPT ALL SELECT sr_got::text FROM sr_got)
		UNION ALL (SELECT sr_got::text FROM sr_got EXCEPT ALL SELECT sr_want::text FROM sr_want)
		UNION ALL (SELECT sr_off::text FROM sr_off EXCEPT ALL SELECT sr_want::text FROM sr_want)) x;
	SELECT count(*) INTO rows FROM sr_got;
	DROP TABLE sr_want, sr_got, sr_off;
	RETURN format('%s, %s rows, %s differences', plan, rows, differences);
END $$;

-- What is made of it.
EXPLAIN (COSTS OFF) SELECT id FROM sr_outer o
	WHERE size < (SELECT 0.1 * avg(n) FROM sr_packed p WHERE p.k = o.k);
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, (SELECT count(*) FROM sr_packed p WHERE p.k = o.k AND o.size > 3)
	FROM sr_outer o;
SET gpucol.enable_join = off;
EXPLAIN (COSTS OFF) SELECT id FROM sr_outer o
	WHERE size < (SELECT 0.1 * avg(n) FROM sr_packed p WHERE p.k = o.k);
RESET gpucol.enable_join;

-- Each is a join: conditions, target lists, below CASE, OR, in an aggregate's argument.
SELECT sr_check(format('SELECT id FROM sr_outer o WHERE size < (SELECT %s FROM %%1$s p WHERE p.k = o.k)', x))
	FROM unnest(ARRAY['count(*) / 10', '0.1 * avg(n)', 'min(s) + 3', 'sum(e)', 'count(e)', 'coalesce(max(e), 3)']) x;
SELECT x, sr_check(format('SELECT id, (SELECT %s FROM %%1$s p WHERE p.k = o.k) FROM sr_outer o', x))
	FROM unnest(ARRAY['count(*)', 'count(n)', 'count(DISTINCT t)', 'sum(n)', 'sum(DISTINCT s)', 'avg(s)', 'avg(n)',
		'min(t)', 'max(d)', 'bool_and(b)', 'bool_or(b)', 'every(b)', 'bit_and(s)', 'stddev(s)', 'min(f)',
		'max(n) - min(n) + count(*)', 'count(*) FILTER (WHERE b)', 'sum(n * (1 - n))', 'count(*) IS NULL',
		'CASE WHEN count(*) = 0 THEN ''none'' ELSE max(t) || o.word END', 'ROW(sum(n), count(*))::text']) x;
SELECT x, sr_check(format('SELECT id, (SELECT sum(n) FROM %%1$s p WHERE %s) FROM sr_outer o', x))
	FROM unnest(ARRAY['p.k = o.k', 'o.k = p.k', 'p.k = o.big', 'p.k = o.s', 'p.s = o.s AND p.k = o.k', 'p.t = o.word',
		'p.t = o.word AND p.k = o.k AND p.s = o.s', '(p.k, p.s) = (o.k, o.s)', 'p.k = o.k AND p.k = o.big',
		'upper(p.t) = upper(o.word)', 'p.k = o.k AND o.size > 3', 'p.k = o.k AND o.word LIKE ''w1%%''',
		'p.k = o.k AND p.t LIKE ''w1%%''', 'p.k = o.k AND d >= date ''2024-03-01'' + interval ''1 month''',
		'p.k = o.k AND p.b', 'p.k = o.k AND p.d < current_date - 10', 'p.k = o.k AND n IN (1, 2.5, 7)',
		'p.k = o.k AND p.t IN (SELECT word FROM sr_outer)', 'p.k = o.k AND false', 'p.k = 3 AND o.k = p.k',
		'p.m = o.k', 'p.f = o.k::float8', 'p.k = o.k AND p.s = (SELECT max(s) FROM sr_heap)']) x;
SELECT sr_check(q) FROM unnest(ARRAY[
	'SELECT id FROM sr_outer o WHERE (SELECT count(*) FROM %1$s p WHERE (p.k = o.k AND p.s = 1) OR (p.k = o.k AND p.s = 2)) > 3',
	'SELECT id FROM sr_outer o WHERE size > 5 OR 10 < (SELECT avg(n) FROM %1$s p WHERE p.k = o.k)',
	'SELECT id FROM sr_outer o WHERE NOT (size < (SELECT avg(n) FROM %1$s p WHERE p.k = o.k)) IS TRUE',
	'SELECT id FROM sr_outer o WHERE (SELECT sum(n) FROM %1$s p WHERE p.k = o.k) IS NULL',
	'SELECT id FROM sr_outer o WHERE (SELECT count(*) FROM %1$s p WHERE p.k = o.k) = 0',
	'SELECT id, CASE WHEN size > 2 THEN (SELECT max(t) FROM %1$s p WHERE p.k = o.k) END FROM sr_outer o',
	'SELECT sum((SELECT sum(n) FROM %1$s p WHERE p.k = o.k)), size FROM sr_outer o GROUP BY size',
	'SELECT size, count(*) FROM sr_outer o WHERE 1 < (SELECT count(*) FROM %1$s p WHERE p.k = o.k) GROUP BY size',
	'SELECT DISTINCT (SELECT max(t) FROM %1$s p WHERE p.k = o.k) FROM sr_outer o',
	'SELECT id FROM sr_outer o ORDER BY (SELECT max(n) FROM %1$s p WHERE p.k = o.k), id LIMIT 150',
	'SELECT id, rank() OVER (ORDER BY (SELECT max(n) FROM %1$s p WHERE p.k = o.k)) FROM sr_outer o',
	'SELECT o.id, q.id AS other FROM sr_outer o LEFT JOIN sr_outer q ON q.id = o.k
		WHERE coalesce((SELECT sum(s) FROM %1$s p WHERE p.k = q.k), 0) < 200',
	'SELECT o.id, (SELECT count(*) FROM %1$s p WHERE p.k = q.k) c FROM sr_outer o LEFT JOIN sr_outer q ON q.id = o.k',
	'SELECT id, k FROM sr_outer o FULL JOIN (VALUES (1), (2), (77)) v(k) USING (k)
		WHERE (SELECT count(*) FROM %1$s p WHERE p.k = o.k) < 40',
	'SELECT k, (SELECT sum(n) FROM %1$s p WHERE p.k = x.k) FROM (SELECT k, count(*) FROM sr_outer GROUP BY k) x',
	'SELECT x.k2, (SELECT sum(n) FROM %1$s p WHERE p.k = x.k2) FROM (SELECT id, k AS k2 FROM sr_outer) x',
	'SELECT id FROM sr_outer o WHERE size < (SELECT avg(n) FROM %1$s p WHERE p.k = o.k)
		AND size > (SELECT min(s) FROM %1$s p WHERE p.k = o.big) AND word <= (SELECT max(t) FROM %1$s p WHERE p.s = o.s)',
	'SELECT id FROM sr_outer o WHERE k IN (SELECT k FROM %1$s p WHERE n > (SELECT avg(n) FROM %1$s r WHERE r.k = p.k))',
	'SELECT id FROM sr_outer o WHERE EXISTS (SELECT 1 FROM %1$s p WHERE p.k = o.k AND
		n > (SELECT 1.9 * avg(n) FROM %1$s r WHERE r.k = p.k))',
	'SELECT id FROM sr_outer o WHERE size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k AND
		n > (SELECT avg(n) FROM %1$s r WHERE r.s = p.s))',
	'SELECT id, (SELECT sum(n) FROM (SELECT k, n FROM %1$s UNION ALL SELECT big, size FROM sr_outer) p WHERE p.k = o.k) FROM sr_outer o',
	'SELECT id, (SELECT sum(c) FROM (SELECT k, count(*) c FROM %1$s GROUP BY k) p WHERE p.k = o.k) FROM sr_outer o',
	'SELECT id, (SELECT sum(p.n) FROM %1$s p LEFT JOIN sr_outer q ON q.id = p.k AND q.size > 3 WHERE q.id = o.k) FROM sr_outer o',
	'WITH w AS MATERIALIZED (SELECT id, (SELECT sum(n) FROM %1$s p WHERE p.k = o.k) v FROM sr_outer o)
		SELECT a.id, b.v FROM w a JOIN w b USING (id)',
	'WITH w AS (SELECT id, k FROM sr_outer) SELECT id, (SELECT sum(n) FROM %1$s p WHERE p.k = w.k) FROM w',
	'SELECT i, (SELECT sum(n) FROM %1$s p WHERE p.k = i) FROM generate_series(1, 50) i',
	'SELECT i, (SELECT count(*) FROM %1$s p WHERE p.k = i) FROM (VALUES (1), (3), (99)) v(i)',
	'SELECT id FROM sr_outer o WHERE size < 3 UNION ALL
		SELECT id FROM sr_outer o WHERE 3 > (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT o.id, l.v FROM sr_outer o, LATERAL (SELECT (SELECT sum(n) FROM %1$s p WHERE p.k = q.k) + o.size AS v
		FROM sr_outer q WHERE q.id = o.k) l']) q;

-- NOT IN is an anti join where neither side can be NULL.
ALTER TABLE sr_heap ALTER s SET NOT NULL;
ALTER TABLE sr_packed ALTER s SET NOT NULL;
CREATE FUNCTION sr_anti(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; anti text := 'stays'; query text := 'SELECT o.* FROM sr_outer o LEFT JOIN sr_outer q ON q.id = o.k WHERE ' || condition;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, 'sr_packed') LOOP
		IF line ~* '\manti\M' THEN anti := 'anti join'; END IF;
	END LOOP;
	RETURN anti || regexp_replace(sr_check(query), '^.*?,', ',');
END $$;
SELECT x, sr_anti(x) FROM unnest(ARRAY['o.id NOT IN (SELECT s FROM %1$s)', 'o.id NOT IN (SELECT s FROM %1$s WHERE k = o.k)',
	'o.id NOT IN (SELECT k FROM %1$s WHERE k IS NOT NULL)', 'o.id NOT IN (SELECT k FROM %1$s WHERE k > 3)',
	'o.k NOT IN (SELECT s FROM %1$s) AND o.k < 30', '(o.id, o.big) NOT IN (SELECT s, k FROM %1$s WHERE k > 0) AND o.big > 1',
	'o.id NOT IN (SELECT count(*) FROM %1$s GROUP BY k)', 'o.id NOT IN (SELECT s FROM %1$s UNION SELECT id FROM sr_outer WHERE id < 9)',
	'o.id NOT IN (SELECT DISTINCT s FROM %1$s)', 'o.id NOT IN (SELECT DISTINCT ON (d) s FROM %1$s ORDER BY d, s)',
	'o.id NOT IN (SELECT s FROM %1$s ORDER BY s DESC LIMIT 2)', 'o.id NOT IN (SELECT s FROM %1$s WHERE false)', '7 NOT IN (SELECT s FROM %1$s)',
	'o.id NOT IN (SELECT s FROM (SELECT s, avg(n) FROM %1$s GROUP BY s) p)', 'o.id NOT IN (SELECT coalesce(k, 3) FROM %1$s)',
	'o.id NOT IN (SELECT s FROM %1$s) AND o.size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'o.id NOT IN (SELECT q.s FROM sr_outer f LEFT JOIN %1$s q ON q.k = f.k)', 'o.id NOT IN (SELECT k FROM %1$s)',
	'o.k NOT IN (SELECT s FROM %1$s)', 'q.id NOT IN (SELECT s FROM %1$s)', 'o.id NOT IN (SELECT s FROM %1$s) OR o.size > 3',
	'o.id NOT IN (SELECT s FROM %1$s GROUP BY ROLLUP (s))', 'o.id NOT IN (SELECT s + 1 FROM %1$s)',
	'o.id NOT IN (SELECT s FROM %1$s) IS NOT FALSE', 'o.id <> ALL (SELECT s FROM %1$s)']) x;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_packed);

-- Each stays, and EXPLAIN says why.
CREATE FUNCTION sr_stays(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := sr_plan(query); reason text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || format(query, 'sr_packed') LOOP
		IF line ~ ': subquery' THEN reason := line; END IF;
	END LOOP;
	RETURN plan || coalesce(reason, ': nothing to say');
END $$;
CREATE FUNCTION sr_volatile(int) RETURNS int LANGUAGE sql VOLATILE RETURN $1;
SELECT x, sr_stays(format('SELECT id, (SELECT %s) FROM sr_outer o', x)) FROM unnest(ARRAY[
	'sum(n) FROM %1$s p WHERE p.k < o.k', 'sum(n) FROM %1$s p WHERE p.k = o.k OR p.s = o.s',
	'sum(n) FROM %1$s p WHERE p.k IS NOT DISTINCT FROM o.k', 'sum(n) FROM %1$s p WHERE o.size > 3',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND p.s <> o.s', 'sum(n + o.size) FROM %1$s p WHERE p.k = o.k',
	'sum(s + 1) FROM %1$s p WHERE p.k = o.k', 'sum(1 / s) FROM %1$s p WHERE p.k = o.k',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND 1 / s > 0', 'sum(n) FROM %1$s p WHERE p.k + 1 = o.k',
	'sum(n) FROM %1$s p WHERE p.k = o.k / o.size', 'sum(m * m) FROM %1$s p WHERE p.k = o.k',
	'sum(f * f) FROM %1$s p WHERE p.k = o.k', 'string_agg(t, '','' ORDER BY t) FROM %1$s p WHERE p.k = o.k',
	'array_agg(n ORDER BY n) FROM %1$s p WHERE p.k = o.k', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM %1$s p WHERE p.k = o.k',
	'n FROM %1$s p WHERE p.k = o.k AND false', 'n FROM %1$s p WHERE p.k = o.k LIMIT 1',
	'sum(n) FROM %1$s p WHERE p.k = o.k LIMIT 0', 'sum(n) FROM %1$s p WHERE p.k = o.k HAVING count(*) > 3',
	'sum(n) FROM %1$s p WHERE p.k = o.k GROUP BY p.k', 'sum(n) FROM %1$s p WHERE p.k = o.k GROUP BY ()',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND random() < 2', 'sum(sr_volatile(s)) FROM %1$s p WHERE p.k = o.k',
	'sum(n) FROM %1$s p TABLESAMPLE bernoulli (100) WHERE p.k = o.k', 'max(n) OVER () FROM %1$s p WHERE p.k = o.k AND false',
	'sum(p.n) FROM %1$s p, generate_series(1, 2) g WHERE p.k = o.k', 'sum(n) FROM (SELECT n FROM %1$s p WHERE p.k = o.k) q',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND t LIKE o.word', 'sum(n) FROM %1$s p WHERE p.k = o.k AND t LIKE ''a\''',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND d < date ''infinity'' + interval ''1000000 year''',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND EXISTS (SELECT 1 FROM sr_heap h WHERE h.k = p.k AND h.s = o.s)',
	'sum(n) FROM %1$s p WHERE p.k = o.k AND s = (SELECT s FROM sr_heap h WHERE h.k = 99)',
	'max(n) + (SELECT 1 FROM sr_heap WHERE k = o.k AND false) FROM %1$s p WHERE p.k = o.k']) x;
SELECT x, sr_stays(x) FROM unnest(ARRAY[
	'SELECT sum(n) FROM sr_heap p, sr_outer o WHERE p.k = o.k AND 3 < (SELECT count(*) FROM sr_heap h WHERE h.k = o.k)',
	'SELECT size FROM sr_outer o GROUP BY size HAVING size + random() < (SELECT count(*) FROM %1$s p WHERE p.k = o.size)',
	'SELECT size, (SELECT count(*) FROM %1$s p WHERE p.k < o.size) FROM sr_outer o GROUP BY size',
	'SELECT max(k), (SELECT count(*) FROM %1$s p WHERE p.k = max(o.k)) FROM sr_outer o',
	'SELECT id FROM sr_outer o WHERE size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k) FOR UPDATE',
	'SELECT CASE WHEN y.size > 0 THEN (SELECT sum(n) FROM %1$s p WHERE p.k = y.c) END FROM (SELECT size, 1 / size AS c FROM sr_outer) y',
	'WITH w AS (SELECT size, 1 / size AS c FROM sr_outer) SELECT CASE WHEN size > 0 THEN (SELECT sum(n) FROM %1$s p WHERE p.k = w.c) END FROM w',
	'SELECT o.id FROM sr_outer o, sr_heap h WHERE o.size / h.s = 1 AND o.size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT o.id FROM sr_outer o JOIN sr_heap h ON o.size / h.s = 1 WHERE o.size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT o.id FROM sr_outer o WHERE o.size / o.s = 1 AND o.size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT o.id FROM sr_outer o WHERE 1 < 1 / (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT o.id FROM sr_outer o WHERE 1 < 1 / (SELECT count(*) FROM %1$s p WHERE p.k = o.k) AND o.size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'UPDATE sr_outer o SET size = size WHERE size < (SELECT count(*) FROM %1$s p WHERE p.k = o.k)',
	'SELECT id FROM sr_outer WHERE size < (SELECT avg(n) FROM %1$s)']) x;

-- An error that PostgreSQL does not raise is not raised, and one that it raises is.
SELECT count((SELECT sum(n / (p.k - 100)) FROM sr_packed p WHERE p.k = o.k)) FROM sr_outer o;
SELECT id, CASE WHEN size > 0 THEN (SELECT sum(n) FROM sr_packed p WHERE p.k = o.id / o.size) END IS NULL FROM sr_outer o WHERE id < 3;
SELECT 1 / (SELECT count(*) FROM sr_packed p WHERE p.k = o.k) FROM sr_outer o;
SELECT id, (SELECT n FROM sr_packed p WHERE p.k = o.k) FROM sr_outer o;

-- A subquery of one row, by a unique index; without one, or with one that does not say so, it stays.
CREATE TABLE sr_one (k int, s int, t text, n numeric(8,2)) USING gpucol;
INSERT INTO sr_one SELECT CASE WHEN i < 45 THEN i END, i % 4, CASE WHEN i % 5 > 0 THEN 'w' || i % 15 END, i / 4.0 FROM generate_series(1, 50) i;
CREATE TABLE sr_one_heap (LIKE sr_one) USING heap;
INSERT INTO sr_one_heap SELECT * FROM sr_one;
ANALYZE sr_one, sr_one_heap;
CREATE FUNCTION sr_lookups() RETURNS TABLE (value text, outcome text) LANGUAGE plpgsql AS $$
DECLARE query text; seen text; differences int;
BEGIN
	FOREACH value IN ARRAY ARRAY['t', 'n * o.size', 'upper(t) || o.word', 'coalesce(t, ''x'')', 'o.size', '7', 'k IS NULL', 'n / s', 'o'] LOOP
		query := format('SELECT id, (SELECT %s FROM %%1$s e WHERE e.k = o.k%s) v FROM sr_outer o', CASE value WHEN 'o' THEN 't' ELSE value END,
			CASE value WHEN 'o' THEN ' AND e.s = o.s' WHEN 'n / s' THEN ' AND s > 0' ELSE '' END);
		seen := sr_plan(format(query, 'sr_one'));
		EXECUTE format('SELECT count(*) FROM ((SELECT * FROM (%1$s) x EXCEPT ALL SELECT * FROM (%2$s) x) UNION ALL (SELECT * FROM (%2$s) x EXCEPT ALL SELECT * FROM (%1$s) x)) x',
			format(query, 'sr_one'), format(query, 'sr_one_heap')) INTO differences;
		outcome := format('%s, %s differences', seen, differences);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT value, outcome FROM sr_lookups() WHERE value IN ('t', 'o');
CREATE UNIQUE INDEX sr_index ON sr_one (k, s);
SELECT value, outcome FROM sr_lookups() WHERE value IN ('t', 'o');
DROP INDEX sr_index;
CREATE UNIQUE INDEX sr_index ON sr_one (k) WHERE k < 40;
SELECT value, outcome FROM sr_lookups() WHERE value IN ('t', 'o');
DROP INDEX sr_index;
ALTER TABLE sr_one ADD CONSTRAINT sr_index UNIQUE (k) DEFERRABLE;
SELECT value, outcome FROM sr_lookups() WHERE value IN ('t', 'o');
ALTER TABLE sr_one DROP CONSTRAINT sr_index;
ALTER TABLE sr_one ADD UNIQUE (k);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT value, outcome FROM sr_lookups();
RESET enable_indexscan;
RESET enable_bitmapscan;
INSERT INTO sr_one_heap VALUES (1, 1, 'again', 1);
SELECT id, (SELECT t FROM sr_one_heap e WHERE e.k = o.k) FROM sr_outer o;
DROP FUNCTION sr_lookups;
DROP TABLE sr_one, sr_one_heap;

-- Empty tables on either side.
SELECT count(*), count(v), sum(c) FROM (SELECT (SELECT sum(n) FROM sr_empty p WHERE p.k = o.k) v,
	(SELECT count(*) FROM sr_empty p WHERE p.k = o.k) c FROM sr_outer o) x;
SELECT count(*) FROM sr_empty e WHERE n < (SELECT sum(n) FROM sr_packed p WHERE p.k = e.k);

-- Statements that change rows: their own subqueries stay, those of their sources are joins.
CREATE TABLE sr_changed (LIKE sr_outer);
INSERT INTO sr_changed SELECT * FROM sr_outer;
SELECT sr_plan('INSERT INTO sr_changed SELECT * FROM sr_outer o WHERE 3 < (SELECT count(*) FROM %s p WHERE p.k = o.k)');
UPDATE sr_changed c SET size = (SELECT count(*) FROM sr_packed p WHERE p.k = c.k)
	WHERE 100 < (SELECT sum(n) FROM sr_packed p WHERE p.k = c.k);
SELECT count(*) FROM sr_changed c WHERE size IS DISTINCT FROM CASE WHEN 100 < (SELECT sum(n) FROM sr_heap p WHERE p.k = c.k)
	THEN (SELECT count(*) FROM sr_heap p WHERE p.k = c.k) ELSE (SELECT size FROM sr_outer o WHERE o.id = c.id) END;
UPDATE sr_changed c SET size = x.v FROM (SELECT id, (SELECT count(*) FROM sr_packed p WHERE p.k = o.k) v FROM sr_outer o) x
	WHERE x.id = c.id;
SELECT count(*) FROM sr_changed c WHERE size <> (SELECT count(*) FROM sr_heap p WHERE p.k = c.k);
WITH w AS (UPDATE sr_changed SET s = 1 WHERE id < 20 RETURNING 7, k)
	SELECT count(*), sum((SELECT count(*) FROM sr_packed p WHERE p.k = w.k)) - sum((SELECT count(*) FROM sr_heap p WHERE p.k = w.k)) FROM w;
DELETE FROM sr_changed c WHERE 35 > (SELECT count(*) FROM sr_packed p WHERE p.k = c.k);
SELECT count(*), (SELECT count(*) FROM sr_outer o WHERE 35 <= (SELECT count(*) FROM sr_heap p WHERE p.k = o.k)) FROM sr_changed;

-- Prepared statements, functions, views, cursors.
PREPARE sr_prepared(int) AS SELECT count(*), sum(id) FROM sr_outer o
	WHERE size < (SELECT count(*) - $1 FROM sr_packed p WHERE p.k = o.k AND p.s < $1);
SET plan_cache_mode = force_custom_plan;
EXECUTE sr_prepared(2);
SET plan_cache_mode = force_generic_plan;
EXECUTE sr_prepared(2);
EXECUTE sr_prepared(NULL);
SELECT count(*), sum(id) FROM sr_outer o WHERE size < (SELECT count(*) - 2 FROM sr_heap p WHERE p.k = o.k AND p.s < 2);
RESET plan_cache_mode;
INSERT INTO sr_packed VALUES (1, 1, 1), (1, 1, 1);
EXECUTE sr_prepared(1);
DELETE FROM sr_packed WHERE f IS NULL;
EXECUTE sr_prepared(1);
CREATE FUNCTION sr_function(wanted int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r record; total bigint := 0;
BEGIN
	FOR r IN SELECT id, (SELECT count(*) FROM sr_packed p WHERE p.k = o.k AND p.s = wanted) c FROM sr_outer o LOOP
		total := total + r.c;
	END LOOP;
	RETURN total;
END $$;
SELECT sr_function(2), (SELECT sum((SELECT count(*) FROM sr_heap p WHERE p.k = o.k AND p.s = 2)) FROM sr_outer o);
CREATE VIEW sr_view AS SELECT id, size, (SELECT max(n) FROM sr_packed p WHERE p.k = o.k) best FROM sr_outer o;
SELECT sr_plan('SELECT id FROM sr_view WHERE best > 240');
SELECT count(*), (SELECT count(*) FROM sr_outer o WHERE 240 < (SELECT max(n) FROM sr_heap p WHERE p.k = o.k)) FROM sr_view WHERE best > 240;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM sr_changed o WHERE 2 < (SELECT count(*) FROM sr_packed p WHERE p.k = o.k);
FETCH 1 FROM c;
DELETE FROM sr_changed WHERE CURRENT OF c;
DECLARE s SCROLL CURSOR FOR SELECT o.id FROM sr_outer o, sr_heap h WHERE h.k = 1 AND o.id = h.s AND
	1 < (SELECT count(*) FROM sr_packed p WHERE p.k = o.k);
MOVE ALL FROM s;
FETCH BACKWARD 2 FROM s;
ROLLBACK;

-- Row-level security: policies stay below the grouping; one that may raise errors keeps the subquery.
CREATE ROLE sr_user;
CREATE TABLE sr_secret (k int, owner name, v int) USING gpucol;
INSERT INTO sr_secret SELECT i % 60, CASE WHEN i % 2 = 0 THEN 'sr_user' ELSE 'other' END, i FROM generate_series(1, 600) i;
GRANT SELECT ON sr_secret, sr_outer TO sr_user;
ALTER TABLE sr_secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON sr_secret USING (owner = current_user);
SET ROLE sr_user;
SELECT sr_plan('SELECT id, (SELECT count(*) FROM sr_secret s WHERE s.k = o.k) FROM sr_outer o');
SELECT count(*), sum(c) FROM (SELECT (SELECT count(*) FROM sr_secret s WHERE s.k = o.k) c FROM sr_outer o) x;
RESET ROLE;
SELECT count(*), sum(c) FROM (SELECT (SELECT count(*) FROM sr_secret s WHERE s.k = o.k) c FROM sr_outer o) x;
SELECT count(*), sum(c) FROM (SELECT (SELECT count(*) FROM sr_secret s WHERE s.k = o.k AND owner = 'sr_user') c FROM sr_outer o) x;
ALTER POLICY p ON sr_secret USING (600 / (v - 1000) < 0);
SET ROLE sr_user;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, (SELECT count(*) FROM sr_secret s WHERE s.k = o.k) FROM sr_outer o;
RESET ROLE;

-- Partitions with one gpucol table among them.
CREATE TABLE sr_parted (k int, n int) PARTITION BY RANGE (k);
CREATE TABLE sr_parted1 PARTITION OF sr_parted FOR VALUES FROM (0) TO (20);
CREATE TABLE sr_parted2 PARTITION OF sr_parted FOR VALUES FROM (20) TO (1000) USING gpucol;
INSERT INTO sr_parted SELECT i % 100, i FROM generate_series(1, 1000) i;
SELECT sr_plan('SELECT id, (SELECT count(*) FROM sr_parted p WHERE p.k = o.k) FROM sr_outer o -- %s');
SELECT sum((SELECT sum(n) FROM sr_parted p WHERE p.k = o.k)), sum((SELECT sum(n) FROM sr_parted p WHERE p.k::numeric = o.k)) FROM sr_outer o;

-- The three of TPC-H, over small tables made here.
RESET enable_nestloop;
RESET enable_mergejoin;
CREATE TABLE sr_region (r_regionkey int NOT NULL, r_name char(25) NOT NULL) USING gpucol;
CREATE TABLE sr_nation (n_nationkey int NOT NULL, n_name char(25) NOT NULL, n_regionkey int NOT NULL) USING gpucol;
CREATE TABLE sr_supplier (s_suppkey int NOT NULL, s_name char(25) NOT NULL, s_nationkey int NOT NULL, s_acctbal numeric(15,2) NOT NULL) USING gpucol;
CREATE TABLE sr_part (p_partkey int NOT NULL, p_name varchar(55) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL,
	p_brand char(10) NOT NULL, p_container char(10) NOT NULL) USING gpucol;
CREATE TABLE sr_partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int NOT NULL, ps_supplycost numeric(15,2) NOT NULL) USING gpucol;
CREATE TABLE sr_lineitem (l_partkey int NOT NULL, l_suppkey int NOT NULL, l_quantity numeric(15,2) NOT NULL,
	l_extendedprice numeric(15,2) NOT NULL, l_shipdate date NOT NULL) USING gpucol;
INSERT INTO sr_region SELECT i, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[i + 1] FROM generate_series(0, 4) i;
INSERT INTO sr_nation SELECT i, CASE WHEN i = 3 THEN 'CANADA' ELSE 'NATION ' || i END, i % 5 FROM generate_series(0, 24) i;
INSERT INTO sr_supplier SELECT i, 'Supplier ' || i, i * 7 % 10, i * 13 % 1000 / 7.0 FROM generate_series(1, 50) i;
INSERT INTO sr_part SELECT i, CASE WHEN i % 3 > 0 THEN 'forest ' ELSE 'lace ' END || i, 'TYPE ' || (ARRAY['BRASS', 'TIN'])[i % 2 + 1],
	i % 4, 'Brand#' || i % 3, (ARRAY['MED BOX', 'LG JAR'])[i % 2 + 1] FROM generate_series(1, 500) i;
INSERT INTO sr_partsupp SELECT i / 4 + 1, (i * 17 + i / 50) % 50 + 1, i * 31 % 90, i * 37 % 1000 / 10.0 FROM generate_series(0, 1999) i;
INSERT INTO sr_lineitem SELECT j / 4 + 1, (j * 17 + j / 50) % 50 + 1, i * 31 / 7 % 50 + 1, i * 101 % 10000, date '1993-06-01' + i * 13 % 700
	FROM generate_series(1, 12000) i, LATERAL (VALUES (i * 13 % 2000)) v(j);
ANALYZE sr_region, sr_nation, sr_supplier, sr_part, sr_partsupp, sr_lineitem;

CREATE VIEW sr_q2 AS SELECT s_acctbal, s_name, n_name, p_partkey FROM sr_part, sr_supplier, sr_partsupp, sr_nation, sr_region
	WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 3 AND p_type LIKE '%TIN' AND s_nationkey = n_nationkey
	AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND ps_supplycost = (
		SELECT min(ps_supplycost) FROM sr_partsupp, sr_supplier, sr_nation, sr_region
		WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
	ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100;
CREATE VIEW sr_q17 AS SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM sr_lineitem, sr_part
	WHERE p_partkey = l_partkey AND p_brand = 'Brand#2' AND p_container = 'MED BOX'
	AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM sr_lineitem WHERE l_partkey = p_partkey);
CREATE VIEW sr_q20 AS SELECT s_name FROM sr_supplier, sr_nation WHERE s_suppkey IN (
		SELECT ps_suppkey FROM sr_partsupp WHERE ps_partkey IN (SELECT p_partkey FROM sr_part WHERE p_name LIKE 'forest%')
		AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM sr_lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
			AND l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year))
	AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name;
SELECT sr_plan('SELECT * FROM sr_q2'), sr_plan('SELECT * FROM sr_q17'), sr_plan('SELECT * FROM sr_q20');
SELECT count(*), md5(string_agg(q::text, '|')) FROM sr_q2 q;
SELECT * FROM sr_q17;
SELECT * FROM sr_q20;
SET gpucol.enable_join = off;
SELECT sr_plan('SELECT * FROM sr_q2'), sr_plan('SELECT * FROM sr_q17'), sr_plan('SELECT * FROM sr_q20');
SELECT count(*), md5(string_agg(q::text, '|')) FROM sr_q2 q;
SELECT * FROM sr_q17;
SELECT * FROM sr_q20;
RESET gpucol.enable_join;
DROP VIEW sr_q2, sr_q17, sr_q20;
DROP TABLE sr_region, sr_nation, sr_supplier, sr_part, sr_partsupp, sr_lineitem;

-- Few rows and an index: executing the subquery for each is cheaper.
CREATE TABLE sr_big (k int, v int) USING gpucol;
INSERT INTO sr_big SELECT i / 3, i FROM generate_series(1, 60000) i;
CREATE INDEX ON sr_big (k);
CREATE UNIQUE INDEX ON sr_outer (id);
VACUUM ANALYZE sr_big;
EXPLAIN (VERBOSE, COSTS OFF) SELECT (SELECT sum(v) FROM sr_big b WHERE b.k = o.k) FROM sr_outer o WHERE id = 7;
SELECT sr_plan('SELECT (SELECT sum(v) FROM sr_big b WHERE b.k = o.k) FROM sr_outer o');

-- A list that is too long for a hash table.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT sr_plan('SELECT count(*) FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_big WHERE v > 30 GROUP BY k HAVING k > 7)');
SELECT count(*), min(id) FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_big WHERE k IS NOT NULL GROUP BY k HAVING min(v) > 30);
SELECT count(*), min(id) FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_big WHERE k > 20 UNION SELECT 150 ORDER BY 1 OFFSET 5);
SELECT count(*), min(id) FROM sr_outer o WHERE (id, size) NOT IN (SELECT k, v % 7 FROM sr_big WHERE k > 20 AND v % 7 IS NOT NULL)
	AND size IS NOT NULL;
SET gpucol.enable_join = off;
SELECT count(*), min(id) FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_big WHERE k IS NOT NULL GROUP BY k HAVING min(v) > 30);
SELECT count(*), min(id) FROM sr_outer WHERE id NOT IN (SELECT k FROM sr_big WHERE k > 20 UNION SELECT 150 ORDER BY 1 OFFSET 5);
SELECT count(*), min(id) FROM sr_outer o WHERE (id, size) NOT IN (SELECT k, v % 7 FROM sr_big WHERE k > 20 AND v % 7 IS NOT NULL)
	AND size IS NOT NULL;
RESET gpucol.enable_join;

DROP VIEW sr_view;
DROP TABLE sr_outer, sr_heap, sr_packed, sr_empty, sr_changed, sr_secret, sr_parted, sr_big;
DROP FUNCTION sr_plan, sr_check, sr_anti, sr_stays, sr_volatile, sr_function;
DROP ROLE sr_user;
