/*-------------------------------------------------------------------------
 *
 * set_groups.c
 *	  Groups over the results of set-returning functions: the functions are called once for rows
 *	  that are equal.
 *
 * PostgreSQL calls unnest(), string_to_table() and the like for every row, and groups what all
 * calls return.  Where the columns that are needed of the table have few values, its rows are
 * grouped first, in the engine, and counted; a result counts as often as its row is there:
 *
 *		SELECT word, count(*) FROM docs, string_to_table(body, ' ') AS word WHERE ... GROUP BY word
 *	->	SELECT word, sum(n) FROM (SELECT body, count(*) AS n FROM docs WHERE ... GROUP BY body) docs,
 *			string_to_table(body, ' ') AS word GROUP BY word
 *
 * (set_weights.c has the aggregates).  The function may stand in FROM, in the select list of a
 * subquery or of a common table expression that is read once, or be a key itself; other tables may
 * be joined.  DISTINCT without aggregates is the same, without counts.
 *
 * It is the same answer if equal values cannot be told from each other (is_exact()), no function is
 * volatile, aggregates depend on nothing but how often each value is there, and the table is on no
 * side of an outer join that may be NULL.  The functions see the values that they saw before: the
 * conditions on the table alone go with it, and so do those of row-level security.
 *
 * Aggregates of DISTINCT values of one table's columns, other than the count of one, are fed distinct rows likewise.
 *
 * Statistics say whether there are few enough distinct rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "guc.h"
#include "lower/agg.h"
#include "lower/set_function.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"

/* Distinct rows are at most this share of all. */
#define MOST_DISTINCT		0.25

/* The same where engines make the rows of the sets, so that only values kept as codes of a dictionary are worth it. */
#define MOST_KNOWN			0.02

/* A query while one of its tables becomes a subquery of distinct rows. */
typedef struct Reduction
{
	Query	   *query;
	Index		rti;			/* the table's */
	int			depth;			/* of queries below the query */
	List	   *columns;		/* Vars of the table, each once */
	const char *reason;			/* why not, or NULL: not worth saying */
	bool		failed;
} Reduction;

static Var *reduce(Query *query, bool sets, bool weighted);

/* ---- set-returning functions ---- */

/* The tables whose columns an expression needs if it returns a set. */
static Relids
tables_of_set(Node *expr)
{
	return expression_returns_set(expr) ? pull_varnos(NULL, expr) : NULL;
}

/* The tables of a query for whose rows it calls set-returning functions, before it groups. */
static Relids
tables_of_sets(Query *query)
{
	Relids		tables = NULL;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		ListCell   *lf;

		if (rte->rtekind == RTE_FUNCTION && rte->lateral)
		{
			foreach(lf, rte->functions)
				tables = bms_add_members(tables, tables_of_set(lfirst_node(RangeTblFunction, lf)->funcexpr));
		}
		if (gpucol_compat_rte_is_group(rte))
			tables = bms_add_members(tables, tables_of_set((Node *) gpucol_compat_rte_group_exprs(rte)));
	}
	if (!query->hasTargetSRFs)
		return tables;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if ((query->groupClause == NIL && !query->hasAggs) ||
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->groupClause) != NULL)
			tables = bms_add_members(tables, tables_of_set((Node *) tle->expr));
	}
	return tables;
}

static bool
has_sets(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return !bms_is_empty(tables_of_sets((Query *) node)) || query_tree_walker((Query *) node, has_sets, context, 0);
	return expression_tree_walker(node, has_sets, context);
}

/* Does an engine count its DISTINCT values itself?  Rows it does not. */
static bool
counts_values(const Aggref *agg)
{
	return agg->aggfnoid == F_COUNT_ANY && !gpucol_lower_is_row(linitial_node(TargetEntry, agg->args)->expr);
}

/* Is an aggregate of DISTINCT values among them for which an engine hands out rows? */
static bool
has_distinct(Node *node, void *context)
{
	const Aggref *agg = (const Aggref *) node;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, Aggref) && agg->agglevelsup == 0 && agg->aggdistinct != NIL && !counts_values(agg))
		return true;
	return expression_tree_walker(node, has_distinct, context);
}

