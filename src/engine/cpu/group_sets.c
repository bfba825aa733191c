/*-------------------------------------------------------------------------
 *
 * group_sets.c
 *	  Sets of distinct values.
 *
 * Pairs of group and value; where there is one group only, values alone: half as many bytes,
 * and tables of several threads need not be merged, as only the number of values is asked for.
 * Pairs may be listed as they come, to be told apart where they are merged (agg_drain.c).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/hash.h"

#define FIRST_PAIRS 256
#define SEEN_BITS (UINT32_C(1) << 24)	/* of all groups with codes */
#define FIRST_BITS 4096
#define SOUGHT 64				/* values that slots are fetched for at a time */

/*
 * The hash of a value, of which the lower bits are taken: tables grow, and are gone through, in
 * their order.  Doubles often differ in upper bits only, so all of them have to reach the lower ones.
 */
GPUCOL_CPU_INLINE uint64_t
hash_value(uint64_t value)
{
	return gpucol_hash_fold(value, UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- values of the only group ---- */

/* The slot where the search for a value begins. */
GPUCOL_CPU_INLINE uint64_t
value_home(uint64_t nslots, uint64_t value)
{
	return hash_value(value) & (nslots - 1);
}

/* The slot of a value that is not 0, or the free one where it belongs. */
GPUCOL_CPU_INLINE uint64_t
find_value(const uint64_t *slots, uint64_t nslots, uint64_t value)
{
	uint64_t	at;

	GPUCOL_PROBE(at, value_home(nslots, value), nslots, slots[at] == 0 || slots[at] == value);
	return at;
}

/* Room for n values more. */
static GpucolStatus
grow_values(GpucolCpuGroups *groups, GpucolCpuSet *set, uint32_t n)
{
	uint64_t	nslots = set->nvalues == 0 ? FIRST_PAIRS : set->nvalues;
	uint64_t   *slots;

	while (2 * (set->n + n) > nslots)
		nslots *= 2;
	if (nslots == set->nvalues)
		return GPUCOL_OK;
	slots = gpucol_cpu_alloc0(groups->run, sizeof(uint64_t) * nslots);
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint64_t i = 0; i < set->nvalues; i++)
		if (set->values[i] != 0)
			slots[find_value(slots, nslots, set->values[i])] = set->values[i];
	gpucol_cpu_free(groups->run, set->values);
	set->values = slots;
	set->nvalues = nslots;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_add_values(GpucolCpuGroups *groups, GpucolCpuSet *set, const uint64_t *values,
							uint32_t n, uint32_t *added)
{
	uint64_t	before = set->n;

	if (grow_values(groups, set, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < n; j++)
		GPUCOL_PREFETCH(&set->values[value_home(set->nvalues, values[j])]);
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *slot = &set->values[find_value(set->values, set->nvalues, values[j])];

		if (values[j] == 0)
		{
			set->n += !set->has_zero;
			set->has_zero = true;
			continue;
		}
		set->n += *slot == 0;
		*slot = values[j];
	}
	*added = (uint32_t) (set->n - before);
	return GPUCOL_OK;
}

/* A count by all threads. */
typedef struct Count
{
	GpucolRun  *run;
	uint32_t	set;
	_Atomic uint64_t n;
} Count;

/* How many of n values of a table has none of the tables before it? */
static uint32_t
count_fresh(const Count *count, int table, const uint64_t *values, uint32_t n)
{
	uint8_t		known[SOUGHT] = {0};
	uint32_t	fresh = 0;

	for (int p = 0; p < table; p++)
	{
		const GpucolCpuSet *set = &count->run->agg.parts[p]->sets[count->set];

		for (uint32_t i = 0; i < n && set->nvalues > 0; i++)
			GPUCOL_PREFETCH(&set->values[value_home(set->nvalues, values[i])]);
		for (uint32_t i = 0; i < n && set->nvalues > 0; i++)
			known[i] |= set->values[find_value(set->values, set->nvalues, values[i])] != 0;
	}
	for (uint32_t i = 0; i < n; i++)
		fresh += !known[i];
	return fresh;
}

/* Thread `index` counts in its share of every table's slots. */
static void
count_share(void *arg, int index)
{
	Count	   *count = arg;
	uint64_t	nworkers = (uint64_t) count->run->nworkers;
	uint64_t	fresh = 0;

	for (int p = 0; p < count->run->agg.nparts; p++)
	{
		const GpucolCpuSet *set = &count->run->agg.parts[p]->sets[count->set];
		uint64_t	end = set->nvalues / nworkers * ((uint64_t) index + 1);
		uint64_t	values[SOUGHT];
		uint32_t	n = 0;

		if (index == (int) nworkers - 1)
			end = set->nvalues;
		for (uint64_t i = set->nvalues / nworkers * (uint64_t) index; i < end; i++)
		{
			values[n] = set->values[i];
			n += values[n] != 0;
			if (n == SOUGHT || i + 1 == end)
			{
				fresh += count_fresh(count, p, values, n);
				n = 0;
			}
		}
	}
	atomic_fetch_add(&count->n, fresh);
}

void
gpucol_cpu_group_count_values(GpucolRun *run, uint32_t set, uint64_t *total)
{
	Count		count = {.run = run,.set = set};
	bool		has_zero = false;

	for (int p = 0; p < run->agg.nparts; p++)
		has_zero |= run->agg.parts[p]->sets[set].has_zero;
	gpucol_pool_run(run->nworkers, count_share, &count);
	*total = count.n + has_zero;
}

/* ---- pairs ---- */

GpucolCpuSeen *
gpucol_cpu_group_seen(GpucolCpuGroups *groups, uint32_t set, const GpucolCpuColumn *column)
{
	GpucolCpuSeen *seen = &groups->seen[set];
	GpucolRun  *run = groups->run;

	if (seen->serial == gpucol_cpu_codes_serial(run, column))
		return seen;
	gpucol_cpu_free(run, seen->bits);
	seen->ncodes = (uint32_t) ((gpucol_cpu_code_space(column) + 63) & ~(size_t) 63);
	seen->ngroups = run->program->nkeys == 0 ? 1 : SEEN_BITS / seen->ncodes;
	seen->bits = gpucol_cpu_alloc0(run, (size_t) seen->ngroups * seen->ncodes / 8 + 1);
	seen->serial = seen->bits == NULL ? 0 : gpucol_cpu_codes_serial(run, column);
	return seen->bits == NULL ? NULL : seen;
}

static uint64_t
hash_pair(uint64_t group, uint64_t value)
{
	return hash_value(gpucol_hash_mix(0, group) ^ value);
}

/* The slot of a pair, or the free one where it belongs. */
static uint64_t
find_pair(const uint64_t *slots, uint64_t nslots, uint64_t group, uint64_t value)
{
	uint64_t	at;

	GPUCOL_PROBE(at, hash_pair(group, value), nslots, slots[2 * at] == 0 ||
				 (slots[2 * at] == group + 1 && slots[2 * at + 1] == value));
	return at;
}

/* Room for n pairs more. */
static GpucolStatus
grow_pairs(GpucolCpuGroups *groups, GpucolCpuSet *set, uint32_t n)
{
	uint64_t	nslots = set->nslots == 0 ? FIRST_PAIRS : set->nslots;
	uint64_t   *slots;

	while (2 * (set->n + n) > nslots)
		nslots *= 2;
	if (nslots == set->nslots)
		return GPUCOL_OK;
	slots = gpucol_cpu_alloc0(groups->run, 2 * sizeof(uint64_t) * nslots);
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint64_t i = 0; i < set->nslots; i++)
		if (set->slots[2 * i] != 0)
		{
			uint64_t	at = find_pair(slots, nslots, set->slots[2 * i] - 1, set->slots[2 * i + 1]);

			slots[2 * at] = set->slots[2 * i];
			slots[2 * at + 1] = set->slots[2 * i + 1];
		}
	gpucol_cpu_free(groups->run, set->slots);
	set->slots = slots;
	set->nslots = nslots;
	return GPUCOL_OK;
}

/* List pairs. */
static GpucolStatus
list_pairs(GpucolCpuGroups *groups, GpucolCpuSet *set, const uint32_t *ids, const uint64_t *values, uint32_t n)
{
	uint64_t	room = set->nslots == 0 ? FIRST_PAIRS : set->nslots;
	uint64_t   *slots = set->slots;

	while (room < set->n + n)
		room *= 2;
	if (room > set->nslots)
		slots = gpucol_cpu_realloc(groups->run, slots, 2 * sizeof(uint64_t) * room);
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	set->slots = slots;
	set->nslots = room;
	slots += 2 * set->n;
	for (uint32_t j = 0; j < n; j++)
	{
		slots[2 * j] = ids[j] + UINT64_C(1);
		slots[2 * j + 1] = values[j];
	}
	set->n += n;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_add_pairs(GpucolCpuGroups *groups, uint32_t number, const uint32_t *ids,
						   const uint64_t *values, uint32_t n, uint32_t offset)
{
	GpucolCpuSet *set = &groups->sets[number];
	size_t		stride = groups->run->agg.group_words;

	if (groups->lists)
		return list_pairs(groups, set, ids, values, n);
	if (grow_pairs(groups, set, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if (set->nslots >= GPUCOL_CPU_CACHED_SLOTS)
		for (uint32_t j = 0; j < n; j++)
			GPUCOL_PREFETCH(&set->slots[2 * (hash_pair(ids[j], values[j]) & (set->nslots - 1))]);
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *slot = &set->slots[2 * find_pair(set->slots, set->nslots, ids[j], values[j])];
		bool		added = slot[0] == 0;

		slot[0] = ids[j] + UINT64_C(1);
		slot[1] = values[j];
		set->n += added;
		groups->states[ids[j] * stride + offset] += added;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_add_number(GpucolCpuGroups *groups, GpucolCpuSet *set, uint64_t number,
							bool *added)
{
	uint64_t	bit = UINT64_C(1) << number % 64;

	if (number >= set->nbits)
	{
		uint64_t	nbits = set->nbits == 0 ? FIRST_BITS : set->nbits;
		uint64_t   *bits;

		while (nbits <= number)
			nbits *= 2;
		bits = gpucol_cpu_realloc(groups->run, set->bits, nbits / 8);
		if (bits == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		memset(bits + set->nbits / 64, 0, (nbits - set->nbits) / 8);
		set->bits = bits;
		set->nbits = nbits;
	}
	*added = (set->bits[number / 64] & bit) == 0;
	set->bits[number / 64] |= bit;
	set->n += *added;
	return GPUCOL_OK;
}
