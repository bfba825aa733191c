/*-------------------------------------------------------------------------
 *
 * host.c
 *	  The host's verdicts on byte strings: on each entry of a segment's dictionary,
 *	  and on rows of raw bytes (raw.c) and of the delta; and what its functions make of them.
 *
 * Asked in the main thread, for the host may longjmp; by all threads where it says that it
 * does not.  Functions are called in the main thread alone: the values that they make are
 * kept beside the verdicts, which say which of them are NULL.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/host.h"

#include "engine/cpu/arrays.h"
#include "engine/cpu/lookup.h"

#define ASKED	512				/* rows that the host is asked about together */
#define ENTRIES	4096			/* entries of a dictionary that a thread asks about at a time */
#define MAPPED	64				/* values of which a function makes others at a time */
#define SPACE_BYTES 65536

/* ---- functions ---- */

/* Let go of what a function has made. */
static void
forget_values(GpucolRun *run, GpucolCpuMapped *mapped)
{
	gpucol_cpu_free(run, mapped->values);
	mapped->values = NULL;
	while (mapped->space != NULL)
	{
		char	   *chunk = mapped->space;

		memcpy(&mapped->space, chunk, sizeof(char *));
		gpucol_cpu_free(run, chunk);
	}
	mapped->left = 0;
}

/* A copy of some bytes, at the end of the last chunk; NULL without memory. */
static char *
keep_bytes(GpucolRun *run, GpucolCpuMapped *mapped, GpucolBytes value)
{
	size_t		size = value.len + sizeof(char *) > SPACE_BYTES ? value.len + sizeof(char *) : SPACE_BYTES;
	char	   *chunk;

	if (mapped->left < value.len)
	{
		chunk = gpucol_cpu_alloc(run, size);
		if (chunk == NULL)
			return NULL;
		memcpy(chunk, &mapped->space, sizeof(char *));
		mapped->space = chunk;
		mapped->left = size - sizeof(char *);
	}
	mapped->left -= value.len;
	/* chunks are filled from their ends */
	chunk = mapped->space + sizeof(char *) + mapped->left;
	return memcpy(chunk, value.data, value.len);
}

/* Have a function make values of n others; made[i] becomes 1, or 2 for NULL. */
static GpucolStatus
map_values(GpucolRun *run, GpucolCpuHostTest *test, uint32_t n, const GpucolBytes *values,
		   const bool *isnull, GpucolBytes *results, uint8_t *made)
{
	for (uint32_t from = 0; from < n; from += MAPPED)
	{
		uint32_t	m = n - from < MAPPED ? n - from : MAPPED;

		run->host->map(run->host->context, test->id, (int) m, values + from,
					   isnull == NULL ? NULL : isnull + from, results + from, made + from);
		for (uint32_t i = from; i < from + m; i++)
		{
			if (made[i] != 1 || results[i].len == 0)
				continue;
			results[i].data = keep_bytes(run, test->mapped, results[i]);
			if (results[i].data == NULL)
				return GPUCOL_OUT_OF_MEMORY;
		}
	}
	return GPUCOL_OK;
}

/* ---- verdicts ---- */

/* Room for n verdicts. */
static GpucolStatus
make_verdicts(GpucolRun *run, GpucolCpuHostTest *test, size_t n)
{
	gpucol_cpu_free(run, test->verdicts);
	test->verdicts = gpucol_cpu_alloc0(run, n + 1);
	test->room = n;
	if (test->mapped == NULL)
		return test->verdicts == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
	forget_values(run, test->mapped);
	test->mapped->values = gpucol_cpu_alloc0(run, sizeof(GpucolBytes) * (n + 1));
	test->mapped->column = run->input.cols[test->column];
	test->mapped->column.entries = test->mapped->values;
	test->mapped->column.lengths = NULL;
	return test->verdicts == NULL || test->mapped->values == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_host_make_room(GpucolRun *run, GpucolCpuHostTest *test, size_t n)
{
	if (test->mapped == NULL && test->verdicts != NULL && test->room >= n)
		return GPUCOL_OK;
	return make_verdicts(run, test, n);
}

/* Ask about NULL. */
static GpucolStatus
ask_null(GpucolRun *run, GpucolCpuHostTest *test)
{
	GpucolBytes none = {"", 0};
	bool		isnull = true;

	if (test->mapped != NULL)
		return map_values(run, test, 1, &none, &isnull, &test->mapped->of_null, &test->null_verdict);
	run->host->test(run->host->context, test->id, 1, &none, &isnull, &test->null_verdict);
	return GPUCOL_OK;
}

void
gpucol_cpu_host_forget(GpucolRun *run, GpucolCpuHostTest *test)
{
	gpucol_cpu_free(run, test->verdicts);
	test->verdicts = NULL;
	gpucol_cpu_arrays_reset(run, test);
	if (test->mapped != NULL)
		forget_values(run, test->mapped);
}

/* What threads ask about, piece by piece. */
typedef struct Asking
{
	GpucolRun  *run;
	GpucolCpuHostTest *test;
	void		(*ask) (struct Asking *asking, uint32_t piece);
	uint32_t	npieces;
	_Atomic uint32_t dealt;
	GpucolStatus status;		/* of functions */

	uint32_t	n;				/* entries of a dictionary */
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
static GpucolStatus
ask_all(Asking *asking)
{
	const GpucolHost *host = asking->run->host;

	atomic_store(&asking->dealt, 0);
	asking->status = GPUCOL_OK;
	if (asking->npieces > 1 && asking->test->mapped == NULL && host->any_thread != NULL &&
		host->any_thread(host->context, asking->test->id))
		gpucol_pool_run(asking->run->nworkers, ask_pieces, asking);
	else
		ask_pieces(asking, 0);
	return asking->status;
}

void
gpucol_cpu_host_ask_null(GpucolRun *run)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[test->column];

		/* what a function makes of it is kept beside what it makes of the others */
		if (test->mapped == NULL && (!gpucol_cpu_stream_is_raw(column) || test->in_order) &&
			(column->desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL)))
			(void) ask_null(run, test);
	}
}

