/*-------------------------------------------------------------------------
 *
 * set_operations.c
 *	  UNION, INTERSECT and EXCEPT as groups.
 *
 * PostgreSQL sorts or hashes the rows of all branches one by one.  Here each branch is grouped where
 * it is read, in the engine, and the few rows that are left are grouped once more:
 *
 *		a UNION b		->	SELECT c FROM (SELECT c FROM a GROUP BY c UNION ALL SELECT c FROM b GROUP BY c) u GROUP BY c
 *		a INTERSECT b	->	SELECT c FROM (SELECT c, 1 AS side FROM a GROUP BY c UNION ALL
 *								SELECT c, 2 FROM b GROUP BY c) u GROUP BY c HAVING bit_or(side) = 3
 *		a EXCEPT b		->	the same HAVING bit_or(side) = 1
 *
 * Groups take NULLs for equal, as set operations do.  A branch is grouped by values of its own types
 * only if these are the operation's: others could be equal in one type and differ in the other.
 *
 * INTERSECT ALL and EXCEPT ALL count the rows of each group, and a group's row comes as often as it is to:
 *
 *		a EXCEPT ALL b	->	SELECT c FROM (SELECT c, generate_series(1, max(l) - max(r)) FROM (
 *								SELECT c, count(*) AS l, 0 AS r FROM a GROUP BY c UNION ALL
 *								SELECT c, 0, count(*) FROM b GROUP BY c) u GROUP BY c HAVING max(l) - max(r) > 0) s
 *
 * (least(max(l), max(r)) for INTERSECT ALL), where equal values cannot be told from each other.  Otherwise they stay,
 * over branches that may be rewritten.
 *
 * Where nearly each row of a differs, set_joins.c makes joins.
 *
 * union_groups.c does the same to groups over UNION ALL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "columnar/collation.h"
#include "guc.h"
#include "plan/make.h"
#include "planner/planner.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* Which sides of an operation have a row. */
#define LEFT_SIDE	1
#define RIGHT_SIDE	2

static Query *build(Query *query, Node *node);

/* ---- queries ---- */

/* A column of a query as the query around it sees it. */
static TargetEntry *
column_above(TargetEntry *tle, Index rti)
{
	return makeTargetEntry((Expr *) makeVarFromTargetEntry(rti, tle), tle->resno,
						   pstrdup(tle->resname != NULL ? tle->resname : "?column?"), false);
}

/* The columns that a query returns, as the query around it sees them. */
static List *
columns_above(const Query *below, Index rti)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, below->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			columns = lappend(columns, column_above(lfirst(lc), rti));
	}
	return columns;
}

/* SELECT columns FROM below, in the place of `below`. */
static Query *
read_query(Query *below)
{
	Query	   *query = makeNode(Query);

	IncrementVarSublevelsUp((Node *) below, 1, 1);
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->targetList = columns_above(below, 1);
	gpucol_subquery_read(query, below, "branch", NIL);
	return query;
}

/* Have a query group by the first columns of its list, which `clauses` (SortGroupClauses) belong to. */
static void
group_by_columns(Query *query, const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		TargetEntry *tle = list_nth_node(TargetEntry, query->targetList, foreach_current_index(lc));

		clause->tleSortGroupRef = tle->ressortgroupref = foreach_current_index(lc) + 1;
		query->groupClause = lappend(query->groupClause, clause);
	}
}

/* ---- set operations as queries ---- */

/* The node of two operands whose columns are `columns`. */
static SetOperationStmt *
make_node(SetOperation op, bool all, const SetOperationStmt *like, const List *columns)
{
	SetOperationStmt *node = makeNode(SetOperationStmt);
	ListCell   *lc;

	node->op = op;
	node->all = all;
	foreach(lc, columns)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;
		int			i = foreach_current_index(lc);
		bool		typed = like != NULL && i < list_length(like->colTypes);

		node->colTypes = lappend_oid(node->colTypes, typed ? list_nth_oid(like->colTypes, i) : exprType(expr));
		node->colTypmods = lappend_int(node->colTypmods, typed ? list_nth_int(like->colTypmods, i) : exprTypmod(expr));
		node->colCollations = lappend_oid(node->colCollations,
										  typed ? list_nth_oid(like->colCollations, i) : exprCollation(expr));
	}
	if (op != SETOP_UNION || !all)
		node->groupClauses = copyObject(like->groupClauses);
	return node;
}

