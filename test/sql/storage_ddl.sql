-- DDL and maintenance over delta and segments together: indexes built concurrently
-- and in parallel, tablespaces, sizes, inheritance, and what keeps rows in the delta.
CREATE TABLE sd2 (id int, k int, t text) USING gpucol;
INSERT INTO sd2 SELECT i, i % 100, 'r' || i FROM generate_series(1, 30000) i;
DELETE FROM sd2 WHERE id % 10 = 0;
UPDATE sd2 SET t = 'new' WHERE id % 10 = 1;
CREATE TABLE sd2_heap USING heap AS SELECT * FROM sd2;
CREATE FUNCTION sd2_check(OUT missing bigint, OUT added bigint, OUT by_index bigint)
LANGUAGE sql SET enable_seqscan = off SET gpucol.pushdown = forbid AS $$
	SELECT (SELECT count(*) FROM (SELECT * FROM sd2_heap EXCEPT ALL SELECT * FROM sd2) d),
		(SELECT count(*) FROM (SELECT * FROM sd2 EXCEPT ALL SELECT * FROM sd2_heap) d),
		(SELECT count(*) FROM sd2 WHERE id > 0)
$$;

-- indexes
CREATE INDEX CONCURRENTLY sd2_id ON sd2 (id);
SELECT * FROM sd2_check();
CREATE UNIQUE INDEX CONCURRENTLY sd2_unique ON sd2 (id);
REINDEX INDEX CONCURRENTLY sd2_id;
SELECT * FROM sd2_check();
DROP INDEX sd2_id;
REINDEX TABLE CONCURRENTLY sd2;
SELECT * FROM sd2_check();
INSERT INTO sd2 VALUES (5, 0, '');
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY sd2_wrong ON sd2 (k);
\set VERBOSITY default
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'sd2'::regclass ORDER BY 1;
DROP INDEX sd2_wrong;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '96MB';
SET max_parallel_maintenance_workers = 2;
CREATE INDEX sd2_k ON sd2 (k, t);
RESET min_parallel_table_scan_size;
RESET maintenance_work_mem;
RESET max_parallel_maintenance_workers;
SET enable_seqscan = off;
SET gpucol.pushdown = forbid;
SELECT count(*), min(t), max(t) FROM sd2 WHERE k = 7;
RESET enable_seqscan;
RESET gpucol.pushdown;
SELECT count(*), min(t), max(t) FROM sd2_heap WHERE k = 7;
CREATE INDEX sd2_brin ON sd2 USING brin (id);

-- storage
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE gpucol_regress_space LOCATION '';
ALTER TABLE sd2 SET TABLESPACE gpucol_regress_space;
SELECT * FROM sd2_check();
SELECT count(*) FROM gpucol.verify('sd2');
SELECT pg_relation_size('sd2') > 0 AS main, pg_table_size('sd2') > pg_relation_size('sd2') AS with_toast,
	pg_total_relation_size('sd2') > pg_table_size('sd2') AS with_indexes,
	pg_relation_size('sd2') >= (SELECT sum(bytes) FROM gpucol.segments('sd2')) AS has_segments;
ALTER TABLE sd2 SET TABLESPACE pg_default;
DROP TABLESPACE gpucol_regress_space;
ALTER TABLE sd2 SET UNLOGGED;
SELECT * FROM sd2_check();
ALTER TABLE sd2 SET LOGGED;
SELECT * FROM sd2_check();
ALTER TABLE sd2 SET ACCESS METHOD heap;
SELECT * FROM sd2_check();
ALTER TABLE sd2 SET ACCESS METHOD gpucol;
SELECT * FROM sd2_check();
DROP FUNCTION sd2_check;
DROP TABLE sd2, sd2_heap;

