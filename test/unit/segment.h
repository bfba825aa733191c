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
#include "kernel/array_value.h"
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
	uint64_t   *ends;
} Column;

static inline void
column_free(Column *c)
{
	free(c->values);
	free(c->bytes);
	free(c->nulls);
	free(c->data);
	free(c->ends);
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

/* Kinds of arrays. */
typedef enum Arrays
{
	ARRAYS_PLAIN,				/* a few elements */
	ARRAYS_NULLS,				/* some of them NULL */
	ARRAYS_WIDE,				/* of all bits */
	ARRAYS_SHORT,				/* none or one, all alike */
	ARRAYS_LONG,				/* some thousands now and then */
	ARRAYS_ODD,					/* one is of another form */
	ARRAYS_COUNT
} Arrays;

enum {ITEM_TYPE = 4711, MOST_ITEMS = 3000};

/* A random array in PostgreSQL's format; returns its length. */
static inline size_t
random_array(Arrays what, uint32_t bytes, char *out)
{
	uint32_t	most = what == ARRAYS_SHORT ? 2 : what == ARRAYS_LONG && check_random() % 50 == 0 ? MOST_ITEMS : 9;
	uint32_t	n = (uint32_t) (check_random() % most);
	uint32_t	head[5] = {n > 0, 0, ITEM_TYPE, n, 1};
	uint8_t		present[MOST_ITEMS] = {0};
	size_t		at = n > 0 ? 20 : 12;
	bool		some = false;

	for (uint32_t i = 0; i < n; i++)
	{
		present[i] = what != ARRAYS_NULLS || check_random() % 5 != 0;
		some |= !present[i];
	}
	if (some)
	{
		size_t		end = (24 + (n + 7) / 8 + 7) / 8 * 8 - 4;

		head[1] = (uint32_t) end + 4;
		memset(out + at, 0, end - at);
		for (uint32_t i = 0; i < n; i++)
			out[at + i / 8] = (char) (out[at + i / 8] | present[i] << i % 8);
		at = end;
	}
	memcpy(out, head, n > 0 ? 20 : 12);
	for (uint32_t i = 0; i < n; i++)
	{
		int64_t		value = what == ARRAYS_WIDE ? (int64_t) check_random() :
			what == ARRAYS_SHORT ? 7 : (int64_t) (check_random() % 100) - 30;

		if (!present[i])
			continue;
		if (bytes > 0)
			memcpy(out + at, &value, bytes);
		else
		{
			char		text[32] = {0};
			uint32_t	len = (uint32_t) snprintf(text, sizeof(text), "t%lld", (long long) value);
			uint32_t	word = (len + 4) << 2;

			memcpy(out + at, &word, 4);
			memcpy(out + at + 4, text, (len + 3) / 4 * 4);
			at += 4 + (len + 3) / 4 * 4;
		}
		at += bytes;
	}
	return at;
}

/* Have an array be such as construct_md_array does not make. */
static inline void
spoil_array(char *out, size_t *len)
{
	static const uint32_t others[][8] = {
		{1, 0, ITEM_TYPE, 1, 0, 5},		/* from 0 on */
		{2, 0, ITEM_TYPE, 1, 1, 1, 1, 5},
		{1, 0, ITEM_TYPE + 1, 1, 1, 5},
		{1, 0, ITEM_TYPE, 0, 1},	/* no elements, but a dimension */
		{1, 32, ITEM_TYPE, 1, 1, 1, 0, 5},	/* a bitmap without NULLs */
		{0, 0, ITEM_TYPE, 1},	/* more bytes than there are */
	};
	static const size_t lengths[] = {24, 32, 24, 20, 32, 16};
	uint32_t	i = (uint32_t) (check_random() % 6);

	memcpy(out, others[i], lengths[i]);
	*len = lengths[i];
}

/* Arrays of elements of so many bytes, or texts, for the rows that are not NULL; was one spoilt? */
static inline bool
column_arrays(Column *c, uint32_t nrows, uint32_t bytes, Arrays what)
{
	uint32_t	odd = (uint32_t) (check_random() % nrows);
	uint64_t	at = 0;
	bool		spoilt = false;

	c->input.kind = GPUCOL_KIND_BYTES;
	c->input.item_type = ITEM_TYPE;
	c->input.item_bytes = (uint8_t) bytes;
	c->bytes = malloc(nrows * sizeof(GpucolBytes));
	c->ends = malloc(nrows * sizeof(uint64_t));
	c->data = malloc((size_t) nrows * 260 + (size_t) MOST_ITEMS * 12 * (nrows / 20 + 40));
	for (uint32_t i = 0; i < nrows; i++)
	{
		size_t		len = column_is_null(c, i) ? 0 : random_array(what, bytes, c->data + at);

		if (what == ARRAYS_ODD && i == odd && len > 0)
		{
			spoil_array(c->data + at, &len);
			spoilt = true;
		}
		c->bytes[i] = (GpucolBytes) {c->data + at, len};
		at += len;
		c->ends[i] = at;
	}
	c->input.data = c->data;
	c->input.ends = c->ends;
	return spoilt;
}

#endif							/* GPUCOL_TEST_SEGMENT_H */
