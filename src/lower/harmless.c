/*-------------------------------------------------------------------------
 *
 * harmless.c
 *	  What may be evaluated for values that no row of the statement asks for.
 *
 * A host predicate is evaluated once for each entry of a dictionary, and an order
 * compares entries.  Some are of rows that nobody may see: hidden by row-level security,
 * deleted, excluded by another condition.  An error or a notice would tell of them, and a
 * user's function would be handed them.  So only what is *harmless* is evaluated there.
 * This file is the one place that says what is; docs/security.md tells users.
 *
 * The functions below raise no error for any value, but for six causes:
 *
 *	  the collation		text functions refuse to work without one, and some refuse
 *						a non-deterministic one: checked;
 *	  the pattern		of LIKE and of regular expressions must be constant and valid:
 *						a regular expression is compiled to see;
 *	  the divisor		must be a constant other than 0 and -1;
 *	  a length			of a substring must be a constant that is not negative, the number of
 *						a field one that is not 0;
 *	  the size			no result may come near the 1 GB at which PostgreSQL gives up.
 *						Of each expression the size is bounded by the size of the value;
 *						what grows more than eightfold is declined, so that values of up
 *						to 64 MB are harmless; longer ones are not shown to what grows
 *						(gpucol_harmless_grows());
 *	  the stack			gpucol_harmless_stack().
 *
 * Functions are known by OID: neither search_path nor a user's operator can pass for one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <alloca.h>
#include <sys/mman.h>

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "regex/regex.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/pg_locale.h"
#include "utils/regproc.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/row_compare.h"

/* More growth than this is declined, */
#define MAX_GROWTH		8.0
/* as are constants of more bytes, */
#define MAX_FIXED		((double) GPUCOL_HARMLESS_BYTES)
/* and longer patterns, or LIKE patterns of more "%", at each of which LIKE descends. */
#define MAX_PATTERN		65536
#define MAX_WILDCARDS	100

/* Rooms that a function takes for each byte of an argument, apart from the result. */
#define ROOM_COPY		1.0
#define ROOM_WIDE		4.0		/* a wide character for each byte */
#define ROOM_POINTERS	8.0		/* a pointer for each character */

/* What a function makes of its arguments, and what may go wrong. */
typedef enum Outcome
{
	OUTCOME_UNKNOWN,
	OUTCOME_PLAIN,				/* a value of fixed size, or a short one */
	OUTCOME_PART,				/* not more than its first argument */
	OUTCOME_SUBSTRING,			/* likewise, of a length */
	OUTCOME_FIELD,				/* likewise, by its number */
	OUTCOME_TRIMMED,			/* likewise, by way of pointers to characters */
	OUTCOME_CASE,				/* another case of its argument */
	OUTCOME_JOINED,				/* all its arguments */
	OUTCOME_REPLACED,			/* replace(value, from, to) */
	OUTCOME_TEXT,				/* a document's text, escaped */
	OUTCOME_LIKE,
	OUTCOME_ILIKE,
	OUTCOME_REGEX,
	OUTCOME_IREGEX,
	OUTCOME_QUOTIENT			/* of integers */
} Outcome;

/* At most each * n + fixed bytes, n being the size of the value. */
typedef struct Bytes
{
	double		each;
	double		fixed;
} Bytes;

#define COMPARISONS_OF(name) \
	F_##name##EQ, F_##name##NE, F_##name##LT, F_##name##LE, F_##name##GT, F_##name##GE
#define COMPARISONS_OF_(name) \
	F_##name##_EQ, F_##name##_NE, F_##name##_LT, F_##name##_LE, F_##name##_GT, F_##name##_GE

#define COMPARISONS_BETWEEN(a, b) \
	F_##a##_EQ_##b, F_##a##_NE_##b, F_##a##_LT_##b, F_##a##_LE_##b, F_##a##_GT_##b, F_##a##_GE_##b

