/*-------------------------------------------------------------------------
 *
 * raw.c
 *	  Raw bytes of a window, of those vectors alone that have a row for which they
 *	  matter.
 *
 * Raw bytes are dear: they are read, unpacked, and the host looks at each row.  So the
 * conjuncts that need none of them are tested first; then columns are read that the host has a
 * say on, which it has about the rows that are left; then the others.
 *
 * A thread does all of that with a vector that it is dealt, before anything else, while what it unpacks
 * is in its processor's cache.  The main thread only holds the word rows.  It goes ahead, by a pass of all
 * threads over the window, where a pass is likely to leave vectors out whose word rows need not be
 * held then: over the conjuncts, unless they have hardly left any out lately, and over what the
 * host says, if further columns are read.  Of hosts that have to be asked in the main thread, values
 * are unpacked by all threads first.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/arrays.h"
#include "engine/cpu/host.h"
#include "engine/cpu/items.h"
#include "engine/cpu/window.h"
#include "kernel/bitpack.h"

#define START_VECTORS	16		/* of the first window, at most */
#define LZ4_GUESS	4			/* how many times larger blocks become, until windows tell */
#define IDLE_TESTS	8			/* windows after which tests are tried again that had not paid */
#define LEAST_DROPPED	8		/* one vector of so many must be left out */

/* Is a host predicate on rows of the column decided on values, or (`packed`) on packed elements? */
static bool
has_host(const GpucolRun *run, const GpucolCpuColumn *column, bool packed)
{
	for (int h = 0; h < run->digest.nhosts; h++)
		if (run->digest.hosts[h].by_row && (run->digest.hosts[h].arrays != NULL) == packed &&
			&run->input.cols[run->digest.hosts[h].column] == column)
			return true;
	return false;
}

/* Has the host a say on values of the column? */
static bool
is_asked(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return has_host(run, column, false);
}

bool
gpucol_cpu_raw_is_unpacked(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return gpucol_cpu_stream_is_raw(column) &&
		((column->loaded && !gpucol_cpu_column_has_words(column)) || is_asked(run, column));
}

bool
gpucol_cpu_raw_is_read(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return gpucol_cpu_raw_is_unpacked(run, column) || has_host(run, column, true);
}

/* May any thread ask the host all that there is to ask about rows? */
static bool
any_thread_asks(const GpucolRun *run)
{
	const GpucolHost *host = run->host;

	for (int h = 0; h < run->digest.nhosts; h++)
	{
		const GpucolCpuHostTest *test = &run->digest.hosts[h];

		if (test->by_row && test->arrays == NULL &&
			(test->mapped != NULL || host->any_thread == NULL ||
							 !host->any_thread(host->context, test->id)))
			return false;
	}
	return true;
}

bool
gpucol_cpu_raw_is_kept(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return (column->loaded && !gpucol_cpu_column_has_words(column)) || !any_thread_asks(run);
}

/* Vectors of the first window. */
static uint32_t
first_vectors(const GpucolRun *run)
{
	size_t		bytes = 0;
	size_t		room;

	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolCpuColumn *column = &run->input.cols[c];

		if (column->used && gpucol_cpu_raw_is_read(run, column) && gpucol_cpu_raw_is_kept(run, column))
			bytes += sizeof(GpucolBytes) * GPUCOL_VECTOR_VALUES +
				LZ4_GUESS * (size_t) column->desc->data_bytes / run->input.nvectors;
	}
	room = run->mem.window_limit / 4 / (bytes + 1);
	return room < 1 ? 1 : room > START_VECTORS || run->mem.window_limit == 0 ? START_VECTORS : (uint32_t) room;
}

uint32_t
gpucol_cpu_raw_most(GpucolRun *run, uint32_t most)
{
	if (run->window.raw == 0)
		run->window.raw = first_vectors(run);
	return most < run->window.raw ? most : run->window.raw;
}

/* Choose how many vectors the next window has, by the bytes of this one's. */
static void
set_raw_pace(GpucolRun *run, uint32_t n)
{
	size_t		room = run->mem.window_limit / 4 / (run->window.raw_bytes / n + 1);

	if (run->window.raw == 0)
		return;
	if (run->mem.window_limit == 0 || room > GPUCOL_CPU_RAW_WINDOW)
		room = GPUCOL_CPU_RAW_WINDOW;
	if (room > 2 * run->window.raw)
		room = 2 * run->window.raw;
	run->window.raw = room < 1 ? 1 : (uint32_t) room;
}

