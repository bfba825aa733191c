/*-------------------------------------------------------------------------
 *
 * dense_flush.c
 *	  Channels of slots, emptied into the states of groups.
 *
 * Where there are many slots, the threads' channels are added up first, and each thread empties
 * a share of the slots: every group is looked for once, and hardly any is in several tables.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/dense.h"
#include "kernel/bitpack.h"

#define BATCH	(GPUCOL_VECTOR_VALUES / 2)	/* slots that are emptied together */
#define MANY_SLOTS 4096			/* so many are worth a share for each thread */

/* One key's words of n slots, and its NULLs' bits. */
static GpucolStatus
slot_words(const GpucolCpuWorker *worker, const GpucolDenseKey *key, uint64_t null_bit, const uint32_t *slots,
		   uint32_t n, uint64_t *nulls, uint64_t *words)
{
	uint32_t	indexes[GPUCOL_VECTOR_VALUES];
	uint8_t		isnull[GPUCOL_VECTOR_VALUES];

	for (uint32_t j = 0; j < n; j++)
	{
		indexes[j] = slots[j] / key->stride % key->card;
		isnull[j] = key->nullable && indexes[j] == key->card - 1;
		nulls[j] |= isnull[j] ? null_bit : 0;
	}
	if (key->cls == GPUCOL_CLASS_S)
		return gpucol_cpu_strings_codes(worker->run, key->column, worker->nsel, indexes, isnull, n, words);
	for (uint32_t j = 0; j < n; j++)
	{
		int64_t		value = isnull[j] ? 0 : key->coded ? key->column->dict[indexes[j]] :
			(int64_t) ((uint64_t) key->base + indexes[j] * key->step);

		if (key->cls == GPUCOL_CLASS_B)
			value = value != 0;
		words[j] = (uint64_t) value;
		if (key->cls == GPUCOL_CLASS_D)
			words[GPUCOL_VECTOR_VALUES + j] = (uint64_t) (value >> 63);
	}
	return GPUCOL_OK;
}

/* Key words of n slots, as rows of the worker's key columns. */
static GpucolStatus
slot_keys(GpucolCpuWorker *worker, const uint32_t *slots, uint32_t n)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;
	uint64_t   *words = worker->keys + GPUCOL_VECTOR_VALUES;
	GpucolStatus status = GPUCOL_OK;

	memset(worker->keys, 0, sizeof(uint64_t) * n);
	for (int k = 0; k < plan->nkeys && status == GPUCOL_OK; k++)
	{
		status = slot_words(worker, &plan->keys[k], UINT64_C(1) << k, slots, n, worker->keys, words);
		words += GPUCOL_VECTOR_VALUES * (plan->keys[k].cls == GPUCOL_CLASS_D ? 2 : 1);
	}
	return status;
}

