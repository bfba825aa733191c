-- The argument of a CASE is computed once, whatever it is, and however deep such are within one another.
SET client_min_messages = warning;
SET datestyle = ISO;
SET timezone = 'UTC';
CREATE SCHEMA expr_case_argument;
SET search_path = expr_case_argument, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE t (id int, k int, n numeric(10,2), free numeric, f float8, d date, ts timestamp, iv interval, b bool, g text COLLATE "C", a int[]) USING gpucol;
INSERT INTO t SELECT i, CASE WHEN i % 11 > 0 THEN i % 40 - 5 END, CASE WHEN i % 13 > 0 THEN i % 9 / 4.0 END, (i % 7)::numeric / (1 + i % 3), CASE i % 17 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL ELSE i % 5 / 2.0 END, date '2020-01-01' + i % 9,
	timestamp '2020-01-01' + i % 50 * interval '7 hours', i % 3 * interval '1 day', i % 3 = 0, 'g' || i % 5, ARRAY[i % 3, i % 4] FROM generate_series(1, 6000) i;
SELECT gpucol.merge('t');
INSERT INTO t VALUES (0), (-1, 2147483647, 0, 0, '-0', 'infinity', '-infinity', '0', true, '', '{}');
UPDATE t SET k = k + 1 WHERE id % 997 = 0;
DELETE FROM t WHERE id % 991 = 0;
ANALYZE t;

CREATE TABLE exprs (e text);
INSERT INTO exprs VALUES ('CASE k % 7 WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN NULL THEN 7 ELSE 9 END'), ('CASE k + 1 WHEN id % 3 THEN 1 WHEN id % 5 THEN 2 END'), ('CASE n * 2 WHEN 1.0 THEN n WHEN 2 THEN 1.555 ELSE n + 1 END'),
	('CASE free + 1 WHEN 2 THEN 1 WHEN 1.5 THEN 2 WHEN n THEN 3 END'), ('CASE free / 3 WHEN n / 3 THEN 1 WHEN 0 THEN 2 ELSE 3 END'), ('CASE f * 2 WHEN ''NaN'' THEN 1 WHEN 0 THEN 2 WHEN k THEN 4 END'), ('CASE d + 1 WHEN date ''2020-01-03'' THEN 1 WHEN ts THEN 2 END'),
	('CASE ts - timestamp ''2020-01-01'' WHEN iv THEN 1 WHEN interval ''7 hours'' THEN 2 ELSE 0 END'), ('CASE date_trunc(''day'', ts) WHEN timestamp ''2020-01-02'' THEN 1 WHEN d THEN 2 END'), ('CASE k > 3 WHEN b THEN 1 WHEN true THEN 2 WHEN NULL THEN 3 ELSE 4 END'),
	('CASE g WHEN ''g1'' THEN 1 WHEN ''g2'' THEN 2 ELSE 3 END'), ('CASE upper(g) WHEN ''G1'' THEN 1 WHEN ''G2'' THEN 2 END'), ('CASE length(g || k) WHEN 3 THEN 1 WHEN 4 THEN 2 END'), ('CASE left(g, 2) WHEN ''g1'' THEN 1 WHEN ''g3'' THEN 2 END'), ('CASE g || k WHEN ''g11'' THEN 1 ELSE 0 END'),
	('CASE a[1] + 1 WHEN 1 THEN a[2] WHEN 2 THEN 9 END'), ('CASE coalesce(k, 3) WHEN 3 THEN 1 / nullif(k, 3) WHEN 4 THEN 2 END'), ('CASE CASE k % 3 WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE k END WHEN 1 THEN 3 WHEN 2 THEN CASE k % 5 WHEN 1 THEN 4 ELSE 5 END ELSE 6 END'),
	('CASE k % 4 WHEN CASE id % 4 WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE 2 END THEN 1 WHEN 2 THEN 5 END'), ('CASE CASE WHEN b THEN n ELSE free END WHEN 1 THEN 1 WHEN 0.5 THEN 2 END'), ('CASE (CASE WHEN k > 5 THEN g ELSE ''x'' END) WHEN ''g1'' THEN 1 WHEN ''x'' THEN 2 END');
SELECT e, d FROM exprs, differ(format('SELECT %s AS k, count(*), min(id) FROM t GROUP BY 1', e)) d WHERE d IS NOT NULL;
SELECT e, d FROM exprs, differ(format('SELECT sum(%s), max(%1$s), count(%1$s) FILTER (WHERE %1$s > 1) FROM t WHERE %1$s IS DISTINCT FROM 2', e)) d WHERE d IS NOT NULL;
-- what is computed for no branch but the argument itself is an error as ever
SELECT sum(CASE 1 / (k % 3) WHEN 1 THEN 1 ELSE 2 END) FROM t;
SELECT d FROM differ('SELECT sum(CASE WHEN k % 3 <> 0 THEN CASE 6 / (k % 3) WHEN 6 THEN 1 WHEN 3 THEN 2 END END) FROM t') d;

-- each of these has the next as its argument
CREATE FUNCTION deep(n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg('CASE ', '') || 'k % 7' || string_agg(format(' WHEN %s THEN %s WHEN %s THEN %s WHEN 2 THEN 0 ELSE 3 END', i % 4, (i + 1) % 5, (i + 2) % 4, (i + 3) % 5), '' ORDER BY i) FROM generate_series(1, n) i $$;
SELECT d FROM differ(format('SELECT %s AS x, count(*) FROM t GROUP BY 1', deep(4))) d;
SET statement_timeout = '20s';
SELECT d FROM differ(format('SELECT %s AS x, count(*) FROM t GROUP BY 1', deep(40))) d;
SELECT d FROM differ(format('SELECT count(*), sum(%s) FROM t WHERE %1$s < 3', deep(40))) d;
RESET statement_timeout;

DROP SCHEMA expr_case_argument CASCADE;
