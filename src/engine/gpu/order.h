/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Places of byte strings in the orders that a program's least and greatest
 *	  values are sought by.
 *
 * The device knows byte strings by number, and numbers come as strings are met.  So for
 * each order of a column this process sorts the numbers by the host's comparison and
 * sends the place of each; the device keeps the least or greatest place, and what
 * comes back is the number at that place.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_ORDER_H
#define GPUCOL_ENGINE_GPU_ORDER_H

#include "engine/gpu/dictionary.h"
#include "kernel/batch.h"
#include "kernel/program.h"

typedef struct GpucolGpuOrder
{
	int			slot;			/* of the column */
	uint16_t	order;			/* as GpucolAgg.order */
	uint32_t	n;				/* numbers that were sorted */
	uint32_t   *numbers;		/* [n], in the order */
} GpucolGpuOrder;

/* The column whose values a register of byte strings holds; -1: none. */
extern int	gpucol_gpu_bytes_slot(const GpucolProgram *program, uint16_t reg);

/*
 * Find the orders that aggregates of a program ask for; orders has room for one for
 * each aggregate.  The count, or -1 where an argument is no column's value.
 */
extern int	gpucol_gpu_orders_find(const GpucolProgram *program, GpucolGpuOrder *orders);

/* The one that an aggregate asks for; NULL: it is not of the least or greatest bytes. */
extern const GpucolGpuOrder *gpucol_gpu_order_of(const GpucolProgram *program, const GpucolAgg *agg,
												 const GpucolGpuOrder *orders, int norders);

/*
 * Sort the numbers of a dictionary, from how it was sorted last, which is taken note
 * of in the dictionary.  Calls the host's comparison, which may raise the user's errors:
 * what is held then, and after, is order->numbers and *scratch, to be freed, with room for a
 * word for each number and one more.  OUT_OF_MEMORY, or
 * UNSUPPORTED where the host has no such order.
 */
extern GpucolStatus gpucol_gpu_order_sort(GpucolGpuOrder *order, GpucolGpuDictionary *dictionary,
										  const GpucolHost *host, void **scratch);

/* Bytes that it takes for so many numbers. */
static inline uint64_t
gpucol_gpu_order_bytes(uint32_t n)
{
	return 3 * sizeof(uint32_t) * ((uint64_t) n + 1);
}

#endif							/* GPUCOL_ENGINE_GPU_ORDER_H */
