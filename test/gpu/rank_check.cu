/*-------------------------------------------------------------------------
 *
 * rank_check.cu
 *	  Checks the ranking kernels against the functions that the CPU runs, and
 *	  measures them on the batch of Chang et al.
 *
 * Usage: rank_check check | bench | one (the large groups of bench alone)
 *
 * bench, groups of up to n rows with at least k of them, or a random k of their own, probabilities uniform in
 * [0, 1] in steps of 0.001, medians of 7 warm runs; columns:
 *	  cpu dp, cpu heap	one core of the host, groups already in ranking order
 *	  dp, heap			kernels alone, the same input in device memory
 *	  sort+heap			rows in random order in device memory to sets of labels
 *	  +copies			the same from pinned host memory and back
 * Then one group of 100 M rows, k = 100, from scores in device memory; and groups of
 * as many rows of tiny probabilities, in ranking order, by the whole device.
 * Exit status 1 if any answer differs.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <chrono>
#include <functional>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernel/float_order.h"
#include "cuda/ranking/rank_kernels.cuh"

extern "C"
{
#include "ranking/semantics/rank.h"
}

#include "test/gpu/rank_dp.cuh"
#include "test/unit/rank_reference.h"

static int	failures = 0;

#define CUDA(call) \
	do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
		printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
		exit(2); } } while (0)

static uint64_t seed = 42;

static uint64_t
draw(uint64_t below)
{
	uint64_t	z = (seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % below;
}

template <class T>
static T *
device(size_t n)
{
	T		   *p;

	CUDA(cudaMalloc(&p, std::max<size_t>(1, n) * sizeof(T)));
	return p;
}

template <class T>
static T *
upload(const std::vector<T> &v)
{
	T		   *p = device<T>(v.size());

	CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

template <class T>
static std::vector<T>
download(const T *p, size_t n)
{
	std::vector<T> v(n);

	CUDA(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

static double
median_ms(const std::function<void()> &run)
{
	std::vector<double> ms;

	for (int i = 0; i < 8; i++)
	{
		auto		start = std::chrono::steady_clock::now();

		run();
		CUDA(cudaDeviceSynchronize());
		if (i > 0)
			ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
	}
	std::sort(ms.begin(), ms.end());
	return ms[ms.size() / 2];
}

/* Groups of rows in random order, and the same in ranking order. */
struct Batch
{
	uint32_t	ngroups;
	uint32_t	longest = 0;
	std::vector<uint32_t> starts;
	std::vector<uint32_t> group;
	std::vector<int64_t> score;
	std::vector<double> p;
	std::vector<int64_t> label;
	std::vector<double> ranked_p;
	std::vector<int64_t> ranked_label;
	std::vector<int32_t> k;		/* of each group, where they differ */

	int32_t own_k(uint32_t g, int32_t all) const { return k.empty() ? all : k[g]; }

	/* a random k for each group, from 1 to its rows */
	void draw_k()
	{
		for (uint32_t g = 0; g < ngroups; g++)
			k.push_back(1 + (int32_t) draw(std::max(1u, starts[g + 1] - starts[g])));
	}
};

/* Scores: so many values, or any of 40 bits; of 63 bits; crowded beside a few that are far away. */
constexpr int SPREAD = -1,
			CROWDED = -2;

static int64_t
draw_score(int ties)
{
	if (ties == SPREAD)
		return (int64_t) (draw(1ull << 62) << 1) - (1ll << 62);
	if (ties == CROWDED)
		return draw(500) == 0 ? (int64_t) draw(1ull << 62) : (int64_t) draw(1 << 20);
	return ties ? (int64_t) draw(ties) - ties / 2 : (int64_t) draw(1ull << 40);
}

static Batch
make_batch(uint32_t ngroups, int n, int k, int ties, double scale)
{
	Batch		b;
	std::vector<uint32_t> order;

	b.ngroups = ngroups;
	b.starts.push_back(0);
	for (uint32_t g = 0; g < ngroups; g++)
	{
		uint32_t	size = k < n ? k + (uint32_t) draw(n - k + 1) : n;

		if (ties > 0 && draw(10) == 0)
			size = draw(3);
		b.longest = std::max(b.longest, size);
		b.starts.push_back(b.starts.back() + size);
	}
	b.group.resize(b.starts.back());
	b.score.resize(b.starts.back());
	b.p.resize(b.starts.back());
	b.label.resize(b.starts.back());
	order.resize(b.starts.back());
	std::iota(order.begin(), order.end(), 0);
	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[draw(i)]);
	for (uint32_t g = 0; g < ngroups; g++)
		for (uint32_t i = b.starts[g]; i < b.starts[g + 1]; i++)
		{
			uint32_t	at = order[i];

			b.group[at] = g;
			b.score[at] = draw_score(ties);
			b.p[at] = scale * draw(1001) / 1000.0;
			b.label[at] = at;
		}
	/* ranking order: score, probability, label */
	std::iota(order.begin(), order.end(), 0);
	std::sort(order.begin(), order.end(), [&](uint32_t l, uint32_t r) {
		if (b.group[l] != b.group[r])
			return b.group[l] < b.group[r];
		if (b.score[l] != b.score[r])
			return b.score[l] > b.score[r];
		return b.p[l] != b.p[r] ? b.p[l] > b.p[r] : b.label[l] < b.label[r];
	});
	for (uint32_t i : order)
	{
		b.ranked_p.push_back(b.p[i]);
		b.ranked_label.push_back(b.label[i]);
	}
	return b;
}

