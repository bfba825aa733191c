/*-------------------------------------------------------------------------
 *
 * expr_ops.c
 *	  Operations of expressions, a vector at a time: one function for each opcode.
 *
 * Decimals: engine/cpu/expr_decimal.c.  Errors: engine/cpu/expr_ops.h.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu/expr_ops.h"
#include "kernel/float_order.h"
#include "kernel/scalar.h"

GPUCOL_CPU_CLONES void
gpucol_cpu_op_nulls(GpucolCpuReg *dst, const GpucolCpuReg *a, const GpucolCpuReg *b,
					uint32_t n)
{
	const uint8_t *x = a->nulls;
	const uint8_t *y = b != NULL ? b->nulls : NULL;
	uint8_t    *r = dst->null_space;

	if (x == NULL && y == NULL)
	{
		dst->nulls = NULL;
		return;
	}
	dst->nulls = r;
	if (x != NULL && y != NULL)
		for (uint32_t j = 0; j < n; j++)
			r[j] = x[j] | y[j];
	else
		memcpy(r, x != NULL ? x : y, n);
}

GPUCOL_CPU_CLONES const uint8_t *
gpucol_cpu_op_true_rows(const GpucolCpuReg *condition, uint32_t n, uint8_t *space)
{
	const uint8_t *xs = condition->v.b;
	const uint8_t *nulls = condition->nulls;

	if (nulls == NULL)
		return xs;
	for (uint32_t j = 0; j < n; j++)
		space[j] = xs[j] & !nulls[j];
	return space;
}

GPUCOL_CPU_CLONES void
gpucol_cpu_op_case_nulls(GpucolCpuFrame *f, const uint8_t *take)
{
	const uint8_t *xs = f->b->nulls;
	const uint8_t *ys = f->c->nulls;
	uint8_t    *rs = f->dst->null_space;
	uint32_t	n = f->n;

	f->dst->nulls = xs == NULL && ys == NULL ? NULL : rs;
	if (xs != NULL && ys != NULL)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = take[j] ? xs[j] : ys[j];
	else if (xs != NULL)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = take[j] ? xs[j] : 0;
	else if (ys != NULL)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = take[j] ? 0 : ys[j];
}

GPUCOL_CPU_SLOW_BINARY(ADD_I, i, int64_t, i, i)
GPUCOL_CPU_SLOW_BINARY(SUB_I, i, int64_t, i, i)
GPUCOL_CPU_SLOW_BINARY(MUL_I, i, int64_t, i, i)
GPUCOL_CPU_SLOW_BINARY(DIV_I, i, int64_t, i, i)
GPUCOL_CPU_SLOW_BINARY(MOD_I, i, int64_t, i, i)
GPUCOL_CPU_SLOW_UNARY(NEG_I, i, int64_t, i)
GPUCOL_CPU_SLOW_UNARY(ABS_I, i, int64_t, i)
GPUCOL_CPU_SLOW_UNARY(CHECK_I, i, int64_t, i)
GPUCOL_CPU_SLOW_BINARY(ADD_F, f, double, f, f)
GPUCOL_CPU_SLOW_BINARY(SUB_F, f, double, f, f)
GPUCOL_CPU_SLOW_BINARY(MUL_F, f, double, f, f)
GPUCOL_CPU_SLOW_BINARY(DIV_F, f, double, f, f)
GPUCOL_CPU_SLOW_UNARY(ROUND_F, f, double, f)
GPUCOL_CPU_SLOW_UNARY(F_TO_I, i, int64_t, f)

/* Nonzero where an int64 does not fit aux bytes, for aux 2 and 4. */
#define MISFIT(r) (((uint64_t) (r) + half) & outside)
#define MISFIT_VARS \
	uint64_t	half = UINT64_C(1) << (f->instr->aux * 8 - 1); \
	uint64_t	outside = ~(2 * half - 1); \
	uint64_t	bad = 0; \
	int64_t    *rs = f->dst->v.i

