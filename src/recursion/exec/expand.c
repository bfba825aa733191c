/*-------------------------------------------------------------------------
 *
 * expand.c
 *	  Rows of a function that reads columns of a recursive term (LATERAL, or in its
 *	  select list).
 *
 * The engine hands over vectors of operands (GPUCOL_REC_EXPAND).  For one row of them after
 * the other PostgreSQL calls the function and keeps what it returns, as for a function in
 * FROM; the engine takes the rows from there.  Those of some functions are made without a call (expand_direct.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "funcapi.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/memutils.h"

#include "recursion/exec/expand_direct.h"
#include "recursion/exec/state.h"

struct GpucolRecursiveExpansion
{
	SetExprState *call;
	ExprContext *econtext;
	MemoryContext arguments;
	TupleDesc	desc;			/* of what it returns */
	TupleTableSlot *slot;
	bool		ordinality;
	bool		outer;			/* a row of nulls where there is none */
	int			ncolumns;
	int		   *attnos;
	Oid		   *collations;
	GpucolRecColumn *columns;

	GpucolDirectRows *direct;	/* or NULL */
	bool		is_direct;		/* the rows at hand are, */
	Tuplestorestate *rows;		/* or of one call, or NULL: there are none at hand */
	Datum	   *values;			/* of the row at hand */
	bool	   *isnull;
	int64		nread;			/* of them */
};

/* The columns that a function returns, as a scan of it has them. */
static TupleDesc
describe_rows(Node *call, const RangeTblFunction *function)
{
	TupleDesc	desc;
	Oid			type;

	switch (get_expr_result_type(call, &type, &desc))
	{
		case TYPEFUNC_COMPOSITE:
		case TYPEFUNC_COMPOSITE_DOMAIN:
			return CreateTupleDescCopy(desc);
		case TYPEFUNC_RECORD:
			/* what the function returns must know of its columns */
			return BlessTupleDesc(BuildDescFromLists(function->funccolnames, function->funccoltypes,
													 function->funccoltypmods, function->funccolcollations));
		default:
			desc = CreateTemplateTupleDesc(1);
			TupleDescInitEntry(desc, 1, "column", type, -1, 0);
			TupleDescInitEntryCollation(desc, 1, exprCollation(call));
			return desc;
	}
}

GpucolRecursiveExpansion *
gpucol_recursive_expansion_create(List *how, Expr *call, ExprContext *econtext,
								  PlanState *inputs)
{
	GpucolRecursiveExpansion *expansion = palloc0(sizeof(GpucolRecursiveExpansion));
	List	   *attnos = lfourth(how);
	ListCell   *lc;
	ListCell   *lc2;

	expansion->desc = describe_rows((Node *) call, linitial_node(RangeTblFunction, how));
	expansion->call = ExecInitTableFunctionResult(call, econtext, inputs);
	expansion->direct = gpucol_direct_rows_create(call, inputs);
	expansion->values = palloc(sizeof(Datum) * (expansion->desc->natts + 1));
	expansion->isnull = palloc(sizeof(bool) * (expansion->desc->natts + 1));
	expansion->econtext = econtext;
	expansion->arguments = AllocSetContextCreate(CurrentMemoryContext, "gpucol function arguments",
												 ALLOCSET_DEFAULT_SIZES);
	expansion->slot = MakeSingleTupleTableSlot(expansion->desc, &TTSOpsMinimalTuple);
	expansion->ordinality = boolVal(lsecond(how));
	expansion->outer = boolVal(lthird(how));
	expansion->ncolumns = list_length(attnos);
	expansion->attnos = palloc(sizeof(int) * (expansion->ncolumns + 1));
	expansion->collations = palloc(sizeof(Oid) * (expansion->ncolumns + 1));
	expansion->columns = palloc(sizeof(GpucolRecColumn) * (expansion->ncolumns + 1));
	forboth(lc, attnos, lc2, (List *) list_nth(how, 4))
	{
		int			i = foreach_current_index(lc);

		expansion->attnos[i] = lfirst_int(lc);
		expansion->collations[i] = lfirst_oid(lc2);
		gpucol_rec_column_init(&expansion->columns[i], lfirst_int(lc) > expansion->desc->natts ?
							   INT8OID : TupleDescAttr(expansion->desc, lfirst_int(lc) - 1)->atttypid);
	}
	return expansion;
}

