-- Conditions on text that are decided on the bytes: equality, lists, order, LIKE, and what is made of them,
-- over dictionaries and over raw values, under collations of all kinds.
SET client_min_messages = warning;
CREATE SCHEMA text_match;
SET search_path = text_match, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION bytes_utf8 (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE COLLATION unlike_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words (id int, d text, c text COLLATE "C", u varchar COLLATE bytes_utf8, e text COLLATE english,
	n text COLLATE unlike_case, b bytea, p char(12)) USING gpucol;
-- a few values, in dictionaries
INSERT INTO words
SELECT i, w, w, w, w, w, convert_to(w, 'UTF8'), left(w, 10) FROM generate_series(1, 6000) i,
	LATERAL (SELECT (ARRAY['', 'a', 'A', 'ab', 'Ab', 'abc', 'aabb', 'abab', 'b%c', 'b_c', 'b\c', 'ß', 'sz', 'Strasse', 'Straße', '日本', '日本語',
		'本', 'naïve', 'naive', 'z z', ' z', 'a-b', 'a b', NULL, 'aaab', '%', '_', '\', 'x' || repeat('long', 700)])[1 + i % 30] AS w) x;
-- nearly unique ones, raw
INSERT INTO words
SELECT i, w, w, w, w, w, convert_to(w, 'UTF8'), left(w, 10) FROM generate_series(6001, 14000) i,
	LATERAL (SELECT CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'Ab' || i WHEN 2 THEN 'ab' || i WHEN 3 THEN i || '日本語' || i % 7
		WHEN 4 THEN 'naïve' || i || 'ab' WHEN 5 THEN left(md5(i::text), i % 5) || i WHEN 6 THEN 'b%c' || i WHEN 7 THEN 'b_c\' || i
		WHEN 8 THEN repeat(md5(i::text), 1 + (i % 1001 = 8)::int * 200) ELSE 'sku-' || i END AS w) x;
SELECT column_name, bool_or(coding = 'dictionary') AS dictionary, bool_or(coding LIKE 'raw%') AS raw FROM gpucol.columns('words') WHERE column_name IN ('d', 'c', 'n') GROUP BY 1 ORDER BY 1;
-- and rows of the delta
INSERT INTO words (id, d, c, u, e, n, b, p) VALUES (20001, 'ab', 'ab', 'ab', 'ab', 'AB', 'ab', 'ab'), (20003, '', '', '', '', '', '', '');
INSERT INTO words (id) VALUES (20002);
DELETE FROM words WHERE id % 37 = 5;
ANALYZE words;

CREATE TABLE conditions (cond text, id serial);
INSERT INTO conditions (cond) VALUES
	('%s = ''ab'''), ('''Ab6006'' = %s'), ('%s <> ''ab'''), ('%s = '''''), ('NOT %s = ''ab'''), ('%s = ''日本'''),
	('%s IN (''ab'', ''abc'', ''sku-6009'', ''nothing'')'), ('%s NOT IN (''ab'', ''Ab6006'', '''')'), ('%s IN (''ab'', NULL)'), ('(%s IN (''ab'', NULL)) IS NULL'),
	('%s NOT IN (''ab'', NULL)'), ('%s = ANY (ARRAY(SELECT ''ab'' || i FROM generate_series(6000, 6500) i))'), ('%s = ANY (''{}'')'), ('%s <> ALL (''{}'')'),
	('%s < ''b'''), ('%s <= ''ab'''), ('%s > ''n'''), ('%s >= ''日本'''), ('''Z'' < %s'), ('''a'' >= %s'), ('%s >= ''a'' AND %s < ''b'''),
	('%s IS NULL OR %s = ''a'''), ('%s = ''a'' OR %s > ''sku-7'' OR %s IS NULL'), ('NOT (%s = ''a'' OR %s IS NULL)'), ('(%s = ''a'' AND %s > ''0'') IS NOT TRUE'),
	('(%s > ''a'' OR %s < ''Z'') IS UNKNOWN'), ('coalesce(%s, ''ab'') = ''ab'''), ('upper(%s) = ''AB''');
CREATE TABLE patterns (pattern text, id serial);
INSERT INTO patterns (pattern) VALUES
	(''), ('%'), ('%%'), ('ab'), ('ab%'), ('%ab'), ('%ab%'), ('a%b'), ('a%b%'), ('%a%b'), ('a%a%b'), ('%a%b%a%'), ('%ab%ab%'), ('b\%c%'), ('b\_c%'), ('b\\c%'), ('b\\\\c'),
	('%\%%'), ('%\_%'), ('\%'), ('\a%'), ('a_'), ('%_本%'), ('日%'), ('%本'), ('%本%'), ('%ï%'), ('sku-%9'), ('%777%'), ('%ß'), ('naïve%ab'), ('%longlong%'), ('x%g'), ('a%%b');

SELECT d FROM conditions, unnest('{d,c,u,e,n}'::text[]) col, differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', col)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM conditions, differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', 'b')) d WHERE d IS NOT NULL AND cond !~ 'upper|ARRAY' ORDER BY id;
SELECT d FROM patterns, unnest('{d,c,u,e,p}'::text[]) col, unnest('{LIKE,NOT LIKE}'::text[]) op,
	differ(format('SELECT count(*), sum(id) FROM words WHERE %s %s %L', col, op, pattern)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM patterns, differ(format('SELECT count(*), sum(id) FROM words WHERE d LIKE %L OR d NOT LIKE ''a%%'' AND NOT starts_with(d, %L)', pattern, left(pattern, 2))) d WHERE d IS NOT NULL ORDER BY id;
-- lengths
SELECT d FROM unnest('{"length(%s) > 2","5 >= length(%s)","length(%s) <> 2","octet_length(%s) = 6","NOT length(%s) < 1","length(%s) > NULL","3 < length(%s)","length(%s) = -1","length(%s) BETWEEN 2 AND 6 AND octet_length(%s) > 4","(length(%s) > 3) IS NULL","length(%s) >= 2147483647","length(%s) < -2147483648"}'::text[]) cond,
	unnest('{d,c,n,b}'::text[]) col, differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', col)) d WHERE d IS NOT NULL;
SELECT d FROM unnest('{"length(left(%s, 3)) = 2","char_length(right(%s, -1)) > 5","octet_length(substr(%s, 2, 2)) <= 3","length(lower(%s)) = 2","length(p::text) = 2"}'::text[]) cond,
	unnest('{d,u,e}'::text[]) col, differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', col)) d WHERE d IS NOT NULL;
-- regular expressions, some of which say what a few patterns do
CREATE TABLE regexes (regex text, id serial);
INSERT INTO regexes (regex) VALUES
	(''), ('a'), ('^a'), ('b$'), ('^ab$'), ('a.*b'), ('^a.*b$'), ('a.*b.*a'), ('ab|本'), ('^(ab|sku-).*9$'), ('(na)?ïve'), ('Stra(ss|ß)e'), ('[aA]b'), ('^[日本]'), ('b\\c'),
	('b%c'), ('b_c'), ('\%'), ('sku-6?7'), ('(a|b)(a|b)'), ('^(?:a|(?:b.*c))$'), ('x|^|$'), ('a$b'), ('a^'), ('a+b'), ('a.b'), ('a{2}b'), ('\d\d$'), ('[a-c]b'), ('[^a]b'), ('(a|b|ab|aa|bb)(1|2|3|4)'),
	('(?i)AB'), ('a.*?b'), ('long.*long.*long'), ('^$'), ('(a)'), ('((a|b)|A)b'), ('.'), ('.*'), ('a b'), ('ab(|1)');
SELECT d FROM regexes, unnest('{d,e}'::text[]) col, unnest('{~,!~,~*}'::text[]) op,
	differ(format('SELECT count(*), sum(id) FROM words WHERE %s %s %L', col, op, regex)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM patterns, unnest('{d,c}'::text[]) col, unnest('{SIMILAR TO}'::text[]) op,
	differ(format('SELECT count(*), sum(id) FROM words WHERE %s %s %L', col, op, pattern || '(ab|b)?')) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM regexes, unnest('{p}'::text[]) col, differ(format('SELECT count(*), sum(id) FROM words WHERE left(%s, 5) ~ %L OR %s IS NULL', col, regex, col)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM unnest('{<,<=,>,>=}'::text[]) op, unnest('{d,c,u,e}'::text[]) col,
	differ(format('SELECT count(*), sum(id) FROM words WHERE %s ~%s~ ''ab''', col, op)) d WHERE d IS NOT NULL;

-- parts of values, and values of type character
CREATE TABLE parts (part text, id serial);
INSERT INTO parts (part) VALUES
	('substring(%s from 1 for 2)'), ('substr(%s, 2)'), ('substring(%s from 0 for 3)'), ('substring(%s from -3 for 9)'), ('left(%s, 1)'), ('left(%s, 0)'),
	('left(%s, 1000000)'), ('left(%s, -1)'), ('right(%s, 2)'), ('right(%s, -1)'), ('right(%s, 0)'), ('left(right(%s, 3), 2)'), ('substring(left(%s, 4) from 2)');
CREATE TABLE lists (cond text, id serial);
INSERT INTO lists (cond) VALUES
	('%s = ''ab'''), ('%s <> ''a'''), ('%s = '''''), ('''日'' = %s'), ('%s IN (''a'', ''ab'', ''日本'', ''sk'', '''', ''sku-6'', ''ï'')'), ('%s NOT IN (''a'', ''ab'', ''本'')'),
	('%s = ANY (''{Ab,NULL,b%}'')'), ('%s <> ALL (''{Ab,NULL}'')'), ('%s LIKE ''%%a%%'''), ('%s IS NULL'), ('%s IS NOT NULL AND %s <> ''x'''), ('NOT (%s = ''ab'' OR %s = ''b%%'')');
SELECT d FROM lists l, parts, unnest(CASE parts.id % 3 WHEN 0 THEN '{d}' WHEN 1 THEN '{u}' ELSE '{e,c}' END::text[]) col,
	differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', replace(part, '%s', col))) d WHERE d IS NOT NULL ORDER BY l.id;
SELECT d FROM lists l, parts, unnest(CASE (parts.id + l.id) % 2 WHEN 0 THEN '{n}' ELSE '{p}' END::text[]) col,
	differ('SELECT count(*), sum(id) FROM words WHERE ' || replace(cond, '%s', replace(part, '%s', col))) d WHERE d IS NOT NULL AND (col = 'p' OR cond !~ 'LIKE') ORDER BY l.id;
SELECT d FROM unnest(ARRAY['b = ''ab''', 'substring(b from 2 for 3) IN (''ab'', ''b'', ''bab'')', 'substr(b, 2) <> ''b''', 'p = ''ab''', 'p <> ''ab  ''', '''Ab'' = p',
	'p IN (''ab'', ''ab '', ''naïve'', '''')', 'p NOT IN (''ab'', ''Ab6006'')', 'p = ANY (''{ab,NULL}'')', 'p::text = ''ab''', 'p::text || ''x'' = ''abx''', 'p = ''ab'' OR p < ''a''']) cond,
	differ('SELECT count(*), sum(id) FROM words WHERE ' || cond) d WHERE d IS NOT NULL;

-- parameters, known and NULL
SET plan_cache_mode = force_generic_plan;
SET gpucol.pushdown = require;
PREPARE find(text, text[], text) AS SELECT count(*) FILTER (WHERE d = $1), count(*) FILTER (WHERE d = ANY ($2)), count(*) FILTER (WHERE d < $3) FROM words;
EXECUTE find('ab', '{ab,abc,NULL}', 'b');
EXECUTE find(NULL, '{}', '');
EXECUTE find('', NULL, 'ab');
SET gpucol.pushdown = forbid;
EXECUTE find('ab', '{ab,abc,NULL}', 'b');
EXECUTE find(NULL, '{}', '');
EXECUTE find('', NULL, 'ab');
RESET gpucol.pushdown;

-- groups in one another: PostgreSQL's engine has an error of its own for those that are too deep
CREATE FUNCTION nested(name text, depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %I WHERE t ~ $1', name) INTO found USING repeat('(', depth) || 'a' || repeat(')', depth);
	RETURN found;
EXCEPTION WHEN statement_too_complex THEN
	RETURN SQLSTATE;
WHEN invalid_regular_expression THEN
	RETURN NULL;
END $$;
CREATE TABLE few USING gpucol AS SELECT 'a' || i AS t FROM generate_series(1, 20) i;
CREATE TABLE none (t text) USING gpucol;
SET max_stack_depth = '100kB';
SELECT what, nested(what, depth), count(*) FROM unnest('{few,none}'::text[]) what, generate_series(10, 500, 10) depth
	WHERE nested(what, depth) = '54001' GROUP BY 1, 2;
RESET max_stack_depth;
-- pieces at every place of texts of all lengths, after many places where only their ends are right
CREATE TABLE places USING gpucol AS SELECT row_number() OVER () AS id, t FROM
	(SELECT left(repeat(f, 60), p) || w || repeat('x', q) AS t FROM generate_series(0, 70, 3) p, generate_series(0, 37) q,
		unnest('{ab,x,"s l"}'::text[]) f, unnest('{"",special,specialrequests,requests special,"special requests",日本語}'::text[]) w
	UNION ALL SELECT repeat('axb', n) || 'ayb' || repeat('axb', n) FROM generate_series(0, 200) n) t;
SELECT bool_or(coding LIKE 'raw%') AS raw FROM gpucol.columns('places') WHERE column_name = 't';
CREATE TABLE places_heap USING heap AS SELECT * FROM places;
SELECT cond, (SELECT count(*) FROM (
		SELECT query_to_xml('SELECT count(*), sum(id) FROM places WHERE t ' || cond, true, true, '')::text
		EXCEPT SELECT query_to_xml('SELECT count(*), sum(id) FROM places_heap WHERE t ' || cond, true, true, '')::text) d) AS differ,
	xpath_exists('//count[text()>0]', query_to_xml('SELECT count(*) FROM places WHERE t ' || cond, true, true, '')) AS found
FROM (SELECT format(op || ' %L', pattern) AS cond FROM unnest('{LIKE,NOT LIKE}'::text[]) op,
	unnest('{%s%,%x%,%ab%,%special%,%special%requests%,%s l%special%,%ayb%,%bayba%,%本%,%axbayb%x,a%yba%b,%special_requests%,%nothing%}'::text[]) pattern) c;
DROP SCHEMA text_match CASCADE;
