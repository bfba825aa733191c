/*-------------------------------------------------------------------------
 *
 * recursive_lower.c
 *	  The terms of WITH RECURSIVE as a recursion plan.
 *
 * The term must be a join of the self-reference with relations that do not depend
 * on it.  PostgreSQL has planned each of these alone, with the conditions that
 * concern it alone; these plans become the inputs.  What is left, the join
 * conditions, the conditions on the self-reference and the target list, is lowered
 * to the steps of one rule: the delta first, then the input with the most equality
 * conditions on what is known, and so on.  A LEFT JOIN makes two rules, for rows
 * with and without match.
 *
 * Expressions that the engine does not have are PostgreSQL's to compute, for a
 * vector of rows at a time (GPUCOL_REC_HOST).  Where values that are compared or
 * deduplicated may be equal and look different, equal ones are made the same
 * (datalog/equality.h); if that makes a difference for what is loaded, PostgreSQL
 * evaluates the recursion instead.  None must be computed on the way.
 *
 * The non-recursive term becomes a rule as well where all that it joins are
 * inputs of the recursive term anyway; otherwise it stays PostgreSQL's.  An
 * input that the query names more than once is loaded once.
 *
 * Whatever is not on the lists here is declined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "datalog/builder.h"
#include "datalog/values.h"
#include "exec/recursive.h"
#include "planner/recursive_lower.h"

/* How a relation takes part in its term. */
typedef enum SourceMode
{
	SOURCE_INNER,
	SOURCE_PRESENT,				/* EXISTS, where duplicates count */
	SOURCE_ABSENT,				/* NOT EXISTS */
	SOURCE_OPTIONAL				/* right side of a LEFT JOIN */
} SourceMode;

/* A relation of the term. */
typedef struct Source
{
	Index		rti;
	SourceMode	mode;
	bool		padded;			/* OPTIONAL, in a rule for rows without match */
	const RangeTblEntry *rte;
	RelOptInfo *rel;			/* NULL for the self-reference */
	int			relation;		/* of the plan */
	List	   *columns;		/* Var of each column */
	bool		done;			/* its atom has been planned */
	int		   *registers;		/* by column; -1 = not needed or not done */
} Source;

/* A condition of the term. */
typedef struct Qual
{
	Node	   *clause;
	Source	   *on;				/* the relation whose join it decides, NULL: an
								 * inner join or WHERE */
	bool		done;
} Qual;

typedef struct Lowering
{
	GpucolLoweredRecursion *result;
	GpucolRecBuilder builder;
	List	   *types;			/* of the result's columns */
	List	   *collations;
	bool		all;
	List	   *inputs;			/* the Source that each input was made for */

	/* the term that is being lowered */
	PlannerInfo *subroot;
	bool		recursive;
	List	   *sources;		/* Source; the self-reference first */
	List	   *quals;			/* Qual */
	List	   *subplan_params; /* what subqueries hand to their tests */
} Lowering;

/* Rules double with every outer join. */
#define MAX_OPTIONAL	3

static bool lower_expr(Lowering *lowering, Node *node, GpucolRecOperand *out);

/* Note why the term cannot be pushed down; returns false. */
static bool
decline(Lowering *lowering, const char *reason)
{
	if (lowering->result->reason == NULL)
		lowering->result->reason = reason;
	return false;
}

/* ---- relations and conditions ---- */

/* Note conditions; `on` as in Qual. */
static void
add_quals(Lowering *lowering, List *clauses, Source *on)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Qual	   *qual = palloc0(sizeof(Qual));

		qual->clause = lfirst(lc);
		qual->on = on;
		lowering->quals = lappend(lowering->quals, qual);
	}
}

static Source *
add_source(Lowering *lowering, Index rti, SourceMode mode)
{
	Source	   *source = palloc0(sizeof(Source));

	source->rti = rti;
	source->mode = mode;
	lowering->sources = lappend(lowering->sources, source);
	return source;
}

/* Has the planner found that a join with this relation changes nothing? */
static bool
is_removed(const Lowering *lowering, Index rti)
{
	return gpucol_compat_is_dead_rel(lowering->subroot->simple_rel_array[rti]);
}

/* The right side of a join that is not an inner join: one relation. */
static bool
add_joined(Lowering *lowering, const JoinExpr *join, SourceMode mode)
{
	Node	   *right = join->rarg;
	List	   *quals = (List *) join->quals;

	if (IsA(right, FromExpr) && list_length(((FromExpr *) right)->fromlist) == 1)
	{
		quals = list_concat_copy(quals, (List *) ((FromExpr *) right)->quals);
		right = linitial(((FromExpr *) right)->fromlist);
	}
	if (!IsA(right, RangeTblRef))
		return decline(lowering, "the recursive term joins several relations in an outer join, EXISTS or NOT EXISTS");
	if (mode == SOURCE_OPTIONAL &&
		is_removed(lowering, ((RangeTblRef *) right)->rtindex))
		return true;
	add_quals(lowering, quals,
			  add_source(lowering, ((RangeTblRef *) right)->rtindex, mode));
	return true;
}

