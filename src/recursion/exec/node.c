/*-------------------------------------------------------------------------
 *
 * node.c
 *	  GpucolRecursive: evaluates a recursion plan whose inputs are the node's
 *	  children, and delivers the rows as the rounds find them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "exec/ordinary.h"
#include "exec/recheck.h"
#include "exec/rights.h"
#include "recursion/front/builder.h"
#include "recursion/front/run.h"
#include "recursion/front/symbols.h"
#include "recursion/front/values.h"
#include "recursion/exec/state.h"
#include "guc.h"
#include "lower/lower.h"

static const char lost_reason[] =
"equal values look different, and which of them shows depends on PostgreSQL's plan";
static const char tried_reason[] = "PostgreSQL's plan was tried first and has ended";
static const char limit_reason[] = "the query wants only the first rows";
static const char unknown_reason[] = "the value of a parameter is not known before a row asks for it";

typedef struct RecursiveState
{
	CustomScanState css;
	GpucolRecPlan *plan;
	int			ncolumns;
	GpucolRecColumn *columns;	/* of the result */
	List	   *constants;		/* ExprState */
	GpucolRecColumn *constant_columns;
	GpucolRecursiveHost **hosts;	/* recursion/exec/host.c */
	PlanState  *seeds;			/* non-recursive term; NULL = a rule of the plan */
	PlanState  *inputs;			/* GpucolInputs */
	int			nhosts;
	bool	   *carried;		/* by relation and column (recursion/exec/carried.c) */
	ExprState  *seed_filter;	/* on rows of the non-recursive term, or NULL */

	/* a run; in its own context */
	MemoryContext context;
	GpucolSymbols *symbols;
	GpucolRecursionMemory *memory;	/* of the run */
	GpucolRecursiveEqualities *equalities;
	GpucolRecursion *recursion; /* NULL if not started, and in a fallback */
	GpucolRecBatch batch;
	uint32		next;			/* row of the batch */
	bool		ended;
	uint64		delivered;		/* rows of the engine */
	GpucolRecProgress progress; /* of the finished run */

	/* PostgreSQL's RecursiveUnion in the engine's place */
	int			eflags;
	PlanState  *ordinary;		/* once needed */
	GpucolRecursiveFallback *fallback;	/* of the run, or NULL */
	const char *fallback_reason;	/* of the last run, or NULL */
} RecursiveState;

static GpucolRecColumn *
make_columns(List *types)
{
	GpucolRecColumn *columns = palloc(sizeof(GpucolRecColumn) *
									  (list_length(types) + 1));
	ListCell   *lc;

	foreach(lc, types)
		gpucol_rec_column_init(&columns[foreach_current_index(lc)],
							   lfirst_oid(lc));
	return columns;
}

/* The expressions of the recursion plan: constants, then host expressions. */
static List *
plan_exprs(RecursiveState *state)
{
	return ((CustomScan *) gpucol_inputs_find(state->inputs)->plan)->custom_exprs;
}

/* Have columns of these collations give equal values one form. */
static void
set_equalities(RecursiveState *state, GpucolRecColumn *columns, List *collations)
{
	ListCell   *lc;

	foreach(lc, collations)
		gpucol_recursive_equalities_set(state->equalities, &columns[foreach_current_index(lc)], lfirst_oid(lc));
}

/* The same for what functions return. */
static void
set_expansion_equalities(RecursiveState *state)
{
	GpucolRecColumn *column;
	Oid			collation;

	for (int i = 0; i < state->nhosts; i++)
	{
		GpucolRecursiveExpansion *expansion = gpucol_recursive_host_expansion(state->hosts[i]);

		for (int c = 0; expansion != NULL &&
			 (column = gpucol_recursive_expansion_column(expansion, c, &collation)) != NULL; c++)
			gpucol_recursive_equalities_set(state->equalities, column, collation);
	}
}

/* The equalities of a run, in its context. */
static void
make_equalities(RecursiveState *state)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	List	   *exprs = plan_exprs(state);
	int			i;

	state->equalities = gpucol_recursive_equalities_create(list_nth(scan->custom_private,
																	GPUCOL_RECURSIVE_EQUALITIES));
	set_equalities(state, state->columns,
				   list_nth(scan->custom_private, GPUCOL_RECURSIVE_COLLATIONS));
	for (i = 0; i < (int) state->plan->nconstants; i++)
		gpucol_recursive_equalities_set(state->equalities, &state->constant_columns[i],
										exprCollation(list_nth(exprs, i)));
	for (i = 0; i < state->nhosts; i++)
		gpucol_recursive_equalities_set(state->equalities, gpucol_recursive_host_result(state->hosts[i]),
										exprCollation(list_nth(exprs, state->plan->nconstants + i)));
	set_expansion_equalities(state);
}

