/*-------------------------------------------------------------------------
 *
 * lookup_build.c
 *	  Making a table of the rows that a BUILD has kept.
 *
 *	  1. the workers' pieces, in the order of the scan, number the rows;
 *	  2. strings of all workers become entries of the table, those of keys once each;
 *	  3. every row gets the word of its key;
 *	  4. distinct words are numbered, by bits or by hash, and rows get their places;
 *	  5. columns are written in their narrow width to these places.
 *
 * What rows need one by one (3, 5) is dealt to all threads by pieces; lookup_strings.c has 2,
 * lookup_place.c 4, which all threads do, too.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/lookup_build.h"

/* ---- threads ---- */

typedef struct Dealing
{
	void		(*task) (void *arg, uint64_t i);
	void	   *arg;
	uint64_t	n;
	_Atomic uint64_t next;
} Dealing;

static void
do_share(void *arg, int index)
{
	Dealing    *dealing = arg;
	uint64_t	i;

	(void) index;
	while ((i = atomic_fetch_add(&dealing->next, 1)) < dealing->n)
		dealing->task(dealing->arg, i);
}

void
gpucol_lookup_share(const GpucolMaking *making, uint64_t n, void (*task) (void *arg, uint64_t i), void *arg)
{
	Dealing		dealing = {.task = task,.arg = arg,.n = n};

	gpucol_pool_run(n < 2 ? 1 : making->run->nworkers, do_share, &dealing);
}

void
gpucol_lookup_share_pieces(const GpucolMaking *making, void (*task) (void *arg, uint64_t piece), void *arg)
{
	if (making->npieces >= GPUCOL_LOOKUP_FEW_PIECES)
		gpucol_lookup_share(making, making->npieces, task, arg);
	else
		for (uint64_t piece = 0; piece < making->npieces; piece++)
			task(arg, piece);
}

/* ---- pieces ---- */

static int
compare_pieces(const void *a, const void *b)
{
	const GpucolCpuPiece *x = a;
	const GpucolCpuPiece *y = b;

	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static GpucolStatus
collect_pieces(GpucolMaking *making)
{
	GpucolRun  *run = making->run;
	uint64_t	nrows = 0;
	uint64_t	n = 0;

	for (int w = 0; w < run->nworkers; w++)
	{
		nrows += run->workers[w].built->nrows;
		making->npieces += run->workers[w].built->npieces;
		making->lookup->has_null |= run->workers[w].built->has_null;
		making->lookup->has_rows |= run->workers[w].built->has_rows;
	}
	if (nrows > GPUCOL_LOOKUP_MAX_ROWS)
		return GPUCOL_OUT_OF_MEMORY;
	making->nrows = making->lookup->nrows = (uint32_t) nrows;
	making->pieces = gpucol_cpu_alloc(run, sizeof(GpucolCpuPiece) * (making->npieces + 1));
	making->starts = gpucol_cpu_alloc(run, sizeof(uint32_t) * (making->npieces + 1));
	if (making->pieces == NULL || making->starts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int w = 0; w < run->nworkers; w++)
	{
		const GpucolCpuBuilt *built = run->workers[w].built;

		if (built->npieces > 0)
			memcpy(making->pieces + n, built->pieces, sizeof(GpucolCpuPiece) * built->npieces);
		n += built->npieces;
	}
	qsort(making->pieces, making->npieces, sizeof(GpucolCpuPiece), compare_pieces);
	nrows = 0;
	for (uint64_t p = 0; p < making->npieces; p++)
	{
		making->starts[p] = (uint32_t) nrows;
		nrows += making->pieces[p].n;
	}
	return GPUCOL_OK;
}

/* ---- columns ---- */

/* Bytes of the codes 0 .. range. */
static int
code_width(uint64_t range)
{
	return range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
}

/* Frame, width and memory of a column; the frame of a key. */
static GpucolStatus
open_column(GpucolMaking *making, int c)
{
	GpucolRun  *run = making->run;
	GpucolLookup *lookup = making->lookup;
	GpucolLookupColumn *column = &lookup->columns[c];
	size_t		nrows = (size_t) making->nrows + 1;
	int64_t		least = INT64_MAX;
	int64_t		greatest = INT64_MIN;
	bool		has_nulls = false;
	bool		wide = false;

	column->cls = (GpucolClass) run->code.classes[run->code.keys[c]];
	for (int w = 0; w < run->nworkers; w++)
	{
		const GpucolCpuBuiltColumn *from = &run->workers[w].built->columns[c];

		least = from->least < least ? from->least : least;
		greatest = from->greatest > greatest ? from->greatest : greatest;
		has_nulls |= from->has_nulls;
		wide |= from->wide;
	}
	if (column->cls == GPUCOL_CLASS_S)
	{
		GpucolStatus status = gpucol_lookup_number_strings(making, c);

		if (status != GPUCOL_OK)
			return status;
		least = 0;
		greatest = (int64_t) column->nentries - 1;
	}
	if (column->cls == GPUCOL_CLASS_F || wide)
	{
		least = INT64_MIN;
		greatest = INT64_MAX;
	}
	if (least > greatest)
		least = greatest = 0;
	column->width = code_width((uint64_t) greatest - (uint64_t) least);
	column->reference = column->width == 8 ? 0 : least;
	column->least = least;
	column->greatest = greatest;
	column->values = gpucol_owned_alloc(&lookup->memory, (size_t) column->width * nrows);
	if (has_nulls)
		column->nulls = gpucol_owned_alloc(&lookup->memory, nrows);
	if (wide)
		column->highs = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(int64_t) * nrows);
	if (column->values == NULL || (has_nulls && column->nulls == NULL) ||
		(wide && column->highs == NULL))
		return GPUCOL_OUT_OF_MEMORY;
	memset(column->values, 0, (size_t) column->width);	/* where there are no rows */
	if (gpucol_lookup_is_key(making, c))
	{
		lookup->keys[c].least = least;
		lookup->keys[c].range = (uint64_t) greatest - (uint64_t) least;
	}
	return GPUCOL_OK;
}

