/*-------------------------------------------------------------------------
 *
 * closure.cuh
 *	  Linear closure on the device: reach(s, y) for every source s, where
 *
 *		  reach(s, y) :- start(s, y).
 *		  reach(s, z) :- reach(s, y), edge(y, z).
 *
 * The first column is carried through the recursion unchanged, so the sources
 * are independent searches, and FULL need not exist as a whole: a warp owns one
 * source at a time, keeps that source's row of FULL as a bitmap in shared
 * memory (n/8 bytes) and its new rows as a queue.  Test-and-set in shared
 * memory replaces the sort, the set difference and the merge of a HISA round,
 * and there are no rounds: the queue's unread part is the delta.
 *
 * Lanes take 32 queue entries at a time.  Edges of the batch are dealt to the
 * lanes by a prefix sum of the degrees, so that one node of high degree does
 * not stall the warp.  Where rounds are limited, batches end with a level of the
 * search, so that the round that finds a row is known.
 *
 * Measured with and without, as in same_generation.cuh: 22 graphs, 1.3 to 86 times as long without (fe_ocean
 * 999 ms for 137, usroads 979 for 71).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CLOSURE_CUH
#define GPUCOL_CUDA_CLOSURE_CUH

#include "cuda/base/cancel.cuh"
#include "cuda/recursion/relation.cuh"

/* What a search needs; every pointer is device memory. */
struct GpucolClosure
{
	uint32_t	nnodes;			/* domain of y and z */
	uint32_t	nsources;
	GpucolCsr	start;			/* source -> first nodes */
	GpucolCsr	edge;			/* node -> next nodes */
	const int64_t *values;		/* nnodes: value of each node, for aggregates */
	uint32_t	max_depth;		/* searches that reach this many levels below
								 * their start end it all; 0 = no limit */
	GpucolCancelFlag cancel;
};

/* Where a call that limits the depth leaves what it found, in its scratch. */
struct GpucolClosureDepth
{
	uint32_t	next;			/* source to be dealt out next */
	uint32_t	deepest;		/* level that held a row */
	uint32_t	too_deep;		/* the limit was reached */
};

/* Largest domain whose row of FULL fits in a block's shared memory. */
extern uint32_t gpucol_closure_max_nodes(void);

/*
 * Device bytes of scratch (queues) that a call needs.
 */
extern size_t gpucol_closure_scratch(const GpucolClosure *closure);

/*
 * Count and aggregate the rows of each source: rows[nsources].  The scratch
 * begins with a GpucolClosureDepth.
 */
extern cudaError_t gpucol_closure_count(const GpucolClosure *closure,
										void *scratch, GpucolRowSummary *rows,
										cudaStream_t stream);

/*
 * Write the rows of sources first .. first + n - 1: source s has its nodes at
 * nodes[offsets[s] - offsets[first]] and on, in the order found.  offsets are
 * the exclusive sums of the counts.
 */
extern cudaError_t gpucol_closure_rows(const GpucolClosure *closure,
									   uint32_t first, uint32_t n,
									   const uint64_t *offsets, void *scratch,
									   uint32_t *nodes, cudaStream_t stream);

#endif							/* GPUCOL_CUDA_CLOSURE_CUH */
