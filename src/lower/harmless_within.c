/*-------------------------------------------------------------------------
 *
 * harmless_within.c
 *	  Sums with a constant, and arithmetic of integers, of values that are not near the ends of their type.
 *
 * a.n - 1 is an error for the least integer.  Where it is to be computed of values that nobody may have asked for,
 * it is computed of those with room to the ends:
 *
 *		CASE WHEN a.n < low OR a.n > high THEN NULL ELSE a.n - 1 END
 *
 * A cast among dates and timestamps may leave its type, too, and so may AT TIME ZONE, date_trunc() and extract() of
 * constants; each may be the value that an interval is added to.
 *
 * Other arithmetic of integers is computed where it stays within its types (harmless_integers.c):
 *
 *		CASE WHEN a.n::bigint * a.m < low OR a.n::bigint * a.m > high THEN NULL ELSE a.n * a.m END
 *
 * Quotients by columns, arithmetic of floats and texts as numbers likewise (harmless_values.c).
 *
 * What made the CASE knows what to do about the others; harmless_query.c knows it when it sees it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "lower/harmless_integers.h"
#include "lower/harmless_values.h"
#include "lower/harmless_within.h"
#include "lower/zone_table.h"
#include "plan/make.h"

/* Constants are added and subtracted between these, half of a type's greatest value, and their negatives. */
#define MOST_INT2	INT64CONST(16383)
#define MOST_INT4	INT64CONST(1073741823)
#define MOST_INT8	INT64CONST(4611686018427387903)
#define MOST_DAYS	INT64CONST(1000000)
/* each part of an interval among these */
#define MOST_SPAN_DAYS	(MOST_DAYS / 4)

/* How far constants, dates and timestamps may be from 0; 0: the type is not known. */
static int64
most_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return MOST_INT2;
		case INT4OID:
			return MOST_INT4;
		case INT8OID:
			return MOST_INT8;
		case DATEOID:
			return MOST_DAYS;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return MOST_DAYS * USECS_PER_DAY;
		default:
			return 0;
	}
}

static Const *
make_value(Oid type, int64 value)
{
	bool		wide = type == INT8OID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
	Datum		datum = wide ? Int64GetDatum(value) : type == INT2OID ? Int16GetDatum((int16) value) :
		Int32GetDatum((int32) value);

	return makeConst(type, -1, InvalidOid, get_typlen(type), datum, false, wide ? FLOAT8PASSBYVAL : true);
}

/* Is no part of an interval long? */
static bool
is_short(const Interval *span)
{
	const int64 months = MOST_SPAN_DAYS / 31;
	const int64 time = MOST_SPAN_DAYS * USECS_PER_DAY;

	return span->month >= -months && span->month <= months && span->day >= -MOST_SPAN_DAYS &&
		span->day <= MOST_SPAN_DAYS && span->time >= -time && span->time <= time;
}

/*
 * How far values of a type may be from 0 to which a constant is added, or subtracted: integers as far as there is room;
 * 0: it is no such constant.
 */
static int64
room_for(const Node *node, Oid type)
{
	const Const *value = (const Const *) node;
	int64		most = most_of(type);
	int64		number;

	if (!IsA(node, Const) || value->constisnull)
		return 0;
	switch (value->consttype)
	{
		case INT2OID:
			number = DatumGetInt16(value->constvalue);
			break;
		case INT4OID:
			number = DatumGetInt32(value->constvalue);
			break;
		case INT8OID:
			number = DatumGetInt64(value->constvalue);
			break;
		case INTERVALOID:
			return (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID) &&
				is_short(DatumGetIntervalP(value->constvalue)) ? most : 0;
		default:
			return 0;
	}
	if (number > most || number < -most)
		return 0;
	return type == DATEOID ? most : 2 * most + 1 - (number < 0 ? -number : number);
}

/* Is a function a sum or a difference that does not leave its type near 0? */
static bool
is_sum(Oid function)
{
	switch (function)
	{
		case F_INT2PL:
		case F_INT2MI:
		case F_INT4PL:
		case F_INT4MI:
		case F_INT8PL:
		case F_INT8MI:
		case F_INT24PL:
		case F_INT24MI:
		case F_INT48PL:
		case F_INT48MI:
		case F_INT84PL:
		case F_INT84MI:
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			return true;
		default:
			return false;
	}
}

OpExpr *
gpucol_harmless_compare_const(Expr *value, Oid type, int strategy, Const *with)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			compare = get_opfamily_member(family, type, type, strategy);
	OpExpr	   *op = (OpExpr *) make_opclause(compare, BOOLOID, false, (Expr *) copyObject(value), (Expr *) with,
											  InvalidOid, InvalidOid);

	set_opfuncid(op);
	return op;
}

OpExpr *
gpucol_harmless_compare(Expr *value, Oid type, int strategy, int64 with)
{
	return gpucol_harmless_compare_const(value, type, strategy, make_value(type, with));
}

