/*-------------------------------------------------------------------------
 *
 * subquery_nearest.c
 *	  First rows of an order that compares with the row around: the nearest of a few.
 *
 *		FROM p, LATERAL (SELECT c.id FROM c WHERE c.g = 1 AND c.h > p.h ORDER BY abs(p.x - c.x), c.id LIMIT 1) c
 *
 * stays PostgreSQL's LATERAL, but what it reads of its tables becomes a WITH query of the whole statement, which is
 * computed once:
 *
 *		WITH n AS MATERIALIZED (SELECT c.id, c.h, c.x FROM c WHERE c.g = 1)
 *		FROM p, LATERAL (SELECT id, h, x FROM n WHERE n.h > p.h ORDER BY abs(p.x - n.x), n.id LIMIT 1) c
 *
 * The join's path may then be a pipe, which meets each row of p with those of n and keeps the first
 * (path_join_first.c).  It finds n by an entry of the range table beside the subquery, which no FROM clause
 * names.
 *
 * A sort key that engines do not compare, of columns of c alone (a text, an interval), becomes its rank among the
 * rows of n, a column of this.
 *
 * (SELECT min(abs(p.x - c.x)) FROM c) is the first row of the order by the aggregate's argument.
 *
 * A subquery in an expression becomes such a LATERAL behind LEFT JOIN.  Where its list has columns of the row
 * around, the list is put around the first rows, where PostgreSQL merges it with the query.
 *
 * WITH queries get their place and number when the whole statement has been rewritten: expressions that were
 * rewritten in vain leave none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "engine/engine.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* The WITH queries written since gpucol_nearest_begin. */
static List *written = NIL;

/* A subquery of first rows in the making. */
typedef struct Nearest
{
	Query	   *query;			/* as it was written */
	Query	   *rows;			/* the WITH query */
	List	   *columns;		/* TargetEntries of it */
	List	   *own;			/* conditions of it, */
	List	   *conditions;		/* and of pairs */
	List	   *windows;		/* WindowClauses of ranks, which are columns of it */
	bool		around;			/* its list has columns of the query around it */
	const char *reason;			/* why not, or NULL */
} Nearest;

/* ---- columns ---- */

/* The column of the WITH query that an expression over its tables is. */
static TargetEntry *
find_column(Nearest *nearest, Expr *expr, const char *name)
{
	TargetEntry *tle;
	ListCell   *lc;

	foreach(lc, nearest->columns)
	{
		tle = lfirst_node(TargetEntry, lc);
		if (equal(tle->expr, expr))
			return tle;
	}
	tle = makeTargetEntry(copyObject(expr), list_length(nearest->columns) + 1, pstrdup(name), false);
	nearest->columns = lappend(nearest->columns, tle);
	return tle;
}

/* An expression with the WITH query's columns in place of those of its tables. */
static Node *
read_rows(Node *node, Nearest *nearest)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0)
	{
		const Var  *var = (const Var *) node;

		if (var->varattno <= 0)
			nearest->reason = "its order or conditions have a system column or a whole row";
		return (Node *) makeVarFromTargetEntry(1, find_column(nearest, (Expr *) node, "value"));
	}
	if (IsA(node, SubLink))
		nearest->reason = "its order, conditions or list have a subquery";
	return expression_tree_mutator(node, read_rows, nearest);
}

/* ---- sort keys ---- */

/* Is a sort key its rank: of a type that no engine compares, of columns of the subquery alone, computed for any row? */
static bool
is_ranked(const Nearest *nearest, const SortGroupClause *clause, const TargetEntry *tle)
{
	Oid			type = exprType((Node *) tle->expr);
	GpucolReferences found = gpucol_subquery_references((Node *) tle->expr);
	Expr	   *value = IsA(tle->expr, CollateExpr) ? ((CollateExpr *) tle->expr)->arg : tle->expr;

	return (!get_typbyval(type) || type_is_enum(type)) && type != NUMERICOID && found.own && !found.outer &&
		!found.farther && gpucol_harmless_expr(nearest->query, value) == NULL &&
		gpucol_harmless_order(clause->sortop, type, exprCollation((Node *) tle->expr)) &&
		gpucol_subquery_may_call(F_RANK_);
}