GPUCOL_CPU_CLONES static GpucolStatus
op_ADD_I(GpucolCpuFrame *f)
{
	MISFIT_VARS;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (gpucol_cpu_is_shifted(f->worker->run, f->instr->dst))
		return GPUCOL_OK;
	if (gpucol_cpu_op_bounds(f, f->instr->dst)->safe)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i, rs[j] = (int64_t) ((uint64_t) x + (uint64_t) y));
	else if (f->instr->aux == 8)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x + (uint64_t) y);
						bad |= (uint64_t) ((x ^ r) & (y ^ r)) >> 63;
						rs[j] = r;
					});
	else
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x + (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_ADD_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_SUB_I(GpucolCpuFrame *f)
{
	MISFIT_VARS;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (gpucol_cpu_is_shifted(f->worker->run, f->instr->dst))
		return GPUCOL_OK;
	if (gpucol_cpu_op_bounds(f, f->instr->dst)->safe)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i, rs[j] = (int64_t) ((uint64_t) x - (uint64_t) y));
	else if (f->instr->aux == 8)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x - (uint64_t) y);
						bad |= (uint64_t) ((x ^ y) & (x ^ r)) >> 63;
						rs[j] = r;
					});
	else
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x - (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_SUB_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_MUL_I(GpucolCpuFrame *f)
{
	MISFIT_VARS;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (gpucol_cpu_op_bounds(f, f->instr->dst)->safe)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i, rs[j] = (int64_t) ((uint64_t) x * (uint64_t) y));
	else if (f->instr->aux == 8)
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						bad |= ((uint64_t) x + 0x80000000) >> 32;
						bad |= ((uint64_t) y + 0x80000000) >> 32;
						rs[j] = (int64_t) ((uint64_t) x * (uint64_t) y);
					});
	else
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x * (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_MUL_I(f) : GPUCOL_OK;
}

/*
 * Integers below 2^51 and doubles: as the last bits of a double whose unit is one, of which SHIFTING is that of zero.
 */
#define SHIFTABLE		(INT64_C(1) << 51)
#define SHIFTING		UINT64_C(0x4338000000000000)

/* A positive constant as a divisor of numbers within known bounds. */
typedef struct Divisor
{
	int64_t		value;
	bool		known;			/* it is one, and dividends are not too great */
	bool		shiftable;		/* they are below SHIFTABLE */
	bool		settled;		/* all have this quotient: */
	int64_t		quotient;
	bool		narrow;			/* they are of 31 bits and a sign: x / value is */
	uint64_t	factor;			/* x * factor >> shift */
	int			shift;
	bool		is_signed;
} Divisor;

/*
 * The factor is 2^shift / value rounded up.  With a shift of 31 more than the bits of the
 * divisor less one it is too great by less than 2^-31 of the quotient's unit.
 */
static Divisor
divisor_of(const GpucolCpuFrame *f)
{
	const GpucolCpuBounds *a = gpucol_cpu_op_bounds(f, f->instr->a);
	const GpucolCpuBounds *b = gpucol_cpu_op_bounds(f, f->instr->b);
	Divisor		d = {0};

	if (!f->b->constant || f->b->nulls != NULL || b->lo <= 0 || b->hi >= GPUCOL_CPU_EXACT_DOUBLE ||
		a->lo <= -GPUCOL_CPU_EXACT_DOUBLE || a->hi >= GPUCOL_CPU_EXACT_DOUBLE)
		return d;
	d.known = true;
	d.value = b->lo;
	d.is_signed = a->lo < 0;
	d.shiftable = a->lo > -SHIFTABLE && a->hi < SHIFTABLE;
	d.quotient = a->lo / d.value;
	d.settled = d.quotient == a->hi / d.value;
	d.narrow = a->lo > INT32_MIN && a->hi <= INT32_MAX && b->lo <= INT32_MAX;
	if (d.narrow)
	{
		d.shift = 31 + (d.value == 1 ? 0 : 64 - __builtin_clzll((uint64_t) d.value - 1));
		d.factor = ((UINT64_C(1) << d.shift) + (uint64_t) d.value - 1) / (uint64_t) d.value;
	}
	return d;
}

