/*-------------------------------------------------------------------------
 *
 * same_key.c
 *	  Btree entries of new versions of rows whose keys are as they were.
 *
 * Heap's update leaves the indexes alone where it can (HOT), so a serializable transaction that
 * changes other columns comes upon nobody's predicate lock of an index page.  The new version of a
 * segment row needs entries, and nbtree's insertion looks for such locks: two transactions that
 * read and changed different rows of one leaf page failed.
 *
 * That look is for readers of the gap that an entry fills, who have missed the row.  Here
 * they have not.  Who read these keys came upon the old version's entry, which has the same
 * key, and went to the old version.  If his snapshot sees that, he has locked the row,
 * and the update has looked for its locks (serial.c).  If not, he conflicts with whoever made the old
 * version, and the update comes after that one.  So nothing is overlooked, as nothing is with HOT.
 *
 * Nor is uniqueness asked again: the old version had the key to itself, and who wants it now waits for
 * the update's end.  Only a check at the end of the transaction must hear of the new version (new_entries.h).
 *
 * PostgreSQL has no insertion without the look.  So the plain case is done here: a tuple of its own
 * on a leaf page that has room, which nbtree's search has found.  A page that is to be
 * split, whose predicate locks must be copied, and a place within a posting list are left to nbtree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "columnar/leaf_entry.h"
#include "columnar/same_key.h"
#include "compat.h"

/* Less than the third of a page that nbtree allows. */
#define LARGEST_ENTRY	(BLCKSZ / 4)

bool
gpucol_same_key_insert(Relation index, Relation table, Datum *values, bool *isnull,
					   const ItemPointerData *tid)
{
	BTInsertStateData insert = {0};
	bool		done = false;

	insert.itup = index_form_tuple(RelationGetDescr(index), values, isnull);
	insert.itup->t_tid = *tid;
	insert.itemsz = MAXALIGN(IndexTupleSize(insert.itup));
	insert.itup_key = _bt_mkscankey(index, insert.itup);
	/* the search goes by TID, too, so there is one page for the entry */
	if (insert.itup_key->heapkeyspace && insert.itemsz <= LARGEST_ENTRY)
	{
		_bt_freestack(gpucol_compat_bt_search(index, table, insert.itup_key, &insert.buf));
		if (PageGetFreeSpace(BufferGetPage(insert.buf)) >= insert.itemsz)
		{
			OffsetNumber offset = _bt_binsrch_insert(index, &insert);

			done = insert.postingoff == 0;
			if (done)
				gpucol_leaf_entry_put(index, insert.buf, insert.itup, offset, true);
		}
		_bt_relbuf(index, insert.buf);
	}
	pfree(insert.itup_key);
	pfree(insert.itup);
	return done;
}
