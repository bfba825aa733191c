/*-------------------------------------------------------------------------
 *
 * accumulators.cuh
 *	  Aggregates as accumulators (GpucolAcc in cuda/scan/interp_plan.h), and back.
 *
 * Each aggregate becomes one to three accumulators, shared where equal: how many
 * values, their sum, their squares' sum.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_ACCUMULATORS_CUH
#define GPUCOL_CUDA_ACCUMULATORS_CUH

#include <vector>

#include "cuda/query/partial.cuh"
#include "cuda/scan/interp_plan.h"

class Accumulators
{
public:
	/* Find or make those of the next aggregate; throws Failure where the device does not know it. */
	void		add(const GpucolAgg &agg);

	/* The state of an aggregate from a group's record; *sum is set where it is a sum of floats. */
	void		put_state(size_t aggregate, const unsigned long long *record, GpucolAggState *state,
						  FloatSum *sum) const;

	std::vector<GpucolAcc> accs;
	int			nwords = 0;		/* of all of them */
	bool		floats = false; /* some sum is one of floats */
	bool		distinct = false;	/* some values are counted once each */

private:
	/* Numbers of an aggregate's accumulators, or -1. */
	struct Map
	{
		int			cls;		/* of its argument */
		int			count,
					v,
					w;
	};

	int			find(GpucolAccOp op, const GpucolAgg &agg);
	void		find_sum(const GpucolAgg &agg, Map *m);

	std::vector<Map> maps_;		/* by aggregate */
};

#endif
