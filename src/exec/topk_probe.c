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
 * sort keys and WITH TIES need no attention here.
 *
 * Where the scan has no conditions of its own and the key is a column, the first
 * scan need not read all of it either: the extreme of a vector's zone map is the
 * value of some row, so the k-th best of these extremes is reached by k rows, and
 * the first scan skips what cannot reach it (topk_zones.c).  Where there are
 * conditions, a value that many times k rows reach is tried likewise: if k of them
 * meet the conditions, no other rows matter.  Else the k-th best of the first rows
 * that meet them is a bound: then the first scan ends and begins anew with it.
 *
 * NULLs that come first take places before all values.  They are counted by the
 * first scan, or by one of their own where that skips by a bound.
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

/* Rows that give a first bound, and how many times k they must be. */
#define LOOK_ROWS	65536
#define LOOK_TIMES	16

/*
 * So many times k rows are hoped to hold k that meet the conditions.  In a sorted
 * column that many vectors reach the bound: they are to be a small part of all.
 */
#define ZONE_TIMES	64
#define ZONE_TIMES_LEAST	4
#define ZONE_PART	32

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

void
gpucol_topk_best_init(GpucolTopkBest *best, int64 k, bool descending)
{
	best->k = k;
	best->filled = 0;
	best->descending = descending;
	best->heap = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * (Size) k);
}

/* Add a value that belongs into the heap. */
void
gpucol_topk_best_replace(GpucolTopkBest *best, int64 v)
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

/* Take in a batch of keys; NULLs are counted. */
static int64
add_batch(GpucolTopkBest *best, const GpucolResult *result)
{
	const GpucolResultColumn *column = &result->columns[0];
	int64		nulls = 0;

	for (uint32 i = 0; i < result->nrows; i++)
	{
		if (column->nulls != NULL && column->nulls[i])
			nulls++;
		else
			gpucol_topk_best_add(best, gpucol_topk_order(column, i));
	}
	return nulls;
}

/* The key's value that has this order, as a constant. */
static Expr *
order_constant(const GpucolTopkProbe *probe, int64 order)
{
	Node	   *key = (Node *) probe->key;
	Oid			type = exprType(key);
	GpucolOutput output;
	GpucolResultColumn column = {.cls = probe->value.cls};
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
	gpucol_output_init(&output, type, exprTypmod(key), exprCollation(key),
					   &probe->value);
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

/* The condition that the key is not after this value in the wanted order. */
static Expr *
key_reaches(const GpucolTopkProbe *probe, int64 order)
{
	Expr	   *expr = make_opclause(probe->opno, BOOLOID, false,
									 copyObject(probe->key),
									 order_constant(probe, order),
									 InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) expr);
	return expr;
}

/* What the k-th best value and the number of NULLs say about rows that matter. */
static Expr *
make_condition(const GpucolTopkProbe *probe, const GpucolTopkBest *best, int64 nulls)
{
	Expr	   *reaches;

	if (probe->nulls_first && nulls >= probe->k)
		return key_is_null(probe);

	/* fewer values than places: every row may matter */
	if (best->filled < probe->k)
		return NULL;
	reaches = key_reaches(probe, gpucol_topk_directed(best, best->heap[0]));
	if (!probe->nulls_first || nulls == 0)
		return reaches;
	return makeBoolExpr(OR_EXPR, list_make2(reaches, key_is_null(probe)), -1);
}

/* Can the key of some row be NULL, as far as the table's definition says? */
static bool
key_is_nullable(const GpucolTopkProbe *probe, Relation rel)
{
	AttrNumber	attnum = ((Var *) probe->key)->varattno;

	return !TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attnotnull;
}

/* A condition that `rows` rows meet, from zone maps; NULL if there is none. */
static Expr *
zone_condition(GpucolTopkProbe *probe, GpucolExec *scan, int64 rows)
{
	int64		bound;

	if (!IsA(probe->key, Var) || ((Var *) probe->key)->varattno <= 0 ||
		!gpucol_topk_zone_bound(scan->rel, scan->node->ss.ps.state->es_snapshot,
								((Var *) probe->key)->varattno, rows,
								probe->descending, &bound, &probe->value))
		return NULL;
	return key_reaches(probe, bound);
}

