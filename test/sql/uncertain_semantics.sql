-- What the rankings over uncertain tables do at the edges.

-- Ties: score descending, then probability descending, then label.
SELECT gpucol.u_topk(l, 1, p, 2), gpucol.global_topk(l, 1, p, 2), gpucol.expected_rank_topk(l, 1, p, 2)
FROM (VALUES ('d', 0.5), ('b', 0.9), ('c', 0.5), ('a', 0.5)) v(l, p);
-- Sets that are equally likely: the one whose last tuple is better.
SELECT gpucol.u_topk(l, s, p, 1) FROM (VALUES ('a', 3, 0.2), ('b', 2, 0.25)) v(l, s, p);
SELECT gpucol.u_topk(l, s, p, 1) FROM (VALUES ('a', 3, 0.1), ('b', 2, 0.1111111111111111)) v(l, s, p);

-- Probability 1 and 0 are exact; a row of probability 0 is never returned.
SELECT gpucol.u_topk(l, -l, p, 2), gpucol.u_topk_probability(-l, p, 2),
       gpucol.u_kranks(l, -l, p, 2), gpucol.pt_k(l, -l, p, 2, 1e-300)
FROM (VALUES (1, 0), (2, 1), (3, 0), (4, 1), (5, 0.9)) v(l, p);
SELECT gpucol.u_topk(l, l, 0, 1), gpucol.u_topk_probability(l, 0, 1), gpucol.u_kranks(l, l, 0, 1),
       gpucol.pt_k(l, l, 0, 1, 0.1), gpucol.global_topk(l, l, 0, 1), gpucol.expected_rank_topk(l, l, 0, 1)
FROM generate_series(1, 3) l;
-- Probabilities far below the range of float8 still compare.
SELECT gpucol.u_topk(l, -l, CASE WHEN l IN (3, 5, 6) THEN 2e-300 ELSE 1e-300 END, 3), gpucol.u_topk_probability(-l, 1e-300, 3)
FROM generate_series(1, 9) l;

-- Fewer than k rows that can exist.
SELECT gpucol.u_topk(l, l, 0.5, 4), gpucol.u_topk_probability(l, 0.5, 4), gpucol.u_kranks(l, l, 0.5, 4),
       gpucol.pt_k(l, l, 0.5, 4, 0.5), gpucol.global_topk(l, l, 0.5, 4), gpucol.expected_rank_topk(l, l, 0.5, 4)
FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, l, 0.4, 2, x) FROM (VALUES (1, 1), (2, 1)) v(l, x);
SELECT gpucol.u_topk(l, l, 0.4, 2147483647), gpucol.global_topk(l, l, 0.4, 2147483647),
       gpucol.u_kranks(l, l, 0.4, 2147483647) FROM generate_series(1, 3) l;

-- No rows, NULLs.
SELECT gpucol.u_topk(1, 1, 0.5, 1), gpucol.u_kranks(1, 1, 0.5, 1), gpucol.pt_k(1, 1, 0.5, 1, 0.5) WHERE false;
SELECT gpucol.u_topk(l, s, p, 1), gpucol.u_topk_probability(s, p, 1)
FROM (VALUES (NULL, 9, 1.0), (1, NULL, 1.0), (2, 9, NULL), (3, 1, 0.5)) v(l, s, p);
SELECT gpucol.u_topk(l, 1, 1, 1) FROM (VALUES (NULL::int), (NULL)) v(l);
-- A NULL x_tuple: independent of every other row.
SELECT gpucol.u_topk(l, l, 0.75, 3, x), gpucol.u_topk_probability(l, 0.75, 3, x)
FROM (VALUES (1, NULL), (2, NULL), (3, NULL), (4, 'x')) v(l, x);
SELECT l, round(gpucol.topk_probability(s, p, 1) OVER (ORDER BY l)::numeric, 12)
FROM (VALUES (1, 5, 0.5), (2, NULL, 0.5), (3, 4, NULL), (4, 3, 0.5), (5, 3, 0.5)) v(l, s, p);

