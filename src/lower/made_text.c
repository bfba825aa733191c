/*-------------------------------------------------------------------------
 *
 * made_text.c
 *	  Texts that engines make of values: casts of numbers, dates and times to text, to_char() of
 *	  times, and ||, concat(), concat_ws(), format() and md5() of such and of texts.
 *
 * They are keys of groups, counted as distinct, the least or greatest, compared
 * (l->texts), and tested by what bytes decide (match.h): what reads them does so before the next
 * rows are made.  Dates are written in the
 * style ISO, of others PostgreSQL makes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "common/md5.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "kernel/text_form.h"
#include "lower/calendar.h"
#include "lower/coarse.h"
#include "lower/lower.h"
#include "lower/match.h"
#include "lower/picture.h"

static bool
set_text(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b, uint16 c, int aux, GpucolValue *out)
{
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_S;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, op, a, b, c, aux);
	return true;
}

/* A constant text: its length and its bytes among the constants, those that are there if they are. */
static uint16
constant_text(GpucolLower *l, const char *data, uint32 len)
{
	Size		size = sizeof(uint32) + len;
	char	   *block = palloc0(size + 16);
	uint16		first = GPUCOL_NO_REG;
	GpucolValue value;

	memcpy(block, &len, sizeof(uint32));
	memcpy(block + sizeof(uint32), data, len);
	for (int i = 0; i < l->ninstrs && first == GPUCOL_NO_REG; i++)
	{
		const GpucolInstr *instr = &l->instrs[i];
		bool		same = instr->op == GPUCOL_OP_TEXT_S;

		for (Size at = 0; at < size && same; at += 16)
			same = instr->b + at / 16 < (Size) l->nconsts &&
				memcmp(&l->consts[instr->b + at / 16].v.d, block + at, 16) == 0;
		first = same ? instr->b : first;
	}
	if (first == GPUCOL_NO_REG)
		first = gpucol_lower_put_bytes(l, block, size);
	pfree(block);
	set_text(l, GPUCOL_OP_TEXT_S, GPUCOL_NO_REG, first, GPUCOL_NO_REG, 0, &value);
	return value.reg;
}

