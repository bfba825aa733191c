/*-------------------------------------------------------------------------
 *
 * closure.cu
 *	  Linear closure: a warp a source, FULL of the source in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/closure.cuh"
#include "cuda/base/launch.cuh"

namespace
{

constexpr unsigned ALL = 0xffffffffu;

/* Warps that search different sources inside a block. */
constexpr int MAX_BLOCK_WARPS = 8;

/* One warp's search: its bitmap, its queue, and how far it has come. */
struct Search
{
	uint32_t   *seen;			/* shared, nwords */
	uint32_t   *queue;			/* global, nnodes entries */
	uint32_t	tail;			/* entries written; the same in every lane */
	int			lane;

	/*
	 * Add this lane's node if it is valid and new.  All lanes call.
	 */
	__device__ __forceinline__ void
	add(uint32_t node, bool valid)
	{
		uint32_t	bit = 1u << (node & 31);
		bool		fresh = false;
		unsigned	votes;

		if (valid && !(seen[node >> 5] & bit))
			fresh = !(atomicOr(&seen[node >> 5], bit) & bit);
		votes = __ballot_sync(ALL, fresh);
		if (fresh)
			queue[tail + __popc(votes & ((1u << lane) - 1))] = node;
		tail += __popc(votes);
	}
};

/* Inclusive prefix sum over the lanes of a warp. */
__device__ __forceinline__ uint32_t
warp_scan(uint32_t v, int lane)
{
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
	{
		uint32_t	up = __shfl_up_sync(ALL, v, d);

		if (lane >= d)
			v += up;
	}
	return v;
}

/*
 * Follow the edges of this lane's node (none where `count` is 0): edge number t
 * of the batch goes to lane t mod 32, its owner found by binary search in the
 * prefix sums.
 */
__device__ __forceinline__ void
expand(Search &search, const uint32_t *targets, uint32_t first, uint32_t count)
{
	uint32_t	upto = warp_scan(count, search.lane);
	uint32_t	total = __shfl_sync(ALL, upto, 31);
	uint32_t	origin = first - (upto - count);

	for (uint32_t base = 0; base < total; base += 32)
	{
		uint32_t	t = base + search.lane;
		int			owner = 0;

#pragma unroll
		for (int d = 16; d > 0; d /= 2)
			if (__shfl_sync(ALL, upto, owner + d - 1) <= t)
				owner += d;
		uint32_t	from = __shfl_sync(ALL, origin, owner);
		bool		valid = t < total;

		search.add(valid ? __ldg(targets + (from + t)) : 0, valid);
	}
}

/*
 * Run one source to its fixpoint; the queue then holds its rows.  LEVELS: stops
 * at max_depth; returns the deepest level.
 */
template <bool LEVELS>
__device__ __forceinline__ uint32_t
search_source(Search &search, const GpucolClosure &closure, uint32_t source)
{
	uint32_t	first = closure.start.rows[source],
				last = closure.start.rows[source + 1];

	for (uint32_t base = first; base < last; base += 32)
	{
		uint32_t	at = base + search.lane;

		search.add(at < last ? closure.start.targets[at] : 0, at < last);
	}
	__syncwarp();
	uint32_t	depth = 0,
				level_end = search.tail;

	for (uint32_t head = 0; head < search.tail;)
	{
		if (LEVELS && head == level_end)
		{
			level_end = search.tail;
			if (++depth >= closure.max_depth)
				break;
		}
		uint32_t	batch = min(32u, (LEVELS ? level_end : search.tail) - head);
		uint32_t	begin = 0,
					count = 0;

		if (search.lane < batch)
		{
			uint32_t	node = search.queue[head + search.lane];

			begin = __ldg(closure.edge.rows + node);
			count = __ldg(closure.edge.rows + node + 1) - begin;
		}
		head += batch;
		expand(search, closure.edge.targets, begin, count);
		__syncwarp();
	}
	return depth;
}

/* Make the bitmap empty again: bit by bit where few are set. */
__device__ __forceinline__ void
clear_seen(Search &search, uint32_t nwords)
{
	if (search.tail < nwords)
		for (uint32_t i = search.lane; i < search.tail; i += 32)
			search.seen[search.queue[i] >> 5] = 0;
	else
		for (uint32_t i = search.lane; i < nwords; i += 32)
			search.seen[i] = 0;
	__syncwarp();
	search.tail = 0;
}

/* Aggregate the queue of a finished search. */
__device__ void
summarise(const Search &search, const int64_t *values, GpucolRowSummary *row)
{
	GpucolRowSummary own = summary_empty();

	for (uint32_t i = search.lane; i < search.tail; i += 32)
		summary_add(own, __ldg(values + search.queue[i]));
	summary_reduce(own);
	if (search.lane == 0)
		*row = own;
}

/*
 * The persistent kernel: warps take sources from depth->next until `end`.  Exactly
 * one of rows (aggregates) and nodes (the rows themselves) is set.
 */
