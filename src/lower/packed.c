/*-------------------------------------------------------------------------
 *
 * packed.c
 *	  Numerics whose display scale differs from row to row: quotients, and what is
 *	  computed with them (kernel/packed_decimal.h).
 *
 * Where operands of a sum or product are of one scale each, so is the result, and it is a
 * plain mantissa.  Numeric division looks at the first digits of its operands; its result
 * carries its scale, and so does all that is made of it, up to a rounding.  CASE among
 * values of different scales is packed, too, once it is computed with.
 *
 * A numeric without a precision, or of more than 18 digits, is bytes to engines; where one
 * is computed with it is read into a packed value.
 *
 * A packed value has 35 digits at most.  In a scan, whose rows may have left, the
 * declared digits must say so; an aggregation may be handed back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "columnar/numeric_form.h"
#include "kernel/float_decimal.h"
#include "kernel/packed_decimal.h"
#include "lower/calendar.h"
#include "lower/pipe.h"

/* Digits of any quotient beyond what the scales of its operands ask for. */
#define QUOTIENT_DIGITS		21

/* Fractional digits that a quotient of weight 0 has, and digits of base 10000. */
#define QUOTIENT_SCALE		16
#define BASE_DIGITS			4

#define MONEY_DIGITS		19

/* Decimal digits of int128. */
#define PLAIN_DIGITS		38

static uint16
emit(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b, int32 aux)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, aux);
}

/* Digits before the point. */
static int
whole_digits(const GpucolValue *v)
{
	return v->packed ? v->whole : Max(v->digits - v->scale, 0);
}

/*
 * How many digits each row of a decimal displays, NULL where the value is.
 */
uint16
gpucol_lower_row_scale(GpucolLower *l, const GpucolValue *v)
{
	GpucolValue null;

	if (v->scale_reg != GPUCOL_NO_REG)
		return v->scale_reg;
	gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &null);
	return gpucol_calendar_choose(l, emit(l, GPUCOL_OP_IS_NULL_D, v->reg, GPUCOL_NO_REG, 0), null.reg,
								  gpucol_calendar_number(l, v->scale));
}

/*
 * The same of a product, or of a sum or a difference.
 */
uint16
gpucol_lower_row_scales(GpucolLower *l, bool product, const GpucolValue *a, const GpucolValue *b)
{
	uint16		x = gpucol_lower_row_scale(l, a);
	uint16		y = gpucol_lower_row_scale(l, b);
	uint16		zero;
	uint16		more;

	if (product)
		return gpucol_calendar_op(l, GPUCOL_OP_ADD_I, x, y);
	/* the greater one, NULL where one is */
	zero = gpucol_calendar_number(l, 0);
	more = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, y, x);
	more = gpucol_calendar_choose(l, gpucol_calendar_op(l, GPUCOL_OP_LT_I, more, zero), zero, more);
	return gpucol_calendar_op(l, GPUCOL_OP_ADD_I, x, more);
}

/* A packed result; declined where it may have too many digits. */
static bool
set_packed(GpucolLower *l, GpucolValue *out, uint16 reg, int digits, int whole, int scale)
{
	out->cls = GPUCOL_CLASS_D;
	out->reg = reg;
	out->scale_reg = GPUCOL_NO_REG;
	out->packed = true;
	out->digits = digits;
	out->whole = whole;
	out->scale = scale;
	if (!l->aggregating && (digits > GPUCOL_PACKED_DIGITS || scale > GPUCOL_PACKED_SCALE))
		return gpucol_lower_decline(l, "numeric value may have more than %d digits",
									GPUCOL_PACKED_DIGITS);
	return true;
}

/* A plain result at a scale. */
static bool
set_plain(GpucolLower *l, GpucolValue *out, uint16 reg, int digits, int scale)
{
	out->cls = GPUCOL_CLASS_D;
	out->reg = reg;
	out->scale_reg = GPUCOL_NO_REG;
	out->packed = false;
	out->digits = digits;
	out->scale = scale;
	if (!l->aggregating && digits > PLAIN_DIGITS)
		return gpucol_lower_decline(l, "numeric value may have more than %d digits", PLAIN_DIGITS);
	return true;
}