static const Oid plain_functions[] = {
	/* numbers, dates, times, booleans */
	COMPARISONS_OF(INT2), COMPARISONS_OF(INT4), COMPARISONS_OF(INT8),
	COMPARISONS_OF(INT24), COMPARISONS_OF(INT42), COMPARISONS_OF(INT28),
	COMPARISONS_OF(INT82), COMPARISONS_OF(INT48), COMPARISONS_OF(INT84),
	COMPARISONS_OF(FLOAT4), COMPARISONS_OF(FLOAT8), COMPARISONS_OF(FLOAT48),
	COMPARISONS_OF(FLOAT84), COMPARISONS_OF_(NUMERIC),
	COMPARISONS_OF(BOOL), COMPARISONS_OF(OID), COMPARISONS_OF(CHAR),
	COMPARISONS_OF_(CASH), COMPARISONS_OF_(DATE), COMPARISONS_OF_(TIME),
	COMPARISONS_OF_(TIMESTAMP), COMPARISONS_OF_(TIMESTAMPTZ),
	COMPARISONS_OF_(INTERVAL), COMPARISONS_OF_(TIMETZ), COMPARISONS_OF_(ENUM),
	COMPARISONS_BETWEEN(DATE, TIMESTAMP), COMPARISONS_BETWEEN(TIMESTAMP, DATE),
	COMPARISONS_BETWEEN(DATE, TIMESTAMPTZ), COMPARISONS_BETWEEN(TIMESTAMPTZ, DATE),
	COMPARISONS_BETWEEN(TIMESTAMP, TIMESTAMPTZ), COMPARISONS_BETWEEN(TIMESTAMPTZ, TIMESTAMP),
	F_DATE_TIMESTAMP, F_DATE_TIMESTAMPTZ,
	F_INT4_INT2, F_INT8_INT2, F_INT8_INT4, F_INT4_BOOL,
	F_FLOAT8_INT2, F_FLOAT8_INT4, F_FLOAT8_INT8, F_FLOAT8_FLOAT4,
	F_NUMERIC_INT2, F_NUMERIC_INT4, F_NUMERIC_INT8,
	F_FLOAT4UM, F_FLOAT8UM, F_FLOAT4ABS, F_FLOAT8ABS, F_ABS_FLOAT4, F_ABS_FLOAT8,
	/* text, varchar */
	F_TEXTEQ, F_TEXTNE, F_TEXT_LT, F_TEXT_LE, F_TEXT_GT, F_TEXT_GE,
	F_TEXT_PATTERN_LT, F_TEXT_PATTERN_LE, F_TEXT_PATTERN_GE, F_TEXT_PATTERN_GT,
	F_LENGTH_TEXT, F_TEXTLEN, F_CHAR_LENGTH_TEXT, F_CHARACTER_LENGTH_TEXT,
	F_OCTET_LENGTH_TEXT, F_MD5_TEXT, F_STRPOS, F_POSITION_TEXT_TEXT, F_STARTS_WITH,
	/* char(n), name */
	F_BPCHAREQ, F_BPCHARNE, F_BPCHARLT, F_BPCHARLE, F_BPCHARGT, F_BPCHARGE,
	F_BPCHAR_PATTERN_LT, F_BPCHAR_PATTERN_LE, F_BPCHAR_PATTERN_GE, F_BPCHAR_PATTERN_GT,
	F_LENGTH_BPCHAR, F_CHAR_LENGTH_BPCHAR, F_CHARACTER_LENGTH_BPCHAR,
	F_OCTET_LENGTH_BPCHAR, COMPARISONS_OF(NAME), F_TEXT_NAME,
	F_NAMEEQTEXT, F_NAMENETEXT, F_NAMELTTEXT, F_NAMELETEXT, F_NAMEGTTEXT, F_NAMEGETEXT,
	F_TEXTEQNAME, F_TEXTNENAME, F_TEXTLTNAME, F_TEXTLENAME, F_TEXTGTNAME, F_TEXTGENAME,
	/* bytea, uuid, addresses, bit strings, identifiers */
	COMPARISONS_OF(BYTEA), F_LENGTH_BYTEA, F_OCTET_LENGTH_BYTEA, F_MD5_BYTEA,
	COMPARISONS_OF_(UUID), COMPARISONS_OF_(MACADDR), COMPARISONS_OF_(MACADDR8),
	COMPARISONS_OF_(NETWORK), F_NETWORK, F_FAMILY, F_MASKLEN, F_NETWORK_SUB, F_NETWORK_SUBEQ, F_NETWORK_SUP,
	F_NETWORK_SUPEQ, F_NETWORK_OVERLAP, COMPARISONS_OF(BIT), COMPARISONS_OF(VARBIT),
	COMPARISONS_OF(TID), COMPARISONS_OF(XID8), COMPARISONS_OF_(PG_LSN),
	/* jsonb */
	F_JSONB_EQ, F_JSONB_NE, F_JSONB_CONTAINS, F_JSONB_CONTAINED,
	F_JSONB_EXISTS, F_JSONB_EXISTS_ANY, F_JSONB_EXISTS_ALL, F_JSONB_TYPEOF
};

