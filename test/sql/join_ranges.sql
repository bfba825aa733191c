-- Joins by conditions on ranges: plans compute the bounds, engines compare them.  Answers are those over heap tables.
CREATE EXTENSION IF NOT EXISTS gpucol;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE jr_h (id int, k int, i int, b bigint, d date, t timestamp, z timestamptz, n numeric(8,2), w text);
CREATE TABLE rr_h (id int, k int, i int4range, b int8range, d daterange, t tsrange, z tstzrange, n numrange, w text);
INSERT INTO jr_h SELECT i, i % 20, i % 200 - 20, i * 3, date '2024-01-01' + i % 300, timestamp '2024-01-01' + i % 90 * interval '5 hours',
	timestamptz '2024-01-01 00:00+00' + i % 90 * interval '7 hours', i % 50 + 0.5, 'w' || i % 3 FROM generate_series(1, 3000) i;
INSERT INTO jr_h VALUES (9001, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (9002, 2, -2147483648, -9223372036854775808, '-infinity', '-infinity', '-infinity', 0, 'end'),
	(9003, 3, 2147483647, 9223372036854775807, 'infinity', 'infinity', 'infinity', 99, 'end'), (9004, NULL, 5, 5, '2024-01-05', '2024-01-05', '2024-01-05 00:00+00', 5, 'null');
INSERT INTO rr_h SELECT i, i % 20, int4range(i % 170 - 10, i % 170 + i % 37, CASE i % 4 WHEN 0 THEN '[]' WHEN 1 THEN '()' WHEN 2 THEN '[)' ELSE '(]' END),
	int8range(i * 20, i * 20 + 90), daterange(date '2024-01-01' + i % 250, date '2024-01-01' + i % 250 + i % 40, CASE i % 3 WHEN 0 THEN '[]' WHEN 1 THEN '()' ELSE '[)' END),
	tsrange(timestamp '2024-01-01' + i % 70 * interval '5 hours', timestamp '2024-01-01' + (i % 70 + i % 5) * interval '5 hours', CASE i % 4 WHEN 0 THEN '[]' WHEN 1 THEN '()' WHEN 2 THEN '[)' ELSE '(]' END),
	tstzrange(timestamptz '2024-01-01 00:00+00' + i % 70 * interval '7 hours', timestamptz '2024-01-01 00:00+00' + (i % 70 + i % 5) * interval '7 hours', '[]'),
	numrange(i % 40, i % 40 + i % 9), 'r' || i % 4 FROM generate_series(1, 200) i;
INSERT INTO rr_h VALUES (801, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (802, 2, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty', 'e'),
	(803, 3, '(,)', '(,)', '(,)', '(,)', '(,)', '(,)', 'all'), (804, 2, '(,5]', '(,5]', '(,2024-01-05]', '(,2024-01-05]', '(,2024-01-05 00:00+00]', '(,5]', 'low'),
	(805, 3, '[5,)', '[5,)', '[2024-01-05,)', '(2024-01-05,)', '[2024-01-05 00:00+00,)', '[5,)', 'high'), (806, 3, '[2147483646,2147483647)', '[1,2)', '[2024-01-01,infinity]',
	'[2024-01-01,infinity]', '[-infinity,infinity)', '[1,1]', 'ends'), (807, 2, '[-2147483648,0)', '[1,2)', '[-infinity,2024-01-05]', '(-infinity,2024-01-01]', '(-infinity,infinity]', '[1,1]', 'ends'),
	(808, NULL, '[1,9]', '[1,9]', '[2024-01-01,2024-02-01]', '[2024-01-01,2024-02-01]', '[2024-01-01 00:00+00,2024-02-01 00:00+00]', '[1,9]', 'null');
CREATE TABLE jr USING gpucol AS TABLE jr_h;
CREATE TABLE rr USING gpucol AS TABLE rr_h;
ANALYZE jr, rr, jr_h, rr_h;

EXPLAIN (COSTS OFF) SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d GROUP BY 1;
CREATE FUNCTION jr_plan(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text := 'other';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP
		IF line ~ 'Join: .*VALUE' THEN found := 'by bounds'; END IF;
	END LOOP;
	RETURN found;
END $$;
CREATE FUNCTION jr_same(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text;
BEGIN
	EXECUTE 'SELECT md5(string_agg(s::text, '';'' ORDER BY s::text)) || '' of '' || count(*) FROM (' || q || ') s' INTO a;
	EXECUTE 'SELECT md5(string_agg(s::text, '';'' ORDER BY s::text)) || '' of '' || count(*) FROM (' || regexp_replace(q, '\m(jr|rr)\M', '\1_h', 'g') || ') s' INTO b;
	RETURN jr_plan(q) || CASE WHEN a IS NOT DISTINCT FROM b THEN ', same' ELSE ', ' || coalesce(a, 'NULL') || ' instead of ' || coalesce(b, 'NULL') END;
END $$;
-- every type, with and without a key; elements in ranges, and ranges that overlap
SELECT c, jr_same(format('SELECT r.id, r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND r.%1$s @> j.%1$s GROUP BY 1, 2', c)) AS contains,
	jr_same(format('SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON j.%1$s <@ r.%1$s GROUP BY 1', c)) AS alone,
	jr_same(format('SELECT a.id, count(*), sum(b.id) FROM rr a JOIN rr b ON a.k = b.k AND a.%1$s && b.%1$s GROUP BY 1', c)) AS overlap
FROM unnest(ARRAY['i', 'b', 'd', 't', 'z', 'n']) c ORDER BY 1;
-- one by one
SELECT c, jr_same(format('SELECT j.id AS j, r.id AS r, r.%1$s FROM jr j JOIN rr r ON r.k = j.k AND r.%1$s @> j.%1$s WHERE r.id > 800', c)) AS rows,
	jr_same(format('SELECT a.id AS a, b.id AS b FROM rr a JOIN rr b ON a.%1$s && b.%1$s WHERE a.id > 800', c)) AS pairs
FROM unnest(ARRAY['i', 'b', 'd', 't', 'z']) c ORDER BY 1;
-- outer joins, conditions above them, tests
SELECT jr_same('SELECT j.w, count(*), count(r.id), sum(r.id) FROM jr j LEFT JOIN rr r ON r.k = j.k AND r.d @> j.d GROUP BY 1');
SELECT jr_same('SELECT r.w, count(*), count(j.id), sum(j.id) FROM rr r LEFT JOIN jr j ON r.k = j.k AND r.d @> j.d AND j.w <> ''w1'' GROUP BY 1');
SELECT jr_same('SELECT j.w, count(*), sum(r.id) FROM jr j LEFT JOIN rr r ON r.k = j.k WHERE (r.t @> j.t) IS NOT TRUE GROUP BY 1');
SELECT jr_same('SELECT j.w, count(*), sum(r.id) FROM jr j LEFT JOIN rr r ON r.k = j.k WHERE r.t @> j.t GROUP BY 1');
SELECT jr_same('SELECT r.w, j.w AS jw, count(*), sum(j.id) FROM rr r FULL JOIN jr j ON r.k = j.k AND r.i @> j.i GROUP BY 1, 2');
SELECT jr_same('SELECT j.w, count(*), sum(j.id) FROM jr j WHERE EXISTS (SELECT FROM rr r WHERE r.k = j.k AND r.d @> j.d) GROUP BY 1');
SELECT jr_same('SELECT j.w, count(*), sum(j.id) FROM jr j WHERE NOT EXISTS (SELECT FROM rr r WHERE r.k = j.k AND r.z @> j.z) GROUP BY 1');
SELECT jr_same('SELECT r.w, count(*), sum(r.id) FROM rr r WHERE EXISTS (SELECT FROM jr j WHERE r.k = j.k AND r.i @> j.i) GROUP BY 1');
SELECT jr_same('SELECT r.id, r.d FROM rr r WHERE NOT EXISTS (SELECT FROM rr s WHERE r.k = s.k AND s.d && r.d AND s.id <> r.id)');
-- elements that are computed, several conditions, three tables
SELECT jr_same('SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.t::date AND r.i @> j.i + 3 WHERE j.id < 9000 GROUP BY 1');
SELECT jr_same('SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d JOIN rr s ON s.k = r.k AND s.d && r.d GROUP BY 1');
SELECT jr_same('SELECT j.id, r.id AS r, lower(r.d), r.d FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d ORDER BY j.id, r.id LIMIT 30');
SELECT jr_same('SELECT q.w, count(*) FROM (SELECT r.k, r.d, r.w FROM rr r WHERE r.id % 2 = 0 OFFSET 0) q JOIN jr j ON j.k = q.k AND q.d @> j.d GROUP BY 1');
SELECT jr_same('WITH c AS MATERIALIZED (SELECT k, i, count(*) AS n FROM rr GROUP BY 1, 2) SELECT j.w, sum(c.n) FROM c JOIN jr j ON j.k = c.k AND c.i @> j.i GROUP BY 1');
SELECT jr_same('SELECT j.id, (SELECT max(r.id) FROM rr r WHERE r.k = j.k AND r.d @> j.d) FROM jr j WHERE j.id % 7 = 0');
-- bounds that the condition calls itself
SELECT jr_plan('SELECT r.w, count(*) FROM jr j JOIN rr r ON r.k = j.k AND j.d >= lower(r.d) AND (upper_inf(r.d) OR j.d < upper(r.d)) GROUP BY 1');
SELECT jr_same('SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND j.d >= lower(r.d) AND (upper_inf(r.d) OR j.d < upper(r.d)) GROUP BY 1');
SELECT jr_same('SELECT j.id, r.id AS r FROM jr j JOIN rr r ON r.k = j.k AND (lower(r.i) IS NULL OR j.i > lower(r.i)) AND (j.i < upper(r.i)) IS NOT FALSE AND NOT isempty(r.i)');
SELECT jr_same('SELECT r.w, count(*), sum(j.id) FROM rr r LEFT JOIN jr j ON r.k = j.k AND (j.t >= lower(r.t) OR lower_inf(r.t)) AND (lower_inc(r.t) OR j.i > 5) AND j.t < upper(r.t) GROUP BY 1');
SELECT jr_same('SELECT j.w, count(*) FROM jr j WHERE EXISTS (SELECT FROM rr r WHERE r.k = j.k AND j.z BETWEEN lower(r.z) AND upper(r.z) AND NOT upper_inc(r.z)) GROUP BY 1');
SELECT jr_same('SELECT r.w, count(*) FROM rr r JOIN rr s ON r.k = s.k AND lower(r.i) < upper(s.i) AND lower(s.i) < upper(r.i) AND r.id <> s.id GROUP BY 1');
-- late rows, deleted rows
INSERT INTO rr SELECT id + 2000, k, i, b, d, t, z, n, 'late' FROM rr WHERE id % 3 = 0;
INSERT INTO rr_h SELECT id + 2000, k, i, b, d, t, z, n, 'late' FROM rr_h WHERE id % 3 = 0;
DELETE FROM rr WHERE id % 5 = 1;
DELETE FROM rr_h WHERE id % 5 = 1;
SELECT jr_same('SELECT r.w, count(*), sum(j.id) FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d GROUP BY 1');
-- who must not call what bounds are computed by may still join
CREATE ROLE jr_user;
GRANT SELECT ON jr, rr TO jr_user;
REVOKE EXECUTE ON FUNCTION lower(anyrange) FROM PUBLIC;
SET ROLE jr_user;
SELECT jr_plan('SELECT r.w, count(*) FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d GROUP BY 1');
SELECT count(*) > 0 AS found FROM jr j JOIN rr r ON r.k = j.k AND r.d @> j.d;
RESET ROLE;
GRANT EXECUTE ON FUNCTION lower(anyrange) TO PUBLIC;
DROP TABLE jr, jr_h, rr, rr_h;
DROP FUNCTION jr_same, jr_plan;
DROP ROLE jr_user;
