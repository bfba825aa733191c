/*-------------------------------------------------------------------------
 *
 * window.c
 *	  What is mapped of the source at a time: streams of the vectors of a window.
 *
 * The main thread pins pages, which takes it some hundred cycles each.  Looking at a page takes
 * longer, for it is not in the processor's cache, and not in the process's memory the first time:
 * so windows are lent (kernel/batch.h), and the thread that is dealt a vector verifies the pages
 * that it has rows in, just before it reads them.  While they work the main thread has the source make the
 * next window ready.  Where one is corrupt the window is mapped
 * once more, which has the source raise its error in the main thread.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/items.h"
#include "engine/cpu/window.h"

#define DEAD_GAP 8				/* excluded vectors that end a window */
#define AHEAD_FIRST 64			/* where the next window is made ready, vectors of a segment's first one, at most, */
#define AHEAD_WINDOW 256		/* and of others */

/* Which streams of a column do the tests and, with `loads`, the loads of this segment read? */
static void
streams_needed(const GpucolRun *run, const GpucolCpuColumn *column, bool loads,
			   bool *codes, bool *nulls)
{
	bool		packed = column->desc->coding == GPUCOL_CODING_FOR ||
		column->desc->coding == GPUCOL_CODING_STEP ||
		column->desc->coding == GPUCOL_CODING_DICT ||
		column->desc->coding == GPUCOL_CODING_SCALED ||
		(column->desc->coding == GPUCOL_CODING_RAW && !gpucol_cpu_stream_is_raw(column)) ||
		gpucol_cpu_column_has_words(column);

	/* the codes of raw bytes are lengths, which a test may ask for */
	*codes = loads && column->loaded && packed;
	*nulls = loads && column->loaded;
	for (int t = 0; t < run->input.ntests; t++)
	{
		const GpucolCpuTest *test = &run->input.tests[t];

		if (test->column != column)
			continue;
		*nulls |= test->has_nulls;
		*codes |= test->kind == GPUCOL_CPU_TEST_CODES ||
			test->kind == GPUCOL_CPU_TEST_MAP ||
			test->kind == GPUCOL_CPU_TEST_CODE_SET ||
			test->kind == GPUCOL_CPU_TEST_ORDER;
	}
	if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		*codes = *nulls = false;
	*codes &= column->desc->width > 0;
	*nulls &= (column->desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
}

/* Word rows of a vector that source_map maps. */
static uint32_t
vector_rows(const GpucolRun *run)
{
	uint32_t	rows = 1;

	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolCpuColumn *column = &run->input.cols[c];
		bool		codes;
		bool		nulls;

		if (!column->used)
			continue;
		streams_needed(run, column, true, &codes, &nulls);
		rows += (codes ? column->desc->width : 0) + nulls;
	}
	return rows;
}

/* The same of a column's raw bytes, on average. */
static uint32_t
raw_rows(const GpucolRun *run, const GpucolChunkDesc *desc)
{
	uint32_t	blocks = gpucol_decode_has_blocks(desc) ? desc->streams[gpucol_decode_block_stream(desc)].nrows : 0;

	return desc->width + blocks / run->input.nvectors + 3;
}

/* May the next window be made ready?  Not where the host may turn away between two. */
static bool
looks_ahead(const GpucolRun *run)
{
	return run->source->ops->ahead != NULL && run->nworkers > 1 &&
		(run->program->kind != GPUCOL_PROGRAM_SCAN || run->out.take != NULL);
}

uint32_t
gpucol_cpu_window_vectors(GpucolRun *run)
{
	uint32_t	rows = vector_rows(run);
	uint32_t	most = GPUCOL_CPU_WINDOW;
	uint32_t	n;

	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolCpuColumn *column = &run->input.cols[c];

		if (!column->used || !gpucol_cpu_raw_is_read(run, column))
			continue;
		rows += raw_rows(run, column->desc);
		if (gpucol_cpu_raw_is_kept(run, column))
			most = gpucol_cpu_raw_most(run, most);
	}
	n = run->source->max_window_rows / rows;
	if (looks_ahead(run))
	{
		uint32_t	length = run->input.next_vector == run->input.segment.first_vector ? AHEAD_FIRST : AHEAD_WINDOW;

		n /= 2;
		most = most < length ? most : length;
	}
	if (run->program->kind == GPUCOL_PROGRAM_SCAN && run->out.take == NULL &&
		most > run->window.scan)
		most = run->window.scan;
	if (most > run->window.pace)
		most = run->window.pace;
	return n < 1 ? 1 : n > most ? most : n;
}

uint32_t
gpucol_cpu_window_spare(const GpucolRun *run, uint32_t n)
{
	uint64_t	taken = (uint64_t) n * vector_rows(run) + run->window.held_rows;

	return taken < run->source->max_window_rows ? run->source->max_window_rows - (uint32_t) taken : 0;
}

