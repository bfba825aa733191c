/*-------------------------------------------------------------------------
 *
 * topk_split.cu
 *	  Rankings of one long group by the whole device, for probabilities so small
 *	  that far more rows matter than a thread or a warp should walk.
 *
 * U-Topk.  Only a row that enters the heap of the k likeliest rows so far can be
 * the last of the best set, and the product over all others is associative.  The
 * rows that may enter are found in prefixes of doubling length: those likelier
 * than the k-th likeliest row of the prefix before.  The products over the rows
 * between them are formed in parallel, piece by piece, and one thread runs the
 * heap (uncertain/rank_utopk.h) over the few rows and pieces that are left.
 *
 * Numbers of better rows.  The distribution of the number of existing rows, cut
 * at k, is a polynomial, and that of a stretch of the ranking is the product of
 * those of its parts.  So the group is cut into chunks: a warp each forms their
 * polynomials by the recurrence of uncertain/rank_counts.h, with its slots in
 * registers; one block multiplies them up, which gives the distribution before
 * every chunk; and a warp each runs the recurrence from there and reads off what
 * the ranking wants of each row.  All terms are non-negative, so nothing cancels:
 * errors grow with the rows of a chunk and the number of chunks, not of rows.
 *
 *-------------------------------------------------------------------------
 */
#include "topk.cuh"

#include <algorithm>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "launch.cuh"
#include "uncertain/rank_counts.h"
#include "uncertain/rank_utopk.h"

namespace
{

constexpr unsigned ALL = 0xffffffffu;
constexpr uint32_t FIRST_ROWS = 8192;	/* all of which may enter the heap */
constexpr uint32_t MAX_ENTERING = 1 << 20;	/* rows that one thread walks */
constexpr uint32_t PIECE = 32768;	/* rows of a product */
constexpr uint32_t MAX_CHUNKS = 4096;
constexpr uint32_t CHUNK_ROWS = 2048;	/* at least */
constexpr int LOOK_EVERY = 1024;	/* rows between looks at `cancel` */

/* Scratch memory, dealt out in order; from a base of 0 it is only measured. */
struct Carve
{
	uintptr_t	at;

	template <class T> T *
	take(size_t n)
	{
		T		   *p = (T *) at;

		at += (n * sizeof(T) + 255) & ~(size_t) 255;
		return p;
	}
};

__device__ bool
given_up(const volatile uint32_t *cancel)
{
	return cancel != NULL && *cancel;
}

struct IsPositive
{
	const double *p;

	__host__ __device__ uint32_t
	operator()(uint32_t i) const
	{
		return p[i] > 0;
	}
};

typedef thrust::counting_iterator<uint32_t> Numbers;

/*-------------------------------------------------------------------------
 * U-Topk
 *-------------------------------------------------------------------------
 */

/* May a row enter the heap: is it likelier than the k-th likeliest before? */
struct Enters
{
	const double *p;
	double		bar;

	__host__ __device__ bool
	operator()(uint32_t i) const
	{
		return p[i] > bar;
	}
};

struct IsMember
{
	const double *p;
	GpucolUTopk best;

	__host__ __device__ bool
	operator()(uint32_t i) const
	{
		return p[i] > 0 && gpucol_utopk_member(&best, p, (int32_t) i);
	}
};

/* Rows that may enter the heap, and the products between them. */
struct Entering
{
	uint32_t   *at;				/* [n + 1] their ranks; behind them n */
	uint32_t   *found;			/* of the last selection */
	double	   *likeliest[2];	/* [k + MAX_ENTERING] the k likeliest so far, and new ones */
	uint32_t   *first;			/* [MAX_ENTERING + 2] pieces before each */
	GpucolProduct *rest;		/* by piece: of 1 - p */
	GpucolProduct *bound;		/* of max(p, 1 - p) */
	GpucolHeapNode *heap;
	void	   *temp;
	size_t		temp_bytes;
};

/* Pieces before row j of the list. */
struct Pieces
{
	const uint32_t *at;
	uint32_t	m;

