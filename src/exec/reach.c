/*-------------------------------------------------------------------------
 *
 * reach.c
 *	  Does any row pass the conditions that have been lowered so far?
 *
 * PostgreSQL evaluates what may raise an error or run a user's code for rows that get as
 * far only.  A run evaluates it once, before it starts, so it finds out first whether
 * there is such a row (planner/lower_const.c): the CPU engine scans with the conditions
 * before, up to the first row.  Mostly that is the first vector it reads; where no row
 * passes, the statement has no rows either, and nothing is left to be run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "columnar/source.h"
#include "exec/join_build.h"
#include "lower/harmless.h"
#include "lower/host_test.h"
#include "service/memory.h"

/* Conditions as a program of their own, without outputs. */
static GpucolProgram *
make_program(GpucolLower *prefix)
{
	prefix->nkeys = 0;
	prefix->naggs = 0;
	prefix->nfilter_instrs = prefix->ninstrs;
	return gpucol_lower_finish(prefix, GPUCOL_PROGRAM_SCAN);
}

/* Has the run a row?  Raises the error of a row that comes before the first. */
static GpucolReached
find_row(GpucolExec *exec, const GpucolHost *host)
{
	GpucolResult result;
	GpucolStatus status;

	do
	{
		memset(&result, 0, sizeof(result));
		status = exec->engine->next(exec->run, &result);
	} while (status == GPUCOL_OK && result.nrows == 0);
	if (gpucol_host_refused(host))
		return GPUCOL_REACHED_UNDECIDED;
	if (status == GPUCOL_OK)
		return GPUCOL_REACHED_YES;
	if (status == GPUCOL_END)
		return GPUCOL_REACHED_NO;
	if (GPUCOL_STATUS_IS_FALLBACK(status))
		return GPUCOL_REACHED_UNDECIDED;
	gpucol_status_raise(status, gpucol_run_table(exec));
}

/* Run the program on the CPU engine; the source is open. */
static GpucolReached
run_program(GpucolExec *exec, const GpucolHost *host)
{
	GpucolRunOptions options = {
		.threads = gpucol_run_threads(exec),
		.window_limit = gpucol_memory_query_limit(),
		.budget = gpucol_memory_session(),
		.checked = exec->checked
	};
	const char *why;
	GpucolReached reached;

	exec->engine = &gpucol_engine_cpu;
	if (exec->engine->start(exec->program, exec->source, host, &options, &exec->run,
							&why) != GPUCOL_OK)
		return GPUCOL_REACHED_UNDECIDED;
	reached = find_row(exec, host);
	exec->engine->finish(exec->run);
	exec->run = NULL;
	return reached;
}

/* Does a row pass the conditions that `prefix` has lowered? */
static GpucolReached
look_for_row(GpucolExec *exec, GpucolLower *prefix)
{
	GpucolParallel *parallel = exec->parallel;
	GpucolHost	host;
	GpucolReached reached;

	exec->program = make_program(prefix);
	gpucol_host_init(&host, prefix, &exec->node->ss.ps);
	exec->parallel = NULL;		/* each participant looks for itself */
	gpucol_run_open(exec);
	exec->parallel = parallel;
	reached = run_program(exec, &host);
	gpucol_run_close(exec);
	exec->program = NULL;
	exec->engine = NULL;
	return reached;
}

/*
 * GpucolReaches of a run, whose GpucolExec is `arg`.  Uses the fields of the run that is
 * about to start, so that it is released like any other whatever ends it.
 */
GpucolReached
gpucol_reach(void *arg, const GpucolLower *l)
{
	GpucolExec *exec = arg;
	GpucolLower prefix = *l;

	if (l->before->never)
		return GPUCOL_REACHED_NO;
	/* the conditions do not tell which rows joins leave */
	if (l->failed || (l->past_filter && exec->joins != NULL && exec->joins->nsteps > 0))
		return GPUCOL_REACHED_UNDECIDED;
	gpucol_lower_restore(&prefix, l->before);
	return look_for_row(exec, &prefix);
}

/*
 * Does a row of the table that is read pass the conditions of its pipe?  Like PostgreSQL's
 * hash join, a run asks before it makes the tables that rows are looked up in.
 */
bool
gpucol_reach_joins(GpucolExec *exec)
{
	const GpucolPipe *pipe = exec->joins->pipe;
	GpucolLower *l = gpucol_pipe_begin(pipe, &exec->node->ss.ps);
	ListCell   *lc;

	l->reaches = gpucol_reach;
	l->reaches_arg = exec;
	foreach(lc, pipe->conditions)
	{
		if (!gpucol_lower_qual(l, (Expr *) gpucol_pipe_map(pipe, lfirst(lc)), true))
			return true;
	}
	if (l->never)
		return false;
	gpucol_lower_end_filter(l);
	return l->failed || (l->nhosts + l->norders > 0 && !gpucol_harmless_stack()) ||
		look_for_row(exec, l) != GPUCOL_REACHED_NO;
}
