/*-------------------------------------------------------------------------
 *
 * rank_walk.h
 *	  The number of better tuples, tuple after tuple: walks a ranking and shows
 *	  each tuple to one of the rankings of rank_choose.h.
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
 * all.  Halving the ranking again and again, a factor is multiplied in at the
 * largest pieces that its interval covers, on the way down to single tuples
 * (the offline form of a segment tree over time).  That is O(n k log n) with
 * non-negative additions and multiplications only, and visits tuples in order,
 * so that it stops as early as the independent form.
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_WALK_H
#define GPUCOL_RANKING_SEMANTICS_RANK_WALK_H

#include <string.h>

#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_counts.h"
#include "ranking/semantics/rank_work.h"

/* What a ranking sees of one tuple of positive probability. */
typedef struct GpucolCountView
{
	int32_t		tuple;
	double		p;
	const double *room;			/* room[k - 1 - c] = Pr[c better tuples exist], its
								 * own alternatives apart */
	int32_t		lo;				/* the nonzero part of room[0 .. k-1] */
	int32_t		hi;
	int32_t		slack;			/* 1 with x-tuples, where later tuples may see one
								 * tuple less */
	double		below;			/* Pr[fewer than k better tuples exist] */
	double		bound;			/* no later tuple has a greater `below` */
} GpucolCountView;

/* The ranking that looks (rank_choose.h). */
typedef struct GpucolVisitor GpucolVisitor;

/* Look at a tuple; false to stop, for no later tuple matters. */
GPUCOL_RANK_INLINE bool gpucol_visit(GpucolVisitor *visitor, const GpucolCountView *view);

/* A factor (absent + present x) that holds for tuples [from, to). */
typedef struct GpucolFactor
{
	int32_t		from;
	int32_t		to;
	double		present;
	double		absent;
} GpucolFactor;

/* A piece [a, b) of the ranking on the way down to single tuples. */
typedef struct GpucolPiece
{
	int32_t		a;
	int32_t		b;
	int32_t		list;			/* in the stack: factors that overlap it but do not */
	int32_t		nlist;			/* cover it */
	int32_t		halves;			/* that have been entered */
	GpucolCounts counts;		/* of all factors that cover it */
} GpucolPiece;

typedef struct GpucolWalk
{
	const GpucolRankInput *in;
	GpucolRankWork *work;
	int32_t		k;
	GpucolVisitor *visitor;
	GpucolFactor *factors;		/* [n] */
	int32_t    *lists;			/* [5n + 8] stack of factor numbers */
	double	   *rooms;			/* [levels] of k + 2 slots */
	GpucolPiece *pieces;		/* [levels] */
	GpucolStatus status;
} GpucolWalk;

/* Halvings until single tuples, and one for the whole. */
GPUCOL_RANK_INLINE int
gpucol_walk_levels(int32_t n)
{
	int			levels = 2;

	for (int64_t m = 1; m < n; m *= 2)
		levels++;
	return levels;
}

