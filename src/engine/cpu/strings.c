/*-------------------------------------------------------------------------
 *
 * strings.c
 *	  Byte strings of the CPU engine's aggregation, numbered, once for all threads.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/strings.h"
#include "kernel/hash.h"

#define FIRST_SLOTS 32
#define FIRST_PIECE 512			/* bytes; the next is twice as large, up to */
#define LAST_PIECE	65536
#define SPINS		100			/* before a thread sleeps until it has a shard's lock */
#define SOUGHT		128			/* strings that slots are fetched for at a time */
#define BLOCK		256			/* codes numbered together where a segment's rows have most of them, */
#define ASKED		4096		/* and so many have been numbered one by one */

/* Strings that are looked up. */
typedef struct Search
{
	GpucolRun  *run;
	const GpucolBytes *values;
	const uint16_t *rows;
	uint32_t	n;
	uint64_t   *hashes;
	GpucolCpuStringSlots *slots[SOUGHT];	/* where each was looked for, */
	uint64_t	at[SOUGHT];		/* and from where the search goes on */
	uint32_t	found[SOUGHT];	/* index in its shard */
} Search;

/* Does the program group by strings, or count different ones? */
static bool
has_strings(const GpucolRun *run)
{
	for (int k = 0; k < run->program->nkeys; k++)
		if (run->code.classes[run->code.keys[k]] == GPUCOL_CLASS_S)
			return true;
	for (int a = 0; a < run->agg.naccs; a++)
		if (run->agg.accs[a].op == GPUCOL_CPU_ACC_DISTINCT &&
			run->code.classes[run->agg.accs[a].arg] == GPUCOL_CLASS_S)
			return true;
	return false;
}

