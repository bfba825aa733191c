/*-------------------------------------------------------------------------
 *
 * rank_keys_state.h
 *	  Group keys numbered from 0: what finding and merging them share.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_CPU_RANK_KEYS_STATE_H
#define GPUCOL_RANKING_CPU_RANK_KEYS_STATE_H

#include <string.h>

#include "base/hash_table.h"
#include "kernel/hash.h"
#include "ranking/cpu/rank_keys.h"

#define GPUCOL_KEYS_FIRST_ENTRIES	256
#define GPUCOL_KEYS_MOST_ENTRIES	(UINT32_MAX / 8)

/* Make room in a table for n entries. */
static inline bool
gpucol_key_table_reserve(GpucolHashTable *table, GpucolBudget *memory, uint64_t n)
{
	uint64_t	nslots = gpucol_hash_slots(table->nslots, n);
	uint64_t	old = table->nslots;
	uint64_t   *slots;

	if (nslots == old)
		return true;
	slots = gpucol_budget_alloc_zeroed(memory, sizeof(uint64_t) * nslots);
	if (slots == NULL)
		return false;
	gpucol_budget_free(memory, gpucol_hash_move(table, slots, nslots), sizeof(uint64_t) * old);
	return true;
}

struct GpucolKeys
{
	GpucolBudget *memory;
	int			nkeys;
	uint8_t	   *classes;		/* [nkeys] */
	int			width;			/* words a key */
	uint64_t   *words;			/* [capacity * width], what compares */
	uint64_t   *values;			/* the same layout: values for the output */
	uint64_t   *firsts;			/* [capacity] place of the first row */
	uint32_t	n;
	uint32_t	capacity;
	GpucolHashTable table;		/* of those that gpucol_keys_number found */
	GpucolNames *names;

	uint64_t   *batch;			/* words and values of the rows at hand */
	uint64_t   *batch_values;
	uint32_t	batch_rows;

	/* a single integer key: group + 1 of the values near the first one */
	uint32_t   *direct;			/* [DIRECT_VALUES], or NULL */
	int64_t		direct_base;
};

/* Words of key c. */
static inline int
gpucol_key_class_words(const GpucolKeys *keys, int c)
{
	return keys->classes[c] == GPUCOL_CLASS_D ? 2 : 1;
}

/* Keys are a few words: no call is worth it. */
static inline bool
gpucol_key_words_equal(const uint64_t *a, const uint64_t *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static inline uint64_t
gpucol_key_hash(const uint64_t *words, int width)
{
	uint64_t	hash = 0;

	for (int i = 0; i < width; i++)
		hash = gpucol_hash_mix(hash, words[i]);
	return gpucol_hash_mix(hash, 0);
}

/* Room for the words of n rows at hand. */
extern bool gpucol_keys_reserve_batch(GpucolKeys *keys, uint32_t n);

/* The group of one key; an unknown one becomes a new group, first seen in row `first`. */
extern bool gpucol_keys_number(GpucolKeys *keys, const uint64_t *words, const uint64_t *values,
							   uint64_t first, uint32_t *group);

#endif							/* GPUCOL_RANKING_CPU_RANK_KEYS_STATE_H */
