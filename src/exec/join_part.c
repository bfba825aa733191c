/*-------------------------------------------------------------------------
 *
 * join_part.c
 *	  Tables that exceed memory, in parts.
 *
 * Where a table does not fit in what is left of gpucol.memory_limit, it is made of some of its
 * rows at a time, as many as half of that allows: those whose bucket (engine/engine.h) is in a
 * range, which is halved until they fit.  An engine goes over the rows that flow once for each
 * part (engine/cpu/turn.c), and asks here for the next.  Packed tables are read again; the
 * rows of plans are kept, in work_mem and then in temporary files, so that every turn has
 * the same.
 *
 * A part that still does not fit, since many rows have one key, or too many parts have the
 * node fall back; once rows have been delivered it is made all the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/join_build.h"
#include "exec/plan_rows.h"

#define MOST_PARTS	128			/* of a table */
#define MOST_TURNS	256			/* of a run */

/* Does it not matter which part has which row?  Then rows of one key may be dealt to several. */
static bool
any_part_will_do(const GpucolPipeStep *step)
{
	return step->kind == GPUCOL_JOIN_INNER || step->kind == GPUCOL_JOIN_RIGHT ||
		step->kind == GPUCOL_JOIN_RIGHT_SEMI || step->kind == GPUCOL_JOIN_RIGHT_ANTI;
}

/* The turns of a run if a table had so many parts. */
static uint64
count_turns(const GpucolJoins *joins, int table, uint32 nparts)
{
	uint64		turns = nparts;

	for (int i = 0; i < joins->nsteps; i++)
	{
		if (i != table)
			turns *= Max(joins->turns[i].nparts, 1);
	}
	return turns;
}

/* Halve the part of a table that is its turn, and those behind it: parts are the CPU engine's. */
static bool
halve_parts(GpucolExec *exec, int table)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	GpucolTurn *turn = &joins->turns[table];
	uint32		nparts = turn->part + 2 * (turn->nparts - turn->part);
	uint32	   *cuts;

	if (nparts > MOST_PARTS || count_turns(joins, table, nparts) > MOST_TURNS ||
		(build->step->outer_keys == NIL && !any_part_will_do(build->step)))
		return false;
	cuts = MemoryContextAlloc(exec->node->ss.ps.state->es_query_cxt,
							  (nparts + 1) * sizeof(uint32));
	for (uint32 p = 0, at = 0; p <= turn->nparts; p++)
	{
		cuts[at++] = build->cuts[p];
		if (p >= turn->part && p < turn->nparts)
			cuts[at++] = (build->cuts[p] + build->cuts[p + 1]) / 2;
	}
	pfree(build->cuts);
	build->cuts = cuts;
	turn->nparts = nparts;
	build->exec.cpu_only = true;
	return true;
}

/* Begin with a table as a whole. */
static void
begin_whole(GpucolExec *exec, GpucolBuild *build)
{
	if (build->cuts != NULL)
		pfree(build->cuts);
	build->cuts = MemoryContextAlloc(exec->node->ss.ps.state->es_query_cxt, 2 * sizeof(uint32));
	build->cuts[0] = 0;
	build->cuts[1] = GPUCOL_PART_BUCKETS;
	build->counted = 0;
	memset(&build->figures, 0, sizeof(build->figures));
}

/* Add the figures of the part just made. */
static void
count_part(const GpucolJoins *joins, int table)
{
	GpucolBuild *build = &joins->builds[table];
	GpucolLookupFigures figures;

	joins->engines[table] = build->exec.engine;
	joins->engines[table]->lookup_figures(joins->lookups[table], &figures);
	if (joins->turns[table].part < build->counted)
		return;
	figures.rows += build->figures.rows;
	figures.bytes = Max(figures.bytes, build->figures.bytes);
	build->figures = figures;
	build->counted = joins->turns[table].part + 1;
}

/* May the node no longer fall back? */
static bool
is_final(const GpucolExec *exec)
{
	return exec->unlimited || (exec->emitted && !exec->withholds);
}

