-- Rows of a stand-in for ClickBench's table, :scale times 3,000,000, drawn by hashing.  Shares, numbers of
-- different values and lengths follow the answers that are published of the real table's 100 million:
-- of the rows 13 % have a search phrase, of which nearly half are seen once; a sixth as many users as rows,
-- a fifth as many URLs; 6,500 counters, which lie together, 9,000 regions.
-- A session is six rows of one user.
INSERT INTO hits
SELECT hashint8extended(i, 90), (i % 9 > 1)::int, CASE WHEN page % 8 = 0 THEN '' ELSE words(page / 2) || ' - ' || words(page / 40)
		|| CASE WHEN page % 5000 = 77 THEN ' Google' ELSE '' END END, 1,
	at, at::date, counter, hashint8(visitor / 2 * 5), region, hashint8extended(visitor, 91), draw(counter, 3, 3) - 1, os,
	agent, page(page), CASE WHEN draw(i, 20, 100) < 19 THEN '' WHEN phrase IS NOT NULL THEN 'http://yandex.ru/yandsearch?text=' || draw(phrase, 4, 1000000)
		ELSE page(referer) END, (draw(i, 21, 100) < 11)::int, draw(referer, 5, 20) * 500, draw(referer, 6, 200) * 7,
	draw(page, 5, 20) * 500, draw(page, 6, 200) * 7, width, width * 3 / 4, 24 + draw(session, 22, 2) * 8, 11 - draw(session, 23, 3),
	draw(session, 24, 4), draw(session, 24, 8), 0, 0, draw(session, 25, 30), ('{10,D,0,5,%s,22,16}'::text[])[1 + draw(session, 26, 7)],
	1, (i % 40 > 0)::int, mobile::int, CASE WHEN mobile THEN 1 + draw(visitor, 28, 40) ELSE 0 END,
	CASE WHEN mobile THEN ('{iPad,iPhone,A500,N8-00,GT-,HTC }'::text[])[1 + skewed(visitor, 29, 6)] || CASE WHEN draw(visitor, 29, 2) = 0 THEN skewed(visitor, 30, 50)::text ELSE '' END ELSE '' END,
	CASE WHEN draw(i, 31, 50) = 0 THEN '{"k":' || draw(i, 32, 900) || '}' ELSE '' END, draw(visitor, 33, 40000), draw(i, 34, 8) - 1,
	CASE WHEN phrase IS NOT NULL THEN 1 + skewed(i, 35, 40) WHEN draw(i, 36, 20) = 0 THEN 2 ELSE 0 END, COALESCE(words(phrase), ''),
	CASE WHEN draw(i, 37, 1000) < 6 THEN 1 + skewed(i, 38, 18) ELSE 0 END, 0, width - draw(session, 39, 60), width * 3 / 4 - draw(session, 40, 250),
	draw(visitor, 41, 20) * 30, at + draw(i, 42, 900) * interval '1 second', draw(session, 43, 2) * 4, draw(session, 43, 2), draw(session, 44, 60000), 0,
	CASE WHEN draw(counter, 45, 4) = 0 THEN 'windows' ELSE 'utf-8;charset' END, draw(counter, 46, 300) + 1000, (draw(i, 47, 20) = 0)::int,
	(draw(i, 48, 100) = 0)::int, (draw(session, 49, 3) > 0)::int, CASE WHEN draw(visitor, 50, 2) = 0 THEN hashint8extended(visitor, 92) ELSE 0 END,
	CASE WHEN draw(i, 51, 5) = 0 THEN page(page) ELSE '' END, hashint8(i), 0, (draw(i, 52, 30) = 0)::int, (draw(i, 53, 20) = 0)::int,
	(draw(i, 54, 20) = 0)::int, (draw(i, 55, 8) = 0)::int, ('{E,5,g,S,t}'::text[])[1 + draw(i, 56, 5)], at + (draw(visitor, 41, 20) - 8) * interval '1 hour',
	draw(visitor, 57, 6) * 9, draw(visitor, 58, 3), draw(visitor, 59, 4), draw(visitor, 60, 20000), draw(visitor, 61, 70) / 10, hashint8(visitor / 2 * 7),
	CASE WHEN draw(i, 62, 3) = 0 THEN hashint8(session) ELSE -1 END, -1, draw(i, 63, 40), ('{ru,ru,ru,en,uk}'::text[])[1 + draw(visitor, 64, 5)],
	('{RU,RU,US,UA,KZ}'::text[])[1 + draw(visitor, 65, 5)], '', '', 0, draw(i, 66, 300), draw(i, 67, 50), draw(i, 68, 120), draw(i, 69, 900), draw(i, 70, 1800),
	draw(i, 71, 500), 0, '', 0, '', 'NHr', 0, '', '', '', '',
	CASE WHEN utm THEN ('{yandex,google,mail,rss}'::text[])[1 + draw(i, 72, 4)] ELSE '' END, CASE WHEN utm THEN 'cpc' ELSE '' END,
	CASE WHEN utm THEN 'campaign' || skewed(i, 73, 500) ELSE '' END, CASE WHEN utm THEN draw(i, 74, 5000)::text ELSE '' END, '', '', 0,
	CASE WHEN referer % 100 = 0 THEN 3594120000172545465 ELSE hashint8extended(referer, 93) END,
	CASE WHEN page % 50 = 0 THEN 2868770270353813622 ELSE hashint8extended(page, 93) END, 0
FROM (SELECT i, session, visitor, mobile, counter, 1 + skewed(visitor, 10, 9000) AS region,
		CASE WHEN draw(i, 12, 100) < 13 THEN CASE WHEN draw(i, 13, 100) < 40 THEN i ELSE skewed(i, 14, :rows / 25) END END AS phrase,
		CASE WHEN draw(i, 15, 100) < 4 THEN :rows + i WHEN draw(i, 15, 100) < 20 THEN skewed(i, 16, 4096) ELSE i / 60000 * 9000 + skewed(i, 17, 9000) END AS page,
		CASE WHEN draw(i, 18, 10) < 2 THEN 2 * :rows + i ELSE i / 60000 * 5000 + skewed(i, 18, 6000) END AS referer,
		1 + skewed(visitor, 6, 90) AS os, 1 + skewed(visitor, 7, 80) AS agent,
		('{1024,1280,1366,1440,1600,1920,1996,800}'::int[])[1 + draw(visitor, 8, 8)] AS width, draw(i, 9, 40) = 0 AS utm,
		timestamp '2013-07-02' + (draw(session, 11, 30 * 86400) + 40 * (i % 6)) * interval '1 second' AS at
	FROM (SELECT i, session, visitor, draw(visitor, 27, 100) < 6 AS mobile,
			CASE WHEN place = 6 THEN 62 ELSE 100 + place * 37 END AS counter
		FROM (SELECT i, i / 6 AS session, CASE WHEN draw(i / 6, 1, 10) < 8 THEN i / 6 ELSE skewed(i / 6, 2, :rows / 6) END AS visitor,
				(i * 10000 / :rows * (i * 10000 / :rows) / 10000) * (i * 10000 / :rows * (i * 10000 / :rows) / 10000) * 65 / 1000000 AS place
			FROM generate_series(0::bigint, :rows - 1) i OFFSET 0) x OFFSET 0) x OFFSET 0) x;
