/*-------------------------------------------------------------------------
 *
 * same_generation.cu
 *	  Rounds of the two-sided recursion, dense or sparse by cost.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/same_generation.cuh"

namespace
{

/*
 * Random test-and-sets against bytes streamed in the same time: about 4 G/s
 * against three passes over a matrix at 4 TB/s, both measured on an H200.
 */
constexpr double BYTES_A_CANDIDATE = 1000.0;
constexpr double PASSES = 3.0;

/* State of a run: where the delta is, and how large. */
struct Run
{
	const GpucolSameGeneration *plan;
	GpucolSameGenerationSpace *space;
	const GpucolCancel &cancel;
	cudaStream_t stream;
	unsigned long long fresh;	/* pairs of the delta */
	int			list;			/* lists[list] holds it; -1: the matrix */

	bool
	sparse_pays() const
	{
		double		dense = PASSES * space->full.bytes();

		return fresh * plan->degree * BYTES_A_CANDIDATE < dense &&
			fresh <= space->lists[0].capacity;
	}

	cudaError_t
	read(const unsigned long long *device, unsigned long long *value)
	{
		cudaError_t error = cudaMemcpyAsync(value, device, sizeof(*value),
											cudaMemcpyDeviceToHost, stream);

		return error ? error : cancel.wait(stream);
	}

	cudaError_t
	zero(unsigned long long *device)
	{
		return cudaMemsetAsync(device, 0, sizeof(*device), stream);
	}

	/* Bring the delta to the form that the next half step wants. */
	cudaError_t
	convert()
	{
		bool		sparse = sparse_pays();
		cudaError_t error = cudaSuccess;

		if (sparse && list < 0)
		{
			error = zero(space->lists[0].count);
			if (!error)
				error = gpucol_bitmatrix_to_list(space->delta, 0, space->delta.ntiles,
												 space->lists[0], stream);
			list = 0;
		}
		else if (!sparse && list >= 0)
		{
			error = gpucol_bitmatrix_from_list(space->lists[list], fresh,
											   space->delta, stream);
			list = -1;
		}
		return error;
	}

	/* delta := (transpose(delta) . edge) minus full, in the matrix. */
	cudaError_t
	dense(const GpucolCsr &edge, const GpucolBitMatrix &full)
	{
		cudaError_t error = gpucol_bitmatrix_transpose(space->delta, space->turned,
													   stream);

		if (!error)
			error = gpucol_bitmatrix_step(space->turned, edge, full, space->delta,
										  false, space->counter, cancel.flag(), stream);
		return error ? error : read(space->counter, &fresh);
	}

	/* The same over a list; a list too small spills to the matrix. */
	cudaError_t
	sparse(const GpucolCsr &edge, const GpucolBitMatrix &full)
	{
		GpucolPairList &out = space->lists[1 - list];
		unsigned long long n = fresh;
		cudaError_t error = zero(out.count);

		if (!error)
			error = gpucol_bitmatrix_step_list(space->lists[list], n, edge, full,
											   out, space->delta, stream);
		if (!error)
			error = read(out.count, &fresh);
		list = 1 - list;
		if (!error && fresh > out.capacity)
		{
			error = gpucol_bitmatrix_from_list(out, out.capacity, space->delta,
											   stream);
			list = -1;
		}
		return error;
	}

	cudaError_t
	half_step(const GpucolCsr &edge, const GpucolBitMatrix &full)
	{
		cudaError_t error = convert();

		if (error)
			return error;
		return list < 0 ? dense(edge, full) : sparse(edge, full);
	}
};

}								/* namespace */

cudaError_t
gpucol_same_generation_run(const GpucolSameGeneration *task, GpucolSameGenerationSpace *space,
					unsigned long long *fresh, const GpucolCancel &cancel,
					const GpucolRoundReport &report, cudaStream_t stream)
{
	Run			run = {task, space, cancel, stream, *fresh, -1};
	cudaError_t error = cudaSuccess;

	for (uint64_t rounds = 0; run.fresh > 0 && !error && !cancel.check();)
	{
		if (task->max_rounds && rounds >= task->max_rounds)
			break;
		error = run.half_step(task->left, space->half);
		if (!error && run.fresh > 0 && !cancel.raised())
			error = run.half_step(task->right, space->full);
		report(++rounds, run.fresh);
	}
	*fresh = run.fresh;
	return error;
}
