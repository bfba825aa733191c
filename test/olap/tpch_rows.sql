-- Rows for tests of TPC-H, :scale times 6,000,000 line items or so.  They obey the schema and
-- the domains of the specification, but what some query selects is more frequent, so that
-- each of the 22 has an answer at a scale of 0.01.  For figures take tpchgen's rows.

INSERT INTO region SELECT DISTINCT region, region_name, 'region ' || region FROM public.nations;
INSERT INTO nation SELECT number, name, region, 'nation ' || number FROM public.nations;

INSERT INTO supplier
SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), substr(md5('s' || i), 1, 10 + draw(i, 1, 20)::int), nation,
	10 + nation || '-' || 100 + draw(i, 3, 900) || '-' || 100 + draw(i, 4, 900) || '-' || 1000 + draw(i, 5, 9000),
	draw(i, 6, 1099999) / 100.0 - 999.99,
	CASE draw(i, 7, 20) WHEN 0 THEN 'the Customer has its Complaints' WHEN 1 THEN 'a Customer that Recommends'
		ELSE 'furiously ' || md5('sc' || i) END
FROM generate_series(1, (10000 * :scale)::int) i, LATERAL (SELECT draw(i, 2, 25)::int AS nation) x;

INSERT INTO part
SELECT i, color[1 + draw(i, 11, 16)] || ' ' || color[1 + draw(i, 12, 16)] || ' ' || color[1 + draw(i, 13, 16)],
	'Manufacturer#' || m, CASE kind WHEN 0 THEN 'Brand#23' WHEN 1 THEN 'Brand#12' WHEN 2 THEN 'Brand#34' ELSE 'Brand#' || m || 1 + draw(i, 16, 5) END,
	CASE kind WHEN 3 THEN 'ECONOMY ANODIZED STEEL' ELSE
		(ARRAY['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])[1 + draw(i, 17, 6)] || ' '
		|| (ARRAY['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])[1 + draw(i, 18, 5)] || ' '
		|| (ARRAY['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'])[1 + draw(i, 19, 5)] END,
	CASE WHEN kind < 3 THEN 1 + draw(i, 20, 8) WHEN kind = 4 THEN 15 ELSE 1 + draw(i, 20, 50) END,
	CASE kind WHEN 0 THEN 'MED BOX' WHEN 1 THEN 'SM PACK' WHEN 2 THEN 'LG CASE' ELSE
		(ARRAY['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[1 + draw(i, 21, 5)] || ' '
		|| (ARRAY['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[1 + draw(i, 22, 8)] END,
	(90000 + i / 10 % 20001 + 100 * (i % 1000)) / 100.0, 'part ' || i % 1000
FROM (SELECT i, 1 + draw(i, 14, 5) AS m, draw(i, 15, 40) AS kind,
		ARRAY['almond', 'antique', 'azure', 'beige', 'blue', 'burlywood', 'coral', 'cream', 'dark', 'forest', 'green', 'ivory', 'lime',
			'navy', 'red', 'yellow'] AS color
	FROM generate_series(1, (200000 * :scale)::int) i) x;

INSERT INTO partsupp
SELECT p, (p + j * (s / 4 + (p - 1) / s)) % s + 1, 1 + draw(p * 4 + j, 31, 9999), (100 + draw(p * 4 + j, 32, 99901)) / 100.0,
	'supplied ' || md5((p * 4 + j)::text)
FROM generate_series(1, (200000 * :scale)::int) p, generate_series(0, 3) j, (SELECT (10000 * :scale)::int AS s) x;

INSERT INTO customer
SELECT i, 'Customer#' || lpad(i::text, 9, '0'), substr(md5('c' || i), 1, 10 + draw(i, 41, 20)::int), nation,
	10 + nation || '-' || 100 + draw(i, 43, 900) || '-' || 100 + draw(i, 44, 900) || '-' || 1000 + draw(i, 45, 9000),
	draw(i, 46, 1099999) / 100.0 - 999.99,
	(ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[1 + draw(i, 47, 5)], 'carefully ' || md5('cc' || i)
FROM generate_series(1, (150000 * :scale)::int) i, LATERAL (SELECT draw(i, 42, 25)::int AS nation) x;

-- One to seven lines an order; every 500th order is large.
INSERT INTO lineitem
SELECT o / 8 * 32 + o % 8 + 1, part, (part + draw(l, 52, 4) * (s / 4 + (part - 1) / s)) % s + 1, n, quantity,
	quantity * (90000 + part / 10 % 20001 + 100 * (part % 1000)) / 100.0, draw(l, 54, 11) / 100.0, draw(l, 55, 9) / 100.0,
	CASE WHEN shipped + 1 + draw(l, 58, 30)::int > date '1995-06-17' THEN 'N' WHEN draw(l, 59, 2) = 0 THEN 'R' ELSE 'A' END,
	CASE WHEN shipped > date '1995-06-17' THEN 'O' ELSE 'F' END, shipped, d + 30 + draw(l, 57, 61)::int,
	shipped + 1 + draw(l, 58, 30)::int,
	(ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[1 + draw(l, 60, 4)],
	(ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[1 + draw(l, 61, 7)], 'line ' || l % 10000
FROM (SELECT o, n, o * 8 + n AS l, s, 1 + draw(o * 8 + n, 51, (200000 * :scale)::int)::int AS part, d,
		CASE o % 500 WHEN 7 THEN 50 ELSE 1 + draw(o * 8 + n, 53, 50) END AS quantity, d + 1 + draw(o * 8 + n, 56, 121)::int AS shipped
	FROM (SELECT o, date '1992-01-01' + draw(o, 71, 2406)::int AS d, (10000 * :scale)::int AS s
			FROM generate_series(0, (1500000 * :scale)::int - 1) o) x,
		generate_series(1, 7) n
	WHERE n <= CASE o % 500 WHEN 7 THEN 7 ELSE 1 + draw(o, 72, 7) END) x;

-- Two customers of three have orders.
INSERT INTO orders
SELECT o / 8 * 32 + o % 8 + 1, 1 + draw(o, 73, (50000 * :scale)::int) * 3 + draw(o, 74, 2), status, total,
	date '1992-01-01' + draw(o, 71, 2406)::int,
	(ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[1 + draw(o, 75, 5)],
	'Clerk#' || lpad(draw(o, 76, 1000)::text, 9, '0'), 0,
	CASE draw(o, 77, 50) WHEN 0 THEN 'the special and other requests' ELSE 'quickly ' || md5('o' || o) END
FROM generate_series(0, (1500000 * :scale)::int - 1) o
	JOIN (SELECT l_orderkey, sum(round(l_extendedprice * (1 + l_tax) * (1 - l_discount), 2)) AS total,
			CASE WHEN min(l_linestatus) = 'O' THEN 'O' WHEN max(l_linestatus) = 'F' THEN 'F' ELSE 'P' END AS status
		FROM lineitem GROUP BY 1) x ON l_orderkey = o / 8 * 32 + o % 8 + 1;
