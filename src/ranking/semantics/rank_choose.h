/*-------------------------------------------------------------------------
 *
 * rank_choose.h
 *	  Every ranking of rank.h, as functions that a CPU runs once a group and a CUDA
 *	  kernel once a thread.
 *
 * U-Topk scans for its set (rank_utopk.h, rank_utopk_x.h); expected ranks are a
 * prefix sum; the others look at the walk of rank_walk.h.  Arguments are those of
 * the functions of rank.h.
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_CHOOSE_H
#define GPUCOL_RANKING_SEMANTICS_RANK_CHOOSE_H

#include <string.h>

#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_counts.h"
#include "ranking/semantics/rank_product.h"
#include "ranking/semantics/rank_utopk.h"
#include "ranking/semantics/rank_utopk_x.h"
#include "ranking/semantics/rank_walk.h"
#include "ranking/semantics/rank_work.h"

/* A tuple and the figure by which it is chosen. */
typedef struct GpucolScored
{
	double		value;
	int32_t		tuple;
} GpucolScored;

/* What looks at tuples. */
typedef enum GpucolVisit
{
	GPUCOL_VISIT_PROBABILITY,
	GPUCOL_VISIT_PT_K,
	GPUCOL_VISIT_U_KRANKS,
	GPUCOL_VISIT_GLOBAL
} GpucolVisit;

struct GpucolVisitor
{
	GpucolVisit visit;
	int32_t		k;

	/* PROBABILITY: [n] of each tuple */
	double	   *probability;

	/* PT_K */
	double		threshold;		/* less the tie tolerance */
	int32_t    *out;			/* NULL: only look for the horizon */
	int32_t		count;
	int32_t		horizon;		/* tuples seen before it ended */

	/* U_KRANKS */
	int32_t    *ranks;			/* [k] */
	double	   *best;			/* [k] */

	/* GLOBAL */
	GpucolScored *scored;		/* [n] tuples seen */
	int32_t		n;
	double	   *least;			/* [k] min-heap of the greatest values */
	int32_t		filled;
};

/* Bytes of scratch memory that any ranking needs. */
GPUCOL_RANK_INLINE size_t
gpucol_choose_workspace(const GpucolRankInput *in, int32_t k)
{
	size_t		n = (size_t) in->n + 1;
	size_t		kk = (size_t) (k < in->n ? k : in->n) + 1;
	size_t		nx = (size_t) in->nx + 1;
	size_t		select = GPUCOL_WORK_ROUND(sizeof(GpucolScored) * n) +
		GPUCOL_WORK_ROUND(sizeof(double) * n) +
		2 * GPUCOL_WORK_ROUND(sizeof(GpucolPair) * nx) +
		GPUCOL_WORK_ROUND(sizeof(double) * kk);
	size_t		u_topk = GPUCOL_WORK_ROUND(sizeof(GpucolHeapNode) * kk) +
		(in->x == NULL ? 0 : gpucol_utopk_x_workspace(in, (int32_t) kk));
	size_t		counts = gpucol_walk_workspace(in, k) + select;

	return (u_topk > counts ? u_topk : counts) + 64;
}

/* Sums of the alternatives of every x-tuple into mass[nx]. */
GPUCOL_RANK_INLINE void
gpucol_choose_masses(const GpucolRankInput *in, GpucolPair *mass)
{
	for (int32_t t = 0; t < in->nx; t++)
		mass[t].hi = mass[t].lo = 0;
	for (int32_t i = 0; i < in->n; i++)
		mass[in->x[i]] = gpucol_pair_add(mass[in->x[i]], in->p[i]);
}

GPUCOL_RANK_INLINE bool
gpucol_choose_mass_ok(const GpucolRankInput *in, GpucolRankWork *work,
					  int32_t *bad, double *mass)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolPair *sums;

	if (!gpucol_rank_has_alternatives(in))
		return true;
	sums = (GpucolPair *) gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
	gpucol_choose_masses(in, sums);
	for (int32_t t = 0; t < in->nx; t++)
		if (sums[t].hi > 1 + 1e-9)
		{
			*bad = t;
			*mass = sums[t].hi;
			return false;
		}
	return true;
}