	__host__ __device__ uint32_t
	operator()(uint32_t j) const
	{
		uint32_t	from = j == 0 ? 0 : at[j - 1] + 1;

		return j > m ? 0 : (at[j] - from + PIECE - 1) / PIECE;
	}
};

Entering
carve_entering(uintptr_t base, uint32_t n, int32_t k, size_t *size)
{
	Carve		c = {base};
	Entering	e;
	size_t		keys = (size_t) k + MAX_ENTERING,
				bytes,
				pieces = (size_t) MAX_ENTERING + 1 + n / PIECE;

	e.at = c.take<uint32_t>((size_t) n + 1);
	e.found = c.take<uint32_t>(1);
	e.likeliest[0] = c.take<double>(keys);
	e.likeliest[1] = c.take<double>(keys);
	e.first = c.take<uint32_t>((size_t) MAX_ENTERING + 2);
	e.rest = c.take<GpucolProduct>(pieces);
	e.bound = c.take<GpucolProduct>(pieces);
	e.heap = c.take<GpucolHeapNode>(k);
	e.temp_bytes = 0;
	cub::DeviceSelect::If(nullptr, e.temp_bytes, Numbers(0), e.at, e.found, (int) n, Enters{nullptr, 0});
	bytes = 0;
	cub::DeviceSelect::If(nullptr, bytes, Numbers(0), (int32_t *) nullptr, e.found, (int) n, IsMember{});
	e.temp_bytes = std::max(e.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, e.likeliest[0], e.likeliest[1], (int) keys);
	e.temp_bytes = std::max(e.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceScan::ExclusiveSum(nullptr, bytes, thrust::make_transform_iterator(Numbers(0), Pieces{nullptr, 0}), e.first,
								  (int) MAX_ENTERING + 2);
	e.temp_bytes = std::max(e.temp_bytes, bytes);
	e.temp = c.take<char>(e.temp_bytes);
	*size = c.at - base;
	return e;
}

/* The probabilities of n rows behind the k likeliest. */
__global__ void
gather_kernel(const double *p, const uint32_t *at, uint32_t n, double *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = p[at[i]];
}

/* Find the rows that may enter the heap; *m of them, more than MAX_ENTERING: too many. */
cudaError_t
find_entering(const GpucolSplitGroup &group, Entering &e, uint32_t *m, cudaStream_t stream)
{
	uint32_t	from = 0;
	uint32_t	to = std::min(group.n, std::max(FIRST_ROWS, 4 * (uint32_t) group.k));
	uint32_t	held = 0;
	double		bar = 0;
	cudaError_t error = cudaSuccess;

	*m = 0;
	while (from < group.n && error == cudaSuccess)
	{
		uint32_t	found;

		cub::DeviceSelect::If(e.temp, e.temp_bytes, Numbers(from), e.at + *m, e.found, (int) (to - from),
							  Enters{group.p, bar}, stream);
		cudaMemcpyAsync(&found, e.found, sizeof(found), cudaMemcpyDeviceToHost, stream);
		error = cudaStreamSynchronize(stream);
		if (error != cudaSuccess || *m + found > MAX_ENTERING)
		{
			*m = MAX_ENTERING + 1;
			return error;
		}
		if (found > 0)
		{
			gather_kernel<<<gpucol_launch_grid(found), GPUCOL_THREADS, 0, stream>>>(group.p, e.at + *m, found, e.likeliest[0] + held);
			cub::DeviceRadixSort::SortKeysDescending(e.temp, e.temp_bytes, e.likeliest[0], e.likeliest[1], (int) (held + found),
													 0, 64, stream);
			held = std::min(held + found, (uint32_t) group.k);
			std::swap(e.likeliest[0], e.likeliest[1]);
			*m += found;
		}
		if (held == (uint32_t) group.k)
		{
			cudaMemcpyAsync(&bar, e.likeliest[0] + held - 1, sizeof(bar), cudaMemcpyDeviceToHost, stream);
			error = cudaStreamSynchronize(stream);
		}
		from = to;
		to = (uint32_t) std::min<uint64_t>(group.n, 2 * (uint64_t) to);
	}
	return error;
}

__device__ GpucolProduct
warp_product(GpucolProduct x)
{
	for (int d = 16; d > 0; d >>= 1)
	{
		GpucolProduct other;

		other.hi = __shfl_xor_sync(ALL, x.hi, d);
		other.lo = __shfl_xor_sync(ALL, x.lo, d);
		other.e = __shfl_xor_sync(ALL, (long long) x.e, d);
		x = gpucol_product_mul(x, other);
	}
	return x;
}

/* Products of each piece, a warp a piece. */
__global__ void
pieces_kernel(GpucolSplitGroup group, const uint32_t *at, uint32_t m, const uint32_t *first, GpucolProduct *rest, GpucolProduct *bound)
{
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	uint32_t	npieces = first[m + 1];

	for (uint32_t piece = (blockIdx.x * blockDim.x + threadIdx.x) / 32; piece < npieces; piece += warps)
	{
		uint32_t	lo = 0,
					hi = m;
		uint32_t	from,
					to;
		GpucolProduct r = gpucol_product_of(1.0),
					b = r;

		/* the last row of the list with first[] <= piece */
		while (lo < hi)
		{
			uint32_t	mid = lo + (hi - lo + 1) / 2;

			if (first[mid] <= piece)
				lo = mid;
			else
				hi = mid - 1;
		}
		from = (lo == 0 ? 0 : at[lo - 1] + 1) + (piece - first[lo]) * PIECE;
		to = min(from + PIECE, at[lo]);
		if (given_up(group.cancel))
			return;
		for (uint32_t i = from + lane; i < to; i += 32)
		{
			double		p = group.p[i];
			GpucolPair	q = gpucol_pair_complement(p);

			if (p <= 0)
				continue;
			r = gpucol_product_mul_pair(r, q);
			if (p > 0.5)
				q.hi = p, q.lo = 0;
			b = gpucol_product_mul_pair(b, q);
		}
		r = warp_product(r);
		b = warp_product(b);
		if (lane == 0)
		{
			rest[piece] = r;
			bound[piece] = b;
		}
	}
}

/* The heap over what is left; one thread. */
__global__ void
walk_kernel(GpucolSplitGroup group, Entering e, uint32_t m, GpucolTopkSet *set)
{
	GpucolUTopkScan scan;

	gpucol_utopk_begin(&scan);
	for (uint32_t j = 0; j <= m; j++)
	{
		if (j % LOOK_EVERY == 0 && given_up(group.cancel))
			return;
		for (uint32_t piece = e.first[j]; piece < e.first[j + 1]; piece++)
		{
			scan.rest = gpucol_product_mul(scan.rest, e.rest[piece]);
			scan.bound = gpucol_product_mul(scan.bound, e.bound[piece]);
		}
		if (scan.filled == group.k && gpucol_utopk_settled(&scan, e.heap))
		{
			scan.best.horizon = (int32_t) e.at[j] - 1;
			break;
		}
		if (j < m)
			gpucol_utopk_take(&scan, group.p[e.at[j]], (int32_t) e.at[j], group.k, e.heap);
	}
	set->probability = gpucol_product_value(scan.best.probability);
	set->min_p = scan.best.min_p;
	set->min_rank = scan.best.min_rank;
	set->last = scan.best.last;
	set->horizon = scan.best.horizon;
}

}								/* namespace */

cudaError_t
gpucol_split_u_topk(const GpucolSplitGroup &group, GpucolTopkSet *set, int32_t *ranks, bool *done, void *scratch,
					cudaStream_t stream)
{
	size_t		size;
	Entering	e = carve_entering((uintptr_t) scratch, group.n, group.k, &size);
	uint32_t	m;
	GpucolTopkSet host;
	IsMember	member = {};
	cudaError_t error = find_entering(group, e, &m, stream);

	*done = error == cudaSuccess && m <= MAX_ENTERING;
	if (!*done)
		return error;
	cudaMemcpyAsync(e.at + m, &group.n, sizeof(uint32_t), cudaMemcpyHostToDevice, stream);
	cub::DeviceScan::ExclusiveSum(e.temp, e.temp_bytes, thrust::make_transform_iterator(Numbers(0), Pieces{e.at, m}), e.first,
								  (int) m + 2, stream);
	pieces_kernel<<<gpucol_launch_blocks(pieces_kernel, GPUCOL_THREADS, 0), GPUCOL_THREADS, 0, stream>>>
		(group, e.at, m, e.first, e.rest, e.bound);
	walk_kernel<<<1, 1, 0, stream>>>(group, e, m, set);
	cudaMemcpyAsync(&host, set, sizeof(host), cudaMemcpyDeviceToHost, stream);
	error = cudaStreamSynchronize(stream);
	if (error != cudaSuccess)
		return error;
	if (host.last < 0)
		return cudaMemsetAsync(ranks, 0xff, sizeof(int32_t) * (size_t) group.k, stream);
	member.p = group.p;
	member.best.min_p = host.min_p;
	member.best.min_rank = host.min_rank;
	member.best.last = host.last;
	return cub::DeviceSelect::If(e.temp, e.temp_bytes, Numbers(0), ranks, e.found, host.last + 1, member, stream);
}

/*-------------------------------------------------------------------------
 * Numbers of better rows
 *-------------------------------------------------------------------------
 */

namespace
{

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
		double		left = __shfl_up_sync(ALL, v[S - 1], 1);

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
			s += __shfl_xor_sync(ALL, s, d);
		return s;
	}
};

