/*-------------------------------------------------------------------------
 *
 * compiled.cc
 *	  Compiled kernels that one run of a part may use.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/compiled.cuh"

const void *
CompiledKernels::use(const JitHandle &kernel)
{
	if (!kernel)
		note_ = gpucol_jit_miss;
	else if (kernel->rejected())
		note_ = "a compiled kernel answered wrongly and is not used";
	if (!kernel || kernel->rejected())
		return NULL;
	if (!kernel->proven() && !on_trial_)
		trial_.claim(kernel);
	if (!kernel->proven() && !(on_trial_ && trial_.has(kernel)))
		return NULL;
	used_.push_back(kernel);
	return kernel->function();
}
