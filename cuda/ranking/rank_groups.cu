/*-------------------------------------------------------------------------
 *
 * rank_groups.cu
 *	  Groups of rows that are ranked: group keys become dense group numbers, by
 *	  their offsets where these are few, else by sorting their words.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/ranker.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernel/float_order.h"

namespace
{

constexpr uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
constexpr uint32_t FEW_GROUPS = 65536;	/* dense however few the rows */

struct DenseKeys
{
	int			n;
	const int64_t *values[8];
	const uint8_t *nulls[8];
	uint32_t	stride[8];		/* words a value */
	int64_t		base[8];
	uint64_t	card[8];		/* one more for NULL */
	uint64_t	step[8];
};

constexpr uint32_t NO_ROW = 0xffffffffu;

/* Number of each row's cell, and some row of each cell. */
__global__ void
dense_kernel(DenseKeys keys, uint32_t nrows, uint32_t *cell, uint32_t *row_of)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		uint64_t	at = 0;

		for (int k = 0; k < keys.n; k++)
		{
			uint64_t	offset = keys.nulls[k][i] ? keys.card[k] - 1 :
				(uint64_t) (keys.values[k][i * keys.stride[k]] - keys.base[k]);

			at += min(offset, keys.card[k] - 1) * keys.step[k];
		}
		cell[i] = (uint32_t) at;
		if (row_of[at] == NO_ROW)
			row_of[at] = (uint32_t) i;
	}
}

struct IsUsed
{
	__host__ __device__ uint32_t
	operator()(uint32_t row) const
	{
		return row != NO_ROW;
	}
};

/* Cells to group numbers. */
__global__ void
compact_kernel(uint32_t nrows, const uint32_t *number, uint32_t *group)
{
	GPUCOL_FOR_EACH(i, nrows)
		group[i] = number[group[i]];
}

__global__ void
compact_rows_kernel(uint32_t ncells, const uint32_t *row_of, const uint32_t *number, uint32_t *out)
{
	GPUCOL_FOR_EACH(c, ncells)
		if (row_of[c] != NO_ROW)
			out[number[c]] = row_of[c];
}

/* What a key's word is compared by; word 2 is its NULL flag. */
__global__ void
key_words_kernel(GpucolRankColumn column, int word, uint32_t nrows, uint64_t *words, uint32_t *rows)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		int64_t		x = word == 2 ? column.nulls[i] : column.nulls[i] ? 0 : column.values[i * column.stride + word];

		if (word == 0 && column.cls == GPUCOL_CLASS_F && !column.nulls[i])
			x = gpucol_float_order(__longlong_as_double(x));
		words[i] = (uint64_t) x;
		rows[i] = (uint32_t) i;
	}
}

__global__ void
join_words_kernel(uint32_t nrows, const uint32_t *high, const uint32_t *low, uint64_t *words, uint32_t *rows)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		words[i] = (uint64_t) high[i] << 32 | low[i];
		rows[i] = (uint32_t) i;
	}
}

/* 1 where a sorted word differs from the one before. */
struct IsNew
{
	const uint64_t *words;

	__host__ __device__ uint32_t
	operator()(uint32_t i) const
	{
		return i > 0 && words[i] != words[i - 1];
	}
};

__global__ void
scatter_kernel(uint32_t nrows, const uint32_t *rows, const uint32_t *number, uint32_t *out)
{
	GPUCOL_FOR_EACH(i, nrows)
		out[rows[i]] = number[i];
}

__global__ void
some_row_kernel(uint32_t nrows, const uint32_t *group, uint32_t *row_of)
{
	GPUCOL_FOR_EACH(i, nrows)
		row_of[group[i]] = (uint32_t) i;
}

/* Words of a key of the groups. */
__global__ void
gather_key_kernel(GpucolRankColumn column, uint32_t n, const uint32_t *row_of, int64_t *values, int words,
				  uint8_t *nulls)
{
	GPUCOL_FOR_EACH(g, n)
	{
		size_t		row = row_of[g];

		nulls[g] = column.nulls[row];
		values[g * words] = column.values[row * column.stride];
		if (words == 2)
			values[2 * g + 1] = column.stride == 2 ? column.values[row * 2 + 1] : values[2 * g] >> 63;
	}
}

/* k of each group from its key; found[0]: one is no k, found[1]: the greatest. */
__global__ void
group_k_kernel(GpucolRankColumn column, uint32_t n, const uint32_t *row_of, int32_t *k, int32_t *found)
{
	GPUCOL_FOR_EACH(g, n)
	{
		size_t		row = row_of[g];
		int64_t		x = column.nulls[row] ? 0 : column.values[row * column.stride];

		k[g] = (int32_t) x;
		if (x < 1 || x > INT32_MAX)
			found[0] = 1;
		else
			atomicMax(found + 1, (int32_t) x);
	}
}

}								/* namespace */

