/*-------------------------------------------------------------------------
 *
 * topn.cu
 *	  The bound that the first k rows of an order reach, and the rows that reach it.
 *
 * The bound.  The extremes in a vector's zone map are values of rows, so where a
 * scan sees all rows of a vector the k-th best of the vectors' best values is
 * reached by k rows.  Where it does not (conditions, deleted rows, few vectors)
 * a histogram of the keys finds the bin of the k-th best, and a second one over
 * that bin alone its place in it.  A histogram above the zones' bound is cheap,
 * for few vectors reach it.
 *
 * Where zone maps give no bound, a sample of the vectors gives a first one: what k
 * of its rows reach, k of all rows do.  It is the last one where it is the greatest
 * key that there is, or where it promises few rows.  Vectors whose zone maps are
 * below the first bound are left out of all that follows.  Where rows arrive in the
 * order of the key, a sample promises far too few rows, but leaves few vectors,
 * and another histogram over these costs next to nothing.
 *
 * Further sort keys.  Where many rows equal the bound, those before it are few, and
 * which of the others matter is asked of the next key in the same way.  Rows in
 * question are then far apart: the keys of few rows of a vector are read one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/topn.cuh"

#include <algorithm>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/scan/offsets.cuh"
#include "cuda/scan/scanner.cuh"
#include "cuda/base/stage.cuh"
#include "cuda/scan/values.cuh"

constexpr int	BINS = GPUCOL_TOPN_PINNED / sizeof(unsigned long long);	/* of a histogram */

/* One vector of so many is in a sample, if the scan has many samples' worth.  A prime:
 * values that repeat do so after powers of two and ten more often than not. */
constexpr uint32_t SAMPLE_STRIDE = 61;
constexpr uint32_t SAMPLE_VECTORS = 512;

/* Rows of a vector: a sector of memory for each costs no more than all codes of 8 bits. */
constexpr uint32_t SPARSE_ROWS = 32;

__device__ static inline int64_t
directed(const GpucolTopnKey &key, int64_t order)
{
	return key.descending ? order : ~order;
}

/* The directed key of a row that is not NULL. */
__device__ static inline int64_t
directed_key(const GpucolTopnKey &key, const GpucolDeviceChunk &chunk, uint32_t vector, int row)
{
	uint64_t	code = chunk_code(chunk, vector, row);

	return directed(key, key.is_float ? gpucol_float_order(float_of_code(chunk, code)) : integer_of_code(chunk, code));
}

__global__ void
bound_zones_kernel(const __grid_constant__ GpucolTopnKey key, int64_t k, int64_t *best, int64_t *worst)
{
	const GpucolScanPlan &scan = key.scan;

	for (uint32_t number = blockIdx.x * blockDim.x + threadIdx.x; number < scan.nvectors;
		 number += gridDim.x * blockDim.x)
	{
		Run			run = find_vector(scan, number);
		const GpucolDeviceSegment &segment = scan.segments[run.segment];
		const GpucolDeviceChunk &chunk = scan.chunks[run.segment * scan.ncolumns + key.slot];
		uint32_t	rows = min((uint32_t) GPUCOL_VECTOR_VALUES, segment.nrows - run.first * GPUCOL_VECTOR_VALUES);
		bool		whole = chunk.zones != NULL && !chunk.all_null;

		best[number] = worst[number] = INT64_MIN;
		if (whole && segment.deleted)
			for (int i = 0; i < 32; i++)
				whole &= segment.deleted[(size_t) run.first * 32 + i] == 0;
		if (!whole)
			continue;

		GpucolZone	zone = chunk.zones[run.first];

		if (zone.min > zone.max)
			continue;
		best[number] = directed(key, key.descending ? zone.max : zone.min);
		if (chunk.nulls == NULL && rows >= k)
			worst[number] = directed(key, key.descending ? zone.min : zone.max);
	}
}

