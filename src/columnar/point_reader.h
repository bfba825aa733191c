/*-------------------------------------------------------------------------
 *
 * point_reader.h
 *	  Single rows of a table's segments, here and there, where indexes lead to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_POINT_READER_H
#define GPUCOL_COLUMNAR_POINT_READER_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/rel.h"

#include "columnar/segment.h"

typedef struct GpucolPointReader GpucolPointReader;

/*
 * Make a reader in the current memory context, for rows of a descriptor, which is that of the slot that
 * they go to.
 */
extern GpucolPointReader *gpucol_point_reader_create(Relation table, TupleDesc desc);

/* Is it for rows of this table and descriptor? */
extern bool gpucol_point_reader_is_for(const GpucolPointReader *reader, Relation table, TupleDesc desc);

/*
 * Let columns of which many neighbouring rows are read be decoded a vector at a time.  Their pages stay pinned
 * until the reader is closed, which the resource owner that is current when they are read must last for.
 */
extern void gpucol_point_reader_allow_vectors(GpucolPointReader *reader);

/*
 * Begin a row: values of the one before go.  Pages, open segments and what has been unpacked stay for
 * the rows to come, within bounds.
 */
extern void gpucol_point_reader_begin(GpucolPointReader *reader, const GpucolSegmentInfo *segment, uint32 row);

/* The value of a column (from 0) of the row, which lasts until another row is begun. */
extern Datum gpucol_point_reader_value(GpucolPointReader *reader, int column, bool *isnull);

/*
 * The row, whose values have all been read so, as a heap tuple in the current memory context, with its virtual
 * TID and the inserting transaction.
 */
extern HeapTuple gpucol_point_reader_form(GpucolPointReader *reader, TransactionId xmin,
										  Datum *values, bool *isnull);

/* Give back pins and forget all segments, before the reader's memory context goes or the transaction ends. */
extern void gpucol_point_reader_close(GpucolPointReader *reader);

#endif							/* GPUCOL_COLUMNAR_POINT_READER_H */
