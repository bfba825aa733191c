/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  The lines that gpucol nodes add to EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_EXPLAIN_H
#define GPUCOL_EXEC_EXPLAIN_H

#include "compat.h"
#include "exec/run.h"

/* The table or recursion that a node without scanrelid reads. */
extern void gpucol_explain_parts(GpucolExec *exec, ExplainState *es);
extern void gpucol_explain_input(GpucolExec *exec, ExplainState *es);

/*
 * The engine that would run, or ran, and why, where gpucol chooses between the
 * device and the CPU; attnums: the columns read.
 */
extern void gpucol_explain_engine(GpucolExec *exec, Bitmapset *attnums,
								  ExplainState *es);

/* A condition by its name; quals is a List of conjuncts or NIL. */
extern void gpucol_explain_conditions(GpucolExec *exec, const char *name, List *quals,
									  List *ancestors, ExplainState *es);

/* The one that the engine tests. */
extern void gpucol_explain_filter(GpucolExec *exec, List *quals,
								  List *ancestors, ExplainState *es);

/* Columns read, by attribute number. */
extern void gpucol_explain_columns(GpucolExec *exec, Bitmapset *attnums,
								   ExplainState *es);

/* What groups are made by: the first `nkeys` expressions, and the sets of them, or NIL. */
extern void gpucol_explain_keys(CustomScanState *node, Expr **keys, int nkeys, const List *sets,
								List *ancestors, ExplainState *es);

/* Which of the groups of such expressions are wanted first (GPUCOL_AGG_PRIVATE_FIRST). */
extern void gpucol_explain_first(CustomScanState *node, Expr **exprs, List *wanted, List *ancestors,
								 ExplainState *es);

/* Figures of an execution. */
extern void gpucol_explain_stats(GpucolExec *exec, ExplainState *es);

#endif							/* GPUCOL_EXEC_EXPLAIN_H */
