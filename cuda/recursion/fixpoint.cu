/*-------------------------------------------------------------------------
 *
 * fixpoint.cu
 *	  Rows into a plan that runs on the device, and out of it.
 *
 * Loaded rows become keys of codes, keys that are read become values.  The run
 * advances only as its reader asks for more (fixpoint_rounds.cuh), so that a recursion
 * that would never end can be read as far as its reader likes.
 *
 *-------------------------------------------------------------------------
 */
#include <deque>
#include <map>

#include "cuda/recursion/fixpoint.cuh"
#include "cuda/recursion/fixpoint_rounds.cuh"

namespace
{

/* Rows handed out by one call of next. */
constexpr size_t BATCH = 65536;

template <class K>
class FixpointOf : public GpucolFixpoint
{
public:
	explicit FixpointOf(GpucolDeviceRun &run)
		: run_(run), plan_(*run.plan), rounds_(run) {}

	void
	load(uint32_t relation, const GpucolLoadedRows &rows) override
	{
		const GpucolKeyOrder order = rounds_[relation].order();
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
		rounds_[relation].add(std::move(device));
		if (plan_.relations[relation].flags & GPUCOL_REC_DERIVED)
			return;
		/* whole from the start: to the delta, and on */
		rounds_[relation].commit();
		rounds_[relation].commit();
	}

	GpucolStatus
	next(uint32_t relation, GpucolReadRows &batch, GpucolRecBatch *out) override
	{
		Reader	   &reader = readers_[relation];

		if (!reader.started)
			start_reading(relation, reader);
		for (;;)
		{
			/* its rows include those that there were */
			if (rounds_.special(relation))
				reader.runs.clear();
			if (next_of_runs(relation, reader, batch, out) ||
				(rounds_.special(relation) && next_of_special(relation, reader, batch, out)))
				return GPUCOL_OK;
			if (rounds_.done())
				return GPUCOL_END;
			rounds_.advance();
		}
	}

	void
	summarise(uint32_t relation, uint64_t *nrows, GpucolRecSummary *columns) override
	{
		const GpucolKeyOrder order = rounds_[relation].order();
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
			for (auto &run : rounds_[relation].read(add))
				add(run);
		while (!rounds_.done())
			rounds_.advance();
		if (rounds_.special(relation))
			*nrows = rounds_.special(relation)->summarise(columns);
		else if (!bag)
			for (auto &run : rounds_[relation].read(nullptr))
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
		GpucolArray<uint64_t> pairs;	/* of a special stratum */
		size_t		pair_at = 0;
		std::vector<K> keys;
		std::vector<uint64_t> pair_keys;
	};

	void
	pack(const GpucolLoadedRows &rows, const GpucolKeyOrder &order, int place, size_t from,
		 size_t to, std::vector<K> &keys)
	{
		const auto &column = rows.columns[order.columns[place]];
		const auto &nulls = rows.nulls[order.columns[place]];

		for (size_t i = from; i < to; i++)
			key_put(keys[i], order, place, !nulls.empty() && nulls[i] ?
					run_.codes.null_code() : run_.codes.code(column[i]));
	}

	/*
	 * Rows of the only stratum are read as they are found, unless later ones may
	 * supersede them.
	 */
	void
	start_reading(uint32_t relation, Reader &reader)
	{
		bool		streams = plan_.nstrata == 1 &&
			plan_.relations[relation].merge == GPUCOL_REC_MERGE_NONE;

		reader.started = true;
		while (!rounds_.done() && !streams)
			rounds_.advance();
		if (rounds_.special(relation))
			return;
		for (auto &run : rounds_[relation].read([&reader](const GpucolRunPtr<K> &run) {
				reader.runs.push_back(run);
			}))
			reader.runs.push_back(run);
	}

	bool
	next_of_runs(uint32_t relation, Reader &reader, GpucolReadRows &batch, GpucolRecBatch *out)
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
		rounds_.stay();
		decode(reader.keys, rounds_[relation].order(), batch, out);
		return true;
	}

	bool
	next_of_special(uint32_t relation, Reader &reader, GpucolReadRows &batch, GpucolRecBatch *out)
	{
		while (reader.pair_at == reader.pairs.size())
		{
			if (!rounds_.special(relation)->next(reader.pairs))
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
		decode(reader.pair_keys, rounds_[relation].order(), batch, out);
		return true;
	}

	/* Keys to values. */
	template <class Key>
	void
	decode(const std::vector<Key> &keys, const GpucolKeyOrder &order, GpucolReadRows &batch,
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
	GpucolFixpointRounds<K> rounds_;
	std::map<uint32_t, Reader> readers_;
};

/* A fixpoint over keys that the widest relation fits, made from K on. */
template <class K, class... Wider>
std::unique_ptr<GpucolFixpoint>
make_fixpoint(GpucolDeviceRun &run)
{
	int			arity = 0;

	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		arity = std::max<int>(arity, run.plan->relations[i].arity);
	if (gpucol_key_fits<K>(arity, run.codes.bits()))
		return std::unique_ptr<GpucolFixpoint>(new FixpointOf<K>(run));
	if constexpr (sizeof...(Wider) > 0)
		return make_fixpoint<Wider...>(run);
	throw GpucolFailure{GPUCOL_UNSUPPORTED};
}

}								/* namespace */

std::unique_ptr<GpucolFixpoint>
gpucol_fixpoint_make(GpucolDeviceRun &run)
{
	return make_fixpoint<uint32_t, uint64_t, GpucolKey128, GpucolKey256, GpucolKey1024>(run);
}
