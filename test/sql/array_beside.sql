-- unnest(a, b): elements of several arrays beside one another are rows that the CPU engine makes; the shorter one has NULL.
SET client_min_messages = warning;
CREATE SCHEMA array_beside;
SET search_path = array_beside, public;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

-- i, f: of a fixed width, of any length, with NULLs; n, t: of a varying one; m: of two dimensions; r: begins elsewhere; l: long ones; s: alike in each row; e: none
CREATE TABLE plain (id int, k int, i int[], f float8[], g bigint[], n numeric[], t text[], m int[], r int[], l int[], s smallint[], e int[], x int);
INSERT INTO plain SELECT i, i % 7, CASE WHEN i % 11 > 0 THEN ARRAY(SELECT CASE WHEN (i + j) % 9 > 0 THEN (i * j) % 100 END FROM generate_series(1, i % 5) j) END,
	CASE WHEN i % 13 > 0 THEN ARRAY(SELECT (i * j) % 31 / 4.0 FROM generate_series(1, i % 4) j)::float8[] END, ARRAY(SELECT i::bigint * j FROM generate_series(1, i % 3) j),
	ARRAY(SELECT CASE WHEN (i + j) % 8 > 0 THEN round((i * j) % 77 / 3.0, j % 3) END FROM generate_series(1, i % 6) j), CASE WHEN i % 17 > 0 THEN ARRAY(SELECT CASE WHEN (i + j) % 10 > 0 THEN 'w' || (i * j) % 23 END FROM generate_series(1, i % 3 + 1) j) END,
	CASE i % 3 WHEN 0 THEN ARRAY[[i, 2], [3, i % 5]] WHEN 1 THEN '{}' ELSE ARRAY[i % 9] END, CASE WHEN i % 2 = 0 THEN ('[0:2]={1,' || i % 6 || ',3}')::int[] ELSE ('[5:6]={7,' || i % 4 || '}')::int[] END,
	CASE WHEN i % 1000 = 0 THEN ARRAY(SELECT (i + j) % 50 FROM generate_series(1, 1500) j) ELSE ARRAY[i] END, ARRAY[i % 3, i % 5, 7]::smallint[], NULL, i % 50 FROM generate_series(1, 4000) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed');
ANALYZE packed;

CREATE TABLE query (q text);
INSERT INTO query VALUES ('SELECT count(*), count(a), count(b), sum(id) FROM T, unnest(A_, B_) u(a, b)'), ('SELECT k, count(a), count(b), count(*) FROM T, unnest(A_, B_) u(a, b) GROUP BY 1'), ('SELECT a, count(*), count(b) FROM T, unnest(A_, B_) u(a, b) GROUP BY 1'),
	('SELECT a, b, count(*), sum(x) FROM T, unnest(A_, B_) u(a, b) GROUP BY 1, 2'), ('SELECT o, count(a), count(b) FROM T, unnest(A_, B_) WITH ORDINALITY u(a, b, o) GROUP BY 1'), ('SELECT o, max(id), count(c) FROM T, ROWS FROM (unnest(A_), unnest(B_), unnest(s)) WITH ORDINALITY u(a, b, c, o) WHERE o > 1 GROUP BY 1'),
	('SELECT k, count(*), count(a), count(b), count(o) FROM T LEFT JOIN unnest(A_, B_) WITH ORDINALITY u(a, b, o) ON true GROUP BY 1'), ('SELECT k, count(*), count(b), sum(id) FROM T LEFT JOIN unnest(A_, B_) u(a, b) ON a IS NOT NULL AND b IS NULL GROUP BY 1'),
	('SELECT count(*), sum(id) FROM T, unnest(A_, B_) u(a, b) WHERE a IS NULL'), ('SELECT k, count(DISTINCT a), count(DISTINCT b) FROM T, unnest(A_, B_) u(a, b) WHERE x < 20 GROUP BY 1'), ('SELECT max(a::text), min(b::text) FROM T, unnest(A_, B_) u(a, b)'),
	('SELECT count(*), count(c), count(a) FROM T, unnest(A_, B_) u(a, b), unnest(i) c WHERE x < 9'), ('SELECT array_agg(a ORDER BY id, o) FROM T, unnest(A_, B_) WITH ORDINALITY u(a, b, o) WHERE id < 40'), ('SELECT t2.x, count(a) FROM T, unnest(A_, B_) u(a, b), (SELECT DISTINCT x FROM T) t2 WHERE t2.x = id GROUP BY 1');
CREATE FUNCTION differs(columns text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM query, unnest(columns) a, unnest(columns) b, LATERAL twin(replace(replace(q, 'A_', a), 'B_', b)) d WHERE d !~ '^Gpucol\w+$' ORDER BY d COLLATE "C";
$$;
CREATE FUNCTION joined(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Join:|Function Scan' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;

SELECT joined(format('SELECT count(a), count(b) FROM packed, %s u(a, b)', f)) FROM unnest('{"unnest(i, f)","unnest(n, t)","ROWS FROM (unnest(i), unnest(t))","unnest(i, i)","unnest(s, ARRAY[1, 2])","ROWS FROM (unnest(i), generate_series(1, x))","unnest(i, f[1:2])","unnest(i, string_to_array(t[1], ''w''))"}'::text[]) f;
SELECT differs('{i,f,t}');
SELECT differs('{g,n,s}');
SELECT differs('{m,r,l}');
SELECT differs('{i,e}');
SELECT differs('{i,l}');
SELECT twin(q) FROM unnest('{"SELECT k, sum(a * b), avg(c), sum(d) FROM T, unnest(i, f, n, g) u(a, b, c, d) GROUP BY 1","SELECT t, sum(n) FROM (SELECT u.t, u.n FROM T, unnest(T.t, T.n) u(t, n)) q GROUP BY 1","SELECT a, b, c, d, u.h, j, v, count(*) FROM T, unnest(i, i, s, g, f, t, m) u(a, b, c, d, h, j, v) WHERE x < 3 GROUP BY 1, 2, 3, 4, 5, 6, 7",
	"SELECT count(*), sum(a), sum(c) FROM T, unnest(i, i, i, i, i, i, i, i, i) u(a, b, c, d, c5, c6, c7, c8, c9)","SELECT count(u) FROM T, unnest(i, f) u","SELECT count(*) FROM T, unnest(l, l) u(a, b) WHERE a <> b OR b = 7"}'::text[]) q;

-- rows that are not packed, deleted ones
INSERT INTO packed SELECT id + 10000, k, i, f, g, n, t, m, r, l, s, e, x FROM plain WHERE id % 20 = 0;
INSERT INTO plain SELECT id + 10000, k, i, f, g, n, t, m, r, l, s, e, x FROM plain WHERE id % 20 = 0;
DELETE FROM packed WHERE id % 9 = 0;
DELETE FROM plain WHERE id % 9 = 0;
SELECT differs('{i,t}');
TRUNCATE packed, plain;
SELECT differs('{i,n}');
INSERT INTO packed (id, i, n) VALUES (1, '{}', NULL), (2, NULL, '{1.50}'), (3, '{1,2}', '{NULL}');
INSERT INTO plain SELECT * FROM packed;
SELECT differs('{i,n}');

SET client_min_messages = error;
DROP SCHEMA array_beside CASCADE;
