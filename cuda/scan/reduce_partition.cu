/*-------------------------------------------------------------------------
 *
 * reduce_partition.cu
 *	  GROUP BY over a dense domain of more groups than shared memory holds: rows
 *	  are partitioned by the upper bits of their group's number first.
 *
 * The table of tens of millions of groups lies in device memory, and a row that
 * advances it there takes random atomic operations on lines that no cache holds.
 * Instead, for as many runs of the scan at a time as scratch memory has room for:
 *
 *	  count		the matching rows of each partition, from the keys alone
 *	  start		where each partition begins: their exclusive sum
 *	  scatter	the matching rows, packed, to their partitions
 *	  reduce	each partition's rows into a reduction object in shared memory, which
 *				is then added to the table: neighbouring groups, once a partition
 *
 * So a row is written and read once, and the table once for many rows.  A row is
 * a few 32-bit words, each in a plane of its own: the number of its group within the
 * partition, and what the inputs' offsets need of bits in all segments; no field
 * crosses words.
 *
 * Scattering: a block takes a run, a warp each vector of it.  Every row draws its
 * rank among the run's rows of its partition from a counter in shared memory; the
 * counters' exclusive sum says where in the run's order by partitions the row
 * belongs, and a cursor for each partition in device memory where that piece of the
 * partition goes.  The rows are put in order in shared memory, a word at a time, and
 * leave it so that neighbours in a partition are written together.  The order of
 * rows within a partition is that of chance, which sums, minima and maxima do not see.
 *
 * Reducing: the blocks share the rows evenly whatever the partitions' sizes are, for
 * keys may be skewed; what a block begins or ends within a partition, others add to
 * the table too, so objects go there by atomic operations.  Where a partition does
 * not fit shared memory its rows are read several times, from the L2 cache, a slice
 * of the partition each time.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/reduce_partition.cuh"

#include <algorithm>

#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/scan/reduce_device.cuh"

/* A block that scatters takes a run of vectors at a time, a warp each. */
constexpr int THREADS = GPUCOL_RUN_VECTORS * 32;
constexpr uint32_t TILE = GPUCOL_RUN_VECTORS * GPUCOL_VECTOR_VALUES;

/* Partitions whose counters a thread adds up. */
constexpr int OWN = GPUCOL_PARTITIONS / THREADS;

/* Groups of a partition, at most 2^this: byte offsets of partitions, and of a lane's own
 * one after them, are 32 bits. */
constexpr uint32_t MAX_SHIFT = 18;

typedef cub::BlockScan<uint32_t, THREADS> PartitionScan;

/* One warp adds up the rows that do not count. */
typedef cub::WarpScan<uint32_t> WasteScan;

/* A block's memory while it scatters. */
struct ScatterMemory
{
	uint32_t	counts[GPUCOL_PARTITIONS + WASTE];	/* rows of a partition, then where they begin;
													 * of each lane, those that do not count */
	uint32_t	base[GPUCOL_PARTITIONS];	/* what takes a row's place in the run to that in its plane */
	uint32_t	stage[TILE];	/* a word of each row, in order; those that do not count come last */
	uint16_t	partition[TILE];	/* of each row, in order */
	PartitionScan::TempStorage scan;
	WasteScan::TempStorage waste_scan;
};

static_assert(GPUCOL_PARTITIONS % THREADS == 0 && GPUCOL_PARTITIONS <= 65536, "counters are dealt to threads");
static_assert(WASTE == 32, "a warp adds up the rows that do not count");
static_assert(TILE <= 65536, "two places in a run share a word");

/* Runs of a scan. */
struct RunSpan
{
	uint32_t	first;
	uint32_t	end;
};

/* Has the host given up?  All threads of a block ask for the i-th time, and get
 * the same; they wait for each other also where it is not looked at. */
__device__ __forceinline__ bool
block_is_cancelled(const GpucolScanPlan &scan, uint32_t i)
{
	return __syncthreads_or(threadIdx.x == 0 && i % GPUCOL_CANCEL_RUNS == GPUCOL_CANCEL_RUNS - 1 &&
							*scan.cancel != 0) != 0;
}

/* Send the rows of a half that are not in `rows` to a partition of the lane's own, which
 * is none. */