/* Gather relations and conditions of the join tree. */
static bool
walk_jointree(Lowering *lowering, Node *node)
{
	ListCell   *lc;
	JoinExpr   *join = (JoinExpr *) node;

	if (node == NULL)
		return true;
	if (IsA(node, RangeTblRef))
	{
		add_source(lowering, ((RangeTblRef *) node)->rtindex, SOURCE_INNER);
		return true;
	}
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			if (!walk_jointree(lowering, lfirst(lc)))
				return false;
		add_quals(lowering, (List *) ((FromExpr *) node)->quals, NULL);
		return true;
	}
	if (!IsA(node, JoinExpr))
		return decline(lowering, "the recursive term has an unknown kind of join");
	if (!walk_jointree(lowering, join->larg))
		return false;
	/* A set does not mind how often a row is found. */
	if (join->jointype == JOIN_INNER ||
		(join->jointype == JOIN_SEMI && !lowering->all))
	{
		if (!walk_jointree(lowering, join->rarg))
			return false;
		add_quals(lowering, (List *) join->quals, NULL);
		return true;
	}
	if (join->jointype == JOIN_SEMI)
		return add_joined(lowering, join, SOURCE_PRESENT);
	if (join->jointype == JOIN_ANTI)
		return add_joined(lowering, join, SOURCE_ABSENT);
	if (join->jointype == JOIN_LEFT)
		return add_joined(lowering, join, SOURCE_OPTIONAL);
	return decline(lowering, "the recursive term has a full join");
}

/* Does the term do what only a whole SELECT can? */
static bool
check_query(Lowering *lowering)
{
	Query	   *query = lowering->subroot->parse;

	if (query->commandType != CMD_SELECT || query->setOperations)
		return decline(lowering, "the recursive term is not a plain SELECT");
	if (query->hasAggs || query->groupClause || query->groupingSets ||
		query->havingQual || query->hasWindowFuncs)
		return decline(lowering, "the recursive term aggregates");
	/* A set has no duplicates anyway. */
	if (query->distinctClause && (query->hasDistinctOn || lowering->all))
		return decline(lowering, "the recursive term has DISTINCT");
	if (query->sortClause || query->limitCount || query->limitOffset)
		return decline(lowering, "the recursive term has ORDER BY or LIMIT");
	if (query->rowMarks)
		return decline(lowering, "the recursive term locks rows");
	if (query->hasTargetSRFs)
		return decline(lowering, "the recursive term has a set-returning function");
	if (contain_volatile_functions((Node *) query->targetList) ||
		contain_volatile_functions((Node *) query->jointree))
		return decline(lowering, "the recursive term has a volatile function");
	return true;
}

/* Columns of the self-reference, as types are known: Vars by position. */
static void
describe_self(const Lowering *lowering, Source *source)
{
	ListCell   *type;
	ListCell   *collation;

	forboth(type, lowering->types, collation, lowering->collations)
		source->columns = lappend(source->columns,
								  makeVar(source->rti,
										  foreach_current_index(type) + 1,
										  lfirst_oid(type), -1,
										  lfirst_oid(collation), 0));
}

/* The conditions that a relation's own plan tests, as those of relation rti. */
static List *
own_conditions(const RelOptInfo *rel, Index rti)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		clauses = lappend(clauses,
						  copyObject(lfirst_node(RestrictInfo, lc)->clause));
	ChangeVarNodes((Node *) clauses, (int) rel->relid, (int) rti, 0);
	return clauses;
}

/* Does an input deliver the rows of this source with all columns it needs? */
static bool
is_same_input(const Source *source, const Source *input)
{
	ListCell   *lc;
	ListCell   *inner;

	if (source->rte->rtekind != RTE_RELATION ||
		input->rte->rtekind != RTE_RELATION ||
		source->rte->relid != input->rte->relid ||
		source->rte->inh != input->rte->inh ||
		source->rte->tablesample || input->rte->tablesample ||
		!equal(own_conditions(source->rel, source->rti),
			   own_conditions(input->rel, source->rti)))
		return false;
	foreach(lc, source->columns)
	{
		bool		found = false;

		foreach(inner, input->columns)
			found |= ((Var *) lfirst(lc))->varattno ==
				((Var *) lfirst(inner))->varattno;
		if (!found)
			return false;
	}
	return true;
}

/* Read an input of the plan, an existing one if it does. */
static bool
choose_input(Lowering *lowering, Source *source, List *types, List *collations)
{
	ListCell   *lc;

	foreach(lc, lowering->inputs)
	{
		Source	   *input = lfirst(lc);

		if (!is_same_input(source, input))
			continue;
		source->relation = input->relation;
		source->columns = input->columns;
		return true;
	}
	if (!lowering->recursive)
		return decline(lowering, "the non-recursive term has relations of its own");
	lowering->inputs = lappend(lowering->inputs, source);
	source->relation = list_length(lowering->inputs);
	lowering->result->inputs = lappend(lowering->result->inputs, source->rel);
	lowering->result->input_types = lappend(lowering->result->input_types,
											types);
	lowering->result->input_collations =
		lappend(lowering->result->input_collations, collations);
	return true;
}

