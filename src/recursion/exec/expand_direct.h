/*-------------------------------------------------------------------------
 *
 * expand_direct.h
 *	  Rows of some functions of a recursive term, made without calling them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_EXEC_EXPAND_DIRECT_H
#define GPUCOL_RECURSION_EXEC_EXPAND_DIRECT_H

#include "postgres.h"

#include "nodes/execnodes.h"

typedef struct GpucolDirectRows GpucolDirectRows;

/* Those of a call, whose argument is evaluated as part of a plan; NULL: they are its function's to make. */
extern GpucolDirectRows *gpucol_direct_rows_create(Expr *call, PlanState *plan);

/* Begin with the rows for the tuple of a context; false: the function is to be called for these. */
extern bool gpucol_direct_rows_open(GpucolDirectRows *rows, ExprContext *econtext);

/* The next row, in the current memory context or as long as the rows are open; false: there is none. */
extern bool gpucol_direct_rows_next(GpucolDirectRows *rows, Datum *values, bool *isnull);

#endif							/* GPUCOL_RECURSION_EXEC_EXPAND_DIRECT_H */
