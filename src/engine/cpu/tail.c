/*-------------------------------------------------------------------------
 *
 * tail.c
 *	  Rows of the probed tables, when the source has ended: those that had no match
 *	  (RIGHT, FULL, RIGHT_ANTI) or had one (RIGHT_SEMI).
 *
 * They are a vector of a delta batch in which every column is NULL; of the instructions
 * before the probe's filter those are evaluated whose values are read behind it.  Probe
 * after probe: rows of the first mark those of the next.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "engine/cpu/host.h"
#include "engine/cpu/join.h"

/* A batch of rows of NULLs; stays as long as the run. */
static GpucolStatus
make_nulls(GpucolRun *run)
{
	size_t		n = GPUCOL_VECTOR_VALUES;
	int			ncolumns = run->program->ncolumns;
	GpucolDeltaColumn *columns = gpucol_cpu_alloc0(run, sizeof(GpucolDeltaColumn) *
												   (size_t) (ncolumns + 1));
	uint64_t   *values = gpucol_cpu_alloc0(run, sizeof(uint64_t) * n);
	GpucolBytes *bytes = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n);
	uint32_t   *nulls = gpucol_cpu_alloc(run, n / 8);

	if (columns == NULL || values == NULL || bytes == NULL || nulls == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(nulls, 0xff, n / 8);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (GpucolBytes) {"", 0};
	for (int c = 0; c < ncolumns; c++)
	{
		columns[c].kind = (GpucolKind) run->code.columns[c].kind;
		columns[c].values = (int64_t *) values;
		columns[c].bytes = bytes;
		columns[c].nulls = nulls;
	}
	run->join.nulls.nrows = GPUCOL_VECTOR_VALUES;
	run->join.nulls.tids = values;
	run->join.nulls.columns = columns;
	return GPUCOL_OK;
}

