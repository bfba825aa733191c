/*-------------------------------------------------------------------------
 *
 * index_item.h
 *	  Items of a TOAST relation's index: their keys and their order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_INDEX_ITEM_H
#define GPUCOL_COLUMNAR_INDEX_ITEM_H

#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "storage/bufpage.h"

#include "columnar/directory.h"

/* Columns of the key, their bytes, and columns with the TID. */
#define GPUCOL_ITEM_COLUMNS		2
#define GPUCOL_ITEM_BYTES		(sizeof(Oid) + sizeof(int32))
#define GPUCOL_ITEM_WHOLE		3

/*
 * A key of an item, of whose columns the last may be cut off: less than any.  The third is the
 * TID, of which only the order to a key without it matters: the btree looks for a key to the
 * right of such an item.
 */
typedef struct GpucolItemKey
{
	int			ncolumns;
	GpucolRowKey key;
} GpucolItemKey;

/* Order two items. */
static inline int
gpucol_item_order(const GpucolItemKey *a, const GpucolItemKey *b)
{
	int			ncolumns = Min(a->ncolumns, b->ncolumns);

	if (ncolumns > 0 && a->key.id != b->key.id)
		return a->key.id < b->key.id ? -1 : 1;
	if (ncolumns > 1 && a->key.seq != b->key.seq)
		return a->key.seq < b->key.seq ? -1 : 1;
	return a->ncolumns - b->ncolumns;
}

/* Order an item and a whole key. */
static inline int
gpucol_item_order_key(const GpucolItemKey *item, GpucolRowKey key)
{
	GpucolItemKey whole = {GPUCOL_ITEM_WHOLE, key};

	return gpucol_item_order(item, &whole);
}

/* Does a tuple have the size and the form that it must? */
static inline bool
gpucol_item_is_sound(IndexTuple tuple, bool pivot, GpucolItemKey *item)
{
	uint32		size = IndexTupleSize(tuple);

	if ((tuple->t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK)) != 0 ||
		pivot != BTreeTupleIsPivot(tuple))
		return false;
	item->ncolumns = GPUCOL_ITEM_WHOLE;
	if (pivot)
	{
		bool		has_tid = (ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) &
							   BT_PIVOT_HEAP_TID_ATTR) != 0;
		int			n = ItemPointerGetOffsetNumberNoCheck(&tuple->t_tid) & BT_OFFSET_MASK;

		item->ncolumns = has_tid && n == GPUCOL_ITEM_COLUMNS ? GPUCOL_ITEM_WHOLE : n;
		return n <= GPUCOL_ITEM_COLUMNS &&
			size == MAXALIGN(sizeof(IndexTupleData) + n * sizeof(int32)) +
			(has_tid ? MAXALIGN(sizeof(ItemPointerData)) : 0);
	}
	if (BTreeTupleIsPosting(tuple))
		return BTreeTupleGetPostingOffset(tuple) == sizeof(IndexTupleData) + GPUCOL_ITEM_BYTES &&
			size == MAXALIGN(sizeof(IndexTupleData) + GPUCOL_ITEM_BYTES +
							 BTreeTupleGetNPosting(tuple) * sizeof(ItemPointerData));
	return size == sizeof(IndexTupleData) + GPUCOL_ITEM_BYTES;
}

/* Find an item of a page and read its key; false if it is not as it must be. */
static inline bool
gpucol_item_read(Page page, OffsetNumber offset, bool pivot, GpucolItemKey *item, IndexTuple *tuple)
{
	ItemId		id = PageGetItemId(page, offset);
	uint32		start = ItemIdGetOffset(id);
	uint32		length = ItemIdGetLength(id);

	if (!ItemIdIsUsed(id) || ItemIdIsRedirected(id) || start != MAXALIGN(start) ||
		start < ((PageHeader) page)->pd_upper || length < sizeof(IndexTupleData) ||
		start + length > ((PageHeader) page)->pd_special)
		return false;
	*tuple = (IndexTuple) PageGetItem(page, id);
	if (IndexTupleSize(*tuple) != length || !gpucol_item_is_sound(*tuple, pivot, item))
		return false;
	if (item->ncolumns > 0)
		memcpy(&item->key, (char *) *tuple + sizeof(IndexTupleData),
			   Min(item->ncolumns, GPUCOL_ITEM_COLUMNS) * sizeof(int32));
	return true;
}

#endif							/* GPUCOL_COLUMNAR_INDEX_ITEM_H */
