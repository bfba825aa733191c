/*-------------------------------------------------------------------------
 *
 * expr_ops.c
 *	  Operations of expressions, a vector at a time: one function for each opcode.
 *
 * Errors.  An instruction that can fail is defined by a scalar function
 * (kernel/scalar.h) that gives PostgreSQL's result or its error.  The vector loop
 * computes all rows without branches and gathers only whether any row looked
 * wrong; then, and only then, the rows are done again by the scalar function,
 * and the first failing row that counts (mask true, no NULL operand) ends the
 * run.  Rows that do not count yield zero.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu/expr.h"
#include "kernel/float_order.h"
#include "kernel/scalar.h"

/* dst is NULL where a, or b if given, is. */
GPUCOL_CPU_CLONES static void
strict_nulls(GpucolCpuReg *dst, const GpucolCpuReg *a, const GpucolCpuReg *b,
			 uint32_t n)
{
	const uint8_t *x = a->nulls;
	const uint8_t *y = b != NULL ? b->nulls : NULL;

	if (x == NULL && y == NULL)
	{
		dst->nulls = NULL;
		return;
	}
	dst->nulls = dst->null_space;
	if (x != NULL && y != NULL)
		for (uint32_t j = 0; j < n; j++)
			dst->null_space[j] = x[j] | y[j];
	else
		memcpy(dst->null_space, x != NULL ? x : y, n);
}

/* Does an error of row j count? */
static bool
counts(const GpucolCpuFrame *f, uint32_t j)
{
	const GpucolCpuReg *mask;

	if (GPUCOL_CPU_NULL_AT(f->dst, j))
		return false;
	if (f->instr->mask == GPUCOL_NO_REG)
		return true;
	mask = &f->worker->regs[f->instr->mask];
	return mask->v.b[j] && !GPUCOL_CPU_NULL_AT(mask, j);
}

/* What is known of a register's values in this segment or delta batch. */
static const GpucolCpuBounds *
bounds_of(const GpucolCpuFrame *f, uint16_t reg)
{
	return &f->worker->run->bounds[reg];
}

/* ---- decimals of 64 bits ---- */

/* Are the operands at hand in 64 bits? */
static bool
narrow_operands(const GpucolCpuFrame *f)
{
	return f->a->narrow && f->b->narrow;
}

/* And does the result need no more? */
static bool
narrow_result(const GpucolCpuFrame *f, bool operands)
{
	return operands && bounds_of(f, f->instr->dst)->known;
}

/* The result is in n, or in v.d. */
static int64_t *
to_narrow(GpucolCpuFrame *f)
{
	f->dst->narrow = true;
	f->dst->wide = false;
	return f->dst->n;
}

static __int128 *
to_wide(GpucolCpuFrame *f)
{
	f->dst->narrow = false;
	f->dst->wide = true;
	return f->dst->v.d;
}

/* Have both operands in v.d. */
static void
widen_operands(GpucolCpuFrame *f)
{
	gpucol_cpu_expr_widen(f->a, f->n);
	gpucol_cpu_expr_widen(f->b, f->n);
}

/* Do all values of a register fit 32 bits? */
static bool
fits_int32(const GpucolCpuFrame *f, uint16_t reg)
{
	const GpucolCpuBounds *b = bounds_of(f, reg);

	return b->known && b->lo >= INT32_MIN && b->hi <= INT32_MAX;
}

/* ---- the slow pass ---- */

#define SLOW_BINARY(NAME, R, RT, A, B) \
	static GpucolStatus \
	slow_##NAME(GpucolCpuFrame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], f->b->v.B[j], &r); \
