/*-------------------------------------------------------------------------
 *
 * topk.cu
 *	  U-Topk over many groups: sorting, the two algorithms, selection.
 *
 * Sorting.  (group, score descending) becomes one radix key, of the scores no more
 * leading bits than tell the rows of a group apart if they are spread at all: first as
 * many as 32 bits hold beside the group, if these may do (of doubles not their leading
 * bits, most of which are the exponent's, but steps of equal width), then as many more.  Rows
 * that tie are put into order by the whole score, probability, label and x-tuple by a thread
 * at the head of each run.  Where a run is long for that, all bits of the scores are
 * sorted by: in one key where they fit 64 bits with the group, else scores first and
 * groups stably after.  Where rows of one score are too many for a thread, they are
 * sorted by x-tuple, label and probability before that.
 *
 * Heap (Algorithm 3 of Chang et al.): one thread a group runs the very loop of the
 * CPU, uncertain/rank_utopk.h, over a heap in shared memory.  It stops early, so
 * a thread reads few of its group's probabilities.
 *
 * Dynamic programming (Algorithm 2): one block a group, thread j holds column j
 * of the row in registers and gets column j - 1 from its neighbour, through
 * shared memory at warp boundaries; choices are ballots.  A row costs one
 * barrier, which also decides whether any column can still win.
 *
 *-------------------------------------------------------------------------
 */
#include "topk.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <cub/cub.cuh>

#include "launch.cuh"
#include "stage.cuh"
#include "tuning.cuh"
#include "uncertain/rank_dp.h"
#include "uncertain/rank_utopk.h"

/*-------------------------------------------------------------------------
 * Sorting
 *-------------------------------------------------------------------------
 */

namespace
{

constexpr uint32_t LONG_RUN = 32;	/* rows that tie in leading bits of their scores, */
constexpr uint32_t LONG_TIE = 1024; /* and in their scores, for one thread to order */
constexpr int	SPREAD_BITS = 16;	/* of scores beyond those that number a group's rows, */
constexpr int	FEW_SPREAD_BITS = 6;	/* or so many in a short key */

struct SortScratch
{
	int64_t    *range;			/* least and greatest score */
	uint32_t   *long_run;		/* rows tie, too many for a thread */
	uint64_t   *keys[2];
	uint32_t   *rows[2];
	void	   *cub;
	size_t		cub_bytes;
};

size_t
align(size_t bytes)
{
	return (bytes + 255) & ~(size_t) 255;
}

size_t
cub_bytes(uint32_t nrows)
{
	cub::DoubleBuffer<uint64_t> keys(nullptr, nullptr);
	cub::DoubleBuffer<uint32_t> short_keys(nullptr, nullptr);
	cub::DoubleBuffer<uint32_t> rows(nullptr, nullptr);
	size_t		sort = 0,
				short_sort = 0,
				reduce = 0;

	cub::DeviceRadixSort::SortPairs(nullptr, sort, keys, rows, nrows);
	cub::DeviceRadixSort::SortPairs(nullptr, short_sort, short_keys, rows, nrows);
	cub::DeviceReduce::Max(nullptr, reduce, (int64_t *) nullptr, (int64_t *) nullptr, nrows);
	return std::max(std::max(sort, short_sort), reduce);
}

SortScratch
carve(void *memory, uint32_t nrows)
{
	char	   *at = (char *) memory;
	SortScratch s;

	s.range = (int64_t *) at;
	s.long_run = (uint32_t *) at + 8;
	at += 256;
	for (int i = 0; i < 2; i++)
	{
		s.keys[i] = (uint64_t *) at;
		at += align(sizeof(uint64_t) * nrows);
		s.rows[i] = (uint32_t *) at;
		at += align(sizeof(uint32_t) * nrows);
	}
	s.cub = at;
	s.cub_bytes = cub_bytes(nrows);
	return s;
}

/* Keys of rows: the group above the leading bits of the distance from the greatest score. */
struct KeyShape
{
	int64_t		greatest;
	int			score_bits;		/* of the distance in the key; 64: no group in it */
	int			shift;			/* bits of the distance that are left out */
	int			group_bits;
	double		top;			/* the greatest score, of doubles, */
	double		scale;			/* which are put into so many steps a unit; 0: not so */
};

/* The double whose order this is. */
__host__ __device__ inline double
double_of(int64_t order)
{
	int64_t		bits = order < 0 ? order ^ INT64_MAX : order;
	double		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

template <class Key> __global__ void
make_keys(GpucolTopkRows r, KeyShape shape, Key *keys, uint32_t *rows)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < r.nrows; i += gridDim.x * blockDim.x)
	{
		int64_t		score = r.score[i];
		uint64_t	key = shape.scale > 0 ? (uint64_t) ((shape.top - double_of(score)) * shape.scale) :
			((uint64_t) shape.greatest - (uint64_t) score) >> shape.shift;

		if (r.group != nullptr && shape.score_bits < 64)
			key |= (uint64_t) r.group[i] << shape.score_bits;
		keys[i] = (Key) key;
		rows[i] = i;
	}
}

