/*-------------------------------------------------------------------------
 *
 * rank_split_utopk.cu
 *	  U-Topk of one long group by the whole device.
 *
 * Only a row that enters the heap of the k likeliest rows so far can be the last
 * of the best set, and the product over all others is associative.  The rows that
 * may enter are found in prefixes of doubling length: those likelier than the k-th
 * likeliest row of the prefix before.  The products over the rows between them are
 * formed in parallel, piece by piece, and one thread runs the heap
 * (ranking/semantics/rank_utopk.h) over the few rows and pieces that are left.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_split.cuh"

#include <cub/device/device_radix_sort.cuh>

#include "ranking/semantics/rank_utopk.h"

namespace
{

constexpr uint32_t FIRST_ROWS = 8192;	/* all of which may enter the heap */
constexpr uint32_t MAX_ENTERING = 1 << 20;	/* rows that one thread walks */
constexpr uint32_t PIECE = 32768;	/* rows of a product */

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
	GpucolSplitCarve c = {base};
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
	cub::DeviceSelect::If(nullptr, e.temp_bytes, GpucolSplitNumbers(0), e.at, e.found, (int) n, Enters{nullptr, 0});
	bytes = 0;
	cub::DeviceSelect::If(nullptr, bytes, GpucolSplitNumbers(0), (int32_t *) nullptr, e.found, (int) n, IsMember{});
	e.temp_bytes = std::max(e.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, e.likeliest[0], e.likeliest[1], (int) keys);
	e.temp_bytes = std::max(e.temp_bytes, bytes);
	bytes = 0;
	cub::DeviceScan::ExclusiveSum(nullptr, bytes,
								  thrust::make_transform_iterator(GpucolSplitNumbers(0), Pieces{nullptr, 0}), e.first,
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
find_entering(const GpucolDeviceRankSplit &group, Entering &e, uint32_t *m, cudaStream_t stream)
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

		cub::DeviceSelect::If(e.temp, e.temp_bytes, GpucolSplitNumbers(from), e.at + *m, e.found, (int) (to - from),
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
			gather_kernel<<<gpucol_launch_grid(found), GPUCOL_THREADS, 0, stream>>>(group.p, e.at + *m, found,
					e.likeliest[0] + held);
			cub::DeviceRadixSort::SortKeysDescending(e.temp, e.temp_bytes, e.likeliest[0], e.likeliest[1],
													 (int) (held + found),
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

		other.hi = __shfl_xor_sync(GPUCOL_SPLIT_ALL, x.hi, d);
		other.lo = __shfl_xor_sync(GPUCOL_SPLIT_ALL, x.lo, d);
		other.e = __shfl_xor_sync(GPUCOL_SPLIT_ALL, (long long) x.e, d);
		x = gpucol_product_mul(x, other);
	}
	return x;
}

/* Products of each piece, a warp a piece. */
__global__ void
pieces_kernel(GpucolDeviceRankSplit group, const uint32_t *at, uint32_t m, const uint32_t *first,
			  GpucolProduct *rest, GpucolProduct *bound)
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
		if (gpucol_device_rank_warp_given_up(group.cancel))
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
walk_kernel(GpucolDeviceRankSplit group, Entering e, uint32_t m, GpucolDeviceRankSet *set)
{
	GpucolUTopkScan scan;

	gpucol_utopk_begin(&scan);
	for (uint32_t j = 0; j <= m; j++)
	{
		if (j % GPUCOL_SPLIT_LOOK_EVERY == 0 && gpucol_device_rank_given_up(group.cancel))
			break;				/* with the best set so far */
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

size_t
gpucol_device_rank_split_set_scratch(uint32_t n, int32_t k)
{
	size_t		size;

	carve_entering(0, n, k, &size);
	return size;
}

cudaError_t
gpucol_device_rank_split_u_topk(const GpucolDeviceRankSplit &group, GpucolDeviceRankSet *set, int32_t *ranks,
								bool *done, void *scratch,
					cudaStream_t stream)
{
	size_t		size;
	Entering	e = carve_entering((uintptr_t) scratch, group.n, group.k, &size);
	uint32_t	m;
	GpucolDeviceRankSet host;
	IsMember	member = {};
	cudaError_t error = find_entering(group, e, &m, stream);

	*done = error == cudaSuccess && m <= MAX_ENTERING;
	if (!*done)
		return error;
	cudaMemcpyAsync(e.at + m, &group.n, sizeof(uint32_t), cudaMemcpyHostToDevice, stream);
	cub::DeviceScan::ExclusiveSum(e.temp, e.temp_bytes,
								  thrust::make_transform_iterator(GpucolSplitNumbers(0), Pieces{e.at, m}), e.first,
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
	return cub::DeviceSelect::If(e.temp, e.temp_bytes, GpucolSplitNumbers(0), ranks, e.found, host.last + 1,
								 member, stream);
}
