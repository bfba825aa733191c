/*-------------------------------------------------------------------------
 *
 * subquery.c
 *	  Rewrites subqueries that PostgreSQL would execute once for each outer row.
 *
 * PostgreSQL makes joins of EXISTS and IN, but a correlated scalar subquery stays one: it
 * is executed for each row of the query around it.  Over a packed table that is a scan
 * each time.  Before PostgreSQL plans the statement, those that can be are made joins
 * with a grouped subquery (subquery_scalar.c), which is computed once:
 *
 *		x < (SELECT avg(y) FROM b WHERE b.k = a.k AND ...)
 *	->	a LEFT JOIN (SELECT k, avg(y) FROM b WHERE ... GROUP BY k) g ON g.k = a.k
 *		... x < g.avg
 *
 * NOT IN becomes NOT EXISTS where it can, and a correlated IN becomes EXISTS, of which
 * PostgreSQL makes joins (subquery_not_in.c).  EXISTS and IN in other places than the conditions of WHERE, where
 * PostgreSQL makes no joins of them, become some here (subquery_test.c).
 *
 * All subqueries of a statement are rewritten or none (subquery_plan.c).
 *
 * Left alone are subqueries that read no gpucol table; at the level of statements that change
 * or lock rows all but those of subquery_update.c: PostgreSQL computes a subquery anew for the newest version of a
 * row, while a row of a join would be kept; and
 * a cursor over one table, which must stay one that UPDATE ... WHERE CURRENT OF knows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "columnar/am.h"
#include "guc.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/planner.h"
#include "planner/subquery.h"

/* ---- what queries refer to ---- */

typedef struct ReferencesContext
{
	GpucolReferences found;
	int			depth;			/* of queries below the one that is asked about */
} ReferencesContext;

static void
note_reference(ReferencesContext *context, int levelsup)
{
	int			up = levelsup - context->depth;

	context->found.own |= up == 0;
	context->found.outer |= up == 1;
	context->found.farther |= up > 1;
}

/* An aggregate over rows of a query around is no value of one of its rows. */
static void
note_outer_group(ReferencesContext *context, int levelsup)
{
	context->found.farther |= levelsup > 0 && levelsup >= context->depth;
}

static bool
references_walker(Node *node, ReferencesContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		context->depth++;
		query_tree_walker((Query *) node, references_walker, context, 0);
		context->depth--;
		return false;
	}
	if (IsA(node, Var))
		note_reference(context, ((Var *) node)->varlevelsup);
	else if (IsA(node, Aggref))
		note_outer_group(context, ((Aggref *) node)->agglevelsup);
	else if (IsA(node, GroupingFunc))
		note_outer_group(context, ((GroupingFunc *) node)->agglevelsup);
	return expression_tree_walker(node, references_walker, context);
}

/*
 * What an expression refers to, or what a query does from outside: own columns are then
 * those of the query that it stands in, if it were an expression there.
 */
GpucolReferences
gpucol_subquery_references(Node *node)
{
	ReferencesContext context = {.depth = 0};

	references_walker(node, &context);
	return context.found;
}

/* Is a table, whatever its children are, a gpucol table? */
static bool
is_packed(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		Oid			am = ((Form_pg_class) GETSTRUCT(tuple))->relam;

		result = OidIsValid(am) && gpucol_am_is_method(am);
		ReleaseSysCache(tuple);
	}
	return result;
}

/*
 * The first gpucol table among a table and its children, or InvalidOid.
 */
Oid
gpucol_subquery_packed_part(RangeTblEntry *rte)
{
	ListCell   *lc;

	if (is_packed(rte->relid))
		return rte->relid;
	if (rte->inh && has_subclass(rte->relid))
	{
		foreach(lc, find_all_inheritors(rte->relid, NoLock, NULL))
		{
			if (is_packed(lfirst_oid(lc)))
				return lfirst_oid(lc);
		}
	}
	return InvalidOid;
}

/*
 * The first gpucol table that a query reads, in subqueries of its FROM clause too, or
 * InvalidOid.
 */
Oid
gpucol_subquery_table(Query *query)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Oid			relid = InvalidOid;

		if (rte->rtekind == RTE_RELATION)
			relid = gpucol_subquery_packed_part(rte);
		else if (rte->rtekind == RTE_SUBQUERY && rte->subquery != NULL)
			relid = gpucol_subquery_table(rte->subquery);
		if (OidIsValid(relid))
			return relid;
	}
	return InvalidOid;
}

