/*-------------------------------------------------------------------------
 *
 * agg_drain.c
 *	  Tables of threads that have become large, drained into tables by key.
 *
 * Aggregation in two phases.  A thread's table takes its rows without asking other threads,
 * and sums up what comes often; but where there are many groups, every thread would have a
 * copy of most of them.  So a table has room for some only.  A thread whose table is full
 * stops before its next vector, and all threads drain all tables: groups are dealt by the
 * hash of their keys to PARTITIONS tables that belong to nobody, and whole partitions to
 * threads, which merge into each what all tables have of it.  The threads' tables are empty
 * then.  From then on all together never have room for more groups than the tables by key have, or a number
 * that is small: memory does not grow with the number of threads.
 *
 * Where nearly every row is a group of its own, a look into the thread's table before another
 * into the one by key gains nothing: rows are added to it as groups then (foresee).  A key
 * that many rows have is never sent to one thread row by row, since its rows are no such.  Pairs of sets
 * are listed so where most rows have one of their own, and told apart in the tables by key alone, whose
 * partitions are small enough for a processor's cache; threads' tables with sets are drained early for that.
 *
 * In the end what is left is drained, too, and the tables by key are delivered: nothing is
 * merged by one thread.  Pairs of sets of distinct values go with their groups.  Scores of
 * strings in the midst of a segment become strings before (engine/cpu/extreme.c).
 *
 * Not with sums of floats, whose tables are of vectors, not of threads: merging parts of
 * them sooner or later would change sums.  Nor where groups were settled for (first.c).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "kernel/bytes_order.h"

#define PARTITIONS	128
#define LOCAL_ITEMS	(UINT32_C(1) << 19)	/* room of all threads' tables where they may have all groups, */
#define LISTED_ITEMS	(4 * LOCAL_ITEMS)	/* or list pairs, whose groups come again in each drain, */
#define CACHED_BYTES	(1024 * 1024)	/* else of one */
#define LEAST_ROOM	1024				/* however short memory is */
#define FEW_THREADS	4					/* whose tables may be more than a quarter of memory */
#define SEVERAL		8
#define BYTES_PER_ITEM	24				/* to find one */

/* Numbers of a table's items, partition after partition. */
typedef struct Dealt
{
	uint32_t   *items;
	uint32_t	first[PARTITIONS + 1];	/* of each partition; and the end */
} Dealt;

/* A thread's table. */
typedef struct Local
{
	uint8_t    *partition;		/* by group */
	uint32_t   *ids;			/* by group, in the table that it went to; where there are sets */
	Dealt		groups;
	Dealt	   *pairs;			/* by set: slots */
} Local;

typedef struct Drain
{
	GpucolRun  *run;
	Local	   *locals;
	_Atomic int next;			/* partition */
	GpucolStatus *status;		/* by thread */
} Drain;

/* ---- room ---- */

/* Groups and pairs of some tables. */
static uint64_t
items_of(GpucolCpuGroups *const *tables, int n)
{
	uint64_t	items = 0;

	for (int i = 0; i < n; i++)
		items += gpucol_cpu_group_items(tables[i]);
	return items;
}

/* Groups of some tables. */
static uint64_t
groups_of(GpucolCpuGroups *const *tables, int n)
{
	uint64_t	groups = 0;

	for (int i = 0; i < n; i++)
		groups += tables[i]->n;
	return groups;
}

/* Pairs of sets of some tables. */
static uint64_t
pairs_of(const GpucolRun *run, GpucolCpuGroups *const *tables, int n)
{
	uint64_t	pairs = 0;

	for (int i = 0; i < n; i++)
		for (int s = 0; s < run->agg.ndistinct; s++)
			pairs += tables[i]->sets[s].n;
	return pairs;
}

/* May the tables be drained at all? */
static bool
may_drain(const GpucolRun *run)
{
	return run->nworkers > 1 && run->program->nkeys > 0 && !run->agg.has_float && run->agg.settled == NULL;
}

/*
 * Give the threads' tables room.  Before anything is drained: what memory allows, as draining costs a
 * second look-up of each group; a drain needs room for as many groups again.  After that: as much as the
 * tables by key have where groups do not come again anyway; for all groups where that takes little; else
 * what a processor's cache holds.
 */
