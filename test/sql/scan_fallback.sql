-- Where no engine can compute with a value, the statement is answered by
-- PostgreSQL's executor, as a whole and before its first row.
SET client_min_messages = warning;
CREATE SCHEMA scan_fallback;
SET search_path = scan_fallback, public;
SET max_parallel_workers_per_gather = 0;
SET gpucol.engine = cpu;
SET gpucol.pushdown = require;

-- plan nodes and fallbacks of a query
CREATE FUNCTION nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Custom|Fallback|Aggregate|Gather|Seq Scan' AND line !~ 'Workers' THEN
			RETURN NEXT regexp_replace(line, ' \(actual.*', '');
		END IF;
	END LOOP;
END $$;

-- NaN in numeric(p,s) has no mantissa: once in a segment, once in delta
CREATE TABLE packed (id int, n numeric(10,2), s text) USING gpucol;
INSERT INTO packed SELECT i, CASE WHEN i = 4000 THEN 'NaN'::numeric ELSE i END, 's' || i % 10 FROM generate_series(1, 5000) i;
CREATE TABLE delta (LIKE packed) USING gpucol;
INSERT INTO delta SELECT i, i, 's' || i % 10 FROM generate_series(1, 5000) i;
INSERT INTO delta VALUES (9000, 'NaN', 's9');
ANALYZE packed, delta;
SELECT nodes('SELECT id FROM packed WHERE n > 4998');
SELECT nodes('SELECT id FROM delta WHERE n > 4998');
SELECT nodes('SELECT count(*), sum(n) FROM packed WHERE n > 4998');
SELECT nodes('SELECT id FROM packed WHERE id > 4998');
SELECT id, n FROM packed WHERE n > 4998 ORDER BY id;
SELECT id, n FROM delta WHERE n > 4998 ORDER BY id;
SELECT count(*), sum(n), max(n), min(n) FROM packed;
SELECT count(*), sum(n), max(n), avg(n) FROM delta;
SELECT s, count(*), max(n) FROM packed WHERE n > 4990 GROUP BY s ORDER BY s;
SELECT count(*) FROM packed a JOIN delta b USING (n);
SELECT i, (SELECT count(*) FROM packed WHERE n > 4990 + i) FROM generate_series(1, 3) i;
-- rows of a fallback that sorts are tuples, not values
SET enable_hashagg = off;
SELECT s || '!' AS s, big FROM (SELECT DISTINCT s, n > 4995 AS big FROM packed) q WHERE big ORDER BY 1;
SELECT q.s || '!' AS s, q.count FROM (SELECT s, count(*), max(n) AS best FROM packed WHERE n > 4995 GROUP BY s ORDER BY s OFFSET 0) q;
SELECT q.s || '!' AS s, u.i FROM (SELECT DISTINCT s, n > 4995 AS big FROM packed) q, LATERAL (SELECT max(i) AS i FROM (VALUES (1), (2)) v(i) WHERE q.big) u WHERE u.i > 0 ORDER BY 1;
RESET enable_hashagg;
SET gpucol.pushdown = allow;
SELECT count(*) FROM packed WHERE n = 'NaN';
SELECT count(*), min(id) FROM delta WHERE n IN (3, 'NaN');
SELECT count(*) FROM packed WHERE n <> 'NaN' AND id > 3990;
SELECT count(*) FROM packed WHERE n >= 'NaN';
SELECT count(*) FROM packed WHERE n NOT IN (1, 'NaN') AND id > 3990;
SET gpucol.pushdown = require;

-- the same in parallel: all workers turn to the row scan
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET gpucol.enable_agg = off;
SELECT nodes('SELECT count(*), max(n) FROM packed WHERE n > 4998');
SELECT count(*), max(n) FROM packed WHERE n > 4998;
SELECT count(*), max(n), sum(id) FROM delta WHERE n > 4998;
SELECT count(*), sum(id) FROM packed WHERE id > 4998;
-- and where a parameter cannot be lowered
PREPARE p(numeric) AS SELECT count(*), sum(id) FROM packed WHERE n + $1 > 5;
SET plan_cache_mode = force_generic_plan;
SELECT nodes('EXECUTE p(1e60)');
EXECUTE p(1e60);
RESET plan_cache_mode;
RESET gpucol.enable_agg;
SET max_parallel_workers_per_gather = 0;

