/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  The lines that gpucol nodes add to EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "executor/executor.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "exec/device.h"
#include "exec/explain.h"
#include "exec/join_build.h"
#include "guc.h"
#include "plan/plan.h"

/*
 * What is read.
 */
void
gpucol_explain_input(GpucolExec *exec, ExplainState *es)
{
	if (exec->rows_of != NULL && exec->joins != NULL)
		ExplainPropertyText("Rows", psprintf("of plan %d", exec->joins->pipe->child), es);
	else if (exec->rows_of != NULL)
		ExplainPropertyText("Recursion",
							exec_rt_fetch(exec->rti, exec->node->ss.ps.state)->eref->aliasname,
							es);
	else if (exec->rel != NULL)
		ExplainPropertyText("Table", RelationGetRelationName(exec->rel), es);
}

/*
 * The tables that are read as one.
 */
void
gpucol_explain_parts(GpucolExec *exec, ExplainState *es)
{
	List	   *names = NIL;

	for (int i = 0; i < exec->nparts; i++)
		names = lappend(names, RelationGetRelationName(exec->parts[i].rel));
	if (names != NIL)
		ExplainPropertyList(exec->rel != NULL ? "Partitions" : "Tables", names, es);
}

/*
 * The engine: before execution the one that gpucol.engine asks for, after it
 * the one that ran.
 */
void
gpucol_explain_engine(GpucolExec *exec, Bitmapset *attnums, ExplainState *es)
{
	static const char *const names[] = {
		[GPUCOL_ENGINE_AUTO] = "auto",
		[GPUCOL_ENGINE_CPU] = "cpu",
		[GPUCOL_ENGINE_CUDA] = "cuda"
	};

	GpucolDeviceEstimate estimate;
	bool		chosen = gpucol_run_may_choose(exec);
	const char *name = exec->engine_name;

	if (chosen)
		gpucol_device_estimate(exec, attnums, &estimate);
	if (name == NULL)
		name = chosen ? (estimate.device ? "cuda" : "cpu") : exec->rows_of ? gpucol_engine_cpu.name :
			names[gpucol_engine_choice];
	ExplainPropertyText("Engine", name, es);
	if (chosen && es->costs)
		ExplainPropertyText("Engine Choice", gpucol_device_explanation(&estimate), es);
}

/*
 * A condition.
 */
void
gpucol_explain_conditions(GpucolExec *exec, const char *name, List *quals, List *ancestors,
						  ExplainState *es)
{
	CustomScanState *node = exec->node;
	List	   *context;
	bool		prefix;

	if (quals == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan,
									   ancestors);
	prefix = es->verbose || gpucol_compat_rtable_size(es) > 1;
	ExplainPropertyText(name,
						deparse_expression((Node *) make_ands_explicit(quals),
										   context, prefix, false), es);
}

void
gpucol_explain_filter(GpucolExec *exec, List *quals, List *ancestors,
					  ExplainState *es)
{
	gpucol_explain_conditions(exec, "Pushed Filter", quals, ancestors, es);
}

/*
 * The columns that are read.
 */
void
gpucol_explain_columns(GpucolExec *exec, Bitmapset *attnums, ExplainState *es)
{
	List	   *names = NIL;
	int			attnum = -1;

	if (exec->rows_of != NULL && exec->joins != NULL)
		return;
	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
	{
		if (exec->rows_of != NULL)
		{
			RangeTblEntry *rte = exec_rt_fetch(exec->rti,
											   exec->node->ss.ps.state);

			names = lappend(names, strVal(list_nth(rte->eref->colnames,
												   attnum - 1)));
		}
		else
			names = lappend(names, NameStr(TupleDescAttr(exec->desc,
														 attnum - 1)->attname));
	}
	ExplainPropertyList("Columns", names, es);
}

/* Where the time of a request to the device went, in milliseconds. */
static char *
trace(const GpucolRunStats *s)
{
	return psprintf("open %.3f, note %.3f, ask %.3f (wire %.3f, daemon %.3f: look up %.3f, begin %.3f, plan %.3f, kernels %.3f, results %.3f, end %.3f), fetch %.3f",
					s->open_seconds * 1e3, s->note_seconds * 1e3, s->ask_seconds * 1e3,
					Max(s->ask_seconds - s->daemon_seconds, 0) * 1e3,
					s->daemon_seconds * 1e3, s->lookup_seconds * 1e3, s->begin_seconds * 1e3,
					s->plan_seconds * 1e3, s->device_seconds * 1e3,
					Max(s->work_seconds - s->plan_seconds - s->device_seconds, 0) * 1e3,
					s->end_seconds * 1e3, s->fetch_seconds * 1e3);
}

/* A copy of a reduction object up to this size stays in a processor's cache. */
#define CACHED_BYTES	(1024 * 1024)

/*
 * The reduction objects of an aggregation: how many copies, of which kind, where they lie; what was merged.
 */
static void
explain_reduction(const GpucolReduction *r, ExplainState *es)
{
	const char *kind = !r->grouped ? "one group each" : !r->by_hash ? "dense" :
		!r->by_slots ? "hash" : "dense and hash";
	StringInfoData text;

	if (r->copies == 0)
		return;
	initStringInfo(&text);
	appendStringInfo(&text, "%d %s in %s, %s; ", r->copies, r->copies == 1 ? "copy" : "copies",
					 r->bytes / r->copies <= CACHED_BYTES ? "cache" : "memory", kind);
	if (r->copies > 1)
		appendStringInfo(&text, UINT64_FORMAT " groups merged into " UINT64_FORMAT " by %s%s; ", r->found, r->groups,
						 r->by_all ? "all threads" : "one thread",
						 r->drained > 0 ? psprintf(" by key, %u times", r->drained) : "");
	else
		appendStringInfo(&text, UINT64_FORMAT " %s; ", r->groups, r->groups == 1 ? "group" : "groups");
	if (r->complete > 0)
		appendStringInfo(&text, UINT64_FORMAT " complete in their vectors, of which " UINT64_FORMAT " dropped; ",
						 r->complete, r->dropped);
	appendStringInfo(&text, UINT64_FORMAT " kB", (r->bytes + 1023) / 1024);
	ExplainPropertyText("Reduction Objects", text.data, es);
}

