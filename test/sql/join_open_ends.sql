--
-- Joins between bounds that may be NULL, which is no bound: whichever side has them, and both.
--
SET client_min_messages = warning;
CREATE SCHEMA join_open_ends;
SET search_path = join_open_ends, public;
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/twin.psql
\set ECHO none
\i :include
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE many USING gpucol AS SELECT i AS id, i % 10 AS k, CASE WHEN i % 41 > 0 THEN i * 7 % 1000 END AS x, CASE WHEN i % 13 > 0 THEN i * 7 % 1000 END AS lo,
	CASE WHEN i % 17 > 0 THEN i * 7 % 1000 + i % 20 END AS hi, (i * 7 % 1000)::numeric(8,2) / 4 AS n, i * 7 % 1000 / 8.0::float8 AS f, timestamp '2024-01-01' + i * 7 % 1000 * interval '1 hour' AS t,
	CASE WHEN i % 9 > 0 THEN tsrange(timestamp '2024-01-01' + i * 7 % 1000 * interval '1 hour', CASE WHEN i % 5 > 0 THEN timestamp '2024-01-01' + (i * 7 % 1000 + i % 20) * interval '1 hour' END, '[]') END AS r
FROM generate_series(1, 3000) i;
CREATE TABLE few USING gpucol AS SELECT * FROM many WHERE id % 30 = 4;
INSERT INTO few SELECT id + 10000, k, x, NULL, NULL, n, f, t, 'empty' FROM few WHERE id % 60 = 4;
INSERT INTO few VALUES (20000, 3, NULL, NULL, 2147483647, NULL, 'NaN', 'infinity', '(,)'), (20001, 4, -2147483648, -2147483648, NULL, 'NaN', '-infinity', '-infinity', '(,infinity]');
DELETE FROM many WHERE id % 77 = 5;
ANALYZE many, few;
SELECT c, twin(format('SELECT m.id, f.id AS f FROM many m JOIN few f ON %s', c)) AS rows, twin(format('SELECT f.k, count(*), sum(m.id), sum(f.id) FROM few f JOIN many m ON m.k = f.k AND %s GROUP BY 1', c)) AS keyed,
	twin(format('SELECT count(*), sum(m.id), sum(f.id), count(f.id) FROM many m LEFT JOIN few f ON %s', c)) AS left, twin(format('SELECT count(*), sum(m.id), sum(f.id), count(m.id) FROM few f LEFT JOIN many m ON %s', c)) AS right,
	twin(format('SELECT f.id FROM few f WHERE NOT EXISTS (SELECT FROM many m WHERE %s)', c)) AS anti
FROM unnest(ARRAY['(f.lo <= m.x OR f.lo IS NULL) AND (m.x <= f.hi OR f.hi IS NULL)', '(f.lo IS NULL OR m.x > f.lo) AND (f.hi IS NULL OR m.x < f.hi)', '(m.lo <= f.x OR m.lo IS NULL) AND (f.x <= m.hi OR m.hi IS NULL)',
	'(f.lo <= m.hi OR f.lo IS NULL OR m.hi IS NULL) AND (m.lo <= f.hi OR m.lo IS NULL OR f.hi IS NULL)', '(f.n < m.n OR f.n IS NULL) AND m.n < f.n + 2', '(m.lo <= f.x OR f.x IS NULL) AND (f.x <= m.hi OR f.x IS NULL)', '(f.lo <= m.x OR m.x IS NULL) AND (m.x <= f.hi OR m.x IS NULL OR f.hi IS NULL)', '(f.f >= m.f OR m.f IS NULL OR f.f IS NULL) AND f.f < m.f + 1', 'f.r @> m.t', 'm.r @> f.t', 'f.r && m.r']) c;
DROP SCHEMA join_open_ends CASCADE;