/* Can rows of NULL keys be counted by a scan of their own? */
static bool
nulls_are_apart(const GpucolTopkProbe *probe)
{
	return !probe->nulls_first ||
		(IsA(probe->key, Var) && ((Var *) probe->key)->varattno > 0);
}

/*
 * Run the scan to its end, or until it has met `enough` NULLs; GPUCOL_OK where it
 * has met `most` rows and k values before.
 */
static GpucolStatus
run_scan(GpucolTopkProbe *probe, GpucolExec *scan, GpucolTopkBest *best,
		 int64 *nulls, int64 enough, int64 most)
{
	GpucolResult result;
	GpucolStatus status;

	while ((status = gpucol_run_next(scan, &result)) == GPUCOL_OK)
	{
		CHECK_FOR_INTERRUPTS();
		*nulls += add_batch(best, &result);
		probe->seen += result.nrows;
		if (*nulls >= enough)
		{
			status = GPUCOL_END;
			break;
		}
		if (probe->seen >= most && best->filled == best->k)
			break;
	}
	gpucol_run_end(scan);
	return status;
}

/* A condition that many times k rows meet, but few of all; NULL if there is none. */
static Expr *
hopeful_condition(GpucolTopkProbe *probe, GpucolExec *scan)
{
	double		vectors = scan->rel == NULL ? 0 :
		scan->rel->rd_rel->reltuples / GPUCOL_VECTOR_VALUES;
	double		rows = Min((double) ZONE_TIMES * probe->k, vectors / ZONE_PART);

	return rows < (double) ZONE_TIMES_LEAST * probe->k ? NULL :
		zone_condition(probe, scan, (int64) rows);
}

/*
 * With conditions: find the k best among rows that zone maps say are few, or else a
 * bound.  GPUCOL_END: best has them, or no more rows are there; GPUCOL_OK: *bound.
 */
static GpucolStatus
look_for_bound(GpucolTopkProbe *probe, GpucolExec *scan, GpucolTopkBest *best,
			   int64 *nulls, int64 enough, Expr **bound)
{
	GpucolStatus status;

	probe->narrow = hopeful_condition(probe, scan);
	if (probe->narrow != NULL)
	{
		status = run_scan(probe, scan, best, nulls, enough, PG_INT64_MAX);
		if (status != GPUCOL_END || best->filled == best->k)
			return status;
		best->filled = 0;
		probe->narrow = NULL;
	}
	status = run_scan(probe, scan, best, nulls, enough,
					  probe->seen + Max(LOOK_ROWS, LOOK_TIMES * probe->k));
	if (status == GPUCOL_OK)
	{
		*bound = key_reaches(probe, gpucol_topk_directed(best, best->heap[0]));
		best->filled = *nulls = 0;
	}
	return status;
}

void
gpucol_topk_probe_run(GpucolTopkProbe *probe, GpucolExec *scan, bool all_rows)
{
	GpucolTopkBest best;
	GpucolStatus status = GPUCOL_END;
	Expr	   *bound = NULL;
	int64		enough = probe->nulls_first ? probe->k : PG_INT64_MAX;
	int64		nulls = 0;
	bool		done = false;
	bool		nulls_left;

	probe->condition = NULL;
	probe->narrow = NULL;
	probe->seen = 0;
	gpucol_topk_best_init(&best, probe->k, probe->descending);
	if (all_rows)
		bound = zone_condition(probe, scan, probe->k);
	else if (nulls_are_apart(probe))
	{
		status = look_for_bound(probe, scan, &best, &nulls, enough, &bound);
		done = status != GPUCOL_OK;
		if (!done)
			status = GPUCOL_END;
	}
	nulls_left = bound != NULL || probe->narrow != NULL;
	if (status == GPUCOL_END && nulls_left && probe->nulls_first &&
		key_is_nullable(probe, scan->rel))
	{
		probe->narrow = key_is_null(probe);
		status = run_scan(probe, scan, &best, &nulls, probe->k, PG_INT64_MAX);
	}
	probe->narrow = bound;
	if (!done && status == GPUCOL_END && nulls < enough)
		status = run_scan(probe, scan, &best, &nulls, enough, PG_INT64_MAX);
	if (status == GPUCOL_END)
		probe->condition = make_condition(probe, &best, nulls);
	pfree(best.heap);
}
