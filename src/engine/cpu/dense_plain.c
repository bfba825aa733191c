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

/* Are the values of a chunk numbers in runs? */
static bool
has_runs(const GpucolChunkDesc *desc)
{
	return desc->coding == GPUCOL_CODING_RLE && !(desc->flags & GPUCOL_CHUNK_ALL_NULL) &&
		(desc->kind == GPUCOL_KIND_INT || desc->kind == GPUCOL_KIND_DECIMAL);
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
	return run->code.classes[acc->arg] != GPUCOL_CLASS_B && (is_offset(desc) || has_runs(desc)) &&
		(acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D ||
		 acc->op == GPUCOL_CPU_ACC_MIN_I || acc->op == GPUCOL_CPU_ACC_MAX_I ||
		 acc->op == GPUCOL_CPU_ACC_MIN_D || acc->op == GPUCOL_CPU_ACC_MAX_D);
}

/* Bits [from, to) of a bitmap that are set. */
static uint32_t
count_bits(const uint32_t *mask, uint32_t from, uint32_t to)
{
	uint32_t	count = 0;

	for (uint32_t w = from / 32; w <= (to - 1) / 32; w++)
	{
		uint32_t	bits = mask[w];

		bits &= w == from / 32 ? UINT32_MAX << from % 32 : UINT32_MAX;
		bits &= w == (to - 1) / 32 ? UINT32_MAX >> (31 - (to - 1) % 32) : UINT32_MAX;
		count += (uint32_t) __builtin_popcount(bits);
	}
	return count;
}

/* The same by runs, of which `mask` (NULL: all) has the rows that count. */
static void
update_runs(const GpucolCpuColumn *column, const GpucolCpuAcc *acc, const GpucolCpuVector *vector,
			const uint32_t *mask, uint64_t *words)
{
	uint32_t	row = vector->number * GPUCOL_VECTOR_VALUES;
	uint32_t	r = gpucol_cpu_column_run(column, row);
	__int128	sum = 0;
	int64_t		least = INT64_MAX;
	int64_t		greatest = INT64_MIN;

	for (uint32_t at = 0; at < vector->nrows && r < column->nruns; r++)
	{
		uint32_t	stop = column->run_ends[r] - row < vector->nrows ? column->run_ends[r] - row : vector->nrows;
		int64_t		value = column->run_values[r];
		uint32_t	count = mask == NULL ? stop - at : count_bits(mask, at, stop);

		sum += (__int128) value * count;
		least = count > 0 && value < least ? value : least;
		greatest = count > 0 && value > greatest ? value : greatest;
		at = stop;
	}
	if (acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D)
		gpucol_cpu_put128(words, gpucol_cpu_get128(words) + sum);
	else
		gpucol_cpu_dense_put_extreme(acc, words, least, greatest);
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
	if (desc->coding == GPUCOL_CODING_RLE)
	{
		update_runs(column, acc, vector, count == vector->nrows ? NULL : mask, words);
		return;
	}
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
