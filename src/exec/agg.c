/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  Executor of GpucolAgg, and of GpucolTopK where it ranks uncertain rows.
 *
 * The engine delivers groups: their keys and the states of the aggregates.
 * Each becomes a scan tuple of keys and finished aggregates, over which
 * PostgreSQL evaluates HAVING and the target list.  Where there is no HAVING and the
 * target list is made of keys and aggregates, they go into the result tuple at once:
 * ExecScan and a projection take longer than the few stores that a group needs.
 *
 * Rankings are aggregates that no engine state can hold: the engine only scans, their
 * wing (ranked.h) collects and ranks, and delivers groups likewise.  Other aggregates
 * beside them take a run of their own.
 *
 * Fallback: the ordinary plan in custom_plans, initialised only when it is
 * needed.  It computes the same target list, HAVING included.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "exec/agg_state.h"
#include "exec/explain.h"
#include "exec/join_build.h"
#include "exec/ordinary.h"
#include "exec/recheck.h"
#include "exec/result.h"
#include "exec/rights.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "service/memory.h"

static Node *agg_create_state(CustomScan *cscan);
static void agg_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *agg_exec(CustomScanState *node);
static void agg_end(CustomScanState *node);
static void agg_rescan(CustomScanState *node);
static void agg_explain(CustomScanState *node, List *ancestors,
						ExplainState *es);

const CustomScanMethods gpucol_agg_methods = {
	.CustomName = "GpucolAgg",
	.CreateCustomScanState = agg_create_state,
};

const CustomExecMethods gpucol_agg_exec_methods = {
	.CustomName = "GpucolAgg",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.ExplainCustomScan = agg_explain,
};

static const CustomExecMethods ranking_exec_methods = {
	.CustomName = "GpucolTopK",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.ExplainCustomScan = agg_explain,
};

static Node *
agg_create_state(CustomScan *cscan)
{
	GpucolAggExecState *state = palloc0(sizeof(GpucolAggExecState));
	TargetEntry *condition;
	int			i = 0;
	ListCell   *lc;

	state->css.ss.ps.type = T_CustomScanState;
	state->css.methods = &gpucol_agg_exec_methods;
	state->nkeys = intVal(list_nth(cscan->custom_private,
								   GPUCOL_AGG_PRIVATE_NKEYS));
	state->naggs = intVal(list_nth(cscan->custom_private,
								   GPUCOL_AGG_PRIVATE_NAGGS));
	state->exprs = palloc(list_length(cscan->custom_scan_tlist) * sizeof(Expr *));
	foreach(lc, cscan->custom_scan_tlist)
		state->exprs[i++] = lfirst_node(TargetEntry, lc)->expr;
	state->sets.sets = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_SETS);
	state->sets.functions = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_FUNCTIONS);
	state->wanted = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_FIRST);
	state->elements = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_ELEMENTS);
	state->nvalues = state->nkeys + state->naggs + list_length(state->sets.functions);
	condition = list_nth(cscan->custom_scan_tlist, state->nvalues);
	/* all but the constant true that keeps the junk column unlike any other */
	state->pushed = list_copy(((BoolExpr *) condition->expr)->args);
	state->pushed = list_delete_last(state->pushed);
	state->tests = list_copy_tail(state->pushed, list_length(state->pushed) -
								  intVal(list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_NTESTS)));
	state->pushed = list_truncate(state->pushed, list_length(state->pushed) - list_length(state->tests));
	return (Node *) state;
}

/*
 * Create the state of a GpucolTopK with rankings.
 */
Node *
gpucol_agg_create_ranking(CustomScan *cscan)
{
	GpucolAggExecState *state = (GpucolAggExecState *) agg_create_state(cscan);

	state->css.methods = &ranking_exec_methods;
	state->ranking = true;
	return (Node *) state;
}

/* Tell rankings from other aggregates. */
static void
number_aggregates(GpucolAggExecState *state)
{
	int			nrankings = 0;

	state->numbers = palloc(Max(state->naggs, 1) * sizeof(int));
	for (int i = 0; i < state->naggs; i++)
	{
		const Aggref *agg = castNode(Aggref, state->exprs[state->nkeys + i]);

		if (state->ranking && gpucol_ranking_wing->is_ranking(agg))
			state->numbers[i] = nrankings++;
		else
			state->numbers[i] = -1 - (i - nrankings);
	}
	state->nordinary = state->ranking ? state->naggs - nrankings : 0;
}