/*-------------------------------------------------------------------------
 * Choosing the first k by value, ties to the better tuple
 *-------------------------------------------------------------------------
 */

/* Greatest value first, then ranking order. */
GPUCOL_RANK_INLINE bool
gpucol_scored_before(const GpucolScored *a, const GpucolScored *b)
{
	return a->value > b->value || (a->value == b->value && a->tuple < b->tuple);
}

/* Let element i of a heap of n, the first at its top, sink to its place. */
GPUCOL_RANK_INLINE void
gpucol_scored_sink(GpucolScored *scored, int32_t n, int32_t i)
{
	GpucolScored s = scored[i];

	for (;;)
	{
		int64_t		child = 2 * (int64_t) i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && gpucol_scored_before(&scored[child + 1], &scored[child]))
			child++;
		if (!gpucol_scored_before(&scored[child], &s))
			break;
		scored[i] = scored[child];
		i = (int32_t) child;
	}
	scored[i] = s;
}

/* Move the first element of a heap of n behind the others. */
GPUCOL_RANK_INLINE void
gpucol_scored_pop(GpucolScored *scored, int32_t n)
{
	GpucolScored first = scored[0];

	scored[0] = scored[n - 1];
	scored[n - 1] = first;
	gpucol_scored_sink(scored, n - 1, 0);
}

/* Order elements by tuple, the last one first: Shell sort. */
GPUCOL_RANK_INLINE void
gpucol_scored_by_tuple(GpucolScored *scored, int32_t n)
{
	int32_t		gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (int32_t i = gap; i < n; i++)
		{
			GpucolScored s = scored[i];
			int32_t		j = i;

			for (; j >= gap && scored[j - gap].tuple < s.tuple; j -= gap)
				scored[j] = scored[j - gap];
			scored[j] = s;
		}
}

/*
 * The k of greatest value into out[], *count of them.  Runs of values that
 * differ from their neighbour by rounding only are ties.  Elements are taken from
 * a heap and pile up behind it, so only as many are sorted as are needed.
 */
GPUCOL_RANK_INLINE void
gpucol_choose_greatest(GpucolScored *scored, int32_t n, int32_t k, int32_t *out,
					   int32_t *count)
{
	int32_t		chosen = 0;

	for (int32_t i = n / 2 - 1; i >= 0; i--)
		gpucol_scored_sink(scored, n, i);
	while (n > 0 && chosen < k)
	{
		int32_t		end = n;
		double		first = scored[0].value;
		double		last;

		do
		{
			last = scored[0].value;
			gpucol_scored_pop(scored, n--);
		}
		while (n > 0 && last - scored[0].value <= GPUCOL_RANK_TIE * fabs(last));
		if (last != first)
			gpucol_scored_by_tuple(scored + n, end - n);
		for (int32_t i = end - 1; i >= n && chosen < k; i--)
			out[chosen++] = scored[i].tuple;
	}
	*count = chosen;
}

/*-------------------------------------------------------------------------
 * Looking at tuples
 *-------------------------------------------------------------------------
 */

/* Pr[the tuple is in the top k] */
GPUCOL_RANK_INLINE double
gpucol_view_in_top(const GpucolCountView *view)
{
	double		p = view->p * view->below;

	return p < 1 ? p : 1;
}

GPUCOL_RANK_INLINE bool
gpucol_visit_pt_k(GpucolVisitor *s, const GpucolCountView *view)
{
	if (view->bound < s->threshold * (1 - 1e-9))
	{
		s->horizon = view->tuple;
		return false;
	}
	if (s->out != NULL && gpucol_view_in_top(view) >= s->threshold)
		s->out[s->count++] = view->tuple;
	return true;
}

