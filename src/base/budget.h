/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  The accountant: how many bytes some work holds, and may hold.
 *
 * Budgets form a tree.  What is reserved of one counts against all above it, so that
 * the parts of a statement share one limit and each may have a lower one besides:
 *
 *		session (the administrator's limit)
 *		  queries of the session
 *			one node		an engine's run, the groups that a node joins, ...
 *		  a recursion
 *		  a ranking
 *
 * Bytes are reserved before they are allocated.  A reservation that exceeds a limit
 * fails and changes nothing: what needed it falls back, or raises an error.  A block is
 * counted as large as malloc makes it, so that the limit is one of memory, not of
 * contents.
 *
 * Safe in every thread, but for open and close.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_BUDGET_H
#define GPUCOL_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GpucolBudget
{
	struct GpucolBudget *parent;	/* NULL = none; outlives this one */
	size_t		limit;			/* bytes; 0 = none but those above */
	_Atomic size_t used;
	_Atomic size_t peak;
} GpucolBudget;

/* Begin, or begin again, with nothing reserved.  All zero is a budget without limit. */
extern void gpucol_budget_open(GpucolBudget *budget, size_t limit, GpucolBudget *parent);

/* Give back to those above whatever is still reserved. */
extern void gpucol_budget_close(GpucolBudget *budget);

/* Reserve so many bytes; false, and nothing is, beyond a limit. */
extern bool gpucol_budget_reserve(GpucolBudget *budget, size_t bytes);
extern void gpucol_budget_release(GpucolBudget *budget, size_t bytes);

/*
 * The two steps of that, for bytes of which some may be kept already (pages.h): reserve them; have no more be kept
 * than there is room for.
 */
extern bool gpucol_budget_count(GpucolBudget *budget, size_t bytes);
extern void gpucol_budget_fit(const GpucolBudget *budget);

/* Bytes that could be reserved now; SIZE_MAX without a limit. */
extern size_t gpucol_budget_left(const GpucolBudget *budget);

/* So many bytes of malloc were freed, which it may keep: see budget.c. */
extern void gpucol_budget_freed(size_t bytes);

/* ---- blocks of malloc, whose sizes their owner keeps ---- */

/* NULL beyond a limit, or if the system has no more. */
extern void *gpucol_budget_alloc(GpucolBudget *budget, size_t size);
extern void *gpucol_budget_alloc_zeroed(GpucolBudget *budget, size_t size);

/* NULL and any size is nothing. */
extern void gpucol_budget_free(GpucolBudget *budget, void *block, size_t size);

/*
 * Grow *block (a pointer to any type, NULL if `old` is 0) from `old` to `new` bytes,
 * keeping its contents; false, and it stays as it is, where there is no room.
 */
extern bool gpucol_budget_grow(GpucolBudget *budget, void *block, size_t old, size_t new);

/*
 * Make *array hold at least `needed` elements of `size` bytes, growing it by half at
 * least where there is room for that, else by a share of what is left; *allocated
 * counts elements.
 */
extern bool gpucol_budget_array(GpucolBudget *budget, void *array, uint64_t *allocated,
								uint64_t needed, size_t size);

#endif							/* GPUCOL_BASE_BUDGET_H */