/* Everything of a batch on the device. */
struct OnDevice
{
	GpucolDeviceRankRows rows = {};
	GpucolDeviceRankGroups groups = {};
	uint32_t   *starts;
	double	   *p;
	uint32_t   *row;
	void	   *scratch;
	size_t		scratch_bytes;
	GpucolDeviceRankSet *sets;
	int32_t    *ranks;
	void	   *heap;
	void	   *dp;

	OnDevice(const Batch &b, int k)
	{
		size_t		n = b.p.size();

		rows.nrows = (uint32_t) n;
		rows.ngroups = b.ngroups;
		rows.group = upload(b.group);
		rows.score = upload(b.score);
		rows.probability = upload(b.p);
		rows.label = upload(b.label);
		starts = device<uint32_t>(b.ngroups + 1);
		p = device<double>(n);
		row = device<uint32_t>(n);
		scratch_bytes = gpucol_device_rank_sort_scratch(rows.nrows);
		scratch = device<char>(scratch_bytes);
		sets = device<GpucolDeviceRankSet>(b.ngroups);
		ranks = device<int32_t>((size_t) b.ngroups * k);
		heap = device<char>(gpucol_device_rank_heap_scratch(k));
		dp = device<char>(gpucol_device_rank_dp_scratch(b.longest, k));
		groups.ngroups = b.ngroups;
		groups.starts = starts;
		groups.p = p;
		groups.longest = b.longest;
		if (!b.k.empty())
			groups.k = upload(b.k);
	}

	~OnDevice()
	{
		for (const void *memory :
			 {(const void *) rows.group, (const void *) rows.score, (const void *) rows.probability,
				(const void *) rows.label, (const void *) starts, (const void *) p, (const void *) row,
				(const void *) scratch,
				(const void *) sets, (const void *) ranks, (const void *) heap, (const void *) dp,
				(const void *) groups.k})
			cudaFree((void *) memory);
	}

	void sort() { CUDA(gpucol_device_rank_sort(rows, starts, p, row, scratch, scratch_bytes, 0)); }
	void run_heap(int k) { CUDA(gpucol_device_rank_heap(groups, k, sets, heap, 0));
						  CUDA(gpucol_device_rank_members(groups, k, sets, ranks, 0)); }
	void run_dp(int k) { CUDA(gpucol_device_rank_dp(groups, k, sets, ranks, dp, 0)); }
};

/* Compare the sets on the device with the CPU's. */
static void
compare(const Batch &b, const OnDevice &d, int k, const char *what)
{
	std::vector<GpucolDeviceRankSet> sets = download(d.sets, b.ngroups);
	std::vector<int32_t> ranks = download(d.ranks, (size_t) b.ngroups * k);
	std::vector<char> memory(1 << 22);
	std::vector<int32_t> want(k);
	GpucolRankWork work = {};
	long		bad = 0;

	work.memory = memory.data();
	work.size = memory.size();
	for (uint32_t g = 0; g < b.ngroups; g++)
	{
		GpucolRankInput in = {};
		int32_t		own = b.own_k(g, k);
		double		probability;
		bool		found;

		in.n = (int32_t) (b.starts[g + 1] - b.starts[g]);
		in.p = b.ranked_p.data() + b.starts[g];
		if (gpucol_rank_u_topk(&in, own, &work, want.data(), &probability, &found) != GPUCOL_OK)
			bad++;
		if (found != (sets[g].last >= 0) ||
			(found && (memcmp(want.data(), ranks.data() + (size_t) g * k, sizeof(int32_t) * own) != 0 ||
					   fabs(sets[g].probability - probability) > 1e-12 * probability)))
			bad++;
	}
	if (bad > 0)
	{
		printf("FAILED: %s, k = %d: %ld of %u groups differ\n", what, k, bad, b.ngroups);
		failures++;
	}
}

static void
check_batch(uint32_t ngroups, int n, int k, int ties, double scale, bool random_k = false)
{
	Batch		b = make_batch(ngroups, n, k, ties, scale);

	if (random_k)
		b.draw_k();
	k = random_k ? n : k;

	OnDevice	d(b, k);

	d.sort();
	std::vector<double> p = download(d.p, b.p.size());
	std::vector<uint32_t> row = download(d.row, b.p.size());
	std::vector<uint32_t> starts = download(d.starts, b.ngroups + 1);

	if (starts != b.starts || p != b.ranked_p ||
		!std::equal(row.begin(), row.end(), b.ranked_label.begin(),
					[](uint32_t r, int64_t l) { return (int64_t) r == l; }))
	{
		printf("FAILED: sort of %u groups up to %d, ties %d\n", ngroups, n, ties);
		failures++;
	}
	d.run_heap(k);
	compare(b, d, k, "heap");
	if (k <= 1023)
	{
		d.run_dp(k);
		compare(b, d, k, "dynamic programming");
	}
}

