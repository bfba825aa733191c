/*-------------------------------------------------------------------------
 *
 * compiled.cuh
 *	  Compiled kernels that one run of a part may use.
 *
 * A kernel answers once it is proven.  One that nothing has proven yet is claimed for a
 * trial, in which the part is run once more with it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_COMPILED_CUH
#define GPUCOL_CUDA_COMPILED_CUH

#include <string>
#include <vector>

#include "cuda/jit/jit.cuh"

class CompiledKernels
{
public:
	/* Of a run that claims kernels for `trial`, or (on_trial) is that trial. */
	CompiledKernels(JitTrial &trial, bool on_trial) : trial_(trial), on_trial_(on_trial) {}
	CompiledKernels(const CompiledKernels &) = delete;

	bool		on_trial() const { return on_trial_; }

	/* Will this answer be compared with another's? */
	bool		compared() const { return on_trial_ || !trial_.empty(); }

	/* The function of a kernel if it may be used, else NULL. */
	const void *use(const JitHandle &kernel);

	/* Those that were used, and why none was where one was asked for. */
	const std::vector<JitHandle> &used() const { return used_; }
	const std::string &note() const { return note_; }

private:
	JitTrial   &trial_;
	const bool	on_trial_;
	std::vector<JitHandle> used_;
	std::string note_;
};

#endif
