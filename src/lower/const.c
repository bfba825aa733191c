/*-------------------------------------------------------------------------
 *
 * const.c
 *	  Constants of a program: literals, parameters and other expressions that
 *	  have one value for the whole scan.
 *
 * At plan time only literals are known; everything else is a placeholder of
 * the right class.  At scan start PostgreSQL's own evaluator gives the value.
 *
 * PostgreSQL evaluates such an expression for each row that gets as far, so for none
 * where no row does, and what it evaluates may raise an error or run anybody's code: a
 * subquery, a user's function, one of PostgreSQL's that reads a view or calls a type's
 * input function.  So:
 *
 *	  - what is known to do neither (gpucol_lower_is_safe_constant) is evaluated at once;
 *	  - everything else is evaluated only after a row has been found that passes the
 *		conditions before (GpucolLower.reached), and then its error is PostgreSQL's error;
 *	  - where no row passes, it is not evaluated, and the program delivers nothing;
 *	  - a condition without columns is tested once, before any row is read (lower.c);
 *	  - inside a branch that PostgreSQL may leave out it is not lowered at all.
 *
 * No error is ever caught.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "jit/jit.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "kernel/packed_decimal.h"
#include "lower/harmless.h"
#include "lower/lower.h"

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

/* Functions without arguments that look at what the session knows. */
static bool
is_safe_function(Oid funcid)
{
	switch (funcid)
	{
		case F_NOW:
		case F_TRANSACTION_TIMESTAMP:
		case F_STATEMENT_TIMESTAMP:
		case F_CURRENT_USER:
		case F_SESSION_USER:
		case F_GETPGUSERNAME:
		case F_CURRENT_DATABASE:
		case F_VERSION:
		case F_PI:
		case F_PG_BACKEND_PID:
		case F_PG_POSTMASTER_START_TIME:
		case F_PG_CONF_LOAD_TIME:
			return true;
		default:
			return false;
	}
}

/* Is the value at hand of a parameter that a plan sets, as a subquery's result? */
static bool
is_set_parameter(const ExprContext *econtext, const Param *param)
{
	return econtext->ecxt_param_exec_vals != NULL &&
		econtext->ecxt_param_exec_vals[param->paramid].execPlan == NULL;
}

/*
 * Is the value of a parameter at hand, which is then no error to ask for and runs
 * nothing?  That of a subquery may still have to be computed, and one of PL/pgSQL's may
 * be a field of a record that has no value yet; it says so if asked speculatively.
 */
bool
gpucol_lower_param_is_known(const ExprContext *econtext, const Param *param)
{
	ParamListInfo params = econtext->ecxt_param_list_info;
	ParamExternData workspace;
	ParamExternData *found;

	if (param->paramkind == PARAM_EXEC)
		return is_set_parameter(econtext, param);
	if (param->paramkind != PARAM_EXTERN || params == NULL || param->paramid <= 0 ||
		param->paramid > params->numParams)
		return false;
	found = params->paramFetch == NULL ? &params->params[param->paramid - 1] :
		params->paramFetch(params, param->paramid, true, &workspace);
	return found->ptype == param->paramtype;
}

/* Is it the result of a subquery that may be executed at any time? */
static bool
is_harmless_result(const ExprContext *econtext, const Param *param)
{
	return param->paramkind == PARAM_EXEC && econtext->ecxt_param_exec_vals != NULL &&
		econtext->ecxt_param_exec_vals[param->paramid].execPlan != NULL &&
		gpucol_lower_init_plan_is_harmless(econtext->ecxt_param_exec_vals[param->paramid].execPlan);
}

/* Will it be?  At plan time those of the statement are taken for known, as most are. */
static bool
is_known_parameter(const GpucolLower *l, const Param *param)
{
	if (l->planstate == NULL)
		return param->paramkind == PARAM_EXTERN;
	return gpucol_lower_param_is_known(l->planstate->ps_ExprContext, param) ||
		is_harmless_result(l->planstate->ps_ExprContext, param);
}

/* Is a call of a harmless function with such arguments such a constant too? */
static bool
is_safe_call(const GpucolLower *l, Oid funcid, Oid collation, List *args)
{
	ListCell   *lc;

	if (!gpucol_harmless_function(funcid))
		return false;
	foreach(lc, args)
	{
		if (!gpucol_lower_is_safe_constant(l, lfirst(lc)) ||
			(OidIsValid(exprCollation(lfirst(lc))) && !OidIsValid(collation)))
			return false;
	}
	return true;
}

/*
 * May a constant expression be evaluated although PostgreSQL might not?  Only
 * what cannot fail: literals, parameters that have a value, the clock, and what is
 * harmless of these.
 */
