-- Remembering what an expression gave for the values of its column is given up after 32,768 rows
-- of which too few had a value seen before: here amid a batch, whose earlier rows have got
-- remembered results.  They lie in blocks that go back to the system when they are freed.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET gpucol.cpu_threads = 1;

CREATE TABLE remembered (g int, p numeric) USING gpucol;
INSERT INTO remembered SELECT i % 3, CASE WHEN i <= 30000 THEN i ELSE i % 40 + 29900 END FROM generate_series(1, 40000) i;
ANALYZE remembered;

EXPLAIN (COSTS OFF) SELECT g, sum(trim_scale(p)) FROM remembered WHERE p > 500 GROUP BY g;

SET gpucol.pushdown = require;
SELECT g, sum(trim_scale(p)), count(trim_scale(p)) FROM remembered WHERE p > 500 GROUP BY g ORDER BY g;
SELECT sum(DISTINCT trim_scale(p)), max(trim_scale(p)) FILTER (WHERE g = 1) FROM remembered WHERE p > 500;

SET gpucol.pushdown = forbid;
SELECT g, sum(trim_scale(p)), count(trim_scale(p)) FROM remembered WHERE p > 500 GROUP BY g ORDER BY g;
SELECT sum(DISTINCT trim_scale(p)), max(trim_scale(p)) FILTER (WHERE g = 1) FROM remembered WHERE p > 500;

DROP TABLE remembered;