-- A constant that raises an error: PostgreSQL may have no row to evaluate it for.
SET plan_cache_mode = force_generic_plan;
PREPARE sums(int) AS SELECT sum(id + 100 / $1), count(*) FROM packed WHERE id < 0;
PREPARE guarded(int) AS SELECT count(*) FROM packed WHERE $1 <> 0 AND id > 100 / $1;
PREPARE scanned(int) AS SELECT id FROM packed WHERE id < 0 AND (id IN (3, 100 / $1) OR n > 100 / $1);
PREPARE keys(int) AS SELECT id % 3 + 100 / $1 AS k, count(*) FROM packed WHERE id < 0 GROUP BY 1;
PREPARE matched(text) AS SELECT count(*) FROM packed WHERE id < 0 AND s LIKE date_trunc($1, date '2024-01-01')::text;
PREPARE ranked(int) AS SELECT gpucol.u_topk(id, id + 1 / $1, 0.5, 2 / $1) FROM packed WHERE id < 0;
EXECUTE sums(0);
EXECUTE guarded(0);
EXECUTE scanned(0);
EXECUTE keys(0);
EXECUTE matched('fortnight');
EXECUTE ranked(0);
EXECUTE guarded(1);
PREPARE raised(int) AS SELECT count(*) FROM packed WHERE id > 100 / $1;
EXECUTE raised(0);
SELECT nodes('EXECUTE sums(0)');
DEALLOCATE ALL;
RESET plan_cache_mode;

-- A program of thousands of instructions is declined: to plan it would take longer than the query.
CREATE FUNCTION large(conditions int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM packed WHERE ' || (SELECT string_agg(format('id + %s = n', i), ' OR ') FROM generate_series(1, conditions) i) LOOP
		RETURN NEXT left(line, 20) || ' ... ' || right(line, 40);
	END LOOP;
END $$;
SET gpucol.pushdown = allow;
SELECT large(20);
SELECT large(2000);
SET gpucol.pushdown = require;

-- an error after a rescan that fell back is an error: the rows before it are not
-- delivered again
CREATE TABLE again (id int, kind int) USING gpucol;
INSERT INTO again SELECT i, 1 FROM generate_series(1, 20000) i;
ANALYZE again;
CREATE FUNCTION delivered(kinds int[], most int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT format('%s: %s rows, %s different', s, n, d) FROM unnest(kinds) s,
		LATERAL (SELECT count(*) AS n, count(DISTINCT id) AS d FROM (SELECT id FROM again WHERE kind = s AND id > 100 / s AND 10 / (id - 8000) < 100 LIMIT most) q) c;
EXCEPTION WHEN division_by_zero THEN
	RETURN NEXT 'division by zero';
END $$;
SELECT delivered('{1}', 2000);
SELECT delivered('{1}', 9000);
SELECT delivered('{0,1}', 2000);
SELECT delivered('{0,1}', 9000);

-- squares that exceed 128 bits, sums that do not
CREATE TABLE huge (g int, v int8, n numeric(18,0)) USING gpucol;
INSERT INTO huge SELECT i % 3, 9223372036854775807 - i, 999999999999999999 - i FROM generate_series(1, 3000) i;
ANALYZE huge;
SELECT nodes('SELECT sum(v), variance(v) FROM huge');
SELECT sum(v), round(variance(v), 6) AS variance, avg(v) FROM huge;
SELECT g, sum(n), round(stddev(n), 6) AS stddev FROM huge GROUP BY g ORDER BY g;
SELECT nodes('SELECT g, sum(n), sum(v) FROM huge GROUP BY g');
SET gpucol.pushdown = forbid;
SELECT sum(v), round(variance(v), 6) AS variance, avg(v) FROM huge;
SELECT g, sum(n), round(stddev(n), 6) AS stddev FROM huge GROUP BY g ORDER BY g;
SET gpucol.pushdown = require;

-- values that are longer than an aggregation may hold
CREATE TABLE long (id int, t text) USING gpucol;
INSERT INTO long SELECT i, 'x' FROM generate_series(1, 2000) i;
INSERT INTO long SELECT i, repeat(md5(i::text), 3000000) FROM generate_series(1, 3) i;
SELECT gpucol.merge('long');
SELECT count(*), sum(length(t)) FROM (SELECT t FROM long WHERE t >= 'a' OFFSET 0) q;
DROP TABLE long;

-- a constant that raises an error: only for rows that the conditions before it leave
CREATE TABLE late (id int, big xid, s text) USING gpucol;
INSERT INTO late SELECT i, (i % 10)::text::xid, 's' || i % 10 FROM generate_series(1, 3000) i;
SET plan_cache_mode = force_generic_plan;
PREPARE excluded (int) AS SELECT count(*) FROM (SELECT id FROM late WHERE big = '99'::xid AND id > 1 / $1 OFFSET 0) q;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE excluded (0);
EXECUTE excluded (1);
EXECUTE excluded (0);
PREPARE topmost (int) AS SELECT id FROM late WHERE big = '99'::xid AND id > 1 / $1 ORDER BY id LIMIT 3;
EXECUTE topmost (0);
PREPARE left_over (int) AS SELECT count(*) FROM (SELECT id FROM late WHERE big = '9'::xid AND id > 1 / $1 OFFSET 0) q;
EXECUTE left_over (1);
EXECUTE left_over (0);
RESET plan_cache_mode;

-- a device that is not there
SET gpucol.engine = auto;
SELECT count(*) FROM packed WHERE id > 4998;

SET client_min_messages = error;
DROP SCHEMA scan_fallback CASCADE;
