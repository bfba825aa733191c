/*-------------------------------------------------------------------------
 *
 * subquery_scalar.c
 *	  Correlated scalar subqueries of aggregates become joins, and so does EXISTS.
 *
 * (SELECT e(agg(b.y), ...) FROM b WHERE b.k = a.k AND rest), in a query over a, becomes a
 * subquery in its FROM clause,
 *
 *		LEFT JOIN (SELECT k, agg(b.y), ... FROM b WHERE rest GROUP BY k) grouped
 *		ON grouped.k = a.k
 *
 * and e(grouped.agg, ...) takes its place.  That is the subquery's value for each row:
 *
 *	  one group			at most: = and the grouping belong to one family of operators, so
 *						that the rows of b that equal a.k are one group
 *	  no key			where only conditions on a's columns or e correlate it: one row
 *	  no group			leaves NULL, which is what aggregates over no rows give, but for
 *						counts, which give 0: COALESCE; e is evaluated over these, where
 *						and when it was before
 *	  NULL				equals nothing, as before: the group of NULLs finds no partner
 *
 * A subquery without aggregates is joined as it is, if an index says that it gives one row
 * at most (subquery_unique.c): more would be PostgreSQL's error.
 *
 * EXISTS (SELECT FROM b WHERE b.k = a.k AND rest) becomes such a join with the keys alone,
 * and grouped.k IS NOT NULL takes its place: no NULL equals a.k.
 *
 * Conditions of the subquery on a's columns alone go to the join's condition.  Where e
 * stands in a condition that NULL does not pass, PostgreSQL makes an inner join of it.
 *
 * Of first rows subquery_first.c makes joins, of what collects values subquery_collect.c.
 *
 * One that is correlated with nothing is joined where its value is asked for some rows only, below
 * OR and CASE: an engine cannot ask for it then.  Of EXISTS that is its first row.
 *
 * A subquery may read WITH queries of the query that it stands in.
 *
 * A sum of floats may overflow.  It is computed of those that are not large (lower/harmless_floats.h),
 * and for a row whose group has others the subquery is executed, as it was:
 *
 *		CASE WHEN grouped.large THEN (SELECT e(agg(b.y)) ...) ELSE e(grouped.agg) END
 *
 * It costs nothing as long as no group has any.  Arithmetic of integers in aggregates is treated likewise
 * (subquery_within.c).
 *
 * All groups are computed, of rows that the subquery was never executed for: everything
 * in it must be harmless (lower/harmless_query.h), and so must be what it is compared
 * with.  Row-level security of its tables stays in it, below the grouping.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_floats.h"
#include "lower/harmless_query.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* ---- the grouped subquery's columns ---- */

TargetEntry *
gpucol_grouped_column(GpucolGroupedJoin *join, Expr *expr, const char *name)
{
	TargetEntry *tle;
	ListCell   *lc;

	foreach(lc, join->columns)
	{
		tle = lfirst_node(TargetEntry, lc);
		if (equal(tle->expr, expr))
			return tle;
	}
	tle = makeTargetEntry(copyObject(expr), list_length(join->columns) + 1, pstrdup(name), false);
	join->columns = lappend(join->columns, tle);
	return tle;
}

Var *
gpucol_grouped_var(const GpucolGroupedJoin *join, const TargetEntry *tle, bool above)
{
	Var		   *var = makeVarFromTargetEntry(join->rti, (TargetEntry *) tle);

	if (above)
		gpucol_compat_set_nulled(var, join->join_rti);
	return var;
}

/* Make a column a key that `equal` and `less` compare. */
static void
group_by(GpucolGroupedJoin *join, TargetEntry *tle, Oid equal, Oid less)
{
	SortGroupClause *clause;
	ListCell   *lc;

	if (tle->ressortgroupref != 0)
		return;
	clause = makeNode(SortGroupClause);
	foreach(lc, join->columns)
		clause->tleSortGroupRef = Max(clause->tleSortGroupRef, lfirst_node(TargetEntry, lc)->ressortgroupref);
	tle->ressortgroupref = ++clause->tleSortGroupRef;
	clause->eqop = equal;
	clause->sortop = less;
	clause->hashable = op_hashjoinable(equal, exprType((Node *) tle->expr));
	join->groups = lappend(join->groups, clause);
}

