-- What later majors of PostgreSQL brought, over gpucol tables as over heap tables.
-- Each part runs where the server has it, and prints the same everywhere.
SELECT current_setting('server_version_num')::int >= 170000 AS v17,
  current_setting('server_version_num')::int >= 180000 AS v18 \gset

-- twins(statements): does one of them do something else to mf_gpucol than to mf_heap?
-- Each runs with %t as either table (%a as its access method), under each of three
-- ways to plan; NULL, or what differs.
CREATE FUNCTION twin(statement text, am text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lines text[] := '{}';
BEGIN
	statement := replace(replace(statement, '%t', 'mf_' || am), '%a', am);
	IF statement ~* '^(SELECT|WITH|TABLE)|RETURNING' THEN
		FOR line IN EXECUTE statement LOOP lines := lines || coalesce(line, '-'); END LOOP;
	ELSE
		EXECUTE statement;
	END IF;
	RETURN array_length(lines, 1) || E'\n' || (SELECT string_agg(l, E'\n' ORDER BY l COLLATE "C") FROM unnest(lines) l);
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLSTATE || ' ' || SQLERRM, 'mf_' || am, 'mf');
END $$;
CREATE FUNCTION twins(VARIADIC statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	answer text;
	expected text;
	mode text;
BEGIN
	FOREACH statement IN ARRAY statements LOOP
		expected := twin(statement, 'heap');
		FOREACH mode IN ARRAY ARRAY['allow', 'forbid', 'require'] LOOP
			CONTINUE WHEN mode <> 'allow' AND statement !~* '^(SELECT|TABLE)';
			PERFORM set_config('gpucol.pushdown', mode, true);
			answer := twin(statement, 'gpucol');
			CONTINUE WHEN mode = 'require' AND answer LIKE '%gpucol.pushdown%';
			IF answer IS DISTINCT FROM expected THEN
				PERFORM set_config('gpucol.pushdown', 'allow', true);
				RETURN format(E'%s\nheap: %s\ngpucol (%s): %s', statement, left(expected, 600), mode, left(answer, 600));
			END IF;
		END LOOP;
		PERFORM set_config('gpucol.pushdown', 'allow', true);
		IF statement ~* 'twins must fail' <> (coalesce(expected, '') ~ '^[0-9A-Z]{5} ') THEN
			RETURN format(E'%s\nboth: %s', statement, expected);
		END IF;
	END LOOP;
	RETURN NULL;
END $$;
-- MERGE with RETURNING, and with rows that the source lacks
\set merge alike
\if :v17
SELECT coalesce(twins(
	'CREATE TABLE %t (id int PRIMARY KEY, k int, t text) USING %a',
	'INSERT INTO %t SELECT i, i % 50, ''r'' || i FROM generate_series(1, 5000) i',
	'INSERT INTO %t VALUES (5001, 1, ''late''), (5002, NULL, NULL)',
	$$MERGE INTO %t USING (SELECT i, i AS n FROM generate_series(4990, 5010) i) s ON s.i = %t.id
	  WHEN MATCHED AND k IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET k = k + 100, t = 'merged'
	  WHEN NOT MATCHED THEN INSERT VALUES (i, -1, 'new')
	  WHEN NOT MATCHED BY SOURCE AND id % 1000 = 7 THEN DELETE
	  WHEN NOT MATCHED BY SOURCE AND id % 1000 = 8 THEN UPDATE SET t = 'orphan'
	  RETURNING merge_action() || ' ' || (%t.*)::text$$,
	'SELECT x::text FROM %t x',
	'SELECT (k, count(*), min(t), max(t))::text FROM %t GROUP BY k',
	$$WITH m AS (MERGE INTO %t USING (VALUES (1), (5006)) s(i) ON i = id WHEN MATCHED THEN DELETE
	  RETURNING merge_action() AS a, id, k) SELECT m::text FROM m$$,
	'SELECT count(*)::text FROM %t WHERE id = 1',
	'DROP TABLE %t'), 'alike') AS merge \gset
\endif
\echo merge: :merge

-- a partitioned table's own access method is that of its partitions; an expression of
-- a generated column changes; COPY passes by what it cannot read
\set partitions alike
\set copy alike
SET client_min_messages = warning;
\if :v17
SELECT coalesce(twins(
	'CREATE TABLE %t (id int GENERATED ALWAYS AS IDENTITY, k int, t text) PARTITION BY RANGE (k) USING %a',
	'CREATE TABLE %t_1 PARTITION OF %t FOR VALUES FROM (0) TO (100)',
	'CREATE TABLE %t_2 PARTITION OF %t FOR VALUES FROM (100) TO (200)',
	'SELECT count(*)::text FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname ~ ''^%t_'' AND amname = ''%a''',
	'INSERT INTO %t (k, t) SELECT i % 200, ''r'' || i FROM generate_series(1, 6000) i',
	'SELECT x::text FROM %t x WHERE k IN (7, 107)',
	'SELECT (k % 7, count(*), sum(id))::text FROM %t GROUP BY k % 7',
	'UPDATE %t SET k = k + 100 WHERE k = 8 RETURNING %t::text',
	'ALTER TABLE %t DETACH PARTITION %t_2',
	'SELECT count(*)::text FROM %t_2', 'DROP TABLE %t_2', 'DROP TABLE %t'), 'alike') AS partitions \gset
SELECT coalesce(twins(
	'CREATE TABLE %t (a int, b date, c int GENERATED ALWAYS AS (a * 2) STORED) USING %a',
	$$COPY %t (a, b) FROM PROGRAM 'seq -f "%g	2024-01-01" 1 3000; printf "x\t2024-01-02\n3001\t2024-01-03\n3002\tnever\n"' (ON_ERROR ignore)$$,
	'SELECT x::text FROM %t x', 'ALTER TABLE %t ALTER COLUMN c SET EXPRESSION AS (a * 3)',
	'SELECT (sum(c), count(*))::text FROM %t WHERE c > 300', 'DROP TABLE %t'), 'alike') AS copy \gset
\endif
RESET client_min_messages;
\echo partitions: :partitions
\echo copy: :copy

-- virtual generated columns
\set virtual alike
\if :v18
SELECT coalesce(twins(
	'CREATE TABLE %t (id int, k int, twice int GENERATED ALWAYS AS (k * 2) VIRTUAL NOT NULL, label text GENERATED ALWAYS AS (CASE WHEN k > 10 THEN ''big'' END)) USING %a',
	'INSERT INTO %t SELECT i, i % 40 FROM generate_series(1, 5000) i',
	'INSERT INTO %t VALUES (5001, NULL) -- twins must fail',
	'INSERT INTO %t VALUES (5002, 2000000000) -- twins must fail',
	'INSERT INTO %t VALUES (5003, 77), (5004, 3)',
	'SELECT x::text FROM %t x',
	'SELECT (%t.*)::text FROM %t WHERE twice = 22 AND label = ''big''',
	'SELECT (label, twice, count(*), sum(twice + id))::text FROM %t GROUP BY label, twice',
	'SELECT (label, count(*), count(label))::text FROM %t GROUP BY label',
	'SELECT string_agg(x::text, '' '') FROM (SELECT id, twice FROM %t ORDER BY twice DESC, id LIMIT 5) x',
	'SELECT DISTINCT twice::text FROM %t',
	'SELECT (a.id, b.twice)::text FROM %t a JOIN %t b ON a.twice = b.id WHERE a.k < 3',
	'UPDATE %t SET k = k + 1 WHERE twice = 24 RETURNING (id, k, twice, label)::text',
	'DELETE FROM %t WHERE label IS NULL AND id % 5 = 0 RETURNING %t::text',
	'INSERT INTO %t VALUES (6000, 11) RETURNING (twice, label)::text',
	'ALTER TABLE %t ALTER COLUMN twice SET EXPRESSION AS (k * 3)',
	'ALTER TABLE %t ADD COLUMN half numeric GENERATED ALWAYS AS (k / 2.0)',
	'SELECT (twice, half, count(*))::text FROM %t GROUP BY twice, half',
	'WITH RECURSIVE r(x) AS (SELECT twice FROM %t WHERE id = 1 UNION SELECT t.twice FROM r JOIN %t t ON t.id = r.x) SELECT x::text FROM r',
	'CREATE TABLE %t_copy USING %a AS SELECT * FROM %t', 'SELECT x::text FROM %t_copy x', 'DROP TABLE %t_copy',
	'ANALYZE %t', 'SELECT count(*)::text FROM %t WHERE twice IS NOT NULL AND half < 3',
	'DROP TABLE %t'), 'alike') AS virtual \gset
CREATE TABLE mf_virtual (id int, k int, v int GENERATED ALWAYS AS (k + 1)) USING gpucol;
INSERT INTO mf_virtual VALUES (1, 1), (2, 2), (3, NULL);
SELECT gpucol.merge('mf_virtual') AS merged \gset
SELECT CASE WHEN :'merged' <> '3' OR array_agg(v ORDER BY id) <> '{2,3,NULL}' THEN 'merge' ELSE :'virtual' END AS virtual FROM mf_virtual \gset
SELECT CASE WHEN count(*) > 0 THEN 'verify' ELSE :'virtual' END AS virtual FROM gpucol.verify('mf_virtual') \gset
DROP TABLE mf_virtual;
\endif
\echo virtual: :virtual

-- RETURNING of old and new rows
\set returning alike
\if :v18
SELECT coalesce(twins(
	'CREATE TABLE %t (id int PRIMARY KEY, k int, t text) USING %a',
	'INSERT INTO %t SELECT i, i % 50, ''r'' || i FROM generate_series(1, 5000) i',
	'INSERT INTO %t VALUES (5001, 1, ''late'')',
	'INSERT INTO %t VALUES (5002, 1, ''x'') RETURNING (old, new, old.id, new.id)::text',
	'UPDATE %t SET k = k + 1, t = upper(t) WHERE id % 500 = 1 RETURNING (old, new, old.k, new.k, t, old.k IS DISTINCT FROM new.k)::text',
	'UPDATE %t SET k = s.k FROM (VALUES (1, 77), (5001, 78)) s(i, k) WHERE id = i RETURNING WITH (OLD AS o, NEW AS n) (o.*, n.*, o.tableoid = n.tableoid, o.ctid <> n.ctid)::text',
	'UPDATE %t SET id = id + 10000 WHERE id IN (2, 5002) RETURNING (old.id, new.id)::text',
	'DELETE FROM %t WHERE id % 500 = 3 RETURNING (old, new, old.t)::text',
	'INSERT INTO %t VALUES (4, 1, ''again''), (6000, 1, ''first''), (5001, 1, ''again'') ON CONFLICT (id) DO UPDATE SET t = excluded.t RETURNING (old, new)::text',
	$$MERGE INTO %t USING (VALUES (5), (6001), (6)) s(i) ON i = id WHEN MATCHED AND i = 5 THEN UPDATE SET k = 0
	  WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, 0, 'm') RETURNING (merge_action(), old, new)::text$$,
	'WITH u AS (UPDATE %t SET k = -1 WHERE id = 9 RETURNING old.k AS o, new.k AS n) SELECT u::text FROM u',
	'SELECT x::text FROM %t x', 'DROP TABLE %t'), 'alike') AS returning \gset
