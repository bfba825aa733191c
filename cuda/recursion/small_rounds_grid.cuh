/*-------------------------------------------------------------------------
 *
 * small_rounds_grid.cuh
 *	  The threads of the kernel of small rounds (small_rounds_device.cuh): barriers,
 *	  counters and the rows that they share.
 *
 * The bindings of a rule are columns of codes in one of two banks: a step that changes
 * the rows reads one bank and writes the other.  Rows are appended in no particular
 * order: the lanes of a warp sum up what they have and take so many places from a
 * counter, the cell of the step.  Cells are kept twice, for this round and the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_GRID_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_GRID_CUH

#include <cooperative_groups.h>

#include "cuda/base/warp.cuh"
#include "cuda/recursion/small_rounds_program.cuh"

#ifdef __CUDACC__

/* What the lanes of a warp share. */
struct RoundWarp
{
	uint32_t	ends[32];
	uint64_t	starts[32];
};

/* One thread of the grid. */
template <class K> class RoundGrid
{
protected:
	__device__
	RoundGrid(const RoundProgram<K> *program, RoundWarp *warps)
		: p_(*program), rank_(blockIdx.x * blockDim.x + threadIdx.x),
		  size_(gridDim.x * blockDim.x), lane_(threadIdx.x % 32),
		  lanes_(min(blockDim.x, 32u)), warp_(warps + threadIdx.x / 32),
		  parity_(p_.result->parity) {}

	__device__ __forceinline__ void
	barrier() const
	{
		if (gridDim.x == 1)
			__syncthreads();
		else if (cluster_)
			cluster_barrier();
		else
			cooperative_groups::this_grid().sync();
	}

	/* ---- counters ---- */

	__device__ __forceinline__ unsigned long long *
	cell(uint32_t number) const
	{
		return p_.cells + parity_ * p_.ncells + number;
	}

	/* Not 0: a round that went wrong is to be done again.  Looked at after all rules. */
	__device__ __forceinline__ unsigned long long *
	failures() const
	{
		return cell(p_.ncells - 1);
	}

	static __device__ __forceinline__ unsigned long long
	read(const unsigned long long *cell)
	{
		return *(const volatile unsigned long long *) cell;
	}

	/* Places in an output for all lanes of a warp. */
	struct Places
	{
		unsigned long long first;
		uint32_t	total;
		uint32_t	before;		/* this lane's begin behind so many */
	};

	__device__ Places
	reserve(unsigned long long *counter, uint32_t n) const
	{
		constexpr unsigned all = 0xffffffffu;
		uint32_t	sum = n;

		for (uint32_t d = 1; d < lanes_; d *= 2)
		{
			uint32_t	lower = __shfl_up_sync(all, sum, d);

			if (lane_ >= d)
				sum += lower;
		}
		Places		places = {0, __shfl_sync(all, sum, lanes_ - 1), sum - n};

		if (places.total > 0)
		{
			if (lane_ == 0)
				places.first = atomicAdd(counter, (unsigned long long) places.total);
			places.first = __shfl_sync(all, places.first, 0);
		}
		return places;
	}

	/* ---- bindings ---- */

	__device__ __forceinline__ uint32_t *
	column(uint32_t reg) const
	{
		return p_.columns + ((size_t) bank_ * p_.nregisters + reg) * p_.width;
	}

	__device__ __forceinline__ uint32_t *
	other_column(uint32_t reg) const
	{
		return p_.columns + ((size_t) (bank_ ^ 1) * p_.nregisters + reg) * p_.width;
	}

	__device__ __forceinline__ uint32_t
	code(const RoundOperand &o, uint32_t row) const
	{
		return o.reg == RoundOperand::CONSTANT ? o.code : column(o.reg)[row];
	}

	const RoundProgram<K> &p_;
	const uint32_t rank_;
	const uint32_t size_;
	const uint32_t lane_;
	const uint32_t lanes_;
	bool		cluster_ = false;
	RoundWarp  *warp_;
	uint32_t	parity_;
	uint32_t	bank_ = 0;
};

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_GRID_CUH */
