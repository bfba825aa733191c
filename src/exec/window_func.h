/*-------------------------------------------------------------------------
 *
 * window_func.h
 *	  One window function: its arguments, and its results for all rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_FUNC_H
#define GPUCOL_EXEC_WINDOW_FUNC_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/window_frame.h"
#include "plan/window.h"

/* A row that is none: the result is NULL, or a default. */
#define GPUCOL_WINDOW_NO_ROW		PG_UINT32_MAX
#define GPUCOL_WINDOW_DEFAULT_ROW	(PG_UINT32_MAX - 1)

/* A number among the arguments: one for all rows, or a column. */
typedef struct GpucolWindowNumber
{
	int			input;			/* -1: the same for all rows, */
	ExprState  *expr;			/* by this, or 1 where there is none */
	Datum		value;
	bool		isnull;
} GpucolWindowNumber;

typedef struct GpucolWindowFunction
{
	const WindowFunc *func;
	GpucolWindowKind kind;
	int			clause;
	int			input;			/* of the argument, or what is counted; -1 = none */
	GpucolWindowNumber number;	/* of lag, lead, ntile, nth_value */
	ExprState  *value;			/* of lag and the like, where the argument is no column: evaluated
								 * for the row that is the result */
	ExprState  *instead;		/* default of lag and lead, for the row itself */

	/* arguments as numbers, by row */
	int64	   *ints;
	int			scale;			/* of numerics */
	uint64	   *shown;			/* scale less the digits shown, where they vary */
	GpucolWindowCodes codes;	/* of an EXTREME */
	bool		oldest;			/* of equal values the first is the result */
	bool		sample;			/* a variance: of a sample, */
	bool		root;			/* and its root is the result */
	struct GpucolWindowFed *fed;	/* of a FED one (window_fed.c) */

	/* results, by row or by place (gpucol_window_at) */
	bool		by_place;
	Datum	   *values;
	bool	   *isnull;
	uint32	   *source;			/* the row that is the result */
	int128	   *sums;			/* formed as numeric when the row is delivered */
	int128	   *squares;		/* of variances */
	uint32	   *counts;
	uint8	   *shown_scale;	/* NULL: scale */

	/* the last numeric that was formed */
	int128		formed_sum;
	int128		formed_squares;
	uint32		formed_count;
	uint8		formed_scale;
	Datum		formed;
	uint64		nformed;		/* so far */
	MemoryContext formed_context;
} GpucolWindowFunction;

/* Arrays for one partition, of which functions make use one after another. */
typedef struct GpucolWindowScratch
{
	int128	   *sums;			/* before each place, and in all */
	uint128    *squares;		/* where variances are wanted: modulo 2^128 */
	uint32	   *counts;
	uint32	   *places;
	uint32	   *tree;			/* of frames with holes: twice as large */
} GpucolWindowScratch;

extern bool gpucol_window_scratch_init(GpucolWindowScratch *scratch, GpucolWindowRows *rows,
									   uint32 largest, bool squares);
extern void gpucol_window_scratch_free(GpucolWindowScratch *scratch);

/* Does the function look at frames? */
extern bool gpucol_window_func_framed(const GpucolWindowFunction *f);

/*
 * Prepare arguments and room for results.  NULL, or why the function cannot be computed
 * over these rows.
 */
extern const char *gpucol_window_func_prepare(GpucolWindowFunction *f, GpucolWindowRows *rows);

/* Compute it for a partition; NULL, or why it cannot be. */
extern const char *gpucol_window_func_run(GpucolWindowFunction *f, const GpucolWindowPart *part,
										  GpucolWindowScratch *scratch);

/* The result of a sum, an average or a variance that is numeric, by where it is kept. */
extern Datum gpucol_window_func_numeric(GpucolWindowFunction *f, uint32 at, bool *isnull);

#endif							/* GPUCOL_EXEC_WINDOW_FUNC_H */
