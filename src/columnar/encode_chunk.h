/*-------------------------------------------------------------------------
 *
 * encode_chunk.h
 *	  One chunk in the making; private to src/columnar/encode*.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ENCODE_CHUNK_H
#define GPUCOL_COLUMNAR_ENCODE_CHUNK_H

#include "columnar/encode.h"
#include "kernel/bitpack.h"

/* word rows that hold so many bytes */
#define GPUCOL_ROWS_FOR(bytes) \
	(((uint64_t) (bytes) + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES)

typedef struct GpucolChunkBuilder
{
	const GpucolEncodeColumn *column;
	uint32_t	nrows;
	uint32_t	nvectors;
	const GpucolMemory *memory;
	GpucolChunkDesc desc;		/* stream rows relative to the piece */
	GpucolImagePiece piece;		/* set by gpucol_chunk_layout */
} GpucolChunkBuilder;

/* A distinct value of a dictionary. */
typedef struct GpucolDictEntry
{
	uint64_t	prefix;			/* first eight bytes, big-endian, zero-padded */
	GpucolBytes value;
	uint32_t	code;			/* provisional */
} GpucolDictEntry;

/* Allocate working memory; NULL if there is none. */
static inline void *
gpucol_chunk_alloc(const GpucolChunkBuilder *b, size_t size)
{
	return b->memory->alloc(b->memory->context, size > 0 ? size : 1);
}

static inline void
gpucol_chunk_free(const GpucolChunkBuilder *b, void *ptr)
{
	if (ptr != NULL)
		b->memory->free(b->memory->context, ptr);
}

/* Rows in vector v. */
static inline uint32_t
gpucol_chunk_vector_rows(const GpucolChunkBuilder *b, uint32_t v)
{
	uint32_t	left = b->nrows - v * GPUCOL_VECTOR_VALUES;

	return left < GPUCOL_VECTOR_VALUES ? left : GPUCOL_VECTOR_VALUES;
}

/* Is the row NULL? */
static inline int
gpucol_chunk_is_null(const GpucolChunkBuilder *b, uint32_t row)
{
	return b->column->nulls != NULL &&
		(b->column->nulls[row / 32] >> (row % 32) & 1);
}

/* The value of a row that is not NULL; INT, DECIMAL, floats. */
static inline int64_t
gpucol_chunk_int(const GpucolChunkBuilder *b, uint32_t row)
{
	const GpucolEncodeColumn *column = b->column;

	if (column->narrow == NULL)
		return column->values[row];
	return column->narrow_signed ? (int64_t) (int32_t) column->narrow[row] :
		(int64_t) column->narrow[row];
}

/* The value of a row that is not NULL; BYTES. */
static inline GpucolBytes
gpucol_chunk_bytes(const GpucolChunkBuilder *b, uint32_t row)
{
	const GpucolEncodeColumn *column = b->column;
	uint64_t	start;

	if (column->dict != NULL)
		return column->dict->values[column->codes[row]];
	if (column->ends == NULL)
		return column->bytes[row];
	start = row > 0 ? column->ends[row - 1] : 0;
	return (GpucolBytes) {column->data + start, column->ends[row] - start};
}

/*
 * Give each stream its place: sizes[] in bytes by GpucolStreamKind, to which
 * the null bitmap is added, and allocate the piece with its padding zeroed and
 * the null bitmap filled.
 */
extern GpucolStatus gpucol_chunk_layout(GpucolChunkBuilder *b,
										const uint64_t *sizes);

/* Address of a stream after layout. */
extern void *gpucol_chunk_stream(const GpucolChunkBuilder *b,
								 GpucolStreamKind kind);

/* Encode a column with at least one non-null value. */
extern GpucolStatus gpucol_chunk_encode_values(GpucolChunkBuilder *b);
extern GpucolStatus gpucol_chunk_encode_bytes(GpucolChunkBuilder *b);

/* The same of numerics as packed mantissas; GPUCOL_END if some value has none. */
extern GpucolStatus gpucol_chunk_encode_numerics(GpucolChunkBuilder *b);

/* The same of arrays as lengths and elements; GPUCOL_END if one is not of that form, or they are no smaller. */
extern GpucolStatus gpucol_chunk_encode_arrays(GpucolChunkBuilder *b);

/* encode_bytes.c: a dictionary's entries in their order, final codes by provisional ones; entries into DICT and DATA */
extern GpucolStatus gpucol_chunk_sort_entries(const GpucolChunkBuilder *b, const GpucolDict *dict,
											  GpucolDictEntry **entries, uint32_t **rank);
extern void gpucol_chunk_write_entries(const GpucolChunkBuilder *b, const GpucolDictEntry *entries, uint32_t n);

/* encode_bytes.c: bytes that the values take as RAW ones, by a sample. */
extern GpucolStatus gpucol_chunk_estimate_raw(const GpucolChunkBuilder *b, uint64_t *bytes);

#endif							/* GPUCOL_COLUMNAR_ENCODE_CHUNK_H */