template <bool LEVELS>
__global__ void
closure_kernel(GpucolClosure closure, GpucolClosureDepth *depth, uint32_t end,
			   uint32_t *queues, GpucolRowSummary *rows,
			   const uint64_t *offsets, uint64_t base, uint32_t *nodes)
{
	extern __shared__ uint32_t shared[];
	uint32_t	nwords = (closure.nnodes + 31) / 32;
	uint32_t	warp = threadIdx.x / 32;
	Search		search;

	search.lane = threadIdx.x % 32;
	search.seen = shared + (size_t) warp * nwords;
	search.queue = queues + closure.nnodes *
		((size_t) blockIdx.x * (blockDim.x / 32) + warp);
	search.tail = 0;
	for (uint32_t i = search.lane; i < nwords; i += 32)
		search.seen[i] = 0;
	__syncwarp();
	CancelPoll	poll;

	for (;;)
	{
		uint32_t	source;

		if (search.lane == 0)
			source = poll.raised(closure.cancel) ? end : atomicAdd(&depth->next, 1);
		source = __shfl_sync(ALL, source, 0);
		if (source >= end)
			break;
		if (nodes)
			search.queue = nodes + (offsets[source] - base);
		uint32_t	levels = search_source<LEVELS>(search, closure, source);

		if (LEVELS && search.lane == 0 && levels > depth->deepest)
			atomicMax(&depth->deepest, levels);
		if (LEVELS && levels >= closure.max_depth && search.lane == 0)
		{
			depth->too_deep = 1;
			atomicMax(&depth->next, end);
		}
		if (rows)
			summarise(search, closure.values, rows + source);
		clear_seen(search, nwords);
	}
}

/* Threads a block, blocks of the grid and shared bytes for a domain. */
struct Grid
{
	int			warps;
	int			blocks;
	size_t		shared;
};

Grid
grid_for(uint32_t nnodes)
{
	Grid		grid;
	size_t		all = gpucol_launch_shared();
	size_t		bitmap = ((size_t) nnodes + 31) / 32 * 4;

	grid.warps = MAX_BLOCK_WARPS;
	while (grid.warps > 1 && grid.warps * bitmap > all / 2)
		grid.warps /= 2;
	grid.shared = grid.warps * bitmap;
	for (auto kernel : {closure_kernel<false>, closure_kernel<true>})
		gpucol_launch_allow_shared(kernel);
	grid.blocks = gpucol_launch_blocks(closure_kernel<false>, grid.warps * 32,
										grid.shared);
	return grid;
}

/* Launch over sources first .. end - 1. */
cudaError_t
launch(const GpucolClosure *closure, uint32_t first, uint32_t end,
	   void *scratch, GpucolRowSummary *rows, const uint64_t *offsets,
	   uint64_t base, uint32_t *nodes, cudaStream_t stream)
{
	Grid		grid = grid_for(closure->nnodes);
	GpucolClosureDepth start = {first, 0, 0};
	GpucolClosureDepth *depth = (GpucolClosureDepth *) scratch;
	uint32_t   *queues = (uint32_t *) scratch + 64;
	cudaError_t error;

	error = cudaMemcpyAsync(depth, &start, sizeof(start), cudaMemcpyHostToDevice,
							stream);
	if (error != cudaSuccess)
		return error;
	if (closure->max_depth)
		closure_kernel<true><<<grid.blocks, grid.warps * 32, grid.shared, stream>>>
			(*closure, depth, end, queues, rows, offsets, base, nodes);
	else
		closure_kernel<false><<<grid.blocks, grid.warps * 32, grid.shared, stream>>>
			(*closure, depth, end, queues, rows, offsets, base, nodes);
	return cudaGetLastError();
}

}								/* namespace */

uint32_t
gpucol_closure_max_nodes(void)
{
	return gpucol_launch_shared() * 8;
}

size_t
gpucol_closure_scratch(const GpucolClosure *closure)
{
	Grid		grid = grid_for(closure->nnodes);

	return 256 + (size_t) grid.blocks * grid.warps * closure->nnodes *
		sizeof(uint32_t);
}

cudaError_t
gpucol_closure_count(const GpucolClosure *closure, void *scratch,
					 GpucolRowSummary *rows, cudaStream_t stream)
{
	return launch(closure, 0, closure->nsources, scratch, rows, nullptr, 0,
				  nullptr, stream);
}

cudaError_t
gpucol_closure_rows(const GpucolClosure *closure, uint32_t first, uint32_t n,
					const uint64_t *offsets, void *scratch, uint32_t *nodes,
					cudaStream_t stream)
{
	uint64_t	base = 0;
	cudaError_t error = cudaMemcpyAsync(&base, offsets + first, sizeof(base),
										cudaMemcpyDeviceToHost, stream);

	if (error == cudaSuccess)
		error = cudaStreamSynchronize(stream);
	if (error != cudaSuccess)
		return error;
	return launch(closure, first, first + n, scratch, nullptr, offsets, base,
				  nodes, stream);
}
