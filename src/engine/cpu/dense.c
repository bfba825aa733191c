/*-------------------------------------------------------------------------
 *
 * dense.c
 *	  Aggregation on packed codes.
 *
 * Ungrouped.  Counts, sums and extremes of a column with a frame of reference
 * need no values: the kernels of kernel/bitpack.h give the sum, minimum and
 * maximum of the packed codes under the match bitmap, and
 *		sum = sum of codes * step + count * reference,
 * the step being 1 but for the STEP coding.
 *
 * Grouped.  Where every key is a column whose codes span a small range, the
 * combination of codes is the number of a *slot* in an array, and grouping is
 * addressing.  A slot holds channels of 64 bits that advance by one addition a
 * row: a sum of codes, with the number of rows in its upper bits where both
 * fit, so that count, sum and average together cost one load, one addition
 * and one store.  Channels are moved into the groups' exact states before they
 * can overflow and when the meaning of codes changes (flush); the group of a
 * slot is looked up once and remembered.
 *
 * Consecutive rows of one group would wait for each other's store: few slots
 * are kept in several copies, used in turn.  Where all rows of a vector have one
 * slot, their sum is added at once.
 *
 * Numbers that are computed go the same way where bounds are known (bounds.c).
 * States that channels cannot hold (floats, wide numbers) are advanced
 * by group number as elsewhere; the slot's remembered group replaces hashing.
 *
 * A key that is computed, an integer, decimal or boolean within known bounds, is its
 * own code.  Behind probes all keys and arguments are taken by value: strings as codes of
 * the segment's dictionary or of the built table.
 *
 * Keys of one segment map to slots by a layout that stays as long as the next segment's
 * values fit it.  Dictionary codes have meaning in their segment only, so a layout with
 * them ends with it.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "engine/cpu/dense.h"
#include "kernel/bitpack.h"

/* Of fewer rows it is not asked whether they have one slot. */
#define FEW_ROWS	16

/* ---- plan of a grouped segment ---- */

/* Do two plans give slots and channels the same meaning? */
static bool
same_meaning(const GpucolCpuDense *a, const GpucolCpuDense *b)
{
	if (a->nargs != b->nargs || a->nchannels != b->nchannels ||
		a->rows_channel != b->rows_channel)
		return false;
	for (int i = 0; i < a->nargs; i++)
		if (a->args[i].reg != b->args[i].reg ||
			a->args[i].reference != b->args[i].reference ||
			a->args[i].step != b->args[i].step ||
			a->args[i].sum != b->args[i].sum || a->args[i].count != b->args[i].count ||
			a->args[i].least != b->args[i].least ||
			a->args[i].greatest != b->args[i].greatest)
			return false;
	return memcmp(a->shift, b->shift, sizeof(a->shift)) == 0;
}

/* Mark the registers that nothing reads in this segment. */
static void
plan_unread(GpucolRun *run, const GpucolCpuDense *plan)
{
	const GpucolProgram *program = run->program;

	for (int r = 0; r < program->nregs; r++)
		run->digest.unread[r] = false;
	for (int i = 0; i < program->ninstrs; i++)
		if (run->code.instrs[i].op <= GPUCOL_OP_LOAD_S)
			run->digest.unread[run->code.instrs[i].dst] = true;
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		const uint16_t reads[] = {instr->a, instr->b, instr->c, instr->mask};

		if (instr->op <= GPUCOL_OP_CONST_B)
			continue;
		for (int o = 0; o < 4; o++)
			if (reads[o] < program->nregs)
				run->digest.unread[reads[o]] = false;
	}
	if (program->filter != GPUCOL_NO_REG)
		run->digest.unread[program->filter] = false;
	for (int a = 0; a < run->agg.naccs; a++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[a];

		if (acc->filter != GPUCOL_NO_REG)
			run->digest.unread[acc->filter] = false;
		if (acc->arg != GPUCOL_NO_REG && !plan->acc[a])
			run->digest.unread[acc->arg] = false;
		if (acc->op == GPUCOL_CPU_ACC_PRODUCTS)
			run->digest.unread[acc->order] = false;
	}
}

/* ---- flush ---- */