/* The plan of an input delivers the columns that others need. */
static bool
describe_input(Lowering *lowering, Source *source)
{
	RelOptInfo *rel = lowering->subroot->simple_rel_array[source->rti];
	List	   *types = NIL;
	List	   *collations = NIL;
	ListCell   *lc;

	if (rel == NULL || rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL ||
		!bms_is_empty(rel->lateral_relids))
		return decline(lowering, "a relation of the recursive term depends on another (LATERAL)");
	source->rel = rel;
	foreach(lc, rel->cheapest_total_path->pathtarget->exprs)
	{
		Node	   *expr = lfirst(lc);

		if (!IsA(expr, Var) || ((Var *) expr)->varno != (int) source->rti ||
			((Var *) expr)->varattno <= 0)
			return decline(lowering, "the recursive term uses a whole row or a system column");
		source->columns = lappend(source->columns, expr);
		types = lappend_oid(types, ((Var *) expr)->vartype);
		collations = lappend_oid(collations, ((Var *) expr)->varcollid);
	}
	if (list_length(source->columns) > GPUCOL_REC_MAX_ARITY)
		return decline(lowering, "a relation of the recursive term has too many columns");
	return choose_input(lowering, source, types, collations);
}

/* Find the self-reference, describe all sources. */
static bool
describe_sources(Lowering *lowering)
{
	List	   *inputs = NIL;
	Source	   *self = NULL;
	ListCell   *lc;
	int			i;

	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		source->rte = lowering->subroot->simple_rte_array[source->rti];
		if (source->rte->rtekind == RTE_CTE && source->rte->self_reference)
		{
			if (self != NULL)
				return decline(lowering, "the recursive term refers to itself twice");
			self = source;
			describe_self(lowering, source);
		}
		else if (source->rte->rtekind != RTE_RESULT)
		{
			if (!describe_input(lowering, source))
				return false;
			inputs = lappend(inputs, source);
		}
	}
	if (lowering->recursive ? self == NULL : inputs == NIL)
		return decline(lowering, "the recursive term refers to itself inside a subquery");
	lowering->sources = self != NULL ? lcons(self, inputs) : inputs;
	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		source->registers = palloc(sizeof(int) *
								   (list_length(source->columns) + 1));
		for (i = 0; i < list_length(source->columns); i++)
			source->registers[i] = -1;
	}
	return true;
}

/* ---- expressions ---- */

/* The source and column that a Var names. */
static Source *
find_column(const Lowering *lowering, const Var *var, int *column)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		if ((int) source->rti != (int) var->varno || var->varlevelsup != 0)
			continue;
		foreach(inner, source->columns)
			if (((Var *) lfirst(inner))->varattno == var->varattno)
			{
				*column = foreach_current_index(inner);
				return source;
			}
	}
	return NULL;
}

static Node *
strip_relabel(Node *node)
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
		Node	   *arg = strip_relabel(lfirst(lc));

		/* a constant must not decide how its equals look */
		if (exprType(arg) != type || IsA(arg, Const) || IsA(arg, Param) ||
			exprCollation(lfirst(lc)) != op->inputcollid)
			return false;
	}
	return true;
}

/* Have equal values of a type made the same, if they may look different. */
static void
note_equality(Lowering *lowering, Oid type, Oid collation)
{
	List	   *pair = list_make2_oid(type, collation);

	if (!gpucol_rec_type_comparable(type, collation))
		lowering->result->equalities =
			list_append_unique(lowering->result->equalities, pair);
}

/*
 * The comparison that an operator is, if it is one that the engine does: of
 * integers, of one ordered type, or (equality) of one comparable type.
 */
static bool
find_comparison(const OpExpr *op, GpucolRecFunction *function)
{
	Oid			same = op->opno;
	Oid			left;
	Oid			right;
	Oid			type;
	TypeCacheEntry *entry;

	if (list_length(op->args) != 2)
		return false;
	left = exprType(strip_relabel(linitial(op->args)));
	right = exprType(strip_relabel(lsecond(op->args)));
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

/*
 * Is a Param of the query known when the node is (re)started?  GpucolInputs carries
 * the expressions and the subqueries of the recursive term.
 */
static bool
is_param_known(const Lowering *lowering, const Param *param)
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

/* A Const or a Param of the query: its value is known when the node starts. */
static bool
lower_constant(Lowering *lowering, Node *node, GpucolRecOperand *out)
{
	int			n = list_length(lowering->result->constants);

	if (IsA(node, Param) && !is_param_known(lowering, (Param *) node))
		return decline(lowering, "the recursive term uses the result of a subquery");
	lowering->result->constants = lappend(lowering->result->constants, node);
	/* the number stands for the value until the node starts */
	*out = gpucol_rec_builder_constant(&lowering->builder, n, false);
	return true;
}

static bool
lower_var(Lowering *lowering, Var *var, GpucolRecOperand *out)
{
	int			column;
	Source	   *source = find_column(lowering, var, &column);

	if (source != NULL && source->padded)
		return lower_constant(lowering,
							  (Node *) makeNullConst(var->vartype, var->vartypmod,
													 var->varcollid), out);
	if (source == NULL || source->registers[column] < 0)
		return decline(lowering, "the recursive term uses a column that its relations do not deliver");
	*out = gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
									  source->registers[column]);
	return true;
}

