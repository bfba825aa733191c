-- Ranking uncertain tables (docs/uncertain.md).
--
-- The score may be of any type that can be ordered, hence "any"; x_tuple is of
-- a type of its own, whatever that of the label.
--
-- A paragraph with [[ ]] stands for two: without what the brackets hold, and with
-- it, which is the variant with x-tuples (tools/variants.awk).

CREATE FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_ranking_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.ranking_transition(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_transition(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer[[, anycompatible]])
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_probability_transition(internal, "any", float8, integer[[, anycompatible]]) IS 'collects rows to be ranked';

CREATE FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8[[, anycompatible]])
RETURNS internal AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_transition'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.pt_k_transition(internal, anyelement, "any", float8, integer, float8[[, anycompatible]]) IS 'collects rows to be ranked';

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

CREATE FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer[[, anycompatible]])
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_topk_probability_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_topk_probability_final(internal, "any", float8, integer[[, anycompatible]]) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_u_kranks_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.u_kranks_final(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8[[, anycompatible]])
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_pt_k_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.pt_k_final(internal, anyelement, "any", float8, integer, float8[[, anycompatible]]) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_global_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.global_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'ranks the rows collected';

CREATE FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]])
RETURNS anyarray AS 'MODULE_PATHNAME', 'gpucol_uncertain_expected_rank_topk_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.expected_rank_topk_final(internal, anyelement, "any", float8, integer[[, anycompatible]]) IS 'ranks the rows collected';

CREATE AGGREGATE gpucol.u_topk(label anyelement, score "any", probability float8, k integer[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.u_topk_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_topk(anyelement, "any", float8, integer[[, anycompatible]])
IS 'the k rows most likely to be together the top k, best first[[; at most one row of an x-tuple exists]]';

CREATE AGGREGATE gpucol.u_topk_probability(score "any", probability float8, k integer[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.u_topk_probability_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_topk_probability_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_topk_probability("any", float8, integer[[, anycompatible]])
IS 'probability that the rows of u_topk are the top k[[; at most one row of an x-tuple exists]]';

CREATE AGGREGATE gpucol.u_kranks(label anyelement, score "any", probability float8, k integer[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.u_kranks_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.u_kranks(anyelement, "any", float8, integer[[, anycompatible]])
IS 'for each rank from 1 to k the row most likely to have it[[; at most one row of an x-tuple exists]]';

CREATE AGGREGATE gpucol.pt_k(label anyelement, score "any", probability float8, k integer, threshold float8[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.pt_k_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.pt_k_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.pt_k(anyelement, "any", float8, integer, float8[[, anycompatible]])
IS 'rows that are in the top k with at least the threshold probability, best first[[; at most one row of an x-tuple exists]]';

CREATE AGGREGATE gpucol.global_topk(label anyelement, score "any", probability float8, k integer[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.global_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.global_topk(anyelement, "any", float8, integer[[, anycompatible]])
IS 'the k rows most likely to be in the top k, likeliest first[[; at most one row of an x-tuple exists]]';

CREATE AGGREGATE gpucol.expected_rank_topk(label anyelement, score "any", probability float8, k integer[[, x_tuple anycompatible]])
(
	SFUNC = gpucol.ranking_transition, STYPE = internal, SSPACE = 1024,
	FINALFUNC = gpucol.expected_rank_topk_final, FINALFUNC_EXTRA, COMBINEFUNC = gpucol.uncertain_combine,
	SERIALFUNC = gpucol.uncertain_serialize, DESERIALFUNC = gpucol.uncertain_deserialize, PARALLEL = SAFE
);

COMMENT ON AGGREGATE gpucol.expected_rank_topk(anyelement, "any", float8, integer[[, anycompatible]])
IS 'the k rows of least expected rank, least first[[; at most one row of an x-tuple exists]]';

CREATE FUNCTION gpucol.topk_probability(score "any", probability float8, k integer[[, x_tuple anycompatible]])
RETURNS float8 AS 'MODULE_PATHNAME', 'gpucol_uncertain_topk_probability'
LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION gpucol.topk_probability("any", float8, integer[[, anycompatible]])
IS 'probability that the row is in the top k of its partition[[; at most one row of an x-tuple exists]]';
