/*-------------------------------------------------------------------------
 *
 * array_source.h
 *	  A GpucolSource over arrays: what engines see of a table, without a server.
 *
 * An ArrayTable is segments encoded from columns, rows deleted in them, and
 * delta rows.  Windows are strict: with `strict` each mapped word row lies in a
 * page image of its own allocation, in which every row that was not asked for
 * is poisoned, so that reading beyond a window shows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_ARRAY_SOURCE_H
#define GPUCOL_TEST_ARRAY_SOURCE_H

#include <setjmp.h>
#include <stdlib.h>

#include "columnar/encode.h"
#include "kernel/batch.h"

#define ARRAY_MAX_SEGMENTS 64
#define ARRAY_MAX_COLUMNS 24
#define PAGE_BYTES 8192
#define PAGE_HEADER 24

/* One column's rows, of a segment or of delta. */
typedef struct ArrayColumn
{
	GpucolKind	kind;
	int8_t		scale;
	int64_t    *values;
	GpucolBytes *bytes;
	uint32_t   *nulls;			/* whole vectors; NULL = none */
} ArrayColumn;

typedef struct ArraySegment
{
	uint32_t	nrows;
	uint64_t	first_row;
	ArrayColumn columns[ARRAY_MAX_COLUMNS];
	uint32_t   *deleted;		/* whole vectors; NULL = none */
	uint32_t	ndeleted;
	GpucolImage image;
	const GpucolChunkDesc *chunks[ARRAY_MAX_COLUMNS];
	char	   *pages;
} ArraySegment;

typedef struct ArrayTable
{
	int			ncolumns;
	int			nsegments;
	ArraySegment segments[ARRAY_MAX_SEGMENTS];
	uint32_t	ndelta;
	uint64_t   *tids;
	ArrayColumn delta[ARRAY_MAX_COLUMNS];
} ArrayTable;

typedef struct ArraySource
{
	GpucolSource base;
	const ArrayTable *table;
	bool		strict;
	uint32_t	part;			/* vectors handed out at a time; 0 = whole segments */
	uint32_t	vector;			/* next of the current segment, in parts */
	int			segment;		/* next */
	uint32_t	delta;			/* next row */
	GpucolDeltaColumn columns[ARRAY_MAX_COLUMNS];
	uint32_t	mapped_rows;
	char	  **windows[4096];	/* mapped now */
	long		calls;
	long		fail_at;		/* longjmp in this call; 0 = never */
	long		corrupt_at;		/* the page of this number, among those that verify()
								 * sees, is corrupt; 0 = none */
	_Atomic long verified;
	long		lent;			/* windows */
	long		ahead;			/* windows that were asked for ahead, */
	uint32_t	ahead_row[ARRAY_MAX_COLUMNS][2];	/* the last of codes and of NULLs */
	uint32_t	ahead_rows[ARRAY_MAX_COLUMNS][2];
	long		foreseen;		/* lent as they had been asked for */
	_Atomic long forgotten;		/* of those */
	jmp_buf		jump;
} ArraySource;

/* Encode a segment and lay its word rows out in pages. */
static inline GpucolStatus
array_segment_encode(ArraySegment *segment, int ncolumns)
{
	GpucolStatus status;
	uint32_t	npages;

	status = gpucol_encode_begin(&segment->image, ncolumns, segment->nrows,
								 segment->first_row, &gpucol_memory_malloc);
	for (int c = 0; c < ncolumns && status == GPUCOL_OK; c++)
	{
		const ArrayColumn *column = &segment->columns[c];
		GpucolEncodeColumn encode = {
			.kind = column->kind,
			.scale = column->scale,
			.attnum = (int16_t) (c + 1),
			.values = column->values,
			.bytes = column->bytes,
			.nulls = column->nulls,
		};

		status = gpucol_encode_column(&segment->image, c, &encode);
	}
	if (status == GPUCOL_OK)
		status = gpucol_encode_finish(&segment->image);
	if (status != GPUCOL_OK)
		return status;
	for (int c = 0; c < ncolumns; c++)
		segment->chunks[c] = gpucol_image_desc(&segment->image, c);
	npages = (segment->image.nwords + GPUCOL_PAGE_ROWS - 1) / GPUCOL_PAGE_ROWS;
	segment->pages = calloc(npages, PAGE_BYTES);
	for (uint32_t row = 0; row < segment->image.nwords; row += GPUCOL_PAGE_ROWS)
	{
		uint32_t	n = segment->image.nwords - row;

		gpucol_image_copy(&segment->image, row, n < GPUCOL_PAGE_ROWS ? n : GPUCOL_PAGE_ROWS,
						  segment->pages + (size_t) (row / GPUCOL_PAGE_ROWS) * PAGE_BYTES +
						  PAGE_HEADER);
	}
	return GPUCOL_OK;
}

