-- bit_and, bit_or and bit_xor of integers in engines.
SET client_min_messages = warning;
CREATE SCHEMA agg_bits;
SET search_path = agg_bits, public;

\set node GpucolAgg
\getenv srcdir PG_ABS_SRCDIR
\set include :srcdir /include/differ.psql
\set ECHO none
\i :include
\set ECHO all

CREATE TABLE mask (k int, t text, a smallint, b int, c bigint, n int) USING gpucol;
INSERT INTO mask SELECT i % 9, 'x' || i % 3, (i % 32767) | 5, hashint4(i) | 64, hashint8(i) | 1099511627776, CASE WHEN i % 9 <> 4 THEN i END FROM generate_series(1, 3000) i;
INSERT INTO mask VALUES (1, 'x1', -32768, -2147483648, -9223372036854775808, 0), (NULL, NULL, NULL, NULL, NULL, NULL), (77, 'alone', 7, 7, 7, 7);
ANALYZE mask;

SELECT e FROM unnest('{"",k,t,"k % 4, t",n}'::text[]) k, unnest('{a,b,c,n,"b + 1","c - a","CASE WHEN k > 3 THEN b END"}'::text[]) x, unnest('{"","WHERE k > 100","WHERE n % 2 = 0"}'::text[]) w,
	differ(format('SELECT %s bit_and(%s), bit_or(%2$s), bit_and(%2$s) FILTER (WHERE k = 2), bit_or(DISTINCT %2$s), bit_xor(%2$s), bit_xor(%2$s) FILTER (WHERE k > 1), count(*) FROM mask %s %s', CASE k WHEN '' THEN '' ELSE k || ',' END, x, w,
		CASE k WHEN '' THEN '' ELSE 'GROUP BY ' || k END)) e WHERE e IS NOT NULL;
SELECT e FROM differ('SELECT k, t, bit_and(b), bit_or(c) FROM mask GROUP BY ROLLUP (k, t)') e WHERE e IS NOT NULL;
SELECT bit_and(a), bit_or(a), bit_xor(a), bit_and(b), bit_or(b), bit_and(c), bit_or(c) FROM mask WHERE k = 77;

SET client_min_messages = error;
DROP SCHEMA agg_bits CASCADE;
