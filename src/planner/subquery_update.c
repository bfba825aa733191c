/*-------------------------------------------------------------------------
 *
 * subquery_update.c
 *	  Correlated scalar subqueries of statements that change rows become joins.
 *
 * UPDATE a SET x = (SELECT agg(b.y) FROM b WHERE b.k = a.k) is rewritten as in a query
 * (subquery_scalar.c): the groups are joined to a.  So are those in WHERE of UPDATE and DELETE.  But
 * where the row has changed meanwhile, PostgreSQL evaluates everything again, with the row as it is now
 * and with what it was joined to then.  If its key is another one now, that is not its group.  So the keys that
 * there were are joined, too,
 *
 *		LEFT JOIN (SELECT k FROM a WHERE own GROUP BY k) asked ON asked.k = a.k
 *
 * and where the row has no partner any more, the subquery is executed, as it was:
 *
 *		CASE WHEN asked.k IS NOT NULL THEN grouped.agg ELSE (SELECT agg(b.y) ...) END
 *
 * UPDATE a SET (x, y) = (SELECT ...) assigns as many scalar subqueries as it has columns, where each of them is
 * joined, and where it does not matter that they are computed apart.
 *
 * Rows whose key is NULL have none either.  Which of the two ways is cheaper, PostgreSQL's planner
 * says (subquery.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "columnar/collation.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

typedef struct Changing
{
	Query	   *query;
	const Bitmapset *tables;	/* those whose columns they may have, or NULL: any */
	int			count;			/* subqueries that are joined */
	List	   *split;			/* those of one column each, made of such with several, */
	bool		stays;			/* and one of them is not joined */
} Changing;

/* Columns of the changed table among conditions; false if one cannot be told from another value by =. */
static bool
find_columns(const Query *query, Node *conditions, List **columns)
{
	List	   *vars = pull_var_clause(conditions, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	*columns = NIL;
	foreach(lc, vars)
	{
		const Var  *var = lfirst_node(Var, lc);

		if (var->varno != query->resultRelation)
			continue;
		if (var->varattno <= 0 || !gpucol_equal_by_bytes(var->vartype, var->varcollid))
			return false;
		*columns = list_append_unique(*columns, (void *) var);
	}
	return true;
}

/* Group a query by all of its columns, and have a join compare them; false where the user may not. */
static bool
compare_columns(GpucolGroupedJoin *join, List *columns)
{
	ListCell   *lc;

	join->inner->groupClause = NIL;
	foreach(lc, join->inner->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		Var		   *column = list_nth(columns, foreach_current_index(lc));
		SortGroupClause *clause = makeNode(SortGroupClause);
		Oid			less;
		Oid			equal;
		bool		hashable;
		OpExpr	   *op;

		get_sort_group_operators(column->vartype, false, false, false, &less, &equal, NULL, &hashable);
		if (!OidIsValid(equal) || !OidIsValid(less) ||
			!gpucol_subquery_may_join(equal, column->vartype, column->varcollid))
			return false;
		clause->tleSortGroupRef = tle->ressortgroupref = foreach_current_index(lc) + 1;
		clause->eqop = equal;
		clause->sortop = less;
		clause->hashable = hashable;
		join->inner->groupClause = lappend(join->inner->groupClause, clause);
		op = (OpExpr *) make_opclause(equal, BOOLOID, false, (Expr *) gpucol_grouped_var(join, tle, false),
									  copyObject((Expr *) column), InvalidOid, column->varcollid);
		set_opfuncid(op);
		join->conditions = lappend(join->conditions, op);
	}
	return true;
}

/* CASE WHEN asked THEN value ELSE the subquery END */
static Node *
choose(Expr *asked, Node *value, const SubLink *sublink)
{
	SubLink    *executed = (SubLink *) copyObject(sublink);

	gpucol_seldom_mark(castNode(Query, executed->subselect));
	return (Node *) gpucol_make_choice(asked, (Expr *) value, (Expr *) executed);
}

/* Join the keys of the changed table that there are; what takes the subquery's place, or NULL. */
static Node *
join_asked(Query *query, const SubLink *sublink, Node *value)
{
	const JoinExpr *joined = linitial_node(JoinExpr, query->jointree->fromlist);
	GpucolGroupedJoin join = {.outer = query};
	List	   *columns;
	Expr	   *found;

	if (!find_columns(query, joined->quals, &columns))
		return NULL;
	/* by the columns of other tables alone: those do not change */
	if (columns == NIL)
		return value;
	join.inner = gpucol_subquery_asked(query, query->resultRelation, columns);
	join.rti = list_length(query->rtable) + 1;
	join.join_rti = join.rti + 1;
	if (!compare_columns(&join, columns))
		return NULL;
	found = gpucol_make_null_test((Expr *) gpucol_grouped_var(&join, linitial_node(TargetEntry, join.inner->targetList),
															  true), IS_NOT_NULL);
	gpucol_grouped_add_join(&join);
	return choose(found, value, sublink);
}

/* What takes the place of a subquery, or NULL: it stays, and nothing is changed. */
static Node *
join_subquery(Query *query, SubLink *sublink)
{
	List	   *fromlist = query->jointree->fromlist;
	int			tables = list_length(query->rtable);
	Node	   *value = gpucol_subquery_join_scalar(query, sublink, false);
	Node	   *result = value == NULL ? NULL : join_asked(query, sublink, value);

	if (result == NULL && value != NULL)
	{
		query->jointree->fromlist = fromlist;
		query->rtable = list_truncate(query->rtable, tables);
		gpucol_subquery_stays(sublink, "a row that is changed may have another key by then, which = cannot tell");
	}
	return result;
}

/* Has a subquery columns only of tables that it may have them of? */
static bool
may_join(const Changing *changing, SubLink *sublink)
{
	if (changing->tables == NULL ||
		bms_is_subset(pull_varnos_of_level(NULL, sublink->subselect, 1), changing->tables))
		return true;
	gpucol_subquery_stays(sublink, "it is asked for by columns of MERGE's target that ON does not compare with the source");
	return false;
}

static Node *
rewrite(Node *node, Changing *changing)
{
	Node	   *joined;

	if (node == NULL)
		return NULL;
	if (!IsA(node, SubLink))
		return expression_tree_mutator(node, rewrite, changing);
	joined = ((SubLink *) node)->subLinkType == EXPR_SUBLINK && may_join(changing, (SubLink *) node) ?
		join_subquery(changing->query, (SubLink *) node) : NULL;
	changing->count += joined != NULL;
	changing->stays |= joined == NULL && list_member_ptr(changing->split, node);
	return joined != NULL ? joined : node;
}

/* ---- several columns at once ---- */

/* Has a query the same rows, whichever of its columns are asked for, and no column that cannot be computed apart? */
static bool
may_split(Query *query)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->setOperations != NULL || query->distinctClause != NIL ||
		query->limitCount != NULL || query->limitOffset != NULL || query->hasTargetSRFs ||
		query->hasWindowFuncs || query->rowMarks != NIL || query->cteList != NIL ||
		gpucol_subquery_collects(query) || contain_volatile_functions((Node *) query))
		return false;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (query->hasAggs && !tle->resjunk && !contain_agg_clause((Node *) tle->expr))
			return false;
	}
	return true;
}