/*
 * Start the inputs, and the non-recursive term unless it is a rule of the plan.
 * Conditions that are tested on its rows need the rows.
 */
static void
begin_children(RecursiveState *state, EState *estate, int eflags)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;

	if (!boolVal(list_nth(scan->custom_private, GPUCOL_RECURSIVE_BASE)) ||
		scan->custom_exprs != NIL)
	{
		if (boolVal(list_nth(scan->custom_private, GPUCOL_RECURSIVE_BASE)))
			state->plan->nrules--;
		state->seeds = ExecInitNode(linitial(scan->custom_plans), estate,
									eflags);
		state->css.custom_ps = lappend(state->css.custom_ps, state->seeds);
	}
	state->inputs = ExecInitNode(lsecond(scan->custom_plans), estate, eflags);
	state->css.custom_ps = lappend(state->css.custom_ps, state->inputs);
}

/* Prepare the expressions of the recursion plan. */
static void
begin_exprs(RecursiveState *state)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	List	   *operands = list_nth(scan->custom_private, GPUCOL_RECURSIVE_HOSTS);
	List	   *matches = list_nth(scan->custom_private, GPUCOL_RECURSIVE_MATCHES);
	PlanState  *owner = gpucol_inputs_find(state->inputs);
	int			nconstants = (int) state->plan->nconstants;
	List	   *types = NIL;
	ListCell   *lc;

	state->nhosts = list_length(operands);
	state->hosts = palloc(sizeof(GpucolRecursiveHost *) * (state->nhosts + 1));
	foreach(lc, plan_exprs(state))
	{
		int			i = foreach_current_index(lc) - nconstants;

		if (i >= 0)
		{
			state->hosts[i] = gpucol_recursive_host_create(lfirst(lc),
														   list_nth(operands, i),
														   list_nth(matches, i),
														   owner);
			continue;
		}
		types = lappend_oid(types, exprType(lfirst(lc)));
		state->constants = lappend(state->constants,
								   ExecInitExpr(lfirst(lc), owner));
	}
	state->constant_columns = make_columns(types);
}

/* Have columns of a relation know that they are carried along. */
static void
set_carried(const RecursiveState *state, uint32 relation, GpucolRecColumn *columns, int ncolumns)
{
	for (int c = 0; c < ncolumns; c++)
		columns[c].carried = state->carried[relation * GPUCOL_REC_MAX_ARITY + c];
}

/* Find out which values are carried along and never compared. */
static void
begin_carried(RecursiveState *state)
{
	bool	   *matches = palloc0(sizeof(bool) * (state->nhosts + 1));
	bool	   *matched = palloc0(sizeof(bool) * (state->plan->nrelations + 1));
	bool	   *results;

	for (int i = 0; i < state->nhosts; i++)
	{
		GpucolRecursiveMatch *match = gpucol_recursive_host_match(state->hosts[i]);

		matches[i] = match != NULL;
		if (match != NULL)
			matched[1 + gpucol_recursive_match_input(match)] = true;
	}
	gpucol_recursive_find_carried(state->plan, state->nhosts, matches, matched, &state->carried, &results);
	for (int i = 0; i < state->nhosts; i++)
		gpucol_recursive_host_result(state->hosts[i])->carried = results[i];
	set_carried(state, 0, state->columns, state->ncolumns);
}

static void
begin_recursive(CustomScanState *node, EState *estate, int eflags)
{
	RecursiveState *state = (RecursiveState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	Const	   *packed = list_nth(scan->custom_private, GPUCOL_RECURSIVE_PLAN);
	List	   *types = list_nth(scan->custom_private, GPUCOL_RECURSIVE_TYPES);
	ListCell   *lc;

	foreach(lc, (List *) list_nth(scan->custom_private, GPUCOL_RECURSIVE_FUNCTIONS))
		gpucol_check_right(lfirst_oid(lc), GetUserId(), OBJECT_FUNCTION);
	state->plan = gpucol_rec_plan_unpack(DatumGetByteaPP(packed->constvalue));
	state->eflags = eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD |
							   EXEC_FLAG_MARK);
	begin_children(state, estate, state->eflags);
	state->ncolumns = list_length(types);
	state->columns = make_columns(types);
	begin_exprs(state);
	begin_carried(state);
	if (scan->custom_exprs != NIL)
		state->seed_filter = ExecInitQual(scan->custom_exprs, &node->ss.ps);
}

