/*-------------------------------------------------------------------------
 *
 * topk_probe.c
 *	  ORDER BY ... LIMIT k: which rows of a scan can be among the first k.
 *
 * A first scan reads the first sort key alone and keeps the k best values in a
 * heap of int64 that sort like it.  The k-th best is a condition on the key that
 * the real scan gets besides its own: it skips segments and vectors by zone map,
 * reads the other columns of the few rows that remain, and PostgreSQL sorts
 * those.  Rows that tie with the k-th on the first key all remain, so further
 * sort keys, WITH TIES and NULLS FIRST or LAST need no attention here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/plan.h"
#include "exec/result.h"
#include "exec/topk_probe.h"
#include "kernel/float_order.h"

static Node *create_state(CustomScan *cscan);

const CustomScanMethods gpucol_topk_methods = {
	.CustomName = "GpucolTopK",
	.CreateCustomScanState = create_state,
};

/* A scan has a table; rankings have groups. */
static Node *
create_state(CustomScan *cscan)
{
	return cscan->scan.scanrelid > 0 ? gpucol_scan_create_topk(cscan) :
		gpucol_agg_create_ranking(cscan);
}

/* The k greatest values: a min-heap. */
typedef struct Best
{
	int64	   *heap;
	int64		k;
	int64		filled;
} Best;

static void
best_add(Best *best, int64 v)
{
	int64	   *h = best->heap;
	int64		i;

	if (best->filled < best->k)
	{
		for (i = best->filled++; i > 0 && h[(i - 1) / 2] > v; i = (i - 1) / 2)
			h[i] = h[(i - 1) / 2];
		h[i] = v;
		return;
	}
	for (i = 0;;)
	{
		int64		child = 2 * i + 1;

		if (child >= best->k)
			break;
		if (child + 1 < best->k && h[child + 1] < h[child])
			child++;
		if (h[child] >= v)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = v;
}

/* Values that are greater first in the wanted order. */
static inline int64
directed(int64 v, bool descending)
{
	return descending ? v : ~v;
}

/* The order of value i of a column. */
static inline int64
order_of(const GpucolResultColumn *column, uint32 i)
{
	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			return (int64) column->d[i];
		case GPUCOL_CLASS_F:
			return gpucol_float_order(column->f[i]);
		default:
			return column->i[i];
	}
}

/* Take in a batch of keys; NULLs are counted. */
static int64
add_batch(Best *best, const GpucolResult *result, bool descending)
{
	const GpucolResultColumn *column = &result->columns[0];
	int64		nulls = 0;

	for (uint32 i = 0; i < result->nrows; i++)
	{
		int64		v;

		if (column->nulls != NULL && column->nulls[i])
		{
			nulls++;
			continue;
		}
		v = directed(order_of(column, i), descending);
		if (best->filled < best->k || v > best->heap[0])
			best_add(best, v);
	}
	return nulls;
}

/* The key's value that has this order, as a constant. */
static Expr *
order_constant(const GpucolTopkProbe *probe, const GpucolValue *value, int64 order)
{
	Node	   *key = (Node *) probe->key;
	Oid			type = exprType(key);
	GpucolOutput output;
	GpucolResultColumn column = {.cls = value->cls};
	int64		bits = order < 0 ? order ^ PG_INT64_MAX : order;
	__int128	mantissa = order;
	double		f;
	int16		typlen;
	bool		typbyval;
	Datum		datum;
	bool		isnull;

	memcpy(&f, &bits, sizeof(f));
	if (order == PG_INT64_MAX)
		f = get_float8_nan();
	column.i = (const int64_t *) &order;
	column.d = &mantissa;
	column.f = &f;
	gpucol_output_init(&output, type, exprTypmod(key), exprCollation(key), value);
	gpucol_output_datums(&output, &column, 1, &datum, &isnull);
	get_typlenbyval(type, &typlen, &typbyval);
	return (Expr *) makeConst(type, exprTypmod(key), exprCollation(key), typlen,
							  datum, false, typbyval);
}

static Expr *
key_is_null(const GpucolTopkProbe *probe)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = copyObject(probe->key);
	test->nulltesttype = IS_NULL;
	test->location = -1;
	return (Expr *) test;
}

/* What the k-th best value and the number of NULLs say about rows that matter. */
static Expr *
make_condition(const GpucolTopkProbe *probe, const GpucolValue *value, Best *best,
			   int64 nulls)
{
	Expr	   *bound;

	if (probe->nulls_first && nulls >= probe->k)
		return key_is_null(probe);

	/* fewer values than places: every row may matter */
	if (best->filled < probe->k)
		return NULL;
	bound = make_opclause(probe->opno, BOOLOID, false,
						  copyObject(probe->key),
						  order_constant(probe, value,
										 directed(best->heap[0], probe->descending)),
						  InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) bound);
	if (!probe->nulls_first || nulls == 0)
		return bound;
	return makeBoolExpr(OR_EXPR, list_make2(bound, key_is_null(probe)), -1);
}

void
gpucol_topk_probe_run(GpucolTopkProbe *probe, GpucolExec *scan,
					  const GpucolValue *value)
{
	Best		best = {.k = probe->k};
	GpucolResult result;
	GpucolStatus status;
	int64		nulls = 0;

	probe->done = true;
	probe->condition = NULL;
	probe->seen = 0;
	best.heap = MemoryContextAllocHuge(CurrentMemoryContext,
									   sizeof(int64) * (Size) probe->k);
	while ((status = gpucol_run_next(scan, &result)) == GPUCOL_OK)
	{
		CHECK_FOR_INTERRUPTS();
		nulls += add_batch(&best, &result, probe->descending);
		probe->seen += result.nrows;
	}
	if (status == GPUCOL_END && probe->seen > probe->k)
		probe->condition = make_condition(probe, value, &best, nulls);
	pfree(best.heap);
}