/* rs[j] = xs[j] / divisor, of numbers below SHIFTABLE, without a conversion of integers, which few processors have */
GPUCOL_CPU_CLONES static void
divide_shifted(const int64_t *xs, uint32_t n, double divisor, int64_t *rs)
{
	const uint64_t bits = SHIFTING;
	double		zero;

	memcpy(&zero, &bits, sizeof(zero));
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	x = (uint64_t) xs[j] + bits;
		double		value;

		memcpy(&value, &x, sizeof(value));
		value = trunc((value - zero) / divisor) + zero;
		memcpy(&x, &value, sizeof(x));
		rs[j] = (int64_t) (x - bits);
	}
}

/* rs[j] = xs[j] / d->value */
GPUCOL_CPU_CLONES static void
divide(const int64_t *xs, uint32_t n, const Divisor *d, int64_t *rs)
{
	uint64_t	factor = d->factor;
	int			shift = d->shift;
	double		divisor = (double) d->value;

	if (d->settled)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = d->quotient;
	else if (!d->narrow && d->shiftable)
		divide_shifted(xs, n, divisor, rs);
	else if (!d->narrow)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = (int64_t) ((double) xs[j] / divisor);
	else if (!d->is_signed)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = (int64_t) ((uint64_t) (uint32_t) xs[j] * (uint32_t) factor >> shift);
	else
		for (uint32_t j = 0; j < n; j++)
		{
			int64_t		x = xs[j];
			uint32_t	size = (uint32_t) (x < 0 ? 0 - (uint64_t) x : (uint64_t) x);
			int64_t		q = (int64_t) ((uint64_t) size * (uint32_t) factor >> shift);

			rs[j] = x < 0 ? -q : q;
		}
}

/* rs[j] = xs[j] - rs[j] * value */
GPUCOL_CPU_CLONES static void
leave_rest(const int64_t *xs, uint32_t n, int64_t value, int64_t *rs)
{
	for (uint32_t j = 0; j < n; j++)
		rs[j] = (int64_t) ((uint64_t) xs[j] - (uint64_t) rs[j] * (uint64_t) value);
}

/* rs[j] = xs[j] - value */
GPUCOL_CPU_CLONES static void
take_off(const int64_t *xs, uint32_t n, int64_t value, int64_t *rs)
{
	for (uint32_t j = 0; j < n; j++)
		rs[j] = (int64_t) ((uint64_t) xs[j] - (uint64_t) value);
}

/*
 * Division of 32-bit operands through doubles, which hold every quotient's
 * integral part exactly.
 */
GPUCOL_CPU_CLONES static GpucolStatus
op_DIV_I(GpucolCpuFrame *f)
{
	uint64_t	bad = 0;
	Divisor		d = divisor_of(f);
	int64_t    *rs = f->dst->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (d.known)
	{
		divide(f->a->v.i, f->n, &d, rs);
		return GPUCOL_OK;
	}
	if (f->instr->aux == 8)
		return slow_DIV_I(f);
	GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
				{
					bad |= (uint64_t) (y == 0) | (uint64_t) (y == -1);
					rs[j] = (int32_t) ((double) (int32_t) x /
									   (double) (int32_t) (y == 0 ? 1 : y));
				});
	return bad ? slow_DIV_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_MOD_I(GpucolCpuFrame *f)
{
	uint64_t	bad = 0;
	Divisor		d = divisor_of(f);
	int64_t    *rs = f->dst->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (d.known)
	{
		if (!d.settled)
			divide(f->a->v.i, f->n, &d, rs);
		if (d.settled)
			take_off(f->a->v.i, f->n, d.quotient * d.value, rs);
		else
			leave_rest(f->a->v.i, f->n, d.value, rs);
		return GPUCOL_OK;
	}
	if (f->instr->aux == 8)
		return slow_MOD_I(f);
	GPUCOL_CPU_LOOP_BINARY(int64_t, i, i,
				{
					int32_t q = (int32_t) ((double) (int32_t) x /
										   (double) (int32_t) (y == 0 ? 1 : y));
					bad |= (uint64_t) (y == 0) | (uint64_t) (y == -1);
					rs[j] = x - q * y;
				});
	return bad ? slow_MOD_I(f) : GPUCOL_OK;
}

