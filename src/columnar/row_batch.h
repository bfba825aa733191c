/*-------------------------------------------------------------------------
 *
 * row_batch.h
 *	  Rows of PostgreSQL as a batch of columns for an engine (GpucolDelta,
 *	  kernel/batch.h): what sources that read rows share.
 *
 * Use: gpucol_row_batch_init once; for each batch gpucol_row_batch_start, then
 * gpucol_row_batch_append until the rows end or gpucol_row_batch_is_full, then
 * gpucol_row_batch_show.  A source that has its values in columns already starts
 * columns itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ROW_BATCH_H
#define GPUCOL_COLUMNAR_ROW_BATCH_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "columnar/typemap.h"
#include "kernel/batch.h"

#define GPUCOL_ROW_BATCH_ROWS	GPUCOL_VECTOR_VALUES

typedef struct GpucolRowBatch
{
	int			ncolumns;
	const GpucolProgramColumn *columns;
	GpucolTypeMap *maps;		/* by column slot */
	GpucolDeltaColumn *batch;	/* likewise */
	uint64	   *tids;
	uint32		nrows;
	Size		nbytes;			/* of values with bytes of their own */
	Size		most_bytes;		/* with as many it is full */
	MemoryContext context;		/* of the batch's values */
} GpucolRowBatch;

/*
 * Prepare batches of `columns`, which are numbered as in `desc`, in the current memory
 * context.  `columns` must live as long.
 */
extern void gpucol_row_batch_init(GpucolRowBatch *rows, TupleDesc desc,
								  const GpucolProgramColumn *columns, int ncolumns,
								  const char *context_name);

/* Forget the values of the batch; there is none in it. */
extern void gpucol_row_batch_reset(GpucolRowBatch *rows);

/* Begin an empty batch, with room for all columns. */
extern void gpucol_row_batch_start(GpucolRowBatch *rows);

/* Begin one column, with room for a batch's values and NULLs, in the current context. */
extern void gpucol_row_batch_start_values(GpucolRowBatch *rows, int c);

/* Room for n values of one column, zero, in the current context; it has no NULLs. */
extern void gpucol_row_batch_start_column(GpucolRowBatch *rows, int c, uint32 n);

/*
 * Null bytes of at most GPUCOL_ROW_BATCH_ROWS rows as bits, in the current context; NULL if none is
 * set, or `nulls` is NULL.
 */
extern uint32 *gpucol_row_batch_null_bits(const uint8 *nulls, uint32 n);

/*
 * One value that is not NULL.  False where it has no form in its column's kind (NaN in
 * numeric(p,s)).  Bytes are not copied, but where the value was toasted.
 */
extern bool gpucol_row_batch_put(GpucolRowBatch *rows, int c, uint32 row, Datum value);

/* The same, with bytes copied into the current memory context; and a NULL. */
extern bool gpucol_row_batch_put_copy(GpucolRowBatch *rows, int c, uint32 row, Datum value);
extern void gpucol_row_batch_put_null(GpucolRowBatch *rows, int c, uint32 row);

/*
 * Append the slot's row, copied; its tid is 0 where it has none.  False where some value
 * has no form in its column's kind.
 */
extern bool gpucol_row_batch_append(GpucolRowBatch *rows, TupleTableSlot *slot);

/* No row more: of their number, or of the bytes that they hold. */
static inline bool
gpucol_row_batch_is_full(const GpucolRowBatch *rows)
{
	return rows->nrows == GPUCOL_ROW_BATCH_ROWS || rows->nbytes >= rows->most_bytes;
}

/* The batch for an engine; `fits`: what every append said. */
extern GpucolStatus gpucol_row_batch_show(const GpucolRowBatch *rows, bool fits,
										  GpucolDelta *out);

/*
 * What the ops of a source without segments are: close, where its memory context ends
 * it, next_segment, map, unmap, and
 * check_interrupts as PostgreSQL does it.
 */
extern void gpucol_row_batch_hold_nothing(GpucolSource *source);
extern GpucolStatus gpucol_row_batch_no_segment(GpucolSource *source, GpucolSegment *out);
extern GpucolStatus gpucol_row_batch_map_nothing(GpucolSource *source,
												 const GpucolSegment *segment, int slot,
												 GpucolStreamKind stream, uint32_t row,
												 uint32_t nrows, GpucolRows *out);
extern void gpucol_row_batch_unmap_nothing(GpucolSource *source, GpucolRows *window);
extern void gpucol_row_batch_check_interrupts(GpucolSource *source);

#endif							/* GPUCOL_COLUMNAR_ROW_BATCH_H */