static const Oid part_functions[] = {
	F_LEFT, F_RIGHT, F_REVERSE, F_SUBSTR_TEXT_INT4, F_SUBSTRING_TEXT_INT4, F_TEXT_BPCHAR,
	F_SUBSTR_BYTEA_INT4, F_SUBSTRING_BYTEA_INT4,
	F_JSONB_OBJECT_FIELD, F_JSONB_ARRAY_ELEMENT, F_NUMERIC_UMINUS, F_NUMERIC_ABS,
	F_ABS_NUMERIC, F_TRIM_SCALE
};

static const Oid substring_functions[] = {
	F_SUBSTR_TEXT_INT4_INT4, F_SUBSTRING_TEXT_INT4_INT4, F_SUBSTR_BYTEA_INT4_INT4,
	F_SUBSTRING_BYTEA_INT4_INT4
};

static const Oid trimmed_functions[] = {
	F_BTRIM_TEXT, F_BTRIM_TEXT_TEXT, F_LTRIM_TEXT, F_LTRIM_TEXT_TEXT, F_RTRIM_TEXT,
	F_RTRIM_TEXT_TEXT
};

static const Oid field_functions[] = {F_SPLIT_PART};

static const Oid case_functions[] = {F_LOWER_TEXT, F_UPPER_TEXT, F_INITCAP};

static const Oid joined_functions[] = {F_TEXTCAT};

static const Oid replaced_functions[] = {F_REPLACE};

static const Oid text_functions[] = {F_JSONB_OBJECT_FIELD_TEXT, F_JSONB_ARRAY_ELEMENT_TEXT};

static const Oid like_functions[] = {
	F_TEXTLIKE, F_TEXTNLIKE, F_LIKE_TEXT_TEXT, F_NOTLIKE_TEXT_TEXT, F_BPCHARLIKE,
	F_BPCHARNLIKE, F_NAMELIKE, F_NAMENLIKE
};

static const Oid ilike_functions[] = {
	F_TEXTICLIKE, F_TEXTICNLIKE, F_BPCHARICLIKE, F_BPCHARICNLIKE, F_NAMEICLIKE, F_NAMEICNLIKE
};

static const Oid regex_functions[] = {
	F_TEXTREGEXEQ, F_TEXTREGEXNE, F_BPCHARREGEXEQ, F_BPCHARREGEXNE, F_NAMEREGEXEQ,
	F_NAMEREGEXNE
};

static const Oid iregex_functions[] = {
	F_TEXTICREGEXEQ, F_TEXTICREGEXNE, F_BPCHARICREGEXEQ, F_BPCHARICREGEXNE,
	F_NAMEICREGEXEQ, F_NAMEICREGEXNE
};

static const Oid quotient_functions[] = {
	F_INT2DIV, F_INT4DIV, F_INT8DIV, F_INT2MOD, F_INT4MOD, F_INT8MOD,
	F_MOD_INT2_INT2, F_MOD_INT4_INT4, F_MOD_INT8_INT8
};

/* Those that refuse non-deterministic collations, beside all that match patterns. */
static const Oid deterministic_functions[] = {
	F_STRPOS, F_POSITION_TEXT_TEXT, F_STARTS_WITH, F_REPLACE, F_SPLIT_PART, F_TEXT_PATTERN_LT,
	F_TEXT_PATTERN_LE, F_TEXT_PATTERN_GE, F_TEXT_PATTERN_GT, F_BPCHAR_PATTERN_LT,
	F_BPCHAR_PATTERN_LE, F_BPCHAR_PATTERN_GE, F_BPCHAR_PATTERN_GT
};

