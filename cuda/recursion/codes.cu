/*-------------------------------------------------------------------------
 *
 * codes.cu
 *	  The dictionary of a run, on the host and on the device.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>

#include "cuda/recursion/codes.cuh"
#include "cuda/recursion/key.cuh"
#include "cuda/base/launch.cuh"

namespace
{

/*
 * Slots of the smallest table.  Half of them stay free, which is more than the
 * device has threads: all may claim a slot at once after the last look at the fill.
 */
constexpr uint64_t LEAST_SLOTS = 1 << 20;

/* Values without a code get the next ones. */
__global__ void
add_kernel(const int64_t *values, const uint8_t *nulls, size_t n, GpucolCodeSlots slots)
{
	GPUCOL_FOR_EACH(i, n)
		if (!nulls[i] && !slots.add(values[i]))
			return;
}

/* Values that have a code already. */
__global__ void
rehash_kernel(size_t first, size_t n, GpucolCodeSlots slots)
{
	GPUCOL_FOR_EACH(i, n)
	{
		bool		mine;

		if (i >= first)
			slots.codes[slots.claim((unsigned long long) slots.values[i], &mine)] =
				(uint32_t) i;
	}
}

__global__ void
look_up_kernel(const int64_t *values, const uint8_t *nulls, size_t n, GpucolCodeSlots slots,
			   uint32_t *codes)
{
	GPUCOL_FOR_EACH(i, n)
		codes[i] = nulls[i] ? 0 : slots.code(values[i]);
}

__global__ void
free_kernel(unsigned long long *keys, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		keys[i] = GpucolCodeSlots::FREE;
}

}								/* namespace */

/*
 * By direct addressing, if the values span a range not much wider than there are
 * values: a pass to mark, a pass to number.
 */
bool
GpucolCodes::number_directly(const EachValue &each)
{
	int64_t		lo = INT64_MAX,
				hi = INT64_MIN;
	uint64_t	total = 0;

	each([&](const int64_t *values, const uint8_t *nulls, size_t n) {
		for (size_t i = 0; i < n; i++)
			if (!nulls || !nulls[i])
			{
				lo = std::min(lo, values[i]);
				hi = std::max(hi, values[i]);
				total++;
			}
	});
	uint64_t	span = total ? (uint64_t) hi - (uint64_t) lo : UINT64_MAX;

	if (span > 8 * total + 65536)
		return false;
	direct_.assign(span + 1, 0);
	each([&](const int64_t *values, const uint8_t *nulls, size_t n) {
		for (size_t i = 0; i < n; i++)
			if (!nulls || !nulls[i])
				direct_[(uint64_t) values[i] - (uint64_t) lo] = 1;
	});
	for (uint64_t i = 0; i <= span; i++)
		if (direct_[i])
		{
			direct_[i] = (uint32_t) host_.size();
			host_.push_back(lo + (int64_t) i);
		}
	return true;
}

void
GpucolCodes::number_by_sorting(const EachValue &each)
{
	each([&](const int64_t *values, const uint8_t *nulls, size_t n) {
		for (size_t i = 0; i < n; i++)
			if (!nulls || !nulls[i])
				host_.push_back(values[i]);
	});
	std::sort(host_.begin() + has_null_, host_.end());
	host_.erase(std::unique(host_.begin() + has_null_, host_.end()), host_.end());
}

void
GpucolCodes::number(GpucolDeviceMemory &memory, bool has_null, bool computing,
					const EachValue &each)
{
	memory_ = &memory;
	has_null_ = has_null;
	if (has_null)
		host_.push_back(0);
	if (!number_directly(each))
		number_by_sorting(each);
	n_ = known_ = host_.size();
	if (n_ > UINT32_MAX - 1)
		throw GpucolFailure{GPUCOL_UNSUPPORTED};
	while ((n_ >> bits_) > 0)
		bits_++;
	values_ = GpucolArray<int64_t>(memory, n_ + 1);
	gpucol_check(cudaMemcpyAsync(values_.data(), host_.data(), n_ * sizeof(int64_t),
								 cudaMemcpyHostToDevice, memory.stream));
	if (computing)
	{
		bits_ = 32;
		used_ = GpucolArray<unsigned long long>(memory, 2);
		grow(LEAST_SLOTS);
	}
}

uint32_t
GpucolCodes::code(int64_t value) const
{
	if (!direct_.empty())
		return direct_[(uint64_t) value - (uint64_t) host_[has_null_]];
	return (uint32_t) (std::lower_bound(host_.begin() + has_null_, host_.begin() + known_, value) -
					   host_.begin());
}

/* At least this many slots, and four for each value. */
void
GpucolCodes::grow(uint64_t nslots)
{
	unsigned long long used[2] = {n_, 0};

	while (nslots < 4 * n_)
		nslots *= 2;
	if (nslots / 2 >= UINT32_MAX)
		throw GpucolFailure{GPUCOL_UNSUPPORTED};
	GpucolArray<int64_t> values(*memory_, nslots);

	gpucol_check(cudaMemcpyAsync(values.data(), values_.data(), n_ * sizeof(int64_t),
								 cudaMemcpyDeviceToDevice, memory_->stream));
	std::swap(values_, values);
	keys_ = GpucolArray<unsigned long long>();
	slot_codes_ = GpucolArray<uint32_t>();
	keys_ = GpucolArray<unsigned long long>(*memory_, nslots + 1);
	slot_codes_ = GpucolArray<uint32_t>(*memory_, nslots + 1);
	free_kernel<<<gpucol_launch_grid(nslots + 1), GPUCOL_THREADS, 0, memory_->stream>>>
		(keys_.data(), nslots + 1);
	rehash_kernel<<<gpucol_launch_grid(n_), GPUCOL_THREADS, 0, memory_->stream>>>
		((size_t) has_null_, n_, slots());
	gpucol_check(cudaGetLastError());
	gpucol_check(cudaMemcpyAsync(used_.data(), used, sizeof(used), cudaMemcpyHostToDevice,
								 memory_->stream));
	gpucol_check(cudaStreamSynchronize(memory_->stream));
}

GpucolCodeSlots
GpucolCodes::slots() const
{
	return {keys_.data(), slot_codes_.data(), keys_.size() - 2, values_.data(), used_.data()};
}

bool
GpucolCodes::recount()
{
	unsigned long long used[2];

	if (used_.empty())
		return true;
	gpucol_check(cudaMemcpyAsync(used, used_.data(), sizeof(used), cudaMemcpyDeviceToHost,
								 memory_->stream));
	gpucol_check(cudaStreamSynchronize(memory_->stream));
	n_ = used[0];
	return used[1] == 0;
}

void
GpucolCodes::intern(const int64_t *values, const uint8_t *nulls, size_t n,
					uint32_t *codes)
{
	for (;;)
	{
		add_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory_->stream>>>
			(values, nulls, n, slots());
		gpucol_check(cudaGetLastError());
		if (recount())
		{
			look_up_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory_->stream>>>
				(values, nulls, n, slots(), codes);
			gpucol_check(cudaGetLastError());
			return;
		}
		grow(2 * (keys_.size() - 1));
	}
}

const std::vector<int64_t> &
GpucolCodes::host()
{
	size_t		known = host_.size();

	if (known < n_)
	{
		host_.resize(n_);
		gpucol_check(cudaMemcpyAsync(host_.data() + known, values_.data() + known,
									 (n_ - known) * sizeof(int64_t),
									 cudaMemcpyDeviceToHost, memory_->stream));
		gpucol_check(cudaStreamSynchronize(memory_->stream));
	}
	return host_;
}
