/*-------------------------------------------------------------------------
 *
 * subquery_lateral.c
 *	  Subqueries behind LATERAL become joins.
 *
 * A subquery in the FROM clause that equalities correlate with tables before it,
 *
 *		a, LATERAL (SELECT ... FROM b WHERE b.k = a.k AND rest ...) l
 *
 * is executed for each of their rows.  It stays where it is, no longer LATERAL, computes all
 * keys at once, and the equalities become conditions of its join:
 *
 *	  first rows		ORDER BY s LIMIT n: those of each key (subquery_first.c)
 *	  groups			GROUP BY g, or DISTINCT: of k and g, so that none is there where
 *						none was
 *	  window functions	PARTITION BY k
 *	  aggregates		without GROUP BY: one row, whatever it finds.  So it is joined by
 *						LEFT JOIN, and what reads its columns reads their values over
 *						the groups: COALESCE(count, 0) (subquery_scalar.c)
 *
 * First rows that may have to be executed (subquery_within.c) are such a row, too, if they are one.  Where no row is
 * none of the join, a column says whether one was found, and a condition of WHERE asks it.
 *
 * The last of these must not be padded with NULLs by a join around it: its count would be
 * NULL there.  LEFT JOIN LATERAL ... ON true never pads one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* ---- where it stands ---- */

/* The subquery's place: the right side of a join, or one of a list. */
typedef struct Place
{
	JoinExpr   *join;
	FromExpr   *from;
	int			number;			/* in the list, from 0 on */
	bool		outermost;		/* join is one of the query's own list */
	bool		padded;			/* by a join around it */
	Bitmapset  *tables;			/* it may refer to */
} Place;

/* Is a table of a query read as a whole row? */
static bool
has_whole_row(Node *node, Index *rti)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == (int) *rti && ((Var *) node)->varattno <= 0;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_whole_row, rti, 0);
	return expression_tree_walker(node, has_whole_row, rti);
}

bool
gpucol_subquery_has_whole_row(Query *query, Index rti)
{
	return query_tree_walker(query, has_whole_row, &rti, QTW_IGNORE_RT_SUBQUERIES);
}

Bitmapset *
gpucol_subquery_tables(Node *node)
{
	Bitmapset  *result = NULL;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) node)->rtindex);
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		result = bms_union(gpucol_subquery_tables(join->larg), gpucol_subquery_tables(join->rarg));
		return join->rtindex == 0 ? result : bms_add_member(result, join->rtindex);
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
		result = bms_union(result, gpucol_subquery_tables(lfirst(lc)));
	return result;
}

static bool
is_table(const Node *node, Index rti)
{
	return IsA(node, RangeTblRef) && ((const RangeTblRef *) node)->rtindex == (int) rti;
}

/* Find a table where it may stand: as the right side of an inner or left join, or in a list. */
static bool
find_place(Node *node, Index rti, bool outermost, bool padded, Place *place)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;
		bool		left = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
		bool		right = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;

		if (!is_table(join->rarg, rti))
			return find_place(join->larg, rti, false, padded || left, place) ||
				find_place(join->rarg, rti, false, padded || right, place);
		*place = (Place) {.join = join,.outermost = outermost,.padded = padded,
			.tables = gpucol_subquery_tables(join->larg)};
		return join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT;
	}
	if (!IsA(node, FromExpr))
		return false;
	foreach(lc, ((FromExpr *) node)->fromlist)
	{
		if (find_place(lfirst(lc), rti, outermost, padded, place))
			return true;
		if (is_table(lfirst(lc), rti))
		{
			*place = (Place) {.from = (FromExpr *) node,.number = foreach_current_index(lc),.padded = padded,
				.tables = gpucol_subquery_tables(node)};
			return true;
		}
	}
	return false;
}

/* The table before the subquery, if a query's FROM clause is these two and all its rows are read; else 0. */
static Index
only_table(const Query *query, const Place *place)
{
	const List *fromlist = query->jointree->fromlist;
	const Node *table = place->join != NULL ? place->join->larg : linitial(fromlist);

	if (place->join != NULL ? linitial(fromlist) != place->join || list_length(fromlist) != 1 :
		place->from != query->jointree || list_length(fromlist) != 2)
		return 0;
	return IsA(table, RangeTblRef) && gpucol_nearest_takes_all(query) ? ((const RangeTblRef *) table)->rtindex : 0;
}

