/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  Aggregation: its set-up and the delivery of groups.
 *
 * Aggregates of the program are broken down into physical states (GpucolCpuAcc)
 * that they share: sum(x), avg(x) and count(x) need one sum and one count.  A
 * group's states are consecutive words.  The first word always counts the
 * group's rows.
 *
 * Partitions.  Each worker aggregates into a table of its own, and the tables
 * are merged at the end, or, where they become large, drained into tables by key
 * (agg_drain.c).  Sums of floats depend on the order of addition, so
 * with them the tables belong to partitions instead, of which there is a fixed
 * number whatever the number of threads: vector v of the scan belongs to
 * partition v mod N, one worker does a partition's vectors in order, and the
 * partitions are merged in order.  The result depends on the data alone.  A thread with
 * several partitions has a table for all of them (agg_apart.c).
 *
 * Sums of integers and decimals are exact (int128); those of floats: engine/cpu/agg.h.
 * agg_update.c advances the states, agg_merge.c merges them.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/final.h"

#define FLOAT_PARTS 4			/* partitions of a grouped float aggregation */
#define FLOAT_PARTS_UNGROUPED 16
#define BATCH 1024				/* groups delivered at a time, or by a thread of several */
#define DEALT 4					/* times so many, */
#define MOST_BATCH (32 * BATCH)	/* by all of them, */
#define BATCH_SHARE 64			/* which take at most this part of memory */
#define NO_WORD UINT32_MAX

static const uint8_t acc_words[] = {
	[GPUCOL_CPU_ACC_COUNT] = 1,[GPUCOL_CPU_ACC_SUM_I] = 2,
	[GPUCOL_CPU_ACC_SUM_D] = 2,[GPUCOL_CPU_ACC_SUM_F] = 2,
	[GPUCOL_CPU_ACC_SUMSQ_I] = 2,[GPUCOL_CPU_ACC_SUMSQ_D] = 2,
	[GPUCOL_CPU_ACC_SUMSQ_F] = 3,[GPUCOL_CPU_ACC_MIN_I] = 1,
	[GPUCOL_CPU_ACC_MAX_I] = 1,[GPUCOL_CPU_ACC_MIN_D] = 2,
	[GPUCOL_CPU_ACC_MAX_D] = 2,[GPUCOL_CPU_ACC_MIN_F] = 1,
	[GPUCOL_CPU_ACC_MAX_F] = 1,[GPUCOL_CPU_ACC_AND] = 1,
	[GPUCOL_CPU_ACC_OR] = 1,[GPUCOL_CPU_ACC_XOR] = 1,[GPUCOL_CPU_ACC_DISTINCT] = 1,
	[GPUCOL_CPU_ACC_MIN_S] = 3,[GPUCOL_CPU_ACC_MAX_S] = 3,
	[GPUCOL_CPU_ACC_PRODUCTS] = 4,[GPUCOL_CPU_ACC_MIN_P] = 3,
	[GPUCOL_CPU_ACC_MAX_P] = 3,
};

#define INT128_MAX ((__int128) (~(unsigned __int128) 0 >> 1))
#define INT128_MIN (-INT128_MAX - 1)

/* ---- set-up ---- */

uint32_t
gpucol_cpu_acc_words(GpucolCpuAccOp op)
{
	return acc_words[op];
}

/*
 * Number of the physical state for (op, arg, filter, order), added if it is new.
 * `order` is that of strings, or the other argument of PRODUCTS.
 */
static int
find_ordered_acc(GpucolRun *run, GpucolCpuAccOp op, uint16_t arg, uint16_t filter,
				 uint16_t order)
{
	GpucolCpuAcc *acc;

	for (int i = 0; i < run->agg.naccs; i++)
		if (run->agg.accs[i].op == op && run->agg.accs[i].arg == arg &&
			run->agg.accs[i].filter == filter && run->agg.accs[i].order == order)
			return i;
	acc = &run->agg.accs[run->agg.naccs];
	memset(acc, 0, sizeof(*acc));
	acc->op = op;
	acc->arg = arg;
	acc->filter = filter;
	acc->order = order;
	acc->partition = -1;
	acc->offset = run->agg.state_words;
	run->agg.state_words += acc_words[op];
	if (op == GPUCOL_CPU_ACC_DISTINCT)
		acc->distinct = (uint32_t) run->agg.ndistinct++;
	if (gpucol_cpu_extreme_is(acc))
		acc->extreme = (uint32_t) run->agg.nextremes++;
	run->agg.has_float |= op == GPUCOL_CPU_ACC_SUM_F || op == GPUCOL_CPU_ACC_SUMSQ_F ||
		op == GPUCOL_CPU_ACC_PRODUCTS;
	return run->agg.naccs++;
}

