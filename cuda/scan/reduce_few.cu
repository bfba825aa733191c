/*-------------------------------------------------------------------------
 *
 * reduce_few.cu
 *	  Grouped reductions of few columns, of any widths: made ahead of time.
 *
 * The loop is that of the kernels compiled at run time (reduce_direct.cuh), whose
 * words of the next half vector are loaded while this one is reduced; widths are
 * dispatched where codes are unpacked, and words beyond a column's width are not
 * loaded.  What limits it are registers: 64 words of two half vectors, so two
 * columns of 32 bits or four of 16, with 168 registers a thread.
 *
 * Runs that do not suit (NULLs, width 0 or wider codes) are left to the kernels
 * for any plan: here their code would take registers from this.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/reduce_few.cuh"
#include "cuda/scan/reduce_device.cuh"

template <int NKEYS, int NINPUTS, int WIDEST>
struct FewColumns
{
	static constexpr bool DIRECT = true;
	static constexpr bool FEW = true;
	static constexpr bool KNOWN = false;
	static constexpr bool MASKED = true;
	static constexpr int KEYS = NKEYS;
	static constexpr int COLUMNS = NKEYS + NINPUTS;
	__host__ __device__ static constexpr int width(int) { return WIDEST; }
	__host__ __device__ static constexpr uint32_t ops(int) { return 0; }
};

template <int NKEYS, int NINPUTS, int WIDEST, int THREADS>
__global__ void __launch_bounds__(THREADS, 1)
reduce_few_kernel(const __grid_constant__ GpucolReducePlan plan)
{
	reduce_block<FewColumns<NKEYS, NINPUTS, WIDEST>>(plan);
}

#define KERNEL(KEYS, INPUTS, WIDEST, THREADS) \
	{KEYS, INPUTS, WIDEST, THREADS, (const void *) reduce_few_kernel<KEYS, INPUTS, WIDEST, THREADS>}

/* Of one number of columns, the narrowest first. */
static const GpucolFewKernel few_kernels[] = {
	KERNEL(1, 0, 32, 512),
	KERNEL(1, 1, 16, 512),
	KERNEL(1, 1, 32, 384),
	KERNEL(1, 2, 16, 384),
	KERNEL(2, 0, 32, 384),
	KERNEL(2, 1, 16, 384),
};

const GpucolFewKernel *
gpucol_reduce_few(uint32_t nkeys, uint32_t ninputs, uint32_t width)
{
	for (const GpucolFewKernel &k : few_kernels)
		if (k.keys == nkeys && k.inputs == ninputs && k.widest >= width)
			return &k;
	return NULL;
}
