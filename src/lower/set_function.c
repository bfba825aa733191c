/*-------------------------------------------------------------------------
 *
 * set_function.c
 *	  Set-returning functions whose rows engines make (kernel/set_function.h): unnest() of a column
 *	  of arrays or of a slice of it, generate_subscripts() of its first dimension, string_to_table() and
 *	  regexp_split_to_table() of a text, and the same as unnest() of string_to_array() and regexp_split_to_array();
 *	  jsonb_array_elements_text() and jsonb_object_keys() of a column or of a field of it (j -> 'a' -> 'b'), and the
 *	  keys that jsonb_each() and jsonb_each_text() return, where nobody reads their values.  Elements of several
 *	  arrays may be beside one another: unnest(a, b).
 *
 * Separators are constants: of string_to_table() up to 16 bytes, of regexp_split_to_table() plain
 * characters or a set of them, or a class such as \W (pattern.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/array_value.h"
#include "lower/set_function.h"

/* The function that splits a text, itself or below unnest(); NULL if it is none of those. */
static const FuncExpr *
splitting(const FuncExpr *expr)
{
	const FuncExpr *below = linitial(expr->args);

	switch (expr->funcid)
	{
		case F_STRING_TO_TABLE_TEXT_TEXT:
		case F_REGEXP_SPLIT_TO_TABLE_TEXT_TEXT:
			return expr;
		case F_UNNEST_ANYARRAY:
			return IsA(below, FuncExpr) && (below->funcid == F_STRING_TO_ARRAY_TEXT_TEXT ||
											below->funcid == F_REGEXP_SPLIT_TO_ARRAY_TEXT_TEXT) ? below : NULL;
		default:
			return NULL;
	}
}

/* Read a separator, a constant. */
static bool
read_separator(GpucolLower *l, const FuncExpr *expr, GpucolSetFunction *function)
{
	const Const *separator = lsecond(expr->args);
	Oid			collation = expr->inputcollid;
	text	   *value;

	if (GetDatabaseEncoding() != PG_UTF8 && pg_database_encoding_max_length() > 1)
		return gpucol_lower_decline(l, "characters of this encoding");
	if (!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return gpucol_lower_decline(l, "separators under a collation that is not deterministic");
	if (!IsA(separator, Const) || separator->constisnull)
		return gpucol_lower_decline(l, "a separator that is no constant");
	value = DatumGetTextPP(separator->constvalue);
	function->fields = true;
	if (expr->funcid == F_REGEXP_SPLIT_TO_TABLE_TEXT_TEXT || expr->funcid == F_REGEXP_SPLIT_TO_ARRAY_TEXT_TEXT)
		return gpucol_lower_separator(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), collation, function) ||
			gpucol_lower_decline(l, "a separator that only PostgreSQL's engine finds");
	if (VARSIZE_ANY_EXHDR(value) < 1 || VARSIZE_ANY_EXHDR(value) > GPUCOL_SET_SEPARATOR)
		return gpucol_lower_decline(l, "a separator of no bytes, or of more than %d", GPUCOL_SET_SEPARATOR);
	function->len = VARSIZE_ANY_EXHDR(value);
	memcpy(function->separator, VARDATA_ANY(value), function->len);
	return true;
}

/* Is it generate_subscripts() of the first dimension of an array? */
static bool
is_subscripts(const FuncExpr *expr)
{
	const Const *dimension = expr->funcid == F_GENERATE_SUBSCRIPTS_ANYARRAY_INT4 ? lsecond(expr->args) : NULL;

	return dimension != NULL && IsA(dimension, Const) && !dimension->constisnull &&
		DatumGetInt32(dimension->constvalue) == 1 && gpucol_lower_is_array(exprType(linitial(expr->args)));
}

/* A slice of an array's first dimension, whose bounds are constants; NULL if it is none. */
static const SubscriptingRef *
slice_of(const FuncExpr *expr)
{
	const SubscriptingRef *ref = linitial(expr->args);
	ListCell   *lc;

	if (expr->funcid != F_UNNEST_ANYARRAY || !IsA(ref, SubscriptingRef) || ref->refassgnexpr != NULL ||
		list_length(ref->reflowerindexpr) != 1 || !gpucol_lower_is_array(ref->refcontainertype))
		return NULL;
	foreach(lc, list_concat_copy(ref->reflowerindexpr, ref->refupperindexpr))
		if (lfirst(lc) != NULL && (!IsA(lfirst(lc), Const) || lfirst_node(Const, lc)->constisnull))
			return NULL;
	return ref;
}

bool
gpucol_lower_is_fields(const FuncExpr *expr)
{
	return expr->funcid == F_JSONB_EACH || expr->funcid == F_JSONB_EACH_TEXT;
}

/* Is it one of jsonb? */
static bool
is_of_jsonb(const FuncExpr *expr)
{
	return expr->funcid == F_JSONB_ARRAY_ELEMENTS_TEXT || expr->funcid == F_JSONB_OBJECT_KEYS ||
		gpucol_lower_is_fields(expr);
}

/* The operation j -> 'key' that an expression is, whose key is a constant; NULL if it is none. */
static const OpExpr *
field_of(const Expr *expr)
{
	const OpExpr *op = (const OpExpr *) expr;
	const Const *key = IsA(op, OpExpr) && get_opcode(op->opno) == F_JSONB_OBJECT_FIELD ? lsecond(op->args) : NULL;

	return key != NULL && IsA(key, Const) && !key->constisnull ? op : NULL;
}

