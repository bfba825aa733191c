/*-------------------------------------------------------------------------
 *
 * key_values.c
 *	  How many values a computed key of GROUP BY can have at most.
 *
 * PostgreSQL takes an expression to have as many values as its columns have together:
 * 150,000 for `id % 7`, where 13 is the most.  Grouping by it would then seem to save nothing
 * over sorting all rows.  What follows from the expression alone is known here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "planner/key_values.h"

/* Fields of dates and times, and their values. */
static const struct
{
	const char *name;
	double		values;
}			fields[] = {
	{"month", 12}, {"day", 31}, {"dow", 7}, {"isodow", 7}, {"doy", 366}, {"week", 53},
	{"quarter", 4}, {"hour", 24}, {"minute", 60}
};

static double most_values(Node *key);

/* The values of a field, if `arg` names one of those. */
static double
field_values(Node *arg)
{
	Const	   *name = (Const *) arg;
	char	   *field;

	if (!IsA(arg, Const) || name->constisnull || name->consttype != TEXTOID)
		return INFINITY;
	field = TextDatumGetCString(name->constvalue);
	for (int i = 0; i < (int) lengthof(fields); i++)
	{
		if (pg_strcasecmp(field, fields[i].name) == 0)
			return fields[i].values;
	}
	return INFINITY;
}

/* Remainders of a division by this constant, of either sign. */
static double
remainders(Node *arg)
{
	Const	   *divisor = (Const *) arg;
	double		by;

	if (!IsA(arg, Const) || divisor->constisnull)
		return INFINITY;
	switch (divisor->consttype)
	{
		case INT2OID:
			by = DatumGetInt16(divisor->constvalue);
			break;
		case INT4OID:
			by = DatumGetInt32(divisor->constvalue);
			break;
		case INT8OID:
			by = (double) DatumGetInt64(divisor->constvalue);
			break;
		default:
			return INFINITY;
	}
	return 2 * fabs(by) - 1;
}

/* Buckets, of which there is one more on either side. */
static double
buckets(Node *arg)
{
	Const	   *count = (Const *) arg;

	return IsA(arg, Const) && !count->constisnull && count->consttype == INT4OID ?
		DatumGetInt32(count->constvalue) + 2.0 : INFINITY;
}

/* A function has no more values than its arguments have combinations. */
static double
product_of_values(List *args)
{
	double		product = 1;
	ListCell   *lc;

	foreach(lc, args)
		product *= most_values(lfirst(lc));
	return product;
}

static double
function_values(Oid function, List *args)
{
	switch (function)
	{
		case F_DATE_PART_TEXT_DATE:
		case F_DATE_PART_TEXT_TIME:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIME:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
			return field_values(linitial(args));
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
		case F_MOD_INT2_INT2:
		case F_MOD_INT4_INT4:
		case F_MOD_INT8_INT8:
			return remainders(lsecond(args));
		case F_SIGN_FLOAT8:
		case F_SIGN_NUMERIC:
			return 3;
		case F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4:
		case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
			return buckets(lfourth(args));
		default:
			return product_of_values(args);
	}
}

/* Those of all results of a CASE or a COALESCE together. */
static double
sum_of_values(List *results)
{
	double		sum = 0;
	ListCell   *lc;

	foreach(lc, results)
	{
		Node	   *result = lfirst(lc);

		sum += IsA(result, CaseWhen) ? most_values((Node *) ((CaseWhen *) result)->result) :
			most_values(result);
	}
	return sum;
}

/* At most, NULL among them only where that is a result of its own. */
static double
most_values(Node *key)
{
	check_stack_depth();
	if (key == NULL || IsA(key, Const))
		return 1;
	if (exprType(key) == BOOLOID)
		return 2;
	switch (nodeTag(key))
	{
		case T_RelabelType:
			return most_values((Node *) ((RelabelType *) key)->arg);
		case T_CoerceViaIO:
			return most_values((Node *) ((CoerceViaIO *) key)->arg);
		case T_FuncExpr:
			return function_values(((FuncExpr *) key)->funcid, ((FuncExpr *) key)->args);
		case T_OpExpr:
			return function_values(((OpExpr *) key)->opfuncid, ((OpExpr *) key)->args);
		case T_CoalesceExpr:
			return sum_of_values(((CoalesceExpr *) key)->args);
		case T_CaseExpr:
			return sum_of_values(((CaseExpr *) key)->args) +
				most_values((Node *) ((CaseExpr *) key)->defresult);
		default:
			return INFINITY;
	}
}

double
gpucol_key_values(List *keys)
{
	double		groups = 1;
	ListCell   *lc;

	foreach(lc, keys)
		groups *= most_values(lfirst(lc)) + 1;
	return groups;
}
