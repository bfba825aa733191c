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
	"avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,gfni"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target(GPUCOL_ISA_TARGET))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,gfni")
#endif

#define VL 16
#define BLOCKWORD uint32_t
typedef uint32_t V __attribute__((vector_size(64), may_alias));

#define ISA_NAME "avx512"
#define ISA_TABLE gpucol_bitpack_avx512
#define FUNNEL(h, l, t) ((V) _mm512_shldi_epi32((__m512i) (h), (__m512i) (l), t))
#define KEEP(v, m) ((V) _mm512_maskz_mov_epi32((__mmask16) (m), (__m512i) (v)))
#define KEEP_ELSE_ONES(v, m) \
	((V) _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), (__mmask16) (m), (__m512i) (v)))
#define WIDE_LOW(v) \
	((V64) _mm512_cvtepu32_epi64(_mm512_castsi512_si256((__m512i) (v))))
#define WIDE_HIGH(v) \
	((V64) _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64((__m512i) (v), 1)))
#define JOIN_LOW(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 0, 16, 1, 17, 2, 18, 3, 19, \
							4, 20, 5, 21, 6, 22, 7, 23)
#define JOIN_HIGH(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 8, 24, 9, 25, 10, 26, 11, 27, \
							12, 28, 13, 29, 14, 30, 15, 31)
#define LOWS(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 0, 2, 4, 6, 8, 10, 12, 14, \
							16, 18, 20, 22, 24, 26, 28, 30)
#define HIGHS(a, b) \
	__builtin_shufflevector((V) (a), (V) (b), 1, 3, 5, 7, 9, 11, 13, 15, \
							17, 19, 21, 23, 25, 27, 29, 31)
#define MIN(a, b) ((V) _mm512_min_epu32((__m512i) (a), (__m512i) (b)))
#define MAX(a, b) ((V) _mm512_max_epu32((__m512i) (a), (__m512i) (b)))
#define UNITS(M, K, P) M(K, P, 0) M(K, P, 1)
#define WITHIN(d, s) _mm512_cmple_epu32_mask((__m512i) (d), (__m512i) (s))
#define MATCHES(s) _mm512_kunpackw(WITHIN(d1, s), WITHIN(d0, s))
#define COUNT_WORD(x) (uint32_t) __builtin_popcount(x)
#define POPCOUNT(x) COUNT_WORD(x)
#define MATCH_COUNT(n) (n)

/* Widths that divide a byte or are whole bytes are tested as bytes or words. */
#define RANGE(K) \
	((K) == 1 ? range_bits : (K) == 2 ? range_pairs : (K) == 4 ? range_nibbles : \
	 (K) == 8 ? range_bytes : (K) == 16 ? range_shorts : range_##K)

/* F(0) .. F(63): a permutation's indexes */
#define BYTES8(F, i) F(i), F(i + 1), F(i + 2), F(i + 3), F(i + 4), F(i + 5), F(i + 6), F(i + 7)
#define BYTES64(F) \
	BYTES8(F, 0), BYTES8(F, 8), BYTES8(F, 16), BYTES8(F, 24), \
	BYTES8(F, 32), BYTES8(F, 40), BYTES8(F, 48), BYTES8(F, 56)
#define PERMUTATION(F) _mm512_loadu_si512((const uint8_t[64]) {BYTES64(F)})

/* index of byte b of lane i mod 32 within a word row, twice */
#define LANE_BYTE(i) (uint8_t) (4 * ((i) % 32))

/* byte 0 of every lane, then byte 1 of every lane */
#define LANE_BYTES(i) (uint8_t) (4 * ((i) % 32) + (i) / 32)

/* for each 8 x 8 bits: bytes i / 32 of eight lanes, the last first, as GFNI counts */
#define BLOCK_BYTE(i) (uint8_t) (4 * (8 * ((i) / 8 % 4) + 7 - (i) % 8) + (i) / 32)

/* from those transposed: four bytes of a position's 32 lanes together */
#define POSITION_BYTE(i) (uint8_t) (((i) / 32 * 4 + (i) % 4) * 8 + (i) / 4 % 8)

#define HALF_ROW(words, j, half) \
	_mm512_loadu_si512((words) + (j) * GPUCOL_ROW_WORDS + (half) * 16)

/*
 * Width 1: the bitmap is the transpose of 32 lanes of 32 bits, or its
 * complement.  Bytes are gathered into 8 x 8 bit blocks, each transposed by a
 * multiplication with the unit matrix, and dealt out again.
 */
static uint32_t
range_bits(const uint32_t *restrict words, uint32_t first, uint32_t last,
		   uint32_t *restrict match)
{
	const __m512i unit = _mm512_set1_epi64(INT64_C(0x8040201008040201));
	const __m512i flip = _mm512_set1_epi8(first == 0 ? -1 : 0);
	const __m512i blocks = PERMUTATION(BLOCK_BYTE);
	const __m512i positions = PERMUTATION(POSITION_BYTE);
	uint32_t	n = 0;

	(void) last;
	for (int half = 0; half < 2; half++)
	{
		__m512i		which = _mm512_add_epi8(blocks, _mm512_set1_epi8((char) (half * 2)));
		__m512i		bits = _mm512_permutex2var_epi8(HALF_ROW(words, 0, 0), which,
													HALF_ROW(words, 0, 1));

		bits = _mm512_gf2p8affine_epi64_epi8(unit, bits, 0);
		bits = _mm512_xor_si512(_mm512_permutexvar_epi8(positions, bits), flip);
		_mm512_storeu_si512(match + half * 16, bits);
		n += (uint32_t) _mm512_reduce_add_epi64(_mm512_popcnt_epi64(bits));
	}
	return n;
}

/*
 * Two positions of 32 lanes at a time, a byte each: `bytes` holds twice the 32
 * bytes that contain them, `select` says at which bit of a quadword each byte of
 * the result begins, such that the code comes to the top.
 */
#define TEST_BYTES(bytes, at) \
	{ \
		uint64_t	bits = _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, lo), span); \
		memcpy(match + (at), &bits, sizeof(bits)); \
		n += (uint32_t) __builtin_popcountll(bits); \
	}