static cudaError_t
bound_zones(const GpucolTopnKey &key, int64_t k, int64_t *best, int64_t *worst,
			cudaStream_t stream)
{
	bound_zones_kernel<<<gpucol_launch_grid(key.scan.nvectors), GPUCOL_THREADS, 0, stream>>>(key, k, best, worst);
	return cudaGetLastError();
}

/* Lane mask of the rows in question. */
__device__ static inline uint32_t
rows_in_question(const GpucolTopnKey &key, const Run &run, uint32_t number, int lane)
{
	return key.matches ? lane_mask_of_rows(key.matches, number, lane) : vector_mask(key.scan, run, run.first, lane);
}

/* Can no row of a vector have a directed key in [lo, hi]? */
__device__ static inline bool
zone_excludes(const GpucolTopnKey &key, const GpucolDeviceChunk &chunk, uint32_t vector, int64_t lo, int64_t hi)
{
	GpucolZone	zone;

	if (chunk.zones == NULL)
		return false;
	zone = chunk.zones[vector];
	if (zone.min > zone.max)
		return false;
	return key.descending ? zone.max < lo || zone.min > hi : ~zone.min < lo || ~zone.max > hi;
}

/* Are a vector's rows in question so few that their keys are read one by one? */
__device__ static inline bool
is_sparse(uint32_t mask)
{
	return warp_sum((uint32_t) __popc(mask)) <= SPARSE_ROWS;
}

/* The i-th vector to look at. */
__device__ static inline uint32_t
vector_at(const GpucolTopnKey &key, uint32_t i)
{
	return key.vectors ? key.vectors[i] : i * key.stride;
}

/* List the vectors that rows which reach the bound can be in. */
__global__ void
bound_vectors_kernel(const __grid_constant__ GpucolTopnKey key, int64_t bound, bool nulls, uint32_t *vectors,
					 uint32_t *count)
{
	const GpucolScanPlan &scan = key.scan;

	for (uint32_t number = blockIdx.x * blockDim.x + threadIdx.x; number < scan.nvectors;
		 number += gridDim.x * blockDim.x)
	{
		Run			run = find_vector(scan, number);
		const GpucolDeviceChunk &chunk = scan.chunks[run.segment * scan.ncolumns + key.slot];

		if ((nulls && (chunk.all_null || chunk.nulls != NULL)) ||
			(!chunk.all_null && !zone_excludes(key, chunk, run.first, bound, INT64_MAX)))
			vectors[atomicAdd(count, 1)] = number;
	}
}

template <bool DENSE>
__global__ void
bound_histogram_kernel(const __grid_constant__ GpucolTopnKey key, int64_t base, int64_t last, int shift,
					   unsigned long long *bins)
{
	__shared__ uint32_t local[BINS];
	const GpucolScanPlan &scan = key.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < key.nvectors; i += warps)
	{
		uint32_t	number = vector_at(key, i);
		Run			run = find_vector(scan, number);
		const GpucolDeviceChunk chunk = scan.chunks[run.segment * scan.ncolumns + key.slot];
		uint32_t	mask;

		if (chunk.all_null || zone_excludes(key, chunk, run.first, base, last))
			continue;
		mask = rows_in_question(key, run, number, lane);
		if (!__any_sync(GPUCOL_ALL_LANES, mask != 0))
			continue;
		if (DENSE && !is_sparse(mask))
		{
			uint32_t	offsets[32];

			mask &= ~load_offsets(chunk, key.offset, run.first, lane, offsets);
#pragma unroll
			for (int p = 0; p < 32; p++)
				if (mask >> p & 1)
				{
					int64_t		x = directed(key, key.offset.base + offsets[p]);

					if (x >= base && x <= last)
						atomicAdd(local + (((uint64_t) x - (uint64_t) base) >> shift), 1);
				}
		}
		else
			for (int p = 0; p < 32; p++)
				if ((mask >> p & 1) && !row_is_null(chunk, run.first, p * 32 + lane))
				{
					int64_t		x = directed_key(key, chunk, run.first, p * 32 + lane);

					if (x >= base && x <= last)
						atomicAdd(local + (((uint64_t) x - (uint64_t) base) >> shift), 1);
				}
		if (is_cancelled(scan))
			break;
	}
	__syncthreads();
	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		if (local[i] > 0)
			atomicAdd(bins + i, (unsigned long long) local[i]);
}

