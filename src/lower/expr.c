/*-------------------------------------------------------------------------
 *
 * expr.c
 *	  Expressions to registers.
 *
 * Instructions are not jumped over: where PostgreSQL would not evaluate a
 * sub-expression for a row (the branches of CASE and COALESCE, the later
 * operands of AND and OR), the instructions run under a mask, and an error
 * counts only inside it.
 *
 * Numeric.  A value is an int128 mantissa at a scale that is known statically:
 * PostgreSQL's addition, subtraction and multiplication give a display scale
 * that depends on those of their operands only.  CASE and COALESCE may mix
 * scales; then a second register follows the scale of each row, and only the
 * consumers that know it (comparisons, sum, avg) take such a value.  Declared
 * digits bound a scan's values; an aggregation goes by the values themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "lower/array_value.h"
#include "lower/lower.h"
#include "lower/row_compare.h"
#include "lower/span.h"

/* Decimal digits that every int128 mantissa must stay within. */
#define MAX_DIGITS	38

/* Instructions of a program, about. */
#define MAX_INSTRUCTIONS	4096

#define EMIT1(l, op, a, aux) \
	gpucol_lower_emit(l, op, a, GPUCOL_NO_REG, GPUCOL_NO_REG, aux)
#define EMIT2(l, op, a, b, aux) \
	gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, aux)

/* Make a value of a class without scale. */
static bool
set_value(GpucolValue *out, GpucolClass cls, uint16 reg)
{
	out->cls = cls;
	out->reg = reg;
	out->scale = 0;
	out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	out->packed = false;
	return true;
}

/*
 * May a numeric have so many digits by what is declared of its operands?  Engines see
 * to it that values stay within int128 (GPUCOL_UNSUPPORTED); an aggregation may still be
 * handed back then, but rows of a scan may have left already.
 */
static bool
check_digits(const GpucolLower *l, int digits)
{
	return digits <= MAX_DIGITS || l->aggregating;
}

static bool
too_many_digits(GpucolLower *l)
{
	return gpucol_lower_decline(l, "numeric value may have more than %d digits", MAX_DIGITS);
}

/* A constant times 10^by as another constant; false where the register is none, or it overflows. */
static bool
rescale_const(GpucolLower *l, GpucolValue *v, int by)
{
	for (int i = 0; i < l->ninstrs; i++)
	{
		const GpucolInstr *instr = &l->instrs[i];
		GpucolConst c;
		__int128	mantissa;

		if (instr->dst != v->reg || instr->op != GPUCOL_OP_CONST_D)
			continue;
		c = l->consts[instr->aux];
		mantissa = (__int128) ((unsigned __int128) (uint64) c.v.d.hi << 64 | c.v.d.lo);
		if (__builtin_mul_overflow(mantissa, gpucol_lower_power10(by), &mantissa))
			return false;
		c.v.d.lo = (uint64) mantissa;
		c.v.d.hi = (int64) (mantissa >> 64);
		v->reg = EMIT1(l, GPUCOL_OP_CONST_D, GPUCOL_NO_REG, gpucol_lower_put_const(l, &c));
		return true;
	}
	return false;
}

/*
 * Bring a decimal to a greater scale; its display scale is not changed.
 */
bool
gpucol_lower_rescale(GpucolLower *l, GpucolValue *v, int scale)
{
	int			by = scale - v->scale;

	if (by == 0)
		return true;
	if (by > MAX_DIGITS || !check_digits(l, v->digits + by))
		return too_many_digits(l);
	if (!rescale_const(l, v, by))
		v->reg = EMIT1(l, GPUCOL_OP_RESCALE_D, v->reg, by);
	v->digits += by;
	v->scale = scale;
	return true;
}

/* Enter and leave a sub-expression that PostgreSQL may not evaluate. */
static void
enter_branch(GpucolLower *l, GpucolMask *mask, GpucolMaskKind kind,
			 uint16 condition)
{
	gpucol_lower_push_mask(l, mask, kind, condition);
	l->conditional++;
}

static void
leave_branch(GpucolLower *l)
{
	gpucol_lower_pop_mask(l);
	l->conditional--;
}

