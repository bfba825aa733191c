/*-------------------------------------------------------------------------
 *
 * group_sets.h
 *	  Grouping sets in the order in which their groups are made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_GROUP_SETS_H
#define GPUCOL_PLAN_GROUP_SETS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* A set's groups are not made of another's. */
#define GPUCOL_GROUP_SETS_ROOT	(-1)

typedef struct GpucolSetOrder
{
	uint32		nsets;			/* roots come first, and parents before their children */
	uint32		nroots;
	int		   *parents;		/* by set: the set with the fewest keys that has all of its keys, or ROOT */
	bool	   *left_out;		/* nkeys for each set: not one of its keys */
	int32	   *functions;		/* for each set: results of GROUPING() */
} GpucolSetOrder;

/*
 * Order sets, IntLists of so many keys, and find what the calls of GROUPING(), such lists too, give in each.  In the
 * current memory context; without any set there is one of all keys.
 */
extern void gpucol_group_sets_init(List *sets, List *functions, int nkeys, GpucolSetOrder *order);

#endif							/* GPUCOL_PLAN_GROUP_SETS_H */