/*
 * Can no later tuple be likelier than the best so far at any rank?  It is at
 * rank j at most with Pr[at most j - 1 (+ slack) better tuples exist here].
 */
GPUCOL_RANK_INLINE bool
gpucol_u_kranks_settled(const GpucolVisitor *s, const GpucolCountView *view)
{
	double		at_most = 0;

	if (view->bound >= s->best[s->k - 1])
		return false;
	for (int32_t j = view->slack; j < s->k; j++)
	{
		at_most += view->room[s->k - 1 - j];
		if (j == view->slack && view->slack == 1)
			at_most += view->room[s->k - 1];
		if (at_most >= s->best[j - view->slack])
			return false;
	}
	return true;
}

GPUCOL_RANK_INLINE bool
gpucol_visit_u_kranks(GpucolVisitor *s, const GpucolCountView *view)
{
	for (int32_t m = view->lo; m <= view->hi; m++)
	{
		int32_t		j = s->k - 1 - m;
		double		here = view->p * view->room[m];

		if (here > s->best[j] * (1 + GPUCOL_RANK_TIE))
		{
			s->best[j] = here;
			s->ranks[j] = view->tuple;
		}
	}
	return view->tuple % 16 != 15 || !gpucol_u_kranks_settled(s, view);
}

GPUCOL_RANK_INLINE bool
gpucol_visit_global(GpucolVisitor *s, const GpucolCountView *view)
{
	if (s->filled == s->k && view->bound < s->least[0] * (1 - 1e-9))
		return false;
	s->scored[s->n].value = gpucol_view_in_top(view);
	s->scored[s->n].tuple = view->tuple;
	gpucol_keep_greatest(s->least, s->k, s->filled, s->scored[s->n++].value);
	if (s->filled < s->k)
		s->filled++;
	return true;
}

GPUCOL_RANK_INLINE bool
gpucol_visit(GpucolVisitor *s, const GpucolCountView *view)
{
	switch (s->visit)
	{
		case GPUCOL_VISIT_PROBABILITY:
			s->probability[view->tuple] = gpucol_view_in_top(view);
			return true;
		case GPUCOL_VISIT_PT_K:
			return gpucol_visit_pt_k(s, view);
		case GPUCOL_VISIT_U_KRANKS:
			return gpucol_visit_u_kranks(s, view);
		case GPUCOL_VISIT_GLOBAL:
			return gpucol_visit_global(s, view);
	}
	return false;
}

/*-------------------------------------------------------------------------
 * The rankings
 *-------------------------------------------------------------------------
 */

GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_probability(const GpucolRankInput *in, int32_t k,
						  GpucolRankWork *work, double *probability)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolVisitor s;

	s.visit = GPUCOL_VISIT_PROBABILITY;
	s.probability = probability;
	if (in->n > 0)
		memset(probability, 0, sizeof(double) * (size_t) in->n);
	return gpucol_walk_counts(in, k, work, &w, &s);
}

