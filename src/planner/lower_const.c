/*-------------------------------------------------------------------------
 *
 * lower_const.c
 *	  Constants of a program: literals, parameters and other expressions that
 *	  have one value for the whole scan.
 *
 * At plan time only literals are known; everything else is a placeholder of
 * the right class.  At scan start PostgreSQL's own evaluator gives the value,
 * as an index scan evaluates its keys.  Where that raises an error, the node falls
 * back: PostgreSQL might not evaluate the expression for any row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "jit/jit.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "planner/lower.h"

/* Digits that an int128 mantissa holds whatever they are. */
#define INT128_DIGITS	38

/* Does the expression contain something that varies within a scan? */
static bool
varying_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_PlaceHolderVar:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
			return true;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_EXEC;
		default:
			return expression_tree_walker(node, varying_walker, context);
	}
}

/*
 * Has the expression one value for a whole scan?
 */
bool
gpucol_lower_is_constant(Expr *expr)
{
	if (IsA(expr, Const))
		return true;
	return !varying_walker((Node *) expr, NULL) &&
		!contain_volatile_functions((Node *) expr) &&
		!expression_returns_set((Node *) expr);
}

/*
 * May a constant expression be evaluated although PostgreSQL might not?  Only
 * what cannot fail: literals, the statement's parameters, the clock.
 */
bool
gpucol_lower_is_safe_constant(Expr *expr)
{
	switch (nodeTag(expr))
	{
		case T_Const:
		case T_SQLValueFunction:
			return true;
		case T_Param:
			return ((Param *) expr)->paramkind == PARAM_EXTERN;
		case T_FuncExpr:
			return ((FuncExpr *) expr)->args == NIL &&
				((FuncExpr *) expr)->funcid < FirstGenbkiObjectId &&
				gpucol_lower_is_constant(expr);
		case T_RelabelType:
			return gpucol_lower_is_safe_constant(((RelabelType *) expr)->arg);
		default:
			return false;
	}
}

ExprState *
gpucol_lower_init(Expr *expr, PlanState *planstate)
{
	EState	   *estate = planstate->state;
	int			jit_flags = estate->es_jit_flags;
	ExprState  *state;

	estate->es_jit_flags = PGJIT_NONE;
	state = ExecInitExpr(expr, planstate);
	estate->es_jit_flags = jit_flags;
	return state;
}

/*
 * The value of a constant expression.  False if it is not known yet (plan
 * time); *isnull is then false.
 */
bool
gpucol_lower_eval(GpucolLower *l, Expr *expr, Datum *value, bool *isnull)
{
	ExprState  *state;

	*value = (Datum) 0;
	*isnull = false;
	if (IsA(expr, Const))
	{
		*value = ((Const *) expr)->constvalue;
		*isnull = ((Const *) expr)->constisnull;
		return true;
	}
	if (l->planstate == NULL)
		return false;
	state = gpucol_lower_init(expr, l->planstate);
	*value = ExecEvalExpr(state, l->planstate->ps_ExprContext, isnull);
	return true;
}

static bool
is_users_function(Oid funcid, void *context pg_attribute_unused())
{
	return funcid >= FirstNormalObjectId;
}

/* Does the expression run code that is not PostgreSQL's own? */
static bool
users_code_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, is_users_function, context) ||
		expression_tree_walker(node, users_code_walker, context);
}

/* Run the initplans that the expression's parameters still wait for. */
static bool
run_initplans_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		ExprContext *econtext = context;
		ParamExecData *param = &econtext->ecxt_param_exec_vals[((Param *) node)->paramid];

		if (param->execPlan != NULL)
			ExecSetParamPlan(param->execPlan, econtext);
	}
	return expression_tree_walker(node, run_initplans_walker, context);
}

/* Let errors but those of data pass. */
static void
rethrow_other_errors(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
		error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
		PG_RE_THROW();
	FlushErrorState();
	FreeErrorData(error);
}

/*
 * The value of a constant expression of which PostgreSQL might evaluate nothing.
 * False if it is not known yet, as gpucol_lower_eval(), or if its evaluation raises an
 * error, which l->failed tells then.  An error is caught without a subtransaction,
 * so only where nothing but PostgreSQL's own functions of values can raise it.
 */
bool
gpucol_lower_try_eval(GpucolLower *l, Expr *expr, Datum *value, bool *isnull)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool failed = false;

	if (l->planstate == NULL || gpucol_lower_is_safe_constant(expr) ||
		users_code_walker((Node *) expr, NULL))
		return gpucol_lower_eval(l, expr, value, isnull);
	run_initplans_walker((Node *) expr, l->planstate->ps_ExprContext);
	PG_TRY();
	{
		gpucol_lower_eval(l, expr, value, isnull);
	}
	PG_CATCH();
	{
		rethrow_other_errors(context);
		failed = true;
	}
	PG_END_TRY();
	if (!failed)
		return true;
	l->failed = true;
	*value = (Datum) 0;
	*isnull = false;
	return false;
}