-- Scores and x-tuples that are kept elsewhere.
SELECT l, round(gpucol.topk_probability(l::numeric, 0.25, 1, 'x-tuple ' || l / 3) OVER ()::numeric, 12) AS by_name,
       round(gpucol.topk_probability(l, 0.25, 1, l / 3) OVER ()::numeric, 12) AS by_number
FROM generate_series(1, 7) l ORDER BY l;

-- Alternatives that sum to 1 but for rounding: one of them exists.
SELECT gpucol.u_topk(l, -l, p, 1, 0), gpucol.u_topk_probability(-l, p, 1, 0) = 0.7 AS exact, gpucol.pt_k(l, -l, p, 1, 0.1, 0),
       gpucol.u_topk(l, -l, p, 2, 0)
FROM (VALUES (1, 0.1), (2, 0.2), (3, 0.7)) v(l, p);
SELECT gpucol.u_topk_probability(-l, p, 2, CASE WHEN l <= 10 THEN 0 ELSE l END)
FROM (SELECT l, CASE WHEN l <= 10 THEN 0.1 ELSE 1 END AS p FROM generate_series(1, 11) l) v;

-- Errors.
SELECT gpucol.u_topk(l, l, 0.5, 0) FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, l, 0.5, NULL) FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, l, 0.5, l) FROM generate_series(1, 3) l;
SELECT gpucol.global_topk(l, l, 1.5, 1) FROM generate_series(1, 3) l;
SELECT gpucol.u_kranks(l, l, -0.25, 1) FROM generate_series(1, 3) l;
SELECT gpucol.u_kranks(l, l, 'NaN', 1) FROM generate_series(1, 3) l;
SELECT gpucol.pt_k(l, l, 0.5, 1, 0) FROM generate_series(1, 3) l;
SELECT gpucol.pt_k(l, l, 0.5, 1, 'NaN') FROM generate_series(1, 3) l;
SELECT gpucol.pt_k(l, l, 0.5, 1, NULL) FROM generate_series(1, 3) l;
SELECT gpucol.pt_k(l, l, 0.5, 1, l / 10.0) FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, l, 0.5, 1, 'kitchen') FROM generate_series(1, 3) l;
SELECT gpucol.topk_probability(l, 0.5, 1, l / 10) OVER () FROM generate_series(1, 3) l;
SELECT gpucol.topk_probability(l, 0.5, l) OVER () FROM generate_series(1, 3) l;
SELECT gpucol.topk_probability(l, 2, 1) OVER () FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, point(l, l), 0.5, 1) FROM generate_series(1, 3) l;
SELECT gpucol.topk_probability(1, 0.5, 1);
DO $$
BEGIN
	PERFORM gpucol.u_topk_transition(NULL, 1, 1, 0.5, 1);
EXCEPTION WHEN undefined_function OR feature_not_supported THEN
	RAISE NOTICE 'transition functions cannot be called';
END $$;

-- Scores of any ordered type, compared exactly.
SELECT gpucol.u_topk(l, 9007199254740992 + l, 1, 1), gpucol.u_topk(l, 9007199254740992 + l / 10.0, 1, 1),
       gpucol.u_topk(l, date '2024-02-27' + l, 1, 1), gpucol.u_topk(l, timestamp '2024-02-29' + l * interval '1 us', 1, 1),
       gpucol.u_topk(l, l::smallint, 1, 1), gpucol.u_topk(l, l::real, 1, 1), gpucol.u_topk(l, l::text COLLATE "C", 1, 1)
FROM generate_series(1, 3) l;
SELECT gpucol.u_topk(l, s, 1, 7) FROM (VALUES (1, 'NaN'::float8), (2, '-Infinity'), (3, 'Infinity'), (4, -0.0), (5, 0.0), (6, 1), (7, -1)) v(l, s);
SELECT gpucol.u_topk(l, s, 1, 4) FROM (VALUES (1, 'NaN'::numeric), (2, '-Infinity'), (3, 'Infinity'), (4, 0)) v(l, s);
-- Labels of any ordered type; an x-tuple has a type of its own.
SELECT gpucol.u_topk(l::text, l, 0.9, 2), gpucol.u_topk(l::numeric, l, 0.9, 2), gpucol.u_topk(date '2024-01-01' + l, l, 0.9, 2),
       gpucol.u_topk('l' || l, l, 0.9, 2, l::numeric), gpucol.u_topk(l, l, 0.3, 1, l % 2 = 0)
