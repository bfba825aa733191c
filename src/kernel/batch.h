/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  How table data reaches an engine: packed segments through windows of word
 *	  rows, and delta rows as uncompressed batches.
 *
 * A GpucolSource is an object of the storage layer (src/columnar/source.c) that
 * enumerates what one scan under one snapshot sees of one table.  Engines use
 * only this interface; tests implement it over arrays.
 *
 * Threads: every function of a source is called from the thread that created
 * it, but for verify and forget; while other threads are at work, ahead alone.  The
 * memory of a mapped window may be read by any thread until it is unmapped, so an
 * engine maps a range of vectors, deals it to its threads, and unmaps when they are done.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_BATCH_H
#define GPUCOL_KERNEL_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernel/format.h"
#include "kernel/status.h"

/* Bytes of one BYTES value; not owned, valid while its window or batch is. */
typedef struct GpucolBytes
{
	const char *data;
	size_t		len;
} GpucolBytes;

/*
 * A window of word rows that is resident in memory.  pages[i] points to the
 * first of the 63 word rows of segment page first_page + i.
 */
typedef struct GpucolRows
{
	const char *const *pages;
	uint32_t	first_page;
	uint32_t	npages;
	void	   *owner;			/* private to the source */
} GpucolRows;

/*
 * Return the address of `n` consecutive word rows from segment word row `row`,
 * which must lie inside the window: in place where they share a page, else
 * copied to `scratch` (n * 128 bytes, 64-byte aligned).
 */
static inline const void *
gpucol_rows_at(const GpucolRows *window, uint32_t row, uint32_t n, void *scratch)
{
	uint32_t	page = row / GPUCOL_PAGE_ROWS;
	uint32_t	slot = row % GPUCOL_PAGE_ROWS;
	char	   *out = (char *) scratch;

	if (slot + n <= GPUCOL_PAGE_ROWS)
		return window->pages[page - window->first_page] +
			(size_t) slot * GPUCOL_ROW_BYTES;
	while (n > 0)
	{
		uint32_t	take = GPUCOL_PAGE_ROWS - slot;

		if (take > n)
			take = n;
		memcpy(out, window->pages[page - window->first_page] +
			   (size_t) slot * GPUCOL_ROW_BYTES,
			   (size_t) take * GPUCOL_ROW_BYTES);
		out += (size_t) take * GPUCOL_ROW_BYTES;
		n -= take;
		page++;
		slot = 0;
	}
	return scratch;
}

/*
 * One segment as a scan sees it.  chunks[] is indexed by program column slot;
 * a column added after the segment was written appears as a CONSTANT chunk.
 */
typedef struct GpucolSegment
{
	uint64_t	id;				/* stable identity of the bytes: cache key within
								 * the relation's storage */
	uint64_t	first_row;		/* table-wide row number of its first row */
	uint32_t	nrows;
	uint32_t	first_vector;	/* this scan reads vectors [first_vector, */
	uint32_t	end_vector;		/* end_vector); others read the rest */
	uint32_t	ndeleted;		/* of all rows */
	const uint32_t *deleted;	/* bit r set = row r invisible to this scan;
								 * nrows rounded up to whole vectors; NULL if
								 * every row is visible */
	const GpucolChunkDesc *const *chunks;
	void	   *owner;			/* private to the source */
} GpucolSegment;

/*
 * One column of a delta batch.  values[] holds int64 ordinals (INT), mantissas
 * at the program column's scale (DECIMAL) or IEEE bit patterns (floats);
 * bytes[] is used instead for BYTES.  Entries at NULL rows are zero.  Mantissas that exceed
 * an int64, which no packed column has, are int128: highs[] has their upper halves, and
 * values[] the lower ones.
 */
typedef struct GpucolDeltaColumn
{
	GpucolKind	kind;
	int64_t    *values;
	int64_t    *highs;			/* NULL: every value is an int64 */
	GpucolBytes *bytes;
	const uint32_t *nulls;		/* bit set = NULL; NULL pointer = no nulls */
} GpucolDeltaColumn;

/* Up to 1,024 visible delta rows. */
typedef struct GpucolDelta
{
	uint32_t	nrows;
	const uint64_t *tids;		/* block << 16 | offset of each row */
	const GpucolDeltaColumn *columns;	/* by program column slot */
} GpucolDelta;

typedef struct GpucolSource GpucolSource;

