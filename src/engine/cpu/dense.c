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
 * are kept in several copies, used in turn.
 *
 * States that channels cannot hold (minimum, floats, expressions) are advanced
 * by group number as elsewhere; the slot's remembered group replaces hashing.
 *
 * Key columns of one segment map to slots by a layout that stays as long as the
 * next segment's values fit it.  Dictionary codes have meaning in their segment
 * only, so a layout with them ends with it.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/bitpack.h"

#define MAX_KEYS 8
#define MAX_ARGS 16
#define MAX_SLOTS (1u << 20)
#define PACKED_WIDTH 24			/* widest code that shares a word with a count */
#define SUM_WIDTH 40			/* widest code that a channel sums */
#define LEAST_BIAS (UINT64_C(1) << (SUM_WIDTH + 1))
#define COPY_WORDS 4096			/* words that several copies may take */
#define MAX_CHANNELS (4 * MAX_ARGS + 1)
#define MAX_COPIES 8

typedef struct DenseKey
{
	GpucolCpuColumn *column;
	GpucolClass cls;
	bool		coded;			/* index = dictionary code, else that of
								 * base + index * step */
	bool		nullable;		/* last index is NULL */
	int64_t		base;
	uint64_t	step;
	uint32_t	card;			/* indexes */
	uint32_t	stride;
} DenseKey;

/* One argument column and its channels. */
typedef struct DenseArg
{
	uint16_t	reg;
	GpucolCpuColumn *column;
	int64_t		reference;		/* channels hold values less this in steps, */
	uint64_t	step;
	uint64_t	delta;			/* which are codes plus this */
	uint8_t		width;			/* of codes */
	uint8_t		bits;			/* of code + delta */
	bool		nullable;
	bool		summed;
	bool		minimal;
	bool		maximal;
	int			sum;			/* channel, -1 none */
	int			count;			/* channel whose upper bits count, -1: rows */
	int			least;			/* channel of the greatest LEAST_BIAS - code */
	int			greatest;		/* channel of the greatest code + 1 */
} DenseArg;

/* How the current segment is aggregated; fixed while workers run. */
struct GpucolCpuDense
{
	bool		grouped;		/* slots are in use */
	bool		coded;			/* some key is a dictionary code */
	int			nkeys;
	DenseKey	keys[MAX_KEYS];
	int			nargs;
	DenseArg	args[MAX_ARGS];
	int			nchannels;
	int			rows_channel;	/* counts every row */
	bool		rows_alone;		/* and sums nothing */
	int			shift[MAX_CHANNELS];	/* of the count in a channel; 64 none */
	uint32_t	nslots;
	uint32_t	copies;
	uint64_t	flush_rows;		/* rows that channels can take */
	bool		all;			/* no state and no instruction is left to others */
	bool		acc[];			/* by state: is it advanced here? */
};

/* The column that a register is loaded from, -1 if it is computed. */
static int
column_of(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->instrs[i].dst == reg)
			return run->instrs[i].op <= GPUCOL_OP_LOAD_S ? run->instrs[i].aux : -1;
	return -1;
}

/* Distance of the values of consecutive codes. */
static uint64_t
step_of(const GpucolChunkDesc *desc)
{
	return desc->coding == GPUCOL_CODING_STEP ? desc->step : 1;
}

/* Are the values of a chunk reference + code * step? */
static bool
is_offset(const GpucolChunkDesc *desc)
{
	return !(desc->flags & GPUCOL_CHUNK_ALL_NULL) &&
		(desc->kind == GPUCOL_KIND_INT || desc->kind == GPUCOL_KIND_DECIMAL) &&
		(desc->coding == GPUCOL_CODING_FOR || desc->coding == GPUCOL_CODING_STEP ||
		 desc->coding == GPUCOL_CODING_CONSTANT);
}

static bool
has_nulls(const GpucolChunkDesc *desc)
{
	return (desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
}

/* ---- ungrouped ---- */

/* Can a state of an ungrouped aggregation be advanced from packed codes? */
static bool
plan_plain_acc(const GpucolRun *run, const GpucolCpuAcc *acc)
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
	desc = run->cols[c].desc;
	if (acc->op == GPUCOL_CPU_ACC_COUNT)
		return true;
	return run->classes[acc->arg] != GPUCOL_CLASS_B && is_offset(desc) &&
		(acc->op == GPUCOL_CPU_ACC_SUM_I || acc->op == GPUCOL_CPU_ACC_SUM_D ||
		 acc->op == GPUCOL_CPU_ACC_MIN_I || acc->op == GPUCOL_CPU_ACC_MAX_I ||
		 acc->op == GPUCOL_CPU_ACC_MIN_D || acc->op == GPUCOL_CPU_ACC_MAX_D);
}