void
gpucol_cpu_source_unmap(GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if (column->codes_mapped)
			run->source->ops->unmap(run->source, &column->codes);
		column->codes_mapped = false;
		if (column->nulls_mapped)
			run->source->ops->unmap(run->source, &column->nulls);
		column->nulls_mapped = false;
	}
}

GpucolStatus
gpucol_cpu_source_map(GpucolRun *run, uint32_t first, uint32_t n, bool loads, bool lend)
{
	GpucolStatus status = GPUCOL_OK;

	run->window.lent = lend && run->source->ops->lend != NULL;
	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];
		uint32_t	width = column->desc->width;
		bool		codes;
		bool		nulls;

		if (!column->used)
			continue;
		streams_needed(run, column, loads, &codes, &nulls);
		if (codes)
		{
			status = gpucol_cpu_stream_map(run, c, GPUCOL_STREAM_CODES, first * width,
										   n * width, run->window.lent, &column->codes);
			column->codes_mapped = status == GPUCOL_OK;
		}
		if (nulls && status == GPUCOL_OK)
		{
			status = gpucol_cpu_stream_map(run, c, GPUCOL_STREAM_NULLS, first, n,
										   run->window.lent, &column->nulls);
			column->nulls_mapped = status == GPUCOL_OK;
		}
	}
	if (status != GPUCOL_OK)
		gpucol_cpu_source_unmap(run);
	return status;
}

void
gpucol_cpu_window_ahead(GpucolRun *run)
{
	uint32_t	end = run->input.segment.end_vector;
	uint32_t	first = run->input.next_vector;
	uint32_t	n;

	run->window.ahead_most = 0;
	while (first < end && run->input.dead[first])
		first++;
	if (first >= end || !looks_ahead(run))
		return;
	run->window.ahead_first = first;
	run->window.ahead_most = gpucol_cpu_window_vectors(run);
	n = gpucol_cpu_window_extent(run, first, run->window.ahead_most);
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolCpuColumn *column = &run->input.cols[c];
		bool		codes;
		bool		nulls;

		if (!column->used)
			continue;
		streams_needed(run, column, true, &codes, &nulls);
		if (codes)
			run->source->ops->ahead(run->source, &run->input.segment, c, GPUCOL_STREAM_CODES,
									first * column->desc->width, n * column->desc->width);
		if (nulls)
			run->source->ops->ahead(run->source, &run->input.segment, c, GPUCOL_STREAM_NULLS, first, n);
	}
}

uint32_t
gpucol_cpu_window_extent(const GpucolRun *run, uint32_t first, uint32_t most)
{
	uint32_t	n = 0;
	uint32_t	gap = 0;

	for (uint32_t v = first; v < run->input.segment.end_vector && v - first < most && gap < DEAD_GAP; v++)
	{
		gap = run->input.dead[v] ? gap + 1 : 0;
		if (gap == 0)
			n = v - first + 1;
	}
	return n;
}

GpucolStatus
gpucol_cpu_rows_verify(GpucolRun *run, const GpucolRows *rows, uint32_t row, uint32_t n)
{
	uint32_t	last = (row + n - 1) / GPUCOL_PAGE_ROWS;

	for (uint32_t page = row / GPUCOL_PAGE_ROWS; page <= last && n > 0; page++)
		if (page < rows->first_page || page - rows->first_page >= rows->npages ||
			!run->source->ops->verify(rows, page - rows->first_page))
		{
			atomic_store(&run->window.unverified, true);
			return GPUCOL_CORRUPT;
		}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_window_verify(GpucolRun *run, uint32_t vector)
{
	GpucolStatus status = GPUCOL_OK;

	if (!run->window.lent)
		return GPUCOL_OK;
	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		const GpucolCpuColumn *column = &run->input.cols[c];
		uint32_t	width = column->used ? column->desc->width : 0;

		if (column->codes_mapped)
			status = gpucol_cpu_rows_verify(run, &column->codes,
											column->desc->streams[GPUCOL_STREAM_CODES].row + vector * width, width);
		if (column->nulls_mapped && status == GPUCOL_OK)
			status = gpucol_cpu_rows_verify(run, &column->nulls,
											column->desc->streams[GPUCOL_STREAM_NULLS].row + vector, 1);
	}
	return status;
}

GpucolStatus
gpucol_cpu_window_failed(GpucolRun *run, GpucolStatus status)
{
	GpucolStatus again;

	if (!atomic_exchange(&run->window.unverified, false))
		return status;
	again = run->window.has_raw ? gpucol_cpu_raw_map(run, false) : GPUCOL_OK;
	if (again == GPUCOL_OK)
		again = gpucol_cpu_source_map(run, run->window.first, run->window.nvectors, true, false);
	gpucol_cpu_raw_release(run);
	gpucol_cpu_source_unmap(run);
	return again == GPUCOL_OK ? status : again;
}
