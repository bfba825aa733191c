/*-------------------------------------------------------------------------
 *
 * ranking_batch.c
 *	  Batches of groups against the same groups sorted whole and ranked one by
 *	  one; one thread and several.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "uncertain/rank_batch.h"

#include "check.h"

#define MAX_ROWS 40000

static GpucolBatchRow rows[MAX_ROWS];
static GpucolBatchRow sorted[MAX_ROWS];
static uint32_t groups[MAX_ROWS];
static double p[MAX_ROWS];
static int32_t x[MAX_ROWS];
static int32_t picks[MAX_ROWS];

static uint32_t
draw(uint32_t below)
{
	return (uint32_t) (check_random() % below);
}

static int
row_cmp(const void *l, const void *r)
{
	const GpucolBatchRow *a = l;
	const GpucolBatchRow *b = r;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->p != b->p)
		return a->p > b->p ? -1 : 1;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return 0;
}

/* Labels backwards, to see that the comparison function is used. */
static int
backwards(void *arg, int64_t a, int64_t b)
{
	(*(long *) arg)++;
	return a > b ? -1 : a < b;
}

/* Fill rows[n] of ngroups groups of uneven size. */
static void
draw_rows(int n, uint32_t ngroups, bool has_x, double scale)
{
	for (int i = 0; i < n; i++)
	{
		groups[i] = draw(2) ? draw(ngroups) : draw(1 + ngroups / 8);
		rows[i].score = draw(3) ? (int64_t) draw(1000000) - 500000 : draw(4);
		rows[i].p = scale * draw(1001) / 1000;
		rows[i].label = i;
		rows[i].x = has_x && draw(4) ? (int64_t) draw((uint32_t) n / 3 + 1) << 33 : -1;
	}
}

/* Keep x-tuples' probabilities under 1: scale by how often each occurs. */
static void
tame_x(int n)
{
	for (int i = 0; i < n; i++)
	{
		int			same = 0;

		if (rows[i].x < 0)
			continue;
		for (int j = 0; j < n; j++)
			same += rows[j].x == rows[i].x;
		rows[i].p /= same;
	}
}

/* The answer for one group, from scratch. */
static void
check_group(const GpucolBatch *batch, int n, uint32_t group,
			const GpucolBatchRanking *rankings, int nrankings, bool has_x)
{
	GpucolRankInput in = {.p = p};
	GpucolRankWork work = {0};
	int			m = 0;

	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			sorted[m++] = rows[i];
	CHECK(gpucol_batch_group_rows(batch, group) == m, "rows of group %u", group);
	qsort(sorted, (size_t) m, sizeof(sorted[0]), row_cmp);
	for (int i = 0; i < m; i++)
	{
		p[i] = sorted[i].p;
		x[i] = in.nx++;
		for (int j = 0; has_x && sorted[i].x >= 0 && j < i; j++)
			if (sorted[j].x == sorted[i].x)
			{
				x[i] = x[j];
				in.nx--;
				break;
			}
	}
	in.n = m;
	in.x = has_x ? x : NULL;
	for (int r = 0; r < nrankings && m > 0; r++)
	{
		const GpucolBatchAnswer *got = gpucol_batch_answer(batch, group, r);
		int32_t		k = rankings[r].k;
		int32_t		count = 0;
		double		probability = 0;
		bool		found;

		work.size = gpucol_rank_workspace(&in, k);
		work.memory = malloc(work.size);
		switch (rankings[r].ranking)
		{
			case GPUCOL_RANK_U_TOPK:
				gpucol_rank_u_topk(&in, k, &work, picks, &probability, &found);
				count = found ? k : -1;
				break;
			case GPUCOL_RANK_U_KRANKS:
				gpucol_rank_u_kranks(&in, k, &work, picks, NULL, &count);
				break;
			case GPUCOL_RANK_PT_K:
				gpucol_rank_pt_k(&in, k, rankings[r].threshold, &work, picks, &count);
				break;
			case GPUCOL_RANK_GLOBAL_TOPK:
				gpucol_rank_global_topk(&in, k, &work, picks, &count);
				break;
			case GPUCOL_RANK_EXPECTED:
				gpucol_rank_expected_topk(&in, k, &work, picks, &count);
				break;
		}
		free(work.memory);
		CHECK(got->count == count, "group %u of %d rows, ranking %d, k = %d: %d, not %d",
			  group, m, r, k, got->count, count);
		CHECK(fabs(got->probability - probability) <= 1e-14 * probability,
			  "group %u, ranking %d: %.17g, not %.17g", group, r, got->probability, probability);
		for (int i = 0; i < count && got->count == count; i++)
			CHECK(picks[i] < 0 ? got->nulls[i] == 1 : got->labels[i] == sorted[picks[i]].label,
				  "group %u, ranking %d, place %d", group, r, i);
	}
}

