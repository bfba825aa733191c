/*-------------------------------------------------------------------------
 *
 * agg_update.c
 *	  Aggregation: a vector's rows find their groups and advance their states.
 *
 * A group's states are consecutive words (engine/cpu/agg.c).  Without keys a state is
 * advanced by whole vectors where there is a loop for it; else row by row.
 *
 *-------------------------------------------------------------------------
 */
#include "base/prefetch.h"
#include "engine/cpu/agg.h"
#include "engine/cpu/build.h"
#include "engine/cpu/dense.h"
#include "engine/cpu/final.h"
#include "engine/cpu/select.h"
#include "kernel/bitpack.h"

/* A vector of numbers up to this one has a sum in int64. */
#define SMALL_INT	(INT64_C(1) << 52)

/* ---- keys ---- */

/* Numbers of the byte strings of a register; 0 where a byte of `skip` is set.  `full`: of bytes. */
static GpucolStatus
string_words(GpucolCpuWorker *worker, const GpucolCpuReg *reg,
			 const uint8_t *skip, uint64_t *words, GpucolCpuFull *full)
{
	return reg->coded ?
		gpucol_cpu_strings_codes(worker->run, reg->column, worker->nsel, reg->codes, skip, worker->nsel, words) :
		gpucol_cpu_group_strings(worker->run, reg->v.s, skip, worker->nsel, worker->hashes, words, full);
}

/* Fill the key words of the selected rows. */
static GpucolStatus
fill_keys(GpucolCpuWorker *worker)
{
	const GpucolRun *run = worker->run;
	uint32_t	n = worker->nsel;
	uint64_t   *nulls = worker->keys;
	uint64_t   *words = worker->keys + GPUCOL_VECTOR_VALUES;
	GpucolCpuFull full;

	memset(nulls, 0, sizeof(uint64_t) * n);
	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolCpuReg *reg = &worker->regs[run->code.keys[k]];
		GpucolStatus status = reg->cls == GPUCOL_CLASS_S ?
			string_words(worker, reg, reg->nulls, words, &full) : GPUCOL_OK;

		if (reg->cls == GPUCOL_CLASS_D)
			gpucol_cpu_expr_widen(reg, n);
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
				words[j] = gpucol_cpu_float_word(reg->v.f[j]);
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
distinct_words(GpucolCpuWorker *worker, const GpucolCpuReg *reg,
			   const uint8_t *valid, uint64_t *words, GpucolCpuFull *full)
{
	uint32_t	n = worker->nsel;
	uint8_t		skip[GPUCOL_VECTOR_VALUES];

	if (reg->cls == GPUCOL_CLASS_S)
	{
		for (uint32_t j = 0; j < n && valid != NULL; j++)
			skip[j] = !valid[j];
		return string_words(worker, reg, valid == NULL ? NULL : skip, words, full);
	}
	for (uint32_t j = 0; j < n; j++)
	{
		if (reg->cls == GPUCOL_CLASS_I)
			words[j] = (uint64_t) reg->v.i[j];
		else if (reg->cls == GPUCOL_CLASS_B)
			words[j] = reg->v.b[j];
		else
			words[j] = reg->v.f[j] == 0 ? 0 : gpucol_cpu_float_word(reg->v.f[j]);
	}
	return GPUCOL_OK;
}

/* Add a number of a string to the set of the only group. */
GPUCOL_CPU_INLINE GpucolStatus
update_number(GpucolCpuGroups *groups, const GpucolCpuAcc *acc, uint64_t number)
{
	GpucolCpuSet *set = &groups->sets[acc->distinct];
	bool		added = false;
	GpucolStatus status = GPUCOL_OK;

	if (number >= set->nbits || (set->bits[number / 64] >> number % 64 & 1) == 0)
		status = gpucol_cpu_group_add_number(groups, set, number, &added);
	groups->states[acc->offset] += added;
	return status;
}

/* Add the numbers of strings of the valid rows to the set of the only group. */
static GpucolStatus
update_numbers(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
			   const uint8_t *valid, const uint64_t *words, const GpucolCpuFull *full)
{
	GpucolStatus status = GPUCOL_OK;

	if (worker->regs[acc->arg].coded)
	{
		for (uint32_t j = 0; j < worker->nsel && status == GPUCOL_OK; j++)
			if (valid == NULL || valid[j])
				status = update_number(groups, acc, words[j]);
		return status;
	}
	if (full->nempty > 0)
		status = update_number(groups, acc, full->empty);
	for (uint32_t i = 0; i < full->n && status == GPUCOL_OK; i++)
		status = update_number(groups, acc, words[full->rows[i]]);
	return status;
}

/*
 * Move the words of the valid rows together, and the groups where there are ids, but for those
 * that the row before has as well.  Without branches: what is next cannot be foretold.
 */
GPUCOL_CPU_INLINE uint32_t
pack_words(uint64_t *words, uint32_t *ids, const uint8_t *valid, uint32_t n)
{
	uint64_t	last = 0;
	uint32_t	last_id = 0;
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	word = words[j];
		uint32_t	id = ids == NULL ? 0 : ids[j];
		bool		fresh = (m == 0) | (word != last) | (id != last_id);

		if (valid != NULL)
			fresh &= valid[j];
		words[m] = word;
		if (ids != NULL)
			ids[m] = id;
		last = fresh ? word : last;
		last_id = fresh ? id : last_id;
		m += fresh;
	}
	return m;
}

