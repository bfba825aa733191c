/*-------------------------------------------------------------------------
 *
 * directory_value.c
 *	  Values of directory rows: what they must be, and their checksums.
 *
 * Behind the data of each value stands the CRC-32C of the identity of the table's
 * storage, the row's key, and the data.  So a value that was damaged, or comes from
 * another table, from storage that the table had before, or from another row,
 * is found when it is read.  Neither identity nor key takes room for it.
 *
 * The identity is a random number in the counter, made with it.  It belongs to the
 * files: it goes where they are copied, and a rewrite begins another.
 *
 * Tuples are looked at before anything follows a pointer in them, PostgreSQL's own
 * functions included: line pointer and header must lie within the page, and tell of
 * a tuple of a TOAST relation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "storage/bufmgr.h"

#include "columnar/directory_value.h"
#include "columnar/item.h"
#include "columnar/rownum.h"
#include "kernel/crc32c.h"
#include "kernel/format.h"

/* Attributes of a TOAST relation, of which none is ever NULL. */
typedef struct ToastRow
{
	Oid			id;
	int32		seq;
	struct varlena data;
} ToastRow;

#define TOAST_ATTRIBUTES	3
#define TOAST_DATA			offsetof(ToastRow, data)

/* Data of a value, such as a tombstone's, that are summed at once with the key. */
#define SMALL_BYTES			8

/* Where the attributes of a tuple without NULLs begin. */
#define TUPLE_HEADER		MAXALIGN(SizeofHeapTupleHeader)

static const GpucolValueKind kinds[] = {
	{GPUCOL_ID_COUNTER, 1, sizeof(GpucolCounter), 0, true, true, "row counter"},
	{GPUCOL_ID_UPKEEP, 1, sizeof(GpucolUpkeep), 0, true, true, "list of free pages"},
	{GPUCOL_ID_FOLD_COUNT, 1, sizeof(GpucolFoldCount), 0, true, true, "count of folded rows"},
	{GPUCOL_ID_SEGMENT, GPUCOL_ID_SPAN, sizeof(GpucolSegmentEntry), 1, true, false,
	"entry of segment"},
	{GPUCOL_ID_BITMAP, GPUCOL_ID_SPAN, GPUCOL_BITMAP_BYTES, GPUCOL_BITMAP_ROWS, false, false,
	"bitmap of rows from"},
	{GPUCOL_ID_TOMBSTONE, GPUCOL_ID_SPAN, sizeof(GpucolTombstone), 1, false, false,
	"tombstone of row"},
	{GPUCOL_ID_LOCK, GPUCOL_ID_SPAN, 0, 1, false, true, "lock record of row"},
	{GPUCOL_ID_FORWARD, GPUCOL_ID_SPAN, sizeof(GpucolForward), 1, false, true,
	"record of rows packed from block"}
};

