/*-------------------------------------------------------------------------
 *
 * pipe_key.c
 *	  Keys of joins: one side of an equality each, brought to a form that is the same
 *	  for equal values of both.
 *
 *	  integers, dates, floats		as they are
 *	  numerics of a precision		mantissas of one scale
 *	  a numeric without one			beside a mantissa of a precision, or an integer's: such a
 *									one, NULL where it has none, as infinity has not;
 *									beside its like: the same, of the scale that the table's have,
 *									as far as is known, each of which must have one then; or
 *									bytes without zeros at the end
 *	  a date beside a timestamp		the timestamp of its first moment
 *	  character(n) of two lengths,	text without blanks at the end
 *	  or of any
 *	  texts, and what is made of them	bytes: parts are found by engines, else PostgreSQL
 *									makes them, once for each value of their column
 *
 * What the executor lowers are the expressions that the planner has left in the step.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "columnar/numeric_form.h"
#include "kernel/packed_decimal.h"
#include "lower/calendar.h"
#include "lower/pipe.h"

/* Beside the scale of a key: its outer, or its inner side is a mantissa where it has one. */
#define EXACT_OUTER		(1 << 20)
#define EXACT_INNER		(1 << 21)

/* Digits of an int64. */
#define EXACT_DIGITS	19

/* Are two of the types of dates and timestamps, with or without time zone, compared in the form of one? */
static bool
are_different_times(Oid left, Oid right)
{
	return left != right &&
		(left == DATEOID || left == TIMESTAMPOID || left == TIMESTAMPTZOID) &&
		(right == DATEOID || right == TIMESTAMPOID || right == TIMESTAMPTZOID);
}

/* Is this operator equality, as engines have it, of these two types? */
static bool
is_equality(Oid oper, Oid left, Oid right)
{
	TypeCacheEntry *type;

	if (get_op_opfamily_strategy(oper, INTEGER_BTREE_FAM_OID) == BTEqualStrategyNumber)
		return true;
	type = lookup_type_cache(FLOAT8OID, TYPECACHE_BTREE_OPFAMILY);
	if (get_op_opfamily_strategy(oper, type->btree_opf) == BTEqualStrategyNumber)
		return true;
	if (are_different_times(getBaseType(left), getBaseType(right)))
	{
		type = lookup_type_cache(DATEOID, TYPECACHE_BTREE_OPFAMILY);
		return get_op_opfamily_strategy(oper, type->btree_opf) == BTEqualStrategyNumber;
	}
	if (getBaseType(left) != getBaseType(right))
		return false;
	type = lookup_type_cache(getBaseType(left), TYPECACHE_EQ_OPR);
	return type->eq_opr == oper;
}

/* Have the host make a key whose equal values have equal bytes. */
static bool
lower_made(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	GpucolTypeMap map;

	gpucol_typemap_init(&map, exprType((Node *) expr), exprTypmod((Node *) expr), exprCollation((Node *) expr));
	/* without zeros at the end a numeric has one form alone */
	if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_TRIM_SCALE)
		map.bytewise_equal = true;
	return map.kind == GPUCOL_KIND_BYTES && map.bytewise_equal && gpucol_lower_host_map(l, expr, value);
}

/* A numeric without a precision as a mantissa, at scale 0. */
static bool
lower_exact(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	if (!gpucol_lower_expr(l, expr, value))
		return false;
	if (value->cls != GPUCOL_CLASS_S || getBaseType(exprType((Node *) expr)) != NUMERICOID)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	value->cls = GPUCOL_CLASS_D;
	value->scale = 0;
	value->digits = EXACT_DIGITS;
	return true;
}

/* A key in its own form. */
static bool
lower_plain(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	if (!gpucol_lower_expr(l, expr, value))
		return false;
	if (value->cls == GPUCOL_CLASS_S && !gpucol_lower_check_bytewise(l, expr))
		return false;
	if (gpucol_value_scale_varies(value))
		return gpucol_lower_decline(l, "its numeric values have different numbers of fractional digits");
	return true;
}

/*
 * Lower one side of a key; its class and scale.  What GPUCOL_PIPE_EXACT_KEY leaves is a register
 * of class S yet.
 */
bool
gpucol_pipe_lower_key(GpucolLower *l, Expr *expr, GpucolPipeQuestion as, GpucolValue *value)
{
	GpucolLower mark = *l;
	bool		ok;

	l->parts = true;
	ok = as == GPUCOL_PIPE_EXACT_KEY ? lower_exact(l, expr, value) : lower_plain(l, expr, value);
	l->parts = mark.parts;
	if (ok)
		return true;
	mark.reason = l->reason;
	gpucol_lower_restore(l, &mark);
	if (as == GPUCOL_PIPE_KEY && lower_made(l, expr, value))
		return true;
	gpucol_lower_restore(l, &mark);
	l->reason = mark.reason;
	return false;
}

/* A function of a key. */
static Expr *
call(Oid funcid, Oid type, Expr *arg)
{
	return (Expr *) makeFuncExpr(funcid, type, list_make1(copyObject(arg)),
								 type == TEXTOID ? exprCollation((Node *) arg) : InvalidOid,
								 exprCollation((Node *) arg), COERCE_EXPLICIT_CALL);
}

