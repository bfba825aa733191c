/*-------------------------------------------------------------------------
 *
 * rank_split.cu
 *	  Numbers of better rows of one long group, by the whole device: U-kRanks,
 *	  PT-k, and Pr[in the top k].
 *
 * The distribution of the number of existing rows, cut at k, is a polynomial, and
 * that of a stretch of the ranking is the product of those of its parts.  So the
 * group is cut into chunks: a warp each forms their polynomials by the recurrence
 * of ranking/semantics/rank_counts.h, with its slots in registers; one block multiplies
 * them up, which gives the distribution before every chunk; and a warp each runs
 * the recurrence from there and reads off what the ranking wants of each row.  All
 * terms are non-negative, so nothing cancels: errors grow with the rows of a chunk
 * and the number of chunks, not of rows.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_split.cuh"

#include <cub/device/device_reduce.cuh>

#include "ranking/semantics/rank_counts.h"

namespace
{

constexpr uint32_t MAX_CHUNKS = 4096;
constexpr uint32_t CHUNK_ROWS = 2048;	/* at least */

struct IsPositive
{
	const double *p;

	__host__ __device__ uint32_t
	operator()(uint32_t i) const
	{
		return p[i] > 0;
	}
};

/*
 * Pr[N = c], c < k, of a warp: slot k - 1 is the last register of the last lane,
 * so that slots below 0 are the first registers, which stay 0.
 */
template <int S>
struct WarpSlots
{
	double		v[S];

	/* the number of better rows of register r */
	static __device__ int
	number(int k, int lane, int r)
	{
		return lane * S + r - (32 * S - k);
	}

	/* start[k]; NULL: none exists */
	__device__ void
	begin(const double *start, int k, int lane)
	{
#pragma unroll
		for (int r = 0; r < S; r++)
		{
			int			c = number(k, lane, r);

			v[r] = c < 0 ? 0 : start == NULL ? c == 0 : start[c];
		}
	}

	/* One more row: gpucol_counts_add. */
	__device__ void
	add(double p, int lane)
	{
		double		q = 1 - p;
		double		left = __shfl_up_sync(GPUCOL_SPLIT_ALL, v[S - 1], 1);

		if (lane == 0)
			left = 0;
#pragma unroll
		for (int r = S - 1; r > 0; r--)
			v[r] = v[r] * q + v[r - 1] * p;
		v[0] = v[0] * q + left * p;
	}

	__device__ double
	sum() const
	{
		double		s = 0;

#pragma unroll
		for (int r = 0; r < S; r++)
			s += v[r];
		for (int d = 16; d > 0; d >>= 1)
			s += __shfl_xor_sync(GPUCOL_SPLIT_ALL, s, d);
		return s;
	}
};

/* The chunks of a group and what is kept of each. */
struct Chunks
{
	GpucolDeviceRankSplit group;
	uint32_t	n;
	uint32_t	rows;			/* of a chunk */
	double	   *own;			/* [n * k] polynomials */
	double	   *start;			/* [n * k] distributions before each */
	double	   *end;			/* [k] behind the last */
	double	   *best;			/* [(n + 1) * k] U-kRanks: best at each rank */
	int32_t    *rank;			/* [(n + 1) * k] and its row */
	double	   *figures;		/* [rows of the group] */
	uint32_t   *found;
	void	   *temp;
	size_t		temp_bytes;
};

struct Reaches
{
	const double *figures;
	double		bar;

	__host__ __device__ bool
	operator()(uint32_t i) const
	{
		return figures[i] >= bar;
	}
};

/* Is a figure certainly greater than all that could follow? */
struct Exceeds
{
	const double *figures;
	const double *end;
	int32_t		k;

	__device__ uint32_t
	operator()(uint32_t i) const
	{
		return end[k] < figures[i] * (1 - 1e-9);
	}
};