/* Has a query of one table, which is not small, such aggregates? */
static bool
asks_distinct(const Query *query)
{
	RangeTblRef *ref = query->hasAggs && list_length(query->jointree->fromlist) == 1 ?
		linitial(query->jointree->fromlist) : NULL;
	const RangeTblEntry *rte;

	if (ref == NULL || !IsA(ref, RangeTblRef) ||
		(!has_distinct((Node *) query->targetList, NULL) && !has_distinct(query->havingQual, NULL)))
		return false;
	rte = rt_fetch(ref->rtindex, query->rtable);
	return rte->rtekind == RTE_RELATION && gpucol_set_count_rows(rte->relid) >= GPUCOL_SET_LEAST_ROWS;
}

/* Is something in a statement that is called once for equal rows? */
static bool
is_useful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return asks_distinct((Query *) node) || !bms_is_empty(tables_of_sets((Query *) node)) ||
			query_tree_walker((Query *) node, is_useful, context, 0);
	return expression_tree_walker(node, is_useful, context);
}

/* ---- distinct rows ---- */

/* Are equal values of a type the same in all respects? */
static bool
is_exact(Oid type, Oid collation)
{
	Oid			element;

	type = getBaseType(type);
	element = get_element_type(type);
	if (OidIsValid(element))
		return is_exact(element, collation);
	if (type == NAMEOID)
		return OidIsValid(collation) && get_collation_isdeterministic(collation);
	return gpucol_equal_by_bytes(type, collation) || get_typtype(type) == TYPTYPE_ENUM;
}

double
gpucol_set_count_values(Oid relid, bool inherits, AttrNumber attno, double rows)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(attno),
										BoolGetDatum(inherits));
	double		values;

	if (!HeapTupleIsValid(tuple))
		return INFINITY;
	values = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	return values == 0 ? INFINITY : (values < 0 ? -values * rows : values) + 1;
}

double
gpucol_set_count_rows(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		rows = 0;

	if (HeapTupleIsValid(tuple))
	{
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return Max(rows, 0);
}

BlockNumber
gpucol_set_count_pages(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	BlockNumber pages = 0;

	if (HeapTupleIsValid(tuple))
	{
		pages = (BlockNumber) ((Form_pg_class) GETSTRUCT(tuple))->relpages;
		ReleaseSysCache(tuple);
	}
	return pages;
}

/* The share of a table's rows that combinations of columns are. */
static double
share_of(const RangeTblEntry *rte, List *columns)
{
	double		rows = gpucol_set_count_rows(rte->relid);
	double		distinct = 1;
	bool		inherits = rte->inh && has_subclass(rte->relid);
	ListCell   *lc;

	foreach(lc, columns)
		distinct *= gpucol_set_count_values(rte->relid, inherits, lfirst_node(Var, lc)->varattno, rows);
	return rows > 0 ? distinct / rows : distinct > 0 ? INFINITY : 0;
}

bool
gpucol_set_are_few(const RangeTblEntry *rte, List *columns)
{
	return share_of(rte, columns) <= MOST_DISTINCT;
}

/* Are all sets that a query makes of a table's rows those of a column, by functions that engines know? */
static bool
are_known(Node *node, Index rti)
{
	const FuncExpr *function = (const FuncExpr *) node;
	const Var  *column;

	if (!IsA(node, FuncExpr) || !function->funcretset)
		return !expression_returns_set(node) || !bms_is_member(rti, pull_varnos(NULL, node));
	if (!gpucol_lower_is_set(function))
		return !bms_is_member(rti, pull_varnos(NULL, node));
	column = (const Var *) gpucol_lower_set_argument(function);
	return IsA(column, Var) && (column->vartype == JSONBOID || get_element_type(column->vartype) != InvalidOid);
}

/* Do engines make the elements of arrays for a query, and all that it makes of a table's rows? */
static bool
engines_make(Query *query, Index rti)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!are_known((Node *) lfirst_node(TargetEntry, lc)->expr, rti))
			return false;
	}
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_FUNCTION && rte->lateral &&
			(list_length(rte->functions) != 1 ||
			 !are_known(linitial_node(RangeTblFunction, rte->functions)->funcexpr, rti)))
			return false;
		if (gpucol_compat_rte_is_group(rte))
		{
			ListCell   *lg;

			foreach(lg, gpucol_compat_rte_group_exprs(rte))
			{
				if (!are_known(lfirst(lg), rti))
					return false;
			}
		}
	}
	return query->groupingSets == NIL && has_sets((Node *) query, NULL);
}

