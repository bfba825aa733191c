/*-------------------------------------------------------------------------
 *
 * float_order.h
 *	  Floats as PostgreSQL orders them, in integers.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_FLOAT_ORDER_H
#define GPUCOL_KERNEL_FLOAT_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel/format.h"

/* Functions that device code may call as well. */
#ifdef __CUDACC__
#define GPUCOL_DEVICE __host__ __device__
#else
#define GPUCOL_DEVICE
#endif

/* Does a column of this kind hold bit patterns of floats? */
static inline GPUCOL_DEVICE bool
gpucol_kind_is_float(int kind)
{
	return kind == GPUCOL_KIND_FLOAT4 || kind == GPUCOL_KIND_FLOAT8;
}

/*
 * Map a double to an int64 such that integer order is PostgreSQL's order: every
 * NaN equal and above infinity, -0 equal to 0.
 */
static inline GPUCOL_DEVICE int64_t
gpucol_float_order(double value)
{
	int64_t		bits;

	if (value != value)
		return INT64_MAX;
	memcpy(&bits, &value, sizeof(bits));
	if (bits == INT64_MIN)
		return 0;
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* The double that a FLOAT4 or FLOAT8 bit pattern stands for. */
static inline GPUCOL_DEVICE double
gpucol_float_value(GpucolKind kind, int64_t bits)
{
	double		value;

	if (kind == GPUCOL_KIND_FLOAT4)
	{
		uint32_t	low = (uint32_t) bits;
		float		narrow;

		memcpy(&narrow, &low, sizeof(narrow));
		return narrow;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The inverse; FLOAT4 rounds. */
static inline GPUCOL_DEVICE int64_t
gpucol_float_bits(GpucolKind kind, double value)
{
	int64_t		bits;

	if (kind == GPUCOL_KIND_FLOAT4)
	{
		float		narrow = (float) value;
		uint32_t	low;

		memcpy(&low, &narrow, sizeof(low));
		return low;
	}
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* 10^scale for 0 <= scale <= GPUCOL_MAX_FLOAT_SCALE, exact in a double. */
#define GPUCOL_MAX_FLOAT_SCALE 22

static inline GPUCOL_DEVICE double
gpucol_float_power10(int scale)
{
	double		power = 1.0;

	while (scale-- > 0)
		power *= 10.0;
	return power;
}

#endif							/* GPUCOL_KERNEL_FLOAT_ORDER_H */