__device__ __forceinline__ void
divert_rows(const GpucolPartitionPlan &parts, int lane, uint32_t rows, uint32_t (&group)[HALF])
{
	uint32_t	none = (GPUCOL_PARTITIONS + lane) << (parts.shift + 2);

	if (!__any_sync(GPUCOL_ALL_LANES, rows != HALF_ROWS))
		return;
#pragma unroll
	for (int i = 0; i < HALF; i++)
		group[i] = rows & (1u << i) ? group[i] : none;
}

/*
 * The groups, as byte offsets in a plane, of half H of a vector; returns those of its
 * rows, of `rows` of the vector, that have one.  The others' are diverted.
 */
template <int H>
__device__ __forceinline__ uint32_t
find_groups(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
			uint32_t vector, int lane, uint32_t rows, uint32_t (&group)[HALF])
{
	load_groups<H * HALF>(plan, chunks, vector, lane, 0, 1, group);
	rows = rows >> (H * HALF) & HALF_ROWS & rows_at_most(group, (plan.ngroups - 1) * 4);
	divert_rows(parts, lane, rows, group);
	return rows;
}

/* Draw the next rank in such a group's partition. */
__device__ __forceinline__ uint32_t
draw_rank(const GpucolPartitionPlan &parts, uint32_t group, uint32_t *counts)
{
	return atomicAdd(counts + (group >> (parts.shift + 2)), 1);
}

template <int H>
__device__ __forceinline__ void
count_half(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
		   uint32_t vector,
		   int lane, uint32_t rows, uint32_t *counts)
{
	uint32_t	group[HALF];

	find_groups<H>(plan, parts, chunks, vector, lane, rows, group);
#pragma unroll
	for (int i = 0; i < HALF; i++)
		draw_rank(parts, group[i], counts);
}

/* Count the rows of each partition in a span of runs: cursors, which are zero before. */
__global__ void __launch_bounds__(GPUCOL_PARTITION_COUNT_THREADS)
partition_count_kernel(const __grid_constant__ GpucolReducePlan plan,
					   const __grid_constant__ GpucolPartitionPlan parts, RunSpan span)
{
	__shared__ uint32_t counts[GPUCOL_PARTITIONS + WASTE];
	const GpucolScanPlan &scan = plan.scan;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	int			lane = threadIdx.x % 32;

	for (uint32_t i = threadIdx.x; i < GPUCOL_PARTITIONS + WASTE; i += blockDim.x)
		counts[i] = 0;
	__syncthreads();
	for (uint32_t number = span.first + (blockIdx.x * blockDim.x + threadIdx.x) / 32; number < span.end &&
		 !is_cancelled(scan); number += warps)
	{
		Run			run = find_run(scan, number);
		const GpucolDeviceChunk *chunks = scan.chunks + run.segment * scan.ncolumns;
		uint32_t	skip = skipped_by_zones(scan, run, lane);

		for (uint32_t v = 0; v < run.n; v++)
		{
			uint32_t	vector = run.first + v;
			uint32_t	rows = skip >> v & 1 ? 0 : vector_mask(scan, run, vector, lane);

			if (!__any_sync(GPUCOL_ALL_LANES, rows != 0))
				continue;
			count_half<0>(plan, parts, chunks, vector, lane, rows, counts);
			count_half<1>(plan, parts, chunks, vector, lane, rows, counts);
		}
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < parts.npartitions; i += blockDim.x)
		if (counts[i] > 0)
			atomicAdd(parts.cursors + i, counts[i]);
}

/* Where each partition begins, of its cursor's count; the cursor goes there.  One block. */
__global__ void __launch_bounds__(THREADS)
partition_start_kernel(GpucolPartitionPlan parts)
{
	__shared__ PartitionScan::TempStorage memory;
	uint32_t	first = threadIdx.x * OWN;
	uint32_t	n[OWN];
	uint32_t	all;

#pragma unroll
	for (int i = 0; i < OWN; i++)
		n[i] = first + i < parts.npartitions ? parts.cursors[first + i] : 0;
	PartitionScan(memory).ExclusiveSum(n, n, all);
#pragma unroll
	for (int i = 0; i < OWN; i++)
		if (first + i < parts.npartitions)
			parts.starts[first + i] = parts.cursors[first + i] = n[i];
	if (threadIdx.x == 0)
		parts.starts[parts.npartitions] = all;
}