/* Groups with x-tuples, each ranking, against the CPU running the same code. */
static void
check_x(uint32_t ngroups, int n, int k, int alternatives)
{
	Batch		b = make_batch(ngroups, n, 1, 0, 1.0 / alternatives);
	std::vector<int32_t> x;
	std::vector<uint32_t> first = {0};
	GpucolDeviceRankGroups groups = {};
	GpucolDeviceRankXTuples xs;
	GpucolDeviceRankPicks picks = {};
	double	   *probability = device<double>(ngroups);
	uint32_t   *bad = device<uint32_t>(1);

	for (uint32_t g = 0; g < ngroups; g++)
	{
		int			size = (int) (b.starts[g + 1] - b.starts[g]);
		int			nx = (size + alternatives - 1) / alternatives;

		for (int i = 0; i < size; i++)
			x.push_back((i * 7 + i / nx) % nx);
		first.push_back(first.back() + nx);
	}
	/* no more alternatives than make 1 */
	for (uint32_t g = 0; g < ngroups; g++)
	{
		std::vector<double> mass(first[g + 1] - first[g]);

		for (uint32_t i = b.starts[g]; i < b.starts[g + 1]; i++)
			if ((mass[x[i]] += b.ranked_p[i]) > 1)
				b.ranked_p[i] = 0;
	}
	groups.ngroups = ngroups;
	groups.starts = upload(b.starts);
	groups.p = upload(b.ranked_p);
	groups.longest = b.longest;
	xs.x = upload(x);
	xs.first = upload(first);
	picks.counts = device<int32_t>(ngroups);
	picks.ranks = device<int32_t>(b.p.size() + (size_t) ngroups * k);
	CUDA(cudaMemset(bad, 0, sizeof(*bad)));

	void	   *scratch = device<char>(gpucol_device_rank_x_scratch(groups, k));

	for (uint32_t ranking = GPUCOL_RANK_U_TOPK; ranking <= GPUCOL_RANK_EXPECTED; ranking++)
	{
		GpucolDeviceRankRanking r = {ranking, k, 0.1};
		uint32_t	wrong = 0;

		picks.stride = ranking == GPUCOL_RANK_PT_K ? 0 : std::max<uint32_t>(k, 1);
		CUDA(gpucol_device_rank_x(groups, xs, r, picks, probability, bad, scratch, 0));
		std::vector<int32_t> counts = download(picks.counts, ngroups);
		std::vector<int32_t> ranks = download(picks.ranks, b.p.size() + (size_t) ngroups * k);
		std::vector<double> chances = download(probability, ngroups);

		for (uint32_t g = 0; g < ngroups; g++)
		{
			GpucolRankInput in = {};
			GpucolRankWork work = {};
			std::vector<char> memory;
			std::vector<int32_t> want(b.starts[g + 1] - b.starts[g] + k);
			int32_t		count;
			double		chance;

			in.n = (int32_t) (b.starts[g + 1] - b.starts[g]);
			in.p = b.ranked_p.data() + b.starts[g];
			in.x = x.data() + b.starts[g];
			in.nx = (int32_t) (first[g + 1] - first[g]);
			memory.resize(gpucol_rank_workspace(&in, k));
			work.memory = memory.data();
			work.size = memory.size();
			gpucol_rank_choose(&in, (GpucolRanking) ranking, k, 0.1, &work, want.data(), &count, &chance);
			wrong += count != counts[g] || fabs(chance - chances[g]) > 1e-12 * chance ||
				(count > 0 && memcmp(want.data(),
									 ranks.data() + (picks.stride ? (size_t) g * picks.stride : b.starts[g]),
									 sizeof(int32_t) * count) != 0);
		}
		if (wrong > 0 || download(bad, 1)[0])
		{
			printf("FAILED: ranking %u with x-tuples, n %d, k %d: %u of %u groups differ, bad %u\n", ranking, n, k, wrong, ngroups, download(bad, 1)[0]);
			failures++;
		}
	}
	for (const void *at : {(const void *) groups.starts, (const void *) groups.p, (const void *) xs.x,
						   (const void *) xs.first,
			(const void *) picks.counts, (const void *) picks.ranks, (const void *) probability,
			(const void *) bad, (const void *) scratch})
		cudaFree((void *) at);
}

/*
 * Rows of few and many scores, labels and x-tuples in ranking order, and then others of
 * the same scores, of which only the ties are sorted.
 */
