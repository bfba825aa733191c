/*-------------------------------------------------------------------------
 *
 * match.c
 *	  Conditions on one column of text or bytea that are decided on the bytes.
 *
 * What PostgreSQL's functions answer is known here from the bytes alone, without a
 * datum and a call for each value:
 *
 *	  equality and lists	under a deterministic collation equal texts are equal
 *							bytes;
 *	  order					under a collation that orders by bytes
 *							(columnar/collation.h), and of the pattern operators;
 *	  LIKE					patterns without "_": literal pieces between "%", each
 *							taken where it comes first.  In UTF-8 and in encodings of
 *							one byte a piece found among the bytes is one found
 *							among the characters;
 *	  regular expressions	ILIKE, lower() and upper() compared with constants, and patterns
 *							with "_": by automata (regex.c);
 *	  strpos, position		of a constant, compared with 0: by the same search as LIKE;
 *	  split_part			compared with a constant: by an automaton;
 *	  lengths				compared with a constant, and places in texts (match_number.c);
 *	  ANY and ALL			of a few of these;
 *	  arrays				sizes, elements, ANY and ALL of a column, sets (match_array.c);
 *	  numerics				comparisons and lists (match_numeric.c).
 *
 * They may be about a part of the column's value (match_value.c).
 *
 * All but arrays, lists with NULL and patterns that are more than a beginning are decided by the
 * order of bytes alone (match_cuts.c).  Of parts this holds for lists of beginnings.  AND, OR, NOT
 * and IS NULL over these are decided too.
 * Everything else, and every constant that is NULL, is left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "lower/match_kinds.h"
#include "lower/match_numeric.h"
#include "kernel/bytes_order.h"
#include "kernel/hash.h"
#include "kernel/text_search.h"

/* Values decided at a time where conditions are combined. */
#define BLOCK	1024

/* Parts of values taken at a time. */
#define PARTS	256

/* Items of a list that are conditions of their own. */
#define MOST_EACH	32

/* Verdicts. */
#define NO		0
#define YES		1
#define UNKNOWN 2

/* ---- recognising ---- */

static GpucolMatch *
make_match(MatchKind kind, bool negate)
{
	GpucolMatch *match = palloc0(sizeof(GpucolMatch));

	match->kind = kind;
	match->negate = negate;
	return match;
}

static GpucolMatch *
make_comparison(MatchKind kind, bool negate, GpucolBytes constant)
{
	GpucolMatch *match = make_match(kind, negate);

	match->bytes = palloc(sizeof(GpucolBytes));
	match->bytes[0] = constant;
	match->nbytes = 1;
	return match;
}

/* Is it one of values of type character, whose blanks at the end do not count? */
static bool
is_padded(Oid funcid)
{
	return funcid == F_BPCHAREQ || funcid == F_BPCHARNE;
}

