/*-------------------------------------------------------------------------
 *
 * relations.cu
 *	  Relations of a recursion plan on the device.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_scan.cuh>

#include "kernel/recursion_values.h"
#include "cuda/base/launch.cuh"
#include "cuda/recursion/relation.cuh"
#include "cuda/recursion/relations.cuh"

namespace
{

/* Bytes of added rows that are kept before they are settled, at most. */
constexpr size_t FRESH_BYTES = (size_t) 1 << 31;

/*
 * Shares of the device's budget: above HIGH runs go to the host, down to LOW, first
 * those larger than LARGE and, if that leaves more than CROWDED, than SMALL.  (Runs in
 * host memory are not merged, so they had better be few.)
 */
constexpr double HIGH = 1.0 / 2;
constexpr double LOW = 1.0 / 4;
constexpr double LARGE = 1.0 / 16;
constexpr double CROWDED = 3.0 / 4;
constexpr double SMALL = 1.0 / 256;

/* 1 where a key has another prefix than the one before. */
template <class K>
__global__ void
group_kernel(const K *keys, size_t n, K mask, uint32_t *first)
{
	GPUCOL_FOR_EACH(i, n)
		first[i] = i == 0 || (keys[i - 1] & mask) != (keys[i] & mask);
}

/* groups[i] = 1 + the group of key i. */
template <class K>
__global__ void
best_kernel(const K *keys, size_t n, const uint32_t *groups, GpucolKeyOrder order,
			GpucolBest by, unsigned long long *best)
{
	GPUCOL_FOR_EACH(i, n)
		atomicMin(best + groups[i] - 1, (unsigned long long) by.rank(keys[i], order));
}

template <class K>
__global__ void
is_best_kernel(const K *keys, size_t n, const uint32_t *groups, GpucolKeyOrder order,
			   GpucolBest by, const unsigned long long *best, uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
		keep[i] = by.rank(keys[i], order) == best[groups[i] - 1];
}

/* Clear the flags of keys whose group has one as good in the run. */
template <class K>
__global__ void
worse_kernel(const K *keys, size_t n, GpucolRunView<K> run, GpucolKeyOrder order,
			 GpucolBest by, uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start = 0,
					count = keep[i] ? run_find(run, keys[i] & run.mask, &start) : 0,
					rank = count ? by.rank(keys[i], order) : 0;

		for (uint64_t r = start; r < start + count; r++)
			if (by.rank(run.keys[r], order) <= rank)
				keep[i] = 0;
	}
}

/* Per block: count, sum, min, max of the values at one place of the keys. */
template <class K>
__global__ void
summarise_kernel(const K *keys, size_t n, GpucolKeyOrder order, int place,
				 const int64_t *values, uint32_t null_code, GpucolRowSummary *out)
{
	__shared__ GpucolRowSummary warps[GPUCOL_THREADS / 32];
	GpucolRowSummary own = summary_empty();

	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	code = key_code(keys[i], order, place);

		if (code != null_code)
			summary_add(own, __ldg(values + code));
	}
	summary_reduce(own);
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = own;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		for (int w = 1; w < (int) blockDim.x / 32; w++)
		{
			own.count += warps[w].count;
			own.sum += warps[w].sum;
			own.min = min(own.min, warps[w].min);
			own.max = max(own.max, warps[w].max);
		}
		out[blockIdx.x] = own;
	}
}

GpucolKeyOrder
declared_order(const GpucolRecRelation &r, int bits)
{
	GpucolKeyOrder order = {};
	int			at = 0;

	order.arity = r.arity;
	order.bits = bits;
	for (int i = 0; i < r.arity; i++)
		if (r.merge == GPUCOL_REC_MERGE_NONE || i != r.merge_column)
			order.columns[at++] = (uint8_t) i;
	if (at < r.arity)
		order.columns[at] = (uint8_t) r.merge_column;
	return order;
}

}								/* namespace */

template <class K>
GpucolRelation<K>::GpucolRelation(GpucolRelations<K> &all, GpucolDeviceRun &run,
								  uint32_t number)
	: all_(all), run_(run), number_(number)
{
	indexes_.push_back({declared_order(declaration(), run.codes.bits()), {}, {}, true});
}

