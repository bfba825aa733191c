/*-------------------------------------------------------------------------
 *
 * hosts.c
 *	  Expressions of a term that PostgreSQL computes for a vector of rows at a time
 *	  (GPUCOL_REC_HOST), and its subqueries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"

#include "recursion/front/values.h"
#include "recursion/plan/nodes.h"
#include "recursion/plan/lowering.h"

/*
 * Is a Param of the query known when the node is (re)started?  GpucolInputs carries
 * the expressions and the subqueries of the recursive term.
 */
bool
gpucol_rec_lower_knows_param(const GpucolRecLowering *lowering, const Param *param)
{
	ListCell   *lc;

	if (param->paramkind != PARAM_EXEC)
		return param->paramkind == PARAM_EXTERN;
	if (bms_is_member(param->paramid, lowering->subroot->outer_params))
		return true;
	if (!lowering->recursive)
		return false;
	foreach(lc, lowering->subroot->init_plans)
		if (list_member_int(lfirst_node(SubPlan, lc)->setParam, param->paramid))
			return true;
	return false;
}

/* Does a planned subquery within an expression have a volatile function? */
static bool
find_volatile_subplan(Node *node, void *context)
{
	PlannerGlobal *glob = context;
	PlannerInfo *planned;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_volatile_subplan, context, 0);
	if (IsA(node, SubPlan))
	{
		planned = list_nth(glob->subroots, ((SubPlan *) node)->plan_id - 1);
		if (contain_volatile_functions((Node *) planned->parse) ||
			find_volatile_subplan((Node *) planned->parse, context) ||
			find_volatile_subplan((Node *) planned->init_plans, context))
			return true;
	}
	return expression_tree_walker(node, find_volatile_subplan, context);
}

bool
gpucol_rec_lower_is_volatile(const GpucolRecLowering *lowering, Node *node)
{
	return contain_volatile_functions(node) ||
		find_volatile_subplan(node, lowering->subroot->glob);
}

static bool find_foreign(Node *node, void *context);

/* The same for a subquery that is run for rows, by PostgreSQL. */
static bool
find_foreign_subplan(GpucolRecLowering *lowering, SubPlan *subplan)
{
	if (!lowering->recursive)
		gpucol_rec_lower_decline(lowering, "the non-recursive term uses the result of a subquery");
	/* what the subquery returns is a parameter in its test alone */
	lowering->subplan_params = list_concat_copy(lowering->subplan_params,
												subplan->paramIds);
	return lowering->result->reason != NULL ||
		find_foreign(subplan->testexpr, lowering) ||
		find_foreign((Node *) subplan->args, lowering);
}

/* What an expression has that not even PostgreSQL can compute in the engine. */
static bool
find_foreign(Node *node, void *context)
{
	GpucolRecLowering *lowering = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SubPlan:
			return find_foreign_subplan(lowering, (SubPlan *) node);
		case T_SubLink:
			gpucol_rec_lower_decline(lowering, "the recursive term uses the result of a subquery");
			return true;
		case T_Param:
			if (gpucol_rec_lower_knows_param(lowering, (Param *) node) ||
				list_member_int(lowering->subplan_params,
								((Param *) node)->paramid))
				return false;
			gpucol_rec_lower_decline(lowering, "the recursive term uses the result of a subquery");
			return true;
		case T_Var:
			if (((Var *) node)->varattno > 0 && ((Var *) node)->varlevelsup == 0)
				return false;
			gpucol_rec_lower_decline(lowering, "the recursive term uses a whole row or a system column");
			return true;
		case T_PlaceHolderVar:
		case T_Aggref:
		case T_WindowFunc:
		case T_GroupingFunc:
		case T_CurrentOfExpr:
			gpucol_rec_lower_decline(lowering, "the recursive term computes what is not pushed down");
			return true;
		default:
			return expression_tree_walker(node, find_foreign, context);
	}
}

/* Operands of a host expression under construction. */
typedef struct HostContext
{
	GpucolRecLowering *lowering;
	List	   *vars;
	List	   *positions;		/* IntList: among all operands */
	const GpucolRecSource *inner;	/* a match: of this relation, or NULL */
	List	   *columns;		/* IntList: its columns that are used */
	List	   *column_positions;	/* IntList: their operands */
} HostContext;

