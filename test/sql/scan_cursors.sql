-- Cursors over gpucol nodes: backwards, held, and as the place of an UPDATE; the
-- same with pushdown forbidden, where rows come from PostgreSQL's own scan.
SET client_min_messages = warning;
CREATE SCHEMA scan_cursors;
SET search_path = scan_cursors, public;
CREATE TABLE t (a int, b int, c text) USING gpucol;
INSERT INTO t SELECT i, i % 7, 'c' || i % 5 FROM generate_series(1, 3000) i;
INSERT INTO t SELECT i, i % 7, 'delta' FROM generate_series(3001, 3010) i;
ANALYZE t;

-- What a cursor over a query delivers for some FETCH and MOVE
CREATE FUNCTION fetched(options text, query text, steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	step text;
	r record;
	result text := '';
BEGIN
	EXECUTE format('DECLARE one %s CURSOR FOR %s', options, query);
	FOREACH step IN ARRAY steps LOOP
		EXECUTE 'FETCH ' || step || ' FROM one' INTO r;
		result := result || step || ': ' || coalesce(r::text, 'none') || E'\n';
	END LOOP;
	EXECUTE 'CLOSE one';
	RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
CREATE FUNCTION both_ways(options text, query text, steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	a := fetched(options, query, steps);
	PERFORM set_config('gpucol.pushdown', 'require', true);
	b := fetched(options, query, steps);
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	RETURN CASE WHEN a = b THEN NULL ELSE format(E'%s\nforbid: %s\nrequire: %s', query, a, b) END;
END $$;
SELECT d FROM unnest(ARRAY[
	'SELECT a, c FROM t WHERE b = 3 ORDER BY a', 'SELECT b, count(*) FROM t GROUP BY b ORDER BY b', 'SELECT a FROM t WHERE c = ''delta'' ORDER BY a DESC',
	'SELECT left(c, 1), min(c), count(*) FROM t GROUP BY 1 ORDER BY 1', 'SELECT a FROM t ORDER BY a LIMIT 5', 'SELECT a FROM t WHERE a < 0 ORDER BY a'
]) q, both_ways('SCROLL', q, '{NEXT,NEXT,PRIOR,LAST,PRIOR,ABSOLUTE 2,RELATIVE 1,ABSOLUTE -1,FIRST,PRIOR,NEXT}') d WHERE d IS NOT NULL;
SELECT fetched('SCROLL', 'SELECT a, c FROM t WHERE b = 3 ORDER BY a', '{NEXT,NEXT,PRIOR,LAST,PRIOR,FIRST,PRIOR}');
SELECT d FROM both_ways('SCROLL', 'SELECT count(*) OVER (), a FROM t WHERE b = 2', '{LAST,NEXT,PRIOR,PRIOR}') d WHERE d IS NOT NULL;
SELECT d FROM both_ways('NO SCROLL', 'SELECT a FROM t WHERE b = 2 ORDER BY a', '{NEXT,PRIOR}') d WHERE d IS NOT NULL;

-- WHERE CURRENT OF the row that a scan has delivered, in a segment and in the delta
SET gpucol.pushdown = require;
BEGIN;
DECLARE w CURSOR FOR SELECT a, c FROM t WHERE a IN (10, 11, 3005);
EXPLAIN (COSTS OFF) DECLARE w2 CURSOR FOR SELECT a, c FROM t WHERE a IN (10, 11, 3005);
FETCH 1 FROM w;
UPDATE t SET c = 'first' WHERE CURRENT OF w;
FETCH 1 FROM w;
DELETE FROM t WHERE CURRENT OF w;
FETCH 1 FROM w;
UPDATE t SET c = 'third' WHERE CURRENT OF w;
DELETE FROM t WHERE CURRENT OF w;
FETCH 1 FROM w;
SELECT a, c FROM t WHERE a IN (10, 11, 3005) ORDER BY a;
ROLLBACK;
BEGIN;
DECLARE w CURSOR FOR SELECT a, c FROM t WHERE a IN (10, 3005) FOR UPDATE;
FETCH 1 FROM w;
UPDATE t SET c = 'locked' WHERE CURRENT OF w;
FETCH 1 FROM w;
UPDATE t SET c = 'locked' WHERE CURRENT OF w;
SELECT a, c FROM t WHERE a IN (10, 3005) ORDER BY a;
ROLLBACK;
BEGIN;
DECLARE w CURSOR FOR SELECT b, count(*) FROM t GROUP BY b;
FETCH 1 FROM w;
UPDATE t SET c = 'no row' WHERE CURRENT OF w;
ROLLBACK;

-- a cursor sees its own snapshot, and holds its rows past the transaction
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT a FROM t WHERE b = 3 ORDER BY a;
DELETE FROM t WHERE b = 3;
FETCH 2 FROM h;
COMMIT;
FETCH 1 FROM h;
FETCH BACKWARD 1 FROM h;
CLOSE h;
SELECT count(*) FROM t WHERE b = 3;

-- rescans with changed parameters, under generic plans too
SET plan_cache_mode = force_generic_plan;
PREPARE q(int, text) AS SELECT x, (SELECT count(*) FROM t WHERE b = x AND c < $2), (SELECT min(c) FROM t WHERE a > x * $1)
FROM generate_series(0, 4) x ORDER BY x;
EXECUTE q(700, 'c3');
EXECUTE q(NULL, NULL);
RESET plan_cache_mode;
SELECT x, y.a FROM generate_series(1, 3) x, LATERAL (SELECT a FROM t WHERE b = x ORDER BY a LIMIT 1) y ORDER BY x;

SET client_min_messages = error;
DROP SCHEMA scan_cursors CASCADE;
