/*-------------------------------------------------------------------------
 *
 * rank_counts.c
 *	  The Poisson-binomial recurrence, tuple after tuple.
 *
 * Independent tuples: one distribution is carried along the ranking, k
 * multiply-adds a tuple.
 *
 * x-tuples: tuple i wants the distribution over all other x-tuples, each with
 * the mass of its alternatives ranked before i.  Taking a factor (q + s x) out
 * of a truncated product is a division that loses all digits for s near or
 * above 1/2, so no factor is ever taken out.  Instead note when each factor
 * holds: after the alternatives i_1 < i_2 < ... of an x-tuple it is a factor of
 * mass p(i_1) for the tuples strictly between i_1 and i_2, of mass p(i_1) +
 * p(i_2) strictly between i_2 and i_3, and so on: n intervals of the ranking in
 * all.  Halving the ranking recursively, a factor is multiplied in at the
 * largest pieces that its interval covers, on the way down to single tuples
 * (the offline form of a segment tree over time).  That is O(n k log n) with
 * non-negative additions and multiplications only, and visits tuples in order,
 * so that it stops as early as the independent form.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "uncertain/rank.h"
#include "uncertain/rank_counts.h"
#include "uncertain/rank_work.h"

/* A factor (absent + present x) that holds for tuples [from, to). */
typedef struct Factor
{
	int32_t		from;
	int32_t		to;
	double		present;
	double		absent;
} Factor;

typedef struct Walk
{
	const GpucolRankInput *in;
	GpucolRankWork *work;
	int32_t		k;
	GpucolCountVisit visit;
	void	   *arg;
	Factor	   *factors;		/* [n] */
	int32_t    *lists;			/* stack of factor numbers, see walk_piece */
	double	   *rooms;			/* [levels] of k + 2 slots */
	GpucolStatus status;
} Walk;

/* Halvings until single tuples, and one for the whole. */
static int
walk_levels(int32_t n)
{
	int			levels = 2;

	for (int64_t m = 1; m < n; m *= 2)
		levels++;
	return levels;
}

size_t
gpucol_rank_counts_workspace(const GpucolRankInput *in, int32_t k)
{
	size_t		n = (size_t) in->n;

	if (k > in->n)
		k = in->n;
	if (!gpucol_rank_has_alternatives(in))
		return GPUCOL_WORK_ROUND(sizeof(double) * ((size_t) k + 1));
	return GPUCOL_WORK_ROUND(sizeof(Factor) * n) +
		GPUCOL_WORK_ROUND(sizeof(int32_t) * (5 * n + 8)) +
		GPUCOL_WORK_ROUND(sizeof(double) * ((size_t) k + 2) *
						  (size_t) walk_levels(in->n)) +
		GPUCOL_WORK_ROUND(sizeof(GpucolXMass) * (size_t) in->nx) +
		GPUCOL_WORK_ROUND(sizeof(int32_t) * (size_t) in->nx);
}

