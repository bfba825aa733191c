-- CREATE TABLE AS, SELECT INTO and INSERT ... SELECT of one scan are written in
-- batches; everything that looks at single rows keeps PostgreSQL's way.
LOAD 'gpucol';
CREATE SCHEMA into_batches;
SET search_path = into_batches;
CREATE TABLE edge (src int, dst int) USING gpucol;
INSERT INTO edge SELECT i % 71, i * 37 % 73 FROM generate_series(1, 150) i;
INSERT INTO edge VALUES (3, NULL), (NULL, 5);
CREATE TABLE typed (a int, b int, t text, n numeric, d date, f float8) USING gpucol;
INSERT INTO typed SELECT i, i + 1, CASE WHEN i % 7 > 0 THEN repeat('x', i % 40) END, i / 8.0, date '2024-01-01' + i, i / 3.0
FROM generate_series(1, 120) i;
INSERT INTO typed SELECT i, i + 1, repeat(md5(i::text), 200), NULL, NULL, 'NaN' FROM generate_series(121, 130) i;
CREATE VIEW tc AS WITH RECURSIVE tc AS (SELECT src, dst FROM edge UNION SELECT tc.src, edge.dst FROM tc JOIN edge ON edge.src = tc.dst) SELECT * FROM tc;
CREATE VIEW ty AS WITH RECURSIVE ty AS (SELECT a, b, t, d, f FROM typed WHERE a % 5 = 0
	UNION ALL SELECT typed.a, typed.b, typed.t, typed.d, typed.f FROM ty JOIN typed ON typed.a = ty.b) SELECT * FROM ty;

-- How a statement writes its rows, and whether they are those that PostgreSQL writes:
-- %s in the statement is the table, one of ours and one of PostgreSQL's
CREATE FUNCTION written(fill text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; way text := 'row by row'; n int8; m int8; differ int8;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || format(fill, 'batched') LOOP
		IF line ~ 'Rows Written: ' THEN way := substring(line FROM 'Rows Written: (.*)'); END IF;
		IF line ~ 'Not Written In Batches: ' THEN way := 'row by row: ' || substring(line FROM 'Not Written In Batches: (.*)'); END IF;
	END LOOP;
	EXECUTE format(fill, 'batched');
	GET DIAGNOSTICS n = ROW_COUNT;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	PERFORM set_config('gpucol.enabled', 'off', true);
	EXECUTE format(fill, 'plain');
	GET DIAGNOSTICS m = ROW_COUNT;
	EXECUTE 'SELECT count(*) FROM ((SELECT x::text FROM batched x EXCEPT ALL SELECT x::text FROM plain x)
		UNION ALL (SELECT x::text FROM plain x EXCEPT ALL SELECT x::text FROM batched x)) y' INTO differ;
	PERFORM set_config('gpucol.enabled', 'on', true);
	RETURN format('%s, %s rows%s%s', way, n, CASE WHEN n <> m THEN format(' (PostgreSQL: %s)', m) END,
		CASE WHEN differ > 0 THEN ', DIFFERENT' END);
