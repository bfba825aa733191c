-- Separators of texts that are classes of characters, such as \W: the engine's where PostgreSQL takes them for
-- a set, and the answers are heap's.
SET client_min_messages = warning;
CREATE SCHEMA agg_separators;
SET search_path = agg_separators, public;
CREATE TABLE heap_d AS SELECT i AS id, 'w' || i || E'_a  b,c-d\t' || i * 7 || '.x' || chr(27 + i % 100) || 'Z' || chr(28 + i % 4) || 'e;;' || i % 3 || E'\n^]\\[q' AS t
	FROM generate_series(1, 3000) i;
INSERT INTO heap_d VALUES (1, ''), (2, NULL), (3, ' '), (4, '...'), (5, 'abc');
CREATE TABLE d USING gpucol AS SELECT * FROM heap_d;
ANALYZE d, heap_d;

-- who splits, and do words, or the error, differ?
CREATE FUNCTION split(pattern text, t text DEFAULT 'd') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT word, count(*) FROM %s, regexp_split_to_table(t, %L) AS word GROUP BY word ORDER BY word COLLATE "C"';
	line text;
	who text := 'PostgreSQL';
	results text[] := '{}';
	result text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, t, pattern) LOOP
		IF line ~ 'Join: lateral' THEN who := 'engine'; END IF;
	END LOOP;
	FOREACH line IN ARRAY ARRAY['heap_' || t, t] LOOP
		BEGIN
			EXECUTE format('SELECT md5(string_agg(x::text, '''')) FROM (%s) x', format(query, line, pattern)) INTO result;
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE;
		END;
		results := results || result;
	END LOOP;
	RETURN who || CASE WHEN results[1] IS DISTINCT FROM results[2] THEN ', DIFFERENT' ELSE '' END;
END $$;
SELECT p, split(p) FROM unnest(ARRAY['\W+', '\W', '\w+', '\d+', '\D+', '\S+', '\s', '[\s,.-]+', '[[:space:],]', '[^[:alnum:]]+', '[^\w]+', '[\w.-]+',
	'[[:punct:]]+', '[[:upper:][:digit:]]', '[a-c\d]+', '[-a]', '[a-]', '[\]\[]', '[\\^]+', '[^\n\t]+', '[^[:alpha:][:digit:]_ ]+', '[[:lower:]]', '[A-z]']) p;
-- no sets, other ones, and errors
SELECT p, split(p) FROM unnest(ARRAY['[]a]', '[--/]', '[\w-x]', '[z-a]', '[a', '[[:foo:]]', '[\D]', '\W*', '\W+?', '(\W+)', '[[.a.]]', '[a-z-9]', '\Wx',
	'[!-/]+', '\m', '[\x41]', '\', '[\', '[^', '[]', '[a-\d]']) p;
-- a class that a collation knows more characters of
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE TABLE heap_u AS SELECT id, t COLLATE english AS t FROM heap_d;
CREATE TABLE u USING gpucol AS SELECT * FROM heap_u;
ANALYZE u;
SELECT p, split(p, 'u') FROM unnest(ARRAY['\s+', '\W+', '[[:punct:]]', '[[:space:]]+']) p;
-- characters beyond ASCII: PostgreSQL's plan runs
CREATE TABLE heap_n AS SELECT * FROM heap_d UNION ALL VALUES (1, 'naïve café x');
CREATE TABLE n USING gpucol AS SELECT * FROM heap_n;
ANALYZE n;
SELECT p, split(p, 'n') FROM unnest(ARRAY['\s+', '\W+', '[^[:alpha:]]+', '[^a-z]+']) p;
DROP SCHEMA agg_separators CASCADE;