/* Bytes of scratch memory of gpucol_walk_counts(). */
GPUCOL_RANK_INLINE size_t
gpucol_walk_workspace(const GpucolRankInput *in, int32_t k)
{
	size_t		n = (size_t) in->n;
	size_t		levels = (size_t) gpucol_walk_levels(in->n);

	if (k > in->n)
		k = in->n;
	if (!gpucol_rank_has_alternatives(in))
		return GPUCOL_WORK_ROUND(sizeof(double) * ((size_t) k + 1));
	return GPUCOL_WORK_ROUND(sizeof(GpucolFactor) * n) +
		GPUCOL_WORK_ROUND(sizeof(int32_t) * (5 * n + 8)) +
		GPUCOL_WORK_ROUND(sizeof(double) * ((size_t) k + 2) * levels) +
		GPUCOL_WORK_ROUND(sizeof(GpucolPiece) * levels) +
		GPUCOL_WORK_ROUND(sizeof(GpucolXMass) * (size_t) in->nx) +
		GPUCOL_WORK_ROUND(sizeof(int32_t) * (size_t) in->nx);
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_walk_independent(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
						GpucolWorkLeft *left, GpucolVisitor *visitor)
{
	GpucolCounts c;
	GpucolCountView view;

	c.room = (double *) gpucol_work_take(left, sizeof(double) * ((size_t) k + 1));
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
		if (!gpucol_visit(visitor, &view))
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
GPUCOL_RANK_INLINE GpucolStatus
gpucol_walk_factors(GpucolWalk *w, GpucolWorkLeft *left)
{
	const GpucolRankInput *in = w->in;
	GpucolXMass *mass = (GpucolXMass *) gpucol_work_take(left, sizeof(GpucolXMass) * (size_t) in->nx);
	int32_t    *last = (int32_t *) gpucol_work_take(left, sizeof(int32_t) * (size_t) in->nx);

	if (last == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_xmass_begin(in, mass);
	for (int32_t t = 0; t < in->nx; t++)
		last[t] = -1;
	for (int32_t i = 0; i < in->n; i++)
	{
		int32_t		t = in->x[i];
		GpucolFactor *f = &w->factors[i];

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
GPUCOL_RANK_INLINE bool
gpucol_walk_visit(GpucolWalk *w, const GpucolCounts *c, int32_t i)
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
	return gpucol_visit(w->visitor, &view);
}

/*
 * Enter the piece [a, b) below `parent`.  Of the parent's factors those that cover
 * it are multiplied in, the others that overlap it are listed behind the parent's
 * list.  Each of those has an end strictly inside the piece, and a tuple starts
 * one factor and ends at most one: lists shrink with the pieces, 5n in all.
 */
GPUCOL_RANK_INLINE void
gpucol_walk_enter(const GpucolWalk *w, const GpucolPiece *parent, GpucolPiece *piece,
				  int32_t a, int32_t b)
{
	piece->a = a;
	piece->b = b;
	piece->list = parent->list + parent->nlist;
	piece->nlist = 0;
	piece->halves = 0;
	piece->counts = parent->counts;
	piece->counts.room = parent->counts.room + (w->k + 2);
	memcpy(piece->counts.room, parent->counts.room, sizeof(double) * ((size_t) w->k + 2));
	for (int32_t l = 0; l < parent->nlist; l++)
	{
		int32_t		number = w->lists[parent->list + l];
		const GpucolFactor *f = &w->factors[number];

		if (f->from >= b || f->to <= a)
			continue;
		if (f->from <= a && f->to >= b)
			gpucol_counts_add(&piece->counts, f->present, f->absent);
		else
			w->lists[piece->list + piece->nlist++] = number;
	}
}

/* Walk all tuples; false where the visitor stopped it or it was cancelled. */
GPUCOL_RANK_INLINE bool
gpucol_walk_pieces(GpucolWalk *w)
{
	int			depth = 1;

	gpucol_walk_enter(w, &w->pieces[0], &w->pieces[1], 0, w->in->n);
	while (depth > 0)
	{
		GpucolPiece *piece = &w->pieces[depth];
		int32_t		middle = piece->a + (piece->b - piece->a) / 2;

		if (piece->b - piece->a == 1)
		{
			if (!gpucol_walk_visit(w, &piece->counts, piece->a))
				return false;
			depth--;
		}
		else if (piece->halves < 2)
		{
			bool		second = piece->halves++ == 1;

			gpucol_walk_enter(w, piece, &w->pieces[++depth], second ? middle : piece->a,
							  second ? piece->b : middle);
		}
		else
			depth--;
	}
	return true;
}

GPUCOL_RANK_INLINE GpucolStatus
gpucol_walk_x(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
			  GpucolWorkLeft *left, GpucolVisitor *visitor)
{
	size_t		levels = (size_t) gpucol_walk_levels(in->n);
	GpucolWalk	w;
	GpucolPiece *all;

	w.in = in;
	w.work = work;
	w.k = k;
	w.visitor = visitor;
	w.factors = (GpucolFactor *) gpucol_work_take(left, sizeof(GpucolFactor) * (size_t) in->n);
	w.lists = (int32_t *) gpucol_work_take(left, sizeof(int32_t) * (5 * (size_t) in->n + 8));
	w.rooms = (double *) gpucol_work_take(left, sizeof(double) * ((size_t) k + 2) * levels);
	w.pieces = (GpucolPiece *) gpucol_work_take(left, sizeof(GpucolPiece) * levels);
	if (w.pieces == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	w.status = gpucol_walk_factors(&w, left);
	if (w.status != GPUCOL_OK)
		return w.status;
	all = &w.pieces[0];
	all->list = 0;
	all->nlist = in->n;
	all->counts.room = w.rooms;
	all->counts.slots = k + 1;
	gpucol_counts_begin(&all->counts);
	for (int32_t i = 0; i < in->n; i++)
		w.lists[i] = i;
	work->settled = !gpucol_walk_pieces(&w);
	return w.status;
}

/*
 * Show every tuple of positive probability to the visitor in ranking order, until
 * it declines or every later `below` is 0: work->settled says that it ended so.
 * Takes gpucol_walk_workspace() bytes of *left.
 */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_walk_counts(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
				   GpucolWorkLeft *left, GpucolVisitor *visitor)
{
	work->settled = false;
	if (in->n == 0)
		return GPUCOL_OK;
	if (k > in->n)
		k = in->n;
	if (!gpucol_rank_has_alternatives(in))
		return gpucol_walk_independent(in, k, work, left, visitor);
	return gpucol_walk_x(in, k, work, left, visitor);
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_WALK_H */
