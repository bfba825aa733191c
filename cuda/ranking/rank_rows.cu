/*-------------------------------------------------------------------------
 *
 * rank_rows.cu
 *	  Rows that are ranked: label-confidence pairs, and their ranking order.
 *
 * A row becomes group number, score as an int64 that sorts like it, probability,
 * label word.  One that is not ranked (filtered out, or with a NULL) keeps its
 * place with probability 0, which no ranking returns, so that nothing is moved; a
 * flag a group says whether any row of the set counts.
 *
 * Sets of equal scores share the sort, whatever their filters, labels and
 * probabilities: only ties are put into order anew.  X-tuples are numbered within
 * their groups as groups are, by sorting.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/ranker.cuh"

#include <algorithm>

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernel/float_order.h"
#include "cuda/base/stage.cuh"

namespace
{

constexpr uint32_t WALKED_X_ROWS = 2048;	/* of a group with x-tuples by a thread, if groups are few */
constexpr uint32_t MOST_X_ROWS = 32768;	/* and if they are many: */
constexpr uint32_t MANY_X_GROUPS = 256;	/* as many as the longest */

/* Scores as int64 that sort like them; *any is one of them, if there is one. */
__global__ void
scores_kernel(GpucolRankColumn column, uint32_t nrows, int64_t *scores, int64_t *any, uint32_t *nulls)
{
	bool		flagged = false;

	GPUCOL_FOR_EACH(i, nrows)
	{
		int64_t		score = 0;

		if (column.nulls[i])
			*nulls = 1;
		else
		{
			score = column.values[i * column.stride];
			if (column.cls == GPUCOL_CLASS_F)
				score = gpucol_float_order(__longlong_as_double(score));
			if (!flagged)
				*any = score;
			flagged = true;
		}
		scores[i] = score;
	}
}

/* Give rows without a score one that others have. */
__global__ void
null_scores_kernel(GpucolRankColumn column, uint32_t nrows, int64_t *scores, const int64_t *any, const uint32_t *nulls)
{
	if (*nulls == 0)
		return;
	GPUCOL_FOR_EACH(i, nrows)
		if (column.nulls[i])
			scores[i] = *any;
}

struct Pairs
{
	GpucolRankColumn filter;
	GpucolRankColumn score;
	GpucolRankColumn probability;
	GpucolRankColumn label;
	double		divisor;
	uint32_t	nrows;
	const uint32_t *group;		/* NULL: one group */
	double	   *out_p;
	int64_t    *out_label;		/* that sort like the labels; NULL: these do */
	uint8_t    *counted;		/* [ngroups] some row counts */
	uint32_t   *bad;			/* a probability out of range */
};

/* Probabilities, 0 for rows that do not count, and labels.  What all rows would store is stored once. */
__global__ void
pairs_kernel(Pairs c)
{
	bool		flagged = false;

	GPUCOL_FOR_EACH(i, c.nrows)
	{
		bool		on = (c.filter.values == NULL || (!c.filter.nulls[i] && c.filter.values[i])) &&
			!c.score.nulls[i] && !c.probability.nulls[i] && (c.label.values == NULL || !c.label.nulls[i]);
		double		p = 0;

		if (on)
		{
			uint32_t	g = c.group ? c.group[i] : 0;
			int64_t		word = c.probability.values[i * c.probability.stride];

			p = c.probability.cls == GPUCOL_CLASS_D ? (double) word / c.divisor : __longlong_as_double(word);
			if (!(p >= 0 && p <= 1))
			{
				*c.bad = 1;
				p = 0;
			}
			if ((!flagged || c.group) && !c.counted[g])
				c.counted[g] = 1;
			flagged = true;
		}
		c.out_p[i] = p;
		if (c.out_label != NULL)
		{
			int64_t		word = c.label.values[i * c.label.stride];

			c.out_label[i] = c.label.cls == GPUCOL_CLASS_F ? gpucol_float_order(__longlong_as_double(word)) : word;
		}
	}
}

__global__ void
gather_rows_kernel(RankSet from, const uint32_t *rows, uint32_t n, int64_t *score, double *p, int64_t *label,
				   int64_t *delivered)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	row = rows[i];

		score[i] = from.rows.score[row];
		p[i] = from.rows.probability[row];
		label[i] = from.rows.label[row];
		delivered[i] = from.labels[row];
	}
}

/* Do rows tie in all but a label whose words have no order? */
__global__ void
label_ties_kernel(GpucolDeviceRankRows rows, const uint32_t *row, uint32_t *tied)
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
x_pairs_kernel(GpucolRankColumn x, const double *p, const uint32_t *group, const uint32_t *number, uint32_t n,
			   uint32_t nrows,
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
x_at_kernel(const uint32_t *group, const uint32_t *pair, const uint32_t *first, const uint32_t *row,
			uint32_t nrows, int32_t *x)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		uint32_t	at = row[i];

		x[i] = (int32_t) (pair[at] - first[group ? group[at] : 0]);
	}
}

