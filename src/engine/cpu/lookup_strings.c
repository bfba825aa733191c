/*-------------------------------------------------------------------------
 *
 * lookup_strings.c
 *	  The strings of a table in the making: those of all workers become its entries.
 *
 * All threads take slices of the workers' strings.  Those of a key must differ: each string is put
 * into the key's hash table, unless it is there, by one atomic operation.  Which of equal strings
 * comes first is open where there are several threads; that one alone is counted, and
 * has the number of all.  Other columns keep what the workers have, each string for itself.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/lookup_build.h"
#include "kernel/hash.h"

#define SLICE_STRINGS 2048		/* at least */

typedef struct Strings
{
	GpucolMaking *making;
	int			c;
	GpucolLookupColumn *column;
	GpucolHashTable *table;		/* of a key; else NULL */
	uint32_t   *starts;			/* by worker: strings of those before */
	uint32_t	n;				/* of all workers */
	GpucolBytes *given;			/* these; if no key, the entries themselves */
	uint32_t   *first;			/* of a key: the one that stands for a string */
	uint32_t   *numbers;		/* entries */
	uint32_t	nslices;
	size_t		before[GPUCOL_POOL_MAX_THREADS];	/* entries of a slice, or their bytes; then those before it */
} Strings;

/* The strings of a slice. */
GPUCOL_CPU_INLINE uint32_t
slice_start(uint32_t n, uint64_t slice, const Strings *strings)
{
	return (uint32_t) gpucol_lookup_share_start(n, slice, strings->nslices);
}

/* Make what slices have what those before have; returns what all have. */
static size_t
add_up(Strings *strings)
{
	size_t		all = 0;

	for (uint32_t s = 0; s < strings->nslices; s++)
	{
		size_t		n = strings->before[s];

		strings->before[s] = all;
		all += n;
	}
	return all;
}

/* Collect a worker's strings. */
static void
collect(void *arg, uint64_t w)
{
	const Strings *strings = arg;
	const GpucolCpuBuiltColumn *from = &strings->making->run->workers[w].built->columns[strings->c];
	uint32_t	start = strings->starts[w];

	if (from->nentries > 0)
		memcpy(strings->given + start, from->entries, sizeof(GpucolBytes) * from->nentries);
	for (uint32_t i = 0; i < from->nentries && strings->table == NULL; i++)
		strings->numbers[start + i] = start + i;
}

