-- Rows of the small star, :scale times 3,000,000 sales, half as many before, a tenth as many refunds.
INSERT INTO store SELECT 'S' || lpad(i::text, 3, '0'), 'city ' || draw(i, 101, 40), (ARRAY['north', 'south', 'east', 'west'])[1 + draw(i, 102, 4)],
	date '2010-01-01' + draw(i, 103, 5000)::int, draw(i, 104, 20000) / 10.0, CASE WHEN i % 9 <> 0 THEN 1 + draw(i, 105, 90) END
FROM generate_series(1, 120) i;

INSERT INTO item SELECT 'sku-' || i, 'item ' || i % 700, CASE WHEN i % 41 <> 0 THEN 'cat ' || draw(i, 106, 12) END, 'brand ' || draw(i, 107, 60),
	(1 + draw(i, 108, 500000)) / 1000.0, CASE WHEN i % 4 = 1 THEN 'sku-' || 1 + draw(i, 109, (5000 * :scale)::int + 10) END
FROM generate_series(1, (20000 * :scale + 40)::int) i;

INSERT INTO client SELECT i, 'client ' || i, CASE WHEN i % 3 <> 0 THEN 1 + draw(i, 110, (100000 * :scale)::int) END,
	CASE WHEN i % 17 <> 0 THEN 'city ' || draw(i, 111, 60) END, (ARRAY['A', 'B', 'C'])[1 + draw(i, 112, 3)],
	CASE WHEN i % 23 <> 0 THEN date '1940-01-01' + draw(i, 113, 24000)::int END, draw(i, 114, 10000000) / 1000.0 - 2000
FROM generate_series(1, (200000 * :scale)::int) i;

INSERT INTO sale SELECT i, day, day + draw(i, 122, 86400) * interval '1 second', CASE WHEN i % 101 <> 0 THEN 'S' || lpad((1 + draw(i, 123, 110))::text, 3, '0') END,
	'sku-' || 1 + draw(i, 124, (20000 * :scale + 50)::int), CASE WHEN i % 13 <> 0 THEN 1 + draw(i, 125, (150000 * :scale)::int) END,
	1 + draw(i, 126, 12), draw(i, 127, 100000) / 100.0, CASE WHEN i % 5 <> 0 THEN draw(i, 128, 40) / 80.0 END, (ARRAY['web', 'shop', 'phone', NULL])[1 + draw(i, 129, 4)]
FROM (SELECT i, date '2023-01-01' + (i * 730 / (3000000 * :scale)::bigint)::int AS day FROM generate_series(1, (3000000 * :scale)::int - 1) i) x;

INSERT INTO sale_before SELECT -i, day, day + draw(i, 132, 86400) * interval '1 second', 'S' || lpad((1 + draw(i, 133, 90))::text, 3, '0'),
	'sku-' || 1 + draw(i, 134, (15000 * :scale + 50)::int), 1 + draw(i, 135, (180000 * :scale)::int),
	1 + draw(i, 136, 12), draw(i, 137, 100000) / 100.0, draw(i, 138, 40) / 80.0, (ARRAY['web', 'shop', 'phone', NULL])[1 + draw(i, 139, 4)]
FROM (SELECT i, date '2022-01-01' + (i * 365 / (1500000 * :scale)::bigint)::int AS day FROM generate_series(1, (1500000 * :scale)::int - 1) i) x;

INSERT INTO refund SELECT sale, day + draw(sale, 141, 30)::int, (ARRAY['broken', 'late', 'other', NULL])[1 + draw(sale, 142, 4)], amount * (1 + draw(sale, 143, 4)) / 4
FROM sale WHERE draw(sale, 144, 10) = 0;

INSERT INTO target SELECT store, month::date, 1000 + draw(hashtext(store), extract(epoch FROM month)::bigint, 900000) / 10.0
FROM store, generate_series(timestamp '2023-01-01', timestamp '2024-12-01', interval '1 month') month WHERE store < 'S100';

INSERT INTO rate SELECT c, date '2022-01-01' + 20 * i, date '2022-01-01' + 20 * i + 20, (500000 + draw(i, ascii(c), 1000000)) / 1000000.0
FROM unnest(ARRAY['EUR', 'USD', 'GBP']) c, generate_series(0, 60) i;