-- inheritance, with children of both access methods
CREATE TABLE sd2_parent (id int, k int) USING gpucol;
CREATE TABLE sd2_packed () INHERITS (sd2_parent) USING gpucol;
CREATE TABLE sd2_plain () INHERITS (sd2_parent) USING heap;
INSERT INTO sd2_parent SELECT i, i % 10 FROM generate_series(1, 5000) i;
INSERT INTO sd2_packed SELECT i, i % 20 FROM generate_series(1, 20000) i;
INSERT INTO sd2_plain SELECT i, i % 5 FROM generate_series(1, 3000) i;
ANALYZE sd2_parent;
ANALYZE sd2_packed;
SELECT inherited, attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'sd2_parent' AND attname = 'k' ORDER BY 1;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('sd2_parent', 'sd2_packed') ORDER BY 1;
SELECT tableoid::regclass, count(*) FROM sd2_parent WHERE k = 3 GROUP BY 1 ORDER BY count(*);
SELECT count(*) FROM sd2_packed TABLESAMPLE bernoulli (100);
SELECT count(*) FROM sd2_packed TABLESAMPLE system (100);
SELECT count(*) BETWEEN 1000 AND 3000 AS about FROM sd2_packed TABLESAMPLE bernoulli (10) REPEATABLE (1);
-- a packed child weighs in the tree's sample what its rows would as a heap
CREATE TABLE sd2_weight (id int, part int, filler text) PARTITION BY LIST (part);
CREATE TABLE sd2_weight1 PARTITION OF sd2_weight FOR VALUES IN (1) USING gpucol;
CREATE TABLE sd2_weight2 PARTITION OF sd2_weight FOR VALUES IN (2) USING heap;
INSERT INTO sd2_weight SELECT i, 1, repeat('x', 100) FROM generate_series(1, 50000) i;
INSERT INTO sd2_weight SELECT i, 2, repeat('x', 100) FROM generate_series(1, 50000) i;
ANALYZE sd2_weight;
SELECT most_common_vals, most_common_freqs[1] BETWEEN 0.5 AND 0.55 AS even,
  n_distinct FROM pg_stats WHERE tablename = 'sd2_weight' AND attname = 'part';
SELECT relname, reltuples, pg_relation_size(oid) < 1000000 AS small FROM pg_class
  WHERE relname LIKE 'sd2\_weight_' ORDER BY 1;
DROP TABLE sd2_weight;
DROP TABLE sd2_parent CASCADE;

-- exclusion constraints, and unique indexes on expressions that are not strict, are
-- checked by value, so rows stay where values can be read: in the delta
CREATE TABLE sd2_excluded (r int4range, EXCLUDE USING gist (r WITH &&)) USING gpucol;
INSERT INTO sd2_excluded SELECT int4range(i * 10, i * 10 + 5) FROM generate_series(1, 3000) i;
INSERT INTO sd2_excluded VALUES ('[12,13)');
SELECT count(*) FROM gpucol.segments('sd2_excluded');
SELECT gpucol.merge('sd2_excluded');
CREATE TABLE sd2_partial (id int, live boolean) USING gpucol;
CREATE UNIQUE INDEX ON sd2_partial (id) WHERE live;
INSERT INTO sd2_partial SELECT i, true FROM generate_series(1, 3000) i;
INSERT INTO sd2_partial VALUES (7, true);
INSERT INTO sd2_partial VALUES (7, false);
SELECT sum(rows) FROM gpucol.segments('sd2_partial');
SELECT gpucol.merge('sd2_partial');
INSERT INTO sd2_partial VALUES (7, true), (8, true) ON CONFLICT (id) WHERE live DO UPDATE SET id = -sd2_partial.id;
INSERT INTO sd2_partial VALUES (-7, true);
SELECT * FROM sd2_partial WHERE id IN (7, 8, -7, -8) ORDER BY 1;
SELECT * FROM gpucol.verify('sd2_partial');
CREATE TABLE sd2_lower (name text) USING gpucol;
CREATE UNIQUE INDEX ON sd2_lower (lower(name));
INSERT INTO sd2_lower SELECT 'Name ' || i FROM generate_series(1, 3000) i;
INSERT INTO sd2_lower SELECT 'NAME ' || i FROM generate_series(2500, 5000) i;
INSERT INTO sd2_lower SELECT 'NAME ' || i FROM generate_series(2995, 3005) i ON CONFLICT (lower(name)) DO NOTHING;
SELECT gpucol.merge('sd2_lower');
INSERT INTO sd2_lower VALUES ('nAME 3005');
SELECT sum(rows) FROM gpucol.segments('sd2_lower');
SELECT * FROM gpucol.verify('sd2_lower');
CREATE UNIQUE INDEX ON sd2_lower (coalesce(name, 'none'));
INSERT INTO sd2_lower VALUES ('one more');
SELECT gpucol.merge('sd2_lower');
DROP TABLE sd2_excluded, sd2_partial, sd2_lower;