/* Lower or raise a minimum or maximum. */
static void
put_extreme(const GpucolCpuAcc *acc, uint64_t *words, int64_t least, int64_t greatest)
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

/* Advance one state of the only group from packed codes. */
static void
update_plain_acc(GpucolCpuWorker *worker, const GpucolCpuAcc *acc,
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
	column = &run->cols[column_of(run, acc->arg)];
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
	put_extreme(acc, words, (int64_t) ((uint64_t) desc->reference + least * step_of(desc)),
				(int64_t) ((uint64_t) desc->reference + greatest * step_of(desc)));
}

/* ---- plan of a grouped segment ---- */

/* A key by its column's chunk; false if it has no small range of codes. */
static bool
plan_key(const GpucolRun *run, uint16_t reg, DenseKey *key)
{
	int			c = column_of(run, reg);
	const GpucolChunkDesc *desc;
	uint64_t	range;

	if (c < 0)
		return false;
	memset(key, 0, sizeof(*key));
	key->column = &run->cols[c];
	key->cls = run->classes[reg];
	desc = key->column->desc;
	key->nullable = (desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL)) != 0;
	key->base = desc->reference;
	key->step = step_of(desc);
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		range = 0;
	else if (key->cls == GPUCOL_CLASS_F || desc->width > 32)
		return false;
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
	if (range > MAX_SLOTS)
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
		const DenseKey *was = &old->keys[k];
		const DenseKey *key = &plan->keys[k];
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
		if (nslots > MAX_SLOTS)
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
set_reference(DenseArg *arg, const GpucolChunkDesc *desc)
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

/* The argument for a register, added if it is new; NULL if there is no room. */
static DenseArg *
plan_arg(const GpucolRun *run, GpucolCpuDense *plan, uint16_t reg)
{
	int			c = column_of(run, reg);
	const GpucolChunkDesc *desc;
	DenseArg   *arg;

	for (int a = 0; a < plan->nargs; a++)
		if (plan->args[a].reg == reg)
			return &plan->args[a];
	if (c < 0 || plan->nargs == MAX_ARGS)
		return NULL;
	desc = run->cols[c].desc;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return NULL;
	arg = &plan->args[plan->nargs++];
	memset(arg, 0, sizeof(*arg));
	arg->reg = reg;
	arg->column = &run->cols[c];
	arg->width = desc->coding == GPUCOL_CODING_CONSTANT ? 0 : desc->width;
	set_reference(arg, desc);
	arg->nullable = has_nulls(desc);
	return arg;
}

/* Can a state of a grouped aggregation be advanced in channels? */
static bool
plan_acc(const GpucolRun *run, GpucolCpuDense *plan, const GpucolCpuAcc *acc)
{
	DenseArg   *arg;
	int			c;

	if (acc->filter != GPUCOL_NO_REG)
		return false;
	if (acc->op == GPUCOL_CPU_ACC_COUNT)
		return acc->arg == GPUCOL_NO_REG || plan_arg(run, plan, acc->arg) != NULL;
	c = column_of(run, acc->arg);
	if (c < 0 || run->classes[acc->arg] == GPUCOL_CLASS_B ||
		!is_offset(run->cols[c].desc) || run->cols[c].desc->width > SUM_WIDTH)
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
		DenseArg   *arg = &plan->args[a];
		bool		narrow = arg->bits <= PACKED_WIDTH;

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
	while (plan->copies < MAX_COPIES && plan->nslots * (uint64_t) plan->nchannels *
		   plan->copies * 2 <= COPY_WORDS)
		plan->copies *= 2;
}

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
		run->unread[r] = false;
	for (int i = 0; i < program->ninstrs; i++)
		if (run->instrs[i].op <= GPUCOL_OP_LOAD_S)
			run->unread[run->instrs[i].dst] = true;
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->instrs[i];
		const uint16_t reads[] = {instr->a, instr->b, instr->c, instr->mask};

		if (instr->op <= GPUCOL_OP_CONST_B)
			continue;
		for (int o = 0; o < 4; o++)
			if (reads[o] < program->nregs)
				run->unread[reads[o]] = false;
	}
	if (program->filter != GPUCOL_NO_REG)
		run->unread[program->filter] = false;
	for (int a = 0; a < run->naccs; a++)
	{
		const GpucolCpuAcc *acc = &run->accs[a];

		if (acc->filter != GPUCOL_NO_REG)
			run->unread[acc->filter] = false;
		if (acc->arg != GPUCOL_NO_REG && !plan->acc[a])
			run->unread[acc->arg] = false;
	}
}

