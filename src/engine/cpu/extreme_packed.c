/*-------------------------------------------------------------------------
 *
 * extreme_packed.c
 *	  Least and greatest packed decimals of groups: MIN and MAX of numerics whose scales
 *	  differ.
 *
 * The result is a value as it is displayed, 1.5 or 1.50, and of equal ones PostgreSQL has the
 * last that it comes to.  So a state is three words: the value, and 1 more than the number of
 * its vector within the scan, 0 being none.  Threads take vectors in any order, and one takes
 * the rows of a vector in theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "kernel/packed_decimal.h"

#define WORD_PLACE	2			/* behind the value */

/* Make a value from some place the state's if it goes beyond the one it has, or is as good and comes later. */
static inline void
consider(uint64_t *words, bool max, __int128 value, uint64_t place)
{
	if (words[WORD_PLACE] != 0)
	{
		int			order = gpucol_packed_order(value, gpucol_cpu_get128(words));

		if (order == 0 ? place < words[WORD_PLACE] : (order > 0) != max)
			return;
	}
	gpucol_cpu_put128(words, value);
	words[WORD_PLACE] = place;
}

void
gpucol_cpu_packed_extreme_update(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
								 const uint8_t *valid, uint64_t ordinal)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	uint64_t   *states = groups->states + acc->offset;
	size_t		stride = worker->run->agg.group_words;
	bool		max = acc->op == GPUCOL_CPU_ACC_MAX_P;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		__int128	value;

		if (valid != NULL && !valid[j])
			continue;
		value = reg->alike ? (__int128) ((GpucolMagnitude) reg->n[j] << 8 | (GpucolMagnitude) reg->shown) : reg->v.d[j];
		consider(states + worker->ids[j] * stride, max, value, ordinal + 1);
	}
}

void
gpucol_cpu_packed_extreme_merge(const GpucolCpuAcc *acc, uint64_t *to, const uint64_t *from)
{
	if (from[WORD_PLACE] != 0)
		consider(to, acc->op == GPUCOL_CPU_ACC_MAX_P, gpucol_cpu_get128(from), from[WORD_PLACE]);
}
