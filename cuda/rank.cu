/*-------------------------------------------------------------------------
 *
 * rank.cu
 *	  Rankings of the rows of a scan.
 *
 * Group keys become dense group numbers: by their offsets where these are few,
 * else by sorting their words.  Rows become label-confidence pairs: group number,
 * score as an int64 that sorts like it, probability, label word.  A row that is
 * not ranked (filtered out, or with a NULL) keeps its place with probability 0,
 * which no ranking returns, so that nothing is moved; a flag a group says whether
 * any row counts.  All rankings share one sort.
 *
 * A single large group is not sorted: its best rows are selected and ranked, and
 * more of them only where the rankings say that these were too few.  A group that
 * a thread or a warp does not settle in WALKED_ROWS is split over the device.
 *
 * With x-tuples every group is ranked by one thread (topk_x.cu); x-tuples are
 * numbered within their groups as groups are, by sorting.
 *
 *-------------------------------------------------------------------------
 */
#include "rank.cuh"

#include <algorithm>
#include <cstring>
#include <string>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernel/float_order.h"
#include "launch.cuh"
#include "service/protocol.h"
#include "stage.cuh"
#include "topk.cuh"

namespace
{

constexpr uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
constexpr uint32_t FEW_GROUPS = 65536;	/* dense however few the rows */
constexpr uint32_t LARGE_GROUP = 1 << 20;	/* rows that are selected from */
constexpr uint32_t WALKED_ROWS = 8192;	/* of a group by a thread or warp, before it is split */
constexpr uint32_t WALKED_X_ROWS = 2048;	/* the same with x-tuples, if groups are few */
constexpr uint32_t MOST_X_ROWS = 32768;	/* and if they are many */
constexpr uint32_t FEW_SPLIT = 256;	/* groups that are split one after the other */

/*-------------------------------------------------------------------------
 * Kernels
 *-------------------------------------------------------------------------
 */

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
gather_key_kernel(GpucolRankColumn column, uint32_t n, const uint32_t *row_of, int64_t *values, int words, uint8_t *nulls)
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

struct Convert
{
	GpucolRankColumn filter;
	GpucolRankColumn score;
	GpucolRankColumn probability;
	GpucolRankColumn label;
	double		divisor;
	uint32_t	nrows;
	const uint32_t *group;		/* NULL: one group */
	int64_t    *out_score;
	double	   *out_p;
	int64_t    *out_label;
	uint8_t    *counted;		/* [ngroups] some row counts */
	uint32_t   *bad;			/* a probability out of range; rows that do not count */
	int64_t    *any_score;
};

/* Rows to label-confidence pairs.  What all rows would store is stored once. */
__global__ void
convert_kernel(Convert c)
{
	bool		told = false;

	GPUCOL_FOR_EACH(i, c.nrows)
	{
		uint32_t	g = c.group ? c.group[i] : 0;
		bool		on = (c.filter.values == NULL || (!c.filter.nulls[i] && c.filter.values[i])) &&
			!c.score.nulls[i] && !c.probability.nulls[i] && (c.label.values == NULL || !c.label.nulls[i]);
		double		p = 0;
		int64_t		score = 0;

		if (on)
		{
			int64_t		word = c.probability.values[i * c.probability.stride];

			p = c.probability.cls == GPUCOL_CLASS_D ? (double) word / c.divisor : __longlong_as_double(word);
			if (!(p >= 0 && p <= 1))
			{
				c.bad[0] = 1;
				p = 0;
			}
			score = c.score.values[i * c.score.stride];
			if (c.score.cls == GPUCOL_CLASS_F)
				score = gpucol_float_order(__longlong_as_double(score));
			if (!told)
				*c.any_score = score;
			if ((!told || c.group) && !c.counted[g])
				c.counted[g] = 1;
			told = true;
		}
		else
		{
			c.bad[1] = 1;
			p = -1;
		}
		c.out_score[i] = score;
		c.out_p[i] = p;
		if (c.out_label != NULL)
			c.out_label[i] = c.label.values != NULL ? c.label.values[i * c.label.stride] : 0;
	}
}

/* Give rows that do not count a score that others have, and probability 0. */
__global__ void
neutralise_kernel(Convert c)
{
	GPUCOL_FOR_EACH(i, c.nrows)
		if (c.out_p[i] < 0)
		{
			c.out_p[i] = 0;
			c.out_score[i] = *c.any_score;
		}
}

__global__ void
gather_rows_kernel(GpucolTopkRows from, const uint32_t *rows, uint32_t n, int64_t *score, double *p, int64_t *label)
{
	GPUCOL_FOR_EACH(i, n)
	{
		score[i] = from.score[rows[i]];
		p[i] = from.probability[rows[i]];
		label[i] = from.label[rows[i]];
	}
}

/* Do rows tie in all but a label whose words have no order? */
__global__ void
label_ties_kernel(GpucolTopkRows rows, const uint32_t *row, uint32_t *tied)
{
	GPUCOL_FOR_EACH(i, rows.nrows - 1)
	{
		uint32_t	a = row[i],
					b = row[i + 1];

		if (rows.score[a] == rows.score[b] && rows.probability[a] == rows.probability[b] && rows.probability[a] > 0 &&
			(rows.group == NULL || rows.group[a] == rows.group[b]) && rows.label[a] != rows.label[b])
			*tied = 1;
	}
}

/* Is a row's x-tuple the row's own?  So it is for rows that never exist. */
__device__ static inline bool
stands_alone(const GpucolRankColumn &x, const double *p, size_t i)
{
	return x.nulls[i] || p[i] <= 0;
}

/* What x-tuples are told apart by, to be numbered. */
__global__ void
x_words_kernel(GpucolRankColumn x, const double *p, uint32_t nrows, uint64_t *words, uint32_t *rows)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		words[i] = stands_alone(x, p, i) ? 0 : (uint64_t) x.values[i * x.stride];
		rows[i] = (uint32_t) i;
	}
}

