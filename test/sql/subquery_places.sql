--
-- EXISTS, IN and NOT IN below OR, NOT and CASE, in select lists and in aggregates become joins.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
SET cpu_tuple_cost = 0.5;

CREATE TABLE sp_heap (id int NOT NULL, k int, s smallint NOT NULL, n numeric(8,2), t text);
INSERT INTO sp_heap SELECT i, CASE WHEN i % 9 > 0 THEN i % 60 END, i % 4, i / 4.0,
	CASE WHEN i % 7 > 0 THEN 't' || i % 25 END FROM generate_series(1, 900) i;
CREATE TABLE sp_packed (LIKE sp_heap) USING gpucol;
INSERT INTO sp_packed SELECT * FROM sp_heap;
CREATE TABLE sp_in_heap (k int, s smallint NOT NULL, n numeric(8,2), t text, f float8);
INSERT INTO sp_in_heap SELECT CASE WHEN i % 13 > 0 THEN i % 40 END, i % 4, i / 8.0,
	CASE WHEN i % 5 > 0 THEN 't' || i % 15 END, i FROM generate_series(1, 500) i;
CREATE TABLE sp_in_packed (LIKE sp_in_heap) USING gpucol;
INSERT INTO sp_in_packed SELECT * FROM sp_in_heap;
CREATE TABLE sp_none_heap (LIKE sp_in_heap);
CREATE TABLE sp_none_packed (LIKE sp_in_heap) USING gpucol;
ANALYZE sp_heap, sp_packed, sp_in_heap, sp_in_packed, sp_none_heap, sp_none_packed;

-- How a query is planned, and whether its answers, with and without, are heap's.
CREATE FUNCTION sp_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := NULL; differences int; rows int; packed text := replace(query, '@', '_packed');
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || packed LOOP
		plan := coalesce(plan, substring(line, 'Gpucol\w+'), 'other');
		IF line ~ 'SubPlan' THEN plan := 'subplan'; END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE sp_want AS ' || replace(query, '@', '_heap');
	EXECUTE 'CREATE TEMP TABLE sp_got AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE sp_off AS ' || packed;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO differences FROM (
		(SELECT sp_want::text FROM sp_want EXCEPT ALL SELECT sp_got::text FROM sp_got)
		UNION ALL (SELECT sp_got::text FROM sp_got EXCEPT ALL SELECT sp_want::text FROM sp_want)
		UNION ALL (SELECT sp_off::text FROM sp_off EXCEPT ALL SELECT sp_want::text FROM sp_want)) x;
	SELECT count(*) INTO rows FROM sp_got;
	DROP TABLE sp_want, sp_got, sp_off;
	RETURN format('%s, %s rows, %s differences', plan, rows, differences);
END $$;

-- What is made of it; NULLs are told apart where they make a difference.
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k);
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR k IN (SELECT k FROM sp_in_packed);
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR k NOT IN (SELECT k FROM sp_in_packed);
EXPLAIN (COSTS OFF) SELECT s, count(*) FILTER (WHERE k IN (SELECT k FROM sp_in_packed p WHERE p.s = o.s)) FROM sp_packed o GROUP BY s;

-- Every test in every place.
SELECT test, place, sp_check(replace(place, '?', test)) FROM unnest(ARRAY[
	'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k)', 'NOT EXISTS (SELECT FROM sp_in@ p WHERE p.t = o.t AND p.n > 50)',
	'o.k IN (SELECT k FROM sp_in@)', 'o.k NOT IN (SELECT k FROM sp_in@)', 'o.k NOT IN (SELECT k FROM sp_none@)',
	'o.k NOT IN (SELECT k FROM sp_in@ p WHERE p.t = o.t)', 'o.k = ANY (SELECT s FROM sp_in@ p)', 'o.t <> ALL (SELECT t FROM sp_in@ WHERE t IS NOT NULL)',
	'(o.k, o.t) IN (SELECT k, t FROM sp_in@)']) WITH ORDINALITY test(test, i), unnest(ARRAY[
	'SELECT id FROM sp@ o WHERE s = 1 OR ?', 'SELECT id FROM sp@ o WHERE NOT (s > 1 AND ?)', 'SELECT id, ? FROM sp@ o',
	'SELECT s, count(*) FILTER (WHERE ?) FROM sp@ o GROUP BY s', 'SELECT s, sum(CASE WHEN ? THEN n ELSE 1 END), bool_or(?) FROM sp@ o GROUP BY s',
	'SELECT id FROM sp@ o WHERE (?) IS NOT TRUE', 'SELECT id FROM sp@ o WHERE CASE WHEN s > 1 THEN ? ELSE k > 7 END']) WITH ORDINALITY place(place, j)
	ORDER BY i, j;

