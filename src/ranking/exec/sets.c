/*-------------------------------------------------------------------------
 *
 * sets.c
 *	  The sets of rows that a node ranks: their labels, and which rankings of
 *	  them there are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "ranking/exec/state.h"
#include "ranking/front/group.h"

/* The label has been lowered: prepare for its class. */
static void
prepare_label(GpucolRankSet *set)
{
	Node	   *label = (Node *) set->ranked->label;

	if (label == NULL)
		return;
	set->label_type = exprType(label);
	get_typlenbyvalalign(set->label_type, &set->label_typlen,
						 &set->label_typbyval, &set->label_typalign);
	gpucol_output_init(&set->label, set->label_type, exprTypmod(label),
					   exprCollation(label), &set->ranked->label_value);
}

/* The expressions have been lowered: prepare the sets, unless that is done. */
void
gpucol_rank_node_prepare_sets(GpucolRankNode *node)
{
	const GpucolRankings *r = node->rankings;

	if (node->sets != NULL)
		return;
	node->batch_ranking = palloc0(sizeof(int) * r->naggs);
	node->key_columns = palloc0(sizeof(GpucolResultColumn) * Max(node->nkeys, 1));
	node->sets = palloc0(sizeof(GpucolRankSet) * r->nsets);
	for (int i = 0; i < r->nsets; i++)
	{
		GpucolRankSet *set = &node->sets[i];

		set->node = node;
		set->ranked = &r->sets[i];
		set->k_keys = palloc(sizeof(int) * r->naggs);
		set->wanted_keys = palloc(sizeof(int) * r->naggs);
		prepare_label(set);
	}
	for (int i = 0; i < r->naggs; i++)
	{
		GpucolRankSet *set = &node->sets[r->aggs[i].set];

		if (r->aggs[i].k_key >= 0)
			set->wanted_keys[set->nwanted++] = r->aggs[i].k_key;
	}
}

/* The error of an argument that is NULL. */
void
gpucol_rank_node_report_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", what)));
}

/* The value of a constant argument; raises an error for NULL. */
static Datum
constant_argument(GpucolRankNode *node, Expr *expr, const char *what)
{
	Datum		value;
	bool		isnull;

	gpucol_lower_eval_needed(node->exec->lower, expr, &value, &isnull);
	if (isnull)
		gpucol_rank_node_report_null(what);
	return value;
}

/* The rankings of a set; equal ones, and a set and its probability, once. */
void
gpucol_rank_node_make_rankings(GpucolRankSet *set, GpucolBatchRanking *out)
{
	GpucolRankNode *node = set->node;
	int			n = 0;

	for (int i = 0; i < node->rankings->naggs; i++)
	{
		const GpucolRankingAgg *agg = &node->rankings->aggs[i];
		GpucolBatchRanking r = {.ranking = agg->ranking};
		int			j = 0;

		if (set != &node->sets[agg->set])
			continue;
		if (agg->k_key < 0)
		{
			r.k = DatumGetInt32(constant_argument(node, agg->k, "k"));
			gpucol_group_check_k(r.k);
		}
		if (agg->threshold != NULL)
		{
			r.threshold = DatumGetFloat8(constant_argument(node, agg->threshold,
														   "the threshold"));
			gpucol_group_check_threshold(r.threshold);
		}
		while (j < n && (out[j].ranking != r.ranking || out[j].k != r.k ||
						 set->k_keys[j] != agg->k_key ||
						 out[j].threshold != r.threshold))
			j++;
		if (j == n)
		{
			set->k_keys[n] = agg->k_key;
			out[n++] = r;
		}
		node->batch_ranking[i] = j;
	}
	set->nrankings = n;
}
