/*-------------------------------------------------------------------------
 *
 * topk.c
 *	  Rankings of uncertain rows inside a plan node.
 *
 * The scan's outputs are the group keys and what is ranked.  The CPU engine's
 * threads make label-confidence rows of them (uncertain/rank_collect.h), one
 * collection for each set of rows that is ranked; then each set is ranked as a batch.
 * Where rows tie in score and probability PostgreSQL compares labels of class S, and
 * then x-tuples, so ranking stays in one thread from the first such rows on.
 *
 * A device that takes the scan does all this itself (kernel/shape.h): then the
 * run delivers groups with their answers, and what is left is to make arrays.
 * It ranks one set.
 *
 * Errors of the data (probability out of range, sum above 1) are those that the
 * aggregates raise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "exec/topk.h"
#include "guc.h"
#include "kernel/float_order.h"
#include "uncertain/group.h"
#include "uncertain/rank_collect.h"

/* Groups of one batch handed out, and rows ranked between looks at interrupts. */
#define BATCH_GROUPS	1024
#define STEP_ROWS		1000000

/* Labels of one ranking of a batch that the device delivered. */
typedef struct DeviceLabels
{
	Datum	   *values;			/* NULL: not made yet */
	bool	   *nulls;
} DeviceLabels;

/* One set of rows that is ranked. */
typedef struct Set
{
	GpucolTopk *topk;
	const GpucolRankingSet *ranked;
	GpucolBatch *batch;			/* NULL: no row passed its filter */
	int			nrankings;		/* of the batch */
	int		   *k_keys;			/* by ranking of the batch: key that is k, or -1 */
	int		   *wanted_keys;	/* [nwanted] all keys that are a k of the set */
	int			nwanted;
	GpucolOutput label;
	Oid			label_type;
	int16		label_typlen;
	bool		label_typbyval;
	char		label_typalign;
	FmgrInfo	label_cmp;
	FmgrInfo	x_cmp;
	MemoryContext compare_context;
} Set;

struct GpucolTopk
{
	GpucolExec *exec;
	int			nkeys;
	const GpucolOutput *key_outputs;
	const GpucolRankings *rankings;
	MemoryContext context;		/* of everything */
	GpucolRankMemory memory;	/* of the collection and the batches */
	GpucolCollect *collect;		/* NULL: no row, or on the device */
	Set		   *sets;			/* NULL before the lowering */
	int		   *batch_ranking;	/* by aggregate: ranking of its set's batch */
	GpucolResultColumn *key_columns;	/* of the batch handed out */
	bool		on_device;		/* the run delivers ranked groups */
	GpucolResult first;			/* its first batch, until handed out */
	const GpucolRanked *ranked; /* answers of the batch handed out */
	DeviceLabels device_labels[GPUCOL_SHAPE_MAX_RANKINGS];

	bool		collected;
	uint32		ngroups;
	uint32		from;			/* first group of the batch handed out */
	uint32		handed;			/* groups of it */
	MemoryContext handed_context;	/* of their keys or labels */
};

/*-------------------------------------------------------------------------
 * Preparation
 *-------------------------------------------------------------------------
 */

static void
release(void *arg)
{
	gpucol_topk_destroy((GpucolTopk *) arg);
}

void
gpucol_topk_destroy(GpucolTopk *topk)
{
	for (int i = 0; topk->sets != NULL && i < topk->rankings->nsets; i++)
	{
		gpucol_batch_destroy(topk->sets[i].batch);
		topk->sets[i].batch = NULL;
	}
	gpucol_collect_destroy(topk->collect);
	topk->collect = NULL;
}

GpucolTopk *
gpucol_topk_create(GpucolExec *exec, int nkeys, const GpucolOutput *keys,
				   const GpucolRankings *rankings)
{
	GpucolTopk *topk = palloc0(sizeof(GpucolTopk));
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	topk->exec = exec;
	topk->nkeys = nkeys;
	topk->key_outputs = keys;
	topk->rankings = rankings;
	topk->context = CurrentMemoryContext;
	topk->handed_context = AllocSetContextCreate(topk->context,
												 "gpucol ranked groups",
												 ALLOCSET_DEFAULT_SIZES);
	callback->func = release;
	callback->arg = topk;
	MemoryContextRegisterResetCallback(topk->context, callback);
	return topk;
}

