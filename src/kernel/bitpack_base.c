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
#define MASKWORD uint8_t
typedef uint32_t V __attribute__((vector_size(16), may_alias));

#define ISA_NAME "base"
#define ISA_TABLE gpucol_bitpack_base
#define FUNNEL(h, l, t) ((h) << (t) | (l) >> ((32 - (t)) & 31))
#define LANE_BITS ((V) {1, 2, 4, 8})
#define KEEP(v, m) ((v) & (V) ((SPLAT(m) & LANE_BITS) == LANE_BITS))

#if defined(__SSE2__)
#define MATCH(d, s) _mm_movemask_ps((__m128) ((d) <= (s)))
#elif defined(__ARM_NEON)
#define MATCH(d, s) vaddvq_u32((V) ((d) <= (s)) & LANE_BITS)
#else
#define MATCH(d, s) lane_bits((V) ((d) <= (s)) & LANE_BITS)

static inline uint32_t
lane_bits(V c)
{
	return c[0] | c[1] | c[2] | c[3];
}
#endif

#include "kernel/bitpack_isa.h"
