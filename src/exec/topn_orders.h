/*-------------------------------------------------------------------------
 *
 * topn_orders.h
 *	  The k best places in an order by several sort keys.
 *
 * A place is as many words as there are keys, each greater for what comes sooner,
 * and one that says which of the keys are NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPN_ORDERS_H
#define GPUCOL_EXEC_TOPN_ORDERS_H

#include "exec/topn_probe.h"

/* A min-heap of places. */
typedef struct GpucolTopnOrders
{
	int			nkeys;
	int64		k;
	int64		filled;
	int64	   *heap;			/* [k] places */
} GpucolTopnOrders;

/* Words of a place. */
static inline int
gpucol_topn_orders_width(const GpucolTopnOrders *orders)
{
	return orders->nkeys + 1;
}

/* In the current memory context. */
extern void gpucol_topn_orders_init(GpucolTopnOrders *orders, int nkeys, int64 k);

/* The place of a row of a batch; its columns are the keys. */
extern void gpucol_topn_orders_place(const GpucolTopnKey *keys, int nkeys,
									 const GpucolResultColumn *columns, uint32 row,
									 int64 *place);

/* What the last word of a place says of a key, in two bits: the more, the sooner. */
#define GPUCOL_TOPN_NULL_LAST	0
#define GPUCOL_TOPN_NOT_NULL	1
#define GPUCOL_TOPN_NULL_FIRST	2

static inline int
gpucol_topn_orders_rank(const GpucolTopnOrders *orders, const int64 *place, int key)
{
	return (int) (place[orders->nkeys] >> (2 * key)) & 3;
}

/*
 * Against the k-th best so far, more than 0: the place comes sooner; 0: they tie.  More
 * than 0 while there are fewer.
 */
extern int	gpucol_topn_orders_probe(const GpucolTopnOrders *orders, const int64 *place);

/* Does a row come after the k-th best by its first key, which is cheap to say? */
static inline bool
gpucol_topn_orders_passes_by(const GpucolTopnOrders *orders, const GpucolTopnKey *first,
							 const GpucolResultColumn *column, uint32 row)
{
	int64		order;

	if (orders->filled < orders->k ||
		gpucol_topn_orders_rank(orders, orders->heap, 0) != GPUCOL_TOPN_NOT_NULL ||
		(column->nulls != NULL && column->nulls[row]))
		return false;
	order = gpucol_topn_order(column, row);
	return (first->sort.descending ? order : ~order) < orders->heap[0];
}

/* Add a place that gpucol_topn_orders_probe finds to come sooner. */
extern void gpucol_topn_orders_add(GpucolTopnOrders *orders, const int64 *place);

#endif							/* GPUCOL_EXEC_TOPN_ORDERS_H */
