/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  Turns: the source once more, for the next parts of tables that exceed memory.
 *
 * Rows are looked up in one part of each such table at a time.  A turn is a part of every
 * table; those of the first change fastest.  What a row is to become it becomes in one
 * turn: a match is in one part, and a row that has none anywhere is handed on in the turn
 * whose part its key is of.  Which rows of its own a table delivers in the end is known when
 * all parts of the tables before it have been looked up in.
 *
 * Packed columns are read as often as there are turns, which takes less time than it would
 * to write rows and to read them once.  What the sink has made of the rows stays.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/join.h"

GpucolStatus
gpucol_cpu_turn(GpucolRun *run)
{
	int			changed;
	GpucolStatus status;

	if (run->join.next_turn == NULL)
		return GPUCOL_END;
	status = run->join.next_turn(run->join.next_turn_arg, &changed);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_join_again(run, changed);
	if (status != GPUCOL_OK)
		return status;
	run->join.turn++;
	run->source->ops->rescan(run->source);
	run->input.in_segment = run->input.segments_done = run->input.delta_done = false;
	run->input.loaded = run->digest.payload_asked = false;
	run->join.in_tail = false;
	run->join.tail = 0;
	return GPUCOL_OK;
}
