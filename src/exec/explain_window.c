/*-------------------------------------------------------------------------
 *
 * explain_window.c
 *	  What EXPLAIN says of a GpucolWindow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "exec/window.h"

/* "k" or "k DESC NULLS LAST" */
static void
append_key(StringInfo text, const GpucolWindowKey *key, Node *expr, char *name, bool sorted)
{
	TypeCacheEntry *type = lookup_type_cache(exprType(expr), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool		descending = key->sortop == type->gt_opr;

	appendStringInfoString(text, name);
	if (!sorted)
		return;
	if (descending)
		appendStringInfoString(text, " DESC");
	else if (key->sortop != type->lt_opr)
		appendStringInfo(text, " USING %s", get_opname(key->sortop));
	if (key->nulls_first != descending)
		appendStringInfoString(text, key->nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

/* The functions of a clause, and its keys. */
static char *
describe_clause(const GpucolWindowState *state, int number, List *context, bool prefix)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	const GpucolWindowClauseState *clause = &state->clauses[number];
	const char *separator = "";
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < state->nfunctions; i++)
	{
		if (state->functions[i].clause != number)
			continue;
		appendStringInfo(&text, "%s%s", separator, get_func_name(state->functions[i].func->winfnoid));
		separator = ", ";
	}
	appendStringInfoString(&text, " OVER (");
	for (int i = 0; i < clause->nkeys; i++)
	{
		int			column = state->rows.inputs[clause->keys[i].input].column;
		TargetEntry *entry = list_nth(cscan->custom_scan_tlist, column);
		Var		   *var = makeVar(INDEX_VAR, entry->resno, exprType((Node *) entry->expr), -1,
								  exprCollation((Node *) entry->expr), 0);

		appendStringInfoString(&text, i == 0 && clause->npartition > 0 ? "PARTITION BY " :
							   i == clause->npartition ? (i > 0 ? " ORDER BY " : "ORDER BY ") : ", ");
		append_key(&text, &clause->keys[i], (Node *) entry->expr,
				   deparse_expression((Node *) var, context, prefix, false),
				   i >= clause->npartition);
	}
	appendStringInfoChar(&text, ')');
	return text.data;
}

void
gpucol_explain_window(GpucolWindowState *state, List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
	bool		prefix = es->verbose || gpucol_compat_rtable_size(es) > 1;
	uint64		partitions = gpucol_window_partitions(state);
	int			nparts = gpucol_window_parts_count(state, &partitions);

	for (int i = 0; i < state->nclauses; i++)
		ExplainPropertyText("Window", describe_clause(state, i, context, prefix), es);
	if (state->few.wanted)
		ExplainPropertyText("Method", "first rows of each partition", es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Rows Taken", NULL, state->rows.taken, es);
	if (state->few.dropped > 0)
		ExplainPropertyUInteger("Rows Dropped", NULL, state->few.dropped, es);
	if (state->few.passed_over > 0)
		ExplainPropertyUInteger("Rows Passed Over", NULL, state->few.passed_over, es);
	ExplainPropertyUInteger("Partitions", NULL, partitions, es);
	if (nparts > 1)
		ExplainPropertyInteger("Parts", NULL, nparts, es);
	ExplainPropertyUInteger("Memory", "kB", state->peak / 1024, es);
	gpucol_batch_compute_explain(state->compute, ancestors, es);
	gpucol_window_batch_explain(state, ancestors, es);
	if (state->delivered)
		ExplainPropertyText("Delivered", "in batches", es);
	if (state->why != NULL)
		ExplainPropertyText("Fallback", state->why, es);
}
