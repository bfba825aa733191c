/*-------------------------------------------------------------------------
 *
 * values_union.c
 *	  Columns of a table that become rows, by LATERAL VALUES or unnest() of arrays, are a UNION ALL.
 *
 *		FROM t CROSS JOIN LATERAL (VALUES ('x', t.x), ('y', t.y)) AS v(name, value)
 *		FROM t, unnest(ARRAY['x', 'y'], ARRAY[t.x, t.y]) AS v(name, value)
 *		FROM t, LATERAL (SELECT 'x', t.x UNION ALL SELECT 'y', t.y) AS v(name, value)
 *	->	FROM (SELECT t.k, 'x' AS name, t.x AS value FROM t UNION ALL SELECT t.k, 'y', t.y FROM t) AS tv
 *
 * PostgreSQL makes the rows of VALUES, or calls the function, for each row of the table, and nothing of gpucol's
 * reads them but a row at a time.  The branches of a UNION ALL are scans of their own, whose rows an engine groups.
 * They read the table several times, which costs less.
 *
 * It is done where all that the rows are made of is one gpucol table that is joined with them by inner joins, or
 * stands on the kept side of outer ones.  What is computed is computed for the same rows: not for rows that another
 * table has no partner for, so with other tables it must be harmless, and with conditions on it, too, which may be
 * tested before others; and all of it must be read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "guc.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* More rows than these are left to PostgreSQL. */
#define MOST_ROWS	32

/* A table and the rows that are made of its columns, while they become one. */
typedef struct Unfolding
{
	Query	   *query;
	Index		values;			/* where they stand in its range table */
	Index		table;
	Index		joined;			/* and where both will */
	RangeTblEntry *made;		/* the rows, */
	List	   *rows;			/* as List of Expr each */
	List	   *columns;		/* Vars of both that are read: columns of the union */
	Bitmapset  *risky;			/* columns of the rows whose values could fail */
	bool		top;			/* no query is around */
	int			depth;			/* of queries below the query */
	bool		failed;
} Unfolding;

/* ---- rows ---- */

/* The arrays of unnest(ARRAY[...], ...), or NIL. */
static List *
unnested_arrays(const RangeTblEntry *rte)
{
	List	   *arrays = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
	{
		const RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);
		const FuncExpr *call = (const FuncExpr *) function->funcexpr;
		ArrayExpr  *array;

		if (!IsA(call, FuncExpr) || call->funcid != F_UNNEST_ANYARRAY || function->funccolnames != NIL)
			return NIL;
		array = linitial(call->args);
		if (!IsA(array, ArrayExpr) || array->multidims || array->elements == NIL)
			return NIL;
		arrays = lappend(arrays, array);
	}
	return arrays;
}

/* A column's value in a row of unnested arrays: a short one goes on with NULLs. */
static Expr *
element(const ArrayExpr *array, int row)
{
	return row < list_length(array->elements) ? list_nth(array->elements, row) :
		(Expr *) makeNullConst(array->element_typeid, -1, array->array_collid);
}

/* The rows of functions of arrays. */
static List *
unnested_rows(const RangeTblEntry *rte)
{
	List	   *arrays = unnested_arrays(rte);
	List	   *rows = NIL;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, arrays)
		n = Max(n, list_length(lfirst_node(ArrayExpr, lc)->elements));
	for (int row = 0; row < n; row++)
	{
		List	   *values = NIL;

		foreach(lc, arrays)
			values = lappend(values, element(lfirst(lc), row));
		if (rte->funcordinality)
			values = lappend(values, gpucol_make_int8(row + 1));
		rows = lappend(rows, values);
	}
	return rows;
}

/* Is a query nothing but a target list over its FROM clause? */
static bool
is_bare(const Query *query)
{
	return gpucol_set_is_plain(query) && query->jointree->quals == NULL && !query->hasTargetSRFs && !query->hasSubLinks;
}

