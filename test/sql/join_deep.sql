-- Tables within tables, each joined by the key of the next: a column is followed through all of their keys,
-- in as many steps as there are tables, not in as many as there are ways.
CREATE SCHEMA join_deep;
SET search_path = join_deep, public;
SET client_min_messages = warning;
-- the further down, the more rows, one of two values of l with no row above
DO $$
BEGIN
	FOR t IN 1..30 LOOP
		EXECUTE format('CREATE TABLE t%s (k int, l int, x int) USING gpucol', t);
		EXECUTE format('INSERT INTO t%s SELECT i, i %% %s, CASE WHEN i %% 7 > 0 THEN i END FROM generate_series(1, %s) i', t, 20 * t - 10, 20 * t);
		EXECUTE format('UPDATE t%s SET l = NULL WHERE k %% 9 = 1', t);
		EXECUTE format('CREATE TABLE h%s USING heap AS SELECT * FROM t%1$s', t);
		EXECUTE format('ANALYZE t%s, h%1$s', t);
	END LOOP;
END
$$;
-- t1 JOIN (t2 JOIN (t3 ... ON t2.k = t3.l) ON t1.k = t2.l
CREATE FUNCTION chain(name text, n int, kind text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	text text := name || n;
BEGIN
	FOR t IN REVERSE n - 1 .. 1 LOOP
		text := format('%1$s%2$s %3$s %4$s ON %1$s%2$s.k = %1$s%5$s.l', name, t, kind, CASE WHEN t < n - 1 THEN '(' || text || ')' ELSE text END, t + 1);
	END LOOP;
	RETURN text;
END
$$;
CREATE FUNCTION check_chain(n int, kind text, what text) RETURNS TABLE (fine boolean, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(format('SELECT %s FROM %s GROUP BY %1$s', what, chain('t', n, kind)), '@', 't');
	heap text := replace(format('SELECT %s FROM %s GROUP BY %1$s', what, chain('h', n, kind)), '@', 'h');
BEGIN
	ours := regexp_replace(ours, ' FROM', ', count(*), sum(' || 't' || n || '.x) FROM');
	heap := regexp_replace(heap, ' FROM', ', count(*), sum(' || 'h' || n || '.x) FROM');
	RETURN QUERY EXECUTE format('SELECT NOT EXISTS ((SELECT * FROM (%s) a EXCEPT ALL SELECT * FROM (%s) b) UNION ALL '
		'(SELECT * FROM (%2$s) c EXCEPT ALL SELECT * FROM (%1$s) d)), (SELECT count(*) FROM (%1$s) e)', ours, heap);
END
$$;
SET join_collapse_limit = 1;
SELECT n, kind, what, (check_chain(n, kind, what)).*
FROM unnest(ARRAY[2, 9, 30]) n, unnest(ARRAY['JOIN', 'LEFT JOIN']) kind, unnest(ARRAY['@1.k', '@2.l, @2.k', '@1.x, @' || n || '.l']) what
ORDER BY 1, 2, 3;
SET gpucol.pushdown = require;
SELECT format('SELECT count(*), sum(t30.k), min(t2.l), max(t15.k) FROM %s', chain('t', 30, 'JOIN')) \gexec
SET gpucol.enable_join = off;
RESET gpucol.pushdown;
SELECT format('SELECT count(*), sum(h30.k), min(h2.l), max(h15.k) FROM %s', chain('h', 30, 'JOIN')) \gexec
DROP SCHEMA join_deep CASCADE;