/* Group and x-tuple together, to be numbered; the n numbers of x-tuples are less than n. */
__global__ void
x_pairs_kernel(GpucolRankColumn x, const double *p, const uint32_t *group, const uint32_t *number, uint32_t n, uint32_t nrows,
			   uint64_t *words, uint32_t *rows)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		words[i] = (uint64_t) (group ? group[i] : 0) << 32 | (stands_alone(x, p, i) ? n + (uint32_t) i : number[i]);
		rows[i] = (uint32_t) i;
	}
}

/* The least number of each group, which are ascending with the groups. */
__global__ void
x_first_kernel(const uint32_t *group, const uint32_t *pair, uint32_t nrows, uint32_t *first)
{
	GPUCOL_FOR_EACH(i, nrows)
		atomicMin(first + (group ? group[i] : 0), pair[i]);
}

/* Numbers within the groups, of rows in ranking order. */
__global__ void
x_at_kernel(const uint32_t *group, const uint32_t *pair, const uint32_t *first, const uint32_t *row, uint32_t nrows, int32_t *x)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		uint32_t	at = row[i];

		x[i] = (int32_t) (pair[at] - first[group ? group[at] : 0]);
	}
}

/* Do rows tie in all but their x-tuples? */
__global__ void
x_ties_kernel(GpucolTopkRows rows, const uint32_t *row, const uint32_t *pair, uint32_t *tied)
{
	GPUCOL_FOR_EACH(i, rows.nrows - 1)
	{
		uint32_t	a = row[i],
					b = row[i + 1];

		if (rows.score[a] == rows.score[b] && rows.probability[a] == rows.probability[b] && rows.probability[a] > 0 &&
			(rows.group == NULL || rows.group[a] == rows.group[b]) && rows.label[a] == rows.label[b] && pair[a] != pair[b])
			*tied = 1;
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

/* Groups in ranking order. */
__global__ void
group_at_kernel(GpucolTopkRows rows, const uint32_t *row, uint32_t *group)
{
	GPUCOL_FOR_EACH(i, rows.nrows)
		group[i] = rows.group ? rows.group[row[i]] : 0;
}

struct GroupSize
{
	const uint32_t *starts;

	__host__ __device__ uint32_t
	operator()(uint32_t g) const
	{
		return starts[g + 1] - starts[g];
	}
};

struct HasFigure
{
	const double *figures;

	__host__ __device__ bool
	operator()(uint32_t i) const
	{
		return figures[i] > -INFINITY;
	}
};

struct Chosen
{
	uint32_t   *at;				/* places in ranking order that have a figure */
	uint32_t   *group;
	int64_t    *order;			/* of the figure */
	double	   *figure;
	double	   *zero;
	int64_t    *rank;
};

__global__ void
chosen_kernel(GpucolTopkGroups groups, const uint32_t *group, const double *figures, uint32_t n, Chosen c)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	at = c.at[i];

		c.group[i] = group[at];
		c.figure[i] = figures[at];
		c.order[i] = gpucol_float_order(figures[at]);
		c.zero[i] = 0;
		c.rank[i] = at - groups.starts[group[at]];
	}
}

/* U-Topk: labels of each group. */
__global__ void
set_counts_kernel(GpucolTopkGroups groups, const GpucolTopkSet *sets, int32_t k, int32_t *counts, double *probability, uint8_t *settled)
{
	GPUCOL_FOR_EACH(g, groups.ngroups)
	{
		counts[g] = sets[g].last >= 0 ? gpucol_topk_k(groups, (uint32_t) g, k) : -1;
		probability[g] = sets[g].probability;
		settled[g] = sets[g].horizon >= 0;
	}
}

/* Groups whose answers are not settled by the rows that were looked at. */
__global__ void
unsettled_kernel(GpucolTopkGroups groups, const uint8_t *settled, uint32_t *list, uint32_t *count)
{
	GPUCOL_FOR_EACH(g, groups.ngroups)
		if (!settled[g] && groups.starts[g + 1] - groups.starts[g] > groups.most)
		{
			uint32_t	at = atomicAdd(count, 1u);

			if (at < FEW_SPLIT)
				list[at] = (uint32_t) g;
		}
}

__global__ void
uncounted_kernel(uint32_t ngroups, const uint8_t *counted, int32_t *counts)
{
	GPUCOL_FOR_EACH(g, ngroups)
		if (!counted[g])
			counts[g] = -1;
}