/* One worker's share of a flush of all partitions. */
static void
flush_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	GpucolCpuWorker *worker = &run->workers[index];

	for (int p = index; p < run->agg.nparts && worker->status == GPUCOL_OK; p += run->nworkers)
		worker->status = gpucol_cpu_dense_flush(worker, run->agg.parts[p]);
}

/* Flush all partitions, each thread some. */
static GpucolStatus
flush_all(GpucolRun *run)
{
	if (run->agg.dense == NULL || !run->agg.dense->grouped)
		return GPUCOL_OK;
	if (!gpucol_cpu_dense_flush_slots(run))
		gpucol_pool_run(run->nworkers, flush_share, run);
	return gpucol_cpu_workers_status(run);
}

/* ---- segments ---- */

/* Does an instruction remain that only running it can do justice? */
static bool
has_instructions(const GpucolRun *run)
{
	for (int i = run->program->nfilter_instrs; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].op > GPUCOL_OP_CONST_B)
			return true;
	return false;
}

/*
 * Is everything computed without an error whatever the row, and in channels?  Then a vector most
 * of whose rows pass is computed as a whole, and the rest goes to a slot that nobody empties.
 */
static bool
may_take_whole(const GpucolRun *run, const GpucolCpuDense *plan)
{
	if (run->program->filter != GPUCOL_NO_REG || run->join.nprobes > 0 || run->join.part != NULL)
		return false;
	for (int a = 0; a < run->agg.naccs; a++)
		if (!plan->acc[a])
			return false;
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].op > GPUCOL_OP_CONST_B &&
			!run->digest.bounds[run->code.instrs[i].dst].safe)
			return false;
	return true;
}

/* A cleared plan that is not the current one. */
static GpucolCpuDense *
spare_plan(GpucolRun *run)
{
	size_t		size = sizeof(GpucolCpuDense) + sizeof(bool) * (size_t) run->agg.naccs;
	int			spare = run->agg.dense == run->agg.plans[0];

	if (run->agg.plans[spare] == NULL)
		run->agg.plans[spare] = gpucol_cpu_alloc(run, size);
	if (run->agg.plans[spare] != NULL)
		memset(run->agg.plans[spare], 0, size);
	return run->agg.plans[spare];
}

