-- Tests below tests, correlated with queries farther around: by a column that an equality has equal, or as pairs of rows.
SET client_min_messages = warning;
CREATE SCHEMA subquery_equal;
SET search_path = subquery_equal, public;

\set node 'Gpucol'
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set include :srcdir /include/is_joined.psql
\i :include
\set ECHO all

CREATE TABLE hit (id int, who int, name varchar(8), at timestamp, page text, day date, u uuid, n numeric, f float8) USING gpucol;
INSERT INTO hit SELECT i, nullif(i % 41, 7), nullif('w' || i % 41, 'w7'), timestamp '2024-01-01' + (i * 37 % 2000) * interval '1 hour',
	(ARRAY['search', 'product', 'cart', 'pay'])[1 + (i * 7 / 3) % 4], date '2024-01-01' + i % 60, md5((i % 41)::text)::uuid, (i % 41) / 10.0, (i % 41) / 8.0
FROM generate_series(1, 900) i;
SELECT gpucol.merge('hit') > 0 AS merged;
DELETE FROM hit WHERE id % 31 = 0;
UPDATE hit SET at = at + interval '5 days' WHERE id % 17 = 0;
INSERT INTO hit VALUES (9001, 5, 'w5', 'infinity', 'cart', 'infinity', NULL, 'NaN', 'NaN'), (9002, 5, 'w5', '-infinity', 'search', '-infinity', NULL, 0, '-0'),
	(9003, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (9004, 999, 'w', '2024-01-01', 'search', NULL, NULL, 1.10, 0);
CREATE TABLE none (LIKE hit) USING gpucol;
ANALYZE hit, none;

EXPLAIN (COSTS OFF) SELECT count(DISTINCT who) FROM hit h WHERE page = 'search' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = 'product' AND p.at > h.at AND
	EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = 'cart' AND c.at > p.at));
EXPLAIN (COSTS OFF) SELECT count(DISTINCT who) FROM hit h WHERE page = 'search' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = 'product' AND p.at > h.at AND
	EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = 'cart' AND c.at > p.at AND c.at < h.at + interval '2 days'));

-- every line: the same rows as PostgreSQL's, and no subquery executed for each row
SELECT differ(q), is_joined(q), q
FROM unnest(ARRAY[
	-- chains of two and three, negated ones, both ways round, by other types
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE h.who = p.who AND p.page = ''product'' AND p.at > h.at AND NOT EXISTS (SELECT FROM hit c WHERE h.who = c.who AND c.page = ''cart'' AND c.at > p.at))',
	'SELECT id FROM hit h WHERE page = ''search'' AND NOT EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.day = h.day AND NOT EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.day = h.day AND c.page = ''cart''))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at AND EXISTS (SELECT FROM hit d WHERE d.who = h.who AND d.page = ''pay'' AND d.at > c.at)))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.name = h.name AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.name = h.name AND c.page = ''cart'' AND c.at > p.at))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.u = h.u AND p.page = ''product'' AND p.at > h.at AND NOT EXISTS (SELECT FROM hit c WHERE c.u = h.u AND c.page = ''cart'' AND c.at > p.at))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.day = h.day AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.day = h.day AND c.page = ''cart'' AND c.at > p.at))',
	-- IN, values, LATERAL
	'SELECT id FROM hit h WHERE page = ''search'' AND who IN (SELECT p.who FROM hit p WHERE p.day = h.day AND p.who = h.who AND p.page = ''product'' AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at))',
	'SELECT id, (SELECT count(*) FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at)) FROM hit h',
	'SELECT id, (SELECT count(*) FROM hit p WHERE p.who = h.who AND p.at = (SELECT max(c.at) FROM hit c WHERE c.who = h.who AND c.page = ''cart'')) FROM hit h',
	'SELECT id, l.n FROM hit h, LATERAL (SELECT count(*) AS n FROM hit p WHERE p.who = h.who AND NOT EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.page = ''cart'')) l WHERE id < 300',
	-- pairs: what the inner test compares with both
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at AND c.at < h.at + interval ''9 days''))',
	'SELECT id FROM hit h WHERE page = ''search'' AND NOT EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at AND c.day <> h.day))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND EXISTS (SELECT FROM hit c WHERE c.who = p.who AND c.page = ''cart'' AND c.at > h.at AND EXISTS (SELECT FROM hit d WHERE d.who = c.who AND d.page = ''pay'' AND d.at > p.at AND d.id > h.id)))',
	'SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.page = ''product'' AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > h.at) AND EXISTS (SELECT FROM hit d JOIN hit e ON d.id = e.id WHERE e.who = h.who AND d.id > h.id AND d.at > p.at))',
	'SELECT id FROM hit h WHERE page = ''search'' AND who IN (SELECT p.who FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = p.who AND c.page = ''cart'' AND c.at > p.at AND c.day < h.day))',
	-- nothing there
	'SELECT id FROM hit h WHERE EXISTS (SELECT FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM none c WHERE c.who = h.who AND c.at > p.at))',
	'SELECT id FROM hit h WHERE EXISTS (SELECT FROM none p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.at > h.at))',
	'SELECT id FROM none h WHERE NOT EXISTS (SELECT FROM hit p WHERE p.who = h.who AND NOT EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at))']) q;

