/*-------------------------------------------------------------------------
 *
 * hisa.cuh
 *	  Hash-indexed sorted arrays (Sun et al., "Modern Datalog on the GPU") over
 *	  packed tuples (key.cuh).
 *
 * A HISA holds the tuples of one relation in one column order as sorted, disjoint
 * runs.  A range query gives the tuples whose first columns equal a prefix; a
 * run that is asked often carries an open-addressing hash table from prefix to
 * range, one that is not is searched by bisection.
 *
 * FULL is several levels (beyond the paper): a round's delta becomes a new
 * run, and runs of similar size are merged, so that a long fixpoint does not
 * rewrite all of FULL each round.
 *
 * A run may lie in host memory, where the device has no room for it.  A piece of a
 * sorted run is a sorted run: whoever reads runs takes them piece by piece
 * (gpucol_hisa_pieces), and what lies on the device is one piece.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_HISA_CUH
#define GPUCOL_CUDA_HISA_CUH

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "cuda/recursion/key.cuh"
#include "cuda/recursion/memory.cuh"

/* A run of at least this many keys may carry a hash table. */
constexpr size_t GPUCOL_HASH_FROM = 1024;

/* One slot of a run's hash table; count 0 = empty. */
template <class K> struct GpucolHashSlot
{
	K			prefix;
	uint64_t	start;
	uint64_t	count;
};

/* Device view of a run, for kernels. */
template <class K> struct GpucolRunView
{
	const K    *keys;
	uint64_t	nkeys;
	K			mask;			/* of the prefix */
	bool		all;			/* no prefix: every key matches */
	const GpucolHashSlot<K> *slots; /* NULL = bisect */
	uint64_t	slot_mask;		/* slots - 1 */
};

/* A sorted run. */
template <class K> class GpucolRun
{
public:
	explicit GpucolRun(GpucolArray<K> &&keys) : n_(keys.size()), keys_(std::move(keys)) {}

	size_t size() const { return n_; }
	bool on_device() const { return host_.empty(); }

	/* Of a run on the device. */
	const GpucolArray<K> &keys() const { return keys_; }

	/*
	 * View of a run on the device for queries on the first `places` columns.
	 * Builds the hash table when this many lookups are worth it.
	 */
	GpucolRunView<K> view(GpucolDeviceMemory &memory, const GpucolKeyOrder &order,
						  int places, size_t lookups);

	/*
	 * Move to host memory, slice by slice, calling `between`, which may throw: then
	 * the run stays where it is.
	 */
	void to_host(GpucolDeviceMemory &memory, const std::function<void()> &between);

	/* A copy of keys from .. from + n - 1, as a run on the device. */
	std::shared_ptr<GpucolRun> piece(GpucolDeviceMemory &memory, size_t from,
									 size_t n) const;

	/* Of a run in host memory: its keys that are below `key` or, if `after`, equal it. */
	size_t position(const K &key, bool after) const;

	/* Copy keys from .. from + n - 1 to the host; waits for the stream. */
	void read(GpucolDeviceMemory &memory, size_t from, size_t n, K *to) const;

private:
	/* Keys of a slice in host memory: pinning one takes some milliseconds. */
	static constexpr size_t SLICE = ((size_t) 1 << 25) / sizeof(K);

	void copy(GpucolDeviceMemory &memory, size_t from, size_t n, K *to) const;

	static bool
	below(const K &k, const K &key, bool or_equal)
	{
		return k < key || (or_equal && k == key);
	}

	size_t		n_;
	GpucolArray<K> keys_;
	std::vector<GpucolHostArray<K>> host_;	/* slices */
	K			asked_mask_ = {};	/* prefix that lookups are counted for */
	K			hashed_mask_ = {};	/* prefix that slots_ is for */
	size_t		asked_ = 0;
	GpucolArray<GpucolHashSlot<K>> slots_;
};

template <class K> using GpucolRunPtr = std::shared_ptr<GpucolRun<K>>;
template <class K> using GpucolRuns = std::vector<GpucolRunPtr<K>>;

/* Pass keys from .. to - 1 of a run to `body` as runs on the device, piece by piece. */
template <class K, class Body>
void
gpucol_hisa_copies(GpucolDeviceMemory &memory, const GpucolRunPtr<K> &run, size_t from,
				   size_t to, Body body)
{
	constexpr size_t MOST = ((size_t) 1 << 28) / sizeof(K);

	for (size_t n; from < to; from += n)
	{
		n = std::min(memory.piece(4 * sizeof(K), MOST), to - from);
		body(run->piece(memory, from, n));
	}
}