/* Choose how the segment just opened is aggregated. */
GpucolStatus
gpucol_cpu_dense_open(GpucolRun *run)
{
	GpucolCpuDense *plan = spare_plan(run);
	bool		kept = false;
	GpucolStatus status;

	if (plan == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (run->program->nkeys == 0)
	{
		plan->all = !has_instructions(run);
		for (int a = 0; a < run->agg.naccs; a++)
			plan->all &= plan->acc[a] = gpucol_cpu_dense_plan_plain(run, &run->agg.accs[a]);
	}
	/* sets of values cost more than finding groups: few rows are to reach them */
	else if ((run->agg.ndistinct > 0 && gpucol_cpu_first_any(run)) || !gpucol_cpu_dense_plan(run, plan, &kept))
		plan = NULL;
	else
		plan->whole = may_take_whole(run, plan);
	if (plan == NULL || !kept || !same_meaning(run->agg.dense, plan))
	{
		status = flush_all(run);
		if (status != GPUCOL_OK)
			return status;
		run->agg.dense_meaning++;
		run->agg.dense_layout += !kept;
	}
	else if (run->agg.dense->flush_rows < plan->flush_rows)
		plan->flush_rows = run->agg.dense->flush_rows;	/* of rows that may be in channels */
	run->agg.dense = plan;
	run->stats.reduction.by_slots |= plan != NULL && run->program->nkeys > 0;
	run->stats.reduction.by_hash |= plan == NULL;
	if (plan == NULL || run->join.nprobes > 0)
		memset(run->digest.unread, 0, run->program->nregs);
	else
		plan_unread(run, plan);
	return GPUCOL_OK;
}

/* The segment is done: flush what only its dictionaries explain. */
GpucolStatus
gpucol_cpu_dense_close(GpucolRun *run)
{
	GpucolStatus status = GPUCOL_OK;

	if (run->agg.dense != NULL && run->agg.dense->coded)
	{
		status = flush_all(run);
		run->agg.dense = NULL;
	}
	return status;
}

/* All segments are done. */
GpucolStatus
gpucol_cpu_dense_end(GpucolRun *run)
{
	GpucolStatus status = flush_all(run);

	run->agg.dense = NULL;
	memset(run->digest.unread, 0, run->program->nregs);
	return status;
}

/* ---- vectors ---- */

/* Advance the states of the only group that need no values; *done if all. */
void
gpucol_cpu_dense_plain(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
					   const GpucolCpuVector *vector, bool *done)
{
	const GpucolRun *run = worker->run;

	for (int a = 0; a < run->agg.naccs; a++)
		if (run->agg.dense->acc[a])
			gpucol_cpu_dense_update_plain(worker, &run->agg.accs[a], vector,
							 groups->states + run->agg.accs[a].offset);
	*done = run->agg.dense->all;
}

bool
gpucol_cpu_dense_has(const GpucolRun *run, int acc)
{
	return run->agg.dense->acc[acc];
}

GpucolStatus
gpucol_cpu_dense_fit_groups(GpucolRun *run, GpucolCpuGroups *groups)
{
	if (groups->layout == run->agg.dense_layout)
		return GPUCOL_OK;
	gpucol_cpu_free(run, groups->slot_groups);
	groups->slot_groups = gpucol_cpu_alloc0(run, sizeof(uint32_t) * (size_t) run->agg.dense->nslots);
	if (groups->slot_groups == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	groups->layout = run->agg.dense_layout;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_dense_fit(GpucolRun *run, GpucolCpuGroups *groups)
{
	const GpucolCpuDense *plan = run->agg.dense;

	if (gpucol_cpu_dense_fit_groups(run, groups) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if (groups->meaning != run->agg.dense_meaning)
	{
		gpucol_cpu_free(run, groups->channels);
		/* one more, of rows that do not pass */
		groups->channels = gpucol_cpu_alloc0(run, sizeof(uint64_t) * plan->copies *
											 (size_t) plan->nchannels * (plan->nslots + (size_t) 1));
		if (groups->channels == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		groups->meaning = run->agg.dense_meaning;
	}
	return GPUCOL_OK;
}

/* slots += index * stride, index = code + delta but never beyond `last`. */
GPUCOL_CPU_CLONES static void
add_key(const uint32_t *codes, uint32_t delta, uint32_t last, uint32_t stride,
		uint32_t *slots)
{
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
	{
		uint32_t	index = codes[i] + delta;

		slots[i] += (index < last ? index : last) * stride;
	}
}

/* The same with NULL rows at index `last`. */
GPUCOL_CPU_CLONES static void
add_nullable_key(const uint32_t *codes, const uint32_t *nulls, uint32_t delta,
				 uint32_t last, uint32_t stride, uint32_t *slots)
{
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
	{
		uint32_t	bits = nulls[w];

		for (uint32_t i = 0; i < 32; i++)
		{
			uint32_t	index = codes[w * 32 + i] + delta;

			index = index < last ? index : last;
			slots[w * 32 + i] += ((bits >> i & 1) ? last : index) * stride;
		}
	}
}

/* Values of an RLE vector less the base. */
static void
run_codes(const GpucolCpuColumn *column, int64_t base, uint32_t vector, uint32_t nrows,
		  uint32_t *codes)
{
	uint32_t	row = vector * GPUCOL_VECTOR_VALUES;
	uint32_t	end = row + nrows;
	uint32_t	r = gpucol_cpu_column_run(column, row);
	uint32_t	at = 0;

	for (; row < end && r < column->nruns; r++)
	{
		uint32_t	stop = column->run_ends[r] < end ? column->run_ends[r] : end;
		uint32_t	code = (uint32_t) (column->run_values[r] - base);

		for (; row < stop; row++)
			codes[at++] = code;
	}
	memset(codes + at, 0, sizeof(uint32_t) * (GPUCOL_VECTOR_VALUES - at));
}

/* Slot of every row of the vector. */
static void
fill_slots(GpucolCpuWorker *worker, const GpucolCpuVector *vector, uint32_t *slots)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;

	memset(slots, 0, sizeof(uint32_t) * GPUCOL_VECTOR_VALUES);
	for (int k = 0; k < plan->nkeys; k++)
	{
		const GpucolDenseKey *key = &plan->keys[k];
		const GpucolCpuColumn *column = key->column;
		const GpucolChunkDesc *desc;
		uint32_t   *codes = worker->codes32;
		uint32_t	delta = 0;
		bool		nullable;
		uint32_t	last = key->card - 1;

		if (key->by_value)
			continue;			/* of the selected rows only: add_value_keys */
		desc = column->desc;
		nullable = has_nulls(desc);
		if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		{
			for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
				slots[i] += last * key->stride;
			continue;
		}
		if (desc->coding == GPUCOL_CODING_RLE)
			run_codes(column, key->base, vector->number, vector->nrows, codes);
		else
		{
			if (!key->coded)
				delta = (uint32_t) (((uint64_t) desc->reference - (uint64_t) key->base) / key->step);
			gpucol_bitpack_unpack32(desc->width,
									gpucol_cpu_column_packed(worker, column, vector->number),
									codes);
		}
		if (nullable)
			add_nullable_key(codes, gpucol_cpu_column_nulls(column, vector->number), delta,
							 last, key->stride, slots);
		else
			add_key(codes, delta, last - key->nullable, key->stride, slots);
	}
}

/* Keep the selected rows' entries. */
GPUCOL_CPU_CLONES static void
gather_slots(const uint16_t *sel, uint32_t n, uint32_t *slots)
{
	for (uint32_t j = 0; j < n; j++)
		slots[j] = slots[sel[j]];
}

/* slots += (value - base) * stride, that of row j of values[j], but never beyond `last`. */
GPUCOL_CPU_CLONES static void
add_values(const int64_t *values, uint32_t n, int64_t base, uint32_t last, uint32_t stride,
		   uint32_t *slots)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	index = (uint64_t) values[j] - (uint64_t) base;

		slots[j] += (uint32_t) (index < last ? index : last) * stride;
	}
}

/* The value of a register that is a key's. */
GPUCOL_CPU_INLINE int64_t
key_value(const GpucolCpuReg *reg, uint32_t j)
{
	switch (reg->cls)
	{
		case GPUCOL_CLASS_D:
			return reg->n[j];
		case GPUCOL_CLASS_B:
			return reg->v.b[j];
		case GPUCOL_CLASS_S:
			return reg->codes[j];
		default:
			return reg->v.i[j];
	}
}

/* Add the keys that are the values of registers to the slots of the selected rows. */
static void
add_value_keys(GpucolCpuWorker *worker, uint32_t *slots)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;
	uint32_t	n = worker->nsel;

	for (int k = 0; k < plan->nkeys; k++)
	{
		const GpucolDenseKey *key = &plan->keys[k];
		const GpucolCpuReg *reg = &worker->regs[key->reg];
		uint32_t	last = key->card - 1;
		int64_t    *values = (int64_t *) worker->codes64;

		if (!key->by_value)
			continue;
		if (reg->cls == GPUCOL_CLASS_I && reg->nulls == NULL)
		{
			add_values(reg->v.i, n, key->base, key->nullable ? last - 1 : last, key->stride, slots);
			continue;
		}
		for (uint32_t j = 0; j < n; j++)
			values[j] = key_value(reg, j);
		for (uint32_t j = 0; j < n && key->nullable && reg->nulls != NULL; j++)
			values[j] = reg->nulls[j] ? (int64_t) ((uint64_t) key->base + last) : values[j];
		add_values(values, n, key->base, key->nullable && reg->nulls == NULL ? last - 1 : last,
				   key->stride, slots);
	}
}

bool
gpucol_cpu_dense_whole(const GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	return worker->run->agg.dense->whole && vector->nrows == GPUCOL_VECTOR_VALUES &&
		worker->live >= GPUCOL_VECTOR_VALUES / 4 * 3;
}

/* Send rows of a vector taken as a whole that do not pass to a slot of their own. */
static void
send_away(const uint32_t *mask, uint32_t slot, uint32_t *slots)
{
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
		for (uint32_t bits = ~mask[w]; bits != 0; bits &= bits - 1)
			slots[w * 32 + (uint32_t) __builtin_ctz(bits)] = slot;
}

/* Where the rows' slots are in the channels. */
typedef struct Places
{
	uint32_t	at[GPUCOL_VECTOR_VALUES];
	bool		one;			/* all rows have that of the first one */
} Places;

/* Are all of some slots the same, as those of rows that a join has turned by their keys are (expand.c)? */
GPUCOL_CPU_CLONES static bool
are_same(const uint32_t *slots, uint32_t n)
{
	uint32_t	differ = 0;

	if (n < FEW_ROWS || slots[0] != slots[n / 2] || slots[0] != slots[n - 1])
		return false;
	for (uint32_t j = 0; j < n; j++)
		differ |= slots[j] ^ slots[0];
	return differ == 0;
}

/* Turn slots into places of their copies. */
GPUCOL_CPU_CLONES static void
spread_slots(const uint32_t *slots, uint32_t n, uint32_t copies, uint32_t step, uint32_t *places)
{
	for (uint32_t j = 0; j < n; j++)
		places[j] = (slots[j] * copies + (j & (copies - 1))) * step;
}

/* Addends of a channel: code + one of each selected row, zero where NULL. */
GPUCOL_CPU_CLONES static void
fill_addends(const uint64_t *codes, const uint16_t *sel, uint32_t n, const uint32_t *nulls,
			 uint64_t one, uint64_t *addends)
{
	if (sel == NULL)
		for (uint32_t j = 0; j < n; j++)
			addends[j] = codes[j] + one;
	else
		for (uint32_t j = 0; j < n; j++)
			addends[j] = codes[sel[j]] + one;
	if (nulls == NULL)
		return;
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	row = sel == NULL ? j : sel[j];

		if (nulls[row / 32] >> (row % 32) & 1)
			addends[j] = 0;
	}
}

