/*-------------------------------------------------------------------------
 *
 * dense_plan.c
 *	  The slots and channels of one segment: which keys number them, which arguments
 *	  they sum.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/dense.h"
#include "engine/cpu/final.h"
#include "engine/cpu/join.h"
#include "kernel/bitpack.h"

/* A key of strings behind probes: codes of a dictionary of the segment, or of a built table. */
static bool
plan_string_key(const GpucolRun *run, GpucolDenseKey *key)
{
	const GpucolInstr *load = run->code.instrs;
	const GpucolChunkDesc *desc;
	uint64_t	range;

	while (load->dst != key->reg)
		load++;
	if (load->op != GPUCOL_OP_LOAD_S)
		return false;
	key->column = &run->input.cols[load->aux];
	if (load->aux >= run->program->ncolumns)
	{
		const GpucolPayload *payload = &run->code.payloads[load->aux - run->program->ncolumns];

		if (run->join.probes[payload->probe].is_set)
			return false;
		range = run->join.probes[payload->probe].table->columns[payload->column].nentries;
	}
	else
	{
		desc = key->column->desc;
		if (gpucol_cpu_stream_is_raw(key->column))
			return false;
		key->coded = true;
		range = desc->ndict > 0 ? desc->ndict : 1;
	}
	if (range > GPUCOL_DENSE_MAX_SLOTS)
		return false;
	key->card = (uint32_t) range + key->nullable;
	return true;
}

/* A key by its register's values; false if it is not known to have a small range. */
static bool
plan_value_key(const GpucolRun *run, GpucolDenseKey *key)
{
	const GpucolCpuBounds *b = &run->digest.bounds[key->reg];
	uint64_t	range = (uint64_t) b->hi - (uint64_t) b->lo;

	key->by_value = true;
	key->step = 1;
	key->nullable = b->nullable;
	if (key->cls == GPUCOL_CLASS_S)
		return run->join.nprobes > 0 && plan_string_key(run, key);
	if (!b->known || range >= GPUCOL_DENSE_MAX_SLOTS)
		return false;
	key->base = b->lo;
	key->card = (uint32_t) range + 1 + key->nullable;
	return true;
}

/* A key by its column's chunk; false if it has no small range of codes. */
static bool
plan_key(const GpucolRun *run, uint16_t reg, GpucolDenseKey *key)
{
	int			c = column_of(run, reg);
	const GpucolChunkDesc *desc;
	uint64_t	range;

	memset(key, 0, sizeof(*key));
	key->reg = reg;
	key->cls = run->code.classes[reg];
	if (c < 0)
		return plan_value_key(run, key);
	key->column = &run->input.cols[c];
	desc = key->column->desc;
	key->nullable = (desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL)) != 0;
	key->base = desc->reference;
	key->step = step_of(desc);
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		range = 0;
	else if (key->cls == GPUCOL_CLASS_F || desc->width > 32 || gpucol_cpu_stream_is_raw(key->column))
		return false;			/* a dictionary of elements is none of arrays */
	else if (desc->ndict > 0)
	{
		key->coded = true;
		range = desc->ndict;
	}
	else if (desc->coding == GPUCOL_CODING_CONSTANT)
		range = 1;
	else if (!(desc->flags & GPUCOL_CHUNK_HAS_ZONE))
		return false;
	else if (desc->coding == GPUCOL_CODING_FOR || desc->coding == GPUCOL_CODING_STEP)
		range = ((uint64_t) desc->zone.max - (uint64_t) desc->reference) / key->step + 1;
	else if (desc->coding == GPUCOL_CODING_RLE)
	{
		key->base = desc->zone.min;
		range = (uint64_t) desc->zone.max - (uint64_t) desc->zone.min + 1;
	}
	else
		return false;
	if (range > GPUCOL_DENSE_MAX_SLOTS)
		return false;
	key->card = (uint32_t) range + key->nullable;
	return true;
}

/* Keep the slots of the last segment where this one's values fit them. */
static bool
adopt_layout(const GpucolCpuDense *old, GpucolCpuDense *plan)
{
	if (old == NULL || !old->grouped || old->coded || plan->coded)
		return false;
	for (int k = 0; k < plan->nkeys; k++)
	{
		const GpucolDenseKey *was = &old->keys[k];
		const GpucolDenseKey *key = &plan->keys[k];
		uint32_t	range = key->card - key->nullable;
		uint32_t	room = was->card - was->nullable;
		uint64_t	offset = (uint64_t) key->base - (uint64_t) was->base;

		if (key->nullable > was->nullable)
			return false;
		if (range > 0 && (key->base < was->base || key->step != was->step ||
						  offset % was->step != 0 || offset / was->step + range > room))
			return false;
	}
	for (int k = 0; k < plan->nkeys; k++)
	{
		plan->keys[k].base = old->keys[k].base;
		plan->keys[k].step = old->keys[k].step;
		plan->keys[k].card = old->keys[k].card;
		plan->keys[k].nullable = old->keys[k].nullable;
	}
	return true;
}

