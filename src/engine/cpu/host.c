/*-------------------------------------------------------------------------
 *
 * host.c
 *	  The host's verdicts on byte strings: on each entry of a segment's dictionary,
 *	  and on rows of raw bytes and of the delta.
 *
 * Asked in the main thread, for the host may longjmp; by all threads where it says that it
 * does not.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/cpu.h"

#define ASKED	512				/* rows that the host is asked about together */
#define ENTRIES	4096			/* entries of a dictionary that a thread asks about at a time */

/* Room for n verdicts. */
static GpucolStatus
make_verdicts(GpucolRun *run, GpucolCpuHostTest *test, size_t n)
{
	gpucol_cpu_free(run, test->verdicts);
	test->verdicts = gpucol_cpu_alloc0(run, n + 1);
	return test->verdicts == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* What threads ask about, piece by piece. */
typedef struct Asking
{
	GpucolRun  *run;
	GpucolCpuHostTest *test;
	void		(*ask) (struct Asking *asking, uint32_t piece);
	uint32_t	npieces;
	_Atomic uint32_t dealt;

	/* a dictionary: n entries; a window: */
	uint32_t	n;
	uint32_t	first;			/* vector */
	uint32_t	(*which)[GPUCOL_LANES];
	bool		nullable;
	uint32_t	nulls[GPUCOL_CPU_RAW_WINDOW][GPUCOL_LANES];
} Asking;

static void
ask_pieces(void *arg, int index)
{
	Asking	   *asking = arg;
	uint32_t	piece;

	(void) index;
	while ((piece = atomic_fetch_add(&asking->dealt, 1)) < asking->npieces)
		asking->ask(asking, piece);
}

/* Ask about all pieces, by all threads if the host lets them. */
static void
ask_all(Asking *asking)
{
	const GpucolHost *host = asking->run->host;

	atomic_store(&asking->dealt, 0);
	if (asking->npieces > 1 && host->any_thread != NULL &&
		host->any_thread(host->context, asking->test->id))
		gpucol_pool_run(asking->run->nworkers, ask_pieces, asking);
	else
		ask_pieces(asking, 0);
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

static void
ask_entries(Asking *asking, uint32_t piece)
{
	const GpucolHost *host = asking->run->host;
	uint32_t	from = piece * ENTRIES;
	uint32_t	n = asking->n - from < ENTRIES ? asking->n - from : ENTRIES;

	host->test(host->context, asking->test->id, (int) n,
			   asking->run->input.cols[asking->test->column].entries + from, NULL,
			   asking->test->verdicts + from);
}

/* Ask about the entries of a dictionary. */
static void
ask_dictionary(GpucolRun *run, GpucolCpuHostTest *test)
{
	Asking		asking;

	asking.run = run;
	asking.test = test;
	asking.ask = ask_entries;
	asking.n = run->input.cols[test->column].ndict;
	asking.npieces = (asking.n + ENTRIES - 1) / ENTRIES;
	ask_all(&asking);
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
			ask_dictionary(run, test);
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
		ask_dictionary(run, test);
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

/* Ask about a vector of a window. */
static void
ask_vector(Asking *asking, uint32_t v)
{
	GpucolRun  *run = asking->run;
	GpucolCpuHostTest *test = asking->test;
	size_t		at = (size_t) v * GPUCOL_VECTOR_VALUES;

	if (!run->input.dead[asking->first + v])
		ask_rows(run, test, run->input.cols[test->column].raw + at,
				 asking->nullable ? asking->nulls[v] : NULL, asking->which[v],
				 gpucol_cpu_vector_rows(run, asking->first + v), test->verdicts + at);
}

GpucolStatus
gpucol_cpu_host_ask_window(GpucolRun *run, GpucolCpuHostTest *test, uint32_t first, uint32_t n,
						   uint32_t (*which)[GPUCOL_LANES])
{
	GpucolCpuColumn *column = &run->input.cols[test->column];
	Asking		asking;

	if (make_verdicts(run, test, (size_t) n * GPUCOL_VECTOR_VALUES) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	asking.run = run;
	asking.test = test;
	asking.ask = ask_vector;
	asking.npieces = n;
	asking.first = first;
	asking.which = which;
	asking.nullable = (column->desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	for (uint32_t v = 0; v < n && asking.nullable; v++)
	{
		GpucolStatus status = run->input.dead[first + v] ? GPUCOL_OK :
			gpucol_cpu_stream_copy(run, column->slot, GPUCOL_STREAM_NULLS,
								   (uint64_t) (first + v) * GPUCOL_ROW_BYTES, GPUCOL_ROW_BYTES,
								   asking.nulls[v]);

		if (status != GPUCOL_OK)
			return status;
	}
	ask_all(&asking);
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