/* The rank of a sort key among the rows of the WITH query, a column of it. */
static Expr *
rank_key(Nearest *nearest, const SortGroupClause *by, const TargetEntry *key)
{
	WindowClause *window = makeNode(WindowClause);
	SortGroupClause *clause = copyObject((SortGroupClause *) by);
	WindowFunc *rank = makeNode(WindowFunc);
	TargetEntry *tle = find_column(nearest, key->expr, "key");

	window->winref = list_length(nearest->windows) + 1;
	window->frameOptions = FRAMEOPTION_DEFAULTS;
	clause->tleSortGroupRef = tle->ressortgroupref = Max(tle->ressortgroupref, (Index) tle->resno);
	window->orderClause = list_make1(clause);
	nearest->windows = lappend(nearest->windows, window);
	rank->winfnoid = F_RANK_;
	rank->wintype = INT8OID;
	rank->winref = window->winref;
	rank->location = -1;
	return (Expr *) makeVarFromTargetEntry(1, find_column(nearest, (Expr *) rank, "rank"));
}

/* The sort keys, over columns of the WITH query. */
static List *
read_keys(Nearest *nearest)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, nearest->query->sortClause)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		const TargetEntry *tle = get_sortgroupclause_tle((SortGroupClause *) clause, nearest->query->targetList);

		keys = lappend(keys, is_ranked(nearest, clause, tle) ? rank_key(nearest, clause, tle) :
					   (Expr *) read_rows((Node *) tle->expr, nearest));
	}
	return keys;
}

/* How a clause sorts by a key in place of its own: ranks ascend, without NULLs. */
static SortGroupClause *
sort_by(const SortGroupClause *clause, const Expr *own, Node *key)
{
	SortGroupClause *made = copyObject((SortGroupClause *) clause);

	if (exprType(key) == exprType((Node *) own))
		return made;
	get_sort_group_operators(INT8OID, true, true, false, &made->sortop, &made->eqop, NULL, &made->hashable);
	made->nulls_first = false;
	return made;
}

/* ---- the parts of the subquery ---- */

/* Share its conditions out between the WITH query and the pairs. */
static void
share_conditions(Nearest *nearest)
{
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(nearest->query->jointree->quals))
	{
		GpucolReferences found = gpucol_subquery_references(lfirst(lc));

		if (!found.outer && !found.farther)
			nearest->own = lappend(nearest->own, lfirst(lc));
		else
			nearest->conditions = lappend(nearest->conditions, lfirst(lc));
		if (found.farther)
			nearest->reason = "it is correlated with more than the query around it";
	}
}

/* Have its list be columns of the WITH query, unless it has others. */
static void
take_list(Nearest *nearest)
{
	ListCell   *lc;

	foreach(lc, nearest->query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		GpucolReferences found = gpucol_subquery_references((Node *) tle->expr);

		nearest->around |= !tle->resjunk && found.outer;
		if (found.farther)
			nearest->reason = "it is correlated with more than the query around it";
	}
	foreach(lc, nearest->around ? NIL : nearest->query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			nearest->columns = lappend(nearest->columns,
									   makeTargetEntry(copyObject(tle->expr), list_length(nearest->columns) + 1,
													   pstrdup(tle->resname == NULL ? "value" : tle->resname), false));
	}
}

/* ---- least and greatest values ---- */

/* The only aggregate of a query that has nothing else, if it is a least or greatest value by an order, or NULL. */
static const Aggref *
find_extreme(const Query *query, Oid *operator)
{
	const Aggref *agg = list_length(query->targetList) != 1 ? NULL :
		(const Aggref *) linitial_node(TargetEntry, query->targetList)->expr;
	HeapTuple	tuple;

	if (agg == NULL || !IsA(agg, Aggref) || agg->agglevelsup != 0 || list_length(agg->args) != 1 ||
		agg->aggorder != NIL || agg->aggfilter != NULL || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->hasWindowFuncs || query->hasTargetSRFs || query->sortClause != NIL ||
		query->distinctClause != NIL || query->limitCount != NULL || query->limitOffset != NULL)
		return NULL;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	*operator = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	return OidIsValid(*operator) ? agg : NULL;
}

