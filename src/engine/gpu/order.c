/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Places of byte strings in the host's orders.
 *
 * A natural merge sort: it begins with the order that the dictionary was sorted in last,
 * numbers given since at the end.  So where nothing has changed one pass of comparisons
 * over neighbours proves the order, whichever it was made for, and sorting again costs
 * nothing more.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/order.h"
#include "kernel/bytes_order.h"

/* A sort under way. */
typedef struct Sort
{
	const GpucolBytes *strings;
	const GpucolHost *host;
	int			order;
} Sort;

/* Is the value of an aggregate the least or greatest of bytes? */
static bool
is_extreme(const GpucolAgg *agg)
{
	return agg->cls == GPUCOL_CLASS_S && (agg->op == GPUCOL_AGG_MIN || agg->op == GPUCOL_AGG_MAX);
}

int
gpucol_gpu_bytes_slot(const GpucolProgram *program, uint16_t reg)
{
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);

	for (int i = 0; i < program->ninstrs; i++)
		if (in[i].dst == reg)
			return in[i].op == GPUCOL_OP_LOAD_S ? in[i].aux : -1;
	return -1;
}

const GpucolGpuOrder *
gpucol_gpu_order_of(const GpucolProgram *program, const GpucolAgg *agg,
					const GpucolGpuOrder *orders, int norders)
{
	int			slot = is_extreme(agg) ? gpucol_gpu_bytes_slot(program, agg->arg) : -1;

	for (int i = 0; slot >= 0 && i < norders; i++)
		if (orders[i].slot == slot && orders[i].order == agg->order)
			return &orders[i];
	return NULL;
}

int
gpucol_gpu_orders_find(const GpucolProgram *program, GpucolGpuOrder *orders)
{
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(program, const GpucolAgg, aggs);
	int			n = 0;

	for (int i = 0; i < program->naggs; i++)
	{
		if (!is_extreme(&aggs[i]) || gpucol_gpu_order_of(program, &aggs[i], orders, n) != NULL)
			continue;
		orders[n] = (GpucolGpuOrder) {.slot = gpucol_gpu_bytes_slot(program, aggs[i].arg), .order = aggs[i].order};
		if (orders[n].slot < 0 || orders[n].slot >= program->ncolumns)
			return -1;
		n++;
	}
	return n;
}

/* Does the string of number a come after that of b? */
static bool
is_after(const Sort *sort, uint32_t a, uint32_t b)
{
	return gpucol_host_order_compare(sort->host, sort->order, &sort->strings[a], &sort->strings[b]) > 0;
}

/* Find the ends of the runs that are in order already; their count. */
static uint32_t
find_runs(const Sort *sort, const uint32_t *numbers, uint32_t n, uint32_t *ends)
{
	uint32_t	runs = 0;

	for (uint32_t i = 1; i < n; i++)
		if (is_after(sort, numbers[i - 1], numbers[i]))
			ends[runs++] = i;
	if (n > 0)
		ends[runs++] = n;
	return runs;
}

/* Merge from[at, middle) and from[middle, end) into `to`, at the same place. */
static void
merge(const Sort *sort, const uint32_t *from, uint32_t at, uint32_t middle, uint32_t end, uint32_t *to)
{
	uint32_t	i = at;
	uint32_t	j = middle;

	while (at < end)
		to[at++] = j == end || (i < middle && !is_after(sort, from[i], from[j])) ?
			from[i++] : from[j++];
}

/* Merge the runs in pairs; their count then. */
static uint32_t
merge_runs(const Sort *sort, uint32_t *numbers, uint32_t *merged, uint32_t *ends, uint32_t runs)
{
	uint32_t	n = ends[runs - 1];
	uint32_t	at = 0;

	for (uint32_t r = 0; r < runs; r += 2)
	{
		uint32_t	end = ends[r + 1 < runs ? r + 1 : r];

		merge(sort, numbers, at, ends[r], end, merged);
		ends[r / 2] = end;
		at = end;
	}
	memcpy(numbers, merged, sizeof(uint32_t) * n);
	return (runs + 1) / 2;
}

GpucolStatus
gpucol_gpu_order_sort(GpucolGpuOrder *order, GpucolGpuDictionary *dictionary,
					  const GpucolHost *host, void **scratch)
{
	Sort		sort = {.host = host,.order = order->order};
	uint32_t	n;
	uint32_t	runs;
	uint32_t   *merged;

	if (gpucol_order_is_host(sort.order) && host->compare == NULL)
		return GPUCOL_UNSUPPORTED;
	sort.strings = gpucol_gpu_dictionary_strings(dictionary, &n);
	order->n = n;
	order->numbers = malloc(sizeof(uint32_t) * ((size_t) n + 1));
	*scratch = merged = malloc(sizeof(uint32_t) * (2 * (size_t) n + 1));	/* and ends of runs */
	if (order->numbers == NULL || merged == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_gpu_dictionary_sorted(dictionary, order->numbers);
	runs = find_runs(&sort, order->numbers, n, merged + n + 1);
	while (runs > 1)
		runs = merge_runs(&sort, order->numbers, merged, merged + n + 1, runs);
	gpucol_gpu_dictionary_set_sorted(dictionary, order->numbers, n);
	return GPUCOL_OK;
}
