/*-------------------------------------------------------------------------
 *
 * join_build.c
 *	  Building the tables of a pipe's joins.
 *
 * Each table is the result of a run of its own (exec/run.c) over its pipe, whose tables
 * are built before.  All runs of a node share its budget.  The tables last as long as the
 * run of the pipe, and are released after it by a callback of the same context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/row_batch.h"
#include "exec/join_build.h"
#include "exec/plan_rows.h"
#include "guc.h"
#include "plan/parts.h"
#include "service/memory.h"

/* ------------------------------------------------------------------------
 * A source without rows
 * ------------------------------------------------------------------------
 */

static GpucolStatus
no_delta(GpucolSource *source pg_attribute_unused(), GpucolDelta *out pg_attribute_unused())
{
	return GPUCOL_END;
}

GpucolSource *
gpucol_source_of_nothing(void)
{
	static const GpucolSourceOps ops = {
		.next_segment = gpucol_row_batch_no_segment,
		.next_delta = no_delta,
		.rescan = gpucol_row_batch_hold_nothing,
		.check_interrupts = gpucol_row_batch_hold_nothing,
		.close = gpucol_row_batch_hold_nothing,
	};
	GpucolSource *source = palloc0(sizeof(GpucolSource));

	source->ops = &ops;
	return source;
}

/* ------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------
 */

/* Lower the making of a table. */
static bool
lower_build(GpucolExec *exec, GpucolLower *l)
{
	const GpucolBuild *build = (const GpucolBuild *) exec;

	l->aggregating = true;		/* the run may fall back at any row */
	return gpucol_pipe_lower(l, exec->joins->pipe) && gpucol_pipe_lower_build(l, build->step);
}

/* The state of the plan whose rows a pipe reads. */
static PlanState *
plan_state(const GpucolPipe *pipe, const EState *estate, const List *children)
{
	return pipe->child < 0 ? list_nth(estate->es_subplanstates, -pipe->child - 1) :
		list_nth(children, pipe->child - 1);
}

/* The columns of the tables of a UNION ALL. */
static TupleDesc
union_desc(const GpucolPipe *pipe, EState *estate)
{
	int			n = list_length(pipe->part_rtis);
	TupleDesc  *tables = palloc(n * sizeof(TupleDesc));
	List	  **attnums = palloc(n * sizeof(List *));

	for (int i = 0; i < n; i++)
	{
		tables[i] = gpucol_parts_table_desc(exec_rt_fetch(list_nth_int(pipe->part_rtis, i), estate)->relid);
		attnums[i] = list_nth(pipe->part_attnums, i);
	}
	return gpucol_parts_desc(n, tables, attnums);
}

/* Open what the rows of a pipe and of those below it come from. */
static void
open_sources(GpucolPipe *pipe, EState *estate, List *children, int eflags)
{
	ListCell   *lc;

	if (pipe->sets != NIL)
		gpucol_pipe_source(pipe, gpucol_pipe_exprs_desc(pipe->outputs));
	else if (pipe->rti != 0 && exec_rt_fetch(pipe->rti, estate)->rtekind != RTE_RELATION)
		gpucol_pipe_source(pipe, union_desc(pipe, estate));
	else if (pipe->rti != 0)
	{
		Relation	rel = ExecOpenScanRelation(estate, pipe->rti, eflags);

		gpucol_pipe_source(pipe, RelationGetDescr(rel));
		pipe->table = RelationGetRelid(rel);
	}
	else
		gpucol_pipe_source(pipe, ExecGetResultType(plan_state(pipe, estate, children)));
	foreach(lc, pipe->steps)
		open_sources(((GpucolPipeStep *) lfirst(lc))->build, estate, children, eflags);
}

/* A set-returning function has no table: nothing is run to make one. */
static void
init_set(GpucolBuild *build)
{
	build->exec.joins = palloc0(sizeof(GpucolJoins));
	build->exec.joins->pipe = build->step->build;
}

