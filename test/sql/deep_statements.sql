-- Statements of many levels: planning them takes time and memory by their length, not by powers of
-- it.  Each is run with pushdown and without, and has the same rows.
CREATE TABLE deep (i int, i2 int, t text, t2 text, f float8, m int NOT NULL) USING gpucol;
INSERT INTO deep SELECT g, nullif(g % 7, 6), 't' || g % 5, 'u' || g % 3, g % 4, g % 11 FROM generate_series(1, 1500) g;
VACUUM ANALYZE deep;

CREATE FUNCTION own(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
CREATE FUNCTION own_text(x text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';

-- `step` around `base` so many times; @ stands for what it is around, # for the level.
CREATE FUNCTION nest(base text, step text, levels int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. levels LOOP
		base := replace(replace(step, '#', n::text), '@', base);
	END LOOP;
	RETURN base;
END $$;

-- A statement's rows, with pushdown or without.
CREATE FUNCTION rows_of(statement text, pushdown text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('gpucol.pushdown', pushdown, true);
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), ''-'') FROM (%s) q',
				   statement) INTO found;
	RETURN found;
END $$;

CREATE TABLE statements (kind text, levels int, statement text);
INSERT INTO statements
SELECT kind, levels, nest(base, step, levels) FROM (VALUES
	('groups in groups', 24, 'SELECT i, i2 v FROM deep',
	 'SELECT i2 % (# + 3) i, max(v) v FROM (SELECT q#.*, v % 7 i2 FROM (@) q#) z GROUP BY 1'),
	('groups of joins', 20, 'SELECT i, i2::bigint v FROM deep',
	 'SELECT z.i % (1000 - # * 20) i, sum(z.v)::bigint % 1000 v FROM (@) z JOIN deep d# ON d#.i = z.v + 1 GROUP BY 1'),
	('windows and groups', 16, 'SELECT i, i2::bigint v FROM deep',
	 'SELECT i % 900 i, max(r) % 100 v FROM (SELECT q#.*, row_number() OVER (PARTITION BY v % 5 ORDER BY i, v) r FROM (@) q#) z GROUP BY 1'),
	('EXCEPT', 16, 'SELECT i FROM deep WHERE i < 900', 'SELECT i FROM deep WHERE i > # EXCEPT (@)'),
	('NOT IN', 20, 'SELECT i2 FROM deep WHERE i2 > 3', 'SELECT i FROM deep WHERE i2 NOT IN (@)'),
	('NOT IN below OR', 20, 'SELECT i2 FROM deep WHERE i2 > 3', 'SELECT i FROM deep WHERE i2 NOT IN (@) OR i = #'),
	('NULLIF', 60, 't2', 'nullif(@, t)'),
	('a function of its own', 40, 'own(f)', '(@) + 1'),
	('a CASE of texts', 40, 'own_text(t)', 'CASE WHEN i2 = # THEN t2 ELSE @ END')) s (kind, levels, base, step);
UPDATE statements SET statement = format('SELECT %s x, count(*) FROM deep GROUP BY 1', statement)
WHERE statement !~ '^SELECT';
INSERT INTO statements SELECT kind || ', least', levels, regexp_replace(statement, '^SELECT (.*) x, count.*$', 'SELECT i2, min(\1) FROM deep GROUP BY 1')
FROM statements WHERE statement ~ ' x, count';

SELECT kind, levels, rows_of(statement, 'allow') = rows_of(statement, 'forbid') AS same
FROM statements ORDER BY kind;

-- A fallback of many levels that is run: this sum is no bigint, which PostgreSQL says when it sums.
SELECT nest('SELECT i, i2 v FROM deep', 'SELECT i2 % (# + 3) i, max(v) v FROM (SELECT q#.*, v % 7 i2 FROM (@) q#) z GROUP BY 1', 12) AS inner_query \gset
SELECT sum(v + 9223372036854775800) FROM (:inner_query) q;
SELECT sum(v * 4611686018427387904 / 3) FROM (:inner_query) q;

DROP FUNCTION own, own_text, nest, rows_of;
DROP TABLE deep, statements;