/* The label has been lowered: prepare for its class. */
static void
prepare_label(Set *set)
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
static void
prepare_sets(GpucolTopk *topk)
{
	const GpucolRankings *r = topk->rankings;

	if (topk->sets != NULL)
		return;
	topk->batch_ranking = palloc0(sizeof(int) * r->naggs);
	topk->key_columns = palloc0(sizeof(GpucolResultColumn) * Max(topk->nkeys, 1));
	topk->sets = palloc0(sizeof(Set) * r->nsets);
	for (int i = 0; i < r->nsets; i++)
	{
		Set		   *set = &topk->sets[i];

		set->topk = topk;
		set->ranked = &r->sets[i];
		set->k_keys = palloc(sizeof(int) * r->naggs);
		set->wanted_keys = palloc(sizeof(int) * r->naggs);
		prepare_label(set);
	}
	for (int i = 0; i < r->naggs; i++)
	{
		Set		   *set = &topk->sets[r->aggs[i].set];

		if (r->aggs[i].k_key >= 0)
			set->wanted_keys[set->nwanted++] = r->aggs[i].k_key;
	}
}

/* The threads have the rows: what makes collections of them. */
GpucolTakeRows
gpucol_topk_take(GpucolTopk *topk, int threads, void **arg)
{
	const GpucolRankings *r = topk->rankings;
	MemoryContext old = MemoryContextSwitchTo(topk->context);
	GpucolCollectSet *sets = palloc(sizeof(GpucolCollectSet) * r->nsets);
	uint8	   *classes = palloc(Max(topk->nkeys, 1));

	prepare_sets(topk);
	for (int i = 0; i < topk->nkeys; i++)
		classes[i] = topk->key_outputs[i].cls;
	for (int i = 0; i < r->nsets; i++)
	{
		const GpucolRankingSet *set = &r->sets[i];

		sets[i] = (GpucolCollectSet)
		{
			.filter = set->filter_column,.score = set->score_column,
				.probability = set->probability_column,
				.divisor = (double) gpucol_lower_power10(set->probability_value.scale),
				.label = set->label_column,.x = set->x_column,
				.k_keys = topk->sets[i].wanted_keys,.nk = topk->sets[i].nwanted
		};
	}
	gpucol_collect_destroy(topk->collect);
	topk->memory.limit = gpucol_guc_memory(gpucol_ranking_memory_limit);
	topk->memory.used = 0;
	topk->collect = gpucol_collect_create(&topk->memory, threads, topk->nkeys, classes,
										  r->nsets, sets);
	MemoryContextSwitchTo(old);
	if (topk->collect == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	*arg = topk->collect;
	return gpucol_collect_take;
}

/* The error of an argument that is NULL. */
static void
report_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", what)));
}

/* The value of a constant argument; raises an error for NULL. */
static Datum
constant_argument(GpucolTopk *topk, Expr *expr, const char *what)
{
	Datum		value;
	bool		isnull;

	gpucol_lower_eval(topk->exec->lower, expr, &value, &isnull);
	if (isnull)
		report_null(what);
	return value;
}

