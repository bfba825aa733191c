/*-------------------------------------------------------------------------
 *
 * pipe_list.c
 *	  A pipe as lists that a plan can carry.
 *
 * PostgreSQL renumbers the Vars of a plan in its own fields, so expressions go there,
 * and only their number in the list stays here.  Range table indexes are such
 * expressions too: a Var of each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"

#include "lower/pipe.h"

/* Append expressions; returns their first number and how many they are. */
static List *
save_exprs(List *list, List **exprs)
{
	List	   *saved = list_make2_int(list_length(*exprs), list_length(list));

	*exprs = list_concat(*exprs, list_copy(list));
	return saved;
}

static List *
load_exprs(List *saved, List *exprs)
{
	List	   *list = NIL;

	for (int i = 0; i < lsecond_int(saved); i++)
		list = lappend(list, list_nth(exprs, linitial_int(saved) + i));
	return list;
}

/* A Var that says which relation it is of. */
static Expr *
relation_var(Index rti)
{
	return (Expr *) makeVar(rti, TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0);
}

static List *save_pipe(const GpucolPipe *pipe, List **exprs);
static GpucolPipe *load_pipe(List *saved, List *exprs);

static List *
save_step(const GpucolPipeStep *step, List **exprs)
{
	List	   *saved = list_make5(save_pipe(step->build, exprs),
								   list_make1_int(step->kind),
								   save_exprs(step->outer_keys, exprs),
								   save_exprs(step->inner_keys, exprs),
								   list_copy(step->classes));

	saved = lappend(saved, list_copy(step->scales));
	saved = lappend(saved, save_exprs(step->residual, exprs));
	saved = lappend(saved, save_exprs(step->filter, exprs));
	saved = lappend(saved, list_make2_int(step->most, step->skipped));
	saved = lappend(saved, save_exprs(step->order, exprs));
	saved = lappend(saved, list_copy(step->descending));
	return lappend(saved, list_copy(step->nulls_first));
}

static GpucolPipeStep *
load_step(List *saved, List *exprs)
{
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));

	step->build = load_pipe(linitial(saved), exprs);
	step->kind = linitial_int(lsecond(saved));
	step->outer_keys = load_exprs(lthird(saved), exprs);
	step->inner_keys = load_exprs(lfourth(saved), exprs);
	step->classes = list_nth(saved, 4);
	step->scales = list_nth(saved, 5);
	step->residual = load_exprs(list_nth(saved, 6), exprs);
	step->filter = load_exprs(list_nth(saved, 7), exprs);
	step->most = linitial_int(list_nth(saved, 8));
	step->skipped = lsecond_int(list_nth(saved, 8));
	step->order = load_exprs(list_nth(saved, 9), exprs);
	step->descending = list_nth(saved, 10);
	step->nulls_first = list_nth(saved, 11);
	return step;
}

/* Make lists of a pipe. */
static List *
save_pipe(const GpucolPipe *pipe, List **exprs)
{
	List	   *relations = NIL;
	List	   *parts = NIL;
	List	   *steps = NIL;
	List	   *saved;
	ListCell   *lc;
	int			rti = -1;

	if (pipe->rti != 0)
		relations = lappend(relations, relation_var(pipe->rti));
	while ((rti = bms_next_member(pipe->relids, rti)) >= 0)
		relations = lappend(relations, relation_var(rti));
	foreach(lc, pipe->part_rtis)
		parts = lappend(parts, relation_var(lfirst_int(lc)));
	foreach(lc, pipe->steps)
		steps = lappend(steps, save_step(lfirst(lc), exprs));
	saved = list_make5(list_make2_int(pipe->rti != 0, pipe->child),
					   save_exprs(relations, exprs), save_exprs(pipe->outputs, exprs),
					   save_exprs(pipe->conditions, exprs), steps);
	saved = lappend(saved, save_exprs(parts, exprs));
	saved = lappend(saved, pipe->part_attnums);
	return lappend(saved, save_exprs(pipe->sets, exprs));
}

/* Make a pipe of lists. */
static GpucolPipe *
load_pipe(List *saved, List *exprs)
{
	GpucolPipe *pipe = palloc0(sizeof(GpucolPipe));
	bool		table = linitial_int(linitial(saved));
	List	   *relations = load_exprs(lsecond(saved), exprs);
	ListCell   *lc;

	pipe->child = lsecond_int(linitial(saved));
	foreach(lc, relations)
	{
		Index		rti = lfirst_node(Var, lc)->varno;

		if (table && foreach_current_index(lc) == 0)
			pipe->rti = rti;
		else
			pipe->relids = bms_add_member(pipe->relids, rti);
	}
	pipe->outputs = load_exprs(lthird(saved), exprs);
	pipe->conditions = load_exprs(lfourth(saved), exprs);
	foreach(lc, load_exprs(list_nth(saved, 5), exprs))
		pipe->part_rtis = lappend_int(pipe->part_rtis, lfirst_node(Var, lc)->varno);
	pipe->part_attnums = list_nth(saved, 6);
	pipe->sets = load_exprs(list_nth(saved, 7), exprs);
	foreach(lc, (List *) list_nth(saved, 4))
		pipe->steps = lappend(pipe->steps, load_step(lfirst(lc), exprs));
	return pipe;
}

/*
 * Make lists of a pipe and of what is computed of its rows.
 */
List *
gpucol_pipe_save(const GpucolPipe *pipe, List *above, List **exprs)
{
	List	   *saved = save_pipe(pipe, exprs);

	return list_make2(saved, save_exprs(above, exprs));
}

/*
 * Make both of lists.
 */
GpucolPipe *
gpucol_pipe_load(List *saved, List *exprs, List **above)
{
	if (above != NULL)
		*above = load_exprs(lsecond(saved), exprs);
	return load_pipe(linitial(saved), exprs);
}
