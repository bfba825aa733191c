/*-------------------------------------------------------------------------
 *
 * fold.c
 *	  Subqueries over the elements of a row's arrays, as folds.
 *
 *		(SELECT sum(e) FROM unnest(a) e WHERE e > b)
 *		EXISTS (SELECT FROM unnest(a, b) u(x, y) WHERE x < y)
 *		x IN (SELECT e FROM unnest(a) e)
 *
 * Such a subquery is a SubPlan whose plan is an aggregation of a function scan, or that alone.  It is read off
 * the plan, which is the same while the statement is planned and when it is executed, but for the numbers of Vars.
 * In its expressions everything that it is made of becomes a Var of the fold, GPUCOL_FOLD_VARNO: elements, values of
 * the row, aggregates.  Nothing else that lowers expressions takes these for columns.
 *
 * Conditions and arguments are lowered as ever, over registers that have values for elements (EACH, SPREAD in
 * kernel/opcodes.h).  Where there is no element PostgreSQL evaluates none of it, so that it counts as conditional.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/array_value.h"
#include "lower/lower.h"
#include "lower/match.h"

#define FOLD_VARNO		(-20)	/* of no table, nor any special number of PostgreSQL's */

#define MOST_VALUES		16		/* aggregates of a fold, and one more */

#define SUM_DIGITS		28		/* of the sum of as many bigints as an array may have */

#define EMIT1(l, op, a, aux) \
	gpucol_lower_emit(l, op, a, GPUCOL_NO_REG, GPUCOL_NO_REG, aux)
#define EMIT2(l, op, a, b) \
	gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 0)

/* A subquery. */
typedef struct GpucolFold
{
	const SubPlan *subplan;
	const Plan *plan;
	const FunctionScan *scan;
	int			ncolumns;		/* of the functions, the number of the element among them; Vars of the fold count */
	int			nvalues;		/* them first, then values of the row, which are so many with them, */
	GpucolValue folded[MOST_VALUES];	/* then aggregates */
	int			narrays;
	List	   *aggs;			/* Aggrefs */
	uint16		present;		/* is there an element?  True, for each */
	uint16		passes;			/* the conditions, or GPUCOL_NO_REG */
	GpucolValue argument;		/* of the aggregate at hand */
	bool		per_element;	/* what is lowered is for elements: */
	bool		raises;			/* it may raise an error, */
	bool		row_raises;		/* or what is lowered for rows */
} GpucolFold;

static PlannerGlobal *planned = NULL;

PlannerGlobal *
gpucol_fold_plan(PlannerGlobal *glob)
{
	PlannerGlobal *before = planned;

	planned = glob;
	return before;
}

/* The plan of a subquery, or NULL. */
static const Plan *
find_plan(const GpucolLower *l, const SubPlan *subplan)
{
	const List *plans = l->planstate != NULL ? l->planstate->state->es_plannedstmt->subplans :
		planned != NULL ? planned->subplans : NIL;

	return subplan->plan_id <= list_length(plans) ? list_nth(plans, subplan->plan_id - 1) : NULL;
}

/* ---- the form of the subquery ---- */

/* Is each function of a scan unnest() of one array?  *n: how many they are. */
static bool
scans_arrays(const FunctionScan *scan, int *n)
{
	ListCell   *lc;

	foreach(lc, scan->functions)
	{
		const FuncExpr *call = (const FuncExpr *) lfirst_node(RangeTblFunction, lc)->funcexpr;

		if (!IsA(call, FuncExpr) || call->funcid != F_UNNEST_ANYARRAY)
			return false;
	}
	*n = list_length(scan->functions);
	return true;
}

