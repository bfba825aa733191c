/*-------------------------------------------------------------------------
 *
 * window_order.c
 *	  Rows sorted by the codes of several columns, and where partitions and peers begin.
 *
 * The codes of all keys, as few bits each as the column needs, are packed into words, the
 * first key uppermost, and rows are sorted by these without a comparison.  Mostly there is
 * one word; where there are more, only rows that tie by one are sorted by the next.  NULL is
 * one code more, below or above the others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "exec/window_order.h"

/* Codes that a key needs, NULL's included, beginning with 0; at most 2^64. */
static int
key_bits(const GpucolWindowCodes *codes)
{
	uint64		greatest = codes->greatest;

	if (codes->has_null)
		greatest++;
	return greatest == 0 ? 0 : pg_leftmost_one_pos64(greatest) + 1;
}

/* Is NULL's code one more than a word holds? */
static bool
null_is_apart(const GpucolWindowCodes *codes)
{
	return codes->has_null && codes->greatest == PG_UINT64_MAX;
}

/* Have the keys of a word end with its lowest bits, of which so many are not used. */
static void
align_word(GpucolWindowOrder *order, int word, int spare)
{
	for (int i = 0; i < order->nkeys; i++)
	{
		if (order->keys[i].word == word)
			order->keys[i].shift -= spare;
	}
}

/* Say where each key lies; how many words there are. */
static int
lay_out(GpucolWindowOrder *order)
{
	int			word = 0;
	int			left = 64;

	for (int i = 0; i < order->nkeys; i++)
		order->keys[i].word = -1;
	for (int i = 0; i < order->nkeys; i++)
	{
		GpucolWindowKey *key = &order->keys[i];
		bool		apart = null_is_apart(key->codes);
		int			bits = apart ? 64 : key_bits(key->codes);

		/* a bit for NULL ends one word, the value is the next */
		if (apart && left == 0)
		{
			word++;
			left = 64;
		}
		if (apart || bits > left)
		{
			align_word(order, word++, apart ? left - 1 : left);
			left = 64;
		}
		left -= bits;
		key->word = word;
		key->shift = left;
	}
	align_word(order, word, left);
	return word + 1;
}

static void
pack_key(const GpucolWindowRows *rows, const GpucolWindowKey *key, uint64 **words)
{
	const bool *isnull = rows->inputs[key->input].isnull;
	const uint64 *codes = key->codes->codes;
	uint64	   *to = words[key->word];
	bool		has_null = key->codes->has_null;
	uint64		add = has_null && key->nulls_first ? 1 : 0;
	uint64		null = key->nulls_first ? 0 : key->codes->greatest + 1;

	if (key_bits(key->codes) == 0 && !null_is_apart(key->codes))
		return;
	if (null_is_apart(key->codes))
	{
		for (uint32 i = 0; i < rows->nrows; i++)
		{
			words[key->word - 1][i] |= isnull[i] != key->nulls_first;
			to[i] |= codes[i];
		}
		return;
	}
	if (!has_null)
	{
		for (uint32 i = 0; i < rows->nrows; i++)
			to[i] |= codes[i] << key->shift;
		return;
	}
	for (uint32 i = 0; i < rows->nrows; i++)
		to[i] |= (isnull[i] ? null : codes[i] + add) << key->shift;
}

/* Pack the keys of all rows; false where memory does not suffice. */
static bool
pack_keys(GpucolWindowRows *rows, GpucolWindowOrder *order)
{
	Size		bytes = rows->nrows * sizeof(uint64);

	order->nwords = lay_out(order);
	if (!gpucol_window_rows_fit(rows, order->nwords * bytes))
		return false;
	order->words = gpucol_window_rows_alloc(rows, order->nwords * sizeof(uint64 *));
	for (int i = 0; i < order->nwords; i++)
	{
		order->words[i] = gpucol_window_rows_alloc(rows, bytes);
		memset(order->words[i], 0, bytes);
	}
	for (int i = 0; i < order->nkeys; i++)
		pack_key(rows, &order->keys[i], order->words);
	return true;
}

