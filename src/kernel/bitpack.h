/*-------------------------------------------------------------------------
 *
 * bitpack.h
 *	  Packing, unpacking, testing and summing of packed vectors.
 *
 * A packed vector is 1,024 codes of `width` bits (0..64) in the interleaved
 * order that format.h defines; `width` word rows of 128 bytes.  All functions
 * work on exactly one vector, except where they say otherwise.  Words need
 * 4-byte alignment only, because word rows on a PostgreSQL page start at byte
 * 24 of it; outputs need their type's alignment.
 *
 * A match bitmap is 1,024 bits in row order: bit i of uint32_t[32] is row i of
 * the vector.  The packed tail of a partly filled last vector holds zero
 * codes: callers clear its bits (gpucol_bitmap_limit).
 *
 * Kernels exist per instruction set (AVX-512 of Ice Lake and Zen 4, AVX2,
 * baseline) with every shift a compile-time constant; the first call chooses.
 * None of them fails or allocates; all are thread-safe.
 *
 * Freestanding C: no PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_BITPACK_H
#define GPUCOL_KERNEL_BITPACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/format.h"

#define GPUCOL_BITMAP_WORDS (GPUCOL_VECTOR_VALUES / 32)

/* Bits needed to hold every code up to `max`: 0 for 0, 64 for 2^64 - 1. */
static inline int
gpucol_bitpack_width(uint64_t max)
{
	return max == 0 ? 0 : 64 - __builtin_clzll(max);
}

/* Greatest code of a width. */
static inline uint64_t
gpucol_bitpack_max(int width)
{
	return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

/* Pack 1,024 codes, each below 2^width, into width * 128 bytes; width at most 32. */
extern void gpucol_bitpack_pack32(int width, const uint32_t *codes, void *words);

/*
 * The same for any width: pack values[i] - reference (modulo 2^64) for the n <= 1,024
 * first values; the rest of the vector becomes zero codes.
 */
extern void gpucol_bitpack_pack_for(int width, const int64_t *values, uint32_t n,
									int64_t reference, void *words);

/* Unpack 1,024 codes; width at most 32. */
extern void gpucol_bitpack_unpack32(int width, const void *words, uint32_t *out);

/* Unpack 1,024 codes of any width. */
extern void gpucol_bitpack_unpack64(int width, const void *words, uint64_t *out);

/* Unpack and add the frame of reference (modulo 2^64). */
extern void gpucol_bitpack_unpack_for(int width, const void *words,
									  int64_t reference, int64_t *out);

/*
 * Match bitmap of lo <= code <= hi, compared unsigned; lo > hi matches nothing
 * and hi may exceed the width's greatest code.  Returns the number of matches.
 */
extern uint32_t gpucol_bitpack_range(int width, const void *words,
									 uint64_t lo, uint64_t hi, uint32_t *match);

/* Number of codes with lo <= code <= hi. */
extern uint32_t gpucol_bitpack_range_count(int width, const void *words,
										   uint64_t lo, uint64_t hi);

/*
 * Exact sum of the codes whose bit in `match` is set; match NULL = all 1,024.
 * Add count * reference to get the sum of the values.
 */
extern unsigned __int128 gpucol_bitpack_sum(int width, const void *words,
											const uint32_t *match);

/*
 * Least and greatest code among those whose bit in `match` is set (NULL = all
 * 1,024); min = UINT64_MAX and max = 0 when none is.
 */
extern void gpucol_bitpack_minmax(int width, const void *words,
								  const uint32_t *match,
								  uint64_t *min, uint64_t *max);

/* What one look at unpacked values tells an encoder. */
typedef struct GpucolMeasure
{
	int64_t		min;			/* signed; INT64_MAX and INT64_MIN for n = 0 */
	int64_t		max;
	uint32_t	changes;		/* i in 1 .. n - 1 with values[i] != values[i - 1] */
} GpucolMeasure;

/* Measure n <= 1,024 values. */
extern void gpucol_bitpack_measure(const int64_t *values, uint32_t n,
								   GpucolMeasure *out);

/*
 * Choose an instruction set: "avx512", "avx2" or "base" (tests and benches do), or NULL,
 * the best available; false if this machine lacks it.
 */
extern int	gpucol_bitpack_force_isa(const char *name);

/* One code of a plane of at most 32 bits. */
static inline uint32_t
gpucol_bitpack_get32(int width, const char *words, uint32_t i)
{
	uint32_t	bit = (i / GPUCOL_LANES) * (uint32_t) width;
	const char *word = words + ((size_t) (bit / 32) * GPUCOL_LANES +
								i % GPUCOL_LANES) * 4;
	uint32_t	shift = bit % 32;
	uint32_t	lo;
	uint32_t	hi;

	if (width == 0)
		return 0;
	memcpy(&lo, word, 4);
	lo >>= shift;
	if (shift + (uint32_t) width > 32)
	{
		memcpy(&hi, word + GPUCOL_ROW_BYTES, 4);
		lo |= hi << (32 - shift);
	}
	return lo & (uint32_t) (UINT32_MAX >> (32 - width));
}

/* Code of row i (0..1023) of a packed vector of any width. */
static inline uint64_t
gpucol_bitpack_get(int width, const void *words, uint32_t i)
{
	const char *plane = (const char *) words;

	if (width <= 32)
		return gpucol_bitpack_get32(width, plane, i);
	return gpucol_bitpack_get32(32, plane, i) |
		(uint64_t) gpucol_bitpack_get32(width - 32,
										plane + 32 * GPUCOL_ROW_BYTES, i) << 32;
}

/* Clear the bits of rows n.. of a match bitmap. */
static inline void
gpucol_bitmap_limit(uint32_t *match, uint32_t n)
{
	uint32_t	word = n / 32;

	if (n >= GPUCOL_VECTOR_VALUES)
		return;
	match[word] &= (UINT32_C(1) << (n % 32)) - 1;
	memset(match + word + 1, 0, (GPUCOL_BITMAP_WORDS - 1 - word) * 4);
}

#endif							/* GPUCOL_KERNEL_BITPACK_H */
