/*-------------------------------------------------------------------------
 *
 * source.c
 *	  The main thread's walk over the source.
 *
 * For each segment: check the chunks, let chunk zone maps and then vector zone
 * maps exclude what they can, find where the order of a dictionary decides
 * (engine/cpu/cuts.c), copy the other dictionaries and runs, ask the host about
 * each distinct value, translate the range conjuncts and order them by cost.
 * Then windows: up to GPUCOL_CPU_WINDOW vectors of every stream that is needed
 * are mapped, dealt to the workers, and unmapped, after raw bytes have been read
 * (engine/cpu/raw.c).  Delta batches follow as
 * vectors of their own kind, then rows of probed tables (engine/cpu/tail.c).
 *
 * Where rows multiply in probes, a window or a batch may take more than one step: workers
 * pause in the middle of it, and it is mapped again when they go on.
 *
 * Anything of the source or the host may longjmp.  Buffers filled here belong
 * to the run's structures before the call that fills them.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <time.h>

#include "engine/cpu/build.h"
#include "engine/cpu/final.h"
#include "engine/cpu/host.h"
#include "engine/cpu/items.h"
#include "engine/cpu/join.h"
#include "engine/cpu/window.h"
#include "kernel/bitpack.h"

#define ZONES 512				/* zone maps read at a time */
#define DEAL 8					/* vectors that a worker takes at a time, at least */
#define SLOW_WINDOW_MS 40.0		/* a window that took longer is too long */
#define SLICE_MS 30.0			/* after which rows that multiply let the main thread look */

/*
 * Can this engine read the chunk as the program's column?  That the descriptor
 * is one an encoder wrote is the source's to check.
 */
GpucolStatus
gpucol_cpu_source_check(const GpucolProgramColumn *column,
						const GpucolChunkDesc *desc)
{
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return GPUCOL_OK;
	if (desc->kind != column->kind)
		return GPUCOL_UNSUPPORTED;
	if (desc->kind == GPUCOL_KIND_DECIMAL && desc->scale != column->scale)
		return GPUCOL_UNSUPPORTED;
	return GPUCOL_OK;
}

/* Forget the segment's dictionaries, runs, tests and verdicts. */
static void
reset(GpucolRun *run)
{
	gpucol_cpu_stream_reset(run);
	for (int t = 0; t < run->program->nranges; t++)
	{
		gpucol_cpu_free(run, run->input.tests[t].map);
		gpucol_cpu_free(run, run->input.tests[t].codes);
		run->input.tests[t].map = NULL;
		run->input.tests[t].codes = NULL;
	}
	run->input.ntests = 0;
	for (int h = 0; h < run->digest.nhosts; h++)
		gpucol_cpu_host_forget(run, &run->digest.hosts[h]);
	gpucol_cpu_cuts_reset(run);
}

/* Does the chunk's descriptor alone exclude every row? */
static bool
chunk_excludes(const GpucolCpuDomain *domain, const GpucolChunkDesc *desc)
{
	if (domain->op == GPUCOL_CPU_FALSE)
		return true;
	if (domain->op == GPUCOL_CPU_HOST)
		return false;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return domain->op != GPUCOL_CPU_IS_NULL;
	if (domain->op == GPUCOL_CPU_IS_NULL)
		return !(desc->flags & GPUCOL_CHUNK_HAS_NULLS);
	return (desc->flags & GPUCOL_CHUNK_HAS_ZONE) &&
		gpucol_cpu_range_excludes(domain, &desc->zone);
}

