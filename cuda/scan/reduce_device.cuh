/*-------------------------------------------------------------------------
 *
 * reduce_device.cuh
 *	  GROUP BY over plain columns with a dense domain of keys.
 *
 * The reduction object of a block (Chen and Agrawal, "Optimizing MapReduce for
 * GPUs with effective shared memory usage", HPDC 2012) is a table of 32-bit
 * words in shared memory, one record a group: rows, and per input the words
 * that its aggregates need.  A 32-bit sum that wraps carries into the table in
 * device memory at once, so sums are exact without flushing.  At the end each
 * block adds its object to that table.
 *
 * The floor: a row costs one shared-memory operation a word of its record, and
 * 32 rows in random groups about 3.4 passes of the banks an operation.  So the
 * operations must follow each other without waiting: they are not predicated
 * (the hardware cannot predicate them; a branch around each costs more than the
 * operation), rows that do not count go to a record that nobody reads, and old
 * values are looked at only after all operations of a half vector are issued.
 *
 * Contention: few groups make the lanes of a warp meet in one word.  The
 * object then has several copies (the paper's multi-group scheme), laid out so
 * that the copies of one word lie in different banks.
 *
 * Size: a domain that does not fit one block's shared memory is cut in slices:
 * as many neighbouring blocks read the same vectors, each keeping one slice, and
 * the second and later readings come from the L2 cache.  A domain too large for
 * that is partitioned first (reduce_partition.cu), or goes to the table in device
 * memory directly.  (Spreading the object over
 * the shared memory of a cluster's blocks was slower than slices: 23 against 33
 * G rows/s at 100,000 groups, for remote atomics go by the generic path.)
 *
 * The code is compiled several times: ahead of time for any plan (reduce.cu) and
 * for plans of few columns (reduce_few.cu), and at run time for one shape of plan
 * (jit_reduce.cc), whose columns' widths and aggregates are then constants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_DEVICE_CUH
#define GPUCOL_CUDA_REDUCE_DEVICE_CUH

#include "cuda/scan/reduce_direct.cuh"

/*
 * Byte offset of each row's record in a plane of 4-byte words with `copies`
 * words a group, relative to group `first`.
 */
template <int FIRST, int N>
__device__ __forceinline__ void
load_groups(const GpucolReducePlan &plan, const GpucolDeviceChunk *chunks, uint32_t vector,
			int lane, uint32_t first, uint32_t copies, uint32_t (&group)[N])
{
	for (uint32_t k = 0; k < plan.nkeys; k++)
	{
		const GpucolOffsetColumn column = plan.keys[k];
		uint32_t	stride = plan.strides[k] * copies * 4;
		uint32_t	v[N];
		uint32_t	nulls = load_offsets<FIRST, N>(chunks[column.slot], column, vector, lane, v) >> FIRST;

		if (nulls)
		{
#pragma unroll
			for (int i = 0; i < N; i++)
				if (nulls >> i & 1)
					v[i] = plan.cards[k] - 1;
		}
#pragma unroll
		for (int i = 0; i < N; i++)
			group[i] = v[i] * stride + (k == 0 ? 0u - first * copies * 4 : group[i]);
	}
}

/* Those of N rows whose value is at most `most`: bit i is v[i]. */
template <int N>
__device__ __forceinline__ uint32_t
rows_at_most(const uint32_t (&v)[N], uint32_t most)
{
	uint32_t	rows = 0;

#pragma unroll
	for (int i = N - 1; i >= 0; i--)
		shift_in_ge(rows, most, v[i]);
	return rows;
}

/*
 * Advance the groups of HALF rows a lane, of which `rows` are in play.  group: byte
 * offsets in a plane, relative to group `first`; they become addresses.  load(input,
 * values) fills in the offsets of an input and returns which of them are NULL.
 */