/* A boolean register as the integers 0 and 1. */
static void
bool_to_int(GpucolLower *l, GpucolValue *v)
{
	if (v->cls == GPUCOL_CLASS_B)
		set_value(v, GPUCOL_CLASS_I, EMIT1(l, GPUCOL_OP_B_TO_I, v->reg, 0));
}

/* A decimal that was made of an integer as that integer. */
static void
decimal_to_int(GpucolLower *l, GpucolValue *v)
{
	if (v->cls != GPUCOL_CLASS_D || v->scale != 0 || v->packed)
		return;
	for (int i = 0; i < l->ninstrs; i++)
	{
		const GpucolInstr *instr = &l->instrs[i];

		if (instr->dst == v->reg && instr->op == GPUCOL_OP_I_TO_D && instr->aux == 0)
		{
			set_value(v, GPUCOL_CLASS_I, instr->a);
			return;
		}
	}
}

static uint16
is_null(GpucolLower *l, const GpucolValue *v)
{
	static const GpucolOpcode op[] = {
		[GPUCOL_CLASS_B] = GPUCOL_OP_IS_NULL_B,
		[GPUCOL_CLASS_I] = GPUCOL_OP_IS_NULL_I,
		[GPUCOL_CLASS_D] = GPUCOL_OP_IS_NULL_D,
		[GPUCOL_CLASS_F] = GPUCOL_OP_IS_NULL_F,
		[GPUCOL_CLASS_S] = GPUCOL_OP_IS_NULL_S
	};

	return EMIT1(l, op[v->cls], v->reg, 0);
}

/* A column of the table. */
static bool
lower_var(GpucolLower *l, Var *var, GpucolValue *out)
{
	int			column;

	if (var->varno != (int) l->varno || var->varlevelsup != 0)
		return gpucol_lower_fold_value(l, var, out);
	if (var->varattno <= 0)
		return gpucol_lower_decline(l, "it refers to a system column or a whole row");
	if (TupleDescAttr(l->desc, var->varattno - 1)->attisdropped)
		return gpucol_lower_decline(l, "it refers to a column that a part of the UNION ALL computes");
	column = gpucol_lower_column(l, var->varattno);
	switch (l->maps[column].kind)
	{
		case GPUCOL_KIND_INT:
			if (l->maps[column].type_oid == BOOLOID)
				return set_value(out, GPUCOL_CLASS_B,
								 EMIT1(l, GPUCOL_OP_LOAD_B, GPUCOL_NO_REG, column));
			return set_value(out, GPUCOL_CLASS_I, EMIT1(l, GPUCOL_OP_LOAD_I, GPUCOL_NO_REG, column));
		case GPUCOL_KIND_DECIMAL:
			set_value(out, GPUCOL_CLASS_D,
					  EMIT1(l, GPUCOL_OP_LOAD_D, GPUCOL_NO_REG, column));
			out->scale = l->maps[column].scale;
			out->digits = l->maps[column].digits;
			return true;
		case GPUCOL_KIND_FLOAT4:
		case GPUCOL_KIND_FLOAT8:
			return set_value(out, GPUCOL_CLASS_F,
							 EMIT1(l, GPUCOL_OP_LOAD_F, GPUCOL_NO_REG, column));
		default:
			return set_value(out, GPUCOL_CLASS_S,
							 EMIT1(l, GPUCOL_OP_LOAD_S, GPUCOL_NO_REG, column));
	}
}

/* Bring two decimals to one scale. */
static bool
align(GpucolLower *l, GpucolValue *a, GpucolValue *b)
{
	int			scale = Max(a->scale, b->scale);

	return gpucol_lower_rescale(l, a, scale) &&
		gpucol_lower_rescale(l, b, scale);
}

/* Is this one of the comparison opcodes? */
static bool
is_comparison(GpucolOpcode op)
{
	return gpucol_opcode_class(op, 0) == GPUCOL_CLASS_B;
}