/* The rankings of a set; equal ones, and a set and its probability, once. */
static void
make_rankings(Set *set, GpucolBatchRanking *out)
{
	GpucolTopk *topk = set->topk;
	int			n = 0;

	for (int i = 0; i < topk->rankings->naggs; i++)
	{
		const GpucolRankingAgg *agg = &topk->rankings->aggs[i];
		GpucolBatchRanking r = {.ranking = agg->ranking};
		int			j = 0;

		if (set != &topk->sets[agg->set])
			continue;
		if (agg->k_key < 0)
		{
			r.k = DatumGetInt32(constant_argument(topk, agg->k, "k"));
			gpucol_group_check_k(r.k);
		}
		if (agg->threshold != NULL)
		{
			r.threshold = DatumGetFloat8(constant_argument(topk, agg->threshold,
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
		topk->batch_ranking[i] = j;
	}
	set->nrankings = n;
}

/* Is the value of this argument known without raising an error? */
static bool
argument_is_simple(const Expr *expr)
{
	return expr == NULL || IsA(expr, Const) || IsA(expr, Param);
}

/* Is k, or the threshold, one that rankings accept? */
static bool
argument_is_valid(GpucolTopk *topk, const Expr *expr, bool is_k)
{
	Datum		value;
	bool		isnull;

	if (expr == NULL)
		return true;
	gpucol_lower_eval(topk->exec->lower, (Expr *) expr, &value, &isnull);
	if (isnull)
		return false;
	if (is_k)
		return DatumGetInt32(value) >= 1;
	return DatumGetFloat8(value) > 0 && DatumGetFloat8(value) <= 1;
}

/* Describe the first set and its rankings. */
static void
fill_shape(GpucolTopk *topk, GpucolRowShape *shape, const GpucolBatchRanking *rankings)
{
	const Set  *set = &topk->sets[0];
	const GpucolRankings *r = topk->rankings;

	shape->kind = GPUCOL_SHAPE_RANKED;
	shape->nkeys = topk->nkeys;
	shape->nrankings = set->nrankings;
	shape->filter = set->ranked->filter_column;
	shape->score = set->ranked->score_column;
	shape->probability = set->ranked->probability_column;
	shape->label = set->ranked->label_column;
	shape->x = set->ranked->x_column;
	shape->divisor = (double) gpucol_lower_power10(set->ranked->probability_value.scale);
	for (uint32 i = 0; i < shape->nrankings; i++)
		shape->rankings[i] = (GpucolShapeRanking)
	{
		.ranking = rankings[i].ranking,.k = rankings[i].k,
			.k_key = set->k_keys[i],.threshold = rankings[i].threshold
	};
	for (int i = 0; i < r->naggs; i++)
		shape->rankings[topk->batch_ranking[i]].wanted |=
			r->aggs[i].probability ? GPUCOL_WANTED_PROBABILITY : GPUCOL_WANTED_LABELS;
}

/*
 * What a device is to make of the rows.  A k or threshold that is out of range is
 * left to the CPU engine, which raises the error if a row calls for it.
 */
bool
gpucol_topk_shape(GpucolTopk *topk, GpucolRowShape *shape, const char **why)
{
	const GpucolRankings *r = topk->rankings;
	MemoryContext old = MemoryContextSwitchTo(topk->context);
	GpucolBatchRanking *rankings = palloc(sizeof(GpucolBatchRanking) * r->naggs);

	prepare_sets(topk);
	*why = r->nsets > 1 ? "a device ranks one set of rows at a time" : NULL;
	for (int i = 0; i < r->naggs && *why == NULL; i++)
	{
		const Expr *k = r->aggs[i].k_key < 0 ? r->aggs[i].k : NULL;

		if (!argument_is_simple(k) || !argument_is_simple(r->aggs[i].threshold))
			*why = "k or threshold is an expression";
		else if (!argument_is_valid(topk, k, true) ||
				 !argument_is_valid(topk, r->aggs[i].threshold, false))
			*why = "k or threshold is out of range";
	}
	if (*why == NULL)
	{
		make_rankings(&topk->sets[0], rankings);
		if (topk->sets[0].nrankings > GPUCOL_SHAPE_MAX_RANKINGS)
			*why = "too many rankings in one query";
	}
	if (*why == NULL)
		fill_shape(topk, shape, rankings);
	MemoryContextSwitchTo(old);
	return *why == NULL;
}

/* Compare labels of class S as PostgreSQL does. */
static int
compare_labels(void *arg, int64_t a, int64_t b)
{
	Set		   *set = (Set *) arg;
	const GpucolStoredLabel *l = (const GpucolStoredLabel *) (intptr_t) a;
	const GpucolStoredLabel *r = (const GpucolStoredLabel *) (intptr_t) b;
	MemoryContext old;
	Datum		x,
				y;
	int			c;

	MemoryContextReset(set->compare_context);
	old = MemoryContextSwitchTo(set->compare_context);
	x = gpucol_typemap_from_bytes(&set->label.map, (GpucolBytes) {l->data, l->len});
	y = gpucol_typemap_from_bytes(&set->label.map, (GpucolBytes) {r->data, r->len});
	c = DatumGetInt32(FunctionCall2Coll(&set->label_cmp,
										set->ranked->collation, x, y));
	MemoryContextSwitchTo(old);
	return c;
}

/* The x-tuple that x of a row stands for. */
static Datum
x_datum(const Set *set, int64 x)
{
	GpucolOutput output;
	GpucolResultColumn column = {.cls = set->ranked->x_value.cls};
	Node	   *expr = (Node *) set->ranked->x;
	GpucolBytes bytes;
	int64_t		small;
	Datum		value;
	bool		isnull;

	if (!gpucol_collect_x(set->topk->collect, x, &bytes, &small))
		column.i = &small;
	else if (column.cls == GPUCOL_CLASS_S)
		column.s = &bytes;
	else
		column.i = (const int64_t *) bytes.data;
	gpucol_output_init(&output, exprType(expr), exprTypmod(expr), exprCollation(expr),
					   &set->ranked->x_value);
	gpucol_output_datums(&output, &column, 1, &value, &isnull);
	return value;
}

/* Compare x-tuples as PostgreSQL does: rows tie in everything else. */
static int
compare_x(void *arg, int64_t a, int64_t b)
{
	Set		   *set = (Set *) arg;
	MemoryContext old;
	int			c;

	MemoryContextReset(set->compare_context);
	old = MemoryContextSwitchTo(set->compare_context);
	c = DatumGetInt32(FunctionCall2Coll(&set->x_cmp, set->ranked->collation,
										x_datum(set, a), x_datum(set, b)));
	MemoryContextSwitchTo(old);
	return c;
}

/* Compare labels of class F: as they are ordered, not as their bits are. */
static int
compare_floats(void *arg pg_attribute_unused(), int64_t a, int64_t b)
{
	double		x,
				y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	a = gpucol_float_order(x);
	b = gpucol_float_order(y);
	return (a > b) - (a < b);
}

/* Look up what compare_labels or compare_x calls. */
static void
init_compare(Set *set, Oid type, FmgrInfo *cmp)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);

	if (!OidIsValid(entry->cmp_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a comparison function for type %s",
						format_type_be(type))));
	fmgr_info_cxt(entry->cmp_proc, cmp, set->topk->context);
	if (set->compare_context == NULL)
		set->compare_context = AllocSetContextCreate(set->topk->context,
													 "gpucol label comparison",
													 ALLOCSET_SMALL_SIZES);
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
start_batch(Set *set)
{
	GpucolTopk *topk = set->topk;
	GpucolBatchRanking *rankings = palloc(sizeof(GpucolBatchRanking) *
										  topk->rankings->naggs);
	GpucolBatchOptions options = {
		.rankings = rankings,
		.has_x = set->ranked->x != NULL,
		.threads = gpucol_run_threads(topk->exec),
		.cmp_arg = set,
		.cancelled = cancelled
	};
	int			stores;
	uint32_t *const *groups;
	uint32_t *const *names;

	make_rankings(set, rankings);
	options.nrankings = set->nrankings;
	if (set->ranked->label != NULL && set->label.cls == GPUCOL_CLASS_S)
	{
		init_compare(set, set->label_type, &set->label_cmp);
		options.label_cmp = compare_labels;
		options.label_alone = true;
	}
	if (set->ranked->label != NULL && set->label.cls == GPUCOL_CLASS_F)
		options.label_cmp = compare_floats;
	if (set->ranked->x != NULL)
	{
		init_compare(set, exprType((Node *) set->ranked->x), &set->x_cmp);
		options.x_cmp = compare_x;
	}
	set->batch = gpucol_batch_create(&topk->memory,
									 gpucol_collect_rows(topk->collect, set - topk->sets,
														 &stores, &groups, &names),
									 &options);
	if (set->batch == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

/* Raise the error of a value that no ranking takes. */
static void
report_fault(const GpucolCollectError *error)
{
	if (error->fault == GPUCOL_COLLECT_K_NULL)
		report_null("k");
	if (error->fault == GPUCOL_COLLECT_BAD_K)
		gpucol_group_check_k((int32) error->value.k);
	gpucol_group_check_probability(error->value.p);
}

/* Have the node fall back, or raise the error of an interrupt. */
static GpucolStatus
fall_back(GpucolTopk *topk, GpucolStatus status)
{
	if (status == GPUCOL_CANCELLED)
	{
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("ranking was cancelled")));
	}
	topk->exec->fallback = status == GPUCOL_OUT_OF_MEMORY ?
		"the rows to be ranked exceed gpucol.ranking_memory_limit" : "too many rows to be ranked together";
	return status;
}

/* The keys of groups [from, from + n) as columns, in the current context. */
static const GpucolResultColumn *
make_key_columns(GpucolTopk *topk, uint32 from, uint32 n)
{
	for (int c = 0; c < topk->nkeys; c++)
	{
		GpucolResultColumn *column = &topk->key_columns[c];
		uint8	   *nulls = MemoryContextAllocHuge(CurrentMemoryContext, Max(n, 1));
		void	   *data = MemoryContextAllocHuge(CurrentMemoryContext,
												  sizeof(__int128) * ((Size) n + 1));

		gpucol_keys_column(gpucol_collect_keys(topk->collect), c, from, n, nulls, data);
		column->cls = topk->key_outputs[c].cls;
		column->nulls = nulls;
		column->i = data;
		column->d = data;
		column->f = data;
		column->s = data;
	}
	return topk->key_columns;
}

/* Give the batch the k of each group where that is a key. */
static void
set_group_k(Set *set)
{
	GpucolTopk *topk = set->topk;

	for (int r = 0; r < set->nrankings; r++)
	{
		const GpucolResultColumn *key;
		int32	   *k;

		if (set->k_keys[r] < 0)
			continue;
		key = &make_key_columns(topk, 0, topk->ngroups)[set->k_keys[r]];
		k = MemoryContextAllocHuge(topk->context, sizeof(int32) * (Size) topk->ngroups);
		for (uint32 g = 0; g < topk->ngroups; g++)
			k[g] = key->nulls[g] ? 1 : (int32) key->i[g];
		gpucol_batch_set_k(set->batch, r, k);
		MemoryContextReset(topk->handed_context);
	}
}

/* Make the batches of the sets that have rows. */
static GpucolStatus
start_batches(GpucolTopk *topk)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < topk->rankings->nsets && status == GPUCOL_OK; i++)
	{
		Set		   *set = &topk->sets[i];
		int			stores;
		uint32_t *const *groups;
		uint32_t *const *names;
		MemoryContext old;

		if (!gpucol_collect_is_used(topk->collect, i))
			continue;
		old = MemoryContextSwitchTo(topk->context);
		start_batch(set);
		MemoryContextSwitchTo(topk->handed_context);
		set_group_k(set);
		MemoryContextSwitchTo(old);
		gpucol_collect_rows(topk->collect, i, &stores, &groups, &names);
		status = gpucol_batch_prepare(set->batch, topk->ngroups, stores, groups, names);
	}
	return status;
}

