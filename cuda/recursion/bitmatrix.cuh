/*-------------------------------------------------------------------------
 *
 * bitmatrix.cuh
 *	  Semi-naive steps on dense bit matrices: FULL, DELTA and NEW of a binary
 *	  relation over n ids take n*n/8 bytes each, and a round of
 *
 *		  new(i, k) :- delta(i, j), edge(j, k), not full(i, k).
 *
 *	  works row by row: a block ORs the successors of the set bits of row i of
 *	  DELTA into a row of bits in shared memory, and compares that row with
 *	  FULL once.  No global atomics, no sort, no merge; what it costs is reading
 *	  and writing the tiles that the round touches.
 *
 * A rule whose carried column is on the other side is the same step between
 * two transpositions: same generation is transpose, step, transpose, step, with
 * a FULL for the intermediate relation too, so that a pair (x, b) that several
 * a lead to is followed once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_BITMATRIX_CUH
#define GPUCOL_CUDA_BITMATRIX_CUH

#include "cuda/base/cancel.cuh"
#include "cuda/recursion/relation.cuh"

/* Largest domain whose row of bits fits in a block's shared memory. */
extern uint32_t gpucol_bitmatrix_max_nodes(void);

/*
 * out := transpose(in), which must be all zero before; `in` is left all zero.
 */
extern cudaError_t gpucol_bitmatrix_transpose(GpucolBitMatrix in,
											  GpucolBitMatrix out,
											  cudaStream_t stream);

/*
 * One semi-naive step: out := (delta . edge) minus full, full := full or out,
 * *fresh := number of bits set in out.  With `irreflexive`, the diagonal is
 * left out.  out must be all zero before; delta is left all zero.  Ends early,
 * leaving rubbish, when `cancel` is raised.
 */
extern cudaError_t gpucol_bitmatrix_step(GpucolBitMatrix delta, GpucolCsr edge,
										 GpucolBitMatrix full,
										 GpucolBitMatrix out, bool irreflexive,
										 unsigned long long *fresh,
										 GpucolCancelFlag cancel,
										 cudaStream_t stream);

/* Aggregate each of the first n rows; values[k] is the value of column k. */
extern cudaError_t gpucol_bitmatrix_summarise(GpucolBitMatrix matrix, uint32_t n,
											  const int64_t *values,
											  GpucolRowSummary *rows,
											  cudaStream_t stream);

/*
 * A delta as a list of pairs, i in the high half: what a sparse round works on,
 * because a step over the matrix reads every tile that holds a bit.
 */
struct GpucolPairList
{
	uint64_t   *pairs;
	unsigned long long *count;	/* device counter; may exceed capacity */
	unsigned long long capacity;
};

/*
 * A semi-naive step over a list, transposition included: for each pair (i, j)
 * of the first n of `delta` and each edge i -> k, set (j, k) in full and, where
 * it was not set, add (j, k) to `out`.  Pairs beyond out's capacity go to the
 * matrix `spill`, so that none is lost.  out's count must be zero before.
 */
extern cudaError_t gpucol_bitmatrix_step_list(GpucolPairList delta,
											  unsigned long long n,
											  GpucolCsr edge,
											  GpucolBitMatrix full,
											  GpucolPairList out,
											  GpucolBitMatrix spill,
											  cudaStream_t stream);

/* Move the bits of n rows of tiles of a matrix to a list that has room for them. */
extern cudaError_t gpucol_bitmatrix_to_list(GpucolBitMatrix matrix,
											uint32_t first, uint32_t n,
											GpucolPairList out,
											cudaStream_t stream);

/* Set the first n pairs of a list in a matrix. */
extern cudaError_t gpucol_bitmatrix_from_list(GpucolPairList list,
											  unsigned long long n,
											  GpucolBitMatrix out,
											  cudaStream_t stream);

#endif							/* GPUCOL_CUDA_BITMATRIX_CUH */
