/*-------------------------------------------------------------------------
 *
 * probe_codes.c
 *	  Keys found by the packed codes of a column, 32 bits each, without its values.
 *
 * Where a probe's only key is a column of the source that nothing has loaded yet, and the
 * current segment has it with a frame of reference or a dictionary and without NULLs:
 *
 *	  bits	the table is dense: a code and a difference are a word, whose bit is tested;
 *	  all	the zone of the chunk says that every word is there, so nothing is tested;
 *	  none	it says that none is;
 *	  map	the dictionary's entries are looked up once, and codes in what was found.
 *
 * Keys in registers are found in the same way where the table is dense (probe.c brings their
 * words to 32 bits).  The numbers of keys are found for the rows that are left, and only if they are needed.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"

#define FEW_ENTRIES 256			/* dictionaries that are always translated */

/* ---- how, in a segment ---- */

/* Look up the entries [from, from + n) of a dictionary, at most 1,024. */
static void
translate(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, const GpucolCpuColumn *column,
		  uint32_t from, uint32_t n, uint32_t *numbers)
{
	const GpucolLookupKey *key = &probe->table->keys[0];
	uint64_t   *words = worker->trail->words;
	uint8_t    *valid = worker->trail->valid;

	for (uint32_t i = 0; i < n; i++)
	{
		if (column->desc->kind == GPUCOL_KIND_BYTES)
		{
			words[i] = gpucol_lookup_string(probe->table, 0, column->entries[from + i]);
			valid[i] = words[i] != GPUCOL_LOOKUP_NONE;
		}
		else
		{
			words[i] = (uint64_t) column->dict[from + i] - (uint64_t) key->least;
			valid[i] = words[i] <= key->range;
		}
	}
	gpucol_lookup_find(probe->table, words, NULL, valid, n, worker->hashes, numbers);
}

/* Translate a dictionary; false without memory for it. */
static bool
make_map(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, GpucolCpuKeyCodes *codes,
		 const GpucolCpuColumn *column)
{
	size_t		space = (size_t) 1 << column->desc->width;

	if (codes->room < space)
	{
		gpucol_cpu_free(worker->run, codes->numbers);
		codes->room = 0;
		codes->numbers = gpucol_cpu_alloc(worker->run, sizeof(uint32_t) * space);
		if (codes->numbers == NULL)
			return false;
		codes->room = space;
	}
	memset(codes->numbers, 0xff, sizeof(uint32_t) * space);
	for (uint32_t from = 0; from < column->ndict; from += GPUCOL_VECTOR_VALUES)
		translate(worker, probe, column, from, column->ndict - from < GPUCOL_VECTOR_VALUES ?
				  column->ndict - from : GPUCOL_VECTOR_VALUES, codes->numbers + from);
	return true;
}

/* Is translating worth it in this segment? */
static bool
map_pays(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return column->ndict <= FEW_ENTRIES +
		run->input.segment.nrows / 8 / (uint32_t) run->nworkers;
}

/* How the codes of a column with a frame of reference become words. */
static GpucolCpuCodesWay
plan_frame(const GpucolLookup *table, const GpucolChunkDesc *desc, GpucolCpuKeyCodes *codes)
{
	const GpucolLookupKey *key = &table->keys[0];
	__int128	greatest = (__int128) key->least + key->range;
	__int128	delta = (__int128) desc->reference - key->least;
	bool		zone = (desc->flags & GPUCOL_CHUNK_HAS_ZONE) != 0;

	if (zone && (desc->zone.min > greatest || desc->zone.max < key->least))
		return GPUCOL_CPU_CODES_NONE;
	/* a sum below 0, or beyond 2^31, is then no word in 32 bits either */
	if (!table->dense || table->greatest > INT32_MAX || desc->width > 31 ||
		delta < INT32_MIN || delta > INT32_MAX)
		return GPUCOL_CPU_CODES_VALUES;
	codes->delta = (uint32_t) (int32_t) delta;
	return zone && table->gapless && desc->zone.min >= key->least && desc->zone.max <= greatest ?
		GPUCOL_CPU_CODES_ALL : GPUCOL_CPU_CODES_BITS;
}