/* ---- in any thread ---- */

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

/* Test the conjuncts that need no raw bytes, of streams that are mapped and verified. */
static void
test_vector(GpucolCpuWorker *worker, const GpucolCpuVector *vector, uint32_t *passed)
{
	const GpucolRun *run = worker->run;

	memcpy(worker->mask, passed, sizeof(worker->mask));
	worker->live = gpucol_cpu_range_count(worker->mask);
	for (int t = 0; t < run->input.ntests && worker->live > 0; t++)
		if (run->input.tests[t].kind != GPUCOL_CPU_TEST_ROWS)
			gpucol_cpu_range_apply(worker, &run->input.tests[t], vector);
	memcpy(passed, worker->mask, sizeof(worker->mask));
}

/* Of the rows of a vector that have passed, those pass whose verdict is true. */
static void
take_verdicts(const uint8_t *verdicts, uint32_t *passed)
{
	/* of eight verdicts the lowest bits, side by side: of NULL it is 0 */
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i += 8)
	{
		uint64_t	eight;

		memcpy(&eight, verdicts + i, sizeof(eight));
		eight = ((eight & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >> 56;
		passed[i / 32] &= (uint32_t) eight << i % 32 | ~(UINT32_C(0xff) << i % 32);
	}
}

/* Is it a conjunct that its rows' verdicts are true? */
static bool
is_conjunct(const GpucolRun *run, const GpucolCpuHostTest *host)
{
	for (int t = 0; t < run->input.ntests; t++)
		if (run->input.tests[t].kind == GPUCOL_CPU_TEST_ROWS && run->input.tests[t].host == host)
			return true;
	return false;
}

/* Where the rows of a vector that have passed are. */
static uint32_t *
passed_of(const GpucolRun *run, uint32_t vector)
{
	return run->window.passed[vector - run->window.first];
}

/* Ask about the rows of a vector that are left. */
static GpucolStatus
ask_vector(GpucolRun *run, GpucolCpuHostTest *host, const GpucolDecoder *decoder, const GpucolBytes *values,
		   uint32_t vector)
{
	size_t		at = (size_t) (vector - run->window.first) * GPUCOL_VECTOR_VALUES;
	uint32_t	space[GPUCOL_LANES];
	GpucolStatus status = gpucol_cpu_host_ask_rows(run, host, values, gpucol_cpu_raw_nulls(decoder, vector, space),
												   passed_of(run, vector), gpucol_cpu_vector_rows(run, vector), at);

	if (status == GPUCOL_OK && is_conjunct(run, host))
		take_verdicts(host->verdicts + at, passed_of(run, vector));
	return status;
}

/* Decide what packed elements decide, after each conjunct about fewer rows. */
static GpucolStatus
ask_packed(GpucolCpuWorker *worker, uint32_t vector)
{
	GpucolRun  *run = worker->run;
	const GpucolCpuColumn *pointed = NULL;
	GpucolStatus status = GPUCOL_OK;

	for (int h = 0; h < run->digest.nhosts && status == GPUCOL_OK; h++)
	{
		GpucolCpuHostTest *host = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[host->column];
		size_t		at = (size_t) (vector - run->window.first) * GPUCOL_VECTOR_VALUES;

		if (!host->by_row || host->arrays == NULL || gpucol_cpu_range_count(passed_of(run, vector)) == 0)
			continue;
		if (column != pointed)
			status = gpucol_cpu_raw_point(worker, column, vector);
		pointed = column;
		if (status == GPUCOL_OK)
			status = gpucol_cpu_arrays_ask(host, &worker->decoders[column->slot], vector, passed_of(run, vector),
										   host->verdicts + at);
		if (status == GPUCOL_OK && is_conjunct(run, host))
			take_verdicts(host->verdicts + at, passed_of(run, vector));
	}
	return status;
}

/*
 * Unpack a vector's columns that the host is asked about, and ask, after each conjunct about fewer rows.
 * What is unpacked serves tests of one column that follow one another.
 */
static GpucolStatus
ask_about(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	const GpucolCpuColumn *unpacked = NULL;
	GpucolBytes *values = NULL;
	GpucolStatus status = ask_packed(worker, vector->number);

	for (int h = 0; h < run->digest.nhosts && status == GPUCOL_OK; h++)
	{
		GpucolCpuHostTest *host = &run->digest.hosts[h];
		GpucolCpuColumn *column = &run->input.cols[host->column];

		if (!host->by_row || host->arrays != NULL || gpucol_cpu_range_count(passed_of(run, vector->number)) == 0)
			continue;
		if (column != unpacked)
			status = gpucol_cpu_raw_decode(worker, column, vector->number, &values);
		unpacked = column;
		if (status == GPUCOL_OK)
			status = ask_vector(run, host, &worker->decoders[column->slot], values, vector->number);
	}
	return status;
}

/* Unpack a vector's columns that the host has a say on, or the others. */
static GpucolStatus
unpack_columns(GpucolCpuWorker *worker, uint32_t vector, bool asked)
{
	GpucolRun  *run = worker->run;
	GpucolStatus status = GPUCOL_OK;
	GpucolBytes *values;

	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if (gpucol_cpu_raw_is_unpacked(run, column) && is_asked(run, column) == asked)
			status = gpucol_cpu_raw_decode(worker, column, vector, &values);
	}
	return status;
}