Query *
gpucol_nearest_first(Query *query)
{
	Oid			operator;
	const Aggref *agg = find_extreme(query, &operator);
	Expr	   *value = agg == NULL ? NULL : linitial_node(TargetEntry, agg->args)->expr;
	Oid			type = exprType((Node *) value);
	SortGroupClause *clause;
	Query	   *first;
	bool		reverse;

	/* values that are equal look the same then */
	if (value == NULL || type == NUMERICOID || !get_typbyval(type) || !gpucol_subquery_may_call(agg->aggfnoid))
		return query;
	first = copyObject(query);
	clause = makeNode(SortGroupClause);
	clause->tleSortGroupRef = 1;
	clause->sortop = operator;
	clause->eqop = get_equality_op_for_ordering_op(operator, &reverse);
	first->targetList = list_make1(makeTargetEntry(copyObject(value), 1, pstrdup("value"), false));
	linitial_node(TargetEntry, first->targetList)->ressortgroupref = 1;
	first->sortClause = list_make1(clause);
	first->limitCount = (Node *) gpucol_make_int8(1);
	first->limitOption = LIMIT_OPTION_COUNT;
	first->hasAggs = false;
	return first;
}

/* ---- the parts of the subquery ---- */

bool
gpucol_nearest_is(const Query *query)
{
	ListCell   *lc;

	if (gpucol_first_range(query, NULL) == 0)
		return false;
	foreach(lc, query->sortClause)
	{
		if (gpucol_subquery_references((Node *) get_sortgroupclause_tle(lfirst(lc), query->targetList)->expr).outer)
			return true;
	}
	return false;
}

/* Does a query read WITH queries around it? */
static bool
reads_with(Node *node, int *depth)
{
	bool		found = false;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE && (int) ((RangeTblEntry *) node)->ctelevelsup > *depth;
	if (IsA(node, Query))
	{
		(*depth)++;
		found = query_tree_walker((Query *) node, reads_with, depth, QTW_EXAMINE_RTES_BEFORE);
		(*depth)--;
		return found;
	}
	return expression_tree_walker(node, reads_with, depth);
}

/* ---- what is made of it ---- */

/* Make the WITH query, whose name is still to be given. */
static CommonTableExpr *
make_with(Nearest *nearest)
{
	CommonTableExpr *cte = makeNode(CommonTableExpr);
	Query	   *rows = copyObject(nearest->query);
	ListCell   *lc;

	rows->targetList = copyObject(nearest->columns);
	rows->sortClause = NIL;
	rows->limitCount = rows->limitOffset = NULL;
	rows->windowClause = nearest->windows;
	rows->hasWindowFuncs = nearest->windows != NIL;
	rows->jointree->quals = nearest->own == NIL ? NULL : (Node *) make_ands_explicit(copyObject(nearest->own));
	nearest->rows = rows;
	cte->ctequery = (Node *) rows;
	cte->ctematerialized = CTEMaterializeAlways;
	cte->cterefcount = 2;
	cte->location = -1;
	foreach(lc, nearest->columns)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		cte->ctecolnames = lappend(cte->ctecolnames, makeString(tle->resname));
		cte->ctecoltypes = lappend_oid(cte->ctecoltypes, exprType((Node *) tle->expr));
		cte->ctecoltypmods = lappend_int(cte->ctecoltypmods, exprTypmod((Node *) tle->expr));
		cte->ctecolcollations = lappend_oid(cte->ctecolcollations, exprCollation((Node *) tle->expr));
	}
	return cte;
}

/* An entry of the range table that reads it; its name says which until it has one. */
static RangeTblEntry *
make_entry(const CommonTableExpr *cte, bool in_from)
{
	RangeTblEntry *rte = gpucol_make_entry(RTE_CTE, cte->ctename, copyObject(cte->ctecolnames));

	rte->ctename = pstrdup(cte->ctename);
	rte->coltypes = list_copy(cte->ctecoltypes);
	rte->coltypmods = list_copy(cte->ctecoltypmods);
	rte->colcollations = list_copy(cte->ctecolcollations);
	rte->inFromCl = in_from;
	return rte;
}