/* ---- conditions ---- */

Node *
gpucol_grouped_move_out(Node *node)
{
	Node	   *copy = copyObject(node);

	IncrementVarSublevelsUp(copy, -1, 1);
	return copy;
}

bool
gpucol_grouped_check_outer(GpucolGroupedJoin *join, Node *moved)
{
	join->reason = gpucol_harmless_column(join->outer, (Expr *) moved);
	return join->reason == NULL;
}

/*
 * Do values that an operator under this collation finds equal to a third equal each
 * other where `key` is grouped?
 */
static bool
is_same_collation(Node *key, Oid collation)
{
	Oid			grouped = exprCollation(key);

	if (grouped == collation)
		return OidIsValid(grouped) || !OidIsValid(get_typcollation(exprType(key)));
	return OidIsValid(grouped) && OidIsValid(collation) &&
		get_collation_isdeterministic(grouped) && get_collation_isdeterministic(collation);
}

/*
 * The operators that group keys of a type, or of one of its kind, so that the rows equal to a value by
 * `opno` are one group; false if there are none.
 */
static bool
find_grouping(Oid opno, Oid type, Oid key, Oid *equal, Oid *less)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	if (!OidIsValid(family) || !list_member_oid(get_mergejoin_opfamilies(opno), family))
		return false;
	*equal = get_opfamily_member(family, type, type, BTEqualStrategyNumber);
	*less = get_opfamily_member(family, type, type, BTLessStrategyNumber);
	return OidIsValid(*equal) && OidIsValid(*less) &&
		(*equal == opno || gpucol_subquery_may_call(get_opcode(*equal))) &&
		gpucol_harmless_comparison(get_opcode(*equal), key) && gpucol_harmless_comparison(get_opcode(*less), key);
}

/* Can this equality of the subquery's own `key` and something outer be the join's? */
static bool
is_join_equality(OpExpr *op, Node *key, Oid type, Oid *equal, Oid *less)
{
	return op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
		op_strict(op->opno) && gpucol_harmless_comparison(op->opfuncid, exprType(key)) &&
		is_same_collation(key, op->inputcollid) && find_grouping(op->opno, type, exprType(key), equal, less);
}

/* Note what a key equals in the outer query. */
static void
note_asked(GpucolGroupedJoin *join, OpExpr *equality, Node *key, Node *column, bool key_is_left)
{
	GpucolAsked *asked = palloc(sizeof(GpucolAsked));

	asked->equality = equality;
	asked->key = key;
	asked->column = column;
	asked->key_is_left = key_is_left;
	join->asked = lappend(join->asked, asked);
}

/*
 * Take an equality between something of the subquery and something outer as a
 * condition of the join.  False, and a reason, if it is none.
 */
static bool
take_equality(GpucolGroupedJoin *join, OpExpr *op)
{
	Oid			types[2];
	Oid			equal;
	Oid			less;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	op_input_types(op->opno, &types[0], &types[1]);
	for (int i = 0; i < 2; i++)
	{
		Node	   *key = list_nth(op->args, i);
		Node	   *other = list_nth(op->args, 1 - i);
		GpucolReferences own = gpucol_subquery_references(key);
		GpucolReferences outer = gpucol_subquery_references(other);
		OpExpr	   *condition;
		TargetEntry *tle;
		Node	   *within;

		if (!own.own || own.outer || own.farther || outer.own || !outer.outer || outer.farther ||
			checkExprHasSubLink(key) || checkExprHasSubLink(other))
			continue;
		if (!is_join_equality(op, key, types[i], &equal, &less))
			return false;
		key = gpucol_grouped_within_key(join, key);
		other = gpucol_grouped_move_out(other);
		within = gpucol_grouped_within(join, other);
		if (!gpucol_grouped_check_outer(join, within != NULL ?
										(Node *) gpucol_harmless_within_value((Expr *) other) : other))
			return false;
		other = within != NULL ? within : other;
		note_asked(join, op, key, other, i == 0);
		tle = gpucol_grouped_column(join, (Expr *) key, "key");
		group_by(join, tle, equal, less);
		condition = copyObject(op);
		condition->args = i == 0 ? list_make2(gpucol_grouped_var(join, tle, false), other) :
			list_make2(other, gpucol_grouped_var(join, tle, false));
		join->conditions = lappend(join->conditions, condition);
		join->equalities = lappend(join->equalities, op);
		return true;
	}
	return false;
}

