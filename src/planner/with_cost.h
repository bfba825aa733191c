/*-------------------------------------------------------------------------
 *
 * with_cost.h
 *	  Whether a WITH query is sooner computed once, or by each of its readers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_WITH_COST_H
#define GPUCOL_PLANNER_WITH_COST_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* What it takes, in ns. */
typedef struct GpucolWithCost
{
	int			readers;		/* of the WITH query: set by the caller; */
	int			by_tuples;		/* those of them that PostgreSQL itself does not read in batches */
	double		again;			/* to compute in each reader what one would do for all; */
	double		kept;			/* to keep rows and read them; infinite where nobody knows */
} GpucolWithCost;

/*
 * Add a branch of the WITH query, of which each reader wants the rows that meet a List of `wanted`: conditions on
 * the branch's tables, none for all rows.
 */
extern void gpucol_with_cost_add(GpucolWithCost *cost, Query *branch, const List *wanted);

/* The conditions of a FROM clause's joins, and of WHERE. */
extern List *gpucol_with_conditions(Node *node);

/* Is an expression one of constants, and of parameters of the statement? */
extern bool gpucol_with_is_constant(const Node *node);

#endif							/* GPUCOL_PLANNER_WITH_COST_H */