/* Read off its plan what a subquery folds; false if it is another. */
static bool
read_plan(const GpucolLower *l, const SubPlan *subplan, GpucolFold *fold)
{
	const Plan *plan = find_plan(l, subplan);

	if (plan == NULL || subplan->setParam != NIL || subplan->useHashTable)
		return false;
	fold->subplan = subplan;
	fold->plan = plan;
	if (subplan->subLinkType == EXPR_SUBLINK)
	{
		const Agg  *agg = (const Agg *) plan;

		if (!IsA(plan, Agg) || agg->aggstrategy != AGG_PLAIN || agg->aggsplit != AGGSPLIT_SIMPLE ||
			plan->qual != NIL || list_length(plan->targetlist) != 1 || plan->initPlan != NIL)
			return false;
		plan = plan->lefttree;
		if (IsA(plan, Sort))
			plan = plan->lefttree;
	}
	else if (subplan->subLinkType != EXISTS_SUBLINK)
		return false;
	fold->scan = (const FunctionScan *) plan;
	if (!IsA(plan, FunctionScan) || plan->initPlan != NIL || !scans_arrays(fold->scan, &fold->narrays))
		return false;
	fold->ncolumns = fold->narrays + fold->scan->funcordinality;
	fold->nvalues = fold->ncolumns + list_length(subplan->args);
	return true;
}

/* ---- expressions over its values ---- */

/* Where an expression stands. */
typedef struct Renaming
{
	GpucolFold *fold;
	const Plan *plan;
	bool		raw;			/* values of the row stay what they are */
	bool		failed;
} Renaming;

static Node *rename_values(Node *node, Renaming *renaming);

static Node *
make_value(const Node *node, int number)
{
	return (Node *) makeVar(FOLD_VARNO, (AttrNumber) number, exprType(node), exprTypmod(node), exprCollation(node), 0);
}

/* A column of the functions, or what a plan below computes. */
static Node *
rename_var(const Var *var, Renaming *renaming)
{
	Renaming	below = *renaming;
	TargetEntry *tle;
	Node	   *result;

	if (var->varno == (int) renaming->fold->scan->scan.scanrelid && var->varattno > 0 && var->varlevelsup == 0)
		return make_value((const Node *) var, var->varattno);
	below.plan = renaming->plan->lefttree;
	renaming->failed |= var->varno != OUTER_VAR || below.plan == NULL;
	if (renaming->failed)
		return (Node *) var;
	tle = list_nth_node(TargetEntry, below.plan->targetlist, var->varattno - 1);
	result = rename_values((Node *) tle->expr, &below);
	renaming->failed |= below.failed;
	return result;
}

/* A value of the row. */
static Node *
rename_param(const Param *param, const Renaming *renaming)
{
	const SubPlan *subplan = renaming->fold->subplan;
	ListCell   *lc;

	foreach(lc, subplan->parParam)
	{
		int			i = foreach_current_index(lc);

		if (param->paramkind == PARAM_EXEC && param->paramid == lfirst_int(lc))
			return renaming->raw ? copyObject(list_nth(subplan->args, i)) :
				make_value((const Node *) param, renaming->fold->ncolumns + i + 1);
	}
	return (Node *) param;
}

/* An aggregate, which is lowered later. */
static Node *
rename_aggref(Aggref *agg, Renaming *renaming)
{
	GpucolFold *fold = renaming->fold;
	int			at = list_length(fold->aggs);
	ListCell   *lc;

	foreach(lc, fold->aggs)
	{
		if (equal(lfirst(lc), agg))
			at = foreach_current_index(lc);
	}
	if (at == list_length(fold->aggs))
		fold->aggs = lappend(fold->aggs, agg);
	renaming->failed |= at >= MOST_VALUES - 1;
	return make_value((Node *) agg, fold->nvalues + at + 1);
}

static Node *
rename_values(Node *node, Renaming *renaming)
{
	if (node == NULL || renaming->failed)
		return node;
	switch (nodeTag(node))
	{
		case T_Var:
			return rename_var((Var *) node, renaming);
		case T_Param:
			return rename_param((Param *) node, renaming);
		case T_Aggref:
			return rename_aggref((Aggref *) node, renaming);
		case T_SubPlan:
		case T_AlternativeSubPlan:
			renaming->failed = true;
			return node;
		default:
			return expression_tree_mutator(node, rename_values, renaming);
	}
}

