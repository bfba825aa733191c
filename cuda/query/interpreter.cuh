/*-------------------------------------------------------------------------
 *
 * interpreter.cuh
 *	  A program whose instructions kernels interpret, or that has kernels of its own
 *	  (cuda/scan/interp.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERPRETER_CUH
#define GPUCOL_CUDA_INTERPRETER_CUH

#include <vector>

#include "cuda/jit/jit_interp.cuh"
#include "cuda/query/part_context.cuh"
#include "cuda/query/probes.cuh"
#include "cuda/query/registers.cuh"
#include "cuda/query/tails.cuh"
#include "cuda/scan/interp.cuh"

class Interpreter
{
public:
	/* Copies the program to the device; throws Failure where it cannot run there. */
	explicit Interpreter(PartContext &c);
	Interpreter(const Interpreter &) = delete;

	/* Whoever runs a mode fills in what it needs (InterpMode). */
	GpucolInterpPlan plan = {};

	/* What it aggregates into: so many words a group.  Scales may be changed by a second call. */
	void		set_accumulators(std::vector<GpucolAcc> accs, int nwords);

	/* Make room for the outputs of n rows, `what` in messages; into plan and returned. */
	std::vector<GpucolInterpOutput> set_outputs(uint64_t n, const char *what);

	/* Enqueue it in one mode, by a kernel of its own if there is one; rows of tables follow. */
	void		run(InterpMode mode);

	/* Vectors of the source and of these tables, in plan.counts one behind the other. */
	uint32_t	nvectors() const { return c_.scan.scan.nvectors + tails_.nvectors(); }

	/* The figures of probes, once the last run of AGGREGATE or SELECT is done, and what they have met. */
	void		put_figures(Partial *result);

	/* Rows behind the last join in such a run, or in one of EXPONENTS, at most. */
	uint64_t	joined_rows();

	/* What rows' errors came to; and forget them. */
	GpucolStatus status();
	void		clear_error();

private:
	void		prepare_loads(const GpucolInstr &in) const;
	void		narrow(Instrs *all);
	uint16_t	kernel_reg(uint16_t reg) const { return narrowed_ ? registers_.in_the_end(reg) : reg; }
	void		upload_host_tests();
	void		make_room(size_t warps);

	PartContext &c_;
	Probes		probes_;
	Tails		tails_;
	JitProgram	program_;
	RegisterMap registers_;
	bool		narrowed_ = false;	/* the plan's registers are other ones than the program's */
	size_t		warps_ = 0;		/* that plan.memory has room for */
};

/* The request fails where some row did: `error` is plan.error's. */
extern void gpucol_interp_check(unsigned long long error);

#endif
