/*-------------------------------------------------------------------------
 *
 * formula.c
 *	  Expressions of numbers and texts of a recursion, computed without PostgreSQL's executor: their steps.
 *
 * Sums downward, products along a path, paths as texts: what a recursive term computes is mostly a few operations.
 * They become steps on a stack, each of which is done for a piece of rows (formula_run.c).  Numerics are packed
 * decimals (kernel/packed_decimal.h); integers and floats are those of kernel/scalar.h; of texts there are
 * concatenation, parts, lengths, searches and equality.  Arrays of integers, by which a path knows where it has been,
 * are appended to, and searched.
 *
 * Both branches of a CASE are computed, and all arguments of COALESCE and OR: where one does not give PostgreSQL's
 * result, and counts, the row is the executor's, with its error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "kernel/numeric_code.h"
#include "kernel/scalar.h"
#include "lower/lower.h"
#include "recursion/exec/formula_steps.h"

typedef GpucolFormulaKind Kind;
typedef GpucolFormulaStep Step;
typedef GpucolFormulaValue Value;

static Kind compile(GpucolRecursiveFormula *formula, Node *node);
static Kind compile_function(GpucolRecursiveFormula *formula, Oid funcid, List *args, Oid collation);

static Step *
add_step(GpucolRecursiveFormula *formula, GpucolFormulaStepKind kind)
{
	/* one more than there is room for is never read */
	Step	   *step = &formula->steps[Min(formula->nsteps, GPUCOL_FORMULA_STEPS - 1)];

	memset(step, 0, sizeof(*step));
	step->kind = kind;
	formula->nsteps++;
	return step;
}

static Kind
kind_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return KIND_INT;
		case FLOAT8OID:
			return KIND_FLOAT;
		case NUMERICOID:
			return KIND_NUMERIC;
		case TEXTOID:
		case VARCHAROID:
			return KIND_TEXT;
		case BOOLOID:
			return KIND_BOOL;
		case INT4ARRAYOID:
			return KIND_INTS4;
		case INT8ARRAYOID:
			return KIND_INTS8;
		default:
			return KIND_NONE;
	}
}

/* Bytes of the elements of an array; 0: it is none. */
static int
width_of(Kind kind)
{
	return kind == KIND_INTS4 ? 4 : kind == KIND_INTS8 ? 8 : 0;
}

static Kind
compile_operand(GpucolRecursiveFormula *formula, const Var *var)
{
	Kind		kind = kind_of(var->vartype);

	for (int i = 0; i < formula->noperands && kind != KIND_NONE; i++)
	{
		Step	   *step;

		if (formula->positions[i] != var->varattno - 1)
			continue;
		step = add_step(formula, STEP_OPERAND);
		step->aux = i;
		step->of = kind;
		formula->has_strings |= kind == KIND_TEXT || width_of(kind) != 0;
		return kind;
	}
	return KIND_NONE;
}

bool
gpucol_formula_read_number(GpucolBytes bytes, Value *out)
{
	__int128	packed;

	if (gpucol_packed_read(bytes.data, bytes.len, &packed) != GPUCOL_OK)
		return false;
	out->d = packed;
	return true;
}

static Kind
compile_constant(GpucolRecursiveFormula *formula, const Const *value)
{
	Kind		kind = kind_of(value->consttype);
	Step	   *step;
	struct varlena *bytes;

	if (kind == KIND_NONE || (!value->constisnull && width_of(kind) != 0))
		return KIND_NONE;
	step = add_step(formula, value->constisnull ? STEP_NULL : STEP_CONSTANT);
	if (value->constisnull)
		return kind;
	switch (kind)
	{
		case KIND_BOOL:
			step->value.i = DatumGetBool(value->constvalue);
			return kind;
		case KIND_INT:
			step->value.i = value->consttype == INT2OID ? DatumGetInt16(value->constvalue) :
				value->consttype == INT4OID ? DatumGetInt32(value->constvalue) : DatumGetInt64(value->constvalue);
			return kind;
		case KIND_FLOAT:
			step->value.f = DatumGetFloat8(value->constvalue);
			return kind;
		default:
			bytes = PG_DETOAST_DATUM_PACKED(value->constvalue);
			step->value.s = (GpucolBytes) {VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)};
			return kind == KIND_TEXT || gpucol_formula_read_number(step->value.s, &step->value) ? kind : KIND_NONE;
	}
}

