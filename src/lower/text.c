/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Functions of texts and byte strings that engines compute: lengths, and parts of them:
 *	  by numbers of characters, between separators, and what a regular expression finds;
 *	  and comparisons of two, where equal values have equal bytes.
 *
 * Numbers of characters, separators and expressions are constants.  Parts are keys of groups and
 * of joins, compared, and counted as distinct only (l->parts): elsewhere a text is a column, or a
 * condition on a part of one (match_value.c).
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
#include "utils/typcache.h"

#include "columnar/collation.h"
#include "columnar/typemap.h"
#include "lower/array_value.h"
#include "lower/lower.h"
#include "lower/regex.h"

/* A function, and what of its arguments is to be known. */
typedef struct TextFunction
{
	Oid			oid;
	bool		bytes;			/* of bytes, whatever the encoding */
	enum
	{
		TEXT_LENGTH,
		TEXT_SUBSTRING,			/* from, perhaps for */
		TEXT_LEFT,
		TEXT_RIGHT,
		TEXT_FIELD,				/* separator, which field */
		TEXT_GROUP,				/* regular expression: its group, or NULL */
		TEXT_REPLACED			/* regular expression, '\1': its group, or all */
	}			kind;
} TextFunction;

static const TextFunction functions[] = {
	{F_LENGTH_TEXT, false, TEXT_LENGTH},
	{F_CHAR_LENGTH_TEXT, false, TEXT_LENGTH},
	{F_CHARACTER_LENGTH_TEXT, false, TEXT_LENGTH},
	{F_OCTET_LENGTH_TEXT, true, TEXT_LENGTH},
	{F_LENGTH_BYTEA, true, TEXT_LENGTH},
	{F_OCTET_LENGTH_BYTEA, true, TEXT_LENGTH},
	{F_SUBSTR_TEXT_INT4_INT4, false, TEXT_SUBSTRING},
	{F_SUBSTR_TEXT_INT4, false, TEXT_SUBSTRING},
	{F_SUBSTRING_TEXT_INT4_INT4, false, TEXT_SUBSTRING},
	{F_SUBSTRING_TEXT_INT4, false, TEXT_SUBSTRING},
	{F_SUBSTR_BYTEA_INT4_INT4, true, TEXT_SUBSTRING},
	{F_SUBSTR_BYTEA_INT4, true, TEXT_SUBSTRING},
	{F_SUBSTRING_BYTEA_INT4_INT4, true, TEXT_SUBSTRING},
	{F_SUBSTRING_BYTEA_INT4, true, TEXT_SUBSTRING},
	{F_LEFT, false, TEXT_LEFT},
	{F_RIGHT, false, TEXT_RIGHT},
	{F_SPLIT_PART, false, TEXT_FIELD},
	{F_SUBSTRING_TEXT_TEXT, false, TEXT_GROUP},
	{F_REGEXP_REPLACE_TEXT_TEXT_TEXT, false, TEXT_REPLACED},
};

static const TextFunction *
find_function(Oid oid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].oid == oid)
			return &functions[i];
	}
	return NULL;
}

/* Is it a call that makes a text? */
static bool
is_part(const Node *expr)
{
	const TextFunction *f = IsA(expr, FuncExpr) ?
		find_function(((const FuncExpr *) expr)->funcid) : NULL;

	return (f != NULL && f->kind != TEXT_LENGTH) || gpucol_lower_is_made_text(expr);
}

/* An argument that is a constant int4. */
static bool
constant_argument(List *args, int i, int64 *value)
{
	const Const *constant = list_nth(args, i);

	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	*value = DatumGetInt32(constant->constvalue);
	return true;
}

/* An integer among the constants. */
static uint16
put_integer(GpucolLower *l, int64 value)
{
	GpucolConst c;

	memset(&c, 0, sizeof(c));
	c.cls = GPUCOL_CLASS_I;
	c.v.i = value;
	return gpucol_lower_put_const(l, &c);
}

/* Does the function find its part by numbers of characters? */
static bool
is_counted(const TextFunction *f)
{
	return f->kind > TEXT_LENGTH && f->kind <= TEXT_RIGHT;
}

