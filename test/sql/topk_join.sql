-- ORDER BY ... LIMIT over joined rows: the join delivers only rows that can be among the first.
SET client_min_messages = warning;
CREATE SCHEMA topk_join;
SET search_path = topk_join, public;

\set node 'Top Key'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/joined_rows.psql
\i :include
\set ECHO all

CREATE COLLATION english (provider = icu, locale = 'en');
CREATE COLLATION unlike_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE facts (id int, k int, n numeric(10,2), m numeric, f float8, d date, t text, e text COLLATE english, u text COLLATE unlike_case, b bool, big int8) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO facts SELECT i, i * 7919 % 700, (i * 37 % 9001) / 4.0 - 700, CASE WHEN i % 5 > 0 THEN i * 31 % 977 / 7.0 END,
	CASE i % 501 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' WHEN 3 THEN '0' WHEN 4 THEN NULL ELSE i * 13 % 997 / 8.0 END,
	CASE WHEN i % 11 > 0 THEN date '2024-01-01' + i * 31 % 900 END, CASE WHEN i % 71 > 0 THEN 'text ' || i * 13 % 1300 END,
	CASE WHEN i % 73 > 0 THEN (ARRAY['a', 'B', 'ä', 'Z', 'z', 'b'])[1 + i % 6] || i * 17 % 300 END, CASE i % 3 WHEN 0 THEN 'X' ELSE 'x' END || i * 11 % 90,
	CASE WHEN i % 7 > 0 THEN i % 3 = 0 END, 9007199254740992 + i * 31 % 500
