/*-------------------------------------------------------------------------
 *
 * group_part.c
 *	  Groups that exceed memory, in parts.
 *
 * Where the groups of an aggregation do not fit in gpucol.memory_limit, the engine makes those
 * whose key's bucket (engine/engine.h) is in a range, which is halved until they fit, and
 * then those of the next range.  It reads the table once for each; the rows of a plan are
 * kept.  Every group is in one part, so what is above need not know.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/join_build.h"
#include "exec/plan_rows.h"

#define MOST_PARTS	128

typedef struct GpucolGroupParts
{
	uint32		n;
	uint32		at;				/* the part that is made */
	uint32	   *cuts;			/* where each begins, in buckets, and the end */
	GpucolTablePart part;
} GpucolGroupParts;

/*
 * May the groups be made in parts?  Not where the node keeps what batches show, for the engine's
 * run has gone with the part.
 */
static bool
may_part(const GpucolExec *exec)
{
	return exec->in_place && exec->kind == GPUCOL_PROGRAM_AGG && exec->engine == &gpucol_engine_cpu &&
		exec->parallel == NULL && exec->program->nkeys > 0 &&
		(exec->rows_of == NULL || exec->joins != NULL);
}

/* Have the rows of the plan that is read be kept, and be read again. */
static bool
keep_rows(GpucolExec *exec)
{
	if (exec->rows_of == NULL || exec->kept != NULL)
		return true;
	gpucol_run_close(exec);
	exec->begun = NULL;
	if (!gpucol_plan_rows_look(exec->rows_of, NULL, exec->joins->pipe, false, false, true,
							   &exec->kept))
		return false;
	gpucol_run_open(exec);
	return true;
}

/* Halve the part that is made, and those behind it. */
static bool
halve_parts(GpucolExec *exec)
{
	GpucolGroupParts *parts = exec->groups;
	uint32		n = parts->at + 2 * (parts->n - parts->at);
	uint32	   *cuts;

	if (n > MOST_PARTS)
		return false;
	cuts = palloc((n + 1) * sizeof(uint32));
	for (uint32 p = 0, at = 0; p <= parts->n; p++)
	{
		cuts[at++] = parts->cuts[p];
		if (p >= parts->at && p < parts->n)
			cuts[at++] = (parts->cuts[p] + parts->cuts[p + 1]) / 2;
	}
	parts->cuts = cuts;
	parts->n = n;
	return true;
}

/* Begin with all groups as one part. */
static void
begin_parts(GpucolExec *exec)
{
	exec->groups = palloc0(sizeof(GpucolGroupParts));
	exec->groups->n = 1;
	exec->groups->cuts = palloc0(2 * sizeof(uint32));
	exec->groups->cuts[1] = GPUCOL_PART_BUCKETS;
	exec->unlimited = false;
}

/* Find a part to be made after a run without memory. */
static bool
shrink(GpucolExec *exec)
{
	if (exec->groups == NULL)
		begin_parts(exec);
	if (exec->unlimited)
		return false;
	if (halve_parts(exec))
		return true;
	/* other groups have been delivered: there is no way back */
	exec->unlimited = exec->emitted;
	return exec->unlimited;
}

/*
 * Begin the next part, or a smaller one, if there is one.
 */
bool
gpucol_group_part_begins(GpucolExec *exec, GpucolStatus *status)
{
	GpucolGroupParts *parts;

	if (*status == GPUCOL_END && exec->groups != NULL && exec->groups->at + 1 < exec->groups->n)
		exec->groups->at++;
	else if (*status != GPUCOL_OUT_OF_MEMORY || !may_part(exec) || !shrink(exec))
		return false;
	gpucol_run_finish(exec);
	parts = exec->groups;
	parts->part.first = parts->cuts[parts->at];
	parts->part.end = parts->cuts[parts->at + 1];
	parts->part.end_row = GPUCOL_PART_BUCKETS;
	exec->part = &parts->part;
	exec->ngroup_parts = Max(exec->ngroup_parts, (int) parts->n);
	if (!keep_rows(exec))
		*status = GPUCOL_UNSUPPORTED;
	else
		*status = exec->joins == NULL ? GPUCOL_OK : gpucol_joins_first_turn(exec);
	return *status == GPUCOL_OK;
}
