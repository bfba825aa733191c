/*-------------------------------------------------------------------------
 *
 * subquery_columns.c
 *	  Computed columns of subqueries in FROM, where subqueries in expressions refer to them.
 *
 *		o, LATERAL (SELECT date_trunc('month', o.d) AS m) x WHERE o.a > (SELECT avg(a) FROM o i WHERE f(i.d) = x.m)
 *	->	... = date_trunc('month', o.d)
 *		(SELECT *, date_trunc('month', d) AS m FROM o) s WHERE ... = s.m
 *	->	... = date_trunc('month', s.d)
 *
 * PostgreSQL merges such a subquery in FROM with the query that reads it, so the column is computed for each row, and
 * only where it is asked for.  What makes joins of correlated subqueries (subquery_scalar.c) runs before that, and must
 * see what is computed: whether it may raise an error, and of which values.  So the references are spelled out here, as
 * merging would do.  Columns that the expression needs are added to the subquery's list.
 *
 * Left alone is what PostgreSQL does not merge, what an outer join may make NULL, what is read as a whole row, which
 * would show the columns that are added, and references from groups, which are keys: these must stay equal to the
 * expressions of GROUP BY.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "planner/subquery.h"

/* A query, and which of its tables an outer join may make NULL. */
typedef struct Level
{
	Query	   *query;
	const Bitmapset *nullable;
} Level;

/* The references in a query's expressions while they are spelled out. */
typedef struct Spelling
{
	Level		level;			/* of that query */
	int			depth;			/* of the query whose expression is at hand below it */
	bool		of_rows;		/* that expression is of rows, not of groups */
} Spelling;

static Node *spelled_column(Level *level, const Var *var);

/* Tables of a FROM clause that an outer join may make NULL. */
static Bitmapset *
nullable_tables(Node *from, bool nullable)
{
	const JoinExpr *join = (const JoinExpr *) from;
	Bitmapset  *found = NULL;
	ListCell   *lc;

	if (IsA(from, RangeTblRef))
		return nullable ? bms_make_singleton(((const RangeTblRef *) from)->rtindex) : NULL;
	if (IsA(from, FromExpr))
	{
		foreach(lc, ((const FromExpr *) from)->fromlist)
			found = bms_join(found, nullable_tables(lfirst(lc), nullable));
		return found;
	}
	found = nullable_tables(join->larg, nullable || join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL);
	return bms_join(found, nullable_tables(join->rarg, nullable || join->jointype == JOIN_LEFT ||
										   join->jointype == JOIN_FULL));
}

/* Is a subquery in FROM one that PostgreSQL merges, to whose list columns may be added? */
static bool
is_merged(const RangeTblEntry *rte)
{
	const Query *query = rte->subquery;
	ListCell   *lc;

	if (rte->rtekind != RTE_SUBQUERY || rte->security_barrier || query->commandType != CMD_SELECT ||
		query->setOperations != NULL || query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs ||
		query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != NULL ||
		query->sortClause != NIL || query->distinctClause != NIL || query->limitOffset != NULL ||
		query->limitCount != NULL || query->rowMarks != NIL || query->cteList != NIL ||
		contain_volatile_functions((Node *) query->targetList))
		return false;
	foreach(lc, query->targetList)
	{
		if (lfirst_node(TargetEntry, lc)->resjunk)
			return false;
	}
	return true;
}

/* A table of a query, and how many queries deep within that one the search for what reads it is. */
typedef struct WholeRow
{
	int			varno;
	Index		depth;
} WholeRow;

static bool
find_whole_row(Node *node, WholeRow *row)
{
	const Var  *var = (const Var *) node;
	bool		found;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return var->varattno == InvalidAttrNumber && var->varno == row->varno && var->varlevelsup == row->depth;
	if (!IsA(node, Query))
		return expression_tree_walker(node, find_whole_row, row);
	row->depth++;
	found = query_tree_walker((Query *) node, find_whole_row, row, 0);
	row->depth--;
	return found;
}

/* Is a table of the query read as a whole row? */
static bool
is_read_whole(Query *query, int varno)
{
	WholeRow	row = {.varno = varno};

	return query_tree_walker(query, find_whole_row, &row, 0);
}

