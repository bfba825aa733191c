/*-------------------------------------------------------------------------
 *
 * topk.c
 *	  Rankings of uncertain rows inside a plan node.
 *
 * The scan's outputs are the group keys and what is ranked.  Row by row they
 * become label-confidence rows: group number, score as an int64 that sorts like
 * it, probability, label, number of the x-tuple.  A label of class S is kept
 * once in an arena and stands for its place there; where score and probability
 * tie, PostgreSQL compares such labels, so ranking then stays in one thread.  A
 * float is kept as its bits.
 *
 * A device that takes the scan does all this itself (kernel/shape.h): then the
 * run delivers groups with their answers, and what is left is to make arrays.
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

/* Groups of one batch handed out, and rows ranked between looks at interrupts. */
#define BATCH_GROUPS	1024
#define STEP_ROWS		1000000

/* Label of a class S value: its length, then its bytes. */
typedef struct StoredLabel
{
	size_t		len;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} StoredLabel;

/* Labels of one ranking of a batch that the device delivered. */
typedef struct DeviceLabels
{
	Datum	   *values;			/* NULL: not made yet */
	bool	   *nulls;
} DeviceLabels;

struct GpucolTopk
{
	GpucolExec *exec;
	int			nkeys;
	const GpucolOutput *key_outputs;
	const GpucolRankings *rankings;
	MemoryContext context;		/* of everything */
	GpucolKeys *keys;
	GpucolNames *x_names;		/* x-tuples of class S */
	GpucolBatch *batch;
	int		   *batch_ranking;	/* by aggregate: ranking of the batch */
	int			nrankings;		/* of the batch */
	int		   *k_keys;			/* by ranking of the batch: key that is k, or -1 */
	bool		on_device;		/* the run delivers ranked groups */
	GpucolResult first;			/* its first batch, until handed out */
	const GpucolRanked *ranked; /* answers of the batch handed out */
	DeviceLabels device_labels[GPUCOL_SHAPE_MAX_RANKINGS];
	GpucolOutput label;
	Oid			label_type;
	int16		label_typlen;
	bool		label_typbyval;
	char		label_typalign;
	FmgrInfo	label_cmp;
	MemoryContext compare_context;
	double		p_divisor;		/* of probabilities of class D */

	/* rows of one scan batch */
	uint32	   *groups;
	uint32	   *selected;		/* those that become rows */
	GpucolBatchRow *rows;
	uint32		rows_size;

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
	gpucol_batch_destroy(topk->batch);
	topk->batch = NULL;
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
prepare_label(GpucolTopk *topk)
{
	Node	   *label = (Node *) topk->rankings->label;

	if (label == NULL)
		return;
	topk->label_type = exprType(label);
	get_typlenbyvalalign(topk->label_type, &topk->label_typlen,
						 &topk->label_typbyval, &topk->label_typalign);
	gpucol_output_init(&topk->label, topk->label_type, exprTypmod(label),
					   exprCollation(label), &topk->rankings->label_value);
}

/* The expressions have been lowered: prepare to collect rows. */
static void
prepare(GpucolTopk *topk)
{
	topk->keys = gpucol_keys_create(topk->nkeys, topk->key_outputs);
	topk->p_divisor = (double) gpucol_lower_power10(topk->rankings->probability_value.scale);
	if (topk->rankings->x != NULL)
		topk->x_names = gpucol_names_create();
	prepare_label(topk);
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

/* The rankings to compute; equal ones, and a set and its probability, once. */
static int
make_rankings(GpucolTopk *topk, GpucolBatchRanking *out)
{
	int			n = 0;

	topk->batch_ranking = palloc(sizeof(int) * topk->rankings->naggs);
	topk->k_keys = palloc(sizeof(int) * topk->rankings->naggs);
	for (int i = 0; i < topk->rankings->naggs; i++)
	{
		const GpucolRankingAgg *agg = &topk->rankings->aggs[i];
		GpucolBatchRanking r = {.ranking = agg->ranking};
		int			j = 0;

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
						 topk->k_keys[j] != agg->k_key ||
						 out[j].threshold != r.threshold))
			j++;
		if (j == n)
		{
			topk->k_keys[n] = agg->k_key;
			out[n++] = r;
		}
		topk->batch_ranking[i] = j;
	}
	topk->nrankings = n;
	return n;
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