/*
 * A new operand; EXPLAIN shows those of the relations of the recursive term, in whose
 * planner run the expressions are kept.
 */
static int
add_operand(GpucolRecLowering *lowering, const Var *var)
{
	List	  **operands = &lowering->result->operands;

	*operands = lappend(*operands, lowering->recursive &&
						var->varno < lowering->subroot->simple_rel_array_size ?
						(Node *) copyObject(var) :
						(Node *) makeNullConst(var->vartype, var->vartypmod,
											   var->varcollid));
	return list_length(*operands) - 1;
}

/* The number of the operand that stands for a column. */
static int
find_operand(HostContext *host, Var *var)
{
	int			column;
	ListCell   *lc;

	if (host->inner != NULL &&
		gpucol_rec_lower_column(host->lowering, var, &column) == host->inner)
	{
		foreach(lc, host->columns)
			if (lfirst_int(lc) == column)
				return list_nth_int(host->column_positions, foreach_current_index(lc));
		host->columns = lappend_int(host->columns, column);
		host->column_positions = lappend_int(host->column_positions,
											 add_operand(host->lowering, var));
		return llast_int(host->column_positions);
	}
	foreach(lc, host->vars)
		if (((Var *) lfirst(lc))->varno == var->varno &&
			((Var *) lfirst(lc))->varattno == var->varattno)
			return list_nth_int(host->positions, foreach_current_index(lc));
	host->vars = lappend(host->vars, var);
	host->positions = lappend_int(host->positions, add_operand(host->lowering, var));
	return llast_int(host->positions);
}

/* The expression with operands in the place of columns. */
static Node *
replace_columns(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXTERN;
		param->paramid = GPUCOL_RECURSIVE_OPERAND + find_operand(context, var);
		param->paramtype = var->vartype;
		param->paramtypmod = var->vartypmod;
		param->paramcollid = var->varcollid;
		param->location = -1;
		return (Node *) param;
	}
	return expression_tree_mutator(node, replace_columns, context);
}

/* Add the step of a host expression, whose operands are known. */
static bool
add_host(GpucolRecLowering *lowering, Node *expr, const HostContext *host,
		 GpucolRecStepKind kind, List *match, GpucolRecOperand *out)
{
	GpucolLoweredRecursion *result = lowering->result;
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY] = {{0}};
	GpucolRecStep *step;
	uint32		at;
	ListCell   *lc;

	if (list_length(host->vars) > GPUCOL_REC_MAX_ARITY)
		return gpucol_rec_lower_decline(lowering, "an expression of the recursive term reads too many columns");
	foreach(lc, host->vars)
	{
		if (!gpucol_rec_lower_var(lowering, lfirst(lc), &operands[foreach_current_index(lc)]))
			return false;
	}
	if (out != NULL)
		*out = gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
										  gpucol_rec_builder_register(&lowering->builder));
	at = gpucol_rec_builder_step(&lowering->builder, kind,
								 list_length(result->hosts),
								 list_length(host->vars), operands);
	step = gpucol_rec_builder_step_at(&lowering->builder, at);
	step->function = GPUCOL_REC_HOST;
	step->type = GPUCOL_REC_CODE;
	if (out != NULL)
		step->target = out->index;
	result->hosts = lappend(result->hosts, expr);
	result->host_operands = lappend(result->host_operands, host->positions);
	result->host_matches = lappend(result->host_matches, match);
	return true;
}

bool
gpucol_rec_lower_host(GpucolRecLowering *lowering, Node *node,
					  GpucolRecStepKind kind, GpucolRecOperand *out)
{
	HostContext host = {.lowering = lowering};
	Node	   *expr;

	if (find_foreign(node, lowering))
		return false;
	expr = replace_columns(node, &host);
	return add_host(lowering, expr, &host, kind, NIL,
					kind == GPUCOL_REC_COMPUTE ? out : NULL);
}

/*
 * Is a condition the equality of a column of the relation and one of another, of
 * which the engine's values tell?  The two, then.
 */
