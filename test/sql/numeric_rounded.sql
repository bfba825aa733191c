-- Rounded quotients by constants, floats as numerics, and buckets of floats are the engine's.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE nr_h (id int, f float8, r float4, p numeric(12,3), b numeric(18,0), ts timestamp, i bigint);
CREATE TABLE nr (LIKE nr_h) USING gpucol;
-- ties in binary and in decimal, values beside them, large and small ones
INSERT INTO nr_h SELECT i, CASE i % 9 WHEN 0 THEN i / 8.0 WHEN 1 THEN i * 7919 % 100003 / 1000.0 WHEN 2 THEN exp(i % 60 - 30) WHEN 3 THEN -i * 1234.5678
	WHEN 4 THEN i + 0.5 WHEN 5 THEN (i - 3000) / 200.0 WHEN 6 THEN NULL WHEN 7 THEN i / 1e5 + 0.000005 ELSE i * 1e12 + 0.5 END,
	CASE i % 7 WHEN 0 THEN i / 8.0 WHEN 1 THEN i * 331.0 WHEN 2 THEN -i / 200.0 WHEN 3 THEN exp(i % 20 - 10) WHEN 4 THEN NULL ELSE 0.5 + i END,
	CASE i % 5 WHEN 0 THEN i / 1000.0 WHEN 1 THEN -i * 7919 / 1000.0 WHEN 2 THEN i WHEN 3 THEN 999999999.999 - i / 1000.0 ELSE nullif(i % 3, 0) END,
	CASE i % 4 WHEN 0 THEN i * 123456789012345::numeric WHEN 1 THEN -i * 100003 WHEN 2 THEN 10::numeric ^ (i % 18) - i % 3 ELSE i END,
	timestamp '2025-01-01' + i * interval '1 hour' - i % 40 * interval '1 microsecond', i * 1000003::bigint * (i % 1000) FROM generate_series(1, 6000) i;
INSERT INTO nr_h SELECT 7000 + i, v, v, v::numeric, v::numeric, '2025-01-01', v FROM (VALUES (1, 0::float8), (2, '-0'), (3, 0.125), (4, 999.9995)) v(i, v);
INSERT INTO nr_h VALUES (7100, 'NaN', 'NaN', 0, 0, 'infinity', 0), (7101, 'Infinity', '-Infinity', 0, 0, '-infinity', 0), (7102, 1e300, 1e38, 0, 0, NULL, 0),
	(7103, 1e-300, 1e-38, 0, 0, NULL, 0), (7104, 99999999999999.95, 999999.5, 0, 0, NULL, 0), (7105, 5e-324, 1e-45, 0, 0, NULL, 0);
INSERT INTO nr SELECT * FROM nr_h;
DELETE FROM nr WHERE id % 23 = 0;
DELETE FROM nr_h WHERE id % 23 = 0;
VACUUM ANALYZE nr, nr_h;
INSERT INTO nr_h SELECT id + 10000, -f, -r, -p, -b, ts + interval '2 years', -i FROM nr_h WHERE id % 20 = 1 AND id < 7000;
INSERT INTO nr SELECT * FROM nr_h WHERE id > 10000;

-- As a key, over both tables: what is different, an error, or how it was computed.
CREATE FUNCTION pg_temp.same(value text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %s AS v, count(*) AS c FROM nr WHERE %s GROUP BY 1', value, condition);
	whole text := 'SELECT md5(string_agg(v::text || '' '' || c, '';'' ORDER BY v)) FROM (%s) s';
	way text := '';
	line text;
	a text;
	b text;
BEGIN
	SET LOCAL gpucol.pushdown = require;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
			way := way || coalesce(substring(line FROM 'Fallback|fed by rows|Once Per'), '');
		END LOOP;
		EXECUTE format(whole, query) INTO a;
	EXCEPTION WHEN OTHERS THEN a := SQLSTATE;
	END;
	SET LOCAL gpucol.pushdown = forbid;
	BEGIN
		EXECUTE format(whole, regexp_replace(query, '\ynr\y', 'nr_h')) INTO b;
	EXCEPTION WHEN OTHERS THEN b := SQLSTATE;
	END;
	RETURN CASE WHEN a IS DISTINCT FROM b THEN a || ' instead of ' || coalesce(b, 'nothing') WHEN length(a) = 5 THEN a ELSE 'same ' || way END;
END $$;
SELECT x AS value, string_agg(DISTINCT pg_temp.same(replace(x, '%', s::text), 'abs(f) < 1e20 AND abs(r) < 1e20'), ', ') FROM unnest(ARRAY['f::numeric(30,%)', 'r::numeric(30,%)',
	'round(f::numeric, %)', 'round(r::numeric, %)', 'round(p / 7, %)', 'round(p / 10, %)', 'round(b / 10, %)', 'trunc(p / 0.37, %)', 'round(b / 2, %)', 'round(b / 99.99, %)',
	'round(i / 3600.0, %)', 'trunc(b / 12345.678, %)', 'round(p / -3, %)', 'round(b / 10000, %)', 'round(p / 0.0004, %)', 'trunc(i / 1000000000000.0, %)',
	'round(p / 12345678901234567890.5, %)', 'round(extract(epoch FROM ts) / 3600, %)']) x, unnest(ARRAY[0, 1, 2, 3, 6]) s GROUP BY x ORDER BY x;
SELECT x AS value, pg_temp.same(x, 'isfinite(ts) AND abs(f) < 1e20') FROM unnest(ARRAY['floor(extract(epoch FROM ts) / 3600)', 'ceil(extract(epoch FROM ts) / 3600)', 'floor(p / 7)',
	'ceil(p / 7)', 'floor(b / 10)', 'ceil(b / 9)', '(b / 10)::bigint', '(p / 7)::int', '(b / 10)::int', 'floor(b / 1e17)', 'ceil(p / 1e-3)', 'round(p / 0, 1)', 'round(p / NULL, 1)', 'sign(p / 3)',
	'round(p / 10) * 10', 'least(p, f::numeric(30,3))', 'width_bucket(f, 0, 1000, 20)', 'width_bucket(f, 1000, -1000, 7)', 'width_bucket(f, 0.1, 99.7, 1000)', 'width_bucket(f, 5, 5, 3)',
	'width_bucket(r, -10, 10, 33)']) x;
-- infinities, NaN, and what has too many digits
SELECT x AS value, c AS condition, pg_temp.same(x, c) FROM unnest(ARRAY['f::numeric(30,2)', 'f::numeric(6,2)', 'round(f::numeric, 2)', 'round(r::numeric, 2)', 'width_bucket(f, 0, 1000, 20)',
	'width_bucket(f, 1000, 0, 20)', 'CASE WHEN abs(f) < 1000 THEN f::numeric(6,2) END']) x, unnest(ARRAY['id = 7100', 'id = 7101', 'id = 7102', 'id >= 7103', 'id > 0']) c ORDER BY 1, 2;
SELECT pg_temp.same('f::numeric', 'id < 6000'), pg_temp.same('f::numeric(5,-2)', 'abs(f) < 1000'), pg_temp.same('p::numeric(8,1)', 'abs(p) < 1000');
-- conditions of a scan are PostgreSQL's: rows may have left when a value is too large
SELECT count(*) FROM (SELECT id FROM nr WHERE f::numeric(30,1) > 5 AND abs(f) < 1e20 EXCEPT ALL SELECT id FROM nr_h WHERE f::numeric(30,1) > 5 AND abs(f) < 1e20) s;
DROP TABLE nr, nr_h;