/* Columns of a set operation whose first table is its first branch. */
static List *
columns_of(const SetOperationStmt *node, const Query *first)
{
	List	   *columns = columns_above(first, 1);
	ListCell   *lc;

	foreach(lc, columns)
	{
		Var		   *var = castNode(Var, lfirst_node(TargetEntry, lc)->expr);
		int			i = foreach_current_index(lc);

		var->vartype = list_nth_oid(node->colTypes, i);
		var->vartypmod = list_nth_int(node->colTypmods, i);
		var->varcollid = list_nth_oid(node->colCollations, i);
	}
	return columns;
}

Query *
gpucol_set_operation(SetOperation op, bool all, const SetOperationStmt *like, List *queries)
{
	Query	   *query = makeNode(Query);
	Node	   *tree = NULL;
	List	   *columns = columns_above(linitial(queries), 1);
	ListCell   *lc;

	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	foreach(lc, queries)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);
		RangeTblRef *ref = makeNode(RangeTblRef);
		List	   *names = NIL;
		ListCell   *lt;

		foreach(lt, columns)
			names = lappend(names, makeString(pstrdup(lfirst_node(TargetEntry, lt)->resname)));
		rte->rtekind = RTE_SUBQUERY;
		rte->subquery = lfirst_node(Query, lc);
		IncrementVarSublevelsUp((Node *) rte->subquery, 1, 1);
		rte->eref = makeAlias(psprintf("*SELECT* %d", foreach_current_index(lc) + 1), names);
		query->rtable = lappend(query->rtable, rte);
		ref->rtindex = list_length(query->rtable);
		if (tree == NULL)
			tree = (Node *) ref;
		else
		{
			SetOperationStmt *node = make_node(op, all, like, columns);

			node->larg = tree;
			node->rarg = (Node *) ref;
			tree = (Node *) node;
		}
	}
	query->setOperations = tree;
	query->targetList = columns_of(castNode(SetOperationStmt, tree), linitial(queries));
	return query;
}

/* ---- branches ---- */

bool
gpucol_set_is_table(const Query *query, const Bitmapset *used)
{
	RangeTblRef *ref = query->jointree->fromlist != NIL ? linitial(query->jointree->fromlist) : NULL;
	RangeTblEntry *rte;
	ListCell   *lc;

	if (query->setOperations != NULL || query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->distinctClause != NIL || query->limitCount != NULL ||
		query->limitOffset != NULL || query->jointree->quals != NULL ||
		list_length(query->jointree->fromlist) != 1 || !IsA(ref, RangeTblRef))
		return false;
	rte = rt_fetch(ref->rtindex, query->rtable);
	if (rte->rtekind != RTE_RELATION || !OidIsValid(gpucol_subquery_packed_part(rte)))
		return false;
	foreach(lc, query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!IsA(tle->expr, Var) &&
			(used == NULL || bms_is_member(tle->resno - FirstLowInvalidHeapAttributeNumber, used)))
			return false;
	}
	return true;
}

bool
gpucol_set_has_rows(Query *query)
{
	return query->setOperations == NULL && !query->hasAggs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->distinctClause == NIL && query->limitCount == NULL &&
		query->limitOffset == NULL && OidIsValid(gpucol_subquery_table(query));
}

/* Has a branch the columns of an operation, with its types? */
static bool
has_types(const Query *query, const SetOperationStmt *node)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk)
			continue;
		if (exprType((Node *) tle->expr) != list_nth_oid(node->colTypes, i) ||
			exprCollation((Node *) tle->expr) != list_nth_oid(node->colCollations, i))
			return false;
		i++;
	}
	return i == list_length(node->colTypes);
}