/* round(x, n), trunc(x, n), and the cast to a number of digits. */
static Kind
compile_rounding(GpucolRecursiveFormula *formula, Oid function, List *args)
{
	const Const *digits = lsecond(args);
	int			scale;
	int			precision = 0;
	Step	   *step;

	if (!IsA(digits, Const) || digits->constisnull || compile(formula, linitial(args)) != KIND_NUMERIC)
		return KIND_NONE;
	scale = DatumGetInt32(digits->constvalue);
	if (function == F_NUMERIC_NUMERIC_INT4)
	{
		int32		typmod = scale - (int32) VARHDRSZ;

		/* precision and scale, which may be negative (numeric.c) */
		precision = typmod >> 16 & 0xffff;
		scale = ((typmod & 0x7ff) ^ 1024) - 1024;
		if (typmod < 0)
			return KIND_NONE;
	}
	if (scale < 0 || scale > GPUCOL_PACKED_ROUND_MOST || precision > GPUCOL_PACKED_DIGITS)
		return KIND_NONE;
	step = add_step(formula, STEP_ROUND);
	step->aux = GPUCOL_PACKED_ROUND(scale, function == F_TRUNC_NUMERIC_INT4 ? GPUCOL_PACKED_ZERO : GPUCOL_PACKED_HALF);
	step->digits = precision;
	return KIND_NUMERIC;
}

/* A value as a text: a text itself, or an integer. */
static bool
compile_text(GpucolRecursiveFormula *formula, Node *node)
{
	Kind		kind = compile(formula, node);

	if (kind == KIND_INT)
		add_step(formula, STEP_WRITE);
	return kind == KIND_INT || kind == KIND_TEXT;
}

/* The parts of a concatenation, with a separator between them or NULL; how many there are, 0: it is none. */
static int
compile_parts(GpucolRecursiveFormula *formula, List *args, Node *separator)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, args)
	{
		const OpExpr *op = lfirst(lc);

		if (n > 0 && separator != NULL)
		{
			if (compile(formula, separator) != KIND_TEXT)
				return 0;
			n++;
		}
		if (IsA(op, OpExpr) && op->opfuncid == F_TEXTCAT)
		{
			int			below = compile_parts(formula, op->args, NULL);

			if (below == 0)
				return 0;
			n += below;
			continue;
		}
		if (!compile_text(formula, lfirst(lc)))
			return 0;
		n++;
	}
	return n;
}

static Kind
compile_concat(GpucolRecursiveFormula *formula, List *args, Node *separator, bool strict)
{
	int			n = compile_parts(formula, args, separator);
	Step	   *step;

	if (n == 0 || n > GPUCOL_FORMULA_STEPS)
		return KIND_NONE;
	step = add_step(formula, STEP_CONCAT);
	step->aux = n;
	step->op = strict;
	return KIND_TEXT;
}

/* array || element */
static Kind
compile_append(GpucolRecursiveFormula *formula, List *args)
{
	Kind		array = compile(formula, linitial(args));
	Oid			element = exprType(lsecond(args));

	if (width_of(array) == 0 || element != (array == KIND_INTS4 ? INT4OID : INT8OID) ||
		compile(formula, lsecond(args)) != KIND_INT)
		return KIND_NONE;
	add_step(formula, STEP_APPEND)->aux = width_of(array);
	return array;
}

/* x = ANY (array), x <> ALL (array) */
static Kind
compile_find(GpucolRecursiveFormula *formula, const ScalarArrayOpExpr *expr)
{
	Kind		array;

	switch (expr->opfuncid)
	{
		case F_INT4EQ:
		case F_INT8EQ:
		case F_INT48EQ:
		case F_INT84EQ:
			if (!expr->useOr)
				return KIND_NONE;
			break;
		case F_INT4NE:
		case F_INT8NE:
		case F_INT48NE:
		case F_INT84NE:
			if (expr->useOr)
				return KIND_NONE;
			break;
		default:
			return KIND_NONE;
	}
	if (compile(formula, linitial(expr->args)) != KIND_INT)
		return KIND_NONE;
	array = compile(formula, lsecond(expr->args));
	if (width_of(array) == 0)
		return KIND_NONE;
	add_step(formula, STEP_FIND)->aux = width_of(array);
	if (!expr->useOr)
		add_step(formula, STEP_NOT);
	return KIND_BOOL;
}

