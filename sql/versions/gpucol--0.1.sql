-- gpucol install script; built from sql/parts by the Makefile.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpucol" to load this file. \quit

-- A schema that somebody else made, or where something is already, is refused.
CREATE FUNCTION gpucol.check_schema() RETURNS void
AS 'MODULE_PATHNAME', 'gpucol_check_schema' LANGUAGE C;
SELECT gpucol.check_schema();
DROP FUNCTION gpucol.check_schema();

-- Everybody may call what is here; tables keep their own privileges.
GRANT USAGE ON SCHEMA gpucol TO PUBLIC;

-- The table access method.

CREATE FUNCTION gpucol.tableam_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'gpucol_tableam_handler'
LANGUAGE C STRICT;

COMMENT ON FUNCTION gpucol.tableam_handler(internal)
IS 'handler of the gpucol table access method';

CREATE ACCESS METHOD gpucol TYPE TABLE HANDLER gpucol.tableam_handler;

COMMENT ON ACCESS METHOD gpucol
IS 'bit-packed column segments beside a heap delta';

-- Storage functions.

CREATE FUNCTION gpucol.merge(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_merge'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.merge(regclass)
IS 'move settled rows of a table''s delta into packed segments; returns how many';

CREATE FUNCTION gpucol.segments(relation regclass,
	OUT segment bigint, OUT rows bigint, OUT deleted bigint, OUT pages bigint,
	OUT bytes bigint, OUT heap_bytes bigint, OUT ratio float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_segments'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.segments(regclass)
IS 'packed segments of a table, each named by the number of its first row';

CREATE FUNCTION gpucol.waiting(relation regclass,
	OUT work text, OUT done_by text, OUT rows bigint, OUT segments bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_waiting'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.waiting(regclass)
IS 'upkeep that a table waits for: rows to pack, deletions to fold, segments to pack, and what does it';

CREATE FUNCTION gpucol.columns(relation regclass,
	OUT segment bigint, OUT column_name name, OUT coding text,
	OUT bit_width integer, OUT nulls bigint, OUT distinct_values bigint,
	OUT bytes bigint, OUT heap_bytes bigint, OUT ratio float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_columns'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.columns(regclass)
IS 'how each column of each segment of a table is coded, and what it occupies';

CREATE FUNCTION gpucol.verify(relation regclass,
	OUT segment bigint, OUT column_name name, OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_verify'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.verify(regclass)
IS 'read and check every page and value of a table''s segments, and compare rows with index entries; returns the problems found';

-- The device daemon.

CREATE FUNCTION gpucol.device_list(
	OUT device integer, OUT name text, OUT multiprocessors integer,
	OUT memory bigint, OUT memory_limit bigint, OUT held bigint, OUT cached bigint,
	OUT cache_hits bigint, OUT cache_misses bigint, OUT evictions bigint,
	OUT requests bigint, OUT kernels_compiled integer, OUT kernels_compiling integer,
	OUT kernels_refused integer, OUT compiler text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_devices'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.device_list()
IS 'CUDA devices that the daemon uses; no rows where no daemon runs';

CREATE VIEW gpucol.devices AS SELECT * FROM gpucol.device_list();

COMMENT ON VIEW gpucol.devices
IS 'CUDA devices that the daemon uses, their memory in bytes, their column cache, and the kernels compiled at run time, which all share; empty where no daemon runs';

CREATE FUNCTION gpucol.cache_list(
	OUT database oid, OUT tablespace oid, OUT relfilenode oid, OUT segment bigint,
	OUT attnum smallint, OUT bytes bigint, OUT uses bigint, OUT pins integer,
	OUT device integer, OUT piece text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_cache'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.cache_list()
IS 'pieces of tables (column chunks, bitmaps of deleted rows, numbers of dictionary entries) that are resident in device memory, of all databases';

CREATE VIEW gpucol.cache AS
SELECT c.oid::regclass AS relation, l.segment, a.attname AS column_name,
	l.bytes, l.uses, l.pins, l.device, l.piece
FROM gpucol.cache_list() l
JOIN pg_catalog.pg_database d ON d.oid = l.database
	AND d.datname = pg_catalog.current_database()
JOIN pg_catalog.pg_class c ON pg_catalog.pg_relation_filenode(c.oid) = l.relfilenode
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = l.attnum AND l.attnum > 0;

COMMENT ON VIEW gpucol.cache
IS 'pieces of this database''s tables that are resident in device memory, and on which device, most recently used first: column chunks, bitmaps of deleted rows (of no column), numbers of dictionary entries';

CREATE FUNCTION gpucol.activity_list(
	OUT pid integer, OUT state text, OUT seconds float8, OUT bytes bigint,
	OUT progress float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_activity'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.activity_list()
IS 'server processes that are connected to the device daemon, what it does for them, the device memory that their queries hold beside columns, and the share of a load or of several parts that is done';

CREATE FUNCTION gpucol.prefetch(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_prefetch'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.prefetch(regclass)
IS 'make the number, date and boolean columns of a table resident in device memory; returns the bytes that were loaded';

CREATE FUNCTION gpucol.evict(relation regclass DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_evict'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.evict(regclass)
IS 'give back the device memory of a table''s columns, or of all; returns the bytes';

REVOKE EXECUTE ON FUNCTION gpucol.evict(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpucol.cache_list() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpucol.activity_list() FROM PUBLIC;

-- Ranking uncertain tables (docs/uncertain.md).
--
-- The score may be of any type that can be ordered, hence "any"; x_tuple is of
-- a type of its own, whatever that of the label.
--
-- A paragraph with [[ ]] stands for two: without what the brackets hold, and with
-- it, which is the variant with x-tuples (tools/variants.awk).

CREATE FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_ranking_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_ranking_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer) IS 'collects rows to be ranked';

COMMENT ON FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer, anycompatible) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer) IS 'collects rows to be ranked';

COMMENT ON FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer, anycompatible) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer, anycompatible)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer) IS 'collects rows to be ranked';

COMMENT ON FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer, anycompatible) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8, anycompatible)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8) IS 'collects rows to be ranked';

COMMENT ON FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8, anycompatible) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.uncertain_combine(internal, internal)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.uncertain_combine(internal, internal) IS 'joins rows that workers collected';

CREATE FUNCTION gpucol.uncertain_serialize(internal)
RETURNS bytea AS 'MODULE_PATHNAME', 'gpucol_uncertain_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.uncertain_serialize(internal) IS 'rows collected by a worker as bytes';

CREATE FUNCTION gpucol.uncertain_deserialize(bytea, internal)
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.uncertain_deserialize(bytea, internal) IS 'inverse of uncertain_serialize';

CREATE FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer, anycompatible) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer)
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer, anycompatible)
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer, anycompatible) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_kranks_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_kranks_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer, anycompatible) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8, anycompatible)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8, anycompatible) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_global_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_global_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer, anycompatible) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_expected_rank_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer, anycompatible)
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_expected_rank_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer) IS 'ranks the rows collected';