/* Is an array of slots worth its memory and its flushes? */
static bool
slots_pay(const GpucolRun *run, const GpucolCpuDense *plan)
{
	size_t		bytes = (size_t) plan->nslots * run->nparts *
		(sizeof(uint32_t) + sizeof(uint64_t) * (size_t) plan->nchannels);

	if (plan->nslots > 4096 && plan->nslots > 2 * run->segment.nrows)
		return false;
	return bytes < gpucol_budget_left(&run->budget) / 2;
}

/* Plan the slots of a segment; false if its groups must be hashed. */
static bool
plan_grouped(GpucolRun *run, GpucolCpuDense *plan, bool *kept)
{
	plan->nkeys = run->program->nkeys;
	if (plan->nkeys > MAX_KEYS)
		return false;
	for (int k = 0; k < plan->nkeys; k++)
	{
		if (!plan_key(run, run->keys[k], &plan->keys[k]))
			return false;
		plan->coded |= plan->keys[k].coded;
	}
	*kept = adopt_layout(run->dense, plan);
	if (!plan_slots(plan))
		return false;
	for (int a = 0; a < run->naccs; a++)
		plan->acc[a] = plan_acc(run, plan, &run->accs[a]);
	plan_channels(plan);
	plan->grouped = slots_pay(run, plan);
	return plan->grouped;
}

/* ---- flush ---- */

/* Key words of slot `slot` as row j of the worker's key columns. */
static GpucolStatus
slot_key(const GpucolRun *run, GpucolCpuWorker *worker, GpucolCpuGroups *groups,
		 uint32_t slot, uint32_t j)
{
	const GpucolCpuDense *plan = run->dense;
	uint64_t   *words = worker->keys + GPUCOL_VECTOR_VALUES + j;

	worker->keys[j] = 0;
	for (int k = 0; k < plan->nkeys; k++)
	{
		const DenseKey *key = &plan->keys[k];
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
static GpucolStatus
resolve_slots(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			  uint32_t n)
{
	uint32_t	ids[GPUCOL_VECTOR_VALUES];
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
		status = slot_key(worker->run, worker, groups, slots[j], j);
	if (groups->n == 0)
		groups->only_layout = groups->layout;
	if (status == GPUCOL_OK && groups->only_layout == groups->layout)
		status = gpucol_cpu_group_append(groups, worker->keys, GPUCOL_VECTOR_VALUES, n, ids);
	else if (status == GPUCOL_OK)
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
	const DenseArg *arg = plan->args;

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
static void
flush_acc(const GpucolCpuAcc *acc, const Place *place, const GpucolCpuGroups *groups,
		  uint64_t *const *folded, const uint32_t *slots, uint32_t n)
{
	size_t		stride = groups->run->state_words;
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
			gpucol_cpu_put128(words, gpucol_cpu_get128(words) + (__int128) (value & place->mask) * (__int128) place->step +
				   (__int128) place->reference * (int64_t) count);
		else if (value != 0)
			put_extreme(acc, words,
						(int64_t) ((uint64_t) place->reference + (LEAST_BIAS - value) * place->step),
						(int64_t) ((uint64_t) place->reference + (value - 1) * place->step));
	}
}

/* Move the channels of n slots, all with rows, and clear them. */
static GpucolStatus
flush_slots(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			uint32_t n)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuDense *plan = run->dense;
	uint64_t   *folded[GPUCOL_VECTOR_VALUES];
	uint32_t	missing[GPUCOL_VECTOR_VALUES];
	uint32_t	nmissing = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		folded[j] = fold_copies(plan, groups->channels, slots[j]);
		if (groups->slot_groups[slots[j]] == 0)
			missing[nmissing++] = slots[j];
	}
	if (nmissing > 0)
	{
		GpucolStatus status = resolve_slots(worker, groups, missing, nmissing);

		if (status != GPUCOL_OK)
			return status;
	}
	for (int i = 0; i < run->naccs; i++)
	{
		Place		place;

		if (!plan->acc[i])
			continue;
		find_place(plan, &run->accs[i], &place);
		flush_acc(&run->accs[i], &place, groups, folded, slots, n);
	}
	for (uint32_t j = 0; j < n; j++)
		for (size_t ch = 0; ch < plan->copies * (size_t) plan->nchannels; ch++)
			folded[j][ch] = 0;
	return GPUCOL_OK;
}

