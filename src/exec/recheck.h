/*-------------------------------------------------------------------------
 *
 * recheck.h
 *	  ExecScan's recheck method of a node without scanrelid.
 *
 * Such a node inside an EvalPlanQual (in a subplan) is asked to recheck instead
 * of to fetch: it delivers the next row of the same access method all the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RECHECK_H
#define GPUCOL_EXEC_RECHECK_H

#include "postgres.h"

#include "executor/executor.h"

/* Define `recheck` to deliver the next row of the access method `next`. */
#define GPUCOL_RECHECK_BY_NEXT(recheck, next) \
static bool \
recheck(ScanState *node, TupleTableSlot *slot pg_attribute_unused()) \
{ \
	TupleTableSlot *row = next(node); \
\
	return !TupIsNull(row);		/* a macro that looks twice */ \
}

#endif							/* GPUCOL_EXEC_RECHECK_H */
