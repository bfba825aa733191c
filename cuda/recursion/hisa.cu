/*-------------------------------------------------------------------------
 *
 * hisa.cu
 *	  Sorting, set difference, merging and indexing of packed tuples.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/recursion/hisa.cuh"
#include "cuda/base/launch.cuh"

namespace
{

/* A run is merged into the one before it if that is less than this larger. */
constexpr size_t LEVEL_RATIO = 4;

template <class K>
__global__ void
known_kernel(const K *keys, size_t n, const K *run, size_t nrun, uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		if (!keep[i])
			continue;
		uint64_t	at = lower_bound(run, nrun, keys[i]);

		if (at < nrun && key_load(run + at) == keys[i])
			keep[i] = 0;
	}
}

template <class K>
__global__ void
reorder_kernel(const K *in, size_t n, GpucolKeyOrder from, GpucolKeyOrder to, K *out)
{
	GPUCOL_FOR_EACH(i, n)
	{
		K			key = {};

		for (int place = 0; place < to.arity; place++)
			for (int p = 0; p < from.arity; p++)
				if (from.columns[p] == to.columns[place])
					key_put(key, to, place, key_code(in[i], from, p));
		out[i] = key;
	}
}

/* Keys of two codes as numbers. */
template <class K>
__global__ void
pairs_kernel(const K *in, size_t n, GpucolKeyOrder order, uint64_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = (uint64_t) key_code(in[i], order, 0) << order.bits |
			key_code(in[i], order, 1);
}

/* The first key of each prefix claims a slot. */
template <class K>
__global__ void
claim_kernel(const K *keys, size_t n, K mask, GpucolHashSlot<K> *slots,
			 uint64_t slot_mask)
{
	GPUCOL_FOR_EACH(i, n)
	{
		K			prefix = keys[i] & mask;

		if (i > 0 && (keys[i - 1] & mask) == prefix)
			continue;
		uint64_t	end = i + 1;

		while (end < n && end - i < 8 && (keys[end] & mask) == prefix)
			end++;
		if (end - i == 8)
			end += upper_bound(keys + end, n - end, prefix | ~mask);
		uint64_t	at = key_hash(prefix) & slot_mask;

		while (atomicCAS((unsigned long long *) &slots[at].count, 0ull,
						 (unsigned long long) (end - i)) != 0)
			at = (at + 1) & slot_mask;
		slots[at].prefix = prefix;
		slots[at].start = i;
	}
}

/* Flags of the first key of each prefix. */
template <class K>
__global__ void
first_kernel(const K *keys, size_t n, K mask, uint8_t *first)
{
	GPUCOL_FOR_EACH(i, n)
		first[i] = i == 0 || (keys[i - 1] & mask) != (keys[i] & mask);
}

/* Number of flags. */
__global__ void
count_kernel(const uint8_t *flags, size_t n, unsigned long long *count)
{
	unsigned long long mine = 0;

	GPUCOL_FOR_EACH(i, n)
		mine += flags[i];
	for (int d = 16; d > 0; d /= 2)
		mine += __shfl_down_sync(0xffffffffu, mine, d);
	if (threadIdx.x % 32 == 0 && mine)
		atomicAdd(count, mine);
}

__global__ void
iota_kernel(uint64_t *out, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = i;
}

template <class K>
__global__ void
gather_kernel(const K *in, const uint64_t *rows, size_t n, K *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = in[rows[i]];
}

/* One word of each key, in the order of rows. */
template <class K>
__global__ void
word_kernel(const K *in, const uint64_t *rows, size_t n, int word, uint64_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = in[rows[i]].w[word];
}

/* Each key of `in` goes behind those of the other array that are below it. */
template <class K>
__global__ void
place_kernel(const K *in, size_t n, const K *other, size_t nother, K *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i + lower_bound(other, nother, in[i])] = in[i];
}

/* The same, behind those that are not above it. */
template <class K>
__global__ void
place_after_kernel(const K *in, size_t n, const K *other, size_t nother, K *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i + upper_bound(other, nother, in[i])] = in[i];
}