static void
ask_entries(Asking *asking, uint32_t piece)
{
	const GpucolHost *host = asking->run->host;
	GpucolCpuHostTest *test = asking->test;
	const GpucolBytes *entries = asking->run->input.cols[test->column].entries;
	uint32_t	from = piece * ENTRIES;
	uint32_t	n = asking->n - from < ENTRIES ? asking->n - from : ENTRIES;

	if (test->mapped == NULL)
		host->test(host->context, test->id, (int) n, entries + from, NULL, test->verdicts + from);
	else if (asking->status == GPUCOL_OK)
		asking->status = map_values(asking->run, test, n, entries + from, NULL, test->mapped->values + from,
									test->verdicts + from);
}

/* Ask about the entries of a dictionary. */
static GpucolStatus
ask_dictionary(GpucolRun *run, GpucolCpuHostTest *test)
{
	const GpucolCpuColumn *column = &run->input.cols[test->column];
	Asking		asking;

	if (column->ndict > 0 && column->entries[0].data == gpucol_lookup_no_string)
		return GPUCOL_OK;
	asking.run = run;
	asking.test = test;
	asking.ask = ask_entries;
	asking.n = column->ndict;
	asking.npieces = (asking.n + ENTRIES - 1) / ENTRIES;
	return ask_all(&asking);
}

GpucolStatus
gpucol_cpu_host_ask(GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
		run->input.cols[c].tested = false;
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		GpucolCpuColumn *column = &run->input.cols[test->column];
		GpucolStatus status;

		test->by_row = gpucol_cpu_stream_is_raw(column) && !test->in_order;
		status = test->by_row ? gpucol_cpu_arrays_open(run, test) : GPUCOL_OK;
		if (status != GPUCOL_OK)
			return status;
		column->tested |= gpucol_cpu_arrays_read_items(test);
		if (gpucol_cpu_stream_is_raw(column) || (test->in_order && !column->loaded))
			continue;
		if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		{
			status = make_verdicts(run, test, 1);
			if (status == GPUCOL_OK && test->mapped != NULL)
				status = ask_null(run, test);
			if (status != GPUCOL_OK)
				return status;
			continue;
		}
		status = make_verdicts(run, test, (size_t) 1 << column->desc->width);
		if (status == GPUCOL_OK && test->mapped != NULL && column->desc->flags & GPUCOL_CHUNK_HAS_NULLS)
			status = ask_null(run, test);
		if (status != GPUCOL_OK)
			return status;
		if (test->in_order)
			gpucol_cpu_cuts_fill(test, column->ndict, test->verdicts);
		else
			status = ask_dictionary(run, test);
		if (status != GPUCOL_OK)
			return status;
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
		GpucolStatus status = make_verdicts(run, test, column->ndict);

		if (status == GPUCOL_OK)
			status = ask_null(run, test);
		if (status == GPUCOL_OK)
			status = ask_dictionary(run, test);
		if (status != GPUCOL_OK)
			return status;
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

/* Ask about the rows that are gathered, those from row `first` of test->verdicts on. */
static GpucolStatus
ask_gathered(GpucolRun *run, GpucolCpuHostTest *test, Asked *asked, size_t first)
{
	uint8_t		answers[ASKED];
	GpucolBytes results[ASKED];
	GpucolStatus status = GPUCOL_OK;

	if (asked->n == 0)
		return GPUCOL_OK;
	if (test->mapped != NULL)
		status = map_values(run, test, (uint32_t) asked->n, asked->values, asked->isnull, results, answers);
	else
		run->host->test(run->host->context, test->id, asked->n, asked->values, asked->isnull, answers);
	if (status != GPUCOL_OK)
		return status;
	for (int i = 0; i < asked->n; i++)
	{
		test->verdicts[first + asked->rows[i]] = answers[i];
		if (test->mapped != NULL)
			test->mapped->values[first + asked->rows[i]] = results[i];
	}
	asked->n = 0;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_host_ask_rows(GpucolRun *run, GpucolCpuHostTest *test, const GpucolBytes *values,
						 const uint32_t *nulls, const uint32_t *which, uint32_t n, size_t first)
{
	Asked		asked;

	asked.n = 0;
	memset(test->verdicts + first, 0, n);
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
			if (asked.n == ASKED && ask_gathered(run, test, &asked, first) != GPUCOL_OK)
				return GPUCOL_OUT_OF_MEMORY;
		}
	}
	return ask_gathered(run, test, &asked, first);
}

GpucolStatus
gpucol_cpu_host_ask_delta(GpucolRun *run, const GpucolDelta *delta)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolDeltaColumn *column = &delta->columns[test->column];

		if (make_verdicts(run, test, GPUCOL_VECTOR_VALUES) != GPUCOL_OK ||
			gpucol_cpu_host_ask_rows(run, test, column->bytes, column->nulls, NULL, delta->nrows, 0) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}
