/*-------------------------------------------------------------------------
 *
 * ready.c
 *	  Windows of a source that are made ready while threads read others (ready.h).
 *
 * Pinning a page and giving it back takes the one thread that may do so as long as many threads
 * together need to look at what is on it.  So this is done while they are at work: with the next window, and
 * with the last one.  Then nothing may be raised, nor the thread be held up: only pages are pinned that
 * are in the buffers where they were seen last, which takes no lock that others hold for
 * long, and reads nothing.  What remains is memory that is wanting: that error waits for the
 * threads before it goes on its way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/pool.h"
#include "columnar/ready.h"

#define STREAMS 2				/* of a column, that threads read window by window */

void
gpucol_ready_init(GpucolReady *ready, int ncolumns)
{
	memset(ready, 0, sizeof(*ready));
	ready->room = STREAMS * Max(ncolumns, 1);
	ready->ready = palloc(ready->room * sizeof(GpucolReadyWindow));
	ready->spent = palloc(ready->room * sizeof(GpucolWindow *));
}

static void
abandon_pool(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	gpucol_pool_abandon();
}

/* Pin a window's pages; an error is raised once no thread is at work any more. */
static bool
lend_at_hand(const GpucolReadyWindow *wanted, Relation table, const GpucolSegmentInfo *segment,
			 const GpucolChunkDesc *desc)
{
	volatile bool made = false;

	PG_ENSURE_ERROR_CLEANUP(abandon_pool, (Datum) 0);
	made = gpucol_window_lend_at_hand(wanted->window, table, segment, desc, wanted->stream, wanted->row, wanted->nrows);
	PG_END_ENSURE_ERROR_CLEANUP(abandon_pool, (Datum) 0);
	return made;
}

bool
gpucol_ready_make(GpucolReady *ready, const GpucolReadyWindow *wanted, Relation table,
				  const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc)
{
	bool		made;

	if (ready->nready == ready->room)
		return false;
	ready->lazy = true;
	HOLD_INTERRUPTS();
	made = lend_at_hand(wanted, table, segment, desc);
	RESUME_INTERRUPTS();
	if (made)
		ready->ready[ready->nready++] = *wanted;
	return made;
}

GpucolWindow *
gpucol_ready_take(GpucolReady *ready, int slot, GpucolStreamKind stream, uint32 row, uint32 nrows)
{
	for (int i = 0; i < ready->nready; i++)
	{
		GpucolReadyWindow *found = &ready->ready[i];
		GpucolWindow *window = found->window;

		if (found->slot != slot || found->stream != stream || found->row != row || found->nrows < nrows)
			continue;
		*found = ready->ready[--ready->nready];
		return window;
	}
	return NULL;
}

bool
gpucol_ready_keep(GpucolReady *ready, GpucolWindow *window)
{
	if (!ready->lazy || ready->nspent == ready->room)
		return false;
	ready->spent[ready->nspent++] = window;
	return true;
}

GpucolWindow *
gpucol_ready_drop(GpucolReady *ready, bool ends)
{
	GpucolWindow *window = NULL;

	if (ready->nspent > 0)
		window = ready->spent[--ready->nspent];
	else if (ends && ready->nready > 0)
		window = ready->ready[--ready->nready].window;
	else if (ends)
		ready->lazy = false;
	if (window != NULL)
		gpucol_window_unmap(window);
	return window;
}