/* 10^n; n is at most 38 */
__int128
gpucol_lower_power10(int n)
{
	__int128	result = 1;

	while (n-- > 0)
		result *= 10;
	return result;
}

/* Mantissa, display scale and digits of a numeric that is an int128. */
static bool
numeric_mantissa(Datum value, __int128 *mantissa, int *scale, int *digits)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
	bool		negative = false;
	bool		fraction = false;

	*mantissa = 0;
	*scale = 0;
	*digits = 0;
	for (char *p = text; *p; p++)
	{
		if (*p == '-')
			negative = true;
		else if (*p == '.')
			fraction = true;
		else if (*p >= '0' && *p <= '9')
		{
			*mantissa = *mantissa * 10 + (*p - '0');
			if (*mantissa != 0 && ++*digits > INT128_DIGITS - 1)
				return false;
			if (fraction)
				(*scale)++;
		}
		else
			return false;		/* NaN, Infinity */
	}
	if (negative)
		*mantissa = -*mantissa;
	return true;
}

/*
 * Fill a program constant from a datum of type `type`; for numeric also its
 * scale and digits.  With `known` false the value is a placeholder.
 */
bool
gpucol_lower_datum(GpucolLower *l, Oid type, Datum value, bool isnull,
				   bool known, GpucolConst *c, int *scale, int *digits)
{
	GpucolTypeMap map;
	int64		bits = 0;

	memset(c, 0, sizeof(*c));
	c->isnull = isnull;
	*scale = 0;
	*digits = 0;
	gpucol_typemap_init(&map, type, -1, InvalidOid);
	if (map.type_oid == NUMERICOID)
	{
		__int128	mantissa = 0;

		c->cls = GPUCOL_CLASS_D;
		if (isnull || !known)
			return true;
		if (!numeric_mantissa(value, &mantissa, scale, digits))
			return gpucol_lower_decline(l, "numeric constant has too many digits");
		c->v.d.lo = (uint64) mantissa;
		c->v.d.hi = (int64) (mantissa >> 64);
		return true;
	}
	if (map.kind == GPUCOL_KIND_BYTES)
		return gpucol_lower_decline(l, "type %s has no fixed-width values",
									format_type_be(type));
	if (known && !isnull && !gpucol_typemap_to_int64(&map, value, &bits))
		return gpucol_lower_decline(l, "constant of type %s has no fixed-width value",
									format_type_be(type));
	switch (map.kind)
	{
		case GPUCOL_KIND_FLOAT4:
			c->cls = GPUCOL_CLASS_F;
			c->v.f = known && !isnull ? (double) DatumGetFloat4(value) : 0;
			break;
		case GPUCOL_KIND_FLOAT8:
			c->cls = GPUCOL_CLASS_F;
			c->v.f = known && !isnull ? DatumGetFloat8(value) : 0;
			break;
		default:
			c->cls = map.type_oid == BOOLOID ? GPUCOL_CLASS_B : GPUCOL_CLASS_I;
			c->v.i = bits;
			break;
	}
	return true;
}

/* Number of an equal constant among the first few, or -1. */
static int
find_const(GpucolLower *l, const GpucolConst *c)
{
	for (int i = 0; i < Min(l->nconsts, 64); i++)
	{
		if (memcmp(&l->consts[i], c, sizeof(*c)) == 0)
			return i;
	}
	return -1;
}

/*
 * Load a datum, or with `known` false a placeholder, into a register.
 */
bool
gpucol_lower_load(GpucolLower *l, Oid type, Datum value, bool isnull,
				  bool known, GpucolValue *out)
{
	static const GpucolOpcode load[] = {
		[GPUCOL_CLASS_B] = GPUCOL_OP_CONST_B,
		[GPUCOL_CLASS_I] = GPUCOL_OP_CONST_I,
		[GPUCOL_CLASS_D] = GPUCOL_OP_CONST_D,
		[GPUCOL_CLASS_F] = GPUCOL_OP_CONST_F
	};
	GpucolConst c;
	int			number;

	if (!gpucol_lower_datum(l, type, value, isnull, known, &c, &out->scale,
							&out->digits))
		return false;
	number = find_const(l, &c);
	if (number < 0)
		number = gpucol_lower_add_const(l, &c);
	out->cls = c.cls;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, load[c.cls], GPUCOL_NO_REG, GPUCOL_NO_REG,
								 GPUCOL_NO_REG, number);
	return true;
}

/*
 * Lower a constant expression to a register.
 */
bool
gpucol_lower_const(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	Datum		value;
	bool		isnull;
	bool		known = gpucol_lower_try_eval(l, expr, &value, &isnull);

	return gpucol_lower_load(l, exprType((Node *) expr), value, isnull, known,
							 out);
}