/* Can rows be grouped by these columns without losing what tells them apart? */
static bool
can_group(Reduction *r)
{
	ListCell   *lc;

	foreach(lc, r->columns)
	{
		Var		   *var = lfirst(lc);
		Oid			equality = InvalidOid;

		if (is_exact(var->vartype, var->varcollid))
			get_sort_group_operators(var->vartype, false, false, false, NULL, &equality, NULL, NULL);
		if (!OidIsValid(equality))
			r->reason = "equal values of a column may differ";
	}
	return r->reason == NULL && r->columns != NIL;
}

/* ---- which columns are needed ---- */

/* Collect the columns of the table. */
static bool
collect_columns(Node *node, Reduction *r)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		r->depth++;
		query_tree_walker((Query *) node, collect_columns, r, QTW_IGNORE_JOINALIASES);
		r->depth--;
		return false;
	}
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == r->depth)
	{
		Var		   *var = copyObject((Var *) node);

		/* A column of a join as a whole, or a row, needs more than is seen here. */
		r->failed |= rt_fetch(var->varno, r->query->rtable)->rtekind == RTE_JOIN ||
			(var->varno == (int) r->rti && var->varattno <= 0);
		var = makeVar(var->varno, var->varattno, var->vartype, var->vartypmod, var->varcollid, 0);
		if (var->varno == (int) r->rti)
			r->columns = list_append_unique(r->columns, var);
		return false;
	}
	return expression_tree_walker(node, collect_columns, r);
}

bool
gpucol_set_exact_columns(Query *query, Index rti, List **columns)
{
	Reduction	r = {.query = query,.rti = rti};

	query_tree_walker(query, collect_columns, &r, QTW_IGNORE_JOINALIASES);
	*columns = r.columns;
	return !r.failed && can_group(&r);
}

bool
gpucol_set_keeps_rows(Node *node, Index rti)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return ((RangeTblRef *) node)->rtindex == (int) rti;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		return (join->jointype == JOIN_INNER && gpucol_set_keeps_rows(join->rarg, rti)) ||
			((join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT) && gpucol_set_keeps_rows(join->larg, rti));
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		if (gpucol_set_keeps_rows(lfirst(lc), rti))
			return true;
	}
	return false;
}

/* Take the conditions of WHERE that are on the table alone; the others stay. */
static List *
take_conditions(Query *query, Index rti)
{
	List	   *taken = NIL;
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(query->jointree->quals))
	{
		Relids		tables = pull_varnos(NULL, lfirst(lc));

		if (!checkExprHasSubLink(lfirst(lc)) && bms_membership(tables) == BMS_SINGLETON &&
			bms_is_member(rti, tables))
			taken = lappend(taken, lfirst(lc));
		else
			kept = lappend(kept, lfirst(lc));
	}
	query->jointree->quals = kept == NIL ? NULL : (Node *) make_ands_explicit(kept);
	return taken;
}

/* ---- the table as a subquery ---- */

static Expr *
make_count(void)
{
	Aggref	   *count = makeNode(Aggref);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = count->aggtransno = count->location = -1;
	return (Expr *) count;
}