	*why = NULL;
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
		int			n = make_rankings(topk, rankings);

		if (n > GPUCOL_SHAPE_MAX_RANKINGS)
			*why = "too many rankings in one query";
		shape->nrankings = Min(n, GPUCOL_SHAPE_MAX_RANKINGS);
	}
	shape->kind = GPUCOL_SHAPE_RANKED;
	shape->nkeys = topk->nkeys;
	shape->filter = r->filter_column;
	shape->score = r->score_column;
	shape->probability = r->probability_column;
	shape->label = r->label_column;
	shape->x = r->x_column;
	shape->divisor = (double) gpucol_lower_power10(r->probability_value.scale);
	for (uint32 i = 0; i < shape->nrankings; i++)
		shape->rankings[i] = (GpucolShapeRanking)
	{
		.ranking = rankings[i].ranking,.k = rankings[i].k,
			.k_key = topk->k_keys[i],.threshold = rankings[i].threshold
	};
	for (int i = 0; i < r->naggs && *why == NULL; i++)
		shape->rankings[topk->batch_ranking[i]].wanted |=
			r->aggs[i].probability ? GPUCOL_WANTED_PROBABILITY : GPUCOL_WANTED_LABELS;
	MemoryContextSwitchTo(old);
	return *why == NULL;
}

/* Compare labels of class S as PostgreSQL does. */
static int
compare_labels(void *arg, int64_t a, int64_t b)
{
	GpucolTopk *topk = (GpucolTopk *) arg;
	const StoredLabel *l = (const StoredLabel *) (intptr_t) a;
	const StoredLabel *r = (const StoredLabel *) (intptr_t) b;
	MemoryContext old;
	Datum		x,
				y;
	int			c;

	MemoryContextReset(topk->compare_context);
	old = MemoryContextSwitchTo(topk->compare_context);
	x = gpucol_typemap_from_bytes(&topk->label.map, (GpucolBytes) {l->data, l->len});
	y = gpucol_typemap_from_bytes(&topk->label.map, (GpucolBytes) {r->data, r->len});
	c = DatumGetInt32(FunctionCall2Coll(&topk->label_cmp,
										topk->rankings->collation, x, y));
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

/* Prepare compare_labels. */
static void
init_compare(GpucolTopk *topk)
{
	TypeCacheEntry *type = lookup_type_cache(topk->label_type, TYPECACHE_CMP_PROC);

	if (!OidIsValid(type->cmp_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a comparison function for type %s",
						format_type_be(topk->label_type))));
	fmgr_info_cxt(type->cmp_proc, &topk->label_cmp, topk->context);
	topk->compare_context = AllocSetContextCreate(topk->context,
												  "gpucol label comparison",
												  ALLOCSET_SMALL_SIZES);
}

/* Should a thread stop? */
static bool
cancelled(void *arg pg_attribute_unused())
{
	return QueryCancelPending || ProcDiePending;
}