/* A query over one entry of a range table. */
static Query *
make_query(RangeTblEntry *rte)
{
	Query	   *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	return query;
}

/* The first rows themselves: all columns of the WITH query, then the sort keys. */
static Query *
make_firsts(Nearest *nearest, const CommonTableExpr *cte, List *keys, List *conditions)
{
	Query	   *firsts = make_query(make_entry(cte, true));
	ListCell   *lc;

	foreach(lc, nearest->columns)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		firsts->targetList = lappend(firsts->targetList,
									 makeTargetEntry((Expr *) makeVarFromTargetEntry(1, tle), tle->resno,
													 pstrdup(tle->resname), false));
	}
	foreach(lc, nearest->query->sortClause)
	{
		const SortGroupClause *own = lfirst_node(SortGroupClause, lc);
		SortGroupClause *clause = sort_by(own, get_sortgroupclause_tle((SortGroupClause *) own,
																	   nearest->query->targetList)->expr,
										  list_nth(keys, foreach_current_index(lc)));
		TargetEntry *tle = makeTargetEntry(list_nth(keys, foreach_current_index(lc)),
										   list_length(firsts->targetList) + 1, NULL, true);

		clause->tleSortGroupRef = tle->ressortgroupref = foreach_current_index(lc) + 1;
		firsts->targetList = lappend(firsts->targetList, tle);
		firsts->sortClause = lappend(firsts->sortClause, clause);
	}
	firsts->limitCount = copyObject(nearest->query->limitCount);
	firsts->limitOffset = copyObject(nearest->query->limitOffset);
	firsts->limitOption = LIMIT_OPTION_COUNT;
	firsts->jointree->quals = conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions);
	return firsts;
}

/* The list of the subquery, around the first rows. */
static Query *
put_around(Nearest *nearest, Query *firsts, const CommonTableExpr *cte, List *list)
{
	Query	   *query;
	ListCell   *lc;

	IncrementVarSublevelsUp((Node *) firsts, 1, 1);
	query = make_query(gpucol_make_subquery_entry(firsts, "nearest"));
	query->rtable = lappend(query->rtable, make_entry(cte, false));
	foreach(lc, nearest->query->targetList)
	{
		TargetEntry *tle = copyObject(lfirst_node(TargetEntry, lc));

		if (tle->resjunk)
			continue;
		tle->expr = list_nth(list, list_length(query->targetList));
		tle->ressortgroupref = 0;
		query->targetList = lappend(query->targetList, tle);
	}
	return query;
}

/* Its sort keys, its conditions on pairs and its list, over the columns of the WITH query, which get complete. */
static void
read_parts(Nearest *nearest, List **keys, List **conditions, List **list)
{
	const Query *query = nearest->query;
	ListCell   *lc;

	*conditions = *list = NIL;
	*keys = read_keys(nearest);
	foreach(lc, nearest->conditions)
		*conditions = lappend(*conditions, read_rows(lfirst(lc), nearest));
	foreach(lc, nearest->around ? query->targetList : NIL)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			*list = lappend(*list, read_rows((Node *) lfirst_node(TargetEntry, lc)->expr, nearest));
	}
}

/* A gpucol table of the query around, or else of the subquery. */
static Oid
nearest_table(Query *outer, Query *query)
{
	Oid			relid = gpucol_subquery_table(outer);

	return OidIsValid(relid) ? relid : gpucol_subquery_table(query);
}

/* Why a subquery is none of first rows that can be found so, or NULL. */
static const char *
decline(const Query *outer, Query *query)
{
	const char *reason = gpucol_grouped_decline(query, gpucol_first_rows(query));
	int			depth = -1;

	if (reason != NULL)
		return reason;
	if (gpucol_first_range(query, NULL) > GPUCOL_MOST_FIRST)
		return "it asks for more first rows than an engine keeps";
	if (list_length(query->sortClause) > GPUCOL_FIRST_KEYS)
		return "its order has too many keys";
	if (reads_with((Node *) query, &depth))
		return "it reads a WITH query around it";
	if (!OidIsValid(nearest_table((Query *) outer, query)))
		return "no gpucol table is read";
	return NULL;
}

