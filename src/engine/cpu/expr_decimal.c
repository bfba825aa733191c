/*-------------------------------------------------------------------------
 *
 * expr_decimal.c
 *	  Operations of decimals.
 *
 * A register of class D has its values in 64 bits (n), in 128 (v.d), or in both.
 * Columns come in 64.  Where the bounds of a result fit int64, operands that are narrow
 * give a narrow result, computed without a look at overflows; else it is wide.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_ops.h"
#include "kernel/packed_decimal.h"

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
	return operands && gpucol_cpu_op_bounds(f, f->instr->dst)->known;
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
	const GpucolCpuBounds *b = gpucol_cpu_op_bounds(f, reg);

	return b->known && b->lo >= INT32_MIN && b->hi <= INT32_MAX;
}

GPUCOL_CPU_SLOW_BINARY(ADD_D, d, __int128, d, d)
GPUCOL_CPU_SLOW_BINARY(SUB_D, d, __int128, d, d)
GPUCOL_CPU_SLOW_BINARY(MUL_D, d, __int128, d, d)
GPUCOL_CPU_SLOW_UNARY(NEG_D, d, __int128, d)
GPUCOL_CPU_SLOW_UNARY(ABS_D, d, __int128, d)
GPUCOL_CPU_SLOW_UNARY(RESCALE_D, d, __int128, d)
GPUCOL_CPU_SLOW_UNARY(I_TO_D, d, __int128, i)

/* Over decimals that fit int64. */
#define LOOP_NARROW(BODY) GPUCOL_CPU_LOOP_OVER(int64_t, f->a->n, f->b->n, BODY)

/* The values and the NULLs of another register. */
static GpucolStatus
copy_decimal(GpucolCpuFrame *f, GpucolCpuReg *from)
{
	gpucol_cpu_op_nulls(f->dst, from, NULL, f->n);
	if (from->narrow)
		memcpy(to_narrow(f), from->n, sizeof(int64_t) * f->n);
	else
		memcpy(to_wide(f), gpucol_cpu_expr_widen(from, f->n), sizeof(__int128) * f->n);
	return GPUCOL_OK;
}

/*
 * Arithmetic of decimals.  Bounds say that a narrow result does not leave int64 where it
 * is not NULL; two narrow operands cannot leave int128.
 */
#define OP_DECIMAL(NAME, SLOW, OPERATOR) \
	GPUCOL_CPU_CLONES GpucolStatus \
	NAME(GpucolCpuFrame *f) \
	{ \
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
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

static OP_DECIMAL(add_decimals, slow_ADD_D, +)
OP_DECIMAL(gpucol_cpu_op_SUB_D, slow_SUB_D, -)
static OP_DECIMAL(multiply_decimals, slow_MUL_D, *)

/* Nothing added to what is wide is what it was. */
GpucolStatus
gpucol_cpu_op_ADD_D(GpucolCpuFrame *f)
{
	const GpucolCpuBounds *a = gpucol_cpu_op_bounds(f, f->instr->a);

	if (f->b->narrow || !a->known || a->lo != 0 || a->hi != 0)
		return add_decimals(f);
	copy_decimal(f, f->b);
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	return GPUCOL_OK;
}

/* Factors of 32 bits have an instruction of their own. */
GPUCOL_CPU_CLONES GpucolStatus
gpucol_cpu_op_MUL_D(GpucolCpuFrame *f)
{
	if (narrow_operands(f) && fits_int32(f, f->instr->a) && fits_int32(f, f->instr->b))
	{
		int64_t    *rs = to_narrow(f);

		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
		LOOP_NARROW(rs[j] = (int64_t) (int32_t) x * (int32_t) y);
		return GPUCOL_OK;
	}
	return multiply_decimals(f);
}

/* Of one operand: in 64 bits, EXPR of x, else by the scalar function. */
#define OP_DECIMAL_UNARY(NAME, EXPR) \
	GPUCOL_CPU_CLONES GpucolStatus \
	gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
	{ \
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n); \
		if (narrow_result(f, f->a->narrow)) \
		{ \
			const int64_t *xs = f->a->n; \
			int64_t    *rs = to_narrow(f); \
			uint32_t	n = f->n; \
\
			for (uint32_t j = 0; j < n; j++) \
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
	uint64_t	power = (uint64_t) gpucol_power10(f->instr->aux);
	uint32_t	n = f->n;

	for (uint32_t j = 0; j < n; j++)
		rs[j] = (int64_t) ((uint64_t) xs[j] * power);
	return GPUCOL_OK;
}

/* Powers of ten of which a product with an int64 fits int128. */
#define LARGEST_POWER	18

/* ... which fits int128 */
GPUCOL_CPU_CLONES static GpucolStatus
scale_wide(GpucolCpuFrame *f, const int64_t *xs)
{
	__int128   *rs = to_wide(f);
	int64_t		power = (int64_t) gpucol_power10(f->instr->aux);
	uint32_t	n = f->n;

	for (uint32_t j = 0; j < n; j++)
		rs[j] = (__int128) xs[j] * power;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_RESCALE_D(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (narrow_result(f, f->a->narrow))
		return scale_narrow(f, f->a->n);
	if (f->a->narrow && f->instr->aux <= LARGEST_POWER)
		return scale_wide(f, f->a->n);
	gpucol_cpu_expr_widen(f->a, f->n);
	to_wide(f);
	return slow_RESCALE_D(f);
}

GpucolStatus
gpucol_cpu_op_I_TO_D(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (narrow_result(f, true))
		return scale_narrow(f, f->a->v.i);
	if (f->instr->aux <= LARGEST_POWER)
		return scale_wide(f, f->a->v.i);
	to_wide(f);
	return slow_I_TO_D(f);
}

#define OP_COMPARE_DECIMAL(NAME, EXPR) \
	GPUCOL_CPU_CLONES GpucolStatus \
	gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *rs = f->dst->v.b; \
\
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
		if (narrow_operands(f)) \
		{ \
			LOOP_NARROW(rs[j] = (uint8_t) (EXPR)); \
			return GPUCOL_OK; \
		} \
		widen_operands(f); \
		GPUCOL_CPU_LOOP_BINARY(__int128, d, d, rs[j] = (uint8_t) (EXPR)); \
		return GPUCOL_OK; \
	}

OP_COMPARE_DECIMAL(EQ_D, x == y)
OP_COMPARE_DECIMAL(NE_D, x != y)
OP_COMPARE_DECIMAL(LT_D, x < y)
OP_COMPARE_DECIMAL(LE_D, x <= y)

GPUCOL_CPU_CLONES static GpucolStatus
choose_narrow(GpucolCpuFrame *f)
{
	GPUCOL_CPU_CASE_LOOP(int64_t, to_narrow(f), f->b->n, f->c->n);
}

GPUCOL_CPU_CLONES static GpucolStatus
choose_wide(GpucolCpuFrame *f)
{
	GPUCOL_CPU_CASE_LOOP(__int128, to_wide(f), gpucol_cpu_expr_widen(f->b, f->n),
			  gpucol_cpu_expr_widen(f->c, f->n));
}

GpucolStatus
gpucol_cpu_op_CASE_D(GpucolCpuFrame *f)
{
	if (gpucol_cpu_bounds_never(gpucol_cpu_op_bounds(f, f->instr->a)))
		return copy_decimal(f, f->c);
	if (gpucol_cpu_bounds_always(gpucol_cpu_op_bounds(f, f->instr->a)))
		return copy_decimal(f, f->b);
	return f->b->narrow && f->c->narrow ? choose_narrow(f) : choose_wide(f);
}