static void
check_order(uint32_t nrows, uint32_t ngroups, uint64_t scores, uint64_t labels, uint64_t xs,
			GpucolDeviceRankSpread spread = GPUCOL_DEVICE_RANK_INTEGERS)
{
	std::vector<uint32_t> group(nrows),
				want(nrows);
	std::vector<int64_t> score(nrows),
				label(nrows),
				x(nrows);
	std::vector<uint8_t> x_nulls(nrows);
	std::vector<double> p(nrows);
	GpucolDeviceRankRows rows = {};
	size_t		bytes = gpucol_device_rank_sort_scratch(nrows);
	void	   *scratch = device<char>(bytes);
	uint32_t   *starts = device<uint32_t>(ngroups + 1);
	double	   *ranked = device<double>(nrows);
	uint32_t   *first = device<uint32_t>(nrows);
	uint32_t   *row = device<uint32_t>(nrows);

	rows.nrows = nrows;
	rows.ngroups = ngroups;
	rows.spread = spread;
	for (uint32_t i = 0; i < nrows; i++)
	{
		group[i] = (uint32_t) draw(ngroups);
		score[i] = (int64_t) draw(scores) - (int64_t) (scores / 2);
		if (spread == GPUCOL_DEVICE_RANK_DOUBLES)
			score[i] = gpucol_float_order((double) score[i] / 7);
		want[i] = i;
	}
	rows.group = upload(group);
	rows.score = upload(score);
	for (int round = 0; round < 3; round++)
	{
		for (uint32_t i = 0; i < nrows; i++)
		{
			p[i] = draw(3) / 2.0;
			label[i] = (int64_t) draw(labels) - (int64_t) (labels / 2);
			x[i] = (int64_t) draw(xs) - (int64_t) (xs / 2);
			x_nulls[i] = draw(4) == 0;
		}
		rows.probability = upload(p);
		rows.label = upload(label);
		rows.x = round == 1 ? NULL : upload(x);
		rows.x_nulls = round == 1 ? NULL : upload(x_nulls);
		auto		key = [&](uint32_t i) {
			bool		no_x = rows.x == NULL || x_nulls[i];

			return std::make_tuple(group[i], -score[i], -p[i], label[i], rows.x == NULL ? false :
								   (bool) x_nulls[i], no_x ? 0 : x[i]);
		};
		auto		before = [&](uint32_t l, uint32_t r) { return key(l) < key(r); };

		std::sort(want.begin(), want.end(), before);
		CUDA(round == 0 ? gpucol_device_rank_sort(rows, starts, ranked, first, scratch, bytes, 0) :
			 gpucol_device_rank_sort_ties(rows, first, starts, ranked, row, scratch, bytes, 0));
		std::vector<uint32_t> got = download(round == 0 ? first : row, nrows);
		std::vector<double> got_p = download(ranked, nrows);
		std::vector<uint32_t> got_starts = download(starts, ngroups + 1);
		std::vector<bool> seen(nrows);
		bool		ok = got_starts[ngroups] == nrows;

		for (uint32_t i = 0; i < nrows; i++)
		{
			ok = ok && got[i] < nrows && !seen[got[i]] && !before(got[i], want[i]) &&
				!before(want[i], got[i]) && got_p[i] == p[got[i]] &&
				i >= got_starts[group[got[i]]] && i < got_starts[group[got[i]] + 1];
			if (got[i] < nrows)
				seen[got[i]] = true;
		}
		if (!ok)
		{
			printf("FAILED: order of %u rows in %u groups, round %d\n", nrows, ngroups, round);
			failures++;
		}
		for (const void *memory :
			 {(const void *) rows.probability, (const void *) rows.label, (const void *) rows.x,
			  (const void *) rows.x_nulls})
			cudaFree((void *) memory);
	}
	for (const void *memory : {(const void *) rows.group, (const void *) rows.score, (const void *) scratch,
							   (const void *) starts,
			(const void *) ranked, (const void *) first, (const void *) row})
		cudaFree((void *) memory);
}

static void
check_select(uint32_t nrows, uint32_t want)
{
	std::vector<int64_t> score(nrows);
	uint32_t	capacity = std::max(1u << 20, 4 * want);
	uint32_t   *out = device<uint32_t>(capacity);
	uint32_t   *found = device<uint32_t>(1);
	void	   *scratch = device<char>(gpucol_device_rank_select_scratch());

	for (int64_t &s : score)
		s = (int64_t) draw(1ull << 50) - (1ll << 49);
	int64_t    *d = upload(score);

	CUDA(gpucol_device_rank_select(d, nrows, want, out, capacity, found, scratch, 0));
	uint32_t	n = download(found, 1)[0];
	std::vector<uint32_t> got = download(out, std::min(n, capacity));

	std::sort(got.begin(), got.end(), [&](uint32_t l, uint32_t r) { return score[l] > score[r]; });
	std::vector<int64_t> best = score;
	std::partial_sort(best.begin(), best.begin() + std::min(want, nrows), best.end(), std::greater<int64_t>());
	bool		ok = n >= std::min(want, nrows) && n <= capacity;

	for (uint32_t i = 0; ok && i < std::min(want, nrows); i++)
		ok = score[got[i]] == best[i];
	if (!ok)
	{
		printf("FAILED: best %u of %u rows: %u found\n", want, nrows, n);
		failures++;
	}
	for (void *memory : {(void *) out, (void *) found, scratch, (void *) d})
		cudaFree(memory);
}

/* Ranks that differ from the CPU's. */
static void
expect_ranks(const char *what, int n, int k, const std::vector<int32_t> &got, const std::vector<int32_t> &want)
{
	size_t		at = 0;

	if (got == want)
		return;
	while (at < got.size() && at < want.size() && got[at] == want[at])
		at++;
	printf("FAILED: %s of %d rows, k = %d: %zu for %zu ranks, first differs at %zu (%d for %d)\n", what, n, k, got.size(),
		   want.size(), at, at < got.size() ? got[at] : -2, at < want.size() ? want[at] : -2);
	failures++;
}