/* A branch with a column more that says of which side it is, unless that is 0; grouped if that is of use. */
static Query *
make_side(const SetOperationStmt *node, Query *branch, int side)
{
	bool		grouped = gpucol_set_has_rows(branch) && has_types(branch, node);

	if (!grouped && side == 0)
		return branch;
	branch = read_query(branch);
	if (grouped)
		group_by_columns(branch, node->groupClauses);
	if (side != 0)
		branch->targetList = lappend(branch->targetList,
									 makeTargetEntry((Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
																		Int32GetDatum(side), false, true),
													 list_length(branch->targetList) + 1, pstrdup("side"), false));
	return branch;
}

/* HAVING bit_or(side) = sides, where side is the last column of the table */
static Node *
on_sides(AttrNumber side, int sides)
{
	Aggref	   *agg = makeNode(Aggref);
	Var		   *var = makeVar(1, side, INT4OID, -1, InvalidOid, 0);

	agg->aggfnoid = F_BIT_OR_INT4;
	agg->aggtype = INT4OID;
	agg->aggargtypes = list_make1_oid(INT4OID);
	agg->args = list_make1(makeTargetEntry((Expr *) var, 1, NULL, false));
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = agg->location = -1;
	return (Node *) make_opclause(Int4EqualOperator, BOOLOID, false, (Expr *) agg,
								  (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(sides),
													 false, true), InvalidOid, InvalidOid);
}

/* The branches of a tree of UNION, UNION ALL too if `all` or what is above drops equal rows. */
static List *
collect(Query *query, Node *node, bool all)
{
	SetOperationStmt *stmt = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, SetOperationStmt) && stmt->op == SETOP_UNION && (stmt->all || !all))
		return list_concat(collect(query, stmt->larg, all), collect(query, stmt->rarg, all));
	return list_make1(build(query, node));
}

/* UNION: groups of all branches. */
static Query *
build_union(Query *query, const SetOperationStmt *node)
{
	List	   *branches = collect(query, (Node *) node, false);
	bool		tables = true;
	Query	   *result;
	ListCell   *lc;

	foreach(lc, branches)
		tables &= gpucol_set_is_table(lfirst(lc), NULL) && has_types(lfirst(lc), node);
	foreach(lc, branches)
	{
		if (!tables)
			lfirst(lc) = make_side(node, lfirst(lc), 0);
	}
	result = read_query(gpucol_set_operation(SETOP_UNION, true, node, branches));
	group_by_columns(result, node->groupClauses);
	return result;
}

/* Groups of the rows of two sides, by the columns of the operation; what more the sides have is to be aggregated. */
static Query *
group_sides(const SetOperationStmt *node, Query *left, Query *right)
{
	Query	   *result = read_query(gpucol_set_operation(SETOP_UNION, true, node, list_make2(left, right)));

	result->targetList = list_truncate(result->targetList, list_length(node->colTypes));
	group_by_columns(result, node->groupClauses);
	result->hasAggs = true;
	return result;
}

/* INTERSECT and EXCEPT: groups of both sides, of which those remain that the right sides have. */
static Query *
build_sides(const SetOperationStmt *node, Query *left, Query *right)
{
	Query	   *result;

	result = group_sides(node, make_side(node, left, LEFT_SIDE), make_side(node, right, RIGHT_SIDE));
	result->havingQual = on_sides(list_length(node->colTypes) + 1,
								  node->op == SETOP_EXCEPT ? LEFT_SIDE : LEFT_SIDE | RIGHT_SIDE);
	return result;
}

/* ---- INTERSECT ALL and EXCEPT ALL ---- */

/* Has a side of an operation the types of its columns? */
static bool
is_of_types(const Query *query, Node *side, const SetOperationStmt *node)
{
	const SetOperationStmt *below = (const SetOperationStmt *) side;

	if (IsA(side, RangeTblRef))
		return has_types(rt_fetch(((const RangeTblRef *) side)->rtindex, query->rtable)->subquery, node);
	return equal(below->colTypes, node->colTypes) && equal(below->colCollations, node->colCollations);
}