/* The steps of a CASE from its n-th branch on, each of which gives the same kind. */
static Kind
compile_case(GpucolRecursiveFormula *formula, const CaseExpr *expr, int n)
{
	const CaseWhen *when = list_nth(expr->args, n);
	const Node *before = formula->tested;
	bool		last = n + 1 == list_length(expr->args);
	Kind		kind;

	if (expr->defresult == NULL)
		return KIND_NONE;
	formula->tested = (Node *) expr->arg;
	kind = compile(formula, (Node *) when->expr);
	formula->tested = before;
	if (kind != KIND_BOOL)
		return KIND_NONE;
	kind = compile(formula, (Node *) when->result);
	if ((last ? compile(formula, (Node *) expr->defresult) : compile_case(formula, expr, n + 1)) != kind)
		return KIND_NONE;
	add_step(formula, STEP_SELECT);
	return kind;
}

/* What a CASE compares with its branches. */
static Kind
compile_tested(GpucolRecursiveFormula *formula)
{
	const Node *tested = formula->tested;
	Kind		kind;

	if (tested == NULL)
		return KIND_NONE;
	formula->tested = NULL;
	kind = compile(formula, unconstify(Node *, tested));
	formula->tested = tested;
	return kind;
}

static Kind
compile_logic(GpucolRecursiveFormula *formula, const BoolExpr *expr)
{
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		if (compile(formula, lfirst(lc)) != KIND_BOOL)
			return KIND_NONE;
		if (expr->boolop == NOT_EXPR)
			add_step(formula, STEP_NOT);
		else if (foreach_current_index(lc) > 0)
			add_step(formula, expr->boolop == AND_EXPR ? STEP_AND : STEP_OR);
	}
	return KIND_BOOL;
}

static Kind
compile_null_test(GpucolRecursiveFormula *formula, const NullTest *test)
{
	if (test->argisrow || compile(formula, (Node *) test->arg) == KIND_NONE)
		return KIND_NONE;
	add_step(formula, STEP_IS_NULL);
	if (test->nulltesttype == IS_NOT_NULL)
		add_step(formula, STEP_NOT);
	return KIND_BOOL;
}

/* COALESCE, GREATEST and LEAST: a step for each argument but the first. */
static Kind
compile_some(GpucolRecursiveFormula *formula, List *args, GpucolFormulaStepKind step, int aux)
{
	Kind		kind = KIND_NONE;
	ListCell   *lc;

	foreach(lc, args)
	{
		Kind		one = compile(formula, lfirst(lc));
		Step	   *made;

		if (one == KIND_NONE || (foreach_current_index(lc) > 0 && one != kind))
			return KIND_NONE;
		kind = one;
		if (step == STEP_EXTREME && kind != KIND_INT && kind != KIND_FLOAT && kind != KIND_NUMERIC)
			return KIND_NONE;
		if (foreach_current_index(lc) == 0)
			continue;
		made = add_step(formula, step);
		made->aux = aux;
		made->of = kind;
	}
	return kind;
}

static Kind
compile_nullif(GpucolRecursiveFormula *formula, const NullIfExpr *expr)
{
	Kind		kind;

	if (compile_function(formula, expr->opfuncid, expr->args, expr->inputcollid) != KIND_BOOL)
		return KIND_NONE;
	add_step(formula, STEP_NULL);
	kind = compile(formula, linitial(expr->args));
	add_step(formula, STEP_SELECT);
	return kind;
}

