/*-------------------------------------------------------------------------
 *
 * hash_table.h
 *	  The hash table of all folders: open addressing, from a hash's home on.
 *
 * GpucolHashTable finds numbered items, whose contents and number their owner keeps in
 * arrays.  A slot has the upper half of an item's hash and its number, so that few items
 * are looked at in vain, and a table grows without a look at any.  The upper half says
 * where the search begins: whoever deals items to tables by hash uses the lower one.
 *
 *		at = gpucol_hash_home(&table, hash);
 *		while (gpucol_hash_next(&table, hash, &at, &number))
 *			if (it is item `number`)
 *				return number;
 *		gpucol_hash_put(&table, at, hash, nitems++);
 *
 * The owner allocates and frees slots; at most half of them are taken.  Where the items
 * themselves are the slots (sets of pairs, ranges of an index), GPUCOL_PROBE walks them.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_HASH_TABLE_H
#define GPUCOL_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Let AT be the first of NSLOTS slots, a power of two, from HOME on and around, at which
 * STOP holds, as it must at one of them.
 */
#define GPUCOL_PROBE(AT, HOME, NSLOTS, STOP) \
	for ((AT) = (HOME) & ((NSLOTS) - 1); !(STOP); (AT) = ((AT) + 1) & ((NSLOTS) - 1)) \
		continue

/* The same in a region of NSLOTS slots among others, of which HOME is one. */
#define GPUCOL_PROBE_REGION(AT, HOME, NSLOTS, STOP) \
	for ((AT) = (HOME); !(STOP); \
		 (AT) = ((AT) & ~((NSLOTS) - 1)) | (((AT) + 1) & ((NSLOTS) - 1))) \
		continue

/* All zero is an empty table without slots, in which nothing can be searched. */
typedef struct GpucolHashTable
{
	uint64_t   *slots;			/* upper half of the hash, number + 1; 0 = free */
	uint64_t	nslots;			/* a power of two up to 2^32 */
	uint32_t	shift;			/* of the upper half of a hash, to its home */
} GpucolHashTable;

#ifndef __CUDACC_RTC__			/* kernels know the struct only */

/* Slots for n items: nslots as long as they suffice. */
static inline uint64_t
gpucol_hash_slots(uint64_t nslots, uint64_t n)
{
	if (nslots == 0)
		nslots = 16;
	while (nslots < 2 * n)
		nslots *= 2;
	return nslots;
}

/* The slot where the search for a hash begins. */
static inline uint64_t
gpucol_hash_home(const GpucolHashTable *table, uint64_t hash)
{
	return (hash >> 32) >> table->shift;
}

/*
 * The next item, from slot *at on, that may have this hash; *at moves behind it.  If there
 * is none, *at is a free slot where one can be put.
 */
static inline bool
gpucol_hash_next(const GpucolHashTable *table, uint64_t hash, uint64_t *at, uint32_t *number)
{
	uint64_t	slot;

	GPUCOL_PROBE(*at, *at, table->nslots,
				 (slot = table->slots[*at]) == 0 || (slot ^ hash) >> 32 == 0);
	if (slot == 0)
		return false;
	*number = (uint32_t) slot - 1;
	(*at)++;
	return true;
}

/* Put an item into the slot that gpucol_hash_next left. */
static inline void
gpucol_hash_put(GpucolHashTable *table, uint64_t at, uint64_t hash, uint32_t number)
{
	table->slots[at] = (hash & UINT64_C(0xffffffff00000000)) | ((uint64_t) number + 1);
}

/* The free slot for an item that the table lacks. */
static inline uint64_t
gpucol_hash_free(const GpucolHashTable *table, uint64_t hash)
{
	uint64_t	at;

	GPUCOL_PROBE(at, gpucol_hash_home(table, hash), table->nslots, table->slots[at] == 0);
	return at;
}

/* Put an item that the table lacks. */
static inline void
gpucol_hash_add(GpucolHashTable *table, uint64_t hash, uint32_t number)
{
	gpucol_hash_put(table, gpucol_hash_free(table, hash), hash, number);
}

/* Give a table other slots, which are free: it is empty then. */
static inline void
gpucol_hash_set_slots(GpucolHashTable *table, uint64_t *slots, uint64_t nslots)
{
	table->slots = slots;
	table->nslots = nslots;
	table->shift = 32 - (uint32_t) __builtin_ctzll(nslots);
}

/*
 * Add what is in slots [from, to) of another table.  Taken slots are gathered first, for
 * which of them are taken cannot be foretold.
 */
static inline void
gpucol_hash_copy(GpucolHashTable *table, const GpucolHashTable *other, uint64_t from, uint64_t to)
{
	while (from < to)
	{
		uint64_t	end = to - from < 64 ? to : from + 64;
		uint64_t	taken[64];
		uint32_t	n = 0;

		for (; from < end; from++)
		{
			taken[n] = other->slots[from];
			n += other->slots[from] != 0;
		}
		for (uint32_t i = 0; i < n; i++)
			gpucol_hash_add(table, taken[i], (uint32_t) taken[i] - 1);
	}
}

/* Move a table's items to other slots; returns those that it had, for the owner to free. */
static inline uint64_t *
gpucol_hash_move(GpucolHashTable *table, uint64_t *slots, uint64_t nslots)
{
	GpucolHashTable old = *table;

	gpucol_hash_set_slots(table, slots, nslots);
	gpucol_hash_copy(table, &old, 0, old.nslots);
	return old.slots;
}

#endif							/* __CUDACC_RTC__ */

#endif							/* GPUCOL_BASE_HASH_TABLE_H */
