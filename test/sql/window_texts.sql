-- Windows whose partitions are texts, which need no order, and orders of texts and bytes: under
-- collations that order bytes and others, with beginnings in common; the answers are those of heap twins.
CREATE SCHEMA window_texts;
SET search_path = window_texts, public;
SET max_parallel_workers_per_gather = 0;
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE h_w AS
	SELECT i AS id, i * 37 % 500 AS v,
		CASE i % 29 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN ' ' WHEN 3 THEN 'http://' ELSE 'http://www.example.com/page/' || i * 7919 % 1700 END AS t,
		CASE WHEN i % 7 > 0 THEN repeat('long beginning ', 40) || i % 900 || CASE WHEN i % 2 = 0 THEN ' ' ELSE '' END ELSE left('ñandú über ' || i % 50, i % 13) END AS long,
		(CASE WHEN i % 3 = 0 THEN 'Name ' ELSE 'nAME ' END || i % 40) COLLATE any_case AS name,
		('v' || i % 33)::varchar(8) AS vc, ('c' || i % 21 || repeat(' ', i % 3))::char(8) AS c,
		substr(decode(md5((i % 40)::text), 'hex'), 1, i % 9) || decode(repeat('00', i % 12), 'hex') AS b,
		md5((i % 300)::text)::uuid AS u
	FROM generate_series(1, 6000) i;
CREATE TABLE w USING gpucol AS SELECT * FROM h_w;
SELECT gpucol.merge('w') IS NOT NULL AS merged;
DELETE FROM w WHERE id % 101 = 0;
DELETE FROM h_w WHERE id % 101 = 0;
INSERT INTO w SELECT id + 10000, v, t || '', long, name, vc, c, b, u FROM w WHERE id % 83 = 0;
INSERT INTO h_w SELECT id + 10000, v, t || '', long, name, vc, c, b, u FROM h_w WHERE id % 83 = 0;
ANALYZE w, h_w;
\set tables w
\set sign 'GpucolWindow|GpucolAgg'
\set said ours
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/compare.psql
\set ECHO none
\i :include
\set ECHO all
SET gpucol.pushdown = require;

-- partitions in the order of their first rows, but where their order is asked for
SELECT id, t, row_number() OVER (PARTITION BY t ORDER BY id) FROM w WHERE t LIKE 'http://w%' LIMIT 5;
SELECT id, t, row_number() OVER (PARTITION BY t ORDER BY id) FROM w WHERE t LIKE 'http://w%' ORDER BY t, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id, t, row_number() OVER (PARTITION BY t ORDER BY id) FROM w ORDER BY t, id;

SELECT key, compare(format('SELECT id, row_number() OVER (PARTITION BY %1$s ORDER BY id), sum(v) OVER (PARTITION BY %1$s), '
	'lag(v, 2) OVER (PARTITION BY v %% 3, %1$s ORDER BY id DESC), max(v) OVER (PARTITION BY %1$s ORDER BY v ROWS 3 PRECEDING) FROM w', key))
FROM unnest('{t,long,name,vc,c,b,u,"t COLLATE \"C\"","long COLLATE \"en-x-icu\"","name COLLATE \"C\"","lower(t)","t, b","vc, name, u"}'::text[]) key;
-- a partition's key of one window that is another's order
SELECT key, compare(format('SELECT id, count(*) OVER (PARTITION BY %1$s), rank() OVER (ORDER BY %1$s), dense_rank() OVER (ORDER BY %1$s, v), '
	'first_value(id) OVER (PARTITION BY %1$s, vc ORDER BY id), last_value(id) OVER (PARTITION BY vc ORDER BY %1$s, id) FROM w', key))
FROM unnest('{t,long,name,b,"t COLLATE \"C\"","long COLLATE \"en-x-icu\""}'::text[]) key;
-- orders and extremes
SELECT key, compare(format('SELECT id, rank() OVER (ORDER BY %1$s), dense_rank() OVER (ORDER BY %1$s DESC), row_number() OVER (PARTITION BY vc ORDER BY %1$s DESC NULLS LAST, id), '
	'max(%2$s) OVER (PARTITION BY vc), min(%2$s) OVER (PARTITION BY v ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) FROM w', key, replace(key, 'b', 't')))
FROM unnest('{t,long,name,vc,c,b,"t COLLATE \"C\"","long COLLATE \"C\"","long COLLATE \"en-x-icu\"","t || id","(id || long) COLLATE \"C\""}'::text[]) key;
-- few rows of each partition
SELECT key, compare(format('SELECT * FROM (SELECT id, %1$s AS k, rank() OVER (PARTITION BY %1$s ORDER BY v DESC) AS r FROM w, generate_series(1, 20)) x WHERE r <= 2', key))
FROM unnest('{t,long,name,b}'::text[]) key;
-- above groups
SELECT compare('SELECT t, vc, n, row_number() OVER (PARTITION BY t ORDER BY n DESC, vc) AS r, sum(n) OVER (PARTITION BY vc) AS s FROM (SELECT t, vc, count(*) AS n FROM w GROUP BY 1, 2) x');
-- aggregates in an order
SELECT key, compare(format('SELECT vc, string_agg(%1$s, '','' ORDER BY %1$s DESC), md5(string_agg(DISTINCT %1$s, '';'')), mode() WITHIN GROUP (ORDER BY %1$s), '
	'percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s), (array_agg(id ORDER BY %1$s, id))[7] FROM w GROUP BY vc', key))
FROM unnest('{t,long,"t COLLATE \"C\"","long COLLATE \"en-x-icu\"","left(long, 611)","vc::text"}'::text[]) key;
SELECT compare('SELECT vc, array_agg(b ORDER BY b, id), count(DISTINCT b) FROM w GROUP BY vc');
RESET gpucol.pushdown;
DROP SCHEMA window_texts CASCADE;
