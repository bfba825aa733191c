/*-------------------------------------------------------------------------
 *
 * key_values.c
 *	  How many values a computed key of GROUP BY can have at most.
 *
 * PostgreSQL takes an expression to have as many values as its columns have together:
 * 150,000 for `id % 7`, where 13 is the most.  Grouping by it would then seem to save nothing
 * over sorting all rows.  What follows from the expression is known here, and what follows from
 * how far apart its column's values lie (key_spread.c): `date_trunc('month', ts)` has as many
 * values as there are months.  Of a key of which nothing is known that much is taken as given:
 * who computes a key of a column wants fewer groups than the column has values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "planner/key_spread.h"
#include "planner/key_values.h"

/* Rows that each share a group where nothing is known of the keys. */
#define ROWS_OF_GROUP	10

#define SECONDS_OF_YEAR	(365.2425 * SECS_PER_DAY)

/* Fields of dates and times, and their values. */
static const struct
{
	const char *name;
	double		values;
}			fields[] = {
	{"month", 12}, {"day", 31}, {"dow", 7}, {"isodow", 7}, {"doy", 366}, {"week", 53},
	{"quarter", 4}, {"hour", 24}, {"minute", 60}
};

/* Units of date_trunc, and their seconds. */
static const struct
{
	const char *name;
	double		seconds;
}			units[] = {
	{"second", 1}, {"minute", SECS_PER_MINUTE}, {"hour", SECS_PER_HOUR}, {"day", SECS_PER_DAY},
	{"week", 7 * SECS_PER_DAY}, {"month", SECONDS_OF_YEAR / 12}, {"quarter", SECONDS_OF_YEAR / 4},
	{"year", SECONDS_OF_YEAR}
};

static double most_values(PlannerInfo *root, Node *key);

/* The name that a constant has, of a field or unit. */
static char *
constant_name(Node *arg)
{
	Const	   *name = (Const *) arg;

	if (!IsA(arg, Const) || name->constisnull || name->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(name->constvalue);
}

/* Values that lie so far apart, by steps. */
static double
steps(double spread, double step)
{
	return step > 0 && isfinite(spread) ? floor(spread / step) + 2 : INFINITY;
}

/* The values of a field of a time. */
static double
field_values(PlannerInfo *root, Node *name, Node *time)
{
	char	   *field = constant_name(name);

	for (int i = 0; field != NULL && i < (int) lengthof(fields); i++)
	{
		if (pg_strcasecmp(field, fields[i].name) == 0)
			return fields[i].values;
	}
	if (field != NULL && (pg_strcasecmp(field, "year") == 0 || pg_strcasecmp(field, "isoyear") == 0))
		return steps(gpucol_key_spread(root, time), SECONDS_OF_YEAR);
	return INFINITY;
}

/* Those of a time that is cut off to units. */
static double
unit_values(PlannerInfo *root, Node *name, Node *time)
{
	char	   *unit = constant_name(name);

	for (int i = 0; unit != NULL && i < (int) lengthof(units); i++)
	{
		if (pg_strcasecmp(unit, units[i].name) == 0)
			return steps(gpucol_key_spread(root, time), units[i].seconds);
	}
	return INFINITY;
}

/* Those of a number that is rounded to so many digits. */
static double
rounded_values(PlannerInfo *root, Node *number, Node *digits)
{
	return steps(gpucol_key_spread(root, number), pow(10, -gpucol_key_number(digits)));
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
product_of_values(PlannerInfo *root, List *args)
{
	double		product = 1;
	ListCell   *lc;

	foreach(lc, args)
		product *= most_values(root, lfirst(lc));
	return product;
}

static double
function_values(PlannerInfo *root, Oid function, List *args)
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
			return field_values(root, linitial(args), lsecond(args));
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return unit_values(root, linitial(args), lsecond(args));
		case F_FLOOR_FLOAT8:
		case F_FLOOR_NUMERIC:
		case F_CEIL_FLOAT8:
		case F_CEIL_NUMERIC:
		case F_CEILING_FLOAT8:
		case F_CEILING_NUMERIC:
		case F_ROUND_FLOAT8:
		case F_ROUND_NUMERIC:
		case F_TRUNC_FLOAT8:
		case F_TRUNC_NUMERIC:
			return steps(gpucol_key_spread(root, linitial(args)), 1);
		case F_ROUND_NUMERIC_INT4:
		case F_TRUNC_NUMERIC_INT4:
			return rounded_values(root, linitial(args), lsecond(args));
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
			return product_of_values(root, args);
	}
}