/* The keys as a list. */
static List *
key_list(GpucolAggExecState *state)
{
	List	   *keys = NIL;

	for (int i = 0; i < state->nkeys; i++)
		keys = lappend(keys, state->computed[i]);
	return keys;
}

/* The rankings, or the other aggregates, as a list. */
static List *
aggregate_list(GpucolAggExecState *state, bool rankings)
{
	List	   *exprs = NIL;

	for (int i = 0; i < state->naggs; i++)
	{
		if ((state->numbers[i] >= 0) == rankings)
			exprs = lappend(exprs, state->computed[state->nkeys + i]);
	}
	return exprs;
}

/* Lower the rankings. */
static bool
lower_rankings(GpucolExec *exec, GpucolLower *l)
{
	GpucolAggExecState *state = (GpucolAggExecState *) exec->node;
	const GpucolRankedOps *ranked = gpucol_ranking_wing->node;
	List	   *aggs = aggregate_list(state, true);
	Bitmapset  *filled;

	filled = gpucol_run_filled_columns(exec, ranked->doubtful_labels(l, aggs));
	return ranked->lower(l, aggs, filled, state->rankings);
}

/* Lower the conditions, and the joins of a pipe. */
static bool
lower_input(GpucolAggExecState *state, GpucolExec *exec, GpucolLower *l)
{
	ListCell   *lc;

	if (exec->joins != NULL)
		return gpucol_pipe_lower(l, exec->joins->pipe);
	foreach(lc, state->pushed)
	{
		if (!gpucol_lower_qual(l, lfirst(lc), true))
			return false;
	}
	gpucol_lower_end_filter(l);
	return true;
}

/* What this node does for the grouping beside the engine. */
static GpucolGroupShare
may_share(GpucolAggExecState *state, const GpucolExec *exec)
{
	if (state->ranking || (exec->rows_of != NULL && exec->joins == NULL))
		return GPUCOL_GROUP_NOTHING;
	return gpucol_agg_private(state, GPUCOL_AGG_PRIVATE_FEEDING) ? GPUCOL_GROUP_FEED :
		GPUCOL_GROUP_REGROUP;
}

/* Lower the conditions, the keys and the aggregates. */
static bool
lower_agg(GpucolExec *exec, GpucolLower *l)
{
	GpucolAggExecState *state = (GpucolAggExecState *) exec->node;
	bool		rankings = state->ranking && exec == &state->exec;
	GpucolGroupPlan *plan = exec == &state->exec ? &state->grouping :
		&state->ordinary_grouping;
	List	   *aggs = rankings ? NIL : aggregate_list(state, false);

	l->aggregating = true;
	if (!state->ranking)
		gpucol_run_name_tables(exec, l);
	l->no_extremes |= state->ranking;
	l->later = list_concat(key_list(state), aggs);
	if (!lower_input(state, exec, l) ||
		!gpucol_lower_grouping(l, key_list(state), aggs, state->tests, &state->sets, may_share(state, exec), plan))
		return false;
	if (!rankings)
		state->finals = plan->finals;
	for (int i = 0; i < state->naggs && plan->feeding; i++)
		plan->finals[i].fed->most = list_nth_int(state->elements, i);
	exec->withholds |= plan->regroup;
	if (plan->feeding)
	{
		/* rows in the order of the table */
		exec->kind = GPUCOL_PROGRAM_SCAN;
		exec->cpu_only = true;
	}
	exec->in_place = !state->ranking && !plan->regroup;
	exec->first = !state->ranking &&
		gpucol_first_make(plan, exec->node->ss.ps.plan->qual, state->wanted, &state->first) ?
		&state->first : NULL;
	for (int i = 0; i < state->nkeys && !plan->regroup; i++)
	{
		Node	   *key = (Node *) state->exprs[i];

		gpucol_output_init(&state->keys[i], exprType(key), exprTypmod(key),
						   exprCollation(key), &plan->keys[i].value);
		state->keys[i].labels = plan->keys[i].labels;
		state->keys[i].shown = plan->keys[i].shown_state + 1;
		state->keys[i].packed = plan->keys[i].value.packed;
	}
	return !rankings || lower_rankings(exec, l);
}

