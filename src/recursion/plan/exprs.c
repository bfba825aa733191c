/*-------------------------------------------------------------------------
 *
 * exprs.c
 *	  Expressions of a term that the engine of the recursion computes itself: steps of a
 *	  rule for integers, comparisons and logic.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/make.h"
#include "recursion/front/values.h"
#include "recursion/plan/lowering.h"

static bool lower_expr(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out);

/* The source and column that a Var names. */
GpucolRecSource *
gpucol_rec_lower_column(const GpucolRecLowering *lowering, const Var *var, int *column)
{
	List	   *sources = lowering->target_function == NULL ? lowering->sources :
		lappend(list_copy(lowering->sources), lowering->target_function);
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, sources)
	{
		GpucolRecSource *source = lfirst(lc);

		if (!bms_is_member(var->varno, source->relids) || var->varlevelsup != 0)
			continue;
		foreach(inner, source->columns)
			if (((Var *) lfirst(inner))->varattno == var->varattno &&
				(source->rti > 0 || ((Var *) lfirst(inner))->varno == var->varno))
			{
				*column = foreach_current_index(inner);
				return source;
			}
	}
	return NULL;
}

Node *
gpucol_rec_lower_strip(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* Arithmetic of integers: function and type of the result. */
typedef struct Arithmetic
{
	Oid			function;
	GpucolRecFunction rec_function;
	GpucolRecType type;
} Arithmetic;

static const Arithmetic arithmetic[] = {
	{F_INT2PL, GPUCOL_REC_ADD, GPUCOL_REC_INT2},
	{F_INT4PL, GPUCOL_REC_ADD, GPUCOL_REC_INT4},
	{F_INT8PL, GPUCOL_REC_ADD, GPUCOL_REC_INT8},
	{F_INT24PL, GPUCOL_REC_ADD, GPUCOL_REC_INT4},
	{F_INT42PL, GPUCOL_REC_ADD, GPUCOL_REC_INT4},
	{F_INT28PL, GPUCOL_REC_ADD, GPUCOL_REC_INT8},
	{F_INT82PL, GPUCOL_REC_ADD, GPUCOL_REC_INT8},
	{F_INT48PL, GPUCOL_REC_ADD, GPUCOL_REC_INT8},
	{F_INT84PL, GPUCOL_REC_ADD, GPUCOL_REC_INT8},
	{F_INT2MI, GPUCOL_REC_SUB, GPUCOL_REC_INT2},
	{F_INT4MI, GPUCOL_REC_SUB, GPUCOL_REC_INT4},
	{F_INT8MI, GPUCOL_REC_SUB, GPUCOL_REC_INT8},
	{F_INT24MI, GPUCOL_REC_SUB, GPUCOL_REC_INT4},
	{F_INT42MI, GPUCOL_REC_SUB, GPUCOL_REC_INT4},
	{F_INT28MI, GPUCOL_REC_SUB, GPUCOL_REC_INT8},
	{F_INT82MI, GPUCOL_REC_SUB, GPUCOL_REC_INT8},
	{F_INT48MI, GPUCOL_REC_SUB, GPUCOL_REC_INT8},
	{F_INT84MI, GPUCOL_REC_SUB, GPUCOL_REC_INT8},
	{F_INT2MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT2},
	{F_INT4MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT4},
	{F_INT8MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT8},
	{F_INT24MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT4},
	{F_INT42MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT4},
	{F_INT28MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT8},
	{F_INT82MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT8},
	{F_INT48MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT8},
	{F_INT84MUL, GPUCOL_REC_MUL, GPUCOL_REC_INT8},
	{F_INT2DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT2},
	{F_INT4DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT4},
	{F_INT8DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT8},
	{F_INT24DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT4},
	{F_INT42DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT4},
	{F_INT28DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT8},
	{F_INT82DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT8},
	{F_INT48DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT8},
	{F_INT84DIV, GPUCOL_REC_DIV, GPUCOL_REC_INT8},
	{F_INT2MOD, GPUCOL_REC_MOD, GPUCOL_REC_INT2},
	{F_INT4MOD, GPUCOL_REC_MOD, GPUCOL_REC_INT4},
	{F_INT8MOD, GPUCOL_REC_MOD, GPUCOL_REC_INT8},
	{F_INT2UM, GPUCOL_REC_NEG, GPUCOL_REC_INT2},
	{F_INT4UM, GPUCOL_REC_NEG, GPUCOL_REC_INT4},
	{F_INT8UM, GPUCOL_REC_NEG, GPUCOL_REC_INT8},
};

/* Casts between integers: the type whose range is checked. */
static const Arithmetic casts[] = {
	{F_INT4_INT2, GPUCOL_REC_COPY, GPUCOL_REC_INT4},
	{F_INT8_INT2, GPUCOL_REC_COPY, GPUCOL_REC_INT8},
	{F_INT8_INT4, GPUCOL_REC_COPY, GPUCOL_REC_INT8},
	{F_INT2_INT4, GPUCOL_REC_ADD, GPUCOL_REC_INT2},
	{F_INT2_INT8, GPUCOL_REC_ADD, GPUCOL_REC_INT2},
	{F_INT4_INT8, GPUCOL_REC_ADD, GPUCOL_REC_INT4},
};

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/*
 * Does the engine decide whether values are equal by this operator: of one type,
 * by its own equality?
 */
static bool
has_equality(const OpExpr *op, Oid type)
{
	ListCell   *lc;

	if (gpucol_rec_type_comparable(type, op->inputcollid))
		return true;
	if (!gpucol_rec_type_hashable(type))
		return false;
	foreach(lc, op->args)
	{
		Node	   *arg = gpucol_rec_lower_strip(lfirst(lc));

		/* a constant must not decide how its equals look */
		if (exprType(arg) != type || IsA(arg, Const) || IsA(arg, Param) ||
			exprCollation(lfirst(lc)) != op->inputcollid)
			return false;
	}
	return true;
}

/* Have equal values of a type made the same, if they may look different. */
void
gpucol_rec_lower_note_equality(GpucolRecLowering *lowering, Oid type, Oid collation)
{
	List	   *pair = list_make3_oid(type, collation, InvalidOid);

	if (!gpucol_rec_type_comparable(type, collation))
		lowering->result->equalities =
			list_append_unique(lowering->result->equalities, pair);
}

/*
 * The comparison that an operator is, if it is one that the engine does: of
 * integers, of one ordered type, or (equality) of one comparable type.
 */
bool
gpucol_rec_lower_comparison(const OpExpr *op, GpucolRecFunction *function)
{
	Oid			same = op->opno;
	Oid			left;
	Oid			right;
	Oid			type;
	TypeCacheEntry *entry;

	if (list_length(op->args) != 2)
		return false;
	left = exprType(gpucol_rec_lower_strip(linitial(op->args)));
	right = exprType(gpucol_rec_lower_strip(lsecond(op->args)));
	type = exprType(linitial(op->args));
	if (is_integer(left) && is_integer(right) && left != right)
	{
		/* cross-type operators of integers bear the same names */
		char	   *name = get_opname(op->opno);

		if (name == NULL || get_func_namespace(get_opcode(op->opno)) !=
			PG_CATALOG_NAMESPACE)
			return false;
		*function = strcmp(name, "=") == 0 ? GPUCOL_REC_EQ :
			strcmp(name, "<>") == 0 ? GPUCOL_REC_NE :
			strcmp(name, "<") == 0 ? GPUCOL_REC_LT :
			strcmp(name, "<=") == 0 ? GPUCOL_REC_LE :
			strcmp(name, ">") == 0 ? GPUCOL_REC_GT :
			strcmp(name, ">=") == 0 ? GPUCOL_REC_GE : GPUCOL_REC_COPY;
		return *function != GPUCOL_REC_COPY;
	}
	if (exprType(lsecond(op->args)) != type)
		return false;
	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR |
							  TYPECACHE_GT_OPR);
	if (!OidIsValid(entry->eq_opr))
		return false;
	if (has_equality(op, type))
	{
		*function = same == entry->eq_opr ? GPUCOL_REC_EQ : GPUCOL_REC_NE;
		if (same == entry->eq_opr || same == get_negator(entry->eq_opr))
			return true;
	}
	if (!gpucol_rec_type_ordered(type))
		return false;
	*function = same == entry->lt_opr ? GPUCOL_REC_LT :
		same == entry->gt_opr ? GPUCOL_REC_GT :
		same == get_negator(entry->gt_opr) ? GPUCOL_REC_LE :
		same == get_negator(entry->lt_opr) ? GPUCOL_REC_GE : GPUCOL_REC_COPY;
	return *function != GPUCOL_REC_COPY;
}

