/*-------------------------------------------------------------------------
 *
 * recursive.cu
 *	  The device engine for recursion plans: loading, strata, rounds, results.
 *
 * A round runs every recursive rule over the last delta, sorts and
 * deduplicates what each relation got, subtracts FULL, and makes the rest the
 * next delta; the old delta joins the levels of FULL.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <cstring>

#include "recursive.cuh"
#include "recursive_engine.h"

namespace
{

/* Rows handed out by one call of next. */
constexpr size_t BATCH = 65536;

std::shared_ptr<GpucolRun>
empty_run(GpucolDeviceMemory &memory)
{
	return std::make_shared<GpucolRun>(GpucolKeys(memory, 0));
}

bool
derived_in(const GpucolRecPlan *plan, uint32_t relation, uint32_t stratum)
{
	for (uint32_t r = 0; r < plan->nrules; r++)
	{
		const GpucolRecRule &rule = plan->rules[r];
		const GpucolRecStep &last = plan->steps[rule.steps + rule.nsteps - 1];

		if (rule.stratum == stratum && last.relation == relation)
			return true;
	}
	return false;
}

}								/* namespace */

/* A run and the host side of its results. */
struct GpucolRecRun
{
	GpucolDeviceRun device;
	/* reading: relation -> where its reader is */
	struct Reader
	{
		GpucolRuns	runs;
		size_t		run = 0;
		size_t		at = 0;
		GpucolKeys	keys;		/* of a shape */
		bool		started = false;
	};
	std::map<uint32_t, Reader> readers;
	std::vector<uint64_t> keys;
	std::vector<std::vector<int64_t>> columns;
	std::vector<const int64_t *> pointers;
	std::vector<std::vector<uint8_t>> null_columns;
	std::vector<const uint8_t *> nulls;
};

uint32_t
GpucolDeviceRun::code(int64_t value) const
{
	if (!direct.empty())
		return direct[(uint64_t) value - (uint64_t) values[has_null]];
	return (uint32_t) (std::lower_bound(values.begin() + has_null, values.end(), value) -
					   values.begin());
}

GpucolKeyOrder
GpucolDeviceRun::declared(uint32_t relation) const
{
	GpucolKeyOrder order;

	order.arity = plan->relations[relation].arity;
	order.bits = bits;
	for (int i = 0; i < order.arity; i++)
		order.columns[i] = (uint8_t) i;
	return order;
}

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
GpucolDeviceRun::note_round(uint64_t delta)
{
	progress.rounds++;
	progress.delta = delta;
	progress.bytes = memory.held;
	progress.peak_bytes = memory.peak;
}

GpucolRuns
GpucolDeviceRun::runs(uint32_t relation, const GpucolKeyOrder &order,
					  GpucolRecVersion version)
{
	GpucolDeviceRelation &r = relations[relation];
	GpucolIndex *index = nullptr;
	GpucolRuns	result;

	for (auto &i : r.indexes)
		if (i.order.same(order))
			index = &i;
	if (index == nullptr)
	{
		const GpucolIndex &declared_index = r.indexes[0];
		GpucolIndex fresh_index = {order, {}, nullptr};

		for (auto &run : declared_index.previous)
			gpucol_hisa_add(memory, fresh_index.previous,
							std::make_shared<GpucolRun>(
								gpucol_hisa_reorder(memory, run->keys(),
													declared_index.order, order)));
		r.indexes.push_back(std::move(fresh_index));
		index = &r.indexes.back();
	}
	if (version != GPUCOL_REC_DELTA)
		result = index->previous;
	if (version != GPUCOL_REC_PREVIOUS && r.delta->size() > 0)
	{
		if (!index->delta)
			index->delta = index == &r.indexes[0] ? r.delta :
				std::make_shared<GpucolRun>(
					gpucol_hisa_reorder(memory, r.delta->keys(),
										r.indexes[0].order, order));
		result.push_back(index->delta);
	}
	return result;
}