struct LabelCount
{
	const int32_t *counts;

	__host__ __device__ unsigned long long
	operator()(uint32_t g) const
	{
		return counts[g] > 0 ? counts[g] : 0;
	}
};

struct Labels
{
	GpucolTopkGroups groups;
	GpucolTopkPicks picks;
	const unsigned long long *first;
	const uint32_t *row;
	const int64_t *label;
	int64_t		base;			/* of offsets */
	int64_t    *out;			/* NULL: offsets are wanted */
	uint32_t   *offsets;
	uint8_t    *nulls;			/* or NULL */
};

/* One warp a group. */
__global__ void
labels_kernel(Labels l)
{
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t g = (blockIdx.x * blockDim.x + threadIdx.x) / 32; g < l.groups.ngroups; g += warps)
	{
		const int32_t *ranks = l.picks.ranks + (l.picks.stride ? (size_t) g * l.picks.stride : l.groups.starts[g]);

		for (int32_t j = lane; j < l.picks.counts[g]; j += 32)
		{
			unsigned long long at = l.first[g] + j;

			int64_t		label = ranks[j] < 0 ? l.base : l.label[l.row[l.groups.starts[g] + ranks[j]]];

			if (l.out)
				l.out[at] = label;
			else
				l.offsets[at] = (uint32_t) (label - l.base);
			if (l.nulls)
				l.nulls[at] = ranks[j] < 0;
		}
	}
}

/*-------------------------------------------------------------------------
 * The work
 *-------------------------------------------------------------------------
 */

class Ranker
{
public:
	Ranker(const GpucolRankTask &task, std::vector<char> *data) : t_(task), shape_(*task.shape), data_(data) {}
	uint64_t	run();
	void		fetch_all();

private:
	const GpucolRankTask &t_;
	const GpucolRowShape &shape_;
	std::vector<char> *data_;

	/* what the result is put together from */
	struct Result
	{
		const void *from;		/* in device memory; NULL: the literal */
		std::string literal;
		size_t		bytes;
	};
	std::vector<Result> results_;

	uint32_t	nrows_ = 0;
	uint32_t	ngroups_ = 0;
	uint32_t   *group_ = NULL;	/* [nrows]; NULL: one group */
	uint32_t   *row_of_ = NULL; /* [ngroups] some row of each */
	uint8_t    *counted_ = NULL;
	int32_t    *group_k_[GPUCOL_SHAPE_MAX_RANKINGS] = {};	/* NULL: one k for all */
	int32_t		k_[GPUCOL_SHAPE_MAX_RANKINGS];	/* the greatest */
	GpucolTopkRows rows_ = {};

	void	   *split_ = NULL;		/* scratch memory that rankings use in turn */
	size_t		split_bytes_ = 0;

	/* rows in ranking order */
	GpucolTopkGroups groups_ = {};
	uint32_t   *row_ = NULL;
	GpucolTopkXTuples xs_ = {};

	template <class T> T *array(size_t n) { return t_.scratch->array<T>(n + 1, "the rows to be ranked"); }
	template <class T> T host(const T *p);
	void		put(const void *from, size_t n);
	void		fetch(const void *from, size_t n);

	/* run a CUB algorithm with scratch memory */
	template <class Algorithm> void
	with_scratch(Algorithm algorithm)
	{
		size_t		bytes = 0;

		device_check(algorithm((void *) NULL, bytes), "rank");
		void	   *temp = t_.scratch->allocate(bytes, "the rows to be ranked");

		device_check(algorithm(temp, bytes), "rank");
	}

	bool		number_dense();
	void		number_sorted();
	uint32_t   *number_words(uint64_t *words[2], uint32_t *rows[2], uint32_t *n);
	void		number_groups();
	void		put_keys();
	void		find_k();
	void		put_nothing();
	void		convert();
	void		sort(const GpucolTopkRows &rows);
	void		check_label_ties(const GpucolTopkRows &rows);
	void	   *split_scratch(size_t bytes);
	bool		select_best(uint32_t want, GpucolTopkRows *best);
	bool		rank_all(const GpucolTopkRows &rows, bool must_settle);
	bool		rank(const GpucolTopkRows &rows, uint32_t number, bool must_settle);
	void		number_x(const GpucolTopkRows &rows);
	void		rank_x(const GpucolShapeRanking &r, int32_t k, const GpucolTopkPicks &picks, double *probability);
	void		limit_walk(int32_t k, bool is_set);
	bool		split_group(const GpucolShapeRanking &r, uint32_t g, int32_t k, const GpucolTopkPicks &picks, GpucolTopkSet *sets, double *figures);
	bool		split_unsettled(const GpucolShapeRanking &r, int32_t k, const GpucolTopkPicks &picks, GpucolTopkSet *sets, double *figures);
	void		choose(const GpucolTopkRows &rows, const uint32_t *group, const double *figures, int32_t k, const GpucolTopkPicks &picks);
	void		put_answers(const GpucolShapeRanking &r, const GpucolTopkRows &rows, const GpucolTopkPicks &picks, const double *probability);
};

#define LAUNCH(kernel, n) kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, t_.stream>>>