/* The scan has ended: prepare the groups. */
static GpucolStatus
finish(GpucolTopk *topk)
{
	GpucolCollectError error;
	GpucolStatus status;

	topk->collected = true;
	topk->ngroups = topk->nkeys == 0 ? 1 : 0;
	if (topk->collect == NULL)
		return GPUCOL_OK;
	status = gpucol_collect_finish(topk->collect, cancelled, NULL, &error);
	if (status == GPUCOL_CORRUPT)
		report_fault(&error);
	if (status == GPUCOL_OK)
	{
		topk->ngroups = gpucol_collect_ngroups(topk->collect);
		status = start_batches(topk);
	}
	return status == GPUCOL_OK ? status : fall_back(topk, status);
}

/* Run the scan to its end, whose rows the CPU engine's threads take. */
static GpucolStatus
collect(GpucolTopk *topk)
{
	GpucolResult result;
	GpucolStatus status;

	status = gpucol_run_next(topk->exec, &result);
	if (status == GPUCOL_END)
		return finish(topk);
	if (status != GPUCOL_OK)
	{
		if (topk->collect != NULL && gpucol_collect_status(topk->collect) != GPUCOL_OK)
			return fall_back(topk, status);
		return status;
	}
	topk->collected = topk->on_device = true;
	topk->first = result;
	return GPUCOL_OK;
}

