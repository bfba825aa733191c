/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Slots of gpucol tables, whose segment rows are decoded as far as they are read.
 *
 * An index leads to one row of a segment, whose columns lie on as many pages; most
 * statements read few of them, and a row lock or the check of a foreign key none.  So the
 * slot of a table begins as heap's does, and holds delta rows as that does, by heap's own
 * functions.  Of a segment row it holds the place alone ("packed"), and decodes columns
 * when they are asked for, up to the last one that is, as slots do.  A system
 * column, a copy or materialising takes the whole row, as a heap tuple that the slot owns.
 *
 * The pages that it has read from stay pinned until the slot is cleared, as heap's slots keep theirs.  What it
 * has decoded is copied from the pages.  A slot of a plan's node is cleared for each row that an
 * outer one asks for: it keeps them until the plan ends, and knows which columns the plan reads (plan_columns.c).
 * Those before the last of them that it does not are left out.  A copy of the row has them all.
 *
 * A row that no snapshot keeps in place is copied as a whole at once (gpucol_slot_store_copy).  The
 * reader stays where it is for the next one, so that an UPDATE of many rows, which fetches each
 * by its place, does not open their segment for each.
 *
 * Mostly it is the row that a scan has just put into another slot, whose tuple is copied then
 * (gpucol_slot_note_scanned).
 *
 * Heap's functions insist on slots of heap's kind.  While they are called, the slot is
 * one (gpucol_slot_lend): the kinds differ in their functions only.  An error in between
 * leaves it so, which does no harm to a slot that only waits to be released.
 *
 * Rows are left packed only for callers whose snapshot keeps them in place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "columnar/point_reader.h"
#include "columnar/rownum.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/slot.h"
#include "compat.h"
#include "service/memory.h"

typedef struct GpucolSlot
{
	BufferHeapTupleTableSlot base;	/* must be first; any other row */
	bool		packed;			/* the row is this one: */
	Relation	table;
	uint32		row;
	GpucolViewSegment segment;

	/* kept from row to row; NULL before the first that is read from */
	MemoryContext context;		/* of the reader */
	GpucolPointReader *reader;
	bool		open;			/* the reader is at the row, */
	bool		behind;			/* or still at one that was copied */
	ResourceOwner owner;		/* then: of its pins */

	/* gpucol_slot_plan */
	bool		planned;
	bool	   *skipped;		/* by attnum - 1: columns that are not read; NULL: none */
	bool		sparse;			/* some of the values are missing */
} GpucolSlot;

static TupleTableSlotOps slot_ops;

/*
 * The packed slot that was read from last, if it still holds that row and the
 * (sub)transaction goes on.
 */
static GpucolSlot *latest = NULL;

/* The slot that a scan has put a packed row in last; it may hold another one by now. */
static struct
{
	TupleTableSlot *slot;		/* NULL = none */
	Oid			space;
	Oid			file;			/* of the table */
}			scanned;

bool
gpucol_slot_is_ours(const TupleTableSlot *slot)
{
	return slot->tts_ops == &slot_ops;
}

static void
set_ops(TupleTableSlot *slot, const TupleTableSlotOps *ops)
{
	*((const TupleTableSlotOps **) &slot->tts_ops) = ops;
}

/* Stand where another row is. */
static void
leave_row(GpucolSlot *slot)
{
	slot->packed = false;
	slot->open = false;
	slot->behind = false;
	if (latest == slot)
		latest = NULL;
}

/* Have the reader give its pages back, unless the slot's plan will come to them again. */
static void
rest_reader(GpucolSlot *slot)
{
	if (slot->reader != NULL && !slot->planned)
		gpucol_point_reader_close(slot->reader);
}

/* Let a packed row and its pages go; the slot is empty but for its TID. */
static void
drop_row(GpucolSlot *slot)
{
	rest_reader(slot);
	leave_row(slot);
	slot->base.base.base.tts_nvalid = 0;
	slot->base.base.base.tts_flags |= TTS_FLAG_EMPTY;
}

/* Context callback: the slot goes, or its reader. */
static void
forget_latest(void *arg)
{
	if (latest == arg)
		latest = NULL;
}

static void
forget_at_end(XactEvent event pg_attribute_unused(), void *arg pg_attribute_unused())
{
	latest = NULL;
	scanned.slot = NULL;
}

static void
forget_at_subend(SubXactEvent event pg_attribute_unused(),
				 SubTransactionId id pg_attribute_unused(),
				 SubTransactionId parent pg_attribute_unused(),
				 void *arg pg_attribute_unused())
{
	latest = NULL;
	scanned.slot = NULL;
}

