/*-------------------------------------------------------------------------
 *
 * group.c
 *	  Hash tables of the CPU engine's aggregation.
 *
 * The table of groups may be much larger than the processor's cache.  Lookups of a
 * vector prefetch their slots, then the keys of the groups that they find there, then
 * the states.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/hash.h"

#define FIRST_GROUPS 256
#define FIRST_PAIRS 256
#define DIRECT_VALUES 65536		/* values of a single key found without hashing, */
#define DIRECT_STRINGS (UINT32_C(1) << 26)	/* and numbers of strings */
#define SORTED_GROUPS 65536		/* so many that ascend are searched by halves */
#define GUESSED 128				/* rows that slots and groups are fetched for at a time */
#define NO_GROUP UINT32_MAX
#define SEEN_BITS (UINT32_C(1) << 24)	/* of all groups with codes */

/* ---- groups ---- */

GpucolCpuGroups *
gpucol_cpu_group_create(GpucolRun *run)
{
	GpucolCpuGroups *groups = gpucol_cpu_alloc0(run, sizeof(*groups));

	if (groups == NULL)
		return NULL;
	groups->run = run;
	groups->sets = gpucol_cpu_alloc0(run, sizeof(GpucolCpuSet) * (size_t) (run->agg.ndistinct + 1));
	groups->maps = gpucol_cpu_alloc0(run, sizeof(GpucolCpuCodeMap) *
									 (run->program->ncolumns + run->program->npayloads + 1u));
	groups->extremes = gpucol_cpu_alloc0(run, sizeof(GpucolCpuExtreme) *
										 (size_t) (run->agg.nextremes + 1));
	groups->seen = gpucol_cpu_alloc0(run, sizeof(GpucolCpuSeen) * (size_t) (run->agg.ndistinct + 1));
	if (groups->sets == NULL || groups->maps == NULL || groups->extremes == NULL ||
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
	const GpucolCpuStrings *strings = &groups->strings;
	uint64_t	bytes = (uint64_t) groups->capacity * groups->run->agg.group_words * sizeof(uint64_t);

	bytes += groups->table.nslots * sizeof(uint64_t) + (uint64_t) groups->direct_size * sizeof(uint32_t);
	bytes += (uint64_t) strings->capacity * sizeof(GpucolBytes) + strings->table.nslots * sizeof(uint64_t);
	bytes += strings->bytes;
	for (int s = 0; s < groups->run->agg.ndistinct; s++)
		bytes += groups->sets[s].nslots * 2 * sizeof(uint64_t) + groups->sets[s].nbits / 8;
	return bytes;
}

/* Free the memory of strings. */
static void
free_space(GpucolCpuGroups *groups)
{
	while (groups->strings.chunk != NULL)
	{
		char	   *next = *(char **) groups->strings.chunk;

		gpucol_cpu_free(groups->run, groups->strings.chunk);
		groups->strings.chunk = next;
	}
}

/* Empty a hash table. */
static void
clear_slots(GpucolHashTable *table)
{
	if (table->nslots > 0)
		memset(table->slots, 0, sizeof(uint64_t) * table->nslots);
}

void
gpucol_cpu_group_clear(GpucolCpuGroups *groups)
{
	GpucolRun  *run = groups->run;

	free_space(groups);
	clear_slots(&groups->strings.table);
	groups->strings.n = groups->strings.empty = 0;
	groups->strings.bytes = groups->strings.chunk_used = groups->strings.chunk_size = 0;
	clear_slots(&groups->table);
	groups->n = groups->nhashed = groups->top = groups->rising = groups->sorted = groups->searches = 0;
	if (groups->direct != NULL)
		memset(groups->direct, 0, sizeof(uint32_t) * groups->direct_size);
	groups->direct_null = groups->ndirect = 0;
	for (int s = 0; s < run->agg.ndistinct; s++)
	{
		GpucolCpuSet *set = &groups->sets[s];

		if (set->nslots > 0)
			memset(set->slots, 0, 2 * sizeof(uint64_t) * set->nslots);
		set->n = 0;
		groups->seen[s].serial = 0;
	}
	for (int c = 0; c < run->program->ncolumns + run->program->npayloads; c++)
		groups->maps[c].serial = 0;
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
	gpucol_cpu_free(run, groups->channels);
	gpucol_cpu_free(run, groups->slot_groups);
	gpucol_cpu_free(run, groups->strings.values);
	gpucol_cpu_free(run, groups->strings.table.slots);
	free_space(groups);
	if (groups->sets != NULL)
		for (int s = 0; s < run->agg.ndistinct; s++)
		{
			gpucol_cpu_free(run, groups->sets[s].slots);
			gpucol_cpu_free(run, groups->sets[s].bits);
		}
	if (groups->maps != NULL)
		for (int c = 0; c < run->program->ncolumns + run->program->npayloads; c++)
			gpucol_cpu_free(run, groups->maps[c].numbers);
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
	gpucol_cpu_free(run, groups->maps);
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

/* A float key's bit pattern with -0 as 0, for hashing. */
GPUCOL_CPU_INLINE uint64_t
without_sign_of_zero(uint64_t bits)
{
	return bits << 1 == 0 ? 0 : bits;
}

uint64_t
gpucol_cpu_group_hash(const GpucolRun *run, const uint64_t *key)
{
	uint64_t	hash = 0;

	for (uint32_t k = 0; k < run->agg.key_words; k++)
		hash = gpucol_hash_mix(hash, run->agg.key_is_float[k] ? without_sign_of_zero(key[k]) : key[k]);
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

/* Room for n more groups. */
static GpucolStatus
grow_groups(GpucolCpuGroups *groups, uint32_t n)
{
	GpucolRun  *run = groups->run;
	uint32_t	capacity = groups->capacity == 0 ? FIRST_GROUPS : groups->capacity;
	uint64_t   *keys;

	if (groups->n + n <= groups->capacity)
		return GPUCOL_OK;
	while (capacity < groups->n + n)
		capacity *= 2;
	if (capacity > UINT32_MAX / 8)
		return GPUCOL_OUT_OF_MEMORY;
	keys = gpucol_cpu_realloc(run, groups->keys,
							  sizeof(uint64_t) * run->agg.group_words * (size_t) capacity);
	if (keys == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	groups->keys = keys;
	groups->states = keys + run->agg.key_words;
	groups->capacity = capacity;
	return GPUCOL_OK;
}

/* Enter a group in the hash table, which has room for it. */
static void
enter_group(GpucolCpuGroups *groups, uint32_t g)
{
	const GpucolRun *run = groups->run;

	gpucol_hash_add(&groups->table,
					gpucol_cpu_group_hash(run, groups->keys + (size_t) g * run->agg.group_words), g);
}

/* Enter every group that is not sorted in the hash table, with room for another. */
static GpucolStatus
grow_slots(GpucolCpuGroups *groups)
{
	if (gpucol_cpu_group_grow(groups->run, &groups->table, (uint64_t) groups->n - groups->sorted + 1) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (; groups->nhashed < groups->n; groups->nhashed++)
		enter_group(groups, groups->nhashed);
	return GPUCOL_OK;
}

/*
 * Before n look-ups: many groups that ascend are sorted already, and a few rows that are not in
 * their order are sought among them; more of such rows are worth a hash table.
 */
static GpucolStatus
choose_search(GpucolCpuGroups *groups, uint32_t n)
{
	uint32_t	sorted = groups->sorted;

	if (groups->table.nslots == 0 && groups->rising >= SORTED_GROUPS)
		sorted = groups->sorted = groups->nhashed = groups->rising;
	groups->searches += sorted > 0 ? n : 0;
	if (groups->searches <= sorted / 8)
		return GPUCOL_OK;
	groups->sorted = 0;
	if (grow_slots(groups) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	groups->searches = 0;
	for (uint32_t g = 0; g < sorted; g++)
		enter_group(groups, g);
	return GPUCOL_OK;
}

/* Search for the group of a key among those that are sorted. */
static bool
find_sorted(const GpucolCpuGroups *groups, int64_t key, uint32_t *id)
{
	uint32_t	words = groups->run->agg.group_words;
	uint32_t	from = 0;
	uint32_t	to = groups->sorted;

	while (from < to)
	{
		uint32_t	middle = from + (to - from) / 2;

		if ((int64_t) groups->keys[(size_t) middle * words + 1] < key)
			from = middle + 1;
		else
			to = middle;
	}
	*id = from;
	return from < groups->sorted && (int64_t) groups->keys[(size_t) from * words + 1] == key;
}

/* Are the keys single integers, whose order is that of rows in many a table? */
GPUCOL_CPU_INLINE bool
may_ascend(const GpucolRun *run)
{
	return run->program->nkeys == 1 && run->code.classes[run->code.keys[0]] == GPUCOL_CLASS_I;
}

/* The greatest key; there must be one. */
GPUCOL_CPU_INLINE int64_t
top_key(const GpucolCpuGroups *groups)
{
	return (int64_t) groups->keys[(size_t) (groups->top - 1) * groups->run->agg.group_words + 1];
}

/* Number of a new group with the key of row j; there must be room. */
static uint32_t
add_group(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t j)
{
	const GpucolRun *run = groups->run;
	uint32_t	g = groups->n++;

	for (uint32_t k = 0; k < run->agg.key_words; k++)
		groups->keys[(size_t) g * run->agg.group_words + k] = keys[k * stride + j];
	memcpy(groups->states + (size_t) g * run->agg.group_words, run->agg.first_state,
		   sizeof(uint64_t) * run->agg.state_words);
	if (may_ascend(run) && !keys[j] &&
		(groups->top == 0 || (int64_t) keys[stride + j] > top_key(groups)))
	{
		groups->top = g + 1;
		groups->rising += groups->rising == g;
	}
	return g;
}

/*
 * Find or add the groups of those of n rows that come first and whose keys ascend from the
 * greatest that any group has: without a hash.  Their number is put into *found.
 */
static GpucolStatus
lookup_ascending(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t n,
				 uint32_t *ids, uint32_t *found)
{
	const int64_t *values = (const int64_t *) keys + stride;
	uint32_t	j = 0;

	*found = 0;
	if (!may_ascend(groups->run))
		return GPUCOL_OK;
	for (; j < n && !keys[j] && (groups->top == 0 || values[j] >= top_key(groups)); j++)
	{
		if (groups->top == 0 || values[j] > top_key(groups))
		{
			if (grow_groups(groups, 1) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
			groups->only_layout = 0;
			add_group(groups, keys, stride, j);
		}
		ids[j] = groups->top - 1;
	}
	*found = j;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_append(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride,
						uint32_t n, uint32_t *ids)
{
	if (grow_groups(groups, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < n; j++)
		ids[j] = add_group(groups, keys, stride, j);
	return GPUCOL_OK;
}

/* Is the key of group g that of row j? */
GPUCOL_CPU_INLINE bool
same_key(const GpucolCpuGroups *groups, uint32_t g, const uint64_t *keys,
		 size_t stride, uint32_t j)
{
	const GpucolRun *run = groups->run;
	const uint64_t *key = groups->keys + (size_t) g * run->agg.group_words;

	for (uint32_t k = 0; k < run->agg.key_words; k++)
	{
		uint64_t	word = keys[k * stride + j];

		if (key[k] != word &&
			!(run->agg.key_is_float[k] && (key[k] | word) << 1 == 0))
			return false;
	}
	return true;
}

/* Hash the keys of n rows. */
GPUCOL_CPU_CLONES static void
hash_rows(const GpucolRun *run, const uint64_t *keys, size_t stride, uint32_t n,
		  uint64_t *hashes)
{
	memset(hashes, 0, sizeof(uint64_t) * n);
	for (uint32_t k = 0; k < run->agg.key_words; k++)
	{
		const uint64_t *words = keys + k * stride;

		if (run->agg.key_is_float[k])
			for (uint32_t j = 0; j < n; j++)
				hashes[j] = gpucol_hash_mix(hashes[j], without_sign_of_zero(words[j]));
		else
			for (uint32_t j = 0; j < n; j++)
				hashes[j] = gpucol_hash_mix(hashes[j], words[j]);
	}
}

/*
 * The first group of each row's hash, or NO_GROUP: a level at a time, so that what is not in
 * the cache is fetched for many rows at once.  Groups that were added since change nothing
 * but that the search must be made again where there was none.
 */
static void
guess_groups(const GpucolCpuGroups *groups, uint32_t n, const uint64_t *hashes, uint32_t *ids)
{
	const GpucolHashTable *table = &groups->table;
	uint32_t	words = groups->run->agg.group_words;

	for (uint32_t j = 0; j < n; j++)
		GPUCOL_PREFETCH(&table->slots[gpucol_hash_home(table, hashes[j])]);
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	at = gpucol_hash_home(table, hashes[j]);

		if (j > 0 && hashes[j] == hashes[j - 1])
			ids[j] = ids[j - 1];
		else if (!gpucol_hash_next(table, hashes[j], &at, &ids[j]))
			ids[j] = NO_GROUP;
		else
		{
			const uint64_t *key = &groups->keys[(size_t) ids[j] * words];

			GPUCOL_PREFETCH(key);
			GPUCOL_PREFETCH(key + words - 1);
		}
	}
}

/* Find or add the group of row j, of which ids[j] is a guess. */
GPUCOL_CPU_INLINE GpucolStatus
find_group(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t j,
		   uint64_t hash, uint32_t *ids)
{
	uint64_t	at = gpucol_hash_home(&groups->table, hash);

	if (ids[j] != NO_GROUP && same_key(groups, ids[j], keys, stride, j))
		return GPUCOL_OK;
	if (groups->sorted > 0 && !keys[j] && find_sorted(groups, (int64_t) keys[stride + j], &ids[j]))
		return GPUCOL_OK;
	while (gpucol_hash_next(&groups->table, hash, &at, &ids[j]))
		if (same_key(groups, ids[j], keys, stride, j))
			return GPUCOL_OK;
	if (grow_groups(groups, 1) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if (2 * ((uint64_t) groups->n - groups->sorted + 1) > groups->table.nslots)
	{
		if (grow_slots(groups) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		at = gpucol_hash_free(&groups->table, hash);
	}
	groups->only_layout = 0;
	ids[j] = add_group(groups, keys, stride, j);
	gpucol_hash_put(&groups->table, at, hash, ids[j]);
	groups->nhashed++;
	return GPUCOL_OK;
}

/* Find or add groups by hash. */
static GpucolStatus
lookup_hashed(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t n,
			  uint64_t *hashes, uint32_t *ids)
{
	hash_rows(groups->run, keys, stride, n, hashes);
	if (choose_search(groups, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if ((groups->table.nslots == 0 || groups->nhashed < groups->n) &&
		grow_slots(groups) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t first = 0; first < n; first += GUESSED)
	{
		uint32_t	end = n - first < GUESSED ? n : first + GUESSED;

		if (groups->table.nslots > GPUCOL_CPU_CACHED_SLOTS)
			guess_groups(groups, end - first, hashes + first, ids + first);
		else
			memset(ids + first, 0xff, sizeof(uint32_t) * (end - first));
		for (uint32_t j = first; j < end; j++)
		{
			/* rows of a group often follow each other */
			if (j > 0 && hashes[j] == hashes[j - 1] && same_key(groups, ids[j - 1], keys, stride, j))
				ids[j] = ids[j - 1];
			else if (find_group(groups, keys, stride, j, hashes[j], ids) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
		}
	}
	return GPUCOL_OK;
}

/* Range of the non-null values of a single key. */
GPUCOL_CPU_CLONES static void
key_range(const uint64_t *nulls, const int64_t *values, uint32_t n, int64_t *least,
		  int64_t *greatest)
{
	int64_t		lo = INT64_MAX;
	int64_t		hi = INT64_MIN;

	for (uint32_t j = 0; j < n; j++)
	{
		int64_t		low = nulls[j] ? INT64_MAX : values[j];
		int64_t		high = nulls[j] ? INT64_MIN : values[j];

		lo = low < lo ? low : lo;
		hi = high > hi ? high : hi;
	}
	*least = lo;
	*greatest = hi;
}

/* May a table of so many values take memory, which groups themselves may need? */
static bool
direct_pays(const GpucolRun *run, size_t nvalues)
{
	return sizeof(uint32_t) * nvalues < gpucol_budget_left(&run->mem.budget) / 4;
}

/* Room in the table of a single key for numbers of strings up to this one. */
static bool
grow_direct(GpucolCpuGroups *groups, uint64_t greatest)
{
	uint32_t	size = groups->direct_size != 0 ? groups->direct_size : groups->by_hash ? FIRST_GROUPS : DIRECT_VALUES;
	uint32_t   *direct;

	if (greatest < groups->direct_size)
		return true;
	while (size <= greatest && size < DIRECT_STRINGS)
		size *= 2;
	if (size <= greatest || !direct_pays(groups->run, size))
		return false;
	direct = gpucol_cpu_realloc(groups->run, groups->direct, sizeof(uint32_t) * (size_t) size);
	if (direct == NULL)
		return false;
	memset(direct + groups->direct_size, 0,
		   sizeof(uint32_t) * (size_t) (size - groups->direct_size));
	groups->direct = direct;
	groups->direct_size = size;
	return true;
}

/*
 * Enter the groups that were added elsewhere in the table of a single key of strings; false
 * without memory.
 */
static bool
enter_strings(GpucolCpuGroups *groups)
{
	for (; groups->ndirect < groups->n; groups->ndirect++)
	{
		const uint64_t *key = groups->keys + (size_t) groups->ndirect * groups->run->agg.group_words;

		if (key[0])
			groups->direct_null = groups->ndirect + 1;
		else if (!grow_direct(groups, key[1]))
			return false;
		else
			groups->direct[key[1]] = groups->ndirect + 1;
	}
	return true;
}

/*
 * Rows of a single key of strings: by address of their numbers.  *done false without memory
 * for that.
 */
static GpucolStatus
lookup_strings(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t n,
			   uint32_t *ids, bool *done)
{
	const uint64_t *numbers = keys + stride;
	int64_t		least;
	int64_t		greatest;

	key_range(keys, (const int64_t *) numbers, n, &least, &greatest);
	*done = enter_strings(groups) && (least > greatest || grow_direct(groups, (uint64_t) greatest));
	for (uint32_t j = 0; j < n && *done; j++)
	{
		uint32_t   *known = keys[j] ? &groups->direct_null : &groups->direct[numbers[j]];

		if (*known == 0)
		{
			if (gpucol_cpu_group_append(groups, keys + j, stride, 1, &ids[j]) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
			groups->only_layout = 0;
			*known = ++groups->ndirect;
		}
		ids[j] = *known - 1;
	}
	return GPUCOL_OK;
}

/*
 * A vector of a single key whose values lie close together: by address.
 * *done false if they do not lie in the table's range.
 */
static GpucolStatus
lookup_direct(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t n,
			  uint64_t *hashes, uint32_t *ids, bool *done)
{
	const int64_t *values = (const int64_t *) keys + stride;
	int64_t		least;
	int64_t		greatest;

	key_range(keys, values, n, &least, &greatest);
	*done = false;
	if (least <= greatest)
	{
		uint64_t	range = (uint64_t) greatest - (uint64_t) least;

		if (range >= DIRECT_VALUES)
			return GPUCOL_OK;
		if (groups->direct == NULL)
		{
			groups->direct = direct_pays(groups->run, DIRECT_VALUES) ?
				gpucol_cpu_alloc0(groups->run, sizeof(uint32_t) * DIRECT_VALUES) : NULL;
			if (groups->direct == NULL)
				return GPUCOL_OK;
			groups->direct_base = (int64_t) ((uint64_t) least - (DIRECT_VALUES - range) / 2);
			if (groups->direct_base > least)
				groups->direct_base = least;
			groups->direct_size = DIRECT_VALUES;
		}
		if (least < groups->direct_base ||
			(uint64_t) greatest - (uint64_t) groups->direct_base >= groups->direct_size)
			return GPUCOL_OK;
	}
	*done = true;
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t   *known = keys[j] ? &groups->direct_null :
			&groups->direct[(uint64_t) values[j] - (uint64_t) groups->direct_base];

		if (*known == 0)
		{
			uint32_t	id;

			if (lookup_hashed(groups, keys + j, stride, 1, hashes, &id) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
			groups->only_layout = 0;
			*known = id + 1;
		}
		ids[j] = *known - 1;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_lookup(GpucolCpuGroups *groups, const uint64_t *keys,
						size_t stride, uint32_t n, uint64_t *hashes, uint32_t *ids)
{
	const GpucolRun *run = groups->run;
	bool		done = false;
	uint32_t	found;
	GpucolStatus status = lookup_ascending(groups, keys, stride, n, ids, &found);

	keys += found;
	ids += found;
	n -= found;
	if (status != GPUCOL_OK || n == 0)
		return status;
	if (run->program->nkeys == 1 && run->code.classes[run->code.keys[0]] == GPUCOL_CLASS_S)
		status = lookup_strings(groups, keys, stride, n, ids, &done);
	else if (n >= 64 && !groups->by_hash && run->agg.key_words == 2 && !run->agg.key_is_float[1])
		status = lookup_direct(groups, keys, stride, n, hashes, ids, &done);
	return done || status != GPUCOL_OK ? status :
		lookup_hashed(groups, keys, stride, n, hashes, ids);
}

/* ---- sets ---- */

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
	return gpucol_hash_mix(gpucol_hash_mix(0, group), value);
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

static void
put_pair(uint64_t *slots, uint64_t at, uint64_t group, uint64_t value)
{
	slots[2 * at] = group + 1;
	slots[2 * at + 1] = value;
}

void
gpucol_cpu_group_prefetch(const GpucolCpuSet *set, uint64_t group, uint64_t value)
{
	if (set->nslots >= GPUCOL_CPU_CACHED_SLOTS)
		GPUCOL_PREFETCH(&set->slots[2 * (hash_pair(group, value) & (set->nslots - 1))]);
}

GpucolStatus
gpucol_cpu_group_add(GpucolCpuGroups *groups, GpucolCpuSet *set, uint64_t group,
					 uint64_t value, bool *added)
{
	uint64_t	at;

	if (set->n * 2 >= set->nslots)
	{
		uint64_t	nslots = set->nslots == 0 ? FIRST_PAIRS : set->nslots * 2;
		uint64_t   *slots = gpucol_cpu_alloc0(groups->run, 2 * sizeof(uint64_t) * nslots);

		if (slots == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		for (uint64_t i = 0; i < set->nslots; i++)
			if (set->slots[2 * i] != 0)
			{
				uint64_t	g = set->slots[2 * i] - 1;
				uint64_t	v = set->slots[2 * i + 1];

				put_pair(slots, find_pair(slots, nslots, g, v), g, v);
			}
		gpucol_cpu_free(groups->run, set->slots);
		set->slots = slots;
		set->nslots = nslots;
	}
	at = find_pair(set->slots, set->nslots, group, value);
	*added = set->slots[2 * at] == 0;
	if (*added)
	{
		put_pair(set->slots, at, group, value);
		set->n++;
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
		uint64_t	nbits = (uint64_t) groups->strings.capacity + 64;
		uint64_t   *bits;

		nbits -= nbits % 64;
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
