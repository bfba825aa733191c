-- Aggregates of pairs in an engine: the same rows, the same NULLs and errors, values within 1e-9.
SET client_min_messages = warning;
SET extra_float_digits = -6;
CREATE SCHEMA agg_pairs;
SET search_path = agg_pairs, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE pair (k int, x float8, y float8, r real, i int NOT NULL, b bigint, p numeric(12,2)) USING gpucol;
INSERT INTO pair SELECT i % 7, CASE WHEN i % 11 > 0 THEN i * 7919 % 1009 * 1.37 + i * 0.91 END, CASE WHEN i % 13 > 0 THEN i * 0.7531 + i * 104729 % 307 * 1.013 END, i % 101 / 4.1 + i % 7, i % 1000, i * 31 % 997,
	i * 0.37 FROM generate_series(1, 5000) i;
SELECT gpucol.merge('pair') > -1 AS merged;
INSERT INTO pair VALUES (20, 1, NULL, 1, 1, 1, 1), (21, 2, 3, 4, 5, 6, 7), (22, 1, 2, 2, 1, 1, 1), (22, 1, 5, 2, 2, 1, 1), (23, 1, 4, 5, 1, 1, 1), (23, 2, 4, 5, 2, 1, 1), (24, NULL, NULL, NULL, 1, NULL, NULL);

-- the values of an array that are far from PostgreSQL's, by groups
CREATE FUNCTION far(list text, keys text, OUT groups int, OUT far bigint) LANGUAGE plpgsql AS $$
DECLARE
	results float8[];
	expected float8[];
	mode text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['forbid', 'require'] LOOP
		PERFORM set_config('gpucol.pushdown', mode, true);
		expected := results;
		EXECUTE format('SELECT array_agg(v ORDER BY g COLLATE "C") FROM (SELECT (%s)::text AS g, ARRAY[%s]::float8[] AS v FROM pair WHERE k < 20 GROUP BY %1$s) x', keys, list) INTO results;
	END LOOP;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	groups := array_length(results, 1);
	SELECT count(*) INTO far FROM (SELECT unnest(results) AS a, unnest(expected) AS b) x
	WHERE (a IS NULL) <> (b IS NULL) OR abs(a - b) > 1e-9 * greatest(abs(a), abs(b), 1) OR array_dims(results) <> array_dims(expected);
END $$;
CREATE TABLE argument (args text);
INSERT INTO argument VALUES ('y, x'), ('x, y'), ('r, x'), ('i, b'), ('p, i'), ('x, x'), ('y / 2, x + r'), ('CASE WHEN i > 500 THEN y END, x'), ('i, r');
CREATE TABLE aggregate (name text);
INSERT INTO aggregate SELECT 'regr_' || n FROM unnest('{count,sxx,syy,sxy,avgx,avgy,r2,slope,intercept}'::text[]) n UNION ALL VALUES ('corr'), ('covar_pop'), ('covar_samp');
SELECT args, keys, (far(replace(list, '@', args), keys)).*
FROM argument, unnest('{k, k % 2, k < 20, "(k, i % 3)"}'::text[]) keys, (SELECT string_agg(format('%s(@), %1$s(@) FILTER (WHERE i < 300)', name), ', ') AS list FROM aggregate) a;
SELECT differ('SELECT k, corr(y, x), regr_count(y, x), regr_r2(y, x), covar_samp(y, x) FROM pair GROUP BY k'), differ('SELECT k, corr(y, x), variance(x), sum(y) FROM pair GROUP BY ROLLUP (k)'),
	differ('SELECT k % 2, round(corr(y, x)::numeric, 9) FROM pair WHERE k < 20 GROUP BY 1 HAVING regr_slope(y, x) > 0'), differ('SELECT corr(y, x), regr_count(x, y), covar_samp(x, y) FROM pair WHERE k > 50'),
	differ('SELECT upper(k::text), corr(y, x), regr_r2(y, x) FROM pair WHERE k < 20 GROUP BY 1'),
	differ('SELECT a.k, corr(a.y, b.x) FROM pair a JOIN pair b ON a.i = b.i AND a.k = b.k WHERE a.k < 5 GROUP BY a.k');
EXPLAIN (COSTS OFF) SELECT k, corr(y, x), regr_slope(p, i), covar_pop(r, x) FROM pair GROUP BY k;
SELECT k, corr(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), covar_samp(y, x), regr_count(y, x) FROM pair GROUP BY k ORDER BY k;

-- NaN, infinities and overflows
CREATE TABLE odd (k int, x float8, y float8) USING gpucol;
INSERT INTO odd SELECT k, i, i * 2 FROM generate_series(1, 12) k, generate_series(1, 20) i;
INSERT INTO odd VALUES (1, 'NaN', 1), (2, 'Infinity', 1), (3, 1, '-Infinity'), (4, 'Infinity', '-Infinity'), (5, 'NaN', 'Infinity'), (6, NULL, 'NaN');
INSERT INTO odd SELECT 50 + k % 6, x, y FROM odd WHERE k < 7;
INSERT INTO odd VALUES (7, 1e300, 1), (8, 1, 1e308), (8, 1, 1e308), (9, 1e200, 1e200), (10, 1e160, 1e-160);
SELECT k, differ('SELECT corr(y, x), covar_pop(y, x), regr_sxx(y, x), regr_syy(y, x), regr_avgx(y, x), regr_avgy(y, x), regr_count(y, x) FROM odd WHERE k = ' || k) FROM generate_series(1, 12) k;
SELECT differ('SELECT k, corr(y, x), covar_pop(y, x), regr_slope(y, x), regr_avgx(y, x), regr_count(y, x) FROM odd WHERE k < 7 OR k > 10 GROUP BY k');
-- pairs that share arguments, some of which are advanced with others
SELECT keys, (far('corr(y, x), corr(x, y), regr_sxx(y, x), regr_syy(x, y), corr(x, x), regr_sxx(x, x), corr(r, x), corr(x, r), regr_slope(r, y), corr(y, x) FILTER (WHERE i < 9), regr_sxx(y, x) FILTER (WHERE i < 300), covar_pop(x, y) FILTER (WHERE i < 300)', keys)).*
FROM unnest('{k, k < 20, "(k, i % 3)", i}'::text[]) keys;
SELECT k, differ('SELECT k, corr(y, x), regr_sxx(y, x), regr_syy(x, y), regr_sxx(x, y), corr(x, x) FROM odd WHERE k = ' || k || ' GROUP BY k') FROM generate_series(1, 12) k;

DROP SCHEMA agg_pairs CASCADE;
