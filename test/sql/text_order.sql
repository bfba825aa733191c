-- Conditions that the order of a dictionary decides, against PostgreSQL's executor: texts that begin with one another, the empty
-- one, bytes of all values, NULLs, several segments whose dictionaries differ, deleted and delta rows.
SET gpucol.engine = cpu;
SET gpucol.segment_rows = 8192;
CREATE TABLE ord (id int, t text, b bytea, c text COLLATE "en-x-icu", n text) USING gpucol;
INSERT INTO ord
SELECT g, CASE WHEN g % 101 = 0 THEN NULL WHEN k = 0 THEN '' WHEN k % 5 = 0 THEN left('abcabdabcdé', k % 12) ELSE 'k' || k END,
	decode(lpad(to_hex(k), 4, '0'), 'hex') || CASE WHEN k % 3 = 0 THEN '\x00'::bytea ELSE '\xff' END,
	CASE k % 2 WHEN 0 THEN 'É' || k ELSE 'e' || k END, CASE WHEN g > 20000 THEN 'n' || k END
FROM (SELECT g, (hashint4(g) & 2147483647) % 2000 + (g / 16384) * 500 AS k FROM generate_series(1, 40000) g) s;
DELETE FROM ord WHERE id % 17 = 3;
INSERT INTO ord VALUES (50001, 'k7', '\x00', 'e7', 'n7'), (50002, NULL, NULL, NULL, NULL), (50003, '', '', '', ''), (50004, 'k70', '\xffff', 'zz', 'n70');
SELECT column_name, count(*), min(distinct_values) > 512 AS many FROM gpucol.columns('ord') WHERE coding = 'dictionary' GROUP BY 1 ORDER BY 1;

CREATE COLLATION ord_equal (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE ord_conditions (condition text);
INSERT INTO ord_conditions
SELECT format(c, quote_literal(v)) FROM unnest(ARRAY['t = %s', 't <> %s', '%s = t', 't < %s COLLATE "C"', 't <= %s COLLATE "C"', 't > %s COLLATE "C"', 't >= %s COLLATE "C"',
	'%s COLLATE "C" < t', 't ~<~ %s', 't ~>=~ %s', 't LIKE %s || ''%%''', 't NOT LIKE %s || ''%%''', 't ^@ %s', 'NOT t = %s', 'NOT (t LIKE %s || ''%%'')', 't LIKE %s', 'c = %s', 'c < %s',
	'c >= %s', 'c LIKE %s || ''%%''', 'n = %s', 'n < %s COLLATE "C" OR n IS NULL', 't = %s COLLATE ord_equal', 't = ANY (ARRAY[%s, ''k1999'', ''a'', ''a''])', 't IN (%s, ''k1500'')',
	't <> ALL (ARRAY[%1$s, ''k1999'', ''''])', 't IN (%s, NULL)', 't NOT IN (%s, NULL)', 't > %s COLLATE "C" AND t < ''k5'' COLLATE "C"', 'coalesce(t = %s, true)', 't LIKE %s || ''%%7''',
	'(t = %s) IS NOT TRUE', 'CASE WHEN id %% 2 = 0 THEN t = %s ELSE t >= ''k2'' COLLATE "C" END']) c,
	unnest(ARRAY['', 'a', 'ab', 'abcabdabcdé', 'abcabdabcd', 'k7', 'k70', 'k1999', 'K7', 'zzz', 'É', E'\u00c38', 'k7%']) v
UNION ALL
SELECT format(c, quote_literal(v)) FROM unnest(ARRAY['b = %s', 'b <> %s', 'b < %s', 'b <= %s', 'b > %s', 'b >= %s', 'b IN (%s, ''\x0001ff'')']) c,
	unnest(ARRAY['', '\x00', '\x0000', '\x000000', '\x0003', '\x000300', '\x000301', '\x07cf', '\xff', '\xffff', '\xffffff']) v;
INSERT INTO ord_conditions VALUES ('t IS NULL'), ('t IS NOT NULL'), ('NOT (n IS NULL)'), ('n IS NULL AND t = ''k7'''), ('t LIKE ''%'''), ('t NOT LIKE ''%'''), ('t LIKE ''k\%7'''), ('t = ''k7'' AND c = ''e7''');

-- what each condition finds, by itself and beside the column as output and as group
CREATE FUNCTION ord_find(condition text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE found text; listed text; grouped text;
BEGIN
	PERFORM set_config('gpucol.pushdown', way, true);
	EXECUTE 'SELECT concat_ws('' '', count(*), sum(id)) FROM ord WHERE ' || condition INTO found;
	EXECUTE 'SELECT md5(string_agg(l::text, '','' ORDER BY id)) FROM (SELECT id, t, b FROM ord WHERE ' || condition || ' OFFSET 0) l' INTO listed;
	EXECUTE 'SELECT md5(string_agg(l::text, '','' ORDER BY l::text COLLATE "C")) FROM (SELECT t, count(*), max(id) FROM ord WHERE ' || condition || ' GROUP BY t OFFSET 0) l' INTO grouped;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	RETURN ARRAY[found, listed, grouped];
END $$;
SELECT condition FROM ord_conditions WHERE ord_find(condition, 'forbid') IS DISTINCT FROM ord_find(condition, 'allow');
SELECT count(*) > 400 AS enough FROM ord_conditions;

-- few of a dictionary's bytes are read, and none of it where it has no such value
CREATE FUNCTION ord_bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
	RETURN (regexp_match(plan::text, '"Packed Bytes": "?([0-9]+)'))[1]::bigint;
END $$;
SELECT condition, ord_bytes('SELECT count(*) FROM ord WHERE ' || condition) * 5 < ord_bytes('SELECT count(*) FROM ord WHERE t LIKE ''%zz%''') AS few
FROM unnest(ARRAY['t = ''none''', 't LIKE ''none%''', 't ^@ ''none''', 't IN (''none'', ''nothing'')', 't > ''none'' COLLATE "C"', 't IS NULL AND id < 0', 't = ''none'' COLLATE ord_equal', 't IN (''none'', NULL)', 'upper(t) = ''NONE''']) condition;
DROP FUNCTION ord_find, ord_bytes;
DROP TABLE ord, ord_conditions;
DROP COLLATION ord_equal;
