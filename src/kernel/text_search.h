/*-------------------------------------------------------------------------
 *
 * text_search.h
 *	  The first place of some bytes within others.
 *
 * Texts in a column are short and many, so what counts is the cost of a call.  memmem() of the C
 * library first fills a table of 256 entries.  Here sixteen places are tested at a time: those where
 * the first and the last byte are right are compared as a whole.  Where too many of these are wrong,
 * the search is left to memmem(), whose time is linear in the worst case too.
 *
 * _GNU_SOURCE must be defined.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TEXT_SEARCH_H
#define GPUCOL_KERNEL_TEXT_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define GPUCOL_SEARCH_AT_ONCE	16	/* places */
#define GPUCOL_SEARCH_WRONG		64	/* places compared in vain before memmem() goes on */

/* Bits of a word for each of the places. */
#if defined(__aarch64__)
#define GPUCOL_SEARCH_BITS		4
#else
#define GPUCOL_SEARCH_BITS		1
#endif

/* Those of sixteen places where both bytes are right: the first bit of each is set. */
static inline uint64_t
gpucol_search_both(const char *first, const char *last, char one, char other)
{
#if defined(__x86_64__)
	__m128i		is_one = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *) first), _mm_set1_epi8(one));
	__m128i		is_other = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *) last), _mm_set1_epi8(other));

	return (uint32_t) _mm_movemask_epi8(_mm_and_si128(is_one, is_other));
#elif defined(__aarch64__)
	uint8x16_t	is_one = vceqq_u8(vld1q_u8((const uint8_t *) first), vdupq_n_u8((uint8_t) one));
	uint8x16_t	is_other = vceqq_u8(vld1q_u8((const uint8_t *) last), vdupq_n_u8((uint8_t) other));
	uint8x8_t	both = vshrn_n_u16(vreinterpretq_u16_u8(vandq_u8(is_one, is_other)), 4);

	return vget_lane_u64(vreinterpret_u64_u8(both), 0) & UINT64_C(0x1111111111111111);
#else
	uint64_t	bits = 0;

	for (int i = 0; i < GPUCOL_SEARCH_AT_ONCE; i++)
		bits |= (uint64_t) (first[i] == one && last[i] == other) << i;
	return bits;
#endif
}

/* Where `len` bytes at `text` first hold the `n` bytes at `piece`, or NULL. */
static inline const char *
gpucol_text_search(const char *text, size_t len, const char *piece, size_t n)
{
	size_t		nplaces = n > len ? 0 : len - n + 1;
	size_t		step = nplaces < GPUCOL_SEARCH_AT_ONCE ? 1 : GPUCOL_SEARCH_AT_ONCE;
	int			wrong = 0;

	if (n == 0)
		return text;
	for (size_t begin = 0; begin < nplaces; begin += step)
	{
		/* the last sixteen overlap those before them */
		const char *at = text + (begin + step > nplaces ? nplaces - step : begin);
		uint64_t	bits = step == 1 ? at[0] == piece[0] && at[n - 1] == piece[n - 1] :
			gpucol_search_both(at, at + n - 1, piece[0], piece[n - 1]);

		for (; bits != 0; bits &= bits - 1)
		{
			const char *place = at + __builtin_ctzll(bits) / GPUCOL_SEARCH_BITS;

			if (memcmp(place, piece, n) == 0)
				return place;
			if (++wrong == GPUCOL_SEARCH_WRONG)
				return (const char *) memmem(place, len - (size_t) (place - text), piece, n);
		}
	}
	return NULL;
}

#endif							/* GPUCOL_KERNEL_TEXT_SEARCH_H */