/* ---- rows of keys ---- */

/* Give the entry the subquery that was made, with names for its columns. */
static void
put_subquery(RangeTblEntry *rte, const GpucolGroupedJoin *join)
{
	for (int i = list_length(rte->eref->colnames); i < list_length(join->columns); i++)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(list_nth_node(TargetEntry, join->columns, i)->resname));
	rte->subquery = join->inner;
	rte->lateral = false;
	gpucol_domain_count(join);
}

/* Do the conditions of the join refer to nothing but the subquery and tables that it may refer to?  NULL: no place. */
static bool
refers_to_sides(GpucolGroupedJoin *join, const Place *place)
{
	Bitmapset  *tables;

	if (place == NULL)
		return join->reason == NULL;
	tables = bms_add_member(bms_copy(place->tables), join->rti);
	if (!bms_is_subset(pull_varnos(NULL, (Node *) join->conditions), tables))
		join->reason = "it refers to tables on no side of its join";
	return join->reason == NULL;
}

/* The subquery's columns stay in front; those that only its keys need follow. */
static void
keep_columns(GpucolGroupedJoin *join, bool groups)
{
	ListCell   *lc;

	foreach(lc, join->inner->targetList)
	{
		TargetEntry *tle = copyObject(lfirst_node(TargetEntry, lc));

		if (tle->resjunk && !groups)
			continue;
		if (tle->resjunk)
			tle->resname = pstrdup("key");
		tle->resjunk = false;
		if (!groups)
			tle->ressortgroupref = 0;
		join->columns = lappend(join->columns, tle);
	}
}

/* Build the subquery of first rows; false with a reason. */
static bool
prepare_first(GpucolGroupedJoin *join, const Place *place)
{
	join->reason = gpucol_grouped_decline(join->inner, gpucol_first_rows(join->inner));
	keep_columns(join, false);
	if (join->reason != NULL || !gpucol_grouped_conditions(join))
		return false;
	if (!refers_to_sides(join, place))
		return false;
	gpucol_first_take(join);
	return gpucol_grouped_is_separate(join);
}

/* Why a subquery of groups, of what DISTINCT leaves or of rows stays, or NULL. */
static const char *
decline_groups(Query *query)
{
	bool		groups = query->groupClause != NIL || query->hasWindowFuncs;

	if (query->groupingSets != NIL || query->hasTargetSRFs || query->hasDistinctOn ||
		(groups && query->distinctClause != NIL) || (query->havingQual != NULL && query->groupClause == NIL) ||
		(query->hasAggs && query->groupClause == NIL) ||
		query->limitCount != NULL || query->limitOffset != NULL || query->setOperations != NULL ||
		!gpucol_subquery_write_keys(query, true))
		return "it has more clauses than WHERE, GROUP BY and HAVING, window functions or DISTINCT";
	return gpucol_grouped_decline_any(query);
}

/* Have window functions see the rows of one key at a time. */
static void
part_windows(GpucolGroupedJoin *join)
{
	ListCell   *key;
	ListCell   *window;

	foreach(key, join->asked)
	{
		const GpucolAsked *asked = lfirst(key);
		TargetEntry *tle = gpucol_grouped_column(join, (Expr *) asked->key, "key");
		SortGroupClause *clause = tle->ressortgroupref == 0 ? NULL :
			get_sortgroupref_clause_noerr(tle->ressortgroupref, join->groups);

		if (clause == NULL)
			join->reason = "window functions order by its key";
		foreach(window, clause == NULL ? NIL : join->inner->windowClause)
		{
			WindowClause *parted = lfirst_node(WindowClause, window);

			if (get_sortgroupref_clause_noerr(clause->tleSortGroupRef, parted->partitionClause) == NULL)
				parted->partitionClause = lappend(parted->partitionClause, copyObject(clause));
		}
	}
}

