/*-------------------------------------------------------------------------
 *
 * bitmatrix.cu
 *	  Transposition, semi-naive step and summary of dense bit matrices.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/bitmatrix.cuh"
#include "cuda/base/launch.cuh"

namespace
{

constexpr unsigned ALL = 0xffffffffu;
constexpr int STEP_THREADS = 256;

/* Successors beyond which a whole warp follows one node. */
constexpr uint32_t LONG_ROW = 48;

/* Transpose a 32 x 32 bit block held as 32 words by one thread. */
__device__ __forceinline__ void
transpose32(uint32_t (&a)[32])
{
	uint32_t	mask = 0x0000ffffu;

#pragma unroll
	for (int j = 16; j != 0; j >>= 1)
	{
#pragma unroll
		for (int k = 0; k < 32; k++)
			if (!(k & j))
			{
				uint32_t	t = ((a[k] >> j) ^ a[k + j]) & mask;

				a[k + j] ^= t;
				a[k] ^= t << j;
			}
		mask ^= mask << (j >> 1);
	}
}

/*
 * A block a tile.  Eight warps read 256 rows at a time, a lane holding a word
 * column of 32 rows, and meet in shared memory so that 32-byte pieces are
 * written.
 */
__global__ void
transpose_kernel(GpucolBitMatrix in, GpucolBitMatrix out)
{
	__shared__ uint32_t stage[GPUCOL_TILE][9];
	uint32_t	ti = blockIdx.y,
				tj = blockIdx.x,
				warp = threadIdx.x / 32,
				lane = threadIdx.x % 32;
	size_t		stride = in.stride();

	if (!in.tiles[(size_t) ti * in.ntiles + tj])
		return;
	for (uint32_t group = 0; group < 4; group++)
	{
		uint32_t   *from = in.words + tj * GPUCOL_TILE_WORDS + lane +
			((size_t) ti * GPUCOL_TILE + group * 256 + warp * 32) * stride;
		uint32_t	a[32];

#pragma unroll
		for (int r = 0; r < 32; r++)
			a[r] = from[r * stride];
#pragma unroll
		for (int r = 0; r < 32; r++)
			if (a[r])
				from[r * stride] = 0;
		transpose32(a);
#pragma unroll
		for (int r = 0; r < 32; r++)
			stage[lane * 32 + r][warp] = a[r];
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < GPUCOL_TILE * 8; i += blockDim.x)
		{
			uint32_t	v = stage[i / 8][i % 8];

			if (v)
				out.words[((size_t) tj * GPUCOL_TILE + i / 8) * stride +
						  ti * GPUCOL_TILE_WORDS + group * 8 + i % 8] = v;
		}
		__syncthreads();
	}
	if (threadIdx.x == 0)
	{
		in.tiles[(size_t) ti * in.ntiles + tj] = 0;
		out.tiles[(size_t) tj * out.ntiles + ti] = 1;
	}
}

/* Row of bits in shared memory, with a byte for each of its tiles. */
struct RowBits
{
	uint32_t   *bits;
	uint8_t    *touched;

	__device__ __forceinline__ void
	set(uint32_t k)
	{
		uint32_t	bit = 1u << (k & 31);

		if (!(bits[k >> 5] & bit))
		{
			atomicOr(&bits[k >> 5], bit);
			touched[k / GPUCOL_TILE] = 1;
		}
	}
};

/* OR the successors of the nodes of this lane's word; all lanes call. */
__device__ __forceinline__ void
follow(RowBits row, const GpucolCsr &edge, uint32_t word, uint32_t base, int lane)
{
	while (__any_sync(ALL, word != 0))
	{
		uint32_t	begin = 0,
					end = 0;

		if (word)
		{
			uint32_t	node = base + __ffs(word) - 1;

			word &= word - 1;
			begin = __ldg(edge.rows + node);
			end = __ldg(edge.rows + node + 1);
		}
		unsigned	big = __ballot_sync(ALL, end - begin > LONG_ROW);

		if (end - begin <= LONG_ROW)
			for (uint32_t e = begin; e < end; e++)
				row.set(__ldg(edge.targets + e));
		while (big)
		{
			int			owner = __ffs(big) - 1;
			uint32_t	from = __shfl_sync(ALL, begin, owner),
						to = __shfl_sync(ALL, end, owner);

			big &= big - 1;
			for (uint32_t e = from + lane; e < to; e += 32)
				row.set(__ldg(edge.targets + e));
		}
		__syncwarp();
	}
}

