/*-------------------------------------------------------------------------
 *
 * terms.c
 *	  What a term of WITH RECURSIVE consists of: relations and conditions.
 *
 * Whatever is not on the lists here is declined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "recursion/plan/lowering.h"

/* Note why the term cannot be pushed down; returns false. */
bool
gpucol_rec_lower_decline(GpucolRecLowering *lowering, const char *reason)
{
	if (lowering->result->reason == NULL)
		lowering->result->reason = reason;
	return false;
}

/* Note conditions; `on` as in GpucolRecQual. */
static void
add_quals(GpucolRecLowering *lowering, List *clauses, GpucolRecSource *on)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		GpucolRecQual *qual = palloc0(sizeof(GpucolRecQual));

		qual->clause = lfirst(lc);
		qual->on = on;
		lowering->quals = lappend(lowering->quals, qual);
	}
}

static GpucolRecSource *
add_source(GpucolRecLowering *lowering, Relids relids, GpucolRecSourceMode mode)
{
	GpucolRecSource *source = palloc0(sizeof(GpucolRecSource));
	int			rti;

	source->relids = relids;
	if (bms_get_singleton_member(relids, &rti))
		source->rti = (Index) rti;
	source->mode = mode;
	lowering->sources = lappend(lowering->sources, source);
	return source;
}

/* Has the planner found that a join with this relation changes nothing? */
static bool
is_removed(const GpucolRecLowering *lowering, Index rti)
{
	return gpucol_compat_is_dead_rel(lowering->subroot->simple_rel_array[rti]);
}

/* The relations of an inner join; NULL if it is anything else. */
static Relids
inner_relids(Node *node)
{
	Relids		relids = NULL;
	Relids		left;
	Relids		right;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) node)->rtindex);
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			left = inner_relids(lfirst(lc));
			if (left == NULL)
				return NULL;
			relids = bms_join(relids, left);
		}
		return relids;
	}
	if (!IsA(node, JoinExpr) || ((JoinExpr *) node)->jointype != JOIN_INNER)
		return NULL;
	left = inner_relids(((JoinExpr *) node)->larg);
	right = inner_relids(((JoinExpr *) node)->rarg);
	return left == NULL || right == NULL ? NULL : bms_join(left, right);
}

/*
 * The right side of a join that is not an inner join: one relation, or an inner join
 * of some, which PostgreSQL has planned too.
 */
static bool
add_joined(GpucolRecLowering *lowering, const JoinExpr *join, GpucolRecSourceMode mode)
{
	Node	   *right = join->rarg;
	List	   *quals = (List *) join->quals;
	Relids		relids;

	if (IsA(right, FromExpr) && list_length(((FromExpr *) right)->fromlist) == 1)
	{
		quals = list_concat_copy(quals, (List *) ((FromExpr *) right)->quals);
		right = linitial(((FromExpr *) right)->fromlist);
	}
	relids = inner_relids(right);
	if (relids == NULL)
		return gpucol_rec_lower_decline(lowering, "the recursive term has an outer join within an outer join, EXISTS or NOT EXISTS");
	if (mode == GPUCOL_SOURCE_OPTIONAL && IsA(right, RangeTblRef) &&
		is_removed(lowering, ((RangeTblRef *) right)->rtindex))
		return true;
	add_quals(lowering, quals, add_source(lowering, relids, mode));
	return true;
}