/* Do rows tie in all but x-tuples whose words have no order? */
__global__ void
x_ties_kernel(GpucolDeviceRankRows rows, const uint32_t *row, const uint32_t *pair, uint32_t *tied)
{
	GPUCOL_FOR_EACH(i, rows.nrows - 1)
	{
		uint32_t	a = row[i],
					b = row[i + 1];

		if (rows.score[a] == rows.score[b] && rows.probability[a] == rows.probability[b] && rows.probability[a] > 0 &&
			(rows.group == NULL || rows.group[a] == rows.group[b]) && rows.label[a] == rows.label[b] &&
			pair[a] != pair[b])
			*tied = 1;
	}
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

}								/* namespace */

/* The scores that an output is, made at the first call. */
const int64_t *
Ranker::find_scores(int32_t output)
{
	GpucolRankColumn c = column(output);
	int64_t    *values;
	int64_t    *any;

	for (const RankScore &known : scores_)
		if (known.column == output)
			return known.values;
	values = array<int64_t>(nrows_);
	any = array<int64_t>(2);
	device_check(cudaMemsetAsync(any, 0, 2 * sizeof(int64_t), t_.stream), "memset");
	GPUCOL_RANKER_LAUNCH(scores_kernel, nrows_)(c, nrows_, values, any, (uint32_t *) (any + 1));
	GPUCOL_RANKER_LAUNCH(null_scores_kernel, nrows_)(c, nrows_, values, any, (uint32_t *) (any + 1));
	device_check(cudaGetLastError(), "rank");
	scores_.push_back({output, values, NULL, 0});
	return values;
}

/* Make the label-confidence pairs of a set; *bad is set to 1 where a probability is none. */
void
Ranker::add_set(const GpucolShapeSet &shape, uint32_t *bad)
{
	RankSet		s = {};
	Pairs		c = {};
	bool		is_ordered;

	c.filter = column(shape.filter);
	c.score = column(shape.score);
	c.probability = column(shape.probability);
	c.label = column(shape.label);
	c.divisor = shape.divisor;
	c.nrows = nrows_;
	c.group = group_;
	c.out_p = array<double>(nrows_);
	is_ordered = c.label.values != NULL && c.label.stride == 1 && c.label.cls != GPUCOL_CLASS_F;
	if (c.label.values != NULL && !is_ordered)
		c.out_label = array<int64_t>(nrows_);
	if (c.label.values == NULL && no_labels_ == NULL)
	{
		no_labels_ = array<int64_t>(nrows_);
		device_check(cudaMemsetAsync(no_labels_, 0, sizeof(int64_t) * (size_t) nrows_, t_.stream), "memset");
	}
	s.shape = &shape;
	s.counted = c.counted = array<uint8_t>(ngroups_);
	c.bad = bad;
	device_check(cudaMemsetAsync(s.counted, 0, ngroups_, t_.stream), "memset");
	s.rows.nrows = nrows_;
	s.rows.ngroups = ngroups_;
	s.rows.group = group_;
	s.rows.score = find_scores(shape.score);
	s.rows.spread = c.score.cls == GPUCOL_CLASS_F ? GPUCOL_DEVICE_RANK_DOUBLES : GPUCOL_DEVICE_RANK_INTEGERS;
	GPUCOL_RANKER_LAUNCH(pairs_kernel, nrows_)(c);
	device_check(cudaGetLastError(), "rank");
	s.rows.probability = c.out_p;
	s.rows.label = c.label.values == NULL ? no_labels_ : is_ordered ? c.label.values : c.out_label;
	s.labels = c.label.values == NULL || c.label.stride != 1 ? s.rows.label : c.label.values;
	if (shape.x >= 0 && column(shape.x).cls != GPUCOL_CLASS_S)
	{
		s.rows.x = column(shape.x).values;
		s.rows.x_nulls = column(shape.x).nulls;
	}
	sets_.push_back(s);
}

/* Make the sets. */
void
Ranker::convert()
{
	uint32_t   *bad = array<uint32_t>(1);

	device_check(cudaMemsetAsync(bad, 0, sizeof(uint32_t), t_.stream), "memset");
	for (uint32_t i = 0; i < shape_.nsets; i++)
		add_set(shape_.sets[i], bad);
	if (host(bad))
		throw Failure{GPUCOL_UNSUPPORTED, "a probability is not between 0 and 1"};
}

/* Words of text labels are numbers of strings: no order. */
void
Ranker::check_label_ties(const RankSet &s)
{
	uint32_t   *tied;

	if (label_class(s) != GPUCOL_CLASS_S || s.rows.nrows < 2)
		return;
	tied = array<uint32_t>(1);
	device_check(cudaMemsetAsync(tied, 0, sizeof(uint32_t), t_.stream), "memset");
	GPUCOL_RANKER_LAUNCH(label_ties_kernel, s.rows.nrows)(s.rows, s.row, tied);
	if (host(tied))
		throw Failure{GPUCOL_UNSUPPORTED, "rows tie in score and probability, and their labels are text"};
}