template <class T> T
Ranker::host(const T *p)
{
	T			v;

	device_check(cudaMemcpyAsync(&v, p, sizeof(T), cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	return v;
}

/* Bytes of the host into the result, padded to 8. */
void
Ranker::put(const void *from, size_t n)
{
	results_.push_back({NULL, std::string((const char *) from, n), n});
}

/* The same from the device, when all is known; the memory stays as it is until then. */
void
Ranker::fetch(const void *from, size_t n)
{
	results_.push_back({from, std::string(), n});
}

/* Write the result. */
void
Ranker::fetch_all()
{
	size_t		at = data_->size(),
				size = at;

	for (const Result &r : results_)
		size += (r.bytes + 7) / 8 * 8;
	data_->resize(size);
	for (const Result &r : results_)
	{
		if (r.from == NULL)
			memcpy(data_->data() + at, r.literal.data(), r.bytes);
		else
			device_check(cudaMemcpyAsync(data_->data() + at, r.from, r.bytes, cudaMemcpyDeviceToHost, t_.stream), "result");
		at += (r.bytes + 7) / 8 * 8;
	}
	device_check(cudaStreamSynchronize(t_.stream), "result");
	gpucol_stage(t_.stream, "answers fetched");
}

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
	LAUNCH(dense_kernel, nrows_)(keys, nrows_, group_, row_of);
	/* one more, which is never used: its number counts the groups */
	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceScan::ExclusiveSum(temp, bytes, thrust::make_transform_iterator(row_of, IsUsed()), number,
											 (int) (cells + 1), t_.stream); });
	ngroups_ = host(number + cells);
	row_of_ = array<uint32_t>(ngroups_);
	LAUNCH(compact_kernel, nrows_)(nrows_, number, group_);
	LAUNCH(compact_rows_kernel, cells)((uint32_t) cells, row_of, number, row_of_);
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
	LAUNCH(scatter_kernel, nrows_)(nrows_, order.Current(), number, out);
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
			LAUNCH(key_words_kernel, nrows_)(c, word, nrows_, words[0], rows[0]);
			number = number_words(words, rows, &ngroups_);
			if (group_ != NULL)
			{
				LAUNCH(join_words_kernel, nrows_)(nrows_, group_, number, words[0], rows[0]);
				number = number_words(words, rows, &ngroups_);
			}
			group_ = number;
		}
	row_of_ = array<uint32_t>(ngroups_);
	LAUNCH(some_row_kernel, nrows_)(nrows_, group_, row_of_);
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

		LAUNCH(gather_key_kernel, ngroups_)(c, ngroups_, row_of_, values, words, nulls);
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
		LAUNCH(group_k_kernel, ngroups_)(t_.columns[key], ngroups_, row_of_, group_k_[r], found);
		device_check(cudaMemcpyAsync(result, found, 8, cudaMemcpyDeviceToHost, t_.stream), "rank");
		t_.wait();
		if (result[0])
			throw Failure{GPUCOL_UNSUPPORTED, "k of a group is not 1 or more"};
		k_[r] = result[1];
	}
}

static GpucolRankColumn
column_of(const GpucolRankTask &task, int32_t output)
{
	return output < 0 ? GpucolRankColumn() : task.columns[output];
}

/* Make label-confidence pairs of the rows. */
void
Ranker::convert()
{
	Convert		c = {};
	uint32_t	bad[2];

	c.filter = column_of(t_, shape_.filter);
	c.score = column_of(t_, shape_.score);
	c.probability = column_of(t_, shape_.probability);
	c.label = column_of(t_, shape_.label);
	c.divisor = shape_.divisor;
	c.nrows = nrows_;
	c.group = group_;
	c.out_score = array<int64_t>(nrows_);
	c.out_p = array<double>(nrows_);
	if (c.label.values == NULL || c.label.stride != 1)
		c.out_label = array<int64_t>(nrows_);
	c.counted = counted_;
	c.bad = array<uint32_t>(2);
	c.any_score = array<int64_t>(1);
	device_check(cudaMemsetAsync(c.bad, 0, 8, t_.stream), "memset");
	device_check(cudaMemsetAsync(c.any_score, 0, 8, t_.stream), "memset");
	LAUNCH(convert_kernel, nrows_)(c);
	device_check(cudaMemcpyAsync(bad, c.bad, 8, cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	if (bad[0])
		throw Failure{GPUCOL_UNSUPPORTED, "a probability is not between 0 and 1"};
	if (bad[1])
		LAUNCH(neutralise_kernel, nrows_)(c);
	device_check(cudaGetLastError(), "rank");
	rows_.nrows = nrows_;
	rows_.ngroups = ngroups_;
	rows_.group = group_;
	rows_.score = c.out_score;
	rows_.probability = c.out_p;
	rows_.label = c.out_label != NULL ? c.out_label : c.label.values;
}

/* Words of text labels are numbers of strings, and of floats their bits: no order. */
void
Ranker::check_label_ties(const GpucolTopkRows &rows)
{
	uint32_t   *tied;

	int			cls = shape_.label < 0 ? GPUCOL_CLASS_NONE : t_.columns[shape_.label].cls;

	if ((cls != GPUCOL_CLASS_S && cls != GPUCOL_CLASS_F) || rows.nrows < 2)
		return;
	tied = array<uint32_t>(1);
	device_check(cudaMemsetAsync(tied, 0, 4, t_.stream), "memset");
	LAUNCH(label_ties_kernel, rows.nrows)(rows, row_, tied);
	if (host(tied))
		throw Failure{GPUCOL_UNSUPPORTED, "rows tie in score and probability, and their labels are text or floats"};
}

/* Put rows into ranking order. */
void
Ranker::sort(const GpucolTopkRows &rows)
{
	size_t		bytes = gpucol_topk_sort_scratch(rows.nrows);
	uint32_t   *starts = array<uint32_t>((size_t) rows.ngroups + 1);
	double	   *p = array<double>(rows.nrows);
	uint32_t   *longest = array<uint32_t>(1);
	auto		sizes = thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0), GroupSize{starts});

	row_ = array<uint32_t>(rows.nrows);
	device_check(gpucol_topk_sort(rows, starts, p, row_, t_.scratch->allocate(bytes, "the rows to be ranked"), bytes, t_.stream), "rank");
	with_scratch([&](void *temp, size_t &size) {
		return cub::DeviceReduce::Max(temp, size, sizes, longest, (int) rows.ngroups, t_.stream); });
	groups_.ngroups = rows.ngroups;
	groups_.starts = starts;
	groups_.p = p;
	groups_.longest = host(longest);
	groups_.cancel = t_.cancel;
	check_label_ties(rows);
	gpucol_stage(t_.stream, "pairs in ranking order");
}