static int
compare_extents(const void *a, const void *b)
{
	const GpucolExtent *left = a;
	const GpucolExtent *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

void
gpucol_directory_sort_extents(GpucolExtent *extents, uint32 n)
{
	qsort(extents, n, sizeof(GpucolExtent), compare_extents);
}

const GpucolValueKind *
gpucol_value_kind(Oid id)
{
	for (int i = lengthof(kinds) - 1; i >= 0; i--)
	{
		if (id >= kinds[i].base)
			return id - kinds[i].base < kinds[i].span ? &kinds[i] : NULL;
	}
	return NULL;
}

/* The checksum of a value. */
static uint32
checksum(uint64 identity, Oid id, int32 seq, const void *data, Size size)
{
	struct
	{
		uint64		identity;
		Oid			id;
		int32		seq;
		char		data[SMALL_BYTES];
	}			all = {.identity = identity, .id = id, .seq = seq};
	const Size	key_bytes = offsetof(typeof(all), data);

	if (size > SMALL_BYTES)
		return gpucol_crc32c(gpucol_crc32c(0, &all, key_bytes), data, size);
	if (size > 0)
		memcpy(all.data, data, size);
	return gpucol_crc32c(0, &all, key_bytes + size);
}

/* Write data and their checksum. */
static void
write_sealed(char *place, uint64 identity, Oid id, int32 seq, const void *data, Size size)
{
	uint32		seal = checksum(identity, id, seq, data, size);

	if (size > 0)
		memcpy(place, data, size);
	memcpy(place + size, &seal, sizeof(seal));
}

/*
 * The tuple is that of heap_form_tuple, made in one piece: a statement that changes many packed
 * rows makes one for each.
 */
HeapTuple
gpucol_value_form(Relation toast, uint64 identity, Oid id, int32 seq, const void *data,
				  Size size)
{
	TupleDesc	desc = RelationGetDescr(toast);
	Size		length = TUPLE_HEADER + TOAST_DATA + VARHDRSZ + size + GPUCOL_SEAL_BYTES;
	HeapTuple	tuple = palloc0(HEAPTUPLESIZE + length);
	HeapTupleHeader header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	ToastRow   *row = (ToastRow *) ((char *) header + TUPLE_HEADER);

	Assert(desc->natts == TOAST_ATTRIBUTES && TupleDescAttr(desc, 2)->attstorage == TYPSTORAGE_PLAIN);
	tuple->t_len = length;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = header;
	HeapTupleHeaderSetDatumLength(header, length);
	HeapTupleHeaderSetTypeId(header, desc->tdtypeid);
	HeapTupleHeaderSetTypMod(header, desc->tdtypmod);
	ItemPointerSetInvalid(&header->t_ctid);
	HeapTupleHeaderSetNatts(header, TOAST_ATTRIBUTES);
	header->t_hoff = TUPLE_HEADER;
	header->t_infomask = HEAP_HASVARWIDTH;
	row->id = id;
	row->seq = seq;
	SET_VARSIZE(&row->data, VARHDRSZ + size + GPUCOL_SEAL_BYTES);
	write_sealed(VARDATA(&row->data), identity, id, seq, data, size);
	return tuple;
}

void
gpucol_value_replace(uint64 identity, const GpucolDirectoryTuple *row, const void *data)
{
	write_sealed(unconstify(char *, (const char *) row->data), identity, row->id, row->seq,
				 data, row->size);
}

/* Is it a tuple of a TOAST relation, as far as its length can tell? */
static bool
is_toast_row(HeapTupleHeader header, uint32 length)
{
	const ToastRow *row = (const ToastRow *) ((const char *) header + TUPLE_HEADER);
	Size		size;

	if (length < TUPLE_HEADER + TOAST_DATA + VARHDRSZ || header->t_hoff != TUPLE_HEADER ||
		(header->t_infomask & (HEAP_HASNULL | HEAP_HASEXTERNAL)) != 0 ||
		HeapTupleHeaderGetNatts(header) != TOAST_ATTRIBUTES)
		return false;
	if (VARATT_IS_1B(&row->data))	/* of a value of PostgreSQL's */
		size = VARATT_IS_1B_E(&row->data) ? length : VARSIZE_1B(&row->data);
	else
		size = VARSIZE_4B(&row->data);
	return size >= VARHDRSZ_SHORT && size <= length - TUPLE_HEADER - TOAST_DATA;
}

bool
gpucol_value_find(Page page, ItemPointer tid, HeapTuple tuple)
{
	tuple->t_self = *tid;
	return gpucol_item_find(page, ItemPointerGetOffsetNumberNoCheck(tid), tuple) &&
		is_toast_row(tuple->t_data, tuple->t_len);
}

void
gpucol_value_read(HeapTuple tuple, Buffer buffer, GpucolDirectoryTuple *row)
{
	const ToastRow *values = (const ToastRow *) ((char *) tuple->t_data + TUPLE_HEADER);
	Size		size = VARSIZE_ANY_EXHDR(&values->data);

	row->id = values->id;
	row->seq = values->seq;
	row->data = VARDATA_ANY(&values->data);
	row->size = size < GPUCOL_SEAL_BYTES ? 0 : size - GPUCOL_SEAL_BYTES;
	row->sealed = size >= GPUCOL_SEAL_BYTES;
	row->tid = tuple->t_self;
	row->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	row->tuple = tuple;
	row->buffer = buffer;
}

/* Is a row's checksum right? */
static bool
is_intact(uint64 identity, const GpucolDirectoryTuple *row)
{
	uint32		seal;

	if (!row->sealed)
		return false;
	memcpy(&seal, (const char *) row->data + row->size, sizeof(seal));
	return seal == checksum(identity, row->id, row->seq, row->data, row->size);
}

/*
 * What is wrong with a counter.  Every version begins it as this one does and seals it; the
 * first had 32 bytes and no checksum.
 */
static const char *
counter_problem(Relation table, const GpucolDirectoryTuple *row)
{
	const uint32 first_bytes = 32;
	uint32		version = 1;
	GpucolCounter counter = {0};

	if (row->size + GPUCOL_SEAL_BYTES != first_bytes)
	{
		memcpy(&counter, row->data, Min(row->size, sizeof(counter)));
		if (row->size < sizeof(counter) || !is_intact(counter.identity, row))
			return "fails its checksum";
		version = counter.version;
	}
	if (version != GPUCOL_DIRECTORY_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was packed by another version of gpucol",
						RelationGetRelationName(table)),
				 errdetail("Its format has version %u; this is a library for version %u.",
						   version, GPUCOL_DIRECTORY_VERSION),
				 errhint("Change it to access method heap with the library that wrote it, and back to gpucol with this one.")));
	if (row->size != sizeof(counter) || counter.next_row < GPUCOL_BLOCK_TIDS ||
		counter.next_row > GPUCOL_MAX_ROW_NUMBER)
		return "has a number that cannot be";
	return NULL;
}

