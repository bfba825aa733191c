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

/* Arguments as numbers; NULL, or why that cannot be. */
extern const char *gpucol_window_agg_prepare(GpucolWindowFunction *f, GpucolWindowRows *rows);

/* Compute it for a partition; NULL, or why it cannot be. */
extern const char *gpucol_window_agg_run(GpucolWindowFunction *f, const GpucolWindowPart *part,
										 GpucolWindowScratch *scratch);

#endif							/* GPUCOL_EXEC_WINDOW_AGG_H */
