/*-------------------------------------------------------------------------
 *
 * bitpack_base.c
 *	  Packed-vector kernels for the processor's baseline: SSE2 on x86-64, NEON
 *	  on 64-bit ARM, whatever the compiler makes of vector types elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "kernel/bitpack.h"

#define VL 4
#define BLOCKWORD uint16_t
typedef uint32_t V __attribute__((vector_size(16), may_alias));

#define ISA_NAME "base"
#define ISA_TABLE gpucol_bitpack_base
#define FUNNEL(h, l, t) ((h) << (t) | (l) >> ((32 - (t)) & 31))
#define LANE_BITS(s) ((V) {1 << (s), 2 << (s), 4 << (s), 8 << (s)})
#define KEEP(v, m) ((v) & (V) ((SPLAT(m) & LANE_BITS(0)) == LANE_BITS(0)))
#define KEEP_ELSE_ONES(v, m) ((v) | (V) ((SPLAT(m) & LANE_BITS(0)) != LANE_BITS(0)))
#define WIDE_LOW(v) ((V64) __builtin_shufflevector((V) (v), SPLAT(0), 0, 4, 1, 5))
#define WIDE_HIGH(v) ((V64) __builtin_shufflevector((V) (v), SPLAT(0), 2, 4, 3, 5))
#define JOIN_LOW(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 0, 4, 1, 5)
#define JOIN_HIGH(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 2, 6, 3, 7)
#define LOWS(a, b) __builtin_shufflevector((V) (a), (V) (b), 0, 2, 4, 6)
#define HIGHS(a, b) __builtin_shufflevector((V) (a), (V) (b), 1, 3, 5, 7)
#define CHOOSE(c, a, b) (((a) & (V) (c)) | ((b) & ~(V) (c)))
#define MIN(a, b) CHOOSE((a) < (b), a, b)
#define MAX(a, b) CHOOSE((a) < (b), b, a)
#define UNITS(M, K, P) M(K, P, 0) M(K, P, 1) M(K, P, 2) M(K, P, 3)
#define COUNT_WORD(x) count_word(x)
#define POPCOUNT(x) 0
#define MATCH_COUNT(n) (n + count(match))
#define RANGE(K) range_##K

#if defined(__SSE2__)
#define MATCHES(s) \
	_mm_movemask_epi8(_mm_packs_epi16( \
		_mm_packs_epi32((__m128i) (d0 <= (s)), (__m128i) (d1 <= (s))), \
		_mm_packs_epi32((__m128i) (d2 <= (s)), (__m128i) (d3 <= (s)))))
#else
#define MATCHES(s) \
	add_lanes(((V) (d0 <= (s)) & LANE_BITS(0)) | ((V) (d1 <= (s)) & LANE_BITS(4)) | \
			  ((V) (d2 <= (s)) & LANE_BITS(8)) | ((V) (d3 <= (s)) & LANE_BITS(12)))

static inline uint32_t
add_lanes(V v)
{
#if defined(__ARM_NEON)
	return vaddvq_u32(v);
#else
	return v[0] + v[1] + v[2] + v[3];
#endif
}
#endif

/* The baseline of x86-64 has no instruction for it. */
static inline uint32_t
count_word(uint32_t x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f;
	return x * 0x01010101 >> 24;
}

#include "kernel/bitpack_isa.h"