/* Conditions that are joined by AND. */
List *
gpucol_subquery_conditions(Node *node)
{
	List	   *result = NIL;
	ListCell   *lc;

	if (node == NULL)
		return NIL;
	if (IsA(node, List))
	{
		foreach(lc, (List *) node)
			result = list_concat(result, gpucol_subquery_conditions(lfirst(lc)));
		return result;
	}
	if (is_andclause(node))
		return gpucol_subquery_conditions((Node *) ((BoolExpr *) node)->args);
	return list_make1(node);
}

/* Does a subquery refer to queries around it? */
static bool
is_correlated(const SubLink *sublink)
{
	GpucolReferences found = gpucol_subquery_references(sublink->subselect);

	return found.own || found.outer || found.farther;
}

bool
gpucol_subquery_may_call(Oid function)
{
	return gpucol_compat_function_right(function, GetUserId()) == ACLCHECK_OK;
}

bool
gpucol_subquery_may_join(Oid equal, Oid type, Oid collation)
{
	return op_hashjoinable(equal, type) && op_mergejoinable(equal, type) && op_strict(equal) &&
		gpucol_subquery_may_call(get_opcode(equal)) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

/* Is a subquery executed for rows, or a test? */
bool
gpucol_subquery_is_executed(const SubLink *sublink)
{
	return sublink->subLinkType != EXPR_SUBLINK || is_correlated(sublink);
}

/* Are all comparisons of a test equalities? */
static bool
are_equalities(Node *testexpr)
{
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(testexpr))
	{
		const OpExpr *op = lfirst(lc);

		if (!IsA(op, OpExpr) || !op_mergejoinable(op->opno, exprType(linitial(op->args))))
			return false;
	}
	return true;
}

bool
gpucol_subquery_is_joined_there(const SubLink *sublink, bool negated)
{
	if (sublink->subLinkType != ANY_SUBLINK)
		return sublink->subLinkType == EXISTS_SUBLINK && !gpucol_subquery_is_ordered(sublink);
	return !is_correlated(sublink) && are_equalities(sublink->testexpr) &&
		(!negated || IsA(sublink->testexpr, OpExpr));
}

/* ---- the walk through a statement ---- */

/* One query while its expressions are rewritten. */
typedef struct Rewriting
{
	Query	   *query;
	List	   *fromlist;		/* its FROM clause before, */
	int			tables;			/* and the length of its range table */
	bool		grouped;		/* expressions are of groups, but in aggregates */
	bool		condition;		/* it is one of the conditions that WHERE has, */
	bool		null_is_false;	/* or NULL would at least do what false does */
	bool		conditional;	/* evaluated for some rows only */
	Bitmapset  *columns;		/* columns of the query that are computed for each row of its FROM clause */
	bool		asked;			/* and so is the expression at hand */
	List	   *joined;			/* conditions that PostgreSQL makes joins of now */
	int			count;			/* subqueries made joins */
} Rewriting;

static int	rewrite_query(Query *query, bool top, bool keep_table, Bitmapset *asked);

/* Rewrite one subquery in an expression of the query itself. */
static Node *
rewrite_sublink(SubLink *sublink, Rewriting *rewriting)
{
	bool		scalar = sublink->subLinkType == EXPR_SUBLINK;
	Node	   *result;

	if (gpucol_seldom_is(castNode(Query, sublink->subselect)))
		return (Node *) sublink;
	if (!scalar && rewriting->condition && gpucol_subquery_is_joined_there(sublink, !rewriting->null_is_false))
		return (Node *) sublink;
	if (rewriting->grouped)
	{
		gpucol_subquery_stays(sublink, "it is computed for groups");
		return (Node *) sublink;
	}
	if (rewriting->conditional && (scalar || sublink->subLinkType == EXISTS_SUBLINK) && !is_correlated(sublink))
		result = gpucol_subquery_join_once(rewriting->query, sublink);
	else if (scalar && gpucol_nearest_is(gpucol_nearest_first(castNode(Query, sublink->subselect))))
		result = gpucol_nearest_scalar(rewriting->query, sublink, rewriting->asked);
	else
		result = scalar ? gpucol_subquery_join_scalar(rewriting->query, sublink, rewriting->asked) :
			sublink->subLinkType == ARRAY_SUBLINK ?
			(rewriting->asked ? gpucol_subquery_join_array(rewriting->query, sublink) : NULL) :
			gpucol_subquery_join_test(rewriting->query, sublink, rewriting->null_is_false);
	rewriting->count += result != NULL;
	return result != NULL ? result : (Node *) sublink;
}