\
			if (status != GPUCOL_OK && counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

#define SLOW_UNARY(NAME, R, RT, A) \
	static GpucolStatus \
	slow_##NAME(GpucolCpuFrame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], &r); \
\
			if (status != GPUCOL_OK && counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

SLOW_BINARY(ADD_I, i, int64_t, i, i)
SLOW_BINARY(SUB_I, i, int64_t, i, i)
SLOW_BINARY(MUL_I, i, int64_t, i, i)
SLOW_BINARY(DIV_I, i, int64_t, i, i)
SLOW_BINARY(MOD_I, i, int64_t, i, i)
SLOW_UNARY(NEG_I, i, int64_t, i)
SLOW_UNARY(ABS_I, i, int64_t, i)
SLOW_UNARY(CHECK_I, i, int64_t, i)
SLOW_BINARY(ADD_D, d, __int128, d, d)
SLOW_BINARY(SUB_D, d, __int128, d, d)
SLOW_BINARY(MUL_D, d, __int128, d, d)
SLOW_UNARY(NEG_D, d, __int128, d)
SLOW_UNARY(ABS_D, d, __int128, d)
SLOW_UNARY(RESCALE_D, d, __int128, d)
SLOW_UNARY(I_TO_D, d, __int128, i)
SLOW_BINARY(ADD_F, f, double, f, f)
SLOW_BINARY(SUB_F, f, double, f, f)
SLOW_BINARY(MUL_F, f, double, f, f)
SLOW_BINARY(DIV_F, f, double, f, f)
SLOW_UNARY(ROUND_F, f, double, f)
SLOW_UNARY(F_TO_I, i, int64_t, f)

/* ---- vector loops ---- */

/*
 * A loop over two operands of type T: BODY of j, x and y in three forms, so that a
 * constant operand stays in a register.
 */
#define LOOP_OVER(T, XS, YS, BODY) \
	do \
	{ \
		const T    *xs = XS; \
		const T    *ys = YS; \
		uint32_t	n = f->n; \
\
		if (f->b->constant) \
		{ \
			T			y = ys[0]; \
\
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			x = xs[j]; \
\
				BODY; \
			} \
		} \
		else if (f->a->constant) \
		{ \
			T			x = xs[0]; \
\
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			y = ys[j]; \
\
				BODY; \
			} \
		} \
		else \
		{ \
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			x = xs[j]; \
				T			y = ys[j]; \
\
				BODY; \
			} \
		} \
	} while (0)

#define LOOP_BINARY(T, A, B, BODY) LOOP_OVER(T, f->a->v.A, f->b->v.B, BODY)

/* Over decimals that fit int64. */
#define LOOP_NARROW(BODY) LOOP_OVER(int64_t, f->a->n, f->b->n, BODY)

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

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x + (uint64_t) y);
						bad |= (uint64_t) ((x ^ r) & (y ^ r)) >> 63;
						rs[j] = r;
					});
	else
		LOOP_BINARY(int64_t, i, i,
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

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x - (uint64_t) y);
						bad |= (uint64_t) ((x ^ y) & (x ^ r)) >> 63;
						rs[j] = r;
					});
	else
		LOOP_BINARY(int64_t, i, i,
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

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (bounds_of(f, f->instr->dst)->safe)
		LOOP_BINARY(int64_t, i, i, rs[j] = (int64_t) ((uint64_t) x * (uint64_t) y));
	else if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						bad |= ((uint64_t) x + 0x80000000) >> 32;
						bad |= ((uint64_t) y + 0x80000000) >> 32;
						rs[j] = (int64_t) ((uint64_t) x * (uint64_t) y);
					});
	else
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x * (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_MUL_I(f) : GPUCOL_OK;
}

/*
 * Division of 32-bit operands through doubles, which hold every quotient's
 * integral part exactly.
 */
