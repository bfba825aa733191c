/*-------------------------------------------------------------------------
 *
 * dense_flush.c
 *	  Channels of slots, emptied into the states of groups.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/dense.h"
#include "kernel/bitpack.h"

#define BATCH	(GPUCOL_VECTOR_VALUES / 2)	/* slots that are emptied together */

/* Key words of slot `slot` as row j of the worker's key columns. */
static GpucolStatus
slot_key(const GpucolRun *run, GpucolCpuWorker *worker, GpucolCpuGroups *groups,
		 uint32_t slot, uint32_t j)
{
	const GpucolCpuDense *plan = run->agg.dense;
	uint64_t   *words = worker->keys + GPUCOL_VECTOR_VALUES + j;

	worker->keys[j] = 0;
	for (int k = 0; k < plan->nkeys; k++)
	{
		const GpucolDenseKey *key = &plan->keys[k];
		uint32_t	index = slot / key->stride % key->card;
		int64_t		value = 0;

		if (key->nullable && index == key->card - 1)
			worker->keys[j] |= UINT64_C(1) << k;
		else if (key->cls == GPUCOL_CLASS_S)
		{
			uint32_t	number;
			GpucolStatus status = gpucol_cpu_group_code(groups, key->column, index, &number);

			if (status != GPUCOL_OK)
				return status;
			value = number;
		}
		else
		{
			value = key->coded ? key->column->dict[index] :
				(int64_t) ((uint64_t) key->base + index * key->step);
			if (key->cls == GPUCOL_CLASS_B)
				value = value != 0;
		}
		words[0] = (uint64_t) value;
		if (key->cls == GPUCOL_CLASS_D)
			words[GPUCOL_VECTOR_VALUES] = (uint64_t) (value >> 63);
		words += GPUCOL_VECTOR_VALUES * (key->cls == GPUCOL_CLASS_D ? 2 : 1);
	}
	return GPUCOL_OK;
}

/* Find the groups of n <= 1,024 distinct slots that have none yet. */
GpucolStatus
gpucol_cpu_dense_resolve(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			  uint32_t n)
{
	uint32_t	ids[GPUCOL_VECTOR_VALUES];
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
		status = slot_key(worker->run, worker, groups, slots[j], j);
	if (groups->n == 0)
		groups->only_layout = groups->layout;
	if (status == GPUCOL_OK && groups->only_layout == groups->layout && !worker->run->agg.dense->repeats)
		status = gpucol_cpu_group_append(groups, worker->keys, GPUCOL_VECTOR_VALUES, n, ids);
	else if (status == GPUCOL_OK)	/* slots ascend, as their keys do */
		status = gpucol_cpu_group_lookup(groups, worker->keys, GPUCOL_VECTOR_VALUES, n,
										 worker->hashes, ids);
	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
		groups->slot_groups[slots[j]] = ids[j] + 1;
	return status;
}

/*
 * Fold a slot's copies into its first and return that copy's words.
 */
static uint64_t *
fold_copies(const GpucolCpuDense *plan, uint64_t *channels, uint32_t slot)
{
	size_t		n = (size_t) plan->nchannels;
	uint64_t   *first = channels + (size_t) slot * plan->copies * n;

	for (uint32_t copy = 1; copy < plan->copies; copy++)
		for (size_t ch = 0; ch < n; ch++)
		{
			uint64_t	word = first[copy * n + ch];

			if (plan->shift[ch] >= 0)
				first[ch] += word;
			else if (word > first[ch])
				first[ch] = word;
		}
	return first;
}

/* Where a state finds its numbers in the channels. */
typedef struct Place
{
	int			count;			/* channel and shift of the rows that count */
	int			shift;
	int			value;			/* channel of the sum or extreme */
	uint64_t	mask;			/* bits of a sum */
	int64_t		reference;
	uint64_t	step;
} Place;

static void
find_place(const GpucolCpuDense *plan, const GpucolCpuAcc *acc, Place *place)
{
	const GpucolDenseArg *arg = plan->args;

	memset(place, 0, sizeof(*place));
	place->count = plan->rows_channel;
	if (acc->arg != GPUCOL_NO_REG)
	{
		while (arg->reg != acc->arg)
			arg++;
		if (arg->count >= 0)
			place->count = arg->count;
		place->reference = arg->reference;
		place->step = arg->step;
		place->value = acc->op == GPUCOL_CPU_ACC_MIN_I || acc->op == GPUCOL_CPU_ACC_MIN_D ?
			arg->least :
			acc->op == GPUCOL_CPU_ACC_MAX_I || acc->op == GPUCOL_CPU_ACC_MAX_D ?
			arg->greatest : arg->sum;
	}
	place->shift = plan->shift[place->count];
	place->mask = place->value < 0 || plan->shift[place->value] == 64 ? UINT64_MAX :
		(UINT64_C(1) << (plan->shift[place->value] & 63)) - 1;
}

