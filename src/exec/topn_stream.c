/*-------------------------------------------------------------------------
 *
 * topn_stream.c
 *	  ORDER BY ... LIMIT k over rows that come once: which of a batch can be among the first
 *	  k of all.
 *
 * Joined rows cannot be read again as cheaply as a table's (topn_probe.c).  So the k best
 * places seen so far are kept in a heap, by the first sort keys alone, and a row that comes
 * after the k-th of them is dropped before a datum is made of it.  Of n rows in any order
 * about k * (1 + ln(n / k)) remain, which PostgreSQL sorts; rows that tie do as well, so sort
 * keys that are not known here and WITH TIES need no attention.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "exec/topn_stream.h"

void
gpucol_topn_stream_init(GpucolTopnStream *stream, List *keys, List *limit)
{
	ListCell   *lc;

	memset(stream, 0, sizeof(*stream));
	if (limit == NIL)
		return;
	stream->k = intVal(linitial(limit));
	foreach(lc, keys)
	{
		int			i = foreach_current_index(lc);
		GpucolSortKey *sort = &stream->keys[i].sort;

		sort->expr = lfirst(lc);
		sort->descending = list_nth_int(list_nth(limit, 2), i) != 0;
		sort->nulls_first = list_nth_int(list_nth(limit, 3), i) != 0;
		sort->before = list_nth_oid(list_nth(limit, 4), 3 * i + 1);
	}
	stream->nkeys = list_length(keys);
	stream->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol top rows",
											ALLOCSET_DEFAULT_SIZES);
	stream->batch = AllocSetContextCreate(CurrentMemoryContext, "gpucol top rows of a batch",
										  ALLOCSET_DEFAULT_SIZES);
}

bool
gpucol_topn_stream_key(GpucolTopnStream *stream, int n, int output, const GpucolValue *value)
{
	const GpucolSortKey *key = &stream->keys[n].sort;
	bool		last;

	if (!gpucol_order_compares(key->expr, n, value, &last))
		return false;
	stream->nused = n + 1;
	stream->clamped = last && value->cls == GPUCOL_CLASS_D;
	if (n == 0)
		stream->bound = (GpucolTopBound) {(uint16) output, key->descending, stream->k == 0, PG_INT64_MIN};
	return !last;
}

GpucolTopBound *
gpucol_topn_stream_bound(GpucolTopnStream *stream)
{
	return stream->nused > 0 ? &stream->bound : NULL;
}

/* Make the heap; without memory for it all rows matter. */
static void
open_heap(GpucolTopnStream *stream, GpucolBudget *budget, GpucolClass cls)
{
	const GpucolSortKey *first = &stream->keys[0].sort;
	Node	   *expr = (Node *) first->expr;
	GpucolTypeMap *map = MemoryContextAlloc(stream->context, sizeof(GpucolTypeMap));
	MemoryContext old = MemoryContextSwitchTo(stream->context);

	stream->open = true;
	stream->budget = budget;
	if (cls == GPUCOL_CLASS_S)
	{
		gpucol_typemap_init(map, exprType(expr), exprTypmod(expr), exprCollation(expr));
		stream->keys[0].order = gpucol_order_create(map, first->before, exprCollation(expr));
		stream->too_much = !gpucol_topn_best_init(&stream->best, stream->k, first->descending,
												  stream->keys[0].order, budget);
	}
	else
	{
		stream->reserved = sizeof(int64) * (Size) stream->k * (Size) (stream->nused + 1);
		stream->too_much = !gpucol_budget_reserve(budget, stream->reserved);
		if (stream->too_much)
			stream->reserved = 0;
		else
			gpucol_topn_orders_init(&stream->orders, stream->nused, stream->k);
	}
	MemoryContextSwitchTo(old);
}

/* Can a row whose first key is a byte string be among the first? */
static bool
wants_bytes(GpucolTopnStream *stream, const GpucolResultColumn *column, uint32 row)
{
	const GpucolSortKey *key = &stream->keys[0].sort;
	GpucolTopnBest *best = &stream->best;
	GpucolBytes last;
	int			order;

	if (column->nulls != NULL && column->nulls[row])
	{
		stream->nulls++;
		return key->nulls_first || best->filled < best->k;
	}
	if (key->nulls_first && stream->nulls >= stream->k)
		return false;
	if (best->filled == best->k)
	{
		last = gpucol_topn_best_last_bytes(best);
		order = gpucol_order_compare(stream->keys[0].order, &column->s[row], &last);
		if (order == 0)
			return true;
		if ((order < 0) == key->descending)
			return false;
	}
	gpucol_topn_best_add_bytes(best, &column->s[row], 0);
	return true;
}

