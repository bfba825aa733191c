/*-------------------------------------------------------------------------
 *
 * node.c
 *	  Rankings of uncertain rows inside a plan node.
 *
 * The scan's outputs are the group keys and what is ranked.  The CPU engine's
 * threads make label-confidence rows of them (ranking/cpu/rank_collect.h), one
 * collection for each set of rows that is ranked (ranking/exec/sets.c); then each set is
 * ranked as a batch.  A device that takes the scan does all this itself
 * (ranking/exec/device.c).
 *
 * Errors of the data (probability out of range, sum above 1) are those that the
 * aggregates raise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "ranking/exec/state.h"
#include "service/memory.h"
#include "ranking/front/group.h"

/* Groups of one batch handed out, and rows ranked between looks at interrupts. */
#define BATCH_GROUPS	1024
#define STEP_ROWS		1000000

/*-------------------------------------------------------------------------
 * Preparation
 *-------------------------------------------------------------------------
 */

static void
release(void *arg)
{
	GpucolRankNode *node = arg;

	for (int i = 0; node->sets != NULL && i < node->rankings->nsets; i++)
	{
		gpucol_batch_destroy(node->sets[i].batch);
		node->sets[i].batch = NULL;
	}
	gpucol_collect_destroy(node->collect);
	node->collect = NULL;
	gpucol_budget_close(&node->memory);
}

GpucolRankNode *
gpucol_rank_node_create(GpucolExec *exec, int nkeys, const GpucolOutput *keys,
				   const GpucolRankings *rankings)
{
	GpucolRankNode *node = palloc0(sizeof(GpucolRankNode));

	node->exec = exec;
	node->nkeys = nkeys;
	node->key_outputs = keys;
	node->rankings = rankings;
	node->context = CurrentMemoryContext;
	node->handed_context = AllocSetContextCreate(node->context,
												 "gpucol ranked groups",
												 ALLOCSET_DEFAULT_SIZES);
	gpucol_memory_watch(node->context, release, node);
	return node;
}

