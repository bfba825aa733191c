-- Keys of which a table has rows of different values, asked for by IN and EXISTS, are groups; heap's answers.
CREATE SCHEMA pair_groups;
SET search_path = pair_groups, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE h_t AS SELECT nullif(i % 100, 7) AS k, i % 3 AS k2, CASE WHEN i % 100 < 30 THEN i % 100 WHEN i % 11 = 0 THEN NULL ELSE i % 7 END AS x,
	CASE i % 100 WHEN 1 THEN 'NaN' WHEN 2 THEN CASE WHEN i < 300 THEN '0' ELSE '-0' END WHEN 3 THEN CASE WHEN i < 300 THEN 'infinity' ELSE '1' END ELSE (i % 100)::text END::float8 AS f,
	CASE WHEN i % 100 = 4 THEN CASE WHEN i < 300 THEN 1.0 ELSE 1.00 END WHEN i % 100 = 5 THEN 'NaN' WHEN i % 100 < 50 THEN 7 ELSE i % 3 * 0.50 END AS n,
	date '2020-01-01' + CASE WHEN i % 100 < 60 THEN 3 ELSE i % 7 END AS d, CASE WHEN i % 100 < 50 THEN 'same' ELSE 't' || i % 9 END AS t,
	(CASE WHEN i % 3 = 0 THEN 'Aa' ELSE 'aA' END || CASE WHEN i % 100 < 40 THEN 0 ELSE i % 7 END) COLLATE folded AS c, CASE WHEN i % 100 < 70 THEN 24 ELSE i % 7 END * interval '1 hour' AS y, i FROM generate_series(1, 600) i;
