/*-------------------------------------------------------------------------
 *
 * recursive.cuh
 *	  A recursion plan (kernel/recursion.h) run on the device: what the parts of
 *	  the engine share.
 *
 * recursive.cu implements the engine table; fixpoint.cu takes rows in and gives them
 * out, between which fixpoint_rounds.cuh drives strata and rounds; relations.cu keeps
 * relations as HISAs; rules.cu runs one rule, with rule_columns.cu for what happens to
 * columns of codes; special.cu recognises recursions that closure.cu and
 * same_generation.cu evaluate without a HISA.
 *
 * All values of a run are mapped to dense codes (codes.cuh), and a tuple is one key
 * of as many bits as the widest relation of the plan needs (key.cuh).  Where there
 * are NULLs, code 0 is NULL: equal to itself in a set, matching nothing in a rule.
 * Expressions that only the host can compute, and sums of floats, whose result
 * depends on the order of the rows, are GPUCOL_UNSUPPORTED before anything runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RECURSIVE_CUH
#define GPUCOL_CUDA_RECURSIVE_CUH

#include <memory>
#include <vector>

#include "cuda/base/cancel.cuh"
#include "cuda/recursion/codes.cuh"
#include "recursion/engine.h"

/* What the parts share that does not depend on the type of the keys. */
struct GpucolDeviceRun
{
	const GpucolRecPlan *plan;
	GpucolRecOptions options;
	GpucolDeviceMemory memory;
	GpucolCodes codes;
	bool		counts_matter;	/* duplicates of inputs change a result */
	bool		clusters = false;	/* the device runs blocks in clusters */
	GpucolRecProgress progress = {};
	GpucolCancel cancel;

	/* Raise GPUCOL_CANCELLED if the caller asked for it. */
	void check_cancel() const;

	/* Wait for the stream, raising GPUCOL_CANCELLED likewise. */
	void wait() const;

	/* Tell progress() about rounds, the last of which brought so many rows. */
	void note_rounds(uint64_t rounds, uint64_t delta);

	/* ... and about memory. */
	void note_memory();
};

/* Can the device run this plan at all? */
extern bool gpucol_rules_supported(const GpucolRecPlan *plan);

/* Result of a recursion that needed no HISA; see special.cu. */
class GpucolSpecialStratum
{
public:
	virtual ~GpucolSpecialStratum() = default;
	/* Rows of the relation, and summaries of its columns (two of them). */
	virtual uint64_t summarise(GpucolRecSummary *columns) = 0;
	/* Some next rows, column 0 << bits | column 1; false at the end. */
	virtual bool next(GpucolArray<uint64_t> &pairs) = 0;
};

/* Gives all rows of a binary relation, sorted: column `from` << bits | the other. */
class GpucolPairSource
{
public:
	virtual ~GpucolPairSource() = default;
	virtual GpucolArray<uint64_t> pairs(uint32_t relation, int from) = 0;
};

/*
 * If the recursive rules of a stratum are of a form that needs no HISA, and no
 * later stratum reads its relation, take it over: the relation's rows are its
 * base.  Null if not.
 */
extern std::unique_ptr<GpucolSpecialStratum> gpucol_special_start(GpucolDeviceRun &run,
														GpucolPairSource &source,
														uint32_t stratum,
														uint32_t *relation);

#endif							/* GPUCOL_CUDA_RECURSIVE_CUH */
