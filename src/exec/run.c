/*-------------------------------------------------------------------------
 *
 * run.c
 *	  One execution of a kernel description for a plan node.
 *
 * A run starts lazily, at the first call for a batch, so that parameters and
 * initplans are evaluated when, and only if, PostgreSQL would need them.  It
 * lowers the node's expressions again, now with values, opens the source under
 * the statement's snapshot, and tries the engine that gpucol.engine names,
 * then the CPU engine.  Where no engine can answer, the node falls back.
 *
 * Engines hold memory and threads that PostgreSQL does not know of.  They are
 * released by a callback of the run's memory context, so that an error that
 * unwinds the executor releases them too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/numeric_form.h"
#include "columnar/source.h"
#include "engine/backend.h"
#include "engine/gpu/wire.h"
#include "exec/device.h"
#include "exec/join_build.h"
#include "exec/long_values.h"
#include "exec/plan_rows.h"
#include "exec/prefetch.h"
#include "exec/run.h"
#include "guc.h"
#include "lower/clauses.h"
#include "lower/harmless.h"
#include "lower/host_test.h"
#include "service/memory.h"

/* A build without the device client has no CUDA engine. */
#pragma weak gpucol_engine_cuda

/*
 * Prepare the state of a node.
 */
void
gpucol_run_init(GpucolExec *exec, CustomScanState *node, Relation rel,
				Index varno, GpucolProgramKind kind, GpucolLowerNode lower_node)
{
	memset(exec, 0, sizeof(*exec));
	exec->node = node;
	exec->rel = rel;
	exec->desc = rel ? RelationGetDescr(rel) : NULL;
	exec->varno = varno;
	exec->kind = kind;
	exec->lower_node = lower_node;
	exec->context = AllocSetContextCreate(node->ss.ps.state->es_query_cxt,
										  "gpucol run", ALLOCSET_DEFAULT_SIZES);
}

/*
 * Prepare the state of a node that reads the rows of another.
 */
void
gpucol_run_init_rows(GpucolExec *exec, CustomScanState *node, PlanState *rows_of,
					 GpucolOpenRows open_rows, Index rti, Index varno,
					 GpucolProgramKind kind, GpucolLowerNode lower_node)
{
	CustomScan *plan = castNode(CustomScan, rows_of->plan);

	gpucol_run_init(exec, node, NULL, varno, kind, lower_node);
	exec->rows_of = rows_of;
	exec->open_rows = open_rows;
	exec->rti = rti;
	exec->desc = ExecTypeFromTL(plan->custom_scan_tlist);
}

/* Is there a device now?  If not, *why says what is missing. */
static bool
cuda_available(const char **why)
{
	*why = "this build has no CUDA engine";
	return &gpucol_engine_cuda != NULL && gpucol_engine_cuda.available(why);
}

/*
 * Is a device what the settings ask for, and is there one?
 */
bool
gpucol_run_wants_device(void)
{
	return gpucol_engine_wants_device(cuda_available);
}

/*
 * Threads for one run: a parallel worker has its share of the processors.
 */
int
gpucol_run_threads(GpucolExec *exec)
{
	BlockNumber pages = 0;

	if (exec->parallel != NULL || IsParallelWorker())
		return 1;
	if (exec->rows_of != NULL)
		return exec->joins != NULL ? gpucol_plan_rows_threads(exec->rows_of) : 1;
	for (int i = 0; i < exec->nparts; i++)
		pages += RelationGetNumberOfBlocks(exec->parts[i].rel);
	if (exec->nparts == 0)
		pages = RelationGetNumberOfBlocks(exec->rel);
	return gpucol_cost_threads(pages);
}

/* Is there a device for the run, and is the choice ours? */
bool
gpucol_run_may_choose(GpucolExec *exec)
{
	const char *why;

	return exec->rows_of == NULL &&
		gpucol_engine_choice == GPUCOL_ENGINE_AUTO && cuda_available(&why);
}