/* Count the directed keys in base .. last by bins of 2^shift; (last - base) >> shift < BINS. */
static cudaError_t
bound_histogram(const GpucolTopnKey &key, int64_t base, int64_t last, int shift,
				unsigned long long *bins, cudaStream_t stream)
{
	if (key.dense)
		bound_histogram_kernel<true><<<gpucol_launch_blocks(bound_histogram_kernel<true>, GPUCOL_THREADS, 0),
									   GPUCOL_THREADS, 0, stream>>>(key, base, last, shift, bins);
	else
		bound_histogram_kernel<false><<<gpucol_launch_blocks(bound_histogram_kernel<false>, GPUCOL_THREADS,
															 0), GPUCOL_THREADS, 0,
															 stream>>>(key, base, last, shift, bins);
	return cudaGetLastError();
}

/* Is there a place left for one more row that equals the bound, or is NULL? */
__device__ static inline bool
take_place(uint32_t most, uint32_t *taken)
{
	return most == 0 || (*(volatile uint32_t *) taken < most && atomicAdd(taken, 1) < most);
}

/*
 * Lane mask of a vector's rows that reach the bound, of those in `mask`.
 */
template <bool DENSE>
__device__ static inline uint32_t
rows_that_reach(const GpucolTopnKey &key, const GpucolDeviceChunk &chunk, uint32_t vector, uint32_t mask,
				int64_t bound, bool nulls,
				uint32_t most, uint32_t *taken, int lane)
{
	uint32_t	offsets[DENSE ? 32 : 1];
	uint32_t	null_mask = DENSE ? load_offsets(chunk, key.offset, vector, lane, offsets) : 0;

#pragma unroll
	for (int p = 0; p < 32; p++)
		if (mask >> p & 1)
		{
			bool		null = DENSE ? null_mask >> p & 1 : row_is_null(chunk, vector, p * 32 + lane);
			int64_t		x = null ? 0 : DENSE ? directed(key, key.offset.base + offsets[DENSE ? p : 0]) :
				directed_key(key, chunk, vector, p * 32 + lane);

			if (null ? !nulls || !take_place(most, taken + 1) : x < bound || (x == bound && !take_place(most, taken)))
				mask &= ~(1u << p);
		}
	return mask;
}

template <bool DENSE>
__global__ void
bound_select_kernel(const __grid_constant__ GpucolTopnKey key, int64_t bound, bool nulls, uint32_t most,
					uint32_t *taken, uint32_t *bitmap,
					unsigned long long *counts)
{
	const GpucolScanPlan &scan = key.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < key.nvectors; i += warps)
	{
		uint32_t	number = vector_at(key, i);
		Run			run = find_vector(scan, number);
		const GpucolDeviceChunk chunk = scan.chunks[run.segment * scan.ncolumns + key.slot];
		bool		nullable = chunk.all_null || chunk.nulls != NULL;
		uint32_t	mask = 0;
		uint32_t	word;
		uint32_t	n;

		bool		enough = key.greatest && most != 0 && *(volatile uint32_t *) taken >= most;
		bool		enough_nulls = !nulls || (most != 0 && ((volatile uint32_t *) taken)[1] >= most);

		if ((nullable && !__all_sync(GPUCOL_ALL_LANES, enough_nulls)) ||
			(!chunk.all_null && !__all_sync(GPUCOL_ALL_LANES, enough) &&
			 !zone_excludes(key, chunk, run.first, bound, INT64_MAX)))
		{
			mask = rows_in_question(key, run, number, lane);
			if (__any_sync(GPUCOL_ALL_LANES, mask != 0))
				mask = rows_that_reach<DENSE>(key, chunk, run.first, mask, bound, nulls, most, taken, lane);
		}
		word = warp_transpose(mask, lane);
		n = warp_sum((uint32_t) __popc(word));
		bitmap[(size_t) number * 32 + lane] = word;
		if (lane == 0)
			counts[number] = n;
		if (is_cancelled(scan))
			break;
	}
}