-- One side, both, or the whole subquery without a NULL or a row.
SELECT x, sp_check('SELECT id, ' || x || ' FROM sp@ o') FROM unnest(ARRAY['s IN (SELECT s FROM sp_in@)', 's IN (SELECT k FROM sp_in@)',
	'k IN (SELECT s FROM sp_in@)', 'k IN (SELECT k FROM sp_none@)', 'NULL::int IN (SELECT k FROM sp_none@ p WHERE p.s = o.s)',
	'NULL::int IN (SELECT s FROM sp_in@ p WHERE p.s = o.s)', '7 NOT IN (SELECT k FROM sp_in@ p WHERE p.s = o.s)',
	'k NOT IN (SELECT k FROM sp_in@ p WHERE o.s > 2)', 'k IN (SELECT DISTINCT k FROM sp_in@ p WHERE p.s = o.s ORDER BY k)',
	'id NOT IN (SELECT count(*) FROM sp_in@ GROUP BY k)', 'id IN (SELECT k FROM sp_in@ UNION SELECT s FROM sp_in@)',
	'id IN (SELECT k FROM sp_in@ ORDER BY k LIMIT 5)', 'k NOT IN (SELECT q.k FROM sp_in@ p LEFT JOIN sp_in@ q ON q.k = p.s)',
	'CASE WHEN id < 9 THEN k IN (SELECT k FROM sp_in@) WHEN EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.id) THEN NULL ELSE s = 1 END',
	'(SELECT count(*) FROM sp_in@ p WHERE p.k = o.k AND (p.s = 1 OR EXISTS (SELECT FROM sp@ r WHERE r.id = p.k)))',
	'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k AND (p.s = 1 OR p.k IN (SELECT id FROM sp@)))']) x;

-- As conditions of WHERE, where the subquery is correlated.
SELECT x, sp_check('SELECT id FROM sp@ o WHERE ' || x) FROM unnest(ARRAY['k IN (SELECT k FROM sp_in@ p WHERE p.t = o.t)',
	'k NOT IN (SELECT k FROM sp_in@ p WHERE p.t = o.t)', 's NOT IN (SELECT s FROM sp_in@ p WHERE p.t = o.t)', 'k IN (SELECT k FROM sp_in@ p WHERE p.s < o.s AND p.t = o.t)',
	'k = ANY (SELECT s FROM sp_in@ p WHERE p.t = o.t) AND s NOT IN (SELECT s FROM sp_in@ p WHERE p.k = o.k)',
	'(k, n) IN (SELECT k, n FROM sp_in@ p WHERE p.t = o.t)']) x;

-- Beside GROUP BY: in HAVING, and in the select list outside of aggregates.
SET cpu_operator_cost = 0.5;
EXPLAIN (COSTS OFF) SELECT k, sum(n), (SELECT max(n) FROM sp_in_packed p WHERE p.k = o.k) FROM sp_packed o GROUP BY k
	HAVING count(*) > 10 AND NOT EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k AND p.s > 2) ORDER BY k;