/* The sum and the greatest of some words. */
GPUCOL_CPU_CLONES static uint64_t
sum_words(const uint64_t *words, uint32_t n)
{
	uint64_t	sum = 0;

	for (uint32_t j = 0; j < n; j++)
		sum += words[j];
	return sum;
}

GPUCOL_CPU_CLONES static uint64_t
greatest_word(const uint64_t *words, uint32_t n)
{
	uint64_t	greatest = 0;

	for (uint32_t j = 0; j < n; j++)
		greatest = words[j] > greatest ? words[j] : greatest;
	return greatest;
}

/* Advance one channel. */
static void
add_channel_rows(uint64_t *channel, const Places *places, const uint64_t *addends, uint32_t n)
{
	const uint32_t *at = places->at;

	if (places->one)
		channel[at[0]] += sum_words(addends, n);
	else
		for (uint32_t j = 0; j < n; j++)
			channel[at[j]] += addends[j];
}

/* What a channel of extremes is given: 0 where NULL. */
GPUCOL_CPU_CLONES static void
fill_extremes(const uint64_t *codes, const uint16_t *sel, uint32_t n, const uint32_t *nulls,
			  bool least, uint64_t delta, uint64_t *out)
{
	uint64_t	sign = least ? UINT64_MAX : 1;	/* times the code */
	uint64_t	bias = (least ? GPUCOL_DENSE_LEAST_BIAS : 1) + sign * delta;

	if (sel == NULL)
		for (uint32_t j = 0; j < n; j++)
			out[j] = bias + sign * codes[j];
	else
		for (uint32_t j = 0; j < n; j++)
			out[j] = bias + sign * codes[sel[j]];
	for (uint32_t j = 0; j < n && nulls != NULL; j++)
	{
		uint32_t	row = sel == NULL ? j : sel[j];

		if (nulls[row / 32] >> (row % 32) & 1)
			out[j] = 0;
	}
}