/* Number groups by the offsets of their keys; false if these are too many. */
bool
Ranker::number_dense()
{
	DenseKeys	keys = {};
	uint64_t	cells = 1;
	uint32_t   *row_of,
			   *number;

	if (shape_.nkeys > 8)
		return false;
	for (uint32_t k = 0; k < shape_.nkeys; k++)
	{
		const GpucolRankColumn &c = t_.columns[k];

		if (c.card == 0 || c.card >= MAX_DENSE_GROUPS)
			return false;
		keys.values[k] = c.values;
		keys.nulls[k] = c.nulls;
		keys.stride[k] = c.stride;
		keys.base[k] = c.base;
		keys.card[k] = c.card + 1;
		keys.step[k] = cells;
		cells *= c.card + 1;
		if (cells > MAX_DENSE_GROUPS)
			return false;
	}
	if (cells > FEW_GROUPS && cells > 2 * (uint64_t) nrows_)
		return false;
	keys.n = shape_.nkeys;
	group_ = array<uint32_t>(nrows_);
	row_of = array<uint32_t>(cells);
	number = array<uint32_t>(cells);
	device_check(cudaMemsetAsync(row_of, 0xff, (cells + 1) * sizeof(uint32_t), t_.stream), "memset");
	GPUCOL_RANKER_LAUNCH(dense_kernel, nrows_)(keys, nrows_, group_, row_of);
	/* one more, which is never used: its number counts the groups */
	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceScan::ExclusiveSum(temp, bytes, thrust::make_transform_iterator(row_of, IsUsed()), number,
											 (int) (cells + 1), t_.stream); });
	ngroups_ = host(number + cells);
	row_of_ = array<uint32_t>(ngroups_);
	GPUCOL_RANKER_LAUNCH(compact_kernel, nrows_)(nrows_, number, group_);
	GPUCOL_RANKER_LAUNCH(compact_rows_kernel, cells)((uint32_t) cells, row_of, number, row_of_);
	device_check(cudaGetLastError(), "rank");
	return true;
}

/* Number the distinct words of words[0] from 0; rows[0] are 0, 1, ... */
uint32_t *
Ranker::number_words(uint64_t *words[2], uint32_t *rows[2], uint32_t *n)
{
	cub::DoubleBuffer<uint64_t> keys(words[0], words[1]);
	cub::DoubleBuffer<uint32_t> order(rows[0], rows[1]);
	uint32_t   *out = array<uint32_t>(nrows_);

	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(temp, bytes, keys, order, nrows_, 0, 64, t_.stream); });

	uint32_t   *number = order.Alternate() == rows[0] ? rows[0] : rows[1];
	auto		is_new = thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0), IsNew{keys.Current()});

	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceScan::InclusiveSum(temp, bytes, is_new, number, (int) nrows_, t_.stream); });
	GPUCOL_RANKER_LAUNCH(scatter_kernel, nrows_)(nrows_, order.Current(), number, out);
	*n = host(number + nrows_ - 1) + 1;
	return out;
}

/* Number groups by sorting the words of their keys. */
void
Ranker::number_sorted()
{
	uint64_t   *words[2] = {array<uint64_t>(nrows_), array<uint64_t>(nrows_)};
	uint32_t   *rows[2] = {array<uint32_t>(nrows_), array<uint32_t>(nrows_)};

	for (uint32_t k = 0; k < shape_.nkeys; k++)
		for (int word = 0; word < 3; word++)
		{
			const GpucolRankColumn &c = t_.columns[k];
			uint32_t   *number;

			if (word == 1 && c.stride == 1)
				continue;
			GPUCOL_RANKER_LAUNCH(key_words_kernel, nrows_)(c, word, nrows_, words[0], rows[0]);
			number = number_words(words, rows, &ngroups_);
			if (group_ != NULL)
			{
				GPUCOL_RANKER_LAUNCH(join_words_kernel, nrows_)(nrows_, group_, number, words[0], rows[0]);
				number = number_words(words, rows, &ngroups_);
			}
			group_ = number;
		}
	row_of_ = array<uint32_t>(ngroups_);
	GPUCOL_RANKER_LAUNCH(some_row_kernel, nrows_)(nrows_, group_, row_of_);
	device_check(cudaGetLastError(), "rank");
}

void
Ranker::number_groups()
{
	if (shape_.nkeys == 0)
		ngroups_ = 1;
	else if (nrows_ > 0 && !number_dense())
		number_sorted();
}

/* The keys of the groups into the result. */
void
Ranker::put_keys()
{
	for (uint32_t k = 0; k < shape_.nkeys; k++)
	{
		const GpucolRankColumn &c = t_.columns[k];
		int			words = c.cls == GPUCOL_CLASS_D ? 2 : 1;
		int64_t    *values = array<int64_t>((size_t) ngroups_ * words);
		uint8_t    *nulls = array<uint8_t>(ngroups_);

		GPUCOL_RANKER_LAUNCH(gather_key_kernel, ngroups_)(c, ngroups_, row_of_, values, words, nulls);
		device_check(cudaGetLastError(), "rank");
		fetch(values, sizeof(int64_t) * (size_t) ngroups_ * words);
		fetch(nulls, ngroups_);
	}
}

/* k of the rankings whose k is a group key. */
void
Ranker::find_k()
{
	for (uint32_t r = 0; r < shape_.nrankings; r++)
	{
		int32_t	   *found = array<int32_t>(2);
		int32_t		key = shape_.rankings[r].k_key;
		int32_t		result[2];

		k_[r] = shape_.rankings[r].k;
		if (key < 0)
			continue;
		group_k_[r] = array<int32_t>(ngroups_);
		device_check(cudaMemsetAsync(found, 0, 8, t_.stream), "memset");
		GPUCOL_RANKER_LAUNCH(group_k_kernel, ngroups_)(t_.columns[key], ngroups_, row_of_, group_k_[r], found);
		device_check(cudaMemcpyAsync(result, found, 8, cudaMemcpyDeviceToHost, t_.stream), "rank");
		t_.wait();
		if (result[0])
			throw Failure{GPUCOL_UNSUPPORTED, "k of a group is not 1 or more"};
		k_[r] = result[1];
	}
}