/* Put a string into the table, unless it is there; returns the one that is. */
static uint32_t
put_string(const Strings *strings, uint32_t i)
{
	GpucolBytes value = strings->given[i];
	const GpucolHashTable *table = strings->table;
	uint64_t	hash = gpucol_hash_bytes(value.data, value.len);
	uint64_t	mine = (hash & UINT64_C(0xffffffff00000000)) | (i + UINT64_C(1));

	for (uint64_t at = gpucol_hash_home(table, hash);; at = (at + 1) & (table->nslots - 1))
	{
		uint64_t	slot = __atomic_load_n(&table->slots[at], __ATOMIC_RELAXED);
		uint32_t	other;

		if (slot == 0 && __atomic_compare_exchange_n(&table->slots[at], &slot, mine, false,
													 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i;
		other = (uint32_t) slot - 1;
		if ((slot ^ hash) >> 32 == 0 && strings->given[other].len == value.len &&
			gpucol_hash_same(strings->given[other].data, value.data, value.len))
			return other;
	}
}

static void
put_slice(void *arg, uint64_t slice)
{
	Strings    *strings = arg;
	uint32_t	end = slice_start(strings->n, slice + 1, strings);
	size_t		n = 0;

	for (uint32_t i = slice_start(strings->n, slice, strings); i < end; i++)
	{
		strings->first[i] = put_string(strings, i);
		n += strings->first[i] == i;
	}
	strings->before[slice] = n;
}

/* Number those of a slice that stand for their string. */
static void
number_slice(void *arg, uint64_t slice)
{
	const Strings *strings = arg;
	uint32_t	end = slice_start(strings->n, slice + 1, strings);
	uint32_t	number = (uint32_t) strings->before[slice];

	for (uint32_t i = slice_start(strings->n, slice, strings); i < end; i++)
		if (strings->first[i] == i)
		{
			strings->column->entries[number] = strings->given[i];
			strings->numbers[i] = number++;
		}
}

/* The numbers of the others, and those in a slice of the table. */
static void
renumber_slice(void *arg, uint64_t slice)
{
	const Strings *strings = arg;
	uint64_t	nslots = strings->table->nslots;
	uint64_t   *slots = strings->table->slots;
	uint32_t	end = slice_start(strings->n, slice + 1, strings);
	uint64_t	last = gpucol_lookup_share_start(nslots, slice + 1, strings->nslices);

	for (uint32_t i = slice_start(strings->n, slice, strings); i < end; i++)
		if (strings->first[i] != i)
			strings->numbers[i] = strings->numbers[strings->first[i]];
	for (uint64_t s = gpucol_lookup_share_start(nslots, slice, strings->nslices); s < last; s++)
		if (slots[s] != 0)
			slots[s] = (slots[s] & UINT64_C(0xffffffff00000000)) |
				(strings->numbers[(uint32_t) slots[s] - 1] + UINT64_C(1));
}

/* Bytes of a slice of the entries. */
static void
measure_slice(void *arg, uint64_t slice)
{
	Strings    *strings = arg;
	uint32_t	end = slice_start(strings->column->nentries, slice + 1, strings);
	size_t		size = 0;

	for (uint32_t i = slice_start(strings->column->nentries, slice, strings); i < end; i++)
		size += strings->column->entries[i].len;
	strings->before[slice] = size;
}

/* Copy them to the table's, which the first entry has. */
typedef struct Bytes
{
	const Strings *strings;
	char	   *to;
} Bytes;

static void
copy_slice(void *arg, uint64_t slice)
{
	const Bytes *bytes = arg;
	const Strings *strings = bytes->strings;
	uint32_t	end = slice_start(strings->column->nentries, slice + 1, strings);
	char	   *to = bytes->to + strings->before[slice];

	for (uint32_t i = slice_start(strings->column->nentries, slice, strings); i < end; i++)
	{
		GpucolBytes *entry = &strings->column->entries[i];

		if (entry->len > 0)
			memcpy(to, entry->data, entry->len);
		entry->data = to;
		to += entry->len;
	}
}

/* Give the table its own bytes of the entries. */
static GpucolStatus
own_bytes(Strings *strings)
{
	GpucolMaking *making = strings->making;
	Bytes		bytes = {.strings = strings};

	gpucol_lookup_share(making, strings->nslices, measure_slice, strings);
	bytes.to = gpucol_owned_alloc(&making->lookup->memory, add_up(strings) + 1);
	if (bytes.to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_lookup_share(making, strings->nslices, copy_slice, &bytes);
	return GPUCOL_OK;
}

/* Slots for the strings of a key. */
static GpucolStatus
make_slots(Strings *strings)
{
	GpucolLookup *lookup = strings->making->lookup;
	uint64_t	nslots = gpucol_hash_slots(0, strings->n + UINT64_C(1));
	uint64_t   *slots = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(uint64_t) * nslots);

	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	strings->table = &lookup->keys[strings->c].table;
	gpucol_hash_set_slots(strings->table, slots, nslots);
	return GPUCOL_OK;
}

/* Memory for the strings, and where each worker's begin. */
static GpucolStatus
open_strings(Strings *strings)
{
	GpucolRun  *run = strings->making->run;
	GpucolLookup *lookup = strings->making->lookup;
	uint64_t	total = 0;

	strings->starts = gpucol_cpu_alloc(run, sizeof(uint32_t) * (size_t) run->nworkers);
	if (strings->starts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int w = 0; w < run->nworkers; w++)
	{
		strings->starts[w] = (uint32_t) total;
		total += run->workers[w].built->columns[strings->c].nentries;
		if (total >= UINT32_MAX / 4)
			return GPUCOL_OUT_OF_MEMORY;
	}
	strings->n = (uint32_t) total;
	strings->nslices = total < SLICE_STRINGS ? 1 : (uint32_t) run->nworkers;
	strings->column->entries = gpucol_owned_alloc(&lookup->memory, sizeof(GpucolBytes) * (total + 1));
	strings->numbers = gpucol_cpu_alloc(run, sizeof(uint32_t) * (total + 1));
	if (strings->column->entries == NULL || strings->numbers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	strings->numbers[total] = 0;
	strings->given = strings->column->entries;
	if (!gpucol_lookup_is_key(strings->making, strings->c))
		return GPUCOL_OK;
	strings->given = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * (total + 1));
	strings->first = gpucol_cpu_alloc(run, sizeof(uint32_t) * (total + 1));
	return strings->given == NULL || strings->first == NULL ? GPUCOL_OUT_OF_MEMORY : make_slots(strings);
}

/* The only entry of a column without strings: no row has it, and it need not be a value of the column's type. */
const char	gpucol_lookup_no_string[1] = "";

GpucolStatus
gpucol_lookup_number_strings(GpucolMaking *making, int c)
{
	GpucolRun  *run = making->run;
	GpucolLookupColumn *column = &making->lookup->columns[c];
	Strings		strings = {.making = making,.c = c,.column = column};
	GpucolStatus status = open_strings(&strings);

	if (status != GPUCOL_OK)
		return status;
	for (uint64_t w = 0; w < (uint64_t) run->nworkers && strings.nslices == 1; w++)
		collect(&strings, w);
	if (strings.nslices > 1)
		gpucol_lookup_share(making, (uint64_t) run->nworkers, collect, &strings);
	column->nentries = strings.n;
	if (strings.table != NULL)
	{
		gpucol_lookup_share(making, strings.nslices, put_slice, &strings);
		column->nentries = (uint32_t) add_up(&strings);
		gpucol_lookup_share(making, strings.nslices, number_slice, &strings);
		gpucol_lookup_share(making, strings.nslices, renumber_slice, &strings);
		gpucol_cpu_free(run, strings.given);
		gpucol_cpu_free(run, strings.first);
	}
	for (int w = 0; w < run->nworkers; w++)
		making->numbers[w * making->lookup->ncolumns + c] = strings.numbers + strings.starts[w];
	gpucol_cpu_free(run, strings.starts);
	if (column->nentries > 0)
		return own_bytes(&strings);
	column->entries[column->nentries++] = (GpucolBytes) {gpucol_lookup_no_string, 0};
	return GPUCOL_OK;
}
