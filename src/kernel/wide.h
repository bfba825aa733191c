/*-------------------------------------------------------------------------
 *
 * wide.h
 *	  Powers and logarithms to some 34 decimal digits, in 128-bit integers.
 *
 * Two forms of numbers.  A fixed one is a signed int128 with GPUCOL_WIDE_BITS bits behind the
 * point; a wide one is 128 bits of which the highest is set, times a power of two.
 *
 * e^x is 2^(k / 64) e^r, with r below log(2) / 64: a table of 64 powers, and a series of 13 terms.
 * ln(m) is first the double's, y; what it lacks is ln(m e^-y), of a number so near 1 that two
 * terms of a series are enough.
 *
 * Errors.  Products are cut to 128 bits, each by three units of the last one at most; there are
 * fewer than 20 of them, and terms that the series leaves out are below 2^-126.  A fixed
 * argument is wrong by 2^-117 for its own cut and the multiple of log(2) that is taken off.  So
 * a power is wrong by a share of 2^-116 at most, and a logarithm by 2^-114.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_WIDE_H
#define GPUCOL_KERNEL_WIDE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/packed_decimal.h"

#define GPUCOL_WIDE_BITS		118
#define GPUCOL_WIDE_MOST		500 /* a fixed number that is computed with, at most */
#define GPUCOL_WIDE_POWER_LOST	0x1p-116	/* share of a power that it may be wrong by */
#define GPUCOL_WIDE_LOG_LOST	0x1p-114	/* of a logarithm, itself */

#define GPUCOL_WIDE(high, low)	((GpucolMagnitude) UINT64_C(high) << 64 | UINT64_C(low))

#define GPUCOL_WIDE_LN2		GPUCOL_WIDE(0x58b90bfbe8e7bcd5, 0xe4f1d9cc01f97b57)	/* 127 bits behind the point */
#define GPUCOL_WIDE_LN10	GPUCOL_WIDE(0x49aec6eed554560b, 0x752b6b15c1698514)	/* 125 */

/* bits * 2^exponent */
typedef struct GpucolWide
{
	GpucolMagnitude bits;
	int			exponent;
} GpucolWide;

