-- Rankings of uncertain rows over gpucol tables run as GpucolTopK and say what
-- the aggregates say.
CREATE TABLE topk_r (grp int, sub text, id int, big bigint, label text, day date, score float8, points numeric(8,2),
	p float8, conf numeric(4,3), x int, xt text) USING gpucol;
INSERT INTO topk_r
SELECT nullif(i % 40, 39), CASE WHEN i % 5 > 0 THEN 's' || i % 5 END, i, 9007199254740992 + i * 7919 % 1009,
	CASE WHEN i % 53 > 0 THEN 'label ' || i % 977 END, '2024-01-01'::date + i * 31 % 700,
	CASE WHEN i % 47 > 0 THEN (i * 7919::bigint % 10007) / 8.0 END, (i * 31 % 5000) / 100.0,
	CASE WHEN i % 61 > 0 THEN (i * 104729::bigint % 1001) / 1000.0 END, (i * 271 % 1001) / 1000.0,
	nullif(i / 4, 100), 'x' || i / 3
FROM generate_series(1, 12000) i;
-- probabilities of alternatives sum to at most 1
CREATE TABLE topk_x (grp int, id int, score int, p float8, x int, xt text) USING gpucol;
INSERT INTO topk_x
SELECT i / 4 % 20, i, i * 7919 % 211, (i * 271 % 1001) / 4000.0, nullif(i / 4, 100), 'x' || i / 4
FROM generate_series(1, 3000) i;

EXPLAIN (VERBOSE, COSTS OFF)
SELECT grp, gpucol.u_topk(id, score, p, 10), sum(points) FROM topk_r WHERE points > 10 GROUP BY grp HAVING count(*) > 0;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT grp, gpucol.u_topk(id, score, p, 10), gpucol.u_topk_probability(score, p, 10) FROM topk_r WHERE points > 10 GROUP BY grp;

-- Each query with pushdown forbidden and required, compared both ways.
CREATE FUNCTION topk_compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	different bigint;
	n bigint;
	line text;
	ranked bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		ranked := ranked OR line LIKE '%GpucolTopK%';
	END LOOP;
	IF NOT ranked THEN
		RETURN 'not ranked by the engine: ' || query;
	END IF;
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE 'CREATE TEMP TABLE topk_want ON COMMIT DROP AS ' || query;
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'CREATE TEMP TABLE topk_got ON COMMIT DROP AS ' || query;
	SET LOCAL gpucol.pushdown = allow;
	SELECT count(*) INTO n FROM topk_got;
	SELECT count(*) INTO different FROM (
		(TABLE topk_want EXCEPT ALL TABLE topk_got) UNION ALL (TABLE topk_got EXCEPT ALL TABLE topk_want)) d;
	DROP TABLE topk_want, topk_got;
	RETURN n || ' rows, ' || different || ' different';
END $$;

