-- Quotients of numerics have PostgreSQL's value and scale in an engine: in sums and averages, in conditions, under roundings.
SET client_min_messages = warning;
CREATE SCHEMA agg_quotients;
SET search_path = agg_quotients, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE item (k int, a numeric(12,2), b numeric(9,4), c numeric(15,2), i int, l bigint, w numeric(18,0), z numeric(10,10)) USING gpucol;
INSERT INTO item SELECT i % 7, CASE WHEN i % 11 > 0 THEN i * 7919 % 10.0 ^ (i % 9) * 0.01 - 50 END, CASE WHEN i % 13 > 0 THEN i * 104729 % 10.0 ^ (i % 7) * 0.0001 - 5 ELSE 0 END,
	i::bigint * 15485863 % 10.0 ^ (i % 14) * 0.01, i * 31 % 101 - 50, i::bigint * 982451653, i::bigint * 32452843 * 9973, i % 9973 * 0.0000000001
FROM generate_series(1, 2500) i;
SELECT gpucol.merge('item');
-- weights and first digits of all kinds
INSERT INTO item SELECT 8, a, b, 9999 * b, 5, 10.0 ^ x, 10.0 ^ x, 0.5
FROM (SELECT x, round(z * 10.0 ^ (x - 2), 2) AS a, round(10.0 ^ (y - 4), 4) AS b FROM generate_series(0, 8) x, generate_series(0, 7) y, generate_series(1, 3) z) s;

CREATE TABLE argument (expr text);
INSERT INTO argument VALUES
	('a / 3'), ('a / nullif(b, 0)'), ('c / (b + 10)'), ('i / 7.0'), ('100.0 * i / l'), ('z / w'), ('w / (z + 0.0000000001)'), ('c / 0.0007'), ('-(a / 3)'), ('abs(a / 3)'),
	('a / 3 + c / 7'), ('a / 3 - 1'), ('a / 3 * 100'), ('a / 3 / 7'), ('(a - c) / nullif(a + c, 0)'), ('1 / (w + 1)'), ('CASE WHEN b > 0 THEN a / b ELSE NULL END'),
	('CASE WHEN b > 0 THEN a / b ELSE 0 END'), ('coalesce(a / 3, b)'), ('greatest(a / 3, b)'), ('least(c / 7, b, 5)'), ('nullif(a / 3, 5)'),
	('CASE WHEN i > 0 THEN a ELSE c * 1.000 END * 2 + 1'), ('CASE WHEN i > 0 THEN a ELSE c * 1.000 END / 3'), ('a % 7'), ('mod(c, b + 1000)'), ('div(c, 13.7)'), ('a % nullif(b, 0)'),
	('round(a / 3, 2)'), ('round(a / 3)'), ('round(c / 7, -3)'), ('trunc(a * b, 3)'), ('floor(a / 3)'), ('ceil(a / 3)'), ('sign(a / 3)'), ('round(a * b * c, 1)'),
	('(a / 3)::int'), ('(a / 3)::bigint'), ('(c / 7)::double precision'), ('(a / 3)::double precision'), ('(a * c)::int'), ('a / 0'), ('a / b'), ('a % b'), ('(c * c)::int');

CREATE FUNCTION all_differ() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT e FROM argument, unnest('{"", k, "k, i"}'::text[]) keys,
		differ(format('SELECT %s sum(x), avg(x), count(x), sum(x) FILTER (WHERE i < 20), count(*) FROM (SELECT *, %s AS x FROM item WHERE l > 5000) s %s',
					  CASE keys WHEN '' THEN '' ELSE keys || ',' END, expr, CASE keys WHEN '' THEN '' ELSE 'GROUP BY ' || keys END)) e
	WHERE e IS NOT NULL AND expr !~ 'double';
$$;
SELECT all_differ();

-- each row's own quotient
SELECT differ('SELECT w, a, b, c, sum(a / nullif(b, 0)), sum(c / nullif(a, 0)), sum(b / nullif(c, 0)), sum(a / w), sum(z / nullif(a, 0)) FROM item GROUP BY w, a, b, c');

-- as keys, where the scale is one
SELECT differ(format('SELECT %s AS x, count(*), min(a), sum(c / 7) FROM item GROUP BY 1', expr)) FROM argument WHERE expr ~ '^(round|trunc|floor|ceil|sign|div)|%|::';