/* The chunks of a group and what is kept of each. */
struct Chunks
{
	GpucolSplitGroup group;
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
carve_chunks(const GpucolSplitGroup &group, uintptr_t base, size_t *size)
{
	Carve		c = {base};
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
	cub::DeviceSelect::If(nullptr, bytes, Numbers(0), (int32_t *) nullptr, s.found, (int) group.n, Reaches{nullptr, 0});
	s.temp_bytes = bytes;
	bytes = 0;
	cub::DeviceReduce::Sum(nullptr, bytes, thrust::make_transform_iterator(Numbers(0), IsPositive{nullptr}), s.found, (int) group.n);
	s.temp_bytes = std::max(s.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceReduce::Sum(nullptr, bytes, thrust::make_transform_iterator(Numbers(0), Exceeds{nullptr, nullptr, 0}), s.found, (int) group.n);
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

			if ((base - from) % LOOK_EVERY == 0 && given_up(s.group.cancel))
				return;
			for (int t = 0; t < n; t++)
			{
				double		p = __shfl_sync(ALL, mine, t);

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
		double		below = 1 - __shfl_sync(ALL, full, 31);

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

	if (s.group.k > GPUCOL_SPLIT_MAX_K)
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
gpucol_split_scratch(uint32_t n, int32_t k)
{
	GpucolSplitGroup group = {NULL, n, k, NULL};
	size_t		entering,
				chunks;

	carve_entering(0, n, k, &entering);
	if (k > GPUCOL_SPLIT_MAX_K)
		return entering;
	carve_chunks(group, 0, &chunks);
	return std::max(entering, chunks);
}

cudaError_t
gpucol_split_global(const GpucolSplitGroup &group, double *figures, uint8_t *settled, void *scratch, cudaStream_t stream)
{
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	cudaError_t error;

	s.figures = figures;
	error = find_figures(s, stream);
	if (error != cudaSuccess)
		return error;
	error = cub::DeviceReduce::Sum(s.temp, s.temp_bytes, thrust::make_transform_iterator(Numbers(0), Exceeds{figures, s.end, group.k}),
								   s.found, (int) group.n, stream);
	if (error != cudaSuccess)
		return error;
	settle_global_kernel<<<1, 1, 0, stream>>>(s, settled);
	return cudaGetLastError();
}

cudaError_t
gpucol_split_pt_k(const GpucolSplitGroup &group, double threshold, int32_t *ranks, int32_t *count, uint8_t *settled,
				  void *scratch, cudaStream_t stream)
{
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	double		bar = threshold * (1 - GPUCOL_RANK_TIE);
	cudaError_t error = find_figures(s, stream);

	if (error != cudaSuccess)
		return error;
	settle_threshold_kernel<<<1, 1, 0, stream>>>(s, bar, settled);
	return cub::DeviceSelect::If(s.temp, s.temp_bytes, Numbers(0), ranks, (uint32_t *) count, (int) group.n,
								 Reaches{s.figures, bar}, stream);
}

cudaError_t
gpucol_split_u_kranks(const GpucolSplitGroup &group, int32_t *ranks, int32_t *count, uint8_t *settled, void *scratch,
					  cudaStream_t stream)
{
	GpucolSplitGroup reached = group;
	size_t		size;
	Chunks		s = carve_chunks(group, (uintptr_t) scratch, &size);
	uint32_t	positive;
	cudaError_t error;

	/* how many ranks some world reaches */
	cub::DeviceReduce::Sum(s.temp, s.temp_bytes, thrust::make_transform_iterator(Numbers(0), IsPositive{group.p}), s.found,
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