/* Keys of rows in their present order: what they are sorted by, the last of it first. */
enum KeyOf
{
	KEY_X,
	KEY_X_NULL,
	KEY_LABEL,
	KEY_PROBABILITY,
	KEY_SCORE,
	KEY_GROUP
};

__global__ void
keys_of_rows(GpucolTopkRows r, KeyOf what, int64_t greatest, const uint32_t *rows, uint64_t *keys)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < r.nrows; i += gridDim.x * blockDim.x)
	{
		uint32_t	row = rows[i];

		switch (what)
		{
			case KEY_X:
				keys[i] = (uint64_t) r.x[row] ^ (uint64_t) 1 << 63;
				break;
			case KEY_X_NULL:
				keys[i] = r.x_nulls[row];
				break;
			case KEY_LABEL:
				keys[i] = (uint64_t) r.label[row] ^ (uint64_t) 1 << 63;
				break;
			case KEY_PROBABILITY:
				/* descending; -0 is 0 */
				keys[i] = ~(uint64_t) __double_as_longlong(r.probability[row] + 0.0);
				break;
			case KEY_SCORE:
				keys[i] = (uint64_t) greatest - (uint64_t) r.score[row];
				break;
			case KEY_GROUP:
				keys[i] = r.group[row];
				break;
		}
	}
}

/* Do the rows at two places tie?  keys: in the order of these; NULL: compare the rows. */
template <class Key> __device__ bool
ties(const GpucolTopkRows &r, const uint32_t *rows, const Key *keys, uint32_t i, uint32_t j)
{
	uint32_t	a,
				b;

	if (keys != nullptr)
		return keys[i] == keys[j];
	a = rows[i];
	b = rows[j];
	return r.score[a] == r.score[b] && (r.group == nullptr || r.group[a] == r.group[b]);
}

/* Does row a rank before row b of its group? */
__device__ bool
before(const GpucolTopkRows &r, uint32_t a, uint32_t b)
{
	if (r.score[a] != r.score[b])
		return r.score[a] > r.score[b];
	if (r.probability[a] != r.probability[b])
		return r.probability[a] > r.probability[b];
	if (r.label[a] != r.label[b] || r.x == nullptr)
		return r.label[a] < r.label[b];
	if (r.x_nulls[a] || r.x_nulls[b])
		return r.x_nulls[a] < r.x_nulls[b];
	return r.x[a] < r.x[b];
}

