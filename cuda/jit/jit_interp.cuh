/*-------------------------------------------------------------------------
 *
 * jit_interp.cuh
 *	  Programs as kernels of their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_INTERP_CUH
#define GPUCOL_CUDA_JIT_INTERP_CUH

#include <vector>

#include "cuda/scan/interp_plan.h"
#include "cuda/jit/jit.cuh"

/* The instructions of a probe. */
struct JitProbe
{
	std::vector<GpucolInstr> keys;
	std::vector<GpucolInstr> residual;
	std::vector<GpucolInstr> filter;
};

/* What a program's kernel depends on: the host's copies of a plan's arrays. */
struct JitProgram
{
	std::vector<GpucolInstr> filter_instrs;
	std::vector<JitProbe> probe_instrs;
	std::vector<GpucolInstr> rest_instrs;	/* with what they need of the filter's */
	uint16_t	filter;
	std::vector<uint16_t> keys;
	std::vector<uint8_t> classes;	/* of the registers */
	std::vector<GpucolAcc> accs;
	std::vector<GpucolInterpOutput> outputs;
	int			nwords;
	const std::vector<GpucolDeviceChunk> *chunks;
	uint32_t	ncolumns;
	const GpucolInterpPlan *plan;	/* of its probes */
};

/* The compiled kernel for one mode of a program, or NULL if there is none (yet). */
extern JitHandle gpucol_jit_interp(InterpMode mode, const JitProgram &program);

#endif