/* function(args), where it is arithmetic of integers or a cast of them. */
static bool
lower_function(Lowering *lowering, Oid function, List *args,
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
			if (!lower_constant(lowering,
								(Node *) makeConst(INT8OID, -1, InvalidOid, 8,
												   Int64GetDatum(0), false,
												   FLOAT8PASSBYVAL), &zero))
				return false;
			*out = gpucol_rec_builder_compute(&lowering->builder,
											  GPUCOL_REC_ADD, casts[i].type,
											  *out, &zero);
			return true;
		}
	return decline(lowering, "the recursive term computes what is not pushed down");
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
			!find_comparison((OpExpr *) node, &function))
			return true;
	}
	return expression_tree_walker(node, may_fail, context);
}

/* AND and OR of more than one argument; NOT. */
static bool
lower_logic(Lowering *lowering, BoolExpr *logic, GpucolRecOperand *out)
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
lower_comparison(Lowering *lowering, const OpExpr *op, GpucolRecFunction function,
				 GpucolRecOperand *operands)
{
	Oid			type = exprType(linitial(op->args));
	int			side;

	for (side = 0; side < 2; side++)
		if (!lower_expr(lowering, list_nth(op->args, side), &operands[side]))
			return false;
	if ((function == GPUCOL_REC_EQ || function == GPUCOL_REC_NE) &&
		exprType(lsecond(op->args)) == type)
		note_equality(lowering, type, op->inputcollid);
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

static bool is_native(Node *node);

static bool
are_native(List *nodes)
{
	ListCell   *lc;

	foreach(lc, nodes)
		if (!is_native(lfirst(lc)))
			return false;
	return true;
}

/* Does the engine have all that an expression consists of? */
static bool
is_native(Node *node)
{
	GpucolRecFunction function;

	node = strip_relabel(node);
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_Param:
			return true;
		case T_FuncExpr:
			return is_arithmetic(((FuncExpr *) node)->funcid) &&
				are_native(((FuncExpr *) node)->args);
		case T_BoolExpr:
			/* PostgreSQL stops at the first argument that decides. */
			return (((BoolExpr *) node)->boolop == NOT_EXPR ||
					!may_fail((Node *) ((BoolExpr *) node)->args, NULL)) &&
				are_native(((BoolExpr *) node)->args);
		case T_NullTest:
			return !((NullTest *) node)->argisrow &&
				is_native((Node *) ((NullTest *) node)->arg);
		case T_OpExpr:
			if (!find_comparison((OpExpr *) node, &function) &&
				!is_arithmetic(get_opcode(((OpExpr *) node)->opno)))
				return false;
			return are_native(((OpExpr *) node)->args);
		default:
			return false;
	}
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

static bool find_foreign(Node *node, void *context);

/* The same for a subquery that is run for rows, by PostgreSQL. */
static bool
find_foreign_subplan(Lowering *lowering, SubPlan *subplan)
{
	if (!lowering->recursive)
		decline(lowering, "the non-recursive term uses the result of a subquery");
	if (find_volatile_subplan((Node *) subplan, lowering->subroot->glob))
		decline(lowering, "a subquery of the recursive term has a volatile function");
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
	Lowering   *lowering = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SubPlan:
			return find_foreign_subplan(lowering, (SubPlan *) node);
		case T_SubLink:
			decline(lowering, "the recursive term uses the result of a subquery");
			return true;
		case T_Param:
			if (is_param_known(lowering, (Param *) node) ||
				list_member_int(lowering->subplan_params, ((Param *) node)->paramid))
				return false;
			decline(lowering, "the recursive term uses the result of a subquery");
			return true;
		case T_Var:
			if (((Var *) node)->varattno > 0 && ((Var *) node)->varlevelsup == 0)
				return false;
			decline(lowering, "the recursive term uses a whole row or a system column");
			return true;
		case T_PlaceHolderVar:
		case T_Aggref:
		case T_WindowFunc:
		case T_GroupingFunc:
		case T_CurrentOfExpr:
			decline(lowering, "the recursive term computes what is not pushed down");
			return true;
		default:
			return expression_tree_walker(node, find_foreign, context);
	}
}

/* Operands of a host expression under construction. */
typedef struct HostContext
{
	Lowering   *lowering;
	List	   *vars;
	List	   *positions;		/* IntList: among all operands */
} HostContext;

/*
 * A new operand; EXPLAIN shows those of the recursive term, in whose planner run
 * the expressions are kept.
 */