/* The first row is there: evaluate k, make the batch. */
static void
start_batch(GpucolTopk *topk)
{
	GpucolBatchRanking *rankings = palloc(sizeof(GpucolBatchRanking) *
										  topk->rankings->naggs);
	GpucolBatchOptions options = {
		.rankings = rankings,
		.nrankings = make_rankings(topk, rankings),
		.has_x = topk->rankings->x != NULL,
		.threads = gpucol_run_threads(topk->exec),
		.memory_limit = gpucol_guc_memory(gpucol_ranking_memory_limit),
		.cancelled = cancelled
	};

	if (topk->rankings->label != NULL && topk->label.cls == GPUCOL_CLASS_S)
	{
		init_compare(topk);
		options.threads = 1;
		options.label_cmp = compare_labels;
		options.label_arg = topk;
	}
	if (topk->rankings->label != NULL && topk->label.cls == GPUCOL_CLASS_F)
		options.label_cmp = compare_floats;
	topk->batch = gpucol_batch_create(&options);
	if (topk->batch == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

/*-------------------------------------------------------------------------
 * Rows
 *-------------------------------------------------------------------------
 */

static bool
is_null(const GpucolResultColumn *column, uint32 i)
{
	return column->nulls != NULL && column->nulls[i];
}

/* The bits of a float. */
static int64
float_bits(double x)
{
	int64		bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* Keep a label of class S. */
static int64
store_label(GpucolTopk *topk, GpucolBytes bytes)
{
	StoredLabel *label = MemoryContextAllocHuge(topk->context,
												offsetof(StoredLabel, data) + bytes.len);

	label->len = bytes.len;
	memcpy(label->data, bytes.data, bytes.len);
	return (int64) (intptr_t) label;
}

/* Drop selected rows that are NULL in a column. */
static uint32
drop_nulls(GpucolTopk *topk, const GpucolResultColumn *column, uint32 n)
{
	uint32		kept = 0;

	if (column->nulls == NULL)
		return n;
	for (uint32 j = 0; j < n; j++)
	{
		topk->selected[kept] = topk->selected[j];
		kept += !column->nulls[topk->selected[j]];
	}
	return kept;
}

/* Select the rows that the FILTER lets pass. */
static uint32
filter_rows(GpucolTopk *topk, const GpucolResult *result)
{
	const GpucolResultColumn *filter = topk->rankings->filter_column < 0 ? NULL :
		&result->columns[topk->rankings->filter_column];
	uint32		n = 0;

	for (uint32 i = 0; i < result->nrows; i++)
	{
		topk->selected[n] = i;
		n += filter == NULL || (!is_null(filter, i) && filter->i[i]);
	}
	return n;
}

/* Check k of the selected rows where it is a group key. */
static void
check_row_k(GpucolTopk *topk, const GpucolResultColumn *columns, uint32 n)
{
	for (int r = 0; r < topk->nrankings; r++)
	{
		const GpucolResultColumn *k = &columns[Max(topk->k_keys[r], 0)];

		for (uint32 j = 0; topk->k_keys[r] >= 0 && j < n; j++)
		{
			if (is_null(k, topk->selected[j]))
				report_null("k");
			gpucol_group_check_k((int32) k->i[topk->selected[j]]);
		}
	}
}

/* Scores, as int64 that sort like them. */
static void
make_scores(GpucolTopk *topk, const GpucolResultColumn *column, uint32 n)
{
	const uint32 *selected = topk->selected;
	GpucolBatchRow *rows = topk->rows;

	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			for (uint32 j = 0; j < n; j++)
				rows[j].score = (int64) column->d[selected[j]];
			break;
		case GPUCOL_CLASS_F:
			for (uint32 j = 0; j < n; j++)
				rows[j].score = gpucol_float_order(column->f[selected[j]]);
			break;
		default:
			for (uint32 j = 0; j < n; j++)
				rows[j].score = column->i[selected[j]];
			break;
	}
}

/* Probabilities, checked. */
static void
make_probabilities(GpucolTopk *topk, const GpucolResultColumn *column, uint32 n)
{
	for (uint32 j = 0; j < n; j++)
	{
		uint32		i = topk->selected[j];
		double		p = column->cls == GPUCOL_CLASS_D ?
			(double) (int64) column->d[i] / topk->p_divisor : column->f[i];

		if (!(p >= 0 && p <= 1))
			gpucol_group_check_probability(p);
		topk->rows[j].p = p;
	}
}

/* The words that stand for labels. */
static void
make_labels(GpucolTopk *topk, const GpucolResultColumn *column, uint32 n)
{
	const uint32 *selected = topk->selected;
	GpucolBatchRow *rows = topk->rows;

	switch (column->cls)
	{
		case GPUCOL_CLASS_S:
			for (uint32 j = 0; j < n; j++)
				rows[j].label = store_label(topk, column->s[selected[j]]);
			break;
		case GPUCOL_CLASS_F:
			for (uint32 j = 0; j < n; j++)
				rows[j].label = float_bits(column->f[selected[j]]);
			break;
		case GPUCOL_CLASS_D:
			for (uint32 j = 0; j < n; j++)
				rows[j].label = (int64) column->d[selected[j]];
			break;
		default:
			for (uint32 j = 0; j < n; j++)
				rows[j].label = column->i[selected[j]];
			break;
	}
}

/* Numbers of the rows' x-tuples. */
static void
make_x(GpucolTopk *topk, const GpucolResultColumn *column, uint32 n)
{
	for (uint32 j = 0; j < n; j++)
	{
		uint32		i = topk->selected[j];

		topk->rows[j].x = -1;
		if (is_null(column, i))
			continue;
		topk->rows[j].x = gpucol_names_number(topk->x_names,
											  column->cls == GPUCOL_CLASS_S ? column->s[i] :
											  (GpucolBytes) {(const char *) &column->i[i], sizeof(int64)});
	}
}

static void
reserve_rows(GpucolTopk *topk, uint32 n)
{
	if (n <= topk->rows_size)
		return;
	topk->groups = palloc(sizeof(uint32) * n);
	topk->selected = palloc(sizeof(uint32) * n);
	topk->rows = palloc(sizeof(GpucolBatchRow) * n);
	topk->rows_size = n;
}

/* Turn the rows that count into label-confidence rows, a column at a time. */
static uint32
make_rows(GpucolTopk *topk, const GpucolResult *result)
{
	const GpucolRankings *r = topk->rankings;
	const GpucolResultColumn *columns = result->columns;
	uint32		n = filter_rows(topk, result);

	if (n == 0)
		return 0;
	if (topk->batch == NULL)
		start_batch(topk);
	check_row_k(topk, columns, n);
	n = drop_nulls(topk, &columns[r->score_column], n);
	n = drop_nulls(topk, &columns[r->probability_column], n);
	if (r->label_column >= 0)
		n = drop_nulls(topk, &columns[r->label_column], n);
	make_scores(topk, &columns[r->score_column], n);
	make_probabilities(topk, &columns[r->probability_column], n);
	for (uint32 j = 0; j < n; j++)
	{
		topk->rows[j].label = 0;
		topk->rows[j].x = -1;
	}
	if (r->label_column >= 0)
		make_labels(topk, &columns[r->label_column], n);
	if (r->x_column >= 0)
		make_x(topk, &columns[r->x_column], n);
	return n;
}

/* Collect one batch of the scan. */
static GpucolStatus
collect_batch(GpucolTopk *topk, const GpucolResult *result)
{
	uint32		kept;

	reserve_rows(topk, result->nrows);
	if (topk->nkeys > 0)
		gpucol_keys_lookup(topk->keys, result->columns, result->nrows, topk->groups);
	else
		memset(topk->groups, 0, sizeof(uint32) * result->nrows);
	kept = make_rows(topk, result);
	if (kept == 0)
		return GPUCOL_OK;
	for (uint32 j = 0; j < kept; j++)
		topk->groups[j] = topk->groups[topk->selected[j]];

	/* group keys and texts are not the batch's */
	if (MemoryContextMemAllocated(topk->context, true) >
		gpucol_guc_memory(gpucol_ranking_memory_limit))
		return GPUCOL_OUT_OF_MEMORY;
	return gpucol_batch_add(topk->batch, kept, topk->groups, topk->rows);
}

/* Have the node fall back. */
static GpucolStatus
fall_back(GpucolTopk *topk, GpucolStatus status)
{
	topk->exec->fallback = status == GPUCOL_OUT_OF_MEMORY ?
		"the rows to be ranked exceed gpucol.ranking_memory_limit" : "too many rows to be ranked together";
	return status;
}

/* Give the batch the k of each group where that is a key. */
static void
set_group_k(GpucolTopk *topk)
{
	for (int r = 0; r < topk->nrankings; r++)
	{
		const GpucolResultColumn *keys;
		int32	   *k;

		if (topk->k_keys[r] < 0)
			continue;
		keys = gpucol_keys_columns(topk->keys, 0, topk->ngroups);
		k = MemoryContextAllocHuge(topk->context, sizeof(int32) * (Size) topk->ngroups);
		for (uint32 g = 0; g < topk->ngroups; g++)
			k[g] = keys[topk->k_keys[r]].nulls[g] ? 1 : (int32) keys[topk->k_keys[r]].i[g];
		gpucol_batch_set_k(topk->batch, r, k);
	}
}

/* Run the scan to its end and prepare the groups. */
static GpucolStatus
collect(GpucolTopk *topk)
{
	GpucolResult result;
	GpucolStatus status;
	MemoryContext old;

	while ((status = gpucol_run_next(topk->exec, &result)) == GPUCOL_OK)
	{
		CHECK_FOR_INTERRUPTS();
		if (result.ranked != NULL)
		{
			topk->collected = topk->on_device = true;
			topk->first = result;
			prepare_label(topk);
			return GPUCOL_OK;
		}
		old = MemoryContextSwitchTo(topk->context);
		if (topk->keys == NULL)
			prepare(topk);
		status = collect_batch(topk, &result);
		MemoryContextSwitchTo(old);
		if (status != GPUCOL_OK)
			return fall_back(topk, status);
	}
	if (status != GPUCOL_END)
		return status;
	topk->collected = true;
	topk->ngroups = topk->nkeys == 0 ? 1 :
		topk->keys == NULL ? 0 : gpucol_keys_count(topk->keys);
	if (topk->batch == NULL)
		return GPUCOL_OK;
	old = MemoryContextSwitchTo(topk->handed_context);
	set_group_k(topk);
	MemoryContextSwitchTo(old);
	status = gpucol_batch_prepare(topk->batch, topk->ngroups);
	return status == GPUCOL_OK ? status : fall_back(topk, status);
}

/*-------------------------------------------------------------------------
 * Groups
 *-------------------------------------------------------------------------
 */

/* The error of an x-tuple whose probabilities exceed 1. */
static void
report_mass(GpucolTopk *topk)
{
	GpucolOutput output;
	GpucolResultColumn column = {.cls = topk->rankings->x_value.cls};
	Node	   *x = (Node *) topk->rankings->x;
	GpucolBytes bytes;
	int64_t		number;
	double		mass;
	Datum		value;
	bool		isnull;
	Oid			out;
	bool		varlena;

	gpucol_batch_bad_mass(topk->batch, &number, &mass);
	bytes = gpucol_names_get(topk->x_names, (uint32) number);
	column.s = &bytes;
	if (column.cls != GPUCOL_CLASS_S)
		column.i = (const int64_t *) bytes.data;
	gpucol_output_init(&output, exprType(x), exprTypmod(x), exprCollation(x),
					   &topk->rankings->x_value);
	gpucol_output_datums(&output, &column, 1, &value, &isnull);
	getTypeOutputInfo(exprType(x), &out, &varlena);
	gpucol_group_report_mass(OidOutputFunctionCall(out, value), mass);
}

/* Rank groups until group `upto` - 1 is done. */
static void
rank_groups(GpucolTopk *topk, uint32 upto)
{
	while (topk->batch != NULL && gpucol_batch_done(topk->batch) < upto)
	{
		GpucolStatus status = gpucol_batch_step(topk->batch, STEP_ROWS);

		CHECK_FOR_INTERRUPTS();
		if (status == GPUCOL_CORRUPT)
			report_mass(topk);
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
	rank_groups(topk, topk->from + topk->handed);
	memset(groups, 0, sizeof(*groups));
	groups->nrows = topk->handed;
	if (topk->keys != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(topk->handed_context);

		MemoryContextReset(topk->handed_context);
		groups->columns = gpucol_keys_columns(topk->keys, topk->from, topk->handed);
		MemoryContextSwitchTo(old);
	}
	return GPUCOL_OK;
}

/* A label of class S, from the word that stands for it. */
static GpucolBytes
label_bytes(GpucolTopk *topk, int64 word, const GpucolRanked *ranked)
{
	const StoredLabel *label = (const StoredLabel *) (intptr_t) word;

	if (!topk->on_device)
		return (GpucolBytes) {label->data, label->len};
	if (ranked->strings == NULL || (uint64) word >= ranked->nstrings)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("device returned an unknown label")));
	return ranked->strings[word];
}

/* Labels as datums, in the current context; of class S, those of `ranked`. */
static void
label_datums(GpucolTopk *topk, const int64 *labels, const uint8 *label_nulls,
			 Size n, const GpucolRanked *ranked, Datum *values, bool *nulls)
{
	GpucolResultColumn column = {.cls = topk->label.cls,.nulls = label_nulls,.i = labels};
	GpucolBytes *bytes = NULL;
	__int128   *mantissas = NULL;

	if (column.cls == GPUCOL_CLASS_S)
		bytes = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(GpucolBytes) * n);
	if (column.cls == GPUCOL_CLASS_D)
		mantissas = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(__int128) * n);
	for (Size i = 0; i < n && bytes != NULL; i++)
		bytes[i] = label_nulls != NULL && label_nulls[i] ? (GpucolBytes) {NULL, 0} :
			label_bytes(topk, labels[i], ranked);
	for (Size i = 0; i < n && mantissas != NULL; i++)
		mantissas[i] = labels[i];
	column.s = bytes;
	column.d = mantissas;
	column.f = (const double *) labels;
	gpucol_output_datums(&topk->label, &column, n, values, nulls);
}

