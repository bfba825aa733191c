/*-------------------------------------------------------------------------
 *
 * encode_values.h
 *	  What the files that encode values of fixed width share: encode_values.c measures and
 *	  chooses, encode_trials.c looks for dictionaries, steps and decimal scales,
 *	  encode_pack.c packs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ENCODE_VALUES_H
#define GPUCOL_COLUMNAR_ENCODE_VALUES_H

#include "columnar/encode_chunk.h"

#include <math.h>
#include <stdlib.h>

#include "kernel/float_order.h"

#define GPUCOL_MAX_EXACT 9007199254740992.0	/* 2^53 */

/* Sequential reader of vectors with NULL rows filled in. */
typedef struct GpucolValueReader
{
	const GpucolChunkBuilder *b;
	int64_t		carry;
	int64_t		filled[GPUCOL_VECTOR_VALUES];
} GpucolValueReader;

/*
 * Exact division by multiplication with the inverse modulo 2^64 (Granlund and
 * Montgomery, 1994): with the divisor's power of two shifted out of x, x times
 * the inverse of the odd part is the quotient if there is no remainder, and
 * greater than UINT64_MAX / odd if there is.
 */
typedef struct GpucolDivisor
{
	uint64_t	value;
	int			shift;			/* its power of two */
	uint64_t	inverse;		/* of its odd part */
	uint64_t	limit;			/* greatest quotient by its odd part */
} GpucolDivisor;

/* What the measuring pass and the trials found. */
typedef struct GpucolValueFacts
{
	int64_t		first;			/* first non-null value */
	int64_t		min;			/* of values; bit patterns for floats */
	int64_t		max;
	uint32_t	runs;
	GpucolZone *zones;			/* one a vector, in the domain's order */
	GpucolZone	zone;			/* of the chunk */

	/* STEP: how to divide by the common divisor, which is 0 if none pays */
	GpucolDivisor divisor;

	/* SCALED: mantissas' bounds at `scale`, which is -1 if it does not apply */
	int			scale;
	int64_t		mantissa_min;
	int64_t		mantissa_max;

	/* DICT: provisional codes by row and ascending values; NULL if not tried */
	uint32_t   *codes;
	int64_t    *dict;
	uint32_t	ndict;
} GpucolValueFacts;

static inline bool
is_float(const GpucolChunkBuilder *b)
{
	return gpucol_kind_is_float(b->column->kind);
}

static inline void
gpucol_values_start(GpucolValueReader *r, const GpucolChunkBuilder *b, const GpucolValueFacts *facts)
{
	r->b = b;
	r->carry = facts->first;
}

/* 32-bit values of a whole vector as 64-bit ones. */
static inline void
widen(const uint32_t *narrow, bool is_signed, int64_t *out)
{
	if (is_signed)
		for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			out[i] = (int32_t) narrow[i];
	else
		for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			out[i] = narrow[i];
}

/* Copy the n values of vector v to r->filled. */
static inline void
copy_vector(GpucolValueReader *r, uint32_t v, uint32_t n)
{
	const GpucolEncodeColumn *column = r->b->column;

	if (column->narrow == NULL)
		memcpy(r->filled, column->values + (size_t) v * GPUCOL_VECTOR_VALUES, n * sizeof(int64_t));
	else if (n == GPUCOL_VECTOR_VALUES)
		widen(column->narrow + (size_t) v * GPUCOL_VECTOR_VALUES, column->narrow_signed, r->filled);
	else
		for (uint32_t i = 0; i < n; i++)
			r->filled[i] = gpucol_chunk_int(r->b, v * GPUCOL_VECTOR_VALUES + i);
}

/* Values of vector v (in sequence), its rows only. */
static inline const int64_t *
gpucol_values_read(GpucolValueReader *r, uint32_t v)
{
	const GpucolEncodeColumn *column = r->b->column;
	bool		nulls = (r->b->desc.flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	uint32_t	n = gpucol_chunk_vector_rows(r->b, v);

	if (!nulls && column->narrow == NULL)
		return column->values + (size_t) v * GPUCOL_VECTOR_VALUES;
	copy_vector(r, v, n);
	for (uint32_t w = 0; nulls && w < (n + 31) / 32; w++)
	{
		uint32_t	bits = column->nulls[v * (GPUCOL_VECTOR_VALUES / 32) + w];

		for (; bits != 0; bits &= bits - 1)
		{
			uint32_t	i = w * 32 + (uint32_t) __builtin_ctz(bits);

			if (i < n)
				r->filled[i] = i > 0 ? r->filled[i - 1] : r->carry;
		}
	}
	r->carry = r->filled[n - 1];
	return r->filled;
}

/* Quotient of a multiple of the divisor. */
static inline uint64_t
divide(const GpucolDivisor *divisor, uint64_t x)
{
	return (x >> divisor->shift) * divisor->inverse;
}

/*
 * Mantissa of a value at a scale, if dividing it by the power of ten gives the
 * value back bit for bit.
 */
static inline bool
mantissa(GpucolKind kind, int64_t bits, double power, int64_t *out)
{
	double		scaled = gpucol_float_value(kind, bits) * power;
	int64_t		m;

	if (!(fabs(scaled) <= GPUCOL_MAX_EXACT))
		return false;
	m = (int64_t) rint(scaled);
	*out = m;
	return gpucol_float_bits(kind, (double) m / power) == bits;
}

static inline uint64_t
packed_bytes(uint64_t nvectors, int width)
{
	return nvectors * (uint64_t) width * GPUCOL_ROW_BYTES;
}

static inline uint64_t
dict_bytes(const GpucolChunkBuilder *b, uint64_t ndict)
{
	return (uint64_t) b->nvectors * GPUCOL_ROW_BYTES *
		(uint64_t) gpucol_bitpack_width(ndict - 1) + 8 * ndict;
}

/* Weight of DICT in quarters; see the head of the file. */
static inline uint64_t
dict_weight(const GpucolChunkBuilder *b)
{
	return is_float(b) ? 5 : 8;
}

/*
 * Trials (encode_trials.c): fill in what a coding needs where it may be smaller than
 * `best` bytes; the facts say whether it is.
 */
extern GpucolStatus gpucol_values_try_dict(const GpucolChunkBuilder *b, GpucolValueFacts *facts, uint64_t best);
extern void gpucol_values_try_step(const GpucolChunkBuilder *b, GpucolValueFacts *facts);
extern void gpucol_values_try_scaled(const GpucolChunkBuilder *b, GpucolValueFacts *facts);

/* Lay out and pack the chosen coding (encode_pack.c). */
extern GpucolStatus gpucol_values_pack(GpucolChunkBuilder *b, const GpucolValueFacts *facts);

#endif							/* GPUCOL_COLUMNAR_ENCODE_VALUES_H */
