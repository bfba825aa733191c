/*-------------------------------------------------------------------------
 *
 * same_generation_dense_count.c
 *	  How many rows of a bitmap have each of its columns.
 *
 * Bits are not counted one by one but as the digits of 2,048 numbers at once: plane p
 * has bit p of each column's count, and a carry waits at its plane until a second one
 * comes, so that three of them become two by five instructions a word (a carry-save
 * adder; Harley and Seal's method of counting bits, for columns).  A row takes part in
 * two such additions on average, however many bits it has.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_dense.h"

#define WORDS	32				/* words of a row that are counted together */
#define PLANES	28				/* bits of a count of rows: a bitmap of 2^28 has 8 PB */

typedef struct Counter
{
	uint64_t	plane[PLANES][WORDS];
	uint64_t	waiting[PLANES][WORDS];
	bool		waits[PLANES];
} Counter;

/* What counts the columns of a bitmap. */
typedef struct Count
{
	GpucolRecDense *dense;
	int64_t		sign;
	uint64_t   *counts;
} Count;

/* Add WORDS words of a row. */
static GPUCOL_REC_INLINE void
add_words(Counter *counter, const uint64_t *words)
{
	uint64_t	carry[WORDS];

	memcpy(carry, words, sizeof(carry));
	for (int p = 0; p < PLANES; p++)
	{
		uint64_t   *plane = counter->plane[p];
		uint64_t   *waiting = counter->waiting[p];

		if (!counter->waits[p])
		{
			memcpy(waiting, carry, sizeof(carry));
			counter->waits[p] = true;
			return;
		}
		counter->waits[p] = false;
		for (int k = 0; k < WORDS; k++)
		{
			uint64_t	either = plane[k] ^ waiting[k];
			uint64_t	both = plane[k] & waiting[k];

			plane[k] = either ^ carry[k];
			carry[k] = both | (either & carry[k]);
		}
	}
}

/* The count of one column. */
static GPUCOL_REC_INLINE uint64_t
read_count(const Counter *counter, uint64_t column)
{
	uint64_t	n = 0;

	for (int p = 0; p < PLANES; p++)
	{
		n += (counter->plane[p][column / 64] >> (column % 64) & 1) << p;
		if (counter->waits[p])
			n += (counter->waiting[p][column / 64] >> (column % 64) & 1) << p;
	}
	return n;
}

/* An item: the columns of WORDS words, or of those that are left. */
GPUCOL_REC_CLONES
static void
count_item(void *context, int worker, uint64_t item)
{
	const Count *count = context;
	GpucolRecDense *dense = count->dense;
	uint64_t	first = item * WORDS;
	uint64_t	nwords = dense->nwords - first < WORDS ? dense->nwords - first : WORDS;
	Counter		counter;
	uint64_t	words[WORDS] = {0};

	memset(&counter, 0, sizeof(counter));
	for (uint64_t x = 0; x < dense->domain; x++)
	{
		uint64_t	any = 0;

		if (gpucol_rec_share_stopped(&dense->share, worker, 4))
			return;
		memcpy(words, dense->full + x * dense->nwords + first, nwords * sizeof(uint64_t));
		for (int k = 0; k < WORDS; k++)
			any |= words[k];
		if (any != 0)
			add_words(&counter, words);
	}
	for (uint64_t y = 0; y < nwords * 64 && first * 64 + y < dense->nids; y++)
		count->counts[first * 64 + y] += (uint64_t) count->sign * read_count(&counter, y);
}

GpucolStatus
gpucol_rec_dense_count_columns(GpucolRecDense *dense, int64_t sign, uint64_t *counts)
{
	Count		count = {.dense = dense,.sign = sign,.counts = counts};

	return gpucol_rec_share_run(&dense->share, dense->ngathers,
								(dense->nwords + WORDS - 1) / WORDS, 1, count_item, &count);
}
