/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  Encoding and decoding of whole segments: every kind and shape of data, with
 *	  and without nulls, sizes around the edges of vectors, in each form that
 *	  the encoder takes; each coding must turn up.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bitpack.h"
#include "kernel/crc32c.h"
#include "kernel/float_order.h"

#include "segment.h"

#define N GPUCOL_VECTOR_VALUES

static long codings_seen[GPUCOL_CODING_ARRAY + 1];

static void
check_ints(const Column *c, GpucolDecoder *dec, uint32_t nrows)
{
	int64_t		out[N];
	uint32_t	nulls[N / 32];

	for (uint32_t v = 0; v < dec->nvectors; v++)
	{
		CHECK(gpucol_decode_ints(dec, v, out) == GPUCOL_OK, "vector %u", v);
		CHECK(gpucol_decode_nulls(dec, v, nulls) == GPUCOL_OK, "vector %u", v);
		for (uint32_t i = 0; i < N; i++)
		{
			uint32_t	row = v * N + i;
			int			isnull = nulls[i / 32] >> (i % 32) & 1;

			if (row >= nrows)
				CHECK(!isnull, "null beyond the end");
			else
			{
				CHECK(isnull == column_is_null(c, row), "null at %u", row);
				CHECK(isnull || out[i] == c->values[row],
					  "row %u coding %d: %llx not %llx", row, dec->desc->coding,
					  (unsigned long long) out[i],
					  (unsigned long long) c->values[row]);
			}
		}
	}
}