/* One long group of tiny probabilities by the whole device, each ranking. */
static void
check_split(int n, int k, double scale, double threshold)
{
	std::vector<double> p(n);
	std::vector<char> memory;
	std::vector<int32_t> want(n),
				ranks(k);
	GpucolRankInput in = {};
	GpucolRankWork work = {};
	GpucolDeviceRankSplit group = {};
	void	   *scratch = device<char>(gpucol_device_rank_split_scratch(n, k));
	GpucolDeviceRankSet *set = device<GpucolDeviceRankSet>(1);
	int32_t    *d_ranks = device<int32_t>(n);
	int32_t    *d_count = device<int32_t>(1);
	uint8_t    *d_settled = device<uint8_t>(1);
	double	   *d_figures = device<double>(n);
	double		probability;
	int32_t		count;
	bool		found,
				done;

	for (double &x : p)
		x = scale * draw(100001) / 100000.0;
	in.n = n;
	in.p = p.data();
	memory.resize(gpucol_rank_workspace(&in, k));
	work.memory = memory.data();
	work.size = memory.size();
	group.p = upload(p);
	group.n = n;
	group.k = k;

	CUDA(gpucol_device_rank_split_u_topk(group, set, d_ranks, &done, scratch, 0));
	gpucol_rank_u_topk(&in, k, &work, want.data(), &probability, &found);
	if (!done || !found || fabs(download(set, 1)[0].probability - probability) > 1e-12 * probability)
	{
		printf("FAILED: U-Topk of %d rows split, k = %d: %g for %g\n", n, k, download(set, 1)[0].probability, probability);
		failures++;
	}
	expect_ranks("U-Topk split", n, k, download(d_ranks, k), std::vector<int32_t>(want.begin(), want.begin() + k));
	if ((download(set, 1)[0].horizon >= 0) != work.settled)
		printf("note: U-Topk of %d rows split, k = %d, settled at %d, on the CPU %d\n", n, k, download(set, 1)[0].horizon, work.settled);

	CUDA(gpucol_device_rank_split_u_kranks(group, d_ranks, d_count, d_settled, scratch, 0));
	gpucol_rank_u_kranks(&in, k, &work, want.data(), NULL, &count);
	expect_ranks("U-kRanks split", n, k, download(d_ranks, download(d_count, 1)[0]),
				 std::vector<int32_t>(want.begin(), want.begin() + count));

	CUDA(gpucol_device_rank_split_pt_k(group, threshold, d_ranks, d_count, d_settled, scratch, 0));
	gpucol_rank_pt_k(&in, k, threshold, &work, want.data(), &count);
	expect_ranks("PT-k split", n, k, download(d_ranks, download(d_count, 1)[0]),
				 std::vector<int32_t>(want.begin(), want.begin() + count));

	std::vector<double> figures(n);

	CUDA(gpucol_device_rank_split_global(group, d_figures, d_settled, scratch, 0));
	gpucol_rank_topk_probability(&in, k, &work, figures.data());
	std::vector<double> got = download(d_figures, n);
	long		bad = 0;

	for (int i = 0; i < n; i++)
		bad += p[i] > 0 && figures[i] > 1e-270 && fabs(got[i] - figures[i]) > 1e-10 * figures[i];
	if (bad > 0)
	{
		printf("FAILED: Pr[in the top %d] of %d rows split: %ld differ\n", k, n, bad);
		failures++;
	}
	for (void *at : {scratch, (void *) set, (void *) d_ranks, (void *) d_count, (void *) d_settled,
					 (void *) d_figures, (void *) group.p})
		cudaFree(at);
}

/* Kernels that are given up while they run, or before. */
struct GivenUp
{
	cudaStream_t stream,
				control;
	uint32_t   *word;			/* what kernels look at */
	uint32_t   *one;

	GivenUp()
	{
		CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CUDA(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
		CUDA(cudaHostAlloc(&one, sizeof(*one), 0));
		*one = 1;
		word = device<uint32_t>(1);
	}
	~GivenUp()
	{
		cudaFree(word);
		cudaFreeHost(one);
		cudaStreamDestroy(control);
		cudaStreamDestroy(stream);
	}

	/* Have `launch` begin, and give it up some microseconds later; less than 0: before. */
	void
	run(int64_t us, const std::function<void()> &launch)
	{
		auto		start = std::chrono::steady_clock::now();

		CUDA(cudaMemset(word, us < 0 ? 1 : 0, sizeof(*word)));
		CUDA(cudaDeviceSynchronize());
		launch();
		while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(us))
			;
		CUDA(cudaMemcpyAsync(word, one, sizeof(*word), cudaMemcpyHostToDevice, control));
		CUDA(cudaDeviceSynchronize());
	}
};

/*
 * Whenever groups are given up: the kernels end, what they leave is harmless to those
 * that follow, and U-Topk sets lie within their groups.
 */