/* Decimal functions: operands, digits and scale of the result. */
static bool
lower_decimal(GpucolLower *l, GpucolOpcode op, int aux, int nargs, GpucolValue *args,
			  GpucolValue *out)
{
	uint16		scale_reg = GPUCOL_NO_REG;
	int			digits;
	int			scale;

	if (op == GPUCOL_OP_ARITH_P || args[0].packed || (nargs > 1 && args[1].packed))
		return gpucol_lower_packed(l, op, aux, args, out);
	if (is_comparison(op))
	{
		if (!align(l, &args[0], &args[1]))
			return false;
		return set_value(out, GPUCOL_CLASS_B,
						 EMIT2(l, op, args[0].reg, args[1].reg, 0));
	}
	if (op == GPUCOL_OP_NEG_D || op == GPUCOL_OP_ABS_D)
	{
		*out = args[0];
		out->reg = EMIT1(l, op, args[0].reg, 0);
		return true;
	}
	if (!gpucol_lower_scale_is_fixed(op, &args[0], &args[1]))
	{
		if (op == GPUCOL_OP_MUL_D && args[0].scale + args[1].scale > MAX_DIGITS)
			return gpucol_lower_packed(l, op, aux, args, out);
		scale_reg = gpucol_lower_row_scales(l, op == GPUCOL_OP_MUL_D, &args[0], &args[1]);
	}
	if (op == GPUCOL_OP_MUL_D)
	{
		digits = args[0].digits + args[1].digits;
		scale = args[0].scale + args[1].scale;
		if (scale > GPUCOL_NUMERIC_MAX_SCALE)
			return gpucol_lower_decline(l, "numeric value has more than %d fractional digits",
										GPUCOL_NUMERIC_MAX_SCALE);
	}
	else
	{
		if (!align(l, &args[0], &args[1]))
			return false;
		digits = Max(args[0].digits, args[1].digits) + 1;
		scale = args[0].scale;
	}
	if (!check_digits(l, digits))
		return too_many_digits(l);
	set_value(out, GPUCOL_CLASS_D, EMIT2(l, op, args[0].reg, args[1].reg, 0));
	out->digits = digits;
	out->scale = scale;
	out->scale_reg = scale_reg;
	return true;
}

/*
 * Apply a function of the allow-list to lowered arguments.
 */
bool
gpucol_lower_apply(GpucolLower *l, const GpucolFunction *f, GpucolValue *args,
				   int nargs, GpucolValue *out)
{
	GpucolOpcode op = (GpucolOpcode) f->op;

	for (int i = 0; i < nargs; i++)
	{
		if (gpucol_opcode_class(op, i + 1) == GPUCOL_CLASS_I)
		{
			bool_to_int(l, &args[i]);
			decimal_to_int(l, &args[i]);
		}
		if (args[i].cls != gpucol_opcode_class(op, i + 1))
			return gpucol_lower_decline(l, "its argument has no fixed-width form");
	}
	if (f->swap)
	{
		GpucolValue first = args[0];

		args[0] = args[1];
		args[1] = first;
	}
	if (op == GPUCOL_OP_I_TO_D)
	{
		set_value(out, GPUCOL_CLASS_D, EMIT1(l, op, args[0].reg, 0));
		out->digits = f->aux;
		return true;
	}
	if (args[0].cls == GPUCOL_CLASS_D)
		return lower_decimal(l, op, f->aux, nargs, args, out);
	if (f->aux == 0 && (op == GPUCOL_OP_CHECK_I || op == GPUCOL_OP_ROUND_F))
	{
		*out = args[0];			/* a widening cast */
		return true;
	}
	return set_value(out, gpucol_opcode_class(op, 0),
					 gpucol_lower_emit(l, op, args[0].reg,
									   nargs > 1 ? args[1].reg : GPUCOL_NO_REG,
									   GPUCOL_NO_REG, f->aux));
}

