/*-------------------------------------------------------------------------
 *
 * match.c
 *	  Does an input of a recursion have a row for which a condition holds?
 *
 * Outer joins, EXISTS and NOT EXISTS on more than equal columns: the engine asks
 * about vectors of rows, and PostgreSQL tests the condition with each row of the
 * input that may match.  The rows are kept as the engine has them, and hashed by the
 * columns that must equal an operand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/memutils.h"

#include "recursion/exec/state.h"

#define NO_ROW	PG_UINT32_MAX

struct GpucolRecursiveMatch
{
	int			input;
	bool		none;			/* the test is that there is no such row */
	int			ncolumns;
	int		   *columns;		/* of the input */
	int		   *positions;		/* their places in the slot */
	GpucolRecColumn *types;
	int			nkeys;
	int		   *key_operands;	/* of the step */
	int		   *key_columns;	/* in columns[] */

	MemoryContext scratch;		/* of what is computed with a few rows */

	/* rows; a run's */
	MemoryContext context;
	GpucolRecursionMemory *memory;	/* in which that is counted */
	int64	  **values;			/* by column */
	uint8	  **nulls;
	uint32		nrows;
	uint32		allocated;
	uint32	   *buckets;		/* first row of each; NULL = not hashed yet */
	uint32	   *chain;			/* next row of the bucket, by row */
	uint32		mask;
};

/* The place of a number in a list. */
static int
find_place(List *list, int number)
{
	ListCell   *lc;

	foreach(lc, list)
		if (lfirst_int(lc) == number)
			return foreach_current_index(lc);
	Assert(false);
	return 0;
}

GpucolRecursiveMatch *
gpucol_recursive_match_create(List *how, List *operands, TupleDesc desc)
{
	GpucolRecursiveMatch *match = palloc0(sizeof(GpucolRecursiveMatch));
	List	   *columns = list_nth(how, 2);
	List	   *positions = list_nth(how, 3);
	List	   *keys = list_nth(how, 4);
	List	   *key_columns = list_nth(how, 5);
	int			n = list_length(columns) + 1;

	match->scratch = AllocSetContextCreate(CurrentMemoryContext,
										   "gpucol recursion match",
										   ALLOCSET_SMALL_SIZES);
	match->input = intVal(linitial(how));
	match->none = boolVal(lsecond(how));
	match->ncolumns = list_length(columns);
	match->columns = palloc(n * sizeof(int));
	match->positions = palloc(n * sizeof(int));
	match->types = palloc(n * sizeof(GpucolRecColumn));
	match->values = palloc0(n * sizeof(int64 *));
	match->nulls = palloc0(n * sizeof(uint8 *));
	for (int i = 0; i < match->ncolumns; i++)
	{
		match->columns[i] = list_nth_int(columns, i);
		match->positions[i] = list_nth_int(positions, i);
		gpucol_rec_column_init(&match->types[i],
							   TupleDescAttr(desc, match->positions[i])->atttypid);
	}
	match->nkeys = list_length(keys);
	match->key_operands = palloc((match->nkeys + 1) * sizeof(int));
	match->key_columns = palloc((match->nkeys + 1) * sizeof(int));
	for (int i = 0; i < match->nkeys; i++)
	{
		match->key_operands[i] = find_place(operands, list_nth_int(keys, i));
		match->key_columns[i] = find_place(columns, list_nth_int(key_columns, i));
	}
	return match;
}

int
gpucol_recursive_match_input(const GpucolRecursiveMatch *match)
{
	return match->input;
}

void
gpucol_recursive_match_reset(GpucolRecursiveMatch *match, GpucolRecursionMemory *memory)
{
	match->context = CurrentMemoryContext;
	match->memory = memory;
	match->nrows = match->allocated = 0;
	match->buckets = match->chain = NULL;
	memset(match->values, 0, match->ncolumns * sizeof(int64 *));
	memset(match->nulls, 0, match->ncolumns * sizeof(uint8 *));
}

/* An array of the run's, grown to as many rows as are allocated. */
static void *
grow(GpucolRecursiveMatch *match, void *array, Size size)
{
	if (array != NULL)
		return repalloc_huge(array, match->allocated * size);
	return MemoryContextAllocHuge(match->context, match->allocated * size);
}

