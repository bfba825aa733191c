/*-------------------------------------------------------------------------
 *
 * rank.cu
 *	  Rankings of the rows of a scan.
 *
 * Rows have groups (rank_groups.cu) and are label-confidence pairs in ranking
 * order (rank_rows.cu), set by set; all rankings of a set share its order.
 *
 * A single large group is not sorted: its best rows are selected and ranked, and
 * more of them only where the rankings say that these were too few.  A group that
 * a thread or a warp does not settle in WALKED_ROWS is split over the device.
 *
 * With x-tuples every group is ranked by one thread (rank_x.cu).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/ranker.cuh"

#include <algorithm>
#include <cstring>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernel/float_order.h"
#include "service/protocol.h"
#include "cuda/base/stage.cuh"

namespace
{

constexpr uint32_t LARGE_GROUP = 1 << 20;	/* rows that are selected from */
constexpr uint32_t WALKED_ROWS = 8192;	/* of a group by a thread or warp, before it is split */
constexpr uint32_t FEW_SPLIT = 256;	/* groups that are split one after the other */

/* Groups in ranking order. */
__global__ void
group_at_kernel(GpucolDeviceRankRows rows, const uint32_t *row, uint32_t *group)
{
	GPUCOL_FOR_EACH(i, rows.nrows)
		group[i] = rows.group ? rows.group[row[i]] : 0;
}

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
chosen_kernel(GpucolDeviceRankGroups groups, const uint32_t *group, const double *figures, uint32_t n, Chosen c)
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
set_counts_kernel(GpucolDeviceRankGroups groups, const GpucolDeviceRankSet *sets, int32_t k, int32_t *counts,
				  double *probability, uint8_t *settled)
{
	GPUCOL_FOR_EACH(g, groups.ngroups)
	{
		counts[g] = sets[g].last >= 0 ? gpucol_device_rank_k(groups, (uint32_t) g, k) : -1;
		probability[g] = sets[g].probability;
		settled[g] = sets[g].horizon >= 0;
	}
}

/* Groups whose answers are not settled by the rows that were looked at. */
__global__ void
unsettled_kernel(GpucolDeviceRankGroups groups, const uint8_t *settled, uint32_t *list, uint32_t *count)
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
	GpucolDeviceRankGroups groups;
	GpucolDeviceRankPicks picks;
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

}								/* namespace */

/* Bytes of the host into the result, padded to 8. */
void
Ranker::put(const void *from, size_t n)
{
	result_->push_back({NULL, std::string((const char *) from, n), n});
}

/* The same from the device, when all is known; the memory stays as it is until then. */
void
Ranker::fetch(const void *from, size_t n)
{
	result_->push_back({from, std::string(), n});
}

/* Write the result; its bytes if that is to the place, 0: into data. */
size_t
Ranker::fetch_all(std::vector<char> *data)
{
	size_t		size = 0;
	char	   *to;
	bool		placed;

	for (const std::vector<Result> &results : results_)
		for (const Result &r : results)
			size += (r.bytes + 7) / 8 * 8;
	placed = t_.place != NULL && size <= t_.place_bytes;
	if (!placed)
		data->resize(size);
	to = placed ? t_.place : data->data();
	for (const std::vector<Result> &results : results_)
		for (const Result &r : results)
		{
			if (r.from == NULL)
				memcpy(to, r.literal.data(), r.bytes);
			else
				device_check(cudaMemcpyAsync(to, r.from, r.bytes, cudaMemcpyDeviceToHost, t_.stream), "result");
			to += (r.bytes + 7) / 8 * 8;
		}
	device_check(cudaStreamSynchronize(t_.stream), "result");
	gpucol_stage(t_.stream, "answers fetched");
	return placed ? size : 0;
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

		result_ = &results_[1 + r];
		put(&none, sizeof(none));
		if (shape_.rankings[r].wanted & GPUCOL_WANTED_PROBABILITY)
			put(&chance, sizeof(chance));
		if (shape_.rankings[r].wanted & GPUCOL_WANTED_LABELS)
			put(&header, sizeof(header));
	}
}

