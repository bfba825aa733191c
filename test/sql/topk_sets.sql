-- Several rankings in one node that rank different rows: other scores, labels,
-- filters, x-tuples.  Rows are collected in threads, whose number changes nothing.
CREATE TABLE sets_r (grp int, name text, num numeric(6,1), id int, label text, named text NOT NULL, score float8, other int,
	p float8, x int, wide bigint, xt text, flag bool) USING gpucol;
INSERT INTO sets_r
SELECT i % 97, 'name ' || i % 31, (i % 13) / 2.0, i, CASE WHEN i % 53 > 0 THEN 'label ' || i % 977 END, 'n' || i % 1009,
	CASE WHEN i % 47 > 0 THEN (i * 7919::bigint % 1009) / 8.0 END, i * 31 % 5000,
	(i * 104729::bigint % 1001) / 4004.0, i / 4, (i / 4) * CASE WHEN i / 4 % 2 = 0 THEN 1400000000000000 ELSE -1400000000000000 END, 'x' || i / 4, i % 3 = 0
FROM generate_series(1, 24000) i;
DELETE FROM sets_r WHERE id % 101 = 0;
INSERT INTO sets_r VALUES (5, 'delta', 1.0, 24001, NULL, 'd', 126, 1, 0.25, NULL, NULL, NULL, true), (NULL, NULL, NULL, 24002, 'l', 'd', 126, 1, 0.25, 1, 1, 'y', NULL);

EXPLAIN (VERBOSE, COSTS OFF)
SELECT grp, gpucol.u_topk(id, score, p, 2), gpucol.u_topk(id, other, p, 2), gpucol.pt_k(label, score, p, 2, 0.1) FILTER (WHERE flag) FROM sets_r GROUP BY grp;

CREATE FUNCTION sets_compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text;
	got text;
	answer text := 'same';
	threads int;
BEGIN
	SET LOCAL gpucol.pushdown = forbid;
	EXECUTE 'SELECT count(*) || '' rows '' || md5(string_agg(q::text, '','' ORDER BY q::text)) FROM (' || query || ') q' INTO want;
	SET LOCAL gpucol.pushdown = require;
	FOREACH threads IN ARRAY ARRAY[1, 2, 5] LOOP
		PERFORM set_config('gpucol.cpu_threads', threads::text, true);
		EXECUTE 'SELECT count(*) || '' rows '' || md5(string_agg(q::text, '','' ORDER BY q::text)) FROM (' || query || ') q' INTO got;
		IF want IS DISTINCT FROM got THEN
			answer := 'different with ' || threads || ' threads';
		END IF;
	END LOOP;
	SET LOCAL gpucol.pushdown = allow;
	RETURN split_part(want, ' ', 1) || ' rows, ' || answer;
END $$;