/* The same of keys that sort like int64. */
static bool
wants_numbers(GpucolTopnStream *stream, const GpucolResultColumn *columns, uint32 row)
{
	int64		place[GPUCOL_SHAPE_MAX_KEYS + 1];
	int			sooner;

	if (gpucol_topn_orders_passes_by(&stream->orders, &stream->keys[0], &columns[0], row))
		return false;
	gpucol_topn_orders_place(stream->keys, stream->nused, columns, row, place);
	sooner = gpucol_topn_orders_probe(&stream->orders, place);
	if (sooner > 0)
		gpucol_topn_orders_add(&stream->orders, place);
	return sooner >= 0;
}

/* Values of an array at some rows, in an array of the current memory context, aligned for all types. */
#define PICK(TYPE, FIELD) \
	do \
	{ \
		TYPE	   *values = (TYPE *) TYPEALIGN(sizeof(__int128), palloc((n + 1) * sizeof(__int128))); \
\
		for (uint32 i = 0; i < n; i++) \
			values[i] = from->FIELD[rows[i]]; \
		to->FIELD = values; \
	} while (0)

/* Some rows of a column. */
static void
pick_column(const GpucolResultColumn *from, const uint32 *rows, uint32 n, GpucolResultColumn *to)
{
	*to = *from;
	if (from->nulls != NULL)
		PICK(uint8_t, nulls);
	switch (from->cls)
	{
		case GPUCOL_CLASS_D:
			PICK(__int128, d);
			break;
		case GPUCOL_CLASS_F:
			PICK(double, f);
			break;
		case GPUCOL_CLASS_S:
			PICK(GpucolBytes, s);
			break;
		default:
			PICK(int64_t, i);
			break;
	}
}

/* Mantissas as int64, or what is next to them. */
static int64 *
clamp_column(const GpucolResultColumn *column, uint32 n)
{
	int64	   *values = palloc(Max(n, 1) * sizeof(int64));

	for (uint32 i = 0; i < n; i++)
		values[i] = gpucol_top_clamp(column->d[i]);
	return values;
}

/* Tell the engine which values of the first key come after the k-th best place. */
static void
raise_bound(GpucolTopnStream *stream)
{
	const GpucolTopnOrders *orders = &stream->orders;

	if (orders->filled == orders->k &&
		gpucol_topn_orders_rank(orders, orders->heap, 0) == GPUCOL_TOPN_NOT_NULL)
		__atomic_store_n(&stream->bound.bound, orders->heap[0], __ATOMIC_RELAXED);
}

void
gpucol_topn_stream_pick(GpucolTopnStream *stream, GpucolBudget *budget, int n, GpucolResult *result)
{
	const GpucolResultColumn *keys = &result->columns[n];
	int			last = stream->nused - 1;
	MemoryContext old;
	uint32	   *rows;
	uint32		picked = 0;

	if (stream->nused == 0 || stream->k == 0 || stream->too_much)
		return;
	if (!stream->open)
		open_heap(stream, budget, keys[0].cls);
	if (stream->too_much)
		return;
	MemoryContextReset(stream->batch);
	old = MemoryContextSwitchTo(stream->batch);
	rows = palloc(Max(result->nrows, 1) * sizeof(uint32));
	if (stream->clamped)
	{
		memcpy(stream->key_columns, keys, sizeof(GpucolResultColumn) * (size_t) stream->nused);
		stream->key_columns[last].i = clamp_column(&keys[last], result->nrows);
		stream->key_columns[last].cls = GPUCOL_CLASS_I;
		keys = stream->key_columns;
	}
	for (uint32 row = 0; row < result->nrows; row++)
		if (keys[0].cls == GPUCOL_CLASS_S ? wants_bytes(stream, keys, row) :
			wants_numbers(stream, keys, row))
			rows[picked++] = row;
	stream->too_much = keys[0].cls == GPUCOL_CLASS_S && !gpucol_topn_best_fits(&stream->best);
	if (keys[0].cls != GPUCOL_CLASS_S)
		raise_bound(stream);
	if (picked < result->nrows)
	{
		stream->columns = palloc(Max(n, 1) * sizeof(GpucolResultColumn));
		for (int i = 0; i < n; i++)
			pick_column(&result->columns[i], rows, picked, &stream->columns[i]);
		result->columns = stream->columns;
		result->nrows = picked;
	}
	MemoryContextSwitchTo(old);
}

void
gpucol_topn_stream_reset(GpucolTopnStream *stream)
{
	if (stream->best.heap != NULL)
		gpucol_topn_best_release(&stream->best);
	if (stream->reserved > 0)
		gpucol_budget_release(stream->budget, stream->reserved);
	stream->best.heap = NULL;
	stream->reserved = 0;
	stream->nulls = 0;
	stream->bound.bound = PG_INT64_MIN;
	stream->open = stream->too_much = false;
	if (stream->context != NULL)
		MemoryContextReset(stream->context);
}
