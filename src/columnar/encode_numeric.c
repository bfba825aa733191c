/*-------------------------------------------------------------------------
 *
 * encode_numeric.c
 *	  Numerics without a declared scale as packed mantissas (kernel/numeric_code.h).
 *
 * Two passes: the first finds how many digits values have and display, the second makes
 * their words and compares the bytes that a reader will form of each with those that were
 * given.  A chunk with a value that has no word, or comes back otherwise (NaN, infinities,
 * too many digits, long heads), is left to encode_bytes.c.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_chunk.h"

#include "kernel/numeric_code.h"

#define N GPUCOL_VECTOR_VALUES

/* Digits after the point. */
typedef struct Digits
{
	int			scale;			/* the most but for zeros at the end */
	int			least;			/* displayed, least and most */
	int			most;
} Digits;

/* What values have in common; false if one has no word at any scale. */
static bool
find_digits(const GpucolChunkBuilder *b, Digits *digits)
{
	*digits = (Digits) {0, GPUCOL_NUMERIC_SHOWN, 0};
	for (uint32_t row = 0; row < b->nrows; row++)
	{
		GpucolBytes value;
		GpucolNumericHead head;
		int			fraction;

		if (gpucol_chunk_is_null(b, row))
			continue;
		value = gpucol_chunk_bytes(b, row);
		if (!gpucol_numeric_head(value.data, value.len, &head) || head.scale > GPUCOL_NUMERIC_SHOWN)
			return false;
		fraction = gpucol_numeric_fraction(value.data, value.len, &head);
		if (fraction > GPUCOL_NUMERIC_SCALE)
			return false;
		digits->scale = fraction > digits->scale ? fraction : digits->scale;
		digits->least = head.scale < digits->least ? head.scale : digits->least;
		digits->most = head.scale > digits->most ? head.scale : digits->most;
	}
	return digits->least <= digits->most;
}

/* The word of a value; false if it has none from which it comes back. */
static bool
make_word(const GpucolChunkBuilder *b, GpucolBytes value, int64_t *word)
{
	char		formed[GPUCOL_NUMERIC_BYTES];
	__int128	packed;
	__int128	mantissa;
	int			more;

	if (gpucol_packed_read(value.data, value.len, &packed) != GPUCOL_OK)
		return false;
	more = b->desc.scale - gpucol_packed_scale(packed);
	mantissa = gpucol_packed_mantissa(packed);
	if (more < 0)
		mantissa = more >= -38 ? mantissa / (__int128) gpucol_power10(-more) : 0;
	else if (gpucol_shift_digits(mantissa, more, &mantissa) != GPUCOL_OK)
		return false;
	if (gpucol_magnitude(mantissa) >> (62 - b->desc.hidden) != 0)
		return false;
	*word = (int64_t) ((uint64_t) (int64_t) mantissa << b->desc.hidden |
					   (uint64_t) (b->desc.shown - gpucol_packed_scale(packed)));
	return gpucol_numeric_bytes(&b->desc, *word, formed) == value.len &&
		memcmp(formed, value.data, value.len) == 0;
}

/* The words of all rows, NULLs like the one before; false if a value has none. */
static bool
make_words(const GpucolChunkBuilder *b, int64_t *words, int64_t *least, int64_t *most)
{
	int64_t		word = 0;
	uint32_t	ahead = 0;		/* NULLs before the first value */
	bool		any = false;

	for (uint32_t row = 0; row < b->nrows; row++)
	{
		if (!gpucol_chunk_is_null(b, row))
		{
			if (!make_word(b, gpucol_chunk_bytes(b, row), &word))
				return false;
			*least = !any || word < *least ? word : *least;
			*most = !any || word > *most ? word : *most;
			any = true;
		}
		else if (!any)
			ahead++;
		words[row] = word;
	}
	for (uint32_t row = 0; row < ahead; row++)
		words[row] = words[ahead];
	return any;
}

static GpucolStatus
pack_words(GpucolChunkBuilder *b, const int64_t *values)
{
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	char	   *words;
	GpucolStatus status;

	sizes[GPUCOL_STREAM_CODES] = (uint64_t) b->nvectors * b->desc.width * GPUCOL_ROW_BYTES;
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK || b->desc.width == 0)
		return status;
	words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		gpucol_bitpack_pack_for(b->desc.width, values + (size_t) v * N, gpucol_chunk_vector_rows(b, v),
								b->desc.reference, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_chunk_encode_numerics(GpucolChunkBuilder *b)
{
	GpucolChunkDesc before = b->desc;
	int64_t    *words;
	int64_t		least = 0;
	int64_t		most = 0;
	Digits		digits;
	GpucolStatus status = GPUCOL_END;

	if (!find_digits(b, &digits))
		return GPUCOL_END;
	words = gpucol_chunk_alloc(b, (size_t) b->nrows * sizeof(int64_t));
	if (words == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	b->desc.coding = GPUCOL_CODING_NUMERIC;
	b->desc.scale = (int8_t) digits.scale;
	b->desc.shown = (uint8_t) digits.most;
	b->desc.hidden = (uint8_t) gpucol_bitpack_width((uint64_t) (digits.most - digits.least));
	if (make_words(b, words, &least, &most))
	{
		b->desc.reference = least;
		b->desc.width = (uint8_t) gpucol_bitpack_width((uint64_t) most - (uint64_t) least);
		/* words are below 2^62, so no code of a width below 63 leaves int64 */
		if (b->desc.width < 62)
			status = pack_words(b, words);
	}
	if (status == GPUCOL_END)
		b->desc = before;
	gpucol_chunk_free(b, words);
	return status;
}