/* What has the fields that a function of jsonb reads. */
static Expr *
jsonb_of(const FuncExpr *expr)
{
	Expr	   *value = linitial(expr->args);

	while (field_of(value) != NULL)
		value = linitial(field_of(value)->args);
	return value;
}

/* Put the keys of a chain of fields behind one another. */
static bool
read_path(GpucolLower *l, const Expr *expr, GpucolSetFunction *function)
{
	const OpExpr *op = field_of(expr);
	text	   *key;
	Size		len;

	if (op == NULL)
		return true;
	if (!read_path(l, linitial(op->args), function))
		return false;
	key = DatumGetTextPP(lsecond_node(Const, op->args)->constvalue);
	len = VARSIZE_ANY_EXHDR(key);
	if (function->path_len + 1 + len > GPUCOL_SET_PATH)
		return gpucol_lower_decline(l, "keys of more than %d bytes", GPUCOL_SET_PATH);
	function->path[function->path_len] = (char) len;
	memcpy(function->path + function->path_len + 1, VARDATA_ANY(key), len);
	function->path_len += 1 + len;
	return true;
}

/* The array whose elements are made, without the casts that change nothing. */
static Node *
array_of(const FuncExpr *expr)
{
	const SubscriptingRef *slice = slice_of(expr);

	return gpucol_lower_array_itself(slice != NULL ? (Node *) slice->refexpr : linitial(expr->args));
}

/* One bound of a slice; what is left out is all. */
static int32
bound_of(const List *bounds, int32 open)
{
	const Const *bound = linitial(bounds);

	return bound == NULL ? open : DatumGetInt32(bound->constvalue);
}

/* Describe a function. */
static bool
read_function(GpucolLower *l, const FuncExpr *expr, GpucolSetFunction *function)
{
	const SubscriptingRef *slice = slice_of(expr);
	GpucolElement element;

	memset(function, 0, sizeof(*function));
	if (splitting(expr) != NULL)
		return read_separator(l, splitting(expr), function);
	if (is_of_jsonb(expr))
	{
		function->jsonb = expr->funcid == F_JSONB_ARRAY_ELEMENTS_TEXT ? GPUCOL_SET_ELEMENTS : GPUCOL_SET_KEYS;
		function->width = GPUCOL_ARRAY_VARYING;
		return read_path(l, linitial(expr->args), function);
	}
	if (is_subscripts(expr))
	{
		function->subscripts = true;
		function->width = gpucol_lower_element(exprType(gpucol_lower_array_itself(linitial(expr->args))), &element) ?
			element.width : GPUCOL_ARRAY_VARYING;
		return true;
	}
	if (expr->funcid != F_UNNEST_ANYARRAY)
		return gpucol_lower_decline(l, "function %s returns a set", get_func_name(expr->funcid));
	if (!gpucol_lower_element(exprType(array_of(expr)), &element))
		return gpucol_lower_decline(l, "unnest of elements that engines do not read");
	function->width = element.width;
	function->sliced = slice != NULL;
	if (slice != NULL)
	{
		function->from = bound_of(slice->reflowerindexpr, PG_INT32_MIN);
		function->to = bound_of(slice->refupperindexpr, PG_INT32_MAX);
	}
	return true;
}

bool
gpucol_lower_is_set(const FuncExpr *expr)
{
	GpucolElement element;

	if (splitting(expr) != NULL || is_subscripts(expr) || is_of_jsonb(expr))
		return true;
	return expr->funcid == F_UNNEST_ANYARRAY &&
		gpucol_lower_element(exprType(array_of(expr)), &element);
}

Expr *
gpucol_lower_set_argument(const FuncExpr *expr)
{
	if (splitting(expr) != NULL)
		return linitial(splitting(expr)->args);
	if (is_of_jsonb(expr))
		return jsonb_of(expr);
	return (Expr *) array_of(expr);
}

bool
gpucol_lower_is_elements(const FuncExpr *expr)
{
	return expr->funcid == F_UNNEST_ANYARRAY && splitting(expr) == NULL && slice_of(expr) == NULL;
}

bool
gpucol_lower_sets(GpucolLower *l, List *functions, List *arguments, GpucolProbe *probe)
{
	GpucolSetFunction described[GPUCOL_SET_MOST];
	ListCell   *function;
	ListCell   *argument;

	Assert(list_length(functions) <= GPUCOL_SET_MOST);
	probe->nkeys = 0;
	forboth(function, functions, argument, arguments)
	{
		GpucolValue value;

		if (!read_function(l, lfirst(function), &described[probe->nkeys]) ||
			!gpucol_lower_expr(l, lfirst(argument), &value))
			return false;
		if (value.cls != GPUCOL_CLASS_S)
			return gpucol_lower_decline(l, "a set of a constant");
		gpucol_lower_add_probe_key(l, value.reg);
		probe->nkeys++;
	}
	for (int i = 0; i < probe->nkeys; i++)
	{
		uint16		first = gpucol_lower_put_bytes(l, &described[i], sizeof(described[i]));

		probe->set = i == 0 ? first : probe->set;
	}
	return true;
}