/* Are the characters that the function counts known here? */
static bool
knows_characters(const TextFunction *f)
{
	return f->bytes || GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

/* What is one character of those that the function counts: aux of an instruction. */
static int
unit_of(const TextFunction *f)
{
	return f->bytes || pg_database_encoding_max_length() == 1 ? GPUCOL_TEXT_BYTES : 0;
}

/*
 * What part of a text a function wants.  False where PostgreSQL may raise an error, or
 * numbers are no constants.
 */
static bool
find_part(const TextFunction *f, List *args, GpucolTextPart *part)
{
	int64		n;

	*part = (GpucolTextPart) {unit_of(f), 0, PG_INT64_MAX};
	if (!constant_argument(args, 1, &n))
		return false;
	if (f->kind == TEXT_SUBSTRING)
	{
		if (list_length(args) > 2 && (!constant_argument(args, 2, &part->count) || part->count < 0))
			return false;
		/* characters before the first are counted, too */
		if (n < 1 && list_length(args) > 2)
			part->count = Max(part->count + n - 1, 0);
		part->from = Max(n - 1, 0);
		return true;
	}
	part->from = n < 0 ? -n : n;
	if (f->kind == TEXT_RIGHT && n >= 0)
		part->aux |= GPUCOL_TEXT_LAST;
	else if (f->kind == TEXT_LEFT && n < 0)
		part->aux |= GPUCOL_TEXT_ALL_BUT_LAST;
	else if (f->kind == TEXT_LEFT)
	{
		part->from = 0;
		part->count = n;
	}
	return true;
}

bool
gpucol_lower_find_part(const FuncExpr *expr, GpucolTextPart *part)
{
	const TextFunction *f = find_function(expr->funcid);

	return f != NULL && is_counted(f) && knows_characters(f) && find_part(f, expr->args, part);
}

bool
gpucol_lower_is_length(const FuncExpr *expr, bool *bytes)
{
	const TextFunction *f = find_function(expr->funcid);

	if (f == NULL || f->kind != TEXT_LENGTH || !knows_characters(f))
		return false;
	*bytes = (unit_of(f) & GPUCOL_TEXT_BYTES) != 0;
	return true;
}

/* An argument that is a constant text, in bytes. */
static bool
constant_text(List *args, int i, const char **data, int *len)
{
	const Const *constant = list_nth(args, i);
	text	   *value;

	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	value = DatumGetTextPP(constant->constvalue);
	*data = VARDATA_ANY(value);
	*len = VARSIZE_ANY_EXHDR(value);
	return true;
}

/* Do all the texts have a deterministic collation?  Of others PostgreSQL raises an error, or compares them. */
static bool
are_deterministic(List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Oid			collation = exprCollation(lfirst(lc));

		if (exprType(lfirst(lc)) == TEXTOID &&
			(!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
			return false;
	}
	return true;
}

/* Are ASCII's digits all that regular expressions know, by whichever argument's collation? */
static bool
have_ascii_digits(List *args)
{
	return gpucol_regex_has_ascii_digits(exprCollation(linitial(args))) &&
		gpucol_regex_has_ascii_digits(exprCollation(lsecond(args)));
}

/* Is the third argument the number of a group, such as \1? */
static bool
is_replaced_by(List *args, int group)
{
	const char *data;
	int			len;

	return constant_text(args, 2, &data, &len) && len == 2 && group <= 9 &&
		data[0] == '\\' && data[1] == '0' + group;
}

/* Lower the field or the group that a function finds in a text. */
static bool
lower_found(GpucolLower *l, const TextFunction *f, List *args, uint16 reg, GpucolValue *out)
{
	GpucolTextSeparator separator;
	GpucolTextPattern pattern;
	GpucolPatternFacts facts;
	const char *data;
	int			len;
	int64		n;

	if (!are_deterministic(args))
		return gpucol_lower_decline(l, "patterns under a collation that is not deterministic");
	if (!constant_text(args, 1, &data, &len))
		return gpucol_lower_decline(l, "a pattern or separator that is no constant");
	if (f->kind == TEXT_FIELD)
	{
		if (!constant_argument(args, 2, &n) || n == 0 || len == 0 || len > (int) sizeof(separator.bytes))
			return gpucol_lower_decline(l, "a field whose number is no constant, or an error");
		memset(&separator, 0, sizeof(separator));
		separator.len = len;
		memcpy(separator.bytes, data, len);
		out->reg = gpucol_lower_emit(l, GPUCOL_OP_FIELD_S, reg,
									 gpucol_lower_put_bytes(l, &separator, sizeof(separator)), GPUCOL_NO_REG, (int) n);
		return true;
	}
	if (!gpucol_lower_pattern(data, len, &pattern, &facts) ||
		(f->kind == TEXT_REPLACED && !facts.whole) || (facts.digits && !have_ascii_digits(args)))
		return gpucol_lower_decline(l, "a regular expression that only PostgreSQL's engine knows");
	if (f->kind == TEXT_REPLACED ? !is_replaced_by(args, facts.group) : facts.group != 1)
		return gpucol_lower_decline(l, "replaced by other than the group");
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_MATCH_S, reg, gpucol_lower_put_bytes(l, &pattern, sizeof(pattern)),
								 GPUCOL_NO_REG, f->kind == TEXT_GROUP ? GPUCOL_TEXT_OR_NULL : 0);
	return true;
}

/*
 * Lower a function of a text; *matched tells whether it is one.
 */
bool
gpucol_lower_text(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	const TextFunction *f = find_function(funcid);
	GpucolTextPart part;
	GpucolValue value;

	*matched = f != NULL;
	if (f == NULL)
		return gpucol_lower_made_text(l, funcid, args, matched, out);
	if (!knows_characters(f))
		return gpucol_lower_decline(l, "characters of this encoding");
	if (f->kind != TEXT_LENGTH && !l->parts)
		return gpucol_lower_decline(l, "it computes a text");
	if (is_counted(f) && !find_part(f, args, &part))
		return gpucol_lower_decline(l, "part of a text whose place is no constant, or an error");
	if (!gpucol_lower_expr(l, linitial(args), &value))
		return false;
	if (value.cls != GPUCOL_CLASS_S)
		return gpucol_lower_decline(l, "a constant text");
	out->cls = f->kind == TEXT_LENGTH ? GPUCOL_CLASS_I : GPUCOL_CLASS_S;
	out->scale = 0;
	out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	if (f->kind > TEXT_RIGHT)
		return lower_found(l, f, args, value.reg, out);
	out->reg = f->kind == TEXT_LENGTH ?
		gpucol_lower_emit(l, GPUCOL_OP_LENGTH_S, value.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, unit_of(f)) :
		gpucol_lower_emit(l, GPUCOL_OP_PART_S, value.reg, put_integer(l, part.from), put_integer(l, part.count),
							 part.aux);
	return true;
}

/* A comparison as the instructions have it. */
typedef struct TextComparison
{
	bool		less;			/* LT_S, else EQ_S */
	bool		swap;			/* of b and a */
	bool		negate;
} TextComparison;

/* Is a function one of the comparisons of a type of bytes? */
static bool
find_comparison(Oid funcid, Oid type, TextComparison *found)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	const struct
	{
		Oid			oper;
		TextComparison comparison;
	}			known[] = {
		{entry->eq_opr, {false, false, false}},
		{get_negator(entry->eq_opr), {false, false, true}},
		{entry->lt_opr, {true, false, false}},
		{get_negator(entry->lt_opr), {true, false, true}},
		{entry->gt_opr, {true, true, false}},
		{get_negator(entry->gt_opr), {true, true, true}},
	};

	for (int i = 0; i < (int) lengthof(known); i++)
	{
		*found = known[i].comparison;
		if (OidIsValid(known[i].oper) && get_opcode(known[i].oper) == funcid)
			return true;
	}
	return false;
}