static void
free_reader(GpucolSlot *slot)
{
	if (slot->reader == NULL)
		return;
	gpucol_point_reader_close(slot->reader);
	MemoryContextDelete(slot->context);
	slot->reader = NULL;
}

static void
make_reader(GpucolSlot *slot)
{
	MemoryContext old;

	slot->context = AllocSetContextCreate(slot->base.base.base.tts_mcxt, "gpucol slot",
										  ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(slot->context);
	gpucol_memory_watch(slot->context, forget_latest, slot);
	slot->reader = gpucol_point_reader_create(slot->table, slot->base.base.base.tts_tupleDescriptor);
	if (slot->planned)
		gpucol_point_reader_allow_vectors(slot->reader);
	MemoryContextSwitchTo(old);
}

/* Bring the reader to the row. */
static void
open_row(GpucolSlot *slot)
{
	if (slot->open)
		return;
	if (slot->reader != NULL &&
		!gpucol_point_reader_is_for(slot->reader, slot->table, slot->base.base.base.tts_tupleDescriptor))
		free_reader(slot);
	if (slot->reader == NULL)
		make_reader(slot);
	gpucol_point_reader_begin(slot->reader, gpucol_segment_open(slot->table, &slot->segment.entry), slot->row);
	slot->open = true;
	slot->sparse = false;
	slot->owner = CurrentResourceOwner;
	latest = slot;
}

/* Decode the columns of a packed row that have not been, up to a number of them. */
static void
read_values(GpucolSlot *slot, int natts)
{
	TupleTableSlot *base = &slot->base.base.base;

	if (base->tts_nvalid >= natts)
		return;
	open_row(slot);
	for (int i = base->tts_nvalid; i < natts; i++)
	{
		if (slot->skipped != NULL && slot->skipped[i])
		{
			base->tts_isnull[i] = true;
			slot->sparse = true;
		}
		else
			base->tts_values[i] = gpucol_point_reader_value(slot->reader, i, &base->tts_isnull[i]);
	}
	base->tts_nvalid = natts;
}

/* Decode what read_values has left out. */
static void
fill_values(GpucolSlot *slot)
{
	TupleTableSlot *base = &slot->base.base.base;

	for (int i = 0; slot->sparse && i < base->tts_nvalid; i++)
	{
		if (slot->skipped[i])
			base->tts_values[i] = gpucol_point_reader_value(slot->reader, i, &base->tts_isnull[i]);
	}
	slot->sparse = false;
}

void
gpucol_slot_plan(TupleTableSlot *slot, const Bitmapset *columns)
{
	GpucolSlot *ours = (GpucolSlot *) slot;
	int			natts = slot->tts_tupleDescriptor->natts;

	ours->planned = true;
	if (columns == NULL || bms_is_member(-FirstLowInvalidHeapAttributeNumber, columns))
		return;
	ours->skipped = MemoryContextAlloc(slot->tts_mcxt, Max(natts, 1) * sizeof(bool));
	for (int i = 0; i < natts; i++)
		ours->skipped[i] = !bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, columns);
}

void
gpucol_slot_read(TupleTableSlot *slot, const AttrNumber *attnums, int n)
{
	GpucolSlot *ours = (GpucolSlot *) slot;

	if (n == 0)
		return;
	if (!gpucol_slot_is_ours(slot) || !ours->packed)
	{
		slot_getsomeattrs(slot, attnums[n - 1]);
		return;
	}
	open_row(ours);
	for (int i = 0; i < n; i++)
	{
		if (attnums[i] > slot->tts_nvalid)
			slot->tts_values[attnums[i] - 1] =
				gpucol_point_reader_value(ours->reader, attnums[i] - 1, &slot->tts_isnull[attnums[i] - 1]);
	}
}

/* A packed row as a tuple in the current memory context. */
static HeapTuple
form_tuple(GpucolSlot *slot)
{
	TupleTableSlot *base = &slot->base.base.base;

	open_row(slot);
	read_values(slot, base->tts_tupleDescriptor->natts);
	fill_values(slot);
	return gpucol_point_reader_form(slot->reader, slot->segment.xmin, base->tts_values, base->tts_isnull);
}

void
gpucol_slot_note_scanned(Relation table, TupleTableSlot *slot)
{
	scanned.slot = gpucol_slot_is_ours(slot) ? slot : NULL;
	scanned.space = gpucol_compat_relation_space(table);
	scanned.file = gpucol_compat_relation_file(table);
}

