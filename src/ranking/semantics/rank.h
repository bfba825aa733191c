/*-------------------------------------------------------------------------
 *
 * rank.h
 *	  Rankings over uncertain tuples: what each one means, and the functions
 *	  that compute them.  The SQL aggregates, the window function and the
 *	  GpucolTopK node all come here.
 *
 * The model.  A group is n tuples in ranking order (rank 0 is best): score
 * descending, ties by higher probability, then by label; the caller has
 * sorted.  Tuple i exists with probability p[i].  Tuples are independent,
 * except that of the tuples of one x-tuple (x[i] equal) at most one exists;
 * different x-tuples are independent.  A possible world is a set of tuples
 * that exist together; its top k are its k best tuples.
 *
 *	U-Topk			the k-set T with the greatest Pr[T is the top k] (Soliman,
 *					Ilyas, Chang 2007; Yi et al. 2008)
 *	U-kRanks		for each rank j <= k the tuple with the greatest
 *					Pr[it is the j-th best] (Soliman et al.)
 *	PT-k			every tuple with Pr[it is in the top k] >= threshold (Hua,
 *					Pei, Zhang, Lin 2008)
 *	Global-Topk		the k tuples with the greatest Pr[in the top k] (Zhang,
 *					Chomicki 2008)
 *	expected rank	the k tuples with the least expected rank, where a tuple
 *					that does not exist ranks after all that do (Cormode, Li,
 *					Yi 2009)
 *
 * A tuple of probability 0 never exists and is never returned.  Results that
 * are equal but for rounding (GPUCOL_RANK_TIE, relative) are tied: U-Topk then
 * takes the set whose last tuple is best, everything else the better tuple.
 * Alternatives whose probabilities sum to within 1e-15 of 1 leave no chance
 * that the x-tuple is absent.
 *
 * Numerics.  U-Topk multiplies in GpucolProduct (rank_product.h).  Numbers of
 * existing tuples follow the Poisson-binomial recurrence, which only adds and
 * multiplies non-negative numbers: its relative error is below n * 4e-16, and
 * x-tuples are excluded without division (rank_walk.h).  Probabilities under
 * 1e-290 count as 0 there.
 *
 * Freestanding C: no postgres.h; may be called from any thread.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_H
#define GPUCOL_RANKING_SEMANTICS_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/shape.h"
#include "kernel/status.h"

/* A group of tuples in ranking order. */
typedef struct GpucolRankInput
{
	int32_t		n;
	const double *p;			/* [n] probability in [0, 1] */
	const int32_t *x;			/* [n] x-tuple number in [0, nx), or NULL if every
								 * tuple is independent of every other */
	int32_t		nx;
} GpucolRankInput;

/*
 * Scratch memory of one call, at least gpucol_rank_workspace() bytes, 16-byte
 * aligned, and how long calls learn that they should stop: where `cancelled`
 * (may be NULL) says true they return GPUCOL_CANCELLED.  It may also not
 * return, for nothing is held.
 *
 * Each ranking sets `settled`: its answer would be the same if any tuples of
 * x-tuples of their own followed.  Who sorts tuples only as far as they are
 * needed can stop then.
 */
typedef struct GpucolRankWork
{
	void	   *memory;
	size_t		size;
	bool		(*cancelled) (void *arg);
	void	   *arg;
	bool		settled;
} GpucolRankWork;

/* Bytes of scratch memory that any ranking of this input needs. */
extern size_t gpucol_rank_workspace(const GpucolRankInput *in, int32_t k);

/*
 * True iff no x-tuple's probabilities sum to more than 1 + 1e-9.  Otherwise
 * *bad is an x-tuple number and *mass its sum.
 */
extern bool gpucol_rank_mass_ok(const GpucolRankInput *in, GpucolRankWork *work,
								int32_t *bad, double *mass);

/*
 * How many leading tuples can take part in U-Topk, now and after any tuples of
 * other x-tuples are added anywhere: the rest may be forgotten.  Independent
 * tuples only.
 */
extern int32_t gpucol_rank_u_topk_horizon(const GpucolRankInput *in, int32_t k,
										  GpucolRankWork *work);

/*
 * The same for PT-k: tuples behind the horizon fail the threshold whatever is
 * added.
 */
extern int32_t gpucol_rank_pt_k_horizon(const GpucolRankInput *in, int32_t k,
										double threshold, GpucolRankWork *work);

/* Pr[tuple i is in the top k] into probability[n]. */
extern GpucolStatus gpucol_rank_topk_probability(const GpucolRankInput *in,
												 int32_t k,
												 GpucolRankWork *work,
												 double *probability);

/*
 * Any of the rankings but expected ranks of all: *count tuples into picks[], best
 * first as the ranking says, -1 = no tuple at this rank; picks has room for
 * gpucol_rank_room().  *count is -1 where U-Topk has no set; *probability is that
 * of U-Topk's set, else 0.
 */
extern GpucolStatus gpucol_rank_choose(const GpucolRankInput *in,
									   GpucolRanking ranking, int32_t k,
									   double threshold, GpucolRankWork *work,
									   int32_t *picks, int32_t *count,
									   double *probability);
extern int32_t gpucol_rank_room(const GpucolRankInput *in, GpucolRanking ranking,
								int32_t k);

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_H */
