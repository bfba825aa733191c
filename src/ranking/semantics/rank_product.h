/*-------------------------------------------------------------------------
 *
 * rank_product.h
 *	  Products of many probabilities, exact to about 1e-30 and without
 *	  underflow; the arithmetic under every U-Topk ranking.
 *
 * A GpucolProduct is (hi + lo) * 2^(256 * e): a double-double with the bulk of
 * the exponent apart, the integer part of a logarithm so to say.  hi lies in
 * (2^-256, 1], or all members are zero.  There is no division and no
 * logarithm: a factor is taken out of a product by keeping a tree of products,
 * not by dividing.  Comparison is by (e, hi).
 *
 * Freestanding: C, C++ and CUDA.  Double-double arithmetic after Dekker and
 * Knuth (two-sum, two-product by fused multiply-add).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_PRODUCT_H
#define GPUCOL_RANKING_SEMANTICS_RANK_PRODUCT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define GPUCOL_RANK_INLINE static __host__ __device__ inline
#else
#define GPUCOL_RANK_INLINE static inline
#endif

/* A later set must beat an earlier one by more than this, relatively. */
#define GPUCOL_RANK_TIE		1e-12

#define GPUCOL_RANK_UP		0x1p+256
#define GPUCOL_RANK_DOWN	0x1p-256

/* An unevaluated sum of two doubles. */
typedef struct GpucolPair
{
	double		hi;
	double		lo;
} GpucolPair;

typedef struct GpucolProduct
{
	double		hi;
	double		lo;
	int64_t		e;
} GpucolProduct;

/* a + b, exactly */
GPUCOL_RANK_INLINE GpucolPair
gpucol_pair_sum(double a, double b)
{
	GpucolPair	s;
	double		t;

	s.hi = a + b;
	t = s.hi - a;
	s.lo = (a - (s.hi - t)) + (b - t);
	return s;
}

/* a + b, to about 2^-104 */
GPUCOL_RANK_INLINE GpucolPair
gpucol_pair_add(GpucolPair a, double b)
{
	GpucolPair	s = gpucol_pair_sum(a.hi, b);

	return gpucol_pair_sum(s.hi, s.lo + a.lo);
}

/* a - b, to about 2^-104 of the greater */
GPUCOL_RANK_INLINE GpucolPair
gpucol_pair_sub(GpucolPair a, GpucolPair b)
{
	return gpucol_pair_add(gpucol_pair_add(a, -b.hi), -b.lo);
}

/* a * b, to about 2^-104 */
GPUCOL_RANK_INLINE GpucolPair
gpucol_pair_mul(GpucolPair a, GpucolPair b)
{
	double		p = a.hi * b.hi;
	double		e = fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi);
	GpucolPair	r;

	r.hi = p + e;
	r.lo = e - (r.hi - p);
	return r;
}

/* 1 - p, exactly, for a probability p */
GPUCOL_RANK_INLINE GpucolPair
gpucol_pair_complement(double p)
{
	return gpucol_pair_sum(1.0, -p);
}

/* Bring hi back into (2^-256, 1]. */
GPUCOL_RANK_INLINE GpucolProduct
gpucol_product_normalize(GpucolPair v, int64_t e)
{
	GpucolProduct r;

	if (v.hi <= 0)
	{
		r.hi = r.lo = 0;
		r.e = 0;
		return r;
	}
	while (v.hi <= GPUCOL_RANK_DOWN)
	{
		v.hi *= GPUCOL_RANK_UP;
		v.lo *= GPUCOL_RANK_UP;
		e--;
	}
	r.hi = v.hi;
	r.lo = v.lo;
	r.e = e;
	return r;
}

GPUCOL_RANK_INLINE GpucolProduct
gpucol_product_of_pair(GpucolPair v)
{
	return gpucol_product_normalize(v, 0);
}

GPUCOL_RANK_INLINE GpucolProduct
gpucol_product_of(double p)
{
	GpucolPair	v;

	v.hi = p;
	v.lo = 0;
	return gpucol_product_normalize(v, 0);
}

GPUCOL_RANK_INLINE GpucolProduct
gpucol_product_mul_pair(GpucolProduct a, GpucolPair b)
{
	GpucolPair	v;

	v.hi = a.hi;
	v.lo = a.lo;
	if (b.hi <= GPUCOL_RANK_DOWN)
	{
		/* a tiny factor: scale first, so that no low part underflows */
		GpucolProduct s = gpucol_product_of_pair(b);

		b.hi = s.hi;
		b.lo = s.lo;
		return gpucol_product_normalize(gpucol_pair_mul(v, b), a.e + s.e);
	}
	return gpucol_product_normalize(gpucol_pair_mul(v, b), a.e);
}

GPUCOL_RANK_INLINE GpucolProduct
gpucol_product_mul(GpucolProduct a, GpucolProduct b)
{
	GpucolPair	x,
				y;

	x.hi = a.hi;
	x.lo = a.lo;
	y.hi = b.hi;
	y.lo = b.lo;
	return gpucol_product_normalize(gpucol_pair_mul(x, y), a.e + b.e);
}

/* a < b, with no tolerance */
GPUCOL_RANK_INLINE bool
gpucol_product_less(GpucolProduct a, GpucolProduct b)
{
	if (a.hi == 0 || b.hi == 0)
		return b.hi > 0 && a.hi == 0;
	if (a.e != b.e)
		return a.e < b.e;
	return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

/* a > b * (1 + GPUCOL_RANK_TIE) */
GPUCOL_RANK_INLINE bool
gpucol_product_beats(GpucolProduct a, GpucolProduct b)
{
	double		bar = b.hi * (1 + GPUCOL_RANK_TIE);

	if (a.hi == 0 || b.hi == 0)
		return a.hi > 0;
	if (a.e == b.e)
		return a.hi > bar;
	if (a.e == b.e + 1)
		return a.hi * GPUCOL_RANK_UP > bar;
	if (a.e + 1 == b.e)
		return a.hi > bar * GPUCOL_RANK_UP;
	return a.e > b.e;
}

/* a < b, by a margin that no later rounding can close */
GPUCOL_RANK_INLINE bool
gpucol_product_clearly_below(GpucolProduct a, GpucolProduct b)
{
	b.hi *= 1 - 1e-9;
	if (b.hi == 0 || a.hi == 0)
		return b.hi > 0;
	if (a.e == b.e)
		return a.hi < b.hi;
	if (a.e + 1 == b.e)
		return a.hi < b.hi * GPUCOL_RANK_UP;
	return a.e < b.e - 1;
}

/* The nearest double; 0 below its range. */
GPUCOL_RANK_INLINE double
gpucol_product_value(GpucolProduct a)
{
	if (a.e < -8)
		return 0;
	return ldexp(a.hi + a.lo, (int) (a.e * 256));
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_PRODUCT_H */
