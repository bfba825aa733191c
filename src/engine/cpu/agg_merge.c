/*-------------------------------------------------------------------------
 *
 * agg_merge.c
 *	  Aggregation: states of one group merged into another's, tables into the first.
 *
 * Where there are many groups, all threads merge (engine/cpu/merge.c).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/final.h"

GpucolStatus
gpucol_cpu_acc_merge(const GpucolCpuAcc *acc, uint64_t *a, const uint64_t *b)
{
	GpucolStatus status = GPUCOL_OK;
	__int128	sum;

	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_COUNT:
			*a += *b;
			break;
		case GPUCOL_CPU_ACC_SUM_I:
		case GPUCOL_CPU_ACC_SUM_D:
		case GPUCOL_CPU_ACC_SUMSQ_I:
		case GPUCOL_CPU_ACC_SUMSQ_D:
			if (__builtin_add_overflow(gpucol_cpu_get128(a), gpucol_cpu_get128(b), &sum))
				status = GPUCOL_UNSUPPORTED;
			gpucol_cpu_put128(a, sum);
			break;
		case GPUCOL_CPU_ACC_SUM_F:
			gpucol_cpu_float_merge((GpucolCpuFloatSum *) a, (const GpucolCpuFloatSum *) b);
			break;
		case GPUCOL_CPU_ACC_SUMSQ_F:
			status = gpucol_cpu_squares_merge((GpucolCpuFloatSquares *) a,
											  (const GpucolCpuFloatSquares *) b);
			break;
		case GPUCOL_CPU_ACC_PRODUCTS:
			status = gpucol_cpu_products_merge((GpucolCpuFloatProducts *) a,
											   (const GpucolCpuFloatProducts *) b);
			break;
		case GPUCOL_CPU_ACC_MIN_I:
		case GPUCOL_CPU_ACC_MIN_F:
			if ((int64_t) *b < (int64_t) *a)
				*a = *b;
			break;
		case GPUCOL_CPU_ACC_MAX_I:
		case GPUCOL_CPU_ACC_MAX_F:
			if ((int64_t) *b > (int64_t) *a)
				*a = *b;
			break;
		case GPUCOL_CPU_ACC_MIN_D:
			if (gpucol_cpu_get128(b) < gpucol_cpu_get128(a))
				gpucol_cpu_put128(a, gpucol_cpu_get128(b));
			break;
		case GPUCOL_CPU_ACC_MAX_D:
			if (gpucol_cpu_get128(b) > gpucol_cpu_get128(a))
				gpucol_cpu_put128(a, gpucol_cpu_get128(b));
			break;
		case GPUCOL_CPU_ACC_AND:
			*a &= *b;
			break;
		case GPUCOL_CPU_ACC_OR:
			*a |= *b;
			break;
		case GPUCOL_CPU_ACC_XOR:
			*a ^= *b;
			break;
		case GPUCOL_CPU_ACC_MIN_P:
		case GPUCOL_CPU_ACC_MAX_P:
			gpucol_cpu_packed_extreme_merge(acc, a, b);
			break;
		case GPUCOL_CPU_ACC_MIN_S:
		case GPUCOL_CPU_ACC_MAX_S:
			break;			/* gpucol_cpu_extreme_merge's */
		case GPUCOL_CPU_ACC_DISTINCT:
			break;			/* counted anew as the sets are merged */
	}
	return status;
}

/* Merge the states of one group into another's. */
GpucolStatus
gpucol_cpu_agg_merge(const GpucolRun *run, uint64_t *to, const uint64_t *from)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < run->agg.naccs && status == GPUCOL_OK; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];

		status = gpucol_cpu_acc_merge(acc, to + acc->offset, from + acc->offset);
	}
	return status;
}