GpucolStatus
gpucol_cpu_raw_vector(GpucolCpuWorker *worker, const GpucolCpuVector *vector, bool *none)
{
	GpucolRun  *run = worker->run;
	uint32_t   *passed = passed_of(run, vector->number);
	GpucolStatus status = GPUCOL_OK;

	if (!run->window.tested)
		test_vector(worker, vector, passed);
	if (!run->window.asked)
		status = ask_about(worker, vector);
	*none = gpucol_cpu_range_count(passed) == 0;
	if (status == GPUCOL_OK && !*none)
		status = unpack_columns(worker, vector->number, false);
	worker->vectors_read += *none;
	return status;
}

/* ---- passes of all threads over a window ---- */

/* What a pass does with a vector. */
typedef struct Pass
{
	GpucolRun  *run;
	GpucolStatus (*work) (GpucolCpuWorker *worker, const GpucolCpuVector *vector);
	_Atomic uint32_t dealt;
} Pass;

static void
pass_share(void *arg, int index)
{
	Pass	   *pass = arg;
	GpucolCpuWorker *worker = &pass->run->workers[index];
	uint32_t	i;

	while (worker->status == GPUCOL_OK && (i = atomic_fetch_add(&pass->dealt, 1)) < pass->run->window.nwork)
		worker->status = pass->work(worker, &pass->run->window.work[i]);
}

static GpucolStatus
do_pass(GpucolRun *run, GpucolStatus (*work) (GpucolCpuWorker *worker, const GpucolCpuVector *vector))
{
	Pass		pass = {.run = run,.work = work};

	if (run->window.nwork > 1)
		gpucol_pool_run(run->nworkers, pass_share, &pass);
	else
		pass_share(&pass, 0);
	return gpucol_cpu_workers_status(run);
}

static GpucolStatus
pass_tests(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolStatus status = gpucol_cpu_window_verify(worker->run, vector->number);

	if (status == GPUCOL_OK)
		test_vector(worker, vector, passed_of(worker->run, vector->number));
	return status;
}

static GpucolStatus
pass_unpacking(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolStatus status = ask_packed(worker, vector->number);

	return status == GPUCOL_OK ? unpack_columns(worker, vector->number, true) : status;
}

/* ---- in the main thread ---- */

/* Is something asked about a column in this phase: what packed elements or the host decide, or else its values? */
static bool
is_of_phase(const GpucolRun *run, const GpucolCpuColumn *column, bool asked)
{
	return (asked && has_host(run, column, true)) ||
		(gpucol_cpu_raw_is_unpacked(run, column) && is_asked(run, column) == asked);
}

/* Are there raw columns that the host has a say on, or others? */
static bool
has_columns(const GpucolRun *run, bool asked)
{
	for (int c = 0; c < run->program->ncolumns; c++)
		if (is_of_phase(run, &run->input.cols[c], asked))
			return true;
	return false;
}