-- rows of a transaction that has added columns, and was rolled back, have not the table's columns
CREATE TABLE shaped (id int PRIMARY KEY, t text) USING gpucol;
INSERT INTO shaped VALUES (1, 'one');
BEGIN;
ALTER TABLE shaped ADD COLUMN a int, ADD COLUMN b text;
INSERT INTO shaped VALUES (2, 'two', 2, 'b'), (3, 'three', NULL, repeat('c', 200));
SAVEPOINT a;
ALTER TABLE shaped ADD COLUMN c text;
INSERT INTO shaped VALUES (4, 'four', 4, 'd', repeat('d', 300));
ROLLBACK TO a;
SET LOCAL gpucol.pushdown = forbid;
SELECT id, a FROM shaped ORDER BY id;
ROLLBACK;
SET gpucol.pushdown = forbid;
SELECT * FROM shaped;
ALTER TABLE shaped ADD COLUMN a text, ADD COLUMN b text;
INSERT INTO shaped VALUES (5, 'five', 'a', 'b');
SELECT * FROM shaped ORDER BY id;
SET enable_seqscan = off;
SELECT * FROM shaped WHERE id < 9 ORDER BY id;
RESET enable_seqscan;
RESET gpucol.pushdown;
SELECT * FROM gpucol.verify('shaped');
ANALYZE shaped;
SELECT gpucol.merge('shaped');
VACUUM FULL shaped;
SELECT * FROM shaped ORDER BY id;
DROP TABLE shaped;

-- rows that are read anew with other types have the old ones
CREATE TABLE retyped (a int, b text, c int, d text) USING gpucol;
INSERT INTO retyped SELECT i, 'b' || i, i, repeat('d', i) FROM generate_series(1, 30) i;
ALTER TABLE retyped ALTER a TYPE numeric, ALTER b TYPE char(40), ALTER c TYPE int8;
ALTER TABLE retyped ALTER a TYPE int USING a::int, ADD e timestamptz DEFAULT clock_timestamp(), DROP b;
SELECT count(*), sum(a), sum(c), max(d), count(e) FROM retyped;
DROP TABLE retyped;

-- rows of columns that were added by a transaction that was rolled back are no damage
CREATE TABLE sd_rolled_back (a int, b text) USING gpucol;
INSERT INTO sd_rolled_back VALUES (1, 'x');
BEGIN;
ALTER TABLE sd_rolled_back ADD COLUMN c text;
INSERT INTO sd_rolled_back VALUES (2, 'y', '');
ROLLBACK;
VACUUM sd_rolled_back;
BEGIN;
ALTER TABLE sd_rolled_back ADD COLUMN c text;
INSERT INTO sd_rolled_back VALUES (2, 'y', '');
ROLLBACK;
ALTER TABLE sd_rolled_back ADD COLUMN c float8;
INSERT INTO sd_rolled_back VALUES (3, 'z', 3.5);
SELECT * FROM gpucol.verify('sd_rolled_back');
VACUUM sd_rolled_back;
SELECT * FROM sd_rolled_back ORDER BY a;
DROP TABLE sd_rolled_back;
