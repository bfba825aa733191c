/*-------------------------------------------------------------------------
 *
 * encode.c
 *	  Assembling a segment image: header, descriptors, and the chunks that
 *	  encode_values.c and encode_bytes.c make.
 *
 * A chunk is laid out in a piece of its own as if the piece were a segment; only
 * gpucol_encode_finish knows where the pieces come to lie and moves the stream
 * rows there.  So columns may be encoded in any order and their arrays freed one
 * by one.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_chunk.h"

#include "kernel/crc32c.h"

static GpucolChunkDesc *
image_desc(const GpucolImage *image, int slot)
{
	return (GpucolChunkDesc *) (image->pieces[0].rows + GPUCOL_ROW_BYTES) + slot;
}

static GpucolSegmentHeader *
image_header(const GpucolImage *image)
{
	return (GpucolSegmentHeader *) image->pieces[0].rows;
}

const GpucolChunkDesc *
gpucol_image_desc(const GpucolImage *image, int slot)
{
	return image_desc(image, slot);
}

GpucolStatus
gpucol_encode_begin(GpucolImage *image, int ncolumns, uint32_t nrows,
					uint64_t first_row, const GpucolMemory *memory)
{
	uint32_t	head_rows = 1 + 2 * (uint32_t) ncolumns;
	size_t		pieces_size = ((size_t) ncolumns + 1) * sizeof(GpucolImagePiece);
	GpucolSegmentHeader *header;

	memset(image, 0, sizeof(*image));
	image->memory = *memory;
	image->ncolumns = ncolumns;
	image->nrows = nrows;
	if (nrows == 0 || nrows > GPUCOL_MAX_SEGMENT_ROWS || ncolumns < 0 ||
		ncolumns > UINT16_MAX)
		return GPUCOL_UNSUPPORTED;
	image->pieces = memory->alloc(memory->context, pieces_size);
	if (image->pieces == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(image->pieces, 0, pieces_size);
	image->pieces[0].rows = memory->alloc(memory->context,
										  (size_t) head_rows * GPUCOL_ROW_BYTES);
	if (image->pieces[0].rows == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(image->pieces[0].rows, 0, (size_t) head_rows * GPUCOL_ROW_BYTES);
	image->pieces[0].nrows = head_rows;
	header = image_header(image);
	header->magic = GPUCOL_FORMAT_MAGIC;
	header->version = GPUCOL_FORMAT_VERSION;
	header->ncolumns = (uint16_t) ncolumns;
	header->nrows = nrows;
	header->first_row = first_row;
	return GPUCOL_OK;
}

/* Copy the null bitmap, clearing bits beyond the last row. */
static void
fill_nulls(GpucolChunkBuilder *b)
{
	char	   *out = gpucol_chunk_stream(b, GPUCOL_STREAM_NULLS);
	size_t		words = (b->nrows + 31) / 32;

	memset(out + (size_t) (b->nvectors - 1) * GPUCOL_ROW_BYTES, 0, GPUCOL_ROW_BYTES);
	memcpy(out, b->column->nulls, words * 4);
	gpucol_bitmap_limit((uint32_t *) (out + (size_t) (b->nvectors - 1) *
									  GPUCOL_ROW_BYTES),
						gpucol_chunk_vector_rows(b, b->nvectors - 1));
}