static int
add_operand(Lowering *lowering, const Var *var)
{
	List	  **operands = &lowering->result->operands;

	*operands = lappend(*operands, lowering->recursive ? (Node *) copyObject(var) :
						(Node *) makeNullConst(var->vartype, var->vartypmod,
											   var->varcollid));
	return list_length(*operands) - 1;
}

/* The expression with operands in the place of columns. */
static Node *
replace_columns(Node *node, void *context)
{
	HostContext *host = context;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		Param	   *param = makeNode(Param);
		int			i = list_length(host->vars);

		foreach(lc, host->vars)
			if (((Var *) lfirst(lc))->varno == var->varno &&
				((Var *) lfirst(lc))->varattno == var->varattno)
				i = foreach_current_index(lc);
		if (i == list_length(host->vars))
		{
			host->vars = lappend(host->vars, var);
			host->positions = lappend_int(host->positions,
										  add_operand(host->lowering, var));
		}
		param->paramkind = PARAM_EXTERN;
		param->paramid = GPUCOL_RECURSIVE_OPERAND + list_nth_int(host->positions, i);
		param->paramtype = var->vartype;
		param->paramtypmod = var->vartypmod;
		param->paramcollid = var->varcollid;
		param->location = -1;
		return (Node *) param;
	}
	return expression_tree_mutator(node, replace_columns, context);
}

/*
 * Note the type of a computed value if values of it may be equal and look
 * different: what comes up during a run cannot be seen before the first row.
 */
static void
note_computed(Lowering *lowering, Node *node)
{
	Oid			type = exprType(node);
	Oid			collation = exprCollation(node);

	if (!gpucol_rec_type_exact(type, collation))
		lowering->result->computed =
			list_append_unique(lowering->result->computed,
							   list_make2_oid(type, collation));
}

/* A step (COMPUTE or TEST) that PostgreSQL computes. */
static bool
lower_host(Lowering *lowering, Node *node, GpucolRecStepKind kind,
		   GpucolRecOperand *out)
{
	GpucolLoweredRecursion *result = lowering->result;
	HostContext host = {.lowering = lowering};
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	Node	   *expr;
	GpucolRecStep *step;
	uint32		at;
	ListCell   *lc;

	if (find_foreign(node, lowering))
		return false;
	expr = replace_columns(node, &host);
	if (list_length(host.vars) > GPUCOL_REC_MAX_ARITY)
		return decline(lowering, "an expression of the recursive term reads too many columns");
	foreach(lc, host.vars)
	{
		if (!lower_var(lowering, lfirst(lc), &operands[foreach_current_index(lc)]))
			return false;
	}
	if (kind == GPUCOL_REC_COMPUTE)
	{
		note_computed(lowering, node);
		*out = gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
										  gpucol_rec_builder_register(&lowering->builder));
	}
	at = gpucol_rec_builder_step(&lowering->builder, kind,
								 list_length(result->hosts),
								 list_length(host.vars), operands);
	step = gpucol_rec_builder_step_at(&lowering->builder, at);
	step->function = GPUCOL_REC_HOST;
	step->type = GPUCOL_REC_CODE;
	if (kind == GPUCOL_REC_COMPUTE)
		step->target = out->index;
	result->hosts = lappend(result->hosts, expr);
	result->host_operands = lappend(result->host_operands, host.positions);
	return true;
}

/* Steps that compute a whole expression, by the engine or by PostgreSQL. */
static bool
lower_value(Lowering *lowering, Node *node, GpucolRecOperand *out)
{
	if (is_native(node))
		return lower_expr(lowering, node, out);
	return lower_host(lowering, node, GPUCOL_REC_COMPUTE, out);
}

/* Steps that compute an expression that is_native; its operand. */
static bool
lower_expr(Lowering *lowering, Node *node, GpucolRecOperand *out)
{
	GpucolRecOperand operands[2];
	GpucolRecFunction function;

	node = strip_relabel(node);
	switch (nodeTag(node))
	{
		case T_Var:
			return lower_var(lowering, (Var *) node, out);
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
				return decline(lowering, "the recursive term tests a row for null");
			*out = gpucol_rec_builder_compute(&lowering->builder,
											  ((NullTest *) node)->nulltesttype ==
											  IS_NULL ? GPUCOL_REC_ISNULL :
											  GPUCOL_REC_ISNOTNULL,
											  GPUCOL_REC_INT8, operands[0],
											  NULL);
			return true;
		case T_OpExpr:
			if (list_length(((OpExpr *) node)->args) == 2 &&
				find_comparison((OpExpr *) node, &function))
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
			return decline(lowering, "the recursive term computes what is not pushed down");
	}
}

/* ---- the rule ---- */

/* Are all relations that an expression names done? */
static bool
is_known(const Lowering *lowering, Node *node)
{
	Relids		relids = pull_varnos(lowering->subroot, node);
	ListCell   *lc;

	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		if (!source->done && bms_is_member(source->rti, relids))
			return false;
	}
	return true;
}

