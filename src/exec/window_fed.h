/*-------------------------------------------------------------------------
 *
 * window_fed.h
 *	  Aggregates over frames by PostgreSQL's own functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_FED_H
#define GPUCOL_EXEC_WINDOW_FED_H

#include "exec/window_func.h"

/*
 * Look its functions up; `inputs` are those of its arguments, `passed` that which is not
 * NULL for rows that pass its filter, or -1.  Raises an error where the user may not call
 * one of them.
 */
extern struct GpucolWindowFed *gpucol_window_fed_create(const WindowFunc *func, List *args,
														int *inputs, int passed,
														PlanState *parent);

/* Compute it for a partition; NULL, or why it cannot be. */
extern const char *gpucol_window_fed_run(GpucolWindowFunction *f, const GpucolWindowPart *part);

#endif							/* GPUCOL_EXEC_WINDOW_FED_H */
