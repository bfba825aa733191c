/*-------------------------------------------------------------------------
 *
 * expand_direct.c
 *	  Rows of some functions of a recursive term, made without calling them.
 *
 * A call costs a tuplestore, and a tuple for each row.  Elements of arrays (unnest) and of jsonb are taken from the
 * value instead.  What the function would complain of is left to it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/arrayaccess.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "recursion/exec/expand_direct.h"

typedef enum RowsKind
{
	ROWS_UNNEST,
	ROWS_EACH,					/* jsonb: keys and values, */
	ROWS_KEYS,					/* keys, */
	ROWS_ELEMENTS				/* elements */
} RowsKind;

struct GpucolDirectRows
{
	RowsKind	kind;
	bool		as_text;		/* values of jsonb */
	ExprState  *argument;
	MemoryContext context;		/* of its value, and of what walks it */
	int16		typlen;			/* elements of arrays */
	bool		typbyval;
	char		typalign;

	array_iter	elements;
	int			next;
	int			nelements;
	JsonbIterator *values;		/* NULL: there are no more */
};

/* Is a function one of these? */
static bool
find_kind(Oid function, GpucolDirectRows *rows)
{
	switch (function)
	{
		case F_UNNEST_ANYARRAY:
			rows->kind = ROWS_UNNEST;
			return true;
		case F_JSONB_EACH:
		case F_JSONB_EACH_TEXT:
			rows->kind = ROWS_EACH;
			rows->as_text = function == F_JSONB_EACH_TEXT;
			return true;
		case F_JSONB_OBJECT_KEYS:
			rows->kind = ROWS_KEYS;
			return true;
		case F_JSONB_ARRAY_ELEMENTS:
		case F_JSONB_ARRAY_ELEMENTS_TEXT:
			rows->kind = ROWS_ELEMENTS;
			rows->as_text = function == F_JSONB_ARRAY_ELEMENTS_TEXT;
			return true;
		default:
			return false;
	}
}

GpucolDirectRows *
gpucol_direct_rows_create(Expr *call, PlanState *plan)
{
	GpucolDirectRows kind = {0};
	GpucolDirectRows *rows;
	Expr	   *argument;

	if (!IsA(call, FuncExpr) || !find_kind(((FuncExpr *) call)->funcid, &kind))
		return NULL;
	argument = linitial(((FuncExpr *) call)->args);
	if (kind.kind == ROWS_UNNEST)
	{
		Oid			element = get_base_element_type(exprType((Node *) argument));

		/* rows that are elements become columns */
		if (!OidIsValid(element) || type_is_rowtype(element))
			return NULL;
		get_typlenbyvalalign(element, &kind.typlen, &kind.typbyval, &kind.typalign);
	}
	rows = palloc(sizeof(GpucolDirectRows));
	*rows = kind;
	rows->argument = ExecInitExpr(argument, plan);
	rows->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol direct rows", ALLOCSET_DEFAULT_SIZES);
	return rows;
}

static void
open_array(GpucolDirectRows *rows, Datum value)
{
	AnyArrayType *array = DatumGetAnyArrayP(value);

	rows->nelements = ArrayGetNItems(AARR_NDIM(array), AARR_DIMS(array));
	array_iter_setup(&rows->elements, array);
}

/* False: the function says what it has against the value. */
static bool
open_jsonb(GpucolDirectRows *rows, Datum value)
{
	Jsonb	   *jsonb = DatumGetJsonbP(value);
	JsonbValue	root;

	if (rows->kind == ROWS_ELEMENTS ? !JB_ROOT_IS_ARRAY(jsonb) || JB_ROOT_IS_SCALAR(jsonb) : !JB_ROOT_IS_OBJECT(jsonb))
		return false;
	rows->values = JsonbIteratorInit(&jsonb->root);
	(void) JsonbIteratorNext(&rows->values, &root, false);
	return true;
}

bool
gpucol_direct_rows_open(GpucolDirectRows *rows, ExprContext *econtext)
{
	MemoryContext old;
	bool		isnull;
	bool		opened = true;
	Datum		value;

	MemoryContextReset(rows->context);
	rows->next = rows->nelements = 0;
	rows->values = NULL;
	old = MemoryContextSwitchTo(rows->context);
	value = ExecEvalExpr(rows->argument, econtext, &isnull);
	/* the functions are strict: there are no rows of NULL */
	if (!isnull && rows->kind == ROWS_UNNEST)
		open_array(rows, value);
	else if (!isnull)
		opened = open_jsonb(rows, value);
	MemoryContextSwitchTo(old);
	return opened;
}

/* A value of jsonb as text, but for null. */
static Datum
text_of(const JsonbValue *value)
{
	StringInfoData buf;
	Datum		number;

	switch (value->type)
	{
		case jbvBool:
			return CStringGetTextDatum(value->val.boolean ? "true" : "false");
		case jbvString:
			return PointerGetDatum(cstring_to_text_with_len(value->val.string.val, value->val.string.len));
		case jbvNumeric:
			number = DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric));
			return CStringGetTextDatum(DatumGetCString(number));
		default:
			initStringInfo(&buf);
			(void) JsonbToCString(&buf, value->val.binary.data, value->val.binary.len);
			return PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
	}
}

static Datum
value_of(const GpucolDirectRows *rows, JsonbValue *value, bool *isnull)
{
	*isnull = rows->as_text && value->type == jbvNull;
	if (*isnull)
		return (Datum) 0;
	return rows->as_text ? text_of(value) : PointerGetDatum(JsonbValueToJsonb(value));
}

/* The next key or element of jsonb. */
static bool
next_value(GpucolDirectRows *rows, Datum *values, bool *isnull)
{
	JsonbValue	value;

	while (rows->values != NULL)
	{
		JsonbIteratorToken token = JsonbIteratorNext(&rows->values, &value, true);

		if (token == WJB_ELEM)
		{
			values[0] = value_of(rows, &value, &isnull[0]);
			return true;
		}
		if (token != WJB_KEY)
			continue;
		isnull[0] = false;
		values[0] = PointerGetDatum(cstring_to_text_with_len(value.val.string.val, value.val.string.len));
		(void) JsonbIteratorNext(&rows->values, &value, true);
		if (rows->kind == ROWS_EACH)
			values[1] = value_of(rows, &value, &isnull[1]);
		return true;
	}
	return false;
}

bool
gpucol_direct_rows_next(GpucolDirectRows *rows, Datum *values, bool *isnull)
{
	if (rows->kind != ROWS_UNNEST)
		return next_value(rows, values, isnull);
	if (rows->next == rows->nelements)
		return false;
	values[0] = array_iter_next(&rows->elements, &isnull[0], rows->next++, rows->typlen, rows->typbyval,
								rows->typalign);
	return true;
}
