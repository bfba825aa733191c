/*-------------------------------------------------------------------------
 *
 * item.h
 *	  Tuples of heap pages, for code that reads pages by itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ITEM_H
#define GPUCOL_COLUMNAR_ITEM_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "base/prefetch.h"

/* Ask memory for a tuple that is looked at soon. */
static inline void
gpucol_item_ahead(Page page, OffsetNumber offset)
{
	const OffsetNumber last = PageGetMaxOffsetNumber(page);
	const OffsetNumber next = offset + 8;

	if (next > offset && next <= last)
		GPUCOL_PREFETCH((char *) page + ItemIdGetOffset(PageGetItemId(page, next)));
}

/*
 * Find a tuple of a page whose buffer is locked: t_data and t_len of *tuple; false if
 * there is none that lies within the page, header and all.
 */
static inline bool
gpucol_item_find(Page page, OffsetNumber offset, HeapTuple tuple)
{
	ItemId		item;
	uint32		start;
	uint32		length;

	if (PageIsNew(page) || offset < FirstOffsetNumber ||
		offset > PageGetMaxOffsetNumber(page))
		return false;
	item = PageGetItemId(page, offset);
	start = ItemIdGetOffset(item);
	length = ItemIdGetLength(item);
	if (!ItemIdIsNormal(item) || start != MAXALIGN(start) ||
		start < ((PageHeader) page)->pd_upper || length < SizeofHeapTupleHeader ||
		start + length > ((PageHeader) page)->pd_special)
		return false;
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = length;
	return tuple->t_data->t_hoff >= SizeofHeapTupleHeader && tuple->t_data->t_hoff <= length;
}

/*
 * The tuple of a normal line pointer of a page, a block of the relation, that is locked, or whose
 * tuple is known to be visible; an error if it does not lie within the page.
 */
static inline void
gpucol_item_get(Relation rel, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	if (!gpucol_item_find(page, offset, tuple))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" has a corrupt page", RelationGetRelationName(rel)),
				 errdetail("Tuple %u of block %u is none.", offset, block)));
	tuple->t_tableOid = RelationGetRelid(rel);
	ItemPointerSet(&tuple->t_self, block, offset);
}

#endif							/* GPUCOL_COLUMNAR_ITEM_H */