/* Range table index of the table (0) or of its i-th part. */
static Index
table_varno(GpucolAggExecState *state, int i)
{
	return castNode(Var, state->exprs[state->nvalues + 1 + i])->varno;
}

/* Open the parts of the table. */
static void
open_parts(GpucolAggExecState *state)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	List	   *attnums = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_PARTS);
	List	   *rtis = NIL;

	for (int i = 0; i < list_length(attnums); i++)
		rtis = lappend_int(rtis, table_varno(state, 1 + i));
	gpucol_run_open_parts(&state->exec, rtis, attnums);
}

/* What a device is to make of the rows that are ranked. */
static bool
make_shape(GpucolExec *exec, GpucolRowShape *shape, const char **why)
{
	GpucolAggExecState *state = (GpucolAggExecState *) exec->node;

	return gpucol_ranking_wing->node->shape(state->ranks, shape, why);
}

/* What takes the rows that are ranked in the CPU engine's threads. */
static GpucolTakeRows
make_take(GpucolExec *exec, int threads, void **arg)
{
	GpucolAggExecState *state = (GpucolAggExecState *) exec->node;

	return gpucol_ranking_wing->node->take(state->ranks, threads, arg);
}

/* Results beside the keys of groups that are ranked (GpucolFormResults). */
static void
form_rankings(void *arg, uint32 first, uint32 n, Datum **values, bool **isnull)
{
	GpucolAggExecState *state = (GpucolAggExecState *) arg;

	for (int i = 0; i < state->naggs; i++)
	{
		int			number = state->numbers[i];

		if (number >= 0)
			gpucol_ranking_wing->node->datums(state->ranks, number, first, n, values[i], isnull[i]);
		for (uint32 g = 0; number < 0 && g < n; g++)
			values[i][g] = gpucol_final_datum(&state->finals[-1 - number],
											  gpucol_ranking_wing->node->ordinary_states(state->ordinary, first + g),
											  &isnull[i][g]);
	}
}

/* Prepare the run over a pipe; the tables, and the plans whose rows they are made of. */
static void
begin_pipe(GpucolAggExecState *state, List *saved, EState *estate)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	List	   *above;
	GpucolPipe *pipe = gpucol_join_load(saved, llast_node(TargetEntry, cscan->custom_scan_tlist),
										&above);

	state->children = gpucol_join_children_init(&state->css, estate, state->eflags);
	state->css.custom_ps = list_copy(state->children);
	gpucol_joins_init(&state->exec, &state->css, pipe, above, state->children, state->eflags,
					  GPUCOL_PROGRAM_AGG, lower_agg);
	state->computed = palloc(Max(list_length(above), 1) * sizeof(Expr *));
	for (int i = 0; i < list_length(above); i++)
		state->computed[i] = (Expr *) gpucol_pipe_map(pipe, list_nth(above, i));
}

/* Is the result tuple made of keys, aggregates and constants only? */
static void
find_direct(GpucolAggExecState *state, EState *estate)
{
	PlanState  *ps = &state->css.ss.ps;
	List	   *tlist = ps->plan->targetlist;
	ListCell   *lc;

	if (ps->ps_ProjInfo == NULL || estate->es_epq_active != NULL ||
		!TTS_IS_VIRTUAL(ps->ps_ResultTupleSlot))
		return;
	state->places = palloc((list_length(tlist) + 1) * sizeof(int));
	foreach(lc, tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;

		/* PostgreSQL also puts NULL for what nobody above needs */
		if (IsA(var, Const))
		{
			state->places[state->ndirect++] = GPUCOL_GROUP_ROWS_CONSTANT;
			continue;
		}
		if (!IsA(var, Var) || var->varno != INDEX_VAR || var->varattno <= 0 ||
			var->varattno > state->nkeys + state->naggs)
			return;
		state->places[state->ndirect++] = var->varattno - 1;
	}
	state->direct = ps->ps_ResultTupleSlot;
}

