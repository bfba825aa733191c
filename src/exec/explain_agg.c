/*-------------------------------------------------------------------------
 *
 * explain_agg.c
 *	  What EXPLAIN says of a GpucolAgg.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"

#include "exec/agg_state.h"
#include "exec/explain.h"
#include "exec/join_build.h"
#include "lower/coarse.h"
#include "plan/plan.h"

/* The columns for whose values PostgreSQL evaluates keys and arguments. */
static void
explain_base(GpucolAggExecState *state, List *ancestors, ExplainState *es)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	List	   *units = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_UNITS);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_BASE))
	{
		char	   *name = state->exec.joins != NULL ?
			gpucol_explain_joined_column(&state->exec, lfirst_int(lc), ancestors, es) :
			NameStr(TupleDescAttr(state->exec.desc, lfirst_int(lc) - 1)->attname);
		int			unit = list_nth_int(units, foreach_current_index(lc));

		names = lappend(names, unit == 0 ? name :
						psprintf("%s of %s", gpucol_coarse_name(unit * INT64CONST(1000)), name));
	}
	if (names != NIL)
		ExplainPropertyList("Evaluated Once Per", names, es);
}

/* The arrays of which only the first elements are collected. */
static void
explain_elements(const GpucolAggExecState *state, ExplainState *es)
{
	List	   *some = NIL;
	ListCell   *lc;

	foreach(lc, state->elements)
	{
		if (lfirst_int(lc) > 0)
			some = lappend(some, psprintf("first %d", lfirst_int(lc)));
	}
	if (some != NIL)
		ExplainPropertyList("Array Elements", some, es);
}

void
gpucol_explain_agg(GpucolAggExecState *state, List *ancestors, ExplainState *es)
{
	CustomScanState *node = &state->css;

	gpucol_explain_input(&state->exec, es);
	gpucol_explain_parts(&state->exec, es);
	gpucol_explain_keys(node, state->exprs, state->nkeys, state->sets.sets, ancestors, es);
	if (gpucol_agg_private(state, GPUCOL_AGG_PRIVATE_FEEDING))
	{
		ExplainPropertyText("Aggregates", "fed by rows", es);
		explain_elements(state, es);
	}
	else
		explain_base(state, ancestors, es);
	gpucol_explain_first(node, state->exprs, state->wanted, ancestors, es);
	gpucol_explain_engine(&state->exec, gpucol_run_read_columns(&state->exec), es);
	gpucol_explain_filter(&state->exec, state->pushed, ancestors, es);
	gpucol_explain_conditions(&state->exec, "Tested By PostgreSQL", state->tests, ancestors, es);
	gpucol_explain_columns(&state->exec, gpucol_run_read_columns(&state->exec), es);
	gpucol_run_end(&state->exec);
	if (state->exec.joins != NULL)
		gpucol_explain_joins(&state->exec, ancestors, es);
	if (es->analyze && state->having.bounds != NULL)
		ExplainPropertyUInteger("Filter Evaluated", "groups", state->having.evaluated, es);
	gpucol_batch_compute_explain(state->compute, ancestors, es);
	gpucol_explain_stats(&state->exec, es);
}
