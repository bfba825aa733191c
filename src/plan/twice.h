/*-------------------------------------------------------------------------
 *
 * twice.h
 *	  Queries that are planned twice, for a node of ours and for what it falls back to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_TWICE_H
#define GPUCOL_PLAN_TWICE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * A flag of a custom path, beside PostgreSQL's: the first of its children is what it falls back to,
 * with the same rows.
 */
#define GPUCOL_PATH_FALLS_BACK	(1 << 16)

/*
 * Prepare the subqueries among some of a query's relations, and those below them, for plans
 * that have them twice.  `evaluations`: how often an expression with a subquery is evaluated.
 */
extern void gpucol_plan_twice(PlannerInfo *root, Relids relids, double evaluations);

/* Leave one alternative of each subquery in an expression that has two. */
extern void gpucol_plan_settle(Node *node, double evaluations);

/*
 * The children of a custom path, `first` and then `second`, which have queries in common; and
 * of the plan that is made of it, from its custom_plans.
 */
extern List *gpucol_plan_apart(PlannerInfo *root, List *first, List *second);
extern List *gpucol_plan_together(List *custom_plans);

#endif							/* GPUCOL_PLAN_TWICE_H */