/* What a step of first rows asks of the engine, but for its registers. */
static GpucolProbeOrder
make_order(const GpucolPipeStep *step)
{
	GpucolProbeOrder order = {.most = step->most,.skipped = step->skipped,.nkeys = list_length(step->order)};
	bool	   *descending = palloc(Max(order.nkeys, 1) * sizeof(bool));
	bool	   *nulls_first = palloc(Max(order.nkeys, 1) * sizeof(bool));

	for (int i = 0; i < order.nkeys; i++)
	{
		descending[i] = list_nth_int(step->descending, i) != 0;
		nulls_first[i] = list_nth_int(step->nulls_first, i) != 0;
	}
	order.descending = descending;
	order.nulls_first = nulls_first;
	return order;
}

/* The orders of a pipe's steps; of several first rows they are the CPU engine's. */
static void
init_orders(GpucolExec *exec, GpucolJoins *joins)
{
	for (int i = 0; i < joins->nsteps; i++)
	{
		const GpucolPipeStep *step = joins->builds[i].step;

		if (step->most == 0)
			continue;
		if (joins->orders == NULL)
			joins->orders = palloc0(joins->nsteps * sizeof(GpucolProbeOrder));
		joins->orders[i] = make_order(step);
		exec->cpu_only |= step->most > 1;
	}
}

/* Prepare the run over a pipe that is laid out, and those of its tables. */
static void
init_run(GpucolExec *exec, CustomScanState *node, GpucolPipe *pipe, List *children,
		 GpucolProgramKind kind, GpucolLowerNode lower_node)
{
	EState	   *estate = node->ss.ps.state;
	GpucolJoins *joins = palloc0(sizeof(GpucolJoins));

	gpucol_run_init(exec, node, pipe->rti == 0 ? NULL :
					estate->es_relations[pipe->rti - 1], pipe->varno, kind, lower_node);
	exec->desc = pipe->desc;
	exec->joins = joins;
	gpucol_run_open_parts(exec, pipe->part_rtis, pipe->part_attnums);
	if (pipe->rti == 0)
	{
		exec->rows_of = plan_state(pipe, estate, children);
		exec->open_rows = gpucol_plan_rows_open;
	}
	joins->pipe = pipe;
	joins->nsteps = list_length(pipe->steps);
	joins->builds = palloc0(Max(joins->nsteps, 1) * sizeof(GpucolBuild));
	joins->lookups = palloc0(Max(joins->nsteps, 1) * sizeof(GpucolLookup *));
	joins->turns = palloc0(Max(joins->nsteps, 1) * sizeof(GpucolTurn));
	joins->engines = palloc0(Max(joins->nsteps, 1) * sizeof(GpucolEngine *));
	for (int i = 0; i < joins->nsteps; i++)
	{
		GpucolBuild *build = &joins->builds[i];

		build->step = list_nth(pipe->steps, i);
		if (build->step->build->sets != NIL)
		{
			init_set(build);
			continue;
		}
		init_run(&build->exec, node, build->step->build, children, GPUCOL_PROGRAM_BUILD,
				 lower_build);
	}
	init_orders(exec, joins);
}

/*
 * Prepare a run over a pipe.
 */
void
gpucol_joins_init(GpucolExec *exec, CustomScanState *node, GpucolPipe *pipe, List *above,
				  List *children, int eflags, GpucolProgramKind kind,
				  GpucolLowerNode lower_node)
{
	open_sources(pipe, node->ss.ps.state, children, eflags);
	gpucol_pipe_layout(pipe, above, kind != GPUCOL_PROGRAM_SCAN);
	init_run(exec, node, pipe, children, kind, lower_node);
}

/* Let a table go. */
static void
free_lookup(GpucolJoins *joins, int i)
{
	if (joins->lookups[i] != NULL)
		joins->engines[i]->lookup_free(joins->lookups[i]);
	joins->lookups[i] = NULL;
}