/* What takes the place of a subquery, or NULL with the reason.  nulled: behind an outer join. */
static Query *
write_query(Query *outer, Query *query, bool nulled, const char **reason)
{
	Nearest		nearest = {.query = query};
	CommonTableExpr *cte;
	Query	   *firsts;
	GpucolReferences left;
	List	   *keys;
	List	   *conditions;
	List	   *list;

	*reason = decline(outer, query);
	if (*reason != NULL)
		return NULL;
	share_conditions(&nearest);
	take_list(&nearest);
	if (nearest.around && nulled && gpucol_compat_marks_lateral)
		nearest.reason = "its list has columns of the query around it, which this PostgreSQL takes for the outer join's";
	read_parts(&nearest, &keys, &conditions, &list);
	cte = make_with(&nearest);
	left = gpucol_subquery_references((Node *) nearest.rows);
	if (nearest.reason == NULL && (left.own || left.outer || left.farther))
		nearest.reason = "it is correlated in other places than conditions of WHERE, its order and its list";
	*reason = nearest.reason;
	if (nearest.reason != NULL)
		return NULL;
	cte->ctename = psprintf("nearest %p", cte);
	written = lappend(written, cte);
	firsts = make_firsts(&nearest, cte, keys, conditions);
	if (nearest.around)
		return put_around(&nearest, firsts, cte, list);
	outer->rtable = lappend(outer->rtable, make_entry(cte, false));
	return firsts;
}

bool
gpucol_nearest_lateral(Query *query, Index rti)
{
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	Oid			relid = gpucol_subquery_table(query);
	GpucolReferences found = gpucol_subquery_references((Node *) rte->subquery);
	const char *reason = NULL;
	Query	   *made = NULL;
	ListCell   *lc;

	if (!OidIsValid(relid))
		return false;
	if (found.outer || found.farther)
		reason = "it is correlated with more than the query around it";
	else if (rte->security_barrier || gpucol_subquery_has_whole_row(query, rti))
		reason = "it is read as whole rows, or a security barrier";
	else
		made = write_query(query, rte->subquery,
						   gpucol_subquery_is_padded((Node *) query->jointree, (int) rti, false), &reason);
	if (made == NULL)
	{
		gpucol_reason_add(relid, "LATERAL", "%s", reason);
		return false;
	}
	rte->subquery = made;
	foreach(lc, list_copy_tail(made->targetList, list_length(rte->eref->colnames)))
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			rte->eref->colnames = lappend(rte->eref->colnames, makeString(lfirst_node(TargetEntry, lc)->resname));
	}
	return true;
}

/* Why a subquery may not be executed for rows that do not ask for it, or NULL. */
static const char *
find_harm(Query *outer, Query *query)
{
	Query	   *rows = copyObject(query);

	rows->limitCount = rows->limitOffset = NULL;
	rows->sortClause = NIL;
	return gpucol_harmless_query(rows, outer, false);
}

Node *
gpucol_nearest_scalar(Query *query, SubLink *sublink, bool asked)
{
	Query	   *inner = gpucol_nearest_first(castNode(Query, sublink->subselect));
	GpucolGroupedJoin join = {.outer = query,.relid = nearest_table(query, inner)};
	GpucolReferences found = gpucol_subquery_references((Node *) inner);
	TargetEntry *value;

	if (!OidIsValid(join.relid))
		return NULL;
	if (found.outer || found.farther)
		join.reason = "it is correlated with more than the query around it";
	else if (!asked && (join.reason = find_harm(query, inner)) != NULL)
		join.reason = psprintf("it might not be executed for each row, and %s", join.reason);
	else
		join.inner = write_query(query, inner, true, &join.reason);
	if (join.reason != NULL)
	{
		gpucol_reason_add(join.relid, "subquery", "%s", join.reason);
		return NULL;
	}
	join.rti = list_length(query->rtable) + 1;
	join.join_rti = join.rti + 1;
	gpucol_grouped_add_join(&join);
	rt_fetch(join.rti, query->rtable)->lateral = true;
	value = linitial_node(TargetEntry, join.inner->targetList);
	return (Node *) gpucol_grouped_var(&join, value, true);
}

