/*-------------------------------------------------------------------------
 *
 * rank_select.c
 *	  Pr[in the top k], U-kRanks, PT-k, Global-Topk and expected ranks: one
 *	  visitor each over rank_counts.c, or a prefix sum.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "uncertain/rank.h"
#include "uncertain/rank_counts.h"
#include "uncertain/rank_product.h"
#include "uncertain/rank_work.h"

/* A tuple and the figure by which it is chosen. */
typedef struct Scored
{
	double		value;
	int32_t		tuple;
} Scored;

/*-------------------------------------------------------------------------
 * Scratch memory and x-tuple masses
 *-------------------------------------------------------------------------
 */

size_t
gpucol_rank_workspace(const GpucolRankInput *in, int32_t k)
{
	size_t		n = (size_t) in->n + 1;
	size_t		kk = (size_t) (k < in->n ? k : in->n) + 1;
	size_t		nx = (size_t) in->nx + 1;
	size_t		select = GPUCOL_WORK_ROUND(sizeof(Scored) * n) +
		GPUCOL_WORK_ROUND(sizeof(double) * n) +
		2 * GPUCOL_WORK_ROUND(sizeof(GpucolPair) * nx) +
		GPUCOL_WORK_ROUND(sizeof(double) * kk);
	size_t		u_topk = GPUCOL_WORK_ROUND(64 * kk) +
		(in->x == NULL ? 0 :
		 GPUCOL_WORK_ROUND(sizeof(int32_t) * kk) +
		 GPUCOL_WORK_ROUND((32 + 80 + 48) * nx + 48));
	size_t		counts = gpucol_rank_counts_workspace(in, k) + select;

	return (u_topk > counts ? u_topk : counts) + 64;
}

/* Sums of the alternatives of every x-tuple into mass[nx]. */
static void
x_masses(const GpucolRankInput *in, GpucolPair *mass)
{
	for (int32_t t = 0; t < in->nx; t++)
		mass[t].hi = mass[t].lo = 0;
	for (int32_t i = 0; i < in->n; i++)
		mass[in->x[i]] = gpucol_pair_add(mass[in->x[i]], in->p[i]);
}

bool
gpucol_rank_mass_ok(const GpucolRankInput *in, GpucolRankWork *work,
					int32_t *bad, double *mass)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GpucolPair *sums;

	if (!gpucol_rank_has_alternatives(in))
		return true;
	sums = gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
	x_masses(in, sums);
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
static int
scored_cmp(const void *a, const void *b)
{
	const Scored *x = (const Scored *) a;
	const Scored *y = (const Scored *) b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->tuple > y->tuple) - (x->tuple < y->tuple);
}

static int
tuple_cmp(const void *a, const void *b)
{
	int32_t		x = ((const Scored *) a)->tuple;
	int32_t		y = ((const Scored *) b)->tuple;

	return (x > y) - (x < y);
}

/*
 * The k of greatest value into out[], *count of them.  Runs of values that
 * differ from their neighbour by rounding only are ties.
 */
static void
choose_greatest(Scored *scored, int32_t n, int32_t k, int32_t *out,
				int32_t *count)
{
	int32_t		chosen = 0;

	qsort(scored, (size_t) n, sizeof(Scored), scored_cmp);
	for (int32_t from = 0, to; from < n && chosen < k; from = to)
	{
		for (to = from + 1; to < n; to++)
			if (scored[to - 1].value - scored[to].value >
				GPUCOL_RANK_TIE * fabs(scored[to - 1].value))
				break;
		if (to - from > 1)
			qsort(scored + from, (size_t) (to - from), sizeof(Scored), tuple_cmp);
		for (int32_t i = from; i < to && chosen < k; i++)
			out[chosen++] = scored[i].tuple;
	}
	*count = chosen;
}

/*-------------------------------------------------------------------------
 * Pr[in the top k]
 *-------------------------------------------------------------------------
 */

static double
in_top(const GpucolCountView *view)
{
	double		p = view->p * view->below;

	return p < 1 ? p : 1;
}

static bool
visit_probability(void *arg, const GpucolCountView *view)
{
	((double *) arg)[view->tuple] = in_top(view);
	return true;
}

GpucolStatus
gpucol_rank_topk_probability(const GpucolRankInput *in, int32_t k,
							 GpucolRankWork *work, double *probability)
{
	GpucolWorkLeft w = gpucol_work_open(work);

	if (in->n > 0)
		memset(probability, 0, sizeof(double) * (size_t) in->n);
	return gpucol_rank_counts(in, k, work, &w, visit_probability, probability);
}