/* Sort a condition of the subquery: it stays there, or becomes the join's. */
static bool
take_condition(GpucolGroupedJoin *join, Node *condition, List **rest)
{
	GpucolReferences found = gpucol_subquery_references(condition);

	if (!found.outer && !found.farther)
	{
		*rest = lappend(*rest, condition);
		return true;
	}
	if (!found.own && !found.farther && !checkExprHasSubLink(condition))
	{
		condition = gpucol_grouped_move_out(condition);
		join->conditions = lappend(join->conditions, condition);
		return gpucol_grouped_check_outer(join, condition);
	}
	if (take_equality(join, (OpExpr *) condition) ||
		(join->reason == NULL && gpucol_first_take_ordered(join, (OpExpr *) condition, rest)))
		return true;
	if (join->reason == NULL)
		join->reason = "it is correlated by a condition other than an equality";
	return false;
}

List *
gpucol_grouped_split(const Query *query)
{
	Node	   *quals = query->jointree->quals;

	if (quals != NULL && !IsA(quals, List))
		quals = (Node *) canonicalize_qual((Expr *) quals, false);
	return gpucol_subquery_conditions(quals);
}

bool
gpucol_grouped_conditions(GpucolGroupedJoin *join)
{
	FromExpr   *from = join->inner->jointree;
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_grouped_split(join->inner))
	{
		if (!take_condition(join, lfirst(lc), &rest))
			return false;
	}
	from->quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
	gpucol_raise_look(join);
	if (join->collects)
	{
		if (!gpucol_subquery_restrict_exactly(join->outer, join->inner, join->asked, join->rti))
			join->reason = "it collects values of groups that no row may ask for";
	}
	else if (join->groups != NIL)
	{
		if (!join->has_domain)
			gpucol_subquery_restrict(join->outer, join->inner, join->asked);
	}
	else if (!join->inner->hasAggs && join->ordered == NIL)
		join->reason = "it is correlated by no equality";
	return join->reason == NULL;
}

/* ---- the value ---- */

/* An aggregate of floats, of those that are not large, as a column of the join. */
static Node *
join_floats(const Aggref *agg, GpucolGroupedJoin *join)
{
	Aggref	   *beyond;
	Aggref	   *within = gpucol_harmless_floats_within(agg, &beyond);
	TargetEntry *large = gpucol_grouped_column(join, (Expr *) beyond, "large");

	join->beyond = list_append_unique(join->beyond, gpucol_grouped_var(join, large, true));
	return (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) within, get_func_name(agg->aggfnoid)),
									   true);
}

Node *
gpucol_grouped_beyond(const GpucolGroupedJoin *join, const SubLink *sublink, Node *value)
{
	SubLink    *executed = (SubLink *) copyObject(sublink);

	gpucol_seldom_mark(castNode(Query, executed->subselect));
	return (Node *) gpucol_make_choice(list_length(join->beyond) == 1 ? linitial(join->beyond) :
									   make_orclause(join->beyond), (Expr *) executed, (Expr *) value);
}

/* An aggregate as a column of the join. */
static Node *
join_aggregate(const Aggref *agg, GpucolGroupedJoin *join)
{
	Var		   *var;
	bool		counts;

	if (!join->collects)
		agg = gpucol_grouped_within_rows(join, agg);
	if (gpucol_harmless_floats(agg->aggfnoid))
		return join_floats(agg, join);
	var = gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) agg, get_func_name(agg->aggfnoid)), true);
	if (!gpucol_harmless_aggregate(agg->aggfnoid, &counts) && !gpucol_harmless_ordered(agg) &&
		!(join->collects && gpucol_harmless_collects(agg->aggfnoid)))
		join->reason = psprintf("aggregate %s is not known to be free of errors",
								get_func_name(agg->aggfnoid));
	if (!counts)
		return (Node *) var;
	return (Node *) gpucol_make_coalesce((Expr *) var, makeConst(var->vartype, -1, InvalidOid, sizeof(int64),
																 Int64GetDatum(0), false, FLOAT8PASSBYVAL));
}

