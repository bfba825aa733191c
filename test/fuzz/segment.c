/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  Fuzzing of the segment reader.
 *
 * LLVMFuzzerTestOneInput takes bytes as a segment, whole word rows of it, makes
 * the magic number, version, sizes and CRCs right (so that mutations get past
 * them) and reads everything.  Built with clang's libFuzzer it explores; built
 * with any compiler and -DGPUCOL_FUZZ_MAIN it runs a bounded number of mutations
 * of segments that the encoder wrote:
 *
 *	  make -C test/fuzz run		[RUNS=20000] [SEED=42]
 *	  make -C test/fuzz libfuzzer	(clang; then build/fuzz/segment_libfuzzer CORPUS)
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/crc32c.h"

#include "walk.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
seal(Pages *pages)
{
	GpucolSegmentHeader header;
	uint32_t	columns;

	pages_read(pages, 0, sizeof(header), &header);
	columns = (pages->nwords - 1) / 2;
	if (header.ncolumns > columns)
		header.ncolumns = (uint16_t) (columns < 16 ? columns : 16);
	if (header.nwords > pages->nwords)
		header.nwords = pages->nwords;
	header.magic = GPUCOL_FORMAT_MAGIC;
	header.version = GPUCOL_FORMAT_NEWEST;
	header.crc = 0;
	header.crc = gpucol_crc32c(0, &header, sizeof(header));
	pages_write(pages, 0, sizeof(header), &header);
	for (int i = 0; i < header.ncolumns; i++)
	{
		uint64_t	at = sizeof(header) + (size_t) i * sizeof(GpucolChunkDesc);
		GpucolChunkDesc desc;

		pages_read(pages, at, sizeof(desc), &desc);
		desc.crc = 0;
		desc.crc = gpucol_crc32c(0, &desc, sizeof(desc));
		pages_write(pages, at, sizeof(desc), &desc);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t	nwords = (uint32_t) (size / GPUCOL_ROW_BYTES);
	GpucolImagePiece piece = {(char *) data, nwords};
	GpucolImage image = {.nwords = nwords, .pieces = &piece};
	Pages		pages;
	GpucolStatus status;

	if (nwords == 0 || nwords > 1 << 16)
		return 0;
	pages_make(&pages, &image);
	seal(&pages);
	status = walk_segment(&pages);
	pages_free(&pages);
	if (status != GPUCOL_OK && status != GPUCOL_CORRUPT &&
		status != GPUCOL_UNSUPPORTED && status != GPUCOL_OUT_OF_MEMORY)
		abort();
	return 0;
}

#ifdef GPUCOL_FUZZ_MAIN

/* A random valid segment as bytes. */
static char *
make_bytes(size_t *size)
{
	uint32_t	nrows = (uint32_t) (check_random() % 4000) + 1;
	int			ncolumns = (int) (check_random() % 3) + 1;
	GpucolImage image;
	char	   *bytes;

	if (gpucol_encode_begin(&image, ncolumns, nrows, 0, &gpucol_memory_malloc) != GPUCOL_OK)
		abort();
	for (int i = 0; i < ncolumns; i++)
	{
		Column		c;

		memset(&c, 0, sizeof(c));
		c.input.kind = (GpucolKind) (GPUCOL_KIND_INT + check_random() % 5);
		if (c.input.kind == GPUCOL_KIND_BYTES && check_random() % 2)
		{
			column_nulls(&c, nrows, check_random() % 2 ? 0 : 20);
			column_arrays(&c, nrows, check_random() % 2 ? 0 : 1u << check_random() % 4,
						  (Arrays) (check_random() % ARRAYS_COUNT));
			if (gpucol_encode_column(&image, i, &c.input) != GPUCOL_OK)
				abort();
			column_free(&c);
			continue;
		}
		if (c.input.kind == GPUCOL_KIND_BYTES)
			column_bytes(&c, nrows, check_random() % 2 ? 0 : 50,
						 (uint32_t) (check_random() % 60) + 1, (int) (check_random() % 2));
		else
			column_values(&c, c.input.kind, (Shape) (check_random() % SHAPE_COUNT), nrows);
		column_nulls(&c, nrows, check_random() % 2 ? 0 : 20);
		if (gpucol_encode_column(&image, i, &c.input) != GPUCOL_OK)
			abort();
		column_free(&c);
	}
	if (gpucol_encode_finish(&image) != GPUCOL_OK)
		abort();
	*size = (size_t) image.nwords * GPUCOL_ROW_BYTES;
	bytes = malloc(*size);
	gpucol_image_copy(&image, 0, image.nwords, bytes);
	gpucol_image_free(&image);
	return bytes;
}

/* Change some bytes, most of them where the descriptors are. */
static void
mutate(char *bytes, size_t size)
{
	int			n = (int) (check_random() % 6) + 1;

	for (int i = 0; i < n; i++)
	{
		size_t		range = check_random() % 2 && size > 1024 ? 1024 : size;
		size_t		at = check_random() % range;
		uint64_t	r = check_random();

		if (r % 3 == 0)
			bytes[at] = (char) (bytes[at] ^ (1 << (r >> 8) % 8));
		else if (r % 3 == 1)
			bytes[at] = (char) (r >> 8);
		else
			memset(bytes + at, r & 8 ? 0xff : 0, size - at < 4 ? size - at : 4);
	}
}

int
main(int argc, char **argv)
{
	long		runs = argc > 1 ? atol(argv[1]) : 20000;
	long		left = 0;
	char	   *bytes = NULL;
	char	   *copy = NULL;
	size_t		size = 0;

	if (argc > 2)
		check_seed = strtoull(argv[2], NULL, 10);
	for (long i = 0; i < runs; i++)
	{
		if (left-- == 0)
		{
			free(bytes);
			free(copy);
			bytes = make_bytes(&size);
			copy = malloc(size);
			left = 50;
		}
		memcpy(copy, bytes, size);
		mutate(copy, size);
		LLVMFuzzerTestOneInput((const uint8_t *) copy, size);
	}
	free(bytes);
	free(copy);
	printf("fuzz segment: %ld mutations, no crash\n", runs);
	return 0;
}

#endif							/* GPUCOL_FUZZ_MAIN */