void
gpucol_set_add_key(Query *query, TargetEntry *tle)
{
	SortGroupClause *key = makeNode(SortGroupClause);

	key->tleSortGroupRef = tle->ressortgroupref = tle->resno;
	get_sort_group_operators(exprType((Node *) tle->expr), false, false, false, &key->sortop, &key->eqop, NULL,
							 &key->hashable);
	query->groupClause = lappend(query->groupClause, key);
}

/* Have a query return one of its columns, a key of its groups. */
static void
add_key(Query *below, const RangeTblEntry *rte, Var *column)
{
	int			number = list_length(below->targetList) + 1;
	TargetEntry *tle = makeTargetEntry((Expr *) copyObject(column), number,
									   pstrdup(strVal(list_nth(rte->eref->colnames, column->varattno - 1))), false);

	below->targetList = lappend(below->targetList, tle);
	gpucol_set_add_key(below, tle);
}

/* SELECT columns, count(*) FROM table WHERE conditions GROUP BY columns */
static Query *
make_below(Reduction *r, RangeTblEntry *rte, List *conditions, bool weighted)
{
	Query	   *below = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *lc;

	rte = copyObject(rte);
	gpucol_compat_move_permissions(r->query, below, rte);
	below->commandType = CMD_SELECT;
	below->canSetTag = true;
	below->rtable = list_make1(rte);
	ref->rtindex = r->rti;
	below->jointree = makeFromExpr(list_make1(ref), conditions == NIL ? NULL :
								   (Node *) make_ands_explicit(copyObject(conditions)));
	foreach(lc, r->columns)
		add_key(below, rte, lfirst(lc));
	if (weighted)
		below->targetList = lappend(below->targetList,
									makeTargetEntry(make_count(), list_length(below->targetList) + 1,
													pstrdup("count"), false));
	below->hasAggs = weighted;
	below->hasSubLinks = r->query->hasSubLinks;
	below->hasRowSecurity = r->query->hasRowSecurity;
	ChangeVarNodes((Node *) below->jointree, r->rti, 1, 0);
	ChangeVarNodes((Node *) below->targetList, r->rti, 1, 0);
	ChangeVarNodes((Node *) rte->securityQuals, r->rti, 1, 0);
	ref->rtindex = 1;
	IncrementVarSublevelsUp((Node *) below, 1, 1);
	return below;
}

/* Have columns of the table be those of the subquery. */
static Node *
renumber(Node *node, Reduction *r)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		r->depth++;
		result = (Node *) query_tree_mutator((Query *) node, renumber, r, 0);
		r->depth--;
		return result;
	}
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == r->depth && ((Var *) node)->varno == (int) r->rti)
	{
		Var		   *var = copyObject((Var *) node);
		ListCell   *lc;

		foreach(lc, r->columns)
		{
			if (lfirst_node(Var, lc)->varattno == var->varattno)
			{
				var->varattno = foreach_current_index(lc) + 1;
				var->varnosyn = 0;
				var->varattnosyn = 0;
				return (Node *) var;
			}
		}
		/* Nobody asks for it, but a join lists it. */
		return (Node *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
	}
	return expression_tree_mutator(node, renumber, r);
}

/*
 * Have a query read distinct rows of its table; *query is another one then.  Returns the count of
 * rows, which is a column without `weighted` too, but none that there is; NULL if it stays.
 */
static Var *
reduce_table(Query *query, Index rti, bool weighted)
{
	Reduction	r = {.query = query,.rti = rti};
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	Node	   *conditions = query->jointree->quals;
	List	   *taken = take_conditions(query, rti);
	Query	   *below;

	query_tree_walker(query, collect_columns, &r, QTW_IGNORE_JOINALIASES);
	if (r.failed || !can_group(&r) ||
		share_of(rte, r.columns) > (engines_make(query, rti) ? MOST_KNOWN : MOST_DISTINCT))
	{
		if (r.reason != NULL && !asks_distinct(query))
			gpucol_reason_add(rte->relid, "set-returning function", "called for each row: %s", r.reason);
		query->jointree->quals = conditions;
		return NULL;
	}
	below = make_below(&r, rte, taken, weighted);
	lfirst(list_nth_cell(query->rtable, rti - 1)) = gpucol_make_subquery_entry(below, rte->eref->aliasname);
	*query = *query_tree_mutator(query, renumber, &r, 0);
	return makeVar(rti, list_length(r.columns) + 1, INT8OID, -1, InvalidOid, 0);
}