/* Make the part that is a table's turn. */
static GpucolStatus
make_part(GpucolExec *exec, int table, bool wanted)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	const GpucolTurn *turn = &joins->turns[table];
	Size		left = gpucol_budget_left(build->exec.budget);

	build->part.first = build->cuts[turn->part];
	build->part.end = build->cuts[turn->part + 1];
	build->part.by_rows = any_part_will_do(build->step);
	build->exec.part = turn->nparts > 1 ? &build->part : NULL;
	/* leave something for later tables, and for what becomes of the rows */
	build->exec.most = turn->nparts > 1 ? left / 2 : left - left / 8;
	build->exec.joins->pipe->dry = !wanted;
	return gpucol_run_build(&build->exec, &joins->lookups[table]);
}

/*
 * Have rows of plans be kept.
 */
void
gpucol_join_keep_rows(GpucolExec *exec)
{
	exec->keeps = true;
	for (int i = 0; exec->joins != NULL && i < exec->joins->nsteps; i++)
		gpucol_join_keep_rows(&exec->joins->builds[i].exec);
}

/*
 * Make a table, or the part of it that is its turn.
 */
GpucolStatus
gpucol_join_part_build(GpucolExec *exec, int table, bool wanted)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	GpucolStatus status;

	if (joins->turns[table].nparts == 1)
		begin_whole(exec, build);
	build->exec.unlimited = false;
	while ((status = make_part(exec, table, wanted)) == GPUCOL_OUT_OF_MEMORY &&
		   !build->exec.unlimited)
	{
		if (!halve_parts(exec, table))
		{
			if (!is_final(exec))
				break;
			build->exec.unlimited = true;
		}
		gpucol_join_keep_rows(&build->exec);
		gpucol_run_end(&build->exec);
		build->exec.fallback = NULL;
	}
	if (status == GPUCOL_OK)
		count_part(joins, table);
	/* also of a run that failed, since the node may begin again with fewer groups */
	gpucol_run_end(&build->exec);
	return status;
}

/* Make the part of a table that is its turn, and the first of those before it. */
static GpucolStatus
make_turn(GpucolExec *exec, int last)
{
	GpucolJoins *joins = exec->joins;

	for (int i = 0; i <= last; i++)
	{
		if (joins->turns[i].nparts == 1)
			continue;
		joins->engines[i]->lookup_free(joins->lookups[i]);
		joins->lookups[i] = NULL;
		if (i < last)
			joins->turns[i].part = 0;
	}
	for (int i = 0; i <= last; i++)
	{
		GpucolStatus status = joins->turns[i].nparts == 1 ? GPUCOL_OK :
			gpucol_join_part_build(exec, i, true);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/*
 * The next turn.
 */
GpucolStatus
gpucol_joins_next_turn(void *arg, int *changed)
{
	GpucolExec *exec = arg;
	GpucolJoins *joins = exec->joins;
	int			last = 0;

	while (last < joins->nsteps && joins->turns[last].part + 1 == joins->turns[last].nparts)
		last++;
	if (last == joins->nsteps)
		return GPUCOL_END;
	joins->turns[last].part++;
	*changed = last;
	return make_turn(exec, last);
}

/*
 * Begin again with the first turn.
 */
GpucolStatus
gpucol_joins_first_turn(GpucolExec *exec)
{
	GpucolJoins *joins = exec->joins;
	int			last = joins->nsteps - 1;

	if (!joins->parted)
		return GPUCOL_OK;
	joins->turns[last].part = 0;
	return make_turn(exec, last);
}

/*
 * Let the rows go that a run has kept of a plan.
 */
void
gpucol_run_end_rows(GpucolExec *exec)
{
	if (exec->kept != NULL)
		gpucol_plan_rows_end(exec->kept);
	exec->kept = NULL;
}

/*
 * Forget the rows that a run and the makings of its tables have kept.
 */
void
gpucol_run_forget_rows(GpucolExec *exec)
{
	gpucol_run_end_rows(exec);
	exec->keeps = false;
	for (int i = 0; exec->joins != NULL && i < exec->joins->nsteps; i++)
		gpucol_run_forget_rows(&exec->joins->builds[i].exec);
}
