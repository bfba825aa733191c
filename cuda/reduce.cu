/*-------------------------------------------------------------------------
 *
 * reduce.cu
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
 * that goes to the table in device memory directly.  (Spreading the object over
 * the shared memory of a cluster's blocks was slower than slices: 23 against 33
 * G rows/s at 100,000 groups, for remote atomics go by the generic path.)
 *
 *-------------------------------------------------------------------------
 */
#include "launch.cuh"
#include "offsets.cuh"
#include "reduce.cuh"

/* Positions of a vector that a warp keeps in registers at a time. */
constexpr int HALF = 16;
constexpr uint32_t HALF_ROWS = (1u << HALF) - 1;

enum WordKind
{
	WORD_SUM = 0,
	WORD_MIN,
	WORD_MAX
};

/* Neutral value of a word; in the table MIN begins at the greatest offset. */
__host__ __device__ static inline uint32_t
neutral32(int kind)
{
	return kind == WORD_MIN ? 0xffffffffu : 0;
}

/* Records of a block that take the rows that do not count: one a lane. */
constexpr uint32_t WASTE = 32;

/*
 * Where a kernel accumulates: 32-bit words in shared memory, or 64-bit words in
 * device memory.  Rows name their group's record by the byte address of its
 * first word, or by the number of the group.
 */
struct SharedTable
{
	static constexpr bool SHARED = true;
	uint32_t	plane;			/* bytes from word w to word w + 1 of a record */
	uint32_t	start;			/* address of record 0's first word, this lane's copy */
	uint32_t	waste;			/* address of this lane's waste record */
	uint32_t	copies;
	uint32_t	nwords;
	unsigned long long *global;

	/* Address of a record from its byte offset in the object's plane. */
	__device__ __forceinline__ uint32_t
	locate(uint32_t offset, uint32_t on) const
	{
		return on ? offset + start : waste;
	}

	__device__ __forceinline__ void
	increment(uint32_t word, uint32_t at) const
	{
		asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(at + word * plane) : "memory");
	}

	/* Add; returns the word before. */
	__device__ __forceinline__ uint32_t
	add(uint32_t word, uint32_t at, uint32_t x) const
	{
		uint32_t	old;

		asm volatile("atom.shared.add.u32 %0, [%1], %2;"
					 : "=r"(old) : "r"(at + word * plane), "r"(x) : "memory");
		return old;
	}

	/* A wrapped word: its carry belongs to the table in device memory. */
	__device__ __forceinline__ void
	carry(uint32_t word, uint32_t group) const
	{
		atomicAdd(global + (size_t) group * nwords + word, 1ull << 32);
	}

	__device__ __forceinline__ void
	least(uint32_t word, uint32_t at, uint32_t x) const
	{
		asm volatile("red.shared.min.u32 [%0], %1;" :: "r"(at + word * plane), "r"(x) : "memory");
	}

	__device__ __forceinline__ void
	greatest(uint32_t word, uint32_t at, uint32_t x) const
	{
		asm volatile("red.shared.max.u32 [%0], %1;" :: "r"(at + word * plane), "r"(x) : "memory");
	}
};

/* In device memory operations can be predicated: rows whose `on` is zero change
 * nothing. */
struct GlobalTable
{
	static constexpr bool SHARED = false;
	unsigned long long *words;
	uint32_t	nwords;
	uint32_t	copies;			/* 1 */

	__device__ __forceinline__ uint32_t
	locate(uint32_t offset, uint32_t) const
	{
		return offset / 4;
	}

	__device__ __forceinline__ unsigned long long *
	at(uint32_t word, uint32_t group) const
	{
		return words + (size_t) group * nwords + word;
	}