/* Ask for both sides of a key. */
static void
ask_both(const GpucolPipe *drive, const GpucolPipe *build, Expr *outer, Expr *inner, GpucolPipeAnswer *answers)
{
	answers[0] = gpucol_pipe_ask(drive, NULL, outer, GPUCOL_PIPE_KEY);
	answers[1] = gpucol_pipe_ask(build, NULL, inner, GPUCOL_PIPE_KEY);
}

/* Is a numeric made of an integer? */
static bool
is_integer(const Expr *key)
{
	const FuncExpr *made = (const FuncExpr *) key;
	Oid			from;

	if (!IsA(key, FuncExpr) || list_length(made->args) != 1)
		return false;
	from = exprType(linitial(made->args));
	return from == INT2OID || from == INT4OID || from == INT8OID;
}

/* Does a pipe read tables of ours alone, which engines do not read as mantissas where some value has none? */
static bool
reads_tables(const GpucolPipe *pipe)
{
	ListCell   *lc;

	if (pipe->rti == 0)
		return false;
	foreach(lc, pipe->steps)
	{
		if (!reads_tables(((const GpucolPipeStep *) lfirst(lc))->build))
			return false;
	}
	return true;
}

/* Has a key that is a mantissa no value that is none, NaN or infinity, which the other side may have? */
static bool
is_always_exact(const GpucolPipe *pipe, const Expr *key)
{
	return is_integer(key) || (exprTypmod((const Node *) key) >= 0 && reads_tables(pipe));
}

/* The form of a column of a table that is built, if it is known. */
static bool
find_inner_form(const GpucolPipe *build, const Expr *key, GpucolNumericForm *form)
{
	const Var  *var = (const Var *) key;
	ListCell   *lc;

	if (!IsA(var, Var) || var->varattno <= 0)
		return false;
	if (build->rti == (Index) var->varno)
		return gpucol_find_numeric_form(build->table, var->varattno, form);
	foreach(lc, build->steps)
	{
		if (find_inner_form(((const GpucolPipeStep *) lfirst(lc))->build, key, form))
			return true;
	}
	return false;
}

/*
 * Have two numerics without a precision be mantissas of the scale that the inner ones are known to have: rows of
 * another one have no partner, unless that is not so, and the making of the table is handed back.
 */
static bool
ask_formed(const GpucolPipe *drive, const GpucolPipe *build, Expr *outer, Expr *inner, GpucolPipeAnswer *answers)
{
	GpucolNumericForm form;
	GpucolPipeAnswer exact[2];

	if (!find_inner_form(build, inner, &form) || form.scale < 0)
		return false;
	exact[0] = gpucol_pipe_ask(drive, NULL, outer, GPUCOL_PIPE_EXACT_KEY);
	exact[1] = gpucol_pipe_ask(build, NULL, inner, GPUCOL_PIPE_EXACT_KEY);
	if (exact[0].reason != NULL || exact[1].reason != NULL)
		return false;
	memcpy(answers, exact, sizeof(exact));
	answers[1].value.scale = form.scale;
	return true;
}

/* Find forms for two numerics that have none as they are; EXACT_OUTER, EXACT_INNER, both, or 0. */
static int
ask_numerics(const GpucolPipe *drive, const GpucolPipe *build, Expr **outer, Expr **inner,
			 GpucolPipeAnswer *answers)
{
	if (answers[0].reason == NULL && answers[1].reason == NULL)
		return 0;
	if (exprTypmod((Node *) *outer) < 0 && exprTypmod((Node *) *inner) < 0 &&
		!is_integer(*outer) && !is_integer(*inner))
	{
		Expr	   *trimmed[2] = {call(F_TRIM_SCALE, NUMERICOID, *outer), call(F_TRIM_SCALE, NUMERICOID, *inner)};
		GpucolPipeAnswer of_trimmed[2];

		if (ask_formed(drive, build, *outer, *inner, answers))
			return EXACT_OUTER | EXACT_INNER;
		ask_both(drive, build, trimmed[0], trimmed[1], of_trimmed);
		if (of_trimmed[0].reason != NULL || of_trimmed[1].reason != NULL)
			return 0;
		memcpy(answers, of_trimmed, sizeof(of_trimmed));
		*outer = trimmed[0];
		*inner = trimmed[1];
	}
	else if (answers[0].reason != NULL && answers[1].value.cls == GPUCOL_CLASS_D &&
			 is_always_exact(build, *inner))
	{
		answers[0] = gpucol_pipe_ask(drive, NULL, *outer, GPUCOL_PIPE_EXACT_KEY);
		return EXACT_OUTER;
	}
	else if (answers[1].reason != NULL && answers[0].value.cls == GPUCOL_CLASS_D &&
			 is_always_exact(drive, *outer))
	{
		answers[1] = gpucol_pipe_ask(build, NULL, *inner, GPUCOL_PIPE_EXACT_KEY);
		return EXACT_INNER;
	}
	return 0;
}

/*
 * Add a key to a step.
 */
