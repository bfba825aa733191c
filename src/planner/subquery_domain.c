/*-------------------------------------------------------------------------
 *
 * subquery_domain.c
 *	  Subqueries that other comparisons than equalities correlate.
 *
 * (SELECT agg(b.y) FROM b WHERE b.k = a.k AND b.t > a.t) depends on a's k and t alone.  The values that they have in
 * the rows of a, each once, are the subquery's domain, and become a table of it,
 *
 *		(SELECT agg(b.y) FROM b, (SELECT DISTINCT a.k, a.t FROM a) d
 *		 WHERE b.k = d.k AND b.t > d.t AND d.k = a.k AND d.t = a.t)
 *
 * which equalities alone correlate: it is grouped by d.k and d.t, and joined (subquery_scalar.c,
 * subquery_lateral.c).  This is the unnesting of arbitrary queries (Neumann, Kemper: BTW 2015), where the domain is
 * of one entry of the outer range table: that which the comparisons refer to.
 *
 *	  columns			the widest parts of the comparisons that refer to nothing but that entry and may be computed
 *						for all its rows; and, so that the join has keys, of equalities what they compare with
 *	  rows				those that pass the outer query's own conditions (subquery_restrict.c): others are no rows
 *						of its result.  They must be the same when they are read again, and none may be padded
 *						by an outer join
 *	  NULL				as a value of a column makes no strict comparison true, so that no row is found; a row of the
 *						outer query finds no group of it either.  Where it may (OR, IS DISTINCT FROM), the
 *						columns that are compared say what stands for NULL, and whether it is
 *	  statements		that change rows have none: the newest version of a row may have other values
 *	  equal values		are one of the domain, so they must be the same in all respects, or be compared by their
 *						type's order only
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "columnar/collation.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* A domain in the making. */
typedef struct Domain
{
	GpucolGroupedJoin *join;
	Index		table;			/* of the outer query, whose rows have the values; 0: not known yet */
	Index		rti;			/* the domain's in the subquery */
	List	   *values;			/* its columns, as expressions of the subquery over outer columns */
	Bitmapset  *met;			/* those that the condition at hand has, by number from 0 on; */
	Bitmapset  *nullable;		/* those of which NULL is a value like others */
} Domain;

/* ---- what is compared ---- */

/* Note which entry comparisons refer to; false if there is more than one. */
static bool
note_table(Domain *domain, Node *condition)
{
	int			table;

	if (!bms_get_singleton_member(pull_varnos_of_level(NULL, condition, 1), &table))
		domain->join->reason = "it is compared with columns of several tables";
	else if (domain->table == 0)
		domain->table = (Index) table;
	else if (domain->table != (Index) table)
		domain->join->reason = "comparisons with columns of several tables correlate it";
	return domain->join->reason == NULL;
}

/* Is a condition an equality of something of the subquery and something outer? */
static bool
is_equality(Node *condition)
{
	OpExpr	   *op = (OpExpr *) condition;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno) ||
		!op_mergejoinable(op->opno, exprType(linitial(op->args))))
		return false;
	for (int i = 0; i < 2; i++)
	{
		GpucolReferences own = gpucol_subquery_references(list_nth(op->args, i));
		GpucolReferences outer = gpucol_subquery_references(list_nth(op->args, 1 - i));

		if (own.own && !own.outer && !own.farther && !outer.own && outer.outer && !outer.farther)
			return true;
	}
	return false;
}

static bool
is_comparison(Node *condition)
{
	GpucolReferences found = gpucol_subquery_references(condition);

	return found.own && found.outer && !is_equality(condition);
}

/* ---- its columns ---- */