/* Operators and functions. */
static bool
lower_function(GpucolLower *l, Oid funcid, List *args, Oid collation, GpucolValue *out)
{
	const GpucolFunction *f = gpucol_lower_function(gpucol_lower_enum_function(funcid, args));
	GpucolValue values[2];
	ListCell   *lc;
	int			n = 0;
	bool		matched;
	bool		ok = gpucol_lower_date(l, funcid, args, &matched, out);

	if (matched)
		return ok;
	ok = gpucol_lower_text(l, funcid, args, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_compare_texts(l, funcid, args, collation, values, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_shift(l, funcid, args, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_span_function(l, funcid, args, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_plain(l, funcid, args, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_array_function(l, funcid, args, collation, &matched, out);
	if (matched)
		return ok;
	ok = gpucol_lower_decimal(l, funcid, args, &matched, out);
	if (matched && (!ok || f == NULL))
		return ok;
	if (matched)
	{
		values[0] = *out;
		return gpucol_lower_apply(l, f, values, 1, out);
	}
	ok = gpucol_lower_rounding(l, funcid, args, &matched, out);
	if (matched)
		return ok;
	if (f == NULL || list_length(args) > 2)
		return gpucol_lower_decline(l, "function %s has no counterpart in the engines",
									format_procedure(funcid));
	foreach(lc, args)
	{
		if (!gpucol_lower_number(l, lfirst(lc), &values[n++]))
			return false;
	}
	return gpucol_lower_apply(l, f, values, n, out);
}

/* a AND b ..., a OR b ...: later operands count where earlier leave doubt. */
static bool
lower_and_or(GpucolLower *l, BoolExpr *expr, GpucolValue *out)
{
	bool		is_and = expr->boolop == AND_EXPR;
	uint16		result = GPUCOL_NO_REG;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		GpucolMask	mask;
		uint16		reg;
		bool		ok;

		if (result != GPUCOL_NO_REG)
			enter_branch(l, &mask, is_and ? GPUCOL_MASK_NOT_FALSE :
						 GPUCOL_MASK_NOT_TRUE, result);
		ok = gpucol_lower_bool(l, lfirst(lc), &reg);
		if (result != GPUCOL_NO_REG)
			leave_branch(l);
		if (!ok)
			return false;
		result = result == GPUCOL_NO_REG ? reg :
			EMIT2(l, is_and ? GPUCOL_OP_AND : GPUCOL_OP_OR, result, reg, 0);
	}
	return set_value(out, GPUCOL_CLASS_B, result);
}

static bool
lower_not(GpucolLower *l, Expr *arg, GpucolValue *out)
{
	uint16		reg;

	return gpucol_lower_bool(l, arg, &reg) &&
		set_value(out, GPUCOL_CLASS_B, EMIT1(l, GPUCOL_OP_NOT, reg, 0));
}

/* x IS [NOT] TRUE, FALSE, UNKNOWN */
static bool
lower_boolean_test(GpucolLower *l, BooleanTest *test, GpucolValue *out)
{
	uint16		reg;

	if (!gpucol_lower_bool(l, test->arg, &reg))
		return false;
	switch (test->booltesttype)
	{
		case IS_FALSE:
		case IS_NOT_FALSE:
			reg = EMIT1(l, GPUCOL_OP_NOT, reg, 0);
			reg = EMIT1(l, GPUCOL_OP_IS_TRUE, reg, 0);
			break;
		case IS_TRUE:
		case IS_NOT_TRUE:
			reg = EMIT1(l, GPUCOL_OP_IS_TRUE, reg, 0);
			break;
		case IS_UNKNOWN:
		case IS_NOT_UNKNOWN:
			reg = EMIT1(l, GPUCOL_OP_IS_NULL_B, reg, 0);
			break;
	}
	if (test->booltesttype == IS_NOT_FALSE ||
		test->booltesttype == IS_NOT_TRUE ||
		test->booltesttype == IS_NOT_UNKNOWN)
		reg = EMIT1(l, GPUCOL_OP_NOT, reg, 0);
	return set_value(out, GPUCOL_CLASS_B, reg);
}

/* x IS [NOT] NULL */
static bool
lower_null_test(GpucolLower *l, NullTest *test, GpucolValue *out)
{
	GpucolValue arg;
	uint16		reg;

	if (test->argisrow)
		return gpucol_lower_decline(l, "it tests a row for NULL");
	if (!gpucol_lower_tested_text(l, test->arg, &arg))
		return false;
	reg = is_null(l, &arg);
	if (test->nulltesttype == IS_NOT_NULL)
		reg = EMIT1(l, GPUCOL_OP_NOT, reg, 0);
	return set_value(out, GPUCOL_CLASS_B, reg);
}

/* Lower both arguments of a comparison and apply its function. */
static bool
lower_equality(GpucolLower *l, OpExpr *op, GpucolValue *args, uint16 *reg)
{
	const GpucolFunction *f = gpucol_lower_function(op->opfuncid);
	GpucolValue operands[2];
	GpucolValue result;
	bool		texts;

	if (gpucol_lower_compare_texts(l, op->opfuncid, op->args, op->inputcollid, args, &texts, &result))
	{
		*reg = result.reg;
		return true;
	}
	if (texts)
		return false;
	if (f == NULL || !is_comparison((GpucolOpcode) f->op))
		return gpucol_lower_decline(l, "function %s has no counterpart in the engines",
									format_procedure(op->opfuncid));
	if (!gpucol_lower_number(l, linitial(op->args), &args[0]) ||
		!gpucol_lower_number(l, lsecond(op->args), &args[1]))
		return false;
	memcpy(operands, args, sizeof(operands));
	if (!gpucol_lower_apply(l, f, operands, 2, &result))
		return false;
	*reg = result.reg;
	return true;
}

/* a IS DISTINCT FROM b: not equal, unless both are NULL */
static bool
lower_distinct(GpucolLower *l, DistinctExpr *expr, GpucolValue *out)
{
	GpucolValue args[2];
	uint16		equal;
	uint16		both;

	if (!lower_equality(l, expr, args, &equal))
		return false;
	equal = EMIT1(l, GPUCOL_OP_IS_TRUE, equal, 0);
	both = EMIT2(l, GPUCOL_OP_AND, is_null(l, &args[0]), is_null(l, &args[1]), 0);
	equal = EMIT2(l, GPUCOL_OP_OR, equal, both, 0);
	return set_value(out, GPUCOL_CLASS_B, EMIT1(l, GPUCOL_OP_NOT, equal, 0));
}

/* The NULL of a class. */
static uint16
null_of(GpucolLower *l, GpucolClass cls)
{
	static const GpucolOpcode op[] = {
		[GPUCOL_CLASS_B] = GPUCOL_OP_CONST_B,
		[GPUCOL_CLASS_I] = GPUCOL_OP_CONST_I,
		[GPUCOL_CLASS_D] = GPUCOL_OP_CONST_D,
		[GPUCOL_CLASS_F] = GPUCOL_OP_CONST_F
	};
	GpucolConst c;

	memset(&c, 0, sizeof(c));
	c.cls = cls;
	c.isnull = true;
	return EMIT1(l, op[cls], GPUCOL_NO_REG, gpucol_lower_add_const(l, &c));
}

/*
 * condition ? a : b.  Decimals of different scales meet at the greater one
 * and keep the scale of each row beside.
 */
static bool
choose(GpucolLower *l, uint16 condition, GpucolValue a, GpucolValue b,
	   GpucolValue *out)
{
	static const GpucolOpcode op[] = {
		[GPUCOL_CLASS_B] = GPUCOL_OP_CASE_B,
		[GPUCOL_CLASS_I] = GPUCOL_OP_CASE_I,
		[GPUCOL_CLASS_D] = GPUCOL_OP_CASE_D,
		[GPUCOL_CLASS_F] = GPUCOL_OP_CASE_F,
		[GPUCOL_CLASS_S] = GPUCOL_OP_CASE_S
	};
	uint16		scale_reg = GPUCOL_NO_REG;

	if (a.cls != b.cls || (a.cls == GPUCOL_CLASS_S && !l->texts))
		return gpucol_lower_decline(l, "its branches have no fixed-width form");
	if (a.cls == GPUCOL_CLASS_D && (a.packed || b.packed))
	{
		if (!gpucol_lower_pack(l, &a) || !gpucol_lower_pack(l, &b))
			return false;
		a.scale = Max(a.scale, b.scale);
		a.whole = Max(a.whole, b.whole);
	}
	else if (a.cls == GPUCOL_CLASS_D)
	{
		if (a.scale != b.scale || a.scale_reg != GPUCOL_NO_REG ||
			b.scale_reg != GPUCOL_NO_REG)
			scale_reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, condition,
										  gpucol_lower_row_scale(l, &a),
										  gpucol_lower_row_scale(l, &b), 0);
		if (!align(l, &a, &b))
			return false;
	}
	*out = a;
	out->digits = Max(a.digits, b.digits);
	out->scale_reg = scale_reg;
	out->reg = gpucol_lower_emit(l, op[a.cls], condition, a.reg, b.reg, 0);
	return true;
}

/* A NULL literal takes class and scale from the other branch. */
static bool
is_null_const(Expr *expr)
{
	return IsA(expr, Const) && ((Const *) expr)->constisnull;
}

/* condition ? a : NULL */
static bool
choose_or_null(GpucolLower *l, uint16 condition, GpucolValue a, GpucolValue *out)
{
	GpucolValue b = a;

	if (a.cls == GPUCOL_CLASS_S && !l->texts)
		return gpucol_lower_decline(l, "its branches have no fixed-width form");
	b.reg = a.cls == GPUCOL_CLASS_S ? gpucol_lower_null_text(l) : null_of(l, a.cls);
	b.scale_reg = GPUCOL_NO_REG;	/* NULL has no digits, whatever row it is in */
	return choose(l, condition, a, b, out);
}

/* NULLIF(a, b) */
static bool
lower_nullif(GpucolLower *l, NullIfExpr *expr, GpucolValue *out)
{
	GpucolValue args[2];
	uint16		equal;

	if (!lower_equality(l, expr, args, &equal))
		return false;
	equal = EMIT1(l, GPUCOL_OP_IS_TRUE, equal, 0);
	return choose_or_null(l, EMIT1(l, GPUCOL_OP_NOT, equal, 0), args[0], out);
}

/* Replace CASE's test value by the expression it stands for. */
static Node *
case_test_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CaseTestExpr))
		return copyObject((Node *) context);
	if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg != NULL)
		return node;			/* an inner CASE has its own */
	return expression_tree_mutator(node, case_test_mutator, context);
}