/* Move one state's share of n folded slots into their groups. */
static GpucolStatus
flush_acc(const GpucolCpuAcc *acc, const Place *place, const GpucolCpuGroups *groups,
		  uint64_t *const *folded, const uint32_t *slots, uint32_t n)
{
	size_t		stride = groups->run->agg.group_words;
	uint64_t   *states = groups->states + acc->offset;

	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *words = states + (groups->slot_groups[slots[j]] - 1) * stride;
		uint64_t	count = folded[j][place->count] >> place->shift;
		uint64_t	value;

		if (acc->op == GPUCOL_CPU_ACC_COUNT)
		{
			*words += count;
			continue;
		}
		value = folded[j][place->value];
		if (acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D)
		{
			__int128	sum = (__int128) (value & place->mask) * (__int128) place->step +
				(__int128) place->reference * (int64_t) count;

			if (__builtin_add_overflow(gpucol_cpu_get128(words), sum, &sum))
				return GPUCOL_UNSUPPORTED;
			gpucol_cpu_put128(words, sum);
		}
		else if (value != 0)
			gpucol_cpu_dense_put_extreme(acc, words,
						(int64_t) ((uint64_t) place->reference + (GPUCOL_DENSE_LEAST_BIAS - value) * place->step),
						(int64_t) ((uint64_t) place->reference + (value - 1) * place->step));
	}
	return GPUCOL_OK;
}

/* Move the channels of n <= BATCH slots, all with rows, and clear them. */
static GpucolStatus
flush_slots(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			uint32_t n)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuDense *plan = run->agg.dense;
	uint64_t   *folded[BATCH];
	uint32_t	missing[BATCH];
	uint32_t	nmissing = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		folded[j] = fold_copies(plan, groups->channels, slots[j]);
		if (groups->slot_groups[slots[j]] == 0)
			missing[nmissing++] = slots[j];
	}
	if (nmissing > 0)
	{
		GpucolStatus status = gpucol_cpu_dense_resolve(worker, groups, missing, nmissing);

		if (status != GPUCOL_OK)
			return status;
	}
	for (int i = 0; i < run->agg.naccs; i++)
	{
		Place		place;
		GpucolStatus status;

		if (!plan->acc[i])
			continue;
		find_place(plan, &run->agg.accs[i], &place);
		status = flush_acc(&run->agg.accs[i], &place, groups, folded, slots, n);
		if (status != GPUCOL_OK)
			return status;
	}
	for (uint32_t j = 0; j < n; j++)
		for (size_t ch = 0; ch < plan->copies * (size_t) plan->nchannels; ch++)
			folded[j][ch] = 0;
	return GPUCOL_OK;
}

/* The first slot from this one on that has rows; nslots if there is none. */
static uint32_t
next_taken(const GpucolCpuDense *plan, const uint64_t *channels, uint32_t slot)
{
	size_t		step = plan->copies * (size_t) plan->nchannels;

	for (; slot < plan->nslots; slot++)
	{
		const uint64_t *words = channels + slot * step + (size_t) plan->rows_channel;
		uint64_t	any = 0;

		/* a word a slot: eight at a time */
		while (step == 1 && plan->nslots - slot > 8 &&
			   (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) == 0)
		{
			slot += 8;
			words += 8;
		}
		for (uint32_t copy = 0; copy < plan->copies; copy++)
			any |= words[copy * (size_t) plan->nchannels];
		if (any != 0)
			break;
	}
	return slot;
}

/* Flush one partition. */
GpucolStatus
gpucol_cpu_dense_flush(GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;
	uint32_t	slots[BATCH];
	uint32_t	n = 0;
	GpucolStatus status;

	if (groups->slot_rows == 0)
		return GPUCOL_OK;
	groups->slot_rows = 0;
	status = gpucol_cpu_dense_fit(worker->run, groups);	/* the groups may have been drained */
	for (uint32_t slot = next_taken(plan, groups->channels, 0); slot < plan->nslots && status == GPUCOL_OK;
		 slot = next_taken(plan, groups->channels, slot + 1))
	{
		slots[n++] = slot;
		if (n == BATCH)
		{
			status = flush_slots(worker, groups, slots, n);
			n = 0;
		}
	}
	return status == GPUCOL_OK && n > 0 ? flush_slots(worker, groups, slots, n) : status;
}