/* Add the other values of the valid rows to the set of the only group. */
static GpucolStatus
update_values(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
			  const uint8_t *valid, uint64_t *words)
{
	uint32_t	added = 0;
	uint32_t	n = valid == NULL ? pack_words(words, NULL, NULL, worker->nsel) :
		pack_words(words, NULL, valid, worker->nsel);
	GpucolStatus status = gpucol_cpu_group_add_values(groups, &groups->sets[acc->distinct], words, n, &added);

	groups->states[acc->offset] += added;
	return status;
}

/* Add the pair (group, value) of each valid row to a set. */
static GpucolStatus
update_pairs(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
			 const uint8_t *valid, uint64_t *words)
{
	uint32_t	ids[GPUCOL_VECTOR_VALUES];
	uint32_t	n;

	memcpy(ids, worker->ids, sizeof(uint32_t) * worker->nsel);
	n = valid == NULL ? pack_words(words, ids, NULL, worker->nsel) :
		pack_words(words, ids, valid, worker->nsel);
	return gpucol_cpu_group_add_pairs(groups, acc->distinct, ids, words, n, acc->offset);
}

/* Add the argument's values of the valid rows to a set. */
static GpucolStatus
update_distinct(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
				const GpucolCpuAcc *acc, const uint8_t *valid)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	uint64_t	words[GPUCOL_VECTOR_VALUES];
	GpucolCpuFull full;
	GpucolStatus status;

	if (reg->cls == GPUCOL_CLASS_S && reg->coded)
		valid = leave_seen(worker, groups, acc, valid);
	status = distinct_words(worker, reg, valid, words, &full);
	if (status != GPUCOL_OK)
		return status;
	if (worker->run->program->nkeys > 0)
		return update_pairs(worker, groups, acc, valid, words);
	return reg->cls == GPUCOL_CLASS_S ? update_numbers(worker, groups, acc, valid, words, &full) :
		update_values(worker, groups, acc, valid, words);
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

/* The same of values within bounds that no sum of a vector leaves int64 with. */
GPUCOL_CPU_CLONES static int64_t
sum_small_ints(const int64_t *x, const uint8_t *valid, uint32_t n)
{
	int64_t		sum = 0;

	if (valid == NULL)
		for (uint32_t j = 0; j < n; j++)
			sum += x[j];
	else
		for (uint32_t j = 0; j < n; j++)
			sum += x[j] & -(int64_t) valid[j];
	return sum;
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

/* The sum of a register's integers over the selected rows. */
static __int128
sum_register(GpucolCpuWorker *worker, uint16_t reg, const uint8_t *valid)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuBounds *bounds = &run->digest.bounds[reg];
	uint32_t	n = worker->nsel;
	__int128	sum;

	if (gpucol_cpu_is_shifted(run, reg))
		return sum_register(worker, run->digest.shifted[reg].base, valid) +
			run->digest.shifted[reg].plus * (valid == NULL ? n : count_bytes(valid, n));
	if (valid == NULL && worker->summed == reg)
		return worker->sum;
	sum = bounds->known && bounds->lo >= -SMALL_INT && bounds->hi <= SMALL_INT ?
		sum_small_ints(worker->regs[reg].v.i, valid, n) : sum_ints(worker->regs[reg].v.i, valid, n);
	if (valid == NULL)
	{
		worker->summed = reg;
		worker->sum = sum;
	}
	return sum;
}

