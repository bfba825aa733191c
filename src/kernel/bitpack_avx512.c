/*-------------------------------------------------------------------------
 *
 * bitpack_avx512.c
 *	  Packed-vector kernels for AVX-512 as Ice Lake and Zen 4 have it (VBMI2 for
 *	  the funnel shift).  Older AVX-512 processors lower their clock for it and
 *	  use the AVX2 kernels.
 *
 *-------------------------------------------------------------------------
 */
#ifdef __x86_64__

#include <immintrin.h>

#include "kernel/bitpack.h"

#define GPUCOL_ISA_TARGET \
	"avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,gfni"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target(GPUCOL_ISA_TARGET))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,gfni")
#endif

#define VL 16
#define MASKWORD uint16_t
typedef uint32_t V __attribute__((vector_size(64), may_alias));

#define ISA_NAME "avx512"
#define ISA_TABLE gpucol_bitpack_avx512
#define FUNNEL(h, l, t) ((V) _mm512_shldi_epi32((__m512i) (h), (__m512i) (l), t))
#define MATCH(d, s) _mm512_cmple_epu32_mask((__m512i) (d), (__m512i) (s))
#define KEEP(v, m) ((V) _mm512_maskz_mov_epi32(m, (__m512i) (v)))

#include "kernel/bitpack_isa.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif							/* __x86_64__ */
