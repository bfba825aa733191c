/*-------------------------------------------------------------------------
 *
 * hisa.cuh
 *	  Hash-indexed sorted arrays (Sun et al., "Modern Datalog on the GPU") over
 *	  packed tuples.
 *
 * A tuple of codes is one 64-bit key: `bits` bits a column, the first column of
 * the order highest.  A HISA holds the tuples of one relation in one column
 * order as sorted, disjoint runs.  A range query gives the tuples whose first
 * columns equal a prefix; a run that is asked often carries an open-addressing
 * hash table from prefix to range, one that is not is searched by bisection.
 *
 * FULL is several levels (beyond the paper): a round's delta becomes a new
 * run, and runs of similar size are merged, so that a long fixpoint does not
 * rewrite all of FULL each round.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_HISA_CUH
#define GPUCOL_CUDA_HISA_CUH

#include <memory>
#include <vector>

#include "memory.cuh"

typedef GpucolArray<uint64_t> GpucolKeys;

/* How a relation's tuples are packed in one column order. */
struct GpucolKeyOrder
{
	int			arity;
	int			bits;			/* a column; arity * bits <= 64 */
	uint8_t		columns[32];	/* relation column at each place */

	__host__ __device__ int
	shift(int place) const
	{
		return bits * (arity - 1 - place);
	}

	__host__ __device__ uint32_t
	code(uint64_t key, int place) const
	{
		return (uint32_t) ((key >> shift(place)) & ((1ull << bits) - 1));
	}

	bool same(const GpucolKeyOrder &other) const;
};

/* One slot of a run's hash table; count 0 = empty. */
struct GpucolHashSlot
{
	uint64_t	prefix;
	uint64_t	start;
	uint64_t	count;
};

/* Device view of a run, for kernels. */
struct GpucolRunView
{
	const uint64_t *keys;
	uint64_t	nkeys;
	int			prefix_shift;	/* key >> this = prefix; 64 = no prefix */
	const GpucolHashSlot *slots;	/* NULL = bisect */
	uint64_t	mask;			/* slots - 1 */
};

/* A sorted run. */
class GpucolRun
{
public:
	explicit GpucolRun(GpucolKeys &&keys) : keys_(std::move(keys)) {}

	const GpucolKeys &keys() const { return keys_; }
	size_t size() const { return keys_.size(); }

	/*
	 * View for queries on the first `places` columns.  Builds the hash table
	 * when this many lookups are worth it.
	 */
	GpucolRunView view(GpucolDeviceMemory &memory, const GpucolKeyOrder &order,
					   int places, size_t lookups);
	GpucolKeys take() { return std::move(keys_); }

private:
	void build(GpucolDeviceMemory &memory);

	GpucolKeys	keys_;
	GpucolArray<GpucolHashSlot> slots_;
	int			hashed_shift_ = -1;
	int			asked_shift_ = -1;
	size_t		asked_ = 0;
};

typedef std::vector<std::shared_ptr<GpucolRun>> GpucolRuns;

/* Sort keys (their low `bits` bits), drop duplicates. */
extern void gpucol_hisa_unique(GpucolDeviceMemory &memory, GpucolKeys &keys, int bits);

/* Drop from sorted `keys` what any of the runs holds. */
extern void gpucol_hisa_subtract(GpucolDeviceMemory &memory, GpucolKeys &keys,
								 const GpucolRuns &runs);

/* Add a sorted run that is disjoint from the others; merges similar sizes. */
extern void gpucol_hisa_add(GpucolDeviceMemory &memory, GpucolRuns &runs,
							std::shared_ptr<GpucolRun> run);

/* The same tuples in another order, sorted. */
extern GpucolKeys gpucol_hisa_reorder(GpucolDeviceMemory &memory,
									  const GpucolKeys &keys,
									  const GpucolKeyOrder &from,
									  const GpucolKeyOrder &to);

/* Rows of all runs together. */
extern size_t gpucol_hisa_count(const GpucolRuns &runs);

#ifdef __CUDACC__

/* Mix the bits of a prefix (the finaliser of MurmurHash3, public domain). */
__device__ __forceinline__ uint64_t
hash_prefix(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdull;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ull;
	return v ^ v >> 33;
}

/* First position in sorted keys that is not below `key`. */
__device__ __forceinline__ uint64_t
lower_bound(const uint64_t *keys, uint64_t n, uint64_t key)
{
	uint64_t	lo = 0;

	while (n > 0)
	{
		uint64_t	half = n / 2;

		if (__ldg(keys + lo + half) < key)
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

/* Range of a prefix in a run: its first key, and how many. */
__device__ __forceinline__ uint64_t
run_find(const GpucolRunView &run, uint64_t prefix, uint64_t *start)
{
	if (run.prefix_shift >= 64)
	{
		*start = 0;
		return run.nkeys;
	}
	if (run.slots)
		for (uint64_t at = hash_prefix(prefix) & run.mask;; at = (at + 1) & run.mask)
		{
			GpucolHashSlot slot = run.slots[at];

			if (slot.count == 0)
				return 0;
			if (slot.prefix == prefix)
			{
				*start = slot.start;
				return slot.count;
			}
		}
	uint64_t	lo = lower_bound(run.keys, run.nkeys, prefix << run.prefix_shift);
	uint64_t	last = (prefix << run.prefix_shift) |
		((1ull << run.prefix_shift) - 1);
	uint64_t	end = lo;

	/* most ranges are short: step, then bisect */
	while (end < run.nkeys && end - lo < 4 && __ldg(run.keys + end) <= last)
		end++;
	if (end - lo == 4)
		end = last == UINT64_MAX ? run.nkeys :
			end + lower_bound(run.keys + end, run.nkeys - end, last + 1);
	*start = lo;
	return end - lo;
}

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_HISA_CUH */
