/*-------------------------------------------------------------------------
 *
 * scan.cuh
 *	  Range scans: to a count, to a match bitmap, to the sum of a column.
 *
 * Every function enqueues on `stream` and returns the launch's status; none
 * allocates or synchronises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SCAN_CUH
#define GPUCOL_CUDA_SCAN_CUH

#include <vector>

#include "cuda/base/api.cuh"
#include "cuda/scan/plan.h"

/* The turn_shift for scans of such columns, by the mean of their widths. */
extern uint32_t gpucol_scan_turn_shift(const std::vector<GpucolDeviceChunk> &chunks);

/* Add the number of matching rows to *count; `chunks` are the plan's, on the host. */
extern cudaError_t gpucol_scan_count(const GpucolScanPlan &scan, const std::vector<GpucolDeviceChunk> &chunks,
									 unsigned long long *count, cudaStream_t stream);

/*
 * Write the match bitmap of every vector, 32 words each in row order, at
 * bitmap + 32 * (vector_start of its segment + vector).
 */
extern cudaError_t gpucol_scan_bitmap(const GpucolScanPlan &scan, uint32_t *bitmap,
									  cudaStream_t stream);

/*
 * Over matching rows, add to result[0] their number, to result[1] the non-null
 * values of a column and to result[2] the sum of its offsets modulo 2^64 (exact
 * below 2^32 rows); with `extremes`, result[3] and result[4] become the least and
 * greatest offset.
 */
extern cudaError_t gpucol_scan_reduce(const GpucolScanPlan &scan,
									  const GpucolOffsetColumn &column, bool extremes,
									  unsigned long long *result, cudaStream_t stream);

#endif