/* The k best by figure of each group. */
void
Ranker::choose(const RankSet &s, const uint32_t *group, const double *figures, int32_t k,
			   const GpucolDeviceRankPicks &picks)
{
	Chosen		c;
	uint32_t   *count = array<uint32_t>(1);
	GpucolDeviceRankRows chosen = {};
	GpucolDeviceRankGroups groups = {};
	uint32_t   *starts = array<uint32_t>((size_t) ngroups_ + 1);
	uint32_t   *order;
	double	   *p;
	size_t		bytes;

	c.at = array<uint32_t>(s.rows.nrows);
	with_scratch([&](void *temp, size_t &size) {
		return cub::DeviceSelect::If(temp, size, thrust::counting_iterator<uint32_t>(0), c.at, count,
									 (int) s.rows.nrows,
									 HasFigure{figures}, t_.stream); });
	chosen.nrows = host(count);
	chosen.ngroups = ngroups_;
	c.group = array<uint32_t>(chosen.nrows);
	c.order = array<int64_t>(chosen.nrows);
	c.figure = array<double>(chosen.nrows);
	c.zero = array<double>(chosen.nrows);
	c.rank = array<int64_t>(chosen.nrows);
	order = array<uint32_t>(chosen.nrows);
	p = array<double>(chosen.nrows);
	if (chosen.nrows > 0)
		GPUCOL_RANKER_LAUNCH(chosen_kernel, chosen.nrows)(s.groups, group, figures, chosen.nrows, c);
	chosen.group = c.group;
	chosen.score = c.order;
	chosen.probability = c.zero;
	chosen.label = c.rank;
	chosen.spread = GPUCOL_DEVICE_RANK_SKEWED;
	bytes = gpucol_device_rank_sort_scratch(chosen.nrows);
	device_check(gpucol_device_rank_sort(chosen, starts, p, order,
										 t_.scratch->allocate(bytes, "the rows to be ranked"), bytes,
										 t_.stream), "rank");
	groups.ngroups = ngroups_;
	groups.starts = starts;
	groups.k = s.groups.k;
	device_check(cudaMemsetAsync(count, 0, sizeof(uint32_t), t_.stream), "memset");
	device_check(gpucol_device_rank_choose(groups, order, c.figure, c.rank, k, picks, count, t_.stream), "rank");
	if (host(count))
		throw Failure{GPUCOL_UNSUPPORTED, "too many rows whose figures are equal up to rounding"};
}