/* Those of all results of a CASE or a COALESCE together. */
static double
sum_of_values(PlannerInfo *root, List *results)
{
	double		sum = 0;
	ListCell   *lc;

	foreach(lc, results)
	{
		Node	   *result = lfirst(lc);

		sum += IsA(result, CaseWhen) ? most_values(root, (Node *) ((CaseWhen *) result)->result) :
			most_values(root, result);
	}
	return sum;
}

/* What follows from functions. */
static double
computed_values(PlannerInfo *root, Node *key)
{
	switch (nodeTag(key))
	{
		case T_RelabelType:
			return most_values(root, (Node *) ((RelabelType *) key)->arg);
		case T_CoerceViaIO:
			return most_values(root, (Node *) ((CoerceViaIO *) key)->arg);
		case T_FuncExpr:
			return function_values(root, ((FuncExpr *) key)->funcid, ((FuncExpr *) key)->args);
		case T_OpExpr:
			return function_values(root, ((OpExpr *) key)->opfuncid, ((OpExpr *) key)->args);
		case T_CoalesceExpr:
			return sum_of_values(root, ((CoalesceExpr *) key)->args);
		case T_CaseExpr:
			return sum_of_values(root, ((CaseExpr *) key)->args) +
				most_values(root, (Node *) ((CaseExpr *) key)->defresult);
		default:
			return INFINITY;
	}
}

/* At most, NULL among them only where that is a result of its own. */
static double
most_values(PlannerInfo *root, Node *key)
{
	double		values;

	check_stack_depth();
	if (key == NULL || IsA(key, Const))
		return 1;
	if (exprType(key) == BOOLOID)
		return 2;
	values = computed_values(root, key);
	switch (exprType(key))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return Min(values, steps(gpucol_key_spread(root, key), 1));
		case DATEOID:
			return Min(values, steps(gpucol_key_spread(root, key), SECS_PER_DAY));
		default:
			return values;
	}
}

/* Has a table that an expression reads extended statistics?  PostgreSQL's estimate then knows more. */
static bool
has_statistics(PlannerInfo *root, Node *key)
{
	Relids		varnos = pull_varnos(root, key);
	int			rti = -1;

	while ((rti = bms_next_member(varnos, rti)) > 0)
	{
		if (rti < root->simple_rel_array_size && root->simple_rel_array[rti] != NULL &&
			root->simple_rel_array[rti]->statlist != NIL)
			return true;
	}
	return false;
}

double
gpucol_key_values(PlannerInfo *root, List *keys, double rows)
{
	double		groups = 1;
	bool		computed = keys != NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		Node	   *key = lfirst(lc);

		groups *= most_values(root, key) + 1;
		computed = computed && !IsA(key, Var) && !has_statistics(root, key);
	}
	return computed ? Min(groups, Max(rows / ROWS_OF_GROUP, 1)) : groups;
}

/* The expression that a column of a subquery in FROM is, with the planning of that; NULL: it is none that is known. */
static Node *
subquery_column(PlannerInfo **root, Node *key)
{
	const Var  *var = (const Var *) key;
	RelOptInfo *rel;

	if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 || var->varno >= (*root)->simple_rel_array_size)
		return NULL;
	rel = (*root)->simple_rel_array[var->varno];
	if (rel == NULL || rel->rtekind != RTE_SUBQUERY || rel->subroot == NULL)
		return NULL;
	*root = rel->subroot;
	if (var->varattno > list_length((*root)->parse->targetList))
		return NULL;
	return (Node *) list_nth_node(TargetEntry, (*root)->parse->targetList, var->varattno - 1)->expr;
}

bool
gpucol_key_is_sum(PlannerInfo *root, Node *key)
{
	Node	   *column = subquery_column(&root, key);

	check_stack_depth();
	while (column != NULL && IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	if (column == NULL || !IsA(column, Aggref))
		return column != NULL && IsA(column, Var) && gpucol_key_is_sum(root, column);
	switch (((const Aggref *) column)->aggfnoid)
	{
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
		case F_AVG_FLOAT4:
		case F_AVG_FLOAT8:
			return true;
		default:
			return false;
	}
}
