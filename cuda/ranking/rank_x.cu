/*-------------------------------------------------------------------------
 *
 * rank_x.cu
 *	  Rankings of groups with x-tuples: a thread a group runs the very code of the
 *	  CPU, ranking/semantics/rank_choose.h, in scratch memory of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_kernels.cuh"

#include <algorithm>

#include "cuda/base/launch.cuh"
#include "ranking/semantics/rank_choose.h"

namespace
{

constexpr int THREADS = 64;
constexpr size_t SCRATCH_BYTES = (size_t) 4 << 30;	/* of all threads, unless one needs more */

/* Bytes of a thread. */
size_t
thread_bytes(uint32_t longest, int32_t k)
{
	GpucolRankInput in = {};
	int32_t		none = 0;

	in.n = (int32_t) longest;
	in.nx = in.n > 0 ? in.n - 1 : 0;	/* the most that still are alternatives */
	in.x = &none;
	return (gpucol_choose_workspace(&in, k) + 255) & ~(size_t) 255;
}

unsigned
blocks_of(uint32_t ngroups, size_t each)
{
	size_t		wanted = ((size_t) ngroups + THREADS - 1) / THREADS;
	size_t		held = SCRATCH_BYTES / (each * THREADS);

	return (unsigned) std::max<size_t>(1, std::min(wanted, held));
}

__global__ void
x_kernel(GpucolDeviceRankGroups groups, GpucolDeviceRankXTuples xs, GpucolDeviceRankRanking r,
		 GpucolDeviceRankPicks picks, double *probability,
		 uint32_t *bad, char *scratch, size_t each)
{
	uint32_t	thread = blockIdx.x * blockDim.x + threadIdx.x;

	for (uint32_t g = thread; g < groups.ngroups; g += gridDim.x * blockDim.x)
	{
		uint32_t	start = groups.starts[g];
		GpucolRankInput in;
		GpucolRankWork work;
		int32_t		number;
		int32_t		count = 0;
		double		chance = 0;
		double		mass;

		if (gpucol_device_rank_given_up(groups.cancel))
			return;
		in.n = (int32_t) (groups.starts[g + 1] - start);
		in.p = groups.p + start;
		in.x = xs.x + start;
		in.nx = (int32_t) (xs.first[g + 1] - xs.first[g]);
		work.memory = scratch + thread * each;
		work.size = each;
		work.cancelled = NULL;
		work.arg = NULL;
		work.settled = false;
		if (!gpucol_choose_mass_ok(&in, &work, &number, &mass) ||
			gpucol_choose(&in, (GpucolRanking) r.ranking, gpucol_device_rank_k(groups, g, r.k), r.threshold, &work,
						  picks.ranks + (picks.stride ? (size_t) g * picks.stride : start), &count,
						  &chance) != GPUCOL_OK)
			*bad = 1;
		picks.counts[g] = count;
		if (probability != NULL)
			probability[g] = chance;
	}
}

}								/* namespace */

size_t
gpucol_device_rank_x_scratch(const GpucolDeviceRankGroups &groups, int32_t k)
{
	size_t		each = thread_bytes(groups.longest, k);

	return blocks_of(groups.ngroups, each) * THREADS * each;
}

cudaError_t
gpucol_device_rank_x(const GpucolDeviceRankGroups &groups, const GpucolDeviceRankXTuples &xs,
					 const GpucolDeviceRankRanking &ranking,
			  const GpucolDeviceRankPicks &picks, double *probability, uint32_t *bad, void *scratch,
			  cudaStream_t stream)
{
	size_t		each = thread_bytes(groups.longest, ranking.k);

	x_kernel<<<blocks_of(groups.ngroups, each), THREADS, 0, stream>>>(groups, xs, ranking, picks, probability,
																	  bad, (char *) scratch, each);
	return cudaGetLastError();
}
