/*-------------------------------------------------------------------------
 *
 * part_context.cuh
 *	  What the rooms share that compute a part (part_compute.cc).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PART_CONTEXT_CUH
#define GPUCOL_CUDA_PART_CONTEXT_CUH

#include "cuda/base/tuning.cuh"
#include "cuda/query/compiled.cuh"
#include "cuda/query/part_compute.cuh"
#include "cuda/query/part_device.cuh"
#include "cuda/query/prepared.cuh"
#include "cuda/query/program_view.cuh"

struct PartContext
{
	const PartTask &task;
	const ProgramView program;
	const GpucolRowShape *shape;	/* what becomes of rows; or NULL */
	PartDevice &device;
	PreparedScan &scan;
	CompiledKernels &compiled;

	/* May a compiled kernel answer?  Not where a table is built, whose bytes nobody compares, nor where chance
	 * decides which of the rows that
	 * tie at a bound are delivered: two answers cannot be compared then. */
	bool		jit_allowed() const
	{
		return task.run.has(GPUCOL_WIRE_RUN_JIT) && (scan.rows >= GPUCOL_JIT_MIN_ROWS || jit.waits()) &&
			program.head().kind != GPUCOL_PROGRAM_BUILD &&
			!(shape != NULL && shape->kind == GPUCOL_SHAPE_TOP && !shape->all_ties);
	}

	/* Where a kernel may write the result for the client to find; NULL: nowhere. */
	const Slab *slab() const { return compiled.on_trial() ? NULL : task.slab; }
};

static inline Failure
unsupported(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, what};
}

#endif