/* One row as a query returns it: its columns are those of `row`, or (NIL) computed; seen from `up` queries above. */
static List *
row_of(const Query *query, const List *row, int up)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		Node	   *value = (Node *) tle->expr;

		if (tle->resjunk || (row != NIL && (!IsA(value, Var) || ((Var *) value)->varlevelsup != 0 ||
											((Var *) value)->varattno <= 0)))
			return NIL;
		value = (Node *) copyObject(row == NIL ? value : list_nth(row, ((Var *) value)->varattno - 1));
		IncrementVarSublevelsUp(value, -up, up);
		values = lappend(values, value);
	}
	return values;
}

/* The values of a branch as the columns of the set operation, of which they need not have the types. */
static List *
as_columns(List *row, const SetOperationStmt *node)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, row)
		values = lappend(values, coerce_to_common_type(NULL, lfirst(lc),
													   list_nth_oid(node->colTypes, foreach_current_index(lc)),
													   "UNION"));
	return values;
}

/* The rows of SELECT ... UNION ALL SELECT ..., all without FROM. */
static List *
selected_rows(const Query *query)
{
	List	   *rows = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_set_union_branches(query))
	{
		const Query *branch = lfirst_node(Query, lc);
		List	   *row = is_bare(branch) && branch->jointree->fromlist == NIL ? row_of(branch, NIL, 2) : NIL;

		if (row == NIL)
			return NIL;
		rows = lappend(rows, as_columns(row, castNode(SetOperationStmt, query->setOperations)));
	}
	return rows;
}

/* The rows of a subquery that is VALUES, or such a UNION ALL. */
static List *
subquery_rows(const Query *query)
{
	const RangeTblEntry *values;
	List	   *rows = NIL;
	ListCell   *lc;

	if (query->setOperations != NULL)
		return selected_rows(query);
	if (!is_bare(query) || list_length(query->rtable) != 1 || query->jointree->fromlist == NIL)
		return NIL;
	values = linitial(query->rtable);
	if (values->rtekind != RTE_VALUES)
		return NIL;
	foreach(lc, values->values_lists)
	{
		List	   *row = row_of(query, lfirst(lc), 1);

		if (row == NIL)
			return NIL;
		rows = lappend(rows, row);
	}
	return rows;
}

List *
gpucol_values_rows(const RangeTblEntry *rte)
{
	if (rte->rtekind == RTE_FUNCTION)
		return unnested_rows(rte);
	return rte->rtekind == RTE_SUBQUERY && !rte->security_barrier ? subquery_rows(rte->subquery) : NIL;
}

/* The rows of a table that is made of columns beside it, or NIL. */
static List *
rows_of(const RangeTblEntry *rte)
{
	return rte->lateral ? gpucol_values_rows(rte) : NIL;
}

/* Find the one table whose columns rows are made of; true if there is anything else in them. */
static bool
find_table(Node *node, Index *table)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varlevelsup != 0 || var->varattno <= 0 || (*table != 0 && *table != (Index) var->varno))
			return true;
		*table = var->varno;
		return false;
	}
	if (IsA(node, SubLink) || IsA(node, Aggref) || IsA(node, Query))
		return true;
	return expression_tree_walker(node, find_table, table);
}

/* Is it a table whose rows may be read several times? */
static bool
is_good_table(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION && rte->tablesample == NULL && rte->securityQuals == NIL &&
		OidIsValid(gpucol_subquery_packed_part(unconstify(RangeTblEntry *, rte)));
}

/* ---- where they are joined ---- */

/* Is a table among those of a FROM clause or join, joined with all others or kept beside them? */
static bool
is_kept(const Node *node, Index rti)
{
	const JoinExpr *join = (const JoinExpr *) node;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return ((const RangeTblRef *) node)->rtindex == (int) rti;
	if (IsA(node, JoinExpr))
		return ((join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT) && is_kept(join->larg, rti)) ||
			((join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT) && is_kept(join->rarg, rti));
	foreach(lc, ((const FromExpr *) node)->fromlist)
	{
		if (is_kept(lfirst(lc), rti))
			return true;
	}
	return false;
}