template <class T, class Load>
__device__ __forceinline__ void
reduce_offsets(const GpucolReducePlan &plan, const T &table, uint32_t (&group)[HALF],
			   uint32_t rows, uint32_t first, uint32_t n, bool sliced, Load load)
{
	if (sliced)
		rows &= rows_at_most(group, n * table.copies * 4 - 1);
#pragma unroll
	for (int i = 0; i < HALF; i++)
		group[i] = table.locate(group[i], rows & (1u << i));
#pragma unroll
	for (int i = 0; i < HALF; i++)
		if constexpr (T::SHARED)
			table.increment(0, group[i]);
		else
			table.increment(0, group[i], rows & (1u << i));
	for (uint32_t i = 0; i < plan.ninputs; i++)
	{
		const GpucolReduceInput &input = plan.inputs[i];
		uint32_t	values[HALF];
		uint32_t	nulls = load(i, values);

		if constexpr (T::SHARED)
		{
			uint32_t	wrapped = advance(table, input, input.ops, group, __any_sync(GPUCOL_ALL_LANES, nulls != 0),
										  ~nulls, values) & rows & ~nulls;

			if (wrapped)
				carry_wrapped(table, group, first, input.sum, wrapped);
		}
		else
			advance(table, input, input.ops, group, rows & ~nulls, values);
	}
}

/*
 * Advance the groups of positions FIRST .. FIRST + HALF - 1 of a vector, whose
 * rows in play are `rows`.
 */
template <int FIRST, class T>
__device__ __forceinline__ void
reduce_half(const GpucolReducePlan &plan, const T &table, const Run &run,
			const GpucolDeviceChunk *chunks, uint32_t vector, int lane,
			uint32_t rows, uint32_t first, uint32_t n, bool sliced)
{
	uint32_t	group[HALF];

	load_groups<FIRST>(plan, chunks, vector, lane, first, table.copies, group);
	reduce_offsets(plan, table, group, rows >> FIRST & HALF_ROWS, first, n, sliced,
				   [&] (uint32_t i, uint32_t (&values)[HALF]) {
					   const GpucolOffsetColumn &column = plan.inputs[i].column;

					   return load_offsets<FIRST, HALF>(chunks[column.slot], column, vector, lane, values) >> FIRST;
				   });
}

/* The shape of the kernels that take any plan. */
struct AnyShape
{
	static constexpr bool DIRECT = false;
	static constexpr bool FEW = false;
};

/* Is the run one of those that a kernel for few columns has done (reduce_few.cu)? */
__device__ __forceinline__ bool
done_by_few(const GpucolReducePlan &plan, const Run &run)
{
	const GpucolDeviceChunk *chunks = plan.scan.chunks + run.segment * plan.scan.ncolumns;
	bool		fits = plan.few > 0;

	for (uint32_t k = 0; fits && k < plan.nkeys; k++)
		fits = gpucol_reduce_fits(chunks[plan.keys[k].slot], plan.few);
	for (uint32_t i = 0; fits && i < plan.ninputs; i++)
		fits = gpucol_reduce_fits(chunks[plan.inputs[i].column.slot], plan.few);
	return fits;
}

/* Process a run whatever its chunks are. */
template <class T>
__device__ __forceinline__ void
reduce_any(const GpucolReducePlan &plan, const T &table, const Run &run, uint32_t skip,
		   int lane, uint32_t first, uint32_t n, bool sliced)
{
	const GpucolScanPlan &scan = plan.scan;
	const GpucolDeviceChunk *chunks = scan.chunks + run.segment * scan.ncolumns;

	for (uint32_t v = 0; v < run.n; v++)
	{
		uint32_t	vector = run.first + v;
		uint32_t	rows;

		if (skip >> v & 1)
			continue;
		if (v + 1 < run.n)
		{
			for (uint32_t k = 0; k < plan.nkeys; k++)
				prefetch_vector(chunks[plan.keys[k].slot], vector + 1, lane);
			for (uint32_t i = 0; i < plan.ninputs; i++)
				prefetch_vector(chunks[plan.inputs[i].column.slot], vector + 1, lane);
		}
		rows = vector_mask(scan, run, vector, lane);
		if (!__any_sync(GPUCOL_ALL_LANES, rows != 0))
			continue;
		reduce_half<0>(plan, table, run, chunks, vector, lane, rows, first, n, sliced);
		reduce_half<HALF>(plan, table, run, chunks, vector, lane, rows, first, n, sliced);
	}
}

/*
 * Process the runs from number `warp` in steps of `warps`.  With slices > 1
 * only the `n` groups from `first` on are kept.  Runs that the shape does not
 * describe come last, in a loop of their own: in one loop with the others they
 * would take registers from them.
 */