/* A value of class I as a text. */
static bool
form_integer(GpucolLower *l, Expr *arg, GpucolTextForm form, GpucolValue *out)
{
	GpucolValue v;

	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	if (v.cls == GPUCOL_CLASS_B)
		v.reg = gpucol_lower_emit(l, GPUCOL_OP_B_TO_I, v.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	else if (v.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "the text of a value of this kind");
	return set_text(l, GPUCOL_OP_FORM_I, v.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, form, out);
}

/* The same of dates, of which there are styles. */
static bool
form_date(GpucolLower *l, Expr *arg, GpucolTextForm form, GpucolValue *out)
{
	return DateStyle == USE_ISO_DATES ? form_integer(l, arg, form, out) :
		gpucol_lower_decline(l, "the text of a date in a style other than ISO");
}

static bool
form_zoned(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	GpucolValue v;
	uint16		local;

	if (DateStyle != USE_ISO_DATES)
		return gpucol_lower_decline(l, "the text of a date in a style other than ISO");
	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	local = v.reg;
	return gpucol_lower_session_zone(l, 0, &local) &&
		set_text(l, GPUCOL_OP_FORM_TZ, v.reg, local, GPUCOL_NO_REG, 0, out);
}

static bool
form_numeric(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	GpucolValue v;

	if (!gpucol_lower_number(l, arg, &v))
		return false;
	gpucol_lower_alike(l, arg, &v);
	if (v.cls != GPUCOL_CLASS_D || (!v.packed && v.scale_reg != GPUCOL_NO_REG))
		return gpucol_lower_decline(l, "the text of numerics with different numbers of fractional digits");
	return set_text(l, GPUCOL_OP_FORM_D, v.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, v.packed ? -1 : v.scale, out);
}

/* A text, or what the host makes of one column. */
static bool
lower_plain(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	GpucolLower mark = *l;
	bool		ok;

	l->text_depth++;
	ok = gpucol_lower_expr(l, arg, out) && out->cls == GPUCOL_CLASS_S;
	l->text_depth--;
	if (ok)
		return true;
	gpucol_lower_restore(l, &mark);
	return gpucol_lower_host_map(l, arg, out);
}

static bool
is_to_char(Oid funcid)
{
	return funcid == F_TO_CHAR_TIMESTAMP_TEXT || funcid == F_TO_CHAR_TIMESTAMPTZ_TEXT;
}

static bool
has_to_char(Node *node, void *context)
{
	return node != NULL && ((IsA(node, FuncExpr) && is_to_char(((FuncExpr *) node)->funcid)) ||
							expression_tree_walker(node, has_to_char, context));
}

/* Do groups of few instants of one column have one text each, which PostgreSQL makes? */
static bool
is_coarse(const GpucolLower *l, Expr *expr)
{
	Bitmapset  *attnos = NULL;
	int			member;

	if (l->text_rows || !has_to_char((Node *) expr, NULL))
		return false;
	pull_varattnos((Node *) expr, l->varno, &attnos);
	if (!bms_get_singleton_member(attnos, &member))
		return false;
	member += FirstLowInvalidHeapAttributeNumber;
	return member > 0 && gpucol_coarse_unit(l->desc, expr, member) >= USECS_PER_MINUTE;
}

/* May texts be made in place of this expression? */
static bool
check_made(GpucolLower *l, Expr *expr)
{
	List	   *vars;
	ListCell   *lc;
	bool		few = true;

	if (!l->texts)
		return gpucol_lower_decline(l, "it computes a text");
	if (l->text_depth > 0)
		return true;
	/* of so few values each is better made once, by PostgreSQL */
	vars = pull_var_clause((Node *) expr, PVC_INCLUDE_PLACEHOLDERS);
	foreach(lc, vars)
	{
		Oid			type = getBaseType(exprType(lfirst(lc)));

		few &= (type == BOOLOID || type == DATEOID) && equal(lfirst(lc), linitial(vars));
	}
	return few || is_coarse(l, expr) ? gpucol_lower_decline(l, "it computes a text of few values") : true;
}

bool
gpucol_lower_constant_text(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	const Const *constant = (const Const *) expr;

	if (!IsA(constant, Const) || constant->constisnull ||
		(constant->consttype != TEXTOID && constant->consttype != VARCHAROID))
		return false;
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_S;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = constant_text(l, VARDATA_ANY(DatumGetTextPP(constant->constvalue)),
							 VARSIZE_ANY_EXHDR(DatumGetTextPP(constant->constvalue)));
	return true;
}

/* The text of a value as its type's output function writes it; a cast of bool to text has another. */
static bool
lower_form(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	GpucolValue v;

	switch (getBaseType(exprType((Node *) arg)))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return form_integer(l, arg, GPUCOL_FORM_INTEGER, out);
		case BOOLOID:
			return form_integer(l, arg, GPUCOL_FORM_LETTER, out);
		case TIMEOID:
			return form_integer(l, arg, GPUCOL_FORM_TIME, out);
		case DATEOID:
			return form_date(l, arg, GPUCOL_FORM_DATE, out);
		case TIMESTAMPOID:
			return form_date(l, arg, GPUCOL_FORM_STAMP, out);
		case TIMESTAMPTZOID:
			return form_zoned(l, arg, out);
		case NUMERICOID:
			return form_numeric(l, arg, out);
		case UUIDOID:
			return gpucol_lower_expr(l, arg, &v) && v.cls == GPUCOL_CLASS_S &&
				set_text(l, GPUCOL_OP_FORM_S, v.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0, out);
		case TEXTOID:
		case VARCHAROID:
			return gpucol_lower_constant_text(l, arg, out) || lower_plain(l, arg, out);
		default:
			return gpucol_lower_decline(l, "the text of a value of type %s", format_type_be(exprType((Node *) arg)));
	}
}

