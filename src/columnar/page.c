/*-------------------------------------------------------------------------
 *
 * page.c
 *	  Segment pages in the main fork: layout, writing and reading.
 *
 * Writing.  Pages are written in batches of up to 32: the extents that the entry
 * has already (space.h), then new ones, extended with P_NEW and
 * locked from birth until they are filled and logged, so that no insertion into
 * the heap can take one for a new page.  One WAL record of full-page images holds
 * a batch.  The visibility map page is pinned first, and a batch stays within
 * one.  The extension lock is held for a run of batches, so that a segment has at
 * most GPUCOL_MAX_EXTENTS extents whoever else extends the table.
 *
 * Verifying.  A page's CRC is computed when this access read it from disk, and
 * otherwise once for each stay of the page in a shared buffer: whoever has
 * verified it leaves a cookie in the trailer, made from the server's start time
 * and the buffer's number, without dirtying the page.  A cookie that reaches the
 * disk (because the page was dirty for another reason) is worthless after a
 * restart, and in any other buffer.  The cookie is not part of the CRC.  Where threads
 * copy pages (gpucol_page_lend) they verify them too: the thread that pins does not
 * look at a page, since the first look of a process at it takes a page fault.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "common/hashfn.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/timestamp.h"

#include "columnar/page.h"
#include "compat.h"
#include "kernel/crc32c.h"

/* Pages in one WAL record. */
#define BATCH_PAGES		32
#define BATCH_SHARE		8		/* of the server's buffers, a batch pins this part at most */

/* Pages for which the extension lock is held at least. */
#define RUN_PAGES		128

/* Heap blocks that a page of the visibility map covers (visibilitymap.c). */
#define VM_PAGE_BLOCKS \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * (BITS_PER_BYTE / BITS_PER_HEAPBLOCK))

/* Where the word rows of a page come from. */
typedef struct PageSupply
{
	const GpucolImage *image;	/* an image, or ... */
	Relation	from;			/* ... a segment of another table */
	const GpucolSegmentEntry *old;
} PageSupply;

/* CRC-32C of the word rows and the identity of a page. */
static uint32
page_crc(Page page)
{
	const GpucolPageTrailer *trailer = GPUCOL_PAGE_TRAILER(page);
	uint32		crc = gpucol_crc32c(0, (char *) page + GPUCOL_PAGE_DATA,
									GPUCOL_PAGE_BYTES);

	crc = gpucol_crc32c(crc, &trailer->magic, sizeof(trailer->magic));
	return gpucol_crc32c(crc, &trailer->identity,
						 offsetof(GpucolPageTrailer, verified) -
						 offsetof(GpucolPageTrailer, identity));
}

/* Fill a new page and seal it. */
static void
fill_page(Page page, const PageSupply *supply, const GpucolSegmentEntry *entry,
		  uint32 ordinal)
{
	GpucolPageTrailer *trailer = GPUCOL_PAGE_TRAILER(page);
	char	   *rows = (char *) page + GPUCOL_PAGE_DATA;

	PageInit(page, BLCKSZ, 0);
	((PageHeader) page)->pd_lower = SizeOfPageHeaderData;
	((PageHeader) page)->pd_upper = SizeOfPageHeaderData;
	PageSetAllVisible(page);
	if (supply->image != NULL)
	{
		uint32		row = ordinal * GPUCOL_PAGE_ROWS;

		gpucol_image_copy(supply->image, row,
						  Min(GPUCOL_PAGE_ROWS, entry->nwords - row), rows);
	}
	else
	{
		Buffer		source = gpucol_page_pin(supply->from, supply->old, ordinal, 0);

		memcpy(rows, gpucol_page_rows(source), GPUCOL_PAGE_BYTES);
		ReleaseBuffer(source);
	}
	trailer->magic = GPUCOL_PAGE_MAGIC;
	trailer->identity = entry->identity;
	trailer->first_row = entry->first_row;
	trailer->ordinal = ordinal;
	trailer->crc = page_crc(page);
}

/* Log a batch of locked, filled buffers and mark them dirty. */
static void
log_batch(Relation table, const Buffer *buffers, int n)
{
	START_CRIT_SECTION();
	for (int i = 0; i < n; i++)
		MarkBufferDirty(buffers[i]);
	if (RelationNeedsWAL(table))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < n; i++)
			XLogRegisterBuffer(i, buffers[i], REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = XLogInsert(RM_XLOG_ID, XLOG_FPI);
		for (int i = 0; i < n; i++)
			PageSetLSN(BufferGetPage(buffers[i]), lsn);
	}
	END_CRIT_SECTION();
}

