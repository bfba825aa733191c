/*-------------------------------------------------------------------------
 *
 * window_agg.h
 *	  Aggregates over frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_AGG_H
#define GPUCOL_EXEC_WINDOW_AGG_H

#include "exec/window_func.h"

/* The reason where a node needs more than it may hold. */
#define GPUCOL_WINDOW_MEMORY	"the rows need more memory than gpucol.memory_limit allows"

/* Arguments as numbers; NULL, or why that cannot be. */
extern const char *gpucol_window_agg_prepare(GpucolWindowFunction *f, GpucolWindowRows *rows);

/* Compute it for a partition; NULL, or why it cannot be. */
extern const char *gpucol_window_agg_run(GpucolWindowFunction *f, const GpucolWindowPart *part,
										 GpucolWindowScratch *scratch);

#endif							/* GPUCOL_EXEC_WINDOW_AGG_H */