/* Can there be such a run of pages? */
static bool
is_possible(const GpucolExtent *extent)
{
	return extent->npages > 0 &&
		(uint64) extent->start + extent->npages <= GPUCOL_FIRST_VIRTUAL_BLOCK;
}

/* What is wrong with the contents of a list of free pages. */
static const char *
upkeep_problem(const GpucolDirectoryTuple *row)
{
	GpucolUpkeep upkeep;

	memcpy(&upkeep, row->data, sizeof(upkeep));
	if (upkeep.nfree > GPUCOL_FREE_EXTENTS)
		return "has too many extents";
	for (uint32 i = 0; i < upkeep.nfree; i++)
	{
		if (!is_possible(&upkeep.free[i]))
			return "has an extent that cannot be";
	}
	return NULL;
}

/* What is wrong with the contents of an entry. */
static const char *
entry_problem(uint64 identity, const GpucolDirectoryTuple *row)
{
	uint64		pages = 0;
	GpucolSegmentEntry entry;

	memcpy(&entry, row->data, sizeof(entry));
	if (entry.first_row != gpucol_directory_number(GPUCOL_ID_SEGMENT, row->id, row->seq) ||
		entry.identity != identity)
		return "describes another segment";
	if (entry.first_row < GPUCOL_BLOCK_TIDS || entry.nrows > entry.reserved ||
		entry.reserved > GPUCOL_MAX_SEGMENT_ROWS ||
		entry.first_row + entry.reserved > GPUCOL_MAX_ROW_NUMBER)
		return "has row numbers that cannot be";
	if (entry.nextents > GPUCOL_MAX_EXTENTS)
		return "has too many extents";
	for (uint32 i = 0; i < entry.nextents; i++)
	{
		if (!is_possible(&entry.extents[i]))
			return "has an extent that cannot be";
		pages += entry.extents[i].npages;
	}
	if (entry.nrows > 0 &&
		(pages != entry.npages || entry.nwords == 0 ||
		 entry.npages != (entry.nwords - 1) / GPUCOL_PAGE_ROWS + 1))
		return "has extents of a wrong length";
	return NULL;
}

const char *
gpucol_value_problem(Relation table, uint64 identity, const GpucolDirectoryTuple *row)
{
	const GpucolValueKind *kind = gpucol_value_kind(row->id);

	if (kind == NULL || row->seq < 0)
		return "is of no known kind";
	if (kind->base == GPUCOL_ID_COUNTER)
		return counter_problem(table, row);
	if (identity == 0)
		return "stands in a directory without a row counter";
	if (row->size != kind->size)
		return "has a wrong length";
	if (!is_intact(identity, row))
		return "fails its checksum, or is another table's";
	if (kind->base == GPUCOL_ID_UPKEEP)
		return upkeep_problem(row);
	return kind->base == GPUCOL_ID_SEGMENT ? entry_problem(identity, row) : NULL;
}

/* Raise or note damage, whose description begins with a noun. */
static void
damaged(GpucolDirectory *dir, int code, const char *hint, char *text)
{
	if (dir->note_damage == NULL)
		ereport(ERROR,
				(errcode(code),
				 errmsg("segment directory of table \"%s\" is corrupt",
						RelationGetRelationName(dir->table)),
				 errdetail("The %s.", text),
				 hint != NULL ? errhint("%s", hint) : 0));
	dir->note_damage(dir->note_arg, text);
	pfree(text);
}

void
gpucol_value_damaged(GpucolDirectory *dir, const ItemPointerData *tid, Oid id, int32 seq,
					 const char *problem)
{
	const GpucolValueKind *kind = gpucol_value_kind(id);
	char		number[32] = "";

	if (kind != NULL && kind->unit > 0 && seq >= 0)
		snprintf(number, sizeof(number), " " UINT64_FORMAT,
				 gpucol_directory_number(kind->base, id, seq) * kind->unit);
	damaged(dir, ERRCODE_DATA_CORRUPTED, NULL,
			psprintf("%s%s (chunk_id %u, chunk_seq %d in relation \"%s\", block %u, item %u) %s",
					 kind != NULL ? kind->name : "row", number, id, seq,
					 RelationGetRelationName(dir->toast),
					 ItemPointerGetBlockNumberNoCheck(tid),
					 ItemPointerGetOffsetNumberNoCheck(tid), problem));
}

void
gpucol_value_damaged_index(GpucolDirectory *dir, Relation index, BlockNumber block,
						   const char *problem)
{
	damaged(dir, ERRCODE_INDEX_CORRUPTED, "REINDEX it.",
			psprintf("block %u of index \"%s\" %s", block, RelationGetRelationName(index),
					 problem));
}