/* Write a piece's rows of one column to their places. */
static void
write_column(const GpucolMaking *making, uint64_t piece, int c)
{
	const GpucolCpuPiece *from = &making->pieces[piece];
	const GpucolCpuChunk *chunk = from->chunk;
	GpucolLookupColumn *column = &making->lookup->columns[c];
	const uint32_t *places = making->places + making->starts[piece];
	const int64_t *values = chunk->values + (size_t) c * chunk->room + from->start;
	const uint8_t *nulls = chunk->nulls + (size_t) c * chunk->room + from->start;
	const uint32_t *numbers = making->numbers[chunk->worker * making->lookup->ncolumns + c];
	const int64_t *highs = chunk->highs == NULL || chunk->highs[c] == NULL ? NULL :
		chunk->highs[c] + from->start;

	for (uint32_t j = 0; j < from->n && column->highs != NULL; j++)
		column->highs[places[j]] = nulls[j] ? 0 : highs != NULL ? highs[j] : values[j] < 0 ? -1 : 0;
	for (uint32_t j = 0; j < from->n; j++)
	{
		uint64_t	value = column->cls == GPUCOL_CLASS_S ?
			numbers[values[j]] : (uint64_t) values[j];

		value = nulls[j] ? 0 : value - (uint64_t) column->reference;
		if (column->width == 1)
			((uint8_t *) column->values)[places[j]] = (uint8_t) value;
		else if (column->width == 2)
			((uint16_t *) column->values)[places[j]] = (uint16_t) value;
		else if (column->width == 4)
			((uint32_t *) column->values)[places[j]] = (uint32_t) value;
		else
			((uint64_t *) column->values)[places[j]] = value;
		if (column->nulls != NULL)
			column->nulls[places[j]] = nulls[j];
	}
}

static void
write_piece(void *arg, uint64_t piece)
{
	const GpucolMaking *making = arg;

	for (int c = 0; c < making->lookup->ncolumns; c++)
		write_column(making, piece, c);
}

/* ---- words ---- */

/* Bits of the codes 0 .. range. */
static int
code_bits(uint64_t range)
{
	return range == 0 ? 0 : 64 - __builtin_clzll(range);
}

