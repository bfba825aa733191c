/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  The merge of many groups by all threads.
 *
 * Where keys are sparse, each thread's table has nearly a group a row, and merging
 * one table after another into the first would take longer than filling them, the
 * more so the more threads there are.  Instead the keys are divided into as many
 * ranges of their hash as there are threads: first each table's groups are listed by
 * range, then each thread merges one range of all tables into a table of its own.
 * The results are disjoint and are delivered one after another.
 *
 * One thread alone leaves the groups of the first table where they are; all threads
 * look up those of all tables, each its share.  So there is nothing to be gained from two
 * threads, and little from three.
 *
 * Within a range tables are merged in their order, so that sums of floats stay what
 * they are whatever the number of threads.  A range is told by the lower half of the
 * hash; a group's slot is by the upper half (engine/cpu/group.c).
 *
 * Strings are numbered by table: those of all tables are given the numbers of the
 * first one, once for each string, before the groups are listed.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"

#define MIN_GROUPS 65536		/* fewer are merged sooner by one thread, */
#define MIN_THREADS 4			/* and so are those of fewer threads */

/* One table, and its groups by range. */
typedef struct Listed
{
	GpucolCpuGroups *groups;
	uint32_t   *strings;		/* numbers in the first table; NULL: the same */
	uint32_t   *ids;
	uint32_t   *first;			/* where each range begins in ids */
	uint8_t    *ranges;			/* by group */
} Listed;

typedef struct Merge
{
	GpucolRun  *run;
	Listed	   *from;
	int			nranges;
	GpucolCpuGroups **to;		/* by range */
	GpucolStatus *status;		/* by thread */
} Merge;