/* Is the order of two values that of their bytes? */
static bool
is_ordered_bytewise(Oid type, const Expr *a, const Expr *b)
{
	Oid			collation = exprCollation((const Node *) a);

	return collation == exprCollation((const Node *) b) &&
		gpucol_comparison_is_bytewise(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc, collation);
}

/* One side of a comparison: a column, a part of one, or what the host makes of one. */
static bool
lower_compared(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	GpucolLower mark = *l;
	GpucolTypeMap map;
	const char *reason = "a comparison with a computed text";

	if (gpucol_lower_constant_text(l, expr, value))
		return true;
	l->parts = l->texts = true;
	l->text_depth++;
	if (!gpucol_lower_expr(l, expr, value))
		reason = l->reason;
	else if (value->cls == GPUCOL_CLASS_S && gpucol_lower_check_bytewise(l, expr))
		reason = NULL;
	l->parts = mark.parts;
	l->texts = mark.texts;
	l->text_depth = mark.text_depth;
	if (reason == NULL)
		return true;
	gpucol_lower_restore(l, &mark);
	gpucol_typemap_init(&map, exprType((Node *) expr), exprTypmod((Node *) expr), exprCollation((Node *) expr));
	if (map.bytewise_equal && gpucol_lower_host_map(l, expr, value))
		return true;
	l->reason = reason;
	return false;
}