/*-------------------------------------------------------------------------
 * Groups
 *-------------------------------------------------------------------------
 */

/* The error of an x-tuple whose probabilities exceed 1. */
static void
report_mass(Set *set)
{
	int64_t		x;
	double		mass;
	Oid			out;
	bool		varlena;

	gpucol_batch_bad_mass(set->batch, &x, &mass);
	getTypeOutputInfo(exprType((Node *) set->ranked->x), &out, &varlena);
	gpucol_group_report_mass(OidOutputFunctionCall(out, x_datum(set, x)), mass);
}

/* Rank a set's groups until group `upto` - 1 is done. */
static void
rank_groups(Set *set, uint32 upto)
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
		if (status != GPUCOL_OK && status != GPUCOL_CANCELLED)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Failed while ranking uncertain rows.")));
	}
}

/* Next batch of groups that the device has ranked. */
static GpucolStatus
next_from_device(GpucolTopk *topk, GpucolResult *groups)
{
	GpucolStatus status = GPUCOL_OK;

	if (topk->first.nrows > 0)
		*groups = topk->first;
	else
		status = gpucol_run_next(topk->exec, groups);
	topk->first.nrows = 0;
	MemoryContextReset(topk->handed_context);
	memset(topk->device_labels, 0, sizeof(topk->device_labels));
	if (status != GPUCOL_OK)
		return status;
	topk->ranked = groups->ranked;
	topk->handed = groups->nrows;
	return status;
}