/* A warp's vector of a run that is scattered. */
struct ScatterRows
{
	uint32_t	places[HALF];	/* in the run, of both halves; first the ranks */
	uint32_t	rows;			/* that count */

	template <int H> __device__ __forceinline__ uint32_t
	place(int i) const
	{
		return places[i] >> (16 * H) & 0xffff;
	}

	template <int H> __device__ __forceinline__ void
	note(int i, uint32_t place)
	{
		places[i] = __byte_perm(places[i], place, H == 0 ? 0x3254 : 0x5410);
	}
};

/* Draw the ranks of half H among the rows of their partitions. */
template <int H>
__device__ __forceinline__ void
rank_half(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
		  uint32_t vector,
		  int lane, uint32_t rows, ScatterMemory &memory, ScatterRows &own)
{
	uint32_t	group[HALF];

	rows = find_groups<H>(plan, parts, chunks, vector, lane, rows, group);
	own.rows = H == 0 ? rows : own.rows | rows << HALF;
#pragma unroll
	for (int i = 0; i < HALF; i++)
		own.note<H>(i, draw_rank(parts, group[i], memory.counts));
}

/*
 * Turn the counters of a run into where each partition's rows begin in it, and take
 * room for them in the partitions.  Returns the rows of the run.
 */
__device__ __forceinline__ uint32_t
place_partitions(const GpucolPartitionPlan &parts, ScatterMemory &memory)
{
	uint32_t	first = threadIdx.x * OWN;
	uint32_t	n[OWN],
				start[OWN];
	uint32_t	all;

#pragma unroll
	for (int i = 0; i < OWN; i++)
		n[i] = memory.counts[first + i];
	PartitionScan(memory.scan).ExclusiveSum(n, start, all);
#pragma unroll
	for (int i = 0; i < OWN; i++)
	{
		memory.counts[first + i] = start[i];
		if (n[i] > 0)
			memory.base[first + i] = atomicAdd(parts.cursors + first + i, n[i]) - start[i];
	}
	if (threadIdx.x < WASTE)
	{
		uint32_t   *count = memory.counts + GPUCOL_PARTITIONS + threadIdx.x;
		uint32_t	before;

		WasteScan(memory.waste_scan).ExclusiveSum(*count, before);
		*count = all + before;
	}
	return all;
}

/* Add an input's offsets in half H of a vector to the words of its rows, and whether it is NULL. */
template <int H>
__device__ __forceinline__ void
add_input(const GpucolOffsetColumn &column, const GpucolPartitionField &field, const GpucolDeviceChunk &chunk,
		  uint32_t vector, int lane, bool valued, bool flagged, uint32_t (&x)[HALF])
{
	uint32_t	v[HALF];
	uint32_t	nulls = load_offsets<H * HALF, HALF>(chunk, column, vector, lane, v) >> (H * HALF);
	uint32_t	scale = valued ? 1u << field.shift : 0;

	if (nulls)
	{
		uint32_t	flag = flagged ? 1u << field.null_shift : 0;

#pragma unroll
		for (int i = 0; i < HALF; i++)
			if (nulls >> i & 1)
			{
				v[i] = 0;
				x[i] += flag;
			}
	}
#pragma unroll
	for (int i = 0; i < HALF; i++)
		x[i] += v[i] * scale;
}

/* Put word `word` of the rows of half H, of which x has the group's part, in their places. */
template <int H>
__device__ __forceinline__ void
stage_half(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
		   uint32_t vector, int lane, uint32_t word, uint32_t (&x)[HALF], const uint32_t (&place)[HALF],
		   ScatterMemory &memory)
{
	for (uint32_t j = 0; j < plan.ninputs; j++)
	{
		const GpucolPartitionField &field = parts.fields[j];
		const GpucolOffsetColumn &column = plan.inputs[j].column;
		bool		valued = field.bits > 0 && field.word == word;
		bool		flagged = field.nullable && field.null_word == word;

		if (valued || flagged)
			add_input<H>(column, field, chunks[column.slot], vector, lane, valued, flagged, x);
	}
#pragma unroll
	for (int i = 0; i < HALF; i++)
		memory.stage[place[i]] = x[i];
}

