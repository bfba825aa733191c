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
 * Contention: few groups make the lanes of a warp meet in one word.  The
 * object then has several copies (the paper's multi-group scheme), laid out so
 * that the copies of one word lie in different banks.
 *
 * Size: a domain that does not fit one block's shared memory is spread over the
 * blocks of a cluster, which reach each other's; else cut in slices: as many
 * neighbouring blocks read the same vectors, each keeping one slice, and the
 * second and later readings come from the L2 cache.  A domain too large for
 * that goes to the table in device memory directly.
 *
 *-------------------------------------------------------------------------
 */
#include <cooperative_groups.h>

#include "launch.cuh"
#include "offsets.cuh"
#include "reduce.cuh"

/* Positions of a vector that a warp keeps in registers at a time. */
constexpr int HALF = 16;

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

/*
 * Where a kernel accumulates: 32-bit words in shared memory (of this block, or
 * spread over the blocks of a cluster), or 64-bit words in device memory.  Rows
 * name their group's record by a key that load_groups() makes: a byte address
 * of the record's first word, or the number of the group.
 *
 * Every operation takes `on`: rows whose `on` is zero change nothing.  They are
 * predicated rather than branched around, which keeps the lanes of a warp and
 * the operations of a vector together.
 */
template <bool CLUSTER>
struct SharedTable
{
	static constexpr bool SHARED = true;
	uint32_t	plane;			/* bytes from word w to word w + 1 of a record */
	uint32_t	start;			/* address of record 0's first word, this lane's copy */
	uint32_t	per_block;		/* bytes of a block's plane; CLUSTER: power of two */
	uint32_t	shift;			/* CLUSTER: log2 of per_block */
	uint32_t	copies;
	uint32_t	first;			/* first group of the slice */
	uint32_t	nwords;
	unsigned long long *global;

	/* Address of a record from its byte offset in the whole object's plane. */
	__device__ __forceinline__ uint32_t
	locate(uint32_t offset) const
	{
		if (!CLUSTER)
			return offset + start;
		else
		{
			uint32_t	block = offset >> shift;
			uint32_t	address;

			asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address)
				: "r"(start + (offset & (per_block - 1))), "r"(block));
			return address;
		}
	}

	__device__ __forceinline__ void
	increment(uint32_t word, uint32_t at, uint32_t on) const
	{
		if (CLUSTER)
			asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p red.shared::cluster.add.u32 [%0], 1;}"
						 :: "r"(at + word * plane), "r"(on) : "memory");
		else
			asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p red.shared.add.u32 [%0], 1;}"
						 :: "r"(at + word * plane), "r"(on) : "memory");
	}

	/* Add; returns whether the word wrapped. */
	__device__ __forceinline__ bool
	add(uint32_t word, uint32_t at, uint32_t x, uint32_t on) const
	{
		uint32_t	old = 0;

		if (CLUSTER)
			asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p atom.shared::cluster.add.u32 %0, [%1], %2;}"
						 : "+r"(old) : "r"(at + word * plane), "r"(x), "r"(on) : "memory");
		else
			asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p atom.shared.add.u32 %0, [%1], %2;}"
						 : "+r"(old) : "r"(at + word * plane), "r"(x), "r"(on) : "memory");
		return old > ~x;
	}

	/* A wrapped word: its carry belongs to the table in device memory. */
	__device__ __forceinline__ void
	carry(uint32_t word, uint32_t group) const
	{
		atomicAdd(global + (size_t) group * nwords + word, 1ull << 32);
	}

	/* Extremes settle soon: most rows are answered by a plain read. */
	__device__ __forceinline__ void
	least(uint32_t word, uint32_t at, uint32_t x, uint32_t on) const
	{
		if (CLUSTER)
			asm volatile("{.reg .pred p; .reg .u32 t; setp.ne.u32 p, %2, 0; mov.u32 t, 0;\n\t"
						 "@p ld.volatile.shared::cluster.u32 t, [%0]; setp.lt.u32 p, %1, t;\n\t"
						 "@p red.shared::cluster.min.u32 [%0], %1;}"
						 :: "r"(at + word * plane), "r"(x), "r"(on) : "memory");
		else
			asm volatile("{.reg .pred p; .reg .u32 t; setp.ne.u32 p, %2, 0; mov.u32 t, 0;\n\t"
						 "@p ld.volatile.shared.u32 t, [%0]; setp.lt.u32 p, %1, t;\n\t"
						 "@p red.shared.min.u32 [%0], %1;}"
						 :: "r"(at + word * plane), "r"(x), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	greatest(uint32_t word, uint32_t at, uint32_t x, uint32_t on) const
	{
		if (CLUSTER)
			asm volatile("{.reg .pred p; .reg .u32 t; setp.ne.u32 p, %2, 0; mov.u32 t, 0xffffffff;\n\t"
						 "@p ld.volatile.shared::cluster.u32 t, [%0]; setp.gt.u32 p, %1, t;\n\t"
						 "@p red.shared::cluster.max.u32 [%0], %1;}"
						 :: "r"(at + word * plane), "r"(x), "r"(on) : "memory");
		else
			asm volatile("{.reg .pred p; .reg .u32 t; setp.ne.u32 p, %2, 0; mov.u32 t, 0xffffffff;\n\t"
						 "@p ld.volatile.shared.u32 t, [%0]; setp.gt.u32 p, %1, t;\n\t"
						 "@p red.shared.max.u32 [%0], %1;}"
						 :: "r"(at + word * plane), "r"(x), "r"(on) : "memory");
	}
};

struct GlobalTable
{
	static constexpr bool SHARED = false;
	unsigned long long *words;
	uint32_t	nwords;
	uint32_t	copies;			/* 1 */

	__device__ __forceinline__ uint32_t
	locate(uint32_t offset) const
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

	__device__ __forceinline__ bool
	add(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.add.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
		return false;
	}

	__device__ __forceinline__ void
	carry(uint32_t, uint32_t) const
	{
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

/* Advance the records of the groups by one input's values. */
template <class T>
__device__ __forceinline__ void
advance(const T &table, const GpucolReduceInput &input, const uint32_t (&at)[HALF],
		uint32_t present, const uint32_t (&v)[HALF], uint32_t &wrapped)
{
	if (input.ops & GPUCOL_REDUCE_COUNT)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.increment(input.count, at[i], present & (1u << i));
	}
	if (input.ops & GPUCOL_REDUCE_SUM)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			if (table.add(input.sum, at[i], v[i], present & (1u << i)))
				wrapped |= 1u << i;
	}
	if (input.ops & GPUCOL_REDUCE_MIN)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.least(input.min, at[i], v[i], present & (1u << i));
	}
	if (input.ops & GPUCOL_REDUCE_MAX)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.greatest(input.max, at[i], v[i], present & (1u << i));
	}
}

