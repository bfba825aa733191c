/*-------------------------------------------------------------------------
 *
 * rows.cuh
 *	  The matching rows of a scan as columns of 8-byte words, for work that needs
 *	  them all on the device.
 *
 * Functions enqueue on `stream` and return the launch's status.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_ROWS_CUH
#define GPUCOL_CUDA_ROWS_CUH

#include "cuda/base/api.cuh"
#include "cuda/scan/plan.h"

constexpr int GPUCOL_MAX_ROW_COLUMNS = 16;

/* One column to load: a column slot as it is. */
struct GpucolRowColumn
{
	uint16_t	slot;
	uint16_t	is_float;		/* doubles; else int64 of the value or mantissa */
	int64_t    *values;			/* [rows] */
	uint8_t    *nulls;			/* [rows] */
};

struct GpucolRowLoad
{
	GpucolScanPlan scan;
	const uint32_t *bitmap;		/* matches, 32 words a vector in row order */
	const unsigned long long *starts;	/* row number of each vector's first match */
	uint32_t	ncolumns;
	GpucolRowColumn columns[GPUCOL_MAX_ROW_COLUMNS];
};

/* Matches of each vector of a bitmap. */
extern cudaError_t gpucol_rows_count(const uint32_t *bitmap, uint32_t nvectors,
									 unsigned long long *counts, cudaStream_t stream);

/* Load the columns of the matching rows, in the order of the rows. */
extern cudaError_t gpucol_rows_load(const GpucolRowLoad &load, cudaStream_t stream);

#endif
