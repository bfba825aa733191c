/*-------------------------------------------------------------------------
 *
 * codes.cuh
 *	  The dictionary of a run: dense codes for 64-bit values.
 *
 * The values that were loaded or stand in the plan get their codes on the host, in
 * value order, so that graphs have dense node numbers.  Where rules compute values,
 * the device adds new ones as they appear, to an open-addressing table; codes are
 * then in the order of their appearance.  Code 0 is NULL, if there are any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CODES_CUH
#define GPUCOL_CUDA_CODES_CUH

#include <cstdint>
#include <functional>
#include <vector>

#include "cuda/recursion/key.cuh"
#include "cuda/recursion/memory.cuh"

/* The table on the device, for kernels that compute values. */
struct GpucolCodeSlots
{
	/*
	 * A free slot.  The value with these bits lies in a slot of its own, after the
	 * others.
	 */
	static constexpr unsigned long long FREE = 0x8000000000000001ull;

	unsigned long long *keys;
	uint32_t   *codes;
	uint64_t	mask;			/* slots - 1; keys[slots] is for FREE itself */
	int64_t    *values;			/* by code */
	unsigned long long *used;	/* [0] codes given out, [1] there was no room */

#ifdef __CUDACC__
	/* The slot of a value, claimed if it was not there (*mine). */
	__device__ __forceinline__ uint64_t
	claim(unsigned long long value, bool *mine) const
	{
		if (value == FREE)
		{
			*mine = atomicExch(keys + mask + 1, 0ull) == FREE;
			return mask + 1;
		}
		for (uint64_t at = key_hash<uint64_t>(value) & mask;; at = (at + 1) & mask)
		{
			unsigned long long held = keys[at];

			if (held == FREE)
				held = atomicCAS(keys + at, FREE, value);
			*mine = held == FREE;
			if (*mine || held == value)
				return at;
		}
	}

	/* Give a value a code, if it has none.  False, and a note of it: no room. */
	__device__ __forceinline__ bool
	add(int64_t value) const
	{
		bool		mine;

		if (*(volatile unsigned long long *) used > mask / 2)
		{
			used[1] = 1;
			return false;
		}
		uint64_t	at = claim((unsigned long long) value, &mine);

		if (mine)
		{
			unsigned long long code = atomicAdd(used, 1ull);

			codes[at] = (uint32_t) code;
			values[code] = value;
		}
		return true;
	}

	/* The code of a value that was added before the last barrier. */
	__device__ __forceinline__ uint32_t
	code(int64_t value) const
	{
		bool		mine;

		return codes[claim((unsigned long long) value, &mine)];
	}
#endif
};

class GpucolCodes
{
public:
	/* Takes n values; nulls may be NULL, nulls[i] = 1 is no value. */
	typedef std::function<void(const int64_t *values, const uint8_t *nulls, size_t n)> Visit;

	/* Passes every value that is known beforehand to its argument. */
	typedef std::function<void(const Visit &)> EachValue;

	/*
	 * Number the values that `each` visits; may visit them several times.
	 * `computing`: rules will add others.
	 */
	void number(GpucolDeviceMemory &memory, bool has_null, bool computing,
				const EachValue &each);

	size_t size() const { return n_; }
	int bits() const { return bits_; }	/* of a code */
	bool has_null() const { return has_null_; }

	/* The code of NULL, or one that no value has. */
	uint32_t null_code() const { return has_null_ ? 0 : UINT32_MAX; }

	/* The code of a value that was known beforehand. */
	uint32_t code(int64_t value) const;

	/* Values by code, on the device and (brought up to date) on the host. */
	const int64_t *device() const { return values_.data(); }
	const std::vector<int64_t> &host();

	/* Codes of n computed values on the device; nulls[i] = 1 is NULL. */
	void intern(const int64_t *values, const uint8_t *nulls, size_t n, uint32_t *codes);

	bool computing() const { return !used_.empty(); }

	/* The table, if rules compute; who adds to it calls recount afterwards. */
	GpucolCodeSlots slots() const;

	/* Take note of values added since; false: there was no room. */
	bool recount();

private:
	bool number_directly(const EachValue &each);
	void number_by_sorting(const EachValue &each);
	void grow(uint64_t nslots);

	GpucolDeviceMemory *memory_ = nullptr;
	bool		has_null_ = false;
	int			bits_ = 1;
	size_t		n_ = 0;
	size_t		known_ = 0;		/* of them, those that were beforehand: first in host_, in value order */
	std::vector<int64_t> host_;
	std::vector<uint32_t> direct_;	/* code of value less the least one, where
									 * values lie close together; else empty */
	GpucolArray<int64_t> values_;
	GpucolArray<unsigned long long> keys_;	/* open addressing: values ... */
	GpucolArray<uint32_t> slot_codes_;	/* ... and their codes */
	GpucolArray<unsigned long long> used_;	/* codes given out; more wanted */
};

#endif							/* GPUCOL_CUDA_CODES_CUH */