/* An operation whose only loop is the scalar one. */
#define OP_SLOW_UNARY(NAME) \
	static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n); \
		return slow_##NAME(f); \
	}

OP_SLOW_UNARY(NEG_I)
OP_SLOW_UNARY(ABS_I)
OP_SLOW_UNARY(CHECK_I)
OP_SLOW_UNARY(ROUND_F)
OP_SLOW_UNARY(F_TO_I)

/* Bits, which leave no width; a shift is that of int for narrower integers. */
#define OP_BITS(NAME, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		int64_t    *rs = f->dst->v.i; \
\
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
		GPUCOL_CPU_LOOP_BINARY(int64_t, i, i, { rs[j] = EXPR; }); \
		return GPUCOL_OK; \
	}

OP_BITS(BIT_AND_I, x & y)
OP_BITS(BIT_OR_I, x | y)
OP_BITS(BIT_XOR_I, x ^ y)

static int64_t
shift(int aux, int64_t x, int64_t y, bool left)
{
	int32_t		narrow;

	if (aux == 8)
		return left ? (int64_t) ((uint64_t) x << (y & 63)) : x >> (y & 63);
	narrow = left ? (int32_t) ((uint32_t) x << (y & 31)) : (int32_t) x >> (y & 31);
	return aux == 2 ? (int16_t) narrow : narrow;
}

OP_BITS(SHL_I, shift(f->instr->aux, x, y, true))
OP_BITS(SHR_I, shift(f->instr->aux, x, y, false))

/* Float arithmetic: suspicious is any non-finite result, zero where it is
 * an underflow, and a zero divisor. */
#define OP_FLOAT(NAME, EXPR4, EXPR8, SUSPECT) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint64_t	bad = 0; \
		double	   *rs = f->dst->v.f; \
\
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
		if (f->instr->aux == 4) \
			GPUCOL_CPU_LOOP_BINARY(double, f, f, \
						{ \
							double r = (double) (EXPR4); \
							bad |= (uint64_t) !(fabs(r) <= 1.7976931348623157e308) | \
								(uint64_t) (SUSPECT); \
							rs[j] = r; \
						}); \
		else \
			GPUCOL_CPU_LOOP_BINARY(double, f, f, \
						{ \
							double r = EXPR8; \
							bad |= (uint64_t) !(fabs(r) <= 1.7976931348623157e308) | \
								(uint64_t) (SUSPECT); \
							rs[j] = r; \
						}); \
		return bad ? slow_##NAME(f) : GPUCOL_OK; \
	}

OP_FLOAT(ADD_F, (float) x + (float) y, x + y, 0)
OP_FLOAT(SUB_F, (float) x - (float) y, x - y, 0)
OP_FLOAT(MUL_F, (float) x * (float) y, x * y, (r == 0) & (x != 0) & (y != 0))
OP_FLOAT(DIV_F, (float) x / (float) y, x / y, (r == 0) & (x != 0))

GPUCOL_CPU_CLONES static GpucolStatus
op_NEG_F(GpucolCpuFrame *f)
{
	const double *xs = f->a->v.f;
	double	   *rs = f->dst->v.f;
	uint32_t	n = f->n;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, n);
	for (uint32_t j = 0; j < n; j++)
		rs[j] = -xs[j];
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_ABS_F(GpucolCpuFrame *f)
{
	const double *xs = f->a->v.f;
	double	   *rs = f->dst->v.f;
	uint32_t	n = f->n;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, n);
	for (uint32_t j = 0; j < n; j++)
		rs[j] = fabs(xs[j]);
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_I_TO_F(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	double	   *rs = f->dst->v.f;
	uint32_t	n = f->n;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, n);
	if (f->instr->aux == 4)
		for (uint32_t j = 0; j < n; j++)
			rs[j] = gpucol_scalar_I_TO_F(4, xs[j]);
	else
		for (uint32_t j = 0; j < n; j++)
			rs[j] = gpucol_scalar_I_TO_F(8, xs[j]);
	return GPUCOL_OK;
}