FROM generate_series(1, 9000) i;
INSERT INTO facts VALUES (10001, 5, 99999, 99999.5, 1e300, '2030-01-01', 'a delta', 'a delta', 'A DELTA', true, -7), (10002, 6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(10003, NULL, -99999, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM facts WHERE id % 101 = 7;
CREATE TABLE dims (k int, name text, weight numeric(8,3), day date) USING gpucol WITH (autovacuum_enabled = off);
INSERT INTO dims SELECT i, 'dim ' || i * 31 % 250, CASE WHEN i % 13 > 0 THEN i * 17 % 301 / 8.0 END, date '2024-01-01' + i % 50 FROM generate_series(0, 599) i;
INSERT INTO dims SELECT i, 'twin ' || i, i, '2023-01-01' FROM generate_series(0, 40) i;
CREATE TABLE heap_facts AS SELECT * FROM facts;
ANALYZE facts;
ANALYZE dims;

EXPLAIN (COSTS OFF) SELECT f.id, f.n, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY f.n DESC, f.id LIMIT 10 OFFSET 3;
EXPLAIN (COSTS OFF) SELECT f.id, f.t FROM facts f LEFT JOIN dims g ON f.k = g.k AND f.d > g.day ORDER BY f.t NULLS FIRST, f.id FETCH FIRST 7 ROWS WITH TIES;
-- few rows leave the join, as sort keys decide
SET gpucol.cpu_threads = 1;
SELECT keys, joined_rows('SELECT f.*, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY ' || keys || ', f.id LIMIT 10', 900)
FROM unnest('{f.n,f.n DESC,"f.d DESC NULLS LAST",f.t,f.t DESC,"f.e NULLS FIRST",g.name,"g.weight, f.d",f.f,"f.b, f.big DESC",f.n + g.weight,"f.n * 2 DESC"}'::text[]) keys;

-- orders of all kinds
SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{n,m,f,d,t,e,u,b,big,k}'::text[]) col, unnest('{"",DESC,NULLS FIRST,DESC NULLS LAST}'::text[]) dir,
	unnest('{"LIMIT 5","LIMIT 30 OFFSET 40","LIMIT 400"}'::text[]) lim,
	differ(format('SELECT f.id, f.%1$s, g.name, g.weight FROM facts f JOIN dims g ON f.k = g.k ORDER BY f.%1$s %2$s, f.id, g.name %3$s', col, dir, lim),
		CASE col WHEN 'm' THEN 'GpucolJoin' ELSE 'Top Key' END) d WHERE d IS NOT NULL;
SELECT d FROM unnest('{LEFT JOIN,JOIN,FULL JOIN,RIGHT JOIN}'::text[]) kind,
	unnest('{"g.name DESC, f.n, f.id","g.weight NULLS FIRST, f.t, f.id, g.name","f.d DESC, g.day, f.id, g.name","f.n, g.weight DESC NULLS LAST, f.id, g.name, g.k","f.b DESC, f.d, g.name, f.id, g.k"}'::text[]) keys,
	unnest('{"f.k = g.k","f.k = g.k AND f.n > g.weight","f.k = g.k AND g.weight < 5"}'::text[]) cond,
	differ(format('SELECT f.id, f.d, f.t, g.* FROM facts f %s dims g ON %s ORDER BY %s LIMIT 25 OFFSET 2', kind, CASE kind WHEN 'FULL JOIN' THEN 'f.k = g.k' ELSE cond END, keys), 'GpucolJoin') d
WHERE d IS NOT NULL;
-- computed keys, ties, and where all rows are wanted
SELECT d FROM unnest(ARRAY['f.n + g.weight DESC NULLS LAST, f.id, g.name LIMIT 12', 'f.n * 3, f.id, g.name LIMIT 12', 'g.day - f.d, f.id, g.name LIMIT 12', 'f.n * g.weight * f.n, f.id, g.name LIMIT 12', 'f.n / 3 DESC NULLS LAST, f.id, g.name LIMIT 12', 'f.n % 7, f.id, g.name LIMIT 12',
	'f.n * 10000000000000000 DESC NULLS LAST, f.id, g.name LIMIT 12', 'f.id % 3, f.n * -10000000000000000, f.id, g.name LIMIT 12', '-f.big, f.id, g.name LIMIT 12', 'f.b IS NULL, f.f * 2, f.id, g.name LIMIT 12', 'upper(f.t), f.id, g.name LIMIT 12',
	'f.k FETCH FIRST 10 ROWS WITH TIES', 'f.t DESC FETCH FIRST 10 ROWS WITH TIES', 'f.b, f.d FETCH FIRST 4 ROWS WITH TIES', 'f.n, f.id, g.name LIMIT 100000', 'f.n, f.id, g.name LIMIT 0', 'f.n, f.id, g.name LIMIT NULL']) rest,
	differ('SELECT f.id, f.n, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY ' || rest, 'GpucolJoin') d WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['SELECT f.id, g.name FROM facts f JOIN dims g ON f.k = g.k JOIN facts h ON h.id = f.id ORDER BY h.n DESC, f.t, g.name, f.id LIMIT 9',
	'SELECT f.id, f.n FROM facts f WHERE EXISTS (SELECT FROM dims g WHERE g.k = f.k AND g.weight > 3) ORDER BY f.n DESC, f.id LIMIT 9',
	'SELECT f.id, f.n FROM facts f WHERE NOT EXISTS (SELECT FROM dims g WHERE g.k = f.k) ORDER BY f.e, f.id LIMIT 9',
	'SELECT f.id, g.name FROM heap_facts f JOIN dims g ON f.k = g.k ORDER BY f.m DESC NULLS LAST, f.id, g.name LIMIT 9',
	'SELECT x.id, (SELECT max(name) FROM (SELECT g.name FROM facts f JOIN dims g ON f.k = g.k WHERE f.id > x.id ORDER BY f.n, f.id, g.name LIMIT 3) y) FROM generate_series(100, 400, 100) x (id)',
	'SELECT DISTINCT ON (f.k) f.k, f.id, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY f.k, f.n DESC, f.id, g.name LIMIT 9']) q, differ(q, 'GpucolJoin') d WHERE d IS NOT NULL;
-- many rows: the engine leaves out those that come after a bound, before it makes the rest of them
CREATE TABLE many AS SELECT i AS id, CASE WHEN i % 17 > 0 THEN i * 7919 % 650 END AS k, ((i * 7919::int8) % 100003 / 100.0)::numeric(10,2) AS n, CASE WHEN i % 19 > 0 THEN i * 31 % 9973 / 16.0 END::float8 AS f,
	date '2000-01-01' + i % 7000 AS d, 'note ' || i AS note FROM generate_series(1, 90000) i;
ALTER TABLE many SET ACCESS METHOD gpucol;
INSERT INTO many SELECT 100000 + i, i, i * 100, -i, '2040-01-01', 'late' FROM generate_series(1, 20) i;
ANALYZE many;
SELECT d FROM unnest('{JOIN,LEFT JOIN,RIGHT JOIN,FULL JOIN}'::text[]) kind,
	unnest('{"m.n DESC, m.id, g.name","m.f NULLS FIRST, m.id, g.name, g.k","m.f DESC NULLS LAST, m.id, g.name, g.k","g.weight * m.n, m.id, g.name, g.k","m.n * 10000000000000000 DESC NULLS LAST, m.id, g.name, g.k","g.day DESC, m.d, m.id, g.name, g.k"}'::text[]) keys,
	differ(format('SELECT m.id, m.note, g.name, m.f FROM many m %s dims g ON m.k = g.k ORDER BY %s LIMIT 20', kind, keys), 'GpucolJoin') d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT m.id, m.note, g.name FROM many m JOIN dims g ON m.k = g.k AND m.n > g.weight JOIN dims h ON h.k = m.k % 100 ORDER BY m.n + h.weight DESC NULLS LAST, m.id, g.name, h.name LIMIT 20') d WHERE d IS NOT NULL;
-- the order of the rows, in a cursor that is read twice, and with parameters
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT f.id, f.n, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY f.n DESC, f.id, g.name LIMIT 4;
FETCH ALL FROM c;
MOVE ABSOLUTE 0 IN c;
FETCH 2 FROM c;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE top(int, int) AS SELECT f.id, g.name FROM facts f JOIN dims g ON f.k = g.k WHERE f.id > $1 ORDER BY f.n, f.id, g.name LIMIT 3 OFFSET 1;
EXECUTE top(100, 1);
EXECUTE top(8000, 1);
SET gpucol.pushdown = forbid;
EXECUTE top(100, 1);
EXECUTE top(8000, 1);
RESET gpucol.pushdown;
SET gpucol.enable_topk = off;
EXPLAIN (COSTS OFF) SELECT f.id, f.n, g.name FROM facts f JOIN dims g ON f.k = g.k ORDER BY f.n DESC, f.id LIMIT 10 OFFSET 3;
DROP SCHEMA topk_join CASCADE;
