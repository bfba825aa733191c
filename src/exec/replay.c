/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  Rows of a node kept for the next scan of it, as a Material node keeps them.
 *
 * PostgreSQL may put a node on the inner side of a nested loop, expecting few rows on the
 * outer one, and be wrong.  Another scan of a heap costs what the first did; another run
 * of a join would build its tables again.  So a node that is told that it will be scanned
 * again keeps its rows, in work_mem and beyond that on disk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "exec/plan_rows.h"
#include "exec/replay.h"

void
gpucol_replay_init(GpucolReplay *replay, int eflags)
{
	replay->wanted = (eflags & EXEC_FLAG_REWIND) != 0;
}

/* Make room for rows like those of the node. */
static void
open_store(GpucolReplay *replay, CustomScanState *node)
{
	EState	   *estate = node->ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	replay->store = tuplestore_begin_heap(true, false, work_mem);
	tuplestore_set_eflags(replay->store, EXEC_FLAG_REWIND);
	if (replay->slot == NULL)
		replay->slot = MakeSingleTupleTableSlot(node->ss.ps.ps_ResultTupleSlot->tts_tupleDescriptor,
												&TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
}

TupleTableSlot *
gpucol_replay_next(GpucolReplay *replay, CustomScanState *node, GpucolFetch fetch)
{
	TupleTableSlot *slot;

	if (!replay->wanted || node->ss.ps.state->es_epq_active != NULL)
		return fetch(node);
	if (replay->store == NULL)
		open_store(replay, node);
	if (gpucol_plan_rows_stored(replay->store, replay->slot))
		return replay->slot;
	if (replay->complete)
		return ExecClearTuple(replay->slot);
	slot = fetch(node);
	if (TupIsNull(slot))
		replay->complete = true;
	else
		tuplestore_puttupleslot(replay->store, slot);
	return slot;
}

bool
gpucol_replay_rewind(GpucolReplay *replay, CustomScanState *node)
{
	if (replay->store == NULL)
		return false;
	if (node->ss.ps.chgParam == NULL)
	{
		tuplestore_rescan(replay->store);
		return true;
	}
	gpucol_replay_end(replay);
	return false;
}

void
gpucol_replay_end(GpucolReplay *replay)
{
	if (replay->store != NULL)
		tuplestore_end(replay->store);
	replay->store = NULL;
	replay->complete = false;
}
