/*-------------------------------------------------------------------------
 *
 * delta_reader.h
 *	  Pages of the delta as batches of columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_READER_H
#define GPUCOL_COLUMNAR_DELTA_READER_H

#include "postgres.h"

#include "access/relscan.h"

#include "columnar/row_batch.h"
#include "columnar/view.h"

typedef struct GpucolDeltaReader GpucolDeltaReader;

/*
 * A reader, in the current memory context, that puts rows which heap's scan sees into batches
 * of `rows`.  Scan and batch must live as long; heap's scan is not to be used otherwise.
 */
extern GpucolDeltaReader *gpucol_delta_reader_open(TableScanDesc heap, GpucolRowBatch *rows);

/* Go to a range of blocks; what is left of another is given up. */
extern void gpucol_delta_reader_enter(GpucolDeltaReader *reader, const GpucolBlockRange *range);

/*
 * The next rows of the range: GPUCOL_OK, GPUCOL_END behind the last, or GPUCOL_UNSUPPORTED
 * where a value has no form in its column's kind.
 */
extern GpucolStatus gpucol_delta_reader_next(GpucolDeltaReader *reader, GpucolDelta *out);

#endif							/* GPUCOL_COLUMNAR_DELTA_READER_H */
