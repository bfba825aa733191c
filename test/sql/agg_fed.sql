--
-- Aggregates that no engine has are fed rows: PostgreSQL's own functions, whatever
-- they are, with DISTINCT, ORDER BY, FILTER and WITHIN GROUP.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_fed;
SET search_path = agg_fed, public;

\set node 'Aggregates: fed by rows'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
CREATE TABLE packed (id int, k int, t text COLLATE "C", a int2, b int, c int8, d numeric(12,2), n numeric, f float8,
	g float4, day date, at timestamp, z timestamptz, v interval, m money, yes bool, j jsonb, l int[]) USING gpucol;
INSERT INTO packed SELECT i, i % 17, CASE WHEN i % 11 > 0 THEN 'key ' || i % 203 END, (i % 100 - 50)::int2, i * 7919 % 1000,
	i::int8 * 3000000000, (i * 37 % 10000 - 5000) / 100.0, i % 90 / 7.0, CASE WHEN i % 500 = 0 THEN 'NaN' WHEN i % 501 = 0
	THEN '-Infinity' ELSE i * 13 % 1009 / 9.0 END, i * 13 % 1009 / 9.0, date '2020-01-01' + i % 400,
	timestamp '2020-01-01' + i * interval '37 minutes', timestamptz '2020-01-01' + i * interval '37 minutes',
	i % 100 * interval '1 hour', (i % 1000)::money, i % 3 = 0, jsonb_build_object('k', i % 5), ARRAY[i % 3, i % 4]
	FROM generate_series(1, 4500) i;
-- deleted and delta rows, extremes, NULL
DELETE FROM packed WHERE id % 10 = 3;
INSERT INTO packed (id, k, b, c, f, d) VALUES (9001, 1, 2147483647, 9223372036854775807, 'Infinity', 9999999999.99),
	(9002, 1, -2147483648, -9223372036854775808, -0.0, -9999999999.99), (9003, NULL, NULL, NULL, NULL, NULL),
	(9004, 99, NULL, NULL, NULL, NULL);
ANALYZE packed;

