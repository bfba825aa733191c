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

#include "hisa.cuh"
#include "launch.cuh"

namespace
{

/* A run of at least this many keys may carry a hash table. */
constexpr size_t HASH_FROM = 1024;

/* Tuples a slot, at most: the load factor of the paper. */
constexpr double LOAD_FACTOR = 0.8;

/* A run is merged into the one before it if that is less than this larger. */
constexpr size_t LEVEL_RATIO = 4;

__global__ void
absent_kernel(const uint64_t *keys, size_t n, const uint64_t *run, size_t nrun,
			  uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	at = lower_bound(run, nrun, keys[i]);

		keep[i] = at == nrun || __ldg(run + at) != keys[i];
	}
}

__global__ void
reorder_kernel(const uint64_t *in, size_t n, GpucolKeyOrder from,
			   GpucolKeyOrder to, uint64_t *out)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	key = 0;

		for (int place = 0; place < to.arity; place++)
			for (int p = 0; p < from.arity; p++)
				if (from.columns[p] == to.columns[place])
					key |= (uint64_t) from.code(in[i], p) << to.shift(place);
		out[i] = key;
	}
}

/* The first key of each prefix claims a slot. */
__global__ void
claim_kernel(const uint64_t *keys, size_t n, int shift, GpucolHashSlot *slots,
			 uint64_t mask)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	prefix = keys[i] >> shift;

		if (i > 0 && keys[i - 1] >> shift == prefix)
			continue;
		uint64_t	end = i + 1;

		while (end < n && end - i < 8 && keys[end] >> shift == prefix)
			end++;
		if (end - i == 8)
		{
			uint64_t	last = (prefix << shift) | ((1ull << shift) - 1);

			end = last == UINT64_MAX ? n : end + lower_bound(keys + end, n - end, last + 1);
		}
		uint64_t	at = hash_prefix(prefix) & mask;

		while (atomicCAS((unsigned long long *) &slots[at].count, 0ull,
						 (unsigned long long) (end - i)) != 0)
			at = (at + 1) & mask;
		slots[at].prefix = prefix;
		slots[at].start = i;
	}
}

/* Number of distinct prefixes. */
__global__ void
prefixes_kernel(const uint64_t *keys, size_t n, int shift, unsigned long long *count)
{
	unsigned long long mine = 0;

	GPUCOL_FOR_EACH(i, n)
		mine += i == 0 || keys[i - 1] >> shift != keys[i] >> shift;
	for (int d = 16; d > 0; d /= 2)
		mine += __shfl_down_sync(0xffffffffu, mine, d);
	if (threadIdx.x % 32 == 0 && mine)
		atomicAdd(count, mine);
}

GpucolKeys
merge(GpucolDeviceMemory &memory, const GpucolKeys &a, const GpucolKeys &b)
{
	GpucolKeys	out(memory, a.size() + b.size());

	gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
		return cub::DeviceMerge::MergeKeys(scratch, bytes, a.data(), (int64_t) a.size(),
										   b.data(), (int64_t) b.size(), out.data(),
										   ::cuda::std::less<uint64_t>{},
										   memory.stream);
	});
	return out;
}

}								/* namespace */

bool
GpucolKeyOrder::same(const GpucolKeyOrder &other) const
{
	for (int i = 0; i < arity; i++)
		if (columns[i] != other.columns[i])
			return false;
	return true;
}

void
gpucol_hisa_unique(GpucolDeviceMemory &memory, GpucolKeys &keys, int bits)
{
	size_t		n = keys.size();

	if (n == 0)
		return;
	GpucolKeys	other(memory, n);
	cub::DoubleBuffer<uint64_t> buffer(keys.data(), other.data());

	gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
		return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffer, (int64_t) n, 0,
											  bits < 1 ? 1 : bits, memory.stream);
	});
	if (buffer.Current() != keys.data())
		std::swap(keys, other);
	GpucolArray<unsigned long long> count(memory, 1);

	gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
		return cub::DeviceSelect::Unique(scratch, bytes, keys.data(), other.data(),
										 count.data(), (int64_t) n, memory.stream);
	});
	other.shrink(count.at(0));
	std::swap(keys, other);
}