#define LIST(outcome, oids) {outcome, oids, lengthof(oids)}

static const struct
{
	Outcome		outcome;
	const Oid  *oids;
	int			n;
}			lists[] = {
	LIST(OUTCOME_PLAIN, plain_functions),
	LIST(OUTCOME_PART, part_functions),
	LIST(OUTCOME_SUBSTRING, substring_functions),
	LIST(OUTCOME_FIELD, field_functions),
	LIST(OUTCOME_TRIMMED, trimmed_functions),
	LIST(OUTCOME_CASE, case_functions),
	LIST(OUTCOME_JOINED, joined_functions),
	LIST(OUTCOME_REPLACED, replaced_functions),
	LIST(OUTCOME_TEXT, text_functions),
	LIST(OUTCOME_LIKE, like_functions),
	LIST(OUTCOME_ILIKE, ilike_functions),
	LIST(OUTCOME_REGEX, regex_functions),
	LIST(OUTCOME_IREGEX, iregex_functions),
	LIST(OUTCOME_QUOTIENT, quotient_functions),
};

static bool
is_listed(const Oid *oids, int n, Oid funcid)
{
	for (int i = 0; i < n; i++)
	{
		if (oids[i] == funcid)
			return true;
	}
	return false;
}

static Outcome
outcome_of(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(lists); i++)
	{
		if (is_listed(lists[i].oids, lists[i].n, funcid))
			return lists[i].outcome;
	}
	return OUTCOME_UNKNOWN;
}

/* Does a function make more bytes than it is given, or need more on the way? */
static bool
function_grows(Oid funcid, void *context pg_attribute_unused())
{
	switch (outcome_of(funcid))
	{
		case OUTCOME_TRIMMED:
		case OUTCOME_CASE:
		case OUTCOME_JOINED:
		case OUTCOME_REPLACED:
		case OUTCOME_TEXT:
		case OUTCOME_ILIKE:
		case OUTCOME_REGEX:
		case OUTCOME_IREGEX:
			return true;
		default:
			return false;
	}
}

static bool
grows_walker(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, function_grows, NULL) ||
		 expression_tree_walker(node, grows_walker, context));
}

bool
gpucol_harmless_grows(Node *node)
{
	return grows_walker(node, NULL);
}

bool
gpucol_harmless_function(Oid funcid)
{
	return outcome_of(funcid) == OUTCOME_PLAIN &&
		!is_listed(deterministic_functions, lengthof(deterministic_functions), funcid);
}

bool
gpucol_harmless_node(Node *node)
{
	switch (nodeTag(node))
	{
		case T_OpExpr:
			set_opfuncid((OpExpr *) node);
			return gpucol_harmless_function(((OpExpr *) node)->opfuncid);
		case T_FuncExpr:
			return gpucol_harmless_function(((FuncExpr *) node)->funcid);
		case T_List:
		case T_TargetEntry:
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
			return true;
		default:
			return false;
	}
}