Chunks
carve_chunks(const GpucolDeviceRankSplit &group, uintptr_t base, size_t *size)
{
	GpucolSplitCarve c = {base};
	Chunks		s = {};
	size_t		cells,
				bytes = 0;

	s.group = group;
	s.n = std::min(MAX_CHUNKS, (group.n + CHUNK_ROWS - 1) / CHUNK_ROWS);
	s.rows = (group.n + s.n - 1) / s.n;
	cells = ((size_t) s.n + 1) * (size_t) group.k;
	s.own = c.take<double>(cells);
	s.start = c.take<double>(cells);
	s.end = c.take<double>((size_t) group.k + 1);
	s.best = c.take<double>(cells);
	s.rank = c.take<int32_t>(cells);
	s.figures = c.take<double>(group.n);
	s.found = c.take<uint32_t>(1);
	cub::DeviceSelect::If(nullptr, bytes, GpucolSplitNumbers(0), (int32_t *) nullptr, s.found, (int) group.n,
						  Reaches{nullptr, 0});
	s.temp_bytes = bytes;
	bytes = 0;
	cub::DeviceReduce::Sum(nullptr, bytes,
						   thrust::make_transform_iterator(GpucolSplitNumbers(0), IsPositive{nullptr}),
						   s.found, (int) group.n);
	s.temp_bytes = std::max(s.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceReduce::Sum(nullptr, bytes,
						   thrust::make_transform_iterator(GpucolSplitNumbers(0),
														   Exceeds{nullptr, nullptr, 0}), s.found, (int) group.n);
	s.temp_bytes = std::max(s.temp_bytes, bytes);
	s.temp = c.take<char>(s.temp_bytes);
	*size = c.at - base;
	return s;
}

/*
 * Run the recurrence over each chunk, a warp each: `visit` sees the slots before
 * every row, `finish` when the chunk is done.
 */
template <int S, class Visit>
__global__ void
chunks_kernel(Chunks s, const double *starts)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32; chunk < s.n; chunk += warps)
	{
		uint32_t	from = min(chunk * s.rows, s.group.n);
		uint32_t	to = min(from + s.rows, s.group.n);
		WarpSlots<S> slots;
		Visit		visit;

		slots.begin(starts == NULL ? NULL : starts + (size_t) chunk * s.group.k, s.group.k, lane);
		visit.begin(slots, lane);
		for (uint32_t base = from; base < to; base += 32)
		{
			double		mine = base + lane < to ? s.group.p[base + lane] : 0;
			int			n = (int) min(32u, to - base);

			if ((base - from) % GPUCOL_SPLIT_LOOK_EVERY == 0 && gpucol_device_rank_warp_given_up(s.group.cancel))
				return;
			for (int t = 0; t < n; t++)
			{
				double		p = __shfl_sync(GPUCOL_SPLIT_ALL, mine, t);

				visit.row(slots, p, base + t, t, lane);
				slots.add(p, lane);
			}
			visit.rows(s, mine, base + lane, base + lane < to);
		}
		visit.finish(s, slots, chunk, lane);
	}
}

/* The polynomial of a chunk. */
template <int S>
struct OwnSlots
{
	__device__ void begin(const WarpSlots<S> &, int) {}
	__device__ void row(const WarpSlots<S> &, double, uint32_t, int, int) {}
	__device__ void rows(const Chunks &, double, uint32_t, bool) {}

	__device__ void
	finish(const Chunks &s, const WarpSlots<S> &slots, uint32_t chunk, int lane)
	{
#pragma unroll
		for (int r = 0; r < S; r++)
		{
			int			c = WarpSlots<S>::number(s.group.k, lane, r);

			if (c >= 0)
				s.own[(size_t) chunk * s.group.k + c] = slots.v[r];
		}
	}
};

/* Pr[in the top k] of every row; -infinity where that is no chance at all. */
template <int S>
struct FiguresOf
{
	double		full;			/* Pr[k or more], in the last lane */
	double		mine;			/* Pr[fewer than k] before this lane's row */

	__device__ void
	begin(const WarpSlots<S> &slots, int)
	{
		full = fmax(0.0, 1 - slots.sum());
		mine = 0;
	}

	__device__ void
	row(const WarpSlots<S> &slots, double p, uint32_t, int t, int lane)
	{
		double		below = 1 - __shfl_sync(GPUCOL_SPLIT_ALL, full, 31);

		/* each form where it is accurate */
		if (!(below > 0.5))
			below = slots.sum();
		if (lane == t)
			mine = below;
		full += slots.v[S - 1] * p;
	}

	__device__ void
	rows(const Chunks &s, double p, uint32_t i, bool valid)
	{
		if (valid)
			s.figures[i] = p > 0 && mine >= GPUCOL_COUNT_TINY ? fmin(p * mine, 1.0) : -INFINITY;
	}

	__device__ void finish(const Chunks &, const WarpSlots<S> &, uint32_t, int) {}
};

/* The best row of a chunk at every rank. */
template <int S>
struct BestAtRanks
{
	double		best[S];
	int32_t		rank[S];

	__device__ void
	begin(const WarpSlots<S> &, int)
	{
#pragma unroll
		for (int r = 0; r < S; r++)
		{
			best[r] = 0;
			rank[r] = -1;
		}
	}