/*
 * Write what the row has and FULL has not; returns this thread's share of the
 * new bits and leaves the shared row empty.
 */
__device__ __forceinline__ uint32_t
settle(RowBits row, GpucolBitMatrix full, GpucolBitMatrix out, uint32_t i,
	   bool irreflexive)
{
	uint32_t	found = 0;
	uint32_t	warp = threadIdx.x / 32,
				lane = threadIdx.x % 32;

	for (uint32_t tile = warp; tile < full.ntiles; tile += STEP_THREADS / 32)
	{
		if (!row.touched[tile])
			continue;
		uint32_t	w = tile * GPUCOL_TILE_WORDS + lane;
		size_t		at = i * full.stride() + w;
		uint32_t	bits = row.bits[w];
		uint32_t	fresh = 0;

		row.bits[w] = 0;
		if (irreflexive && i / 32 == w)
			bits &= ~(1u << (i & 31));
		if (bits)
		{
			uint32_t	old = full.words[at];

			fresh = bits & ~old;
			if (fresh)
			{
				full.words[at] = old | fresh;
				out.words[at] = fresh;
			}
		}
		found += __popc(fresh);
		if (__any_sync(ALL, fresh != 0) && lane == 0)
		{
			size_t		t = (size_t) (i / GPUCOL_TILE) * full.ntiles + tile;

			out.tiles[t] = 1;
			full.tiles[t] = 1;
		}
		__syncwarp();
		if (lane == 0)
			row.touched[tile] = 0;
	}
	return found;
}

/* A block takes rows in turn; see gpucol_bitmatrix_step. */
__global__ void
__launch_bounds__(STEP_THREADS)
step_kernel(GpucolBitMatrix delta, GpucolCsr edge, GpucolBitMatrix full,
			GpucolBitMatrix out, bool irreflexive, unsigned long long *fresh,
			GpucolCancelFlag cancel)
{
	extern __shared__ uint32_t shared[];
	RowBits		row = {shared, (uint8_t *) (shared + delta.stride())};
	uint32_t	nrows = delta.ntiles * GPUCOL_TILE,
				warp = threadIdx.x / 32,
				lane = threadIdx.x % 32;
	unsigned long long found = 0;
	CancelPoll	poll;

	for (uint32_t i = threadIdx.x; i < delta.stride(); i += STEP_THREADS)
		row.bits[i] = 0;
	for (uint32_t i = threadIdx.x; i < delta.ntiles; i += STEP_THREADS)
		row.touched[i] = 0;
	__syncthreads();
	for (uint32_t i = blockIdx.x; i < nrows; i += gridDim.x)
	{
		const uint8_t *tiles = delta.tiles +
			(size_t) (i / GPUCOL_TILE) * delta.ntiles;
		bool		any = false;

		for (uint32_t tile = warp; tile < delta.ntiles; tile += STEP_THREADS / 32)
		{
			if (!tiles[tile])
				continue;
			uint32_t	w = tile * GPUCOL_TILE_WORDS + lane;
			uint32_t   *at = delta.words + i * delta.stride() + w;
			uint32_t	word = *at;

			if (word)
				*at = 0;
			if (__any_sync(ALL, word != 0))
			{
				follow(row, edge, word, w * 32, lane);
				any = true;
			}
		}
		if (__syncthreads_or(any))
			found += settle(row, full, out, i, irreflexive);
		if (__syncthreads_or(threadIdx.x == 0 && poll.raised(cancel)))
			break;
	}
	for (int d = 16; d > 0; d /= 2)
		found += __shfl_down_sync(ALL, found, d);
	if (lane == 0 && found)
		atomicAdd(fresh, found);
}

/* A warp a row. */
__global__ void
summarise_kernel(GpucolBitMatrix matrix, uint32_t n, const int64_t *values,
				 GpucolRowSummary *rows)
{
	uint32_t	lane = threadIdx.x % 32;

	for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < n;
		 i += gridDim.x * blockDim.x / 32)
	{
		GpucolRowSummary row = summary_empty();
		const uint8_t *tiles = matrix.tiles +
			(size_t) (i / GPUCOL_TILE) * matrix.ntiles;

		for (uint32_t w = lane; w < matrix.stride(); w += 32)
		{
			if (!tiles[w / GPUCOL_TILE_WORDS])
				continue;
			for (uint32_t word = matrix.words[i * matrix.stride() + w]; word;
				 word &= word - 1)
				summary_add(row, __ldg(values + w * 32 + __ffs(word) - 1));
		}
		summary_reduce(row);
		if (lane == 0)
			rows[i] = row;
	}
}

