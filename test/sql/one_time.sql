-- Conditions without columns are tested once, before any row is read, as PostgreSQL's
-- one-time filters are: whatever rows there are, what they call is called.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpucol;
CREATE SCHEMA one_time;
SET search_path = one_time, public;
CREATE SEQUENCE said;			-- counts calls, of statements that fail too
CREATE FUNCTION say(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('said'); RETURN x; END $$;
CREATE FUNCTION refuse(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('said'); RAISE 'refused %', x; END $$;

CREATE TABLE empty_h (id int, v int, t text);
CREATE TABLE empty_g (id int, v int, t text) USING gpucol;
CREATE TABLE full_h (id int, v int, t text);
INSERT INTO full_h SELECT i, i % 10, 't' || i % 5 FROM generate_series(1, 3000) i;
CREATE TABLE full_g (id int, v int, t text) USING gpucol;
INSERT INTO full_g SELECT * FROM full_h;
CREATE TABLE parts_h (id int, v int, t text) PARTITION BY RANGE (id);
CREATE TABLE parts_h1 PARTITION OF parts_h FOR VALUES FROM (0) TO (2000);
CREATE TABLE parts_h2 PARTITION OF parts_h FOR VALUES FROM (2000) TO (4000);
CREATE TABLE parts (id int, v int, t text) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (2000) USING gpucol;
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (2000) TO (4000) USING gpucol;
ANALYZE empty_h, empty_g, full_h, full_g, parts, parts_h;

-- Each statement over both tables: rows, errors and calls are the same.
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE format('SELECT string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', statement) INTO result;
	RETURN coalesce(result, 'nothing');
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
CREATE VIEW statements AS SELECT * FROM (VALUES
	(1, 'SELECT count(*) FROM %s WHERE id > 0 AND (SELECT refuse(1)) > 0'),
	(2, 'SELECT v, count(*) FROM %s WHERE (SELECT refuse(2)) > 0 AND id < 5 GROUP BY v'),
	(3, 'SELECT * FROM %s WHERE id > 2998 AND (SELECT say(3)) > 0'),
	(4, 'SELECT * FROM %s WHERE (SELECT say(4)) > 0 ORDER BY v, id LIMIT 2'),
	(5, 'SELECT count(*) FROM %s WHERE (SELECT say(5)) > 5 AND (SELECT refuse(5)) > 0'),
	(6, 'SELECT count(*) FROM %s WHERE (SELECT say(6)) > 0 AND (SELECT say(7)) > 0 AND id < 0'),
	(7, 'SELECT DISTINCT v FROM %s WHERE id > 5000 AND (SELECT refuse(7)) > 0'),
	(8, 'SELECT DISTINCT t FROM (SELECT sum(v) OVER (PARTITION BY t) t FROM %s WHERE (SELECT say(8)) > 0) s'),
	(9, 'SELECT max(t) FROM %s WHERE (SELECT NULL::int + say(9)) > 0'),
	(10, 'SELECT t, sum(v) FROM %s WHERE id > 100000 AND (SELECT say(10)) = 10 GROUP BY ROLLUP (t)'),
	(11, 'SELECT count(*) FROM %s a JOIN %1$s b USING (id) WHERE (SELECT say(11)) > 0 AND a.v > 100'),
	(12, 'SELECT count(*) FROM %s a LEFT JOIN %1$s b ON a.id = b.id AND (SELECT say(12)) > 100'),
	(13, 'SELECT count(*) FROM %s WHERE ''x'' ~ (SELECT ''('' || say(13)) AND id < 0'),
	(14, 'SELECT count(*) FROM %s WHERE id < 0 AND now() < ''2000-01-01'' AND (SELECT refuse(14)) > 0'),
	(15, 'SELECT id FROM %s WHERE id < 3 AND (SELECT say(15)) > 0 UNION SELECT v FROM %1$s WHERE (SELECT say(16)) > 99'),
	(16, 'SELECT count(*) FROM %s HAVING (SELECT say(17)) > 99')) s (n, statement);

CREATE FUNCTION compare(h text, g text) RETURNS TABLE (n int, same boolean, calls bigint, result text) LANGUAGE plpgsql AS $$
DECLARE s record; of_heap text; began bigint; of_heap_calls bigint;
BEGIN
	FOR s IN SELECT * FROM statements ORDER BY 1 LOOP
		began := nextval('said');
		of_heap := outcome(format(s.statement, h));
		of_heap_calls := nextval('said') - began - 1;
		began := nextval('said');
		n := s.n;
		result := outcome(format(s.statement, g));
		calls := nextval('said') - began - 1;
		same := result = of_heap AND calls = of_heap_calls;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM compare('empty_h', 'empty_g');
SELECT * FROM compare('full_h', 'full_g');
INSERT INTO parts SELECT * FROM full_h;
INSERT INTO parts_h SELECT * FROM full_h;
SELECT * FROM compare('parts_h', 'parts');

-- the engine ran, and a row security policy does not come first
SET gpucol.pushdown = require;
SELECT count(*) FROM empty_g WHERE id > 0 AND (SELECT refuse(18)) > 0;
SELECT count(*) FROM full_g WHERE id > 0 AND (SELECT say(19)) > 0;
PREPARE given(int) AS SELECT count(*) FROM full_g WHERE $1 / (v + 1) >= 0 AND 10 / $1 > 0;
SET plan_cache_mode = force_generic_plan;
EXECUTE given(2);
EXECUTE given(20);
EXECUTE given(0);
DELETE FROM full_g;
EXECUTE given(2);
EXECUTE given(0);
RESET plan_cache_mode;
RESET gpucol.pushdown;
CREATE ROLE one_time_user;
GRANT USAGE ON SCHEMA one_time TO one_time_user;
GRANT SELECT ON full_g TO one_time_user;
GRANT USAGE ON SEQUENCE said TO one_time_user;
ALTER TABLE full_g ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON full_g USING (v < 0);
SET ROLE one_time_user;
SELECT count(*) FROM full_g WHERE (SELECT refuse(20)) > 0;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA one_time CASCADE;
DROP ROLE one_time_user;