void
gpucol_recursive_match_load(GpucolRecursiveMatch *match, uint32 n,
							const int64 *const *values, const uint8 *const *nulls)
{
	if ((uint64) match->nrows + n >= NO_ROW / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a relation of the recursive term has too many rows")));
	if (match->nrows + n > match->allocated)
	{
		uint32		before = match->allocated;

		match->allocated = Max(match->allocated * 2, match->nrows + n);
		gpucol_recursion_count(match->memory, (Size) (match->allocated - before) *
							   match->ncolumns * (sizeof(int64) + sizeof(uint8)));
		for (int i = 0; i < match->ncolumns; i++)
		{
			match->values[i] = grow(match, match->values[i], sizeof(int64));
			match->nulls[i] = grow(match, match->nulls[i], sizeof(uint8));
		}
	}
	for (int i = 0; i < match->ncolumns && n > 0; i++)
	{
		memcpy(match->values[i] + match->nrows, values[match->columns[i]],
			   n * sizeof(int64));
		memcpy(match->nulls[i] + match->nrows, nulls[match->columns[i]], n);
	}
	match->nrows += n;
}

/* The hash of a row's keys; false if one is NULL, which equals nothing. */
static bool
hash_row(const GpucolRecursiveMatch *match, uint32 row, uint32 *hash)
{
	*hash = 0;
	for (int i = 0; i < match->nkeys; i++)
	{
		int			c = match->key_columns[i];

		if (match->nulls[c][row])
			return false;
		*hash = hash_combine(*hash, hash_bytes_uint32((uint32) match->values[c][row] ^
													  (uint32) (match->values[c][row] >> 32)));
	}
	return true;
}

/* The same for the operands. */
static bool
hash_operands(const GpucolRecursiveMatch *match, const int64 *const *values,
			  const uint8 *const *nulls, uint32 row, uint32 *hash)
{
	*hash = 0;
	for (int i = 0; i < match->nkeys; i++)
	{
		int			o = match->key_operands[i];

		if (nulls[o][row])
			return false;
		*hash = hash_combine(*hash, hash_bytes_uint32((uint32) values[o][row] ^
													  (uint32) (values[o][row] >> 32)));
	}
	return true;
}

/* Hash the rows that have been loaded. */
static void
build(GpucolRecursiveMatch *match)
{
	uint32		nbuckets = 1024;
	uint32		hash;

	while (nbuckets < match->nrows && match->nkeys > 0)
		nbuckets *= 2;
	match->mask = nbuckets - 1;
	gpucol_recursion_count(match->memory, ((Size) nbuckets + match->nrows) * sizeof(uint32));
	match->buckets = MemoryContextAllocHuge(match->context, nbuckets * sizeof(uint32));
	memset(match->buckets, 0xff, nbuckets * sizeof(uint32));
	match->chain = MemoryContextAllocHuge(match->context,
										  (Size) Max(match->nrows, 1) * sizeof(uint32));
	for (uint32 row = 0; row < match->nrows; row++)
	{
		if (!hash_row(match, row, &hash))
			continue;
		match->chain[row] = match->buckets[hash & match->mask];
		match->buckets[hash & match->mask] = row;
	}
}

/* Does the condition hold with a row of the input? */
static bool
test_row(const GpucolRecursiveMatch *match, uint32 at, const GpucolSymbols *symbols,
		 ExprState *expr, ExprContext *econtext, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		datum;

	for (int i = 0; i < match->ncolumns; i++)
	{
		int			place = match->positions[i];

		slot->tts_isnull[place] = match->nulls[i][at];
		slot->tts_values[place] = match->nulls[i][at] ? (Datum) 0 :
			gpucol_rec_column_to_datum(&match->types[i], match->values[i][at], symbols);
	}
	datum = ExecEvalExpr(expr, econtext, &isnull);
	return !isnull && DatumGetBool(datum);
}

bool
gpucol_recursive_match_test(GpucolRecursiveMatch *match, const int64 *const *values,
							const uint8 *const *nulls, uint32 row,
							const GpucolSymbols *symbols, ExprState *expr,
							ExprContext *econtext, TupleTableSlot *slot)
{
	MemoryContext old;
	bool		found = false;
	uint32		hash;
	uint32		tried = 0;

	if (match->buckets == NULL)
		build(match);
	old = MemoryContextSwitchTo(match->scratch);
	if (hash_operands(match, values, nulls, row, &hash))
		for (uint32 at = match->buckets[hash & match->mask]; at != NO_ROW && !found;
			 at = match->chain[at])
		{
			if (++tried % 1024 == 0)
			{
				CHECK_FOR_INTERRUPTS();
				MemoryContextReset(match->scratch);
			}
			found = test_row(match, at, symbols, expr, econtext, slot);
		}
	MemoryContextSwitchTo(old);
	MemoryContextReset(match->scratch);
	ResetExprContext(econtext);
	return found != match->none;
}