/* What is true of an expression as part of another node, as far as it is of that. */
static void
descend(Rewriting *rewriting, const Node *node)
{
	if (IsA(node, List))
		return;
	if (IsA(node, TargetEntry))
		rewriting->asked = bms_is_member(((const TargetEntry *) node)->resno, rewriting->columns);
	rewriting->asked &= !gpucol_nearest_is_choice(node);
	if (IsA(node, BoolExpr) && ((const BoolExpr *) node)->boolop != NOT_EXPR)
	{
		rewriting->condition &= ((const BoolExpr *) node)->boolop == AND_EXPR;
		rewriting->conditional |= !rewriting->condition;
		return;
	}
	rewriting->condition &= is_notclause(node) && IsA(get_notclausearg(node), SubLink);
	rewriting->null_is_false = IsA(node, BooleanTest) &&
		(((const BooleanTest *) node)->booltesttype == IS_TRUE ||
		 ((const BooleanTest *) node)->booltesttype == IS_NOT_TRUE);
	rewriting->conditional |= IsA(node, CaseExpr) || IsA(node, CoalesceExpr);
	if (IsA(node, Aggref) && ((const Aggref *) node)->agglevelsup == 0)
		rewriting->grouped = false;
}

static Node *rewrite_expression(Node *node, Rewriting *rewriting);

/* Rewrite the parts of a node, which is copied. */
static Node *
rewrite_parts(Node *node, Rewriting *rewriting)
{
	Rewriting	around = *rewriting;
	Node	   *result;

	descend(rewriting, node);
	result = expression_tree_mutator(node, rewrite_expression, rewriting);
	around.count = rewriting->count;
	*rewriting = around;
	return result;
}

/* Rewrite the condition of a CASE's branch, or the FILTER of an aggregate. */
static Expr *
rewrite_choice(Expr *condition, Rewriting *rewriting, bool of_rows)
{
	Rewriting	inside = *rewriting;
	Expr	   *result;

	inside.condition = false;
	inside.null_is_false = true;
	inside.grouped &= !of_rows;
	result = (Expr *) rewrite_expression((Node *) condition, &inside);
	rewriting->count = inside.count;
	return result;
}

/* Rewrite a branch of a CASE. */
static Node *
rewrite_branch(const CaseWhen *branch, Rewriting *rewriting)
{
	CaseWhen   *result = makeNode(CaseWhen);

	result->expr = rewrite_choice(branch->expr, rewriting, false);
	result->result = (Expr *) rewrite_expression((Node *) branch->result, rewriting);
	result->location = branch->location;
	return (Node *) result;
}

/* Rewrite an aggregate's arguments, which are of rows, and its FILTER. */
static Node *
rewrite_aggregate(const Aggref *agg, Rewriting *rewriting)
{
	Aggref		unfiltered = *agg;
	Aggref	   *result;
	bool		asked = rewriting->asked;

	unfiltered.aggfilter = NULL;
	rewriting->asked &= agg->aggfilter == NULL;
	result = castNode(Aggref, rewrite_parts((Node *) &unfiltered, rewriting));
	rewriting->asked = asked;
	result->aggfilter = rewrite_choice(agg->aggfilter, rewriting, agg->agglevelsup == 0);
	return (Node *) result;
}

/* Rewrite COALESCE, whose first argument is evaluated in any case. */
static Node *
rewrite_coalesce(const CoalesceExpr *coalesce, Rewriting *rewriting)
{
	Rewriting	inside = *rewriting;
	CoalesceExpr others = *coalesce;
	CoalesceExpr *result;
	Node	   *first;

	inside.condition = inside.null_is_false = false;
	first = rewrite_expression(linitial(coalesce->args), &inside);
	rewriting->count = inside.count;
	others.args = list_copy_tail(coalesce->args, 1);
	result = castNode(CoalesceExpr, rewrite_parts((Node *) &others, rewriting));
	result->args = lcons(first, result->args);
	return (Node *) result;
}