static void
check_given_up(uint32_t ngroups, int n, int k, int times)
{
	GivenUp		up;
	Batch		b = make_batch(ngroups, n, k, 0, 0.01);
	OnDevice	d(b, k);
	void	   *scratch = device<char>(gpucol_device_rank_counts_scratch(k));
	GpucolDeviceRankPicks picks = {};
	double	   *figures = device<double>(b.p.size());
	long		bad = 0;

	d.sort();
	d.groups.cancel = up.word;
	picks.ranks = device<int32_t>(std::max(b.p.size(), (size_t) ngroups * k));
	picks.counts = device<int32_t>(ngroups);
	picks.settled = device<uint8_t>(ngroups);
	for (int i = -1; i < times; i++)
	{
		int64_t		us = i < 0 ? -1 : (int64_t) draw(4000);
		std::vector<GpucolDeviceRankSet> sets;
		std::vector<int32_t> ranks;

		CUDA(cudaMemset(d.sets, 0x7f, ngroups * sizeof(*d.sets)));
		up.run(us, [&] {
			CUDA(gpucol_device_rank_heap(d.groups, k, d.sets, d.heap, up.stream));
			CUDA(gpucol_device_rank_members(d.groups, k, d.sets, d.ranks, up.stream));
		});
		sets = download(d.sets, ngroups);
		ranks = download(d.ranks, (size_t) ngroups * k);
		for (uint32_t g = 0; g < ngroups; g++)
			for (int j = 0; j < k; j++)
				bad += sets[g].last >= (int32_t) (b.starts[g + 1] - b.starts[g]) ||
					ranks[(size_t) g * k + j] > sets[g].last;
		picks.stride = k;
		up.run(us, [&] { CUDA(gpucol_device_rank_u_kranks(d.groups, k, picks, scratch, up.stream)); });
		up.run(us, [&] { CUDA(gpucol_device_rank_global(d.groups, k, figures, picks.settled, scratch, up.stream)); });
		picks.stride = 0;
		up.run(us, [&] { CUDA(gpucol_device_rank_pt_k(d.groups, k, 1e-4, picks, scratch, up.stream)); });
	}
	if (bad > 0)
	{
		printf("FAILED: %ld ranks out of their groups, of %u groups that were given up\n", bad, ngroups);
		failures++;
	}
	for (void *at : {scratch, (void *) figures, (void *) picks.ranks, (void *) picks.counts, (void *) picks.settled})
		cudaFree(at);
}

/* The same of one group by the whole device. */
static void
check_split_given_up(int n, int k, double scale, int times)
{
	GivenUp		up;
	std::vector<double> p(n);
	GpucolDeviceRankSplit group = {};
	size_t		size = gpucol_device_rank_split_scratch(n, k);
	void	   *scratch = device<char>(size);
	GpucolDeviceRankSet *set = device<GpucolDeviceRankSet>(1);
	int32_t    *ranks = device<int32_t>(n);
	int32_t    *count = device<int32_t>(1);
	uint8_t    *settled = device<uint8_t>(1);
	double	   *figures = device<double>(n);
	bool		done;

	for (double &x : p)
		x = scale * draw(100001) / 100000.0;
	group.p = upload(p);
	group.n = n;
	group.k = k;
	group.cancel = up.word;
	for (int i = -1; i < times; i++)
	{
		int64_t		us = i < 0 ? -1 : (int64_t) draw(2000);

		CUDA(cudaMemset(set, 0x7f, sizeof(*set)));
		CUDA(cudaMemset(scratch, 0x7f, size));
		up.run(us, [&] { CUDA(gpucol_device_rank_split_u_topk(group, set, ranks, &done, scratch, up.stream)); });
		if (done && download(set, 1)[0].last >= n)
		{
			printf("FAILED: the set of a group that was given up\n");
			failures++;
		}
		up.run(us, [&] { CUDA(gpucol_device_rank_split_u_kranks(group, ranks, count, settled, scratch, up.stream)); });
		up.run(us, [&] { CUDA(gpucol_device_rank_split_pt_k(group, scale / 2, ranks, count, settled, scratch,
															up.stream)); });
		up.run(us, [&] { CUDA(gpucol_device_rank_split_global(group, figures, settled, scratch, up.stream)); });
	}
	for (void *at : {scratch, (void *) set, (void *) ranks, (void *) count, (void *) settled,
					 (void *) figures, (void *) group.p})
		cudaFree(at);
}

static void
check()
{
	check_batch(3000, 30, 5, 0, 1);
	check_batch(3000, 60, 7, 6, 1);
	check_batch(3000, 300, 10, 0, 0.2);
	check_batch(500, 500, 50, 20, 1);
	check_batch(200, 1000, 100, 0, 0.3);
	check_batch(50, 2000, 500, 0, 1);
	check_batch(20, 3000, 1500, 0, 1);
	check_batch(3000, 300, 10, SPREAD, 1);
	check_batch(3000, 300, 10, CROWDED, 1);
	check_batch(1, 200000, 10, SPREAD, 1);
	check_batch(2000, 50, 1, 6, 1, true);
	check_batch(300, 500, 1, 0, 0.5, true);
	check_batch(3, 100000, 20, 5, 0.01);
	check_batch(1, 200000, 100, 0, 1);
	/* more rows of one score than a thread puts into order */
	check_batch(1, 2000000, 10, 1, 1);
	check_batch(7, 60000, 10, 2, 0.001);
	check_batch(2000, 3000, 10, 3, 1);
	check_order(20000, 900, 1 << 20, 5, 3);
	check_order(100000, 3000, 7, 4, 3);
	check_order(300000, 3000, 1ull << 60, 2, 1ull << 60);
	check_order(200000, 1, 3, 1ull << 60, 50);
	check_order(200000, 5, 2, 2, 1ull << 60);
	check_order(300000, 3000, 1ull << 40, 2, 3, GPUCOL_DEVICE_RANK_DOUBLES);
	check_order(300000, 3000, 50, 2, 3, GPUCOL_DEVICE_RANK_DOUBLES);
	check_order(300000, 1, 1ull << 60, 2, 3, GPUCOL_DEVICE_RANK_DOUBLES);
	check_order(300000, 3000, 1ull << 40, 2, 3, GPUCOL_DEVICE_RANK_SKEWED);
	check_x(3000, 14, 3, 2);
	check_x(2000, 60, 5, 4);
	check_x(300, 500, 10, 3);
	check_x(20, 2000, 100, 8);
	check_split(9000, 3, 1e-5, 1e-6);
	check_split(20000, 1, 0.01, 0.001);
	check_split(100000, 10, 1e-4, 9e-5);
	check_split(300000, 33, 1e-3, 5e-4);
	check_split(300000, 100, 1, 0.5);
	check_split(70000, 200, 0.1, 0.05);
	check_split(60000, 500, 0.05, 0.02);
	check_split(60000, 1024, 0.1, 0.02);
	check_given_up(3000, 3000, 10, 8);
	check_given_up(40, 60000, 200, 8);
	check_given_up(20, 30000, 3000, 4);
	check_split_given_up(300000, 33, 1e-3, 8);
	check_split_given_up(3000000, 500, 1e-3, 4);
	check_select(1000, 10);
	check_select(3000000, 100);
	check_select(3000000, 5000);
	printf(failures ? "%d checks FAILED\n" : "all checks passed\n", failures);
}