/* Mark in run->input.dead the vectors that zone maps exclude; count the others. */
static GpucolStatus
apply_zones(GpucolRun *run, uint32_t *alive)
{
	uint32_t	n = run->input.nvectors;
	uint32_t	first = run->input.segment.first_vector;
	uint32_t	end = run->input.segment.end_vector;

	if (n > run->input.dead_size)
	{
		gpucol_cpu_free(run, run->input.dead);
		run->input.dead_size = 0;
		run->input.dead = gpucol_cpu_alloc(run, n);
		if (run->input.dead == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		run->input.dead_size = n;
	}
	memset(run->input.dead, 0, n);
	for (int d = 0; d < run->program->nranges; d++)
	{
		const GpucolCpuDomain *domain = &run->digest.domains[d];
		const GpucolChunkDesc *desc = run->input.cols[domain->column].desc;
		GpucolZone	zones[ZONES];

		if ((domain->op != GPUCOL_CPU_INTERVAL && domain->op != GPUCOL_CPU_SET) ||
			desc->streams[GPUCOL_STREAM_ZONES].nrows == 0)
			continue;
		for (uint32_t v = first; v < end; v += ZONES)
		{
			uint32_t	take = end - v < ZONES ? end - v : ZONES;
			GpucolStatus status;

			status = gpucol_cpu_stream_copy(run, domain->column, GPUCOL_STREAM_ZONES,
											sizeof(GpucolZone) * (uint64_t) v,
											sizeof(GpucolZone) * (uint64_t) take, zones);
			if (status != GPUCOL_OK)
				return status;
			for (uint32_t i = 0; i < take; i++)
				run->input.dead[v + i] |= gpucol_cpu_range_excludes(domain, &zones[i]);
		}
	}
	*alive = 0;
	for (uint32_t v = first; v < end; v++)
		*alive += !run->input.dead[v];
	return GPUCOL_OK;
}

static int
compare_tests(const void *a, const void *b)
{
	return ((const GpucolCpuTest *) a)->cost - ((const GpucolCpuTest *) b)->cost;
}

/* Translate the conjuncts; *never if one excludes the whole segment. */
static GpucolStatus
plan_tests(GpucolRun *run, bool *never)
{
	*never = false;
	run->input.ntests = 0;
	for (int d = 0; d < run->program->nranges; d++)
	{
		GpucolCpuTest *test = &run->input.tests[run->input.ntests];
		GpucolStatus status = gpucol_cpu_range_plan(run, &run->digest.domains[d], test);

		if (status != GPUCOL_OK)
			return status;
		if (test->kind == GPUCOL_CPU_TEST_NEVER)
			*never = true;
		if (test->kind == GPUCOL_CPU_TEST_ALWAYS || test->kind == GPUCOL_CPU_TEST_NEVER)
		{
			gpucol_cpu_free(run, test->map);
			gpucol_cpu_free(run, test->codes);
			test->map = NULL;
			test->codes = NULL;
			continue;
		}
		run->input.ntests++;
	}
	qsort(run->input.tests, (size_t) run->input.ntests, sizeof(GpucolCpuTest), compare_tests);
	return GPUCOL_OK;
}

/* Read what belongs to the whole segment; *never if a conjunct excludes all of it. */
static GpucolStatus
load_segment(GpucolRun *run, bool *never)
{
	GpucolStatus status;

	gpucol_cpu_extreme_open(run);
	status = gpucol_cpu_cuts_open(run);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_host_ask_null(run);
	*never = gpucol_cpu_cuts_exclude(run);
	if (*never)
		return GPUCOL_OK;
	status = gpucol_cpu_stream_tables(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_host_ask(run);
	if (status == GPUCOL_OK)
		status = plan_tests(run, never);
	if (status == GPUCOL_OK && !*never)
		gpucol_cpu_bounds_find(run, NULL, 0);
	if (status == GPUCOL_OK && !*never)
		gpucol_cpu_final_open(run);
	if (status == GPUCOL_OK && !*never && run->program->kind == GPUCOL_PROGRAM_AGG &&
		run->join.part == NULL &&
		(run->join.nprobes == 0 || run->program->nkeys > 0))
		status = gpucol_cpu_dense_open(run);
	return status;
}

/*
 * Make the segment just fetched current; *skip if nothing of it is needed.  Of another
 * part of the segment that a SCAN has just read, only the zone maps are news.
 */
static GpucolStatus
open_segment(GpucolRun *run, bool *skip)
{
	bool		again = run->input.loaded && run->input.segment.id == run->input.loaded_id &&
		run->source->in_parts && run->program->kind == GPUCOL_PROGRAM_SCAN;
	bool		first = run->input.segment.first_vector == 0;
	GpucolStatus status;
	uint32_t	alive;

	if (!again)
	{
		reset(run);
		run->input.segment_serial++;
	}
	run->window.ahead_most = 0;
	status = gpucol_cpu_final_next_segment(run);
	if (status != GPUCOL_OK)
		return status;
	run->input.loaded = again;
	run->input.nvectors = GPUCOL_VECTORS(run->input.segment.nrows);
	run->input.next_vector = run->input.segment.first_vector;
	*skip = true;
	if (run->input.segment.nrows > GPUCOL_MAX_SEGMENT_ROWS ||
		run->input.segment.end_vector > run->input.nvectors)
		return GPUCOL_CORRUPT;
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		run->input.cols[c].desc = run->input.segment.chunks[c];
		if (!run->input.cols[c].used)
			continue;
		status = gpucol_cpu_source_check(&run->code.columns[c], run->input.cols[c].desc);
		if (status != GPUCOL_OK)
			return status;
	}
	for (int d = 0; d < run->program->nranges; d++)
	{
		const GpucolCpuDomain *domain = &run->digest.domains[d];

		if (chunk_excludes(domain, run->input.cols[domain->column].desc))
		{
			run->stats.segments_skipped += first;
			return GPUCOL_OK;
		}
	}
	status = apply_zones(run, &alive);
	if (status != GPUCOL_OK)
		return status;
	run->stats.segments_read += first;
	run->stats.vectors_skipped += run->input.segment.end_vector -
		run->input.segment.first_vector - alive;
	if (alive == 0)
		return GPUCOL_OK;
	if (!again)
		status = load_segment(run, &run->input.never);
	run->input.loaded = status == GPUCOL_OK;
	run->input.loaded_id = run->input.segment.id;
	*skip = run->input.never;
	return status;
}

GpucolStatus
gpucol_cpu_sink(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	switch (worker->run->program->kind)
	{
		case GPUCOL_PROGRAM_SCAN:
			return gpucol_cpu_scan_emit(worker, vector);
		case GPUCOL_PROGRAM_BUILD:
			return gpucol_cpu_build_rows(worker, vector);
		default:
			return gpucol_cpu_agg_update(worker, vector);
	}
}

/* Are raw bytes read of a vector? */
static inline bool
reads_raw(const GpucolRun *run, const GpucolCpuVector *vector)
{
	return vector->delta == NULL && run->window.has_raw;
}

/* Of the rows of such a vector those that have passed already are left. */
static void
take_passed(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	const GpucolRun *run = worker->run;
	const uint32_t *passed = run->window.passed[vector->number - run->window.first];

	for (int w = 0; w < GPUCOL_LANES; w++)
		worker->mask[w] &= passed[w];
	worker->live = gpucol_cpu_range_count(worker->mask);
}

/* Filter one vector and hand the survivors on. */
static GpucolStatus
do_vector(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	const uint32_t *deleted = NULL;
	GpucolStatus status = GPUCOL_OK;

	memset(worker->mask, 0xff, sizeof(worker->mask));
	worker->live = vector->nrows;
	if (vector->nrows < GPUCOL_VECTOR_VALUES)
		gpucol_bitmap_limit(worker->mask, vector->nrows);
	worker->vectors_read++;
	if (reads_raw(run, vector))
		take_passed(worker, vector);
	else if (vector->delta == NULL)
		deleted = gpucol_cpu_deleted(run, vector->number);
	if (deleted != NULL)
	{
		for (int w = 0; w < GPUCOL_LANES; w++)
			worker->mask[w] &= ~deleted[w];
		worker->live = gpucol_cpu_range_count(worker->mask);
	}
	if (vector->delta != NULL)
		for (int d = 0; d < run->program->nranges; d++)
			gpucol_cpu_range_apply_delta(worker, &run->digest.domains[d], vector);
	else
		for (int t = 0; t < run->input.ntests && worker->live > 0 && !reads_raw(run, vector); t++)
			gpucol_cpu_range_apply(worker, &run->input.tests[t], vector);
	if (worker->live == 0)
		return GPUCOL_OK;
	if (run->program->filter != GPUCOL_NO_REG)
	{
		gpucol_cpu_expr_select(worker);
		status = gpucol_cpu_expr_run(worker, vector, 0, run->program->nfilter_instrs);
		if (status != GPUCOL_OK)
			return status;
		gpucol_cpu_expr_filter(worker);
		if (worker->nsel == 0)
			return GPUCOL_OK;
	}
	else if (run->join.nprobes > 0 || run->program->kind == GPUCOL_PROGRAM_BUILD)
		gpucol_cpu_expr_select(worker);
	return run->join.nprobes > 0 ? gpucol_cpu_join_rows(worker, vector, 0) :
		gpucol_cpu_sink(worker, vector);
}

/*
 * The same for rows that the host may want only some of: those before the first that
 * raises an error become the vector's output, and the error is delivered behind them.
 */
static GpucolStatus
do_vector_up_to_error(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolStatus status = do_vector(worker, vector);
	GpucolCpuVector part = *vector;
	uint32_t	good = 0;
	uint32_t	bad = vector->nrows;

	if (!GPUCOL_STATUS_IS_OF_ROW(status) || run->out.take != NULL || run->join.nprobes > 0 ||
		run->program->kind != GPUCOL_PROGRAM_SCAN)
		return status;
	while (bad - good > 1)
	{
		GpucolStatus found;

		part.nrows = good + (bad - good) / 2;
		worker->vectors_read--;
		found = do_vector(worker, &part);
		if (found == GPUCOL_OK)
			good = part.nrows;
		else if (GPUCOL_STATUS_IS_OF_ROW(found))
		{
			bad = part.nrows;
			status = found;
		}
		else
			return found;
	}
	run->out.kept[vector->output].error = status;
	return GPUCOL_OK;
}

/* Vectors that are work enough for a thread. */
static inline uint32_t
least_dealt(const GpucolRun *run)
{
	return run->join.nprobes > 0 || run->window.has_raw ? 1 : DEAL;
}

/*
 * Take vectors [*first, *last) of the window: a good part of what is left, so that
 * each thread reads long stretches of memory, and less towards the end, so that
 * all finish together.
 */
static bool
deal(GpucolRun *run, uint32_t *first, uint32_t *last)
{
	uint32_t	least = least_dealt(run);
	uint32_t	take;

	*first = run->window.dealt;
	do
	{
		if (*first >= run->window.nwork)
			return false;
		take = (run->window.nwork - *first) / (2 * (uint32_t) run->nworkers);
		*last = *first + (take > least ? take : least);
		if (*last > run->window.nwork)
			*last = run->window.nwork;
	} while (!atomic_compare_exchange_weak(&run->window.dealt, first, *last));
	return true;
}

/* Has the worker rows of a vector in hand that it paused in? */
static bool
is_paused(const GpucolCpuWorker *worker)
{
	return worker->trail != NULL && worker->trail->paused;
}

/* The worker's next vector of the window; NULL if it has done its share. */
static const GpucolCpuVector *
next_vector(GpucolCpuWorker *worker)
{
	GpucolRun  *run = worker->run;

	if (run->window.partitions == 0)
	{
		uint32_t	first;
		uint32_t	last;

		if (worker->next == worker->end)
		{
			if (!deal(run, &first, &last))
				return NULL;
			worker->next = first;
			worker->end = last;
		}
		return &run->window.work[worker->next++];
	}
	while (worker->next < worker->end)
	{
		const GpucolCpuVector *vector = &run->window.work[worker->next++];

		if ((int) (vector->ordinal % run->window.partitions) % run->nworkers == worker->index)
			return vector;
	}
	return NULL;
}

/* End what a worker did with a vector, unless it is paused in it. */
static void
end_vector(GpucolCpuWorker *worker)
{
	if (worker->run->agg.final != NULL && !worker->run->input.segments_done && worker->status == GPUCOL_OK &&
		!is_paused(worker))
		worker->status = gpucol_cpu_final_close(worker);
}

/* One worker's share of the window, or of it what it can do without a pause. */
static void
do_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	GpucolCpuWorker *worker = &run->workers[index];
	const GpucolCpuVector *vector;

	if (index == 0 && run->window.looks_ahead)
		gpucol_cpu_window_ahead(run);
	if (is_paused(worker) && gpucol_cpu_has_room(worker))
	{
		worker->status = gpucol_cpu_join_resume(worker);
		end_vector(worker);
	}
	while (worker->status == GPUCOL_OK && !is_paused(worker) && gpucol_cpu_has_room(worker) &&
		   !gpucol_cpu_agg_is_full(worker) && (vector = next_vector(worker)) != NULL)
	{
		bool		none = false;

		if (vector->delta == NULL)
			worker->status = gpucol_cpu_window_verify(run, vector->number);
		if (worker->status == GPUCOL_OK && reads_raw(run, vector))
			worker->status = gpucol_cpu_raw_vector(worker, vector, &none);
		if (worker->status == GPUCOL_OK && !none)
			worker->status = do_vector_up_to_error(worker, vector);
		end_vector(worker);
		gpucol_pool_answer();
	}
}