/* Count a call; leave by longjmp when it is the one to fail. */
static inline void
array_source_enter(ArraySource *source)
{
	if (++source->calls == source->fail_at)
		longjmp(source->jump, 1);
}

static inline GpucolStatus
array_source_next_segment(GpucolSource *base, GpucolSegment *out)
{
	ArraySource *source = (ArraySource *) base;
	const ArraySegment *segment;

	array_source_enter(source);
	if (source->segment == source->table->nsegments)
		return GPUCOL_END;
	segment = &source->table->segments[source->segment];
	memset(out, 0, sizeof(*out));
	out->id = (uint64_t) source->segment;
	out->first_row = segment->first_row;
	out->nrows = segment->nrows;
	out->end_vector = GPUCOL_VECTORS(segment->nrows);
	if (source->part > 0)
	{
		out->first_vector = source->vector;
		source->vector += source->part;
	}
	if (source->part == 0 || source->vector >= out->end_vector)
	{
		source->vector = 0;
		source->segment++;
	}
	else
		out->end_vector = source->vector;
	out->ndeleted = segment->ndeleted;
	out->deleted = segment->deleted;
	out->chunks = segment->chunks;
	out->owner = (void *) segment;
	return GPUCOL_OK;
}

/* A window's private memory: page pointers, and page images if strict. */
static inline GpucolStatus
array_source_map(GpucolSource *base, const GpucolSegment *segment, int slot,
				 GpucolStreamKind stream, uint32_t row, uint32_t nrows,
				 GpucolRows *out)
{
	ArraySource *source = (ArraySource *) base;
	const ArraySegment *array = segment->owner;
	const GpucolStream *where = &segment->chunks[slot]->streams[stream];
	uint32_t	first = where->row + row;
	char	  **pages;

	array_source_enter(source);
	source->mapped_rows += nrows;
	if (nrows == 0 || row + nrows > where->nrows ||
		source->mapped_rows > base->max_window_rows)
		abort();
	out->first_page = first / GPUCOL_PAGE_ROWS;
	out->npages = (first + nrows - 1) / GPUCOL_PAGE_ROWS - out->first_page + 1;
	pages = malloc(sizeof(char *) * (out->npages + 1));
	for (uint32_t p = 0; p < out->npages; p++)
	{
		char	   *page = array->pages + (size_t) (out->first_page + p) * PAGE_BYTES + PAGE_HEADER;

		if (source->strict)
		{
			char	   *image = malloc(PAGE_BYTES);

			memset(image, 0xA5, PAGE_BYTES);
			for (uint32_t r = 0; r < GPUCOL_PAGE_ROWS; r++)
			{
				uint32_t	at = (out->first_page + p) * GPUCOL_PAGE_ROWS + r;

				if (at >= first && at < first + nrows)
					memcpy(image + PAGE_HEADER + r * GPUCOL_ROW_BYTES,
						   page + r * GPUCOL_ROW_BYTES, GPUCOL_ROW_BYTES);
			}
			page = image + PAGE_HEADER;
		}
		pages[p] = page;
	}
	pages[out->npages] = (char *) (uintptr_t) nrows;
	for (int w = 0;; w++)
		if (source->windows[w] == NULL)
		{
			source->windows[w] = pages;
			break;
		}
	out->pages = (const char *const *) pages;
	out->owner = pages;
	return GPUCOL_OK;
}

/* A lent window is a mapped one. */
static inline GpucolStatus
array_source_lend(GpucolSource *base, const GpucolSegment *segment, int slot,
				  GpucolStreamKind stream, uint32_t row, uint32_t nrows,
				  GpucolRows *out)
{
	ArraySource *source = (ArraySource *) base;
	bool		nulls = stream == GPUCOL_STREAM_NULLS;

	source->lent++;
	if ((nulls || stream == GPUCOL_STREAM_CODES) && source->ahead_rows[slot][nulls] == nrows &&
		source->ahead_row[slot][nulls] == row)
		source->foreseen++;
	return array_source_map(base, segment, slot, stream, row, nrows, out);
}

/* What is asked for ahead is what is lent next of the stream. */
static inline void
array_source_ahead(GpucolSource *base, const GpucolSegment *segment, int slot,
				   GpucolStreamKind stream, uint32_t row, uint32_t nrows)
{
	ArraySource *source = (ArraySource *) base;
	const GpucolStream *where = &segment->chunks[slot]->streams[stream];

	if (nrows == 0 || row + nrows > where->nrows || source->mapped_rows + nrows > base->max_window_rows)
		abort();
	source->ahead++;
	source->ahead_rows[slot][stream == GPUCOL_STREAM_NULLS] = nrows;
	source->ahead_row[slot][stream == GPUCOL_STREAM_NULLS] = row;
}

