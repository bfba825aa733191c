-- Rows of a plan that are looked at before an engine reads them are kept: within work_mem, then in a share of what
-- queries may hold, then in a temporary file.
CREATE SCHEMA kept_rows;
SET search_path = kept_rows, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE h (id int, k int, n numeric(9,2), t text, q int);
INSERT INTO h SELECT i, i % 1000, nullif(i % 2777, 0) * 0.25, CASE WHEN i % 13 > 0 THEN 'text ' || i % 2000 END, nullif(i % 50, 3) FROM generate_series(1, 40000) i;
CREATE TABLE p USING gpucol AS SELECT * FROM h;
INSERT INTO p SELECT id + 500000, k, n, t, q FROM h WHERE id % 1000 = 0;
INSERT INTO h SELECT id + 500000, k, n, t, q FROM h WHERE id % 1000 = 0;
DELETE FROM p WHERE id % 77 = 0;
DELETE FROM h WHERE id % 77 = 0;
ANALYZE h, p;
CREATE FUNCTION check_rows(query text, OUT fine boolean, OUT rows bigint, OUT total numeric) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(query, '@', 'p');
	heap text := replace(query, '@', 'h');
BEGIN
	EXECUTE 'CREATE TEMP TABLE ours AS ' || ours;
	SET LOCAL temp_file_limit = -1;
	EXECUTE 'CREATE TEMP TABLE heap AS ' || heap;
	SELECT NOT EXISTS ((TABLE ours EXCEPT ALL TABLE heap) UNION ALL (TABLE heap EXCEPT ALL TABLE ours)) INTO fine;
	SELECT count(*), sum(s) FROM ours INTO rows, total;
	DROP TABLE ours, heap;
END
$$;
\set numbers 'SELECT k, sum(x) AS s, count(*) FROM (SELECT id, k, n - coalesce(q, 0.0) AS x FROM @ WHERE id > 7 UNION SELECT id + 1, k, n * 2 - coalesce(q, 0.00) FROM @ WHERE k < 900) u GROUP BY k'
\set texts 'SELECT t, sum(x) AS s, count(*) FROM (SELECT id, t, n - coalesce(q, 0.0) AS x FROM @ UNION SELECT id + 1, ''x'' || k, n * 2 - coalesce(q, 0.00) FROM @) u GROUP BY t'
\set nothing 'SELECT k, sum(x) AS s, count(*) FROM (SELECT id, k, n - coalesce(q, 0.0) AS x FROM @ WHERE id < 0 UNION SELECT id + 1, k, n * 2 - coalesce(q, 0.00) FROM @ WHERE k < 0) u GROUP BY k'
SELECT l AS memory_limit, w AS work_mem, set_config('gpucol.memory_limit', l, false) IS NULL AS x, set_config('work_mem', w, false) IS NULL AS y, (check_rows(q)).*
FROM unnest(ARRAY['4MB', '24MB', '512MB']) l, unnest(ARRAY['64kB', '64MB']) w, unnest(ARRAY[:'numbers', :'texts']) q;
SELECT (check_rows(:'nothing')).*;
-- no file is needed where there is memory
SET gpucol.memory_limit = '512MB';
SET work_mem = '64kB';
SET temp_file_limit = '64kB';
SELECT count(*), sum(s) FROM (SELECT k, sum(x) AS s, count(*) FROM (SELECT id, k, n - coalesce(q, 0.0) AS x FROM p WHERE id > 7 UNION
	SELECT id + 1, k, n * 2 - coalesce(q, 0.00) FROM p WHERE k < 900) u GROUP BY k) g;
DROP SCHEMA kept_rows CASCADE;
