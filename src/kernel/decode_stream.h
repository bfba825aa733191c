/*-------------------------------------------------------------------------
 *
 * decode_stream.h
 *	  Bytes of a chunk's streams, for the files that decode them: decode.c (vectors),
 *	  decode_row.c (single rows) and decode_array.c (arrays).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_DECODE_STREAM_H
#define GPUCOL_KERNEL_DECODE_STREAM_H

#include <stdlib.h>
#include <string.h>

#include "kernel/bitpack.h"
#include "kernel/decode.h"

/* no vector's block is expanded */
#define GPUCOL_STREAM_NO_VECTOR UINT32_MAX

/* A packed vector's word rows where they straddle a page. */
typedef struct GpucolStreamScratch
{
	char		rows[64 * GPUCOL_ROW_BYTES] __attribute__((aligned(64)));
} GpucolStreamScratch;

/* decode_row.c: word rows of the segment by a decoder that asks for pages; NULL if one is not to be had. */
extern const char *gpucol_decode_find_rows(const GpucolDecoder *dec, uint32_t row, uint32_t n, void *scratch);

/*
 * Word rows row .. row + n - 1 of a stream: in place, or copied to scratch where
 * they straddle a page; NULL if not in the stream or not mapped.
 */
static inline const char *
gpucol_stream_rows(const GpucolDecoder *dec, GpucolStreamKind kind, uint32_t row,
			uint32_t n, void *scratch)
{
	const GpucolStream *stream = &dec->desc->streams[kind];
	const GpucolRows *window = &dec->rows[kind];
	uint32_t	first;
	uint32_t	last;

	if (n == 0 || row >= stream->nrows || n > stream->nrows - row)
		return NULL;
	if (dec->find_page != NULL)
		return gpucol_decode_find_rows(dec, stream->row + row, n, scratch);
	first = (stream->row + row) / GPUCOL_PAGE_ROWS;
	last = (stream->row + row + n - 1) / GPUCOL_PAGE_ROWS;
	if (first < window->first_page || last - window->first_page >= window->npages)
		return NULL;
	return gpucol_rows_at(window, stream->row + row, n, scratch);
}

/* Copy bytes offset .. offset + len - 1 of a stream, page by page. */
static inline GpucolStatus
gpucol_stream_copy(const GpucolDecoder *dec, GpucolStreamKind kind, uint64_t offset,
			size_t len, void *out)
{
	char	   *to = out;

	while (len > 0)
	{
		size_t		within = offset % GPUCOL_ROW_BYTES;
		uint64_t	row = offset / GPUCOL_ROW_BYTES;
		uint64_t	nrows = (within + len - 1) / GPUCOL_ROW_BYTES + 1;
		uint64_t	left = GPUCOL_PAGE_ROWS - (dec->desc->streams[kind].row + row) % GPUCOL_PAGE_ROWS;
		size_t		take;
		const char *from;

		if (row > UINT32_MAX)
			return GPUCOL_CORRUPT;
		nrows = nrows < left ? nrows : left;
		from = gpucol_stream_rows(dec, kind, (uint32_t) row, (uint32_t) nrows, NULL);
		if (from == NULL)
			return GPUCOL_CORRUPT;
		take = (size_t) nrows * GPUCOL_ROW_BYTES - within;
		take = take < len ? take : len;
		memcpy(to, from + within, take);
		to += take;
		offset += take;
		len -= take;
	}
	return GPUCOL_OK;
}

/* Bytes of a stream in place; NULL unless they lie in one mapped page. */
static inline const char *
gpucol_stream_bytes(const GpucolDecoder *dec, GpucolStreamKind kind, uint64_t offset,
			 uint64_t len)
{
	uint64_t	first = offset / GPUCOL_ROW_BYTES;
	uint64_t	last = (offset + (len > 0 ? len - 1 : 0)) / GPUCOL_ROW_BYTES;
	uint32_t	start = dec->desc->streams[kind].row;
	const char *rows;

	if (last >= dec->desc->streams[kind].nrows ||
		(start + first) / GPUCOL_PAGE_ROWS != (start + last) / GPUCOL_PAGE_ROWS)
		return NULL;
	rows = gpucol_stream_rows(dec, kind, (uint32_t) first, (uint32_t) (last - first + 1),
					   NULL);
	return rows ? rows + offset % GPUCOL_ROW_BYTES : NULL;
}

/* Codes of packed vector v; `n` is how many vectors CODES has. */
static inline const void *
gpucol_stream_vector(const GpucolDecoder *dec, uint32_t v, GpucolStreamScratch *scratch)
{
	uint32_t	width = dec->desc->width;

	if (width == 0)
		return scratch->rows;
	return gpucol_stream_rows(dec, GPUCOL_STREAM_CODES, v * width, width, scratch->rows);
}

/* Make *buffer hold at least `size` bytes; contents are not kept. */
static inline GpucolStatus
gpucol_decode_reserve(GpucolDecoder *dec, char **buffer, size_t *have, size_t size)
{
	if (*have >= size && *buffer != NULL)
		return GPUCOL_OK;
	if (*buffer != NULL)
		dec->memory.free(dec->memory.context, *buffer);
	*buffer = NULL;
	*have = 0;
	*buffer = dec->memory.alloc(dec->memory.context, size);
	if (*buffer == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	*have = size;
	return GPUCOL_OK;
}

/* decode.c: start and end in DATA of vector v's block of RAW bytes, or the numbers of its elements (OFFSETS mapped). */
extern GpucolStatus gpucol_decode_block(const GpucolDecoder *dec, uint32_t v, uint64_t *start, uint64_t *end);

/* decode_array.c: the arrays of a vector or of a row, formed */
extern GpucolStatus gpucol_decode_arrays(GpucolDecoder *dec, uint32_t v, GpucolBytes *out);
extern GpucolStatus gpucol_decode_get_array(GpucolDecoder *dec, uint32_t row, GpucolBytes *out);

/*
 * decode.c: bytes start .. end - 1 of DATA together; bytes from .. until - 1 of the `size` that the
 * values of vector v have, whose block of RAW BYTES is start .. end - 1 of DATA, in place or expanded.
 */
extern GpucolStatus gpucol_decode_contiguous(GpucolDecoder *dec, uint64_t start, uint64_t end, char **buffer,
		   size_t *have, const char **out);
extern GpucolStatus gpucol_decode_read_block(GpucolDecoder *dec, uint32_t v, uint64_t start, uint64_t end,
		   uint64_t size, uint64_t from, uint64_t until, const char **out);

#endif							/* GPUCOL_KERNEL_DECODE_STREAM_H */
