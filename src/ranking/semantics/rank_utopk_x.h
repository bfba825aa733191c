/*-------------------------------------------------------------------------
 *
 * rank_utopk_x.h
 *	  U-Topk over x-tuples.
 *
 * The unit is the x-tuple.  In a prefix of the ranking let best(t) be the most
 * probable alternative seen of x-tuple t, and absent(t) = 1 minus the sum of the
 * alternatives seen.  The likeliest set of k tuples of the prefix takes best(t) of
 * the k x-tuples with the greatest best(t)/absent(t), and its probability is the
 * product of their best(t) and of absent(t) of the others (Yi, Li, Kollios,
 * Srivastava 2008).  Along the ranking that ratio only grows, so an indexed
 * min-heap holds the k greatest.  Here a factor outside the heap does change, so
 * one segment tree of products over all x-tuples holds the probability: O(log nx)
 * a tuple and still no division.
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_X_H
#define GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_X_H

#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_product.h"
#include "ranking/semantics/rank_work.h"

/* One x-tuple in the prefix scanned so far. */
typedef struct GpucolXTuple
{
	GpucolProduct best;			/* of the most probable one; zero: none yet */
	GpucolProduct absent;		/* 1 - mass */
	double		best_p;
	int32_t		rank;			/* of the most probable alternative */
	int32_t		slot;			/* place in the heap, -1 outside */
} GpucolXTuple;

typedef struct GpucolXScan
{
	const GpucolRankInput *in;
	int32_t		k;
	int32_t		filled;
	GpucolXMass *mass;			/* [nx] */
	GpucolXTuple *xt;			/* [nx] */
	int32_t    *heap;			/* [k] x-tuples, worst ratio first */
	GpucolProduct *tree;		/* [2 * nx] segment tree, leaves at nx + t */
	GpucolProduct best;			/* greatest probability found, and where */
	int32_t		last;
} GpucolXScan;

/* Is x-tuple a of lower ratio than b (or as low, its tuple ranked later)? */
GPUCOL_RANK_INLINE bool
gpucol_x_worse(const GpucolXScan *s, int32_t a, int32_t b)
{
	const GpucolXTuple *x = &s->xt[a];
	const GpucolXTuple *y = &s->xt[b];
	GpucolProduct l = gpucol_product_mul(x->best, y->absent);
	GpucolProduct r = gpucol_product_mul(y->best, x->absent);

	if (gpucol_product_beats(r, l))
		return true;
	if (gpucol_product_beats(l, r))
		return false;
	return x->rank > y->rank;
}

GPUCOL_RANK_INLINE void
gpucol_x_place(GpucolXScan *s, int32_t slot, int32_t t)
{
	s->heap[slot] = t;
	s->xt[t].slot = slot;
}