/* An expression of a plan of the fold over its values; NULL if it has others. */
static Expr *
over_values(GpucolFold *fold, const Plan *plan, Expr *expr, bool raw)
{
	Renaming	renaming = {.fold = fold,.plan = plan,.raw = raw};
	Node	   *result = rename_values((Node *) expr, &renaming);

	return renaming.failed ? NULL : (Expr *) result;
}

/* ---- values ---- */

/* Lower an expression of the row, while its elements are at hand. */
static bool
lower_of_row(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolFold *fold = l->fold;
	bool		ok;

	l->fold = NULL;
	ok = gpucol_lower_expr(l, expr, out);
	l->fold = fold;
	return ok;
}

/* The values of a column of the functions. */
static bool
lower_column(GpucolLower *l, GpucolFold *fold, int number, GpucolValue *out)
{
	const RangeTblFunction *function;
	GpucolElement element;
	Expr	   *argument;
	uint16		array;
	GpucolOpcode op;
	bool		ok;

	function = list_nth_node(RangeTblFunction, fold->scan->functions, number < fold->narrays ? number : 0);
	argument = over_values(fold, &fold->scan->scan.plan, linitial(((FuncExpr *) function->funcexpr)->args), true);
	if (argument == NULL)
		return gpucol_lower_decline(l, "a set of a computed array");
	l->fold = NULL;
	ok = gpucol_lower_array(l, argument, &element, &array);
	l->fold = fold;
	if (!ok)
		return false;
	if (number == fold->narrays)
		return gpucol_lower_set_value(out, GPUCOL_CLASS_I, EMIT1(l, GPUCOL_OP_EACH_NUMBER, array, element.width));
	op = element.cls == GPUCOL_CLASS_I ? GPUCOL_OP_EACH_I : element.cls == GPUCOL_CLASS_F ? GPUCOL_OP_EACH_F :
		GPUCOL_OP_EACH_S;
	return gpucol_lower_set_value(out, element.cls, EMIT1(l, op, array, element.width));
}

/* A value of the row, for each of its elements. */
static bool
spread(GpucolLower *l, const GpucolValue *row, GpucolValue *out)
{
	static const GpucolOpcode ops[] = {
		[GPUCOL_CLASS_B] = GPUCOL_OP_SPREAD_B,
		[GPUCOL_CLASS_I] = GPUCOL_OP_SPREAD_I,
		[GPUCOL_CLASS_F] = GPUCOL_OP_SPREAD_F,
		[GPUCOL_CLASS_S] = GPUCOL_OP_SPREAD_S
	};

	if (row->cls == GPUCOL_CLASS_D)
		return gpucol_lower_decline(l, "a numeric beside elements");
	return gpucol_lower_set_value(out, row->cls, EMIT1(l, ops[row->cls], row->reg, 0));
}

bool
gpucol_lower_fold_value(GpucolLower *l, const Var *var, GpucolValue *out)
{
	GpucolFold *fold = l->fold;
	int			number = var->varattno - 1;

	if (fold == NULL || var->varno != FOLD_VARNO)
		return gpucol_lower_decline(l, "it refers to another table");
	if (number < fold->ncolumns)
		return lower_column(l, fold, number, out);
	if (number >= fold->nvalues)
	{
		*out = fold->folded[number - fold->nvalues];
		return true;
	}
	if (!lower_of_row(l, list_nth(fold->subplan->args, number - fold->ncolumns), out))
		return false;
	return !fold->per_element || spread(l, out, out);
}

/* ---- conditions that bytes decide ---- */

/* Number the only Var of an expression as host tests number it; *only was its number, -1 where there are several. */
static Node *
number_only(Node *node, AttrNumber *only)
{
	Var		   *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, number_only, only);
	*only = *only == 0 || *only == var->varattno ? var->varattno : -1;
	var = copyObject(var);
	var->varno = 1;
	var->varattno = 1;
	return (Node *) var;
}

