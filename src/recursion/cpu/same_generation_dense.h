/*-------------------------------------------------------------------------
 *
 * same_generation_dense.h
 *	  The kernel over bitmaps for r(x,y) :- e(a,x), r(a,b), f(b,y), shared by
 *	  same_generation_dense*.c only, which are
 *
 *		recursion/cpu/same_generation_dense.c			the kernel: its life, rounds and rows
 *		recursion/cpu/same_generation_dense_panel.c	512 rows of the delta gathered together
 *		recursion/cpu/same_generation_dense_count.c	how many rows each column has
 *
 * r is a square bitmap, one row of bits for each first value.  A round takes
 * each row a of the delta, gathers the bits y that f gives to its b, and adds
 * that set to the row of every x that e gives to a, 64 pairs an instruction.
 * Sets are sparse or dense; a summary of the non-zero words of each row, of
 * the delta as of the gathered set, keeps the cost of a sparse one to those.
 *
 * Rows with many b are gathered together.  One by one each follows the edges of all
 * its b; 512 of them follow every edge of f once, as a panel: turned round, so that
 * each b has a vector of 512 bits, the rows that have it, which f's edges hand on to
 * its y.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_SAME_GENERATION_DENSE_H
#define GPUCOL_RECURSION_CPU_SAME_GENERATION_DENSE_H

#include "recursion/cpu/same_generation.h"
#include "recursion/cpu/share.h"

#define GPUCOL_REC_DENSE_LOCKS	1024

/* Rows of a panel, and words of one of its vectors. */
#define GPUCOL_REC_PANEL_ROWS	512
#define GPUCOL_REC_PANEL_WORDS	(GPUCOL_REC_PANEL_ROWS / 64)

/* What one thread gathers rows in. */
typedef struct GpucolRecGather
{
	uint64_t   *bits;			/* a row, zero between uses */
	uint64_t   *summary;		/* its non-zero words, likewise */
	uint64_t	merged;			/* pairs that the thread has added to full */
	uint64_t   *from;			/* panels: a vector for each b, then the rows */
	uint64_t   *to;				/* ... for each y */
} GpucolRecGather;

typedef struct GpucolRecDense
{
	GpucolRecKernel kernel;
	uint64_t	domain;			/* rows, and bits of a row: */
	uint64_t	nids;			/* ids of the graphs, to whole words */
	uint64_t	nwords;			/* words of a row */
	uint64_t	nsums;			/* words of the summary of a row */
	uint64_t   *full;
	uint64_t   *delta;
	uint64_t   *fresh;
	uint64_t   *delta_sums;		/* by row: its non-zero words, as bits */
	uint64_t   *fresh_sums;
	uint32_t   *delta_pairs;	/* by row: its pairs */
	uint8_t    *in_fresh;		/* rows of fresh with a bit */
	GpucolRecSamegenGraphs graphs;
	GpucolRecGather *gathers;	/* one for each thread */
	int			ngathers;
	uint32_t   *in_panel;		/* rows of the round's panels, one panel after another */
	uint64_t	nin_panel;
	uint8_t    *is_in_panel;	/* by row */
	atomic_flag locks[GPUCOL_REC_DENSE_LOCKS];	/* of rows of fresh */
	GpucolRecShare share;
	bool		ended;

	/* next(): where we are in delta */
	uint64_t	at_row;
	uint64_t	at_sum;			/* word of its summary */
	uint64_t	at_words;		/* bits of that, whose words are still to come */
	uint64_t	at_word;		/* of the row */
	uint64_t	at_bits;		/* of that, still to come */
} GpucolRecDense;

/*
 * Add a gathered row, whose non-zero words are in `summary`, to the rows of fresh that e
 * leads to from a.
 */
extern void gpucol_rec_dense_spread(GpucolRecDense *dense, int worker, uint64_t a,
									const uint64_t *bits, const uint64_t *summary);

/* ---- recursion/cpu/same_generation_dense_panel.c ---- */

/*
 * Choose the rows of the delta that panels pay for, and gather and spread them.  Without
 * the memory for panels, none is chosen.
 */
extern GpucolStatus gpucol_rec_dense_run_panels(GpucolRecDense *dense);

/* Free what panels have. */
extern void gpucol_rec_dense_free_panels(GpucolRecDense *dense);

/* ---- recursion/cpu/same_generation_dense_count.c ---- */

/* By id, as a column of full: add how many rows have it, `sign` times. */
extern GpucolStatus gpucol_rec_dense_count_columns(GpucolRecDense *dense, int64_t sign,
												   uint64_t *counts);

#endif							/* GPUCOL_RECURSION_CPU_SAME_GENERATION_DENSE_H */