/* For how many rows functions inside branches of CASE and the like were called. */
static void
explain_branches(const GpucolRunStats *stats, ExplainState *es)
{
	if (stats->branch_rows > 0)
		ExplainPropertyText("Branches", psprintf("functions called for " UINT64_FORMAT " of " UINT64_FORMAT " rows",
												  stats->branch_taken, stats->branch_rows), es);
}

/*
 * What the runs did, under EXPLAIN ANALYZE.
 */
void
gpucol_explain_stats(GpucolExec *exec, ExplainState *es)
{
	const GpucolRunStats *stats = &exec->stats;

	if (!es->analyze)
		return;
	if (exec->delivered)
		ExplainPropertyText("Delivered", "in batches", es);
	if (exec->rows_of != NULL)
	{
		if (es->verbose)
			explain_reduction(&stats->reduction, es);
		if (exec->fallback)
			ExplainPropertyText("Fallback", exec->fallback, es);
		return;
	}
	ExplainPropertyUInteger("Segments Read", NULL, stats->segments_read, es);
	ExplainPropertyUInteger("Segments Skipped", NULL, stats->segments_skipped, es);
	if (es->verbose)
	{
		ExplainPropertyUInteger("Vectors Read", NULL, stats->vectors_read, es);
		ExplainPropertyUInteger("Vectors Skipped", NULL, stats->vectors_skipped, es);
	}
	ExplainPropertyUInteger("Delta Rows", NULL, stats->delta_rows, es);
	ExplainPropertyUInteger("Packed Bytes", NULL, stats->packed_bytes, es);
	if (stats->devices > 1)
		ExplainPropertyInteger("Devices", NULL, stats->devices, es);
	if (stats->batches > 1)
		ExplainPropertyInteger("Batches", NULL, stats->batches, es);
	if (es->timing && stats->devices > 0)
	{
		ExplainPropertyFloat("Device Time", "ms", stats->device_seconds * 1000.0, 3, es);
		ExplainPropertyFloat("Daemon Time", "ms", stats->daemon_seconds * 1000.0, 3, es);
	}
	if (es->timing && es->verbose && stats->devices > 0)
		ExplainPropertyText("Device Trace", trace(stats), es);
	if (es->timing && stats->kernel[0] != '\0')
		ExplainPropertyText("Kernel", stats->kernel, es);
	if (es->timing && stats->note[0] != '\0')
		ExplainPropertyText("Device Note", stats->note, es);
	if (exec->ngroup_parts > 1)
		ExplainPropertyInteger("Group Parts", NULL, exec->ngroup_parts, es);
	if (es->verbose)
	{
		explain_reduction(&stats->reduction, es);
		explain_branches(stats, es);
	}
	if (stats->threads > 0)
		ExplainPropertyInteger("Threads", NULL, stats->threads, es);
	if (exec->declined)
		ExplainPropertyText("Device Declined", exec->declined, es);
	if (exec->fallback)
		ExplainPropertyText("Fallback", exec->fallback, es);
}

/* The grouping sets, as they are written. */
static void
explain_sets(const List *sets, List *keys, ExplainState *es)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, sets)
	{
		const char *separator = "";
		ListCell   *key;

		appendStringInfoString(&text, foreach_current_index(lc) > 0 ? ", (" : "(");
		foreach(key, (List *) lfirst(lc))
		{
			appendStringInfo(&text, "%s%s", separator,
							 (char *) list_nth(keys, lfirst_int(key)));
			separator = ", ";
		}
		appendStringInfoChar(&text, ')');
	}
	ExplainPropertyText("Grouping Sets", text.data, es);
}

/*
 * The group keys, as EXPLAIN shows them for other aggregates.
 */
void
gpucol_explain_keys(CustomScanState *node, Expr **keys, int nkeys, const List *sets, List *ancestors,
					ExplainState *es)
{
	List	   *context;
	List	   *names = NIL;

	if (nkeys == 0 && sets == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	for (int i = 0; i < nkeys; i++)
		names = lappend(names, deparse_expression((Node *) keys[i], context,
												  es->verbose || gpucol_compat_rtable_size(es) > 1, true));
	if (names != NIL)
		ExplainPropertyList("Group Key", names, es);
	if (sets != NIL)
		explain_sets(sets, names, es);
}

/*
 * The first groups that are wanted, by which keys.
 */
void
gpucol_explain_first(CustomScanState *node, Expr **exprs, List *wanted, List *ancestors, ExplainState *es)
{
	List	   *context;
	List	   *keys = NIL;
	ListCell   *lc;

	if (wanted == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	foreach(lc, list_nth(wanted, GPUCOL_FIRST_PRIVATE_PLACES))
		keys = lappend(keys, deparse_expression((Node *) exprs[lfirst_int(lc)], context,
												es->verbose || gpucol_compat_rtable_size(es) > 1,
												true));
	ExplainPropertyInteger("First Groups", NULL,
						   intVal(list_nth(wanted, GPUCOL_FIRST_PRIVATE_LIMIT)), es);
	if (keys != NIL)
		ExplainPropertyList("First By", keys, es);
}