/* Add to a sum. */
GPUCOL_CPU_INLINE GpucolStatus
add_sum(uint64_t *words, __int128 addend)
{
	__int128	sum;

	if (__builtin_add_overflow(gpucol_cpu_get128(words), addend, &sum))
		return GPUCOL_UNSUPPORTED;
	gpucol_cpu_put128(words, sum);
	return GPUCOL_OK;
}

/* Add the square of a number. */
static inline GpucolStatus
add_square(uint64_t *words, __int128 x)
{
	__int128	square;

	return __builtin_mul_overflow(x, x, &square) ? GPUCOL_UNSUPPORTED : add_sum(words, square);
}

/* The states of a group that are advanced with one of pairs. */
GPUCOL_CPU_INLINE GpucolCpuFloatPair
pair_of(const GpucolCpuAcc *acc, uint64_t *words)
{
	bool		both = acc->with[0] != 0;

	return (GpucolCpuFloatPair) {
		.xy = (GpucolCpuFloatProducts *) words,
		.xx = both ? (GpucolCpuFloatProducts *) (words + acc->with[0]) : NULL,
		.yy = both ? (GpucolCpuFloatProducts *) (words + acc->with[1]) : NULL
	};
}

/* Advance the only group's state of pairs. */
static GpucolStatus
update_products(GpucolCpuWorker *worker, const GpucolCpuAcc *acc, const uint8_t *valid,
				uint64_t *words)
{
	const double *x = worker->regs[acc->arg].v.f;
	const double *y = worker->regs[acc->order].v.f;
	double	   *packed_x = (double *) worker->hashes;
	double	   *packed_y = (double *) worker->codes64;
	uint32_t	n = worker->nsel;

	GpucolCpuFloatPair pair = pair_of(acc, words);

	if (valid == NULL)
		return gpucol_cpu_products_add_all(&pair, x, y, n);
	pack_doubles(x, valid, n, packed_x);
	n = pack_doubles(y, valid, n, packed_y);
	return gpucol_cpu_products_add_all(&pair, packed_x, packed_y, n);
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
			return add_sum(words, sum_register(worker, acc->arg, valid));
		case GPUCOL_CPU_ACC_SUM_D:
			if (reg->narrow)
				return add_sum(words, sum_ints(reg->n, valid, n));
			*done = false;
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_MIN_I:
		case GPUCOL_CPU_ACC_MAX_I:
			extreme_ints(reg->v.i, valid, n, &least, &greatest);
			if (acc->op == GPUCOL_CPU_ACC_MIN_I && least < (int64_t) words[0])
				words[0] = (uint64_t) least;
			if (acc->op == GPUCOL_CPU_ACC_MAX_I && greatest > (int64_t) words[0])
				words[0] = (uint64_t) greatest;
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_MIN_D:
		case GPUCOL_CPU_ACC_MAX_D:
			*done = reg->narrow;
			if (!reg->narrow)
				return GPUCOL_OK;
			extreme_ints(reg->n, valid, n, &least, &greatest);
			if (valid == NULL ? n > 0 : count_bytes(valid, n) > 0)
				gpucol_cpu_dense_put_extreme(acc, words, least, greatest);
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
				return gpucol_cpu_squares_add_all((GpucolCpuFloatSquares *) words, floats, n);
			gpucol_cpu_float_add_all((GpucolCpuFloatSum *) words, floats, n);
			return GPUCOL_OK;
		case GPUCOL_CPU_ACC_PRODUCTS:
			return update_products(worker, acc, valid, words);
		default:
			*done = false;
			return GPUCOL_OK;
	}
}

