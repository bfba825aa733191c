/*-------------------------------------------------------------------------
 *
 * load.cu
 *	  Making a chunk fit for the kernels when it becomes resident.
 *
 * Runs are expanded to plain codes of the same width, codes of steps to plain
 * distances: the kernels then know one addressing and one frame of reference, and
 * a run is rarely worth a search per row.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/bitunpack.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/scan/load.cuh"

#include "kernel/format.h"

/* Code of row i of packed vectors. */
__device__ static inline uint64_t
packed_code(const uint32_t *codes, int width, uint32_t i)
{
	return code_of_row(codes + (size_t) (i / GPUCOL_VECTOR_VALUES) * width * GPUCOL_ROW_WORDS,
					   width, i % GPUCOL_VECTOR_VALUES);
}

__device__ static uint64_t
code_of_run_row(const uint32_t *codes, int width, const uint32_t *ends,
				uint32_t nruns, uint32_t row)
{
	uint32_t	a = 0,
				n = nruns;

	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (__ldg(ends + a + half) <= row)
		{
			a += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	if (a >= nruns)
		return 0;
	return packed_code(codes, width, a);
}

/* The codes of runs by row. */
struct RunCodes
{
	const uint32_t *codes;
	int			width;
	const uint32_t *ends;
	uint32_t	nruns;

	__device__ uint64_t
	operator()(uint32_t row) const
	{
		return code_of_run_row(codes, width, ends, nruns, row);
	}
};

/* The distances of steps by row. */
struct StepCodes
{
	const uint32_t *codes;
	int			width;
	uint64_t	step;

	__device__ uint64_t
	operator()(uint32_t row) const
	{
		return packed_code(codes, width, row) * step;
	}
};

/* One warp a vector; lane l writes its own stream of words. */
template <typename Codes>
__global__ void
expand_kernel(const Codes codes, int width, uint32_t nrows, uint32_t *out)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	uint32_t	nvectors = GPUCOL_VECTORS(nrows);

	for (uint32_t v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < nvectors; v += warps)
	{
		uint32_t   *to = out + (size_t) v * width * GPUCOL_ROW_WORDS;
		uint32_t   *high = width > 32 ? to + 32 * GPUCOL_ROW_WORDS : to;
		int			k = width > 32 ? width - 32 : width;
		uint64_t	buffer = 0;
		int			bits = 0;

		for (int p = 0; p < 32; p++)
		{
			uint32_t	row = v * GPUCOL_VECTOR_VALUES + p * 32 + lane;
			uint64_t	code = row < nrows ? codes(row) : 0;

			if (width > 32)
			{
				to[p * 32 + lane] = (uint32_t) code;
				code >>= 32;
			}
			buffer |= code << bits;
			bits += k;
			if (bits >= 32)
			{
				*(high + lane) = (uint32_t) buffer;
				high += 32;
				buffer >>= 32;
				bits -= 32;
			}
		}
	}
}

cudaError_t
gpucol_load_expand_runs(const uint32_t *codes, int width, const uint32_t *ends,
						uint32_t nruns, uint32_t nrows, uint32_t *out,
						cudaStream_t stream)
{
	RunCodes	source = {codes, width, ends, nruns};

	expand_kernel<<<gpucol_launch_blocks(expand_kernel<RunCodes>, 256, 0), 256, 0, stream>>>(source, width, nrows, out);
	return cudaGetLastError();
}

cudaError_t
gpucol_load_expand_steps(const uint32_t *codes, int width, uint64_t step,
						 int out_width, uint32_t nrows, uint32_t *out,
						 cudaStream_t stream)
{
	StepCodes	source = {codes, width, step};

	expand_kernel<<<gpucol_launch_blocks(expand_kernel<StepCodes>, 256, 0), 256, 0, stream>>>(source,
			out_width, nrows, out);
	return cudaGetLastError();
}
