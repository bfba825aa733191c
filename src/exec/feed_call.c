/*-------------------------------------------------------------------------
 *
 * feed_call.c
 *	  The functions of one of PostgreSQL's aggregates, called as nodeAgg.c calls them.
 *
 * They see an AggState as their context: its memory context, the Aggref, callbacks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "exec/feed_call.h"
#include "exec/rights.h"

/* ------------------------------------------------------------------------
 * Functions
 * ------------------------------------------------------------------------
 */

static Oid
owner_of(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* The initial state. */
static void
init_value(AggStatePerTrans trans, HeapTuple tuple, Oid type)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &isnull);
	Oid			input;
	Oid			param;
	char	   *string;

	trans->initValueIsNull = isnull;
	if (isnull)
		return;
	getTypeInputInfo(type, &input, &param);
	string = TextDatumGetCString(value);
	trans->initValue = OidInputFunctionCall(input, string, param, -1);
	pfree(string);
}

/* The final function, if there is one. */
static void
init_final(GpucolFeedCall *f, Oid function, Oid owner, bool extra, Oid *types, int ntypes)
{
	Aggref	   *agg = f->agg;
	int			ndirect = list_length(agg->aggdirectargs);
	Expr	   *expr;

	f->peragg.aggref = agg;
	f->peragg.numFinalArgs = (extra ? ntypes : ndirect) + 1;
	f->peragg.finalfn_oid = function;
	get_typlenbyval(agg->aggtype, &f->peragg.resulttypeLen, &f->peragg.resulttypeByVal);
	if (!OidIsValid(function))
		return;
	gpucol_check_right(function, owner, OBJECT_FUNCTION);
	build_aggregate_finalfn_expr(types, f->peragg.numFinalArgs, agg->aggtranstype, agg->aggtype,
								 agg->inputcollid, function, &expr);
	fmgr_info(function, &f->peragg.finalfn);
	fmgr_info_set_expr((Node *) expr, &f->peragg.finalfn);
}

/* A strict transition function without initial state takes the first value for it. */
static void
check_first_value(GpucolFeedCall *f, const Oid *types, int ntypes)
{
	Aggref	   *agg = f->agg;
	int			ndirect = list_length(agg->aggdirectargs);

	if (f->pertrans.transfn.fn_strict && f->pertrans.initValueIsNull &&
		(ntypes <= ndirect || !IsBinaryCoercible(types[ndirect], agg->aggtranstype)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("aggregate %u needs to have compatible input type and transition type",
						agg->aggfnoid)));
}

/*
 * Look up the functions of an aggregate, as ExecInitAgg does.
 */
void
gpucol_feed_call_init(GpucolFeedCall *f, AggState *aggstate, Aggref *agg)
{
	AggStatePerTrans trans = &f->pertrans;
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	Form_pg_aggregate form;
	Oid			types[FUNC_MAX_ARGS];
	int			ntypes = get_aggregate_argtypes(agg, types);
	Oid			owner = owner_of(agg->aggfnoid);
	Expr	   *expr;

	f->agg = agg;
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", agg->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	gpucol_check_right(agg->aggfnoid, GetUserId(), OBJECT_AGGREGATE);
	init_final(f, form->aggfinalfn, owner, form->aggfinalextra, types, ntypes);
	gpucol_check_right(form->aggtransfn, owner, OBJECT_FUNCTION);
	init_value(trans, tuple, agg->aggtranstype);
	trans->aggref = agg;
	trans->aggCollation = agg->inputcollid;
	trans->aggtranstype = agg->aggtranstype;
	get_typlenbyval(agg->aggtranstype, &trans->transtypeLen, &trans->transtypeByVal);
	f->ninputs = AGGKIND_IS_ORDERED_SET(agg->aggkind) ? list_length(agg->args) : ntypes;
	build_aggregate_transfn_expr(types, ntypes, list_length(agg->aggdirectargs),
								 agg->aggvariadic, agg->aggtranstype, agg->inputcollid,
								 form->aggtransfn, InvalidOid, &expr, NULL);
	fmgr_info(form->aggtransfn, &trans->transfn);
	fmgr_info_set_expr((Node *) expr, &trans->transfn);
	f->call = palloc(SizeForFunctionCallInfo(f->ninputs + 1));
	InitFunctionCallInfoData(*f->call, &trans->transfn, f->ninputs + 1, agg->inputcollid,
							 (void *) aggstate, NULL);
	check_first_value(f, types, ntypes);
	ReleaseSysCache(tuple);
}

/* ------------------------------------------------------------------------
 * Transitions
 * ------------------------------------------------------------------------
 */

void
gpucol_feed_call_start(AggState *aggstate, GpucolFeedCall *f, ExprContext *context,
					   GpucolFeedState *state)
{
	MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	AggStatePerTrans trans = &f->pertrans;

	aggstate->curaggcontext = context;
	state->isnull = state->unset = trans->initValueIsNull;
	state->value = trans->initValueIsNull ? (Datum) 0 :
		datumCopy(trans->initValue, trans->transtypeByVal, trans->transtypeLen);
	MemoryContextSwitchTo(old);
}