/*
 * Have a decimal carry its scale.
 */
bool
gpucol_lower_pack(GpucolLower *l, GpucolValue *v)
{
	uint16		shown;

	if (v->packed)
		return true;
	shown = v->scale_reg != GPUCOL_NO_REG ? v->scale_reg : gpucol_calendar_number(l, v->scale);
	return set_packed(l, v, emit(l, GPUCOL_OP_PACK_D, v->reg, shown, v->scale), v->digits,
					  whole_digits(v), v->scale);
}

/* A packed value of which every row has the same scale as a mantissa. */
static bool
unpack(GpucolLower *l, GpucolValue *v)
{
	return set_plain(l, v, emit(l, GPUCOL_OP_ROUND_P, v->reg, GPUCOL_NO_REG,
								GPUCOL_PACKED_ROUND(v->scale, GPUCOL_PACKED_ZERO)), v->digits, v->scale);
}

/* The form that a column has in one more table, and had in those before; false if there is none. */
static bool
add_form(Oid table, AttrNumber attnum, GpucolNumericForm *form)
{
	GpucolNumericForm one;

	if (!gpucol_find_numeric_form(table, attnum, &one))
		return false;
	if (form->scale >= 0 && one.scale >= 0)
	{
		one.alike &= form->alike && form->scale == one.scale;
		one.within &= form->within;
		one.scale = Max(form->scale, one.scale);
	}
	if (one.scale >= 0)
		*form = one;
	return true;
}

/* What is known of a column of a table, or of its parts; and these. */
static bool
find_form(const GpucolLower *l, const Var *var, List **tables, GpucolNumericForm *form)
{
	AttrNumber	attnum = var->varattno;
	ListCell   *lc;

	*form = (GpucolNumericForm) {.scale = -1};
	if (var->varno != (int) l->varno || var->varlevelsup != 0 || attnum <= 0)
		return false;
	*tables = l->pipe != NULL ? list_make1_oid(gpucol_pipe_table(l->pipe, &attnum)) : l->tables;
	foreach(lc, *tables)
	{
		AttrNumber	own = l->pipe != NULL || l->table_attnums == NIL ? attnum :
			list_nth_int(list_nth(l->table_attnums, foreach_current_index(lc)), attnum - 1);

		if (!add_form(lfirst_oid(lc), own, form))
			return false;
	}
	return form->scale >= 0;
}

/*
 * What is lowered, of class S, as a mantissa: a column of numerics all of which display as many digits, as far as
 * is known.  A run that meets another is handed back.
 */
void
gpucol_lower_alike(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	const Var  *var = (const Var *) expr;
	GpucolNumericForm form;
	List	   *tables;

	if (value->cls != GPUCOL_CLASS_S || !l->aggregating || !IsA(var, Var) || getBaseType(var->vartype) != NUMERICOID)
		return;
	if (!find_form(l, var, &tables, &form) || !form.alike)
		return;
	l->formed = list_concat_unique_oid(l->formed, tables);
	(void) set_plain(l, value, emit(l, GPUCOL_OP_NUMERIC_D, value->reg, GPUCOL_NO_REG,
									form.scale | GPUCOL_NUMERIC_SHOWN_SO), GPUCOL_NUMERIC_FORM_DIGITS, form.scale);
}

/* Is it a constant that a mantissa of few digits is compared with? */
static bool
is_short_constant(const Node *node)
{
	const Const *value = (const Const *) node;
	Numeric		numeric;
	__int128	packed;

	if (!IsA(value, Const) || value->constisnull || value->consttype != NUMERICOID)
		return false;
	numeric = DatumGetNumeric(value->constvalue);
	return gpucol_packed_read(VARDATA_ANY(numeric), VARSIZE_ANY_EXHDR(numeric), &packed) == GPUCOL_OK &&
		gpucol_packed_scale(packed) <= GPUCOL_NUMERIC_FORM_DIGITS &&
		gpucol_magnitude(gpucol_packed_mantissa(packed)) < (GpucolMagnitude) GPUCOL_NUMERIC_MANTISSAS;
}