/* Order each run of ties: Shell sort by its first row.  Runs of more than `most` are left: *long_run. */
template <class Key> __global__ void
order_ties(GpucolTopkRows r, uint32_t *rows, const Key *keys, uint32_t most, uint32_t *long_run)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i + 1 < r.nrows; i += gridDim.x * blockDim.x)
	{
		uint32_t	n = 1;
		uint32_t	gap = 1;

		if (!ties(r, rows, keys, i, i + 1) || (i > 0 && ties(r, rows, keys, i - 1, i)))
			continue;
		while (i + n < r.nrows && n <= most && ties(r, rows, keys, i, i + n))
			n++;
		if (n > most)
		{
			*long_run = 1;
			continue;
		}
		while (gap < n / 3)
			gap = 3 * gap + 1;
		for (; gap > 0; gap /= 3)
			for (uint32_t j = gap; j < n; j++)
			{
				uint32_t	row = rows[i + j];
				uint32_t	at = j;

				for (; at >= gap && before(r, row, rows[i + at - gap]); at -= gap)
					rows[i + at] = rows[i + at - gap];
				rows[i + at] = row;
			}
	}
}

/* Probabilities in ranking order, and where groups start. */
__global__ void
gather(GpucolTopkRows r, const uint32_t *rows, double *p, uint32_t *row, uint32_t *starts)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < r.nrows; i += gridDim.x * blockDim.x)
	{
		uint32_t	at = rows[i];
		uint32_t	g = r.group == nullptr ? 0 : r.group[at];
		int64_t		previous = i == 0 ? -1 : r.group == nullptr ? 0 : (int64_t) r.group[rows[i - 1]];

		p[i] = r.probability[at];
		row[i] = at;
		for (int64_t e = previous + 1; e <= (int64_t) g; e++)
			starts[e] = i;
		if (i == r.nrows - 1)
			for (uint32_t e = g + 1; e <= r.ngroups; e++)
				starts[e] = r.nrows;
	}
}

typedef cub::DoubleBuffer<uint64_t> Keys;
typedef cub::DoubleBuffer<uint32_t> Rows;

