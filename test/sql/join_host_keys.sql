-- Keys that no engine computes are computed by the plans of the rows, of either side or of both, where testing
-- the rows that other keys join would cost more.
CREATE SCHEMA join_host_keys;
SET search_path = join_host_keys, public;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
CREATE TABLE sale (id int, cust int, at timestamptz, d date, t text, n numeric) USING gpucol;
INSERT INTO sale SELECT i, i % 20, timestamptz '2024-01-01 00:00+00' + i * interval '7 hours', date '2024-01-01' + i % 700,
	CASE WHEN i % 9 > 0 THEN 'T' || i % 300 END, CASE WHEN i % 11 > 0 THEN i / 8.0 ELSE 'NaN' END FROM generate_series(1, 4000) i;
INSERT INTO sale VALUES (-1, NULL, NULL, NULL, NULL, NULL), (-2, 3, 'infinity', 'infinity', '', 'NaN');
CREATE TABLE visit (id int, cust int, at timestamptz, t text) USING gpucol;
INSERT INTO visit SELECT i, i % 20, timestamptz '2024-01-01 00:00+00' + i * interval '5 hours', CASE WHEN i % 8 > 0 THEN 't' || i % 310 END
	FROM generate_series(1, 5000) i;
INSERT INTO visit VALUES (-1, NULL, NULL, NULL), (-2, 3, 'infinity', '');
CREATE TABLE nobody (LIKE visit) USING gpucol;
ANALYZE sale, visit, nobody;
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Join: |Filter:' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END
$$;
CREATE FUNCTION differences(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int; rows int;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	EXECUTE 'CREATE TEMP TABLE got AS ' || query;
	PERFORM set_config('gpucol.pushdown', 'forbid', true);
	EXECUTE 'CREATE TEMP TABLE want AS ' || query;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO n FROM ((SELECT got::text FROM got EXCEPT ALL SELECT want::text FROM want)
		UNION ALL (SELECT want::text FROM want EXCEPT ALL SELECT got::text FROM got)) x;
	SELECT count(*) INTO rows FROM got;
	DROP TABLE got, want;
	RETURN format('%s rows, %s differences', rows, n);
END
$$;
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.cust = v.cust AND s.d = (v.at AT TIME ZONE ''Europe/Berlin'')::date'),
	('SELECT s.d, count(*), sum(s.n) FROM sale s JOIN visit v ON s.cust = v.cust AND s.d = (v.at AT TIME ZONE ''Europe/Berlin'')::date GROUP BY s.d'),
	('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.cust = v.cust AND to_char(s.at, ''YYYY-MM-DD'') = to_char(v.at, ''YYYY-MM-DD'')'),
	('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.cust = v.cust AND to_char(s.at, ''YYYY-MM-DD'') = to_char(v.at, ''YYYY-MM-DD'') AND s.id < v.id'),
	('SELECT s.id, v.id AS v FROM sale s LEFT JOIN visit v ON s.cust = v.cust AND to_char(s.at, ''YYYY-MM-DD'') = to_char(v.at, ''YYYY-MM-DD'')'),
	('SELECT s.id FROM sale s WHERE NOT EXISTS (SELECT FROM visit v WHERE s.cust = v.cust AND s.d = (v.at AT TIME ZONE ''Europe/Berlin'')::date)'),
	('SELECT s.id FROM sale s WHERE EXISTS (SELECT FROM visit v WHERE s.cust = v.cust AND s.d = (v.at AT TIME ZONE ''Europe/Berlin'')::date)'),
	('SELECT s.cust, count(*) FROM sale s JOIN visit v ON s.cust = v.cust AND md5(lower(s.t)) = md5(v.t || '''') GROUP BY s.cust'),
	('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.cust = v.cust AND s.id::text = v.id::text'),
	('SELECT s.id, v.id AS v FROM sale s JOIN nobody v ON s.cust = v.cust AND to_char(s.at, ''YYYY'') = to_char(v.at, ''YYYY'')'),
	('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.cust = v.cust AND to_char(s.at, ''YYYY-MM-DD'') = to_char(v.at, ''YYYY-MM-DD'') ORDER BY s.id DESC, v.id LIMIT 9');
SELECT query, (SELECT string_agg(p, '; ') FROM plan(query) p) AS plan, differences(query) FROM tried;
-- few rows that another key joins are tested one by one
SELECT plan('SELECT s.id, v.id AS v FROM sale s JOIN visit v ON s.id = v.id AND to_char(s.at, ''DD'') = to_char(v.at, ''DD'')');
SET client_min_messages = warning;
DROP SCHEMA join_host_keys CASCADE;