/* Gather relations and conditions of the join tree. */
static bool
walk_jointree(GpucolRecLowering *lowering, Node *node)
{
	ListCell   *lc;
	JoinExpr   *join = (JoinExpr *) node;

	if (node == NULL)
		return true;
	if (IsA(node, RangeTblRef))
	{
		add_source(lowering, bms_make_singleton(((RangeTblRef *) node)->rtindex),
				   GPUCOL_SOURCE_INNER);
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
		return gpucol_rec_lower_decline(lowering, "the recursive term has an unknown kind of join");
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
		return add_joined(lowering, join, GPUCOL_SOURCE_PRESENT);
	if (join->jointype == JOIN_ANTI)
		return add_joined(lowering, join, GPUCOL_SOURCE_ABSENT);
	if (join->jointype == JOIN_LEFT)
		return add_joined(lowering, join, GPUCOL_SOURCE_OPTIONAL);
	return gpucol_rec_lower_decline(lowering, "the recursive term has a full join");
}

/* Does the term do what only a whole SELECT can? */
static bool
check_query(GpucolRecLowering *lowering)
{
	Query	   *query = lowering->subroot->parse;

	if (query->commandType != CMD_SELECT || query->setOperations)
		return gpucol_rec_lower_decline(lowering, "the recursive term is not a plain SELECT");
	if (query->hasWindowFuncs)
		return gpucol_rec_lower_decline(lowering, "the recursive term has a window function, which sees a whole round");
	if (query->hasAggs || query->groupClause || query->groupingSets || query->havingQual)
		return gpucol_rec_lower_decline(lowering, "the recursive term aggregates");
	/* A set has no duplicates anyway. */
	if (query->distinctClause && (query->hasDistinctOn || lowering->all))
		return gpucol_rec_lower_decline(lowering, "the recursive term has DISTINCT");
	/* the order of its rows means nothing to a recursion */
	if (query->limitCount || query->limitOffset)
		return gpucol_rec_lower_decline(lowering, "the recursive term has LIMIT");
	if (query->rowMarks)
		return gpucol_rec_lower_decline(lowering, "the recursive term locks rows");
	if (query->hasTargetSRFs && (!lowering->recursive || query->distinctClause))
		return gpucol_rec_lower_decline(lowering, "the term has a set-returning function");
	if (gpucol_rec_lower_is_volatile(lowering, (Node *) query->targetList) ||
		gpucol_rec_lower_is_volatile(lowering, (Node *) query->jointree))
		return gpucol_rec_lower_decline(lowering, "the recursive term has a volatile function");
	return true;
}

/* Columns of the self-reference, as types are known: Vars by position. */
static void
describe_self(const GpucolRecLowering *lowering, GpucolRecSource *source)
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
is_same_input(const GpucolRecSource *source, const GpucolRecSource *input)
{
	ListCell   *lc;
	ListCell   *inner;

	if (source->rte == NULL || input->rte == NULL ||
		source->rte->rtekind != RTE_RELATION ||
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
choose_input(GpucolRecLowering *lowering, GpucolRecSource *source, List *types, List *collations)
{
	ListCell   *lc;

	foreach(lc, lowering->inputs)
	{
		GpucolRecSource *input = lfirst(lc);

		if (!is_same_input(source, input))
			continue;
		source->relation = input->relation;
		source->columns = input->columns;
		return true;
	}
	if (!lowering->recursive)
		return gpucol_rec_lower_decline(lowering, "the non-recursive term has relations of its own");
	lowering->inputs = lappend(lowering->inputs, source);
	source->relation = list_length(lowering->inputs);
	lowering->result->inputs = lappend(lowering->result->inputs, source->rel);
	lowering->result->input_types = lappend(lowering->result->input_types,
											types);
	lowering->result->input_collations =
		lappend(lowering->result->input_collations, collations);
	return true;
}

/* Columns of a LATERAL function that the term needs. */
static bool
describe_function(GpucolRecLowering *lowering, GpucolRecSource *source, RelOptInfo *rel)
{
	List	   *needed = list_concat(copyObject(rel->reltarget->exprs),
									 own_conditions(rel, source->rti));
	ListCell   *lc;

	if (!lowering->recursive)
		return gpucol_rec_lower_decline(lowering, "the non-recursive term has relations of its own");
	if (list_length(source->rte->functions) != 1)
		return gpucol_rec_lower_decline(lowering, "the recursive term has ROWS FROM of several functions");
	source->rel = rel;
	source->function = linitial(source->rte->functions);
	source->ordinality = source->rte->funcordinality;
	if (gpucol_rec_lower_is_volatile(lowering, source->function->funcexpr))
		return gpucol_rec_lower_decline(lowering, "the recursive term has a volatile function");
	if (source->mode == GPUCOL_SOURCE_OPTIONAL)
	{
		/* a row that has no rows of the function is one with nulls */
		foreach(lc, lowering->quals)
			if (((GpucolRecQual *) lfirst(lc))->on == source)
				return gpucol_rec_lower_decline(lowering, "a function on the right side of an outer join of the recursive term has conditions");
		source->mode = GPUCOL_SOURCE_INNER;
		source->outer = true;
	}
	if (source->mode != GPUCOL_SOURCE_INNER)
		return gpucol_rec_lower_decline(lowering, "EXISTS or NOT EXISTS of the recursive term reads a function");
	foreach(lc, pull_var_clause((Node *) needed, PVC_RECURSE_PLACEHOLDERS))
	{
		Var		   *var = lfirst(lc);

		if ((Index) var->varno == source->rti && var->varattno <= 0)
			return gpucol_rec_lower_decline(lowering, "the recursive term uses a whole row or a system column");
		if ((Index) var->varno == source->rti)
			source->columns = list_append_unique(source->columns, var);
	}
	return true;
}

/* The plan of an input delivers the columns that others need. */
static bool
describe_input(GpucolRecLowering *lowering, GpucolRecSource *source)
{
	RelOptInfo *rel = source->rti > 0 ?
		lowering->subroot->simple_rel_array[source->rti] :
		find_join_rel(lowering->subroot, source->relids);
	List	   *types = NIL;
	List	   *collations = NIL;
	ListCell   *lc;

	if (rel == NULL)
		return gpucol_rec_lower_decline(lowering, "PostgreSQL has not planned a join of the recursive term");
	if (source->rte != NULL && source->rte->rtekind == RTE_FUNCTION &&
		!bms_is_empty(rel->lateral_relids))
		return describe_function(lowering, source, rel);
	if (rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL ||
		!bms_is_empty(rel->lateral_relids))
		return gpucol_rec_lower_decline(lowering, "a subquery in FROM of the recursive term reads columns of another relation and is no plain join (LATERAL)");
	source->rel = rel;
	foreach(lc, rel->cheapest_total_path->pathtarget->exprs)
	{
		Node	   *expr = lfirst(lc);

		if (!IsA(expr, Var) || !bms_is_member(((Var *) expr)->varno, source->relids) ||
			((Var *) expr)->varattno <= 0)
			return gpucol_rec_lower_decline(lowering, "the recursive term uses a whole row or a system column");
		source->columns = lappend(source->columns, expr);
		types = lappend_oid(types, ((Var *) expr)->vartype);
		collations = lappend_oid(collations, ((Var *) expr)->varcollid);
	}
	if (list_length(source->columns) > GPUCOL_REC_MAX_ARITY)
		return gpucol_rec_lower_decline(lowering, "a relation of the recursive term has too many columns");
	return choose_input(lowering, source, types, collations);
}

/* Find the self-reference, describe all sources. */
static bool
describe_sources(GpucolRecLowering *lowering)
{
	List	   *inputs = NIL;
	GpucolRecSource *self = NULL;
	ListCell   *lc;
	int			i;

	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		if (source->rti > 0)
			source->rte = lowering->subroot->simple_rte_array[source->rti];
		if (source->rte != NULL && source->rte->rtekind == RTE_CTE &&
			source->rte->self_reference)
		{
			if (self != NULL)
				return gpucol_rec_lower_decline(lowering, "the recursive term refers to itself twice");
			self = source;
			describe_self(lowering, source);
		}
		else if (source->rte == NULL || source->rte->rtekind != RTE_RESULT)
		{
			if (!describe_input(lowering, source))
				return false;
			inputs = lappend(inputs, source);
		}
	}
	if (lowering->recursive ? self == NULL : inputs == NIL)
		return gpucol_rec_lower_decline(lowering, "the recursive term refers to itself inside a subquery");
	lowering->sources = self != NULL ? lcons(self, inputs) : inputs;
	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		source->registers = palloc(sizeof(int) *
								   (list_length(source->columns) + 1));
		for (i = 0; i < list_length(source->columns); i++)
			source->registers[i] = -1;
	}
	return true;
}

/* Is it a call of a function that returns rows? */
static bool
returns_rows(const Node *node)
{
	return (IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcretset) ||
		(IsA(node, OpExpr) && ((const OpExpr *) node)->opretset);
}

/* A column of the function of the select list, which must be this one. */
static Node *
target_column(GpucolRecLowering *lowering, Node *function, int column, const Node *like)
{
	GpucolRecSource *source = lowering->target_function;
	Node	  **known = &source->function->funcexpr;
	Var		   *var = makeVar((int) source->rti, (AttrNumber) column, exprType(like),
							  exprTypmod(like), exprCollation(like), 0);

	if (*known == NULL)
		*known = function;
	else if (!equal(*known, function))
		gpucol_rec_lower_decline(lowering, "the select list has several set-returning functions");
	source->columns = list_append_unique(source->columns, var);
	return (Node *) var;
}

static Node *
replace_function(Node *node, void *context)
{
	GpucolRecLowering *lowering = context;
	Node	   *call = node;

	if (node == NULL)
		return NULL;
	if (IsA(node, FieldSelect))
		call = (Node *) ((FieldSelect *) node)->arg;
	if (!returns_rows(call))
		return expression_tree_mutator(node, replace_function, context);
	if (call == node && type_is_rowtype(exprType(node)))
		gpucol_rec_lower_decline(lowering, "the select list has a function that returns whole rows");
	if (expression_returns_set(IsA(call, FuncExpr) ? (Node *) ((FuncExpr *) call)->args :
							   (Node *) ((OpExpr *) call)->args))
		gpucol_rec_lower_decline(lowering, "the select list has several set-returning functions");
	return target_column(lowering, call, call == node ? 1 : ((FieldSelect *) node)->fieldnum,
						 node);
}

List *
gpucol_rec_lower_target_function(GpucolRecLowering *lowering, List *tlist,
								 GpucolRecSource **source)
{
	GpucolRecSource *function = palloc0(sizeof(GpucolRecSource));

	function->rti = (Index) lowering->subroot->simple_rel_array_size;
	function->relids = bms_make_singleton((int) function->rti);
	function->function = makeNode(RangeTblFunction);
	*source = lowering->target_function = function;
	tlist = (List *) replace_function((Node *) tlist, lowering);
	function->registers = palloc(sizeof(int) * (list_length(function->columns) + 1));
	return lowering->result->reason == NULL ? tlist : NIL;
}

/* Gather what a term consists of. */
bool
gpucol_rec_lower_open(GpucolRecLowering *lowering, PlannerInfo *subroot, bool recursive)
{
	lowering->subroot = subroot;
	lowering->recursive = recursive;
	lowering->sources = lowering->quals = NIL;
	lowering->target_function = NULL;
	return check_query(lowering) &&
		walk_jointree(lowering, (Node *) subroot->parse->jointree) &&
		describe_sources(lowering);
}