template <class K>
bool
GpucolRelation<K>::forgets() const
{
	return (declaration().flags & GPUCOL_REC_BAG) &&
		(declaration().flags & GPUCOL_REC_DERIVED);
}

template <class K>
bool
GpucolRelation<K>::keeps_duplicates() const
{
	return (declaration().flags & GPUCOL_REC_BAG) &&
		(run_.counts_matter ||
		 (declaration().flags & (GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT)));
}

/* ---- settling ---- */

template <class K>
void
GpucolRelation<K>::add(GpucolArray<K> &&keys)
{
	if (keys.size() == 0)
		return;
	nfresh_ += keys.size();
	fresh_.push_back(std::move(keys));
	if (nfresh_ < run_.memory.piece(4 * sizeof(K), FRESH_BYTES / sizeof(K)))
		return;
	settle();
	all_.relieve();
}

/* All added rows as one array. */
template <class K>
GpucolArray<K>
GpucolRelation<K>::concatenate()
{
	GpucolArray<K> all;
	size_t		at = 0;

	if (fresh_.size() == 1)
		all = std::move(fresh_[0]);
	else
	{
		all = GpucolArray<K>(run_.memory, nfresh_);
		for (auto &piece : fresh_)
		{
			gpucol_check(cudaMemcpyAsync(all.data() + at, piece.data(),
										 piece.size() * sizeof(K),
										 cudaMemcpyDeviceToDevice, run_.memory.stream));
			at += piece.size();
		}
	}
	fresh_.clear();
	nfresh_ = 0;
	return all;
}

template <class K>
void
GpucolRelation<K>::settle()
{
	int			bits = order().arity * order().bits;

	if (fresh_.empty())
		return;
	GpucolArray<K> keys = concatenate();

	if (keeps_duplicates())
		gpucol_hisa_sort(run_.memory, keys, bits);
	else
	{
		gpucol_hisa_unique(run_.memory, keys, bits);
		if (merges())
		{
			keep_best(keys);
			drop_worse(keys);
		}
		else
			drop_known(keys);
	}
	if (keys.size() == 0)
		return;
	auto		run = std::make_shared<GpucolRun<K>>(std::move(keys));

	if (forgets())
		settled_.push_back(run);
	else
		gpucol_hisa_add(run_.memory, settled_, run);
}

/*
 * Drop sorted keys that mark(run, keep) clears the flag of, for any run on the device
 * that holds rows of the relation; it only wants rows that agree with one of the keys on
 * all columns (all but the last, where rows are merged).  Keys that a rule has emitted
 * shortly one after another are often neighbours, so that of a long run in host memory
 * a small part matters.
 */
template <class K>
template <class Mark>
void
GpucolRelation<K>::drop_marked(GpucolArray<K> &keys, Mark mark)
{
	const GpucolIndex<K> &index = indexes_[0];

	if (keys.size() == 0 ||
		index.previous.size() + index.delta.size() + settled_.size() == 0)
		return;
	GpucolArray<uint8_t> keep(run_.memory, keys.size());
	K			mask = key_mask<K>(order(), order().arity - merges()),
				low = {},
				high = {};
	bool		known = false;	/* low and high */

	gpucol_check(cudaMemsetAsync(keep.data(), 1, keys.size(), run_.memory.stream));
	for (auto *runs : {&index.previous, &index.delta, (const GpucolRuns<K> *) &settled_})
		for (auto &run : *runs)
		{
			if (!run->on_device() && !known)
			{
				low = keys.at(0) & mask;
				high = keys.at(keys.size() - 1) | ~mask;
				known = true;
			}
			gpucol_hisa_pieces_between(run_.memory, run, low, high,
									   [&](const GpucolRunPtr<K> &piece) {
				run_.check_cancel();
				mark(*piece, keep);
			});
		}
	gpucol_hisa_keep(run_.memory, keys, keep);
}

