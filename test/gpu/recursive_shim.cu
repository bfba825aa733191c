/*-------------------------------------------------------------------------
 *
 * recursive_shim.cu
 *	  Lets the unit test of the CPU recursion engine (test/unit/recursive.c)
 *	  exercise the device engine: it is compiled with gpucol_recursive_cpu
 *	  renamed to gpucol_recursive_shim, which runs a plan on the device and, where
 *	  the device says GPUCOL_UNSUPPORTED before the first row, on the CPU.
 *
 * At exit it prints how many runs each engine answered.  With GPUCOL_SMALL_ROUNDS=N
 * in the environment, the device tries rounds without the host after N small ones.
 *
 *-------------------------------------------------------------------------
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "recursion/engine.h"
#include "cuda/recursion/recursive_engine.h"

extern "C" const GpucolRecursiveEngine gpucol_recursive_shim;

struct GpucolRecRun;

namespace
{

struct Load
{
	uint32_t	relation;
	uint32_t	nrows;
	std::vector<std::vector<int64_t>> columns;
	std::vector<std::vector<uint8_t>> nulls;
};

struct Shim
{
	const GpucolRecPlan *plan;
	GpucolRecOptions options;
	const GpucolRecursiveEngine *engine;
	GpucolRecRun *run = nullptr;
	std::vector<Load> loads;
	bool		counted = false;
};

long		on_device,
			on_cpu;

void
print_counts()
{
	printf("recursion plans: %ld on the device, %ld on the CPU\n", on_device, on_cpu);
}

GpucolStatus
replay(Shim *shim, const GpucolRecursiveEngine *engine)
{
	GpucolStatus status = engine->start(shim->plan, &shim->options, &shim->run);

	shim->engine = engine;
	if (status != GPUCOL_OK)
	{
		shim->run = nullptr;
		return status;
	}
	for (auto &load : shim->loads)
	{
		std::vector<const int64_t *> columns;
		std::vector<const uint8_t *> nulls;

		for (size_t c = 0; c < load.columns.size(); c++)
		{
			columns.push_back(load.columns[c].data());
			nulls.push_back(load.nulls[c].data());
		}
		status = engine->load(shim->run, load.relation, load.nrows, columns.data(),
							  nulls.data());
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* Call on the device; if it cannot, on the CPU from the start. */
template <class Call>
GpucolStatus
with_fallback(Shim *shim, Call call)
{
	GpucolStatus status = GPUCOL_OK;

	if (shim->run == nullptr)
		status = replay(shim, &gpucol_recursive_device);
	if (status == GPUCOL_OK)
		status = call();
	if (status == GPUCOL_UNSUPPORTED && shim->engine == &gpucol_recursive_device)
	{
		if (shim->run)
			shim->engine->finish(shim->run);
		status = replay(shim, &gpucol_recursive_cpu);
		if (status == GPUCOL_OK)
			status = call();
	}
	if (!shim->counted)
	{
		shim->counted = true;
		(shim->engine == &gpucol_recursive_device ? on_device : on_cpu)++;
	}
	return status;
}

GpucolStatus
shim_start(const GpucolRecPlan *plan, const GpucolRecOptions *options, GpucolRecRun **run)
{
	static bool registered = atexit(print_counts) == 0;
	Shim	   *shim = new Shim;

	(void) registered;
	shim->plan = plan;
	shim->options = *options;
	if (getenv("GPUCOL_SMALL_ROUNDS"))
		shim->options.small_rounds_after = (uint32_t) atoi(getenv("GPUCOL_SMALL_ROUNDS"));
	*run = (GpucolRecRun *) shim;
	return GPUCOL_OK;
}

GpucolStatus
shim_load(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
		  const int64_t *const *columns, const uint8_t *const *nulls)
{
	Shim	   *shim = (Shim *) run;
	Load		load = {relation, nrows, {}, {}};

	for (int c = 0; c < shim->plan->relations[relation].arity; c++)
	{
		load.columns.emplace_back(columns[c], columns[c] + nrows);
		if (nulls && nulls[c])
			load.nulls.emplace_back(nulls[c], nulls[c] + nrows);
		else
			load.nulls.emplace_back(nrows, 0);
	}
	shim->loads.push_back(std::move(load));
	return GPUCOL_OK;
}

GpucolStatus
shim_next(GpucolRecRun *run, uint32_t relation, GpucolRecBatch *out)
{
	Shim	   *shim = (Shim *) run;

	return with_fallback(shim, [&] { return shim->engine->next(shim->run, relation, out); });
}

GpucolStatus
shim_summarise(GpucolRecRun *run, uint32_t relation, const bool *want,
			   uint64_t *nrows, GpucolRecSummary *columns)
{
	Shim	   *shim = (Shim *) run;

	return with_fallback(shim, [&] {
		return shim->engine->summarise(shim->run, relation, want, nrows, columns);
	});
}

void
shim_progress(const GpucolRecRun *run, GpucolRecProgress *out)
{
	const Shim *shim = (const Shim *) run;

	if (shim->run)
		shim->engine->progress(shim->run, out);
	else
		*out = GpucolRecProgress{};
}

void
shim_finish(GpucolRecRun *run)
{
	Shim	   *shim = (Shim *) run;

	if (shim->run)
		shim->engine->finish(shim->run);
	delete shim;
}

}								/* namespace */

const GpucolRecursiveEngine gpucol_recursive_shim = {
	"shim", shim_start, shim_load, shim_next, shim_summarise, shim_progress, shim_finish
};