cudaError_t
gpucol_topn_select(const GpucolTopnKey &key, int64_t bound, bool nulls, uint32_t most, uint32_t *taken,
				   uint32_t *bitmap,
					unsigned long long *counts, cudaStream_t stream)
{
	GpucolTopnKey all = key;
	cudaError_t error;

	if (bitmap == key.matches)
	{
		/* every vector's matches change */
		all.vectors = NULL;
		all.nvectors = key.scan.nvectors;
		all.stride = 1;
	}
	else
	{
		error = cudaMemsetAsync(bitmap, 0, (size_t) key.scan.nvectors * 32 * sizeof(uint32_t), stream);
		if (error != cudaSuccess)
			return error;
	}
	if (key.dense)
		bound_select_kernel<true><<<gpucol_launch_blocks(bound_select_kernel<true>, GPUCOL_THREADS, 0),
									GPUCOL_THREADS, 0, stream>>>(all, bound, nulls, most, taken, bitmap, counts);
	else
		bound_select_kernel<false><<<gpucol_launch_blocks(bound_select_kernel<false>, GPUCOL_THREADS, 0),
									 GPUCOL_THREADS, 0, stream>>>(all, bound, nulls, most, taken, bitmap, counts);
	return cudaGetLastError();
}

__global__ void
bound_ties_kernel(const __grid_constant__ GpucolTopnKey key, int64_t bound, bool nulls,
				  const uint32_t *bitmap, uint32_t *ties, GpucolTopnNumbers *numbers)
{
	const GpucolScanPlan &scan = key.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	GpucolTopnNumbers own = {};	/* of this lane */

	for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < key.nvectors; i += warps)
	{
		uint32_t	number = vector_at(key, i);
		uint32_t	mask = lane_mask_of_rows(bitmap, number, lane);
		uint32_t	tied = 0;
		Run			run;

		if (!__any_sync(GPUCOL_ALL_LANES, mask != 0))
			continue;
		run = find_vector(scan, number);

		const GpucolDeviceChunk &chunk = scan.chunks[run.segment * scan.ncolumns + key.slot];

		for (; mask != 0; mask &= mask - 1)
		{
			int			p = __ffs(mask) - 1;
			bool		null = chunk.all_null || row_is_null(chunk, run.first, p * 32 + lane);
			bool		equal = !null && directed_key(key, chunk, run.first, p * 32 + lane) == bound;

			own.nulls += null;
			own.equal += equal;
			own.beyond += !null && !equal;
			tied |= (uint32_t) (nulls ? null : equal) << p;
		}
		ties[(size_t) number * 32 + lane] = warp_transpose(tied, lane);
		if (is_cancelled(scan))
			break;
	}
	own = {warp_sum(own.beyond), warp_sum(own.equal), warp_sum(own.nulls)};
	if (lane == 0)
	{
		atomicAdd(&numbers->beyond, own.beyond);
		atomicAdd(&numbers->equal, own.equal);
		atomicAdd(&numbers->nulls, own.nulls);
	}
}

cudaError_t
gpucol_topn_ties(const GpucolTopnKey &key, int64_t bound, bool nulls, const uint32_t *bitmap, uint32_t *ties,
				 GpucolTopnNumbers *numbers,
				  cudaStream_t stream)
{
	cudaError_t error = cudaMemsetAsync(ties, 0, (size_t) key.scan.nvectors * 32 * sizeof(uint32_t), stream);

	if (error == cudaSuccess)
		error = cudaMemsetAsync(numbers, 0, sizeof(*numbers), stream);
	if (error != cudaSuccess)
		return error;
	bound_ties_kernel<<<gpucol_launch_blocks(bound_ties_kernel, GPUCOL_THREADS, 0), GPUCOL_THREADS, 0,
						stream>>>(key, bound, nulls, bitmap, ties, numbers);
	return cudaGetLastError();
}

