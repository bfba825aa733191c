/*-------------------------------------------------------------------------
 *
 * numeric_code.h
 *	  Codes of numerics whose type says nothing of digits (GPUCOL_CODING_NUMERIC), and the
 *	  bytes and packed decimals that they stand for.
 *
 * All numerics of a chunk are mantissas at one scale, the least that has all digits of each but
 * zeros at its end.  How many digits a value displays, which may be fewer or more than the scale,
 * is the most that one of them does less what stands in the lowest bits of its word, if they differ.
 * So words ascend with the values, equal values that are displayed otherwise being neighbours, and
 * 1.50 stays 1.50.
 *
 * The bytes are those of PostgreSQL's short format: a head of sign, scale and weight, and
 * digits to base 10000 without zeros at either end.  A writer has compared them.
 *
 * Freestanding C, for the host.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_NUMERIC_CODE_H
#define GPUCOL_KERNEL_NUMERIC_CODE_H

#include "kernel/format.h"
#include "kernel/packed_decimal.h"

#define GPUCOL_NUMERIC_SCALE	18	/* of a chunk, at most */
#define GPUCOL_NUMERIC_SHOWN	63	/* digits that the short format displays at most */
#define GPUCOL_NUMERIC_HIDDEN	6	/* bits that count digits up to it */
#define GPUCOL_NUMERIC_NONE		0x4000	/* more digits than any numeric displays */
#define GPUCOL_NUMERIC_BYTES	16	/* room for the bytes of any value */

/* The mantissa of a word at the chunk's scale. */
static inline int64_t
gpucol_numeric_mantissa(const GpucolChunkDesc *desc, int64_t word)
{
	return word >> desc->hidden;
}

/* How many digits after the point a word's value displays; of wrong words the most. */
static inline int
gpucol_numeric_shown(const GpucolChunkDesc *desc, int64_t word)
{
	int			hidden = (int) (word & ((INT64_C(1) << desc->hidden) - 1));

	return hidden <= desc->shown ? desc->shown - hidden : desc->shown;
}

/* The packed decimal that a word stands for; of a writer's words never UNSUPPORTED. */
static inline GpucolStatus
gpucol_numeric_packed(const GpucolChunkDesc *desc, int64_t word, __int128 *r)
{
	__int128	mantissa = gpucol_numeric_mantissa(desc, word);
	int			shown = gpucol_numeric_shown(desc, word);

	if (shown < desc->scale)
		mantissa = (int64_t) mantissa / (int64_t) gpucol_power10(desc->scale - shown);
	else if (gpucol_shift_digits(mantissa, shown - desc->scale, &mantissa) != GPUCOL_OK)
		return GPUCOL_UNSUPPORTED;
	return gpucol_packed_make(mantissa, shown, r);
}

/* How many digits a numeric in PostgreSQL's format has after the point, but for zeros at its end. */
static inline int
gpucol_numeric_fraction(const char *data, size_t len, const GpucolNumericHead *head)
{
	int			n = (int) ((len - head->digits) / 2);
	int			groups = n - 1 - head->weight;	/* behind the point */
	uint16_t	last;

	if (n == 0 || groups <= 0)
		return 0;
	memcpy(&last, data + head->digits + 2 * (size_t) (n - 1), sizeof(last));
	return 4 * groups - (last % 10 != 0 ? 0 : last % 100 != 0 ? 1 : last % 1000 != 0 ? 2 : 3);
}

/* Write the bytes of a numeric, a mantissa at `scale`; returns their number. */
static inline size_t
gpucol_numeric_form(int64_t mantissa, int scale, int shown, char *out)
{
	uint64_t	rest = mantissa < 0 ? 0 - (uint64_t) mantissa : (uint64_t) mantissa;
	uint16_t	digits[8];
	uint16_t	head;
	int			fraction = (scale + 3) / 4;	/* digits to base 10000 behind the point */
	int			first = 8;
	int			last = 8;
	int			weight;

	if (rest != 0 && scale % 4 != 0)
	{
		uint64_t	part = (uint64_t) gpucol_power10(scale % 4);

		digits[--first] = (uint16_t) (rest % part * (uint64_t) gpucol_power10(4 - scale % 4));
		rest /= part;
	}
	for (; rest != 0; rest /= 10000)
		digits[--first] = (uint16_t) (rest % 10000);
	weight = 8 - first - fraction - 1;
	while (last > first && digits[last - 1] == 0)
		last--;
	while (first < last && digits[first] == 0)
	{
		first++;
		weight--;
	}
	if (first == last)
		weight = 0;
	head = (uint16_t) (0x8000 | (mantissa < 0 ? 0x2000 : 0) | shown << 7 | (weight & 0x7f));
	memcpy(out, &head, sizeof(head));
	memcpy(out + 2, digits + first, sizeof(uint16_t) * (size_t) (last - first));
	return 2 + sizeof(uint16_t) * (size_t) (last - first);
}

/* Write the bytes of a word's numeric; returns their number. */
static inline size_t
gpucol_numeric_bytes(const GpucolChunkDesc *desc, int64_t word, char *out)
{
	return gpucol_numeric_form(gpucol_numeric_mantissa(desc, word), desc->scale,
							   gpucol_numeric_shown(desc, word), out);
}

/* A mantissa at one scale as one at another; false where an int64 does not hold it exactly. */
static inline bool
gpucol_numeric_rescale(__int128 mantissa, int from, int to, int64_t *out)
{
	for (; from > to && mantissa != 0; from--)
	{
		if (mantissa % 10 != 0)
			return false;
		mantissa /= 10;
	}
	for (; from < to && mantissa != 0; from++)
	{
		mantissa *= 10;
		if (mantissa > INT64_MAX || mantissa < INT64_MIN)
			return false;
	}
	*out = (int64_t) mantissa;
	return *out == mantissa;
}

/* A numeric in PostgreSQL's format, without the head of a varlena, likewise. */
static inline bool
gpucol_numeric_read_exact(const char *data, size_t len, int scale, int64_t *out)
{
	GpucolNumericHead head;
	__int128	mantissa = 0;
	int			n;

	if (!gpucol_numeric_head(data, len, &head))
		return false;
	n = (int) ((len - head.digits) / 2);
	/* digits to base 10000, the first and the last of which are not 0 */
	if (n > 9 || head.weight > 8 || head.weight < -9)
		return false;
	for (int i = 0; i < n; i++)
	{
		int16_t		digit;

		memcpy(&digit, data + head.digits + 2 * (size_t) i, sizeof(digit));
		mantissa = mantissa * 10000 + digit;
	}
	return gpucol_numeric_rescale(head.negative ? -mantissa : mantissa, 4 * (n - 1 - head.weight), scale, out);
}

#endif							/* GPUCOL_KERNEL_NUMERIC_CODE_H */