GpucolStatus
gpucol_topk_next(GpucolTopk *topk, GpucolResult *groups)
{
	if (!topk->collected)
	{
		GpucolStatus status = collect(topk);

		if (status != GPUCOL_OK)
			return status;
	}
	if (topk->on_device)
		return next_from_device(topk, groups);
	topk->from += topk->handed;
	topk->handed = Min(BATCH_GROUPS, topk->ngroups - topk->from);
	if (topk->handed == 0)
		return GPUCOL_END;
	for (int i = 0; topk->sets != NULL && i < topk->rankings->nsets; i++)
		rank_groups(&topk->sets[i], topk->from + topk->handed);
	memset(groups, 0, sizeof(*groups));
	groups->nrows = topk->handed;
	if (topk->nkeys > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(topk->handed_context);

		MemoryContextReset(topk->handed_context);
		groups->columns = make_key_columns(topk, topk->from, topk->handed);
		MemoryContextSwitchTo(old);
	}
	return GPUCOL_OK;
}

/* A label of class S, from the word that stands for it. */
static GpucolBytes
label_bytes(int64 word, const GpucolRanked *ranked)
{
	const GpucolStoredLabel *label = (const GpucolStoredLabel *) (intptr_t) word;

	if (ranked == NULL)
		return (GpucolBytes) {label->data, label->len};
	if (ranked->strings == NULL || (uint64) word >= ranked->nstrings)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("device returned an unknown label")));
	return ranked->strings[word];
}

/* Labels as datums, in the current context; of class S, those of `ranked`. */
static void
label_datums(const Set *set, const int64 *labels, const uint8 *label_nulls,
			 Size n, const GpucolRanked *ranked, Datum *values, bool *nulls)
{
	GpucolResultColumn column = {.cls = set->label.cls,.nulls = label_nulls,.i = labels};
	GpucolBytes *bytes = NULL;
	__int128   *mantissas = NULL;

	if (column.cls == GPUCOL_CLASS_S)
		bytes = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(GpucolBytes) * n);
	if (column.cls == GPUCOL_CLASS_D)
		mantissas = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(__int128) * n);
	for (Size i = 0; i < n && bytes != NULL; i++)
		bytes[i] = label_nulls != NULL && label_nulls[i] ? (GpucolBytes) {NULL, 0} :
			label_bytes(labels[i], ranked);
	for (Size i = 0; i < n && mantissas != NULL; i++)
		mantissas[i] = labels[i];
	column.s = bytes;
	column.d = mantissas;
	column.f = (const double *) labels;
	gpucol_output_datums(&set->label, &column, n, values, nulls);
}

/* Lie the elements of arrays of the label's type side by side, as they are? */
static bool
labels_are_dense(const Set *set)
{
	return set->label_typbyval &&
		att_align_nominal(1, set->label_typalign) == (Size) set->label_typlen;
}

