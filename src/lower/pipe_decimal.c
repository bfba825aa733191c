/*-------------------------------------------------------------------------
 *
 * pipe_decimal.c
 *	  Numerics without a declared precision among the rows of a plan: sums, averages,
 *	  what derived tables compute.
 *
 * A table's column of such a type is bytes to engines, which compare but do not compute
 * with them.  The rows of a plan can be looked at before they are used: the executor finds
 * out how many digits they have (exec/plan_rows.c), and then they are decimals of that
 * scale.  The planner, which cannot know, takes it that they will be.  Columns that are
 * only handed on stay bytes, and then nobody looks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "columnar/typemap.h"
#include "lower/pipe.h"

/* What the planner takes them for. */
#define PLANNED_SCALE	6
#define PLANNED_DIGITS	18

/* Is a type numeric, but none whose values engines have as decimals anyway? */
static bool
is_open_type(Oid type, int32 typmod)
{
	GpucolTypeMap map;

	if (getBaseType(type) != NUMERICOID)
		return false;
	gpucol_typemap_init(&map, type, typmod, InvalidOid);
	return map.kind != GPUCOL_KIND_DECIMAL;
}

/*
 * Is a column of a pipe's tables such a one?
 */
bool
gpucol_pipe_is_open(const GpucolPipe *pipe, const Node *node)
{
	ListCell   *lc;

	if (pipe == NULL || pipe->sets != NIL || !is_open_type(exprType(node), exprTypmod(node)))
		return false;
	foreach(lc, pipe->outputs)
	{
		if (gpucol_pipe_is_same(lfirst(lc), node))
			return true;
	}
	foreach(lc, pipe->steps)
	{
		if (gpucol_pipe_is_open(((GpucolPipeStep *) lfirst(lc))->build, node))
			return true;
	}
	return false;
}

/*
 * One as the planner takes it.
 */
GpucolPipeDecimal
gpucol_pipe_planned_decimal(void)
{
	GpucolPipeDecimal decimal = {.open = true,.used = true,.is = true,.scale = PLANNED_SCALE,
	.digits = PLANNED_DIGITS};

	return decimal;
}

/*
 * Take over what is known of the columns of a step's table.
 */
void
gpucol_pipe_take_decimals(GpucolPipe *pipe, const GpucolPipeStep *step)
{
	const GpucolPipe *build = step->build;
	ListCell   *lc;

	foreach(lc, step->payload)
	{
		Var		   *var = (Var *) gpucol_pipe_map(build, lfirst(lc));

		if (IsA(var, Var) && var->varno == (int) build->varno && var->varattno > 0)
			pipe->decimals[step->first + foreach_current_index(lc) - 1] =
				build->decimals[var->varattno - 1];
	}
}

/*
 * The table of a column.
 */
Oid
gpucol_pipe_table(const GpucolPipe *pipe, AttrNumber *attnum)
{
	ListCell   *lc;

	if (*attnum <= pipe->nsource)
		return pipe->table;
	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);
		int			at = *attnum - step->first;

		if (at >= 0 && at < list_length(step->payload) && step->build != NULL)
		{
			Var		   *var = (Var *) gpucol_pipe_map(step->build, list_nth(step->payload, at));

			if (!IsA(var, Var) || var->varno != (int) step->build->varno || var->varattno <= 0)
				return InvalidOid;
			*attnum = var->varattno;
			return gpucol_pipe_table(step->build, attnum);
		}
	}
	return InvalidOid;
}

/* Note which columns there are in a pipe that is laid out. */
static void
init_decimals(GpucolPipe *pipe)
{
	ListCell   *lc;

	pipe->decimals = palloc0(Max(pipe->desc->natts, 1) * sizeof(GpucolPipeDecimal));
	for (int i = 0; i < pipe->nsource && pipe->rti == 0 && pipe->sets == NIL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(pipe->desc, i);

		if (is_open_type(att->atttypid, att->atttypmod))
			pipe->decimals[i].open = true;
	}
	foreach(lc, pipe->steps)
		init_decimals(((GpucolPipeStep *) lfirst(lc))->build);
}

/* Note what is done with the columns in expressions over a pipe. */
static void
note_uses(GpucolPipe *pipe, List *exprs, bool computed, bool shown)
{
	List	   *vars = pull_var_clause(gpucol_pipe_map(pipe, (Node *) exprs),
									   PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
									   PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, vars)
	{
		Var		   *var = lfirst(lc);
		ListCell   *ls;

		if (!IsA(var, Var) || var->varno != (int) pipe->varno || var->varattno <= 0)
			continue;
		if (var->varattno <= pipe->nsource)
		{
			pipe->decimals[var->varattno - 1].used |= computed;
			pipe->decimals[var->varattno - 1].shown |= shown;
			continue;
		}
		foreach(ls, pipe->steps)
		{
			GpucolPipeStep *step = lfirst(ls);
			int			at = var->varattno - step->first;

			if (at >= 0 && at < list_length(step->payload))
				note_uses(step->build, list_make1(list_nth(step->payload, at)), computed, shown);
		}
	}
}

/* The same for what steps compute. */
static void
note_steps(GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(lc);

		note_uses(pipe, step->outer_keys, true, false);
		note_uses(pipe, step->residual, true, false);
		note_uses(pipe, step->order, true, false);
		note_uses(pipe, step->filter, true, false);
		note_uses(step->build, step->inner_keys, true, false);
		note_steps(step->build);
	}
}

/* Decide for the time being, innermost first. */
static void
plan_decimals(GpucolPipe *pipe)
{
	ListCell   *lc;

	for (int i = 0; i < pipe->nsource; i++)
	{
		GpucolPipeDecimal *decimal = &pipe->decimals[i];

		decimal->is = decimal->open && decimal->used;
		decimal->scale = PLANNED_SCALE;
		decimal->digits = PLANNED_DIGITS;
	}
	foreach(lc, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(lc);

		plan_decimals(step->build);
		gpucol_pipe_take_decimals(pipe, step);
	}
}

/*
 * Find those of a pipe that is laid out for `above`, with which values are computed, or
 * which is only handed on.
 */
void
gpucol_pipe_find_decimals(GpucolPipe *pipe, List *above, bool computed)
{
	init_decimals(pipe);
	note_uses(pipe, above, computed, true);
	note_steps(pipe);
	plan_decimals(pipe);
}