	__device__ void
	row(const WarpSlots<S> &slots, double p, uint32_t i, int, int)
	{
#pragma unroll
		for (int r = 0; r < S; r++)
		{
			double		here = slots.v[r] >= GPUCOL_COUNT_TINY ? p * slots.v[r] : 0;

			if (here > best[r] * (1 + GPUCOL_RANK_TIE))
			{
				best[r] = here;
				rank[r] = (int32_t) i;
			}
		}
	}

	__device__ void rows(const Chunks &, double, uint32_t, bool) {}

	__device__ void
	finish(const Chunks &s, const WarpSlots<S> &, uint32_t chunk, int lane)
	{
#pragma unroll
		for (int r = 0; r < S; r++)
		{
			int			c = WarpSlots<S>::number(s.group.k, lane, r);

			if (c >= 0)
			{
				s.best[(size_t) chunk * s.group.k + c] = best[r];
				s.rank[(size_t) chunk * s.group.k + c] = rank[r];
			}
		}
	}
};

/*
 * The distribution before every chunk: one block, thread c forms term c of each
 * product.  end[k] is the sum of end[0 .. k).
 */
__global__ void
starts_kernel(Chunks s)
{
	extern __shared__ double shared[];
	int			k = s.group.k;
	int			c = (int) threadIdx.x;
	double	   *before = shared;
	double	   *own = shared + k;
	double		mine = c == 0;
	double		next = c < k ? s.own[c] : 0;

	for (uint32_t chunk = 0; chunk < s.n; chunk++)
	{
		double		sum[4] = {0, 0, 0, 0};
		int			a = 0;

		if (c < k)
		{
			s.start[(size_t) chunk * k + c] = mine;
			before[c] = mine;
			own[c] = next;
			if (chunk + 1 < s.n)
				next = s.own[(size_t) (chunk + 1) * k + c];
		}
		__syncthreads();
		if (c < k)
		{
			for (; a + 3 <= c; a += 4)
#pragma unroll
				for (int j = 0; j < 4; j++)
					sum[j] += before[a + j] * own[c - a - j];
			for (; a <= c; a++)
				sum[0] += before[a] * own[c - a];
			mine = (sum[0] + sum[1]) + (sum[2] + sum[3]);
		}
		__syncthreads();
	}
	if (c < k)
		s.end[c] = before[c] = mine;
	__syncthreads();
	if (c == 0)
	{
		mine = 0;
		for (int a = 0; a < k; a++)
			mine += before[a];
		s.end[k] = mine;
	}
}

/* The best of all chunks at every rank, behind those of the chunks. */
__global__ void
merge_kernel(Chunks s, int32_t *ranks)
{
	int			k = s.group.k;

	GPUCOL_FOR_EACH(c, (size_t) k)
	{
		double		best = 0;
		int32_t		rank = -1;

		for (uint32_t chunk = 0; chunk < s.n; chunk++)
		{
			size_t		at = (size_t) chunk * k + c;

			if (s.best[at] > best * (1 + GPUCOL_RANK_TIE))
			{
				best = s.best[at];
				rank = s.rank[at];
			}
		}
		s.best[(size_t) s.n * k + c] = best;
		ranks[c] = rank;
	}
}

/* Would later rows change nothing?  One thread; see u_kranks_settled(). */
__global__ void
settle_ranks_kernel(Chunks s, uint8_t *settled)
{
	const double *best = s.best + (size_t) s.n * s.group.k;
	double		at_most = 0;
	bool		done = s.end[s.group.k] < best[s.group.k - 1];

	for (int c = 0; c < s.group.k && done; c++)
	{
		at_most += s.end[c];
		done = at_most < best[c];
	}
	*settled = done;
}

__global__ void
settle_threshold_kernel(Chunks s, double bar, uint8_t *settled)
{
	*settled = s.end[s.group.k] < bar * (1 - 1e-9);
}

__global__ void
settle_global_kernel(Chunks s, uint8_t *settled)
{
	*settled = *s.found >= (uint32_t) s.group.k;
}

template <template <int> class Visit, int S>
void
launch_chunks(const Chunks &s, const double *starts, cudaStream_t stream)
{
	chunks_kernel<S, Visit<S>><<<(s.n + 3) / 4, 128, 0, stream>>>(s, starts);
}

/* Run a visitor over the chunks with as few registers a lane as k needs. */
template <template <int> class Visit>
cudaError_t
run_chunks(const Chunks &s, const double *starts, cudaStream_t stream)
{
	int			k = s.group.k;

	if (k <= 32)
		launch_chunks<Visit, 1>(s, starts, stream);
	else if (k <= 64)
		launch_chunks<Visit, 2>(s, starts, stream);
	else if (k <= 128)
		launch_chunks<Visit, 4>(s, starts, stream);
	else if (k <= 256)
		launch_chunks<Visit, 8>(s, starts, stream);
	else if (k <= 512)
		launch_chunks<Visit, 16>(s, starts, stream);
	else
		launch_chunks<Visit, 32>(s, starts, stream);
	return cudaGetLastError();
}