/* 2^(i / 64) */
static const GpucolMagnitude gpucol_wide_roots[64] = {
	GPUCOL_WIDE(0x8000000000000000, 0x0000000000000000),
	GPUCOL_WIDE(0x8164d1f3bc030773, 0x7be56527bd14def4),
	GPUCOL_WIDE(0x82cd8698ac2ba1d7, 0x3e2a475b46520bff),
	GPUCOL_WIDE(0x843a28c3acde4046, 0x1af92eca13fd1582),
	GPUCOL_WIDE(0x85aac367cc487b14, 0xc5c95b8c2154c1b2),
	GPUCOL_WIDE(0x871f61969e8d1010, 0x3a1727c57b52a956),
	GPUCOL_WIDE(0x88980e8092da8527, 0x5df8d76c98c67562),
	GPUCOL_WIDE(0x8a14d575496efd9a, 0x080ca1d92c3680c2),
	GPUCOL_WIDE(0x8b95c1e3ea8bd6e6, 0xfbe4628758a53c90),
	GPUCOL_WIDE(0x8d1adf5b7e5ba9e5, 0xb4c7b4968e41ad36),
	GPUCOL_WIDE(0x8ea4398b45cd53c0, 0x2dc0144c8783d4c5),
	GPUCOL_WIDE(0x9031dc431466b1dc, 0x775814a8494e87e2),
	GPUCOL_WIDE(0x91c3d373ab11c336, 0x0fd6d8e0ae5ac9d8),
	GPUCOL_WIDE(0x935a2b2f13e6e92b, 0xd339940e9d924ee7),
	GPUCOL_WIDE(0x94f4efa8fef70961, 0x2e8afad12551de54),
	GPUCOL_WIDE(0x96942d3720185a00, 0x48ea9b683a9c22c4),
	GPUCOL_WIDE(0x9837f0518db8a96f, 0x46ad23182e42f6f6),
	GPUCOL_WIDE(0x99e0459320b7fa64, 0xe43086cb34b5fcae),
	GPUCOL_WIDE(0x9b8d39b9d54e5538, 0xa2a817a2a3cc3f1f),
	GPUCOL_WIDE(0x9d3ed9a72cffb750, 0xde494cf050e99b0b),
	GPUCOL_WIDE(0x9ef5326091a111ad, 0xa0911f09ebb9fdd1),
	GPUCOL_WIDE(0xa0b0510fb9714fc2, 0x192dc79edb0fd9a9),
	GPUCOL_WIDE(0xa27043030c496818, 0x9b7a04ef80cfdea7),
	GPUCOL_WIDE(0xa43515ae09e6809e, 0x0d1db4831781e1ee),
	GPUCOL_WIDE(0xa5fed6a9b15138ea, 0x1cbd7f621710701b),
	GPUCOL_WIDE(0xa7cd93b4e9653569, 0x9ec5b4d5039f72af),
	GPUCOL_WIDE(0xa9a15ab4ea7c0ef8, 0x541e24ec3531fa73),
	GPUCOL_WIDE(0xab7a39b5a93ed337, 0x658023b2759e0079),
	GPUCOL_WIDE(0xad583eea42a14ac6, 0x4980a8c8f59a2ec4),
	GPUCOL_WIDE(0xaf3b78ad690a4374, 0xdf26101ccbb35032),
	GPUCOL_WIDE(0xb123f581d2ac258f, 0x87d037e96d215d8e),
	GPUCOL_WIDE(0xb311c412a9112489, 0x3ecf14dc798a519b),
	GPUCOL_WIDE(0xb504f333f9de6484, 0x597d89b3754abe9f),
	GPUCOL_WIDE(0xb6fd91e328d17791, 0x07165f0ddd541a59),
	GPUCOL_WIDE(0xb8fbaf4762fb9ee9, 0x1b879778566b65a1),
	GPUCOL_WIDE(0xbaff5ab2133e45fb, 0x74d519d24593838c),
	GPUCOL_WIDE(0xbd08a39f580c36be, 0xa8811fb66d0faf7a),
	GPUCOL_WIDE(0xbf1799b67a731082, 0xe815d0abcbf0b850),
	GPUCOL_WIDE(0xc12c4cca66709456, 0x7c457d59a50087b5),
	GPUCOL_WIDE(0xc346ccda24976407, 0x20ec856128b83a42),
	GPUCOL_WIDE(0xc5672a115506dadd, 0x3e2ad0c964dd9f37),
	GPUCOL_WIDE(0xc78d74c8abb9b15c, 0xc13a2e3976c0277e),
	GPUCOL_WIDE(0xc9b9bd866e2f27a2, 0x80e1f92a0511697e),
	GPUCOL_WIDE(0xcbec14fef2727c5c, 0xf4907c8f45ebf6dc),
	GPUCOL_WIDE(0xce248c151f8480e3, 0xe235838f95f2c6ed),
	GPUCOL_WIDE(0xd06333daef2b2594, 0xd6d45c6559a4d502),
	GPUCOL_WIDE(0xd2a81d91f12ae45a, 0x12248e57c3de4028),
	GPUCOL_WIDE(0xd4f35aabcfedfa1f, 0x5921deffa6262c5a),
	GPUCOL_WIDE(0xd744fccad69d6af4, 0x39a68bb9902d3fde),
	GPUCOL_WIDE(0xd99d15c278afd7b5, 0xfe873deca3e12bab),
	GPUCOL_WIDE(0xdbfbb797daf23755, 0x3d840d5a9e29aa64),
	GPUCOL_WIDE(0xde60f4825e0e9123, 0xdd07a2d9e8466859),
	GPUCOL_WIDE(0xe0ccdeec2a94e111, 0x065895048dd333ca),
	GPUCOL_WIDE(0xe33f8972be8a5a51, 0x09bfe90795980eec),
	GPUCOL_WIDE(0xe5b906e77c8348a8, 0x1e5e8f4a4edbb0ec),
	GPUCOL_WIDE(0xe8396a503c4bdc68, 0x791790d0ac70c7dd),
	GPUCOL_WIDE(0xeac0c6e7dd24392e, 0xd02d75b3706e54fa),
	GPUCOL_WIDE(0xed4f301ed9942b84, 0x600d2db6a64bfb12),
	GPUCOL_WIDE(0xefe4b99bdcdaf5cb, 0x46561cf6948db912),
	GPUCOL_WIDE(0xf281773c59ffb139, 0xe8980a9cc8f47a4b),
	GPUCOL_WIDE(0xf5257d152486cc2c, 0x7b9d0c7aed980fc3),
	GPUCOL_WIDE(0xf7d0df730ad13bb8, 0xfe90d496d60fb6ea),
	GPUCOL_WIDE(0xfa83b2db722a033a, 0x7c25bb14315d7fcc),
	GPUCOL_WIDE(0xfd3e0c0cf486c174, 0x853f3a5931e0ee03)
};