/* What a channel is given of computed values: sign * value + bias; 0 where NULL. */
GPUCOL_CPU_CLONES static void
fill_computed(const int64_t *values, const uint8_t *nulls, uint32_t n, uint64_t sign,
			  uint64_t bias, uint64_t *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = sign * (uint64_t) values[j] + bias;
	for (uint32_t j = 0; j < n && nulls != NULL; j++)
		out[j] = nulls[j] ? 0 : out[j];
}

/* Advance a channel of extremes. */
static void
raise_channel_rows(uint64_t *channel, const Places *places, const uint64_t *values, uint32_t n)
{
	uint64_t	only = places->one ? greatest_word(values, n) : 0;

	if (places->one)
	{
		values = &only;
		n = 1;
	}
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *word = &channel[places->at[j]];

		if (values[j] > *word)
			*word = values[j];
	}
}

/* Count rows in a channel. */
static void
add_channel_ones(uint64_t *channel, const Places *places, uint64_t one, uint32_t n)
{
	const uint32_t *at = places->at;

	if (places->one)
		channel[at[0]] += one * n;
	else
		for (uint32_t j = 0; j < n; j++)
			channel[at[j]] += one;
}

/* Advance the only channel from 32-bit codes, without addends in between. */
static void
add_channel_codes(uint64_t *channel, const Places *places, const uint32_t *codes,
				  uint64_t one, uint32_t n)
{
	const uint32_t *at = places->at;
	uint64_t	sum = 0;

	if (places->one)
	{
		for (uint32_t j = 0; j < n; j++)
			sum += codes[j] + one;
		channel[at[0]] += sum;
	}
	else
		for (uint32_t j = 0; j < n; j++)
			channel[at[j]] += codes[j] + one;
}