/*-------------------------------------------------------------------------
 * Measurement
 *-------------------------------------------------------------------------
 */

/* Milliseconds that one core takes for the whole batch; dp over a part. */
static double
cpu_ms(const Batch &b, int k, bool dp)
{
	uint32_t	part = dp ?
		std::max(1u, std::min<uint32_t>(b.ngroups, 40000000u / std::max(1u, b.longest * k))) : b.ngroups;
	std::vector<char> memory(1 << 22);
	std::vector<int32_t> set(k);
	GpucolRankWork work = {};
	double		sum = 0;
	auto		start = std::chrono::steady_clock::now();

	work.memory = memory.data();
	work.size = memory.size();
	for (uint32_t g = 0; g < part; g++)
	{
		GpucolRankInput in = {};
		double		probability;
		bool		found;

		in.n = (int32_t) (b.starts[g + 1] - b.starts[g]);
		in.p = b.ranked_p.data() + b.starts[g];
		if (dp)
			gpucol_rank_u_topk_dp(&in, b.own_k(g, k), &work, set.data(), &probability, &found);
		else
			gpucol_rank_u_topk(&in, b.own_k(g, k), &work, set.data(), &probability, &found);
		sum += probability;
	}
	double		ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

	return sum < 0 ? 0 : ms * b.ngroups / part;
}

/* k = 0: a random k for each group. */
static void
bench_batch(int n, int k)
{
	Batch		b = make_batch(100000, n, std::max(k, 1), 0, 1);
	char		shown[16] = "random";

	if (k > 0)
		snprintf(shown, sizeof(shown), "%d", k);
	else
		b.draw_k();
	k = k > 0 ? k : n;

	OnDevice	d(b, k);
	size_t		rows = b.p.size();
	char	   *pinned;
	double		ms[6];

	CUDA(cudaMallocHost(&pinned, rows * 20 + (size_t) b.ngroups * (k * 4 + sizeof(GpucolDeviceRankSet))));
	ms[0] = cpu_ms(b, k, true);
	ms[1] = cpu_ms(b, k, false);
	d.sort();
	ms[2] = median_ms([&] { d.run_dp(k); });
	ms[3] = median_ms([&] { d.run_heap(k); });
	compare(b, d, k, "heap");
	ms[4] = median_ms([&] { d.sort(); d.run_heap(k); });
	ms[5] = median_ms([&] {
		CUDA(cudaMemcpyAsync((void *) d.rows.group, pinned, rows * 4, cudaMemcpyHostToDevice));
		CUDA(cudaMemcpyAsync((void *) d.rows.score, pinned, rows * 8, cudaMemcpyHostToDevice));
		CUDA(cudaMemcpyAsync((void *) d.rows.probability, pinned, rows * 8, cudaMemcpyHostToDevice));
		CUDA(cudaMemcpyAsync(pinned, d.sets, b.ngroups * sizeof(GpucolDeviceRankSet), cudaMemcpyDeviceToHost));
		CUDA(cudaMemcpyAsync(pinned, d.ranks, (size_t) b.ngroups * k * 4, cudaMemcpyDeviceToHost));
	});
	CUDA(cudaFreeHost(pinned));
	printf("%6d %6s %10zu %11.1f %11.1f %9.3f %9.3f %10.3f %9.3f %9.0f %9.0f\n", n, shown, rows, ms[0], ms[1], ms[2],
		   ms[3], ms[4], ms[4] + ms[5], ms[0] / ms[2], ms[1] / ms[3]);
}

/* Scores and probabilities of one large group, made on the device. */
__global__ void
fill(int64_t *score, double *p, uint32_t n)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
	{
		uint64_t	z = (i + 1) * 0x9e3779b97f4a7c15ull;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
		z ^= z >> 31;
		score[i] = (int64_t) (z >> 20);
		p[i] = (z & 0xfffff) % 1001 / 1000.0;
	}
}

