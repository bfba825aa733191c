/*-------------------------------------------------------------------------
 *
 * lower.h
 *	  The terms of WITH RECURSIVE as a recursion plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_PLAN_LOWER_H
#define GPUCOL_RECURSION_PLAN_LOWER_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "kernel/recursion.h"

/*
 * What came of a recursion.  The plan's first rules are the recursive term; its
 * last one is the non-recursive term if has_base.
 */
typedef struct GpucolLoweredRecursion
{
	const char *reason;			/* why it cannot be pushed down, or NULL */
	GpucolRecPlan *plan;
	bool		has_base;
	List	   *inputs;			/* RelOptInfo of each input */
	List	   *input_types;	/* OidList of each */
	List	   *input_collations;	/* OidList of each */
	List	   *constants;		/* Expr: Const or Param of the query */
	List	   *hosts;			/* Expr: what PostgreSQL computes */
	List	   *host_operands;	/* IntList of the operands of each */
	List	   *host_matches;	/* NIL, or what recursion/plan/nodes.h says of each */
	List	   *operands;		/* Expr: all of them, of the columns' types */
	List	   *functions;		/* OidList: what the two terms call */
	List	   *equalities;		/* OidList (type, collation, and InvalidOid or the type): equal
								 * values are made the same, or keep their forms */
} GpucolLoweredRecursion;

/*
 * Lower the recursive term that `subroot` has planned, and with it the
 * non-recursive one that `base` has planned (NULL: leave it) if it joins no
 * other relations.  `types` and `collations` are those of the result's columns;
 * `all` says UNION ALL.
 */
extern void gpucol_recursive_lower(PlannerInfo *subroot, PlannerInfo *base,
								   List *types, List *collations, bool all,
								   GpucolLoweredRecursion *result);

#endif							/* GPUCOL_RECURSION_PLAN_LOWER_H */
