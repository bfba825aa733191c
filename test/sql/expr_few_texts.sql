-- Texts that are made of few values are made once for each of them in a segment: groups, sets and lengths of such
-- are those of texts that are made row by row.
SET client_min_messages = warning;
SET datestyle = ISO;
CREATE SCHEMA expr_few_texts;
SET search_path = expr_few_texts, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE t (id int, k int, s smallint, d date, n numeric(8,2), b bool, g text COLLATE "C", v varchar(10) COLLATE "C", wide bigint) USING gpucol;
-- segments of other ranges and dictionaries, of NULLs alone, of few rows
INSERT INTO t SELECT i, i % 23, i % 7, date '2020-01-01' + i % 90, i % 31 / 4.0, i % 3 = 0, 'g' || i % 13, left('abc', i % 4), i * 1000003::bigint FROM generate_series(1, 9000) i;
SELECT gpucol.merge('t');
INSERT INTO t SELECT i, i % 19 - 400, i % 5, date '1999-12-01' + i % 50, i % 17 / 3.0, i % 3 = 1, 'h' || i % 29, left('xyz', i % 4), i FROM generate_series(9001, 15000) i;
SELECT gpucol.merge('t');
INSERT INTO t SELECT i, CASE WHEN i % 11 > 2 THEN i % 3 END, CASE WHEN i % 5 > 0 THEN i % 3 END, CASE WHEN i % 7 > 0 THEN date '2021-01-01' + i % 3 END, CASE WHEN i % 3 > 0 THEN i % 5 END,
	CASE WHEN i % 2 > 0 THEN true END, CASE WHEN i % 13 > 0 THEN 'g' || i % 3 END, CASE WHEN i % 4 > 0 THEN '' END, NULL FROM generate_series(15001, 19000) i;
SELECT gpucol.merge('t');
INSERT INTO t SELECT i FROM generate_series(19001, 20500) i;
SELECT gpucol.merge('t');
INSERT INTO t VALUES (-1, 2147483647, 32767, 'infinity', 999999.99, true, '', ''), (-2, -2147483648, -32768, '-infinity', -999999.99, false, 'g1', NULL);
SELECT gpucol.merge('t');
UPDATE t SET k = k + 1 WHERE id % 997 = 0;
DELETE FROM t WHERE id % 991 = 0;
INSERT INTO t SELECT * FROM t WHERE id BETWEEN -6 AND 30;
ANALYZE t;
CREATE TABLE j (k int, w text COLLATE "C") USING gpucol;
INSERT INTO j SELECT i - 10, 'w' || i % 6 FROM generate_series(1, 40) i;
SELECT gpucol.merge('j');
ANALYZE j;

CREATE TABLE exprs (e text);
INSERT INTO exprs VALUES ('k::text'), ('(k % 5)::text'), ('d::text || k'), ('n::text'), ('n || ''/'' || s'), ('k || '':'' || g'), ('g || v'), ('g || ''-'' || v || ''-'' || k'), ('concat(k, g)'), ('concat(g, '' '', v, s)'),
	('concat_ws('','', k, g, v)'), ('concat_ws('''', v, g)'), ('format(''%s of %s'', k, g)'), ('''a'' || k'), ('k || ''z'''), ('b::text || g'), ('wide || g'), ('k || '':'' || wide'), ('(d - date ''2020-01-01'') || g'), ('upper(g) || k'),
	('k || g || n || d || v'), ('(CASE WHEN k > 3 THEN k ELSE s END) || g'), ('(10 / nullif(k % 3, 0)) || ''q'' || g'), ('(n * 2)::text || g'),
	('CASE WHEN k > 3 THEN ''low'' WHEN s < 2 THEN ''mid'' END'), ('CASE WHEN k > 3 THEN g WHEN b THEN v ELSE k::text END'), ('CASE k % 3 WHEN 0 THEN g WHEN 1 THEN NULL ELSE ''x'' END'), ('(CASE WHEN s > 2 THEN ''a'' ELSE g END) || k'), ('CASE WHEN wide > 9 THEN wide::text ELSE ''none'' END');
SELECT e, d FROM exprs, differ(format('SELECT %s AS x, count(*), min(id), max(id) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT %s AS x, k, count(DISTINCT (%1$s)), max(length(%1$s)) FROM t WHERE id %% 3 <> 1 GROUP BY 1, 2', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT s, count(DISTINCT %s), count(%1$s), count(*) FILTER (WHERE (%1$s) IS NULL) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT count(DISTINCT %s), min((%1$s) COLLATE "C") FROM t', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT count(*), count(*) FILTER (WHERE %s < g) FROM t WHERE (%1$s) <> v OR (%1$s) = g || k', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT %s AS x, concat(%1$s, ''!'', g) AS y, sum(id::float8) FROM t GROUP BY 1, 2', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT w || (%s) AS x, (%1$s) AS y, count(*) FROM t JOIN j USING (k) GROUP BY 1, 2', replace(e, 'k', 't.k'))) d WHERE d IS NOT NULL;
-- what the host says of them
SELECT e, d FROM exprs, differ(format('SELECT count(*), sum(id), count(*) FILTER (WHERE %1$s ~ ''[1-3]$''), count(DISTINCT %1$s) FROM t WHERE %1$s LIKE ''%%1%%'' OR %1$s = ANY (''{g1,NULL,-400}'')', '(' || e || ')')) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT id, k FROM t WHERE NOT %s LIKE ''%%1%%''', '(' || e || ')'), 'GpucolScan') d WHERE d IS NOT NULL;
-- all threads, and groups that are many
SET gpucol.cpu_threads = 4;
SELECT e, d FROM exprs, differ(format('SELECT %s AS x, count(*), count(DISTINCT concat(k, g)) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT %s AS x, wide %% 5000, avg(id::float8) FROM t GROUP BY 1, 2', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT s, count(*) FROM t WHERE %s LIKE ''%%1%%'' GROUP BY 1', '(' || e || ')')) d WHERE d IS NOT NULL;
RESET gpucol.cpu_threads;
-- an error of a row is one
SELECT d FROM differ('SELECT (10 / (k % 3)) || g, count(*) FROM t WHERE k % 3 <> 0 GROUP BY 1') d;
SELECT (10 / (k % 3)) || g, count(*) FROM t GROUP BY 1;

DROP SCHEMA expr_few_texts CASCADE;
