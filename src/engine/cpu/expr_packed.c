/*-------------------------------------------------------------------------
 *
 * expr_packed.c
 *	  Operations of decimals that carry their own scale (kernel/packed_decimal.h).
 *
 * A register of class D has them like mantissas, in 128 bits; or, where all are displayed
 * alike, as mantissas (expr_alike.c).
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/expr_alike.h"
#include "engine/cpu/expr_ops.h"
#include "kernel/hash.h"
#include "kernel/numeric_code.h"

#define QUOTIENTS	2048		/* remembered, */
#define LED_SCALES	32			/* scales of operands of which something is kept */
#define SAMPLE		16384		/* as long as half of those of so many rows, and more, were */

/* A quotient; y is 0 where there is none. */
typedef struct GpucolCpuQuotient
{
	__int128	x;
	__int128	y;
	__int128	r;
} GpucolCpuQuotient;

typedef struct GpucolCpuQuotients
{
	uint64_t	sought;
	uint64_t	computed;
	GpucolCpuQuotient quotients[QUOTIENTS];
	bool		has_leads[LED_SCALES];	/* what is known of the scales of operands */
	GpucolLead	leads[LED_SCALES][GPUCOL_WORD_DIGITS + 1];
} GpucolCpuQuotients;

GPUCOL_CPU_SLOW_UNARY(PART_P, d, __int128, d)
GPUCOL_CPU_SLOW_UNARY(ROUND_P, d, __int128, d)
GPUCOL_CPU_SLOW_UNARY(D_TO_I, i, int64_t, d)

void
gpucol_cpu_op_prepare_packed(GpucolCpuFrame *f, bool binary)
{
	gpucol_cpu_op_nulls(f->dst, f->a, binary ? f->b : NULL, f->n);
	gpucol_cpu_expr_widen(f->a, f->n);
	if (binary && f->b->cls == GPUCOL_CLASS_D)
		gpucol_cpu_expr_widen(f->b, f->n);
	f->dst->narrow = false;
	f->dst->wide = f->dst->cls == GPUCOL_CLASS_D;
}

