/*-------------------------------------------------------------------------
 *
 * recursive.cu
 *	  The device engine for recursion plans: loading, strata, rounds, results.
 *
 * A round runs every recursive rule over the last delta, sorts and
 * deduplicates what each relation got, subtracts FULL, and makes the rest the
 * next delta; the old delta joins the levels of FULL.  A run advances a round at a
 * time, driven by its reader, so that a recursion that would never end can be read as
 * far as its reader likes.
 *
 *-------------------------------------------------------------------------
 */
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>

#include "recursive_engine.h"
#include "relations.cuh"
#include "small_rounds.cuh"

namespace
{

/* Rows handed out by one call of next. */
constexpr size_t BATCH = 65536;

/*
 * Rounds after which a recursion that may go elsewhere does, if they were smaller than
 * this: where a round brings 100 rows, the device needs 13 to 21 us and a thread of the
 * CPU engine 3 to 15; where it brings 300, 23 to 38 and 9 to 73 (rounds_bench on a host of
 * H200).
 */
constexpr int64_t THIN_ROUNDS = 256;
constexpr uint64_t THIN_DELTA = 256;

/* Methods. */
constexpr const char *HISA = "HISA";
constexpr const char *HISA_SMALL = "HISA in small rounds";

/* Rows that were loaded into a relation. */
struct Loaded
{
	size_t		n = 0;
	std::vector<std::vector<int64_t>> columns;
	std::vector<std::vector<uint8_t>> nulls;	/* empty: none */
};

/* What a batch of next points to. */
struct Batch
{
	std::vector<std::vector<int64_t>> columns;
	std::vector<std::vector<uint8_t>> nulls;
	std::vector<const int64_t *> column_pointers;
	std::vector<const uint8_t *> null_pointers;
};

/* Is a relation derived in a stratum? */
bool
derived_in(const GpucolRecPlan *plan, uint32_t relation, uint32_t stratum)
{
	return plan->relations[relation].stratum == stratum &&
		(plan->relations[relation].flags & GPUCOL_REC_DERIVED);
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

/* A plan being run, whatever its keys are. */
class Fixpoint
{
public:
	virtual ~Fixpoint() = default;
	virtual void load(uint32_t relation, const Loaded &rows) = 0;
	virtual GpucolStatus next(uint32_t relation, Batch &batch, GpucolRecBatch *out) = 0;
	virtual void summarise(uint32_t relation, uint64_t *nrows,
						   GpucolRecSummary *columns) = 0;
};

template <class K>
class FixpointOf : public Fixpoint, private GpucolPairSource
{
public:
	explicit FixpointOf(GpucolDeviceRun &run)
		: run_(run), plan_(*run.plan), relations_(run), shapes_(plan_.nrelations) {}

	/* Loaded rows of a relation: rows of its first round. */
	void
	load(uint32_t relation, const Loaded &rows) override
	{
		const GpucolKeyOrder &order = relations_[relation].order();
		std::vector<K> keys(rows.n, K{});

		for (int place = 0; place < order.arity; place++)
			for (size_t at = 0; at < rows.n; at += ROWS_A_LOOK)
			{
				run_.check_cancel();
				pack(rows, order, place, at, std::min(rows.n, at + ROWS_A_LOOK), keys);
			}
		GpucolArray<K> device(run_.memory, rows.n);

		gpucol_check(cudaMemcpyAsync(device.data(), keys.data(), rows.n * sizeof(K),
									 cudaMemcpyHostToDevice, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		relations_[relation].add(std::move(device));
		if (plan_.relations[relation].flags & GPUCOL_REC_DERIVED)
			return;
		/* whole from the start: to the delta, and on */
		relations_[relation].commit();
		relations_[relation].commit();
	}

	GpucolStatus
	next(uint32_t relation, Batch &batch, GpucolRecBatch *out) override
	{
		Reader	   &reader = readers_[relation];

		if (!reader.started)
			start_reading(relation, reader);
		for (;;)
		{
			if (next_of_runs(relation, reader, batch, out) ||
				(shapes_[relation] && next_of_shape(relation, reader, batch, out)))
				return GPUCOL_OK;
			if (done_)
				return GPUCOL_END;
			advance();
		}
	}

	void
	summarise(uint32_t relation, uint64_t *nrows, GpucolRecSummary *columns) override
	{
		const GpucolKeyOrder order = relations_[relation].order();
		auto		add = [&](const GpucolRunPtr<K> &run) {
			*nrows += run->size();
			gpucol_hisa_pieces(run_.memory, run, [&](const GpucolRunPtr<K> &piece) {
				run_.check_cancel();
				gpucol_relations_summarise(run_, piece, order, columns);
			});
		};

		*nrows = 0;
		for (int c = 0; c < order.arity; c++)
			columns[c] = GpucolRecSummary{};
		/* what keeps only its delta is added up round by round */
		bool		bag = (plan_.relations[relation].flags & GPUCOL_REC_BAG) != 0;

		if (bag)
			for (auto &run : relations_[relation].read(add))
				add(run);
		while (!done_)
			advance();
		if (shapes_[relation])
			*nrows = shapes_[relation]->summarise(columns);
		else if (!bag)
			for (auto &run : relations_[relation].read(nullptr))
				add(run);
	}

private:
	/* Loaded rows between two looks for a cancel. */
	static constexpr size_t ROWS_A_LOOK = (size_t) 1 << 22;

	/* Where the reader of a relation is. */
	struct Reader
	{
		bool		started = false;
		std::deque<GpucolRunPtr<K>> runs;	/* to be read */
		size_t		at = 0;		/* row of the first */
		GpucolArray<uint64_t> pairs;	/* of a shape */
		size_t		pair_at = 0;
		std::vector<K> keys;
		std::vector<uint64_t> pair_keys;
	};

	void
	pack(const Loaded &rows, const GpucolKeyOrder &order, int place, size_t from,
		 size_t to, std::vector<K> &keys)
	{
		const auto &column = rows.columns[order.columns[place]];
		const auto &nulls = rows.nulls[order.columns[place]];

		for (size_t i = from; i < to; i++)
			key_put(keys[i], order, place, !nulls.empty() && nulls[i] ?
					run_.codes.null_code() : run_.codes.code(column[i]));
	}

	/* All rows of a binary relation, for a shape. */
	GpucolArray<uint64_t>
	pairs(uint32_t relation, int from) override
	{
		GpucolKeyOrder order = relations_[relation].order();

		order.columns[0] = (uint8_t) from;
		order.columns[1] = (uint8_t) (1 - from);
		return gpucol_hisa_pairs(run_.memory, relations_[relation].runs(order, GPUCOL_REC_FULL),
								 order);
	}

	/* ---- strata and rounds ---- */

	void
	run_rules(bool recursive)
	{
		for (uint32_t i = 0; i < plan_.nrules; i++)
			if (plan_.rules[i].stratum == stratum_ &&
				((plan_.rules[i].flags & GPUCOL_REC_RECURSIVE) != 0) == recursive)
				gpucol_rules_run(run_, relations_, i);
	}

	/* Commit every relation of the stratum. */
	void
	commit()
	{
		delta_ = 0;
		for (uint32_t i = 0; i < plan_.nrelations; i++)
			if (derived_in(&plan_, i, stratum_))
				delta_ += relations_[i].commit();
		run_.progress.delta = delta_;
		run_.progress.full += delta_;
	}

	void
	begin_stratum()
	{
		uint32_t	relation;

		in_stratum_ = true;
		rounds_ = 0;
		derived_ = 0;
		run_.progress.stratum = stratum_;
		run_.progress.method = HISA;
		run_rules(false);
		commit();
		if (!recursive_stratum(&plan_, stratum_))
			delta_ = 0;
		if (delta_ == 0)
			return;
		if (auto shape = gpucol_shapes_start(run_, *this, stratum_, &relation))
		{
			/* the shape's rows include those that there were */
			shapes_[relation] = std::move(shape);
			readers_[relation].runs.clear();
			delta_ = 0;
			return;
		}
		small_.reset(new GpucolSmallRounds<K>(run_, relations_, stratum_));
		small_->note(delta_);
	}

	void
	end_stratum()
	{
		for (uint32_t i = 0; i < plan_.nrelations; i++)
			if (derived_in(&plan_, i, stratum_))
				relations_[i].compact();
		in_stratum_ = false;
		stratum_++;
		done_ = stratum_ >= plan_.nstrata;
	}

	/* Rounds without the host, if they are wanted and can be. */
	bool
	small_rounds()
	{
		int64_t		most = run_.options.max_rounds;
		GpucolRoundsDone done = {};

		/* not past the round after which it may be left to another engine */
		if (run_.options.device_rows && rounds_ < THIN_ROUNDS && (!most || most > THIN_ROUNDS))
			most = THIN_ROUNDS;
		if (small_->wanted(delta_))
			done = small_->run(most ? (uint64_t) (most - rounds_) : 0, delta_);
		if (done.rounds == 0)
			return false;
		rounds_ += (int64_t) done.rounds;
		derived_ += done.derived;
		delta_ = done.delta;
		run_.progress.full += done.derived;
		run_.progress.small_rounds += done.rounds;
		if (strcmp(run_.progress.method, HISA) == 0)
			run_.progress.method = HISA_SMALL;
		run_.note_rounds(done.rounds, delta_);
		return true;
	}

	/* A round in the usual way. */
	void
	round()
	{
		rounds_++;
		run_rules(true);
		commit();
		derived_ += delta_;
		run_.note_rounds(1, delta_);
		small_->note(delta_);
	}

	/* One step forward: the start of a stratum, a round or some, or its end. */
	void
	advance()
	{
		run_.check_cancel();
		if (!in_stratum_)
			begin_stratum();
		else if (delta_ == 0)
			end_stratum();
		else
		{
			if (run_.options.max_rounds && rounds_ >= run_.options.max_rounds)
				throw GpucolFailure{GPUCOL_ROUNDS_EXCEEDED};
			if (!small_rounds())
				round();
			check_profit();
		}
		run_.note_memory();
	}

	/* Leave a recursion of many small rounds to who is better at it. */
	void
	check_profit()
	{
		if (run_.options.device_rows && !delivered_ && delta_ > 0 &&
			rounds_ >= THIN_ROUNDS && derived_ < (uint64_t) rounds_ * THIN_DELTA)
			throw GpucolFailure{GPUCOL_UNPROFITABLE};
	}

	/* ---- reading ---- */

	/*
	 * Rows of the only stratum are read as they are found, unless later ones may
	 * supersede them.
	 */
	void
	start_reading(uint32_t relation, Reader &reader)
	{
		bool		streams = plan_.nstrata == 1 &&
			plan_.relations[relation].merge == GPUCOL_REC_MERGE_NONE;

		/* who reads round by round could not change the engine any more: see first */
		if (streams && run_.options.device_rows && computes(&plan_))
			throw GpucolFailure{GPUCOL_UNPROFITABLE};
		reader.started = true;
		while (!done_ && (!streams || (run_.options.device_rows && rounds_ < THIN_ROUNDS)))
			advance();
		if (shapes_[relation])
			return;
		for (auto &run : relations_[relation].read([&reader](const GpucolRunPtr<K> &run) {
				reader.runs.push_back(run);
			}))
			reader.runs.push_back(run);
	}

	bool
	next_of_runs(uint32_t relation, Reader &reader, Batch &batch, GpucolRecBatch *out)
	{
		while (!reader.runs.empty() && reader.at == reader.runs.front()->size())
		{
			reader.runs.pop_front();
			reader.at = 0;
		}
		if (reader.runs.empty())
			return false;
		size_t		n = std::min(BATCH, reader.runs.front()->size() - reader.at);

		reader.keys.resize(n);
		reader.runs.front()->read(run_.memory, reader.at, n, reader.keys.data());
		reader.at += n;
		delivered_ = true;
		decode(reader.keys, relations_[relation].order(), batch, out);
		return true;
	}

	bool
	next_of_shape(uint32_t relation, Reader &reader, Batch &batch, GpucolRecBatch *out)
	{
		while (reader.pair_at == reader.pairs.size())
		{
			if (!shapes_[relation]->next(reader.pairs))
				return false;
			reader.pair_at = 0;
		}
		size_t		n = std::min(BATCH, reader.pairs.size() - reader.pair_at);

		reader.pair_keys.resize(n);
		gpucol_check(cudaMemcpyAsync(reader.pair_keys.data(),
									 reader.pairs.data() + reader.pair_at,
									 n * sizeof(uint64_t), cudaMemcpyDeviceToHost,
									 run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		reader.pair_at += n;
		decode(reader.pair_keys, relations_[relation].order(), batch, out);
		return true;
	}

	/* Keys to values. */
	template <class Key>
	void
	decode(const std::vector<Key> &keys, const GpucolKeyOrder &order, Batch &batch,
		   GpucolRecBatch *out)
	{
		const std::vector<int64_t> &values = run_.codes.host();
		size_t		n = keys.size();

		batch.columns.resize(order.arity);
		batch.nulls.resize(order.arity);
		batch.column_pointers.resize(order.arity);
		batch.null_pointers.assign(order.arity, nullptr);
		for (int place = 0; place < order.arity; place++)
		{
			int			c = order.columns[place];

			batch.columns[c].resize(n);
			for (size_t i = 0; i < n; i++)
				batch.columns[c][i] = values[key_code(keys[i], order, place)];
			batch.column_pointers[c] = batch.columns[c].data();
			if (!run_.codes.has_null())
				continue;
			batch.nulls[c].resize(n);
			for (size_t i = 0; i < n; i++)
				batch.nulls[c][i] = key_code(keys[i], order, place) == 0;
			batch.null_pointers[c] = batch.nulls[c].data();
		}
		out->nrows = (uint32_t) n;
		out->columns = batch.column_pointers.data();
		out->nulls = batch.null_pointers.data();
	}

	GpucolDeviceRun &run_;
	const GpucolRecPlan &plan_;
	GpucolRelations<K> relations_;
	std::vector<std::unique_ptr<GpucolShape>> shapes_;	/* by relation, or null */
	std::map<uint32_t, Reader> readers_;
	uint32_t	stratum_ = 0;
	bool		in_stratum_ = false;
	std::unique_ptr<GpucolSmallRounds<K>> small_;	/* of the stratum */
	bool		done_ = false;
	int64_t		rounds_ = 0;	/* of the stratum */
	uint64_t	delta_ = 0;		/* 0: the stratum is over */
	uint64_t	derived_ = 0;	/* in them */
	bool		delivered_ = false; /* rows: no other engine can begin anew */
};

}								/* namespace */

/* A run, from its start on. */
struct GpucolRecRun
{
	GpucolDeviceRun device;
	std::vector<Loaded> loaded; /* until the first question */
	bool		has_null = false;
	std::unique_ptr<Fixpoint> fixpoint; /* from then on */
	Batch		batch;
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

/* Number all values that were loaded or stand in the plan. */
void
number_values(GpucolRecRun *run)
{
	const GpucolRecPlan *plan = run->device.plan;
	std::vector<int64_t> constants;

	for (uint32_t i = 0; i < plan->nconstants; i++)
	{
		run->has_null |= plan->constants[i].isnull;
		if (!plan->constants[i].isnull)
			constants.push_back(plan->constants[i].value);
	}
	run->device.codes.number(run->device.memory, run->has_null, computes(plan),
							 [&](const GpucolCodes::Visit &visit) {
		constexpr size_t PIECE = (size_t) 1 << 22;

		for (const Loaded &rows : run->loaded)
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

/* A fixpoint over keys that the widest relation fits, made from K on. */
template <class K, class... Wider>
std::unique_ptr<Fixpoint>
make_fixpoint(GpucolDeviceRun &run)
{
	int			arity = 0;

	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		arity = std::max<int>(arity, run.plan->relations[i].arity);
	if (gpucol_key_fits<K>(arity, run.codes.bits()))
		return std::unique_ptr<Fixpoint>(new FixpointOf<K>(run));
	if constexpr (sizeof...(Wider) > 0)
		return make_fixpoint<Wider...>(run);
	throw GpucolFailure{GPUCOL_UNSUPPORTED};
}

/* From loaded rows to a fixpoint that has them. */
void
begin(GpucolRecRun *run)
{
	number_values(run);
	run->fixpoint = make_fixpoint<uint32_t, uint64_t, GpucolKey128,
		GpucolKey256, GpucolKey1024>(run->device);
	for (uint32_t i = 0; i < run->loaded.size(); i++)
	{
		run->fixpoint->load(i, run->loaded[i]);
		run->loaded[i] = Loaded();
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
	run->device.counts_matter = counts_matter(plan);
	run->device.progress.threads = 1;
	divide_memory(options, &run->device.memory);
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
		if (run->device.memory.stream)
			cudaStreamDestroy(run->device.memory.stream);
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
	Loaded	   &to = run->loaded[relation];

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
