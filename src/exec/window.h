/*-------------------------------------------------------------------------
 *
 * window.h
 *	  The state of a GpucolWindow, shared by its files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_H
#define GPUCOL_EXEC_WINDOW_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"

#include "exec/batch_compute.h"
#include "exec/window_func.h"
#include "plan/window.h"

typedef struct GpucolWindowClauseState
{
	int			npartition;
	int			nkeys;			/* these included */
	GpucolWindowKey *keys;
	GpucolWindowFrames frames;
	ExprState  *start;			/* offsets, or NULL */
	ExprState  *end;
	bool		framed;			/* some function looks at frames */
	int			leader;			/* the clause by whose keys rows are sorted for it */
	uint64		partitions;		/* found */
} GpucolWindowClauseState;

/* Rows of the child that are taken at once, at most. */
#define GPUCOL_WINDOW_TAKEN	1024

typedef struct GpucolWindowScreen GpucolWindowScreen;

/* Few rows of each partition matter. */
typedef struct GpucolWindowFew
{
	bool		wanted;
	GpucolWindowKind kind;		/* of row numbers, or of one of the ranks */
	bool		strict;
	ExprState  *bound;
	int64		limit;			/* rows whose number is greater need not be kept */
	uint32		next;			/* drop some when there are so many */
	uint64		dropped;
	GpucolWindowScreen *screen; /* in the rows' memory; NULL: all rows are taken */
	uint64		passed_over;	/* of those that were dropped: by screens */
} GpucolWindowFew;

typedef struct GpucolWindowState
{
	CustomScanState css;		/* must be first */
	int			eflags;
	List	   *children;
	PlanState  *fallback;		/* NULL until it is needed */
	const char *why;			/* it is */

	int			ncolumns;		/* of the child */
	int			nclauses;
	GpucolWindowClauseState *clauses;
	int			nfunctions;
	GpucolWindowFunction *functions;
	int			last;			/* clause in whose order rows come */
	bool		ordered;		/* partitions too */
	GpucolWindowFew few;

	/* delivery: which columns of the scan tuple something reads */
	int			noutputs;
	int		   *outputs;		/* columns of the child, from 0 on, */
	int		   *output_inputs;	/* and their inputs */
	struct GpucolWindowChunk *chunk;	/* the next rows (window_deliver.c) */
	int			npeeks;			/* those that late arguments read */
	int		   *peeks;
	int		   *peek_inputs;
	TupleTableSlot *peek;
	MemoryContext formed_context;

	GpucolBatchCompute *compute;	/* of batches of the child; NULL: nothing ever was computed of them */
	GpucolWindowRows rows;
	GpucolWindowCodes *codes;	/* made so far, in the rows' memory */
	int			ncodes;
	GpucolWindowOrder order;	/* of the clause in work, then of `last` */
	struct GpucolWindowParts *parts;	/* NULL: all rows are in memory */
	bool		ready;			/* all is computed */
	uint32		next;			/* place of the row to deliver */
	bool		delivered;		/* a batch has been */
	Size		peak;			/* bytes */
} GpucolWindowState;

/* window_input.c: what the plan says, as inputs and expressions */
extern void gpucol_window_inputs_init(GpucolWindowState *state);

/* window_take.c: take all rows of the child; NULL, or why that cannot be */
extern const char *gpucol_window_take(GpucolWindowState *state);

/* window_run.c: compute all functions over the rows; NULL, or why that cannot be */
extern const char *gpucol_window_run(GpucolWindowState *state);

/*
 * ... its parts: forget codes and orders of rows that have changed; have state->order be
 * one that serves a clause (false where memory does not suffice)
 */
extern void gpucol_window_run_begin(GpucolWindowState *state);
extern bool gpucol_window_run_order(GpucolWindowState *state, GpucolWindowClauseState *clause);

/*
 * window_few.c: evaluate the bound before the first row; drop rows that cannot matter when
 * there are many.  False where memory does not suffice.
 */
extern void gpucol_window_few_start(GpucolWindowState *state);
extern bool gpucol_window_few_drop(GpucolWindowState *state);

/*
 * window_screen.c: a screen before there are rows, or one by the rows that are kept, of which these numbers are the
 * last ones of the partitions that have as many as matter (NULL where there can be none; do peers of a row matter?);
 * which of n rows of columns are to be added; does it pay?
 */
extern GpucolWindowScreen *gpucol_window_screen_begin(GpucolWindowState *state, bool peers);
extern GpucolWindowScreen *gpucol_window_screen_make(GpucolWindowState *state, const uint32 *last, uint32 n,
													 bool peers);
extern uint32 gpucol_window_screen_pass(GpucolWindowScreen *screen, Datum *const *values, bool *const *isnull,
										uint32 n, uint16 *passed);
extern bool gpucol_window_screen_pays(const GpucolWindowScreen *screen);

/* The most partitions that a clause has found among the rows in memory. */
extern uint64 gpucol_window_partitions(const GpucolWindowState *state);

/*
 * window_part.c, for rows that exceed memory: put those in memory, one at least, into the files of parts (false
 * where that cannot be, with the rows as they are or gone); when all are there, see whether every part can be computed
 * (NULL, or why not), and have the first one in memory; have the next one, false after the last; have the first one
 * again; how many there are, and partitions in them; let all go.
 */
extern bool gpucol_window_parts_put(GpucolWindowState *state);
extern const char *gpucol_window_parts_check(GpucolWindowState *state);
extern bool gpucol_window_parts_next(GpucolWindowState *state);
extern void gpucol_window_parts_first(GpucolWindowState *state);
extern int	gpucol_window_parts_count(const GpucolWindowState *state, uint64 *partitions);
extern void gpucol_window_parts_end(GpucolWindowState *state);

/* window_deliver.c: prepare; the next row into the scan slot, false after the last */
extern void gpucol_window_deliver_init(GpucolWindowState *state);
extern bool gpucol_window_deliver(GpucolWindowState *state, TupleTableSlot *slot);

/*
 * window_batch.c: rows as GpucolBatchOps has them; a batch is of the memory of a tuple, and there is none
 * after the last row
 */
extern bool gpucol_window_offer(GpucolWindowState *state, PlanState *above, List *conditions);
extern bool gpucol_window_leaves(GpucolWindowState *state, List *conditions);
extern void gpucol_window_want(GpucolWindowState *state, const bool *wanted);
extern bool gpucol_window_batch(GpucolWindowState *state, GpucolBatch *batch);
extern void gpucol_window_batch_explain(const GpucolWindowState *state, List *ancestors, ExplainState *es);

/* explain_window.c */
extern void gpucol_explain_window(GpucolWindowState *state, List *ancestors, ExplainState *es);

#endif							/* GPUCOL_EXEC_WINDOW_H */