/*
 * Sort items, whose rows ascend, by their rows' words from `word` on; those that tie by a word, by
 * the next.  The key that is left is the word.
 */
static void
sort_by_words(const GpucolWindowOrder *order, int word, GpucolRadixItem *items, GpucolRadixItem *scratch, uint32 n)
{
	const uint64 *keys = order->words[word];
	GpucolRadixItem *sorted;
	uint64		any = 0;
	uint32		start = 0;

	for (uint32 i = 0; i < n; i++)
		any |= items[i].key = keys[items[i].row];
	CHECK_FOR_INTERRUPTS();
	sorted = gpucol_radix_sort(items, scratch, n, any == 0 ? 0 : pg_leftmost_one_pos64(any) + 1);
	if (sorted != items)
		memcpy(items, sorted, n * sizeof(GpucolRadixItem));
	for (uint32 i = 1; i <= n && word + 1 < order->nwords; i++)
	{
		uint64		key = items[start].key;

		if (i < n && items[i].key == key)
			continue;
		if (i - start > 1)
			sort_by_words(order, word + 1, items + start, scratch, i - start);
		for (; start < i; start++)
			items[start].key = key;
	}
}

bool
gpucol_window_order_sort(GpucolWindowRows *rows, GpucolWindowOrder *order)
{
	Size		bytes = rows->nrows * sizeof(GpucolRadixItem);
	GpucolRadixItem *scratch;

	if (!pack_keys(rows, order) || !gpucol_window_rows_fit(rows, 2 * bytes))
		return false;
	order->items = gpucol_window_rows_alloc(rows, bytes);
	scratch = gpucol_window_rows_alloc(rows, bytes);
	for (uint32 i = 0; i < rows->nrows; i++)
		order->items[i].row = i;
	if (order->nwords > 0)
		sort_by_words(order, 0, order->items, scratch, rows->nrows);
	pfree(scratch);
	return true;
}

bool
gpucol_window_keys_begin(const GpucolWindowKey *keys, int nkeys, const GpucolWindowKey *others,
						 int nothers)
{
	if (nothers > nkeys)
		return false;
	for (int i = 0; i < nothers; i++)
	{
		if (keys[i].input != others[i].input || keys[i].sortop != others[i].sortop ||
			keys[i].collation != others[i].collation || keys[i].nulls_first != others[i].nulls_first)
			return false;
	}
	return true;
}

/* Do two items differ in the first `nkeys` keys? */
static inline bool
differ(const GpucolWindowOrder *order, int nkeys, const GpucolRadixItem *a,
	   const GpucolRadixItem *b)
{
	const GpucolWindowKey *last = &order->keys[nkeys - 1];

	if (nkeys == 0)
		return false;
	if (last->word == 0)
		return last->shift < 64 && a->key >> last->shift != b->key >> last->shift;
	if (a->key != b->key)
		return true;
	for (int i = 1; i < last->word; i++)
	{
		if (order->words[i][a->row] != order->words[i][b->row])
			return true;
	}
	return last->shift < 64 && order->words[last->word][a->row] >> last->shift !=
		order->words[last->word][b->row] >> last->shift;
}

void
gpucol_window_order_mark(const GpucolWindowRows *rows, const GpucolWindowOrder *order,
						 int npartition, int nkeys, uint8 *begins)
{
	const GpucolRadixItem *items = order->items;

	for (uint32 i = 0; i < rows->nrows; i++)
	{
		if (i == 0 || differ(order, npartition, &items[i - 1], &items[i]))
			begins[i] = GPUCOL_WINDOW_PARTITION | GPUCOL_WINDOW_PEERS;
		else
			begins[i] = nkeys > npartition && differ(order, nkeys, &items[i - 1], &items[i]) ?
				GPUCOL_WINDOW_PEERS : 0;
	}
}

void
gpucol_window_order_free(GpucolWindowOrder *order)
{
	for (int i = 0; i < order->nwords; i++)
		pfree(order->words[i]);
	if (order->words != NULL)
		pfree(order->words);
	if (order->items != NULL)
		pfree(order->items);
	order->words = NULL;
	order->items = NULL;
	order->nwords = 0;
}
