--
-- Conditions on ranges that are made of two values: comparisons of these, and the error where they are turned.
--
SET client_min_messages = warning;
CREATE SCHEMA join_made_ranges;
SET search_path = join_made_ranges, public;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET TimeZone = 'UTC';
CREATE TABLE many USING gpucol AS SELECT i AS id, i % 10 AS k, CASE WHEN i % 41 > 0 THEN i * 7 % 500 END AS x, CASE WHEN i % 13 > 0 THEN i * 7 % 500 END AS lo, CASE WHEN i % 17 > 0 THEN i * 7 % 500 + i % 9 END AS hi FROM generate_series(1, 1500) i;
CREATE TABLE few USING gpucol AS SELECT * FROM many WHERE id % 15 = 4;
INSERT INTO few VALUES (20000, 3, NULL, NULL, NULL), (20001, 4, 5, NULL, 2147483647), (20002, 5, -2147483648, -2147483648, NULL), (20003, 6, 7, 7, 7);
DELETE FROM many WHERE id % 77 = 5;
CREATE VIEW m AS SELECT id, k, x AS i, lo AS il, hi AS ih, x::bigint AS b, lo::bigint AS bl, hi::bigint AS bh, date '2024-01-01' + x AS d, date '2024-01-01' + lo AS dl, date '2024-01-01' + hi AS dh, timestamp '2024-01-01' + x * interval '1 hour' AS t,
	timestamp '2024-01-01' + lo * interval '1 hour' AS tl, timestamp '2024-01-01' + hi * interval '1 hour' AS th FROM many;
CREATE TABLE mm USING gpucol AS TABLE m;
CREATE TABLE ff USING gpucol AS SELECT * FROM m WHERE id % 15 = 4;
INSERT INTO ff (id, k) VALUES (20000, 3);
INSERT INTO ff VALUES (20001, 4, 5, NULL, 2147483647, 5, NULL, 5, 'infinity', '-infinity', 'infinity', 'infinity', NULL, 'infinity'), (20002, 5, 6, 6, 6, 6, 6, 6, '2024-01-07', '2024-01-07', '2024-01-07', '2024-01-05', '2024-01-05', '2024-01-05');
ANALYZE mm, ff;
CREATE TABLE kinds AS SELECT * FROM (VALUES ('i', 'int4range', ''), ('b', 'int8range', ', ''[)'''), ('d', 'daterange', ''), ('t', 'tsrange', ''), ('t', 'tsrange', ', ''[]'''), ('t', 'tsrange', ', ''()'''), ('t', 'tsrange', ', ''(]'''), ('d', 'daterange', ', ''[]''')) v(c, f, flags);
CREATE FUNCTION made(query text, c text, f text, flags text) RETURNS text LANGUAGE sql AS $$ SELECT twin(regexp_replace(regexp_replace(query, 'R\((\w)\)', format('%s(\1.%sl, \1.%sh%s)', f, c, c, flags), 'g'), '(\w)\.X', format('\1.%s', c), 'g')) $$;
SELECT c, f, flags, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) @> m.X', c, f, flags) AS contains, made('SELECT f.k, count(*), sum(m.id), sum(f.id) FROM ff f JOIN mm m ON m.k = f.k AND f.X <@ R(m) GROUP BY 1', c, f, flags) AS keyed,
	made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) && R(m)', c, f, flags) AS overlap, made('SELECT count(*), sum(m.id), sum(f.id), count(f.id) FROM mm m LEFT JOIN ff f ON R(m) && R(f)', c, f, flags) AS left,
	made('SELECT m.id FROM mm m WHERE NOT R(m) @> m.X', c, f, flags) AS negated, made('SELECT R(m) @> m.X AS r, count(*) FROM mm m GROUP BY 1', c, f, flags) AS groups
FROM kinds ORDER BY 1, 2, 3;
-- turned bounds are an error where PostgreSQL comes to them
INSERT INTO ff (id, k, i, il, ih, b, bl, bh, d, dl, dh, t, tl, th) VALUES (30000, 7, 5, 9, 8, 5, 9, 8, '2024-01-07', '2024-01-09', '2024-01-08', '2024-01-05', '2024-01-09', '2024-01-08');
SELECT c, f, flags, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) @> m.X', c, f, flags) AS contains, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) && R(m) WHERE f.id < 30000', c, f, flags) AS apart,
	made('SELECT f.id FROM ff f WHERE R(f) @> f.X', c, f, flags) AS rows, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON f.k = m.k AND m.id < 0 AND R(f) && R(m)', c, f, flags) AS none
FROM kinds ORDER BY 1, 2, 3;
-- the last day has no next one
DELETE FROM ff WHERE id = 30000;
INSERT INTO ff (id, k, d, dl, dh) VALUES (40000, 7, '2024-01-07', '2024-01-05', '5874897-12-31'), (40001, 7, '2024-01-07', '2024-01-05', 'infinity');
SELECT flags, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) @> m.X', 'd', 'daterange', flags) AS contains, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON R(f) && R(m) WHERE f.id <> 40000', 'd', 'daterange', flags) AS apart,
	made('SELECT f.id FROM ff f WHERE R(f) @> f.X', 'd', 'daterange', flags) AS rows, made('SELECT m.id, f.id AS f FROM mm m JOIN ff f ON f.k = m.k AND m.id < 0 AND R(f) && R(m)', 'd', 'daterange', flags) AS none
FROM unnest(ARRAY[', ''[]''', ', ''[)''', ', ''(]''']) flags;
SELECT twin('SELECT f.id FROM ff f WHERE tsrange(f.tl, f.th, NULL) @> f.t'), twin('SELECT f.id FROM ff f WHERE tsrange(f.tl, f.th, ''x'') @> f.t');
DROP SCHEMA join_made_ranges CASCADE;