/* ---- starting a run ---- */

/*
 * Put the values of the constants into the plan; false if one is not at hand, which only
 * a row may ask for.
 */
static bool
evaluate_constants(RecursiveState *state)
{
	GpucolRecConstant *constants =
		(GpucolRecConstant *) unconstify(GpucolRecConstant *,
										 state->plan->constants);
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	ListCell   *lc;

	foreach(lc, state->constants)
	{
		int			i = foreach_current_index(lc);
		ExprState  *expr = lfirst(lc);
		Datum		datum;

		if (IsA(expr->expr, Param) &&
			!gpucol_lower_param_is_known(econtext, (Param *) expr->expr))
			return false;
		datum = ExecEvalExprSwitchContext(expr, econtext, &constants[i].isnull);
		constants[i].value = constants[i].isnull ? 0 :
			gpucol_rec_column_to_value(&state->constant_columns[i], datum,
									   state->symbols);
	}
	return true;
}

/* A relation that rows are loaded into. */
typedef struct LoadTarget
{
	RecursiveState *state;
	uint32		relation;
} LoadTarget;

/* Give rows to a relation, and to those who look for matches in it (a GpucolRecursiveTake). */
static void
load_rows(void *context, uint32 n, const int64 *const *values, const uint8 *const *nulls)
{
	RecursiveState *state = ((LoadTarget *) context)->state;
	uint32		relation = ((LoadTarget *) context)->relation;

	gpucol_recursion_load(state->recursion, relation, n, values, nulls);
	for (int i = 0; i < state->nhosts; i++)
	{
		GpucolRecursiveMatch *match = gpucol_recursive_host_match(state->hosts[i]);

		if (match != NULL && gpucol_recursive_match_input(match) == (int) relation - 1)
			gpucol_recursive_match_load(match, n, values, nulls);
	}
	gpucol_recursion_count(state->memory, 0);
}

/* Give all rows of a child that pass the filter (if any) to a relation. */
static void
load_child(RecursiveState *state, PlanState *child, uint32 relation,
		   const GpucolRecColumn *columns, int ncolumns, ExprState *filter)
{
	LoadTarget	target = {state, relation};

	gpucol_recursive_load(child, columns, ncolumns, state->symbols, filter, state->css.ss.ps.ps_ExprContext,
						  load_rows, &target);
}

/* GpucolRecHost: expressions that only PostgreSQL computes. */
static void
compute_host(void *context, uint32_t id, uint32_t n,
			 const int64_t *const *values, const uint8_t *const *nulls,
			 int64_t *result, uint8_t *result_nulls)
{
	RecursiveState *state = context;

	gpucol_recursive_host_compute(state->hosts[id], state->symbols, n,
								  (const int64 *const *) values, nulls,
								  (int64 *) result, result_nulls);
	gpucol_recursion_count(state->memory, 0);
}

/* GpucolRecHostApart */
static bool
compute_apart(void *context, uint32_t id, uint32_t n, const int64_t *const *values, const uint8_t *const *nulls,
			  int64_t *result, uint8_t *result_nulls)
{
	const RecursiveState *state = context;

	return gpucol_recursive_host_compute_apart(state->hosts[id], state->symbols, n, (const int64 *const *) values,
											   nulls, (int64 *) result, result_nulls);
}

/* GpucolRecExpand: rows that functions return. */
static uint32_t
expand_host(void *context, uint32_t id, uint32_t n, const int64_t *const *values,
			const uint8_t *const *nulls, uint32_t capacity, uint32_t *origins,
			int64_t *const *columns, uint8_t *const *column_nulls)
{
	RecursiveState *state = context;
	uint32		got = gpucol_recursive_host_expand(state->hosts[id], state->symbols, n,
												   (const int64 *const *) values, nulls,
												   capacity, origins,
												   (int64 *const *) columns, column_nulls);

	gpucol_recursion_count(state->memory, 0);
	return got;
}