/* The recursion that is grouped: a subplan, or a child of the node. */
static PlanState *
find_recursion(GpucolAggExecState *state, int plan_id, EState *estate)
{
	if (plan_id != GPUCOL_RECURSIVE_CHILD)
		return list_nth(estate->es_subplanstates, plan_id - 1);
	state->children = gpucol_join_children_init(&state->css, estate, state->eflags);
	state->css.custom_ps = list_copy(state->children);
	return llast(state->children);
}

static void
agg_begin(CustomScanState *node, EState *estate, int eflags)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	Index		varno = table_varno(state, 0);
	int			plan_id = intVal(list_nth(((CustomScan *) node->ss.ps.plan)->custom_private,
										  GPUCOL_AGG_PRIVATE_RECURSION));
	GpucolProgramKind kind = state->ranking ? GPUCOL_PROGRAM_SCAN : GPUCOL_PROGRAM_AGG;
	List	   *pipe = list_nth(((CustomScan *) node->ss.ps.plan)->custom_private,
								GPUCOL_AGG_PRIVATE_PIPE);

	gpucol_check_rights(linitial(((CustomScan *) node->ss.ps.plan)->custom_plans), eflags);
	state->eflags = eflags;
	gpucol_replay_init(&state->replay, eflags);
	state->computed = state->exprs;
	/* the ordinary plan may deliver slots that are still to be deformed */
	node->ss.ps.resultopsfixed = false;
	number_aggregates(state);
	state->keys = palloc0(Max(state->nkeys, 1) * sizeof(GpucolOutput));
	gpucol_group_rows_init(&state->rows, state->nkeys, state->naggs,
						   state->ranking ? form_rankings : NULL, state);
	state->row_context = AllocSetContextCreate(estate->es_query_cxt,
											   "gpucol aggregation row",
											   ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
	if (pipe != NIL)
		begin_pipe(state, pipe, estate);
	else if (plan_id != 0)
		gpucol_run_init_rows(&state->exec, node, find_recursion(state, plan_id, estate),
							 gpucol_recursion_wing->open_rows, varno, varno, kind, lower_agg);
	else
		gpucol_run_init(&state->exec, node,
						exec_rt_fetch(varno, estate)->rtekind == RTE_RELATION ?
						ExecOpenScanRelation(estate, varno, eflags) : NULL,
						varno, kind, lower_agg);
	if (pipe == NIL)
		open_parts(state);
	if (state->nordinary > 0)
		gpucol_run_init(&state->ordinary_exec, node, state->exec.rel, varno,
						GPUCOL_PROGRAM_AGG, lower_agg);
	state->exec.withholds = state->ranking;
	state->regroup_context = AllocSetContextCreate(estate->es_query_cxt,
												   "gpucol regroup",
												   ALLOCSET_DEFAULT_SIZES);
	find_direct(state, estate);
	if (!state->ranking)
		return;
	state->exec.make_shape = make_shape;
	state->exec.make_take = make_take;
	state->rankings = gpucol_ranking_wing->node->make();
	state->rank_context = AllocSetContextCreate(estate->es_query_cxt, "gpucol ranking",
												ALLOCSET_DEFAULT_SIZES);
}

/* Compute the aggregates beside the rankings, if any. */
static GpucolStatus
run_ordinary(GpucolAggExecState *state)
{
	GpucolStatus status = state->ordinary == NULL ? GPUCOL_OK :
		gpucol_ranking_wing->node->ordinary_run(state->ordinary);

	if (status != GPUCOL_OK)
		state->exec.fallback = state->ordinary_exec.fallback;
	return status;
}

/* Next groups of a node with rankings. */
static GpucolStatus
next_ranked(GpucolAggExecState *state, GpucolResult *result)
{
	GpucolStatus status;

	if (state->ranks == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->rank_context);

		state->ranks = gpucol_ranking_wing->node->create(&state->exec, state->nkeys,
										 state->keys, state->rankings);
		if (state->nordinary > 0)
			state->ordinary = gpucol_ranking_wing->node->ordinary_create(&state->ordinary_exec, state->nkeys,
												 state->keys);
		MemoryContextSwitchTo(old);
		status = run_ordinary(state);
		if (status != GPUCOL_OK)
			return status;
	}
	status = gpucol_ranking_wing->node->next(state->ranks, result);
	if (status == GPUCOL_OK && state->ordinary != NULL)
		gpucol_ranking_wing->node->ordinary_find(state->ordinary, result);
	return status;
}