static bool
is_reference(const Node *node, Index rti)
{
	return IsA(node, RangeTblRef) && ((const RangeTblRef *) node)->rtindex == (int) rti;
}

/* Take the rows out of a list of tables that the table is among; false if they are not there. */
static bool
leave_list(FromExpr *from, const Unfolding *u)
{
	ListCell   *lc;

	if (!is_kept((Node *) from, u->table))
		return false;
	foreach(lc, from->fromlist)
	{
		if (is_reference(lfirst(lc), u->values))
		{
			from->fromlist = foreach_delete_current(from->fromlist, lc);
			return true;
		}
	}
	return false;
}

static bool leave(Node **node, const Unfolding *u);

/* The same of a join, which the other side takes the place of. */
static bool
leave_join(Node **node, const Unfolding *u)
{
	JoinExpr   *join = (JoinExpr *) *node;

	if (join->jointype != JOIN_INNER || !is_reference(join->rarg, u->values) || !is_kept(join->larg, u->table))
		return leave(&join->larg, u) || leave(&join->rarg, u);
	*node = join->quals == NULL ? join->larg : (Node *) makeFromExpr(list_make1(join->larg), join->quals);
	return true;
}

/* The same of both. */
static bool
leave(Node **node, const Unfolding *u)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(*node, JoinExpr))
		return leave_join(node, u);
	if (!IsA(*node, FromExpr))
		return false;
	if (leave_list((FromExpr *) *node, u))
		return true;
	foreach(lc, ((FromExpr *) *node)->fromlist)
	{
		if (leave((Node **) &lfirst(lc), u))
			return true;
	}
	return false;
}

/* ---- columns ---- */

/* The column of the union that a column of either is, from 1 on, or 0. */
static AttrNumber
place_of(const Unfolding *u, const Var *var)
{
	ListCell   *lc;

	foreach(lc, u->columns)
	{
		const Var  *column = lfirst_node(Var, lc);

		if (column->varno == var->varno && column->varattno == var->varattno)
			return foreach_current_index(lc) + 1;
	}
	return 0;
}

/* Is it a column of the table or the rows, seen from where we are? */
static bool
is_of_both(const Unfolding *u, const Node *node)
{
	const Var  *var = (const Var *) node;

	return IsA(node, Var) && (int) var->varlevelsup == u->depth &&
		((Index) var->varno == u->table || (Index) var->varno == u->values);
}

/* Collect the columns of both that a query reads. */
static bool
collect(Node *node, Unfolding *u)
{
	bool		found;

	if (node == NULL)
		return false;
	if (is_of_both(u, node))
	{
		Var		   *var = copyObject((Var *) node);

		u->failed |= var->varattno <= 0;
		var->varlevelsup = 0;
		gpucol_compat_set_not_nulled(var);
		if (place_of(u, var) == 0)
			u->columns = lappend(u->columns, var);
		return false;
	}
	if (!IsA(node, Query))
		return expression_tree_walker(node, collect, u);
	u->depth++;
	found = query_tree_walker((Query *) node, collect, u, 0);
	u->depth--;
	return found;
}

/* Does an expression, outside of aggregates, read a column of the rows whose values could fail? */
static bool
asks(Node *node, Unfolding *u)
{
	bool		found;

	if (node == NULL || (IsA(node, Aggref) && u->depth == 0))
		return false;
	if (is_of_both(u, node))
		return (Index) ((Var *) node)->varno == u->values && bms_is_member(((Var *) node)->varattno, u->risky);
	if (!IsA(node, Query))
		return expression_tree_walker(node, asks, u);
	u->depth++;
	found = query_tree_walker((Query *) node, asks, u, 0);
	u->depth--;
	return found;
}

/* Is there a condition on other things than the rows, which may keep some from being made? */
static bool
keeps_off(Node *node, const Unfolding *u)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, BoolExpr))
		return keeps_off((Node *) ((BoolExpr *) node)->args, u);
	if (!IsA(node, List))
		return !bms_is_member(u->values, pull_varnos(NULL, node));
	foreach(lc, (List *) node)
	{
		if (keeps_off(lfirst(lc), u))
			return true;
	}
	return false;
}

