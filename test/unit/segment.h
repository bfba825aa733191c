/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  Segments in memory for unit tests: columns made at random in many shapes,
 *	  encoded, laid out on pages, and decoders over those pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_SEGMENT_H
#define GPUCOL_TEST_SEGMENT_H

#include "columnar/encode.h"
#include "kernel/decode.h"

#include "check.h"

/* A segment's word rows on pages, each page an allocation of its own. */
typedef struct Pages
{
	uint32_t	npages;
	char	  **pages;
	uint32_t	nwords;
} Pages;

static inline void
pages_make(Pages *p, const GpucolImage *image)
{
	p->nwords = image->nwords;
	p->npages = (image->nwords + GPUCOL_PAGE_ROWS - 1) / GPUCOL_PAGE_ROWS;
	p->pages = malloc(p->npages * sizeof(char *));
	for (uint32_t i = 0; i < p->npages; i++)
	{
		uint32_t	row = i * GPUCOL_PAGE_ROWS;
		uint32_t	n = p->nwords - row;

		n = n < GPUCOL_PAGE_ROWS ? n : GPUCOL_PAGE_ROWS;
		/* 8 bytes beyond a 16-byte boundary, as on a PostgreSQL page */
		p->pages[i] = (char *) malloc((size_t) n * GPUCOL_ROW_BYTES + 8) + 8;
		gpucol_image_copy(image, row, n, p->pages[i]);
	}
}

static inline void
pages_free(Pages *p)
{
	for (uint32_t i = 0; i < p->npages; i++)
		free(p->pages[i] - 8);
	free(p->pages);
}

/* Address of a byte of the segment. */
static inline char *
pages_byte(const Pages *p, uint64_t offset)
{
	uint64_t	page_bytes = GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES;

	return p->pages[offset / page_bytes] + offset % page_bytes;
}

static inline void
pages_read(const Pages *p, uint64_t offset, size_t len, void *out)
{
	for (size_t i = 0; i < len; i++)
		((char *) out)[i] = *pages_byte(p, offset + i);
}

static inline void
pages_write(const Pages *p, uint64_t offset, size_t len, const void *in)
{
	for (size_t i = 0; i < len; i++)
		*pages_byte(p, offset + i) = ((const char *) in)[i];
}

static inline GpucolRows
pages_window(const Pages *p)
{
	return (GpucolRows) {(const char *const *) p->pages, 0, p->npages, NULL};
}

/* Map every stream of a decoder to the whole segment. */
static inline void
decoder_map_all(GpucolDecoder *dec, const Pages *p)
{
	GpucolRows	window = pages_window(p);

	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
		gpucol_decode_map(dec, (GpucolStreamKind) i, &window);
}

/* A column under test; arrays are owned. */
typedef struct Column
{
	GpucolEncodeColumn input;
	int64_t    *values;
	GpucolBytes *bytes;
	uint32_t   *nulls;
	char	   *data;
} Column;

static inline void
column_free(Column *c)
{
	free(c->values);
	free(c->bytes);
	free(c->nulls);
	free(c->data);
}

/* Shapes of data; each draws some coding out of the encoder. */
typedef enum Shape
{
	SHAPE_CONSTANT,
	SHAPE_NARROW,				/* a small range, width 0..31 at random */
	SHAPE_WIDE,					/* full 64 bits, extremes included */
	SHAPE_FEW,					/* few distinct values far apart */
	SHAPE_RUNS,
	SHAPE_SORTED,
	SHAPE_DECIMAL,				/* floats with a few digits */
	SHAPE_STEPS,				/* multiples of a divisor plus a base */
	SHAPE_ODD_FLOATS,			/* NaN with payloads, infinities, -0, denormals */
	SHAPE_COUNT
} Shape;

static inline int64_t
random_odd_double(void)
{
	static const int64_t odd[] = {
		INT64_C(0x7ff8000000000000), INT64_C(0x7ff8000000000123),
		INT64_MIN + INT64_C(0x7ff8000000000001), INT64_C(0x7ff0000000000000),
		INT64_MIN + INT64_C(0x7ff0000000000000), INT64_MIN, 0, 1,
		INT64_C(0x7fefffffffffffff), INT64_C(0x3ff0000000000000)
	};

	return odd[check_random() % (sizeof(odd) / sizeof(odd[0]))];
}

