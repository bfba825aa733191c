--
-- Comparisons of two columns of texts, in scans and in joins, beside heap.
--
\set VERBOSITY terse
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE tc_heap (id int, a text, b varchar(5), c char(4), d char(4), e char(6), f bytea, g uuid, h name, i text COLLATE "C");
INSERT INTO tc_heap SELECT i, CASE WHEN i % 7 > 0 THEN 'w' || i % 5 END, CASE WHEN i % 11 > 0 THEN 'w' || i % 3 END,
	'x' || i % 3, 'x' || i % 2, 'x' || i % 2, decode(lpad(to_hex(i % 300), 4, '0'), 'hex'),
	md5((i % 4)::text)::uuid, 'w' || i % 6, left('wéw2', i % 5) FROM generate_series(1, 4000) i;
CREATE TABLE tc_packed (LIKE tc_heap) USING gpucol;
INSERT INTO tc_packed SELECT * FROM tc_heap;
DELETE FROM tc_heap WHERE id % 37 = 5;
DELETE FROM tc_packed WHERE id % 37 = 5;
UPDATE tc_heap SET a = b WHERE id % 41 = 3;
UPDATE tc_packed SET a = b WHERE id % 41 = 3;
-- values that have no dictionary
CREATE TABLE tc_raw (id int, a text, b text) USING gpucol;
INSERT INTO tc_raw SELECT i, md5(i::text), CASE WHEN i % 3 = 0 THEN md5(i::text) ELSE md5((i + 1)::text) END FROM generate_series(1, 3000) i;

-- A query over %1$s: its rows, and how many differ from heap's.
CREATE FUNCTION tc_check(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE rows int; differences int;
BEGIN
	EXECUTE format('CREATE TEMP TABLE tc_want AS ' || query, 'tc_heap');
	PERFORM set_config('gpucol.pushdown', 'require', true);
	EXECUTE format('CREATE TEMP TABLE tc_got AS ' || query, 'tc_packed');
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	SELECT count(*) INTO differences FROM (
		(SELECT t::text FROM tc_want t EXCEPT ALL SELECT t::text FROM tc_got t)
		UNION ALL (SELECT t::text FROM tc_got t EXCEPT ALL SELECT t::text FROM tc_want t)) x;
	SELECT count(*) INTO rows FROM tc_got;
	DROP TABLE tc_want, tc_got;
	RETURN format('%s rows, %s differences', rows, differences);
END $$;

EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM tc_packed WHERE a <> b;
SELECT q, tc_check(q) FROM unnest(ARRAY[
	'SELECT id FROM %1$s WHERE a = b',
	'SELECT id FROM %1$s WHERE a <> b OR c = d',
	'SELECT id FROM %1$s WHERE a IS DISTINCT FROM b',
	'SELECT id FROM %1$s WHERE a IS NOT DISTINCT FROM b',
	'SELECT id FROM %1$s WHERE NOT (a = b AND c <> d)',
	'SELECT id FROM %1$s WHERE i < i',
	'SELECT id FROM %1$s WHERE a COLLATE "C" < i',
	'SELECT id FROM %1$s WHERE a COLLATE "C" >= i OR i > b COLLATE "C"',
	'SELECT a = b AS same, count(*), sum(id) FILTER (WHERE c <> d) AS sum FROM %1$s GROUP BY a = b',
	'SELECT CASE WHEN a = b THEN 1 WHEN c = d THEN 2 ELSE 3 END AS k, count(*) FROM %1$s GROUP BY 1',
	'SELECT x.id, y.id AS other FROM %1$s x JOIN %1$s y ON x.id = y.id + 1 AND x.a <> y.a',
	'SELECT x.id, y.a FROM %1$s x LEFT JOIN %1$s y ON x.id = y.id + 2 AND x.a = y.b',
	'SELECT count(*) AS n, count(y.a) AS m FROM %1$s x FULL JOIN %1$s y ON x.id = y.id + 2 AND x.i > y.i',
	'SELECT x.id FROM %1$s x WHERE EXISTS (SELECT FROM %1$s y WHERE y.id = x.id + 3 AND y.a <> x.a)',
	'SELECT x.id FROM %1$s x JOIN %1$s y USING (id) WHERE x.f = y.f AND x.g = y.g AND x.c = y.d']) q;

-- What stays PostgreSQL's: other lengths, an order that is not that of the bytes.
SELECT count(*) FROM tc_raw WHERE a = b;
SELECT count(*) FROM tc_raw WHERE a <> b GROUP BY a < b COLLATE "C" ORDER BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM tc_packed WHERE d = e;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM tc_packed WHERE h < a;

-- Of columns with different collations a comparison has none: an error where heap has it.
CREATE TABLE tc_two_heap (id int, c text COLLATE "C", p text COLLATE "POSIX");
INSERT INTO tc_two_heap SELECT i, 'w' || i % 5, 'w' || i % 3 FROM generate_series(1, 2000) i;
CREATE TABLE tc_two_packed (LIKE tc_two_heap) USING gpucol;
INSERT INTO tc_two_packed SELECT * FROM tc_two_heap;
CREATE FUNCTION tc_state(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE query INTO n;
	RETURN n;
EXCEPTION WHEN others THEN
	RETURN SQLSTATE;
END $$;
SELECT q, tc_state(format(q, 'tc_two_heap')) AS heap, tc_state(format(q, 'tc_two_packed')) AS gpucol FROM unnest(ARRAY[
	'SELECT count(*) FROM %1$s WHERE c = p',
	'SELECT count(*) FROM %1$s WHERE id < 0 OR c = p',
	'SELECT count(*) FROM %1$s WHERE id < 0 OR c <> p',
	'SELECT count(*) FROM %1$s WHERE id < 0 OR c < p',
	'SELECT count(*) FROM %1$s WHERE c IS DISTINCT FROM p',
	'SELECT count(*) FROM %1$s WHERE c IN (p, ''w1'')',
	'SELECT count(CASE c WHEN p THEN 1 END) FROM %1$s',
	'SELECT count(nullif(c, p)) FROM %1$s',
	'SELECT count(*) FILTER (WHERE c = p) FROM %1$s',
	'SELECT count(*) FROM %1$s x JOIN %1$s y ON x.id = y.id AND x.c = y.p',
	'SELECT count(*) FROM %1$s WHERE id < 0 AND c = p',
	'SELECT count(*) FROM %1$s WHERE id < 0 OR c = p COLLATE "C"']) q;

DROP TABLE tc_heap, tc_packed, tc_raw, tc_two_heap, tc_two_packed;
DROP FUNCTION tc_check, tc_state;