bool
gpucol_lower_fold_test(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	GpucolLower mark = *l;
	AttrNumber	only = 0;
	GpucolValue value;

	if (!l->fold->per_element || exprType((Node *) expr) != BOOLOID || IsA(expr, Var))
		return false;
	expr = (Expr *) number_only((Node *) expr, &only);
	if (only < 1 || only > l->fold->narrays ||
		!lower_column(l, l->fold, only - 1, &value) || value.cls != GPUCOL_CLASS_S ||
		gpucol_match_create(l, expr) == NULL)
	{
		gpucol_lower_restore(l, &mark);
		return false;
	}
	return gpucol_lower_set_value(out, GPUCOL_CLASS_B,
								  EMIT1(l, GPUCOL_OP_HOST_EACH, value.reg, gpucol_lower_add_host(l, -1, expr)));
}

/* ---- conditions and arguments ---- */

/* A constant of a class, NULL, or the condition that is true. */
static uint16
constant_of(GpucolLower *l, GpucolClass cls, bool isnull)
{
	GpucolConst c;

	memset(&c, 0, sizeof(c));
	c.cls = cls;
	c.isnull = isnull;
	c.v.i = !isnull;
	return EMIT1(l, cls == GPUCOL_CLASS_B ? GPUCOL_OP_CONST_B : cls == GPUCOL_CLASS_I ? GPUCOL_OP_CONST_I :
				 GPUCOL_OP_CONST_F, GPUCOL_NO_REG, gpucol_lower_put_const(l, &c));
}

static uint16
is_null(GpucolLower *l, const GpucolValue *v)
{
	return EMIT1(l, v->cls == GPUCOL_CLASS_B ? GPUCOL_OP_IS_NULL_B : v->cls == GPUCOL_CLASS_I ? GPUCOL_OP_IS_NULL_I :
				 v->cls == GPUCOL_CLASS_F ? GPUCOL_OP_IS_NULL_F : GPUCOL_OP_IS_NULL_S, v->reg, 0);
}

/* Lower one condition, for the elements that pass those before. */
static bool
lower_condition(GpucolLower *l, Expr *expr, uint16 *passes)
{
	GpucolMask	mask;
	uint16		reg;
	bool		ok;

	if (expr == NULL)
		return gpucol_lower_decline(l, "a condition that is no condition on elements");
	if (*passes != GPUCOL_NO_REG)
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, *passes);
	ok = gpucol_lower_bool(l, expr, &reg);
	if (*passes != GPUCOL_NO_REG)
		gpucol_lower_pop_mask(l);
	if (ok)
		*passes = *passes == GPUCOL_NO_REG ? reg : EMIT2(l, GPUCOL_OP_AND, *passes, reg);
	return ok;
}

/* Elements: those of one array, or of all side by side, each of which is asked for. */
static bool
lower_present(GpucolLower *l, GpucolFold *fold)
{
	fold->present = GPUCOL_NO_REG;
	for (int i = 0; i < fold->narrays; i++)
	{
		GpucolValue value;
		uint16		there;

		if (!lower_column(l, fold, fold->narrays == 1 ? 1 : i, &value))
			return false;
		there = EMIT1(l, GPUCOL_OP_NOT, is_null(l, &value), 0);
		if (fold->narrays > 1)
			there = EMIT2(l, GPUCOL_OP_OR, is_null(l, &value), there);
		fold->present = i == 0 ? there : EMIT2(l, GPUCOL_OP_AND, fold->present, there);
	}
	return true;
}

/* Lower the conditions that choose among the elements. */
static bool
lower_conditions(GpucolLower *l, GpucolFold *fold)
{
	ListCell   *lc;

	if (!lower_present(l, fold))
		return false;
	fold->passes = fold->scan->scan.plan.qual != NIL ? fold->present : GPUCOL_NO_REG;
	foreach(lc, fold->scan->scan.plan.qual)
	{
		if (!lower_condition(l, over_values(fold, &fold->scan->scan.plan, lfirst(lc), false), &fold->passes))
			return false;
	}
	return true;
}