/* Lower the branches of a CASE from the n-th on; with by_expr, each test has the argument's expression. */
static bool
lower_case_from(GpucolLower *l, CaseExpr *expr, bool by_expr, int n, GpucolValue *out)
{
	CaseWhen   *when = list_nth(expr->args, n);
	Expr	   *test = when->expr;
	bool		last = n + 1 == list_length(expr->args);
	bool		rest_is_null = last && (expr->defresult == NULL || is_null_const(expr->defresult));
	GpucolMask	mask;
	GpucolValue then;
	GpucolValue rest;
	uint16		condition;
	bool		ok;

	if (by_expr)
		test = (Expr *) case_test_mutator((Node *) test, expr->arg);
	if (!gpucol_lower_bool(l, test, &condition))
		return false;
	enter_branch(l, &mask, GPUCOL_MASK_TRUE, condition);
	ok = gpucol_lower_branch(l, expr, when->result, &then);
	leave_branch(l);
	if (!ok)
		return false;
	if (rest_is_null)
		return choose_or_null(l, condition, then, out);

	enter_branch(l, &mask, GPUCOL_MASK_NOT_TRUE, condition);
	ok = last ? gpucol_lower_branch(l, expr, expr->defresult, &rest) :
		lower_case_from(l, expr, by_expr, n + 1, &rest);
	leave_branch(l);
	if (!ok)
		return false;
	if (is_null_const(when->result))
	{
		condition = EMIT1(l, GPUCOL_OP_IS_TRUE, condition, 0);
		return choose_or_null(l, EMIT1(l, GPUCOL_OP_NOT, condition, 0), rest, out);
	}
	gpucol_lower_seldom_as(l, when->result, &rest, &then);
	return choose(l, condition, then, rest, out);
}

