-- Random queries of one to four rankings, in one to five threads, against the
-- aggregates: keys, labels, scores and x-tuples of all classes, NULLs, ties, NaN,
-- filters, deleted and delta rows.
SET client_min_messages = warning;
CREATE TABLE random_r (g int, g2 text, g3 numeric(5,1), id int, label text, named text NOT NULL, fl float8, score int, sf float8, sn numeric(8,2),
	p float8, pn numeric(4,3), x int, wide bigint, xt text, b bool, d date) USING gpucol;
SELECT setseed(0.5) IS NULL AS seeded;
INSERT INTO random_r
SELECT nullif((random() * 40)::int, 7), CASE WHEN random() < 0.9 THEN 'g' || (random() * 6)::int END, (random() * 9)::int / 2.0, i,
	CASE WHEN random() < 0.95 THEN 'l' || (random() * 300)::int END, 'n' || (random() * 5000)::int,
	CASE WHEN random() < 0.02 THEN 'NaN' WHEN random() < 0.02 THEN '-0' ELSE (random() * 100)::int / 4.0 END, (random() * 50)::int,
	CASE WHEN random() < 0.01 THEN 'Infinity' WHEN random() < 0.01 THEN 'NaN' ELSE random() * 10 END, (random() * 1000)::numeric(8,2),
	CASE WHEN random() < 0.05 THEN NULL WHEN random() < 0.1 THEN 0 WHEN random() < 0.1 THEN 0.125 ELSE random() / 8 END, (random() * 0.12)::numeric(4,3),
	nullif(i / 8, 100), (i / 8) * 700000000000000::bigint, 'x' || i / 8, random() < 0.5, '2024-01-01'::date + (random() * 100)::int
FROM generate_series(1, 12000) i;
DELETE FROM random_r WHERE id % 50 = 3;
VACUUM ANALYZE random_r;
INSERT INTO random_r SELECT * FROM random_r WHERE id < 200;

CREATE FUNCTION random_pick(VARIADIC a text[]) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT a[1 + floor(random() * cardinality(a))::int]';
CREATE FUNCTION random_ranking() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	f text := random_pick('u_topk', 'u_kranks', 'pt_k', 'global_topk', 'expected_rank_topk', 'u_topk_probability');
	x text := random_pick('', '', '', ', x', ', wide', ', xt', ', b', ', d');
	p text := CASE WHEN x IN (', b', ', d') THEN '0.0001' ELSE random_pick('p', 'pn', 'p / 2', '0.01') END;
	label text := CASE WHEN f <> 'u_topk_probability' THEN random_pick('id', 'label', 'named', 'fl', 'd', 'score', 'sn', 'id % 97') || ', ' ELSE '' END;
BEGIN
	RETURN format('(gpucol.%s(%s%s, %s, %s%s%s)%s)::text', f, label, random_pick('score', 'sf', 'sn', 'd', 'score % 3', 'sf + 1', 'g'), p,
		random_pick('1', '2', '5', '17', '100'), CASE WHEN f = 'pt_k' THEN ', ' || random_pick('0.05', '0.3', '0.001') ELSE '' END, x,
		random_pick('', '', '', ' FILTER (WHERE b)', ' FILTER (WHERE score > 10 AND g < 20)', ' FILTER (WHERE id < 0)'));
END $$;
-- The answer as text, probabilities to 9 digits; or the error.
CREATE FUNCTION random_answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'SELECT count(*) || md5(string_agg(t, '','' ORDER BY t)) FROM (SELECT regexp_replace(q::text, ''([0-9]\.[0-9]{9})[0-9]+'', ''\1'', ''g'') AS t FROM (' ||
		query || ') q) s' INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
CREATE FUNCTION random_compare(n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	keys text;
	query text;
	want text;
	answers int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		keys := random_pick('', 'g', 'g2', 'g3', 'g, g2', 'b, g3', 'fl', 'd', 'score % 5, g2', 'xt', 'sf');
		SELECT concat_ws(', ', nullif(keys, ''), string_agg(random_ranking() || ' AS r' || j, ', ')) INTO query
		FROM generate_series(1, 1 + floor(random() * 4)::int) j;
		query := 'SELECT ' || query || ' FROM random_r ' ||
			random_pick('', 'WHERE score < 40', 'WHERE g2 = ''g3''', 'WHERE id % 3 = 1', 'WHERE named LIKE ''n1%''') || coalesce(' GROUP BY ' || nullif(keys, ''), '');
		SET LOCAL gpucol.pushdown = forbid;
		want := random_answer(query);
		answers := answers + (want ~ '^[0-9]+[0-9a-f]{32}$' OR want IS NULL)::int;
		PERFORM set_config('gpucol.cpu_threads', (1 + floor(random() * 5))::text, true);
		SET LOCAL gpucol.pushdown = require;
		IF want IS DISTINCT FROM random_answer(query) THEN
			RETURN NEXT 'different: ' || query;
		END IF;
		SET LOCAL gpucol.pushdown = allow;
	END LOOP;
	RETURN NEXT n || ' compared, most of them answers: ' || (answers > n * 0.8);
END $$;
SELECT random_compare(60);
DROP FUNCTION random_compare(int), random_answer(text), random_ranking(), random_pick(text[]);
DROP TABLE random_r;
