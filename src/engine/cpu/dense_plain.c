/*-------------------------------------------------------------------------
 *
 * dense_plain.c
 *	  States of a column under no key, advanced on packed codes.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/dense.h"
#include "kernel/bitpack.h"

/* Lower or raise a minimum or maximum. */
void
gpucol_cpu_dense_put_extreme(const GpucolCpuAcc *acc, uint64_t *words, int64_t least, int64_t greatest)
{
	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_MIN_I:
			if (least < (int64_t) *words)
				*words = (uint64_t) least;
			break;
		case GPUCOL_CPU_ACC_MAX_I:
			if (greatest > (int64_t) *words)
				*words = (uint64_t) greatest;
			break;
		case GPUCOL_CPU_ACC_MIN_D:
			if (least < gpucol_cpu_get128(words))
				gpucol_cpu_put128(words, least);
			break;
		default:
			if (greatest > gpucol_cpu_get128(words))
				gpucol_cpu_put128(words, greatest);
	}
}

/* Can a state of an ungrouped aggregation be advanced from packed codes? */
bool
gpucol_cpu_dense_plan_plain(const GpucolRun *run, const GpucolCpuAcc *acc)
{
	const GpucolChunkDesc *desc;
	int			c;

	if (acc->filter != GPUCOL_NO_REG)
		return false;
	if (acc->arg == GPUCOL_NO_REG)
		return true;
	c = column_of(run, acc->arg);
	if (c < 0)
		return false;
	desc = run->input.cols[c].desc;
	if (acc->op == GPUCOL_CPU_ACC_COUNT)
		return true;
	return run->code.classes[acc->arg] != GPUCOL_CLASS_B && is_offset(desc) &&
		(acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D ||
		 acc->op == GPUCOL_CPU_ACC_MIN_I || acc->op == GPUCOL_CPU_ACC_MAX_I ||
		 acc->op == GPUCOL_CPU_ACC_MIN_D || acc->op == GPUCOL_CPU_ACC_MAX_D);
}

/* Advance one state of the only group from packed codes. */
void
gpucol_cpu_dense_update_plain(GpucolCpuWorker *worker, const GpucolCpuAcc *acc,
				 const GpucolCpuVector *vector, uint64_t *words)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuColumn *column;
	const GpucolChunkDesc *desc;
	const uint32_t *mask = worker->mask;
	uint32_t	without_nulls[GPUCOL_LANES];
	uint32_t	count;
	const void *packed;
	uint64_t	least;
	uint64_t	greatest;

	if (acc->arg == GPUCOL_NO_REG)
	{
		*words += worker->live;
		return;
	}
	column = &run->input.cols[column_of(run, acc->arg)];
	desc = column->desc;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return;
	count = worker->live;
	if (has_nulls(desc))
	{
		const uint32_t *nulls = gpucol_cpu_column_nulls(column, vector->number);

		for (int w = 0; w < GPUCOL_LANES; w++)
			without_nulls[w] = mask[w] & ~nulls[w];
		mask = without_nulls;
		count = gpucol_cpu_range_count(mask);
	}
	if (acc->op == GPUCOL_CPU_ACC_COUNT)
	{
		*words += count;
		return;
	}
	if (count == 0)
		return;
	packed = gpucol_cpu_column_packed(worker, column, vector->number);
	if (acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D)
	{
		__int128	sum = (__int128) gpucol_bitpack_sum(desc->width, packed,
														count == GPUCOL_VECTOR_VALUES ?
														NULL : mask);

		gpucol_cpu_put128(words, gpucol_cpu_get128(words) + sum * (__int128) step_of(desc) +
			   (__int128) desc->reference * count);
		return;
	}
	gpucol_bitpack_minmax(desc->width, packed,
						  count == GPUCOL_VECTOR_VALUES ? NULL : mask, &least, &greatest);
	gpucol_cpu_dense_put_extreme(acc, words, (int64_t) ((uint64_t) desc->reference + least * step_of(desc)),
				(int64_t) ((uint64_t) desc->reference + greatest * step_of(desc)));
}