/* Are equal rows of such an operation the same, so that they can be counted? */
static bool
is_countable(const Query *query, const SetOperationStmt *node)
{
	ListCell   *lc;

	if (node->op == SETOP_UNION || !node->all || node->colTypes == NIL ||
		list_length(node->groupClauses) != list_length(node->colTypes) ||
		!is_of_types(query, node->larg, node) || !is_of_types(query, node->rarg, node))
		return false;
	foreach(lc, node->groupClauses)
	{
		int			i = foreach_current_index(lc);
		Oid			type = getBaseType(list_nth_oid(node->colTypes, i));

		if (!OidIsValid(lfirst_node(SortGroupClause, lc)->eqop) ||
			(!gpucol_equal_by_bytes(type, list_nth_oid(node->colCollations, i)) &&
			 get_typtype(type) != TYPTYPE_ENUM &&
			 (type != NUMERICOID || list_nth_int(node->colTypmods, i) < (int) VARHDRSZ)))
			return false;
	}
	return true;
}

static void
add_column(Query *query, Expr *expr, const char *name)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry(expr, list_length(query->targetList) + 1, pstrdup(name), false));
}

/* The groups of a branch, and behind their columns how many rows each has on the left, and on the right. */
static Query *
count_side(const SetOperationStmt *node, Query *branch, int side)
{
	Expr	   *count = (Expr *) gpucol_make_aggregate(F_COUNT_, INT8OID, NULL);

	branch = read_query(branch);
	group_by_columns(branch, node->groupClauses);
	branch->hasAggs = true;
	add_column(branch, side == LEFT_SIDE ? count : gpucol_make_int8(0), "l");
	add_column(branch, side == LEFT_SIDE ? gpucol_make_int8(0) : count, "r");
	return branch;
}

/* How often a group's row is in the result; the counts are the last columns of the table. */
static Expr *
count_result(const SetOperationStmt *node)
{
	AttrNumber	first = list_length(node->colTypes) + 1;
	Expr	   *sides[2];
	MinMaxExpr *least;

	for (int i = 0; i < 2; i++)
		sides[i] = (Expr *) gpucol_make_aggregate(F_MAX_INT8, INT8OID,
												  (Expr *) makeVar(1, first + i, INT8OID, -1, InvalidOid, 0));
	if (node->op == SETOP_EXCEPT)
		return (Expr *) makeFuncExpr(F_INT8MI, INT8OID, list_make2(sides[0], sides[1]), InvalidOid, InvalidOid,
									 COERCE_EXPLICIT_CALL);
	least = makeNode(MinMaxExpr);
	least->minmaxtype = INT8OID;
	least->op = IS_LEAST;
	least->args = list_make2(sides[0], sides[1]);
	least->location = -1;
	return (Expr *) least;
}

/* Rows as often as the counts of both sides say. */
static Query *
build_counted(const SetOperationStmt *node, Query *left, Query *right)
{
	FuncExpr   *series;
	Query	   *result;

	result = group_sides(node, count_side(node, left, LEFT_SIDE), count_side(node, right, RIGHT_SIDE));
	result->havingQual = (Node *) makeFuncExpr(F_INT8GT, BOOLOID, list_make2(count_result(node), gpucol_make_int8(0)),
											   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	series = makeFuncExpr(F_GENERATE_SERIES_INT8_INT8, INT8OID, list_make2(gpucol_make_int8(1), count_result(node)),
						  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	series->funcretset = true;
	add_column(result, (Expr *) series, "times");
	result->hasTargetSRFs = true;
	result = read_query(result);
	result->targetList = list_truncate(result->targetList, list_length(node->colTypes));
	return result;
}

/* May the user call what counts rows? */
static bool
may_count(void)
{
	static const Oid functions[] = {F_COUNT_, F_MAX_INT8, F_INT8MI, F_INT8GT, F_GENERATE_SERIES_INT8_INT8};

	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (!gpucol_subquery_may_call(functions[i]))
			return false;
	}
	return true;
}

/*
 * What takes the place of a node of a query's set operations, as a query one level below.
 */
static Query *
build(Query *query, Node *node)
{
	SetOperationStmt *stmt = (SetOperationStmt *) node;
	Query	   *left;
	Query	   *right;
	Query	   *joined;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return copyObject(rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable)->subquery);
	if (stmt->op == SETOP_UNION && !stmt->all)
		return build_union(query, stmt);
	if (stmt->op == SETOP_UNION)
		return gpucol_set_operation(SETOP_UNION, true, stmt, collect(query, node, true));
	left = build(query, stmt->larg);
	right = build(query, stmt->rarg);
	if (stmt->all)
		return is_countable(query, stmt) ? build_counted(stmt, left, right) :
			gpucol_set_operation(stmt->op, true, stmt, list_make2(left, right));
	joined = gpucol_set_join(stmt, &left, &right);
	if (joined == NULL)
		return build_sides(stmt, left, right);
	joined = read_query(joined);
	group_by_columns(joined, stmt->groupClauses);
	return left == NULL ? joined :
		gpucol_set_operation(SETOP_UNION, true, stmt, list_make2(joined, build_sides(stmt, left, right)));
}