/* May a value be computed for all rows of the domain's table, and be one of the domain? */
static bool
may_be_value(const Domain *domain, Node *node)
{
	GpucolReferences found = gpucol_subquery_references(node);
	TypeCacheEntry *type = lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	int			table;

	return !found.own && found.outer && !found.farther && !checkExprHasSubLink(node) &&
		bms_get_singleton_member(pull_varnos_of_level(NULL, node, 1), &table) && (Index) table == domain->table &&
		!contain_volatile_functions(node) && OidIsValid(type->eq_opr) && OidIsValid(type->lt_opr) &&
		gpucol_subquery_may_join(type->eq_opr, type->type_id, exprCollation(node)) &&
		gpucol_harmless_column(domain->join->outer, (Expr *) gpucol_grouped_move_out(node)) == NULL;
}

/* The number of a value among the domain's columns. */
static int
value_number(Domain *domain, Node *value)
{
	ListCell   *lc;

	foreach(lc, domain->values)
	{
		if (equal(lfirst(lc), value))
			return foreach_current_index(lc);
	}
	domain->values = lappend(domain->values, copyObject(value));
	return list_length(domain->values) - 1;
}

/* The domain's column of a value. */
static Var *
domain_column(Domain *domain, Node *value)
{
	int			number = value_number(domain, value);

	domain->met = bms_add_member(domain->met, number);
	return makeVar((int) domain->rti, number + 1, exprType(value), exprTypmod(value), exprCollation(value), 0);
}

/* A sum that may be an error near its type's ends, as one that is not (subquery_within.c), or NULL. */
static Node *
sum_within(Domain *domain, Node *node)
{
	Node	   *within;

	if (gpucol_subquery_references(node).own ||
		!may_be_value(domain, (Node *) gpucol_harmless_within_value((Expr *) node)))
		return NULL;
	within = gpucol_grouped_within(domain->join, gpucol_grouped_move_out(node));
	if (within != NULL)
		IncrementVarSublevelsUp(within, 1, 0);
	return within;
}

/* Have the domain's columns take the place of what is outer. */
static Node *
read_domain(Node *node, Domain *domain)
{
	Node	   *within;

	if (node == NULL || IsA(node, List))
		return expression_tree_mutator(node, read_domain, domain);
	if (!gpucol_subquery_references(node).outer)
		return node;
	if (may_be_value(domain, node))
		return (Node *) domain_column(domain, node);
	within = sum_within(domain, node);
	if (within != NULL)
		return (Node *) domain_column(domain, within);
	if (!IsA(node, Var) && !IsA(node, SubLink))
		return expression_tree_mutator(node, read_domain, domain);
	domain->join->reason = IsA(node, Var) ? "it is compared with a column that cannot be joined" :
		"another subquery is correlated with it and the query around it";
	return node;
}

/* Is an operator one of a type's order? */
static bool
is_of_order(Oid opno, Oid type)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	return OidIsValid(family) && op_in_opfamily(opno, family);
}

static bool
is_column(const Domain *domain, const Node *node)
{
	return IsA(node, Var) && ((const Var *) node)->varlevelsup == 0 && ((const Var *) node)->varno == (int) domain->rti;
}

/* Does anything see how equal values of the domain differ? */
static bool
sees_differences(Node *node, Domain *domain)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return is_column(domain, node) &&
			!gpucol_equal_by_bytes(((Var *) node)->vartype, ((Var *) node)->varcollid);
	if (IsA(node, OpExpr))
	{
		ListCell   *lc;

		foreach(lc, ((OpExpr *) node)->args)
		{
			Node	   *arg = lfirst(lc);

			if (!(is_column(domain, arg) && is_of_order(((OpExpr *) node)->opno, exprType(arg))) &&
				sees_differences(arg, domain))
				return true;
		}
		return false;
	}
	return expression_tree_walker(node, sees_differences, domain);
}

/* Does an equality compare with what may be a column of the domain? */
static bool
is_with_value(const Domain *domain, Node *equality)
{
	ListCell   *lc;

	foreach(lc, ((OpExpr *) equality)->args)
	{
		if (gpucol_subquery_references(lfirst(lc)).outer)
			return may_be_value(domain, lfirst(lc));
	}
	return false;
}