bool
gpucol_harmless_comparison(Oid funcid, Oid type)
{
	Oid			element = get_base_element_type(type);
	TypeCacheEntry *of;

	switch (funcid)
	{
		case F_ARRAY_EQ:
		case F_ARRAY_LT:
			if (!OidIsValid(element))
				return false;
			of = lookup_type_cache(element, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
			return OidIsValid(of->eq_opr) && OidIsValid(of->lt_opr) &&
				gpucol_harmless_function(get_opcode(of->eq_opr)) && gpucol_harmless_function(get_opcode(of->lt_opr));
		default:
			return gpucol_harmless_function(funcid);
	}
}

bool
gpucol_harmless_order(Oid operator, Oid type, Oid collation)
{
	return gpucol_harmless_comparison(get_opcode(operator), type) &&
		(OidIsValid(collation) || !OidIsValid(get_typcollation(type)));
}

/* ---- patterns ---- */

/* Can every value be matched against this pattern of LIKE? */
static bool
check_like_pattern(GpucolLower *l, const char *data, int len)
{
	int			wildcards = 0;

	for (int i = 0; i < len; i++)
	{
		wildcards += data[i] == '%';
		if (data[i] == '\\' && ++i == len)
			return gpucol_lower_decline(l, "LIKE pattern ends with the escape character");
	}
	return wildcards <= MAX_WILDCARDS ||
		gpucol_lower_decline(l, "LIKE pattern has more than %d wildcards", MAX_WILDCARDS);
}

/* Is it a regular expression? */
static bool
check_regex_pattern(GpucolLower *l, const char *data, int len, int flags, Oid collation)
{
	pg_wchar   *chars = palloc((len + 1) * sizeof(pg_wchar));
	int			n = pg_mb2wchar_with_len(data, chars, len);
	regex_t		regex;
	int			error = pg_regcomp(&regex, chars, n, flags, collation);

	if (error == REG_OKAY)
		pg_regfree(&regex);
	pfree(chars);
	return error == REG_OKAY || gpucol_lower_decline(l, "its pattern is not a regular expression");
}

/* Can every value be matched against this pattern? */
static bool
check_pattern(GpucolLower *l, Outcome outcome, Oid collation, Datum pattern)
{
	text	   *chars = DatumGetTextPP(pattern);
	char	   *data = VARDATA_ANY(chars);
	int			len = VARSIZE_ANY_EXHDR(chars);

	if (len > MAX_PATTERN)
		return gpucol_lower_decline(l, "pattern is longer than %d bytes", MAX_PATTERN);
	if (outcome == OUTCOME_LIKE || outcome == OUTCOME_ILIKE)
		return check_like_pattern(l, data, len);
	return check_regex_pattern(l, data, len, outcome == OUTCOME_IREGEX ? REG_ADVANCED | REG_ICASE :
							   REG_ADVANCED, collation);
}

/* The same of a pattern that is an expression, or of an array of patterns. */
static bool
check_patterns(GpucolLower *l, Outcome outcome, Oid collation, Expr *pattern, bool is_array)
{
	Datum		value;
	bool		isnull;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (!gpucol_lower_is_constant(pattern))
		return gpucol_lower_decline(l, "its pattern is not constant");
	if (l->conditional > 0 && !gpucol_lower_is_safe_constant(l, pattern))
		return gpucol_lower_decline(l, "its pattern is computed in a branch that may be left out");
	if (!gpucol_lower_eval(l, pattern, &value, &isnull) || isnull)
		return true;
	if (!is_array)
		return check_pattern(l, outcome, collation, value);
	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && !check_pattern(l, outcome, collation, elements[i]))
			return false;
	}
	return true;
}

/* ---- sizes ---- */

static Bytes
no_bytes(void)
{
	return (Bytes) {0, 64};
}

static Bytes
more_bytes(Bytes a, Bytes b)
{
	return (Bytes) {Max(a.each, b.each), Max(a.fixed, b.fixed)};
}

/* The size of a constant. */
static Bytes
constant_bytes(Oid type, Datum value, bool isnull)
{
	if (isnull || get_typlen(type) != -1)
		return no_bytes();
	return (Bytes) {0, (double) toast_raw_datum_size(value) - VARHDRSZ};
}

/* May something take so much room for what it is given? */
static bool
check_room(GpucolLower *l, Bytes bytes, double room)
{
	return (bytes.each * room <= MAX_GROWTH && bytes.fixed * room <= MAX_FIXED) ||
		gpucol_lower_decline(l, "its results may grow too large");
}

/* The size of replace(value, from, to). */
static bool
replaced_bytes(GpucolLower *l, List *args, const Bytes *sizes, Bytes *bytes)
{
	const Const *from = lsecond(args);
	double		len;
	double		growth;

	if (!IsA(from, Const) || sizes[2].each > 0)
		return gpucol_lower_decline(l, "what it replaces is not constant");
	len = from->constisnull ? 0 : VARSIZE_ANY_EXHDR(DatumGetTextPP(from->constvalue));
	growth = len == 0 ? 1 : Max(1, sizes[2].fixed / len);
	*bytes = (Bytes) {sizes[0].each * growth, sizes[0].fixed * growth};
	return true;
}

