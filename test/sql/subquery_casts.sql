-- Correlated subqueries that are compared with casts among dates and timestamps, and with dates and intervals: joins, and
-- executed for rows near the ends of these types.
CREATE SCHEMA subquery_casts;
SET search_path = subquery_casts, public;
SET client_min_messages = warning;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE person (id int, born date, seen timestamp, paid timestamptz) USING gpucol;
CREATE TABLE visit (who int, day date, at timestamp, tz timestamptz, n int) USING gpucol;
INSERT INTO person SELECT i, date '2024-01-01' + i % 60, timestamp '2024-01-01' + i % 70 * interval '7 hours', timestamptz '2024-01-01 UTC' + i % 50 * interval '9 hours'
	FROM generate_series(1, 120) i;
INSERT INTO visit SELECT i % 100, date '2024-01-01' + i % 90, timestamp '2024-01-01' + i % 800 * interval '3 hours', timestamptz '2024-01-01 UTC' + i % 700 * interval '3 hours', i
	FROM generate_series(1, 1500) i;
SELECT gpucol.merge('person') + gpucol.merge('visit') > 0 AS merged;
DELETE FROM visit WHERE n % 37 = 0;
UPDATE person SET born = born + 1 WHERE id % 29 = 0;
INSERT INTO person VALUES (5, NULL, NULL, NULL), (6, 'infinity', 'infinity', 'infinity'), (7, '-infinity', '-infinity', '-infinity'), (NULL, '2024-01-05', '2024-01-05', '2024-01-05 UTC');
INSERT INTO visit VALUES (6, 'infinity', 'infinity', 'infinity', 1), (7, '-infinity', '-infinity', '-infinity', 2), (6, NULL, NULL, NULL, 3), (NULL, '2024-01-09', '2024-01-09', '2024-01-09 UTC', 4);
CREATE TABLE nothing (LIKE visit) USING gpucol;
ANALYZE person, visit, nothing;
\set pattern 'Join: '
\set word joined
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/raises.psql
\set ECHO none
\i :include
\set ECHO all
CREATE TABLE tried (query text);
INSERT INTO tried VALUES
	('SELECT p.id, l.* FROM person p LEFT JOIN LATERAL (SELECT count(*) c, max(n) m FROM visit v WHERE v.who = p.id AND v.tz >= p.born::timestamptz + interval ''5 days'') l ON true'),
	('SELECT p.id, l.* FROM person p, LATERAL (SELECT count(*) c, max(n) m FROM visit v WHERE v.who = p.id AND v.at < p.born + interval ''1 month'') l'),
	('SELECT p.id, l.* FROM person p, LATERAL (SELECT count(*) c, max(n) m FROM visit v WHERE v.who = p.id AND v.tz BETWEEN p.born - interval ''3 days'' AND p.born + interval ''9 days'') l'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.at = p.born + interval ''1 day'') FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.at >= p.born::timestamp) FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.tz >= p.born::timestamptz AND v.n > 5) FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.tz > p.seen::timestamptz) FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.at < p.paid::timestamp - interval ''2 hours'') FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.at < p.paid) FROM person p'),
	('SELECT p.id, (SELECT sum(n) FROM visit v WHERE v.who = p.id AND v.tz >= p.seen) FROM person p'),
	('SELECT p.id, (SELECT max(v.at::timestamptz) FROM visit v WHERE v.who = p.id) FROM person p'),
	('SELECT p.id, (SELECT min(v.day + interval ''1 month'') FROM visit v WHERE v.who = p.id AND v.at > p.seen) FROM person p'),
	('SELECT p.id, EXISTS (SELECT FROM visit v WHERE v.who = p.id AND v.tz > p.born::timestamptz + interval ''40 days'') FROM person p'),
	('SELECT p.id, l.n FROM person p LEFT JOIN LATERAL (SELECT v.n FROM visit v WHERE v.who = p.id AND v.at < p.paid ORDER BY v.at DESC, v.n LIMIT 1) l ON true'),
	('SELECT p.id, (SELECT v.n FROM visit v WHERE v.who = p.id AND v.tz <= p.seen ORDER BY v.tz DESC, v.n LIMIT 1) FROM person p'),
	('SELECT p.id, (SELECT count(*) FROM nothing v WHERE v.who = p.id AND v.at < p.born + interval ''1 month'') FROM person p');
SELECT compare(query), query FROM tried;
-- times of a zone whose days begin at other instants
SET timezone = 'America/St_Johns';
SELECT compare(query), query FROM tried;
RESET timezone;
-- dates that no timestamp has: errors, but for the rows that do not ask; comparisons have none
INSERT INTO person VALUES (8, '5874897-12-31', '294276-12-31 23:00', '294276-12-31 23:00 UTC'), (9, '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 UTC BC');
INSERT INTO visit VALUES (8, '5874897-12-31', '294276-12-31 23:00', '294276-12-31 23:00 UTC', 5), (9, '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 UTC BC', 6);
SELECT compare(query), query FROM tried;
DELETE FROM visit WHERE who IN (8, 9);
SELECT compare(query) FROM tried;
SELECT compare(query || ' WHERE p.id < 8') FROM tried;
SET timezone = 'Pacific/Kiritimati';
SELECT compare(query || ' WHERE p.id <> 8') FROM tried;
RESET timezone;
DROP SCHEMA subquery_casts CASCADE;