GPUCOL_RANK_INLINE void
gpucol_x_sink(GpucolXScan *s, int32_t i)
{
	int32_t		t = s->heap[i];

	for (;;)
	{
		int64_t		child = 2 * (int64_t) i + 1;

		if (child >= s->filled)
			break;
		if (child + 1 < s->filled &&
			gpucol_x_worse(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!gpucol_x_worse(s, s->heap[child], t))
			break;
		gpucol_x_place(s, i, s->heap[child]);
		i = (int32_t) child;
	}
	gpucol_x_place(s, i, t);
}

GPUCOL_RANK_INLINE void
gpucol_x_rise(GpucolXScan *s, int32_t i)
{
	int32_t		t = s->heap[i];

	while (i > 0 && gpucol_x_worse(s, t, s->heap[(i - 1) / 2]))
	{
		gpucol_x_place(s, i, s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	gpucol_x_place(s, i, t);
}

/* Put the present factor of x-tuple t into the tree. */
GPUCOL_RANK_INLINE void
gpucol_x_refresh(GpucolXScan *s, int32_t t)
{
	int32_t		nx = s->in->nx;
	size_t		i = (size_t) nx + t;

	s->tree[i] = s->xt[t].slot >= 0 ? s->xt[t].best : s->xt[t].absent;
	for (i /= 2; i >= 1; i /= 2)
		s->tree[i] = gpucol_product_mul(s->tree[2 * i], s->tree[2 * i + 1]);
}

GPUCOL_RANK_INLINE void
gpucol_x_reset(GpucolXScan *s)
{
	GpucolProduct one = gpucol_product_of(1.0);

	s->filled = 0;
	gpucol_xmass_begin(s->in, s->mass);
	for (int32_t t = 0; t < s->in->nx; t++)
	{
		GpucolXTuple *x = &s->xt[t];

		x->best = gpucol_product_of(0.0);
		x->absent = one;
		x->best_p = 0;
		x->rank = x->slot = -1;
	}
	for (size_t i = 1; i < 2 * (size_t) s->in->nx; i++)
		s->tree[i] = one;
}

/* Account for tuple i: its x-tuple's mass, the heap, the tree. */
GPUCOL_RANK_INLINE void
gpucol_x_advance(GpucolXScan *s, int32_t i)
{
	int32_t		t = s->in->x[i];
	double		p = s->in->p[i];
	GpucolXTuple *x = &s->xt[t];

	x->absent = gpucol_product_of_pair(gpucol_xmass_see(&s->mass[t], p));
	if (p > x->best_p * (1 + GPUCOL_RANK_TIE))
	{
		x->best_p = p;
		x->best = gpucol_product_of(p);
		x->rank = i;
	}
	if (x->slot >= 0)
		gpucol_x_sink(s, x->slot);
	else if (s->filled < s->k)
	{
		gpucol_x_place(s, s->filled, t);
		gpucol_x_rise(s, s->filled++);
	}
	else if (gpucol_x_worse(s, s->heap[0], t))
	{
		int32_t		out = s->heap[0];

		s->xt[out].slot = -1;
		gpucol_x_place(s, 0, t);
		gpucol_x_sink(s, 0);
		gpucol_x_refresh(s, out);
	}
	gpucol_x_refresh(s, t);
}

/*
 * Can no set with a later last tuple win?  An x-tuple contributes at most
 * max(best, absent) to any of them; if each of the heap has best >= absent,
 * the present product bounds them all.
 */
GPUCOL_RANK_INLINE bool
gpucol_x_settled(const GpucolXScan *s)
{
	const GpucolXTuple *worst = &s->xt[s->heap[0]];
	GpucolProduct bound = gpucol_product_of(1.0);

	if (!gpucol_product_less(worst->best, worst->absent))
		return true;
	for (int32_t t = 0; t < s->in->nx; t++)
	{
		const GpucolXTuple *x = &s->xt[t];

		bound = gpucol_product_mul(bound,
								   gpucol_product_less(x->best, x->absent) ?
								   x->absent : x->best);
	}
	return gpucol_product_clearly_below(bound, s->best);
}

/* Scan for the best set; its last tuple into s->last, -1 if there is none. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_x_scan(GpucolXScan *s, const GpucolRankWork *work)
{
	int64_t		look = 2 * (int64_t) s->k + 16;

	gpucol_x_reset(s);
	s->best = gpucol_product_of(0.0);
	s->last = -1;
	for (int32_t i = 0; i < s->in->n; i++)
	{
		if (i % GPUCOL_RANK_CHECK_EVERY == 0 && gpucol_work_cancelled(work))
			return GPUCOL_CANCELLED;
		if (s->in->p[i] <= 0)
			continue;
		gpucol_x_advance(s, i);
		if (s->filled < s->k)
			continue;
		if (s->xt[s->in->x[i]].rank == i && s->xt[s->in->x[i]].slot >= 0 &&
			gpucol_product_beats(s->tree[1], s->best))
		{
			s->best = s->tree[1];
			s->last = i;
		}
		if (i >= look)
		{
			/* looks at geometric distances cost O(nx) each, O(n) in all */
			if (gpucol_x_settled(s))
				break;
			look += look / 4 + s->in->nx / 8;
		}
	}
	return GPUCOL_OK;
}

/* Bytes of scratch memory of gpucol_utopk_x(). */
GPUCOL_RANK_INLINE size_t
gpucol_utopk_x_workspace(const GpucolRankInput *in, int32_t k)
{
	return GPUCOL_WORK_ROUND(sizeof(GpucolXMass) * (size_t) in->nx) +
		GPUCOL_WORK_ROUND(sizeof(GpucolXTuple) * (size_t) in->nx) +
		GPUCOL_WORK_ROUND(sizeof(int32_t) * (size_t) k) +
		GPUCOL_WORK_ROUND(sizeof(GpucolProduct) * 2 * (size_t) in->nx);
}

/* Ascending order of a few int32, in place. */
GPUCOL_RANK_INLINE void
gpucol_sort_ranks(int32_t *a, int32_t n)
{
	for (int32_t gap = n / 2; gap > 0; gap /= 2)
		for (int32_t i = gap; i < n; i++)
		{
			int32_t		v = a[i];
			int32_t		j = i;

			for (; j >= gap && a[j - gap] > v; j -= gap)
				a[j] = a[j - gap];
			a[j] = v;
		}
}

/* U-Topk where x-tuples have alternatives; k <= nx. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_utopk_x(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
		 int32_t *set, double *probability, bool *found)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolXScan	s;
	GpucolStatus status;

	s.in = in;
	s.k = k;
	s.mass = (GpucolXMass *) gpucol_work_take(&w, sizeof(GpucolXMass) * (size_t) in->nx);
	s.xt = (GpucolXTuple *) gpucol_work_take(&w, sizeof(GpucolXTuple) * (size_t) in->nx);
	s.heap = (int32_t *) gpucol_work_take(&w, sizeof(int32_t) * (size_t) k);
	s.tree = (GpucolProduct *) gpucol_work_take(&w, sizeof(GpucolProduct) * 2 * (size_t) in->nx);
	if (s.tree == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = gpucol_x_scan(&s, work);
	if (status != GPUCOL_OK)
		return status;
	*found = s.last >= 0;
	*probability = gpucol_product_value(s.best);
	if (!*found || set == NULL)
		return GPUCOL_OK;

	/* walk to the prefix of the best set once more and take the heap */
	gpucol_x_reset(&s);
	for (int32_t i = 0; i <= s.last; i++)
		if (in->p[i] > 0)
			gpucol_x_advance(&s, i);
	for (int32_t j = 0; j < k; j++)
		set[j] = s.xt[s.heap[j]].rank;
	gpucol_sort_ranks(set, k);
	return GPUCOL_OK;
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_X_H */
