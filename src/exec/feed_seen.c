/*-------------------------------------------------------------------------
 *
 * feed_seen.c
 *	  Which values, or rows of values, groups have had.
 *
 * For DISTINCT of values that 64 bits tell apart: numbers as they are, floats by their order, in which
 * -0 is 0 and every NaN the same, texts by the numbers of the different ones (feed_words.c); and of decimals
 * that two words tell apart.  A group and the values of one row are some words, which are looked up in a hash
 * table.  NULL is a value, too; who has no use for such rows does not ask.  Constants tell nothing apart.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/prefetch.h"
#include "exec/feed_seen.h"
#include "exec/feed_words.h"
#include "exec/item_table.h"
#include "kernel/float_order.h"
#include "kernel/hash.h"

/* So many rows before its turn a row is sought in memory. */
#define AHEAD	16

struct GpucolSeen
{
	const GpucolFed *fed;
	MemoryContext context;
	GpucolWords **words;		/* by argument; NULL: it is a number */
	int			nvalues;		/* words of a row's values */
	int		   *args;			/* whose they are; of an argument that has two the upper one is behind those of all */
	GpucolItemTable items;
	uint64	   *tuples;			/* by item: group and NULLs, then these words */

	/* the batch */
	uint32		nrows;
	const int64 **values;		/* by word, by row; NULL: a constant */
	const uint8 **nulls;
	uint64	   *firsts;			/* by row: of the tuple */
	uint64	   *hashes;
};

/* Words of a tuple. */
static inline int
width_of(const GpucolSeen *seen)
{
	return seen->nvalues + 1;
}

/* Has an argument two words? */
static inline bool
is_wide(const GpucolFedArg *arg)
{
	return arg->output >= 0 && arg->value.cls == GPUCOL_CLASS_D && arg->value.digits > GPUCOL_INT64_DIGITS;
}

GpucolSeen *
gpucol_seen_create(const GpucolFed *fed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol values seen",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolSeen *seen = palloc0(sizeof(GpucolSeen));

	seen->fed = fed;
	seen->context = context;
	seen->words = palloc0(fed->nargs * sizeof(GpucolWords *));
	seen->args = palloc(2 * fed->nargs * sizeof(int));
	seen->values = palloc0(2 * fed->nargs * sizeof(int64 *));
	seen->nulls = palloc0(2 * fed->nargs * sizeof(uint8 *));
	for (int i = 0; i < fed->nargs; i++)
		seen->args[seen->nvalues++] = i;
	for (int i = 0; i < fed->nargs; i++)
	{
		if (is_wide(&fed->args[i]))
			seen->args[seen->nvalues++] = i;
	}
	for (int i = 0; i < fed->nargs; i++)
	{
		Node	   *arg = (Node *) fed->args[i].expr;

		if (!gpucol_fed_is_constant(&fed->args[i]) && fed->args[i].value.cls == GPUCOL_CLASS_S)
			seen->words[i] = gpucol_words_create(exprType(arg), exprCollation(arg));
	}
	MemoryContextSwitchTo(old);
	return seen;
}

void
gpucol_seen_free(GpucolSeen *seen)
{
	MemoryContextDelete(seen->context);
}

Size
gpucol_seen_room(const GpucolSeen *seen, uint64 nrows)
{
	Size		room = gpucol_item_growth(&seen->items, nrows, width_of(seen) * sizeof(uint64));

	for (int i = 0; i < seen->fed->nargs; i++)
	{
		if (seen->words[i] != NULL)
			room += gpucol_words_room(seen->words[i], nrows);
	}
	return room;
}

/* The values of an argument as 64 bits. */
static const int64 *
numbers_of(GpucolWords *words, GpucolClass cls, const GpucolResultColumn *column, const bool *pass, uint32 nrows)
{
	int64	   *numbers;

	if (cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_B)
		return column->i;
	numbers = palloc0(Max(nrows, 1) * sizeof(int64));
	if (words != NULL)
		gpucol_words_number(words, column, pass, nrows, numbers);
	for (uint32 row = 0; row < nrows && cls == GPUCOL_CLASS_D; row++)
		numbers[row] = (int64) column->d[row];
	for (uint32 row = 0; row < nrows && cls == GPUCOL_CLASS_F; row++)
		numbers[row] = gpucol_float_order(column->f[row]);
	return numbers;
}

