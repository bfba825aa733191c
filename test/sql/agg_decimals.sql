-- Functions of numeric(p,s) columns give PostgreSQL's own results, in engines.
SET client_min_messages = warning;
CREATE SCHEMA agg_decimals;
SET search_path = agg_decimals, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- what a plan leaves to PostgreSQL
CREATE FUNCTION left_over(query text) RETURNS SETOF text LANGUAGE plpgsql SET gpucol.pushdown = require AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Evaluated Once Per|Aggregate|^ *Filter' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;

CREATE TABLE price (id serial, a numeric(10,2), b numeric(15,0), c numeric(18,6), d numeric(6,4), e numeric(18,18), t text) USING gpucol;
INSERT INTO price (a, b, c, d, e, t)
SELECT i * 0.25 - 300, i * 500 - 600000, i * 0.000001 - 0.001, i / 250.0 - 5, i / 3000.0 - 0.4, 'text ' || i % 50 FROM generate_series(0, 2400) i;
INSERT INTO price (a, b, c, d, e, t) SELECT i * 49.99 - 700, i * 77777777777, i * 123456789.987654 - 1e11, 0, 0, 'Wort ' || i % 7 FROM generate_series(0, 1500) i;
SELECT gpucol.merge('price');
INSERT INTO price (a, b, c, d, e, t) VALUES (NULL, NULL, NULL, NULL, NULL, NULL), (99999999.99, 999999999999999, 999999999999.999999, 99.9999, 0.999999999999999999, 'back\slash'),
	(-99999999.99, -999999999999999, -999999999999.999999, -99.9999, -0.999999999999999999, '100%'), (0.005, 0, 0.0000005, 0.00005, 0, ''), (-0.5, -500, -0.5, -0.5, -0.5, 'Wort'), (0.5, 500, 0.5, 0.5, 0.5, 'x_y');
DELETE FROM price WHERE id % 13 = 0;
ANALYZE price;

CREATE TABLE key (expr text);
INSERT INTO key SELECT format('%s(%s)', f, c) FROM unnest('{round,trunc,floor,ceil,ceiling}'::text[]) f, unnest('{a,b,c,d,e}'::text[]) c;
INSERT INTO key SELECT format('%s(%s, %s)', f, c, n) FROM unnest('{round,trunc}'::text[]) f, unnest('{a,b,c,d}'::text[]) c, unnest('{-9,-3,-1,0,1,2,5,7}'::int[]) n;
INSERT INTO key SELECT format('width_bucket(%s, %s)', c, w)
FROM unnest('{a,b,c,d}'::text[]) c, unnest('{"0, 10000, 20","10000, 0, 20","-100.5, 77.7, 7","0.001, -0.001, 3","5, -5, 1000000","0, 1, 1"}'::text[]) w;
INSERT INTO key SELECT format('%s::%s', c, i) FROM unnest('{a,b,c,d}'::text[]) c, unnest('{bigint}'::text[]) i;
INSERT INTO key VALUES ('a::int'), ('d::smallint'), ('a::double precision'), ('b::double precision'), ('d::double precision * 3'), ('a * 0.5::double precision'),
	('CASE WHEN a > 40000 THEN 0 ELSE a::int / 7 END'), ('round(a, 1) + trunc(d)');

SELECT e FROM key, differ(format('SELECT %s AS k, count(*), min(id), max(id) FROM price GROUP BY 1', expr)) e WHERE e IS NOT NULL;
SELECT e FROM key, differ(format('SELECT min(%s), max(%1$s), count(%1$s) FROM price', expr)) e WHERE e IS NOT NULL;
SELECT e FROM key, differ(format('SELECT sum(%s), avg(%1$s) FROM price', expr)) e WHERE expr !~ 'double' AND e IS NOT NULL;
SELECT e FROM key, differ(format('SELECT id FROM price WHERE %s > 5', expr), 'GpucolScan') e WHERE e IS NOT NULL;
SELECT expr, e FROM key, left_over(format('SELECT %s, count(*) FROM price GROUP BY 1', expr)) e;
SELECT expr, e FROM key, left_over(format('SELECT min(%s), sum(id) FROM price', expr)) e;
SELECT expr, e FROM key, left_over(format('SELECT id FROM price WHERE %s > 5', expr)) e;

-- errors, and rows that have none
SELECT e FROM unnest('{c::int,d::smallint / (id - 5),b::int,a::smallint,"CASE WHEN abs(b) < 100000 THEN b::int END","width_bucket(a, 1, 1, 5)","width_bucket(a, 0, 1, 0)","width_bucket(a, ''NaN'', 1, 2)"}'::text[]) x,
	differ(format('SELECT sum(%s) FROM price', x)) e WHERE e IS NOT NULL;
-- what is not the engines'
SELECT x, left_over(format('SELECT min(%s), sum(id) FROM price', x)) FROM unnest('{"round(a, id)","width_bucket(a, 0, 100000000, 1000)","width_bucket(a, c, 5, 2)"}'::text[]) x;

-- LIKE with several patterns
CREATE TABLE pattern (p text);
INSERT INTO pattern VALUES ('t LIKE ANY (ARRAY[''%7'', ''Wort%''])'), ('t NOT LIKE ALL (ARRAY[''%7'', NULL, ''Wort%''])'), ('t ILIKE ANY (ARRAY[''WORT%'', ''x\_y''])'),
	('t LIKE ALL (ARRAY[''%t%'', ''%5'', NULL])'), ('t LIKE ANY (ARRAY[]::text[])'), ('t NOT ILIKE ANY (ARRAY[''W_RT%'', ''''])'), ('t LIKE ANY (NULL::text[])'), ('t LIKE ANY (''{{text%,a},{b,%\\%}}'')');
SELECT e FROM pattern, differ(format('SELECT count(*), min(id) FROM price WHERE %s', p)) e WHERE e IS NOT NULL;
SELECT e FROM pattern, differ(format('SELECT id, %s FROM price WHERE (%1$s) IS NOT TRUE', p), 'GpucolScan') e WHERE e IS NOT NULL;
SELECT p, left_over(format('SELECT count(*) FROM price WHERE %s', p)) FROM pattern;
SELECT left_over('SELECT count(*) FROM price WHERE t LIKE ANY (ARRAY[''a%'', ''b\''])');
SET plan_cache_mode = force_generic_plan;
PREPARE likes(text[]) AS SELECT count(*) FROM price WHERE t LIKE ANY ($1);
EXECUTE likes('{text%,Wort%}');
EXECUTE likes('{"text 1\\"}');
EXECUTE likes(NULL);

SET client_min_messages = error;
DROP SCHEMA agg_decimals CASCADE;
