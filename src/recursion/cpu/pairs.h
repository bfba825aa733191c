/*-------------------------------------------------------------------------
 *
 * pairs.h
 *	  The two kernels for r(x,y) :- e(a,x), r(a,b), f(b,y), shared by
 *	  cpu_recursive_pairs*.c only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_PAIRS_H
#define GPUCOL_RECURSION_CPU_PAIRS_H

#include "recursion/cpu/engine.h"

/* Atoms of the rule, put in order: e, r, f. */
typedef struct GpucolRecPairsShape
{
	GpucolRecEdge e;
	GpucolRecEdge r;
	GpucolRecEdge f;
	int			e_from;			/* column of e that holds a */
	int			f_from;			/* column of f that holds b */
} GpucolRecPairsShape;

/* Its graphs. */
typedef struct GpucolRecPairsGraphs
{
	GpucolRecAdjacency left;	/* a to x */
	GpucolRecAdjacency right;	/* b to y */
} GpucolRecPairsGraphs;

extern void gpucol_rec_pairs_graphs_free(GpucolRecRun *run,
										 GpucolRecPairsGraphs *graphs);

/* Ids of the run, rounded up to whole words of a bitmap. */
static inline uint64_t
gpucol_rec_pairs_domain(const GpucolRecRun *run)
{
	return (run->dictionary.nvalues + 63) / 64 * 64;
}

/* Is there memory for the three bitmaps of the dense kernel? */
extern bool gpucol_rec_pairs_dense_fits(const GpucolRecRun *run);

/* Count a round of a kernel that begins, unless it is one too many. */
extern GpucolStatus gpucol_rec_pairs_begin_round(GpucolRecRun *run,
												 GpucolRecKernel *kernel);

/*
 * A kernel over bitmaps (recursion/cpu/pairs_dense.c) of domain * domain bits, without a delta
 * yet; it takes the graphs.  Its `full` is given by set_full.  NULL: out of memory.
 */
extern GpucolRecKernel *gpucol_rec_pairs_dense_new(GpucolRecRun *run, uint64_t domain,
												   GpucolRecPairsGraphs *graphs);
extern void gpucol_rec_pairs_dense_set_full(GpucolRecKernel *kernel, uint64_t *full);

/* Add a pair to its delta. */
extern void gpucol_rec_pairs_dense_add(GpucolRecKernel *kernel, uint32_t x, uint32_t y);

/*
 * A kernel over sets of ids (recursion/cpu/pairs_sparse.c) that starts with the rows of a table;
 * it takes the graphs if it returns GPUCOL_OK.
 */
extern GpucolStatus gpucol_rec_pairs_sparse_new(GpucolRecRun *run,
												const GpucolRecPairsShape *shape,
												const GpucolRecTable *table,
												GpucolRecPairsGraphs *graphs,
												GpucolRecKernel **kernel);

/* Bytes that it takes beside the pairs. */
extern size_t gpucol_rec_pairs_sparse_size(const GpucolRecRun *run);

#endif							/* GPUCOL_RECURSION_CPU_PAIRS_H */