END $$;
-- The same with tables made for the purpose, by each definition.
CREATE FUNCTION tried(definition text, fill text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['batched', 'plain'] LOOP
		IF definition <> '' THEN EXECUTE replace(definition, '%s', name); END IF;
	END LOOP;
	result := written(fill);
	DROP TABLE IF EXISTS batched, plain;
	RETURN result;
EXCEPTION WHEN others THEN
	RETURN 'ERROR: ' || SQLERRM;
END $$;

-- new tables
SELECT tried('', 'CREATE TABLE %s USING gpucol AS SELECT * FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM tc');
SELECT tried('', 'CREATE UNLOGGED TABLE %s AS SELECT dst, src FROM tc WHERE dst > 30');
SELECT tried('', 'CREATE TEMP TABLE %s USING gpucol AS SELECT dst, src, dst AS again FROM tc WHERE src > 30');
SELECT tried('', 'CREATE TABLE %s USING gpucol AS SELECT * FROM ty');
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM ty');
SELECT tried('', 'CREATE TABLE %s USING gpucol AS SELECT src + dst AS s, dst, 7 AS seven, upper(''a'' || src) AS u, NULL::int AS no FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT src FROM tc WHERE src < 0');
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM typed WHERE a < 125');
SELECT tried('', 'CREATE TABLE %s USING gpucol AS SELECT t, n, a FROM typed WHERE b > 10');
SELECT tried('', 'CREATE TABLE %s AS SELECT tc FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM tc WITH NO DATA');
SELECT tried('', 'CREATE TABLE %s AS SELECT src, random() < 2 AS r FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT src, (SELECT count(*) FROM edge) AS n FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT src, (SELECT count(*) FROM edge WHERE edge.src = tc.dst) AS n FROM tc');
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM tc ORDER BY src, dst LIMIT 9');
SELECT tried('', 'CREATE TABLE %s AS SELECT src, count(*) FROM tc GROUP BY src');

-- rows for existing ones
SELECT tried('CREATE TABLE %s (src int, dst int) USING gpucol', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int)', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int) USING gpucol', 'INSERT INTO %s SELECT * FROM tc WHERE src = 3');
SELECT tried('CREATE TABLE %s (src int, dst int)', 'WITH RECURSIVE t AS (SELECT src, dst FROM edge UNION SELECT t.src, edge.dst FROM t JOIN edge ON edge.src = t.dst) INSERT INTO %s SELECT * FROM t');
SELECT tried('CREATE TABLE %s (x int8 DEFAULT 9, no text, src numeric, y int8 DEFAULT 1 + 1, dst int8)', 'INSERT INTO %s (dst, src) SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (gone text, src int, gone2 int, dst int) USING gpucol; ALTER TABLE %s DROP gone, DROP gone2', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (gone text, src int, gone2 int, dst int); ALTER TABLE %s DROP gone, DROP gone2', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int, UNIQUE (src, dst)) USING gpucol; CREATE INDEX ON %s ((src + dst)); CREATE INDEX ON %s (dst) WHERE src > 5', 'INSERT INTO %s SELECT * FROM tc WHERE src > dst');
SELECT tried('CREATE TABLE %s (src int, dst int, UNIQUE (src, dst)); CREATE INDEX ON %s ((src + dst)); CREATE INDEX ON %s (dst) WHERE src > 5', 'INSERT INTO %s SELECT * FROM tc WHERE src > dst');
SELECT tried('CREATE TABLE %s (src int UNIQUE, dst int)', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int UNIQUE, dst int) USING gpucol', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int NOT NULL)', 'INSERT INTO %s SELECT * FROM tc WHERE src IS NOT NULL');
SELECT tried('CREATE TABLE %s (src int, dst int NOT NULL) USING gpucol', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int NOT NULL, dst int NOT NULL) USING gpucol', 'INSERT INTO %s SELECT * FROM tc WHERE src > 0 AND dst > 0');
SELECT tried('CREATE TABLE %s (a int, b int, t varchar(7), n numeric(9,3), d date, f float4)', 'INSERT INTO %s SELECT * FROM typed WHERE a < 8');
SELECT tried('CREATE TABLE %s (a int, b int, t varchar(7), n numeric(9,3), d date, f float4)', 'INSERT INTO %s SELECT * FROM typed');
SELECT tried('CREATE TABLE %s (t text, f float8)', 'INSERT INTO %s SELECT t, f FROM ty');

-- what keeps PostgreSQL's way
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.src := NEW.src + 1; RETURN NEW; END $$;
SELECT tried('CREATE TABLE %s (src int, dst int); CREATE TRIGGER t BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION touch()', 'INSERT INTO %s SELECT * FROM tc');
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT tried('CREATE TABLE %s (src int, dst int) USING gpucol; CREATE TRIGGER t AFTER INSERT ON %s REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION look()', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int CHECK (src >= 0), dst int)', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int, both_ int GENERATED ALWAYS AS (src + dst) STORED)', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int, id int GENERATED ALWAYS AS IDENTITY)', 'INSERT INTO %s SELECT * FROM tc WHERE src = 3 AND dst = 3');
SELECT tried('CREATE TABLE %s (src int, dst int) PARTITION BY HASH (src); CREATE TABLE %s_0 PARTITION OF %s FOR VALUES WITH (MODULUS 1, REMAINDER 0)', 'INSERT INTO %s SELECT * FROM tc');
SELECT tried('CREATE TABLE %s (src int, dst int UNIQUE)', 'INSERT INTO %s SELECT dst, dst FROM tc ON CONFLICT DO NOTHING');
SELECT tried('CREATE TABLE %s (src int, dst int UNIQUE DEFERRABLE)', 'INSERT INTO %s SELECT max(src), dst FROM tc GROUP BY dst');
SELECT tried('CREATE TABLE %s (src int, dst int UNIQUE DEFERRABLE INITIALLY DEFERRED)', 'INSERT INTO %s SELECT * FROM tc WHERE src = 3 AND dst < 40');
SELECT tried('CREATE TABLE %s (src int, dst int)', 'WITH i AS (INSERT INTO %s SELECT * FROM tc RETURNING src) SELECT count(*) FROM i');
CREATE TABLE node (id int PRIMARY KEY);
INSERT INTO node SELECT generate_series(0, 80);
SELECT tried('CREATE TABLE %s (src int REFERENCES node, dst int)', 'INSERT INTO %s SELECT * FROM tc');
SET gpucol.enable_into = off;
SELECT tried('', 'CREATE TABLE %s AS SELECT * FROM tc');
RESET gpucol.enable_into;

