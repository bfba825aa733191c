-- Conditions on numerics without a precision: comparisons with constants and lists of them, alone, combined and
-- inside of larger conditions, are decided by the order of values.
CREATE SCHEMA match_numeric;
SET search_path = match_numeric, public;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.77);
CREATE TABLE h AS SELECT i AS id,
	-- packed as mantissas; of any digits and scale; with what is no number
	CASE WHEN i % 31 <> 0 THEN (random() * 2000 - 1000)::numeric(10, 2)::numeric END AS a,
	CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN (i % 50) * 1e30::numeric WHEN 2 THEN -(i % 50) * 1e-30::numeric WHEN 3 THEN (i % 10)::numeric(10, 5)::numeric ELSE (random() * 20 - 10)::numeric END AS w,
	CASE i % 11 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN NULL ELSE (i % 10 - 4)::numeric / 2 END AS s,
	(i % 5)::numeric AS few, i % 3 AS z, (ARRAY['a', 'b', 'c'])[1 + i % 3] AS t
	FROM generate_series(1, 5000) i;
CREATE TABLE g USING gpucol AS TABLE h;
DELETE FROM g WHERE id % 20 = 3; DELETE FROM h WHERE id % 20 = 3;
INSERT INTO g SELECT id + 20000, w, a, s, few, z, t FROM h WHERE id < 700;
INSERT INTO h SELECT id + 20000, w, a, s, few, z, t FROM h WHERE id < 700;
ANALYZE g, h;
CREATE TABLE wrong (condition text, way text);
CREATE FUNCTION compare(condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	c text;
	way text;
BEGIN
	FOREACH way IN ARRAY ARRAY['%s', (ARRAY['NOT (%s)', 'z = 1 OR %s', '(%s) IS NULL', 'CASE WHEN %s THEN z > 0 ELSE t = ''a'' END'])[1 + ascii(md5(condition)) % 4]] LOOP
		c := format(way, condition);
		EXECUTE format('SELECT count(*) FROM ((SELECT id FROM g WHERE %1$s) EXCEPT ALL (SELECT id FROM h WHERE %1$s)) x', c) INTO n;
		EXECUTE format('SELECT $1 + abs((SELECT count(*) FROM g WHERE %1$s) - (SELECT count(*) FROM h WHERE %1$s))', c) INTO n USING n;
		IF n <> 0 THEN INSERT INTO wrong VALUES (c, way); END IF;
	END LOOP;
END $$;
CREATE FUNCTION packed_bytes(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM g WHERE ' || condition LOOP
		IF line ~ 'Packed Bytes' THEN RETURN line; END IF;
	END LOOP;
END $$;
SET gpucol.pushdown = require;
DO $$
DECLARE
	x text;
	y text;
	col text;
	op text;
	constants text[] := ARRAY['0', '-0.0', '1.5', '-2', '100.00', '-3e-30', '7e30', '2.50000', '0.000000001', '10000', '-9999.9999', '1e-40', '''NaN''', '''Infinity''', '''-Infinity'''];
BEGIN
	FOREACH col IN ARRAY ARRAY['a', 'w', 's', 'few'] LOOP
		FOREACH x IN ARRAY constants LOOP
			FOREACH op IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>='] LOOP
				PERFORM compare(format('%s %s %s::numeric', col, op, x));
			END LOOP;
			y := constants[1 + (length(x) * 7 + ascii(col)) % 15];
			PERFORM compare(format('%1$s BETWEEN SYMMETRIC %2$s::numeric AND %3$s::numeric', col, x, y));
			PERFORM compare(format('(%1$s < %2$s::numeric OR %1$s > %3$s::numeric OR %1$s = 1)', col, x, y));
			PERFORM compare(format('(%1$s <= %2$s::numeric AND %1$s <> %3$s::numeric OR NOT %1$s > -5)', col, x, y));
			PERFORM compare(format('%1$s IN (%2$s::numeric, %3$s::numeric, 1, 1.0, 2)', col, x, y));
			PERFORM compare(format('%1$s NOT IN (%2$s::numeric, %3$s::numeric, 0)', col, x, y));
			PERFORM compare(format('%1$s IN (%2$s::numeric, NULL, %3$s::numeric)', col, x, y));
			PERFORM compare(format('(%1$s > %2$s::numeric OR %1$s IS NULL)', col, x));
		END LOOP;
	END LOOP;
END $$;
TABLE wrong;
-- many of a list; none; parameters
SELECT count(*) FROM g WHERE a = ANY (ARRAY(SELECT i / 100.0 FROM generate_series(1, 3000) i));
SELECT count(*) FROM h WHERE a = ANY (ARRAY(SELECT i / 100.0 FROM generate_series(1, 3000) i));
SELECT count(*) FROM g WHERE a = ANY ('{}'::numeric[]);
PREPARE q(numeric, numeric) AS SELECT count(*) FROM g WHERE a < $1 OR a >= $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE q(-500, 500); EXECUTE q(NULL, 500); EXECUTE q('NaN', 0);
SELECT count(*) FILTER (WHERE a < -500 OR a >= 500), count(*) FILTER (WHERE a >= 500), count(*) FILTER (WHERE a < 'NaN') FROM h;
-- the order of packed words decides: nothing is read where no value can be among them
SELECT packed_bytes('a BETWEEN SYMMETRIC 9000 AND 8000'), packed_bytes('(a > 8000 OR a < -8000)'), packed_bytes('a IN (8000, 8001.50, 0.001)');
SET client_min_messages = warning;
DROP SCHEMA match_numeric CASCADE;