/* Have the subquery give rows that are no groups. */
static void
leave_rows(GpucolGroupedJoin *join)
{
	ListCell   *lc;

	join->groups = NIL;
	foreach(lc, join->inner->hasWindowFuncs ? NIL : join->columns)
		lfirst_node(TargetEntry, lc)->ressortgroupref = 0;
}

/* Build the subquery of groups, or of rows, with window functions or without; false with a reason. */
static bool
prepare_groups(GpucolGroupedJoin *join, const Place *place)
{
	Query	   *inner = join->inner;
	bool		rows = inner->groupClause == NIL && inner->distinctClause == NIL;

	join->reason = decline_groups(inner);
	if (join->reason == NULL && place != NULL && inner->sortClause != NIL)
		join->reason = "its rows have an order";
	if (join->reason != NULL)
		return false;
	inner->sortClause = NIL;
	keep_columns(join, true);
	join->groups = inner->distinctClause != NIL ? inner->distinctClause : inner->groupClause;
	inner->distinctClause = NIL;
	if (!gpucol_grouped_conditions(join))
		return false;
	if (join->equalities == NIL)
		join->reason = "it is correlated by no equality";
	if (inner->hasWindowFuncs)
		part_windows(join);
	if (rows)
		leave_rows(join);
	return refers_to_sides(join, place) && gpucol_grouped_is_separate(join);
}

/* Add conditions to those of a join or of a list. */
static void
add_conditions(const Place *place, List *conditions)
{
	Node	  **quals = place->join != NULL ? &place->join->quals : &place->from->quals;

	*quals = make_and_qual(*quals, (Node *) make_ands_explicit(conditions));
}

/* ---- one row ---- */

/* Values that take the place of a table's columns. */
typedef struct Replacing
{
	Index		rti;
	int			depth;			/* of queries below the one that has the table */
	List	   *values;
	bool		executed;		/* one of them, in the query at hand, has a subquery */
} Replacing;

static Node *
replace_columns(Node *node, Replacing *replacing)
{
	const Var  *var = (const Var *) node;
	Node	   *value;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		bool		before = replacing->executed;
		Query	   *query;

		replacing->executed = false;
		replacing->depth++;
		query = query_tree_mutator((Query *) node, replace_columns, replacing, 0);
		replacing->depth--;
		query->hasSubLinks |= replacing->executed;
		replacing->executed = before;
		return (Node *) query;
	}
	if (!IsA(node, Var) || var->varno != (int) replacing->rti || (int) var->varlevelsup != replacing->depth)
		return expression_tree_mutator(node, replace_columns, replacing);
	value = copyObject(list_nth(replacing->values, var->varattno - 1));
	replacing->executed |= checkExprHasSubLink(value);
	IncrementVarSublevelsUp(value, replacing->depth, 0);
	return value;
}

/* Is a condition of a join none? */
static bool
is_true(const Node *quals)
{
	return quals == NULL || (IsA(quals, Const) && !((const Const *) quals)->constisnull &&
							 DatumGetBool(((const Const *) quals)->constvalue));
}

/* May the place become the right side of a left join, whose condition is the subquery's alone? */
static bool
can_be_left(const Place *place)
{
	JoinExpr   *join = place->join;

	if (place->padded)
		return false;
	if (join == NULL)
		return place->number > 0;
	return join->usingClause == NIL && join->rtindex != 0 &&
		(is_true(join->quals) || (join->jointype == JOIN_INNER && place->outermost));
}

/* A subquery of an expression that has the value of one column of the row; what orders rows stays beside it. */
static SubLink *
execute_column(Query *subquery, TargetEntry *column)
{
	SubLink    *sublink = makeNode(SubLink);
	Query	   *copy = copyObject(subquery);
	TargetEntry *tle = copyObject(column);
	List	   *columns = list_make1(tle);
	ListCell   *lc;

	tle->resno = 1;
	foreach(lc, copy->targetList)
	{
		TargetEntry *other = lfirst_node(TargetEntry, lc);

		if (other->ressortgroupref == 0 || other->ressortgroupref == tle->ressortgroupref)
			continue;
		other->resjunk = true;
		other->resno = list_length(columns) + 1;
		columns = lappend(columns, other);
	}
	copy->targetList = columns;
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) copy;
	sublink->location = -1;
	return sublink;
}

