/*-------------------------------------------------------------------------
 *
 * window_rows.h
 *	  The rows that window functions are computed over: columns of values, in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_ROWS_H
#define GPUCOL_EXEC_WINDOW_ROWS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "columnar/typemap.h"
#include "service/memory.h"

typedef struct GpucolWindowShared GpucolWindowShared;

/* A column of values: one of the child's, or an expression over these. */
typedef struct GpucolWindowInput
{
	ExprState  *expr;			/* NULL: the child's column */
	int			column;			/* of the child, from 0 on */
	int			computed;		/* an expression: the column, behind those, in which its values come; -1: none */
	int			filter;			/* the input that must be true for a value to be; -1 */
	bool		if_true;		/* NULL but where it is true */
	Oid			type;
	int16		typlen;
	bool		typbyval;
	Datum	   *values;
	bool	   *isnull;
	bool		nulls;			/* some value may be NULL */
	bool		may_be_mantissas;	/* whoever reads it knows these: */
	bool		mantissas;		/* values are int64 of numerics at a scale, by value; 0 where there is none */
	int			scale;
	GpucolWindowShared *shared;	/* copies of values that may come again; NULL: none yet */
} GpucolWindowInput;

typedef struct GpucolWindowRows
{
	MemoryContext context;		/* of all of it, counted */
	GpucolMeter meter;
	int			ninputs;
	GpucolWindowInput *inputs;
	uint32		nrows;
	uint32		allocated;
	uint64		taken;			/* rows of the child, those that were dropped included */
	char	   *room;			/* for values by reference */
	Size		left;
	Size		replaced;		/* bytes of values that others have replaced, at most */
	bool		shares;			/* equal values by reference may have one copy: none is replaced */
} GpucolWindowRows;

/* Rows beyond which nothing is kept: their numbers are 32 bits, two of which are not rows. */
#define GPUCOL_WINDOW_MAX_ROWS	(PG_UINT32_MAX - 8)

/* The reason of whatever memory does not suffice for. */
extern const char gpucol_window_memory[];
#define GPUCOL_WINDOW_MEMORY	gpucol_window_memory

/* Make room for rows; the inputs are set.  Will rows be replaced by others? */
extern void gpucol_window_rows_open(GpucolWindowRows *rows, MemoryContext parent, bool replaces);

/* Add a row; `econtext` is for expressions.  False where memory does not suffice. */
extern bool gpucol_window_rows_add(GpucolWindowRows *rows, TupleTableSlot *slot,
								   ExprContext *econtext);

/* A row will soon be replaced: fetch its values; then, those by reference. */
extern void gpucol_window_rows_prefetch(const GpucolWindowRows *rows, uint32 row);
extern void gpucol_window_rows_prefetch_values(const GpucolWindowRows *rows, uint32 row);

/* Put row i of columns, which are all that inputs read, in the place of a row. */
extern void gpucol_window_rows_replace(GpucolWindowRows *rows, uint32 row, Datum *const *values, bool *const *isnull,
									   uint32 i);

/*
 * Add n rows, not more than a thousand and some, of these columns of the child; those that no input reads may be
 * NULL.  Expressions that are not computed read them from the slot, which is virtual.
 */
extern bool gpucol_window_rows_add_columns(GpucolWindowRows *rows, Datum *const *values, bool *const *isnull,
										   int ncolumns, uint32 n, TupleTableSlot *slot, ExprContext *econtext);

/* Make room for n rows in all; false where memory does not suffice. */
extern bool gpucol_window_rows_expect(GpucolWindowRows *rows, uint64 n);

/* Is there memory for so many bytes more? */
extern bool gpucol_window_rows_fit(GpucolWindowRows *rows, Size more);

/*
 * Have an input keep numerics as mantissas at a scale, before it has a row; have those that do keep numerics again,
 * those of their rows included; forget it all, before the first row.
 */
extern void gpucol_window_rows_mantissas(GpucolWindowInput *input, int scale);
extern void gpucol_window_rows_numerics(GpucolWindowRows *rows);
extern void gpucol_window_rows_forget_mantissas(GpucolWindowRows *rows);

/* A value that is none of NULL, as a datum of its type: a numeric may be formed in the current context. */
static inline Datum
gpucol_window_datum(const GpucolWindowInput *in, uint32 row)
{
	return in->mantissas ? gpucol_typemap_numeric((int64) in->values[row], in->scale) : in->values[row];
}

/* Keep these rows only, in this order; they become the first. */
extern void gpucol_window_rows_keep(GpucolWindowRows *rows, const uint32 *kept, uint32 nkept);

/* Forget all rows and free their memory. */
extern void gpucol_window_rows_close(GpucolWindowRows *rows);

/* A copy of a value by reference, which lasts as long as the rows. */
extern Datum gpucol_window_rows_copy(GpucolWindowRows *rows, int16 typlen, Datum value);

/* An array in the rows' memory. */
extern void *gpucol_window_rows_alloc(GpucolWindowRows *rows, Size bytes);

#endif							/* GPUCOL_EXEC_WINDOW_ROWS_H */