/* The step of a function that engines know, of operands of a kind; what it gives. */
static Kind
add_function(GpucolRecursiveFormula *formula, const GpucolFunction *function, Kind kind, int nargs)
{
	GpucolOpcode op = (GpucolOpcode) function->op;
	int			aux = function->aux;
	Step	   *step;

	if (kind == KIND_INT && nargs == 1 && op == GPUCOL_OP_I_TO_D)
	{
		add_step(formula, STEP_NUMBER);
		return KIND_NUMERIC;
	}
	if (kind == KIND_INT && nargs == 1 && op == GPUCOL_OP_CHECK_I && aux == 0)
		return KIND_INT;		/* a widening cast */
	step = add_step(formula, STEP_FUNCTION);
	step->op = op;
	step->aux = aux;
	switch (op)
	{
		case GPUCOL_OP_ADD_I:
		case GPUCOL_OP_SUB_I:
		case GPUCOL_OP_MUL_I:
		case GPUCOL_OP_DIV_I:
		case GPUCOL_OP_MOD_I:
			return kind == KIND_INT && nargs == 2 ? KIND_INT : KIND_NONE;
		case GPUCOL_OP_CHECK_I:
			return kind == KIND_INT && nargs == 1 && aux != GPUCOL_WIDTH_NONE ? KIND_INT : KIND_NONE;
		case GPUCOL_OP_I_TO_F:
			return kind == KIND_INT && nargs == 1 && aux == 8 ? KIND_FLOAT : KIND_NONE;
		case GPUCOL_OP_ADD_F:
		case GPUCOL_OP_SUB_F:
		case GPUCOL_OP_MUL_F:
		case GPUCOL_OP_DIV_F:
			return kind == KIND_FLOAT && nargs == 2 && aux == 8 ? KIND_FLOAT : KIND_NONE;
		case GPUCOL_OP_ADD_D:
		case GPUCOL_OP_SUB_D:
		case GPUCOL_OP_MUL_D:
			step->aux = op == GPUCOL_OP_ADD_D ? GPUCOL_PACKED_ADD : op == GPUCOL_OP_SUB_D ? GPUCOL_PACKED_SUB :
				GPUCOL_PACKED_MUL;
			step->op = GPUCOL_OP_ARITH_P;
			return kind == KIND_NUMERIC && nargs == 2 ? KIND_NUMERIC : KIND_NONE;
		case GPUCOL_OP_ARITH_P:
			return kind == KIND_NUMERIC && nargs == 2 ? KIND_NUMERIC : KIND_NONE;
		case GPUCOL_OP_EQ_D:
		case GPUCOL_OP_NE_D:
		case GPUCOL_OP_LT_D:
		case GPUCOL_OP_LE_D:
			step->aux = op == GPUCOL_OP_EQ_D ? GPUCOL_PACKED_EQ : op == GPUCOL_OP_NE_D ? GPUCOL_PACKED_NE :
				op == GPUCOL_OP_LT_D ? GPUCOL_PACKED_LT : GPUCOL_PACKED_LE;
			step->op = GPUCOL_OP_COMPARE_P;
			return kind == KIND_NUMERIC && nargs == 2 ? KIND_BOOL : KIND_NONE;
		case GPUCOL_OP_NEG_F:
		case GPUCOL_OP_ABS_F:
			return kind == KIND_FLOAT && nargs == 1 ? KIND_FLOAT : KIND_NONE;
		case GPUCOL_OP_EQ_F:
		case GPUCOL_OP_NE_F:
		case GPUCOL_OP_LT_F:
		case GPUCOL_OP_LE_F:
			return kind == KIND_FLOAT && nargs == 2 ? KIND_BOOL : KIND_NONE;
		case GPUCOL_OP_EQ_I:
		case GPUCOL_OP_NE_I:
		case GPUCOL_OP_LT_I:
		case GPUCOL_OP_LE_I:
			return kind == KIND_INT && nargs == 2 ? KIND_BOOL : KIND_NONE;
		case GPUCOL_OP_NEG_D:
		case GPUCOL_OP_ABS_D:
			step->aux = op == GPUCOL_OP_NEG_D ? GPUCOL_PACKED_NEG : GPUCOL_PACKED_ABS;
			step->op = GPUCOL_OP_PART_P;
			return kind == KIND_NUMERIC && nargs == 1 ? KIND_NUMERIC : KIND_NONE;
		default:
			return KIND_NONE;
	}
}

