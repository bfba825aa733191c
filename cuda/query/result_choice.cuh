/*-------------------------------------------------------------------------
 *
 * result_choice.cuh
 *	  Of the groups of a result those that are wanted (kernel/first.h), on the host.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RESULT_CHOICE_CUH
#define GPUCOL_CUDA_RESULT_CHOICE_CUH

#include "cuda/query/partial.cuh"
#include "kernel/first.h"

/* Does a sort key order groups in the daemon?  Byte strings do not, which are numbers here. */
extern bool gpucol_group_key_orders(const GpucolProgram *program, const GpucolFirstKey &key);

/* Leave out of a finished result what is not wanted, and perhaps not all of that. */
extern void gpucol_result_choose(const GpucolProgram *program, const GpucolFirst &first, Partial *whole);

#endif