	__device__ __forceinline__ void
	increment(uint32_t word, uint32_t group, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p red.global.add.u64 [%0], 1;}"
					 :: "l"(at(word, group)), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	add(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.add.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	least(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.min.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	greatest(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.max.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}
};

/*
 * Byte offset of each row's record in a plane of 4-byte words with `copies`
 * words a group, relative to group `first`.
 */
template <int FIRST>
__device__ __forceinline__ void
load_groups(const GpucolReducePlan &plan, const Run &run, uint32_t vector,
			int lane, uint32_t first, uint32_t copies, uint32_t (&group)[HALF])
{
	for (uint32_t k = 0; k < plan.nkeys; k++)
	{
		const GpucolOffsetColumn column = plan.keys[k];
		uint32_t	stride = plan.strides[k] * copies * 4;
		uint32_t	v[HALF];
		uint32_t	nulls = load_offsets<FIRST, HALF>(plan.scan.chunks[run.segment * plan.scan.ncolumns + column.slot],
													  column, vector, lane, v) >> FIRST;

		if (nulls)
		{
#pragma unroll
			for (int i = 0; i < HALF; i++)
				if (nulls >> i & 1)
					v[i] = plan.cards[k] - 1;
		}
#pragma unroll
		for (int i = 0; i < HALF; i++)
			group[i] = v[i] * stride + (k == 0 ? 0u - first * copies * 4 : group[i]);
	}
}

/*
 * Advance records in shared memory by one input's values.  Where `some`, the
 * rows that are not `present` get values that change nothing.  Returns the rows
 * whose sum wrapped.
 */
__device__ __forceinline__ uint32_t
advance(const SharedTable &table, const GpucolReduceInput &input, const uint32_t (&at)[HALF],
		bool some, uint32_t present, uint32_t (&v)[HALF])
{
	uint32_t	wrapped = 0;

	if (input.ops & GPUCOL_REDUCE_COUNT)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.add(input.count, at[i], present >> i & 1);
	}
	if (input.ops & GPUCOL_REDUCE_MIN)
	{
		if (some)
		{
#pragma unroll
			for (int i = 0; i < HALF; i++)
				v[i] = present >> i & 1 ? v[i] : 0xffffffffu;
		}
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.least(input.min, at[i], v[i]);
	}
	if (some)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			v[i] = present >> i & 1 ? v[i] : 0;
	}
	if (input.ops & GPUCOL_REDUCE_MAX)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.greatest(input.max, at[i], v[i]);
	}
	if (input.ops & GPUCOL_REDUCE_SUM)
	{
		uint32_t	old[HALF];

#pragma unroll
		for (int i = 0; i < HALF; i++)
			old[i] = table.add(input.sum, at[i], v[i]);
#pragma unroll
		for (int i = HALF - 1; i >= 0; i--)
			shift_in_carry(wrapped, old[i], v[i]);
	}
	return wrapped;
}

/* Advance records in device memory by one input's values. */
__device__ __forceinline__ void
advance(const GlobalTable &table, const GpucolReduceInput &input, const uint32_t (&at)[HALF],
		uint32_t present, const uint32_t (&v)[HALF])
{
#pragma unroll
	for (int i = 0; i < HALF; i++)
	{
		uint32_t	on = present & (1u << i);

		if (input.ops & GPUCOL_REDUCE_COUNT)
			table.increment(input.count, at[i], on);
		if (input.ops & GPUCOL_REDUCE_SUM)
			table.add(input.sum, at[i], v[i], on);
		if (input.ops & GPUCOL_REDUCE_MIN)
			table.least(input.min, at[i], v[i], on);
		if (input.ops & GPUCOL_REDUCE_MAX)
			table.greatest(input.max, at[i], v[i], on);
	}
}

/*
 * Carry the sums that wrapped, a rare event: group numbers are read again
 * from the packed keys.
 */
__device__ __forceinline__ void
carry_wrapped(const GpucolReducePlan &plan, const SharedTable &table, const Run &run,
			  uint32_t vector, int lane, int first, uint32_t word, uint32_t wrapped)
{
	while (wrapped)
	{
		int			row = (first + __ffs(wrapped) - 1) * 32 + lane;
		uint32_t	group = 0;

		wrapped &= wrapped - 1;
		for (uint32_t k = 0; k < plan.nkeys; k++)
			group += plan.strides[k] *
				offset_of_row(plan.scan.chunks[run.segment * plan.scan.ncolumns + plan.keys[k].slot],
							  plan.keys[k], vector, row, plan.cards[k] - 1);
		table.carry(word, group);
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

	rows = rows >> FIRST & HALF_ROWS;
	load_groups<FIRST>(plan, run, vector, lane, first, table.copies, group);
	if (sliced)
	{
		uint32_t	inside = 0;

#pragma unroll
		for (int i = HALF - 1; i >= 0; i--)
			shift_in_ge(inside, n * table.copies * 4 - 1, group[i]);
		rows &= inside;
	}
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
		uint32_t	nulls = load_offsets<FIRST, HALF>(chunks[input.column.slot],
													  input.column, vector, lane, values) >> FIRST;

		if constexpr (T::SHARED)
		{
			uint32_t	wrapped = advance(table, input, group, __any_sync(GPUCOL_ALL_LANES, nulls != 0),
										  ~nulls, values) & rows & ~nulls;

			if (wrapped)
				carry_wrapped(plan, table, run, vector, lane, FIRST, input.sum, wrapped);
		}
		else
			advance(table, input, group, rows & ~nulls, values);
	}
}

/*
 * Process the runs from number `warp` in steps of `warps`.  With slices > 1
 * only the `n` groups from `first` on are kept.
 */
template <class T>
__device__ __forceinline__ void
reduce_runs(const GpucolReducePlan &plan, const T &table, uint32_t warp,
			uint32_t warps, uint32_t first, uint32_t n, bool sliced)
{
	const GpucolScanPlan &scan = plan.scan;
	int			lane = threadIdx.x % 32;

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
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
		if (*scan.cancel)
			break;
	}
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

