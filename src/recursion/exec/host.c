/*-------------------------------------------------------------------------
 *
 * host.c
 *	  Expressions over values of a recursion that PostgreSQL's executor computes,
 *	  a vector of rows at a time, and functions that make several rows of one.
 *
 * The engine of the recursion hands over 64-bit values; they become the datums of a
 * virtual tuple, and the result becomes a 64-bit value again.  So every expression
 * gives PostgreSQL's own result, its NULL and its error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "recursion/exec/formula.h"
#include "recursion/exec/state.h"

/* Results that take more are not kept beside one another. */
#define PIECE_BYTES		((Size) 256 << 10)

struct GpucolRecursiveHost
{
	int			noperands;
	int		   *positions;		/* in the slot */
	GpucolRecColumn *operands;
	GpucolRecColumn result;
	ExprState  *expr;
	GpucolRecursiveFormula *formula;	/* what is computed sooner, or NULL; */
	uint64		left;			/* rows that it has left */
	ExprContext *econtext;
	TupleTableSlot *slot;		/* the operands */
	GpucolRecursiveMatch *match;	/* or NULL */
	GpucolRecursiveExpansion *expansion;	/* or NULL; */
	MemoryContext row;			/* operands of a call, during which PostgreSQL resets
								 * that of the tuple; */
	uint32		nrows;
	uint32		next;			/* row whose rows have not all been read */
	const int64 *const *values;
	const uint8 *const *nulls;
	List	   *subplans;		/* SubPlanState of the expression */
	List	   *stale;			/* those whose hash tables are of other parameters */
};

/* Parameters that stand for operands become columns of the tuple. */
static Node *
bind_operands(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid >= GPUCOL_RECURSIVE_OPERAND)
	{
		Param	   *param = (Param *) node;

		return (Node *) makeVar(INDEX_VAR,
								param->paramid - GPUCOL_RECURSIVE_OPERAND + 1,
								param->paramtype, param->paramtypmod,
								param->paramcollid, 0);
	}
	return expression_tree_mutator(node, bind_operands, context);
}

GpucolRecursiveHost *
gpucol_recursive_host_create(Expr *expr, List *operands, List *match,
							 PlanState *inputs)
{
	GpucolRecursiveHost *host = palloc0(sizeof(GpucolRecursiveHost));
	TupleDesc	desc = ((ScanState *) inputs)->ss_ScanTupleSlot->tts_tupleDescriptor;
	ListCell   *lc;
	int			known;

	host->noperands = list_length(operands);
	host->positions = palloc(sizeof(int) * (host->noperands + 1));
	host->operands = palloc(sizeof(GpucolRecColumn) * (host->noperands + 1));
	foreach(lc, operands)
	{
		int			i = foreach_current_index(lc);

		host->positions[i] = lfirst_int(lc);
		gpucol_rec_column_init(&host->operands[i],
							   TupleDescAttr(desc, lfirst_int(lc))->atttypid);
	}
	gpucol_rec_column_init(&host->result, exprType((Node *) expr));
	host->econtext = CreateExprContext(inputs->state);
	host->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	memset(host->slot->tts_isnull, true, sizeof(bool) * desc->natts);
	expr = (Expr *) bind_operands((Node *) expr, NULL);
	known = list_length(inputs->subPlan);
	if (match != NIL && IsA(linitial(match), RangeTblFunction))
	{
		host->expansion = gpucol_recursive_expansion_create(match, expr, host->econtext, inputs);
		host->row = AllocSetContextCreate(CurrentMemoryContext, "gpucol function operands",
										  ALLOCSET_DEFAULT_SIZES);
	}
	else
	{
		if (match != NIL)
			host->match = gpucol_recursive_match_create(match, operands, desc);
		else
			host->formula = gpucol_recursive_formula_create(expr, host->positions, host->noperands);
		host->expr = ExecInitExpr(expr, inputs);
	}
	host->subplans = list_copy_tail(inputs->subPlan, known);
	return host;
}

/*
 * Parameters may have changed.  Where several expressions have the same subquery,
 * they have one plan of it and a hash table each: the first that is filled again
 * makes PostgreSQL forget that the plan's parameters had changed.
 */
void
gpucol_recursive_host_refresh(GpucolRecursiveHost *host)
{
	MemoryContext old = MemoryContextSwitchTo(host->econtext->ecxt_per_query_memory);
	ListCell   *lc;

	foreach(lc, host->subplans)
	{
		SubPlanState *subplan = lfirst(lc);

		if (subplan->hashtable != NULL && subplan->planstate->chgParam != NULL)
			host->stale = list_append_unique_ptr(host->stale, subplan);
	}
	MemoryContextSwitchTo(old);
}