/* Number the slots. */
static bool
plan_slots(GpucolCpuDense *plan)
{
	uint64_t	nslots = 1;

	for (int k = 0; k < plan->nkeys; k++)
	{
		plan->keys[k].stride = (uint32_t) nslots;
		nslots *= plan->keys[k].card;
		if (nslots > GPUCOL_DENSE_MAX_SLOTS)
			return false;
	}
	plan->nslots = (uint32_t) nslots;
	return true;
}

/*
 * Let channels count from a multiple of 2^width steps below the chunk's reference:
 * the least values of segments with alike values differ a little, and a channel
 * that all of them understand need not be flushed between them.
 */
static void
set_reference(GpucolDenseArg *arg, const GpucolChunkDesc *desc)
{
	uint64_t	mask = arg->width == 0 ? 0 : UINT64_MAX >> (64 - arg->width);
	int64_t		step = (int64_t) step_of(desc);
	int64_t		steps = desc->reference / step - (desc->reference % step < 0);
	__int128	reference;

	arg->delta = (uint64_t) steps & mask;
	reference = desc->reference - (__int128) arg->delta * step;
	if (reference < INT64_MIN)
	{
		arg->delta = 0;
		reference = desc->reference;
	}
	arg->reference = (int64_t) reference;
	arg->step = (uint64_t) step;
	arg->bits = arg->width == 0 ? 0 : arg->width + 1;
}

/* Bits of a number. */
static int
bits_of(uint64_t number)
{
	return number == 0 ? 0 : 64 - __builtin_clzll(number);
}

/* The bits of a computed number behind a reference, which segments with alike values share. */
static int
computed_bits(const GpucolCpuBounds *b, int64_t *reference)
{
	int			bits;

	*reference = 0;
	if (b->lo >= 0)
		return bits_of((uint64_t) b->hi);
	bits = bits_of(~(uint64_t) b->lo);
	if (b->hi > 0 && bits_of((uint64_t) b->hi) > bits)
		bits = bits_of((uint64_t) b->hi);
	*reference = (int64_t) (UINT64_MAX << bits);
	return bits + 1;
}

/* Is a register a number that is computed within known bounds? */
static bool
is_computed(const GpucolRun *run, uint16_t reg)
{
	return (run->code.classes[reg] == GPUCOL_CLASS_I || run->code.classes[reg] == GPUCOL_CLASS_D) &&
		run->digest.bounds[reg].known;
}

/* The argument for a register, added if it is new; NULL if there is no room. */
static GpucolDenseArg *
plan_arg(const GpucolRun *run, GpucolCpuDense *plan, uint16_t reg)
{
	int			c = column_of(run, reg);
	const GpucolChunkDesc *desc = c < 0 ? NULL : run->input.cols[c].desc;
	GpucolDenseArg   *arg;

	for (int a = 0; a < plan->nargs; a++)
		if (plan->args[a].reg == reg)
			return &plan->args[a];
	if (plan->nargs == GPUCOL_DENSE_MAX_ARGS ||
		(c < 0 ? !is_computed(run, reg) : (desc->flags & GPUCOL_CHUNK_ALL_NULL) != 0))
		return NULL;
	arg = &plan->args[plan->nargs++];
	memset(arg, 0, sizeof(*arg));
	arg->reg = reg;
	if (c < 0)
	{
		arg->bits = (uint8_t) computed_bits(&run->digest.bounds[reg], &arg->reference);
		arg->step = 1;
		arg->nullable = run->digest.bounds[reg].nullable;
		return arg;
	}
	arg->column = &run->input.cols[c];
	arg->width = desc->coding == GPUCOL_CODING_CONSTANT ? 0 : desc->width;
	set_reference(arg, desc);
	arg->nullable = has_nulls(desc);
	return arg;
}

/* Do channels hold the sums, or extremes, of a register's values? */
static bool
fits_channel(const GpucolRun *run, const GpucolCpuDense *plan, const GpucolCpuAcc *acc)
{
	int			c = column_of(run, acc->arg);
	bool		sum = acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D;
	int64_t		reference;

	if (run->code.classes[acc->arg] == GPUCOL_CLASS_B)
		return false;
	if (c >= 0)
		return is_offset(run->input.cols[c].desc) &&
			run->input.cols[c].desc->width <= GPUCOL_DENSE_SUM_WIDTH;
	return is_computed(run, acc->arg) &&
		computed_bits(&run->digest.bounds[acc->arg], &reference) <=
		(sum && plan->nslots <= GPUCOL_DENSE_FEW_SLOTS ? GPUCOL_DENSE_FEW_SUM_WIDTH : GPUCOL_DENSE_SUM_WIDTH);
}