/* Leave vectors out of the window in which no row has passed. */
static void
drop_vectors(GpucolRun *run)
{
	uint32_t	left = 0;

	for (uint32_t i = 0; i < run->window.nwork; i++)
	{
		uint32_t	vector = run->window.work[i].number;

		if (gpucol_cpu_range_count(passed_of(run, vector)) == 0)
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

/* Test the conjuncts that need no raw bytes. */
static GpucolStatus
test_ahead(GpucolRun *run)
{
	uint32_t	n = run->window.nwork;
	GpucolStatus status = gpucol_cpu_source_map(run, run->window.first, run->window.nvectors, false, true);

	if (status != GPUCOL_OK)
		return status;
	status = do_pass(run, pass_tests);
	gpucol_cpu_source_unmap(run);
	if (status != GPUCOL_OK)
		return gpucol_cpu_window_failed(run, status);
	drop_vectors(run);
	run->window.tested = true;
	if (n - run->window.nwork < n / LEAST_DROPPED + 1)
		run->window.idle_tests = IDLE_TESTS;
	return GPUCOL_OK;
}

/* Ask the host in this thread. */
static GpucolStatus
ask_here(GpucolRun *run)
{
	GpucolStatus status = GPUCOL_OK;

	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *host = &run->digest.hosts[h];
		const GpucolCpuColumn *column = &run->input.cols[host->column];

		for (uint32_t i = 0; i < run->window.nwork && host->by_row && host->arrays == NULL && status == GPUCOL_OK; i++)
		{
			uint32_t	v = run->window.work[i].number;

			status = ask_vector(run, host, &column->decoder,
								column->raw + (size_t) (v - run->window.first) * GPUCOL_VECTOR_VALUES, v);
		}
	}
	return status;
}

/* Ask the host, before other columns are read or because threads must not. */
static GpucolStatus
ask_ahead(GpucolRun *run, bool any_thread)
{
	GpucolStatus status = gpucol_cpu_raw_map(run, true);

	if (status == GPUCOL_OK)
		status = do_pass(run, any_thread ? ask_about : pass_unpacking);
	if (status == GPUCOL_OK && !any_thread)
		status = ask_here(run);
	gpucol_cpu_raw_release(run);
	if (status != GPUCOL_OK)
		return gpucol_cpu_window_failed(run, status);
	run->window.asked = true;
	drop_vectors(run);
	return GPUCOL_OK;
}

/* Room for what is known of n vectors. */
static GpucolStatus
make_room(GpucolRun *run, uint32_t n)
{
	GpucolStatus status = GPUCOL_OK;

	if (n > run->window.passed_room)
	{
		gpucol_cpu_free(run, run->window.passed);
		run->window.passed_room = 0;
		run->window.passed = gpucol_cpu_alloc(run, sizeof(*run->window.passed) * n);
		if (run->window.passed == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		run->window.passed_room = n;
	}
	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if (!gpucol_cpu_raw_is_read(run, column))
			continue;
		column->raw_kept = gpucol_cpu_raw_is_kept(run, column);
		status = gpucol_cpu_raw_room(run, column, n);
	}
	for (int h = 0; h < run->digest.nhosts && status == GPUCOL_OK; h++)
		if (run->digest.hosts[h].by_row)
			status = gpucol_cpu_host_make_room(run, &run->digest.hosts[h], (size_t) n * GPUCOL_VECTOR_VALUES);
	return status;
}

GpucolStatus
gpucol_cpu_raw_map(GpucolRun *run, bool lend)
{
	GpucolStatus status = GPUCOL_OK;

	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if ((!run->window.asked && is_of_phase(run, column, true)) ||
			(run->window.others && is_of_phase(run, column, false)))
			status = gpucol_cpu_raw_hold(run, column, lend);
	}
	if (status != GPUCOL_OK)
		gpucol_cpu_raw_release(run);
	return status;
}

GpucolStatus
gpucol_cpu_raw_window(GpucolRun *run)
{
	bool		asks = has_columns(run, true);
	bool		others = has_columns(run, false);
	bool		any_thread;
	bool		ahead;
	GpucolStatus status;

	run->window.has_raw = asks || others;
	if (!run->window.has_raw)
		return GPUCOL_OK;
	any_thread = any_thread_asks(run);
	ahead = asks && (others || !any_thread);
	atomic_store(&run->window.raw_bytes, 0);
	run->window.tested = !has_packed_tests(run);
	run->window.asked = !asks;
	run->window.others = false;
	status = make_room(run, run->window.nvectors);
	if (status != GPUCOL_OK)
		return status;
	for (uint32_t v = 0; v < run->window.nvectors; v++)
		take_live_rows(run, run->window.first + v, run->window.passed[v]);
	if (!run->window.tested && (ahead || run->window.idle_tests == 0))
		status = test_ahead(run);
	else if (!run->window.tested)
		run->window.idle_tests--;
	if (status == GPUCOL_OK && ahead && run->window.nwork > 0)
		status = ask_ahead(run, any_thread);
	run->window.others = true;
	return status;
}

void
gpucol_cpu_raw_end(GpucolRun *run)
{
	if (run->window.has_raw)
		set_raw_pace(run, run->window.nvectors);
}
