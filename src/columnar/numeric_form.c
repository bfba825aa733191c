/*-------------------------------------------------------------------------
 *
 * numeric_form.c
 *	  How many digits the numerics of a column without a scale have and display.
 *
 * Descriptors of chunks of packed mantissas (kernel/numeric_code.h) say it, and dictionaries.  Of a
 * table of very many segments some are asked, evenly spread.  What was found is kept with a print of the
 * segments that the view has, by which it is known to be of the same ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "columnar/am.h"
#include "columnar/numeric_form.h"
#include "columnar/segment.h"
#include "columnar/view.h"
#include "compat.h"
#include "kernel/hash.h"
#include "kernel/numeric_code.h"

#define ASKED_SEGMENTS	256
#define KEPT_FORMS		64

/* Entries of dictionaries that are read for one column. */
#define READ_ENTRIES	200000

/* What is known of a column. */
typedef struct Kept
{
	Oid			table;			/* InvalidOid = unused */
	AttrNumber	attnum;
	uint64		print;			/* of the segments */
	bool		known;
	bool		refused;
	GpucolNumericForm form;
} Kept;

static Kept kept[KEPT_FORMS];
static int	next_kept;

/* What values have in common so far. */
typedef struct Common
{
	bool		any;
	bool		alike;
	int			scale;			/* the greatest that one needs */
	int			shown;			/* of the last */
	int			most;			/* that one displays */
	__int128	largest;		/* magnitude, at GPUCOL_NUMERIC_FORM_DIGITS */
	uint32		entries;		/* of dictionaries that were read */
} Common;

/* Add values that have `scale` digits at most, and display `shown` of them, if they are alike. */
static bool
add_values(Common *common, int scale, int shown, bool alike, __int128 largest, int largest_scale)
{
	if (scale > GPUCOL_NUMERIC_FORM_DIGITS || largest >= GPUCOL_NUMERIC_MANTISSAS * (__int128) 10)
		return false;
	largest *= (__int128) gpucol_power10(GPUCOL_NUMERIC_FORM_DIGITS - largest_scale);
	common->alike = alike && (!common->any || (common->alike && shown == common->shown));
	common->shown = shown;
	common->most = Max(common->most, shown);
	common->scale = Max(common->scale, scale);
	common->largest = Max(common->largest, largest);
	common->any = true;
	return true;
}

/* Add a chunk of mantissas. */
static bool
add_mantissas(const GpucolChunkDesc *desc, Common *common)
{
	int64		last = (int64) ((uint64) desc->reference + ((UINT64CONST(1) << desc->width) - 1));
	int64		low = gpucol_numeric_mantissa(desc, desc->reference);
	int64		high = gpucol_numeric_mantissa(desc, last);

	return add_values(common, desc->scale, desc->shown, desc->hidden == 0,
					  Max(Max(low, -low), Max(high, -high)), desc->scale);
}

/* Add the entries of a dictionary. */
static bool
add_entries(const GpucolDecoder *decoder, Common *common)
{
	for (uint32 i = 0; i < decoder->desc->ndict; i++)
	{
		GpucolBytes value = decoder->entries[i];
		GpucolNumericHead head;
		int64		mantissa;
		int			scale;

		if (!gpucol_numeric_head(value.data, value.len, &head))
			return false;
		scale = gpucol_numeric_fraction(value.data, value.len, &head);
		if (scale > GPUCOL_NUMERIC_FORM_DIGITS ||
			!gpucol_numeric_read_exact(value.data, value.len, scale, &mantissa) ||
			!add_values(common, scale, head.scale, true, mantissa < 0 ? -(__int128) mantissa : mantissa, scale))
			return false;
	}
	return true;
}

/* Read a dictionary; of very large ones not all. */
static bool
add_dictionary(Relation rel, const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc, Common *common)
{
	static const GpucolStreamKind streams[] = {GPUCOL_STREAM_DICT, GPUCOL_STREAM_DATA};
	GpucolMemory memory = gpucol_segment_memory(CurrentMemoryContext);
	GpucolWindow windows[lengthof(streams)] = {0};
	GpucolDecoder decoder;
	GpucolStatus status;
	uint32		pinned = 0;
	bool		fits = true;

	common->entries += desc->ndict;
	if (common->entries > READ_ENTRIES)
		return true;
	gpucol_decode_init(&decoder, desc, segment->entry.nrows, &memory);
	for (int i = 0; i < (int) lengthof(streams); i++)
	{
		windows[i].pinned = &pinned;
		if (desc->streams[streams[i]].nrows == 0)
			continue;
		gpucol_window_map(&windows[i], rel, segment, desc, streams[i], 0, desc->streams[streams[i]].nrows);
		gpucol_decode_map(&decoder, streams[i], &windows[i].rows);
	}
	status = gpucol_decode_load(&decoder);
	if (status == GPUCOL_OK)
		fits = add_entries(&decoder, common);
	gpucol_decode_free(&decoder);
	for (int i = 0; i < (int) lengthof(streams); i++)
		gpucol_window_unmap(&windows[i]);
	/* who reads the rows will say what is wrong */
	return fits && status == GPUCOL_OK;
}