/* ---- statements ---- */

/* Is a node of set operations one that can be groups, where that is of use? */
static bool
are_groups(Query *query, Node *node, bool *useful)
{
	SetOperationStmt *stmt = (SetOperationStmt *) node;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return true;
	*useful |= !stmt->all || is_countable(query, stmt);
	foreach(lc, stmt->all ? NIL : stmt->groupClauses)
	{
		int			i = foreach_current_index(lc);

		if (!OidIsValid(lfirst_node(SortGroupClause, lc)->eqop) ||
			(type_is_collatable(list_nth_oid(stmt->colTypes, i)) && !OidIsValid(list_nth_oid(stmt->colCollations, i))))
			return false;
	}
	return are_groups(query, stmt->larg, useful) && are_groups(query, stmt->rarg, useful) &&
		(stmt->all || list_length(stmt->groupClauses) == list_length(stmt->colTypes)) && stmt->colTypes != NIL;
}

/* Add the branches of a node to a list; false if another operation is among them. */
static bool
add_branches(const Query *query, Node *node, List **branches)
{
	SetOperationStmt *stmt = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
	{
		*branches = lappend(*branches, rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable)->subquery);
		return true;
	}
	return stmt->op == SETOP_UNION && stmt->all && add_branches(query, stmt->larg, branches) &&
		add_branches(query, stmt->rarg, branches);
}

List *
gpucol_set_union_branches(const Query *query)
{
	List	   *branches = NIL;

	if (query->setOperations == NULL || !add_branches(query, query->setOperations, &branches))
		return NIL;
	return branches;
}

/* Make the set operations of a query groups; false if they stay. */
static bool
rewrite_operations(Query *query)
{
	bool		useful = false;
	List	   *columns = NIL;
	Query	   *result;
	ListCell   *lc;

	if (query->setOperations == NULL || !are_groups(query, query->setOperations, &useful) || !useful ||
		query->rowMarks != NIL || !OidIsValid(gpucol_subquery_table(query)) ||
		contain_volatile_functions((Node *) query) || !gpucol_subquery_may_call(F_BIT_OR_INT4) ||
		!gpucol_subquery_may_call(F_INT4EQ) || !may_count())
		return false;
	result = build(query, query->setOperations);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = copyObject(lfirst_node(TargetEntry, lc));

		if (!IsA(tle->expr, Var))
			return false;
		castNode(Var, tle->expr)->varno = 1;
		castNode(Var, tle->expr)->varnosyn = 1;
		columns = lappend(columns, tle);
	}
	query->targetList = columns;
	query->setOperations = NULL;
	gpucol_subquery_read(query, result, "operation", NIL);
	return true;
}

/* Rewrite the queries of a statement, outermost first. */
static bool
rewrite(Node *node, int *count)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (IsA(node, CommonTableExpr) && ((CommonTableExpr *) node)->cterecursive)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rewrite, count);
	check_stack_depth();
	if (query->commandType == CMD_SELECT)
		*count += rewrite_operations(query) + gpucol_union_groups(query);
	return query_tree_walker(query, rewrite, count, 0);
}

static bool
has_operations(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return ((Query *) node)->setOperations != NULL || query_tree_walker((Query *) node, has_operations, context, 0);
	return expression_tree_walker(node, has_operations, context);
}

Query *
gpucol_set_operations(Query *parse)
{
	Query	   *copy;
	int			count = 0;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !has_operations((Node *) parse, NULL))
		return parse;
	copy = copyObject(parse);
	rewrite((Node *) copy, &count);
	return count > 0 ? copy : parse;
}