/* Drop keys that the relation holds. */
template <class K>
void
GpucolRelation<K>::drop_known(GpucolArray<K> &keys)
{
	drop_marked(keys, [&](const GpucolRun<K> &run, GpucolArray<uint8_t> &keep) {
		gpucol_hisa_mark_known(run_.memory, keys, run, keep);
	});
}

/* Drop keys that are not better than what the relation holds. */
template <class K>
void
GpucolRelation<K>::drop_worse(GpucolArray<K> &keys)
{
	GpucolBest	by = best();

	drop_marked(keys, [&](GpucolRun<K> &run, GpucolArray<uint8_t> &keep) {
		worse_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0,
			run_.memory.stream>>>
			(keys.data(), keys.size(),
			 run.view(run_.memory, order(), order().arity - 1, keys.size()), order(), by,
			 keep.data());
		gpucol_check(cudaGetLastError());
	});
}

template <class K>
GpucolBest
GpucolRelation<K>::best() const
{
	const GpucolRecRelation &r = declaration();

	return {run_.codes.device(), (GpucolRecType) run_.plan->types[r.types + r.merge_column],
		r.merge == GPUCOL_REC_MERGE_MAX};
}

/* Keep the best of the keys that agree on all columns but the last. */
template <class K>
void
GpucolRelation<K>::keep_best(GpucolArray<K> &keys)
{
	size_t		n = keys.size();
	unsigned	grid = gpucol_launch_grid(n);
	cudaStream_t stream = run_.memory.stream;
	GpucolBest	by = best();

	if (n < 2)
		return;
	if (n > UINT32_MAX)
		throw GpucolFailure{GPUCOL_UNSUPPORTED};	/* groups are numbered so */
	GpucolArray<uint32_t> groups(run_.memory, n);
	GpucolArray<uint8_t> keep(run_.memory, n);

	group_kernel<<<grid, GPUCOL_THREADS, 0, stream>>>
		(keys.data(), n, key_mask<K>(order(), order().arity - 1), groups.data());
	gpucol_check(cudaGetLastError());
	gpucol_with_scratch(run_.memory, [&](void *scratch, size_t &bytes) {
		return cub::DeviceScan::InclusiveSum(scratch, bytes, groups.data(), groups.data(),
											 (int64_t) n, stream);
	});
	size_t		ngroups = groups.at(n - 1);
	GpucolArray<unsigned long long> best(run_.memory, ngroups);

	gpucol_check(cudaMemsetAsync(best.data(), 0xff, ngroups * sizeof(unsigned long long),
								 stream));
	best_kernel<<<grid, GPUCOL_THREADS, 0, stream>>>
		(keys.data(), n, groups.data(), order(), by, best.data());
	is_best_kernel<<<grid, GPUCOL_THREADS, 0, stream>>>
		(keys.data(), n, groups.data(), order(), by, best.data(), keep.data());
	gpucol_check(cudaGetLastError());
	gpucol_hisa_keep(run_.memory, keys, keep);
}

/* ---- rounds ---- */

template <class K>
void
GpucolRelation<K>::make_delta(GpucolIndex<K> &index)
{
	if (index.has_delta)
		return;
	index.has_delta = true;
	reorder(indexes_[0].delta, index.order, index.delta);
}

/* Add the rows of runs in the declared order to those of another order. */
template <class K>
void
GpucolRelation<K>::reorder(const GpucolRuns<K> &from, const GpucolKeyOrder &to,
						   GpucolRuns<K> &runs)
{
	for (size_t i = 0; i < from.size(); i++)
		gpucol_hisa_pieces(run_.memory, from[i], [&](const GpucolRunPtr<K> &piece) {
			run_.check_cancel();
			gpucol_hisa_add(run_.memory, runs, std::make_shared<GpucolRun<K>>(
				gpucol_hisa_reorder(run_.memory, piece->keys(), order(), to)));
			all_.relieve();
		}, run_.memory.piece(4 * sizeof(K), SIZE_MAX));
}