static bool
find_key(const GpucolRecLowering *lowering, const GpucolRecSource *source,
		 const OpExpr *op, Var **outer, int *column)
{
	GpucolRecFunction function;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!gpucol_rec_lower_comparison(op, &function) || function != GPUCOL_REC_EQ)
		return false;
	for (int side = 0; side < 2; side++)
	{
		Var		   *var = (Var *) gpucol_rec_lower_strip(list_nth(op->args, side));

		*outer = (Var *) gpucol_rec_lower_strip(list_nth(op->args, 1 - side));
		if (IsA(var, Var) && IsA(*outer, Var) &&
			gpucol_rec_lower_column(lowering, var, column) == source &&
			(*outer)->varno != var->varno)
			return true;
	}
	return false;
}

bool
gpucol_rec_lower_match(GpucolRecLowering *lowering, const GpucolRecSource *source,
					   List *clauses)
{
	HostContext host = {.lowering = lowering,.inner = source};
	Node	   *expr = (Node *) make_ands_explicit(clauses);
	List	   *keys = NIL;
	List	   *key_columns = NIL;
	List	   *match;
	ListCell   *lc;

	if (find_foreign(expr, lowering))
		return false;
	expr = replace_columns(expr, &host);
	foreach(lc, clauses)
	{
		const OpExpr *op;
		Var		   *outer;
		int			column;

		if (!find_key(lowering, source, lfirst(lc), &outer, &column))
			continue;
		op = lfirst(lc);
		if (exprType(linitial(op->args)) == exprType(lsecond(op->args)))
			gpucol_rec_lower_note_equality(lowering, exprType(linitial(op->args)),
										   op->inputcollid);
		keys = lappend_int(keys, find_operand(&host, outer));
		key_columns = lappend_int(key_columns, column);
	}
	match = list_make3(makeInteger(source->relation - 1),
					   makeBoolean(source->mode != GPUCOL_SOURCE_PRESENT),
					   host.columns);
	match = lappend(match, host.column_positions);
	match = lappend(match, keys);
	match = lappend(match, key_columns);
	return add_host(lowering, expr, &host, GPUCOL_REC_TEST, match, NULL);
}

bool
gpucol_rec_lower_expand(GpucolRecLowering *lowering, GpucolRecSource *source)
{
	HostContext host = {.lowering = lowering};
	RangeTblFunction *function = copyObject(source->function);
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY] = {{0}};
	List	   *attnos = NIL;
	List	   *collations = NIL;
	Node	   *expr;
	int			n;
	uint32		at;
	ListCell   *lc;

	if (find_foreign(function->funcexpr, lowering))
		return false;
	expr = replace_columns(function->funcexpr, &host);
	n = list_length(host.vars);
	if (n + list_length(source->columns) > GPUCOL_REC_MAX_ARITY)
		return gpucol_rec_lower_decline(lowering, "a function of the recursive term reads or returns too many columns");
	foreach(lc, host.vars)
		if (!gpucol_rec_lower_var(lowering, lfirst(lc), &operands[foreach_current_index(lc)]))
			return false;
	foreach(lc, source->columns)
	{
		int			i = foreach_current_index(lc);

		source->registers[i] = gpucol_rec_builder_register(&lowering->builder);
		operands[n + i] = gpucol_rec_builder_operand(GPUCOL_REC_BIND, source->registers[i]);
		attnos = lappend_int(attnos, ((Var *) lfirst(lc))->varattno);
		collations = lappend_oid(collations, ((Var *) lfirst(lc))->varcollid);
	}
	at = gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_EXPAND,
								 list_length(lowering->result->hosts),
								 n + list_length(source->columns), operands);
	gpucol_rec_builder_step_at(&lowering->builder, at)->type = GPUCOL_REC_CODE;
	function->funcexpr = NULL;
	lowering->result->hosts = lappend(lowering->result->hosts, expr);
	lowering->result->host_operands = lappend(lowering->result->host_operands, host.positions);
	lowering->result->host_matches = lappend(lowering->result->host_matches,
											 list_make5(function, makeBoolean(source->ordinality),
														makeBoolean(source->outer), attnos,
														collations));
	return true;
}