uint16
gpucol_lower_null_text(GpucolLower *l)
{
	GpucolValue null;

	gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &null);
	set_text(l, GPUCOL_OP_FORM_I, null.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_FORM_INTEGER, &null);
	return null.reg;
}

/*
 * Lower the result of a branch of CASE, a text where such may be made.
 */
bool
gpucol_lower_branch(GpucolLower *l, const CaseExpr *expr, Expr *result, GpucolValue *out)
{
	if (!l->texts || !gpucol_lower_is_text(expr->casetype))
		return gpucol_lower_number(l, result, out);
	if (!IsA(result, Const) || !((Const *) result)->constisnull)
		return lower_form(l, result, out);
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_S;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_null_text(l);
	return true;
}

/* Two texts joined, the second to be lowered yet. */
static bool
join_with(GpucolLower *l, const GpucolValue *a, Expr *b, uint16 between, GpucolBothNull aux, GpucolValue *out)
{
	GpucolValue v;

	return lower_form(l, b, &v) && set_text(l, GPUCOL_OP_BOTH_S, a->reg, v.reg, between, aux, out);
}

/* Is it a || b?  Then its arguments. */
static List *
joined(Expr *expr)
{
	if (IsA(expr, OpExpr) && ((OpExpr *) expr)->opfuncid == F_TEXTCAT)
		return ((OpExpr *) expr)->args;
	return IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_TEXTCAT ? ((FuncExpr *) expr)->args : NIL;
}

static bool
is_constant_text(const Expr *expr)
{
	return IsA(expr, Const) && !((const Const *) expr)->constisnull;
}

/* a || b, or a || 'constant' || b by one instruction */
static bool
lower_joined(GpucolLower *l, List *args, GpucolValue *out)
{
	List	   *inner = joined(linitial(args));
	Expr	   *between = inner != NIL && is_constant_text(lsecond(inner)) ? lsecond(inner) : NULL;
	GpucolValue a;
	GpucolValue c;

	if (!lower_form(l, between != NULL ? linitial(inner) : linitial(args), &a))
		return false;
	c.reg = between != NULL ? GPUCOL_NO_REG : constant_text(l, "", 0);
	if (between != NULL && !lower_form(l, between, &c))
		return false;
	return join_with(l, &a, lsecond(args), c.reg, GPUCOL_BOTH_STRICT, out);
}

/* concat(a, b, ...) and, with what is between them, concat_ws(): NULLs do not count. */
static bool
lower_list(GpucolLower *l, List *args, uint16 between, GpucolValue *out)
{
	bool		first = true;
	ListCell   *lc;

	foreach(lc, args)
	{
		Expr	   *arg = lfirst(lc);
		GpucolValue so_far = *out;

		if (IsA(arg, Const) && ((Const *) arg)->constisnull)
			continue;
		if (first ? !lower_form(l, arg, out) : !join_with(l, &so_far, arg, between, GPUCOL_BOTH_ANY, out))
			return false;
		first = false;
	}
	if (first)
		return gpucol_lower_decline(l, "a text of nothing");
	return set_text(l, GPUCOL_OP_BOTH_S, out->reg, constant_text(l, "", 0), constant_text(l, "", 0),
					GPUCOL_BOTH_NEVER, out);
}