bool
gpucol_lower_is_safe_constant(const GpucolLower *l, Expr *expr)
{
	switch (nodeTag(expr))
	{
		case T_Const:
		case T_SQLValueFunction:
			return true;
		case T_Param:
			return is_known_parameter(l, (Param *) expr);
		case T_FuncExpr:
			return is_safe_function(((FuncExpr *) expr)->funcid) ||
				is_safe_call(l, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->inputcollid,
							 ((FuncExpr *) expr)->args);
		case T_OpExpr:
			return is_safe_call(l, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->inputcollid,
								((OpExpr *) expr)->args);
		case T_RelabelType:
			return gpucol_lower_is_safe_constant(l, ((RelabelType *) expr)->arg);
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

/* What is remembered of an expression that has been evaluated, or NULL. */
static GpucolKnown *
find_known(GpucolLower *l, Expr *expr)
{
	ListCell   *lc;

	foreach(lc, l->known)
	{
		GpucolKnown *known = lfirst(lc);

		if (equal(known->expr, expr))
			return known;
	}
	return NULL;
}

/* Evaluate an expression, once in a scan. */
static GpucolKnown *
evaluate(GpucolLower *l, Expr *expr)
{
	GpucolKnown *known = find_known(l, expr);

	if (known != NULL)
		return known;
	known = palloc(sizeof(GpucolKnown));
	known->expr = expr;
	known->value = ExecEvalExpr(gpucol_lower_init(expr, l->planstate),
								l->planstate->ps_ExprContext, &known->isnull);
	l->known = lappend(l->known, known);
	return known;
}

/*
 * Would PostgreSQL evaluate a constant here, for some row?  Where it would not, the
 * program delivers nothing; where that cannot be told, l->failed says so.
 */
static bool
is_needed(GpucolLower *l)
{
	if (l->conditional == 0 && l->before != NULL && l->reaches != NULL &&
		l->reached == GPUCOL_REACHED_UNKNOWN)
		l->reached = l->reaches(l->reaches_arg, l);
	switch (l->reached)
	{
		case GPUCOL_REACHED_YES:
			return true;
		case GPUCOL_REACHED_NO:
			l->never = true;
			return false;
		default:
			l->failed = true;
			return false;
	}
}

/*
 * The value of a constant expression.  False if it is not known: at plan time, or
 * because no row needs it; *isnull is then false, and the value a placeholder's.
 */
bool
gpucol_lower_eval(GpucolLower *l, Expr *expr, Datum *value, bool *isnull)
{
	bool		safe = gpucol_lower_is_safe_constant(l, expr);

	*value = (Datum) 0;
	*isnull = false;
	if (IsA(expr, Const))
	{
		*value = ((Const *) expr)->constvalue;
		*isnull = ((Const *) expr)->constisnull;
		return true;
	}
	l->may_raise |= !safe;
	if (l->planstate == NULL ||
		(!safe && find_known(l, expr) == NULL && !is_needed(l)))
		return false;
	gpucol_lower_eval_needed(l, expr, value, isnull);
	return true;
}

bool
gpucol_lower_get_safe(GpucolLower *l, Node *node, Datum *value)
{
	bool		isnull;

	return gpucol_lower_is_safe_constant(l, (Expr *) node) &&
		gpucol_lower_eval(l, (Expr *) node, value, &isnull) && !isnull;
}

/*
 * The same of an expression that PostgreSQL would evaluate now, for some row.
 */
void
gpucol_lower_eval_needed(GpucolLower *l, Expr *expr, Datum *value, bool *isnull)
{
	GpucolKnown *known = evaluate(l, expr);

	*value = known->value;
	*isnull = known->isnull;
}

/* 10^n, 1 of what is less than 0; n is at most 38 */
__int128
gpucol_lower_power10(int n)
{
	return n <= 0 ? 1 : (__int128) gpucol_power10(n);
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

	if (!gpucol_lower_datum(l, type, value, isnull, known, &c, &out->scale,
							&out->digits))
		return false;
	out->cls = c.cls;
	out->scale_reg = GPUCOL_NO_REG;
	out->packed = false;
	out->reg = gpucol_lower_emit(l, load[c.cls], GPUCOL_NO_REG, GPUCOL_NO_REG,
								 GPUCOL_NO_REG, gpucol_lower_put_const(l, &c));
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
	bool		known = gpucol_lower_eval(l, expr, &value, &isnull);

	return gpucol_lower_load(l, exprType((Node *) expr), value, isnull, known,
							 out);
}