/*
 * Does a condition concern one input alone?  Its plan has seen to it, unless that
 * input may be missing when the condition is tested.
 */
static bool
is_local(const Lowering *lowering, const Qual *qual)
{
	Relids		relids = pull_varnos(lowering->subroot, qual->clause);
	ListCell   *lc;
	int			rti;

	if (!bms_get_singleton_member(relids, &rti))
		return false;
	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		if ((int) source->rti == rti)
			return source->rel != NULL &&
				(source->mode == SOURCE_INNER ? qual->on == NULL :
				 qual->on == source);
	}
	return false;
}

/*
 * If a condition says that a column of the source equals something known:
 * the column and the something.
 */
static bool
match_key(const Lowering *lowering, const Source *source, const Qual *qual,
		  int *column, Node **value)
{
	OpExpr	   *op = (OpExpr *) qual->clause;
	GpucolRecFunction function;
	int			side;

	if (qual->done || (qual->on != NULL && qual->on != source) ||
		!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!find_comparison(op, &function) || function != GPUCOL_REC_EQ)
		return false;
	for (side = 0; side < 2; side++)
	{
		Node	   *arg = strip_relabel(list_nth(op->args, side));

		*value = list_nth(op->args, 1 - side);
		if (IsA(arg, Var) &&
			find_column(lowering, (Var *) arg, column) == source &&
			is_known(lowering, *value) &&
			!bms_is_empty(pull_varnos(lowering->subroot, *value)))
			return true;
	}
	return false;
}

/* Conditions that match_key accepts for a source. */
static int
count_keys(const Lowering *lowering, const Source *source)
{
	int			n = 0;
	int			column;
	Node	   *value;
	ListCell   *lc;

	foreach(lc, lowering->quals)
		if (match_key(lowering, source, lfirst(lc), &column, &value))
			n++;
	return n;
}

/* Is everything known that decides the join with a source? */
static bool
is_ready(const Lowering *lowering, const Source *source)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, lowering->quals)
	{
		Qual	   *qual = lfirst(lc);
		Relids		relids;

		if (qual->on != source)
			continue;
		relids = pull_varnos(lowering->subroot, qual->clause);
		foreach(inner, lowering->sources)
		{
			Source	   *other = lfirst(inner);

			if (other != source && !other->done &&
				bms_is_member(other->rti, relids))
				return false;
		}
	}
	return true;
}

/* The next input to join: one that only drops rows, most keys, fewest rows. */
static Source *
next_source(const Lowering *lowering)
{
	Source	   *best = NULL;
	int			best_keys = 0;
	ListCell   *lc;

	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);
		int			keys;

		if (source->done ||
			(source->mode != SOURCE_INNER && !is_ready(lowering, source)))
			continue;
		if (source->mode == SOURCE_PRESENT || source->mode == SOURCE_ABSENT ||
			source->padded)
			return source;
		keys = count_keys(lowering, source);
		if (best == NULL || keys > best_keys ||
			(keys == best_keys && source->rel->rows < best->rel->rows))
		{
			best = source;
			best_keys = keys;
		}
	}
	return best;
}

/* Use a condition as a key of an atom; false after a decline. */
static bool
lower_key(Lowering *lowering, Qual *qual, Node *value, GpucolRecOperand *operand)
{
	const OpExpr *op = (OpExpr *) qual->clause;
	Oid			type = exprType(linitial(op->args));

	if (!lower_value(lowering, value, operand))
		return false;
	if (exprType(lsecond(op->args)) == type)
		note_equality(lowering, type, op->inputcollid);
	return true;
}

/* Add the atom of a source. */
static bool
lower_atom(Lowering *lowering, Source *source)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = list_length(source->columns);
	int			column;
	Node	   *value;
	uint32		step;
	ListCell   *lc;
	int			i;

	for (i = 0; i < n; i++)
		operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
	if (source->rel != NULL)
		foreach(lc, lowering->quals)
		{
			GpucolRecOperand key;

			if (!match_key(lowering, source, lfirst(lc), &column, &value) ||
				operands[column].kind != GPUCOL_REC_ANY)
				continue;
			if (!lower_key(lowering, lfirst(lc), value, &key))
				return false;
			/* the null of a padded row: the condition is tested later */
			if (key.kind != GPUCOL_REC_REGISTER)
				continue;
			operands[column] = key;
			((Qual *) lfirst(lc))->done = true;
			source->registers[column] = key.index;
		}
	for (i = 0; i < n; i++)
		if (operands[i].kind == GPUCOL_REC_ANY)
		{
			source->registers[i] =
				gpucol_rec_builder_register(&lowering->builder);
			operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_BIND,
													 source->registers[i]);
		}
	step = gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_ATOM,
								   source->relation, n, operands);
	gpucol_rec_builder_step_at(&lowering->builder, step)->version =
		source->rel == NULL ? GPUCOL_REC_DELTA : GPUCOL_REC_FULL;
	source->done = true;
	return true;
}