/* Lie the elements of arrays of the label's type side by side, as they are? */
static bool
labels_are_dense(const GpucolTopk *topk)
{
	return topk->label_typbyval &&
		att_align_nominal(1, topk->label_typalign) == (Size) topk->label_typlen;
}

/* n labels as an array; nulls may be NULL. */
static Datum
label_array(GpucolTopk *topk, Datum *values, bool *nulls, int n)
{
	int			lower = 1;
	Size		size = ARR_OVERHEAD_NONULLS(1) + (Size) n * topk->label_typlen;
	ArrayType  *array;
	char	   *to;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(topk->label_type));
	if (nulls != NULL || !labels_are_dense(topk) || !AllocSizeIsValid(size))
		return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
												  topk->label_type, topk->label_typlen,
												  topk->label_typbyval,
												  topk->label_typalign));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = topk->label_type;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = lower;
	to = ARR_DATA_PTR(array);
	for (int i = 0; i < n; i++, to += topk->label_typlen)
		store_att_byval(to, values[i], topk->label_typlen);
	return PointerGetDatum(array);
}

/* The answer of a group that the CPU engine has ranked, as an array. */
static Datum
answer_array(GpucolTopk *topk, const GpucolBatchAnswer *answer)
{
	int			n = answer->count;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));

	label_datums(topk, answer->labels, answer->nulls, n, NULL, values, nulls);
	return label_array(topk, values, answer->nulls != NULL ? nulls : NULL, n);
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
	label_datums(topk, ranked->labels != NULL ? ranked->labels + from :
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
	return label_array(topk, labels->values + at,
					   ranked->nulls != NULL ? labels->nulls + at : NULL,
					   ranked->counts[row]);
}

Datum
gpucol_topk_datum(GpucolTopk *topk, int agg, uint32 row, bool *isnull)
{
	uint32		group = topk->from + row;
	const GpucolBatchAnswer *answer;

	if (topk->on_device)
		return device_datum(topk, agg, row, isnull);
	*isnull = true;
	if (topk->batch == NULL || gpucol_batch_group_rows(topk->batch, group) == 0)
		return (Datum) 0;
	answer = gpucol_batch_answer(topk->batch, group, topk->batch_ranking[agg]);
	if (answer->count < 0)
		return (Datum) 0;
	*isnull = false;
	if (topk->rankings->aggs[agg].probability)
		return Float8GetDatum(answer->probability);
	return answer_array(topk, answer);
}