/* The subquery's value over the columns of the join. */
static Node *
join_value(Node *node, GpucolGroupedJoin *join)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		return join_aggregate((Aggref *) node, join);
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varlevelsup == 0)
			return (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) var, "value"), true);
		var->varlevelsup = 0;
		return (Node *) var;
	}
	if (IsA(node, SubLink))
	{
		join->reason = "its value has a subquery in it";
		return node;
	}
	return expression_tree_mutator(node, join_value, join);
}

/*
 * The subquery's value as a column of it, where that is NULL for a group that is not there:
 * whatever is NULL of it makes it so.  Other conditions then see no more than a column.
 */
static Node *
join_whole_value(GpucolGroupedJoin *join, Node *value)
{
	List	   *before = list_copy(join->columns);
	List	   *beyond = list_copy(join->beyond);
	List	   *parts;
	TargetEntry *whole;
	Node	   *joined = join_value(value, join);
	Bitmapset  *own = bms_add_member(bms_make_singleton(join->rti), join->join_rti);
	Relids		varnos = pull_varnos(NULL, joined);

	if (join->reason != NULL || IsA(joined, Var) || contain_nonstrict_functions(joined) ||
		bms_is_empty(varnos) || !bms_is_subset(varnos, own))
		return joined;
	parts = join->columns;
	join->columns = before;
	whole = gpucol_grouped_column(join, (Expr *) value, "value");
	join->inner->targetList = join->columns;
	if (gpucol_harmless_query(join->inner, join->outer, join->collects) == NULL)
	{
		join->beyond = beyond;	/* those of the parts are no columns of it */
		return (Node *) gpucol_grouped_var(join, whole, true);
	}
	join->columns = parts;
	return joined;
}

Node *
gpucol_grouped_value(GpucolGroupedJoin *join, const SubLink *sublink, Node *value)
{
	List	   *before = join->beyond;

	join->beyond = NIL;
	value = join_whole_value(join, value);
	if (join->beyond != NIL)
		value = gpucol_grouped_beyond(join, sublink, value);
	join->beyond = before;
	return value;
}

/* Let the subquery's rows be joined as they are. */
static void
ungroup(GpucolGroupedJoin *join)
{
	ListCell   *lc;

	foreach(lc, join->columns)
		lfirst_node(TargetEntry, lc)->ressortgroupref = 0;
	join->groups = NIL;
}

/*
 * The value of a subquery without aggregates, which is that of its one row, or NULL; or
 * NULL, and a reason.  No row leaves NULL columns, which must make the value NULL.
 */
static Node *
join_only_value(GpucolGroupedJoin *join, Node *value)
{
	GpucolReferences found = gpucol_subquery_references(value);
	bool		unique = gpucol_subquery_is_unique(join->inner, join->equalities);
	Node	   *only = unique ? NULL : gpucol_grouped_only(join, value);

	if (only != NULL)
		return only;
	if (!unique)
		join->reason = "it may return several rows, which is an error";
	else if (!found.own || contain_nonstrict_functions(value))
		join->reason = "its value may be other than NULL where no row is found";
	value = join_value(value, join);
	ungroup(join);
	return value;
}

/* Whether EXISTS finds a row: one of the keys is then not NULL. */
static Node *
join_found(GpucolGroupedJoin *join)
{
	TargetEntry *key = linitial_node(TargetEntry, join->columns);
	ListCell   *lc;

	foreach(lc, join->columns)
	{
		if (get_typbyval(exprType((Node *) key->expr)))
			break;
		key = lfirst_node(TargetEntry, lc);
	}
	if (gpucol_subquery_is_unique(join->inner, join->equalities))
		ungroup(join);
	return (Node *) gpucol_make_null_test((Expr *) gpucol_grouped_var(join, key, true), IS_NOT_NULL);
}

/* ---- the subquery ---- */

const char *
gpucol_grouped_decline_any(Query *query)
{
	if (query->rowMarks != NIL)
		return "it locks rows";
	if (query->cteList != NIL)
		return "it has WITH";
	if (contain_volatile_functions((Node *) query))
		return "it has a volatile function";
	return NULL;
}