/* The threads have the rows: what makes collections of them. */
GpucolTakeRows
gpucol_rank_node_take(GpucolRankNode *node, int threads, void **arg)
{
	const GpucolRankings *r = node->rankings;
	MemoryContext old = MemoryContextSwitchTo(node->context);
	GpucolCollectSet *sets = palloc(sizeof(GpucolCollectSet) * r->nsets);
	uint8	   *classes = palloc(Max(node->nkeys, 1));

	gpucol_rank_node_prepare_sets(node);
	for (int i = 0; i < node->nkeys; i++)
		classes[i] = node->key_outputs[i].cls;
	for (int i = 0; i < r->nsets; i++)
	{
		const GpucolRankingSet *set = &r->sets[i];

		sets[i] = (GpucolCollectSet)
		{
			.filter = set->filter_column,.score = set->score_column,
				.probability = set->probability_column,
				.divisor = (double) gpucol_lower_power10(set->probability_value.scale),
				.label = set->label_column,.x = set->x_column,
				.k_keys = node->sets[i].wanted_keys,.nk = node->sets[i].nwanted
		};
	}
	gpucol_collect_destroy(node->collect);
	gpucol_budget_open(&node->memory, gpucol_memory_ranking_limit(), gpucol_memory_session());
	node->collect = gpucol_collect_create(&node->memory, threads, node->nkeys, classes,
										  r->nsets, sets);
	MemoryContextSwitchTo(old);
	if (node->collect == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	*arg = node->collect;
	return gpucol_collect_take;
}

/* Should a thread stop? */
static bool
cancelled(void *arg pg_attribute_unused())
{
	return QueryCancelPending || ProcDiePending;
}

/*-------------------------------------------------------------------------
 * Collecting
 *-------------------------------------------------------------------------
 */

/* Rows have passed the set's filter: evaluate k, make the batch. */
static void
start_batch(GpucolRankSet *set)
{
	GpucolRankNode *node = set->node;
	GpucolBatchRanking *rankings = palloc(sizeof(GpucolBatchRanking) *
										  node->rankings->naggs);
	GpucolBatchOptions options = {
		.rankings = rankings,
		.has_x = set->ranked->x != NULL,
		.threads = gpucol_run_threads(node->exec),
		.cancelled = cancelled
	};
	uint32_t *const *groups;
	uint32_t *const *names;

	gpucol_rank_node_make_rankings(set, rankings);
	options.nrankings = set->nrankings;
	gpucol_rank_node_set_order(set, &options);
	set->batch = gpucol_batch_create(&node->memory,
									 gpucol_collect_rows(node->collect, set - node->sets,
														 &groups, &names),
									 &options);
	if (set->batch == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

/* Raise the error of a value that no ranking takes. */
static void
report_fault(const GpucolCollectError *error)
{
	if (error->fault == GPUCOL_COLLECT_K_NULL)
		gpucol_rank_node_report_null("k");
	if (error->fault == GPUCOL_COLLECT_BAD_K)
		gpucol_group_check_k((int32) error->value.k);
	gpucol_group_check_probability(error->value.p);
}

/* Have the node fall back, or raise the error of an interrupt. */
static GpucolStatus
fall_back(GpucolRankNode *node, GpucolStatus status)
{
	if (status == GPUCOL_CANCELLED)
	{
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("ranking was cancelled")));
	}
	node->exec->fallback = status == GPUCOL_OUT_OF_MEMORY ?
		"the rows to be ranked exceed gpucol.ranking_memory_limit" : "too many rows to be ranked together";
	return status;
}

/* The keys of groups [from, from + n) as columns, in the current context. */
static const GpucolResultColumn *
make_key_columns(GpucolRankNode *node, uint32 from, uint32 n)
{
	for (int c = 0; c < node->nkeys; c++)
	{
		GpucolResultColumn *column = &node->key_columns[c];
		uint8	   *nulls = MemoryContextAllocHuge(CurrentMemoryContext, Max(n, 1));
		void	   *data = MemoryContextAllocHuge(CurrentMemoryContext,
												  sizeof(__int128) * ((Size) n + 1));

		gpucol_keys_column(gpucol_collect_keys(node->collect), c, from, n, nulls, data);
		column->cls = node->key_outputs[c].cls;
		column->nulls = nulls;
		column->i = data;
		column->d = data;
		column->f = data;
		column->s = data;
	}
	return node->key_columns;
}

/* Give the batch the k of each group where that is a key. */
static void
set_group_k(GpucolRankSet *set)
{
	GpucolRankNode *node = set->node;

	for (int r = 0; r < set->nrankings; r++)
	{
		const GpucolResultColumn *key;
		int32	   *k;

		if (set->k_keys[r] < 0)
			continue;
		key = &make_key_columns(node, 0, node->ngroups)[set->k_keys[r]];
		k = MemoryContextAllocHuge(node->context, sizeof(int32) * (Size) node->ngroups);
		for (uint32 g = 0; g < node->ngroups; g++)
			k[g] = key->nulls[g] ? 1 : (int32) key->i[g];
		gpucol_batch_set_k(set->batch, r, k);
		MemoryContextReset(node->handed_context);
	}
}

/* Make the batches of the sets that have rows. */
static GpucolStatus
start_batches(GpucolRankNode *node)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < node->rankings->nsets && status == GPUCOL_OK; i++)
	{
		GpucolRankSet *set = &node->sets[i];
		uint32_t *const *groups;
		uint32_t *const *names;
		MemoryContext old;

		if (!gpucol_collect_is_used(node->collect, i))
			continue;
		old = MemoryContextSwitchTo(node->context);
		start_batch(set);
		MemoryContextSwitchTo(node->handed_context);
		set_group_k(set);
		MemoryContextSwitchTo(old);
		gpucol_collect_rows(node->collect, i, &groups, &names);
		status = gpucol_batch_prepare(set->batch, node->ngroups, groups, names);
	}
	return status;
}

/* The scan has ended: prepare the groups. */
static GpucolStatus
finish(GpucolRankNode *node)
{
	GpucolCollectError error;
	GpucolStatus status;

	node->collected = true;
	node->ngroups = node->nkeys == 0 ? 1 : 0;
	if (node->collect == NULL)
		return GPUCOL_OK;
	status = gpucol_collect_finish(node->collect, cancelled, NULL, &error);
	if (status == GPUCOL_CORRUPT)
		report_fault(&error);
	if (status == GPUCOL_OK)
	{
		node->ngroups = gpucol_collect_ngroups(node->collect);
		status = start_batches(node);
	}
	return status == GPUCOL_OK ? status : fall_back(node, status);
}

/* Run the scan to its end, whose rows the CPU engine's threads take. */
static GpucolStatus
collect(GpucolRankNode *node)
{
	GpucolResult result;
	GpucolStatus status;

	status = gpucol_run_next(node->exec, &result);
	if (status == GPUCOL_END)
		return finish(node);
	if (status != GPUCOL_OK)
	{
		if (node->collect != NULL && gpucol_collect_status(node->collect) != GPUCOL_OK)
			return fall_back(node, status);
		return status;
	}
	node->collected = node->on_device = true;
	node->first = result;
	return GPUCOL_OK;
}