/* Wide keys: a permutation, sorted by one word after another from the lowest. */
template <class K>
void
sort_words(GpucolDeviceMemory &memory, GpucolArray<K> &keys)
{
	size_t		n = keys.size();
	GpucolArray<uint64_t> rows(memory, n),
				other_rows(memory, n),
				words(memory, n),
				other_words(memory, n);
	cub::DoubleBuffer<uint64_t> row_buffer(rows.data(), other_rows.data());

	iota_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(rows.data(), n);
	gpucol_check(cudaGetLastError());
	for (int word = K::WORDS - 1; word >= 0; word--)
	{
		cub::DoubleBuffer<uint64_t> word_buffer(words.data(), other_words.data());

		word_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
			(keys.data(), row_buffer.Current(), n, word, words.data());
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceRadixSort::SortPairs(scratch, bytes, word_buffer,
												   row_buffer, (int64_t) n, 0, 64,
												   memory.stream);
		});
	}
	GpucolArray<K> out(memory, n);

	gather_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), row_buffer.Current(), n, out.data());
	gpucol_check(cudaGetLastError());
	std::swap(keys, out);
}

template <class K>
GpucolArray<K>
merge(GpucolDeviceMemory &memory, const GpucolArray<K> &a, const GpucolArray<K> &b)
{
	GpucolArray<K> out(memory, a.size() + b.size());

	if constexpr (GpucolIsWide<K>::value)
	{
		place_kernel<<<gpucol_launch_grid(a.size()), GPUCOL_THREADS, 0, memory.stream>>>
			(a.data(), a.size(), b.data(), b.size(), out.data());
		place_after_kernel<<<gpucol_launch_grid(b.size()), GPUCOL_THREADS, 0, memory.stream>>>
			(b.data(), b.size(), a.data(), a.size(), out.data());
		gpucol_check(cudaGetLastError());
	}
	else
		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceMerge::MergeKeys(scratch, bytes, a.data(), (int64_t) a.size(),
											   b.data(), (int64_t) b.size(), out.data(),
											   ::cuda::std::less<K>{}, memory.stream);
		});
	return out;
}

}								/* namespace */

template <class K>
void
gpucol_hisa_sort(GpucolDeviceMemory &memory, GpucolArray<K> &keys, int bits)
{
	size_t		n = keys.size();

	if (n < 2)
		return;
	if constexpr (GpucolIsWide<K>::value)
		sort_words(memory, keys);
	else
	{
		GpucolArray<K> other(memory, n);
		cub::DoubleBuffer<K> buffer(keys.data(), other.data());

		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffer, (int64_t) n, 0,
												  bits < 1 ? 1 : bits, memory.stream);
		});
		if (buffer.Current() != keys.data())
			std::swap(keys, other);
	}
}

template <class K>
void
gpucol_hisa_unique(GpucolDeviceMemory &memory, GpucolArray<K> &keys, int bits)
{
	size_t		n = keys.size();

	if (n < 2)
		return;
	gpucol_hisa_sort(memory, keys, bits);
	if constexpr (GpucolIsWide<K>::value)
	{
		GpucolArray<uint8_t> first(memory, n);

		first_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
			(keys.data(), n, ~K{}, first.data());
		gpucol_check(cudaGetLastError());
		gpucol_hisa_keep(memory, keys, first);
	}
	else
	{
		GpucolArray<K> out(memory, n);
		GpucolArray<unsigned long long> count(memory, 1);

		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceSelect::Unique(scratch, bytes, keys.data(), out.data(),
											 count.data(), (int64_t) n, memory.stream);
		});
		out.shrink(count.at(0));
		std::swap(keys, out);
	}
}

template <class K>
void
gpucol_hisa_keep(GpucolDeviceMemory &memory, GpucolArray<K> &keys,
				 const GpucolArray<uint8_t> &keep)
{
	size_t		n = keys.size();
	GpucolArray<unsigned long long> count(memory, 1);

	if (n == 0)
		return;
	if constexpr (GpucolIsWide<K>::value)
	{
		GpucolArray<uint64_t> every(memory, n),
					rows(memory, n);

		iota_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
			(every.data(), n);
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceSelect::Flagged(scratch, bytes, every.data(), keep.data(),
											  rows.data(), count.data(), (int64_t) n,
											  memory.stream);
		});
		size_t		kept = count.at(0);
		GpucolArray<K> out(memory, kept);

		gather_kernel<<<gpucol_launch_grid(kept), GPUCOL_THREADS, 0, memory.stream>>>
			(keys.data(), rows.data(), kept, out.data());
		gpucol_check(cudaGetLastError());
		std::swap(keys, out);
	}
	else
	{
		GpucolArray<K> out(memory, n);

		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceSelect::Flagged(scratch, bytes, keys.data(), keep.data(),
											  out.data(), count.data(), (int64_t) n,
											  memory.stream);
		});
		out.shrink(count.at(0));
		std::swap(keys, out);
	}
}

