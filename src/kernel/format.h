/*-------------------------------------------------------------------------
 *
 * format.h
 *	  The packed column format: what a segment's bytes mean, on disk, in shared
 *	  buffers and in device memory alike.
 *
 * A segment is an immutable run of up to GPUCOL_MAX_SEGMENT_ROWS table rows,
 * stored by column.  Its bytes are one logical array of *word rows* of 128
 * bytes each, numbered from 0.  On disk GPUCOL_PAGE_ROWS (63) word rows follow
 * each 24-byte PostgreSQL page header; what remains of the page (104 bytes) is
 * the page trailer, owned by src/columnar.  A reader therefore finds word row r
 * on page r / 63 of the segment at byte 24 + (r % 63) * 128, and a copy to a
 * device that drops headers and trailers keeps every word-row number valid.
 *
 * Word row 0 is the GpucolSegmentHeader; the GpucolChunkDesc of column slot c
 * occupies word rows 1 + 2c and 2 + 2c; the streams of the chunks follow.
 * A *chunk* is one column of one segment.  A *stream* is a run of word rows
 * that belongs to one chunk, always starting on a word row.
 *
 * A *vector* is 1,024 consecutive rows of the segment; the last one of a
 * segment may be partly filled, its packed tail being zero codes.
 *
 * Packed codes.  A packed vector of width k occupies exactly k word rows.
 * Value i of the vector belongs to lane i mod 32, position i div 32.  For
 * k <= 32 the lane's stream of k 32-bit words holds the value of position p in
 * bits [p*k, p*k + k), least significant first, and word j of lane l is 32-bit
 * word j*32 + l of the vector.  For k > 32 the vector is two planes: 32 word
 * rows with the low 32 bits of each code (width 32), then k - 32 word rows with
 * the high bits (width k - 32).  Width 0 occupies nothing: every code is 0.
 * All integers are little-endian.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_FORMAT_H
#define GPUCOL_KERNEL_FORMAT_H

#include <stdint.h>

#define GPUCOL_VECTOR_VALUES	1024	/* rows in a vector */
#define GPUCOL_LANES			32
#define GPUCOL_ROW_BYTES		128 /* bytes in a word row */
#define GPUCOL_ROW_WORDS		32	/* 32-bit words in a word row */
#define GPUCOL_PAGE_ROWS		63	/* word rows in an 8 kB page */
#define GPUCOL_MAX_SEGMENT_ROWS (1024 * 1024 * 16)
#define GPUCOL_DEFAULT_SEGMENT_ROWS (1024 * 1024)

#define GPUCOL_FORMAT_MAGIC		0x4c4f4347	/* "GCOL" */
#define GPUCOL_FORMAT_VERSION	1
#define GPUCOL_FORMAT_NUMERICS	2	/* the same with NUMERIC, of segments that have a chunk of it */
#define GPUCOL_FORMAT_ARRAYS	3	/* the same with ARRAY */
#define GPUCOL_FORMAT_PIECES	4	/* the same with DATA_PIECES */
#define GPUCOL_FORMAT_NEWEST	GPUCOL_FORMAT_PIECES

/* vectors that n rows make */
#define GPUCOL_VECTORS(n) \
	(((n) + GPUCOL_VECTOR_VALUES - 1) / GPUCOL_VECTOR_VALUES)

/*
 * Value domain of a column.  Every type that PostgreSQL has maps to one; the
 * domain, not the type, decides which codings and kernels apply.
 */
typedef enum GpucolKind
{
	GPUCOL_KIND_NONE = 0,
	GPUCOL_KIND_INT,			/* int64 ordinal: bool, "char", int2/4/8, oid,
								 * date, time, timestamp(tz), money, enum */
	GPUCOL_KIND_DECIMAL,		/* numeric as int64 mantissa at the chunk's scale */
	GPUCOL_KIND_FLOAT4,			/* IEEE bit pattern, zero-extended to 64 bits */
	GPUCOL_KIND_FLOAT8,			/* IEEE bit pattern */
	GPUCOL_KIND_BYTES			/* opaque bytes: the datum's contents without
								 * any varlena header */
} GpucolKind;

