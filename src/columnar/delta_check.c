/*-------------------------------------------------------------------------
 *
 * delta_check.c
 *	  Heap pages of the delta, looked at before heap's code relies on them.
 *
 * Heap's code believes line pointers, headers and lengths.  Where a cluster has no checksums, a damaged one
 * ends the server, and an automatic merge or autovacuum that comes to it would do so again and again.  So a
 * page is looked at before heap's code has it: its line pointers before rows are looked up or pruned, its
 * tuples and the ends of their values, too, before it is scanned.  Then damage is an error that names block
 * and item.
 *
 * A session keeps in mind which pages it has looked at, by the buffers that they were in: what is changed there
 * is changed by PostgreSQL; damage comes from disk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupmacs.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/delta_check.h"
#include "columnar/item.h"
#include "compat.h"

/* A page that has been looked at. */
typedef struct KnownPage
{
	Oid			space;
	Oid			file;			/* invalid = nothing known */
	BlockNumber block;
	Buffer		buffer;
	bool		values;			/* its tuples and values as well */
} KnownPage;

#define KNOWN_PAGES		1024

static KnownPage known_pages[KNOWN_PAGES];

static const char *const no_item = "is none";
static const char *const long_values = "has values behind its end";

/* ------------------------------------------------------------------------
 * Items
 * ------------------------------------------------------------------------
 */

bool
gpucol_delta_value_fits(int16 attlen, const char *data, uint32 offset, uint32 end)
{
	if (offset >= end)
		return false;
	if (attlen == -2)
		return memchr(data + offset, '\0', end - offset) != NULL;
	if (VARATT_IS_1B_E(data + offset))
		return end - offset >= VARHDRSZ_EXTERNAL &&
			VARTAG_EXTERNAL(data + offset) == VARTAG_ONDISK &&
			end - offset >= VARSIZE_EXTERNAL(data + offset);
	if (VARATT_IS_1B(data + offset))
		return end - offset >= VARSIZE_1B(data + offset);
	return end - offset >= VARHDRSZ && VARSIZE_4B(data + offset) >= VARHDRSZ &&
		end - offset >= VARSIZE_4B(data + offset);
}

/* Do a tuple's values end within it? */
static bool
values_fit(TupleDesc desc, const HeapTupleData *tuple)
{
	HeapTupleHeader header = tuple->t_data;
	const char *data = (const char *) header + header->t_hoff;
	uint32		end = tuple->t_len - header->t_hoff;
	bool		nulls = (header->t_infomask & HEAP_HASNULL) != 0;
	int			natts = HeapTupleHeaderGetNatts(header);
	uint32		offset = 0;

	for (int a = 0; a < natts; a++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, a);

		if (nulls && att_isnull(a, header->t_bits))
			continue;
		if (att->attlen > 0)
		{
			offset = att_align_nominal(offset, att->attalign) + att->attlen;
			if (offset > end)
				return false;
			continue;
		}
		if (offset < end)
			offset = att_align_pointer(offset, att->attalign, att->attlen, data + offset);
		if (!gpucol_delta_value_fits(att->attlen, data, offset, end))
			return false;
		offset = att_addlength_pointer(offset, att->attlen, data + offset);
	}
	return true;
}

/*
 * Has a tuple the columns that its table has now?  Not if who inserted it has added some, and was rolled back.
 */
static bool
has_shape(HeapTupleHeader header)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(header);

	return !HeapTupleHeaderXminInvalid(header) &&
		(HeapTupleHeaderXminCommitted(header) || TransactionIdIsCurrentTransactionId(xmin) ||
		 TransactionIdDidCommit(xmin));
}

/* What is wrong with a tuple that lies within its page? */
static const char *
tuple_problem(TupleDesc desc, const HeapTupleData *tuple)
{
	HeapTupleHeader header = tuple->t_data;
	int			natts = HeapTupleHeaderGetNatts(header);
	Size		start = SizeofHeapTupleHeader;

	if ((header->t_infomask & HEAP_HASNULL) != 0)
		start += BITMAPLEN(natts);
	if (header->t_hoff != MAXALIGN(start) || header->t_hoff > tuple->t_len)
		return "has a header of another length";
	if (natts > desc->natts)
		return has_shape(header) ? "has more columns than its table" : NULL;
	return values_fit(desc, tuple) || !has_shape(header) ? NULL : long_values;
}