/* Rewrite subqueries that stand in an expression of the query itself. */
static Node *
rewrite_expression(Node *node, Rewriting *rewriting)
{
	Node	   *result;

	if (node == NULL || IsA(node, Query))
		return node;
	if (IsA(node, SubLink))
	{
		result = rewrite_sublink((SubLink *) node, rewriting);
		if (result != node)
			return result;
	}
	if (IsA(node, CaseWhen))
		return rewrite_branch((const CaseWhen *) node, rewriting);
	if (IsA(node, CoalesceExpr))
		return rewrite_coalesce((const CoalesceExpr *) node, rewriting);
	if (IsA(node, Aggref))
		return rewrite_aggregate((const Aggref *) node, rewriting);
	return rewrite_parts(node, rewriting);
}

int
gpucol_subquery_rewrite_on(Query *query, Node **quals, bool nullable)
{
	Rewriting	rewriting = {.query = query,.condition = nullable,.null_is_false = true};

	*quals = rewrite_expression(*quals, &rewriting);
	return rewriting.count;
}

/* Does a query read one table, as a simple cursor does? */
static bool
is_one_table(const Query *query)
{
	return !query->hasAggs && query->groupClause == NIL && query->distinctClause == NIL &&
		query->sortClause == NIL && query->setOperations == NULL && !query->hasWindowFuncs &&
		list_length(query->jointree->fromlist) == 1 &&
		IsA(linitial(query->jointree->fromlist), RangeTblRef);
}

/* Why no subquery of a query's own clauses may be rewritten, or NULL. */
static const char *
decline_level(const Query *query, bool keep_table)
{
	if (query->rowMarks != NIL)
		return "rows are locked by the query around it";
	if (query->commandType != CMD_SELECT)
		return "rows are changed by the query around it";
	if (keep_table && is_one_table(query))
		return "a cursor may update its rows";
	return NULL;
}

/* Note that subqueries in an expression stay. */
static bool
note_stays(Node *node, const char *reason)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink))
		gpucol_subquery_stays((SubLink *) node, reason);
	return expression_tree_walker(node, note_stays, (void *) reason);
}

/*
 * Rewrite one clause.  With `filters` its subqueries decide which rows remain, in the
 * query around if `above`: it stays where the query's other conditions might see others.
 */
static void
rewrite_clause(Rewriting *rewriting, Node **clause, bool filters, bool above)
{
	Query	   *query = rewriting->query;
	List	   *fromlist = query->jointree->fromlist;
	int			tables = list_length(query->rtable);
	int			count = rewriting->count;
	Node	   *before = *clause;

	*clause = rewrite_expression(before, rewriting);
	if (rewriting->count > count && filters && above)
		gpucol_subquery_keep_above_join(query, castNode(List, *clause), rewriting->tables);
	else if (rewriting->count > count && filters && clause == &query->jointree->quals)
		gpucol_subquery_keep_conditions_above_join(query, rewriting->tables);
	if (rewriting->count == count || !filters ||
		gpucol_subquery_keeps_errors(query, rewriting->fromlist, rewriting->tables, rewriting->joined,
					 above ? castNode(List, *clause) : NIL))
		return;
	*clause = before;
	query->jointree->fromlist = fromlist;
	query->rtable = list_truncate(query->rtable, tables);
	rewriting->count = count;
	note_stays(before, "a condition beside it could raise an error for a row that it excludes");
}

/* Rewrite the query's conditions that are correlated INs, or NOT IN, or EXISTS that PostgreSQL could not join. */
static void
rewrite_conditions(Rewriting *rewriting)
{
	Query	   *query = rewriting->query;
	Node	   *before = query->jointree->quals;
	List	   *conditions = gpucol_subquery_conditions(before);
	ListCell   *lc;

	foreach(lc, conditions)
	{
		Node	   *joined = gpucol_subquery_join_condition(query, lfirst(lc));

		if (joined == NULL)
			joined = gpucol_subquery_hoist_exists(query, lfirst(lc));
		if (joined == NULL)
			continue;
		lfirst(lc) = joined;
		rewriting->joined = list_concat(rewriting->joined, gpucol_subquery_conditions(joined));
	}
	if (rewriting->joined == NIL)
		return;
	query->jointree->quals = (Node *) make_ands_explicit(conditions);
	if (gpucol_subquery_keeps_errors(query, rewriting->fromlist, rewriting->tables, rewriting->joined, NIL))
	{
		rewriting->count += list_length(rewriting->joined);
		return;
	}
	query->jointree->quals = before;
	rewriting->joined = NIL;
}

