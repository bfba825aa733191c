/*-------------------------------------------------------------------------
 *
 * group_strings.c
 *	  Byte strings of the CPU engine's aggregation, numbered in order of appearance.
 *
 * Groups and sets know strings by their numbers.  A segment's dictionary codes are
 * numbered once each; raw strings are looked up a vector at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/hash.h"

#define FIRST_STRINGS 64
#define CHUNK_BYTES 65536
#define NO_STRING UINT32_MAX

/* Memory of the arena. */
char *
gpucol_cpu_group_space(GpucolCpuGroups *groups, size_t size)
{
	GpucolCpuStrings *strings = &groups->strings;
	char	   *space;

	if (strings->chunk == NULL || strings->chunk_size - strings->chunk_used < size)
	{
		size_t		all = size + sizeof(char *) > CHUNK_BYTES ?
			size + sizeof(char *) : CHUNK_BYTES;
		char	   *chunk = gpucol_cpu_alloc(groups->run, all);

		if (chunk == NULL)
			return NULL;
		*(char **) chunk = strings->chunk;
		strings->chunk = chunk;
		strings->chunk_used = sizeof(char *);
		strings->chunk_size = all;
	}
	space = strings->chunk + strings->chunk_used;
	strings->chunk_used += size;
	return space;
}

/* Copy bytes into the arena. */
static const char *
keep_bytes(GpucolCpuGroups *groups, GpucolBytes value)
{
	char	   *kept = gpucol_cpu_group_space(groups, value.len);

	if (kept != NULL && value.len > 0)
		memcpy(kept, value.data, value.len);
	return kept;
}

