-- What the pairs of datalog.txt read beside the graphs: a tree of employees, words as keys, sets of nodes.
SELECT setseed(0.5);
CREATE TABLE emp AS SELECT i AS id, 1 + floor(random() * (i - 1))::int AS boss, 'e' || i AS name, i % 20 AS dept FROM generate_series(2, 100000) i;
CREATE TABLE word AS SELECT 'node ' || src AS src, 'node ' || dst AS dst FROM "OL.cedge";
CREATE TABLE few AS SELECT DISTINCT src FROM "SF.cedge" WHERE src % 1000 = 7;
CREATE TABLE blocked AS SELECT DISTINCT dst FROM "SF.cedge" WHERE dst % 50 = 3;
CREATE TABLE bom AS SELECT DISTINCT a AS whole, least(3000, a + 1 + floor(random() * 600)::int) AS part FROM generate_series(1, 2999) a, generate_series(1, 2);
CREATE VIEW both_ways AS SELECT src, dst FROM "OL.cedge" UNION ALL SELECT dst, src FROM "OL.cedge";
CREATE VIEW ol AS TABLE "OL.cedge";
CREATE VIEW cal AS TABLE "cal.cedge";
CREATE VIEW sf AS TABLE "SF.cedge";
CREATE VIEW ego AS TABLE "ego-Facebook";
CREATE VIEW grid AS TABLE grid_250;
CREATE VIEW p2p AS TABLE "p2p-Gnutella04";
CREATE VIEW wiki AS TABLE "wiki-Vote";
CREATE TABLE weighted AS SELECT src, dst, 1 + (cost * 1000)::int AS cost FROM road;
CREATE TABLE start (i int);
INSERT INTO start VALUES (1);