/* How keys are found in the current segment. */
static GpucolCpuCodesWay
plan_codes(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, GpucolCpuKeyCodes *codes)
{
	const GpucolCpuColumn *column = &worker->run->input.cols[probe->codes_slot];
	const GpucolChunkDesc *desc = column->desc;

	if (desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL) ||
		probe->table->nkeyed == 0)
		return GPUCOL_CPU_CODES_VALUES;
	if (desc->coding == GPUCOL_CODING_FOR)
		return plan_frame(probe->table, desc, codes);
	if (desc->coding == GPUCOL_CODING_DICT && map_pays(worker->run, column) &&
		make_map(worker, probe, codes, column))
		return GPUCOL_CPU_CODES_MAP;
	return GPUCOL_CPU_CODES_VALUES;
}

/* ---- vectors ---- */

GPUCOL_CPU_CLONES static void
add_delta(uint32_t *words, uint32_t n, uint32_t delta)
{
	for (uint32_t j = 0; j < n; j++)
		words[j] += delta;
}

GPUCOL_CPU_CLONES static void
look_up(const uint32_t *map, uint32_t n, uint32_t *codes)
{
	for (uint32_t j = 0; j < n; j++)
		codes[j] = map[codes[j]];
}

bool
gpucol_cpu_codes_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
					  const GpucolCpuProbe *probe)
{
	GpucolRun  *run = worker->run;
	GpucolCpuKeyCodes *codes = &worker->trail->codes_of[probe->number];
	uint32_t   *words = worker->trail->narrow;

	if (probe->codes_slot < 0 || vector->delta != NULL)
		return false;
	if (codes->serial != run->input.segment_serial)
	{
		codes->way = plan_codes(worker, probe, codes);
		codes->serial = run->input.segment_serial;
	}
	worker->trail->way = codes->way;
	if (codes->way == GPUCOL_CPU_CODES_VALUES)
		return false;
	if (codes->way == GPUCOL_CPU_CODES_NONE)
		return true;
	gpucol_cpu_column_codes(worker, &run->input.cols[probe->codes_slot], vector->number, words);
	if (codes->way == GPUCOL_CPU_CODES_MAP)
		look_up(codes->numbers, worker->nsel, words);
	else
		add_delta(words, worker->nsel, codes->delta);
	return true;
}

uint32_t
gpucol_cpu_codes_select(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, bool there,
						uint16_t *at)
{
	const uint32_t *words = worker->trail->narrow;
	uint32_t	n = worker->nsel;

	switch (worker->trail->way)
	{
		case GPUCOL_CPU_CODES_BITS:
			return gpucol_select_bits(words, n, probe->table->bits,
									  (uint32_t) probe->table->greatest, there, at);
		case GPUCOL_CPU_CODES_MAP:
			return gpucol_select_numbers(words, n, there, at);
		case GPUCOL_CPU_CODES_ALL:
			return there ? gpucol_select_all(n, at) : 0;
		default:
			return there ? 0 : gpucol_select_all(n, at);
	}
}

/* Numbers of words; of those that are not there, if they are not all. */
GPUCOL_CPU_CLONES static void
rank_words(const GpucolLookup *table, const uint32_t *words, const uint16_t *at, uint32_t n,
		   bool all, uint32_t *numbers)
{
	uint32_t	greatest = (uint32_t) table->greatest;

	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	word = words[at == NULL ? j : at[j]];
		bool		in = all || word <= greatest;

		word = in ? word : 0;
		numbers[j] = all || (in && (table->bits[word >> 6] >> (word & 63) & 1)) ?
			gpucol_lookup_rank(table, word) : GPUCOL_LOOKUP_NONE;
	}
}

GPUCOL_CPU_CLONES static void
take_words(const uint32_t *words, const uint16_t *at, uint32_t n, uint32_t *numbers)
{
	if (at == NULL)
		memcpy(numbers, words, sizeof(uint32_t) * n);
	else
		for (uint32_t j = 0; j < n; j++)
			numbers[j] = words[at[j]];
}

void
gpucol_cpu_codes_numbers(GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
						 const uint16_t *at, uint32_t n, uint32_t *numbers)
{
	const uint32_t *words = worker->trail->narrow;

	switch (worker->trail->way)
	{
		case GPUCOL_CPU_CODES_BITS:
			rank_words(probe->table, words, at, n, at != NULL, numbers);
			break;
		case GPUCOL_CPU_CODES_MAP:
		case GPUCOL_CPU_CODES_ALL:
			take_words(words, at, n, numbers);
			break;
		default:
			memset(numbers, 0xff, sizeof(uint32_t) * n);
	}
}
