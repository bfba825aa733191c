/*-------------------------------------------------------------------------
 *
 * rownum.h
 *	  Row numbers of segment rows and their virtual TIDs.
 *
 * Every segment row has a table-wide number, reserved from a counter that never
 * goes back behind a number that a row has had (PROTOCOL).  Its TID is
 * virtual: block 2^31 + number / 256, offset 1 + number % 256.  Blocks of the main
 * fork stay below 2^31, so that one bit tells a segment row from a delta row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ROWNUM_H
#define GPUCOL_COLUMNAR_ROWNUM_H

#include "postgres.h"

#include "storage/itemptr.h"

#define GPUCOL_FIRST_VIRTUAL_BLOCK	((BlockNumber) 0x80000000)
#define GPUCOL_BLOCK_TIDS			256

/* Row numbers end before block 0xFFFFFFFF, which is InvalidBlockNumber. */
#define GPUCOL_MAX_ROW_NUMBER \
	((UINT64CONST(0x7FFFFFFF) * GPUCOL_BLOCK_TIDS) - 1)

/* Does a TID name a segment row? */
static inline bool
gpucol_tid_is_virtual(const ItemPointerData *tid)
{
	return ItemPointerGetBlockNumberNoCheck(tid) >= GPUCOL_FIRST_VIRTUAL_BLOCK &&
		ItemPointerGetBlockNumberNoCheck(tid) != InvalidBlockNumber;
}

/* Row number of a virtual TID. */
static inline uint64
gpucol_tid_row(const ItemPointerData *tid)
{
	return (uint64) (ItemPointerGetBlockNumberNoCheck(tid) -
					 GPUCOL_FIRST_VIRTUAL_BLOCK) * GPUCOL_BLOCK_TIDS +
		(ItemPointerGetOffsetNumberNoCheck(tid) - 1);
}

/* Virtual TID of a row number. */
static inline void
gpucol_tid_set(ItemPointerData *tid, uint64 row)
{
	ItemPointerSet(tid, GPUCOL_FIRST_VIRTUAL_BLOCK +
				   (BlockNumber) (row / GPUCOL_BLOCK_TIDS),
				   (OffsetNumber) (1 + row % GPUCOL_BLOCK_TIDS));
}

#endif							/* GPUCOL_COLUMNAR_ROWNUM_H */
