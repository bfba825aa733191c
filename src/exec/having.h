/*-------------------------------------------------------------------------
 *
 * having.h
 *	  HAVING, tested on an engine's groups before they are formed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_HAVING_H
#define GPUCOL_EXEC_HAVING_H

#include "exec/bounds.h"
#include "exec/first.h"
#include "exec/group_rows.h"

typedef struct GpucolHaving
{
	bool		looked;			/* at what HAVING is, in this run */
	bool		tested;			/* here, wholly: PostgreSQL need not */
	uint64		evaluated;		/* groups for which PostgreSQL had to, as bounds left it open */

	/* private */
	ExprState  *qual;			/* the node's, while it is `tested` */
	GpucolFirst tests;			/* all of it, if `bounds` is NULL */
	GpucolBounds *bounds;		/* NULL unless there are any */
} GpucolHaving;

/*
 * Look at the HAVING of a node now that there is a group, and parameters have values; plan is NULL if its results
 * are not from states.  Where it is tested here it is
 * taken from the node, which gets it back when it is forgotten.  What has been allocated is of the current context.
 */
extern void gpucol_having_look(GpucolHaving *having, const GpucolGroupPlan *plan, const GpucolOutput *keys,
							   ScanState *node);

extern void gpucol_having_forget(GpucolHaving *having, ScanState *node);

/*
 * Leave the batch only the groups that meet HAVING, which is `tested`; how many did not.  The aggregates are those
 * of the engine's program.
 */
extern uint32 gpucol_having_test(GpucolHaving *having, GpucolGroupRows *rows, ScanState *node,
								 const GpucolAgg *aggs);

#endif							/* GPUCOL_EXEC_HAVING_H */