/* Add the test that a source has a match, or none. */
static bool
lower_existence(Lowering *lowering, Source *source)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = list_length(source->columns);
	int			column;
	Node	   *value;
	ListCell   *lc;
	int			i;

	for (i = 0; i < n; i++)
		operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
	foreach(lc, lowering->quals)
	{
		Qual	   *qual = lfirst(lc);

		if (qual->on != source)
			continue;
		if (!is_local(lowering, qual))
		{
			if (!match_key(lowering, source, qual, &column, &value) ||
				operands[column].kind != GPUCOL_REC_ANY)
				return decline(lowering, "the recursive term has an outer join, EXISTS or NOT EXISTS on more than equal columns");
			if (!lower_key(lowering, qual, value, &operands[column]))
				return false;
		}
		qual->done = true;
	}
	gpucol_rec_builder_step(&lowering->builder, source->mode == SOURCE_PRESENT ?
							GPUCOL_REC_PRESENT : GPUCOL_REC_ABSENT,
							source->relation, n, operands);
	source->done = true;
	return true;
}

/* Join with the next source. */
static bool
lower_source(Lowering *lowering, Source *source)
{
	if (source->mode == SOURCE_PRESENT || source->mode == SOURCE_ABSENT ||
		source->padded)
		return lower_existence(lowering, source);
	return lower_atom(lowering, source);
}

/* One condition, as a test. */
static bool
lower_test(Lowering *lowering, Node *clause)
{
	GpucolRecOperand operands[2];
	GpucolRecFunction function;

	if (!is_native(clause))
		return lower_host(lowering, clause, GPUCOL_REC_TEST, NULL);
	if (IsA(clause, OpExpr) && find_comparison((OpExpr *) clause, &function))
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

/* Test what can be tested now, what the engine tests itself first. */
static bool
lower_tests(Lowering *lowering)
{
	ListCell   *lc;
	int			pass;

	for (pass = 0; pass < 2; pass++)
		foreach(lc, lowering->quals)
		{
			Qual	   *qual = lfirst(lc);
			bool		local = is_local(lowering, qual);

			if (qual->done || !is_known(lowering, qual->clause) ||
				(pass == 0 && !local && !is_native(qual->clause)))
				continue;
			if (!local && !lower_test(lowering, qual->clause))
				return false;
			qual->done = true;
		}
	return true;
}

/* Is a value of one type one of the other as it is (varchar and text)? */
static bool
same_values(Oid from, Oid to)
{
	return from == to ||
		(!get_typbyval(from) && !get_typbyval(to) && IsBinaryCoercible(from, to));
}

/* The columns of the result. */
static bool
lower_target(Lowering *lowering)
{
	List	   *types = lowering->types;
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = 0;
	ListCell   *lc;

	foreach(lc, lowering->subroot->processed_tlist)
	{
		TargetEntry *entry = lfirst(lc);

		if (entry->resjunk)
			return decline(lowering, "the recursive term has a hidden column");
		if (!same_values(exprType((Node *) entry->expr),
						 list_nth_oid(types, n)))
			return decline(lowering, "the terms have columns of different types");
		if (!gpucol_rec_type_comparable(list_nth_oid(types, n),
										list_nth_oid(lowering->collations, n)) &&
			(exprType((Node *) entry->expr) != list_nth_oid(types, n) ||
			 exprCollation((Node *) entry->expr) !=
			 list_nth_oid(lowering->collations, n)))
			return decline(lowering, "the terms have columns of different types");
		if (!lower_value(lowering, (Node *) entry->expr, &operands[n++]))
			return false;
	}
	if (n != list_length(types))
		return decline(lowering, "the terms have different numbers of columns");
	gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_EMIT, 0, n, operands);
	return true;
}

/* Declare the result and the inputs. */
static bool
declare_relations(Lowering *lowering)
{
	List	   *types = lowering->types;
	uint8		rec_types[GPUCOL_REC_MAX_ARITY];
	GpucolRecColumn column;
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, types, lc2, lowering->collations)
	{
		gpucol_rec_column_init(&column, lfirst_oid(lc));
		rec_types[foreach_current_index(lc)] = column.rec_type;
		if (lowering->all)
			continue;
		if (!gpucol_rec_type_comparable(lfirst_oid(lc), lfirst_oid(lc2)) &&
			!gpucol_rec_type_hashable(lfirst_oid(lc)))
			return decline(lowering, "a column's type cannot be hashed");
		note_equality(lowering, lfirst_oid(lc), lfirst_oid(lc2));
	}
	gpucol_rec_builder_relation(&lowering->builder, list_length(types),
								rec_types, GPUCOL_REC_DERIVED |
								GPUCOL_REC_OUTPUT |
								(lowering->all ? GPUCOL_REC_BAG : 0), 0);
	foreach(lc, lowering->result->input_types)
	{
		foreach(lc2, (List *) lfirst(lc))
		{
			gpucol_rec_column_init(&column, lfirst_oid(lc2));
			rec_types[foreach_current_index(lc2)] = column.rec_type;
		}
		gpucol_rec_builder_relation(&lowering->builder,
									list_length(lfirst(lc)), rec_types,
									GPUCOL_REC_INPUT | GPUCOL_REC_BAG, 0);
	}
	return true;
}