/*
 * May what could fail be computed?  Not for rows without a partner, and not where conditions on it might be tested
 * before others: those here, or of a query around, whose conditions come to be this one's.
 */
static bool
may_fail(Unfolding *u, const FromExpr *from)
{
	Query	   *query = u->query;

	if (list_length(from->fromlist) != 1 || !IsA(linitial(from->fromlist), RangeTblRef) ||
		asks(gpucol_compat_write_groups(query, query->havingQual), u) ||
		(asks(from->quals, u) && keeps_off(from->quals, u)))
		return false;
	return u->top || !asks(gpucol_compat_write_groups(query, (Node *) query->targetList), u);
}

/* May what the rows are made of be computed: is it read, or nothing that could fail? */
static bool
may_compute(Unfolding *u, const FromExpr *from)
{
	ListCell   *lr;

	foreach(lr, u->rows)
	{
		ListCell   *lc;

		foreach(lc, lfirst_node(List, lr))
		{
			Node	   *value = lfirst(lc);
			int			number = foreach_current_index(lc) + 1;
			Var		   *column = makeVar(u->values, number, exprType(value), -1, InvalidOid, 0);

			while (IsA(value, CollateExpr))
				value = (Node *) ((CollateExpr *) value)->arg;
			if (IsA(value, Var) || IsA(value, Const))
				continue;
			if (place_of(u, column) == 0)
				return false;
			if (gpucol_harmless_expr(u->query, (Expr *) value) != NULL)
				u->risky = bms_add_member(u->risky, number);
		}
	}
	return bms_is_empty(u->risky) || may_fail(u, from);
}

/* References to both become such to the union. */
static Node *
refer(Node *node, Unfolding *u)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (is_of_both(u, node))
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno = place_of(u, var);
		var->varno = u->joined;
		var->varnosyn = 0;
		var->varattnosyn = 0;
		return (Node *) var;
	}
	if (is_reference(node, u->table))
	{
		RangeTblRef *ref = makeNode(RangeTblRef);

		ref->rtindex = u->depth == 0 ? u->joined : u->table;
		return (Node *) ref;
	}
	if (!IsA(node, Query))
		return expression_tree_mutator(node, refer, u);
	u->depth++;
	result = (Node *) query_tree_mutator((Query *) node, refer, u, 0);
	u->depth--;
	return result;
}

/* ---- the union ---- */

static char *
name_of(const Unfolding *u, const Var *column)
{
	const RangeTblEntry *rte = (Index) column->varno == u->table ? rt_fetch(u->table, u->query->rtable) : u->made;

	return pstrdup(strVal(list_nth(rte->eref->colnames, column->varattno - 1)));
}

/* The branch of one row. */
static Query *
make_branch(const Unfolding *u, List *row, bool first)
{
	Query	   *branch = makeNode(Query);
	RangeTblEntry *rte = copyObject(rt_fetch(u->table, u->query->rtable));
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *lc;

	branch->commandType = CMD_SELECT;
	branch->canSetTag = true;
	if (first)
		gpucol_compat_move_permissions(u->query, branch, rte);
	else
		gpucol_compat_no_permissions(u->query, branch, rte);
	branch->rtable = list_make1(rte);
	ref->rtindex = 1;
	branch->jointree = makeFromExpr(list_make1(ref), NULL);
	foreach(lc, u->columns)
	{
		const Var  *column = lfirst_node(Var, lc);
		Node	   *value = copyObject((Index) column->varno == u->table ? (Node *) column :
									   list_nth(row, column->varattno - 1));

		ChangeVarNodes(value, u->table, 1, 0);
		if (exprTypmod(value) != column->vartypmod || exprCollation(value) != column->varcollid)
			value = (Node *) makeRelabelType((Expr *) value, column->vartype, column->vartypmod, column->varcollid,
											 COERCE_IMPLICIT_CAST);
		branch->targetList = lappend(branch->targetList,
									 makeTargetEntry((Expr *) value, foreach_current_index(lc) + 1,
													 name_of(u, column), false));
	}
	return branch;
}