static int
same_value(const GpucolBytes *a, const GpucolBytes *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void
check_bytes(const Column *c, GpucolDecoder *dec, uint32_t nrows)
{
	static GpucolBytes out[N];
	const GpucolBytes empty = {"", 0};

	for (uint32_t v = 0; v < dec->nvectors; v++)
	{
		CHECK(gpucol_decode_bytes(dec, v, out) == GPUCOL_OK, "vector %u", v);
		for (uint32_t i = 0; i < N; i++)
		{
			uint32_t	row = v * N + i;
			const GpucolBytes *want = row >= nrows || column_is_null(c, row) ?
				&empty : &c->bytes[row];

			CHECK(same_value(&out[i], want), "row %u coding %d", row,
				  dec->desc->coding);
		}
	}
}

/* Single rows, without a load. */
static void
check_points(const Column *c, GpucolDecoder *dec, uint32_t nrows)
{
	for (int i = 0; i < 200; i++)
	{
		uint32_t	row = (uint32_t) (i == 0 ? 0 : i == 1 ? nrows - 1 :
									  check_random() % nrows);
		bool		isnull;
		int64_t		value;
		GpucolBytes bytes;

		if (c->input.kind == GPUCOL_KIND_BYTES)
			CHECK(gpucol_decode_get_bytes(dec, row, &bytes, &isnull) == GPUCOL_OK,
				  "row %u", row);
		else
			CHECK(gpucol_decode_get_int(dec, row, &value, &isnull) == GPUCOL_OK,
				  "row %u", row);
		CHECK(isnull == column_is_null(c, row), "null at %u", row);
		if (!isnull && c->input.kind == GPUCOL_KIND_BYTES)
			CHECK(same_value(&bytes, &c->bytes[row]), "row %u", row);
		else if (!isnull)
			CHECK(value == c->values[row], "row %u", row);
	}
}

static int64_t
order_of(const Column *c, uint32_t row)
{
	if (c->input.kind == GPUCOL_KIND_FLOAT4 || c->input.kind == GPUCOL_KIND_FLOAT8)
		return gpucol_float_order(gpucol_float_value(c->input.kind, c->values[row]));
	return c->values[row];
}

static void
check_zones(const Column *c, const GpucolDecoder *dec, uint32_t nrows)
{
	const GpucolChunkDesc *desc = dec->desc;

	CHECK((desc->flags & GPUCOL_CHUNK_HAS_ZONE) != 0, "zone");
	for (uint32_t row = 0; row < nrows; row++)
	{
		GpucolZone	zone = desc->zone;
		int64_t		order = order_of(c, row);

		if (column_is_null(c, row))
			continue;
		CHECK(zone.min <= order && order <= zone.max, "row %u", row);
		if (gpucol_decode_zone(dec, row / N, &zone) == GPUCOL_OK)
			CHECK(zone.min <= order && order <= zone.max, "row %u", row);
		if (order == INT64_MAX && c->input.kind >= GPUCOL_KIND_FLOAT4)
			CHECK((desc->flags & GPUCOL_CHUNK_HAS_NAN) != 0, "NaN flag");
	}
}

/* Elements without their arrays, which are of one dimension. */
static void
check_items(const Column *c, GpucolDecoder *dec, uint32_t nrows)
{
	const int64_t *values;
	const uint8_t *nulls;
	uint32_t	lengths[N];

	if (dec->desc->coding != GPUCOL_CODING_ARRAY || dec->desc->item_bytes == 0)
		return;
	for (uint32_t v = 0; v < dec->nvectors; v++)
	{
		uint64_t	at = 0;

		CHECK(gpucol_decode_items(dec, v, lengths, &values, &nulls) == GPUCOL_OK, "vector %u", v);
		for (uint32_t i = 0; i < N; i++)
		{
			GpucolArrayValue array = {0};
			GpucolArrayPlace place;
			GpucolBytes item;
			bool		isnull;

			if (v * N + i < nrows && !column_is_null(c, v * N + i))
				CHECK(gpucol_array_open(c->bytes[v * N + i], &array), "array");
			CHECK(lengths[i] == array.nitems, "length %u", v * N + i);
			place = gpucol_array_begin(&array);
			while (gpucol_array_next(&array, dec->desc->item_bytes, &place, &item, &isnull))
			{
				CHECK(isnull == (nulls != NULL && nulls[at] != 0), "element of %u", v * N + i);
				CHECK(isnull || memcmp(&values[at], item.data, dec->desc->item_bytes) == 0, "element of %u", v * N + i);
				at++;
			}
		}
	}
}

/* Every extent must hold what decoding a vector touches. */
static void
check_extents(const Column *c, const GpucolChunkDesc *desc, const Pages *pages,
			  uint32_t nrows)
{
	uint32_t	v = (uint32_t) (check_random() % GPUCOL_VECTORS(nrows));
	GpucolDecoder dec;
	static int64_t ints[N];
	static GpucolBytes bytes[N];

	gpucol_decode_init(&dec, desc, nrows, &gpucol_memory_malloc);
	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
	{
		uint32_t	row;
		uint32_t	n;
		GpucolRows	window = {(const char *const *) pages->pages, 0, 0, NULL};

		gpucol_decode_extent(desc, (GpucolStreamKind) i, v, 1, &row, &n);
		if (n == 0)
			continue;
		window.first_page = (desc->streams[i].row + row) / GPUCOL_PAGE_ROWS;
		window.npages = (desc->streams[i].row + row + n - 1) / GPUCOL_PAGE_ROWS + 1 -
			window.first_page;
		window.pages += window.first_page;
		gpucol_decode_map(&dec, (GpucolStreamKind) i, &window);
	}
	CHECK(gpucol_decode_load(&dec) == GPUCOL_OK, "load");
	if (c->input.kind != GPUCOL_KIND_BYTES)
		CHECK(gpucol_decode_ints(&dec, v, ints) == GPUCOL_OK, "extent");
	else if (!gpucol_decode_has_blocks(desc))
		CHECK(gpucol_decode_bytes(&dec, v, bytes) == GPUCOL_OK, "extent");
	gpucol_decode_free(&dec);
}

static void
check_column(const Column *c, const GpucolSegmentHeader *header,
			 const GpucolChunkDesc *desc, const Pages *pages, uint32_t nrows)
{
	GpucolDecoder dec;

	CHECK(gpucol_decode_check_desc(header, desc) == GPUCOL_OK, "coding %d",
		  desc->coding);
	codings_seen[desc->coding]++;
	gpucol_decode_init(&dec, desc, nrows, &gpucol_memory_malloc);
	decoder_map_all(&dec, pages);
	check_points(c, &dec, nrows);
	CHECK(gpucol_decode_load(&dec) == GPUCOL_OK, "load");
	check_points(c, &dec, nrows);
	if (c->input.kind == GPUCOL_KIND_BYTES)
	{
		check_bytes(c, &dec, nrows);
		check_items(c, &dec, nrows);
	}
	else
	{
		check_ints(c, &dec, nrows);
		if (!(desc->flags & GPUCOL_CHUNK_ALL_NULL))
			check_zones(c, &dec, nrows);
	}
	check_extents(c, desc, pages, nrows);
	gpucol_decode_free(&dec);
}

static void
check_segment(Column *columns, int ncolumns, uint32_t nrows)
{
	GpucolImage image;
	GpucolSegmentHeader header;
	Pages		pages;

	CHECK(gpucol_encode_begin(&image, ncolumns, nrows, 77,
							  &gpucol_memory_malloc) == GPUCOL_OK, "begin");
	for (int i = ncolumns - 1; i >= 0; i--)
		CHECK(gpucol_encode_column(&image, i, &columns[i].input) == GPUCOL_OK,
			  "column %d", i);
	CHECK(gpucol_encode_finish(&image) == GPUCOL_OK, "finish");
	pages_make(&pages, &image);
	pages_read(&pages, 0, sizeof(header), &header);
	CHECK(gpucol_decode_check_header(&header) == GPUCOL_OK, "header");
	CHECK(header.first_row == 77 && header.nrows == nrows, "header fields");
	for (int i = 0; i < ncolumns; i++)
	{
		uint16_t	version = gpucol_image_desc(&image, i)->flags & GPUCOL_CHUNK_DATA_PIECES ? GPUCOL_FORMAT_PIECES :
			gpucol_image_desc(&image, i)->coding == GPUCOL_CODING_ARRAY ? GPUCOL_FORMAT_ARRAYS :
			gpucol_image_desc(&image, i)->coding == GPUCOL_CODING_NUMERIC ? GPUCOL_FORMAT_NUMERICS :
			GPUCOL_FORMAT_VERSION;
		GpucolChunkDesc desc;

		CHECK(header.version >= version && (ncolumns > 1 || header.version == version), "version %u", header.version);

		pages_read(&pages, sizeof(header) + i * sizeof(desc), sizeof(desc), &desc);
		check_column(&columns[i], &header, &desc, &pages, nrows);
	}
	header.version = GPUCOL_FORMAT_NEWEST + 1;
	header.crc = 0;
	header.crc = gpucol_crc32c(0, &header, sizeof(header));
	CHECK(gpucol_decode_check_header(&header) == GPUCOL_UNSUPPORTED, "a version that is not known");
	pages_free(&pages);
	gpucol_image_free(&image);
}

/* One segment with a column of each kind in the shape given. */
static void
check_shape(Shape shape, uint32_t nrows, int null_percent)
{
	Column		columns[5];

	memset(columns, 0, sizeof(columns));
	for (int i = 0; i < 5; i++)
	{
		GpucolKind	kind = (GpucolKind) (GPUCOL_KIND_INT + i);

		columns[i].input.kind = kind;
		columns[i].input.attnum = (int16_t) (i + 1);
		if (kind == GPUCOL_KIND_BYTES)
			column_bytes(&columns[i], nrows, shape == SHAPE_CONSTANT ? 1 :
						 shape == SHAPE_FEW ? 9 : shape == SHAPE_RUNS ? 700 : 0,
						 shape == SHAPE_NARROW ? 3 : shape == SHAPE_WIDE ? 90 : 30,
						 shape % 2);
		else
			column_values(&columns[i], kind, shape, nrows);
		column_nulls(&columns[i], nrows, null_percent);
	}
	check_segment(columns, 5, nrows);
	for (int i = 0; i < 5; i++)
		column_free(&columns[i]);
}

/* Values given by their lower halves. */
static void
check_narrow(uint32_t nrows, int null_percent, bool is_signed)
{
	uint32_t   *narrow = malloc(nrows * sizeof(uint32_t));
	int			shift = (int) (check_random() % 32);
	Column		c;

	memset(&c, 0, sizeof(c));
	c.input.kind = GPUCOL_KIND_INT;
	c.values = malloc(nrows * sizeof(int64_t));
	for (uint32_t i = 0; i < nrows; i++)
	{
		narrow[i] = (uint32_t) check_random() >> shift << (shift % 4);
		c.values[i] = is_signed ? (int64_t) (int32_t) narrow[i] : (int64_t) narrow[i];
	}
	c.input.narrow = narrow;
	c.input.narrow_signed = is_signed;
	column_nulls(&c, nrows, null_percent);
	check_segment(&c, 1, nrows);
	free(narrow);
	column_free(&c);
}

/* Bytes numbered by a dictionary as they arrive, or written one after another. */
static void
check_arriving(uint32_t nrows, int null_percent, uint32_t distinct, bool plain)
{
	uint32_t   *codes = calloc(nrows, sizeof(uint32_t));
	uint64_t   *ends = malloc(nrows * sizeof(uint64_t));
	char	   *data = malloc((size_t) nrows * 30 + 1);
	uint64_t	at = 0;
	uint32_t	code = 0;
	bool		coded = !plain;
	GpucolDict	dict;
	Column		c;

	memset(&c, 0, sizeof(c));
	c.input.kind = GPUCOL_KIND_BYTES;
	column_bytes(&c, nrows, distinct, 30, distinct % 2);
	column_nulls(&c, nrows, null_percent);
	CHECK(gpucol_dict_begin(&dict, &gpucol_memory_malloc) == GPUCOL_OK, "begin");
	for (uint32_t i = 0; i < nrows; i++)
	{
		if (!column_is_null(&c, i))
		{
			memcpy(data + at, c.bytes[i].data, c.bytes[i].len);
			at += c.bytes[i].len;
			if (coded)
			{
				uint32_t	done;
				GpucolStatus status = gpucol_dict_add(&dict, &c.bytes[i], 1, &code, &done);

				CHECK(done == 1 && same_value(&dict.values[code], &c.bytes[i]), "row %u", i);
				coded = status == GPUCOL_OK;
				CHECK(coded || status == GPUCOL_END, "status %d", status);
			}
		}
		codes[i] = code;
		ends[i] = at;
	}
	CHECK(coded || plain || distinct == 0, "dictionary given up");
	c.input.dict = coded && dict.n > 0 ? &dict : NULL;
	c.input.codes = codes;
	c.input.data = data;
	c.input.ends = ends;
	check_segment(&c, 1, nrows);
	gpucol_dict_free(&dict);
	free(codes);
	free(ends);
	free(data);
	column_free(&c);
}

/* Kinds of numerics: which are packed as mantissas depends on what all of them have. */
typedef enum Numerics
{
	NUMERICS_ALIKE,				/* display two digits */
	NUMERICS_SHOWN,				/* display as many as they have, or more */
	NUMERICS_LONG,				/* display sixteen digits more, as quotients do */
	NUMERICS_WIDE,				/* too many digits for a word */
	NUMERICS_ODD,				/* NaN among them */
	NUMERICS_COUNT
} Numerics;

/* A numeric in PostgreSQL's short format; returns its length. */
static size_t
random_numeric(Numerics what, char *out)
{
	uint16_t	digits[6];
	int			n = (int) (check_random() % (what == NUMERICS_WIDE ? 6 : 4));
	int			weight = what == NUMERICS_ALIKE || n == 0 ? n - 2 : (int) (check_random() % 3) - 1;
	int			shown = 4 * (n - 1 - weight);
	uint16_t	head;

	if (what == NUMERICS_ODD && check_random() % 100 == 0)
	{
		memcpy(out, "\0\xc0", 2);
		return 2;
	}
	for (int i = 0; i < n; i++)
		digits[i] = (uint16_t) (1 + check_random() % 9999);
	if (n > 0 && what == NUMERICS_ALIKE)
		digits[n - 1] = (uint16_t) (digits[n - 1] / 100 * 100);
	if (n > 0 && digits[n - 1] == 0)
		digits[n - 1] = 100;
	weight = n == 0 ? 0 : weight;
	shown = what == NUMERICS_ALIKE ? 2 : (shown > 0 && n > 0 ? shown : 0) + (int) (check_random() % 3) +
		(what == NUMERICS_LONG ? 16 : 0);
	head = (uint16_t) (0x8000 | (n > 0 && check_random() % 2 ? 0x2000 : 0) | shown << 7 | (weight & 0x7f));
	memcpy(out, &head, 2);
	memcpy(out + 2, digits, 2 * (size_t) n);
	return 2 + 2 * (size_t) n;
}

/* Numerics written one after another. */
static void
check_numerics(uint32_t nrows, int null_percent, Numerics what)
{
	uint64_t   *ends = malloc(nrows * sizeof(uint64_t));
	uint64_t	at = 0;
	long		before = codings_seen[GPUCOL_CODING_NUMERIC];
	Column		c;

	memset(&c, 0, sizeof(c));
	c.input.kind = GPUCOL_KIND_BYTES;
	c.input.numerics = true;
	c.bytes = malloc(nrows * sizeof(GpucolBytes));
	c.data = malloc((size_t) nrows * 16);
	column_nulls(&c, nrows, null_percent);
	for (uint32_t i = 0; i < nrows; i++)
	{
		size_t		len = column_is_null(&c, i) ? 0 : random_numeric(what, c.data + at);

		c.bytes[i] = (GpucolBytes) {c.data + at, len};
		at += len;
		ends[i] = at;
	}
	c.input.data = c.data;
	c.input.ends = ends;
	check_segment(&c, 1, nrows);
	if (null_percent < 100 && nrows > 1000 && what != NUMERICS_SHOWN && what != NUMERICS_LONG)
		CHECK((codings_seen[GPUCOL_CODING_NUMERIC] > before) == (what == NUMERICS_ALIKE), "numerics %d", what);
	free(ends);
	column_free(&c);
}

/* Arrays written one after another. */
static void
check_arrays(uint32_t nrows, int null_percent, uint32_t bytes, Arrays what)
{
	long		before = codings_seen[GPUCOL_CODING_ARRAY];
	bool		spoilt;
	Column		c;

	memset(&c, 0, sizeof(c));
	column_nulls(&c, nrows, null_percent);
	spoilt = column_arrays(&c, nrows, bytes, what);
	check_segment(&c, 1, nrows);
	if (null_percent < 100 && nrows > 1000 && (what < ARRAYS_SHORT || spoilt))
		CHECK((codings_seen[GPUCOL_CODING_ARRAY] > before) == (!spoilt && (what != ARRAYS_WIDE || bytes > 0)),
			  "arrays %d of %u bytes", what, bytes);
	column_free(&c);
}

/* Values longer than a page, and than the rest together. */
static void
check_long_bytes(void)
{
	enum {ROWS = 3000};
	Column		c;

	memset(&c, 0, sizeof(c));
	c.input.kind = GPUCOL_KIND_BYTES;
	column_bytes(&c, ROWS, 0, 40, 0);
	for (int i = 0; i < ROWS; i += 500)
	{
		size_t		len = 5000 + (size_t) i * 7;
		char	   *value = malloc(len);

		for (size_t j = 0; j < len; j++)
			value[j] = (char) (i % 1000 ? 'x' : check_random());
		c.bytes[i] = (GpucolBytes) {value, len};
	}
	column_nulls(&c, ROWS, 3);
	check_segment(&c, 1, ROWS);
	for (int i = 0; i < ROWS; i += 500)
		free((char *) c.bytes[i].data);
	column_free(&c);
}

static void
check_float_order(void)
{
	static const double ascending[] = {
		-1.0 / 0.0, -1e308, -1.5, -5e-324, 0.0, 5e-324, 1.5, 1e308, 1.0 / 0.0
	};

	for (int i = 1; i < 9; i++)
		CHECK(gpucol_float_order(ascending[i - 1]) <
			  gpucol_float_order(ascending[i]), "order %d", i);
	CHECK(gpucol_float_order(-0.0) == gpucol_float_order(0.0), "zeros");
	CHECK(gpucol_float_order(0.0 / 0.0) > gpucol_float_order(1.0 / 0.0), "NaN");
	CHECK(gpucol_float_order(0.0 / 0.0) == gpucol_float_order(-(0.0 / 0.0)), "NaNs");
}

/* The definition, bit by bit, and the published check value. */
static void
check_crc(void)
{
	static unsigned char data[20000];

	CHECK(gpucol_crc32c(0, "123456789", 9) == 0xe3069283, "check value");
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char) check_random();
	for (size_t len = 0; len < sizeof(data); len += len == 6538 ? 8064 - len : 1 + len / 3)
	{
		uint32_t	crc = UINT32_MAX;

		for (size_t i = 0; i < len; i++)
		{
			crc ^= data[i];
			for (int b = 0; b < 8; b++)
				crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		}
		CHECK(gpucol_crc32c(0, data, len) == ~crc, "length %zu", len);
		CHECK(gpucol_crc32c(gpucol_crc32c(0, data, len / 2), data + len / 2,
							len - len / 2) == ~crc, "in two, length %zu", len);
	}
}