/*-------------------------------------------------------------------------
 * PT-k
 *-------------------------------------------------------------------------
 */

typedef struct PtK
{
	double		threshold;		/* less the tie tolerance */
	int32_t    *out;			/* NULL: only look for the horizon */
	int32_t		count;
	int32_t		horizon;		/* tuples seen before it ended */
} PtK;

static bool
visit_pt_k(void *arg, const GpucolCountView *view)
{
	PtK		   *s = (PtK *) arg;

	if (view->bound < s->threshold * (1 - 1e-9))
	{
		s->horizon = view->tuple;
		return false;
	}
	if (s->out != NULL && in_top(view) >= s->threshold)
		s->out[s->count++] = view->tuple;
	return true;
}

GpucolStatus
gpucol_rank_pt_k(const GpucolRankInput *in, int32_t k, double threshold,
				 GpucolRankWork *work, int32_t *out, int32_t *count)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	PtK			s = {.threshold = threshold * (1 - GPUCOL_RANK_TIE),.out = out};
	GpucolStatus status;

	status = gpucol_rank_counts(in, k, work, &w, visit_pt_k, &s);
	*count = s.count;
	return status;
}

int32_t
gpucol_rank_pt_k_horizon(const GpucolRankInput *in, int32_t k,
						 double threshold, GpucolRankWork *work)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	PtK			s = {.threshold = threshold,.horizon = in->n};

	if (gpucol_rank_counts(in, k, work, &w, visit_pt_k, &s) != GPUCOL_OK)
		return in->n;
	return s.horizon;
}

/*-------------------------------------------------------------------------
 * U-kRanks
 *-------------------------------------------------------------------------
 */

typedef struct UkRanks
{
	int32_t		k;
	int32_t    *ranks;
	double	   *best;			/* [k] */
} UkRanks;

/*
 * Can no later tuple be likelier than the best so far at any rank?  It is at
 * rank j at most with Pr[at most j - 1 (+ slack) better tuples exist here].
 */
static bool
u_kranks_settled(const UkRanks *s, const GpucolCountView *view)
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

static bool
visit_u_kranks(void *arg, const GpucolCountView *view)
{
	UkRanks    *s = (UkRanks *) arg;

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
	return view->tuple % 16 != 15 || !u_kranks_settled(s, view);
}

/* How many ranks some world reaches: x-tuples of positive probability. */
static int32_t
reachable_ranks(const GpucolRankInput *in, int32_t k, char *seen)
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

GpucolStatus
gpucol_rank_u_kranks(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
					 int32_t *ranks, double *probability, int32_t *count)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	UkRanks		s = {.ranks = ranks};
	GpucolStatus status;

	*count = reachable_ranks(in, k, (char *) work->memory);
	work->settled = false;
	if (*count == 0)
		return GPUCOL_OK;
	s.k = *count;
	s.best = gpucol_work_take(&w, sizeof(double) * (size_t) s.k);
	if (s.best == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int32_t j = 0; j < s.k; j++)
	{
		s.best[j] = 0;
		ranks[j] = -1;
	}
	status = gpucol_rank_counts(in, s.k, work, &w, visit_u_kranks, &s);
	work->settled &= s.k == k;
	if (probability != NULL)
		memcpy(probability, s.best, sizeof(double) * (size_t) s.k);
	return status;
}

/*-------------------------------------------------------------------------
 * Global-Topk
 *-------------------------------------------------------------------------
 */

typedef struct GlobalTopk
{
	int32_t		k;
	int32_t		n;
	Scored	   *scored;			/* [n] tuples seen */
	double	   *least;			/* min-heap of the k greatest values */
	int32_t		filled;
} GlobalTopk;

/* Keep the k greatest values in a min-heap. */
static void
keep_greatest(GlobalTopk *s, double v)
{
	double	   *h = s->least;
	int32_t		i;

	if (s->filled < s->k)
	{
		for (i = s->filled++; i > 0 && h[(i - 1) / 2] > v; i = (i - 1) / 2)
			h[i] = h[(i - 1) / 2];
		h[i] = v;
		return;
	}
	if (v <= h[0])
		return;
	for (i = 0;;)
	{
		int64_t		child = 2 * (int64_t) i + 1;

		if (child >= s->k)
			break;
		if (child + 1 < s->k && h[child + 1] < h[child])
			child++;
		if (h[child] >= v)
			break;
		h[i] = h[child];
		i = (int32_t) child;
	}
	h[i] = v;
}