/* Put the rows of a set into ranking order. */
void
Ranker::sort(RankSet &s)
{
	size_t		bytes = gpucol_device_rank_sort_scratch(s.rows.nrows);
	void	   *scratch = split_scratch(bytes);
	uint32_t   *starts = array<uint32_t>((size_t) ngroups_ + 1);
	double	   *p = array<double>(s.rows.nrows);
	uint32_t   *longest = array<uint32_t>(1);
	auto		sizes = thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0), GroupSize{starts});
	RankScore  *score = NULL;

	for (RankScore &known : scores_)
		if (known.values == s.rows.score)
			score = &known;
	s.row = array<uint32_t>(s.rows.nrows);
	s.groups.ngroups = ngroups_;
	s.groups.starts = starts;
	s.groups.p = p;
	s.groups.cancel = t_.cancel;
	if (score != NULL && score->order != NULL)
	{
		device_check(gpucol_device_rank_sort_ties(s.rows, score->order, starts, p, s.row, scratch, bytes,
												  t_.stream), "rank");
		s.groups.longest = score->longest;
	}
	else
	{
		device_check(gpucol_device_rank_sort(s.rows, starts, p, s.row, scratch, bytes, t_.stream), "rank");
		with_scratch([&](void *temp, size_t &size) {
			return cub::DeviceReduce::Max(temp, size, sizes, longest, (int) ngroups_, t_.stream); });
		s.groups.longest = host(longest);
		if (score != NULL)
		{
			score->order = s.row;
			score->longest = s.groups.longest;
		}
	}
	check_label_ties(s);
	gpucol_stage(t_.stream, "pairs in ranking order");
}

/* Number the x-tuples of each group; the rows are in ranking order. */
void
Ranker::number_x(RankSet &s)
{
	const GpucolRankColumn x = column(s.shape->x);
	const GpucolDeviceRankRows &rows = s.rows;
	uint64_t   *words[2] = {array<uint64_t>(nrows_), array<uint64_t>(nrows_)};
	uint32_t   *numbers[2] = {array<uint32_t>(nrows_), array<uint32_t>(nrows_)};
	uint32_t   *first = array<uint32_t>((size_t) ngroups_ + 1);
	int32_t    *at = array<int32_t>(nrows_);
	uint32_t   *tied = array<uint32_t>(1);
	uint32_t   *pair;
	uint32_t	n;

	if (s.groups.longest > std::max(WALKED_X_ROWS, std::min(MOST_X_ROWS, nrows_ / MANY_X_GROUPS)))
		throw Failure{GPUCOL_UNSUPPORTED, "x-tuples in a group that is much longer than others"};
	GPUCOL_RANKER_LAUNCH(x_words_kernel, nrows_)(x, rows.probability, nrows_, words[0], numbers[0]);
	pair = number_words(words, numbers, &n);
	GPUCOL_RANKER_LAUNCH(x_pairs_kernel, nrows_)(x, rows.probability, rows.group, pair, n, nrows_, words[0],
												 numbers[0]);
	pair = number_words(words, numbers, &n);
	device_check(cudaMemsetAsync(first, 0xff, sizeof(uint32_t) * (size_t) ngroups_, t_.stream), "memset");
	device_check(cudaMemcpyAsync(first + ngroups_, &n, sizeof(n), cudaMemcpyHostToDevice, t_.stream), "rank");
	GPUCOL_RANKER_LAUNCH(x_first_kernel, nrows_)(rows.group, pair, nrows_, first);
	GPUCOL_RANKER_LAUNCH(x_at_kernel, nrows_)(rows.group, pair, first, s.row, nrows_, at);
	device_check(cudaMemsetAsync(tied, 0, sizeof(uint32_t), t_.stream), "memset");
	if (x.cls == GPUCOL_CLASS_S)
		GPUCOL_RANKER_LAUNCH(x_ties_kernel, nrows_)(rows, s.row, pair, tied);
	if (host(tied))
		throw Failure{GPUCOL_UNSUPPORTED, "rows of different x-tuples, which are text, tie in score, probability and label"};
	s.xs.x = at;
	s.xs.first = first;
}

/* The best rows of a set's single group; false if there are too many of them. */
bool
Ranker::select_best(const RankSet &s, uint32_t want, RankSet *best)
{
	uint32_t	capacity = std::max(1u << 20, 4 * want);
	uint32_t   *out = array<uint32_t>(capacity);
	uint32_t   *found = array<uint32_t>(1);
	uint32_t	n;
	int64_t    *score,
			   *label,
			   *delivered;
	double	   *p;

	device_check(gpucol_device_rank_select(s.rows.score, nrows_, want, out, capacity, found,
									t_.scratch->allocate(gpucol_device_rank_select_scratch(),
														 "the rows to be ranked"), t_.stream), "rank");
	n = host(found);
	if (n > capacity || n == 0)
		return false;
	score = array<int64_t>(n);
	label = array<int64_t>(n);
	delivered = array<int64_t>(n);
	p = array<double>(n);
	GPUCOL_RANKER_LAUNCH(gather_rows_kernel, n)(s, out, n, score, p, label, delivered);
	device_check(cudaGetLastError(), "rank");
	*best = s;
	best->rows.nrows = n;
	best->rows.group = NULL;
	best->rows.score = score;
	best->rows.probability = p;
	best->rows.label = label;
	best->labels = delivered;
	return true;
}
