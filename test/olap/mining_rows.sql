-- Rows of the data mining statements, :scale times 1,000,000 points, views, samples and readings; a
-- tenth of that in documents and baskets.  Coordinates are sixteenths, so that sums are exact in any order.

INSERT INTO points SELECT i, draw(i, 1, 16000) / 16.0, draw(i, 2, 16000) / 16.0, draw(i, 3, 16000) / 16.0, draw(i, 4, 3)
FROM generate_series(1, (1000000 * :scale)::int) i;

INSERT INTO centres SELECT i, draw(i, 5, 1000), draw(i, 6, 1000), draw(i, 7, 1000) FROM generate_series(1, 100) i;

-- Words of 90; bodies differ, phrases are 500, tags 20 and ratings 5.
INSERT INTO documents
SELECT i, (SELECT string_agg('word' || draw(i * 8 + w, 8, 90), ' ') FROM generate_series(1, 8) w),
	CASE WHEN i % 50 <> 0 THEN (SELECT string_agg('word' || draw(i % 500 * 8 + w, 9, 90), ' ') FROM generate_series(1, 6) w) END,
	CASE WHEN i % 40 <> 0 THEN ARRAY['tag' || draw(i, 10, 20), 'tag' || draw(i, 11, 20), NULLIF('tag' || draw(i, 12, 20), 'tag0')] END,
	ARRAY[draw(i, 13, 5), draw(i, 14, 5)]
FROM generate_series(1, (100000 * :scale)::int) i;

INSERT INTO views SELECT 'http://example.org/page/' || draw(i, 15, 103), draw(i, 16, 5000), '10.0.' || draw(i, 17, 8) || '.' || draw(i, 18, 250)
FROM generate_series(1, (1000000 * :scale)::int) i;

INSERT INTO samples SELECT draw(i, 19, 3), draw(i, 20, 4), draw(i, 21, 5), draw(i, 22, 6), (draw(i, 19, 3) + draw(i, 23, 4) > 2)::int
FROM generate_series(1, (1000000 * :scale)::int) i;

INSERT INTO matrix SELECT i, j, draw(i * 10000 + j, 24, 100) / 4.0
FROM generate_series(1, (200 * sqrt(:scale))::int) i, generate_series(1, (200 * sqrt(:scale))::int) j;

INSERT INTO baskets SELECT DISTINCT i / 4, draw(i, 25, 40) * draw(i, 26, 40) / 40
FROM generate_series(1, (100000 * :scale)::int) i;

INSERT INTO readings SELECT timestamp '2024-01-01' + i / 20 * interval '1 minute', i % 20, CASE WHEN draw(i, 27, 10) > 0 THEN draw(i, 28, 1000) / 8.0 END
FROM generate_series(0, (1000000 * :scale)::int) i WHERE i / 20 % 180 < 120;

-- 500 streets with four ways on, a weather for each tick; at scale 1 4,096 cars, 64 buses and 16,384 pedestrians.
INSERT INTO streets SELECT i, 200 + draw(i, 29, 400), 8 + draw(i, 30, 3) * 4 FROM generate_series(1, 500) i;

INSERT INTO turns SELECT street, c, 1 + draw(street * 4 + c, 31, 500) FROM generate_series(1, 500) street, generate_series(0, 3) c;

INSERT INTO weathers SELECT t, CASE WHEN t % 12 < 8 THEN 4 WHEN t % 12 < 11 THEN 3 ELSE 1 END FROM generate_series(0, 99) t;

INSERT INTO actors SELECT i, CASE WHEN i % 321 = 0 THEN 'bus' WHEN i % 5 = 0 THEN 'car' ELSE 'pedestrian' END, 1 + draw(i, 32, 500), 0
FROM generate_series(1, (20544 * :scale)::int) i;
