-- Fields of texts, and what regular expressions find in them, as keys of groups in the CPU engine.
SET client_min_messages = warning;
CREATE SCHEMA text_pattern;
SET search_path = text_pattern, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

-- all texts of up to five characters of some, raw and of a dictionary
CREATE TABLE short (id int, t text, d text) USING gpucol;
INSERT INTO short WITH RECURSIVE all_texts AS (SELECT ''::text AS t UNION ALL SELECT t || c FROM all_texts, unnest('{a,b,/,é}'::text[]) c WHERE char_length(t) < 5)
	SELECT row_number() OVER (), t, left(t, 3) FROM all_texts;
INSERT INTO short VALUES (0, NULL, NULL), (-1, E'a\nb/a\n', 'a/b/'), (-2, 'https://www.a.b/c', 'http://www.a.b/'), (-3, 'http://wé.b', 'https://b/'), (-4, 'user@example.org', '@');
CREATE TABLE urls (id int, t text) USING gpucol;
INSERT INTO urls SELECT i, (ARRAY['http://', 'https://', 'http:/', '', 'xhttp://'])[1 + i % 5] || (ARRAY['', 'www.', 'www', 'www.www.', 'é'])[1 + i / 5 % 5]
	|| (ARRAY['', 'a', 'ab.c', 'www.', E'x\ny'])[1 + i / 25 % 5] || (ARRAY['', '/', '//', '/a/b', '/é?http://www.b/'])[1 + i / 125 % 5] || CASE WHEN i > 1000 THEN (i / 10)::text ELSE '' END
	FROM generate_series(1, 6000) i;
ANALYZE short, urls;

-- the engine finds them; what it does not know is PostgreSQL's
EXPLAIN (COSTS OFF) SELECT regexp_replace(t, '^https?://(?:www\.)?([^/]+)/.*$', '\1'), count(*) FROM urls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT split_part(t, '/', 3), count(*) FROM urls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT substring(t FROM '^(\d+)$'), count(*) FROM urls GROUP BY 1;
SELECT count(*) AS rows_of_raw_texts FROM urls WHERE t > '';

CREATE TABLE patterns (p text, known bool);
INSERT INTO patterns SELECT p, true FROM unnest(ARRAY['^https?://(?:www\.)?([^/]+)/.*$', '^https?://(?:www\.)?([^/]+)$', '^a?(?:ab)?([ab]+)b.*$', '^a?(?:ab)?b?([ab]*)b$',
	'^(?:ab)?(?:a)?([^/]*)/.*$', '^(a+)ab.*$', '^([ab]+)ab$', '^(.*)$', '^(.+)$', '^(.*)a.*$', '^(.*)/a$', '^([^a]+)é$', '^é(.*)/.*$', '^([a-b]*)/$', '^([^a-b]+)b.*$',
	'^a?a?a?(a*)$', '^a?a?([^b]*)a.*$', '^h?(?:ttp)?s?:?/?/?(?:www\.)?(.+)$', '^(?:www\.)?(?:www\.)?([^.]+)\.c.*$', '^a(b*)é.*$', '^([/-]+)a.*$']) p;
-- anywhere, or not to the end
INSERT INTO patterns SELECT p, true FROM unnest(ARRAY['(a+)', '^(a+)', '(a+)$', '^(a*).*', '(a*)', 'b(a*)', '/([^/]*)/', '//([^/]+)/', 'a([ab]+)b', 'ab([^b]+)', '([^a]+)a', '([ab]+)é', '/([^/]+)$', 'www\.([^.]+)\.', '(b+)/$',
	'a([a-b]*)b$', '(.*)a', '(.+)/', 'é(.*)', '([^/]+)/a.*', 'b(a+)b.*$', '^a([ab]*)b', '([0-9]+)', '(\d+)', 'é(\d*)', '\?http://([^/?]+)', '(\d+)$', '^h(t+)p', 'a(b+)\$', 'aa(a*)b', '/([ab/]+)/']) p;
INSERT INTO patterns SELECT p, false FROM unnest(ARRAY['^a([^é]*).*$', '^([ab/]+)/\.*$', '^(a|b)$', '^(a+?)b$', '^(ab)+$', '^é?(a*)$', '^a{1,2}(b*)$', '^(?i)A(.*)$', '^([[:alpha:]]+).*$',
	'^(\w+).*$', '^a*(b*)$', '^((a)b*)$', '^(a*)(b*)$', '^(a*)\1$', '^(a*)\y.*$', '^([]a]*).*$', '^(.*?)a.*$', '^(a*)|b$', '^(a*)b.*c$', '^.(a*)$', 'a?(b+)', '^a?(b*)', 'b?(a*)$', '(a+)|b', 'a+(b*)', '(a+?)b', '.*(a+)', '(\w+)', '(\s*)a', '((a)+)', 'a(b+)b*', '([^é]+)b', '^(a*)+$', '^(?:a*)(b*)$', '^(b)$', '^x(?:(a*))$', '^(?:a|b)?(a*)$']) p;
