/*-------------------------------------------------------------------------
 *
 * page.h
 *	  Segment pages in the main fork: layout, writing and reading.
 *
 * A segment page is a page that heap takes for full and empty: pd_lower =
 * pd_upper = 24, no line pointers, all-visible and all-frozen.  After the page
 * header come GPUCOL_PAGE_ROWS word rows of the segment and a GpucolPageTrailer.
 * It never changes once written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_PAGE_H
#define GPUCOL_COLUMNAR_PAGE_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "columnar/directory.h"
#include "columnar/encode.h"
#include "kernel/format.h"

#define GPUCOL_PAGE_MAGIC		0x50434732	/* with GPUCOL_DIRECTORY_VERSION */
#define GPUCOL_PAGE_DATA		SizeOfPageHeaderData
#define GPUCOL_PAGE_BYTES		(GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES)

/* The last 104 bytes of a segment page. */
typedef struct GpucolPageTrailer
{
	uint32		magic;
	uint32		crc;			/* CRC-32C of the word rows and of the identity */
	uint64		identity;		/* of the table's storage (directory.h), ... */
	uint64		first_row;		/* ... of the segment, ... */
	uint32		ordinal;		/* ... and of the page in it */
	uint32		unused;
	uint64		verified;		/* not on disk's behalf: see page.c */
	uint8		reserved[64];
} GpucolPageTrailer;

StaticAssertDecl(GPUCOL_PAGE_DATA + GPUCOL_PAGE_BYTES + sizeof(GpucolPageTrailer) == BLCKSZ,
				 "a segment page is one block");

#define GPUCOL_PAGE_TRAILER(page) \
	((GpucolPageTrailer *) ((char *) (page) + GPUCOL_PAGE_DATA + GPUCOL_PAGE_BYTES))

/* The word rows of a pinned segment page. */
static inline const char *
gpucol_page_rows(Buffer buffer)
{
	return (const char *) BufferGetPage(buffer) + GPUCOL_PAGE_DATA;
}

/* Pages that n word rows fill. */
#define GPUCOL_PAGES(n) (((n) + GPUCOL_PAGE_ROWS - 1) / GPUCOL_PAGE_ROWS)

/*
 * Write a finished image, of entry->npages pages, to the extents that the entry
 * has and then to new pages of the table's main fork, WAL-logged and marked in the
 * visibility map; adds to entry's extents.  The pages mean nothing until the entry
 * is in the directory.
 */
extern void gpucol_page_write(Relation table, const GpucolImage *image,
							  GpucolSegmentEntry *entry);

/* Append the pages of a segment of another table (a rewrite) likewise. */
extern void gpucol_page_copy(Relation from, const GpucolSegmentEntry *old,
							 Relation to, GpucolSegmentEntry *entry);

/* Block of page `ordinal` of a segment. */
extern BlockNumber gpucol_page_block(const GpucolSegmentEntry *entry,
									 uint32 ordinal);

/*
 * Pin page `ordinal` of a segment and verify it if need be; an error that names
 * table, segment and column (attnum, 0 = none) if it is corrupt.
 */
extern Buffer gpucol_page_pin(Relation table, const GpucolSegmentEntry *entry,
							  uint32 ordinal, AttrNumber attnum);

/*
 * The same for a caller that keeps in *recent where the page was seen last
 * (InvalidBuffer: nowhere yet), which saves most look-ups of the buffer.
 */
extern Buffer gpucol_page_pin_recent(Relation table, const GpucolSegmentEntry *entry,
									 uint32 ordinal, AttrNumber attnum,
									 Buffer *recent);

/*
 * The same without a look at the page, which the caller verifies before it reads it;
 * *is_new: this call read it from disk.
 */
extern Buffer gpucol_page_lend(Relation table, const GpucolSegmentEntry *entry,
							   uint32 ordinal, AttrNumber attnum,
							   Buffer *recent, bool *is_new);

/* ReadBuffer of any relation for a caller that keeps in *recent where a block was seen last. */
/*
 * Pin a block if it lies in the buffer where it was seen last, without waiting.  Once the caller has noted the
 * pin, use raises the buffer's usage count now and then.
 */
extern bool gpucol_page_pin_at_hand(Relation rel, BlockNumber block, Buffer recent);
extern void gpucol_page_use(Relation rel, BlockNumber block);

extern Buffer gpucol_page_read_again(Relation rel, BlockNumber block, Buffer *recent);

/*
 * Verify such a page if need be; false if it is corrupt.  By any thread of the
 * process that has pinned it.
 */
extern bool gpucol_page_verify(Buffer buffer, const GpucolSegmentEntry *entry,
							   uint32 ordinal, bool is_new);

/*
 * What a page carries that has been verified in this buffer of this server; see the head of
 * page.c.
 */
extern uint64 gpucol_page_cookie(Buffer buffer);

/*
 * Is it a segment page?  Its trailer, unverified, or NULL.
 */
extern const GpucolPageTrailer *gpucol_page_identify(Page page);

/* What is wrong with page `ordinal` of a segment, in the words of an error; or NULL. */
extern const char *gpucol_page_problem(Page page, const GpucolSegmentEntry *entry,
									   uint32 ordinal);

#endif							/* GPUCOL_COLUMNAR_PAGE_H */
