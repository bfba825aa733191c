/*-------------------------------------------------------------------------
 *
 * window_frame.c
 *	  A partition in its order: peers, and the frame of each row.
 *
 * Bounds of frames never move back from row to row, as offsets are the same for all rows:
 * those of RANGE are found by walking on, asking the type's in_range function as
 * PostgreSQL's executor does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"

#include "exec/window_frame.h"

/* Without ORDER BY all rows are peers. */
static void
find_groups(GpucolWindowPart *part)
{
	uint32		group = 0;

	part->group_start[0] = 0;
	for (uint32 i = 0; i < part->n; i++)
	{
		if (i > 0 && part->frames->ordered && (part->begins[i] & GPUCOL_WINDOW_PEERS) != 0)
			part->group_start[++group] = i;
		part->group[i] = group;
	}
	part->ngroups = group + 1;
	part->group_start[part->ngroups] = part->n;
}

static void
fill(uint32 *bounds, uint32 n, uint32 value)
{
	for (uint32 i = 0; i < n; i++)
		bounds[i] = value;
}

/* ---- ROWS ---- */

/* The place so many rows before or behind each, and one more; not beyond the ends. */
static void
bound_by_rows(GpucolWindowPart *part, uint32 *bounds, uint64 offset, bool before, uint32 more)
{
	for (uint32 i = 0; i < part->n; i++)
	{
		uint64		at = (uint64) i + more;

		if (before)
			bounds[i] = at > offset ? (uint32) (at - offset) : 0;
		else
			bounds[i] = offset >= part->n - Min(at, part->n) ? part->n : (uint32) (at + offset);
	}
}

/* ---- GROUPS ---- */

/* The first place of the group so many before or behind each row's, and `more` on. */
static void
bound_by_groups(GpucolWindowPart *part, uint32 *bounds, uint64 offset, bool before, uint32 more)
{
	for (uint32 i = 0; i < part->n; i++)
	{
		uint64		group = (uint64) part->group[i] + more;

		if (before)
			bounds[i] = group > offset ? part->group_start[group - offset] : 0;
		else
			bounds[i] = offset >= part->ngroups - Min(group, part->ngroups) ? part->n :
				part->group_start[group + offset];
	}
}

/* ---- RANGE ---- */

/* Is the bound of `place` further than `at`? */
static bool
is_beyond(GpucolWindowPart *part, uint32 at, uint32 place, bool tail, bool before)
{
	const GpucolWindowFrames *frames = part->frames;
	const GpucolWindowInput *in = &part->rows->inputs[frames->input];
	uint32		other = part->items[at].row;
	uint32		own = part->items[place].row;
	bool		other_null = in->isnull[other];
	bool		own_null = in->isnull[own];
	FmgrInfo   *in_range = (FmgrInfo *) (tail ? &frames->end_in_range : &frames->start_in_range);
	bool		is_in;

	if (other_null || own_null)
	{
		if (tail)
			return frames->nulls_first ? other_null : own_null;
		return frames->nulls_first ? other_null && !own_null : !other_null && own_null;
	}
	is_in = DatumGetBool(FunctionCall5Coll(in_range, frames->collation, in->values[other],
										   in->values[own],
										   tail ? frames->end_value : frames->start_value,
										   BoolGetDatum(before == frames->ascending),
										   BoolGetDatum(tail == frames->ascending)));
	return is_in == tail;
}

static void
bound_by_range(GpucolWindowPart *part, uint32 *bounds, bool tail, bool before)
{
	uint32		at = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		while (at < part->n && is_beyond(part, at, i, tail, before))
			at++;
		bounds[i] = at;
	}
}

/* ---- bounds ---- */

static void
find_starts(GpucolWindowPart *part)
{
	int			options = part->frames->options;
	bool		before = (options & FRAMEOPTION_START_OFFSET_PRECEDING) != 0;
	bool		current = (options & FRAMEOPTION_START_CURRENT_ROW) != 0;
	uint64		offset = current ? 0 : part->frames->start;

	if ((options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0)
		fill(part->low, part->n, 0);
	else if ((options & FRAMEOPTION_ROWS) != 0)
		bound_by_rows(part, part->low, offset, before, 0);
	else if (current || (options & FRAMEOPTION_GROUPS) != 0)
		bound_by_groups(part, part->low, offset, before, 0);
	else
		bound_by_range(part, part->low, false, before);
}

static void
find_ends(GpucolWindowPart *part)
{
	int			options = part->frames->options;
	bool		before = (options & FRAMEOPTION_END_OFFSET_PRECEDING) != 0;
	bool		current = (options & FRAMEOPTION_END_CURRENT_ROW) != 0;
	uint64		offset = current ? 0 : part->frames->end;

	if ((options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0)
		fill(part->high, part->n, part->n);
	else if ((options & FRAMEOPTION_ROWS) != 0)
		bound_by_rows(part, part->high, offset, before, 1);
	else if (current || (options & FRAMEOPTION_GROUPS) != 0)
		bound_by_groups(part, part->high, offset, before, 1);
	else
		bound_by_range(part, part->high, true, before);
}

bool
gpucol_window_part_init(GpucolWindowPart *part, GpucolWindowRows *rows,
						const GpucolWindowFrames *frames, uint32 largest)
{
	Size		bytes = ((Size) largest + 2) * sizeof(uint32);

	part->rows = rows;
	part->frames = frames;
	if (!gpucol_window_rows_fit(rows, 4 * bytes))
		return false;
	part->group = gpucol_window_rows_alloc(rows, bytes);
	part->group_start = gpucol_window_rows_alloc(rows, bytes);
	part->low = gpucol_window_rows_alloc(rows, bytes);
	part->high = gpucol_window_rows_alloc(rows, bytes);
	return true;
}

void
gpucol_window_part_load(GpucolWindowPart *part, const GpucolRadixItem *items,
						const uint8 *begins, uint32 n, bool with_frames)
{
	part->items = items;
	part->begins = begins;
	part->n = n;
	find_groups(part);
	if (!with_frames)
		return;
	find_starts(part);
	find_ends(part);
}

void
gpucol_window_part_free(GpucolWindowPart *part)
{
	pfree(part->group);
	pfree(part->group_start);
	pfree(part->low);
	pfree(part->high);
}
