-- INTERSECT ALL and EXCEPT ALL are counts of groups.
SET client_min_messages = warning;
CREATE SCHEMA set_all;
SET search_path = set_all, public;
SET jit = off;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
CREATE TABLE plain (id int, k int, l bigint, n numeric, p numeric(10,2), f float8, t text, v varchar(9), c char(4), d date, ts timestamp, b boolean, m mood, j jsonb, u uuid);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 9 > 0 THEN i % 10 * 900000000000000000 END, CASE WHEN i % 3 > 0 THEN round(i % 4 * 1.5, i % 6) END,
	CASE WHEN i % 5 > 0 THEN i % 24 * 1.5 END, CASE i % 8 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' WHEN 4 THEN NULL ELSE i % 30 / 7.0 END,
	CASE WHEN i % 4 > 0 THEN 't' || i % 19 END, CASE WHEN i % 5 > 0 THEN 'v' || i % 9 END, CASE WHEN i % 6 > 0 THEN 'c' || i % 3 END,
	CASE WHEN i % 11 = 1 THEN 'infinity'::date WHEN i % 4 > 0 THEN date '2024-01-01' + i % 40 END, CASE WHEN i % 3 > 0 THEN timestamp '2024-01-01' + i % 40 * interval '7 hours' END,
	CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE i % 4 WHEN 0 THEN 'sad'::mood WHEN 1 THEN 'ok' WHEN 2 THEN 'glad' END, to_jsonb(i % 3), md5((i % 9)::text)::uuid
	FROM generate_series(1, 1500) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed') >= 0 AS merged;
INSERT INTO plain (id, k, l, t) VALUES (-1, 1, 9223372036854775807, 't1'), (-2, 1, -9223372036854775808, ''), (-3, NULL, NULL, NULL), (-4, NULL, NULL, NULL);
INSERT INTO packed SELECT * FROM plain WHERE id < 0;
DELETE FROM plain WHERE id % 13 = 0;
DELETE FROM packed WHERE id % 13 = 0;
ANALYZE plain, packed;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set include :srcdir /include/plan.psql
\i :include
\set ECHO all

CREATE FUNCTION counted(query text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN string_agg(line, ' ') ~ 'SetOp' THEN 'set operation' WHEN string_agg(line, ' ') ~ 'ProjectSet' THEN 'counted' END
	FROM plan(regexp_replace(query, '\yT\y', 'packed', 'g')) line $$;
CREATE TABLE columns AS SELECT c FROM unnest(ARRAY['k', 'id', 'l', 'p', 't', 'v', 'd', 'ts', 'b', 'm', 'u', 'k, t', 't, d, b', 'k, l, p, v, ts, m', 'k % 3, left(t, 2)', 'n', 'f', 'c', 'j', 't COLLATE "C"', 'k, NULL::int', '1']) c;
SELECT c, op, split_part(string_agg(DISTINCT twin(q), ' '), E'\n', 1) AS node, string_agg(DISTINCT counted(q), ' ') AS way, count(*)
	FROM columns, unnest(ARRAY['EXCEPT ALL', 'INTERSECT ALL']) op, unnest(ARRAY['SELECT %1$s FROM T WHERE id %% 5 > 1 %2$s SELECT %1$s FROM T WHERE id %% 4 > 0',
	'SELECT %1$s FROM T %2$s SELECT %1$s FROM T WHERE id %% 3 = 0 AND k < 4', 'SELECT %1$s FROM T WHERE id = -9 %2$s SELECT %1$s FROM T', 'SELECT %1$s FROM T %2$s SELECT %1$s FROM T WHERE id = -9']) form,
	format(form, c, op) q GROUP BY 1, 2 ORDER BY 1, 2;
-- above and below others, of other types, with LIMIT
SELECT q, left(twin(q), 300) AS node, counted(q) AS way FROM unnest(ARRAY[
	'SELECT k, count(*) FROM (SELECT k, t FROM T EXCEPT ALL SELECT k, t FROM T WHERE b) q GROUP BY k',
	'SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM T INTERSECT ALL SELECT k, t FROM T WHERE b) q',
	'SELECT k, t FROM T EXCEPT ALL SELECT k, t FROM T WHERE b EXCEPT ALL SELECT k, t FROM T WHERE id < 100',
	'SELECT k FROM T UNION ALL (SELECT k FROM T WHERE b INTERSECT ALL SELECT k FROM T WHERE id < 100)',
	'SELECT k FROM T UNION (SELECT k FROM T WHERE b INTERSECT ALL SELECT k + 5 FROM T WHERE id < 100)',
	'SELECT k FROM T EXCEPT (SELECT k FROM T WHERE b INTERSECT ALL SELECT k + 5 FROM T WHERE id < 100)',
	'SELECT k, t FROM T WHERE b EXCEPT ALL SELECT k, t FROM T WHERE NOT b ORDER BY 1, 2 LIMIT 7 OFFSET 3',
	'SELECT k FROM T EXCEPT ALL SELECT l FROM T WHERE id < 100',
	'SELECT k FROM T EXCEPT SELECT k FROM (SELECT k FROM T WHERE b INTERSECT ALL SELECT l FROM T WHERE id < 100) q',
	'SELECT k FROM T UNION (SELECT k FROM T WHERE b INTERSECT ALL SELECT l FROM T WHERE id < 100)',
	'(SELECT k FROM T EXCEPT ALL SELECT l FROM T WHERE b) INTERSECT ALL SELECT l FROM T WHERE id < 700',
	'SELECT k, count(*) FROM T GROUP BY k EXCEPT ALL SELECT k, count(*) FROM T WHERE b GROUP BY k',
	'SELECT DISTINCT k FROM T EXCEPT ALL SELECT k FROM T WHERE id % 7 = 3',
	'SELECT k, (SELECT count(*) FROM (SELECT t FROM T a WHERE a.k = o.k EXCEPT ALL SELECT t FROM T b WHERE b.k = o.k AND b.b) q) FROM (SELECT DISTINCT k FROM T) o',
	'SELECT k FROM T WHERE random() < 2 EXCEPT ALL SELECT k FROM T WHERE b']) q;
SELECT plan('SELECT k, t FROM packed EXCEPT ALL SELECT k, t FROM packed WHERE b');
SELECT plan('SELECT k, t FROM packed INTERSECT ALL SELECT k, t FROM packed WHERE b');
DROP SCHEMA set_all CASCADE;