void
GpucolDeviceRun::settle_fresh(uint32_t relation)
{
	GpucolDeviceRelation &r = relations[relation];
	GpucolKeys	all;

	if (r.fresh.empty())
		return;
	if (r.fresh.size() == 1)
		all = std::move(r.fresh[0]);
	else
	{
		size_t		at = 0;

		all = GpucolKeys(memory, r.nfresh);
		for (auto &piece : r.fresh)
		{
			gpucol_check(cudaMemcpyAsync(all.data() + at, piece.data(),
										 piece.size() * sizeof(uint64_t),
										 cudaMemcpyDeviceToDevice, memory.stream));
			at += piece.size();
		}
	}
	r.fresh.clear();
	gpucol_hisa_unique(memory, all, bits * plan->relations[relation].arity);
	gpucol_hisa_subtract(memory, all, r.indexes[0].previous);
	if (r.delta->size() > 0)
		gpucol_hisa_subtract(memory, all, {r.delta});
	r.nfresh = all.size();
	r.fresh.push_back(std::move(all));
}

namespace
{

/* Old delta into FULL, what was emitted becomes the delta. */
uint64_t
commit(GpucolDeviceRun &run, uint32_t relation)
{
	GpucolDeviceRelation &r = run.relations[relation];

	run.settle_fresh(relation);
	for (auto &index : r.indexes)
	{
		if (r.delta->size() > 0)
			gpucol_hisa_add(run.memory, index.previous,
							&index == &r.indexes[0] ? r.delta :
							index.delta ? index.delta :
							std::make_shared<GpucolRun>(
								gpucol_hisa_reorder(run.memory, r.delta->keys(),
													r.indexes[0].order, index.order)));
		index.delta = nullptr;
	}
	r.delta = r.fresh.empty() ? empty_run(run.memory) :
		std::make_shared<GpucolRun>(std::move(r.fresh[0]));
	r.fresh.clear();
	r.nfresh = 0;
	return r.delta->size();
}

/* Commit every relation of the stratum; rows of the new deltas. */
uint64_t
commit_stratum(GpucolDeviceRun &run, uint32_t stratum)
{
	uint64_t	delta = 0;

	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		if (derived_in(run.plan, i, stratum))
			delta += commit(run, i);
	run.progress.delta = delta;
	run.progress.full += delta;
	return delta;
}

void
run_rules(GpucolDeviceRun &run, uint32_t stratum, bool recursive)
{
	for (uint32_t i = 0; i < run.plan->nrules; i++)
		if (run.plan->rules[i].stratum == stratum &&
			((run.plan->rules[i].flags & GPUCOL_REC_RECURSIVE) != 0) == recursive)
			gpucol_rules_run(run, i);
}

bool
recursive_stratum(const GpucolRecPlan *plan, uint32_t stratum)
{
	for (uint32_t i = 0; i < plan->nrules; i++)
		if (plan->rules[i].stratum == stratum &&
			(plan->rules[i].flags & GPUCOL_REC_RECURSIVE))
			return true;
	return false;
}

void
run_stratum(GpucolDeviceRun &run, uint32_t stratum)
{
	uint32_t	relation;
	int64_t		rounds = 0;

	run.progress.stratum = stratum;
	run.progress.method = "HISA";
	run_rules(run, stratum, false);
	uint64_t	delta = commit_stratum(run, stratum);

	if (!recursive_stratum(run.plan, stratum))
		return;
	if (auto shape = gpucol_shapes_start(run, stratum, &relation))
	{
		run.shapes[relation] = std::move(shape);
		return;
	}
	while (delta > 0)
	{
		if (run.options.max_rounds && rounds++ >= run.options.max_rounds)
			throw GpucolFailure{GPUCOL_ROUNDS_EXCEEDED};
		run.check_cancel();
		run_rules(run, stratum, true);
		delta = commit_stratum(run, stratum);
		run.note_round(delta);
	}
}

/* Values between two looks for a cancel. */
constexpr size_t VALUES_A_LOOK = (size_t) 1 << 22;

/* All values that were loaded or stand in the plan, passed to `visit`. */
template <class Visit>
void
each_value(const GpucolDeviceRun &run, Visit visit)
{
	for (size_t r = 0; r < run.loaded.size(); r++)
		for (size_t c = 0; c < run.loaded[r].size(); c++)
		{
			const auto &column = run.loaded[r][c];
			const auto &nulls = run.loaded_nulls[r][c];

			for (size_t at = 0; at < column.size(); at += VALUES_A_LOOK)
			{
				size_t		end = std::min(column.size(), at + VALUES_A_LOOK);

				run.check_cancel();
				for (size_t i = at; i < end; i++)
					if (nulls.empty() || !nulls[i])
						visit(column[i]);
			}
		}
	for (uint32_t i = 0; i < run.plan->nconstants; i++)
		if (!run.plan->constants[i].isnull)
			visit(run.plan->constants[i].value);
}

/*
 * The dictionary by direct addressing, if the values span a range not much wider
 * than there are values: a pass to mark, a pass to number.
 */
bool
number_directly(GpucolDeviceRun &run)
{
	int64_t		lo = INT64_MAX,
				hi = INT64_MIN;
	uint64_t	n = 0;

	each_value(run, [&](int64_t v) { lo = std::min(lo, v); hi = std::max(hi, v); n++; });
	uint64_t	span = n ? (uint64_t) hi - (uint64_t) lo : UINT64_MAX;

	if (span > 8 * n + 65536)
		return false;
	run.direct.assign(span + 1, 0);
	each_value(run, [&](int64_t v) { run.direct[(uint64_t) v - (uint64_t) lo] = 1; });
	for (uint64_t i = 0; i <= span; i++)
		if (run.direct[i])
		{
			run.direct[i] = (uint32_t) run.values.size();
			run.values.push_back(lo + (int64_t) i);
		}
	return true;
}

/* The dictionary by sorting. */
void
number_by_sorting(GpucolDeviceRun &run)
{
	std::vector<int64_t> &values = run.values;

	each_value(run, [&](int64_t v) { values.push_back(v); });
	std::sort(values.begin() + run.has_null, values.end());
	values.erase(std::unique(values.begin() + run.has_null, values.end()), values.end());
}

/* Dense codes of all values that were loaded or stand in the plan. */
void
make_dictionary(GpucolDeviceRun &run)
{
	const std::vector<int64_t> &values = run.values;

	for (uint32_t i = 0; i < run.plan->nconstants; i++)
		run.has_null |= run.plan->constants[i].isnull;
	if (run.has_null)
		run.values.push_back(0);
	if (!number_directly(run))
		number_by_sorting(run);
	if (values.size() > UINT32_MAX - 1)
		throw GpucolFailure{GPUCOL_UNSUPPORTED};
	while ((values.size() >> run.bits) > 0)
		run.bits++;
	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		if (run.plan->relations[i].arity * run.bits > 64)
			throw GpucolFailure{GPUCOL_UNSUPPORTED};
	run.device_values = GpucolArray<int64_t>(run.memory, values.size());
	gpucol_check(cudaMemcpyAsync(run.device_values.data(), values.data(),
								 values.size() * sizeof(int64_t),
								 cudaMemcpyHostToDevice, run.memory.stream));
}

/* Loaded rows of a relation as keys: fresh rows of its first round. */
void
upload(GpucolDeviceRun &run, uint32_t relation)
{
	auto	   &columns = run.loaded[relation];
	auto	   &nulls = run.loaded_nulls[relation];
	GpucolDeviceRelation &r = run.relations[relation];
	size_t		n = columns.empty() ? 0 : columns[0].size();
	std::vector<uint64_t> keys(n);

	r.indexes.push_back({run.declared(relation), {}, nullptr});
	r.delta = empty_run(run.memory);
	if (n == 0)
		return;
	for (size_t c = 0; c < columns.size(); c++)
		for (size_t at = 0; at < n; at += VALUES_A_LOOK)
		{
			size_t		end = std::min(n, at + VALUES_A_LOOK);

			run.check_cancel();
			for (size_t i = at; i < end; i++)
				keys[i] = keys[i] << run.bits |
					(!nulls[c].empty() && nulls[c][i] ? run.null_code() :
					 run.code(columns[c][i]));
		}
	GpucolKeys	device(run.memory, n);

	gpucol_check(cudaMemcpyAsync(device.data(), keys.data(), n * sizeof(uint64_t),
								 cudaMemcpyHostToDevice, run.memory.stream));
	gpucol_check(cudaStreamSynchronize(run.memory.stream));
	columns.clear();
	nulls.clear();
	r.nfresh = n;
	r.fresh.push_back(std::move(device));
}

/* Relations that no rule defines are whole from the start. */
void
settle_inputs(GpucolDeviceRun &run)
{
	for (uint32_t i = 0; i < run.plan->nrelations; i++)
	{
		bool		derived = false;

		for (uint32_t s = 0; s < run.plan->nstrata; s++)
			derived |= derived_in(run.plan, i, s);
		if (derived)
			continue;
		commit(run, i);			/* to the delta */
		commit(run, i);			/* to FULL */
	}
}

void
run_all(GpucolDeviceRun &run)
{
	make_dictionary(run);
	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		upload(run, i);
	settle_inputs(run);
	for (uint32_t s = 0; s < run.plan->nstrata; s++)
		run_stratum(run, s);
	gpucol_check(cudaStreamSynchronize(run.memory.stream));
	run.progress.bytes = run.memory.held;
	run.progress.peak_bytes = run.memory.peak;
}

/* Run `body`, turning failures into a status; the first failure stays. */
template <class Body>
GpucolStatus
guarded(GpucolRecRun *run, Body body)
{
	if (run->device.status != GPUCOL_OK)
		return run->device.status;
	try
	{
		if (!run->device.ran)
		{
			run->device.ran = true;
			run_all(run->device);
		}
		return body();
	}
	catch (const GpucolFailure &failure)
	{
		return run->device.status = failure.status;
	}
	catch (const std::bad_alloc &)
	{
		return run->device.status = GPUCOL_OUT_OF_MEMORY;
	}
}

/* All rows of a relation, as runs in the declared order. */
GpucolRuns
all_runs(GpucolDeviceRun &run, uint32_t relation)
{
	return run.runs(relation, run.declared(relation), GPUCOL_REC_FULL);
}

/* ---- the engine table ---- */

GpucolStatus
device_start(const GpucolRecPlan *plan, const GpucolRecOptions *options,
			 GpucolRecRun **out)
{
	if (!gpucol_rules_supported(plan))
		return GPUCOL_UNSUPPORTED;
	auto	   *run = new (std::nothrow) GpucolRecRun;

	if (run == nullptr)
		return GPUCOL_OUT_OF_MEMORY;
	run->device.plan = plan;
	run->device.options = *options;
	run->device.memory.limit = options->memory_limit;
	run->device.progress.threads = 1;
	try
	{
		GpucolDeviceMemory::keep_pool();
		gpucol_check(cudaStreamCreateWithFlags(&run->device.memory.stream,
											   cudaStreamNonBlocking));
		gpucol_check(run->device.cancel.watch(options->cancelled, options->context));
		run->device.loaded.resize(plan->nrelations);
		run->device.loaded_nulls.resize(plan->nrelations);
		run->device.relations.resize(plan->nrelations);
		run->device.shapes.resize(plan->nrelations);
	}
	catch (const GpucolFailure &failure)
	{
		delete run;
		return failure.status;
	}
	*out = run;
	return GPUCOL_OK;
}

GpucolStatus
device_load(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
			const int64_t *const *columns, const uint8_t *const *nulls)
{
	int			arity = run->device.plan->relations[relation].arity;
	auto	   &to = run->device.loaded[relation];

	auto	   &to_nulls = run->device.loaded_nulls[relation];

	to.resize(arity);
	to_nulls.resize(arity);
	for (int c = 0; c < arity; c++)
	{
		if (nulls && nulls[c] && memchr(nulls[c], 1, nrows))
			run->device.has_null = true;
		if (run->device.has_null)
		{
			to_nulls[c].resize(to[c].size());
			if (nulls && nulls[c])
				to_nulls[c].insert(to_nulls[c].end(), nulls[c], nulls[c] + nrows);
			else
				to_nulls[c].resize(to[c].size() + nrows);
		}
		to[c].insert(to[c].end(), columns[c], columns[c] + nrows);
	}
	return GPUCOL_OK;
}

/* The next piece of keys to read, as [*from, *from + *n) of *keys. */
bool
next_keys(GpucolRecRun *run, uint32_t relation, const GpucolKeys **keys,
		  size_t *from, size_t *n)
{
	auto	   &reader = run->readers[relation];
	GpucolShape *shape = run->device.shapes[relation].get();

	if (!reader.started)
	{
		reader.started = true;
		if (!shape)
			reader.runs = all_runs(run->device, relation);
	}
	if (shape)
	{
		while (reader.at >= reader.keys.size())
		{
			reader.at = 0;
			if (!shape->next(reader.keys))
				return false;
		}
		*keys = &reader.keys;
	}
	else
	{
		while (reader.run < reader.runs.size() &&
			   reader.at >= reader.runs[reader.run]->size())
		{
			reader.run++;
			reader.at = 0;
		}
		if (reader.run == reader.runs.size())
			return false;
		*keys = &reader.runs[reader.run]->keys();
	}
	*from = reader.at;
	*n = std::min(BATCH, (*keys)->size() - reader.at);
	reader.at += *n;
	return true;
}

GpucolStatus
device_next(GpucolRecRun *run, uint32_t relation, GpucolRecBatch *out)
{
	return guarded(run, [&] {
		const GpucolKeys *keys;
		size_t		from,
					n;
		GpucolKeyOrder order = run->device.declared(relation);

		if (!next_keys(run, relation, &keys, &from, &n))
			return GPUCOL_END;
		run->keys.resize(n);
		gpucol_check(cudaMemcpyAsync(run->keys.data(), keys->data() + from,
									 n * sizeof(uint64_t), cudaMemcpyDeviceToHost,
									 run->device.memory.stream));
		gpucol_check(cudaStreamSynchronize(run->device.memory.stream));
		run->columns.resize(order.arity);
		run->null_columns.resize(order.arity);
		run->nulls.assign(order.arity, nullptr);
		run->pointers.resize(order.arity);
		for (int c = 0; c < order.arity; c++)
		{
			run->columns[c].resize(n);
			for (size_t i = 0; i < n; i++)
				run->columns[c][i] = run->device.values[order.code(run->keys[i], c)];
			if (run->device.has_null)
			{
				run->null_columns[c].resize(n);
				for (size_t i = 0; i < n; i++)
					run->null_columns[c][i] = order.code(run->keys[i], c) == 0;
				run->nulls[c] = run->null_columns[c].data();
			}
			run->pointers[c] = run->columns[c].data();
		}
		out->nrows = (uint32_t) n;
		out->columns = run->pointers.data();
		out->nulls = run->nulls.data();
		return GPUCOL_OK;
	});
}

GpucolStatus
device_summarise(GpucolRecRun *run, uint32_t relation, const bool *,
				 uint64_t *nrows, GpucolRecSummary *columns)
{
	return guarded(run, [&] {
		GpucolShape *shape = run->device.shapes[relation].get();

		for (int c = 0; c < run->device.plan->relations[relation].arity; c++)
			columns[c] = GpucolRecSummary{};
		if (shape)
		{
			*nrows = shape->summarise(columns);
			return GPUCOL_OK;
		}
		GpucolRuns	runs = all_runs(run->device, relation);

		*nrows = gpucol_hisa_count(runs);
		for (auto &r : runs)
			gpucol_rules_summarise(run->device, r->keys(),
								   run->device.declared(relation), columns);
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

	cudaStreamSynchronize(stream);
	delete run;
	cudaStreamSynchronize(stream);
	cudaStreamDestroy(stream);
	GpucolDeviceMemory::trim_pool();
}

}								/* namespace */

const GpucolRecursiveEngine gpucol_recursive_device = {
	"cuda", device_start, device_load, device_next, device_summarise,
	device_progress, device_finish
};