-- in conditions, of a scan and below an aggregation; in those of joins
CREATE TABLE condition (expr text);
INSERT INTO condition VALUES
	('a / (b + 6) > 0.5'), ('a / 3 = c / 3'), ('a / 3 < c / 7'), ('a / 3 <> b / 3'), ('a / 3 IN (1, 2, 3.3333333333333333)'), ('a / 3 IS DISTINCT FROM b'), ('a / b > 1'), ('b <> 0 AND a / b > 1'),
	('CASE WHEN b > 0 THEN a / b ELSE NULL END > CASE WHEN c > 0 THEN a / c ELSE NULL END'), ('a / 3 BETWEEN 1 AND 100'), ('round(a / 3, 1) = 1.3'), ('a % 2 = 1'), ('a * 100 / (c + 1) >= 5');
SELECT differ('SELECT k, count(*), sum(a) FROM item WHERE ' || expr || ' GROUP BY k'), differ('SELECT * FROM item WHERE ' || expr, 'GpucolScan') FROM condition;
SELECT differ('SELECT x.k, count(*) FROM item x JOIN item y ON x.i = y.i AND x.a / 3 > y.a / 7 WHERE x.l % 10 = 1 AND y.l % 10 = 2 GROUP BY x.k');
SELECT differ('SELECT x.k, count(*) FROM item x JOIN item y ON x.i = y.i AND CASE WHEN x.b > 0 THEN x.a / x.b ELSE NULL END > CASE WHEN y.b > 0 THEN y.a / y.b END WHERE x.l % 10 = 1 GROUP BY x.k');

-- above and below aggregates
SELECT differ('SELECT k, sum(a) / sum(c), round(100.0 * sum(CASE WHEN i > 0 THEN 1 ELSE 0 END) / count(*), 2) FROM item GROUP BY k HAVING sum(a) / nullif(sum(b), 0) > 0');
SELECT differ('SELECT k, sum(a / 7) AS q, avg(a / 3) FROM item GROUP BY k ORDER BY 2 DESC LIMIT 3');
SELECT differ('SELECT sum(s), count(*) FROM (SELECT k, sum(a / 7) AS s FROM item GROUP BY GROUPING SETS ((k, i), (k), ())) x');
SELECT k, sum(a / 7), avg(a / 3), sum(CASE WHEN b > 0 THEN a / b END) FROM item GROUP BY k ORDER BY k;

-- more than 35 digits in a value, and who computes it
\set include :srcdir /include/ran_in.psql
\set ECHO none
\i :include
\set ECHO all
SELECT expr, ran_in(format('SELECT k, sum(%s) FROM item GROUP BY k', expr)) FROM argument WHERE expr NOT IN ('a / 0', 'a / b', 'a % b', '(c * c)::int', '(a * c)::int');
SELECT ran_in('SELECT sum(c / 7 * (c / 11)) FROM item');
SELECT differ('SELECT sum(c / 7 * (c / 11)), avg(a / 3 * (a / 7)) FROM item');

-- numerics without a precision, and of more than 18 digits, are read where they are computed with
CREATE TABLE plain (k int, n numeric, m numeric(30,8), o numeric, i int, a numeric(12,2), v numeric) USING gpucol;
INSERT INTO plain SELECT i % 7, (ARRAY[i, i * 0.1, i * -1.50, i * 12345678.123456, i * 0.000000001])[1 + i % 5], i * 1234567890123.5, CASE WHEN i % 10 > 0 THEN i * 7919 % 1000 / 3.0 END, i % 50,
	i * 0.25, i % 999 FROM generate_series(1, 2000) i;