/* Set a bit whose tile may be empty; true if it was not set. */
__device__ __forceinline__ bool
set_bit(GpucolBitMatrix m, uint32_t i, uint32_t k)
{
	uint32_t   *word = m.words + i * m.stride() + k / 32;
	uint32_t	bit = 1u << (k & 31);
	uint8_t    *tile = m.tiles + (size_t) (i / GPUCOL_TILE) * m.ntiles + k / GPUCOL_TILE;

	if ((*(volatile uint32_t *) word & bit) || (atomicOr(word, bit) & bit))
		return false;
	if (!*tile)
		*tile = 1;
	return true;
}

/* Append the pair of each lane that has one; all lanes of the warp call. */
__device__ __forceinline__ void
append(GpucolPairList out, GpucolBitMatrix spill, bool has, uint32_t i, uint32_t k)
{
	unsigned	votes = __ballot_sync(ALL, has);
	int			lane = threadIdx.x % 32;
	unsigned long long base = 0;

	if (votes == 0)
		return;
	if (lane == 0)
		base = atomicAdd(out.count, (unsigned long long) __popc(votes));
	base = __shfl_sync(ALL, base, 0) + __popc(votes & ((1u << lane) - 1));
	if (has && base < out.capacity)
		out.pairs[base] = (uint64_t) i << 32 | k;
	else if (has)
		set_bit(spill, i, k);
}

/*
 * A thread a pair, 32 pairs of a warp in step; nodes of many successors are
 * followed by the whole warp.
 */
__global__ void
step_list_kernel(GpucolPairList delta, unsigned long long n, GpucolCsr edge,
				 GpucolBitMatrix full, GpucolPairList out, GpucolBitMatrix spill)
{
	int			lane = threadIdx.x % 32;

	for (unsigned long long base = (blockIdx.x * (unsigned long long) blockDim.x +
									threadIdx.x) / 32 * 32;
		 base < n; base += (unsigned long long) gridDim.x * blockDim.x)
	{
		uint64_t	pair = base + lane < n ? delta.pairs[base + lane] : 0;
		uint32_t	j = (uint32_t) pair,
					begin = 0,
					end = 0;

		if (base + lane < n)
		{
			begin = __ldg(edge.rows + (pair >> 32));
			end = __ldg(edge.rows + (pair >> 32) + 1);
		}
		unsigned	big = __ballot_sync(ALL, end - begin > LONG_ROW);
		uint32_t	mine = end - begin > LONG_ROW ? begin : end;

		for (uint32_t e = begin; __any_sync(ALL, e < mine); e++)
		{
			uint32_t	k = e < mine ? __ldg(edge.targets + e) : 0;

			append(out, spill, e < mine && set_bit(full, j, k), j, k);
		}
		while (big)
		{
			int			owner = __ffs(big) - 1;
			uint32_t	from = __shfl_sync(ALL, begin, owner),
						to = __shfl_sync(ALL, end, owner),
						row = __shfl_sync(ALL, j, owner);

			big &= big - 1;
			for (uint32_t e = from + lane; __any_sync(ALL, e < to); e += 32)
			{
				uint32_t	k = e < to ? __ldg(edge.targets + e) : 0;

				append(out, spill, e < to && set_bit(full, row, k), row, k);
			}
		}
	}
}

/* A block a tile, from a row of tiles on: its bits go to the list, it becomes empty. */
__global__ void
to_list_kernel(GpucolBitMatrix matrix, uint32_t first, GpucolPairList out)
{
	uint32_t	tile_row = first + blockIdx.y;
	size_t		tile = (size_t) tile_row * matrix.ntiles + blockIdx.x;
	uint32_t	lane = threadIdx.x % 32;

	if (!matrix.tiles[tile])
		return;
	for (uint32_t r = threadIdx.x / 32; r < GPUCOL_TILE; r += blockDim.x / 32)
	{
		uint32_t	i = tile_row * GPUCOL_TILE + r,
					w = blockIdx.x * GPUCOL_TILE_WORDS + lane;
		uint32_t   *at = matrix.words + i * matrix.stride() + w;
		uint32_t	word = *at;

		if (word)
			*at = 0;
		while (__any_sync(ALL, word != 0))
		{
			append(out, matrix, word != 0, i, w * 32 + __ffs(word) - 1);
			word &= word - 1;
		}
	}
	__syncthreads();
	if (threadIdx.x == 0)
		matrix.tiles[tile] = 0;
}