/*
 * Carry the sums that wrapped, a rare event: group numbers are read again
 * from the packed keys.
 */
template <class T>
__device__ __forceinline__ void
carry_wrapped(const GpucolReducePlan &plan, const T &table, const Run &run,
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

	rows = rows >> FIRST & ((1u << HALF) - 1);
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
		group[i] = table.locate(group[i]);
#pragma unroll
	for (int i = 0; i < HALF; i++)
		table.increment(0, group[i], rows & (1u << i));
	for (uint32_t i = 0; i < plan.ninputs; i++)
	{
		const GpucolReduceInput &input = plan.inputs[i];
		uint32_t	values[HALF];
		uint32_t	wrapped = 0;
		uint32_t	nulls = load_offsets<FIRST, HALF>(chunks[input.column.slot],
													  input.column, vector, lane, values) >> FIRST;

		advance(table, input, group, rows & ~nulls, values, wrapped);
		if (T::SHARED && wrapped)
			carry_wrapped(plan, table, run, vector, lane, FIRST, input.sum, wrapped);
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
	uint32_t	plane = n * plan.copies;
	SharedTable<false> table;

	table.plane = plane * 4;
	table.start = (uint32_t) __cvta_generic_to_shared(words) + threadIdx.x % plan.copies * 4;
	table.per_block = 0;
	table.shift = 0;
	table.copies = plan.copies;
	table.first = first;
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

/* The object spread over the shared memory of a cluster's blocks. */
__global__ void __launch_bounds__(GPUCOL_AGG_THREADS, 1)
reduce_cluster_kernel(const GpucolReducePlan plan)
{
	extern __shared__ uint32_t words[];
	cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
	uint32_t	first = cluster.block_rank() << plan.cluster_shift;
	uint32_t	plane = 1u << plan.cluster_shift;
	uint32_t	n = first >= plan.ngroups ? 0 : min(plane, plan.ngroups - first);
	SharedTable<true> table;

	table.plane = plane * 4;
	table.start = (uint32_t) __cvta_generic_to_shared(words);
	table.per_block = plane * 4;
	table.shift = plan.cluster_shift + 2;
	table.copies = 1;
	table.first = 0;
	table.nwords = plan.nwords;
	table.global = plan.table;
	clear_object(plan, words, plane);
	cluster.sync();
	reduce_runs(plan, table, (blockIdx.x * blockDim.x + threadIdx.x) / 32,
				gridDim.x * blockDim.x / 32, 0, plan.ngroups, false);
	cluster.sync();
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
	fit = GPUCOL_AGG_SHARED_BYTES / (4 * words);
	plan->slices = (groups + fit - 1) / fit;
	plan->copies = groups <= GPUCOL_AGG_LANE_COPIES_GROUPS ? 32 :
		groups <= GPUCOL_AGG_EIGHT_COPIES_GROUPS ? 8 : 1;
	while (plan->copies > 1 && groups * plan->copies > fit)
		plan->copies /= 2;

	/* a cluster's blocks hold a power of two of groups each */
	plan->cluster_blocks = 0;
	plan->cluster_shift = 31 - __builtin_clz(fit);
	if (plan->slices > 1 &&
		(int) ((groups - 1) >> plan->cluster_shift) < GPUCOL_AGG_CLUSTER_BLOCKS)
		plan->cluster_blocks = GPUCOL_AGG_CLUSTER_BLOCKS;
	if (plan->cluster_blocks > 0)
		while (plan->cluster_shift > 0 &&
			   (int) ((groups - 1) >> (plan->cluster_shift - 1)) < GPUCOL_AGG_CLUSTER_BLOCKS)
			plan->cluster_shift--;
}

cudaError_t
gpucol_reduce_init(const GpucolReducePlan &plan, cudaStream_t stream)
{
	reduce_init_kernel<<<gpucol_launch_blocks(reduce_init_kernel, 256, 0), 256, 0, stream>>>(plan);
	return cudaGetLastError();
}

/* Launch a kernel whose blocks use `bytes` of shared memory, in clusters. */
static cudaError_t
launch_object(void (*kernel) (GpucolReducePlan), const GpucolReducePlan &plan,
			  size_t bytes, int cluster, cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	cudaError_t err;
	int			clusters = 0;

	err = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
							   GPUCOL_AGG_SHARED_BYTES);
	if (err != cudaSuccess)
		return err;
	config.blockDim = dim3(GPUCOL_AGG_THREADS);
	config.dynamicSmemBytes = bytes;
	config.stream = stream;
	if (cluster > 1)
	{
		attribute.id = cudaLaunchAttributeClusterDimension;
		attribute.val.clusterDim.x = cluster;
		attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
		config.attrs = &attribute;
		config.numAttrs = 1;
		config.gridDim = dim3(cluster);
		err = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
		if (err != cudaSuccess)
			return err;
		config.gridDim = dim3(cluster * (clusters > 0 ? clusters : 1));
	}
	else
		config.gridDim = dim3(gpucol_launch_blocks(kernel, GPUCOL_AGG_THREADS, bytes));
	return cudaLaunchKernelEx(&config, kernel, plan);
}

cudaError_t
gpucol_reduce_groups(const GpucolReducePlan &plan, cudaStream_t stream)
{
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;

	if (plan.cluster_blocks > 0)
		return launch_object(reduce_cluster_kernel, plan,
							 ((size_t) plan.nwords * 4) << plan.cluster_shift,
							 plan.cluster_blocks, stream);
	if (plan.slices <= GPUCOL_AGG_MAX_SLICES)
		return launch_object(reduce_shared_kernel, plan,
							 (size_t) per_slice * plan.copies * plan.nwords * 4, 1, stream);
	reduce_global_kernel<<<gpucol_launch_blocks(reduce_global_kernel, GPUCOL_AGG_GLOBAL_THREADS, 0),
		GPUCOL_AGG_GLOBAL_THREADS, 0, stream>>>(plan);
	return cudaGetLastError();
}
