-- Rows of the Star Schema Benchmark, :scale times 6,000,000 line orders: every attribute
-- uniform in the domain of the specification (clause 2), drawn by hashing.  Of 100 customers
-- and suppliers :skew are of few cities that queries ask for, so that they have an answer at
-- a small scale; 0 for figures.

INSERT INTO dates
SELECT to_char(d, 'YYYYMMDD')::int, to_char(d, 'FMMonth DD, YYYY'), to_char(d, 'FMDay'), to_char(d, 'FMMonth'),
	extract(year FROM d)::int, to_char(d, 'YYYYMM')::int, to_char(d, 'MonYYYY'), extract(dow FROM d)::int + 1,
	extract(day FROM d)::int, extract(doy FROM d)::int, extract(month FROM d)::int, (extract(doy FROM d)::int - 1) / 7 + 1,
	(ARRAY['Winter', 'Winter', 'Spring', 'Spring', 'Spring', 'Summer', 'Summer', 'Summer', 'Fall', 'Fall', 'Christmas', 'Christmas'])
		[extract(month FROM d)::int],
	(extract(dow FROM d) = 6)::int, (extract(month FROM d + 1) <> extract(month FROM d))::int,
	(extract(doy FROM d)::int % 37 = 0)::int, (extract(dow FROM d) BETWEEN 1 AND 5)::int
FROM (SELECT date '1992-01-01' + i AS d FROM generate_series(0, 2555) i) x;

INSERT INTO customer
SELECT i, 'Customer#' || lpad(i::text, 9, '0'), substr(md5('c' || i), 1, 10 + draw(i, 1, 15)::int),
	rpad(left(name, 9), 9) || CASE WHEN draw(i, 8, 100) < :skew THEN 1 + 4 * draw(i, 3, 2) ELSE draw(i, 3, 10) END, name, region_name,
	10 + number || '-' || 100 + draw(i, 4, 900) || '-' || 100 + draw(i, 5, 900) || '-' || 1000 + draw(i, 6, 9000),
	(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[1 + draw(i, 7, 5)]
FROM generate_series(1, (30000 * :scale)::int) i JOIN public.nations
	ON number = CASE WHEN draw(i, 8, 100) < :skew THEN 23 + draw(i, 2, 2) ELSE draw(i, 2, 25) END;

INSERT INTO supplier
SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), substr(md5('s' || i), 1, 10 + draw(i, 11, 15)::int),
	rpad(left(name, 9), 9) || CASE WHEN draw(i, 18, 100) < :skew THEN 1 + 4 * draw(i, 13, 2) ELSE draw(i, 13, 10) END, name, region_name,
	10 + number || '-' || 100 + draw(i, 14, 900) || '-' || 100 + draw(i, 15, 900) || '-' || 1000 + draw(i, 16, 9000)
FROM generate_series(1, (2000 * :scale)::int) i JOIN public.nations
	ON number = CASE WHEN draw(i, 18, 100) < :skew THEN 23 + draw(i, 12, 2) ELSE draw(i, 12, 25) END;

INSERT INTO part
SELECT i, color[1 + draw(i, 21, 12)] || ' ' || color[1 + draw(i, 22, 12)], 'MFGR#' || m, 'MFGR#' || m || c,
	'MFGR#' || m || c || 1 + draw(i, 25, 40), color[1 + draw(i, 22, 12)],
	(ARRAY['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])[1 + draw(i, 26, 6)] || ' '
		|| (ARRAY['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])[1 + draw(i, 27, 5)] || ' '
		|| (ARRAY['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'])[1 + draw(i, 28, 5)],
	1 + draw(i, 29, 50),
	(ARRAY['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[1 + draw(i, 30, 5)] || ' '
		|| (ARRAY['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[1 + draw(i, 31, 8)]
FROM (SELECT i, 1 + draw(i, 23, 5) AS m, 1 + draw(i, 24, 5) AS c,
		ARRAY['almond', 'azure', 'beige', 'black', 'blue', 'brown', 'coral', 'cream', 'green', 'ivory', 'lime', 'red'] AS color
	FROM generate_series(1, (200000 * least(:scale, 1 + floor(log(2, greatest(:scale, 1)))))::int) i) x;

INSERT INTO lineorder
SELECT o + 1, 1 + i % 4, 1 + draw(o, 41, customers), part, 1 + draw(i, 43, suppliers), to_char(d, 'YYYYMMDD')::int,
	(ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECI', '5-LOW'])[1 + draw(o, 45, 5)], '0', quantity,
	quantity * price, 4 * quantity * price, discount, quantity * price / 100 * (100 - discount), 6 * price / 10,
	draw(i, 48, 9), to_char(d + 30 + draw(i, 49, 61)::int, 'YYYYMMDD')::int,
	(ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[1 + draw(i, 50, 7)]
FROM (SELECT i, o, part, customers, suppliers, date '1992-01-01' + draw(o, 44, 2406)::int AS d,
		1 + draw(i, 46, 50)::int AS quantity, draw(i, 47, 11)::int AS discount,
		(90000 + part / 10 % 20001 + 100 * (part % 1000))::int AS price
	FROM (SELECT i, i / 4 AS o, 1 + draw(i, 42, (SELECT count(*) FROM part)) AS part,
			(SELECT count(*) FROM customer) AS customers, (SELECT count(*) FROM supplier) AS suppliers
		FROM generate_series(0, (6000000 * :scale)::int - 1) i OFFSET 0) x OFFSET 0) x;
