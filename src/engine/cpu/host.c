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

/* Rows that the host is asked about together. */
typedef struct Asked
{
	int			n;
	GpucolBytes values[ASKED];
	bool		isnull[ASKED];
	uint16_t	rows[ASKED];
} Asked;

/* Ask about the rows that are gathered. */
static void
ask_gathered(GpucolRun *run, GpucolCpuHostTest *test, Asked *asked, uint8_t *verdicts)
{
	uint8_t		answers[ASKED];

	if (asked->n == 0)
		return;
	run->host->test(run->host->context, test->id, asked->n, asked->values, asked->isnull, answers);
	for (int i = 0; i < asked->n; i++)
		verdicts[asked->rows[i]] = answers[i];
	asked->n = 0;
}

/*
 * Ask the host about n rows, or about those with bit set in `which`: the verdict of
 * another row is false.
 */
static void
ask_rows(GpucolRun *run, GpucolCpuHostTest *test, const GpucolBytes *values,
		 const uint32_t *nulls, const uint32_t *which, uint32_t n, uint8_t *verdicts)
{
	Asked		asked;

	asked.n = 0;
	memset(verdicts, 0, n);
	for (uint32_t w = 0; w * 32 < n; w++)
	{
		uint32_t	bits = which != NULL ? which[w] : UINT32_MAX;

		if (n - w * 32 < 32)
			bits &= (UINT32_C(1) << (n - w * 32)) - 1;
		for (; bits != 0; bits &= bits - 1)
		{
			uint32_t	row = w * 32 + (uint32_t) __builtin_ctz(bits);

			asked.values[asked.n] = values[row];
			asked.isnull[asked.n] = nulls != NULL && (nulls[row / 32] >> (row % 32) & 1);
			asked.rows[asked.n++] = (uint16_t) row;
			if (asked.n == ASKED)
				ask_gathered(run, test, &asked, verdicts);
		}
	}
	ask_gathered(run, test, &asked, verdicts);
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