/* A value of the row over the columns of the join. */
static Node *
row_value(GpucolGroupedJoin *join, Query *subquery, TargetEntry *tle, bool first)
{
	SubLink    *executed = execute_column(subquery, tle);
	Expr	   *expr = copyObject(tle->expr);
	Expr	   *within = first ? (Expr *) gpucol_grouped_within_value(join, (Node *) expr) : NULL;
	Node	   *value = first ?
		(Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, within, "value"), true) :
		gpucol_grouped_value(join, executed, (Node *) expr);

	return join->beyond == NIL ? value : gpucol_grouped_beyond(join, executed, value);
}

/* Whether there is a row. */
static Node *
row_found(GpucolGroupedJoin *join, Query *subquery)
{
	Const	   *some = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true);
	TargetEntry *tle = makeTargetEntry((Expr *) some, 1, pstrdup("found"), false);

	return (Node *) gpucol_make_null_test((Expr *) row_value(join, subquery, tle, true), IS_NOT_NULL);
}

/*
 * Build the subquery of groups in which the values of the row are; false with a reason.  *found is a condition where
 * there is none of the join without a row, or NULL.
 */
static bool
prepare_row(GpucolGroupedJoin *join, const Place *place, Query *subquery, List **values, Node **found)
{
	bool		first = gpucol_first_rows(join->inner) > 0;
	bool		inner = place->join == NULL || place->join->jointype == JOIN_INNER;
	ListCell   *lc;

	*found = NULL;
	join->reason = gpucol_grouped_decline(join->inner, 1);
	if (join->reason == NULL && !can_be_left(place))
		join->reason = "a join around it adds rows or has conditions";
	join->asked_each &= only_table(join->outer, place) > 0;
	join->collects = join->asked_each && gpucol_subquery_collects(join->inner);
	if (join->reason != NULL || !gpucol_grouped_conditions(join))
		return false;
	/* whichever value has the subquery executed, it has all of them: they are of one row */
	foreach(lc, first ? subquery->targetList : NIL)
		(void) gpucol_grouped_within_value(join, (Node *) lfirst_node(TargetEntry, lc)->expr);
	foreach(lc, subquery->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			*values = lappend(*values, row_value(join, subquery, tle, first));
	}
	if (first && inner)
		*found = row_found(join, subquery);
	if (!refers_to_sides(join, place))
		return false;
	if (first)
		gpucol_first_take(join);
	return gpucol_grouped_is_separate(join);
}

/* Join a list's tables before the subquery with it by LEFT JOIN. */
static void
join_list(GpucolGroupedJoin *join, const Place *place)
{
	FromExpr   *from = place->from;
	JoinExpr   *joined = gpucol_grouped_left_join(join, list_copy_head(from->fromlist, place->number));

	from->fromlist = list_concat(list_make1(joined), list_copy_tail(from->fromlist, place->number + 1));
}

/* Have the subquery's place be the right side of a left join. */
static void
join_row(GpucolGroupedJoin *join, const Place *place)
{
	FromExpr   *from = join->outer->jointree;

	if (place->join == NULL)
	{
		join_list(join, place);
		return;
	}
	if (!is_true(place->join->quals))
		from->quals = make_and_qual(from->quals, place->join->quals);
	place->join->jointype = JOIN_LEFT;
	rt_fetch(place->join->rtindex, join->outer->rtable)->jointype = JOIN_LEFT;
	place->join->quals = (Node *) make_ands_explicit(join->conditions);
}

/* Have what reads the row's columns read values; the query's FROM clause is a copy then. */
static void
replace_row(Query *query, Index rti, List *values)
{
	Replacing	replacing = {.rti = rti,.values = values};

	(void) query_tree_mutator(query, replace_columns, &replacing, QTW_DONT_COPY_QUERY);
	query->hasSubLinks |= replacing.executed;
}

/* ---- all of them ---- */