#define OP_COMPARE(NAME, T, FIELD, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *rs = f->dst->v.b; \
\
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
		GPUCOL_CPU_LOOP_BINARY(T, FIELD, FIELD, rs[j] = (uint8_t) (EXPR)); \
		return GPUCOL_OK; \
	}

OP_COMPARE(EQ_I, int64_t, i, x == y)
OP_COMPARE(NE_I, int64_t, i, x != y)
OP_COMPARE(LT_I, int64_t, i, x < y)
OP_COMPARE(LE_I, int64_t, i, x <= y)
OP_COMPARE(EQ_F, double, f, gpucol_scalar_EQ_F(x, y))
OP_COMPARE(NE_F, double, f, gpucol_scalar_NE_F(x, y))
OP_COMPARE(LT_F, double, f, gpucol_scalar_LT_F(x, y))
OP_COMPARE(LE_F, double, f, gpucol_scalar_LE_F(x, y))

/* Constants that a loop without branches looks through sooner than a search does. */
#define FEW_CONSTANTS 8

/* Constants b .. b + c - 1 ascend; a NULL among them makes a miss NULL. */
static GpucolStatus
op_IN_I(GpucolCpuFrame *f)
{
	const GpucolConst *list = &f->worker->run->code.consts[f->instr->b];
	uint32_t	n = f->instr->c;
	bool		has_null = false;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t k = 0; k < n; k++)
		has_null |= list[k].isnull != 0;
	if (has_null && f->dst->nulls == NULL)
	{
		memset(f->dst->null_space, 0, f->n);
		f->dst->nulls = f->dst->null_space;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		x = f->a->v.i[j];
		bool		found = false;
		bool		null = false;

		if (!has_null && n <= FEW_CONSTANTS)
			for (uint32_t k = 0; k < n; k++)
				found |= list[k].v.i == x;
		else
			found = gpucol_scalar_in(list, n, has_null, x, &null);
		f->dst->v.b[j] = found;
		if (null)
			f->dst->null_space[j] = 1;
	}
	return GPUCOL_OK;
}

/* Look up the verdicts that the main thread fetched. */
/* Ask the host about values that no column has: those that a set-returning function makes. */
static GpucolStatus
ask_values(GpucolCpuFrame *f)
{
	const GpucolHost *host = f->worker->run->host;
	uint8_t		verdicts[GPUCOL_VECTOR_VALUES];

	host->test(host->context, f->instr->aux, (int) f->n, f->a->v.s, (const bool *) f->a->nulls, verdicts);
	f->dst->nulls = f->dst->null_space;
	for (uint32_t j = 0; j < f->n; j++)
	{
		f->dst->v.b[j] = verdicts[j] == 1;
		f->dst->null_space[j] = verdicts[j] == 2;
	}
	return GPUCOL_OK;
}

static GpucolStatus
op_HOST_TEST(GpucolCpuFrame *f)
{
	const GpucolCpuWorker *worker = f->worker;
	const GpucolRun *run = worker->run;
	const GpucolCpuReg *a = f->a;
	const GpucolCpuHostTest *test = run->digest.hosts;
	uint32_t	base = 0;

	if (!a->coded && a->column == NULL)
		return ask_values(f);
	while (test->id != f->instr->aux || test->column != a->column->slot)
		test++;
	if (f->vector->delta == NULL && test->by_row)
		base = f->vector->number * GPUCOL_VECTOR_VALUES - a->column->window_row;
	f->dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		verdict;

		if (!a->coded)
			verdict = test->verdicts[base + (worker->full ? j : worker->sel[j])];
		else if (GPUCOL_CPU_NULL_AT(a, j))
			verdict = test->null_verdict;
		else
			verdict = test->verdicts[a->codes[j]];
		f->dst->v.b[j] = verdict == 1;
		f->dst->null_space[j] = verdict == 2;
		if (verdict == 2)
			f->dst->nulls = f->dst->null_space;
	}
	return GPUCOL_OK;
}