const char *
gpucol_pipe_add_key(const GpucolPipe *drive, GpucolPipeStep *step, Expr *outer_key,
					Expr *inner_key, Oid oper)
{
	Oid			left = exprType((Node *) outer_key);
	Oid			right = exprType((Node *) inner_key);
	GpucolPipeAnswer answers[2];
	const GpucolPipeAnswer *a = &answers[0];
	const GpucolPipeAnswer *b = &answers[1];
	bool		as_is = step->kind == GPUCOL_JOIN_NOT_IN;	/* which knows NULLs from other misses */
	int			exact = 0;

	if (!is_equality(oper, left, right))
		return "joined by an equality other than the type's own";
	if (as_is && getBaseType(left) == BPCHAROID && exprTypmod((Node *) outer_key) != exprTypmod((Node *) inner_key))
		return "joined columns of type character have different lengths";
	if (getBaseType(left) == BPCHAROID && !as_is &&
		(exprTypmod((Node *) outer_key) < 0 || exprTypmod((Node *) outer_key) != exprTypmod((Node *) inner_key)))
	{
		outer_key = call(F_TEXT_BPCHAR, TEXTOID, outer_key);
		inner_key = call(F_TEXT_BPCHAR, TEXTOID, inner_key);
	}
	ask_both(drive, step->build, outer_key, inner_key, answers);
	if (getBaseType(left) == NUMERICOID && !as_is)
		exact = ask_numerics(drive, step->build, &outer_key, &inner_key, answers);
	if (a->reason != NULL || b->reason != NULL)
		return a->reason != NULL ? a->reason : b->reason;
	if (a->value.cls != b->value.cls)
		return "joined columns have different forms";
	step->outer_keys = lappend(step->outer_keys, outer_key);
	step->inner_keys = lappend(step->inner_keys, inner_key);
	step->classes = lappend_int(step->classes, a->value.cls);
	step->scales = lappend_int(step->scales, a->value.cls == GPUCOL_CLASS_D ?
							   Max(a->value.scale, b->value.scale) | exact : 0);
	return NULL;
}

/*
 * Is one side of a step's key a date or timestamp that is compared in the form of the other side's type?
 */
bool
gpucol_pipe_key_is_stamp(const GpucolPipeStep *step, int number, const Node *key)
{
	Oid			outer = getBaseType(exprType(list_nth(step->outer_keys, number)));
	Oid			inner = getBaseType(exprType(list_nth(step->inner_keys, number)));
	Oid			type = getBaseType(exprType(key));

	return are_different_times(outer, inner) &&
		(type == DATEOID || (type == TIMESTAMPOID && (outer == TIMESTAMPTZOID || inner == TIMESTAMPTZOID)));
}

/* Does a step's key compare moments: has a side of it a time zone? */
static bool
key_is_zoned(const GpucolPipeStep *step, int number)
{
	return getBaseType(exprType(list_nth(step->outer_keys, number))) == TIMESTAMPTZOID ||
		getBaseType(exprType(list_nth(step->inner_keys, number))) == TIMESTAMPTZOID;
}

/* The table of a key that is a column of a laid out pipe. */
static Oid
table_of_key(const GpucolPipe *pipe, const Expr *key)
{
	AttrNumber	attnum = IsA(key, Var) ? ((const Var *) key)->varattno : 0;

	return attnum > 0 ? gpucol_pipe_table(pipe, &attnum) : InvalidOid;
}

/*
 * Lower a key of a step, brought to the class and scale that both sides have.
 */
bool
gpucol_pipe_lower_step_key(GpucolLower *l, const GpucolPipe *pipe, const GpucolPipeStep *step, int number,
						   Node *key, uint16 *reg)
{
	GpucolClass cls = (GpucolClass) list_nth_int(step->classes, number);
	int			exact = list_nth_int(step->scales, number) & (EXACT_OUTER | EXACT_INNER);
	int			scale = list_nth_int(step->scales, number) & ~exact;
	Expr	   *expr = (Expr *) gpucol_pipe_map(pipe, key);
	GpucolValue value;

	if (exact & (pipe == step->build ? EXACT_INNER : EXACT_OUTER))
	{
		if (!gpucol_pipe_lower_key(l, expr, GPUCOL_PIPE_EXACT_KEY, &value))
			return false;
		if (pipe == step->build && (exact & EXACT_OUTER))
		{
			l->formed = list_append_unique_oid(l->formed, table_of_key(pipe, expr));
			scale |= GPUCOL_NUMERIC_EXACTLY;
		}
		*reg = gpucol_lower_emit(l, GPUCOL_OP_NUMERIC_D, value.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, scale);
		return true;
	}
	if (!gpucol_pipe_lower_key(l, expr, GPUCOL_PIPE_KEY, &value))
		return false;
	if (value.cls != cls)
		return gpucol_lower_decline(l, "joined columns have different forms");
	if (cls == GPUCOL_CLASS_D && !gpucol_lower_rescale(l, &value, scale))
		return false;
	*reg = value.reg;
	return !gpucol_pipe_key_is_stamp(step, number, key) ||
		gpucol_lower_as_stamp(l, getBaseType(exprType(key)), key_is_zoned(step, number), reg);
}
