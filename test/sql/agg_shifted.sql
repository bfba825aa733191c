-- Sums and averages of a column and a constant, over all rows: computed from the column's sum where no row leaves the type.
SET client_min_messages = warning;
CREATE SCHEMA agg_shifted;
SET search_path = agg_shifted, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE n (id int, s smallint, i int, b bigint, z int) USING gpucol;
INSERT INTO n SELECT i, i % 1000 - 500, CASE WHEN i % 5 > 0 THEN i * 1000 END, i::bigint * 4000000000, NULL FROM generate_series(1, 5000) i;
-- a segment, and then a delta, where some sums leave their type
INSERT INTO n SELECT i, 32767 - i % 7, 2147483647 - i % 5, 9223372036854775807 - i % 3, CASE WHEN i % 2 = 0 THEN i END FROM generate_series(6001, 8000) i;
INSERT INTO n VALUES (9001, NULL, NULL, NULL, NULL), (9002, -32768, -2147483648, -9223372036854775808, 0);
DELETE FROM n WHERE id % 41 = 3;
ANALYZE n;
SET gpucol.cpu_threads = 2;
SELECT d FROM unnest('{true,id < 6000,id > 5990,id BETWEEN 2000 AND 2400,id > 10000,i > 4999,s + 3 = 4}'::text[]) w, unnest(ARRAY[
	'sum(s + 1), sum(1 + s), sum(s - 1), avg(s + 7), count(s + 2), sum(s)', 'sum(s + 1::smallint)', 'sum(i + 5), sum(i - 5), avg(i + 6)', 'sum(i - 6), count(i - 6)', 'sum(b + 1), sum(b - 1)',
	'sum(b - 4), avg(b - 4)', 'sum(z + 3), avg(z - 3), count(z + 3), sum(z)', 'sum(s + 1) FILTER (WHERE s > 0), sum(s + 2) FILTER (WHERE i IS NULL)', 'sum(s + 1), min(s + 1), max(s - 2), sum(s - 2)',
	'sum(s + 1 + 2), sum(s + 1), sum(1 - s), sum(s + NULL)', 'sum((s + 1) * 2), sum(s + 1), count(DISTINCT s + 1)', 'sum(s + i), sum(i + id)', 'stddev(s + 1), sum(s + 1), variance(s - 3)',
	'sum(CASE WHEN s < 32767 THEN s + 1::smallint ELSE 0 END), sum(s + 2)', 'sum(s + 1), sum(s + 2), sum(s + 3), sum(s + 4), bit_or(s + 5)', 'sum(b - 9223372036854775807 - 1)']) f,
	differ(format('SELECT %s FROM n WHERE %s', f, w)) d WHERE d IS NOT NULL;
-- errors are those of the rows that are read
SELECT sum(i + 5) FROM n;
SELECT sum(s + 1::smallint) FROM n WHERE id > 6000;
SELECT sum(b + 1) FROM n;
SELECT sum(i + 5) IS NOT NULL AS fits FROM n WHERE id < 6000;
-- columns of a join, and groups
CREATE TABLE d (id int, k int) USING gpucol;
INSERT INTO d SELECT i, i % 3 FROM generate_series(1, 3000) i;
ANALYZE d;
SELECT d FROM unnest(ARRAY['SELECT sum(s + 1), sum(d.k - 2), avg(d.k + 1) FROM n JOIN d USING (id)', 'SELECT sum(s + 1), sum(d.k + 1) FROM n LEFT JOIN d USING (id)',
	'SELECT z, sum(s + 1), sum(s - 2) FROM n GROUP BY 1']) q, differ(q, 'Gpucol') d WHERE d IS NOT NULL;
DROP SCHEMA agg_shifted CASCADE;