/* What a storage layer offers an engine. */
typedef struct GpucolSourceOps
{
	/*
	 * Move to the next segment that the snapshot sees.  GPUCOL_OK or
	 * GPUCOL_END; `out` is valid until the next call.  With parallel workers
	 * each segment is handed to exactly one of them, or, in a source in parts
	 * (below), a range of its vectors: then the next may be of the same segment.
	 */
	GpucolStatus (*next_segment) (GpucolSource *source, GpucolSegment *out);

	/*
	 * Make `nrows` word rows of a stream of the current segment resident,
	 * from word row `row` relative to the stream's start.  The window must be
	 * given back with unmap; several may be held, together at most
	 * max_window_rows word rows.
	 */
	GpucolStatus (*map) (GpucolSource *source, const GpucolSegment *segment,
						 int slot, GpucolStreamKind stream,
						 uint32_t row, uint32_t nrows, GpucolRows *out);
	void		(*unmap) (GpucolSource *source, GpucolRows *window);

	/*
	 * The same as map for a window that other threads will read: checksums that
	 * are still to be verified are left to them.  `verify` may be called by any
	 * thread, while the window is mapped, for each page (from 0) before it is
	 * read; false: the page is corrupt, and map would raise the error.  `forget` is
	 * for the thread that has read all of a window that this process will hardly read
	 * again.  NULL, all of them, in a source that cannot tell the two apart.
	 */
	GpucolStatus (*lend) (GpucolSource *source, const GpucolSegment *segment,
						  int slot, GpucolStreamKind stream,
						  uint32_t row, uint32_t nrows, GpucolRows *out);
	bool		(*verify) (const GpucolRows *window, uint32_t page);
	void		(*forget) (const GpucolRows *window);

	/*
	 * Have ready what the next lend of this stream from this row on will ask for, if that is at hand; for the
	 * source's thread, while others read windows that are lent: an error waits for them.  Once that has been
	 * called in a segment, windows are given back for good in it, too, or when the segment ends.
	 * max_window_rows must suffice for both windows.  NULL: nothing is to be gained.
	 */
	void		(*ahead) (GpucolSource *source, const GpucolSegment *segment, int slot, GpucolStreamKind stream,
						  uint32_t row, uint32_t nrows);

	/* Next batch of delta rows; GPUCOL_OK or GPUCOL_END. */
	GpucolStatus (*next_delta) (GpucolSource *source, GpucolDelta *out);

	/*
	 * The same for up to `most` batches, which are all valid until the next call: *n of them.  NULL in a
	 * source that has one at a time.
	 */
	GpucolStatus (*next_deltas) (GpucolSource *source, uint32_t most, GpucolDelta *out, uint32_t *n);

	/* Start again from the first segment and the first delta row. */
	void		(*rescan) (GpucolSource *source);

	/* Raise pending interrupts as the host does (may not return). */
	void		(*check_interrupts) (GpucolSource *source);

	/*
	 * For a table's statistics: rows of segments of that storage that are read without
	 * having been moved to.  Only asked of sources that have a version.
	 */
	void		(*count_rows) (GpucolSource *source, const uint64_t storage[2], uint64_t nrows);

	/*
	 * Find a version out, for an engine that keeps what it learns, where that takes
	 * more than opening the source did; it may stay 0.  NULL in a source that knows
	 * no more.
	 */
	void		(*identify) (GpucolSource *source);

	/*
	 * The source of the one table that the current segment is of.  NULL in a source of one
	 * table, which is its own.
	 */
	const GpucolSource *(*table) (const GpucolSource *source);

	/* Let go of what the source holds; only whoever opened it calls this. */
	void		(*close) (GpucolSource *source);
} GpucolSourceOps;

/* Base object; the storage layer's own struct begins with it. */
struct GpucolSource
{
	const GpucolSourceOps *ops;
	uint64_t	storage[2];		/* identity of the table's storage: chunks of
								 * equal storage, segment id and column have
								 * equal bytes; 0, 0 = may not be kept.  Of several
								 * tables: of what they are together */
	const int32_t *attnums;		/* by slot: the column in the table's storage; NULL: as
								 * the program says */
	uint64_t	version;		/* sources of one process that have equal versions,
								 * storage and columns show the same segments with
								 * the same rows deleted; 0 = nothing is known */
	int			ncolumns;		/* program column slots */
	uint32_t	max_window_rows;
	bool		in_parts;		/* segments come in ranges of vectors */
};

/* The source of the one table that a source's current segment is of. */
static inline const GpucolSource *
gpucol_source_table(const GpucolSource *source)
{
	return source->ops->table != NULL ? source->ops->table(source) : source;
}

#endif							/* GPUCOL_KERNEL_BATCH_H */