GpucolStatus
gpucol_chunk_layout(GpucolChunkBuilder *b, const uint64_t *sizes)
{
	uint64_t	row = 0;

	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
	{
		uint64_t	rows = GPUCOL_ROWS_FOR(sizes[i]);

		if (i == GPUCOL_STREAM_NULLS && (b->desc.flags & GPUCOL_CHUNK_HAS_NULLS))
			rows = b->nvectors;
		if (row + rows > UINT32_MAX)
			return GPUCOL_UNSUPPORTED;
		b->desc.streams[i].row = rows > 0 ? (uint32_t) row : 0;
		b->desc.streams[i].nrows = (uint32_t) rows;
		row += rows;
	}
	b->piece.nrows = (uint32_t) row;
	b->piece.rows = gpucol_chunk_alloc(b, (size_t) row * GPUCOL_ROW_BYTES);
	if (b->piece.rows == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
		if (sizes[i] % GPUCOL_ROW_BYTES != 0)
			memset((char *) gpucol_chunk_stream(b, (GpucolStreamKind) i) + sizes[i],
				   0, GPUCOL_ROW_BYTES - sizes[i] % GPUCOL_ROW_BYTES);
	if (b->desc.flags & GPUCOL_CHUNK_HAS_NULLS)
		fill_nulls(b);
	return GPUCOL_OK;
}

void *
gpucol_chunk_stream(const GpucolChunkBuilder *b, GpucolStreamKind kind)
{
	return b->piece.rows + (size_t) b->desc.streams[kind].row * GPUCOL_ROW_BYTES;
}

/* NULL rows of a column. */
static uint32_t
count_nulls(const uint32_t *nulls, uint32_t nrows)
{
	uint32_t	count = 0;

	if (nulls == NULL)
		return 0;
	for (uint32_t i = 0; i < nrows / 32; i++)
		count += (uint32_t) __builtin_popcount(nulls[i]);
	if (nrows % 32 != 0)
		count += (uint32_t) __builtin_popcount(nulls[nrows / 32] &
											   ((UINT32_C(1) << (nrows % 32)) - 1));
	return count;
}

/* Have the segment be of a version that has what a chunk has. */
static void
require_version(GpucolImage *image, const GpucolChunkDesc *desc)
{
	uint16_t	version = desc->flags & GPUCOL_CHUNK_DATA_PIECES ? GPUCOL_FORMAT_PIECES :
		desc->coding == GPUCOL_CODING_ARRAY ? GPUCOL_FORMAT_ARRAYS :
		desc->coding == GPUCOL_CODING_NUMERIC ? GPUCOL_FORMAT_NUMERICS : GPUCOL_FORMAT_VERSION;

	if (image_header(image)->version < version)
		image_header(image)->version = version;
}

GpucolStatus
gpucol_encode_column(GpucolImage *image, int slot, const GpucolEncodeColumn *column)
{
	GpucolChunkBuilder b = {
		.column = column,
		.nrows = image->nrows,
		.nvectors = GPUCOL_VECTORS(image->nrows),
		.memory = &image->memory,
	};
	GpucolStatus status = GPUCOL_OK;

	b.desc.kind = (uint8_t) column->kind;
	b.desc.scale = column->scale;
	b.desc.attnum = column->attnum;
	b.desc.type_oid = column->type_oid;
	b.desc.raw_bytes = column->raw_bytes;
	b.desc.null_count = count_nulls(column->nulls, image->nrows);
	if (b.desc.null_count == image->nrows)
	{
		b.desc.flags |= GPUCOL_CHUNK_ALL_NULL;
		b.desc.coding = GPUCOL_CODING_CONSTANT;
	}
	else
	{
		if (b.desc.null_count > 0)
			b.desc.flags |= GPUCOL_CHUNK_HAS_NULLS;
		status = column->kind == GPUCOL_KIND_BYTES ?
			gpucol_chunk_encode_bytes(&b) : gpucol_chunk_encode_values(&b);
		require_version(image, &b.desc);
	}
	image->pieces[slot + 1] = b.piece;	/* also after an error: freed there */
	if (status == GPUCOL_OK)
		*image_desc(image, slot) = b.desc;
	return status;
}

GpucolStatus
gpucol_encode_finish(GpucolImage *image)
{
	GpucolSegmentHeader *header = image_header(image);
	uint64_t	row = image->pieces[0].nrows;

	for (int slot = 0; slot < image->ncolumns; slot++)
	{
		GpucolChunkDesc *desc = image_desc(image, slot);

		if (row + image->pieces[slot + 1].nrows > UINT32_MAX)
			return GPUCOL_UNSUPPORTED;
		for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
			if (desc->streams[i].nrows > 0)
				desc->streams[i].row += (uint32_t) row;
		row += image->pieces[slot + 1].nrows;
		desc->crc = 0;
		desc->crc = gpucol_crc32c(0, desc, sizeof(*desc));
	}
	image->nwords = (uint32_t) row;
	header->nwords = image->nwords;
	header->crc = 0;
	header->crc = gpucol_crc32c(0, header, sizeof(*header));
	return GPUCOL_OK;
}

void
gpucol_image_copy(const GpucolImage *image, uint32_t row, uint32_t n, void *out)
{
	char	   *to = out;

	for (int i = 0; i <= image->ncolumns && n > 0; i++)
	{
		const GpucolImagePiece *piece = &image->pieces[i];
		uint32_t	take;

		if (row >= piece->nrows)
		{
			row -= piece->nrows;
			continue;
		}
		take = piece->nrows - row < n ? piece->nrows - row : n;
		memcpy(to, piece->rows + (size_t) row * GPUCOL_ROW_BYTES,
			   (size_t) take * GPUCOL_ROW_BYTES);
		to += (size_t) take * GPUCOL_ROW_BYTES;
		n -= take;
		row = 0;
	}
}

void
gpucol_image_free(GpucolImage *image)
{
	if (image->pieces == NULL)
		return;
	for (int i = 0; i <= image->ncolumns; i++)
		if (image->pieces[i].rows != NULL)
			image->memory.free(image->memory.context, image->pieces[i].rows);
	image->memory.free(image->memory.context, image->pieces);
	image->pieces = NULL;
}
