/*-------------------------------------------------------------------------
 *
 * topk.c
 *	  U-Topk over many small groups, the batch of Chang et al.: every group has a
 *	  random number of tuples up to a bound, at least k, with probabilities
 *	  uniform in [0, 1] in steps of 0.001.
 *
 * Load: per line, groups of up to n tuples and a k (0: random in [1, n]).
 * Columns, in microseconds a group, the median of three runs:
 *	  dp		dynamic programming, tuples already in ranking order, one core
 *	  heap		heap and product tree with early termination, the same input
 *	  batch 1	gpucol_batch: rows in random order are grouped, sorted as far as
 *				needed and ranked, one thread
 *	  batch T	the same with T threads
 * Expected: heap beats dp by an order of magnitude and more as k grows; batch
 * is dominated by gathering and sorting.
 *
 * Usage: topk [groups [threads]]
 *
 *-------------------------------------------------------------------------
 */
#include "ranking/cpu/rank_batch.h"

#include "bench.h"
#include "rank_reference.h"

typedef struct Load
{
	uint32_t	ngroups;
	int64_t		nrows;
	int64_t    *starts;			/* [ngroups + 1] */
	int32_t    *k;				/* [ngroups] */
	double	   *p;				/* in ranking order, group after group */
	GpucolBatchRow *rows;		/* the same in random order */
	uint32_t   *groups;
} Load;

static uint32_t
draw(uint32_t below)
{
	return (uint32_t) (bench_random() % below);
}

static void
make_load(Load *l, uint32_t ngroups, int32_t n, int32_t k)
{
	l->ngroups = ngroups;
	l->starts = calloc(ngroups + 1, sizeof(int64_t));
	l->k = calloc(ngroups, sizeof(int32_t));
	for (uint32_t g = 0; g < ngroups; g++)
	{
		int32_t		size = k < n ? k + (int32_t) draw((uint32_t) (n - k + 1)) : n;

		if (size == 0)
			size = 1;
		l->starts[g + 1] = l->starts[g] + size;
		l->k[g] = k > 0 ? k : 1 + (int32_t) draw((uint32_t) size);
	}
	l->nrows = l->starts[ngroups];
	l->p = malloc(sizeof(double) * (size_t) l->nrows);
	l->rows = malloc(sizeof(GpucolBatchRow) * (size_t) l->nrows);
	l->groups = malloc(sizeof(uint32_t) * (size_t) l->nrows);
	for (uint32_t g = 0; g < ngroups; g++)
		for (int64_t i = l->starts[g]; i < l->starts[g + 1]; i++)
		{
			l->p[i] = draw(1001) / 1000.0;
			l->rows[i] = (GpucolBatchRow) {l->starts[g + 1] - i, l->p[i], i, -1};
			l->groups[i] = g;
		}
	for (int64_t i = l->nrows - 1; i > 0; i--)
	{
		int64_t		j = (int64_t) draw((uint32_t) i + 1);
		GpucolBatchRow row = l->rows[i];
		uint32_t	g = l->groups[i];

		l->rows[i] = l->rows[j];
		l->rows[j] = row;
		l->groups[i] = l->groups[j];
		l->groups[j] = g;
	}
}

static void
free_load(Load *l)
{
	free(l->starts);
	free(l->k);
	free(l->p);
	free(l->rows);
	free(l->groups);
}

/* One algorithm over groups in ranking order: seconds a group. */
static double
one_by_one(const Load *l, bool dp, double *sum)
{
	uint32_t	ngroups = dp && l->nrows / l->ngroups * l->k[0] > 2000 ? l->ngroups / 50 : l->ngroups;
	size_t		size = 1 << 20;
	GpucolRankWork work = {.memory = malloc(size),.size = size};
	int32_t    *set = malloc(sizeof(int32_t) * 1024);
	double		start = bench_now();

	*sum = 0;
	for (uint32_t g = 0; g < ngroups; g++)
	{
		GpucolRankInput in = {.n = (int32_t) (l->starts[g + 1] - l->starts[g]),
		.p = l->p + l->starts[g]};
		double		probability;
		bool		found;

		if (dp)
			gpucol_rank_u_topk_dp(&in, l->k[g], &work, set, &probability, &found);
		else
			gpucol_rank_u_topk(&in, l->k[g], &work, set, &probability, &found);
		*sum += probability;
	}
	start = bench_now() - start;
	free(work.memory);
	free(set);
	return start / ngroups;
}

/* The whole batch from unordered rows; all groups have the first one's k. */
static double
batch(const Load *l, int threads)
{
	GpucolBatchRanking ranking = {GPUCOL_RANK_U_TOPK, l->k[0], 0};
	GpucolBatchOptions options = {.rankings = &ranking,.nrankings = 1,.threads = threads};
	double		start = bench_now();
	GpucolBatch *b = gpucol_batch_create(&options);

	for (int64_t i = 0; i < l->nrows; i += 1024)
		gpucol_batch_add(b, (uint32_t) (l->nrows - i < 1024 ? l->nrows - i : 1024), l->groups + i, l->rows + i);
	gpucol_batch_prepare(b, l->ngroups);
	while (gpucol_batch_step(b, 1000000) == GPUCOL_OK)
		;
	start = bench_now() - start;
	gpucol_batch_destroy(b);
	return start / l->ngroups;
}

int
main(int argc, char **argv)
{
	static const int32_t loads[][2] = {
		{10, 10}, {50, 10}, {100, 10}, {500, 10}, {50, 50}, {100, 50}, {500, 50}, {500, 500},
		{10, 0}, {50, 0}, {100, 0}, {500, 0}
	};
	uint32_t	ngroups = argc > 1 ? (uint32_t) atoi(argv[1]) : 100000;
	int			threads = argc > 2 ? atoi(argv[2]) : 2;

	printf("%u groups, microseconds a group\n", ngroups);
	printf("%5s %5s %10s %10s %10s %10s %8s\n", "n <=", "k", "dp", "heap", "batch 1", "batch T", "dp/heap");
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
	{
		Load		l;
		double		t[4][3] = {{0}};
		double		sum[2];

		make_load(&l, ngroups, loads[i][0], loads[i][1]);
		for (int r = 0; r < 3; r++)
		{
			t[0][r] = one_by_one(&l, true, &sum[0]);
			t[1][r] = one_by_one(&l, false, &sum[1]);
			if (loads[i][1] > 0)
			{
				t[2][r] = batch(&l, 1);
				t[3][r] = batch(&l, threads);
			}
		}
		for (int c = 0; c < 4; c++)
			qsort(t[c], 3, sizeof(double), bench_compare);
		printf("%5d %5d %10.2f %10.2f %10.2f %10.2f %8.1f\n", loads[i][0], loads[i][1],
			   1e6 * t[0][1], 1e6 * t[1][1], 1e6 * t[2][1], 1e6 * t[3][1],
			   t[0][1] / t[1][1]);
		fflush(stdout);
		free_load(&l);
	}
	return 0;
}
