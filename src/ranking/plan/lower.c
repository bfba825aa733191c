/*-------------------------------------------------------------------------
 *
 * lower.c
 *	  Aggregates that rank uncertain rows, lowered to the outputs of a scan.
 *
 * An aggregate is known by the C function that finishes it.  Rankings of equal
 * label, score, probability, x-tuple and FILTER expressions rank the same set of
 * rows; k and threshold may differ but are constants of the scan, or k is a group
 * key.  One without a label ranks the rows of one with a label if no label is NULL
 * (rows whose label is NULL are not ranked) and if there are no x-tuples (whose
 * alternatives' order may depend on labels).
 *
 * Scores and labels reach the ranking as int64 that sort like them (ranking/
 * rank_batch.h); labels of other classes are compared by their own function,
 * only where score and probability tie.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "lower/order.h"
#include "ranking/plan/ranking.h"

/* mantissas and powers of ten that a double holds exactly */
#define EXACT_DIGITS	15
#define EXACT_SCALE		18

/* A ranking aggregate by its final function; argument numbers from 0. */
typedef struct RankingFunction
{
	const char *final;
	GpucolRanking ranking;
	int			score;			/* 0: no label before it */
	int			nargs;			/* without x_tuple */
} RankingFunction;

static const RankingFunction functions[] = {
	{"gpucol_uncertain_u_topk_final", GPUCOL_RANK_U_TOPK, 1, 4},
	{"gpucol_uncertain_u_topk_probability_final", GPUCOL_RANK_U_TOPK, 0, 3},
	{"gpucol_uncertain_u_kranks_final", GPUCOL_RANK_U_KRANKS, 1, 4},
	{"gpucol_uncertain_pt_k_final", GPUCOL_RANK_PT_K, 1, 5},
	{"gpucol_uncertain_global_topk_final", GPUCOL_RANK_GLOBAL_TOPK, 1, 4},
	{"gpucol_uncertain_expected_rank_topk_final", GPUCOL_RANK_EXPECTED, 1, 4},
};

/* The C symbol of a function in this library, or NULL. */
static char *
function_symbol(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
	char	   *symbol = NULL;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (!isnull && strcmp(TextDatumGetCString(value), "$libdir/gpucol") == 0)
	{
		value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
		symbol = TextDatumGetCString(value);
	}
	ReleaseSysCache(tuple);
	return symbol;
}