/*
 * Turn the ranks of half H into places, note the partitions there, and put the first
 * word.  The groups are found anew: both halves' would take more registers than there are.
 */
template <int H>
__device__ __forceinline__ void
place_half(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
		   uint32_t vector,
		   int lane, ScatterMemory &memory, ScatterRows &own)
{
	uint32_t	group[HALF];
	uint32_t	place[HALF];

	load_groups<H * HALF>(plan, chunks, vector, lane, 0, 1, group);
	divert_rows(parts, lane, own.rows >> (H * HALF) & HALF_ROWS, group);
#pragma unroll
	for (int i = 0; i < HALF; i++)
	{
		uint32_t	at = group[i] >> (parts.shift + 2);

		place[i] = memory.counts[at] + own.place<H>(i);
		memory.partition[place[i]] = (uint16_t) at;
		group[i] = group[i] >> 2 & ((1u << parts.shift) - 1);
	}
	if (parts.nwords > 1)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			own.note<H>(i, place[i]);
	}
	stage_half<H>(plan, parts, chunks, vector, lane, 0, group, place, memory);
}

/* Put another word of the rows of half H in their places. */
template <int H>
__device__ __forceinline__ void
stage_next(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const GpucolDeviceChunk *chunks,
		   uint32_t vector,
		   int lane, uint32_t word, ScatterMemory &memory, const ScatterRows &own)
{
	uint32_t	x[HALF] = {};
	uint32_t	place[HALF];

#pragma unroll
	for (int i = 0; i < HALF; i++)
		place[i] = own.place<H>(i);
	stage_half<H>(plan, parts, chunks, vector, lane, word, x, place, memory);
}

/* Write the n staged words to a plane of the partitions. */
__device__ __forceinline__ void
write_staged(const ScatterMemory &memory, uint32_t n, uint32_t *plane)
{
	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
		plane[memory.base[memory.partition[i]] + i] = memory.stage[i];
}

/* Ask for the vector of a run that this warp will take. */
__device__ __forceinline__ void
prefetch_columns(const GpucolReducePlan &plan, const Run &run, int lane)
{
	const GpucolDeviceChunk *chunks = plan.scan.chunks + run.segment * plan.scan.ncolumns;
	uint32_t	warp = threadIdx.x / 32;

	if (warp >= run.n)
		return;
	for (uint32_t k = 0; k < plan.nkeys; k++)
		prefetch_vector(chunks[plan.keys[k].slot], run.first + warp, lane);
	for (uint32_t i = 0; i < plan.ninputs; i++)
		prefetch_vector(chunks[plan.inputs[i].column.slot], run.first + warp, lane);
}

/* A run, or none: n = 0. */
__device__ __forceinline__ Run
run_of_span(const GpucolScanPlan &scan, uint32_t number, uint32_t end)
{
	return number < end ? find_run(scan, number) : Run();
}

/*
 * Scatter a block's run, and ask for the vectors of the next one meanwhile.  The
 * counters are zero before, and so after.  Every thread comes here, also those of warps
 * that have no vector of the run, or no row of it.
 */
