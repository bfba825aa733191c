/*-------------------------------------------------------------------------
 *
 * wing.h
 *	  What the main building asks of its wings, recursion and ranking.
 *
 * A wing stands on the main building, so nothing here includes one: _PG_init hands
 * over these tables of functions.  Both tables are set before any hook runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_WING_H
#define GPUCOL_PLAN_WING_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "kernel/batch.h"
#include "kernel/program.h"

/* In the place of a subplan's number: the last child of the node. */
#define GPUCOL_RECURSIVE_CHILD	(-1)

struct GpucolLower;
typedef struct GpucolRankings GpucolRankings;

/*
 * Open the rows of a node of ours as a source with these columns of `desc`, in the
 * current memory context, which ends it.  next_delta is GPUCOL_UNSUPPORTED where a
 * value has no form in its column's kind.
 */
typedef GpucolSource *(*GpucolOpenRows) (PlanState *node, TupleDesc desc,
										 const GpucolProgramColumn *columns, int ncolumns);

/* Recursions that are pushed down, as the input of scans, aggregation and first rows. */
typedef struct GpucolRecursionWing
{
	/*
	 * The plan of the recursion that a relation scans, and its number, if it is pushed
	 * down and nothing else refers to it, else NULL; the relation's conditions
	 * (RestrictInfo) but for those that the recursion tests.  If the number is
	 * GPUCOL_RECURSIVE_CHILD, the path of the child.
	 */
	CustomScan *(*find) (PlannerInfo *root, RelOptInfo *rel, int *plan_id);
	CustomPath *(*child) (RelOptInfo *rel);
	List	   *(*conditions) (const CustomScan *scan, const RelOptInfo *rel);

	/*
	 * If all of a query is aggregates over a whole recursion that its engine
	 * summarises: make that, which carries the ordinary path, its only path and
	 * return true.
	 */
	bool		(*add_agg) (PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
							Path *ordinary, List *having);

	/*
	 * Is this path the scan of a recursion?  Of one: the columns of its tuples; whether
	 * it tests all conditions itself; and have a copy of it deliver the first rows only,
	 * `top` being the first sort keys (list of Expr), the number of rows and whether all
	 * that tie with the last of them matter (Integer), and of each key whether it is
	 * descending and nulls first (IntList).
	 */
	bool		(*is_scan) (const CustomPath *path);
	TupleDesc	(*scan_columns) (const CustomPath *path);
	bool		(*scan_pushes_all) (const CustomPath *path);
	void		(*scan_limit) (CustomPath *path, List *top);

	/* At run time: is this the state of such a scan; the rows of a recursion, to the end. */
	bool		(*is_scan_state) (const PlanState *state);
	GpucolOpenRows open_rows;
} GpucolRecursionWing;

/* Aggregates that rank uncertain rows, which no engine's state holds. */
typedef struct GpucolRankingWing
{
	/* Is it one?  Can these be lowered, the keys having been? */
	bool		(*is_ranking) (const Aggref *agg);
	bool		(*can_lower) (struct GpucolLower *l, List *aggs);

	/* At run time: what a node does (exec/ranked.h). */
	const struct GpucolRankedOps *node;
} GpucolRankingWing;

extern const GpucolRecursionWing *gpucol_recursion_wing;
extern const GpucolRankingWing *gpucol_ranking_wing;

#endif							/* GPUCOL_PLAN_WING_H */