/*
 * Does an expression compare a column whose numerics are mantissas with a constant?  As mantissas they are compared
 * sooner than as bytes, where they are computed with, too.
 */
bool
gpucol_lower_compares_alike(const GpucolLower *l, const Expr *expr)
{
	const OpExpr *op = (const OpExpr *) expr;
	const Node *var;
	const Node *constant;
	GpucolNumericForm form;
	List	   *tables;

	if (!l->aggregating || !IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	var = IsA(linitial(op->args), Var) ? linitial(op->args) : lsecond(op->args);
	constant = var == linitial(op->args) ? lsecond(op->args) : linitial(op->args);
	switch (op->opfuncid)
	{
		case F_NUMERIC_EQ:
		case F_NUMERIC_NE:
		case F_NUMERIC_LT:
		case F_NUMERIC_LE:
		case F_NUMERIC_GT:
		case F_NUMERIC_GE:
			return IsA(var, Var) && ((const Var *) var)->vartype == NUMERICOID && is_short_constant(constant) &&
				find_form(l, (const Var *) var, &tables, &form) && form.within;
		default:
			return false;
	}
}

/* What is lowered, of class S and of a form, as mantissas of one scale, beside each row's own number of digits. */
static void
take_form(GpucolLower *l, const GpucolNumericForm *form, List *tables, GpucolValue *value)
{
	uint16		bytes = value->reg;

	l->formed = list_concat_unique_oid(l->formed, tables);
	(void) set_plain(l, value, emit(l, GPUCOL_OP_NUMERIC_D, bytes, GPUCOL_NO_REG,
									form->scale | GPUCOL_NUMERIC_EXACTLY), GPUCOL_NUMERIC_FORM_DIGITS, form->scale);
	value->scale_reg = emit(l, GPUCOL_OP_SCALE_S, bytes, GPUCOL_NO_REG,
							form->within ? form->scale : GPUCOL_PACKED_SCALE);
}

/*
 * A column of numerics that display different numbers of digits as mantissas of one scale, beside each row's own
 * number; false if it is none, or has none.
 */
bool
gpucol_lower_formed(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	GpucolNumericForm form;
	List	   *tables;

	if (!IsA(expr, Var) || !l->aggregating || getBaseType(exprType((Node *) expr)) != NUMERICOID ||
		!gpucol_lower_expr(l, expr, value) || value->cls != GPUCOL_CLASS_S ||
		!find_form(l, (const Var *) expr, &tables, &form))
		return false;
	take_form(l, &form, tables, value);
	return true;
}

/*
 * Lower an expression; a column of numerics without a form of fixed width becomes mantissas, or packed
 * decimals, where what is too large for them may be handed back.
 */
bool
gpucol_lower_number(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolNumericForm form;
	List	   *tables;

	if (!gpucol_lower_expr(l, expr, out))
		return false;
	gpucol_lower_alike(l, expr, out);
	if (out->cls != GPUCOL_CLASS_S || !l->aggregating || getBaseType(exprType((Node *) expr)) != NUMERICOID)
		return true;
	if (IsA(expr, Var) && find_form(l, (const Var *) expr, &tables, &form) && form.within)
	{
		take_form(l, &form, tables, out);
		return true;
	}
	return set_packed(l, out, emit(l, GPUCOL_OP_NUMERIC_P, out->reg, GPUCOL_NO_REG, 0),
					  GPUCOL_PACKED_DIGITS, GPUCOL_PACKED_DIGITS, GPUCOL_PACKED_SCALE);
}

/* Bounds on the quotient of two values. */
static bool
set_quotient(GpucolLower *l, const GpucolValue *a, const GpucolValue *b, uint16 reg, GpucolValue *out)
{
	int			scale = Max(a->scale, b->scale);
	int			whole = whole_digits(a) + b->scale;
	int			least = -((a->scale + BASE_DIGITS - 1) / BASE_DIGITS);	/* weights */
	int			most = (whole_digits(b) + BASE_DIGITS - 1) / BASE_DIGITS - 1;

	return set_packed(l, out, reg, Max(QUOTIENT_DIGITS, whole + scale + 1), whole + 1,
					  Max(scale, QUOTIENT_SCALE - BASE_DIGITS * (least - most - 1)));
}

/* A function of two, packed already. */
static bool
lower_arithmetic(GpucolLower *l, int function, const GpucolValue *a, const GpucolValue *b,
				 GpucolValue *out)
{
	uint16		reg = emit(l, GPUCOL_OP_ARITH_P, a->reg, b->reg, function);
	int			scale = Max(a->scale, b->scale);
	int			whole;

	switch ((GpucolPackedFunction) function)
	{
		case GPUCOL_PACKED_DIV:
			return set_quotient(l, a, b, reg, out);
		case GPUCOL_PACKED_MUL:
			return set_packed(l, out, reg, a->digits + b->digits, a->whole + b->whole,
							  a->scale + b->scale);
		case GPUCOL_PACKED_MOD:
			/* both are brought to one scale */
			whole = Max(a->whole, b->whole);
			return set_packed(l, out, reg, whole + scale, whole, scale);
		case GPUCOL_PACKED_QUOTIENT:
			return set_packed(l, out, reg, Max(a->whole, b->whole) + scale, a->whole + b->scale, 0);
		default:
			whole = Max(a->whole, b->whole) + 1;
			return set_packed(l, out, reg, whole + scale, whole, scale);
	}
}

/* The function of packed decimals that an opcode of plain ones stands for. */
static int
arithmetic_of(GpucolOpcode op, int aux)
{
	switch (op)
	{
		case GPUCOL_OP_ADD_D:
			return GPUCOL_PACKED_ADD;
		case GPUCOL_OP_SUB_D:
			return GPUCOL_PACKED_SUB;
		case GPUCOL_OP_MUL_D:
			return GPUCOL_PACKED_MUL;
		default:
			return aux;
	}
}

/* Likewise, of comparisons. */
static int
comparison_of(GpucolOpcode op)
{
	switch (op)
	{
		case GPUCOL_OP_EQ_D:
			return GPUCOL_PACKED_EQ;
		case GPUCOL_OP_NE_D:
			return GPUCOL_PACKED_NE;
		case GPUCOL_OP_LT_D:
			return GPUCOL_PACKED_LT;
		default:
			return GPUCOL_PACKED_LE;
	}
}

/*
 * Apply an opcode of decimals, or ARITH_P with `aux`, to operands at least one of which is
 * packed or has a scale of its own in each row.  Remainders of plain ones are plain.
 */
bool
gpucol_lower_packed(GpucolLower *l, GpucolOpcode op, int aux, GpucolValue *args, GpucolValue *out)
{
	bool		unary = op == GPUCOL_OP_NEG_D || op == GPUCOL_OP_ABS_D;
	bool		same_scale = !gpucol_value_scale_varies(&args[0]) && !gpucol_value_scale_varies(&args[1]);

	if (!gpucol_lower_pack(l, &args[0]) || (!unary && !gpucol_lower_pack(l, &args[1])))
		return false;
	if (unary)
	{
		*out = args[0];
		out->reg = emit(l, GPUCOL_OP_PART_P, args[0].reg, GPUCOL_NO_REG,
						op == GPUCOL_OP_NEG_D ? GPUCOL_PACKED_NEG : GPUCOL_PACKED_ABS);
		return true;
	}
	if (gpucol_opcode_class(op, 0) != GPUCOL_CLASS_B)
		return lower_arithmetic(l, arithmetic_of(op, aux), &args[0], &args[1], out) &&
			(!same_scale || aux == GPUCOL_PACKED_DIV || unpack(l, out));
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_B;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = emit(l, GPUCOL_OP_COMPARE_P, args[0].reg, args[1].reg, comparison_of(op));
	return true;
}

/*
 * A part of a packed decimal for a sum of it (GpucolPackedPart), and the scale of each row.
 */
uint16
gpucol_lower_packed_part(GpucolLower *l, const GpucolValue *v, int part)
{
	return emit(l, GPUCOL_OP_PART_P, v->reg, GPUCOL_NO_REG, part);
}

uint16
gpucol_lower_packed_scale(GpucolLower *l, const GpucolValue *v)
{
	return emit(l, GPUCOL_OP_SCALE_P, v->reg, GPUCOL_NO_REG, 0);
}

/* money::numeric, with the locale's number of digits */
static bool
lower_money(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	Datum		cent = DirectFunctionCall1(cash_numeric, Int64GetDatum(1));
	GpucolValue v;

	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	return set_plain(l, out, emit(l, GPUCOL_OP_I_TO_D, v.reg, GPUCOL_NO_REG, 0), MONEY_DIGITS,
					 DatumGetInt32(DirectFunctionCall1(numeric_scale, cent)));
}

/* What is made of one decimal. */
typedef struct Rounding
{
	GpucolPackedRounding how;
	bool		has_scale;		/* the second argument */
	int			bytes;			/* of the integer that it is, or 0 */
	bool		real;			/* a double precision */
} Rounding;

static bool
find_rounding(Oid funcid, Rounding *r)
{
	*r = (Rounding) {GPUCOL_PACKED_HALF, false, 0, false};
	switch (funcid)
	{
		case F_ROUND_NUMERIC_INT4:
			r->has_scale = true;
			return true;
		case F_TRUNC_NUMERIC_INT4:
			r->has_scale = true;
			r->how = GPUCOL_PACKED_ZERO;
			return true;
		case F_FLOOR_NUMERIC:
			r->how = GPUCOL_PACKED_DOWN;
			return true;
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
			r->how = GPUCOL_PACKED_UP;
			return true;
		case F_SIGN_NUMERIC:
			r->how = GPUCOL_PACKED_SIGN;
			return true;
		case F_INT2_NUMERIC:
			r->bytes = 2;
			return true;
		case F_INT4_NUMERIC:
			r->bytes = 4;
			return true;
		case F_INT8_NUMERIC:
			r->bytes = 8;
			return true;
		case F_FLOAT8_NUMERIC:
			r->real = true;
			return true;
		default:
			return false;
	}
}

/* A rounded decimal as an integer. */
static bool
to_integer(GpucolLower *l, const Rounding *r, uint16 reg, GpucolValue *out)
{
	memset(out, 0, sizeof(*out));
	out->scale_reg = GPUCOL_NO_REG;
	out->cls = GPUCOL_CLASS_I;
	out->reg = emit(l, GPUCOL_OP_D_TO_I, reg, GPUCOL_NO_REG, r->bytes);
	return true;
}

/* The number of digits that are kept. */
static bool
rounding_scale(GpucolLower *l, const Rounding *r, List *args, int *scale)
{
	Const	   *digits;

	*scale = 0;
	if (!r->has_scale)
		return true;
	digits = lsecond(args);
	if (!IsA(digits, Const) || digits->constisnull)
		return gpucol_lower_decline(l, "rounding to a number of digits that is not constant");
	*scale = DatumGetInt32(digits->constvalue);
	if (*scale > GPUCOL_PACKED_ROUND_MOST || *scale < -GPUCOL_PACKED_ROUND_MOST)
		return gpucol_lower_decline(l, "rounding to more digits than a value has");
	return true;
}

/* The first argument of an expression that is a call of a function, or NULL. */
static Node *
first_of_call(Expr *expr, Oid funcid)
{
	List	   *args = IsA(expr, OpExpr) && ((OpExpr *) expr)->opfuncid == funcid ? ((OpExpr *) expr)->args :
		IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == funcid ? ((FuncExpr *) expr)->args : NIL;

	return args == NIL ? NULL : linitial(args);
}

static bool
is_zero(Datum numeric)
{
	return DatumGetBool(DirectFunctionCall2(numeric_eq, numeric, DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
}

/* A quotient by a constant, rounded, without being packed; false if it is none. */
static bool
lower_quotient(GpucolLower *l, OpExpr *expr, const Rounding *r, int scale, GpucolValue *out)
{
	const Const *divisor;
	GpucolValue a;
	GpucolValue b;
	GpucolValue quotient;
	uint16		reg;

	if (!IsA(expr, OpExpr) || expr->opfuncid != F_NUMERIC_DIV || !IsA(lsecond(expr->args), Const) ||
		r->real || r->how == GPUCOL_PACKED_SIGN || scale < 0)
		return false;
	divisor = lsecond(expr->args);
	if (divisor->constisnull || is_zero(divisor->constvalue) ||
		!gpucol_lower_number(l, linitial(expr->args), &a) || !gpucol_lower_number(l, lsecond(expr->args), &b) ||
		a.cls != GPUCOL_CLASS_D || b.cls != GPUCOL_CLASS_D || gpucol_value_scale_varies(&a) ||
		gpucol_value_scale_varies(&b) || a.digits > PLAIN_DIGITS || b.digits > PLAIN_DIGITS ||
		!set_quotient(l, &a, &b, GPUCOL_NO_REG, &quotient))
		return false;
	reg = emit(l, GPUCOL_OP_QUOTIENT_D, a.reg, b.reg, GPUCOL_QUOTIENT(a.scale, b.scale, scale, r->how));
	return set_plain(l, out, reg, quotient.whole + 1 + scale, scale);
}

/*
 * A float rounded to a number of digits, as a cast to numeric(precision, scale) and round() do;
 * of a larger one the statement is PostgreSQL's.
 */
static bool
lower_float(GpucolLower *l, Node *arg, int precision, int scale, GpucolValue *out)
{
	bool		real = exprType(arg) == FLOAT4OID;
	GpucolValue v;
	uint16		reg;

	if (!l->aggregating)
		return gpucol_lower_decline(l, "a float as a numeric, outside of an aggregation");
	if (!gpucol_lower_expr(l, (Expr *) arg, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_F || scale < 0 || scale > GPUCOL_PACKED_ROUND_MOST || precision > PLAIN_DIGITS)
		return gpucol_lower_decline(l, "a float as a numeric of this kind");
	reg = emit(l, GPUCOL_OP_F_TO_D, v.reg, GPUCOL_NO_REG, GPUCOL_FLOAT_DECIMAL(scale, precision, real));
	return set_plain(l, out, reg, precision > 0 ? precision : PLAIN_DIGITS, scale);
}

/* A float as a numeric of 15 digits, or 6. */
static bool
lower_float_digits(GpucolLower *l, Node *arg, GpucolValue *out)
{
	GpucolValue v;

	if (!l->aggregating)
		return gpucol_lower_decline(l, "a float as a numeric, outside of an aggregation");
	if (!gpucol_lower_expr(l, (Expr *) arg, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_F)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	return set_packed(l, out, emit(l, GPUCOL_OP_F_TO_P, v.reg, GPUCOL_NO_REG, exprType(arg) == FLOAT4OID ? 4 : 8),
					  GPUCOL_PACKED_DIGITS, GPUCOL_PACKED_DIGITS, GPUCOL_PACKED_SCALE);
}

/*
 * Equal packed decimals as the same ones, without zeros at the end.
 */
uint16
gpucol_lower_trimmed(GpucolLower *l, const GpucolValue *v)
{
	return emit(l, GPUCOL_OP_TRIM_P, v->reg, GPUCOL_NO_REG, 0);
}

/* The float of which a numeric is a cast, or NULL. */
static Node *
find_float(Expr *expr)
{
	Node	   *arg = first_of_call(expr, F_NUMERIC_FLOAT8);

	return arg != NULL ? arg : first_of_call(expr, F_NUMERIC_FLOAT4);
}

/* A float::numeric(precision, scale) */
static bool
lower_float_cast(GpucolLower *l, List *args, GpucolValue *out)
{
	Node	   *arg = find_float(linitial(args));
	const Const *typmod = lsecond(args);
	int32		digits;

	if (arg == NULL || !IsA(typmod, Const) || typmod->constisnull)
		return gpucol_lower_decline(l, "a numeric is cast to another number of digits");
	digits = DatumGetInt32(typmod->constvalue) - (int32) VARHDRSZ;
	if (digits < 0)
		return gpucol_lower_decline(l, "a float as a numeric of any number of digits");
	/* precision and scale, which may be negative (numeric.c) */
	return lower_float(l, arg, (digits >> 16) & 0xffff, ((digits & 0x7ff) ^ 1024) - 1024, out);
}

/*
 * Lower a function of one decimal, an expression: rounding, sign, casts; or the cast of money, or a root, logarithm or
 * power.  *matched says whether it is one that is known here.
 */
bool
gpucol_lower_rounding(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	Rounding	r = {0};
	GpucolValue v;
	int			scale;
	uint16		reg;
	bool		ok = gpucol_lower_numeric_math(l, funcid, args, matched, out);

	if (*matched)
		return ok;
	*matched = funcid == F_NUMERIC_MONEY || funcid == F_NUMERIC_FLOAT8 || funcid == F_NUMERIC_FLOAT4 ||
		funcid == F_NUMERIC_NUMERIC_INT4 || find_rounding(funcid, &r);
	if (!*matched)
		return false;
	if (funcid == F_NUMERIC_MONEY)
		return lower_money(l, linitial(args), out);
	if (funcid == F_NUMERIC_FLOAT8 || funcid == F_NUMERIC_FLOAT4)
		return lower_float_digits(l, linitial(args), out);
	if (funcid == F_NUMERIC_NUMERIC_INT4)
		return lower_float_cast(l, args, out);
	if (!rounding_scale(l, &r, args, &scale))
		return false;
	if (r.has_scale && r.how == GPUCOL_PACKED_HALF && scale >= 0 && find_float(linitial(args)) != NULL)
		return lower_float(l, find_float(linitial(args)), 0, scale, out);
	if (lower_quotient(l, linitial(args), &r, scale, &v))
	{
		*out = v;
		return r.bytes == 0 || to_integer(l, &r, v.reg, out);
	}
	if (!gpucol_lower_number(l, linitial(args), &v))
		return false;
	if (v.cls != GPUCOL_CLASS_D)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	/* what a row displays does not matter, zeros do not */
	v.scale_reg = GPUCOL_NO_REG;
	if (!gpucol_lower_pack(l, &v))
		return false;
	memset(out, 0, sizeof(*out));
	out->scale_reg = GPUCOL_NO_REG;
	if (r.real)
	{
		out->cls = GPUCOL_CLASS_F;
		out->reg = emit(l, GPUCOL_OP_P_TO_F, v.reg, GPUCOL_NO_REG, 0);
		return true;
	}
	reg = emit(l, GPUCOL_OP_ROUND_P, v.reg, GPUCOL_NO_REG, GPUCOL_PACKED_ROUND(scale, r.how));
	if (r.bytes != 0)
		return to_integer(l, &r, reg, out);
	return set_plain(l, out, reg, r.how == GPUCOL_PACKED_SIGN ? 1 : Max(v.whole, -scale) + 1 + Max(scale, 0),
					 Max(scale, 0));
}
