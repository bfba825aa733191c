/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  The merge of many groups by all threads.
 *
 * Merging one table after another into the first is one thread's work, and takes longer
 * than filling them where each has many groups.  Here all tables stay where they are, and
 * all threads search for groups that several of them have (engine/cpu/twins.h):
 *
 *	  groups	the state of a group is merged into that of its twin in the first table
 *				that has it, in the order of the tables: sums of floats stay what they
 *				are whatever the number of threads
 *	  sets		a value that no earlier table has for the same group is counted there
 *
 * In the end groups that were merged into others are dropped.  The tables are disjoint then
 * and are delivered one after another.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "engine/cpu/twins.h"
#include "kernel/hash.h"

#define MIN_ITEMS 8192			/* fewer are merged sooner by one thread */
#define SET_THREADS 4			/* with fewer, sets are merged sooner one into another */
#define BYTES_PER_ITEM 48		/* of a search, at most */

typedef struct Merge
{
	GpucolRun  *run;
	uint64_t   *nitems;			/* by table: what is searched now */
	uint64_t   *ngroups;		/* by table: groups of those before it; and of all */
	uint32_t   *groups;			/* by group of all tables: twin + 1 or 0 */
	const GpucolCpuAcc *acc;	/* set that is merged now */
} Merge;

GPUCOL_CPU_INLINE GpucolCpuGroups *
table_of(const Merge *merge, int table)
{
	return merge->run->agg.parts[table];
}

/* Number of an item among those of all tables. */
GPUCOL_CPU_INLINE uint64_t
place_of(const uint64_t *before, GpucolCpuItem item)
{
	return before[item.table] + item.number;
}