/* n labels as an array; nulls may be NULL. */
static Datum
label_array(const Set *set, Datum *values, bool *nulls, int n)
{
	int			lower = 1;
	Size		size = ARR_OVERHEAD_NONULLS(1) + (Size) n * set->label_typlen;
	ArrayType  *array;
	char	   *to;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(set->label_type));
	if (nulls != NULL || !labels_are_dense(set) || !AllocSizeIsValid(size))
		return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
												  set->label_type, set->label_typlen,
												  set->label_typbyval,
												  set->label_typalign));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = set->label_type;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = lower;
	to = ARR_DATA_PTR(array);
	for (int i = 0; i < n; i++, to += set->label_typlen)
		store_att_byval(to, values[i], set->label_typlen);
	return PointerGetDatum(array);
}

/* The answer of a group that the CPU engine has ranked, as an array. */
static Datum
answer_array(const Set *set, const GpucolBatchAnswer *answer)
{
	int			n = answer->count;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));

	label_datums(set, answer->labels, answer->nulls, n, NULL, values, nulls);
	return label_array(set, values, answer->nulls != NULL ? nulls : NULL, n);
}

/* Labels that were delivered as offsets. */
static int64 *
whole_labels(GpucolTopk *topk, const uint32 *offsets, Size n, int64 base)
{
	int64	   *labels = MemoryContextAllocHuge(topk->handed_context,
											   sizeof(int64) * (n + 1));

	for (Size i = 0; i < n; i++)
		labels[i] = base + offsets[i];
	return labels;
}

/* Labels of ranking `r` of the device's batch as datums, made at the first call. */
static const DeviceLabels *
device_labels(GpucolTopk *topk, int r)
{
	DeviceLabels *d = &topk->device_labels[r];
	const GpucolRanked *ranked = &topk->ranked[r];
	uint32		last = topk->handed - 1;
	uint64		from = ranked->first[0];
	Size		n = ranked->first[last] + Max(ranked->counts[last], 0) - from;
	MemoryContext old;

	if (d->values != NULL)
		return d;
	old = MemoryContextSwitchTo(topk->handed_context);
	d->values = MemoryContextAllocHuge(topk->handed_context, sizeof(Datum) * (n + 1));
	d->nulls = MemoryContextAllocHuge(topk->handed_context, sizeof(bool) * (n + 1));
	label_datums(&topk->sets[0], ranked->labels != NULL ? ranked->labels + from :
				 whole_labels(topk, ranked->offsets + from, n, ranked->base),
				 ranked->nulls != NULL ? ranked->nulls + from : NULL, n, ranked,
				 d->values, d->nulls);
	MemoryContextSwitchTo(old);
	return d;
}

/* The same for a group that the device has ranked. */
static Datum
device_datum(GpucolTopk *topk, int agg, uint32 row, bool *isnull)
{
	int			r = topk->batch_ranking[agg];
	const GpucolRanked *ranked = &topk->ranked[r];
	uint64		at = ranked->first[row] - ranked->first[0];
	const DeviceLabels *labels;

	*isnull = ranked->counts[row] < 0;
	if (*isnull)
		return (Datum) 0;
	if (topk->rankings->aggs[agg].probability)
		return Float8GetDatum(ranked->probabilities[row]);
	labels = device_labels(topk, r);
	return label_array(&topk->sets[0], labels->values + at,
					   ranked->nulls != NULL ? labels->nulls + at : NULL,
					   ranked->counts[row]);
}

Datum
gpucol_topk_datum(GpucolTopk *topk, int agg, uint32 row, bool *isnull)
{
	uint32		group = topk->from + row;
	const GpucolRankingAgg *ranking = &topk->rankings->aggs[agg];
	const GpucolBatchAnswer *answer;
	const Set  *set;

	if (topk->on_device)
		return device_datum(topk, agg, row, isnull);
	*isnull = true;
	set = topk->sets == NULL ? NULL : &topk->sets[ranking->set];
	if (set == NULL || set->batch == NULL || gpucol_batch_group_rows(set->batch, group) == 0)
		return (Datum) 0;
	answer = gpucol_batch_answer(set->batch, group, topk->batch_ranking[agg]);
	if (answer->count < 0)
		return (Datum) 0;
	*isnull = false;
	if (ranking->probability)
		return Float8GetDatum(answer->probability);
	return answer_array(set, answer);
}