/* The answers of a group without rows. */
void
Ranker::put_nothing()
{
	for (uint32_t r = 0; r < shape_.nrankings; r++)
	{
		GpucolWireLabels header = {0, sizeof(int64_t), 0};
		int32_t		none = -1;
		double		chance = 0;

		put(&none, sizeof(none));
		if (shape_.rankings[r].wanted & GPUCOL_WANTED_PROBABILITY)
			put(&chance, sizeof(chance));
		if (shape_.rankings[r].wanted & GPUCOL_WANTED_LABELS)
			put(&header, sizeof(header));
	}
}

/* The k best by figure of each group. */
void
Ranker::choose(const GpucolTopkRows &rows, const uint32_t *group, const double *figures, int32_t k,
			   const GpucolTopkPicks &picks)
{
	Chosen		c;
	uint32_t   *count = array<uint32_t>(1);
	GpucolTopkRows chosen = {};
	GpucolTopkGroups groups = {};
	uint32_t   *starts = array<uint32_t>((size_t) rows.ngroups + 1);
	uint32_t   *order;
	double	   *p;
	size_t		bytes;

	c.at = array<uint32_t>(rows.nrows);
	with_scratch([&](void *temp, size_t &size) {
		return cub::DeviceSelect::If(temp, size, thrust::counting_iterator<uint32_t>(0), c.at, count, (int) rows.nrows,
									 HasFigure{figures}, t_.stream); });
	chosen.nrows = host(count);
	chosen.ngroups = rows.ngroups;
	c.group = array<uint32_t>(chosen.nrows);
	c.order = array<int64_t>(chosen.nrows);
	c.figure = array<double>(chosen.nrows);
	c.zero = array<double>(chosen.nrows);
	c.rank = array<int64_t>(chosen.nrows);
	order = array<uint32_t>(chosen.nrows);
	p = array<double>(chosen.nrows);
	if (chosen.nrows > 0)
		LAUNCH(chosen_kernel, chosen.nrows)(groups_, group, figures, chosen.nrows, c);
	chosen.group = c.group;
	chosen.score = c.order;
	chosen.probability = c.zero;
	chosen.label = c.rank;
	bytes = gpucol_topk_sort_scratch(chosen.nrows);
	device_check(gpucol_topk_sort(chosen, starts, p, order, t_.scratch->allocate(bytes, "the rows to be ranked"), bytes, t_.stream), "rank");
	groups.ngroups = rows.ngroups;
	groups.starts = starts;
	groups.k = groups_.k;
	device_check(cudaMemsetAsync(count, 0, sizeof(uint32_t), t_.stream), "memset");
	device_check(gpucol_topk_choose(groups, order, c.figure, c.rank, k, picks, count, t_.stream), "rank");
	if (host(count))
		throw Failure{GPUCOL_UNSUPPORTED, "too many rows whose figures are equal up to rounding"};
}