/* Add computed values, if `sign` is 1, and a bias to a channel; of NULLs neither. */
static void
add_computed(GpucolCpuWorker *worker, const GpucolCpuReg *reg, uint64_t sign, uint64_t bias, uint64_t *channel,
			 const Places *places)
{
	const int64_t *values = reg->cls == GPUCOL_CLASS_D ? reg->n : reg->v.i;
	uint32_t	n = worker->nsel;

	if (places->one && reg->nulls == NULL)
		channel[places->at[0]] += (sign > 0 ? sum_words((const uint64_t *) values, n) : 0) + bias * n;
	else
	{
		fill_computed(values, reg->nulls, n, sign, bias, worker->hashes);
		add_channel_rows(channel, places, worker->hashes, n);
	}
}

/* Advance the channels of an argument that is computed. */
static void
update_computed(GpucolCpuWorker *worker, const GpucolCpuDense *plan, const GpucolDenseArg *arg,
				uint64_t *channels, const Places *places)
{
	const GpucolCpuReg *reg = &worker->regs[arg->reg];
	const int64_t *values = reg->cls == GPUCOL_CLASS_D ? reg->n : reg->v.i;
	uint32_t	n = worker->nsel;
	uint64_t	one;

	if (arg->sum >= 0)
	{
		one = (plan->shift[arg->sum] < 64 ? UINT64_C(1) << plan->shift[arg->sum] : 0) -
			(uint64_t) arg->reference;
		add_computed(worker, reg, 1, one, channels + arg->sum, places);
	}
	if (arg->count >= 0 && arg->count != arg->sum)
		add_computed(worker, reg, 0, UINT64_C(1) << plan->shift[arg->count], channels + arg->count, places);
	if (arg->least >= 0)
	{
		fill_computed(values, reg->nulls, n, UINT64_MAX,
					  GPUCOL_DENSE_LEAST_BIAS + (uint64_t) arg->reference, worker->hashes);
		raise_channel_rows(channels + arg->least, places, worker->hashes, n);
	}
	if (arg->greatest >= 0)
	{
		fill_computed(values, reg->nulls, n, 1, 1 - (uint64_t) arg->reference, worker->hashes);
		raise_channel_rows(channels + arg->greatest, places, worker->hashes, n);
	}
}

