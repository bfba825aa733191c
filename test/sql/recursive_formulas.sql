-- Numbers, texts and arrays that a recursive term computes row by row: results, digits, NULLs and errors are PostgreSQL's.
SET client_min_messages = warning;
CREATE SCHEMA recursive_formulas;
SET search_path = recursive_formulas, public;
SET gpucol.recursive_strategy = hisa;

\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE plain (id int, parent int, n numeric, m numeric, p numeric(10,3), f float8, i int, b bigint, s smallint, t text, v varchar(20), c char(4));
INSERT INTO plain SELECT i, CASE WHEN i > 1 THEN (i + 2) / 4 END, CASE WHEN i % 37 > 0 THEN round(i * 7919 % 5003 / 640.0 - 3, i % 6) END, round(i * 31 % 17 / 8.0 + 0.1, i % 4), i % 13 / 8.0, i % 11 / 4.0 - 1, i * 31 % 97, i::bigint * 1000, i % 19, CASE WHEN i % 41 > 0 THEN repeat('ä' || i, i % 3) END, 'v' || i, 'c' || i % 9 FROM generate_series(1, 1500) i;
CREATE TABLE packed (LIKE plain) USING gpucol;
INSERT INTO packed SELECT * FROM plain;
SELECT gpucol.merge('packed');
ANALYZE packed, plain;

-- differs(expressions): those over the row before, r.x, and the table's that give something else down the tree
CREATE FUNCTION down(type text, start text, expr text) RETURNS text LANGUAGE sql AS $$
	SELECT format('WITH RECURSIVE r(id, x) AS (SELECT id, (%s)::%s FROM T WHERE parent IS NULL UNION ALL SELECT T.id, (%s)::%2$s FROM T JOIN r ON T.parent = r.id) SELECT id, x::text FROM r', start, type, expr);