/*
 * Lower a comparison of two texts, or values of other types of bytes, neither a constant.
 */
bool
gpucol_lower_compare_texts(GpucolLower *l, Oid funcid, List *args, Oid collation,
						   GpucolValue *values, bool *matched, GpucolValue *out)
{
	TextComparison comparison;
	GpucolTypeMap map;
	Oid			type;
	Expr	   *expr[2];

	*matched = false;
	if (list_length(args) != 2 || (IsA(linitial(args), Const) && !gpucol_lower_is_made_text(lsecond(args))) ||
		(IsA(lsecond(args), Const) && !gpucol_lower_is_made_text(linitial(args))))
		return false;
	for (int i = 0; i < 2; i++)
		expr[i] = list_nth(args, i);
	type = getBaseType(exprType((Node *) expr[0]));
	gpucol_typemap_init(&map, type, -1, InvalidOid);
	if (map.kind != GPUCOL_KIND_BYTES || type == NUMERICOID || type == INTERVALOID ||
		type != getBaseType(exprType((Node *) expr[1])) || !find_comparison(funcid, type, &comparison))
		return false;
	*matched = true;
	/* of columns with different ones there is none, which is an error when it is evaluated */
	if (!OidIsValid(collation) && OidIsValid(get_typcollation(type)))
		return gpucol_lower_decline(l, "a comparison has no collation");
	if (type == BPCHAROID && exprTypmod((Node *) expr[0]) != exprTypmod((Node *) expr[1]))
		return gpucol_lower_decline(l, "compared values of type character have different lengths");
	if (comparison.less && !is_ordered_bytewise(type, expr[0], expr[1]))
		return gpucol_lower_decline(l, "the order of two texts is not that of their bytes");
	for (int i = 0; i < 2; i++)
	{
		if (!lower_compared(l, expr[i], &values[i]))
			return false;
	}
	out->cls = GPUCOL_CLASS_B;
	out->scale = 0;
	out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, comparison.less ? GPUCOL_OP_LT_S : GPUCOL_OP_EQ_S,
								 values[comparison.swap ? 1 : 0].reg, values[comparison.swap ? 0 : 1].reg,
								 GPUCOL_NO_REG, 0);
	if (comparison.negate)
		out->reg = gpucol_lower_emit(l, GPUCOL_OP_NOT, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	return true;
}

/*
 * Are equal values of an expression of class S equal as bytes?  Only for a
 * column, and for a cast of one that keeps the bytes.
 */
bool
gpucol_lower_check_bytewise(GpucolLower *l, Expr *expr)
{
	Node	   *arg = (Node *) expr;
	GpucolTypeMap map;

	while (IsA(arg, RelabelType))
		arg = (Node *) ((RelabelType *) arg)->arg;
	if (!IsA(arg, Var) && !is_part(arg) && !gpucol_lower_is_item(arg))
		return gpucol_lower_decline(l, "grouping needs a column here");
	gpucol_typemap_init(&map, exprType((Node *) expr), exprTypmod((Node *) expr),
						exprCollation((Node *) expr));
	if (!map.bytewise_equal)
		return gpucol_lower_decline(l, "equal values of type %s may differ in their bytes",
									format_type_be(exprType((Node *) expr)));
	gpucol_typemap_init(&map, exprType(arg), exprTypmod(arg), exprCollation(arg));
	if (!map.bytewise_equal)
		return gpucol_lower_decline(l, "equal values of type %s may differ in their bytes",
									format_type_be(exprType(arg)));
	return true;
}