/*
 * Pieces of a run that are on the device, one after another, passed to `body`.  What
 * lies there is one piece if it has at most `whole` keys.
 */
template <class K, class Body>
void
gpucol_hisa_pieces(GpucolDeviceMemory &memory, const GpucolRunPtr<K> &run, Body body,
				   size_t whole = SIZE_MAX)
{
	if (run->on_device() && run->size() <= whole)
		body(run);
	else
		gpucol_hisa_copies(memory, run, 0, run->size(), body);
}

/*
 * The same for who only wants keys from `low` to `high`: of what lies in host memory,
 * no other is brought to the device.
 */
template <class K, class Body>
void
gpucol_hisa_pieces_between(GpucolDeviceMemory &memory, const GpucolRunPtr<K> &run,
						   const K &low, const K &high, Body body)
{
	if (run->on_device())
		body(run);
	else
		gpucol_hisa_copies(memory, run, run->position(low, false),
						   run->position(high, true), body);
}

/* Prefixes a slot of a hash table, at most: the load factor of the paper. */
constexpr double GPUCOL_HASH_LOAD = 0.8;

/*
 * The hash table of sorted keys by the prefixes that `mask` leaves, so many a slot at most;
 * empty where there is no room for one.
 */
template <class K>
GpucolArray<GpucolHashSlot<K>> gpucol_hisa_table(GpucolDeviceMemory &memory,
												 const GpucolArray<K> &keys, const K &mask,
												 double load = GPUCOL_HASH_LOAD);

/* Sort keys of `bits` bits (all, for wide keys). */
template <class K>
void gpucol_hisa_sort(GpucolDeviceMemory &memory, GpucolArray<K> &keys, int bits);

/* The same, dropping duplicates. */
template <class K>
void gpucol_hisa_unique(GpucolDeviceMemory &memory, GpucolArray<K> &keys, int bits);

/* Keep the keys with a flag, in their order. */
template <class K>
void gpucol_hisa_keep(GpucolDeviceMemory &memory, GpucolArray<K> &keys,
					  const GpucolArray<uint8_t> &keep);

/* Clear the flags of the sorted keys that a run on the device holds. */
template <class K>
void gpucol_hisa_mark_known(GpucolDeviceMemory &memory, const GpucolArray<K> &keys,
							const GpucolRun<K> &run, GpucolArray<uint8_t> &keep);

/*
 * Add a sorted run that is disjoint from the others; merges similar sizes while
 * there is room.
 */
template <class K>
void gpucol_hisa_add(GpucolDeviceMemory &memory, GpucolRuns<K> &runs,
					 GpucolRunPtr<K> run);

/* The same tuples in another order, sorted. */
template <class K>
GpucolArray<K> gpucol_hisa_reorder(GpucolDeviceMemory &memory,
								   const GpucolArray<K> &keys,
								   const GpucolKeyOrder &from,
								   const GpucolKeyOrder &to);

/*
 * The rows of a binary relation, which `runs` hold in this order, sorted as keys of
 * two codes.
 */
template <class K>
GpucolArray<uint64_t> gpucol_hisa_pairs(GpucolDeviceMemory &memory,
										const GpucolRuns<K> &runs,
										const GpucolKeyOrder &order);

/* Rows of all runs together. */
template <class K>
size_t
gpucol_hisa_count(const GpucolRuns<K> &runs)
{
	size_t		n = 0;

	for (const auto &run : runs)
		n += run->size();
	return n;
}

#ifdef __CUDACC__

/* Range of a prefix in a run: its first key, and how many. */
template <class K>
__device__ __forceinline__ uint64_t
run_find(const GpucolRunView<K> &run, const K &prefix, uint64_t *start)
{
	if (run.all)
	{
		*start = 0;
		return run.nkeys;
	}
	if (run.slots)
		for (uint64_t at = key_hash(prefix) & run.slot_mask;; at = (at + 1) & run.slot_mask)
		{
			GpucolHashSlot<K> slot = run.slots[at];

			if (slot.count == 0)
				return 0;
			if (slot.prefix == prefix)
			{
				*start = slot.start;
				return slot.count;
			}
		}
	uint64_t	lo = lower_bound(run.keys, run.nkeys, prefix);
	K			last = prefix | ~run.mask;
	uint64_t	end = lo;

	/* most ranges are short: step, then bisect */
	while (end < run.nkeys && end - lo < 4 && !(last < key_load(run.keys + end)))
		end++;
	if (end - lo == 4)
		end += upper_bound(run.keys + end, run.nkeys - end, last);
	*start = lo;
	return end - lo;
}

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_HISA_CUH */
