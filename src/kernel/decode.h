/*-------------------------------------------------------------------------
 *
 * decode.h
 *	  Reading a chunk: checks, vectors and single rows.
 *
 * Trust.  Nothing read from a segment is believed before it is checked, and a
 * check that fails gives GPUCOL_CORRUPT, never a crash:
 *
 *	  once per segment	gpucol_decode_check_header: identity, version, CRC, sizes
 *	  once per chunk	gpucol_decode_check_desc: CRC, every field, every stream
 *						inside the segment and of exactly the size that the other
 *						fields imply.  A decoder takes only a checked descriptor
 *	  once per load		dictionaries: offsets monotone and inside DATA, entries
 *						ascending and distinct; run ends ascending, last = nrows
 *	  once per vector	dictionary codes below ndict; block offsets and lengths of
 *						RAW bytes against each other; what LZ4 yields; numbers of
						elements against each other, and their codes
 *
 * Every access to a window is checked against the window, so a stream that the
 * caller has not mapped is GPUCOL_CORRUPT too.  Codes of FOR need no check: any
 * bits decode to some value.  Bits of page contents that flip unseen by these
 * checks are the page checksum's to find.
 *
 * Memory.  A decoder owns at most: its loaded dictionary or run arrays, and two
 * buffers as large as the largest block of RAW bytes or arrays decoded so far.  All comes
 * from its GpucolMemory, and gpucol_decode_free gives it back.
 *
 * A decoder serves one thread.  Freestanding C: no PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_DECODE_H
#define GPUCOL_KERNEL_DECODE_H

#include "kernel/batch.h"
#include "kernel/format.h"
#include "kernel/memory.h"
#include "kernel/status.h"

/*
 * The word rows of a page of the segment, for a decoder of single rows; NULL: not to be had.  They stay
 * where they are while a value is decoded, unless eight more pages are asked for.
 */
typedef const char *(*GpucolFindPage) (void *pages, uint32_t page);

typedef struct GpucolDecoder
{
	const GpucolChunkDesc *desc;
	uint32_t	nrows;			/* rows of the segment */
	uint32_t	nvectors;
	GpucolRows	rows[GPUCOL_STREAM_COUNT];	/* windows; npages 0 = not mapped */
	GpucolFindPage find_page;	/* instead of windows; or NULL */
	void	   *pages;			/* its argument */
	GpucolMemory memory;

	/* set by gpucol_decode_load; NULL before and where the coding has none */
	const int64_t *values;		/* ndict entries, or one value a run */
	const GpucolBytes *entries; /* ndict entries of BYTES */
	const uint32_t *run_ends;

	/* private */
	void	   *loaded;
	char	   *block;			/* bytes of RAW values */
	size_t		block_size;
	char	   *packed;			/* an LZ4 block cut by a page boundary; elements */
	size_t		packed_size;
	uint32_t	block_vector;	/* vector whose LZ4 block is in `block`: */
	uint64_t	block_from;		/* its bytes from this one on, */
	uint64_t	block_until;	/* as far as this one */
} GpucolDecoder;

/* Check word row 0 of a segment. */
extern GpucolStatus gpucol_decode_check_header(const GpucolSegmentHeader *header);

/* Check a chunk descriptor of a segment whose header was checked. */
extern GpucolStatus gpucol_decode_check_desc(const GpucolSegmentHeader *header,
											 const GpucolChunkDesc *desc);

/*
 * Of that, what a descriptor says of itself: kind, coding, width, counts and flags are
 * such as an encoder writes for a segment of so many rows.  For who gets a descriptor
 * without its segment.
 */
extern GpucolStatus gpucol_decode_check_coding(const GpucolChunkDesc *desc, uint32_t nrows);

/*
 * Word rows of a stream that vectors v .. v + n - 1 need, relative to the
 * stream's start, for the `map` of a source.  Streams that are read as a whole
 * (dictionaries, run ends and codes of RLE) give their whole extent; DATA of
 * RAW bytes and ITEMS are gpucol_decode_block_rows' and give nothing here.
 */
extern void gpucol_decode_extent(const GpucolChunkDesc *desc,
								 GpucolStreamKind stream, uint32_t v, uint32_t n,
								 uint32_t *row, uint32_t *nrows);

/*
 * Start reading a checked chunk.  `desc` and mapped windows stay the caller's
 * and must live as long as they are used.
 */
extern void gpucol_decode_init(GpucolDecoder *dec, const GpucolChunkDesc *desc,
							   uint32_t nrows, const GpucolMemory *memory);

/*
 * A decoder for another thread: of the same chunk, windows and loaded dictionary, which stay
 * the first one's, with scratch memory of its own.  To be freed before the first.
 */
extern void gpucol_decode_fork(const GpucolDecoder *dec, GpucolDecoder *other);

/* Say where word rows of a stream are now; replaces the stream's last window. */
extern void gpucol_decode_map(GpucolDecoder *dec, GpucolStreamKind stream,
							  const GpucolRows *rows);

/*
 * Have a decoder of single rows ask for the pages that it needs, of any stream, instead of having them
 * mapped: of a dictionary or of a long block it looks at few.
 */
extern void gpucol_decode_find(GpucolDecoder *dec, GpucolFindPage find_page, void *pages);