\endif
\echo returning: :returning

-- a constraint that is not valid says nothing of the rows that were there before
\set invalid alike
\if :v18
SELECT coalesce(twins(
	'CREATE TABLE %t (id int, k int, p float8) USING %a',
	'INSERT INTO %t SELECT i, CASE WHEN i % 1000 > 2 THEN i % 3000 END, 0.5 FROM generate_series(1, 9000) i',
	'ALTER TABLE %t ADD CONSTRAINT %t_k NOT NULL k NOT VALID',
	'INSERT INTO %t VALUES (9001, NULL, 0.5) -- twins must fail',
	'SELECT string_agg(x::text, '' '') FROM (SELECT id, k FROM %t ORDER BY k DESC, id LIMIT 30) x',
	'SELECT string_agg(x::text, '' '') FROM (SELECT k, id FROM %t ORDER BY k NULLS FIRST, id LIMIT 30) x',
	'SELECT string_agg(x::text, '' '') FROM (SELECT k, id FROM %t ORDER BY k NULLS FIRST, id LIMIT 5) x',
	'SELECT (count(*), count(k))::text FROM %t WHERE k IS NULL',
	'SELECT (gpucol.pt_k(k, id, p, 5, 0.01), gpucol.global_topk(k, id, p, 3), gpucol.u_topk_probability(id, p, 3))::text FROM %t WHERE id <= 1003',
	'DELETE FROM %t WHERE k IS NULL', 'ALTER TABLE %t VALIDATE CONSTRAINT %t_k',
	'SELECT string_agg(x::text, '' '') FROM (SELECT id, k FROM %t ORDER BY k DESC, id LIMIT 3) x',
	'DROP TABLE %t'), 'alike') AS invalid \gset
