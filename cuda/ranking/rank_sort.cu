/*-------------------------------------------------------------------------
 *
 * rank_sort.cu
 *	  Rows of many groups put into ranking order.
 *
 * (group, score descending) becomes one radix key, of the scores no more leading bits
 * than tell the rows of a group apart if they are spread at all: first as many as 32
 * bits hold beside the group, if these may do (of doubles not their leading bits, most
 * of which are the exponent's, but steps of equal width), then as many more.  Rows that
 * tie are put into order by the whole score, probability, label and x-tuple by a thread
 * at the head of each run.  Where a run is long for that, all bits of the scores are
 * sorted by: in one key where they fit 64 bits with the group, else scores first and
 * groups stably after.  Where rows of one score are too many for a thread, they are
 * sorted by x-tuple, label and probability before that.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_kernels.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/base/stage.cuh"
#include "cuda/base/tuning.cuh"

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
struct KeyLayout
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
make_keys(GpucolDeviceRankRows r, KeyLayout layout, Key *keys, uint32_t *rows)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < r.nrows; i += gridDim.x * blockDim.x)
	{
		int64_t		score = r.score[i];
		uint64_t	key = layout.scale > 0 ? (uint64_t) ((layout.top - double_of(score)) * layout.scale) :
			((uint64_t) layout.greatest - (uint64_t) score) >> layout.shift;

		if (r.group != nullptr && layout.score_bits < 64)
			key |= (uint64_t) r.group[i] << layout.score_bits;
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
keys_of_rows(GpucolDeviceRankRows r, KeyOf what, int64_t greatest, const uint32_t *rows, uint64_t *keys)
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
ties(const GpucolDeviceRankRows &r, const uint32_t *rows, const Key *keys, uint32_t i, uint32_t j)
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
before(const GpucolDeviceRankRows &r, uint32_t a, uint32_t b)
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
order_ties(GpucolDeviceRankRows r, uint32_t *rows, const Key *keys, uint32_t most, uint32_t *long_run)
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
gather(GpucolDeviceRankRows r, const uint32_t *rows, double *p, uint32_t *row, uint32_t *starts)
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
find_ties(const GpucolDeviceRankRows &r, const SortScratch &s, Rows &rows, const Key *keys, uint32_t most,
		  uint32_t *long_run,
		  cudaStream_t stream)
{
	cudaMemsetAsync(s.long_run, 0, sizeof(uint32_t), stream);
	order_ties<<<gpucol_launch_blocks(order_ties<Key>, GPUCOL_DEVICE_RANK_THREADS, 0),
				 GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>
		(r, rows.Current(), keys, most, s.long_run);
	cudaMemcpyAsync(long_run, s.long_run, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream);
	return cudaStreamSynchronize(stream);
}

/* Sort by leading bits of the scores; *long_run is not 0 where these do not do. */
template <class Key> cudaError_t
sort_by_leading_bits(const GpucolDeviceRankRows &r, const KeyLayout &layout, const SortScratch &s, Rows &rows,
					 uint32_t *long_run, cudaStream_t stream)
{
	cub::DoubleBuffer<Key> keys((Key *) s.keys[0], (Key *) s.keys[1]);
	size_t		bytes = s.cub_bytes;

	make_keys<<<gpucol_launch_blocks(make_keys<Key>, GPUCOL_DEVICE_RANK_THREADS, 0),
				GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>
		(r, layout, keys.Current(), rows.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0,
									layout.score_bits + layout.group_bits, stream);
	return find_ties(r, s, rows, (const Key *) keys.Current(), LONG_RUN, long_run, stream);
}

/* One stable pass over the rows in their present order. */
void
sort_by(const GpucolDeviceRankRows &r, KeyOf what, int key_bits, const KeyLayout &layout,
		const SortScratch &s, Keys &keys, Rows &rows,
		cudaStream_t stream)
{
	size_t		bytes = s.cub_bytes;

	keys_of_rows<<<gpucol_launch_blocks(keys_of_rows, GPUCOL_DEVICE_RANK_THREADS, 0),
				   GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>
		(r, what, layout.greatest, rows.Current(), keys.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0, key_bits, stream);
}

/* Sort by the whole scores. */
cudaError_t
sort_by_all_bits(const GpucolDeviceRankRows &r, KeyLayout layout, const SortScratch &s, Keys &keys,
				 Rows &rows, cudaStream_t stream)
{
	bool		together = layout.score_bits + layout.group_bits <= 64;
	int			score_bits = layout.score_bits;
	size_t		bytes = s.cub_bytes;
	uint32_t	long_run;
	cudaError_t error;

	if (!together)
		layout.score_bits = 64;
	make_keys<<<gpucol_launch_blocks(make_keys<uint64_t>, GPUCOL_DEVICE_RANK_THREADS, 0),
				GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>
		(r, layout, keys.Current(), rows.Current());
	cub::DeviceRadixSort::SortPairs(s.cub, bytes, keys, rows, r.nrows, 0,
									together ? score_bits + layout.group_bits : score_bits, stream);
	if (!together)
		sort_by(r, KEY_GROUP, layout.group_bits, layout, s, keys, rows, stream);
	error = find_ties(r, s, rows, together ? (const uint64_t *) keys.Current() : nullptr, LONG_TIE, &long_run, stream);
	if (error != cudaSuccess || long_run == 0)
		return error;
	if (r.x != nullptr)
	{
		sort_by(r, KEY_X, 64, layout, s, keys, rows, stream);
		sort_by(r, KEY_X_NULL, 1, layout, s, keys, rows, stream);
	}
	sort_by(r, KEY_LABEL, 64, layout, s, keys, rows, stream);
	sort_by(r, KEY_PROBABILITY, 64, layout, s, keys, rows, stream);
	if (score_bits > 0)
		sort_by(r, KEY_SCORE, score_bits, layout, s, keys, rows, stream);
	if (layout.group_bits > 0)
		sort_by(r, KEY_GROUP, layout.group_bits, layout, s, keys, rows, stream);
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
spread_short(const GpucolDeviceRankRows &r, const int64_t range[2], int score_bits, KeyLayout *layout)
{
	double		span = double_of(range[1]) - double_of(range[0]);

	layout->score_bits = 32 - layout->group_bits;
	layout->shift = score_bits - layout->score_bits;
	if (r.spread == GPUCOL_DEVICE_RANK_INTEGERS)
		return true;
	layout->top = double_of(range[1]);
	layout->scale = (double) (((uint64_t) 1 << layout->score_bits) - 1) / span;
	if (r.spread == GPUCOL_DEVICE_RANK_DOUBLES && std::isfinite(span) && span > 0 &&
		std::isfinite(layout->scale) && layout->scale > 0)
		return true;
	layout->scale = 0;
	return false;
}

}								/* namespace */