/*
 * Copy and check what belongs to the whole chunk: the dictionary (DICT and DATA
 * mapped whole) or runs (RUN_ENDS and CODES mapped whole).  Needed before
 * vectors of DICT, RLE and CONSTANT bytes are decoded; nothing to do for other
 * codings.  The windows may be unmapped afterwards.
 */
extern GpucolStatus gpucol_decode_load(GpucolDecoder *dec);

/*
 * Null bitmap of vector v, 1,024 bits (set = NULL); bits beyond the last row
 * are clear.
 */
extern GpucolStatus gpucol_decode_nulls(const GpucolDecoder *dec, uint32_t v,
										uint32_t nulls[GPUCOL_VECTOR_VALUES / 32]);

/*
 * Values of vector v of a kind other than BYTES: ordinals, mantissas or bit
 * patterns.  All 1,024 entries are written; those at NULL rows and beyond the
 * last row are unspecified.
 */
extern GpucolStatus gpucol_decode_ints(GpucolDecoder *dec, uint32_t v,
									   int64_t out[GPUCOL_VECTOR_VALUES]);

/* Dictionary codes of vector v (DICT), each below ndict. */
extern GpucolStatus gpucol_decode_codes(const GpucolDecoder *dec, uint32_t v,
										uint32_t out[GPUCOL_VECTOR_VALUES]);

/*
 * Values of vector v of BYTES.  Entries at NULL rows and beyond the last row
 * are empty.  The bytes live in the loaded dictionary, in the window, or in a
 * buffer that the next call on this decoder overwrites.
 */
extern GpucolStatus gpucol_decode_bytes(GpucolDecoder *dec, uint32_t v,
										GpucolBytes out[GPUCOL_VECTOR_VALUES]);

/*
 * Elements of arrays of vector v (ARRAY of a fixed width), none of them formed: row i has lengths[i]
 * of the *values from the place on that the lengths before it add up to.  Lengths of rows that are
 * NULL or do not exist are 0.  *nulls: a byte for each element, set = NULL; or NULL, as none is.
 * They live in a buffer that the next call on this decoder overwrites.
 */
extern GpucolStatus gpucol_decode_items(GpucolDecoder *dec, uint32_t v, uint32_t lengths[GPUCOL_VECTOR_VALUES],
										const int64_t **values, const uint8_t **nulls);

/*
 * The same without unpacking: lengths, and numbers start .. end - 1 of the elements in the chunk; and the packed
 * codes of elements 1,024 group .. of an ARRAY chunk (ITEMS mapped), where they are mapped or in *out.
 */
typedef struct GpucolItemWords
{
	const char *codes;			/* of desc->item_width bits */
	const char *nulls;			/* a bit for each, set = NULL; or NULL, as none is */
	char		space[64 * GPUCOL_ROW_BYTES] __attribute__((aligned(64)));
	char		null_space[GPUCOL_ROW_BYTES];
} GpucolItemWords;

extern GpucolStatus gpucol_decode_lengths(const GpucolDecoder *dec, uint32_t v,
										  uint32_t lengths[GPUCOL_VECTOR_VALUES], uint64_t *start, uint64_t *end);
extern GpucolStatus gpucol_decode_item_words(const GpucolDecoder *dec, uint32_t group, GpucolItemWords *out);

/* Take the block that the values of the last vector lie in; the next one gets another. */
extern char *gpucol_decode_take_block(GpucolDecoder *dec);

/* Does each vector have a block of its own length in some stream, which OFFSETS tell? */
static inline bool
gpucol_decode_has_blocks(const GpucolChunkDesc *desc)
{
	return (desc->kind == GPUCOL_KIND_BYTES && desc->coding == GPUCOL_CODING_RAW) ||
		desc->coding == GPUCOL_CODING_ARRAY;
}

/* The stream that has: DATA of RAW bytes, ITEMS of arrays. */
static inline GpucolStreamKind
gpucol_decode_block_stream(const GpucolChunkDesc *desc)
{
	return desc->coding == GPUCOL_CODING_ARRAY ? GPUCOL_STREAM_ITEMS : GPUCOL_STREAM_DATA;
}

/* The word rows of that stream which vector v's block touches (OFFSETS mapped); *nrows 0: none. */
extern GpucolStatus gpucol_decode_block_rows(const GpucolDecoder *dec, uint32_t v, uint32_t *row, uint32_t *nrows);

/*
 * One row, without a load (which helps if it was done).  Only the word rows
 * that hold it need be mapped, or none if there is who finds pages.  *isnull set leaves *out alone.
 */
extern GpucolStatus gpucol_decode_get_int(GpucolDecoder *dec, uint32_t row,
										  int64_t *out, bool *isnull);
extern GpucolStatus gpucol_decode_get_bytes(GpucolDecoder *dec, uint32_t row,
											GpucolBytes *out, bool *isnull);

/* Zone of vector v; GPUCOL_END if the chunk has no ZONES. */
extern GpucolStatus gpucol_decode_zone(const GpucolDecoder *dec, uint32_t v,
									   GpucolZone *zone);

/* Give back the decoder's memory; windows are not touched. */
extern void gpucol_decode_free(GpucolDecoder *dec);

#endif							/* GPUCOL_KERNEL_DECODE_H */