/* The high half of a product. */
static inline GpucolMagnitude
gpucol_wide_top(GpucolMagnitude x, GpucolMagnitude y)
{
	uint64_t	xl = (uint64_t) x;
	uint64_t	yl = (uint64_t) y;
	uint64_t	xh = (uint64_t) (x >> 64);
	uint64_t	yh = (uint64_t) (y >> 64);
	GpucolMagnitude a = (GpucolMagnitude) xh * yl;
	GpucolMagnitude b = (GpucolMagnitude) xl * yh;
	GpucolMagnitude low = (GpucolMagnitude) xl * yl;
	GpucolMagnitude middle = (low >> 64) + (uint64_t) a + (uint64_t) b;

	return (GpucolMagnitude) xh * yh + (a >> 64) + (b >> 64) + (middle >> 64);
}

/* x * y / 2^shift, cut; shift is 1 to 127, and the result fits */
static inline GpucolMagnitude
gpucol_wide_times(GpucolMagnitude x, uint64_t y, int shift)
{
	GpucolMagnitude high = (x >> 64) * y;
	GpucolMagnitude low = (GpucolMagnitude) (uint64_t) x * y;

	return shift < 64 ? (high << (64 - shift)) + (low >> shift) : (high + (low >> 64)) >> (shift - 64);
}

/* The number of zeros above the highest bit; x is not 0. */
static inline int
gpucol_wide_zeros(GpucolMagnitude x)
{
	return x >> 64 != 0 ? __builtin_clzll((uint64_t) (x >> 64)) : 64 + __builtin_clzll((uint64_t) x);
}

static inline GpucolWide
gpucol_wide_make(GpucolMagnitude x, int exponent)
{
	int			zeros = gpucol_wide_zeros(x);

	return (GpucolWide) {x << zeros, exponent - zeros};
}

static inline GpucolWide
gpucol_wide_product(GpucolWide x, GpucolWide y)
{
	return gpucol_wide_make(gpucol_wide_top(x.bits, y.bits), x.exponent + y.exponent + 128);
}

/* To 53 bits. */
static inline double
gpucol_wide_double(GpucolWide x)
{
	double		size = (double) (uint64_t) (x.bits >> 64);
	int			exponent = x.exponent + 64;
	union
	{
		uint64_t	bits;
		double		power;
	}			two;

	/* far from what doubles have in both directions */
	exponent = exponent < -1022 ? -1022 : exponent > 900 ? 900 : exponent;
	two.bits = (uint64_t) (exponent + 1023) << 52;
	return size * two.power;
}

/* 10^n, n not negative; to 2^-120 of it for n up to 255 */
static inline GpucolWide
gpucol_wide_power10(int n)
{
	GpucolWide	r = gpucol_wide_make(gpucol_power10(n % 28), 0);

	for (; n >= 28; n -= 28)
		r = gpucol_wide_product(r, gpucol_wide_make(gpucol_power10(28), 0));
	return r;
}