SELECT x, sp_check(x) FROM unnest(ARRAY[
	'SELECT k, sum(n), (SELECT max(n) FROM sp_in@ p WHERE p.k = o.k) FROM sp@ o GROUP BY k HAVING count(*) > 10',
	'SELECT k, count(*) FROM sp@ o GROUP BY k HAVING EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k)',
	'SELECT k, count(*) FROM sp@ o GROUP BY k HAVING count(*) < 15 AND NOT EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k)',
	'SELECT k, count(*) FROM sp@ o GROUP BY k HAVING k IN (SELECT k FROM sp_in@)',
	'SELECT k, count(*) FROM sp@ o GROUP BY k HAVING k NOT IN (SELECT k FROM sp_in@ WHERE k IS NOT NULL) OR count(*) > 13',
	'SELECT k, count(*) FROM sp@ o GROUP BY k HAVING count(*) IN (SELECT k FROM sp_in@ p WHERE p.k > o.k) OR k < 3',
	'SELECT s, k, count(*) < (SELECT count(*) FROM sp_in@ p WHERE p.k = o.k AND p.s = o.s) FROM sp@ o GROUP BY s, k',
	'SELECT k, (SELECT max(n) FROM sp_in@ p WHERE p.k = min(o.id)) FROM sp@ o GROUP BY k',
	'SELECT count(*) FROM sp@ o HAVING EXISTS (SELECT FROM sp_in@ p WHERE p.k = max(o.s))',
	'SELECT k + 1, (SELECT count(*) FROM sp_in@ p WHERE p.k = count(DISTINCT o.t)) AS c FROM sp@ o GROUP BY k + 1 HAVING k + 1 < 30 ORDER BY c, 1 LIMIT 9',
	'SELECT (SELECT max(n) FROM sp_in@ p WHERE p.k = o.k) AS m, count(*), sum(id) FROM sp@ o GROUP BY 1 HAVING (SELECT max(n) FROM sp_in@ p WHERE p.k = o.k) > 3',
	'SELECT EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k) AS m, s, count(*), sum(id) FROM sp@ o GROUP BY 1, 2',
	'SELECT k, s, sum(n), grouping(k, s), (SELECT count(*) FROM sp_in@ p WHERE p.k = o.k) FROM sp@ o GROUP BY ROLLUP (k, s)',
	'SELECT k, sum(n), rank() OVER (ORDER BY sum(n), k), CASE WHEN EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k) THEN 1 END FROM sp@ o GROUP BY k',
	'SELECT DISTINCT count(*), EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k) FROM sp@ o GROUP BY k',
	'WITH w AS (SELECT k, n FROM sp_in@ WHERE s > 0) SELECT w.k, sum(n), (SELECT count(*) FROM w v WHERE v.k = w.k) FROM w GROUP BY w.k HAVING sum(n) > (SELECT avg(n) FROM w v WHERE v.k = w.k)',
	'SELECT k, sum(n) FROM sp@ o WHERE s = 2 OR EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k) GROUP BY k HAVING sum(n) > (SELECT 2 * min(n) FROM sp_in@ p WHERE p.k = o.k)',
	'SELECT id, (SELECT sum(c) FROM (SELECT count(*) AS c FROM sp_in@ p WHERE p.k = o.k GROUP BY p.s HAVING EXISTS (SELECT FROM sp@ q WHERE q.k = p.s)) x) FROM sp@ o WHERE id < 30',
	'SELECT * FROM (SELECT k, EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k) AS e, count(*) FROM sp@ o GROUP BY k) x WHERE e AND k > 4']) x;

RESET cpu_operator_cost;