-- command tags, EXPLAIN ANALYZE, SELECT INTO, materialized views, prepared statements
CREATE TABLE made AS SELECT * FROM tc WHERE src = 3;
SELECT * INTO made2 FROM tc WHERE src = 4;
INSERT INTO made SELECT * FROM tc WHERE src = 4;
SELECT count(*), sum(src) FROM made;
CREATE MATERIALIZED VIEW mat AS SELECT * FROM tc WHERE src < 9;
REFRESH MATERIALIZED VIEW mat;
SELECT count(*) = (SELECT count(*) FROM tc WHERE src < 9) AS same FROM mat;
PREPARE closure(int) AS SELECT * FROM tc WHERE src = $1;
CREATE TABLE made3 AS EXECUTE closure(3);
SELECT count(*) FROM made3;
PREPARE fill(int) AS INSERT INTO made3 SELECT * FROM tc WHERE src = $1;
EXECUTE fill(4);
EXECUTE fill(4);
SELECT count(*) FROM made3;
SET gpucol.pushdown = require;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) CREATE TABLE made4 USING gpucol AS SELECT * FROM typed WHERE a > 6 \g (format=unaligned tuples_only=on) | sed 's/[.]00 loops/ loops/'
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) INSERT INTO made4 SELECT * FROM typed WHERE a > 6 \g (format=unaligned tuples_only=on) | sed 's/[.]00 loops/ loops/'
EXPLAIN (COSTS OFF) CREATE TABLE made5 AS SELECT * FROM typed WHERE a > 6;
RESET gpucol.pushdown;

-- a table into itself; statements within a transaction; what is undone is gone
CREATE TABLE own (src int, dst int) USING gpucol;
INSERT INTO own SELECT i % 700, i * 7 % 701 FROM generate_series(1, 3000) i;
INSERT INTO own SELECT * FROM own;
INSERT INTO own WITH RECURSIVE t AS (SELECT src, dst FROM own WHERE src < 3 UNION SELECT t.src, own.dst FROM t JOIN own ON own.src = t.dst) SELECT * FROM t;
SELECT count(*), sum(src), sum(dst) FROM own;
BEGIN;
INSERT INTO own SELECT * FROM own WHERE src > 100;
SAVEPOINT s;
INSERT INTO own SELECT * FROM own WHERE src > 100;
SELECT count(*) FROM own;
ROLLBACK TO s;
SELECT count(*) FROM own;
INSERT INTO own SELECT * FROM tc;
COMMIT;
SELECT count(*), sum(src), sum(dst) FROM own;
SELECT count(*) FROM gpucol.verify('own') v;
SET statement_timeout = 300;
INSERT INTO own WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 1000 + 1 FROM r) SELECT n, n FROM r;
CREATE TABLE never AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 1000 + 1 FROM r) SELECT n FROM r;
RESET statement_timeout;
SELECT count(*), sum(src), sum(dst) FROM own;

-- rows that no engine computes with: plain rows take the batches' place
CREATE TABLE spoilt (a int, b int, m numeric(8,2)) USING gpucol;
INSERT INTO spoilt SELECT i, i + 1, i / 4.0 FROM generate_series(1, 1500) i;
INSERT INTO spoilt VALUES (7, 8, 'NaN');
SELECT tried('', 'CREATE TABLE %s USING gpucol AS SELECT m, b FROM spoilt WHERE m > 3');
SELECT tried('CREATE TABLE %s (a int, m numeric)', 'INSERT INTO %s SELECT a, m FROM spoilt WHERE m > 3');
SET client_min_messages = warning;
DROP SCHEMA into_batches CASCADE;
