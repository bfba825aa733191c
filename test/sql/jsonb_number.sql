-- Numbers and booleans out of fields of documents: as PostgreSQL reads them, without their text.
-- Kept in heap and in gpucol, all that is asked must have one answer, errors too.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE jn_heap (id int, c text, d jsonb);
INSERT INTO jn_heap SELECT i, 'c' || i % 3, CASE i % 8
	WHEN 0 THEN NULL
	WHEN 1 THEN jsonb_build_object('n', i * 7919, 'x', i / 16.0, 'b', i % 2 = 0, 's', i::text)
	WHEN 2 THEN jsonb_build_object('n', -i, 'x', -0.5, 'b', true, 's', ' ' || i || ' ')
	WHEN 3 THEN jsonb_build_object('n', NULL, 'x', 123456789012345.678, 'b', false, 's', 'true')
	WHEN 4 THEN jsonb_build_object('x', i, 's', i)
	WHEN 5 THEN jsonb_build_object('n', i, 'x', 0.10 + i, 'b', 'yes', 'o', jsonb_build_object('n', i))
	WHEN 6 THEN '[{"n": 5}, "n"]'::jsonb
	ELSE '"n"'::jsonb END
FROM generate_series(1, 6000) i;
CREATE TABLE jn USING gpucol AS TABLE jn_heap;
INSERT INTO jn SELECT * FROM jn_heap WHERE id <= 50;
INSERT INTO jn_heap SELECT * FROM jn_heap WHERE id <= 50;
-- single values, by name
CREATE TABLE jo_heap (k text, d jsonb);
INSERT INTO jo_heap VALUES ('zero', '{"v": 0}'), ('minus', '{"v": -32768}'), ('small', '{"v": 32768}'),
	('int', '{"v": 2147483647}'), ('beyond', '{"v": 2147483648}'), ('big', '{"v": -9223372036854775808}'),
	('bigger', '{"v": 9223372036854775808}'), ('huge', '{"v": 123456789012345678901234567890.5}'),
	('point', '{"v": 7.0}'), ('half', '{"v": 0.5}'), ('tiny', '{"v": 1e-30}'), ('power', '{"v": 1e5}'),
	('over', '{"v": 1e400}'), ('under', '{"v": 1e-400}'), ('digits', '{"v": 0.1234567890123456789}'),
	('exact', '{"v": 9007199254740993}'), ('text', '{"v": "42"}'), ('word', '{"v": "x"}'), ('true', '{"v": true}'),
	('false', '{"v": false}'), ('null', '{"v": null}'), ('array', '{"v": [1]}'), ('none', '{"w": 1}');
CREATE TABLE jo USING gpucol AS TABLE jo_heap;

-- one answer, with how the statement runs; errors as text
CREATE FUNCTION jn_answer(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
	EXECUTE 'SELECT string_agg(q::text, E''\n'' ORDER BY q::text) FROM (' || q || ') q' INTO r;
	RETURN r;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION jn_same(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text := jn_answer(q); b text := jn_answer(regexp_replace(q, '\mj([no])\M(?!_)', 'j\1_heap', 'g'));
BEGIN
	RETURN CASE WHEN a IS NOT DISTINCT FROM b THEN 'same' ELSE 'heap ' || coalesce(b, 'NULL') || E'\ngpucol ' || coalesce(a, 'NULL') END;
END $$;

EXPLAIN (COSTS OFF) SELECT c, sum((d ->> 'n')::int) FROM jn GROUP BY c;
SELECT jn_same('SELECT c, count(*), sum((d ->> ''n'')::int), max((d ->> ''n'')::bigint), min((d ->> ''n'')::numeric) FROM jn GROUP BY c');
SELECT jn_same('SELECT (d ->> ''n'')::int / 1000 AS k, count(*), avg((d ->> ''x'')::float8), sum((d ->> ''x'')::numeric) FROM jn GROUP BY 1');
SELECT jn_same('SELECT (d ->> ''b'')::bool AS k, count((d ->> ''n'')::int), string_agg((d ->> ''x'')::numeric::text, '','' ORDER BY id) FROM jn WHERE id < 200 GROUP BY 1');
SELECT jn_same('SELECT (d ->> ''n'')::int AS n, (d ->> ''x'')::real AS r, (d ->> ''b'')::bool AS b FROM jn WHERE (d ->> ''n'')::int BETWEEN -500 AND 90000');
SELECT jn_same('SELECT c, count(*) FILTER (WHERE (d ->> ''b'')::bool), sum((d -> ''o'' ->> ''n'')::int) FROM jn GROUP BY c');
-- branches, whose texts come from elsewhere
SELECT jn_same('SELECT c, sum((CASE WHEN id % 3 = 0 THEN ''12'' ELSE d ->> ''n'' END)::int), sum(coalesce(d ->> ''n'', id::text)::int), max((CASE WHEN id % 2 = 0 THEN d ->> ''n'' ELSE c END)::text) FROM jn GROUP BY c');
SELECT jn_same('SELECT c, sum((CASE d ->> ''s'' WHEN ''x'' THEN c WHEN ''true'' THEN ''1'' ELSE d ->> ''s'' END)::numeric) FROM jn WHERE id % 8 IN (1, 2, 3, 4) GROUP BY c');
-- keys of a column
SELECT jn_same('SELECT k, sum((d ->> k)::numeric) FROM jn CROSS JOIN (VALUES (''n''), (''x''), (''q'')) v(k) GROUP BY k');
-- every value as every type: the same value or the same error
SELECT t, string_agg(k, ' ' ORDER BY k) FILTER (WHERE r = 'same') AS same, string_agg(k || ': ' || r, ' ' ORDER BY k) FILTER (WHERE r <> 'same') AS other
FROM (SELECT t, k, jn_same(format('SELECT max((d ->> ''v'')::%s::text) FROM jo WHERE k = %L GROUP BY k', t, k)) r
	FROM jo_heap, unnest(ARRAY['smallint', 'int', 'bigint', 'real', 'float8', 'numeric', 'numeric(10,2)', 'bool', 'text']) t) q
GROUP BY t ORDER BY t;
SELECT k, t, jn_answer(format('SELECT max((d ->> ''v'')::%s::text) FROM jo WHERE k = %L GROUP BY k', t, k))
FROM (VALUES ('point'), ('half'), ('beyond'), ('true'), ('array')) v(k), unnest(ARRAY['int', 'float8', 'numeric', 'bool']) t ORDER BY 1, 2;
DROP TABLE jn, jn_heap, jo, jo_heap;
DROP FUNCTION jn_answer, jn_same;