/* Counts, probabilities and labels of one ranking into the result. */
void
Ranker::put_answers(const GpucolShapeRanking &r, const GpucolTopkRows &rows, const GpucolTopkPicks &picks,
					const double *probability)
{
	Labels		l = {groups_, picks, NULL, row_, rows.label, 0, NULL, NULL, NULL};
	GpucolWireLabels header = {0, sizeof(int64_t), 0};
	unsigned long long *first = array<unsigned long long>((size_t) ngroups_ + 1);
	unsigned long long total[2];
	int32_t		last;
	auto		sizes = thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0), LabelCount{picks.counts});

	LAUNCH(uncounted_kernel, ngroups_)(ngroups_, counted_, picks.counts);
	device_check(cudaGetLastError(), "rank");
	fetch(picks.counts, sizeof(int32_t) * (size_t) ngroups_);
	if (r.wanted & GPUCOL_WANTED_PROBABILITY)
		fetch(probability, sizeof(double) * (size_t) ngroups_);
	if (!(r.wanted & GPUCOL_WANTED_LABELS))
		return;
	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceScan::ExclusiveSum(temp, bytes, sizes, first, (int) ngroups_, t_.stream); });
	device_check(cudaMemcpyAsync(&last, picks.counts + ngroups_ - 1, sizeof(last), cudaMemcpyDeviceToHost, t_.stream), "rank");
	total[0] = host(first + ngroups_ - 1) + (last > 0 ? last : 0);
	if (total[0] * 9 > ((size_t) 4 << 30))
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the device gives back"};
	l.first = first;
	if (t_.columns[shape_.label].cls == GPUCOL_CLASS_I && t_.columns[shape_.label].card > 0)
	{
		l.base = header.base = t_.columns[shape_.label].base;
		header.width = sizeof(uint32_t);
		l.offsets = array<uint32_t>(total[0]);
	}
	else
		l.out = array<int64_t>(total[0]);
	if (r.ranking == GPUCOL_RANK_U_KRANKS)
		l.nulls = array<uint8_t>(total[0]);
	labels_kernel<<<gpucol_launch_blocks(labels_kernel, GPUCOL_THREADS, 0), GPUCOL_THREADS, 0, t_.stream>>>(l);
	device_check(cudaGetLastError(), "rank");
	gpucol_stage(t_.stream, "labels gathered");
	put(&header, sizeof(header));
	fetch(l.out != NULL ? (void *) l.out : (void *) l.offsets, header.width * total[0]);
	if (l.nulls)
		fetch(l.nulls, total[0]);
}

/* Number the x-tuples of each group; the rows are in ranking order. */
void
Ranker::number_x(const GpucolTopkRows &rows)
{
	const GpucolRankColumn &x = t_.columns[shape_.x];
	uint64_t   *words[2] = {array<uint64_t>(nrows_), array<uint64_t>(nrows_)};
	uint32_t   *numbers[2] = {array<uint32_t>(nrows_), array<uint32_t>(nrows_)};
	uint32_t   *first = array<uint32_t>((size_t) ngroups_ + 1);
	int32_t    *at = array<int32_t>(nrows_);
	uint32_t   *tied = array<uint32_t>(1);
	uint32_t   *pair;
	uint32_t	n;

	if (groups_.longest > std::max(WALKED_X_ROWS, std::min(MOST_X_ROWS, nrows_ / FEW_SPLIT)))
		throw Failure{GPUCOL_UNSUPPORTED, "x-tuples in a group that is much longer than others"};
	LAUNCH(x_words_kernel, nrows_)(x, rows.probability, nrows_, words[0], numbers[0]);
	pair = number_words(words, numbers, &n);
	LAUNCH(x_pairs_kernel, nrows_)(x, rows.probability, rows.group, pair, n, nrows_, words[0], numbers[0]);
	pair = number_words(words, numbers, &n);
	device_check(cudaMemsetAsync(first, 0xff, sizeof(uint32_t) * (size_t) ngroups_, t_.stream), "memset");
	device_check(cudaMemcpyAsync(first + ngroups_, &n, sizeof(n), cudaMemcpyHostToDevice, t_.stream), "rank");
	LAUNCH(x_first_kernel, nrows_)(rows.group, pair, nrows_, first);
	LAUNCH(x_at_kernel, nrows_)(rows.group, pair, first, row_, nrows_, at);
	device_check(cudaMemsetAsync(tied, 0, sizeof(uint32_t), t_.stream), "memset");
	LAUNCH(x_ties_kernel, nrows_)(rows, row_, pair, tied);
	if (host(tied))
		throw Failure{GPUCOL_UNSUPPORTED, "rows of different x-tuples tie in score, probability and label"};
	xs_.x = at;
	xs_.first = first;
}

/* One ranking where there are x-tuples. */
void
Ranker::rank_x(const GpucolShapeRanking &r, int32_t k, const GpucolTopkPicks &picks, double *probability)
{
	GpucolTopkRanking ranking = {r.ranking, k, r.threshold};
	uint32_t   *bad = array<uint32_t>(1);
	void	   *scratch = split_scratch(gpucol_topk_x_scratch(groups_, k));

	device_check(cudaMemsetAsync(bad, 0, sizeof(uint32_t), t_.stream), "memset");
	device_check(gpucol_topk_x(groups_, xs_, ranking, picks, probability, bad, scratch, t_.stream), "rank");
	if (host(bad))
		throw Failure{GPUCOL_UNSUPPORTED, "the probabilities of an x-tuple exceed 1"};
}

/*
 * How many rows of a group a thread or a warp walks: what is not settled then is
 * split over the device, one group after the other, so these must be few.
 */
void
Ranker::limit_walk(int32_t k, bool is_set)
{
	uint64_t	most = std::max<uint64_t>(WALKED_ROWS, 4 * (uint64_t) k);

	if (ngroups_ > FEW_SPLIT)
		most = std::max<uint64_t>(most, nrows_ / FEW_SPLIT);
	groups_.most = most < groups_.longest && (is_set || k <= GPUCOL_SPLIT_MAX_K) ? (uint32_t) most : 0;
}