static int
find_acc(GpucolRun *run, GpucolCpuAccOp op, uint16_t arg, uint16_t filter)
{
	return find_ordered_acc(run, op, arg, filter, 0);
}

/* Words of the physical states that one aggregate reads. */
static GpucolStatus
map_agg(GpucolRun *run, const GpucolAgg *agg, GpucolCpuAggMap *map)
{
	GpucolClass cls = agg->cls;
	bool		f = cls == GPUCOL_CLASS_F;
	bool		d = cls == GPUCOL_CLASS_D;
	bool		max = agg->op == GPUCOL_AGG_MAX;
	int			v = -1;
	int			w = -1;
	uint16_t	arg = agg->op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : agg->arg;

	switch ((GpucolAggOp) agg->op)
	{
		case GPUCOL_AGG_COUNT_STAR:
		case GPUCOL_AGG_COUNT:
			break;
		case GPUCOL_AGG_SUM:
			if (!f && !d && cls != GPUCOL_CLASS_I)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, f ? GPUCOL_CPU_ACC_SUM_F : d ? GPUCOL_CPU_ACC_SUM_D :
						 GPUCOL_CPU_ACC_SUM_I, arg, agg->filter);
			break;
		case GPUCOL_AGG_MIN:
		case GPUCOL_AGG_MAX:
			v = cls == GPUCOL_CLASS_S ?
				find_ordered_acc(run, max ? GPUCOL_CPU_ACC_MAX_S : GPUCOL_CPU_ACC_MIN_S,
								 arg, agg->filter, agg->order) :
				gpucol_agg_is_packed(agg) ?
				find_acc(run, max ? GPUCOL_CPU_ACC_MAX_P : GPUCOL_CPU_ACC_MIN_P, arg, agg->filter) :
				find_acc(run, f ? (max ? GPUCOL_CPU_ACC_MAX_F : GPUCOL_CPU_ACC_MIN_F) :
						 d ? (max ? GPUCOL_CPU_ACC_MAX_D : GPUCOL_CPU_ACC_MIN_D) :
						 cls == GPUCOL_CLASS_B ?
						 (max ? GPUCOL_CPU_ACC_OR : GPUCOL_CPU_ACC_AND) :
						 (max ? GPUCOL_CPU_ACC_MAX_I : GPUCOL_CPU_ACC_MIN_I),
						 arg, agg->filter);
			break;
		case GPUCOL_AGG_SUMSQ:
			if (f)
				v = find_acc(run, GPUCOL_CPU_ACC_SUMSQ_F, arg, agg->filter);
			else if (d || cls == GPUCOL_CLASS_I)
			{
				v = find_acc(run, d ? GPUCOL_CPU_ACC_SUM_D : GPUCOL_CPU_ACC_SUM_I,
							 arg, agg->filter);
				w = find_acc(run, d ? GPUCOL_CPU_ACC_SUMSQ_D : GPUCOL_CPU_ACC_SUMSQ_I,
							 arg, agg->filter);
			}
			else
				return GPUCOL_UNSUPPORTED;
			break;
		case GPUCOL_AGG_BOOL_AND:
		case GPUCOL_AGG_BOOL_OR:
			if (cls != GPUCOL_CLASS_B && cls != GPUCOL_CLASS_I)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, agg->op == GPUCOL_AGG_BOOL_AND ? GPUCOL_CPU_ACC_AND :
						 GPUCOL_CPU_ACC_OR, arg, agg->filter);
			break;
		case GPUCOL_AGG_BIT_XOR:
			if (cls != GPUCOL_CLASS_I)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, GPUCOL_CPU_ACC_XOR, arg, agg->filter);
			break;
		case GPUCOL_AGG_PRODUCTS:
			v = find_ordered_acc(run, GPUCOL_CPU_ACC_PRODUCTS, arg, agg->filter, agg->order);
			break;
		case GPUCOL_AGG_COUNT_DISTINCT:
			if (d)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, GPUCOL_CPU_ACC_DISTINCT, arg, agg->filter);
			break;
		default:
			return GPUCOL_UNSUPPORTED;
	}
	map->count = run->agg.accs[find_acc(run, GPUCOL_CPU_ACC_COUNT, arg, agg->filter)].offset;
	map->v = v < 0 ? NO_WORD : run->agg.accs[v].offset;
	map->w = w < 0 ? NO_WORD : run->agg.accs[w].offset;
	return GPUCOL_OK;
}

