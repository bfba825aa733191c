/*-------------------------------------------------------------------------
 *
 * directory_index.h
 *	  Pages of a TOAST relation's index, looked at before they are relied upon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DIRECTORY_INDEX_H
#define GPUCOL_COLUMNAR_DIRECTORY_INDEX_H

#include "postgres.h"

#include "access/nbtree.h"
#include "storage/buf.h"

#include "columnar/directory.h"

/* Entries of one leaf page, which stays pinned, so that VACUUM lets be the rows that they lead to. */
typedef struct GpucolIndexLeaf
{
	uint32		n;
	GpucolRowKey keys[MaxTIDsPerBTreePage];
	ItemPointerData tids[MaxTIDsPerBTreePage];

	/* the index's own */
	Buffer		buffer;
	BlockNumber block;
	uint32		steps;			/* to the right */
	bool		last;			/* the range ends here */
	bool		live_only;		/* entries that are marked as dead are left out */
	bool		any;			/* earlier pages have had entries, the last one this: */
	GpucolRowKey key;
	ItemPointerData tid;
} GpucolIndexLeaf;

/*
 * Look at the pages of an index that lead to the rows keyed from .. to, and at those that
 * have their entries; false, or an error, if one is damaged.  With `ahead` it is only the
 * first of them; it says how far that was.
 */
extern bool gpucol_index_check(GpucolDirectory *dir, Relation index, GpucolRowKey from,
							   GpucolRowKey to, GpucolIndexAhead *ahead);

/* A scan in ascending order has come to a key: look at some pages more if need be. */
extern bool gpucol_index_check_ahead(GpucolDirectory *dir, Relation index, GpucolRowKey at,
									 GpucolIndexAhead *ahead);

/* Is it sure that an index has no entry of a key, at some time during the call? */
extern bool gpucol_index_lacks(GpucolDirectory *dir, Relation index, GpucolRowKey key);

/*
 * Enter rows under keys in ascending order that have no entries, on the leaf page that was come to last.  Returns how
 * many of the first: the next one's place is not there, it has an entry, or the page has no room.
 */
extern uint32 gpucol_index_enter(GpucolDirectory *dir, Relation index, const GpucolRowKey *keys,
								 const ItemPointerData *tids, uint32 n);

/*
 * The entries of the keys from .. to, in ascending order, page by page: those of the first page, then
 * of the next one, until it is false.  Each page is looked at as it is come to; an error if
 * one is damaged.  Entries that are made meanwhile may be left out.
 */
extern bool gpucol_index_first_leaf(GpucolDirectory *dir, Relation index, GpucolRowKey from,
									GpucolRowKey to, bool live_only, GpucolIndexLeaf *leaf);
extern bool gpucol_index_next_leaf(GpucolDirectory *dir, Relation index, GpucolRowKey from,
								   GpucolRowKey to, GpucolIndexLeaf *leaf);

#endif							/* GPUCOL_COLUMNAR_DIRECTORY_INDEX_H */