/* Merge one set of numbers of strings in the only group. */
static GpucolStatus
merge_numbers(const GpucolCpuMerge *merge, const GpucolCpuAcc *acc)
{
	const GpucolCpuSet *from = &merge->from->sets[acc->distinct];

	for (uint64_t w = 0; w < from->nbits / 64; w++)
		for (uint64_t bits = from->bits[w]; bits != 0; bits &= bits - 1)
		{
			bool		added;

			if (gpucol_cpu_group_add_number(merge->to, &merge->to->sets[acc->distinct],
											w * 64 + (uint64_t) __builtin_ctzll(bits), &added) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
			merge->to->states[acc->offset] += added;
		}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_merge_set(const GpucolCpuMerge *merge, const GpucolCpuAcc *acc, const uint32_t *slots, uint64_t nslots)
{
	const GpucolCpuSet *set = &merge->from->sets[acc->distinct];
	uint32_t	groups[GPUCOL_VECTOR_VALUES];
	uint64_t	values[GPUCOL_VECTOR_VALUES];
	uint32_t	n = 0;

	for (uint64_t i = 0; i < nslots; i++)
	{
		const uint64_t *slot = &set->slots[2 * (slots == NULL ? i : slots[i])];

		if (slot[0] == 0)
			continue;
		groups[n] = merge->ids[slot[0] - 1];
		values[n] = slot[1];
		if (++n < GPUCOL_VECTOR_VALUES)
			continue;
		if (gpucol_cpu_group_add_pairs(merge->to, acc->distinct, groups, values, n, acc->offset) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		n = 0;
	}
	return gpucol_cpu_group_add_pairs(merge->to, acc->distinct, groups, values, n, acc->offset);
}

GpucolStatus
gpucol_cpu_merge_some(const GpucolCpuMerge *merge, GpucolCpuWorker *worker, const uint32_t *groups, uint32_t n)
{
	const GpucolRun *run = merge->run;
	size_t		words = run->agg.group_words;
	GpucolStatus status;

	for (uint32_t j = 0; j < n; j++)
		for (size_t w = 0; w < words; w += GPUCOL_CPU_LINE_WORDS)
			GPUCOL_PREFETCH(merge->from->keys + groups[j] * words + w);
	for (uint32_t j = 0; j < n; j++)
	{
		const uint64_t *key = merge->from->keys + groups[j] * words;

		for (uint32_t k = 0; k < run->agg.key_words; k++)
			worker->keys[k * GPUCOL_VECTOR_VALUES + j] = key[k];
	}
	status = gpucol_cpu_group_lookup(merge->to, worker->keys, GPUCOL_VECTOR_VALUES, n,
									 worker->hashes, worker->ids);
	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
	{
		uint64_t   *to = merge->to->states + worker->ids[j] * words;
		const uint64_t *from = merge->from->states + groups[j] * words;

		status = gpucol_cpu_agg_merge(run, to, from);
		if (status == GPUCOL_OK && run->agg.nextremes > 0)
			status = gpucol_cpu_extreme_merge(run, merge->to, to, from);
		if (merge->ids != NULL)
			merge->ids[groups[j]] = worker->ids[j];
	}
	return status;
}

/* Merge one table into another. */
static GpucolStatus
merge_groups(GpucolRun *run, GpucolCpuGroups *to, GpucolCpuGroups *from)
{
	GpucolCpuMerge merge = {run, to, from, NULL};
	GpucolStatus status = GPUCOL_OK;

	if (run->agg.ndistinct > 0)
		merge.ids = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) from->n + 1));
	if (run->agg.ndistinct > 0 && merge.ids == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	for (uint32_t g = 0; g < from->n && status == GPUCOL_OK;)
	{
		uint32_t	groups[GPUCOL_VECTOR_VALUES];
		uint32_t	n = 0;

		while (n < GPUCOL_VECTOR_VALUES && g < from->n)
			groups[n++] = g++;
		status = gpucol_cpu_merge_some(&merge, &run->workers[0], groups, n);
	}
	for (int i = 0; i < run->agg.naccs && status == GPUCOL_OK; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];

		if (acc->op != GPUCOL_CPU_ACC_DISTINCT)
			continue;
		status = from->sets[acc->distinct].bits != NULL ? merge_numbers(&merge, acc) :
			gpucol_cpu_merge_set(&merge, acc, NULL, from->sets[acc->distinct].nslots);
	}
	gpucol_cpu_free(run, merge.ids);
	return status;
}

void
gpucol_cpu_agg_note(GpucolRun *run)
{
	GpucolReduction *reduction = &run->stats.reduction;
	uint64_t	bytes = gpucol_cpu_strings_bytes(run);

	reduction->copies = run->agg.nparts;
	reduction->grouped = run->program->nkeys > 0;
	reduction->by_hash |= run->stats.delta_rows > 0;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		reduction->found += run->agg.parts[p]->n;
		bytes += gpucol_cpu_group_bytes(run->agg.parts[p]);
	}
	for (int p = 0; p < run->agg.nkeyed; p++)
		bytes += gpucol_cpu_group_bytes(run->agg.keyed[p]);
	if (bytes > reduction->bytes)
		reduction->bytes = bytes;
}

/* Merge all partitions, in order, into the first. */
static GpucolStatus
merge_into_first(GpucolRun *run)
{
	for (int p = 1; p < run->agg.nparts; p++)
	{
		GpucolStatus status = merge_groups(run, run->agg.parts[0], run->agg.parts[p]);

		if (status != GPUCOL_OK)
			return status;
		gpucol_cpu_group_destroy(run->agg.parts[p]);
		run->agg.parts[p] = NULL;
	}
	run->agg.nparts = 1;
	return GPUCOL_OK;
}

/* Count the values of the only group's sets, which are not merged. */
static void
count_values(GpucolRun *run)
{
	for (int i = 0; i < run->agg.naccs; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];
		uint64_t	n;

		if (acc->op != GPUCOL_CPU_ACC_DISTINCT || run->code.classes[acc->arg] == GPUCOL_CLASS_S)
			continue;
		gpucol_cpu_group_count_values(run, acc->distinct, &n);
		run->agg.parts[0]->states[acc->offset] = n;
	}
}

/* Merge all partitions; many groups are merged by all threads. */
GpucolStatus
gpucol_cpu_agg_merge_parts(GpucolRun *run)
{
	GpucolReduction *reduction = &run->stats.reduction;
	GpucolStatus status;

	if (run->agg.keyed != NULL)
		status = gpucol_cpu_drain_end(run);
	else
	{
		gpucol_cpu_agg_note(run);
		if (run->program->nkeys == 0 && run->agg.nparts > 1)
			count_values(run);
		reduction->by_all = gpucol_cpu_merge_pays(run);
		status = reduction->by_all ? gpucol_cpu_merge_all(run) : merge_into_first(run);
		if (status == GPUCOL_OK)
			status = gpucol_cpu_agg_fold(run);
	}
	gpucol_cpu_final_note(run);
	for (int p = 0; p < run->agg.nparts && status == GPUCOL_OK; p++)
		reduction->groups += run->agg.parts[p]->n;
	if (status == GPUCOL_OK)
		status = gpucol_cpu_final_deliver(run);
	run->agg.merged = status == GPUCOL_OK;
	return status;
}
