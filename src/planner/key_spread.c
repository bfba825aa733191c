/*-------------------------------------------------------------------------
 *
 * key_spread.c
 *	  How far apart the values of an expression lie, by statistics.
 *
 * The ends of a column's histogram and its most common values say how far apart its values
 * lie.  Sums, multiples, casts and roundings of columns follow from that.  A key that steps by
 * whole numbers, days or months then has no more values than steps (key_values.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

#include "planner/key_spread.h"

/* Dates and timestamps, whose spread is in seconds. */
static bool
is_time(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static bool
is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == FLOAT4OID || type == FLOAT8OID || type == NUMERICOID;
}

/* A value as a number, or in seconds. */
static double
number_of(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
		case DATEOID:
			return DATE_NOT_FINITE(DatumGetDateADT(value)) ? INFINITY :
				DatumGetDateADT(value) * (double) SECS_PER_DAY;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)) ? INFINITY :
				(double) DatumGetTimestamp(value) / USECS_PER_SEC;
		default:
			return INFINITY;
	}
}

double
gpucol_key_number(Node *expr)
{
	Const	   *value = (Const *) expr;

	if (!IsA(expr, Const) || value->constisnull || !is_number(value->consttype))
		return INFINITY;
	return number_of(value->consttype, value->constvalue);
}

/* The statistics of one kind widen a range. */
static void
widen(VariableStatData *data, int kind, Oid type, double *low, double *high)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, data->statsTuple, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	for (int i = 0; i < slot.nvalues; i++)
	{
		double		x = number_of(type, slot.values[i]);

		*low = Min(*low, x);
		*high = Max(*high, x);
	}
	free_attstatsslot(&slot);
}

static double
column_spread(PlannerInfo *root, Var *var)
{
	VariableStatData data;
	double		low = INFINITY;
	double		high = -INFINITY;

	if (!is_number(var->vartype) && !is_time(var->vartype))
		return INFINITY;
	examine_variable(root, (Node *) var, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) && data.vartype == var->vartype)
	{
		widen(&data, STATISTIC_KIND_HISTOGRAM, var->vartype, &low, &high);
		widen(&data, STATISTIC_KIND_MCV, var->vartype, &low, &high);
	}
	ReleaseVariableStats(data);
	return low <= high && isfinite(low) && isfinite(high) ? high - low : INFINITY;
}

/* Of an operand beside dates, in seconds; an interval is one only if it is constant. */
static double
operand_spread(PlannerInfo *root, Node *arg, bool of_time)
{
	if (IsA(arg, Const))
		return 0;
	return gpucol_key_spread(root, arg) *
		(of_time && is_number(exprType(arg)) ? SECS_PER_DAY : 1);
}

/* a + b, a - b */
static double
sum_spread(PlannerInfo *root, Oid result, Node *a, Node *b)
{
	bool		of_time = is_time(result);
	double		sum;

	if (!of_time && !is_number(result))
		return INFINITY;
	sum = operand_spread(root, a, of_time) + operand_spread(root, b, of_time);
	/* a difference of dates is in days */
	return !of_time && exprType(a) == DATEOID ? sum / SECS_PER_DAY : sum;
}

/* Operators of PostgreSQL's own, by name. */
static double
operator_spread(PlannerInfo *root, OpExpr *op)
{
	char	   *name = op->opno < FirstNormalObjectId ? get_opname(op->opno) : NULL;
	Node	   *a = linitial(op->args);
	Node	   *b = list_length(op->args) == 2 ? lsecond(op->args) : NULL;

	if (name == NULL || b == NULL)
		return INFINITY;
	if (strcmp(name, "+") == 0 || strcmp(name, "-") == 0)
		return sum_spread(root, op->opresulttype, a, b);
	if (!is_number(op->opresulttype) || !is_number(exprType(a)) || !is_number(exprType(b)))
		return INFINITY;
	if (strcmp(name, "/") == 0 && IsA(b, Const))
		return gpucol_key_spread(root, a) / fabs(gpucol_key_number(b));
	if (strcmp(name, "*") == 0 && IsA(b, Const))
		return gpucol_key_spread(root, a) * fabs(gpucol_key_number(b));
	if (strcmp(name, "*") == 0 && IsA(a, Const))
		return gpucol_key_spread(root, b) * fabs(gpucol_key_number(a));
	return INFINITY;
}

/* Functions after which values lie as far apart as before. */
static double
function_spread(PlannerInfo *root, FuncExpr *func)
{
	switch (func->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			return gpucol_key_spread(root, lsecond(func->args));
		case F_FLOOR_FLOAT8:
		case F_FLOOR_NUMERIC:
		case F_CEIL_FLOAT8:
		case F_CEIL_NUMERIC:
		case F_CEILING_FLOAT8:
		case F_CEILING_NUMERIC:
		case F_ROUND_FLOAT8:
		case F_ROUND_NUMERIC:
		case F_ROUND_NUMERIC_INT4:
		case F_TRUNC_FLOAT8:
		case F_TRUNC_NUMERIC:
		case F_TRUNC_NUMERIC_INT4:
		case F_ABS_INT4:
		case F_ABS_INT8:
		case F_ABS_NUMERIC:
		case F_ABS_FLOAT8:
			return gpucol_key_spread(root, linitial(func->args));
		default:
			break;
	}
	if (func->funcid < FirstNormalObjectId && func->funcformat != COERCE_EXPLICIT_CALL &&
		is_number(func->funcresulttype) == is_number(exprType(linitial(func->args))))
		return gpucol_key_spread(root, linitial(func->args));
	return INFINITY;
}

double
gpucol_key_spread(PlannerInfo *root, Node *expr)
{
	check_stack_depth();
	if (!is_number(exprType(expr)) && !is_time(exprType(expr)))
		return INFINITY;
	switch (nodeTag(expr))
	{
		case T_Const:
			return 0;
		case T_Var:
			return column_spread(root, (Var *) expr);
		case T_RelabelType:
			return gpucol_key_spread(root, (Node *) ((RelabelType *) expr)->arg);
		case T_OpExpr:
			return operator_spread(root, (OpExpr *) expr);
		case T_FuncExpr:
			return function_spread(root, (FuncExpr *) expr);
		default:
			return INFINITY;
	}
}