/* A condition of the subquery over the domain's columns; another reads none. */
static Node *
take_condition(Domain *domain, Node *condition)
{
	bool		equality = is_equality(condition);

	if (equality ? !is_with_value(domain, condition) : !is_comparison(condition))
		return condition;
	domain->met = NULL;
	condition = read_domain(condition, domain);
	if (contain_nonstrict_functions(condition))
		domain->nullable = bms_add_members(domain->nullable, domain->met);
	if (domain->join->reason == NULL && sees_differences(condition, domain))
		domain->join->reason = "a comparison that correlates it may tell equal values apart";
	return condition;
}

/* ---- the table ---- */

/* SELECT DISTINCT values FROM the outer query's table WHERE its own conditions, two levels below that query. */
static Query *
make_domain(Domain *domain)
{
	List	   *columns = NIL;
	Query	   *query;
	ListCell   *lc;

	foreach(lc, domain->values)
		columns = lappend(columns, gpucol_grouped_move_out(lfirst(lc)));
	query = gpucol_subquery_asked(domain->join->outer, domain->table, columns);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		TypeCacheEntry *type = lookup_type_cache(exprType((Node *) tle->expr), TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
		SortGroupClause *clause = makeNode(SortGroupClause);

		clause->tleSortGroupRef = tle->ressortgroupref = (Index) tle->resno;
		clause->eqop = type->eq_opr;
		clause->sortop = type->lt_opr;
		clause->hashable = op_hashjoinable(type->eq_opr, type->type_id);
		query->distinctClause = lappend(query->distinctClause, clause);
	}
	IncrementVarSublevelsUp((Node *) query, 2, 1);
	if (domain->join->domain_cte != NULL)
		linitial_node(RangeTblEntry, query->rtable)->ctelevelsup = 2;
	return query;
}

/* The domain's column equals what it has the values of. */
static Node *
make_equality(const Domain *domain, int number)
{
	Node	   *value = list_nth(domain->values, number);
	Oid			type = exprType(value);
	Var		   *column = makeVar((int) domain->rti, number + 1, type, exprTypmod(value), exprCollation(value), 0);
	OpExpr	   *equality = (OpExpr *) make_opclause(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, BOOLOID, false,
													(Expr *) column, (Expr *) copyObject(value), InvalidOid,
													exprCollation(value));

	set_opfuncid(equality);
	return (Node *) equality;
}

/* Does a query read WITH queries? */
static bool
reads_with(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_with, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads_with, context);
}

/* Some value of a type, to stand for NULL beside a column that says so; NULL if none is known. */
static Const *
some_value(Oid type, Oid collation)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case DATEOID:
			return makeConst(type, -1, InvalidOid, get_typlen(type), (Datum) 0, false, true);
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return makeConst(type, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL);
		case FLOAT8OID:
			return makeConst(type, -1, InvalidOid, sizeof(float8), Float8GetDatum(0), false, FLOAT8PASSBYVAL);
		case NUMERICOID:
			return makeConst(type, -1, InvalidOid, -1, NumericGetDatum(int64_to_numeric(0)), false, false);
		case TEXTOID:
		case VARCHAROID:
			return makeConst(type, -1, collation, -1, PointerGetDatum(cstring_to_text("")), false, false);
		default:
			return NULL;
	}
}

/* The equalities that a column of the domain makes with the outer query; NIL, and a reason. */
static List *
make_equalities(Domain *domain, int number)
{
	Node	   *value = list_nth(domain->values, number);
	Const	   *some;
	int			is_null;
	int			shown;

	if (!bms_is_member(number, domain->nullable))
		return list_make1(make_equality(domain, number));
	some = some_value(exprType(value), exprCollation(value));
	if (some == NULL)
	{
		domain->join->reason = "a comparison that correlates it may be true of NULL";
		return NIL;
	}
	shown = value_number(domain, (Node *) gpucol_make_coalesce((Expr *) copyObject(value), some));
	is_null = value_number(domain, (Node *) gpucol_make_null_test((Expr *) copyObject(value), IS_NULL));
	return list_make2(make_equality(domain, shown), make_equality(domain, is_null));
}

