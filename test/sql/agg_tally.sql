--
-- Percentiles and modes of few small numbers are counted; of others the numbers are collected.
--
SET client_min_messages = warning;
CREATE SCHEMA agg_tally;
SET search_path = agg_tally, public;

\set node 'Aggregates: fed by rows'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 2048;
-- s: small ones everywhere; w: wider ones later, then such as are far apart; d: decimals; many groups
CREATE TABLE packed (id int, k int, m int, s int2, w int, b int8, d numeric(6,2), day date, yes bool) USING gpucol;
INSERT INTO packed SELECT i, i % 7, i / 3, CASE WHEN i % 11 > 0 THEN i * 7919 % 23 - 11 END, CASE WHEN i < 3000 THEN i % 5 WHEN i < 6000 THEN i % 700 - 300 ELSE i * 1000 END,
	CASE WHEN i = 7000 THEN 9223372036854775807 WHEN i = 7001 THEN -9223372036854775808 ELSE i % 3 END, (i * 37 % 90 - 45) / 100.0, date '2024-01-01' + i % 300, i % 3 = 0 FROM generate_series(1, 9000) i;
DELETE FROM packed WHERE id % 10 = 3;
INSERT INTO packed (id, k, s, w, b, d) VALUES (9501, 1, 32767, -2147483648, 5, NULL), (9502, 8, NULL, NULL, NULL, NULL), (9503, NULL, -11, 2147483647, 1, -9999.99);
ANALYZE packed;

SELECT differ(q) FROM unnest(ARRAY['s', 'w', 'b', 'd', 'day', 's::float8', 's * 3 - k', 'b - 9223372036854775807']) x, unnest(ARRAY['', 'k, ', 'm, ', 'yes, k, ']) keys, unnest(ARRAY['id < 6500', 'true', 'id < 0', 'id > 3000 AND id < 9400']) w,
	LATERAL format('SELECT %2$s mode() WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s DESC), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s), percentile_disc(ARRAY[0, 0.2, 0.4, 0.6, 0.99, 1]) WITHIN GROUP (ORDER BY %1$s DESC),
		mode() WITHIN GROUP (ORDER BY %1$s) FILTER (WHERE yes), count(*) FROM packed WHERE %3$s%4$s', x, keys, w, CASE WHEN keys <> '' THEN ' GROUP BY ' || rtrim(keys, ', ') END) q
WHERE differ(q) IS NOT NULL;
SELECT differ(q) FROM unnest(ARRAY['s', 'w', 'd', 'b % 10']) x,
	LATERAL unnest(ARRAY[format('SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY %s), percentile_cont(ARRAY[0.1, NULL, 0.77]) WITHIN GROUP (ORDER BY %1$s DESC) FROM packed GROUP BY k', x),
	format('SELECT k, yes, grouping(k), percentile_cont(0.25) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %1$s) FROM packed GROUP BY CUBE (k, yes)', x),
	format('SELECT percentile_cont(-0.5) WITHIN GROUP (ORDER BY %s) FROM packed', x), format('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY %s) FROM packed WHERE id < 0', x),
	format('SELECT p.k, mode() WITHIN GROUP (ORDER BY p.%s) FROM packed p JOIN packed q ON p.id = q.m GROUP BY p.k', split_part(x, ' ', 1))]) q WHERE differ(q) IS NOT NULL;
DROP SCHEMA agg_tally CASCADE;