static void
load_seeds(RecursiveState *state)
{
	if (state->seeds != NULL)
		load_child(state, state->seeds, 0, state->columns, state->ncolumns,
				   state->seed_filter);
}

/* GpucolRecForm */
static int64_t
form_of(void *context, int column, int64_t value)
{
	const RecursiveState *state = context;

	return gpucol_equality_form(state->columns[column].equality, value);
}

static void
start_engine(RecursiveState *state)
{
	GpucolRecursionHost host = {.compute = compute_host,.compute_apart = compute_apart,.expand = expand_host,
	.forms = gpucol_recursive_equalities_forms(state->columns, state->ncolumns),.form = form_of,.context = state};

	state->recursion = gpucol_recursion_start(state->plan, state->memory, &host);
}

/* Have equal values been found that look different, of which nobody knows which is the first? */
static bool
lost_forms(const RecursiveState *state)
{
	GpucolRecProgress progress;

	gpucol_recursion_progress(state->recursion, &progress);
	return progress.forms_lost || gpucol_recursive_equalities_lost(state->equalities);
}

/*
 * Let PostgreSQL's RecursiveUnion take the place of the engine.  The engine has handed out
 * whole rounds, and the rows of each before those of the next, as PostgreSQL does; in rounds
 * before any value had two forms, they are the same ones.  So these are left out.
 */
static void
begin_fallback(RecursiveState *state, const char *reason)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old;

	if (state->recursion != NULL)
		gpucol_recursion_finish(state->recursion);
	state->recursion = NULL;
	state->fallback_reason = reason;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	if (state->ordinary == NULL)
	{
		state->ordinary = gpucol_begin_ordinary(lthird(scan->custom_plans), estate, state->eflags);
		state->css.custom_ps = lappend(state->css.custom_ps, state->ordinary);
	}
	MemoryContextSwitchTo(old);
	state->fallback = gpucol_recursive_fallback_create(state->ordinary,
													   state->seed_filter,
													   state->css.ss.ps.ps_ExprContext,
													   state->ncolumns,
													   state->columns,
													   state->delivered);
}

/*
 * Where PostgreSQL's plan promises to find the rows of a short recursion before an engine
 * has read its inputs: let it try.  True if it has ended, or is to run in any case.
 */
static bool
try_ordinary(RecursiveState *state)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	int			trial = intVal(list_nth(scan->custom_private, GPUCOL_RECURSIVE_TRIAL));
	MemoryContext old;

	/* its rounds cannot be counted */
	if (trial == GPUCOL_RECURSIVE_NO_TRIAL || gpucol_max_recursion_rounds > 0)
		return false;
	begin_fallback(state, trial == GPUCOL_RECURSIVE_LIMITED ? limit_reason : tried_reason);
	if (trial == GPUCOL_RECURSIVE_LIMITED ||
		gpucol_recursive_fallback_try(state->fallback, trial))
		return true;
	state->fallback = NULL;
	state->fallback_reason = NULL;
	/* what the plan allocates now must outlive the run */
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	ExecReScan(state->ordinary);
	MemoryContextSwitchTo(old);
	return false;
}

/*
 * Start the engine and give it the inputs and the non-recursive term; or fall back.
 */
static void
start_run(RecursiveState *state)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	List	   *input_types = list_nth(scan->custom_private,
									   GPUCOL_RECURSIVE_INPUTS);
	List	   *collations = list_nth(scan->custom_private,
									  GPUCOL_RECURSIVE_INPUT_COLLATIONS);
	List	   *inputs = gpucol_inputs_states(state->inputs);
	MemoryContext old;
	ListCell   *lc;

	gpucol_inputs_refresh(state->inputs);
	state->context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt,
										   "GpucolRecursive",
										   ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(state->context);
	state->ended = false;
	state->delivered = 0;
	state->fallback_reason = NULL;
	if (try_ordinary(state))
	{
		MemoryContextSwitchTo(old);
		return;
	}
	state->memory = gpucol_recursion_memory();
	state->symbols = gpucol_symbols_create(state->context, state->memory);
	make_equalities(state);
	if (!evaluate_constants(state))
	{
		begin_fallback(state, unknown_reason);
		MemoryContextSwitchTo(old);
		return;
	}
	for (int i = 0; i < state->nhosts; i++)
		gpucol_recursive_host_refresh(state->hosts[i]);
	for (int i = 0; i < state->nhosts; i++)
		if (gpucol_recursive_host_match(state->hosts[i]) != NULL)
			gpucol_recursive_match_reset(gpucol_recursive_host_match(state->hosts[i]),
										 state->memory);
	start_engine(state);
	load_seeds(state);
	foreach(lc, inputs)
	{
		int			i = foreach_current_index(lc);
		List	   *types = list_nth(input_types, i);
		GpucolRecColumn *columns = make_columns(types);

		set_equalities(state, columns, list_nth(collations, i));
		set_carried(state, 1 + i, columns, list_length(types));
		load_child(state, lfirst(lc), 1 + i, columns, list_length(types), NULL);
	}
	if (lost_forms(state))
		begin_fallback(state, lost_reason);
	MemoryContextSwitchTo(old);
}