INSERT INTO plain VALUES (1, 0, 0, 0, 0, 0, 0), (2, 1e20, 1e21, 1.000000000000000000000000001, 5, 1, 1), (3, -1e-30, -1e-8, 10000, 5, 1, 10000),
	(4, 100000000, 9999.00000001, 0.0000, 5, 1, 12345678901234567890), (NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT gpucol.merge('plain');
INSERT INTO plain VALUES (5, 1.5, 2.5, 3.50, 4, 5.5, 6.25), (6, -10000, -12340000, 0.00012, 4, 5, 7), (6, 12345678901234567890.12345, 1, 1, 1, 1, 1);
TRUNCATE argument;
INSERT INTO argument VALUES ('n'), ('m'), ('o'), ('v'), ('n + m'), ('-n'), ('abs(n)'), ('m / nullif(o, 0)'), ('o * 2'), ('n - a'), ('n % 7'), ('CASE WHEN i > 3 THEN n ELSE o END'), ('coalesce(o, 0)'),
	('greatest(n, o)'), ('nullif(o, 3)'), ('round(n, 1)'), ('n * m * v * o'), ('n::int'), ('round(o)'), ('trunc(o, 2)'), ('ceil(n)'), ('sign(n)'), ('CASE WHEN abs(n) < 10000 THEN n::int END');
SELECT e FROM argument, unnest('{"", k, "k, i"}'::text[]) keys,
	differ(format('SELECT %s sum(x), avg(x), count(x), sum(x) FILTER (WHERE i < 20), count(*) FROM (SELECT *, %s AS x FROM plain WHERE i < 40) s %s',
				  CASE keys WHEN '' THEN '' ELSE keys || ',' END, expr, CASE keys WHEN '' THEN '' ELSE 'GROUP BY ' || keys END)) e WHERE e IS NOT NULL;
SELECT expr, ran_in(format('SELECT k, sum(%s), avg(%1$s) FROM plain GROUP BY k', expr)) FROM argument WHERE expr !~ '::';
SELECT e FROM unnest('{n > m,n + m > 100,o * 2 > v / 100 AND n <> m,n IS DISTINCT FROM o,n::double precision > o::double precision}'::text[]) condition,
	differ('SELECT k, count(*), sum(a), sum(n) FROM plain WHERE ' || condition || ' GROUP BY k') e WHERE e IS NOT NULL;
SELECT differ('SELECT i, n, m, o, v, min(n::double precision), max(o::double precision), max(m::double precision), min(v::double precision) FROM plain GROUP BY i, n, m, o, v');
SELECT differ('SELECT round(n, 1), sign(o), ceil(v), count(*) FROM plain GROUP BY 1, 2, 3');
SELECT differ('SELECT k, sum(n) FROM plain GROUP BY k ORDER BY 2 DESC LIMIT 2');
INSERT INTO plain VALUES (6, 'NaN', 1, 'Infinity', 1, 1, '-Infinity'), (0, 123456789012345678901234567890.12345, 1, 1, 1, 1, 1);
SELECT differ('SELECT k, sum(n), avg(o), sum(o), sum(v) FROM plain GROUP BY k'), differ('SELECT sum(n + 1) FROM plain WHERE k < 6'), ran_in('SELECT sum(n + 1) FROM plain WHERE k < 6'),
	ran_in('SELECT sum(n + 1) FROM plain');

-- quotients that come again and again, and some that do not; zero by zero is none that is remembered
CREATE TABLE again (k int, x int, y int, n numeric(12,2), l bigint) USING gpucol;
INSERT INTO again SELECT i % 3, i * 7919 % 400 - 50, i % 9, (i % 77) * 0.25, i::bigint * 982451653 FROM generate_series(1, 60000) i;
SELECT threads, differ('SELECT k, sum(x / 7.0), avg(n / nullif(y, 0)), sum(l / 3.0), sum(CASE WHEN y <> 0 THEN n / y ELSE 0 END), avg(l / (x + 0.5)) FROM again GROUP BY k'),
	differ('SELECT round(x / 7.0, 1), count(*), sum(n * 0.0 / (y + 1)) FROM again GROUP BY 1'),
	differ('SELECT sum(n * 0.0 / (y * 0.0)) FROM again'), differ('SELECT sum(x * 0.0 / y) FROM again')
FROM unnest('{1,2}'::text[]) threads, set_config('gpucol.cpu_threads', threads, false);
RESET gpucol.cpu_threads;
SELECT sum(n * 0.0 / (y * 0.0)) FROM again;
SELECT sum(0.0 / y) FROM again WHERE y = 0;
SELECT sum(y::numeric / y::numeric) FROM again WHERE y = 0;

-- quotients of what rows of plans have, in a condition of a join: decimals are no bytes to it
SELECT ran_in('WITH y AS MATERIALIZED (SELECT i AS c, k, sum(a) AS t FROM item GROUP BY i, k) SELECT y1.c FROM y y1, y y2, y y3 WHERE y1.c = y2.c AND y1.c = y3.c AND y1.k = 1 AND y2.k = 2 AND y3.k = 3
	AND CASE WHEN y1.t > 0 THEN y2.t / y1.t ELSE NULL END > CASE WHEN y2.t > 0 THEN y3.t / y2.t END');
SELECT differ('WITH y AS MATERIALIZED (SELECT i AS c, k, sum(a) AS t FROM item GROUP BY i, k) SELECT y1.c FROM y y1, y y2, y y3 WHERE y1.c = y2.c AND y1.c = y3.c AND y1.k = 1 AND y2.k = 2 AND y3.k = 3
	AND CASE WHEN y1.t > 0 THEN y2.t / y1.t ELSE NULL END > CASE WHEN y2.t > 0 THEN y3.t / y2.t END', 'GpucolJoin');

-- quotients of columns each of one scale, of all sizes: weights, first digits, zeros behind the point
CREATE TABLE sizes (k int, a numeric(18,0), b numeric(18,2), c numeric(18,7), d numeric(18,17), e numeric(5,5), f numeric) USING gpucol;
INSERT INTO sizes SELECT x % 5, round(v * 10.0 ^ x), round(w * 10.0 ^ (x - 2), 2), round(v * 10.0 ^ (y - 7), 7), w * 10.0 ^ -y, 0.00001 * (1 + x * y % 9), round(v * 10.0 ^ (x - 8), y)
FROM generate_series(0, 16) x, generate_series(0, 10) y, unnest('{1,1.000001,9.9999,-3.3333333,7}'::numeric[]) v, unnest('{1,-9.99,4.999999}'::numeric[]) w;
SELECT gpucol.merge('sizes');
INSERT INTO sizes VALUES (1, NULL, 0, NULL, 1, 0.1, NULL), (2, 999999999999999999, -9999999999999999.99, 99999999999.9999999, -9.99999999999999999, -0.99999, 0), (3, -999999999999999999, 0.01, 0.0000001, 0.00000000000000001, 0.00001, -0.00);
SELECT x, y, d FROM unnest('{a,b,c,d,e,f}'::text[]) x, unnest('{a,b,c,d,e,f}'::text[]) y,
	differ(format('SELECT k, sum(%s / nullif(%s, 0)), min(%1$s / nullif(%2$s, 0)), max(%1$s / nullif(%2$s, 0)), count(*) FILTER (WHERE %1$s / nullif(%2$s, 0) > 1.5), sum(round(%1$s / nullif(%2$s, 0), 3)) FROM sizes GROUP BY k', x, y)) d WHERE d IS NOT NULL;
SELECT x, d FROM regexp_split_to_table('(b - 5000.123) / 28867.51;(c - 1) / 0.0000003;a / 7;1 / nullif(b, 0);(d * 3 - e) / 9999;a / b / nullif(c, 0)', ';') x, differ(format('SELECT sum(%s), avg(%1$s), min(%1$s), max(%1$s) FROM sizes WHERE b <> 0', x)) d WHERE d IS NOT NULL;
SELECT sum(b / (a - a)) FROM sizes;
-- the last of the equal least and greatest values is displayed, also where numbers are nearly equal
CREATE TABLE near (k int, n numeric) USING gpucol;
INSERT INTO near SELECT i % 3, (ARRAY[1.5, 1.50, 1.500, 1.4999999999999999, 1.5000000000000001, -1.5, -1.50, -1.4999999999999999, 123456789012345678, 123456789012345678.0, 123456789012345677, -123456789012345678.00, 0, 0.0, 0.00, 1e-18, -1e-20, 1e-30])[1 + i * 7919 % 18]
FROM generate_series(1, 20000) i;
SELECT n, d FROM generate_series(1, 18) n, differ(format('SELECT k, min(n), max(n) FROM near WHERE abs(n) <= (SELECT (array_agg(DISTINCT abs(n) ORDER BY abs(n)))[%s] FROM near) OR n IS NULL GROUP BY k', n)) d WHERE d IS NOT NULL AND n <= 9;
SELECT d FROM differ('SELECT min(n), max(n), min(n) FILTER (WHERE n > 0), max(n) FILTER (WHERE n < 0), max(n) FILTER (WHERE n < 2), min(n / 3), max(n / 3) FROM near') d;

DROP SCHEMA agg_quotients CASCADE;
