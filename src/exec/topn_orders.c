/*-------------------------------------------------------------------------
 *
 * topn_orders.c
 *	  The k best places in an order by several sort keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/topn_orders.h"

void
gpucol_topn_orders_init(GpucolTopnOrders *orders, int nkeys, int64 k)
{
	orders->nkeys = nkeys;
	orders->k = k;
	orders->filled = 0;
	orders->heap = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * (Size) k *
										  gpucol_topn_orders_width(orders));
}

void
gpucol_topn_orders_place(const GpucolTopnKey *keys, int nkeys, const GpucolResultColumn *columns,
						 uint32 row, int64 *place)
{
	int64		ranks = 0;

	for (int i = 0; i < nkeys; i++)
	{
		const GpucolResultColumn *column = &columns[i];

		place[i] = 0;
		if (column->nulls != NULL && column->nulls[row])
		{
			ranks |= (int64) (keys[i].sort.nulls_first ? GPUCOL_TOPN_NULL_FIRST :
							   GPUCOL_TOPN_NULL_LAST) << (2 * i);
			continue;
		}
		ranks |= (int64) GPUCOL_TOPN_NOT_NULL << (2 * i);
		place[i] = gpucol_topn_order(column, row);
		if (!keys[i].sort.descending)
			place[i] = ~place[i];
	}
	place[nkeys] = ranks;
}

/* More than 0: a comes sooner than b; 0: they tie. */
static int
compare(const GpucolTopnOrders *orders, const int64 *a, const int64 *b)
{
	for (int i = 0; i < orders->nkeys; i++)
	{
		int			x = gpucol_topn_orders_rank(orders, a, i);
		int			y = gpucol_topn_orders_rank(orders, b, i);

		if (x != y)
			return x - y;
		if (a[i] != b[i])
			return a[i] > b[i] ? 1 : -1;
	}
	return 0;
}

int
gpucol_topn_orders_probe(const GpucolTopnOrders *orders, const int64 *place)
{
	return orders->filled < orders->k ? 1 :
		compare(orders, place, orders->heap);
}

/* The place at a position of the heap. */
static int64 *
at(const GpucolTopnOrders *orders, int64 i)
{
	return orders->heap + i * gpucol_topn_orders_width(orders);
}

static void
put(const GpucolTopnOrders *orders, int64 i, const int64 *place)
{
	memcpy(at(orders, i), place, sizeof(int64) * gpucol_topn_orders_width(orders));
}

/* Add one to a heap that is not full. */
static void
sift_up(GpucolTopnOrders *orders, const int64 *place)
{
	int64		i = orders->filled++;

	for (; i > 0 && compare(orders, at(orders, (i - 1) / 2), place) > 0;
		 i = (i - 1) / 2)
		put(orders, i, at(orders, (i - 1) / 2));
	put(orders, i, place);
}

/* Put one in the place of the least. */
static void
sift_down(GpucolTopnOrders *orders, const int64 *place)
{
	int64		i = 0;

	for (;;)
	{
		int64		child = 2 * i + 1;

		if (child >= orders->filled)
			break;
		if (child + 1 < orders->filled &&
			compare(orders, at(orders, child + 1), at(orders, child)) < 0)
			child++;
		if (compare(orders, at(orders, child), place) >= 0)
			break;
		put(orders, i, at(orders, child));
		i = child;
	}
	put(orders, i, place);
}

void
gpucol_topn_orders_add(GpucolTopnOrders *orders, const int64 *place)
{
	if (orders->filled < orders->k)
		sift_up(orders, place);
	else
		sift_down(orders, place);
}
