-- VACUUM FULL copies segments with their deletions; CLUSTER orders them.
CREATE TABLE sr (id int PRIMARY KEY, k text, big text) USING gpucol;
INSERT INTO sr SELECT g, 'k' || g % 7 FROM generate_series(1, 5000) g;
INSERT INTO sr VALUES (10000, 'big', repeat('0123456789', 100000));
CREATE INDEX sr_k ON sr (k);
DELETE FROM sr WHERE id % 3 = 0;
UPDATE sr SET k = 'new' WHERE id % 100 = 1;
BEGIN;
INSERT INTO sr SELECT g, 'lost' FROM generate_series(20000, 40000) g;
ROLLBACK;
CREATE TABLE sr_heap AS SELECT * FROM sr;
SELECT pg_relation_size('sr') AS before \gset
VACUUM FULL sr;
SELECT pg_relation_size('sr') < :before AS smaller;
SELECT count(*), sum(id), count(*) FILTER (WHERE ctid >= '(2147483648,1)') > 2000 AS in_segments FROM sr;
SELECT count(*) FROM (SELECT * FROM sr EXCEPT ALL SELECT * FROM sr_heap) d;
SELECT count(*) FROM (SELECT * FROM sr_heap EXCEPT ALL SELECT * FROM sr) d;
SELECT count(*) FROM gpucol.verify('sr');
SET enable_seqscan = off;
SET gpucol.enabled = off;
SELECT id, k FROM sr WHERE id IN (1, 2, 3, 101, 4999, 5000, 10000, 20000) ORDER BY id;
SELECT count(*) FROM sr WHERE k = 'new';
SELECT length(big) FROM sr WHERE id = 10000;
RESET enable_seqscan;
RESET gpucol.enabled;
INSERT INTO sr VALUES (2);
INSERT INTO sr VALUES (3);
UPDATE sr SET k = 'again' WHERE id IN (1, 2, 3);
DELETE FROM sr WHERE id = 4;
SELECT count(*), sum(id) FROM sr;
INSERT INTO sr SELECT g, 'more' FROM generate_series(20000, 24000) g;
VACUUM FULL sr;
VACUUM sr;
SELECT count(*), sum(id) FROM sr;
SELECT id, k FROM sr WHERE id IN (1, 2, 3, 4, 24000) ORDER BY id;
SELECT count(*) FROM gpucol.verify('sr');
SET client_min_messages = warning;	-- other sessions' snapshots are told of
CLUSTER sr USING sr_pkey;
RESET client_min_messages;
SELECT count(*), sum(id) FROM sr;
SELECT id, k FROM sr WHERE id IN (1, 2, 3, 4, 24000) ORDER BY id;
SELECT count(*) FROM gpucol.verify('sr');

-- rows in the order of the index, within segments and within the delta
CREATE TEMP TABLE sr_order (id int, k int, t text, p point) USING gpucol;
INSERT INTO sr_order SELECT g, g * 7919 % 20011, 'row ' || g, point(g % 100, g % 77) FROM generate_series(1, 20000) g;
INSERT INTO sr_order VALUES (-1, -1, 'delta', point(1, 1));
CREATE INDEX sr_order_k ON sr_order (k);
CREATE INDEX sr_order_t ON sr_order (t COLLATE "C" DESC, k);
CREATE INDEX sr_order_p ON sr_order USING gist (p);
DELETE FROM sr_order WHERE id % 9 = 0;
UPDATE sr_order SET t = 'new' WHERE id % 100 = 1;
ALTER TABLE sr_order ADD COLUMN extra int DEFAULT 5;
CREATE TABLE sr_twin USING heap AS SELECT * FROM sr_order;
CREATE FUNCTION sr_ordered(OUT inversions bigint, OUT missing bigint, OUT added bigint, OUT by_index bigint)
LANGUAGE sql SET gpucol.pushdown = forbid SET enable_indexonlyscan = off AS $$
	SELECT (SELECT count(*) FROM (SELECT k < lag(k) OVER () AS inverted FROM sr_order WHERE t <> 'new' AND id > 1000) x WHERE inverted),
		(SELECT count(*) FROM (SELECT id, k, t, extra FROM sr_twin EXCEPT ALL SELECT id, k, t, extra FROM sr_order) d),
		(SELECT count(*) FROM (SELECT id, k, t, extra FROM sr_order EXCEPT ALL SELECT id, k, t, extra FROM sr_twin) d),
		(SELECT count(*) FROM sr_order WHERE k > -10)