/* ---- tables in subqueries ---- */

bool
gpucol_set_is_plain(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasAggs && !query->hasWindowFuncs &&
		query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == NULL &&
		query->distinctClause == NIL && query->sortClause == NIL && query->limitCount == NULL &&
		query->limitOffset == NULL && query->setOperations == NULL && query->rowMarks == NIL &&
		query->cteList == NIL && !query->hasModifyingCTE;
}

/* Have columns be NULL that the query around does not read. */
static void
drop_columns(Query *query, List *columns)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		bool		read = expression_returns_set((Node *) tle->expr);
		ListCell   *lv;

		foreach(lv, columns)
			read |= lfirst_node(Var, lv)->varattno == tle->resno;
		if (!read)
			tle->expr = (Expr *) makeNullConst(exprType((Node *) tle->expr), exprTypmod((Node *) tle->expr),
											   exprCollation((Node *) tle->expr));
	}
}

Query *
gpucol_set_take_with(const Query *query, const RangeTblEntry *rte)
{
	CommonTableExpr *cte = NULL;
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		if (rte->ctelevelsup == 0 && strcmp(lfirst_node(CommonTableExpr, lc)->ctename, rte->ctename) == 0)
			cte = lfirst(lc);
	}
	if (cte == NULL || cte->cterefcount != 1 || cte->cterecursive || cte->ctematerialized == CTEMaterializeAlways ||
		!IsA(cte->ctequery, Query) || !gpucol_set_is_plain((Query *) cte->ctequery))
		return NULL;
	return copyObject((Query *) cte->ctequery);
}

/* See PostgreSQL's inline_cte(). */
void
gpucol_set_inline_with(Query *query, RangeTblEntry *rte, Query *below)
{
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			cte->cterefcount = 0;
	}
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = below;
	rte->ctename = NULL;
	rte->ctelevelsup = 0;
	rte->self_reference = false;
	rte->coltypes = rte->coltypmods = rte->colcollations = NIL;
}

/* The same of a table in a subquery. */
static Var *
reduce_subquery(Query *query, Index rti, bool sets, bool weighted)
{
	Reduction	r = {.query = query,.rti = rti};
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	Query	   *below = rte->rtekind == RTE_CTE ? gpucol_set_take_with(query, rte) : copyObject(rte->subquery);
	Var		   *weight;

	if (below == NULL || !gpucol_set_is_plain(below) || rte->security_barrier)
		return NULL;
	query_tree_walker(query, collect_columns, &r, QTW_IGNORE_JOINALIASES);
	if (r.failed)
		return NULL;
	drop_columns(below, r.columns);
	weight = reduce(below, sets, weighted);
	if (weight == NULL)
		return NULL;
	if (rte->rtekind == RTE_CTE)
		gpucol_set_inline_with(query, rte, below);
	rte->subquery = below;
	if (!weighted)
		return weight;
	below->targetList = lappend(below->targetList,
								makeTargetEntry((Expr *) weight, list_length(below->targetList) + 1,
												pstrdup("count"), false));
	rte->eref->colnames = lappend(rte->eref->colnames, makeString(pstrdup("count")));
	return makeVar(rti, list_length(below->targetList), INT8OID, -1, InvalidOid, 0);
}

/*
 * Have a query, or one in its FROM clause, read distinct rows of a table where a set-returning function
 * is called above it: here or, with `sets`, in the query around.  Returns how often a row is there, as a
 * column of the query, or NULL, and the query is as it was.
 */
