-- Conditions that ignore case, or look at lower() and upper() of texts: decided on the bytes where the collation
-- changes case letter by letter, PostgreSQL's elsewhere; places of constants in texts.
SET client_min_messages = warning;
CREATE SCHEMA text_case;
SET search_path = text_case, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE COLLATION bytes_utf8 (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE COLLATION turkish (provider = icu, locale = 'tr');
CREATE COLLATION lithuanian (provider = icu, locale = 'lt');
-- all texts of up to three letters, of which some have another case in few languages, or one of two letters
CREATE TABLE letters (id int, t text COLLATE bytes_utf8, c text COLLATE "C", e text COLLATE english, r text COLLATE turkish, l text COLLATE lithuanian, p char(6) COLLATE bytes_utf8) USING gpucol;
INSERT INTO letters WITH RECURSIVE texts AS (SELECT ''::text AS t UNION ALL SELECT t || c FROM texts, unnest('{k,K,K,i,I,İ,ı,s,S,ſ,ß,É,Σ,%,_}'::text[]) c WHERE char_length(t) < 3)
	SELECT row_number() OVER (), t, t, t, t, t, t FROM texts;
INSERT INTO letters (id) VALUES (-1);
-- nearly unique ones
CREATE TABLE pages (id int, t text) USING gpucol;
INSERT INTO pages SELECT i, 'HTTP://www.' || md5(i::text) || CASE i % 4 WHEN 0 THEN '.ORG' WHEN 1 THEN '.org' WHEN 2 THEN '.Köln' ELSE '' END || i % 77 FROM generate_series(1, 6000) i;
ANALYZE letters, pages;

CREATE TABLE cases (cond text, id serial);
INSERT INTO cases (cond) SELECT format('%%s %s %L', op, p) FROM unnest('{ILIKE,NOT ILIKE}'::text[]) op,
	unnest(ARRAY['k%', '%K', '%i%', 'I_', '_s', 'S%S', 'ß%', '%É', '', '%', 'k', 'KI', 'sI_', '\%%', '%\_', '\k%', '%\Is', 'σ', 'İ%', 'ss']) p;
INSERT INTO cases (cond) SELECT format('%s(%%s) %s %L', f, op, p) FROM unnest('{lower,upper}'::text[]) f, unnest('{=,<>,LIKE,NOT LIKE}'::text[]) op,
	unnest(ARRAY['k%', 'K%', '%i', '%I', 's_', 'S_', 'ki', 'KI', 'is', 'IS', '', '%', '_', 'ß', 'SS', 'É', 'é_', 'K', 'ſ%', '\k%', '\S%', 'k\']) p WHERE NOT (op LIKE '%LIKE' AND p = 'k\');
SELECT d FROM cases, unnest('{t,c,e,r,l,p}'::text[]) col, differ('SELECT count(*), sum(id) FROM letters WHERE ' || replace(cond, '%s', col)) d WHERE d IS NOT NULL ORDER BY id;
SELECT d FROM cases, unnest('{left(t\, 2),substr(t\, 2)}'::text[]) col, differ('SELECT count(*), sum(id) FROM letters WHERE ' || replace(cond, '%s', col)) d
	WHERE d IS NOT NULL AND id % 3 = 0 ORDER BY id;
SELECT d FROM unnest(ARRAY['t ILIKE ''http://%.org_''', 't NOT ILIKE ''%.KÖLN%''', 'lower(t) LIKE ''%a%.org7''', 'upper(t) LIKE ''HTTP%ORG''', 'lower(t) <> ''x''', 'lower(right(t, 5)) = ''org77'' OR upper(left(t, 4)) = ''HTTP''',
	't ILIKE ANY (ARRAY[''%ORG1'', ''%org2'', NULL])', 'NOT (t ILIKE ''%1'' AND lower(t) LIKE ''%org%'') AND id > 5']) cond, differ('SELECT count(*), sum(id) FROM pages WHERE ' || cond) d WHERE d IS NOT NULL;

-- places
SELECT d FROM unnest('{>,<>,=}'::text[]) op, unnest('{k,Ki,%,_,ß,"",sss,zz}'::text[]) s, unnest('{t,c,e}'::text[]) col, unnest('{strpos(%s\, %L) %s 0,position(%2$L IN %1$s) %3$s 0}'::text[]) form,
	differ('SELECT count(*), sum(id) FROM letters WHERE ' || format(form, col, s, op)) d WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['strpos(t, ''.ORG'') > 0', 'strpos(right(t, 4), ''o'') = 0', 'strpos(t, ''www'') > 5', 'strpos(t, NULL) > 0', 'strpos(t, '''') = 0', '0 < strpos(t, ''ORG'')']) cond,
	differ('SELECT count(*), sum(id) FROM pages WHERE ' || cond) d WHERE d IS NOT NULL;
-- fields of texts, which count as conditions of scans, too, and lists of patterns
SELECT d FROM unnest('{=,<>}'::text[]) op, unnest('{k,Ki,ß,""}'::text[]) s, unnest('{k,%,ki,""}'::text[]) separator, unnest('{1,2,-1,2147483647}'::int[]) n, unnest('{t,c,e,p}'::text[]) col,
	differ(format('SELECT count(*), sum(id) FROM letters WHERE split_part(%s, %L, %s) %s %L', col, separator, n, op, s)) d WHERE d IS NOT NULL;
SELECT d FROM unnest(ARRAY['split_part(t, ''.'', 3) = ''ORG0''', 'split_part(t, ''/'', 1) <> ''HTTP:''', 'split_part(right(t, 9), ''.'', 2) IN (''ORG7'', ''org9'', ''Köln3'')', 'split_part(t, ''.'', 3) NOT IN (''ORG0'', ''org1'')',
	't LIKE ANY (ARRAY[''%7'', ''%.org_''])', 't NOT LIKE ALL (ARRAY[''%7'', ''%.org_''])', 't LIKE ALL (ARRAY[''%7'', ''HTTP%''])', 't ILIKE ANY (ARRAY[''%KÖLN%'', ''%7''])', 't NOT ILIKE ANY (ARRAY[''%ORG%'', ''%7''])',
	't ~ ANY (ARRAY[''[0-3]{3}'', ''9$''])', 't <> ANY (ARRAY[''a'', ''b''])', 't = ALL (ARRAY[''a'', ''b''])', 't LIKE ANY (ARRAY[NULL, ''%7''])', 't LIKE ANY (ARRAY[]::text[])', 'lower(t) LIKE ANY (ARRAY[''%org1'', ''%KEIN''])',
	'lower(t) IN (''x'', ''y'')', 'NOT (t LIKE ANY (ARRAY[''%7'', ''%8'']) OR split_part(t, ''.'', 1) = ''HTTP://www'')']) cond, differ('SELECT count(*), sum(id) FROM pages WHERE ' || cond) d WHERE d IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE split_part(t, '.', 3) = 'ORG0';
SELECT count(*) FROM pages WHERE split_part(t, '.', 0) = 'a';
-- errors are PostgreSQL's
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT count(*) FROM pages WHERE t COLLATE ignore_case ILIKE 'a%';
SELECT count(*) FROM pages WHERE t ILIKE 'a\';
SELECT count(*) FROM pages WHERE strpos(t COLLATE ignore_case, 'a') > 0;
SELECT count(*) FROM pages WHERE split_part(t COLLATE ignore_case, 'a', 1) = 'b';
DROP SCHEMA text_case CASCADE;