/*
 * CASE, whose argument is lowered once, as what tests have in its place.  A column is found where it is, and what has
 * no class of a fixed width is tested by way of the host, or in parts, with all of the expression.
 */
static bool
lower_case(GpucolLower *l, CaseExpr *expr, GpucolValue *out)
{
	GpucolLower mark = *l;
	GpucolValue tested;
	bool		ok;

	if (expr->arg == NULL || IsA(expr->arg, Var))
		return lower_case_from(l, expr, expr->arg != NULL, 0, out);
	if (exprType((Node *) expr->arg) == INTERVALOID || !gpucol_lower_number(l, expr->arg, &tested) ||
		tested.cls == GPUCOL_CLASS_S)
	{
		gpucol_lower_restore(l, &mark);
		return lower_case_from(l, expr, true, 0, out);
	}
	l->tested = &tested;
	ok = lower_case_from(l, expr, false, 0, out);
	l->tested = mark.tested;
	return ok;
}

/* COALESCE from the n-th argument on. */
static bool
lower_coalesce_from(GpucolLower *l, CoalesceExpr *expr, int n, GpucolValue *out)
{
	GpucolMask	mask;
	GpucolValue first;
	GpucolValue rest;
	uint16		missing;
	bool		ok;

	if (!gpucol_lower_number(l, list_nth(expr->args, n), &first))
		return false;
	if (n + 1 == list_length(expr->args))
	{
		*out = first;
		return true;
	}
	missing = is_null(l, &first);
	enter_branch(l, &mask, GPUCOL_MASK_TRUE, missing);
	ok = lower_coalesce_from(l, expr, n + 1, &rest);
	leave_branch(l);
	return ok && choose(l, missing, rest, first, out);
}