GPUCOL_CPU_CLONES static GpucolStatus
op_DIV_I(GpucolCpuFrame *f)
{
	uint64_t	bad = 0;
	int64_t    *rs = f->dst->v.i;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		return slow_DIV_I(f);
	LOOP_BINARY(int64_t, i, i,
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
	int64_t    *rs = f->dst->v.i;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		return slow_MOD_I(f);
	LOOP_BINARY(int64_t, i, i,
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
		strict_nulls(f->dst, f->a, NULL, f->n); \
		return slow_##NAME(f); \
	}

OP_SLOW_UNARY(NEG_I)
OP_SLOW_UNARY(ABS_I)
OP_SLOW_UNARY(CHECK_I)
OP_SLOW_UNARY(ROUND_F)
OP_SLOW_UNARY(F_TO_I)

/*
 * Arithmetic of decimals.  Bounds say that a narrow result does not leave int64 where it
 * is not NULL; two narrow operands cannot leave int128.
 */
#define OP_DECIMAL(NAME, SLOW, OPERATOR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	NAME(GpucolCpuFrame *f) \
	{ \
		strict_nulls(f->dst, f->a, f->b, f->n); \
		if (narrow_result(f, narrow_operands(f))) \
		{ \
			int64_t    *rs = to_narrow(f); \
\
			LOOP_NARROW(rs[j] = (int64_t) ((uint64_t) x OPERATOR (uint64_t) y)); \
			return GPUCOL_OK; \
		} \
		if (narrow_operands(f)) \
		{ \
			__int128   *rs = to_wide(f); \
\
			LOOP_NARROW(rs[j] = (__int128) x OPERATOR y); \
			return GPUCOL_OK; \
		} \
		widen_operands(f); \
		to_wide(f); \
		return SLOW(f); \
	}

OP_DECIMAL(op_ADD_D, slow_ADD_D, +)
OP_DECIMAL(op_SUB_D, slow_SUB_D, -)
OP_DECIMAL(multiply_decimals, slow_MUL_D, *)

/* Factors of 32 bits have an instruction of their own. */
GPUCOL_CPU_CLONES static GpucolStatus
op_MUL_D(GpucolCpuFrame *f)
{
	if (narrow_operands(f) && fits_int32(f, f->instr->a) && fits_int32(f, f->instr->b))
	{
		int64_t    *rs = to_narrow(f);

		strict_nulls(f->dst, f->a, f->b, f->n);
		LOOP_NARROW(rs[j] = (int64_t) (int32_t) x * (int32_t) y);
		return GPUCOL_OK;
	}
	return multiply_decimals(f);
}

/* Of one operand: in 64 bits, EXPR of x, else by the scalar function. */
#define OP_DECIMAL_UNARY(NAME, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		strict_nulls(f->dst, f->a, NULL, f->n); \
		if (narrow_result(f, f->a->narrow)) \
		{ \
			const int64_t *xs = f->a->n; \
			int64_t    *rs = to_narrow(f); \
\
			for (uint32_t j = 0; j < f->n; j++) \
			{ \
				uint64_t	x = (uint64_t) xs[j]; \
\
				rs[j] = (int64_t) (EXPR); \
			} \
			return GPUCOL_OK; \
		} \
		gpucol_cpu_expr_widen(f->a, f->n); \
		to_wide(f); \
		return slow_##NAME(f); \
	}

OP_DECIMAL_UNARY(NEG_D, 0 - x)
OP_DECIMAL_UNARY(ABS_D, xs[j] < 0 ? 0 - x : x)

/* rs[j] = xs[j] * 10^aux, which fits int64 */
GPUCOL_CPU_CLONES static GpucolStatus
scale_narrow(GpucolCpuFrame *f, const int64_t *xs)
{
	int64_t    *rs = to_narrow(f);
	uint64_t	power = 1;

	for (int i = 0; i < f->instr->aux; i++)
		power *= 10;
	for (uint32_t j = 0; j < f->n; j++)
		rs[j] = (int64_t) ((uint64_t) xs[j] * power);
	return GPUCOL_OK;
}

static GpucolStatus
op_RESCALE_D(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	if (narrow_result(f, f->a->narrow))
		return scale_narrow(f, f->a->n);
	gpucol_cpu_expr_widen(f->a, f->n);
	to_wide(f);
	return slow_RESCALE_D(f);
}

static GpucolStatus
op_I_TO_D(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	if (narrow_result(f, true))
		return scale_narrow(f, f->a->v.i);
	to_wide(f);
	return slow_I_TO_D(f);
}

/* Float arithmetic: suspicious is any non-finite result, zero where it may be
 * an underflow, and a zero divisor. */
#define OP_FLOAT(NAME, EXPR4, EXPR8, SUSPECT) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint64_t	bad = 0; \
		double	   *rs = f->dst->v.f; \
\
		strict_nulls(f->dst, f->a, f->b, f->n); \
		if (f->instr->aux == 4) \
			LOOP_BINARY(double, f, f, \
						{ \
							double r = (double) (EXPR4); \
							bad |= (uint64_t) !(fabs(r) <= 1.7976931348623157e308) | \
								(uint64_t) (SUSPECT); \
							rs[j] = r; \
						}); \
		else \
			LOOP_BINARY(double, f, f, \
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
OP_FLOAT(MUL_F, (float) x * (float) y, x * y, r == 0)
OP_FLOAT(DIV_F, (float) x / (float) y, x / y, r == 0)

GPUCOL_CPU_CLONES static GpucolStatus
op_NEG_F(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.f[j] = -f->a->v.f[j];
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_ABS_F(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.f[j] = fabs(f->a->v.f[j]);
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_I_TO_F(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	if (f->instr->aux == 4)
		for (uint32_t j = 0; j < f->n; j++)
			f->dst->v.f[j] = gpucol_scalar_I_TO_F(4, f->a->v.i[j]);
	else
		for (uint32_t j = 0; j < f->n; j++)
			f->dst->v.f[j] = gpucol_scalar_I_TO_F(8, f->a->v.i[j]);
	return GPUCOL_OK;
}

#define OP_COMPARE(NAME, T, FIELD, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *rs = f->dst->v.b; \
\
		strict_nulls(f->dst, f->a, f->b, f->n); \
		LOOP_BINARY(T, FIELD, FIELD, rs[j] = (uint8_t) (EXPR)); \
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

#define OP_COMPARE_DECIMAL(NAME, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *rs = f->dst->v.b; \
\
		strict_nulls(f->dst, f->a, f->b, f->n); \
		if (narrow_operands(f)) \
		{ \
			LOOP_NARROW(rs[j] = (uint8_t) (EXPR)); \
			return GPUCOL_OK; \
		} \
		widen_operands(f); \
		LOOP_BINARY(__int128, d, d, rs[j] = (uint8_t) (EXPR)); \
		return GPUCOL_OK; \
	}

OP_COMPARE_DECIMAL(EQ_D, x == y)
OP_COMPARE_DECIMAL(NE_D, x != y)
OP_COMPARE_DECIMAL(LT_D, x < y)
OP_COMPARE_DECIMAL(LE_D, x <= y)

/* Constants that a loop without branches looks through sooner than a search does. */
#define FEW_CONSTANTS 8

/* Constants b .. b + c - 1 ascend; a NULL among them makes a miss NULL. */
static GpucolStatus
op_IN_I(GpucolCpuFrame *f)
{
	const GpucolConst *list = &f->worker->run->consts[f->instr->b];
	uint32_t	n = f->instr->c;
	bool		has_null = false;

	strict_nulls(f->dst, f->a, NULL, f->n);
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
static GpucolStatus
op_HOST_TEST(GpucolCpuFrame *f)
{
	const GpucolCpuWorker *worker = f->worker;
	const GpucolRun *run = worker->run;
	const GpucolCpuReg *a = f->a;
	const GpucolCpuHostTest *test = run->hosts;
	uint32_t	base = 0;

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

GPUCOL_CPU_CLONES static GpucolStatus
op_AND(GpucolCpuFrame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		LOOP_BINARY(uint8_t, b, b, f->dst->v.b[j] = x & y);
		return GPUCOL_OK;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		xn = GPUCOL_CPU_NULL_AT(f->a, j);
		uint8_t		yn = GPUCOL_CPU_NULL_AT(f->b, j);
		uint8_t		x = f->a->v.b[j] & !xn;
		uint8_t		y = f->b->v.b[j] & !yn;

		f->dst->v.b[j] = x & y;
		f->dst->null_space[j] = (uint8_t) gpucol_scalar_and_null(x, xn, y, yn);
	}
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_OR(GpucolCpuFrame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		LOOP_BINARY(uint8_t, b, b, f->dst->v.b[j] = x | y);
		return GPUCOL_OK;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		xn = GPUCOL_CPU_NULL_AT(f->a, j);
		uint8_t		yn = GPUCOL_CPU_NULL_AT(f->b, j);
		uint8_t		x = f->a->v.b[j] & !xn;
		uint8_t		y = f->b->v.b[j] & !yn;

		f->dst->v.b[j] = x | y;
		f->dst->null_space[j] = (uint8_t) gpucol_scalar_or_null(x, xn, y, yn);
	}
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_NOT(GpucolCpuFrame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.b[j] = !f->a->v.b[j];
	return GPUCOL_OK;
}

static GpucolStatus
op_IS_TRUE(GpucolCpuFrame *f)
{
	f->dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.b[j] = GPUCOL_CPU_TRUE_AT(f->a, j);
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
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.i[j] = f->a->v.b[j];
	return GPUCOL_OK;
}

/* The branches' values are XS and YS, the result's RS. */
#define CASE_LOOP(RS, XS, YS) \
	do \
	{ \
		const GpucolCpuReg *b = f->b; \
		const GpucolCpuReg *c = f->c; \
\
		f->dst->nulls = b->nulls != NULL || c->nulls != NULL ? \
			f->dst->null_space : NULL; \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			bool		yes = GPUCOL_CPU_TRUE_AT(f->a, j); \
\
			(RS)[j] = yes ? (XS)[j] : (YS)[j]; \
			f->dst->null_space[j] = yes ? GPUCOL_CPU_NULL_AT(b, j) : GPUCOL_CPU_NULL_AT(c, j); \
		} \
	} while (0)

#define OP_CASE(NAME, FIELD) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(GpucolCpuFrame *f) \
	{ \
		CASE_LOOP(f->dst->v.FIELD, b->v.FIELD, c->v.FIELD); \
		return GPUCOL_OK; \
	}

OP_CASE(CASE_B, b)
OP_CASE(CASE_I, i)
OP_CASE(CASE_F, f)

GPUCOL_CPU_CLONES static GpucolStatus
op_CASE_D(GpucolCpuFrame *f)
{
	if (f->b->narrow && f->c->narrow)
	{
		int64_t    *rs = to_narrow(f);

		CASE_LOOP(rs, b->n, c->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_expr_widen(f->b, f->n);
	gpucol_cpu_expr_widen(f->c, f->n);
	to_wide(f);
	CASE_LOOP(f->dst->v.d, b->v.d, c->v.d);
	return GPUCOL_OK;
}

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
