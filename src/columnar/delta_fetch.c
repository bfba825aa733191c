/*-------------------------------------------------------------------------
 *
 * delta_fetch.c
 *	  Rows of the delta that an index scan comes to.
 *
 * They are fetched by heap's function.  Before, its page is looked at and, by who is serializable, perhaps locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"

#include "columnar/burials.h"
#include "columnar/delta_check.h"
#include "columnar/delta_fetch.h"
#include "columnar/serial.h"
#include "columnar/slot.h"

/* Pin the page of a delta row as heap does, and look at it before it is pruned. */
static void
enter_page(IndexFetchHeapData *heap, BlockNumber block)
{
	Relation	rel = heap->xs_base.rel;
	Buffer		before = heap->xs_cbuf;

	heap->xs_cbuf = ReleaseAndReadBuffer(before, rel, block);
	if (heap->xs_cbuf == before)
		return;
	gpucol_delta_check_lines(rel, heap->xs_cbuf);
	heap_page_prune_opt(rel, heap->xs_cbuf);
}

bool
gpucol_delta_fetch(IndexFetchTableData *data, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
				   bool *call_again, bool *all_dead)
{
	bool		lent;
	bool		found;

	if (!*call_again)
		enter_page((IndexFetchHeapData *) data, ItemPointerGetBlockNumber(tid));
	gpucol_serial_enter_delta(data->rel, tid, snapshot);
	lent = gpucol_slot_lend(slot);
	found = GetHeapamTableAmRoutine()->index_fetch_tuple(data, tid, snapshot, slot, call_again, all_dead);
	gpucol_slot_take_back(slot, lent);
	if (!found)
		return false;
	gpucol_burials_write_before_wait(snapshot);
	gpucol_delta_check_tuple(data->rel, gpucol_slot_tuple(slot));
	gpucol_serial_read_delta(data->rel, slot, snapshot);
	return true;
}
