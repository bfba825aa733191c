/*-------------------------------------------------------------------------
 *
 * group_lookup.c
 *	  Finding the groups of rows.
 *
 * A single key whose values lie close together, or that is a string, is found by address; one
 * whose values ascend behind the last group; all others by hash (base/hash_table.h).
 *
 * The table of groups may be much larger than the processor's cache.  Rows of a group often
 * follow each other: only the first of each run is looked up.  Slots are fetched for many of
 * them at once, then the keys of the groups that are found there.  Where the search for one
 * ended it goes on, as nothing moves while there is room, which is made for all of them before.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/hash.h"

#define FIRST_GROUPS 256
#define DIRECT_VALUES 65536		/* values of a single key found without hashing, */
#define DIRECT_STRINGS (UINT32_C(1) << 26)	/* and numbers of strings */
#define WIDE_VECTORS 16			/* so many whose values do not lie so close: none will */
#define SORTED_GROUPS 65536		/* so many that ascend are searched by halves */
#define SOUGHT 128				/* rows that slots and groups are fetched for at a time */
#define NO_GROUP UINT32_MAX

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

/* Enter every group that is not sorted in the hash table, with room for n more. */
static GpucolStatus
grow_slots(GpucolCpuGroups *groups, uint32_t n)
{
	if (gpucol_cpu_group_grow(groups->run, &groups->table, (uint64_t) groups->n - groups->sorted + n) != GPUCOL_OK)
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
	if (grow_slots(groups, 1) != GPUCOL_OK)
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

/* Number of a new group with the key of row j, of so many words; there must be room. */
GPUCOL_CPU_INLINE uint32_t
add_group(GpucolCpuGroups *groups, uint32_t nwords, bool ascends, const uint64_t *keys,
		  size_t stride, uint32_t j)
{
	const GpucolRun *run = groups->run;
	uint32_t	g = groups->n++;
	uint64_t   *key = groups->keys + (size_t) g * run->agg.group_words;

	for (uint32_t k = 0; k < nwords; k++)
		key[k] = keys[k * stride + j];
	for (uint32_t w = 0; w < run->agg.state_words; w++)
		key[nwords + w] = run->agg.first_state[w];
	if (ascends && !keys[j] &&
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
	const GpucolRun *run = groups->run;
	const int64_t *values = (const int64_t *) keys + stride;
	uint32_t	j = 0;

	*found = 0;
	if (!may_ascend(run))
		return GPUCOL_OK;
	for (; j < n && !keys[j] && (groups->top == 0 || values[j] >= top_key(groups)); j++)
	{
		if (groups->top == 0 || values[j] > top_key(groups))
		{
			if (grow_groups(groups, 1) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
			groups->only_layout = 0;
			add_group(groups, run->agg.key_words, may_ascend(run), keys, stride, j);
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
	const GpucolRun *run = groups->run;

	if (grow_groups(groups, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < n; j++)
		ids[j] = add_group(groups, run->agg.key_words, may_ascend(run), keys, stride, j);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_append_rows(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, const uint16_t *rows,
							 uint32_t n)
{
	const GpucolRun *run = groups->run;

	if (grow_groups(groups, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		add_group(groups, run->agg.key_words, may_ascend(run), keys, stride, rows[i]);
	return GPUCOL_OK;
}

/* ---- by hash ---- */

/* The first rows of runs of equal keys, to be looked up. */
typedef struct Search
{
	GpucolCpuGroups *groups;
	const uint64_t *keys;
	size_t		stride;
	const uint64_t *hashes;		/* of all rows */
	const uint16_t *rows;		/* those to be looked up */
	uint32_t	n;
	uint32_t   *ids;			/* of each of them */
} Search;

/* Is the key of group g, of so many words, that of row j? */
GPUCOL_CPU_INLINE bool
same_key(const Search *search, uint32_t nwords, bool floats, uint32_t g, uint32_t j)
{
	const GpucolRun *run = search->groups->run;
	const uint64_t *key = search->groups->keys + (size_t) g * run->agg.group_words;

	for (uint32_t k = 0; k < nwords; k++)
	{
		uint64_t	word = search->keys[k * search->stride + j];

		if (key[k] != word &&
			!(floats && run->agg.key_is_float[k] && (key[k] | word) << 1 == 0))
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
				hashes[j] = gpucol_hash_mix(hashes[j], gpucol_cpu_group_float_word(words[j]));
		else
			for (uint32_t j = 0; j < n; j++)
				hashes[j] = gpucol_hash_mix(hashes[j], words[j]);
	}
}

/* Bytes that tell whether a row's key is not that of the row before. */
GPUCOL_CPU_CLONES static void
tell_runs(const uint64_t *keys, size_t stride, uint32_t nwords, uint32_t n, uint8_t *first)
{
	memset(first, 0, n);
	for (uint32_t k = 0; k < nwords; k++)
	{
		const uint64_t *words = keys + k * stride;

		for (uint32_t j = 1; j < n; j++)
			first[j] |= words[j] != words[j - 1];
	}
	first[0] = 1;
}

/* List the rows whose byte is set; returns their number.  There is room for one more. */
static uint32_t
list_runs(const uint8_t *first, uint32_t n, uint16_t *rows)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		rows[m] = (uint16_t) j;
		m += first[j];
	}
	return m;
}

/* Make room for n groups more, which are looked for. */
static GpucolStatus
make_room(GpucolCpuGroups *groups, uint32_t n)
{
	if (grow_groups(groups, n) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if (groups->nhashed == groups->n && 2 * ((uint64_t) groups->n - groups->sorted + n) <= groups->table.nslots)
		return GPUCOL_OK;
	return grow_slots(groups, n);
}

/*
 * Rows [from, end) of a search, SOUGHT at most.  at[] is where the search goes on that began with
 * fetching.
 */
GPUCOL_CPU_INLINE GpucolStatus
search_some(const Search *search, uint32_t nwords, bool floats, uint32_t from, uint32_t end)
{
	GpucolCpuGroups *groups = search->groups;
	const GpucolHashTable *table = &groups->table;
	bool		ascends = may_ascend(groups->run);
	uint32_t	words = groups->run->agg.group_words;
	uint64_t	at[SOUGHT];

	if (make_room(groups, end - from) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = from; i < end; i++)
		GPUCOL_PREFETCH(&table->slots[gpucol_hash_home(table, search->hashes[search->rows[i]])]);
	for (uint32_t i = from; i < end; i++)
	{
		uint64_t	hash = search->hashes[search->rows[i]];
		const uint64_t *key;

		at[i - from] = gpucol_hash_home(table, hash);
		if (!gpucol_hash_next(table, hash, &at[i - from], &search->ids[i]))
			search->ids[i] = NO_GROUP;
		key = &groups->keys[(size_t) (search->ids[i] == NO_GROUP ? groups->n : search->ids[i]) * words];
		GPUCOL_PREFETCH(key);
		GPUCOL_PREFETCH(key + words - 1);
	}
	for (uint32_t i = from; i < end; i++)
	{
		uint32_t	j = search->rows[i];
		uint64_t	hash = search->hashes[j];
		uint32_t   *id = &search->ids[i];
		bool		found = *id != NO_GROUP && same_key(search, nwords, floats, *id, j);

		if (!found && groups->sorted > 0 && !search->keys[j])
			found = find_sorted(groups, (int64_t) search->keys[search->stride + j], id);
		while (!found && gpucol_hash_next(table, hash, &at[i - from], id))
			found = same_key(search, nwords, floats, *id, j);
		if (found)
			continue;
		*id = add_group(groups, nwords, ascends, search->keys, search->stride, j);
		gpucol_hash_put(&groups->table, at[i - from], hash, *id);
		groups->nhashed++;
		groups->only_layout = 0;
	}
	return GPUCOL_OK;
}

/* The same of all rows, by code for the number of words that a key has. */
static GpucolStatus
search_all(const Search *search)
{
	const GpucolRun *run = search->groups->run;
	uint32_t	nwords = run->agg.key_words;
	bool		floats = false;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t k = 0; k < nwords; k++)
		floats |= run->agg.key_is_float[k];
	for (uint32_t from = 0; from < search->n && status == GPUCOL_OK; from += SOUGHT)
	{
		uint32_t	end = search->n - from < SOUGHT ? search->n : from + SOUGHT;

		if (nwords == 2 && !floats)
			status = search_some(search, 2, false, from, end);
		else if (nwords == 3 && !floats)
			status = search_some(search, 3, false, from, end);
		else if (nwords == 4 && !floats)
			status = search_some(search, 4, false, from, end);
		else
			status = search_some(search, nwords, floats, from, end);
	}
	return status;
}

/* Find or add groups by hash. */
static GpucolStatus
lookup_hashed(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride, uint32_t n,
			  uint64_t *hashes, uint32_t *ids)
{
	uint8_t		first[GPUCOL_VECTOR_VALUES];
	uint32_t	found[GPUCOL_VECTOR_VALUES];
	Search		search = {groups, keys, stride, hashes, groups->runs, 0, found};
	uint32_t	run = UINT32_MAX;

	hash_rows(groups->run, keys, stride, n, hashes);
	tell_runs(keys, stride, groups->run->agg.key_words, n, first);
	search.n = list_runs(first, n, groups->runs);
	if (search.n == n)
		search.ids = ids;
	if (choose_search(groups, search.n) != GPUCOL_OK || search_all(&search) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	groups->nruns = search.n;
	groups->runs[search.n] = (uint16_t) n;
	for (uint32_t j = 0; j < n && search.n < n; j++)
	{
		run += first[j];
		ids[j] = found[run];
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
		{
			groups->by_hash = groups->direct == NULL && ++groups->wide >= WIDE_VECTORS;
			return GPUCOL_OK;
		}
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
	GpucolStatus status;

	groups->nruns = 0;
	status = lookup_ascending(groups, keys, stride, n, ids, &found);
	keys += found;
	ids += found;
	n -= found;
	if (status != GPUCOL_OK || n == 0)
		return status;
	if (run->program->nkeys == 1 && run->code.classes[run->code.keys[0]] == GPUCOL_CLASS_S)
		status = lookup_strings(groups, keys, stride, n, ids, &done);
	else if (n >= 64 && !groups->by_hash && run->agg.key_words == 2 && !run->agg.key_is_float[1])
		status = lookup_direct(groups, keys, stride, n, hashes, ids, &done);
	if (!done && status == GPUCOL_OK)
		status = lookup_hashed(groups, keys, stride, n, hashes, ids);
	if (done || found > 0)
		groups->nruns = 0;
	return status;
}
