/*-------------------------------------------------------------------------
 *
 * writer_parts.h
 *	  Inside of the writer: what its files share.
 *
 *	  writer.c			writers of the transaction; when they are written
 *	  writer_buffer.c	rows into the columns' buffers
 *	  writer_segment.c	buffers into a segment, and its directory entry
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_WRITER_PARTS_H
#define GPUCOL_COLUMNAR_WRITER_PARTS_H

#include "columnar/directory.h"
#include "columnar/encode.h"
#include "columnar/held_rows.h"
#include "columnar/typemap.h"
#include "columnar/writer.h"
#include "service/memory.h"

/* Rows that gpucol_buffer_rows takes over at a time, at most. */
#define GPUCOL_BATCH_ROWS		GPUCOL_HELD_ROWS

/* Row numbers reserved at first. */
#define GPUCOL_FIRST_RESERVE	1024

/* Buffered values of one column; arrays are kept from segment to segment. */
typedef struct GpucolWriterColumn
{
	AttrNumber	attnum;
	GpucolTypeMap declared;		/* as it was when the command began */
	GpucolTypeMap map;			/* kind becomes BYTES if a value demands it */
	bool		narrow;			/* values are 32 bits wide in the buffer */
	bool		coded;			/* BYTES: in a dictionary, else in data */
	bool		any_null;
	uint32	   *nulls;			/* bit by row */
	void	   *values;			/* all but BYTES: uint32 or int64 by row */
	GpucolDict	dict;			/* distinct values ... */
	uint32	   *codes;			/* ... and their numbers by row */
	char	   *data;			/* contents of all values ... */
	Size		data_used;
	Size		data_size;
	uint64	   *ends;			/* ... and where each row's ends */
	uint64		raw_bytes;
} GpucolWriterColumn;

struct GpucolWriter
{
	Oid			relid;
	Oid			file;			/* storage that the rows are for */
	SubTransactionId subid;
	CommandId	cid;
	int			options;		/* heap_insert's, for the directory entry, */
	uint32		flags;			/* and that one's */
	bool		decoded;		/* logical decoding is told of the rows */
	MemoryContext context;		/* the writer */
	MemoryContext buffers;		/* its values */
	MemoryContext row_context;
	GpucolMeter meter;			/* of context, in the session's budget */
	int			ncolumns;
	GpucolWriterColumn *columns;
	uint32		capacity;		/* rows that the buffers hold */
	uint32		segment_rows;	/* rows of a full segment */
	uint32		reserve;		/* row numbers that a new segment begins with */
	uint32		nrows;			/* in the buffers, ... */
	GpucolHeldRows *held;		/* ... and those that follow; NULL before the first */
	Size		bytes;			/* buffered */
	bool		wrote;			/* a segment */
	bool		open;			/* an entry stands in the directory, unless ... */
	List	  **diverted;		/* ... finished entries are put here */
	MemoryContext diverted_context;
	GpucolSegmentEntry entry;
	ItemPointerData entry_tid;
};

/* writer_buffer.c: make the columns ready for the first row of a segment. */
extern void gpucol_buffer_start(GpucolWriter *writer, Relation table);

/* Make room for more rows, up to those of a full segment. */
extern void gpucol_buffer_grow(GpucolWriter *writer);

/* Append n <= GPUCOL_BATCH_ROWS rows, for which there is room, and give them their row numbers. */
extern void gpucol_buffer_rows(GpucolWriter *writer, Relation table, TupleTableSlot **slots,
							   int n);

/* Append n rows at hand as columns, from their row `at` on; there is room for them. */
extern void gpucol_buffer_columns(GpucolWriter *writer, Relation table,
								  const Datum *const *values, const bool *const *isnull,
								  uint32 at, int n);

/* Take the rows over that are held. */
extern void gpucol_buffer_held(GpucolWriter *writer, Relation table);

/* Raise an error for a status of the encoder that is not GPUCOL_OK. */
extern void gpucol_writer_check(Relation table, GpucolStatus status);

/* writer_segment.c: put the entry of a new segment into the directory. */
extern void gpucol_writer_open_segment(GpucolWriter *writer, Relation table);

/* Reserve more row numbers for the open segment; false if they do not follow. */
extern bool gpucol_writer_extend_segment(GpucolWriter *writer, Relation table);

/* Write the open segment, if any, and complete its entry; the buffers are empty then. */
extern void gpucol_writer_close_segment(GpucolWriter *writer, Relation table);

#endif							/* GPUCOL_COLUMNAR_WRITER_PARTS_H */
