-- date_trunc, extract and the cast to date give PostgreSQL's own results.
SET client_min_messages = warning;
SET datestyle = ISO;
CREATE SCHEMA agg_dates;
SET search_path = agg_dates, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE days (id serial, d date, ts timestamp) USING gpucol;
-- the whole range of timestamps, then every few hours around 2000
INSERT INTO days (d, ts)
SELECT date '4713-01-02 BC' + i * 3571, timestamp '4713-01-02 BC' + i * interval '3571 days 5 hours 7 minutes 11.123456 seconds' FROM generate_series(0, 30000) i;
INSERT INTO days (d, ts) SELECT date '1999-01-01' + i, timestamp '1999-01-01' + i * interval '7 hours 1.5 seconds' FROM generate_series(0, 3000) i;
INSERT INTO days (d, ts) VALUES (NULL, NULL), ('4713-01-01 BC', '4713-01-01 BC'), ('0001-12-31 BC', '0001-12-31 23:59:59.999999 BC'), ('0001-01-01', '0001-01-01');
ANALYZE days;

CREATE TABLE parts (part text, of text);
INSERT INTO parts SELECT format('extract(%s FROM %s)', f, c), c FROM unnest('{year,quarter,month,day,dow,isodow,doy}'::text[]) f, unnest('{d,ts}'::text[]) c;
INSERT INTO parts SELECT format('extract(%s FROM ts)', f), 'ts' FROM unnest('{hour,minute,second}'::text[]) f;
INSERT INTO parts SELECT format('date_trunc(%L, ts)', f), 'ts' FROM unnest('{year,quarter,month,day,hour,minute,second}'::text[]) f;
INSERT INTO parts VALUES ('ts::date', 'ts');

SELECT e FROM parts, differ(format('SELECT %s AS k, count(*), min(%2$s), max(%2$s), count(DISTINCT %2$s) FROM days GROUP BY 1', part, of)) e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT min(%s), max(%1$s) FROM days', part)) e WHERE e IS NOT NULL;
SELECT e FROM differ('SELECT sum(extract(second FROM ts)), avg(extract(doy FROM d)), stddev(extract(hour FROM ts)) FROM days') e WHERE e IS NOT NULL;
SELECT e FROM differ('SELECT count(*) FROM days WHERE extract(year FROM d) BETWEEN 1999 AND 2004 AND date_trunc(''day'', ts) > ''2000-02-29''') e WHERE e IS NOT NULL;
SELECT e FROM parts, differ(format('SELECT id FROM days WHERE %s > %L', part, CASE WHEN part LIKE 'extract%' THEN '5' ELSE '2000-05-05' END), 'GpucolScan') e
WHERE part NOT LIKE '%year%' AND e IS NOT NULL;

-- infinity: NULL in cyclic fields, itself when truncated; its year is infinite
-- and leaves the whole statement to PostgreSQL
INSERT INTO days (d, ts) VALUES ('infinity', 'infinity'), ('-infinity', '-infinity');
SELECT e FROM parts, differ(format('SELECT %s AS k, count(*) FROM days GROUP BY 1', part)) e WHERE e IS NOT NULL;
SELECT extract(year FROM d) AS year, count(*), min(date_trunc('month', ts)) AS month FROM days
WHERE d >= '2007-01-01' AND d < '2008-01-01' OR d = 'infinity' OR d = '-infinity' GROUP BY 1 ORDER BY 1;

-- what stays with PostgreSQL
SET gpucol.pushdown = require;
EXPLAIN (VERBOSE, COSTS OFF) SELECT date_trunc('week', ts), count(*) FROM days GROUP BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM days WHERE extract(year FROM d) = 2000;
SELECT extract(nonsense FROM ts) FROM days;

SET client_min_messages = error;
DROP SCHEMA agg_dates CASCADE;