/* What is wrong with a line pointer? */
static const char *
line_problem(Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);
	uint32		start = ItemIdGetOffset(item);
	uint32		length = ItemIdGetLength(item);

	if (ItemIdIsRedirected(item))
		return start >= FirstOffsetNumber && start <= PageGetMaxOffsetNumber(page) ? NULL : "leads to no other";
	if (!ItemIdHasStorage(item))
		return NULL;
	return start == MAXALIGN(start) && start >= ((PageHeader) page)->pd_upper &&
		length >= SizeofHeapTupleHeader && start + length <= ((PageHeader) page)->pd_special ? NULL : no_item;
}

const char *
gpucol_delta_item_problem(TupleDesc desc, Page page, OffsetNumber offset)
{
	const char *problem = line_problem(page, offset);
	ItemId		item = PageGetItemId(page, offset);
	HeapTupleData tuple;

	if (problem != NULL || !ItemIdIsNormal(item))
		return problem;
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	return tuple_problem(desc, &tuple);
}

pg_noreturn static void
raise_corrupt(Relation table, BlockNumber block, OffsetNumber offset, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" has a corrupt page", RelationGetRelationName(table)),
			 errdetail("Tuple %u of block %u %s.", offset, block, problem)));
}

void
gpucol_delta_check_tuple(Relation table, HeapTuple tuple)
{
	const char *problem = tuple_problem(RelationGetDescr(table), tuple);

	if (unlikely(problem != NULL))
		raise_corrupt(table, ItemPointerGetBlockNumber(&tuple->t_self),
					  ItemPointerGetOffsetNumber(&tuple->t_self), problem);
}

/* ------------------------------------------------------------------------
 * Pages
 * ------------------------------------------------------------------------
 */

/* Look at a pinned page, unless that has been done; at values, too, if there is a descriptor of its rows. */
static void
check_page(Relation table, TupleDesc desc, Buffer buffer)
{
	bool		values = desc != NULL;
	BlockNumber block = BufferGetBlockNumber(buffer);
	Oid			space = gpucol_compat_relation_space(table);
	Oid			file = gpucol_compat_relation_file(table);
	KnownPage  *known = &known_pages[(file * 31 + block) % KNOWN_PAGES];
	Page		page = BufferGetPage(buffer);
	OffsetNumber last;

	if (known->buffer == buffer && known->block == block && known->file == file && known->space == space &&
		(known->values || !values))
		return;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		const char *problem = values ? gpucol_delta_item_problem(desc, page, i) : line_problem(page, i);

		if (unlikely(problem != NULL))
			raise_corrupt(table, block, i, problem);
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	*known = (KnownPage) {space, file, block, buffer, values};
}

void
gpucol_delta_check_lines(Relation table, Buffer buffer)
{
	check_page(table, NULL, buffer);
}

void
gpucol_delta_check_blocks(Relation table, TupleDesc desc, BlockNumber start, BlockNumber nblocks,
						  BufferAccessStrategy strategy)
{
	for (BlockNumber i = 0; i < nblocks; i++)
	{
		Buffer		buffer = ReadBufferExtended(table, MAIN_FORKNUM, start + i, RBM_NORMAL, strategy);

		check_page(table, desc, buffer);
		ReleaseBuffer(buffer);
	}
}

void
gpucol_delta_check_table(Relation table, bool all, BufferAccessStrategy strategy)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(table);
	Buffer		map = InvalidBuffer;

	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (all || (visibilitymap_get_status(table, block, &map) & VISIBILITYMAP_ALL_FROZEN) == 0)
			gpucol_delta_check_blocks(table, RelationGetDescr(table), block, 1, strategy);
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}