/* Order ties; *long_run is not 0 where they are too many. */
template <class Key> cudaError_t
find_ties(const GpucolTopkRows &r, const SortScratch &s, Rows &rows, const Key *keys, uint32_t most, uint32_t *long_run,
		  cudaStream_t stream)
{
	cudaMemsetAsync(s.long_run, 0, sizeof(uint32_t), stream);
	order_ties<<<gpucol_launch_blocks(order_ties<Key>, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>
		(r, rows.Current(), keys, most, s.long_run);
	cudaMemcpyAsync(long_run, s.long_run, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream);
	return cudaStreamSynchronize(stream);
}

/* Sort by leading bits of the scores; *long_run is not 0 where these do not do. */
template <class Key> cudaError_t
sort_by_leading_bits(const GpucolTopkRows &r, const KeyShape &shape, const SortScratch &s, Rows &rows,
					 uint32_t *long_run, cudaStream_t stream)
{
	cub::DoubleBuffer<Key> keys((Key *) s.keys[0], (Key *) s.keys[1]);
	size_t		bytes = s.cub_bytes;

	make_keys<<<gpucol_launch_blocks(make_keys<Key>, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>
		(r, shape, keys.Current(), rows.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0, shape.score_bits + shape.group_bits, stream);
	return find_ties(r, s, rows, (const Key *) keys.Current(), LONG_RUN, long_run, stream);
}

/* One stable pass over the rows in their present order. */
void
sort_by(const GpucolTopkRows &r, KeyOf what, int key_bits, const KeyShape &shape, const SortScratch &s, Keys &keys, Rows &rows,
		cudaStream_t stream)
{
	size_t		bytes = s.cub_bytes;

	keys_of_rows<<<gpucol_launch_blocks(keys_of_rows, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>
		(r, what, shape.greatest, rows.Current(), keys.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0, key_bits, stream);
}

/* Sort by the whole scores. */
cudaError_t
sort_by_all_bits(const GpucolTopkRows &r, KeyShape shape, const SortScratch &s, Keys &keys, Rows &rows, cudaStream_t stream)
{
	bool		together = shape.score_bits + shape.group_bits <= 64;
	int			score_bits = shape.score_bits;
	size_t		bytes = s.cub_bytes;
	uint32_t	long_run;
	cudaError_t error;

	if (!together)
		shape.score_bits = 64;
	make_keys<<<gpucol_launch_blocks(make_keys<uint64_t>, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>
		(r, shape, keys.Current(), rows.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0, together ? score_bits + shape.group_bits : score_bits, stream);
	if (!together)
		sort_by(r, KEY_GROUP, shape.group_bits, shape, s, keys, rows, stream);
	error = find_ties(r, s, rows, together ? (const uint64_t *) keys.Current() : nullptr, LONG_TIE, &long_run, stream);
	if (error != cudaSuccess || long_run == 0)
		return error;
	if (r.x != nullptr)
	{
		sort_by(r, KEY_X, 64, shape, s, keys, rows, stream);
		sort_by(r, KEY_X_NULL, 1, shape, s, keys, rows, stream);
	}
	sort_by(r, KEY_LABEL, 64, shape, s, keys, rows, stream);
	sort_by(r, KEY_PROBABILITY, 64, shape, s, keys, rows, stream);
	if (score_bits > 0)
		sort_by(r, KEY_SCORE, score_bits, shape, s, keys, rows, stream);
	if (shape.group_bits > 0)
		sort_by(r, KEY_GROUP, shape.group_bits, shape, s, keys, rows, stream);
	return cudaGetLastError();
}

int
bits(uint64_t x)
{
	int			n = 0;

	for (; x != 0; x >>= 1)
		n++;
	return n;
}

/* How scores are put into what 32 bits hold beside the group; false if they had better not be. */
bool
spread_short(const GpucolTopkRows &r, const int64_t range[2], int score_bits, KeyShape *shape)
{
	double		span = double_of(range[1]) - double_of(range[0]);

	shape->score_bits = 32 - shape->group_bits;
	shape->shift = score_bits - shape->score_bits;
	if (r.spread == GPUCOL_TOPK_INTEGERS)
		return true;
	shape->top = double_of(range[1]);
	shape->scale = (double) (((uint64_t) 1 << shape->score_bits) - 1) / span;
	if (r.spread == GPUCOL_TOPK_DOUBLES && std::isfinite(span) && span > 0 && std::isfinite(shape->scale) && shape->scale > 0)
		return true;
	shape->scale = 0;
	return false;
}

}								/* namespace */

size_t
gpucol_topk_sort_scratch(uint32_t nrows)
{
	return 256 + 2 * align(sizeof(uint64_t) * nrows) + 2 * align(sizeof(uint32_t) * nrows) +
		cub_bytes(nrows);
}

cudaError_t
gpucol_topk_sort(const GpucolTopkRows &r, uint32_t *starts, double *p,
				 uint32_t *row, void *scratch, size_t scratch_bytes,
				 cudaStream_t stream)
{
	SortScratch s = carve(scratch, r.nrows);
	cub::DoubleBuffer<uint64_t> keys(s.keys[0], s.keys[1]);
	cub::DoubleBuffer<uint32_t> rows(s.rows[0], s.rows[1]);
	int			blocks = gpucol_launch_blocks(gather, GPUCOL_TOPK_THREADS, 0);
	int			score_bits;
	KeyShape	shape;
	bool		done = false;
	int64_t		range[2];
	cudaError_t error;

	if (scratch_bytes < gpucol_topk_sort_scratch(r.nrows))
		return cudaErrorInvalidValue;
	if (r.nrows == 0)
		return cudaMemsetAsync(starts, 0, sizeof(uint32_t) * (r.ngroups + 1), stream);
	cub::DeviceReduce::Min(s.cub, s.cub_bytes, r.score, s.range, r.nrows, stream);
	cub::DeviceReduce::Max(s.cub, s.cub_bytes, r.score, s.range + 1, r.nrows, stream);
	error = cudaMemcpyAsync(range, s.range, sizeof(range), cudaMemcpyDeviceToHost, stream);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(stream);
	if (error != cudaSuccess)
		return error;
	gpucol_stage(stream, "range of scores");
	shape.greatest = range[1];
	shape.scale = 0;
	shape.group_bits = r.group == nullptr ? 0 : bits(r.ngroups - 1);
	score_bits = bits((uint64_t) range[1] - (uint64_t) range[0]);

	if (shape.group_bits < 32 && score_bits > 32 - shape.group_bits &&
		bits(r.nrows / r.ngroups) + FEW_SPREAD_BITS <= 32 - shape.group_bits &&
		spread_short(r, range, score_bits, &shape))
	{
		uint32_t	long_run;

		error = sort_by_leading_bits<uint32_t>(r, shape, s, rows, &long_run, stream);
		if (error != cudaSuccess)
			return error;
		done = long_run == 0;
		shape.scale = 0;
	}

	/* whole digits of the radix sort, of 8 bits each */
	shape.score_bits = std::max(28, bits(r.nrows / r.ngroups) + SPREAD_BITS);
	shape.score_bits = (shape.group_bits + shape.score_bits + 7) / 8 * 8 - shape.group_bits;
	shape.shift = score_bits - shape.score_bits;
	if (!done && shape.shift > 0 && shape.group_bits + shape.score_bits <= 64)
	{
		uint32_t	long_run;

		error = sort_by_leading_bits<uint64_t>(r, shape, s, rows, &long_run, stream);
		if (error != cudaSuccess)
			return error;
		done = long_run == 0;
	}
	if (!done)
	{
		shape.shift = 0;
		shape.score_bits = score_bits;
		error = sort_by_all_bits(r, shape, s, keys, rows, stream);
		if (error != cudaSuccess)
			return error;
	}
	gpucol_stage(stream, "radix sort");
	gather<<<blocks, GPUCOL_TOPK_THREADS, 0, stream>>>(r, rows.Current(), p, row, starts);
	return cudaGetLastError();
}

cudaError_t
gpucol_topk_sort_ties(const GpucolTopkRows &r, const uint32_t *sorted, uint32_t *starts, double *p,
					  uint32_t *row, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
	SortScratch s = carve(scratch, r.nrows);
	cub::DoubleBuffer<uint32_t> rows(s.rows[0], s.rows[1]);
	uint32_t	long_run;
	cudaError_t error;

	if (scratch_bytes < gpucol_topk_sort_scratch(r.nrows))
		return cudaErrorInvalidValue;
	cudaMemcpyAsync(rows.Current(), sorted, sizeof(uint32_t) * (size_t) r.nrows, cudaMemcpyDeviceToDevice, stream);
	error = find_ties(r, s, rows, (const uint64_t *) nullptr, LONG_TIE, &long_run, stream);
	if (error != cudaSuccess)
		return error;
	if (long_run != 0)
		return gpucol_topk_sort(r, starts, p, row, scratch, scratch_bytes, stream);
	gather<<<gpucol_launch_blocks(gather, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>(r, rows.Current(), p, row, starts);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Heap
 *-------------------------------------------------------------------------
 */

namespace
{

/* Rows between looks at `cancel`. */
constexpr int32_t LOOK_EVERY = 1024;

/* Threads of a block whose heaps fit shared memory; 0: they never do. */
int
heap_threads(int32_t k)
{
	int			threads = GPUCOL_TOPK_HEAP_THREADS;

	while (threads >= 32 &&
		   (size_t) threads * k * sizeof(GpucolHeapNode) > GPUCOL_TOPK_HEAP_SHARED_BYTES)
		threads /= 2;
	return threads >= 32 ? threads : 0;
}

__global__ void
heap_kernel(GpucolTopkGroups groups, int32_t k, GpucolTopkSet *sets, GpucolHeapNode *spill)
{
	extern __shared__ double shared[];
	uint32_t	thread = blockIdx.x * blockDim.x + threadIdx.x;
	GpucolHeapNode *heap = spill != nullptr ? spill + (size_t) thread * k :
		(GpucolHeapNode *) shared + (size_t) threadIdx.x * k;

	for (uint32_t g = thread; g < groups.ngroups; g += gridDim.x * blockDim.x)
	{
		uint32_t	start = groups.starts[g];
		int32_t		n = gpucol_topk_rows(groups, g);
		int32_t		own = gpucol_topk_k(groups, g, k);
		GpucolUTopkScan scan;

		gpucol_utopk_begin(&scan);
		while (n >= own && !gpucol_utopk_step(&scan, groups.p + start, n, own, heap, scan.at + LOOK_EVERY))
			if (groups.cancel != NULL && *groups.cancel)
				return;
		sets[g].probability = gpucol_product_value(scan.best.probability);
		sets[g].min_p = scan.best.min_p;
		sets[g].min_rank = scan.best.min_rank;
		sets[g].last = scan.best.last;
		sets[g].horizon = scan.best.horizon;
	}
}

/* Blocks where heaps lie in device memory: few, for the memory's sake. */
int
spill_blocks()
{
	int			device = 0,
				processors = 1;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	return 2 * processors;
}

/* One warp a group. */
__global__ void
members_kernel(GpucolTopkGroups groups, int32_t k, const GpucolTopkSet *sets, int32_t *ranks)
{
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t g = (blockIdx.x * blockDim.x + threadIdx.x) / 32; g < groups.ngroups; g += warps)
	{
		const double *p = groups.p + groups.starts[g];
		GpucolUTopk best;
		int32_t		filled = 0;

		best.min_p = sets[g].min_p;
		best.min_rank = sets[g].min_rank;
		best.last = sets[g].last;
		for (int32_t from = 0; from <= best.last; from += 32)
		{
			int32_t		i = from + (int32_t) lane;
			bool		member = i <= best.last && p[i] > 0 && gpucol_utopk_member(&best, p, i);
			unsigned	mask = __ballot_sync(~0u, member);

			if (member)
				ranks[(size_t) g * k + filled + __popc(mask & ((1u << lane) - 1))] = i;
			filled += __popc(mask);
		}
		for (int32_t j = filled + (int32_t) lane; j < k; j += 32)
			ranks[(size_t) g * k + j] = -1;
	}
}

}								/* namespace */

size_t
gpucol_topk_heap_scratch(int32_t k)
{
	if (heap_threads(k) > 0)
		return 0;
	return (size_t) spill_blocks() * GPUCOL_TOPK_HEAP_THREADS * k * sizeof(GpucolHeapNode);
}

cudaError_t
gpucol_topk_heap(const GpucolTopkGroups &groups, int32_t k, GpucolTopkSet *sets,
				 void *scratch, cudaStream_t stream)
{
	int			threads = heap_threads(k);
	size_t		shared = (size_t) threads * k * sizeof(GpucolHeapNode);
	int			blocks;
	cudaError_t error;

	if (threads == 0)
	{
		heap_kernel<<<spill_blocks(), GPUCOL_TOPK_HEAP_THREADS, 0, stream>>>(groups, k, sets, (GpucolHeapNode *) scratch);
		return cudaGetLastError();
	}
	error = cudaFuncSetAttribute(heap_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared);
	if (error != cudaSuccess)
		return error;
	blocks = gpucol_launch_blocks(heap_kernel, threads, shared);
	heap_kernel<<<blocks, threads, shared, stream>>>(groups, k, sets, nullptr);
	return cudaGetLastError();
}

cudaError_t
gpucol_topk_members(const GpucolTopkGroups &groups, int32_t k, const GpucolTopkSet *sets,
					int32_t *ranks, cudaStream_t stream)
{
	int			blocks = gpucol_launch_blocks(members_kernel, GPUCOL_TOPK_THREADS, 0);

	members_kernel<<<blocks, GPUCOL_TOPK_THREADS, 0, stream>>>(groups, k, sets, ranks);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Dynamic programming
 *-------------------------------------------------------------------------
 */

namespace
{

/* The column to the left: from the neighbouring lane, or the warp before. */
__device__ GpucolPair
dp_left(GpucolPair cell, const GpucolPair *edges, int j)
{
	GpucolPair	left;

	left.hi = __shfl_up_sync(~0u, cell.hi, 1);
	left.lo = __shfl_up_sync(~0u, cell.lo, 1);
	if (threadIdx.x % 32 == 0)
	{
		left.hi = -INFINITY;
		left.lo = 0;
		if (j > 0)
			left = edges[j / 32 - 1];
	}
	return left;
}

/*
 * Grid of blocks of k + 1 threads, rounded up to warps.  bits: for each block
 * `longest` rows of one word a warp.
 */
__global__ void
dp_kernel(GpucolTopkGroups groups, int32_t k, GpucolTopkSet *sets, int32_t *ranks, uint32_t *all_bits)
{
	__shared__ GpucolPair edges[2][32];
	__shared__ GpucolPair best;
	__shared__ int32_t last;
	int			j = (int) threadIdx.x;
	int			words = (int) blockDim.x / 32;
	uint32_t   *bits = all_bits + (size_t) blockIdx.x * groups.longest * words;

	for (uint32_t g = blockIdx.x; g < groups.ngroups; g += gridDim.x)
	{
		const double *p = groups.p + groups.starts[g];
		int32_t		n = (int32_t) (groups.starts[g + 1] - groups.starts[g]);
		int32_t		own = gpucol_topk_k(groups, g, k);
		GpucolPair	cell;

		cell.hi = j == 0 ? 0 : -INFINITY;
		cell.lo = 0;
		__syncthreads();
		if (j == 0)
		{
			best.hi = -INFINITY;
			best.lo = 0;
			last = -1;
		}
		if (j % 32 == 31)
			edges[0][j / 32] = cell;
		__syncthreads();
		for (int32_t i = 0; i < n; i++)
		{
			double		log_p = log(p[i]);
			double		log_q = log1p(-p[i]);
			GpucolPair	take = gpucol_dp_times(dp_left(cell, edges[i % 2], j), log_p);
			bool		taken;
			unsigned	choice;

			cell = gpucol_dp_times(cell, log_q);
			taken = j > 0 && j <= own && gpucol_dp_beats(take, cell);
			if (taken)
				cell = take;
			choice = __ballot_sync(~0u, taken);
			if (j % 32 == 0)
				bits[(size_t) i * words + j / 32] = choice;
			if (j % 32 == 31)
				edges[(i + 1) % 2][j / 32] = cell;
			if (j == own && gpucol_dp_beats(cell, best))
			{
				best = cell;
				last = i;
			}
			/* the barrier of the row: can any column still win? */
			if (!__syncthreads_or(j <= own && !isinf(cell.hi) && !(cell.hi < best.hi - 1e-9)))
				break;
		}
		__syncthreads();
		if (j == 0)
		{
			sets[g].probability = last < 0 ? 0 : exp(best.hi) * exp(best.lo);
			sets[g].last = last;
			for (int32_t c = last < 0 ? 0 : own; c < k; c++)
				ranks[(size_t) g * k + c] = -1;
			for (int32_t i = last, c = last < 0 ? 0 : own; c > 0; i--)
				if (bits[(size_t) i * words + c / 32] >> (c % 32) & 1)
					ranks[(size_t) g * k + --c] = i;
		}
	}
}

int
dp_threads(int32_t k)
{
	return (k + 1 + 31) / 32 * 32;
}

}								/* namespace */

size_t
gpucol_topk_dp_scratch(uint32_t longest, int32_t k)
{
	int			threads = dp_threads(k);

	return (size_t) gpucol_launch_blocks(dp_kernel, threads, 0) * longest * (threads / 32) * sizeof(uint32_t);
}

cudaError_t
gpucol_topk_dp(const GpucolTopkGroups &groups, int32_t k, GpucolTopkSet *sets,
			   int32_t *ranks, void *scratch, cudaStream_t stream)
{
	int			threads = dp_threads(k);
	int			blocks;

	if (threads > 1024)
		return cudaErrorInvalidValue;
	blocks = gpucol_launch_blocks(dp_kernel, threads, 0);
	dp_kernel<<<blocks, threads, 0, stream>>>(groups, k, sets, ranks, (uint32_t *) scratch);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Selection
 *-------------------------------------------------------------------------
 */

namespace
{

constexpr uint32_t SAMPLE = 16384;

/* Scores of evenly spread rows, perturbed by a hash. */
__global__ void
sample_kernel(const int64_t *score, uint32_t nrows, int64_t *sample, uint32_t count)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
	{
		uint64_t	stride = nrows / count;
		uint64_t	h = (i + 1) * 0x9e3779b97f4a7c15ull;

		sample[i] = score[i * stride + (h >> 33) % stride];
	}
}

/* Keep rows at or above the threshold, counted a warp at a time. */
__global__ void
filter_kernel(const int64_t *score, uint32_t nrows, const int64_t *threshold,
			  uint32_t *out, uint32_t capacity, uint32_t *found)
{
	int64_t		bar = *threshold;
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	all = (nrows + 31) / 32 * 32;

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
	{
		bool		keep = i < nrows && score[i] >= bar;
		unsigned	mask = __ballot_sync(~0u, keep);
		uint32_t	base = 0;

		if (mask == 0)
			continue;
		if (lane == 0)
			base = atomicAdd(found, __popc(mask));
		base = __shfl_sync(~0u, base, 0) + __popc(mask & ((1u << lane) - 1));
		if (keep && base < capacity)
			out[base] = i;
	}
}

__global__ void
pick_kernel(const int64_t *sorted, uint32_t at, int64_t *threshold)
{
	*threshold = at < SAMPLE ? sorted[at] : INT64_MIN;
}

size_t
select_cub_bytes()
{
	size_t		bytes = 0;

	cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, (int64_t *) nullptr, (int64_t *) nullptr, SAMPLE);
	return bytes;
}

}								/* namespace */

size_t
gpucol_topk_select_scratch()
{
	return 256 + 2 * sizeof(int64_t) * SAMPLE + select_cub_bytes();
}

cudaError_t
gpucol_topk_select(const int64_t *score, uint32_t nrows, uint32_t want,
				   uint32_t *out, uint32_t capacity, uint32_t *found,
				   void *scratch, cudaStream_t stream)
{
	int64_t    *threshold = (int64_t *) scratch;
	int64_t    *sample = threshold + 32;
	int64_t    *sorted = sample + SAMPLE;
	size_t		bytes = select_cub_bytes();
	uint32_t	at = SAMPLE;

	cudaMemsetAsync(found, 0, sizeof(uint32_t), stream);
	if (nrows >= 16 * SAMPLE)
	{
		/* three standard deviations beyond the expected place */
		double		expected = (double) want * SAMPLE / nrows;

		sample_kernel<<<SAMPLE / 256, 256, 0, stream>>>(score, nrows, sample, SAMPLE);
		cub::DeviceRadixSort::SortKeysDescending(sorted + SAMPLE, bytes, sample, sorted, SAMPLE, 0, 64, stream);
		at = (uint32_t) (expected + 3 * sqrt(expected) + 2);
	}
	pick_kernel<<<1, 1, 0, stream>>>(sorted, at < SAMPLE ? at : SAMPLE, threshold);
	filter_kernel<<<gpucol_launch_blocks(filter_kernel, GPUCOL_TOPK_THREADS, 0), GPUCOL_TOPK_THREADS, 0, stream>>>
		(score, nrows, threshold, out, capacity, found);
	return cudaGetLastError();
}
