/*-------------------------------------------------------------------------
 *
 * feed_words.c
 *	  Texts as numbers, and these in the order of a collation.
 *
 * Percentiles and modes of texts (feed_sample.c) ask of millions of rows which text comes before
 * which, but only different texts have to be compared: each is kept once, found by its bytes, and
 * all of them are sorted once, for all groups.
 *
 * Texts are looked up several at a time: slots, then texts are fetched for all of them at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "base/prefetch.h"
#include "exec/feed_order.h"
#include "exec/feed_words.h"
#include "exec/item_table.h"
#include "exec/window_rows.h"
#include "kernel/hash.h"

#define SOUGHT		64			/* texts that slots are fetched for at a time */
#define PIECE		65536		/* bytes that texts are kept in */
#define FEW_WORDS	256			/* are sorted by comparisons */

struct GpucolWords
{
	Oid			type;
	Oid			collation;
	MemoryContext context;
	GpucolItemTable table;
	Datum	   *words;			/* by number; once sorted, by place */
	uint32	   *ranks;			/* by number, once sorted */
	char	   *space;
	Size		left;
};

GpucolWords *
gpucol_words_create(Oid type, Oid collation)
{
	GpucolWords *words = palloc0(sizeof(GpucolWords));

	words->type = type;
	words->collation = collation;
	words->context = CurrentMemoryContext;
	return words;
}

Size
gpucol_words_room(const GpucolWords *words, uint64 n)
{
	return gpucol_item_growth(&words->table, n, sizeof(Datum));
}

/* Keep a text. */
static Datum
keep(GpucolWords *words, const GpucolBytes *value)
{
	Size		size = MAXALIGN(VARHDRSZ + (Size) value->len);
	text	   *kept;

	if (size > words->left)
	{
		words->left = Max(size, PIECE);
		words->space = palloc(words->left);
	}
	kept = (text *) words->space;
	words->space += size;
	words->left -= size;
	SET_VARSIZE(kept, VARHDRSZ + value->len);
	if (value->len > 0)
		memcpy(VARDATA(kept), value->data, value->len);
	return PointerGetDatum(kept);
}

/* Is it this text? */
static inline bool
is_word(const GpucolWords *words, uint32 number, const GpucolBytes *value)
{
	const char *kept = DatumGetPointer(words->words[number]);

	return VARSIZE(kept) - VARHDRSZ == value->len && gpucol_hash_same(VARDATA(kept), value->data, value->len);
}

/* The number of a text with this hash. */
static uint32
find_word(GpucolWords *words, const GpucolBytes *value, uint64 hash)
{
	GpucolItemTable *table = &words->table;
	uint64		at;
	uint32		number;

	if (gpucol_item_reserve(table))
		words->words = gpucol_grow(words->words, table->room * sizeof(Datum));
	at = gpucol_hash_home(&table->hash, hash);
	while (gpucol_hash_next(&table->hash, hash, &at, &number))
		if (is_word(words, number, value))
			return number;
	number = gpucol_item_add(table, hash, at);
	words->words[number] = keep(words, value);
	return number;
}

/* Number some of the texts, those of rows[]. */
static void
number_some(GpucolWords *words, const GpucolBytes *values, const uint32 *rows, uint32 n, int64 *numbers)
{
	const GpucolHashTable *table = &words->table.hash;
	uint64		hashes[SOUGHT];
	uint32		number;

	for (uint32 i = 0; i < n; i++)
	{
		hashes[i] = gpucol_hash_bytes(values[rows[i]].data, values[rows[i]].len);
		if (table->nslots > 0)
			GPUCOL_PREFETCH(&table->slots[gpucol_hash_home(table, hashes[i])]);
	}
	for (uint32 i = 0; i < n && table->nslots > 0; i++)
	{
		uint64		at = gpucol_hash_home(table, hashes[i]);

		if (gpucol_hash_next(table, hashes[i], &at, &number))
			GPUCOL_PREFETCH(DatumGetPointer(words->words[number]));
	}
	for (uint32 i = 0; i < n; i++)
		numbers[rows[i]] = find_word(words, &values[rows[i]], hashes[i]);
}