/* Truth and NULL of two operands of which one at least may be NULL. */
#define LOGIC_LOOP(TRUTH, NULLS) \
	do \
	{ \
		static const uint8_t none[GPUCOL_VECTOR_VALUES]; \
		const uint8_t *xs = f->a->v.b; \
		const uint8_t *ys = f->b->v.b; \
		const uint8_t *xns = f->a->nulls != NULL ? f->a->nulls : none; \
		const uint8_t *yns = f->b->nulls != NULL ? f->b->nulls : none; \
		uint8_t    *rs = f->dst->v.b; \
		uint8_t    *ns = f->dst->null_space; \
		uint32_t	n = f->n; \
\
		for (uint32_t j = 0; j < n; j++) \
		{ \
			uint8_t		xn = xns[j]; \
			uint8_t		yn = yns[j]; \
			uint8_t		x = xs[j] & !xn; \
			uint8_t		y = ys[j] & !yn; \
\
			rs[j] = TRUTH; \
			ns[j] = (uint8_t) (NULLS); \
		} \
	} while (0)

GPUCOL_CPU_CLONES static GpucolStatus
op_AND(GpucolCpuFrame *f)
{
	uint8_t    *truths = f->dst->v.b;	/* a store of a byte might change where it is, for all that a compiler knows */

	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		GPUCOL_CPU_LOOP_BINARY(uint8_t, b, b, truths[j] = x & y);
		return GPUCOL_OK;
	}
	LOGIC_LOOP(x & y, gpucol_scalar_and_null(x, xn, y, yn));
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_OR(GpucolCpuFrame *f)
{
	uint8_t    *truths = f->dst->v.b;	/* a store of a byte might change where it is, for all that a compiler knows */

	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		GPUCOL_CPU_LOOP_BINARY(uint8_t, b, b, truths[j] = x | y);
		return GPUCOL_OK;
	}
	LOGIC_LOOP(x | y, gpucol_scalar_or_null(x, xn, y, yn));
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_NOT(GpucolCpuFrame *f)
{
	const uint8_t *xs = f->a->v.b;
	uint8_t    *rs = f->dst->v.b;
	uint32_t	n = f->n;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, n);
	for (uint32_t j = 0; j < n; j++)
		rs[j] = !xs[j];
	return GPUCOL_OK;
}

static GpucolStatus
op_IS_TRUE(GpucolCpuFrame *f)
{
	const uint8_t *rows = gpucol_cpu_op_true_rows(f->a, f->n, f->dst->v.b);

	f->dst->nulls = NULL;
	if (rows != f->dst->v.b)
		memcpy(f->dst->v.b, rows, f->n);
	return GPUCOL_OK;
}

static GpucolStatus
op_IS_NULL_B(GpucolCpuFrame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls != NULL)
		memcpy(f->dst->v.b, f->a->nulls, f->n);
	else
		memset(f->dst->v.b, 0, f->n);
	return GPUCOL_OK;
}

#define op_IS_NULL_I op_IS_NULL_B
#define op_IS_NULL_D op_IS_NULL_B
#define op_IS_NULL_F op_IS_NULL_B
#define op_IS_NULL_S op_IS_NULL_B

GPUCOL_CPU_CLONES static GpucolStatus
op_B_TO_I(GpucolCpuFrame *f)
{
	const uint8_t *xs = f->a->v.b;
	int64_t    *rs = f->dst->v.i;
	uint32_t	n = f->n;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, n);
	for (uint32_t j = 0; j < n; j++)
		rs[j] = xs[j];
	return GPUCOL_OK;
}

