/*-------------------------------------------------------------------------
 *
 * leaf_entry.c
 *	  An entry on a leaf page of a btree, put there without nbtree's insertion.
 *
 * It is logged by nbtree's own record, so recovery and standbys need nothing of ours.  Only what
 * changes one page is done here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/leaf_entry.h"

void
gpucol_leaf_entry_put(Relation index, Buffer buffer, IndexTuple entry, OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);

	START_CRIT_SECTION();
	if (PageAddItem(page, (Item) entry, MAXALIGN(IndexTupleSize(entry)), offset, false, false) ==
		InvalidOffsetNumber)
		elog(PANIC, "failed to add an entry to index \"%s\"", RelationGetRelationName(index));
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
	{
		xl_btree_insert record = {.offnum = offset};
		XLogRecPtr	end;

		XLogBeginInsert();
		XLogRegisterData((char *) &record, SizeOfBtreeInsert);
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, (char *) entry, IndexTupleSize(entry));
		end = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_LEAF);
		PageSetLSN(page, end);
	}
	END_CRIT_SECTION();
}
