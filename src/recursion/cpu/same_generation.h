/*-------------------------------------------------------------------------
 *
 * same_generation.h
 *	  The two kernels for r(x,y) :- e(a,x), r(a,b), f(b,y), shared by
 *	  same_generation*.c only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_SAME_GENERATION_H
#define GPUCOL_RECURSION_CPU_SAME_GENERATION_H

#include "recursion/cpu/engine.h"

/* Atoms of the rule, put in order: e, r, f. */
typedef struct GpucolRecSamegenRule
{
	GpucolRecEdge e;
	GpucolRecEdge r;
	GpucolRecEdge f;
	int			e_from;			/* column of e that holds a */
	int			f_from;			/* column of f that holds b */
} GpucolRecSamegenRule;

/* Its graphs. */
typedef struct GpucolRecSamegenGraphs
{
	GpucolRecAdjacency left;	/* a to x */
	GpucolRecAdjacency right;	/* b to y */
} GpucolRecSamegenGraphs;

extern void gpucol_rec_samegen_graphs_free(GpucolRecRun *run,
										   GpucolRecSamegenGraphs *graphs);

/* Ids of the run, rounded up to whole words of a bitmap. */
static inline uint64_t
gpucol_rec_samegen_domain(const GpucolRecRun *run)
{
	return (run->dictionary.nvalues + 63) / 64 * 64;
}

/* Is there memory for the three bitmaps of the dense kernel? */
extern bool gpucol_rec_samegen_dense_fits(const GpucolRecRun *run);

/* Count a round of a kernel that begins, unless it is one too many. */
extern GpucolStatus gpucol_rec_samegen_begin_round(GpucolRecRun *run,
												   GpucolRecKernel *kernel);

/*
 * A kernel over bitmaps (recursion/cpu/same_generation_dense.c) of domain * domain bits, without a delta
 * yet; it takes the graphs.  Its `full` is given by set_full.  NULL: out of memory.
 */
extern GpucolRecKernel *gpucol_rec_samegen_dense_new(GpucolRecRun *run, uint64_t domain,
													 GpucolRecSamegenGraphs *graphs);
extern void gpucol_rec_samegen_dense_set_full(GpucolRecKernel *kernel, uint64_t *full);

/* Add a pair to its delta. */
extern void gpucol_rec_samegen_dense_add(GpucolRecKernel *kernel, uint32_t x, uint32_t y);

/*
 * A kernel over sets of ids (recursion/cpu/same_generation_sparse.c) that starts with the rows of a table;
 * it takes the graphs if it returns GPUCOL_OK.
 */
extern GpucolStatus gpucol_rec_samegen_sparse_new(GpucolRecRun *run,
												  const GpucolRecSamegenRule *sg,
												  const GpucolRecTable *table,
												  GpucolRecSamegenGraphs *graphs,
												  GpucolRecKernel **kernel);

/* Bytes that it takes beside the pairs. */
extern size_t gpucol_rec_samegen_sparse_size(const GpucolRecRun *run);

#endif							/* GPUCOL_RECURSION_CPU_SAME_GENERATION_H */