\endif
\echo invalid: :invalid

-- keys over time, constraints that are not enforced
\set temporal alike
\if :v18
SELECT coalesce(twins(
	'CREATE TABLE %t (id int4range, at daterange, k int CHECK (k > 0) NOT ENFORCED, PRIMARY KEY (id, at WITHOUT OVERLAPS)) USING %a',
	'CREATE TABLE %t_use (id int4range, at daterange, FOREIGN KEY (id, PERIOD at) REFERENCES %t (id, PERIOD at)) USING %a',
	'INSERT INTO %t SELECT int4range(i, i + 1), daterange(''2024-01-01'', ''2024-02-01''), i - 5 FROM generate_series(1, 3000) i',
	'INSERT INTO %t VALUES (''[7,7]'', ''[2024-01-20,2024-03-01)'', 1) -- twins must fail',
	'INSERT INTO %t VALUES (''[7,7]'', ''[2024-02-01,2024-03-01)'', 1)',
	'INSERT INTO %t_use VALUES (''[7,7]'', ''[2024-01-15,2024-02-15)'')',
	'INSERT INTO %t_use VALUES (''[8,8]'', ''[2024-01-15,2024-02-15)'') -- twins must fail',
	'DELETE FROM %t WHERE id = ''[7,7]'' -- twins must fail',
	'UPDATE %t SET at = ''[2024-01-01,2024-01-05)'' WHERE id = ''[9,9]''',
	'SELECT x::text FROM %t x WHERE k < 20', 'DROP TABLE %t_use', 'DROP TABLE %t'), 'alike') AS temporal \gset