/* A column of a subquery in FROM that has the values of a column of its own tables; added if there is none. */
static Node *
column_of(RangeTblEntry *rte, Index rti, const Var *own)
{
	Query	   *query = rte->subquery;
	TargetEntry *tle = NULL;
	char	   *name;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		tle = lfirst_node(TargetEntry, lc);
		if (equal(tle->expr, own))
			return (Node *) makeVarFromTargetEntry((int) rti, tle);
	}
	name = pstrdup("computed_of");
	tle = makeTargetEntry((Expr *) copyObject(own), (AttrNumber) (list_length(query->targetList) + 1), name, false);
	query->targetList = lappend(query->targetList, tle);
	rte->eref->colnames = lappend(rte->eref->colnames, makeString(pstrdup(name)));
	return (Node *) makeVarFromTargetEntry((int) rti, tle);
}

/* What turns an expression of a subquery in FROM into one of the query that reads it. */
typedef struct Raising
{
	RangeTblEntry *rte;
	Index		rti;
} Raising;

static Node *
raise_out(Node *node, Raising *raising)
{
	Var		   *var = (Var *) node;

	if (node == NULL || !IsA(node, Var))
		return expression_tree_mutator(node, raise_out, raising);
	if (var->varlevelsup == 0)
		return column_of(raising->rte, raising->rti, var);
	var = copyObject(var);
	var->varlevelsup--;
	return (Node *) var;
}

/* Spell out an expression's references to columns of the query that it stands in. */
static Node *
spell_expression(Node *node, Level *level)
{
	Node	   *spelled;

	if (node == NULL || !IsA(node, Var))
		return expression_tree_mutator(node, spell_expression, level);
	spelled = spelled_column(level, (Var *) node);
	return spelled != NULL ? spelled : copyObject(node);
}

/*
 * The expression that a column of a query's is, over other columns of the query or of those around it; NULL: it is
 * none, or is left alone.
 */
static Node *
spelled_column(Level *level, const Var *var)
{
	RangeTblEntry *rte;
	Raising		raising = {.rti = (Index) var->varno};
	Level		below;
	Node	   *expr;

	check_stack_depth();
	if (var->varlevelsup > 0 || var->varattno <= 0 || bms_is_member(var->varno, level->nullable))
		return NULL;
	rte = rt_fetch(var->varno, level->query->rtable);
	if (!is_merged(rte) || is_read_whole(level->query, var->varno))
		return NULL;
	expr = (Node *) get_tle_by_resno(rte->subquery->targetList, var->varattno)->expr;
	if (checkExprHasSubLink(expr))
		return NULL;
	below.query = rte->subquery;
	below.nullable = nullable_tables((Node *) rte->subquery->jointree, false);
	expr = spell_expression(expr, &below);
	if (IsA(expr, Var) && ((const Var *) expr)->varlevelsup == 0)
		return NULL;
	raising.rte = rte;
	return spell_expression(raise_out(expr, &raising), level);
}

Node *
gpucol_subquery_spelled_column(Query *query, const Var *var)
{
	Level		level = {.query = query,.nullable = nullable_tables((Node *) query->jointree, false)};

	return spelled_column(&level, var);
}

/* Spell out the references of subqueries in an expression to the query that it stands in. */
static Node *
spell_references(Node *node, Spelling *spelling)
{
	bool		of_rows = spelling->of_rows;
	Node	   *result;
	Var			own;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		spelling->depth++;
		result = (Node *) query_tree_mutator((Query *) node, spell_references, spelling, 0);
		spelling->depth--;
		return result;
	}
	if (IsA(node, Var) && spelling->depth > 0 && spelling->of_rows &&
		((const Var *) node)->varlevelsup == (Index) spelling->depth)
	{
		own = *(const Var *) node;
		own.varlevelsup = 0;
		result = spelled_column(&spelling->level, &own);
		if (result == NULL)
			return copyObject(node);
		IncrementVarSublevelsUp(result, spelling->depth, 0);
		return result;
	}
	spelling->of_rows |= IsA(node, Aggref) && spelling->depth == 0 && ((const Aggref *) node)->agglevelsup == 0;
	result = expression_tree_mutator(node, spell_references, spelling);
	spelling->of_rows = of_rows;
	return result;
}

/*
 * Spell out computed columns of subqueries in a query's FROM clause where subqueries in its conditions, its list and
 * its aggregates refer to them.
 */
void
gpucol_subquery_spell_columns(Query *query)
{
	Bitmapset  *nullable = nullable_tables((Node *) query->jointree, false);
	Spelling	spelling = {.level = {.query = query,.nullable = nullable},.of_rows = true};

	query->jointree = castNode(FromExpr, spell_references((Node *) query->jointree, &spelling));
	spelling.of_rows = !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL;
	query->targetList = castNode(List, spell_references((Node *) query->targetList, &spelling));
	bms_free(nullable);
}