/* Where codes lie in words, and the greatest word; wide if they do not fit. */
static GpucolStatus
plan_words(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;
	size_t		nrows = (size_t) making->nrows + 1;
	int			bits = 0;

	for (int k = 0; k < lookup->nkeys; k++)
	{
		GpucolLookupKey *key = &lookup->keys[k];

		key->shift = bits < 64 ? bits : 0;
		bits += code_bits(key->range);
		if (bits <= 64)
			lookup->greatest |= key->range << key->shift;
	}
	lookup->wide = bits > 64;
	making->words = gpucol_cpu_alloc(making->run, sizeof(uint64_t) * nrows);
	making->places = gpucol_cpu_alloc(making->run, sizeof(uint32_t) * nrows);
	making->codes = gpucol_cpu_alloc0(making->run, sizeof(uint64_t *) *
									  ((size_t) lookup->nkeys + 1));
	if (making->words == NULL || making->places == NULL || making->codes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (lookup->has_null && (making->run->program->flags & GPUCOL_PROGRAM_KEEP_NULL_KEYS))
	{
		making->null_keys = gpucol_cpu_alloc0(making->run, nrows);
		if (making->null_keys == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int k = 0; k < lookup->nkeys && lookup->wide; k++)
	{
		making->codes[k] = gpucol_cpu_alloc(making->run, sizeof(uint64_t) * nrows);
		if (making->codes[k] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* The code of a value of a key. */
GPUCOL_CPU_INLINE uint64_t
code_of(GpucolClass cls, const GpucolLookupKey *key, const uint32_t *numbers, int64_t value)
{
	if (cls == GPUCOL_CLASS_S)
		return numbers[value];
	if (cls == GPUCOL_CLASS_F)
	{
		double		f;

		memcpy(&f, &value, sizeof(f));
		value = gpucol_lookup_float(f);
	}
	return (uint64_t) value - (uint64_t) key->least;
}

/* The words of a piece's rows. */
static void
word_piece(void *arg, uint64_t piece)
{
	const GpucolMaking *making = arg;
	const GpucolLookup *lookup = making->lookup;
	const GpucolCpuPiece *from = &making->pieces[piece];
	const GpucolCpuChunk *chunk = from->chunk;
	uint32_t	start = making->starts[piece];
	uint64_t   *words = making->words + start;

	memset(words, 0, sizeof(uint64_t) * from->n);
	for (int k = 0; k < lookup->nkeys; k++)
	{
		const int64_t *values = chunk->values + (size_t) k * chunk->room + from->start;
		const uint8_t *nulls = chunk->nulls + (size_t) k * chunk->room + from->start;
		const uint32_t *numbers = making->numbers[chunk->worker * lookup->ncolumns + k];

		for (uint32_t j = 0; j < from->n; j++)
		{
			uint64_t	code = nulls[j] ? 0 :
				code_of(lookup->columns[k].cls, &lookup->keys[k], numbers, values[j]);

			if (making->null_keys != NULL)
				making->null_keys[start + j] |= nulls[j];
			if (lookup->wide)
			{
				making->codes[k][start + j] = code;
				words[j] = gpucol_lookup_add_code(words[j], code);
			}
			else
				words[j] |= code << lookup->keys[k].shift;
		}
	}
}

/* ---- all of it ---- */

/* An empty table, which the run owns until it is handed over. */
static GpucolStatus
open_lookup(GpucolRun *run, GpucolLookup **result)
{
	GpucolLookup *lookup = calloc(1, sizeof(GpucolLookup));
	size_t		used = atomic_load(&run->mem.budget.used);

	*result = run->join.lookup = lookup;
	if (lookup == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_budget_open(&lookup->budget, run->mem.limit == 0 ? 0 :
					   used < run->mem.limit ? run->mem.limit - used : 1, run->mem.parent);
	gpucol_owned_open(&lookup->memory, &lookup->budget);
	lookup->ncolumns = run->program->nkeys;
	lookup->nkeys = run->program->njoin_keys;
	lookup->parted = run->join.part != NULL;
	if (lookup->parted)
		lookup->part = *run->join.part;
	lookup->columns = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(GpucolLookupColumn) *
												((size_t) lookup->ncolumns + 1));
	lookup->keys = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(GpucolLookupKey) *
											 ((size_t) lookup->nkeys + 1));
	return lookup->columns == NULL || lookup->keys == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_lookup_build(GpucolRun *run)
{
	GpucolMaking making = {.run = run};
	GpucolStatus status = open_lookup(run, &making.lookup);

	if (status == GPUCOL_OK)
		status = collect_pieces(&making);
	if (status != GPUCOL_OK)
		return status;
	making.numbers = gpucol_cpu_alloc0(run, sizeof(uint32_t *) * (size_t)
									   (run->nworkers * making.lookup->ncolumns + 1));
	if (making.numbers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < making.lookup->ncolumns && status == GPUCOL_OK; c++)
		status = open_column(&making, c);
	if (status == GPUCOL_OK)
		status = plan_words(&making);
	if (status != GPUCOL_OK)
		return status;
	run->source->ops->check_interrupts(run->source);
	gpucol_lookup_share_pieces(&making, word_piece, &making);
	status = gpucol_lookup_place(&making);
	if (status != GPUCOL_OK)
		return status;
	run->source->ops->check_interrupts(run->source);
	gpucol_lookup_share_pieces(&making, write_piece, &making);
	return GPUCOL_OK;
}
