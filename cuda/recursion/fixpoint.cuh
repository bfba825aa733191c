/*-------------------------------------------------------------------------
 *
 * fixpoint.cuh
 *	  A plan being run on the device from loaded rows on, whatever its keys are.
 *
 * fixpoint.cu loads and reads; fixpoint_rounds.cuh advances strata and rounds between.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_FIXPOINT_CUH
#define GPUCOL_CUDA_FIXPOINT_CUH

#include "cuda/recursion/recursive.cuh"

/* Rows that were loaded into a relation. */
struct GpucolLoadedRows
{
	size_t		n = 0;
	std::vector<std::vector<int64_t>> columns;
	std::vector<std::vector<uint8_t>> nulls;	/* empty: none */
};

/* What a batch of next points to. */
struct GpucolReadRows
{
	std::vector<std::vector<int64_t>> columns;
	std::vector<std::vector<uint8_t>> nulls;
	std::vector<const int64_t *> column_pointers;
	std::vector<const uint8_t *> null_pointers;
};

class GpucolFixpoint
{
public:
	virtual ~GpucolFixpoint() = default;

	/* Rows of an input, or of a derived relation's first round. */
	virtual void load(uint32_t relation, const GpucolLoadedRows &rows) = 0;

	/* As in GpucolRecursiveEngine; failures are thrown. */
	virtual GpucolStatus next(uint32_t relation, GpucolReadRows &rows, GpucolRecBatch *out) = 0;
	virtual void summarise(uint32_t relation, uint64_t *nrows,
						   GpucolRecSummary *columns) = 0;
};

/* A fixpoint over the narrowest keys that the plan's relations fit, once values are numbered. */
extern std::unique_ptr<GpucolFixpoint> gpucol_fixpoint_make(GpucolDeviceRun &run);

#endif							/* GPUCOL_CUDA_FIXPOINT_CUH */