/* Flush one partition. */
static GpucolStatus
flush(GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	const GpucolCpuDense *plan = worker->run->dense;
	size_t		step = plan->copies * (size_t) plan->nchannels;
	uint32_t	slots[GPUCOL_VECTOR_VALUES];
	uint32_t	n = 0;
	GpucolStatus status = GPUCOL_OK;

	if (groups->slot_rows == 0)
		return GPUCOL_OK;
	groups->slot_rows = 0;
	for (uint32_t slot = 0; slot < plan->nslots && status == GPUCOL_OK; slot++)
	{
		const uint64_t *channels = groups->channels + slot * step +
			(size_t) plan->rows_channel;
		uint64_t	any = 0;

		for (uint32_t copy = 0; copy < plan->copies; copy++)
			any |= channels[copy * (size_t) plan->nchannels];
		if (any == 0)
			continue;
		slots[n++] = slot;
		if (n == GPUCOL_VECTOR_VALUES)
		{
			status = flush_slots(worker, groups, slots, n);
			n = 0;
		}
	}
	return status == GPUCOL_OK && n > 0 ? flush_slots(worker, groups, slots, n) : status;
}

/* One worker's share of a flush of all partitions. */
static void
flush_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	GpucolCpuWorker *worker = &run->workers[index];

	for (int p = index; p < run->nparts && worker->status == GPUCOL_OK; p += run->nworkers)
		worker->status = flush(worker, run->parts[p]);
}

/* Flush all partitions, each thread some. */
static GpucolStatus
flush_all(GpucolRun *run)
{
	if (run->dense == NULL || !run->dense->grouped)
		return GPUCOL_OK;
	gpucol_pool_run(run->nworkers, flush_share, run);
	for (int w = 0; w < run->nworkers; w++)
		if (run->workers[w].status != GPUCOL_OK)
			return run->workers[w].status;
	return GPUCOL_OK;
}

/* ---- segments ---- */

/* Does an instruction remain that only running it can do justice? */
static bool
has_instructions(const GpucolRun *run)
{
	for (int i = run->program->nfilter_instrs; i < run->program->ninstrs; i++)
		if (run->instrs[i].op > GPUCOL_OP_CONST_B)
			return true;
	return false;
}

/* A cleared plan that is not the current one. */
static GpucolCpuDense *
spare_plan(GpucolRun *run)
{
	size_t		size = sizeof(GpucolCpuDense) + sizeof(bool) * (size_t) run->naccs;
	int			spare = run->dense == run->plans[0];

	if (run->plans[spare] == NULL)
		run->plans[spare] = gpucol_cpu_alloc(run, size);
	if (run->plans[spare] != NULL)
		memset(run->plans[spare], 0, size);
	return run->plans[spare];
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
		for (int a = 0; a < run->naccs; a++)
			plan->all &= plan->acc[a] = plan_plain_acc(run, &run->accs[a]);
	}
	else if (!plan_grouped(run, plan, &kept))
		plan = NULL;
	if (plan == NULL || !kept || !same_meaning(run->dense, plan))
	{
		status = flush_all(run);
		if (status != GPUCOL_OK)
			return status;
		run->dense_meaning++;
		run->dense_layout += !kept;
	}
	run->dense = plan;
	if (plan == NULL)
		memset(run->unread, 0, run->program->nregs);
	else
		plan_unread(run, plan);
	return GPUCOL_OK;
}

/* The segment is done: flush what only its dictionaries explain. */
GpucolStatus
gpucol_cpu_dense_close(GpucolRun *run)
{
	GpucolStatus status = GPUCOL_OK;

	if (run->dense != NULL && run->dense->coded)
	{
		status = flush_all(run);
		run->dense = NULL;
	}
	return status;
}

/* All segments are done. */
GpucolStatus
gpucol_cpu_dense_end(GpucolRun *run)
{
	GpucolStatus status = flush_all(run);

	run->dense = NULL;
	memset(run->unread, 0, run->program->nregs);
	return status;
}

/* ---- vectors ---- */

/* Advance the states of the only group that need no values; *done if all. */
void
gpucol_cpu_dense_plain(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
					   const GpucolCpuVector *vector, bool *done)
{
	const GpucolRun *run = worker->run;

	for (int a = 0; a < run->naccs; a++)
		if (run->dense->acc[a])
			update_plain_acc(worker, &run->accs[a], vector,
							 groups->states + run->accs[a].offset);
	*done = run->dense->all;
}

bool
gpucol_cpu_dense_has(const GpucolRun *run, int acc)
{
	return run->dense->acc[acc];
}