/* The size of a part of so many characters of something. */
static Bytes
part_bytes(const Const *characters, Bytes whole)
{
	if (!IsA(characters, Const) || characters->constisnull || characters->consttype != INT4OID ||
		DatumGetInt32(characters->constvalue) < 0)
		return whole;
	return (Bytes) {0, (double) DatumGetInt32(characters->constvalue) * MAX_MULTIBYTE_CHAR_LEN};
}

/* The size of a function's result, from those of its first three arguments. */
static bool
result_bytes(GpucolLower *l, Outcome outcome, List *args, const Bytes *sizes, Bytes *bytes)
{
	double		room = ROOM_COPY;

	*bytes = no_bytes();
	switch (outcome)
	{
		case OUTCOME_SUBSTRING:
			*bytes = part_bytes(lthird(args), sizes[0]);
			break;
		case OUTCOME_PART:
		case OUTCOME_FIELD:
			*bytes = sizes[0];
			break;
		case OUTCOME_TRIMMED:
			*bytes = sizes[0];
			room = ROOM_POINTERS;
			break;
		case OUTCOME_CASE:
			/* a letter may become three of the same size */
			*bytes = (Bytes) {sizes[0].each * 3, sizes[0].fixed * 3};
			room = ROOM_WIDE;
			break;
		case OUTCOME_JOINED:
			*bytes = (Bytes) {sizes[0].each + sizes[1].each, sizes[0].fixed + sizes[1].fixed};
			break;
		case OUTCOME_REPLACED:
			if (!replaced_bytes(l, args, sizes, bytes))
				return false;
			break;
		case OUTCOME_TEXT:
			*bytes = (Bytes) {sizes[0].each * 6, sizes[0].fixed * 6};
			break;
		case OUTCOME_ILIKE:
		case OUTCOME_REGEX:
		case OUTCOME_IREGEX:
			room = ROOM_WIDE;
			break;
		default:
			break;
	}
	return check_room(l, sizes[0], room) && check_room(l, sizes[1], room) &&
		check_room(l, *bytes, ROOM_COPY);
}

/* ---- expressions ---- */

/* What the walk down a condition needs. */
typedef struct Walk
{
	GpucolLower *l;
	Bytes		test;			/* of the value that a CASE compares */
} Walk;

static bool check_node(Walk *walk, Node *node, Bytes *bytes);

/* All of a list; the size is that of the largest, those of the first three are kept. */
static bool
check_list(Walk *walk, List *list, Bytes *sizes, Bytes *bytes)
{
	ListCell   *lc;

	*bytes = no_bytes();
	foreach(lc, list)
	{
		Bytes		one;

		if (!check_node(walk, lfirst(lc), &one))
			return false;
		*bytes = more_bytes(*bytes, one);
		if (sizes != NULL && foreach_current_index(lc) < 3)
			sizes[foreach_current_index(lc)] = one;
	}
	return true;
}

/* The same of what is evaluated for some values only. */
static bool
check_branches(Walk *walk, List *list, Bytes *bytes)
{
	bool		ok;

	walk->l->conditional++;
	ok = check_list(walk, list, NULL, bytes);
	walk->l->conditional--;
	return ok;
}

/* Is it harmless to call a function under this collation, sizes and patterns apart? */
static bool
check_function(GpucolLower *l, Oid funcid, Outcome outcome, List *args, Oid collation)
{
	bool		collatable = false;
	ListCell   *lc;

	if (outcome == OUTCOME_UNKNOWN)
		return gpucol_lower_decline(l, "function %s is not known to be free of errors",
									format_procedure(funcid));
	foreach(lc, args)
		collatable |= OidIsValid(exprCollation(lfirst(lc)));
	if (collatable && !OidIsValid(collation))
		return gpucol_lower_decline(l, "function %s has no collation", format_procedure(funcid));
	if (OidIsValid(collation) &&
		(is_listed(deterministic_functions, lengthof(deterministic_functions), funcid) ||
		 (outcome >= OUTCOME_LIKE && outcome <= OUTCOME_IREGEX)) &&
		!get_collation_isdeterministic(collation))
		return gpucol_lower_decline(l, "function %s needs a deterministic collation",
									format_procedure(funcid));
	return true;
}

