-- Every ranking against the definitions, by enumeration of possible worlds in SQL.

-- The example of the literature: four sensors, 16 worlds.
CREATE TABLE worlds_sensor (t time, loc text, temperature int, confidence float8);
INSERT INTO worlds_sensor VALUES
  ('11:30', 'L1', 98, 0.4), ('11:47', 'L2', 95, 0.8),
  ('11:51', 'L3', 97, 0.6), ('11:53', 'L4', 99, 0.5);

CREATE AGGREGATE worlds_product(float8) (SFUNC = float8mul, STYPE = float8, INITCOND = '1');

SELECT mask,
       array_agg(loc ORDER BY loc) FILTER (WHERE mask >> i & 1 = 1) AS world,
       round(worlds_product(CASE mask >> i & 1 WHEN 1 THEN confidence ELSE 1 - confidence END)::numeric, 6) AS probability
FROM (SELECT *, row_number() OVER (ORDER BY loc)::int - 1 AS i FROM worlds_sensor) s,
     generate_series(0, 15) mask
GROUP BY mask ORDER BY mask;

SELECT k, gpucol.u_topk(loc, temperature, confidence, k),
       round(gpucol.u_topk_probability(temperature, confidence, k)::numeric, 12) AS probability
FROM worlds_sensor, generate_series(1, 5) k GROUP BY k ORDER BY k;
SELECT k, gpucol.u_kranks(loc, temperature, confidence, k),
       gpucol.pt_k(loc, temperature, confidence, k, 0.4),
       gpucol.global_topk(loc, temperature, confidence, k),
       gpucol.expected_rank_topk(loc, temperature, confidence, k)
FROM worlds_sensor, generate_series(1, 5) k GROUP BY k ORDER BY k;
SELECT loc, round(gpucol.topk_probability(temperature, confidence, 2) OVER ()::numeric, 12) AS in_top_2
FROM worlds_sensor ORDER BY loc;

-- Random groups: up to 7 tuples of probability 0, 0.1 ... 1, scores that tie,
-- and x-tuples whose probabilities sum to at most 1.
SELECT setseed(0.7);
CREATE TABLE worlds_tuple (grp int, k int, label int, score int, p float8, x int);
DO $$
DECLARE
	n int; tenths int; x int; free int[];
BEGIN
	FOR g IN 1 .. 240 LOOP
		n := 1 + floor(random() * 7);
		free := array_fill(10, ARRAY[8]);
		FOR i IN 1 .. n LOOP
			-- a third of the groups: every tuple by itself
			x := CASE WHEN g % 3 = 0 THEN i ELSE 1 + floor(random() * n) END;
			tenths := least(floor(random() * 11), free[x]);
			free[x] := free[x] - tenths;
			INSERT INTO worlds_tuple VALUES
				(g, 1 + g % 4, i, floor(random() * 5), tenths / 10.0, x);
		END LOOP;
	END LOOP;
END $$;

CREATE VIEW worlds_ranked AS
	SELECT *, row_number() OVER (PARTITION BY grp ORDER BY score DESC, p DESC, label)::int - 1 AS i,
		count(*) OVER (PARTITION BY grp)::int AS n
	FROM worlds_tuple;

-- Worlds: masks over the tuples, at most one alternative of each x-tuple.
CREATE TABLE worlds_world AS
	WITH x AS (
		SELECT grp, k, mask, x, count(*) FILTER (WHERE mask >> i & 1 = 1) AS present,
			sum(p) FILTER (WHERE mask >> i & 1 = 1) AS p_present, 1 - sum(p::numeric) AS absent
		FROM worlds_ranked, generate_series(0, (1 << n) - 1) mask GROUP BY grp, k, mask, x)
	SELECT grp, k, mask,
		worlds_product(CASE WHEN present > 1 THEN 0 WHEN present = 1 THEN p_present ELSE absent END) AS p
	FROM x GROUP BY grp, k, mask;
DELETE FROM worlds_world WHERE p = 0;
SELECT count(*) AS groups, bool_and(abs(total - 1) < 1e-12) AS sum_to_one
FROM (SELECT sum(p) AS total FROM worlds_world GROUP BY grp) s;

-- A tuple in a world: how many better ones exist with it.
CREATE TABLE worlds_member AS
	SELECT r.grp, r.k, r.i, r.label, w.mask, w.p,
		w.mask >> r.i & 1 = 1 AS present,
		length(replace((w.mask & ((1 << r.i) - 1))::bit(8)::text, '0', '')) AS better,
		length(replace(w.mask::bit(8)::text, '0', '')) AS size
	FROM worlds_ranked r JOIN worlds_world w USING (grp);
DELETE FROM worlds_member m USING worlds_tuple t
WHERE m.grp = t.grp AND m.label = t.label AND t.p = 0;