template <class K>
void
gpucol_hisa_mark_known(GpucolDeviceMemory &memory, const GpucolArray<K> &keys,
					   const GpucolRun<K> &run, GpucolArray<uint8_t> &keep)
{
	known_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), keys.size(), run.keys().data(), run.size(), keep.data());
	gpucol_check(cudaGetLastError());
}

template <class K>
void
gpucol_hisa_add(GpucolDeviceMemory &memory, GpucolRuns<K> &runs, GpucolRunPtr<K> run)
{
	if (run->size() == 0)
		return;
	runs.push_back(std::move(run));
	while (runs.size() > 1)
	{
		const GpucolRunPtr<K> &a = runs[runs.size() - 2],
				   &b = runs.back();

		if (!a->on_device() || !b->on_device() ||
			a->size() >= LEVEL_RATIO * b->size() ||
			memory.room() / 2 < (a->size() + b->size()) * sizeof(K))
			return;
		auto		both = std::make_shared<GpucolRun<K>>(merge(memory, a->keys(), b->keys()));

		runs.pop_back();
		runs.back() = std::move(both);
	}
}

template <class K>
GpucolArray<K>
gpucol_hisa_reorder(GpucolDeviceMemory &memory, const GpucolArray<K> &keys,
					const GpucolKeyOrder &from, const GpucolKeyOrder &to)
{
	GpucolArray<K> out(memory, keys.size());

	if (keys.size() == 0)
		return out;
	reorder_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), keys.size(), from, to, out.data());
	gpucol_check(cudaGetLastError());
	gpucol_hisa_sort(memory, out, to.arity * to.bits);
	return out;
}

template <class K>
GpucolArray<uint64_t>
gpucol_hisa_pairs(GpucolDeviceMemory &memory, const GpucolRuns<K> &runs,
				  const GpucolKeyOrder &order)
{
	GpucolArray<uint64_t> pairs(memory, gpucol_hisa_count(runs));
	size_t		at = 0;

	for (auto &run : runs)
		gpucol_hisa_pieces(memory, run, [&](const GpucolRunPtr<K> &piece) {
			pairs_kernel<<<gpucol_launch_grid(piece->size()), GPUCOL_THREADS, 0,
				memory.stream>>>
				(piece->keys().data(), piece->size(), order, pairs.data() + at);
			gpucol_check(cudaGetLastError());
			at += piece->size();
		});
	if (runs.size() > 1)
		gpucol_hisa_sort(memory, pairs, 2 * order.bits);
	return pairs;
}

template <class K>
void
GpucolRun<K>::to_host(GpucolDeviceMemory &memory, const std::function<void()> &between)
{
	std::vector<GpucolHostArray<K>> slices;

	if (!on_device())
		return;
	for (size_t from = 0; from < n_; from += SLICE)
	{
		size_t		n = std::min(SLICE, n_ - from);

		between();
		slices.emplace_back(memory, n);
		gpucol_check(cudaMemcpyAsync(slices.back().data(), keys_.data() + from,
									 n * sizeof(K), cudaMemcpyDeviceToHost, memory.stream));
		gpucol_check(cudaStreamSynchronize(memory.stream));
	}
	host_ = std::move(slices);
	keys_ = GpucolArray<K>();
	slots_ = GpucolArray<GpucolHashSlot<K>>();
	hashed_mask_ = {};
}

/* Copy keys from .. from + n - 1 to the host or the device. */
template <class K>
void
GpucolRun<K>::copy(GpucolDeviceMemory &memory, size_t from, size_t n, K *to) const
{
	if (on_device())
	{
		gpucol_check(cudaMemcpyAsync(to, keys_.data() + from, n * sizeof(K),
									 cudaMemcpyDefault, memory.stream));
		return;
	}
	for (size_t part; n > 0; from += part, to += part, n -= part)
	{
		part = std::min(n, SLICE - from % SLICE);
		gpucol_check(cudaMemcpyAsync(to, host_[from / SLICE].data() + from % SLICE,
									 part * sizeof(K), cudaMemcpyDefault, memory.stream));
	}
}