/* Is a datum an expanded object that belongs to a context? */
static bool
is_own_object(Datum value, int16 typlen, MemoryContext context)
{
	return DatumIsReadWriteExpandedObject(value, false, typlen) &&
		MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) == context;
}

/* Have the state keep a new value of a type that is passed by reference. */
static Datum
replace_value(AggState *aggstate, GpucolFeedCall *f, const GpucolFeedState *state, Datum value, bool isnull)
{
	MemoryContext context = aggstate->curaggcontext->ecxt_per_tuple_memory;
	int16		typlen = f->pertrans.transtypeLen;

	if (!isnull && !is_own_object(value, typlen, context))
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		value = datumCopy(value, false, typlen);
		MemoryContextSwitchTo(old);
	}
	if (!state->isnull)
	{
		if (DatumIsReadWriteExpandedObject(state->value, false, typlen))
			DeleteExpandedObject(state->value);
		else
			pfree(DatumGetPointer(state->value));
	}
	return isnull ? (Datum) 0 : value;
}

/* Does a strict function leave the state alone, its arguments being in f->call? */
static bool
passes_strict(AggState *aggstate, GpucolFeedCall *f, GpucolFeedState *state)
{
	for (int i = 1; i <= f->ninputs; i++)
	{
		if (f->call->args[i].isnull)
			return true;
	}
	if (state->unset)
	{
		MemoryContext old = MemoryContextSwitchTo(aggstate->curaggcontext->ecxt_per_tuple_memory);

		state->value = datumCopy(f->call->args[1].value, f->pertrans.transtypeByVal,
								 f->pertrans.transtypeLen);
		state->isnull = state->unset = false;
		MemoryContextSwitchTo(old);
		return true;
	}
	return state->isnull;
}

/*
 * Call the transition function with the arguments in f->call.
 */
void
gpucol_feed_call_advance(AggState *aggstate, GpucolFeedCall *f, GpucolFeedState *state)
{
	MemoryContext old;
	Datum		value;

	if (f->pertrans.transfn.fn_strict && passes_strict(aggstate, f, state))
		return;
	old = MemoryContextSwitchTo(aggstate->tmpcontext->ecxt_per_tuple_memory);
	f->call->args[0].value = state->value;
	f->call->args[0].isnull = state->isnull;
	f->call->isnull = false;
	value = FunctionCallInvoke(f->call);
	if (!f->pertrans.transtypeByVal &&
		DatumGetPointer(value) != DatumGetPointer(state->value))
		value = replace_value(aggstate, f, state, value, f->call->isnull);
	state->value = value;
	state->isnull = f->call->isnull;
	state->unset = false;
	MemoryContextSwitchTo(old);
}

/*
 * The functions of this aggregate, of states in this context, are called next.
 */
void
gpucol_feed_call_enter(AggState *aggstate, GpucolFeedCall *f, ExprContext *context)
{
	aggstate->curaggcontext = context;
	aggstate->curpertrans = &f->pertrans;
	aggstate->curperagg = NULL;
	aggstate->peragg = &f->peragg;
	aggstate->pertrans = &f->pertrans;
}

/*
 * The result of a state, in the current context.
 */
Datum
gpucol_feed_call_finish(AggState *aggstate, GpucolFeedCall *f, const GpucolFeedState *state,
						bool *isnull)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	AggStatePerAgg agg = &f->peragg;
	bool		anynull = state->isnull;
	int			i = 1;
	Datum		result = state->value;
	ListCell   *lc;

	aggstate->curpertrans = NULL;
	aggstate->curperagg = agg;
	foreach(lc, f->direct)
	{
		call->args[i].value = ExecEvalExpr((ExprState *) lfirst(lc), aggstate->tmpcontext,
										   &call->args[i].isnull);
		anynull |= call->args[i++].isnull;
	}
	*isnull = state->isnull;
	if (!OidIsValid(agg->finalfn_oid))
		return *isnull ? (Datum) 0 : datumCopy(result, agg->resulttypeByVal, agg->resulttypeLen);
	InitFunctionCallInfoData(*call, &agg->finalfn, agg->numFinalArgs, f->pertrans.aggCollation,
							 (void *) aggstate, NULL);
	call->args[0].value = MakeExpandedObjectReadOnly(state->value, state->isnull,
													 f->pertrans.transtypeLen);
	call->args[0].isnull = state->isnull;
	for (; i < agg->numFinalArgs; i++)
	{
		call->args[i].value = (Datum) 0;
		call->args[i].isnull = anynull = true;
	}
	*isnull = true;
	if (agg->finalfn.fn_strict && anynull)
		return (Datum) 0;
	result = FunctionCallInvoke(call);
	*isnull = call->isnull;
	/* it may point into states that go with the group */
	if (!*isnull && f->brief)
		result = datumCopy(result, agg->resulttypeByVal, agg->resulttypeLen);
	return *isnull ? (Datum) 0 : result;
}