/* format(), whose format has no more than %s and %%. */
static bool
lower_format(GpucolLower *l, List *args, GpucolValue *out)
{
	uint16		none = constant_text(l, "", 0);
	int			next = 1;
	char	   *format;
	StringInfoData piece;

	if (!is_constant_text(linitial(args)))
		return gpucol_lower_decline(l, "a format that is no constant");
	format = TextDatumGetCString(((Const *) linitial(args))->constvalue);
	initStringInfo(&piece);
	set_text(l, GPUCOL_OP_BOTH_S, none, none, none, GPUCOL_BOTH_NEVER, out);
	for (char *p = format; *p != '\0'; p++)
	{
		GpucolValue so_far = *out;

		if (*p == '%' && p[1] == 's' && next < list_length(args))
		{
			set_text(l, GPUCOL_OP_BOTH_S, so_far.reg, constant_text(l, piece.data, piece.len), none, GPUCOL_BOTH_NEVER,
					 &so_far);
			if (!join_with(l, &so_far, list_nth(args, next++), none, GPUCOL_BOTH_NEVER, out))
				return false;
			resetStringInfo(&piece);
			p++;
			continue;
		}
		if (*p == '%' && *++p != '%')
			return gpucol_lower_decline(l, "a format with more than %%s");
		appendStringInfoChar(&piece, *p);
	}
	return piece.len == 0 ||
		set_text(l, GPUCOL_OP_BOTH_S, out->reg, constant_text(l, piece.data, piece.len), none, GPUCOL_BOTH_NEVER, out);
}

/* md5(): of texts, made ones too, and of byte strings */
static bool
lower_md5(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	const char *error = NULL;
	char		digits[GPUCOL_FORM_ROOM];
	GpucolValue v;

	/* libraries may be set up to have none */
	if (!pg_md5_hash("", 0, digits, &error))
		return gpucol_lower_decline(l, "md5() where the server has none");
	if (exprType((Node *) arg) != BYTEAOID)
	{
		if (!lower_form(l, arg, &v))
			return false;
	}
	else if (!gpucol_lower_expr(l, arg, &v) || v.cls != GPUCOL_CLASS_S)
		return false;
	return set_text(l, GPUCOL_OP_MD5_S, v.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0, out);
}

/* to_char() of a timestamp, or of a timestamptz by its local time */
static bool
lower_picture(GpucolLower *l, Oid funcid, List *args, GpucolValue *out)
{
	const Const *format = lsecond(args);
	GpucolTextPicture picture;
	GpucolValue v;

	if (!IsA(format, Const) || format->constisnull ||
		!gpucol_picture_create(DatumGetTextPP(format->constvalue), &picture))
		return gpucol_lower_decline(l, "to_char() with a format that only PostgreSQL knows");
	if (!gpucol_lower_expr(l, linitial(args), &v) || v.cls != GPUCOL_CLASS_I)
		return false;
	if (funcid == F_TO_CHAR_TIMESTAMPTZ_TEXT && !gpucol_lower_session_zone(l, 0, &v.reg))
		return false;
	return set_text(l, GPUCOL_OP_PICTURE_I, v.reg, gpucol_lower_put_bytes(l, &picture, sizeof(picture)), GPUCOL_NO_REG,
					0, out);
}

/* Does a function make a text of values? */
static bool
makes_text(Oid funcid)
{
	switch (funcid)
	{
		case F_TEXTCAT:
		case F_CONCAT:
		case F_CONCAT_WS:
		case F_FORMAT_TEXT_ANY:
		case F_TEXT_BOOL:
		case F_MD5_TEXT:
		case F_MD5_BYTEA:
		case F_TO_CHAR_TIMESTAMP_TEXT:
		case F_TO_CHAR_TIMESTAMPTZ_TEXT:
			return true;
		default:
			return false;
	}
}

/*
 * Lower a function that makes a text of values; *matched tells whether it is one.
 */
bool
gpucol_lower_made_text(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	GpucolValue between;

	*matched = makes_text(funcid);
	if (!*matched)
		return false;
	if (!check_made(l, (Expr *) makeFuncExpr(funcid, TEXTOID, args, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL)))
		return false;
	switch (funcid)
	{
		case F_TEXT_BOOL:
			return form_integer(l, linitial(args), GPUCOL_FORM_BOOL, out);
		case F_MD5_TEXT:
		case F_MD5_BYTEA:
			return lower_md5(l, linitial(args), out);
		case F_TO_CHAR_TIMESTAMP_TEXT:
		case F_TO_CHAR_TIMESTAMPTZ_TEXT:
			return lower_picture(l, funcid, args, out);
		case F_TEXTCAT:
			return lower_joined(l, args, out);
		case F_CONCAT:
			return lower_list(l, args, constant_text(l, "", 0), out);
		case F_CONCAT_WS:
			if (!is_constant_text(linitial(args)))
				return gpucol_lower_decline(l, "a separator that is no constant");
			return lower_form(l, linitial(args), &between) &&
				lower_list(l, list_copy_tail(args, 1), between.reg, out);
		default:
			return lower_format(l, args, out);
	}
}