/* Find the groups of n <= 1,024 distinct slots that have none yet. */
GpucolStatus
gpucol_cpu_dense_resolve(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			  uint32_t n)
{
	uint32_t	ids[GPUCOL_VECTOR_VALUES];
	GpucolStatus status = slot_keys(worker, slots, n);

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
flush_slots(GpucolCpuWorker *worker, GpucolCpuGroups *groups, uint64_t *channels,
			const uint32_t *slots, uint32_t n)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuDense *plan = run->agg.dense;
	uint64_t   *folded[BATCH];
	uint32_t	missing[BATCH];
	uint32_t	nmissing = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		folded[j] = fold_copies(plan, channels, slots[j]);
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

/* The first slot from this one on, below the end, that has rows; the end if there is none. */
static uint32_t
next_taken(const GpucolCpuDense *plan, const uint64_t *channels, uint32_t slot, uint32_t end)
{
	size_t		step = plan->copies * (size_t) plan->nchannels;

	for (; slot < end; slot++)
	{
		const uint64_t *words = channels + slot * step + (size_t) plan->rows_channel;
		uint64_t	any = 0;

		/* a word a slot: eight at a time */
		while (step == 1 && end - slot > 8 &&
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

/* Move the channels of slots [from, end) into groups, which may be another table's. */
static GpucolStatus
flush_range(GpucolCpuWorker *worker, GpucolCpuGroups *groups, uint64_t *channels, uint32_t from, uint32_t end)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;
	uint32_t	slots[BATCH];
	uint32_t	n = 0;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t slot = next_taken(plan, channels, from, end); slot < end && status == GPUCOL_OK;
		 slot = next_taken(plan, channels, slot + 1, end))
	{
		slots[n++] = slot;
		if (n == BATCH)
		{
			status = flush_slots(worker, groups, channels, slots, n);
			n = 0;
		}
	}
	return status == GPUCOL_OK && n > 0 ? flush_slots(worker, groups, channels, slots, n) : status;
}

/* Flush one partition. */
GpucolStatus
gpucol_cpu_dense_flush(GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	GpucolStatus status;

	if (groups->slot_rows == 0)
		return GPUCOL_OK;
	groups->slot_rows = 0;
	status = gpucol_cpu_dense_fit(worker->run, groups);	/* the groups may have been drained */
	return status == GPUCOL_OK ?
		flush_range(worker, groups, groups->channels, 0, worker->run->agg.dense->nslots) : status;
}

/* The first table whose slots have rows. */
static int
first_table(const GpucolRun *run)
{
	int			p = 0;

	while (run->agg.parts[p]->slot_rows == 0)
		p++;
	return p;
}

/* Thread `index` adds its share of all tables' slots up, in the first of them, and moves it into its groups. */
static void
flush_slot_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	const GpucolCpuDense *plan = run->agg.dense;
	GpucolCpuWorker *worker = &run->workers[index];
	size_t		nchannels = (size_t) plan->nchannels;
	size_t		step = plan->copies * nchannels;
	uint32_t	share = plan->nslots / (uint32_t) run->nworkers + 1;
	uint32_t	from = share * (uint32_t) index < plan->nslots ? share * (uint32_t) index : plan->nslots;
	uint32_t	end = plan->nslots - from < share ? plan->nslots : from + share;
	int			first = first_table(run);
	uint64_t   *sums = run->agg.parts[first]->channels;

	for (int p = first + 1; p < run->agg.nparts; p++)
	{
		uint64_t   *channels = run->agg.parts[p]->channels;

		if (run->agg.parts[p]->slot_rows == 0)
			continue;
		for (size_t at = from * step; at < end * step; at += nchannels)
			for (size_t ch = 0; ch < nchannels; ch++)
			{
				uint64_t	word = channels[at + ch];

				if (plan->shift[ch] >= 0)
					sums[at + ch] += word;
				else if (word > sums[at + ch])
					sums[at + ch] = word;
				channels[at + ch] = 0;
			}
	}
	worker->status = gpucol_cpu_dense_fit_groups(run, run->agg.parts[index]);
	if (worker->status == GPUCOL_OK)
		worker->status = flush_range(worker, run->agg.parts[index], sums, from, end);
}

/* Are there many slots, all of whose states are in channels, which can hold the rows of all tables? */
static bool
shares_pay(const GpucolRun *run)
{
	uint64_t	rows = 0;

	for (int a = 0; a < run->agg.naccs; a++)
		if (!run->agg.dense->acc[a])
			return false;
	for (int p = 0; p < run->agg.nparts; p++)
		rows += run->agg.parts[p]->slot_rows;
	return run->nworkers > 1 && run->agg.nparts == run->nworkers && run->window.partitions == 0 &&
		run->agg.dense->nslots >= MANY_SLOTS && rows > 0 && rows <= run->agg.dense->flush_rows;
}

bool
gpucol_cpu_dense_flush_slots(GpucolRun *run)
{
	if (!shares_pay(run))
		return false;
	gpucol_pool_run(run->nworkers, flush_slot_share, run);
	for (int p = 0; p < run->agg.nparts; p++)
		run->agg.parts[p]->slot_rows = 0;
	return true;
}