__device__ __forceinline__ void
scatter_run(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const Run &run, const Run &next,
			int lane, ScatterMemory &memory)
{
	const GpucolScanPlan &scan = plan.scan;
	const GpucolDeviceChunk *chunks = scan.chunks + run.segment * scan.ncolumns;
	uint32_t	warp = threadIdx.x / 32;
	uint32_t	vector = run.first + warp;
	uint32_t	rows = 0;
	uint32_t	all;
	bool		any;
	ScatterRows own;

	if (warp < run.n && !(skipped_by_zones(scan, run, lane) >> warp & 1))
		rows = vector_mask(scan, run, vector, lane);
	any = __any_sync(GPUCOL_ALL_LANES, rows != 0);
	if (any)
	{
		rank_half<0>(plan, parts, chunks, vector, lane, rows, memory, own);
		rank_half<1>(plan, parts, chunks, vector, lane, rows, memory, own);
	}
	__syncthreads();
	all = place_partitions(parts, memory);
	__syncthreads();
	prefetch_columns(plan, next, lane);
	if (any)
	{
		place_half<0>(plan, parts, chunks, vector, lane, memory, own);
		place_half<1>(plan, parts, chunks, vector, lane, memory, own);
	}
	for (uint32_t word = 0;;)
	{
		__syncthreads();
		write_staged(memory, all, parts.rows + word * parts.capacity);
		if (++word == parts.nwords)
			break;
		__syncthreads();
		if (any)
		{
			stage_next<0>(plan, parts, chunks, vector, lane, word, memory, own);
			stage_next<1>(plan, parts, chunks, vector, lane, word, memory, own);
		}
	}
	for (uint32_t i = threadIdx.x; i < GPUCOL_PARTITIONS + WASTE; i += THREADS)
		memory.counts[i] = 0;
}

/* Scatter the matching rows of a span of runs, which have been counted. */
__global__ void __launch_bounds__(THREADS, 1)
partition_scatter_kernel(const __grid_constant__ GpucolReducePlan plan,
						 const __grid_constant__ GpucolPartitionPlan parts, RunSpan span)
{
	extern __shared__ uint32_t words[];
	ScatterMemory &memory = *(ScatterMemory *) words;
	const GpucolScanPlan &scan = plan.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	number = span.first + blockIdx.x;
	Run			run = run_of_span(scan, number, span.end);

	for (uint32_t i = threadIdx.x; i < GPUCOL_PARTITIONS + WASTE; i += THREADS)
		memory.counts[i] = 0;
	for (uint32_t turn = 0; run.n > 0 && !block_is_cancelled(scan, turn); turn++)
	{
		number += gridDim.x;

		Run			next = run_of_span(scan, number, span.end);

		scatter_run(plan, parts, run, next, lane, memory);
		run = next;
	}
}

/* Word `word` of the rows at, at + 32, ... of a lane; 0 from row `end` on. */
__device__ __forceinline__ void
load_row_words(const GpucolPartitionPlan &parts, uint32_t word, uint32_t at, uint32_t end, uint32_t (&x)[HALF])
{
	const uint32_t *plane = parts.rows + word * parts.capacity;

#pragma unroll
	for (int i = 0; i < HALF; i++)
		x[i] = at + i * 32 < end ? __ldcg(plane + at + i * 32) : 0;
}

/* Reduce rows `from` .. `end` - 1, of one partition, into an object of n groups from
 * `first` on, which is group `skip` of the partition. */
__device__ __forceinline__ void
reduce_rows(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, const SharedTable &table,
			uint32_t from, uint32_t end, uint32_t skip, uint32_t first, uint32_t n)
{
	uint32_t	mask = (1u << parts.shift) - 1;

	for (uint32_t begin = from + threadIdx.x / 32 * (HALF * 32); begin < end && !is_cancelled(plan.scan);
		 begin += blockDim.x * HALF)
	{
		uint32_t	at = begin + threadIdx.x % 32;
		uint32_t	left = at < end ? (end - at + 31) / 32 : 0;
		uint32_t	word = 0;
		uint32_t	x[HALF],
					group[HALF];

		load_row_words(parts, word, at, end, x);
#pragma unroll
		for (int i = 0; i < HALF; i++)
			group[i] = ((x[i] & mask) - skip) * 4;
		reduce_offsets(plan, table, group, left >= HALF ? HALF_ROWS : (1u << left) - 1, first, n, true,
					   [&] (uint32_t j, uint32_t (&values)[HALF]) {
						   const GpucolPartitionField &field = parts.fields[j];
						   uint32_t		nulls = 0;

						   auto			need = [&] (uint32_t wanted) {
							   if (word != wanted)
								   load_row_words(parts, wanted, at, end, x);
							   word = wanted;
						   };

						   if (field.nullable)
						   {
							   need(field.null_word);
#pragma unroll
							   for (int i = 0; i < HALF; i++)
								   nulls |= (x[i] >> field.null_shift & 1) << i;
						   }
						   if (field.bits > 0)
							   need(field.word);
#pragma unroll
						   for (int i = 0; i < HALF; i++)
							   values[i] = field.bits > 0 ? x[i] >> field.shift & 0xffffffffu >> (32 - field.bits) : 0;
						   return nulls;
					   });
	}
}

