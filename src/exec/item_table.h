/*-------------------------------------------------------------------------
 *
 * item_table.h
 *	  A hash table of numbered items, whose contents its owner keeps in arrays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_ITEM_TABLE_H
#define GPUCOL_EXEC_ITEM_TABLE_H

#include "postgres.h"

#include "utils/memutils.h"

/* Open addressing: slots hold item numbers + 1.  All zero is an empty table. */
typedef struct GpucolItemTable
{
	uint32	   *slots;
	uint32	   *hashes;			/* by item */
	uint32		nslots;			/* a power of two */
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

/* Double the slots. */
static inline void
gpucol_item_rehash(GpucolItemTable *table)
{
	uint32		nslots = Max(table->nslots * 2, 1024);

	table->slots = gpucol_grow(table->slots, nslots * sizeof(uint32));
	memset(table->slots, 0, nslots * sizeof(uint32));
	table->nslots = nslots;
	for (uint32 i = 0; i < table->nitems; i++)
	{
		uint32		at = table->hashes[i] & (nslots - 1);

		while (table->slots[at] != 0)
			at = (at + 1) & (nslots - 1);
		table->slots[at] = i + 1;
	}
}

/*
 * Make room for one more item; true if the owner's arrays must hold table->room.
 */
static inline bool
gpucol_item_reserve(GpucolItemTable *table)
{
	if (table->nitems * 2 >= table->nslots)
		gpucol_item_rehash(table);
	if (table->nitems < table->room)
		return false;
	table->room = Max(table->room * 2, 256);
	table->hashes = gpucol_grow(table->hashes, table->room * sizeof(uint32));
	return true;
}

/* The item from slot *at on with this hash, or none: then *at is its slot. */
static inline bool
gpucol_item_next(const GpucolItemTable *table, uint32 hash, uint32 *at, uint32 *item)
{
	for (;; *at = (*at + 1) & (table->nslots - 1))
	{
		if (table->slots[*at] == 0)
			return false;
		*item = table->slots[*at] - 1;
		if (table->hashes[*item] == hash)
			return true;
	}
}

/* Add an item at the slot that gpucol_item_next left. */
static inline uint32
gpucol_item_add(GpucolItemTable *table, uint32 hash, uint32 at)
{
	uint32		item = table->nitems++;

	table->slots[at] = item + 1;
	table->hashes[item] = hash;
	return item;
}

/* Bytes that a table, and arrays of so many bytes an item, grow by before they hold n more. */
static inline Size
gpucol_item_growth(const GpucolItemTable *table, uint64 n, Size item)
{
	uint64		room = table->room;
	uint64		nslots = table->nslots;

	while (room < table->nitems + n)
		room = Max(room * 2, 256);
	while (nslots <= (table->nitems + n) * 2)
		nslots = Max(nslots * 2, 1024);
	return (room - table->room) * (item + sizeof(uint32)) +
		(nslots - table->nslots) * sizeof(uint32);
}

#endif							/* GPUCOL_EXEC_ITEM_TABLE_H */