FROM generate_series(1, 3) l;

-- Aggregates like any other.
CREATE TABLE semantics AS
	SELECT i AS id, i % 7 AS grp, (i * 7919) % 1009 AS score, (i * 104729 % 999 + 1) / 1000.0::float8 AS p, 'label ' || i AS label
	FROM generate_series(1, 20000) i;
SELECT grp, gpucol.u_topk(id, score, p, 3) FILTER (WHERE p > 0.5), gpucol.u_topk(DISTINCT id, score, p, 3) = gpucol.u_topk(id, score, p, 3) AS same,
       gpucol.u_topk(id, score, p, 3 ORDER BY id) = gpucol.u_topk(id, score, p, 3 ORDER BY p) AS any_order
FROM semantics GROUP BY GROUPING SETS ((grp), ()) ORDER BY grp;
SELECT id, gpucol.u_topk(id, score, p, 2) OVER w, gpucol.global_topk(id, score, p, 2) OVER w
FROM semantics WHERE id <= 6 WINDOW w AS (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) ORDER BY id;

-- One group, cut while it is collected, against the same group kept whole.
SELECT k, gpucol.u_topk(id, score, p, k) = gpucol.u_topk(id, score, p, k, id) AS u_topk,
       gpucol.u_topk_probability(score, p, k) = gpucol.u_topk_probability(score, p, k, id) AS probability,
       gpucol.pt_k(id, score, p, k, 0.2) = gpucol.pt_k(id, score, p, k, 0.2, id) AS pt_k,
       gpucol.u_topk(label, -score::numeric, p / 100, k) = gpucol.u_topk(label, -score::numeric, p / 100, k, label) AS rare
FROM semantics, (VALUES (1), (10), (100), (700)) v(k) GROUP BY k ORDER BY k;

-- Parallel workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE semantics SET (parallel_workers = 2);
ANALYZE semantics;
EXPLAIN (COSTS OFF)
SELECT gpucol.u_topk(label, score::numeric, p, 5), gpucol.pt_k(label, score, p, 5, 0.1),
       gpucol.global_topk(label, score, p, 5, label), gpucol.u_topk_probability(score, p, 5) FROM semantics;
CREATE TABLE semantics_parallel AS
SELECT grp, gpucol.u_topk(label, score::numeric, p, 5) AS a, gpucol.pt_k(label, score, p, 5, 0.1) AS b,
       gpucol.global_topk(label, score, p, 5, nullif(id, 17)) AS c, gpucol.u_topk_probability(score, p, 5) AS d,
       gpucol.expected_rank_topk(label, score, p, 5, nullif(id, 17)) AS e
FROM semantics GROUP BY grp;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE semantics_serial AS
SELECT grp, gpucol.u_topk(label, score::numeric, p, 5) AS a, gpucol.pt_k(label, score, p, 5, 0.1) AS b,
       gpucol.global_topk(label, score, p, 5) AS c, gpucol.u_topk_probability(score, p, 5) AS d,
       gpucol.expected_rank_topk(label, score, p, 5) AS e
FROM semantics GROUP BY grp;
SELECT count(*) FROM semantics_serial;
TABLE semantics_serial EXCEPT ALL TABLE semantics_parallel;
TABLE semantics_parallel EXCEPT ALL TABLE semantics_serial;
RESET ALL;

-- A long computation can be cancelled.
SET statement_timeout = '300ms';
SELECT gpucol.global_topk(i, i, 0.5, 100000) FROM generate_series(1, 400000) i;
RESET statement_timeout;

DROP TABLE semantics, semantics_parallel, semantics_serial;