/* How a chunk's values are coded.  Each says which streams it uses. */
typedef enum GpucolCoding
{
	GPUCOL_CODING_NONE = 0,
	GPUCOL_CODING_CONSTANT,		/* every non-null value equal: `reference` (for
								 * BYTES the one entry of DICT); no CODES */
	GPUCOL_CODING_FOR,			/* value = reference + code */
	GPUCOL_CODING_DICT,			/* value = dictionary entry number `code`;
								 * entries distinct, ascending in the kind's
								 * order (BYTES: memcmp, shorter first) */
	GPUCOL_CODING_RLE,			/* RUN_ENDS and, per run, FOR codes in CODES */
	GPUCOL_CODING_RAW,			/* floats: CODES hold the bit pattern, width 32
								 * or 64; BYTES: CODES hold the lengths, OFFSETS
								 * the start of each vector's block in DATA */
	GPUCOL_CODING_SCALED,		/* floats: value = (double) (reference + code) /
								 * 10^scale (FLOAT4: rounded to float), bit-exact
								 * for every value; |reference + code| <= 2^53,
								 * 0 <= scale <= 22 */
	GPUCOL_CODING_STEP,			/* INT, DECIMAL: value = reference + code * step,
								 * 2 <= step < 2^63; no code of the width leaves int64,
								 * so values ascend with the code */
	GPUCOL_CODING_NUMERIC,		/* BYTES of type numeric: reference + code is the
								 * mantissa at `scale`, and in its lowest `hidden` bits
								 * how many fewer than `shown` digits are displayed; no
								 * code of the width leaves int64 */
	GPUCOL_CODING_ARRAY			/* BYTES of an array type: CODES hold the numbers of
								 * elements, OFFSETS the number of each vector's first
								 * one in ITEMS, which are reference + code, or
								 * entries of DICT */
} GpucolCoding;

/* The streams of a chunk. */
typedef enum GpucolStreamKind
{
	GPUCOL_STREAM_CODES = 0,	/* packed vectors, `width` word rows each */
	GPUCOL_STREAM_NULLS,		/* one word row a vector: bit i of the 1,024-bit
								 * map set = row i of the vector is NULL */
	GPUCOL_STREAM_ZONES,		/* one GpucolZone a vector */
	GPUCOL_STREAM_DICT,			/* INT, DECIMAL, FLOAT: ndict int64 values;
								 * BYTES: ndict + 1 uint64 offsets into DATA */
	GPUCOL_STREAM_OFFSETS,		/* RAW BYTES: one uint64 a vector and one more,
								 * offsets of the vectors' blocks in DATA; ARRAY:
								 * numbers of their first elements */
	GPUCOL_STREAM_DATA,			/* bytes of BYTES values, no padding between; a
								 * RAW block may be compressed, see DATA_LZ4 */
	GPUCOL_STREAM_RUN_ENDS,		/* RLE: nruns uint32 row numbers, exclusive ends */
	GPUCOL_STREAM_COUNT
} GpucolStreamKind;

/*
 * ARRAY: the elements of all rows, in packed vectors of `item_width` of their own; with
 * flag ITEM_NULLS each is followed by a word row of bits, set = NULL.
 */
#define GPUCOL_STREAM_ITEMS		GPUCOL_STREAM_RUN_ENDS

/* A run of word rows inside the segment; nrows = 0 where absent. */
typedef struct GpucolStream
{
	uint32_t	row;			/* first word row */
	uint32_t	nrows;			/* word rows */
} GpucolStream;

/*
 * Zone map of one vector or chunk, in the domain's int64 order: INT and DECIMAL
 * the value itself, floats gpucol_float_order() of the value as a double (NaN
 * greatest, -0 equal to 0, as PostgreSQL orders them).  min > max when there is no non-null value.
 * BYTES have none.
 */
typedef struct GpucolZone
{
	int64_t		min;
	int64_t		max;
} GpucolZone;

