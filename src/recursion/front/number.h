/*-------------------------------------------------------------------------
 *
 * number.h
 *	  Numerics as the 64-bit values of recursion plans.
 *
 * A numeric of up to 16 digits, with how many it displays behind the point, is a word of its own:
 *
 *		bit 63			set, which no code of a dictionary has
 *		bits 6 to 62	the mantissa, signed
 *		bits 0 to 5		digits behind the point
 *
 * So 1.5 and 1.50 are two words, as they are two strings of bytes, and each numeric has one form only: what does not
 * fit, NaN, infinities and what PostgreSQL stores in another than its shortest form are codes of a dictionary.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_NUMBER_H
#define GPUCOL_RECURSION_FRONT_NUMBER_H

#include "postgres.h"

#include "kernel/program.h"
#include "kernel/numeric_code.h"

#define GPUCOL_NUMBER_SCALE_BITS	6
#define GPUCOL_NUMBER_LIMIT			(INT64CONST(1) << 56)	/* of mantissas */

/* Is a value of a column of numerics a number itself, and no code? */
static inline bool
gpucol_number_is(int64 value)
{
	return value < 0;
}

static inline int64
gpucol_number_mantissa(int64 word)
{
	return (int64) ((uint64) word << 1) >> (GPUCOL_NUMBER_SCALE_BITS + 1);
}

static inline int
gpucol_number_scale(int64 word)
{
	return (int) (word & GPUCOL_NUMERIC_SHOWN);
}

/* The word of a mantissa and a scale; false: it has none. */
static inline bool
gpucol_number_make(__int128 mantissa, int scale, int64 *word)
{
	if (mantissa < -GPUCOL_NUMBER_LIMIT || mantissa >= GPUCOL_NUMBER_LIMIT || scale < 0 || scale > GPUCOL_NUMERIC_SHOWN)
		return false;
	*word = (int64) (UINT64CONST(1) << 63 | (uint64) mantissa << (GPUCOL_NUMBER_SCALE_BITS + 1) >> 1 | (uint64) scale);
	return true;
}

/* The packed decimal of a word. */
static inline __int128
gpucol_number_packed(int64 word)
{
	return (__int128) gpucol_number_mantissa(word) * 256 + gpucol_number_scale(word);
}

/* Bytes of PostgreSQL's format, without the head of a varlena, written; their number, GPUCOL_NUMERIC_BYTES at most. */
static inline size_t
gpucol_number_write(int64 word, char *out)
{
	return gpucol_numeric_form(gpucol_number_mantissa(word), gpucol_number_scale(word), gpucol_number_scale(word), out);
}

/* Their word; false: they have none. */
extern bool gpucol_number_read(GpucolBytes bytes, int64 *word);

#endif							/* GPUCOL_RECURSION_FRONT_NUMBER_H */