/* The arguments of a function of texts, by kind ('t' a text, 'i' an integer). */
static bool
compile_args(GpucolRecursiveFormula *formula, List *args, const char *kinds)
{
	ListCell   *lc;

	if (list_length(args) != (int) strlen(kinds))
		return false;
	foreach(lc, args)
		if (compile(formula, lfirst(lc)) != (kinds[foreach_current_index(lc)] == 't' ? KIND_TEXT : KIND_INT))
			return false;
	return true;
}

static Kind
compile_part(GpucolRecursiveFormula *formula, List *args, GpucolFormulaPart part)
{
	if (!compile_args(formula, args, part == PART_FROM_FOR ? "tii" : "ti"))
		return KIND_NONE;
	add_step(formula, STEP_PART)->aux = part;
	return KIND_TEXT;
}

/* A function of two texts that compares them by their bytes. */
static Kind
compile_bytewise(GpucolRecursiveFormula *formula, List *args, Oid collation, GpucolFormulaStepKind step, Kind kind)
{
	if (!OidIsValid(collation) || !get_collation_isdeterministic(collation) || !compile_args(formula, args, "tt"))
		return KIND_NONE;
	add_step(formula, step);
	return kind;
}

/* A function of texts; false: it is none, or nothing is known of the characters. */
static bool
compile_text_function(GpucolRecursiveFormula *formula, Oid funcid, List *args, Oid collation, Kind *kind)
{
	if (!formula->is_bytes && GetDatabaseEncoding() != PG_UTF8)
		return false;
	switch (funcid)
	{
		case F_SUBSTR_TEXT_INT4:
		case F_SUBSTRING_TEXT_INT4:
			*kind = compile_part(formula, args, PART_FROM);
			return true;
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4_INT4:
			*kind = compile_part(formula, args, PART_FROM_FOR);
			return true;
		case F_LEFT:
			*kind = compile_part(formula, args, PART_LEFT);
			return true;
		case F_RIGHT:
			*kind = compile_part(formula, args, PART_RIGHT);
			return true;
		case F_LENGTH_TEXT:
		case F_CHAR_LENGTH_TEXT:
		case F_CHARACTER_LENGTH_TEXT:
			*kind = compile_args(formula, args, "t") ? KIND_INT : KIND_NONE;
			add_step(formula, STEP_LENGTH);
			return true;
		case F_STRPOS:
		case F_POSITION_TEXT_TEXT:
			*kind = compile_bytewise(formula, args, collation, STEP_SEARCH, KIND_INT);
			return true;
		case F_TEXTEQ:
			*kind = compile_bytewise(formula, args, collation, STEP_ALIKE, KIND_BOOL);
			return true;
		case F_TEXTNE:
			*kind = compile_bytewise(formula, args, collation, STEP_ALIKE, KIND_BOOL);
			add_step(formula, STEP_NOT);
			return true;
		default:
			return false;
	}
}

static Kind
compile_function(GpucolRecursiveFormula *formula, Oid funcid, List *args, Oid collation)
{
	const GpucolFunction *function;
	Kind		kind = KIND_NONE;
	ListCell   *lc;

	if (compile_text_function(formula, funcid, args, collation, &kind))
		return kind;

	switch (funcid)
	{
		case F_ROUND_NUMERIC_INT4:
		case F_TRUNC_NUMERIC_INT4:
		case F_NUMERIC_NUMERIC_INT4:
			return compile_rounding(formula, funcid, args);
		case F_FLOAT8_NUMERIC:
			kind = compile(formula, linitial(args));
			add_step(formula, STEP_REAL);
			return kind == KIND_NUMERIC ? KIND_FLOAT : KIND_NONE;
		case F_TEXTCAT:
			return compile_concat(formula, args, NULL, true);
		case F_CONCAT:
			return compile_concat(formula, args, NULL, false);
		case F_ARRAY_APPEND:
			return compile_append(formula, args);
		case F_CONCAT_WS:
			return compile_concat(formula, list_copy_tail(args, 1), linitial(args), false);
		default:
			break;
	}
	function = gpucol_lower_function(funcid);
	if (function == NULL || list_length(args) > 2)
		return KIND_NONE;
	if (function->swap)
		args = list_make2(lsecond(args), linitial(args));
	foreach(lc, args)
	{
		Kind		one = compile(formula, lfirst(lc));

		if (one == KIND_NONE || (foreach_current_index(lc) > 0 && one != kind))
			return KIND_NONE;
		kind = one;
	}
	return add_function(formula, function, kind, list_length(args));
}

