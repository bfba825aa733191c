/*-------------------------------------------------------------------------
 *
 * checked.h
 *	  Integer arithmetic that says whether it left its type.
 *
 * The result is the one modulo 2^64 or 2^128.  Where the compiler has no builtin for it,
 * device code, it is written out.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_CHECKED_H
#define GPUCOL_KERNEL_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/float_order.h"

#ifndef __CUDACC__

static inline bool
gpucol_add64(int64_t x, int64_t y, int64_t *r)
{
	return __builtin_add_overflow(x, y, r);
}

static inline bool
gpucol_add128(__int128 x, __int128 y, __int128 *r)
{
	return __builtin_add_overflow(x, y, r);
}

static inline bool
gpucol_sub64(int64_t x, int64_t y, int64_t *r)
{
	return __builtin_sub_overflow(x, y, r);
}

static inline bool
gpucol_sub128(__int128 x, __int128 y, __int128 *r)
{
	return __builtin_sub_overflow(x, y, r);
}

static inline bool
gpucol_mul64(int64_t x, int64_t y, int64_t *r)
{
	return __builtin_mul_overflow(x, y, r);
}

static inline bool
gpucol_mul128(__int128 x, __int128 y, __int128 *r)
{
	return __builtin_mul_overflow(x, y, r);
}

#else

static inline GPUCOL_DEVICE bool
gpucol_add64(int64_t x, int64_t y, int64_t *r)
{
	*r = (int64_t) ((uint64_t) x + (uint64_t) y);
	return ((x ^ *r) & (y ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_sub64(int64_t x, int64_t y, int64_t *r)
{
	*r = (int64_t) ((uint64_t) x - (uint64_t) y);
	return ((x ^ y) & (x ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_add128(__int128 x, __int128 y, __int128 *r)
{
	*r = (__int128) ((unsigned __int128) x + (unsigned __int128) y);
	return ((x ^ *r) & (y ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_sub128(__int128 x, __int128 y, __int128 *r)
{
	*r = (__int128) ((unsigned __int128) x - (unsigned __int128) y);
	return ((x ^ y) & (x ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_mul64(int64_t x, int64_t y, int64_t *r)
{
	*r = (int64_t) ((uint64_t) x * (uint64_t) y);
#ifdef __CUDA_ARCH__
	return __mul64hi(x, y) != *r >> 63;
#else
	return (__int128) x * y != *r;
#endif
}

static inline GPUCOL_DEVICE bool
gpucol_mul128(__int128 x, __int128 y, __int128 *r)
{
	unsigned __int128 a = x < 0 ? -(unsigned __int128) x : (unsigned __int128) x;
	unsigned __int128 b = y < 0 ? -(unsigned __int128) y : (unsigned __int128) y;
	uint64_t	ah = (uint64_t) (a >> 64),
				bh = (uint64_t) (b >> 64);
	unsigned __int128 low = (unsigned __int128) (uint64_t) a * (uint64_t) b;
	unsigned __int128 cross = ah ? (unsigned __int128) ah * (uint64_t) b : (unsigned __int128) bh * (uint64_t) a;
	bool		negative = (x < 0) != (y < 0);
	bool		over = (ah && bh) || (cross >> 64) != 0;

	cross = (cross << 64) + low;
	over |= cross < low;
	*r = negative ? (__int128) -cross : (__int128) cross;
	return over || (cross != 0 && (*r < 0) != negative);
}

#endif

#endif							/* GPUCOL_KERNEL_CHECKED_H */
