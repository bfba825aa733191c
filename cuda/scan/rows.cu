/*-------------------------------------------------------------------------
 *
 * rows.cu
 *	  The matching rows of a scan as columns of 8-byte words.
 *
 * A warp takes a vector, a lane one row of 32 at a time: the words of a position
 * are neighbours in memory, so loads and stores are coalesced.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/rows.cuh"

#include "cuda/base/launch.cuh"
#include "cuda/scan/scanner.cuh"
#include "cuda/scan/values.cuh"

__global__ void
count_matches_kernel(const uint32_t *bitmap, uint32_t nvectors, unsigned long long *counts)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < nvectors; v += warps)
	{
		uint32_t	n = warp_sum((uint32_t) __popc(bitmap[(size_t) v * 32 + lane]));

		if (lane == 0)
			counts[v] = n;
	}
}

cudaError_t
gpucol_rows_count(const uint32_t *bitmap, uint32_t nvectors, unsigned long long *counts,
				  cudaStream_t stream)
{
	count_matches_kernel<<<gpucol_launch_grid((size_t) nvectors * 32), GPUCOL_THREADS, 0, stream>>>(bitmap,
			nvectors, counts);
	return cudaGetLastError();
}

__global__ void
load_rows_kernel(const __grid_constant__ GpucolRowLoad load)
{
	const GpucolScanPlan &scan = load.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t number = (blockIdx.x * blockDim.x + threadIdx.x) / 32; number < scan.nvectors; number += warps)
	{
		uint32_t	word = __ldg(load.bitmap + (size_t) number * 32 + lane);
		Run			run;

		if (!__any_sync(GPUCOL_ALL_LANES, word != 0))
			continue;
		run = find_vector(scan, number);
		for (uint32_t c = 0; c < load.ncolumns; c++)
		{
			const GpucolRowColumn column = load.columns[c];
			const GpucolDeviceChunk chunk = scan.chunks[run.segment * scan.ncolumns + column.slot];
			unsigned long long out = load.starts[number];

			for (int p = 0; p < 32; p++)
			{
				uint32_t	w = __shfl_sync(GPUCOL_ALL_LANES, word, p);

				if (w >> lane & 1)
				{
					int			row = p * 32 + lane;
					unsigned long long at = out + __popc(w & ((1u << lane) - 1));
					bool		null = row_is_null(chunk, run.first, row);
					int64_t		x = 0;

					if (!null)
					{
						uint64_t	code = chunk_code(chunk, run.first, row);

						x = column.is_float ? __double_as_longlong(float_of_code(chunk, code)) :
							integer_of_code(chunk, code);
					}
					column.values[at] = x;
					column.nulls[at] = null;
				}
				out += __popc(w);
			}
		}
		if (is_cancelled(scan))
			break;
	}
}

cudaError_t
gpucol_rows_load(const GpucolRowLoad &load, cudaStream_t stream)
{
	load_rows_kernel<<<gpucol_launch_blocks(load_rows_kernel, GPUCOL_THREADS, 0), GPUCOL_THREADS, 0, stream>>>(load);
	return cudaGetLastError();
}