/* The ranking that an aggregate computes, or NULL. */
static const RankingFunction *
ranking_function(const Aggref *agg)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	char	   *symbol;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	symbol = function_symbol(((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalfn);
	ReleaseSysCache(tuple);
	for (int i = 0; symbol != NULL && i < (int) lengthof(functions); i++)
		if (strcmp(symbol, functions[i].final) == 0)
			return &functions[i];
	return NULL;
}

bool
gpucol_ranking_is(const Aggref *agg)
{
	return ranking_function(agg) != NULL;
}

/*-------------------------------------------------------------------------
 * What is ranked
 *-------------------------------------------------------------------------
 */

/* Argument `n` of the aggregate. */
static Expr *
argument(const Aggref *agg, int n)
{
	return lfirst_node(TargetEntry, list_nth_cell(agg->args, n))->expr;
}

/* The group key that an expression is, or -1; the keys have been lowered. */
static int
find_key(GpucolLower *l, Expr *expr)
{
	int			nkeys = l->nkeys;
	GpucolValue value;
	int			key = -1;

	if (!gpucol_lower_output(l, expr, &value))
		return -1;
	l->nkeys = nkeys;
	for (int i = 0; i < nkeys && value.cls == GPUCOL_CLASS_I; i++)
	{
		if (l->keys[i] == value.reg)
			key = i;
	}
	return key;
}

/* Can the label be NULL in some row, as far as is known? */
static bool
label_may_be_null(GpucolLower *l, Expr *label, Bitmapset *filled)
{
	const Var  *var = (const Var *) label;

	if (IsA(label, Const))
		return ((Const *) label)->constisnull;
	return !IsA(label, Var) || var->varattno <= 0 || var->varlevelsup != 0 ||
		!(gpucol_compat_never_null(l->desc, var->varattno - 1) ||
		  bms_is_member(var->varattno, filled));
}

/* Do the sets rank the same rows but for their labels? */
static bool
sets_are_alike(const GpucolRankingSet *a, const GpucolRankingSet *b)
{
	return equal(a->score, b->score) && equal(a->probability, b->probability) &&
		equal(a->x, b->x) && equal(a->filter, b->filter);
}

/* May a set's rows be ranked as those of one that has a label, and the other not? */
static bool
label_is_no_matter(GpucolLower *l, const GpucolRankingSet *labelled, Bitmapset *filled)
{
	return labelled->x == NULL && !label_may_be_null(l, labelled->label, filled);
}

/* The number of the set, which is added if it is new. */
static int
find_set(GpucolLower *l, GpucolRankings *r, const GpucolRankingSet *set,
		 Bitmapset *filled)
{
	for (int i = 0; i < r->nsets; i++)
	{
		GpucolRankingSet *known = &r->sets[i];

		if (!sets_are_alike(known, set))
			continue;
		if (equal(known->label, set->label))
			return i;
		if (set->label == NULL && label_is_no_matter(l, known, filled))
			return i;
		if (known->label == NULL && label_is_no_matter(l, set, filled))
		{
			*known = *set;
			return i;
		}
	}
	r->sets[r->nsets] = *set;
	return r->nsets++;
}

/* What an aggregate ranks. */
static GpucolRankingSet
set_of(const Aggref *agg, const RankingFunction *f)
{
	GpucolRankingSet set = {.filter = agg->aggfilter,.collation = agg->inputcollid};

	set.score = argument(agg, f->score);
	set.probability = argument(agg, f->score + 1);
	if (list_length(agg->args) > f->nargs)
		set.x = argument(agg, f->nargs);
	if (f->score == 1)
		set.label = argument(agg, 0);
	return set;
}

Bitmapset *
gpucol_ranking_doubtful_labels(GpucolLower *l, List *aggs)
{
	Bitmapset  *doubtful = NULL;
	ListCell   *a;
	ListCell   *b;

	foreach(a, aggs)
	{
		const Aggref *agg = lfirst_node(Aggref, a);
		GpucolRankingSet set = set_of(agg, ranking_function(agg));

		if (set.label == NULL || !IsA(set.label, Var) || set.x != NULL ||
			((Var *) set.label)->varattno <= 0 || !label_may_be_null(l, set.label, NULL))
			continue;
		foreach(b, aggs)
		{
			const Aggref *other = lfirst_node(Aggref, b);
			GpucolRankingSet others = set_of(other, ranking_function(other));

			if (others.label == NULL && sets_are_alike(&set, &others))
				doubtful = bms_add_member(doubtful, ((Var *) set.label)->varattno);
		}
	}
	return doubtful;
}

/* Take one aggregate into the rankings. */
static bool
collect_one(GpucolLower *l, const Aggref *agg, Bitmapset *filled, GpucolRankings *r)
{
	const RankingFunction *f = ranking_function(agg);
	GpucolRankingAgg *out = &r->aggs[r->naggs++];
	GpucolRankingSet set = set_of(agg, f);

	if (agg->aggdistinct != NIL || agg->aggorder != NIL)
		return gpucol_lower_decline(l, "DISTINCT or ORDER BY in a ranking");
	out->ranking = f->ranking;
	out->probability = f->score == 0;
	out->k = argument(agg, f->score + 2);
	out->threshold = f->ranking == GPUCOL_RANK_PT_K ? argument(agg, 4) : NULL;
	out->k_key = gpucol_lower_is_constant(out->k) ? -1 : find_key(l, out->k);
	if ((out->k_key < 0 && !gpucol_lower_is_constant(out->k)) ||
		(out->threshold && !gpucol_lower_is_constant(out->threshold)))
		return gpucol_lower_decline(l, "k or threshold varies from row to row");
	out->set = find_set(l, r, &set, filled);
	return true;
}

/*-------------------------------------------------------------------------
 * Outputs
 *-------------------------------------------------------------------------
 */

/* Outputs that belong to sets before the one at hand: [first, last). */
typedef struct Outputs
{
	int			first;
	int			last;
} Outputs;

/* Add an expression as the next output, or find it among those of other sets. */
static bool
add_output(GpucolLower *l, Outputs *outputs, Expr *expr, GpucolValue *value, int *column)
{
	if (expr == NULL)
		return true;
	*column = l->nkeys;
	if (!gpucol_lower_output(l, expr, value))
		return false;
	for (int i = outputs->first; i < outputs->last; i++)
	{
		if (l->keys[i] == value->reg)
		{
			*column = i;
			l->nkeys--;
			break;
		}
	}
	return true;
}

/* The probability: a float8, or the decimal that is cast to it. */
static bool
add_probability(GpucolLower *l, Outputs *outputs, GpucolRankingSet *r)
{
	Expr	   *expr = r->probability;

	if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_FLOAT8_NUMERIC)
		expr = linitial(((FuncExpr *) expr)->args);
	if (!add_output(l, outputs, expr, &r->probability_value, &r->probability_column))
		return false;
	if (r->probability_value.cls == GPUCOL_CLASS_F ||
		(r->probability_value.cls == GPUCOL_CLASS_D &&
		 r->probability_value.digits <= EXACT_DIGITS &&
		 r->probability_value.scale <= EXACT_SCALE))
		return true;
	return gpucol_lower_decline(l, "probability is a numeric of more than %d digits",
								EXACT_DIGITS);
}