/* The columns of the lowered program. */
static Bitmapset *
program_columns(const GpucolProgram *program)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program, const GpucolProgramColumn, columns);
	Bitmapset  *attnums = NULL;

	for (int i = 0; i < program->ncolumns; i++)
		attnums = bms_add_member(attnums, columns[i].attnum);
	return attnums;
}

/* The engine to try first: the rows of another node are in this process. */
static const GpucolEngine *
choose_engine(GpucolExec *exec)
{
	GpucolDeviceEstimate estimate;

	if (exec->rows_of != NULL || exec->cpu_only || exec->source->in_parts ||
		!gpucol_run_wants_device())
		return &gpucol_engine_cpu;
	if (exec->joins != NULL && exec->joins->parted)
	{
		exec->declined = "a joined table exceeds gpucol.memory_limit";
		return &gpucol_engine_cpu;
	}
	if (!gpucol_run_may_choose(exec))
		return &gpucol_engine_cuda;
	gpucol_device_estimate(exec, program_columns(exec->program), &estimate);
	return estimate.device ? &gpucol_engine_cuda : &gpucol_engine_cpu;
}

/* Context callback: let go of the engine whatever ended the run. */
static void
release_engine(void *arg)
{
	GpucolExec *exec = arg;

	if (exec->run != NULL)
		exec->engine->finish(exec->run);
	exec->run = NULL;
}

/* A reason that EXPLAIN shows; runs without number may give the same one. */
static const char *
keep_reason(GpucolExec *exec, const char *known, const char *why)
{
	return known != NULL && strcmp(known, why) == 0 ? known :
		MemoryContextStrdup(exec->node->ss.ps.state->es_query_cxt, why);
}

/* Note why the node must fall back. */
static GpucolStatus
fall_back(GpucolExec *exec, GpucolStatus status, const char *why)
{
	ListCell   *lc;

	foreach(lc, exec->lower != NULL && status == GPUCOL_UNSUPPORTED ? exec->lower->formed : NIL)
		gpucol_refuse_numeric_form(lfirst_oid(lc));
	exec->misformed = exec->lower != NULL && exec->lower->formed != NIL;
	exec->fallback = keep_reason(exec, exec->fallback, why ? why : "engine gave no reason");
	exec->fell_back = true;
	return status;
}

/* Lower the node's expressions with the values that parameters have now. */
static GpucolStatus
lower(GpucolExec *exec)
{
	GpucolLower *l;

	l = gpucol_lower_begin(exec->desc, exec->varno, &exec->node->ss.ps);
	if (exec->joins != NULL)
		gpucol_lower_over(l, exec->joins->pipe);
	l->reaches = gpucol_reach;
	l->reaches_arg = exec;
	exec->lower = l;
	if (!exec->lower_node(exec, l))
		return fall_back(exec, GPUCOL_UNSUPPORTED, l->reason);
	if (l->failed)
		return fall_back(exec, GPUCOL_UNSUPPORTED, "a constant of the query may raise an error that no row asks for");
	if (l->nhosts + l->norders > 0 && !gpucol_harmless_stack())
		return fall_back(exec, GPUCOL_UNSUPPORTED, "the statement has used up most of the stack");
	exec->never = l->never;
	if (exec->joins != NULL)
		exec->joins->pipe->dry |= l->dry;
	exec->program = gpucol_lower_finish(l, exec->kind);
	gpucol_host_init(&exec->host, l, &exec->node->ss.ps);
	return GPUCOL_OK;
}

/* Bytes that each participant of a parallel scan, or else the only one, may hold. */
static Size
participant_limit(GpucolExec *exec)
{
	Size		limit = gpucol_memory_query_limit();

	return exec->parallel != NULL ? limit / exec->parallel->nparticipants : limit;
}