/* Make such a batch the delta's. */
static GpucolStatus
open_nulls(GpucolRun *run)
{
	if (run->join.nulls.columns == NULL && make_nulls(run) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	run->input.delta = run->join.nulls;
	gpucol_cpu_bounds_find(run, &run->input.delta, 1);
	return gpucol_cpu_host_ask_delta(run, &run->input.delta);
}

/* Select the rows among 1,024 of the table, from `first` on, that are delivered. */
static void
select_rows(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, uint64_t first)
{
	GpucolCpuTrail *trail = worker->trail;
	uint8_t		wanted = probe->kind == GPUCOL_JOIN_RIGHT_SEMI;
	uint32_t	n = 0;

	for (uint64_t row = first; row < probe->table->nrows &&
		 row < first + GPUCOL_VECTOR_VALUES; row++)
	{
		trail->match[probe->number][n] = (uint32_t) row;
		n += probe->matched[row] == wanted;
	}
	for (int q = 0; q < worker->run->join.nprobes; q++)
	{
		trail->alike[q] = false;
		if (q != probe->number)
			memset(trail->match[q], 0xff, sizeof(uint32_t) * n);
	}
	worker->nsel = n;
	worker->full = true;
}

/* Deliver such rows. */
static GpucolStatus
deliver_rows(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, uint64_t first)
{
	GpucolRun  *run = worker->run;
	GpucolCpuVector vector = {.delta = &run->input.delta,.nrows = GPUCOL_VECTOR_VALUES};
	GpucolStatus status = GPUCOL_OK;

	vector.ordinal = run->input.ordinal + first / GPUCOL_VECTOR_VALUES;
	select_rows(worker, probe, first);
	if (worker->nsel == 0)
		return GPUCOL_OK;
	for (int i = 0; i < probe->probe->residual_end && status == GPUCOL_OK; i++)
		if (probe->needed[i])
			status = gpucol_cpu_expr_run(worker, &vector, i, i + 1);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_probe_filter(worker, &vector, probe);
	return status != GPUCOL_OK ? status :
		gpucol_cpu_join_rows(worker, &vector, probe->number + 1);
}

/* The next 1,024 rows of the table that are this worker's. */
static bool
deal_rows(GpucolCpuWorker *worker, uint64_t *first)
{
	GpucolRun  *run = worker->run;
	uint64_t	nrows = run->join.probes[run->join.tail].table->nrows;

	if (run->window.partitions == 0)
	{
		*first = atomic_fetch_add(&run->join.tail_next, GPUCOL_VECTOR_VALUES);
		return *first < nrows;
	}
	for (;; worker->next++)
	{
		uint64_t	ordinal = run->input.ordinal + worker->next;

		*first = (uint64_t) worker->next * GPUCOL_VECTOR_VALUES;
		if (*first >= nrows)
			return false;
		if ((int) (ordinal % run->window.partitions) % run->nworkers != worker->index)
			continue;
		worker->next++;
		return true;
	}
}

/* One worker's share of a slice. */
static void
deliver_share(void *arg, int index)
{
	GpucolRun  *run = arg;
	GpucolCpuWorker *worker = &run->workers[index];
	const GpucolCpuProbe *probe = &run->join.probes[run->join.tail];
	uint64_t	first;

	if (worker->trail->paused && gpucol_cpu_has_room(worker))
		worker->status = gpucol_cpu_join_resume(worker);
	while (worker->status == GPUCOL_OK && !worker->trail->paused &&
		   gpucol_cpu_has_room(worker) && !gpucol_cpu_agg_is_full(worker) &&
		   gpucol_cpu_now_ms() < run->window.slice_end && deal_rows(worker, &first))
		worker->status = deliver_rows(worker, probe, first);
}

/* Are all rows of the probe's table dealt with? */
static bool
is_done(const GpucolRun *run)
{
	uint64_t	nrows = run->join.probes[run->join.tail].table->nrows;

	for (int w = 0; w < run->nworkers; w++)
		if (run->workers[w].trail->paused ||
			(run->window.partitions > 0 && (uint64_t) run->workers[w].next * GPUCOL_VECTOR_VALUES < nrows))
			return false;
	return run->window.partitions > 0 || run->join.tail_next >= nrows;
}

/* Does a probe deliver rows of its table in this turn? */
static bool
has_tail(const GpucolRun *run, const GpucolCpuProbe *probe)
{
	for (int t = 0; run->join.turns != NULL && t < probe->probe->table; t++)
		if (run->join.turns[t].part + 1 < run->join.turns[t].nparts)
			return false;
	return probe->marks;
}

/* Begin with the rows of the next probe that delivers some. */
static GpucolStatus
open_tail(GpucolRun *run)
{
	while (run->join.tail < run->join.nprobes && !has_tail(run, &run->join.probes[run->join.tail]))
		run->join.tail++;
	if (run->join.tail == run->join.nprobes)
		return GPUCOL_END;
	atomic_store(&run->join.tail_next, 0);
	for (int w = 0; w < run->nworkers; w++)
		run->workers[w].next = run->workers[w].end = 0;
	return open_nulls(run);
}

GpucolStatus
gpucol_cpu_tail_step(GpucolRun *run)
{
	GpucolStatus status = GPUCOL_OK;

	if (!run->join.in_tail)
	{
		status = open_tail(run);
		if (status != GPUCOL_OK)
			return status;
		run->join.in_tail = true;
	}
	gpucol_cpu_begin_slice(run);
	if (run->join.probes[run->join.tail].table->nrows <= GPUCOL_VECTOR_VALUES && run->window.partitions == 0)
		deliver_share(run, 0);
	else
		gpucol_pool_run(run->nworkers, deliver_share, run);
	status = gpucol_cpu_workers_status(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_extreme_drain(run, &run->input.delta);
	if (status == GPUCOL_OK && is_done(run))
	{
		run->input.ordinal += run->join.probes[run->join.tail].table->nrows / GPUCOL_VECTOR_VALUES + 1;
		run->join.tail++;
		run->join.in_tail = false;
	}
	return status;
}
