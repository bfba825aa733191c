--
-- CASE, COALESCE, NULLIF, GREATEST and LEAST of a recursive term, computed by the engine: only the branch that is taken
-- raises errors.
--
SET client_min_messages = warning;
SET session_preload_libraries = 'gpucol';
LOAD 'gpucol';
CREATE SCHEMA recursive_branches;
SET search_path = recursive_branches, public;
SET gpucol.engine = cpu;

CREATE TABLE a (id int, x int, y bigint, s text, d date, b bool) USING gpucol;
INSERT INTO a SELECT i, CASE WHEN i % 5 > 0 THEN i % 7 - 3 END, CASE WHEN i % 4 > 0 THEN i * 1000000000::bigint END, (ARRAY['car', 'bus', 'walk', NULL])[1 + i % 4],
	CASE WHEN i % 6 > 0 THEN date '2024-01-01' + i END, CASE WHEN i % 3 > 0 THEN i % 2 = 0 END FROM generate_series(1, 60) i;
INSERT INTO a VALUES (61, 2147483647, 9223372036854775807, '', 'infinity', true), (62, -2147483648, -9223372036854775808, 'car', '-infinity', false), (63, 0, 0, 'bus', NULL, NULL);
CREATE TABLE h AS SELECT * FROM a;
VACUUM ANALYZE a, h;

-- What an expression of r.x and the row `t` of each round gives, by PostgreSQL and by the engine; how many PostgreSQL computed.
CREATE FUNCTION alike(expr text, type text DEFAULT 'int') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('WITH RECURSIVE r(n, id, v) AS (SELECT 0, id, NULL::%2$s FROM SOURCE UNION ALL SELECT n + 1, t.id, (%1$s)::%2$s FROM r JOIN SOURCE t ON t.id = r.id '
		'WHERE n < 3) SELECT count(*) || '' '' || coalesce(string_agg(concat_ws('','', n, id, v), '' '' ORDER BY n, id), '''') FROM r', expr, type);
	results text[] := '{}';
	result text;
	line text;
	computed text := '0';
BEGIN
	FOR i IN 1 .. 2 LOOP
		PERFORM set_config('gpucol.enabled', CASE i WHEN 1 THEN 'off' ELSE 'on' END, true);
		BEGIN
			EXECUTE replace(query, 'SOURCE', CASE i WHEN 1 THEN 'h' ELSE 'a' END) INTO result;
		EXCEPTION WHEN OTHERS THEN
			result := SQLERRM;
		END;
		results := results || result;
	END LOOP;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || replace(query, 'SOURCE', 'a') LOOP
			computed := coalesce(substring(line FROM 'Computed by PostgreSQL: (.*)'), computed);
			computed := CASE WHEN line ~ 'Recursive Union' THEN 'all' ELSE computed END;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN computed := '-';
	END;
	IF results[1] IS DISTINCT FROM results[2] THEN
		RETURN format(E'%s\n%s', left(results[1], 300), left(results[2], 300));
	END IF;
	RETURN format('alike, by PostgreSQL %s%s', computed, CASE WHEN results[1] ~ '^\d' THEN '' ELSE ': ' || results[1] END);
END $$;

SELECT e, alike(e) FROM unnest(ARRAY[
	'CASE WHEN t.x > 0 THEN t.x ELSE -1 END',
	'CASE WHEN t.x > 0 THEN t.x END',
	'CASE t.s WHEN ''car'' THEN t.x WHEN ''bus'' THEN n ELSE 5 END',
	'CASE t.x WHEN 1 THEN 10 WHEN NULL THEN 11 WHEN n THEN 12 END',
	-- divisions by zero and overflows in branches that are taken, and in those that are not
	'CASE WHEN t.x <> 0 THEN 100 / t.x ELSE 0 END',
	'CASE WHEN t.x = 0 THEN -1 WHEN 100 / t.x > 20 THEN 1 ELSE 2 END',
	'CASE WHEN t.x = 1 THEN 100 / t.x ELSE 100 / (t.x - 1) END',
	'CASE WHEN t.id < 61 THEN t.x * 1000 + 1 END',
	'CASE WHEN t.id < 62 THEN t.x * 1000 + 1 END',
	'CASE WHEN t.id < 61 THEN CASE WHEN t.x < 0 THEN -t.x WHEN n = 2 THEN t.x * t.x ELSE t.x + n END ELSE 7 END',
	'CASE WHEN t.b THEN 1 WHEN NOT t.b THEN 2 ELSE 3 END',
	'CASE WHEN t.b AND t.x > 0 OR t.x IS NULL THEN n END',
	'CASE WHEN t.id > 60 THEN 0 ELSE (t.y / 1000000000)::int END',
	'(CASE WHEN t.y < 2000000000 THEN t.y ELSE 1 END)::int',
	'coalesce(t.x, n)', 'coalesce(t.x, n, 1 / (n - n))', 'coalesce(nullif(t.x, 0), 9)', 'coalesce(CASE WHEN t.x <> 0 THEN 12 / t.x END, -1)',
	'coalesce(t.x, 1 / n)', 'nullif(t.x, n)', 'nullif(n, t.x) + 1',
	'least(t.x, n)', 'greatest(t.x, n, 2)', 'least(t.x, NULL, 3)', 'greatest(least(t.x, 12), -1) * 2',
	'CASE WHEN t.x > 0 THEN least(t.x, 2) * n ELSE coalesce(t.x, 0) END',
	-- what formulas compute
	'CASE WHEN t.x > 0 AND 1 / t.x > 0 THEN 1 END', 'CASE WHEN length(t.s) > 3 THEN 1 ELSE 2 END', 'greatest(length(t.s), 2)']) e;
SELECT e, alike(e, 'text') FROM unnest(ARRAY['CASE WHEN t.x > 0 THEN t.s ELSE ''none'' END', 'coalesce(t.s, ''none'')', 'nullif(t.s, ''bus'')', 'CASE t.s WHEN ''car'' THEN NULL WHEN ''bus'' THEN ''BUS'' ELSE t.s END',
	'greatest(t.s, ''b'')']) e;
SELECT e, alike(e, 'date') FROM unnest(ARRAY['least(t.d, date ''2024-01-20'')', 'coalesce(nullif(t.d, ''infinity''), ''2000-01-01'')', 'CASE WHEN t.d < ''2024-02-01'' THEN t.d END']) e;
SELECT e, alike(e, 'bool') FROM unnest(ARRAY['CASE WHEN t.x > 0 THEN t.b ELSE t.x IS NULL END', 'coalesce(t.b, false)', 'coalesce(t.b, t.x < 0) AND t.id > 5']) e;

-- as conditions, and where the value decides about the next round
WITH RECURSIVE r(n, x) AS (SELECT 0, 7 UNION ALL SELECT n + 1, CASE WHEN x % 2 = 0 THEN x / 2 ELSE 3 * x + 1 END FROM r WHERE CASE WHEN x > 1 THEN true ELSE n < 2 END)
SELECT string_agg(x::text, ' ' ORDER BY n) FROM r;
EXPLAIN (VERBOSE, COSTS OFF) WITH RECURSIVE r(id, x) AS (SELECT id, x FROM a UNION SELECT a.id, CASE WHEN r.x < a.x THEN r.x ELSE a.x END FROM r JOIN a ON a.id = r.id + 1) SELECT count(*) FROM r;

DROP SCHEMA recursive_branches CASCADE;