size_t
gpucol_device_rank_sort_scratch(uint32_t nrows)
{
	return 256 + 2 * align(sizeof(uint64_t) * nrows) + 2 * align(sizeof(uint32_t) * nrows) +
		cub_bytes(nrows);
}

cudaError_t
gpucol_device_rank_sort(const GpucolDeviceRankRows &r, uint32_t *starts, double *p,
				 uint32_t *row, void *scratch, size_t scratch_bytes,
				 cudaStream_t stream)
{
	SortScratch s = carve(scratch, r.nrows);
	cub::DoubleBuffer<uint64_t> keys(s.keys[0], s.keys[1]);
	cub::DoubleBuffer<uint32_t> rows(s.rows[0], s.rows[1]);
	int			blocks = gpucol_launch_blocks(gather, GPUCOL_DEVICE_RANK_THREADS, 0);
	int			score_bits;
	KeyLayout	layout;
	bool		done = false;
	int64_t		range[2];
	cudaError_t error;

	if (scratch_bytes < gpucol_device_rank_sort_scratch(r.nrows))
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
	layout.greatest = range[1];
	layout.scale = 0;
	layout.group_bits = r.group == nullptr ? 0 : bits(r.ngroups - 1);
	score_bits = bits((uint64_t) range[1] - (uint64_t) range[0]);

	if (layout.group_bits < 32 && score_bits > 32 - layout.group_bits &&
		bits(r.nrows / r.ngroups) + FEW_SPREAD_BITS <= 32 - layout.group_bits &&
		spread_short(r, range, score_bits, &layout))
	{
		uint32_t	long_run;

		error = sort_by_leading_bits<uint32_t>(r, layout, s, rows, &long_run, stream);
		if (error != cudaSuccess)
			return error;
		done = long_run == 0;
		layout.scale = 0;
	}

	/* whole digits of the radix sort, of 8 bits each */
	layout.score_bits = std::max(28, bits(r.nrows / r.ngroups) + SPREAD_BITS);
	layout.score_bits = (layout.group_bits + layout.score_bits + 7) / 8 * 8 - layout.group_bits;
	layout.shift = score_bits - layout.score_bits;
	if (!done && layout.shift > 0 && layout.group_bits + layout.score_bits <= 64)
	{
		uint32_t	long_run;

		error = sort_by_leading_bits<uint64_t>(r, layout, s, rows, &long_run, stream);
		if (error != cudaSuccess)
			return error;
		done = long_run == 0;
	}
	if (!done)
	{
		layout.shift = 0;
		layout.score_bits = score_bits;
		error = sort_by_all_bits(r, layout, s, keys, rows, stream);
		if (error != cudaSuccess)
			return error;
	}
	gpucol_stage(stream, "radix sort");
	gather<<<blocks, GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>(r, rows.Current(), p, row, starts);
	return cudaGetLastError();
}

cudaError_t
gpucol_device_rank_sort_ties(const GpucolDeviceRankRows &r, const uint32_t *sorted, uint32_t *starts, double *p,
					  uint32_t *row, void *scratch, size_t scratch_bytes, cudaStream_t stream)
{
	SortScratch s = carve(scratch, r.nrows);
	cub::DoubleBuffer<uint32_t> rows(s.rows[0], s.rows[1]);
	uint32_t	long_run;
	cudaError_t error;

	if (scratch_bytes < gpucol_device_rank_sort_scratch(r.nrows))
		return cudaErrorInvalidValue;
	cudaMemcpyAsync(rows.Current(), sorted, sizeof(uint32_t) * (size_t) r.nrows, cudaMemcpyDeviceToDevice, stream);
	error = find_ties(r, s, rows, (const uint64_t *) nullptr, LONG_TIE, &long_run, stream);
	if (error != cudaSuccess)
		return error;
	if (long_run != 0)
		return gpucol_device_rank_sort(r, starts, p, row, scratch, scratch_bytes, stream);
	gather<<<gpucol_launch_blocks(gather, GPUCOL_DEVICE_RANK_THREADS, 0), GPUCOL_DEVICE_RANK_THREADS, 0,
			 stream>>>(r, rows.Current(), p, row, starts);
	return cudaGetLastError();
}