/* Reduce a block's piece of a partition, a slice at a time. */
__device__ __forceinline__ void
reduce_piece(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, uint32_t partition,
			 uint32_t from, uint32_t end,
			 uint32_t *words)
{
	uint32_t	groups = min(1u << parts.shift, plan.ngroups - (partition << parts.shift));
	uint32_t	per_slice = ((1u << parts.shift) + parts.slices - 1) / parts.slices;

	for (uint32_t skip = 0; skip < groups && !block_is_cancelled(plan.scan, GPUCOL_CANCEL_RUNS - 1); skip += per_slice)
	{
		uint32_t	n = min(per_slice, groups - skip);
		uint32_t	first = (partition << parts.shift) + skip;
		uint32_t	plane = n + WASTE;

		clear_object(plan, words, plane);
		__syncthreads();
		reduce_rows(plan, parts, object_at(plan, words, n), from, end, skip, first, n);
		__syncthreads();
		flush_object(plan, words, plane, first, n);
	}
}

/* Reduce the rows that have been scattered: a block an even share of them. */
__global__ void __launch_bounds__(GPUCOL_AGG_THREADS, 1)
partition_reduce_kernel(const __grid_constant__ GpucolReducePlan plan,
						const __grid_constant__ GpucolPartitionPlan parts)
{
	extern __shared__ uint32_t words[];
	uint64_t	all = __ldg(parts.starts + parts.npartitions);
	uint32_t	from = (uint32_t) (all * blockIdx.x / gridDim.x);
	uint32_t	end = (uint32_t) (all * (blockIdx.x + 1) / gridDim.x);

	for (uint32_t p = from < end ? last_start(parts.starts, parts.npartitions, from) : parts.npartitions;
		 from < end; p++)
	{
		uint32_t	upto = min(end, __ldg(parts.starts + p + 1));

		if (from < upto)
			reduce_piece(plan, parts, p, from, upto, words);
		from = max(from, upto);
	}
}

/* Bits of the offsets of a column, over all segments. */
static uint32_t
bits_of_offsets(const GpucolOffsetColumn &column, uint32_t ncolumns, const std::vector<GpucolDeviceChunk> &chunks)
{
	__int128	most = 0;
	uint32_t	bits = 0;

	for (size_t at = column.slot; at < chunks.size(); at += ncolumns)
	{
		const GpucolDeviceChunk &chunk = chunks[at];

		if (chunk.all_null)
			continue;
		if (chunk.coding == GPUCOL_CODING_DICT || chunk.width > 32)
			return 32;
		most = std::max(most, (__int128) chunk.reference - column.base + (((__int128) 1 << chunk.width) - 1));
	}
	while (bits < 32 && most >> bits != 0)
		bits++;
	return bits;
}

/* Lay the fields of a row out, each in one word. */
static void
lay_out_rows(const GpucolReducePlan &plan, const std::vector<GpucolDeviceChunk> &chunks, GpucolPartitionPlan *parts)
{
	uint32_t	word = 0,
				used = parts->shift;
	auto		take = [&] (uint32_t bits) {
		if (used + bits > 32)
		{
			word++;
			used = 0;
		}
		used += bits;
		return (uint8_t) (used - bits);
	};

	for (uint32_t i = 0; i < plan.ninputs; i++)
	{
		const GpucolReduceInput &input = plan.inputs[i];
		GpucolPartitionField *field = &parts->fields[i];

		*field = GpucolPartitionField();
		if (input.column.nullable && input.ops != 0)
		{
			field->nullable = 1;
			field->null_shift = take(1);
			field->null_word = word;
		}
		if (input.ops & ~GPUCOL_REDUCE_COUNT)
			field->bits = bits_of_offsets(input.column, plan.scan.ncolumns, chunks);
		if (field->bits > 0)
		{
			field->shift = take(field->bits);
			field->word = word;
		}
	}
	parts->nwords = word + 1;
}