-- Rows of several columns, and comparisons that order: by the least or the greatest.
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR n > ALL (SELECT n FROM sp_in_packed p WHERE p.k = o.k);
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed WHERE n < ANY (SELECT n FROM sp_in_packed p WHERE p.s = 2);
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE (s, t) NOT IN (SELECT s, t FROM sp_in_packed p WHERE p.k = o.k);
SELECT x, sp_check('SELECT id, ' || x || ' FROM sp@ o'), sp_check('SELECT id FROM sp@ o WHERE ' || x), sp_check('SELECT id FROM sp@ o WHERE NOT (' || x || ')') FROM unnest(ARRAY[
	'(s, t) NOT IN (SELECT s, t FROM sp_in@)', '(k, t) NOT IN (SELECT k, t FROM sp_in@ p WHERE p.s = o.s)', '(k, t) IN (SELECT k, t FROM sp_in@)',
	'(k, t) NOT IN (SELECT k, t FROM sp_none@)', '(k, s) NOT IN (SELECT k, s FROM sp_in@ WHERE k IS NOT NULL)', '(k, NULL) NOT IN (SELECT k, t FROM sp_in@ p WHERE p.s = o.s)',
	'(s, id, k) NOT IN (SELECT s, k, s FROM sp_in@)', '(k, t) <> ALL (SELECT k, t FROM sp_in@ WHERE s = 3)', 'k <> ALL (SELECT k FROM sp_in@ WHERE k IS NOT NULL)',
	'k < ANY (SELECT k FROM sp_in@)', 'k < ANY (SELECT k FROM sp_in@ p WHERE p.s = o.s)', 'k > ALL (SELECT k FROM sp_in@ p WHERE p.t = o.t AND k IS NOT NULL)',
	'k > ALL (SELECT k FROM sp_in@ p WHERE p.t = o.t)', 'k >= ALL (SELECT k FROM sp_none@)', 'k >= ANY (SELECT k FROM sp_none@ p WHERE p.s = o.s)',
	'n <= ANY (SELECT n FROM sp_in@ p WHERE p.k = o.k)', 'id > ALL (SELECT k FROM sp_in@ WHERE k < 5)', 't < ANY (SELECT t FROM sp_in@ p WHERE p.k = o.k)',
	't >= ALL (SELECT t FROM sp_in@ p WHERE p.k = o.k)', 's < ALL (SELECT p.s + 1 FROM sp_in@ p WHERE p.k = o.k)', 's > ANY (SELECT s FROM sp_in@ p WHERE p.k = o.k)',
	'NULL::int < ANY (SELECT k FROM sp_in@ p WHERE p.s = o.s)', 'id < ANY (SELECT count(*) FROM sp_in@ GROUP BY k)', 'k < ANY (SELECT DISTINCT k FROM sp_in@ p WHERE p.s = o.s ORDER BY k)',
	'n::float8 > ALL (SELECT f FROM sp_in@ p WHERE p.k = o.k)', 'k <> ANY (SELECT k FROM sp_in@ p WHERE p.s = o.s)', 'k = ALL (SELECT k FROM sp_in@ p WHERE p.s = o.s)',
	'(k, s) < ANY (SELECT k, s FROM sp_in@ p WHERE p.s = o.s)']) x;

-- EXISTS with one comparison that orders, or that tells what is unequal.
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE NOT EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k AND p.n > o.n);
SELECT x, sp_check('SELECT id, ' || x || ' FROM sp@ o'), sp_check('SELECT id FROM sp@ o WHERE ' || x), sp_check('SELECT id FROM sp@ o WHERE NOT ' || x) FROM unnest(ARRAY[
	'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k AND p.n > o.n)', 'EXISTS (SELECT FROM sp_in@ p WHERE o.s >= p.s AND p.t = o.t AND p.n < 40)',
	'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k AND p.s <> o.s)', 'EXISTS (SELECT FROM sp_in@ p WHERE p.s = o.s AND p.t <= o.t || ''x'')',
	'EXISTS (SELECT FROM sp_in@ p WHERE p.n > o.n)', '(k IN (SELECT k FROM sp_in@ p WHERE p.s < o.s))', 'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k AND p.n > o.n AND p.n < o.id)',
	'EXISTS (SELECT DISTINCT s FROM sp_in@ p WHERE p.k = o.k AND p.k + 1 < o.s)', 'EXISTS (SELECT FROM sp_none@ p WHERE p.s = o.s AND p.n > o.n)',
	'EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k AND p.f > o.n::float8 AND o.s > 1)', 'EXISTS (SELECT FROM sp_in@ p, sp@ q WHERE p.k = o.k AND q.id = p.k AND q.n < o.n)']) x;

-- Correlated with nothing, and asked for some rows only.
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR EXISTS (SELECT FROM sp_in_packed p WHERE p.n > 70);
EXPLAIN (COSTS OFF) SELECT count(*) FROM sp_packed o WHERE s = 2 OR n > (SELECT avg(n) FROM sp_in_packed);
SELECT x, sp_check('SELECT id, ' || x || ' FROM sp@ o'), sp_check('SELECT id FROM sp@ o WHERE ' || x), sp_check('SELECT sum(CASE WHEN ' || x || ' THEN id END) FROM sp@ o') FROM unnest(ARRAY[
	's = 2 OR EXISTS (SELECT FROM sp_in@ p WHERE p.n > 70)', 's = 2 OR NOT EXISTS (SELECT FROM sp_none@)', 's = 2 OR n > (SELECT avg(n) FROM sp_in@)',
	'CASE WHEN s > 1 THEN EXISTS (SELECT FROM sp_in@ p ORDER BY k) ELSE k < (SELECT max(s) FROM sp_in@) END', 'coalesce(k, (SELECT count(*) FROM sp_none@)) < 9',
	's = 2 OR n > (SELECT sum(n) / count(n) FROM sp_none@)', 's = 5 OR id < (SELECT 1 / count(*) FROM sp_in@)', 's = 2 OR n > (SELECT n FROM sp_in@ ORDER BY n LIMIT 1)']) x;
