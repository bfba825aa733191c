-- The genetic search for an order of joins forgets what it has tried; a plan and the
-- tables' pipes outlive that.
CREATE SCHEMA join_genetic;
SET search_path = join_genetic, public;
CREATE TABLE fact (id int, k int, v int, w int, x int) USING gpucol;
INSERT INTO fact SELECT i, i % 50, i % 7, i % 11, i % 13 FROM generate_series(1, 4000) i;
CREATE TABLE dim (id int, t text) USING gpucol;
INSERT INTO dim SELECT i, 'd' || i FROM generate_series(0, 1999) i;
CREATE TABLE plain (id int, n int) USING heap;
INSERT INTO plain SELECT i, i % 3 FROM generate_series(0, 19) i;
ANALYZE fact, dim, plain;
SET geqo_threshold = 2;
SELECT count(*), sum(f.id), min(a.t), max(b.t)
FROM fact f, dim a, dim b, dim c, plain p WHERE f.k = a.id AND f.v = b.id AND f.w = c.id AND f.x = p.id AND p.n = 1;
SET gpucol.enable_join = off;
SELECT count(*), sum(f.id), min(a.t), max(b.t)
FROM fact f, dim a, dim b, dim c, plain p WHERE f.k = a.id AND f.v = b.id AND f.w = c.id AND f.x = p.id AND p.n = 1;
RESET gpucol.enable_join;
SET client_min_messages = warning;
DROP SCHEMA join_genetic CASCADE;