GpucolBudget *
gpucol_run_budget(GpucolExec *exec)
{
	if (exec->budget == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(exec->node->ss.ps.state->es_query_cxt);

		exec->budget = gpucol_memory_open(participant_limit(exec), gpucol_memory_queries());
		MemoryContextSwitchTo(old);
	}
	return exec->budget;
}

/* Start one engine on the open source. */
static GpucolStatus
start_engine(GpucolExec *exec, const GpucolEngine *engine, const char **why)
{
	GpucolRunOptions options = {0};

	if (exec->joins != NULL && gpucol_joins_give(exec, engine, &options, why) != GPUCOL_OK)
		return GPUCOL_UNSUPPORTED;
	options.threads = gpucol_run_threads(exec);
	options.window_limit = participant_limit(exec);
	if (engine == &gpucol_engine_cpu && exec->kind == GPUCOL_PROGRAM_SCAN)
	{
		/* a scan holds what a few vectors take, however long a value is */
		options.memory_limit = 0;
		options.budget = gpucol_memory_session();
	}
	else if (exec->unlimited)
		options.budget = gpucol_memory_session();
	else
	{
		options.memory_limit = participant_limit(exec);
		if (exec->most > 0 && exec->most < options.memory_limit)
			options.memory_limit = exec->most;
		options.budget = gpucol_run_budget(exec);
	}
	options.part = exec->part;
	options.checked = exec->checked;
	options.look_ahead = exec->parallel == NULL;
	options.in_place = exec->in_place;
	options.large_batches = exec->large_batches;
	exec->engine = engine;
	exec->engine_name = engine->name;
	if (engine != &gpucol_engine_cpu && exec->make_shape != NULL)
	{
		memset(&exec->shape, 0, sizeof(exec->shape));
		if (!exec->make_shape(exec, &exec->shape, why))
			return GPUCOL_UNSUPPORTED;
		options.shape = &exec->shape;
	}
	options.first = exec->first;
	options.top = exec->top;
	options.jit = gpucol_jit;
	if (engine == &gpucol_engine_cpu && exec->make_take != NULL)
		options.take = exec->make_take(exec, options.threads, &options.take_arg);
	return engine->start(exec->program, exec->source, &exec->host, &options,
						 &exec->run, why);
}

/*
 * Take the figures of the engine's run and let it go.
 */
void
gpucol_run_finish(GpucolExec *exec)
{
	GpucolRunStats stats;

	if (exec->run == NULL)
		return;
	exec->engine->stats(exec->run, &stats);
	exec->stats.segments_read += stats.segments_read;
	exec->stats.segments_skipped += stats.segments_skipped;
	exec->stats.vectors_read += stats.vectors_read;
	exec->stats.vectors_skipped += stats.vectors_skipped;
	exec->stats.delta_rows += stats.delta_rows;
	exec->stats.packed_bytes += stats.packed_bytes;
	exec->stats.device_seconds += stats.device_seconds;
	exec->stats.daemon_seconds += stats.daemon_seconds;
	exec->stats.lookup_seconds += stats.lookup_seconds;
	exec->stats.plan_seconds += stats.plan_seconds;
	exec->stats.work_seconds += stats.work_seconds;
	exec->stats.begin_seconds += stats.begin_seconds;
	exec->stats.end_seconds += stats.end_seconds;
	exec->stats.note_seconds += stats.note_seconds;
	exec->stats.ask_seconds += stats.ask_seconds;
	exec->stats.fetch_seconds += stats.fetch_seconds;
	exec->stats.devices = Max(exec->stats.devices, stats.devices);
	exec->stats.batches = Max(exec->stats.batches, stats.batches);
	exec->stats.threads = Max(exec->stats.threads, stats.threads);
	exec->stats.branch_rows += stats.branch_rows;
	exec->stats.branch_taken += stats.branch_taken;
	if (stats.reduction.copies > 0)
		exec->stats.reduction = stats.reduction;
	strlcpy(exec->stats.kernel, stats.kernel, sizeof(exec->stats.kernel));
	strlcpy(exec->stats.note, stats.note, sizeof(exec->stats.note));
	if (exec->joins != NULL)
		gpucol_joins_figures(exec);
	exec->engine->finish(exec->run);
	exec->run = NULL;
}

