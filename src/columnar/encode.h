/*-------------------------------------------------------------------------
 *
 * encode.h
 *	  Making a segment's image, the word rows of format.h, from column arrays.
 *
 * Order of calls: gpucol_encode_begin, gpucol_encode_column for each slot (in
 * any order; the caller may free a column's arrays right after), then
 * gpucol_encode_finish.  After that the image is read with gpucol_image_copy and
 * given back with gpucol_image_free, which is also right after an error.
 *
 * Memory.  The image holds each finished chunk at its packed size.  While a
 * column is encoded there are besides: 16 bytes a vector for zones; for a
 * dictionary, 4 bytes a row and up to some 160 a distinct value and its bytes
 * (entry, hash table of four times as many slots, both rounded up to a power of
 * two); for LZ4, one buffer as large as the column's bytes and one as its largest
 * vector.  A dictionary that cannot pay is given up early, before those are large.
 *
 * Freestanding C: no PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ENCODE_H
#define GPUCOL_COLUMNAR_ENCODE_H

#include "columnar/encode_dict.h"
#include "kernel/batch.h"
#include "kernel/format.h"
#include "kernel/memory.h"
#include "kernel/status.h"

/* One column of a segment to be. */
typedef struct GpucolEncodeColumn
{
	GpucolKind	kind;
	int8_t		scale;			/* DECIMAL */
	int16_t		attnum;
	uint32_t	type_oid;
	const int64_t *values;		/* nrows ordinals, mantissas or bit patterns
								 * (FLOAT4 zero-extended); any value at NULLs */
	const uint32_t *narrow;		/* or, if not NULL, their lower 32 bits, ... */
	bool		narrow_signed;	/* ... the upper ones being copies of the sign
								 * rather than zeros */

	/* BYTES instead: the values, ... */
	const GpucolBytes *bytes;
	const GpucolDict *dict;		/* ... or, if not NULL, a dictionary of them and */
	const uint32_t *codes;		/* provisional codes by row (below n at NULLs) */
	const char *data;			/* ... or values one after another, not fit for */
	const uint64_t *ends;		/* a dictionary, and where each row's ends */
	bool		numerics;		/* in numeric's format */
	uint32_t	item_type;		/* arrays of this type, or 0: they are none; */
	uint8_t		item_bytes;		/* of an element: 1, 2, 4, 8; or 0: a text */
	const uint32_t *nulls;		/* bit set = NULL, whole words; NULL = none */
	uint64_t	raw_bytes;		/* what heap would store, for reports */
} GpucolEncodeColumn;

/* Word rows that follow each other. */
typedef struct GpucolImagePiece
{
	char	   *rows;
	uint32_t	nrows;
} GpucolImagePiece;

/* A segment's word rows: piece 0 the header and descriptors, then a chunk each. */
typedef struct GpucolImage
{
	uint32_t	nwords;			/* word rows in all; set by finish */
	int			ncolumns;
	uint32_t	nrows;			/* table rows */
	GpucolImagePiece *pieces;	/* ncolumns + 1 */
	GpucolMemory memory;
} GpucolImage;

/*
 * Start an image of `nrows` rows (1 .. GPUCOL_MAX_SEGMENT_ROWS) and `ncolumns`
 * column slots; first_row is the table-wide number of its first row.
 */
extern GpucolStatus gpucol_encode_begin(GpucolImage *image, int ncolumns,
										uint32_t nrows, uint64_t first_row,
										const GpucolMemory *memory);

/*
 * Choose a coding for a column and pack it.  GPUCOL_UNSUPPORTED if the segment
 * would exceed 2^32 word rows.
 */
extern GpucolStatus gpucol_encode_column(GpucolImage *image, int slot,
										 const GpucolEncodeColumn *column);

/* Number the streams and seal header and descriptors with their CRCs. */
extern GpucolStatus gpucol_encode_finish(GpucolImage *image);

/* The finished descriptor of a slot. */
extern const GpucolChunkDesc *gpucol_image_desc(const GpucolImage *image, int slot);

/* Copy word rows row .. row + n - 1 of a finished image to `out`. */
extern void gpucol_image_copy(const GpucolImage *image, uint32_t row, uint32_t n,
							  void *out);

extern void gpucol_image_free(GpucolImage *image);

#endif							/* GPUCOL_COLUMNAR_ENCODE_H */