/* An entry of a range table that nothing refers to. */
static RangeTblEntry *
no_table(void)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RESULT;
	rte->eref = makeAlias("unfolded", NIL);
	return rte;
}

/* Have the union take the place of both. */
static void
unfold(Unfolding *u)
{
	Query	   *query = u->query;
	List	   *branches = NIL;
	ListCell   *lc;

	foreach(lc, u->rows)
		branches = lappend(branches, make_branch(u, lfirst(lc), lc == list_head(u->rows)));
	lfirst(list_nth_cell(query->rtable, u->table - 1)) = no_table();
	u->joined = list_length(query->rtable) + 1;
	*query = *query_tree_mutator(query, refer, u, 0);
	query->rtable = lappend(query->rtable,
							gpucol_make_subquery_entry(gpucol_set_operation(SETOP_UNION, true, NULL, branches),
													   "unfolded"));
}

/* Can the rows that stand at one place of a query be made by a union? */
static bool
is_unfoldable(Unfolding *u)
{
	return list_length(u->rows) >= 2 && list_length(u->rows) <= MOST_ROWS &&
		!find_table((Node *) u->rows, &u->table) && u->table != 0 &&
		is_good_table(rt_fetch(u->table, u->query->rtable)) &&
		!contain_volatile_functions((Node *) u->rows) && !expression_returns_set((Node *) u->rows);
}

/* Unfold them, if that can be. */
static void
try_unfold(Query *query, Index rti, bool top)
{
	ListCell   *place = list_nth_cell(query->rtable, rti - 1);
	Unfolding	u = {.query = query,.values = rti,.made = lfirst(place),.rows = rows_of(lfirst(place)),
	.top = top};
	Node	   *from = copyObject((Node *) query->jointree);

	if (!is_unfoldable(&u) || !leave(&from, &u))
		return;
	lfirst(place) = no_table();
	query_tree_walker(query, collect, &u, 0);
	if (u.failed || u.columns == NIL || !may_compute(&u, (FromExpr *) from))
	{
		lfirst(place) = u.made;
		return;
	}
	query->jointree = (FromExpr *) from;
	unfold(&u);
}

/* Queries that are walked through. */
typedef struct Walk
{
	const Query *top;
	bool		unfolds;		/* or see whether there is something to look at */
	bool		rechecks;		/* rows may be joined again when they turn out to be changed */
} Walk;

/* Does a query lock or change rows of tables that it may join with others? */
static bool
rechecks(Node *node, void *context)
{
	const Query *query = (const Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rechecks, context);
	return (query->commandType != CMD_SELECT && query->commandType != CMD_INSERT) || query->rowMarks != NIL ||
		query_tree_walker(unconstify(Query *, query), rechecks, context, 0);
}

/* May a query's tables become tables of the query around? */
static bool
is_merged(const Query *query)
{
	return !query->hasAggs && !query->hasWindowFuncs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL;
}

/* Do so in a query and those in it, or look. */
static bool
walk(Node *node, Walk *w)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, walk, w);
	check_stack_depth();
	for (Index rti = 1; rti <= (Index) list_length(query->rtable); rti++)
	{
		if (list_length(rows_of(rt_fetch(rti, query->rtable))) < 2 || query->commandType != CMD_SELECT ||
			query->rowMarks != NIL)
			continue;
		if (!w->unfolds)
			return true;
		/* of a row that is joined again PostgreSQL keeps what it was joined with, but not of a UNION ALL */
		if (w->rechecks && is_merged(query))
			continue;
		try_unfold(query, rti, query == w->top);
	}
	return query_tree_walker(query, walk, w, 0);
}

Query *
gpucol_values_union(Query *parse)
{
	Walk		w = {.unfolds = false};
	Query	   *copy;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !walk((Node *) parse, &w))
		return parse;
	copy = copyObject(parse);
	w = (Walk) {.top = copy,.unfolds = true,.rechecks = rechecks((Node *) copy, NULL)};
	walk((Node *) copy, &w);
	return copy;
}
