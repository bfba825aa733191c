/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  Aggregation: states, groups, merge and delivery.
 *
 * Aggregates of the program are broken down into physical states (GpucolCpuAcc)
 * that they share: sum(x), avg(x) and count(x) need one sum and one count.  A
 * group's states are consecutive words.  The first word always counts the
 * group's rows.
 *
 * Partitions.  Each worker aggregates into a table of its own, and the tables
 * are merged at the end.  Sums of floats depend on the order of addition, so
 * with them the tables belong to partitions instead, of which there is a fixed
 * number whatever the number of threads: vector v of the scan belongs to
 * partition v mod N, one worker does a partition's vectors in order, and the
 * partitions are merged in order.  The result depends on the data alone.
 *
 * Sums of integers and decimals are exact (int128).  Sums of floats carry a
 * compensation term (Neumaier); sums of squares of floats follow Youngs and
 * Cramer, merged by the rule of Chan, Golub and LeVeque, as PostgreSQL's do.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu/group.h"
#include "kernel/agg_state.h"
#include "kernel/bitpack.h"

#define FLOAT_PARTS 4			/* partitions of a grouped float aggregation */
#define FLOAT_PARTS_UNGROUPED 16
#define BATCH 1024				/* groups delivered at a time */
#define NO_WORD UINT32_MAX

typedef struct FloatSum
{
	double		sum;			/* plain running sum */
	double		lost;			/* what it lost; NaN once an input was not finite,
								 * infinite if finite inputs overflowed */
} __attribute__((may_alias)) FloatSum;

typedef struct FloatSquares
{
	double		n;
	double		sum;
	double		squares;		/* of deviations from the mean */
} __attribute__((may_alias)) FloatSquares;

static const uint8_t acc_words[] = {
	[GPUCOL_CPU_ACC_COUNT] = 1,[GPUCOL_CPU_ACC_SUM_I] = 2,
	[GPUCOL_CPU_ACC_SUM_D] = 2,[GPUCOL_CPU_ACC_SUM_F] = 2,
	[GPUCOL_CPU_ACC_SUMSQ_I] = 2,[GPUCOL_CPU_ACC_SUMSQ_D] = 2,
	[GPUCOL_CPU_ACC_SUMSQ_F] = 3,[GPUCOL_CPU_ACC_MIN_I] = 1,
	[GPUCOL_CPU_ACC_MAX_I] = 1,[GPUCOL_CPU_ACC_MIN_D] = 2,
	[GPUCOL_CPU_ACC_MAX_D] = 2,[GPUCOL_CPU_ACC_MIN_F] = 1,
	[GPUCOL_CPU_ACC_MAX_F] = 1,[GPUCOL_CPU_ACC_AND] = 1,
	[GPUCOL_CPU_ACC_OR] = 1,[GPUCOL_CPU_ACC_DISTINCT] = 1,
	[GPUCOL_CPU_ACC_MIN_S] = 3,[GPUCOL_CPU_ACC_MAX_S] = 3,
};

#define INT128_MAX ((__int128) (~(unsigned __int128) 0 >> 1))
#define INT128_MIN (-INT128_MAX - 1)

/* ---- set-up ---- */

/*
 * Number of the physical state for (op, arg, filter, order), added if it is new.
 * `order` is that of strings.
 */
static int
find_ordered_acc(GpucolRun *run, GpucolCpuAccOp op, uint16_t arg, uint16_t filter,
				 uint16_t order)
{
	GpucolCpuAcc *acc;

	for (int i = 0; i < run->naccs; i++)
		if (run->accs[i].op == op && run->accs[i].arg == arg &&
			run->accs[i].filter == filter && run->accs[i].order == order)
			return i;
	acc = &run->accs[run->naccs];
	memset(acc, 0, sizeof(*acc));
	acc->op = op;
	acc->arg = arg;
	acc->filter = filter;
	acc->order = order;
	acc->offset = run->state_words;
	run->state_words += acc_words[op];
	if (op == GPUCOL_CPU_ACC_DISTINCT)
		acc->distinct = (uint32_t) run->ndistinct++;
	if (gpucol_cpu_extreme_is(acc))
		acc->extreme = (uint32_t) run->nextremes++;
	run->has_float |= op == GPUCOL_CPU_ACC_SUM_F || op == GPUCOL_CPU_ACC_SUMSQ_F;
	return run->naccs++;
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
			if (cls != GPUCOL_CLASS_B)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, agg->op == GPUCOL_AGG_BOOL_AND ? GPUCOL_CPU_ACC_AND :
						 GPUCOL_CPU_ACC_OR, arg, agg->filter);
			break;
		case GPUCOL_AGG_COUNT_DISTINCT:
			if (d)
				return GPUCOL_UNSUPPORTED;
			v = find_acc(run, GPUCOL_CPU_ACC_DISTINCT, arg, agg->filter);
			break;
		default:
			return GPUCOL_UNSUPPORTED;
	}
	map->count = run->accs[find_acc(run, GPUCOL_CPU_ACC_COUNT, arg, agg->filter)].offset;
	map->v = v < 0 ? NO_WORD : run->accs[v].offset;
	map->w = w < 0 ? NO_WORD : run->accs[w].offset;
	return GPUCOL_OK;
}

