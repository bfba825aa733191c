/*-------------------------------------------------------------------------
 *
 * math_functions.h
 *	  Functions of floats that PostgreSQL asks the host's mathematical library for.
 *
 * Their results are those of the library, so only what runs on the host computes them.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_MATH_FUNCTIONS_H
#define GPUCOL_KERNEL_MATH_FUNCTIONS_H

typedef enum GpucolMathFunction
{
	/* never an error */
	GPUCOL_MATH_CEIL,
	GPUCOL_MATH_FLOOR,
	GPUCOL_MATH_ROUND,			/* to even */
	GPUCOL_MATH_TRUNC,
	GPUCOL_MATH_SIGN,
	GPUCOL_MATH_CBRT,
	GPUCOL_MATH_ATAN,
	GPUCOL_MATH_SINH,
	GPUCOL_MATH_TANH,
	GPUCOL_MATH_ASINH,
	GPUCOL_MATH_HARMLESS = GPUCOL_MATH_ASINH,
	GPUCOL_MATH_SQRT,
	GPUCOL_MATH_EXP,
	GPUCOL_MATH_LN,
	GPUCOL_MATH_LOG10,
	GPUCOL_MATH_DEGREES,
	GPUCOL_MATH_RADIANS,
	GPUCOL_MATH_SIN,
	GPUCOL_MATH_COS,
	GPUCOL_MATH_TAN,
	GPUCOL_MATH_COT,
	GPUCOL_MATH_ASIN,
	GPUCOL_MATH_ACOS,
	GPUCOL_MATH_COSH,
	GPUCOL_MATH_ACOSH,
	GPUCOL_MATH_ATANH,
	GPUCOL_MATH_UNARY = GPUCOL_MATH_ATANH,
	GPUCOL_MATH_POWER,			/* of two arguments */
	GPUCOL_MATH_ATAN2,
	GPUCOL_MATH_LAST = GPUCOL_MATH_ATAN2
} GpucolMathFunction;

/* Functions of numerics of which PostgreSQL gives some digits. */
typedef enum GpucolNumericFunction
{
	GPUCOL_NUMERIC_SQRT,
	GPUCOL_NUMERIC_LN,
	GPUCOL_NUMERIC_EXP,
	GPUCOL_NUMERIC_UNARY = GPUCOL_NUMERIC_EXP,
	GPUCOL_NUMERIC_LOG,			/* of y to the base x */
	GPUCOL_NUMERIC_POWER,
	GPUCOL_NUMERIC_FUNCTIONS
} GpucolNumericFunction;

#endif							/* GPUCOL_KERNEL_MATH_FUNCTIONS_H */
