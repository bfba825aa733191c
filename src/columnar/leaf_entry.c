/*-------------------------------------------------------------------------
 *
 * leaf_entry.c
 *	  An entry on a leaf page of a btree, put there without nbtree's insertion.
 *
 * It is logged by nbtree's own record, so recovery and standbys need nothing of ours.  Only what
 * changes one page is done here.  Many entries of one page are logged by whoever puts them there, as an image of the
 * page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtxlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/leaf_entry.h"

/* Log an entry that has just been put on a page. */
static void
log_entry(Buffer buffer, IndexTuple entry, OffsetNumber offset)
{
	xl_btree_insert record = {.offnum = offset};
	XLogRecPtr	at;

	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfBtreeInsert);
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
	XLogRegisterBufData(0, (char *) entry, IndexTupleSize(entry));
	at = XLogInsert(RM_BTREE_ID, XLOG_BTREE_INSERT_LEAF);
	PageSetLSN(BufferGetPage(buffer), at);
}

void
gpucol_leaf_entry_put(Relation index, Buffer buffer, IndexTuple entry, OffsetNumber offset, bool log)
{
	START_CRIT_SECTION();
	if (PageAddItem(BufferGetPage(buffer), (Item) entry, MAXALIGN(IndexTupleSize(entry)), offset, false, false) ==
		InvalidOffsetNumber)
		elog(PANIC, "failed to add an entry to index \"%s\"", RelationGetRelationName(index));
	MarkBufferDirty(buffer);
	if (log && RelationNeedsWAL(index))
		log_entry(buffer, entry, offset);
	END_CRIT_SECTION();
}
