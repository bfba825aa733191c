/*-------------------------------------------------------------------------
 *
 * expr_ops.h
 *	  What the files of operations share: errors, NULLs, loops.
 *
 * Errors.  An instruction that can fail is defined by a scalar function
 * (kernel/scalar.h) that gives PostgreSQL's result or its error.  The vector loop
 * computes all rows without branches and gathers only whether any row looked
 * wrong; then, and only then, the rows are done again by the scalar function,
 * and the first failing row that counts (mask true, no NULL operand) ends the
 * run.  Rows that do not count yield zero.
 *
 * Loops keep pointers and the number of rows in variables of their own: what is stored
 * might be any of them to the compiler, and such a loop is not vectorised.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_EXPR_OPS_H
#define GPUCOL_ENGINE_CPU_EXPR_OPS_H

#include "engine/cpu/expr.h"
#include "kernel/scalar.h"

/* Integers that doubles hold exactly, and with them quotients by integers, the fraction dropped. */
#define GPUCOL_CPU_EXACT_DOUBLE	(INT64_C(1) << 52)

/* dst is NULL where a, or b if given, is. */
extern void gpucol_cpu_op_nulls(GpucolCpuReg *dst, const GpucolCpuReg *a,
								const GpucolCpuReg *b, uint32_t n);

/* Rows where a condition is true, as bytes of 0 and 1: its own, or put into `space`. */
extern const uint8_t *gpucol_cpu_op_true_rows(const GpucolCpuReg *condition, uint32_t n,
											  uint8_t *space);

/* The NULLs of a CASE whose first branch the rows `take`. */
extern void gpucol_cpu_op_case_nulls(GpucolCpuFrame *f, const uint8_t *take);

/* Does an error of row j count? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_op_counts(const GpucolCpuFrame *f, uint32_t j)
{
	const GpucolCpuReg *mask;

	if (GPUCOL_CPU_NULL_AT(f->dst, j))
		return false;
	if (f->instr->mask == GPUCOL_NO_REG)
		return true;
	mask = &f->worker->regs[f->instr->mask];
	return mask->v.b[j] && !GPUCOL_CPU_NULL_AT(mask, j);
}

/* NULLs, wide operands, and a wide result where it is a decimal (expr_packed.c). */
extern void gpucol_cpu_op_prepare_packed(GpucolCpuFrame *f, bool binary);

/* The string of a register at row j, which is not NULL. */
GPUCOL_CPU_INLINE GpucolBytes
gpucol_cpu_op_string(const GpucolCpuReg *reg, uint32_t j)
{
	return reg->coded ? reg->column->entries[reg->codes[j]] : reg->v.s[j];
}

/* What is known of a register's values in this segment or delta batch. */
GPUCOL_CPU_INLINE const GpucolCpuBounds *
gpucol_cpu_op_bounds(const GpucolCpuFrame *f, uint16_t reg)
{
	return &f->worker->run->digest.bounds[reg];
}

/* ---- the slow pass ---- */

#define GPUCOL_CPU_SLOW_BINARY(NAME, R, RT, A, B) \
	static GpucolStatus \
	slow_##NAME(GpucolCpuFrame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], f->b->v.B[j], &r); \
\
			if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

#define GPUCOL_CPU_SLOW_UNARY(NAME, R, RT, A) \
	static GpucolStatus \
	slow_##NAME(GpucolCpuFrame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], &r); \
\
			if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

/* ---- vector loops ---- */

/*
 * A loop over two operands of type T: BODY of j, x and y in three forms, so that a
 * constant operand stays in a register.
 */
#define GPUCOL_CPU_LOOP_OVER(T, XS, YS, BODY) \
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

#define GPUCOL_CPU_LOOP_BINARY(T, A, B, BODY) GPUCOL_CPU_LOOP_OVER(T, f->a->v.A, f->b->v.B, BODY)

/* The branches' values are XS and YS, the result's RS. */
#define GPUCOL_CPU_CASE_LOOP(T, RS, XS, YS) \
	do \
	{ \
		uint8_t		space[GPUCOL_VECTOR_VALUES]; \
		const uint8_t *take = gpucol_cpu_op_true_rows(f->a, f->n, space); \
		const T    *xs = XS; \
		const T    *ys = YS; \
		T		   *rs = RS; \
		uint32_t	n = f->n; \
\
		gpucol_cpu_op_case_nulls(f, take); \
		for (uint32_t j = 0; j < n; j++) \
			rs[j] = take[j] ? xs[j] : ys[j]; \
		return GPUCOL_OK; \
	} while (0)

/* engine/cpu/expr_math.c */
extern GpucolStatus gpucol_cpu_op_MATH_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MATH2_F(GpucolCpuFrame *f);

/* engine/cpu/expr_time.c */
extern GpucolStatus gpucol_cpu_op_DATE_ADD_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_TIME_DIFF_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SHIFT_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ZONE_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ZONE_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SPAN_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SPAN_ADD_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ORDERED_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_AGE_I(GpucolCpuFrame *f);

/* engine/cpu/expr_form.c */
extern GpucolStatus gpucol_cpu_op_FORM_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FORM_TZ(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FORM_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FORM_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MD5_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_PICTURE_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_TEXT_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_CASE_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_BOTH_S(GpucolCpuFrame *f);

/* engine/cpu/expr_array.c */
extern GpucolStatus gpucol_cpu_op_ARRAY_SIZE_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_ITEM_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_ITEM_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_ITEM_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_HAS_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_HAS_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_HAS_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_PLACE_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_PLACE_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARRAY_PLACE_S(GpucolCpuFrame *f);

/* engine/cpu/expr_fold.c */
extern GpucolStatus gpucol_cpu_op_SPREAD_B(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SPREAD_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SPREAD_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SPREAD_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_COUNT(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_DISTINCT_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_DISTINCT_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_DISTINCT_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_AND(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_OR(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_SUM_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_SUM_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_SUM_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_AVG_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_MIN_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_MAX_I(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_MIN_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FOLD_MAX_F(GpucolCpuFrame *f);

/* engine/cpu/expr_packed.c */
extern GpucolStatus gpucol_cpu_op_PACK_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_NUMERIC_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_NUMERIC_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SCALE_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ARITH_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_COMPARE_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_PART_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ROUND_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SCALE_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_P_TO_F(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_D_TO_I(GpucolCpuFrame *f);

/* engine/cpu/expr_rounded.c */
extern GpucolStatus gpucol_cpu_op_QUOTIENT_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_F_TO_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_TRIM_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MATH_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MATH2_P(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_F_TO_D(GpucolCpuFrame *f);

/* engine/cpu/expr_decimal.c */
extern GpucolStatus gpucol_cpu_op_LENGTH_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_PART_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_HOST_MAP(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_HOST_EACH(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MATCH_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_FIELD_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_EQ_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_LT_S(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ADD_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_SUB_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_MUL_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_NEG_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_ABS_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_RESCALE_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_I_TO_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_EQ_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_NE_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_LT_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_LE_D(GpucolCpuFrame *f);
extern GpucolStatus gpucol_cpu_op_CASE_D(GpucolCpuFrame *f);

#endif							/* GPUCOL_ENGINE_CPU_EXPR_OPS_H */