/* Rows before its own a state is fetched for which much is computed, of two cache lines of so many words. */
#define ROWS_AHEAD	8
#define LINE_WORDS	8

/* Fetch the state of a row that comes soon, which the processor would not see by itself. */
GPUCOL_CPU_INLINE void
fetch_ahead(const uint64_t *states, const uint32_t *ids, size_t stride, uint32_t j, uint32_t n)
{
	const uint64_t *state = states + (size_t) ids[j + ROWS_AHEAD < n ? j + ROWS_AHEAD : j] * stride;

	GPUCOL_PREFETCH(state, 1);
	GPUCOL_PREFETCH(state + LINE_WORDS, 1);
}

/* Advance the groups' states of pairs. */
static GpucolStatus
update_group_products(GpucolCpuWorker *worker, const GpucolCpuAcc *acc, const uint8_t *valid, uint64_t *states)
{
	const double *x = worker->regs[acc->arg].v.f;
	const double *y = worker->regs[acc->order].v.f;
	const uint32_t *ids = worker->ids;
	size_t		stride = worker->run->agg.group_words;
	uint32_t	n = worker->nsel;
	GpucolStatus status = GPUCOL_OK;

	FOR_ROWS(
			 {
				 GpucolCpuFloatPair pair = pair_of(acc, words);
				 GpucolStatus one;
				 fetch_ahead(states, ids, stride, j, n);
				 one = gpucol_cpu_products_add(&pair, x[j], y[j]);
				 if (one != GPUCOL_OK)
					 status = one;
			 });
	return status;
}

static inline void
keep_greatest(uint64_t *word, int64_t x)
{
	if (x > (int64_t) *word)
		*word = (uint64_t) x;
}

/* Count rows by runs of a group, if these are known. */
static bool
count_runs(const GpucolCpuWorker *worker, const GpucolCpuGroups *groups, const uint8_t *valid, uint64_t *states)
{
	size_t		stride = worker->run->agg.group_words;

	if (valid != NULL || worker->nruns == 0)
		return false;
	for (uint32_t r = 0; r < worker->nruns; r++)
		states[worker->ids[groups->runs[r]] * stride] += (uint64_t) (groups->runs[r + 1] - groups->runs[r]);
	return true;
}