/* Is there work of the window left, since workers paused? */
static bool
is_suspended(const GpucolRun *run)
{
	for (int w = 0; w < run->nworkers; w++)
		if (is_paused(&run->workers[w]) || run->workers[w].next < run->workers[w].end)
			return true;
	return run->window.partitions == 0 && run->window.dealt < run->window.nwork;
}

GpucolStatus
gpucol_cpu_workers_status(const GpucolRun *run)
{
	for (int w = 0; w < run->nworkers; w++)
		if (run->workers[w].status != GPUCOL_OK)
			return run->workers[w].status;
	return GPUCOL_OK;
}

/* Work through run->window.work with all threads, or go on with it. */
static GpucolStatus
do_work(GpucolRun *run)
{
	if (!run->window.suspended)
	{
		atomic_store(&run->window.dealt, 0);
		for (int w = 0; w < run->nworkers; w++)
		{
			run->workers[w].next = 0;
			run->workers[w].end = run->window.partitions > 0 ? run->window.nwork : 0;
		}
	}
	gpucol_cpu_begin_slice(run);
	if (run->window.nwork <= least_dealt(run) && run->window.partitions == 0)
		do_share(run, 0);
	else
		gpucol_pool_run(run->nworkers, do_share, run);
	run->window.suspended = (run->join.nprobes > 0 || run->agg.room > 0) && is_suspended(run);
	return gpucol_cpu_workers_status(run);
}