int
main(void)
{
	static const uint32_t sizes[] = {1, 2, 31, 32, 33, 1023, 1024, 1025, 5000, 20480};
	static const int nulls[] = {0, 5, 60, 100};
	GpucolImage image;

	check_float_order();
	check_crc();
	CHECK(gpucol_encode_begin(&image, 1, 0, 0, &gpucol_memory_malloc) ==
		  GPUCOL_UNSUPPORTED, "no rows");
	gpucol_image_free(&image);
	for (int shape = 0; shape < SHAPE_COUNT; shape++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (int n = 0; n < 4; n++)
				check_shape((Shape) shape, sizes[s], nulls[n]);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (int n = 0; n < 4; n++)
			for (int i = 0; i < 4; i++)
			{
				check_narrow(sizes[s], nulls[n], i % 2);
				check_arriving(sizes[s], nulls[n], (uint32_t[]) {1, 9, 700, 0}[i], false);
				check_arriving(sizes[s], nulls[n], (uint32_t[]) {1, 9, 700, 0}[i], true);
			}
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (int n = 0; n < 4; n++)
			for (int what = 0; what < NUMERICS_COUNT; what++)
				check_numerics(sizes[s], nulls[n], (Numerics) what);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (int n = 0; n < 4; n++)
			for (int what = 0; what < ARRAYS_COUNT; what++)
				for (uint32_t bytes = 0; bytes <= 8; bytes += bytes > 0 ? bytes : 1)
					check_arrays(sizes[s], nulls[n], bytes, (Arrays) what);
	check_long_bytes();
	for (int coding = GPUCOL_CODING_CONSTANT; coding <= GPUCOL_CODING_ARRAY; coding++)
		CHECK(codings_seen[coding] > 0, "coding %d never chosen", coding);
	return check_summary("segment");
}