/* The state of products of a register with itself, over the rows of another, or NULL. */
static GpucolCpuAcc *
find_own_products(GpucolRun *run, const GpucolCpuAcc *of, uint16_t reg)
{
	for (int i = 0; i < run->agg.naccs; i++)
	{
		GpucolCpuAcc *acc = &run->agg.accs[i];

		if (acc->op == GPUCOL_CPU_ACC_PRODUCTS && acc->arg == reg && acc->order == reg &&
			acc->filter == of->filter && !acc->with_other)
			return acc;
	}
	return NULL;
}

/*
 * Products of two arguments advance those of each with itself, whose rows, sums and deviations
 * are theirs: arguments of pairs are NULL in the same rows.
 */
static void
join_products(GpucolRun *run)
{
	for (int i = 0; i < run->agg.naccs; i++)
	{
		GpucolCpuAcc *acc = &run->agg.accs[i];
		bool		is = acc->op == GPUCOL_CPU_ACC_PRODUCTS && acc->arg != acc->order;
		GpucolCpuAcc *x = is ? find_own_products(run, acc, acc->arg) : NULL;
		GpucolCpuAcc *y = is ? find_own_products(run, acc, acc->order) : NULL;

		if (x == NULL || y == NULL)
			continue;
		acc->with[0] = (int32_t) x->offset - (int32_t) acc->offset;
		acc->with[1] = (int32_t) y->offset - (int32_t) acc->offset;
		x->with_other = y->with_other = true;
	}
}

/* The state of a group without rows. */
static void
init_first_state(GpucolRun *run)
{
	for (int i = 0; i < run->agg.naccs; i++)
	{
		uint64_t   *words = run->agg.first_state + run->agg.accs[i].offset;

		switch (run->agg.accs[i].op)
		{
			case GPUCOL_CPU_ACC_MIN_I:
			case GPUCOL_CPU_ACC_MIN_F:
				*words = INT64_MAX;
				break;
			case GPUCOL_CPU_ACC_MAX_I:
			case GPUCOL_CPU_ACC_MAX_F:
				*words = (uint64_t) INT64_MIN;
				break;
			case GPUCOL_CPU_ACC_MIN_D:
				gpucol_cpu_put128(words, INT128_MAX);
				break;
			case GPUCOL_CPU_ACC_MAX_D:
				gpucol_cpu_put128(words, INT128_MIN);
				break;
			case GPUCOL_CPU_ACC_AND:
				*words = run->code.classes[run->agg.accs[i].arg] == GPUCOL_CLASS_B ? 1 : UINT64_MAX;
				break;
			case GPUCOL_CPU_ACC_SUM_F:
				((GpucolCpuFloatSum *) words)->sum = -0.0;	/* neutral for -0 too */
				break;
			default:
				break;
		}
	}
}

/* One group from the start where there are no keys. */
static GpucolStatus
add_only_group(GpucolCpuGroups *groups)
{
	uint64_t	key = 0;
	uint64_t	hash;
	uint32_t	id;

	return gpucol_cpu_group_lookup(groups, &key, 1, 1, &hash, &id);
}

/* Words of the key tuple. */
static void
init_keys(GpucolRun *run)
{
	run->agg.key_words = 1;
	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolClass cls = run->code.classes[run->code.keys[k]];

		run->agg.key_is_float[run->agg.key_words] = cls == GPUCOL_CLASS_F;
		run->agg.key_words += cls == GPUCOL_CLASS_D ? 2 : 1;
	}
}