/* Context callback: let the tables go whatever ended the run. */
static void
release_lookups(void *arg)
{
	GpucolJoins *joins = arg;

	for (int i = 0; i < joins->nsteps; i++)
		free_lookup(joins, i);
}

/* Take over what is known of a table. */
static void
note_table(GpucolJoins *joins, int i)
{
	GpucolBuild *build = &joins->builds[i];
	GpucolPipeStep *step = build->step;
	bool		whole = build->whole;

	step->built = true;
	step->empty = whole && build->figures.rows == 0 &&
		(!build->figures.has_null || !gpucol_pipe_step_has_tail(step));
	for (int k = 0; k < GPUCOL_KEY_RANGES; k++)
	{
		step->ranges[k] = build->figures.ranges[k];
		step->ranges[k].known &= whole;
	}
	gpucol_pipe_take_decimals(joins->pipe, step);
}

/* Build a table, an empty one if no row is looked up in it; on the device if that may be. */
static GpucolStatus
build_table(GpucolExec *exec, int i, bool device)
{
	GpucolJoins *joins = exec->joins;
	GpucolExec *build = &joins->builds[i].exec;
	GpucolStatus status;

	joins->turns[i] = (GpucolTurn) {.nparts = 1};
	if (joins->builds[i].step->build->sets != NIL)
		return GPUCOL_OK;
	if (joins->builds[i].step->build->child < 0 &&
		!bms_is_empty(build->rows_of->plan->extParam))
	{
		joins->fallback = "a query in a condition depends on others";
		return GPUCOL_UNSUPPORTED;
	}
	build->budget = gpucol_run_budget(exec);
	build->cpu_only = !device || !joins->builds[i].wanted || build->joins->orders != NULL;
	if (!build->cpu_only && build->rows_of == NULL)
		gpucol_join_keep_rows(build);	/* the CPU engine may have to make it again */
	status = gpucol_join_part_build(exec, i, joins->builds[i].wanted);
	if (status != GPUCOL_OK)
	{
		joins->fallback = build->fallback;
		return status;
	}
	note_table(joins, i);
	joins->parted |= joins->turns[i].nparts > 1;
	return GPUCOL_OK;
}

/*
 * May tables be built on the device?  Where the run itself asks for it: `auto` knows only
 * when all tables are there whether it will.
 */
static bool
may_build_on_device(const GpucolExec *exec)
{
	return gpucol_engine_choice == GPUCOL_ENGINE_CUDA && !exec->cpu_only && exec->rows_of == NULL &&
		exec->parallel == NULL;
}

/* What it costs to read a table as a heap of its size and rows. */
static Cost
reading_cost(Relation rel)
{
	return seq_page_cost * RelationGetNumberOfBlocks(rel) +
		cpu_tuple_cost * Max(rel->rd_rel->reltuples, 0);
}

/* What PostgreSQL's planner would take the making of a table for, about. */
static Cost
making_cost(const GpucolExec *build)
{
	Cost		cost = 0;

	if (build->rows_of != NULL)
		cost = build->rows_of->plan->total_cost;
	else if (build->nparts == 0)
		cost = reading_cost(build->rel);
	for (int i = 0; i < build->nparts; i++)
		cost += reading_cost(build->parts[i].rel);
	for (int i = 0; i < build->joins->nsteps; i++)
	{
		const GpucolBuild *below = &build->joins->builds[i];

		if (below->step->build->sets == NIL)
			cost += making_cost(&below->exec);
	}
	return cost;
}

/*
 * Is the first row looked for before the tables are made?
 */
bool
gpucol_joins_want_row(const GpucolJoins *joins, const PlanState *rows_of)
{
	const GpucolBuild *first = &joins->builds[0];

	if (joins->nsteps == 0 || gpucol_pipe_step_has_tail(first->step))
		return false;
	return rows_of == NULL || first->step->build->sets != NIL ||
		rows_of->plan->startup_cost < making_cost(&first->exec);
}

