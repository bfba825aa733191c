/*-------------------------------------------------------------------------
 *
 * ranking.h
 *	  Aggregates that rank uncertain rows (src/uncertain), as something to push
 *	  down: which aggregates they are, what they rank, and the outputs of the
 *	  scan that feeds them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_PLAN_RANKING_H
#define GPUCOL_RANKING_PLAN_RANKING_H

#include "lower/lower.h"
#include "plan/wing.h"
#include "ranking/semantics/rank.h"

/* One aggregate. */
typedef struct GpucolRankingAgg
{
	GpucolRanking ranking;
	bool		probability;	/* u_topk_probability: no labels */
	int			set;			/* the rows that it ranks */
	Expr	   *k;				/* constant of the scan, or a group key */
	int			k_key;			/* its number among the group keys, or -1 */
	Expr	   *threshold;		/* PT-k, else NULL; constant of the scan */
} GpucolRankingAgg;

/* Rows that are ranked: one collection and one sort serve all that rank them. */
typedef struct GpucolRankingSet
{
	Expr	   *label;			/* NULL: only probabilities are asked for */
	Expr	   *score;
	Expr	   *probability;
	Expr	   *x;				/* NULL: no x-tuples */
	Expr	   *filter;			/* FILTER, or NULL */
	Oid			collation;		/* of comparisons */

	/* set by gpucol_ranking_lower: output numbers, -1 where absent */
	GpucolValue label_value;
	GpucolValue score_value;
	GpucolValue probability_value;
	GpucolValue x_value;
	int			label_column;
	int			score_column;
	int			probability_column;
	int			x_column;
	int			filter_column;
} GpucolRankingSet;

/* The rankings of one query (exec/ranked.h). */
struct GpucolRankings
{
	int			naggs;
	GpucolRankingAgg *aggs;		/* in the order of the Aggrefs */
	int			nsets;
	GpucolRankingSet *sets;
};

/* Is this one of gpucol's ranking aggregates? */
extern bool gpucol_ranking_is(const Aggref *agg);

/*
 * Columns that labels of rankings are, beside rankings of the same rows that have no
 * label: if no label is NULL, they are the same rows indeed.  Attribute numbers.
 */
extern Bitmapset *gpucol_ranking_doubtful_labels(GpucolLower *l, List *aggs);

/*
 * Lower a list of Aggrefs, all of them rankings; the keys have been lowered.
 * `filled` are columns that are known to have no NULL.  False with l->reason set
 * where they cannot be pushed down together.
 */
extern bool gpucol_ranking_lower(GpucolLower *l, List *aggs, Bitmapset *filled,
								 GpucolRankings *rankings);

/* Could they be, for all that is known when a statement is planned? */
extern bool gpucol_ranking_can_lower(GpucolLower *l, List *aggs);

#endif							/* GPUCOL_RANKING_PLAN_RANKING_H */