/* A Const or a Param of the query: its value is known when the node starts. */
static bool
lower_constant(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out)
{
	int			n = list_length(lowering->result->constants);
	ListCell   *lc;

	if (IsA(node, Param) && !gpucol_rec_lower_knows_param(lowering, (Param *) node))
		return gpucol_rec_lower_decline(lowering, "the recursive term uses the result of a subquery");
	foreach(lc, lowering->result->constants)
		if (equal(lfirst(lc), node))
		{
			*out = gpucol_rec_builder_constant(&lowering->builder, foreach_current_index(lc), false);
			return true;
		}
	lowering->result->constants = lappend(lowering->result->constants, node);
	/* the number stands for the value until the node starts */
	*out = gpucol_rec_builder_constant(&lowering->builder, n, false);
	return true;
}

bool
gpucol_rec_lower_var(GpucolRecLowering *lowering, Var *var, GpucolRecOperand *out)
{
	int			column;
	GpucolRecSource *source = gpucol_rec_lower_column(lowering, var, &column);

	/* so are the columns of a LEFT JOIN that keeps rows without match only */
	if (source != NULL && (source->padded ||
						   (source->mode == GPUCOL_SOURCE_ABSENT && source->done)))
		return lower_constant(lowering,
							  (Node *) makeNullConst(var->vartype, var->vartypmod,
													 var->varcollid), out);
	if (source == NULL || source->registers[column] < 0)
		return gpucol_rec_lower_decline(lowering, "the recursive term uses a column that its relations do not deliver");
	*out = gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
									  source->registers[column]);
	return true;
}

