/*-------------------------------------------------------------------------
 *
 * recursive.cu
 *	  The device engine for recursion plans: a run's life, from its start over what is
 *	  loaded to the fixpoint (fixpoint.cu) that answers, and its memory.
 *
 *-------------------------------------------------------------------------
 */
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cuda/recursion/fixpoint.cuh"
#include "cuda/recursion/recursive_engine.h"

/* A run, from its start on. */
struct GpucolRecRun
{
	GpucolDeviceRun device;
	std::vector<GpucolLoadedRows> loaded; /* until the first question */
	bool		has_null = false;
	std::unique_ptr<GpucolFixpoint> fixpoint; /* from then on */
	GpucolReadRows batch;
	GpucolStatus status = GPUCOL_OK;	/* of the run, once it failed */
};

void
GpucolDeviceRun::check_cancel() const
{
	if (cancel.check())
		throw GpucolFailure{GPUCOL_CANCELLED};
}

void
GpucolDeviceRun::wait() const
{
	gpucol_check(cancel.wait(memory.stream));
	if (cancel.raised())
		throw GpucolFailure{GPUCOL_CANCELLED};
}

void
GpucolDeviceRun::note_rounds(uint64_t rounds, uint64_t delta)
{
	progress.rounds += rounds;
	progress.delta = delta;
	note_memory();
}

void
GpucolDeviceRun::note_memory()
{
	progress.bytes = memory.held + memory.host_held;
	progress.peak_bytes = memory.peak + memory.host_peak;
}

namespace
{

/* Does a rule make values that are not among the inputs' and constants'? */
bool
computes(const GpucolRecPlan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (plan->steps[i].kind == GPUCOL_REC_AGGREGATE ||
			(plan->steps[i].kind == GPUCOL_REC_COMPUTE &&
			 plan->steps[i].function != GPUCOL_REC_COPY))
			return true;
	return false;
}

/* Can a rule make a NULL where no operand is one? */
bool
makes_nulls(const GpucolRecPlan *plan)
{
	return std::any_of(plan->steps, plan->steps + plan->nsteps, [] (const GpucolRecStep &step) {
		return (step.kind == GPUCOL_REC_COMPUTE || step.kind == GPUCOL_REC_TEST) &&
			(step.function == GPUCOL_REC_WHEN || step.function == GPUCOL_REC_UNLESS);
	});
}

/* Number all values that were loaded or stand in the plan. */
void
number_values(GpucolRecRun *run)
{
	const GpucolRecPlan *plan = run->device.plan;
	std::vector<int64_t> constants;

	run->has_null |= makes_nulls(plan);
	for (uint32_t i = 0; i < plan->nconstants; i++)
	{
		run->has_null |= plan->constants[i].isnull;
		if (!plan->constants[i].isnull)
			constants.push_back(plan->constants[i].value);
	}
	run->device.codes.number(run->device.memory, run->has_null, computes(plan),
							 [&](const GpucolCodes::Visit &visit) {
		constexpr size_t PIECE = (size_t) 1 << 22;

		for (const GpucolLoadedRows &rows : run->loaded)
			for (size_t c = 0; c < rows.columns.size(); c++)
				for (size_t at = 0; at < rows.n; at += PIECE)
				{
					run->device.check_cancel();
					visit(rows.columns[c].data() + at,
						  rows.nulls[c].empty() ? nullptr : rows.nulls[c].data() + at,
						  std::min(PIECE, rows.n - at));
				}
		visit(constants.data(), nullptr, constants.size());
	});
}

/* From loaded rows to a fixpoint that has them. */
void
begin(GpucolRecRun *run)
{
	number_values(run);
	run->fixpoint = gpucol_fixpoint_make(run->device);
	for (uint32_t i = 0; i < run->loaded.size(); i++)
	{
		run->fixpoint->load(i, run->loaded[i]);
		run->loaded[i] = GpucolLoadedRows();
	}
}

/* Run `body`, turning failures into a status; the first failure stays. */
template <class Body>
GpucolStatus
guarded(GpucolRecRun *run, Body body)
{
	if (run->status != GPUCOL_OK)
		return run->status;
	try
	{
		if (!run->fixpoint)
			begin(run);
		GpucolStatus status = body();

		run->device.note_memory();
		return status;
	}
	catch (const GpucolFailure &failure)
	{
		return run->status = failure.status;
	}
	catch (const std::bad_alloc &)
	{
		return run->status = GPUCOL_OUT_OF_MEMORY;
	}
}

/*
 * Divide the budget: as much as the device may hold, and the rest, up to half of
 * what the machine has, in host memory.
 */
void
divide_memory(const GpucolRecOptions *options, GpucolDeviceMemory *memory)
{
	size_t		host = (size_t) sysconf(_SC_PHYS_PAGES) / 2 * (size_t) sysconf(_SC_PAGESIZE);

	memory->limit = options->memory_limit;
	if (options->device_limit && (!memory->limit || options->device_limit < memory->limit))
	{
		memory->limit = options->device_limit;
		memory->host_limit = host;
		if (options->memory_limit)
			memory->host_limit = std::min(host, options->memory_limit - memory->limit);
	}
}

/* Does the device run blocks in clusters? */
bool
can_cluster()
{
	int			device = 0,
				can = 0;

	gpucol_check(cudaGetDevice(&device));
	gpucol_check(cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, device));
	return can != 0;
}

