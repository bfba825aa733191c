/*-------------------------------------------------------------------------
 *
 * same_generation.cuh
 *	  The fixpoint of a rule that extends a pair on both sides:
 *
 *		  full(x, y) :- base(x, y).
 *		  full(x, y) :- left(a, x), full(a, b), right(b, y).
 *
 * Same generation is left = right = edge.  Each round is two half steps of
 * bitmatrix.cuh, and half(b, x), the pairs between them, is deduplicated too.
 * A round runs on the matrix or on a list of pairs, whichever its delta makes
 * cheaper: a dense step costs the bytes of the tiles that hold a bit, a sparse
 * one a random access an edge.
 *
 * Measured with and without (strategy hisa; count(*) at psql, an H200, 2026-11-21, 18 real graphs,
 * test/bench/results/2026-11-21-898054e.txt): eleven take 1.6 to 10 times as long without (CA-HepTh 217 ms
 * for 22, fe_body 767 for 276), five 0.9 to 1.3 times, and two of few rows over many nodes 0.6 times
 * (luxembourg_osm 37 ms for 66).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SAME_GENERATION_CUH
#define GPUCOL_CUDA_SAME_GENERATION_CUH

#include <functional>

#include "cuda/recursion/bitmatrix.cuh"

/* Edges of `left` and `right`, average successors of a node. */
struct GpucolSameGeneration
{
	uint32_t	nnodes;
	GpucolCsr	left;
	GpucolCsr	right;
	double		degree;
	uint64_t	max_rounds;		/* 0 = no limit */
};

/* Called after each round: rounds so far, rows of the last. */
typedef std::function<void(uint64_t, uint64_t)> GpucolRoundReport;

/*
 * Memory that a run works in: `full` and `delta` hold the base when it starts
 * (equal, delta counting `fresh` bits), turned and half are all zero.
 */
struct GpucolSameGenerationSpace
{
	GpucolBitMatrix full;
	GpucolBitMatrix half;
	GpucolBitMatrix delta;
	GpucolBitMatrix turned;
	GpucolPairList lists[2];
	unsigned long long *counter;	/* device */
};

/*
 * Run to the fixpoint, to max_rounds, or until `cancel` is raised.  *fresh is
 * the size of the delta, none at a fixpoint; full holds the result.
 */
extern cudaError_t gpucol_same_generation_run(const GpucolSameGeneration *task,
									   GpucolSameGenerationSpace *space,
									   unsigned long long *fresh,
									   const GpucolCancel &cancel,
									   const GpucolRoundReport &report,
									   cudaStream_t stream);

#endif							/* GPUCOL_CUDA_SAME_GENERATION_CUH */