-- What might raise an error is asked for as before.
SELECT count(*) FROM sp_packed WHERE s < 9 OR id < (SELECT 1 / count(*) FROM sp_none_packed);

-- A test does not tell which groups there are that it needs itself.
SELECT x, sp_check('SELECT id FROM sp@ o WHERE ' || x) FROM unnest(ARRAY[
	'(id NOT IN (SELECT s FROM sp_in@) OR id IS NULL) AND n < (SELECT count(*) FROM sp_in@ p WHERE p.k = o.id)',
	'(id IN (SELECT k FROM sp_in@) OR s = 9) AND (id NOT IN (SELECT s FROM sp_in@) OR s = 8)',
	'k < 20 AND (s > 2 OR NOT EXISTS (SELECT FROM sp_in@ p WHERE p.k = o.k))']) x;

-- Each stays, and EXPLAIN says why.
CREATE FUNCTION sp_stays(test text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; reason text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM sp_packed o WHERE s = 1 OR ' || test LOOP
		IF line ~ ': subquery' THEN reason := line; END IF;
	END LOOP;
	RETURN coalesce(reason, 'nothing to say');
END $$;
SELECT x, sp_stays(x) FROM unnest(ARRAY['EXISTS (SELECT FROM sp_in_packed p WHERE p.k < o.k AND p.s < o.s)',
	'EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k AND random() < 2)', 'EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k OFFSET 1)',
	'EXISTS (SELECT count(*) FROM sp_in_packed p WHERE p.k = o.k)', 'EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k AND 1 / s > 0)',
	'EXISTS (SELECT FROM sp_in_packed p WHERE p.k = o.k / s)', 'k IN (SELECT k FROM sp_in_packed p WHERE p.s IS DISTINCT FROM o.s)',
	'(k, s) < ANY (SELECT k, s FROM sp_in_packed p WHERE p.s = o.s)']) x;

-- Rows that a policy or a security barrier hides are not found.
CREATE ROLE regress_sp_reader;
CREATE VIEW sp_barrier WITH (security_barrier) AS SELECT k, s FROM sp_in_packed WHERE s = 1;
GRANT SELECT ON sp_packed, sp_in_packed, sp_barrier TO regress_sp_reader;
ALTER TABLE sp_in_packed ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON sp_in_packed USING (n < 3);
SET ROLE regress_sp_reader;
SELECT count(*) FILTER (WHERE k IN (SELECT k FROM sp_in_packed)) AS seen, count(*) FILTER (WHERE k NOT IN (SELECT k FROM sp_in_packed WHERE k > 0)) AS unseen,
	count(*) FILTER (WHERE EXISTS (SELECT FROM sp_barrier b WHERE b.k = o.k)) AS through FROM sp_packed o;
SET gpucol.pushdown = forbid;
SELECT count(*) FILTER (WHERE k IN (SELECT k FROM sp_in_packed)) AS seen, count(*) FILTER (WHERE k NOT IN (SELECT k FROM sp_in_packed WHERE k > 0)) AS unseen,
	count(*) FILTER (WHERE EXISTS (SELECT FROM sp_barrier b WHERE b.k = o.k)) AS through FROM sp_packed o;
RESET gpucol.pushdown;
-- A function that the statement does not call is not called where its user may not.
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION count("any") FROM PUBLIC;
SET ROLE regress_sp_reader;
SELECT bool_or(k NOT IN (SELECT k FROM sp_in_packed WHERE k > 0)) AS unseen FROM sp_packed o;
ROLLBACK;
DROP VIEW sp_barrier;
DROP TABLE sp_heap, sp_packed, sp_in_heap, sp_in_packed, sp_none_heap, sp_none_packed;
DROP ROLE regress_sp_reader;
DROP FUNCTION sp_check, sp_stays;
