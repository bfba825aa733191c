/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What a gpucol plan node carries, shared by the planner that writes it and
 *	  the executor that reads it.
 *
 * GpucolScan: scanrelid is the table; its scan tuple is the table's row type,
 * with the columns that nothing above needs left NULL.  custom_exprs are the
 * pushed conjuncts in execution order; plan.qual holds the others.  custom_private
 * begins with an IntList: behind how many of these each pushed conjunct stood.
 *
 * GpucolAgg: scanrelid is 0.  custom_scan_tlist describes the scan tuple: the
 * group keys, then the aggregates, then calls of GROUPING(); then junk columns that are never
 * computed and have their Vars adjusted like any other expression: the
 * conjunction of all conditions of the table, and the table's tableoid, which
 * says what its range table index is; where the table is the parent of others,
 * the tableoid of each leaf follows.  plan.qual is HAVING.
 * custom_exprs are the parameters within, for the planner's accounting.
 * custom_plans holds the ordinary plan that the node falls back to.
 *
 * GpucolJoin: scanrelid is 0.  custom_scan_tlist describes the scan tuple: the columns
 * of the joined relation, then a junk row of the expressions of its pipe (lower/pipe.h);
 * custom_private is the pipe itself (gpucol_pipe_save).  custom_plans holds the ordinary
 * plan that the node falls back to, then the plans whose rows the pipe reads.
 *
 * GpucolWindow: scanrelid is 0.  custom_scan_tlist describes the scan tuple: the columns of
 * the child, then the window functions (in the finished plan as calls); plan.qual are
 * conditions on these.  custom_exprs are lists: offsets of frames of each clause, filter and
 * arguments of each function, and the bound of the rows that matter (path_window.c);
 * custom_private is in window.h.
 * custom_plans holds the ordinary plan, then the child.
 *
 * GpucolTopK with rankings of uncertain rows: as GpucolAgg.
 *
 * GpucolTopK below Sort and Limit: as GpucolScan; the last of custom_exprs are
 * the first sort keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_PLAN_H
#define GPUCOL_PLAN_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* custom_private of GpucolAgg and of GpucolTopK with rankings */
typedef enum GpucolAggPrivate
{
	GPUCOL_AGG_PRIVATE_NKEYS,	/* Integer */
	GPUCOL_AGG_PRIVATE_NAGGS,	/* Integer */
	GPUCOL_AGG_PRIVATE_RECURSION,	/* Integer: number of the recursion's subplan,
									 * GPUCOL_RECURSIVE_CHILD, or 0 */
	GPUCOL_AGG_PRIVATE_PARTS,	/* List: for each leaf the IntList of where it
								 * keeps the table's columns, by attribute number */
	GPUCOL_AGG_PRIVATE_BASE,	/* IntList: columns that the engine groups by for
								 * what PostgreSQL evaluates on its groups */
	GPUCOL_AGG_PRIVATE_UNITS,	/* IntList: milliseconds of which each of these is cut to
								 * a multiple, or 0 */
	GPUCOL_AGG_PRIVATE_SETS,	/* List, as in GpucolGroupSets: grouping sets */
	GPUCOL_AGG_PRIVATE_FUNCTIONS,	/* List likewise: calls of GROUPING() */
	GPUCOL_AGG_PRIVATE_PIPE,	/* List: the pipe whose rows are grouped (gpucol_pipe_save), of
								 * which the last junk column has the expressions; or NIL */
	GPUCOL_AGG_PRIVATE_FIRST,	/* List: GpucolFirstPrivate, or NIL: all groups are wanted */
	GPUCOL_AGG_PRIVATE_FEEDING, /* Integer: bool, aggregates are fed rows (lower/fed.c) */
	GPUCOL_AGG_PRIVATE_NTESTS,	/* Integer: the last so many conditions are PostgreSQL's */
	GPUCOL_AGG_PRIVATE_ELEMENTS,	/* IntList: by aggregate, of an array the first so many elements are
									 * asked for; 0: all */
	GPUCOL_AGG_PRIVATE_COUNT
} GpucolAggPrivate;

/* The first groups of a GpucolAgg below Sort and Limit. */
typedef enum GpucolFirstPrivate
{
	GPUCOL_FIRST_PRIVATE_LIMIT, /* Integer: groups wanted */
	GPUCOL_FIRST_PRIVATE_ALL_TIES,	/* Integer: bool */
	GPUCOL_FIRST_PRIVATE_PLACES,	/* IntList: of the sort keys in the scan tuple */
	GPUCOL_FIRST_PRIVATE_DESCENDING,	/* IntList: bool, by sort key */
	GPUCOL_FIRST_PRIVATE_NULLS_FIRST	/* IntList: bool, by sort key */
} GpucolFirstPrivate;

/* A sort key of GpucolTopK below Sort and Limit. */
typedef struct GpucolSortKey
{
	Expr	   *expr;
	bool		descending;
	bool		nulls_first;
	Oid			not_after;		/* <= in an ascending order, >= in a descending one */
	Oid			before;			/* < or > */
	Oid			equal;
} GpucolSortKey;

/* custom_private of GpucolTopK below Sort and Limit */
typedef enum GpucolTopnPrivate
{
	GPUCOL_TOPN_PRIVATE_BEHIND, /* as in GpucolScan */
	GPUCOL_TOPN_PRIVATE_LIMIT,	/* Integer: rows wanted; of GpucolJoin 0: the first ones by
								 * their only key of those made of each flowing row */
	GPUCOL_TOPN_PRIVATE_ALL_TIES,	/* Integer: bool */
	GPUCOL_TOPN_PRIVATE_DESCENDING, /* IntList: bool, by key */
	GPUCOL_TOPN_PRIVATE_NULLS_FIRST,	/* IntList: bool, by key */
	GPUCOL_TOPN_PRIVATE_OPERATORS	/* OidList: three for each key: not after,
									 * before, equal */
} GpucolTopnPrivate;

extern const CustomScanMethods gpucol_scan_methods;
extern const CustomScanMethods gpucol_join_methods;
extern const CustomScanMethods gpucol_agg_methods;

/*
 * GpucolTopK, by what it does: a scan (scan.c) or rankings (agg.c).  Methods are
 * found by the name that EXPLAIN shows, so that both share one entry.
 */
extern const CustomScanMethods gpucol_topn_methods;
extern Node *gpucol_scan_create_topn(CustomScan *cscan);
extern Node *gpucol_agg_create_ranking(CustomScan *cscan);

#endif							/* GPUCOL_PLAN_PLAN_H */
