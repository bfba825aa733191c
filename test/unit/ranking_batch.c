/*-------------------------------------------------------------------------
 *
 * ranking_batch.c
 *	  Batches of groups against the same groups sorted whole and ranked one by
 *	  one; one thread and several.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu/cpu.h"
#include "ranking/cpu/rank_batch.h"

#include "check.h"
#include "rank_reference.h"

static GpucolBudget memory;

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

/* Add all rows, as threads would that draw vectors of the scan. */
static void
add_rows(GpucolRankRows *collected, int stores, int n)
{
	for (int i = 0; i < n; i += 1000)
		CHECK(gpucol_rank_rows_add(collected, (int) draw((uint32_t) stores), (uint64_t) i,
								   (uint32_t) (n - i < 1000 ? n - i : 1000), groups + i,
								   rows + i) == GPUCOL_OK, "add");
}

/* Rows come back by group, in the order of the scan, with the numbers of all stores. */
static void
order_of_rows(int n, uint32_t ngroups, int stores)
{
	GpucolRankRows *collected = gpucol_rank_rows_create(&memory, stores);
	uint32_t   *map = malloc(sizeof(uint32_t) * ngroups);
	uint32_t   *names = malloc(sizeof(uint32_t) * 1000);
	uint32_t  **maps = malloc(sizeof(void *) * (size_t) stores);
	uint32_t  **x_maps = malloc(sizeof(void *) * (size_t) stores);
	GpucolRankOrder how = {.group_maps = maps,.x_maps = x_maps};
	GpucolBatchRow *got = malloc(sizeof(GpucolBatchRow) * (size_t) (n + 1));

	draw_rows(n, ngroups, false, 1);
	for (int i = 0; i < n; i++)
		rows[i].x = draw(2) ? i : GPUCOL_BATCH_X_NAME + i % 1000;
	for (uint32_t g = 0; g < ngroups; g++)
		map[g] = ngroups - 1 - g;
	for (uint32_t i = 0; i < 1000; i++)
		names[i] = i ^ 1;
	for (int t = 0; t < stores; t++)
	{
		maps[t] = map;
		x_maps[t] = names;
	}
	add_rows(collected, stores, n);
	CHECK(gpucol_rank_rows_order(collected, ngroups, &how) == GPUCOL_OK, "order");
	for (uint32_t g = 0; g < ngroups; g++)
	{
		int64_t		m = gpucol_rank_rows_before(collected, g + 1) - gpucol_rank_rows_before(collected, g);
		int64_t		at = 0;

		gpucol_rank_rows_gather(collected, g, got);
		for (int i = 0; i < n && at < m; i++)
		{
			int64_t		x = rows[i].x;

			if (groups[i] != ngroups - 1 - g)
				continue;
			if (x >= GPUCOL_BATCH_X_NAME)
				x = GPUCOL_BATCH_X_NAME + ((x - GPUCOL_BATCH_X_NAME) ^ 1);
			CHECK(got[at].label == rows[i].label && got[at].x == x, "row %d of group %u", i, g);
			at++;
		}
		CHECK(at == m, "group %u has %d rows", g, (int) m);
	}
	gpucol_rank_rows_destroy(collected);
	free(map);
	free(names);
	free(maps);
	free(x_maps);
	free(got);
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
	GpucolRankRows *collected = gpucol_rank_rows_create(&memory, threads);
	GpucolBatch *batch = gpucol_batch_create(&memory, collected, &options);
	GpucolStatus status;

	draw_rows(n, ngroups, has_x, scale);
	if (has_x)
		tame_x(n);
	add_rows(collected, threads, n);
	CHECK(gpucol_batch_prepare(batch, ngroups, NULL, NULL) == GPUCOL_OK, "prepare");
	while ((status = gpucol_batch_step(batch, 700)) == GPUCOL_OK)
		;
	CHECK(status == GPUCOL_END, "status %d", status);
	for (uint32_t g = 0; g < ngroups; g++)
		check_group(batch, n, g, rankings, 6, has_x);
	gpucol_batch_destroy(batch);
	gpucol_rank_rows_destroy(collected);
}