/* Begin a search among so many items of each table; their number is before[nparts] then. */
static GpucolStatus
count_items(const Merge *merge, uint64_t **before, uint32_t **twins)
{
	GpucolRun  *run = merge->run;
	uint64_t	n = 0;

	*before = gpucol_cpu_alloc(run, sizeof(uint64_t) * ((size_t) run->agg.nparts + 1));
	if (*before == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		(*before)[p] = n;
		n += merge->nitems[p];
	}
	(*before)[run->agg.nparts] = n;
	*twins = gpucol_cpu_alloc(run, sizeof(uint32_t) * (n + 1));
	return *twins == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* ---- groups ---- */

GPUCOL_CPU_INLINE uint64_t *
key_of(const Merge *merge, GpucolCpuItem item)
{
	return table_of(merge, item.table)->keys + item.number * merge->run->agg.group_words;
}

static bool
hash_group(void *of, GpucolCpuItem item, uint64_t *hash)
{
	const Merge *merge = of;

	*hash = gpucol_cpu_group_hash(merge->run, key_of(merge, item));
	return true;
}

static void
fetch_group(void *of, GpucolCpuItem item)
{
	const Merge *merge = of;
	const uint64_t *key = key_of(merge, item);

	GPUCOL_PREFETCH(key);
	GPUCOL_PREFETCH(key + merge->run->agg.group_words - 1);
}

static bool
same_group(void *of, GpucolCpuItem a, GpucolCpuItem b)
{
	const Merge *merge = of;

	return gpucol_cpu_group_same(merge->run, key_of(merge, a), key_of(merge, b));
}

static GpucolStatus
found_group(void *of, GpucolCpuItem item, GpucolCpuItem twin)
{
	Merge	   *merge = of;
	GpucolRun  *run = merge->run;

	merge->groups[place_of(merge->ngroups, item)] = twin.table < 0 ? 0 :
		(uint32_t) place_of(merge->ngroups, twin) + 1;
	return twin.table < 0 ? GPUCOL_OK :
		gpucol_cpu_agg_merge(run, key_of(merge, twin) + run->agg.key_words,
							 key_of(merge, item) + run->agg.key_words);
}

static GpucolStatus
merge_groups(Merge *merge)
{
	GpucolRun  *run = merge->run;
	GpucolCpuTwins twins = {run, run->agg.nparts, merge->nitems, merge,
	hash_group, fetch_group, same_group, found_group};
	GpucolStatus status;

	for (int p = 0; p < run->agg.nparts; p++)
		merge->nitems[p] = run->agg.parts[p]->n;
	status = count_items(merge, &merge->ngroups, &merge->groups);
	return status == GPUCOL_OK ? gpucol_cpu_twins_find(&twins) : status;
}

/* Thread `index` drops groups that have a twin: others of the table take their places. */
static void
drop_share(void *arg, int index)
{
	Merge	   *merge = arg;
	GpucolRun  *run = merge->run;
	size_t		words = run->agg.group_words;

	for (int p = index; p < run->agg.nparts; p += run->nworkers)
	{
		GpucolCpuGroups *groups = run->agg.parts[p];
		uint32_t   *twins = merge->groups + merge->ngroups[p];

		for (uint32_t g = 0; g < groups->n;)
			if (twins[g] == 0)
				g++;
			else if (--groups->n > g)
			{
				twins[g] = twins[groups->n];
				memcpy(groups->keys + g * words, groups->keys + groups->n * words,
					   sizeof(uint64_t) * words);
			}
	}
}

/* ---- sets ---- */

/* The pair of a slot, as the first tables number its group and its string; false if it is free. */
static bool
pair_of(const Merge *merge, GpucolCpuItem item, uint64_t *group, uint64_t *value)
{
	const GpucolCpuSet *set = &table_of(merge, item.table)->sets[merge->acc->distinct];
	const uint64_t *slot = &set->slots[2 * item.number];
	uint64_t	place;

	if (slot[0] == 0)
		return false;
	place = merge->ngroups[item.table] + slot[0] - 1;
	*group = merge->groups[place] == 0 ? place : merge->groups[place] - UINT64_C(1);
	*value = slot[1];
	return true;
}

static bool
hash_pair(void *of, GpucolCpuItem item, uint64_t *hash)
{
	uint64_t	group;
	uint64_t	value;

	if (!pair_of(of, item, &group, &value))
		return false;
	*hash = gpucol_hash_mix(gpucol_hash_mix(0, group), value);
	return true;
}

static void
fetch_pair(void *of, GpucolCpuItem item)
{
	const Merge *merge = of;

	GPUCOL_PREFETCH(&table_of(merge, item.table)->sets[merge->acc->distinct].slots[2 * item.number]);
}

static bool
same_pair(void *of, GpucolCpuItem a, GpucolCpuItem b)
{
	uint64_t	groups[2] = {0};
	uint64_t	values[2] = {0};

	pair_of(of, a, &groups[0], &values[0]);
	pair_of(of, b, &groups[1], &values[1]);
	return groups[0] == groups[1] && values[0] == values[1];
}

/* A value without a twin is counted in its group, but by the table whose group it is. */
static GpucolStatus
found_pair(void *of, GpucolCpuItem item, GpucolCpuItem twin)
{
	const Merge *merge = of;
	uint64_t	place;
	uint64_t	value;
	int			table = 0;

	if (twin.table >= 0 || item.table == 0 || !pair_of(merge, item, &place, &value) ||
		place >= merge->ngroups[item.table])
		return GPUCOL_OK;
	while (place >= merge->ngroups[table + 1])
		table++;
	__atomic_fetch_add(key_of(merge, (GpucolCpuItem) {table, place - merge->ngroups[table]}) +
					   merge->run->agg.key_words + merge->acc->offset, 1, __ATOMIC_RELAXED);
	return GPUCOL_OK;
}

/* Sets of numbers of strings in the only group: those of the first table get all. */
static GpucolStatus
merge_numbers(const Merge *merge)
{
	GpucolRun  *run = merge->run;
	GpucolCpuGroups *to = run->agg.parts[0];

	for (int p = 1; p < run->agg.nparts; p++)
	{
		const GpucolCpuSet *from = &run->agg.parts[p]->sets[merge->acc->distinct];

		for (uint64_t w = 0; w < from->nbits / 64; w++)
			for (uint64_t bits = from->bits[w]; bits != 0; bits &= bits - 1)
			{
				bool		added;

				if (gpucol_cpu_group_add_number(to, &to->sets[merge->acc->distinct],
												w * 64 + (uint64_t) __builtin_ctzll(bits), &added) != GPUCOL_OK)
					return GPUCOL_OUT_OF_MEMORY;
				to->states[merge->acc->offset] += added;
			}
	}
	return GPUCOL_OK;
}

static GpucolStatus
merge_set(Merge *merge, const GpucolCpuAcc *acc)
{
	GpucolRun  *run = merge->run;
	GpucolCpuTwins twins = {run, run->agg.nparts, merge->nitems, merge,
	hash_pair, fetch_pair, same_pair, found_pair};
	bool		numbers = run->program->nkeys == 0 && run->code.classes[acc->arg] == GPUCOL_CLASS_S;

	merge->acc = acc;
	for (int p = 0; p < run->agg.nparts; p++)
		merge->nitems[p] = run->agg.parts[p]->sets[acc->distinct].nslots;
	return numbers ? merge_numbers(merge) : gpucol_cpu_twins_find(&twins);
}

/* ---- all of it ---- */

bool
gpucol_cpu_merge_pays(const GpucolRun *run)
{
	uint64_t	n = 0;

	for (int p = 0; p < run->agg.nparts; p++)
	{
		n += run->agg.parts[p]->n;
		for (int s = 0; s < run->agg.ndistinct; s++)
			n += run->agg.parts[p]->sets[s].nslots;
	}
	return run->agg.settled == NULL && run->agg.nparts > 1 && run->agg.nextremes == 0 &&
		(run->agg.ndistinct == 0 || run->nworkers >= SET_THREADS) &&
		n >= MIN_ITEMS && n < UINT32_MAX / 2 &&
		n < gpucol_budget_left(&run->mem.budget) / BYTES_PER_ITEM;
}

GpucolStatus
gpucol_cpu_merge_all(GpucolRun *run)
{
	Merge		merge = {.run = run};
	GpucolStatus status;

	merge.nitems = gpucol_cpu_alloc(run, sizeof(uint64_t) * (size_t) run->agg.nparts);
	if (merge.nitems == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = merge_groups(&merge);
	run->source->ops->check_interrupts(run->source);
	for (int i = 0; i < run->agg.naccs && status == GPUCOL_OK; i++)
		if (run->agg.accs[i].op == GPUCOL_CPU_ACC_DISTINCT)
			status = merge_set(&merge, &run->agg.accs[i]);
	if (status == GPUCOL_OK)
		gpucol_pool_run(run->nworkers, drop_share, &merge);
	gpucol_cpu_free(run, merge.nitems);
	gpucol_cpu_free(run, merge.ngroups);
	gpucol_cpu_free(run, merge.groups);
	return status;
}