GpucolStatus
gpucol_cpu_strings_open(GpucolRun *run)
{
	uint32_t	bits = run->nworkers > 1 && has_strings(run) ? GPUCOL_CPU_SHARD_BITS : 0;
	GpucolCpuStrings *strings = gpucol_cpu_alloc0(run, sizeof(GpucolCpuStrings) + (sizeof(GpucolCpuShard) << bits));

	if (strings == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	strings->bits = bits;
	pthread_mutex_init(&strings->lock, NULL);
	for (uint32_t s = 0; s < UINT32_C(1) << bits; s++)
		pthread_mutex_init(&strings->shards[s].lock, NULL);
	strings->maps = gpucol_cpu_alloc0(run, sizeof(GpucolCpuCodeMap) *
									  (run->program->ncolumns + run->program->npayloads + run->digest.nfew + 1u));
	run->agg.strings = strings;
	return strings->maps == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

uint64_t
gpucol_cpu_strings_bytes(const GpucolRun *run)
{
	uint64_t	bytes = 0;

	for (uint32_t s = 0; s < UINT32_C(1) << run->agg.strings->bits; s++)
		bytes += run->agg.strings->shards[s].bytes;
	return bytes;
}

/* ---- adding ---- */

/* Memory of a shard, which is locked, and counted in it. */
static void *
shard_alloc(GpucolRun *run, GpucolCpuShard *shard, size_t size)
{
	void	   *memory = gpucol_cpu_alloc(run, size);

	shard->bytes += memory == NULL ? 0 : size;
	return memory;
}

/* Copy bytes into a shard's memory. */
static const char *
keep_bytes(GpucolRun *run, GpucolCpuShard *shard, GpucolBytes value)
{
	char	   *kept;

	if (value.len > shard->left || shard->space == NULL)
	{
		size_t		size = shard->piece == 0 ? FIRST_PIECE : shard->piece * 2;

		shard->piece = size > LAST_PIECE ? LAST_PIECE : size;
		size = value.len > shard->piece ? value.len : shard->piece;
		kept = shard_alloc(run, shard, size);
		if (kept == NULL)
			return NULL;
		shard->space = kept;
		shard->left = (uint32_t) size;
	}
	kept = shard->space;
	if (value.len > 0)
		memcpy(kept, value.data, value.len);
	shard->space += value.len;
	shard->left -= (uint32_t) value.len;
	return kept;
}

/* Room for one more string, and for its slot. */
static GpucolStatus
grow_shard(GpucolRun *run, GpucolCpuShard *shard)
{
	GpucolCpuStringSlots *old = shard->slots;
	uint32_t	place = shard->n + GPUCOL_CPU_FIRST_STRINGS;
	int			block = 31 - __builtin_clz(place) - __builtin_ctz(GPUCOL_CPU_FIRST_STRINGS);
	uint64_t	nslots = old == NULL ? FIRST_SLOTS : old->nslots;

	if (shard->n >= (UINT32_MAX >> run->agg.strings->bits) - 1 || block == GPUCOL_CPU_STRING_BLOCKS)
		return GPUCOL_OUT_OF_MEMORY;
	if (shard->blocks[block] == NULL)
		shard->blocks[block] = shard_alloc(run, shard, (sizeof(GpucolBytes) * GPUCOL_CPU_FIRST_STRINGS) << block);
	if (shard->blocks[block] == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (old == NULL || nslots < 2 * ((uint64_t) shard->n + 1))
	{
		GpucolCpuStringSlots *slots;
		GpucolHashTable to = {0};

		nslots *= old == NULL ? 1 : 2;
		slots = shard_alloc(run, shard, sizeof(GpucolCpuStringSlots) + sizeof(uint64_t) * nslots);
		if (slots == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		memset(slots->slots, 0, sizeof(uint64_t) * nslots);
		gpucol_hash_set_slots(&to, slots->slots, nslots);
		slots->nslots = nslots;
		slots->shift = to.shift;
		if (old != NULL)
		{
			GpucolHashTable from = {old->slots, old->nslots, old->shift};

			gpucol_hash_copy(&to, &from, 0, old->nslots);
		}
		__atomic_store_n(&shard->slots, slots, __ATOMIC_RELEASE);
		slots->older = old;		/* which searches that have begun still read */
	}
	return GPUCOL_OK;
}

/* ---- searching ---- */

/* As gpucol_hash_next, beside threads that put items into slots. */
GPUCOL_CPU_INLINE bool
next_string(const GpucolCpuStringSlots *slots, uint64_t hash, uint64_t *at, uint32_t *index)
{
	uint64_t	slot;

	GPUCOL_PROBE(*at, *at, slots->nslots,
				 (slot = __atomic_load_n(&slots->slots[*at], __ATOMIC_ACQUIRE)) == 0 || (slot ^ hash) >> 32 == 0);
	if (slot == 0)
		return false;
	*index = (uint32_t) slot - 1;
	(*at)++;
	return true;
}

/* Is it this string of the shard? */
GPUCOL_CPU_INLINE bool
is_string(const GpucolCpuShard *shard, uint32_t index, const GpucolBytes *value)
{
	const GpucolBytes *kept = gpucol_cpu_shard_place(shard, index);

	return kept->len == value->len && gpucol_hash_same(kept->data, value->data, value->len);
}

/* Search for string i of a search on, and add it; the shard is locked. */
static GpucolStatus
add_string(Search *search, uint32_t i, GpucolCpuShard *shard)
{
	GpucolRun  *run = search->run;
	const GpucolBytes *value = &search->values[search->rows[i]];
	uint64_t	hash = search->hashes[i];
	uint64_t	at = search->at[i];
	GpucolStatus status = grow_shard(run, shard);
	GpucolBytes *place;

	if (status != GPUCOL_OK)
		return status;
	if (shard->slots != search->slots[i])
		at = (hash >> 32) >> shard->slots->shift;
	while (next_string(shard->slots, hash, &at, &search->found[i]))
		if (is_string(shard, search->found[i], value))
			return GPUCOL_OK;
	place = gpucol_cpu_shard_place(shard, shard->n);
	place->data = keep_bytes(run, shard, *value);
	place->len = value->len;
	if (place->data == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	search->found[i] = shard->n++;
	__atomic_store_n(&shard->slots->slots[at],
					 (hash & UINT64_C(0xffffffff00000000)) | ((uint64_t) search->found[i] + 1), __ATOMIC_RELEASE);
	return GPUCOL_OK;
}

/* Add it under the lock, where there are several threads. */
static GpucolStatus
add_locked(Search *search, uint32_t i, GpucolCpuShard *shard)
{
	bool		locked = false;
	GpucolStatus status;

	if (search->run->nworkers == 1)
		return add_string(search, i, shard);
	for (int spins = 0; !locked && spins < SPINS; spins++)
		locked = pthread_mutex_trylock(&shard->lock) == 0;
	if (!locked)
		pthread_mutex_lock(&shard->lock);
	status = add_string(search, i, shard);
	pthread_mutex_unlock(&shard->lock);
	return status;
}

/* Free the slots that were replaced, where no other thread may read them; no search has begun. */
static void
free_replaced(GpucolRun *run)
{
	GpucolCpuStringSlots *slots = run->nworkers == 1 ? run->agg.strings->shards[0].slots : NULL;

	while (slots != NULL && slots->older != NULL)
	{
		GpucolCpuStringSlots *older = slots->older;

		slots->older = older->older;
		run->agg.strings->shards[0].bytes -= sizeof(GpucolCpuStringSlots) + sizeof(uint64_t) * older->nslots;
		gpucol_cpu_free(run, older);
	}
}

/*
 * Look up to SOUGHT strings up: a level at a time, so that slots, strings and their bytes are
 * fetched for all of them at once.
 */
static GpucolStatus
search_some(Search *search)
{
	GpucolCpuStrings *strings = search->run->agg.strings;
	GpucolStatus status = GPUCOL_OK;

	free_replaced(search->run);
	for (uint32_t i = 0; i < search->n; i++)
	{
		const GpucolBytes *value = &search->values[search->rows[i]];
		uint64_t	hash = search->hashes[i] = gpucol_hash_bytes(value->data, value->len);
		GpucolCpuStringSlots *slots = __atomic_load_n(&strings->shards[gpucol_cpu_shard_of(strings, hash)].slots,
													  __ATOMIC_ACQUIRE);

		search->slots[i] = slots;
		if (slots == NULL)
			continue;
		search->at[i] = (hash >> 32) >> slots->shift;
		GPUCOL_PREFETCH(&slots->slots[search->at[i]]);
	}
	for (uint32_t i = 0; i < search->n; i++)
	{
		const GpucolCpuShard *shard = &strings->shards[gpucol_cpu_shard_of(strings, search->hashes[i])];

		if (search->slots[i] == NULL ||
			!next_string(search->slots[i], search->hashes[i], &search->at[i], &search->found[i]))
			search->found[i] = GPUCOL_CPU_NO_STRING;
		else
			GPUCOL_PREFETCH(gpucol_cpu_shard_place(shard, search->found[i]));
	}
	for (uint32_t i = 0; i < search->n; i++)
		if (search->found[i] != GPUCOL_CPU_NO_STRING)
			GPUCOL_PREFETCH(gpucol_cpu_shard_place(&strings->shards[gpucol_cpu_shard_of(strings, search->hashes[i])],
												   search->found[i])->data);
	for (uint32_t i = 0; i < search->n && status == GPUCOL_OK; i++)
	{
		GpucolCpuShard *shard = &strings->shards[gpucol_cpu_shard_of(strings, search->hashes[i])];
		const GpucolBytes *value = &search->values[search->rows[i]];
		bool		found = search->found[i] != GPUCOL_CPU_NO_STRING;

		while (found && !is_string(shard, search->found[i], value))
			found = next_string(search->slots[i], search->hashes[i], &search->at[i], &search->found[i]);
		if (!found)
			status = add_locked(search, i, shard);
	}
	return status;
}

GpucolStatus
gpucol_cpu_strings_find(GpucolRun *run, const GpucolBytes *values, const uint16_t *rows, uint32_t n,
						uint64_t *hashes, uint64_t *numbers)
{
	const GpucolCpuStrings *strings = run->agg.strings;
	Search		search = {.run = run,.values = values};
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t from = 0; from < n && status == GPUCOL_OK; from += SOUGHT)
	{
		search.rows = rows + from;
		search.n = n - from < SOUGHT ? n - from : SOUGHT;
		search.hashes = hashes + from;
		status = search_some(&search);
		for (uint32_t i = 0; i < search.n && status == GPUCOL_OK; i++)
			numbers[search.rows[i]] = search.found[i] << strings->bits | gpucol_cpu_shard_of(strings, search.hashes[i]);
	}
	return status;
}

GpucolStatus
gpucol_cpu_strings_empty(GpucolRun *run, uint64_t *number)
{
	static const GpucolBytes nothing = {"", 0};
	uint32_t	known = __atomic_load_n(&run->agg.strings->empty, __ATOMIC_RELAXED);
	uint16_t	row = 0;
	uint64_t	hash;
	GpucolStatus status = GPUCOL_OK;

	*number = known - UINT64_C(1);
	if (known == 0)
		status = gpucol_cpu_strings_find(run, &nothing, &row, 1, &hash, number);
	if (status == GPUCOL_OK)
		__atomic_store_n(&run->agg.strings->empty, (uint32_t) *number + 1, __ATOMIC_RELAXED);
	return status;
}

/* ---- codes ---- */

/* The numbers of a column's codes in this segment; NULL beyond the limit of memory. */
static uint32_t *
open_map(GpucolRun *run, const GpucolCpuColumn *column)
{
	GpucolCpuStrings *strings = run->agg.strings;
	GpucolCpuCodeMap *map = &strings->maps[column->slot];
	uint64_t	serial = gpucol_cpu_codes_serial(run, column);

	if (__atomic_load_n(&map->serial, __ATOMIC_ACQUIRE) == serial)
		return map->numbers;
	pthread_mutex_lock(&strings->lock);
	if (map->serial != serial)
	{
		gpucol_cpu_free(run, map->numbers);
		map->numbers = gpucol_cpu_alloc0(run, sizeof(uint32_t) * gpucol_cpu_code_space(column));
		map->asked = 0;
		__atomic_store_n(&map->serial, map->numbers == NULL ? 0 : serial, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&strings->lock);
	return map->numbers;
}

/* Number n codes, SOUGHT at most. */
static GpucolStatus
number_codes(GpucolRun *run, const GpucolCpuColumn *column, const uint32_t *codes, uint32_t n, uint32_t *map)
{
	GpucolBytes values[SOUGHT];
	uint64_t	hashes[SOUGHT];
	uint64_t	found[SOUGHT];
	uint16_t	all[SOUGHT];
	GpucolStatus status;

	values[0].data = NULL;
	all[0] = 0;
	for (uint32_t i = 0; i < n; i++)
	{
		values[i] = column->entries[codes[i]];
		GPUCOL_PREFETCH(values[i].data);
		all[i] = (uint16_t) i;
	}
	status = gpucol_cpu_strings_find(run, values, all, n, hashes, found);
	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i++)
		__atomic_store_n(&map[codes[i]], (uint32_t) found[i] + 1, __ATOMIC_RELAXED);
	return status;
}

/* Number those codes of a code's block that have no number yet. */
static GpucolStatus
number_block(GpucolRun *run, const GpucolCpuColumn *column, uint32_t code, uint32_t *map)
{
	uint32_t	codes[SOUGHT];
	uint32_t	end = code / BLOCK * BLOCK + BLOCK;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t c = code / BLOCK * BLOCK; c < end && c < column->ndict && status == GPUCOL_OK;)
	{
		uint32_t	n = 0;

		for (; n < SOUGHT && c < end && c < column->ndict; c++)
		{
			codes[n] = c;
			n += __atomic_load_n(&map[c], __ATOMIC_RELAXED) == 0;
		}
		status = number_codes(run, column, codes, n, map);
	}
	return status;
}

/*
 * Number the codes of n rows, SOUGHT at most, that have no number yet.  A dictionary's entries
 * ascend, and so do the strings that were added with them: where most of them will be asked for,
 * they are read in this order.
 */
static GpucolStatus
number_rows(GpucolRun *run, const GpucolCpuColumn *column, bool blocks, const uint32_t *codes,
			const uint16_t *rows, uint32_t n, uint64_t *numbers)
{
	uint32_t   *map = run->agg.strings->maps[column->slot].numbers;
	uint32_t	unknown[SOUGHT];
	GpucolStatus status = GPUCOL_OK;

	unknown[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		unknown[i] = codes[rows[i]];
	for (uint32_t i = 0; i < n && blocks && status == GPUCOL_OK; i++)
		if (__atomic_load_n(&map[unknown[i]], __ATOMIC_RELAXED) == 0)
			status = unknown[i] < column->ndict ? number_block(run, column, unknown[i], map) :
				number_codes(run, column, &unknown[i], 1, map);
	if (!blocks)
	{
		status = number_codes(run, column, unknown, n, map);
		__atomic_fetch_add(&run->agg.strings->maps[column->slot].asked, n, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i++)
		numbers[rows[i]] = __atomic_load_n(&map[unknown[i]], __ATOMIC_RELAXED) - UINT64_C(1);
	return status;
}

/* Will the segment's rows, of which so many of a vector pass, have most of the column's codes? */
static bool
asks_most(GpucolRun *run, const GpucolCpuColumn *column, uint32_t passing)
{
	const GpucolCpuCodeMap *map = &run->agg.strings->maps[column->slot];

	return __atomic_load_n(&map->asked, __ATOMIC_RELAXED) >= ASKED && column->slot < run->program->ncolumns &&
		(uint64_t) passing * run->input.nvectors >= column->ndict + (uint64_t) column->ndict / 2;
}

GpucolStatus
gpucol_cpu_strings_codes(GpucolRun *run, const GpucolCpuColumn *column, uint32_t passing, const uint32_t *codes,
						 const uint8_t *skip, uint32_t n, uint64_t *numbers)
{
	uint32_t   *map = open_map(run, column);
	bool		blocks = map != NULL && asks_most(run, column, passing);
	uint16_t	rows[SOUGHT + 1];
	uint32_t	nrows = 0;
	GpucolStatus status = map == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;

	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
	{
		bool		skipped = skip != NULL && skip[j];
		uint32_t	known = skipped ? 1 : __atomic_load_n(&map[codes[j]], __ATOMIC_RELAXED);

		numbers[j] = known - UINT64_C(1);
		rows[nrows] = (uint16_t) j;
		nrows += known == 0;
		if (nrows < SOUGHT)
			continue;
		status = number_rows(run, column, blocks, codes, rows, nrows, numbers);
		nrows = 0;
	}
	return status == GPUCOL_OK ? number_rows(run, column, blocks, codes, rows, nrows, numbers) : status;
}
