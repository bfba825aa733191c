/*-------------------------------------------------------------------------
 *
 * walk.h
 *	  Reading a segment that may be damaged, by every function that reads: what
 *	  the corruption test and the fuzzer do with their bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_WALK_H
#define GPUCOL_TEST_WALK_H

#include "segment.h"

/* Read every byte that a value claims, so that a sanitizer sees it. */
static inline uint32_t
walk_bytes(const GpucolBytes *values, uint32_t n)
{
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < values[i].len; j++)
			sum += (unsigned char) values[i].data[j];
	return sum;
}

/* Read the elements of arrays. */
static inline uint32_t
walk_items(GpucolDecoder *dec, uint32_t v)
{
	const int64_t *values;
	const uint8_t *nulls;
	uint32_t	lengths[GPUCOL_VECTOR_VALUES];
	uint32_t	sum = 0;

	if (gpucol_decode_items(dec, v, lengths, &values, &nulls) != GPUCOL_OK)
		return 0;
	for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		for (uint32_t j = 0; j < lengths[i]; j++)
		{
			sum += (uint32_t) *values++;
			if (nulls != NULL)
				sum += *nulls++;
		}
	return sum;
}

/* Vector v by all means; the first status that is not OK. */
static inline GpucolStatus
walk_vector(GpucolDecoder *dec, uint32_t v, uint32_t *sum)
{
	uint32_t	nulls[GPUCOL_VECTOR_VALUES / 32];
	static uint32_t codes[GPUCOL_VECTOR_VALUES];
	static int64_t ints[GPUCOL_VECTOR_VALUES];
	static GpucolBytes bytes[GPUCOL_VECTOR_VALUES];
	GpucolZone	zone;
	GpucolStatus status = gpucol_decode_nulls(dec, v, nulls);

	if (status != GPUCOL_OK)
		return status;
	if (dec->desc->coding == GPUCOL_CODING_DICT &&
		gpucol_decode_codes(dec, v, codes) == GPUCOL_OK)
		for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			*sum += codes[i] >= dec->desc->ndict;
	status = gpucol_decode_zone(dec, v, &zone);
	if (status != GPUCOL_OK && status != GPUCOL_END)
		return status;
	if (dec->desc->kind == GPUCOL_KIND_BYTES)
	{
		status = gpucol_decode_bytes(dec, v, bytes);
		if (status == GPUCOL_OK)
			*sum += walk_bytes(bytes, GPUCOL_VECTOR_VALUES) + walk_items(dec, v);
		return status;
	}
	status = gpucol_decode_ints(dec, v, ints);
	if (status == GPUCOL_OK)
		for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			*sum += (uint32_t) ints[i];
	return status;
}

/* A few single rows. */
static inline void
walk_points(GpucolDecoder *dec, uint32_t *sum)
{
	for (uint32_t i = 0; i < 9; i++)
	{
		uint32_t	row = (uint32_t) ((uint64_t) dec->nrows * i / 8);
		bool		isnull;
		int64_t		value = 0;
		GpucolBytes bytes = {"", 0};

		if (dec->desc->kind == GPUCOL_KIND_BYTES)
		{
			if (gpucol_decode_get_bytes(dec, row, &bytes, &isnull) == GPUCOL_OK &&
				!isnull)
				*sum += walk_bytes(&bytes, 1);
		}
		else if (gpucol_decode_get_int(dec, row, &value, &isnull) == GPUCOL_OK)
			*sum += (uint32_t) value;
	}
}

/* One column; vectors at both ends and some between. */
static inline GpucolStatus
walk_column(const Pages *pages, uint32_t nrows, const GpucolChunkDesc *desc,
			uint32_t *sum)
{
	GpucolDecoder dec;
	GpucolStatus status;

	gpucol_decode_init(&dec, desc, nrows, &gpucol_memory_malloc);
	decoder_map_all(&dec, pages);
	walk_points(&dec, sum);
	status = gpucol_decode_load(&dec);
	walk_points(&dec, sum);
	for (uint32_t i = 0; i < 4; i++)
	{
		uint32_t	v = (uint32_t) ((uint64_t) (dec.nvectors - 1) * i / 3);
		GpucolStatus one = walk_vector(&dec, v, sum);

		status = status == GPUCOL_OK ? one : status;
	}
	gpucol_decode_free(&dec);
	return status;
}

/*
 * A whole segment: the first status that is not OK.  As every reader must,
 * refuse a header that claims more word rows than there are.
 */
static inline GpucolStatus
walk_segment(const Pages *pages)
{
	GpucolSegmentHeader header;
	GpucolStatus status;
	uint32_t	sum = 0;

	pages_read(pages, 0, sizeof(header), &header);
	status = gpucol_decode_check_header(&header);
	if (status != GPUCOL_OK)
		return status;
	if (header.nwords > pages->nwords)
		return GPUCOL_CORRUPT;
	for (int i = 0; i < header.ncolumns; i++)
	{
		GpucolChunkDesc desc;
		GpucolStatus one;

		pages_read(pages, sizeof(header) + (size_t) i * sizeof(desc), sizeof(desc),
				   &desc);
		one = gpucol_decode_check_desc(&header, &desc);
		if (one == GPUCOL_OK)
			one = walk_column(pages, header.nrows, &desc, &sum);
		status = status == GPUCOL_OK ? one : status;
	}
	__asm__ volatile("" : : "r" (sum));
	return status;
}

#endif							/* GPUCOL_TEST_WALK_H */