static bool
visit_global_topk(void *arg, const GpucolCountView *view)
{
	GlobalTopk *s = (GlobalTopk *) arg;

	if (s->filled == s->k && view->bound < s->least[0] * (1 - 1e-9))
		return false;
	s->scored[s->n].value = in_top(view);
	s->scored[s->n].tuple = view->tuple;
	keep_greatest(s, s->scored[s->n++].value);
	return true;
}

GpucolStatus
gpucol_rank_global_topk(const GpucolRankInput *in, int32_t k,
						GpucolRankWork *work, int32_t *out, int32_t *count)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	GlobalTopk	s = {.k = k < in->n ? k : in->n};
	GpucolStatus status;

	*count = 0;
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	s.scored = gpucol_work_take(&w, sizeof(Scored) * (size_t) in->n);
	s.least = gpucol_work_take(&w, sizeof(double) * (size_t) s.k);
	if (s.least == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = gpucol_rank_counts(in, s.k, work, &w, visit_global_topk, &s);
	work->settled &= s.k == k;
	if (status == GPUCOL_OK)
		choose_greatest(s.scored, s.n, s.k, out, count);
	return status;
}

/*-------------------------------------------------------------------------
 * Expected ranks
 *
 * A tuple that exists has as its rank the number of better tuples that exist;
 * one that does not has the size of the world (Cormode et al. 2009).  With q_i
 * the sum of the probabilities ranked before i outside its x-tuple, o_i that
 * of its other alternatives and r_i that of all other x-tuples:
 *
 *		E[rank(i)] = p_i * q_i + o_i + (1 - p_i) * r_i
 *-------------------------------------------------------------------------
 */

void
gpucol_rank_expected(const GpucolRankInput *in, GpucolRankWork *work,
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
		all = gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
		seen = gpucol_work_take(&w, sizeof(GpucolPair) * (size_t) in->nx);
		x_masses(in, all);
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

GpucolStatus
gpucol_rank_expected_topk(const GpucolRankInput *in, int32_t k,
						  GpucolRankWork *work, int32_t *out, int32_t *count)
{
	GpucolRankWork rest = *work;
	GpucolWorkLeft w = gpucol_work_open(work);
	Scored	   *scored;
	double	   *expected;
	int32_t		n = 0;

	*count = 0;
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	scored = gpucol_work_take(&w, sizeof(Scored) * (size_t) in->n);
	expected = gpucol_work_take(&w, sizeof(double) * (size_t) in->n);
	if (expected == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	rest.memory = w.at;
	rest.size = w.left;
	gpucol_rank_expected(in, &rest, expected);
	for (int32_t i = 0; i < in->n; i++)
		if (in->p[i] > 0)
		{
			scored[n].value = -expected[i];
			scored[n++].tuple = i;
		}
	choose_greatest(scored, n, k, out, count);
	return GPUCOL_OK;
}

/*-------------------------------------------------------------------------
 * Any ranking
 *-------------------------------------------------------------------------
 */

int32_t
gpucol_rank_room(const GpucolRankInput *in, GpucolRanking ranking, int32_t k)
{
	return ranking == GPUCOL_RANK_PT_K || k > in->n ? in->n : k;
}

GpucolStatus
gpucol_rank_choose(const GpucolRankInput *in, GpucolRanking ranking, int32_t k,
				   double threshold, GpucolRankWork *work, int32_t *picks,
				   int32_t *count, double *probability)
{
	GpucolStatus status;
	bool		found;

	*probability = 0;
	switch (ranking)
	{
		case GPUCOL_RANK_U_TOPK:
			status = gpucol_rank_u_topk(in, k, work, picks, probability, &found);
			*count = found ? k : -1;
			return status;
		case GPUCOL_RANK_U_KRANKS:
			return gpucol_rank_u_kranks(in, k, work, picks, NULL, count);
		case GPUCOL_RANK_PT_K:
			return gpucol_rank_pt_k(in, k, threshold, work, picks, count);
		case GPUCOL_RANK_GLOBAL_TOPK:
			return gpucol_rank_global_topk(in, k, work, picks, count);
		case GPUCOL_RANK_EXPECTED:
			return gpucol_rank_expected_topk(in, k, work, picks, count);
	}
	return GPUCOL_UNSUPPORTED;
}
