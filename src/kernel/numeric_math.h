/*-------------------------------------------------------------------------
 *
 * numeric_math.h
 *	  Roots, logarithms and powers of packed decimals with the digits of PostgreSQL's functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_NUMERIC_MATH_H
#define GPUCOL_KERNEL_NUMERIC_MATH_H

#include "kernel/math_functions.h"
#include "kernel/program.h"

/* What a worker has learned of PostgreSQL's functions; zeros at first. */
typedef struct GpucolNumericMath GpucolNumericMath;

extern const size_t gpucol_numeric_math_size;

/*
 * The value of a function (GpucolNumericFunction) for packed decimals, of which one of one argument reads x, by any
 * thread that is the only one to use `known`.  Errors of arguments are their status; GPUCOL_UNSUPPORTED where an
 * argument or the result is no packed decimal, or PostgreSQL raises another error.
 */
extern GpucolStatus gpucol_numeric_math(GpucolNumericMath *known, const GpucolHost *host, int function,
											__int128 x, __int128 y, __int128 *r);

#endif							/* GPUCOL_KERNEL_NUMERIC_MATH_H */