/* Is a divisor a constant that divides every integer? */
static bool
check_divisor(GpucolLower *l, const Const *divisor)
{
	int64		value = 0;

	if (IsA(divisor, Const) && !divisor->constisnull)
		value = divisor->consttype == INT2OID ? DatumGetInt16(divisor->constvalue) :
			divisor->consttype == INT4OID ? DatumGetInt32(divisor->constvalue) :
			DatumGetInt64(divisor->constvalue);
	return (value != 0 && value != -1) ||
		gpucol_lower_decline(l, "its divisor may be 0 or -1");
}

/* Is it the number of a field: a constant that is not 0? */
static bool
check_field_number(GpucolLower *l, const Const *number)
{
	return (IsA(number, Const) && (number->constisnull || DatumGetInt32(number->constvalue) != 0)) ||
		gpucol_lower_decline(l, "the number of a field is not constant, or 0");
}

/* Is a length a constant that is not negative? */
static bool
check_length(GpucolLower *l, const Const *length)
{
	return (IsA(length, Const) && (length->constisnull || DatumGetInt32(length->constvalue) >= 0)) ||
		gpucol_lower_decline(l, "its length may be negative");
}

/* A call; with `over_array` the second argument is an array of such. */
static bool
check_call(Walk *walk, Oid funcid, List *args, Oid collation, bool over_array, Bytes *bytes)
{
	GpucolLower *l = walk->l;
	Outcome		outcome = outcome_of(funcid);
	Bytes		sizes[3] = {no_bytes(), no_bytes(), no_bytes()};

	if (!check_function(l, funcid, outcome, args, collation) ||
		!check_list(walk, args, sizes, bytes))
		return false;
	if (outcome >= OUTCOME_LIKE && outcome <= OUTCOME_IREGEX &&
		!check_patterns(l, outcome, collation, lsecond(args), over_array))
		return false;
	if (outcome == OUTCOME_QUOTIENT && !check_divisor(l, lsecond(args)))
		return false;
	if (outcome == OUTCOME_FIELD && !check_field_number(l, lthird(args)))
		return false;
	if (outcome == OUTCOME_SUBSTRING && !check_length(l, lthird(args)))
		return false;
	return result_bytes(l, outcome, args, sizes, bytes);
}

/* NULLIF: as large as its first argument. */
static bool
check_nullif(Walk *walk, NullIfExpr *expr, Bytes *bytes)
{
	Outcome		outcome = outcome_of(expr->opfuncid);
	Bytes		sizes[3] = {no_bytes(), no_bytes(), no_bytes()};
	Bytes		compared;

	if (!check_function(walk->l, expr->opfuncid, outcome, expr->args, expr->inputcollid) ||
		!check_list(walk, expr->args, sizes, &compared))
		return false;
	*bytes = sizes[0];
	return result_bytes(walk->l, outcome, expr->args, sizes, &compared);
}

/*
 * A constant that stayed one because it stands in a branch that may be left out
 * (host.c): it is evaluated with the test, before any row is known to need it.
 */
static bool
check_constant(GpucolLower *l, Expr *expr, Bytes *bytes)
{
	Datum		value;
	bool		isnull;

	*bytes = no_bytes();
	if (!gpucol_lower_is_safe_constant(l, expr))
		return gpucol_lower_decline(l, "it computes a value in a branch that may be left out");
	if (gpucol_lower_eval(l, expr, &value, &isnull))
		*bytes = constant_bytes(exprType((Node *) expr), value, isnull);
	return true;
}

/* CASE; the first condition is evaluated in any case, but that matters little. */
static bool
check_case(Walk *walk, CaseExpr *expr, Bytes *bytes)
{
	Bytes		outer = walk->test;
	Bytes		size;
	List	   *tests = NIL;
	List	   *results = NIL;
	bool		ok;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		tests = lappend(tests, lfirst_node(CaseWhen, lc)->expr);
		results = lappend(results, lfirst_node(CaseWhen, lc)->result);
	}
	if (expr->defresult != NULL)
		results = lappend(results, expr->defresult);
	*bytes = size = no_bytes();
	if (expr->arg != NULL && !check_node(walk, (Node *) expr->arg, &size))
		return false;
	walk->test = size;
	ok = check_branches(walk, tests, &size);
	walk->test = outer;
	return ok && check_branches(walk, results, bytes);
}

