/*-------------------------------------------------------------------------
 *
 * aggregates.c
 *	  Ranking uncertain tuples as SQL aggregates: transition and final functions.
 *
 * The transition state is a GpucolGroup in the aggregate's context.  u_kranks,
 * global_topk and expected_rank_topk have one transition function, so that
 * PostgreSQL collects and keeps the rows once for all of them in a query; u_topk,
 * u_topk_probability and pt_k have their own, which cut the group while it grows
 * (group.c).
 *
 * Final functions sort the rows in place, which later transitions do not mind:
 * they count as read-only, and the aggregates work over window frames.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "ranking/front/group.h"

PG_FUNCTION_INFO_V1(gpucol_uncertain_ranking_transition);
PG_FUNCTION_INFO_V1(gpucol_uncertain_u_topk_transition);
PG_FUNCTION_INFO_V1(gpucol_uncertain_u_topk_probability_transition);
PG_FUNCTION_INFO_V1(gpucol_uncertain_pt_k_transition);
PG_FUNCTION_INFO_V1(gpucol_uncertain_u_topk_final);
PG_FUNCTION_INFO_V1(gpucol_uncertain_u_topk_probability_final);
PG_FUNCTION_INFO_V1(gpucol_uncertain_u_kranks_final);
PG_FUNCTION_INFO_V1(gpucol_uncertain_pt_k_final);
PG_FUNCTION_INFO_V1(gpucol_uncertain_global_topk_final);
PG_FUNCTION_INFO_V1(gpucol_uncertain_expected_rank_topk_final);

/* Where a transition function has its arguments; 0 = it has none such. */
typedef struct Signature
{
	int			label;
	int			score;
	int			probability;
	int			k;
	int			threshold;
	int			x;				/* present if the function has that many */
	GpucolGroupCut cut;
} Signature;

static const Signature ranking_signature = {
	.label = 1,.score = 2,.probability = 3,.k = 4,.x = 5
};
static const Signature u_topk_signature = {
	.label = 1,.score = 2,.probability = 3,.k = 4,.x = 5,
	.cut = GPUCOL_CUT_U_TOPK
};
static const Signature u_topk_probability_signature = {
	.score = 1,.probability = 2,.k = 3,.x = 4,
	.cut = GPUCOL_CUT_U_TOPK
};
static const Signature pt_k_signature = {
	.label = 1,.score = 2,.probability = 3,.k = 4,.threshold = 5,.x = 6,
	.cut = GPUCOL_CUT_PT_K
};

/*-------------------------------------------------------------------------
 * Transition
 *-------------------------------------------------------------------------
 */

/* Column types of this call, looked up once a query. */
static const GpucolGroupTypes *
call_types(FunctionCallInfo fcinfo, const Signature *sig)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(flinfo->fn_mcxt);
		GpucolGroupTypes *types = palloc(sizeof(GpucolGroupTypes));

		gpucol_group_types_init(types,
								sig->label ? get_fn_expr_argtype(flinfo, sig->label) : InvalidOid,
								get_fn_expr_argtype(flinfo, sig->score),
								PG_NARGS() > sig->x ? get_fn_expr_argtype(flinfo, sig->x) : InvalidOid);
		MemoryContextSwitchTo(old);
		flinfo->fn_extra = types;
	}
	return flinfo->fn_extra;
}

/* The threshold argument, checked; 0 where the function has none. */
static double
call_threshold(FunctionCallInfo fcinfo, const Signature *sig)
{
	double		threshold;

	if (sig->threshold == 0)
		return 0;
	if (PG_ARGISNULL(sig->threshold))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the threshold must not be null")));
	threshold = PG_GETARG_FLOAT8(sig->threshold);
	gpucol_group_check_threshold(threshold);
	return threshold;
}

/* Common part of all transition functions. */
static Datum
transition(FunctionCallInfo fcinfo, const Signature *sig)
{
	GpucolGroup *group = PG_ARGISNULL(0) ? NULL : (GpucolGroup *) PG_GETARG_POINTER(0);
	MemoryContext context;
	GpucolGroupRow row = {0};
	double		threshold;
	int32		k;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate function called in non-aggregate context")));
	if (PG_ARGISNULL(sig->k))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("k must not be null")));
	k = PG_GETARG_INT32(sig->k);
	gpucol_group_check_k(k);
	threshold = call_threshold(fcinfo, sig);
	if (group != NULL)
		gpucol_group_check_same(group, k, threshold);

	if ((sig->label && PG_ARGISNULL(sig->label)) || PG_ARGISNULL(sig->score) ||
		PG_ARGISNULL(sig->probability))
	{
		if (group == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(group);
	}
	row.probability = PG_GETARG_FLOAT8(sig->probability);
	gpucol_group_check_probability(row.probability);
	row.label = sig->label ? PG_GETARG_DATUM(sig->label) : (Datum) 0;
	row.score = PG_GETARG_DATUM(sig->score);
	row.x_isnull = PG_NARGS() <= sig->x || PG_ARGISNULL(sig->x);
	row.x = row.x_isnull ? (Datum) 0 : PG_GETARG_DATUM(sig->x);

	if (group == NULL)
		group = gpucol_group_create(context, call_types(fcinfo, sig),
									PG_GET_COLLATION(), k, threshold, sig->cut);
	gpucol_group_add(group, &row);
	PG_RETURN_POINTER(group);
}