/* Have hash tables that are stale filled again. */
static void
renew_subplans(GpucolRecursiveHost *host)
{
	ListCell   *lc;

	foreach(lc, host->stale)
	{
		PlanState  *plan = ((SubPlanState *) lfirst(lc))->planstate;

		if (plan->chgParam == NULL)
			plan->chgParam = bms_copy(plan->plan->extParam);
	}
	list_free(host->stale);
	host->stale = NIL;
}

bool
gpucol_recursive_host_is_formula(const GpucolRecursiveHost *host)
{
	return host->formula != NULL;
}

uint64
gpucol_recursive_host_left(const GpucolRecursiveHost *host)
{
	return host->left;
}

GpucolRecColumn *
gpucol_recursive_host_result(GpucolRecursiveHost *host)
{
	return &host->result;
}

GpucolRecursiveMatch *
gpucol_recursive_host_match(GpucolRecursiveHost *host)
{
	return host->match;
}

/* The operands of one row as a tuple. */
static void
store_operands(GpucolRecursiveHost *host, const GpucolSymbols *symbols, uint32 row,
			   const int64 *const *values, const uint8 *const *nulls)
{
	TupleTableSlot *slot = host->slot;
	int			i;

	ExecClearTuple(slot);
	for (i = 0; i < host->noperands; i++)
	{
		int			at = host->positions[i];

		slot->tts_isnull[at] = nulls[i][row] != 0;
		slot->tts_values[at] = slot->tts_isnull[at] ? (Datum) 0 :
			gpucol_rec_column_to_datum(&host->operands[i], values[i][row], symbols);
	}
	ExecStoreVirtualTuple(slot);
}

/* Do rows from here on match? */
static void
test_matches(GpucolRecursiveHost *host, GpucolSymbols *symbols, uint32 n, const int64 *const *values,
			 const uint8 *const *nulls, int64 *result, uint8 *result_nulls)
{
	for (uint32 row = 0; row < n; row++)
	{
		store_operands(host, symbols, row, values, nulls);
		result_nulls[row] = false;
		result[row] = gpucol_recursive_match_test(host->match, values, nulls, row, symbols, host->expr,
												  host->econtext, host->slot);
	}
}

/* Have PostgreSQL compute a row. */
static void
evaluate(GpucolRecursiveHost *host, const GpucolSymbols *symbols, uint32 row, const int64 *const *values,
		 const uint8 *const *nulls, uint32 at, GpucolRecursiveMade *made)
{
	bool		isnull;
	Datum		datum;

	store_operands(host, symbols, row, values, nulls);
	datum = ExecEvalExpr(host->expr, host->econtext, &isnull);
	made->kinds[at] = isnull ? GPUCOL_MADE_NULL : host->result.typbyval ? GPUCOL_MADE_WORD : GPUCOL_MADE_BYTES;
	if (made->kinds[at] == GPUCOL_MADE_WORD)
		made->words[at] = gpucol_rec_column_word(&host->result, datum);
	else if (!isnull)
		made->bytes[at] = gpucol_rec_column_bytes(&host->result, datum);
}

/* Results of n rows as the engine has them. */
static void
give_results(const GpucolRecursiveHost *host, GpucolSymbols *symbols, uint32 n, const GpucolRecursiveMade *made,
			 int64 *result, uint8 *result_nulls)
{
	uint8		left_out[GPUCOL_SYMBOLS_PIECE];
	bool		has_bytes = false;

	for (uint32 i = 0; i < n; i++)
	{
		left_out[i] = made->kinds[i] != GPUCOL_MADE_BYTES;
		has_bytes |= !left_out[i];
		result_nulls[i] = made->kinds[i] == GPUCOL_MADE_NULL;
	}
	if (has_bytes)
		gpucol_rec_strings_to_values(&host->result, n, made->bytes, left_out, symbols, result);
	for (uint32 i = 0; i < n; i++)
	{
		if (left_out[i])
			result[i] = result_nulls[i] ? 0 :
				gpucol_rec_column_first(&host->result, made->words[i], symbols);
	}
}

/*
 * Compute rows from `first` on, up to `n`, or as many as are worth to be told apart together: memory that
 * their results take is released then.  Where there is a subquery, its next result takes the
 * place of the one before.  Returns the row to go on with.
 */
