/*-------------------------------------------------------------------------
 *
 * final.h
 *	  Groups that are complete when their vector is (final.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_FINAL_H
#define GPUCOL_ENGINE_CPU_FINAL_H

#include "engine/cpu/agg.h"

/* Before the scan: look at what is to come, and begin again. */
extern GpucolStatus gpucol_cpu_final_init(GpucolRun *run);

/* When a segment has been fetched; before its windows. */
extern GpucolStatus gpucol_cpu_final_next_segment(GpucolRun *run);
extern void gpucol_cpu_final_open(GpucolRun *run);

/* Do most vectors of the segment at hand have values of their own? */
extern bool gpucol_cpu_final_is_on(const GpucolRun *run);

/*
 * The table that takes a vector's rows, where groups of it may be final; NULL: `to` is, which
 * receives the others.  Find or add the groups of the selected rows, whose key words are filled in.
 */
extern GpucolCpuGroups *gpucol_cpu_final_table(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
											   GpucolCpuGroups *to);
extern GpucolStatus gpucol_cpu_final_lookup(GpucolCpuWorker *worker, GpucolCpuGroups *groups);

/* A worker is done with a vector; only with run->agg.final. */
extern GpucolStatus gpucol_cpu_final_close(GpucolCpuWorker *worker);

/* In the end: figures; the final groups become tables of the run. */
extern void gpucol_cpu_final_note(GpucolRun *run);
extern GpucolStatus gpucol_cpu_final_deliver(GpucolRun *run);

#endif							/* GPUCOL_ENGINE_CPU_FINAL_H */