/* The distribution before every chunk and behind the last. */
cudaError_t
find_starts(const Chunks &s, cudaStream_t stream)
{
	cudaError_t error;

	if (s.group.k > GPUCOL_DEVICE_RANK_SPLIT_MAX_K)
		return cudaErrorInvalidValue;
	error = run_chunks<OwnSlots>(s, NULL, stream);
	if (error != cudaSuccess)
		return error;
	starts_kernel<<<1, (s.group.k + 31) / 32 * 32, 2 * sizeof(double) * s.group.k, stream>>>(s);
	return cudaGetLastError();
}

cudaError_t
find_figures(const Chunks &s, cudaStream_t stream)
{
	cudaError_t error = find_starts(s, stream);

	return error == cudaSuccess ? run_chunks<FiguresOf>(s, s.start, stream) : error;
}

}								/* namespace */

size_t
gpucol_device_rank_split_scratch(uint32_t n, int32_t k)
{
	GpucolDeviceRankSplit group = {NULL, n, k, NULL};
	size_t		entering = gpucol_device_rank_split_set_scratch(n, k),
				chunks;

	if (k > GPUCOL_DEVICE_RANK_SPLIT_MAX_K)
		return entering;
	carve_chunks(group, 0, &chunks);
	return std::max(entering, chunks);
}

cudaError_t
gpucol_device_rank_split_global(const GpucolDeviceRankSplit &group, double *figures, uint8_t *settled,
								void *scratch, cudaStream_t stream)
{
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	cudaError_t error;

	s.figures = figures;
	error = find_figures(s, stream);
	if (error != cudaSuccess)
		return error;
	error = cub::DeviceReduce::Sum(s.temp, s.temp_bytes,
								   thrust::make_transform_iterator(GpucolSplitNumbers(0),
																   Exceeds{figures, s.end, group.k}),
								   s.found, (int) group.n, stream);
	if (error != cudaSuccess)
		return error;
	settle_global_kernel<<<1, 1, 0, stream>>>(s, settled);
	return cudaGetLastError();
}

cudaError_t
gpucol_device_rank_split_pt_k(const GpucolDeviceRankSplit &group, double threshold, int32_t *ranks,
							  int32_t *count, uint8_t *settled,
				  void *scratch, cudaStream_t stream)
{
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	double		bar = threshold * (1 - GPUCOL_RANK_TIE);
	cudaError_t error = find_figures(s, stream);

	if (error != cudaSuccess)
		return error;
	settle_threshold_kernel<<<1, 1, 0, stream>>>(s, bar, settled);
	return cub::DeviceSelect::If(s.temp, s.temp_bytes, GpucolSplitNumbers(0), ranks, (uint32_t *) count, (int) group.n,
								 Reaches{s.figures, bar}, stream);
}

cudaError_t
gpucol_device_rank_split_u_kranks(const GpucolDeviceRankSplit &group, int32_t *ranks, int32_t *count,
								  uint8_t *settled, void *scratch,
					  cudaStream_t stream)
{
	GpucolDeviceRankSplit reached = group;
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	uint32_t	positive;
	cudaError_t error;

	/* how many ranks some world reaches */
	cub::DeviceReduce::Sum(s.temp, s.temp_bytes,
						   thrust::make_transform_iterator(GpucolSplitNumbers(0), IsPositive{group.p}), s.found,
						   (int) group.n, stream);
	cudaMemcpyAsync(&positive, s.found, sizeof(positive), cudaMemcpyDeviceToHost, stream);
	error = cudaStreamSynchronize(stream);
	if (error != cudaSuccess)
		return error;
	reached.k = (int32_t) std::min(positive, (uint32_t) group.k);
	error = cudaMemcpyAsync(count, &reached.k, sizeof(int32_t), cudaMemcpyHostToDevice, stream);
	if (error != cudaSuccess || reached.k == 0)
		return error;
	s = carve_chunks(reached, (uintptr_t) scratch, &size);
	error = find_starts(s, stream);
	if (error == cudaSuccess)
		error = run_chunks<BestAtRanks>(s, s.start, stream);
	if (error != cudaSuccess)
		return error;
	merge_kernel<<<gpucol_launch_grid(reached.k), GPUCOL_THREADS, 0, stream>>>(s, ranks);
	if (reached.k == group.k)
		settle_ranks_kernel<<<1, 1, 0, stream>>>(s, settled);
	return cudaGetLastError();
}