-- the same rows: equal values that differ in their bytes, OR beside the equality, values that count pairs
SELECT differ(q), q
FROM unnest(ARRAY[
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.n = h.n AND p.page = ''product'' AND EXISTS (SELECT FROM hit c WHERE scale(c.n) = scale(h.n) AND c.at > p.at AND c.n = h.n))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.f = h.f AND p.page = ''product'' AND NOT EXISTS (SELECT FROM hit c WHERE c.f::text = h.f::text AND c.at > p.at))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE (p.who = h.who OR p.day = h.day) AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND (p.id = 9 OR EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at)))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = h.id AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at))',
	'SELECT id, (SELECT count(*) FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.day < h.day)) FROM hit h WHERE id < 70',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND EXISTS (SELECT c.page FROM hit c WHERE c.who = h.who AND c.at > p.at GROUP BY c.page HAVING count(*) > 3))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.day < h.day OFFSET 5))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT DISTINCT p.page FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.day < h.day AND c IS NOT NULL))',
	'SELECT h.id FROM hit h LEFT JOIN hit g ON g.id = h.id + 1 WHERE h.id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = g.who AND EXISTS (SELECT FROM hit c WHERE c.who = g.who AND c.at > p.at AND c.day < h.day))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p LEFT JOIN none q ON q.id = p.id WHERE q.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who))',
	'WITH w AS MATERIALIZED (SELECT * FROM hit WHERE page = ''cart'') SELECT id FROM hit h WHERE page = ''search'' AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.at > h.at AND EXISTS (SELECT FROM w c JOIN hit e USING (id) WHERE c.who = h.who AND c.at > p.at AND c.day <> h.day))',
	'SELECT id FROM hit h WHERE id < 70 AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND 10 / (c.id - 5) > 0))']) q;

-- row-level security, and parameters
CREATE ROLE subquery_equal_user;
GRANT USAGE ON SCHEMA subquery_equal TO subquery_equal_user;
GRANT SELECT ON hit TO subquery_equal_user;
ALTER TABLE hit ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON hit TO subquery_equal_user USING (who < 40);
SET ROLE subquery_equal_user;
SELECT differ('SELECT id FROM hit h WHERE EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.page = ''cart'' AND c.at > p.at AND c.day < h.day))');
RESET ROLE;
PREPARE p AS SELECT count(*), min(id), max(id) FROM hit h WHERE page = $1 AND EXISTS (SELECT FROM hit p WHERE p.who = h.who AND p.at > h.at AND EXISTS (SELECT FROM hit c WHERE c.who = h.who AND c.at > p.at AND c.at < h.at + $2 AND c.id <> $3));
EXECUTE p('search', '30 days', 5);
SET gpucol.pushdown = forbid;
EXECUTE p('search', '30 days', 5);
RESET gpucol.pushdown;
SET plan_cache_mode = force_generic_plan;
EXECUTE p('search', '30 days', 5);

DROP SCHEMA subquery_equal CASCADE;
DROP ROLE subquery_equal_user;