const char *
gpucol_grouped_decline(Query *query, int64 most)
{
	if (query->commandType != CMD_SELECT || query->setOperations != NULL)
		return "it has a set operation";
	if (query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != NULL)
		return "it has GROUP BY or HAVING";
	if (query->hasWindowFuncs || query->hasTargetSRFs || query->distinctClause != NIL ||
		((query->sortClause != NIL || query->limitCount != NULL || query->limitOffset != NULL) &&
		 (gpucol_first_rows(query) == 0 || gpucol_first_rows(query) > most)))
		return "it has more clauses than WHERE";
	return gpucol_grouped_decline_any(query);
}

JoinExpr *
gpucol_grouped_left_join(GpucolGroupedJoin *join, List *left)
{
	RangeTblRef *right = makeNode(RangeTblRef);
	JoinExpr   *joined = makeNode(JoinExpr);
	RangeTblEntry *rte = gpucol_make_entry(RTE_JOIN, "unnamed_join", NIL);

	rte->jointype = joined->jointype = JOIN_LEFT;
	join->outer->rtable = lappend(join->outer->rtable, rte);
	right->rtindex = join->rti;
	joined->larg = list_length(left) == 1 ? linitial(left) : (Node *) makeFromExpr(left, NULL);
	joined->rarg = (Node *) right;
	joined->quals = join->conditions == NIL ? NULL : (Node *) make_ands_explicit(join->conditions);
	joined->rtindex = join->join_rti;
	return joined;
}

void
gpucol_grouped_add_join(GpucolGroupedJoin *join)
{
	FromExpr   *from = join->outer->jointree;

	join->outer->rtable = lappend(join->outer->rtable, gpucol_make_subquery_entry(join->inner, "grouped"));
	from->fromlist = list_make1(gpucol_grouped_left_join(join, from->fromlist));
	gpucol_domain_count(join);
}

bool
gpucol_grouped_is_separate(GpucolGroupedJoin *join)
{
	Query	   *inner = join->inner;
	GpucolReferences left;

	if (join->reason != NULL)
		return false;
	inner->targetList = join->columns;
	inner->groupClause = join->groups;
	left = gpucol_subquery_references((Node *) inner);
	if (left.own || left.outer || left.farther)
		join->reason = "it is correlated in other places than conditions of WHERE";
	else
		join->reason = gpucol_harmless_query(inner, join->outer, join->collects);
	return join->reason == NULL;
}

/*
 * Build the join, without touching the outer query; returns the value, or NULL.  With
 * `exists` the subquery has no columns, and the value is whether it has a row.
 */
static Node *
prepare_join(GpucolGroupedJoin *join, bool exists)
{
	Query	   *inner = join->inner;
	Node	   *value = exists ? NULL : (Node *) linitial_node(TargetEntry, inner->targetList)->expr;
	bool		first = !exists && gpucol_first_rows(inner) > 0;

	join->rti = list_length(join->outer->rtable) + 1;
	join->join_rti = join->rti + 1;
	join->collects = join->asked_each && gpucol_subquery_collects(inner);
	if (!gpucol_grouped_conditions(join))
		return NULL;
	if (exists)
		value = join_found(join);
	else if (first)
		value = gpucol_first_value(join, value);
	else
		value = inner->hasAggs ? join_whole_value(join, value) : join_only_value(join, value);
	if (!gpucol_grouped_is_separate(join))
		return NULL;
	if (first)
		gpucol_first_finish(join);
	return value;
}

/* The same, and if it fails with the domain of the subquery among its tables. */
static Node *
prepare_any_join(GpucolGroupedJoin *join, bool exists)
{
	GpucolGroupedJoin begun = *join;
	Node	   *value;

	begun.inner = copyObject(join->inner);
	value = prepare_join(join, exists);
	return value == NULL && gpucol_domain_begin_again(join, begun) ? prepare_join(join, exists) : value;
}