/*
 * Write up to BATCH_PAGES pages from `block` on, which are to be overwritten, or
 * are new and the extension lock is held.  Returns their number, which is smaller
 * where the batch would leave a visibility map page.
 *
 * What an error leaves behind, heap must not take for the other: a page that is zero in its
 * buffer alone, which heap would fill with rows, is a segment's again when it is read
 * anew.  So a page that is overwritten is filled at once; new ones stay zero till the last.
 */
static int
write_batch(Relation table, const PageSupply *supply,
			const GpucolSegmentEntry *entry, uint32 ordinal, int n,
			BufferAccessStrategy strategy, BlockNumber block, bool extend)
{
	Buffer		buffers[BATCH_PAGES];
	Buffer		map = InvalidBuffer;

	n = Min(n, (int) (VM_PAGE_BLOCKS - block % VM_PAGE_BLOCKS));
	n = Min(n, Max(NBuffers / BATCH_SHARE, 1));
	if (block >= GPUCOL_FIRST_VIRTUAL_BLOCK - n)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" is too large for another segment",
						RelationGetRelationName(table))));
	visibilitymap_pin(table, block, &map);
	XLogEnsureRecordSpace(BATCH_PAGES, 0);

	for (int i = 0; i < n; i++)
	{
		buffers[i] = ReadBufferExtended(table, MAIN_FORKNUM,
										extend ? P_NEW : block + i,
										RBM_ZERO_AND_LOCK, strategy);
		if (BufferGetBlockNumber(buffers[i]) != block + i)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("table \"%s\" was extended without its extension lock",
							RelationGetRelationName(table))));
		if (!extend)
			fill_page(BufferGetPage(buffers[i]), supply, entry, ordinal + i);
	}
	for (int i = 0; extend && i < n; i++)
		fill_page(BufferGetPage(buffers[i]), supply, entry, ordinal + i);
	log_batch(table, buffers, n);
	for (int i = 0; i < n; i++)
	{
		visibilitymap_set(table, block + i, buffers[i], InvalidXLogRecPtr, map,
						  InvalidTransactionId,
						  VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN);
		UnlockReleaseBuffer(buffers[i]);
	}
	ReleaseBuffer(map);
	return n;
}

/* Add a run of pages to the entry's extents. */
static void
add_extent(GpucolSegmentEntry *entry, BlockNumber block, uint32 n)
{
	GpucolExtent *last = &entry->extents[entry->nextents - 1];

	if (entry->nextents > 0 && last->start + last->npages == block)
	{
		last->npages += n;
		return;
	}
	Assert(entry->nextents < GPUCOL_MAX_EXTENTS);
	entry->extents[entry->nextents].start = block;
	entry->extents[entry->nextents].npages = n;
	entry->nextents++;
}

/* Overwrite the pages of the extents that the entry has; returns their number. */
static uint32
fill_extents(Relation table, const PageSupply *supply, const GpucolSegmentEntry *entry,
			 BufferAccessStrategy strategy)
{
	uint32		done = 0;

	for (uint32 i = 0; i < entry->nextents; i++)
	{
		const GpucolExtent *extent = &entry->extents[i];

		for (uint32 at = 0; at < extent->npages;)
		{
			int			n;

			CHECK_FOR_INTERRUPTS();
			n = write_batch(table, supply, entry, done,
							Min(BATCH_PAGES, extent->npages - at), strategy,
							extent->start + at, false);
			at += n;
			done += n;
		}
	}
	return done;
}

/*
 * Write entry->npages pages from a supply: first those of the extents that the
 * entry has, then new ones.
 */
static void
write_pages(Relation table, const PageSupply *supply, GpucolSegmentEntry *entry)
{
	bool		lock = !RELATION_IS_LOCAL(table);
	BufferAccessStrategy strategy = NULL;
	uint32		done;
	uint32		run;

	PreventCommandDuringRecovery("loading a segment");
	if (entry->npages > (uint32) NBuffers / 8)
		strategy = GetAccessStrategy(BAS_BULKWRITE);
	done = fill_extents(table, supply, entry, strategy);
	run = GPUCOL_MAX_EXTENTS - entry->nextents;
	run = Max(RUN_PAGES, (entry->npages - done + run - 1) / run);
	while (done < entry->npages)
	{
		uint32		end = Min(done + run, entry->npages);

		CHECK_FOR_INTERRUPTS();
		if (lock)
			LockRelationForExtension(table, ExclusiveLock);
		while (done < end)
		{
			BlockNumber block = RelationGetNumberOfBlocks(table);
			int			n = write_batch(table, supply, entry, done,
										Min(BATCH_PAGES, end - done), strategy,
										block, true);

			add_extent(entry, block, n);
			done += n;
		}
		if (lock)
			UnlockRelationForExtension(table, ExclusiveLock);
	}
	if (strategy != NULL)
		FreeAccessStrategy(strategy);
}