#define GPUCOL_CHUNK_HAS_NULLS	0x0001	/* NULLS stream present */
#define GPUCOL_CHUNK_ALL_NULL	0x0002	/* no non-null value, no streams */
#define GPUCOL_CHUNK_HAS_ZONE	0x0004	/* `zone` is meaningful */
#define GPUCOL_CHUNK_HAS_NAN	0x0008	/* floats: some value is NaN */
#define GPUCOL_CHUNK_DATA_LZ4	0x0010	/* RAW BYTES: a block whose stored size
										 * differs from the sum of its vector's
										 * lengths is one LZ4 block of them */
#define GPUCOL_CHUNK_ITEM_NULLS	0x0020	/* ARRAY: some element is NULL */
#define GPUCOL_CHUNK_DATA_PIECES 0x0040	/* DATA_LZ4: such a block of more than
										 * GPUCOL_PIECE_BYTES is a uint32 for each
										 * so many bytes, where the piece ends, and
										 * the pieces, each an LZ4 block of its own
										 * or, if no smaller, plain */

#define GPUCOL_PIECE_BYTES	8192
#define GPUCOL_PIECES(size)	(((size) + GPUCOL_PIECE_BYTES - 1) / GPUCOL_PIECE_BYTES)

/* Descriptor of one chunk: exactly two word rows. */
typedef struct GpucolChunkDesc
{
	uint8_t		kind;			/* GpucolKind */
	uint8_t		coding;			/* GpucolCoding */
	uint8_t		width;			/* bits per code, 0..64 */
	int8_t		scale;			/* DECIMAL, SCALED, NUMERIC: power of ten */
	uint16_t	flags;			/* GPUCOL_CHUNK_* */
	int16_t		attnum;			/* table column, from 1 */
	uint32_t	type_oid;		/* type of the column when written */
	uint32_t	null_count;
	uint32_t	ndict;			/* entries of DICT */
	uint32_t	nruns;			/* RLE runs */
	int64_t		reference;		/* FOR, RLE, SCALED, CONSTANT, STEP, NUMERIC, ARRAY */
	GpucolZone	zone;
	uint64_t	data_bytes;		/* bytes used in DATA */
	uint64_t	raw_bytes;		/* size of the values as heap would store them */
	GpucolStream streams[GPUCOL_STREAM_COUNT];
	uint32_t	crc;			/* CRC-32C of this descriptor with crc = 0 */
	uint32_t	unused_word;
	uint64_t	step;			/* STEP; 0 with every other coding */
	uint8_t		hidden;			/* NUMERIC: bits, ... */
	uint8_t		shown;			/* ... and digits; 0 with every other coding */
	uint8_t		item_width;		/* ARRAY: bits per code of an element, */
	uint8_t		item_bytes;		/* bytes of one: 1, 2, 4, 8; or 0: a text, */
	uint32_t	item_type;		/* their type, and how many there are; */
	uint64_t	nitems;			/* 0 with every other coding */
	uint8_t		unused[104];
} GpucolChunkDesc;

/* Word row 0 of a segment. */
typedef struct GpucolSegmentHeader
{
	uint32_t	magic;
	uint16_t	version;
	uint16_t	ncolumns;		/* column slots that follow */
	uint32_t	nrows;			/* table rows */
	uint32_t	nwords;			/* word rows of the whole segment, this included */
	uint64_t	first_row;		/* table-wide number of its first row */
	uint32_t	crc;			/* CRC-32C of this header with crc = 0 */
	uint8_t		unused[100];
} GpucolSegmentHeader;

#ifdef __cplusplus
static_assert(sizeof(GpucolChunkDesc) == 2 * GPUCOL_ROW_BYTES, "chunk descriptor is two word rows");
static_assert(sizeof(GpucolSegmentHeader) == GPUCOL_ROW_BYTES, "segment header is one word row");
#else
_Static_assert(sizeof(GpucolChunkDesc) == 2 * GPUCOL_ROW_BYTES, "chunk descriptor is two word rows");
_Static_assert(sizeof(GpucolSegmentHeader) == GPUCOL_ROW_BYTES, "segment header is one word row");
#endif

#endif							/* GPUCOL_KERNEL_FORMAT_H */