CREATE AGGREGATE product(float8) (SFUNC = float8mul, STYPE = float8, INITCOND = '1');
CREATE AGGREGATE longest(text) (SFUNC = text_larger, STYPE = text);
CREATE FUNCTION append(state text, value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(state, '') || coalesce(value, '-') $$;
CREATE FUNCTION ending(state text) RETURNS text LANGUAGE sql AS $$ SELECT right(state, 20) || '.' $$;
CREATE AGGREGATE tail(text) (SFUNC = append, STYPE = text, FINALFUNC = ending);

-- every aggregate, whole and by group, with and without rows
SELECT differ(format('SELECT %s%s FROM packed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || rtrim(keys, ', ') END))
FROM unnest(ARRAY['', 'k, ', 'upper(t), ', 'k, yes, ']) keys,
	unnest(ARRAY['true', 'b > 2000000000', 'b = -5']) qual,
	unnest(ARRAY['percentile_cont(0.5) WITHIN GROUP (ORDER BY b)', 'percentile_cont(0.25) WITHIN GROUP (ORDER BY f)',
	'percentile_cont(0.9) WITHIN GROUP (ORDER BY d DESC), percentile_cont(0.1) WITHIN GROUP (ORDER BY d DESC)',
	'percentile_cont(ARRAY[[0, 0.3], [NULL, 1]]) WITHIN GROUP (ORDER BY c)', 'percentile_disc(0.7) WITHIN GROUP (ORDER BY c)',
	'percentile_cont(0.4) WITHIN GROUP (ORDER BY g), percentile_disc(0.4) WITHIN GROUP (ORDER BY g)',
	'percentile_disc(ARRAY[0.01, 0.5, 0.99]::float8[]) WITHIN GROUP (ORDER BY day)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY at DESC)',
	'percentile_disc(0.5) WITHIN GROUP (ORDER BY z)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY m)',
	'percentile_cont(0.5) WITHIN GROUP (ORDER BY b + a) FILTER (WHERE yes)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY t)',
	'percentile_cont(0.5) WITHIN GROUP (ORDER BY v)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY n)',
	'percentile_disc(NULL::float8) WITHIN GROUP (ORDER BY b)', 'percentile_cont(NULL::float8[]) WITHIN GROUP (ORDER BY b)',
	'mode() WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY a DESC)', 'mode() WITHIN GROUP (ORDER BY t)',
	'mode() WITHIN GROUP (ORDER BY d), mode() WITHIN GROUP (ORDER BY f)', 'mode() WITHIN GROUP (ORDER BY upper(t))',
	'rank(50, 3) WITHIN GROUP (ORDER BY b, a + 1), dense_rank(50, 3) WITHIN GROUP (ORDER BY b, a + 1)', 'cume_dist(7, true) WITHIN GROUP (ORDER BY a, NOT yes)',
	'string_agg(t, '','' ORDER BY t)', 'string_agg(t, day::text ORDER BY id DESC)', 'string_agg(DISTINCT t, ''-'')',
	'array_agg(b ORDER BY b DESC NULLS LAST, id)', 'array_agg(DISTINCT a), array_agg(DISTINCT n), array_agg(DISTINCT yes)',
	'array_agg(l ORDER BY id) FILTER (WHERE cardinality(l) = 2)', 'json_agg(t ORDER BY id)', 'jsonb_agg(j ORDER BY id) FILTER (WHERE j ->> ''k'' = ''3'')',
	'json_object_agg(id, b ORDER BY id)', 'jsonb_object_agg(a, b) FILTER (WHERE a IS NOT NULL AND id < 300)', 'sum(DISTINCT b), avg(DISTINCT d), count(DISTINCT n)',
	'sum(DISTINCT f), count(*), sum(b), min(t), max(day)', 'variance(n), stddev_samp(n)', 'sum(v * 2), avg(v / 3), min(v)', 'count(DISTINCT n), trim_scale(sum(DISTINCT n)), round(avg(DISTINCT n), 9), sum(DISTINCT b), avg(DISTINCT k), count(DISTINCT t || ''x'')', 'sum(DISTINCT m)',
	'sum(DISTINCT b + a), count(DISTINCT lower(t))', 'xmlagg(xmlelement(name x, b) ORDER BY id)::text', 'range_agg(int4range(a, a + 3))',
	'product(1 + b / 1e6 ORDER BY id)', 'longest(t)', 'tail(t ORDER BY id)', 'tail(DISTINCT t)',
	'cardinality(array_agg(DISTINCT CASE WHEN id % 2 = 0 THEN 1.0 ELSE 1.00 END)), cardinality(array_agg(DISTINCT CASE WHEN id % 3 = 0 THEN -0.0::float8 ELSE 0 END))',
	'string_agg(DISTINCT t, left(t, 5)), count(DISTINCT (k, b)), cardinality(array_agg(DISTINCT CASE id % 2 WHEN 0 THEN interval ''1 month'' ELSE ''30 days'' END))', 'regr_count(b, f), string_agg(DISTINCT t, '','' ORDER BY t DESC)',
	'bit_xor(DISTINCT b), bit_xor(DISTINCT a)', 'count((a, b)), percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(b))']) agg
WHERE differ(format('SELECT %s%s FROM packed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || rtrim(keys, ', ') END)) NOT LIKE '%unsupported XML feature';

-- grouping sets, HAVING, expressions above, partitions, joins
SELECT differ(q) FROM unnest(ARRAY[
	'SELECT k, yes, grouping(k, yes), string_agg(DISTINCT t, '','' ORDER BY t), percentile_disc(0.5) WITHIN GROUP (ORDER BY b) FROM packed GROUP BY CUBE (k, yes)',
	'SELECT k, count(*) FROM packed GROUP BY k HAVING mode() WITHIN GROUP (ORDER BY a) > 0',
	'SELECT k, array_length(array_agg(b ORDER BY id), 1) + count(*) FROM packed GROUP BY k',
	'SELECT p.k, string_agg(DISTINCT q.t, '','' ORDER BY q.t), percentile_cont(0.5) WITHIN GROUP (ORDER BY p.b) FROM packed p JOIN packed q ON p.id = q.b GROUP BY p.k',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY b), string_agg(t, '','' ORDER BY id) FROM (SELECT * FROM packed UNION ALL SELECT * FROM packed) u',
	'SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY b) FROM packed', 'SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY b) FROM packed WHERE b = -5',
	'SELECT k, percentile_cont(ARRAY[0.5, -1]) WITHIN GROUP (ORDER BY b) FROM packed GROUP BY k',
	'SELECT array_agg(1 / (b - 7)) FROM packed', 'SELECT array_agg(1 / (b - 7) ORDER BY id) FILTER (WHERE b <> 7) FROM packed',
	'SELECT array_agg(1 / (b - 7) ORDER BY id) FROM packed WHERE b <> 7', 'SELECT sum(DISTINCT c) FILTER (WHERE abs(c) < 9000000000000000000) FROM packed',
	'SELECT string_agg(t::bytea, NULL ORDER BY id) FROM packed', 'SELECT jsonb_object_agg(t, b) FROM packed']) q WHERE differ(q) IS NOT NULL;

-- in the order of the table where no order is asked for; so sums of real are the same
SELECT differ(q) FROM unnest(ARRAY['SELECT string_agg(t, '',''), array_agg(b), json_agg(f), sum(g), xmlagg(xmlelement(name x, t))::text FROM packed',
	'SELECT corr(DISTINCT b, f), covar_pop(DISTINCT a, d) FROM packed WHERE id < 3000',
	'SELECT k, corr(DISTINCT b, id), regr_sxy(DISTINCT d, a), regr_syy(DISTINCT a, b) FROM packed GROUP BY k']) q WHERE differ(q) NOT LIKE '%unsupported XML feature';

-- rights to functions
CREATE ROLE agg_fed_user;
GRANT USAGE ON SCHEMA agg_fed TO agg_fed_user;
GRANT SELECT ON packed TO agg_fed_user;
REVOKE EXECUTE ON FUNCTION tail(text) FROM PUBLIC;
SET ROLE agg_fed_user;
SELECT tail(t) FROM packed;
SELECT longest(t) FROM packed;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION append(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tail(text) TO agg_fed_user;
ALTER AGGREGATE tail(text) OWNER TO agg_fed_user;
SELECT tail(t) FROM packed;
-- what rows are hidden is not fed
CREATE TABLE shown (a int, b int) USING gpucol;
INSERT INTO shown SELECT i, i % 10 FROM generate_series(1, 5000) i;
CREATE FUNCTION tell(state int, value int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF value = 7 THEN RAISE EXCEPTION 'saw %', value; END IF; RETURN state + value; END $$;
CREATE AGGREGATE told(int) (SFUNC = tell, STYPE = int, INITCOND = '0');
ALTER TABLE shown ENABLE ROW LEVEL SECURITY;
CREATE POLICY most ON shown USING (b <> 7);
GRANT SELECT ON shown TO agg_fed_user;
SET ROLE agg_fed_user;
SET gpucol.pushdown = require;
EXPLAIN (COSTS OFF) SELECT told(b) FROM shown;
SELECT told(b) FROM shown;
RESET ROLE;
SELECT told(b) FROM shown;
RESET gpucol.pushdown;

-- a direct argument that depends on the group stays
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, percentile_cont(a / 10000.0) WITHIN GROUP (ORDER BY b) FROM shown GROUP BY a;
-- too much for the limit: PostgreSQL's own plan
SET gpucol.memory_limit = '1MB';
SELECT length(string_agg(t, ',' ORDER BY t)) FROM packed;
RESET gpucol.memory_limit;
-- executed again with other values, and from a cursor
PREPARE again(float8, int) AS SELECT percentile_disc($1) WITHIN GROUP (ORDER BY b), string_agg(t, ',' ORDER BY id) FROM packed WHERE id < $2;
EXECUTE again(0.5, 5);
EXECUTE again(1, 9);
SELECT x, (SELECT array_agg(b ORDER BY id) FROM packed WHERE id < x) FROM generate_series(1, 4) x;
-- many rows: mostly different at first, then repeated; equal values that look different; orders of several columns; memory for no sort
CREATE TABLE many (id int, k int, t text, n numeric, v interval, f float8, b int) USING gpucol;
INSERT INTO many SELECT i, i % 7, CASE WHEN i % 97 > 0 THEN 't' || CASE WHEN i < 20000 THEN i ELSE i % 1000 END END, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE trim_scale((i % 900)::numeric / 8) + CASE WHEN i % 2 = 0 THEN 0.0000 ELSE 0 END END,
	CASE i % 3 WHEN 0 THEN i % 40 * interval '1 month' ELSE i % 40 * interval '30 days' END, CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 ELSE i % 777 END, i % 31 FROM generate_series(1, 30000) i;
ANALYZE many;
SELECT differ(q) FROM unnest(ARRAY['', 'k, ', 'id / 9, ']) keys,
	unnest(ARRAY['md5(string_agg(DISTINCT t, '',''))', 'md5(string_agg(DISTINCT t, '','' ORDER BY t DESC))', 'array_agg(DISTINCT b ORDER BY b DESC)', 'md5(array_agg(t ORDER BY b DESC, f NULLS FIRST, id)::text)', 'md5(array_agg(id ORDER BY n DESC NULLS LAST, v, id)::text)',
	'sum(DISTINCT n), array_agg(DISTINCT b)', 'avg(DISTINCT b)', 'sum(DISTINCT b) FILTER (WHERE k > 2), max(t), array_agg(DISTINCT k)', 'count(DISTINCT (k, b)), count(DISTINCT (t, b))', 'mode() WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY t DESC)', 'mode() WITHIN GROUP (ORDER BY b::numeric)',
	'percentile_disc(0.3) WITHIN GROUP (ORDER BY t), percentile_disc(0) WITHIN GROUP (ORDER BY t DESC), percentile_disc(1) WITHIN GROUP (ORDER BY t)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY n) = 0', 'percentile_disc(NULL::float8) WITHIN GROUP (ORDER BY t)',
	'mode() WITHIN GROUP (ORDER BY v) = interval ''1 day'', percentile_disc(0.7) WITHIN GROUP (ORDER BY v) > interval ''1 day''', 'md5(jsonb_agg(DISTINCT t)::text)', 'md5(array_agg(DISTINCT f + 0.0)::text)']) agg,
	format('SELECT %s%s FROM many%s', keys, agg, CASE WHEN keys <> '' THEN ' GROUP BY ' || rtrim(keys, ', ') END) q WHERE differ(q) IS NOT NULL;
SELECT differ('SELECT k, b, md5(string_agg(DISTINCT t, '','')), sum(DISTINCT b) FROM many GROUP BY GROUPING SETS ((k), (b), (k, b), ())');
SET gpucol.memory_limit = '5MB';
SELECT differ('SELECT k, md5(array_agg(t ORDER BY b DESC, id)::text), mode() WITHIN GROUP (ORDER BY t) FROM many GROUP BY k');
SET gpucol.memory_limit = '8MB';
SELECT differ('SELECT k, md5(array_agg(t ORDER BY b DESC, id)::text), mode() WITHIN GROUP (ORDER BY t), md5(string_agg(DISTINCT t, '','')) FROM many GROUP BY k');
RESET gpucol.memory_limit;
-- counts, sums and extremes beside what is fed: the engine's numbers, summed by the executor
SELECT differ(format('SELECT %sarray_agg(DISTINCT k), %s FROM packed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END)) FROM (VALUES ('', ''), ('k, ', 'k'), ('k, yes, ', 'ROLLUP (k, yes)')) s(keys, sets),
	unnest(ARRAY['true', 'id > 9002', 'false']) qual, unnest(ARRAY['count(*), count(t), count(d) FILTER (WHERE yes), sum(a), sum(b), sum(c), avg(a), avg(c)', 'sum(d), avg(d), min(d), max(d), sum(d * 3), sum(d * b), min(d * d)', 'sum(n), avg(n), max(n)',
	'min(f), max(f), min(g), max(g), sum(g::float8) FILTER (WHERE id < 400)', 'min(day), max(day), min(at), max(z), sum(m), min(m)', 'bool_and(yes), bool_or(yes), every(b > 0), bit_and(a), bit_or(b), bit_xor(c)',
	'stddev(a), variance(b), var_pop(c), stddev_pop(d)', 'sum(b) FILTER (WHERE b > 500), min(c) FILTER (WHERE yes)', 'round((sum(f) FILTER (WHERE f BETWEEN 0 AND 1e9))::numeric, 6)', 'avg(f * 1e307) FILTER (WHERE f BETWEEN 1 AND 1e9)']) agg
WHERE differ(format('SELECT %sarray_agg(DISTINCT k), %s FROM packed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END)) IS NOT NULL;
-- the same of different numbers: values, groups and sets told apart by 64 bits
SELECT differ(q) FROM (VALUES ('', ''), ('k, ', 'k'), ('k, yes, grouping(k, yes), ', 'CUBE (k, yes)'), ('id / 2, ', 'id / 2')) s(keys, sets), unnest(ARRAY['true', 'id > 9002', 'false', 'c > 0 OR id > 4000']) qual,
	unnest(ARRAY['sum(DISTINCT a), avg(DISTINCT a), sum(DISTINCT b), avg(DISTINCT b ORDER BY b DESC), count(DISTINCT b)', 'sum(DISTINCT c), avg(DISTINCT c), variance(DISTINCT c), stddev_pop(DISTINCT b), bit_xor(DISTINCT a), max(DISTINCT c)',
	'sum(DISTINCT d), avg(DISTINCT d), count(DISTINCT d), min(DISTINCT d), stddev(DISTINCT d)', 'sum(DISTINCT d) FILTER (WHERE yes), sum(DISTINCT d) FILTER (WHERE NOT yes), sum(d), count(DISTINCT d * 2)', 'sum(DISTINCT d * b), avg(DISTINCT a / 7)',
	'sum(DISTINCT m), count(DISTINCT day), count(DISTINCT at), count(DISTINCT yes), bool_and(DISTINCT yes)', 'sum(DISTINCT n), sum(DISTINCT CASE WHEN yes THEN n ELSE 1.50 END), count(DISTINCT n * 2)', 'sum(DISTINCT d::numeric(20,6)), avg(DISTINCT b::numeric)']) agg,
	format('SELECT %sarray_agg(DISTINCT k), %s FROM packed WHERE %s%s', keys, agg, qual, CASE WHEN keys <> '' THEN ' GROUP BY ' || sets END) q WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['SELECT b, sum(DISTINCT id), avg(DISTINCT id), count(DISTINCT k), sum(DISTINCT k) FROM many GROUP BY b', 'SELECT id % 6000, sum(DISTINCT b), sum(DISTINCT id) FROM many GROUP BY 1', 'SELECT sum(DISTINCT id), avg(DISTINCT b) FROM many']) q;
SET gpucol.memory_limit = '2MB';
SELECT differ('SELECT b, sum(DISTINCT id), avg(DISTINCT id) FROM many GROUP BY b');
RESET gpucol.memory_limit;
-- LIMIT without ORDER BY: any groups, which are whole; none where HAVING, DISTINCT, windows or sets come between
CREATE FUNCTION any_groups(query text, few text, OUT groups bigint, OUT wrong bigint, OUT node text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'CREATE TEMP TABLE chosen AS SELECT x::text AS t FROM (' || query || ' ' || few || ') x';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query || ' ' || few LOOP
		IF line ~ 'fed by rows|First Groups|First By' THEN
			node := concat_ws(', ', node, trim(line));
		END IF;
	END LOOP;
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE 'SELECT count(*), (SELECT count(*) FROM (SELECT t FROM chosen EXCEPT ALL SELECT x::text FROM (' || query || ') x) w) FROM chosen' INTO groups, wrong;
	SET LOCAL gpucol.pushdown = allow;
	DROP TABLE chosen;
END $$;
SELECT q, few, a.* FROM unnest(ARRAY['SELECT k, string_agg(t, '','' ORDER BY id), count(*), sum(DISTINCT b), percentile_disc(0.5) WITHIN GROUP (ORDER BY c) FROM packed GROUP BY k',
	'SELECT array_agg(id ORDER BY id), t FROM packed WHERE id > 40 AND upper(t) <> ''KEY 7'' GROUP BY t, yes', 'SELECT array_agg(b ORDER BY id) FROM packed WHERE id < 0 GROUP BY k',
	'SELECT upper(t), count(DISTINCT (k, b)), string_agg(DISTINCT t, '','') FILTER (WHERE b > 500) FROM packed GROUP BY upper(t)', 'SELECT 1, jsonb_agg(id ORDER BY id) FROM packed GROUP BY 1']) q,
	unnest(ARRAY['LIMIT 3', 'LIMIT 2 OFFSET 5', 'LIMIT 100000', 'LIMIT ALL OFFSET 3']) few, any_groups(q, few) a;
SELECT q, few, a.* FROM (VALUES ('SELECT k, string_agg(t, '','' ORDER BY id) FROM packed GROUP BY k HAVING count(t) > 216', 'LIMIT 9'), ('SELECT DISTINCT count(*) - count(*), string_agg(DISTINCT (k / 100)::text, '''') FROM packed WHERE id < 4000 GROUP BY k', 'LIMIT 2'),
	('SELECT k, string_agg(t, '','' ORDER BY id), count(*) OVER () FROM packed GROUP BY k', 'LIMIT 2'), ('SELECT unnest(array_agg(id ORDER BY id) FILTER (WHERE k > 5)), k FROM packed GROUP BY k', 'LIMIT 4'),
	('SELECT k, yes, array_agg(id ORDER BY id) FROM packed GROUP BY ROLLUP (k, yes)', 'LIMIT 40')) v(q, few), any_groups(q, few) a;
-- with ORDER BY the first ones, not any
SELECT q, differ(q) FROM unnest(ARRAY['SELECT k, count(*), string_agg(t, '','' ORDER BY id) FROM packed WHERE id > 5 GROUP BY k ORDER BY 2 DESC, 1 LIMIT 3', 'SELECT k, sum(DISTINCT b), array_agg(id ORDER BY id) FROM packed GROUP BY k ORDER BY k DESC NULLS LAST LIMIT 2 OFFSET 1',
	'SELECT k, max(d), array_agg(DISTINCT b) FROM packed GROUP BY k ORDER BY max(d), k LIMIT 2']) q;
DROP FUNCTION any_groups(text, text);
DROP OWNED BY agg_fed_user;
DROP ROLE agg_fed_user;
DROP SCHEMA agg_fed CASCADE;