/* PT-k; out may be NULL where only the horizon is wanted. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_pt_k(const GpucolRankInput *in, int32_t k, double threshold,
				   GpucolRankWork *work, int32_t *out, int32_t *count,
				   int32_t *horizon)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolVisitor s;
	GpucolStatus status;

	s.visit = GPUCOL_VISIT_PT_K;
	s.threshold = threshold * (1 - GPUCOL_RANK_TIE);
	s.out = out;
	s.count = 0;
	s.horizon = in->n;
	status = gpucol_walk_counts(in, k, work, &w, &s);
	*count = s.count;
	*horizon = s.horizon;
	return status;
}

/* How many ranks some world reaches: x-tuples of positive probability. */
GPUCOL_RANK_INLINE int32_t
gpucol_reachable_ranks(const GpucolRankInput *in, int32_t k, char *seen)
{
	int32_t		reached = 0;

	if (gpucol_rank_has_alternatives(in))
		memset(seen, 0, (size_t) in->nx);
	for (int32_t i = 0; i < in->n && reached < k; i++)
	{
		if (in->p[i] <= 0)
			continue;
		if (gpucol_rank_has_alternatives(in))
		{
			if (seen[in->x[i]])
				continue;
			seen[in->x[i]] = 1;
		}
		reached++;
	}
	return reached;
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_u_kranks(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
					   int32_t *ranks, double *probability, int32_t *count)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolVisitor s;
	GpucolStatus status;

	*count = gpucol_reachable_ranks(in, k, (char *) work->memory);
	work->settled = false;
	if (*count == 0)
		return GPUCOL_OK;
	s.visit = GPUCOL_VISIT_U_KRANKS;
	s.k = *count;
	s.ranks = ranks;
	s.best = (double *) gpucol_work_take(&w, sizeof(double) * (size_t) s.k);
	if (s.best == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int32_t j = 0; j < s.k; j++)
	{
		s.best[j] = 0;
		ranks[j] = -1;
	}
	status = gpucol_walk_counts(in, s.k, work, &w, &s);
	work->settled &= s.k == k;
	if (probability != NULL)
		memcpy(probability, s.best, sizeof(double) * (size_t) s.k);
	return status;
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_global_topk(const GpucolRankInput *in, int32_t k,
						  GpucolRankWork *work, int32_t *out, int32_t *count)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolVisitor s;
	GpucolStatus status;

	*count = 0;
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	s.visit = GPUCOL_VISIT_GLOBAL;
	s.k = k < in->n ? k : in->n;
	s.n = s.filled = 0;
	s.scored = (GpucolScored *) gpucol_work_take(&w, sizeof(GpucolScored) * (size_t) in->n);
	s.least = (double *) gpucol_work_take(&w, sizeof(double) * (size_t) s.k);
	if (s.least == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = gpucol_walk_counts(in, s.k, work, &w, &s);
	work->settled &= s.k == k;
	if (status == GPUCOL_OK)
		gpucol_choose_greatest(s.scored, s.n, s.k, out, count);
	return status;
}

/*
 * Expected ranks.  A tuple that exists has as its rank the number of better tuples
 * that exist; one that does not has the size of the world (Cormode et al. 2009).
 * With q_i the sum of the probabilities ranked before i outside its x-tuple, o_i
 * that of its other alternatives and r_i that of all other x-tuples:
 *
 *		E[rank(i)] = p_i * q_i + o_i + (1 - p_i) * r_i
 */
GPUCOL_RANK_INLINE void
gpucol_choose_expectations(const GpucolRankInput *in, GpucolRankWork *work,
						   double *expected)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolPair	total = {0, 0};
	GpucolPair	before = {0, 0};
	GpucolPair *all = NULL;		/* mass of every x-tuple, and of what is ranked
								 * before the tuple at hand */
	GpucolPair *seen = NULL;

	if (gpucol_rank_has_alternatives(in))
	{
		all = (GpucolPair *) gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
		seen = (GpucolPair *) gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
		gpucol_choose_masses(in, all);
		for (int32_t t = 0; t < in->nx; t++)
			seen[t].hi = seen[t].lo = 0;
	}
	for (int32_t i = 0; i < in->n; i++)
		total = gpucol_pair_add(total, in->p[i]);
	for (int32_t i = 0; i < in->n; i++)
	{
		double		p = in->p[i];
		GpucolPair	own = {p, 0};	/* mass of its x-tuple */
		GpucolPair	better = before;
		GpucolPair	rest = total;

		if (all != NULL)
		{
			GpucolPair *s = &seen[in->x[i]];

			own = all[in->x[i]];
			better = gpucol_pair_sub(better, *s);
			*s = gpucol_pair_add(*s, p);
		}
		rest = gpucol_pair_sub(rest, own);
		expected[i] = p * better.hi + ((own.hi - p) + own.lo) +
			(1 - p) * rest.hi;
		before = gpucol_pair_add(before, p);
	}
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_expected_topk(const GpucolRankInput *in, int32_t k,
							GpucolRankWork *work, int32_t *out, int32_t *count)
{
	GpucolRankWork rest = *work;
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolScored *scored;
	double	   *expected;
	int32_t		n = 0;

	*count = 0;
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	scored = (GpucolScored *) gpucol_work_take(&w, sizeof(GpucolScored) * (size_t) in->n);
	expected = (double *) gpucol_work_take(&w, sizeof(double) * (size_t) in->n);
	if (expected == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	rest.memory = w.at;
	rest.size = w.left;
	gpucol_choose_expectations(in, &rest, expected);
	for (int32_t i = 0; i < in->n; i++)
		if (in->p[i] > 0)
		{
			scored[n].value = -expected[i];
			scored[n++].tuple = i;
		}
	gpucol_choose_greatest(scored, n, k, out, count);
	return GPUCOL_OK;
}

/* Run the scan of U-Topk over independent tuples; k <= n. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_utopk_scan(const GpucolRankInput *in, int32_t k, const GpucolRankWork *work,
						 GpucolUTopkScan *scan)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolHeapNode *heap = (GpucolHeapNode *) gpucol_work_take(&w, sizeof(GpucolHeapNode) * (size_t) k);

	if (heap == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_utopk_begin(scan);
	while (!gpucol_utopk_step(scan, in->p, in->n, k, heap,
							  in->n - scan->at > GPUCOL_RANK_CHECK_EVERY ?
							  scan->at + GPUCOL_RANK_CHECK_EVERY : in->n))
		if (gpucol_work_cancelled(work))
			return GPUCOL_CANCELLED;
	return GPUCOL_OK;
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose_u_topk(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
					 int32_t *set, double *probability, bool *found)
{
	GpucolUTopkScan scan;
	GpucolStatus status;

	*found = false;
	*probability = 0;
	work->settled = false;
	if (k > in->n || (in->x != NULL && k > in->nx))
		return GPUCOL_OK;
	if (gpucol_rank_has_alternatives(in))
		return gpucol_utopk_x(in, k, work, set, probability, found);

	status = gpucol_choose_utopk_scan(in, k, work, &scan);
	if (status != GPUCOL_OK)
		return status;
	work->settled = scan.best.horizon >= 0;
	*found = scan.best.last >= 0;
	*probability = gpucol_product_value(scan.best.probability);
	if (*found && set != NULL)
		for (int32_t i = 0, j = 0; i <= scan.best.last; i++)
			if (in->p[i] > 0 && gpucol_utopk_member(&scan.best, in->p, i))
				set[j++] = i;
	return GPUCOL_OK;
}

/* gpucol_rank_choose() */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_choose(const GpucolRankInput *in, GpucolRanking ranking, int32_t k,
			  double threshold, GpucolRankWork *work, int32_t *picks,
			  int32_t *count, double *probability)
{
	GpucolStatus status;
	int32_t		horizon;
	bool		found;

	*probability = 0;
	switch (ranking)
	{
		case GPUCOL_RANK_U_TOPK:
			status = gpucol_choose_u_topk(in, k, work, picks, probability, &found);
			*count = found ? k : -1;
			return status;
		case GPUCOL_RANK_U_KRANKS:
			return gpucol_choose_u_kranks(in, k, work, picks, NULL, count);
		case GPUCOL_RANK_PT_K:
			return gpucol_choose_pt_k(in, k, threshold, work, picks, count, &horizon);
		case GPUCOL_RANK_GLOBAL_TOPK:
			return gpucol_choose_global_topk(in, k, work, picks, count);
		case GPUCOL_RANK_EXPECTED:
			return gpucol_choose_expected_topk(in, k, work, picks, count);
	}
	return GPUCOL_UNSUPPORTED;
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_CHOOSE_H */