/* function(args), where it is arithmetic of integers or a cast of them. */
static bool
lower_function(GpucolRecLowering *lowering, Oid function, List *args,
			   GpucolRecOperand *out)
{
	GpucolRecOperand operands[2];
	GpucolRecOperand zero;
	int			i;

	for (i = 0; i < (int) lengthof(arithmetic); i++)
		if (arithmetic[i].function == function)
		{
			if (!lower_expr(lowering, linitial(args), &operands[0]) ||
				(list_length(args) > 1 &&
				 !lower_expr(lowering, lsecond(args), &operands[1])))
				return false;
			operands[0] = gpucol_rec_lower_masked(lowering, operands[0]);
			*out = gpucol_rec_builder_compute(&lowering->builder,
											  arithmetic[i].rec_function,
											  arithmetic[i].type, operands[0],
											  list_length(args) > 1 ?
											  &operands[1] : NULL);
			return true;
		}
	for (i = 0; i < (int) lengthof(casts); i++)
		if (casts[i].function == function)
		{
			if (!lower_expr(lowering, linitial(args), out))
				return false;
			if (casts[i].rec_function == GPUCOL_REC_COPY)
				return true;
			/* adding 0 checks the range */
			*out = gpucol_rec_lower_masked(lowering, *out);
			if (!lower_constant(lowering, (Node *) gpucol_make_int8(0), &zero))
				return false;
			*out = gpucol_rec_builder_compute(&lowering->builder,
											  GPUCOL_REC_ADD, casts[i].type,
											  *out, &zero);
			return true;
		}
	return gpucol_rec_lower_decline(lowering, "the recursive term computes what is not pushed down");
}

/* Can evaluating the expression raise an error? */
static bool
may_fail(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr))
		return true;
	if (IsA(node, OpExpr))
	{
		GpucolRecFunction function;

		if (list_length(((OpExpr *) node)->args) != 2 ||
			!gpucol_rec_lower_comparison((OpExpr *) node, &function))
			return true;
	}
	return expression_tree_walker(node, may_fail, context);
}