/* Add a chunk; false if it has values of no form. */
static bool
add_chunk(Relation rel, const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc, Common *common)
{
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return true;
	if (desc->kind != GPUCOL_KIND_BYTES)
		return false;
	switch (desc->coding)
	{
		case GPUCOL_CODING_NUMERIC:
			return add_mantissas(desc, common);
		case GPUCOL_CODING_DICT:
		case GPUCOL_CODING_CONSTANT:
			return add_dictionary(rel, segment, desc, common);
		default:
			return false;
	}
}

/* Have all values mantissas of so many digits at most at a scale? */
static bool
fit_scale(const Common *common, int scale)
{
	return scale <= GPUCOL_NUMERIC_FORM_DIGITS &&
		common->largest < GPUCOL_NUMERIC_MANTISSAS * (__int128) gpucol_power10(GPUCOL_NUMERIC_FORM_DIGITS - scale);
}

/* Ask the segments of a view. */
static bool
ask_segments(Relation rel, const GpucolView *view, AttrNumber attnum, GpucolNumericForm *form)
{
	uint32		asked = Min(view->nsegments, ASKED_SEGMENTS);
	Common		common = {0};

	for (uint32 i = 0; i < asked; i++)
	{
		uint32		number = (uint32) ((uint64) i * view->nsegments / asked);
		const GpucolSegmentInfo *segment = gpucol_segment_open(rel, &view->segments[number].entry);
		const GpucolChunkDesc *desc = gpucol_segment_desc(segment, attnum);

		if (desc != NULL && !add_chunk(rel, segment, desc, &common))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	if (!common.any)
	{
		*form = (GpucolNumericForm) {.scale = -1,.alike = true,.within = true};
		return true;
	}
	form->alike = common.alike && common.shown <= GPUCOL_NUMERIC_FORM_DIGITS;
	form->scale = form->alike || fit_scale(&common, common.most) ? common.most : common.scale;
	form->within = form->scale >= common.most;
	return fit_scale(&common, form->scale);
}

/* A print of the segments of a view. */
static uint64
print_segments(Relation rel, const GpucolView *view)
{
	uint64		print = gpucol_hash_mix(gpucol_compat_relation_file(rel), view->nsegments);

	for (uint32 i = 0; i < view->nsegments; i++)
		print = gpucol_hash_mix(print ^ view->segments[i].entry.first_row, view->segments[i].entry.identity);
	return print;
}

/* The entry of a column, which may be one that is thrown out for it. */
static Kept *
find_kept(Oid table, AttrNumber attnum)
{
	for (int i = 0; i < KEPT_FORMS; i++)
	{
		if (kept[i].table == table && kept[i].attnum == attnum)
			return &kept[i];
	}
	next_kept = (next_kept + 1) % KEPT_FORMS;
	memset(&kept[next_kept], 0, sizeof(Kept));
	return &kept[next_kept];
}

/* What is known of a column of an open table. */
static const Kept *
look(Relation rel, AttrNumber attnum)
{
	const GpucolView *view = gpucol_view_peek(rel, GetActiveSnapshot());
	uint64		print = print_segments(rel, view);
	GpucolNumericForm form = {0};
	bool		known;
	Kept	   *entry = find_kept(RelationGetRelid(rel), attnum);

	if (entry->table != InvalidOid && entry->print == print)
		return entry;
	/* an error leaves the entry as it was */
	known = ask_segments(rel, view, attnum, &form);
	*entry = (Kept) {RelationGetRelid(rel), attnum, print, known, false, form};
	return entry;
}

bool
gpucol_find_numeric_form(Oid table, AttrNumber attnum, GpucolNumericForm *form)
{
	Relation	rel;
	bool		known = false;

	if (!OidIsValid(table) || attnum <= 0 || !ActiveSnapshotSet())
		return false;
	rel = table_open(table, NoLock);
	if (gpucol_am_is_table(rel))
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol numeric form",
													  ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		const Kept *entry = look(rel, attnum);

		known = entry->known && !entry->refused;
		*form = entry->form;
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	table_close(rel, NoLock);
	return known;
}

void
gpucol_refuse_numeric_form(Oid table)
{
	for (int i = 0; i < KEPT_FORMS; i++)
	{
		if (kept[i].table == table)
			kept[i].refused = true;
	}
}