double
gpucol_cpu_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

void
gpucol_cpu_begin_slice(GpucolRun *run)
{
	if (run->join.nprobes > 0)
		run->window.slice_end = gpucol_cpu_now_ms() + SLICE_MS;
}

/*
 * Adapt the length of windows to the work that a vector is: interrupts are looked
 * for between windows, so each should take some tens of milliseconds at most.
 */
static void
set_pace(GpucolRun *run, double took)
{
	if (took > SLOW_WINDOW_MS && run->window.pace > 1)
		run->window.pace /= 2;
	else if (took < SLOW_WINDOW_MS / 4 && run->window.pace < GPUCOL_CPU_WINDOW)
		run->window.pace *= 2;
}

/* Work through the vectors of a window, or go on with them; it was begun at a time. */
static GpucolStatus
work_through(GpucolRun *run, double start)
{
	/* one thread had better look at pages as it pins them; and one goes on with a vector whose pages it has verified */
	bool		lend = run->nworkers > 1 && !run->window.suspended;
	GpucolStatus status = run->window.has_raw ? gpucol_cpu_raw_map(run, lend) : GPUCOL_OK;

	if (status == GPUCOL_OK)
		status = gpucol_cpu_source_map(run, run->window.first, run->window.nvectors, true, lend);
	if (status == GPUCOL_OK)
	{
		run->window.looks_ahead = lend;
		status = do_work(run);
		run->window.looks_ahead = false;
		set_pace(run, gpucol_cpu_now_ms() - start);
		gpucol_cpu_source_unmap(run);
	}
	gpucol_cpu_raw_release(run);
	return status == GPUCOL_OK ? gpucol_cpu_extreme_drain(run, NULL) : gpucol_cpu_window_failed(run, status);
}