/* Scratch memory of one ranking, or one split group, after the other. */
void *
Ranker::split_scratch(size_t bytes)
{
	if (bytes > split_bytes_)
	{
		split_ = t_.scratch->allocate(bytes, "the rows to be ranked");
		split_bytes_ = bytes;
	}
	return split_;
}

/* Rank one group by the whole device; false where that is not worth it. */
bool
Ranker::split_group(const GpucolShapeRanking &r, uint32_t g, int32_t k, const GpucolTopkPicks &picks, GpucolTopkSet *sets, double *figures)
{
	uint32_t	bounds[2];
	int32_t		own = k;
	GpucolSplitGroup group = {};
	int32_t    *ranks;
	bool		done = true;
	void	   *scratch;

	device_check(cudaMemcpyAsync(bounds, groups_.starts + g, sizeof(bounds), cudaMemcpyDeviceToHost, t_.stream), "rank");
	if (groups_.k != NULL)
		device_check(cudaMemcpyAsync(&own, groups_.k + g, sizeof(own), cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	group.p = groups_.p + bounds[0];
	group.n = bounds[1] - bounds[0];
	group.k = std::min(own, k);
	group.cancel = groups_.cancel;
	ranks = picks.ranks + (picks.stride ? (size_t) g * picks.stride : bounds[0]);
	scratch = split_scratch(gpucol_split_scratch(group.n, group.k));
	if (r.ranking == GPUCOL_RANK_U_TOPK)
		device_check(gpucol_split_u_topk(group, sets + g, ranks, &done, scratch, t_.stream), "rank");
	else if (r.ranking == GPUCOL_RANK_U_KRANKS)
		device_check(gpucol_split_u_kranks(group, ranks, picks.counts + g, picks.settled + g, scratch, t_.stream), "rank");
	else if (r.ranking == GPUCOL_RANK_PT_K)
		device_check(gpucol_split_pt_k(group, r.threshold, ranks, picks.counts + g, picks.settled + g, scratch, t_.stream), "rank");
	else
		device_check(gpucol_split_global(group, figures + bounds[0], picks.settled + g, scratch, t_.stream), "rank");
	t_.wait();
	return done;
}

/* Split the groups that are not settled; false if there were none. */
bool
Ranker::split_unsettled(const GpucolShapeRanking &r, int32_t k, const GpucolTopkPicks &picks, GpucolTopkSet *sets, double *figures)
{
	uint32_t   *list,
				n,
				groups[FEW_SPLIT];

	if (groups_.most == 0)
		return false;
	list = array<uint32_t>(FEW_SPLIT + 1);
	device_check(cudaMemsetAsync(list + FEW_SPLIT, 0, sizeof(uint32_t), t_.stream), "memset");
	LAUNCH(unsettled_kernel, groups_.ngroups)(groups_, picks.settled, list, list + FEW_SPLIT);
	n = std::min(host(list + FEW_SPLIT), FEW_SPLIT);
	device_check(cudaMemcpyAsync(groups, list, n * sizeof(uint32_t), cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	for (uint32_t i = 0; i < n; i++)
		if (!split_group(r, groups[i], k, picks, sets, figures))
			throw Failure{GPUCOL_UNSUPPORTED, "the likeliest rows of a long group rank last"};
	return n > 0;
}

/* One ranking; false if it needs rows that are not there. */
bool
Ranker::rank(const GpucolTopkRows &rows, uint32_t number, bool must_settle)
{
	const GpucolShapeRanking &r = shape_.rankings[number];
	uint32_t	n = rows.nrows;
	int32_t		longest = (int32_t) groups_.longest;
	int32_t		k = std::min(k_[number], r.ranking == GPUCOL_RANK_U_TOPK ? longest + 1 : std::max(longest, 1));
	GpucolTopkPicks picks = {};
	double	   *probability = NULL;
	void	   *scratch;

	groups_.k = group_k_[number];
	limit_walk(k, r.ranking == GPUCOL_RANK_U_TOPK);
	picks.counts = array<int32_t>(ngroups_);
	picks.settled = array<uint8_t>(ngroups_);
	picks.stride = r.ranking == GPUCOL_RANK_PT_K ? 0 : k;
	device_check(cudaMemsetAsync(picks.settled, 0, ngroups_, t_.stream), "memset");
	picks.ranks = array<int32_t>(picks.stride ? (size_t) ngroups_ * k : n);
	scratch = t_.scratch->allocate(gpucol_topk_counts_scratch(k), "the rows to be ranked");
	if (r.ranking == GPUCOL_RANK_U_TOPK)
		probability = array<double>(ngroups_);
	if (shape_.x >= 0)
		rank_x(r, k, picks, probability);
	else if (r.ranking == GPUCOL_RANK_U_TOPK)
	{
		GpucolTopkSet *sets = array<GpucolTopkSet>(ngroups_);

		scratch = t_.scratch->allocate(gpucol_topk_heap_scratch(k), "the rows to be ranked");
		device_check(gpucol_topk_heap(groups_, k, sets, scratch, t_.stream), "rank");
		device_check(gpucol_topk_members(groups_, k, sets, picks.ranks, t_.stream), "rank");
		LAUNCH(set_counts_kernel, ngroups_)(groups_, sets, k, picks.counts, probability, picks.settled);
		if (split_unsettled(r, k, picks, sets, NULL))
			LAUNCH(set_counts_kernel, ngroups_)(groups_, sets, k, picks.counts, probability, picks.settled);
	}
	else if (r.ranking == GPUCOL_RANK_U_KRANKS)
	{
		device_check(gpucol_topk_u_kranks(groups_, k, picks, scratch, t_.stream), "rank");
		split_unsettled(r, k, picks, NULL, NULL);
	}
	else if (r.ranking == GPUCOL_RANK_PT_K)
	{
		device_check(gpucol_topk_pt_k(groups_, k, r.threshold, picks, scratch, t_.stream), "rank");
		split_unsettled(r, k, picks, NULL, NULL);
	}
	else
	{
		double	   *figures = array<double>(n);
		uint32_t   *group = array<uint32_t>(n);

		LAUNCH(group_at_kernel, n)(rows, row_, group);
		if (r.ranking == GPUCOL_RANK_GLOBAL_TOPK)
		{
			device_check(gpucol_topk_global(groups_, k, figures, picks.settled, scratch, t_.stream), "rank");
			split_unsettled(r, k, picks, NULL, figures);
		}
		else
		{
			scratch = t_.scratch->allocate(gpucol_topk_expected_scratch(n), "the rows to be ranked");
			device_check(gpucol_topk_expected(groups_, group, n, figures, scratch, t_.stream), "rank");
		}
		choose(rows, group, figures, k, picks);
	}
	device_check(cudaGetLastError(), "rank");
	if (must_settle && !host(picks.settled))
		return false;
	gpucol_stage(t_.stream, "ranked");
	put_answers(r, rows, picks, probability);
	return true;
}

/* All rankings; false, with nothing added to the result, if rows are missing. */
bool
Ranker::rank_all(const GpucolTopkRows &rows, bool must_settle)
{
	size_t		before = results_.size();

	sort(rows);
	if (shape_.x >= 0)
		number_x(rows);
	for (uint32_t r = 0; r < shape_.nrankings; r++)
		if (!rank(rows, r, must_settle))
		{
			results_.resize(before);
			return false;
		}
	return true;
}

/* The best rows of a single group; false if there are too many of them. */
bool
Ranker::select_best(uint32_t want, GpucolTopkRows *best)
{
	uint32_t	capacity = std::max(1u << 20, 4 * want);
	uint32_t   *out = array<uint32_t>(capacity);
	uint32_t   *found = array<uint32_t>(1);
	uint32_t	n;
	int64_t    *score,
			   *label;
	double	   *p;

	device_check(gpucol_topk_select(rows_.score, nrows_, want, out, capacity, found,
									t_.scratch->allocate(gpucol_topk_select_scratch(), "the rows to be ranked"), t_.stream), "rank");
	n = host(found);
	if (n > capacity || n == 0)
		return false;
	score = array<int64_t>(n);
	label = array<int64_t>(n);
	p = array<double>(n);
	LAUNCH(gather_rows_kernel, n)(rows_, out, n, score, p, label);
	device_check(cudaGetLastError(), "rank");
	*best = rows_;
	best->nrows = n;
	best->score = score;
	best->probability = p;
	best->label = label;
	return true;
}

uint64_t
Ranker::run()
{
	uint32_t	most = 0;
	bool		selects = shape_.x < 0;

	if (t_.nrows > INT32_MAX)
		throw Failure{GPUCOL_UNSUPPORTED, "more rows than the device ranks together"};
	nrows_ = (uint32_t) t_.nrows;
	number_groups();
	gpucol_stage(t_.stream, "groups numbered");
	if (ngroups_ == 0)
		return 0;
	counted_ = array<uint8_t>(ngroups_);
	device_check(cudaMemsetAsync(counted_, 0, ngroups_, t_.stream), "memset");
	put_keys();
	if (nrows_ == 0)
	{
		put_nothing();
		return ngroups_;
	}
	find_k();
	convert();
	gpucol_stage(t_.stream, "pairs made");
	for (uint32_t r = 0; r < shape_.nrankings; r++)
	{
		most = std::max(most, (uint32_t) k_[r]);
		selects &= shape_.rankings[r].ranking != GPUCOL_RANK_EXPECTED;
	}
	if (selects && ngroups_ == 1 && nrows_ > LARGE_GROUP)
	{
		rows_.group = NULL;
		for (uint64_t want = 3 * (uint64_t) most + 4096; want < nrows_ / 16; want *= 16)
		{
			GpucolTopkRows best;

			if (!select_best((uint32_t) want, &best))
				break;
			if (rank_all(best, true))
				return ngroups_;
		}
	}
	rank_all(rows_, false);
	return ngroups_;
}

}								/* namespace */

uint64_t
gpucol_rank_rows(const GpucolRankTask &task, std::vector<char> *data)
{
	Ranker		ranker(task, data);
	uint64_t	ngroups = ranker.run();

	ranker.fetch_all();
	return ngroups;
}