/* Their upper words, where these have two. */
static const int64 *
uppers_of(const GpucolResultColumn *column, uint32 nrows)
{
	int64	   *uppers = palloc(Max(nrows, 1) * sizeof(int64));

	for (uint32 row = 0; row < nrows; row++)
		uppers[row] = (int64) (column->d[row] >> 64);
	return uppers;
}

void
gpucol_seen_load(GpucolSeen *seen, const GpucolResult *result, const bool *pass)
{
	seen->nrows = result->nrows;
	seen->firsts = palloc(Max(result->nrows, 1) * sizeof(uint64));
	seen->hashes = palloc(Max(result->nrows, 1) * sizeof(uint64));
	for (int i = 0; i < seen->nvalues; i++)
	{
		const GpucolFedArg *arg = &seen->fed->args[seen->args[i]];
		const GpucolResultColumn *column;

		if (gpucol_fed_is_constant(arg))
			continue;
		column = &result->columns[arg->output];
		seen->values[i] = i >= seen->fed->nargs ? uppers_of(column, result->nrows) :
			numbers_of(seen->words[i], arg->value.cls, column, pass, result->nrows);
		seen->nulls[i] = column->nulls;
	}
}

/* A word of the tuple of a row. */
static inline uint64
word_of(const GpucolSeen *seen, int i, uint32 row)
{
	bool		none = seen->values[i] == NULL || (seen->nulls[i] != NULL && seen->nulls[i][row]);

	return none ? 0 : (uint64) seen->values[i][row];
}

void
gpucol_seen_turn(GpucolSeen *seen, const uint32 *groups)
{
	for (uint32 row = 0; row < seen->nrows; row++)
		seen->firsts[row] = groups[row];
	for (int i = 0; i < seen->fed->nargs; i++)
	{
		for (uint32 row = 0; row < seen->nrows && seen->nulls[i] != NULL; row++)
			seen->firsts[row] |= (uint64) (seen->nulls[i][row] != 0) << (32 + i);
	}
	for (uint32 row = 0; row < seen->nrows; row++)
		seen->hashes[row] = gpucol_hash_mix(0, seen->firsts[row]);
	for (int i = 0; i < seen->nvalues; i++)
	{
		for (uint32 row = 0; row < seen->nrows; row++)
			seen->hashes[row] = gpucol_hash_mix(seen->hashes[row], word_of(seen, i, row));
	}
}

/* Is it the tuple of this row? */
static inline bool
is_tuple(const GpucolSeen *seen, const uint64 *tuple, uint32 row)
{
	if (tuple[0] != seen->firsts[row])
		return false;
	for (int i = 0; i < seen->nvalues; i++)
	{
		if (tuple[i + 1] != word_of(seen, i, row))
			return false;
	}
	return true;
}

/* Make room for one more tuple. */
static inline void
reserve_tuple(GpucolSeen *seen)
{
	MemoryContext old = MemoryContextSwitchTo(seen->context);

	if (gpucol_item_reserve(&seen->items))
		seen->tuples = gpucol_grow(seen->tuples, seen->items.room * width_of(seen) * sizeof(uint64));
	MemoryContextSwitchTo(old);
}

bool
gpucol_seen_is_new(GpucolSeen *seen, uint32 row)
{
	GpucolHashTable *table = &seen->items.hash;
	int			width = width_of(seen);
	uint64		hash = seen->hashes[row];
	uint64	   *tuple;
	uint64		at;
	uint32		number;

	reserve_tuple(seen);
	if (row + AHEAD < seen->nrows)
		GPUCOL_PREFETCH(&table->slots[gpucol_hash_home(table, seen->hashes[row + AHEAD])]);
	at = gpucol_hash_home(table, hash);
	while (gpucol_hash_next(table, hash, &at, &number))
	{
		if (is_tuple(seen, seen->tuples + (Size) number * width, row))
			return false;
	}
	tuple = seen->tuples + (Size) gpucol_item_add(&seen->items, hash, at) * width;
	tuple[0] = seen->firsts[row];
	for (int i = 0; i < seen->nvalues; i++)
		tuple[i + 1] = word_of(seen, i, row);
	return true;
}