/* ---- which values are asked for ---- */

/* Collect the columns of a table that an expression reads wherever it is evaluated. */
typedef struct Asking
{
	Index		rti;
	Bitmapset  *columns;
} Asking;

static bool
collect_asked(Node *node, Asking *asking)
{
	if (node == NULL || IsA(node, SubLink) || gpucol_nearest_is_choice(node))
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varno == (int) asking->rti && var->varlevelsup == 0 && var->varattno > 0)
			asking->columns = bms_add_member(asking->columns, var->varattno);
		return false;
	}
	return expression_tree_walker(node, collect_asked, asking);
}

bool
gpucol_nearest_is_choice(const Node *node)
{
	if (IsA(node, BoolExpr))
		return ((const BoolExpr *) node)->boolop != NOT_EXPR;
	return IsA(node, CaseExpr) || IsA(node, CoalesceExpr) ||
		(IsA(node, Aggref) && ((const Aggref *) node)->aggfilter != NULL);
}

bool
gpucol_nearest_takes_all(const Query *query)
{
	return query->setOperations == NULL && !query->hasTargetSRFs &&
		((query->limitCount == NULL && query->limitOffset == NULL) || query->hasAggs || query->groupClause != NIL);
}

/* Are all rows of a query's FROM clause that pass its conditions read, of one table or query? */
static bool
reads_all_rows(const Query *query)
{
	return list_length(query->jointree->fromlist) == 1 && IsA(linitial(query->jointree->fromlist), RangeTblRef) &&
		gpucol_nearest_takes_all(query);
}

Bitmapset *
gpucol_nearest_asked(const Query *query, Bitmapset *asked)
{
	return reads_all_rows(query) ? asked : NULL;
}

Bitmapset *
gpucol_nearest_asked_below(const Query *query, Index rti, Bitmapset *asked)
{
	Asking		asking = {.rti = rti};
	ListCell   *lc;

	if (!reads_all_rows(query) || linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex != (int) rti)
		return NULL;
	foreach(lc, (List *) gpucol_compat_write_groups(unconstify(Query *, query), (Node *) query->targetList))
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (bms_is_member(tle->resno, asked))
			collect_asked((Node *) tle->expr, &asking);
	}
	return asking.columns;
}

/* ---- the statement ---- */

List *
gpucol_nearest_begin(void)
{
	List	   *before = written;

	written = NIL;
	return before;
}

void
gpucol_nearest_end(List *before)
{
	written = before;
}

/* A name that no WITH query of a statement has. */
static char *
make_name(const Query *statement)
{
	int			number = 1;
	char	   *name = pstrdup("nearest");

	while (gpucol_harmless_find_cte(statement, name) != NULL)
		name = psprintf("nearest_%d", ++number);
	return name;
}

/* One WITH query while it gets its place. */
typedef struct Placing
{
	CommonTableExpr *cte;
	char	   *name;
	int			depth;			/* of the query at hand */
	int			found;			/* entries that read it */
} Placing;

static bool
place_entries(Node *node, Placing *placing)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_CTE && strcmp(rte->ctename, placing->cte->ctename) == 0)
		{
			rte->ctename = pstrdup(placing->name);
			rte->eref->aliasname = pstrdup(placing->name);
			rte->ctelevelsup = placing->depth;
			placing->found++;
		}
		return false;
	}
	if (IsA(node, Query))
	{
		placing->depth++;
		query_tree_walker((Query *) node, place_entries, placing, QTW_EXAMINE_RTES_BEFORE);
		placing->depth--;
		return false;
	}
	return expression_tree_walker(node, place_entries, placing);
}

void
gpucol_nearest_place(Query *statement)
{
	/* of those in one another the inner ones were written first */
	for (int i = list_length(written) - 1; i >= 0; i--)
	{
		Placing		placing = {.cte = list_nth_node(CommonTableExpr, written, i),.depth = -1};

		placing.name = make_name(statement);
		place_entries((Node *) statement, &placing);
		if (placing.found == 0)
			continue;
		placing.cte->ctename = placing.name;
		placing.cte->cterefcount = placing.found;
		statement->cteList = lcons(placing.cte, statement->cteList);
	}
}
