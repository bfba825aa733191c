-- Ranking uncertain readings: a tour (docs/uncertain.md).
--
--	psql -v am=gpucol -f demo/uncertain.sql
--
-- The first table is the example of the literature; the second has 200 sensors
-- with 2,000 readings each.

\if :{?am}
\else
\set am gpucol
\endif
CREATE EXTENSION IF NOT EXISTS gpucol;

-- Four readings, each right with some probability.
CREATE TABLE sensor (t time, loc text, temperature int, confidence float8) USING :am;
INSERT INTO sensor VALUES
  ('11:30', 'L1', 98, 0.4), ('11:47', 'L2', 95, 0.8),
  ('11:51', 'L3', 97, 0.6), ('11:53', 'L4', 99, 0.5);

-- The three hottest places?  No set of three is likelier than {L4,L3,L2}: it is
-- the top 3 when L4, L3 and L2 are right and L1 is not, 0.5 * 0.6 * 0.8 * 0.6.
SELECT gpucol.u_topk(loc, temperature, confidence, 3),
       gpucol.u_topk_probability(temperature, confidence, 3)
FROM sensor;

-- Other questions, other answers: who is likely first, second, third; who is
-- among the first two with at least 45 %; who is most surely among them.
SELECT gpucol.u_kranks(loc, temperature, confidence, 3) AS ranks,
       gpucol.pt_k(loc, temperature, confidence, 2, 0.45) AS with_45_percent,
       gpucol.global_topk(loc, temperature, confidence, 2) AS surest,
       gpucol.expected_rank_topk(loc, temperature, confidence, 2) AS by_expected_rank
FROM sensor;
SELECT *, gpucol.topk_probability(temperature, confidence, 2) OVER () AS in_top_2
FROM sensor ORDER BY in_top_2 DESC;

-- L3 and L4 report the same fire: at most one of the two is right.
SELECT gpucol.u_topk(loc, temperature, confidence, 2, CASE WHEN loc IN ('L3', 'L4') THEN 'fire' END)
FROM (SELECT loc, temperature, confidence * 0.9 AS confidence FROM sensor) s;

-- 400,000 readings: the five likely hottest of every sensor, one statement.
SELECT setseed(0.5);
CREATE TABLE readings (sensor int, id int, temperature numeric(6,2), confidence float8) USING :am;
INSERT INTO readings
SELECT 1 + i % 200, i, (20 + 60 * random())::numeric(6,2), round(random()::numeric, 3)
FROM generate_series(1, 400000) i;
VACUUM ANALYZE readings;

EXPLAIN (COSTS OFF)
SELECT sensor, gpucol.u_topk(id, temperature, confidence, 5) FROM readings GROUP BY sensor;
SELECT sensor, gpucol.u_topk(id, temperature, confidence, 5) AS likely_hottest,
       gpucol.u_topk_probability(temperature, confidence, 5) AS probability,
       gpucol.global_topk(id, temperature, confidence, 5) AS surest
FROM readings GROUP BY sensor ORDER BY sensor LIMIT 5;

-- The ten hottest readings, whatever their confidence.
SELECT * FROM readings ORDER BY temperature DESC, confidence DESC FETCH FIRST 10 ROWS ONLY;

DROP TABLE sensor, readings;
