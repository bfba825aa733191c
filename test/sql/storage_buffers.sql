-- Rows that the writer buffers: who sees them, and when.  Loads are large enough for
-- segments, and what reads them is in the same transaction.
CREATE TABLE buf (a int, b text) USING gpucol WITH (parallel_workers = 0);
CREATE TABLE buf_outer (a int) USING heap;
INSERT INTO buf_outer SELECT g FROM generate_series(1, 20000) g;
ANALYZE buf_outer;

-- parallel workers that each scan the whole table, for the subquery of a plan that is
-- made before
SET gpucol.enabled = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SET plan_cache_mode = force_generic_plan;
PREPARE buf_others AS SELECT count(*) FROM buf_outer WHERE a NOT IN (SELECT a FROM buf);
EXPLAIN (COSTS OFF) EXECUTE buf_others \g (format=unaligned tuples_only=on) | grep -v Filter:
BEGIN;
INSERT INTO buf SELECT g, 'one' FROM generate_series(1, 3000) g;
EXECUTE buf_others;
ROLLBACK;

-- the same in a function while its caller loads the table: it sees the rows so far,
-- and so do the workers; the load goes on behind it
CREATE FUNCTION buf_count() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	SELECT count(*) INTO n FROM buf_outer WHERE a NOT IN (SELECT a FROM buf);
	RETURN n;
END $$;
INSERT INTO buf SELECT g, CASE WHEN g % 1500 = 0 THEN buf_count()::text ELSE 'two' END
FROM generate_series(1, 4000) g;
SELECT b, count(*) FROM buf GROUP BY b ORDER BY b;
TRUNCATE buf;
RESET ALL;

-- RETURNING shows system columns of rows that are packed
BEGIN;
WITH i AS (INSERT INTO buf SELECT g, 'three' FROM generate_series(1, 3000) g
		RETURNING a, xmin, xmax, tableoid, ctid)
SELECT i.xmin::text = pg_current_xact_id()::text AS xmin_ok, xmax = 0 AS xmax_ok,
	tableoid::regclass, count(*), count(DISTINCT ctid)
FROM i GROUP BY 1, 2, 3;
ROLLBACK;
-- and those of a partition whose columns lie otherwise
CREATE TABLE buf_parts (a int, b text) PARTITION BY LIST (a);
CREATE TABLE buf_part (b text, a int) USING gpucol;
ALTER TABLE buf_parts ATTACH PARTITION buf_part FOR VALUES IN (1);
WITH i AS (INSERT INTO buf_parts SELECT 1, g::text FROM generate_series(1, 3000) g RETURNING xmin)
SELECT xmin::text = pg_current_xact_id()::text AS xmin_ok, count(*) FROM i GROUP BY 1;

-- ANALYZE of partitions in the transaction that loads them
BEGIN;
INSERT INTO buf_parts SELECT 1, g::text FROM generate_series(1, 3000) g;
ANALYZE buf_parts;
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'buf_part%' ORDER BY 1;
ROLLBACK;
-- and in the statement that does
CREATE FUNCTION buf_analyze() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	ANALYZE buf_parts;
	RETURN 'analyzed';
END $$;
INSERT INTO buf_part SELECT CASE WHEN g = 2500 THEN buf_analyze() ELSE 'four' END, 1
FROM generate_series(1, 3000) g;
SELECT count(*), count(*) FILTER (WHERE b = 'four') AS four,
	count(*) FILTER (WHERE b = 'analyzed') AS analyzed FROM buf_parts;

-- triggers after the statement see its rows, and so does what they start
CREATE FUNCTION buf_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% rows, % new', (SELECT count(*) FROM buf), (SELECT count(*) FROM new_rows);
	RETURN NULL;
END $$;
CREATE TRIGGER buf_after AFTER INSERT ON buf REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION buf_after();
INSERT INTO buf SELECT g, 'five' FROM generate_series(1, 3000) g;
WITH i AS (INSERT INTO buf SELECT g, 'six' FROM generate_series(1, 2000) g RETURNING a),
	j AS (INSERT INTO buf_part SELECT a, 1 FROM i RETURNING a)
SELECT count(*) FROM j;
SELECT count(*) FROM buf;
SELECT count(*) FROM buf_part;

-- an update of a packed row counts as one
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_tuples_updated('buf'::regclass) AS before \gset
SELECT pg_stat_get_tuples_inserted('buf'::regclass) AS inserted \gset
UPDATE buf SET a = -a WHERE a <= 10;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_get_tuples_updated('buf'::regclass) - :before AS updated,
	pg_stat_get_tuples_inserted('buf'::regclass) - :inserted AS inserted,
	pg_stat_get_tuples_deleted('buf'::regclass) AS deleted;

DROP TABLE buf, buf_outer, buf_parts;
DROP FUNCTION buf_count, buf_analyze, buf_after;