/* Counts, probabilities and labels of one ranking into the result. */
void
Ranker::put_answers(const RankSet &s, const GpucolShapeRanking &r, const GpucolDeviceRankPicks &picks,
					const double *probability)
{
	Labels		l = {s.groups, picks, NULL, s.row, s.labels, 0, NULL, NULL, NULL};
	GpucolWireLabels header = {0, sizeof(int64_t), 0};
	unsigned long long *first = array<unsigned long long>((size_t) ngroups_ + 1);
	unsigned long long total[2];
	int32_t		last;
	auto		sizes = thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0),
														LabelCount{picks.counts});

	GPUCOL_RANKER_LAUNCH(uncounted_kernel, ngroups_)(ngroups_, s.counted, picks.counts);
	device_check(cudaGetLastError(), "rank");
	fetch(picks.counts, sizeof(int32_t) * (size_t) ngroups_);
	if (r.wanted & GPUCOL_WANTED_PROBABILITY)
		fetch(probability, sizeof(double) * (size_t) ngroups_);
	if (!(r.wanted & GPUCOL_WANTED_LABELS))
		return;
	with_scratch([&](void *temp, size_t &bytes) {
		return cub::DeviceScan::ExclusiveSum(temp, bytes, sizes, first, (int) ngroups_, t_.stream); });
	device_check(cudaMemcpyAsync(&last, picks.counts + ngroups_ - 1, sizeof(last), cudaMemcpyDeviceToHost,
								 t_.stream), "rank");
	total[0] = host(first + ngroups_ - 1) + (last > 0 ? last : 0);
	if (total[0] * 9 > ((size_t) 4 << 30))
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the device gives back"};
	l.first = first;
	if (label_class(s) == GPUCOL_CLASS_I && column(s.shape->label).card > 0)
	{
		l.base = header.base = column(s.shape->label).base;
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

/* One ranking where there are x-tuples. */
void
Ranker::rank_x(const RankSet &s, const GpucolShapeRanking &r, int32_t k, const GpucolDeviceRankPicks &picks,
			   double *probability)
{
	GpucolDeviceRankRanking ranking = {r.ranking, k, r.threshold};
	uint32_t   *bad = array<uint32_t>(1);
	void	   *scratch = split_scratch(gpucol_device_rank_x_scratch(s.groups, k));

	device_check(cudaMemsetAsync(bad, 0, sizeof(uint32_t), t_.stream), "memset");
	device_check(gpucol_device_rank_x(s.groups, s.xs, ranking, picks, probability, bad, scratch, t_.stream), "rank");
	if (host(bad))
		throw Failure{GPUCOL_UNSUPPORTED, "the probabilities of an x-tuple exceed 1"};
}

/*
 * How many rows of a group a thread or a warp walks: what is not settled then is
 * split over the device, one group after the other, so these must be few.
 */
void
Ranker::limit_walk(RankSet &s, int32_t k, bool is_set)
{
	uint64_t	most = std::max<uint64_t>(WALKED_ROWS, 4 * (uint64_t) k);

	if (ngroups_ > FEW_SPLIT)
		most = std::max<uint64_t>(most, nrows_ / FEW_SPLIT);
	s.groups.most = most < s.groups.longest && (is_set || k <= GPUCOL_DEVICE_RANK_SPLIT_MAX_K) ? (uint32_t) most : 0;
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
Ranker::split_group(const RankSet &s, const GpucolShapeRanking &r, uint32_t g, int32_t k,
					const GpucolDeviceRankPicks &picks,
					GpucolDeviceRankSet *sets, double *figures)
{
	uint32_t	bounds[2];
	int32_t		own = k;
	GpucolDeviceRankSplit group = {};
	int32_t    *ranks;
	bool		done = true;
	void	   *scratch;

	device_check(cudaMemcpyAsync(bounds, s.groups.starts + g, sizeof(bounds), cudaMemcpyDeviceToHost,
								 t_.stream), "rank");
	if (s.groups.k != NULL)
		device_check(cudaMemcpyAsync(&own, s.groups.k + g, sizeof(own), cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	group.p = s.groups.p + bounds[0];
	group.n = bounds[1] - bounds[0];
	group.k = std::min(own, k);
	group.cancel = s.groups.cancel;
	ranks = picks.ranks + (picks.stride ? (size_t) g * picks.stride : bounds[0]);
	scratch = split_scratch(gpucol_device_rank_split_scratch(group.n, group.k));
	if (r.ranking == GPUCOL_RANK_U_TOPK)
		device_check(gpucol_device_rank_split_u_topk(group, sets + g, ranks, &done, scratch, t_.stream), "rank");
	else if (r.ranking == GPUCOL_RANK_U_KRANKS)
		device_check(gpucol_device_rank_split_u_kranks(group, ranks, picks.counts + g, picks.settled + g,
													   scratch, t_.stream), "rank");
	else if (r.ranking == GPUCOL_RANK_PT_K)
		device_check(gpucol_device_rank_split_pt_k(group, r.threshold, ranks, picks.counts + g,
												   picks.settled + g, scratch, t_.stream), "rank");
	else
		device_check(gpucol_device_rank_split_global(group, figures + bounds[0], picks.settled + g, scratch,
													 t_.stream), "rank");
	t_.wait();
	return done;
}

/* Split the groups that are not settled; false if there were none. */
bool
Ranker::split_unsettled(const RankSet &s, const GpucolShapeRanking &r, int32_t k, const GpucolDeviceRankPicks &picks,
						GpucolDeviceRankSet *sets, double *figures)
{
	uint32_t   *list,
				n,
				groups[FEW_SPLIT];

	if (s.groups.most == 0)
		return false;
	list = array<uint32_t>(FEW_SPLIT + 1);
	device_check(cudaMemsetAsync(list + FEW_SPLIT, 0, sizeof(uint32_t), t_.stream), "memset");
	GPUCOL_RANKER_LAUNCH(unsettled_kernel, s.groups.ngroups)(s.groups, picks.settled, list, list + FEW_SPLIT);
	n = std::min(host(list + FEW_SPLIT), FEW_SPLIT);
	device_check(cudaMemcpyAsync(groups, list, n * sizeof(uint32_t), cudaMemcpyDeviceToHost, t_.stream), "rank");
	t_.wait();
	for (uint32_t i = 0; i < n; i++)
		if (!split_group(s, r, groups[i], k, picks, sets, figures))
			throw Failure{GPUCOL_UNSUPPORTED, "the likeliest rows of a long group rank last"};
	return n > 0;
}

/* One ranking; false if it needs rows that are not there. */
bool
Ranker::rank(RankSet &s, uint32_t number, bool must_settle)
{
	const GpucolShapeRanking &r = shape_.rankings[number];
	uint32_t	n = s.rows.nrows;
	int32_t		longest = (int32_t) s.groups.longest;
	int32_t		k = std::min(k_[number], r.ranking == GPUCOL_RANK_U_TOPK ? longest + 1 : std::max(longest, 1));
	GpucolDeviceRankPicks picks = {};
	double	   *probability = NULL;
	void	   *scratch;

	result_ = &results_[1 + number];
	result_->clear();
	s.groups.k = group_k_[number];
	limit_walk(s, k, r.ranking == GPUCOL_RANK_U_TOPK);
	picks.counts = array<int32_t>(ngroups_);
	picks.settled = array<uint8_t>(ngroups_);
	picks.stride = r.ranking == GPUCOL_RANK_PT_K ? 0 : k;
	device_check(cudaMemsetAsync(picks.settled, 0, ngroups_, t_.stream), "memset");
	picks.ranks = array<int32_t>(picks.stride ? (size_t) ngroups_ * k : n);
	scratch = t_.scratch->allocate(gpucol_device_rank_counts_scratch(k), "the rows to be ranked");
	if (r.ranking == GPUCOL_RANK_U_TOPK)
		probability = array<double>(ngroups_);
	if (s.shape->x >= 0)
		rank_x(s, r, k, picks, probability);
	else if (r.ranking == GPUCOL_RANK_U_TOPK)
	{
		GpucolDeviceRankSet *sets = array<GpucolDeviceRankSet>(ngroups_);

		scratch = t_.scratch->allocate(gpucol_device_rank_heap_scratch(k), "the rows to be ranked");
		device_check(gpucol_device_rank_heap(s.groups, k, sets, scratch, t_.stream), "rank");
		device_check(gpucol_device_rank_members(s.groups, k, sets, picks.ranks, t_.stream), "rank");
		GPUCOL_RANKER_LAUNCH(set_counts_kernel, ngroups_)(s.groups, sets, k, picks.counts, probability, picks.settled);
		if (split_unsettled(s, r, k, picks, sets, NULL))
			GPUCOL_RANKER_LAUNCH(set_counts_kernel, ngroups_)(s.groups, sets, k, picks.counts, probability,
															  picks.settled);
	}
	else if (r.ranking == GPUCOL_RANK_U_KRANKS)
	{
		device_check(gpucol_device_rank_u_kranks(s.groups, k, picks, scratch, t_.stream), "rank");
		split_unsettled(s, r, k, picks, NULL, NULL);
	}
	else if (r.ranking == GPUCOL_RANK_PT_K)
	{
		device_check(gpucol_device_rank_pt_k(s.groups, k, r.threshold, picks, scratch, t_.stream), "rank");
		split_unsettled(s, r, k, picks, NULL, NULL);
	}
	else
	{
		double	   *figures = array<double>(n);
		uint32_t   *group = array<uint32_t>(n);

		GPUCOL_RANKER_LAUNCH(group_at_kernel, n)(s.rows, s.row, group);
		if (r.ranking == GPUCOL_RANK_GLOBAL_TOPK)
		{
			device_check(gpucol_device_rank_global(s.groups, k, figures, picks.settled, scratch, t_.stream), "rank");
			split_unsettled(s, r, k, picks, NULL, figures);
		}
		else
		{
			scratch = t_.scratch->allocate(gpucol_device_rank_expected_scratch(n), "the rows to be ranked");
			device_check(gpucol_device_rank_expected(s.groups, group, n, figures, scratch, t_.stream), "rank");
		}
		choose(s, group, figures, k, picks);
	}
	device_check(cudaGetLastError(), "rank");
	if (must_settle && !host(picks.settled))
		return false;
	gpucol_stage(t_.stream, "ranked");
	put_answers(s, r, picks, probability);
	return true;
}

/* The rankings of a set from number `number` on; false if rows are missing. */
bool
Ranker::rank_all(RankSet &s, uint32_t number, bool must_settle)
{
	sort(s);
	if (s.shape->x >= 0)
		number_x(s);
	for (uint32_t r = number; r < shape_.nrankings && &shape_.sets[shape_.rankings[r].set] == s.shape; r++)
		if (!rank(s, r, must_settle))
			return false;
	return true;
}

/* The rankings of a set, of which the first is number `number`. */
void
Ranker::rank_set(RankSet &s, uint32_t number)
{
	uint32_t	most = 0;
	bool		selects = s.shape->x < 0 && ngroups_ == 1 && nrows_ > LARGE_GROUP;

	for (uint32_t r = number; r < shape_.nrankings && &shape_.sets[shape_.rankings[r].set] == s.shape; r++)
	{
		most = std::max(most, (uint32_t) k_[r]);
		selects &= shape_.rankings[r].ranking != GPUCOL_RANK_EXPECTED;
	}
	for (uint64_t want = 3 * (uint64_t) most + 4096; selects && want < nrows_ / 16; want *= 16)
	{
		RankSet		best;

		if (!select_best(s, (uint32_t) want, &best))
			break;
		if (rank_all(best, number, true))
			return;
	}
	rank_all(s, number, false);
}

uint64_t
Ranker::run()
{
	if (t_.nrows > INT32_MAX)
		throw Failure{GPUCOL_UNSUPPORTED, "more rows than the device ranks together"};
	nrows_ = (uint32_t) t_.nrows;
	number_groups();
	gpucol_stage(t_.stream, "groups numbered");
	if (ngroups_ == 0)
		return 0;
	result_ = &results_[0];
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
		if (r == 0 || shape_.rankings[r].set != shape_.rankings[r - 1].set)
			rank_set(sets_[shape_.rankings[r].set], r);
	return ngroups_;
}

uint64_t
gpucol_rank_rows(const GpucolRankTask &task, std::vector<char> *data, size_t *placed)
{
	Ranker		ranker(task);
	uint64_t	ngroups = ranker.run();

	*placed = ranker.fetch_all(data);
	return ngroups;
}