/* Make the subquery one of first rows, of groups or of rows, which stays where it is, and its conditions go there. */
static bool
join_rows(GpucolGroupedJoin *join, const Place *place, RangeTblEntry *rte)
{
	int64		rows = gpucol_first_rows(join->inner);
	Index		table = place != NULL && join->asked_each ? only_table(join->outer, place) : 0;

	join->raised_table = table > 0 && gpucol_raise_may(join, table) ? table : 0;
	if (rows > 0 ? !prepare_first(join, place) : !prepare_groups(join, place))
		return false;
	if (!gpucol_raise_put(join))
		return false;
	if (rows > 0)
		gpucol_first_finish(join);
	put_subquery(rte, join);
	if (place != NULL)
		add_conditions(place, join->conditions);
	return true;
}

bool
gpucol_grouped_rows(GpucolGroupedJoin *join, RangeTblEntry *rte)
{
	return join_rows(join, NULL, rte);
}

/* Make the subquery of one row one of groups, and its columns values over these. */
static bool
join_one_row(GpucolGroupedJoin *join, const Place *place, RangeTblEntry *rte)
{
	List	   *values = NIL;
	Node	   *found;
	Place		copied;

	join->join_rti = place->join != NULL ? place->join->rtindex : list_length(join->outer->rtable) + 1;
	if (!prepare_row(join, place, rte->subquery, &values, &found))
		return false;
	if (join->last > 0)
		gpucol_first_finish(join);
	rte->eref->colnames = NIL;
	if (rte->alias != NULL)
		rte->alias->colnames = NIL;
	put_subquery(rte, join);
	replace_row(join->outer, join->rti, values);
	(void) find_place((Node *) join->outer->jointree, join->rti, true, false, &copied);
	join_row(join, &copied);
	if (found != NULL)
		join->outer->jointree->quals = make_and_qual(join->outer->jointree->quals, found);
	join->outer->hasSubLinks |= found != NULL && checkExprHasSubLink(found);
	return true;
}

/* Make the subquery one of rows or of one row; if that fails, with its domain among its tables. */
static bool
join_place(GpucolGroupedJoin *join, const Place *place, RangeTblEntry *rte, bool one)
{
	GpucolGroupedJoin begun;

	join->may_execute = one;
	begun = *join;
	begun.inner = copyObject(join->inner);
	if (one ? join_one_row(join, place, rte) : join_rows(join, place, rte))
		return true;
	return gpucol_domain_begin_again(join, begun) &&
		(one ? join_one_row(join, place, rte) : join_rows(join, place, rte));
}

bool
gpucol_subquery_join_lateral(Query *query, Index rti, bool asked)
{
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	Query	   *subquery = rte->subquery;
	GpucolGroupedJoin join = {.outer = query,.rti = rti,.asked_each = asked};
	Place		place = {0};
	GpucolReferences found = gpucol_subquery_references((Node *) subquery);
	bool		one = subquery->hasAggs && subquery->groupClause == NIL;

	if (gpucol_nearest_is(subquery))
		return gpucol_nearest_lateral(query, rti);
	join.inner = copyObject(subquery);
	gpucol_subquery_split_first(join.inner);
	join.relid = gpucol_subquery_table(join.inner);
	if (!OidIsValid(join.relid) || !found.own || subquery->setOperations != NULL)
		return false;
	if (!one && gpucol_first_rows(join.inner) == 0 && join.inner->groupClause == NIL &&
		join.inner->distinctClause == NIL && !join.inner->hasWindowFuncs)
		return false;
	if (!found.outer && !found.farther)
		gpucol_subquery_hoist(query, join.inner);
	if (found.outer || found.farther)
		join.reason = "it is correlated with more than the query around it";
	else if (!find_place((Node *) query->jointree, rti, true, false, &place) || rte->security_barrier ||
			 gpucol_subquery_has_whole_row(query, rti))
		join.reason = "it is read as whole rows, or is no right side of a join";
	else
	{
		GpucolGroupedJoin begun = join;

		begun.inner = copyObject(join.inner);
		if (join_place(&join, &place, rte, one))
			return true;
		if (!one && gpucol_first_rows(begun.inner) == 1 && join_place(&begun, &place, rte, true))
			return true;
	}
	gpucol_reason_add(join.relid, "LATERAL", "%s", join.reason);
	return false;
}