static void
one_batch(int n, uint32_t ngroups, int threads, bool has_x, double scale)
{
	GpucolBatchRanking rankings[6] = {
		{GPUCOL_RANK_U_TOPK, 1 + (int32_t) draw(20), 0},
		{GPUCOL_RANK_U_KRANKS, 1 + (int32_t) draw(20), 0},
		{GPUCOL_RANK_PT_K, 1 + (int32_t) draw(20), 0.1},
		{GPUCOL_RANK_GLOBAL_TOPK, 1 + (int32_t) draw(20), 0},
		{GPUCOL_RANK_EXPECTED, 1 + (int32_t) draw(20), 0},
		{GPUCOL_RANK_U_TOPK, 1 + (int32_t) draw(200), 0},
	};
	GpucolBatchOptions options = {.rankings = rankings,.nrankings = 6,.has_x = has_x,.threads = threads};
	GpucolBatch *batch = gpucol_batch_create(&options);
	GpucolStatus status;

	draw_rows(n, ngroups, has_x, scale);
	if (has_x)
		tame_x(n);
	for (int i = 0; i < n; i += 1000)
		CHECK(gpucol_batch_add(batch, (uint32_t) (n - i < 1000 ? n - i : 1000), groups + i,
							   rows + i) == GPUCOL_OK, "add");
	CHECK(gpucol_batch_prepare(batch, ngroups) == GPUCOL_OK, "prepare");
	while ((status = gpucol_batch_step(batch, 700)) == GPUCOL_OK)
		;
	CHECK(status == GPUCOL_END, "status %d", status);
	for (uint32_t g = 0; g < ngroups; g++)
		check_group(batch, n, g, rankings, 6, has_x);
	gpucol_batch_destroy(batch);
}

/* A sum above 1 is found and named; a limit on memory is kept. */
static void
errors(void)
{
	GpucolBatchRanking ranking = {GPUCOL_RANK_U_TOPK, 1, 0};
	GpucolBatchOptions options = {.rankings = &ranking,.nrankings = 1,.has_x = true,.threads = 1};
	GpucolBatchRow two[2] = {{1, 0.75, 1, 77}, {2, 0.5, 2, 77}};
	uint32_t	group[2] = {0, 0};
	GpucolBatch *batch = gpucol_batch_create(&options);
	int64_t		bad = 0;
	double		mass = 0;

	gpucol_batch_add(batch, 2, group, two);
	gpucol_batch_prepare(batch, 1);
	CHECK(gpucol_batch_step(batch, 1) == GPUCOL_CORRUPT, "mass");
	gpucol_batch_bad_mass(batch, &bad, &mass);
	CHECK(bad == 77 && mass == 1.25, "x-tuple %d, %g", (int) bad, mass);
	gpucol_batch_destroy(batch);

	options.memory_limit = 100000;
	batch = gpucol_batch_create(&options);
	CHECK(gpucol_batch_add(batch, 2, group, two) == GPUCOL_OUT_OF_MEMORY, "limit");
	gpucol_batch_destroy(batch);
}

/* Labels by their own comparison function, called for ties only. */
static void
own_label_order(void)
{
	long		calls = 0;
	GpucolBatchRanking ranking = {GPUCOL_RANK_U_TOPK, 3, 0};
	GpucolBatchOptions options = {.rankings = &ranking,.nrankings = 1,.threads = 1,
	.label_cmp = backwards,.label_arg = &calls};
	GpucolBatch *batch = gpucol_batch_create(&options);
	const GpucolBatchAnswer *answer;

	for (int i = 0; i < 100; i++)
	{
		groups[i] = 0;
		rows[i] = (GpucolBatchRow) {i / 50, 0.9, i, -1};
	}
	gpucol_batch_add(batch, 100, groups, rows);
	gpucol_batch_prepare(batch, 1);
	CHECK(gpucol_batch_step(batch, 1) == GPUCOL_OK, "step");
	answer = gpucol_batch_answer(batch, 0, 0);
	CHECK(answer->count == 3 && answer->labels[0] == 99 && answer->labels[1] == 98 &&
		  answer->labels[2] == 97 && calls > 0, "%d, %ld calls", answer->count, calls);
	gpucol_batch_destroy(batch);
}

/* A k for each group. */
static void
own_k(void)
{
	GpucolBatchRanking rankings[5] = {
		{GPUCOL_RANK_U_TOPK, 0, 0}, {GPUCOL_RANK_U_KRANKS, 0, 0}, {GPUCOL_RANK_PT_K, 0, 0.1},
		{GPUCOL_RANK_GLOBAL_TOPK, 0, 0}, {GPUCOL_RANK_EXPECTED, 0, 0},
	};
	GpucolBatchOptions options = {.rankings = rankings,.nrankings = 5,.threads = 2};
	GpucolBatch *batch = gpucol_batch_create(&options);
	int32_t		k[100];

	draw_rows(3000, 100, false, 1);
	for (int g = 0; g < 100; g++)
		k[g] = 1 + g % 37;
	gpucol_batch_add(batch, 3000, groups, rows);
	gpucol_batch_prepare(batch, 100);
	for (int r = 0; r < 5; r++)
		gpucol_batch_set_k(batch, r, k);
	while (gpucol_batch_step(batch, 500) == GPUCOL_OK)
		;
	for (uint32_t g = 0; g < 100; g++)
	{
		for (int r = 0; r < 5; r++)
			rankings[r].k = k[g];
		check_group(batch, 3000, g, rankings, 5, false);
	}
	gpucol_batch_destroy(batch);
}

int
main(void)
{
	for (int threads = 1; threads <= 3; threads += 2)
	{
		one_batch(3000, 200, threads, false, 1);
		one_batch(3000, 40, threads, false, 0.2);
		one_batch(MAX_ROWS, 3, threads, false, 0.01);
		one_batch(5000, 1, threads, false, 1);
		one_batch(1500, 60, threads, true, 0.9);
		one_batch(600, 1, threads, true, 0.9);
		one_batch(0, 1, threads, false, 1);
		one_batch(10, 500, threads, false, 1);
	}
	errors();
	own_label_order();
	own_k();
	return check_summary("ranking_batch");
}
