/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  A partitioned table or an inheritance tree as the tables whose rows it has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PARTS_H
#define GPUCOL_PLANNER_PARTS_H

#include "nodes/pathnodes.h"

/* One table and where it keeps the columns of the whole. */
typedef struct GpucolPart
{
	Index		varno;
	Oid			relid;
	RelOptInfo *rel;
	List	   *attnums;		/* IntList by the whole's attribute number - 1; 0
								 * where the whole has dropped the column */
} GpucolPart;

/*
 * The tables (List of GpucolPart *) of `whole`, a relation whose range table
 * entry has children.  NIL where it has none, or where *reason says why its rows
 * cannot be read as those of one gpucol table.
 */
extern List *gpucol_parts_collect(PlannerInfo *root, RelOptInfo *whole,
								  const char **reason);

#endif							/* GPUCOL_PLANNER_PARTS_H */
