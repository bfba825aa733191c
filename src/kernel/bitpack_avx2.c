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
#define MASKWORD uint8_t
typedef uint32_t V __attribute__((vector_size(32), may_alias));

#define ISA_NAME "avx2"
#define ISA_TABLE gpucol_bitpack_avx2
#define FUNNEL(h, l, t) ((h) << (t) | (l) >> ((32 - (t)) & 31))
#define MATCH(d, s) \
	_mm256_movemask_ps((__m256) _mm256_cmpeq_epi32( \
		_mm256_min_epu32((__m256i) (d), (__m256i) (s)), (__m256i) (d)))
#define LANE_BITS ((V) {1, 2, 4, 8, 16, 32, 64, 128})
#define KEEP(v, m) ((v) & (V) ((SPLAT(m) & LANE_BITS) == LANE_BITS))

#include "kernel/bitpack_isa.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif							/* __x86_64__ */
