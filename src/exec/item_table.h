/*-------------------------------------------------------------------------
 *
 * item_table.h
 *	  A hash table (base/hash_table.h) of items whose owner keeps arrays of the executor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_ITEM_TABLE_H
#define GPUCOL_EXEC_ITEM_TABLE_H

#include "postgres.h"

#include "base/hash_table.h"
#include "utils/memutils.h"

/* All zero is an empty table. */
typedef struct GpucolItemTable
{
	GpucolHashTable hash;
	uint32		nitems;
	uint32		room;			/* of arrays by item */
} GpucolItemTable;

/* Grow an array, NULL at first, in the current context; it may exceed 1 GB. */
static inline void *
gpucol_grow(void *array, Size size)
{
	return array == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, size) :
		repalloc_huge(array, size);
}

/* Make room for one more item; true if the owner's arrays must hold table->room. */
static inline bool
gpucol_item_reserve(GpucolItemTable *table)
{
	uint64		nslots = gpucol_hash_slots(table->hash.nslots, (uint64) table->nitems + 1);

	if (nslots != table->hash.nslots)
	{
		uint64	   *old = table->hash.slots;
		MemoryContext context = old == NULL ? CurrentMemoryContext : GetMemoryChunkContext(old);

		gpucol_hash_move(&table->hash,
						 MemoryContextAllocExtended(context, nslots * sizeof(uint64),
													MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO), nslots);
		if (old != NULL)
			pfree(old);
	}
	if (table->nitems < table->room)
		return false;
	table->room = Max(table->room * 2, 256);
	return true;
}

/* Add an item at the slot that gpucol_hash_next left. */
static inline uint32
gpucol_item_add(GpucolItemTable *table, uint64 hash, uint64 at)
{
	gpucol_hash_put(&table->hash, at, hash, table->nitems);
	return table->nitems++;
}

/* Bytes that a table, and arrays of so many bytes an item, grow by before they hold n more. */
static inline Size
gpucol_item_growth(const GpucolItemTable *table, uint64 n, Size item)
{
	uint64		room = table->room;
	uint64		nslots = table->hash.nslots;

	while (room < table->nitems + n)
		room = Max(room * 2, 256);
	return (room - table->room) * item +
		(gpucol_hash_slots(nslots, table->nitems + n + 1) - nslots) * sizeof(uint64);
}

#endif							/* GPUCOL_EXEC_ITEM_TABLE_H */