static void
set_room(GpucolRun *run)
{
	uint64_t	nworkers = (uint64_t) run->nworkers;
	uint64_t	bytes = sizeof(uint64_t) * run->agg.group_words + BYTES_PER_ITEM;
	uint64_t	keyed = items_of(run->agg.keyed, run->agg.nkeyed);
	uint64_t	left = gpucol_budget_left(&run->mem.budget);
	bool		begun = run->agg.keyed != NULL;
	uint64_t	share = !begun && nworkers <= FEW_THREADS ? left / 5 * 2 : left / 4;
	uint64_t	most = share / bytes / nworkers;
	uint64_t	room = CACHED_BYTES / bytes;

	if (!begun)
		room = run->agg.ndistinct == 0 ? most : LOCAL_ITEMS / nworkers;
	else if (run->agg.lists)
		room = (keyed > LISTED_ITEMS ? keyed : LISTED_ITEMS) / nworkers;
	else if (run->agg.appends || run->agg.disjoint)
		room = (keyed > LOCAL_ITEMS ? keyed : LOCAL_ITEMS) / nworkers;
	else if (keyed * nworkers <= LOCAL_ITEMS && room < LOCAL_ITEMS / nworkers)
		room = LOCAL_ITEMS / nworkers;
	if (room > most)
		room = most;
	if (room < LEAST_ROOM)
		room = LEAST_ROOM;
	run->agg.room = room > UINT32_MAX ? UINT32_MAX : (uint32_t) room;
}

/*
 * After a drain of `drained` groups of so many rows, of which `fresh` were new: which groups do the
 * next rows have?  Where most rows were groups of their own, rows are not looked up in the threads'
 * tables but added, one drain in SEVERAL left out, which looks again; so are their `pairs` of sets.
 */
static void
foresee(GpucolRun *run, uint64_t rows, uint64_t drained, uint64_t fresh, uint64_t pairs)
{
	uint64_t	most = rows * (uint64_t) run->agg.ndistinct;

	if (run->agg.lists)
		run->agg.lists = run->stats.reduction.drained % SEVERAL != 0;
	else
		run->agg.lists = run->agg.ndistinct > 0 && pairs >= most - most / 8;
	for (int p = 0; p < run->agg.nparts; p++)
		gpucol_cpu_group_set_lists(run->agg.parts[p], run->agg.lists);
	run->agg.disjoint = fresh >= drained - drained / 8;
	if (run->agg.appends)
		run->agg.appends = run->stats.reduction.drained % SEVERAL != 0;
	else
		run->agg.appends = run->agg.ndistinct == 0 && run->agg.nextremes == 0 && drained >= rows - rows / 8;
}

void
gpucol_cpu_drain_init(GpucolRun *run)
{
	if (may_drain(run))
		set_room(run);
}

/* ---- dealing ---- */

/*
 * Deal n items, of which `of` says the partition; PARTITIONS is none.
 */
static GpucolStatus
deal_items(GpucolRun *run, Dealt *dealt, uint64_t n, uint32_t (*of) (const void *arg, uint64_t item), const void *arg)
{
	uint32_t	next[PARTITIONS + 1];

	memset(dealt->first, 0, sizeof(dealt->first));
	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t	p = of(arg, i);

		if (p < PARTITIONS)
			dealt->first[p + 1]++;
	}
	for (int p = 0; p < PARTITIONS; p++)
	{
		dealt->first[p + 1] += dealt->first[p];
		next[p] = dealt->first[p];
	}
	dealt->items = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) dealt->first[PARTITIONS] + 1));
	if (dealt->items == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t	p = of(arg, i);

		if (p < PARTITIONS)
			dealt->items[next[p]++] = (uint32_t) i;
	}
	return GPUCOL_OK;
}

static uint32_t
partition_of_group(const void *arg, uint64_t group)
{
	return ((const uint8_t *) arg)[group];
}

/* A set, and where the groups of its table go. */
typedef struct Pairs
{
	const GpucolCpuSet *set;
	const uint8_t *partition;
} Pairs;

static uint32_t
partition_of_pair(const void *arg, uint64_t slot)
{
	const Pairs *pairs = arg;
	uint64_t	group = pairs->set->slots[2 * slot];

	return group == 0 ? PARTITIONS : pairs->partition[group - 1];
}

