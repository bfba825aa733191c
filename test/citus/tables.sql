-- tables.sql: a distributed, a co-located and a reference table in gpucol, and local twins in heap.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpucol;
SET citus.shard_count = 4;
SET citus.shard_replication_factor = 1;

CREATE TABLE sale (id bigint, customer int, product int, day date, amount numeric(10, 2), note text, PRIMARY KEY (customer, id)) USING gpucol;
CREATE TABLE customer (customer int PRIMARY KEY, region text) USING gpucol;
CREATE TABLE product (product int PRIMARY KEY, name text) USING gpucol;
CREATE TABLE part_of (product int, part int) USING gpucol;
SELECT create_distributed_table('sale', 'customer');
SELECT create_distributed_table('customer', 'customer', colocate_with => 'sale');
SELECT create_reference_table('product');
SELECT create_reference_table('part_of');

CREATE TABLE sale_heap AS
SELECT i::bigint AS id, i * 7919 % 5000 AS customer, i % 300 AS product, date '2024-01-01' + i % 400 AS day,
	(i % 99991 / 100.0)::numeric(10, 2) AS amount, CASE WHEN i % 10 > 0 THEN 'note ' || i % 50 END AS note
FROM generate_series(1, 200000) i;
CREATE TABLE customer_heap AS SELECT i AS customer, (ARRAY['north', 'south', 'east', 'west'])[1 + i % 4] AS region FROM generate_series(0, 4999) i;
CREATE TABLE product_heap AS SELECT i AS product, 'product ' || i AS name FROM generate_series(0, 299) i;
CREATE TABLE part_of_heap AS SELECT i AS product, (i * 3 + j) % 300 AS part FROM generate_series(0, 299) i, generate_series(1, 2) j WHERE i < 250;

\copy (SELECT * FROM sale_heap WHERE id <= 100000) TO 'sale.tsv'
\copy sale FROM 'sale.tsv'
INSERT INTO sale SELECT * FROM sale_heap WHERE id > 100000;
INSERT INTO customer SELECT * FROM customer_heap;
INSERT INTO product SELECT * FROM product_heap;
INSERT INTO part_of SELECT * FROM part_of_heap;