/* AND and OR of more than one argument; NOT. */
static bool
lower_logic(GpucolRecLowering *lowering, BoolExpr *logic, GpucolRecOperand *out)
{
	GpucolRecFunction function = logic->boolop == AND_EXPR ? GPUCOL_REC_AND :
		logic->boolop == OR_EXPR ? GPUCOL_REC_OR : GPUCOL_REC_NOT;
	GpucolRecOperand operand;
	ListCell   *lc;

	if (!lower_expr(lowering, linitial(logic->args), out))
		return false;
	if (logic->boolop == NOT_EXPR)
	{
		*out = gpucol_rec_builder_compute(&lowering->builder, function,
										  GPUCOL_REC_INT8, *out, NULL);
		return true;
	}
	for_each_from(lc, logic->args, 1)
	{
		if (!lower_expr(lowering, lfirst(lc), &operand))
			return false;
		*out = gpucol_rec_builder_compute(&lowering->builder, function,
										  GPUCOL_REC_INT8, *out, &operand);
	}
	return true;
}

/* The operands of a comparison. */
static bool
lower_comparison(GpucolRecLowering *lowering, const OpExpr *op,
				 GpucolRecFunction function, GpucolRecOperand *operands)
{
	Oid			type = exprType(linitial(op->args));
	int			side;

	for (side = 0; side < 2; side++)
		if (!lower_expr(lowering, list_nth(op->args, side), &operands[side]))
			return false;
	if ((function == GPUCOL_REC_EQ || function == GPUCOL_REC_NE) &&
		exprType(lsecond(op->args)) == type)
		gpucol_rec_lower_note_equality(lowering, type, op->inputcollid);
	return true;
}

/* Is this function arithmetic of integers or a cast of them? */
static bool
is_arithmetic(Oid function)
{
	int			i;

	for (i = 0; i < (int) lengthof(arithmetic); i++)
		if (arithmetic[i].function == function)
			return true;
	for (i = 0; i < (int) lengthof(casts); i++)
		if (casts[i].function == function)
			return true;
	return false;
}

/* Is a parameter the result of a subquery of the term or of a query around it? */
static bool
is_subquery(const PlannerInfo *root, const Param *param)
{
	ListCell   *lc;

	if (param->paramkind != PARAM_EXEC || root == NULL)
		return false;
	foreach(lc, root->init_plans)
		if (list_member_int(lfirst_node(SubPlan, lc)->setParam, param->paramid))
			return true;
	return is_subquery(root->parent_root, param);
}

bool
gpucol_rec_lower_are_native(const GpucolRecLowering *lowering, List *nodes)
{
	ListCell   *lc;

	foreach(lc, nodes)
		if (!gpucol_rec_lower_is_native(lowering, lfirst(lc)))
			return false;
	return true;
}

/* Does the engine have all that an expression consists of? */
bool
gpucol_rec_lower_is_native(const GpucolRecLowering *lowering, Node *node)
{
	GpucolRecFunction function;

	node = gpucol_rec_lower_strip(node);
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
			return true;
		case T_Param:
			/* a subquery is not run before a row needs its result */
			return !is_subquery(lowering->subroot, (Param *) node);
		case T_FuncExpr:
			return is_arithmetic(((FuncExpr *) node)->funcid) &&
				gpucol_rec_lower_are_native(lowering, ((FuncExpr *) node)->args);
		case T_BoolExpr:
			/* PostgreSQL stops at the first argument that decides. */
			return (((BoolExpr *) node)->boolop == NOT_EXPR ||
					!may_fail((Node *) ((BoolExpr *) node)->args, NULL)) &&
				gpucol_rec_lower_are_native(lowering, ((BoolExpr *) node)->args);
		case T_NullTest:
			return !((NullTest *) node)->argisrow &&
				gpucol_rec_lower_is_native(lowering, (Node *) ((NullTest *) node)->arg);
		case T_OpExpr:
			if (!gpucol_rec_lower_comparison((OpExpr *) node, &function) &&
				!is_arithmetic(get_opcode(((OpExpr *) node)->opno)))
				return false;
			return gpucol_rec_lower_are_native(lowering, ((OpExpr *) node)->args);
		default:
			return gpucol_rec_branches_are_native(lowering, node);
	}
}

