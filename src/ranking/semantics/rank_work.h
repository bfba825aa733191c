/*-------------------------------------------------------------------------
 *
 * rank_work.h
 *	  Scratch memory and cancellation of the ranking functions (private to
 *	  rank_*.c and to the kernels that run the same code).
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_WORK_H
#define GPUCOL_RANKING_SEMANTICS_RANK_WORK_H

#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_product.h"

/* How many tuples are ranked between two looks at `cancelled`. */
#define GPUCOL_RANK_CHECK_EVERY 1024

/* Bytes that gpucol_work_take() uses up for `bytes`. */
#define GPUCOL_WORK_ROUND(bytes) (((size_t) (bytes) + 15) & ~(size_t) 15)

/* What is left of the scratch memory of one call. */
typedef struct GpucolWorkLeft
{
	char	   *at;
	size_t		left;
} GpucolWorkLeft;

GPUCOL_RANK_INLINE GpucolWorkLeft
gpucol_work_open(const GpucolRankWork *work)
{
	GpucolWorkLeft w;

	w.at = (char *) work->memory;
	w.left = work->size;
	return w;
}

/* `bytes` of scratch memory, or NULL where the caller gave too little. */
GPUCOL_RANK_INLINE void *
gpucol_work_take(GpucolWorkLeft *w, size_t bytes)
{
	size_t		need = GPUCOL_WORK_ROUND(bytes);
	void	   *got = w->at;

	if (need > w->left)
		return NULL;
	w->at += need;
	w->left -= need;
	return got;
}

GPUCOL_RANK_INLINE bool
gpucol_work_cancelled(const GpucolRankWork *work)
{
	return work->cancelled != NULL && work->cancelled(work->arg);
}

/* Does any x-tuple have several tuples?  (Else all are independent.) */
GPUCOL_RANK_INLINE bool
gpucol_rank_has_alternatives(const GpucolRankInput *in)
{
	return in->x != NULL && in->nx < in->n;
}

/*
 * The alternatives of one x-tuple.  Where several sum to 1 within the rounding
 * of their own representation (or beyond it), one of them exists for certain:
 * `whole` is then their sum and not 1, so that nothing is left over.
 */
typedef struct GpucolXMass
{
	GpucolPair	whole;
	GpucolPair	seen;			/* sum of the alternatives ranked so far */
} GpucolXMass;

/* Prepare mass[nx]: `whole` of each x-tuple, nothing seen yet. */
GPUCOL_RANK_INLINE void
gpucol_xmass_begin(const GpucolRankInput *in, GpucolXMass *mass)
{
	for (int32_t t = 0; t < in->nx; t++)
	{
		mass[t].whole.hi = mass[t].whole.lo = 0;
		mass[t].seen.hi = mass[t].seen.lo = 0;
	}
	for (int32_t i = 0; i < in->n; i++)
	{
		GpucolXMass *m = &mass[in->x[i]];

		/* seen.hi serves as a count of alternatives during this loop */
		m->whole = gpucol_pair_add(m->whole, in->p[i]);
		m->seen.hi += in->p[i] > 0;
	}
	for (int32_t t = 0; t < in->nx; t++)
	{
		GpucolXMass *m = &mass[t];

		if (m->seen.hi <= 1 || m->whole.hi <= 1 - 1e-15)
		{
			m->whole.hi = 1;
			m->whole.lo = 0;
		}
		m->seen.hi = 0;
	}
}

/* See one more alternative; the chance that none so far exists. */
GPUCOL_RANK_INLINE GpucolPair
gpucol_xmass_see(GpucolXMass *m, double p)
{
	GpucolPair	absent;

	m->seen = gpucol_pair_add(m->seen, p);
	absent = gpucol_pair_sub(m->whole, m->seen);
	if (absent.hi < 0)
		absent.hi = absent.lo = 0;
	if (absent.hi > 1)
	{
		absent.hi = 1;
		absent.lo = 0;
	}
	return absent;
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_WORK_H */
