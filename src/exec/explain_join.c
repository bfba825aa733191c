/*-------------------------------------------------------------------------
 *
 * explain_join.c
 *	  EXPLAIN of the joins of a pipe: for each its kind, its table and its condition;
 *	  when it has run, what the table was and what the lookups in it found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "exec/explain.h"
#include "exec/join_build.h"

typedef struct Context
{
	ExplainState *es;
	List	   *names;			/* for deparsing */
	List	   *lines;
} Context;

static const char *const kind_names[] = {
	[GPUCOL_JOIN_INNER] = "inner",
	[GPUCOL_JOIN_LEFT] = "left",
	[GPUCOL_JOIN_SEMI] = "semi",
	[GPUCOL_JOIN_ANTI] = "anti",
	[GPUCOL_JOIN_NOT_IN] = "not in",
	[GPUCOL_JOIN_RIGHT] = "right",
	[GPUCOL_JOIN_FULL] = "full",
	[GPUCOL_JOIN_RIGHT_SEMI] = "right semi",
	[GPUCOL_JOIN_RIGHT_ANTI] = "right anti",
	[GPUCOL_JOIN_SET] = "lateral",
	[GPUCOL_JOIN_SET_LEFT] = "left lateral",
};

/* Functions, one or several. */
static const char *
set_name(const Context *context, List *functions)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, functions)
		appendStringInfo(&text, "%s%s", foreach_current_index(lc) > 0 ? ", " : "",
						 deparse_expression(lfirst(lc), context->names, true, true));
	return text.data;
}

/* What a table is made of: the name that the plan shows for a table. */
static const char *
source_name(const Context *context, const GpucolExec *exec)
{
	const GpucolPipe *pipe = exec->joins->pipe;
	const char *name;

	if (pipe->sets != NIL)
		return set_name(context, pipe->sets);
	if (pipe->child < 0)
		return psprintf("rows of SubPlan %d", -pipe->child);
	if (pipe->rti == 0)
		return psprintf("rows of plan %d", pipe->child);
	name = list_nth(context->es->rtable_names, pipe->rti - 1);
	return name != NULL ? name : RelationGetRelationName(exec->rel);
}

/* A list of expressions, joined by a word. */
static void
append_exprs(StringInfo text, Context *context, List *exprs, const char *word)
{
	ListCell   *lc;

	foreach(lc, exprs)
		appendStringInfo(text, "%s%s", foreach_current_index(lc) > 0 ? word : "",
						 deparse_expression(lfirst(lc), context->names, true, true));
}

/* The sort keys of a step that takes the first rows of an order. */
static void
append_order(StringInfo text, Context *context, const GpucolPipeStep *step)
{
	ListCell   *lc;

	foreach(lc, step->order)
	{
		int			i = foreach_current_index(lc);
		bool		descending = list_nth_int(step->descending, i) != 0;
		bool		nulls_first = list_nth_int(step->nulls_first, i) != 0;

		append_exprs(text, context, list_make1(lfirst(lc)), "");
		appendStringInfo(text, "%s%s%s", descending ? " DESC" : "",
						 nulls_first == descending ? "" : nulls_first ? " NULLS FIRST" : " NULLS LAST",
						 lnext(step->order, lc) != NULL ? ", " : "");
	}
}

/* The condition of a join. */
static void
append_condition(StringInfo text, Context *context, const GpucolPipeStep *step)
{
	int			n = step->build->sets != NIL ? 0 : list_length(step->outer_keys);

	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(text, i == 0 ? " on " : " and ");
		append_exprs(text, context, list_make1(list_nth(step->outer_keys, i)), "");
		if (step->kind == GPUCOL_JOIN_NOT_IN)
			continue;
		appendStringInfoString(text, " = ");
		append_exprs(text, context, list_make1(list_nth(step->inner_keys, i)), "");
	}
	if (step->residual != NIL)
	{
		appendStringInfoString(text, n == 0 ? " on " : " and ");
		append_exprs(text, context, step->residual, " and ");
	}
	if (step->most > 0)
	{
		appendStringInfo(text, ", of each row the first %d ", step->most - step->skipped);
		if (step->skipped > 0)
			appendStringInfo(text, "behind %d ", step->skipped);
		appendStringInfoString(text, "by ");
		append_order(text, context, step);
	}
	if (step->filter != NIL)
	{
		appendStringInfoString(text, " where ");
		append_exprs(text, context, step->filter, " and ");
	}
}