/* Advance one physical state over the selected rows. */
static GpucolStatus
update_acc(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
		   const GpucolCpuVector *vector)
{
	const uint8_t *valid = valid_rows(worker, acc);
	GpucolCpuReg *reg = acc->arg == GPUCOL_NO_REG ? NULL : &worker->regs[acc->arg];
	uint32_t	n = worker->nsel;
	const uint32_t *ids = worker->ids;
	size_t		stride = worker->run->agg.group_words;
	uint64_t   *states = groups->states + acc->offset;
	GpucolStatus status = GPUCOL_OK;

	if (worker->run->program->nkeys == 0 || worker->only)
	{
		bool		done;

		status = update_only(worker, acc, valid, states + worker->ids[0] * stride, &done);
		if (done)
			return status;
	}
	if (reg != NULL && reg->cls == GPUCOL_CLASS_D && acc->op != GPUCOL_CPU_ACC_COUNT &&
		acc->op != GPUCOL_CPU_ACC_SUM_D && !reg->alike)
		gpucol_cpu_expr_widen(reg, n);
	switch (acc->op)
	{
		case GPUCOL_CPU_ACC_COUNT:
			if (!count_runs(worker, groups, valid, states))
				FOR_ROWS(words[0]++);
			break;
		case GPUCOL_CPU_ACC_SUM_I:
			FOR_ROWS(gpucol_cpu_put128(words, gpucol_cpu_get128(words) + reg->v.i[j]));
			break;
		case GPUCOL_CPU_ACC_SUM_D:
			FOR_ROWS(if (add_sum(words, reg->narrow ? (__int128) reg->n[j] : reg->v.d[j]) != GPUCOL_OK)
					 status = GPUCOL_UNSUPPORTED);
			break;
		case GPUCOL_CPU_ACC_SUM_F:
			FOR_ROWS(gpucol_cpu_float_add((GpucolCpuFloatSum *) words, reg->v.f[j]));
			break;
		case GPUCOL_CPU_ACC_SUMSQ_I:
		case GPUCOL_CPU_ACC_SUMSQ_D:
			FOR_ROWS(
					 {
						 fetch_ahead(states, ids, stride, j, n);
						 if (add_square(words, acc->op == GPUCOL_CPU_ACC_SUMSQ_I ? (__int128) reg->v.i[j] :
										reg->v.d[j]) != GPUCOL_OK)
							 status = GPUCOL_UNSUPPORTED;
					 });
			break;
		case GPUCOL_CPU_ACC_SUMSQ_F:
			FOR_ROWS(
					 {
						 GpucolStatus one;
						 fetch_ahead(states, ids, stride, j, n);
						 one = gpucol_cpu_squares_add((GpucolCpuFloatSquares *) words, reg->v.f[j]);
						 if (one != GPUCOL_OK)
							 status = one;
					 });
			break;
		case GPUCOL_CPU_ACC_PRODUCTS:
			return update_group_products(worker, acc, valid, states);
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
						 int64_t order = gpucol_cpu_float_order(reg->v.f[j]);
						 if (order < (int64_t) words[0])
							 words[0] = (uint64_t) order;
					 });
			break;
		case GPUCOL_CPU_ACC_MAX_F:
			FOR_ROWS(keep_greatest(words, gpucol_cpu_float_order(reg->v.f[j])));
			break;
		case GPUCOL_CPU_ACC_AND:
			FOR_ROWS(words[0] &= reg->cls == GPUCOL_CLASS_B ? reg->v.b[j] : (uint64_t) reg->v.i[j]);
			break;
		case GPUCOL_CPU_ACC_OR:
			FOR_ROWS(words[0] |= reg->cls == GPUCOL_CLASS_B ? reg->v.b[j] : (uint64_t) reg->v.i[j]);
			break;
		case GPUCOL_CPU_ACC_XOR:
			FOR_ROWS(words[0] ^= (uint64_t) reg->v.i[j]);
			break;
		case GPUCOL_CPU_ACC_DISTINCT:
			return update_distinct(worker, groups, acc, valid);
		case GPUCOL_CPU_ACC_MIN_S:
		case GPUCOL_CPU_ACC_MAX_S:
			return gpucol_cpu_extreme_update(worker, groups, acc, valid, vector);
		case GPUCOL_CPU_ACC_MIN_P:
		case GPUCOL_CPU_ACC_MAX_P:
			gpucol_cpu_packed_extreme_update(worker, groups, acc, valid, vector->ordinal);
			break;
	}
	return status;
}

/* Has a register been moved with those before it? */
static bool
is_moved(const uint16_t *moved, int n, uint16_t reg)
{
	for (int i = 0; i < n; i++)
		if (moved[i] == reg)
			return true;
	return reg == GPUCOL_NO_REG;
}

/* Register i of those that an aggregation reads behind its expressions, or GPUCOL_NO_REG. */
static uint16_t
read_register(const GpucolRun *run, int i)
{
	const GpucolCpuAcc *acc;

	if (i < run->program->nkeys)
		return run->code.keys[i];
	i -= run->program->nkeys;
	acc = &run->agg.accs[i / 3];
	return i % 3 == 0 ? acc->arg : i % 3 == 1 ? acc->filter :
		acc->op == GPUCOL_CPU_ACC_PRODUCTS ? acc->order : GPUCOL_NO_REG;
}

/* Keep n of the selected rows: those of at[]. */
static void
keep_rows(GpucolCpuWorker *worker, const uint16_t *at, uint32_t n)
{
	const GpucolRun *run = worker->run;
	int			nmoved = 0;

	for (int i = 0; i < run->program->nkeys + 3 * run->agg.naccs; i++)
	{
		uint16_t	reg = read_register(run, i);

		if (is_moved(worker->moved, nmoved, reg))
			continue;
		worker->moved[nmoved++] = reg;
		if (!worker->regs[reg].constant)
			gpucol_cpu_live_move(&worker->regs[reg], &worker->regs[reg], at, n);
	}
	for (uint32_t j = 0; j < n; j++)
		worker->sel[j] = worker->full ? at[j] : worker->sel[at[j]];
	worker->full = false;
	worker->nsel = n;
}