/* A cast that changes the type's name only. */
static Kind
compile_relabel(GpucolRecursiveFormula *formula, const RelabelType *relabel)
{
	Kind		kind = compile(formula, (Node *) relabel->arg);

	return kind == kind_of(relabel->resulttype) ? kind : KIND_NONE;
}

/* Add the steps of an expression; what it gives. */
static Kind
compile(GpucolRecursiveFormula *formula, Node *node)
{
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_Var:
			return compile_operand(formula, (Var *) node);
		case T_Const:
			return compile_constant(formula, (Const *) node);
		case T_OpExpr:
			return compile_function(formula, ((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args,
									((OpExpr *) node)->inputcollid);
		case T_FuncExpr:
			return ((FuncExpr *) node)->funcvariadic ? KIND_NONE :
				compile_function(formula, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args,
								 ((FuncExpr *) node)->inputcollid);
		case T_CaseExpr:
			return compile_case(formula, (CaseExpr *) node, 0);
		case T_ScalarArrayOpExpr:
			return compile_find(formula, (ScalarArrayOpExpr *) node);
		case T_BoolExpr:
			return compile_logic(formula, (BoolExpr *) node);
		case T_NullTest:
			return compile_null_test(formula, (NullTest *) node);
		case T_NullIfExpr:
			return compile_nullif(formula, (NullIfExpr *) node);
		case T_CoalesceExpr:
			return compile_some(formula, ((CoalesceExpr *) node)->args, STEP_EITHER, 0);
		case T_MinMaxExpr:
			return compile_some(formula, ((MinMaxExpr *) node)->args, STEP_EXTREME,
								((MinMaxExpr *) node)->op == IS_LEAST);
		case T_CaseTestExpr:
			return compile_tested(formula);
		case T_RelabelType:
			return compile_relabel(formula, (RelabelType *) node);
		case T_CoerceViaIO:
			return ((CoerceViaIO *) node)->resulttype == TEXTOID &&
				compile_text(formula, (Node *) ((CoerceViaIO *) node)->arg) ? KIND_TEXT : KIND_NONE;
		default:
			return KIND_NONE;
	}
}

/* The most values that are on the stack at a time. */
static int
depth_of(const GpucolRecursiveFormula *formula)
{
	int			n = 0;
	int			most = 0;

	for (int s = 0; s < formula->nsteps; s++)
	{
		n += 1 - gpucol_formula_step_takes(&formula->steps[s]);
		most = Max(most, n);
	}
	return most;
}

/* Do all steps give numbers, and read numbers? */
static bool
is_of_numbers(const GpucolRecursiveFormula *formula)
{
	for (int s = 0; s < formula->nsteps; s++)
	{
		switch (formula->steps[s].kind)
		{
			case STEP_WRITE:
			case STEP_CONCAT:
			case STEP_PART:
			case STEP_LENGTH:
			case STEP_SEARCH:
			case STEP_ALIKE:
			case STEP_APPEND:
			case STEP_FIND:
				return false;
			default:
				break;
		}
	}
	return !formula->has_strings && formula->result != KIND_TEXT;
}

bool
gpucol_recursive_formula_is_apart(const GpucolRecursiveFormula *formula)
{
	return formula->apart;
}

GpucolRecursiveFormula *
gpucol_recursive_formula_create(Expr *expr, const int *positions, int noperands)
{
	GpucolRecursiveFormula *formula = palloc0(sizeof(GpucolRecursiveFormula));

	formula->noperands = noperands;
	formula->positions = positions;
	formula->type = exprType((Node *) expr);
	formula->is_bytes = pg_database_encoding_max_length() == 1;
	formula->result = compile(formula, (Node *) expr);
	if (formula->result == KIND_NONE || formula->nsteps > GPUCOL_FORMULA_STEPS ||
		kind_of(formula->type) != formula->result)
	{
		pfree(formula);
		return NULL;
	}
	formula->lanes = palloc(sizeof(GpucolFormulaLane) * depth_of(formula));
	formula->apart = depth_of(formula) <= GPUCOL_FORMULA_APART && is_of_numbers(formula);
	return formula;
}
