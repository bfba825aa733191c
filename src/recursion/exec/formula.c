/*-------------------------------------------------------------------------
 *
 * formula.c
 *	  Expressions of numbers and texts of a recursion, computed without PostgreSQL's executor.
 *
 * Sums downward, products along a path, paths as texts: what a recursive term computes is mostly a few operations.
 * They become steps on a stack.  Numerics are packed decimals (kernel/packed_decimal.h), which are written as
 * PostgreSQL stores them; integers and floats are those of kernel/scalar.h; of texts there is concatenation.
 * Arrays of integers, by which a path knows where it has been, are appended to, and searched.  Where a step does
 * not give PostgreSQL's result, the row is the executor's, with its error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "columnar/typemap.h"
#include "kernel/array_value.h"
#include "kernel/numeric_code.h"
#include "kernel/scalar.h"
#include "lower/lower.h"
#include "recursion/exec/formula.h"

#define MOST_STEPS	48

/* Elements of an array that is appended to */
#define MOST_ELEMENTS	100000

/* What a value is. */
typedef enum Kind
{
	KIND_NONE,
	KIND_INT,
	KIND_FLOAT,
	KIND_NUMERIC,
	KIND_TEXT,
	KIND_BOOL,
	KIND_INTS4,					/* arrays of integers of so many bytes */
	KIND_INTS8
} Kind;

typedef union Value
{
	int64		i;
	double		f;
	int128		d;				/* packed; aligned as allocations are */
	GpucolBytes s;				/* TEXT, and arrays */
} Value;

typedef enum StepKind
{
	STEP_OPERAND,				/* aux: its number */
	STEP_CONSTANT,
	STEP_FUNCTION,				/* an opcode of one or two operands */
	STEP_NUMBER,				/* an integer as a packed decimal */
	STEP_ROUND,					/* aux: GPUCOL_PACKED_ROUND */
	STEP_WRITE,					/* an integer as text */
	STEP_CONCAT,				/* the last aux values as one */
	STEP_APPEND,				/* an integer to an array, of elements of aux bytes */
	STEP_FIND,					/* is an integer an element of such an array? */
	STEP_NOT,
	STEP_UNLESS,				/* goes on with step aux unless a condition holds, */
	STEP_GO						/* or anyway */
} StepKind;

typedef struct Step
{
	StepKind	kind;
	Kind		of;				/* OPERAND */
	uint8		op;
	int			aux;
	int			digits;			/* ROUND: at most, else an error; 0: any number */
	Value		value;
} Step;

struct GpucolRecursiveFormula
{
	int			noperands;
	const int  *positions;
	Kind		result;
	Oid			type;
	int			nsteps;
	Step		steps[MOST_STEPS];
};

static Kind compile(GpucolRecursiveFormula *formula, Node *node);

static Step *
add_step(GpucolRecursiveFormula *formula, StepKind kind)
{
	/* one more than there is room for is never read */
	Step	   *step = &formula->steps[Min(formula->nsteps, MOST_STEPS - 1)];

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
		return kind;
	}
	return KIND_NONE;
}

