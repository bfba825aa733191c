-- Values so long that the pages of a vector's outnumber the buffers: they are copied, not
-- pinned together.
SET temp_buffers = 100;
CREATE TEMP TABLE document (id int, body text) USING gpucol;
INSERT INTO document SELECT i, (SELECT string_agg(md5((i * 1000 + g)::text), '') FROM generate_series(1, 64) g) FROM generate_series(1, 1500) i;
SELECT count(*), sum(length(body)), sum(hashtextextended(body, 0) & 255) = (SELECT sum(hashtextextended((SELECT string_agg(md5((i * 1000 + g)::text), '') FROM generate_series(1, 64) g), 0) & 255) FROM generate_series(1, 1500) i) AS same FROM document;
SET gpucol.pushdown = forbid;
SELECT count(*), sum(length(body)), count(DISTINCT body) FROM document;
UPDATE document SET id = -id WHERE id % 500 = 3;
CREATE INDEX ON document (id);
SELECT id, left(body, 8) = left(md5((-id * 1000 + 1)::text), 8) AS same FROM document WHERE id < 0 ORDER BY id;
