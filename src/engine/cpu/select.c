/*-------------------------------------------------------------------------
 *
 * select.c
 *	  Lists of the places in an array at which a condition holds.
 *
 * The loops for every processor write each place and advance by 0 or 1.  With AVX-512,
 * 16 places are compared, and those that hold moved together in a register.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/select.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define SELECT_WIDE 1
#define WIDE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

static bool
has_wide(void)
{
	static int	known;			/* 1 no, 2 yes; every thread finds the same */

	if (__atomic_load_n(&known, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&known, 1 + (__builtin_cpu_supports("avx512f") &&
									  __builtin_cpu_supports("avx512bw") &&
									  __builtin_cpu_supports("avx512vl") &&
									  __builtin_cpu_supports("avx512dq")), __ATOMIC_RELAXED);
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

/* Those of n places from j on that there are. */
WIDE static inline __mmask16
places_left(uint32_t j, uint32_t n)
{
	return n - j >= 16 ? (__mmask16) 0xffff : (__mmask16) ((1u << (n - j)) - 1);
}

/* Append places from j on; returns how many. */
WIDE static inline uint32_t
put_places(uint32_t j, __mmask16 hit, uint16_t *at)
{
	const __m512i steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	__m512i		places = _mm512_add_epi32(_mm512_set1_epi32((int) j), steps);

	_mm256_storeu_si256((__m256i *) (void *) at,
						_mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(hit, places)));
	return (uint32_t) __builtin_popcount(hit);
}

WIDE static uint32_t
numbers_wide(const uint32_t *numbers, uint32_t n, bool there, uint16_t *at)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j += 16)
	{
		__mmask16	left = places_left(j, n);
		__mmask16	hit = _mm512_cmpneq_epi32_mask(_mm512_maskz_loadu_epi32(left, numbers + j),
												   _mm512_set1_epi32(-1));

		m += put_places(j, (there ? hit : (__mmask16) ~hit) & left, at + m);
	}
	return m;
}

WIDE static uint32_t
bits_wide(const uint32_t *words, uint32_t n, const uint64_t *bits, uint32_t greatest,
		  bool there, uint16_t *at)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j += 16)
	{
		__mmask16	left = places_left(j, n);
		__m512i		word = _mm512_maskz_loadu_epi32(left, words + j);
		__mmask16	in = _mm512_cmple_epu32_mask(word, _mm512_set1_epi32((int) greatest)) & left;
		__m512i		found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), in,
														_mm512_srli_epi32(word, 5), bits, 4);
		__m512i		bit = _mm512_sllv_epi32(_mm512_set1_epi32(1),
											_mm512_and_epi32(word, _mm512_set1_epi32(31)));
		__mmask16	hit = _mm512_test_epi32_mask(found, bit);

		m += put_places(j, (there ? hit : (__mmask16) ~hit) & left, at + m);
	}
	return m;
}

WIDE static uint32_t
true_wide(const uint8_t *values, const uint8_t *nulls, uint32_t n, uint16_t *at)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j += 16)
	{
		__mmask16	left = places_left(j, n);
		__mmask16	hit = _mm_test_epi8_mask(_mm_maskz_loadu_epi8(left, values + j),
											 _mm_set1_epi8(-1));

		if (nulls != NULL)
			hit &= (__mmask16) ~_mm_test_epi8_mask(_mm_maskz_loadu_epi8(left, nulls + j),
												   _mm_set1_epi8(-1));
		m += put_places(j, hit, at + m);
	}
	return m;
}
#endif

uint32_t
gpucol_select_numbers(const uint32_t *numbers, uint32_t n, bool there, uint16_t *at)
{
	uint32_t	m = 0;

#ifdef SELECT_WIDE
	if (has_wide())
		return numbers_wide(numbers, n, there, at);
#endif
	for (uint32_t j = 0; j < n; j++)
	{
		at[m] = (uint16_t) j;
		m += (numbers[j] != UINT32_MAX) == there;
	}
	return m;
}

uint32_t
gpucol_select_bits(const uint32_t *words, uint32_t n, const uint64_t *bits, uint32_t greatest,
				   bool there, uint16_t *at)
{
	uint32_t	m = 0;

#ifdef SELECT_WIDE
	if (has_wide())
		return bits_wide(words, n, bits, greatest, there, at);
#endif
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	word = words[j] <= greatest ? words[j] : 0;
		bool		hit = words[j] <= greatest && (bits[word >> 6] >> (word & 63) & 1);

		at[m] = (uint16_t) j;
		m += hit == there;
	}
	return m;
}

uint32_t
gpucol_select_true(const uint8_t *values, const uint8_t *nulls, uint32_t n, uint16_t *at)
{
	uint32_t	m = 0;

#ifdef SELECT_WIDE
	if (has_wide())
		return true_wide(values, nulls, n, at);
#endif
	for (uint32_t j = 0; j < n; j++)
	{
		at[m] = (uint16_t) j;
		m += values[j] != 0 && (nulls == NULL || nulls[j] == 0);
	}
	return m;
}