/* ---- aggregates ---- */

/* How an aggregate folds. */
typedef struct Aggregate
{
	Oid			oid;
	uint16		op;
	int			aux;
	bool		divided;		/* by how many there are */
	bool		in_order;		/* the order of elements matters */
} Aggregate;

#define EXTREMES(type, cls, in_order) \
	{F_MIN_##type, GPUCOL_OP_FOLD_MIN_##cls, 0, false, in_order}, \
	{F_MAX_##type, GPUCOL_OP_FOLD_MAX_##cls, 0, false, in_order}

static const Aggregate aggregates[] = {
	{F_COUNT_, GPUCOL_OP_FOLD_COUNT, 0, false, false},
	{F_COUNT_ANY, GPUCOL_OP_FOLD_COUNT, 0, false, false},
	{F_SUM_INT2, GPUCOL_OP_FOLD_SUM_I, 0, false, false},
	{F_SUM_INT4, GPUCOL_OP_FOLD_SUM_I, 0, false, false},
	{F_SUM_INT8, GPUCOL_OP_FOLD_SUM_D, 0, false, false},
	{F_SUM_FLOAT4, GPUCOL_OP_FOLD_SUM_F, sizeof(float4), false, true},
	{F_SUM_FLOAT8, GPUCOL_OP_FOLD_SUM_F, sizeof(float8), false, true},
	{F_AVG_INT2, GPUCOL_OP_FOLD_SUM_I, 0, true, false},
	{F_AVG_INT4, GPUCOL_OP_FOLD_SUM_I, 0, true, false},
	{F_AVG_INT8, GPUCOL_OP_FOLD_SUM_D, 0, true, false},
	{F_AVG_FLOAT4, GPUCOL_OP_FOLD_AVG_F, 0, false, true},
	{F_AVG_FLOAT8, GPUCOL_OP_FOLD_AVG_F, 0, false, true},
	EXTREMES(INT2, I, false),
	EXTREMES(INT4, I, false),
	EXTREMES(INT8, I, false),
	EXTREMES(DATE, I, false),
	EXTREMES(TIME, I, false),
	EXTREMES(TIMESTAMP, I, false),
	EXTREMES(TIMESTAMPTZ, I, false),
	EXTREMES(FLOAT4, F, true),
	EXTREMES(FLOAT8, F, true),
	{F_BOOL_AND, GPUCOL_OP_FOLD_AND, 0, false, false},
	{F_EVERY, GPUCOL_OP_FOLD_AND, 0, false, false},
	{F_BOOL_OR, GPUCOL_OP_FOLD_OR, 0, false, false},
};

static const Aggregate *
find_aggregate(const Aggref *agg)
{
	for (int i = 0; i < (int) lengthof(aggregates); i++)
		if (aggregates[i].oid == agg->aggfnoid)
			return &aggregates[i];
	return NULL;
}

/* Has a register values for elements of all arrays?  It is computed of some then. */
static bool
reads_elements(const GpucolLower *l, uint16 reg)
{
	for (int i = 0; i < l->ninstrs; i++)
	{
		const GpucolInstr *instr = &l->instrs[i];

		if (instr->dst != reg)
			continue;
		if (GPUCOL_OP_IS_EACH(instr->op))
			return true;
		if (instr->op <= GPUCOL_OP_CONST_B || GPUCOL_OP_IS_SPREAD(instr->op))
			return false;
		return (gpucol_opcode_class((GpucolOpcode) instr->op, 1) != GPUCOL_CLASS_NONE && reads_elements(l, instr->a)) ||
			(gpucol_opcode_class((GpucolOpcode) instr->op, 2) != GPUCOL_CLASS_NONE && reads_elements(l, instr->b)) ||
			(gpucol_opcode_class((GpucolOpcode) instr->op, 3) != GPUCOL_CLASS_NONE && reads_elements(l, instr->c));
	}
	return false;
}

/* A value where a condition is true, else NULL. */
static uint16
where(GpucolLower *l, uint16 condition, const GpucolValue *value)
{
	GpucolOpcode op = value->cls == GPUCOL_CLASS_B ? GPUCOL_OP_CASE_B :
		value->cls == GPUCOL_CLASS_I ? GPUCOL_OP_CASE_I : GPUCOL_OP_CASE_F;

	return gpucol_lower_emit(l, op, condition, value->reg, constant_of(l, value->cls, true), 0);
}

/* The argument of an aggregate, for the elements that count; of count() whether they do. */
static bool
lower_argument(GpucolLower *l, GpucolFold *fold, const Aggregate *f, Aggref *agg, uint16 passes, uint16 *reg)
{
	GpucolMask	mask;
	GpucolValue value;
	Expr	   *argument;
	bool		ok;

	*reg = passes != GPUCOL_NO_REG ? passes : fold->present;
	if (agg->args == NIL)
		return true;
	argument = over_values(fold, fold->plan, linitial_node(TargetEntry, agg->args)->expr, false);
	if (argument == NULL)
		return gpucol_lower_decline(l, "an aggregate of other than elements");
	if (passes != GPUCOL_NO_REG)
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, passes);
	ok = gpucol_lower_expr(l, argument, &value);
	if (passes != GPUCOL_NO_REG)
		gpucol_lower_pop_mask(l);
	if (!ok)
		return false;
	if (value.cls == GPUCOL_CLASS_D)
		return gpucol_lower_decline(l, "an aggregate of numerics among elements");
	fold->argument = value;
	if (f->op == GPUCOL_OP_FOLD_COUNT)
	{
		if (agg->aggdistinct != NIL && (value.cls == GPUCOL_CLASS_B || (value.cls == GPUCOL_CLASS_S &&
																		 !gpucol_lower_check_bytewise(l, argument))))
			return gpucol_lower_decline(l, "distinct values that are not compared as bytes");
		*reg = EMIT2(l, GPUCOL_OP_AND, *reg, EMIT1(l, GPUCOL_OP_NOT, is_null(l, &value), 0));
		return true;
	}
	if (value.cls != gpucol_opcode_class((GpucolOpcode) f->op, 1))
		return gpucol_lower_decline(l, "an aggregate of values in another form");
	if (passes != GPUCOL_NO_REG || fold->narrays > 1 || !reads_elements(l, value.reg))
		*reg = where(l, *reg, &value);
	else
		*reg = value.reg;
	return true;
}

/* Is it an aggregate call as folds know them? */
static const Aggregate *
check_aggref(GpucolLower *l, const Aggref *agg)
{
	const Aggregate *f = find_aggregate(agg);

	if (f == NULL || agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0 || agg->aggkind != AGGKIND_NORMAL ||
		(f->in_order && agg->aggorder != NIL) ||
		(agg->aggdistinct != NIL && f->op != GPUCOL_OP_FOLD_MIN_I && f->op != GPUCOL_OP_FOLD_MAX_I &&
		 f->op != GPUCOL_OP_FOLD_AND && f->op != GPUCOL_OP_FOLD_OR && f->op != GPUCOL_OP_FOLD_COUNT))
	{
		gpucol_lower_decline(l, "an aggregate of elements that engines do not compute");
		return NULL;
	}
	return f;
}

/* What one aggregate folds, for elements: its arguments, and for avg() how many there are. */
static bool
lower_folded(GpucolLower *l, GpucolFold *fold, const Aggregate *f, Aggref *agg, uint16 *reg)
{
	uint16		passes = fold->passes;

	if (agg->aggfilter != NULL)
	{
		if (passes == GPUCOL_NO_REG)
			passes = fold->present;
		if (!lower_condition(l, over_values(fold, fold->plan, agg->aggfilter, false), &passes))
			return false;
	}
	return lower_argument(l, fold, f, agg, passes, reg);
}

/* ---- the row's value ---- */

/* Begin or end with what is computed for elements: no row's mask is theirs, and constants may not be needed. */
static GpucolMask *
enter_elements(GpucolLower *l, GpucolFold *fold)
{
	GpucolMask *before = l->mask;

	l->mask = NULL;
	l->conditional++;
	fold->row_raises |= l->may_raise;
	l->may_raise = false;
	fold->per_element = true;
	return before;
}

static void
leave_elements(GpucolLower *l, GpucolFold *fold, GpucolMask *before)
{
	l->mask = before;
	l->conditional--;
	fold->raises |= l->may_raise;
	l->may_raise = false;
	fold->per_element = false;
}

/* The quotient of a sum and a number, as PostgreSQL's avg() of integers divides them. */
static bool
lower_quotient(GpucolLower *l, GpucolFold *fold, GpucolValue *value, uint16 count)
{
	int			number = fold->nvalues + (int) (value - fold->folded) + 1;
	bool		wide = value->cls == GPUCOL_CLASS_D;
	Expr	   *sum = (Expr *) makeVar(FOLD_VARNO, (AttrNumber) number, wide ? NUMERICOID : INT8OID, -1, InvalidOid, 0);
	Expr	   *by;

	number = fold->nvalues + MOST_VALUES;
	by = (Expr *) makeVar(FOLD_VARNO, (AttrNumber) number, INT8OID, -1, InvalidOid, 0);
	gpucol_lower_set_value(&fold->folded[MOST_VALUES - 1], GPUCOL_CLASS_I, count);
	if (!wide)
		sum = (Expr *) makeFuncExpr(F_NUMERIC_INT8, NUMERICOID, list_make1(sum), InvalidOid, InvalidOid,
									COERCE_IMPLICIT_CAST);
	by = (Expr *) makeFuncExpr(F_NUMERIC_INT8, NUMERICOID, list_make1(by), InvalidOid, InvalidOid,
							   COERCE_IMPLICIT_CAST);
	return gpucol_lower_number(l, (Expr *) makeFuncExpr(F_NUMERIC_DIV, NUMERICOID, list_make2(sum, by), InvalidOid,
														InvalidOid, COERCE_EXPLICIT_CALL), value);
}

/* Lower an aggregate of the fold. */
static bool
lower_aggref(GpucolLower *l, GpucolFold *fold, Aggref *agg, GpucolValue *value)
{
	const Aggregate *f = check_aggref(l, agg);
	GpucolMask *mask;
	GpucolValue counted;
	uint16		reg;
	uint16		there = GPUCOL_NO_REG;
	bool		ok;

	if (f == NULL)
		return false;
	mask = enter_elements(l, fold);
	ok = lower_folded(l, fold, f, agg, &reg);
	if (ok && f->divided)
	{
		gpucol_lower_set_value(&counted, GPUCOL_CLASS_I, reg);
		there = EMIT1(l, GPUCOL_OP_NOT, is_null(l, &counted), 0);
	}
	leave_elements(l, fold, mask);
	if (!ok)
		return false;
	if (f->op == GPUCOL_OP_FOLD_COUNT && agg->aggdistinct != NIL)
		return gpucol_lower_set_value(value, GPUCOL_CLASS_I,
									  EMIT2(l, fold->argument.cls == GPUCOL_CLASS_I ? GPUCOL_OP_FOLD_DISTINCT_I :
											fold->argument.cls == GPUCOL_CLASS_F ? GPUCOL_OP_FOLD_DISTINCT_F :
											GPUCOL_OP_FOLD_DISTINCT_S, fold->argument.reg, reg));
	gpucol_lower_set_value(value, gpucol_opcode_class((GpucolOpcode) f->op, 0),
						   EMIT1(l, (GpucolOpcode) f->op, reg, f->aux));
	if (value->cls == GPUCOL_CLASS_D)
		value->digits = SUM_DIGITS;
	return !f->divided || lower_quotient(l, fold, value, EMIT1(l, GPUCOL_OP_FOLD_COUNT, there, 0));
}

/* The value of a subquery of aggregates. */
static bool
lower_aggregates(GpucolLower *l, GpucolFold *fold, GpucolValue *out)
{
	Expr	   *expr = over_values(fold, fold->plan, linitial_node(TargetEntry, fold->plan->targetlist)->expr, false);
	ListCell   *lc;

	if (expr == NULL)
		return gpucol_lower_decline(l, "a subquery of other than elements");
	foreach(lc, fold->aggs)
	{
		if (!lower_aggref(l, fold, lfirst_node(Aggref, lc), &fold->folded[foreach_current_index(lc)]))
			return false;
	}
	return gpucol_lower_number(l, expr, out);
}

/* Is there an element that passes? */
static bool
lower_exists(GpucolLower *l, GpucolFold *fold, GpucolValue *out)
{
	uint16		reg = EMIT1(l, GPUCOL_OP_FOLD_OR, fold->passes != GPUCOL_NO_REG ? fold->passes : fold->present, 0);

	return gpucol_lower_set_value(out, GPUCOL_CLASS_B, EMIT1(l, GPUCOL_OP_IS_TRUE, reg, 0));
}

/* Does every instruction that is computed for elements read nothing of rows, but constants? */
static bool
check_elements(GpucolLower *l)
{
	bool	   *of_elements = palloc0(l->nregs + 1);
	bool	   *constant = palloc0(l->nregs + 1);

	for (int i = 0; i < l->ninstrs; i++)
	{
		const GpucolInstr *instr = &l->instrs[i];
		const uint16 operands[] = {instr->a, instr->b, instr->c, instr->mask};
		bool		some = false;
		bool		all = true;

		constant[instr->dst] = instr->op >= GPUCOL_OP_CONST_I && instr->op <= GPUCOL_OP_CONST_B;
		of_elements[instr->dst] = GPUCOL_OP_IS_EACH(instr->op) || GPUCOL_OP_IS_SPREAD(instr->op);
		if (of_elements[instr->dst] || GPUCOL_OP_IS_FOLD(instr->op))
			continue;
		for (int o = 0; o < 4; o++)
		{
			if (operands[o] == GPUCOL_NO_REG ||
				(o < 3 && gpucol_opcode_class((GpucolOpcode) instr->op, o + 1) == GPUCOL_CLASS_NONE))
				continue;
			some |= of_elements[operands[o]];
			all &= of_elements[operands[o]] || constant[operands[o]];
		}
		if (some && !all)
			return gpucol_lower_decline(l, "something of the row is computed for elements");
		of_elements[instr->dst] = some;
	}
	return true;
}

/* Lower a fold. */
static bool
lower_fold(GpucolLower *l, GpucolFold *fold, GpucolValue *out)
{
	GpucolMask *mask;
	bool		ok;

	l->fold = fold;
	mask = enter_elements(l, fold);
	ok = lower_conditions(l, fold);
	leave_elements(l, fold, mask);
	ok = ok && (fold->subplan->subLinkType == EXISTS_SUBLINK ? lower_exists(l, fold, out) :
				lower_aggregates(l, fold, out));
	l->fold = NULL;
	if (ok && fold->raises && l->mask != NULL)
		ok = gpucol_lower_decline(l, "an expression of elements may raise an error where it is not evaluated");
	l->may_raise |= fold->row_raises || fold->raises;
	return ok && check_elements(l);
}

bool
gpucol_lower_subplan(GpucolLower *l, SubPlan *subplan, GpucolValue *out)
{
	GpucolFold *fold;

	if (l->fold != NULL)
		return gpucol_lower_decline(l, "a subquery among elements");
	fold = palloc0(sizeof(GpucolFold));
	return read_plan(l, subplan, fold) ? lower_fold(l, fold, out) : gpucol_lower_seldom(l, subplan, out);
}
