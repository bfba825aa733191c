-- Percentiles and modes of texts: different ones are numbered, and sorted once for all groups.
SET client_min_messages = warning;
CREATE SCHEMA agg_words;
SET search_path = agg_words, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE w (id int, k int, g text, few text, many text, c text COLLATE "C", v varchar(40), b char(5), long text) USING gpucol;
INSERT INTO w SELECT i, i % 13, 'g' || i % 101, (ARRAY['new', 'paid', '', NULL, 'sent', 'Paid', 'päid'])[1 + i * i % 7], CASE WHEN i % 9 > 0 THEN md5((i * 31 % 3000)::text) END, upper(md5((i % 400)::text)) || i % 3, 'v' || i % 777, 'b' || i % 5, repeat('x', i % 300) || i % 50
	FROM generate_series(1, 6000) i;
SELECT gpucol.merge('w') > -1 AS merged;
DELETE FROM w WHERE id % 37 = 5;
INSERT INTO w SELECT 10000 + i, 20 + i / 5, 'h', 'ties' || i % 2, 'ties' || i % 3, NULL, 'v' || i, '', NULL FROM generate_series(1, 12) i;
INSERT INTO w VALUES (20000, 30, 'alone', 'alone', 'alone', 'alone', 'alone', 'alone', 'alone'), (20001, 31, 'none', NULL, NULL, NULL, NULL, NULL, NULL), (20002, NULL, NULL, 'a', 'b', 'c', 'd', 'e', repeat('long ', 3000));

CREATE TABLE call (c text);
INSERT INTO call SELECT format(f, t) FROM unnest('{few,many,c,v,long,g}'::text[]) t,
	unnest(ARRAY['percentile_disc(0.5) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %1$s)', 'percentile_disc(0.1) WITHIN GROUP (ORDER BY %s DESC), mode() WITHIN GROUP (ORDER BY %1$s DESC)', 'percentile_disc(ARRAY[0, 0.3, NULL, 1]) WITHIN GROUP (ORDER BY %s)',
		'mode() WITHIN GROUP (ORDER BY %s) FILTER (WHERE id %% 3 = 0), count(*), max(%1$s), percentile_disc(0.9) WITHIN GROUP (ORDER BY id)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY %s COLLATE "C"), percentile_disc(0.25) WITHIN GROUP (ORDER BY upper(%1$s))', 'percentile_disc(NULL::float8) WITHIN GROUP (ORDER BY %s)']) f;
INSERT INTO call VALUES ('mode() WITHIN GROUP (ORDER BY b), percentile_disc(0.5) WITHIN GROUP (ORDER BY b)'), ('percentile_disc(1.5) WITHIN GROUP (ORDER BY many)'), ('percentile_disc(0.5) WITHIN GROUP (ORDER BY few || many), mode() WITHIN GROUP (ORDER BY split_part(long, ''x'', 2))');
SELECT d FROM call, unnest('{"GROUP BY k","GROUP BY g","WHERE id < 5000","WHERE id < 0","GROUP BY ROLLUP (k, few)","WHERE k = 3 GROUP BY id % 2","GROUP BY k HAVING count(*) > 5 ORDER BY k LIMIT 3","GROUP BY id"}'::text[]) rest,
	differ(format('SELECT %s%s FROM w %s', CASE WHEN rest ~ 'BY (k|g)' THEN substring(rest FROM 'BY (k|g)') || ', ' ELSE '' END, c, rest)) d WHERE d IS NOT NULL;
SELECT differ('SELECT a.k, mode() WITHIN GROUP (ORDER BY b.few), percentile_disc(0.4) WITHIN GROUP (ORDER BY a.many) FROM w a JOIN w b USING (id) GROUP BY a.k'), differ('SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY m) FROM (SELECT k, g, max(many) AS m FROM w GROUP BY k, g) s GROUP BY k');
-- collations of languages, and one that holds texts equal whose bytes are not
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT differ('SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY few COLLATE "en-x-icu"), mode() WITHIN GROUP (ORDER BY many COLLATE "en-x-icu" DESC), percentile_disc(0.8) WITHIN GROUP (ORDER BY many COLLATE "en-x-icu") FROM w GROUP BY k'),
	differ('SELECT k, upper(percentile_disc(0.5) WITHIN GROUP (ORDER BY few COLLATE ignore_case)), upper(mode() WITHIN GROUP (ORDER BY few COLLATE ignore_case)) FROM w GROUP BY k');
-- rows once only for several aggregates of one text; more texts than memory has room for
SELECT k, mode() WITHIN GROUP (ORDER BY few), percentile_disc(0.5) WITHIN GROUP (ORDER BY few), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY v) FROM w WHERE k > 10 GROUP BY k ORDER BY k;
CREATE TABLE wide (k int, t text) USING gpucol;
INSERT INTO wide SELECT i % 7, repeat(md5(i::text), 12) FROM generate_series(1, 20000) i;
SET gpucol.memory_limit = '2MB';
SELECT differ('SELECT k, md5(percentile_disc(0.5) WITHIN GROUP (ORDER BY t)), md5(mode() WITHIN GROUP (ORDER BY t)) FROM wide GROUP BY k', '');
RESET gpucol.memory_limit;

DROP SCHEMA agg_words CASCADE;