__global__ void
scale(double *p, uint32_t n, double by)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		p[i] *= by;
}

__global__ void
gather_rows(const int64_t *score, const double *p, const uint32_t *rows, uint32_t n, int64_t *out_score,
			double *out_p, int64_t *out_label)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
	{
		out_score[i] = score[rows[i]];
		out_p[i] = p[rows[i]];
		out_label[i] = rows[i];
	}
}

static void
bench_one_group(uint32_t n, int k)
{
	int64_t    *score = device<int64_t>(n);
	double	   *p = device<double>(n);
	uint32_t	capacity = 1 << 20;
	uint32_t   *chosen = device<uint32_t>(capacity);
	uint32_t   *found = device<uint32_t>(1);
	void	   *scratch = device<char>(gpucol_device_rank_select_scratch());
	Batch		small = make_batch(1, 200000, 200000, 0, 1);
	OnDevice	d(small, k);
	uint32_t	kept = 0;
	GpucolDeviceRankSet set;
	double		ms;

	fill<<<1024, 256>>>(score, p, n);
	ms = median_ms([&] {
		CUDA(gpucol_device_rank_select(score, n, 3 * k + 4096, chosen, capacity, found, scratch, 0));
		CUDA(cudaMemcpy(&kept, found, sizeof(kept), cudaMemcpyDeviceToHost));
		kept = std::min(kept, 200000u);
		gather_rows<<<(kept + 255) / 256, 256>>>(score, p, chosen, kept, (int64_t *) d.rows.score,
												 (double *) d.rows.probability, (int64_t *) d.rows.label);
		d.rows.nrows = kept;
		d.rows.group = nullptr;
		d.sort();
		d.run_heap(k);
		CUDA(cudaMemcpy(&set, d.sets, sizeof(set), cudaMemcpyDeviceToHost));
	});
	printf("one group of %u rows, k = %d: %.3f ms; %u rows chosen, settled at rank %d, set ends at %d\n", n, k, ms, kept,
		   set.horizon, set.last);
	if (set.horizon < 0)
		failures++;
}

/* A group in which no row is out of the running: probabilities of 1e-8 and less. */
static void
bench_split(uint32_t n, int k)
{
	int64_t    *score = device<int64_t>(n);
	double	   *p = device<double>(n);
	GpucolDeviceRankSplit group = {p, n, k, NULL};
	void	   *scratch = device<char>(gpucol_device_rank_split_scratch(n, k));
	GpucolDeviceRankSet *set = device<GpucolDeviceRankSet>(1);
	int32_t    *ranks = device<int32_t>(n);
	int32_t    *count = device<int32_t>(1);
	uint8_t    *settled = device<uint8_t>(1);
	double	   *figures = device<double>(n);
	bool		done = false;
	double		ms[4];

	fill<<<1024, 256>>>(score, p, n);
	scale<<<1024, 256>>>(p, n, 1e-8);
	ms[0] = median_ms([&] { CUDA(gpucol_device_rank_split_u_topk(group, set, ranks, &done, scratch, 0)); });
	ms[1] = median_ms([&] { CUDA(gpucol_device_rank_split_u_kranks(group, ranks, count, settled, scratch, 0)); });
	ms[2] = median_ms([&] { CUDA(gpucol_device_rank_split_pt_k(group, 5e-9, ranks, count, settled, scratch, 0)); });
	ms[3] = median_ms([&] { CUDA(gpucol_device_rank_split_global(group, figures, settled, scratch, 0)); });
	printf("one group of %u rows of probability 1e-8 and less, k = %d, split, in ranking order: U-Topk %.3f ms, U-kRanks %.3f ms, PT-k %.3f ms, Pr[in the top k] %.3f ms\n",
		   n, k, ms[0], ms[1], ms[2], ms[3]);
	if (!done)
		failures++;
	for (void *at : {(void *) score, (void *) p, scratch, (void *) set, (void *) ranks, (void *) count,
					 (void *) settled, (void *) figures})
		cudaFree(at);
}

static void
bench()
{
	static const int loads[][2] = {{10, 10}, {50, 10}, {100, 10}, {500, 10}, {50, 50}, {100, 50}, {500, 50}, {500, 500},
	{10, 0}, {50, 0}, {100, 0}, {500, 0}};

	printf("100,000 groups, milliseconds\n%6s %6s %10s %11s %11s %9s %9s %10s %9s %9s %9s\n", "n <=", "k", "rows", "cpu dp",
		   "cpu heap", "dp", "heap", "sort+heap", "+copies", "dp ratio", "heap r.");
	for (auto &load : loads)
		bench_batch(load[0], load[1]);
}

static void
bench_one()
{
	bench_one_group(100000000, 100);
	bench_split(100000000, 10);
	bench_split(100000000, 100);
	bench_split(100000000, 1000);
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "check") == 0)
		check();
	else if (argc == 2 && strcmp(argv[1], "bench") == 0)
	{
		bench();
		bench_one();
	}
	else if (argc == 2 && strcmp(argv[1], "one") == 0)
		bench_one();
	else
	{
		fprintf(stderr, "usage: rank_check check | bench | one\n");
		return 2;
	}
	return failures != 0;
}