GpucolStatus
gpucol_cpu_op_PACK_D(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_pack(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, true);
	for (uint32_t j = 0; j < f->n; j++)
	{
		__int128	r = 0;
		GpucolStatus status = gpucol_packed_pack(f->instr->aux, f->a->v.d[j], f->b->v.i[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.d[j] = r;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_NUMERIC_P(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (f->a->words)
		return gpucol_cpu_alike_words(f);
	if (gpucol_cpu_alike_read(f))
		return GPUCOL_OK;
	f->dst->narrow = false;
	f->dst->wide = true;
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolStatus status = GPUCOL_OK;

		f->dst->v.d[j] = 0;
		if (!GPUCOL_CPU_NULL_AT(f->a, j))
		{
			GpucolBytes bytes = gpucol_cpu_op_string(f->a, j);

			status = gpucol_packed_read(bytes.data, bytes.len, &f->dst->v.d[j]);
		}
		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
	}
	return GPUCOL_OK;
}

/* The mantissa of row j's numeric at a scale, if it has one. */
static bool
read_exact(const GpucolCpuReg *a, uint32_t j, int scale, int64_t *mantissa)
{
	if (a->words)
		return gpucol_numeric_rescale(gpucol_numeric_mantissa(a->column->desc, a->v.i[j]), a->column->desc->scale,
									  scale, mantissa);
	else
	{
		GpucolBytes bytes = gpucol_cpu_op_string(a, j);

		return gpucol_numeric_read_exact(bytes.data, bytes.len, scale, mantissa);
	}
}

static inline bool
is_short(int64_t mantissa)
{
	return mantissa > -GPUCOL_NUMERIC_MANTISSAS && mantissa < GPUCOL_NUMERIC_MANTISSAS;
}

/* Is row j's numeric displayed with so many digits? */
static bool
is_shown_so(const GpucolCpuReg *a, uint32_t j, int scale)
{
	GpucolNumericHead head;
	GpucolBytes bytes;

	if (a->words)
		return gpucol_numeric_shown(a->column->desc, a->v.i[j]) == scale;
	bytes = gpucol_cpu_op_string(a, j);
	return gpucol_numeric_head(bytes.data, bytes.len, &head) && head.scale == scale;
}

/* Mantissas with `more` zeros behind, into n[]; false if one has too many digits then. */
static bool
scale_all(GpucolCpuFrame *f, int more)
{
	int64_t    *rs = f->dst->n;
	int64_t		power = (int64_t) gpucol_power10(more);
	int64_t		limit = GPUCOL_NUMERIC_MANTISSAS / power;
	uint32_t	n = f->n;
	bool		fit = true;

	for (uint32_t j = 0; j < n; j++)
	{
		fit &= rs[j] > -limit && rs[j] < limit;
		rs[j] = (int64_t) ((uint64_t) rs[j] * (uint64_t) power);
	}
	return fit;
}

/* The mantissas of all rows, if each has one, and is shown so where that is asked, as a chunk may say at once. */
static bool
read_alike(GpucolCpuFrame *f, int scale, bool shown_so)
{
	const GpucolCpuColumn *column = f->a->column;
	int64_t    *rs = f->dst->n;
	uint32_t	n = f->n;
	int			has = scale + 1;

	if (f->a->words)
		has = column->desc->scale;
	else if (f->a->coded && column->mantissas != NULL)
		has = column->shown;
	if (has > scale || scale - has > GPUCOL_NUMERIC_SCALE)
		return false;
	if (f->a->words)
	{
		if (shown_so && (column->desc->hidden != 0 || column->desc->shown != scale))
			return false;
		for (uint32_t j = 0; j < n; j++)
			rs[j] = gpucol_numeric_mantissa(column->desc, f->a->v.i[j]);
	}
	else
	{
		if (shown_so && (column->shows != NULL || column->shown != scale))
			return false;
		for (uint32_t j = 0; j < n; j++)
			rs[j] = column->mantissas[f->a->codes[j]];
	}
	return scale_all(f, scale - has);
}

/* Those of rows that are to have one; NULLs are those of the numerics. */
static GpucolStatus
read_all(GpucolCpuFrame *f)
{
	int			scale = GPUCOL_NUMERIC_AUX_SCALE(f->instr->aux);
	bool		shown_so = (f->instr->aux & GPUCOL_NUMERIC_SHOWN_SO) != 0;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (read_alike(f, scale, shown_so))
		return GPUCOL_OK;
	for (uint32_t j = 0; j < f->n; j++)
	{
		f->dst->n[j] = 0;
		if (GPUCOL_CPU_NULL_AT(f->a, j))
			continue;
		if (read_exact(f->a, j, scale, &f->dst->n[j]) && is_short(f->dst->n[j]) &&
			(!shown_so || is_shown_so(f->a, j, scale)))
			continue;
		if (gpucol_cpu_op_counts(f, j))
			return GPUCOL_UNSUPPORTED;
		f->dst->n[j] = 0;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_NUMERIC_D(GpucolCpuFrame *f)
{
	f->dst->narrow = true;
	f->dst->wide = f->dst->alike = false;
	if (f->instr->aux & (GPUCOL_NUMERIC_EXACTLY | GPUCOL_NUMERIC_SHOWN_SO))
		return read_all(f);
	f->dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		bool		none = GPUCOL_CPU_NULL_AT(f->a, j) || !read_exact(f->a, j, f->instr->aux, &f->dst->n[j]);

		f->dst->null_space[j] = none;
		if (!none)
			continue;
		f->dst->nulls = f->dst->null_space;
		f->dst->n[j] = 0;
	}
	return GPUCOL_OK;
}

/* How many digits row j's numeric displays; what is no number, too many. */
static int64_t
digits_shown(const GpucolCpuReg *a, uint32_t j)
{
	GpucolNumericHead head;
	GpucolBytes bytes = gpucol_cpu_op_string(a, j);

	return gpucol_numeric_head(bytes.data, bytes.len, &head) ? head.scale : GPUCOL_NUMERIC_NONE;
}

GpucolStatus
gpucol_cpu_op_SCALE_S(GpucolCpuFrame *f)
{
	const GpucolCpuColumn *column = f->a->column;
	int64_t    *rs = f->dst->v.i;
	int64_t		most = 0;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		if (f->a->words)
			rs[j] = gpucol_numeric_shown(column->desc, f->a->v.i[j]);
		else if (f->a->coded && column->mantissas != NULL)
			rs[j] = column->shows != NULL ? column->shows[f->a->codes[j]] : column->shown;
		else
			rs[j] = GPUCOL_CPU_NULL_AT(f->a, j) ? 0 : digits_shown(f->a, j);
		most = rs[j] > most ? rs[j] : most;
	}
	for (uint32_t j = 0; j < f->n && most > f->instr->aux; j++)
	{
		if (rs[j] > f->instr->aux && gpucol_cpu_op_counts(f, j))
			return GPUCOL_UNSUPPORTED;
		rs[j] = rs[j] > f->instr->aux ? 0 : rs[j];
	}
	return GPUCOL_OK;
}

/* A function of two, which is known where this is expanded. */
static inline __attribute__((always_inline)) GpucolStatus
compute_pairs(GpucolCpuFrame *f, GpucolPackedFunction function)
{
	for (uint32_t j = 0; j < f->n; j++)
	{
		__int128	r = 0;
		GpucolStatus status = gpucol_scalar_ARITH_P(function, f->a->v.d[j], f->b->v.d[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.d[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/* What is known of a scale. */
static inline const GpucolLead *
find_leads(GpucolCpuQuotients *known, int scale)
{
	if (!known->has_leads[scale])
		gpucol_packed_leads(scale, known->leads[scale]);
	known->has_leads[scale] = true;
	return known->leads[scale];
}

static inline GpucolStatus
divide(GpucolCpuQuotients *known, __int128 x, __int128 y, __int128 *r)
{
	__int128	a = gpucol_packed_mantissa(x);
	__int128	b = gpucol_packed_mantissa(y);
	int			xs = gpucol_packed_scale(x);
	int			ys = gpucol_packed_scale(y);

	if (a != (int64_t) a || b != (int64_t) b || xs >= LED_SCALES || ys >= LED_SCALES)
		return gpucol_packed_divide(x, y, r);
	return gpucol_packed_divide_words((int64_t) a, find_leads(known, xs), xs, (int64_t) b, find_leads(known, ys), ys,
									  r);
}

/* The quotient of row j, remembered or computed. */
static inline GpucolStatus
remembered_quotient(GpucolCpuQuotients *known, __int128 x, __int128 y, __int128 *r)
{
	uint64_t	hash = gpucol_hash_fold(gpucol_hash_mix((uint64_t) x, (uint64_t) y) ^ (uint64_t) (x >> 64),
										UINT64_C(0x9e3779b97f4a7c15));
	GpucolCpuQuotient *at = &known->quotients[hash % QUOTIENTS];
	GpucolStatus status;

	/* an entry that is not filled is 0 by 0 */
	if (at->x == x && at->y == y && y != 0)
	{
		*r = at->r;
		return GPUCOL_OK;
	}
	known->computed++;
	status = divide(known, x, y, r);
	if (status == GPUCOL_OK)
		*at = (GpucolCpuQuotient) {x, y, *r};
	return status;
}

/*
 * Quotients: many a pair of numbers comes again and again (x / 7.0, width / height), and a division
 * takes longer than a look at what is known; where most pairs are new, nothing is remembered.
 */
static GpucolStatus
compute_quotients(GpucolCpuFrame *f)
{
	GpucolCpuQuotients *known = f->worker->quotients;
	bool		remembers;

	if (known == NULL)
		known = f->worker->quotients = gpucol_cpu_alloc0(f->worker->run, sizeof(GpucolCpuQuotients));
	if (known == NULL)
		return compute_pairs(f, GPUCOL_PACKED_DIV);
	remembers = known->sought <= SAMPLE || known->computed <= known->sought / 2;
	known->sought += remembers ? f->n : 0;
	for (uint32_t j = 0; j < f->n; j++)
	{
		__int128	r = 0;
		GpucolStatus status = remembers ? remembered_quotient(known, f->a->v.d[j], f->b->v.d[j], &r) :
			divide(known, f->a->v.d[j], f->b->v.d[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.d[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_ARITH_P(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_arith(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
		return GPUCOL_OK;
	}
	if (f->instr->aux == GPUCOL_PACKED_DIV && f->a->alike && f->b->alike)
	{
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
		return gpucol_cpu_alike_divide(f);
	}
	gpucol_cpu_op_prepare_packed(f, true);
	switch (f->instr->aux)
	{
		case GPUCOL_PACKED_ADD:
			return compute_pairs(f, GPUCOL_PACKED_ADD);
		case GPUCOL_PACKED_SUB:
			return compute_pairs(f, GPUCOL_PACKED_SUB);
		case GPUCOL_PACKED_MUL:
			return compute_pairs(f, GPUCOL_PACKED_MUL);
		case GPUCOL_PACKED_DIV:
			return compute_quotients(f);
		default:
			return compute_pairs(f, (GpucolPackedFunction) f->instr->aux);
	}
}

GpucolStatus
gpucol_cpu_op_COMPARE_P(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_compare(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, true);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.b[j] = gpucol_packed_compare(f->instr->aux, f->a->v.d[j], f->b->v.d[j]);
	return GPUCOL_OK;
}

/* Has no value digits beyond those of the high part of a sum? */
static bool
are_short(const __int128 *x, uint32_t n)
{
	int			greatest = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		int			scale = gpucol_packed_scale(x[j]);

		greatest = scale > greatest ? scale : greatest;
	}
	return greatest <= GPUCOL_PACKED_HIGH;
}

GpucolStatus
gpucol_cpu_op_PART_P(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_part(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, false);
	if (f->instr->aux == GPUCOL_PACKED_SUM_LOW && are_short(f->a->v.d, f->n))
	{
		memset(f->dst->n, 0, f->n * sizeof(int64_t));
		f->dst->narrow = true;
		f->dst->wide = false;
		return GPUCOL_OK;
	}
	return slow_PART_P(f);
}

GpucolStatus
gpucol_cpu_op_ROUND_P(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_round(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, false);
	return slow_ROUND_P(f);
}

GpucolStatus
gpucol_cpu_op_D_TO_I(GpucolCpuFrame *f)
{
	gpucol_cpu_op_prepare_packed(f, false);
	return slow_D_TO_I(f);
}

GpucolStatus
gpucol_cpu_op_SCALE_P(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_scale(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, false);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.i[j] = gpucol_packed_scale(f->a->v.d[j]);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_TRIM_P(GpucolCpuFrame *f)
{
	gpucol_cpu_op_prepare_packed(f, false);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.d[j] = gpucol_packed_trim(f->a->v.d[j]);
	return GPUCOL_OK;
}

/* Powers of five that fit 64 bits. */
#define FIVES	27

/* The double that is nearest to magnitude / 10^scale, which is not 0; the scale is FIVES at most. */
static double
divide_exactly(GpucolMagnitude magnitude, int scale)
{
	int			shift = magnitude >> 64 != 0 ? __builtin_clzll((uint64_t) (magnitude >> 64)) :
		64 + __builtin_clzll((uint64_t) magnitude);
	uint64_t	five = 1;
	GpucolMagnitude quotient;
	GpucolMagnitude rest;
	GpucolMagnitude half;
	int			drop;
	uint64_t	kept;

	for (int i = 0; i < scale; i++)
		five *= 5;
	magnitude <<= shift;
	quotient = magnitude / five;
	/* of a quotient with bits to spare whether something is left tells halves from more */
	quotient |= quotient * five != magnitude;
	drop = (quotient >> 64 != 0 ? 128 - __builtin_clzll((uint64_t) (quotient >> 64)) :
			64 - __builtin_clzll((uint64_t) quotient)) - DBL_MANT_DIG;
	kept = (uint64_t) (quotient >> drop);
	rest = quotient & (((GpucolMagnitude) 1 << drop) - 1);
	half = (GpucolMagnitude) 1 << (drop - 1);
	kept += rest > half || (rest == half && (kept & 1) != 0);
	return ldexp((double) kept, drop - shift - scale);
}

/* The double that is nearest to a packed decimal, as PostgreSQL reads it from the digits. */
static double
nearest_double(__int128 x)
{
	__int128	mantissa = gpucol_packed_mantissa(x);
	int			scale = gpucol_packed_scale(x);
	GpucolMagnitude rest = gpucol_magnitude(mantissa);
	char		text[64];
	char	   *start = text + sizeof(text) - 12;

	if (rest == 0)
		return 0;
	if (rest <= (GpucolMagnitude) GPUCOL_CPU_EXACT_MANTISSA && scale <= GPUCOL_CPU_EXACT_POWER)
		return (double) (int64_t) mantissa / (double) gpucol_power10(scale);
	if (scale <= FIVES)
		return mantissa < 0 ? -divide_exactly(rest, scale) : divide_exactly(rest, scale);
	snprintf(start, 12, "e-%d", scale);
	for (; rest != 0; rest /= 10)
		*--start = (char) ('0' + (int) (rest % 10));
	if (mantissa < 0)
		*--start = '-';
	return strtod(start, NULL);
}

GpucolStatus
gpucol_cpu_op_P_TO_F(GpucolCpuFrame *f)
{
	if (gpucol_cpu_alike_float(f))
	{
		gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
		return GPUCOL_OK;
	}
	gpucol_cpu_op_prepare_packed(f, false);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.f[j] = nearest_double(f->a->v.d[j]);
	return GPUCOL_OK;
}