#define BYTE_BOUNDS(K) \
	const __m512i lo = _mm512_set1_epi8((char) (first << (8 - (K)))); \
	const __m512i span = _mm512_set1_epi8((char) ((last - first) << (8 - (K)) | \
												  ((1 << (8 - (K))) - 1))); \
	uint32_t	n = 0

#define SELECT_BITS(K, q, i) \
	(uint8_t) ((8 * ((i) % 8) + (K) * ((q) + (i) / 32) + (K) + 56) % 64)
#define SELECT_NIBBLES(i) SELECT_BITS(4, 0, i)
#define SELECT_PAIRS(i) SELECT_BITS(2, 0, i)
#define SELECT_UPPER_PAIRS(i) SELECT_BITS(2, 2, i)

static uint32_t
range_pairs(const uint32_t *restrict words, uint32_t first, uint32_t last,
			uint32_t *restrict match)
{
	const __m512i lane_byte = PERMUTATION(LANE_BYTE);
	const __m512i lower = PERMUTATION(SELECT_PAIRS);
	const __m512i upper = PERMUTATION(SELECT_UPPER_PAIRS);

	BYTE_BOUNDS(2);
	for (int i = 0; i < 8; i++)
	{
		__m512i		which = _mm512_add_epi8(lane_byte, _mm512_set1_epi8((char) (i % 4)));
		__m512i		bytes = _mm512_permutex2var_epi8(HALF_ROW(words, i / 4, 0), which,
													 HALF_ROW(words, i / 4, 1));

		TEST_BYTES(_mm512_multishift_epi64_epi8(lower, bytes), i * 4)
		TEST_BYTES(_mm512_multishift_epi64_epi8(upper, bytes), i * 4 + 2)
	}
	return n;
}

static uint32_t
range_nibbles(const uint32_t *restrict words, uint32_t first, uint32_t last,
			  uint32_t *restrict match)
{
	const __m512i lane_byte = PERMUTATION(LANE_BYTE);
	const __m512i select = PERMUTATION(SELECT_NIBBLES);

	BYTE_BOUNDS(4);
	for (int i = 0; i < 16; i++)
	{
		__m512i		which = _mm512_add_epi8(lane_byte, _mm512_set1_epi8((char) (i % 4)));
		__m512i		bytes = _mm512_permutex2var_epi8(HALF_ROW(words, i / 4, 0), which,
													 HALF_ROW(words, i / 4, 1));

		TEST_BYTES(_mm512_multishift_epi64_epi8(select, bytes), i * 2)
	}
	return n;
}

static uint32_t
range_bytes(const uint32_t *restrict words, uint32_t first, uint32_t last,
			uint32_t *restrict match)
{
	const __m512i lower = PERMUTATION(LANE_BYTES);
	const __m512i upper = _mm512_add_epi8(lower, _mm512_set1_epi8(2));

	BYTE_BOUNDS(8);
	for (int j = 0; j < 8; j++)
	{
		__m512i		a = HALF_ROW(words, j, 0);
		__m512i		b = HALF_ROW(words, j, 1);

		TEST_BYTES(_mm512_permutex2var_epi8(a, lower, b), j * 4)
		TEST_BYTES(_mm512_permutex2var_epi8(a, upper, b), j * 4 + 2)
	}
	return n;
}

/* The even positions of a word row's lanes, then the odd ones. */
static uint32_t
range_shorts(const uint32_t *restrict words, uint32_t first, uint32_t last,
			 uint32_t *restrict match)
{
	const __m512i lo = _mm512_set1_epi16((short) first);
	const __m512i span = _mm512_set1_epi16((short) (last - first));
	const __m512i even = _mm512_add_epi32(
		_mm512_set1_epi32(0x00020000),
		_mm512_mullo_epi32(_mm512_set1_epi32(0x00040004),
						   _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
											 12, 13, 14, 15)));
	const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));
	uint32_t	n = 0;

	for (int j = 0; j < 16; j++)
	{
		__m512i		a = _mm512_sub_epi16(HALF_ROW(words, j, 0), lo);
		__m512i		b = _mm512_sub_epi16(HALF_ROW(words, j, 1), lo);
		uint64_t	bits = _mm512_kunpackd(
			_mm512_cmple_epu16_mask(_mm512_permutex2var_epi16(a, odd, b), span),
			_mm512_cmple_epu16_mask(_mm512_permutex2var_epi16(a, even, b), span));

		memcpy(match + j * 2, &bits, sizeof(bits));
		n += (uint32_t) __builtin_popcountll(bits);
	}
	return n;
}

#include "kernel/bitpack_isa.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif							/* __x86_64__ */