/*
 * Start a rule: bit i of `padded` says that it is for rows without a match in the
 * i-th optional relation.
 */
static void
begin_rule(Lowering *lowering, int padded)
{
	ListCell   *lc;
	int			i;

	foreach(lc, lowering->quals)
		((Qual *) lfirst(lc))->done = false;
	foreach(lc, lowering->sources)
	{
		Source	   *source = lfirst(lc);

		source->done = source->padded = false;
		for (i = 0; i < list_length(source->columns); i++)
			source->registers[i] = -1;
		if (source->mode != SOURCE_OPTIONAL)
			continue;
		source->padded = padded & 1;
		padded >>= 1;
	}
	gpucol_rec_builder_rule(&lowering->builder, 0,
							lowering->recursive ? GPUCOL_REC_RECURSIVE : 0);
}

static bool
lower_rule(Lowering *lowering, int padded)
{
	Source	   *source;
	ListCell   *lc;

	begin_rule(lowering, padded);
	source = lowering->recursive ? linitial(lowering->sources) :
		next_source(lowering);
	for (; source != NULL; source = next_source(lowering))
		if (!lower_source(lowering, source) || !lower_tests(lowering))
			return false;
	foreach(lc, lowering->sources)
		if (!((Source *) lfirst(lc))->done)
			return decline(lowering, "the joins of the recursive term depend on each other");
	return lower_target(lowering);
}

/* A rule for each choice of optional relations that have no match. */
static bool
lower_rules(Lowering *lowering)
{
	int			noptional = 0;
	int			padded;
	ListCell   *lc;

	foreach(lc, lowering->sources)
		noptional += ((Source *) lfirst(lc))->mode == SOURCE_OPTIONAL;
	if (noptional > (lowering->recursive ? MAX_OPTIONAL : 0))
		return decline(lowering, "the term has too many outer joins");
	for (padded = 0; padded < 1 << noptional; padded++)
		if (!lower_rule(lowering, padded))
			return false;
	return true;
}

/* Gather what a term consists of. */
static bool
open_term(Lowering *lowering, PlannerInfo *subroot, bool recursive)
{
	lowering->subroot = subroot;
	lowering->recursive = recursive;
	lowering->sources = lowering->quals = NIL;
	return check_query(lowering) &&
		walk_jointree(lowering, (Node *) subroot->parse->jointree) &&
		describe_sources(lowering);
}

/* Are values that are made the same known before the first row? */
static bool
check_exactness(Lowering *lowering)
{
	ListCell   *lc;

	foreach(lc, lowering->result->computed)
		if (list_member(lowering->result->equalities, lfirst(lc)))
			return decline(lowering, "computed values that are compared may be equal and look different");
	return true;
}

/* Add a rule for the non-recursive term; without one nothing has changed. */
static void
lower_base(Lowering *lowering, PlannerInfo *subroot)
{
	GpucolLoweredRecursion *result = lowering->result;
	GpucolRecBuilder before = lowering->builder;
	GpucolLoweredRecursion kept = *result;
	int			nconstants = list_length(result->constants);
	int			nhosts = list_length(result->hosts);
	int			noperands = list_length(result->operands);
	int			nequalities = list_length(result->equalities);
	int			ncomputed = list_length(result->computed);

	if (open_term(lowering, subroot, false) && lower_rules(lowering) &&
		check_exactness(lowering))
	{
		result->has_base = true;
		return;
	}
	*result = kept;
	result->constants = list_truncate(result->constants, nconstants);
	result->hosts = list_truncate(result->hosts, nhosts);
	result->host_operands = list_truncate(result->host_operands, nhosts);
	result->operands = list_truncate(result->operands, noperands);
	result->equalities = list_truncate(result->equalities, nequalities);
	result->computed = list_truncate(result->computed, ncomputed);
	gpucol_rec_builder_reset(&lowering->builder, &before);
}

void
gpucol_recursive_lower(PlannerInfo *subroot, PlannerInfo *base, List *types,
					   List *collations, bool all,
					   GpucolLoweredRecursion *result)
{
	Lowering	lowering = {.result = result,.types = types,
	.collations = collations,.all = all};

	memset(result, 0, sizeof(*result));
	gpucol_rec_builder_init(&lowering.builder);
	if (list_length(types) > GPUCOL_REC_MAX_ARITY)
	{
		result->reason = "the recursion has too many columns";
		return;
	}
	if (!open_term(&lowering, subroot, true) ||
		!declare_relations(&lowering) || !lower_rules(&lowering) ||
		!check_exactness(&lowering))
		return;
	if (base != NULL)
		lower_base(&lowering, base);
	result->plan = gpucol_rec_builder_finish(&lowering.builder, 1);
}