template <class K>
size_t
GpucolRun<K>::position(const K &key, bool after) const
{
	size_t		lo = 0;

	/* a whole slice at a time, then inside it */
	for (size_t n = host_.size(); n > 0;)
	{
		size_t		half = n / 2;
		const GpucolHostArray<K> &slice = host_[lo + half];

		if (below(slice.data()[slice.size() - 1], key, after))
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	if (lo == host_.size())
		return n_;
	const K    *begin = host_[lo].data();

	return lo * SLICE + (std::partition_point(begin, begin + host_[lo].size(), [&](const K &k) {
		return below(k, key, after);
	}) - begin);
}

template <class K>
GpucolRunPtr<K>
GpucolRun<K>::piece(GpucolDeviceMemory &memory, size_t from, size_t n) const
{
	GpucolArray<K> keys(memory, n);

	copy(memory, from, n, keys.data());
	return std::make_shared<GpucolRun<K>>(std::move(keys));
}

template <class K>
void
GpucolRun<K>::read(GpucolDeviceMemory &memory, size_t from, size_t n, K *to) const
{
	copy(memory, from, n, to);
	gpucol_check(cudaStreamSynchronize(memory.stream));
}

template <class K>
GpucolArray<GpucolHashSlot<K>>
gpucol_hisa_table(GpucolDeviceMemory &memory, const GpucolArray<K> &keys, const K &mask,
				  double load)
{
	size_t		n = keys.size(),
				nslots = 1024;
	GpucolArray<unsigned long long> count(memory, 1);
	GpucolArray<uint8_t> first(memory, n);

	gpucol_check(cudaMemsetAsync(count.data(), 0, sizeof(unsigned long long),
								 memory.stream));
	first_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), n, mask, first.data());
	count_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(first.data(), n, count.data());
	gpucol_check(cudaGetLastError());
	size_t		distinct = count.at(0);

	while (nslots * load < distinct)
		nslots *= 2;
	if (memory.room() / 2 < nslots * sizeof(GpucolHashSlot<K>))
		return {};
	GpucolArray<GpucolHashSlot<K>> slots(memory, nslots);

	gpucol_check(cudaMemsetAsync(slots.data(), 0, nslots * sizeof(GpucolHashSlot<K>),
								 memory.stream));
	claim_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), n, mask, slots.data(), nslots - 1);
	gpucol_check(cudaGetLastError());
	return slots;
}

template <class K>
GpucolRunView<K>
GpucolRun<K>::view(GpucolDeviceMemory &memory, const GpucolKeyOrder &order,
				   int places, size_t lookups)
{
	K			mask = key_mask<K>(order, places);
	GpucolRunView<K> view = {keys_.data(), keys_.size(), mask, places == 0, nullptr, 0};

	if (places == 0)
		return view;
	if (mask != asked_mask_)
	{
		asked_mask_ = mask;
		asked_ = 0;
	}
	asked_ += lookups;
	if (hashed_mask_ != mask && size() >= GPUCOL_HASH_FROM && asked_ > size())
	{
		slots_ = GpucolArray<GpucolHashSlot<K>>();
		slots_ = gpucol_hisa_table(memory, keys_, mask);
		hashed_mask_ = slots_.empty() ? K{} : mask;
	}
	if (hashed_mask_ == mask)
	{
		view.slots = slots_.data();
		view.slot_mask = slots_.room() - 1;
	}
	return view;
}

#define INSTANTIATE(K) \
	template class GpucolRun<K>; \
	template GpucolArray<GpucolHashSlot<K>> \
		gpucol_hisa_table(GpucolDeviceMemory &, const GpucolArray<K> &, const K &, \
						  double); \
	template void gpucol_hisa_sort(GpucolDeviceMemory &, GpucolArray<K> &, int); \
	template void gpucol_hisa_unique(GpucolDeviceMemory &, GpucolArray<K> &, int); \
	template void gpucol_hisa_keep(GpucolDeviceMemory &, GpucolArray<K> &, \
								   const GpucolArray<uint8_t> &); \
	template void gpucol_hisa_mark_known(GpucolDeviceMemory &, const GpucolArray<K> &, \
										 const GpucolRun<K> &, GpucolArray<uint8_t> &); \
	template GpucolArray<uint64_t> gpucol_hisa_pairs(GpucolDeviceMemory &, const GpucolRuns<K> &, \
													 const GpucolKeyOrder &); \
	template void gpucol_hisa_add(GpucolDeviceMemory &, GpucolRuns<K> &, GpucolRunPtr<K>); \
	template GpucolArray<K> gpucol_hisa_reorder(GpucolDeviceMemory &, const GpucolArray<K> &, \
												const GpucolKeyOrder &, const GpucolKeyOrder &);

GPUCOL_FOR_KEYS(INSTANTIATE)
