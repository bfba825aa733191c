/*-------------------------------------------------------------------------
 *
 * hash.h
 *	  The hash table: numbers of items, found by the items' hashes.
 *
 * Open addressing, at most half full.  A slot holds 32 bits of an item's hash beside its
 * number, so that a probe looks at an item only when it is very probably the one sought,
 * and growing looks at none.  Items are the owner's, who compares them:
 *
 *		at = gpucol_hash_start(&table, hash);
 *		while (gpucol_hash_next(&table, hash, &at, &item))
 *			if (equal(items[item], key))
 *				return item;
 *		gpucol_hash_put(&table, hash, at, nitems);		after gpucol_hash_reserve
 *
 * All zero is an empty table.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_HASH_H
#define GPUCOL_BASE_HASH_H

#include "base/budget.h"

#define GPUCOL_HASH_FIRST_SLOTS	64

typedef struct GpucolHash
{
	uint64_t   *slots;			/* hash << 32 | number + 1; 0 = empty */
	uint64_t	nslots;			/* a power of two, or 0 */
	uint64_t	n;
} GpucolHash;

/* Where the probes for a hash start; before the first reserve there is nothing to probe. */
static inline uint64_t
gpucol_hash_start(const GpucolHash *table, uint32_t hash)
{
	return hash & (table->nslots - 1);
}

/*
 * The next item that has the hash, from place *at on, behind which *at is set; or false, and
 * *at is where the item would go.
 */
static inline bool
gpucol_hash_next(const GpucolHash *table, uint32_t hash, uint64_t *at, uint32_t *item)
{
	uint64_t	mask = table->nslots - 1;

	for (;; *at = (*at + 1) & mask)
	{
		uint64_t	slot = table->slots[*at];

		if (slot == 0)
			return false;
		if (slot >> 32 != hash)
			continue;
		*item = (uint32_t) slot - 1;
		*at = (*at + 1) & mask;
		return true;
	}
}

/* Enter an item, below 2^32 - 1, where gpucol_hash_next has ended. */
static inline void
gpucol_hash_put(GpucolHash *table, uint32_t hash, uint64_t at, uint32_t item)
{
	table->slots[at] = (uint64_t) hash << 32 | (item + 1);
	table->n++;
}

/* Have room for one more item; false beyond a limit.  Places of probes change. */
static inline bool
gpucol_hash_reserve(GpucolHash *table, GpucolBudget *budget)
{
	uint64_t	nslots = table->nslots == 0 ? GPUCOL_HASH_FIRST_SLOTS : 2 * table->nslots;
	uint64_t   *slots;

	if (2 * table->n < table->nslots)
		return true;
	slots = (uint64_t *) gpucol_budget_alloc_zeroed(budget, nslots * sizeof(uint64_t));
	if (slots == NULL)
		return false;
	for (uint64_t i = 0; i < table->nslots; i++)
	{
		uint64_t	at = table->slots[i] >> 32 & (nslots - 1);

		if (table->slots[i] == 0)
			continue;
		while (slots[at] != 0)
			at = (at + 1) & (nslots - 1);
		slots[at] = table->slots[i];
	}
	gpucol_budget_free(budget, table->slots, table->nslots * sizeof(uint64_t));
	table->slots = slots;
	table->nslots = nslots;
	return true;
}

static inline void
gpucol_hash_free(GpucolHash *table, GpucolBudget *budget)
{
	gpucol_budget_free(budget, table->slots, table->nslots * sizeof(uint64_t));
	table->slots = NULL;
	table->nslots = table->n = 0;
}

#endif							/* GPUCOL_BASE_HASH_H */
