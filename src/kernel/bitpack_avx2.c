/*-------------------------------------------------------------------------
 *
 * bitpack_avx2.c
 *	  Packed-vector kernels for AVX2.
 *
 *-------------------------------------------------------------------------
 */
#ifdef __x86_64__

#include <immintrin.h>

#include "kernel/bitpack.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#define VL 8
#define BLOCKWORD uint32_t
typedef uint32_t V __attribute__((vector_size(32), may_alias));

#define ISA_NAME "avx2"
#define ISA_TABLE gpucol_bitpack_avx2
#define FUNNEL(h, l, t) ((h) << (t) | (l) >> ((32 - (t)) & 31))
#define LANE_BITS ((V) {1, 2, 4, 8, 16, 32, 64, 128})
#define KEEP(v, m) ((v) & (V) ((SPLAT(m) & LANE_BITS) == LANE_BITS))
#define KEEP_ELSE_ONES(v, m) ((v) | (V) ((SPLAT(m) & LANE_BITS) != LANE_BITS))
#define WIDE_LOW(v) \
	((V64) _mm256_cvtepu32_epi64(_mm256_castsi256_si128((__m256i) (v))))
#define WIDE_HIGH(v) \
	((V64) _mm256_cvtepu32_epi64(_mm256_extracti128_si256((__m256i) (v), 1)))
#define JOIN_LOW(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 0, 8, 1, 9, 2, 10, 3, 11)
#define JOIN_HIGH(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWS(a, b) __builtin_shufflevector((V) (a), (V) (b), 0, 2, 4, 6, 8, 10, 12, 14)
#define HIGHS(a, b) __builtin_shufflevector((V) (a), (V) (b), 1, 3, 5, 7, 9, 11, 13, 15)
#define MIN(a, b) ((V) _mm256_min_epu32((__m256i) (a), (__m256i) (b)))
#define MAX(a, b) ((V) _mm256_max_epu32((__m256i) (a), (__m256i) (b)))
#define UNITS(M, K, P) M(K, P, 0) M(K, P, 1) M(K, P, 2) M(K, P, 3)
#define COUNT_WORD(x) (uint32_t) __builtin_popcount(x)
#define POPCOUNT(x) COUNT_WORD(x)
#define MATCH_COUNT(n) (n)
#define RANGE(K) range_##K

/*
 * Narrow four comparisons to a byte a lane; the packs work within 128-bit
 * halves, which the permutation undoes.
 */
#define WITHIN(d, s) _mm256_cmpeq_epi32((__m256i) MIN(d, s), (__m256i) (d))
#define MATCHES(s) \
	_mm256_movemask_epi8(_mm256_permutevar8x32_epi32( \
		_mm256_packs_epi16(_mm256_packs_epi32(WITHIN(d0, s), WITHIN(d1, s)), \
						   _mm256_packs_epi32(WITHIN(d2, s), WITHIN(d3, s))), \
		_mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)))

#include "kernel/bitpack_isa.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif							/* __x86_64__ */
