/*-------------------------------------------------------------------------
 *
 * run.c
 *	  Running a recursion plan inside a server.
 *
 * The engine allocates with malloc; a callback of the memory context that the
 * run was started in frees it whatever happens to the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procsignal.h"
#include "utils/memutils.h"

#include "base/pool.h"
#include "compat.h"
#include "engine/backend.h"
#include "guc.h"
#include "recursion/front/run.h"
#include "service/activity.h"
#include "service/memory.h"
#include "service/threads.h"

struct GpucolRecursion
{
	const GpucolRecursiveEngine *engine;
	GpucolRecRun *run;
	GpucolRecursionMemory *memory;
	GpucolActivity activity;
};

/* List how far a run has come. */
static void
list_progress(GpucolRecursion *recursion)
{
	GpucolRecProgress progress;
	GpucolActivityState state = {0};

	gpucol_recursion_progress(recursion, &progress);
	state.rounds = progress.rounds;
	state.delta = progress.delta;
	state.rows = progress.full;
	state.bytes = progress.bytes;
	strlcpy(state.engine, progress.engine ? progress.engine : "", GPUCOL_ACTIVITY_NAME);
	strlcpy(state.method, progress.method ? progress.method : "", GPUCOL_ACTIVITY_NAME);
	gpucol_activity_update(recursion->activity, &state);
}

/* The engine asks whether to stop and is listed; must not raise an error. */
static bool
is_cancelled(void *context)
{
	list_progress(context);
	if (!InterruptPending)
		return false;
	if (QueryCancelPending || ProcDiePending)
		return true;
	if (ProcSignalBarrierPending)
		ProcessProcSignalBarrier();
	return false;
}

/*
 * Input rows from which on gpucol.engine = auto begins on the device: the CPU engine takes as
 * long to read some tens of thousands as the device to begin, read and end.
 */
#define DEVICE_ROWS		65536

/* The engine to try: the device's falls back to the CPU's by itself. */
static const GpucolRecursiveEngine *
choose_engine(void)
{
	return gpucol_engine_wants_device(gpucol_recursive_cuda_available) ?
		&gpucol_recursive_cuda : &gpucol_recursive_cpu;
}

const char *
gpucol_recursion_engine(void)
{
	return choose_engine()->name;
}

/* The error of the limit, which says how far the recursion has come. */
pg_noreturn static void
raise_out_of_memory(const GpucolRecursionMemory *memory)
{
	GpucolRecProgress progress = {0};

	if (memory->recursion != NULL)
		gpucol_recursion_progress(memory->recursion, &progress);
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("recursion needs more memory than it may use"),
			 errdetail("The limit is %zu MB; %llu rows were derived in %llu rounds.",
					   memory->budget->limit / (1024 * 1024),
					   (unsigned long long) progress.full,
					   (unsigned long long) progress.rounds),
			 errhint("Increase %s.",
					 gpucol_memory_setting("gpucol.recursive_memory_limit",
										   memory->budget->limit))));
}

GpucolRecursionMemory *
gpucol_recursion_memory(void)
{
	GpucolRecursionMemory *memory = palloc(sizeof(GpucolRecursionMemory));

	memory->budget = gpucol_memory_open(gpucol_memory_recursive_limit(),
										gpucol_memory_session());
	gpucol_meter_open(&memory->meter, CurrentMemoryContext, memory->budget);
	memory->recursion = NULL;
	return memory;
}

void
gpucol_recursion_count(GpucolRecursionMemory *memory, Size more)
{
	if (!gpucol_meter_fits(&memory->meter, more))
		raise_out_of_memory(memory);
}

/* Raise what a status says. */
pg_noreturn static void
raise_status(const GpucolRecursion *recursion, GpucolStatus status)
{
	GpucolRecProgress progress = {0};

	if (recursion->run != NULL)
		recursion->engine->progress(recursion->run, &progress);
	gpucol_engine_raise(status);
	switch (status)
	{
		case GPUCOL_OUT_OF_MEMORY:
			raise_out_of_memory(recursion->memory);
		case GPUCOL_TOO_DEEP:
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("a rule of the recursion joins more relations than the stack holds"),
					 errhint("Split the rule, or raise the operating system's limit on the stack.")));
			break;
		case GPUCOL_ROUNDS_EXCEEDED:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("recursion did not end within %d rounds",
							gpucol_max_recursion_rounds),
					 errdetail("%llu rows were derived.",
							   (unsigned long long) progress.full),
					 errhint("Increase gpucol.max_recursion_rounds, or set it to 0.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("recursion failed with status %d", (int) status)));
	}
	pg_unreachable();
}

