/*-------------------------------------------------------------------------
 *
 * rank_collect.h
 *	  The rows that a scan's threads deliver, made into groups of label-confidence
 *	  rows: one collection for each set of rows that a query ranks.
 *
 * Life: create; take, in the engine's threads (engine/engine.h); finish; hand
 * gpucol_collect_rows to a batch (rank_batch.h); destroy, in any state.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_CPU_RANK_COLLECT_H
#define GPUCOL_RANKING_CPU_RANK_COLLECT_H

#include "ranking/cpu/rank_keys.h"
#include "ranking/cpu/rank_rows.h"

/* One collection: the outputs that make its rows, -1 where absent. */
typedef struct GpucolCollectSet
{
	int			filter;			/* rows where it is true count */
	int			score;
	int			probability;
	double		divisor;		/* of probabilities of class D */
	int			label;
	int			x;				/* x-tuple */
	const int  *k_keys;			/* [nk] keys that must be a k, at least 1 */
	int			nk;
} GpucolCollectSet;

/* A value that no ranking takes, of the row that came first. */
typedef enum GpucolCollectFault
{
	GPUCOL_COLLECT_FINE,
	GPUCOL_COLLECT_K_NULL,
	GPUCOL_COLLECT_BAD_K,		/* value.k */
	GPUCOL_COLLECT_BAD_P		/* value.p */
} GpucolCollectFault;

typedef struct GpucolCollectError
{
	GpucolCollectFault fault;
	uint64_t	row;			/* its place in the scan */
	union
	{
		int64_t		k;
		double		p;
	}			value;
} GpucolCollectError;

/* A label of class S: rows hold its address. */
typedef struct GpucolStoredLabel
{
	size_t		len;
	char		data[];
} GpucolStoredLabel;

typedef struct GpucolCollect GpucolCollect;

/*
 * Group keys are the first `nkeys` outputs, of these classes; sets are copied, but
 * not what they point to.  Memory is accounted in `memory`, which outlives the
 * collection.  NULL if there is none.
 */
extern GpucolCollect *gpucol_collect_create(GpucolBudget *memory, int threads,
											int nkeys, const uint8_t *classes,
											int nsets, const GpucolCollectSet *sets);

/* GpucolTakeRows of the engine; `arg` is the collection. */
extern GpucolStatus gpucol_collect_take(void *arg, int thread, uint64_t ordinal,
										const GpucolResult *rows);

/* Why a run ended that took rows: GPUCOL_OK if not for the collection. */
extern GpucolStatus gpucol_collect_status(const GpucolCollect *collect);

/*
 * All rows are there.  GPUCOL_CORRUPT: *error tells which value is none; else join
 * what the threads have.  GPUCOL_CANCELLED if cancelled(arg) says so.
 */
extern GpucolStatus gpucol_collect_finish(GpucolCollect *collect,
										  bool (*cancelled) (void *arg), void *arg,
										  GpucolCollectError *error);

/* Then: the groups, dense, from 0; without keys there is one. */
extern uint32_t gpucol_collect_ngroups(const GpucolCollect *collect);
extern const GpucolKeys *gpucol_collect_keys(const GpucolCollect *collect);

/* Did a row pass the set's filter? */
extern bool gpucol_collect_is_used(const GpucolCollect *collect, int set);

/* The set's rows, with the stores' numbers of groups and names (rank_rows.h). */
extern GpucolRankRows *gpucol_collect_rows(const GpucolCollect *collect, int set,
										   uint32_t *const **group_maps,
										   uint32_t *const **x_maps);

/*
 * What x of a row stands for: true and *name (of an integer: its 8 bytes), or false
 * and *value.
 */
extern bool gpucol_collect_x(const GpucolCollect *collect, int64_t x, GpucolBytes *name,
							 int64_t *value);

extern void gpucol_collect_destroy(GpucolCollect *collect);

#endif							/* GPUCOL_RANKING_CPU_RANK_COLLECT_H */