/* Give the strings of a table the numbers that they have, or get, in another. */
static GpucolStatus
number_strings(GpucolCpuGroups *to, Listed *from)
{
	const GpucolCpuStrings *strings = &from->groups->strings;

	if (strings->n == 0)
		return GPUCOL_OK;
	from->strings = gpucol_cpu_alloc(to->run, sizeof(uint32_t) * strings->n);
	if (from->strings == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < strings->n; i++)
		if (gpucol_cpu_group_string(to, strings->values[i], &from->strings[i]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

/* Rewrite the string numbers of a key. */
static void
renumber_key(const GpucolRun *run, const uint32_t *strings, uint64_t *key)
{
	uint32_t	word = 1;

	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolClass cls = run->code.classes[run->code.keys[k]];

		if (cls == GPUCOL_CLASS_S && !(key[0] >> k & 1))
			key[word] = strings[key[word]];
		word += cls == GPUCOL_CLASS_D ? 2 : 1;
	}
}

/* List the groups of one table by range. */
static void
list_groups(const Merge *merge, Listed *from)
{
	const GpucolRun *run = merge->run;
	uint32_t	next[GPUCOL_CPU_MAX_THREADS];

	memset(from->first, 0, sizeof(uint32_t) * ((size_t) merge->nranges + 1));
	for (uint32_t g = 0; g < from->groups->n; g++)
	{
		uint64_t   *key = from->groups->keys + (size_t) g * run->agg.group_words;

		if (from->strings != NULL)
			renumber_key(run, from->strings, key);
		from->ranges[g] = (uint8_t) ((gpucol_cpu_group_hash(run, key) & UINT32_MAX) *
									 (unsigned) merge->nranges >> 32);
		from->first[from->ranges[g] + 1]++;
	}
	for (int r = 0; r < merge->nranges; r++)
	{
		next[r] = from->first[r];
		from->first[r + 1] += from->first[r];
	}
	for (uint32_t g = 0; g < from->groups->n; g++)
		from->ids[next[from->ranges[g]]++] = g;
}

/* Thread `index` lists every so manieth table. */
static void
list_share(void *arg, int index)
{
	Merge	   *merge = arg;

	for (int p = index; p < merge->run->agg.nparts; p += merge->run->nworkers)
		list_groups(merge, &merge->from[p]);
}

/* Merge up to a vector of groups of one table. */
static GpucolStatus
merge_vector(GpucolCpuWorker *worker, GpucolCpuGroups *to, const GpucolCpuGroups *from,
			 const uint32_t *ids, uint32_t n)
{
	const GpucolRun *run = worker->run;
	GpucolStatus status;

	for (uint32_t j = 0; j < n; j++)
	{
		const uint64_t *key = from->keys + (size_t) ids[j] * run->agg.group_words;

		for (uint32_t k = 0; k < run->agg.key_words; k++)
			worker->keys[k * GPUCOL_VECTOR_VALUES + j] = key[k];
	}
	status = gpucol_cpu_group_lookup(to, worker->keys, GPUCOL_VECTOR_VALUES, n,
									 worker->hashes, worker->ids);
	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
		status = gpucol_cpu_agg_merge(run, to->states + (size_t) worker->ids[j] * run->agg.group_words,
									  from->states + (size_t) ids[j] * run->agg.group_words);
	return status;
}

/* Thread `index` merges the range of that number. */
static void
merge_share(void *arg, int index)
{
	Merge	   *merge = arg;
	GpucolRun  *run = merge->run;
	GpucolStatus status = GPUCOL_OK;

	for (int p = 0; p < run->agg.nparts && status == GPUCOL_OK; p++)
	{
		const Listed *from = &merge->from[p];
		uint32_t	end = from->first[index + 1];
		uint32_t	n;

		for (uint32_t at = from->first[index]; at < end && status == GPUCOL_OK; at += n)
		{
			n = end - at < GPUCOL_VECTOR_VALUES ? end - at : GPUCOL_VECTOR_VALUES;
			status = merge_vector(&run->workers[index], merge->to[index], from->groups,
								  from->ids + at, n);
		}
	}
	merge->status[index] = status;
}

/* Memory of a merge; what is missing of it is freed with the run. */
static GpucolStatus
init_merge(Merge *merge)
{
	GpucolRun  *run = merge->run;

	merge->from = gpucol_cpu_alloc0(run, sizeof(Listed) * (size_t) run->agg.nparts);
	merge->to = gpucol_cpu_alloc0(run, sizeof(GpucolCpuGroups *) * (size_t) merge->nranges);
	merge->status = gpucol_cpu_alloc0(run, sizeof(GpucolStatus) * (size_t) merge->nranges);
	if (merge->from == NULL || merge->to == NULL || merge->status == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		Listed	   *from = &merge->from[p];

		from->groups = run->agg.parts[p];
		from->ids = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) from->groups->n + 1));
		from->first = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) merge->nranges + 1));
		from->ranges = gpucol_cpu_alloc(run, (size_t) from->groups->n + 1);
		if (from->ids == NULL || from->first == NULL || from->ranges == NULL ||
			(p > 0 && number_strings(run->agg.parts[0], from) != GPUCOL_OK))
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int r = 0; r < merge->nranges; r++)
	{
		merge->to[r] = gpucol_cpu_group_create(run);
		if (merge->to[r] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* Put the merged tables in the place of the others; the first one has all strings. */
static void
take_merged(Merge *merge)
{
	GpucolRun  *run = merge->run;
	GpucolCpuStrings none = {0};

	merge->to[0]->strings = run->agg.parts[0]->strings;
	run->agg.parts[0]->strings = none;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		gpucol_cpu_group_destroy(run->agg.parts[p]);
		gpucol_cpu_free(run, merge->from[p].strings);
		gpucol_cpu_free(run, merge->from[p].ids);
		gpucol_cpu_free(run, merge->from[p].first);
		gpucol_cpu_free(run, merge->from[p].ranges);
	}
	gpucol_cpu_free(run, run->agg.parts);
	gpucol_cpu_free(run, merge->from);
	gpucol_cpu_free(run, merge->status);
	run->agg.parts = merge->to;
	run->agg.nparts = merge->nranges;
}

bool
gpucol_cpu_merge_pays(const GpucolRun *run)
{
	uint64_t	n = 0;

	for (int p = 0; p < run->agg.nparts; p++)
		n += run->agg.parts[p]->n;
	return run->agg.settled == NULL &&
		run->agg.nparts >= MIN_THREADS && run->nworkers >= MIN_THREADS && run->agg.ndistinct == 0 &&
		run->agg.nextremes == 0 && n >= MIN_GROUPS;
}

GpucolStatus
gpucol_cpu_merge_all(GpucolRun *run)
{
	Merge		merge = {.run = run,.nranges = run->nworkers};
	GpucolStatus status = init_merge(&merge);

	if (status != GPUCOL_OK)
		return status;
	gpucol_pool_run(run->nworkers, list_share, &merge);
	gpucol_pool_run(run->nworkers, merge_share, &merge);
	for (int r = 0; r < merge.nranges; r++)
		if (merge.status[r] != GPUCOL_OK)
			return merge.status[r];
	take_merged(&merge);
	return GPUCOL_OK;
}