/* Rewrite subqueries behind LATERAL; returns how many. */
static int
rewrite_laterals(Query *query, bool asked)
{
	int			count = 0;

	for (int rti = 1; rti <= list_length(query->rtable); rti++)
	{
		RangeTblEntry *rte = rt_fetch(rti, query->rtable);

		if (rte->rtekind == RTE_SUBQUERY && rte->lateral)
			count += gpucol_subquery_join_lateral(query, rti, asked);
	}
	return count;
}

/*
 * Rewrite what stands in the query's own clauses; `top` is the statement itself.  With `grouped`
 * its list is of groups.
 */
static int
rewrite_clauses(Query *query, bool top, bool grouped, Bitmapset *asked)
{
	Rewriting	rewriting = {.query = query};

	gpucol_subquery_lift(query);
	rewriting.count = gpucol_subquery_join_sides(query);
	rewriting.fromlist = query->jointree->fromlist;
	rewriting.tables = list_length(query->rtable);
	rewrite_conditions(&rewriting);
	rewriting.condition = rewriting.null_is_false = true;
	rewrite_clause(&rewriting, &query->jointree->quals, true, false);
	rewriting.condition = rewriting.null_is_false = false;
	rewriting.grouped = grouped;
	rewriting.columns = gpucol_nearest_asked(query, asked);
	rewrite_clause(&rewriting, (Node **) &query->targetList, !top && !grouped, true);
	rewriting.asked = false;
	rewriting.grouped = true;
	rewrite_clause(&rewriting, &query->havingQual, false, false);
	return rewriting.count;
}

/* Conditions of WHERE that PostgreSQL makes joins of, where a gpucol table is read. */
static int
count_joins(Query *query)
{
	int			count = 0;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(query->jointree->quals))
	{
		Node	   *condition = lfirst(lc);
		SubLink    *sublink = (SubLink *) (is_notclause(condition) ? (Node *) get_notclausearg(condition) : condition);

		if (!IsA(sublink, SubLink) || gpucol_subquery_is_ordered(sublink) ||
			!(sublink->subLinkType == EXISTS_SUBLINK ? is_correlated(sublink) :
			  sublink->subLinkType == ANY_SUBLINK && (Node *) sublink == condition && !is_correlated(sublink)))
			continue;
		count += OidIsValid(gpucol_subquery_table(query)) ||
			OidIsValid(gpucol_subquery_table(castNode(Query, sublink->subselect)));
	}
	return count;
}

/*
 * The same of a query that may be grouped: its grouping becomes a subquery if more are made
 * joins then.  The reasons are those for what stays even so.
 */
static int
rewrite_level(Query *query, bool top, Bitmapset *asked)
{
	bool		grouped = query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL;
	Query	   *above = grouped ? gpucol_subquery_above_groups(query) : NULL;
	List	   *reasons;
	Query	   *below;
	int			separate;
	int			count;

	if (above == NULL)
		return rewrite_clauses(query, top, grouped, asked);
	reasons = gpucol_reason_swap(NIL);
	gpucol_reason_swap(list_copy(reasons));
	below = linitial_node(RangeTblEntry, above->rtable)->subquery;
	separate = count_joins(above) + rewrite_clauses(above, top, false, asked) +
		rewrite_clauses(below, false, false, gpucol_nearest_asked_below(above, 1, asked));
	reasons = gpucol_reason_swap(reasons);
	count = rewrite_clauses(query, top, grouped, asked);
	gpucol_reason_swap(reasons);
	if (separate <= count)
		return count;
	*query = *above;
	return separate;
}

/* Rewrite the queries that stand in expressions. */
static bool
rewrite_sublinks(Node *node, int *count)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;
		Query	   *query = castNode(Query, sublink->subselect);

		*count += gpucol_subquery_bring_near(query, sublink->subLinkType == EXISTS_SUBLINK ||
											 sublink->subLinkType == ANY_SUBLINK);
		*count += rewrite_query(query, false, false, NULL);
	}
	else if (IsA(node, Query))
		return false;
	return expression_tree_walker(node, rewrite_sublinks, count);
}

