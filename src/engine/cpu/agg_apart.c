/*-------------------------------------------------------------------------
 *
 * agg_apart.c
 *	  Sums of floats of several partitions in one table.
 *
 * Sums of floats are of partitions of the scan's vectors, and are merged in their order
 * (engine/cpu/agg.c).  Where each partition has a table, and there are many groups, nearly
 * every group is found once more for each of them, and merging them finds it again.  With
 * fewer threads than partitions a thread has one table instead.  A group is found there once,
 * and has the states that depend on order for each partition; all others it has once.  In the
 * end a group's states are merged in the same order, so sums are what they are with tables.
 *
 * Where most groups are complete when their vector is (final.c), they would only be larger,
 * and partitions keep their tables.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"

#define MOST_THREADS 2			/* more merge tables as fast */
#define MOST_WORDS 64			/* that a group may have more */

/* Does it depend on the order of rows? */
static bool
is_ordered(const GpucolCpuAcc *acc)
{
	return acc->op == GPUCOL_CPU_ACC_SUM_F || acc->op == GPUCOL_CPU_ACC_SUMSQ_F ||
		acc->op == GPUCOL_CPU_ACC_PRODUCTS;
}

/* Words of the ordered states of one partition, which begin where `to`, by state, says. */
static uint32_t
place_ordered(const GpucolRun *run, uint32_t *to)
{
	uint32_t	words = 0;

	for (int i = 0; i < run->agg.naccs; i++)
		if (is_ordered(&run->agg.accs[i]))
		{
			to[i] = words;
			words += gpucol_cpu_acc_words(run->agg.accs[i].op);
		}
	return words;
}

/* Add the ordered states once more, for a partition whose states begin at `base`. */
static void
add_partition(GpucolRun *run, int naccs, int partition, uint32_t base, const uint32_t *to)
{
	for (int i = 0; i < naccs; i++)
	{
		const GpucolCpuAcc *from = &run->agg.accs[i];
		GpucolCpuAcc *acc = &run->agg.accs[run->agg.naccs];

		if (!is_ordered(from))
			continue;
		*acc = *from;
		acc->partition = partition;
		acc->offset = base + to[i];
		acc->folds_into = from->offset;
		for (int w = 0; w < 2 && from->with[w] != 0; w++)
			for (int other = 0; other < naccs; other++)
				if (run->agg.accs[other].offset == from->offset + (uint32_t) from->with[w])
					acc->with[w] = (int32_t) to[other] - (int32_t) to[i];
		memcpy(run->agg.first_state + acc->offset, run->agg.first_state + from->offset,
			   sizeof(uint64_t) * gpucol_cpu_acc_words(acc->op));
		run->agg.naccs++;
	}
}

GpucolStatus
gpucol_cpu_agg_set_apart(GpucolRun *run)
{
	uint32_t	more = run->window.partitions - 1;
	int			naccs = run->agg.naccs;
	uint64_t   *first_state;
	uint32_t   *to;
	uint32_t	words;

	if (!run->agg.has_float || run->program->nkeys == 0 || run->agg.final != NULL ||
		run->nworkers > MOST_THREADS)
		return GPUCOL_OK;
	to = gpucol_cpu_alloc0(run, sizeof(uint32_t) * (size_t) naccs);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	words = place_ordered(run, to);
	if (words * more > MOST_WORDS)
		return GPUCOL_OK;
	first_state = gpucol_cpu_realloc(run, run->agg.first_state,
									 sizeof(uint64_t) * (run->agg.state_words + words * more));
	if (first_state == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->agg.first_state = first_state;
	for (int i = 0; i < naccs; i++)
		run->agg.accs[i].partition = is_ordered(&run->agg.accs[i]) ? 0 : -1;
	for (uint32_t p = 1; p <= more; p++)
		add_partition(run, naccs, (int) p, run->agg.state_words + words * (p - 1), to);
	run->agg.state_words += words * more;
	run->agg.group_words = run->agg.key_words + run->agg.state_words;
	for (int p = run->nworkers; p < run->agg.nparts; p++)
		gpucol_cpu_group_destroy(run->agg.parts[p]);
	run->agg.nparts = run->nworkers;
	gpucol_cpu_free(run, to);
	return GPUCOL_OK;
}

/* ---- in the end ---- */

/* Merge the states of partitions into those of the first, which results are read from. */
static GpucolStatus
fold_group(const GpucolRun *run, uint64_t *states)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < run->agg.naccs && status == GPUCOL_OK; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];

		if (acc->partition > 0)
			status = gpucol_cpu_acc_merge(acc, states + acc->folds_into, states + acc->offset);
	}
	return status;
}

/* Thread `index` folds its part of every table. */
static void
fold_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	uint32_t	nworkers = (uint32_t) run->nworkers;
	GpucolStatus status = GPUCOL_OK;

	for (int p = 0; p < run->agg.nparts; p++)
	{
		const GpucolCpuGroups *groups = run->agg.parts[p];
		uint32_t	end = (uint32_t) ((uint64_t) groups->n * ((uint32_t) index + 1) / nworkers);

		for (uint32_t g = (uint32_t) ((uint64_t) groups->n * (uint32_t) index / nworkers);
			 g < end && status == GPUCOL_OK; g++)
			status = fold_group(run, groups->states + (size_t) g * run->agg.group_words);
	}
	run->workers[index].status = status;
}

GpucolStatus
gpucol_cpu_agg_fold(GpucolRun *run)
{
	bool		apart = false;

	for (int i = 0; i < run->agg.naccs; i++)
		apart |= run->agg.accs[i].partition > 0;
	if (!apart)
		return GPUCOL_OK;
	gpucol_pool_run(run->nworkers, fold_share, run);
	return gpucol_cpu_workers_status(run);
}