/* What the table was, and what was found in it. */
static void
append_figures(StringInfo text, const GpucolBuild *build)
{
	if (build->step->build->sets != NIL)
	{
		appendStringInfo(text, "; " UINT64_FORMAT " of " UINT64_FORMAT " rows", (uint64) build->probed.found,
						 (uint64) build->probed.probed);
		return;
	}
	appendStringInfo(text, "; %s table of " UINT64_FORMAT " rows, " UINT64_FORMAT " kB",
					 build->figures.dense ? "dense" : "hash", (uint64) build->figures.rows,
					 (uint64) (build->figures.bytes + 1023) / 1024);
	if (build->counted > 1)
		appendStringInfo(text, " in each of %u parts", build->counted);
	appendStringInfo(text, "; looked up " UINT64_FORMAT ", found " UINT64_FORMAT,
					 (uint64) build->probed.probed, (uint64) build->probed.found);
	if (build->probed.bounded)
		appendStringInfo(text, " of " UINT64_FORMAT " pairs between bounds", (uint64) build->probed.pairs);
}

char *
gpucol_explain_joined_column(const GpucolExec *exec, AttrNumber attnum, List *ancestors, ExplainState *es)
{
	const GpucolPipe *pipe = exec->joins->pipe;
	List	   *names = set_deparse_context_plan(es->deparse_cxt, exec->node->ss.ps.plan, ancestors);
	Node	   *column = list_length(pipe->outputs) >= attnum ? list_nth(pipe->outputs, attnum - 1) : NULL;
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (attnum >= step->first && attnum - step->first < list_length(step->payload))
			column = list_nth(step->payload, attnum - step->first);
	}
	return column != NULL ? deparse_expression(column, names, true, true) :
		NameStr(TupleDescAttr(exec->desc, attnum - 1)->attname);
}

/* The joins of a run, then those of its tables. */
static void
explain_run(const GpucolExec *exec, Context *context, int depth)
{
	for (int i = 0; i < exec->joins->nsteps; i++)
	{
		const GpucolBuild *build = &exec->joins->builds[i];
		StringInfoData text;

		initStringInfo(&text);
		appendStringInfo(&text, "%s%s %s", depth > 0 ?
						 psprintf("%s: ", source_name(context, exec)) : "",
						 kind_names[build->step->kind], source_name(context, &build->exec));
		append_condition(&text, context, build->step);
		if (context->es->analyze && build->probed.probed + build->figures.rows > 0)
			append_figures(&text, build);
		context->lines = lappend(context->lines, text.data);
	}
	for (int i = 0; i < exec->joins->nsteps; i++)
		explain_run(&exec->joins->builds[i].exec, context, depth + 1);
}

/* The conditions of the tables that are built. */
static void
explain_conditions(const GpucolExec *exec, Context *context)
{
	for (int i = 0; i < exec->joins->nsteps; i++)
	{
		const GpucolExec *build = &exec->joins->builds[i].exec;
		StringInfoData text;

		if (build->joins->pipe->conditions != NIL)
		{
			initStringInfo(&text);
			appendStringInfo(&text, "%s: ", source_name(context, build));
			append_exprs(&text, context, build->joins->pipe->conditions, " and ");
			context->lines = lappend(context->lines, text.data);
		}
		explain_conditions(build, context);
	}
}

/* Why the device left tables to the CPU engine. */
static void
explain_declined(const GpucolExec *exec, Context *context)
{
	for (int i = 0; i < exec->joins->nsteps; i++)
	{
		const GpucolExec *build = &exec->joins->builds[i].exec;

		if (build->declined != NULL)
			context->lines = lappend(context->lines,
									 psprintf("%s: %s", source_name(context, build), build->declined));
		explain_declined(build, context);
	}
}

/* A property of several lines: in the text format one each. */
static void
show_lines(const char *name, Context *context)
{
	ListCell   *lc;

	if (context->es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyList(name, context->lines, context->es);
	else
	{
		foreach(lc, context->lines)
			ExplainPropertyText(name, lfirst(lc), context->es);
	}
	context->lines = NIL;
}

/*
 * The joins as properties of the node.
 */
void
gpucol_explain_joins(GpucolExec *exec, List *ancestors, ExplainState *es)
{
	Context		context = {.es = es};

	context.names = set_deparse_context_plan(es->deparse_cxt, exec->node->ss.ps.plan, ancestors);
	explain_run(exec, &context, 0);
	show_lines("Join", &context);
	explain_conditions(exec, &context);
	if (context.lines != NIL)
		show_lines("Table Filter", &context);
	explain_declined(exec, &context);
	if (context.lines != NIL)
		show_lines("Table Declined", &context);
}
