/*-------------------------------------------------------------------------
 *
 * rank_rows.h
 *	  Uncertain rows as label-confidence rows of 8-byte words, collected in
 *	  threads, each of which has a store of its own, and then ordered by group.
 *
 * All memory is malloc'ed and accounted; beyond the limit functions return
 * GPUCOL_OUT_OF_MEMORY.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_CPU_RANK_ROWS_H
#define GPUCOL_RANKING_CPU_RANK_ROWS_H

#include <stdint.h>

#include "base/budget.h"
#include "kernel/status.h"

/*
 * One uncertain row.  Scores sort as int64.  Labels too, unless the ranking has a
 * comparison function for them.  x tells x-tuples apart and is negative for none;
 * from GPUCOL_BATCH_X_NAME on it is that plus the number of a name in the store.
 */
#define GPUCOL_BATCH_X_NAME	(INT64_C(1) << 62)

typedef struct GpucolBatchRow
{
	int64_t		score;
	double		p;
	int64_t		label;
	int64_t		x;
} GpucolBatchRow;

/* How rows are ordered by group. */
typedef struct GpucolRankOrder
{
	uint32_t *const *group_maps;	/* by store: numbers of its groups; NULL: as is */
	uint32_t *const *x_maps;	/* by store: numbers of its names; NULL: as is */
	bool		(*cancelled) (void *arg);	/* asked now and then, from any thread */
	void	   *arg;
} GpucolRankOrder;

typedef struct GpucolRankRows GpucolRankRows;

/* So many stores; memory is accounted in `memory`.  NULL if there is none. */
extern GpucolRankRows *gpucol_rank_rows_create(GpucolBudget *memory, int nstores);

/*
 * Add n rows to a store; group numbers are the store's.  `ordinal` is the place of
 * these rows in the scan, greater at every call for the store.
 */
extern GpucolStatus gpucol_rank_rows_add(GpucolRankRows *rows, int store,
										 uint64_t ordinal, uint32_t n,
										 const uint32_t *groups,
										 const GpucolBatchRow *add);

/*
 * No more rows: there are ngroups groups, dense, from 0, some perhaps without rows.
 * GPUCOL_UNSUPPORTED for too many rows; after CANCELLED only destroy.
 */
extern GpucolStatus gpucol_rank_rows_order(GpucolRankRows *rows, uint32_t ngroups,
										   const GpucolRankOrder *how);

/* Rows of all groups before this one; group may be ngroups. */
extern int64_t gpucol_rank_rows_before(const GpucolRankRows *rows, uint32_t group);

/* Copy the rows of a group, in the order of the scan. */
extern void gpucol_rank_rows_gather(const GpucolRankRows *rows, uint32_t group,
									GpucolBatchRow *to);

extern void gpucol_rank_rows_destroy(GpucolRankRows *rows);

#endif							/* GPUCOL_RANKING_CPU_RANK_ROWS_H */