GpucolRecColumn *
gpucol_recursive_expansion_column(GpucolRecursiveExpansion *expansion, int column,
								  Oid *collation)
{
	if (column >= expansion->ncolumns)
		return NULL;
	*collation = expansion->collations[column];
	return &expansion->columns[column];
}

void
gpucol_recursive_expansion_close(GpucolRecursiveExpansion *expansion)
{
	expansion->is_direct = false;
	if (expansion->rows == NULL)
		return;
	ExecClearTuple(expansion->slot);
	tuplestore_end(expansion->rows);
	expansion->rows = NULL;
}

/* Call the function for the operands that are in the context's tuple. */
void
gpucol_recursive_expansion_open(GpucolRecursiveExpansion *expansion)
{
	ExprContext *econtext = expansion->econtext;
	MemoryContext old;

	gpucol_recursive_expansion_close(expansion);
	expansion->nread = 0;
	if (expansion->direct != NULL && gpucol_direct_rows_open(expansion->direct, econtext))
	{
		expansion->is_direct = true;
		return;
	}
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	expansion->rows = ExecMakeTableFunctionResult(expansion->call, econtext, expansion->arguments,
												  expansion->desc, false);
	tuplestore_rescan(expansion->rows);
	MemoryContextSwitchTo(old);
	ResetExprContext(econtext);
}

bool
gpucol_recursive_expansion_is_open(const GpucolRecursiveExpansion *expansion)
{
	return expansion->rows != NULL || expansion->is_direct;
}

/* The next row, whose columns are put into values and isnull; false: there is none. */
static bool
next_row(GpucolRecursiveExpansion *expansion)
{
	TupleTableSlot *slot = expansion->slot;

	if (expansion->is_direct)
		return gpucol_direct_rows_next(expansion->direct, expansion->values, expansion->isnull);
	if (!tuplestore_gettupleslot(expansion->rows, true, false, slot))
		return false;
	slot_getallattrs(slot);
	memcpy(expansion->values, slot->tts_values, sizeof(Datum) * expansion->desc->natts);
	memcpy(expansion->isnull, slot->tts_isnull, sizeof(bool) * expansion->desc->natts);
	return true;
}

/* A column of the row at hand, or of the row of nulls. */
static void
take_column(GpucolRecursiveExpansion *expansion, int c, bool found, GpucolSymbols *symbols,
			int64 *value, uint8 *null)
{
	bool		isnull = !found;
	Datum		datum = 0;

	if (found && expansion->attnos[c] > expansion->desc->natts)
		datum = Int64GetDatum(expansion->nread);
	else if (found)
	{
		datum = expansion->values[expansion->attnos[c] - 1];
		isnull = expansion->isnull[expansion->attnos[c] - 1];
	}
	*null = isnull;
	*value = isnull ? 0 : gpucol_rec_column_to_value(&expansion->columns[c], datum, symbols);
}

/* Into rows [from, to) of the columns; the number of the last one + 1. */
uint32
gpucol_recursive_expansion_fetch(GpucolRecursiveExpansion *expansion, GpucolSymbols *symbols,
								 uint32 from, uint32 to, int64 *const *columns,
								 uint8 *const *nulls)
{
	MemoryContext old = MemoryContextSwitchTo(expansion->econtext->ecxt_per_tuple_memory);

	for (; from < to; from++)
	{
		bool		found = next_row(expansion);

		if (!found && (!expansion->outer || expansion->nread > 0))
			break;
		expansion->nread++;
		for (int c = 0; c < expansion->ncolumns; c++)
			take_column(expansion, c, found, symbols, &columns[c][from], &nulls[c][from]);
		ResetExprContext(expansion->econtext);
	}
	MemoryContextSwitchTo(old);
	return from;
}
