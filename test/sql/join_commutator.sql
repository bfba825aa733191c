--
-- A join that the engine makes of tables whose types are compared by an operator without a
-- commutator: the ordinary plan beside it is none that would have to turn the operator round.
--
SET client_min_messages = warning;
SET gpucol.engine = cpu;
SET max_parallel_workers_per_gather = 0;
CREATE TYPE jc_alias;
CREATE FUNCTION jc_in(cstring) RETURNS jc_alias STRICT IMMUTABLE LANGUAGE internal AS 'int8in';
CREATE FUNCTION jc_out(jc_alias) RETURNS cstring STRICT IMMUTABLE LANGUAGE internal AS 'int8out';
CREATE TYPE jc_alias (INPUT = jc_in, OUTPUT = jc_out, LIKE = int8);
CREATE CAST (int8 AS jc_alias) WITHOUT FUNCTION;
CREATE CAST (jc_alias AS int8) WITHOUT FUNCTION;
CREATE FUNCTION jc_eq(jc_alias, jc_alias) RETURNS bool STRICT IMMUTABLE LANGUAGE internal AS 'int8eq';
CREATE FUNCTION jc_eq(int8, jc_alias) RETURNS bool STRICT IMMUTABLE LANGUAGE internal AS 'int8eq';
CREATE FUNCTION jc_lt(jc_alias, jc_alias) RETURNS bool STRICT IMMUTABLE LANGUAGE internal AS 'int8lt';
CREATE FUNCTION jc_cmp(jc_alias, jc_alias) RETURNS int STRICT IMMUTABLE LANGUAGE internal AS 'btint8cmp';
CREATE FUNCTION jc_cmp(int8, jc_alias) RETURNS int STRICT IMMUTABLE LANGUAGE internal AS 'btint8cmp';
CREATE OPERATOR = (PROCEDURE = jc_eq, LEFTARG = jc_alias, RIGHTARG = jc_alias, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel, MERGES);
CREATE OPERATOR = (PROCEDURE = jc_eq, LEFTARG = int8, RIGHTARG = jc_alias, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES);
CREATE OPERATOR < (PROCEDURE = jc_lt, LEFTARG = jc_alias, RIGHTARG = jc_alias, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
ALTER OPERATOR FAMILY integer_ops USING btree ADD
	OPERATOR 1 < (jc_alias, jc_alias), OPERATOR 3 = (jc_alias, jc_alias), OPERATOR 3 = (int8, jc_alias),
	FUNCTION 1 jc_cmp(jc_alias, jc_alias), FUNCTION 1 jc_cmp(int8, jc_alias);
CREATE TABLE jc (k int8 PRIMARY KEY, a jc_alias) USING gpucol;
CREATE UNIQUE INDEX ON jc ((k + 2 + 1));
CREATE UNIQUE INDEX ON jc ((k + 3 + 1));
CREATE UNIQUE INDEX ON jc ((k + 4));
SET enable_nestloop = off;
SET enable_mergejoin = on;
SELECT 'SELECT jc.k, s.x FROM jc, (SELECT k + 1 AS x FROM (SELECT k + 2 AS k FROM jc UNION ALL SELECT k + 3 AS k FROM jc) t'
	' UNION ALL SELECT k + 4 FROM jc) s WHERE s.x = jc.a AND jc.k = 42 ORDER BY 1, 2' AS query \gset
EXPLAIN (COSTS OFF) :query;
:query;
INSERT INTO jc SELECT i, (i / 2)::int8::jc_alias FROM generate_series(1, 60) i;
:query;
SET gpucol.pushdown = forbid;
:query;
DROP TABLE jc;
DROP TYPE jc_alias CASCADE;
