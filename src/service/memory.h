/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  What the work of this session may hold: the settings' limits as budgets, and
 *	  memory contexts that are counted in them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_MEMORY_H
#define GPUCOL_SERVICE_MEMORY_H

#include "postgres.h"

#include "base/budget.h"

/* All of the session's work: gpucol.max_memory. */
extern GpucolBudget *gpucol_memory_session(void);

/* What its queries hold, without recursions and rankings: gpucol.memory_limit. */
extern GpucolBudget *gpucol_memory_queries(void);

/* What PostgreSQL's own executor collects for rankings: gpucol.ranking_memory_limit. */
extern GpucolBudget *gpucol_memory_rankings(void);

/* The limits that are in force for queries, a recursion and a ranking, in bytes. */
extern Size gpucol_memory_query_limit(void);
extern Size gpucol_memory_recursive_limit(void);
extern Size gpucol_memory_ranking_limit(void);

/* The setting to increase where such a limit was reached: `name`, or that which caps it. */
extern const char *gpucol_memory_setting(const char *name, Size limit);

/*
 * Reset a context.  What malloc would keep of it goes back to the system if it is much of what
 * queries may hold, so that another node's part does not come on top.
 */
extern void gpucol_memory_reset(MemoryContext context);

/* Have func(arg) called once, when the context is reset or deleted: before what was registered earlier. */
extern void gpucol_memory_watch(MemoryContext context, MemoryContextCallbackFunction func, void *arg);

/*
 * A budget of so many bytes (0: as its parent) in the current memory context, closed when
 * this is reset or deleted.  What is allocated of it must have gone by then: callbacks
 * registered later are called before.
 */
extern GpucolBudget *gpucol_memory_open(Size limit, GpucolBudget *parent);

/* A memory context, with those below it, that is counted in a budget. */
typedef struct GpucolMeter
{
	MemoryContext context;
	GpucolBudget *budget;
	Size		counted;
} GpucolMeter;

extern void gpucol_meter_open(GpucolMeter *meter, MemoryContext context, GpucolBudget *budget);

/*
 * Count what the context holds now; false if that is beyond a limit, or if so many bytes
 * more would be.
 */
extern bool gpucol_meter_fits(GpucolMeter *meter, Size more);

#endif							/* GPUCOL_SERVICE_MEMORY_H */
