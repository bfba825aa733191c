/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  Open segments: checked descriptors, windows of pinned pages, and rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SEGMENT_H
#define GPUCOL_COLUMNAR_SEGMENT_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "columnar/directory.h"
#include "columnar/typemap.h"
#include "kernel/decode.h"

/*
 * A segment whose header and descriptors have been read and checked.  Owned by
 * the backend's cache; stays valid to the end of the transaction.
 */
typedef struct GpucolSegmentInfo
{
	GpucolSegmentEntry entry;
	GpucolSegmentHeader header;
	int			ncolumns;
	int			max_attnum;
	int16	   *slots;			/* column slot by attnum - 1, or -1 */
	GpucolChunkDesc *descs;		/* by column slot */
	Buffer	   *recent;			/* by page: the buffer where it was seen last */
} GpucolSegmentInfo;

/* Open a segment; an error if it is corrupt. */
extern const GpucolSegmentInfo *gpucol_segment_open(Relation table,
													const GpucolSegmentEntry *entry);

/* Forget the segments of a table whose storage is emptied in place. */
extern void gpucol_segment_forget(Relation table);

/* The chunk of a column, or NULL if the column was added later. */
extern const GpucolChunkDesc *gpucol_segment_desc(const GpucolSegmentInfo *segment,
												  AttrNumber attnum);

/* Report that a decoder has refused a column's chunk (never returns). */
extern void gpucol_segment_refused(Relation table, const GpucolSegmentEntry *entry,
								   AttrNumber attnum, GpucolStatus status);

/* The domains of the columns of rows of a descriptor, which may not be the table's own. */
extern void gpucol_segment_types(Relation table, TupleDesc desc, GpucolTypeMap *types);

/*
 * A heap tuple, in the current memory context, of the values of a segment's row, with its virtual TID and the
 * inserting transaction.
 */
extern HeapTuple gpucol_segment_tuple(Relation table, TupleDesc desc, const GpucolSegmentInfo *segment,
									  uint32 row, TransactionId xmin, Datum *values, bool *isnull);

/* Memory of the decoder in a memory context. */
extern GpucolMemory gpucol_segment_memory(MemoryContext context);

/* Pinned pages of a run of word rows. */
typedef struct GpucolWindow
{
	GpucolRows	rows;
	const char **pages;
	Buffer	   *buffers;
	uint32		capacity;
	bool	   *is_new;			/* by page: this window read it from disk */
	const GpucolSegmentEntry *entry;	/* likewise */
	char	   *copy;			/* of all pages, none of which is pinned then */
	uint32	   *pinned;			/* pages that all windows of its owner have pinned; the
								 * owner sets it */
} GpucolWindow;

/* Pages that a source, or a window, may keep pinned: a fair share of the buffers. */
extern uint32 gpucol_window_limit(Relation table);

/*
 * Pin word rows row .. row + nrows - 1 of a stream of a chunk; a window of more pages
 * than may be pinned, as the block of a vector of long values needs, or one too many of its
 * owner's (very wide tables, very few buffers), copies them.  The window's
 * arrays come from the current memory context on first use and are reused; pages
 * that it held before are given back first.
 */
extern void gpucol_window_map(GpucolWindow *window, Relation table,
							  const GpucolSegmentInfo *segment,
							  const GpucolChunkDesc *desc, GpucolStreamKind stream,
							  uint32 row, uint32 nrows);
extern void gpucol_window_unmap(GpucolWindow *window);

/*
 * The same for other threads to read, which verify page after page before they do;
 * false if it is corrupt.  (gpucol_window_map verifies all pages itself.)
 */
extern void gpucol_window_lend(GpucolWindow *window, Relation table,
							   const GpucolSegmentInfo *segment,
							   const GpucolChunkDesc *desc, GpucolStreamKind stream,
							   uint32 row, uint32 nrows);
extern bool gpucol_window_verify(const GpucolWindow *window, uint32 page);

/* The same if all pages are in buffers where they were seen last; else false, and the window has none. */
extern bool gpucol_window_lend_at_hand(GpucolWindow *window, Relation table, const GpucolSegmentInfo *segment,
									   const GpucolChunkDesc *desc, GpucolStreamKind stream, uint32 row, uint32 nrows);

/*
 * Have the system unmap a lent window's pages from this process, which mapped them when
 * they were first read and would unmap them at the process's end (0.1 us a page of 4 kB).
 * Any thread; others may read the pages meanwhile, and map them again.
 */
extern void gpucol_window_forget(const GpucolWindow *window);

/* Reader of whole rows of one table's segments, one segment at a time. */
typedef struct GpucolReader GpucolReader;

/* Make a reader in the current memory context. */
extern GpucolReader *gpucol_reader_create(Relation table);
extern void gpucol_reader_open(GpucolReader *reader,
							   const GpucolSegmentInfo *segment);

/*
 * A row of the open segment as a heap tuple of the descriptor `desc` in the
 * current memory context, with its virtual TID and the inserting transaction
 * `xmin`.
 */
extern HeapTuple gpucol_reader_tuple(GpucolReader *reader, TupleDesc desc,
									 uint32 row, TransactionId xmin);

/* ... and the value of one column (from 0). */
extern Datum gpucol_reader_value(GpucolReader *reader, TupleDesc desc, int column, uint32 row, bool *isnull);

/* Give back pins, before the reader's memory context goes. */
extern void gpucol_reader_close(GpucolReader *reader);

#endif							/* GPUCOL_COLUMNAR_SEGMENT_H */