/*
 * Lower a cast by way of the output function; the last of the kinds of expressions that are known.
 */
bool
gpucol_lower_text_cast(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	CoerceViaIO *cast = (CoerceViaIO *) expr;

	if (!IsA(cast, CoerceViaIO) || (cast->resulttype != TEXTOID && cast->resulttype != VARCHAROID))
		return gpucol_lower_decline(l, "it contains an expression that is not pushed down");
	if (!check_made(l, expr))
		return false;
	if (getBaseType(exprType((Node *) cast->arg)) == BOOLOID)
		return gpucol_lower_decline(l, "the text of a condition");
	return lower_form(l, cast->arg, out);
}

/* Does an expression make a text of values, as far as it was lowered? */
bool
gpucol_lower_is_made_text(const Node *expr)
{
	Oid			funcid = IsA(expr, FuncExpr) ? ((const FuncExpr *) expr)->funcid :
		IsA(expr, OpExpr) ? ((const OpExpr *) expr)->opfuncid : InvalidOid;

	if (IsA(expr, CaseExpr))
		return gpucol_lower_is_text(((const CaseExpr *) expr)->casetype);
	return IsA(expr, CoerceViaIO) || makes_text(funcid);
}

bool
gpucol_lower_tested_text(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolLower mark = *l;
	bool		ok;

	if (!gpucol_lower_is_made_text((Node *) expr))
		return gpucol_lower_expr(l, expr, out);
	l->parts = l->texts = true;
	l->text_depth++;
	ok = gpucol_lower_expr(l, expr, out);
	l->parts = mark.parts;
	l->texts = mark.texts;
	l->text_depth = mark.text_depth;
	return ok;
}

/* The made text in a condition. */
typedef struct Tested
{
	Node	   *text;			/* NULL: none is found yet */
	bool		fits;			/* there is no other, and no column beside */
} Tested;

/* Put a host test's value in its place. */
static Node *
value_mutator(Node *node, void *context)
{
	Tested	   *tested = context;

	if (node == NULL || !tested->fits)
		return node;
	if (gpucol_lower_is_made_text(node) && contain_var_clause(node))
	{
		tested->fits = tested->text == NULL || equal(tested->text, node);
		tested->text = node;
		return (Node *) makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
	}
	tested->fits = !IsA(node, Var) && !IsA(node, PlaceHolderVar);
	return expression_tree_mutator(node, value_mutator, context);
}

/*
 * Lower a condition on one made text that its bytes decide: LIKE, regular expressions, lists; false if it is none.
 */
bool
gpucol_lower_made_test(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolLower mark = *l;
	Tested		tested = {NULL, true};
	Expr	   *test;
	bool		ok;

	if (l->fold != NULL || (!IsA(expr, OpExpr) && !IsA(expr, FuncExpr) && !IsA(expr, ScalarArrayOpExpr)))
		return false;
	test = (Expr *) value_mutator((Node *) expr, &tested);
	if (!tested.fits || tested.text == NULL || gpucol_match_create(l, test) == NULL)
		return false;
	l->texts = l->parts = true;
	l->text_depth++;
	ok = gpucol_lower_expr(l, (Expr *) tested.text, out) && out->cls == GPUCOL_CLASS_S;
	l->texts = mark.texts;
	l->parts = mark.parts;
	l->text_depth = mark.text_depth;
	if (!ok)
		return false;
	out->cls = GPUCOL_CLASS_B;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_HOST_EACH, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG,
								 gpucol_lower_add_host(l, -1, test));
	return true;
}