/* Turn to the CPU engine after another one failed before the first row. */
static GpucolStatus
start_on_cpu(GpucolExec *exec, const char **why)
{
	gpucol_run_finish(exec);
	exec->source->ops->rescan(exec->source);
	return start_engine(exec, &gpucol_engine_cpu, why);
}

/* A column of what is read as one of a program. */
static GpucolProgramColumn
describe_column(TupleDesc desc, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	GpucolProgramColumn column = {.attnum = attnum,.type_oid = att->atttypid};
	GpucolTypeMap map;

	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	column.kind = map.kind;
	column.scale = map.scale;
	return column;
}

/*
 * The program columns, of those given, whose values may have another kind: decimals
 * may be NaN, and in segments any column whose type was changed without a rewrite
 * has its old kind (`old_types`), as numeric that was numeric(p,s).
 */
static int
doubtful_columns(TupleDesc desc, Bitmapset *attnums, bool old_types,
				 GpucolProgramColumn *columns, bool *decimals)
{
	int			n = 0;
	int			attnum = -1;

	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
	{
		GpucolProgramColumn column = describe_column(desc, attnum);

		*decimals |= column.kind == GPUCOL_KIND_DECIMAL;
		if (old_types || column.kind == GPUCOL_KIND_DECIMAL)
			columns[n++] = column;
	}
	return n;
}