/* Steps that compute a whole expression, by the engine or by PostgreSQL. */
bool
gpucol_rec_lower_value(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out)
{
	if (gpucol_rec_lower_is_native(lowering, node))
		return lower_expr(lowering, node, out);
	return gpucol_rec_lower_host(lowering, node, GPUCOL_REC_COMPUTE, out);
}

/* Steps that compute an expression that gpucol_rec_lower_is_native; its operand. */
static bool
lower_expr(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out)
{
	GpucolRecOperand operands[2];
	GpucolRecFunction function;

	node = gpucol_rec_lower_strip(node);
	switch (nodeTag(node))
	{
		case T_Var:
			return gpucol_rec_lower_var(lowering, (Var *) node, out);
		case T_Const:
		case T_Param:
			return lower_constant(lowering, node, out);
		case T_FuncExpr:
			return lower_function(lowering, ((FuncExpr *) node)->funcid,
								  ((FuncExpr *) node)->args, out);
		case T_BoolExpr:
			return lower_logic(lowering, (BoolExpr *) node, out);
		case T_NullTest:
			if (((NullTest *) node)->argisrow ||
				!lower_expr(lowering, (Node *) ((NullTest *) node)->arg,
							&operands[0]))
				return gpucol_rec_lower_decline(lowering, "the recursive term tests a row for null");
			*out = gpucol_rec_builder_compute(&lowering->builder,
											  ((NullTest *) node)->nulltesttype ==
											  IS_NULL ? GPUCOL_REC_ISNULL :
											  GPUCOL_REC_ISNOTNULL,
											  GPUCOL_REC_INT8, operands[0],
											  NULL);
			return true;
		case T_OpExpr:
			if (list_length(((OpExpr *) node)->args) == 2 &&
				gpucol_rec_lower_comparison((OpExpr *) node, &function))
			{
				if (!lower_comparison(lowering, (OpExpr *) node, function, operands))
					return false;
				*out = gpucol_rec_builder_compute(&lowering->builder, function,
												  GPUCOL_REC_INT8, operands[0],
												  &operands[1]);
				return true;
			}
			return lower_function(lowering,
								  get_opcode(((OpExpr *) node)->opno),
								  ((OpExpr *) node)->args, out);
		default:
			return gpucol_rec_lower_branches(lowering, node, out);
	}
}

bool
gpucol_rec_lower_native(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out)
{
	return lower_expr(lowering, node, out);
}

bool
gpucol_rec_lower_equal(GpucolRecLowering *lowering, const OpExpr *op, GpucolRecOperand *out)
{
	GpucolRecOperand operands[2];

	if (!lower_comparison(lowering, op, GPUCOL_REC_EQ, operands))
		return false;
	*out = gpucol_rec_builder_compute(&lowering->builder, GPUCOL_REC_EQ, GPUCOL_REC_INT8, operands[0],
									  &operands[1]);
	return true;
}

/* One condition, as a test. */
bool
gpucol_rec_lower_test(GpucolRecLowering *lowering, Node *clause)
{
	GpucolRecOperand operands[2];
	GpucolRecFunction function;

	if (!gpucol_rec_lower_is_native(lowering, clause))
		return gpucol_rec_lower_host(lowering, clause, GPUCOL_REC_TEST, NULL);
	if (IsA(clause, OpExpr) && gpucol_rec_lower_comparison((OpExpr *) clause, &function))
	{
		if (!lower_comparison(lowering, (OpExpr *) clause, function, operands))
			return false;
		gpucol_rec_builder_test(&lowering->builder, function, GPUCOL_REC_INT8,
								operands[0], &operands[1]);
		return true;
	}
	if (!lower_expr(lowering, clause, &operands[0]))
		return false;
	gpucol_rec_builder_test(&lowering->builder, GPUCOL_REC_COPY,
							GPUCOL_REC_INT8, operands[0], NULL);
	return true;
}