/* Room for one more string, and for its slot. */
static GpucolStatus
grow_strings(GpucolCpuGroups *groups)
{
	GpucolCpuStrings *strings = &groups->strings;
	GpucolRun  *run = groups->run;

	if (strings->n == strings->capacity)
	{
		uint32_t	capacity = strings->capacity == 0 ? FIRST_STRINGS : strings->capacity * 2;
		GpucolBytes *values;

		if (capacity > UINT32_MAX / 8)
			return GPUCOL_OUT_OF_MEMORY;
		values = gpucol_cpu_realloc(run, strings->values, sizeof(GpucolBytes) * (size_t) capacity);
		if (values == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		strings->values = values;
		strings->capacity = capacity;
	}
	return gpucol_cpu_group_grow(run, &strings->table, (uint64_t) strings->n + 1);
}

GPUCOL_CPU_INLINE bool
same_bytes(const GpucolBytes *a, const GpucolBytes *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Number of a byte string with its hash, of which *number is a guess, added if it is new. */
static GpucolStatus
find_string(GpucolCpuGroups *groups, GpucolBytes value, uint64_t hash, uint32_t *number)
{
	GpucolCpuStrings *strings = &groups->strings;
	uint64_t	at;

	if (*number != NO_STRING && same_bytes(&strings->values[*number], &value))
		return GPUCOL_OK;
	if (grow_strings(groups) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	at = gpucol_hash_home(&strings->table, hash);
	while (gpucol_hash_next(&strings->table, hash, &at, number))
		if (same_bytes(&strings->values[*number], &value))
			return GPUCOL_OK;
	strings->values[strings->n].data = keep_bytes(groups, value);
	strings->values[strings->n].len = value.len;
	if (strings->values[strings->n].data == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	strings->bytes += value.len;
	*number = strings->n++;
	gpucol_hash_put(&strings->table, at, hash, *number);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_string(GpucolCpuGroups *groups, GpucolBytes value, uint32_t *number)
{
	*number = NO_STRING;
	return find_string(groups, value, gpucol_hash_bytes(value.data, value.len), number);
}

/*
 * The first string of each of n hashes, or NO_STRING: a level at a time, so that slots,
 * strings and their bytes are fetched for all of them at once.
 */
static void
guess_strings(const GpucolCpuStrings *strings, const uint64_t *hashes, uint32_t n, uint32_t *guesses)
{
	const GpucolHashTable *table = &strings->table;

	memset(guesses, 0xff, sizeof(uint32_t) * n);
	if (table->nslots < GPUCOL_CPU_CACHED_SLOTS)
		return;
	for (uint32_t j = 0; j < n; j++)
		GPUCOL_PREFETCH(&table->slots[gpucol_hash_home(table, hashes[j])]);
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	at = gpucol_hash_home(table, hashes[j]);

		if (gpucol_hash_next(table, hashes[j], &at, &guesses[j]))
			GPUCOL_PREFETCH(&strings->values[guesses[j]]);
	}
	for (uint32_t j = 0; j < n; j++)
		if (guesses[j] != NO_STRING)
			GPUCOL_PREFETCH(strings->values[guesses[j]].data);
}

/*
 * Rows that hold a string to be looked up: the string of no bytes, which may be that of
 * most rows, is numbered here.
 */
static GpucolStatus
number_empty(GpucolCpuGroups *groups, const GpucolBytes *values, const uint8_t *skip, uint32_t n,
			 uint64_t *numbers, uint16_t *rows, uint32_t *nrows)
{
	uint32_t	m = 0;
	uint32_t	nempty = 0;
	uint64_t	empty = groups->strings.empty - UINT64_C(1);

	for (uint32_t j = 0; j < n; j++)
	{
		bool		known = skip != NULL && skip[j];

		rows[m] = (uint16_t) j;
		m += values[j].len > 0 && !known;
		nempty += values[j].len == 0 && !known;
		numbers[j] = known ? 0 : empty;
	}
	*nrows = m;
	if (nempty > 0 && groups->strings.empty == 0)
	{
		uint32_t	number;

		if (gpucol_cpu_group_string(groups, (GpucolBytes) {"", 0}, &number) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		groups->strings.empty = number + 1;
		return number_empty(groups, values, skip, n, numbers, rows, nrows);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_strings(GpucolCpuGroups *groups, const GpucolBytes *values,
						 const uint8_t *skip, uint32_t n, uint64_t *hashes,
						 uint64_t *numbers)
{
	uint16_t	rows[GPUCOL_VECTOR_VALUES + 1];
	uint32_t	guesses[GPUCOL_VECTOR_VALUES];
	uint32_t	nrows;

	if (number_empty(groups, values, skip, n, numbers, rows, &nrows) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < nrows; i++)
		hashes[i] = gpucol_hash_bytes(values[rows[i]].data, values[rows[i]].len);
	guess_strings(&groups->strings, hashes, nrows, guesses);
	for (uint32_t i = 0; i < nrows; i++)
	{
		uint32_t	j = rows[i];

		if (i > 0 && hashes[i] == hashes[i - 1] && same_bytes(&values[j], &values[rows[i - 1]]))
			numbers[j] = numbers[rows[i - 1]];
		else if (find_string(groups, values[j], hashes[i], &guesses[i]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		else
			numbers[j] = guesses[i];
	}
	return GPUCOL_OK;
}

/* Forget the codes of another segment. */
static GpucolStatus
open_map(GpucolCpuGroups *groups, const GpucolCpuColumn *column, GpucolCpuCodeMap **map)
{
	GpucolRun  *run = groups->run;

	*map = &groups->maps[column->slot];
	if ((*map)->serial == gpucol_cpu_codes_serial(run, column))
		return GPUCOL_OK;
	gpucol_cpu_free(run, (*map)->numbers);
	(*map)->numbers = gpucol_cpu_alloc0(run, sizeof(uint32_t) * gpucol_cpu_code_space(column));
	(*map)->serial = (*map)->numbers == NULL ? 0 : gpucol_cpu_codes_serial(run, column);
	return (*map)->numbers == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* Number of a code that has none yet. */
static GpucolStatus
number_code(GpucolCpuGroups *groups, const GpucolCpuColumn *column, uint32_t code,
			uint32_t *known)
{
	uint32_t	number;
	GpucolStatus status = gpucol_cpu_group_string(groups, column->entries[code], &number);

	if (status == GPUCOL_OK)
		*known = number + 1;
	return status;
}

GpucolStatus
gpucol_cpu_group_code(GpucolCpuGroups *groups, const GpucolCpuColumn *column,
					  uint32_t code, uint32_t *number)
{
	GpucolCpuCodeMap *map;
	GpucolStatus status = open_map(groups, column, &map);

	if (status == GPUCOL_OK && map->numbers[code] == 0)
		status = number_code(groups, column, code, &map->numbers[code]);
	if (status == GPUCOL_OK)
		*number = map->numbers[code] - 1;
	return status;
}

GpucolStatus
gpucol_cpu_group_codes(GpucolCpuGroups *groups, const GpucolCpuColumn *column,
					   const uint32_t *codes, const uint8_t *skip, uint32_t n,
					   uint64_t *numbers)
{
	GpucolCpuCodeMap *map;
	GpucolStatus status = open_map(groups, column, &map);

	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
	{
		uint32_t   *known = &map->numbers[codes[j]];

		numbers[j] = 0;
		if (skip != NULL && skip[j])
			continue;
		if (*known == 0)
			status = number_code(groups, column, codes[j], known);
		numbers[j] = *known - 1;
	}
	return status;
}