/* The less-than of two values of one class. */
static bool
less_than(GpucolLower *l, GpucolValue a, GpucolValue b, uint16 *reg)
{
	switch (a.cls)
	{
		case GPUCOL_CLASS_I:
			*reg = EMIT2(l, GPUCOL_OP_LT_I, a.reg, b.reg, 0);
			return true;
		case GPUCOL_CLASS_F:
			*reg = EMIT2(l, GPUCOL_OP_LT_F, a.reg, b.reg, 0);
			return true;
		case GPUCOL_CLASS_D:
			{
				GpucolValue args[2] = {a, b};
				GpucolValue less;

				if (!lower_decimal(l, GPUCOL_OP_LT_D, 0, 2, args, &less))
					return false;
				*reg = less.reg;
				return true;
			}
		default:
			return gpucol_lower_decline(l, "its arguments have no fixed-width form");
	}
}

/* GREATEST and LEAST: a NULL argument does not count. */
static bool
lower_minmax(GpucolLower *l, MinMaxExpr *expr, GpucolValue *out)
{
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		GpucolValue arg;
		uint16		take;

		if (!gpucol_lower_number(l, lfirst(lc), &arg))
			return false;
		if (foreach_current_index(lc) == 0)
		{
			*out = arg;
			continue;
		}
		if (arg.cls != out->cls)
			return gpucol_lower_decline(l, "its arguments have no fixed-width form");
		if (expr->op == IS_GREATEST ? !less_than(l, *out, arg, &take) :
			!less_than(l, arg, *out, &take))
			return false;
		take = EMIT2(l, GPUCOL_OP_OR, is_null(l, out), take, 0);
		if (!choose(l, take, arg, *out, out))
			return false;
	}
	return true;
}

/* A cast that changes the type's name only. */
static bool
lower_relabel(GpucolLower *l, RelabelType *expr, GpucolValue *out)
{
	Oid			from = getBaseType(exprType((Node *) expr->arg));

	if (!gpucol_lower_expr(l, expr->arg, out))
		return false;
	if (out->cls != GPUCOL_CLASS_S && from != getBaseType(expr->resulttype))
		return gpucol_lower_decline(l, "cast from %s to %s",
									format_type_be(from),
									format_type_be(expr->resulttype));
	return true;
}