/* Make the partition's arrays fit the plan. */
static GpucolStatus
fit_arrays(GpucolRun *run, GpucolCpuGroups *groups)
{
	const GpucolCpuDense *plan = run->dense;

	if (groups->layout != run->dense_layout)
	{
		gpucol_cpu_free(run, groups->slot_groups);
		groups->slot_groups = gpucol_cpu_alloc0(run, sizeof(uint32_t) * (size_t) plan->nslots);
		if (groups->slot_groups == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		groups->layout = run->dense_layout;
	}
	if (groups->meaning != run->dense_meaning)
	{
		gpucol_cpu_free(run, groups->channels);
		groups->channels = gpucol_cpu_alloc0(run, sizeof(uint64_t) * plan->copies *
											 (size_t) plan->nchannels * plan->nslots);
		if (groups->channels == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		groups->meaning = run->dense_meaning;
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
	const GpucolCpuDense *plan = worker->run->dense;

	memset(slots, 0, sizeof(uint32_t) * GPUCOL_VECTOR_VALUES);
	for (int k = 0; k < plan->nkeys; k++)
	{
		const DenseKey *key = &plan->keys[k];
		const GpucolCpuColumn *column = key->column;
		const GpucolChunkDesc *desc = column->desc;
		uint32_t   *codes = worker->codes32;
		uint32_t	delta = 0;
		bool		nullable = has_nulls(desc);
		uint32_t	last = key->card - 1;

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

/* Advance one channel. */
static void
add_channel_rows(uint64_t *channel, const uint32_t *places, const uint64_t *addends, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		channel[places[j]] += addends[j];
}

/* What a channel of extremes is given: 0 where NULL. */
GPUCOL_CPU_CLONES static void
fill_extremes(const uint64_t *codes, const uint16_t *sel, uint32_t n, const uint32_t *nulls,
			  bool least, uint64_t delta, uint64_t *out)
{
	uint64_t	sign = least ? UINT64_MAX : 1;	/* times the code */
	uint64_t	bias = (least ? LEAST_BIAS : 1) + sign * delta;

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

/* Advance a channel of extremes. */
static void
raise_channel_rows(uint64_t *channel, const uint32_t *places, const uint64_t *values, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *word = &channel[places[j]];

		if (values[j] > *word)
			*word = values[j];
	}
}

/* Count rows in a channel. */
static void
add_channel_ones(uint64_t *channel, const uint32_t *places, uint64_t one, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		channel[places[j]] += one;
}

/* Advance the only channel from 32-bit codes, without addends in between. */
static void
add_channel_codes(uint64_t *channel, const uint32_t *places, const uint32_t *codes,
				  uint64_t one, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		channel[places[j]] += codes[j] + one;
}

/* Advance the channels of one argument. */
static void
update_arg(GpucolCpuWorker *worker, const GpucolCpuDense *plan, const DenseArg *arg,
		   const GpucolCpuVector *vector, uint64_t *channels, const uint32_t *places)
{
	const uint16_t *sel = worker->full ? NULL : worker->sel;
	const uint32_t *nulls = arg->nullable ?
		gpucol_cpu_column_nulls(arg->column, vector->number) : NULL;
	const void *words;
	uint64_t	one;

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
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		if (groups->slot_groups[slots[j]] == 0)
		{
			GpucolStatus status = resolve_slots(worker, groups, &slots[j], 1);

			if (status != GPUCOL_OK)
				return status;
		}
		worker->ids[j] = groups->slot_groups[slots[j]] - 1;
	}
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
	const GpucolCpuDense *plan = worker->run->dense;
	uint32_t	slots[GPUCOL_VECTOR_VALUES];
	uint32_t	places[GPUCOL_VECTOR_VALUES];
	bool		others = false;
	GpucolStatus status = fit_arrays(worker->run, groups);

	if (status == GPUCOL_OK && groups->slot_rows + worker->nsel > plan->flush_rows)
		status = flush(worker, groups);
	if (status != GPUCOL_OK)
		return status;
	groups->slot_rows += worker->nsel;
	fill_slots(worker, vector, slots);
	if (!worker->full)
		gather_slots(worker->sel, worker->nsel, slots);
	spread_slots(slots, worker->nsel, plan->copies, (uint32_t) plan->nchannels, places);
	for (int a = 0; a < plan->nargs; a++)
		update_arg(worker, plan, &plan->args[a], vector, groups->channels, places);
	if (plan->rows_alone)
		add_channel_ones(groups->channels + plan->rows_channel, places,
						 UINT64_C(1) << plan->shift[plan->rows_channel], worker->nsel);
	for (int a = 0; a < worker->run->naccs; a++)
		others |= !plan->acc[a];
	return others ? fill_ids(worker, groups, slots) : GPUCOL_OK;
}