#define OP_CASE(NAME, T, FIELD) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		GPUCOL_CPU_CASE_LOOP(T, f->dst->v.FIELD, f->b->v.FIELD, f->c->v.FIELD); \
	}

OP_CASE(CASE_B, uint8_t, b)
OP_CASE(CASE_I, int64_t, i)
OP_CASE(CASE_F, double, f)

static GpucolStatus
op_load(GpucolCpuFrame *f)
{
	gpucol_cpu_column_load(f->worker, f->instr->aux, f->vector, f->dst);
	return GPUCOL_OK;
}

/* Constants were filled in by init. */
static GpucolStatus
op_const(GpucolCpuFrame *f GPUCOL_CPU_UNUSED)
{
	return GPUCOL_OK;
}

#define op_LENGTH_S gpucol_cpu_op_LENGTH_S
#define op_PART_S gpucol_cpu_op_PART_S
#define op_HOST_MAP gpucol_cpu_op_HOST_MAP
#define op_MATCH_S gpucol_cpu_op_MATCH_S
#define op_FIELD_S gpucol_cpu_op_FIELD_S
#define op_EQ_S gpucol_cpu_op_EQ_S
#define op_LT_S gpucol_cpu_op_LT_S
#define op_DATE_ADD_I gpucol_cpu_op_DATE_ADD_I
#define op_TIME_DIFF_I gpucol_cpu_op_TIME_DIFF_I
#define op_SHIFT_I gpucol_cpu_op_SHIFT_I
#define op_FORM_I gpucol_cpu_op_FORM_I
#define op_FORM_TZ gpucol_cpu_op_FORM_TZ
#define op_FORM_D gpucol_cpu_op_FORM_D
#define op_FORM_S gpucol_cpu_op_FORM_S
#define op_MD5_S gpucol_cpu_op_MD5_S
#define op_PICTURE_I gpucol_cpu_op_PICTURE_I
#define op_TEXT_S gpucol_cpu_op_TEXT_S
#define op_CASE_S gpucol_cpu_op_CASE_S
#define op_BOTH_S gpucol_cpu_op_BOTH_S
#define op_ZONE_I gpucol_cpu_op_ZONE_I
#define op_ZONE_S gpucol_cpu_op_ZONE_S
#define op_SPAN_S gpucol_cpu_op_SPAN_S
#define op_SPAN_ADD_I gpucol_cpu_op_SPAN_ADD_I
#define op_ORDERED_I gpucol_cpu_op_ORDERED_I
#define op_AGE_I gpucol_cpu_op_AGE_I
#define op_PACK_D gpucol_cpu_op_PACK_D
#define op_NUMERIC_P gpucol_cpu_op_NUMERIC_P
#define op_NUMERIC_D gpucol_cpu_op_NUMERIC_D
#define op_SCALE_S gpucol_cpu_op_SCALE_S
#define op_ARITH_P gpucol_cpu_op_ARITH_P
#define op_COMPARE_P gpucol_cpu_op_COMPARE_P
#define op_PART_P gpucol_cpu_op_PART_P
#define op_ROUND_P gpucol_cpu_op_ROUND_P
#define op_SCALE_P gpucol_cpu_op_SCALE_P
#define op_P_TO_F gpucol_cpu_op_P_TO_F
#define op_D_TO_I gpucol_cpu_op_D_TO_I
#define op_F_TO_P gpucol_cpu_op_F_TO_P
#define op_TRIM_P gpucol_cpu_op_TRIM_P
#define op_MATH_P gpucol_cpu_op_MATH_P
#define op_MATH2_P gpucol_cpu_op_MATH2_P
#define op_QUOTIENT_D gpucol_cpu_op_QUOTIENT_D
#define op_F_TO_D gpucol_cpu_op_F_TO_D
#define op_ARRAY_SIZE_S gpucol_cpu_op_ARRAY_SIZE_S
#define op_ARRAY_ITEM_I gpucol_cpu_op_ARRAY_ITEM_I
#define op_ARRAY_ITEM_F gpucol_cpu_op_ARRAY_ITEM_F
#define op_ARRAY_ITEM_S gpucol_cpu_op_ARRAY_ITEM_S
#define op_ARRAY_HAS_I gpucol_cpu_op_ARRAY_HAS_I
#define op_ARRAY_HAS_F gpucol_cpu_op_ARRAY_HAS_F
#define op_ARRAY_HAS_S gpucol_cpu_op_ARRAY_HAS_S
#define op_ARRAY_PLACE_I gpucol_cpu_op_ARRAY_PLACE_I
#define op_ARRAY_PLACE_F gpucol_cpu_op_ARRAY_PLACE_F
#define op_ARRAY_PLACE_S gpucol_cpu_op_ARRAY_PLACE_S
#define op_EACH_I op_const
#define op_EACH_F op_const
#define op_EACH_S op_const
#define op_EACH_NUMBER op_const
#define op_SPREAD_B gpucol_cpu_op_SPREAD_B
#define op_SPREAD_I gpucol_cpu_op_SPREAD_I
#define op_SPREAD_F gpucol_cpu_op_SPREAD_F
#define op_SPREAD_S gpucol_cpu_op_SPREAD_S
#define op_HOST_EACH gpucol_cpu_op_HOST_EACH
#define op_FOLD_COUNT gpucol_cpu_op_FOLD_COUNT
#define op_FOLD_DISTINCT_I gpucol_cpu_op_FOLD_DISTINCT_I
#define op_FOLD_DISTINCT_F gpucol_cpu_op_FOLD_DISTINCT_F
#define op_FOLD_DISTINCT_S gpucol_cpu_op_FOLD_DISTINCT_S
#define op_FOLD_AND gpucol_cpu_op_FOLD_AND
#define op_FOLD_OR gpucol_cpu_op_FOLD_OR
#define op_FOLD_SUM_I gpucol_cpu_op_FOLD_SUM_I
#define op_FOLD_SUM_D gpucol_cpu_op_FOLD_SUM_D
#define op_FOLD_SUM_F gpucol_cpu_op_FOLD_SUM_F
#define op_FOLD_AVG_F gpucol_cpu_op_FOLD_AVG_F
#define op_FOLD_MIN_I gpucol_cpu_op_FOLD_MIN_I
#define op_FOLD_MAX_I gpucol_cpu_op_FOLD_MAX_I
#define op_FOLD_MIN_F gpucol_cpu_op_FOLD_MIN_F
#define op_FOLD_MAX_F gpucol_cpu_op_FOLD_MAX_F
#define op_MATH_F gpucol_cpu_op_MATH_F
#define op_MATH2_F gpucol_cpu_op_MATH2_F
#define op_ADD_D gpucol_cpu_op_ADD_D
#define op_SUB_D gpucol_cpu_op_SUB_D
#define op_MUL_D gpucol_cpu_op_MUL_D
#define op_NEG_D gpucol_cpu_op_NEG_D
#define op_ABS_D gpucol_cpu_op_ABS_D
#define op_RESCALE_D gpucol_cpu_op_RESCALE_D
#define op_I_TO_D gpucol_cpu_op_I_TO_D
#define op_EQ_D gpucol_cpu_op_EQ_D
#define op_NE_D gpucol_cpu_op_NE_D
#define op_LT_D gpucol_cpu_op_LT_D
#define op_LE_D gpucol_cpu_op_LE_D
#define op_CASE_D gpucol_cpu_op_CASE_D
#define op_LOAD_I op_load
#define op_LOAD_D op_load
#define op_LOAD_F op_load
#define op_LOAD_B op_load
#define op_LOAD_S op_load
#define op_CONST_I op_const
#define op_CONST_D op_const
#define op_CONST_F op_const
#define op_CONST_B op_const

const GpucolCpuOp gpucol_cpu_expr_ops[GPUCOL_OP_COUNT] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
	{op_##name, GPUCOL_CLASS_##r, GPUCOL_CLASS_##a, GPUCOL_CLASS_##b, GPUCOL_CLASS_##c},
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
};