/* Memory context callback. */
static void
release_run(void *argument)
{
	GpucolRecursion *recursion = argument;

	if (recursion->run != NULL)
		recursion->engine->finish(recursion->run);
	recursion->run = NULL;
	recursion->memory->recursion = NULL;
	gpucol_activity_end(recursion->activity);
	recursion->activity = 0;
}

GpucolRecursion *
gpucol_recursion_start(const GpucolRecPlan *plan, GpucolRecursionMemory *memory,
					   const GpucolRecursionHost *host)
{
	GpucolRecursion *recursion = palloc0(sizeof(GpucolRecursion));
	GpucolRecOptions options = {0};
	GpucolStatus status;

	recursion->engine = choose_engine();
	recursion->memory = memory;
	memory->recursion = recursion;
	gpucol_memory_watch(CurrentMemoryContext, release_run, recursion);
	options.threads = gpucol_threads_wanted(GPUCOL_POOL_MAX_THREADS);
	gpucol_recursion_count(memory, 0);
	options.memory_limit = memory->budget->limit;
	options.budget = memory->budget;
	options.max_rounds = gpucol_max_recursion_rounds;
	options.strategy = (GpucolRecStrategy) gpucol_recursive_strategy;
	options.device_rows = gpucol_engine_choice == GPUCOL_ENGINE_AUTO ? DEVICE_ROWS : 0;
	options.cancelled = is_cancelled;
	options.context = recursion;
	options.host = host->compute;
	options.apart = host->compute_apart;
	options.expand = host->expand;
	options.forms = host->forms;
	options.form = host->form;
	options.host_context = host->context;
	recursion->activity = gpucol_activity_begin(GPUCOL_ACTIVITY_RECURSION);
	status = recursion->engine->start(plan, &options, &recursion->run);
	if (status != GPUCOL_OK)
		raise_status(recursion, status);
	return recursion;
}

void
gpucol_recursion_load(GpucolRecursion *recursion, uint32 relation, uint32 nrows,
					  const int64 *const *columns, const uint8 *const *nulls)
{
	GpucolStatus status = recursion->engine->load(recursion->run, relation,
												  nrows, columns, nulls);

	if (status != GPUCOL_OK)
		raise_status(recursion, status);
}

bool
gpucol_recursion_next(GpucolRecursion *recursion, uint32 relation,
					  GpucolRecBatch *batch)
{
	GpucolStatus status;

	CHECK_FOR_INTERRUPTS();
	status = recursion->engine->next(recursion->run, relation, batch);
	if (status == GPUCOL_END)
		return false;
	if (status != GPUCOL_OK)
		raise_status(recursion, status);
	return true;
}

uint64
gpucol_recursion_summarise(GpucolRecursion *recursion, uint32 relation,
						   const bool *want, GpucolRecSummary *columns)
{
	uint64		nrows;
	GpucolStatus status = recursion->engine->summarise(recursion->run, relation,
													   want, &nrows, columns);

	if (status == GPUCOL_END)
		return 0;
	if (status != GPUCOL_OK)
		raise_status(recursion, status);
	return nrows;
}

void
gpucol_recursion_progress(const GpucolRecursion *recursion,
						  GpucolRecProgress *progress)
{
	memset(progress, 0, sizeof(*progress));
	if (recursion->run != NULL)
		recursion->engine->progress(recursion->run, progress);
}

void
gpucol_recursion_finish(GpucolRecursion *recursion)
{
	GpucolRecProgress progress;

	gpucol_recursion_progress(recursion, &progress);
	ereport(DEBUG2,
			(errmsg_internal("recursion ran on engine %s by %s: " UINT64_FORMAT " rounds, "
							 UINT64_FORMAT " rows%s%s", progress.engine, progress.method,
							 progress.rounds, progress.full,
							 progress.fallback ? "; fallback: " : "",
							 progress.fallback ? progress.fallback : "")));
	release_run(recursion);
}