/* The tuple of a row, if the slot that a scan has put a row in last has it; else NULL. */
static HeapTuple
scanned_tuple(Relation table, uint64 row_number)
{
	HeapTuple	tuple;

	if (scanned.slot == NULL || scanned.file != gpucol_compat_relation_file(table) ||
		scanned.space != gpucol_compat_relation_space(table) ||
		((GpucolSlot *) scanned.slot)->packed)
		return NULL;
	tuple = gpucol_slot_tuple(scanned.slot);
	if (tuple == NULL || !gpucol_tid_is_virtual(&tuple->t_self) ||
		gpucol_tid_row(&tuple->t_self) != row_number)
		return NULL;
	return tuple;
}

HeapTuple
gpucol_slot_copy_latest(Relation table, uint64 row_number)
{
	HeapTuple	tuple = scanned_tuple(table, row_number);

	if (tuple != NULL)
		return heap_copytuple(tuple);
	/* what is still to be read is pinned for whoever reads the slot */
	if (latest == NULL || latest->owner != CurrentResourceOwner || latest->table != table ||
		latest->segment.entry.first_row + latest->row != row_number)
		return NULL;
	return form_tuple(latest);
}

void
gpucol_slot_put(HeapTuple tuple, TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *bslot = (BufferHeapTupleTableSlot *) slot;

	/* as ExecForceStoreHeapTuple, but the tuple is the slot's already */
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_flags |= TTS_FLAG_SHOULDFREE;
	slot->tts_nvalid = 0;
	slot->tts_tid = tuple->t_self;
	slot->tts_tableOid = tuple->t_tableOid;
	bslot->base.tuple = tuple;
	bslot->base.off = 0;
	bslot->buffer = InvalidBuffer;
}

void
gpucol_slot_empty(TupleTableSlot *slot)
{
	GpucolSlot *ours = (GpucolSlot *) slot;

	if (gpucol_slot_is_ours(slot) && ours->behind)
		TTSOpsBufferHeapTuple.clear(slot);
	else
		ExecClearTuple(slot);
}

void
gpucol_slot_store(TupleTableSlot *slot, Relation table, const GpucolViewSegment *segment,
				  uint64 row_number)
{
	GpucolSlot *ours = (GpucolSlot *) slot;

	Assert(gpucol_slot_is_ours(slot));
	if (!ours->packed)
		gpucol_slot_empty(slot);
	leave_row(ours);			/* and keep the pages that the next row may need */
	ours->table = table;
	ours->segment = *segment;
	ours->row = (uint32) (row_number - segment->entry.first_row);
	ours->packed = true;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = 0;
	slot->tts_tableOid = RelationGetRelid(table);
	gpucol_tid_set(&slot->tts_tid, row_number);
}

void
gpucol_slot_store_copy(TupleTableSlot *slot, Relation table, const GpucolViewSegment *segment,
					   uint64 row_number)
{
	GpucolSlot *ours = (GpucolSlot *) slot;
	MemoryContext old;
	HeapTuple	tuple;

	gpucol_slot_empty(slot);
	gpucol_slot_store(slot, table, segment, row_number);
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	tuple = form_tuple(ours);
	MemoryContextSwitchTo(old);
	leave_row(ours);
	ours->behind = true;
	gpucol_slot_put(tuple, slot);
}

HeapTuple
gpucol_slot_tuple(TupleTableSlot *slot)
{
	if (TTS_EMPTY(slot) || !(gpucol_slot_is_ours(slot) || TTS_IS_BUFFERTUPLE(slot)))
		return NULL;
	return ((HeapTupleTableSlot *) slot)->tuple;
}

bool
gpucol_slot_lend(TupleTableSlot *slot)
{
	if (!gpucol_slot_is_ours(slot))
		return false;
	/* the caller's TID may be the slot's */
	if (((GpucolSlot *) slot)->packed)
		drop_row((GpucolSlot *) slot);
	set_ops(slot, &TTSOpsBufferHeapTuple);
	return true;
}

void
gpucol_slot_take_back(TupleTableSlot *slot, bool lent)
{
	if (lent)
		set_ops(slot, &slot_ops);
}

/* ------------------------------------------------------------------------
 * The functions of a slot, as documented in executor/tuptable.h
 * ------------------------------------------------------------------------
 */

static void
release_slot(TupleTableSlot *slot)
{
	if (scanned.slot == slot)
		scanned.slot = NULL;
	free_reader((GpucolSlot *) slot);
	TTSOpsBufferHeapTuple.release(slot);
}

static void
clear_slot(TupleTableSlot *slot)
{
	GpucolSlot *ours = (GpucolSlot *) slot;

	if (ours->packed)
		drop_row(ours);
	else if (ours->behind)
	{
		rest_reader(ours);
		ours->behind = false;
	}
	TTSOpsBufferHeapTuple.clear(slot);
}

