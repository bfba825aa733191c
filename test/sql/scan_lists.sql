-- Lists of values of columns whose codes are wide: each row is looked for by a hash first.
SET client_min_messages = warning;
CREATE TABLE list_h (id int, a int, b int, c bigint, d bigint, e numeric(12,2), t timestamp) USING heap;
INSERT INTO list_h SELECT i, hashint4(i), CASE WHEN i % 9 > 0 THEN hashint4(i) % 100000 END, hashint4(-i) * 1000::bigint,
	hashint8extended(i, 7), (hashint4(i + 1) % 1000000) / 100.0, timestamp '2024-01-01' + (hashint4(i + 2) & 1048575) * interval '7 s'
FROM generate_series(1, 30000) i;
CREATE TABLE list_t (LIKE list_h) USING gpucol;
INSERT INTO list_t SELECT * FROM list_h;
-- values that are in the list come from rows, others lie between, below and above
CREATE VIEW list_values AS
SELECT id AS n, a, b, c, d, e, t FROM list_h WHERE id % 4 = 1
UNION ALL SELECT id, a + 1, b + 1, c + 1, d + 1, e + 0.01, t + interval '1 s' FROM list_h WHERE id % 4 = 2 AND a < 2147483647 AND d < 9223372036854775807
UNION ALL VALUES (0, -2147483648, -2147483648, -9223372036854775808, -9223372036854775808, -9999999999.99, timestamp '-infinity'), (0, 2147483647, 2147483647, 9223372036854775807, 9223372036854775807, 9999999999.99, 'infinity');
CREATE FUNCTION list_compare(col text, few text, n int, extra text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	list text := format('SELECT %I FROM list_values WHERE n < %s', col, n);
	want text;
	got text;
	plan text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM list_h WHERE %I %s IN (%s) %s', col, few, list || format(' AND %I IS NOT NULL', col), extra) INTO want;
	SET LOCAL gpucol.pushdown = require;
	EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM list_t WHERE %I %s (ARRAY(%s)) %s', col, CASE few WHEN 'NOT' THEN '<> ALL' ELSE '= ANY' END,
		list || format(' AND %I IS NOT NULL', col), extra) INTO got;
	EXECUTE format('EXPLAIN (FORMAT json) SELECT count(*) FROM list_t WHERE %I = ANY (ARRAY(%s))', col, list) INTO plan;
	SET LOCAL gpucol.pushdown = allow;
	RETURN CASE WHEN plan NOT LIKE '%GpucolAgg%' THEN 'not pushed down' WHEN want = got THEN 'same' ELSE format('%s %s %s %s: %s, not %s', col, few, n, extra, got, want) END;
END $$;
SELECT list_compare(col, few, n, extra), count(*)
FROM unnest('{a,b,c,d,e,t}'::text[]) col, (VALUES (''), ('NOT')) f(few), (VALUES (1), (30), (2000), (20000)) l(n),
	(VALUES (''), ('AND id < 3000 AND id % 50 = 1'), ('AND id BETWEEN 1000 AND 1080')) e(extra)
GROUP BY 1 ORDER BY 1;
DELETE FROM list_t WHERE id % 7 = 0;
DELETE FROM list_h WHERE id % 7 = 0;
INSERT INTO list_t SELECT id + 40000, a, b, c, d, e, t FROM list_h WHERE id < 100;
INSERT INTO list_h SELECT id + 40000, a, b, c, d, e, t FROM list_h WHERE id < 100;
SELECT list_compare(col, few, 3000, ''), count(*) FROM unnest('{a,b,c,d,e,t}'::text[]) col, (VALUES (''), ('NOT')) f(few) GROUP BY 1 ORDER BY 1;
-- lists that what is computed is looked up in
CREATE FUNCTION list_same(cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text;
	got text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM list_h WHERE ' || cond INTO want;
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM list_t WHERE ' || cond INTO got;
	SET LOCAL gpucol.pushdown = allow;
	RETURN CASE WHEN want = got THEN 'same' ELSE cond || ': ' || got || ', not ' || want END;
END $$;
SELECT list_same(j.text), count(*) FROM unnest(ARRAY['%s', 'NULL::numeric || %s', '%s || 0.00', '%s || 1e-30', '%s || 12345678901234567890.5']) a(items),
	unnest(ARRAY['e + 1 = ANY ((%s)::numeric[])', 'e + 1 <> ALL ((%s)::numeric[])', '(e - 0.5 <> ALL ((%s)::numeric[])) IS NULL', 'e * 2 = ANY ((%s)::numeric[])', 'NOT e + 0.25 = ANY ((%s)::numeric[])', 'e + 1 = ANY ((%s)::numeric[]) OR id < 100']) c(cond),
	LATERAL (SELECT format(items, '(SELECT array_agg(e + m) FROM list_h, unnest(ARRAY[0, 0.5, 1, 0.255, 2.000]) m WHERE id % 1500 = 7)')) i(list),
	LATERAL (SELECT replace(cond, '%s', list)) j(text) GROUP BY 1 ORDER BY 1;
SELECT list_same(cond), count(*) FROM unnest(ARRAY['b + 1 <> ALL ((SELECT array_agg(b + id % 3) FROM list_h WHERE id % 50 = 7)::int[])', 'b + 1 = ANY ((SELECT array_agg(b + id % 3) FROM list_h WHERE id % 50 = 7)::int[])',
	'b * 2 NOT IN (2, 4, 88884, NULL)', 'b - 1 NOT IN (2, 4, 88884)', '(b % 100 <> ALL (''{1,2,3,NULL}'')) IS NULL', 'b % 100 <> ALL (''{}'')']) cond GROUP BY 1 ORDER BY 1;
DROP FUNCTION list_same(text);
DROP FUNCTION list_compare(text, text, int, text);
DROP VIEW list_values;
DROP TABLE list_t, list_h;