$$;
CREATE FUNCTION differs(type text, start text, exprs text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM unnest(exprs) e, LATERAL twin(down(type, start, e)) d WHERE d !~ '^Gpucol\w+$';
$$;
CREATE FUNCTION way(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || regexp_replace(query, '\yT\y', 'packed', 'g') LOOP
		IF line ~ 'Tried First|Formulas|Computed by|Method' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SELECT differs('numeric', '1.50', '{x + n,x - n,x + n * m,n * m,x + n * 1.10,x + p,x * 0.99,x + i,x + i % 7 * 2,x + b,x + s,-x + n,abs(x - n),"round(x * 1.01, 2)","trunc(x * m, 3)","round(x + n, 0)","round(x, -1) + n",x / 3 + n,"x % 7 + m","div(x + n, m + 1)","mod(n, 2) + x","(x + n)::numeric(12,2)","(x + m)::numeric(20,1)","coalesce(x + n, 0)","CASE WHEN i > 5 THEN x + m ELSE x END","greatest(x, n)","x + round(n)","x + power(m, 2)",m,"n",0,"x * 0",x * 1e-30,"x + 1e20",x + 123456789012345678,"x + n + n + n + n + n + n + n + n + n","power(10, 20 + i % 3)::numeric * m"}');
-- more digits than are computed with, more than the type has, by zero, no numbers
SELECT differs('numeric', '1', '{x * 1000003.17,x * 99999999999999999.5,x / (i - 31),x % (i - 31),"(x * 7)::numeric(3,1)","x * ''NaN''","x + ''Infinity''","x * 1e300","x + 1e-300"}');
SELECT differs('numeric', '''NaN''', '{x + n,x * 2,"round(x, 1)"}');
SELECT differs('float8', '1.5', '{x + f,x - f,x * f,x * 1.01,x + i,f + i,"x / (f + 1)",x / f,-x,x * 1e200,x * 1e-200,"x + ''NaN''",sqrt(abs(x)) + f,x + n::float8,n::float8 / 3,m::float8 * x,p::float8,(n * 1e-25)::float8,"(n * 123456789012345.678)::float8",(n + 1e16)::float8,(1e30 * n)::float8,"(''NaN''::numeric + n)::float8 + x"}');
SELECT differs('int', '1', '{x + i,x - i,x * 3,x * i,x + s,i % 7 + x % 5,x / (i - 31),x % (i - 31),x + b::int,-x,2147483647 + x - i}');
SELECT differs('bigint', '1', '{x + b,x + i,x * b,x * i % 1000003,x - s,b / (i - 31)}');
SELECT differs('smallint', '1', '{"(x + s)::smallint","(x * 50)::smallint","s"}');
SELECT differs('text', '''''', '{"x || ''/'' || t","x || t","t || x","x || ''/'' || i","i || '','' || x","x || b || s","x || n","x || v","v || ''-'' || v","concat(x, ''/'', t, i)","concat_ws('' > '', x, t)","concat_ws(t, x, ''a'')","concat_ws('','', x)","concat(x)","x || c","x || ''''","x || f","left(x || t, 5)","x || NULL","x || upper(t)","x || ''''::text || ''''","t","v","''k''","x || true","concat_ws('','', x, i, b, s, v)","concat(VARIADIC ARRAY[x, t])"}');
SELECT differs('varchar(30)', '''''', '{"x || ''/'' || v","v"}');

SELECT differs('int[]', 'ARRAY[7]', '{"x || i","x || T.id","x || NULL","x || i || s::int","array_append(x, i)","i || x","x || ARRAY[i, s]","x","x || CASE WHEN i % 9 > 0 THEN i END","x || (i + 1) || i % 3"}');
SELECT differs('int[]', '''{}''', '{"x || i"}'), differs('int[]', '''[0:1]={5,6}''', '{"x || i"}'), differs('int[]', '''{{1,2},{3,4}}''', '{"x || i"}'), differs('int[]', '''{1,NULL}''', '{"x || i"}');
SELECT differs('bigint[]', 'ARRAY[7]', '{"x || b","x || i::bigint","x || b || b"}');
-- which elements a path has, in conditions
SELECT twin(format('WITH RECURSIVE r(id, x, d) AS (SELECT id, %s, 0 FROM T WHERE id < 4 UNION ALL SELECT T.id, x || %s, d + 1 FROM T JOIN r ON T.parent = r.id WHERE %s AND d < 6) SELECT id, x, d FROM r', start, added, test))
	FROM (VALUES ('ARRAY[id]', 'T.i')) a(start, added), unnest('{"NOT T.i = ANY (x)","T.i <> ALL (x)","T.i = ANY (x || T.i)","NOT (T.b / 1000) = ANY (x)","T.s <> ALL (x)","NOT (NOT T.id = ANY (x))","T.i <> ANY (x)","T.i = ALL (x)","T.i > ALL (x)","(T.i + 1) % 7 <> ALL (x)","T.i <> ALL (x || NULL)"}'::text[]) test;
SELECT twin(format('WITH RECURSIVE r(id, x, d) AS (SELECT id, %s, 0 FROM T WHERE id < 4 UNION ALL SELECT T.id, x, d + 1 FROM T JOIN r ON T.parent = r.id WHERE NOT T.i = ANY (x) AND d < 6) SELECT id, x, d FROM r', start)) FROM unnest('{"''{}''::int[]","ARRAY[NULL, 5]","NULL::int[]","ARRAY[3, 9, 5]::bigint[]","ARRAY[[1, 2], [3, 4]]"}'::text[]) start;

-- conditions, branches, quotients of many digits
SELECT differs('numeric', '1.50', '{CASE WHEN n > m THEN x + n ELSE x END,CASE WHEN i > 50 THEN x + n WHEN i < 20 THEN x - m ELSE m END,CASE WHEN n > 1 THEN x END,CASE WHEN NOT n = m THEN x * 2 ELSE x / 3 END,CASE WHEN x >= n THEN n ELSE x END,CASE WHEN i % 3 = 0 THEN 1.5 ELSE x END,CASE i WHEN 5 THEN x ELSE n END,"CASE WHEN i > 3 THEN x / (i - 31) ELSE x END",x + x * 0.05 / 12,n / m + x,"CASE WHEN n IS NULL THEN x ELSE n END",CASE WHEN n > 1 AND m > 1 THEN x ELSE n END,x / 7 * 1.00000000000000000001,CASE WHEN f > 1 THEN x ELSE n END}');
SELECT differs('int', '1', '{CASE WHEN i > x THEN i ELSE x + 1 END,CASE WHEN b <= i THEN 1 ELSE 2 END,CASE WHEN n < m THEN x ELSE i END,CASE WHEN i <> 31 THEN x / (i - 31) ELSE x END}'), differs('text', '''a''', '{"CASE WHEN i > 5 THEN x || i ELSE x END","x || CASE WHEN i > 5 THEN t ELSE x END","x || CASE WHEN i > 5 THEN i ELSE s END"}'), differs('bool', 'true', '{n > m,NOT n > m,x,NOT x,i = 5}');
SELECT twin(format('WITH RECURSIVE r(id, x, d) AS (SELECT id, 1.5, 0 FROM T WHERE id < 4 UNION ALL SELECT T.id, x + m, d + 1 FROM T JOIN r ON T.parent = r.id WHERE %s AND d < 6) SELECT id, x, d FROM r', test)) FROM unnest('{"x < 5","x + n <> m","x * 2 >= n + m","n = 1.50","x > i","round(x, 1) <= m"}'::text[]) test;

-- PostgreSQL's plan is not tried first
SELECT way(down('numeric', '1.50', 'x + n'));

-- equal values of UNION, computed ones that are joined by, arrays and others beside them
SELECT twin(q) FROM unnest('{"WITH RECURSIVE r(x) AS (SELECT 1.50::numeric UNION SELECT round(x * m, 1) % 7 FROM r, T WHERE T.id < 9 AND x < 100) SELECT trim_scale(x) FROM r","WITH RECURSIVE r(id, x, d) AS (SELECT id, n, 0 FROM T WHERE parent IS NULL UNION ALL SELECT T.id, x + m, d + 1 FROM T JOIN r ON T.parent = r.id) SELECT d, count(*), sum(x), max(x) FROM r GROUP BY d",
	"WITH RECURSIVE r(k) AS (SELECT ''1'' UNION SELECT (i % 30)::text || '''' FROM r, T WHERE id::text || '''' = k) SELECT k FROM r","WITH RECURSIVE r(id, q, a) AS (SELECT id, ''/'' || t, ARRAY[id] FROM T WHERE parent IS NULL UNION ALL SELECT T.id, q || ''/'' || coalesce(T.t, ''?''), a || T.id FROM T JOIN r ON T.parent = r.id WHERE NOT T.id = ANY (a)) SELECT id, q, a FROM r",
	"WITH RECURSIVE r(r1, x, y) AS (SELECT 1, 0::numeric, 1::numeric UNION ALL SELECT r1 + 1, y, x + y FROM r, T WHERE r1 < 200 AND T.id = 7) SELECT r1, x FROM r"}'::text[]) q;

-- who may not call a function may not have it computed
CREATE ROLE regress_formulas;
GRANT USAGE ON SCHEMA recursive_formulas TO regress_formulas;
GRANT SELECT ON packed TO regress_formulas;
BEGIN;
REVOKE EXECUTE ON FUNCTION numeric_mul(numeric, numeric) FROM PUBLIC;
SET LOCAL ROLE regress_formulas;
WITH RECURSIVE r(id, x) AS (SELECT id, 1.5 FROM packed WHERE parent IS NULL UNION ALL SELECT t.id, x * m FROM packed t JOIN r ON t.parent = r.id) SELECT count(*), sum(x) FROM r;
ROLLBACK;
WITH RECURSIVE r(id, x) AS (SELECT id, 1.5 FROM packed WHERE parent IS NULL AND false UNION ALL SELECT t.id, x * m FROM packed t JOIN r ON t.parent = r.id) SELECT count(*), sum(x) FROM r;

SET client_min_messages = error;
DROP SCHEMA recursive_formulas CASCADE;
DROP ROLE regress_formulas;
