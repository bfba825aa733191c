-- Modes and percentiles of values that repeat: found among the distinct ones, as PostgreSQL finds them among all.
SET client_min_messages = warning;
CREATE SCHEMA agg_frequent;
SET search_path = agg_frequent, public;

-- n: 2.5 and 2.50 are equal and not the same, so that sorting groups decides which comes first; f and l: few rows, NULLs alone
CREATE TABLE plain AS SELECT i AS id, i % 5 AS g, CASE WHEN i % 9 <> 0 THEN 'word ' || i * i % 83 END AS t, md5((i * 7 % 101)::text)::uuid AS u,
	CASE WHEN i % 11 <> 0 THEN (i * i % 57)::numeric / 2 END AS q, CASE i % 3 WHEN 0 THEN 2.5 WHEN 1 THEN 2.50 ELSE i % 7 END AS n,
	make_interval(hours => i % 50) AS iv, decode(lpad(to_hex(i * 3 % 250), 2, '0'), 'hex') AS y, ARRAY[i % 4, i % 3] AS a,
	CASE WHEN i < 6 THEN 'x' || i END AS f, NULL::text AS l, i::text AS m
	FROM generate_series(1, 3000) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
INSERT INTO plain VALUES (-1, 9, 'word 1'), (-2, NULL, '');
INSERT INTO packed VALUES (-1, 9, 'word 1'), (-2, NULL, '');
DELETE FROM plain WHERE id % 40 = 1;
DELETE FROM packed WHERE id % 40 = 1;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE col AS SELECT c FROM unnest(string_to_array('t|t COLLATE "C" DESC|u|q|n|iv|y|a|f|l|m|u DESC NULLS FIRST|lower(t)|q + 1', '|')) c;
CREATE TABLE shape AS SELECT q FROM unnest(ARRAY[
	'SELECT mode() WITHIN GROUP (ORDER BY {}) FROM T',
	'SELECT g, mode() WITHIN GROUP (ORDER BY {}) FROM T GROUP BY g',
	'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY {}), percentile_disc(0) WITHIN GROUP (ORDER BY {}) FROM T GROUP BY g',
	'SELECT percentile_disc(1) WITHIN GROUP (ORDER BY {}), percentile_disc(0.013) WITHIN GROUP (ORDER BY {}) FILTER (WHERE g <> 2) FROM T',
	'SELECT percentile_disc(ARRAY[0.1, NULL, 0.9]) WITHIN GROUP (ORDER BY {}) FROM T',
	'SELECT g, percentile_disc(g * 0.25) WITHIN GROUP (ORDER BY {}) FROM T WHERE g < 5 GROUP BY g',
	'SELECT percentile_disc(NULL::float8) WITHIN GROUP (ORDER BY {}), percentile_disc(''NaN''::float8) WITHIN GROUP (ORDER BY {}) FROM T',
	'SELECT percentile_disc(1.01) WITHIN GROUP (ORDER BY {}) FROM T',
	'SELECT g, id % 2, mode() WITHIN GROUP (ORDER BY {}) FROM T GROUP BY GROUPING SETS ((g), (id % 2), ())',
	'SELECT mode() WITHIN GROUP (ORDER BY {}) FROM T WHERE id < 0 OR id = 7']) q;
SELECT twin(replace(s.q, '{}', c.c)) AS node, count(*) FROM shape s, col c WHERE NOT (c.c = 'a' AND s.q ~ 'ARRAY' OR c.c = 'n' AND s.q ~ 'GROUP BY') GROUP BY 1 ORDER BY 1;
DROP SCHEMA agg_frequent CASCADE;
