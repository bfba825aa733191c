/*-------------------------------------------------------------------------
 *
 * group.c
 *	  Tables of the CPU engine's aggregation: made, emptied and freed.
 *
 * group_lookup.c finds groups, strings.c numbers strings, group_sets.c has the sets.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/hash.h"

/* ---- groups ---- */

GpucolCpuGroups *
gpucol_cpu_group_create(GpucolRun *run)
{
	GpucolCpuGroups *groups = gpucol_cpu_alloc0(run, sizeof(*groups));

	if (groups == NULL)
		return NULL;
	groups->run = run;
	groups->sets = gpucol_cpu_alloc0(run, sizeof(GpucolCpuSet) * (size_t) (run->agg.ndistinct + 1));
	groups->extremes = gpucol_cpu_alloc0(run, sizeof(GpucolCpuExtreme) *
										 (size_t) (run->agg.nextremes + 1));
	groups->seen = gpucol_cpu_alloc0(run, sizeof(GpucolCpuSeen) * (size_t) (run->agg.ndistinct + 1));
	if (groups->sets == NULL || groups->extremes == NULL ||
		groups->seen == NULL)
	{
		gpucol_cpu_group_destroy(groups);
		return NULL;
	}
	return groups;
}

uint64_t
gpucol_cpu_group_bytes(const GpucolCpuGroups *groups)
{
	uint64_t	bytes = (uint64_t) groups->capacity * groups->run->agg.group_words * sizeof(uint64_t);

	bytes += groups->table.nslots * sizeof(uint64_t) + (uint64_t) groups->direct_size * sizeof(uint32_t);
	for (int s = 0; s < groups->run->agg.ndistinct; s++)
		bytes += (groups->sets[s].nslots * 2 + groups->sets[s].nvalues) * sizeof(uint64_t) + groups->sets[s].nbits / 8;
	return bytes;
}

/* Free the memory of strings. */
static void
free_space(GpucolCpuGroups *groups)
{
	while (groups->chunk != NULL)
	{
		char	   *next = *(char **) groups->chunk;

		gpucol_cpu_free(groups->run, groups->chunk);
		groups->chunk = next;
	}
	groups->chunk_used = groups->chunk_size = 0;
}

/* Empty a hash table. */
static void
clear_slots(GpucolHashTable *table)
{
	if (table->nslots > 0)
		memset(table->slots, 0, sizeof(uint64_t) * table->nslots);
}

/* Empty the slots of a set. */
static void
clear_set(GpucolCpuSet *set)
{
	if (set->nslots > 0)
		memset(set->slots, 0, 2 * sizeof(uint64_t) * set->nslots);
}

void
gpucol_cpu_group_set_lists(GpucolCpuGroups *groups, bool lists)
{
	for (int s = 0; s < groups->run->agg.ndistinct && groups->lists && !lists; s++)
		clear_set(&groups->sets[s]);
	groups->lists = lists;
}

void
gpucol_cpu_group_clear(GpucolCpuGroups *groups)
{
	GpucolRun  *run = groups->run;

	free_space(groups);
	clear_slots(&groups->table);
	groups->n = groups->nhashed = groups->top = groups->rising = groups->sorted = groups->searches = 0;
	if (groups->direct != NULL)
		memset(groups->direct, 0, sizeof(uint32_t) * groups->direct_size);
	groups->direct_null = groups->ndirect = 0;
	groups->near.valid = false;
	groups->near.serial = 0;
	for (int s = 0; s < run->agg.ndistinct; s++)
	{
		GpucolCpuSet *set = &groups->sets[s];

		if (!groups->lists)
			clear_set(set);
		set->n = 0;
		groups->seen[s].serial = 0;
	}
	gpucol_cpu_free(run, groups->slot_groups);
	groups->slot_groups = NULL;
	groups->only_layout = groups->layout = 0;
}

void
gpucol_cpu_group_destroy(GpucolCpuGroups *groups)
{
	GpucolRun  *run;

	if (groups == NULL)
		return;
	run = groups->run;
	gpucol_cpu_free(run, groups->keys);
	gpucol_cpu_free(run, groups->table.slots);
	gpucol_cpu_free(run, groups->direct);
	gpucol_cpu_free(run, groups->near.groups);
	gpucol_cpu_free(run, groups->near.places);
	gpucol_cpu_free(run, groups->channels);
	gpucol_cpu_free(run, groups->slot_groups);
	free_space(groups);
	if (groups->sets != NULL)
		for (int s = 0; s < run->agg.ndistinct; s++)
		{
			gpucol_cpu_free(run, groups->sets[s].slots);
			gpucol_cpu_free(run, groups->sets[s].bits);
			gpucol_cpu_free(run, groups->sets[s].values);
		}
	for (int e = 0; e < run->agg.nextremes && groups->extremes != NULL; e++)
	{
		gpucol_cpu_free(run, groups->extremes[e].touched);
		gpucol_cpu_free(run, groups->extremes[e].candidates);
	}
	for (int i = 0; i < run->agg.ndistinct && groups->seen != NULL; i++)
		gpucol_cpu_free(run, groups->seen[i].bits);
	gpucol_cpu_free(run, groups->seen);
	gpucol_cpu_free(run, groups->extremes);
	gpucol_cpu_free(run, groups->sets);
	gpucol_cpu_free(run, groups);
}

GpucolStatus
gpucol_cpu_group_grow(GpucolRun *run, GpucolHashTable *table, uint64_t n)
{
	uint64_t	nslots = gpucol_hash_slots(table->nslots, n);
	uint64_t   *slots;

	if (nslots == table->nslots)
		return GPUCOL_OK;
	slots = gpucol_cpu_alloc0(run, sizeof(uint64_t) * nslots);
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_cpu_free(run, gpucol_hash_move(table, slots, nslots));
	return GPUCOL_OK;
}

uint64_t
gpucol_cpu_group_hash(const GpucolRun *run, const uint64_t *key)
{
	uint64_t	hash = 0;

	for (uint32_t k = 0; k < run->agg.key_words; k++)
		hash = gpucol_hash_mix(hash, run->agg.key_is_float[k] ? gpucol_cpu_group_float_word(key[k]) : key[k]);
	return hash;
}

bool
gpucol_cpu_group_same(const GpucolRun *run, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t k = 0; k < run->agg.key_words; k++)
		if (a[k] != b[k] && !(run->agg.key_is_float[k] && (a[k] | b[k]) << 1 == 0))
			return false;
	return true;
}
