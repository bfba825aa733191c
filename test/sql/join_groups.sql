-- Groups above joins: keys and arguments of both sides, by value.
SET client_min_messages = warning;
CREATE SCHEMA join_groups;
SET search_path = join_groups, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

SET gpucol.segment_rows = 1024;
CREATE TABLE shop (id int, nation text, region int, rate numeric(12,4), opened date, own bool) USING gpucol;
INSERT INTO shop SELECT i, 'nation ' || i % 7, CASE WHEN i % 10 <> 0 THEN i % 5 END, i * 0.0001, date '1992-01-01' + i, i % 3 = 0 FROM generate_series(1, 2500) i;
-- the same names again, in rows that are not packed
INSERT INTO shop VALUES (NULL, 'nation 1', 1, 1, NULL, NULL), (3, 'nation 3', 3, -5, '2000-02-29', true), (-1, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE sale (shop int, day date, flag char(1), price numeric(15,2), discount numeric(15,2), amount bigint) USING gpucol;
INSERT INTO sale SELECT CASE WHEN i % 50 <> 0 THEN i * 7919 % 2600 END, date '1995-01-01' + i % 1500, substr('ANR', 1 + i % 3, 1), (i * 104729 % 10000000) * 0.01, i % 11 * 0.01, i % 1000 - 500
FROM generate_series(1, 9000) i;
INSERT INTO sale VALUES (1, '1999-01-01', 'A', 9999999999999.99, 0.5, 9223372036854775807), (2, NULL, NULL, NULL, NULL, NULL), (NULL, '1999-01-01', 'A', 1, 1, 1);
DELETE FROM sale WHERE amount % 31 = 0;
ANALYZE shop, sale;

CREATE TABLE key (k text);
INSERT INTO key VALUES ('nation'), ('region'), ('own'), ('flag'), ('nation, flag'), ('region, nation'), ('extract(year FROM day)'), ('extract(year FROM opened), nation'), ('region * 2 + 1'), ('amount % 7, own'),
	('CASE WHEN own THEN nation END'), ('CASE WHEN price > 50000 THEN region END'), ('discount'), ('rate, flag'), ('coalesce(region, -1)'), ('discount > 0.05, nation'), ('opened'), ('amount, nation');
CREATE TABLE relation (r text);
INSERT INTO relation VALUES ('sale JOIN shop ON shop = id'), ('sale LEFT JOIN shop ON shop = id AND rate > 0.01'), ('sale RIGHT JOIN shop ON shop = id'), ('sale FULL JOIN shop ON shop = id'), ('shop LEFT JOIN sale ON shop = id AND price > 50000');
-- what sums and averages of products of both sides come to
SELECT e FROM key, relation, differ(format('SELECT %s, count(*), sum(price * (1 - discount)), sum(price * (1 - discount) * rate), avg(rate), min(price), max(rate * discount), sum(amount::numeric * rate) FROM %s GROUP BY %s',
	k, r, (SELECT string_agg(n::text, ', ') FROM generate_series(1, 1 + length(regexp_replace(k, '[^,]|\([^)]*\)', '', 'g'))) n))) e WHERE e IS NOT NULL;
SELECT nation, count(*), sum(price * (1 - discount) * rate) FROM sale JOIN shop ON shop = id WHERE price < 100000 GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT nation, count(*), sum(price * (1 - discount) * rate) FROM sale JOIN shop ON shop = id WHERE price < 100000 GROUP BY 1;

SET client_min_messages = error;
DROP SCHEMA join_groups CASCADE;