template <class K>
uint64_t
GpucolRelation<K>::commit()
{
	settle();
	for (size_t i = indexes_.size(); i-- > 0;)
	{
		GpucolIndex<K> &index = indexes_[i];

		if (!forgets())
		{
			make_delta(index);
			for (auto &run : index.delta)
				gpucol_hisa_add(run_.memory, index.previous, run);
		}
		index.delta.clear();
		index.has_delta = i == 0;
	}
	indexes_[0].delta = std::move(settled_);
	settled_.clear();
	for (auto &run : indexes_[0].delta)
		show(run);
	all_.relieve();
	return gpucol_hisa_count(indexes_[0].delta);
}

/* Let the reader have new rows. */
template <class K>
void
GpucolRelation<K>::show(const GpucolRunPtr<K> &run)
{
	if (sink_)
		sink_(run);
	else if (forgets() && (declaration().flags & GPUCOL_REC_OUTPUT))
		kept_.push_back(run);
}

/* A copy of rows that are in the order of their rounds, for the reader. */
template <class K>
GpucolRunPtr<K>
GpucolRelation<K>::in_order(const GpucolArray<K> &keys)
{
	GpucolArray<K> copy(run_.memory, keys.size());

	gpucol_check(cudaMemcpyAsync(copy.data(), keys.data(), keys.size() * sizeof(K),
								 cudaMemcpyDeviceToDevice, run_.memory.stream));
	return std::make_shared<GpucolRun<K>>(std::move(copy));
}

template <class K>
void
GpucolRelation<K>::advance(GpucolArray<K> &&passed, GpucolArray<K> &&delta)
{
	auto		as_run = [&](GpucolArray<K> &keys) {
		gpucol_hisa_sort(run_.memory, keys, order().arity * order().bits);
		return std::make_shared<GpucolRun<K>>(std::move(keys));
	};

	if (passed.size() > 0)
	{
		if (forgets())
			show(std::make_shared<GpucolRun<K>>(std::move(passed)));
		else
		{
			if (sink_)
				show(in_order(passed));
			gpucol_hisa_add(run_.memory, indexes_[0].delta, as_run(passed));
		}
		for (size_t i = 1; i < indexes_.size(); i++)
		{
			indexes_[i].delta.clear();
			indexes_[i].has_delta = false;
		}
	}
	if (delta.size() > 0)
		settled_.push_back(as_run(delta));
	commit();
}

template <class K>
void
GpucolRelation<K>::compact()
{
	if (!merges())
		return;
	GpucolRuns<K> before = runs(order(), GPUCOL_REC_FULL);
	GpucolArray<K> keys(run_.memory, gpucol_hisa_count(before));
	size_t		at = 0;

	for (auto &run : before)
		gpucol_hisa_pieces(run_.memory, run, [&](const GpucolRunPtr<K> &piece) {
			gpucol_check(cudaMemcpyAsync(keys.data() + at, piece->keys().data(),
										 piece->size() * sizeof(K),
										 cudaMemcpyDeviceToDevice, run_.memory.stream));
			at += piece->size();
		});
	before.clear();
	indexes_.resize(1);
	indexes_[0].previous.clear();
	indexes_[0].delta.clear();
	gpucol_hisa_sort(run_.memory, keys, order().arity * order().bits);
	keep_best(keys);
	gpucol_hisa_add(run_.memory, indexes_[0].previous,
					std::make_shared<GpucolRun<K>>(std::move(keys)));
}

template <class K>
GpucolRuns<K>
GpucolRelation<K>::runs(const GpucolKeyOrder &order, GpucolRecVersion version)
{
	GpucolIndex<K> *index = nullptr;
	GpucolRuns<K> result;

	for (auto &i : indexes_)
		if (i.order.same(order))
			index = &i;
	if (index == nullptr)
	{
		indexes_.push_back({order, {}, {}, false});
		index = &indexes_.back();
		reorder(indexes_[0].previous, order, index->previous);
	}
	if (version != GPUCOL_REC_DELTA)
		result = index->previous;
	if (version != GPUCOL_REC_PREVIOUS)
	{
		make_delta(*index);
		result.insert(result.end(), index->delta.begin(), index->delta.end());
	}
	return result;
}

template <class K>
GpucolRuns<K>
GpucolRelation<K>::read(std::function<void(const GpucolRunPtr<K> &)> sink)
{
	sink_ = std::move(sink);
	return forgets() ? std::move(kept_) : runs(order(), GPUCOL_REC_FULL);
}