/* Keep the selected rows whose group is of the part that is made. */
static void
keep_part(GpucolCpuWorker *worker)
{
	const GpucolRun *run = worker->run;
	uint16_t	at[GPUCOL_SELECT_ROOM];
	uint32_t	n = gpucol_cpu_part_keep(worker, run->code.keys, run->program->nkeys,
										 run->join.part->first, run->join.part->end, at,
										 gpucol_select_all(worker->nsel, at));

	keep_rows(worker, at, n);
}

/* Keep those that may be of the groups that were settled for. */
static void
keep_settled(GpucolCpuWorker *worker)
{
	uint16_t	at[GPUCOL_SELECT_ROOM];
	uint32_t	n = gpucol_cpu_first_settled(worker, at);

	keep_rows(worker, at, n);
}

/* Group the passing rows of a vector and advance every state. */
GpucolStatus
gpucol_cpu_agg_update(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolCpuGroups *groups = run->agg.parts[run->window.partitions > 0 ?
										 vector->ordinal % (unsigned) run->agg.nparts :
										 (unsigned) worker->index];
	int			partition = run->window.partitions > 0 ? (int) (vector->ordinal % run->window.partitions) : -1;
	bool		dense = vector->delta == NULL && run->agg.dense != NULL;
	GpucolCpuGroups *own = dense ? NULL : gpucol_cpu_final_table(worker, vector, groups);
	bool		done = false;
	GpucolStatus status;

	worker->nruns = 0;
	worker->only = false;
	worker->summed = GPUCOL_NO_REG;
	groups = own != NULL ? own : groups;
	if (dense && run->program->nkeys == 0)
		gpucol_cpu_dense_plain(worker, groups, vector, &done);
	if (done)
		return GPUCOL_OK;
	if (dense && gpucol_cpu_dense_whole(worker, vector))
	{
		worker->full = true;
		worker->nsel = GPUCOL_VECTOR_VALUES;
	}
	else if (run->program->filter == GPUCOL_NO_REG && run->join.nprobes == 0)
		gpucol_cpu_expr_select(worker);
	if (worker->nsel == 0)
		return GPUCOL_OK;
	status = gpucol_cpu_expr_run(worker, vector, run->join.last_section, run->program->ninstrs);
	if (status != GPUCOL_OK)
		return status;
	if (run->join.part != NULL)
		keep_part(worker);
	if (run->agg.settled != NULL && !dense)
		keep_settled(worker);
	if (worker->nsel == 0)
		return GPUCOL_OK;
	if (dense && run->program->nkeys > 0)
		status = gpucol_cpu_dense_group(worker, groups, vector);
	else if (run->program->nkeys == 0)
		memset(worker->ids, 0, sizeof(uint32_t) * worker->nsel);
	else if (own != NULL || run->agg.appends || !gpucol_cpu_group_near(worker, groups, vector))
	{
		status = fill_keys(worker);
		if (status == GPUCOL_OK)
			status = own != NULL ? gpucol_cpu_final_lookup(worker, own) : run->agg.appends ?
				gpucol_cpu_group_append(groups, worker->keys, GPUCOL_VECTOR_VALUES, worker->nsel, worker->ids) :
				gpucol_cpu_group_lookup(groups, worker->keys, GPUCOL_VECTOR_VALUES,
										worker->nsel, worker->hashes, worker->ids);
		worker->nruns = own != NULL || run->agg.appends ? 0 : groups->nruns;
		if (status == GPUCOL_OK && own == NULL && !run->agg.appends)
			gpucol_cpu_group_note_near(worker, groups);
	}
	worker->grouped += own != NULL ? 0 : worker->nsel;
	for (int a = 0; a < run->agg.naccs && status == GPUCOL_OK; a++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[a];

		if (!acc->with_other && (acc->partition < 0 || acc->partition == partition) &&
			(!dense || !gpucol_cpu_dense_has(run, a)))
			status = update_acc(worker, groups, acc, vector);
	}
	return status;
}