/* Let go of what the rankings and the joined groups hold. */
static void
end_groups(GpucolAggExecState *state)
{
	state->ahead = false;
	state->ranks = NULL;
	state->ordinary = NULL;
	if (state->nordinary > 0)
		gpucol_run_end(&state->ordinary_exec);
	if (state->ranking)
		MemoryContextReset(state->rank_context);
	if (state->regroup != NULL)
		gpucol_regroup_end(state->regroup);
	state->regroup = NULL;
	gpucol_memory_reset(state->regroup_context);
}

/* Put the next group into the scan slot. */
static TupleTableSlot *
store_group(GpucolAggExecState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	uint32		row = state->next++;

	ExecClearTuple(slot);
	for (int i = 0; i < state->nkeys + state->naggs; i++)
	{
		slot->tts_values[i] = state->rows.values[i][row];
		slot->tts_isnull[i] = state->rows.isnull[i][row];
	}
	return ExecStoreVirtualTuple(slot);
}

/*
 * Put the next group into the result slot.  It is virtual, and what is left to do of
 * clearing it, unless somebody has made it keep its values, is to fill it again.
 */
static TupleTableSlot *
store_direct(GpucolAggExecState *state)
{
	TupleTableSlot *slot = state->direct;
	uint32		row = state->next++;

	if (TTS_SHOULDFREE(slot))
		ExecClearTuple(slot);
	for (int i = 0; i < state->ndirect; i++)
	{
		int			place = state->places[i];
		const Const *constant = place == GPUCOL_GROUP_ROWS_CONSTANT ?
			(const Const *) list_nth_node(TargetEntry, state->css.ss.ps.plan->targetlist, i)->expr : NULL;

		slot->tts_values[i] = constant != NULL ? constant->constvalue : state->rows.values[place][row];
		slot->tts_isnull[i] = constant != NULL ? constant->constisnull : state->rows.isnull[place][row];
	}
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = (AttrNumber) state->ndirect;
	return slot;
}

/* The next of the joined groups; none where the node must fall back. */
static TupleTableSlot *
next_joined(GpucolAggExecState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;
	bool		found;

	ExecClearTuple(slot);
	MemoryContextReset(state->row_context);
	old = MemoryContextSwitchTo(state->row_context);
	found = gpucol_regroup_next(state->regroup, slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	return found ? ExecStoreVirtualTuple(slot) : slot;
}

/* How many groups are wanted, whichever they are; 0: all, or the first by an order. */
static uint32
any_groups(const List *wanted)
{
	return wanted == NIL || list_nth(wanted, GPUCOL_FIRST_PRIVATE_PLACES) != NIL ? 0 :
		intVal(list_nth(wanted, GPUCOL_FIRST_PRIVATE_LIMIT));
}

/*
 * Start the run, which says whether the engine's groups have to be joined; if so,
 * join them.
 */
static GpucolStatus
start_once(GpucolAggExecState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->regroup_context);
	GpucolStatus status = gpucol_run_start(&state->exec);

	if (status == GPUCOL_OK && state->grouping.regroup)
	{
		state->regroup = gpucol_regroup_run(&state->exec, &state->grouping, any_groups(state->wanted));
		if (state->regroup == NULL)
			status = GPUCOL_UNSUPPORTED;
	}
	MemoryContextSwitchTo(old);
	return status;
}

/*
 * The same.  A run that goes by the forms of numerics is asked for its first groups, whom it may come to nothing
 * before; then the next one goes by none.
 */
static GpucolStatus
start_groups(GpucolAggExecState *state)
{
	GpucolStatus status = start_once(state);

	if (status == GPUCOL_OK && state->regroup == NULL && state->exec.lower != NULL && state->exec.lower->formed != NIL)
	{
		state->ahead_status = gpucol_run_next(&state->exec, &state->ahead_result);
		state->ahead = true;
		status = state->ahead_status == GPUCOL_END ? GPUCOL_OK : state->ahead_status;
	}
	if (status == GPUCOL_OK || !state->exec.misformed || state->exec.joins != NULL || state->anew)
		return status;
	end_groups(state);
	gpucol_run_end(&state->exec);
	state->exec.fallback = NULL;
	state->anew = true;
	return start_once(state);
}

