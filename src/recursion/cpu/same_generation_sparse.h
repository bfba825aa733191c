/*-------------------------------------------------------------------------
 *
 * same_generation_sparse.h
 *	  The kernel over sets of ids for r(x,y) :- e(a,x), r(a,b), f(b,y), shared by
 *	  recursion/cpu/same_generation_sparse*.c only, which are
 *
 *		recursion/cpu/same_generation_sparse.c			the kernel: its life, rounds and rows
 *		recursion/cpu/same_generation_sparse_load.c		its start from the rows of a relation
 *		recursion/cpu/same_generation_sparse_join.c		a round: the delta to new rows
 *		recursion/cpu/same_generation_sparse_delta.c		new rows to the next delta
 *		recursion/cpu/same_generation_sparse_bitmaps.c	its end, where bitmaps are better
 *
 * Each row x of r is a hash set of its y.  A round has two phases, whose rows
 * threads share out among themselves without touching each other's:
 *
 *	1. for each row a of the delta: the middle m(a), the y that f gives to its b,
 *	   each once (a bitmap over all ids, in the nearest cache, says which);
 *	2. for each x that e gives to such an a: m(a) of all those a is looked up in
 *	   the set of x; what is new is its row of the next delta.
 *
 * So the set of a row is read into the cache once a round, and not for every
 * candidate.  If both graphs are one and the rows that come from before have
 * their mirror images, all rows will: then x keeps only y >= x, which halves the
 * second phase and the sets, and the delta is mirrored for the next round.
 *
 * Measured with and without (medians of 5 pairs, count(*) of a same generation): a mesh of
 * 2^16 nodes, 26 million pairs, takes 7.1 s in 237 MB for 28.8 s in 1,022 MB (4.0 times), a
 * grid of 250 x 250 6.7 s for 14.0 s, cti 2.0 s for 3.8 s, the roads of TG 0.21 s for 0.36 s.
 *
 * Lists of ids live in the lane of the thread that made them: those of the
 * middles until the round ends, those of the delta until the next one has ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_SAME_GENERATION_SPARSE_H
#define GPUCOL_RECURSION_CPU_SAME_GENERATION_SPARSE_H

#include "recursion/cpu/idsets.h"
#include "recursion/cpu/same_generation.h"
#include "recursion/cpu/share.h"

/* Ids of one row. */
typedef struct GpucolRecSlice
{
	uint32_t	row;
	uint32_t	n;
	uint32_t   *ids;
} GpucolRecSlice;

typedef struct GpucolRecSlices
{
	GpucolRecSlice *items;
	uint64_t	n;
	uint64_t	allocated;
} GpucolRecSlices;

/* A row of the delta, with its mirror image if there is one. */
typedef struct GpucolRecDeltaRow
{
	GpucolRecSlice own;
	GpucolRecSlice mirrored;
} GpucolRecDeltaRow;

/* What one thread has. */
typedef struct GpucolRecLane
{
	GpucolRecPool pool;
	GpucolRecIds middle_ids;
	GpucolRecIds row_ids[2];	/* of the delta, and of what it leads to, in turn */
	GpucolRecSlices found;		/* of the phase */
	uint64_t   *seen;			/* a bit an id, zero between uses */
	uint64_t	candidates;		/* that phase 2 will have for its middles */
	uint64_t	words;			/* words of bitmaps that these would touch */
} GpucolRecLane;

typedef struct GpucolRecSparse
{
	GpucolRecKernel kernel;
	GpucolRecKernel *dense;		/* once it has taken over */
	GpucolRecRun *run;
	GpucolRecShare share;
	uint64_t	domain;			/* ids when it began */
	size_t		seen_size;		/* bytes of a bitmap over them */
	GpucolRecSamegenGraphs graphs;
	GpucolRecAdjacency back;	/* x to a */
	bool		mirrored;		/* (x,y) stands for (y,x) too */
	bool		stays;			/* there is no memory for bitmaps */
	GpucolRecIdSet *rows;
	GpucolRecSlices delta;		/* new rows of the last round */
	GpucolRecDeltaRow *work;	/* the same, for the next one */
	uint64_t	nwork;
	uint64_t	work_allocated;
	GpucolRecSlices middles;
	uint32_t   *middle_of;		/* by a: its place in middles + 1, or 0 */
	uint32_t   *targets;		/* rows x of phase 2 */
	uint64_t	ntargets;
	uint8_t    *is_target;
	uint32_t   *work_of;		/* by row: its place in work + 1, while that is made */
	uint32_t   *mirror_ids;		/* of work */
	uint64_t	mirror_allocated;
	GpucolRecLane *lanes;
	int			nlanes;
	int			parity;			/* which row_ids the delta has */
	bool		ended;

	/* next(): where we are in the delta */
	uint64_t	at_slice;
	uint32_t	at_id;
	bool		at_mirror;		/* the mirror image of that pair comes first */
} GpucolRecSparse;

/* Free all but the dense kernel. */
extern void gpucol_rec_sparse_free_sets(GpucolRecSparse *sparse);

/* Is the run to end?  Asked by the main thread, when it is alone, before each slice. */
static inline bool
gpucol_rec_sparse_stopped(GpucolRecSparse *sparse, const GpucolRecSlice *slice)
{
	return gpucol_rec_share_stopped(&sparse->share, 0, slice->n);
}

/* ---- recursion/cpu/same_generation_sparse_load.c ---- */

/*
 * Make sets of the rows of a table, and its delta that of the first round.  `mirrored`
 * says whether both graphs are one, and becomes false if the rows are not symmetric.
 */
extern GpucolStatus gpucol_rec_sparse_load(GpucolRecSparse *sparse,
										   const GpucolRecTable *table);

/* ---- recursion/cpu/same_generation_sparse_join.c ---- */

/*
 * Phase 1: the middles of the delta.  How many candidates the second phase will have for
 * them, and how many words of bitmaps these would touch.
 */
extern GpucolStatus gpucol_rec_sparse_find_middles(GpucolRecSparse *sparse,
												   uint64_t *candidates,
												   uint64_t *words);

/* Phase 2: they become new rows, which the lanes have, and are forgotten. */
extern GpucolStatus gpucol_rec_sparse_find_rows(GpucolRecSparse *sparse,
												uint64_t candidates);

/* ---- recursion/cpu/same_generation_sparse_delta.c ---- */

/*
 * Add a slice of n ids that stand at ids->at to what a lane has found; false: out of
 * memory.
 */
extern bool gpucol_rec_sparse_add_slice(GpucolRecLane *lane, uint32_t row,
										GpucolRecIds *ids, uint64_t n);

/* Move what the lanes have found to one array. */
extern GpucolStatus gpucol_rec_sparse_collect(GpucolRecSparse *sparse,
											  GpucolRecSlices *to);

/* Make the rows found in a round, or loaded, the delta of the next. */
extern GpucolStatus gpucol_rec_sparse_set_delta(GpucolRecSparse *sparse);

/* ---- recursion/cpu/same_generation_sparse_bitmaps.c ---- */

/*
 * Are bitmaps the better way from here on, for a round of so many candidates in so many
 * words of these?
 */
extern bool gpucol_rec_sparse_is_dense(const GpucolRecSparse *sparse, uint64_t candidates,
									   uint64_t words);

/* Hand the delta over to bitmaps; without the memory for them, `dense` stays NULL. */
extern GpucolStatus gpucol_rec_sparse_go_dense(GpucolRecSparse *sparse);

#endif							/* GPUCOL_RECURSION_CPU_SAME_GENERATION_SPARSE_H */
