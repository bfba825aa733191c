/*-------------------------------------------------------------------------
 *
 * func.c
 *	  The allow-list: PostgreSQL functions whose value, NULL and error an
 *	  opcode reproduces.
 *
 * Functions are known by OID, never by name, so that no user function and no
 * search_path can pass for one of them.  A greater-than is a less-than with
 * its operands exchanged.  Functions over types with the same ordinals (dates,
 * timestamps, oids) share the integer opcodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "kernel/math_functions.h"
#include "kernel/packed_decimal.h"
#include "lower/lower.h"

/* The six comparisons of a type, in the six names that pg_proc gives them. */
#define COMPARISONS(eq, ne, lt, le, gt, ge, c) \
	{eq, GPUCOL_OP_EQ_##c, 0, false}, \
	{ne, GPUCOL_OP_NE_##c, 0, false}, \
	{lt, GPUCOL_OP_LT_##c, 0, false}, \
	{le, GPUCOL_OP_LE_##c, 0, false}, \
	{gt, GPUCOL_OP_LT_##c, 0, true}, \
	{ge, GPUCOL_OP_LE_##c, 0, true}

#define COMPARISONS_OF(name, c) \
	COMPARISONS(F_##name##EQ, F_##name##NE, F_##name##LT, F_##name##LE, \
				F_##name##GT, F_##name##GE, c)

#define COMPARISONS_OF_(name, c) \
	COMPARISONS(F_##name##_EQ, F_##name##_NE, F_##name##_LT, F_##name##_LE, \
				F_##name##_GT, F_##name##_GE, c)

/* Plus, minus, times, divide of a type. */
#define ARITHMETIC_OF(name, c, width) \
	{F_##name##PL, GPUCOL_OP_ADD_##c, width, false}, \
	{F_##name##MI, GPUCOL_OP_SUB_##c, width, false}, \
	{F_##name##MUL, GPUCOL_OP_MUL_##c, width, false}, \
	{F_##name##DIV, GPUCOL_OP_DIV_##c, width, false}

static const GpucolFunction functions[] = {
	COMPARISONS_OF(INT2, I),
	COMPARISONS_OF(INT4, I),
	COMPARISONS_OF(INT8, I),
	COMPARISONS_OF(INT24, I),
	COMPARISONS_OF(INT42, I),
	COMPARISONS_OF(INT28, I),
	COMPARISONS_OF(INT82, I),
	COMPARISONS_OF(INT48, I),
	COMPARISONS_OF(INT84, I),
	COMPARISONS_OF(BOOL, I),
	COMPARISONS_OF(OID, I),
	COMPARISONS_OF(CHAR, I),
	COMPARISONS_OF_(CASH, I),
	COMPARISONS_OF_(DATE, I),
	COMPARISONS_OF_(TIME, I),
	COMPARISONS_OF_(TIMESTAMP, I),
	COMPARISONS_OF_(TIMESTAMPTZ, I),
	COMPARISONS_OF(FLOAT4, F),
	COMPARISONS_OF(FLOAT8, F),
	COMPARISONS_OF(FLOAT48, F),
	COMPARISONS_OF(FLOAT84, F),
	COMPARISONS_OF_(NUMERIC, D),
	{F_ENUM_EQ, GPUCOL_OP_EQ_I, 0, false},
	{F_ENUM_NE, GPUCOL_OP_NE_I, 0, false},

	ARITHMETIC_OF(INT2, I, 2),
	ARITHMETIC_OF(INT4, I, 4),
	ARITHMETIC_OF(INT8, I, 8),
	ARITHMETIC_OF(INT24, I, 4),
	ARITHMETIC_OF(INT42, I, 4),
	ARITHMETIC_OF(INT28, I, 8),
	ARITHMETIC_OF(INT82, I, 8),
	ARITHMETIC_OF(INT48, I, 8),
	ARITHMETIC_OF(INT84, I, 8),
	{F_INT2MOD, GPUCOL_OP_MOD_I, 2, false},
	{F_INT4MOD, GPUCOL_OP_MOD_I, 4, false},
	{F_INT8MOD, GPUCOL_OP_MOD_I, 8, false},
	{F_MOD_INT2_INT2, GPUCOL_OP_MOD_I, 2, false},
	{F_MOD_INT4_INT4, GPUCOL_OP_MOD_I, 4, false},
	{F_MOD_INT8_INT8, GPUCOL_OP_MOD_I, 8, false},
	{F_INT2UM, GPUCOL_OP_NEG_I, 2, false},
	{F_INT4UM, GPUCOL_OP_NEG_I, 4, false},
	{F_INT8UM, GPUCOL_OP_NEG_I, 8, false},
	{F_INT2ABS, GPUCOL_OP_ABS_I, 2, false},
	{F_INT4ABS, GPUCOL_OP_ABS_I, 4, false},
	{F_INT8ABS, GPUCOL_OP_ABS_I, 8, false},
	{F_ABS_INT2, GPUCOL_OP_ABS_I, 2, false},
	{F_ABS_INT4, GPUCOL_OP_ABS_I, 4, false},
	{F_ABS_INT8, GPUCOL_OP_ABS_I, 8, false},

	{F_CASH_PL, GPUCOL_OP_ADD_I, 8, false},
	{F_CASH_MI, GPUCOL_OP_SUB_I, 8, false},
	{F_CASH_MUL_INT2, GPUCOL_OP_MUL_I, 8, false},
	{F_CASH_MUL_INT4, GPUCOL_OP_MUL_I, 8, false},
	{F_CASH_MUL_INT8, GPUCOL_OP_MUL_I, 8, false},
	{F_INT2_MUL_CASH, GPUCOL_OP_MUL_I, 8, false},
	{F_INT4_MUL_CASH, GPUCOL_OP_MUL_I, 8, false},
	{F_INT8_MUL_CASH, GPUCOL_OP_MUL_I, 8, false},
	{F_CASH_DIV_INT2, GPUCOL_OP_DIV_I, 8, false},
	{F_CASH_DIV_INT4, GPUCOL_OP_DIV_I, 8, false},
	{F_CASH_DIV_INT8, GPUCOL_OP_DIV_I, 8, false},

	ARITHMETIC_OF(FLOAT4, F, 4),
	ARITHMETIC_OF(FLOAT8, F, 8),
	ARITHMETIC_OF(FLOAT48, F, 8),
	ARITHMETIC_OF(FLOAT84, F, 8),
	{F_FLOAT4UM, GPUCOL_OP_NEG_F, 4, false},
	{F_FLOAT8UM, GPUCOL_OP_NEG_F, 8, false},
	{F_FLOAT4ABS, GPUCOL_OP_ABS_F, 4, false},
	{F_FLOAT8ABS, GPUCOL_OP_ABS_F, 8, false},
	{F_ABS_FLOAT4, GPUCOL_OP_ABS_F, 4, false},
	{F_ABS_FLOAT8, GPUCOL_OP_ABS_F, 8, false},

	{F_INT2AND, GPUCOL_OP_BIT_AND_I, 2, false},
	{F_INT2OR, GPUCOL_OP_BIT_OR_I, 2, false},
	{F_INT2XOR, GPUCOL_OP_BIT_XOR_I, 2, false},
	{F_INT2SHL, GPUCOL_OP_SHL_I, 2, false},
	{F_INT2SHR, GPUCOL_OP_SHR_I, 2, false},
	{F_INT4AND, GPUCOL_OP_BIT_AND_I, 4, false},
	{F_INT4OR, GPUCOL_OP_BIT_OR_I, 4, false},
	{F_INT4XOR, GPUCOL_OP_BIT_XOR_I, 4, false},
	{F_INT4SHL, GPUCOL_OP_SHL_I, 4, false},
	{F_INT4SHR, GPUCOL_OP_SHR_I, 4, false},
	{F_INT8AND, GPUCOL_OP_BIT_AND_I, 8, false},
	{F_INT8OR, GPUCOL_OP_BIT_OR_I, 8, false},
	{F_INT8XOR, GPUCOL_OP_BIT_XOR_I, 8, false},
	{F_INT8SHL, GPUCOL_OP_SHL_I, 8, false},
	{F_INT8SHR, GPUCOL_OP_SHR_I, 8, false},

	{F_CEIL_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_CEIL, false},
	{F_CEILING_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_CEIL, false},
	{F_FLOOR_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_FLOOR, false},
	{F_ROUND_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_ROUND, false},
	{F_DROUND, GPUCOL_OP_MATH_F, GPUCOL_MATH_ROUND, false},
	{F_TRUNC_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_TRUNC, false},
	{F_DTRUNC, GPUCOL_OP_MATH_F, GPUCOL_MATH_TRUNC, false},
	{F_SIGN_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_SIGN, false},
	{F_CBRT, GPUCOL_OP_MATH_F, GPUCOL_MATH_CBRT, false},
	{F_DCBRT, GPUCOL_OP_MATH_F, GPUCOL_MATH_CBRT, false},
	{F_SQRT_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_SQRT, false},
	{F_DSQRT, GPUCOL_OP_MATH_F, GPUCOL_MATH_SQRT, false},
	{F_EXP_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_EXP, false},
	{F_DEXP, GPUCOL_OP_MATH_F, GPUCOL_MATH_EXP, false},
	{F_LN_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_LN, false},
	{F_DLOG1, GPUCOL_OP_MATH_F, GPUCOL_MATH_LN, false},
	{F_LOG_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_LOG10, false},
	{F_LOG10_FLOAT8, GPUCOL_OP_MATH_F, GPUCOL_MATH_LOG10, false},
	{F_DLOG10, GPUCOL_OP_MATH_F, GPUCOL_MATH_LOG10, false},
	{F_DEGREES, GPUCOL_OP_MATH_F, GPUCOL_MATH_DEGREES, false},
	{F_RADIANS, GPUCOL_OP_MATH_F, GPUCOL_MATH_RADIANS, false},
	{F_SIN, GPUCOL_OP_MATH_F, GPUCOL_MATH_SIN, false},
	{F_COS, GPUCOL_OP_MATH_F, GPUCOL_MATH_COS, false},
	{F_TAN, GPUCOL_OP_MATH_F, GPUCOL_MATH_TAN, false},
	{F_COT, GPUCOL_OP_MATH_F, GPUCOL_MATH_COT, false},
	{F_ASIN, GPUCOL_OP_MATH_F, GPUCOL_MATH_ASIN, false},
	{F_ACOS, GPUCOL_OP_MATH_F, GPUCOL_MATH_ACOS, false},
	{F_ATAN, GPUCOL_OP_MATH_F, GPUCOL_MATH_ATAN, false},
	{F_SINH, GPUCOL_OP_MATH_F, GPUCOL_MATH_SINH, false},
	{F_COSH, GPUCOL_OP_MATH_F, GPUCOL_MATH_COSH, false},
	{F_TANH, GPUCOL_OP_MATH_F, GPUCOL_MATH_TANH, false},
	{F_ASINH, GPUCOL_OP_MATH_F, GPUCOL_MATH_ASINH, false},
	{F_ACOSH, GPUCOL_OP_MATH_F, GPUCOL_MATH_ACOSH, false},
	{F_ATANH, GPUCOL_OP_MATH_F, GPUCOL_MATH_ATANH, false},
	{F_DPOW, GPUCOL_OP_MATH2_F, GPUCOL_MATH_POWER, false},
	{F_POW_FLOAT8_FLOAT8, GPUCOL_OP_MATH2_F, GPUCOL_MATH_POWER, false},
	{F_POWER_FLOAT8_FLOAT8, GPUCOL_OP_MATH2_F, GPUCOL_MATH_POWER, false},
	{F_ATAN2, GPUCOL_OP_MATH2_F, GPUCOL_MATH_ATAN2, false},

	{F_NUMERIC_ADD, GPUCOL_OP_ADD_D, 0, false},
	{F_NUMERIC_SUB, GPUCOL_OP_SUB_D, 0, false},
	{F_NUMERIC_MUL, GPUCOL_OP_MUL_D, 0, false},
	{F_NUMERIC_DIV, GPUCOL_OP_ARITH_P, GPUCOL_PACKED_DIV, false},
	{F_NUMERIC_MOD, GPUCOL_OP_ARITH_P, GPUCOL_PACKED_MOD, false},
	{F_MOD_NUMERIC_NUMERIC, GPUCOL_OP_ARITH_P, GPUCOL_PACKED_MOD, false},
	{F_DIV, GPUCOL_OP_ARITH_P, GPUCOL_PACKED_QUOTIENT, false},
	{F_NUMERIC_DIV_TRUNC, GPUCOL_OP_ARITH_P, GPUCOL_PACKED_QUOTIENT, false},
	{F_NUMERIC_UMINUS, GPUCOL_OP_NEG_D, 0, false},
	{F_NUMERIC_ABS, GPUCOL_OP_ABS_D, 0, false},
	{F_ABS_NUMERIC, GPUCOL_OP_ABS_D, 0, false},

	/* casts, named result, then argument; aux 0 = the same register, for
	 * decimals the digits */
	{F_INT2_INT4, GPUCOL_OP_CHECK_I, 2, false},
	{F_INT2_INT8, GPUCOL_OP_CHECK_I, 2, false},
	{F_INT4_INT8, GPUCOL_OP_CHECK_I, 4, false},
	{F_INT4_INT2, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT8_INT2, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT8_INT4, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT8_OID, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT2UP, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT4UP, GPUCOL_OP_CHECK_I, 0, false},
	{F_INT8UP, GPUCOL_OP_CHECK_I, 0, false},
	{F_FLOAT4UP, GPUCOL_OP_ROUND_F, 0, false},
	{F_FLOAT8UP, GPUCOL_OP_ROUND_F, 0, false},
	{F_FLOAT4_INT2, GPUCOL_OP_I_TO_F, 4, false},
	{F_FLOAT4_INT4, GPUCOL_OP_I_TO_F, 4, false},
	{F_FLOAT4_INT8, GPUCOL_OP_I_TO_F, 4, false},
	{F_FLOAT8_INT2, GPUCOL_OP_I_TO_F, 8, false},
	{F_FLOAT8_INT4, GPUCOL_OP_I_TO_F, 8, false},
	{F_FLOAT8_INT8, GPUCOL_OP_I_TO_F, 8, false},
	{F_INT2_FLOAT4, GPUCOL_OP_F_TO_I, 2, false},
	{F_INT2_FLOAT8, GPUCOL_OP_F_TO_I, 2, false},
	{F_INT4_FLOAT4, GPUCOL_OP_F_TO_I, 4, false},
	{F_INT4_FLOAT8, GPUCOL_OP_F_TO_I, 4, false},
	{F_INT8_FLOAT4, GPUCOL_OP_F_TO_I, 8, false},
	{F_INT8_FLOAT8, GPUCOL_OP_F_TO_I, 8, false},
	{F_FLOAT4_FLOAT8, GPUCOL_OP_ROUND_F, 4, false},
	{F_FLOAT8_FLOAT4, GPUCOL_OP_ROUND_F, 0, false},
	{F_NUMERIC_INT2, GPUCOL_OP_I_TO_D, 5, false},
	{F_NUMERIC_INT4, GPUCOL_OP_I_TO_D, 10, false},
	{F_NUMERIC_INT8, GPUCOL_OP_I_TO_D, 19, false},
	{F_INT4_BOOL, GPUCOL_OP_B_TO_I, 0, false},
	/* of columns, which are integers to the engine; lower/packed.c has others */
	{F_INT2_NUMERIC, GPUCOL_OP_CHECK_I, 2, false},
	{F_INT4_NUMERIC, GPUCOL_OP_CHECK_I, 4, false},
	{F_INT8_NUMERIC, GPUCOL_OP_CHECK_I, 0, false},
};

/*
 * The allow-list's entry of a function, or NULL.
 */
const GpucolFunction *
gpucol_lower_function(Oid oid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].oid == oid)
			return &functions[i];
	}
	return NULL;
}