/* (internal, label, score "any", probability, k [, x_tuple]) */
Datum
gpucol_uncertain_ranking_transition(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, &ranking_signature);
}

/* (internal, label, score "any", probability, k [, x_tuple]) */
Datum
gpucol_uncertain_u_topk_transition(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, &u_topk_signature);
}

/* (internal, score "any", probability, k [, x_tuple]) */
Datum
gpucol_uncertain_u_topk_probability_transition(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, &u_topk_probability_signature);
}

/* (internal, label, score "any", probability, k, threshold [, x_tuple]) */
Datum
gpucol_uncertain_pt_k_transition(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, &pt_k_signature);
}

/*-------------------------------------------------------------------------
 * Final functions
 *-------------------------------------------------------------------------
 */

/* The group of a final function, ranked; NULL if it has had no row. */
static GpucolGroup *
final_group(FunctionCallInfo fcinfo, GpucolRankInput *in, GpucolRankWork *work)
{
	GpucolGroup *group;

	if (!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate function called in non-aggregate context")));
	if (PG_ARGISNULL(0))
		return NULL;
	group = (GpucolGroup *) PG_GETARG_POINTER(0);
	group->collation = PG_GET_COLLATION();
	gpucol_group_rank(group, in, work);
	return group;
}

/* Room for as many tuple numbers as a ranking may return. */
static int32 *
rank_array(int64 n)
{
	return MemoryContextAllocHuge(CurrentMemoryContext,
								  sizeof(int32) * ((size_t) n + 1));
}

/* An array of the labels of these tuples, NULL where the number is -1. */
static Datum
label_array(const GpucolGroup *group, const int32 *tuples, int32 n)
{
	const GpucolOrderedType *label = &group->types->label;
	Datum	   *values;
	bool	   *nulls;
	int			lower = 1;
	int			count = n;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(label->type));
	values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * n);
	nulls = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(bool) * n);
	for (int32 i = 0; i < n; i++)
	{
		nulls[i] = tuples[i] < 0;
		values[i] = nulls[i] ? (Datum) 0 :
			gpucol_group_row(group, tuples[i])[group->types->at_label];
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &lower,
											  label->type, label->typlen,
											  label->typbyval, label->typalign));
}

/* What a ranking answers: labels, or the probability of U-Topk's set. */
static Datum
final(FunctionCallInfo fcinfo, GpucolRanking ranking, bool want_probability)
{
	GpucolRankInput in;
	GpucolRankWork work;
	GpucolGroup *group = final_group(fcinfo, &in, &work);
	int32	   *picks;
	double		probability;
	int32		count;

	if (group == NULL)
		PG_RETURN_NULL();
	picks = want_probability ? NULL :
		rank_array(gpucol_rank_room(&in, ranking, group->k));
	gpucol_group_check_status(gpucol_rank_choose(&in, ranking, group->k,
												 group->threshold, &work, picks,
												 &count, &probability));
	if (count < 0)
		PG_RETURN_NULL();
	if (want_probability)
		PG_RETURN_FLOAT8(probability);
	return label_array(group, picks, count);
}

/* U-Topk; NULL when no world has k tuples */
Datum
gpucol_uncertain_u_topk_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_U_TOPK, false);
}

/* The probability of the U-Topk set; NULL when no world has k tuples */
Datum
gpucol_uncertain_u_topk_probability_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_U_TOPK, true);
}

Datum
gpucol_uncertain_u_kranks_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_U_KRANKS, false);
}

Datum
gpucol_uncertain_pt_k_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_PT_K, false);
}

Datum
gpucol_uncertain_global_topk_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_GLOBAL_TOPK, false);
}

Datum
gpucol_uncertain_expected_rank_topk_final(PG_FUNCTION_ARGS)
{
	return final(fcinfo, GPUCOL_RANK_EXPECTED, false);
}