/*-------------------------------------------------------------------------
 * Groups
 *-------------------------------------------------------------------------
 */

/* The error of an x-tuple whose probabilities exceed 1. */
static void
report_mass(GpucolRankSet *set)
{
	int64_t		x;
	double		mass;
	Oid			out;
	bool		varlena;

	gpucol_batch_bad_mass(set->batch, &x, &mass);
	getTypeOutputInfo(exprType((Node *) set->ranked->x), &out, &varlena);
	gpucol_group_report_mass(OidOutputFunctionCall(out, gpucol_rank_node_x_datum(set, x)), mass);
}

/*
 * Rank a set's groups until group `upto` - 1 is done.  Without the memory for it the
 * node falls back, as long as it has handed out no group.
 */
static GpucolStatus
rank_groups(GpucolRankSet *set, uint32 upto)
{
	while (set->batch != NULL && gpucol_batch_done(set->batch) < upto)
	{
		GpucolStatus status = gpucol_batch_step(set->batch, STEP_ROWS);

		CHECK_FOR_INTERRUPTS();
		if (status == GPUCOL_CORRUPT)
			report_mass(set);
		if (status == GPUCOL_UNSUPPORTED)
		{
			gpucol_batch_rank_alone(set->batch);
			continue;
		}
		if (status == GPUCOL_OUT_OF_MEMORY && set->node->from == 0)
			return fall_back(set->node, status);
		if (status != GPUCOL_OK && status != GPUCOL_CANCELLED)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed while ranking uncertain rows."),
					 errhint("Increase %s.",
							 gpucol_memory_setting("gpucol.ranking_memory_limit",
												   set->node->memory.limit))));
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rank_node_next(GpucolRankNode *node, GpucolResult *groups)
{
	if (!node->collected)
	{
		GpucolStatus status = collect(node);

		if (status != GPUCOL_OK)
			return status;
	}
	if (node->on_device)
		return gpucol_rank_node_device_next(node, groups);
	node->from += node->handed;
	node->handed = Min(BATCH_GROUPS, node->ngroups - node->from);
	if (node->handed == 0)
		return GPUCOL_END;
	for (int i = 0; node->sets != NULL && i < node->rankings->nsets; i++)
	{
		GpucolStatus status = rank_groups(&node->sets[i], node->from + node->handed);

		if (status != GPUCOL_OK)
			return status;
	}
	memset(groups, 0, sizeof(*groups));
	groups->nrows = node->handed;
	if (node->nkeys > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(node->handed_context);

		MemoryContextReset(node->handed_context);
		groups->columns = make_key_columns(node, node->from, node->handed);
		MemoryContextSwitchTo(old);
	}
	return GPUCOL_OK;
}

/* The answer of a group that the CPU engine has ranked, as an array. */
static Datum
answer_array(const GpucolRankSet *set, const GpucolBatchAnswer *answer)
{
	int			n = answer->count;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	Datum		array;

	gpucol_rank_node_label_datums(set, answer->labels, answer->nulls, n, NULL, values, nulls);
	array = gpucol_rank_node_label_array(set, values, answer->nulls != NULL ? nulls : NULL, n);
	pfree(values);
	pfree(nulls);
	return array;
}

/* Result of an aggregate for a group that the CPU engine has ranked. */
static Datum
group_datum(GpucolRankNode *node, int agg, uint32 group, bool *isnull)
{
	const GpucolRankingAgg *ranking = &node->rankings->aggs[agg];
	const GpucolRankSet *set = node->sets == NULL ? NULL : &node->sets[ranking->set];
	const GpucolBatchAnswer *answer;

	*isnull = true;
	if (set == NULL || set->batch == NULL || gpucol_batch_group_rows(set->batch, group) == 0)
		return (Datum) 0;
	answer = gpucol_batch_answer(set->batch, group, node->batch_ranking[agg]);
	if (answer->count < 0)
		return (Datum) 0;
	*isnull = false;
	if (ranking->probability)
		return Float8GetDatum(answer->probability);
	return answer_array(set, answer);
}

void
gpucol_rank_node_datums(GpucolRankNode *node, int agg, uint32 from, uint32 n, Datum *values, bool *isnull)
{
	if (node->on_device)
	{
		gpucol_rank_node_device_datums(node, agg, from, n, values, isnull);
		return;
	}
	for (uint32 g = 0; g < n; g++)
		values[g] = group_datum(node, agg, node->from + from + g, &isnull[g]);
}