/*
 * Build all tables.
 */
GpucolStatus
gpucol_joins_build(GpucolExec *exec)
{
	GpucolJoins *joins = exec->joins;
	bool		flows = !joins->pipe->dry;

	gpucol_memory_watch(exec->context, release_lookups, joins);
	for (int i = 0; i < joins->nsteps; i++)
	{
		GpucolPipeStep *step = joins->builds[i].step;
		GpucolStatus status;

		joins->builds[i].wanted = flows || gpucol_pipe_step_has_tail(step);
		status = build_table(exec, i, may_build_on_device(exec));
		if (status != GPUCOL_OK)
			return status;
		flows = gpucol_pipe_flows_behind(step, flows);
	}
	joins->pipe->dry |= !flows;
	return GPUCOL_OK;
}

/* Build the device's tables again, by the CPU engine. */
static GpucolStatus
build_on_cpu(GpucolExec *exec)
{
	GpucolJoins *joins = exec->joins;

	for (int i = 0; i < joins->nsteps; i++)
	{
		GpucolStatus status;

		if (joins->lookups[i] == NULL || joins->engines[i] == &gpucol_engine_cpu)
			continue;
		free_lookup(joins, i);
		status = build_table(exec, i, false);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/*
 * Give a run the tables.
 */
GpucolStatus
gpucol_joins_give(GpucolExec *exec, const GpucolEngine *engine, GpucolRunOptions *options,
				  const char **why)
{
	GpucolJoins *joins = exec->joins;
	GpucolStatus status = engine == &gpucol_engine_cpu ? build_on_cpu(exec) : GPUCOL_OK;

	options->lookups = joins->lookups;
	options->nlookups = joins->nsteps;
	options->lookup_engines = joins->engines;
	for (int i = 0; joins->orders != NULL && i < joins->nsteps; i++)
		joins->orders[i].keys = joins->builds[i].step->order_keys;
	options->orders = joins->orders;
	if (joins->parted)
	{
		options->turns = joins->turns;
		options->next_turn = gpucol_joins_next_turn;
		options->next_turn_arg = exec;
	}
	if (status != GPUCOL_OK)
		*why = joins->fallback;
	return status;
}

/*
 * Add the figures of the run in progress.
 */
void
gpucol_joins_figures(GpucolExec *exec)
{
	for (int i = 0; i < exec->joins->nsteps; i++)
	{
		GpucolProbeFigures figures;
		GpucolBuild *build = &exec->joins->builds[i];

		exec->engine->probe_figures(exec->run, i, &figures);
		build->probed.probed += figures.probed;
		build->probed.found += figures.found;
		build->probed.bounded |= figures.bounded;
		build->probed.pairs += figures.pairs;
	}
}

/*
 * Let the tables go, and the runs that made them.
 */
void
gpucol_joins_end(GpucolExec *exec)
{
	GpucolJoins *joins = exec->joins;

	for (int i = 0; i < joins->nsteps; i++)
	{
		if (joins->builds[i].step->build->sets != NIL)
			continue;
		gpucol_run_end(&joins->builds[i].exec);
		free_lookup(joins, i);
		joins->builds[i].step->built = false;
		if (!exec->keeps)
		{
			joins->builds[i].fitted = 0;
			gpucol_run_forget_rows(&joins->builds[i].exec);
		}
	}
	joins->parted = false;
	joins->pipe->dry = false;
}

/*
 * Close the tables that are read as one.
 */
void
gpucol_joins_close(GpucolExec *exec)
{
	gpucol_run_close_parts(exec);
	for (int i = 0; exec->joins != NULL && i < exec->joins->nsteps; i++)
		gpucol_joins_close(&exec->joins->builds[i].exec);
}
