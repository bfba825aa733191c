/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  A partitioned table, an inheritance tree or a UNION ALL of tables as the
 *	  tables whose rows it has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_PARTS_H
#define GPUCOL_PLAN_PARTS_H

#include "access/tupdesc.h"
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
 * entry has children, and its columns.  NIL where it has none, or where *reason says
 * why its rows cannot be read as those of one gpucol table.
 */
extern List *gpucol_parts_collect(PlannerInfo *root, RelOptInfo *whole,
								  TupleDesc *desc, const char **reason);

/* The columns of a table, copied. */
extern TupleDesc gpucol_parts_table_desc(Oid relid);

/*
 * The columns of a UNION ALL: those of the first table, where all tables have them
 * with one type; the others are marked as dropped.  attnums[i] is where table i, of
 * descriptor tables[i], keeps them.
 */
extern TupleDesc gpucol_parts_desc(int n, const TupleDesc *tables, List *const *attnums);

#endif							/* GPUCOL_PLAN_PARTS_H */