__global__ void
bound_merge_kernel(uint32_t *bitmap, const uint32_t *from, size_t n, bool remove)
{
	GPUCOL_FOR_EACH(i, n)
		bitmap[i] = remove ? bitmap[i] & ~from[i] : bitmap[i] | from[i];
}

cudaError_t
gpucol_topn_merge(uint32_t *bitmap, const uint32_t *from, size_t n, bool remove, cudaStream_t stream)
{
	bound_merge_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream>>>(bitmap, from, n, remove);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Finding the bound
 *-------------------------------------------------------------------------
 */

/* The k-th best of the vectors' best, or what all rows of a vector reach. */
static bool
bound_of_zones(const GpucolTopnKey &key, const GpucolTopnTask &task, int64_t *bound)
{
	uint32_t	n = key.scan.nvectors;
	int64_t    *best = task.scratch->array<int64_t>(2 * (size_t) n, "the sort keys");
	int64_t    *sorted = task.scratch->array<int64_t>(n + 1, "the sort keys");
	int64_t		own[2];
	int64_t    *found = task.pinned != NULL ? (int64_t *) task.pinned : own;
	size_t		sort = 0,
				reduce = 0;
	void	   *temp;

	if (n == 0)
		return false;
	device_check(bound_zones(key, task.k, best, best + n, task.stream), "bound");
	device_check(cub::DeviceRadixSort::SortKeysDescending(NULL, sort, best, sorted, (int) n, 0, 64,
														  task.stream), "bound");
	device_check(cub::DeviceReduce::Max(NULL, reduce, best + n, sorted + n, (int) n, task.stream), "bound");
	temp = task.scratch->allocate(sort > reduce ? sort : reduce, "the sort keys");
	device_check(cub::DeviceReduce::Max(temp, reduce, best + n, sorted + n, (int) n, task.stream), "bound");
	device_check(cudaMemcpyAsync(&found[0], sorted + n, 8, cudaMemcpyDeviceToHost, task.stream), "bound");
	found[1] = INT64_MIN;
	if (task.k <= n)
	{
		device_check(cub::DeviceRadixSort::SortKeysDescending(temp, sort, best, sorted, (int) n, 0, 64,
															  task.stream), "bound");
		device_check(cudaMemcpyAsync(&found[1], sorted + task.k - 1, 8, cudaMemcpyDeviceToHost, task.stream), "bound");
	}
	device_wait(task.stream);
	gpucol_stage(task.stream, "bound of zone maps");
	*bound = found[0] > found[1] ? found[0] : found[1];
	return *bound > INT64_MIN;
}

unsigned long long
gpucol_topn_enough(const GpucolTopnKey &key, const GpucolTopnTask &task)
{
	return 4 * (unsigned long long) task.k + 256 + (unsigned long long) key.nvectors * key.stride / 128;
}

/*
 * The bin of the k-th best of the directed keys in base .. base + range, and in that
 * bin alone again, until few rows are left.
 */
static bool
bound_of_histogram(const GpucolTopnKey &key, const GpucolTopnTask &task, uint64_t base, uint64_t range,
				   int64_t *bound, unsigned long long *rows)
{
	unsigned long long *bins = task.scratch->array<unsigned long long>(BINS, "the sort keys");
	std::vector<unsigned long long> own(task.pinned != NULL ? 0 : BINS);
	unsigned long long *count = task.pinned != NULL ? (unsigned long long *) task.pinned : own.data();
	unsigned long long few = gpucol_topn_enough(key, task) / key.stride;
	unsigned long long above = 0;	/* rows beyond the window */
	int			shift = 0;

	while (shift < 52 && range >> shift >= BINS)
		shift++;
	for (;;)
	{
		int			bin = BINS;

		*rows = above;
		device_check(cudaMemsetAsync(bins, 0, BINS * 8, task.stream), "bound");
		device_check(bound_histogram(key, (int64_t) base, (int64_t) (base + range), shift, bins, task.stream), "bound");
		device_check(cudaMemcpyAsync(count, bins, BINS * 8, cudaMemcpyDeviceToHost, task.stream), "bound");
		device_wait(task.stream);
		gpucol_stage(task.stream, "histogram of keys");
		while (bin > 0 && *rows < (unsigned long long) task.k)
			*rows += count[--bin];
		if (*rows < (unsigned long long) task.k)
			return false;
		base += (uint64_t) bin << shift;
		if (shift == 0 || *rows <= few)
			break;
		above = *rows - count[bin];
		range = std::min(range - ((uint64_t) bin << shift), ((uint64_t) 1 << shift) - 1);
		shift = shift > 12 ? shift - 12 : 0;
	}
	*bound = (int64_t) base;
	return true;
}

/* A bound that k rows of a sample of the vectors reach; *rows may be that many of all. */
static bool
bound_of_sample(const GpucolTopnKey &key, const GpucolTopnTask &task, int64_t least, int64_t most, int64_t *bound,
				unsigned long long *rows)
{
	GpucolTopnKey sample = key;

	sample.stride = SAMPLE_STRIDE;
	sample.nvectors = key.scan.nvectors / SAMPLE_STRIDE;
	if (sample.nvectors < SAMPLE_VECTORS ||
		!bound_of_histogram(sample, task, (uint64_t) least, (uint64_t) most - (uint64_t) least, bound, rows))
		return false;
	*rows *= SAMPLE_STRIDE;
	return true;
}

/* Leave out vectors that no row which reaches the bound is in. */
static void
leave_out_vectors(GpucolTopnKey *key, const GpucolTopnTask &task, int64_t bound)
{
	uint32_t   *vectors = task.scratch->array<uint32_t>((size_t) key->scan.nvectors + 1, "the sort keys");
	uint32_t   *count = vectors + key->scan.nvectors;
	uint32_t	own;
	uint32_t   *n = task.pinned != NULL ? (uint32_t *) task.pinned : &own;

	device_check(cudaMemsetAsync(count, 0, sizeof(uint32_t), task.stream), "bound");
	bound_vectors_kernel<<<gpucol_launch_grid(key->scan.nvectors), GPUCOL_THREADS, 0, task.stream>>>(*key,
			bound, task.nulls, vectors, count);
	device_check(cudaGetLastError(), "bound");
	device_check(cudaMemcpyAsync(n, count, sizeof(uint32_t), cudaMemcpyDeviceToHost, task.stream), "bound");
	device_wait(task.stream);
	key->nvectors = *n;
	key->vectors = vectors;
	gpucol_stage(task.stream, "vectors that can reach the bound");
}

bool
gpucol_topn_find(GpucolTopnKey *key, const GpucolTopnTask &task, int64_t *bound)
{
	int64_t		least = key->descending ? task.lo : ~task.hi;
	int64_t		most = key->descending ? task.hi : ~task.lo;
	unsigned long long rows = ~0ull;	/* that reach the bound, perhaps */
	bool		found;

	key->vectors = NULL;
	key->nvectors = key->scan.nvectors;
	key->stride = 1;
	key->greatest = false;
	found = (task.all_rows && bound_of_zones(*key, task, bound)) ||
		bound_of_sample(*key, task, least, most, bound, &rows);
	if (found)
	{
		least = *bound;
		leave_out_vectors(key, task, least);
	}
	found = found && (least == most || rows <= gpucol_topn_enough(*key, task));
	if (!found && !bound_of_histogram(*key, task, (uint64_t) least, (uint64_t) most - (uint64_t) least, bound, &rows))
		return false;
	key->greatest = *bound == most;
	return true;
}