/* Release a run, keeping its figures. */
static void
end_run(RecursiveState *state)
{
	if (state->context == NULL)
		return;
	if (state->recursion != NULL)
	{
		gpucol_recursion_progress(state->recursion, &state->progress);
		gpucol_recursion_finish(state->recursion);
	}
	if (state->fallback != NULL)
		gpucol_recursive_fallback_end(state->fallback);
	for (int i = 0; i < state->nhosts; i++)
		if (gpucol_recursive_host_expansion(state->hosts[i]) != NULL)
			gpucol_recursive_expansion_close(gpucol_recursive_host_expansion(state->hosts[i]));
	MemoryContextDelete(state->context);
	state->context = NULL;
	state->batch.nrows = state->next = 0;	/* rows that nobody has asked for */
	state->recursion = NULL;
	state->fallback = NULL;
	state->symbols = NULL;
}

/* ---- rows ---- */

/*
 * The next rows of the engine; false: there are none, or computed values of their round
 * are equal and look different, and the fallback has begun.
 */
static bool
read_engine(RecursiveState *state, GpucolRecBatch *batch)
{
	bool		more = gpucol_recursion_next(state->recursion, 0, batch);

	if (lost_forms(state))
	{
		MemoryContext old = MemoryContextSwitchTo(state->context);

		begin_fallback(state, lost_reason);
		MemoryContextSwitchTo(old);
		return false;
	}
	state->delivered += more ? batch->nrows : 0;
	return more;
}

/* The next rows of the engine, or of what stands in for it. */
static bool
read_batch(RecursiveState *state, GpucolRecBatch *batch)
{
	bool		more;

	if (state->fallback == NULL)
	{
		more = read_engine(state, batch);
		if (state->fallback == NULL)
			return more;
	}
	more = gpucol_recursive_fallback_next(state->fallback, batch);
	state->symbols = gpucol_recursive_fallback_symbols(state->fallback);
	return more;
}

/* The next rows, of which none has been handed out. */
static bool
next_batch(RecursiveState *state, GpucolRecBatch *batch)
{
	if (state->context == NULL)
		start_run(state);
	state->next = state->batch.nrows = 0;
	if (state->ended || !read_batch(state, batch))
	{
		state->ended = true;
		return false;
	}
	return true;
}

bool
gpucol_recursive_fetch(PlanState *planstate, GpucolRecBatch *batch)
{
	bool		more;

	if (planstate->instrument)
		InstrStartNode(planstate->instrument);
	more = next_batch((RecursiveState *) planstate, batch);
	if (planstate->instrument)
		InstrStopNode(planstate->instrument, more ? batch->nrows : 0);
	return more;
}

Datum
gpucol_recursive_datum(const PlanState *planstate, int column, int64 value)
{
	const RecursiveState *state = (const RecursiveState *) planstate;
	const GpucolRecColumn *how = &state->columns[column];
	Datum		datum = gpucol_rec_column_to_datum(how, value, state->symbols);

	/* the symbols of a fallback end with its batch */
	return state->fallback == NULL ? datum : datumCopy(datum, how->typbyval, how->typlen);
}

GpucolBytes
gpucol_recursive_bytes(const PlanState *planstate, int column, int64 value, char *room)
{
	const RecursiveState *state = (const RecursiveState *) planstate;
	GpucolBytes bytes = gpucol_rec_column_string(&state->columns[column], value, state->symbols, room);
	char	   *copy;

	/* the symbols of a fallback end with its batch */
	if (state->fallback == NULL || bytes.data == room)
		return bytes;
	copy = palloc(bytes.len + 1);
	memcpy(copy, bytes.data, bytes.len);
	return (GpucolBytes) {copy, bytes.len};
}