/* Dispatch on the kind of expression. */
static bool
lower_node(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	if (IsA(expr, CaseTestExpr) && l->tested != NULL)
	{
		*out = *l->tested;
		return true;
	}
	switch (nodeTag(expr))
	{
		case T_Var:
			return lower_var(l, (Var *) expr, out);
		case T_OpExpr:
			return lower_function(l, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->args,
								  ((OpExpr *) expr)->inputcollid, out);
		case T_FuncExpr:
			return lower_function(l, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args,
								  ((FuncExpr *) expr)->inputcollid, out);
		case T_BoolExpr:
			return ((BoolExpr *) expr)->boolop == NOT_EXPR ?
				lower_not(l, linitial(((BoolExpr *) expr)->args), out) : lower_and_or(l, (BoolExpr *) expr, out);
		case T_BooleanTest:
			return lower_boolean_test(l, (BooleanTest *) expr, out);
		case T_NullTest:
			return lower_null_test(l, (NullTest *) expr, out);
		case T_DistinctExpr:
			return lower_distinct(l, (DistinctExpr *) expr, out);
		case T_NullIfExpr:
			return lower_nullif(l, (NullIfExpr *) expr, out);
		case T_CaseExpr:
			return lower_case(l, (CaseExpr *) expr, out);
		case T_CoalesceExpr:
			return lower_coalesce_from(l, (CoalesceExpr *) expr, 0, out);
		case T_MinMaxExpr:
			return lower_minmax(l, (MinMaxExpr *) expr, out);
		case T_RelabelType:
			return lower_relabel(l, (RelabelType *) expr, out);
		case T_SubscriptingRef:
			return gpucol_lower_item(l, (SubscriptingRef *) expr, out);
		case T_ScalarArrayOpExpr:
			return gpucol_lower_array_op(l, (ScalarArrayOpExpr *) expr, out);
		case T_RowCompareExpr:
			return gpucol_lower_row_compare(l, (RowCompareExpr *) expr, out);
		case T_SubPlan:
			return gpucol_lower_subplan(l, (SubPlan *) expr, out);
		default:
			return gpucol_lower_text_cast(l, expr, out);
	}
}

/* Lower an expression of a program that still has room. */
static bool
lower_expr(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolLower mark = *l;

	if (l->conditional == 0 ? gpucol_lower_is_constant(expr) : gpucol_lower_is_safe_constant(l, expr))
		return gpucol_lower_const(l, expr, out);
	if (l->fold != NULL && gpucol_lower_fold_test(l, expr, out))
		return true;
	if (exprType((Node *) expr) == BOOLOID && !IsA(expr, Var) && !gpucol_lower_compares_alike(l, expr))
	{
		int			column;
		int			id;

		if (gpucol_lower_host(l, expr, &column, &id))
			return set_value(out, GPUCOL_CLASS_B, EMIT1(l, GPUCOL_OP_HOST_TEST,
														EMIT1(l, GPUCOL_OP_LOAD_S, GPUCOL_NO_REG, column), id));
		if (column >= 0 && !gpucol_lower_is_array(l->maps[column].type_oid) &&
			!(l->aggregating && (l->maps[column].type_oid == NUMERICOID || l->maps[column].type_oid == INTERVALOID)))
			return false;
	}
	if (lower_node(l, expr, out))
		return true;
	if (exprType((Node *) expr) != BOOLOID)
		return false;
	mark.reason = l->reason;
	gpucol_lower_restore(l, &mark);
	if (gpucol_lower_made_test(l, expr, out))
		return true;
	gpucol_lower_restore(l, &mark);
	return false;
}

/*
 * Lower an expression to a register.  A constant sub-expression is evaluated
 * at scan start, where PostgreSQL might never evaluate it only if it cannot
 * fail.  A program of very many instructions is declined: each costs a comparison
 * with those before it.
 */
bool
gpucol_lower_expr(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	bool		ok;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	out->packed = false;
	ok = l->ninstrs <= MAX_INSTRUCTIONS && lower_expr(l, expr, out);
	if (l->ninstrs > MAX_INSTRUCTIONS)
		return gpucol_lower_decline(l, "expression is too large");
	return ok;
}

/*
 * Lower a boolean expression.
 */
bool
gpucol_lower_bool(GpucolLower *l, Expr *expr, uint16 *reg)
{
	GpucolValue v;

	*reg = GPUCOL_NO_REG;		/* lest compilers fear that it stays unset */
	if (!gpucol_lower_expr(l, expr, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_B)
		return gpucol_lower_decline(l, "it is not a condition");
	*reg = v.reg;
	return true;
}