/* Advance the channels of an argument. */
static void
update_arg(GpucolCpuWorker *worker, const GpucolCpuDense *plan, const GpucolDenseArg *arg,
		   const GpucolCpuVector *vector, uint64_t *channels, const Places *places)
{
	const uint16_t *sel = worker->full ? NULL : worker->sel;
	const uint32_t *nulls;
	const void *words;
	uint64_t	one;

	if (arg->column == NULL)
	{
		update_computed(worker, plan, arg, channels, places);
		return;
	}
	nulls = arg->nullable ? gpucol_cpu_column_nulls(arg->column, vector->number) : NULL;
	if (arg->sum >= 0)
	{
		one = arg->delta +
			(plan->shift[arg->sum] < 64 ? UINT64_C(1) << plan->shift[arg->sum] : 0);
		words = gpucol_cpu_column_packed(worker, arg->column, vector->number);
		if (arg->width <= 32 && sel == NULL && nulls == NULL)
		{
			gpucol_bitpack_unpack32(arg->width, words, worker->codes32);
			add_channel_codes(channels + arg->sum, places, worker->codes32, one, worker->nsel);
		}
		else
		{
			gpucol_bitpack_unpack64(arg->width, words, worker->codes64);
			fill_addends(worker->codes64, sel, worker->nsel, nulls, one, worker->hashes);
			add_channel_rows(channels + arg->sum, places, worker->hashes, worker->nsel);
		}
	}
	if (arg->least >= 0 || arg->greatest >= 0)
	{
		words = gpucol_cpu_column_packed(worker, arg->column, vector->number);
		gpucol_bitpack_unpack64(arg->width, words, worker->codes64);
	}
	for (int least = 0; least < 2; least++)
	{
		int			channel = least ? arg->least : arg->greatest;

		if (channel < 0)
			continue;
		fill_extremes(worker->codes64, sel, worker->nsel, nulls, least, arg->delta,
					  worker->hashes);
		raise_channel_rows(channels + channel, places, worker->hashes, worker->nsel);
	}
	if (arg->count >= 0 && arg->count != arg->sum)
	{
		memset(worker->codes64, 0, sizeof(uint64_t) * GPUCOL_VECTOR_VALUES);
		fill_addends(worker->codes64, sel, worker->nsel, nulls,
					 UINT64_C(1) << plan->shift[arg->count], worker->hashes);
		add_channel_rows(channels + arg->count, places, worker->hashes, worker->nsel);
	}
}

/* Group numbers of the selected rows, whose slots are known. */
static GpucolStatus
fill_ids(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots)
{
	uint32_t	n = worker->only ? 1 : worker->nsel;

	for (uint32_t j = 0; j < n; j++)
	{
		if (groups->slot_groups[slots[j]] == 0)
		{
			GpucolStatus status = gpucol_cpu_dense_resolve(worker, groups, &slots[j], 1);

			if (status != GPUCOL_OK)
				return status;
		}
		worker->ids[j] = groups->slot_groups[slots[j]] - 1;
	}
	for (uint32_t j = n; j < worker->nsel; j++)
		worker->ids[j] = worker->ids[0];
	return GPUCOL_OK;
}

/*
 * Advance the channels for the selected rows of a packed vector, and find the
 * rows' groups if other states need them.
 */
GpucolStatus
gpucol_cpu_dense_group(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
					   const GpucolCpuVector *vector)
{
	const GpucolCpuDense *plan = worker->run->agg.dense;
	uint32_t	slots[GPUCOL_VECTOR_VALUES];
	Places		places;
	bool		others = false;
	GpucolStatus status = gpucol_cpu_dense_fit(worker->run, groups);

	if (status == GPUCOL_OK && groups->slot_rows + worker->nsel > plan->flush_rows)
		status = gpucol_cpu_dense_flush(worker, groups);
	if (status != GPUCOL_OK)
		return status;
	groups->slot_rows += worker->nsel;
	fill_slots(worker, vector, slots);
	if (!worker->full && worker->run->join.nprobes == 0)
		gather_slots(worker->sel, worker->nsel, slots);
	add_value_keys(worker, slots);
	if (plan->whole && worker->full && worker->live < worker->nsel)
		send_away(worker->mask, plan->nslots, slots);
	worker->only = places.one = are_same(slots, worker->nsel);
	spread_slots(slots, places.one ? 1 : worker->nsel, plan->copies, (uint32_t) plan->nchannels, places.at);
	for (int a = 0; a < plan->nargs; a++)
		update_arg(worker, plan, &plan->args[a], vector, groups->channels, &places);
	if (plan->rows_alone)
		add_channel_ones(groups->channels + plan->rows_channel, &places,
						 UINT64_C(1) << plan->shift[plan->rows_channel], worker->nsel);
	for (int a = 0; a < worker->run->agg.naccs; a++)
		others |= !plan->acc[a];
	return others ? fill_ids(worker, groups, slots) : GPUCOL_OK;
}
