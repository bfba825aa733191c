/*-------------------------------------------------------------------------
 *
 * part_compute.cuh
 *	  One part of a request computed by kernels.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PART_COMPUTE_CUH
#define GPUCOL_CUDA_PART_COMPUTE_CUH

#include <atomic>

#include "cuda/base/slab.cuh"
#include "cuda/query/built_tables.cuh"
#include "cuda/query/deal.cuh"
#include "cuda/query/objects.cuh"
#include "cuda/query/pieces.cuh"
#include "cuda/query/run_message.cuh"

/* What is computed, and over what. */
struct PartTask
{
	const RunMessage &run;
	const PinnedPieces &pieces;
	const Objects &objects;
	const Deal &deal;
	Part	   &part;
	const std::atomic<bool> &cancelled;
	BuiltTables &tables;		/* of the session */
	const Slab *slab;			/* where a kernel may write the result for the client to find; or NULL */

	Lane	   &lane() const { return *deal.share_of(part).lane; }

	/* An object that came along, and where the part's device has it; NULL: it did not come. */
	const Object *object(GpucolPutKind kind, uint32_t a, uint32_t b) const { return objects.find(kind, a, b); }
	template <class T> const T *on_device(const Object &object) const { return (const T *) object.device[part.share]; }
};

/*
 * Compute it, into task.part.result; by the thread that may use its lane.  Compiled
 * kernels that nothing has proven yet answer a second time, for comparison.  Throws Failure.
 */
extern void gpucol_part_compute(const PartTask &task);

#endif
