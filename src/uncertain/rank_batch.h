/*-------------------------------------------------------------------------
 *
 * rank_batch.h
 *	  Many groups ranked together: rows come in any order as label-confidence
 *	  rows of 8-byte words, groups are dealt to threads, and several rankings
 *	  share the sorting.
 *
 * Life of a batch: create; add rows; prepare; step until GPUCOL_END; read the
 * answers; destroy (in any state).
 *
 * All memory is malloc'ed and accounted; beyond the limit functions return
 * GPUCOL_OUT_OF_MEMORY.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_UNCERTAIN_RANK_BATCH_H
#define GPUCOL_UNCERTAIN_RANK_BATCH_H

#include "uncertain/rank.h"

/*
 * One uncertain row.  Scores sort as int64.  Labels too, unless the batch has a
 * comparison function for them.  x is the number of the row's x-tuple, negative
 * for none.
 */
typedef struct GpucolBatchRow
{
	int64_t		score;
	double		p;
	int64_t		label;
	int64_t		x;
} GpucolBatchRow;

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
	int			threads;
	size_t		memory_limit;	/* bytes; 0 = none */

	/*
	 * Order of labels where it is not that of int64.  May only be given with
	 * threads = 1 if it is not safe in threads.
	 */
	int			(*label_cmp) (void *arg, int64_t a, int64_t b);
	void	   *label_arg;

	/* asked now and then, from any thread; true: step returns CANCELLED */
	bool		(*cancelled) (void *arg);
	void	   *cancelled_arg;
} GpucolBatchOptions;

typedef struct GpucolBatch GpucolBatch;

extern GpucolBatch *gpucol_batch_create(const GpucolBatchOptions *options);

/*
 * Ranking r has a k for each group, k[ngroups], which outlives the batch, instead
 * of one for all.  Before the first step.
 */
extern void gpucol_batch_set_k(GpucolBatch *batch, int r, const int32_t *k);

/* Add n rows; group numbers are dense, from 0. */
extern GpucolStatus gpucol_batch_add(GpucolBatch *batch, uint32_t n,
									 const uint32_t *groups,
									 const GpucolBatchRow *rows);

/* No more rows: there are ngroups groups, some perhaps without rows. */
extern GpucolStatus gpucol_batch_prepare(GpucolBatch *batch, uint32_t ngroups);

/*
 * Rank some more groups, about `rows` rows of them.  GPUCOL_END when all are
 * ranked, GPUCOL_OK to be called again.  GPUCOL_CANCELLED: may be called again
 * and then takes up where it stopped.
 */
extern GpucolStatus gpucol_batch_step(GpucolBatch *batch, int64_t rows);

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

#endif							/* GPUCOL_UNCERTAIN_RANK_BATCH_H */