SET gpucol.cpu_threads = 2;
SELECT c.relation, p.p, f, d FROM patterns p, (VALUES ('short', 't'), ('short', 'd'), ('urls', 't')) c (relation, col), unnest(ARRAY['regexp_replace(%s, %L, ''\1'')', 'substring(%s FROM %L)']) f,
	differ(format('SELECT %1$s, count(*), count(%1$s), count(DISTINCT %1$s), sum(id) FROM %2$s GROUP BY 1', format(f, col, p), relation)) d
WHERE d IS NOT NULL;
SELECT c.relation, s, n, d FROM unnest('{/,a,//,é,ab,aa,www.,http://}'::text[]) s, generate_series(-4, 4) n, (VALUES ('short', 't'), ('short', 'd'), ('urls', 't')) c (relation, col),
	differ(format('SELECT %1$s, count(*), count(DISTINCT %1$s), sum(id) FROM %2$s GROUP BY 1', format('split_part(%s, %L, %s)', col, s, n), relation)) d
WHERE n <> 0 AND d IS NOT NULL;
SELECT d FROM unnest(ARRAY[
	'SELECT split_part(t, '''', 1), count(*) FROM short GROUP BY 1', 'SELECT split_part(t, ''a'', 2147483647), split_part(t, ''a'', -2147483648), count(*) FROM short GROUP BY 1, 2',
	'SELECT split_part(left(t, 4), ''/'', 2), avg(length(split_part(t, ''/'', 1))), min(t) FROM short GROUP BY 1',
	'SELECT length(substring(t FROM ''^(a*)b.*$'')), count(*) FROM short WHERE t IS NOT NULL GROUP BY 1',
	'SELECT regexp_replace(t, ''^(a*)b.*$'', ''x\1''), count(*) FROM short GROUP BY 1',
	'SELECT split_part(t, ''/'', 1) AS k, max(length(t)), count(*) FROM urls GROUP BY 1 HAVING count(*) > 5 ORDER BY 3 DESC, 1 LIMIT 7'
]) q, differ(q) d WHERE d IS NOT NULL;

-- groups of plain characters before the one that is found; where a text does not tell whether an optional one is there, they are PostgreSQL's
SELECT c.relation, p, n, d FROM (VALUES ('^https?://(www\.)?([^/]+)/.*$', 2), ('^(a)?(ab)?([ab]+)b.*$', 3), ('^(ab)?(?:a)?([^/]*)/.*$', 2), ('^(https?)?(://)?(.+)$', 3), ('^(a)(b*)$', 2), ('^(a)?(b)?([^/]*)$', 3), ('^a?a(aa)?(a*)$', 2)) patterns (p, n),
	(VALUES ('short', 't'), ('urls', 't')) c (relation, col), differ(format('SELECT regexp_replace(%1$s, %2$L, %3$L), count(*), sum(id) FROM %4$s GROUP BY 1', col, p, '\' || n, relation)) d
WHERE d IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT regexp_replace(t, '^https?://(www\.)?([^/]+)/.*$', '\2'), count(*) FROM urls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT regexp_replace(t, '^https?://(www\.)?([^/]+)/.*$', '\1'), count(*) FROM urls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT regexp_replace(t, '^(a)?(ab)?([ab]+)b.*$', '\3'), count(*) FROM urls GROUP BY 1;

-- errors are PostgreSQL's
SELECT split_part(t, '/', 0), count(*) FROM short GROUP BY 1;
SELECT substring(t FROM '^(a'), count(*) FROM short GROUP BY 1;
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT substring(t COLLATE ignore_case FROM '^(a*)b.*$'), count(*) FROM short GROUP BY 1;
SELECT substring(t FROM '^(a*)b.*$' COLLATE ignore_case), count(*) FROM short GROUP BY 1;
-- which of the patterns the engine knows
CREATE FUNCTION finds(pattern text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; evaluated bool := false;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT substring(t FROM %L), count(*) FROM urls GROUP BY 1', pattern) LOOP
		evaluated := evaluated OR line ~ 'Evaluated Once Per|fed by rows';
	END LOOP;
	RETURN NOT evaluated;
END $$;
SELECT p, known FROM patterns WHERE finds(p) IS DISTINCT FROM known;
DROP SCHEMA text_pattern CASCADE;