static inline int64_t
double_bits(double value)
{
	int64_t		bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Row of SHAPE_STEPS: steps up to 2^50, ranges at both ends of int64 and between. */
static inline int64_t
random_step(uint64_t r, int64_t base, int width)
{
	uint64_t	step = width % 8 == 7 ? UINT64_C(1) << 50 :
		2 + (uint64_t) width * 977 * 3600;
	uint64_t	from = width % 8 == 7 || width % 3 == 0 ? (uint64_t) INT64_MIN :
		width % 3 == 1 ? (uint64_t) (base / 4) :
		(uint64_t) INT64_MAX - 4999 * step;

	return (int64_t) (from + r % 5000 * step);
}

static inline int64_t
random_value(Shape shape, uint32_t row, int64_t base, int width, int64_t last)
{
	uint64_t	r = check_random();

	switch (shape)
	{
		case SHAPE_CONSTANT:
			return base;
		case SHAPE_NARROW:
			return (int64_t) ((uint64_t) base +
							  (width == 0 ? 0 : r >> (64 - width)));
		case SHAPE_WIDE:
			return r % 16 == 0 ? INT64_MIN : r % 16 == 1 ? INT64_MAX : (int64_t) r;
		case SHAPE_FEW:
			return (int64_t) ((uint64_t) base * (r % 11 + 1) * 977);
		case SHAPE_RUNS:
			return r % 100 == 0 || row == 0 ? (int64_t) (r >> 20) : last;
		case SHAPE_SORTED:
			return row == 0 ? base / 2 : last + (int64_t) (r % 5);
		case SHAPE_DECIMAL:
			return double_bits((double) ((int64_t) (r % 2000001) - 1000000) / 100.0);
		case SHAPE_STEPS:
			return random_step(r, base, width);
		default:
			return r % 3 == 0 ? random_odd_double() :
				double_bits((double) (int64_t) r / 3.0);
	}
}

/* Bits of a float4 from those of a double, odd values kept odd. */
static inline int64_t
narrow_bits(int64_t bits)
{
	double		wide;
	float		narrow;
	uint32_t	low;

	memcpy(&wide, &bits, sizeof(wide));
	narrow = (float) wide;
	memcpy(&low, &narrow, sizeof(low));
	return low;
}

static inline void
column_nulls(Column *c, uint32_t nrows, int percent)
{
	if (percent == 0)
		return;
	c->nulls = calloc((nrows + 31) / 32, 4);
	for (uint32_t i = 0; i < nrows; i++)
		if (check_random() % 100 < (uint64_t) percent)
			c->nulls[i / 32] |= UINT32_C(1) << (i % 32);
	if (nrows % 32 != 0)		/* bits beyond the last row: anything */
		c->nulls[nrows / 32] |= ~((UINT32_C(1) << (nrows % 32)) - 1);
	c->input.nulls = c->nulls;
}

static inline void
column_values(Column *c, GpucolKind kind, Shape shape, uint32_t nrows)
{
	int64_t		base = (int64_t) check_random() >> (check_random() % 60);
	int			width = (int) (check_random() % 64);
	int64_t		last = 0;

	c->values = malloc(nrows * sizeof(int64_t));
	for (uint32_t i = 0; i < nrows; i++)
	{
		last = random_value(shape, i, base, width, last);
		c->values[i] = kind == GPUCOL_KIND_FLOAT4 ? narrow_bits(last) : last;
	}
	c->input.values = c->values;
}

/* Random bytes: `distinct` 0 = all different; lengths below `longest`. */
static inline void
column_bytes(Column *c, uint32_t nrows, uint32_t distinct, uint32_t longest,
			 int text)
{
	size_t		at = 0;

	c->bytes = malloc(nrows * sizeof(GpucolBytes));
	c->data = malloc((size_t) nrows * longest + 1);
	for (uint32_t i = 0; i < nrows; i++)
	{
		size_t		len = check_random() % longest;

		if (distinct > 0 && i >= distinct)
		{
			c->bytes[i] = c->bytes[check_random() % distinct];
			continue;
		}
		for (size_t j = 0; j < len; j++)
			c->data[at + j] = (char) (text ? 'a' + check_random() % 2 :
									  check_random());
		c->bytes[i] = (GpucolBytes) {c->data + at, len};
		at += len;
	}
	c->input.bytes = c->bytes;
}

static inline int
column_is_null(const Column *c, uint32_t row)
{
	return c->nulls && (c->nulls[row / 32] >> (row % 32) & 1);
}

#endif							/* GPUCOL_TEST_SEGMENT_H */
