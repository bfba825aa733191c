-- queries.sql: one statement a line, over tables named @sale and so on: answered by the
-- distributed tables and by their twins in heap.
SELECT count(*), sum(amount), min(day), max(note), avg(amount) FROM @sale
SELECT product, count(*), sum(amount) FROM @sale WHERE day < '2024-06-01' GROUP BY product
SELECT customer, count(DISTINCT product), sum(amount) FROM @sale GROUP BY customer
SELECT note, count(*) FROM @sale GROUP BY note HAVING sum(amount) > 1000
SELECT id, amount FROM @sale ORDER BY amount DESC, id LIMIT 20
SELECT customer, sum(amount) AS s FROM @sale GROUP BY customer ORDER BY s DESC, customer LIMIT 10
SELECT c.region, count(*), sum(s.amount) FROM @sale s JOIN @customer c USING (customer) GROUP BY c.region
SELECT p.name, count(*), max(s.amount) FROM @sale s JOIN @product p USING (product) WHERE p.product < 50 GROUP BY p.name
SELECT a.product, count(*) FROM @sale a JOIN @sale b ON a.product = b.customer WHERE a.day = '2024-02-01' AND b.day = '2024-03-01' GROUP BY a.product
SELECT count(*) FROM @customer c WHERE NOT EXISTS (SELECT 1 FROM @sale s WHERE s.customer = c.customer AND s.amount > 900)
SELECT customer, id, amount FROM (SELECT customer, id, amount, row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM @sale) x WHERE n <= 2 AND customer < 100
WITH RECURSIVE r(product, part) AS (SELECT product, part FROM @part_of UNION SELECT r.product, p.part FROM r JOIN @part_of p ON p.product = r.part) SELECT count(*), sum(product::bigint * part) FROM r
WITH RECURSIVE r(part, depth) AS (SELECT 1, 0 UNION SELECT p.part, depth + 1 FROM r JOIN @part_of p ON p.product = r.part WHERE depth < 6) SELECT part, min(depth) FROM r GROUP BY part
SELECT customer, gpucol.u_topk(id, amount::float8, 0.5, 3) FROM @sale WHERE customer < 20 GROUP BY customer
