/*-------------------------------------------------------------------------
 *
 * number.c
 *	  Bytes of numerics as words.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/front/number.h"

/* Digits to base 10000 that a mantissa may have. */
#define MOST_DIGITS	5

static int
digit_of(GpucolBytes bytes, const GpucolNumericHead *head, int i)
{
	int16		digit;

	memcpy(&digit, bytes.data + head->digits + sizeof(digit) * (size_t) i, sizeof(digit));
	return digit;
}

/* Is it what PostgreSQL writes: the short format, without zeros at either end of its digits? */
static bool
is_plain(GpucolBytes bytes, const GpucolNumericHead *head, int n)
{
	if (head->digits != sizeof(uint16) || bytes.len % sizeof(int16) != 0)
		return false;
	if (n == 0)
		return head->weight == 0 && !head->negative;
	return digit_of(bytes, head, 0) != 0 && digit_of(bytes, head, n - 1) != 0;
}

bool
gpucol_number_read(GpucolBytes bytes, int64 *word)
{
	GpucolNumericHead head;
	__int128	mantissa = 0;
	int			n;
	int			more;			/* digits to append or, if negative, to drop, which are zeros */

	if (!gpucol_numeric_head(bytes.data, bytes.len, &head))
		return false;
	n = (int) ((bytes.len - head.digits) / sizeof(int16));
	if (n > MOST_DIGITS || !is_plain(bytes, &head, n))
		return false;
	for (int i = 0; i < n; i++)
		mantissa = mantissa * 10000 + digit_of(bytes, &head, i);
	more = 4 * (head.weight - n + 1) + head.scale;
	if (n > 0 && (more > 16 || more < -3))
		return false;
	if (n > 0 && more < 0 && mantissa % (int) gpucol_power10(-more) != 0)
		return false;
	if (n > 0)
		mantissa = more < 0 ? mantissa / (int) gpucol_power10(-more) : mantissa * (__int128) gpucol_power10(more);
	return gpucol_number_make(head.negative ? -mantissa : mantissa, head.scale, word);
}