__global__ void __launch_bounds__(GPUCOL_AGG_THREADS, 1)
reduce_shared_kernel(const GpucolReducePlan plan)
{
	extern __shared__ uint32_t words[];
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;
	uint32_t	sets = gridDim.x / plan.slices;
	uint32_t	set = blockIdx.x / plan.slices;
	uint32_t	first = blockIdx.x % plan.slices * per_slice;
	uint32_t	n = first >= plan.ngroups || set >= sets ? 0 : min(per_slice, plan.ngroups - first);
	uint32_t	plane = n * plan.copies + WASTE;
	SharedTable table;

	table.plane = plane * 4;
	table.start = (uint32_t) __cvta_generic_to_shared(words) + threadIdx.x % plan.copies * 4;
	table.waste = (uint32_t) __cvta_generic_to_shared(words) + (n * plan.copies + threadIdx.x % WASTE) * 4;
	table.copies = plan.copies;
	table.nwords = plan.nwords;
	table.global = plan.table;
	clear_object(plan, words, plane);
	__syncthreads();
	if (n > 0)
		reduce_runs(plan, table, (set * blockDim.x + threadIdx.x) / 32, sets * blockDim.x / 32,
					first, n, plan.slices > 1);
	__syncthreads();
	flush_object(plan, words, plane, first, n);
}

__global__ void __launch_bounds__(GPUCOL_AGG_GLOBAL_THREADS, 2)
reduce_global_kernel(const GpucolReducePlan plan)
{
	GlobalTable table = {plan.table, plan.nwords, 1};

	reduce_runs(plan, table, (blockIdx.x * blockDim.x + threadIdx.x) / 32,
				gridDim.x * blockDim.x / 32, 0, plan.ngroups, false);
}

__global__ void
reduce_init_kernel(const GpucolReducePlan plan)
{
	size_t		n = (size_t) plan.ngroups * plan.nwords;
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
	{
		int			kind = plan.word_kinds >> (2 * (i % plan.nwords)) & 3;

		plan.table[i] = neutral32(kind);
	}
}

void
gpucol_reduce_layout(GpucolReducePlan *plan)
{
	uint32_t	words = 1;
	uint32_t	kinds = WORD_SUM;
	uint32_t	groups = plan->ngroups;
	uint32_t	fit;

	for (uint32_t i = 0; i < plan->ninputs; i++)
	{
		GpucolReduceInput *in = &plan->inputs[i];

		/* without NULLs the count of the values is that of the rows */
		if (!in->column.nullable)
			in->ops &= ~GPUCOL_REDUCE_COUNT;
		in->count = 0;
		if (in->ops & GPUCOL_REDUCE_COUNT)
			in->count = words++;
		if (in->ops & GPUCOL_REDUCE_SUM)
			in->sum = words++;
		if (in->ops & GPUCOL_REDUCE_MIN)
		{
			kinds |= WORD_MIN << (2 * words);
			in->min = words++;
		}
		if (in->ops & GPUCOL_REDUCE_MAX)
		{
			kinds |= WORD_MAX << (2 * words);
			in->max = words++;
		}
	}
	plan->nwords = words;
	plan->word_kinds = kinds;
	fit = GPUCOL_AGG_SHARED_BYTES / (4 * words) - WASTE;
	plan->slices = (groups + fit - 1) / fit;
	plan->copies = groups <= GPUCOL_AGG_LANE_COPIES_GROUPS ? 32 :
		groups <= GPUCOL_AGG_EIGHT_COPIES_GROUPS ? 8 : 1;
	while (plan->copies > 1 && groups * plan->copies > fit)
		plan->copies /= 2;
}

cudaError_t
gpucol_reduce_init(const GpucolReducePlan &plan, cudaStream_t stream)
{
	reduce_init_kernel<<<gpucol_launch_blocks(reduce_init_kernel, 256, 0), 256, 0, stream>>>(plan);
	return cudaGetLastError();
}

cudaError_t
gpucol_reduce_groups(const GpucolReducePlan &plan, cudaStream_t stream)
{
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;
	size_t		bytes = (size_t) (per_slice * plan.copies + WASTE) * plan.nwords * 4;

	if (plan.slices <= GPUCOL_AGG_MAX_SLICES)
	{
		cudaError_t err = cudaFuncSetAttribute(reduce_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
											   GPUCOL_AGG_SHARED_BYTES);

		if (err != cudaSuccess)
			return err;
		reduce_shared_kernel<<<gpucol_launch_blocks(reduce_shared_kernel, GPUCOL_AGG_THREADS, bytes),
			GPUCOL_AGG_THREADS, bytes, stream>>>(plan);
	}
	else
		reduce_global_kernel<<<gpucol_launch_blocks(reduce_global_kernel, GPUCOL_AGG_GLOBAL_THREADS, 0),
			GPUCOL_AGG_GLOBAL_THREADS, 0, stream>>>(plan);
	return cudaGetLastError();
}