/*
 * Rewrite the scalar subqueries that an UPDATE assigns, those in WHERE of UPDATE and DELETE, and in MERGE's
 * actions; of other statements whose subqueries stay, the reason is noted.  Returns how many.
 */
static int
rewrite_changes(Query *query, const char *reason)
{
	bool		changes = query->rowMarks == NIL && query->commandType != CMD_MERGE;
	FromExpr   *from = query->jointree;
	int			assigned = changes ? gpucol_subquery_join_changed(query, (Node **) &query->targetList, NULL) : 0;
	int			merged = gpucol_subquery_join_merged(query);
	List	   *fromlist = from->fromlist;
	int			tables = list_length(query->rtable);
	Node	   *before = from->quals;
	int			tested = changes ? gpucol_subquery_join_changed(query, &from->quals, NULL) : 0;

	if (tested > 0 && !gpucol_subquery_keeps_errors(query, fromlist, tables, NIL, NIL))
	{
		from->quals = before;
		from->fromlist = fromlist;
		query->rtable = list_truncate(query->rtable, tables);
		tested = 0;
	}
	if (assigned == 0)
		note_stays((Node *) query->targetList, reason);
	if (tested == 0)
		note_stays((Node *) from, reason);
	return assigned + merged + tested;
}

static int	rewrite_query(Query *query, bool top, bool keep_table, Bitmapset *asked);

/* Count the references of a recursive query to itself. */
static bool
self_reference_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		*(int *) context += ((RangeTblEntry *) node)->self_reference;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, self_reference_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, self_reference_walker, context);
}

/* Rewrite a WITH query; a recursive one stays where a term would read the rows of the last round more often. */
static int
rewrite_with(CommonTableExpr *cte)
{
	Node	   *before = cte->cterecursive ? copyObject(cte->ctequery) : NULL;
	int			count = rewrite_query(castNode(Query, cte->ctequery), false, false, NULL);
	int			references[2] = {0, 0};

	if (before == NULL || count == 0)
		return count;
	(void) self_reference_walker(before, &references[0]);
	(void) self_reference_walker(cte->ctequery, &references[1]);
	if (references[0] == references[1])
		return count;
	cte->ctequery = before;
	return 0;
}

/*
 * Rewrite a query and those in it, innermost first; returns the number of subqueries
 * made joins.  `top` is the statement itself; with keep_table it stays a scan where it
 * is one.  All of its rows are asked for the columns `asked`.
 */
static int
rewrite_query(Query *query, bool top, bool keep_table, Bitmapset *asked)
{
	int			count = 0;
	const char *reason = decline_level(query, keep_table);
	ListCell   *lc;

	check_stack_depth();
	if (query->commandType == CMD_UTILITY)
		return 0;
	if (reason != NULL)
	{
		count += rewrite_changes(query, reason);
	}
	if (query->rowMarks != NIL)
		return 0;
	gpucol_subquery_write_keys(query, false);
	if (query->hasSubLinks && reason == NULL)
		gpucol_subquery_spell_columns(query);
	foreach(lc, query->cteList)
		count += rewrite_with(lfirst_node(CommonTableExpr, lc));
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY && rte->lateral)
			count += gpucol_subquery_bring_near(rte->subquery, false);
		if (rte->rtekind == RTE_SUBQUERY)
			count += rewrite_query(rte->subquery, false, false,
								   gpucol_nearest_asked_below(query, foreach_current_index(lc) + 1, asked));
	}
	rewrite_sublinks((Node *) query->targetList, &count);
	rewrite_sublinks((Node *) query->mergeActionList, &count);
	rewrite_sublinks((Node *) query->jointree, &count);
	rewrite_sublinks(query->havingQual, &count);
	if (reason != NULL || query->setOperations != NULL)
		return count;
	count += gpucol_subquery_elements(query);
	count += rewrite_laterals(query, !bms_is_empty(asked));
	if (query->hasSubLinks)
		count += rewrite_level(query, top, asked);
	return count + gpucol_subquery_distinct(query);
}

int
gpucol_subquery_rewrite(Query *statement, bool keep_table)
{
	return rewrite_query(statement, true, keep_table, bms_add_range(NULL, 1, list_length(statement->targetList)));
}