\endif
\echo temporal: :temporal

-- plans that the planner makes anew: grouping by expressions, keys that a unique key
-- makes needless, self-joins that it takes away, OR as an array, indexes without their
-- first column, indexes made in parallel
\set plans alike
\if :v18
SELECT coalesce(twins(
	'CREATE TABLE %t (id int PRIMARY KEY, k int UNIQUE NOT NULL, g int, t text, tags int[]) USING %a',
	'INSERT INTO %t SELECT i, 10000 - i, i % 20, ''r'' || i % 9, ARRAY[i % 100, i % 7] FROM generate_series(1, 6000) i',
	'INSERT INTO %t VALUES (7000, 1, NULL, NULL, ''{1}'')',
	'DELETE FROM %t WHERE id % 700 = 0 AND id < 7000',
	'SELECT (g + 1, upper(t), count(*), sum(k))::text FROM %t GROUP BY g + 1, upper(t) HAVING g + 1 > 3 OR upper(t) IS NULL',
	'SELECT (g + 1, sum(g + 1) OVER (ORDER BY g + 1), count(*))::text FROM %t GROUP BY g + 1',
	'SELECT (g, t, count(*))::text FROM %t GROUP BY GROUPING SETS ((g), (t), ()) HAVING count(*) > 1',
	'SELECT (x.e, count(*))::text FROM (SELECT g % 3 AS e FROM %t GROUP BY g % 3, id % 2) x GROUP BY x.e',
	'SELECT (k, id, g)::text FROM %t GROUP BY k, id, g HAVING count(*) = 1 AND id < 40',
	'SELECT (k, g, count(*))::text FROM %t WHERE id < 30 GROUP BY k, g',
	'SELECT (a.id, b.g, b.t)::text FROM %t a JOIN %t b ON a.id = b.id WHERE a.g = 3',
	'SELECT (count(*), sum(b.k))::text FROM %t a JOIN %t b USING (id) WHERE a.k > 500 AND b.t = ''r1''',
	'SELECT (count(*), min(id), max(k))::text FROM %t WHERE g = 1 OR g = 5 OR g = 17',
	'SELECT count(*)::text FROM %t WHERE id = 5 OR id = 600 OR id = 7000',
	'SELECT (g, count(*))::text FROM %t WHERE t IN (VALUES (''r1''), (''r2'')) GROUP BY g',
	'SELECT d::text FROM (SELECT DISTINCT g, g % 2 AS n FROM %t) d',
	'CREATE INDEX %t_skip ON %t (g, k)',
	'SET LOCAL enable_seqscan = off',
	'SELECT count(*)::text FROM %t WHERE k IN (9000, 8000, 1)',
	'SELECT (count(*), sum(g))::text FROM %t WHERE k BETWEEN 8990 AND 9010',
	'SET LOCAL min_parallel_table_scan_size = 0', 'SET LOCAL maintenance_work_mem = ''96MB''',
	'CREATE INDEX %t_gin ON %t USING gin (tags)',
	'SET LOCAL gpucol.enable_scan = off', 'SET LOCAL gpucol.enable_agg = off',
	'SELECT (count(*), sum(id))::text FROM %t WHERE tags @> ''{42}''',
	'SELECT (count(*), sum(id))::text FROM %t WHERE tags @> ''{1,3}'' OR tags @> ''{99}''',
	'SELECT (count(*), sum(id))::text FROM %t WHERE tags && ''{1,2,3,4,5,6}''',
	'DROP TABLE %t'), 'alike') AS plans \gset
\endif
\echo plans: :plans
DROP FUNCTION twins;
DROP FUNCTION twin;
