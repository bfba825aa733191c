-- Comparisons of rows, (a, b) < (x, y), on engines: column by column, as far as they are alike.
CREATE SCHEMA row_compare;
SET search_path = row_compare, public;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.31);
CREATE TABLE h AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 40 END AS a, CASE WHEN i % 17 <> 0 THEN (i * 7) % 11 END::bigint AS b,
	CASE WHEN i % 19 <> 0 THEN (random() * 9)::numeric(4, 1) END AS c, CASE WHEN i % 23 <> 0 THEN 'name ' || i % 29 END AS t,
	date '2024-01-01' + i % 100 AS d, (ARRAY['NaN', '-Infinity', '0', '1.5', 'Infinity'])[1 + i % 5]::float8 AS f, i % 7 AS z
	FROM generate_series(1, 12000) i;
CREATE TABLE g USING gpucol AS TABLE h;
-- deleted rows, and a delta
DELETE FROM g WHERE id % 10 = 3; DELETE FROM h WHERE id % 10 = 3;
INSERT INTO g SELECT id + 20000, a, b, c, t, d, f, z FROM h WHERE id < 700;
INSERT INTO h SELECT id + 20000, a, b, c, t, d, f, z FROM h WHERE id < 700;
ANALYZE g, h;
CREATE TABLE wrong (condition text);
-- rows that a condition takes, and what it is of each row
DO $$
DECLARE
	condition text;
	op text;
	n bigint;
BEGIN
	FOREACH op IN ARRAY ARRAY['<', '<=', '>', '>='] LOOP
		FOREACH condition IN ARRAY ARRAY['(a, b) %s (20, 5)', '(a, b, c) %s (20, 5, 4.5)', '(t, id) %s (''name 17'', 5000)', '(b, a) %s (5.0, 20)',
			'(d, t, a) %s (date ''2024-02-10'', ''name 3'', 7)', '(f, a) %s (''NaN'', 20)', '(f, f) %s (1.5, ''Infinity'')', '(20, a) %s (a, 30)', '(a, b) %s (b, a)',
			'(c, id + a) %s (4.5, 6000)', '(a, NULL::int) %s (20, 5)', '(a, b) %s (NULL, 5)', '(lower(t), a) %s (''name 17'', 3)', '(a, 100 / (z - 3)) %s (41, 20)',
			'(a, 100 / nullif(b, 0)) %s (20, 20)', '(CASE WHEN z <> 3 THEN a END, 100 / nullif(z - 3, 0)) %s (20, 20)'] LOOP
			condition := format(condition, op);
			EXECUTE format('SET gpucol.pushdown = off; SELECT count(*) FROM ((SELECT id FROM h WHERE %1$s) EXCEPT ALL (SELECT id FROM g WHERE %1$s)) x', condition) INTO n;
			IF n <> 0 THEN INSERT INTO wrong VALUES (condition || ' off'); END IF;
			EXECUTE format('SET gpucol.pushdown = require; SELECT count(*) FROM (SELECT * FROM (SELECT id FROM g WHERE %1$s) s) x', condition) INTO n;
			EXECUTE format('SELECT $1 - count(*) FROM h WHERE %1$s', condition) INTO n USING n;
			IF n <> 0 THEN INSERT INTO wrong VALUES (condition || ' scan'); END IF;
			EXECUTE format('SELECT count(*) FROM ((SELECT %1$s AS k, count(*), sum(id) FROM g GROUP BY 1) EXCEPT ALL (SELECT %1$s AS k, count(*), sum(id) FROM h GROUP BY 1)) x', condition) INTO n;
			IF n <> 0 THEN INSERT INTO wrong VALUES (condition || ' key'); END IF;
			EXECUTE format('SELECT count(*) FROM ((SELECT id FROM g WHERE NOT (%1$s) OR z = 1) EXCEPT ALL (SELECT id FROM h WHERE NOT (%1$s) OR z = 1)) x', condition) INTO n;
			IF n <> 0 THEN INSERT INTO wrong VALUES (condition || ' not'); END IF;
		END LOOP;
	END LOOP;
END $$;
TABLE wrong;
SET gpucol.pushdown = require;
-- no column is computed behind one that differs or is NULL; the error of one that is needed is raised
SELECT count(*) FROM g WHERE (a, 100 / (z - 3)) < (20, 5);
SELECT count(*) FROM g WHERE (id, 100 / (z - 3)) < (20, 5);
-- pages of a list by the key of the last row; vectors behind it are not read
EXPLAIN (COSTS OFF) SELECT id, a FROM g WHERE (id, a) > (11990, 3) ORDER BY id, a LIMIT 3;
SELECT id, a FROM g WHERE (id, a) > (11990, 3) ORDER BY id, a LIMIT 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM g JOIN h ON g.id = h.id WHERE (g.a, g.b) < (h.b, h.a);
SELECT count(*) FROM g JOIN h ON g.id = h.id WHERE (g.a, g.b) < (h.b, h.a);
SELECT count(*) FROM h AS g JOIN h ON g.id = h.id WHERE (g.a, g.b) < (h.b, h.a);
PREPARE page(int, int) AS SELECT count(*) FROM g WHERE (a, id) >= ($1, $2);
SET plan_cache_mode = force_generic_plan;
EXECUTE page(30, 500); EXECUTE page(NULL, 500); EXECUTE page(30, NULL);
SELECT count(*) FILTER (WHERE (a, id) >= (30, 500)), count(*) FILTER (WHERE (a, id) >= (NULL, 500)), count(*) FILTER (WHERE (a, id) >= (30, NULL)) FROM h;
SET client_min_messages = warning;
DROP SCHEMA row_compare CASCADE;