/* A comparison of rows: as it is spelt out. */
static bool
check_row_compare(Walk *walk, const RowCompareExpr *row, Bytes *bytes)
{
	Expr	   *spelt = gpucol_row_compare_spelt(walk->l, row);

	return spelt != NULL && check_node(walk, (Node *) spelt, bytes);
}

/* An expression that is no call. */
static bool
check_other(Walk *walk, Node *node, Bytes *bytes)
{
	GpucolLower *l = walk->l;

	switch (nodeTag(node))
	{
		case T_Var:
			*bytes = (Bytes) {1, 0};
			return ((Var *) node)->varno == (int) l->varno ||
				gpucol_lower_decline(l, "it refers to another table");
		case T_Const:
			*bytes = constant_bytes(((Const *) node)->consttype, ((Const *) node)->constvalue,
									((Const *) node)->constisnull);
			return true;
		case T_Param:
		case T_SQLValueFunction:
			return check_constant(l, (Expr *) node, bytes);
		case T_RelabelType:
			return check_node(walk, (Node *) ((RelabelType *) node)->arg, bytes);
		case T_BoolExpr:
			return ((BoolExpr *) node)->boolop == NOT_EXPR ?
				check_list(walk, ((BoolExpr *) node)->args, NULL, bytes) :
				check_branches(walk, ((BoolExpr *) node)->args, bytes);
		case T_BooleanTest:
			return check_node(walk, (Node *) ((BooleanTest *) node)->arg, bytes);
		case T_NullTest:
			return check_node(walk, (Node *) ((NullTest *) node)->arg, bytes) &&
				(!((NullTest *) node)->argisrow ||
				 gpucol_lower_decline(l, "it tests a row for NULL"));
		case T_CaseExpr:
			return check_case(walk, (CaseExpr *) node, bytes);
		case T_CaseTestExpr:
			*bytes = walk->test;
			return true;
		case T_CoalesceExpr:
			return check_branches(walk, ((CoalesceExpr *) node)->args, bytes);
		case T_RowCompareExpr:
			return check_row_compare(walk, (RowCompareExpr *) node, bytes);
		default:
			return gpucol_lower_decline(l, "it contains an expression that is not pushed down");
	}
}

/* One node of the condition and what is below it. */
static bool
check_node(Walk *walk, Node *node, Bytes *bytes)
{
	check_stack_depth();
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL)
		return check_constant(walk->l, (Expr *) node, bytes);
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			return check_call(walk, ((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args,
							  ((OpExpr *) node)->inputcollid, false, bytes);
		case T_NullIfExpr:
			return check_nullif(walk, (NullIfExpr *) node, bytes);
		case T_FuncExpr:
			return check_call(walk, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args,
							  ((FuncExpr *) node)->inputcollid, false, bytes);
		case T_ScalarArrayOpExpr:
			return check_call(walk, ((ScalarArrayOpExpr *) node)->opfuncid,
							  ((ScalarArrayOpExpr *) node)->args,
							  ((ScalarArrayOpExpr *) node)->inputcollid, true, bytes);
		default:
			return check_other(walk, node, bytes);
	}
}

bool
gpucol_harmless_condition(GpucolLower *l, Expr *expr)
{
	Walk		walk = {.l = l,.test = no_bytes()};
	Bytes		bytes;

	return check_node(&walk, (Node *) expr, &bytes);
}

/* Is there address space for so much more stack?  Where there is none, growing it is the process's end. */
static bool
can_grow(Size bytes)
{
	void	   *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return room != MAP_FAILED && munmap(room, bytes) == 0;
}

bool
gpucol_harmless_stack(void)
{
	Size		quarter = (Size) max_stack_depth * 1024 / 4;
	volatile char *reserve;

	if (!can_grow(quarter))
		return false;
	reserve = alloca(quarter);	/* as if it were used */
	reserve[0] = 0;
	return !stack_is_too_deep();
}