void
gpucol_recursive_restart(PlanState *planstate)
{
	RecursiveState *state = (RecursiveState *) planstate;
	MemoryContext old = MemoryContextSwitchTo(planstate->state->es_query_cxt);

	/* which parameters have changed is remembered until the next run */
	if (state->context != NULL || planstate->chgParam != NULL)
		ExecReScan(planstate);
	MemoryContextSwitchTo(old);
}

/* ExecScan: the next row. */
static TupleTableSlot *
next_row(ScanState *node)
{
	RecursiveState *state = (RecursiveState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	MemoryContext old;
	int			c;

	ExecClearTuple(slot);
	if (state->next == state->batch.nrows &&
		!next_batch(state, &state->batch))
		return slot;
	old = MemoryContextSwitchTo(node->ps.ps_ExprContext->ecxt_per_tuple_memory);
	for (c = 0; c < state->ncolumns; c++)
	{
		const uint8 *nulls = state->batch.nulls[c];

		slot->tts_isnull[c] = nulls != NULL && nulls[state->next];
		slot->tts_values[c] = slot->tts_isnull[c] ? (Datum) 0 :
			gpucol_rec_column_to_datum(&state->columns[c],
									   state->batch.columns[c][state->next],
									   state->symbols);
	}
	MemoryContextSwitchTo(old);
	state->next++;
	return ExecStoreVirtualTuple(slot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_row, next_row)

static TupleTableSlot *
exec_recursive(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

/* The summary of the engine, of no use where the fallback has begun. */
static uint64
summarise_engine(RecursiveState *state, const bool *want, GpucolRecSummary *columns)
{
	uint64		nrows = gpucol_recursion_summarise(state->recursion, 0, want, columns);
	MemoryContext old;

	if (lost_forms(state))
	{
		old = MemoryContextSwitchTo(state->context);
		begin_fallback(state, lost_reason);
		MemoryContextSwitchTo(old);
		return 0;
	}
	gpucol_recursion_progress(state->recursion, &state->progress);
	return nrows;
}

uint64
gpucol_recursive_summarise(PlanState *planstate, const bool *want,
						   GpucolRecSummary *columns)
{
	RecursiveState *state = (RecursiveState *) planstate;
	uint64		nrows;

	if (planstate->instrument)
		InstrStartNode(planstate->instrument);
	if (state->context == NULL)
		start_run(state);
	nrows = state->fallback != NULL ? 0 : summarise_engine(state, want, columns);
	if (state->fallback != NULL)
		nrows = gpucol_recursive_fallback_summarise(state->fallback, want, columns);
	state->ended = true;
	if (planstate->instrument)
		InstrStopNode(planstate->instrument, nrows);
	return nrows;
}

static void
end_recursive(CustomScanState *node)
{
	ListCell   *lc;

	end_run((RecursiveState *) node);
	foreach(lc, node->custom_ps)
		ExecEndNode(lfirst(lc));
}

static void
rescan_recursive(CustomScanState *node)
{
	end_run((RecursiveState *) node);
	ExecScanReScan(&node->ss);
	gpucol_recursive_rescan_children(node);
}

/* The conditions that are tested on the non-recursive term. */
static void
explain_seed_filter(RecursiveState *state, List *ancestors, ExplainState *es)
{
	CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	List	   *context;

	if (scan->custom_exprs == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, &scan->scan.plan,
									   ancestors);
	ExplainPropertyText("Seed Filter",
						deparse_expression((Node *) make_ands_explicit(scan->custom_exprs),
										   context, es->verbose, false), es);
}

/* Expressions beside those of the engine: formulas, the rows that these left to PostgreSQL, and PostgreSQL's. */
static void
explain_hosts(const RecursiveState *state, ExplainState *es)
{
	int			formulas = 0;
	uint64		left = 0;

	for (int i = 0; i < state->nhosts; i++)
	{
		formulas += gpucol_recursive_host_is_formula(state->hosts[i]);
		left += gpucol_recursive_host_left(state->hosts[i]);
	}
	if (formulas > 0)
		ExplainPropertyInteger("Formulas", NULL, formulas, es);
	if (es->analyze && left > 0)
		ExplainPropertyUInteger("Rows of Formulas Computed by PostgreSQL", NULL, left, es);
	if (state->nhosts > formulas)
		ExplainPropertyInteger("Computed by PostgreSQL", NULL, state->nhosts - formulas, es);
}

/* The rules under EXPLAIN (VERBOSE): what is joined in which order. */
static void
explain_rules(RecursiveState *state, ExplainState *es)
{
	List	   *inputs = gpucol_inputs_states(state->inputs);
	const char **names = palloc(sizeof(char *) * (list_length(inputs) + 1));
	ListCell   *lc;
	uint32		i;

	names[0] = "recursion";
	foreach(lc, inputs)
	{
		PlanState  *input = lfirst(lc);
		int			n = foreach_current_index(lc) + 1;
		Index		rti = 0;

		if (IsA(input, SeqScanState) || IsA(input, IndexScanState) ||
			IsA(input, IndexOnlyScanState) || IsA(input, SubqueryScanState) ||
			IsA(input, CustomScanState))
			rti = ((Scan *) input->plan)->scanrelid;
		names[n] = rti > 0 ? list_nth(es->rtable_names, rti - 1) : NULL;
		if (names[n] == NULL)
			names[n] = psprintf("input %d", n);
	}
	for (i = 0; i < state->plan->nrules; i++)
		ExplainPropertyText("Rule", gpucol_rec_plan_describe(state->plan, i, names),
							es);
}

static void
explain_recursive(CustomScanState *node, List *ancestors, ExplainState *es)
{
	RecursiveState *state = (RecursiveState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;

	ExplainPropertyText("Operation",
						boolVal(list_nth(scan->custom_private,
										 GPUCOL_RECURSIVE_ALL)) ?
						"Union All" : "Union", es);
	if (state->recursion != NULL)
		gpucol_recursion_progress(state->recursion, &state->progress);
	ExplainPropertyText("Engine", state->progress.engine != NULL ?
						state->progress.engine : gpucol_recursion_engine(), es);
	if (state->seeds == NULL)
		ExplainPropertyText("Non-Recursive Term", "Rule", es);
	explain_hosts(state, es);
	explain_seed_filter(state, ancestors, es);
	if (es->verbose)
		explain_rules(state, es);
	if (intVal(list_nth(scan->custom_private, GPUCOL_RECURSIVE_TRIAL)) > 0)
		ExplainPropertyText("Tried First", "PostgreSQL's plan", es);
	if (es->analyze && state->fallback_reason != NULL)
		ExplainPropertyText("Fallback", state->fallback_reason, es);
	if (!es->analyze || state->progress.method == NULL)
		return;
	if (state->progress.fallback != NULL)
		ExplainPropertyText("Fallback", state->progress.fallback, es);
	ExplainPropertyText("Method", state->progress.method, es);
	ExplainPropertyUInteger("Rounds", NULL, state->progress.rounds, es);
	if (state->progress.small_rounds > 0)
		ExplainPropertyUInteger("Small Rounds", NULL, state->progress.small_rounds, es);
	ExplainPropertyUInteger("Threads", NULL, state->progress.threads, es);
	ExplainPropertyUInteger("Peak Memory", "kB",
							state->progress.peak_bytes / 1024, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolRecursive",
	.BeginCustomScan = begin_recursive,
	.ExecCustomScan = exec_recursive,
	.EndCustomScan = end_recursive,
	.ReScanCustomScan = rescan_recursive,
	.ExplainCustomScan = explain_recursive,
};

static Node *
create_state(CustomScan *scan pg_attribute_unused())
{
	RecursiveState *state = (RecursiveState *) newNode(sizeof(RecursiveState),
													   T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods gpucol_recursive_scan_methods = {
	.CustomName = "GpucolRecursive",
	.CreateCustomScanState = create_state,
};

bool
gpucol_recursive_is_plan(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &gpucol_recursive_scan_methods;
}

bool
gpucol_recursive_is_state(const PlanState *state)
{
	return IsA(state, CustomScanState) &&
		((const CustomScanState *) state)->methods == &exec_methods;
}

void
gpucol_recursive_register(void)
{
	RegisterCustomScanMethods(&gpucol_recursive_scan_methods);
	RegisterCustomScanMethods(&gpucol_inputs_scan_methods);
	RegisterCustomScanMethods(&gpucol_recursive_agg_scan_methods);
	RegisterCustomScanMethods(&gpucol_recursive_scan_scan_methods);
	RegisterCustomScanMethods(&gpucol_datalog_scan_methods);
}