/* The next groups of the engine, which start_groups may have. */
static GpucolStatus
next_result(GpucolAggExecState *state, GpucolResult *result)
{
	if (!state->ahead)
		return gpucol_run_next(&state->exec, result);
	state->ahead = false;
	*result = state->ahead_result;
	return state->ahead_status;
}

/* Turn to a batch of the engine, without the groups that HAVING does not let pass. */
static void
load_groups(GpucolAggExecState *state, const GpucolResult *result)
{
	const GpucolProgram *program = state->exec.program;

	gpucol_group_rows_load(&state->rows, result, state->keys, state->finals, state->ranking ? 0 : program->naggs);
	if (!state->having.looked && result->nrows > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(state->regroup_context);

		gpucol_having_look(&state->having, state->ranking ? NULL : &state->grouping, state->keys, &state->css.ss);
		MemoryContextSwitchTo(old);
	}
	if (state->having.tested)
	{
		uint32		removed = gpucol_having_test(&state->having, &state->rows, &state->css.ss,
												 GPUCOL_PROGRAM_ARRAY(program, GpucolAgg, aggs));

		InstrCountFiltered1(&state->css.ss, removed);
	}
}

/* Have the next groups formed; false if there are none, or the node must fall back. */
static bool
form_groups(GpucolAggExecState *state)
{
	GpucolResult result;

	while (!gpucol_group_rows_form(&state->rows))
	{
		if ((state->ranking ? next_ranked(state, &result) :
			 next_result(state, &result)) != GPUCOL_OK)
			return false;
		load_groups(state, &result);
	}
	state->next = 0;
	return true;
}

/* Is there a group to be stored? */
static inline bool
more_groups(GpucolAggExecState *state)
{
	return state->next < state->rows.nrows || form_groups(state);
}

/* ExecScan's access method: the next group, or the fallback's need. */
static TupleTableSlot *
next_group(ScanState *node)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;

	if (!state->exec.started && !state->ranking && start_groups(state) != GPUCOL_OK)
		return ExecClearTuple(node->ss_ScanTupleSlot);
	if (state->regroup != NULL)
		return next_joined(state);
	return more_groups(state) ? store_group(state) : ExecClearTuple(node->ss_ScanTupleSlot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_group, next_group)

/* Initialise the ordinary plan. */
static void
begin_fallback(GpucolAggExecState *state)
{
	gpucol_run_end(&state->exec);
	gpucol_join_children_release(state->children);
	state->fallback = gpucol_begin_fallback(&state->css, state->eflags);
}

/* Let everything go: a node above may go on for long. */
static void
let_go(GpucolAggExecState *state)
{
	end_groups(state);
	gpucol_run_end(&state->exec);
	gpucol_group_rows_reset(&state->rows);
	state->next = 0;
	gpucol_having_forget(&state->having, &state->css.ss);
}

/* The next group of the run or of the ordinary plan. */
static TupleTableSlot *
fetch_group(CustomScanState *node)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;
	TupleTableSlot *slot;

	if (state->next < state->rows.nrows && state->direct != NULL && state->having.tested)
		return store_direct(state);
	if (state->fallback != NULL)
		return ExecProcNode(state->fallback);
	if (state->done)
		return NULL;
	slot = ExecScan(&node->ss, next_group, recheck_group);
	if (state->exec.fallback == NULL)
	{
		state->done = TupIsNull(slot);
		if (state->done)
			let_go(state);
		return slot;
	}
	end_groups(state);
	begin_fallback(state);
	return ExecProcNode(state->fallback);
}

static TupleTableSlot *
agg_exec(CustomScanState *node)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;

	return state->replay.wanted ? gpucol_replay_next(&state->replay, node, fetch_group) :
		fetch_group(node);
}

/* Describe the columns of batches: those of the result tuple, or keys and aggregates, in the query's memory. */
static void
describe_batches(GpucolAggExecState *state, TupleDesc desc)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	if (state->direct == NULL)
	{
		state->ndirect = state->nkeys + state->naggs;
		state->places = palloc((state->ndirect + 1) * sizeof(int));
		for (int i = 0; i < state->ndirect; i++)
			state->places[i] = i;
		gpucol_batch_init(&state->formed, state->ndirect);
	}
	state->maps = palloc((state->ndirect + 1) * sizeof(GpucolTypeMap));
	for (int i = 0; i < state->ndirect; i++)
		gpucol_typemap_init(&state->maps[i], TupleDescAttr(desc, i)->atttypid, TupleDescAttr(desc, i)->atttypmod,
							TupleDescAttr(desc, i)->attcollation);
	MemoryContextSwitchTo(old);
}