SELECT topk_compare(q) FROM (VALUES
	('SELECT grp, gpucol.u_topk(id, score, p, 10) FROM topk_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 3), gpucol.u_kranks(id, score, p, 3), gpucol.pt_k(id, score, p, 5, 0.2),
		gpucol.global_topk(id, score, p, 4), gpucol.expected_rank_topk(id, score, p, 4) FROM topk_r GROUP BY grp'),
	('SELECT gpucol.u_topk(id, score, p, 25), gpucol.global_topk(id, score, p, 25) FROM topk_r'),
	('SELECT gpucol.u_topk(id, score, p, 25), gpucol.pt_k(id, score, p, 25, 0.5) FROM topk_r WHERE id < 0'),
	('SELECT grp, gpucol.u_topk(id, score, p, 25) FROM topk_r WHERE id < 0 GROUP BY grp'),
	('SELECT sub, grp, gpucol.u_topk(label, score, p, 4) FROM topk_r GROUP BY sub, grp'),
	('SELECT sub, gpucol.u_topk(label, id % 7, 0.9, 6) FROM topk_r GROUP BY sub'),
	('SELECT day, gpucol.global_topk(id, points, conf, 2) FROM topk_r GROUP BY day'),
	('SELECT points, gpucol.u_topk(big, big, conf, 2) FROM topk_r GROUP BY points'),
	('SELECT score, gpucol.u_topk(points, day, p, 1) FROM topk_r GROUP BY score'),
	('SELECT grp, gpucol.u_topk(day, points, p, 4) FROM topk_r WHERE day > ''2024-06-01'' AND sub IN (''s1'', ''s2'') GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4) FILTER (WHERE day > ''2024-06-01''), gpucol.u_kranks(id, score, p, 2) FILTER (WHERE day > ''2024-06-01'') FROM topk_r GROUP BY grp'),
	('SELECT grp + 1 AS g, gpucol.u_topk(id * 2, score + 1, p / 2, 4) FROM topk_r GROUP BY grp + 1'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4000) FROM topk_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4) FROM topk_r GROUP BY grp HAVING gpucol.u_topk_probability(score, p, 4) > 0.05'),
	('SELECT grp, (gpucol.u_topk(id, score, p, 4))[1], cardinality(gpucol.pt_k(id, score, p, 4, 0.01)) FROM topk_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4, x), gpucol.u_kranks(id, score, p, 4, x), gpucol.global_topk(id, score, p, 4, x),
		gpucol.pt_k(id, score, p, 4, 0.1, x), gpucol.expected_rank_topk(id, score, p, 4, x), gpucol.u_topk_probability(score, p, 4, x) FROM topk_x GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4, xt), gpucol.global_topk(id, score, p, 4, xt) FROM topk_x GROUP BY grp'),
	('SELECT gpucol.u_topk(id, score, p, 40, x), gpucol.u_kranks(id, score, p, 40, x) FROM topk_x'),
	('SELECT grp, count(*), gpucol.u_topk(id, score, p, 3), max(points), sum(id) FILTER (WHERE p > 0.5), gpucol.pt_k(id, score, p, 3, 0.2) FROM topk_r GROUP BY grp'),
	('SELECT avg(points), gpucol.u_topk(id, score, p, 3), count(DISTINCT sub) FROM topk_r WHERE day > ''2024-06-01'''),
	('SELECT avg(points), gpucol.u_topk(id, score, p, 3), count(*) FROM topk_r WHERE id < 0'),
	('SELECT sub, points, count(*), gpucol.u_topk(label, score, p, 1) FROM topk_r GROUP BY sub, points HAVING count(*) > 1 AND max(id) % 2 = 0'),
	('SELECT grp, gpucol.u_topk(score, points, p, 4), gpucol.global_topk(score, points, p, 4) FROM topk_r GROUP BY grp'),
	('SELECT gpucol.u_topk(CASE id % 3 WHEN 0 THEN -score WHEN 1 THEN ''NaN'' ELSE score END, 1, 0.75, 9) FROM topk_r'),
	('SELECT grp, id % 7 + 1 AS k, gpucol.u_topk(id, score, p, id % 7 + 1), gpucol.u_topk_probability(score, p, id % 7 + 1), gpucol.u_kranks(id, score, p, id % 7 + 1),
		gpucol.pt_k(id, score, p, id % 7 + 1, 0.3), gpucol.global_topk(id, score, p, id % 7 + 1), gpucol.expected_rank_topk(id, score, p, 3) FROM topk_r GROUP BY grp, id % 7 + 1'),
	('SELECT grp, gpucol.u_topk(id, score, p, 4, x) AS four, gpucol.u_topk(id, score, p, grp + 1, x) FROM topk_x WHERE grp < 9 GROUP BY grp, grp + 1')
) v(q);

-- The same with rows in the delta, deleted and changed ones, and in threads.
DELETE FROM topk_r WHERE id % 7 = 0;
UPDATE topk_r SET p = 1 - p WHERE id % 5 = 0;
INSERT INTO topk_r (grp, id, score, p) VALUES (1, 12001, 2000, 0.7);
INSERT INTO topk_r (grp, id, score, p) VALUES (77, 12002, 1, 0.3);
INSERT INTO topk_r (grp, id, score, p) VALUES (78, NULL, 1, 0.3);
SET gpucol.cpu_threads = 3;
SELECT topk_compare('SELECT grp, gpucol.u_topk(id, score, p, 10), gpucol.u_kranks(id, score, p, 3) FROM topk_r GROUP BY grp');
SELECT topk_compare('SELECT id % 3000 AS g, gpucol.u_topk(id, score, p, 2), gpucol.expected_rank_topk(id, score, p, 2) FROM topk_r GROUP BY 1');
RESET gpucol.cpu_threads;

-- Parameters, and a plan that is used again.
SET gpucol.pushdown = require;
PREPARE topk_q(int, float8) AS SELECT grp, gpucol.u_topk(id, score, p, $1), gpucol.pt_k(id, score, p, $1, $2) FROM topk_r WHERE grp < 2 GROUP BY grp ORDER BY grp;
SET plan_cache_mode = force_generic_plan;
EXECUTE topk_q(2, 0.4);
EXECUTE topk_q(3, 0.3);
EXECUTE topk_q(0, 0.3);
EXECUTE topk_q(NULL, 0.3);
EXECUTE topk_q(1, 1.5);
RESET plan_cache_mode;
SELECT k, (SELECT gpucol.u_topk(id, score, p, k) FROM topk_r WHERE grp = 1) FROM generate_series(1, 3) k;

-- Errors are those of the aggregates.
SELECT gpucol.u_topk(id, score, p * 2, 2) FROM topk_r WHERE id IN (1, 2, 7);
SELECT gpucol.u_topk(id, score, 0.5, 2, xt) FROM topk_r WHERE id IN (3, 4, 5);
SELECT gpucol.u_topk(id, score, 0.5, 2, x) FROM topk_r WHERE id IN (5, 6, 7);
SELECT gpucol.u_topk(id, score, p, 1 / (id - id)) FROM topk_r WHERE id < 0;
SELECT id % 3, gpucol.u_topk(id, score, p, id % 3) FROM topk_r WHERE id > 2 GROUP BY id % 3;
SELECT grp, gpucol.u_topk(id, score, p, grp) FROM topk_r WHERE grp IS NULL GROUP BY grp;

-- What is not pushed down says why.
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/reason.psql
\set ECHO none
\i :include
\set ECHO all
RESET gpucol.pushdown;
EXPLAIN (VERBOSE, COSTS OFF) SELECT grp, gpucol.u_topk(id, score, p, 2), string_agg(sub, '') FROM topk_r GROUP BY grp;
EXPLAIN (VERBOSE, COSTS OFF) SELECT grp, gpucol.u_topk(id, score, p, 2), gpucol.u_topk(id, id, p, 2) FROM topk_r GROUP BY grp;
SELECT reason('SELECT grp, gpucol.u_topk(DISTINCT id, score, p, 2) FROM topk_r GROUP BY grp');
DROP FUNCTION reason(text);
EXPLAIN (VERBOSE, COSTS OFF) SELECT grp, gpucol.u_topk(id, label, p, 2) FROM topk_r GROUP BY grp;
EXPLAIN (VERBOSE, COSTS OFF) SELECT grp, gpucol.u_topk(id, score, p, id) FROM topk_r GROUP BY grp;
CREATE TYPE topk_kind AS ENUM ('b', 'c');
ALTER TYPE topk_kind ADD VALUE 'a' BEFORE 'b';
CREATE TABLE topk_e (id int, p float8, x topk_kind) USING gpucol;
INSERT INTO topk_e SELECT i, 0.3, (ARRAY['a', 'b', 'c'])[1 + i % 3]::topk_kind FROM generate_series(1, 9) i;
EXPLAIN (VERBOSE, COSTS OFF) SELECT gpucol.u_topk_probability(7, p, 2, x) FROM topk_e;
DROP TABLE topk_e;
DROP TYPE topk_kind;
SET gpucol.enable_topk = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT grp, gpucol.u_topk(id, score, p, 2) FROM topk_r GROUP BY grp;
RESET gpucol.enable_topk;

-- A value that engines do not compute with, after others have been ranked: the
-- ordinary plan answers.
CREATE TABLE topk_nan (g int, id int, n numeric(6,2), p float8) USING gpucol;
INSERT INTO topk_nan SELECT i % 5, i, CASE WHEN i = 4777 THEN 'NaN' ELSE i / 100.0 END, (i % 10) / 10.0 FROM generate_series(1, 5000) i;
INSERT INTO topk_nan VALUES (1, 5001, 'NaN', 0.5);
SET gpucol.pushdown = require;
SELECT g, gpucol.u_topk(id, n, p, 3) FROM topk_nan GROUP BY g ORDER BY g;
SELECT id FROM topk_nan ORDER BY n DESC, id LIMIT 3;
CREATE FUNCTION topk_fallback(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Fallback%' THEN
			RETURN trim(line);
		END IF;
	END LOOP;
	RETURN 'none';
END $$;
SELECT topk_fallback('SELECT g, gpucol.u_topk(id, n, p, 3) FROM topk_nan GROUP BY g');
-- More memory of the server than allowed, or than is there: likewise.
SET gpucol.engine = cpu;
SET gpucol.ranking_memory_limit = '1MB';
SELECT topk_fallback('SELECT id % 7, gpucol.u_topk(id, id, p, 3) FROM topk_r GROUP BY id % 7');
SELECT topk_fallback('SELECT gpucol.u_topk(label, id, p, 3) FROM topk_r');
-- enough memory to collect the rows, but not to rank them
CREATE TABLE topk_m (id int, p float8) USING gpucol;
INSERT INTO topk_m SELECT i, i % 1000 / 1000.0 FROM generate_series(1, 60000) i;
ANALYZE topk_m;
SET gpucol.cpu_threads = 1;
SET gpucol.ranking_memory_limit = '4MB';
SELECT topk_fallback('SELECT gpucol.u_topk(id, id % 777, p, 3) FROM topk_m');
SET gpucol.ranking_memory_limit = '64MB';
SELECT topk_fallback('SELECT gpucol.u_topk(id, id % 777, p, 3) FROM topk_m');
RESET gpucol.cpu_threads;
DROP TABLE topk_m;
RESET gpucol.ranking_memory_limit;
SELECT topk_fallback('SELECT id % 7, gpucol.u_topk(id, id, p, 3) FROM topk_r GROUP BY id % 7');
RESET gpucol.engine;
RESET gpucol.pushdown;
DROP FUNCTION topk_fallback(text);

-- Cancelled in the midst of ranking.
CREATE TABLE topk_long (id int, p float8) USING gpucol;
INSERT INTO topk_long SELECT i, 0.5 FROM generate_series(1, 200000) i;
SET gpucol.cpu_threads = 2;
SET statement_timeout = '200ms';
SELECT cardinality(gpucol.global_topk(id, id, p, 60000)) FROM topk_long;
RESET statement_timeout;
RESET gpucol.cpu_threads;
DROP TABLE topk_nan, topk_long;

DROP FUNCTION topk_compare(text);
DROP TABLE topk_r, topk_x;
