/*-------------------------------------------------------------------------
 *
 * raw.c
 *	  Raw bytes of a window, of those vectors alone that have a row for which they
 *	  matter.
 *
 * Raw bytes are dear: they are copied in the main thread, unpacked in all, and the host
 * looks at each row.  So the conjuncts that need none of them are tested first; then
 * columns are read that the host has a say on, which it has about the rows that are
 * left; then the others.  A vector without rows that are left counts as excluded.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/host.h"
#include "engine/cpu/items.h"
#include "kernel/bitpack.h"

/* The rows of a window that have passed so far, by vector. */
typedef uint32_t Passed[GPUCOL_CPU_RAW_WINDOW][GPUCOL_LANES];

/* Has the host a say on rows of the column? */
static bool
is_asked(const GpucolRun *run, const GpucolCpuColumn *column)
{
	for (int h = 0; h < run->digest.nhosts; h++)
		if (run->digest.hosts[h].by_row && &run->input.cols[run->digest.hosts[h].column] == column)
			return true;
	return false;
}

bool
gpucol_cpu_raw_is_read(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return gpucol_cpu_stream_is_raw(column) &&
		((column->loaded && !gpucol_cpu_column_has_words(column)) || is_asked(run, column));
}

/* Does the program read raw bytes of this segment? */
static bool
reads_raw(const GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
		if (gpucol_cpu_raw_is_read(run, &run->input.cols[c]))
			return true;
	return false;
}

/* Is there a conjunct that needs no raw bytes? */
static bool
has_packed_tests(const GpucolRun *run)
{
	for (int t = 0; t < run->input.ntests; t++)
		if (run->input.tests[t].kind != GPUCOL_CPU_TEST_ROWS)
			return true;
	return false;
}

/* All rows that are not deleted. */
static void
take_live_rows(const GpucolRun *run, uint32_t vector, uint32_t *passed)
{
	const uint32_t *deleted = gpucol_cpu_deleted(run, vector);

	memset(passed, 0xff, sizeof(uint32_t) * GPUCOL_LANES);
	gpucol_bitmap_limit(passed, gpucol_cpu_vector_rows(run, vector));
	for (int w = 0; w < GPUCOL_LANES && deleted != NULL; w++)
		passed[w] &= ~deleted[w];
}

/* Test the conjuncts that need no raw bytes, of streams that are mapped. */
static void
test_vector(GpucolRun *run, const GpucolCpuVector *vector, uint32_t *passed)
{
	GpucolCpuWorker *worker = &run->workers[0];

	memcpy(worker->mask, passed, sizeof(worker->mask));
	worker->live = gpucol_cpu_range_count(worker->mask);
	for (int t = 0; t < run->input.ntests && worker->live > 0; t++)
		if (run->input.tests[t].kind != GPUCOL_CPU_TEST_ROWS)
			gpucol_cpu_range_apply(worker, &run->input.tests[t], vector);
	memcpy(passed, worker->mask, sizeof(worker->mask));
}

/* Leave vectors out of the window in which no row has passed. */
static void
drop_vectors(GpucolRun *run, uint32_t first, Passed passed)
{
	uint32_t	left = 0;

	for (uint32_t i = 0; i < run->window.nwork; i++)
	{
		uint32_t	vector = run->window.work[i].number;

		if (gpucol_cpu_range_count(passed[vector - first]) == 0)
		{
			run->input.dead[vector] = 1;
			run->workers[0].vectors_read++;
			continue;
		}
		run->window.work[left] = run->window.work[i];
		run->window.work[left].output = (int) left;
		left++;
	}
	run->window.nwork = left;
}

/* Read the raw columns that the host has a say on, or the others. */
static GpucolStatus
read_columns(GpucolRun *run, uint32_t first, uint32_t n, bool asked)
{
	GpucolStatus status = GPUCOL_OK;

	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if (gpucol_cpu_raw_is_read(run, column) && is_asked(run, column) == asked)
			status = gpucol_cpu_stream_raw(run, column, first, n);
	}
	return status;
}

/* Of the rows of a window that have passed, those pass whose verdict is true. */
static void
take_verdicts(const GpucolRun *run, uint32_t first, const uint8_t *verdicts, Passed passed)
{
	for (uint32_t i = 0; i < run->window.nwork; i++)
	{
		uint32_t	v = run->window.work[i].number - first;
		const uint8_t *of_vector = verdicts + (size_t) v * GPUCOL_VECTOR_VALUES;

		for (uint32_t w = 0; w < GPUCOL_LANES; w++)
			for (uint32_t bits = passed[v][w]; bits != 0; bits &= bits - 1)
			{
				uint32_t	row = w * 32 + (uint32_t) __builtin_ctz(bits);

				if (of_vector[row] != 1)
					passed[v][w] &= ~(bits & -bits);
			}
	}
}

/* Ask the host about the rows that are left, after each conjunct about fewer. */
static GpucolStatus
ask_host(GpucolRun *run, uint32_t first, uint32_t n, Passed passed)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *host = &run->digest.hosts[h];
		GpucolStatus status;

		if (!host->by_row)
			continue;
		status = gpucol_cpu_host_ask_window(run, host, first, n, passed);
		if (status != GPUCOL_OK)
			return status;
		for (int t = 0; t < run->input.ntests; t++)
			if (run->input.tests[t].kind == GPUCOL_CPU_TEST_ROWS && run->input.tests[t].host == host)
				take_verdicts(run, first, host->verdicts, passed);
	}
	return GPUCOL_OK;
}

/* Choose how many vectors the next window has, by the bytes of this one's. */
static void
set_raw_pace(GpucolRun *run, uint32_t n)
{
	size_t		room = run->mem.window_limit / 4 / (run->window.raw_bytes / n + 1);

	if (run->mem.window_limit == 0 || room > GPUCOL_CPU_RAW_WINDOW)
		room = GPUCOL_CPU_RAW_WINDOW;
	if (room > 2 * run->window.raw)
		room = 2 * run->window.raw;
	run->window.raw = room < 1 ? 1 : (uint32_t) room;
}

GpucolStatus
gpucol_cpu_raw_window(GpucolRun *run, uint32_t first, uint32_t n)
{
	GpucolStatus status = GPUCOL_OK;
	Passed		passed;

	if (!reads_raw(run))
		return GPUCOL_OK;
	run->window.raw_bytes = 0;
	for (uint32_t v = 0; v < n; v++)
		take_live_rows(run, first + v, passed[v]);
	if (has_packed_tests(run))
	{
		status = gpucol_cpu_source_map(run, first, n, false);
		if (status != GPUCOL_OK)
			return status;
		for (uint32_t i = 0; i < run->window.nwork; i++)
			test_vector(run, &run->window.work[i], passed[run->window.work[i].number - first]);
		gpucol_cpu_source_unmap(run);
	}
	drop_vectors(run, first, passed);
	if (run->window.nwork > 0)
		status = read_columns(run, first, n, true);
	if (status == GPUCOL_OK && run->window.nwork > 0)
		status = ask_host(run, first, n, passed);
	if (status == GPUCOL_OK)
		drop_vectors(run, first, passed);
	if (status == GPUCOL_OK && run->window.nwork > 0)
		status = read_columns(run, first, n, false);
	set_raw_pace(run, n);
	return status;
}