void
gpucol_page_write(Relation table, const GpucolImage *image,
				  GpucolSegmentEntry *entry)
{
	PageSupply	supply = {.image = image};

	write_pages(table, &supply, entry);
}

void
gpucol_page_copy(Relation from, const GpucolSegmentEntry *old, Relation to,
				 GpucolSegmentEntry *entry)
{
	PageSupply	supply = {.from = from, .old = old};

	entry->nwords = old->nwords;
	entry->npages = old->npages;
	write_pages(to, &supply, entry);
}

BlockNumber
gpucol_page_block(const GpucolSegmentEntry *entry, uint32 ordinal)
{
	for (uint32 i = 0; i < entry->nextents; i++)
	{
		if (ordinal < entry->extents[i].npages)
			return entry->extents[i].start + ordinal;
		ordinal -= entry->extents[i].npages;
	}
	return InvalidBlockNumber;
}

const GpucolPageTrailer *
gpucol_page_identify(Page page)
{
	const GpucolPageTrailer *trailer = GPUCOL_PAGE_TRAILER(page);

	if (PageIsNew(page) ||
		((PageHeader) page)->pd_upper != SizeOfPageHeaderData ||
		trailer->magic != GPUCOL_PAGE_MAGIC)
		return NULL;
	return trailer;
}

/* Is it what a page of the segment says of itself? */
static inline bool
is_own(const GpucolPageTrailer *trailer, const GpucolSegmentEntry *entry, uint32 ordinal)
{
	return trailer->first_row == entry->first_row && trailer->ordinal == ordinal &&
		trailer->identity == entry->identity;
}

const char *
gpucol_page_problem(Page page, const GpucolSegmentEntry *entry, uint32 ordinal)
{
	const GpucolPageTrailer *trailer = gpucol_page_identify(page);

	if (trailer == NULL)
		return "is not a segment page";
	if (trailer->crc != page_crc(page))
		return "fails its checksum";
	if (trailer->identity != entry->identity)
		return "is another table's, or an older one of this table";
	if (!is_own(trailer, entry, ordinal))
		return "is another page";
	return NULL;
}

/* Report a corrupt page. */
static void
report_corrupt_page(Relation table, const GpucolSegmentEntry *entry,
					uint32 ordinal, AttrNumber attnum, const char *problem)
{
	BlockNumber block = gpucol_page_block(entry, ordinal);
	char		column[NAMEDATALEN + 32] = "";

	if (attnum > 0 && attnum <= RelationGetNumberOfAttributes(table))
		snprintf(column, sizeof(column), ", read for column \"%s\",",
				 NameStr(TupleDescAttr(RelationGetDescr(table), attnum - 1)->attname));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("segment " UINT64_FORMAT " of table \"%s\" is corrupt",
					entry->first_row, RelationGetRelationName(table)),
			 errdetail("Page %u of the segment (block %u)%s %s.",
					   ordinal, block, column, problem)));
}

uint64
gpucol_page_cookie(Buffer buffer)
{
	static uint64 server = 0;

	if (unlikely(server == 0))
		server = hash_bytes_extended((const unsigned char *) &PgStartTime,
									 sizeof(PgStartTime), 0) | 1;
	return server ^ ((uint64) (uint32) buffer * UINT64CONST(0x9E3779B97F4A7C15));
}

/* A page that is being read, for the context of PostgreSQL's own errors. */
typedef struct PageRead
{
	Relation	table;
	const GpucolSegmentEntry *entry;
	uint32		ordinal;
	AttrNumber	attnum;			/* column that it is read for; or 0 */
} PageRead;

static void
describe_read(void *arg)
{
	const PageRead *read = arg;
	TupleDesc	desc = RelationGetDescr(read->table);

	if (read->attnum > 0 && read->attnum <= desc->natts)
		errcontext("page %u of segment " UINT64_FORMAT " of table \"%s\", read for column \"%s\"",
				   read->ordinal, read->entry->first_row,
				   RelationGetRelationName(read->table),
				   NameStr(TupleDescAttr(desc, read->attnum - 1)->attname));
	else
		errcontext("page %u of segment " UINT64_FORMAT " of table \"%s\"",
				   read->ordinal, read->entry->first_row,
				   RelationGetRelationName(read->table));
}