template <class S, class T>
__device__ __forceinline__ void
reduce_runs(const GpucolReducePlan &plan, const T &table, uint32_t warp,
			uint32_t warps, uint32_t first, uint32_t n, bool sliced)
{
	const GpucolScanPlan &scan = plan.scan;
	int			lane = threadIdx.x % 32;

	bool		rest = !S::DIRECT;

	if constexpr (S::DIRECT)
		for (uint32_t number = warp; number < scan.nruns && !is_cancelled(scan); number += warps)
		{
			Run			run = find_run(scan, number);

			if (shape_fits<S>(plan, run))
				reduce_direct<S>(plan, table, run, skipped_by_zones(scan, run, lane), lane, first, n, sliced);
			else
				rest = true;
		}
	if constexpr (!S::FEW)
		for (uint32_t number = warp; rest && number < scan.nruns && !is_cancelled(scan); number += warps)
		{
			Run			run = find_run(scan, number);

			if constexpr (S::DIRECT)
			{
				if (shape_fits<S>(plan, run))
					continue;
			}
			else if (done_by_few(plan, run))
				continue;
			reduce_any(plan, table, run, skipped_by_zones(scan, run, lane), lane, first, n, sliced);
		}
}

/* A block's object of n groups, which begins at `words`. */
__device__ __forceinline__ SharedTable
object_at(const GpucolReducePlan &plan, uint32_t *words, uint32_t n)
{
	SharedTable table;

	table.plane = (n * plan.copies + WASTE) * 4;
	table.start = (uint32_t) __cvta_generic_to_shared(words) + threadIdx.x % plan.copies * 4;
	table.waste = (uint32_t) __cvta_generic_to_shared(words) + (n * plan.copies + threadIdx.x % WASTE) * 4;
	table.copies = plan.copies;
	table.nwords = plan.nwords;
	table.global = plan.table;
	return table;
}

/* Set a block's part of the object, n records, to neutral values. */
__device__ static void
clear_object(const GpucolReducePlan &plan, uint32_t *words, uint32_t plane)
{
	for (uint32_t w = 0; w < plan.nwords; w++)
		for (uint32_t i = threadIdx.x; i < plane; i += blockDim.x)
			words[w * plane + i] = neutral32(plan.word_kinds >> (2 * w) & 3);
}

/* Combine the copies of n records and add them to the table from `first` on. */
__device__ static void
flush_object(const GpucolReducePlan &plan, const uint32_t *words, uint32_t plane,
			 uint32_t first, uint32_t n)
{
	for (uint32_t w = 0; w < plan.nwords; w++)
	{
		int			kind = plan.word_kinds >> (2 * w) & 3;

		for (uint32_t g = threadIdx.x; g < n; g += blockDim.x)
		{
			const uint32_t *from = words + w * plane + g * plan.copies;
			unsigned long long *to = plan.table + (size_t) (first + g) * plan.nwords + w;
			unsigned long long sum = 0;
			uint32_t	extreme = neutral32(kind);

			for (uint32_t c = 0; c < plan.copies; c++)
			{
				uint32_t	x = from[(c + g) & (plan.copies - 1)];

				sum += x;
				extreme = kind == WORD_MIN ? min(extreme, x) : max(extreme, x);
			}
			if (kind == WORD_SUM && sum != 0)
				atomicAdd(to, sum);
			else if (kind == WORD_MIN && extreme != neutral32(kind))
				atomicMin(to, (unsigned long long) extreme);
			else if (kind == WORD_MAX && extreme != 0)
				atomicMax(to, (unsigned long long) extreme);
		}
	}
}

/*
 * One block's part of a reduction in shared memory: its object, its share of the
 * runs, and the object's way into the table.
 */
template <class S>
__device__ __forceinline__ void
reduce_block(const GpucolReducePlan &plan)
{
	extern __shared__ uint32_t words[];
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;
	uint32_t	sets = gridDim.x / plan.slices;
	uint32_t	set = blockIdx.x / plan.slices;
	uint32_t	first = blockIdx.x % plan.slices * per_slice;
	uint32_t	n = first >= plan.ngroups || set >= sets ? 0 : min(per_slice, plan.ngroups - first);
	uint32_t	plane = n * plan.copies + WASTE;
	SharedTable table = object_at(plan, words, n);

	clear_object(plan, words, plane);
	__syncthreads();
	if (n > 0)
		reduce_runs<S>(plan, table, (set * blockDim.x + threadIdx.x) / 32, sets * blockDim.x / 32,
					first, n, plan.slices > 1);
	__syncthreads();
	flush_object(plan, words, plane, first, n);
}

#endif