/* Does it matter how often an input has a row? */
bool
counts_matter(const GpucolRecPlan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (plan->steps[i].kind == GPUCOL_REC_AGGREGATE)
			return true;
	for (uint32_t i = 0; i < plan->nrelations; i++)
		if ((plan->relations[i].flags & GPUCOL_REC_BAG) &&
			(plan->relations[i].flags & GPUCOL_REC_DERIVED))
			return true;
	return false;
}

/* ---- the engine table ---- */

GpucolStatus
device_start(const GpucolRecPlan *plan, const GpucolRecOptions *options,
			 GpucolRecRun **out)
{
	if (!gpucol_rules_supported(plan))
		return GPUCOL_UNSUPPORTED;
	auto	   *run = new (std::nothrow) GpucolRecRun;
	GpucolStatus status = GPUCOL_OK;

	if (run == nullptr)
		return GPUCOL_OUT_OF_MEMORY;
	run->device.plan = plan;
	run->device.options = *options;
	run->device.counts_matter = counts_matter(plan);
	run->device.progress.threads = 1;
	divide_memory(options, &run->device.memory);
	run->device.memory.lend = options->lend;
	run->device.memory.lender = options->context;
	try
	{
		GpucolDeviceMemory::keep_pool();
		gpucol_check(cudaStreamCreateWithFlags(&run->device.memory.stream,
											   cudaStreamNonBlocking));
		gpucol_check(run->device.cancel.watch(options->cancelled, options->context));
		run->device.clusters = can_cluster();
		run->loaded.resize(plan->nrelations);
	}
	catch (const GpucolFailure &failure)
	{
		status = failure.status;
	}
	catch (const std::bad_alloc &)
	{
		status = GPUCOL_OUT_OF_MEMORY;
	}
	if (status != GPUCOL_OK)
	{
		if (run->device.memory.stream)
			cudaStreamDestroy(run->device.memory.stream);
		delete run;
		return status;
	}
	*out = run;
	return GPUCOL_OK;
}

GpucolStatus
device_load(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
			const int64_t *const *columns, const uint8_t *const *nulls)
{
	int			arity = run->device.plan->relations[relation].arity;
	GpucolLoadedRows &to = run->loaded[relation];

	to.columns.resize(arity);
	to.nulls.resize(arity);
	for (int c = 0; c < arity; c++)
	{
		if (nulls && nulls[c] && memchr(nulls[c], 1, nrows))
			run->has_null = true;
		if (run->has_null)
		{
			to.nulls[c].resize(to.n);
			if (nulls && nulls[c])
				to.nulls[c].insert(to.nulls[c].end(), nulls[c], nulls[c] + nrows);
			else
				to.nulls[c].resize(to.n + nrows);
		}
		to.columns[c].insert(to.columns[c].end(), columns[c], columns[c] + nrows);
	}
	to.n += nrows;
	return GPUCOL_OK;
}

GpucolStatus
device_next(GpucolRecRun *run, uint32_t relation, GpucolRecBatch *out)
{
	return guarded(run, [&] { return run->fixpoint->next(relation, run->batch, out); });
}

GpucolStatus
device_summarise(GpucolRecRun *run, uint32_t relation, const bool *,
				 uint64_t *nrows, GpucolRecSummary *columns)
{
	return guarded(run, [&] {
		run->fixpoint->summarise(relation, nrows, columns);
		return GPUCOL_OK;
	});
}

void
device_progress(const GpucolRecRun *run, GpucolRecProgress *out)
{
	*out = run->device.progress;
}

void
device_finish(GpucolRecRun *run)
{
	cudaStream_t stream = run->device.memory.stream;
	GpucolRecOptions options = run->device.options;
	size_t		borrowed;

	cudaStreamSynchronize(stream);
	borrowed = run->device.memory.borrowed;
	delete run;
	cudaStreamSynchronize(stream);
	cudaStreamDestroy(stream);
	GpucolDeviceMemory::trim_pool();
	if (options.repay)
		options.repay(options.context, borrowed);
}

}								/* namespace */

const GpucolRecursiveEngine gpucol_recursive_device = {
	"cuda", device_start, device_load, device_next, device_summarise,
	device_progress, device_finish
};
