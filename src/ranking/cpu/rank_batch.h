/*-------------------------------------------------------------------------
 *
 * rank_batch.h
 *	  Many groups of label-confidence rows ranked together: groups are dealt to
 *	  threads, and several rankings share the sorting.
 *
 * Life of a batch: create over collected rows; prepare; step until GPUCOL_END; read
 * the answers; destroy (in any state).
 *
 * All memory is malloc'ed and accounted; beyond the limit functions return
 * GPUCOL_OUT_OF_MEMORY.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_CPU_RANK_BATCH_H
#define GPUCOL_RANKING_CPU_RANK_BATCH_H

#include "ranking/semantics/rank.h"
#include "ranking/cpu/rank_rows.h"

/* One ranking wanted of every group. */
typedef struct GpucolBatchRanking
{
	GpucolRanking ranking;
	int32_t		k;
	double		threshold;		/* PT-k */
} GpucolBatchRanking;

/* Its answer for one group. */
typedef struct GpucolBatchAnswer
{
	const int64_t *labels;		/* [count], best first as the ranking says */
	const uint8_t *nulls;		/* [count] 1 = no label at this rank; or NULL */
	int32_t		count;			/* -1: U-Topk of a group without k-tuple world */
	double		probability;	/* U-Topk: of the set */
} GpucolBatchAnswer;

typedef struct GpucolBatchOptions
{
	const GpucolBatchRanking *rankings; /* copied */
	int			nrankings;
	bool		has_x;
	int			threads;		/* that rank */

	/*
	 * Order of labels where it is not that of int64; `label_alone`: only one thread
	 * may ask for it.  Order of named x-tuples, which only one thread may ask for.
	 */
	int			(*label_cmp) (void *arg, int64_t a, int64_t b);
	bool		label_alone;
	int			(*x_cmp) (void *arg, int64_t a, int64_t b);
	void	   *cmp_arg;

	/* asked now and then, from any thread; true: the call returns CANCELLED */
	bool		(*cancelled) (void *arg);
	void	   *cancelled_arg;
} GpucolBatchOptions;

typedef struct GpucolBatch GpucolBatch;

/* The rows outlive the batch.  NULL if there is no memory. */
extern GpucolBatch *gpucol_batch_create(GpucolBudget *memory, GpucolRankRows *rows,
										const GpucolBatchOptions *options);

/*
 * Order the rows by group; arguments and result are those of gpucol_rank_rows_order.
 */
extern GpucolStatus gpucol_batch_prepare(GpucolBatch *batch, uint32_t ngroups,
										 uint32_t *const *group_maps,
										 uint32_t *const *x_maps);

/*
 * Ranking r has a k for each group, k[ngroups], which outlives the batch, instead
 * of one for all.  Between prepare and the first step.
 */
extern void gpucol_batch_set_k(GpucolBatch *batch, int r, const int32_t *k);

/*
 * Rank some more groups, about `rows` rows of them.  GPUCOL_END when all are
 * ranked, GPUCOL_OK to be called again.  GPUCOL_CANCELLED: may be called again
 * and then takes up where it stopped.  GPUCOL_UNSUPPORTED: likewise, but only after
 * gpucol_batch_rank_alone, because an order is needed that one thread may ask for.
 */
extern GpucolStatus gpucol_batch_step(GpucolBatch *batch, int64_t rows);

/* Rank in the caller's thread alone from now on. */
extern void gpucol_batch_rank_alone(GpucolBatch *batch);

/* Groups [0, *done) have their answers. */
extern uint32_t gpucol_batch_done(const GpucolBatch *batch);

/* Answer of ranking r for a group whose step is done. */
extern const GpucolBatchAnswer *gpucol_batch_answer(const GpucolBatch *batch,
													uint32_t group, int r);

/* Rows of a group: a group with none has no answers. */
extern int64_t gpucol_batch_group_rows(const GpucolBatch *batch, uint32_t group);

/* After GPUCOL_CORRUPT: the x-tuple whose probabilities exceed 1, and their sum. */
extern void gpucol_batch_bad_mass(const GpucolBatch *batch, int64_t *x,
								  double *mass);

extern void gpucol_batch_destroy(GpucolBatch *batch);

#endif							/* GPUCOL_RANKING_CPU_RANK_BATCH_H */