template <class K>
bool
GpucolRelation<K>::on_device() const
{
	for (auto &index : indexes_)
		for (auto *runs : {&index.previous, &index.delta})
			for (auto &run : *runs)
				if (!run->on_device())
					return false;
	return true;
}

template <class K>
template <class Visit>
void
GpucolRelation<K>::each_run(Visit visit)
{
	for (auto *runs : {&settled_, &kept_})
		for (auto &run : *runs)
			if (run.use_count() == 1)
				visit(run);
	for (auto &index : indexes_)
		for (auto *runs : {&index.previous, &index.delta})
			for (auto &run : *runs)
				if (run.use_count() == 1)
					visit(run);
}

/* ---- all relations ---- */

template <class K>
GpucolRelations<K>::GpucolRelations(GpucolDeviceRun &run) : run_(run)
{
	relations_.reserve(run.plan->nrelations);
	for (uint32_t i = 0; i < run.plan->nrelations; i++)
		relations_.emplace_back(*this, run, i);
}

template <class K>
void
GpucolRelations<K>::relieve()
{
	GpucolDeviceMemory &memory = run_.memory;

	if (memory.host_limit == 0 || memory.held <= memory.limit * HIGH)
		return;
	to_host(memory.limit * LARGE);
	if (memory.held > memory.limit * CROWDED)
		to_host(memory.limit * SMALL);
}

/* Move runs of at least so many bytes to host memory, the largest first. */
template <class K>
void
GpucolRelations<K>::to_host(size_t least)
{
	GpucolDeviceMemory &memory = run_.memory;
	GpucolRuns<K> runs;

	for (auto &relation : relations_)
		relation.each_run([&](const GpucolRunPtr<K> &run) {
			if (run->on_device() && run->size() * sizeof(K) >= least)
				runs.push_back(run);
		});
	std::sort(runs.begin(), runs.end(), [](const GpucolRunPtr<K> &a, const GpucolRunPtr<K> &b) {
		return a->size() > b->size();
	});
	for (auto &run : runs)
	{
		if (memory.held <= memory.limit * LOW)
			return;
		run->to_host(memory, [this] { run_.check_cancel(); });
		run_.progress.method = "HISA in host memory";
	}
}

template <class K>
void
gpucol_relations_summarise(GpucolDeviceRun &run, const GpucolRunPtr<K> &keys,
						   const GpucolKeyOrder &order, GpucolRecSummary *columns)
{
	unsigned	blocks = gpucol_launch_grid(keys->size());
	GpucolArray<GpucolRowSummary> partial(run.memory, blocks);
	std::vector<GpucolRowSummary> host(blocks);

	for (int place = 0; place < order.arity && keys->size() > 0; place++)
	{
		GpucolRecSummary &column = columns[order.columns[place]];

		summarise_kernel<<<blocks, GPUCOL_THREADS, 0, run.memory.stream>>>
			(keys->keys().data(), keys->size(), order, place, run.codes.device(),
			 run.codes.null_code(), partial.data());
		gpucol_check(cudaGetLastError());
		gpucol_check(cudaMemcpyAsync(host.data(), partial.data(),
									 blocks * sizeof(host[0]),
									 cudaMemcpyDeviceToHost, run.memory.stream));
		gpucol_check(cudaStreamSynchronize(run.memory.stream));
		for (const auto &h : host)
		{
			if (h.count == 0)
				continue;
			if (column.count == 0 || h.min < column.min)
				column.min = h.min;
			if (column.count == 0 || h.max > column.max)
				column.max = h.max;
			column.count += h.count;
			column.sum += h.sum;
		}
	}
}

#define INSTANTIATE(K) \
	template class GpucolRelation<K>; \
	template class GpucolRelations<K>; \
	template void gpucol_relations_summarise(GpucolDeviceRun &, const GpucolRunPtr<K> &, \
											 const GpucolKeyOrder &, GpucolRecSummary *);

GPUCOL_FOR_KEYS(INSTANTIATE)
