/*-------------------------------------------------------------------------
 *
 * window_chunk.h
 *	  Rows of a GpucolWindow that are fetched together, for tuples (window_deliver.c) or for
 *	  batches (window_batch.c).
 *
 * For tuples everything is fetched that something reads.  For batches first what conditions
 * read, and then, of the rows that pass these, what is asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_CHUNK_H
#define GPUCOL_EXEC_WINDOW_CHUNK_H

#include "postgres.h"

#include "exec/intervals.h"
#include "exec/window.h"

/* A column of the scan tuple, for these rows. */
typedef struct GpucolWindowChunkColumn
{
	int			column;			/* of the scan tuple, from 0 on */
	const GpucolWindowInput *in;	/* the child's column or that of a function's source */
	GpucolWindowFunction *f;	/* or NULL */
	bool		tested;			/* conditions read it */
	bool		read;			/* expressions of a batch do */
	bool		shown;			/* a batch shows it */
	bool		repeats;		/* it is the same for all rows of a partition in the order that rows come in */
	bool		mantissas;		/* as it was fetched, values are those of the input */
	Datum	   *values;
	bool	   *isnull;
} GpucolWindowChunkColumn;

/* A function that is evaluated or formed row by row. */
typedef struct GpucolWindowLate
{
	GpucolWindowFunction *f;
	bool		tested;			/* as above */
	bool		read;
} GpucolWindowLate;

/* Conditions on rows that come in batches: the node's, and those of the node above, as conditions on the scan tuple. */
typedef struct GpucolWindowTests
{
	ExprState  *above;
	GpucolIntervals *own_intervals; /* the same over intervals, or NULL */
	GpucolIntervals *above_intervals;
	bool		forms;			/* numerics that are tested are formed in any case */
	uint32		removed;		/* rows by `above` since the last batch */
} GpucolWindowTests;

typedef struct GpucolWindowChunk
{
	uint32		next;			/* of the rows that are fetched, */
	uint32		nrows;			/* so many */
	uint32		room;
	uint32	   *rows;			/* their numbers, */
	uint32	   *places;			/* and places in the order */
	int			ncolumns;
	GpucolWindowChunkColumn *columns;
	int			nlate;
	GpucolWindowLate *late;
	bool		for_batch;		/* the rows are fetched for one */
	GpucolWindowTests tests;	/* of batches */
	MemoryContext formed;		/* numerics that are formed for them */
	struct GpucolWindowBatches *batches;	/* or NULL: nobody has asked for them yet */
} GpucolWindowChunk;

/* The column of the scan tuple, from 0 on, that a function's results are. */
static inline int
gpucol_window_function_column(const GpucolWindowState *state, const GpucolWindowFunction *f)
{
	return state->ncolumns + (int) (f - state->functions);
}

/* A column of the scan tuple among the chunk's columns, or, behind these, its late functions; -1: neither. */
extern int	gpucol_window_chunk_find(const GpucolWindowState *state, int number);

/* Have room for so many rows at a time, of the current context. */
extern void gpucol_window_chunk_room(GpucolWindowChunk *chunk, uint32 nrows);

/* Number the next rows in their order, of which there are some; nothing is fetched yet. */
extern void gpucol_window_chunk_turn(GpucolWindowState *state);

/* Fetch a column for them. */
extern void gpucol_window_chunk_fetch(GpucolWindowState *state, GpucolWindowChunkColumn *column);

/* Prepare the conditions, those of the node above being on the scan tuple, in the current memory context. */
extern void gpucol_window_tests_make(GpucolWindowState *state, List *conditions);

/* Leave the rows of a chunk that pass them; what they read has been fetched. */
extern void gpucol_window_tests_run(GpucolWindowState *state);

/* Does a late function yield values of an input that are mantissas? */
static inline bool
gpucol_window_chunk_late_mantissas(const GpucolWindowState *state, const GpucolWindowFunction *f)
{
	return f->source != NULL && f->value == NULL && state->rows.inputs[f->input].mantissas;
}

/* The result of a late function for the row at i; of the memory of a tuple, or the function's own. */
extern Datum gpucol_window_chunk_late(GpucolWindowState *state, GpucolWindowFunction *f, uint32 i, bool *isnull);

/* Put a late function's result into the scan tuple. */
extern void gpucol_window_chunk_put_late(GpucolWindowState *state, GpucolWindowFunction *f, uint32 i,
										 TupleTableSlot *slot);

#endif							/* GPUCOL_EXEC_WINDOW_CHUNK_H */
