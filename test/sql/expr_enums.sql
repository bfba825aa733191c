-- Orders of enums: compared by engines where labels are in the order of their OIDs, else by PostgreSQL.
SET client_min_messages = warning;
CREATE SCHEMA expr_enums;
SET search_path = expr_enums, public;

CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		IF line ~ 'Tested By|Not Pushed|Custom Scan|Filter|Join' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;

CREATE TYPE level AS ENUM ('low', 'medium', 'high', 'critical');
CREATE DOMAIN known AS level CHECK (value IS NOT NULL OR true);
CREATE TABLE h_t AS SELECT i AS id, i % 13 AS k, CASE WHEN i % 11 > 0 THEN (enum_range(NULL::level))[1 + i / 3 % 4] END AS l,
	CASE WHEN i % 7 > 0 THEN (enum_range(NULL::level))[1 + i % 4] END::known AS m, i % 17 AS n FROM generate_series(1, 1200) i;
CREATE TABLE t (LIKE h_t) USING gpucol;
INSERT INTO t SELECT * FROM h_t;
VACUUM t;
INSERT INTO h_t VALUES (4001, 1, 'critical', 'low', 3), (4002, NULL, NULL, NULL, NULL);
INSERT INTO t VALUES (4001, 1, 'critical', 'low', 3), (4002, NULL, NULL, NULL, NULL);
DELETE FROM h_t WHERE id % 29 = 0;
DELETE FROM t WHERE id % 29 = 0;
ANALYZE t;
ANALYZE h_t;

CREATE TABLE statements (id int, query text);
INSERT INTO statements VALUES
	(1, 'SELECT count(*), sum(id) FROM % WHERE l >= ''high'''),
	(2, 'SELECT count(*), sum(id) FROM % WHERE ''medium'' > l OR m::level BETWEEN ''medium'' AND ''high'''),
	(3, 'SELECT count(*) FILTER (WHERE l < m::level), count(*) FILTER (WHERE l <= m::level), count(*) FILTER (WHERE l > m::level), count(*) FILTER (WHERE NOT l >= m::level) FROM %'),
	(4, 'SELECT l < ''low'', l <= ''low'', m::level > ''critical'', count(*) FROM % GROUP BY 1, 2, 3'),
	(5, 'SELECT count(*) FROM % WHERE l > ANY (ARRAY[''medium'', ''high'', NULL]::level[])'),
	(6, 'SELECT count(*) FROM % WHERE l > ALL (ARRAY[''medium'', ''low'']::level[])'),
	(7, 'SELECT a.k, count(*) FROM % a WHERE n > (SELECT avg(b.n) FROM % b WHERE b.l = a.l AND b.k = a.k) GROUP BY a.k'),
	(8, 'SELECT a.k, count((SELECT max(b.n) FROM % b WHERE b.k = a.k AND b.l >= ''high'')) FROM % a GROUP BY a.k'),
	(9, 'SELECT count(*) FROM % a WHERE NOT EXISTS (SELECT FROM % b WHERE b.n = a.k AND b.l > a.l AND b.id < 40)'),
	(10, 'SELECT a.l, count(*) FROM % a JOIN % b ON b.l = a.m::level AND b.k = a.k AND b.l >= a.l WHERE a.id < 500 GROUP BY 1');

CREATE FUNCTION differences() RETURNS TABLE (statement int, difference bigint) LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statements ORDER BY id LOOP
		statement := s.id;
		EXECUTE format('SELECT count(*) FROM ((%1$s) EXCEPT ALL (%2$s)) x', replace(s.query, '%', 't'), replace(s.query, '%', 'h_t')) INTO difference;
		RETURN NEXT;
		EXECUTE format('SELECT count(*) FROM ((%2$s) EXCEPT ALL (%1$s)) x', replace(s.query, '%', 't'), replace(s.query, '%', 'h_t')) INTO difference;
		RETURN NEXT;
	END LOOP;
END $$;

SELECT statement, sum(difference) FROM differences() GROUP BY 1 ORDER BY 1;
SELECT s.id, p FROM statements s, plan_of(replace(query, '%', 't')) p WHERE s.id IN (1, 3, 5, 7);

-- a prepared statement sees that a label has come between others: PostgreSQL compares
PREPARE high AS SELECT count(*), sum(id) FROM t WHERE l >= 'high' AND l < 'critical';
EXECUTE high;
SET plan_cache_mode = force_generic_plan;
EXECUTE high;
ALTER TYPE level ADD VALUE 'urgent' BEFORE 'critical';
INSERT INTO t VALUES (5000, 2, 'urgent', 'high', 4);
INSERT INTO h_t VALUES (5000, 2, 'urgent', 'high', 4);
EXECUTE high;
SELECT count(*), sum(id) FROM h_t WHERE l >= 'high' AND l < 'critical';
SELECT statement, sum(difference) FROM differences() GROUP BY 1 ORDER BY 1;
SELECT s.id, p FROM statements s, plan_of(replace(query, '%', 't')) p WHERE s.id IN (1, 7);
DROP SCHEMA expr_enums CASCADE;
