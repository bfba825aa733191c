/*-------------------------------------------------------------------------
 *
 * host.c
 *	  The host's verdicts on byte strings: on each entry of a segment's dictionary,
 *	  and on rows of raw bytes and of the delta.
 *
 * Asked in the main thread; the host may longjmp.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/cpu.h"

#define ASKED	512				/* rows that the host is asked about together */

/* Room for n verdicts. */
static GpucolStatus
make_verdicts(GpucolRun *run, GpucolCpuHostTest *test, size_t n)
{
	gpucol_cpu_free(run, test->verdicts);
	test->verdicts = gpucol_cpu_alloc0(run, n + 1);
	return test->verdicts == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

void
gpucol_cpu_host_ask_null(GpucolRun *run)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[test->column];
		bool		isnull = true;
		GpucolBytes none = {"", 0};

		if ((!gpucol_cpu_stream_is_raw(column) || test->in_order) &&
			(column->desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL)))
			run->host->test(run->host->context, test->id, 1, &none, &isnull,
							&test->null_verdict);
	}
}

GpucolStatus
gpucol_cpu_host_ask(GpucolRun *run)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[test->column];
		GpucolStatus status;

		test->by_row = gpucol_cpu_stream_is_raw(column) && !test->in_order;
		if (gpucol_cpu_stream_is_raw(column) || (test->in_order && !column->loaded))
			continue;
		if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		{
			status = make_verdicts(run, test, 1);
			if (status != GPUCOL_OK)
				return status;
			continue;
		}
		status = make_verdicts(run, test, (size_t) 1 << column->desc->width);
		if (status != GPUCOL_OK)
			return status;
		if (test->in_order)
			gpucol_cpu_cuts_fill(test, column->ndict, test->verdicts);
		else
			run->host->test(run->host->context, test->id, (int) column->ndict,
							column->entries, NULL, test->verdicts);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_host_ask_payload(GpucolRun *run)
{
	for (int h = run->digest.nhosts; h < run->digest.nhosts + run->digest.npayload_hosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[test->column];
		bool		isnull = true;
		GpucolBytes none = {"", 0};

		if (make_verdicts(run, test, column->ndict) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		run->host->test(run->host->context, test->id, 1, &none, &isnull, &test->null_verdict);
		run->host->test(run->host->context, test->id, (int) column->ndict, column->entries,
						NULL, test->verdicts);
	}
	return GPUCOL_OK;
}

/* Ask about the rows of one part, from row `from` to before row `end`. */
static void
ask_part(GpucolRun *run, GpucolCpuHostTest *test, const GpucolBytes *values,
		 const uint32_t *nulls, const uint32_t *which, uint32_t from, uint32_t end,
		 uint8_t *verdicts)
{
	GpucolBytes asked[ASKED];
	bool		isnull[ASKED];
	uint16_t	rows[ASKED];
	uint8_t		answers[ASKED];
	int			count = 0;

	for (uint32_t i = from; i < end; i++)
	{
		if (which != NULL && !(which[i / 32] >> (i % 32) & 1))
			continue;
		asked[count] = values[i];
		isnull[count] = nulls != NULL && (nulls[i / 32] >> (i % 32) & 1);
		rows[count++] = (uint16_t) i;
	}
	if (count == 0)
		return;
	run->host->test(run->host->context, test->id, count, asked, isnull, answers);
	for (int i = 0; i < count; i++)
		verdicts[rows[i]] = answers[i];
}

/*
 * Ask the host about n rows, or about those with bit set in `which`: the verdict of
 * another row is false.
 */
static void
ask_rows(GpucolRun *run, GpucolCpuHostTest *test, const GpucolBytes *values,
		 const uint32_t *nulls, const uint32_t *which, uint32_t n, uint8_t *verdicts)
{
	memset(verdicts, 0, n);
	for (uint32_t from = 0; from < n; from += ASKED)
		ask_part(run, test, values, nulls, which, from, n - from < ASKED ? n : from + ASKED,
				 verdicts);
}

GpucolStatus
gpucol_cpu_host_ask_window(GpucolRun *run, GpucolCpuHostTest *test, uint32_t first, uint32_t n,
						   uint32_t (*which)[GPUCOL_LANES])
{
	GpucolCpuColumn *column = &run->input.cols[test->column];
	bool		nullable = (column->desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	uint32_t	nulls[GPUCOL_LANES];

	if (make_verdicts(run, test, (size_t) n * GPUCOL_VECTOR_VALUES) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t v = 0; v < n; v++)
	{
		size_t		at = (size_t) v * GPUCOL_VECTOR_VALUES;
		GpucolStatus status;

		if (run->input.dead[first + v])
			continue;
		if (nullable)
		{
			status = gpucol_cpu_stream_copy(run, column->slot, GPUCOL_STREAM_NULLS,
											(uint64_t) (first + v) * GPUCOL_ROW_BYTES,
											GPUCOL_ROW_BYTES, nulls);
			if (status != GPUCOL_OK)
				return status;
		}
		ask_rows(run, test, column->raw + at, nullable ? nulls : NULL, which[v],
				 gpucol_cpu_vector_rows(run, first + v), test->verdicts + at);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_host_ask_delta(GpucolRun *run, const GpucolDelta *delta)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolDeltaColumn *column = &delta->columns[test->column];

		if (make_verdicts(run, test, GPUCOL_VECTOR_VALUES) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		ask_rows(run, test, column->bytes, column->nulls, NULL, delta->nrows,
				 test->verdicts);
	}
	return GPUCOL_OK;
}