/* Can a state of a grouped aggregation be advanced in channels? */
static bool
plan_acc(const GpucolRun *run, GpucolCpuDense *plan, const GpucolCpuAcc *acc)
{
	GpucolDenseArg   *arg;

	if (acc->filter != GPUCOL_NO_REG)
		return false;
	if (acc->op == GPUCOL_CPU_ACC_COUNT)
		return acc->arg == GPUCOL_NO_REG || plan_arg(run, plan, acc->arg) != NULL;
	if (!fits_channel(run, plan, acc))
		return false;
	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_SUM_I:
		case GPUCOL_CPU_ACC_SUM_D:
		case GPUCOL_CPU_ACC_MIN_I:
		case GPUCOL_CPU_ACC_MIN_D:
		case GPUCOL_CPU_ACC_MAX_I:
		case GPUCOL_CPU_ACC_MAX_D:
			break;
		default:
			return false;
	}
	arg = plan_arg(run, plan, acc->arg);
	if (arg == NULL)
		return false;
	if (acc->op == GPUCOL_CPU_ACC_MIN_I || acc->op == GPUCOL_CPU_ACC_MIN_D)
		arg->minimal = true;
	else if (acc->op == GPUCOL_CPU_ACC_MAX_I || acc->op == GPUCOL_CPU_ACC_MAX_D)
		arg->maximal = true;
	else
		arg->summed = true;
	return true;
}

/* A channel that sums numbers of `width` bits, counting rows above if `counts`. */
static int
add_channel(GpucolCpuDense *plan, int width, bool counts)
{
	int			shift = counts ? 64 - (64 - width) / 2 : 64;
	uint64_t	rows = counts ? (UINT64_C(1) << (64 - shift)) - 1 :
		(UINT64_C(1) << (63 - width));

	plan->shift[plan->nchannels] = shift;
	if (rows < plan->flush_rows)
		plan->flush_rows = rows;
	return plan->nchannels++;
}

/* A channel that keeps the greatest of what it is given, 0 for nothing. */
static int
add_extreme(GpucolCpuDense *plan)
{
	plan->shift[plan->nchannels] = -1;
	return plan->nchannels++;
}

/* Assign channels to arguments. */
static void
plan_channels(GpucolCpuDense *plan)
{
	plan->flush_rows = UINT64_C(1) << 31;
	plan->rows_channel = -1;
	for (int a = 0; a < plan->nargs; a++)
	{
		GpucolDenseArg   *arg = &plan->args[a];
		bool		narrow = arg->bits <= GPUCOL_DENSE_PACKED_WIDTH;

		arg->sum = arg->count = -1;
		if (arg->summed)
			arg->sum = add_channel(plan, arg->bits,
								   narrow && (arg->nullable || plan->rows_channel < 0));
		if (arg->nullable)
			arg->count = arg->summed && narrow ? arg->sum : add_channel(plan, 0, true);
		else if (arg->summed && plan->rows_channel < 0 && narrow)
			plan->rows_channel = arg->sum;
		arg->least = arg->minimal ? add_extreme(plan) : -1;
		arg->greatest = arg->maximal ? add_extreme(plan) : -1;
	}
	plan->rows_alone = plan->rows_channel < 0;
	if (plan->rows_alone)
		plan->rows_channel = add_channel(plan, 0, true);
	plan->copies = 1;
	while (plan->copies < GPUCOL_DENSE_MAX_COPIES && plan->nslots * (uint64_t) plan->nchannels *
		   plan->copies * 2 <= GPUCOL_DENSE_COPY_WORDS)
		plan->copies *= 2;
}

/* Is an array of slots worth its memory and its flushes? */
static bool
slots_pay(const GpucolRun *run, const GpucolCpuDense *plan)
{
	size_t		bytes = (size_t) plan->nslots * run->agg.nparts *
		(sizeof(uint32_t) + sizeof(uint64_t) * (size_t) plan->nchannels);

	if (plan->nslots > 4096 && (plan->nslots > 2 * run->input.segment.nrows || gpucol_cpu_final_is_on(run)))
		return false;
	return bytes < gpucol_budget_left(&run->mem.budget) / 2;
}

/* Plan the slots of a segment; false if its groups must be hashed. */
bool
gpucol_cpu_dense_plan(GpucolRun *run, GpucolCpuDense *plan, bool *kept)
{
	plan->nkeys = run->program->nkeys;
	if (plan->nkeys > GPUCOL_DENSE_MAX_KEYS)
		return false;
	for (int k = 0; k < plan->nkeys; k++)
	{
		if (!plan_key(run, run->code.keys[k], &plan->keys[k]))
			return false;
		plan->coded |= plan->keys[k].coded;
		plan->repeats |= plan->keys[k].cls == GPUCOL_CLASS_S && !plan->keys[k].coded;
	}
	*kept = adopt_layout(run->agg.dense, plan);
	if (!plan_slots(plan))
		return false;
	for (int a = 0; a < run->agg.naccs; a++)
		plan->acc[a] = plan_acc(run, plan, &run->agg.accs[a]);
	plan_channels(plan);
	plan->grouped = slots_pay(run, plan);
	return plan->grouped;
}
