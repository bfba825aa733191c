-- How many groups computed keys make is known from the keys: grouping by them is the engine's,
-- whatever PostgreSQL's estimate of their values, also where the groups are sorted.
SET client_min_messages = warning;
CREATE SCHEMA agg_estimates;
SET search_path = agg_estimates, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t (id bigint, d date, ts timestamp, n numeric(10,2), f float8, s text) USING gpucol;
INSERT INTO t SELECT i, date '2000-01-01' + i % 9000, timestamp '2000-01-01' + i * interval '1 hour', i / 4.0, i * 0.5, 'text ' || i FROM generate_series(1, 60000) i;
VACUUM ANALYZE t;

CREATE FUNCTION planned(key text) RETURNS TABLE (expression text, node text, groups_at_most_2000 bool) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT %s AS k, count(*), sum(id) FROM t GROUP BY 1 ORDER BY 1', key) INTO plan;
	plan := plan #> '{0,Plan}';
	WHILE plan ->> 'Node Type' <> 'Custom Scan' LOOP
		plan := plan #> '{Plans,0}';
	END LOOP;
	RETURN QUERY SELECT key, plan ->> 'Custom Plan Provider', (plan ->> 'Plan Rows')::bigint <= 2000;
END $$;
SELECT p.* FROM unnest(ARRAY['id % 7', 'mod(id, 100)', '(id % 7)::int', 'extract(month FROM ts)', 'date_part(''dow'', ts)', 'extract(hour FROM ts) + 0', 'sign(n)',
	'width_bucket(f, 0, 1000, 10)', 'CASE WHEN f > 100 THEN ''much'' WHEN f > 10 THEN ''some'' ELSE ''little'' END', 'coalesce(id % 3, 0)', 'id > 500', 'id']) k, planned(k) p;
-- how far apart the values of columns lie tells more
SELECT p.* FROM unnest(ARRAY['date_trunc(''month'', ts)', 'date_trunc(''day'', ts + interval ''1 hour'')', 'extract(year FROM ts)', '(ts AT TIME ZONE ''Europe/Berlin'')::date', 'd - 3 + (id % 2)::int',
	'floor(f / 100) * 100', 'round(n / 10)', 'round(f::numeric, -2)', 'n::int / 50', 'id / 100', 'ts::date - d', 'd::date', 'date_trunc(''hour'', ts)', 'id * id']) k, planned(k) p;
-- and of keys of which nothing is known
SELECT node FROM planned('split_part(s, ''x'', 1)');
SELECT node FROM planned('replace(s, ''1'', '''')');
-- and answered
SELECT date_trunc('year', ts) AS y, count(*), sum(id) FROM t GROUP BY 1 ORDER BY 1;
SELECT floor(f / 10000) * 10000 AS b, count(*) FROM t GROUP BY 1 ORDER BY 1;
SELECT id % 7 AS k, count(*), sum(id) FROM t GROUP BY 1 ORDER BY 1;
SELECT extract(month FROM ts) AS m, id % 3, count(*) FROM t GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 4;
-- Where a table has extended statistics, PostgreSQL's estimate knows more than the keys.
CREATE TABLE pairs (a int, b int) USING gpucol;
INSERT INTO pairs SELECT i % 13, i % 17 FROM generate_series(1, 1000) i;
ANALYZE pairs;
CREATE FUNCTION planned_pairs() RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT count(*) FROM pairs GROUP BY a + 1, b + 100' INTO plan;
	RETURN format('%s, %s groups', plan #>> '{0,Plan,Custom Plan Provider}', plan #>> '{0,Plan,Plan Rows}');
END $$;
SELECT planned_pairs();
CREATE STATISTICS pairs_of ON a, b FROM pairs;
ANALYZE pairs;
SELECT planned_pairs();
