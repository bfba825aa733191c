/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  What the work of this session may hold.
 *
 * Three budgets stand above all others: that of the session, which only superusers set,
 * and below it that of its queries and that of rankings in PostgreSQL's executor;
 * recursions and rankings of our own nodes have limits of their own beside these.  Limits
 * are read from the settings whenever something new is opened.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "miscadmin.h"
#include "utils/memutils.h"

#include "guc.h"
#include "service/memory.h"

/* gpucol.memory_limit = 0 allows this much, or hash_mem if that is more. */
#define LEAST_QUERY_MEMORY	((Size) 256 * 1024 * 1024)

/* This share of what queries may hold is much, and so many bytes. */
#define MUCH_SHARE	8
#define MUCH_LEAST	((Size) 1024 * 1024)

static GpucolBudget session;
static GpucolBudget queries = {.parent = &session};
static GpucolBudget rankings = {.parent = &session};

/* A setting in MB as bytes; 0 is half of the machine's memory. */
static Size
setting_bytes(int megabytes)
{
	if (megabytes > 0)
		return (Size) megabytes * 1024 * 1024;
	return (Size) sysconf(_SC_PHYS_PAGES) / 2 * (Size) sysconf(_SC_PAGESIZE);
}

/* The lower of a limit and the session's. */
static Size
capped(Size limit)
{
	return Min(limit, setting_bytes(gpucol_max_memory));
}

GpucolBudget *
gpucol_memory_session(void)
{
	session.limit = setting_bytes(gpucol_max_memory);
	return &session;
}

GpucolBudget *
gpucol_memory_queries(void)
{
	gpucol_memory_session();
	queries.limit = gpucol_memory_query_limit();
	return &queries;
}

GpucolBudget *
gpucol_memory_rankings(void)
{
	gpucol_memory_session();
	rankings.limit = gpucol_memory_ranking_limit();
	return &rankings;
}

Size
gpucol_memory_query_limit(void)
{
	return capped(gpucol_memory_limit > 0 ? setting_bytes(gpucol_memory_limit) :
				  Max(get_hash_memory_limit(), LEAST_QUERY_MEMORY));
}

Size
gpucol_memory_recursive_limit(void)
{
	return capped(setting_bytes(gpucol_recursive_memory_limit));
}

Size
gpucol_memory_ranking_limit(void)
{
	return capped(setting_bytes(gpucol_ranking_memory_limit));
}

const char *
gpucol_memory_setting(const char *name, Size limit)
{
	return limit < setting_bytes(gpucol_max_memory) ? name : "gpucol.max_memory";
}

void
gpucol_memory_reset(MemoryContext context)
{
	Size		held = MemoryContextMemAllocated(context, true);

	MemoryContextReset(context);
#ifdef __GLIBC__
	if (held >= Max(gpucol_memory_query_limit() / MUCH_SHARE, MUCH_LEAST))
		(void) malloc_trim(0);
#endif
}

void
gpucol_memory_watch(MemoryContext context, MemoryContextCallbackFunction func, void *arg)
{
	MemoryContextCallback *callback = MemoryContextAlloc(context, sizeof(MemoryContextCallback));

	callback->func = func;
	callback->arg = arg;
	MemoryContextRegisterResetCallback(context, callback);
}

/* Memory context callback. */
static void
close_budget(void *arg)
{
	gpucol_budget_close(arg);
}

GpucolBudget *
gpucol_memory_open(Size limit, GpucolBudget *parent)
{
	GpucolBudget *budget = palloc(sizeof(GpucolBudget));

	gpucol_budget_open(budget, limit, parent);
	gpucol_memory_watch(CurrentMemoryContext, close_budget, budget);
	return budget;
}

void
gpucol_meter_open(GpucolMeter *meter, MemoryContext context, GpucolBudget *budget)
{
	meter->context = context;
	meter->budget = budget;
	meter->counted = 0;
}

bool
gpucol_meter_fits(GpucolMeter *meter, Size more)
{
	Size		held = MemoryContextMemAllocated(meter->context, true);

	if (held < meter->counted)
		gpucol_budget_release(meter->budget, meter->counted - held);
	else if (!gpucol_budget_reserve(meter->budget, held - meter->counted))
		return false;
	meter->counted = held;
	return more <= gpucol_budget_left(meter->budget);
}