UPDATE h_t SET y = '1 day' WHERE k < 70 AND i % 2 = 0;
INSERT INTO h_t (k, k2, x) VALUES (9001, 1, 1), (9002, 1, NULL), (9002, 1, 3), (9003, 1, 1), (9003, 1, 2), (NULL, 1, 1), (NULL, 2, 2);
CREATE TABLE h_o AS SELECT CASE WHEN i > 1990 THEN 7010 + i ELSE i % 150 END AS k, i % 3 AS k2, i AS id FROM generate_series(1, 2000) i UNION ALL SELECT NULL, NULL, 0;
CREATE TABLE p_t USING gpucol AS TABLE h_t;
CREATE TABLE p_o USING gpucol AS TABLE h_o;
CREATE TABLE h_e (LIKE h_t);
CREATE TABLE p_e (LIKE h_t) USING gpucol;
CREATE TABLE h_s (k int, x int) PARTITION BY HASH (k);
CREATE TABLE h_s0 PARTITION OF h_s FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h_s1 PARTITION OF h_s FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE p_s (k int, x int) PARTITION BY HASH (k);
CREATE TABLE p_s0 PARTITION OF p_s FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING gpucol;
CREATE TABLE p_s1 PARTITION OF p_s FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING gpucol;
INSERT INTO h_s SELECT k, x FROM h_t;
INSERT INTO p_s SELECT k, x FROM h_t;
ANALYZE h_t, h_o, p_t, p_o, p_e, h_s, p_s;
CREATE FUNCTION check_pairs(query text, OUT groups boolean, OUT fine boolean, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	ours text := replace(query, '@', 'p_');
	heap text := replace(query, '@', 'h_');
	line text;
BEGIN
	groups := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || ours LOOP
		groups := groups OR line ~ 'Filter: .*\m(min|max)\(.* (<>|<|>) .*\m(min|max)\(';
	END LOOP;
	EXECUTE format('SELECT NOT EXISTS ((SELECT * FROM (%s) a EXCEPT ALL SELECT * FROM (%s) b) UNION ALL '
		'(SELECT * FROM (%2$s) c EXCEPT ALL SELECT * FROM (%1$s) d)), (SELECT count(*) FROM (%1$s) e)', ours, heap) INTO fine, rows;
END
$$;
CREATE FUNCTION asked(pairs text) RETURNS text LANGUAGE sql RETURN 'SELECT id, k FROM @o WHERE k IN (' || pairs || ')';
CREATE FUNCTION asked_twice(pairs text) RETURNS text LANGUAGE sql RETURN
	'WITH w AS (' || pairs || ') SELECT id, k FROM @o o WHERE k IN (SELECT k FROM w) AND k2 IN (SELECT r.k2 FROM @t r, w WHERE r.k = w.k)';
-- once by IN, and by the readers of a WITH query
SELECT what, (check_pairs(asked(q))).*, (check_pairs(asked_twice(q))).* FROM (VALUES
	(1, 'integers', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x'),
	(2, 'less', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x < b.x'),
	(3, 'greater, the second', 'SELECT b.k FROM @t a, @t b WHERE b.k = a.k AND b.x > a.x'),
	(4, 'floats', 'SELECT a.k FROM @t a JOIN @t b ON a.k = b.k WHERE a.f <> b.f'),
	(5, 'numerics', 'SELECT a.k FROM @t a JOIN @t b ON a.k = b.k AND a.n <> b.n'),
	(6, 'dates', 'SELECT a.k FROM @t a JOIN @t b USING (k) WHERE a.d <> b.d'),
	(7, 'texts', 'SELECT k FROM @t a JOIN @t b USING (k) WHERE a.t <> b.t'),
	(8, 'a collation', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.c <> b.c'),
	(9, 'intervals', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.y <> b.y'),
	(10, 'two keys', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND b.k2 = a.k2 AND a.x <> b.x'),
	(11, 'the same conditions', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND b.i > 150 AND a.t LIKE ''t%'' AND b.t LIKE ''t%'' AND a.i > 150'),
	(12, 'partitions', 'SELECT a.k FROM @s a, @s b WHERE a.k = b.k AND a.x <> b.x'),
	(13, 'no rows', 'SELECT a.k FROM @e a, @e b WHERE a.k = b.k AND a.x <> b.x')) v(i, what, q) ORDER BY i;
-- columns that nobody reads
SELECT (check_pairs(asked_twice('SELECT a.k, a.x AS x1, b.x AS x2 FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x'))).*;
-- not: other conditions for each table, or of both; a value read; a second value; another table; a key by texts; what may raise an error
SELECT what, (check_pairs(asked(q))).* FROM (VALUES
	(1, 'one condition', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND a.i > 150'),
	(2, 'unlike conditions', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND a.i > 150 AND b.i > 151'),
	(3, 'of both', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND a.i < b.i'),
	(4, 'a value', 'SELECT a.x FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x'),
	(5, 'at most', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <= b.x'),
	(6, 'no value', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.k2 = b.k2'),
	(7, 'no key', 'SELECT a.k FROM @s a, @s b WHERE a.x <> b.x AND a.k < 3 AND b.k < 3'),
	(8, 'another column', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.k2'),
	(9, 'another key', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.x AND a.x <> b.x'),
	(10, 'outer', 'SELECT a.k FROM @t a LEFT JOIN @t b ON a.k = b.k AND a.x <> b.x'),
	(11, 'another table', 'SELECT a.k FROM @t a, @s b WHERE a.k = b.k AND a.x <> b.x'),
	(12, 'may raise an error', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND 10 / (a.i + 1) >= 0 AND 10 / (b.i + 1) >= 0'),
	(13, 'volatile', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND random() >= a.i - a.i AND random() >= b.i - b.i'),
	(14, 'LIMIT', 'SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x ORDER BY 1 LIMIT 10'),
	(15, 'nobody''s', 'SELECT a.k FROM @o a, @o b WHERE a.k = b.k AND a.k2 IS DISTINCT FROM b.k2')) v(i, what, q) ORDER BY i;
-- NOT IN, more columns, in a list, correlated
SELECT (check_pairs('SELECT id FROM @o WHERE k NOT IN (SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x)')).*;
SELECT (check_pairs('SELECT id FROM @o WHERE (k, k2) IN (SELECT a.k, b.k2 FROM @t a, @t b WHERE a.k = b.k AND a.k2 = b.k2 AND a.x <> b.x)')).*;
SELECT (check_pairs('SELECT id, k IN (SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x) AS c FROM @o')).*;
SELECT (check_pairs('SELECT id FROM @o o WHERE k IN (SELECT a.k FROM @t a, @t b WHERE a.k = b.k AND a.x <> b.x AND a.k2 = o.k2 AND b.k2 = o.k2)')).*;
-- who may not read the second table may not here
CREATE ROLE regress_pairs;
GRANT USAGE ON SCHEMA pair_groups TO regress_pairs;
GRANT SELECT ON p_o TO regress_pairs;
GRANT SELECT (k) ON p_t TO regress_pairs;
SET ROLE regress_pairs;
SELECT count(*) FROM p_o WHERE k IN (SELECT a.k FROM p_t a, p_t b WHERE a.k = b.k AND a.x <> b.x);
RESET ROLE;
GRANT SELECT (x) ON p_t TO regress_pairs;
SET ROLE regress_pairs;
SELECT count(*) FROM p_o WHERE k IN (SELECT a.k FROM p_t a, p_t b WHERE a.k = b.k AND a.x <> b.x);
RESET ROLE;
-- prepared
PREPARE pairs(int) AS SELECT count(*), sum(k) FROM p_o WHERE k IN (SELECT a.k FROM p_t a, p_t b WHERE a.k = b.k AND a.x <> b.x AND a.i > $1 AND b.i > $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE pairs(10);
EXECUTE pairs(300);
EXECUTE pairs(NULL);
DROP SCHEMA pair_groups CASCADE;
DROP ROLE regress_pairs;