static Var *
reduce(Query *query, bool sets, bool weighted)
{
	Var		   *weight = NULL;
	Relids		asked = tables_of_sets(query);
	int			tables = list_length(query->rtable);

	check_stack_depth();
	sets |= !bms_is_empty(asked);
	for (Index rti = 1; weight == NULL && rti <= (Index) tables; rti++)
	{
		RangeTblEntry *rte = rt_fetch(rti, query->rtable);

		if (!gpucol_set_keeps_rows((Node *) query->jointree, rti) ||
			(!bms_is_empty(asked) && !bms_is_member(rti, asked)))
			continue;
		if (rte->rtekind == RTE_RELATION && sets && !rte->lateral && rte->tablesample == NULL &&
			OidIsValid(gpucol_subquery_packed_part(rte)))
			weight = reduce_table(query, rti, weighted);
		else if ((rte->rtekind == RTE_SUBQUERY && !rte->lateral) || rte->rtekind == RTE_CTE)
			weight = reduce_subquery(query, rti, sets, weighted);
	}
	return weight;
}

/* ---- groups ---- */

typedef struct Weighing
{
	Var		   *weight;			/* NULL: see whether all can be weighed */
	int			depth;
	const char *reason;
} Weighing;

/* Why an aggregate of a query cannot be weighed. */
static bool
check_aggregates(Node *node, Weighing *weighing)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		weighing->depth++;
		query_tree_walker((Query *) node, check_aggregates, weighing, 0);
		weighing->depth--;
		return false;
	}
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == weighing->depth && weighing->reason == NULL)
		weighing->reason = gpucol_set_weights_decline((Aggref *) node);
	return expression_tree_walker(node, check_aggregates, weighing);
}

static Node *
weigh_aggregates(Node *node, Weighing *weighing)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		weighing->depth++;
		result = (Node *) query_tree_mutator((Query *) node, weigh_aggregates, weighing, 0);
		weighing->depth--;
		return result;
	}
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == weighing->depth)
	{
		Var		   *weight = copyObject(weighing->weight);

		weight->varlevelsup = weighing->depth;
		return gpucol_set_weights_apply(copyObject((Aggref *) node), weight);
	}
	return expression_tree_mutator(node, weigh_aggregates, weighing);
}

/*
 * Do distinct rows, each with how often it is there, suffice for a query?  One that is correlated stays
 * as it is, so that subquery.c can make a join of it.
 */
static bool
suffices(Query *query)
{
	Weighing	weighing = {.depth = 0};
	GpucolReferences around = gpucol_subquery_references((Node *) query);
	bool		grouped = query->hasAggs || query->groupClause != NIL;

	if (around.own || around.outer || around.farther || query->commandType != CMD_SELECT ||
		query->rowMarks != NIL || query->setOperations != NULL ||
		(!grouped && (query->distinctClause == NIL || query->hasDistinctOn || query->hasWindowFuncs)) ||
		contain_volatile_functions((Node *) query))
		return false;
	query_tree_walker(query, check_aggregates, &weighing, 0);
	if (weighing.reason != NULL && has_sets((Node *) query, NULL))
		gpucol_reason_add(gpucol_subquery_table(query), "set-returning function", "called for each row: %s",
						  weighing.reason);
	return weighing.reason == NULL;
}

/* Rewrite the queries of a statement, outermost first. */
static bool
rewrite(Node *node, int *count)
{
	Query	   *query = (Query *) node;
	Var		   *weight;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rewrite, count);
	check_stack_depth();
	if (suffices(query) && (weight = reduce(query, asks_distinct(query), query->hasAggs)) != NULL)
	{
		Weighing	weighing = {.weight = weight};

		if (query->hasAggs)
			*query = *query_tree_mutator(query, weigh_aggregates, &weighing, 0);
		(*count)++;
	}
	return query_tree_walker(query, rewrite, count, 0);
}

Query *
gpucol_set_groups(Query *parse)
{
	Query	   *copy;
	int			count = 0;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !is_useful((Node *) parse, NULL))
		return parse;
	copy = copyObject(parse);
	rewrite((Node *) copy, &count);
	return count > 0 ? copy : parse;
}