/* Can the groups be had in batches (GpucolBatchOps)? */
static bool
agg_offer(CustomScanState *node, PlanState *above pg_attribute_unused(), List *conditions pg_attribute_unused())
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;
	PlanState  *ps = &node->ss.ps;
	TupleDesc	desc = state->direct != NULL ? ps->ps_ResultTupleSlot->tts_tupleDescriptor :
		node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	if (state->ranking || state->replay.wanted || state->fallback != NULL || ps->state->es_epq_active != NULL ||
		(state->direct == NULL &&
		 !gpucol_batch_compute_offer(&state->compute, ps, NULL, state->nkeys + state->naggs, desc)))
		return false;
	state->exec.large_batches = true;
	if (state->maps == NULL)
		describe_batches(state, desc);
	return true;
}

/* The next batch of groups; tuples where groups are joined here, or the ordinary plan makes them. */
static GpucolStatus
form_batch(GpucolAggExecState *state, GpucolBatch *batch)
{
	GpucolResult result;
	GpucolStatus status;

	if (state->done)
		return GPUCOL_END;
	if (state->fallback != NULL)
		return GPUCOL_UNSUPPORTED;
	status = state->exec.started ? GPUCOL_OK : start_groups(state);
	if (state->regroup != NULL)
		return GPUCOL_UNSUPPORTED;
	if (status == GPUCOL_OK)
		status = next_result(state, &result);
	if (state->exec.fallback != NULL)
	{
		end_groups(state);
		begin_fallback(state);
		return GPUCOL_UNSUPPORTED;
	}
	state->done = status == GPUCOL_END;
	if (state->done)
		let_go(state);
	if (status != GPUCOL_OK)
		return status;
	load_groups(state, &result);
	if (!state->having.tested && result.nrows > 0)
		return GPUCOL_UNSUPPORTED;
	batch->ncolumns = state->ndirect;
	/* what a device has delivered in place may not outlast what is asked of it next */
	gpucol_group_rows_columns(&state->rows, state->places, state->css.ss.ps.plan->targetlist, state->maps,
							  state->exec.engine != &gpucol_engine_cpu &&
							  result.nrows <= GPUCOL_IN_PLACE_ROWS, batch);
	return GPUCOL_OK;
}

/* The same with the columns of the target list. */
static GpucolStatus
agg_next_batch(CustomScanState *node, GpucolBatch *batch)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;
	GpucolStatus status = GPUCOL_OK;

	if (state->compute == NULL)
		status = form_batch(state, batch);
	while (state->compute != NULL && status == GPUCOL_OK && !gpucol_batch_compute_next(state->compute, batch))
	{
		status = form_batch(state, &state->formed);
		if (status == GPUCOL_OK)
			gpucol_batch_compute_take(state->compute, state->formed.nrows, state->formed.outputs,
									  state->formed.columns, false);
	}
	state->exec.delivered |= status == GPUCOL_OK;
	return status;
}

const GpucolBatchOps gpucol_agg_batches = {
	.large = true,
	.offer = agg_offer,
	.next = agg_next_batch,
};

static void
agg_end(CustomScanState *node)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;

	gpucol_replay_end(&state->replay);
	end_groups(state);
	gpucol_run_end(&state->exec);
	gpucol_joins_close(&state->exec);
	gpucol_join_children_end(state->children);
	if (state->fallback != NULL)
		ExecEndNode(state->fallback);
}

static void
agg_rescan(CustomScanState *node)
{
	GpucolAggExecState *state = (GpucolAggExecState *) node;

	if (gpucol_replay_rewind(&state->replay, node))
		return;
	let_go(state);
	state->done = false;
	ExecScanReScan(&node->ss);
	gpucol_join_children_rescan(node, state->children);
	gpucol_run_rescan_fallback(node, state->fallback);
}

static void
agg_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	gpucol_explain_agg((GpucolAggExecState *) node, ancestors, es);
}
