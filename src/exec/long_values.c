/*-------------------------------------------------------------------------
 *
 * long_values.c
 *	  Values that are too long to be harmless to a condition in which something grows.
 *
 * Such a condition is not evaluated for them (gpucol_host_refused()), and the node falls
 * back.  A node that delivers rows cannot once the first has left it: it looks for such
 * values before.  Descriptors of chunks tell of segments; the delta is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/long_values.h"
#include "kernel/array_code.h"
#include "lower/harmless.h"

/* Lengths of so many bits are below GPUCOL_HARMLESS_BYTES. */
#define SHORT_BITS		26

StaticAssertDecl((Size) 1 << SHORT_BITS <= GPUCOL_HARMLESS_BYTES, "these lengths are short");

StaticAssertDecl(GPUCOL_ARRAY_VECTOR_BYTES <= GPUCOL_HARMLESS_BYTES, "arrays that are kept as elements are short");

/* Codes of raw bytes are lengths; mantissas have no bytes, and arrays of elements no more than a vector may have. */
static bool
chunk_has_none(const GpucolChunkDesc *chunk)
{
	if (chunk->kind != GPUCOL_KIND_BYTES || (chunk->flags & GPUCOL_CHUNK_ALL_NULL))
		return true;
	if (chunk->coding == GPUCOL_CODING_ARRAY)
		return true;
	return chunk->coding == GPUCOL_CODING_RAW ? chunk->width <= SHORT_BITS :
		chunk->data_bytes <= GPUCOL_HARMLESS_BYTES;
}

static bool
delta_has_none(const GpucolDelta *delta, int column)
{
	const GpucolBytes *values = delta->columns[column].bytes;

	for (uint32 i = 0; i < delta->nrows; i++)
	{
		if (values[i].len > GPUCOL_HARMLESS_BYTES)
			return false;
	}
	return true;
}

bool
gpucol_long_values_none(GpucolSource *source, const GpucolProgramColumn *columns, int n)
{
	GpucolSegment segment;
	GpucolDelta delta;
	GpucolStatus status;
	bool		none = true;

	while (none && (status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
	{
		for (int c = 0; c < n; c++)
			none &= chunk_has_none(segment.chunks[c]);
		source->ops->check_interrupts(source);
	}
	while (none && status == GPUCOL_END &&
		   (status = source->ops->next_delta(source, &delta)) == GPUCOL_OK)
	{
		for (int c = 0; c < n; c++)
			none &= columns[c].kind != GPUCOL_KIND_BYTES || delta_has_none(&delta, c);
		source->ops->check_interrupts(source);
		status = GPUCOL_END;
	}
	return none && status == GPUCOL_END;
}
