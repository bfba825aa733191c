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
#include "storage/bufpage.h"

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

#endif							/* GPUCOL_COLUMNAR_ITEM_H */