COMMENT ON FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer, anycompatible) IS 'ranks the rows collected';

CREATE AGGREGATE gpucol.u_topk(label anyelement, score "any", probability float8, k integer)
(
	SFUNC = gpucol.u_topk_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.u_topk(label anyelement, score "any", probability float8, k integer, x_tuple anycompatible)
(
	SFUNC = gpucol.u_topk_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_topk(anyelement, "any", float8, integer)
IS 'the k rows most likely to be together the top k, best first';

COMMENT ON AGGREGATE gpucol.u_topk(anyelement, "any", float8, integer, anycompatible)
IS 'the k rows most likely to be together the top k, best first; at most one row of an x-tuple exists';

CREATE AGGREGATE gpucol.u_topk_probability(score "any", probability float8, k integer)
(
	SFUNC = gpucol.u_topk_probability_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_probability_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.u_topk_probability(score "any", probability float8, k integer, x_tuple anycompatible)
(
	SFUNC = gpucol.u_topk_probability_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_probability_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_topk_probability("any", float8, integer)
IS 'probability that the rows of u_topk are the top k';

COMMENT ON AGGREGATE gpucol.u_topk_probability("any", float8, integer, anycompatible)
IS 'probability that the rows of u_topk are the top k; at most one row of an x-tuple exists';

CREATE AGGREGATE gpucol.u_kranks(label anyelement, score "any", probability float8, k integer)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_kranks_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.u_kranks(label anyelement, score "any", probability float8, k integer, x_tuple anycompatible)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_kranks_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_kranks(anyelement, "any", float8, integer)
IS 'for each rank from 1 to k the row most likely to have it';

COMMENT ON AGGREGATE gpucol.u_kranks(anyelement, "any", float8, integer, anycompatible)
IS 'for each rank from 1 to k the row most likely to have it; at most one row of an x-tuple exists';

CREATE AGGREGATE gpucol.pt_k(label anyelement, score "any", probability float8, k integer, threshold float8)
(
	SFUNC = gpucol.pt_k_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.pt_k_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.pt_k(label anyelement, score "any", probability float8, k integer, threshold float8, x_tuple anycompatible)
(
	SFUNC = gpucol.pt_k_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.pt_k_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.pt_k(anyelement, "any", float8, integer, float8)
IS 'rows that are in the top k with at least the threshold probability, best first';

COMMENT ON AGGREGATE gpucol.pt_k(anyelement, "any", float8, integer, float8, anycompatible)
IS 'rows that are in the top k with at least the threshold probability, best first; at most one row of an x-tuple exists';

CREATE AGGREGATE gpucol.global_topk(label anyelement, score "any", probability float8, k integer)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.global_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.global_topk(label anyelement, score "any", probability float8, k integer, x_tuple anycompatible)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.global_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.global_topk(anyelement, "any", float8, integer)
IS 'the k rows most likely to be in the top k, likeliest first';

COMMENT ON AGGREGATE gpucol.global_topk(anyelement, "any", float8, integer, anycompatible)
IS 'the k rows most likely to be in the top k, likeliest first; at most one row of an x-tuple exists';

CREATE AGGREGATE gpucol.expected_rank_topk(label anyelement, score "any", probability float8, k integer)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.expected_rank_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

CREATE AGGREGATE gpucol.expected_rank_topk(label anyelement, score "any", probability float8, k integer, x_tuple anycompatible)
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.expected_rank_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.expected_rank_topk(anyelement, "any", float8, integer)
IS 'the k rows of least expected rank, least first';

COMMENT ON AGGREGATE gpucol.expected_rank_topk(anyelement, "any", float8, integer, anycompatible)
IS 'the k rows of least expected rank, least first; at most one row of an x-tuple exists';

CREATE FUNCTION gpucol.topk_probability(score "any", probability float8, k integer)
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_topk_probability'
LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION gpucol.topk_probability(score "any", probability float8, k integer, x_tuple anycompatible)
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_topk_probability'
LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.topk_probability("any", float8, integer)
IS 'probability that the row is in the top k of its partition';

COMMENT ON FUNCTION gpucol.topk_probability("any", float8, integer, anycompatible)
IS 'probability that the row is in the top k of its partition; at most one row of an x-tuple exists';

-- Recursion (docs/recursion.md).

CREATE FUNCTION gpucol.datalog(program text, output text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_datalog'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
COST 10000 ROWS 100000;

COMMENT ON FUNCTION gpucol.datalog(text, text)
IS 'runs a datalog program (Souffle syntax) over tables and views and returns one of its relations';

CREATE FUNCTION gpucol.datalog_into(program text, schema name)
RETURNS TABLE (relation name, row_count bigint)
AS 'MODULE_PATHNAME', 'gpucol_datalog_into'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
COST 10000 ROWS 10;

COMMENT ON FUNCTION gpucol.datalog_into(text, name)
IS 'runs a datalog program and stores each of its outputs as a new table of a schema';

CREATE FUNCTION gpucol.work_list(
	OUT pid integer, OUT state text, OUT seconds float8, OUT round bigint,
	OUT delta bigint, OUT full_rows bigint, OUT bytes bigint, OUT database oid,
	OUT relation oid, OUT progress float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_work_list'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.work_list()
IS 'recursions and merges that run in server processes, of all databases, and how far they have come';

CREATE VIEW gpucol.activity AS
SELECT pid, state, seconds, NULL::bigint AS round, NULL::bigint AS delta,
	NULL::bigint AS full_rows, bytes, NULL::regclass AS relation, progress
FROM gpucol.activity_list()
UNION ALL
SELECT w.pid, w.state, w.seconds, w.round, w.delta, w.full_rows, w.bytes,
	CASE WHEN d.datname = pg_catalog.current_database() THEN w.relation::regclass END, w.progress
FROM gpucol.work_list() w
LEFT JOIN pg_catalog.pg_database d ON d.oid = w.database;

COMMENT ON VIEW gpucol.activity
IS 'server processes that are connected to the device daemon (idle, waiting for memory, loading, computing or sending; share that is done), run a recursion (rounds, rows of the last delta, rows derived) or merge a table (its name in its database, rows moved, share of the delta read), since how many seconds, and the bytes that they hold';

REVOKE EXECUTE ON FUNCTION gpucol.work_list() FROM PUBLIC;