/* Have a window of a SCAN grow. */
static void
grow_scan(GpucolRun *run)
{
	if (run->window.scan < run->window.scan_most)
		run->window.scan = 2 * run->window.scan < run->window.scan_most ?
			2 * run->window.scan : run->window.scan_most;
}

/* The next window of the current segment; GPUCOL_END at its end. */
static GpucolStatus
do_window(GpucolRun *run)
{
	double		start = gpucol_cpu_now_ms();
	uint32_t	end = run->input.segment.end_vector;
	uint32_t	first;
	uint32_t	most;
	uint32_t	n;
	GpucolStatus status;

	while (run->input.next_vector < end && run->input.dead[run->input.next_vector])
		run->input.next_vector++;
	first = run->input.next_vector;
	if (first >= end)
		return GPUCOL_END;
	most = run->window.ahead_most > 0 && run->window.ahead_first == first ? run->window.ahead_most :
		gpucol_cpu_window_vectors(run);
	run->window.ahead_most = 0;
	n = gpucol_cpu_window_extent(run, first, most);
	run->window.nwork = 0;
	for (uint32_t v = first; v < first + n; v++)
	{
		GpucolCpuVector *work = &run->window.work[run->window.nwork];

		if (run->input.dead[v])
			continue;
		work->delta = NULL;
		work->number = v;
		work->nrows = gpucol_cpu_vector_rows(run, v);
		work->ordinal = run->input.ordinal + v;
		work->output = (int) run->window.nwork++;
	}
	run->input.next_vector = first + n;
	run->window.first = first;
	run->window.nvectors = n;
	status = gpucol_cpu_raw_window(run);
	if (status == GPUCOL_OK && run->window.nwork > 0)
		status = work_through(run, start);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_raw_end(run);
	grow_scan(run);
	return status;
}