/* The label: anything that can be told apart and brought back. */
static bool
add_label(GpucolLower *l, Outputs *outputs, GpucolRankingSet *r)
{
	if (!add_output(l, outputs, r->label, &r->label_value, &r->label_column))
		return false;
	if (r->label == NULL || r->label_value.cls == GPUCOL_CLASS_S ||
		gpucol_order_is_int64(&r->label_value, exprType((Node *) r->label)))
		return true;
	return gpucol_lower_decline(l, "labels of type %s",
								format_type_be(exprType((Node *) r->label)));
}

/* The x-tuple: anything that can be told apart, whose ordinals sort. */
static bool
add_x(GpucolLower *l, Outputs *outputs, GpucolRankingSet *r)
{
	if (!add_output(l, outputs, r->x, &r->x_value, &r->x_column))
		return false;
	if (r->x == NULL ||
		((r->x_value.cls == GPUCOL_CLASS_B || r->x_value.cls == GPUCOL_CLASS_I) &&
		 gpucol_order_is_ordinal(exprType((Node *) r->x))))
		return true;
	if (r->x_value.cls == GPUCOL_CLASS_S)
		return gpucol_lower_check_bytewise(l, r->x);
	return gpucol_lower_decline(l, "x-tuples of type %s",
								format_type_be(exprType((Node *) r->x)));
}

/* What is ranked: score, probability, label, x-tuple. */
static bool
add_ranked(GpucolLower *l, Outputs *outputs, GpucolRankingSet *r)
{
	if (!add_output(l, outputs, r->score, &r->score_value, &r->score_column))
		return false;
	if (!gpucol_order_is_int64(&r->score_value, exprType((Node *) r->score)))
		return gpucol_lower_decline(l, "scores of type %s",
									format_type_be(exprType((Node *) r->score)));
	return add_probability(l, outputs, r) && add_label(l, outputs, r) && add_x(l, outputs, r);
}

/* The outputs of one set. */
static bool
add_set(GpucolLower *l, Outputs *outputs, GpucolRankingSet *r)
{
	GpucolValue filter;
	GpucolMask	mask;
	bool		ok;

	r->label_column = r->score_column = r->probability_column = -1;
	r->x_column = r->filter_column = -1;
	if (!add_output(l, outputs, r->filter, &filter, &r->filter_column))
		return false;
	if (r->filter == NULL)
		return add_ranked(l, outputs, r);

	/* the other expressions are evaluated only for rows that it lets pass */
	gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter.reg);
	ok = add_ranked(l, outputs, r);
	gpucol_lower_pop_mask(l);
	return ok;
}

bool
gpucol_ranking_lower(GpucolLower *l, List *aggs, Bitmapset *filled, GpucolRankings *r)
{
	Outputs		outputs = {l->nkeys, l->nkeys};
	ListCell   *lc;

	memset(r, 0, sizeof(*r));
	r->aggs = palloc0(list_length(aggs) * sizeof(GpucolRankingAgg));
	r->sets = palloc0(list_length(aggs) * sizeof(GpucolRankingSet));
	foreach(lc, aggs)
	{
		if (!collect_one(l, lfirst_node(Aggref, lc), filled, r))
			return false;
	}
	for (int i = 0; i < r->nsets; i++)
	{
		if (!add_set(l, &outputs, &r->sets[i]))
			return false;
		outputs.last = l->nkeys;
	}
	return true;
}

bool
gpucol_ranking_can_lower(GpucolLower *l, List *aggs)
{
	GpucolRankings all;

	return gpucol_ranking_lower(l, aggs, NULL, &all);
}
