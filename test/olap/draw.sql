-- draw(i, salt, n): a number from 0 to n - 1, the same on every machine, as good as uniform.
CREATE OR REPLACE FUNCTION public.draw(i bigint, salt bigint, n bigint) RETURNS bigint
	IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS 'SELECT (hashint8extended(i, salt) & 9223372036854775807) % n';