/* A sum above 1 is found and named; a limit on memory is kept. */
static void
errors(void)
{
	GpucolBatchRanking ranking = {GPUCOL_RANK_U_TOPK, 1, 0};
	GpucolBatchOptions options = {.rankings = &ranking,.nrankings = 1,.has_x = true,.threads = 1};
	GpucolBatchRow two[2] = {{1, 0.75, 1, 77}, {2, 0.5, 2, 77}};
	uint32_t	group[2] = {0, 0};
	GpucolRankRows *collected = gpucol_rank_rows_create(&memory, 1);
	GpucolBatch *batch = gpucol_batch_create(&memory, collected, &options);
	GpucolBudget little = {.limit = 100000};
	int64_t		bad = 0;
	double		mass = 0;

	gpucol_rank_rows_add(collected, 0, 0, 2, group, two);
	gpucol_batch_prepare(batch, 1, NULL, NULL);
	CHECK(gpucol_batch_step(batch, 1) == GPUCOL_CORRUPT, "mass");
	gpucol_batch_bad_mass(batch, &bad, &mass);
	CHECK(bad == 77 && mass == 1.25, "x-tuple %d, %g", (int) bad, mass);
	gpucol_batch_destroy(batch);
	gpucol_rank_rows_destroy(collected);

	collected = gpucol_rank_rows_create(&little, 1);
	CHECK(gpucol_rank_rows_add(collected, 0, 0, 2, group, two) == GPUCOL_OUT_OF_MEMORY, "limit");
	gpucol_rank_rows_destroy(collected);
}

/*
 * Labels by their own comparison function, called for ties only; by one thread only
 * if it must be, which the batch says when it needs it.
 */
static void
own_label_order(bool alone, bool ties)
{
	long		calls = 0;
	GpucolBatchRanking ranking = {GPUCOL_RANK_U_TOPK, 3, 0};
	GpucolBatchOptions options = {.rankings = &ranking,.nrankings = 1,.threads = alone ? 3 : 1,
	.label_cmp = backwards,.label_alone = alone,.cmp_arg = &calls};
	GpucolRankRows *collected = gpucol_rank_rows_create(&memory, 1);
	GpucolBatch *batch = gpucol_batch_create(&memory, collected, &options);
	const GpucolBatchAnswer *answer;

	for (int i = 0; i < 100; i++)
	{
		groups[i] = 0;
		rows[i] = (GpucolBatchRow) {ties ? i / 50 : i, 0.9, i, -1};
	}
	gpucol_rank_rows_add(collected, 0, 0, 100, groups, rows);
	gpucol_batch_prepare(batch, 1, NULL, NULL);
	if (alone && ties)
	{
		CHECK(gpucol_batch_step(batch, 1) == GPUCOL_UNSUPPORTED && calls == 0, "%ld calls", calls);
		gpucol_batch_rank_alone(batch);
	}
	CHECK(gpucol_batch_step(batch, 1) == GPUCOL_OK, "step");
	answer = gpucol_batch_answer(batch, 0, 0);
	CHECK(answer->count == 3 && answer->labels[0] == 99 && answer->labels[1] == 98 &&
		  answer->labels[2] == 97 && (calls > 0) == ties, "%d, %ld calls", answer->count, calls);
	gpucol_batch_destroy(batch);
	gpucol_rank_rows_destroy(collected);
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
	GpucolRankRows *collected = gpucol_rank_rows_create(&memory, 2);
	GpucolBatch *batch = gpucol_batch_create(&memory, collected, &options);
	int32_t		k[100];

	draw_rows(3000, 100, false, 1);
	for (int g = 0; g < 100; g++)
		k[g] = 1 + g % 37;
	add_rows(collected, 2, 3000);
	gpucol_batch_prepare(batch, 100, NULL, NULL);
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
	gpucol_rank_rows_destroy(collected);
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
	for (int stores = 1; stores <= 4; stores++)
	{
		order_of_rows(MAX_ROWS, 7, stores);
		order_of_rows(3000, 900, stores);
		order_of_rows(0, 3, stores);
	}
	errors();
	own_label_order(false, true);
	own_label_order(true, true);
	own_label_order(true, false);
	own_k();
	return check_summary("ranking_batch");
}