static GpucolStatus
deal_table(GpucolRun *run, const GpucolCpuGroups *groups, Local *local)
{
	GpucolStatus status;

	local->partition = gpucol_cpu_alloc(run, (size_t) groups->n + 1);
	if (run->agg.ndistinct > 0)
	{
		local->ids = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) groups->n + 1));
		local->pairs = gpucol_cpu_alloc0(run, sizeof(Dealt) * (size_t) run->agg.ndistinct);
	}
	if (local->partition == NULL || (run->agg.ndistinct > 0 && (local->ids == NULL || local->pairs == NULL)))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t g = 0; g < groups->n; g++)
		local->partition[g] = gpucol_cpu_group_hash(run, groups->keys + (size_t) g * run->agg.group_words) % PARTITIONS;
	status = deal_items(run, &local->groups, groups->n, partition_of_group, local->partition);
	for (int s = 0; s < run->agg.ndistinct && status == GPUCOL_OK; s++)
	{
		Pairs		pairs = {&groups->sets[s], local->partition};

		status = deal_items(run, &local->pairs[s], groups->lists ? pairs.set->n : pairs.set->nslots,
							partition_of_pair, &pairs);
	}
	return status;
}

/* Thread `index` deals its table's items. */
static void
deal_share(void *arg, int index)
{
	Drain	   *drain = arg;

	drain->status[index] = deal_table(drain->run, drain->run->agg.parts[index], &drain->locals[index]);
}

/* ---- merging ---- */

/* Merge what a thread's table has of a partition. */
static GpucolStatus
merge_local(Drain *drain, int table, int partition, GpucolCpuWorker *worker)
{
	GpucolRun  *run = drain->run;
	const Local *local = &drain->locals[table];
	GpucolCpuMerge merge = {run, run->agg.keyed[partition], run->agg.parts[table], local->ids};
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t i = local->groups.first[partition]; i < local->groups.first[partition + 1] && status == GPUCOL_OK;
		 i += GPUCOL_VECTOR_VALUES)
	{
		uint32_t	left = local->groups.first[partition + 1] - i;

		status = gpucol_cpu_merge_some(&merge, worker, local->groups.items + i,
									   left < GPUCOL_VECTOR_VALUES ? left : GPUCOL_VECTOR_VALUES);
	}
	for (int a = 0; a < run->agg.naccs && status == GPUCOL_OK; a++)
		if (run->agg.accs[a].op == GPUCOL_CPU_ACC_DISTINCT)
		{
			const Dealt *pairs = &local->pairs[run->agg.accs[a].distinct];

			status = gpucol_cpu_merge_set(&merge, &run->agg.accs[a], pairs->items + pairs->first[partition],
										  pairs->first[partition + 1] - pairs->first[partition]);
		}
	return status;
}

/* Merge whole partitions, until there is none left. */
static void
merge_share(void *arg, int index)
{
	Drain	   *drain = arg;
	GpucolRun  *run = drain->run;
	int			p;

	while (drain->status[index] == GPUCOL_OK && (p = atomic_fetch_add(&drain->next, 1)) < PARTITIONS)
		for (int t = 0; t < run->agg.nparts && drain->status[index] == GPUCOL_OK; t++)
			drain->status[index] = merge_local(drain, t, p, &run->workers[index]);
}

static void
clear_share(void *arg, int index)
{
	const Drain *drain = arg;

	gpucol_cpu_group_clear(drain->run->agg.parts[index]);
}

/* ---- all of it ---- */