void
gpucol_hisa_subtract(GpucolDeviceMemory &memory, GpucolKeys &keys,
					 const GpucolRuns &runs)
{
	for (const auto &run : runs)
	{
		size_t		n = keys.size();

		if (n == 0)
			return;
		GpucolArray<uint8_t> keep(memory, n);
		GpucolArray<unsigned long long> count(memory, 1);
		GpucolKeys	out(memory, n);

		absent_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
			(keys.data(), n, run->keys().data(), run->size(), keep.data());
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceSelect::Flagged(scratch, bytes, keys.data(), keep.data(),
											  out.data(), count.data(), (int64_t) n,
											  memory.stream);
		});
		out.shrink(count.at(0));
		std::swap(keys, out);
	}
}

void
gpucol_hisa_add(GpucolDeviceMemory &memory, GpucolRuns &runs,
				std::shared_ptr<GpucolRun> run)
{
	if (run->size() == 0)
		return;
	runs.push_back(std::move(run));
	while (runs.size() > 1 &&
		   runs[runs.size() - 2]->size() < LEVEL_RATIO * runs.back()->size())
	{
		auto		b = std::move(runs.back());

		runs.pop_back();
		runs.back() = std::make_shared<GpucolRun>(merge(memory, runs.back()->keys(),
														b->keys()));
	}
}

GpucolKeys
gpucol_hisa_reorder(GpucolDeviceMemory &memory, const GpucolKeys &keys,
					const GpucolKeyOrder &from, const GpucolKeyOrder &to)
{
	GpucolKeys	out(memory, keys.size());

	if (keys.size() == 0)
		return out;
	reorder_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0, memory.stream>>>
		(keys.data(), keys.size(), from, to, out.data());
	gpucol_check(cudaGetLastError());
	gpucol_hisa_unique(memory, out, to.arity * to.bits);
	return out;
}

size_t
gpucol_hisa_count(const GpucolRuns &runs)
{
	size_t		n = 0;

	for (const auto &run : runs)
		n += run->size();
	return n;
}

void
GpucolRun::build(GpucolDeviceMemory &memory)
{
	GpucolArray<unsigned long long> count(memory, 1);
	size_t		nslots = 1024;

	gpucol_check(cudaMemsetAsync(count.data(), 0, sizeof(unsigned long long),
								 memory.stream));
	prefixes_kernel<<<gpucol_launch_grid(size()), GPUCOL_THREADS, 0, memory.stream>>>
		(keys_.data(), size(), asked_shift_, count.data());
	gpucol_check(cudaGetLastError());
	size_t		distinct = count.at(0);

	while (nslots * LOAD_FACTOR < distinct)
		nslots *= 2;
	slots_ = GpucolArray<GpucolHashSlot>(memory, nslots);
	gpucol_check(cudaMemsetAsync(slots_.data(), 0, nslots * sizeof(GpucolHashSlot),
								 memory.stream));
	claim_kernel<<<gpucol_launch_grid(size()), GPUCOL_THREADS, 0, memory.stream>>>
		(keys_.data(), size(), asked_shift_, slots_.data(), nslots - 1);
	gpucol_check(cudaGetLastError());
	hashed_shift_ = asked_shift_;
}

GpucolRunView
GpucolRun::view(GpucolDeviceMemory &memory, const GpucolKeyOrder &order,
				int places, size_t lookups)
{
	int			shift = places == 0 ? 64 : order.bits * (order.arity - places);
	GpucolRunView view = {keys_.data(), keys_.size(), shift, nullptr, 0};

	if (places > 0 && shift != asked_shift_)
	{
		asked_shift_ = shift;
		asked_ = 0;
	}
	asked_ += lookups;
	if (places > 0 && hashed_shift_ != shift && size() >= HASH_FROM &&
		asked_ > size())
		build(memory);
	if (places > 0 && hashed_shift_ == shift)
	{
		view.slots = slots_.data();
		view.mask = slots_.room() - 1;
	}
	return view;
}
