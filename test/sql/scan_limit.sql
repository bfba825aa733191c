-- Of a scan that ends early PostgreSQL computes no row behind the last one: an error
-- that such a row would raise does not appear, though engines compute windows of rows.
SET client_min_messages = warning;
CREATE SCHEMA scan_limit;
SET search_path = scan_limit, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.pushdown = require;

-- the error is in a segment's first vector, in later ones, and in the delta
CREATE TABLE packed USING gpucol AS SELECT i, CASE WHEN i IN (500, 50000) THEN 0 ELSE 1 END x, CASE WHEN i = 3000 THEN 2147483647 ELSE i % 5 END z,
	CASE WHEN i = 70000 THEN 1e308::float8 ELSE 1 END f, 's' || i % 9 s FROM generate_series(1, 100000) i;
CREATE TABLE delta (i int, x int, s text) USING gpucol;
INSERT INTO delta SELECT i, i - 500, 's' || i % 9 FROM generate_series(1, 900) i;
SELECT count(*) FROM gpucol.segments('packed');
SELECT count(*) FROM gpucol.segments('delta');
EXPLAIN (COSTS OFF) SELECT i FROM packed WHERE 10 / x > 0 LIMIT 3;

CREATE FUNCTION limited(query text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE rows text;
BEGIN
	EXECUTE format('SELECT count(*) || '' rows, last '' || max(i) FROM (%s LIMIT %s) q', query, n) INTO rows;
	RETURN rows;
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
CREATE FUNCTION first_error(query text) RETURNS TABLE (threads text, before text, error text) LANGUAGE plpgsql AS $$
DECLARE lo int; hi int; n int;
BEGIN
	FOREACH threads IN ARRAY ARRAY['1', '4'] LOOP
		PERFORM set_config('gpucol.cpu_threads', threads, true);
		lo := 0; hi := 131072;
		WHILE hi - lo > 1 LOOP
			n := (lo + hi) / 2;
			IF limited(query, n) LIKE '%rows%' THEN lo := n; ELSE hi := n; END IF;
		END LOOP;
		before := limited(query, lo); error := limited(query, hi);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM first_error('SELECT i FROM packed WHERE 10 / x > 0');
SELECT * FROM first_error('SELECT i FROM packed WHERE z + 1 > 0');
SELECT * FROM first_error('SELECT i FROM packed WHERE z + 1 > 0 AND i % 4 = 0 AND s <> ''s3''');
SELECT * FROM first_error('SELECT i FROM packed WHERE 10 / x > 0 AND i <> 500');
SELECT * FROM first_error('SELECT i FROM packed WHERE f * 10 > 0');
SELECT * FROM first_error('SELECT i FROM packed WHERE i > 499 AND 10 / x > 0');
SELECT * FROM first_error('SELECT i FROM delta WHERE 10 / x > -100');
SELECT * FROM first_error('SELECT i FROM delta WHERE 10 / x > -100 AND s IN (''s4'', ''s5'')');

-- other ways to end early
SELECT EXISTS (SELECT FROM packed WHERE 10 / x > 0), (SELECT i FROM packed WHERE 10 / x > 0 LIMIT 1);
BEGIN;
DECLARE c CURSOR FOR SELECT i FROM packed WHERE 10 / x > 0;
FETCH 2 FROM c;
MOVE 496 IN c;
FETCH 1 FROM c;
FETCH 1 FROM c;
ROLLBACK;
CREATE FUNCTION until(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT i FROM packed WHERE 10 / x > 0 LOOP EXIT WHEN r.i >= n; END LOOP;
	RETURN r.i;
END $$;
SELECT until(20);
SELECT until(460);
SELECT until(500);

-- who reads all rows gets the error
SELECT count(*) FROM packed WHERE 10 / x > 0;
SELECT i FROM packed WHERE 10 / x > 0 ORDER BY i LIMIT 3;
CREATE TABLE copy AS SELECT i FROM packed WHERE 10 / x > 0;

SET client_min_messages = error;
DROP SCHEMA scan_limit CASCADE;