/* The tables by key, empty. */
static GpucolStatus
open_keyed(GpucolRun *run)
{
	GpucolCpuGroups **tables = gpucol_cpu_alloc0(run, sizeof(GpucolCpuGroups *) * PARTITIONS);

	if (tables == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int p = 0; p < PARTITIONS; p++)
	{
		tables[p] = gpucol_cpu_group_create(run);
		if (tables[p] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		tables[p]->by_hash = true;
	}
	run->agg.keyed = tables;
	run->agg.nkeyed = PARTITIONS;
	return GPUCOL_OK;
}

/* Do some strings' order have to be asked of the host, which the main thread alone may? */
static bool
asks_host(const GpucolRun *run)
{
	for (int a = 0; a < run->agg.naccs; a++)
		if (gpucol_cpu_extreme_is(&run->agg.accs[a]) && gpucol_order_is_host(run->agg.accs[a].order))
			return true;
	return false;
}

static void
close_drain(Drain *drain)
{
	GpucolRun  *run = drain->run;

	for (int t = 0; drain->locals != NULL && t < run->agg.nparts; t++)
	{
		Local	   *local = &drain->locals[t];

		for (int s = 0; local->pairs != NULL && s < run->agg.ndistinct; s++)
			gpucol_cpu_free(run, local->pairs[s].items);
		gpucol_cpu_free(run, local->pairs);
		gpucol_cpu_free(run, local->groups.items);
		gpucol_cpu_free(run, local->ids);
		gpucol_cpu_free(run, local->partition);
	}
	gpucol_cpu_free(run, drain->locals);
	gpucol_cpu_free(run, drain->status);
}

/* The status of the threads. */
static GpucolStatus
drain_status(const Drain *drain)
{
	for (int w = 0; w < drain->run->nworkers; w++)
		if (drain->status[w] != GPUCOL_OK)
			return drain->status[w];
	return GPUCOL_OK;
}

static GpucolStatus
do_drain(Drain *drain)
{
	GpucolRun  *run = drain->run;
	GpucolStatus status = run->agg.keyed == NULL ? open_keyed(run) : GPUCOL_OK;

	if (status == GPUCOL_OK && run->agg.nextremes > 0 && run->input.in_segment)
		status = gpucol_cpu_extreme_close(run);
	drain->locals = gpucol_cpu_alloc0(run, sizeof(Local) * (size_t) run->agg.nparts);
	drain->status = gpucol_cpu_alloc0(run, sizeof(GpucolStatus) * (size_t) run->nworkers);
	if (status != GPUCOL_OK || drain->locals == NULL || drain->status == NULL)
		return status != GPUCOL_OK ? status : GPUCOL_OUT_OF_MEMORY;
	gpucol_pool_run(run->nworkers, deal_share, drain);
	status = drain_status(drain);
	if (status != GPUCOL_OK)
		return status;
	if (asks_host(run))
		merge_share(drain, 0);
	else
		gpucol_pool_run(run->nworkers, merge_share, drain);
	return drain_status(drain);
}

/* Drain all tables. */
static GpucolStatus
drain_all(GpucolRun *run)
{
	Drain		drain = {.run = run};
	uint64_t	keyed = groups_of(run->agg.keyed, run->agg.nkeyed);
	uint64_t	drained = groups_of(run->agg.parts, run->agg.nparts);
	uint64_t	pairs = pairs_of(run, run->agg.parts, run->agg.nparts);
	uint64_t	rows = 0;
	GpucolStatus status;

	status = do_drain(&drain);
	close_drain(&drain);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_agg_note(run);
	gpucol_pool_run(run->nworkers, clear_share, &drain);
	run->stats.reduction.by_all = true;
	run->stats.reduction.drained++;
	for (int w = 0; w < run->nworkers; w++)
	{
		rows += run->workers[w].grouped;
		run->workers[w].grouped = 0;
	}
	foresee(run, rows, drained, groups_of(run->agg.keyed, run->agg.nkeyed) - keyed, pairs);
	set_room(run);
	return GPUCOL_OK;
}

/* Are the tables half full, or does one that is full keep its thread from what is left of a window? */
static bool
are_large(const GpucolRun *run)
{
	if (items_of(run->agg.parts, run->agg.nparts) >= (uint64_t) run->nworkers * run->agg.room / 2)
		return true;
	for (int w = 0; w < run->nworkers; w++)
		if (gpucol_cpu_agg_is_full(&run->workers[w]) && (run->window.suspended || w == 0))
			return true;
	return false;
}

GpucolStatus
gpucol_cpu_drain_large(GpucolRun *run)
{
	gpucol_cpu_first_settle(run);
	if (!may_drain(run))
	{
		run->agg.room = 0;
		return GPUCOL_OK;
	}
	set_room(run);
	return are_large(run) ? drain_all(run) : GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_drain_end(GpucolRun *run)
{
	GpucolStatus status = drain_all(run);

	if (status != GPUCOL_OK)
		return status;
	for (int p = 0; p < run->agg.nparts; p++)
		gpucol_cpu_group_destroy(run->agg.parts[p]);
	run->agg.parts = run->agg.keyed;
	run->agg.nparts = run->agg.nkeyed;
	return GPUCOL_OK;
}
