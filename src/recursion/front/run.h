/*-------------------------------------------------------------------------
 *
 * run.h
 *	  Running a recursion plan inside a server: settings, interrupts, errors,
 *	  and the release of the engine's memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_RUN_H
#define GPUCOL_RECURSION_FRONT_RUN_H

#include "postgres.h"

#include "recursion/engine.h"
#include "service/memory.h"

typedef struct GpucolRecursion GpucolRecursion;

/*
 * What one recursion holds, its program, inputs and strings included: a budget of
 * gpucol.recursive_memory_limit, in which a memory context with all of that is counted.
 */
typedef struct GpucolRecursionMemory
{
	GpucolBudget *budget;
	GpucolMeter meter;
	GpucolRecursion *recursion; /* once it has been started, and until it ends */
} GpucolRecursionMemory;

/* That of the current memory context, with which it ends. */
extern GpucolRecursionMemory *gpucol_recursion_memory(void);

/*
 * Count what the context holds; raise the error of the limit if that exceeds it, or if so
 * many bytes more would.
 */
extern void gpucol_recursion_count(GpucolRecursionMemory *memory, Size more);

/* What the engine asks of who started it (recursion/engine.h); functions may be NULL where a plan needs none. */
typedef struct GpucolRecursionHost
{
	GpucolRecHost compute;		/* the plan's GPUCOL_REC_HOST, */
	GpucolRecHostApart compute_apart;	/* the same in other threads; */
	GpucolRecExpand expand;		/* its GPUCOL_REC_EXPAND; */
	uint32		forms;			/* columns of relation 0 whose equal values may differ, as bits, */
	GpucolRecForm form;			/* and what such values share */
	void	   *context;		/* of all functions */
} GpucolRecursionHost;

/*
 * Start a plan on the engine that the settings choose.  The run ends with the
 * current memory context at the latest.  All functions below raise PostgreSQL
 * errors for what a status says.  What `host` refers to must live as long.
 */
extern GpucolRecursion *gpucol_recursion_start(const GpucolRecPlan *plan,
											   GpucolRecursionMemory *memory,
											   const GpucolRecursionHost *host);

/* Name of the engine that a run would be started on now. */
extern const char *gpucol_recursion_engine(void);

extern void gpucol_recursion_load(GpucolRecursion *recursion, uint32 relation,
								  uint32 nrows, const int64 *const *columns,
								  const uint8 *const *nulls);

/* Next rows of a relation; false at the end. */
extern bool gpucol_recursion_next(GpucolRecursion *recursion, uint32 relation,
								  GpucolRecBatch *batch);

extern uint64 gpucol_recursion_summarise(GpucolRecursion *recursion,
										 uint32 relation, const bool *want,
										 GpucolRecSummary *columns);

extern void gpucol_recursion_progress(const GpucolRecursion *recursion,
									  GpucolRecProgress *progress);
extern void gpucol_recursion_finish(GpucolRecursion *recursion);

#endif							/* GPUCOL_RECURSION_FRONT_RUN_H */