/* A numeric's bytes as a packed decimal. */
static bool
read_number(GpucolBytes bytes, Value *out)
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
	Kind		kind = value->constisnull ? KIND_NONE : kind_of(value->consttype);
	Step	   *step;
	struct varlena *bytes;

	if (kind == KIND_NONE || kind == KIND_BOOL || width_of(kind) != 0)
		return KIND_NONE;
	step = add_step(formula, STEP_CONSTANT);
	switch (kind)
	{
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
			return kind == KIND_TEXT || read_number(step->value.s, &step->value) ? kind : KIND_NONE;
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
compile_concat(GpucolRecursiveFormula *formula, List *args, Node *separator)
{
	int			n = compile_parts(formula, args, separator);

	if (n == 0 || n > MOST_STEPS)
		return KIND_NONE;
	add_step(formula, STEP_CONCAT)->aux = n;
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
	bool		last = n + 1 == list_length(expr->args);
	Kind		kind;
	int			unless;
	int			go;

	if (expr->arg != NULL || expr->defresult == NULL || compile(formula, (Node *) when->expr) != KIND_BOOL)
		return KIND_NONE;
	unless = formula->nsteps;
	add_step(formula, STEP_UNLESS);
	kind = compile(formula, (Node *) when->result);
	go = formula->nsteps;
	add_step(formula, STEP_GO);
	if (go >= MOST_STEPS)
		return KIND_NONE;
	formula->steps[unless].aux = formula->nsteps;
	if (kind == KIND_TEXT || width_of(kind) != 0 ||
		(last ? compile(formula, (Node *) expr->defresult) : compile_case(formula, expr, n + 1)) != kind)
		return KIND_NONE;
	formula->steps[go].aux = formula->nsteps;
	return kind;
}

static Kind
compile_not(GpucolRecursiveFormula *formula, const BoolExpr *expr)
{
	if (expr->boolop != NOT_EXPR || compile(formula, linitial(expr->args)) != KIND_BOOL)
		return KIND_NONE;
	add_step(formula, STEP_NOT);
	return KIND_BOOL;
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

static Kind
compile_function(GpucolRecursiveFormula *formula, Oid funcid, List *args)
{
	const GpucolFunction *function;
	Kind		kind = KIND_NONE;
	ListCell   *lc;

	switch (funcid)
	{
		case F_ROUND_NUMERIC_INT4:
		case F_TRUNC_NUMERIC_INT4:
		case F_NUMERIC_NUMERIC_INT4:
			return compile_rounding(formula, funcid, args);
		case F_TEXTCAT:
		case F_CONCAT:
			return compile_concat(formula, args, NULL);
		case F_ARRAY_APPEND:
			return compile_append(formula, args);
		case F_CONCAT_WS:
			return compile_concat(formula, list_copy_tail(args, 1), linitial(args));
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
			return compile_function(formula, ((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args);
		case T_FuncExpr:
			return ((FuncExpr *) node)->funcvariadic ? KIND_NONE :
				compile_function(formula, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
		case T_CaseExpr:
			return compile_case(formula, (CaseExpr *) node, 0);
		case T_ScalarArrayOpExpr:
			return compile_find(formula, (ScalarArrayOpExpr *) node);
		case T_BoolExpr:
			return compile_not(formula, (BoolExpr *) node);
		case T_RelabelType:
			return compile_relabel(formula, (RelabelType *) node);
		case T_CoerceViaIO:
			return ((CoerceViaIO *) node)->resulttype == TEXTOID &&
				compile_text(formula, (Node *) ((CoerceViaIO *) node)->arg) ? KIND_TEXT : KIND_NONE;
		default:
			return KIND_NONE;
	}
}

/* Is a result that is not passed by value made by the last step, so that there is room before it? */
static bool
is_made(const GpucolRecursiveFormula *formula)
{
	StepKind	last = formula->steps[formula->nsteps - 1].kind;

	return (formula->result != KIND_TEXT || last == STEP_CONCAT) &&
		(width_of(formula->result) == 0 || last == STEP_APPEND);
}

GpucolRecursiveFormula *
gpucol_recursive_formula_create(Expr *expr, const int *positions, int noperands)
{
	GpucolRecursiveFormula *formula = palloc0(sizeof(GpucolRecursiveFormula));

	formula->noperands = noperands;
	formula->positions = positions;
	formula->type = exprType((Node *) expr);
	formula->result = compile(formula, (Node *) expr);
	if (formula->result == KIND_NONE || formula->nsteps > MOST_STEPS || kind_of(formula->type) != formula->result ||
		!is_made(formula))
	{
		pfree(formula);
		return NULL;
	}
	return formula;
}

/* An operand of a row. */
static bool
read_operand(const Step *step, const GpucolSymbols *symbols, int64 value, Value *out)
{
	uint32		len;

	switch (step->of)
	{
		case KIND_INT:
		case KIND_BOOL:
			out->i = value;
			return true;
		case KIND_FLOAT:
			memcpy(&out->f, &value, sizeof(out->f));
			return true;
		default:
			out->s.data = gpucol_symbols_get(symbols, value, &len);
			out->s.len = len;
			return step->of != KIND_NUMERIC || read_number(out->s, out);
	}
}

/* A function of numerics x and, if it has two operands, y. */
static GpucolStatus
call_packed(const Step *step, Value *x, const Value *y)
{
	__int128	r = 0;
	GpucolStatus status = step->op == GPUCOL_OP_ARITH_P ? gpucol_scalar_ARITH_P(step->aux, x->d, y->d, &r) :
		gpucol_scalar_PART_P(step->aux, x->d, &r);

	x->d = r;
	return status;
}

/* The same of any. */
static GpucolStatus
call(const Step *step, Value *x, const Value *y)
{
	switch ((GpucolOpcode) step->op)
	{
		case GPUCOL_OP_ADD_I:
			return gpucol_scalar_ADD_I(step->aux, x->i, y->i, &x->i);
		case GPUCOL_OP_SUB_I:
			return gpucol_scalar_SUB_I(step->aux, x->i, y->i, &x->i);
		case GPUCOL_OP_MUL_I:
			return gpucol_scalar_MUL_I(step->aux, x->i, y->i, &x->i);
		case GPUCOL_OP_DIV_I:
			return gpucol_scalar_DIV_I(step->aux, x->i, y->i, &x->i);
		case GPUCOL_OP_MOD_I:
			return gpucol_scalar_MOD_I(step->aux, x->i, y->i, &x->i);
		case GPUCOL_OP_CHECK_I:
			return gpucol_scalar_CHECK_I(step->aux, x->i, &x->i);
		case GPUCOL_OP_I_TO_F:
			x->f = gpucol_scalar_I_TO_F(step->aux, x->i);
			return GPUCOL_OK;
		case GPUCOL_OP_ADD_F:
			return gpucol_scalar_ADD_F(step->aux, x->f, y->f, &x->f);
		case GPUCOL_OP_SUB_F:
			return gpucol_scalar_SUB_F(step->aux, x->f, y->f, &x->f);
		case GPUCOL_OP_MUL_F:
			return gpucol_scalar_MUL_F(step->aux, x->f, y->f, &x->f);
		case GPUCOL_OP_DIV_F:
			return gpucol_scalar_DIV_F(step->aux, x->f, y->f, &x->f);
		case GPUCOL_OP_EQ_I:
			x->i = x->i == y->i;
			return GPUCOL_OK;
		case GPUCOL_OP_NE_I:
			x->i = x->i != y->i;
			return GPUCOL_OK;
		case GPUCOL_OP_LT_I:
			x->i = x->i < y->i;
			return GPUCOL_OK;
		case GPUCOL_OP_LE_I:
			x->i = x->i <= y->i;
			return GPUCOL_OK;
		case GPUCOL_OP_COMPARE_P:
			x->i = gpucol_packed_compare(step->aux, x->d, y->d);
			return GPUCOL_OK;
		default:
			return call_packed(step, x, y);
	}
}

static bool
takes_two(const Step *step)
{
	return step->op != GPUCOL_OP_CHECK_I && step->op != GPUCOL_OP_I_TO_F && step->op != GPUCOL_OP_PART_P;
}

/* A mantissa as a packed decimal. */
static GpucolStatus
make_number(__int128 mantissa, int scale, Value *x)
{
	__int128	packed = 0;
	GpucolStatus status = gpucol_packed_make(mantissa, scale, &packed);

	x->d = packed;
	return status;
}

/* A packed decimal rounded, with as many digits behind the point as it is rounded to. */
static GpucolStatus
round_number(const Step *step, Value *x)
{
	__int128	mantissa;
	GpucolStatus status = gpucol_scalar_ROUND_P(step->aux, x->d, &mantissa);

	if (status == GPUCOL_OK && step->digits > 0 && gpucol_magnitude(mantissa) >= gpucol_power10(step->digits))
		return GPUCOL_UNSUPPORTED;
	return status != GPUCOL_OK ? status : make_number(mantissa, GPUCOL_PACKED_ROUND_SCALE(step->aux), x);
}

/* n texts as one, behind room for the head of a varlena. */
static bool
concat(Value *parts, int n)
{
	Size		len = 0;
	char	   *data;
	char	   *at;

	for (int i = 0; i < n; i++)
		len += parts[i].s.len;
	if (len > MaxAllocSize - VARHDRSZ)
		return false;
	data = at = (char *) palloc(VARHDRSZ + len) + VARHDRSZ;
	for (int i = 0; i < n; i++)
	{
		memcpy(at, parts[i].s.data, parts[i].s.len);
		at += parts[i].s.len;
	}
	parts[0].s = (GpucolBytes) {data, len};
	return true;
}

/* An array with one more element, behind room for the head of a varlena; of what is not plain it is PostgreSQL's. */
static bool
append(Value *array, int64 x, int width)
{
	GpucolArrayValue old;
	ArrayType  *made;
	Size		size;
	int32		narrow = (int32) x;

	if (!gpucol_array_open(array->s, &old) || old.ndim > 1 || old.present != NULL || old.nitems >= MOST_ELEMENTS ||
		(old.ndim == 1 && gpucol_array_lower(&old, 0) > PG_INT32_MAX - 2 * MOST_ELEMENTS))
		return false;
	size = ARR_OVERHEAD_NONULLS(1) + (Size) (old.nitems + 1) * width;
	made = palloc(size);
	made->ndim = 1;
	made->dataoffset = 0;
	made->elemtype = width == 4 ? INT4OID : INT8OID;
	ARR_DIMS(made)[0] = (int) old.nitems + 1;
	ARR_LBOUND(made)[0] = old.ndim == 1 ? gpucol_array_lower(&old, 0) : 1;
	if (old.nitems > 0)
		memcpy(ARR_DATA_PTR(made), old.base + old.first, (Size) old.nitems * width);
	memcpy(ARR_DATA_PTR(made) + (Size) old.nitems * width, width == 4 ? (void *) &narrow : (void *) &x, width);
	array->s = (GpucolBytes) {(char *) made + VARHDRSZ, size - VARHDRSZ};
	return true;
}

/* Is an integer an element of an array?  With NULLs among these it is PostgreSQL's to say. */
static bool
find(Value *x, GpucolBytes bytes, int width)
{
	GpucolArrayValue array;
	const char *data;
	bool		found = false;

	if (!gpucol_array_open(bytes, &array) || array.present != NULL)
		return false;
	data = array.nitems > 0 ? array.base + array.first : NULL;
	for (uint32 i = 0; i < array.nitems && !found; i++)
		found = gpucol_array_integer((GpucolBytes) {data + (Size) i * width, width}) == x->i;
	x->i = found;
	return true;
}

/* An integer as text. */
static void
write_integer(Value *x)
{
	char	   *text = palloc(MAXINT8LEN + 1);
	int			len = pg_lltoa(x->i, text);

	x->s = (GpucolBytes) {text, len};
}

/* A value as a datum of the result's type. */
static bool
make_datum(const GpucolRecursiveFormula *formula, const Value *value, Datum *result)
{
	__int128	mantissa;
	struct varlena *made;
	size_t		len;

	switch (formula->result)
	{
		case KIND_INT:
			*result = formula->type == INT2OID ? Int16GetDatum((int16) value->i) :
				formula->type == INT4OID ? Int32GetDatum((int32) value->i) : Int64GetDatum(value->i);
			return true;
		case KIND_FLOAT:
			*result = Float8GetDatum(value->f);
			return true;
		case KIND_BOOL:
			*result = BoolGetDatum(value->i != 0);
			return true;
		case KIND_NUMERIC:
			mantissa = gpucol_packed_mantissa(value->d);
			if (mantissa != (int64) mantissa || gpucol_packed_scale(value->d) > GPUCOL_NUMERIC_SHOWN)
			{
				*result = gpucol_typemap_numeric(mantissa, gpucol_packed_scale(value->d));
				return true;
			}
			made = palloc(VARHDRSZ + GPUCOL_NUMERIC_BYTES + sizeof(int64));
			len = gpucol_numeric_form((int64) mantissa, gpucol_packed_scale(value->d),
									  gpucol_packed_scale(value->d), VARDATA(made));
			SET_VARSIZE(made, VARHDRSZ + len);
			*result = PointerGetDatum(made);
			return true;
		default:
			made = (struct varlena *) (value->s.data - VARHDRSZ);
			SET_VARSIZE(made, VARHDRSZ + value->s.len);
			*result = PointerGetDatum(made);
			return true;
	}
}

bool
gpucol_recursive_formula_compute(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols, uint32 row,
								 const int64 *const *values, const uint8 *const *nulls, Datum *result)
{
	Value		stack[MOST_STEPS];
	int			n = 0;

	for (int i = 0; i < formula->noperands; i++)
		if (nulls[i][row])
			return false;
	for (int s = 0; s < formula->nsteps; s++)
	{
		const Step *step = &formula->steps[s];
		bool		good = true;

		switch (step->kind)
		{
			case STEP_OPERAND:
				good = read_operand(step, symbols, values[step->aux][row], &stack[n++]);
				break;
			case STEP_CONSTANT:
				stack[n++] = step->value;
				break;
			case STEP_FUNCTION:
				n -= takes_two(step);
				good = call(step, &stack[n - 1], &stack[n]) == GPUCOL_OK;
				break;
			case STEP_NUMBER:
				good = make_number(stack[n - 1].i, 0, &stack[n - 1]) == GPUCOL_OK;
				break;
			case STEP_ROUND:
				good = round_number(step, &stack[n - 1]) == GPUCOL_OK;
				break;
			case STEP_WRITE:
				write_integer(&stack[n - 1]);
				break;
			case STEP_CONCAT:
				n -= step->aux - 1;
				good = concat(&stack[n - 1], step->aux);
				break;
			case STEP_APPEND:
				n--;
				good = append(&stack[n - 1], stack[n].i, step->aux);
				break;
			case STEP_FIND:
				n--;
				good = find(&stack[n - 1], stack[n].s, step->aux);
				break;
			case STEP_NOT:
				stack[n - 1].i = stack[n - 1].i == 0;
				break;
			case STEP_UNLESS:
				s = stack[--n].i == 0 ? step->aux - 1 : s;
				break;
			case STEP_GO:
				s = step->aux - 1;
				break;
		}
		if (!good)
			return false;
	}
	return make_datum(formula, &stack[0], result);
}
