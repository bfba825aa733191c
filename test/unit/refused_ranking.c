/*-------------------------------------------------------------------------
 *
 * refused_ranking.c
 *	  Rankings where memory or threads are refused: rows collected by several threads,
 *	  grouped by integers or by several keys, with alternatives, and ranked.
 *
 *-------------------------------------------------------------------------
 */
#include "refuse.h"

#include "ranking/cpu/rank_batch.h"
#include "ranking/cpu/rank_collect.h"

#define ROWS	12000
#define PART	500				/* rows that are taken together */
#define THREADS	3

/* Outputs: two keys, score, probability, label, alternatives. */
enum
{
	KEY, NAME, SCORE, P, LABEL, X, NOUTPUTS
};

static int64_t ints[NOUTPUTS][ROWS];
static double floats[NOUTPUTS][ROWS];
static GpucolBytes strings[NOUTPUTS][ROWS];

typedef struct Ranking
{
	int			nkeys;
	const uint8_t *classes;
	GpucolCollectSet set;
} Ranking;

static const uint8_t classes[NOUTPUTS] = {
	GPUCOL_CLASS_I, GPUCOL_CLASS_S, GPUCOL_CLASS_I, GPUCOL_CLASS_F, GPUCOL_CLASS_I, GPUCOL_CLASS_I
};

static GpucolStatus
take_rows(GpucolCollect *collect)
{
	GpucolStatus status = GPUCOL_OK;

	for (int from = 0; from < ROWS && status == GPUCOL_OK; from += PART)
	{
		GpucolResultColumn columns[NOUTPUTS];
		GpucolResult rows = {.nrows = PART,.columns = columns};

		for (int c = 0; c < NOUTPUTS; c++)
			columns[c] = (GpucolResultColumn)
		{
			.cls = classes[c],.i = ints[c] + from,.f = floats[c] + from,.s = strings[c] + from
		};
		status = gpucol_collect_take(collect, from / PART % THREADS, (uint64_t) from, &rows);
	}
	return status;
}

/* Rank all groups; the answers as one number, whatever the groups' order. */
static GpucolStatus
rank_groups(GpucolCollect *collect, GpucolBatch *batch, uint64_t *answer)
{
	uint32_t	n = gpucol_collect_ngroups(collect);
	uint32_t   *const *group_maps;
	uint32_t   *const *x_maps;
	GpucolStatus status;

	(void) gpucol_collect_rows(collect, 0, &group_maps, &x_maps);
	status = gpucol_batch_prepare(batch, n, group_maps, x_maps);
	while (status == GPUCOL_OK)
		status = gpucol_batch_step(batch, 3000);
	for (uint32_t g = 0; status == GPUCOL_END && g < n; g++)
		for (int r = 0; r < 2; r++)
		{
			const GpucolBatchAnswer *best = gpucol_batch_answer(batch, g, r);

			for (int i = 0; i < best->count; i++)
				*answer += (uint64_t) (best->labels[i] * (i + 1) + r);
		}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

static GpucolStatus
run_ranking(void *arg, uint64_t *answer)
{
	static const GpucolBatchRanking rankings[] = {
		{GPUCOL_RANK_U_TOPK, 3, 0}, {GPUCOL_RANK_GLOBAL_TOPK, 5, 0}
	};
	const Ranking *ranking = arg;
	GpucolBudget memory = {.limit = 0};
	GpucolBatchOptions options = {.rankings = rankings,.nrankings = 2,.threads = THREADS,
	.has_x = ranking->set.x >= 0};
	GpucolCollect *collect = gpucol_collect_create(&memory, THREADS, ranking->nkeys,
												   ranking->classes, 1, &ranking->set);
	GpucolBatch *batch = NULL;
	GpucolCollectError error;
	GpucolStatus status = GPUCOL_OUT_OF_MEMORY;

	*answer = 0;
	if (collect != NULL)
		status = take_rows(collect);
	if (status == GPUCOL_OK)
		status = gpucol_collect_finish(collect, NULL, NULL, &error);
	if (status == GPUCOL_OK)
	{
		uint32_t   *const *group_maps;
		uint32_t   *const *x_maps;

		batch = gpucol_batch_create(&memory, gpucol_collect_rows(collect, 0, &group_maps, &x_maps),
									&options);
		status = batch == NULL ? GPUCOL_OUT_OF_MEMORY : rank_groups(collect, batch, answer);
	}
	gpucol_batch_destroy(batch);
	gpucol_collect_destroy(collect);
	return status;
}

static void
refuse_ranking(const char *name, int nkeys, int x)
{
	Ranking		ranking = {.nkeys = nkeys,.classes = classes,
		.set = {.filter = -1,.score = SCORE,.probability = P,.divisor = 1,.label = LABEL,.x = x}
	};

	refuse_each(name, run_ranking, &ranking);
}

int
main(void)
{
	static char names[40][24];

	for (int i = 0; i < 40; i++)
		snprintf(names[i], sizeof(names[i]), "name %d", i);
	for (int i = 0; i < ROWS; i++)
	{
		uint64_t	x = check_random();
		const char *name = names[x >> 32 & 31];

		ints[KEY][i] = (int64_t) (x % 300);
		strings[NAME][i] = (GpucolBytes) {name, strlen(name)};
		ints[SCORE][i] = (int64_t) (x >> 20 & 0xffff);
		floats[P][i] = (double) (x >> 40 & 0xff) / 2560;
		ints[LABEL][i] = i;
		ints[X][i] = i / 5;
	}
	refuse.threads = true;
	refuse_ranking("without threads", 1, -1);
	refuse.threads = false;
	refuse_ranking("no keys", 0, -1);
	refuse_ranking("numbers", 1, -1);
	refuse_ranking("numbers and names", 2, -1);
	refuse_ranking("alternatives", 1, X);
	return check_summary("refused_ranking");
}