$$;
SELECT inversions > 5000 AS disordered, missing, added, by_index FROM sr_ordered();
CLUSTER sr_order USING sr_order_k;
SELECT * FROM sr_ordered();
SELECT count(*) FROM gpucol.verify('sr_order');
DELETE FROM sr_order WHERE id % 7 = 0;
DELETE FROM sr_twin WHERE id % 7 = 0;
SET maintenance_work_mem = '1MB';
CLUSTER sr_order USING sr_order_t;
RESET maintenance_work_mem;
SELECT inversions > 2000 AS disordered, missing, added, by_index FROM sr_ordered();
CLUSTER sr_order USING sr_order_p;
SELECT inversions > 2000 AS disordered, missing, added, by_index FROM sr_ordered();
CLUSTER sr_order USING sr_order_k;
CLUSTER sr_order;
SELECT * FROM sr_ordered();
-- rows that this transaction has changed, and loaded
BEGIN;
DELETE FROM sr_order WHERE id % 5 = 0;
INSERT INTO sr_order SELECT g, 30000 - g, 'more', NULL FROM generate_series(30001, 33000) g;
SAVEPOINT a;
DELETE FROM sr_order;
ROLLBACK TO a;
CLUSTER sr_order;
SELECT count(*), sum(id), sum(k), sum(extra) FROM sr_order;
COMMIT;
SELECT count(*), sum(id), sum(k), sum(extra) FROM sr_order;
SELECT count(*) FROM sr_order WHERE k > 5000;
VACUUM sr_order;
CLUSTER sr_order;
SELECT count(*), sum(id), sum(k), sum(extra) FROM sr_order;
SELECT count(*) FROM gpucol.verify('sr_order');
DROP FUNCTION sr_ordered;
DROP TABLE sr_order, sr_twin;
-- the delta alone
CREATE TABLE sr_delta (id int PRIMARY KEY, t text) USING gpucol;
INSERT INTO sr_delta SELECT 100 - g, repeat('x', 3000) FROM generate_series(1, 50) g;
CLUSTER sr_delta USING sr_delta_pkey;
SELECT count(*), sum(id), sum(length(t)) FROM sr_delta;
VACUUM FULL sr_delta;
SELECT gpucol.merge('sr_delta');
VACUUM FULL sr_delta;
SELECT count(*), sum(id), sum(length(t)) FROM sr_delta;
DROP TABLE sr, sr_heap, sr_delta;

-- the value that older rows have in an added column outlives rewrites of the storage
CREATE TABLE sr_added USING gpucol AS SELECT g AS id FROM generate_series(1, 3000) g;
INSERT INTO sr_added VALUES (0);
ALTER TABLE sr_added ADD COLUMN w int DEFAULT 5, ADD COLUMN t text DEFAULT 'old', ADD COLUMN n int;
INSERT INTO sr_added SELECT g, 6, 'new', 1 FROM generate_series(3001, 6000) g;
CREATE TABLE sr_twin AS SELECT * FROM sr_added;
CREATE INDEX sr_added_id ON sr_added (id);
CREATE INDEX sr_added_hash ON sr_added USING hash (id);
CREATE FUNCTION sr_same(OUT rows bigint, OUT differences bigint, OUT faults bigint) AS $$
  SELECT (SELECT count(*) FROM sr_added),
    (SELECT count(*) FROM (SELECT * FROM sr_added EXCEPT ALL SELECT * FROM sr_twin
     UNION ALL (SELECT * FROM sr_twin EXCEPT ALL SELECT * FROM sr_added)) d),
    (SELECT count(*) FROM gpucol.verify('sr_added'))
$$ LANGUAGE sql;
DELETE FROM sr_added WHERE id % 7 = 0;
DELETE FROM sr_twin WHERE id % 7 = 0;
VACUUM sr_added;
UPDATE sr_added SET w = 8 WHERE id % 11 = 0;
UPDATE sr_twin SET w = 8 WHERE id % 11 = 0;
SELECT * FROM sr_same();
VACUUM FULL sr_added;
SELECT * FROM sr_same();
ALTER TABLE sr_added ADD COLUMN d date DEFAULT '2001-02-03';
ALTER TABLE sr_twin ADD COLUMN d date DEFAULT '2001-02-03';
BEGIN;
INSERT INTO sr_added SELECT g FROM generate_series(6001, 8000) g;
ALTER TABLE sr_added ADD COLUMN e int DEFAULT 7;
CLUSTER sr_added USING sr_added_id;
SELECT count(*), sum(e), count(d) FROM sr_added;
ROLLBACK;
SELECT * FROM sr_same();
CLUSTER sr_added USING sr_added_id;
SELECT * FROM sr_same();
ALTER TABLE sr_added DROP COLUMN t;
ALTER TABLE sr_twin DROP COLUMN t;
VACUUM FULL sr_added;
SELECT * FROM sr_same();
DROP FUNCTION sr_same;
DROP TABLE sr_added, sr_twin;
