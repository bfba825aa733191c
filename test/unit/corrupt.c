/*-------------------------------------------------------------------------
 *
 * corrupt.c
 *	  Damaged segments: no byte that is flipped may crash a reader (the test runs
 *	  under AddressSanitizer), and none of header or descriptors goes unnoticed.
 *
 * Three rounds over small segments of every kind and shape: each byte of header
 * and descriptors flipped (the CRC must tell); the same with the CRC made right
 * again and with extreme field values (the checks of each field must hold alone);
 * bytes of the streams flipped.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/crc32c.h"

#include "walk.h"

#define NCOLUMNS 6

static void
make_segment(Shape shape, uint32_t nrows, int null_percent, Pages *pages)
{
	Column		columns[NCOLUMNS];
	GpucolImage image;

	memset(columns, 0, sizeof(columns));
	CHECK(gpucol_encode_begin(&image, NCOLUMNS, nrows, 1,
							  &gpucol_memory_malloc) == GPUCOL_OK, "begin");
	for (int i = 0; i < NCOLUMNS; i++)
	{
		Column	   *c = &columns[i];

		if (i == NCOLUMNS - 1)
		{
			column_nulls(c, nrows, null_percent);
			column_arrays(c, nrows, shape % 4 == 3 ? 0 : 1u << shape % 4, (Arrays) (shape % ARRAYS_COUNT));
			CHECK(gpucol_encode_column(&image, i, &c->input) == GPUCOL_OK, "column");
			continue;
		}
		c->input.kind = (GpucolKind) (GPUCOL_KIND_INT + i);
		if (c->input.kind == GPUCOL_KIND_BYTES)
			column_bytes(c, nrows, shape == SHAPE_CONSTANT ? 1 :
						 shape == SHAPE_FEW ? 9 : 0, 20, shape % 2);
		else
			column_values(c, c->input.kind, shape, nrows);
		column_nulls(c, nrows, null_percent);
		CHECK(gpucol_encode_column(&image, i, &c->input) == GPUCOL_OK, "column");
	}
	CHECK(gpucol_encode_finish(&image) == GPUCOL_OK, "finish");
	pages_make(pages, &image);
	gpucol_image_free(&image);
	for (int i = 0; i < NCOLUMNS; i++)
		column_free(&columns[i]);
}

static uint32_t
metadata_bytes(void)
{
	return sizeof(GpucolSegmentHeader) + NCOLUMNS * sizeof(GpucolChunkDesc);
}

/* Make the CRCs of header and descriptors right for what they hold. */
static void
reseal(const Pages *pages)
{
	GpucolSegmentHeader header;

	pages_read(pages, 0, sizeof(header), &header);
	header.crc = 0;
	header.crc = gpucol_crc32c(0, &header, sizeof(header));
	pages_write(pages, 0, sizeof(header), &header);
	for (int i = 0; i < NCOLUMNS; i++)
	{
		uint64_t	at = sizeof(header) + i * sizeof(GpucolChunkDesc);
		GpucolChunkDesc desc;

		pages_read(pages, at, sizeof(desc), &desc);
		desc.crc = 0;
		desc.crc = gpucol_crc32c(0, &desc, sizeof(desc));
		pages_write(pages, at, sizeof(desc), &desc);
	}
}

static int
known_status(GpucolStatus status)
{
	return status == GPUCOL_OK || status == GPUCOL_CORRUPT ||
		status == GPUCOL_UNSUPPORTED;
}

static void
flip_sealed(const Pages *pages)
{
	for (uint32_t at = 0; at < metadata_bytes(); at++)
	{
		char	   *byte = pages_byte(pages, at);
		char		was = *byte;

		*byte = (char) (was ^ (1 << check_random() % 8));
		CHECK(walk_segment(pages) == GPUCOL_CORRUPT, "byte %u", at);
		*byte = was;
	}
}

static void
flip_resealed(const Pages *pages)
{
	static const unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff};
	const uint32_t unused = offsetof(GpucolChunkDesc, unused);
	uint32_t	size = metadata_bytes();
	char	   *saved = malloc(size);

	pages_read(pages, 0, size, saved);
	for (uint32_t at = 0; at < size; at++)
	{
		uint32_t	within = at < sizeof(GpucolSegmentHeader) ? at :
			(at - (uint32_t) sizeof(GpucolSegmentHeader)) %
			(uint32_t) sizeof(GpucolChunkDesc);

		if (within >= unused && at % 8 != 0)	/* unused bytes */
			continue;
		for (size_t i = 0; i <= sizeof(extremes); i++)
		{
			*pages_byte(pages, at) = (char)
				(i < sizeof(extremes) ? extremes[i] :
				 *pages_byte(pages, at) ^ (1 << check_random() % 8));
			reseal(pages);
			CHECK(known_status(walk_segment(pages)), "byte %u", at);
			pages_write(pages, 0, size, saved);
		}
	}
	free(saved);
}

static void
flip_streams(const Pages *pages)
{
	uint64_t	size = (uint64_t) pages->nwords * GPUCOL_ROW_BYTES;
	uint32_t	first = metadata_bytes();

	for (int i = 0; i < 400; i++)
	{
		uint64_t	at[8];
		char		was[8];
		int			n = (int) (check_random() % 8) + 1;

		for (int j = 0; j < n; j++)
		{
			at[j] = first + check_random() % (size - first);
			was[j] = *pages_byte(pages, at[j]);
			*pages_byte(pages, at[j]) = (char) (i % 2 ? check_random() : 0xff);
		}
		CHECK(known_status(walk_segment(pages)), "streams");
		for (int j = n - 1; j >= 0; j--)
			*pages_byte(pages, at[j]) = was[j];
	}
	CHECK(walk_segment(pages) == GPUCOL_OK, "restored");
}

int
main(void)
{
	for (int shape = 0; shape < SHAPE_COUNT; shape++)
	{
		for (int nulls = 0; nulls <= 30; nulls += 30)
		{
			Pages		pages;

			make_segment((Shape) shape, shape % 2 ? 2500 : 1030, nulls, &pages);
			CHECK(walk_segment(&pages) == GPUCOL_OK, "undamaged");
			if (nulls == 0)
				flip_sealed(&pages);
			flip_resealed(&pages);
			flip_streams(&pages);
			pages_free(&pages);
		}
	}
	return check_summary("corrupt");
}