static GpucolStatus
counts_independent(const GpucolRankInput *in, int32_t k,
				   GpucolRankWork *work, GpucolWorkLeft *left,
				   GpucolCountVisit visit, void *arg)
{
	GpucolCounts c;
	GpucolCountView view;

	c.room = gpucol_work_take(left, sizeof(double) * ((size_t) k + 1));
	if (c.room == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	c.slots = k;
	gpucol_counts_begin(&c);
	view.room = c.room;
	view.slack = 0;
	for (int32_t i = 0; i < in->n && c.lo <= c.hi; i++)
	{
		if (i % GPUCOL_RANK_CHECK_EVERY == 0 && gpucol_work_cancelled(work))
			return GPUCOL_CANCELLED;
		if (in->p[i] <= 0)
			continue;
		view.tuple = i;
		view.p = in->p[i];
		view.lo = c.lo;
		view.hi = c.hi;

		/* each form where it is accurate: `full` is a sum of positive terms */
		view.below = c.full < 0.5 ? 1 - c.full :
			gpucol_counts_sum(c.room, c.lo, c.hi);
		view.bound = view.below;
		if (!visit(arg, &view))
		{
			work->settled = true;
			break;
		}
		gpucol_counts_add(&c, in->p[i], 1 - in->p[i]);
	}
	work->settled |= c.lo > c.hi;
	return GPUCOL_OK;
}

/* Fill w->factors: when each partial x-tuple counts, and with what mass. */
static GpucolStatus
walk_factors(Walk *w, GpucolWorkLeft *left)
{
	const GpucolRankInput *in = w->in;
	GpucolXMass *mass = gpucol_work_take(left, sizeof(GpucolXMass) * (size_t) in->nx);
	int32_t    *last = gpucol_work_take(left, sizeof(int32_t) * (size_t) in->nx);

	if (last == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_xmass_begin(in, mass);
	for (int32_t t = 0; t < in->nx; t++)
		last[t] = -1;
	for (int32_t i = 0; i < in->n; i++)
	{
		int32_t		t = in->x[i];
		Factor	   *f = &w->factors[i];

		f->from = i + 1;
		f->to = in->n;
		if (in->p[i] <= 0)
		{
			f->to = f->from;	/* holds nowhere */
			continue;
		}
		if (last[t] >= 0)
			w->factors[last[t]].to = i;
		last[t] = i;
		f->absent = gpucol_xmass_see(&mass[t], in->p[i]).hi;
		f->present = f->absent > 0 ? mass[t].seen.hi : 1;
	}
	return GPUCOL_OK;
}

/* Show tuple i to the visitor; c counts the other x-tuples in k + 1 slots. */
static bool
walk_visit(Walk *w, const GpucolCounts *c, int32_t i)
{
	GpucolCountView view;

	if (i % GPUCOL_RANK_CHECK_EVERY == 0 && gpucol_work_cancelled(w->work))
	{
		w->status = GPUCOL_CANCELLED;
		return false;
	}
	if (w->in->p[i] <= 0)
		return true;
	if (c->lo > c->hi)
		return false;
	view.tuple = i;
	view.p = w->in->p[i];
	view.room = c->room + 1;
	view.lo = c->lo > 0 ? c->lo - 1 : 0;
	view.hi = c->hi - 1;
	view.slack = 1;
	view.below = gpucol_counts_sum(view.room, view.lo, view.hi);

	/*
	 * A later tuple of another x-tuple does not count that one but counts all
	 * that is counted here; so fewer than k for it means at most k here.
	 */
	view.bound = view.below + c->room[0];
	return w->visit(w->arg, &view);
}

/*
 * Walk tuples [a, b).  list[0 .. nlist) are the factors that overlap the piece
 * but did not cover its parent; those that cover it are multiplied in, the
 * others handed down in the stack behind the list.  Each of those has an end
 * strictly inside the piece, and a tuple starts one factor and ends at most
 * one: lists shrink with the pieces, 5n in all.
 */
static bool
walk_piece(Walk *w, int32_t a, int32_t b, const GpucolCounts *parent,
		   const int32_t *list, int32_t nlist, int32_t *stack)
{
	GpucolCounts c = *parent;
	int32_t		mid = a + (b - a) / 2;
	int32_t		nrest = 0;

	c.room = parent->room + (c.slots + 1);
	memcpy(c.room, parent->room, sizeof(double) * ((size_t) c.slots + 1));
	for (int32_t l = 0; l < nlist; l++)
	{
		const Factor *f = &w->factors[list[l]];

		if (f->from >= b || f->to <= a)
			continue;
		if (f->from <= a && f->to >= b)
			gpucol_counts_add(&c, f->present, f->absent);
		else
			stack[nrest++] = list[l];
	}
	if (b - a == 1)
		return walk_visit(w, &c, a);
	return walk_piece(w, a, mid, &c, stack, nrest, stack + nrest) &&
		walk_piece(w, mid, b, &c, stack, nrest, stack + nrest);
}

static GpucolStatus
counts_x(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
		 GpucolWorkLeft *left, GpucolCountVisit visit, void *arg)
{
	Walk		w = {.in = in,.work = work,.k = k,.visit = visit,.arg = arg};
	GpucolCounts c;

	w.factors = gpucol_work_take(left, sizeof(Factor) * (size_t) in->n);
	w.lists = gpucol_work_take(left, sizeof(int32_t) * (5 * (size_t) in->n + 8));
	w.rooms = gpucol_work_take(left, sizeof(double) * ((size_t) k + 2) *
							   (size_t) walk_levels(in->n));
	if (w.rooms == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	w.status = walk_factors(&w, left);
	if (w.status != GPUCOL_OK)
		return w.status;
	c.room = w.rooms;
	c.slots = k + 1;
	gpucol_counts_begin(&c);
	for (int32_t i = 0; i < in->n; i++)
		w.lists[i] = i;
	work->settled = !walk_piece(&w, 0, in->n, &c, w.lists, in->n,
								w.lists + in->n);
	return w.status;
}

GpucolStatus
gpucol_rank_counts(const GpucolRankInput *in, int32_t k,
				   GpucolRankWork *work, GpucolWorkLeft *left,
				   GpucolCountVisit visit, void *arg)
{
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	if (k > in->n)
		k = in->n;
	if (!gpucol_rank_has_alternatives(in))
		return counts_independent(in, k, work, left, visit, arg);
	return counts_x(in, k, work, left, visit, arg);
}
