-- Conditions that tell the empty text from all others are decided by the lengths of raw values.
SET client_min_messages = warning;
CREATE SCHEMA scan_empty;
SET search_path = scan_empty, public;

\set node Gpucol
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- nearly all that is not empty is distinct: raw
CREATE TABLE visits (id int, phrase text, b bytea, url varchar) USING gpucol;
INSERT INTO visits SELECT i, CASE i % 7 WHEN 0 THEN 'phrase ' || md5(i::text) WHEN 3 THEN NULL ELSE '' END,
	CASE WHEN i % 3 > 0 THEN convert_to(md5(i::text), 'UTF8') ELSE '' END, md5(i::text) || repeat('x', i % 50) FROM generate_series(1, 20000) i;
INSERT INTO visits SELECT i, '', '', '' FROM generate_series(20001, 23000) i;
INSERT INTO visits SELECT i, md5(i::text), NULL, md5(i::text) FROM generate_series(23001, 26000) i;
INSERT INTO visits VALUES (30001, '', '', ''), (30002, NULL, NULL, NULL), (30003, 'x', 'x', 'x');
DELETE FROM visits WHERE id % 91 = 5;
ANALYZE visits;
SELECT segment, column_name, split_part(coding, ',', 1) AS coding FROM gpucol.columns('visits') WHERE column_name = 'phrase' ORDER BY 1;

SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{phrase,b,url}'::text[]) col, unnest(ARRAY['%s <> ''''', '%s = ''''', '%s > ''''', '%s >= ''''', '%s < ''''', '%s <= ''''', 'NOT %s = ''''',
	'%s IN ('''', ''x'')', '%s = ANY (''{""}'')', '%s NOT IN ('''')', '%s NOT IN ('''', NULL)', '%s <> '''' AND id > 12000', '%s <> '''' OR id < 3', '%s IS DISTINCT FROM ''''',
	'%1$s <> '''' AND %1$s IS NOT NULL', '%s IS NULL OR id = 5']) c, unnest(ARRAY['SELECT count(*), sum(id) FROM visits WHERE ', 'SELECT id, phrase FROM visits WHERE ',
	'SELECT phrase, count(*), count(*) FILTER (WHERE url <> '''') FROM visits WHERE ']) q,
	differ(format(q || c || CASE WHEN q LIKE '%FILTER%' THEN ' GROUP BY 1' ELSE '' END, col)) d
WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['LIKE ''%''', 'LIKE ''''', 'LIKE ''_%''', 'NOT LIKE ''%''', '~ ''^$''']) c,
	differ('SELECT count(*), min(id) FROM visits WHERE phrase ' || c) d WHERE d IS NOT NULL;
SELECT d FROM differ('SELECT phrase FROM visits WHERE phrase <> '''' ORDER BY phrase LIMIT 5') d WHERE d IS NOT NULL;

-- no byte of the texts is read for it by the CPU engine
SET gpucol.engine = cpu;
CREATE FUNCTION packed_bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, COSTS OFF) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Packed Bytes';
END $$;
SELECT packed_bytes('SELECT count(*) FROM visits WHERE url <> ''''') < packed_bytes('SELECT count(*) FROM visits WHERE url <> ''x''') / 4 AS lengths_only;
RESET gpucol.engine;
DROP SCHEMA scan_empty CASCADE;