CREATE VIEW worlds_expected AS
WITH tops AS (		-- the top k of every world that has k tuples
	SELECT grp, mask, p, array_agg(label ORDER BY i) AS labels, max(i) AS last, array_agg(i ORDER BY i) AS ranks
	FROM worlds_member WHERE present AND better < k AND size >= k GROUP BY grp, mask, p
), sets AS (
	SELECT grp, labels, round(sum(p)::numeric, 12) AS p, min(last) AS last, min(ranks) AS ranks
	FROM tops GROUP BY grp, labels
), u_topk AS (
	SELECT DISTINCT ON (grp) grp, labels, p FROM sets ORDER BY grp, p DESC, last, ranks
), at_rank AS (
	SELECT DISTINCT ON (grp, better) grp, better, label
	FROM (SELECT grp, better, label, i, round(sum(p)::numeric, 12) AS p
		FROM worlds_member WHERE present AND better < k GROUP BY grp, better, label, i) s
	ORDER BY grp, better, p DESC, i
), u_kranks AS (
	SELECT grp, array_agg(label ORDER BY better) AS labels FROM at_rank GROUP BY grp
), tuple AS (
	SELECT grp, k, i, label,
		round(coalesce(sum(p) FILTER (WHERE present AND better < k), 0)::numeric, 12) AS in_top,
		round(sum(p * CASE WHEN present THEN better ELSE size END)::numeric, 12) AS expected
	FROM worlds_member GROUP BY grp, k, i, label
), listed AS (
	SELECT grp, k,
		coalesce(array_agg(label ORDER BY i) FILTER (WHERE in_top >= 0.3), '{}') AS pt_k,
		(array_agg(label ORDER BY in_top DESC, i))[:k] AS global_topk,
		(array_agg(label ORDER BY expected, i))[:k] AS expected_rank_topk
	FROM tuple GROUP BY grp, k
)
SELECT g.grp, u_topk.labels AS u_topk, u_topk.p AS probability,
	coalesce(u_kranks.labels, '{}') AS u_kranks, coalesce(pt_k, '{}') AS pt_k,
	coalesce(global_topk, '{}') AS global_topk, coalesce(expected_rank_topk, '{}') AS expected_rank_topk
FROM (SELECT DISTINCT grp FROM worlds_tuple) g
	LEFT JOIN u_topk USING (grp) LEFT JOIN u_kranks USING (grp) LEFT JOIN listed USING (grp);

CREATE VIEW worlds_got AS
SELECT grp, gpucol.u_topk(label, score, p, k, x) AS u_topk,
	round(gpucol.u_topk_probability(score, p, k, x)::numeric, 12) AS probability,
	gpucol.u_kranks(label, score, p, k, x) AS u_kranks,
	gpucol.pt_k(label, score, p, k, 0.3, x) AS pt_k,
	gpucol.global_topk(label, score, p, k, x) AS global_topk,
	gpucol.expected_rank_topk(label, score, p, k, x) AS expected_rank_topk
FROM worlds_tuple GROUP BY grp;

SELECT count(*) AS groups, count(u_topk) AS with_k_tuples FROM worlds_got;
(TABLE worlds_got EXCEPT ALL TABLE worlds_expected) ORDER BY grp LIMIT 5;
(TABLE worlds_expected EXCEPT ALL TABLE worlds_got) ORDER BY grp LIMIT 5;

-- Groups without alternatives: the functions without x_tuple say the same.
SELECT count(*) AS groups, bool_and((a.u_topk, a.u_kranks, a.pt_k, a.global_topk, a.expected_rank_topk)
	IS NOT DISTINCT FROM (b.u_topk, b.u_kranks, b.pt_k, b.global_topk, b.expected_rank_topk)) AS same
FROM (SELECT grp, gpucol.u_topk(label, score, p, k) AS u_topk,
		gpucol.u_kranks(label, score, p, k) AS u_kranks,
		gpucol.pt_k(label, score, p, k, 0.3) AS pt_k,
		gpucol.global_topk(label, score, p, k) AS global_topk,
		gpucol.expected_rank_topk(label, score, p, k) AS expected_rank_topk
	FROM worlds_tuple WHERE grp % 3 = 0 GROUP BY grp) a JOIN worlds_got b USING (grp);

-- Pr[in the top k] row by row.
SELECT count(*) AS tuples, bool_and(abs(got - coalesce(want, 0)) < 1e-12) AS same
FROM (SELECT grp, label, gpucol.topk_probability(score, p, k, x) OVER (PARTITION BY grp ORDER BY label) AS got
	FROM worlds_tuple) g
	LEFT JOIN (SELECT grp, label, sum(p) FILTER (WHERE present AND better < k) AS want
		FROM worlds_member GROUP BY grp, label) w USING (grp, label);

DROP VIEW worlds_got, worlds_expected, worlds_ranked;
DROP TABLE worlds_sensor, worlds_tuple, worlds_world, worlds_member;
DROP AGGREGATE worlds_product(float8);