/* Is it an equality that is one of bytes, or its negation? */
static bool
is_equality(Oid funcid, Oid collation, bool *negate)
{
	*negate = funcid == F_TEXTNE || funcid == F_BYTEANE || funcid == F_BPCHARNE;
	if (funcid == F_BYTEAEQ || funcid == F_BYTEANE)
		return true;
	return (funcid == F_TEXTEQ || funcid == F_TEXTNE || is_padded(funcid)) &&
		OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* A constant as it is compared for equality. */
static GpucolBytes
equality_item(Oid funcid, Datum value)
{
	GpucolBytes item = gpucol_match_contents(value);

	return is_padded(funcid) ? gpucol_match_take(gpucol_match_unpadded(NULL), item) : item;
}

/* Is it an order of bytes? */
static bool
is_order(Oid funcid, Oid collation, MatchOrder *order)
{
	switch (funcid)
	{
		case F_TEXT_LT:
		case F_TEXT_PATTERN_LT:
		case F_BYTEALT:
			*order = ORDER_LT;
			break;
		case F_TEXT_LE:
		case F_TEXT_PATTERN_LE:
		case F_BYTEALE:
			*order = ORDER_LE;
			break;
		case F_TEXT_GT:
		case F_TEXT_PATTERN_GT:
		case F_BYTEAGT:
			*order = ORDER_GT;
			break;
		case F_TEXT_GE:
		case F_TEXT_PATTERN_GE:
		case F_BYTEAGE:
			*order = ORDER_GE;
			break;
		default:
			return false;
	}
	if (funcid == F_TEXT_LT || funcid == F_TEXT_LE || funcid == F_TEXT_GT ||
		funcid == F_TEXT_GE)
		return gpucol_collation_is_bytewise(collation);
	return true;
}

/* The same seen from the other operand. */
static MatchOrder
commute(MatchOrder order)
{
	static const MatchOrder other[] = {
		[ORDER_LT] = ORDER_GT,[ORDER_LE] = ORDER_GE,
		[ORDER_GT] = ORDER_LT,[ORDER_GE] = ORDER_LE
	};

	return other[order];
}

/* Is it LIKE or ILIKE (*how), or its negation? */
static bool
is_like(Oid funcid, bool *negate, GpucolCase *how)
{
	bool		ignores_case = funcid == F_TEXTICLIKE || funcid == F_BPCHARICLIKE || funcid == F_TEXTICNLIKE ||
		funcid == F_BPCHARICNLIKE;

	*how = ignores_case ? GPUCOL_CASE_IGNORED : GPUCOL_CASE_KEPT;
	*negate = funcid == F_TEXTNLIKE || funcid == F_NOTLIKE_TEXT_TEXT ||
		funcid == F_BPCHARNLIKE || funcid == F_TEXTICNLIKE || funcid == F_BPCHARICNLIKE;
	return *negate || ignores_case || funcid == F_TEXTLIKE || funcid == F_LIKE_TEXT_TEXT ||
		funcid == F_BPCHARLIKE;
}

/* A match that an automaton decides, if there is one. */
static GpucolMatch *
make_automaton(GpucolAutomaton *automaton, bool negate)
{
	GpucolMatch *match = make_match(MATCH_AUTOMATON, negate);

	match->automaton = automaton;
	return automaton == NULL ? NULL : match;
}

/* Add what is between two "%" unless it is empty. */
static void
add_piece(GpucolMatch *match, const char *data, size_t len)
{
	if (len == 0)
		return;
	match->bytes[match->nbytes].data = data;
	match->bytes[match->nbytes++].len = len;
	match->least += len;
}

/* A LIKE pattern, or NULL if it ends with its escape character; one with a "_" only by an automaton. */
static GpucolMatch *
make_like(GpucolBytes pattern, bool negate)
{
	GpucolMatch *match = make_match(MATCH_LIKE, negate);
	char	   *literal = palloc(pattern.len + 1);
	size_t		start = 0;
	size_t		n = 0;

	match->bytes = palloc((pattern.len + 1) * sizeof(GpucolBytes));
	match->starts = pattern.len == 0 || pattern.data[0] != '%';
	match->whole = match->ends = true;
	for (size_t i = 0; i < pattern.len; i++)
	{
		if (pattern.data[i] == '_')
			return make_automaton(gpucol_like_automaton(pattern, InvalidOid, GPUCOL_CASE_KEPT), negate);
		if (pattern.data[i] == '%')
		{
			add_piece(match, literal + start, n - start);
			start = n;
			match->whole = false;
			match->ends = i + 1 < pattern.len;
			continue;
		}
		if (pattern.data[i] == '\\' && ++i == pattern.len)
			return NULL;
		literal[n++] = pattern.data[i];
	}
	add_piece(match, literal + start, n - start);
	return match;
}

/* Is it a match with a regular expression, or its negation? */
static bool
is_regex(Oid funcid, bool *negate, bool *ignores_case)
{
	*ignores_case = funcid == F_TEXTICREGEXEQ || funcid == F_TEXTICREGEXNE || funcid == F_BPCHARICREGEXEQ ||
		funcid == F_BPCHARICREGEXNE;
	*negate = funcid == F_TEXTREGEXNE || funcid == F_BPCHARREGEXNE || funcid == F_TEXTICREGEXNE ||
		funcid == F_BPCHARICREGEXNE;
	return *negate || *ignores_case || funcid == F_TEXTREGEXEQ || funcid == F_BPCHARREGEXEQ;
}

/* Can pieces of characters be sought among bytes? */
static bool
encoding_allows_search(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

/* value op constant, or constant op value if swapped, without the steps to the value */
static GpucolMatch *
match_constant(GpucolLower *l, Oid funcid, Oid collation, Node *left, Node *right, bool swapped)
{
	GpucolMatch *match;
	MatchOrder	order;
	GpucolCase	how;
	bool		negate;
	bool		ignores_case;
	Datum		value;

	if (is_equality(funcid, collation, &negate))
		return gpucol_lower_get_safe(l, swapped ? left : right, &value) ?
			make_comparison(MATCH_EQUAL, negate, equality_item(funcid, value)) : NULL;
	if (is_order(funcid, collation, &order))
	{
		if (!gpucol_lower_get_safe(l, swapped ? left : right, &value))
			return NULL;
		match = make_comparison(MATCH_ORDER, false, gpucol_match_contents(value));
		match->order = swapped ? commute(order) : order;
		return match;
	}
	if (swapped || !OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return NULL;
	if (is_like(funcid, &negate, &how))
	{
		if (!encoding_allows_search() || !gpucol_lower_get_safe(l, right, &value))
			return NULL;
		return how == GPUCOL_CASE_KEPT ? make_like(gpucol_match_contents(value), negate) :
			make_automaton(gpucol_like_automaton(gpucol_match_contents(value), collation, how), negate);
	}
	if (is_regex(funcid, &negate, &ignores_case))
		return encoding_allows_search() && gpucol_lower_get_safe(l, right, &value) ?
			make_automaton(gpucol_regex_automaton(gpucol_match_contents(value), collation, ignores_case), negate) :
			NULL;
	if (funcid == F_STARTS_WITH && gpucol_lower_get_safe(l, right, &value))
	{
		match = make_comparison(MATCH_LIKE, false, gpucol_match_contents(value));
		match->starts = true;
		match->least = match->bytes[0].len;
		return match;
	}
	return NULL;
}

/* Is it lower() or upper() of something?  *of is that. */
static bool
is_cased(Node *node, GpucolCase *how, Node **of, Oid *collation)
{
	FuncExpr   *func = (FuncExpr *) node;

	if (!IsA(node, FuncExpr) || (func->funcid != F_LOWER_TEXT && func->funcid != F_UPPER_TEXT))
		return false;
	*how = func->funcid == F_LOWER_TEXT ? GPUCOL_CASE_LOWER : GPUCOL_CASE_UPPER;
	*of = linitial(func->args);
	*collation = func->inputcollid;
	return OidIsValid(func->inputcollid);
}

/* split_part(column, constant, constant) = constant, or <> */
static GpucolMatch *
match_field(GpucolLower *l, Oid funcid, Oid collation, List *args)
{
	FuncExpr   *func = linitial(args);
	GpucolMatch *match;
	Datum		separator;
	Datum		number;
	Datum		value;
	bool		negate;
	const GpucolMatchStep *steps;

	if (!IsA(func, FuncExpr) || func->funcid != F_SPLIT_PART || !OidIsValid(func->inputcollid) ||
		!get_collation_isdeterministic(func->inputcollid) || is_padded(funcid) ||
		!is_equality(funcid, collation, &negate) || !encoding_allows_search() ||
		!gpucol_match_is_value(linitial(func->args), &steps) ||
		!gpucol_lower_get_safe(l, lsecond(func->args), &separator) ||
		!gpucol_lower_get_safe(l, lthird(func->args), &number) ||
		!gpucol_lower_get_safe(l, lsecond(args), &value))
		return NULL;
	match = make_automaton(gpucol_field_automaton(gpucol_match_contents(separator), DatumGetInt32(number),
												  gpucol_match_contents(value)), negate);
	if (match != NULL)
		match->steps = steps;
	return match;
}

/* lower(column) op constant, or upper(), of a part perhaps */
static GpucolMatch *
match_cased(GpucolLower *l, Oid funcid, Oid collation, List *args)
{
	GpucolMatch *match;
	GpucolCase	how;
	GpucolCase	like;
	Node	   *of;
	Oid			by;
	Datum		value;
	bool		negate;
	const GpucolMatchStep *steps;

	if (!is_cased(linitial(args), &how, &of, &by) || !gpucol_match_is_value(of, &steps) ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation) ||
		!encoding_allows_search() || !gpucol_lower_get_safe(l, lsecond(args), &value))
		return NULL;
	if (is_equality(funcid, collation, &negate) && !is_padded(funcid))
		match = make_automaton(gpucol_equal_automaton(gpucol_match_contents(value), by, how), negate);
	else if (is_like(funcid, &negate, &like) && like == GPUCOL_CASE_KEPT)
		match = make_automaton(gpucol_like_automaton(gpucol_match_contents(value), by, how), negate);
	else
		return NULL;
	if (match != NULL)
		match->steps = steps;
	return match;
}

/* column op constant, constant op column, and the same with a part of it */
static GpucolMatch *
match_operator(GpucolLower *l, Oid funcid, Oid collation, List *args)
{
	GpucolMatch *match;
	const GpucolMatchStep *steps;
	bool		swapped;

	if (list_length(args) != 2)
		return NULL;
	match = match_cased(l, funcid, collation, args);
	if (match != NULL || (match = match_field(l, funcid, collation, args)) != NULL)
		return match;
	swapped = !gpucol_match_is_value(linitial(args), &steps);
	if (swapped && !gpucol_match_is_value(lsecond(args), &steps))
		return NULL;
	match = match_constant(l, funcid, collation, linitial(args), lsecond(args), swapped);
	if (match != NULL)
		match->steps = is_padded(funcid) ? gpucol_match_unpadded(steps) : steps;
	return match;
}

static bool
same_bytes(const GpucolBytes *a, const GpucolBytes *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Is a value with this hash in the list?  Else *at is where it belongs. */
static bool
find_item(const GpucolMatch *match, const GpucolBytes *value, uint64 hash, uint64 *at)
{
	uint32		item;

	*at = gpucol_hash_home(&match->table, hash);
	while (gpucol_hash_next(&match->table, hash, at, &item))
		if (same_bytes(&match->bytes[item], value))
			return true;
	return false;
}

/* column = ANY (constant array), column <> ALL (constant array) */
static GpucolMatch *
match_array(GpucolLower *l, ScalarArrayOpExpr *expr)
{
	GpucolMatch *match;
	ArrayType  *array;
	bool		negate;
	Datum		value;
	Datum	   *items;
	bool	   *nulls;
	int			n;
	uint64		nslots;
	const GpucolMatchStep *steps;

	if (!gpucol_match_is_value(linitial(expr->args), &steps) ||
		!is_equality(expr->opfuncid, expr->inputcollid, &negate) ||
		negate == expr->useOr || !gpucol_lower_get_safe(l, lsecond(expr->args), &value))
		return NULL;
	array = DatumGetArrayTypeP(value);
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &items,
					  &nulls, &n);
	if (n == 0)
		return NULL;
	match = make_match(MATCH_IN, negate);
	match->steps = is_padded(expr->opfuncid) ? gpucol_match_unpadded(steps) : steps;
	match->bytes = palloc(n * sizeof(GpucolBytes));
	nslots = gpucol_hash_slots(0, n);
	gpucol_hash_set_slots(&match->table, palloc0(nslots * sizeof(uint64)), nslots);
	for (int i = 0; i < n; i++)
	{
		GpucolBytes *item = &match->bytes[match->nbytes];
		uint64		hash;
		uint64		at;

		match->has_null |= nulls[i];
		if (nulls[i])
			continue;
		*item = equality_item(expr->opfuncid, items[i]);
		hash = gpucol_hash_bytes(item->data, item->len);
		if (find_item(match, item, hash, &at))
			continue;
		gpucol_hash_put(&match->table, at, hash, match->nbytes++);
		match->lengths |= UINT64CONST(1) << item->len % 64;
	}
	return match;
}

/* expression op ANY (constant array), or ALL: each of a few items as a condition of its own */
static GpucolMatch *
match_each(GpucolLower *l, ScalarArrayOpExpr *expr)
{
	GpucolMatch *match = make_match(expr->useOr ? MATCH_OR : MATCH_AND, false);
	ArrayType  *array;
	Datum		value;
	Datum	   *items;
	bool	   *nulls;
	int			n;

	if (!gpucol_lower_get_safe(l, lsecond(expr->args), &value))
		return NULL;
	array = DatumGetArrayTypeP(value);
	if (ARR_ELEMTYPE(array) != TEXTOID || ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > MOST_EACH)
		return NULL;
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	match->args = palloc(Max(n, 1) * sizeof(GpucolMatch *));
	for (int i = 0; i < n; i++)
	{
		Const	   *item = makeConst(TEXTOID, -1, expr->inputcollid, -1, items[i], nulls[i], false);

		match->args[i] = match_operator(l, expr->opfuncid, expr->inputcollid,
										list_make2(linitial(expr->args), item));
		if (match->args[i] == NULL)
			return NULL;
		match->nargs++;
	}
	return n == 0 ? NULL : match;
}

/* Is a column, or a part of it, NULL?  Every part of a value is a value, but for elements of arrays. */
static GpucolMatch *
match_null(NullTest *test)
{
	const GpucolMatchStep *steps;
	GpucolMatch *match;

	if (test->argisrow || !gpucol_match_is_value((Node *) test->arg, &steps))
		return NULL;
	match = make_match(MATCH_IS_NULL, test->nulltesttype == IS_NOT_NULL);
	match->steps = gpucol_match_may_be_null(steps) ? steps : NULL;
	return match;
}

/* AND, OR, NOT */
static GpucolMatch *
match_bool(GpucolLower *l, BoolExpr *expr)
{
	GpucolMatch *match = make_match(expr->boolop == AND_EXPR ? MATCH_AND :
									expr->boolop == OR_EXPR ? MATCH_OR : MATCH_NOT, false);
	ListCell   *lc;

	match->args = palloc(list_length(expr->args) * sizeof(GpucolMatch *));
	foreach(lc, expr->args)
	{
		GpucolMatch *arg = gpucol_match_create(l, lfirst(lc));

		if (arg == NULL)
			return NULL;
		match->args[match->nargs++] = arg;
	}
	return match;
}

/* A comparison of a number that the value has (match_number.c). */
static GpucolMatch *
match_number(GpucolLower *l, OpExpr *expr)
{
	GpucolMatchNumber number;
	GpucolMatch *match;

	if (!gpucol_match_number(l, expr, &number))
		return NULL;
	match = number.is_length ? make_match(MATCH_LENGTH, number.negate) :
		make_comparison(MATCH_LIKE, number.negate, number.found);
	match->number = number;
	match->steps = number.steps;
	if (!number.is_length)
	{
		match->nbytes = number.found.len > 0;
		match->least = number.found.len;
	}
	return match;
}

/* A condition on numerics (match_numeric.c), or on arrays (match_array.c). */
static GpucolMatch *
match_of_type(GpucolLower *l, Expr *expr)
{
	GpucolCuts *turns = gpucol_match_numeric(l, expr);
	GpucolArrayTest *array = turns == NULL ? gpucol_match_array_create(l, expr) : NULL;
	GpucolMatch *match;

	if (turns == NULL && array == NULL)
		return NULL;
	match = make_match(turns != NULL ? MATCH_NUMERIC : MATCH_ARRAY, false);
	match->turns = turns;
	match->array = array;
	return match;
}

GpucolMatch *
gpucol_match_create(GpucolLower *l, Expr *expr)
{
	GpucolMatch *match;

	switch (nodeTag(expr))
	{
		case T_OpExpr:
			match = match_number(l, (OpExpr *) expr);
			if (match == NULL)
				match = match_operator(l, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->inputcollid,
									   ((OpExpr *) expr)->args);
			return match != NULL ? match : match_of_type(l, expr);
		case T_FuncExpr:
			return match_operator(l, ((FuncExpr *) expr)->funcid,
								  ((FuncExpr *) expr)->inputcollid,
								  ((FuncExpr *) expr)->args);
		case T_ScalarArrayOpExpr:
			match = match_array(l, (ScalarArrayOpExpr *) expr);
			if (match == NULL)
				match = match_each(l, (ScalarArrayOpExpr *) expr);
			return match != NULL ? match : match_of_type(l, expr);
		case T_BoolExpr:
			return match_bool(l, (BoolExpr *) expr);
		case T_NullTest:
			return match_null((NullTest *) expr);
		default:
			return NULL;
	}
}

/* ---- deciding ---- */

/* Does the value, not NULL, match the pattern (before negation)? */
static bool
like(const GpucolMatch *match, GpucolBytes value)
{
	const char *at = value.data;
	const char *end = value.data + value.len;
	int			first = 0;
	int			last = match->nbytes;

	if (value.len < match->least || (match->whole && value.len != match->least))
		return false;
	if (match->starts && first < last)
	{
		const GpucolBytes *piece = &match->bytes[first++];

		if (memcmp(at, piece->data, piece->len) != 0)
			return false;
		at += piece->len;
	}
	if (match->ends && first < last)
	{
		const GpucolBytes *piece = &match->bytes[--last];

		if (memcmp(end - piece->len, piece->data, piece->len) != 0)
			return false;
		end -= piece->len;
	}
	for (; first < last; first++)
	{
		const GpucolBytes *piece = &match->bytes[first];

		at = gpucol_text_search(at, end - at, piece->data, piece->len);
		if (at == NULL)
			return false;
		at += piece->len;
	}
	return true;
}

static bool
in_list(const GpucolMatch *match, const GpucolBytes *value)
{
	uint64		at;

	return (match->lengths >> value->len % 64 & 1) != 0 &&
		find_item(match, value, gpucol_hash_bytes(value->data, value->len), &at);
}

static bool
in_order(const GpucolMatch *match, const GpucolBytes *value)
{
	int			order = gpucol_bytes_compare(value, &match->bytes[0]);

	switch (match->order)
	{
		case ORDER_LT:
			return order < 0;
		case ORDER_LE:
			return order <= 0;
		case ORDER_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

/* result = VERDICT for each value that is not NULL */
#define DECIDE(VERDICT) \
	do \
	{ \
		for (int i = 0; i < n; i++) \
		{ \
			const GpucolBytes *value = &values[i]; \
\
			result[i] = isnull != NULL && isnull[i] ? UNKNOWN : (uint8_t) (VERDICT); \
		} \
	} while (0)

/* Combine up to BLOCK values' verdicts of all operands. */
static void
decide_block(const GpucolMatch *match, int n, const GpucolBytes *values,
			 const bool *isnull, uint8_t *result)
{
	/* of two verdicts, this one wins; else UNKNOWN does */
	uint8_t		strong = match->kind == MATCH_AND ? NO : YES;
	uint8_t		other[BLOCK];

	gpucol_match_values(match->args[0], n, values, isnull, result);
	for (int a = 1; a < match->nargs; a++)
	{
		gpucol_match_values(match->args[a], n, values, isnull, other);
		for (int i = 0; i < n; i++)
		{
			if (other[i] == strong || (other[i] == UNKNOWN && result[i] != strong))
				result[i] = other[i];
		}
	}
	for (int i = 0; i < n && match->kind == MATCH_NOT; i++)
		result[i] = result[i] == UNKNOWN ? UNKNOWN : !result[i];
}

/* Decide about the parts of values that are compared; `isnull` as for gpucol_match_values(). */
static void
decide(const GpucolMatch *match, int n, const GpucolBytes *values, const bool *isnull, uint8_t *result)
{
	bool		negate = match->negate;

	switch (match->kind)
	{
		case MATCH_EQUAL:
			DECIDE(same_bytes(value, &match->bytes[0]) != negate);
			break;
		case MATCH_IN:
			DECIDE(in_list(match, value) ? !negate : match->has_null ? UNKNOWN : negate);
			break;
		case MATCH_ORDER:
			DECIDE(in_order(match, value));
			break;
		case MATCH_LIKE:
			DECIDE(like(match, *value) != negate);
			break;
		case MATCH_AUTOMATON:
			DECIDE(gpucol_automaton_accepts(match->automaton, *value) != negate);
			break;
		case MATCH_LENGTH:
			DECIDE(gpucol_match_has_length(&match->number, *value) != negate);
			break;
		case MATCH_ARRAY:
			DECIDE(gpucol_match_array_decide(match->array, *value));
			break;
		case MATCH_NUMERIC:
			DECIDE(gpucol_match_numeric_holds(match->turns, value));
			break;
		case MATCH_IS_NULL:
			for (int i = 0; i < n; i++)
				result[i] = (isnull != NULL && isnull[i]) != negate;
			break;
		default:
			for (int i = 0; i < n; i += BLOCK)
				decide_block(match, Min(n - i, BLOCK), values + i,
							 isnull == NULL ? NULL : isnull + i, result + i);
			break;
	}
}

void
gpucol_match_values(const GpucolMatch *match, int n, const GpucolBytes *values,
					const bool *isnull, uint8_t *result)
{
	GpucolBytes parts[PARTS];
	bool		missing[PARTS];

	if (match->steps == NULL)
	{
		decide(match, n, values, isnull, result);
		return;
	}
	for (int at = 0; at < n; at += PARTS)
	{
		const bool *nulls = isnull == NULL ? NULL : isnull + at;
		int			m = Min(n - at, PARTS);

		for (int i = 0; i < m; i++)
		{
			missing[i] = nulls != NULL && nulls[i];
			if (missing[i])
				continue;
			parts[i] = gpucol_match_take(match->steps, values[at + i]);
			missing[i] = parts[i].data == NULL;
		}
		decide(match, m, parts, missing, result + at);
	}
}