void
gpucol_words_number(GpucolWords *words, const GpucolResultColumn *column, const bool *wanted, uint32 n,
					int64 *numbers)
{
	MemoryContext old = MemoryContextSwitchTo(words->context);
	uint32		rows[SOUGHT];
	uint32		nrows = 0;

	for (uint32 row = 0; row < n; row++)
	{
		if ((wanted != NULL && !wanted[row]) || (column->nulls != NULL && column->nulls[row]))
			continue;
		rows[nrows++] = row;
		if (nrows < SOUGHT)
			continue;
		number_some(words, column->s, rows, nrows, numbers);
		nrows = 0;
	}
	number_some(words, column->s, rows, nrows, numbers);
	MemoryContextSwitchTo(old);
}

Size
gpucol_words_sort_room(const GpucolWords *words)
{
	return words->table.nitems * (sizeof(Datum) + 3 * sizeof(uint32) + 2 * sizeof(bool));
}

/* Words to be compared. */
typedef struct Comparison
{
	const Datum *words;
	SortSupportData sort;
} Comparison;

static int
compare_words(const void *a, const void *b, void *arg)
{
	Comparison *comparison = arg;

	CHECK_FOR_INTERRUPTS();
	return ApplySortComparator(comparison->words[*(const uint32 *) a], false,
							   comparison->words[*(const uint32 *) b], false, &comparison->sort);
}

/* Put the numbers of the words in their order by comparisons. */
static void
sort_by_comparison(const GpucolWords *words, Oid sortop, uint32 *order)
{
	Comparison	comparison = {.words = words->words};

	comparison.sort.ssup_cxt = CurrentMemoryContext;
	comparison.sort.ssup_collation = words->collation;
	PrepareSortSupportFromOrderingOp(sortop, &comparison.sort);
	for (uint32 i = 0; i < words->table.nitems; i++)
		order[i] = i;
	qsort_arg(order, words->table.nitems, sizeof(uint32), compare_words, &comparison);
}

/* ... or by integers; false where memory does not suffice. */
static bool
sort_by_codes(const GpucolWords *words, Oid sortop, GpucolMeter *meter, uint32 *order)
{
	uint32		n = words->table.nitems;
	GpucolFeedColumn column = {words->type, -1, false, sortop, words->collation, false, words->words, NULL};
	GpucolFeedSort sort = {n, NULL, 1, 1, &column};
	uint32	   *groups;
	uint8	   *differs;
	bool		ok;

	if (n < FEW_WORDS || n > GPUCOL_WINDOW_MAX_ROWS)
		return false;
	column.isnull = gpucol_grow(NULL, n * sizeof(bool));
	groups = gpucol_grow(NULL, n * sizeof(uint32));
	differs = gpucol_grow(NULL, n);
	memset(column.isnull, false, n * sizeof(bool));
	memset(groups, 0, n * sizeof(uint32));
	sort.groups = groups;
	ok = gpucol_feed_order(&sort, meter, order, differs);
	pfree(column.isnull);
	pfree(groups);
	pfree(differs);
	return ok;
}

void
gpucol_words_sort(GpucolWords *words, GpucolMeter *meter)
{
	MemoryContext old = MemoryContextSwitchTo(words->context);
	uint32		n = words->table.nitems;
	Oid			sortop = lookup_type_cache(words->type, TYPECACHE_LT_OPR)->lt_opr;
	uint32	   *order = gpucol_grow(NULL, Max(n, 1) * sizeof(uint32));
	Datum	   *sorted = gpucol_grow(NULL, Max(n, 1) * sizeof(Datum));

	words->ranks = gpucol_grow(NULL, Max(n, 1) * sizeof(uint32));
	if (!sort_by_codes(words, sortop, meter, order))
		sort_by_comparison(words, sortop, order);
	for (uint32 i = 0; i < n; i++)
	{
		sorted[i] = words->words[order[i]];
		words->ranks[order[i]] = i;
	}
	pfree(order);
	if (words->words != NULL)
		pfree(words->words);
	words->words = sorted;
	MemoryContextSwitchTo(old);
}

void
gpucol_words_rank(const GpucolWords *words, int64 *numbers, uint64 n)
{
	for (uint64 i = 0; i < n; i++)
		numbers[i] = words->ranks[numbers[i]];
}

Datum
gpucol_words_datum(const GpucolWords *words, int64 rank)
{
	return words->words[rank];
}