/* Of the source that was made last: a window does not know its own. */
static ArraySource *array_verifier;

static inline bool
array_source_verify(const GpucolRows *window, uint32_t page)
{
	if (page >= window->npages)
		abort();
	return ++array_verifier->verified != array_verifier->corrupt_at;
}

static inline void
array_source_forget(const GpucolRows *window)
{
	if (window->npages == 0)
		abort();
	array_verifier->forgotten++;
}

static inline void
array_source_unmap(GpucolSource *base, GpucolRows *window)
{
	ArraySource *source = (ArraySource *) base;
	char	  **pages = window->owner;

	source->mapped_rows -= (uint32_t) (uintptr_t) pages[window->npages];
	for (int w = 0;; w++)
		if (source->windows[w] == pages)
		{
			source->windows[w] = NULL;
			break;
		}
	if (source->strict)
		for (uint32_t p = 0; p < window->npages; p++)
			free(pages[p] - PAGE_HEADER);
	free(pages);
	window->pages = NULL;
}

static inline GpucolStatus
array_source_next_delta(GpucolSource *base, GpucolDelta *out)
{
	ArraySource *source = (ArraySource *) base;
	const ArrayTable *table = source->table;
	uint32_t	at = source->delta;

	array_source_enter(source);
	if (at >= table->ndelta)
		return GPUCOL_END;
	out->nrows = table->ndelta - at < GPUCOL_VECTOR_VALUES ?
		table->ndelta - at : GPUCOL_VECTOR_VALUES;
	out->tids = table->tids + at;
	for (int c = 0; c < table->ncolumns; c++)
	{
		const ArrayColumn *column = &table->delta[c];

		source->columns[c].kind = column->kind;
		source->columns[c].values = column->values != NULL ? column->values + at : NULL;
		source->columns[c].bytes = column->bytes != NULL ? column->bytes + at : NULL;
		source->columns[c].nulls = column->nulls != NULL ? column->nulls + at / 32 : NULL;
	}
	out->columns = source->columns;
	source->delta += out->nrows;
	return GPUCOL_OK;
}

static inline void
array_source_rescan(GpucolSource *base)
{
	ArraySource *source = (ArraySource *) base;

	array_source_enter(source);
	source->segment = 0;
	source->vector = 0;
	source->delta = 0;
}

static inline void
array_source_interrupts(GpucolSource *base)
{
	array_source_enter((ArraySource *) base);
}

static inline void
array_source_count_rows(GpucolSource *base, const uint64_t storage[2], uint64_t nrows)
{
	(void) base;
	(void) storage;
	(void) nrows;
}

static const GpucolSourceOps array_source_ops = {
	.next_segment = array_source_next_segment,
	.map = array_source_map,
	.unmap = array_source_unmap,
	.lend = array_source_lend,
	.ahead = array_source_ahead,
	.verify = array_source_verify,
	.forget = array_source_forget,
	.next_delta = array_source_next_delta,
	.rescan = array_source_rescan,
	.check_interrupts = array_source_interrupts,
	.count_rows = array_source_count_rows,
};

static inline void
array_source_init(ArraySource *source, const ArrayTable *table,
				  uint32_t max_window_rows, bool strict)
{
	memset(source, 0, sizeof(*source));
	source->base.ops = &array_source_ops;
	source->base.ncolumns = table->ncolumns;
	source->base.max_window_rows = max_window_rows;
	source->table = table;
	source->strict = strict;
	array_verifier = source;
}

/* What a host does with windows left by a longjmp; not for strict sources. */
static inline void
array_source_abort(ArraySource *source)
{
	for (int w = 0; w < ARRAY_MAX_COLUMNS * 4; w++)
		free(source->windows[w]);
}

static inline void
array_column_free(ArrayColumn *column)
{
	free(column->values);
	free(column->bytes);
	free(column->nulls);
}

static inline void
array_table_free(ArrayTable *table)
{
	for (int s = 0; s < table->nsegments; s++)
	{
		for (int c = 0; c < table->ncolumns; c++)
			array_column_free(&table->segments[s].columns[c]);
		free(table->segments[s].deleted);
		free(table->segments[s].pages);
		gpucol_image_free(&table->segments[s].image);
	}
	for (int c = 0; c < table->ncolumns; c++)
		array_column_free(&table->delta[c]);
	free(table->tids);
	memset(table, 0, sizeof(*table));
}

#endif							/* GPUCOL_TEST_ARRAY_SOURCE_H */