/* The first gpucol table of the WITH queries of `around` that a query, `depth` below it, reads, or InvalidOid. */
static Oid
with_table(const Query *query, const Query *around, int depth)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		CommonTableExpr *cte = rte->rtekind == RTE_CTE && (int) rte->ctelevelsup == depth ?
			gpucol_harmless_find_cte(around, rte->ctename) : NULL;
		Oid			relid = rte->rtekind == RTE_SUBQUERY ? with_table(rte->subquery, around, depth + 1) : InvalidOid;

		if (cte != NULL && !cte->cterecursive)
			relid = gpucol_subquery_table(castNode(Query, cte->ctequery));
		if (cte != NULL && !cte->cterecursive && !OidIsValid(relid))
			relid = with_table(castNode(Query, cte->ctequery), around, 1);
		if (OidIsValid(relid))
			return relid;
	}
	return InvalidOid;
}

/* The gpucol table that a subquery reads, by a WITH query of `around` too, or InvalidOid. */
static Oid
read_table(const SubLink *sublink, const Query *around)
{
	Oid			relid = gpucol_subquery_table(castNode(Query, sublink->subselect));

	return OidIsValid(relid) || around == NULL ? relid :
		with_table(castNode(Query, sublink->subselect), around, 1);
}

/* The same, or one that the query around it reads. */
static Oid
test_table(const SubLink *sublink, Query *query)
{
	Oid			relid = read_table(sublink, query);

	return OidIsValid(relid) ? relid : gpucol_subquery_table(query);
}

/* The gpucol table that a correlated scalar subquery reads; any other is InvalidOid. */
static Oid
correlated_table(const SubLink *sublink, const Query *around)
{
	GpucolReferences found = gpucol_subquery_references(sublink->subselect);

	if (sublink->subLinkType != EXPR_SUBLINK || !(found.own || found.outer || found.farther))
		return InvalidOid;
	return read_table(sublink, around);
}

void
gpucol_subquery_stays(SubLink *sublink, const char *reason)
{
	Oid			relid = correlated_table(sublink, NULL);

	if (OidIsValid(relid))
		gpucol_reason_add(relid, "subquery", "%s", reason);
}

/* Make the join; returns what takes the subquery's place, or NULL, and a reason is noted. */
static Node *
make_join(GpucolGroupedJoin *join, Query *inner, const SubLink *sublink, bool exists)
{
	GpucolReferences found = gpucol_subquery_references((Node *) inner);
	Node	   *value = NULL;

	if (join->reason == NULL && (found.outer || found.farther))
		join->reason = "it is correlated with more than the query around it";
	if (join->reason == NULL)
	{
		join->inner = inner;
		join->may_execute = true;
		value = prepare_any_join(join, exists);
	}
	if (value == NULL)
		gpucol_reason_add(join->relid, "subquery", "%s", join->reason);
	else
		gpucol_grouped_add_join(join);
	return value == NULL || join->beyond == NIL ? value : gpucol_grouped_beyond(join, sublink, value);
}

Node *
gpucol_subquery_join_scalar(Query *query, SubLink *sublink, bool asked)
{
	Query	   *inner = copyObject(castNode(Query, sublink->subselect));
	SubLink		split = *sublink;
	GpucolGroupedJoin join = {.outer = query,.asked_each = asked};

	gpucol_subquery_split_first(inner);
	split.subselect = (Node *) inner;
	join.relid = correlated_table(&split, query);
	if (!OidIsValid(join.relid))
		return NULL;
	gpucol_subquery_hoist(query, inner);
	join.reason = gpucol_grouped_decline(inner, 1);
	return make_join(&join, inner, sublink, false);
}

Node *
gpucol_subquery_join_counts(Query *query, SubLink *sublink)
{
	Query	   *inner = castNode(Query, sublink->subselect);
	GpucolGroupedJoin join = {.outer = query,.relid = test_table(sublink, query)};

	join.reason = gpucol_grouped_decline(inner, 1);
	return make_join(&join, copyObject(inner), sublink, false);
}

/* Why EXISTS over a query of this form stays, or NULL. */
static const char *
decline_exists(Query *query)
{
	if (query->commandType != CMD_SELECT || query->setOperations != NULL)
		return "it has a set operation";
	if (query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL)
		return "it has aggregates, GROUP BY or HAVING";
	if (query->hasWindowFuncs || query->hasTargetSRFs || query->limitCount != NULL ||
		query->limitOffset != NULL)
		return "it has LIMIT, OFFSET, window functions or sets of rows in its list";
	return gpucol_grouped_decline_any(query);
}