/* One column of a query; the others stay where it is sorted or grouped by them. */
static Query *
take_column(const Query *query, int column)
{
	Query	   *result = copyObject((Query *) query);
	List	   *others = NIL;
	TargetEntry *taken = NULL;
	ListCell   *lc;

	foreach(lc, result->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk && tle->resno == column)
			taken = tle;
		else if (tle->resjunk || tle->ressortgroupref != 0)
			others = lappend(others, tle);
	}
	result->targetList = lcons(taken, others);
	foreach(lc, result->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->resno = foreach_current_index(lc) + 1;
		tle->resjunk = tle != taken;
	}
	return result;
}

/* What is assigned of a subquery with several columns, or NULL. */
static const SubLink *
of_several(const TargetEntry *tle)
{
	const SubLink *sublink = (const SubLink *) tle->expr;

	return IsA(sublink, SubLink) && sublink->subLinkType == MULTIEXPR_SUBLINK &&
		may_split(castNode(Query, sublink->subselect)) ? sublink : NULL;
}

typedef struct Splitting
{
	List	   *several;		/* subqueries of several columns that are split, */
	List	   *split;			/* and those that take their places */
} Splitting;

/* A scalar subquery in the place of each column of one of several. */
static Node *
split_columns(Node *node, Splitting *splitting)
{
	const Param *param = (const Param *) node;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Param) || param->paramkind != PARAM_MULTIEXPR)
		return expression_tree_mutator(node, split_columns, splitting);
	foreach(lc, splitting->several)
	{
		const SubLink *sublink = lfirst(lc);
		SubLink    *scalar;

		if (sublink->subLinkId != param->paramid >> 16)
			continue;
		scalar = makeNode(SubLink);
		scalar->subLinkType = EXPR_SUBLINK;
		scalar->subselect = (Node *) take_column(castNode(Query, sublink->subselect), param->paramid & 0xFFFF);
		scalar->location = sublink->location;
		splitting->split = lappend(splitting->split, scalar);
		return (Node *) scalar;
	}
	return node;
}

/* Rewrite what is assigned with subqueries of several columns split; false, and nothing is changed, if one stays. */
static bool
rewrite_split(Changing *changing, Node **clause)
{
	Query	   *query = changing->query;
	List	   *fromlist = query->jointree->fromlist;
	int			tables = list_length(query->rtable);
	Splitting	splitting = {NIL, NIL};
	List	   *assigned = NIL;
	Node	   *result;
	ListCell   *lc;

	if (!IsA(*clause, List) || query->commandType != CMD_UPDATE)
		return false;
	foreach(lc, (List *) *clause)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		const SubLink *several = of_several(tle);

		if (several != NULL)
			splitting.several = lappend(splitting.several, (void *) several);
		else
			assigned = lappend(assigned, tle);
	}
	if (splitting.several == NIL)
		return false;
	result = split_columns((Node *) assigned, &splitting);
	changing->split = splitting.split;
	result = rewrite(result, changing);
	if (!changing->stays)
	{
		*clause = result;
		return true;
	}
	query->jointree->fromlist = fromlist;
	query->rtable = list_truncate(query->rtable, tables);
	changing->count = 0;
	return false;
}

int
gpucol_subquery_join_changed(Query *query, Node **clause, const Bitmapset *tables)
{
	Changing	changing = {.query = query,.tables = tables};

	if (query->commandType == CMD_SELECT || query->commandType == CMD_INSERT || !query->hasSubLinks ||
		query->jointree->fromlist == NIL)
		return 0;
	if (*clause != NULL && !rewrite_split(&changing, clause))
		*clause = rewrite(*clause, &changing);
	return changing.count;
}