/* Is a constant the name of a time zone that there is? */
static bool
is_zone(const Node *node)
{
	const Const *name = (const Const *) node;
	const text *value;

	if (!IsA(name, Const) || name->constisnull || name->consttype != TEXTOID)
		return false;
	value = DatumGetTextPP(name->constvalue);
	return gpucol_zone_by_name(VARDATA_ANY(value), (int) VARSIZE_ANY_EXHDR(value)) != NULL;
}

/*
 * What a date or a timestamp is made another of, by a time zone, too, which is an error near the ends of their types;
 * else NULL.
 */
static const Expr *
cast_value(const Expr *expr)
{
	const FuncExpr *func = (const FuncExpr *) expr;

	if (!IsA(func, FuncExpr))
		return NULL;
	switch (func->funcid)
	{
		case F_TIMESTAMP_DATE:
		case F_TIMESTAMPTZ_DATE:
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
			return linitial(func->args);
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			return is_zone(linitial(func->args)) ? lsecond(func->args) : NULL;
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			/* no error by itself */
			return cast_value(linitial(func->args)) != NULL ? linitial(func->args) : NULL;
		default:
			return NULL;
	}
}

/* Is a constant a unit that values of a type have? */
static bool
is_unit(const Node *node, Oid type)
{
	/* behind the thirteenth, of times alone */
	static const char *const units[] = {"millennium", "century", "decade", "year", "quarter", "month", "week", "day",
	"isoyear", "dow", "isodow", "doy", "epoch", "hour", "minute", "second"};
	const int	n = type == DATEOID ? 13 : lengthof(units);
	const Const *unit = (const Const *) node;
	char	   *name;

	if (!IsA(unit, Const) || unit->constisnull || unit->consttype != TEXTOID)
		return false;
	name = TextDatumGetCString(unit->constvalue);
	for (int i = 0; i < n; i++)
	{
		if (pg_strcasecmp(name, units[i]) == 0)
			return true;
	}
	return false;
}

/* What a date or a timestamp is truncated or a field is taken of, by a unit that it has; else NULL. */
static const Expr *
field_value(const Expr *expr)
{
	const FuncExpr *func = (const FuncExpr *) expr;

	if (!IsA(func, FuncExpr))
		return NULL;
	switch (func->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return is_unit(linitial(func->args), exprType(lsecond(func->args))) ? lsecond(func->args) : NULL;
		default:
			return NULL;
	}
}

/* The time that casts and truncations make a value of; another value itself. */
static const Expr *
time_of(const Expr *expr)
{
	const Expr *value = field_value(expr);

	do
	{
		if (value != NULL)
			expr = value;
		value = cast_value(expr);
	} while (value != NULL);
	return expr;
}

/* When a value of a type is farther from 0 than there is room. */
static Expr *
beyond_room(const Expr *value, Oid type, int64 room)
{
	return make_orclause(list_make2(gpucol_harmless_compare((Expr *) value, type, BTLessStrategyNumber, -room),
									gpucol_harmless_compare((Expr *) value, type, BTGreaterStrategyNumber, room)));
}

/* When a sum of a value and a constant, or a cast of a time, may be an error; NULL: it is neither. */
static Expr *
beyond_sum(const Expr *sum)
{
	const OpExpr *op = (const OpExpr *) sum;
	const Expr *value = time_of(sum);
	Oid			type;
	int64		room;

	if (value != sum)
	{
		type = exprType((const Node *) value);
		return beyond_room(value, type, most_of(type));
	}
	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !is_sum(op->opfuncid))
		return NULL;
	value = linitial(op->args);
	type = exprType((const Node *) value);
	if (most_of(type) == 0)
		return NULL;
	room = room_for(eval_const_expressions(NULL, copyObject(lsecond(op->args))), type);
	if (room == 0)
		return NULL;
	if (time_of(value) != value)
	{
		value = time_of(value);
		type = exprType((const Node *) value);
		room = most_of(type);
	}
	return beyond_room(value, type, room);
}

const Expr *
gpucol_harmless_within_value(const Expr *expr)
{
	if (IsA(expr, OpExpr))
		expr = linitial(((const OpExpr *) expr)->args);
	return time_of(expr);
}

Expr *
gpucol_harmless_within(const Expr *expr, Expr **beyond)
{
	Expr	   *sum = beyond_sum(expr);

	*beyond = gpucol_harmless_integers_beyond(expr);
	/* of a sum of more than a column, the rest may leave its type, too */
	if (sum != NULL && (*beyond == NULL || IsA(gpucol_harmless_within_value(expr), Var)))
		*beyond = sum;
	if (*beyond == NULL)
		*beyond = gpucol_harmless_values_beyond(expr);
	if (*beyond == NULL)
		return NULL;
	return gpucol_make_choice(copyObject(*beyond), (Expr *) makeNullConst(exprType((Node *) expr), -1, InvalidOid),
							  (Expr *) copyObject(expr));
}

Node *
gpucol_harmless_within_test(const CaseExpr *node)
{
	Expr	   *beyond;
	Expr	   *within = node->defresult == NULL ? NULL : gpucol_harmless_within(node->defresult, &beyond);

	return within != NULL && equal(within, node) ? (Node *) beyond : NULL;
}