/* Have all segments the program's columns? */
static bool
check_segments(GpucolSource *source)
{
	GpucolSegment segment;
	GpucolStatus status;

	while ((status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
		source->ops->check_interrupts(source);
	return status == GPUCOL_END;
}

/* Has every delta row values of the columns' kinds? */
static bool
check_delta(GpucolSource *source)
{
	GpucolDelta delta;
	GpucolStatus status;

	while ((status = source->ops->next_delta(source, &delta)) == GPUCOL_OK)
		source->ops->check_interrupts(source);
	return status == GPUCOL_END;
}

/* Open the source of one part: the columns where the part has them. */
static GpucolSource *
open_part(GpucolExec *exec, const GpucolExecPart *part, const GpucolProgramColumn *from, int n)
{
	GpucolProgramColumn *columns = palloc(Max(n, 1) * sizeof(GpucolProgramColumn));

	for (int c = 0; c < n; c++)
	{
		columns[c] = from[c];
		columns[c].attnum = list_nth_int(part->attnums, from[c].attnum - 1);
	}
	return gpucol_source_open(part->rel, exec->node->ss.ps.state->es_snapshot,
							  columns, n, NULL);
}

/* Open columns of the table, or of its parts as one source. */
static GpucolSource *
open_tables(GpucolExec *exec, const GpucolProgramColumn *columns, int n)
{
	GpucolSource **parts;

	if (exec->nparts == 0)
		return gpucol_source_open(exec->rel, exec->node->ss.ps.state->es_snapshot,
								  columns, n, NULL);
	parts = palloc(exec->nparts * sizeof(GpucolSource *));
	for (int i = 0; i < exec->nparts; i++)
		parts[i] = open_part(exec, &exec->parts[i], columns, n);
	return gpucol_source_join(parts, exec->nparts);
}

/*
 * Do all values of these columns have their column's kind?
 */
bool
gpucol_run_check_values(GpucolExec *exec, Bitmapset *attnums, bool old_types)
{
	MemoryContext old = MemoryContextSwitchTo(exec->context);
	GpucolProgramColumn *columns;
	bool		decimals = false;
	int			n;

	columns = palloc(Max(bms_num_members(attnums), 1) * sizeof(GpucolProgramColumn));
	n = doubtful_columns(exec->desc, attnums, old_types, columns, &decimals);
	exec->checked = true;
	if (n > 0)
	{
		GpucolSource *source;

		source = open_tables(exec, columns, n);
		exec->checked = check_segments(source) && (!decimals || check_delta(source));
		if (exec->checked && old_types &&
			gpucol_harmless_grows((Node *) castNode(CustomScan, exec->node->ss.ps.plan)->custom_exprs))
		{
			source->ops->rescan(source);
			exec->checked = gpucol_long_values_none(source, columns, n);
		}
		source->ops->close(source);
	}
	MemoryContextSwitchTo(old);
	if (!exec->checked)
		exec->fallback = "a value that engines do not compute with";
	return exec->checked;
}

/* Remove columns in which a segment or a delta row has a NULL. */
static GpucolStatus
remove_with_nulls(GpucolSource *source, const GpucolProgramColumn *columns, int n,
				  Bitmapset **filled)
{
	GpucolSegment segment;
	GpucolDelta delta;
	GpucolStatus status;

	while ((status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
	{
		for (int c = 0; c < n; c++)
		{
			if (segment.chunks[c]->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL))
				*filled = bms_del_member(*filled, columns[c].attnum);
		}
		source->ops->check_interrupts(source);
	}
	while (status == GPUCOL_END &&
		   (status = source->ops->next_delta(source, &delta)) == GPUCOL_OK)
	{
		for (int c = 0; c < n; c++)
		{
			for (uint32 i = 0; i < delta.nrows && delta.columns[c].nulls != NULL; i++)
			{
				if (delta.columns[c].nulls[i / 32] >> (i % 32) & 1)
					*filled = bms_del_member(*filled, columns[c].attnum);
			}
		}
		source->ops->check_interrupts(source);
		status = GPUCOL_END;
	}
	return status;
}

/*
 * Which of these columns have no NULL?
 */
Bitmapset *
gpucol_run_filled_columns(GpucolExec *exec, Bitmapset *attnums)
{
	Bitmapset  *filled = bms_copy(attnums);
	GpucolProgramColumn *columns;
	GpucolSource *source;
	int			attnum = -1;
	int			n = 0;

	if (bms_is_empty(attnums) || exec->rel == NULL)
		return NULL;
	columns = palloc(bms_num_members(attnums) * sizeof(GpucolProgramColumn));
	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
		columns[n++] = describe_column(exec->desc, attnum);
	source = gpucol_source_open(exec->rel, exec->node->ss.ps.state->es_snapshot,
								columns, n, NULL);
	if (remove_with_nulls(source, columns, n, &filled) != GPUCOL_END)
		filled = NULL;
	source->ops->close(source);
	return filled;
}

/* What the program reads. */
static GpucolSource *
open_source(GpucolExec *exec)
{
	const GpucolProgramColumn *columns =
		GPUCOL_PROGRAM_ARRAY(exec->program, GpucolProgramColumn, columns);

	if (exec->never || (exec->joins != NULL && exec->joins->pipe->dry))
		return gpucol_source_of_nothing();
	if (exec->kept != NULL)
		return gpucol_plan_rows_open_kept(exec->kept, columns, exec->program->ncolumns);
	if (exec->begun != NULL)
		return gpucol_plan_rows_open_begun(exec->begun, exec->desc, columns, exec->program->ncolumns);
	if (exec->rows_of != NULL)
		return exec->open_rows(exec->rows_of, exec->desc, columns, exec->program->ncolumns);
	if (exec->parallel != NULL)
		return gpucol_source_open(exec->rel, exec->node->ss.ps.state->es_snapshot,
								  columns, exec->program->ncolumns, exec->parallel->source);
	return open_tables(exec, columns, exec->program->ncolumns);
}

/*
 * Open what exec->program reads.
 */
void
gpucol_run_open(GpucolExec *exec)
{
	exec->source = open_source(exec);
}

/*
 * Close it, if it is open.
 */
void
gpucol_run_close(GpucolExec *exec)
{
	if (exec->source == NULL)
		return;
	exec->source->ops->close(exec->source);
	exec->source = NULL;
}

/*
 * Rows once delivered are final: can engines compute with all values of the open source,
 * which is then to be read anew?
 */
static bool
check_source(GpucolExec *exec)
{
	GpucolSource *source = exec->source;
	const GpucolProgramColumn *columns =
		GPUCOL_PROGRAM_ARRAY(exec->program, GpucolProgramColumn, columns);
	bool		fits = check_segments(source);

	source->ops->rescan(source);
	if (fits && gpucol_host_may_refuse(&exec->host))
	{
		fits = gpucol_long_values_none(source, columns, exec->program->ncolumns);
		source->ops->rescan(source);
	}
	return fits;
}

/* Note why the device left the query to the CPU engine. */
static void
note_declined(GpucolExec *exec, const char *why)
{
	ereport(DEBUG1,
			(errmsg_internal("gpucol: engine %s left a query to the CPU: %s",
							 exec->engine->name, why)));
	exec->declined = keep_reason(exec, exec->declined, why);
}

/* The reason to give for a status of a running engine. */
static const char *
status_reason(GpucolStatus status)
{
	switch (status)
	{
		case GPUCOL_OUT_OF_MEMORY:
			return "engine ran out of memory";
		case GPUCOL_DEVICE_LOST:
			return "device lost";
		default:
			return "a value that engines do not compute with";
	}
}

/*
 * Build the tables of the pipe, and look at the rows that flow where they must be known: at the
 * first before, where that is cheap, since without one most tables are not needed.
 */
static GpucolStatus
prepare_joins(GpucolExec *exec)
{
	GpucolPipe *pipe = exec->joins->pipe;
	CustomScan *cscan = castNode(CustomScan, exec->node->ss.ps.plan);
	GpucolStatus status;

	if (!pipe->dry && exec->kept == NULL && gpucol_joins_want_row(exec->joins, exec->rows_of))
	{
		gpucol_memory_watch(exec->context, release_engine, exec);
		if (exec->rows_of == NULL)
			pipe->dry = !gpucol_reach_joins(exec);
		else
		{
			exec->begun = gpucol_plan_rows_begin(exec->rows_of);
			pipe->dry = exec->begun == NULL;
		}
	}
	status = gpucol_joins_build(exec);
	if (status != GPUCOL_OK)
		return fall_back(exec, status, exec->joins->fallback);
	if (exec->rows_of != NULL && !pipe->dry && exec->kept == NULL &&
		!gpucol_plan_rows_look(exec->rows_of, exec->begun, pipe,
							   exec->kind == GPUCOL_PROGRAM_SCAN,
							   gpucol_harmless_grows((Node *) cscan->custom_scan_tlist),
							   exec->keeps || exec->joins->parted, &exec->kept))
		return fall_back(exec, GPUCOL_UNSUPPORTED, status_reason(GPUCOL_UNSUPPORTED));
	return GPUCOL_OK;
}

/*
 * Lower, open the source, start an engine.  With `device_only`, GPUCOL_UNSUPPORTED
 * where that would be the CPU engine.
 */
static GpucolStatus
start(GpucolExec *exec, bool device_only)
{
	const GpucolEngine *engine;
	const char *why = NULL;
	GpucolStatus status;
	instr_time	begin;
	instr_time	opened;

	INSTR_TIME_SET_CURRENT(begin);
	exec->started = true;
	exec->emitted = false;
	if (exec->joins != NULL)
	{
		status = prepare_joins(exec);
		if (status != GPUCOL_OK)
			return status;
	}
	gpucol_memory_watch(exec->context, release_engine, exec);
	status = lower(exec);
	if (status != GPUCOL_OK || (exec->never && exec->kind != GPUCOL_PROGRAM_BUILD))
		return status;

	if (exec->rows_of == NULL && !exec->cpu_only && gpucol_engine_choice != GPUCOL_ENGINE_CPU)
		gpucol_wire_announce();
	gpucol_run_open(exec);
	INSTR_TIME_SET_CURRENT(opened);
	INSTR_TIME_SUBTRACT(opened, begin);
	exec->stats.open_seconds += INSTR_TIME_GET_DOUBLE(opened);
	if (exec->kind == GPUCOL_PROGRAM_SCAN && exec->parallel == NULL &&
		exec->rows_of == NULL && !check_source(exec))
		return fall_back(exec, GPUCOL_UNSUPPORTED, status_reason(GPUCOL_UNSUPPORTED));
	engine = choose_engine(exec);
	if (device_only && engine == &gpucol_engine_cpu)
		return GPUCOL_UNSUPPORTED;
	if (engine != &gpucol_engine_cpu)
		gpucol_prefetch_for(exec);
	status = start_engine(exec, engine, &why);
	if (GPUCOL_STATUS_IS_FALLBACK(status) && engine != &gpucol_engine_cpu)
	{
		note_declined(exec, why);
		if (device_only)
			return status;
		status = start_on_cpu(exec, &why);
	}
	if (status != GPUCOL_OK)
		return fall_back(exec, status, why);
	return GPUCOL_OK;
}

/*
 * The result of a program that no row passes: nothing, but one group where
 * there are no keys.
 */
static GpucolStatus
empty_result(GpucolExec *exec, GpucolResult *result)
{
	if (exec->kind == GPUCOL_PROGRAM_SCAN || exec->program->nkeys > 0 ||
		exec->emitted)
		return GPUCOL_END;
	memset(result, 0, sizeof(*result));
	result->nrows = 1;
	result->states = palloc0(Max(exec->program->naggs, 1) *
							 sizeof(GpucolAggState));
	exec->emitted = true;
	return GPUCOL_OK;
}

/*
 * May whoever reads the rows stop before one that raises an error?  A device computes
 * all rows before the first; the CPU engine raises the error in the row's place.
 */
static bool
delivers_in_order(const GpucolExec *exec)
{
	return exec->kind == GPUCOL_PROGRAM_SCAN && exec->make_shape == NULL;
}

/*
 * What an engine has made of answers that were none is void.  PostgreSQL raises the errors of
 * rows that are joined, if its plan comes to them.
 */
static GpucolStatus
judge(const GpucolExec *exec, GpucolStatus status)
{
	if (exec->joins != NULL && !exec->emitted && GPUCOL_STATUS_IS_OF_ROW(status))
		return GPUCOL_UNSUPPORTED;
	return gpucol_host_refused(&exec->host) ? GPUCOL_UNSUPPORTED : status;
}

/* Next batch of the engine that runs. */
static GpucolStatus
next_batch(GpucolExec *exec, GpucolResult *result)
{
	const char *why = NULL;
	GpucolStatus status;

	memset(result, 0, sizeof(*result));
	status = judge(exec, exec->engine->next(exec->run, result));
	if (exec->engine != &gpucol_engine_cpu && !exec->emitted &&
		(GPUCOL_STATUS_IS_FALLBACK(status) ||
		 (GPUCOL_STATUS_IS_OF_ROW(status) && delivers_in_order(exec))))
	{
		status = start_on_cpu(exec, &why);
		if (status != GPUCOL_OK)
			return fall_back(exec, status, why);
		status = judge(exec, exec->engine->next(exec->run, result));
	}
	while (gpucol_group_part_begins(exec, &status))
	{
		status = start_on_cpu(exec, &why);
		if (status == GPUCOL_OK)
			status = judge(exec, exec->engine->next(exec->run, result));
	}
	if (GPUCOL_STATUS_IS_FALLBACK(status) && (!exec->emitted || exec->withholds))
		return fall_back(exec, status, status_reason(status));
	if (status == GPUCOL_OK)
		exec->emitted = true;
	return status;
}

/*
 * The table to name in an error, NULL for the rows of another node.
 */
Relation
gpucol_run_table(const GpucolExec *exec)
{
	return exec->rel != NULL || exec->nparts == 0 ? exec->rel : exec->parts[0].rel;
}

/*
 * Lower and start, unless that is done.
 */
GpucolStatus
gpucol_run_start(GpucolExec *exec)
{
	MemoryContext old = MemoryContextSwitchTo(exec->context);
	GpucolStatus status = exec->started ? GPUCOL_OK : start(exec, false);

	MemoryContextSwitchTo(old);
	if (status != GPUCOL_OK && !exec->fell_back)
		gpucol_status_raise(status, gpucol_run_table(exec));
	return status;
}

/*
 * Next batch of results.
 */
GpucolStatus
gpucol_run_next(GpucolExec *exec, GpucolResult *result)
{
	GpucolStatus status = gpucol_run_start(exec);
	MemoryContext old = MemoryContextSwitchTo(exec->context);

	if (status == GPUCOL_OK)
		status = exec->never ? empty_result(exec, result) :
			next_batch(exec, result);
	MemoryContextSwitchTo(old);
	if (status != GPUCOL_OK && status != GPUCOL_END && !exec->fell_back)
		gpucol_status_raise(status, gpucol_run_table(exec));
	return status;
}

/*
 * Build a table.
 */
GpucolStatus
gpucol_run_build(GpucolExec *exec, GpucolLookup **lookup)
{
	GpucolStatus status = gpucol_run_start(exec);
	MemoryContext old = MemoryContextSwitchTo(exec->context);

	if (status == GPUCOL_OK)
	{
		status = exec->engine->build(exec->run, lookup);
		if (status == GPUCOL_OK && judge(exec, status) != GPUCOL_OK)
		{
			exec->engine->lookup_free(*lookup);
			*lookup = NULL;
			status = GPUCOL_UNSUPPORTED;
		}
		status = judge(exec, status);
		if (GPUCOL_STATUS_IS_FALLBACK(status))
			status = fall_back(exec, status, status_reason(status));
	}
	MemoryContextSwitchTo(old);
	if (status != GPUCOL_OK && !exec->fell_back)
		gpucol_status_raise(status, gpucol_run_table(exec));
	return status;
}

/*
 * Start on the device or not at all.
 */
bool
gpucol_run_on_device(GpucolExec *exec)
{
	MemoryContext old = MemoryContextSwitchTo(exec->context);
	GpucolStatus status = start(exec, true);

	MemoryContextSwitchTo(old);
	if (status == GPUCOL_OK)
		return true;
	gpucol_run_end(exec);
	exec->cpu_only = true;
	return false;
}

/*
 * Have the ordinary plan begin again.
 */
void
gpucol_run_rescan_fallback(CustomScanState *node, PlanState *fallback)
{
	if (fallback == NULL)
		return;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(fallback, node->ss.ps.chgParam);
	if (fallback->chgParam == NULL)
		ExecReScan(fallback);
}

/*
 * End the run in progress, if any.
 */
void
gpucol_run_end(GpucolExec *exec)
{
	gpucol_run_finish(exec);
	gpucol_run_close(exec);
	if (!exec->keeps)
		gpucol_run_end_rows(exec);
	exec->begun = NULL;
	exec->groups = NULL;
	exec->part = NULL;
	if (exec->joins != NULL)
		gpucol_joins_end(exec);
	exec->lower = NULL;
	exec->program = NULL;
	exec->started = false;
	exec->fell_back = false;
	exec->never = false;
	exec->emitted = false;
	gpucol_memory_reset(exec->context);
}