/* Has a query an aggregate of floats, whose last digits may depend on who computes it? */
static bool
sums_floats(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && (((Aggref *) node)->aggtype == FLOAT4OID || ((Aggref *) node)->aggtype == FLOAT8OID))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, sums_floats, context, 0);
	return expression_tree_walker(node, sums_floats, context);
}

/* Has a query the same rows each time that it is computed? */
static bool
is_same_again(Query *query)
{
	return !gpucol_with_has_choice((Node *) query, NULL) && !contain_volatile_functions((Node *) query) &&
		!sums_floats((Node *) query, NULL);
}

/*
 * Can the rows of the table be read once more, and are they those that the subquery is executed for?  A join may pad
 * them with NULLs, which the table has not.
 */
static bool
can_read_again(Domain *domain)
{
	Query	   *outer = domain->join->outer;
	const RangeTblEntry *rte = rt_fetch(domain->table, outer->rtable);
	CommonTableExpr *cte;

	if (rte->lateral || gpucol_subquery_is_padded((Node *) outer->jointree, (int) domain->table, false))
		return false;
	if (rte->rtekind == RTE_SUBQUERY)
		return !reads_with((Node *) rte->subquery, NULL) && is_same_again(rte->subquery);
	if (rte->rtekind != RTE_CTE || rte->ctelevelsup > 0)
		return rte->rtekind == RTE_RELATION && rte->tablesample == NULL;
	cte = gpucol_harmless_find_cte(outer, rte->ctename);
	if (cte == NULL || (cte->ctematerialized != CTEMaterializeAlways && !is_same_again(castNode(Query, cte->ctequery))))
		return false;
	/* its readers are counted when the join is made */
	domain->join->domain_cte = cte;
	return true;
}

void
gpucol_domain_count(const GpucolGroupedJoin *join)
{
	if (join->domain_cte != NULL)
		join->domain_cte->cterefcount++;
}

/*
 * Have join->inner, with a table more, be correlated by equalities; false, and it is as it was: no other comparisons
 * correlate it, or join->reason says why not.
 */
static bool
add_domain(GpucolGroupedJoin *join)
{
	Query	   *inner = join->inner;
	List	   *conditions = gpucol_grouped_split(inner);
	Domain		domain = {.join = join,.rti = list_length(inner->rtable) + 1};
	List	   *all = NIL;
	int			ncolumns;
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *lc;

	foreach(lc, conditions)
	{
		if (is_comparison(lfirst(lc)) && !note_table(&domain, lfirst(lc)))
			return false;
	}
	if (domain.table == 0 || join->outer->commandType != CMD_SELECT || !can_read_again(&domain))
		return false;
	foreach(lc, conditions)
		all = lappend(all, take_condition(&domain, lfirst(lc)));
	ncolumns = list_length(domain.values);
	for (int i = 0; i < ncolumns && join->reason == NULL; i++)
		all = list_concat(all, make_equalities(&domain, i));
	if (join->reason != NULL)
		return false;
	inner->rtable = lappend(inner->rtable, gpucol_make_subquery_entry(make_domain(&domain), "domain"));
	ref->rtindex = (int) domain.rti;
	inner->jointree->fromlist = lappend(inner->jointree->fromlist, ref);
	inner->jointree->quals = (Node *) make_ands_explicit(all);
	join->has_domain = true;
	return true;
}

bool
gpucol_domain_begin_again(GpucolGroupedJoin *failed, GpucolGroupedJoin begun)
{
	if (failed->collects)
		return false;
	begun.raised_table = 0;
	if (!add_domain(&begun))
	{
		failed->reason = begun.reason != NULL ? begun.reason : failed->reason;
		return false;
	}
	*failed = begun;
	return true;
}