/* The state of a group without rows. */
static void
init_first_state(GpucolRun *run)
{
	for (int i = 0; i < run->naccs; i++)
	{
		uint64_t   *words = run->first_state + run->accs[i].offset;

		switch (run->accs[i].op)
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
				*words = 1;
				break;
			case GPUCOL_CPU_ACC_SUM_F:
				((FloatSum *) words)->sum = -0.0;	/* neutral for -0 too */
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
	run->key_words = 1;
	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolClass cls = run->classes[run->keys[k]];

		run->key_is_float[run->key_words] = cls == GPUCOL_CLASS_F;
		run->key_words += cls == GPUCOL_CLASS_D ? 2 : 1;
	}
}

/* Buffers for delivery. */
static GpucolStatus
init_output(GpucolRun *run)
{
	size_t		nkeys = run->program->nkeys;

	run->out_states = gpucol_cpu_alloc(run, sizeof(GpucolAggState) * BATCH *
									   (run->program->naggs + 1u));
	run->out_columns = gpucol_cpu_alloc0(run, sizeof(GpucolResultColumn) * (nkeys + 1));
	run->out_values = gpucol_cpu_alloc0(run, sizeof(void *) * (nkeys + 1));
	run->out_nulls = gpucol_cpu_alloc0(run, sizeof(uint8_t *) * (nkeys + 1));
	if (run->out_states == NULL || run->out_columns == NULL ||
		run->out_values == NULL || run->out_nulls == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (size_t k = 0; k < nkeys; k++)
	{
		run->out_values[k] = gpucol_cpu_alloc(run, sizeof(__int128) * BATCH);
		run->out_nulls[k] = gpucol_cpu_alloc(run, BATCH);
		if (run->out_values[k] == NULL || run->out_nulls[k] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_agg_init(GpucolRun *run)
{
	const GpucolProgram *program = run->program;

	run->accs = gpucol_cpu_alloc0(run, sizeof(GpucolCpuAcc) * (3u * program->naggs + 2));
	run->agg_map = gpucol_cpu_alloc0(run, sizeof(GpucolCpuAggMap) * (program->naggs + 1u));
	run->key_is_float = gpucol_cpu_alloc0(run, 2u * program->nkeys + 2);
	if (run->accs == NULL || run->agg_map == NULL || run->key_is_float == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (program->nkeys > 64)
		return GPUCOL_UNSUPPORTED;
	init_keys(run);
	find_acc(run, GPUCOL_CPU_ACC_COUNT, GPUCOL_NO_REG, GPUCOL_NO_REG);
	for (int a = 0; a < program->naggs; a++)
	{
		GpucolStatus status = map_agg(run, &run->aggs[a], &run->agg_map[a]);

		if (status != GPUCOL_OK)
			return status;
	}
	if (run->nextremes > 0)
	{
		GpucolStatus status = gpucol_cpu_extreme_init(run);

		if (status != GPUCOL_OK)
			return status;
	}
	run->first_state = gpucol_cpu_alloc0(run, sizeof(uint64_t) * run->state_words);
	if (run->first_state == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	init_first_state(run);
	run->by_ordinal = run->has_float;
	run->nparts = !run->has_float ? run->nworkers :
		program->nkeys > 0 ? FLOAT_PARTS : FLOAT_PARTS_UNGROUPED;
	run->parts = gpucol_cpu_alloc0(run, sizeof(GpucolCpuGroups *) * (size_t) run->nparts);
	if (run->parts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int p = 0; p < run->nparts; p++)
	{
		run->parts[p] = gpucol_cpu_group_create(run);
		if (run->parts[p] == NULL ||
			(program->nkeys == 0 && add_only_group(run->parts[p]) != GPUCOL_OK))
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int w = 0; w < run->nworkers; w++)
	{
		run->workers[w].keys = gpucol_cpu_alloc(run, sizeof(uint64_t) * run->key_words *
												GPUCOL_VECTOR_VALUES);
		if (run->workers[w].keys == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return init_output(run);
}

/* ---- keys ---- */

/* Key word of a double: one NaN. */
GPUCOL_CPU_INLINE uint64_t
float_word(double value)
{
	uint64_t	bits;

	if (value != value)
		return UINT64_C(0x7ff8000000000000);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Numbers of the byte strings of a register; 0 where a byte of `skip` is set. */
static GpucolStatus
string_words(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuReg *reg,
			 const uint8_t *skip, uint64_t *words)
{
	return reg->coded ?
		gpucol_cpu_group_codes(groups, reg->column, reg->codes, skip, worker->nsel, words) :
		gpucol_cpu_group_strings(groups, reg->v.s, skip, worker->nsel, worker->hashes, words);
}

/* Fill the key words of the selected rows. */
static GpucolStatus
fill_keys(GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	const GpucolRun *run = worker->run;
	uint32_t	n = worker->nsel;
	uint64_t   *nulls = worker->keys;
	uint64_t   *words = worker->keys + GPUCOL_VECTOR_VALUES;

	memset(nulls, 0, sizeof(uint64_t) * n);
	for (int k = 0; k < run->program->nkeys; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[run->keys[k]];
		GpucolStatus status = reg->cls == GPUCOL_CLASS_S ?
			string_words(worker, groups, reg, reg->nulls, words) : GPUCOL_OK;

		for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
		{
			bool		isnull = reg->nulls != NULL && reg->nulls[j];

			nulls[j] |= (uint64_t) isnull << k;
			if (isnull)
			{
				words[j] = 0;
				if (reg->cls == GPUCOL_CLASS_D)
					words[j + GPUCOL_VECTOR_VALUES] = 0;
			}
			else if (reg->cls == GPUCOL_CLASS_I)
				words[j] = (uint64_t) reg->v.i[j];
			else if (reg->cls == GPUCOL_CLASS_B)
				words[j] = reg->v.b[j];
			else if (reg->cls == GPUCOL_CLASS_F)
				words[j] = float_word(reg->v.f[j]);
			else if (reg->cls == GPUCOL_CLASS_D)
			{
				words[j] = (uint64_t) reg->v.d[j];
				words[j + GPUCOL_VECTOR_VALUES] = (uint64_t) (reg->v.d[j] >> 64);
			}
		}
		if (status != GPUCOL_OK)
			return status;
		words += GPUCOL_VECTOR_VALUES * (reg->cls == GPUCOL_CLASS_D ? 2 : 1);
	}
	return GPUCOL_OK;
}

/* ---- states ---- */

/* Position of a double for MIN and MAX; -0 below 0, so that bits survive. */
GPUCOL_CPU_INLINE int64_t
strict_order(double value)
{
	int64_t		bits;

	if (value != value)
		return INT64_MAX;
	memcpy(&bits, &value, sizeof(bits));
	return bits ^ ((bits >> 63) & INT64_MAX);
}

static double
from_strict_order(int64_t order)
{
	double		value;

	order ^= (order >> 63) & INT64_MAX;
	memcpy(&value, &order, sizeof(value));
	return value;
}

/* Is it neither infinite nor NaN? */
GPUCOL_CPU_INLINE bool
is_finite(double x)
{
	return fabs(x) <= 1.7976931348623157e308;
}

/* Add to a compensated sum; what the addition loses is exact (Knuth's TwoSum). */
GPUCOL_CPU_INLINE void
add_float(FloatSum *state, double x)
{
	double		sum = state->sum + x;
	double		part = sum - state->sum;

	if (__builtin_expect(!is_finite(sum), 0))
	{
		if (!is_finite(x))
			state->lost = NAN;
		else if (is_finite(state->sum))
			state->lost = INFINITY;
	}
	else
		state->lost += (state->sum - (sum - part)) + (x - part);
	state->sum = sum;
}

/* Merge b into a. */
static void
merge_float(FloatSum *a, const FloatSum *b)
{
	add_float(a, b->sum);
	if (isnan(b->lost))
		a->lost = NAN;
	else if (isinf(b->lost))
		a->lost = isnan(a->lost) ? a->lost : INFINITY;
	else
		a->lost += b->lost;
}

/* Sum of n finite values in LANES interleaved sums, merged in order. */
#define LANES 8
GPUCOL_CPU_CLONES static void
sum_lanes(const double *x, uint32_t n, FloatSum *out)
{
	double		sum[LANES];
	double		lost[LANES];

	for (int l = 0; l < LANES; l++)
	{
		sum[l] = -0.0;
		lost[l] = 0;
	}
	for (uint32_t j = 0; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++)
		{
			double		total = sum[l] + x[j + l];
			double		part = total - sum[l];

			lost[l] += (sum[l] - (total - part)) + (x[j + l] - part);
			sum[l] = total;
		}
	out->sum = -0.0;
	out->lost = 0;
	for (int l = 0; l < LANES; l++)
	{
		FloatSum	lane = {sum[l], lost[l]};

		merge_float(out, &lane);
	}
	for (uint32_t j = n / LANES * LANES; j < n; j++)
		add_float(out, x[j]);
}

/* Are all n values finite? */
GPUCOL_CPU_CLONES static bool
all_finite(const double *x, uint32_t n)
{
	uint64_t	bad = 0;

	for (uint32_t j = 0; j < n; j++)
		bad |= (uint64_t) !is_finite(x[j]);
	return bad == 0;
}

/*
 * Add n values to one sum.  Only if all of them and the result are finite do
 * the lanes give it; else row by row, for its infinities and errors.
 */
static void
add_floats(FloatSum *state, const double *x, uint32_t n)
{
	FloatSum	vector;

	if (all_finite(x, n))
	{
		sum_lanes(x, n, &vector);
		if (is_finite(vector.sum) && is_finite(vector.lost))
		{
			merge_float(state, &vector);
			return;
		}
	}
	for (uint32_t j = 0; j < n; j++)
		add_float(state, x[j]);
}

/* PostgreSQL's float8_accum. */
static GpucolStatus
add_squares(FloatSquares *state, double x)
{
	double		n = state->n;
	double		sum = state->sum;

	state->n = n + 1;
	state->sum = sum + x;
	if (n == 0)
	{
		if (!isfinite(x))
			state->squares = NAN;
		return GPUCOL_OK;
	}
	{
		double		delta = x * state->n - state->sum;

		state->squares += delta * delta / (state->n * n);
	}
	if (isinf(state->sum) || isinf(state->squares))
	{
		if (!isinf(sum) && !isinf(x))
			return GPUCOL_FLOAT_OVERFLOW;
		state->squares = NAN;
	}
	return GPUCOL_OK;
}

static GpucolStatus
merge_squares(FloatSquares *a, const FloatSquares *b)
{
	GpucolStatus status;

	if (b->n == 0)
		return GPUCOL_OK;
	if (a->n == 0)
	{
		*a = *b;
		return GPUCOL_OK;
	}
	status = gpucol_agg_merge_deviations(a->n, &a->sum, &a->squares, b->n, b->sum, b->squares);
	a->n += b->n;
	return status;
}

/* Deviations of n finite values from their mean, in two passes. */
GPUCOL_CPU_CLONES static double
sum_deviations(const double *x, uint32_t n, double mean)
{
	double		squares[LANES] = {0};
	double		total = 0;

	for (uint32_t j = 0; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++)
			squares[l] += (x[j + l] - mean) * (x[j + l] - mean);
	for (int l = 0; l < LANES; l++)
		total += squares[l];
	for (uint32_t j = n / LANES * LANES; j < n; j++)
		total += (x[j] - mean) * (x[j] - mean);
	return total;
}

/* Add n values to one state of n, sum and squares. */
static GpucolStatus
add_squares_of(FloatSquares *state, const double *x, uint32_t n)
{
	if (n >= LANES && all_finite(x, n))
	{
		FloatSquares vector = {n, 0, 0};
		FloatSum	sum;

		sum_lanes(x, n, &sum);
		vector.sum = sum.sum + sum.lost;
		vector.squares = sum_deviations(x, n, vector.sum / n);
		if (is_finite(vector.sum) && is_finite(vector.squares))
			return merge_squares(state, &vector);
	}
	for (uint32_t j = 0; j < n; j++)
	{
		GpucolStatus status = add_squares(state, x[j]);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* Rows that advance a state: NULL for all, else bytes in worker->valid. */
static const uint8_t *
valid_rows(GpucolCpuWorker *worker, const GpucolCpuAcc *acc)
{
	const uint8_t *nulls = NULL;
	uint32_t	n = worker->nsel;

	if (acc->arg != GPUCOL_NO_REG)
		nulls = worker->regs[acc->arg].nulls;
	if (acc->filter == GPUCOL_NO_REG)
	{
		if (nulls == NULL)
			return NULL;
		for (uint32_t j = 0; j < n; j++)
			worker->valid[j] = !nulls[j];
		return worker->valid;
	}
	{
		const GpucolCpuReg *filter = &worker->regs[acc->filter];

		for (uint32_t j = 0; j < n; j++)
			worker->valid[j] = filter->v.b[j] &&
				!(filter->nulls != NULL && filter->nulls[j]) &&
				!(nulls != NULL && nulls[j]);
	}
	return worker->valid;
}

/*
 * Advance a state: BODY for each valid row j, with `words` the state's words in
 * the row's group.
 */
#define FOR_ROWS(BODY) \
	do \
	{ \
		if (valid == NULL) \
			for (uint32_t j = 0; j < n; j++) \
			{ \
				uint64_t   *words = states + (size_t) ids[j] * stride; \
\
				BODY; \
			} \
		else \
			for (uint32_t j = 0; j < n; j++) \
			{ \
				uint64_t   *words = states + (size_t) ids[j] * stride; \
\
				if (valid[j]) \
					BODY; \
			} \
	} while (0)

/*
 * Leave out the rows whose pair of group and code was there before in this segment.
 * `valid` (or NULL) becomes what is left, in worker->valid.
 */
static const uint8_t *
leave_seen(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
		   const uint8_t *valid)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	GpucolCpuSeen *seen = gpucol_cpu_group_seen(groups, acc->distinct, reg->column);

	if (seen == NULL)
		return valid;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		bool		fresh = valid == NULL || valid[j];

		if (fresh && worker->ids[j] < seen->ngroups)
		{
			uint64_t   *word = seen->bits +
				((size_t) worker->ids[j] * seen->ncodes + reg->codes[j]) / 64;
			uint64_t	bit = UINT64_C(1) << reg->codes[j] % 64;

			fresh = (*word & bit) == 0;
			*word |= bit;
		}
		worker->valid[j] = fresh;
	}
	return worker->valid;
}

/* The argument's values of the valid rows, as words of a set. */
static GpucolStatus
distinct_words(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuReg *reg,
			   const uint8_t *valid, uint64_t *words)
{
	uint32_t	n = worker->nsel;
	uint8_t		skip[GPUCOL_VECTOR_VALUES];

	if (reg->cls == GPUCOL_CLASS_S)
	{
		for (uint32_t j = 0; j < n && valid != NULL; j++)
			skip[j] = !valid[j];
		return string_words(worker, groups, reg, valid == NULL ? NULL : skip, words);
	}
	for (uint32_t j = 0; j < n; j++)
	{
		if (reg->cls == GPUCOL_CLASS_I)
			words[j] = (uint64_t) reg->v.i[j];
		else if (reg->cls == GPUCOL_CLASS_B)
			words[j] = reg->v.b[j];
		else
			words[j] = reg->v.f[j] == 0 ? 0 : float_word(reg->v.f[j]);
	}
	return GPUCOL_OK;
}

/* Add the pair (group, value) of each valid row to a set. */
static GpucolStatus
update_distinct(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
				const GpucolCpuAcc *acc, const uint8_t *valid)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	GpucolCpuSet *set = &groups->sets[acc->distinct];
	uint32_t	stride = worker->run->state_words;
	uint64_t	words[GPUCOL_VECTOR_VALUES];
	GpucolStatus status;

	if (reg->cls == GPUCOL_CLASS_S && reg->coded)
		valid = leave_seen(worker, groups, acc, valid);
	status = distinct_words(worker, groups, reg, valid, words);
	for (uint32_t j = 0; j < worker->nsel && status == GPUCOL_OK; j++)
		if (valid == NULL || valid[j])
			gpucol_cpu_group_prefetch(set, worker->ids[j], words[j]);
	for (uint32_t j = 0; j < worker->nsel && status == GPUCOL_OK; j++)
	{
		bool		added;

		if (valid != NULL && !valid[j])
			continue;
		status = gpucol_cpu_group_add(groups, set, worker->ids[j], words[j], &added);
		if (status == GPUCOL_OK)
			groups->states[(size_t) worker->ids[j] * stride + acc->offset] += added;
	}
	return status;
}

/* Move the valid rows of an argument together; returns their number. */
static uint32_t
pack_doubles(const double *x, const uint8_t *valid, uint32_t n, double *out)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		out[m] = x[j];
		m += valid[j];
	}
	return m;
}

/* Exact sum of int64 values where valid (NULL = everywhere). */
GPUCOL_CPU_CLONES static __int128
sum_ints(const int64_t *x, const uint8_t *valid, uint32_t n)
{
	int64_t		high = 0;
	uint64_t	low = 0;

	if (valid == NULL)
		for (uint32_t j = 0; j < n; j++)
		{
			high += x[j] >> 32;
			low += (uint32_t) x[j];
		}
	else
		for (uint32_t j = 0; j < n; j++)
		{
			int64_t		value = x[j] & -(int64_t) valid[j];

			high += value >> 32;
			low += (uint32_t) value;
		}
	return (__int128) high * ((__int128) 1 << 32) + low;
}

/* Least and greatest of int64 values where valid, starting from *least, *greatest. */
GPUCOL_CPU_CLONES static void
extreme_ints(const int64_t *x, const uint8_t *valid, uint32_t n, int64_t *least,
			 int64_t *greatest)
{
	int64_t		lo = *least;
	int64_t		hi = *greatest;

	if (valid == NULL)
		for (uint32_t j = 0; j < n; j++)
		{
			lo = x[j] < lo ? x[j] : lo;
			hi = x[j] > hi ? x[j] : hi;
		}
	else
		for (uint32_t j = 0; j < n; j++)
		{
			int64_t		value = valid[j] ? x[j] : *least;
			int64_t		other = valid[j] ? x[j] : *greatest;

			lo = value < lo ? value : lo;
			hi = other > hi ? other : hi;
		}
	*least = lo;
	*greatest = hi;
}

GPUCOL_CPU_CLONES static uint32_t
count_bytes(const uint8_t *valid, uint32_t n)
{
	uint32_t	count = 0;

	for (uint32_t j = 0; j < n; j++)
		count += valid[j];
	return count;
}

/*
 * Advance one physical state of the only group over the selected rows; *done
 * false where the general way must do it.
 */
static GpucolStatus
update_only(GpucolCpuWorker *worker, const GpucolCpuAcc *acc, const uint8_t *valid,
			uint64_t *words, bool *done)
{
	const GpucolCpuReg *reg = acc->arg == GPUCOL_NO_REG ? NULL : &worker->regs[acc->arg];
	uint32_t	n = worker->nsel;
	double	   *packed = (double *) worker->hashes;
	const double *floats;
	int64_t		least = INT64_MAX;
	int64_t		greatest = INT64_MIN;

	*done = true;
	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_COUNT:
			words[0] += valid == NULL ? n : count_bytes(valid, n);
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_SUM_I:
			gpucol_cpu_put128(words, gpucol_cpu_get128(words) + sum_ints(reg->v.i, valid, n));
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_MIN_I:
		case GPUCOL_CPU_ACC_MAX_I:
			extreme_ints(reg->v.i, valid, n, &least, &greatest);
			if (acc->op == GPUCOL_CPU_ACC_MIN_I && least < (int64_t) words[0])
				words[0] = (uint64_t) least;
			if (acc->op == GPUCOL_CPU_ACC_MAX_I && greatest > (int64_t) words[0])
				words[0] = (uint64_t) greatest;
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_SUM_F:
		case GPUCOL_CPU_ACC_SUMSQ_F:
			floats = reg->v.f;
			if (valid != NULL)
			{
				n = pack_doubles(floats, valid, n, packed);
				floats = packed;
			}
			if (acc->op == GPUCOL_CPU_ACC_SUMSQ_F)
				return add_squares_of((FloatSquares *) words, floats, n);
			add_floats((FloatSum *) words, floats, n);
			return GPUCOL_OK;
		default:
			*done = false;
			return GPUCOL_OK;
	}
}

/* Advance one physical state over the selected rows. */
static GpucolStatus
update_acc(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
		   const GpucolCpuVector *vector)
{
	const uint8_t *valid = valid_rows(worker, acc);
	const GpucolCpuReg *reg = acc->arg == GPUCOL_NO_REG ? NULL : &worker->regs[acc->arg];
	uint32_t	n = worker->nsel;
	const uint32_t *ids = worker->ids;
	size_t		stride = worker->run->state_words;
	uint64_t   *states = groups->states + acc->offset;
	GpucolStatus status = GPUCOL_OK;

	if (worker->run->program->nkeys == 0)
	{
		bool		done;

		status = update_only(worker, acc, valid, states, &done);
		if (done)
			return status;
	}
	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_COUNT:
			FOR_ROWS(words[0]++);
			break;
		case GPUCOL_CPU_ACC_SUM_I:
			FOR_ROWS(gpucol_cpu_put128(words, gpucol_cpu_get128(words) + reg->v.i[j]));
			break;
		case GPUCOL_CPU_ACC_SUM_D:
			FOR_ROWS(
					 {
						 __int128 sum;
						 if (__builtin_add_overflow(gpucol_cpu_get128(words), reg->v.d[j], &sum))
							 status = GPUCOL_UNSUPPORTED;
						 gpucol_cpu_put128(words, sum);
					 });
			break;
		case GPUCOL_CPU_ACC_SUM_F:
			FOR_ROWS(add_float((FloatSum *) words, reg->v.f[j]));
			break;
		case GPUCOL_CPU_ACC_SUMSQ_I:
		case GPUCOL_CPU_ACC_SUMSQ_D:
			FOR_ROWS(
					 {
						 __int128 x = acc->op == GPUCOL_CPU_ACC_SUMSQ_I ?
						 (__int128) reg->v.i[j] : reg->v.d[j];
						 __int128 sum;
						 if (__builtin_mul_overflow(x, x, &x) ||
							 __builtin_add_overflow(gpucol_cpu_get128(words), x, &sum))
							 status = GPUCOL_UNSUPPORTED;
						 else
							 gpucol_cpu_put128(words, sum);
					 });
			break;
		case GPUCOL_CPU_ACC_SUMSQ_F:
			FOR_ROWS(
					 {
						 GpucolStatus one = add_squares((FloatSquares *) words, reg->v.f[j]);
						 if (one != GPUCOL_OK)
							 status = one;
					 });
			break;
		case GPUCOL_CPU_ACC_MIN_I:
			FOR_ROWS(if (reg->v.i[j] < (int64_t) words[0]) words[0] = (uint64_t) reg->v.i[j]);
			break;
		case GPUCOL_CPU_ACC_MAX_I:
			FOR_ROWS(if (reg->v.i[j] > (int64_t) words[0]) words[0] = (uint64_t) reg->v.i[j]);
			break;
		case GPUCOL_CPU_ACC_MIN_D:
			FOR_ROWS(if (reg->v.d[j] < gpucol_cpu_get128(words)) gpucol_cpu_put128(words, reg->v.d[j]));
			break;
		case GPUCOL_CPU_ACC_MAX_D:
			FOR_ROWS(if (reg->v.d[j] > gpucol_cpu_get128(words)) gpucol_cpu_put128(words, reg->v.d[j]));
			break;
		case GPUCOL_CPU_ACC_MIN_F:
			FOR_ROWS(
					 {
						 int64_t order = strict_order(reg->v.f[j]);
						 if (order < (int64_t) words[0])
							 words[0] = (uint64_t) order;
					 });
			break;
		case GPUCOL_CPU_ACC_MAX_F:
			FOR_ROWS(
					 {
						 int64_t order = strict_order(reg->v.f[j]);
						 if (order > (int64_t) words[0])
							 words[0] = (uint64_t) order;
					 });
			break;
		case GPUCOL_CPU_ACC_AND:
			FOR_ROWS(words[0] &= reg->v.b[j]);
			break;
		case GPUCOL_CPU_ACC_OR:
			FOR_ROWS(words[0] |= reg->v.b[j]);
			break;
		case GPUCOL_CPU_ACC_DISTINCT:
			return update_distinct(worker, groups, acc, valid);
		case GPUCOL_CPU_ACC_MIN_S:
		case GPUCOL_CPU_ACC_MAX_S:
			return gpucol_cpu_extreme_update(worker, groups, acc, valid, vector);
	}
	return status;
}

/* Group the passing rows of a vector and advance every state. */
GpucolStatus
gpucol_cpu_agg_update(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolCpuGroups *groups = run->parts[run->by_ordinal ?
										 vector->ordinal % (unsigned) run->nparts :
										 (unsigned) worker->index];
	bool		dense = vector->delta == NULL && run->dense != NULL;
	bool		done = false;
	GpucolStatus status;

	if (dense && run->program->nkeys == 0)
		gpucol_cpu_dense_plain(worker, groups, vector, &done);
	if (done)
		return GPUCOL_OK;
	if (run->program->filter == GPUCOL_NO_REG)
		gpucol_cpu_expr_select(worker);
	if (worker->nsel == 0)
		return GPUCOL_OK;
	status = gpucol_cpu_expr_run(worker, vector, run->program->nfilter_instrs,
								 run->program->ninstrs);
	if (status != GPUCOL_OK)
		return status;
	if (dense && run->program->nkeys > 0)
		status = gpucol_cpu_dense_group(worker, groups, vector);
	else if (run->program->nkeys == 0)
		memset(worker->ids, 0, sizeof(uint32_t) * worker->nsel);
	else
	{
		status = fill_keys(worker, groups);
		if (status == GPUCOL_OK)
			status = gpucol_cpu_group_lookup(groups, worker->keys, GPUCOL_VECTOR_VALUES,
											 worker->nsel, worker->hashes, worker->ids);
	}
	for (int a = 0; a < run->naccs && status == GPUCOL_OK; a++)
		if (!dense || !gpucol_cpu_dense_has(run, a))
			status = update_acc(worker, groups, &run->accs[a], vector);
	return status;
}

/* ---- merge ---- */

/* Merge the states of one group into another's. */
GpucolStatus
gpucol_cpu_agg_merge(const GpucolRun *run, uint64_t *to, const uint64_t *from)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < run->naccs && status == GPUCOL_OK; i++)
	{
		uint64_t   *a = to + run->accs[i].offset;
		const uint64_t *b = from + run->accs[i].offset;
		__int128	sum;

		switch (run->accs[i].op)
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
				merge_float((FloatSum *) a, (const FloatSum *) b);
				break;
			case GPUCOL_CPU_ACC_SUMSQ_F:
				status = merge_squares((FloatSquares *) a, (const FloatSquares *) b);
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
			case GPUCOL_CPU_ACC_MIN_S:
			case GPUCOL_CPU_ACC_MAX_S:
				break;			/* gpucol_cpu_extreme_merge's */
			case GPUCOL_CPU_ACC_DISTINCT:
				break;			/* counted anew as the sets are merged */
		}
	}
	return status;
}

/* One table being merged into another. */
typedef struct Merge
{
	const GpucolRun *run;
	GpucolCpuGroups *to;
	const GpucolCpuGroups *from;
	uint32_t   *strings;		/* by from's string number: to's + 1, 0 unknown */
	uint32_t   *ids;			/* by from's group, where there are sets */
} Merge;

/* The number in `to` of a string of `from`. */
static GpucolStatus
translate_string(Merge *merge, uint64_t *number)
{
	uint32_t   *known = &merge->strings[*number];

	if (*known == 0)
	{
		if (gpucol_cpu_group_string(merge->to, merge->from->strings.values[*number],
									known) != GPUCOL_OK)
		{
			*known = 0;
			return GPUCOL_OUT_OF_MEMORY;
		}
		(*known)++;
	}
	*number = *known - 1;
	return GPUCOL_OK;
}

/* Rewrite string numbers of `from` in a key to those of `to`. */
static GpucolStatus
translate_key(Merge *merge, uint64_t *key)
{
	const GpucolRun *run = merge->run;
	uint32_t	word = 1;

	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolClass cls = run->classes[run->keys[k]];

		if (cls == GPUCOL_CLASS_S && !(key[0] >> k & 1) &&
			translate_string(merge, &key[word]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		word += cls == GPUCOL_CLASS_D ? 2 : 1;
	}
	return GPUCOL_OK;
}

/* Add up to GPUCOL_VECTOR_VALUES pairs to a set. */
static GpucolStatus
merge_pairs(Merge *merge, const GpucolCpuAcc *acc, const uint32_t *groups,
			const uint64_t *values, uint32_t n)
{
	GpucolCpuSet *set = &merge->to->sets[acc->distinct];

	for (uint32_t j = 0; j < n; j++)
		gpucol_cpu_group_prefetch(set, groups[j], values[j]);
	for (uint32_t j = 0; j < n; j++)
	{
		bool		added;

		if (gpucol_cpu_group_add(merge->to, set, groups[j], values[j], &added) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		merge->to->states[(size_t) groups[j] * merge->run->state_words + acc->offset] += added;
	}
	return GPUCOL_OK;
}

/* Merge one set of distinct values. */
static GpucolStatus
merge_set(Merge *merge, const GpucolCpuAcc *acc)
{
	const GpucolCpuSet *set = &merge->from->sets[acc->distinct];
	bool		strings = merge->run->classes[acc->arg] == GPUCOL_CLASS_S;
	uint32_t	groups[GPUCOL_VECTOR_VALUES];
	uint64_t	values[GPUCOL_VECTOR_VALUES];
	uint32_t	n = 0;

	for (uint64_t s = 0; s < set->nslots; s++)
	{
		if (set->slots[2 * s] == 0)
			continue;
		groups[n] = merge->ids[set->slots[2 * s] - 1];
		values[n] = set->slots[2 * s + 1];
		if (strings && translate_string(merge, &values[n]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		if (++n < GPUCOL_VECTOR_VALUES)
			continue;
		if (merge_pairs(merge, acc, groups, values, n) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		n = 0;
	}
	return merge_pairs(merge, acc, groups, values, n);
}

/* Merge up to GPUCOL_VECTOR_VALUES groups, from number `first` on. */
static GpucolStatus
merge_vector(Merge *merge, GpucolCpuWorker *worker, uint32_t first, uint32_t n)
{
	const GpucolRun *run = merge->run;
	GpucolStatus status;

	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t   *key = merge->from->keys + (size_t) (first + j) * run->key_words;

		if (translate_key(merge, key) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		for (uint32_t k = 0; k < run->key_words; k++)
			worker->keys[k * GPUCOL_VECTOR_VALUES + j] = key[k];
	}
	status = gpucol_cpu_group_lookup(merge->to, worker->keys, GPUCOL_VECTOR_VALUES, n,
									 worker->hashes, worker->ids);
	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
	{
		uint64_t   *to = merge->to->states + (size_t) worker->ids[j] * run->state_words;
		const uint64_t *from = merge->from->states + (size_t) (first + j) * run->state_words;

		status = gpucol_cpu_agg_merge(run, to, from);
		if (status == GPUCOL_OK && run->nextremes > 0)
			status = gpucol_cpu_extreme_merge(run, merge->to, to, from);
		if (merge->ids != NULL)
			merge->ids[first + j] = worker->ids[j];
	}
	return status;
}

/* Merge one table into another. */
static GpucolStatus
merge_groups(GpucolRun *run, GpucolCpuGroups *to, GpucolCpuGroups *from)
{
	Merge		merge = {run, to, from, NULL, NULL};
	GpucolStatus status = GPUCOL_OK;

	merge.strings = gpucol_cpu_alloc0(run, sizeof(uint32_t) * ((size_t) from->strings.n + 1));
	if (run->ndistinct > 0)
		merge.ids = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) from->n + 1));
	if (merge.strings == NULL || (run->ndistinct > 0 && merge.ids == NULL))
		status = GPUCOL_OUT_OF_MEMORY;
	for (uint32_t g = 0; g < from->n && status == GPUCOL_OK; g += GPUCOL_VECTOR_VALUES)
		status = merge_vector(&merge, &run->workers[0], g,
							  from->n - g < GPUCOL_VECTOR_VALUES ? from->n - g :
							  GPUCOL_VECTOR_VALUES);
	for (int i = 0; i < run->naccs && status == GPUCOL_OK; i++)
		if (run->accs[i].op == GPUCOL_CPU_ACC_DISTINCT)
			status = merge_set(&merge, &run->accs[i]);
	gpucol_cpu_free(run, merge.strings);
	gpucol_cpu_free(run, merge.ids);
	return status;
}

/* Merge all partitions, in order, into the first; many groups are merged by all threads. */
static GpucolStatus
merge_parts(GpucolRun *run)
{
	if (gpucol_cpu_merge_pays(run))
	{
		run->merged = true;
		return gpucol_cpu_merge_all(run);
	}
	for (int p = 1; p < run->nparts; p++)
	{
		GpucolStatus status = merge_groups(run, run->parts[0], run->parts[p]);

		if (status != GPUCOL_OK)
			return status;
		gpucol_cpu_group_destroy(run->parts[p]);
		run->parts[p] = NULL;
	}
	run->nparts = 1;
	run->merged = true;
	return GPUCOL_OK;
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
		const FloatSum *sum = (const FloatSum *) v;

		if (isinf(sum->lost))
			return GPUCOL_FLOAT_OVERFLOW;
		out->v.f = isnan(sum->lost) || sum->lost == 0 ? sum->sum : sum->sum + sum->lost;
	}
	else if (agg->op == GPUCOL_AGG_SUMSQ && agg->cls == GPUCOL_CLASS_F)
	{
		out->v.f = ((const FloatSquares *) v)->sum;
		out->w.f = ((const FloatSquares *) v)->squares;
	}
	else if (agg->cls == GPUCOL_CLASS_S && agg->op != GPUCOL_AGG_COUNT_DISTINCT)
	{
		GpucolBytes value = gpucol_cpu_extreme_value(v);

		out->v.s.data = value.data;
		out->v.s.len = value.len;
	}
	else if (agg->cls == GPUCOL_CLASS_F && agg->op != GPUCOL_AGG_COUNT_DISTINCT)
		out->v.f = out->count == 0 ? 0 : from_strict_order((int64_t) *v);
	else if (agg->op == GPUCOL_AGG_SUM || agg->op == GPUCOL_AGG_SUMSQ ||
			 (agg->cls == GPUCOL_CLASS_D && agg->op != GPUCOL_AGG_COUNT_DISTINCT))
	{
		out->v.i.lo = v[0];
		out->v.i.hi = (int64_t) v[1];
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

/* Key columns of groups [first, first + n).  The first table has the strings of all. */
static void
deliver_keys(GpucolRun *run, const GpucolCpuGroups *groups, uint32_t first, uint32_t n)
{
	const GpucolCpuStrings *strings = &run->parts[0]->strings;
	uint32_t	word = 1;

	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolResultColumn *column = &run->out_columns[k];
		void	   *values = run->out_values[k];

		column->cls = run->classes[run->keys[k]];
		column->nulls = run->out_nulls[k];
		for (uint32_t g = 0; g < n; g++)
		{
			const uint64_t *key = groups->keys + (size_t) (first + g) * run->key_words;
			bool		isnull = key[0] >> k & 1;

			run->out_nulls[k][g] = isnull;
			if (column->cls == GPUCOL_CLASS_D)
				((__int128 *) values)[g] = gpucol_cpu_get128(key + word);
			else if (column->cls != GPUCOL_CLASS_S)
				((uint64_t *) values)[g] = key[word];
			else if (isnull)
				((GpucolBytes *) values)[g] = (GpucolBytes) {"", 0};
			else
				((GpucolBytes *) values)[g] = strings->values[key[word]];
		}
		column->i = values;
		column->d = values;
		column->f = values;
		column->s = values;
		word += column->cls == GPUCOL_CLASS_D ? 2 : 1;
	}
}

/* Aggregate everything on the first call, then deliver. */
GpucolStatus
gpucol_cpu_agg_next(GpucolRun *run, GpucolResult *out)
{
	const GpucolCpuGroups *groups;
	uint32_t	naggs = run->program->naggs;
	uint32_t	n;
	GpucolStatus status;

	if (!run->merged)
	{
		do
			status = gpucol_cpu_source_step(run);
		while (status == GPUCOL_OK);
		if (status == GPUCOL_END)
			status = merge_parts(run);
		if (status != GPUCOL_OK)
			return status;
	}
	while (run->next_part < run->nparts && run->next_group == run->parts[run->next_part]->n)
	{
		run->next_part++;
		run->next_group = 0;
	}
	if (run->next_part == run->nparts)
		return GPUCOL_END;
	groups = run->parts[run->next_part];
	n = groups->n - run->next_group;
	if (n > BATCH)
		n = BATCH;
	for (uint32_t g = 0; g < n; g++)
		for (uint32_t a = 0; a < naggs; a++)
		{
			status = deliver_state(&run->aggs[a], &run->agg_map[a], groups->states +
								   (size_t) (run->next_group + g) * run->state_words,
								   &run->out_states[g * naggs + a]);
			if (status != GPUCOL_OK)
				return status;
		}
	deliver_keys(run, groups, run->next_group, n);
	run->next_group += n;
	out->nrows = n;
	out->columns = run->out_columns;
	out->tids = NULL;
	out->states = run->out_states;
	return GPUCOL_OK;
}