SELECT sets_compare(q) FROM (VALUES
	-- one set over threads: keys of all classes, labels, x-tuples
	('SELECT grp, gpucol.u_topk(id, score, p, 5), gpucol.u_kranks(id, score, p, 5) FROM sets_r GROUP BY grp'),
	('SELECT name, gpucol.u_topk(label, score, p, 5), gpucol.expected_rank_topk(label, score, p, 2) FROM sets_r GROUP BY name'),
	('SELECT num, flag, name, gpucol.global_topk(id, other, p, 3) FROM sets_r GROUP BY num, flag, name'),
	('SELECT score, gpucol.global_topk(id, other, p, 3) FROM sets_r GROUP BY score'),
	('SELECT id, gpucol.u_topk(id, other, p, 1) FROM sets_r GROUP BY id'),
	('SELECT gpucol.u_topk(id, score, p, 20), gpucol.u_topk(label, score, p, 9) FROM sets_r'),
	('SELECT grp, gpucol.u_topk(id, score, p, 5, x) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 5, wide), gpucol.pt_k(id, score, p, 3, 0.2, wide) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 5, xt), gpucol.pt_k(id, score, p, 3, 0.2, xt) FROM sets_r GROUP BY grp'),
	('SELECT x % 9 + 1 AS k, gpucol.u_topk(id, score, p, x % 9 + 1, x) FROM sets_r WHERE x > 0 GROUP BY 1'),
	-- rows that tie in all but their x-tuples are ranked in the order of these
	('SELECT num, gpucol.u_topk(name, grp % 3, p * 0 + 0.25, 3, xt), gpucol.u_kranks(name, grp % 3, p * 0 + 0.25, 3, xt), gpucol.u_topk_probability(grp % 3, p * 0 + 0.25, 3, xt)::numeric(30,15) FROM sets_r GROUP BY num'),
	('SELECT num, gpucol.u_topk(name, grp % 3, p * 0 + 0.25, 3, wide), gpucol.pt_k(name, grp % 3, p * 0 + 0.25, 3, 0.2, wide), gpucol.u_topk_probability(grp % 3, p * 0 + 0.25, 3, wide)::numeric(30,15) FROM sets_r GROUP BY num'),
	('SELECT gpucol.expected_rank_topk(name, flag::int, p * 0 + 0.25, 30, xt), gpucol.global_topk(name, flag::int, p * 0 + 0.25, 30, x) FROM sets_r WHERE id < 4000'),
	-- several sets
	('SELECT grp, gpucol.u_topk(id, score, p, 3), gpucol.u_topk(id, other, p, 3), gpucol.u_topk(label, score, p, 3), gpucol.u_topk_probability(other, p, 3) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, score, p, 3) FILTER (WHERE flag), gpucol.u_topk(id, score, p, 3) FILTER (WHERE NOT flag), gpucol.u_topk(id, score, p, 3) FROM sets_r GROUP BY grp'),
	('SELECT gpucol.global_topk(id, score, p, 3) FILTER (WHERE id < 0), gpucol.global_topk(id, score, p / 2, 3), gpucol.pt_k(named, score, p, 3, 0.2, x) FROM sets_r'),
	('SELECT grp, gpucol.u_topk(id, score, p, 3, x), gpucol.u_topk(id, score, p, 3, xt), gpucol.u_topk(id, score, p, 3) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(id, 100 / nullif(other, 0), p, 3) FILTER (WHERE other > 0), gpucol.u_topk(id, 100 / other, p, 3) FILTER (WHERE other <> 0), count(*) FROM sets_r GROUP BY grp'),
	('SELECT grp, num * 2 + 1 AS k, gpucol.u_topk(id, score, p, (num * 2 + 1)::int), gpucol.u_topk(id, other, p, 2) FROM sets_r WHERE num > 1 GROUP BY 1, 2, (num * 2 + 1)::int'),
	-- rows whose label is NULL are ranked where there is no label
	('SELECT grp, gpucol.u_topk(label, score, p, 3), gpucol.u_topk_probability(score, p, 3)::numeric(30,15) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk(named, score, p, 3), gpucol.u_topk_probability(score, p, 3)::numeric(30,15) FROM sets_r GROUP BY grp'),
	('SELECT grp, gpucol.u_topk_probability(score, p, 3, x)::numeric(30,15), gpucol.u_topk(id, score, p, 3, x) FROM sets_r GROUP BY grp')
) v(q);

-- The smallest case of that.
CREATE TABLE sets_null (id int, score int, p float8) USING gpucol;
INSERT INTO sets_null VALUES (NULL, 10, 0.9), (1, 9, 0.5), (2, 8, 0.4), (3, 7, 0.3);
SET gpucol.pushdown = require;
SELECT gpucol.u_topk(id, score, p, 2), gpucol.u_topk_probability(score, p, 2) FROM sets_null;
SELECT gpucol.u_topk(id, score, p, 2), gpucol.u_topk_probability(score, p, 2) FROM sets_null WHERE id > 0;

-- Whatever the threads, the error is that of the row that comes first; k is looked at
-- where a row passes the filter.
INSERT INTO sets_r (grp, id, named, score, p) VALUES (1, 24003, 'd', 1, 1.5);
UPDATE sets_r SET p = -id WHERE id IN (11001, 16000, 21000);
SET gpucol.cpu_threads = 4;
SELECT gpucol.u_topk(id, score, p, 2) FROM sets_r WHERE id < 24003;
SELECT gpucol.u_topk(id, score, p, 2) FROM sets_r WHERE id > 24001;
SELECT gpucol.u_topk(id, score, 0.5, 2, wide) FROM sets_r WHERE x = 9;
SELECT gpucol.u_topk(id, score, 0.5, 2, xt) FROM sets_r WHERE x = 9;
SELECT gpucol.u_topk(id, score, p, 2) FILTER (WHERE id < 100), gpucol.u_topk(id, score, p, 0) FILTER (WHERE id < 0) FROM sets_r WHERE id < 1000;
SELECT gpucol.u_topk(id, score, p, 2) FILTER (WHERE id < 100), gpucol.u_topk(id, score, p, 0) FILTER (WHERE id = 1) FROM sets_r WHERE id < 1000;
SET gpucol.engine = cpu;
SET gpucol.ranking_memory_limit = '4MB';
SELECT count(*) FROM (SELECT id, gpucol.u_topk(id, other, 0.5, 1) FROM sets_r GROUP BY id) s;
RESET gpucol.ranking_memory_limit;
RESET gpucol.engine;
RESET gpucol.cpu_threads;
RESET gpucol.pushdown;
DROP FUNCTION sets_compare(text);
DROP TABLE sets_r, sets_null;
