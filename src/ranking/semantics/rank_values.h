/*-------------------------------------------------------------------------
 *
 * rank_values.h
 *	  Groups of a single integer key whose values lie together, numbered by all
 *	  threads in one table.
 *
 * A table of one number for each value near the first one that is seen: a thread that
 * meets a value without a number gives it the next, so that nothing is to be
 * merged.  Groups of other keys get numbers of the same sequence.  Which number a
 * group has is chance; some are nobody's.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_VALUES_H
#define GPUCOL_RANKING_SEMANTICS_RANK_VALUES_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/budget.h"

#define GPUCOL_RANK_VALUES	(1 << 20)

typedef struct GpucolRankValues
{
	GpucolBudget *memory;
	_Atomic uint32_t *numbers;	/* [GPUCOL_RANK_VALUES] number + 1; 0 = none */
	_Atomic uint32_t next;
	_Atomic int has_base;		/* 0: no; 1: a thread sets it; 2: yes */
	int64_t		base;
} GpucolRankValues;

/* NULL without memory, of which it takes 4 MB: then each thread has a table of its own. */
static inline GpucolRankValues *
gpucol_rank_values_create(GpucolBudget *memory)
{
	size_t		bytes = sizeof(uint32_t) * GPUCOL_RANK_VALUES;
	GpucolRankValues *v;

	v = calloc(1, sizeof(*v));
	if (v == NULL)
		return NULL;
	v->memory = memory;
	v->numbers = gpucol_budget_alloc_zeroed(memory, bytes);
	if (v->numbers != NULL)
		return v;
	free(v);
	return NULL;
}

static inline void
gpucol_rank_values_destroy(GpucolRankValues *v)
{
	if (v == NULL)
		return;
	gpucol_budget_free(v->memory, (void *) v->numbers, sizeof(uint32_t) * GPUCOL_RANK_VALUES);
	free(v);
}

/* A number for a group that the table does not hold. */
static inline uint32_t
gpucol_rank_values_new(GpucolRankValues *v)
{
	return atomic_fetch_add_explicit(&v->next, 1, memory_order_relaxed);
}

/* How many numbers there are. */
static inline uint32_t
gpucol_rank_values_count(const GpucolRankValues *v)
{
	return atomic_load_explicit(&v->next, memory_order_relaxed);
}

/* Where the table begins, which the first value decides. */
static inline int64_t
gpucol_rank_values_base(GpucolRankValues *v, int64_t value)
{
	int			none = 0;

	if (atomic_load_explicit(&v->has_base, memory_order_acquire) == 2)
		return v->base;
	if (atomic_compare_exchange_strong(&v->has_base, &none, 1))
	{
		v->base = (int64_t) ((uint64_t) value - GPUCOL_RANK_VALUES / 2);
		atomic_store_explicit(&v->has_base, 2, memory_order_release);
	}
	while (atomic_load_explicit(&v->has_base, memory_order_acquire) != 2)
		sched_yield();
	return v->base;
}

/* The number of a value's group; false if the value is too far from the first. */
static inline bool
gpucol_rank_values_number(GpucolRankValues *v, int64_t value, uint32_t *number)
{
	uint64_t	at = (uint64_t) value - (uint64_t) gpucol_rank_values_base(v, value);
	uint32_t	known = 0;

	if (at >= GPUCOL_RANK_VALUES)
		return false;
	known = atomic_load_explicit(&v->numbers[at], memory_order_relaxed);
	if (known == 0)
	{
		uint32_t	own = gpucol_rank_values_new(v) + 1;

		if (atomic_compare_exchange_strong(&v->numbers[at], &known, own))
			known = own;
	}
	*number = known - 1;
	return true;
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_VALUES_H */