/*
 * An EXISTS that conditions on outer columns alone correlate, as these and an EXISTS that nothing correlates; NULL: it
 * is none.  `inner` is its query, whose conditions are used.
 */
static Node *
exists_apart(Query *inner)
{
	List	   *outside = NIL;
	List	   *rest = NIL;
	SubLink    *exists = makeNode(SubLink);
	BooleanTest *holds = makeNode(BooleanTest);
	GpucolReferences found;
	ListCell   *lc;

	foreach(lc, gpucol_grouped_split(inner))
	{
		found = gpucol_subquery_references(lfirst(lc));
		if (found.outer && !found.own && !found.farther && !checkExprHasSubLink(lfirst(lc)))
			outside = lappend(outside, gpucol_grouped_move_out(lfirst(lc)));
		else
			rest = lappend(rest, lfirst(lc));
	}
	if (outside == NIL)
		return NULL;
	inner->jointree->quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
	exists->subLinkType = EXISTS_SUBLINK;
	exists->subselect = (Node *) inner;
	exists->location = -1;
	found = gpucol_subquery_references((Node *) exists);
	if (found.own || found.outer || found.farther)
		return NULL;
	holds->arg = make_ands_explicit(outside);
	holds->booltesttype = IS_TRUE;
	holds->location = -1;
	return (Node *) make_andclause(list_make2(holds, exists));
}

Node *
gpucol_subquery_join_exists(Query *query, SubLink *sublink)
{
	Query	   *inner = castNode(Query, sublink->subselect);
	GpucolGroupedJoin join = {.outer = query,.relid = test_table(sublink, query)};
	GpucolReferences found = gpucol_subquery_references((Node *) inner);
	Node	   *apart;

	if (!found.own && !found.outer && !found.farther)
		return (Node *) sublink;
	apart = decline_exists(inner) == NULL ? exists_apart(copyObject(inner)) : NULL;
	if (apart != NULL)
		return apart;
	inner = copyObject(inner);
	gpucol_subquery_split_first(inner);
	if (inner->groupClause != NIL)
		gpucol_subquery_split_groups(inner);
	gpucol_subquery_hoist(query, inner);
	join.reason = decline_exists(inner);
	inner->targetList = inner->distinctClause = inner->sortClause = inner->windowClause = NIL;
	inner->hasDistinctOn = false;
	return make_join(&join, inner, sublink, true);
}

/* Have a query give one row, which is found or not; returns the test that takes EXISTS' place. */
static Node *
prepare_found(GpucolGroupedJoin *join)
{
	TargetEntry *found = makeTargetEntry((Expr *) makeBoolConst(true, false), 1, "found", false);

	join->rti = list_length(join->outer->rtable) + 1;
	join->join_rti = join->rti + 1;
	join->columns = list_make1(found);
	join->inner->distinctClause = join->inner->sortClause = join->inner->windowClause = NIL;
	join->inner->hasDistinctOn = false;
	join->inner->limitCount = (Node *) gpucol_make_int8(1);
	if (!gpucol_grouped_is_separate(join))
		return NULL;
	return (Node *) gpucol_make_null_test((Expr *) gpucol_grouped_var(join, found, true), IS_NOT_NULL);
}

Node *
gpucol_subquery_join_once(Query *query, SubLink *sublink)
{
	GpucolGroupedJoin join = {.outer = query,.relid = gpucol_subquery_table(query)};
	bool		exists = sublink->subLinkType == EXISTS_SUBLINK;
	Node	   *value;

	join.inner = copyObject(castNode(Query, sublink->subselect));
	if (!OidIsValid(join.relid) || (!exists && !join.inner->hasAggs))
		return NULL;
	if (!exists)
		return gpucol_grouped_decline(join.inner, 1) != NULL ? NULL : make_join(&join, join.inner, sublink, false);
	value = decline_exists(join.inner) != NULL ? NULL : prepare_found(&join);
	if (value != NULL)
		gpucol_grouped_add_join(&join);
	return value;
}