/* Pin a block through the buffer manager, whose errors say what was read. */
static Buffer
read_buffer(PageRead *read, BlockNumber block)
{
	ErrorContextCallback context = {
		.previous = error_context_stack, .callback = describe_read, .arg = read
	};
	Buffer		buffer;

	error_context_stack = &context;
	buffer = ReadBuffer(read->table, block);
	error_context_stack = context.previous;
	return buffer;
}

/*
 * Pin a block, in the buffer where it was seen last if it is still there.  One
 * pin in sixteen, spread over all pages, takes the long way: only that raises the
 * usage count by which PostgreSQL chooses the buffers to keep.
 */
static bool
pin_again(Relation rel, BlockNumber block, Buffer recent)
{
	static uint32 turn = 0;

	turn += UINT32_C(0x9E3779B9);
	return recent != InvalidBuffer && turn >= PG_UINT32_MAX / 16 && !RelationUsesLocalBuffers(rel) &&
		ReadRecentBuffer(gpucol_compat_relation_locator(rel), MAIN_FORKNUM, block, recent);
}

/* Pin a block of a segment. */
static Buffer
read_block(PageRead *read, BlockNumber block, Buffer *recent)
{
	if (recent == NULL)
		return read_buffer(read, block);
	if (!pin_again(read->table, block, *recent))
		*recent = read_buffer(read, block);
	return *recent;
}

Buffer
gpucol_page_read_again(Relation rel, BlockNumber block, Buffer *recent)
{
	if (!pin_again(rel, block, *recent))
		*recent = ReadBuffer(rel, block);
	return *recent;
}

bool
gpucol_page_pin_at_hand(Relation rel, BlockNumber block, Buffer recent)
{
	return recent != InvalidBuffer && !RelationUsesLocalBuffers(rel) &&
		ReadRecentBuffer(gpucol_compat_relation_locator(rel), MAIN_FORKNUM, block, recent);
}

void
gpucol_page_use(Relation rel, BlockNumber block)
{
	static uint32 turn = 0;

	/* the long way finds what is pinned */
	turn += UINT32_C(0x9E3779B9);
	if (turn < PG_UINT32_MAX / 16)
		ReleaseBuffer(ReadBuffer(rel, block));
}

Buffer
gpucol_page_lend(Relation table, const GpucolSegmentEntry *entry, uint32 ordinal,
				 AttrNumber attnum, Buffer *recent, bool *is_new)
{
	int64		reads = pgBufferUsage.shared_blks_read +
		pgBufferUsage.local_blks_read;
	BlockNumber block = gpucol_page_block(entry, ordinal);
	PageRead	read = {table, entry, ordinal, attnum};
	Buffer		buffer;

	if (unlikely(block == InvalidBlockNumber))
		report_corrupt_page(table, entry, ordinal, attnum, "is in no extent");
	buffer = read_block(&read, block, recent);
	*is_new = reads != pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	return buffer;
}

bool
gpucol_page_verify(Buffer buffer, const GpucolSegmentEntry *entry, uint32 ordinal,
				   bool is_new)
{
	Page		page = BufferGetPage(buffer);
	GpucolPageTrailer *trailer = GPUCOL_PAGE_TRAILER(page);

	if (likely(trailer->verified == gpucol_page_cookie(buffer) &&
			   is_own(trailer, entry, ordinal) && !is_new))
		return true;
	if (gpucol_page_problem(page, entry, ordinal) != NULL)
		return false;
	trailer->verified = gpucol_page_cookie(buffer);
	return true;
}

Buffer
gpucol_page_pin_recent(Relation table, const GpucolSegmentEntry *entry,
					   uint32 ordinal, AttrNumber attnum, Buffer *recent)
{
	bool		is_new;
	Buffer		buffer = gpucol_page_lend(table, entry, ordinal, attnum, recent, &is_new);
	const char *problem;

	if (likely(gpucol_page_verify(buffer, entry, ordinal, is_new)))
		return buffer;
	problem = gpucol_page_problem(BufferGetPage(buffer), entry, ordinal);
	ReleaseBuffer(buffer);
	report_corrupt_page(table, entry, ordinal, attnum,
						problem != NULL ? problem : "is not what it was a moment ago");
	return InvalidBuffer;		/* not reached */
}

Buffer
gpucol_page_pin(Relation table, const GpucolSegmentEntry *entry, uint32 ordinal,
				AttrNumber attnum)
{
	return gpucol_page_pin_recent(table, entry, ordinal, attnum, NULL);
}