static void
get_some_values(TupleTableSlot *slot, int natts)
{
	if (((GpucolSlot *) slot)->packed)
		read_values((GpucolSlot *) slot, natts);
	else
		TTSOpsBufferHeapTuple.getsomeattrs(slot, natts);
}

/* Make a packed row a tuple that the slot owns. */
static void
unpack(TupleTableSlot *slot)
{
	MemoryContext old;
	HeapTuple	tuple;

	if (!((GpucolSlot *) slot)->packed)
		return;
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	tuple = form_tuple((GpucolSlot *) slot);
	MemoryContextSwitchTo(old);
	drop_row((GpucolSlot *) slot);
	gpucol_slot_put(tuple, slot);
}

/* The same between two steps of an expression, whose columns stay read: now of that tuple. */
static void
unpack_keeping(TupleTableSlot *slot)
{
	int			natts = slot->tts_nvalid;

	if (!((GpucolSlot *) slot)->packed)
		return;
	unpack(slot);
	slot_getsomeattrs(slot, natts);
}

static Datum
get_system_column(TupleTableSlot *slot, int attnum, bool *isnull)
{
	unpack_keeping(slot);
	return TTSOpsBufferHeapTuple.getsysattr(slot, attnum, isnull);
}

#if GPUCOL_COMPAT_SLOT_KNOWS_OWN
static bool
is_own_row(TupleTableSlot *slot)
{
	unpack_keeping(slot);
	return TTSOpsBufferHeapTuple.is_current_xact_tuple(slot);
}
#endif

static void
materialize_slot(TupleTableSlot *slot)
{
	if (((GpucolSlot *) slot)->packed)
		unpack(slot);
	else
		TTSOpsBufferHeapTuple.materialize(slot);
}

static void
copy_slot(TupleTableSlot *to, TupleTableSlot *from)
{
	if (((GpucolSlot *) to)->packed)
		drop_row((GpucolSlot *) to);
	TTSOpsBufferHeapTuple.copyslot(to, from);
}

static HeapTuple
get_heap_tuple(TupleTableSlot *slot)
{
	unpack(slot);
	return TTSOpsBufferHeapTuple.get_heap_tuple(slot);
}

static HeapTuple
copy_heap_tuple(TupleTableSlot *slot)
{
	if (((GpucolSlot *) slot)->packed)
		return form_tuple((GpucolSlot *) slot);
	return TTSOpsBufferHeapTuple.copy_heap_tuple(slot);
}

static MinimalTuple
copy_minimal_tuple(TupleTableSlot *slot GPUCOL_COMPAT_SLOT_EXTRA_ARG)
{
	if (((GpucolSlot *) slot)->packed)
	{
		slot_getallattrs(slot);
		fill_values((GpucolSlot *) slot);
		return heap_form_minimal_tuple(slot->tts_tupleDescriptor, slot->tts_values,
									   slot->tts_isnull GPUCOL_COMPAT_SLOT_EXTRA);
	}
	return TTSOpsBufferHeapTuple.copy_minimal_tuple(slot GPUCOL_COMPAT_SLOT_EXTRA);
}

const TupleTableSlotOps *
gpucol_slot_callbacks(Relation table pg_attribute_unused())
{
	if (slot_ops.base_slot_size == 0)
	{
		slot_ops = TTSOpsBufferHeapTuple;
		slot_ops.base_slot_size = sizeof(GpucolSlot);
		slot_ops.release = release_slot;
		slot_ops.clear = clear_slot;
		slot_ops.getsomeattrs = get_some_values;
		slot_ops.getsysattr = get_system_column;
#if GPUCOL_COMPAT_SLOT_KNOWS_OWN
		slot_ops.is_current_xact_tuple = is_own_row;
#endif
		slot_ops.materialize = materialize_slot;
		slot_ops.copyslot = copy_slot;
		slot_ops.get_heap_tuple = get_heap_tuple;
		slot_ops.copy_heap_tuple = copy_heap_tuple;
		slot_ops.copy_minimal_tuple = copy_minimal_tuple;
		RegisterXactCallback(forget_at_end, NULL);
		RegisterSubXactCallback(forget_at_subend, NULL);
	}
	return &slot_ops;
}

bool
gpucol_slot_same_value(Form_pg_attribute att, TupleTableSlot *old,
					   TupleTableSlot *new)
{
	bool		old_null;
	bool		new_null;
	Datum		old_value = slot_getattr(old, att->attnum, &old_null);
	Datum		new_value = slot_getattr(new, att->attnum, &new_null);

	if (old_null || new_null)
		return old_null && new_null;
	return datum_image_eq(old_value, new_value, att->attbyval, att->attlen);
}
