-- The 43 statements of ClickBench.  :many is the number of rows that a group must exceed in two of them: 100,000
-- of 100 million.  Where a statement leaves open which rows come first, a comment has what settles it for a comparison.
-- q0
select count(*) FROM hits;
-- q1
select count(*) FROM hits WHERE AdvEngineID <> 0;
-- q2
select sum(AdvEngineID), count(*), avg(ResolutionWidth) FROM hits;
-- q3
select avg(UserID) FROM hits;
-- q4
select count(DISTINCT UserID) FROM hits;
-- q5
select count(DISTINCT SearchPhrase) FROM hits;
-- q6
select min(EventDate), max(EventDate) FROM hits;
-- q7
select AdvEngineID, count(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY count(*) DESC;
-- q8
select RegionID, count(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC /*, 1, 2*/ LIMIT
	10;
-- q9
select RegionID, sum(AdvEngineID), count(*) AS c, avg(ResolutionWidth), count(DISTINCT UserID) FROM hits
	GROUP BY RegionID ORDER BY c DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q10
select MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY
	MobilePhoneModel ORDER BY u DESC /*, 1, 2*/ LIMIT 10;
-- q11
select MobilePhone, MobilePhoneModel, count(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
	GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC /*, 1, 2, 3*/ LIMIT 10;
-- q12
select SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c
	DESC /*, 1, 2*/ LIMIT 10;
-- q13
select SearchPhrase, count(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase
	ORDER BY u DESC /*, 1, 2*/ LIMIT 10;
-- q14
select SearchEngineID, SearchPhrase, count(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY
	SearchEngineID, SearchPhrase ORDER BY c DESC /*, 1, 2, 3*/ LIMIT 10;
-- q15
select UserID, count(*) FROM hits GROUP BY UserID ORDER BY count(*) DESC /*, 1, 2*/ LIMIT 10;
-- q16
select UserID, SearchPhrase, count(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY count(*) DESC /*,
	1, 2, 3*/ LIMIT 10;
-- q17
select UserID, SearchPhrase, count(*) FROM hits GROUP BY UserID, SearchPhrase /* ORDER BY 1, 2, 3*/ LIMIT
	10;
-- q18
select UserID, extract(minute FROM EventTime) AS m, SearchPhrase, count(*) FROM hits GROUP BY UserID, m,
	SearchPhrase ORDER BY count(*) DESC /*, 1, 2, 3, 4*/ LIMIT 10;
-- q19
select UserID FROM hits WHERE UserID = 435090932899640449;
-- q20
select count(*) FROM hits WHERE URL LIKE '%google%';
-- q21
select SearchPhrase, min(URL), count(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> ''
	GROUP BY SearchPhrase ORDER BY c DESC /*, 1, 2, 3*/ LIMIT 10;
-- q22
select SearchPhrase, min(URL), min(Title), count(*) AS c, count(DISTINCT UserID) FROM hits WHERE Title
	LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c
	DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q23
select * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime /*, 1*/ LIMIT 10;
-- q24
select SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime /*, 1*/ LIMIT 10;
-- q25
select SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase /*, 1*/ LIMIT 10;
-- q26
select SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase /*, 1*/ LIMIT 10;
-- q27
select CounterID, avg(length(URL)) AS l, count(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID
	HAVING count(*) > :many ORDER BY l DESC /*, 1, 2, 3*/ LIMIT 25;
-- q28
select regexp_replace(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, avg(length(Referer)) AS l,
	count(*) AS c, min(Referer) FROM hits WHERE Referer <> '' GROUP BY k HAVING count(*) > :many ORDER BY l
	DESC /*, 1, 2, 3, 4*/ LIMIT 25;
-- q29
select sum(ResolutionWidth), sum(ResolutionWidth + 1), sum(ResolutionWidth + 2), sum(ResolutionWidth +
	3), sum(ResolutionWidth + 4), sum(ResolutionWidth + 5), sum(ResolutionWidth + 6), sum(ResolutionWidth +
	7), sum(ResolutionWidth + 8), sum(ResolutionWidth + 9), sum(ResolutionWidth + 10), sum(ResolutionWidth +
	11), sum(ResolutionWidth + 12), sum(ResolutionWidth + 13), sum(ResolutionWidth + 14),
	sum(ResolutionWidth + 15), sum(ResolutionWidth + 16), sum(ResolutionWidth + 17), sum(ResolutionWidth +
	18), sum(ResolutionWidth + 19), sum(ResolutionWidth + 20), sum(ResolutionWidth + 21),
	sum(ResolutionWidth + 22), sum(ResolutionWidth + 23), sum(ResolutionWidth + 24), sum(ResolutionWidth +
	25), sum(ResolutionWidth + 26), sum(ResolutionWidth + 27), sum(ResolutionWidth + 28),
	sum(ResolutionWidth + 29), sum(ResolutionWidth + 30), sum(ResolutionWidth + 31), sum(ResolutionWidth +
	32), sum(ResolutionWidth + 33), sum(ResolutionWidth + 34), sum(ResolutionWidth + 35),
	sum(ResolutionWidth + 36), sum(ResolutionWidth + 37), sum(ResolutionWidth + 38), sum(ResolutionWidth +
	39), sum(ResolutionWidth + 40), sum(ResolutionWidth + 41), sum(ResolutionWidth + 42),
	sum(ResolutionWidth + 43), sum(ResolutionWidth + 44), sum(ResolutionWidth + 45), sum(ResolutionWidth +
	46), sum(ResolutionWidth + 47), sum(ResolutionWidth + 48), sum(ResolutionWidth + 49),
	sum(ResolutionWidth + 50), sum(ResolutionWidth + 51), sum(ResolutionWidth + 52), sum(ResolutionWidth +
	53), sum(ResolutionWidth + 54), sum(ResolutionWidth + 55), sum(ResolutionWidth + 56),
	sum(ResolutionWidth + 57), sum(ResolutionWidth + 58), sum(ResolutionWidth + 59), sum(ResolutionWidth +
	60), sum(ResolutionWidth + 61), sum(ResolutionWidth + 62), sum(ResolutionWidth + 63),
	sum(ResolutionWidth + 64), sum(ResolutionWidth + 65), sum(ResolutionWidth + 66), sum(ResolutionWidth +
	67), sum(ResolutionWidth + 68), sum(ResolutionWidth + 69), sum(ResolutionWidth + 70),
	sum(ResolutionWidth + 71), sum(ResolutionWidth + 72), sum(ResolutionWidth + 73), sum(ResolutionWidth +
	74), sum(ResolutionWidth + 75), sum(ResolutionWidth + 76), sum(ResolutionWidth + 77),
	sum(ResolutionWidth + 78), sum(ResolutionWidth + 79), sum(ResolutionWidth + 80), sum(ResolutionWidth +
	81), sum(ResolutionWidth + 82), sum(ResolutionWidth + 83), sum(ResolutionWidth + 84),
	sum(ResolutionWidth + 85), sum(ResolutionWidth + 86), sum(ResolutionWidth + 87), sum(ResolutionWidth +
	88), sum(ResolutionWidth + 89) FROM hits;
-- q30
select SearchEngineID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE
	SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q31
select WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE
	SearchPhrase <> '' GROUP BY WatchID, ClientIP ORDER BY c DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q32
select WatchID, ClientIP, count(*) AS c, sum(IsRefresh), avg(ResolutionWidth) FROM hits GROUP BY WatchID,
	ClientIP ORDER BY c DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q33
select URL, count(*) AS c FROM hits GROUP BY URL ORDER BY c DESC /*, 1, 2*/ LIMIT 10;
-- q34
select 1, URL, count(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC /*, 1, 2, 3*/ LIMIT 10;
-- q35
select ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, count(*) AS c FROM hits GROUP BY ClientIP,
	ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC /*, 1, 2, 3, 4, 5*/ LIMIT 10;
-- q36
select URL, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND
	EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> '' GROUP BY URL ORDER BY
	PageViews DESC /*, 1, 2*/ LIMIT 10;
-- q37
select Title, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND
	EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> '' GROUP BY Title ORDER
	BY PageViews DESC /*, 1, 2*/ LIMIT 10;
-- q38
select URL, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND
	EventDate <= '2013-07-31' AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY
	PageViews DESC /*, 1, 2*/ LIMIT 10 OFFSET 1000;
-- q39
select TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0)
	THEN Referer ELSE '' END AS Src, URL AS Dst, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND
	EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 GROUP BY TraficSourceID,
	SearchEngineID, AdvEngineID, Src, Dst ORDER BY PageViews DESC /*, 1, 2, 3, 4, 5, 6*/ LIMIT 10 OFFSET
	1000;
-- q40
select URLHash, EventDate, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >=
	'2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND TraficSourceID IN (-1, 6) AND
	RefererHash = 3594120000172545465 GROUP BY URLHash, EventDate ORDER BY PageViews DESC /*, 1, 2, 3*/
	LIMIT 10 OFFSET 100;
-- q41
select WindowClientWidth, WindowClientHeight, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND
	EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND IsRefresh = 0 AND DontCountHits = 0 AND
	URLHash = 2868770270353813622 GROUP BY WindowClientWidth, WindowClientHeight ORDER BY PageViews DESC /*,
	1, 2, 3*/ LIMIT 10 OFFSET 10000;
-- q42
select date_trunc('minute', EventTime) AS M, count(*) AS PageViews FROM hits WHERE CounterID = 62 AND
	EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY
	date_trunc('minute', EventTime) ORDER BY date_trunc('minute', EventTime) /*, 1, 2*/ LIMIT 10 OFFSET 1000;
