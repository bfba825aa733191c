/*-------------------------------------------------------------------------
 *
 * match_number.c
 *	  Conditions on a number that a text has: its length, or the place of another text in it.
 *
 * `length(t) > 60` counts bytes or characters where they are, and `strpos(t, 'x') > 0` is a
 * search: no function of PostgreSQL's is called for a value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/match_number.h"

/* The lengths that a comparison with x takes. */
static bool
set_lengths(Oid funcid, int32 x, GpucolMatchNumber *number)
{
	number->least = PG_INT64_MIN;
	number->most = PG_INT64_MAX;
	switch (funcid)
	{
		case F_INT4LT:
			number->most = (int64) x - 1;
			return true;
		case F_INT4LE:
			number->most = x;
			return true;
		case F_INT4GT:
			number->least = (int64) x + 1;
			return true;
		case F_INT4GE:
			number->least = x;
			return true;
		case F_INT4NE:
			number->negate = true;
			break;
		case F_INT4EQ:
			break;
		default:
			return false;
	}
	number->least = x;
	number->most = x;
	return true;
}

/* The function of a comparison with its operands in the other order. */
static Oid
commuted(Oid opno)
{
	Oid			other = get_commutator(opno);

	return OidIsValid(other) ? get_opcode(other) : InvalidOid;
}

/* strpos(column, constant) > 0 and the like: is the constant somewhere in the value, or a part of it? */
static bool
find_position(GpucolLower *l, const FuncExpr *func, GpucolMatchNumber *number)
{
	struct varlena *packed;
	Datum		value;

	if ((func->funcid != F_STRPOS && func->funcid != F_POSITION_TEXT_TEXT) ||
		!OidIsValid(func->inputcollid) || !get_collation_isdeterministic(func->inputcollid) ||
		(pg_database_encoding_max_length() > 1 && GetDatabaseEncoding() != PG_UTF8) ||
		!gpucol_match_is_value(linitial(func->args), &number->steps) ||
		!gpucol_lower_get_safe(l, lsecond(func->args), &value))
		return false;
	packed = PG_DETOAST_DATUM_PACKED(value);
	number->found = (GpucolBytes) {VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed)};
	return true;
}

bool
gpucol_match_number(GpucolLower *l, const OpExpr *expr, GpucolMatchNumber *number)
{
	Node	   *left;
	Node	   *right;
	Oid			funcid;
	Datum		value;

	memset(number, 0, sizeof(*number));
	if (list_length(expr->args) != 2)
		return false;
	left = linitial(expr->args);
	right = lsecond(expr->args);
	funcid = IsA(left, FuncExpr) ? expr->opfuncid : commuted(expr->opno);
	if (!IsA(left, FuncExpr))
	{
		left = right;
		right = linitial(expr->args);
	}
	if (!IsA(left, FuncExpr) || !set_lengths(funcid, 0, number) || !gpucol_lower_get_safe(l, right, &value))
		return false;
	if (gpucol_lower_is_length((FuncExpr *) left, &number->bytes))
	{
		number->is_length = true;
		number->negate = false;
		return gpucol_match_is_value(linitial(((FuncExpr *) left)->args), &number->steps) &&
			set_lengths(funcid, DatumGetInt32(value), number);
	}
	number->negate = funcid == F_INT4EQ;
	return (funcid == F_INT4GT || funcid == F_INT4NE || funcid == F_INT4EQ) &&
		DatumGetInt32(value) == 0 && find_position(l, (FuncExpr *) left, number);
}

bool
gpucol_match_has_length(const GpucolMatchNumber *number, GpucolBytes value)
{
	int64		n = (int64) value.len;

	if (!number->bytes && n >= number->least)
		n = gpucol_text_characters(value.data, value.len);
	return n >= number->least && n <= number->most;
}