bool
gpucol_partition_fits()
{
	return sizeof(ScatterMemory) <= gpucol_launch_shared();
}

bool
gpucol_partition_layout(const GpucolReducePlan &plan, const std::vector<GpucolDeviceChunk> &chunks,
						GpucolPartitionPlan *parts)
{
	uint32_t	fit = (uint32_t) (gpucol_launch_shared() - GPUCOL_AGG_OWN_SHARED) / (4 * plan.nwords) - WASTE;
	uint64_t	runs;

	*parts = GpucolPartitionPlan();
	if (plan.copies != 1 || plan.ngroups == 0 || !gpucol_partition_fits())
		return false;
	while (2u << parts->shift <= fit)
		parts->shift++;
	while ((plan.ngroups - 1) >> parts->shift >= GPUCOL_PARTITIONS)
		parts->shift++;
	parts->npartitions = ((plan.ngroups - 1) >> parts->shift) + 1;
	parts->slices = ((1u << parts->shift) + fit - 1) / fit;
	if (parts->slices > GPUCOL_PARTITION_MAX_SLICES || parts->shift > MAX_SHIFT)
		return false;
	lay_out_rows(plan, chunks, parts);
	runs = GPUCOL_PARTITION_BYTES / ((uint64_t) TILE * parts->nwords * sizeof(uint32_t));
	parts->runs = (uint32_t) std::max<uint64_t>(1, std::min<uint64_t>(runs, plan.scan.nruns));
	return true;
}

bool
gpucol_partition_pays(const GpucolReducePlan &plan)
{
	uint64_t	rows = (uint64_t) plan.scan.nvectors * GPUCOL_VECTOR_VALUES;

	return rows >= GPUCOL_PARTITION_MIN_ROWS && plan.ngroups <= rows * GPUCOL_PARTITION_MAX_GROUPS;
}

size_t
gpucol_partition_bytes(const GpucolPartitionPlan &parts)
{
	return ((size_t) parts.runs * TILE * parts.nwords + 2 * parts.npartitions + 1) * sizeof(uint32_t);
}

/* Partition and reduce the rows of a span of runs. */
static cudaError_t
reduce_span(const GpucolReducePlan &plan, const GpucolPartitionPlan &parts, RunSpan span, cudaStream_t stream)
{
	uint32_t	per_slice = ((1u << parts.shift) + parts.slices - 1) / parts.slices;
	size_t		object = (size_t) (per_slice + WASTE) * plan.nwords * sizeof(uint32_t);
	cudaError_t err = cudaMemsetAsync(parts.cursors, 0, parts.npartitions * sizeof(uint32_t), stream);

	if (err != cudaSuccess)
		return err;
	partition_count_kernel<<<gpucol_launch_blocks(partition_count_kernel, GPUCOL_PARTITION_COUNT_THREADS, 0),
		GPUCOL_PARTITION_COUNT_THREADS, 0, stream>>>(plan, parts, span);
	partition_start_kernel<<<1, THREADS, 0, stream>>>(parts);
	partition_scatter_kernel<<<gpucol_launch_blocks(partition_scatter_kernel, THREADS, sizeof(ScatterMemory)),
		THREADS, sizeof(ScatterMemory), stream>>>(plan, parts, span);
	partition_reduce_kernel<<<gpucol_launch_blocks(partition_reduce_kernel, GPUCOL_AGG_THREADS, object),
		GPUCOL_AGG_THREADS, object, stream>>>(plan, parts);
	return cudaGetLastError();
}

cudaError_t
gpucol_reduce_partitioned(const GpucolReducePlan &plan, GpucolPartitionPlan parts, void *scratch, cudaStream_t stream)
{
	cudaError_t err = cudaSuccess;

	parts.rows = (uint32_t *) scratch;
	parts.capacity = (size_t) parts.runs * TILE;
	parts.starts = parts.rows + parts.capacity * parts.nwords;
	parts.cursors = parts.starts + parts.npartitions + 1;
	for (uint32_t first = 0; first < plan.scan.nruns && err == cudaSuccess; first += parts.runs)
		err = reduce_span(plan, parts, {first, std::min(plan.scan.nruns, first + parts.runs)}, stream);
	return err;
}