/* Groups to be delivered at a time: many where that takes little of the memory. */
static size_t
batch_groups(const GpucolRun *run)
{
	size_t		batch = (size_t) run->nworkers * DEALT * BATCH;
	size_t		bytes = sizeof(GpucolAggState) * (run->program->naggs + 1u) +
		(sizeof(__int128) + 1) * run->program->nkeys;

	if (!run->agg.large_batches || run->nworkers == 1)
		return BATCH;
	batch = batch < MOST_BATCH ? batch : MOST_BATCH;
	while (batch > BATCH && run->mem.limit > 0 && batch * bytes > run->mem.limit / BATCH_SHARE)
		batch -= BATCH;
	return batch;
}

/* Buffers for delivery. */
static GpucolStatus
init_output(GpucolRun *run)
{
	size_t		nkeys = run->program->nkeys;
	size_t		batch = batch_groups(run);

	run->agg.batch = (uint32_t) batch;
	run->agg.out_states = gpucol_cpu_alloc(run, sizeof(GpucolAggState) * batch *
										   (run->program->naggs + 1u));
	run->out.columns = gpucol_cpu_alloc0(run, sizeof(GpucolResultColumn) * (nkeys + 1));
	run->out.values = gpucol_cpu_alloc0(run, sizeof(void *) * (nkeys + 1));
	run->out.nulls = gpucol_cpu_alloc0(run, sizeof(uint8_t *) * (nkeys + 1));
	if (run->agg.out_states == NULL || run->out.columns == NULL ||
		run->out.values == NULL || run->out.nulls == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (size_t k = 0; k < nkeys; k++)
	{
		run->out.values[k] = gpucol_cpu_alloc(run, sizeof(__int128) * batch);
		run->out.nulls[k] = gpucol_cpu_alloc(run, batch);
		if (run->out.values[k] == NULL || run->out.nulls[k] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_agg_init(GpucolRun *run)
{
	const GpucolProgram *program = run->program;

	run->agg.accs = gpucol_cpu_alloc0(run, sizeof(GpucolCpuAcc) * ((2u + FLOAT_PARTS) * program->naggs + 2));
	run->agg.maps = gpucol_cpu_alloc0(run, sizeof(GpucolCpuAggMap) * (program->naggs + 1u));
	run->agg.key_is_float = gpucol_cpu_alloc0(run, 2u * program->nkeys + 2);
	if (run->agg.accs == NULL || run->agg.maps == NULL || run->agg.key_is_float == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (program->nkeys > 64)
		return GPUCOL_UNSUPPORTED;
	init_keys(run);
	find_acc(run, GPUCOL_CPU_ACC_COUNT, GPUCOL_NO_REG, GPUCOL_NO_REG);
	for (int a = 0; a < program->naggs; a++)
	{
		GpucolStatus status = map_agg(run, &run->code.aggs[a], &run->agg.maps[a]);

		if (status != GPUCOL_OK)
			return status;
	}
	join_products(run);
	if (run->agg.nextremes > 0)
	{
		GpucolStatus status = gpucol_cpu_extreme_init(run);

		if (status != GPUCOL_OK)
			return status;
	}
	run->agg.group_words = run->agg.key_words + run->agg.state_words;
	run->agg.first_state = gpucol_cpu_alloc0(run, sizeof(uint64_t) * run->agg.state_words);
	if (run->agg.first_state == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	init_first_state(run);
	if (gpucol_cpu_shifted_find(run) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	run->window.partitions = !run->agg.has_float ? 0 :
		program->nkeys > 0 ? FLOAT_PARTS : FLOAT_PARTS_UNGROUPED;
	run->agg.nparts = run->agg.has_float ? (int) run->window.partitions : run->nworkers;
	run->agg.parts = gpucol_cpu_alloc0(run, sizeof(GpucolCpuGroups *) * (size_t) run->agg.nparts);
	if (run->agg.parts == NULL || gpucol_cpu_strings_open(run) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (int p = 0; p < run->agg.nparts; p++)
	{
		run->agg.parts[p] = gpucol_cpu_group_create(run);
		if (run->agg.parts[p] == NULL ||
			(program->nkeys == 0 && add_only_group(run->agg.parts[p]) != GPUCOL_OK))
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int w = 0; w < run->nworkers; w++)
	{
		run->workers[w].moved = gpucol_cpu_alloc(run, sizeof(uint16_t) *
												 (program->nkeys + 3u * (unsigned) run->agg.naccs + 1));
		if (run->workers[w].moved == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		run->workers[w].keys = gpucol_cpu_alloc(run, sizeof(uint64_t) * run->agg.key_words *
												GPUCOL_VECTOR_VALUES);
		if (run->workers[w].keys == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	gpucol_cpu_drain_init(run);
	return init_output(run);
}

/* ---- delivery ---- */

/* One aggregate's state from the words of a group. */
static GpucolStatus
deliver_state(const GpucolAgg *agg, const GpucolCpuAggMap *map,
			  const uint64_t *words, GpucolAggState *out)
{
	const uint64_t *v = map->v == NO_WORD ? NULL : words + map->v;

	memset(out, 0, sizeof(*out));
	out->count = (int64_t) words[map->count];
	if (v == NULL)
		return GPUCOL_OK;
	if (agg->op == GPUCOL_AGG_SUM && agg->cls == GPUCOL_CLASS_F)
	{
		const GpucolCpuFloatSum *sum = (const GpucolCpuFloatSum *) v;

		if (isinf(sum->lost))
			return GPUCOL_FLOAT_OVERFLOW;
		out->v.f = isnan(sum->lost) || sum->lost == 0 ? sum->sum : sum->sum + sum->lost;
	}
	else if (agg->op == GPUCOL_AGG_SUMSQ && agg->cls == GPUCOL_CLASS_F)
	{
		out->v.f = ((const GpucolCpuFloatSquares *) v)->sum;
		out->w.f = ((const GpucolCpuFloatSquares *) v)->squares;
	}
	else if (agg->op == GPUCOL_AGG_PRODUCTS)
	{
		const GpucolCpuFloatProducts *products = (const GpucolCpuFloatProducts *) v;

		memcpy(out->v.sums, products->sums, sizeof(out->v.sums));
		out->w.f = products->products;
	}
	else if (agg->cls == GPUCOL_CLASS_S && agg->op != GPUCOL_AGG_COUNT_DISTINCT)
	{
		GpucolBytes value = gpucol_cpu_extreme_value(v);

		out->v.s.data = value.data;
		out->v.s.len = value.len;
	}
	else if (agg->cls == GPUCOL_CLASS_F && agg->op != GPUCOL_AGG_COUNT_DISTINCT)
		out->v.f = out->count == 0 ? 0 : gpucol_cpu_float_of_order((int64_t) *v);
	else if (agg->op == GPUCOL_AGG_SUM || agg->op == GPUCOL_AGG_SUMSQ ||
			 (agg->cls == GPUCOL_CLASS_D && agg->op != GPUCOL_AGG_COUNT_DISTINCT))
	{
		out->v.i.lo = v[0];
		out->v.i.hi = (int64_t) v[1];
		if (gpucol_agg_is_packed(agg))
			out->w.i.lo = v[2];
	}
	else
		out->v.value = (int64_t) *v;
	if (map->w != NO_WORD)
	{
		out->w.i.lo = words[map->w];
		out->w.i.hi = (int64_t) words[map->w + 1];
	}
	return GPUCOL_OK;
}

/* States of groups [first, end) of the batch that begins with group `base`. */
static GpucolStatus
deliver_states(GpucolRun *run, const GpucolCpuGroups *groups, uint32_t base, uint32_t first, uint32_t end)
{
	uint32_t	naggs = run->program->naggs;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t g = first; g < end; g++)
		for (uint32_t a = 0; a < naggs && status == GPUCOL_OK; a++)
			status = deliver_state(&run->code.aggs[a], &run->agg.maps[a], groups->states +
								   (size_t) (base + g) * run->agg.group_words,
								   &run->agg.out_states[(size_t) g * naggs + a]);
	return status;
}

/* Their keys. */
static void
deliver_keys(GpucolRun *run, const GpucolCpuGroups *groups, uint32_t base, uint32_t first, uint32_t end)
{
	uint32_t	word = 1;

	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolClass cls = run->code.classes[run->code.keys[k]];
		void	   *values = run->out.values[k];

		for (uint32_t g = first; g < end; g++)
		{
			const uint64_t *key = groups->keys + (size_t) (base + g) * run->agg.group_words;
			bool		isnull = key[0] >> k & 1;

			run->out.nulls[k][g] = isnull;
			if (cls == GPUCOL_CLASS_D)
				((__int128 *) values)[g] = gpucol_cpu_get128(key + word);
			else if (cls != GPUCOL_CLASS_S)
				((uint64_t *) values)[g] = key[word];
			else if (isnull)
				((GpucolBytes *) values)[g] = (GpucolBytes) {"", 0};
			else
				((GpucolBytes *) values)[g] = *gpucol_cpu_string(run, key[word]);
		}
		word += cls == GPUCOL_CLASS_D ? 2 : 1;
	}
}

/* A batch that threads deliver. */
typedef struct Delivery
{
	GpucolRun  *run;
	const GpucolCpuGroups *groups;
	uint32_t	base;			/* its first group */
	uint32_t	n;
} Delivery;

/* Thread `index` delivers its part. */
static void
deliver_part(void *arg, int index)
{
	const Delivery *delivery = arg;
	GpucolRun  *run = delivery->run;
	uint32_t	first = (uint32_t) ((uint64_t) delivery->n * (uint32_t) index / (uint32_t) run->nworkers);
	uint32_t	end = (uint32_t) ((uint64_t) delivery->n * ((uint32_t) index + 1) / (uint32_t) run->nworkers);

	run->workers[index].status = deliver_states(run, delivery->groups, delivery->base, first, end);
	deliver_keys(run, delivery->groups, delivery->base, first, end);
}

/* Deliver groups [base, base + n). */
static GpucolStatus
deliver(GpucolRun *run, const GpucolCpuGroups *groups, uint32_t base, uint32_t n)
{
	Delivery	delivery = {run, groups, base, n};

	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolResultColumn *column = &run->out.columns[k];

		column->cls = run->code.classes[run->code.keys[k]];
		column->nulls = run->out.nulls[k];
		column->i = run->out.values[k];
		column->d = run->out.values[k];
		column->f = run->out.values[k];
		column->s = run->out.values[k];
	}
	if (n > BATCH)
	{
		gpucol_pool_run(run->nworkers, deliver_part, &delivery);
		return gpucol_cpu_workers_status(run);
	}
	deliver_keys(run, groups, base, 0, n);
	return deliver_states(run, groups, base, 0, n);
}

/* Aggregate everything on the first call, then deliver. */
GpucolStatus
gpucol_cpu_agg_next(GpucolRun *run, GpucolResult *out)
{
	const GpucolCpuGroups *groups;
	uint32_t	n;
	GpucolStatus status;

	if (!run->agg.merged)
	{
		status = gpucol_cpu_final_init(run);
		if (status == GPUCOL_OK)
			status = gpucol_cpu_agg_set_apart(run);
		if (status != GPUCOL_OK)
			return status;
		/* the first few vectors may have them */
		if (gpucol_cpu_first_any(run))
			run->window.pace = (uint32_t) run->nworkers;
		do
		{
			status = gpucol_cpu_source_step(run);
			if (status == GPUCOL_OK)
				status = gpucol_cpu_drain_large(run);
			if (status == GPUCOL_OK && gpucol_cpu_first_enough(run))
				status = GPUCOL_END;
		} while (status == GPUCOL_OK);
		if (status == GPUCOL_END)
			status = gpucol_cpu_agg_merge_parts(run);
		if (status != GPUCOL_OK)
			return status;
		gpucol_cpu_first_select(run);
	}
	while (run->agg.next_part < run->agg.nparts &&
		   run->agg.next_group == run->agg.parts[run->agg.next_part]->n)
	{
		run->agg.next_part++;
		run->agg.next_group = 0;
	}
	if (run->agg.next_part == run->agg.nparts)
		return GPUCOL_END;
	groups = run->agg.parts[run->agg.next_part];
	n = groups->n - run->agg.next_group;
	if (n > run->agg.batch)
		n = run->agg.batch;
	status = deliver(run, groups, run->agg.next_group, n);
	if (status != GPUCOL_OK)
		return status;
	run->agg.next_group += n;
	out->nrows = n;
	out->columns = run->out.columns;
	out->tids = NULL;
	out->states = run->agg.out_states;
	return GPUCOL_OK;
}
