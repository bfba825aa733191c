-- Decimals of any scale that a numeric can have: constants, products, results of every aggregate.
SET client_min_messages = warning;
CREATE SCHEMA agg_scales;
SET search_path = agg_scales, public;

CREATE TABLE num (id int, c numeric(3,1), p numeric(5,2), q numeric(18,18), h numeric(18,0), n numeric, s numeric(4,-2), w numeric(2,5)) USING gpucol;
INSERT INTO num SELECT i, i % 37 - 18.5, i % 91 / 7.0, (i * 8 - 500) / 1001.0, (i * 8 - 500) * 999999999999999::numeric, i * 10.0 ^ (i % 40 - 20), i * 100, i % 100 * 0.00001 FROM generate_series(1, 40) i;
SELECT gpucol.merge('num');
INSERT INTO num VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (-1, -99.9, -999.99, -0.999999999999999999, -999999999999999999, -1e131071, -999900, 0.00099),
	(-2, 99.9, 999.99, 0.999999999999999999, 999999999999999999, 1e-16383, 999900, -0.00099), (-3, 0, 0, 0, 0, 0, 0, 0);

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- what a query gives as a statement with a parameter, whose value a plan does not know
CREATE FUNCTION prepared(query text, k numeric, mode text) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpucol.pushdown', mode, true);
	EXECUTE 'PREPARE x(numeric) AS SELECT count(*) || '' '' || coalesce(string_agg(r, E''\n'' ORDER BY r COLLATE "C"), '''')'
		' FROM (SELECT q::text AS r FROM (' || replace(query, 'K', '$1') || ') q) x';
	EXECUTE format('EXECUTE x(%L)', k) INTO result;
	DEALLOCATE x;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	result := SQLSTATE || ' ' || SQLERRM;
	IF EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'x') THEN
		DEALLOCATE x;
	END IF;
	RETURN result;
END $$;

CREATE TABLE constant AS SELECT n, k FROM unnest('{0,1e-18,1e-38,1e-63,1e-64,1e-126,1e-143,-1e-300,1e-1001,1e-8191,1e-8192,-3e-16383,0e-143,1e19,1e37,1e38,-9999999999999999999999999999999999999,170141183460469231731687303715884105727,NaN}'::text[]) WITH ORDINALITY AS c(k, n);
CREATE TABLE expression AS SELECT e FROM unnest('{K,c * K,CASE WHEN id % 2 = 0 THEN c * K ELSE p END,p * K * K,q * K - c,abs(h * h * K)}'::text[]) e;
CREATE TABLE shape (name text, q text);
INSERT INTO shape VALUES ('sums', 'SELECT sum({}), avg({}), min({}), max({}), count({}) FROM num'),
	('variances', 'SELECT var_pop({}), var_samp({}), stddev({}), stddev_pop({}) FROM num'),
	('groups', 'SELECT id % 3, sum({}) FILTER (WHERE c > 0), max({}) FROM num GROUP BY 1'),
	('keys', 'SELECT {}, count(*) FROM num WHERE id % 30 = 0 GROUP BY 1'),
	('conditions', 'SELECT id FROM num WHERE {} > p OR c > K AND c * 2 <> K'),
	('first rows', 'SELECT id, {} FROM num WHERE c >= 10 ORDER BY {} DESC, id LIMIT 5');

-- the first of these were wrong or raised an error
SELECT sum(1e-143) IS NOT DISTINCT FROM count(*) * 1e-143 AS sum, avg(c * 1e-300) = avg(c) * 1e-300 AS avg FROM num WHERE id > 0;
SELECT name, d, count(*) FROM (SELECT name, n, e, twin(replace(replace(q, '{}', e), 'K', '''' || k || '''::numeric')) AS d FROM constant, expression, shape) x GROUP BY 1, 2 ORDER BY 1, 2;
SELECT name, count(*), count(*) FILTER (WHERE prepared(query, k::numeric, 'forbid') IS DISTINCT FROM prepared(query, k::numeric, 'allow')) AS other
FROM (SELECT name, k, replace(q, '{}', e) AS query FROM constant, expression, shape WHERE e IN ('K', 'c * K') AND name IN ('sums', 'conditions')) x GROUP BY 1 ORDER BY 1;

-- into tables, packed or not, whose type has a scale of its own
CREATE FUNCTION made(e text, k text, mode text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpucol.pushdown', mode, true);
	DROP TABLE IF EXISTS made;
	IF type = '' THEN
		EXECUTE format('CREATE TABLE made USING gpucol AS SELECT id, %s AS v FROM num', replace(e, 'K', quote_literal(k) || '::numeric'));
	ELSE
		EXECUTE format('CREATE TABLE made (id int, v %s) USING gpucol', type);
		EXECUTE format('INSERT INTO made SELECT id, %s FROM num', replace(e, 'K', quote_literal(k) || '::numeric'));
	END IF;
	EXECUTE 'SELECT string_agg(v::text, '' '' ORDER BY id) FROM made' INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT type, count(*), count(*) FILTER (WHERE made(e, k, 'forbid', type) IS DISTINCT FROM made(e, k, 'allow', type)) AS other
FROM constant, expression, unnest('{"",numeric,"numeric(18,3)","numeric(5,-3)"}'::text[]) type WHERE e = 'c * K' GROUP BY 1 ORDER BY 1;

-- rows of different scales in a sum or difference with one that shows as many digits: an engine's key
SELECT e, d, count(*) FROM (SELECT e, regexp_replace(twin(replace(replace(q, '{}', e), 'K', '0.25')), '^Gpucol\w+$', 'pushed down') AS d
	FROM unnest('{"p - coalesce(c, 0)","p + CASE WHEN id % 2 = 0 THEN 1 ELSE 2.5 END","coalesce(c, 0) - p","c - coalesce(p, 0)","coalesce(c, 0) + coalesce(p, 0.0)","p - coalesce(c, 0) + q","(p - coalesce(c, 0)) * c","p - coalesce(h, 0.000)","p * coalesce(c, 0)","p - coalesce(c, NULL)"}'::text[]) e, shape) x
	GROUP BY 1, 2 ORDER BY e COLLATE "C", d COLLATE "C";
CREATE FUNCTION is_fed(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'fed by rows|Evaluated Once Per' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT e, is_fed(format('SELECT %s, count(*) FROM num GROUP BY 1', e)) FROM unnest('{"p - coalesce(c, 0)","coalesce(c, 0) + p","c - coalesce(p, 0)"}'::text[]) e;

-- rankings, recursion
SELECT count(*), count(*) FILTER (WHERE twin_result(query, 'num', 'forbid') IS DISTINCT FROM twin_result(query, 'num', 'allow')) AS other
FROM (SELECT replace(q, 'K', '''' || k || '''::numeric') AS query FROM constant, unnest('{"SELECT gpucol.u_topk(id, c * K, 0.5, 3) FROM num WHERE id > 30","SELECT gpucol.pt_k(c * K, p, 0.5, 3, 0.1) FROM num WHERE id > 30","WITH RECURSIVE r(i, v) AS (SELECT 1, K UNION ALL SELECT i + 1, v * K + i FROM r WHERE i < 3) SELECT i, v, sum(v) OVER () FROM r"}'::text[]) q) x;

SET client_min_messages = error;
DROP SCHEMA agg_scales CASCADE;