/* May threads share the delta?  Not where something is asked or noted about one batch at a time. */
static bool
shares_delta(const GpucolRun *run)
{
	return run->source->ops->next_deltas != NULL && run->nworkers > 1 && run->digest.nhosts == 0 &&
		run->agg.nextremes == 0;
}

/* The next delta batches, by all threads. */
static GpucolStatus
do_deltas(GpucolRun *run)
{
	uint32_t	most = run->program->kind == GPUCOL_PROGRAM_SCAN && run->out.take == NULL ?
		run->window.scan : GPUCOL_CPU_WINDOW;
	uint32_t	n = 0;
	GpucolStatus status;

	if (run->input.deltas == NULL)
		run->input.deltas = gpucol_cpu_alloc0(run, sizeof(GpucolDelta) * GPUCOL_CPU_WINDOW);
	if (run->input.deltas == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = run->source->ops->next_deltas(run->source, most, run->input.deltas, &n);
	run->input.delta_done = status == GPUCOL_END;
	if (status != GPUCOL_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
	{
		GpucolCpuVector *work = &run->window.work[i];

		if (run->input.deltas[i].nrows > GPUCOL_VECTOR_VALUES)
			return GPUCOL_CORRUPT;
		*work = (GpucolCpuVector) {.delta = &run->input.deltas[i],.nrows = run->input.deltas[i].nrows,
			.ordinal = run->input.ordinal++,.output = (int) i};
		run->stats.delta_rows += work->nrows;
	}
	run->input.delta_batches += n;
	gpucol_cpu_bounds_find(run, run->input.deltas, n);
	run->window.nwork = n;
	status = do_work(run);
	grow_scan(run);
	return status;
}

/* The next delta batch, or several. */
static GpucolStatus
do_delta(GpucolRun *run)
{
	GpucolDelta *delta = &run->input.delta;
	GpucolStatus status;

	if (run->input.delta_done)
		return GPUCOL_END;
	if (shares_delta(run))
		return do_deltas(run);
	status = run->source->ops->next_delta(run->source, delta);
	run->input.delta_done = status == GPUCOL_END;
	if (status != GPUCOL_OK)
		return status;
	if (delta->nrows > GPUCOL_VECTOR_VALUES)
		return GPUCOL_CORRUPT;
	status = gpucol_cpu_host_ask_delta(run, delta);
	if (status != GPUCOL_OK)
		return status;
	run->stats.delta_rows += delta->nrows;
	run->input.delta_batches++;
	gpucol_cpu_bounds_find(run, delta, 1);
	run->window.work[0].delta = delta;
	run->window.work[0].number = 0;
	run->window.work[0].nrows = delta->nrows;
	run->window.work[0].ordinal = run->input.ordinal++;
	run->window.work[0].output = 0;
	run->window.nwork = 1;
	atomic_store(&run->window.dealt, 1);
	run->workers[0].next = run->workers[0].end = 0;
	gpucol_cpu_begin_slice(run);
	status = do_vector_up_to_error(&run->workers[0], &run->window.work[0]);
	run->window.suspended = is_paused(&run->workers[0]);
	return status == GPUCOL_OK ? gpucol_cpu_extreme_drain(run, delta) : status;
}

/* Go on with a window or a batch in which workers paused. */
static GpucolStatus
go_on(GpucolRun *run)
{
	uint64_t	read = run->stats.packed_bytes;
	GpucolStatus status;

	if (!run->input.segments_done)
	{
		status = work_through(run, gpucol_cpu_now_ms());
		run->stats.packed_bytes = read;
		return status;
	}
	if (shares_delta(run))
		return do_work(run);
	/* a batch is no vector of the window: it is not dealt again */
	gpucol_cpu_begin_slice(run);
	status = gpucol_cpu_join_resume(&run->workers[0]);
	run->window.suspended = is_paused(&run->workers[0]);
	return status == GPUCOL_OK ? gpucol_cpu_extreme_drain(run, &run->input.delta) : status;
}

GpucolStatus
gpucol_cpu_source_step(GpucolRun *run)
{
	GpucolStatus status;
	bool		skip;

	run->source->ops->check_interrupts(run->source);
	if (run->window.suspended)
		return go_on(run);
	if (run->digest.npayload_hosts > 0 && !run->digest.payload_asked)
	{
		status = gpucol_cpu_host_ask_payload(run);
		if (status != GPUCOL_OK)
			return status;
		run->digest.payload_asked = true;
	}
	run->window.nwork = 0;
	while (!run->input.segments_done)
	{
		if (run->input.in_segment)
		{
			status = do_window(run);
			if (status != GPUCOL_END)
				return status;
			run->input.in_segment = false;
			run->input.ordinal += run->input.nvectors;
			status = gpucol_cpu_dense_close(run);
			if (status == GPUCOL_OK)
				status = gpucol_cpu_extreme_close(run);
			if (status != GPUCOL_OK)
				return status;
		}
		status = run->source->ops->next_segment(run->source, &run->input.segment);
		if (status == GPUCOL_END)
		{
			run->input.segments_done = true;
			run->input.loaded = false;
			reset(run);
			status = gpucol_cpu_dense_end(run);
			if (status != GPUCOL_OK)
				return status;
			break;
		}
		if (status != GPUCOL_OK)
			return status;
		status = open_segment(run, &skip);
		if (status != GPUCOL_OK)
			return status;
		run->input.in_segment = !skip;
		if (skip)
			run->input.ordinal += run->input.nvectors;
		run->source->ops->check_interrupts(run->source);
	}
	status = do_delta(run);
	if (status == GPUCOL_END)
		status = gpucol_cpu_tail_step(run);
	return status == GPUCOL_END ? gpucol_cpu_turn(run) : status;
}
