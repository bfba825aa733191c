-- An analyst's table: N rows (psql -v N=1000000 -f sale.sql), as a gpucol table and as heap.
DROP TABLE IF EXISTS sale, sale_h, customer;
CREATE UNLOGGED TABLE sale (id int8, ts timestamp, cust int4, sku text, region text, price numeric(10,2), qty int2, disc float8, key8 int8, flag bool, note text) USING gpucol;
CREATE TABLE customer (id int4 PRIMARY KEY, segment text, city text);
INSERT INTO customer SELECT i, 'S' || i % 7, 'city ' || i % 900 FROM generate_series(0, 199999) i;
INSERT INTO sale SELECT i, '2024-01-01'::timestamp + i * interval '1 second', (hashint8extended(i, 1) & 2147483647) % 200000,
	'sku-' || (hashint8extended(i, 2) & 2147483647) % 50000, (ARRAY['north','south','east','west','centre','islands'])[1 + (i % 6)],
	((hashint8extended(i, 3) & 2147483647) % 1000000) / 100.0, 1 + (hashint8extended(i, 4) & 2147483647) % 100,
	(hashint8extended(i, 5) & 2147483647) / 2147483648.0, hashint8extended(i % 5000000, 6), i % 3 = 0,
	CASE WHEN i % 10 < 7 THEN 'note ' || i % 1000 END FROM generate_series(1, :N::int8) i;
CREATE UNLOGGED TABLE sale_h AS SELECT * FROM sale;
VACUUM ANALYZE sale, sale_h, customer;
