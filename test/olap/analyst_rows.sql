-- Rows of the analysts' statements: :scale times 1,000,000.  Floats are eighths, so that sums are exact in any
-- order; n has values of 0 to 3 digits after the point, q of two; about one value in 30 is NULL.
INSERT INTO events
SELECT k, NULLIF(draw(k, 1, 100), 7), NULLIF(draw(k, 2, 10000), 99) - 5000, NULLIF(draw(k, 3, 50), 3) * 10000000019,
	CASE WHEN k % 31 <> 0 THEN draw(k, 4, 1000000) / 100.0 END,
	CASE WHEN k % 29 <> 0 THEN CASE k % 4 WHEN 0 THEN draw(k, 5, 100000)::numeric WHEN 1 THEN round(draw(k, 5, 100000) / 10.0, 1)
		WHEN 2 THEN round((draw(k, 5, 100000) - 50000) / 100.0, 2) ELSE round(draw(k, 5, 100000) / 1000.0, 3) END END,
	CASE WHEN k % 37 <> 0 THEN round((draw(k, 6, 20000000) - 1000000) / 100.0, 2) END,
	CASE WHEN k % 33 <> 0 THEN draw(k, 7, 4000) / 8.0 - 100 END, CASE WHEN k % 27 <> 0 THEN draw(k, 8, 800000) / 8.0 - 20000 END,
	CASE WHEN k % 26 <> 0 THEN draw(k, 9, 3) = 0 END, CASE WHEN k % 25 <> 0 THEN date '2020-01-01' + draw(k, 10, 1500)::int END,
	CASE WHEN k % 34 <> 0 THEN timestamp '2021-03-01' + draw(k, 11, 900000) * interval '97 seconds' END,
	CASE WHEN k % 36 <> 0 THEN timestamptz '2021-03-01 00:00+00' + draw(k, 12, 9000000) * interval '11 seconds' END,
	CASE WHEN k % 39 <> 0 THEN time '00:00' + draw(k, 13, 86400) * interval '1 second' END,
	CASE WHEN k % 41 <> 0 THEN draw(k, 14, 1000) * interval '37 minutes' + draw(k, 15, 5) * interval '1 day' END,
	CASE WHEN k % 28 <> 0 THEN (ARRAY['north', 'south', 'East', 'west', 'Ärmel', 'côte', ''])[1 + draw(k, 16, 7)] END,
	CASE WHEN k % 32 <> 0 THEN 'http://' || (ARRAY['a', 'shop', 'news'])[1 + draw(k, 17, 3)] || draw(k, 18, 50) || '.example.org/p' || draw(k, 19, 200000)
		|| CASE WHEN draw(k, 20, 4) = 0 THEN '?q=' || draw(k, 21, 1000) ELSE '' END END,
	CASE WHEN k % 35 <> 0 THEN 'user ' || draw(k, 22, 5000) END, CASE WHEN k % 23 <> 0 THEN 'c' || draw(k, 23, 300) END,
	CASE WHEN k % 22 <> 0 THEN md5('g' || draw(k, 24, 30000))::uuid END,
	CASE WHEN k % 21 <> 0 THEN ('10.' || draw(k, 25, 4) || '.' || draw(k, 26, 16) || '.' || draw(k, 27, 256) || CASE WHEN k % 5 = 0 THEN '/24' ELSE '' END)::inet END,
	CASE WHEN k % 24 <> 0 THEN jsonb_build_object('k', draw(k, 28, 20), 'name', 'n' || draw(k, 29, 7), 'x', CASE WHEN k % 3 = 0 THEN NULL ELSE draw(k, 30, 1000) / 10.0 END,
		'tags', jsonb_build_array(draw(k, 31, 5), draw(k, 32, 5))) END,
	CASE WHEN k % 38 <> 0 THEN ARRAY[draw(k, 33, 10), draw(k, 34, 10), NULLIF(draw(k, 35, 10), 4)]::int[] END,
	CASE WHEN k % 42 <> 0 THEN ARRAY['t' || draw(k, 36, 12), 't' || draw(k, 37, 12)] END,
	CASE WHEN k % 43 <> 0 THEN (enum_range(NULL::mood))[1 + draw(k, 38, 4)] END,
	CASE WHEN k % 44 <> 0 THEN decode(md5('y' || draw(k, 39, 2000)), 'hex') END, CASE WHEN k % 45 <> 0 THEN (draw(k, 40, 1000000) / 100.0)::numeric::money END
FROM generate_series(1, (1000000 * :scale)::int) k;
