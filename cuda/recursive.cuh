/*-------------------------------------------------------------------------
 *
 * recursive.cuh
 *	  A recursion plan (kernel/recursion.h) run on the device: what the parts of
 *	  the engine share.
 *
 * recursive.cu drives strata and rounds and implements the engine table;
 * rules.cu runs one rule over HISA relations; shapes.cu recognises recursions
 * that closure.cu and sandwich.cu evaluate without a HISA.
 *
 * All values of a run are mapped to dense codes in value order, so codes compare as the
 * integers do, and a tuple of up to 64 / bits columns is one key.  Where there are
 * NULLs, code 0 is NULL: equal to itself in a set, matching nothing in a rule.
 * What does not fit that (arithmetic, aggregates, bags, wide tuples) is
 * GPUCOL_UNSUPPORTED before anything runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RECURSIVE_CUH
#define GPUCOL_CUDA_RECURSIVE_CUH

#include <map>
#include <string>
#include <vector>

#include "cancel.cuh"
#include "engine/recursive.h"
#include "hisa.cuh"
#include "relation.cuh"

/* Rows of a relation in one column order. */
struct GpucolIndex
{
	GpucolKeyOrder order;
	GpucolRuns	previous;		/* all but the delta */
	std::shared_ptr<GpucolRun> delta;	/* built when asked for */
};

/* A relation of the plan on the device. */
struct GpucolDeviceRelation
{
	std::vector<GpucolIndex> indexes;	/* [0] in the declared column order */
	std::shared_ptr<GpucolRun> delta;	/* sorted, in the declared order */
	std::vector<GpucolKeys> fresh;	/* emitted in this round, unsorted */
	size_t		nfresh = 0;
};

/* Result of a recursion that needed no HISA; see shapes.cu. */
class GpucolShape
{
public:
	virtual ~GpucolShape() = default;
	/* Rows of the relation, and summaries of its columns (two of them). */
	virtual uint64_t summarise(GpucolRecSummary *columns) = 0;
	/* Some next rows as keys (column 0 high); false at the end. */
	virtual bool next(GpucolKeys &keys) = 0;
};

/* State of one run. */
struct GpucolDeviceRun
{
	const GpucolRecPlan *plan;
	GpucolRecOptions options;
	GpucolDeviceMemory memory;
	std::vector<std::vector<std::vector<int64_t>>> loaded; /* relation, column */
	std::vector<std::vector<std::vector<uint8_t>>> loaded_nulls;	/* likewise */
	bool		has_null = false;
	std::vector<int64_t> values;	/* by code: ascending, NULL before them */
	std::vector<uint32_t> direct;	/* code of value less the least one, where
									 * values lie close together; else empty */
	GpucolArray<int64_t> device_values;
	int			bits = 1;
	std::vector<GpucolDeviceRelation> relations;
	std::vector<std::unique_ptr<GpucolShape>> shapes;	/* by relation, or null */
	GpucolRecProgress progress = {};
	GpucolCancel cancel;
	bool		ran = false;
	GpucolStatus status = GPUCOL_OK;	/* of the run, once it ended */

	/* The code of NULL, or one that no value has. */
	uint32_t null_code() const { return has_null ? 0 : UINT32_MAX; }
	uint32_t code(int64_t value) const;
	GpucolKeyOrder declared(uint32_t relation) const;

	/* Raise GPUCOL_CANCELLED if the caller asked for it. */
	void check_cancel() const;

	/* Wait for the stream, raising GPUCOL_CANCELLED likewise. */
	void wait() const;

	/* Tell progress() about a round. */
	void note_round(uint64_t delta);

	/* The runs that an atom of this version sees, in the given order. */
	GpucolRuns runs(uint32_t relation, const GpucolKeyOrder &order,
					GpucolRecVersion version);

	/* Sort and deduplicate what was emitted; keeps `fresh` small. */
	void settle_fresh(uint32_t relation);
};

/* Can the device run this plan at all? */
extern bool gpucol_rules_supported(const GpucolRecPlan *plan);

/* Run one rule; its rows go to the fresh keys of the relation it emits to. */
extern void gpucol_rules_run(GpucolDeviceRun &run, uint32_t rule);

/*
 * If the recursive rules of a stratum have a shape that needs no HISA, and no
 * later stratum reads its relation, take it over: the relation's delta is its
 * base.  Null if not.
 */
extern std::unique_ptr<GpucolShape> gpucol_shapes_start(GpucolDeviceRun &run,
														uint32_t stratum,
														uint32_t *relation);

/* Summarise keys: adds to columns[0 .. arity - 1]. */
extern void gpucol_rules_summarise(GpucolDeviceRun &run, const GpucolKeys &keys,
								   const GpucolKeyOrder &order,
								   GpucolRecSummary *columns);

#endif							/* GPUCOL_CUDA_RECURSIVE_CUH */