/* e^r for r with 128 bits behind the point, below 0.011; with 127 */
static inline GpucolMagnitude
gpucol_wide_series(GpucolMagnitude r)
{
	/* 1 / 13! to 1 / 7! with 76 bits behind the point, then those with 127 */
	static const uint64_t last[] = {
		UINT64_C(0xb092309d436), UINT64_C(0x8f76c77fc6c4), UINT64_C(0x6b99159fd5138), UINT64_C(0x49f93edde27d71),
		UINT64_C(0x2e3bc74aad8e671), UINT64_C(0x1a01a01a01a01a01), UINT64_C(0xd00d00d00d00d00d)
	};
	static const GpucolMagnitude first[] = {
		GPUCOL_WIDE(0x002d82d82d82d82d, 0x82d82d82d82d82d8), GPUCOL_WIDE(0x0111111111111111, 0x1111111111111111),
		GPUCOL_WIDE(0x0555555555555555, 0x5555555555555555), GPUCOL_WIDE(0x1555555555555555, 0x5555555555555555),
		GPUCOL_WIDE(0x4000000000000000, 0), GPUCOL_WIDE(0x8000000000000000, 0), GPUCOL_WIDE(0x8000000000000000, 0)
	};
	uint64_t	high = (uint64_t) (r >> 64);
	uint64_t	tail = last[0];
	GpucolMagnitude sum;

	for (int i = 1; i < 7; i++)
		tail = last[i] + (uint64_t) ((GpucolMagnitude) tail * high >> 64);
	sum = (GpucolMagnitude) tail << 51;
	for (int i = 0; i < 7; i++)
		sum = first[i] + gpucol_wide_top(sum, r);
	return sum;
}

/* k * ln(2) / 64 as a fixed number */
static inline __int128
gpucol_wide_steps(int64_t k)
{
	__int128	size = (__int128) gpucol_wide_times(GPUCOL_WIDE_LN2, (uint64_t) (k < 0 ? -k : k), 15);

	return k < 0 ? -size : size;
}

/*
 * e^x for a fixed x between -GPUCOL_WIDE_MOST and GPUCOL_WIDE_MOST.
 */
static inline GpucolWide
gpucol_wide_exp(__int128 x)
{
	double		steps = (double) (int64_t) (x >> 64) * 0x1p-54 * 92.332482616893656759;
	int64_t		k = (int64_t) steps - (steps < 0);
	__int128	r = x - gpucol_wide_steps(k);
	GpucolMagnitude sum;

	/* where the double was a little off */
	for (; r < 0; k--)
		r += gpucol_wide_steps(1);
	sum = gpucol_wide_series((GpucolMagnitude) r << (128 - GPUCOL_WIDE_BITS));
	return gpucol_wide_make(gpucol_wide_top(gpucol_wide_roots[k & 63], sum), (int) (k >> 6) - 126);
}

/* ln(m) as a fixed number; m is not 0 */
static inline __int128
gpucol_wide_ln(GpucolMagnitude m)
{
	int			zeros = gpucol_wide_zeros(m);
	double		near = log((double) (uint64_t) (m << zeros >> 64) * 0x1p-63);
	__int128	guess = (__int128) (int64_t) (near * 0x1p62) << (GPUCOL_WIDE_BITS - 62);
	GpucolWide	inverse = gpucol_wide_exp(-guess);
	GpucolMagnitude product = gpucol_wide_top(m << zeros, inverse.bits);
	__int128	rest;
	__int128	half_square;

	/* m e^-y less 1, with 127 bits behind the point */
	rest = (__int128) ((inverse.exponent == -127 ? product << 1 : product) - ((GpucolMagnitude) 1 << 127));
	half_square = (rest >> 64) * (rest >> 64);
	rest -= half_square;
	return guess + (rest >> (127 - GPUCOL_WIDE_BITS)) +
		(__int128) gpucol_wide_times(GPUCOL_WIDE_LN2, (uint64_t) (127 - zeros), 127 - GPUCOL_WIDE_BITS);
}

#endif							/* GPUCOL_KERNEL_WIDE_H */