static uint32
compute_piece(GpucolRecursiveHost *host, GpucolSymbols *symbols, uint32 first, uint32 n, const int64 *const *values,
			  const uint8 *const *nulls, int64 *result, uint8 *result_nulls)
{
	GpucolRecursiveMade made;
	uint32		most = Min(n - first, host->subplans != NIL ? 1 : GPUCOL_SYMBOLS_PIECE);
	Size		size = 0;
	uint32		got = 0;

	if (host->formula != NULL)
		most = gpucol_recursive_formula_compute(host->formula, symbols, first, most, values, nulls, &made);
	else
		memset(made.kinds, GPUCOL_MADE_NOT, most);
	for (; got < most && size < PIECE_BYTES; got++)
	{
		if (made.kinds[got] == GPUCOL_MADE_NOT)
		{
			evaluate(host, symbols, first + got, values, nulls, got, &made);
			host->left += host->formula != NULL;
		}
		if (made.kinds[got] == GPUCOL_MADE_BYTES)
			size += made.bytes[got].len;
	}
	give_results(host, symbols, got, &made, &result[first], &result_nulls[first]);
	ResetExprContext(host->econtext);
	return first + got;
}

void
gpucol_recursive_host_compute(GpucolRecursiveHost *host, GpucolSymbols *symbols,
							  uint32 n, const int64 *const *values,
							  const uint8 *const *nulls, int64 *result,
							  uint8 *result_nulls)
{
	ExprContext *econtext = host->econtext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_query_memory);
	uint32		row = 0;

	CHECK_FOR_INTERRUPTS();
	renew_subplans(host);
	MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	econtext->ecxt_scantuple = host->slot;
	if (host->match != NULL)
		test_matches(host, symbols, n, values, nulls, result, result_nulls);
	while (host->match == NULL && row < n)
		row = compute_piece(host, symbols, row, n, values, nulls, result, result_nulls);
	MemoryContextSwitchTo(old);
}

bool
gpucol_recursive_host_compute_apart(const GpucolRecursiveHost *host, const GpucolSymbols *symbols, uint32 n,
									const int64 *const *values, const uint8 *const *nulls, int64 *result,
									uint8 *result_nulls)
{
	/* equal values that are made the same are told by functions of PostgreSQL; words keep their forms */
	if (host->formula == NULL || !gpucol_recursive_formula_is_apart(host->formula) ||
		(host->result.equality != NULL && !gpucol_equality_keeps_forms(host->result.equality)))
		return false;
	for (uint32 first = 0; first < n; first += GPUCOL_SYMBOLS_PIECE)
		if (!gpucol_recursive_formula_compute_apart(host->formula, symbols, first, Min(n - first, GPUCOL_SYMBOLS_PIECE),
													values, nulls, result, result_nulls))
			return false;
	return true;
}

GpucolRecursiveExpansion *
gpucol_recursive_host_expansion(GpucolRecursiveHost *host)
{
	return host->expansion;
}

uint32
gpucol_recursive_host_expand(GpucolRecursiveHost *host, GpucolSymbols *symbols, uint32 n,
							 const int64 *const *values, const uint8 *const *nulls,
							 uint32 capacity, uint32 *origins, int64 *const *columns,
							 uint8 *const *column_nulls)
{
	GpucolRecursiveExpansion *expansion = host->expansion;
	ExprContext *econtext = host->econtext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_query_memory);
	uint32		got = 0;

	if (n > 0)
	{
		gpucol_recursive_expansion_close(expansion);
		renew_subplans(host);
		host->nrows = n;
		host->next = 0;
		host->values = values;
		host->nulls = nulls;
	}
	econtext->ecxt_scantuple = host->slot;
	while (got < capacity && host->next < host->nrows)
	{
		uint32		from = got;

		CHECK_FOR_INTERRUPTS();
		if (!gpucol_recursive_expansion_is_open(expansion))
		{
			MemoryContextReset(host->row);
			MemoryContextSwitchTo(host->row);
			store_operands(host, symbols, host->next, host->values, host->nulls);
			MemoryContextSwitchTo(econtext->ecxt_per_query_memory);
			gpucol_recursive_expansion_open(expansion);
		}
		got = gpucol_recursive_expansion_fetch(expansion, symbols, from, capacity, columns,
											   column_nulls);
		while (from < got)
			origins[from++] = host->next;
		if (got == capacity)
			break;
		gpucol_recursive_expansion_close(expansion);
		host->next++;
	}
	MemoryContextSwitchTo(old);
	return got;
}
