-- The row that is valid at a time, and rows behind it: subqueries in ON, with LIMIT and OFFSET, become joins.
CREATE SCHEMA subquery_valid;
SET search_path = subquery_valid, public;
SET client_min_messages = warning;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE rate (cur text, day date, rate numeric(8,3), n int) USING gpucol;
CREATE TABLE sale (id int, cur text, day date, amount int) USING gpucol;
INSERT INTO rate SELECT (ARRAY['EUR', 'USD', 'CHF', 'SEK'])[1 + i % 4], date '2024-01-01' + (i * 7 % 200), i * 0.125, i FROM generate_series(1, 400) i;
INSERT INTO sale SELECT i, (ARRAY['EUR', 'USD', 'CHF', 'XXX', 'SEK'])[1 + i % 5], date '2023-12-25' + (i * 11 % 230), i * 13 % 500 FROM generate_series(1, 700) i;
SELECT gpucol.merge('rate') + gpucol.merge('sale') > 0 AS merged;
DELETE FROM rate WHERE n % 17 = 0 OR (cur = 'SEK' AND n > 40);
UPDATE sale SET day = day + 1 WHERE id % 23 = 0;
INSERT INTO rate VALUES ('EUR', NULL, 1, 401), (NULL, '2024-02-01', 2, 402), ('EUR', 'infinity', 3, 403), ('USD', '-infinity', 4, 404), ('CHF', '2024-03-03', NULL, 405);
INSERT INTO sale VALUES (701, NULL, '2024-02-02', 1), (702, 'EUR', NULL, 2), (703, 'EUR', 'infinity', 3), (704, 'USD', '-infinity', 4), (NULL, 'CHF', '2024-03-04', NULL);
CREATE TABLE nothing (LIKE rate) USING gpucol;
CREATE TABLE one (LIKE rate) USING gpucol;
INSERT INTO one VALUES ('EUR', '2024-02-02', 1.5, 1);
ANALYZE rate, sale, nothing, one;
\set pattern 'Join: '
\set word joined
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/raises.psql
\set ECHO none
\i :include
\set ECHO all
-- ON
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT s.id, f.n FROM sale s JOIN rate f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day)'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day)'),
	('SELECT s.id, f.n FROM rate f RIGHT JOIN sale s ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day)'),
	('SELECT s.id, f.n FROM sale s FULL JOIN rate f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur)'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND s.day >= (SELECT min(g.day) FROM rate g WHERE g.cur = f.cur AND g.n > 9)'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND f.n > 380 AND EXISTS (SELECT FROM rate g WHERE g.cur = s.cur AND g.n = s.id)'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND f.n > 380 AND s.id NOT IN (SELECT g.n FROM rate g WHERE g.cur = s.cur)'),
	('SELECT s.id, f.n, q.id AS q FROM sale s LEFT JOIN (rate f JOIN sale q ON q.id = f.n AND q.amount > (SELECT avg(g.n) FROM rate g WHERE g.cur = q.cur)) ON f.cur = s.cur AND f.n = s.id'),
	('SELECT s.id, f.n FROM (sale s JOIN rate q ON q.n = s.id AND s.amount > (SELECT avg(g.n) FROM rate g WHERE g.cur = s.cur)) LEFT JOIN rate f ON f.cur = s.cur AND f.n = s.id + 1'),
	('SELECT s.id, f.n FROM sale s JOIN rate f ON f.cur = s.cur AND f.day = (SELECT g.day FROM rate g WHERE g.cur = s.cur AND g.day <= s.day ORDER BY g.day DESC LIMIT 1) WHERE s.amount > (SELECT avg(amount) FROM sale t WHERE t.cur = s.cur)'),
	('SELECT s.cur, count(*), sum(s.amount * f.rate) FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day) GROUP BY s.cur'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN nothing f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM nothing g WHERE g.cur = s.cur AND g.day <= s.day)'),
	('SELECT s.id, f.n FROM sale s LEFT JOIN one f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM one g WHERE g.cur = s.cur AND g.day <= s.day)');
SELECT compare(query), query FROM tried;
-- what may raise an error beside it, and what is correlated with both sides, stays
SELECT compare('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND 7 / (f.n + 1) > 0 AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day)');
SELECT compare('SELECT s.id, f.n FROM sale s LEFT JOIN rate f ON f.n = s.id AND f.day <= (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= f.day)');
-- LIMIT and OFFSET
CREATE TABLE rows (query text);
INSERT INTO rows VALUES
	('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 1 LIMIT 1) FROM sale s'),
	('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 3 ROWS FETCH FIRST 1 ROW ONLY) FROM sale s'),
	('SELECT s.id, (SELECT f.day FROM rate f WHERE f.cur = s.cur AND f.day > s.day AND f.day < s.day + 20 ORDER BY f.day OFFSET 2 LIMIT 1) FROM sale s'),
	('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur ORDER BY f.n DESC OFFSET 5 LIMIT 1) FROM sale s'),
	('SELECT s.id FROM sale s WHERE s.amount > (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 2 LIMIT 1)'),
	('SELECT s.id, l.* FROM sale s, LATERAL (SELECT f.n, f.day FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n LIMIT 3) l'),
	('SELECT s.id, l.* FROM sale s LEFT JOIN LATERAL (SELECT f.n, f.day FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n LIMIT 3 OFFSET 2) l ON true'),
	('SELECT s.id, l.* FROM sale s LEFT JOIN LATERAL (SELECT f.n, f.day FROM rate f WHERE f.cur = s.cur AND f.day >= s.day AND f.day <= s.day + 30 ORDER BY f.day, f.n LIMIT 2 OFFSET 1) l ON true'),
	('SELECT s.id, l.* FROM sale s, LATERAL (SELECT f.n FROM rate f WHERE f.cur = s.cur ORDER BY f.n LIMIT 2 OFFSET 4) l'),
	('SELECT s.cur, count(*), sum(l.n) FROM sale s, LATERAL (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.n < s.id ORDER BY f.n DESC LIMIT 4) l GROUP BY s.cur'),
	('SELECT s.id, l.* FROM sale s, LATERAL (SELECT f.n FROM rate f WHERE f.n < s.id ORDER BY f.n DESC LIMIT 2 OFFSET 1) l'),
	('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.n <= s.id ORDER BY f.n DESC OFFSET 1000000 LIMIT 1) FROM sale s'),
	('SELECT s.id, l.* FROM sale s LEFT JOIN LATERAL (SELECT f.n FROM one f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n LIMIT 2) l ON true'),
	('SELECT s.id, l.* FROM sale s LEFT JOIN LATERAL (SELECT f.n FROM nothing f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 1 LIMIT 2) l ON true');
SELECT compare(query), query FROM rows;
-- OFFSET 0, and what is no constant
SELECT compare('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.n <= s.id ORDER BY f.n DESC OFFSET 0 LIMIT 1) FROM sale s');
SELECT compare('SELECT s.id, (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.n <= s.id ORDER BY f.n DESC OFFSET s.id % 2 LIMIT 1) FROM sale s');
EXPLAIN (COSTS OFF) SELECT count(*), sum(f.rate) FROM sale s LEFT JOIN rate f ON f.cur = s.cur AND f.day = (SELECT max(g.day) FROM rate g WHERE g.cur = s.cur AND g.day <= s.day);
EXPLAIN (COSTS OFF) SELECT s.id, l.* FROM sale s LEFT JOIN LATERAL (SELECT f.n, f.day FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n LIMIT 3 OFFSET 2) l ON true;
-- statements that change rows
CREATE TABLE paid (LIKE sale) USING gpucol;
CREATE TABLE paid_heap (LIKE sale);
INSERT INTO paid SELECT * FROM sale;
INSERT INTO paid_heap SELECT * FROM sale;
UPDATE paid s SET amount = (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 1 LIMIT 1);
UPDATE paid_heap s SET amount = (SELECT f.n FROM rate f WHERE f.cur = s.cur AND f.day <= s.day ORDER BY f.day DESC, f.n OFFSET 1 LIMIT 1);
SELECT count(*), count(amount) FROM paid;
(TABLE paid EXCEPT ALL TABLE paid_heap) UNION ALL (TABLE paid_heap EXCEPT ALL TABLE paid);
DROP SCHEMA subquery_valid CASCADE;