/* A thread a pair. */
__global__ void
from_list_kernel(GpucolPairList list, unsigned long long n, GpucolBitMatrix out)
{
	for (unsigned long long p = blockIdx.x * (unsigned long long) blockDim.x + threadIdx.x;
		 p < n; p += (unsigned long long) gridDim.x * blockDim.x)
		set_bit(out, (uint32_t) (list.pairs[p] >> 32), (uint32_t) list.pairs[p]);
}

/* Blocks for n threads of 256 a block, at most what is resident at once. */
int
list_blocks(unsigned long long n)
{
	return (int) min((n + 255) / 256, (unsigned long long) GPUCOL_MOST_BLOCKS / 8);
}

size_t
step_shared(const GpucolBitMatrix &matrix)
{
	return matrix.stride() * sizeof(uint32_t) + (matrix.ntiles + 15) / 16 * 16;
}

}								/* namespace */

uint32_t
gpucol_bitmatrix_max_nodes(void)
{
	return (gpucol_launch_shared() - 2048) * 8 / GPUCOL_TILE * GPUCOL_TILE;
}

cudaError_t
gpucol_bitmatrix_transpose(GpucolBitMatrix in, GpucolBitMatrix out,
						   cudaStream_t stream)
{
	transpose_kernel<<<dim3(in.ntiles, in.ntiles), 256, 0, stream>>> (in, out);
	return cudaGetLastError();
}

cudaError_t
gpucol_bitmatrix_step(GpucolBitMatrix delta, GpucolCsr edge, GpucolBitMatrix full,
					  GpucolBitMatrix out, bool irreflexive,
					  unsigned long long *fresh, GpucolCancelFlag cancel,
					  cudaStream_t stream)
{
	size_t		shared = step_shared(delta);
	cudaError_t error;

	error = cudaMemsetAsync(fresh, 0, sizeof(*fresh), stream);
	if (error != cudaSuccess)
		return error;
	step_kernel<<<gpucol_launch_blocks(step_kernel, STEP_THREADS, shared), STEP_THREADS,
		shared, stream>>>
		(delta, edge, full, out, irreflexive, fresh, cancel);
	error = cudaGetLastError();
	if (error != cudaSuccess)
		return error;
	return cudaMemsetAsync(delta.tiles, 0, (size_t) delta.ntiles * delta.ntiles,
						   stream);
}

cudaError_t
gpucol_bitmatrix_step_list(GpucolPairList delta, unsigned long long n,
						   GpucolCsr edge, GpucolBitMatrix full,
						   GpucolPairList out, GpucolBitMatrix spill,
						   cudaStream_t stream)
{
	step_list_kernel<<<list_blocks(n), 256, 0, stream>>>
		(delta, n, edge, full, out, spill);
	return cudaGetLastError();
}

cudaError_t
gpucol_bitmatrix_to_list(GpucolBitMatrix matrix, uint32_t first, uint32_t n,
						 GpucolPairList out, cudaStream_t stream)
{
	to_list_kernel<<<dim3(matrix.ntiles, n), 256, 0, stream>>> (matrix, first, out);
	return cudaGetLastError();
}

cudaError_t
gpucol_bitmatrix_from_list(GpucolPairList list, unsigned long long n,
						   GpucolBitMatrix out, cudaStream_t stream)
{
	from_list_kernel<<<list_blocks(n), 256, 0, stream>>> (list, n, out);
	return cudaGetLastError();
}

cudaError_t
gpucol_bitmatrix_summarise(GpucolBitMatrix matrix, uint32_t n,
						   const int64_t *values, GpucolRowSummary *rows,
						   cudaStream_t stream)
{
	summarise_kernel<<<2048, 256, 0, stream>>> (matrix, n, values, rows);
	return cudaGetLastError();
}
